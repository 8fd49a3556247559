"""The sizes to which events of differing sizes are padded, and how many disjoint ones share a step."""

from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.events import Periods, Rounds
from jaxrate.numerics.padding_skipping_row_tiles import TILE_ROWS
from jaxrate.replay.padded_sizes import padded_event_size

_CANDIDATES = 128  # sizes considered
MAX_PADDED_SIZES = 8  # padded sizes at most: each costs a compilation
FREE_PADDING = 64  # players and pairs below which padding costs nothing
CALL_COST = 1000  # players and pairs that cost about as much as one more call
STEP_COST = 100  # and as one more step within a call, on a CPU; where kernels are launched it costs what a call does
PAIRS_PER_PLAYER = 16  # pairs of participants of a small contest that cost about as much as one of them
SMALL_BLOCK_COST = 32 * CALL_COST  # players and pairs up to which a block of a known kind is none too large
COMPILE_COST = {Periods: 1_000_000, Rounds: 300_000}  # and that one more compilation must save
TILED_COMPILE_COST = 1_500_000  # the same of events in tiles
TILED_PADDING_COST_RATIO = 0.05  # what padding of these costs of what players do: .01 (TopCoder) to .06 (Elo-MMR)


def tiled_event_size(number: int) -> int:
    """As `padded_event_size`, of whole tiles."""
    size = padded_event_size(number)
    return size if size <= TILE_ROWS else -(-size // TILE_ROWS) * TILE_ROWS


def padded_work(work: HostArray, size: int) -> Any:
    """What events cost on average that are padded to a size in tiles."""
    return np.mean(work + TILED_PADDING_COST_RATIO * (size - work))


def best_padded_sizes(work: HostArray, price: int, tiled: bool = False) -> HostArray:
    """The sizes, increasing, at most `SIZES`, to which these are padded at the least cost."""
    top = max(int(work.max()), FREE_PADDING)
    at = np.unique(np.ceil(np.geomspace(FREE_PADDING, top, _CANDIDATES))).astype(np.int64)
    count = np.cumsum(np.bincount(np.searchsorted(at, work), minlength=len(at)))
    count = np.concatenate([[0], count])
    # cost[i, j]: of padding what is above candidate i - 1 and at most candidate j to candidate j
    share = np.where(tiled & (at > TILE_ROWS), TILED_PADDING_COST_RATIO, 1.0)
    sums = np.concatenate([[0], np.cumsum(np.bincount(np.searchsorted(at, work), work, minlength=len(at)))])
    padded = share * at * (count[1:] - count[:-1, None]) + (1.0 - share) * (sums[1:] - sums[:-1, None])
    cost = np.where(np.arange(len(at))[:, None] <= np.arange(len(at)), padded, np.inf)
    best, last = cost[0], []
    for _ in range(MAX_PADDED_SIZES - 1):  # best[j]: of padding all that is at most candidate j, with so many sizes
        total = np.concatenate([[np.inf], best[:-1]])[:, None] + cost
        better = np.min(total, axis=0)
        if better[-1] > best[-1] - price:
            break
        last.append(np.argmin(total, axis=0))
        best = better
    chosen = [len(at) - 1]
    for previous in reversed(last):
        chosen.append(int(previous[chosen[-1]]) - 1)
    return at[chosen[::-1]]


def best_batch_size(lengths: list[int], cost: int, pairs: int, many_steps_a_call: bool) -> int:
    """How many disjoint events of one size share a step: the power of two that costs least."""
    step_cost = CALL_COST
    if many_steps_a_call and not has_launch_overhead():
        step_cost, cost = STEP_COST, cost + pairs // PAIRS_PER_PLAYER

    def total(batch: int) -> int:
        return sum(-(-n // batch) for n in lengths) * (step_cost + batch * cost)

    return min((1 << k for k in range(max(lengths, default=1).bit_length())), key=total)
