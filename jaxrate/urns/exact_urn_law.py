"""The exact law of urns (Theorems 4 and 5 of Bolsinova and others 2022): joint for few players, marginal for many.

Theorem 5 divides elementary symmetric polynomials of the odds. As odds times a constant have the same law, they are
first scaled so that independent binomials have the total as their expected number of balls. The polynomials are then
probabilities of sums of binomials, and the divisor is among the greatest of these (Darroch 1964, "On the distribution
of the number of successes in independent trials"): nothing overflows. All terms are positive, so that no digits cancel.
"""

from functools import reduce
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy  # type: ignore[import-untyped]  # imports its modules at their first use

from jaxrate.core.argument_checks import CHECKED_BY_FUNCTION, Numbers, enforce_argument_annotations, to_floats
from jaxrate.core.array_types import HostArray
from jaxrate.core.memory_checks import check_memory_fits
from jaxrate.core.text_format import format_value_for_error
from jaxrate.events import fail_where

MAX_STATES = 1_000_000  # joint states
NEGLIGIBLE_RATIO = 1e-60  # numbers of balls with less than this times the greatest probability are left out


class UrnLaw(NamedTuple):
    """Probabilities of all states of the urns, in order of the first player's balls, then the second's, and so on."""

    green: HostArray  # [states, num_players] green balls
    probability: HostArray  # [states]


class BallCountDistribution(NamedTuple):
    """Probabilities of numbers of green balls, from `first` on."""

    first: int
    probability: HostArray  # [count]


@enforce_argument_annotations
def urn_law(size: Any, proportion: Numbers, total: Annotated[int, CHECKED_BY_FUNCTION]) -> UrnLaw:
    """The stationary law of urns while skills are constant: binomials, given the total number of green balls.

        law = jr.urns.urn_law([4, 4, 6], [0.3, 0.5, 0.8], 7)
        law.probability @ law.green / [4, 4, 6]  # the mean of r / n, which is not quite pi

    The probability of r is proportional to the product of (n_k choose r_k) rho_k^r_k, with the odds rho = pi / (1 - pi)
    (Theorem 5, equation 12; its n may be the player's own). Odds times a constant have the same law. With weights of
    zero, as for stakes of m balls, not every state can be reached; the law is then that of the states that can.

    Args:
      size: [num_players] balls in each urn, whole, from 1.
      proportion: [num_players] pi, above 0, below 1; concrete.
      total: green balls in all urns, from 0.

    Raises:
      ValueError: for a value out of range (names the row), lengths that differ, or more than a million states;
        `urn_marginals` has the law of each urn of many.
    """
    sizes, share = _check_urns(size, proportion, total)
    green = _enumerate_states(sizes, total)
    logs = green @ (np.log(share) - np.log1p(-share)) + _log_binomial_coefficients(sizes, green).sum(axis=1)
    weights = np.exp(logs - logs.max())
    return UrnLaw(green, weights / weights.sum())


@enforce_argument_annotations
def urn_marginals(size: Any, proportion: Numbers, total: Annotated[int, CHECKED_BY_FUNCTION]) -> HostArray:
    """The marginal law of each urn, given the total number of green balls, also for thousands of urns.

        law = jr.urns.urn_marginals([40] * 1000, [0.3, 0.7] * 500, 20_000)
        law @ range(41) / 40  # the mean of r / n

    Player k has r balls with the probability (n_k choose r) rho_k^r gamma(total - r) / gamma(total), where gamma are
    the elementary symmetric polynomials of the odds of the others, and of all (Theorem 5). For N urns of n balls it
    takes some N n log N steps times a number that does not grow: about two seconds for 5,000 urns of 40 balls.

    Args:
      size: [num_players] balls in each urn, whole, from 1.
      proportion: [num_players] pi, above 0, below 1; concrete.
      total: green balls in all urns, from 0.

    Returns:
      [num_players, max(size) + 1] probabilities of r = 0, 1, ... green balls; 0 beyond the urn's own size. Those below
      about 1e-60 may be 0.

    Raises:
      ValueError: for a value out of range (names the row), lengths that differ, or more numbers than memory holds.
    """
    sizes, share = _check_urns(size, proportion, total)
    num_bytes = 16.0 * len(sizes) * (sizes.max() + 1)
    check_memory_fits(f"the laws of {len(sizes)} urns of up to {sizes.max()} balls", num_bytes)
    result = np.zeros((len(sizes), int(sizes.max()) + 1))
    if total in (0, sizes.sum()):
        result[np.arange(len(sizes)), sizes if total else 0] = 1.0
        return result
    logit = _shift_logits_to_expected_total(sizes, np.log(share) - np.log1p(-share), total)
    urns = [_binomial_distribution(n, x) for n, x in zip(sizes.tolist(), logit.tolist(), strict=True)]
    for k, (urn, others) in enumerate(zip(urns, _distributions_of_other_urns(urns, total), strict=True)):
        rest = total - urn.first - np.arange(len(urn.probability)) - others.first
        is_possible = (rest >= 0) & (rest < len(others.probability))
        weight = np.where(is_possible, others.probability[np.where(is_possible, rest, 0)], 0.0) * urn.probability
        result[k, urn.first : urn.first + len(weight)] = weight / weight.sum()
    return result


