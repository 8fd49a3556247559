"""`read`: a table with a row per match, per match of teams, or per participant of a contest becomes a dataset.

All are read in one way: what is known of each row, as the arguments of `matches` and `rounds`, from the columns by
their roles. Matches of teams, read as those of two players are, are then divided into rows of their players.
"""

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import chain, zip_longest
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np

from jaxrate.core.argument_checks import check_argument, check_that
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count, format_unquoted_name, format_value_for_error, join_names
from jaxrate.data.column_conversion import (
    cell_value,
    check_no_missing_values,
    distinct_cells,
    fail_at_cells,
    is_list,
    is_missing_value,
    load_columns,
    missing_mask,
    null_where,
    numbers_or_nan,
    text_mask,
    to_column,
    to_flags,
    to_ids,
    to_numbers,
    to_values,
    value_text,
)
from jaxrate.data.column_recognition import (
    SIDE_NOTE,
    ColumnsRecognisedWarning,
    ResolvedTable,
    date_columns,
    holds_flags,
    recognise_evidence_columns,
    resolve_table,
)
from jaxrate.data.column_role_definitions import Columns, as_column_list, document_roles, select_role_arguments
from jaxrate.data.column_spellings import (
    DRAW_NAMES,
    HOME_AND_AWAY,
    MANNER_NAME,
    NAME_TEMPLATES,
    SPELLINGS,
    Header,
    find_noun,
    normalise_column_name,
    spell_pairs,
)
from jaxrate.data.dataset_names import (
    NamesOfEarlierData,
    check_known_categories,
    mix_categories,
    names_of_earlier_data,
    unify_names,
)
from jaxrate.data.date_parsing import (
    STYLE_DESCRIPTIONS,
    age_differences,
    check_date_style,
    is_date_style_argument,
    parse_further_times,
    parse_season_start_years,
    parse_times,
)
from jaxrate.data.derived_covariates import DERIVED_COLUMNS, GROUND_FADE, add_derived_column, find_lacking_role
from jaxrate.data.faulty_rows import (
    describe_example_rows,
    describe_share,
    doubts_about_mirrored_matches,
    doubts_about_repeated_matches,
    doubts_about_unplayed_matches,
    find_incomplete_rows,
    find_later_mirrors,
    is_blank_mask,
    renumber_row_errors,
    warn_caller,
)
from jaxrate.data.lookalike_names import doubts_about_names
from jaxrate.data.match_margins import doubts_about_margins, first_player_lead
from jaxrate.data.match_seasons import NO_TIME_MESSAGE, find_season_starts, match_seasons_from_column
from jaxrate.data.result_parsing import (
    DRAW_OR_EQUAL_POINTS,
    DRAW_PATTERN,
    DRAWN_MANNER,
    MIN_AGREEMENT,
    UNPLAYED_WORDS,
    Notation,
    ResultColumn,
    check_texts,
    draw_mask_from_flags,
    draw_mask_from_results,
    draw_mask_from_words,
    fail_where_no_result,
    in_play_mask,
    mask_of_texts,
    notation_of_contest_scores,
    parse_contest_results,
    parse_sides,
    replace_na_values,
    result_column_to_scores,
)
from jaxrate.data.role_resolution import ColumnRoles, check_line_up_roles, first_player_statistic_lead
from jaxrate.data.table_files import find_table_opener, open_table_source
from jaxrate.data.table_sources import Column, TableSource, add_location_to_data_errors, import_pyarrow
from jaxrate.events import (
    Matches,
    NameFormatters,
    Ragged,
    build_rounds,
    doubts_about_single_participants,
    fail_where,
    matches,
    rewrite_row_errors,
)
from jaxrate.events.dataset import Dataset, check_dataset, format_event_time

# From columns by their roles to events

SECONDS_PER_DAY = 86_400
SEPARATORS = ";", r"\s/\s"  # of players in a cell; slashes where a side is one column


class DrawRule(NamedTuple):
    """The columns that tell which matches are drawn, and how."""

    names: tuple[str, ...]
    tell: Callable[..., HostArray]  # [n] the drawn ones, by the columns
    is_for_gaps: bool = False  # whether it tells them where there is no result, and not elsewhere


class TableRows(NamedTuple):
    """Rows of a table as events are built from them: scores, columns of ranks and times, and a player in each cell."""

    table: TableSource  # with the other columns
    roles: ColumnRoles
    columns: dict[str, Column]  # [n] by name
    rows: HostArray  # [n] where they stand in the table
    scores: HostArray  # [n] of the first players of matches; NaN: there is no result
    remarks: dict[str, Column]  # [n] by name, unused columns that say how far a match is or how it was decided
    notes: tuple[str, ...] = ()  # what was taken for what
    notation: Notation | None = None  # how results are written; None: there is no column of them
    draws: Sequence[DrawRule] = ()  # what tells which matches are drawn, or may do so
    clock: str | None = None  # what the times are, as in `Dataset`
    date_style: str | None = None  # how dates were written, if that had to be found out or was told

    def keep(self, mask: HostArray) -> "TableRows":
        """The rows where the mask is true."""
        if mask.all():
            return self
        columns, remarks = ({name: x.filter(mask) for name, x in part.items()} for part in (self.columns, self.remarks))
        return self._replace(columns=columns, remarks=remarks, scores=self.scores[mask], rows=self.rows[mask])

    def change(self, columns: Mapping[str, Column], note: str | None = None, **roles: Any) -> "TableRows":
        """The rows with these columns in place of others, with another note if it says something, and other roles."""
        notes = (*self.notes, note) if note else self.notes
        return self._replace(columns={**self.columns, **columns}, notes=notes, roles=self.roles._replace(**roles))

    def load_others(self, names: Sequence[str]) -> dict[str, Column]:
        """Further columns of the table, in these rows."""
        loaded = load_columns(self.table, [name for name in names if name not in self.remarks])
        return {name: self.remarks[name] if name in self.remarks else loaded[name].take(self.rows) for name in names}


