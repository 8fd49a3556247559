"""How likely goals are, and what they say of the logs of the rates at which both sides should score.

Goals are Poisson's at given rates l and m of the first and of the second side, times Dixon and Coles' correction of low
scores (1997, "Modelling association football scores and inefficiencies in the football betting market", equation 4.2):

    tau(0, 0) = 1 - l m rho,   tau(0, 1) = 1 + l rho,   tau(1, 0) = 1 + m rho,   tau(1, 1) = 1 - rho

and 1 elsewhere, with rho cut where a factor would not be positive. All scorelines sum to 1 with it. Of expected goals
x, which may be missing, sqrt(x) is normal about sqrt(scale l) with the deviation `expected_goals_noise`.

The belief after a match is the normal law with its mean and covariance (moment matching, as in Minka 2001,
"Expectation propagation for approximate Bayesian inference"). They are integrals, by Gauss and Hermite's rule about the
mode, with NODES to each axis: to 1e-6 of a deviation where teams are known, and to 1e-3 of one in the first match of
teams of which nothing is known. Slopes are those of the sums, whose nodes move with the mode.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import gammaln

from jaxrate.core.array_types import Array
from jaxrate.systems.skills.goal_beliefs import LOG_RATE_LIMIT, LogRateBelief
from jaxrate.systems.skills.goal_count_likelihoods import (
    CountObservation,
    count_log_likelihood,
    goals_and_match_counts,
)

NODES = 5  # to each axis
NEWTON_STEPS = 3
CUT = 0.999  # of the dependence where a chance would be 0
SMALLEST = 1e-12  # of variances of logs
LEAST_SPREAD = 1e-3  # of the moments of the nodes, which are about 1


class GoalObservation(NamedTuple):
    """What is known of a match once it is played; of the first and of the second side."""

    goals: tuple[Array, Array]  # [...]
    expected: tuple[Array, Array] | None  # [...] NaN where they are missing
    dependence: Any  # rho; None: 0
    noise: Any  # of the root of expected goals
    scale: Any  # of expected goals


class GoalInference(NamedTuple):
    """What a match says of its gap and level, as a Gaussian likelihood; S is their covariance before it, and S' after.

    Pulls are S'^-1 times by how much the means move; the precision S'^-1 - S^-1 is not negative.
    """

    gap: Array  # [...] the pull of the gap
    level: Array  # [...] and of the level
    gap_precision: Array  # [...]
    cross_precision: Array  # [...]
    level_precision: Array  # [...]
    log_likelihood: Array  # [...] of what is known of the match


def rates_of_sides(gap: Array, level: Array) -> tuple[Array, Array]:
    """The rates of both sides."""
    first, second = (jnp.clip(x, -LOG_RATE_LIMIT, LOG_RATE_LIMIT) for x in (level + gap, level - gap))
    return jnp.exp(first), jnp.exp(second)


def allowed_dependence(dependence: Any, first: Array, second: Array) -> Array:
    """rho, cut where it would make a chance negative at these rates."""
    highest = CUT * jnp.minimum(1.0, 1.0 / (first * second))
    return jnp.minimum(jnp.maximum(dependence, -CUT / jnp.maximum(first, second)), highest)


def low_score_factor(dependence: Any, goals: tuple[Array, Array], rates: tuple[Array, Array]) -> Array:
    """Dixon and Coles' tau of these goals at these rates."""
    one, two = goals
    sign = jnp.where(jnp.abs(one + two - 1.0) < 0.5, 1.0, -1.0)
    change = jnp.where(one < 0.5, rates[0], 1.0) * jnp.where(two < 0.5, rates[1], 1.0)
    low = (one < 1.5) & (two < 1.5)
    return 1.0 + jnp.where(low, sign * change * allowed_dependence(dependence, *rates), 0.0)


