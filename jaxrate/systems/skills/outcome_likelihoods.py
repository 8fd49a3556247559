"""Likelihoods of results, margins, statistics and points of two players, by the lead of the first.

A likelihood says of the lead d, of which the belief is N(lead, v), a precision I and a surprise V, I times how far its
mean is from the lead. Of the first player, whose opponent's strength has the variance s, that says I / (1 + I s) and
V / (1 + I s), and of the second the same with the other sign.

What was counted beside the result: measurements of d, each with a worth and a noise of its own.

A statistic z of worth c and noise n is c z = d + n e, whatever the result is, so several, and the result after them,
tell of d one after the other:

    log p(z) = log c - log(2 pi (v + n^2)) / 2 - (c z - d)^2 / (2 (v + n^2)),   d <- d + v (c z - d) / (v + n^2),
    v <- v n^2 / (v + n^2)

Points of both sides: beside the margin, how many there are together.

Teams have a pace o beside their strength s, by how much more both sides score in their matches, so an attack
(s + o) / 2 and a defence (s - o) / 2. With d by how much the first team should perform better, e the sum of both
paces, and u the rating points in a point of the score (`margin_scale`),

    u (points_1 - points_2) = d + noise,   u (points_1 + points_2 - 2 point_rate) = e + noise of deviation `total_noise`

so that the first scores point_rate + (its attack - the other's defence) / u, and half of what else speaks for it. Both
noises are independent, as those of both sides are where they are alike or rise and fall together. So strength and pace
stay independent, too: margins say what they say without totals, compressed or not, and totals are a Kalman filter of
paces alone.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import erfc, log_ndtr

from jaxrate.core.array_types import Array
from jaxrate.core.backend_dependent_operations import stack_pair
from jaxrate.events import Matches, Periods
from jaxrate.numerics.special_functions import log_normal_within, normal_tail, truncated_normal_moments
from jaxrate.systems.glicko import Q, attenuation, game_terms
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities
from jaxrate.systems.skills.belief_updates import Inference, Message, ScalarInference, ScalarMessage, symmetric_pair
from jaxrate.systems.skills.linear_predictors import PredictorMoments
from jaxrate.systems.skills.parts import PACE, Constants
from jaxrate.systems.skills.settings import ModelSettings, statistic_noise_name, statistic_scale_name

LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)


# Of the model, the constants, the lead of a match, its variance and the event
LeadLikelihood = Callable[[ModelSettings, Constants, Array, Array, Matches | Periods], ScalarInference]


class LeadAfterStatistics(NamedTuple):
    """The lead of a match, or of a participant over opponents, after statistics and before the result."""

    lead: Array  # [...]
    variance: Array  # [...]
    message: ScalarMessage  # what they say together
    log_density: Array  # [...] of the statistics, in their own units


def condition_lead_on_statistics(
    model: ModelSettings, constants: Constants, lead: Array, variance: Array, columns: Any, counts: Array | bool = True
) -> LeadAfterStatistics:
    """The belief about a lead after statistics in columns; what is missing, or does not count, changes nothing."""
    before, params = lead, constants.params
    precision = surprise = log_density = jnp.zeros_like(lead)
    for name in model.statistics:
        value = columns[name]
        mask = ~jnp.isnan(value) & counts
        scale, noise = getattr(params, statistic_scale_name(name)), getattr(params, statistic_noise_name(name)) ** 2
        value = scale * jnp.where(mask, value, 0.0)
        square = noise + variance
        off, inverse = value - lead, 1.0 / square
        density = jnp.log(scale * lax.rsqrt(square)) - 0.5 * (off * off * inverse) - LOG_ROOT_TWO_PI
        log_density = log_density + jnp.where(mask, density, 0.0)
        weight = jnp.where(mask, 1.0 / noise, 0.0)
        precision, surprise = precision + weight, surprise + weight * (value - before)
        lead = lead + jnp.where(mask, variance * inverse * off, 0.0)
        variance = jnp.where(mask, variance * noise * inverse, variance)
    return LeadAfterStatistics(lead, variance, ScalarMessage(precision, surprise), log_density)


def infer_strengths(
    likelihood: LeadLikelihood,
    model: ModelSettings,
    constants: Constants,
    two: PredictorMoments,
    event: Matches | Periods,
) -> Inference:
    """What statistics and result say of the strengths of both players; of margins log densities in their own units."""
    lead, variance = two.lead, two.variances[0] + two.variances[1]
    measured = condition_lead_on_statistics(model, constants, lead, variance, event.context.columns)
    result = likelihood(model, constants, measured.lead, measured.variance, event)
    message = result.message.after(measured.message, measured.lead - lead)
    message_of_each = split_message_between_players(two.variances, message)
    return Inference(message_of_each, lambda: measured.log_density + result.log_likelihood())


def split_message_between_players(variances: Array, message: ScalarMessage, sign: float = -1.0) -> Message:
    """The messages about one linear predictor of two players, from one about their difference; or their sum: sign 1."""
    first, second = (message.through(x) for x in (variances[1], variances[0]))
    return stack_messages(first, ScalarMessage(second.precision, sign * second.surprise))


def stack_messages(first: ScalarMessage, second: ScalarMessage) -> Message:
    """The messages about one linear predictor of both players."""
    each = (Message(precision[..., None, None], surprise[..., None]) for precision, surprise in (first, second))
    return jax.tree.map(stack_pair, *each)


def infer_from_logistic(
    model: ModelSettings, constants: Constants, two: PredictorMoments, event: Matches | Periods
) -> Inference:
    """What Glicko says of the strengths of both players, of which each is attenuated by the opponent alone."""
    first = ScalarMessage(*game_terms(two.lead, two.variances[1], event.score))
    second = ScalarMessage(*game_terms(-two.lead, two.variances[0], 1.0 - event.score))

    def log_likelihood() -> Array:
        lead = attenuation(two.variances[0] + two.variances[1]) * (Q * two.lead)
        return event.score * jax.nn.log_sigmoid(lead) + (1.0 - event.score) * jax.nn.log_sigmoid(-lead)

    return Inference(stack_messages(first, second), log_likelihood)


def logistic_expected_score(
    model: ModelSettings, constants: Constants, two: PredictorMoments, event: Matches | Periods
) -> Array:
    """[...] the expected score of the first player."""
    return jax.nn.sigmoid(attenuation(two.variances[0] + two.variances[1]) * (Q * two.lead))


def probit_expected_score(
    model: ModelSettings, constants: Constants, two: PredictorMoments, event: Matches | Periods
) -> Array:
    """[...] the expected score of the first player; a draw is half a win."""
    inverse = lax.rsqrt(constants.noise + two.variances[0] + two.variances[1])
    lead, margin = two.lead, constants.params.draw_margin
    if margin is None:
        return normal_cdf(lead * inverse)
    return 0.5 * (normal_cdf((lead - margin) * inverse) + normal_cdf((lead + margin) * inverse))


def probit_outcomes(
    model: ModelSettings, constants: Constants, two: PredictorMoments, event: Matches | Periods
) -> OutcomeProbabilities:
    """[..., 2] the chances of a difference beyond the draw margin, and within it; as TrueSkill's of two players."""
    inverse, margin = lax.rsqrt(constants.noise + two.variances[0] + two.variances[1]), constants.params.draw_margin
    ahead = jnp.stack([two.lead, -two.lead], axis=-1) * inverse[..., None]
    width = jnp.broadcast_to((margin * inverse)[..., None], ahead.shape)
    win, behind = normal_cdf(ahead - width), -jnp.abs(ahead)  # where the tails keep their digits
    draw = jnp.maximum(normal_cdf(behind + width) - normal_cdf(behind - width), 0.0)
    return make_outcomes_of_two(constants, two, win, draw)


