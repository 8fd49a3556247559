"""What is believed of players after messages about their strengths."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array
from jaxrate.core.pairwise import rate_players, split_sides
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.numerics.special_functions import differentiable_quotient
from jaxrate.systems.skills.aging import add_to_diagonal, pad_common_skill_with_zeros
from jaxrate.systems.skills.match_strengths import MatchStrengths, covariance_with_strength, match_growth_variance
from jaxrate.systems.skills.outcome_likelihoods import Message
from jaxrate.systems.skills.settings_and_state import Constants, ModelSettings, State


def learn_from_messages(
    model: ModelSettings,
    constants: Constants,
    rows: State,
    event: Matches | Periods,
    meeting: MatchStrengths,
    messages: tuple[Message, ...],
) -> State:
    """The rows after their messages, as of `rows.time`.

    The messages of a period are made at the ratings before it, and add up: precisions x x^T I, and x V.
    """
    one = jnp.ones_like(event.score)
    if model.size == 1:
        first, second = ((*message, one) for message in messages)
        return rate_players(partial(_update_one_component_skill, model, constants), rows, event, first, second)
    weight = one if event.context.weight is None else event.context.weight
    loading: list[Any] = [meeting.first.picked, meeting.second.picked]
    a, b = messages
    weighted = [(weight * information, weight * surprise) for information, surprise in (a, b)]
    if isinstance(event, Matches):
        both = [
            _learn_match(model, constants, row, x, message, weight)
            for row, x, message in zip(split_sides(rows, event), loading, weighted, strict=True)
        ]
        return jax.tree.map(lambda *x: jnp.stack(x), *both)
    shape, dtype = event.player.shape[0], one.dtype
    total = [jnp.zeros((shape, *x), dtype) for x in ((model.size, model.size), (model.size,), ())]
    for side, x, (information, surprise) in zip((0, 1), loading, weighted, strict=True):
        scaled = information[:, None] * x
        terms = scaled[:, :, None] * x[:, None, :], surprise[:, None] * x, weight
        total = [sums.at[event.pair[:, side]].add(term) for sums, term in zip(total, terms, strict=True)]
    return learn_from_information(model, constants, rows, *total)


def learn_from_member_messages(
    model: ModelSettings, constants: Constants, rows: State, event: Rounds, loading: Any, message: Message, count: Array
) -> State:
    """The rows [P] of participants after what a contest says of x^T theta of each, as of `rows.time`.

    Who is in several teams has a message in each: they add up, as those of a rating period do.
    """
    information, surprise = message

    def total(terms: Array) -> Array:
        return terms if event.seat is None else jnp.zeros_like(terms).at[event.seat].add(terms)[event.seat]

    if model.size == 1:
        return _update_one_component_skill(model, constants, rows, (total(information), total(surprise), count))
    if event.seat is None:
        return _learn_match(model, constants, rows, loading, message, count)
    scaled = information[:, None] * loading
    matrix, vector = total(scaled[:, :, None] * loading[:, None, :]), total(surprise[:, None] * loading)
    return learn_from_information(model, constants, rows, matrix, vector, count)


def add_match_growth(model: ModelSettings, constants: Constants, rows: State, count: Array) -> State:
    """After `count` [...] matches, but for what they say."""
    covariance = rows.covariance
    added = match_growth_variance(constants, rows, count)
    if added is not None:
        covariance = add_to_diagonal(model, covariance, pad_common_skill_with_zeros(model, added))
    return rows._replace(covariance=covariance, games=None if rows.games is None else rows.games + count)


def _update_one_component_skill(
    model: ModelSettings, constants: Constants, rows: State, total: tuple[Array, ...]
) -> State:
    information, surprise, count = total
    rows = add_match_growth(model, constants, rows, count)
    variance = rows.covariance / (1.0 + rows.covariance * information)
    return rows._replace(mean=rows.mean + variance * surprise, covariance=variance)


def _learn_match(
    model: ModelSettings, constants: Constants, row: State, loading: Any, message: Message, weight: Array
) -> State:
    information, surprise = message
    row = add_match_growth(model, constants, row, weight)
    covariance, gain = condition_covariance_on_message(row.covariance, loading, information)
    return row._replace(mean=row.mean + gain * surprise[..., None], covariance=covariance)


def learn_from_information(
    model: ModelSettings, constants: Constants, rows: State, information: Array, surprise: Array, count: Array
) -> State:
    """The matrix of a player is split into D messages about one direction each, told one after the other."""
    rows = add_match_growth(model, constants, rows, count)
    covariance, least = rows.covariance, message_rounding_tolerance(model.size, information.dtype)
    rest, whole = information, jnp.diagonal(information, axis1=-2, axis2=-1)
    for i in range(model.size):
        pivot, column = rest[:, i, i], rest[:, :, i]
        some = pivot > least * whole[:, i]  # else it is what rounding left
        direction = jnp.where(some[:, None], differentiable_quotient(column, jnp.where(some, pivot, 1.0)[:, None]), 0.0)
        pivot = jnp.where(some, pivot, 0.0)
        rest = rest - pivot[:, None, None] * direction[:, :, None] * direction[:, None, :]
        covariance, _ = condition_covariance_on_message(covariance, direction, pivot)
    return rows._replace(mean=rows.mean + covariance_with_strength(covariance, surprise), covariance=covariance)


def condition_covariance_on_message(covariance: Array, loading: Array, information: Array) -> tuple[Array, Array]:
    """P after a message of precision I about x^T theta, and the gain P' x.

    P' = P - P x x^T P I / (1 + x^T P x I). Rounding errs by less than the part of the diagonal of P that is added, so
    P' stays positive definite.
    """
    size = loading.shape[-1]
    toward = covariance_with_strength(covariance, loading)
    variance = jnp.maximum(jnp.sum(loading * toward, axis=-1), 0.0)
    inverse = 1.0 / (1.0 + variance * information)
    slack = jnp.asarray(1.0 + message_rounding_tolerance(size, covariance.dtype) * np.eye(size), covariance.dtype)
    kept = covariance * jnp.broadcast_to(slack, covariance.shape)
    shrunk = kept - (information * inverse)[..., None, None] * (toward[..., None] * toward[..., None, :])
    return shrunk, toward * inverse[..., None]


def message_rounding_tolerance(size: int, dtype: Any) -> float:
    """The rounding of a message to a matrix of this size, in units of the deviations."""
    return 2.0 * size * float(np.finfo(dtype).eps)