def infer_from_goals(belief: LogRateBelief, observation: GoalObservation) -> GoalInference:
    """What the goals of each match say, and how likely they were."""
    (shift, level_shift), (width, slope, rest) = _shift_to_mode_and_spread(belief, observation)
    u, v, weight = (_to_last_axis(x, belief.gap) for x in _NODES_AND_WEIGHTS)
    prior = root_of_covariance(belief)
    gap_change = shift[..., None] + width[..., None] * u  # of the nodes, from the means before
    level_change = level_shift[..., None] + slope[..., None] * u + rest[..., None] * v
    gap_score = gap_change / prior.width[..., None]  # in deviations before, and of the level given the gap
    level_score = (level_change - prior.slope[..., None] * gap_score) / prior.rest[..., None]
    gap, level = belief.gap[..., None] + gap_change, belief.level[..., None] + level_change
    log_density, factor = _log_likelihood_and_factor(gap, level, observation)
    log_density = log_density + 0.5 * (u * u + v * v - gap_score * gap_score - level_score * level_score)
    highest = lax.stop_gradient(jnp.max(log_density, axis=-1))
    density = weight * factor * jnp.exp(log_density - highest[..., None])
    total = jnp.sum(density, axis=-1)
    share = density / total[..., None]
    moments = jnp.matmul(share, _moments_of_nodes(share.dtype), precision=lax.Precision.HIGHEST)
    mean_u, mean_v, square_u, product, square_v = (moments[..., i] for i in range(5))
    s_u, s_v = (jnp.maximum(x - y * y, LEAST_SPREAD) for x, y in ((square_u, mean_u), (square_v, mean_v)))
    s_uv = product - mean_u * mean_v
    inverse = 1.0 / jnp.maximum(s_u * s_v - s_uv * s_uv, LEAST_SPREAD**2)
    # In units of the root of the covariance before: z = root^-1 (x - mean), which u and v are by [[a, 0], [b, c]]
    a, c = width / prior.width, rest / prior.rest
    b = (slope - prior.slope * a) / prior.rest
    mode = shift / prior.width
    level_mode = (level_shift - prior.slope * mode) / prior.rest
    mean = mode + a * mean_u, level_mode + b * mean_u + c * mean_v
    # The inverse of the covariance of z after it: [[1/a, 0], [-b/(a c), 1/c]] is the inverse of the root there
    d, e, f = 1.0 / a, -b / (a * c), 1.0 / c
    k, m, n = s_v * inverse, -s_uv * inverse, s_u * inverse
    after = d * d * k + 2.0 * d * e * m + e * e * n, f * (d * m + e * n), f * f * n
    own, level_own = jnp.maximum(after[0] - 1.0, 0.0), jnp.maximum(after[2] - 1.0, 0.0)
    max_cross = jnp.sqrt(jnp.maximum(own * level_own, SMALLEST**2))
    cross = jnp.clip(after[1], -max_cross, max_cross)
    pull = after[0] * mean[0] + after[1] * mean[1], after[1] * mean[0] + after[2] * mean[1]
    # The inverse of the root before it is [[p, 0], [q, r]]
    p, q, r = 1.0 / prior.width, -prior.slope / (prior.width * prior.rest), 1.0 / prior.rest
    log_likelihood = jnp.log(total) + highest + jnp.log(a * c)
    inference = GoalInference(
        p * pull[0] + q * pull[1],
        r * pull[1],
        p * p * own + 2.0 * p * q * cross + q * q * level_own,
        r * (p * cross + q * level_own),
        r * r * level_own,
        log_likelihood - gammaln(observation.goals[0] + 1.0) - gammaln(observation.goals[1] + 1.0),
    )
    return lax.optimization_barrier(inference)  # else XLA on a CPU would infer anew for each number that follows


class CovarianceRoot(NamedTuple):
    """Lower root [[width, 0], [slope, rest]] of a covariance of gap and level."""

    width: Array
    slope: Array
    rest: Array


def root_of_covariance(belief: LogRateBelief) -> CovarianceRoot:
    """The root of the covariance, as of variances that are not 0."""
    width = jnp.sqrt(jnp.maximum(belief.gap_variance, SMALLEST))
    slope = belief.covariance / width
    return CovarianceRoot(width, slope, jnp.sqrt(jnp.maximum(belief.level_variance - slope * slope, SMALLEST)))


