"""The errors of shares of pairs in order, where contests are drawn independently."""

import math
from typing import NamedTuple

from jaxrate.core.array_types import HostArray


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
