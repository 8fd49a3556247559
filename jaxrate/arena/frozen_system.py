"""A rating system with fixed strengths: no result changes its ratings.

    P(a beats b) and half of P(tie), by Bradley-Terry, Davidson or Rao-Kupper, of
    (r_a - r_b + side_advantage) ln(10) / scale

It predicts and is compared like any other system.
"""

import math
from typing import Annotated, Any, Literal, NamedTuple, cast

import jax.numpy as jnp
import numpy as np

from jaxrate.arena.newton import log_likelihood
from jaxrate.arena.strength_fit import MEAN_RATING, Strengths
from jaxrate.core.argument_checks import to_floats
from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import HashableArray, bind, hashable_array
from jaxrate.core.hyperparameter_definitions import POSITIVE, RATING, SIDE_ADVANTAGE, Parameter, collect_params
from jaxrate.core.pairwise_rules import signed_side_advantage, split_sides
from jaxrate.core.rules import Params, Rules, keep_rows, prepare_params
from jaxrate.core.system import RatingSystem, system_factory
from jaxrate.core.text_format import format_unquoted_name
from jaxrate.events import Matches, Periods, fail_where
from jaxrate.history.column_table import PrintedResult


class State(NamedTuple):
    rating: Array  # [num_players] points


def init(ratings: HashableArray, params: Params, num_players: int) -> State:
    """The fixed ratings; all other players have the initial rating."""
    known = jnp.asarray(np.asarray(ratings)[:num_players], dtype=jnp.result_type(float))
    rest = jnp.full(num_players - known.shape[0], params.initial_rating, dtype=known.dtype)
    return State(jnp.concatenate([known, rest]))


def predict(model: str, constants: Params, rows: State, event: Matches | Periods) -> Array:
    """Expected score of the first player."""
    first, second = split_sides(rows, event)
    difference = first.rating - second.rating + signed_side_advantage(event, constants.side_advantage)
    eta = difference * math.log(10.0) / constants.scale
    win, tie = (jnp.exp(log_likelihood(model, one, eta, jnp.log(constants.tie))) for one in ((1, 0, 0), (0, 1, 0)))
    return win if model == "bradley_terry" else win + 0.5 * tie


def update(_constants: Params, rows: State, _event: Matches | Periods) -> State:
    """Leave the players' rows as they are: fixed strengths learn nothing."""
    return rows


@system_factory
def freeze_strengths(
    ratings: Any,
    *,
    model: Literal["bradley_terry", "davidson", "rao_kupper"] = "bradley_terry",
    tie: Annotated[
        float, Parameter(POSITIVE, "1", "nu of Davidson, theta (from 1) of Rao and Kupper, of numbers")
    ] = 1.0,
    scale: Annotated[
        float, Parameter(POSITIVE, "points", "rating difference that means odds of 10 to 1", fitted=False)
    ] = 400.0,
    side_advantage: Annotated[float, SIDE_ADVANTAGE] = 0.0,
    initial_rating: Annotated[float, RATING._replace(meaning="rating of players beyond these")] = MEAN_RATING,
) -> RatingSystem:
    """A rating system with fixed ratings, for `compare`, `predict` and other functions of rating systems.

        strengths = jr.arena.fit_strengths(past)
        jr.run(jr.arena.freeze_strengths(strengths), future, num_players=len(strengths.players))

    Ids are those of the ratings: read later matches with `players=strengths.players`.

    Args:
      ratings: strengths from `fit_strengths`, with their model, ties and coefficient of "side"; or [n] numbers, by id.
      model: with numbers, "bradley_terry", "davidson" or "rao_kupper".

    Raises:
      ValueError: for a rating that is not finite, an unknown model, or a value out of range.
    """
    names = None
    if isinstance(ratings, Strengths):
        names, fitted = ratings.players, cast(Any, ratings.model)
        tie = tie if ratings.tie is None else ratings.tie
        side_advantage = ratings.coefficient.get("side", side_advantage)
        model = "bradley_terry" if fitted == "plackett_luce" else fitted
        ratings = ratings.rating
    if hasattr(ratings, "_fields") or isinstance(ratings, PrintedResult):
        raise ValueError(
            "freeze_strengths: ratings must be strengths, as of jr.arena.fit_strengths(data), or [n] numbers, got "
            f"one of type {type(ratings).__name__}"
        )
    values = to_floats("ratings", ratings)
    if values.ndim != 1:
        raise ValueError(f"ratings must be [n] numbers or strengths, got the shape {values.shape}")
    shown = np.arange(len(values)) if names is None else names
    message = "player {} has no finite rating; fit with a prior"
    fail_where(~np.isfinite(values), lambda row: message.format(format_unquoted_name(shown[row])))
    params, space = collect_params(freeze_strengths, locals())
    if model == "rao_kupper" and params.tie < 1:
        raise ValueError(f"freeze_strengths: tie must be >= 1 as theta of Rao and Kupper, got {tie!r}")
    fixed_ratings = hashable_array(values)
    rules = Rules(prepare_params, keep_rows, bind(predict, model), update)
    static = {"ratings": fixed_ratings, "model": model}
    return RatingSystem(bind(init, fixed_ratings), rules, name="frozen", params=params, space=space, settings=static)
