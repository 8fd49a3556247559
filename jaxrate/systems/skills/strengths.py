"""What players bring to a match."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxrate.events import Array, Matches, Periods
from jaxrate.system import advantage, sides
from jaxrate.systems.skills.model import Constants, Model, State


class Strength(NamedTuple):
    """x^T theta of a player."""

    picked: Array | None  # [..., D] x; None if D = 1
    mean: Array  # [...]
    variance: Array  # [...]


class Meeting(NamedTuple):
    """Two players before a match."""

    first: Strength
    second: Strength
    ahead: Array  # [...] d, by how much the first should perform better


def meeting(model: Model, constants: Constants, rows: State, event: Matches | Periods, extra: Any) -> Meeting:
    """The two sides of each match; `extra` is what it adds to the variance of either common skill, or None."""
    one, two = sides(rows, event)
    met = picks(model, event)
    first, second = (strength(x, row, extra) for x, row in zip(met, (one, two), strict=True))
    games = None if one.games is None else (one.games, two.games)
    return Meeting(first, second, ahead(model, constants, first.mean - second.mean, games, event))


def ahead(
    model: Model, constants: Constants, lead: Array, games: tuple[Array, Array] | None, event: Matches | Periods
) -> Array:
    """[...] d, from the difference of x^T theta and the matches that both have played; None: these do not count."""
    params = constants.params
    if event.context.side is not None:
        lead = lead + advantage(event, params.side_advantage)
    for name in model.covariates:
        lead = lead + getattr(params, name) * columns(event)[name]
    if games is not None:
        lead = lead + params.experience * (jnp.log1p(games[0]) - jnp.log1p(games[1]))
    return lead


def columns(event: Matches | Periods) -> dict[str, Array]:
    """The further columns of the matches, which `check` found there."""
    found: Any = event.context.columns
    return found


def picks(model: Model, event: Matches | Periods) -> tuple[Array | None, Array | None]:
    """x of both players [..., D]: the common skill, the category that they meet, and the side on which they are."""
    if model.size == 1:
        return None, None
    context: Any = event.context
    one = jnp.ones_like(event.score)[..., None]
    first, second = [one], [one]
    if model.modifiers:
        share = context.category
        if jnp.issubdtype(share.dtype, jnp.integer):
            share = jax.nn.one_hot(share, model.categories, dtype=one.dtype)
        first.append(share[..., 1, :])
        second.append(share[..., 0, :])
    if model.own_side:
        first.append(context.side[..., None])
        second.append(-context.side[..., None])
    return jnp.concatenate(first, axis=-1), jnp.concatenate(second, axis=-1)


def strength(picked: Array | None, row: State, extra: Any) -> Strength:
    """Of rows [...] that bring x."""
    mean, variance = row.mean, row.covariance
    if picked is not None:
        mean = jnp.sum(picked * mean, axis=-1)
        variance = jnp.maximum(jnp.sum(picked * across(variance, picked), axis=-1), 0.0)
    return Strength(picked, mean, variance if extra is None else variance + extra)


def across(covariance: Array, picked: Array) -> Array:
    """P x [..., D], the covariance of a player's parts with x^T theta."""
    return jnp.sum(covariance * picked[..., None, :], axis=-1)
