"""Glicko-Boost, of rating periods (Glickman 2010, "The Glicko-Boost rating system").

Glicko's update, g and E are those of `glicko.py`, with `side_advantage` for white, four times in a period:

    1., 2. from the beliefs before; first of the opponents before, and again of the opponents after the first
    3. z = sum g (s - E) / sqrt(sum g^2 E (1 - E)), of the opponents after the second; where z > k,
       RD <- (1 + b1 (z - k)) RD + b2, from which 4. and 5. go on as 1. and 2.
    6. RD^2 grows by exp(5.83733 - 1.75374e-4 RD - 7.080124e-5 RD x + .001733792 x + 2.6706e-4 x^2), x = r / 1000

A deviation is at most `deviation_max`. The paper's printed example of a boosted player fits no reading of these steps.
"""

from typing import Annotated, Any

import jax.numpy as jnp

from jaxrate.core import hyperparameter_definitions as hyper
from jaxrate.core.array_types import Array
from jaxrate.core.hyperparameter_definitions import NOT_NEGATIVE, POSITIVE, Parameter
from jaxrate.core.pairwise_rules import PairwiseRules, Terms, signed_side_advantage, split_sides, sum_over_games
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem, system_factory
from jaxrate.events import Periods
from jaxrate.systems.glicko import Constants, State, apply, game_terms, init, predict


def prepare(params: Params) -> Constants:
    return Constants(params, growth=0.0, low=None, high=params.deviation_max**2)


def age(constants: Constants, rows: State, duration: Array) -> State:
    """Step 6, for so long."""
    deviation, x = jnp.sqrt(rows.variance), rows.rating / 1000.0
    growth = jnp.exp(5.83733 - (1.75374e-4 + 7.080124e-5 * x) * deviation + 0.001733792 * x + 2.6706e-4 * x * x)
    variance = rows.variance + growth * duration / constants.params.period
    return rows._replace(variance=jnp.minimum(variance, constants.high))


def total_terms(constants: Constants, rows: State, opponents: State, event: Any) -> Terms:
    """[A] 1/d^2 and q sum g (s - E) of each player's games, who is as in `rows`, and the opponents as there."""
    side = signed_side_advantage(event, constants.params.side_advantage)
    (first, second), (of_second, of_first) = split_sides(rows, event), split_sides(opponents, event)
    one = game_terms(first.rating - of_first.rating + side, of_first.variance, event.score)
    other = game_terms(second.rating - of_second.rating - side, of_second.variance, 1.0 - event.score)
    return sum_over_games(rows, event, one, other)


def learn_twice(constants: Constants, rows: State, event: Any) -> State:
    """The rows after steps 1 and 2."""
    once = apply(constants, rows, total_terms(constants, rows, rows, event))
    return apply(constants, rows, total_terms(constants, rows, once, event))


def update(constants: Constants, rows: State, event: Any) -> State:
    params = constants.params
    information, surprise = total_terms(constants, rows, learn_twice(constants, rows, event), event)
    excess = surprise / jnp.sqrt(jnp.where(information > 0, information, 1.0)) - params.boost_from
    deviation = (1.0 + params.boost_factor * excess) * jnp.sqrt(rows.variance) + params.boost
    boosted = jnp.where(excess > 0, jnp.minimum(deviation, params.deviation_max) ** 2, rows.variance)
    return learn_twice(constants, rows._replace(variance=boosted), event)


@system_factory
def glicko_boost(
    *,
    boost_from: Annotated[float, Parameter(NOT_NEGATIVE, "deviations", "k, surprise that boosts a deviation")] = 1.96,
    boost_factor: Annotated[float, Parameter(NOT_NEGATIVE, "1", "b1, growth by the surprise above")] = 0.20139,
    boost: Annotated[float, Parameter(NOT_NEGATIVE, "points", "b2, growth of a boosted deviation")] = 17.5,
    initial_rating: Annotated[float, hyper.RATING] = 1946.25,
    initial_deviation: Annotated[float, hyper.DEVIATION._replace(bounds=(None, "deviation_max"))] = 250.0,
    deviation_max: Annotated[float, Parameter(POSITIVE, "points", "largest deviation")] = 250.0,
    period: Annotated[float, hyper.PERIOD] = 30.0,
    side_advantage: Annotated[float, hyper.SIDE_ADVANTAGE] = 30.0,
) -> RatingSystem:
    """Glicko-Boost, of rating periods.

        jr.rate(jr.glicko_boost(), data, period=30)

    ValueError for an unknown name, or a value out of range.
    """
    return RatingSystem(init, PairwiseRules(predict, None, None, age, prepare, update=update), (Periods,))
