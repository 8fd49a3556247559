"""How likely the goals of one side are, and what they say of the log of its rate alone: for hindsight.

Without Dixon and Coles' correction of low scores the goals of both sides are independent given their rates. So a match
is two of one number each, whose moments are sums over the nodes of Gauss and Hermite's rule about the mode.
"""

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import gammaln

from jaxrate.core.array_types import Array
from jaxrate.systems.skills.goal_beliefs import LOG_RATE_LIMIT

NODES = 12
NEWTON_STEPS = 4
SMALLEST = 1e-12  # of variances of logs
NODE_VALUES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(NODES)


class CountObservation(NamedTuple):
    """What is known of one side of a match once it is played."""

    goals: Array  # [...]
    expected: Array | None  # [...] NaN where they are missing
    noise: Any  # of the root of expected goals
    scale: Any  # of expected goals


class CountInference(NamedTuple):
    """What goals say of the log of the rate, as a Gaussian likelihood exp(pull x - precision x^2 / 2).

    x is the log of the rate less its mean before the match.
    """

    precision: Array  # [...]
    pull: Array  # [...]
    log_likelihood: Array  # [...] of what is known of the side


def infer_from_count(mean: Array, variance: Array, observation: CountObservation) -> CountInference:
    """What the goals of a side say of a log of the rate of this mean and variance [...]."""
    variance = jnp.maximum(variance, SMALLEST)
    mean = jnp.clip(mean, -LOG_RATE_LIMIT, LOG_RATE_LIMIT)
    goals, count = goals_and_match_counts(observation)
    # From the mean before and the log of the goals, by their precisions; then by Newton's steps
    information = goals + 0.5
    change = variance * information / (1.0 + variance * information) * (jnp.log(information / count) - mean)
    for _ in range(NEWTON_STEPS):
        rate = count * jnp.exp(jnp.clip(mean + change, -LOG_RATE_LIMIT, LOG_RATE_LIMIT))
        change = (goals - rate + rate * change) * variance / (1.0 + variance * rate)
    rate = count * jnp.exp(jnp.clip(mean + change, -LOG_RATE_LIMIT, LOG_RATE_LIMIT))
    width = jnp.sqrt(1.0 / (1.0 + variance * rate))  # in deviations before the match
    deviation = jnp.sqrt(variance)
    node = jnp.asarray(NODE_VALUES, mean.dtype).reshape((1,) * mean.ndim + (-1,))
    weight = jnp.asarray(NODE_WEIGHTS / NODE_WEIGHTS.sum(), mean.dtype).reshape(node.shape)
    x = (change / deviation)[..., None] + width[..., None] * node
    log_rate = jnp.clip(mean[..., None] + deviation[..., None] * x, -LOG_RATE_LIMIT, LOG_RATE_LIMIT)
    log_density = count_log_likelihood(log_rate, observation) + 0.5 * (node * node - x * x)
    highest = lax.stop_gradient(jnp.max(log_density, axis=-1))
    density = weight * jnp.exp(log_density - highest[..., None])
    total = jnp.sum(density, axis=-1)
    share = density / total[..., None]
    shift = jnp.sum(share * x, axis=-1)
    spread = jnp.sum(share * (x - shift[..., None]) ** 2, axis=-1)
    return CountInference(
        jnp.maximum(1.0 / spread - 1.0, 0.0) / variance,
        shift / (spread * deviation),
        jnp.log(total * width) + highest - gammaln(observation.goals + 1.0),
    )


def goals_and_match_counts(observation: CountObservation) -> tuple[Array, Array]:
    """Goals, and how many matches they are of: expected goals x count as 1 / (4 noise^2) matches of x goals."""
    goals, count = observation.goals, jnp.ones_like(observation.goals)
    if observation.expected is not None:
        is_observed, match_count = ~jnp.isnan(observation.expected), 0.25 / observation.noise**2
        goals = goals + jnp.where(is_observed, match_count * jnp.where(is_observed, observation.expected, 0.0), 0.0)
        count = count + jnp.where(is_observed, match_count * observation.scale, 0.0)
    return goals, count


def count_log_likelihood(log_rate: Array, observation: CountObservation) -> Array:
    """[..., n] at logs of rates within their limits, without the factorial."""
    rate = jnp.exp(log_rate)
    total = observation.goals[..., None] * log_rate - rate
    if observation.expected is None:
        return total
    x, noise = observation.expected, observation.noise
    is_observed, is_positive = ~jnp.isnan(x), x > 0.0
    root = jnp.where(is_positive, jnp.sqrt(jnp.where(is_positive, x, 1.0)), 0.0)  # whose slope at 0 would be infinite
    residual = (root[..., None] - jnp.sqrt(observation.scale * rate)) / noise
    density = -0.5 * residual * residual - jnp.log(noise) - 0.5 * math.log(2.0 * math.pi)
    return total + jnp.where(is_observed[..., None], density, 0.0)
