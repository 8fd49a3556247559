"""The careers of everybody side by side: when each played, and what each event left them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from jaxrate.data.tables import Values, pyarrow
from jaxrate.events import period_end
from jaxrate.records.rated import Rated, to_days
from jaxrate.smoothing.found import Smoothed

SETTLED = 10  # events after which a rating may be a peak: first ratings jump


class Courses(NamedTuple):
    """The points of players one after the other: each begins with a point of no events, and has one more per event.

    What an event left is what the player's next event found, and in the end what the state holds. With hindsight it is
    what is known of it now.
    """

    start: Values  # [N + 1] where the points of each player begin
    row: Values  # [R] the row of the predictions, or the match, of the last event; -1 at the first point
    time: Values  # [R] of the last event; NaN at the first point, and where there is no time
    end: Values  # [R] when it counts: a rating period once it has ended; -inf at the first point
    mean: Values  # [R] the rating; NaN at the first point with hindsight
    deviation: Values | None  # [R]

    @property
    def timed(self) -> bool:
        """Whether all events have times."""
        return bool(np.isnan(self.time).sum() == len(self.start) - 1)

    def reached(self, now: float | None = None) -> Values:
        """[N] the point at which each player stood at a moment: that before the first later event. None: the last."""
        at = self.start[1:] - 1
        if now is not None:
            later = np.flatnonzero(self.end > now)
            who, first = np.unique(np.searchsorted(self.start, later, side="right") - 1, return_index=True)
            at[who] = later[first] - 1
        return at

    def walk(self, moments: Values) -> Iterator[Values]:
        """[N] the point at which each player stood at each of these moments, the earliest first."""
        order, who = np.argsort(self.end, kind="stable"), np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        at, begin = self.start[:-1].copy(), 0
        for until in np.searchsorted(self.end[order], moments, side="right"):
            since = order[begin:until]  # of several of a player, the last one stays
            at[who[since]] = since
            begin = until
            yield at.copy()

    def highest(self, score: Values, at: Values, least: int = SETTLED) -> Values:
        """[N] the first point of the greatest score [R] up to `at`, or -1 for those without events.

        It is one after at least so many events, or for those who have fewer, all of them.
        """
        games = at - self.start[:-1]
        each = np.diff(self.start)
        place = np.arange(len(score))
        soon = place < np.repeat(self.start[:-1] + np.maximum(np.minimum(games, least), 1), each)
        score = np.where(soon | (place > np.repeat(at, each)), -np.inf, score)
        best = np.flatnonzero(score == np.repeat(np.maximum.reduceat(score, self.start[:-1]), each))
        who, first = np.unique(np.searchsorted(self.start, best, side="right") - 1, return_index=True)
        found = np.full(len(games), -1)
        found[who] = best[first]
        return np.where(games > 0, found, -1)


def courses(rated: Rated | Smoothed) -> Courses:
    """The points of a rated history, or of one with hindsight."""
    if isinstance(rated, Smoothed):
        n, player = len(rated.state.time), np.asarray(rated.matches.player).ravel()
        time = np.full(len(player), np.nan) if rated.clock is None else np.repeat(rated.matches.time, 2)
        left = [np.asarray(x).ravel() for x in rated.rating]
        return _arranged(n, player, 2, time, None, left, None)
    table = rated.predictions
    sides, who = (("_a", "_b"), ("a", "b")) if rated.contests is None else (("",), ("player",))
    ids = [ids_of(table[name], rated.players) for name in who]
    time = np.full(len(table), np.nan) if rated.clock is None else to_days(table["time"].to_numpy())
    final = [x if x is None else np.asarray(x) for x in rated.system.summary(rated.system.params, rated.state)]
    found = [
        None if x is None else np.stack([table[f"{name}{side}"].to_numpy() for side in sides], axis=1).ravel()
        for name, x in zip(("rating", "deviation"), final, strict=True)
    ]
    player, times = np.stack(ids, axis=1).ravel(), np.repeat(time, len(sides))
    if rated.contests is not None and rated.games.sum() < len(table):  # some are in several teams of a contest
        rows = _first_rows(table["contest"], player)
        some = [None if x is None else x[rows] for x in found]
        course = _arranged(len(rated.players), player[rows], 1, times[rows], None, some, final)
        return course._replace(row=np.where(course.row < 0, -1, rows[course.row]))
    return _arranged(len(rated.players), player, len(sides), times, rated.period, found, final)


def _first_rows(contest: Any, player: Values) -> Values:
    """The rows of participations but those of players who stand in the same contest before; `contest` is Arrow's."""
    label = contest.combine_chunks().dictionary_encode().indices.to_numpy()
    number = np.cumsum(np.diff(label, prepend=label[:1]) != 0)
    key = number * (player.max(initial=0) + np.int64(1)) + player
    return np.sort(np.unique(key, return_index=True)[1])


def ids_of(names: Any, players: Values) -> Values:
    """[n] the ids of the names of an Arrow column."""
    arrow = pyarrow()
    return arrow.compute.index_in(names, value_set=arrow.array(players).cast(names.type)).to_numpy()


def _arranged(
    n: int, player: Values, sides: int, time: Values, period: float | None, each: list[Any], final: list[Any] | None
) -> Courses:
    """Points, of the players [R] of rows with so many sides, of when they met and of what `each` event found of them.

    With what is left of everybody in the `final` state; without it, `each` is what the event left.
    """
    order = np.argsort(player, kind="stable")
    start = np.append(0, np.cumsum(np.bincount(player, minlength=n) + 1))
    before = player[order].astype(np.int64) + np.arange(len(order))  # the point that an event found

    def points(values: Values, begin: Any, at: Values = before + 1) -> Values:
        found = np.empty(start[-1], values.dtype)
        found[start[:-1]] = begin
        found[at] = values[order]
        return found

    if final is None:
        left: list[Any] = [points(x, np.nan) for x in each]
    else:
        left = [None if x is None else points(x, 0.0, before) for x in each]
        for values, last in zip(left, final, strict=True):
            if values is not None:
                values[start[1:] - 1] = last
    end = time if period is None else period_end(time, period)
    row = points(np.arange(len(player)) // sides, -1)
    return Courses(start, row, points(time, np.nan), points(end, -np.inf), *left)
