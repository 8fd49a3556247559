"""The points of players through time, and the level of all ratings."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.events import number_connected_groups
from jaxrate.history.history import History
from jaxrate.history.participations import Participations, final_ratings

PEAK_MIN_EVENTS = 10  # events after which a rating may be a peak: first ratings jump


class Trajectories(NamedTuple):
    """The points of players one after the other: each begins with a point of no events, and has one more per event.

    The rating is the one that the event left, and after the last event that of the state. Within a rating period and
    within a contest it is the one before the player's next event, so that the last has all the change. Where time moves
    no mean, and in histories without ratings after events, it is the one before the player's next event, too. With
    hindsight it is the smoothed rating.
    """

    start: HostArray  # [N + 1] where the points of each player begin
    row: HostArray  # [R] the row of the predictions, or the match, of the last event; -1 at the first point
    event: HostArray  # [R] the number of the match or the contest, from 0; -1 at the first point
    time: HostArray  # [R] of the last event; NaN at the first point, and where there is no time
    end: HostArray  # [R] when it counts: a rating period once it has ended; -inf at the first point
    mean: HostArray  # [R] the rating; NaN at the first point with hindsight
    deviation: HostArray | None  # [R]
    later_mean: HostArray  # [R] the rating that the player's next event found, after the last event that of the state
    later_deviation: HostArray | None  # [R]

    @property
    def has_all_times(self) -> bool:
        """Whether all events have times."""
        return bool(np.isnan(self.time).sum() == len(self.start) - 1)

    def player_ids(self) -> HostArray:
        """[R] whose each point is."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def points_at(self, query_time: float | None = None) -> HostArray:
        """[N] each player's point at a time: the one before their first later event. None: the last."""
        points = self.start[1:] - 1
        if query_time is not None:
            later = np.flatnonzero(self.end > query_time)
            player_ids, first = np.unique(np.searchsorted(self.start, later, side="right") - 1, return_index=True)
            points[player_ids] = later[first] - 1
        return points

    def groups(self, last_points: HostArray) -> HostArray:
        """[N] numbers from 0 of groups that no chain of events up to these points joins, the largest first.

        Who has not played by then is in the first.
        """
        player = self.player_ids()
        taken = np.flatnonzero((self.event >= 0) & (np.arange(len(player)) <= last_points[player]))
        return np.maximum(number_connected_groups(len(last_points), player[taken], self.event[taken]), 0)

    def ratings_at(
        self, points: HostArray, query_time: Any, seasons: Sequence[float]
    ) -> tuple[HostArray, HostArray | None]:
        """[N] means and deviations at a time, of players at these points; or [K, B] at times [B].

        They are those that the next event found, for which all the time between has passed. But before a season that
        is the first to begin between the two events, they are those that the last event left.
        """
        mean, deviation = self.later_mean[points], self.later_deviation
        deviation = None if deviation is None else deviation[points]
        if query_time is None or not len(seasons):
            return mean, deviation
        times = self.time[points], query_time, self.time[np.minimum(points + 1, len(self.time) - 1)]
        begun_by_last, begun, begun_by_next = (np.searchsorted(seasons, x, side="right") for x in times)
        is_before_season = (begun_by_last == begun) & (begun < begun_by_next)
        mean = np.where(is_before_season, self.mean[points], mean)
        if deviation is not None and self.deviation is not None:
            deviation = np.where(is_before_season, self.deviation[points], deviation)
        return mean, deviation

    def iterate_points_at(self, times: HostArray) -> Iterator[HostArray]:
        """Iterate over times, the earliest first: [N] each player's point at that time."""
        step = np.searchsorted(times, self.end).astype(np.min_scalar_type(len(times)))  # small numbers are sorted fast
        order, player_ids = np.argsort(step, kind="stable"), self.player_ids()
        points, begin = self.start[:-1].copy(), 0
        for until in np.cumsum(np.bincount(step, minlength=len(times))[: len(times)]).tolist():
            since = order[begin:until]  # of several of a player, the last one stays
            points[player_ids[since]] = since
            begin = until
            yield points.copy()

    def peak_points(self, score: HostArray, last_points: HostArray, min_events: int = PEAK_MIN_EVENTS) -> HostArray:
        """[N] each player's first point with the greatest score [R] up to `last_points`, after `min_events` events.

        -1 of players who have fewer: they have no peak.
        """
        num_games = last_points - self.start[:-1]
        points_per_player = np.diff(self.start)
        point_index = np.arange(len(score))
        is_too_early = point_index < np.repeat(self.start[:-1] + min_events, points_per_player)
        score = np.where(is_too_early | (point_index > np.repeat(last_points, points_per_player)), -np.inf, score)
        at_peak = np.flatnonzero(score == np.repeat(np.maximum.reduceat(score, self.start[:-1]), points_per_player))
        player_ids, first = np.unique(np.searchsorted(self.start, at_peak, side="right") - 1, return_index=True)
        peak_points = np.full(len(num_games), -1)
        peak_points[player_ids] = at_peak[first]
        return np.where(num_games >= max(min_events, 1), peak_points, -1)


