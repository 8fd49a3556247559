"""Goals: beliefs about the logarithms of rates, likelihoods of counts and chances of results.

What is believed of the goals of a match before it: the logs of the rates at which both sides should score.

With d by how much the first team should perform better (see system.py) and e the sum of the paces of both, in points,
and Q = log(10) / 400, the logs of the rates are normal,

    log rate_1 = log(goal_rate) + Q (e + d) / 2 + noise,   log rate_2 = log(goal_rate) + Q (e - d) / 2 + noise

with noise of deviation Q `goal_dispersion`, of both sides apart: Poisson's goals scatter more with it (Aitchison and Ho
1989, "The multivariate Poisson-log normal distribution"). Here they are level + gap and level - gap. A team of strength
s and pace o has an attack (s + o) / 2 and a defence (s - o) / 2: Q (attack of the first - defence of the second) is
what is told apart in the log of rate_1 (Maher 1982, "Modelling association football scores").

What a match says of gap and level, it says of strength and pace of a team through the uncertainty of the other team and
of the noise, see `infer_from_goals`.

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
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.events import Matches, Periods
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities
from jaxrate.systems.skills.belief_updates import (
    Inference,
    Message,
    add_to_diagonal,
    attenuate,
    diagonals,
    make_precision_positive,
    symmetric_pair,
    unit_matrices,
)
from jaxrate.systems.skills.linear_predictors import PredictorMoments
from jaxrate.systems.skills.parts import PACE, STRENGTH, Constants
from jaxrate.systems.skills.settings import ModelSettings

LOG_RATE_LIMIT = 12.0  # gap, level and rates stay within exp(-12) and exp(12)
ROOT_RIDGE = 1e-6  # of variances, so that rounding leaves a root
HALF_Q = math.log(10.0) / 800.0  # of the logs of both rates, apart, for a point of the lead or of the pace


class LogRateBelief(NamedTuple):
    """Both logs of rates: half their difference, the gap, and their mean, the level."""

    gap: Array  # [...]
    level: Array  # [...]
    gap_variance: Array  # [...]
    covariance: Array  # [...]
    level_variance: Array  # [...]


def make_log_rate_belief(constants: Constants, two: PredictorMoments) -> LogRateBelief:
    """The belief about the rates of a match, from strengths and paces of both teams."""
    square, scatter = HALF_Q**2, goal_noise_variance(constants)
    strength, covariance, pace = (
        two.covariance[..., i, j] for i, j in ((STRENGTH, STRENGTH), (STRENGTH, PACE), (PACE, PACE))
    )
    level = jnp.log(constants.params.goal_rate) + HALF_Q * (two.mean[0, ..., PACE] + two.mean[1, ..., PACE])
    return LogRateBelief(
        jnp.clip(HALF_Q * two.lead, -LOG_RATE_LIMIT, LOG_RATE_LIMIT),
        jnp.clip(level, -LOG_RATE_LIMIT, LOG_RATE_LIMIT),
        square * (strength[0] + strength[1] + scatter),
        square * (covariance[0] - covariance[1]),
        square * (pace[0] + pace[1] + scatter),
    )


def goal_noise_variance(constants: Constants) -> Any:
    """The variance of lead and of pace, in points, that is the match's own."""
    dispersion = constants.params.goal_dispersion
    return 0.0 if dispersion is None else 2.0 * dispersion**2


class GoalRateFactors(NamedTuple):
    """The logs of both rates as linear functions of standard normal numbers z, D for each team, without scatter.

    gap = mean + sum of z_1 `gap_weights`[0] + sum of z_2 `gap_weights`[1], and the level likewise.
    """

    gap: Array  # [...] the mean
    level: Array  # [...] the mean
    gap_weights: Array  # [..., 2, D] of both teams
    level_weights: Array  # [..., 2, D]