def expand_line_up_cells(rows: TableRows) -> TableRows:
    """The rows of matches whose cells hold lists of players, or of line-ups text with ;, with a column for each."""
    roles = rows.roles
    if roles.contest is not None:
        return rows
    cells = {name: rows.columns[name] for name in roles.players}
    if not roles.num_first and not any(map(is_list, cells.values())):
        return rows
    divider = _find_divider(cells)
    if divider is None:
        return rows.change({name: null_where(x, is_blank_mask(x)) for name, x in cells.items()})
    parts = [_split_player_cells(name, column, divider, rows.columns) for name, column in cells.items()]
    players, num_first = dict(chain(*map(dict.items, parts))), sum(map(len, parts[: roles.num_first or 1]))
    note = f"{' and '.join(map(str, cells))} for teams, of several players in a cell"
    return rows.change(players, note, players=[*players], num_first=num_first)


def _find_divider(cells: Mapping[str, Column]) -> str | None:
    """The pattern that divides the players in cells; None if no cell has several."""
    if any(map(is_list, cells.values())):
        return ";"
    divider = ";" if len(cells) > 2 else "|".join(SEPARATORS)
    is_divided = (text_mask(column, lambda text: re.search(divider, text)).any() for column in cells.values())
    return divider if any(is_divided) else None


def _split_player_cells(name: str, column: Column, divider: str, names_in_use: Collection[str]) -> dict[str, Column]:
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
    names = chain(*(re.split(divider, x) if isinstance(x, str) else [x] for x in items))
    stripped = (x.strip() if isinstance(x, str) else x for x in names)
    return [x for x in stripped if x != "" and not is_missing_value(x)]


class EventColumns(NamedTuple):
    """The columns from which the events of a `Dataset` are built."""

    values: dict[str, Any]  # [R, ...] by name of the argument of `matches` or `rounds`, in the order of the rows
    players: Any  # [num_players] names in order of id
    categories: HostArray | None  # [num_categories] names in order of id
    clock: str | None  # as in `Dataset`
    seasons: dict[str, float] | None  # as in `Dataset`
    contest_names: Any  # [E] what the source calls each contest, by its number in `values`; None: matches of two


def build_dataset(table: TableRows, earlier: NamesOfEarlierData, in_order: bool) -> Dataset:
    """The dataset of these rows, with the names that have ids already, in order of time if they are to be."""
    _, roles, columns, rows = table[:4]
    are_teams = roles.num_first > 0
    with renumber_row_errors(rows):
        read = read_event_columns(table, earlier)
        if are_teams:
            read, row = team_matches_to_contests(roles, columns, rows, read, earlier.players)
            rows = rows[row]
    with renumber_row_errors(rows):
        order = _row_order(read, in_order)
    rows, read = rows[order], read._replace(values=_select_rows(read.values, order))
    with renumber_row_errors(rows):
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
        points=() if are_teams else roles.points,
        expected_goals=tuple(roles.expected_goals),
        venues=None if roles.venue is None else distinct_cells(columns[roles.venue]).map(_venue_name, None)[order],
    )


def _venue_name(value: Any) -> str | None:
    return value_text(value) if str(value).strip() else None


def _select_rows(values: dict[str, Any], rows: Any) -> dict[str, Any]:
    """These rows of the columns, also of further ones."""
    return {name: _select_rows(x, rows) if isinstance(x, dict) else x[rows] for name, x in values.items()}


def _row_order(read: EventColumns, in_order: bool) -> HostArray | slice:
    """[R] the rows, in order of time if they are to be, contests as wholes; RowError where they must be and are not."""
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
    "; give those who did not finish the same last place, name their texts as unfinished=['DNF'], or as "
    "na_values=['DNS'] if they did not take part, or leave their rows out"
)


def read_event_columns(table: TableRows, earlier: NamesOfEarlierData) -> EventColumns:
    """The arguments of `matches` or `rounds` by row; of matches of teams all but their players."""
    roles = table.roles
    if roles.contest is None:
        scores = np.where(np.isnan(table.scores), 0.5, table.scores)  # of those to come 0.5
        return _read_columns_of_rows(table, {"score": scores}, earlier)
    contest, names = label_codes(roles.contest, table.columns)

    def name_contest(row: int, message: str) -> tuple[int, str]:
        advice = NO_RANK_ADVICE * message.startswith(f"column {roles.result!r} ")
        return row, f"{message} (contest {format_name_of_id(names, contest[row])}){advice}"

    with rewrite_row_errors(name_contest):
        result = {"contest": contest, "rank": _read_ranks(roles, table.columns, len(contest))}
        return _read_columns_of_rows(table, result, earlier)._replace(contest_names=names)


def _read_columns_of_rows(table: TableRows, result: dict[str, Any], earlier: NamesOfEarlierData) -> EventColumns:
    """The arguments of `matches` with these scores, or of `rounds` with these contests and ranks."""
    _, roles, columns, rows = table[:4]
    player, players = (None, None) if roles.num_first else _read_players(roles.players, columns, earlier.players)
    values: dict[str, Any] = {"player": player} | result
    values |= _read_optional_numbers(roles, columns, len(rows)) | _team_codes(roles, columns, values)
    values["category"], categories = _read_categories(roles, columns, earlier.categories)
    values["time"] = time = _read_times(roles.time, columns)
    clock = None if time is None else table.clock
    values["columns"] = further_columns(roles, columns, len(rows), time if clock == "dates" else None)
    seasons = _read_season_starts(roles.season, columns, time, earlier.seasons)
    known = {name: x for name, x in values.items() if x is not None}
    return EventColumns(known, players, categories, clock, seasons, None)


def _read_categories(roles: ColumnRoles, columns: dict[str, Column], earlier: Any) -> tuple[Any, Any]:
    """Ids of categories, [n, 2] of both players of matches, else [n], and their names by id; None without a column."""
    if not roles.category:
        return None, None
    category, names = to_ids(roles.category, columns, earlier, "categories")
    return category if roles.contest is None and not roles.num_first else category[:, 0], names


def _read_times(name: str | None, columns: dict[str, Column]) -> HostArray | None:
    """[n] the times; None without a column, or without any value in it."""
    return None if name is None or missing_mask(columns[name]).all() else to_numbers(name, columns[name])


def _assign_player_ids(names: Sequence[str], columns: dict[str, Column], earlier: Any) -> tuple[HostArray, HostArray]:
    """Ids [n, columns] of the players in these columns, and all names by id; `earlier` may be a function for that."""
    return earlier(names, columns) if callable(earlier) else to_ids(names, columns, earlier)


