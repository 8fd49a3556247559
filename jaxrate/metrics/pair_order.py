"""In how many pairs of a contest the better one was ahead, as had been predicted."""

import math
from typing import NamedTuple

import numpy as np

from jaxrate.array_types import HostArray
from jaxrate.metrics.inversions import count_inversions_by_entry, to_smallest_dtype


class PairOrder(NamedTuple):
    """The pairs of each of E contests who did not tie, and how many of them stood in the predicted order."""

    right: HostArray  # [E] those in order; of those who were predicted to be equal, each is half of one
    pairs: HostArray  # [E] all

    @property
    def share(self) -> float:
        """Of all pairs, those in order; NaN without any."""
        total = float(self.pairs.sum())
        return float(self.right.sum()) / total if total else math.nan

    @property
    def error(self) -> float | None:
        """The standard error of `share`, where contests are drawn independently; None of fewer than two."""
        return ratio_error(self.right, self.pairs)


def ratio_error(total: HostArray, count: HostArray) -> float | None:
    """The standard error of sum(total) / sum(count), of contests [E] that are drawn independently; None of one."""
    has_any = count > 0
    total, count, contests = total[has_any], count[has_any], int(has_any.sum())
    if contests < 2:
        return None
    rest = total - total.sum() / count.sum() * count
    return math.sqrt(float((rest**2).sum()) * contests / (contests - 1)) / float(count.sum())


class PairOrderDifference(NamedTuple):
    """The share of pairs in order by one forecaster less that by another, of the same contests."""

    difference: float
    error: float | None  # its standard error, where contests are drawn independently; None of one


def compare_pair_order(right: HostArray, other_right: HostArray, count: HostArray) -> PairOrderDifference:
    """Compare two forecasters contest by contest, by their sums [E] from `right_pair_shares` and its counts [E]."""
    gap, total = right - other_right, float(count.sum())
    return PairOrderDifference(float(gap.sum()) / total if total else math.nan, ratio_error(gap, count))


def count_pairs_in_order(contest: HostArray, rank: HostArray, rating: HostArray) -> PairOrder:
    """Compare the order of ratings [n] with that of ranks [n], lower is better, in contests [n] from 0, end to end."""
    size = np.bincount(contest)
    start = (np.cumsum(size) - size)[contest]
    wrong = [_count_wrong_pairs(contest, rank, rating, start, sign) for sign in (1, -1)]
    _, first, tie_size = np.unique(np.stack([contest, rank]), axis=1, return_index=True, return_counts=True)
    ties = np.bincount(contest[first], tie_size * (tie_size - 1) / 2, len(size))
    count = size * (size - 1) / 2 - ties
    return PairOrder(count - 0.5 * (wrong[0] + wrong[1]), count)


def _count_wrong_pairs(
    contest: HostArray, rank: HostArray, rating: HostArray, start: HostArray, sign: int
) -> HostArray:
    """[E] pairs of which the one with the higher rating was behind; with the sign -1 also those of equal ratings."""
    small = to_smallest_dtype(contest)
    order = np.lexsort((sign * rank, -rating, small))
    place = np.empty(len(order), np.int64)
    place[np.lexsort((np.arange(len(order)), rank[order], small))] = np.arange(len(order))
    return np.bincount(contest, count_inversions_by_entry(place - start, start))
