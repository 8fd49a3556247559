"""Rounds from the columns of a long table, one row per participant."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxrate.events.column_checks import (
    RowError,
    add_contest_to_errors,
    as_event_times,
    as_ids,
    as_labels,
    as_numbers,
    fail_where,
)
from jaxrate.events.event_types import Ragged, Rounds


def rounds(
    contest: Any,
    player: Any,
    rank: Any,
    *,
    team: Any = None,
    weight: Any = None,
    time: Any = None,
    ceiling: Any = None,
    noise: Any = None,
) -> Ragged:
    """`Ragged` rounds from a long table, one row per participant, the rows of a contest together.

        jr.run(jr.elo_mmr(), jr.rounds([0, 0, 0], [4, 2, 7], [1, 2, 2]))  # player 4 won, and 2 and 7 tied

    The contests count in this order. Their times matter only to systems in which time passes, and only then must not
    decrease: `run` sees to it.

    Args:
      contest: [n] any integers; a change of number begins a new contest.
      player: [n] integer ids from 0. A player may be in several teams of a contest, as a constructor with two cars is
        (`trueskill` and `elo_mmx` rate that), but in each of them once, and alone in one at most.
      rank: [n] finite, lower is better, equal is a tie. (Negate a score that is better when higher.)
      team: [n] integers; participants of a contest with the same number play together and must share their rank.
        None: everyone plays alone.
      weight: [n] of the contest, or partial play, above 0. None: 1.
      time: [n] the same within a contest, numbers or dates, as of `matches`. None: no time passes.
      ceiling: [n] the same within a contest: performances above it count as it; inf: none. None: none anywhere.
      noise: [n] the same within a contest, above 0: by how much performances scatter more than usual there. It is a
        factor of the system's deviation beta, which may then be fitted, and leaves the drift alone: half an hour where
        two hours are usual may have a noise of 2, if 1 / beta^2 is in proportion to the duration. None: 1.

    Raises:
      ValueError: names the first bad row, counting from 0, its contest, and what is wrong with it.

    Warns:
      UserWarning: if contests have a single participant; systems of ranks learn nothing from them.
    """
    ragged = build_rounds(contest, player, rank, team=team, weight=weight, time=time, ceiling=ceiling, noise=noise)
    warn_single_participant(ragged, np.asarray(contest)[ragged.player_start[:-1]], stacklevel=3)
    return ragged


class NameFormatters(NamedTuple):
    """How errors say a contest, a player and a row that they also name."""

    contest: Callable[[Any], str] = str
    player: Callable[[Any], str] = str
    row: Callable[[Any], str] = str


PLAIN_FORMATTERS = NameFormatters()


def build_rounds(
    contest: Any,
    player: Any,
    rank: Any,
    *,
    team: Any = None,
    weight: Any = None,
    time: Any = None,
    ceiling: Any = None,
    noise: Any = None,
    formatters: NameFormatters = PLAIN_FORMATTERS,
) -> Ragged:
    """`rounds` without the warning."""
    n = np.size(contest)
    contest = as_labels("contest", contest, n)

    def label(row: int) -> str:
        return f"contest {formatters.contest(contest[row])}"

    def constant(name: str, values: Any) -> None:
        fail_where(values != values[first[which]], lambda row: f"{name} {values[row]} differs within {label(row)}")

    with add_contest_to_errors(label):
        player = as_ids("player", player, (n,))
        rank = as_numbers("rank", rank, (n,)).astype(np.float64)
        weight = np.ones(n) if weight is None else as_numbers("weight", weight, (n,))
        fail_where(weight <= 0, lambda row: f"weight {weight[row]} is not above 0; remove the row")
        time = np.zeros(n) if time is None else as_event_times(time, n)
        ceiling = None if ceiling is None else as_numbers("ceiling", ceiling, (n,), allow_infinite=True)
        if noise is not None:
            noise = as_numbers("noise", noise, (n,))
            fail_where(noise <= 0, lambda row: f"noise {noise[row]} is not above 0")
        team = None if team is None else as_labels("team", team, n)
    new = np.concatenate([np.ones(min(1, n), bool), contest[1:] != contest[:-1]])
    first = np.flatnonzero(new)
    which = np.cumsum(new) - 1
    once = np.unique(contest[first], return_index=True)[1]
    again = np.ones(n, bool)
    again[~new] = False
    again[first[once]] = False
    fail_where(again, lambda row: f"{label(row)} begins a second time; put the rows of a contest together")
    constant("time", time)
    for name, values in (("ceiling", ceiling), ("noise", noise)):
        if values is not None:
            constant(name, values)
    again = _is_repeated_player(which, player)

    def fail_twice(bad: Any, where: str = "") -> None:
        fail_where(bad, lambda row: f"player {formatters.player(player[row])} is in {label(row)} twice{where}")

    seat = None
    if team is None:
        fail_twice(again)
        team = np.arange(n) - first[which]
    else:
        team, captain = _number_teams(team, which, first)
        if again.any():
            side = first[which] + team
            fail_twice(_is_repeated_player(side, player), ", in the same team")
            alone = np.flatnonzero(np.bincount(side)[side] == 1)
            again[:] = False
            again[alone] = _is_repeated_player(which[alone], player[alone])
            fail_twice(again, ", alone")
            seat = _first_seats(which, player, first)

        def differs(row: int) -> str:
            other = captain[row]
            said = f"rank {rank[row]} differs from {rank[other]} of the same team in row {formatters.row(other)}"
            return f"{said} ({label(row)})"

        fail_where(rank != rank[captain], differs)
    return Ragged(
        Rounds(
            player,
            count_better(which, rank),
            team.astype(np.int32),
            weight,
            time[first],
            None if ceiling is None else ceiling[first],
            None if noise is None else noise[first],
            seat,
        ),
        np.append(first, n).astype(np.int64),
        None,
    )


def _number_teams(team: Any, contest_number: Any, first: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """[n] the numbers of the teams of each contest, from 0, and the first row of each one's team."""
    n = len(team)
    order = np.lexsort((np.arange(n), team, contest_number))
    head = np.concatenate([[True], (np.diff(contest_number[order]) != 0) | (np.diff(team[order]) != 0)])[:n]
    label = np.cumsum(head) - 1
    local, captain = np.empty((2, n), np.int64)
    local[order] = label - label[first][contest_number]
    captain[order] = order[np.flatnonzero(head)][label]
    return local, captain