def _read_players(names: Sequence[str], columns: dict[str, Column], earlier: Any) -> tuple[HostArray, HostArray]:
    """Ids of participants [n], or of both players of matches [n, 2], and all names by id."""
    player, players = _assign_player_ids(names, columns, earlier)
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


def team_matches_to_contests(
    roles: ColumnRoles, columns: dict[str, Column], rows: HostArray, read: EventColumns, earlier: Any
) -> tuple[EventColumns, HostArray]:
    """Matches of teams as contests with a row for each player, and in which row of the columns each of these stands."""
    values = dict(read.values)
    score, further = values.pop("score"), dict(values["columns"])
    missing = {name: missing_mask(columns[name]) for name in roles.players}
    for name in roles.first_players:
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
    with renumber_row_errors(row):
        names = {"players": _names_by_row(roles.players, columns, present)}
        player, players = _assign_player_ids([*names], names, earlier)
    is_second = position >= roles.num_first
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


OPTIONAL_NUMBERS = {"weight": None, "ceiling": np.inf, "noise": None}  # by role, what stands for a missing one


def _read_optional_numbers(roles: ColumnRoles, columns: dict[str, Column], n: int) -> dict[str, Any]:
    """The weights, ceilings, noises and sides [n] of matches or participants, as far as they have columns."""
    names = {role: getattr(roles, role) for role in OPTIONAL_NUMBERS if getattr(roles, role) is not None}
    values = {role: to_numbers(name, columns[name], OPTIONAL_NUMBERS[role]) for role, name in names.items()}
    if roles.side is not None:
        sides = roles.constant_side or parse_sides(roles.side, columns[roles.side])
        values["side"] = np.full(n, sides)
    if roles.neutral is not None:
        values["side"] = np.where(to_flags(roles.neutral, columns[roles.neutral]), 0.0, values["side"])
    return values


def further_columns(
    roles: ColumnRoles, columns: dict[str, Column], n: int, dates: HostArray | None
) -> dict[str, HostArray]:
    """Further columns [n] by name, with margins and ages; `dates` [n] are the times, None if they are no dates."""
    values = {name: to_numbers(name, columns[name]) for name in roles.prematch_columns}
    statistics = [statistic.name for statistic in roles.statistics]
    if roles.upcoming:
        values |= dict.fromkeys(roles.margin, np.zeros(n)) | dict.fromkeys(roles.expected_goals, np.full(n, np.nan))
        values |= dict.fromkeys(statistics, np.zeros(n))
    else:
        values |= {name: to_numbers(name, columns[name]) for name in roles.margin}
        values |= {name: to_numbers(name, columns[name], np.nan) for name in roles.expected_goals}
        leads = [first_player_statistic_lead(statistic, columns) for statistic in roles.statistics]
        values |= dict(zip(statistics, leads, strict=True))
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


def _read_ranks(roles: ColumnRoles, columns: dict[str, Column], n: int) -> HostArray:
    """[n] the ranks of participants, lower is better; 0 without a column of results, and of contests to come.

    RowError where one is missing, and at the first row of each text that is no number.
    """
    name = roles.result
    if name is None or roles.upcoming:
        return np.zeros(n)
    column, ranks = columns[name], numbers_or_nan(columns[name])
    is_text = np.isnan(ranks) & ~missing_mask(column)
    if is_text.any():
        _, first, code, count = np.unique(distinct_cells(column).codes, True, True, True)

        def describe_text(row: int) -> str:
            cell, rows = format_value_for_error(cell_value(column, row)), format_count(int(count[code[row]]), "row")
            return f"column {name!r} is {cell} in {rows}, not a number"

        fail_where(is_text & (first[code] == np.arange(n)), describe_text)
    check_no_missing_values(name, column)
    return ranks if roles.ranked else -ranks


def _team_codes(roles: ColumnRoles, columns: dict[str, Column], values: Mapping[str, Any]) -> dict[str, HostArray]:
    """The teams [n] of participants, if they have a column: each is the number of its first row in the contest."""
    if roles.team is None:
        return {}
    missing = missing_mask(columns[roles.team])
    fail_where(missing, lambda row: f"column {roles.team!r} has no value; players without a team need one of their own")
    team = label_codes(roles.team, columns)[0]
    key = values["contest"] * (team.max(initial=0) + np.int64(1)) + team
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return {"team": np.asarray(first[number])}


def format_name_of_id(names: Any, i: int) -> str:
    """A name of an array of NumPy or Arrow in errors, as Python writes it."""
    return format_value_for_error(names[i : i + 1].tolist()[0])


def label_codes(name: str, columns: dict[str, Column]) -> tuple[HostArray, HostArray]:
    """Labels as integers [n] in order of first appearance, and the labels."""
    codes, labels = to_ids([name], columns)
    return codes[:, 0], labels


# Which rows have a result, drawn ones among them, and which are to come


class PlayedAndComingMasks(NamedTuple):
    """Rows by whether they have a result."""

    played: HostArray  # [n] whether they have one
    coming: HostArray  # [n] whether they have none, are complete otherwise, and not before the last played one
    left_out: dict[str, HostArray]  # [n] whether they have none and are not to come, by reason


def parse_result_columns(
    rows: TableRows, na_values: Sequence[str], unfinished: Sequence[str], notation: Notation | None = None
) -> TableRows:
    """The rows with the scores of matches, or the ranks of contests as numbers, and their notation.

    Those of contests who are `unfinished` have the last rank, and those whose rank is one of `na_values` have none.
    The notation is the one given, or else the one that fits most rows.
    """
    roles, name = rows.roles, rows.roles.result
    if unfinished and not roles.ranked:
        raise ValueError("unfinished is for the ranks of contests; name their columns as contest and rank")
    if roles.contest is None:
        return _score_matches(rows, na_values, notation)
    if name is None:
        return rows
    column = rows.columns[name]
    notation = notation if roles.ranked else notation_of_contest_scores(name, column)
    ranks, notation, note = parse_contest_results(name, column, na_values, unfinished, notation)
    return rows.change({name: ranks}, note)._replace(notation=notation)


