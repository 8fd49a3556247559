"""Category Glicko's model: hyperparameters, state, and what it expects before an event."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array
from jaxrate.core.rules import Params
from jaxrate.core.system import clip_optional, elapsed_time, elapsed_within_period, full_leaf, variance_bound
from jaxrate.events import Matches, Periods


class RatingModifierPair(NamedTuple):
    """Something of the rating, and of the modifiers."""

    rating: Any
    modifier: Any


class Constants(NamedTuple):
    params: Params
    growth: RatingModifierPair  # of variances, per unit of time
    low: RatingModifierPair  # bounds of the variances
    high: RatingModifierPair


class State(NamedTuple):
    rating: Array  # [num_players] zeta, points
    modifiers: Array  # [num_players, categories] eta, points, against each category
    variance: Array  # [num_players] of the rating, as of `time`
    modifier_variance: Array  # [num_players, categories]
    time: Array  # [num_players] end of the last event; inf before the first


def init(categories: int, params: Params, num_players: int) -> State:
    """A single category has no modifier: it is 0, and known to be."""
    shape, modifier = (num_players, categories), params.initial_modifier_deviation if categories > 1 else 0.0
    return State(
        full_leaf(num_players, params.initial_rating),
        full_leaf(shape, 0.0),
        full_leaf(num_players, params.initial_deviation**2),
        full_leaf(shape, modifier**2),
        full_leaf(num_players, jnp.inf),
    )


def prepare(categories: int, params: Params) -> Constants:
    several = categories > 1
    growth, low = params.growth**2 / params.period, variance_bound(params.deviation_min)
    high = RatingModifierPair(variance_bound(params.deviation_max), variance_bound(params.modifier_deviation_max))
    return Constants(
        params,
        RatingModifierPair(growth, growth if several else 0.0),
        RatingModifierPair(low, low if several else None),
        high,
    )


def advance(constants: Constants, rows: State, time: Array) -> State:
    """Every variance grows by t growth^2, up to its bound."""
    return _grow_variances(constants, rows, elapsed_time(time, rows.time))


def rows_before_games(growing_players: str, constants: Constants, rows: State, event: Matches | Periods) -> State:
    """The rows as the games of the event find them: the time within a rating period has passed if all grows."""
    return (
        rows
        if growing_players == "unplayed" or not isinstance(event, Periods)
        else advance_through_period(constants, rows, event)
    )


def advance_through_period(constants: Constants, rows: State, event: Periods) -> State:
    """The rows when the time within a rating period has passed."""
    passed = elapsed_within_period(event, constants.params.period, rows.time)
    grown = _grow_variances(constants, rows, passed)
    return jax.tree.map(
        lambda new, old: jnp.where(passed[(...,) + (None,) * (old.ndim - 1)] > 0, new, old), grown, rows
    )


def _grow_variances(constants: Constants, rows: State, duration: Array) -> State:
    """After some time in units of the clock."""
    growth, high = constants.growth, constants.high
    return rows._replace(
        variance=clip_optional(rows.variance + growth.rating * duration, None, high.rating),
        modifier_variance=clip_optional(
            rows.modifier_variance + growth.modifier * duration[..., None], None, high.modifier
        ),
    )


def strengths_against(rows: State, category: Array) -> tuple[Array, Array]:
    """The strengths [...] against opponents who play these categories [...], and their variances."""

    def pick(x: Array) -> Array:
        return jnp.take_along_axis(x, category[..., None], axis=-1, mode="clip")[..., 0]

    return rows.rating + pick(rows.modifiers), rows.variance + pick(rows.modifier_variance)


def split_into_single_category_pairs(event: Matches | Periods, categories: int) -> tuple[Periods, Array | None]:
    """The event as a period in which everybody plays one category.

    If players mix categories, a match is split into one of each pair of categories; the shares [M, categories^2].
    """
    if isinstance(event, Matches):
        context = jax.tree.map(lambda x: x[None], event.context)
        event = Periods(event.player, jnp.array([[0, 1]], jnp.int32), event.score[None], event.time, context)
    num_pairs, context = event.score.shape[0], event.context
    if context.category is None:
        return event._replace(context=context._replace(category=jnp.zeros((num_pairs, 2), jnp.int32))), None
    if jnp.issubdtype(context.category.dtype, jnp.integer):
        return event, None
    both = np.indices((categories, categories), np.int32).reshape(2, -1)
    share = context.category[:, 0, both[0]] * context.category[:, 1, both[1]]
    pair, score, context = jax.tree.map(
        lambda x: jnp.repeat(x, both.shape[1], axis=0), (event.pair, event.score, context._replace(category=None))
    )
    weight = None if context.weight is None else context.weight * share.ravel()
    context = context._replace(weight=weight, category=jnp.tile(both.T, (num_pairs, 1)))
    return event._replace(pair=pair, score=score, context=context), share
