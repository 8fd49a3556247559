"""Tables with a row per match, per match of teams, or per participant of a contest, as events.

All are read in one way: what is known of each row, as the arguments of `matches` and `rounds`, from the columns by
their roles. Matches of teams, read as those of two players are, are then divided into rows of their players.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import (
    format_count,
    format_number,
    format_unquoted_name,
    format_value_for_error,
)
from jaxrate.data.column_conversion import (
    cell_number,
    check_row_time_order,
    fail_at_cells,
    is_missing_value,
    is_text,
    keep_rows,
    missing_mask,
    null_where,
    time_column_to_days_and_clock,
    to_column,
    to_flags,
    to_ids,
    to_numbers,
    to_values,
)
from jaxrate.data.column_role_definitions import as_column_list
from jaxrate.data.derived_covariates import age_differences, parse_season_start_years
from jaxrate.data.faulty_rows import is_blank_mask, map_row_errors
from jaxrate.data.result_parsing import MIN_READABLE_SHARE, to_sides
from jaxrate.data.role_resolution import ColumnRoles, TableLayout, first_player_statistic_lead
from jaxrate.data.seasons_and_margins import (
    NO_TIME_MESSAGE,
    find_season_starts,
    first_player_lead,
    match_seasons_from_column,
)
from jaxrate.data.table_sources import Column, import_pyarrow
from jaxrate.events import (
    Matches,
    NameFormatters,
    Ragged,
    RowError,
    add_contest_to_errors,
    build_rounds,
    fail_where,
    matches,
    rewrite_row_errors,
)
from jaxrate.events.dataset import Dataset, format_event_time

SEPARATORS = {  # of players in a cell, by pattern: what divides them, and the least share of cells to say that it may
    ";": ("semicolons divide", MIN_READABLE_SHARE),
    r"\s/\s": ("' / ' divides", 0.9),
}
HOME_ADVICE = ": make a home game a covariate of each player, in a table with a row for each"
OWN_ADVICE = ": they are each player's own, in a table with a row for each"
UNSUPPORTED_ROLES = {  # of line-ups, and what to do instead
    "side": HOME_ADVICE,
    "neutral": HOME_ADVICE,
    "statistics": OWN_ADVICE,
    "covariates": OWN_ADVICE,
    "season": ": give the times at which they begin to the system, as skills(seasons=...)",
    **dict.fromkeys(
        ("age", "league_season", "shares", "expected_goals"), ", and neither do other contests; leave such columns out"
    ),
}


def check_line_up_roles(arguments: Mapping[str, Any]) -> None:
    """ValueError for arguments of `read` that a table of line-ups does not take."""
    if len(as_column_list(arguments["category"])) > 1:
        raise ValueError("the category of line-ups is one column, what everybody meets")
    wrong = [name for name in UNSUPPORTED_ROLES if arguments[name]]
    if wrong:
        advice = UNSUPPORTED_ROLES[wrong[0]]
        roles = " and no ".join(name for name in wrong if UNSUPPORTED_ROLES[name] == advice)
        raise ValueError(f"line-ups take no {roles}{advice}")


def expand_line_up_cells(roles: ColumnRoles, columns: dict[str, Column]) -> tuple[ColumnRoles, dict[str, Column], str]:
    """Matches whose cells hold lists of players, or of line-ups text with ;, with a column for each; and a note.

    Blank cells of line-ups are missing.
    """
    layout = roles.layout
    if layout.contest is not None:
        return roles, columns, ""
    cells = {name: columns[name] for name in layout.players}
    has_lists = any(map(_has_lists, cells.values()))
    if not (has_lists or layout.num_first):
        return roles, columns, _describe_possible_line_ups(cells)
    if not layout.num_first:
        _check_no_separators_beside_lists(cells)
        return _divide_line_up_cells(roles, columns, None)
    divider = "|".join(SEPARATORS) if len(cells) == 2 else ";"  # slashes where a side is one column
    if has_lists or any(_has_separator(column, divider).any() for column in cells.values()):
        return _divide_line_up_cells(roles, columns, divider)
    return roles, columns | {name: null_where(x, is_blank_mask(x)) for name, x in cells.items()}, ""


def _describe_possible_line_ups(cells: Mapping[str, Column]) -> str:
    """A note that the cells of both sides may name several players, as nearly all have a separator; "" otherwise."""
    (a, first), (b, second) = cells.items()
    for pattern, (divides, least) in SEPARATORS.items():
        share = min(_has_separator(first, pattern).mean(), _has_separator(second, pattern).mean())
        if len(first) > 1 and share >= least:
            return f"each of {a} and {b} for one name (if {divides} players, say a=[{a!r}], b=[{b!r}])"
    return ""


def _divide_line_up_cells(
    roles: ColumnRoles, columns: dict[str, Column], divider: str | None
) -> tuple[ColumnRoles, dict[str, Column], str]:
    """The line-ups with a column for each player of a cell, the first under the name of theirs; and a note."""
    layout, new = roles.layout, dict(columns)
    parts = [_add_columns_of_cells(new, name, divider) for name in layout.players]
    num_first = sum(map(len, parts[: layout.num_first or 1]))
    layout = layout._replace(players=[name for names in parts for name in names], num_first=num_first)
    note = f"{' and '.join(map(str, roles.layout.players))} for teams, of several players in a cell"
    return roles._replace(layout=layout), new, note


def _add_columns_of_cells(columns: dict[str, Column], name: str, divider: str | None) -> list[str]:
    """The names of the columns that are added to `columns` for the players in the cells of one of them."""
    cells = [_names_in_cell(value, divider) for value in to_values(columns[name])]
    parts = [name]  # the first has its name, which errors show
    for number in range(2, max(map(len, cells)) + 1):
        part = f"{name}, {number}"
        while part in columns:
            part += "'"
        parts.append(part)
    for position, part in enumerate(parts):
        columns[part] = to_column(part, [cell[position] if position < len(cell) else None for cell in cells])
    return parts


def _names_in_cell(value: Any, divider: str | None) -> list[Any]:
    """The names in a cell, which a pattern divides if there is one; none of what is missing or blank."""
    if isinstance(value, str) and divider is not None:
        return [name for part in re.split(divider, value) if (name := part.strip())]
    value = np.atleast_1d(value) if isinstance(value, np.ndarray) else value  # also of no dimension
    items = to_values(value) if isinstance(value, (list, np.ndarray)) else [value]
    return [x for x in items if not is_missing_value(x, True) and not (isinstance(x, str) and not x.strip())]


def _check_no_separators_beside_lists(cells: Mapping[str, Column]) -> None:
    """RowError where text that may name several players stands among lists of them."""
    a, b = cells
    advice = f"and others are lists: make it one, or say a=[{a!r}], b=[{b!r}] if semicolons divide the players"
    for name, column in cells.items():
        fail_at_cells(_has_separator(column), name, column, advice)


def _has_lists(column: Column) -> bool:
    return isinstance(column, np.ndarray) and any(isinstance(x, (list, np.ndarray)) for x in column)


def _has_separator(column: Column, pattern: str = ";") -> HostArray:
    """[n] whether a cell is text with a separator."""
    if isinstance(column, np.ndarray):
        return np.array([isinstance(x, str) and re.search(pattern, x) is not None for x in column], bool)
    if not is_text(column):
        return np.zeros(len(column), bool)
    return np.asarray(import_pyarrow().compute.match_substring_regex(column, pattern).fill_null(False).to_numpy())


class NamesOfEarlierData(NamedTuple):
    """The names that have ids already, in their order, and the seasons that have begun; None: none."""

    players: Any = None  # or what makes ids of names
    categories: Any = None
    seasons: Mapping[str, float] | None = None


class EventColumns(NamedTuple):
    """The columns from which the events of a `Dataset` are built."""

    values: dict[str, Any]  # [R, ...] by name of the argument of `matches` or `rounds`, in the order of the rows
    players: Any  # [num_players] names in order of id
    categories: HostArray | None  # [num_categories] names in order of id
    clock: str | None  # as in `Dataset`
    seasons: dict[str, float] | None  # as in `Dataset`
    contest_names: Any  # [E] what the source calls each contest, by its number in `values`; None: matches of two


def build_dataset(
    roles: ColumnRoles, columns: dict[str, Column], rows: HostArray, earlier: NamesOfEarlierData, in_order: bool
) -> Dataset:
    """The dataset of these columns, whose values stand in these rows of the source.

    Args:
      roles: which columns are used, and for what.
      columns: values [n] by name.
      rows: [n] of the source.
      earlier: the names that have ids already.
      in_order: whether to put the rows in order of time.

    Raises:
      RowError: about up to ten rows of the source.
    """
    are_teams = roles.layout.num_first > 0
    with map_row_errors(rows):
        read = read_event_columns(roles, columns, earlier)
        if are_teams:
            read, row = split_teams(roles, columns, rows, read, earlier.players)
            rows = rows[row]
    with map_row_errors(rows):
        order = _row_order(roles, columns, read, in_order)
    rows, read = rows[order], read._replace(values=_select_rows(read.values, order))
    with map_row_errors(rows):
        events, contests = _build_events(read, rows)
    return Dataset(
        events,
        read.players,
        rows,
        read.categories,
        read.clock,
        contests,
        margin=tuple(roles.margin[:1] if are_teams else roles.margin),
        covariates=(*roles.covariates, *(["age"] if roles.age else [])),
        seasons=read.seasons,
        league_season=roles.league_season,
        statistics=tuple(statistic.name for statistic in roles.statistics),
        points=() if are_teams else roles.layout.points,
        expected_goals=tuple(roles.expected_goals),
    )


def filter_column_rows(columns: dict[str, Column], mask: HostArray) -> dict[str, Column]:
    """The rows of the columns where the mask is true."""
    return {name: keep_rows(name, column, mask) for name, column in columns.items()}


def _select_rows(values: dict[str, Any], rows: Any) -> dict[str, Any]:
    """These rows of the columns, also of further ones."""
    return {name: _select_rows(x, rows) if isinstance(x, dict) else x[rows] for name, x in values.items()}


def _row_order(roles: ColumnRoles, columns: dict[str, Column], read: EventColumns, in_order: bool) -> HostArray | slice:
    """[R] the rows, in order of time if they are to be: contests as wholes.

    Raises:
      RowError: where a match is earlier than the one before, and they are not to be sorted.
    """
    if read.clock is None:
        return slice(None)
    time, contest = read.values["time"], read.values.get("contest")
    if contest is None and not in_order:
        check_row_time_order(columns[str(roles.time)], time)
    if not in_order:
        return slice(None)
    if contest is None:
        return np.argsort(time, kind="stable")
    return np.lexsort([contest, time[np.unique(contest, return_index=True)[1]][contest]])


def _build_events(read: EventColumns, rows: HostArray) -> tuple[Matches | Ragged, HostArray | None]:
    """The events, and the names of contests; their matches or participants stand in these rows of the source."""
    if read.contest_names is None:
        return matches(**read.values), None
    formatters = NameFormatters(
        partial(format_name_of_id, read.contest_names),
        partial(format_name_of_id, read.players),
        lambda row: str(rows[row]),
        partial(format_event_time, clock=read.clock),
    )
    events = build_rounds(**read.values, formatters=formatters)
    return events, read.contest_names[read.values["contest"][events.player_start[:-1]]]


NO_RANK_ADVICE = (
    "give those who did not finish the same last place, name their texts as unfinished=['DNF'], or as "
    "na_values=['DNS'] if they did not take part, or leave their rows out"
)


def read_event_columns(roles: ColumnRoles, columns: dict[str, Column], earlier: NamesOfEarlierData) -> EventColumns:
    """The arguments of `matches` or `rounds` by row; of matches of teams all but their players.

    Raises:
      RowError: where a column does not hold what its role requires.
    """
    layout, n = roles.layout, len(columns[roles.layout.players[0]])
    values: dict[str, Any] = {}
    players, categories, contest_names = None, None, None
    name_contests: Callable[[], AbstractContextManager[None]] = nullcontext
    if layout.contest is not None:
        values["contest"], contest_names = label_codes(layout.contest, columns)
        name_contests = partial(
            add_contest_to_errors, lambda row: f"contest {format_name_of_id(contest_names, values['contest'][row])}"
        )
    with name_contests():
        if not layout.num_first:
            values["player"], players = _read_players(layout.players, columns, earlier.players)
    if layout.contest is None:
        values["score"] = _read_scores(roles, columns, n)
    else:
        with rewrite_row_errors(lambda row, message: (row, f"{message}; {NO_RANK_ADVICE}")), name_contests():
            values["rank"] = _read_ranks(layout, columns, n)
    with name_contests():
        values |= _read_optional_numbers(roles, columns, n) | _read_teams(roles, columns, values)
        if roles.category:
            category, categories = to_ids(roles.category, columns, earlier.categories, "categories")
            values["category"] = category if layout.contest is None and not layout.num_first else category[:, 0]
        time, clock = time_column_to_days_and_clock(roles.time, columns)
        values |= time
        values["columns"] = further_columns(roles, columns, n, time if clock == "dates" else {})
    seasons = None if roles.season is None else _read_season_starts(roles.season, columns, time, earlier.seasons)
    return EventColumns(values, players, categories, clock, seasons, contest_names)


def _number_players(names: Sequence[str], columns: dict[str, Column], earlier: Any) -> tuple[HostArray, HostArray]:
    """Ids [n, columns] of the players in these columns, and all names by id; `earlier` may be a function for that."""
    return earlier(names, columns) if callable(earlier) else to_ids(names, columns, earlier)


def _read_players(names: Sequence[str], columns: dict[str, Column], earlier: Any) -> tuple[HostArray, HostArray]:
    """Ids of participants [n], or of both players of matches [n, 2], and all names by id."""
    player, players = _number_players(names, columns, earlier)
    if len(names) == 1:
        return player[:, 0], players
    first, second = player.T
    fail_where(
        first == second,
        lambda row: f"{format_unquoted_name(name_of_id(players, first[row]))} is on both sides; remove the row",
    )
    return player, players


def split_teams(
    roles: ColumnRoles, columns: dict[str, Column], rows: HostArray, read: EventColumns, earlier: Any
) -> tuple[EventColumns, HostArray]:
    """Matches of teams as contests with a row for each player, and in which row of the columns each of these stands.

    The contests have the numbers of the `rows` [n] of the source as names. Earlier players are as in
    `NamesOfEarlierData`.

    Raises:
      RowError: where a team has no first player, or a result or weight is none of teams.
    """
    layout, values = roles.layout, dict(read.values)
    score, further = values.pop("score"), dict(values["columns"])
    missing = {name: missing_mask(columns[name], True) for name in layout.players}
    for name in layout.first_players:
        fail_where(missing[name], lambda row: f"column {name!r} has no value")  # noqa: B023
    fail_where(
        ~np.isin(score, (0, 0.5, 1)), lambda row: f"score {score[row]:g}, and teams win (1), draw (0.5) or lose (0)"
    )
    if (weight := values.pop("weight", None)) is not None:
        fail_where(
            ~(weight > 0) | np.isinf(weight),
            lambda row: f"column {roles.weight!r} is {weight[row]:g}, and weights are above 0",
        )
        values["noise"] = weight**-0.5
    present = ~np.stack([*missing.values()], axis=1)
    row, position = np.nonzero(present)
    with map_row_errors(row):
        names = {"players": _names_by_row(layout.players, columns, present)}
        player, players = _number_players([*names], names, earlier)
    is_second = position >= layout.num_first
    for name in roles.margin:
        del further[name]
    values = _select_rows(values | {"columns": further}, row)
    if roles.margin:
        first, second = _team_points([read.values["columns"][name] for name in roles.margin], score)
        values["columns"][roles.margin[0]] = np.where(is_second, second[row], first[row])
    values |= {"contest": row, "player": player[:, 0], "team": is_second.astype(int)}
    values["rank"] = np.where(is_second, score[row] - 1.0, -score[row])
    return read._replace(values=values, players=players, contest_names=rows), row


def _team_points(margin: list[HostArray], score: HostArray) -> list[HostArray]:
    """[n] the points of both teams; of a margin in one column it, for who has won, and 0."""
    if len(margin) == 2:
        return margin
    size = np.abs(margin[0])
    return [np.where(score > 0.5, size, 0.0), np.where(score < 0.5, size, 0.0)]


def _names_by_row(names: Sequence[str], columns: Mapping[str, Column], present: HostArray) -> Column:
    """The names of the players that there are, of each row those of the first team and then those of the second."""
    parts, arrow = [columns[name] for name in names], import_pyarrow()
    if any(isinstance(part, np.ndarray) for part in parts) or len({part.type for part in parts}) > 1:
        values = zip(*map(to_values, parts), strict=True)
        return to_column("players", [x for x, is_there in zip(chain(*values), present.flat, strict=True) if is_there])
    flat = arrow.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)
    row, position = np.nonzero(present)
    return flat.take(arrow.array(position * len(present) + row))


def _read_scores(roles: ColumnRoles, columns: dict[str, Column], n: int) -> HostArray:
    """[n] the scores of the first players; of matches to come 0.5."""
    layout = roles.layout
    if layout.result is not None and not roles.upcoming:
        return to_numbers(layout.result, columns[layout.result])
    if layout.points and not roles.upcoming:
        lead = first_player_lead([to_numbers(name, columns[name]) for name in layout.points])
        return np.asarray(0.5 + 0.5 * np.sign(lead))
    return np.full(n, 1.0 if layout.winner_first else 0.5)


OPTIONAL_NUMBERS = {"weight": None, "ceiling": np.inf, "noise": None}  # by role, what stands for a missing one


def _read_optional_numbers(roles: ColumnRoles, columns: dict[str, Column], n: int) -> dict[str, Any]:
    """The weights, ceilings, noises and sides [n] of matches or participants, as far as they have columns."""
    names = {role: getattr(roles, role) for role in OPTIONAL_NUMBERS}
    values = {
        role: to_numbers(name, columns[name], OPTIONAL_NUMBERS[role])
        for role, name in names.items()
        if name is not None
    }
    if roles.constant_side is not None:
        values["side"] = np.full(n, roles.constant_side)
    elif roles.side is not None:
        values["side"] = to_sides(roles.side, columns[roles.side])
    if roles.neutral is not None:
        values["side"] = np.where(to_flags(roles.neutral, columns[roles.neutral]), 0.0, values["side"])
    return values


def further_columns(
    roles: ColumnRoles, columns: dict[str, Column], n: int, dates: Mapping[str, HostArray]
) -> dict[str, HostArray]:
    """The further columns [n] of matches or participants by name, with those of the margin and of ages.

    `dates` has the times of the matches, if they are dates.

    Raises:
      RowError: where a value is no number, or missing and none may be.
    """
    values = {name: to_numbers(name, columns[name]) for name in roles.prematch_columns}
    values |= {name: np.zeros(n) if roles.upcoming else to_numbers(name, columns[name]) for name in roles.margin}
    for name, x in values.items():
        fail_where(np.isnan(x), lambda row: f"column {name!r} is {x[row]}, not a finite number")  # noqa: B023
    for name in roles.expected_goals:
        values[name] = np.full(n, np.nan) if roles.upcoming else to_numbers(name, columns[name], np.nan)
    for statistic in roles.statistics:
        values[statistic.name] = np.zeros(n) if roles.upcoming else first_player_statistic_lead(statistic, columns)
    if roles.age:
        values["age"] = age_differences(roles.age, columns, dates.get("time"))
    if roles.league_season is not None:
        values[roles.league_season] = parse_season_start_years(roles.league_season, columns)
    return values


def _read_season_starts(
    season: str, columns: dict[str, Column], time: Mapping[str, HostArray], earlier: Mapping[str, float] | None
) -> dict[str, float]:
    """When each season begins, by its name; ValueError without times, and as `find_season_starts`."""
    if not time:
        raise ValueError(NO_TIME_MESSAGE)
    matches_of_seasons = match_seasons_from_column(season, columns, time["time"])
    return find_season_starts(lambda: [matches_of_seasons], earlier)


def _read_ranks(layout: TableLayout, columns: dict[str, Column], n: int) -> HostArray:
    """[n] the ranks of participants, lower is better; of contests to come 0."""
    if layout.result is None:
        return np.zeros(n)
    result = _to_ranks(layout.result, columns[layout.result])
    return result if layout.ranked else -result


def _to_ranks(name: str, column: Column) -> HostArray:
    """The column as float64. RowError with one row for each text that is no number, and how many rows have it."""
    with suppress(RowError):
        return to_numbers(name, column)
    texts = [value if isinstance(value, str) and value.strip() else "0" for value in to_values(column)]
    counts = Counter(text for text in texts if cell_number(text) is None)
    if counts.total() > 1:
        is_first = np.isin(np.arange(len(texts)), [texts.index(text) for text in counts])
        said = [f"{format_value_for_error(text)} in {format_count(counts[text], 'row')}" for text in texts]
        fail_where(is_first, lambda row: f"column {name!r} is {said[row]}, not a number")
    return to_numbers(name, column)


def _read_teams(roles: ColumnRoles, columns: dict[str, Column], values: Mapping[str, Any]) -> dict[str, HostArray]:
    """The teams [n] of participants, if they have a column; checks the last places of those who tie, if these have.

    A team is the first row of it in the contest, by which teams that tie count in the order of their rows.
    """
    if roles.last_rank is not None:
        _check_tied_place_ranges(
            values["contest"], values["rank"], to_numbers(roles.last_rank, columns[roles.last_rank])
        )
    if roles.team is None:
        return {}
    missing = missing_mask(columns[roles.team], nan_is_missing=True)
    fail_where(missing, lambda row: f"column {roles.team!r} has no value; players without a team need one of their own")
    team = label_codes(roles.team, columns)[0]
    key = values["contest"] * (team.max(initial=0) + np.int64(1)) + team
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return {"team": np.asarray(first[number])}


def _check_tied_place_ranges(contest: HostArray, first: HostArray, last: HostArray) -> None:
    """ValueError where the ranges of places of players who tie are not those of a ranking."""

    def say(row: int) -> str:
        return f"the places {format_number(first[row])} to {format_number(last[row])}"

    fail_where(~(last >= first), lambda row: f"{say(row)} end before they begin")
    order = np.lexsort((last, first, contest))
    low, high, contest_of_row = first[order], last[order], contest[order]
    same_contest = np.append(False, contest_of_row[1:] == contest_of_row[:-1])
    same_places = same_contest & np.append(False, (low[1:] == low[:-1]) & (high[1:] == high[:-1]))
    num_before = np.arange(len(order)) - np.flatnonzero(~same_places)[np.cumsum(~same_places) - 1]  # of the same tie
    overlap, too_many = np.zeros((2, len(order)), bool)
    overlap[order] = same_contest & ~same_places & np.append(False, low[1:] <= high[:-1])
    too_many[order] = num_before > high - low
    fail_where(overlap, lambda row: f"{say(row)} overlap others of the same contest without being the same")
    fail_where(too_many, lambda row: f"{say(row)} are fewer than the players who share them")


def format_name_of_id(names: Any, i: int) -> str:
    """A name in errors, as Python writes it, not NumPy."""
    return format_value_for_error(name_of_id(names, i))


def name_of_id(names: Any, i: int) -> Any:
    """A name as Python has it, of an array of NumPy or Arrow."""
    return names[i : i + 1].tolist()[0]


def label_codes(name: str, columns: dict[str, Column]) -> tuple[HostArray, HostArray]:
    """Labels as integers [n] in order of first appearance, and the labels."""
    codes, labels = to_ids([name], columns)
    return codes[:, 0], labels
