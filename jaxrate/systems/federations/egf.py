"""The European Go Federation's rating since 2021, of matches and of tournaments as rating periods.

    r' = r + con (s - Se) + bonus,   con = ((3300 - r) / 200)^1.6,   bonus = ln(1 + exp((2300 - r) / 80)) / 5
    Se = 1 / (1 + exp(beta(r_j) - beta(r))),   beta(r) = -7 ln(3300 - r)

for each game (europeangodatabase.eu, "EGF rating system"). Who receives H stones counts as 100 (H - .5) points stronger
in beta alone. Ratings stay above -900, and have three decimals. A match of weight w counts w times: tournaments of
classes B, C and D had .75, .5 and .25.
"""

from typing import Annotated, Any

import jax
import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.hyperparameter_definitions import ANY, NOT_NEGATIVE, POSITIVE, RATING, Parameter
from jaxrate.core.pairwise import PairwiseRules, Terms
from jaxrate.core.system import RatingSystem, system_factory
from jaxrate.systems.federations.official_rules import (
    RatingState,
    init_ratings,
    read_column,
    require_columns,
    round_half_away,
)

CEILING = 3300.0  # points, of which no rating comes near
HIGHEST = 3299.0  # that beta takes


def predict(handicap: str | None, params: Any, first: RatingState, second: RatingState, event: Any) -> Array:
    stones = jnp.asarray(read_column(event, handicap, 0.0))
    points = jnp.where(stones == 0, 0.0, params.stone * (stones - 0.5 * jnp.sign(stones)))
    one = first.rating + jnp.maximum(points, 0.0)
    two = second.rating + jnp.maximum(-points, 0.0)
    beta = -params.slope * (jnp.log(CEILING - jnp.minimum(one, HIGHEST)) - jnp.log(CEILING - jnp.minimum(two, HIGHEST)))
    return jax.nn.sigmoid(beta)


def evidence(
    handicap: str | None, params: Any, first: RatingState, second: RatingState, event: Any
) -> tuple[Terms, Terms]:
    surprise = event.score - predict(handicap, params, first, second, event)
    game = jnp.ones_like(surprise)
    return (surprise, game), (-surprise, game)


def apply(rounding: bool, params: Any, rows: RatingState, total: Terms) -> RatingState:
    surprise, games = total
    con = params.speed * ((CEILING - jnp.minimum(rows.rating, HIGHEST)) / 200.0) ** 1.6
    bonus = params.bonus * jax.nn.softplus((2300.0 - rows.rating) / 80.0)
    rating = jnp.maximum(rows.rating + con * surprise + bonus * games, params.floor)
    return rows._replace(rating=round_half_away(rating, rounding, 3))


@system_factory
def egf(
    handicap: str | None = None,
    rounding: bool = True,
    *,
    speed: Annotated[float, Parameter(NOT_NEGATIVE, "1", "factor of con")] = 1.0,
    bonus: Annotated[float, Parameter(NOT_NEGATIVE, "points", "bonus, by what is above 2300 in 80 points")] = 0.2,
    slope: Annotated[float, Parameter(POSITIVE, "1", "slope of beta")] = 7.0,
    stone: Annotated[float, Parameter(NOT_NEGATIVE, "points", "worth of a stone of handicap")] = 100.0,
    floor: Annotated[float, Parameter(ANY, "points", "least rating", fitted=False)] = -900.0,
    initial_rating: Annotated[float, RATING] = 1000.0,
) -> RatingSystem:
    """The European Go Federation's rating, of matches and of rating periods.

        jr.rate(jr.federations.egf(handicap="stones"), data)

    Args:
      handicap: the name of the column of the stones that the first player receives, below 0 if the second does.
      rounding: whether ratings have three decimals, as the federation's.

    Raises:
      ValueError: for an unknown name, a value out of range, or matches without a column that is named.
    """
    rules = PairwiseRules(bind(predict, handicap), bind(evidence, handicap), bind(apply, rounding))
    return RatingSystem(init_ratings, rules, check_events=require_columns(handicap=handicap))