def _log_likelihood_and_factor(gap: Array, level: Array, observation: GoalObservation) -> tuple[Array, Array]:
    """[..., n] at these points, without the factorials; and the correction of low scores, or 1."""
    logs = tuple(jnp.clip(x, -LOG_RATE_LIMIT, LOG_RATE_LIMIT) for x in (level + gap, level - gap))
    first, second = (count_log_likelihood(x, y) for x, y in zip(logs, _sides(observation), strict=True))
    if observation.dependence is None:
        return first + second, jnp.ones_like(first)
    goals = observation.goals[0][..., None], observation.goals[1][..., None]
    return first + second, low_score_factor(observation.dependence, goals, (jnp.exp(logs[0]), jnp.exp(logs[1])))


def _sides(observation: GoalObservation) -> tuple[CountObservation, CountObservation]:
    """What is known of the first and of the second side."""
    expected = (None, None) if observation.expected is None else observation.expected
    first, second = (
        CountObservation(goals, x, observation.noise, observation.scale)
        for goals, x in zip(observation.goals, expected, strict=True)
    )
    return first, second


def _shift_to_mode_and_spread(
    belief: LogRateBelief, observation: GoalObservation
) -> tuple[tuple[Array, Array], CovarianceRoot]:
    """By about how much the most likely gap and level are above the means before, and their covariance's root there.

    By Newton's steps, from where they would be if the logs of goals were measured; corrections of low scores do not
    count.
    """
    goals, counts = zip(*map(goals_and_match_counts, _sides(observation)), strict=True)
    information = goals[0] + 0.5, goals[1] + 0.5
    pull = tuple(
        w * (jnp.log(w / n) - x)
        for w, n, x in zip(information, counts, (belief.level + belief.gap, belief.level - belief.gap), strict=True)
    )
    for step in range(NEWTON_STEPS + 1):
        gap_change, level_change, spread = _condition(belief, information, pull)
        if step < NEWTON_STEPS:
            rates = rates_of_sides(belief.gap + gap_change, belief.level + level_change)
            information = counts[0] * rates[0], counts[1] * rates[1]
            changes = level_change + gap_change, level_change - gap_change
            pull = tuple(y - w + w * x for y, w, x in zip(goals, information, changes, strict=True))
    return (gap_change, level_change), root_of_covariance(belief._replace(**spread))


def _condition(
    belief: LogRateBelief, information: tuple[Array, ...], pull: tuple[Array, ...]
) -> tuple[Array, Array, dict[str, Array]]:
    """By how much gap and level move where both logs of rates are measured, and their covariance after it.

    With S the covariance before, H the precision and g the pull of the measurements, in gap and level, they move by
    (1 + S H)^-1 S g, and (1 + S H)^-1 S is the covariance.
    """
    s, t, u = belief.gap_variance, belief.covariance, belief.level_variance
    both, difference = information[0] + information[1], information[0] - information[1]
    determinant = jnp.maximum(s * u - t * t, 0.0)
    denominator = 1.0 + both * (s + u) + 2.0 * difference * t + determinant * (4.0 * information[0] * information[1])
    gap = (s + determinant * both) / denominator
    cross = (t - determinant * difference) / denominator
    level = (u + determinant * both) / denominator
    push, lift = pull[0] - pull[1], pull[0] + pull[1]
    spread = {"gap_variance": gap, "covariance": cross, "level_variance": level}
    return gap * push + cross * lift, cross * push + level * lift, spread


def _gauss_hermite_square(count: int) -> tuple[Any, Any, Any]:
    """Nodes of a standard normal law of two numbers, and their weights."""
    node, weight = np.polynomial.hermite_e.hermegauss(count)
    weight = weight / weight.sum()
    u, v = np.meshgrid(node, node, indexing="ij")
    return u.ravel(), v.ravel(), np.outer(weight, weight).ravel()


_NODES_AND_WEIGHTS = _gauss_hermite_square(NODES)


def _to_last_axis(values: Any, like: Array) -> Array:
    """[n] numbers behind the axes of an array."""
    return jnp.asarray(values, like.dtype).reshape((1,) * like.ndim + (-1,))


def _moments_of_nodes(dtype: Any) -> Array:
    """[n, 5] powers of the nodes."""
    u, v, _ = _NODES_AND_WEIGHTS
    return jnp.asarray(np.stack([u, v, u * u, u * v, v * v], axis=1), dtype)