def _score_matches(rows: TableRows, na_values: Sequence[str], notation: Notation | None) -> TableRows:
    """The rows of matches with their scores."""
    roles, name = rows.roles, rows.roles.result
    names = () if roles.winner_first else rows.columns.keys() & {*roles.result_columns, *roles.margin}
    rows = rows.change({name: replace_na_values(rows.columns[name], na_values) for name in names})
    if roles.upcoming:  # of which only counts whether there is a result
        missing = [missing_mask(rows.columns[name]) for name in roles.result_columns]
        return rows._replace(scores=np.where(np.sum(missing, axis=0), np.nan, rows.scores) if missing else rows.scores)
    if name is not None:
        players = {x: rows.columns[x] for x in roles.first_players}
        scores, notation, note = result_column_to_scores(ResultColumn(name, rows.columns[name], players), notation)
        return rows.change({}, note)._replace(scores=scores, notation=notation)
    if roles.points:
        check_points_not_negative(rows)
        lead = first_player_lead([to_numbers(name, rows.columns[name], np.nan) for name in roles.points])
        rows = rows._replace(scores=0.5 + 0.5 * np.sign(lead))
    return rows


def hide_results_in_play(rows: TableRows) -> TableRows:
    """The rows, without results of matches that another column says are not over yet."""
    is_told = bool(rows.roles.result_columns)
    for name in [x for x in rows.remarks if is_told and normalise_column_name(x) in STATUS_NAMES]:
        if (in_play := in_play_mask(rows.remarks[name])).any():
            note = f"{name} for matches that are not over ({describe_share(in_play, 'match')})"
            return rows.change({}, note)._replace(scores=np.where(in_play, np.nan, rows.scores))
    return rows


def match_status_columns(names: Iterable[str], used: Collection[str]) -> list[str]:
    """The columns, other than those used, that are called as what says how far a match is, or how it was decided."""
    return [name for name in names if name not in used and re.search(MANNER_NAME, normalise_column_name(name))]


def check_points_not_negative(rows: TableRows) -> None:
    """RowError where the points of a side, in columns that nobody named, are no numbers or negative."""
    points = rows.roles.points if len(rows.roles.points) == 2 and not rows.roles.margin else ()
    advice = f"correct it, or name both columns as the margin, which may be: margin={list(points)!r}"
    for name in points:
        values = numbers_or_nan(rows.columns[name])
        fail_where_no_result(name, rows.columns[name], values)
        fail_at_cells(values < 0, name, rows.columns[name], f"and points are not negative; {advice}")


def split_played_and_upcoming_rows(rows: TableRows, na_values: Sequence[str] = ()) -> PlayedAndComingMasks:
    """Which rows have a result, and which are to come: of contests those in which nobody has one."""
    roles, columns, nothing = rows.roles, rows.columns, np.zeros(len(rows.rows), bool)
    without_result = np.isnan(rows.scores)
    if roles.contest is not None and roles.result is not None:
        without_result = missing_mask(columns[roles.result])
    if not without_result.any():
        return PlayedAndComingMasks(~nothing, nothing, {})
    absent, is_early = nothing, nothing
    if roles.contest is not None:
        contest = distinct_cells(columns[roles.contest]).codes + 1
        is_open = without_result & (np.bincount(contest, ~without_result) == 0)[contest]
        absent = without_result & ~is_open & bool(na_values)
        without_result = is_open
    roles_to_come = roles._replace(upcoming=True, result=None, points=())
    incomplete = without_result & find_incomplete_rows(roles_to_come, columns)
    open_rows = without_result & ~incomplete
    if roles.time is not None:
        time = to_numbers(roles.time, columns[roles.time], np.nan)
        is_early = time < np.fmax.reduce(time[~without_result], initial=np.nan)
    left_out = {"earlier than the last result": open_rows & is_early, "incomplete otherwise": incomplete}
    left_out |= {"of participants who did not take part": absent}
    return PlayedAndComingMasks(~(without_result | absent), open_rows & ~is_early, left_out)


def doubts_about_unplayed_rows(split: PlayedAndComingMasks, rows: HostArray, upcoming: bool) -> Iterator[str]:
    """A note that rows have no result or, if matches to come are read, that some have one."""
    n, num_without = len(split.played), np.count_nonzero(~split.played)
    if not num_without or (upcoming and num_without == n):
        return
    reasons = [_describe_omitted_rows(rows[mask], reason) for reason, mask in split.left_out.items() if mask.any()]
    coming = _count_and_verb(int(split.coming.sum()))
    if upcoming:
        yield "; ".join([f"of {n:,} rows {coming} without a result and to come", *reasons])
        return
    if split.coming.any():
        reasons.insert(0, f"{coming} to come (`fixtures` of the data, or jaxrate predict)")
    verbs = "has no result and is" if num_without == 1 else "have no result and are"
    yield f"{num_without:,} of {n:,} rows {verbs} left out: {'; '.join(reasons)}"


def _describe_omitted_rows(rows: HostArray, reason: str) -> str:
    """How many rows are left out for a reason, and the first of them."""
    first = "row" if len(rows) == 1 else "the first is row"
    return f"{_count_and_verb(len(rows))} {reason} ({first} {rows[0]}, counting from 0)"


def _count_and_verb(count: int) -> str:
    """A number of rows, as "1 is" or "2 are"."""
    return f"{count:,} {'is' if count == 1 else 'are'}"


STATUS_NAMES = frozenset(
    f"{prefix}status{suffix}" for prefix in ("", "match", "game", "fixture", "event") for suffix in ("", "short")
)


def score_drawn_matches(rows: TableRows, rules: Sequence[DrawRule] | None = None) -> TableRows:
    """The rows with 0.5 for drawn matches that the result leaves open, and the rule that tells them.

    Of winners and losers these are all that a flag, or a column of results, calls drawn. Beside other results they are
    those without a result, by a word or by equal points, and, if no result is a draw, those that a flag calls drawn.
    The first of the rules tells them that finds some; None: rules are sought.
    """
    score, roles = rows.scores, rows.roles
    if roles.contest is not None or not (roles.winner_first or roles.result):
        return rows
    for rule in _possible_draw_rules(rows, score) if rules is None else rules:
        is_drawn = rule.tell(*rows.load_others(rule.names).values()) & (np.isnan(score) | (not rule.is_for_gaps))
        if is_drawn.any():
            note = f"{' and '.join(rule.names)} for the draws ({describe_share(is_drawn, 'match')})"
            return rows.change({}, note)._replace(scores=np.where(is_drawn, 0.5, score), draws=[rule])
    return rows


