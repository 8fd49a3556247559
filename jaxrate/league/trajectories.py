"""Rating trajectories of all players: the times of their events and the ratings after them."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.array_types import HostArray
from jaxrate.events import Matches, number_connected_groups, period_end, repeat_seat_mask
from jaxrate.league.rated_history import Rated, participation_ids, times_to_event_clock
from jaxrate.smoothing.smoothing_result import Smoothed

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


def build_trajectories(rated: Rated | Smoothed) -> Trajectories:
    """The trajectories of a rated or smoothed history."""
    if isinstance(rated, Smoothed):
        return _build_smoothed_trajectories(rated)
    table = rated.predictions
    sides = ("_a", "_b") if rated.contests is None else ("",)
    player, event = participation_ids(rated)
    time = np.full(len(table), np.nan) if rated.clock is None else times_to_event_clock(table["time"].to_numpy())
    final = [x if x is None else np.asarray(x) for x in rated.system.summary(rated.system.params, rated.state)]
    ratings_before, ratings_after = (
        [_flatten_sides(table, f"{name}{suffix}", sides) for name in ("rating", "deviation")]
        for suffix in ("", "_after")
    )
    times = np.repeat(time, len(sides))
    rows = np.repeat(np.arange(len(table)), len(sides))
    if rated.contests is not None and rated.games.sum() < len(table):  # some are in several teams of a contest
        key = event * (player.max(initial=0) + np.int64(1)) + player
        rows = np.sort(np.unique(key, return_index=True)[1])  # the first participation of each player in a contest
        ratings_before, ratings_after = (
            [None if x is None else x[rows] for x in ratings] for ratings in (ratings_before, ratings_after)
        )
        player, event, times = player[rows], event[rows], times[rows]
    return _build_trajectories_from_columns(
        len(rated.players), player, event, rows, times, rated.period, ratings_before, ratings_after, final
    )


def _build_smoothed_trajectories(smoothed: Smoothed) -> Trajectories:
    known: list[Any] = [np.asarray(x).ravel() for x in smoothed.rating]
    flat: Any = getattr(smoothed.events, "events", smoothed.events)
    player = np.asarray(flat.player).ravel()
    if isinstance(smoothed.events, Matches):
        rows = event = np.repeat(np.arange(len(smoothed.time)), 2)
    else:  # each contest once, also of those who are in several teams
        rows = np.flatnonzero(~repeat_seat_mask(smoothed.events))
        event = np.repeat(np.arange(len(smoothed.time)), np.diff(smoothed.events.player_start))[rows]
        player, known = player[rows], [x[rows] for x in known]
    time = np.full(len(player), np.nan) if smoothed.clock is None else smoothed.time[event]
    num_players = len(smoothed.state.time)
    return _build_trajectories_from_columns(num_players, player, event, rows, time, None, [None, None], known, None)


def _flatten_sides(table: Any, name: str, sides: tuple[str, ...]) -> HostArray | None:
    """The columns of a name, of one side after the other in each row; None if the table has none."""
    if f"{name}{sides[0]}" not in table.column_names:
        return None
    return np.stack([table[f"{name}{side}"].to_numpy() for side in sides], axis=1).ravel()


def _build_trajectories_from_columns(
    num_players: int,
    player: HostArray,
    event: HostArray,
    rows: HostArray,
    time: HostArray,
    period: float | None,
    ratings_before: list[Any],
    ratings_after: list[Any],
    final: list[Any] | None,
) -> Trajectories:
    """The trajectories of players [R], who took part in these events [R], which stand in these rows [R].

    Args:
      ratings_before: means and deviations [R] before events; None without `final`, and where there are none.
      ratings_after: those that the events left; None or NaN where they are not known.
      final: those of the state [num_players].
    """
    order = np.argsort(player, kind="stable")
    start = np.append(0, np.cumsum(np.bincount(player, minlength=num_players) + 1))
    point_before = player[order].astype(np.int64) + np.arange(len(order))  # the point before an event

    def arrange_by_point(values: HostArray, begin: Any, at: HostArray = point_before + 1) -> HostArray:
        filled = np.empty(start[-1], values.dtype)
        filled[start[:-1]] = begin
        filled[at] = values[order]
        return filled

    points = arrange_by_point(time, np.nan)
    ends = arrange_by_point(time if period is None else period_end(time, period), -np.inf)
    row, event = arrange_by_point(rows, -1), arrange_by_point(event, -1)
    if final is None:
        means, deviations = (arrange_by_point(x, np.nan) for x in ratings_after)
        return Trajectories(start, row, event, points, ends, means, deviations, means, deviations)
    later: list[Any] = [None if x is None else arrange_by_point(x, 0.0, point_before) for x in ratings_before]
    for values, last in zip(later, final, strict=True):
        if values is not None:
            values[start[1:] - 1] = last
    is_last_of_period = np.append(ends[1:] != ends[:-1], True) if period is not None else np.ones(start[-1], bool)
    after: list[Any] = []
    for values, known in zip(later, ratings_after, strict=True):
        if values is None or known is None:
            after.append(values)
        else:
            at_point = arrange_by_point(known, np.nan)
            at_point[start[1:] - 1] = np.nan  # the state has it to the last bit
            after.append(np.where(is_last_of_period & ~np.isnan(at_point), at_point, values))
    return Trajectories(start, row, event, points, ends, *after, *later)