def _check_urns(size: Any, proportion: Any, total: Any) -> tuple[HostArray, HostArray]:
    """Sizes and proportions [num_players]; ValueError for invalid ones."""
    sizes, share = np.asarray(size), to_floats("proportion", proportion)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or share.shape != sizes.shape or not len(sizes):
        raise ValueError(
            f"size must be integers [num_players] with a proportion each, got {sizes.dtype} of shape {sizes.shape} "
            f"and proportions of shape {share.shape}"
        )
    fail_where(sizes < 1, lambda row: f"an urn has at least 1 ball, not {sizes[row]}")
    fail_where(~((share > 0) & (share < 1)), lambda row: f"proportion {share[row]} is not above 0 and below 1")
    balls = int(sizes.sum())
    if isinstance(total, bool) or not isinstance(total, (int, np.integer)) or not 0 <= total <= balls:
        got = format_value_for_error(total)
        raise ValueError(f"total must be a whole number from 0 to the {balls} balls of the urns, got {got}")
    return sizes.astype(np.int64), share


def _log_binomial_coefficients(n: Any, r: HostArray) -> HostArray:
    """[...] ln of (n choose r)."""
    whole, chosen, others = (scipy.special.gammaln(x + 1.0) for x in (n, r, n - r))
    return np.asarray(whole - chosen - others)


def _enumerate_states(sizes: HostArray, total: int) -> HostArray:
    """[states, num_players] all states with this total of green balls; ValueError for more than `MAX_STATES`."""
    green, rest = np.zeros((1, 0), int), int(sizes.sum())
    for n in sizes.tolist():  # each state of the urns so far can be completed, so that their number never falls
        rest -= n
        left = total - green.sum(axis=1)
        least = np.maximum(left - rest, 0)
        count = np.minimum(left, n) - least + 1
        if count.sum() > MAX_STATES:
            advice = "take fewer or smaller ones, or the law of each urn by itself, urn_marginals"
            raise ValueError(f"these urns have more than {MAX_STATES:,} states; {advice}")
        added = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count - least, count)
        green = np.column_stack([np.repeat(green, count, axis=0), added])
    return green


def _shift_logits_to_expected_total(sizes: HostArray, logit: HostArray, total: int) -> HostArray:
    """[num_players] the logits plus the constant for which `total` green balls are expected."""

    def excess(shift: float) -> float:
        return float(sizes @ scipy.special.expit(logit + shift)) - total

    return np.asarray(logit + scipy.optimize.brentq(excess, -float(logit.max()) - 50.0, -float(logit.min()) + 50.0))


def _trim_improbable_counts(counts: BallCountDistribution) -> BallCountDistribution:
    """Remove improbable numbers at either end."""
    p = counts.probability
    probable = np.flatnonzero(p > NEGLIGIBLE_RATIO * p.max())
    return BallCountDistribution(counts.first + int(probable[0]), p[probable[0] : probable[-1] + 1])


def _binomial_distribution(n: int, logit: float) -> BallCountDistribution:
    """The number of green balls among n, each green with a probability of this logit."""
    green = np.arange(n + 1)
    logs = _log_binomial_coefficients(n, green) + green * logit
    return _trim_improbable_counts(BallCountDistribution(0, np.exp(logs - logs.max())))


def _convolve_distributions(first: BallCountDistribution, second: BallCountDistribution) -> BallCountDistribution:
    """The distribution of the sum of two numbers of balls."""
    p = np.convolve(first.probability, second.probability)
    return _trim_improbable_counts(BallCountDistribution(first.first + second.first, p / p.max()))


def _distributions_of_other_urns(urns: list[BallCountDistribution], total: int) -> list[BallCountDistribution]:
    """The distribution of balls in all urns but each, by sums over halves, quarters, and so on."""
    levels = [urns]
    while len(levels[-1]) > 1:
        level = levels[-1]
        levels.append([reduce(_convolve_distributions, level[i : i + 2]) for i in range(0, len(level), 2)])
    others = [BallCountDistribution(0, np.ones(1))]
    for level in reversed(levels[:-1]):
        inner_others = []
        for k, inside in enumerate(level):
            outside, sibling = others[k // 2], k ^ 1
            if sibling < len(level):
                outside = _convolve_distributions(outside, level[sibling])
            inner_others.append(_trim_counts_unreachable_total(outside, inside, total))
        others = inner_others
    return others


def _trim_counts_unreachable_total(
    outside: BallCountDistribution, inside: BallCountDistribution, total: int
) -> BallCountDistribution:
    """The numbers outside that can add up to the total with a number inside."""
    low = max(total - inside.first - len(inside.probability) + 1, outside.first)
    high = min(total - inside.first, outside.first + len(outside.probability) - 1)
    return BallCountDistribution(low, outside.probability[low - outside.first : high - outside.first + 1])