def build_trajectories(history: History) -> Trajectories:
    """The trajectories of a history."""
    return trajectories_of_rows(history, history.rows.once_per_event())


def trajectories_of_rows(history: History, rows: Participations) -> Trajectories:
    """The trajectories of a history, from its participations, one for each player and event."""
    begin, end = rows.start[:-1], rows.start[1:]  # a first point stands before the rows of each player
    start = rows.start + np.arange(len(rows.start))
    event_columns = [np.insert(x, begin, -1) for x in (rows.row, rows.event)]
    event_columns += [np.insert(rows.time, begin, np.nan), np.insert(rows.end, begin, -np.inf)]
    if rows.before.mean is None:
        after = [None if x is None else np.insert(x, begin, np.nan) for x in rows.after]
        return Trajectories(start, *event_columns, *after, *after)
    later, after = [], []
    for before, left, final in zip(rows.before, rows.after, final_ratings(history), strict=True):
        found = None if before is None else np.insert(before, end, final)
        later.append(found)
        after.append(None if left is None or found is None else np.insert(left, begin, found[start[:-1]]))
    return Trajectories(start, *event_columns, *after, *later)


DEFAULT_ACTIVE_DAYS = 365.0  # within which whoever has played is active; without dates it is
ACTIVE_SHARE = 0.1  # of the length of the history
NUM_TIMES = 100  # at which the median is taken; between them it is interpolated
NUM_PARTS = 10  # of the history: those with the highest and the lowest level say how far it drifts


def lead_over_level(
    trajectories: Trajectories, score: HostArray, clock: str | None
) -> tuple[HostArray, HostArray | None]:
    """What peaks are chosen by: the score [R], or where ratings drift its lead over their level; and that level."""
    level = drifting_level(trajectories, clock)
    return (score if level is None else score - level), level


def drifting_level(trajectories: Trajectories, clock: str | None) -> HostArray | None:
    """[R] the median rating of the active at the time of each point; None unless it drifts by more than a deviation.

    The active have played in the year before, or in a tenth of the history without dates. The level of a part of the
    history is the mean of its medians; it drifts by the difference of the highest and the lowest. The deviation is that
    of the ratings of the active from their mean, pooled over time. `clock` is that of the history, as in `Dataset`.
    """
    if not trajectories.has_all_times:
        trajectories = trajectories._replace(end=trajectories.event.astype(float))
    end = trajectories.end
    is_event = trajectories.row >= 0
    if not is_event.any():
        return None
    end_of_event = np.zeros(trajectories.event.max() + 1)
    end_of_event[trajectories.event[is_event]] = end[is_event]
    times = np.unique(end_of_event[np.linspace(0, len(end_of_event) - 1, NUM_TIMES + 1).astype(int)[1:]])
    window = DEFAULT_ACTIVE_DAYS if clock == "dates" else ACTIVE_SHARE * (times[-1] - end_of_event[0])
    median, variance = np.zeros((2, len(times)))
    for i, points in enumerate(trajectories.iterate_points_at(times)):
        active = points[(points > trajectories.start[:-1]) & (end[points] >= times[i] - window)]
        median[i], variance[i] = np.median(trajectories.mean[active]), np.var(trajectories.mean[active])
    if len(times) < NUM_PARTS:
        return None
    levels = [part.mean() for part in np.array_split(median, NUM_PARTS)]
    if max(levels) - min(levels) <= np.sqrt(variance.mean()):
        return None
    return np.interp(end, times, median)
