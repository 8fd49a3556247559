"""Whom each participant of a round is expected to beat, summed over all pairs: exact, for rounds of moderate size.

The difference of two normal performances is normal. Of two logistic ones the narrower is integrated over, by the
trapezoidal rule: to it the wider one's cdf is smooth, so a few nodes are exact however much their deviations differ.
Whether i beats j and whether j beats i add up to 1 to rounding, and every probability and share lies in [0, 1].
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.systems.rounds import cdf_sums, performance_distributions

LEAST_PRODUCT_SIZE = 16  # participants from which products with a matrix of pairs take less time than sums
_NODE_STEP = 0.75  # in scales of the narrower: chances are right to 1e-9; by a step of 1 to 4e-7
_NODES = _NODE_STEP * np.arange(-32, 33)  # multiples of 8 on each side are vectors
_WEIGHTS = np.cosh(0.5 * _NODES) ** -2.0 / np.sum(np.cosh(0.5 * _NODES) ** -2.0)
NODE_COUNT = len(_NODES)

WinProbability = Callable[
    [Array, Array, Array], tuple[Array, Array]
]  # of a lead and two deviations: P(beats), P(is beaten)


class PriorPerformances(NamedTuple):
    """Everybody's performances."""

    centre: Array  # [P] their means
    deviation: Array  # [P]
    margin: Array | None  # [P] within which a difference is a draw, which is half a win; None: there are no draws


def normal_win_probability(lead: Array, deviation: Array, other_deviation: Array) -> tuple[Array, Array]:
    """Of normal performances."""
    below, above, _, _ = performance_distributions.normal_cdf_and_density(
        lead * lax.rsqrt(deviation**2 + other_deviation**2)
    )
    return below, above


