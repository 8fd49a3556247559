"""The exact law of urns (Theorems 4 and 5 of Bolsinova and others 2022), for a few players."""

import math
from functools import reduce
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from jaxrate.events import fail_where

NumPy = np.ndarray[Any, Any]

MOST = 1_000_000  # states of all urns


class UrnLaw(NamedTuple):
    """Every state of the urns, in the order of the first player's balls, then the second's, and so on."""

    green: NumPy  # [states, num_players] green balls
    probability: NumPy  # [states]


def urn_law(size: Any, proportion: Any, total: int) -> UrnLaw:
    """The law that urns keep while skills stand still: binomials, given the number of green balls in all.

        law = jr.urn_law([4, 4, 6], [0.3, 0.5, 0.8], 7)
        law.probability @ law.green / [4, 4, 6]  # the mean of r / n, which is not quite pi

    The probability of r is proportional to the product of (n_k choose r_k) rho_k^r_k, with the odds rho = pi / (1 - pi)
    (Theorem 5, equation 12; its n may be the player's own). Odds times a constant have the same law. With weights of
    zero, as those of stakes of m balls, not every state can be reached; the law is then that of those that can.

    Args:
      size: [num_players] balls in each urn, whole, from 1.
      proportion: [num_players] pi, above 0, below 1; concrete.
      total: green balls in all urns, from 0.

    Raises:
      ValueError: for a value out of range (names the row), lengths that differ, or more than a million states.
    """
    sizes, share = np.asarray(size), np.asarray(proportion, np.float64)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or share.shape != sizes.shape:
        raise ValueError(
            f"size must be integers [num_players] with a proportion each, got {sizes.dtype} of shape {sizes.shape} "
            f"and proportions of shape {share.shape}"
        )
    fail_where(sizes < 1, lambda row: f"an urn has at least 1 ball, not {sizes[row]}")
    fail_where(~((share > 0) & (share < 1)), lambda row: f"proportion {share[row]} is not above 0 and below 1")
    if not 0 <= total <= sizes.sum():
        raise ValueError(f"total must be from 0 to the {sizes.sum()} balls of the urns, got {total}")
    if (states := _count(sizes, total)) > MOST:
        raise ValueError(f"these urns have {states:,} states, more than {MOST:,}; take fewer or smaller ones")
    green = _states(sizes, total)
    logs = green @ np.log(share / (1 - share)) + sum(_log_choose(n)[green[:, k]] for k, n in enumerate(sizes.tolist()))
    weights = np.exp(logs - logs.max())
    return UrnLaw(green, weights / weights.sum())


def _log_choose(n: int) -> NumPy:
    """[n + 1] ln of (n choose r)."""
    log_factorial = np.array([math.lgamma(r + 1) for r in range(n + 1)])
    return np.asarray(log_factorial[n] - log_factorial - log_factorial[::-1])


def _count(sizes: NumPy, total: int) -> int:
    """How many states there are: the coefficient of x^total of the product of 1 + x + ... + x^n."""

    def times(ways: list[int], n: int) -> list[int]:
        upto = [0, *accumulate(ways)]
        return [upto[k + 1] - upto[max(0, k - n)] for k in range(total + 1)]

    return reduce(times, sizes.tolist(), [1] + [0] * total)[total]


def _states(sizes: NumPy, total: int) -> NumPy:
    """[states, num_players], urn by urn, without those whose other urns cannot hold the rest."""
    green, rest = np.zeros((1, 0), int), int(sizes.sum())
    for n in sizes.tolist():
        rest -= n
        green = np.column_stack([np.repeat(green, n + 1, axis=0), np.tile(np.arange(n + 1), len(green))])
        left = total - green.sum(axis=1)
        green = green[(left >= 0) & (left <= rest)]
    return green