def draw_flag_rules(names: Iterable[str], is_result: bool) -> Iterator[DrawRule]:
    """Rules by the columns that are called as flags of draws are, and then as results or how they came about are."""
    names = [*names]
    for name in names:
        if normalise_column_name(name) in DRAW_NAMES:
            yield DrawRule((name,), draw_mask_from_flags)
    for name in names if is_result else ():
        if normalise_column_name(name) in SPELLINGS["score"]:
            yield DrawRule((name,), draw_mask_from_results)
        elif re.search(MANNER_NAME, normalise_column_name(name)):
            yield DrawRule((name,), partial(draw_mask_from_words, pattern=DRAWN_MANNER))


def _possible_draw_rules(rows: TableRows, score: HostArray) -> Iterator[DrawRule]:
    """What may tell draws that scores [n] leave open, the surest first: flags, results, words, equal points."""
    roles = rows.roles
    others = [name for name in rows.table.names if name not in roles.all_columns]
    if not (score == 0.5).any():
        yield from draw_flag_rules(others, roles.winner_first)
    # Of columns called Winner/tie and Loser/tie points tell the ties; elsewhere level points may have a winner.
    has_ties = roles.winner_first and all(normalise_column_name(x).endswith("tie") for x in roles.first_players)
    has_gaps = np.isnan(score).any()
    if has_gaps:
        yield from _draw_rules_by_words(rows.load_others(others), score)
    if has_gaps or has_ties:
        yield from _draw_rule_by_equal_points(rows, score, has_ties)


def _draw_rules_by_words(columns: Mapping[str, Column], score: HostArray) -> Iterator[DrawRule]:
    """Rules by columns whose words for draws nearly all stand in rows without a result, or by columns of results."""
    is_missing = np.isnan(score)
    for name, column in columns.items():
        is_result = normalise_column_name(name) in SPELLINGS["score"]
        tell = partial(draw_mask_from_words, pattern=DRAW_OR_EQUAL_POINTS if is_result else DRAW_PATTERN)
        is_drawn = tell(column)
        if is_drawn.any() and (is_result or is_missing[is_drawn].mean() >= MIN_AGREEMENT):
            yield DrawRule((name,), tell, is_for_gaps=True)


def _draw_rule_by_equal_points(rows: TableRows, score: HostArray, has_ties: bool) -> Iterator[DrawRule]:
    """The rule by equal points of both sides, if the winners mostly have more of them."""
    points = _recognise_margin_columns(rows)
    if len(points) != 2:
        return
    lead = np.subtract(*map(numbers_or_nan, rows.load_others(points).values()))
    is_decided = ~np.isnan(score) & (lead != 0)  # level points may have a winner, by a shoot-out
    if is_decided.any() and (np.sign(lead) == np.sign(score - 0.5))[is_decided].mean() >= MIN_AGREEMENT:
        yield DrawRule(tuple(points), lambda x, y: numbers_or_nan(x) == numbers_or_nan(y), is_for_gaps=not has_ties)


def _recognise_margin_columns(rows: TableRows) -> list[Any]:
    """The columns that are called as the points of both sides or as the margin are; or none."""
    return as_column_list(recognise_evidence_columns(rows.table.names, rows.roles.player_arguments).get("margin"))


# From a table to a dataset


def convert_columns(
    resolved: ResolvedTable,
    rows: TableRows,
    dates: str | None = None,
    na_values: Sequence[str] = (),
    unfinished: Sequence[str] = (),
    like: TableRows | None = None,
) -> TableRows:
    """The rows, of which results, line-ups in cells and times are as events are built from.

    The arguments in between are as in `read`. Results and times are written as in rows of the table that are `like`
    these; None: that is found out.
    """
    notation, rules = (None, None) if like is None else (like.notation, like.draws)
    with renumber_row_errors(rows.rows):
        rows, side_note = expand_line_up_cells(rows), ""
        if rows.roles.num_first:  # of which columns called as home is tell no side
            check_line_up_roles(resolved.arguments)
            rows, side_note = rows.change({}, side=None, constant_side=None, neutral=None), SIDE_NOTE
        rows = rows._replace(notes=(*rows.notes, *(note.removesuffix(side_note) for note in resolved.notes)))
        rows = parse_result_columns(rows, na_values, unfinished, resolved.notation or notation)
        rows = score_drawn_matches(hide_results_in_play(rows), rules)
        time = rows.roles.time
        if time is None:
            return rows
        if like is None:
            times = parse_times(time, rows.columns[time], dates, na_values)
        else:
            times = parse_further_times(time, rows.columns[time], like.clock, like.date_style)
        return rows.change({time: times.to_column()})._replace(clock=times.clock, date_style=times.style)


