"""Axes of ranks, of pictures and interactive charts: logarithmic, and how far they reach and where their ticks are."""

import math

import numpy as np

from jaxrate.core.array_types import HostArray

RANK_TICKS = tuple(digit * 10**power for power in range(6) for digit in (1, 2, 3, 5))
MIN_RANK_TICKS = 3  # of round ranks; with fewer, ticks are at even distances
MIN_RANK_RANGE = 2.0  # from the best rank to the worst
MIN_TICK_DISTANCE = 0.06  # from one rank at an axis to the next, as a share of a logarithmic axis
PANEL_TICK_DISTANCE = 0.15  # in one of several small charts


def count_panel_columns(num_panels: int) -> int:
    """Two columns of panels, or one of an odd number: no place is empty, and years stand at one height."""
    return 1 if num_panels % 2 else 2


def rank_range(ranks: HostArray) -> tuple[float, float]:
    """The best and the worst rank at an axis of these ranks, NaN apart."""
    best = float(np.nanmin(ranks))
    return best, max(float(np.nanmax(ranks)), best + MIN_RANK_RANGE)


def rank_ticks(best: float, worst: float, min_distance: float = MIN_TICK_DISTANCE) -> list[int]:
    """The best rank, and round ones to about the worst; at even distances if these are near.

    No tick is nearer to the one before than this share of a logarithmic axis.
    """
    first = math.ceil(best)
    ticks = [tick for tick in RANK_TICKS if first <= tick <= worst]
    if len(ticks) < MIN_RANK_TICKS:
        step = next(step for step in RANK_TICKS if step >= (worst - first) / 4)
        ticks = list(range(-int(-first // step) * step, int(worst) + 1, step))
    room, kept = (worst / first) ** min_distance, [first]
    for tick in ticks:
        if tick > first and tick >= kept[-1] * room:
            kept.append(tick)
    return kept
