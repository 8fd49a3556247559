"""A table with one row per participant of a contest: its columns as those of `Rounds`."""

from typing import Any

import numpy as np

from jaxrate.data.column_conversion import missing_mask, to_ids, to_numbers, to_times
from jaxrate.data.column_roles import Roles
from jaxrate.data.table_sources import Column
from jaxrate.events import NameFormatters, add_contest_to_errors, build_rounds, fail_where
from jaxrate.events.dataset import Dataset, EventFields
from jaxrate.text_format import format_cell, format_number
from jaxrate.types import HostArray


def contest_fields(roles: Roles, columns: dict[str, Column], players: Any) -> EventFields:
    """Ids and numbers of the participants. The names of players that are known already are as in `read`.

    Raises:
      RowError: where a column does not hold what its part asks for.
    """
    form = roles.form
    assert form.contest is not None
    contest, contests = _label_codes(form.contest, columns)
    with add_contest_to_errors(lambda row: f"contest {_format_name_of_id(contests, contest[row])}"):
        player, players = to_ids(form.who, columns, players)
        values: dict[str, Any] = {"contest": contest, "player": player[:, 0], "rank": np.zeros(len(player))}
        if form.result is not None:
            result = to_numbers(form.result, columns[form.result])
            values["rank"] = result if form.ranked else -result
        if roles.weight is not None:
            values["weight"] = to_numbers(roles.weight, columns[roles.weight])
        if roles.last is not None:
            _check_shared_places(contest, values["rank"], to_numbers(roles.last, columns[roles.last]))
        if roles.team is not None:
            alone = missing_mask(columns[roles.team], nan_is_missing=True)
            said = f"column {roles.team!r} has no value; players without a team need one of their own"
            fail_where(alone, lambda row: said)
            values["team"], _ = _label_codes(roles.team, columns)
        if roles.ceiling is not None:
            values["ceiling"] = to_numbers(roles.ceiling, columns[roles.ceiling], default=np.inf)
        if roles.noise is not None:
            values["noise"] = to_numbers(roles.noise, columns[roles.noise])
        time, clock = to_times(roles.time, columns)
    return EventFields(values | time, players, clock, contests=contests)


def contest_row_order(fields: EventFields, sort: bool) -> HostArray | slice:
    """[n] the rows, in order of time if they are to be sorted: contests as wholes. RowError if one has two times."""
    contest, contests = fields.values["contest"], fields.contests
    if not sort or fields.clock is None:
        return slice(None)
    time = fields.values["time"]
    first = time[np.unique(contest, return_index=True)[1]][contest]
    differs = (time < first) | (time > first)
    fail_where(differs, lambda row: f"time differs within contest {_format_name_of_id(contests, contest[row])}")
    return np.lexsort([contest, time])


def build_contest_dataset(roles: Roles, fields: EventFields, rows: HostArray) -> Dataset:
    """The dataset of these rounds, whose participants stand in these rows of the source."""
    del roles
    contests, players = fields.contests, fields.players
    assert contests is not None
    shown = NameFormatters(
        lambda i: _format_name_of_id(contests, i), lambda i: _format_name_of_id(players, i), lambda row: str(rows[row])
    )
    events = build_rounds(**fields.values, formatters=shown)
    ours = fields.values["contest"][events.player_start[:-1]]
    return Dataset(events, players, rows, None, fields.clock, contests[ours])


def _format_name_of_id(names: Any, i: int) -> str:
    """How errors show a name: as Python has it, not NumPy."""
    return format_cell(names[i : i + 1].tolist()[0])


def _label_codes(name: str, columns: dict[str, Column]) -> tuple[HostArray, HostArray]:
    """Labels as integers [n] in order of first appearance, and the labels."""
    codes, labels = to_ids([name], columns)
    return codes[:, 0], labels


def _check_shared_places(contest: HostArray, first: HostArray, last: HostArray) -> None:
    """ValueError where the ranges of places that those who tie share do not make a standing."""

    def say(row: int) -> str:
        return f"the places {format_number(first[row])} to {format_number(last[row])}"

    fail_where(~(last >= first), lambda row: f"{say(row)} end before they begin")
    order = np.lexsort((last, first, contest))
    low, high, which = first[order], last[order], contest[order]
    same = np.append(False, which[1:] == which[:-1])
    equal = same & np.append(False, (low[1:] == low[:-1]) & (high[1:] == high[:-1]))
    before = np.arange(len(order)) - np.flatnonzero(~equal)[np.cumsum(~equal) - 1]  # of the same tie
    overlap, many = np.zeros((2, len(order)), bool)
    overlap[order] = same & ~equal & np.append(False, low[1:] <= high[:-1])
    many[order] = before > high - low
    fail_where(overlap, lambda row: f"{say(row)} overlap others of the same contest without being the same")
    fail_where(many, lambda row: f"{say(row)} are fewer than the players who share them")