@document_roles
def read(
    source: Any,
    *,
    sort: bool = False,
    upcoming: bool = False,
    dates: str | None = None,
    na_values: Sequence[str] = (),
    on_faulty: Literal["error", "skip"] = "error",
    history: Any = None,
    unfinished: Sequence[str] = (),
    **columns: Unpack[Columns],
) -> Dataset:
    """Checked matches from a table with one row per match, or rounds from one with one row per participant.

        data = jr.read("games.csv")
        data = jr.read([{"winner": "Ada", "loser": "Bo"}, {"winner": "Bo", "loser": "Cy"}])

    A file with columns a, b, score or winner, loser or contest, player, rank (and perhaps time, date or t) needs no
    arguments. The case of these names does not matter. Other usual names are recognised as well: home and away, white
    and black, team1 and team2, winner_name and loser_name in their spellings, goals or points of both sides, results
    and dates, some of them in other languages. A note says which columns were recognised as what, and arguments
    overrule it. All other columns are used only if named. Names of players and categories become ids in order of first
    appearance, reading the rows of the source from the top and a before b; in CSV they are text ("007" stays that), and
    an empty field is missing. CSV may be separated by commas, or by semicolons, tabs or | if the header has no comma,
    and be UTF-8, UTF-16 or Windows-1252. Objects in JSON become columns as "team.name". Of a spreadsheet the first
    sheet is read, or the one that is named, as in "games.xlsx#Sheet2".

    Args:
      source: a path to .parquet, .csv, .tsv, .txt, .json or .jsonl (all but the first also .gz, .bz2 or .zst), .xlsx or
        .ods, or "-" for standard input; a folder, a pattern or a list of files that are one table, as `rate` takes
        them; a pandas, polars or Arrow table, a lazy frame of polars, a relation or result of DuckDB, anything else
        that is a stream of Arrow's C interface, a dict of arrays or lists, or a list of dicts, one per row, which
        may be nested as JSON is. Of lazy frames and relations only the columns that are used are made.
      COLUMNS: the roles of `data.column_roles.COLUMN_ROLES`, each the name of a column.
      sort: put the rows in order of time (stable, contests as wholes). Otherwise a time that decreases is an error; in
        contests it is one only to systems in which time passes.
      upcoming: the events are to come. They are put in order of time, and no score or margin is read: 0.5 and 0 stand
        in for them, or in contests a tie of all players and teams. Where some rows have a result, those are left out.
      dates: how dates in text are written that are not ISO: "day-first", "month-first" or a format of `strptime`. None:
        as they are clear, by the name of the month, the year in front, or a day above 12.
      na_values: texts that say that there is no result, or no margin, beside "P", "P-P", "postp.", "NA", "-" and others
        that are usual; case does not matter. "-1" is the number, too, in columns of numbers. In contests they say who
        did not take part, as "DNS": with them, rows without a rank or score are left out, and a note counts them.
      on_faulty: "skip" leaves out rows in which a column that is used has no value, or nothing but blanks; they are an
        "error" otherwise. A missing ceiling is none, and a time that is missing everywhere is no time.
      history: an earlier `Dataset`, or a `History`: its players and categories keep their ids, and others come after;
        its seasons keep their beginnings, and others begin after them. Or a list of players in order of id.
      unfinished: texts in the column of ranks, as "DNF", of those who did not finish; case does not matter. They tie
        with each other, behind all of their contest who have a rank.

    Raises:
      ValueError: names the file, the bad rows of the source, up to ten (counting from 0; in CSV also their lines),
        their contests or the column, and what is wrong with them; also if no rows are left.
      TypeError: if the source is of none of these kinds.
      ImportError: if pyarrow is not installed.

    Warns:
      UserWarning: about columns that were recognised, and rows that have no result; if a and b name columns called as
        home and away are, without side; if contests have a single participant, since systems of ranks learn nothing
        from them; if names of players, categories, contests or seasons differ only by letter case, blanks or Unicode
        form, or by accents; if matches with times repeat an earlier one exactly; if a margin has another sign than the
        score; if rows were skipped.
    """
    import_pyarrow()
    opened = open_table_source(source)
    with add_location_to_data_errors(opened.title, opened.where):
        earlier = names_of_earlier_data(history)
        arguments = check_read_arguments(columns, upcoming, on_faulty, dates, na_values, unfinished)
        resolved = resolve_table(opened, arguments, upcoming, dates, na_values)
        loaded = load_rows(resolved.table, resolved.roles)
        converted = convert_columns(resolved, loaded, dates, na_values, unfinished)
        if sort and converted.clock is None:
            raise ValueError("sort=True needs a column of time, with values")
        split = split_played_and_upcoming_rows(converted, na_values)
        used = _select_played_or_upcoming_rows(converted, split, upcoming)
        warn_about_columns(resolved, used, dates)
        warn_of_each(doubts_about_unplayed_rows(split, converted.rows, upcoming))
        used = _skip_incomplete_rows(used) if on_faulty == "skip" else used
        advice = "; on_faulty='skip' leaves such rows out"
        with rewrite_row_errors(lambda row, message: (row, message + advice * (" has no value" in message))):
            dataset = build_dataset(used, earlier, sort or upcoming)
            if used.roles.drop_mirrored and dataset.of_matches:
                mirrors = dataset.rows[find_later_mirrors(dataset.matches)]
                dataset = build_dataset(used.keep(~np.isin(used.rows, mirrors)), earlier, sort or upcoming)
        dataset = _add_fixtures(dataset, converted, split.coming & (not upcoming))
    warn_of_each(_doubts_about_dataset(dataset, resolved.table, earlier, upcoming))
    roles = used.roles
    return dataset._replace(
        dates=converted.date_style if is_date_style_argument(converted.date_style) else None,
        played=int(split.played.sum()) if upcoming and not split.played.all() else 0,
        upcoming=upcoming,
        noun=find_noun(opened.names, roles.players[0], has_members=bool(roles.team or roles.num_first)),
    )


def warn_of_each(messages: Iterable[str], category: type[Warning] = UserWarning) -> None:
    """A warning for each of these messages."""
    for message in messages:
        warn_caller(message, category)


def check_read_arguments(
    columns: Mapping[str, Any], upcoming: Any, on_faulty: Any, dates: Any, na_values: Any, unfinished: Any
) -> dict[str, Any]:
    """The columns by role, None for others; ValueError unless these can be arguments of `read`."""
    arguments = select_role_arguments(columns)
    check_argument("read", "upcoming", bool, upcoming)
    check_argument("read", "on_faulty", Literal["error", "skip"], on_faulty)
    check_date_style(dates)
    check_texts("na_values", na_values)
    check_texts("unfinished", unfinished)
    return arguments


NO_COMING_ROW = "no row without a result is to come"
NO_PLAYED_ROW = "no row has a result; `jaxrate predict` takes matches to come; upcoming=True reads them"


def _select_played_or_upcoming_rows(table: TableRows, split: PlayedAndComingMasks, upcoming: bool) -> TableRows:
    """The rows that are rated, or that are to come; ValueError if there are none."""
    if split.played.all() or (upcoming and not split.played.any()):
        return table
    keep, message = (split.coming, NO_COMING_ROW) if upcoming else (split.played, NO_PLAYED_ROW)
    check_that(keep.any(), message)
    return table.keep(keep)


def _add_fixtures(data: Dataset, table: TableRows, is_coming: HostArray) -> Dataset:
    """The dataset with the rows that are to come, if there are some."""
    if not is_coming.any():
        return data
    coming = table.keep(is_coming)
    fixtures = build_dataset(coming.change({}, upcoming=True), names_of_earlier_data(data), True)
    return data._replace(fixtures=fixtures._replace(upcoming=True))


def _skip_incomplete_rows(table: TableRows) -> TableRows:
    """The rows that have all values; a warning counts the others. ValueError if none is left."""
    incomplete = find_incomplete_rows(table.roles, table.columns)
    if incomplete.any():
        examples = describe_example_rows(table.rows[incomplete])
        warn_caller(f"skipped {describe_share(incomplete)}, which lack a value: {examples}")
    check_that(not incomplete.all(), "no rows are left: all of them lack a value")
    return table.keep(~incomplete)


