"""A table with one row per participant of a contest: its columns as those of `Rounds`."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count, format_number, format_value_for_error
from jaxrate.data.column_conversion import (
    missing_mask,
    time_column_to_days_and_clock,
    to_ids,
    to_numbers,
)
from jaxrate.data.match_tables import further_columns
from jaxrate.data.player_categories import CategoryShares, category_ids_or_shares
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_sources import Column
from jaxrate.events import (
    MAX_REPORTED_ROWS,
    NameFormatters,
    RowError,
    add_advice_to_errors,
    add_contest_to_errors,
    build_rounds,
    fail_where,
)
from jaxrate.events.dataset import Dataset, EventBuilderInputs

NO_RANK_ADVICE = (
    'give those who did not finish the same last place, name their texts as unfinished=["DNF"], or leave their rows out'
)


def read_participant_fields(
    roles: ColumnRoles,
    columns: dict[str, Column],
    players: Any,
    categories: Any,
    mixtures: Mapping[Any, CategoryShares],
) -> EventBuilderInputs:
    """Ids and numbers of the participants. Names that have ids already are as in `read`.

    Raises:
      RowError: where a column does not hold what its role requires.
    """
    layout = roles.layout
    assert layout.contest is not None
    contest, contests = label_codes(layout.contest, columns)

    def label(row: int) -> str:
        return f"contest {format_name_of_id(contests, contest[row])}"

    with add_contest_to_errors(label):
        player, players = to_ids(layout.players, columns, players)
    values: dict[str, Any] = {"contest": contest, "player": player[:, 0]}
    values |= participant_arguments_from_columns(roles, columns, contest, label)
    labels = None
    with add_contest_to_errors(label):
        if roles.category:
            category, labels = category_ids_or_shares(roles.category, columns, categories, mixtures)
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
        margin = [np.zeros(count) if roles.upcoming else to_numbers(name, columns[name]) for name in roles.margin]
        values["columns"] = further_columns(roles, columns, count, margin)
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
    return format_value_for_error(names[i : i + 1].tolist()[0])


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
