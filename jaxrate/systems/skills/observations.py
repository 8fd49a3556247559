"""How likely results are, and what they say of the players."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import erfc, log_ndtr

from jaxrate.events import Array, Matches, Periods
from jaxrate.numerics import tail, truncated
from jaxrate.systems.outlook import Outlook
from jaxrate.systems.skills.model import Constants, Model
from jaxrate.systems.skills.statistics import combine_with_result, measure
from jaxrate.systems.skills.strengths import Meeting, columns

Q = math.log(10.0) / 400.0
OUTCOMES = "win", "logistic", "margin"
Message = tuple[Array, Array]  # the precision I, and V: I times by how much the mean of it is ahead of the prior's


def attenuation(variance: Array) -> Array:
    """Glicko's g."""
    return lax.rsqrt(1.0 + 3.0 * Q**2 / math.pi**2 * variance)


def expected_score(model: Model, constants: Constants, pair: Meeting) -> Array:
    """[...] of the first player; a draw is half a win."""
    variance = pair.first.variance + pair.second.variance
    if model.outcome == "logistic":
        return jax.nn.sigmoid(attenuation(variance) * (Q * pair.ahead))
    inverse, margin = lax.rsqrt(constants.noise + variance), constants.params.draw_margin
    if margin is None:
        return chance(pair.ahead * inverse)
    return 0.5 * (chance((pair.ahead - margin) * inverse) + chance((pair.ahead + margin) * inverse))


def in_full(constants: Constants, pair: Meeting) -> Outlook:
    """[..., 2] the chances of a difference beyond the draw margin, and within it; as TrueSkill's of two players."""
    square = constants.noise + pair.first.variance + pair.second.variance
    inverse, margin = lax.rsqrt(square), constants.params.draw_margin
    ahead = jnp.stack([pair.ahead, -pair.ahead], axis=-1) * inverse[..., None]
    width = jnp.broadcast_to((margin * inverse)[..., None], ahead.shape)
    win, behind = chance(ahead - width), -jnp.abs(ahead)  # where the tails keep their digits
    draw = jnp.maximum(chance(behind + width) - chance(behind - width), 0.0)
    quality = jnp.sqrt(constants.noise / square)[..., None] * jnp.exp(-0.5 * ahead * ahead)
    return Outlook(win, draw, 2.0 - win - 0.5 * draw, quality)


def chance(z: Array) -> Array:
    """Phi."""
    return 0.5 * erfc(-(0.5**0.5) * z)


def messages(model: Model, constants: Constants, pair: Meeting, event: Matches | Periods) -> tuple[Message, Message]:
    """What each game says of the strength of its first and of its second player."""
    if model.statistics:
        measured = measure(model, constants, pair, event)
        result, _ = messages(model._replace(statistics=()), constants, measured.known, event)
        return combine_with_result(pair, measured, result)
    if model.outcome == "logistic":
        return (
            logistic(pair.ahead, pair.second.variance, event.score),
            logistic(-pair.ahead, pair.first.variance, 1.0 - event.score),
        )
    if model.outcome == "margin":
        surprise = points(model, constants, event) - pair.ahead
        first, second = (1.0 / (constants.noise + x.variance) for x in (pair.second, pair.first))
        return (first, first * surprise), (second, -second * surprise)
    square = constants.noise + pair.first.variance + pair.second.variance
    inverse = lax.rsqrt(square)
    push, lost, left = probit(constants, pair.ahead * inverse, inverse, event.score)
    push = push * inverse

    def message(mine: Array, theirs: Array, sign: float) -> Message:
        kept = (constants.noise + theirs + mine * left) / square  # 1 - mine lost / square, which would cancel
        return lost / square / kept, sign * push / kept

    one, two = pair.first.variance, pair.second.variance
    return message(one, two, 1.0), message(two, one, -1.0)


def logistic(ahead: Array, variance: Array, score: Array) -> Message:
    """Glicko's, of a game against an opponent of this variance."""
    g = attenuation(variance)
    e = jax.nn.sigmoid(g * (Q * ahead))
    return Q**2 * (g * g * (e - e * e)), Q * (g * (score - e))


def probit(constants: Constants, lead: Array, inverse: Array, score: Array) -> tuple[Array, Array, Array]:
    """Of a difference N(lead, 1): the change of its mean, what its variance loses, and what is left of that."""
    margin = constants.params.draw_margin
    if margin is None:
        ahead = lead >= 0
        distance = jnp.where(ahead, lead, -lead)
        upset, _, upset_lost, upset_left, _ = tail(distance)  # the other side follows from it
        density = jnp.exp(-0.5 * distance * distance) * (0.5 / np.pi) ** 0.5
        usual = density / (1.0 - density / upset)
        usual_lost = usual * (usual + distance)
        share = jnp.where(ahead, 1.0 - score, score)  # of an upset
        push = share * upset - (1.0 - share) * usual
        lost = share * upset_lost + (1.0 - share) * usual_lost
        left = share * upset_left + (1.0 - share) * (1.0 - usual_lost)
        return jnp.where(ahead, -push, push), lost, left
    sign = jnp.where(score < 0.5, -1.0, 1.0)
    push, lost, left, _ = truncated(sign * lead, margin * inverse, score == 0.5)
    return sign * push, lost, left


def points(model: Model, constants: Constants, event: Matches | Periods) -> Array:
    """[...] y, the margin of the first player in rating points, compressed."""
    return jnp.sign(event.score - 0.5) * compressed(constants, size_of(model, event))


def size_of(model: Model, event: Matches | Periods) -> Array:
    """[...] of the margin, in its own units."""
    given = [columns(event)[name] for name in model.margin]
    return jnp.abs(given[0] if len(given) == 1 else given[0] - given[1])


def compressed(constants: Constants, size: Array) -> Array:
    """Margins of these sizes in rating points."""
    params: Any = constants.params
    if params.compression is not None:
        size = params.compression * jnp.log1p(size / params.compression)
    return params.margin_scale * size


def margin_loss(model: Model, constants: Constants, pair: Meeting, event: Matches | Periods) -> Array:
    """[...] minus the logarithm of the density of the margin, in its own units; of a draw, of less than half a unit.

    A draw has a probability and not a density, which compression could raise without end at 0. Statistics have theirs,
    in their own units.
    """
    if model.statistics:
        measured = measure(model, constants, pair, event)
        result = margin_loss(model._replace(statistics=()), constants, measured.known, event)
        return result - measured.log_density
    params: Any = constants.params
    size, drawn = size_of(model, event), event.score == 0.5
    y, half = points(model, constants, event), compressed(constants, jnp.full_like(size, 0.5))
    inverse = lax.rsqrt(constants.noise + pair.first.variance + pair.second.variance)
    slope = jnp.log(params.margin_scale * inverse)  # of y, in deviations, by the margin
    if params.compression is not None:
        slope = slope - jnp.log1p(size / params.compression)
    density = slope - 0.5 * ((y - pair.ahead) * inverse) ** 2 - 0.5 * math.log(2.0 * math.pi)
    behind, width = -jnp.abs(pair.ahead * inverse), half * inverse
    high, low = log_ndtr(behind + width), log_ndtr(behind - width)
    least = -float(np.finfo(high.dtype).eps)  # of an interval that rounding leaves nothing of
    return -jnp.where(drawn, high + jnp.log(-jnp.expm1(jnp.minimum(low - high, least))), density)