def warn_about_columns(resolved: ResolvedTable, used: TableRows, dates: str | None) -> None:
    """Notes on what columns were taken for, and on those that may be something else."""
    table, roles, notes = resolved.table, used.roles, used.notes
    if roles.time is None and table.noted and (names := date_columns(table, roles.all_columns, dates)):
        verb = "has" if len(names) == 1 else "have"
        notes = *notes, f"nothing for the time, though {join_names(names)} {verb} dates"
    if used.date_style is not None and dates is None:
        notes = *notes, f"{roles.time} as dates, {STYLE_DESCRIPTIONS[used.date_style]}"
    if notes:
        warn_caller(f"took {'; '.join(notes)}; name columns to choose others", ColumnsRecognisedWarning)
    with renumber_row_errors(used.rows):
        hints = chain(doubtful_roles_hints(resolved, roles, used.columns), level_points_hints(used))
        warn_of_each(hints, ColumnsRecognisedWarning)


def _doubts_about_dataset(
    data: Dataset, table: TableSource, earlier: NamesOfEarlierData, upcoming: bool
) -> Iterator[str]:
    """The doubts about the events and the names of a table."""
    if not data.of_matches:
        yield from doubts_about_single_participants(data.rounds, data.contests)
    if not table.noted:
        return
    if data.of_matches and not upcoming:  # those to come have no scores
        yield from doubts_about_unplayed_matches(data.rows, table)
        yield from doubts_about_margins(data)
        yield from doubts_about_mirrored_matches(data.matches)
        yield from doubts_about_repeated_matches(data.matches, data.rows, table)
    yield from doubts_about_names("players", data.players, 0 if earlier.players is None else len(earlier.players))
    seasons = np.array([*(data.seasons or ())], object)
    for subject, names in {"categories": data.categories, "contests": data.contests, "seasons": seasons}.items():
        yield from () if names is None else doubts_about_names(subject, names, 0)


class NoRowsLeftError(ValueError):
    """All rows of a table are dropped."""


def load_rows(table: TableSource, roles: ColumnRoles) -> TableRows:
    """The rows of a table that are not dropped, nor of matches that were not played, with the columns that are used."""
    names = roles.all_columns
    others = match_status_columns(table.names, names) if roles.contest is None else []
    columns = load_columns(table, [*names, *others], [*roles.text_columns, *others])
    n = len(columns[names[0]])
    for name, column in columns.items():
        if len(column) != n:
            raise ValueError(f"column {name!r} has {len(column)} rows, {names[0]!r} has {n}")
    check_that(n, "no rows")
    unplayed = {name: x for name in others if (x := mask_of_texts(columns[name], UNPLAYED_WORDS)).any()}
    notes = (
        f"{name} for matches that were not played, which are left out ({describe_share(mask, 'match')})"
        for name, mask in unplayed.items()
    )
    dropped = {name: to_flags(name, columns[name]) for name in roles.drop} | unplayed
    is_left = ~np.any([np.zeros(n, bool), *dropped.values()], axis=0)
    if not is_left.any():
        raise NoRowsLeftError(f"no rows are left: {', '.join(map(repr, dropped))} drops them all")
    remarks = {name: columns.pop(name) for name in others}
    scores = np.full(n, 1.0 if roles.winner_first else 0.5)
    return TableRows(table, roles, columns, np.arange(n), scores, remarks, (*filter(None, [table.note]), *notes)).keep(
        is_left
    )


def is_readable_source(data: Any) -> bool:
    """Whether `read` takes it: a path, a table of any package, a dict of columns, or a list of dicts."""
    return find_table_opener(data) is not None


# Hints about columns whose roles are doubtful: what else they may be, and what to say then


MAX_CODES = 2  # numbers below 1 in a column of ranks that stand for something else


def doubtful_roles_hints(resolved: ResolvedTable, roles: ColumnRoles, columns: dict[str, Column]) -> Iterator[str]:
    """The doubts about the roles of columns, by the columns that are used, each with what to say instead."""
    if roles.contest is None:
        yield from _unused_side_hints(resolved, roles)
    elif roles.ranked:
        yield from _zero_ranks_hints(roles, columns)
    else:
        yield from _unclear_score_hints(resolved, roles, columns)
    if roles.contest is not None and roles.team is None:
        yield from _unused_team_hints(resolved, roles)


def _unclear_score_hints(resolved: ResolvedTable, roles: ColumnRoles, columns: Mapping[str, Column]) -> Iterator[str]:
    """A hint that lower scores may be better, where a score is called as ranks are, or nobody named it."""
    score, result = resolved.arguments["score"], roles.result
    if score is not None and normalise_column_name(score) in SPELLINGS["rank"]:
        advice = f"but of a score higher is better; say rank={score!r}"
        yield f"{score} looks like a rank, of which lower is better, {advice}"
    elif score is None and result is not None and not np.isin(numbers_or_nan(columns[result]), (0.0, 0.5, 1.0)).all():
        yield f"{result}: the higher is the better; if lower is, say rank={result!r}"


def level_points_hints(rows: TableRows) -> Iterator[str]:
    """A hint that matches count as won though both had equal points, unless draws are known."""
    if not rows.roles.winner_first or rows.draws:
        return
    points = _recognise_margin_columns(rows)
    columns = [*map(numbers_or_nan, rows.load_others(points).values())]
    if points and (is_level := first_player_lead(columns) == 0).any():
        shown = f"{describe_share(is_level, 'match')} won by nothing, as {' and '.join(points)} say, count as won"
        yield f"{shown}; if they are drawn, add a column draw of yes and no"


def _unused_side_hints(resolved: ResolvedTable, roles: ColumnRoles) -> Iterator[str]:
    """A hint that nobody has the home advantage, though columns are called as home, away or neutral ground are."""
    a, b = roles.first_players
    if roles.upcoming or roles.winner_first or resolved.recognised["side"] is not None:
        return
    names = Header.of_columns(resolved.table.names).find_columns(SPELLINGS["neutral"])
    neutral = next((name for name in names if holds_flags(load_columns(resolved.table, [name], ())[name])), None)
    pairs = chain(*(spell_pairs(NAME_TEMPLATES, sides) for sides in HOME_AND_AWAY))
    if neutral is not None:
        yield f"the column {neutral} is not used; if {a} is at home, say side='a', neutral={neutral!r}"
    elif (normalise_column_name(a), normalise_column_name(b)) in pairs:
        yield f"{a} and {b} look like home and away, but nobody has the advantage; if the first has it, say side='a'"