def make_outcomes_of_two(constants: Constants, two: PredictorMoments, win: Array, draw: Array) -> OutcomeProbabilities:
    """[..., 2] the prediction in full, from the chances of win and draw of both players."""
    square = constants.noise + two.variances[0] + two.variances[1]
    ahead = jnp.stack([two.lead, -two.lead], axis=-1) * lax.rsqrt(square)[..., None]
    quality = jnp.sqrt(constants.noise / square)[..., None] * jnp.exp(-0.5 * ahead * ahead)
    return OutcomeProbabilities(win, draw, 2.0 - win - 0.5 * draw, quality)


def normal_cdf(z: Array) -> Array:
    """The standard normal cdf, Phi."""
    return 0.5 * erfc(-(0.5**0.5) * z)


def infer_from_win(
    model: ModelSettings, constants: Constants, lead: Array, variance: Array, event: Matches | Periods
) -> ScalarInference:
    """What results say, keeping mean and variance of the lead; without a draw margin a draw is half a win."""
    square, margin, score = constants.noise + variance, constants.params.draw_margin, event.score
    inverse = lax.rsqrt(square)
    push, lost, left = probit_update_terms(constants, lead * inverse, inverse, score)
    rest = constants.noise + variance * left  # square - variance lost, which would cancel
    message = ScalarMessage(lost / rest, push * (square * inverse) / rest)

    def log_likelihood() -> Array:
        ahead = lead * inverse
        if margin is None:
            return score * log_ndtr(ahead) + (1.0 - score) * log_ndtr(-ahead)
        width = margin * inverse
        decided = log_ndtr(jnp.where(score > 0.5, ahead, -ahead) - width)
        return jnp.where(score == 0.5, log_normal_within(ahead, width), decided)

    return ScalarInference(message, log_likelihood)


