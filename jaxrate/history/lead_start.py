"""Since when the leader has led."""

from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.history.history import History
from jaxrate.history.leaderboards import HistoryLeaderboardBuilder, make_history_leaderboards

BLOCK = 64  # times of the lists that are looked at together, the latest first


def lead_start(rated: History, *, active: Any = None, min_games: int | None = None) -> float | None:
    """The time of the events that made the leader the leader: they are first on all lists since then, and not before.

    The lists are those of `leaderboard` with the same arguments, as of each time with events, of each day if there are
    dates, or of each end of a rating period. None if there is no leader, or some events have no time.

        np.datetime64(int(lead_start(rated)), "D")  # of a history with dates
    """
    leaderboards = make_history_leaderboards(rated, active, min_games, None)
    leader = leaderboards.ranked_list_at(None).ranked_ids[:1].tolist()
    if not leader or not leaderboards.has_all_times:
        return None
    trajectories, is_compared = leaderboards.trajectories, leaderboards.groups == leaderboards.groups[leader[0]]
    times = np.unique(trajectories.end[np.isfinite(trajectories.end)])
    if rated.clock == "dates":
        times = times[np.append(np.diff(np.floor(times)) > 0, True)]  # the last of each day
    order = np.argsort(trajectories.end, kind="stable")
    end, player = trajectories.end[order], trajectories.player_ids()[order]
    bound, points, num_events = _greatest_ratings(leaderboards), trajectories.start[1:] - 1, len(order)
    for begin in range((len(times) - 1) // BLOCK * BLOCK, -1, -BLOCK):
        block = times[begin : begin + BLOCK]
        earlier = int(np.searchsorted(end, block[0], side="right"))
        events, num_events = slice(earlier, num_events), earlier
        points = points - np.bincount(player[events], minlength=len(points))  # at the first of these times
        highest = bound[points]
        np.maximum.at(highest, player[events], bound[order[events]])
        rating = _listed_ratings(leaderboards, np.array(leader), block)
        rivals = np.flatnonzero(is_compared & (highest >= rating.min(initial=np.inf, where=rating > -np.inf)))
        rivals = np.union1d(rivals, leader)
        first = rivals[_listed_ratings(leaderboards, rivals, block).argmax(axis=0)]  # of equals the first by id
        is_other = (first != leader[0]) | (rating[0] == -np.inf)
        if is_other.any():
            return float(times[min(begin + np.flatnonzero(is_other)[-1] + 1, len(times) - 1)])
    return float(times[0])


def _greatest_ratings(leaderboards: HistoryLeaderboardBuilder) -> HostArray:
    """[R] the greatest rating that a list can show of a player at a point: time moves a rating one way only."""
    trajectories = leaderboards.trajectories
    greatest, last = np.fmax(trajectories.mean, trajectories.later_mean), trajectories.start[1:] - 1
    for now in (None, leaderboards.end):
        greatest[last] = np.fmax(greatest[last], np.asarray(leaderboards.final_ratings(now).mean))
    return np.where(np.isnan(greatest), -np.inf, greatest)


def _listed_ratings(leaderboards: HistoryLeaderboardBuilder, players: HostArray, times: HostArray) -> HostArray:
    """[K, B] the ratings of these players on the lists of these times; -inf of who is not listed."""
    trajectories = leaderboards.trajectories
    begin, end = trajectories.start[players], trajectories.start[players + 1]
    points = np.stack(
        [i - 1 + np.searchsorted(trajectories.end[i:j], times, side="right") for i, j in zip(begin, end, strict=True)]
    )
    is_listed = leaderboards.listed_mask(players[:, None], points, times)
    rating, _ = trajectories.ratings_at(points, times, leaderboards.view.system.settings.get("seasons") or ())
    is_last = is_listed & (points == end[:, None] - 1)
    for at in np.flatnonzero(is_last.any(axis=0)):
        final = np.asarray(leaderboards.final_ratings(float(times[at])).mean)[players]
        rating[:, at] = np.where(is_last[:, at], final, rating[:, at])
    return np.where(is_listed & ~np.isnan(rating), rating, -np.inf)
