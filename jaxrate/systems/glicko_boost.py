"""Glicko-Boost, of rating periods (Glickman 2010, "The Glicko-Boost rating system").

Glicko's update, g and E are those of `glicko.py`, with `side_advantage` for white, four times in a period:

    1., 2. from the beliefs before; first of the opponents before, and again of the opponents after the first
    3. z = sum g (s - E) / sqrt(sum g^2 E (1 - E)), of the opponents after the second; where z > k,
       RD <- (1 + b1 (z - k)) RD + b2
    4., 5. as 1. and 2., from the boosted deviations
    6. a period adds exp(a0 + a1 RD + a2 RD x + a3 x + a4 x^2) to the variance, with x = r / 1000

A deviation is at most `deviation_max`. The paper's printed example of a boosted player fits no reading of these steps.
"""

from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hyperparameter_definitions import (
    DEVIATION,
    NOT_NEGATIVE,
    PERIOD,
    POSITIVE,
    RATING,
    SIDE_ADVANTAGE,
    Parameter,
)
from jaxrate.core.mean_reversion import elapsed_time
from jaxrate.core.pairwise import Terms, rate_players, rows_before_games, signed_side_advantage, split_sides
from jaxrate.core.rules import Params, Rules, prepare_params
from jaxrate.core.system import RatingSystem, full_leaf, system_factory
from jaxrate.events import Periods
from jaxrate.systems.glicko import Q, attenuation, game_terms

GROWTH = 5.83733, -1.75374e-4, -7.080124e-5, 0.001733792, 2.6706e-4  # a0 to a4


class State(NamedTuple):
    rating: Array  # [num_players] points
    variance: Array  # [num_players] RD^2
    time: Array  # [num_players] end of the last event; inf before the first


def init(params: Params, num_players: int) -> State:
    values = params.initial_rating, params.initial_deviation**2, jnp.inf
    return State(*(full_leaf(num_players, x) for x in values))


def grow(params: Any, rows: State, duration: Array) -> State:
    """Step 6, for so long."""
    a0, a1, a2, a3, a4 = GROWTH
    deviation, x = jnp.sqrt(rows.variance), rows.rating / 1000.0
    growth = jnp.exp(a0 + a1 * deviation + a2 * deviation * x + a3 * x + a4 * x * x)
    variance = rows.variance + growth * duration / params.period
    return rows._replace(variance=jnp.minimum(variance, params.deviation_max**2))


def advance(params: Any, rows: State, time: Array) -> State:
    return grow(params, rows, elapsed_time(time, rows.time))


def predict(params: Any, rows: State, event: Any) -> Array:
    first, second = split_sides(rows_before_games(grow, params, rows, event), event)
    lead = first.rating - second.rating + signed_side_advantage(event, params.side_advantage)
    return jax.nn.sigmoid(attenuation(first.variance + second.variance) * (Q * lead))


def total_terms(params: Any, rows: State, opponents: State, event: Any) -> Terms:
    """[A] 1/d^2 and q sum g (s - E) of each player's games, who is as in `rows`, and the opponents as there."""
    lead = signed_side_advantage(event, params.side_advantage)
    (first, second), (first_opponent, second_opponent) = split_sides(rows, event), split_sides(opponents, event)
    one = game_terms(first, second_opponent, event.score, lead)
    return rate_players(
        lambda _, total: total, rows, event, one, game_terms(second, first_opponent, 1.0 - event.score, -lead)
    )


def learn(rows: State, total: Terms) -> State:
    """Glicko's RD' and r'."""
    variance = rows.variance / (1.0 + rows.variance * total[0])
    return rows._replace(rating=rows.rating + variance * total[1], variance=variance)


def learn_twice(params: Any, rows: State, event: Any) -> State:
    """The rows after steps 1 and 2."""
    once = learn(rows, total_terms(params, rows, rows, event))
    return learn(rows, total_terms(params, rows, once, event))


def update(params: Any, rows: State, event: Any) -> State:
    rows = rows_before_games(grow, params, rows, event)
    information, surprise = total_terms(params, rows, learn_twice(params, rows, event), event)
    played = information > 0
    excess = surprise * jax.lax.rsqrt(jnp.where(played, information, 1.0)) - params.boost_from
    boost = jnp.where(played & (excess > 0), params.boost_factor * excess, 0.0)
    deviation = (1.0 + boost) * jnp.sqrt(rows.variance) + jnp.where(boost > 0, params.boost, 0.0)
    rows = rows._replace(
        variance=jnp.where(boost > 0, jnp.minimum(deviation, params.deviation_max) ** 2, rows.variance)
    )
    return learn_twice(params, rows, event)._replace(time=jnp.full_like(rows.time, event.time + params.period))


@system_factory
def glicko_boost(
    *,
    boost_from: Annotated[
        float, Parameter(NOT_NEGATIVE, "deviations", "k, surprise above which a deviation is boosted")
    ] = 1.96,
    boost_factor: Annotated[
        float, Parameter(NOT_NEGATIVE, "1", "b1, growth of a deviation by the surprise above")
    ] = 0.20139,
    boost: Annotated[float, Parameter(NOT_NEGATIVE, "points", "b2, growth of a boosted deviation")] = 17.5,
    initial_rating: Annotated[float, RATING] = 1946.25,
    initial_deviation: Annotated[float, DEVIATION._replace(bounds=(None, "deviation_max"))] = 250.0,
    deviation_max: Annotated[float, Parameter(POSITIVE, "points", "largest deviation")] = 250.0,
    period: Annotated[float, PERIOD] = 30.0,
    side_advantage: Annotated[float, SIDE_ADVANTAGE] = 30.0,
) -> RatingSystem:
    """Glicko-Boost, of rating periods.

        jr.rate(jr.glicko_boost(), data, period=30)

    Raises:
      ValueError: for an unknown name, or a value out of range.
    """
    return RatingSystem(init, Rules(prepare_params, advance, predict, update), (Periods,))
