"""A table with one row per participant of a contest: its columns as those of `Rounds`."""

from typing import Any

import numpy as np

from jaxrate.data.columns import missing, to_ids, to_numbers, to_times
from jaxrate.data.dataset import Dataset, Fields
from jaxrate.data.roles import Roles
from jaxrate.data.tables import Column, Values
from jaxrate.events import Shown, build_rounds, fail_where, in_contest
from jaxrate.text import cell, number


def contest_fields(roles: Roles, columns: dict[str, Column], players: Any) -> Fields:
    """Ids and numbers of the participants. The names of players that are known already are as in `read`.

    Raises:
      RowError: where a column does not hold what its part asks for.
    """
    form = roles.form
    assert form.contest is not None
    contest, contests = _codes(form.contest, columns)
    with in_contest(lambda row: f"contest {_name(contests, contest[row])}"):
        player, players = to_ids(form.who, columns, players)
        values: dict[str, Any] = {"contest": contest, "player": player[:, 0], "rank": np.zeros(len(player))}
        if form.result is not None:
            result = to_numbers(form.result, columns[form.result])
            values["rank"] = result if form.ranked else -result
        if roles.weight is not None:
            values["weight"] = to_numbers(roles.weight, columns[roles.weight])
        if roles.last is not None:
            _check_places(contest, values["rank"], to_numbers(roles.last, columns[roles.last]))
        if roles.team is not None:
            alone = missing(columns[roles.team], nan=True)
            said = f"column {roles.team!r} has no value; players without a team need one of their own"
            fail_where(alone, lambda row: said)
            values["team"], _ = _codes(roles.team, columns)
        if roles.ceiling is not None:
            values["ceiling"] = to_numbers(roles.ceiling, columns[roles.ceiling], default=np.inf)
        if roles.noise is not None:
            values["noise"] = to_numbers(roles.noise, columns[roles.noise])
        time, clock = to_times(roles.time, columns)
    return Fields(values | time, players, clock, contests=contests)


def order_of_contests(fields: Fields, sort: bool) -> Values | slice:
    """[n] the rows, in order of time if they are to be sorted: contests as wholes. RowError if one has two times."""
    contest, contests = fields.values["contest"], fields.contests
    if not sort or fields.clock is None:
        return slice(None)
    time = fields.values["time"]
    first = time[np.unique(contest, return_index=True)[1]][contest]
    differs = (time < first) | (time > first)
    fail_where(differs, lambda row: f"time differs within contest {_name(contests, contest[row])}")
    return np.lexsort([contest, time])


def to_contests(roles: Roles, fields: Fields, rows: Values) -> Dataset:
    """The dataset of these rounds, whose participants stand in these rows of the source."""
    del roles
    contests, players = fields.contests, fields.players
    assert contests is not None
    shown = Shown(lambda i: _name(contests, i), lambda i: _name(players, i), lambda row: str(rows[row]))
    events = build_rounds(**fields.values, shown=shown)
    ours = fields.values["contest"][events.player_start[:-1]]
    return Dataset(events, players, rows, None, fields.clock, contests[ours])


def _name(names: Any, i: int) -> str:
    """How errors show a name: as Python has it, not NumPy."""
    return cell(names[i : i + 1].tolist()[0])


def _codes(name: str, columns: dict[str, Column]) -> tuple[Values, Values]:
    """Labels as integers [n] in order of first appearance, and the labels."""
    codes, labels = to_ids([name], columns)
    return codes[:, 0], labels


def _check_places(contest: Values, first: Values, last: Values) -> None:
    """ValueError where the ranges of places that those who tie share do not make a standing."""

    def say(row: int) -> str:
        return f"the places {number(first[row])} to {number(last[row])}"

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
