"""Goals: beliefs about the logarithms of rates, likelihoods of counts and chances of results.

What is believed of the goals of a match before it: the logs of the rates at which both sides should score.

With d by how much the first team should perform better (see system.py) and e the sum of the paces of both, in points,
and Q = log(10) / 400, the logs of the rates are normal,

    log rate_1 = log(goal_rate) + Q (e + d) / 2 + noise,   log rate_2 = log(goal_rate) + Q (e - d) / 2 + noise

with noise of deviation Q `goal_dispersion`, of both sides apart: Poisson's goals scatter more with it (Aitchison and Ho
1989, "The multivariate Poisson-log normal distribution"). Here they are level + gap and level - gap. A team of strength
s and pace o has an attack (s + o) / 2 and a defence (s - o) / 2: Q (attack of the first - defence of the second) is
what is told apart in the log of rate_1 (Maher 1982, "Modelling association football scores").

How likely the goals of one side are, and what they say of the log of its rate alone: for hindsight.

Without Dixon and Coles' correction of low scores the goals of both sides are independent given their rates. So a match
is two of one number each, whose moments are sums over the nodes of Gauss and Hermite's rule about the mode.

Goals are Poisson's at given rates l and m of the first and of the second side, times Dixon and Coles' correction of low
scores (1997, "Modelling association football scores and inefficiencies in the football betting market", equation 4.2):

    tau(0, 0) = 1 - l m rho,   tau(0, 1) = 1 + l rho,   tau(1, 0) = 1 + m rho,   tau(1, 1) = 1 - rho

and 1 elsewhere, with rho cut where a factor would not be positive. All scorelines sum to 1 with it. Of expected goals
x, which may be missing, sqrt(x) is normal about sqrt(scale l) with a deviation that is a hyperparameter.

The belief after a match is the normal law with its mean and covariance (moment matching, as in Minka 2001,
"Expectation propagation for approximate Bayesian inference"). They are integrals, by Gauss and Hermite's rule about the
mode, with NODES to each axis: to 1e-6 of a deviation where teams are known, and to 1e-3 of one in the first match of
teams of which nothing is known. Slopes are those of the sums, whose nodes move with the mode.
"""

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import gammaln

from jaxrate.core.array_types import Array
from jaxrate.core.pairwise import split_sides
from jaxrate.events import Matches, Periods
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities
from jaxrate.systems.skills.belief_updates import add_to_diagonal, pad_common_skill_with_zeros
from jaxrate.systems.skills.match_strengths import (
    add_match_effects_to_lead,
    covariance_with_strength,
    experience_points,
    make_skill_loadings,
    match_growth_variance,
)
from jaxrate.systems.skills.settings import Constants, ModelSettings, State

LOG_RATE_LIMIT = 12.0  # gap, level and rates stay within exp(-12) and exp(12)
ROOT_RIDGE = 1e-6  # of variances, so that rounding leaves a root
HALF_Q = math.log(10.0) / 800.0  # of the logs of both rates, apart, for a point of the lead or of the pace


class TeamGoalBelief(NamedTuple):
    """The belief about a team: its strength x^T theta, and its pace."""

    loading: Array  # [..., D] x
    strength: Array  # [...]
    pace: Array  # [...]
    with_strength: Array  # [..., D] covariances of all parts with the strength
    with_pace: Array  # [..., D] and with the pace
    strength_variance: Array  # [...]
    covariance: Array  # [...]
    pace_variance: Array  # [...]


class LogRateBelief(NamedTuple):
    """Both logs of rates: half their difference, the gap, and their mean, the level."""

    gap: Array  # [...]
    level: Array  # [...]
    gap_variance: Array  # [...]
    covariance: Array  # [...]
    level_variance: Array  # [...]


class GoalBelief(NamedTuple):
    """A match before it is played."""

    first: TeamGoalBelief
    second: TeamGoalBelief
    rates: LogRateBelief


def make_goal_belief(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods, match_count: Any
) -> GoalBelief:
    """Both teams of each match, which counts as so many for the growth by matches; None: as one."""
    pair, loadings = split_sides(rows, event), make_skill_loadings(model, event)
    one, two = (
        _make_team_goal_belief(model, constants, row, loading, match_count)
        for row, loading in zip(pair, loadings, strict=True)
    )
    lead, games = one.strength - two.strength, None
    if pair[0].games is not None:
        if constants.second is None:
            games = pair[0].games, pair[1].games
        else:
            lead = lead + (experience_points(constants, pair[0]) - experience_points(constants, pair[1]))
    lead = add_match_effects_to_lead(model, constants, lead, games, event)
    params, square, scatter = constants.params, HALF_Q**2, goal_scatter(constants)
    rates = LogRateBelief(
        jnp.clip(HALF_Q * lead, -LOG_RATE_LIMIT, LOG_RATE_LIMIT),
        jnp.clip(jnp.log(params.goal_rate) + HALF_Q * (one.pace + two.pace), -LOG_RATE_LIMIT, LOG_RATE_LIMIT),
        square * (one.strength_variance + two.strength_variance + scatter),
        square * (one.covariance - two.covariance),
        square * (one.pace_variance + two.pace_variance + scatter),
    )
    return GoalBelief(one, two, rates)