def goal_rate_factors(
    constants: Constants, two: PredictorMoments, loadings: Array, covariance: Array
) -> GoalRateFactors:
    """The factors of the belief about goal rates by both teams, of loadings [2, ..., 2, D] and covariances of rows.

    With L the Cholesky root of a team's covariance, its strength is its mean and x^T L z, and its pace likewise.
    """
    belief = make_log_rate_belief(constants, two)
    ridge = ROOT_RIDGE * diagonals(covariance)
    root = jnp.linalg.cholesky(add_to_diagonal(covariance, ridge))
    root = jnp.where(jnp.isfinite(root), root, 0.0)  # where nothing is uncertain
    weights = HALF_Q * jnp.sum(loadings[..., None] * root[..., None, :, :], axis=-2)  # [2, ..., 2, D]
    gap_weights = jnp.stack([weights[0, ..., STRENGTH, :], -weights[1, ..., STRENGTH, :]], axis=-2)
    return GoalRateFactors(belief.gap, belief.level, gap_weights, jnp.moveaxis(weights[..., PACE, :], 0, -2))


NODES = 5  # to each axis
NEWTON_STEPS = 3
CUT = 0.999  # of the dependence where a chance would be 0
SMALLEST = 1e-12  # of variances of logs
LEAST_SPREAD = 1e-3  # of the moments of the nodes, which are about 1


class GoalObservation(NamedTuple):
    """The goals and expected goals of a match, of the first and of the second side."""

    goals: tuple[Array, Array]  # [...]
    expected: tuple[Array | None, Array | None]  # [...] NaN where they are missing; None: the model has none
    dependence: Any  # rho; None: 0
    noise: Any  # of the root of expected goals
    scale: Any  # of expected goals


def goals_and_match_counts(side: int, observation: GoalObservation) -> tuple[Array, Array]:
    """Goals, and how many matches they are of: expected goals x count as 1 / (4 noise^2) matches of x goals."""
    goals, expected = observation.goals[side], observation.expected[side]
    count = jnp.ones_like(goals)
    if expected is not None:
        is_observed, match_count = ~jnp.isnan(expected), 0.25 / observation.noise**2
        goals = goals + jnp.where(is_observed, match_count * jnp.where(is_observed, expected, 0.0), 0.0)
        count = count + jnp.where(is_observed, match_count * observation.scale, 0.0)
    return goals, count


def count_log_likelihood(side: int, log_rate: Array, observation: GoalObservation) -> Array:
    """[..., n] at logs of rates within their limits, without the factorial."""
    rate, x, noise = jnp.exp(log_rate), observation.expected[side], observation.noise
    total = observation.goals[side][..., None] * log_rate - rate
    if x is None:
        return total
    is_observed, is_positive = ~jnp.isnan(x), x > 0.0
    root = jnp.where(is_positive, jnp.sqrt(jnp.where(is_positive, x, 1.0)), 0.0)  # whose slope at 0 would be infinite
    residual = (root[..., None] - jnp.sqrt(observation.scale * rate)) / noise
    density = -0.5 * residual * residual - jnp.log(noise) - 0.5 * math.log(2.0 * math.pi)
    return total + jnp.where(is_observed[..., None], density, 0.0)


def observe_goals(model: ModelSettings, constants: Constants, event: Matches | Periods) -> GoalObservation:
    """The goals and expected goals in the columns of matches."""
    params, columns = constants.params, event.context.columns or {}
    first, second = (columns[name] for name in model.margin)
    expected: Any = tuple(columns[name] for name in model.expected_goals) or (None, None)
    noise, scale = params.expected_goals_noise, params.expected_goals_scale
    return GoalObservation((first, second), expected, params.low_score_dependence, noise, scale)


def infer_from_goals(
    model: ModelSettings, constants: Constants, two: PredictorMoments, event: Matches | Periods
) -> Inference:
    """What goals, and expected goals if the model has them, say of strength and pace of both teams."""
    (precision, surprise), log_likelihood = infer_log_rates(
        make_log_rate_belief(constants, two), observe_goals(model, constants, event)
    )
    precision, surprise = HALF_Q**2 * precision, HALF_Q * surprise
    swap = jnp.asarray([[1.0, -1.0], [-1.0, 1.0]], precision.dtype)
    by_both = Message(  # as each team sees it
        jnp.stack([precision, jnp.broadcast_to(swap, precision.shape) * precision]),
        jnp.stack([surprise, jnp.stack([-surprise[..., 0], surprise[..., 1]], axis=-1)]),
    )
    of_other = jnp.broadcast_to(swap, two.covariance.shape) * two.covariance[::-1]
    scatter = goal_noise_variance(constants) * unit_matrices(of_other)
    return Inference(attenuate(by_both, of_other + scatter), log_likelihood)