def count_better(contest_number: Any, rank: Any) -> np.ndarray[Any, Any]:
    """[n] how many have a strictly lower rank in the same contest; `which` numbers the contests, 0, 0, 1, ..."""
    n, first = len(rank), np.flatnonzero(np.diff(contest_number, prepend=-1))
    order = np.lexsort((rank, contest_number))
    head = np.concatenate([[True], (np.diff(contest_number[order]) != 0) | (np.diff(rank[order]) != 0)])[:n]
    better = np.empty(n, np.int32)
    better[order] = np.maximum.accumulate(np.where(head, np.arange(n), 0)) - first[contest_number]
    return better


def _is_repeated_player(contest_number: np.ndarray[Any, Any], player: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """[n] whether the player stands in an earlier row of the same event."""
    repeats = np.zeros(len(player), bool)
    key = contest_number * (player.max(initial=0) + np.int64(1)) + player
    if (np.diff(np.sort(key)) == 0).any():
        order = np.argsort(key, kind="stable")
        repeats[order[1:][np.diff(key[order]) == 0]] = True
    return repeats


def _first_seats(which: Any, player: Any, first: Any) -> np.ndarray[Any, Any]:
    """[n] where in each contest, from 0, its player stands first."""
    key = which * (player.max(initial=0) + np.int64(1)) + player
    _, row, number = np.unique(key, return_index=True, return_inverse=True)
    return np.asarray(row[number] - first[which], np.int32)


def warn_single_participant(ragged: Ragged, contests: Any, stacklevel: int) -> None:
    """UserWarning if contests, [E] by name, have one participant."""
    alone = np.flatnonzero(np.diff(ragged.player_start) == 1)
    if len(alone):
        first = repr(contests[alone[:1]].tolist()[0])
        count = f"contest {first} has" if len(alone) == 1 else f"{len(alone):,} contests, {first} the first, have"
        warnings.warn(
            f"{count} one participant; that changes nothing in systems of ranks", UserWarning, stacklevel=stacklevel
        )


def check_contest_time_order(ragged: Ragged, format_time: Callable[[Any], str] = str) -> None:
    """ValueError if the times of the contests decrease; names the first row of the contest. `show` says a time."""
    time, start = np.asarray(ragged.events.time), ragged.player_start
    early = np.flatnonzero(time[1:] < time[:-1]) + 1
    if len(early):
        now, before = (format_time(time[i]) for i in (early[0], early[0] - 1))
        late = f"time {now} is earlier than {before} in the row before"
        raise RowError(int(start[early[0]]), f"{late}; sort the contests by time")
