"""FIFA's men's world ranking since 2018, of matches (FIFA, "Revision of the FIFA/Coca-Cola World Ranking").

    P' = P + I (W - We),   We = 1 / (1 + 10^(-dr / 600))

with the importance I of a match and W of 1, .5 or 0; after penalties .75 for the winner and .5 for the loser. In
knock-out rounds of final competitions nobody loses points. There is no home side. I is 5 for a friendly, 10 for one in
a window, 15 in the Nations League and 25 in its finals, 25 for a qualifier, 35 in continental finals and 40 from their
quarter-finals on, 50 at a World Cup and 60 from its quarter-finals on.
"""

from collections.abc import Callable
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.hyperparameter_definitions import NOT_NEGATIVE, POSITIVE, RATING, Parameter
from jaxrate.core.pairwise_rules import Terms
from jaxrate.core.system import RatingSystem
from jaxrate.systems.federations.games import Game, add_rating_changes, refuse_bad_rows
from jaxrate.systems.federations.official_rules import RatingState, official_factory, official_system
from jaxrate.systems.federations.score_curves import expected_by_logistic


def expected(params: Any, team: RatingState, opponent: RatingState, _match: Game) -> Array:
    return expected_by_logistic(team.rating - opponent.rating, params.scale)


def change(params: Any, team: RatingState, opponent: RatingState, match: Game) -> Terms:
    after_penalties = jnp.where(match.score > 0.5, 0.75, 0.5)
    score = jnp.where(match.column("penalties") > 0, after_penalties, match.score)
    points = match.column("importance", params.usual_importance) * (score - expected(params, team, opponent, match))
    return (jnp.where(match.column("knockout") > 0, jnp.maximum(points, 0.0), points),)


def check_winners(penalties: str | None, check_columns: Callable[[Any], None], events: Any) -> None:
    """ValueError unless matches have the columns, and scores say who won by penalties."""
    check_columns(events)
    if penalties is not None:
        matches = events.flat
        is_open = (np.asarray(matches.context.columns[penalties]) > 0) & (np.asarray(matches.score) == 0.5)
        refuse_bad_rows(is_open, f"column {penalties!r} says that penalties decided, and a score of 0.5 not for whom")


@official_factory
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
    """
    columns = {"importance": importance, "knockout": knockout, "penalties": penalties}
    system = official_system(RatingState, expected, bind(add_rating_changes, change), columns)
    return system._replace(check_events=bind(check_winners, penalties, system.check_events))