def rates_of_sides(gap: Array, level: Array) -> tuple[Array, Array]:
    """The rates of both sides."""
    first, second = (jnp.clip(x, -LOG_RATE_LIMIT, LOG_RATE_LIMIT) for x in (level + gap, level - gap))
    return jnp.exp(first), jnp.exp(second)


def allowed_dependence(dependence: Any, first: Array, second: Array) -> Array:
    """rho, cut where it would make a chance negative at these rates."""
    return jnp.clip(dependence, -CUT / jnp.maximum(first, second), CUT / jnp.maximum(first * second, 1.0))


def low_score_factor(dependence: Any, goals: tuple[Array, Array], rates: tuple[Array, Array]) -> Array:
    """Dixon and Coles' tau of these goals at these rates."""
    one, two = goals
    sign = jnp.where(jnp.abs(one + two - 1.0) < 0.5, 1.0, -1.0)
    change = jnp.where(one < 0.5, rates[0], 1.0) * jnp.where(two < 0.5, rates[1], 1.0)
    low = (one < 1.5) & (two < 1.5)
    return 1.0 + jnp.where(low, sign * change * allowed_dependence(dependence, *rates), 0.0)


def infer_log_rates(belief: LogRateBelief, observation: GoalObservation) -> Inference:
    """The likelihood of gap and level by the goals of each match, and how likely these were."""
    (shift, level_shift), spread = _shift_to_mode_and_spread(belief, observation)
    u, v, weight = (_to_last_axis(x, belief.gap) for x in _NODES_OF_LIKELIHOOD)
    prior = root_of_covariance(belief)
    gap_change = shift[..., None] + spread.width[..., None] * u  # of the nodes, from the means before
    level_change = level_shift[..., None] + spread.slope[..., None] * u + spread.rest[..., None] * v
    gap_score = gap_change / prior.width[..., None]  # in deviations before, and of the level given the gap
    level_score = (level_change - prior.slope[..., None] * gap_score) / prior.rest[..., None]
    gap, level = belief.gap[..., None] + gap_change, belief.level[..., None] + level_change
    log_density, factor = _log_likelihood_and_factor(gap, level, observation)
    log_density = log_density + 0.5 * (u * u + v * v - gap_score * gap_score - level_score * level_score)
    highest = lax.stop_gradient(jnp.max(log_density, axis=-1))
    density = weight * factor * jnp.exp(log_density - highest[..., None])
    total = jnp.sum(density, axis=-1)
    share = density / total[..., None]
    moments = jnp.matmul(share, jnp.asarray(_MOMENTS_OF_NODES, share.dtype), precision=lax.Precision.HIGHEST)
    mean_u, mean_v, square_u, product, square_v = (moments[..., i] for i in range(5))
    s_u, s_v = (jnp.maximum(x - y * y, LEAST_SPREAD) for x, y in ((square_u, mean_u), (square_v, mean_v)))
    s_uv = product - mean_u * mean_v
    inverse = 1.0 / jnp.maximum(s_u * s_v - s_uv * s_uv, LEAST_SPREAD**2)
    after = spread.precision(s_v * inverse, -s_uv * inverse, s_u * inverse)
    before = prior.precision(jnp.ones_like(total), jnp.zeros_like(total), jnp.ones_like(total))
    own, cross, level_own = (x - y for x, y in zip(after, before, strict=True))
    change = shift + spread.width * mean_u, level_shift + spread.slope * mean_u + spread.rest * mean_v
    surprise = [after[0] * change[0] + after[1] * change[1], after[1] * change[0] + after[2] * change[1]]
    message = Message(make_precision_positive(symmetric_pair(own, cross, level_own)), jnp.stack(surprise, axis=-1))
    evidence = jnp.log(total) + highest + jnp.log(spread.width * spread.rest / (prior.width * prior.rest))
    message, evidence = lax.optimization_barrier((message, evidence))  # else XLA on a CPU would infer anew for each
    first, second = observation.goals
    return Inference(message, lambda: evidence - gammaln(first + 1.0) - gammaln(second + 1.0))


