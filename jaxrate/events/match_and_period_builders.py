"""Matches from columns, and rating periods from matches."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import check_not_traced, enforce_argument_annotations
from jaxrate.core.text_format import format_value_for_error
from jaxrate.events.column_checks import MAX_ABS_TIME, check_matches, check_not_decreasing, to_checked_numbers
from jaxrate.events.event_types import Context, Matches, Periods, Ragged

LARGEST_EXACT_FLOAT = 2.0**53  # numbers of periods up to here are distinct


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
      columns: by name, [n] numbers that a system reads of a match: `skills` reads margins, statistics and covariates,
        and
        a system of your own may read any. They travel with the matches. NaN stands for a missing number.

    Raises:
      ValueError: names the first bad row, counting from 0, and what is wrong with it.
    """
    context: Any = side, weight, category, columns
    return check_matches(Matches(player, score, time, Context(*context)))


@enforce_argument_annotations
def periods(matches: Matches, length: float | None = None, *, period: Any = None) -> Ragged:
    """Group matches into rating periods.

        jr.run(jr.glicko2(period=30.0), jr.periods(data.matches, 30.0))

    Args:
      matches: as from `matches` or `read`.
      length: of a period, in the unit of `matches.time`. Period k covers [k length, (k + 1) length), and the
        ratings after it are as of its end: see `ratings`.
      period: [n] period numbers that do not decrease, instead of a length; they become the time. Systems that age need
        to know how long a period is: `period=1` goes with numbers, `period=length` with a length. (`rate` sees to it.)

    Returns:
      `Ragged` periods, with pairs in the order of the matches. Periods without a match are not stored: players age by
      the clock at their next match, or when you ask for ratings as of a later time.

    Raises:
      ValueError: unless exactly one of length and period is given; for a length that is not positive, or too small
        beside
        the times; or if the period numbers decrease (names the row).
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
        number = start = to_checked_numbers("period", period, (n,)).astype(np.float64)
        check_not_decreasing("period", number, "sort the matches by period")
    first_match = np.flatnonzero(np.diff(number, prepend=np.nan))  # the first match of each period
    period_index = np.cumsum(np.diff(number, prepend=number[:1]) != 0)
    player = np.asarray(matches.player, np.int64)
    width = int(player.max(initial=0)) + 1
    key, local = np.unique((period_index[:, None] * width + player).ravel(), return_inverse=True)
    player_start = np.searchsorted(key // width, np.arange(len(first_match) + 1)).astype(np.int64)
    pair = (local.reshape(n, 2) - player_start[period_index][:, None]).astype(np.int32)
    context = matches.context
    context = context._replace(weight=np.ones(n) if context.weight is None else context.weight)
    return Ragged(
        Periods((key % width).astype(np.int32), pair, matches.score, start[first_match], context),
        player_start,
        np.append(first_match, n).astype(np.int64),
        None if length is None else float(length),
    )


def period_number(time: Any, length: float) -> np.ndarray[Any, Any]:
    """[n] the number of the period of each time; ValueError unless the length is above 0 and large enough."""
    check_not_traced("the length of a period", length, "give a number; jr.scan takes a traced `time` of plan.but")
    time = np.asarray(time, np.float64)
    number = np.asarray(length)
    if number.ndim or number.dtype.kind not in "biuf" or not 0 < length < math.inf:
        raise ValueError(f"the length of a period must be above 0, got {format_value_for_error(length)}")
    if length > MAX_ABS_TIME:
        raise ValueError(
            f"the length of a period must be at most {MAX_ABS_TIME:g}, got {format_value_for_error(length)}"
        )
    farthest = float(np.abs(time).max(initial=0.0))
    if farthest > LARGEST_EXACT_FLOAT * length:
        shortest = f"the shortest that can be are of {farthest / LARGEST_EXACT_FLOAT:.2g}"
        raise ValueError(f"periods of {length:g} are not told apart at time {farthest:g}; {shortest}")
    return np.floor(time / length)


def period_end(time: Any, length: float) -> np.ndarray[Any, Any]:
    """[n] the end of the period in which each time lies: the start of the next one."""
    return (period_number(time, length) + 1.0) * length
