"""Tables with a row per match, per match of teams, or per participant of a contest, as columns of events."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import (
    format_count,
    format_number,
    format_unquoted_name,
    format_value_for_error,
    join_names,
)
from jaxrate.data.column_conversion import (
    check_row_time_order,
    is_missing_value,
    keep_rows,
    missing_mask,
    time_column_to_days_and_clock,
    to_column,
    to_flags,
    to_ids,
    to_numbers,
)
from jaxrate.data.column_role_definitions import (
    CONTEST_ROLES,
    PLAYER_PAIR,
    WINNER_LOSER,
    as_column_list,
    check_column_names,
)
from jaxrate.data.column_spellings import LINE_UP_SPELLINGS, NAME_TEMPLATES, SIDE_PAIRS, Header
from jaxrate.data.derived_covariates import age_differences, parse_season_start_years
from jaxrate.data.faulty_rows import is_blank_mask, map_row_errors
from jaxrate.data.result_parsing import MIN_READABLE_SHARE, to_sides
from jaxrate.data.role_resolution import ColumnRoles, TableLayout, default_column, first_player_statistic_lead
from jaxrate.data.seasons_and_margins import (
    NO_TIME_MESSAGE,
    find_season_starts,
    first_player_lead,
    match_seasons_from_column,
)
from jaxrate.data.table_sources import Column, check_columns_exist_and_unique, find_column_ignoring_case, import_pyarrow
from jaxrate.events import (
    MAX_REPORTED_ROWS,
    NameFormatters,
    RowError,
    add_advice_to_errors,
    add_contest_to_errors,
    build_rounds,
    fail_where,
    matches,
)
from jaxrate.events.dataset import Dataset, EventBuilderInputs


class NamesOfEarlierData(NamedTuple):
    """The names that have ids already, in their order, and the seasons that have begun; None: none."""

    players: Any = None  # or what makes ids of names
    categories: Any = None
    seasons: Mapping[str, float] | None = None


def _player_ids(names: Sequence[str], columns: dict[str, Column], players: Any) -> tuple[HostArray, HostArray]:
    """Ids [n, columns] of the players in these columns, and all names by id; `players` may be a function for that."""
    return players(names, columns) if callable(players) else to_ids(names, columns, players)


def build_match_fields(roles: ColumnRoles, columns: dict[str, Column], known: NamesOfEarlierData) -> EventBuilderInputs:
    """Ids and numbers of the matches.

    Raises:
      RowError: where a column does not hold what its role requires.
    """
    labels, starts = None, None
    player, players = _player_ids(roles.layout.players, columns, known.players)
    first, second = player.T
    fail_where(
        first == second,
        lambda row: f"{format_unquoted_name(name_of_id(players, first[row]))} is on both sides; remove the row",
    )
    values = {"player": player} | match_arguments_from_columns(roles, columns, len(player))
    if roles.category:
        values["category"], labels = to_ids(roles.category, columns, known.categories, "categories")
    time, clock = time_column_to_days_and_clock(roles.time, columns)
    if roles.age:
        values["columns"]["age"] = age_differences(roles.age, columns, time["time"] if clock == "dates" else None)
    if roles.league_season is not None:
        values["columns"][roles.league_season] = parse_season_start_years(roles.league_season, columns)
    if roles.season is not None:
        if clock is None:
            raise ValueError(NO_TIME_MESSAGE)
        season_rows = match_seasons_from_column(roles.season, columns, time["time"])
        starts = find_season_starts(lambda: [season_rows], known.seasons)
    return EventBuilderInputs(values | time, players, clock, labels, seasons=starts)


def match_arguments_from_columns(roles: ColumnRoles, columns: dict[str, Column], n: int) -> dict[str, Any]:
    """Scores, weights, sides and further columns of n matches, as `matches` takes them.

    Raises:
      RowError: where a column does not hold what its role requires.
    """
    values: dict[str, Any] = {"score": _scores(roles, columns, n)}
    if roles.weight is not None:
        values["weight"] = to_numbers(roles.weight, columns[roles.weight])
    if roles.constant_side is not None:
        values["side"] = np.full(n, roles.constant_side)
    elif roles.side is not None:
        values["side"] = to_sides(roles.side, columns[roles.side])
    if roles.neutral is not None:
        values["side"] = np.where(to_flags(roles.neutral, columns[roles.neutral]), 0.0, values["side"])
    values["columns"] = further_columns(roles, columns, n)
    return values


def _scores(roles: ColumnRoles, columns: dict[str, Column], n: int) -> HostArray:
    """[n] the scores of the first players; of matches to come 0.5."""
    layout = roles.layout
    if layout.result is not None and not roles.upcoming:
        return to_numbers(layout.result, columns[layout.result])
    if layout.points and not roles.upcoming:
        lead = first_player_lead([to_numbers(name, columns[name]) for name in layout.points])
        return np.asarray(0.5 + 0.5 * np.sign(lead))
    return np.full(n, 1.0 if layout.winner_first else 0.5)


def further_columns(roles: ColumnRoles, columns: dict[str, Column], n: int) -> dict[str, HostArray]:
    """The further columns [n] of matches or participants by name, with those of the margin. RowError for bad values."""
    values = {name: to_numbers(name, columns[name]) for name in roles.prematch_columns}
    values |= {name: np.zeros(n) if roles.upcoming else to_numbers(name, columns[name]) for name in roles.margin}
    for name, x in values.items():
        fail_where(np.isnan(x), lambda row: f"column {name!r} is {x[row]}, not a finite number")  # noqa: B023
    for name in roles.expected_goals:
        values[name] = np.full(n, np.nan) if roles.upcoming else to_numbers(name, columns[name], np.nan)
        fail_where(np.isinf(values[name]), lambda row: f"column {name!r} is {values[name][row]}, not a finite number")  # noqa: B023
    for statistic in roles.statistics:
        values[statistic.name] = np.zeros(n) if roles.upcoming else first_player_statistic_lead(statistic, columns)
    return values


def match_row_order(
    roles: ColumnRoles, columns: dict[str, Column], fields: EventBuilderInputs, sort: bool
) -> HostArray | slice:
    """[n] the rows in order of time. RowError if they are not in order and are not to be sorted."""
    if fields.clock is None or roles.time is None:
        return slice(None)
    if sort:
        return np.argsort(fields.values["time"], kind="stable")
    check_row_time_order(columns[roles.time], fields.values["time"])
    return slice(None)


def build_match_dataset(roles: ColumnRoles, fields: EventBuilderInputs, rows: HostArray) -> Dataset:
    """The dataset of these matches, which stand in these rows of the source."""
    statistics = tuple(one.name for one in roles.statistics)
    evidence = tuple(roles.margin), (*roles.covariates, *(["age"] if roles.age else [])), fields.seasons
    fields_of_dataset = fields.players, rows, fields.categories, fields.clock, None, *evidence
    return Dataset(
        matches(**fields.values),
        *fields_of_dataset,
        league_season=roles.league_season,
        statistics=statistics,
        points=roles.layout.points,
        expected_goals=tuple(roles.expected_goals),
    )


SEPARATOR = ";"  # of the names in a cell of text, where columns are named as those of teams
HOME_ADVICE = "make a home game a covariate of each player, in a table with a row for each"
OWN_ADVICE = "they are each player's own, in a table with a row for each"
UNSUPPORTED_ROLES = {  # and what to do instead; nothing: no contest takes them
    "side": HOME_ADVICE,
    "neutral": HOME_ADVICE,
    "statistics": OWN_ADVICE,
    "covariates": OWN_ADVICE,
    "season": "give the times at which they begin to the system, as skills(seasons=...)",
    **dict.fromkeys(("age", "league_season", "shares", "expected_goals"), ""),
}
OTHER_LAYOUTS = PLAYER_PAIR, WINNER_LOSER, ("contest", "participant")  # roles whose default columns tell of them


class LineUpColumns(NamedTuple):
    """The columns that hold the players of both sides."""

    first: list[str]
    second: list[str]
    roles: tuple[str, str]  # of the two sides: a and b, or winner and loser
    note: str = ""  # what was recognised, in words


def find_line_up_columns(names: Sequence[str], arguments: Mapping[str, Any]) -> LineUpColumns | None:
    """The columns of line-ups: several that arguments name for a side, or a1, a2, b1, b2 as people call them.

    Raises:
      ValueError: if only one of the sides is named.
    """
    if (named := _named_line_ups(arguments)) is not None:
        return named
    if any(arguments[role] is not None for role in (*PLAYER_PAIR, *WINNER_LOSER, *CONTEST_ROLES)):
        return None
    if any(all(find_column_ignoring_case(names, default_column(x)) for x in roles) for roles in OTHER_LAYOUTS):
        return None
    header = Header.of_columns(names)
    if any(header.pairs(NAME_TEMPLATES, sides) for sides in SIDE_PAIRS if sides.kind != "own"):
        return None  # of named sides; numbered columns are sets, or more about them
    return _numbered_line_ups(header)


def _named_line_ups(arguments: Mapping[str, Any]) -> LineUpColumns | None:
    """The line-ups that arguments name, if one names several columns; ValueError if only one of the sides is named."""
    for roles in (PLAYER_PAIR, WINNER_LOSER):
        named = [arguments[role] for role in roles]
        lists = {role: side for role, side in zip(roles, named, strict=True) if isinstance(side, (list, tuple))}
        for role, side in lists.items():
            check_column_names(role, side)
        if lists and not all(named):
            raise ValueError(f"{roles[0]} and {roles[1]} must both name the columns of a side, got {named}")
        if lists:
            return LineUpColumns(as_column_list(named[0]), as_column_list(named[1]), roles)
    return None


def _numbered_line_ups(header: Header) -> LineUpColumns | None:
    """The line-ups in columns that are called a1, a2, b1, b2 or the like."""
    for roles, *templates in LINE_UP_SPELLINGS:
        sides = [_numbered_columns(header.by_spelling, template) for template in templates]
        if all(sides) and sum(map(len, sides)) > 2:
            for role, columns, template in zip(roles, sides, templates, strict=True):
                _check_numbers_without_gap(role, columns, template)
            first, second = ([columns[number] for number in sorted(columns)] for columns in sides)
            note = f"{', '.join(first)} for the team of {roles[0]}, and {', '.join(second)} for that of {roles[1]}"
            return LineUpColumns(first, second, roles, note)
    return None


def _numbered_columns(column_by_spelling: Mapping[str, str], template: str) -> dict[int, str]:
    """The columns of a template by number; none unless there is one of number 0 or 1."""
    pattern = re.compile(template.format("(0|[1-9][0-9]*)"))
    matches = {match: name for spelling, name in column_by_spelling.items() if (match := pattern.fullmatch(spelling))}
    columns = {int(match[1]): name for match, name in matches.items()}
    return columns if columns.keys() & {0, 1} else {}


def _check_numbers_without_gap(role: str, columns: Mapping[int, str], template: str) -> None:
    """ValueError if a number between those of the columns has none, whose player would be missing."""
    numbers = sorted(columns)
    missing = next((i for i in range(numbers[0], numbers[-1]) if i not in columns), None)
    if missing is not None:
        names = [columns[number] for number in numbers]
        raise ValueError(
            f"there are columns {join_names(names)} for the team of {role}, and no {template.format(missing)}; add it, "
            f"or name the columns of both teams, as {role}={names!r}"
        )


def set_line_up_columns(roles: ColumnRoles, line_ups: LineUpColumns, names: Sequence[str]) -> ColumnRoles:
    """The roles with all players; ValueError unless there are such columns, each once."""
    players = [*line_ups.first, *line_ups.second]
    if len({*players}) < len(players):
        raise ValueError(f"the line-ups name a column twice: {', '.join(map(str, players))}")
    check_columns_exist_and_unique(names, players)
    return roles._replace(layout=roles.layout._replace(players=players, num_first=len(line_ups.first)))


def check_line_up_roles(arguments: Mapping[str, Any]) -> None:
    """ValueError for arguments of `read` that a table of line-ups does not take."""
    wrong = [name for name in UNSUPPORTED_ROLES if arguments[name]]
    if isinstance(arguments["category"], (list, tuple)) and len(arguments["category"]) > 1:
        raise ValueError("the category of line-ups is one column, what everybody meets")
    if wrong:
        advice = UNSUPPORTED_ROLES[wrong[0]]
        wrong = [name for name in wrong if UNSUPPORTED_ROLES[name] == advice]
        others = f", and neither do other contests; leave {'it' if len(wrong) == 1 else 'them'} out"
        raise ValueError(f"line-ups take no {' and no '.join(wrong)}{f': {advice}' if advice else others}")


def expand_line_up_cells(roles: ColumnRoles, columns: dict[str, Column]) -> tuple[ColumnRoles, dict[str, Column], str]:
    """Matches whose cells hold lists of players, or of line-ups text with ;, with a column for each; and a note.

    Blank cells of line-ups are missing.
    """
    layout = roles.layout
    if layout.contest is not None:
        return roles, columns, ""
    if any(_has_lists(columns[name]) for name in layout.players):
        if not layout.num_first:
            _check_no_separators_beside_lists(layout, columns)
        return _divide_line_up_cells(roles, columns)
    shares = [separated_share(columns[name]) for name in layout.players]
    if layout.num_first and any(shares):
        return _divide_line_up_cells(roles, columns)
    if layout.num_first:
        return roles, columns | {name: _blank_as_missing(name, columns[name]) for name in layout.players}, ""
    note, (a, b) = "", layout.players
    if min(shares) >= MIN_READABLE_SHARE and len(columns[a]) > 1:
        note = f"each of {a} and {b} for one name (if semicolons divide players, say a=[{a!r}], b=[{b!r}])"
    return roles, columns, note


def _divide_line_up_cells(roles: ColumnRoles, columns: dict[str, Column]) -> tuple[ColumnRoles, dict[str, Column], str]:
    """The line-ups with a column for each player of a cell, the first under the name of theirs; and a note."""
    layout, new = roles.layout, dict(columns)
    parts = [_add_columns_of_cells(new, name, divides=layout.num_first > 0) for name in layout.players]
    num_first = sum(map(len, parts[: layout.num_first or 1]))
    players = [name for names in parts for name in names]
    text = f"{' and '.join(map(str, layout.players))} for teams, of several players in a cell"
    return roles._replace(layout=layout._replace(players=players, num_first=num_first)), new, text


def _add_columns_of_cells(columns: dict[str, Column], name: str, divides: bool) -> list[str]:
    """The names of the columns that are added to `columns` for the players in the cells of one of them."""
    cells = [_cell_names(value, divides) for value in _to_values(columns[name])]
    parts = [name]  # the first has its name, which errors show
    for number in range(2, max(map(len, cells)) + 1):
        part = f"{name}, {number}"
        while part in columns:
            part += "'"
        parts.append(part)
    for position, part in enumerate(parts):
        columns[part] = to_column(part, [cell[position] if position < len(cell) else None for cell in cells])
    return parts


def _check_no_separators_beside_lists(layout: TableLayout, columns: Mapping[str, Column]) -> None:
    """RowError where text that may name several players stands among lists of them."""
    a, b = layout.players
    advice = f"and others are lists: make it one, or say a=[{a!r}], b=[{b!r}] if semicolons divide the players"
    for name in layout.players:
        values = _to_values(columns[name])
        is_divided = np.array([isinstance(value, str) and SEPARATOR in value for value in values], bool)
        fail_where(is_divided, lambda row: f"column {name!r} is {format_value_for_error(values[row])}, {advice}")  # noqa: B023


def _blank_as_missing(name: str, column: Column) -> Column:
    """The column with None in place of blank text."""
    blank = is_blank_mask(column)
    if not blank.any():
        return column
    values = _to_values(column)
    return to_column(name, [None if blank[row] else values[row] for row in range(len(values))])


def _has_lists(column: Column) -> bool:
    return isinstance(column, np.ndarray) and any(isinstance(x, (list, np.ndarray)) for x in column)


def separated_share(column: Column) -> float:
    """The share of the cells that hold text with the separator."""
    if isinstance(column, np.ndarray):
        return float(np.mean([isinstance(x, str) and SEPARATOR in x for x in column]))
    if not import_pyarrow().types.is_large_string(column.type):
        return 0.0
    compute = import_pyarrow().compute
    return float(compute.mean(compute.match_substring(column, SEPARATOR)).as_py() or 0.0)


def _to_values(column: Column) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()


def _cell_names(value: Any, divides: bool) -> list[Any]:
    """The names in a cell, which semicolons divide if they do; none of what is missing or blank."""
    if isinstance(value, str) and divides:
        return [name for part in re.split(SEPARATOR, value) if (name := part.strip())]
    value = value.tolist() if isinstance(value, np.ndarray) else value
    items = value if isinstance(value, list) else [value]
    return [x for x in items if not (is_missing_value(x, True) or (isinstance(x, str) and not x.strip()))]


def read_line_up_fields(
    roles: ColumnRoles, columns: dict[str, Column], known: NamesOfEarlierData, rows: HostArray
) -> tuple[EventBuilderInputs, HostArray]:
    """Ids and numbers of the players of both teams, and the row [sum P] of the columns in which each stands.

    `rows` [n] says where those of the columns stand in the source.

    Raises:
      RowError: where a column does not hold what its role requires.
    """
    layout, count = roles.layout, len(columns[roles.layout.players[0]])
    for name in layout.first_players:
        fail_where(missing_mask(columns[name], True), lambda row: f"column {name!r} has no value")  # noqa: B023
    present = np.stack([~missing_mask(columns[name], True) for name in layout.players], axis=1)
    row, position = np.nonzero(present)
    player, players = _player_ids(
        ["players"], {"players": _names_by_row(layout.players, columns, present)}, known.players
    )
    arguments = match_arguments_from_columns(roles, columns, count)
    score, second = arguments["score"], position >= layout.num_first
    fail_where(
        ~np.isin(score, (0, 0.5, 1)), lambda row: f"score {score[row]:g}, and teams win (1), draw (0.5) or lose (0)"
    )
    place = np.sign(0.5 - score)  # of the first, -1 if they won; the second has the other
    values: dict[str, Any] = {"contest": row, "player": player[:, 0], "team": second.astype(int)}
    values["rank"] = np.where(second, -place[row], place[row])
    if (weight := arguments.get("weight")) is not None:
        fail_where(weight <= 0, lambda row: f"column {roles.weight!r} is {weight[row]:g}, and weights are above 0")
        values["noise"] = weight[row] ** -0.5
    labels = None
    if roles.category:
        category, labels = to_ids(roles.category[:1], columns, known.categories, "categories")
        values["category"] = category[row, 0]
    values["columns"] = {name: x[row] for name, x in arguments["columns"].items() if name not in roles.margin}
    if roles.margin:
        values["columns"][roles.margin[0]] = _team_points(roles, columns, score)[row, second.astype(int)]
    time, clock = time_column_to_days_and_clock(roles.time, columns)
    values |= {name: x[row] for name, x in time.items()}
    return EventBuilderInputs(values, players, clock, labels, rows), row


def _names_by_row(names: Sequence[str], columns: Mapping[str, Column], present: HostArray) -> Column:
    """The names of the players that there are, of each row those of the first team and then those of the second."""
    parts, arrow = [columns[name] for name in names], import_pyarrow()
    if any(isinstance(part, np.ndarray) for part in parts) or len({part.type for part in parts}) > 1:
        values = np.empty(present.shape, object)
        for i, part in enumerate(parts):
            values[:, i] = _to_values(part)
        return to_column("players", values[present].tolist())
    flat = arrow.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)
    row, position = np.nonzero(present)
    return flat.take(arrow.array(position * len(present) + row))


def _team_points(roles: ColumnRoles, columns: Mapping[str, Column], score: HostArray) -> HostArray:
    """[n, 2] the points of both teams; of a margin in one column it, for who has won, and 0."""
    if roles.upcoming:
        return np.zeros((len(score), 2))
    points = [to_numbers(name, columns[name]) for name in roles.margin]
    if len(points) == 2:
        return np.stack(points, axis=1)
    size = np.abs(points[0])
    return np.stack([np.where(score > 0.5, size, 0.0), np.where(score < 0.5, size, 0.0)], axis=1)


def build_line_up_dataset(roles: ColumnRoles, fields: EventBuilderInputs, rows: HostArray) -> Dataset:
    """The dataset of these contests, whose participants stand in these rows of the source."""
    players, source = fields.players, np.asarray(fields.contests)
    formatters = NameFormatters(lambda i: str(source[i]), lambda i: format_unquoted_name(name_of_id(players, i)))
    events = build_rounds(**fields.values, formatters=formatters)
    names = players, rows, fields.categories, fields.clock, rows[events.player_start[:-1]]
    return Dataset(events, *names, tuple(roles.margin[:1]))


NO_RANK_ADVICE = (
    'give those who did not finish the same last place, name their texts as unfinished=["DNF"], or leave their rows out'
)


def read_participant_fields(
    roles: ColumnRoles, columns: dict[str, Column], known: NamesOfEarlierData
) -> EventBuilderInputs:
    """Ids and numbers of the participants.

    Raises:
      RowError: where a column does not hold what its role requires.
    """
    layout = roles.layout
    assert layout.contest is not None
    contest, contests = label_codes(layout.contest, columns)

    def label(row: int) -> str:
        return f"contest {format_name_of_id(contests, contest[row])}"

    with add_contest_to_errors(label):
        player, players = _player_ids(layout.players, columns, known.players)
    values: dict[str, Any] = {"contest": contest, "player": player[:, 0]}
    values |= participant_arguments_from_columns(roles, columns, contest, label)
    labels = None
    with add_contest_to_errors(label):
        if roles.category:
            category, labels = to_ids(roles.category, columns, known.categories, "categories")
            values["category"] = category[:, 0]
        time, clock = time_column_to_days_and_clock(roles.time, columns)
    return EventBuilderInputs(values | time, players, clock, labels, contests)


def participant_arguments_from_columns(
    roles: ColumnRoles, columns: dict[str, Column], contest: HostArray, label: Callable[[int], str]
) -> dict[str, Any]:
    """Ranks, weights, teams, ceilings, noise and further columns of participants, as `rounds` takes them.

    `contest` [n] are numbers of the contests, and `label` names that of a row.

    Raises:
      RowError: where a column does not hold what its role requires.
    """
    layout, count = roles.layout, len(contest)
    values: dict[str, Any] = {"rank": np.zeros(count)}
    if layout.result is not None:
        with add_advice_to_errors(NO_RANK_ADVICE), add_contest_to_errors(label):
            result = _to_ranks(layout.result, columns[layout.result])
        values["rank"] = result if layout.ranked else -result
    with add_contest_to_errors(label):
        if roles.weight is not None:
            values["weight"] = to_numbers(roles.weight, columns[roles.weight])
        if roles.last_rank is not None:
            _check_tied_place_ranges(contest, values["rank"], to_numbers(roles.last_rank, columns[roles.last_rank]))
        if roles.team is not None:
            missing = missing_mask(columns[roles.team], nan_is_missing=True)
            message = f"column {roles.team!r} has no value; players without a team need one of their own"
            fail_where(missing, lambda row: message)
            values["team"] = _first_row_of_team(contest, label_codes(roles.team, columns)[0])
        if roles.ceiling is not None:
            values["ceiling"] = to_numbers(roles.ceiling, columns[roles.ceiling], default=np.inf)
        if roles.noise is not None:
            values["noise"] = to_numbers(roles.noise, columns[roles.noise])
        values["columns"] = further_columns(roles, columns, count)
    return values


def _to_ranks(name: str, column: Column) -> HostArray:
    """The column as float64. RowError with one row for each text that is no number, and how many rows have it."""
    try:
        return to_numbers(name, column)
    except RowError as error:
        first_row_and_count: dict[Any, list[int]] = {}
        for row, value in enumerate(column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()):
            if isinstance(value, str) and value.strip() and not _is_number(value):
                first_row_and_count.setdefault(value, [row, 0])[1] += 1
        if len(error.rows_and_messages) == 1 or not first_row_and_count:
            raise
        faults = [
            (row, f"column {name!r} is {format_value_for_error(value)} in {format_count(count, 'row')}, not a number")
            for value, (row, count) in first_row_and_count.items()
        ]
        raise RowError(*faults[0], faults[1:MAX_REPORTED_ROWS], max(len(faults) - MAX_REPORTED_ROWS, 0)) from None


def _is_number(text: str) -> bool:
    with suppress(ValueError):
        return float(text) == float(text)
    return False


def _first_row_of_team(contest: HostArray, team: HostArray) -> HostArray:
    """[n] the first row of the same team in the contest, by which teams that tie count in the order of their rows."""
    key = contest * (team.max(initial=0) + np.int64(1)) + team
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return np.asarray(first[number])


def _check_one_time_in_contest(fields: EventBuilderInputs, differs: HostArray) -> None:
    """RowError for a row whose time is not that of its contest, as the name of two contests leads to."""

    def say(row: int) -> str:
        name = format_name_of_id(fields.contests, fields.values["contest"][row])
        value = fields.values["time"][row]
        time = str(np.datetime64(int(value // 1), "D")) if fields.clock == "dates" else format_number(value)
        return f"time {time} differs within contest {name}; if several contests have this name, give each its own"

    fail_where(differs, say)


def contest_row_order(fields: EventBuilderInputs, sort: bool) -> HostArray | slice:
    """[n] the rows, in order of time if they are to be sorted: contests as wholes. RowError if one has two times."""
    contest = fields.values["contest"]
    if fields.clock is None:
        return slice(None)
    time = fields.values["time"]
    first = time[np.unique(contest, return_index=True)[1]][contest]
    _check_one_time_in_contest(fields, (time < first) | (time > first))
    if not sort:
        return slice(None)
    return np.lexsort([contest, time])


def build_contest_dataset(roles: ColumnRoles, fields: EventBuilderInputs, rows: HostArray) -> Dataset:
    """The dataset of these rounds, whose participants stand in these rows of the source."""
    contests, players = fields.contests, fields.players
    assert contests is not None
    formatters = NameFormatters(
        lambda i: format_name_of_id(contests, i), lambda i: format_name_of_id(players, i), lambda row: str(rows[row])
    )
    events = build_rounds(**fields.values, formatters=formatters)
    order = fields.values["contest"][events.player_start[:-1]]
    names = players, rows, fields.categories, fields.clock, contests[order]
    statistics = tuple(one.name for one in roles.statistics)
    return Dataset(events, *names, tuple(roles.margin), tuple(roles.covariates), statistics=statistics)


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


def build_dataset(
    roles: ColumnRoles, columns: dict[str, Column], rows: HostArray, known: NamesOfEarlierData, in_order: bool
) -> Dataset:
    """The dataset of these columns, whose values stand in these rows of the source.

    Args:
      roles: which columns are used, and for what.
      columns: values [n] by name.
      rows: [n] of the source.
      known: the names that have ids already.
      in_order: whether to put the rows in order of time.

    Raises:
      RowError: about up to ten rows of the source.
    """
    layout, row = roles.layout, np.arange(len(rows))  # in which row each match or participant stands
    of_teams = layout.num_first > 0  # matches of two teams, as contests
    of_matches = layout.contest is None and not of_teams
    with map_row_errors(rows):
        if of_teams:
            fields, row = read_line_up_fields(roles, columns, known, rows)
        elif of_matches:
            fields = build_match_fields(roles, columns, known)
        else:
            fields = read_participant_fields(roles, columns, known)
    with map_row_errors(rows[row]):
        order = match_row_order(roles, columns, fields, in_order) if of_matches else contest_row_order(fields, in_order)
    fields, source_rows = fields._replace(values=_reorder_values(fields.values, order)), rows[row][order]
    build = build_line_up_dataset if of_teams else build_match_dataset if of_matches else build_contest_dataset
    with map_row_errors(source_rows):
        return build(roles, fields, source_rows)


def filter_column_rows(columns: dict[str, Column], mask: HostArray) -> dict[str, Column]:
    """The rows of the columns where the mask is true."""
    return {name: keep_rows(name, column, mask) for name, column in columns.items()}


def _reorder_values(values: dict[str, Any], order: HostArray | slice) -> dict[str, Any]:
    """The rows of the columns, also of further ones, in this order."""
    return {name: _reorder_values(x, order) if isinstance(x, dict) else x[order] for name, x in values.items()}
