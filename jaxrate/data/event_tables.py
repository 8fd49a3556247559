"""Tables with a row per match, per match of teams, or per participant of a contest, as events.

All are read in one way: what is known of each row, as the arguments of `matches` and `rounds`, from the columns by
their roles. Matches of teams, read as those of two players are, are then divided into rows of their players.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import chain, zip_longest
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
    distinct_cells,
    is_list,
    is_missing_value,
    is_text,
    missing_mask,
    null_where,
    numbers_or_nan,
    to_column,
    to_flags,
    to_ids,
    to_numbers,
    to_values,
)
from jaxrate.data.derived_covariates import age_differences, names_of_grounds, parse_season_start_years
from jaxrate.data.faulty_rows import is_blank_mask, map_row_errors
from jaxrate.data.result_parsing import MIN_READABLE_SHARE, Notation, to_sides
from jaxrate.data.role_resolution import ColumnRoles, TableLayout, first_player_statistic_lead
from jaxrate.data.row_results import DrawRule
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
    add_contest_to_errors,
    build_rounds,
    fail_where,
    matches,
    rewrite_row_errors,
)
from jaxrate.events.dataset import Dataset, format_event_time

SECONDS_PER_DAY = 86_400
SEPARATORS = {  # of players in a cell, by pattern: what divides them, and the least share of cells to say that it may
    ";": ("semicolons divide", MIN_READABLE_SHARE),
    r"\s/\s": ("' / ' divides", 0.9),
}


def expand_line_up_cells(roles: ColumnRoles, columns: dict[str, Column]) -> tuple[ColumnRoles, dict[str, Column], str]:
    """Matches whose cells hold lists of players, or of line-ups text with ;, with a column for each; and a note.

    Blank cells of line-ups are missing.
    """
    layout = roles.layout
    if layout.contest is not None:
        return roles, columns, ""
    cells = {name: columns[name] for name in layout.players}
    if not layout.num_first and not any(map(is_list, cells.values())):
        return roles, columns, _describe_possible_line_ups(cells)
    divider = _find_divider(cells)
    if divider is None:
        return roles, columns | {name: null_where(x, is_blank_mask(x)) for name, x in cells.items()}, ""
    parts = [_divide_cells(name, column, divider, columns) for name, column in cells.items()]
    players, num_first = dict(chain(*map(dict.items, parts))), sum(map(len, parts[: layout.num_first or 1]))
    layout = layout._replace(players=[*players], num_first=num_first)
    note = f"{' and '.join(map(str, cells))} for teams, of several players in a cell"
    return roles._replace(layout=layout), columns | players, note


def _find_divider(cells: Mapping[str, Column]) -> str | None:
    """The pattern that divides the players in cells; None if no cell has several."""
    if any(map(is_list, cells.values())):
        return ";"
    divider = ";" if len(cells) > 2 else "|".join(SEPARATORS)  # slashes where a side is one column
    return divider if any(_has_separator(column, divider).any() for column in cells.values()) else None


def _describe_possible_line_ups(cells: Mapping[str, Column]) -> str:
    """A note that the cells of both sides may name several players, as nearly all have a separator; "" otherwise."""
    (a, first), (b, second) = cells.items()
    for pattern, (divides, least) in SEPARATORS.items():
        share = min(_has_separator(first, pattern).mean(), _has_separator(second, pattern).mean())
        if len(first) > 1 and share >= least:
            return f"each of {a} and {b} for one name (if {divides} players, say a=[{a!r}], b=[{b!r}])"
    return ""


def _divide_cells(name: str, column: Column, divider: str, names_in_use: Collection[str]) -> dict[str, Column]:
    """A column for each player in the cells of one, the first of which has its name, which errors show."""
    cells = [_names_in_cell(value, divider) for value in to_values(column)]
    first, *others = [*zip_longest(*cells)] or [(None,) * len(cells)]
    parts = {name: to_column(name, [*first])}
    for number, names in enumerate(others, 2):
        part = f"{name}, {number}"
        while part in names_in_use:
            part += "'"
        parts[part] = to_column(part, [*names])
    return parts


def _names_in_cell(value: Any, divider: str) -> list[Any]:
    """The names in a cell, a list or text, of which a pattern divides text; none of what is missing or blank."""
    items = value if isinstance(value, list) else [value]
    names = [part.strip() for item in items if isinstance(item, str) for part in re.split(divider, item)]
    return [*filter(None, names)] or [item for item in items if not (isinstance(item, str) or is_missing_value(item))]


def _has_separator(column: Column, pattern: str) -> HostArray:
    """[n] whether a cell is text with a separator."""
    if not is_text(column):
        return np.zeros(len(column), bool)
    return np.asarray(import_pyarrow().compute.match_substring_regex(column, pattern).fill_null(False).to_numpy())


class NamesOfEarlierData(NamedTuple):
    """The names that have ids already, in their order, and the seasons that have begun; None: none."""

    players: Any = None  # or what makes ids of names
    categories: Any = None
    seasons: Mapping[str, float] | None = None


class TableRows(NamedTuple):
    """Rows of a table as events are built from them: columns of scores and times, and a player in each cell."""

    roles: ColumnRoles
    columns: dict[str, Column]  # [n] by name
    rows: HostArray  # [n] where they stand in the table
    clock: str | None  # what the times are, as in `Dataset`
    notes: list[str]  # what was taken for what
    notation: Notation | None  # how results are written; None: there is no column of them
    draws: DrawRule | None  # what tells which matches are drawn
    date_style: str | None  # how dates were written, if that had to be found out or was told

    def keep(self, mask: HostArray) -> "TableRows":
        """The rows where the mask is true; without a copy, if these are the last ones."""
        first = int(np.argmax(mask))
        if mask[first:].all():
            columns = {name: column[first:] for name, column in self.columns.items()}
        else:
            columns = {name: column.filter(mask) for name, column in self.columns.items()}
        return self._replace(columns=columns, rows=self.rows[mask])


class EventColumns(NamedTuple):
    """The columns from which the events of a `Dataset` are built."""

    values: dict[str, Any]  # [R, ...] by name of the argument of `matches` or `rounds`, in the order of the rows
    players: Any  # [num_players] names in order of id
    categories: HostArray | None  # [num_categories] names in order of id
    clock: str | None  # as in `Dataset`
    seasons: dict[str, float] | None  # as in `Dataset`
    contest_names: Any  # [E] what the source calls each contest, by its number in `values`; None: matches of two


def build_dataset(table: TableRows, earlier: NamesOfEarlierData, in_order: bool) -> Dataset:
    """The dataset of these rows, with the names that have ids already, in order of time if they are to be.

    Raises:
      RowError: about up to ten rows of the source.
    """
    roles, columns, rows = table[:3]
    are_teams = roles.layout.num_first > 0
    with map_row_errors(rows):
        read = read_event_columns(roles, columns, table.clock, earlier)
        if are_teams:
            read, row = split_teams(roles, columns, rows, read, earlier.players)
            rows = rows[row]
    with map_row_errors(rows):
        order = _row_order(read, in_order)
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
        venues=None if roles.venue is None else names_of_grounds(columns[roles.venue])[order],
    )


def _select_rows(values: dict[str, Any], rows: Any) -> dict[str, Any]:
    """These rows of the columns, also of further ones."""
    return {name: _select_rows(x, rows) if isinstance(x, dict) else x[rows] for name, x in values.items()}


def _row_order(read: EventColumns, in_order: bool) -> HostArray | slice:
    """[R] the rows, in order of time if they are to be: contests as wholes.

    Raises:
      RowError: where a match is earlier than the one before, and they are not to be sorted.
    """
    if read.clock is None:
        return slice(None)
    time, contest = read.values["time"], read.values.get("contest")
    if not in_order:
        fail_where(
            np.append(False, time[1:] < time[:-1]) & (contest is None),
            lambda row: (
                f"time {_moment_text(time[row], read.clock)} is earlier than {_moment_text(time[row - 1], read.clock)} "
                "in the row before; sort the rows; sort=True does"
            ),
        )
        return slice(None)
    if contest is None:
        return np.argsort(time, kind="stable")
    return np.lexsort([contest, time[np.unique(contest, return_index=True)[1]][contest]])


def _moment_text(time: float, clock: str | None) -> str:
    """A time as text, with the hour if there is one."""
    if clock != "dates" or time == np.floor(time):
        return format_event_time(time, clock)
    return str(np.datetime64(round(time * SECONDS_PER_DAY), "s")).replace("T", " ")


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


def read_event_columns(
    roles: ColumnRoles, columns: dict[str, Column], clock: str | None, earlier: NamesOfEarlierData
) -> EventColumns:
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
            values["rank"] = np.zeros(n) if roles.upcoming else _read_ranks(layout, columns, n)
    with name_contests():
        values |= _read_optional_numbers(roles, columns, n) | _read_teams(roles, columns, values)
        if roles.category:
            category, categories = to_ids(roles.category, columns, earlier.categories, "categories")
            values["category"] = category if layout.contest is None and not layout.num_first else category[:, 0]
        clock = None if roles.time is None or missing_mask(columns[roles.time]).all() else clock
        if clock is not None:
            values["time"] = to_numbers(str(roles.time), columns[str(roles.time)])
        dates = values["time"] if clock == "dates" else None
        values["columns"] = further_columns(roles, columns, n, dates)
    seasons = _read_season_starts(roles.season, columns, values.get("time"), earlier.seasons)
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
        lambda row: (
            f"{format_unquoted_name(players[first[row] : first[row] + 1].tolist()[0])} is on both sides; remove the row"
        ),
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
    missing = {name: missing_mask(columns[name]) for name in layout.players}
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
    kind = next(iter(kinds)) if len(kinds := {part.type for part in parts}) == 1 else arrow.large_string()
    flat = arrow.chunked_array([chunk for part in parts for chunk in part.cast(kind).chunks], kind)
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
    roles: ColumnRoles, columns: dict[str, Column], n: int, dates: HostArray | None
) -> dict[str, HostArray]:
    """The further columns [n] of matches or participants by name, with those of the margin and of ages.

    `dates` [n] are the times of the matches, None if they are no dates.

    Raises:
      RowError: where a value is no number, or missing and none may be.
    """
    values = {name: to_numbers(name, columns[name]) for name in roles.prematch_columns}
    values |= {name: np.zeros(n) if roles.upcoming else to_numbers(name, columns[name]) for name in roles.margin}
    for name in roles.expected_goals:
        values[name] = np.full(n, np.nan) if roles.upcoming else to_numbers(name, columns[name], np.nan)
    for statistic in roles.statistics:
        values[statistic.name] = np.zeros(n) if roles.upcoming else first_player_statistic_lead(statistic, columns)
    if roles.age:
        values["age"] = age_differences(roles.age, columns, dates)
    if roles.league_season is not None:
        values[roles.league_season] = parse_season_start_years(roles.league_season, columns)
    return values


def _read_season_starts(
    season: str | None, columns: dict[str, Column], time: HostArray | None, earlier: Mapping[str, float] | None
) -> dict[str, float] | None:
    """When each season begins, by its name; None without a column of them. ValueError without times."""
    if season is None:
        return None
    if time is None:
        raise ValueError(NO_TIME_MESSAGE)
    batch = match_seasons_from_column(season, columns, time)
    return find_season_starts(lambda: [batch], earlier)


def _read_ranks(layout: TableLayout, columns: dict[str, Column], n: int) -> HostArray:
    """[n] the ranks of participants, lower is better; 0 without a column of results."""
    if layout.result is None:
        return np.zeros(n)
    result = _to_ranks(layout.result, columns[layout.result])
    return result if layout.ranked else -result


def _to_ranks(name: str, column: Column) -> HostArray:
    """The column as float64. RowError with one row for each text that is no number, and how many rows have it."""
    is_bad = np.isnan(numbers_or_nan(column)) & ~missing_mask(column)
    if np.count_nonzero(is_bad) > 1:
        values, codes = distinct_cells(column)
        count = np.bincount(codes[is_bad], minlength=len(values)).tolist()
        is_first = is_bad & np.isin(np.arange(len(codes)), np.unique(codes, return_index=True)[1])
        said = [f"{format_value_for_error(x)} in {format_count(k, 'row')}" for x, k in zip(values, count, strict=True)]
        fail_where(is_first, lambda row: f"column {name!r} is {said[codes[row]]}, not a number")
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
    missing = missing_mask(columns[roles.team])
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
    """A name of an array of NumPy or Arrow in errors, as Python writes it."""
    return format_value_for_error(names[i : i + 1].tolist()[0])


def label_codes(name: str, columns: dict[str, Column]) -> tuple[HostArray, HostArray]:
    """Labels as integers [n] in order of first appearance, and the labels."""
    codes, labels = to_ids([name], columns)
    return codes[:, 0], labels