def _zero_ranks_hints(roles: ColumnRoles, columns: dict[str, Column]) -> Iterator[str]:
    """A hint that ranks below 1 may say that somebody did not finish, if the others are places from 1."""
    name = str(roles.result)
    rank, cells = numbers_or_nan(columns[name]), distinct_cells(columns[str(roles.contest)])
    contest = np.unique(cells.codes, return_inverse=True)[1]
    is_below, codes = rank < 1, np.unique(rank[rank < 1])
    has_zero, has_one = (np.bincount(contest[rank == x], minlength=contest.max() + 1) > 0 for x in (0, 1))
    if roles.upcoming or not 1 <= len(codes) <= MAX_CODES or np.mean(has_one) < MIN_AGREEMENT:
        return
    hint = f"if it is for those who did not finish, say unfinished=['{codes[0]:g}']"
    is_first_everywhere = codes.tolist() == [0] and has_zero.all()
    fail_where(
        is_below & bool((rank > 1).any() and not is_first_everywhere),
        lambda row: f"column {name!r} is {rank[row]:g}, and ranks count from 1; {hint}",
    )
    yield f"{name} counts from {codes[0]:g}, which is the best; {hint}"


def _unused_team_hints(resolved: ResolvedTable, roles: ColumnRoles) -> Iterator[str]:
    """A hint that a column is called as teams are, whose members share a rank, and nothing uses it."""
    named = [*chain(*map(as_column_list, resolved.recognised.values()))]
    teams = [x for x in Header.of_columns(resolved.table.names).find_columns(SPELLINGS["team"]) if x not in named]
    for team in teams[:1]:
        result = roles.result
        names = roles.contest, team, result
        if roles.upcoming or result is None or _do_team_members_share_ranks(resolved.table, names):
            yield f"the column {team} is not used; if those of a team share a rank, say team={team!r}"


def _do_team_members_share_ranks(table: TableSource, names: Sequence[Any]) -> bool:
    """Whether, of teams with several members in a contest, most have one rank; drivers of a team have their own."""
    contest, team, result = names
    rows = import_pyarrow().table(load_columns(table, names)).group_by([contest, team])
    teams = rows.aggregate([(result, "count"), (result, "count_distinct")])
    num_ranks = np.asarray(teams[f"{result}_count_distinct"])[np.asarray(teams[f"{result}_count"]) > 1]
    return not len(num_ranks) or bool((num_ranks == 1).mean() > 0.5)


# Options of the command line, as saved runs keep them: those that `read` does not take are functions of a dataset


NO_COLUMNS: Mapping[str, Any] = MappingProxyType({})
DATASET_OPTIONS = "normalise_names", "mixtures", *DERIVED_COLUMNS


def read_by_cli_options(
    source: Any, options: Mapping[str, Any], history: Any = None, reader: Callable[..., Dataset] = read
) -> Dataset:
    """`read`, or a format, by options of the command line: arguments of the reader, and the options that are none."""
    arguments = {name: x for name, x in options.items() if name not in (*DATASET_OPTIONS, "skip_incomplete")}
    arguments |= {"history": history} | ({"on_faulty": "skip"} if options.get("skip_incomplete") else {})
    table = open_table_source(source) if reader is read else None
    source = source if table is None else table
    with warnings.catch_warnings():
        if options.get("normalise_names"):
            warnings.filterwarnings("ignore", r"(?s).*; jr\.data\.unify_names\(data\) joins them$")
        data = reader(source, **arguments)
    with nullcontext() if table is None else add_location_to_data_errors(table.title, table.where):
        data = unify_names(data, history) if options.get("normalise_names") else data
        return _apply_dataset_options(data, options, history)


def reading_options_of_history(history: Any) -> dict[str, Any]:
    """The options by which a table that carries on a `History` is read; none for other earlier data."""
    saved = getattr(history, "options", {})
    columns = saved.get("columns", {})
    options = {} if saved.get("dates") is None else {"dates": saved["dates"]}
    return options | saved.get("derived", {}) | ({} if "format" in columns else columns)


def read_if_table(caller: str, data: Any, columns: Mapping[str, Any], history: Any = None) -> Any:
    """The events of a table with these columns, as one that carries on a history; events as they are."""
    if is_readable_source(data):
        return read_by_cli_options(data, reading_options_of_history(history) | dict(columns), history)
    if columns:
        raise ValueError(f"{caller}: the data were read already; name {', '.join(columns)} where they are read")
    return data


def as_dataset(caller: str, data: Any, columns: Mapping[str, Any] = NO_COLUMNS, history: Any = None) -> Dataset:
    """`read_if_table`, and ValueError unless the data are a `Dataset` then."""
    dataset = read_if_table(caller, data, columns, history)
    check_dataset(caller, dataset)
    return dataset


def _apply_dataset_options(data: Dataset, options: Mapping[str, Any], history: Any) -> Dataset:
    """The events with mixtures and derived columns; RowError for a category that the history does not know."""
    mixtures = options.get("mixtures") or {}
    check_known_categories(data, getattr(history, "categories", None), mixtures)
    if mixtures:
        data = mix_categories(data, mixtures if history is None else _mixtures_of_table(mixtures, data))
    if data.venues is not None and not data.upcoming:
        options = {"ground": GROUND_FADE, **options}
    spans = {name: options[name] for name in DERIVED_COLUMNS if options.get(name) is not None}
    for name, span in spans.items():
        if history is None or not find_lacking_role(data, name):  # whose system may do without
            data = add_derived_column(data, name, span, history)
    return data


def _mixtures_of_table(mixtures: Mapping[Any, Any], data: Dataset) -> dict[Any, Any]:
    """The mixtures that are in a table of new events, which need not have them all."""
    last = data if data.fixtures is None else data.fixtures  # which may add some
    names = {*map(str, () if last.categories is None else last.categories)}
    return {name: shares for name, shares in mixtures.items() if str(name) in names}
