"""Likelihoods of results of a difference of strengths, and of statistics.

What was counted beside the result: measurements of d, each with a worth and a noise of its own.

A statistic z of worth c and noise n is c z = d + n e, whatever the result is, so several, and the result after them,
tell of d one after the other. With v the variance of d:

    log p(z) = log c - log(2 pi (v + n^2)) / 2 - (c z - d)^2 / (2 (v + n^2)),   d <- d + v (c z - d) / (v + n^2),
    v <- v n^2 / (v + n^2)
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import erfc

from jaxrate.core.array_types import Array
from jaxrate.events import Matches, Periods
from jaxrate.numerics.special_functions import log_normal_within, normal_tail, truncated_normal_moments
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities
from jaxrate.systems.skills.match_strengths import MatchStrengths, StrengthBelief, extra_match_columns
from jaxrate.systems.skills.settings import (
    Constants,
    ModelSettings,
    statistic_noise_name,
    statistic_scale_name,
)


class MatchConditionedOnStatistics(NamedTuple):
    """A match after its statistics, and before its result."""

    known: MatchStrengths  # of which the first player has all of the variance of d
    precision: Array  # [...] of what they say of d together
    surprise: Array  # [...] that, times by how much they put d ahead of what it was
    log_density: Array  # [...] of the statistics, in their own units


def condition_match_on_statistics(
    model: ModelSettings, constants: Constants, match_strengths: MatchStrengths, event: Matches | Periods
) -> MatchConditionedOnStatistics:
    """The belief about the lead after the statistics of each match; a missing one changes nothing."""
    lead, variance = match_strengths.lead, match_strengths.first.variance + match_strengths.second.variance
    precision = surprise = log_density = jnp.zeros_like(lead)
    for name in model.statistics:
        value = extra_match_columns(event)[name]
        mask, params = ~jnp.isnan(value), constants.params
        scale, noise = getattr(params, statistic_scale_name(name)), getattr(params, statistic_noise_name(name)) ** 2
        value = scale * jnp.where(mask, value, 0.0)
        square = noise + variance
        off, inverse = value - lead, 1.0 / square
        density = jnp.log(scale * lax.rsqrt(square)) - 0.5 * (off * off * inverse) - 0.5 * math.log(2.0 * math.pi)
        log_density = log_density + jnp.where(mask, density, 0.0)
        weight = jnp.where(mask, 1.0 / noise, 0.0)
        precision, surprise = precision + weight, surprise + weight * (value - match_strengths.lead)
        lead = lead + jnp.where(mask, variance * inverse * off, 0.0)
        variance = jnp.where(mask, variance * noise * inverse, variance)
    measured_meeting = MatchStrengths(
        StrengthBelief(None, lead, variance), StrengthBelief(None, 0.0 * lead, 0.0 * variance), lead
    )
    return MatchConditionedOnStatistics(measured_meeting, precision, surprise, log_density)


def combine_statistics_with_result(meeting: MatchStrengths, measured: MatchConditionedOnStatistics, result: Any) -> Any:
    """The messages of statistics and result together to each player, from that of the result after the statistics."""
    precision, surprise = result
    surprise = measured.surprise + surprise + precision * (measured.known.lead - meeting.lead)
    precision = measured.precision + precision
    first, second = (1.0 / (1.0 + x.variance * precision) for x in (meeting.second, meeting.first))
    return (first * precision, first * surprise), (second * precision, -second * surprise)


Q = math.log(10.0) / 400.0
Message = tuple[Array, Array]  # the precision I, and V: I times by how much the mean of it is ahead of the prior's


def attenuation(variance: Array) -> Array:
    """Glicko's g."""
    return lax.rsqrt(1.0 + 3.0 * Q**2 / math.pi**2 * variance)


def expected_score(model: ModelSettings, constants: Constants, meeting: MatchStrengths) -> Array:
    """[...] of the first player; a draw is half a win."""
    variance = meeting.first.variance + meeting.second.variance
    if model.outcome == "logistic":
        return jax.nn.sigmoid(attenuation(variance) * (Q * meeting.lead))
    inverse, margin = lax.rsqrt(constants.noise + variance), constants.params.draw_margin
    if margin is None:
        return normal_cdf(meeting.lead * inverse)
    return 0.5 * (normal_cdf((meeting.lead - margin) * inverse) + normal_cdf((meeting.lead + margin) * inverse))