class CovarianceRoot(NamedTuple):
    """Lower root [[width, 0], [slope, rest]] of a covariance of gap and level."""

    width: Array
    slope: Array
    rest: Array

    def precision(self, first: Array, cross: Array, second: Array) -> tuple[Array, Array, Array]:
        """The precision of gap and level, if this is the precision of the numbers that the root maps to them."""
        d, e, f = 1.0 / self.width, -self.slope / (self.width * self.rest), 1.0 / self.rest
        return d * d * first + 2.0 * d * e * cross + e * e * second, f * (d * cross + e * second), f * f * second


def root_of_covariance(belief: LogRateBelief) -> CovarianceRoot:
    """The root of the covariance, as of variances that are not 0."""
    width = jnp.sqrt(jnp.maximum(belief.gap_variance, SMALLEST))
    slope = belief.covariance / width
    return CovarianceRoot(width, slope, jnp.sqrt(jnp.maximum(belief.level_variance - slope * slope, SMALLEST)))


def _log_likelihood_and_factor(gap: Array, level: Array, observation: GoalObservation) -> tuple[Array, Array]:
    """[..., n] at these points, without the factorials; and the correction of low scores, or 1."""
    logs = tuple(jnp.clip(x, -LOG_RATE_LIMIT, LOG_RATE_LIMIT) for x in (level + gap, level - gap))
    first, second = (count_log_likelihood(side, logs[side], observation) for side in (0, 1))
    if observation.dependence is None:
        return first + second, jnp.ones_like(first)
    goals = observation.goals[0][..., None], observation.goals[1][..., None]
    rates = [jnp.maximum(jnp.exp(x), 0.0) for x in logs]  # else XLA adds the logs of their product, and all before
    return first + second, low_score_factor(observation.dependence, goals, (rates[0], rates[1]))


def _shift_to_mode_and_spread(
    belief: LogRateBelief, observation: GoalObservation
) -> tuple[tuple[Array, Array], CovarianceRoot]:
    """Newton's steps to the likeliest gap and level, low scores uncorrected, and the root of their covariance."""
    goals, counts = zip(*(goals_and_match_counts(side, observation) for side in (0, 1)), strict=True)
    information = goals[0] + 0.5, goals[1] + 0.5
    pull = tuple(
        w * (jnp.log(w / n) - x)
        for w, n, x in zip(information, counts, (belief.level + belief.gap, belief.level - belief.gap), strict=True)
    )

    def take_step(measured: tuple[tuple[Array, ...], tuple[Array, ...]], _step: None) -> tuple[Any, None]:
        gap_change, level_change, _ = _condition_on_log_rates(belief, *measured)
        rates = rates_of_sides(belief.gap + gap_change, belief.level + level_change)
        information = counts[0] * rates[0], counts[1] * rates[1]
        changes = level_change + gap_change, level_change - gap_change
        pull = tuple(y - w + w * x for y, w, x in zip(goals, information, changes, strict=True))
        return (information, pull), None

    unroll = NEWTON_STEPS if has_launch_overhead() else 1  # a loop compiles in two thirds of the time
    measured, _ = lax.scan(take_step, (information, pull), length=NEWTON_STEPS, unroll=unroll)
    gap_change, level_change, spread = _condition_on_log_rates(belief, *measured)
    return (gap_change, level_change), root_of_covariance(belief._replace(**spread))