def probit_update_terms(
    constants: Constants, lead: Array, inverse_deviation: Array, score: Array
) -> tuple[Array, Array, Array]:
    """The change of the mean of a difference N(lead, 1), what its variance loses, and what is left of that."""
    margin = constants.params.draw_margin
    if margin is None:
        ahead = lead >= 0
        distance = jnp.where(ahead, lead, -lead)
        upset, _, upset_lost, upset_left, _ = normal_tail(distance)  # the other side follows from it
        density = jnp.exp(-0.5 * distance * distance) * (0.5 / np.pi) ** 0.5
        usual = density / (1.0 - density / upset)
        usual_lost = usual * (usual + distance)
        share = jnp.where(ahead, 1.0 - score, score)  # of an upset
        push = share * upset - (1.0 - share) * usual
        lost = share * upset_lost + (1.0 - share) * usual_lost
        left = share * upset_left + (1.0 - share) * (1.0 - usual_lost)
        return jnp.where(ahead, -push, push), lost, left
    sign = jnp.where(score < 0.5, -1.0, 1.0)
    push, lost, left, _ = truncated_normal_moments(sign * lead, margin * inverse_deviation, score == 0.5)
    return sign * push, lost, left


def margin_to_rating_points(constants: Constants, absolute_margins: Array) -> Array:
    """Margins of these sizes in rating points."""
    params: Any = constants.params
    if params.compression is not None:
        absolute_margins = params.compression * jnp.log1p(absolute_margins / params.compression)
    return params.margin_scale * absolute_margins


def log_margin_slope(constants: Constants, absolute_margins: Array) -> Array:
    """The log of how many rating points a unit of margins of these sizes is."""
    params: Any = constants.params
    slope = jnp.broadcast_to(jnp.log(params.margin_scale), absolute_margins.shape)
    return slope if params.compression is None else slope - jnp.log1p(absolute_margins / params.compression)


def infer_from_margin(
    model: ModelSettings, constants: Constants, lead: Array, variance: Array, event: Matches | Periods
) -> ScalarInference:
    """What margins say, which have the sign of the result; their log density is in their own units."""
    margins = [(event.context.columns or {})[name] for name in model.margin]
    sign, size = jnp.sign(event.score - 0.5), jnp.abs(margins[0] if len(margins) == 1 else margins[0] - margins[1])
    precision = jnp.broadcast_to(1.0 / constants.noise, lead.shape)
    message = ScalarMessage(precision, precision * (sign * margin_to_rating_points(constants, size) - lead))
    square = constants.noise + variance
    return ScalarInference(message, lambda: log_density_of_margin(constants, sign, size, lead, square))


def log_density_of_margin(constants: Constants, sign: Array, size: Array, lead: Array, square: Array) -> Array:
    """[...] of margins of these signs and sizes, about a lead of this variance; of sign 0, of less than half a unit."""
    inverse = lax.rsqrt(square)
    y = sign * margin_to_rating_points(constants, size)
    half = margin_to_rating_points(constants, jnp.full_like(size, 0.5))
    slope = log_margin_slope(constants, size) + jnp.log(inverse)  # of y, in deviations, by the margin
    density = slope - 0.5 * ((y - lead) * inverse) ** 2 - LOG_ROOT_TWO_PI
    return jnp.where(sign == 0.0, log_normal_within(lead * inverse, half * inverse), density)


def total_of_paces(two: PredictorMoments) -> tuple[Array, Array]:
    """[...] the mean and variance of the sum of both paces, in rating points."""
    paces, variances = two.mean[..., PACE], two.covariance[..., PACE, PACE]
    return paces[0] + paces[1], variances[0] + variances[1]


def total_in_rating_points(model: ModelSettings, constants: Constants, event: Matches | Periods) -> Array:
    """[...] the points of both sides beyond those of equals, in rating points."""
    first, second = ((event.context.columns or {})[name] for name in model.margin)
    return constants.params.margin_scale * (first + second - 2.0 * constants.params.point_rate)


def infer_from_points(
    model: ModelSettings, constants: Constants, two: PredictorMoments, event: Matches | Periods
) -> Inference:
    """What points say of strengths and paces: margins, with statistics, and totals, in their own units."""
    params, (total, variance) = constants.params, total_of_paces(two)
    strength, log_likelihood_of_margin = infer_strengths(infer_from_margin, model, constants, two, event)
    precision = jnp.broadcast_to(1.0 / params.total_noise**2, total.shape)
    off = total_in_rating_points(model, constants, event) - total
    pace = split_message_between_players(
        two.covariance[..., PACE, PACE], ScalarMessage(precision, precision * off), sign=1.0
    )
    own, of_pace = strength.precision[..., 0, 0], pace.precision[..., 0, 0]
    message = Message(
        symmetric_pair(own, jnp.zeros_like(own), of_pace),
        jnp.concatenate([strength.surprise, pace.surprise], axis=-1),
    )

    def log_likelihood() -> Array:
        square = params.total_noise**2 + variance
        density = jnp.log(params.margin_scale) - 0.5 * (off * off / square + jnp.log(square)) - LOG_ROOT_TWO_PI
        return log_likelihood_of_margin() + density

    return Inference(message, log_likelihood)
