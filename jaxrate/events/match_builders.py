"""Matches from columns, and rating periods from matches."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxrate.argument_checks import check_arguments
from jaxrate.events.column_checks import as_ids, as_numbers, check_increasing, check_not_traced, fail_where
from jaxrate.events.event_times import FARTHEST_TIME, as_event_times
from jaxrate.events.event_types import Context, Matches, Periods, Ragged
from jaxrate.text_format import format_cell
from jaxrate.types import Array

LARGEST_EXACT_FLOAT = 2.0**53  # periods up to here are told apart


def matches(
    player: Any,
    score: Any,
    time: Any = None,
    *,
    side: Any = None,
    weight: Any = None,
    category: Any = None,
    columns: Mapping[str, Any] | None = None,
) -> Matches:
    """Checked `Matches` from columns.

        jr.matches([[0, 1], [1, 2]], [1.0, 0.5], [0.0, 7.0])  # player 0 beats 1, who draws with 2 a week later

    Args:
      player: [n, 2] integer ids from 0 (`jaxrate.read` makes them from names).
      score: [n] of player 0 in [0, 1]; a draw is 0.5. Unbounded scores, as in poker, are out of scope.
      time: [n] finite, not decreasing, in days or any unit of one's own; or dates, which become days since 1970-01-01
        in UTC. None: 0 for all, so no time passes. In float32 a time is kept to 1 part in 10^7; if minutes matter in a
        history of decades, run in float64.
      side: [n] in [-1, 1]; 1 if player 0 has the side advantage (home, white), -1 if player 1 has. None: nobody.
      weight: [n] above 0; a match of weight w counts as w matches. None: 1.
      category: [n] or [n, 2] integers from 0: of the match or of each player in it; or [n, 2, C] shares of C categories
        that each player mixes, as a random race does, which sum to one.
      columns: by name, [n] numbers: whatever else a system may read of a match, as `skills` does of margins, statistics
        and covariates, or one of one's own. They travel with the matches. Where there is no number, NaN.

    Raises:
      ValueError: names the first bad row, counting from 0, and what is wrong with it.
    """
    n = np.size(score)
    player = as_ids("player", player, (n, 2))
    fail_where(player[:, 0] == player[:, 1], lambda row: f"player {player[row, 0]} is on both sides; remove the row")
    score = as_numbers("score", score, (n,))
    fail_where(
        (score < 0) | (score > 1),
        lambda row: f"score {score[row]} is outside [0, 1]; rescale it, or make it win, draw, loss",
    )
    time = np.zeros(n) if time is None else as_event_times(time, n)
    check_increasing("time", time, "sort the matches by time")
    if side is not None:
        side = as_numbers("side", side, (n,))
        fail_where(np.abs(side) > 1, lambda row: f"side {side[row]} is outside [-1, 1]")
    if weight is not None:
        weight = as_numbers("weight", weight, (n,))
        fail_where(weight <= 0, lambda row: f"weight {weight[row]} is not above 0; remove the row")
    if category is not None:
        category = _check_categories(category, n)
    return Matches(player, score, time, Context(side, weight, category, _check_columns(columns, n)))


def _check_columns(columns: Mapping[str, Any] | None, n: int) -> dict[str, Array] | None:
    """Checked further columns of matches; None if there are none."""
    if columns is not None and not isinstance(columns, Mapping):
        raise ValueError(f"columns must be a dict of arrays by name, got {columns!r}")
    for name in columns or ():
        if not isinstance(name, str):
            raise ValueError(f"the name of a column must be text, got {name!r}")
        if name in Context._fields:
            raise ValueError(f"a column must not be called {name!r}, as a part of the context is; rename it")
    return {
        name: as_numbers(f"column {name!r}", values, (n,), allow_nan=True) for name, values in (columns or {}).items()
    } or None


def _check_categories(values: Any, n: int) -> np.ndarray[Any, Any]:
    """Ids [n, 2], or shares [n, 2, C]."""
    check_not_traced("category", values)
    array = np.asarray(values)
    if array.ndim != 3:
        return as_ids("category", np.stack([array] * 2, axis=-1) if array.ndim == 1 else array, (n, 2))
    if array.shape[:2] != (n, 2) or array.dtype.kind not in "biuf":
        want = f"({n}, 2) ids or ({n}, 2, number of categories) shares"
        raise ValueError(f"category has shape {array.shape} and type {array.dtype}, expected {want}")
    share = array.astype(np.float64)
    off = ~((share >= 0).all(axis=-1) & (abs(share.sum(axis=-1) - 1.0) <= 1e-6))

    def say(row: int) -> str:
        which = int(np.argmax(off[row]))
        return (
            f"the shares of categories of player {which} are {share[row, which].tolist()}; they are from 0 and sum to 1"
        )

    fail_where(off.any(axis=1), say)
    return share


@check_arguments
def periods(matches: Matches, length: float | None = None, *, period: Any = None) -> Ragged:
    """Group matches into rating periods.

        jr.run(jr.glicko2(), jr.periods(data.matches, 30.0))

    Args:
      matches: as from `matches` or `read`.
      length: of a period, in the unit of `matches.time`. Period k covers [k length, (k + 1) length), and what it leaves
        is as of its end: see `ratings`.
      period: [n] period numbers that do not decrease, instead of a length; they become the time. Systems that age need
        to know how long a period is: `period=1` goes with numbers, `period=length` with a length.

    Returns:
      `Ragged` periods, pairs in the order of the matches; periods without a match are not stored: players age by the
      clock when they are next touched, or when ratings "as of" a later time are asked for.

    Raises:
      ValueError: if not exactly one of length and period is given, if the length is not a positive number that is told
        from the times, or if the period numbers decrease (names the row).
    """
    for name in ("player", "score", "time"):
        check_not_traced(name, getattr(matches, name))
    n = len(matches.score)
    if (length is None) == (period is None):
        raise ValueError("give either the length of a period or the period of each match")
    if length is not None:
        number = period_number(matches.time, length)
        start = number * length
    else:
        number = start = as_numbers("period", period, (n,)).astype(np.float64)
        check_increasing("period", number, "sort the matches by period")
    first = np.flatnonzero(np.diff(number, prepend=np.nan))  # the first match of each period
    which = np.cumsum(np.diff(number, prepend=number[:1]) != 0)
    player = np.asarray(matches.player, np.int64)
    width = int(player.max(initial=0)) + 1
    key, local = np.unique((which[:, None] * width + player).ravel(), return_inverse=True)
    player_start = np.searchsorted(key // width, np.arange(len(first) + 1)).astype(np.int64)
    pair = (local.reshape(n, 2) - player_start[which][:, None]).astype(np.int32)
    context = matches.context
    context = context._replace(weight=np.ones(n) if context.weight is None else context.weight)
    return Ragged(
        Periods((key % width).astype(np.int32), pair, matches.score, start[first], context),
        player_start,
        np.append(first, n).astype(np.int64),
    )


def period_number(time: Any, length: float) -> np.ndarray[Any, Any]:
    """Which period each time lies in; ValueError unless the length of periods is above 0 and told from the times."""
    check_not_traced("the length of a period", length, "give a number; jr.scan takes a traced `time` of plan.but")
    time = np.asarray(time, np.float64)
    number = np.asarray(length)
    if number.ndim or number.dtype.kind not in "biuf" or not 0 < length < math.inf:
        raise ValueError(f"the length of a period must be above 0, got {format_cell(length)}")
    if length > FARTHEST_TIME:
        raise ValueError(f"the length of a period must be at most {FARTHEST_TIME:g}, got {format_cell(length)}")
    farthest = float(np.abs(time).max(initial=0.0))
    if farthest > LARGEST_EXACT_FLOAT * length:
        shortest = f"the shortest that can be are of {farthest / LARGEST_EXACT_FLOAT:.2g}"
        raise ValueError(f"periods of {length:g} are not told apart at time {farthest:g}; {shortest}")
    return np.floor(time / length)


def period_end(time: Any, length: float) -> np.ndarray[Any, Any]:
    """When the period that each time lies in ends: at the start of the next one."""
    return (period_number(time, length) + 1.0) * length
