"""Since when the leader has led."""

from typing import Any

import numpy as np

from jaxrate.league.leaderboards import make_history_leaderboards
from jaxrate.league.rated_history import Rated

FIRST_BLOCK = 64  # times of the lists that are looked at first, the latest; each block of earlier ones is twice as long


def lead_start(rated: Rated, *, active: Any = None, min_games: int | None = None) -> float | None:
    """The time of the events that made the leader the leader: they are first on all lists since then, and not before.

    The lists are those of `leaderboard` with the same arguments, as of each time with events, or of each end of a
    rating period. None if there is no leader, or some events have no time.

        np.datetime64(int(lead_start(rated)), "D")  # of a history with dates
    """
    leaderboards = make_history_leaderboards(rated, active, min_games, None)
    trajectories = leaderboards.trajectories
    leader = leaderboards.ranked_list_at(None).ranked_ids[:1].tolist()
    if not leader or not leaderboards.has_all_times:
        return None
    times = np.unique(trajectories.end[np.isfinite(trajectories.end)])
    end, length = len(times), FIRST_BLOCK
    while end > 0:
        begin = max(end - length, 0)
        block = times[begin:end]
        is_first = np.array(
            [
                leaderboards.ranked_list_at(float(now), points).ranked_ids[:1].tolist() == leader
                for now, points in zip(block, trajectories.iterate_points_at(block), strict=True)
            ]
        )
        if not is_first.all():
            return float(times[min(begin + np.flatnonzero(~is_first)[-1] + 1, len(times) - 1)])
        end, length = begin, 2 * length
    return float(times[0])
