"""What is believed of players after messages about their strengths."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.events import Array, Matches, Periods
from jaxrate.system import rate_players, sides
from jaxrate.systems.skills.model import Constants, Model, State
from jaxrate.systems.skills.observations import Message
from jaxrate.systems.skills.passing import common, widened
from jaxrate.systems.skills.strengths import Meeting, across, match_growth


def learn(
    model: Model, constants: Constants, rows: State, event: Matches | Periods, pair: Meeting, told: tuple[Message, ...]
) -> State:
    """The rows after their messages, as of `rows.time`.

    The messages of a period are made at the ratings before it, and add up: precisions x x^T I, and x V.
    """
    one = jnp.ones_like(event.score)
    if model.size == 1:
        first, second = ((*message, one) for message in told)
        return rate_players(partial(_of_one, model, constants), rows, event, first, second)
    weight = one if event.context.weight is None else event.context.weight
    picked: list[Any] = [pair.first.picked, pair.second.picked]
    a, b = told
    weighted = [(weight * information, weight * surprise) for information, surprise in (a, b)]
    if isinstance(event, Matches):
        both = [
            _of_match(model, constants, row, x, message, weight)
            for row, x, message in zip(sides(rows, event), picked, weighted, strict=True)
        ]
        return jax.tree.map(lambda *x: jnp.stack(x), *both)
    shape, dtype = event.player.shape[0], one.dtype
    total = [jnp.zeros((shape, *x), dtype) for x in ((model.size, model.size), (model.size,), ())]
    for side, x, (information, surprise) in zip((0, 1), picked, weighted, strict=True):
        scaled = information[:, None] * x
        terms = scaled[:, :, None] * x[:, None, :], surprise[:, None] * x, weight
        total = [sums.at[event.pair[:, side]].add(term) for sums, term in zip(total, terms, strict=True)]
    return _of_period(model, constants, rows, *total)


def _played(model: Model, constants: Constants, rows: State, count: Array) -> State:
    """After `count` [...] matches, but for what they say."""
    covariance = rows.covariance
    added = match_growth(constants, rows, count)
    if added is not None:
        covariance = widened(model, covariance, common(model, added))
    return rows._replace(covariance=covariance, games=None if rows.games is None else rows.games + count)


def _of_one(model: Model, constants: Constants, rows: State, total: tuple[Array, ...]) -> State:
    information, surprise, count = total
    rows = _played(model, constants, rows, count)
    variance = rows.covariance / (1.0 + rows.covariance * information)
    return rows._replace(mean=rows.mean + variance * surprise, covariance=variance)


def _of_match(model: Model, constants: Constants, row: State, picked: Any, message: Message, weight: Array) -> State:
    information, surprise = message
    row = _played(model, constants, row, weight)
    covariance, gain = _told(row.covariance, picked, information)
    return row._replace(mean=row.mean + gain * surprise[..., None], covariance=covariance)


def _of_period(
    model: Model, constants: Constants, rows: State, information: Array, surprise: Array, count: Array
) -> State:
    """The matrix of a player is split into D messages about one direction each, told one after the other."""
    rows = _played(model, constants, rows, count)
    covariance, least = rows.covariance, _rounding(model.size, information.dtype)
    rest, whole = information, jnp.diagonal(information, axis1=-2, axis2=-1)
    for i in range(model.size):
        pivot, column = rest[:, i, i], rest[:, :, i]
        some = pivot > least * whole[:, i]  # else it is what rounding left
        direction = jnp.where(some[:, None], column / jnp.where(some, pivot, 1.0)[:, None], 0.0)
        pivot = jnp.where(some, pivot, 0.0)
        rest = rest - pivot[:, None, None] * direction[:, :, None] * direction[:, None, :]
        covariance, _ = _told(covariance, direction, pivot)
    return rows._replace(mean=rows.mean + across(covariance, surprise), covariance=covariance)


def _told(covariance: Array, picked: Array, information: Array) -> tuple[Array, Array]:
    """P after a message of precision I about x^T theta, and the gain P' x.

    P' = P - P x x^T P I / (1 + x^T P x I). Rounding errs by less than the part of the diagonal of P that is added, so
    P' stays positive definite.
    """
    size = picked.shape[-1]
    toward = across(covariance, picked)
    variance = jnp.maximum(jnp.sum(picked * toward, axis=-1), 0.0)
    inverse = 1.0 / (1.0 + variance * information)
    slack = jnp.asarray(1.0 + _rounding(size, covariance.dtype) * np.eye(size), covariance.dtype)
    kept = covariance * jnp.broadcast_to(slack, covariance.shape)
    shrunk = kept - (information * inverse)[..., None, None] * (toward[..., None] * toward[..., None, :])
    return shrunk, toward * inverse[..., None]


def _rounding(size: int, dtype: Any) -> float:
    """By how much, in units of the deviations, a message to a matrix of this size may be off."""
    return 2.0 * size * float(np.finfo(dtype).eps)