def outcome_probabilities(constants: Constants, meeting: MatchStrengths) -> OutcomeProbabilities:
    """[..., 2] the chances of a difference beyond the draw margin, and within it; as TrueSkill's of two players."""
    square = constants.noise + meeting.first.variance + meeting.second.variance
    inverse, margin = lax.rsqrt(square), constants.params.draw_margin
    ahead = jnp.stack([meeting.lead, -meeting.lead], axis=-1) * inverse[..., None]
    width = jnp.broadcast_to((margin * inverse)[..., None], ahead.shape)
    win, behind = normal_cdf(ahead - width), -jnp.abs(ahead)  # where the tails keep their digits
    draw = jnp.maximum(normal_cdf(behind + width) - normal_cdf(behind - width), 0.0)
    quality = jnp.sqrt(constants.noise / square)[..., None] * jnp.exp(-0.5 * ahead * ahead)
    return OutcomeProbabilities(win, draw, 2.0 - win - 0.5 * draw, quality)


def normal_cdf(z: Array) -> Array:
    """Phi."""
    return 0.5 * erfc(-(0.5**0.5) * z)


def game_messages(
    model: ModelSettings, constants: Constants, meeting: MatchStrengths, event: Matches | Periods
) -> tuple[Message, Message]:
    """The messages of each game about the strengths of its first and second player."""
    if model.statistics:
        measured = condition_match_on_statistics(model, constants, meeting, event)
        result, _ = game_messages(model._replace(statistics=()), constants, measured.known, event)
        return combine_statistics_with_result(meeting, measured, result)
    if model.outcome == "logistic":
        return (
            logistic_message(meeting.lead, meeting.second.variance, event.score),
            logistic_message(-meeting.lead, meeting.first.variance, 1.0 - event.score),
        )
    if model.learns_margin:
        surprise = signed_margin_points(model, constants, event) - meeting.lead
        first, second = (1.0 / (constants.noise + x.variance) for x in (meeting.second, meeting.first))
        return (first, first * surprise), (second, -second * surprise)
    square = constants.noise + meeting.first.variance + meeting.second.variance
    inverse = lax.rsqrt(square)
    push, lost, left = probit_update_terms(constants, meeting.lead * inverse, inverse, event.score)
    push = push * (square * inverse)

    def message(mine: Array, theirs: Array, sign: float) -> Message:
        rest = constants.noise + theirs + mine * left  # square - mine lost, which would cancel
        return lost / rest, sign * push / rest

    one, two = meeting.first.variance, meeting.second.variance
    return message(one, two, 1.0), message(two, one, -1.0)


def logistic_message(lead: Array, opponent_variance: Array, score: Array) -> Message:
    """Glicko's, of a game against an opponent of this variance."""
    g = attenuation(opponent_variance)
    e = jax.nn.sigmoid(g * (Q * lead))
    return Q**2 * (g * g * (e - e * e)), Q * (g * (score - e))


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


def signed_margin_points(model: ModelSettings, constants: Constants, event: Matches | Periods) -> Array:
    """[...] y, the margin of the first player in rating points, compressed."""
    return jnp.sign(event.score - 0.5) * margin_to_rating_points(constants, absolute_margin(model, event))


def absolute_margin(model: ModelSettings, event: Matches | Periods) -> Array:
    """[...] of the margin, in its own units."""
    margin_columns = [extra_match_columns(event)[name] for name in model.margin]
    return jnp.abs(margin_columns[0] if len(margin_columns) == 1 else margin_columns[0] - margin_columns[1])


def margin_to_rating_points(constants: Constants, absolute_margins: Array) -> Array:
    """Margins of these sizes in rating points."""
    params: Any = constants.params
    if params.compression is not None:
        absolute_margins = params.compression * jnp.log1p(absolute_margins / params.compression)
    return params.margin_scale * absolute_margins


def margin_negative_log_density(
    model: ModelSettings, constants: Constants, meeting: MatchStrengths, event: Matches | Periods
) -> Array:
    """[...] minus the logarithm of the density of the margin, in its own units; of a draw, of less than half a unit.

    A draw has a probability and not a density, which compression could raise without end at 0. Statistics have theirs,
    in their own units.
    """
    if model.statistics:
        measured = condition_match_on_statistics(model, constants, meeting, event)
        result = margin_negative_log_density(model._replace(statistics=()), constants, measured.known, event)
        return result - measured.log_density
    params: Any = constants.params
    size, drawn = absolute_margin(model, event), event.score == 0.5
    y, half = (
        signed_margin_points(model, constants, event),
        margin_to_rating_points(constants, jnp.full_like(size, 0.5)),
    )
    inverse = lax.rsqrt(constants.noise + meeting.first.variance + meeting.second.variance)
    slope = jnp.log(params.margin_scale * inverse)  # of y, in deviations, by the margin
    if params.compression is not None:
        slope = slope - jnp.log1p(size / params.compression)
    density = slope - 0.5 * ((y - meeting.lead) * inverse) ** 2 - 0.5 * math.log(2.0 * math.pi)
    return -jnp.where(drawn, log_normal_within(meeting.lead * inverse, half * inverse), density)