def _condition_on_log_rates(
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


def _gauss_hermite(gap_count: int, level_count: int) -> tuple[Any, Any, Any]:
    """Nodes of a standard normal law of two numbers, and their weights."""
    (u, first), (v, second) = (np.polynomial.hermite_e.hermegauss(n) for n in (gap_count, level_count))
    grids = np.meshgrid(u, v, indexing="ij")
    weight = np.outer(first / first.sum(), second / second.sum())
    return grids[0].ravel(), grids[1].ravel(), weight.ravel()


_NODES_OF_LIKELIHOOD = _gauss_hermite(NODES, NODES)


def _to_last_axis(values: Any, like: Array) -> Array:
    """[n] numbers behind the axes of an array."""
    return jnp.asarray(values, like.dtype).reshape((1,) * like.ndim + (-1,))


_GAP, _LEVEL, _ = _NODES_OF_LIKELIHOOD
_MOMENTS_OF_NODES = np.stack([_GAP, _LEVEL, _GAP * _GAP, _GAP * _LEVEL, _LEVEL * _LEVEL], axis=1)  # [n, 5]


GAP_NODES, LEVEL_NODES = 5, 3  # of the integral over rates: level changes results less than the gap
COUNTED_GOALS = 13  # of each side, from 0; where both score more, their difference is taken for normal


_NODES_OF_RESULTS = _gauss_hermite(GAP_NODES, LEVEL_NODES)


def rates_at_nodes(belief: LogRateBelief) -> tuple[Array, Array, Array]:
    """[..., n] rates of both sides, and their weights."""
    u, v, weight = (_to_last_axis(x, belief.gap) for x in _NODES_OF_RESULTS)
    width, slope, rest = root_of_covariance(belief)
    gap = belief.gap[..., None] + width[..., None] * u
    level = belief.level[..., None] + slope[..., None] * u + rest[..., None] * v
    return (*rates_of_sides(gap, level), weight)


def result_probabilities(belief: LogRateBelief, dependence: Any) -> tuple[Array, Array, Array]:
    """[...] the chances of win, draw and loss of the first side; they sum to 1."""
    first, second, weight = rates_at_nodes(belief)
    win, draw, loss = (jnp.clip(_mean(x, weight), 0.0, 1.0) for x in _results_at_rates(first, second, dependence))
    return win, draw, loss


def goal_score(model: ModelSettings, constants: Constants, two: PredictorMoments, event: Matches | Periods) -> Array:
    """[...] the expected score of the first side; a draw is half a win."""
    first, second, weight = rates_at_nodes(make_log_rate_belief(constants, two))
    win, _, loss = _results_at_rates(first, second, constants.params.low_score_dependence)
    return jnp.clip(0.5 + 0.5 * (_mean(win, weight) - _mean(loss, weight)), 0.0, 1.0)


def _mean(values: Array, weight: Array) -> Array:
    """[...] means of [..., n], as a product of matrices: XLA would compute values again for each of several."""
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


def goal_outcomes(
    model: ModelSettings, constants: Constants, two: PredictorMoments, event: Matches | Periods
) -> OutcomeProbabilities:
    """[..., 2] outcomes for both sides; match quality is the chance of a draw, relative to that of equals."""
    belief, dependence = make_log_rate_belief(constants, two), constants.params.low_score_dependence
    win, draw, loss = result_probabilities(belief, dependence)
    rate = jnp.exp(jnp.clip(belief.level, -4.0, 4.0))
    _, even, _ = _results_at_rates(rate, rate, dependence)
    both = jnp.stack([win, loss], axis=-1)
    draw, quality = (jnp.stack([x, x], axis=-1) for x in (draw, draw / even))
    return OutcomeProbabilities(both, draw, 2.0 - both - 0.5 * draw, quality)


def scoreline_probabilities(belief: LogRateBelief, dependence: Any, most_goals: int) -> Array:
    """[..., most_goals + 1, most_goals + 1] chances of goals of the first by those of the second; the rest is cut."""
    first, second, weight = rates_at_nodes(belief)
    number = jnp.arange(most_goals + 1, dtype=first.dtype).reshape((1,) * first.ndim + (-1,))
    one, two = (jnp.exp(number * jnp.log(x)[..., None] - x[..., None] - gammaln(number + 1.0)) for x in (first, second))
    table = one[..., :, None] * two[..., None, :]
    if dependence is not None:
        rates = first[..., None, None], second[..., None, None]
        goals = number[..., :, None], number[..., None, :]
        table = table * low_score_factor(dependence, goals, rates)
    return jnp.sum(weight[..., None, None] * table, axis=-3)
