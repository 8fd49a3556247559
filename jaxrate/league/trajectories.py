"""The careers of everybody side by side: when each played, and what each event left them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from jaxrate.data.table_sources import import_pyarrow
from jaxrate.events import period_end
from jaxrate.league.rated_history import Rated, to_days
from jaxrate.smoothing.smoothing_result import Smoothed
from jaxrate.types import HostArray

PEAK_MIN_EVENTS = 10  # events after which a rating may be a peak: first ratings jump


class Trajectories(NamedTuple):
    """The points of players one after the other: each begins with a point of no events, and has one more per event.

    What an event left is what the player's next event found, and in the end what the state holds. With hindsight it is
    what is known of it now.
    """

    start: HostArray  # [N + 1] where the points of each player begin
    row: HostArray  # [R] the row of the predictions, or the match, of the last event; -1 at the first point
    time: HostArray  # [R] of the last event; NaN at the first point, and where there is no time
    end: HostArray  # [R] when it counts: a rating period once it has ended; -inf at the first point
    mean: HostArray  # [R] the rating; NaN at the first point with hindsight
    deviation: HostArray | None  # [R]

    @property
    def timed(self) -> bool:
        """Whether all events have times."""
        return bool(np.isnan(self.time).sum() == len(self.start) - 1)

    def points_at(self, now: float | None = None) -> HostArray:
        """[N] the point at which each player stood at a moment: that before the first later event. None: the last."""
        points = self.start[1:] - 1
        if now is not None:
            later = np.flatnonzero(self.end > now)
            player_ids, first = np.unique(np.searchsorted(self.start, later, side="right") - 1, return_index=True)
            points[player_ids] = later[first] - 1
        return points

    def iterate_points_at(self, times: HostArray) -> Iterator[HostArray]:
        """[N] the point at which each player stood at each of these moments, the earliest first."""
        order, player_ids = (
            np.argsort(self.end, kind="stable"),
            np.repeat(np.arange(len(self.start) - 1), np.diff(self.start)),
        )
        points, begin = self.start[:-1].copy(), 0
        for until in np.searchsorted(self.end[order], times, side="right"):
            since = order[begin:until]  # of several of a player, the last one stays
            points[player_ids[since]] = since
            begin = until
            yield points.copy()

    def highest(self, score: HostArray, last_points: HostArray, min_events: int = PEAK_MIN_EVENTS) -> HostArray:
        """[N] the first point of the greatest score [R] up to `at`, or -1 for those without events.

        It is one after at least so many events, or for those who have fewer, all of them.
        """
        games = last_points - self.start[:-1]
        each = np.diff(self.start)
        place = np.arange(len(score))
        soon = place < np.repeat(self.start[:-1] + np.maximum(np.minimum(games, min_events), 1), each)
        score = np.where(soon | (place > np.repeat(last_points, each)), -np.inf, score)
        best = np.flatnonzero(score == np.repeat(np.maximum.reduceat(score, self.start[:-1]), each))
        player_ids, first = np.unique(np.searchsorted(self.start, best, side="right") - 1, return_index=True)
        peak_points = np.full(len(games), -1)
        peak_points[player_ids] = best[first]
        return np.where(games > 0, peak_points, -1)


def build_trajectories(rated: Rated | Smoothed) -> Trajectories:
    """The points of a rated history, or of one with hindsight."""
    if isinstance(rated, Smoothed):
        n, player = len(rated.state.time), np.asarray(rated.matches.player).ravel()
        time = np.full(len(player), np.nan) if rated.clock is None else np.repeat(rated.matches.time, 2)
        left = [np.asarray(x).ravel() for x in rated.rating]
        return _arrange_points(n, player, 2, time, None, left, None)
    table = rated.predictions
    sides, name_columns = (("_a", "_b"), ("a", "b")) if rated.contests is None else (("",), ("player",))
    ids = [lookup_ids(table[name], rated.players) for name in name_columns]
    time = np.full(len(table), np.nan) if rated.clock is None else to_days(table["time"].to_numpy())
    final_ratings = [x if x is None else np.asarray(x) for x in rated.system.summary(rated.system.params, rated.state)]
    event_ratings = [
        None if x is None else np.stack([table[f"{name}{side}"].to_numpy() for side in sides], axis=1).ravel()
        for name, x in zip(("rating", "deviation"), final_ratings, strict=True)
    ]
    player, times = np.stack(ids, axis=1).ravel(), np.repeat(time, len(sides))
    if rated.contests is not None and rated.games.sum() < len(table):  # some are in several teams of a contest
        rows = _first_rows(table["contest"], player)
        some = [None if x is None else x[rows] for x in event_ratings]
        course = _arrange_points(len(rated.players), player[rows], 1, times[rows], None, some, final_ratings)
        return course._replace(row=np.where(course.row < 0, -1, rows[course.row]))
    return _arrange_points(len(rated.players), player, len(sides), times, rated.period, event_ratings, final_ratings)


def _first_rows(contest: Any, player: HostArray) -> HostArray:
    """The rows of participations but those of players who stand in the same contest before; `contest` is Arrow's."""
    label = contest.combine_chunks().dictionary_encode().indices.to_numpy()
    number = np.cumsum(np.diff(label, prepend=label[:1]) != 0)
    key = number * (player.max(initial=0) + np.int64(1)) + player
    return np.sort(np.unique(key, return_index=True)[1])


def lookup_ids(names: Any, players: HostArray) -> HostArray:
    """[n] the ids of the names of an Arrow column."""
    arrow = import_pyarrow()
    return arrow.compute.index_in(names, value_set=arrow.array(players).cast(names.type)).to_numpy()


def _arrange_points(
    num_players: int,
    player: HostArray,
    players_per_row: int,
    time: HostArray,
    period: float | None,
    event_ratings: list[Any],
    final_ratings: list[Any] | None,
) -> Trajectories:
    """Points, of the players [R] of rows with so many sides, of when they met and of what `each` event found of them.

    With what is left of everybody in the `final` state; without it, `each` is what the event left.
    """
    order = np.argsort(player, kind="stable")
    start = np.append(0, np.cumsum(np.bincount(player, minlength=num_players) + 1))
    before = player[order].astype(np.int64) + np.arange(len(order))  # the point that an event found

    def points(values: HostArray, begin: Any, at: HostArray = before + 1) -> HostArray:
        filled = np.empty(start[-1], values.dtype)
        filled[start[:-1]] = begin
        filled[at] = values[order]
        return filled

    if final_ratings is None:
        left: list[Any] = [points(x, np.nan) for x in event_ratings]
    else:
        left = [None if x is None else points(x, 0.0, before) for x in event_ratings]
        for values, last in zip(left, final_ratings, strict=True):
            if values is not None:
                values[start[1:] - 1] = last
    end = time if period is None else period_end(time, period)
    row = points(np.arange(len(player)) // players_per_row, -1)
    return Trajectories(start, row, points(time, np.nan), points(end, -np.inf), *left)