class GoalRateFactors(NamedTuple):
    """The logs of both rates as linear functions of standard normal numbers z, D for each team, without scatter.

    gap = mean + sum of z_1 `gap_weights`[0] + sum of z_2 `gap_weights`[1], and the level likewise.
    """

    gap: Array  # [...] the mean
    level: Array  # [...] the mean
    gap_weights: Array  # [..., 2, D] of both teams
    level_weights: Array  # [..., 2, D]


def goal_rate_factors(model: ModelSettings, belief: GoalBelief, rows: State, event: Matches) -> GoalRateFactors:
    """The factors of the belief about goal rates by both teams; `rows` are as of the match.

    With L the Cholesky root of a team's covariance, its strength is its mean and x^T L z, and its pace the last rows'.
    """
    pair, weights = split_sides(rows, event), []
    for row, team, sign in zip(pair, (belief.first, belief.second), (1.0, -1.0), strict=True):
        ridge = ROOT_RIDGE * jnp.diagonal(row.covariance, axis1=-2, axis2=-1)
        root = jnp.linalg.cholesky(row.covariance + ridge[..., None] * jnp.eye(model.size, dtype=ridge.dtype))
        root = jnp.where(jnp.isfinite(root), root, 0.0)  # where nothing is uncertain
        strength = jnp.sum(team.loading[..., None] * root, axis=-2)
        weights.append((HALF_Q * sign * strength, HALF_Q * root[..., model.pace_index, :]))
    gap_weights, level_weights = (jnp.stack(x, axis=-2) for x in zip(*weights, strict=True))
    return GoalRateFactors(belief.rates.gap, belief.rates.level, gap_weights, level_weights)


def goal_scatter(constants: Constants) -> Any:
    """The variance of lead and of pace, in points, that is the match's own."""
    dispersion = constants.params.goal_dispersion
    return 0.0 if dispersion is None else 2.0 * dispersion**2


def _make_team_goal_belief(
    model: ModelSettings, constants: Constants, row: State, loading: Any, match_count: Any
) -> TeamGoalBelief:
    covariance, place = row.covariance, model.pace_index
    growth = match_growth_variance(constants, row, match_count)
    if growth is not None:
        growth = jnp.broadcast_to(growth, row.time.shape)
        covariance = add_to_diagonal(model, covariance, pad_common_skill_with_zeros(model, growth))
    with_strength, with_pace = covariance_with_strength(covariance, loading), covariance[..., place]
    return TeamGoalBelief(
        loading,
        jnp.sum(loading * row.mean, axis=-1),
        row.mean[..., place],
        with_strength,
        with_pace,
        jnp.sum(loading * with_strength, axis=-1),
        with_strength[..., place],
        with_pace[..., place],
    )


COUNT_NODES = 12
COUNT_NEWTON_STEPS = 4
SMALLEST_RATE = 1e-12  # of variances of logs
NODE_VALUES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(COUNT_NODES)


class CountObservation(NamedTuple):
    """The goals and expected goals of one side of a match."""

    goals: Array  # [...]
    expected: Array | None  # [...] NaN where they are missing
    noise: Any  # of the root of expected goals
    scale: Any  # of expected goals


class CountInference(NamedTuple):
    """The Gaussian likelihood exp(pull x - precision x^2 / 2) of the log of a rate by goals.

    x is the log of the rate less its mean before the match.
    """

    precision: Array  # [...]
    pull: Array  # [...]
    log_likelihood: Array  # [...] of what is known of the side


def infer_from_count(mean: Array, variance: Array, observation: CountObservation) -> CountInference:
    """The likelihood of the log of a rate, of this mean and variance [...], by the goals of a side."""
    variance = jnp.maximum(variance, SMALLEST_RATE)
    mean = jnp.clip(mean, -LOG_RATE_LIMIT, LOG_RATE_LIMIT)
    goals, count = goals_and_match_counts(observation)
    # From the mean before and the log of the goals, by their precisions; then by Newton's steps
    information = goals + 0.5
    change = variance * information / (1.0 + variance * information) * (jnp.log(information / count) - mean)
    for _ in range(COUNT_NEWTON_STEPS):
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


NODES = 5  # to each axis
NEWTON_STEPS = 3
CUT = 0.999  # of the dependence where a chance would be 0
SMALLEST = 1e-12  # of variances of logs
LEAST_SPREAD = 1e-3  # of the moments of the nodes, which are about 1


class GoalObservation(NamedTuple):
    """The goals and expected goals of a match, of the first and of the second side."""

    goals: tuple[Array, Array]  # [...]
    expected: tuple[Array, Array] | None  # [...] NaN where they are missing
    dependence: Any  # rho; None: 0
    noise: Any  # of the root of expected goals
    scale: Any  # of expected goals


class GoalInference(NamedTuple):
    """The Gaussian likelihood of gap and level by a match; S is their covariance before it, and S' after.

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
    """The likelihood of gap and level by the goals of each match, and how likely these were."""
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
    """The observations of the first and of the second side."""
    expected = (None, None) if observation.expected is None else observation.expected
    first, second = (
        CountObservation(goals, x, observation.noise, observation.scale)
        for goals, x in zip(observation.goals, expected, strict=True)
    )
    return first, second


def _shift_to_mode_and_spread(
    belief: LogRateBelief, observation: GoalObservation
) -> tuple[tuple[Array, Array], CovarianceRoot]:
    """The distance of the most likely gap and level from the means before, and the root of their covariance.

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
    """The moves of gap and level where both logs of rates are measured, and their covariance after it.

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
