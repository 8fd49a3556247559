"""How likely results and scorelines are, from what is believed of the rates at which both sides should score."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import gammaln

from jaxrate.core.array_types import Array
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities
from jaxrate.systems.skills.goal_beliefs import LogRateBelief
from jaxrate.systems.skills.goal_likelihoods import (
    allowed_dependence,
    low_score_factor,
    rates_of_sides,
    root_of_covariance,
)

GAP_NODES, LEVEL_NODES = 5, 3  # of the integral over rates: level changes results less than the gap
COUNTED_GOALS = 13  # of each side, from 0; where both score more, their difference is taken for normal


def _gauss_hermite(gap_count: int, level_count: int) -> tuple[Any, Any, Any]:
    """Nodes of a standard normal law of two numbers, and their weights."""
    (u, first), (v, second) = (np.polynomial.hermite_e.hermegauss(n) for n in (gap_count, level_count))
    grids = np.meshgrid(u, v, indexing="ij")
    weight = np.outer(first / first.sum(), second / second.sum())
    return grids[0].ravel(), grids[1].ravel(), weight.ravel()


_NODES = _gauss_hermite(GAP_NODES, LEVEL_NODES)


def rates_at_nodes(belief: LogRateBelief) -> tuple[Array, Array, Array]:
    """[..., n] rates of both sides, and their weights."""
    shape = (1,) * belief.gap.ndim + (-1,)
    u, v, weight = (jnp.asarray(x, belief.gap.dtype).reshape(shape) for x in _NODES)
    width, slope, rest = root_of_covariance(belief)
    gap = belief.gap[..., None] + width[..., None] * u
    level = belief.level[..., None] + slope[..., None] * u + rest[..., None] * v
    return (*rates_of_sides(gap, level), weight)


def result_probabilities(belief: LogRateBelief, dependence: Any) -> tuple[Array, Array, Array]:
    """[...] the chances of win, draw and loss of the first side; they sum to 1."""
    first, second, weight = rates_at_nodes(belief)
    win, draw, loss = (jnp.clip(_mean(x, weight), 0.0, 1.0) for x in _results_at_rates(first, second, dependence))
    return win, draw, loss


def expected_goal_score(belief: LogRateBelief, dependence: Any) -> Array:
    """[...] of the first side; a draw is half a win."""
    first, second, weight = rates_at_nodes(belief)
    win, _, loss = _results_at_rates(first, second, dependence)
    return jnp.clip(0.5 + 0.5 * (_mean(win, weight) - _mean(loss, weight)), 0.0, 1.0)


def _mean(values: Array, weight: Array) -> Array:
    """[...] of [..., n], as a product of matrices: XLA would compute all values again for each of several sums."""
    return jnp.matmul(values, weight.ravel(), precision=lax.Precision.HIGHEST)


def _results_at_rates(first: Array, second: Array, dependence: Any) -> tuple[Array, Array, Array]:
    """Win, draw and loss at these rates."""
    chance, other = goalless = jnp.exp(-first), jnp.exp(-second)
    below = other_below = win = draw = loss = jnp.zeros_like(first)
    for goals in range(COUNTED_GOALS):
        win, draw, loss = win + chance * other_below, draw + chance * other, loss + other * below
        below, other_below = below + chance, other_below + other
        chance, other = chance * (first / (goals + 1)), other * (second / (goals + 1))
    tail, other_tail = (jnp.maximum(1.0 - x, 0.0) for x in (below, other_below))
    both, inverse = tail * other_tail, lax.rsqrt(jnp.maximum(first + second, 1.0))
    tail_win, tail_loss = (_normal_cdf((sign * (first - second) - 0.5) * inverse) for sign in (1.0, -1.0))
    win, loss = win + tail * other_below + both * tail_win, loss + other_tail * below + both * tail_loss
    draw = draw + both * (1.0 - tail_win - tail_loss)
    if dependence is None:
        return win, draw, loss
    change = allowed_dependence(dependence, first, second) * first * second * goalless[0] * goalless[1]
    return win + change, draw - 2.0 * change, loss + change


def _normal_cdf(z: Array) -> Array:
    """Phi to 3e-4 (Abramowitz and Stegun 1964, 7.1.27): loops of the compiler take no better one many at a time."""
    x = 0.5**0.5 * jnp.abs(z)
    power = 1.0 / (1.0 + x * (0.278393 + x * (0.230389 + x * (0.000972 + x * 0.078108))))
    tail = 0.5 * power * power * power * power
    return jnp.where(z < 0.0, tail, 1.0 - tail)


def goal_outcome_probabilities(belief: LogRateBelief, dependence: Any) -> OutcomeProbabilities:
    """[..., 2] of both sides. Match quality is the chance of a draw, relative to equals at the same level."""
    win, draw, loss = result_probabilities(belief, dependence)
    rate = jnp.exp(jnp.clip(belief.level, -4.0, 4.0))
    _, even, _ = _results_at_rates(rate, rate, dependence)
    both = jnp.stack([win, loss], axis=-1)
    draw, quality = (jnp.stack([x, x], axis=-1) for x in (draw, draw / even))
    return OutcomeProbabilities(both, draw, 2.0 - both - 0.5 * draw, quality)


def scoreline_probabilities(belief: LogRateBelief, dependence: Any, most_goals: int) -> Array:
    """[..., most_goals + 1, most_goals + 1] chances of scorelines: goals of the first side by those of the second."""
    first, second, weight = rates_at_nodes(belief)
    number = jnp.arange(most_goals + 1, dtype=first.dtype).reshape((1,) * first.ndim + (-1,))
    one, two = (jnp.exp(number * jnp.log(x)[..., None] - x[..., None] - gammaln(number + 1.0)) for x in (first, second))
    table = one[..., :, None] * two[..., None, :]
    if dependence is not None:
        rates = first[..., None, None], second[..., None, None]
        goals = number[..., :, None], number[..., None, :]
        table = table * low_score_factor(dependence, goals, rates)
    return jnp.sum(weight[..., None, None] * table, axis=-3)
