"""The ranks of players through time."""

from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.history.history import History
from jaxrate.history.leaderboards import make_history_leaderboards


def ranks_over_time(
    rated: History,
    players: Any,
    times: HostArray,
    *,
    active: Any = None,
    min_games: int | None = None,
    cautious: float = 0.0,
) -> HostArray:
    """[M, K] the ranks of players [K], by id, on the lists as of times [M], the earliest first.

    NaN where they are not listed. The lists are those of `leaderboard`, all by one rule: without `min_games`, by that
    of the last list, and in the groups that no chain of events up to then joins.
    """
    leaderboards = make_history_leaderboards(rated, active, min_games, float(times[-1]), cautious)
    leaderboards.check_has_times("a rank through time")
    all_ranks = np.full((len(times), len(leaderboards.is_eligible)), np.nan)
    for row, now, points in zip(all_ranks, times, leaderboards.trajectories.iterate_points_at(times), strict=True):
        rank = leaderboards.ranked_list_at(float(now), points).rank
        row[rank > 0] = rank[rank > 0]
    return all_ranks[:, list(players)]
