"""Ratings in hindsight, at the level of the ratings at the time.

Results tell differences of ratings. The level of all is held by newcomers, and what is learned of them later moves it.
"""

import numpy as np

from jaxrate.array_types import HostArray
from jaxrate.league.all_careers import Careers

LEVEL_ROWS = 1000  # rows of the predictions around each over which levels are compared, at least
LEVEL_SHARE = 0.05  # of all rows, at least


def hindsight_level(careers: Careers, mean: HostArray) -> HostArray:
    """[n] how far the ratings in hindsight lie above those at the time, over all players in the rows around each.

    `mean` [n, 2] are the ratings in hindsight of both players of each match, or [n] of participants.
    """
    n = len(mean)
    difference = careers.gather_own_ratings(mean) - careers.mean
    sums = np.append(0.0, np.cumsum(np.bincount(careers.row, difference, n)))
    counts = np.append(0, np.cumsum(np.bincount(careers.row, minlength=n)))
    half = int(max(LEVEL_ROWS, LEVEL_SHARE * n)) // 2
    begin, end = np.maximum(np.arange(n) - half, 0), np.minimum(np.arange(n) + half + 1, n)
    return np.asarray((sums[end] - sums[begin]) / np.maximum(counts[end] - counts[begin], 1))


def align_hindsight(careers: Careers, mean: HostArray) -> HostArray:
    """The ratings in hindsight, less their level above the ratings at the time; differences at a time stay."""
    level = hindsight_level(careers, mean)
    return mean - (level if mean.ndim == 1 else level[:, None])
