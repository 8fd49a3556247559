"""FIFA's men's world ranking since 2018, of matches (FIFA, "Revision of the FIFA/Coca-Cola World Ranking").

    P' = P + I (W - We),   We = 1 / (1 + 10^(-dr / 600))

with the importance I of a match and W of 1, .5 or 0; after penalties .75 for the winner and .5 for the loser. In
knock-out rounds of final competitions nobody loses points. There is no home side. I is 5 for a friendly, 10 for one in
a window, 15 in the Nations League and 25 in its finals, 25 for a qualifier, 35 in continental finals and 40 from their
quarter-finals on, 50 at a World Cup and 60 from its quarter-finals on.
"""

import math
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.hyperparameter_definitions import NOT_NEGATIVE, POSITIVE, RATING, Parameter
from jaxrate.core.pairwise import PairwiseRules, Terms
from jaxrate.core.system import RatingSystem, system_factory
from jaxrate.systems.federations.official_rules import (
    RatingState,
    change_rating,
    init_ratings,
    read_column,
    require_columns,
)


class Columns(NamedTuple):
    importance: str | None
    knockout: str | None
    penalties: str | None


def predict(params: Any, first: RatingState, second: RatingState, _event: Any) -> Array:
    return jax.nn.sigmoid(math.log(10.0) / params.scale * (first.rating - second.rating))


def evidence(columns: Columns, params: Any, first: RatingState, second: RatingState, event: Any) -> tuple[Terms, Terms]:
    importance = read_column(event, columns.importance, params.usual_importance)
    expected, won = predict(params, first, second, event), event.score > 0.5
    by_penalties = jnp.asarray(read_column(event, columns.penalties, 0.0)) > 0
    own, other = (jnp.where(by_penalties, jnp.where(x, 0.75, 0.5), score) for x, score in _sides(won, event.score))
    changes = importance * (own - expected), importance * (other - (1.0 - expected))
    is_safe = jnp.asarray(read_column(event, columns.knockout, 0.0)) > 0
    first_change, second_change = (jnp.where(is_safe, jnp.maximum(x, 0.0), x) for x in changes)
    return (first_change,), (second_change,)


def _sides(won: Array, score: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    return (won, score), (~won, 1.0 - score)


@system_factory
def fifa(
    importance: str | None = None,
    knockout: str | None = None,
    penalties: str | None = None,
    *,
    usual_importance: Annotated[float, Parameter(NOT_NEGATIVE, "points", "I where no column says it")] = 25.0,
    scale: Annotated[float, Parameter(POSITIVE, "points", "difference that means odds of 10 to 1")] = 600.0,
    initial_rating: Annotated[float, RATING] = 1000.0,
) -> RatingSystem:
    """FIFA's men's world ranking, of matches.

        jr.rate(jr.federations.fifa(importance="importance"), data)

    Args:
      importance: the name of the column of I.
      knockout: the name of the column that is 1 where nobody loses points.
      penalties: the name of the column that is 1 where penalties decided; the score then says who won them.

    Raises:
      ValueError: for an unknown name, a value out of range, or matches without a column that is named.
    """
    columns = Columns(importance, knockout, penalties)
    check = require_columns(**columns._asdict())
    return RatingSystem(
        init_ratings, PairwiseRules(predict, bind(evidence, columns), change_rating), check_events=check
    )