def logistic_win_probability(lead: Array, deviation: Array, other_deviation: Array) -> tuple[Array, Array]:
    """Of logistic performances, to 1e-8 however much their deviations differ."""
    widest = jnp.maximum(deviation, other_deviation)
    inverse, part = (
        performance_distributions.LOGISTIC.deviation / widest,
        jnp.minimum(deviation, other_deviation) / widest,
    )
    if cdf_sums.max_simultaneous_pairs():
        return _unrolled_logistic_win_probability(lead * inverse, part)
    # The cdf F is summed at two nodes, F(x - lead) + F(-x - lead), with one exponential, q = exp(-x).
    nodes, weights = (
        jnp.asarray(y[NODE_COUNT // 2 + 1 :].reshape((1,) * lead.ndim + (-1,)), lead.dtype) for y in (_NODES, _WEIGHTS)
    )
    e, q = _exp_of_minus_size(lead * inverse)[..., None], jnp.exp(-part[..., None] * nodes)
    middle = _WEIGHTS[NODE_COUNT // 2] * (e / (1.0 + e))[..., 0]
    behind = middle + jnp.sum(weights * (e * q / (1.0 + e * q) + e / (q + e)), axis=-1)
    return _order_by_lead(lead, behind)


def _exp_of_minus_size(lead: Array) -> Array:
    """exp(-|lead|), whose slope is not 0 between equals."""
    return jnp.exp(jnp.where(lead > 0, -lead, lead))


def _order_by_lead(lead: Array, behind: Array) -> tuple[Array, Array]:
    """The probabilities of the first and the second, of that of whoever is behind."""
    ahead = lead > 0
    return jnp.where(ahead, 1.0 - behind, behind), jnp.where(ahead, behind, 1.0 - behind)


def _unrolled_logistic_win_probability(lead: Array, narrower_deviation: Array) -> tuple[Array, Array]:
    """The same, one pair after the other: with all nodes of a pair at once few exponentials are left, and no array.

    With e = exp(-lead), the cdf F misses 2 by e (c + 2 e) / (1 + e c + e^2) at two nodes, F(lead + x) + F(lead - x),
    where c = 2 cosh x; and cosh (k + 1) x follows from cosh k x.
    """
    e, step = _exp_of_minus_size(lead), jnp.exp(_NODE_STEP * narrower_deviation)
    first = step + 1.0 / step
    before, c, behind = jnp.full_like(e, 2.0), first, _WEIGHTS[NODE_COUNT // 2] * e / (1.0 + e)
    for weight in _WEIGHTS[NODE_COUNT // 2 + 1 :]:
        behind += weight * (e * (c + 2.0 * e) / (1.0 + e * (c + e)))
        before, c = c, first * c - before
    return _order_by_lead(lead, behind)


def pairwise_expected_wins_and_losses(
    win_probability: WinProbability, indices: Array, performances: PriorPerformances, mask: Array
) -> tuple[Array, Array]:
    """How many each of `indices` [R] is expected to beat of the others, and to be beaten by.

    Args:
      win_probability: of two performances.
      indices: [R] places in the round.
      performances: everybody's performances.
      mask: [P] who takes part.
    """
    lead = performances.centre[indices][:, None] - performances.centre[None]
    deviations = jnp.broadcast_arrays(performances.deviation[indices][:, None], performances.deviation[None])
    margin = None if performances.margin is None else performances.margin[indices][:, None]
    shifts = (jnp.zeros_like(lead),) if margin is None else (-margin, margin)
    both = [win_probability(lead + y, *deviations) for y in shifts]
    others = mask[None] & (indices[:, None] != jnp.arange(len(mask), dtype=indices.dtype)[None])
    below, above = (jnp.sum(jnp.where(others, sum(x) / len(shifts), 0.0), axis=1) for x in zip(*both, strict=True))
    return below, above


def all_expected_wins_and_losses(
    win_probability: WinProbability, performances: PriorPerformances, mask: Array
) -> tuple[Array, Array]:
    """The same of all [P] at once."""
    alike = performances.margin is None  # else a draw may be likelier for one than for the other
    if alike and len(mask) == 2:
        expect = partial(_expected_wins_and_losses_of_two, win_probability, mask=mask)
    elif alike and len(mask) >= LEAST_PRODUCT_SIZE and not has_launch_overhead():
        expect = partial(_expected_wins_and_losses_by_products, win_probability, mask=mask)
    else:
        indices = jnp.arange(len(mask), dtype=jnp.int32)
        expect = partial(pairwise_expected_wins_and_losses, win_probability, indices, mask=mask)
    return jax.checkpoint(expect)(performances)


def _expected_wins_and_losses_of_two(
    win_probability: WinProbability, performances: PriorPerformances, mask: Array
) -> tuple[Array, Array]:
    """The same of a match: one pair in place of four."""
    centre, deviation, _ = performances
    wins = jnp.where(jnp.all(mask), jnp.stack(win_probability(centre[0] - centre[1], deviation[0], deviation[1])), 0.0)
    return wins, wins[::-1]


def _expected_wins_and_losses_by_products(
    win_probability: WinProbability, performances: PriorPerformances, mask: Array
) -> tuple[Array, Array]:
    """The same from one matrix. XLA on a CPU would compute each number of it again for each of the sums over it."""
    lead = performances.centre[:, None] - performances.centre[None]
    deviations = jnp.broadcast_arrays(performances.deviation[:, None], performances.deviation[None])
    # A constant: the same from numbers of rows XLA would not know as the same in predictions and updates.
    wins = jnp.where(np.eye(len(mask), dtype=bool), 0.0, win_probability(lead, *deviations)[0])
    gain = mask.astype(wins.dtype)
    product = partial(jnp.matmul, precision=lax.Precision.HIGHEST)
    return product(wins, gain), product(gain, wins)


def batched_expected_wins_and_losses(
    win_probability: WinProbability, performances: PriorPerformances, mask: Array
) -> tuple[Array, Array]:
    """The same of all, some after the others, which limits the memory."""
    indices, count = jnp.arange(len(mask), dtype=jnp.int32), cdf_sums.comparison_batch_size(len(mask))
    return lax.map(
        lambda i: jax.tree.map(
            lambda x: x[0], pairwise_expected_wins_and_losses(win_probability, i[None], performances, mask)
        ),
        indices,
        batch_size=count,
    )
