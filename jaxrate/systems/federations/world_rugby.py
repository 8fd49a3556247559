"""World Rugby's points exchange, of matches (its rankings explained; Magill, "Ranking world rugby").

    gap = r - r_j, 3 more at home, within 10 to either side,   E = (1 + gap / 10) / 2
    r' = r + 2 w (s - E)

so that a win gains 1 - gap / 10 and a draw -gap / 10. w is 1.5 if the margin exceeds 15 points, and doubles at World
Cups. What one side gains, the other loses.
"""

from typing import Annotated, Any

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.hyperparameter_definitions import NOT_NEGATIVE, POSITIVE, RATING, SIDE_ADVANTAGE, Parameter
from jaxrate.core.pairwise_rules import Terms
from jaxrate.core.system import RatingSystem
from jaxrate.systems.federations.games import Game, MarginColumns, add_rating_changes
from jaxrate.systems.federations.official_rules import RatingState, official_factory, official_system
from jaxrate.systems.federations.score_curves import expected_by_line

LARGE_MARGIN = 15.0  # points


def expected(params: Any, team: RatingState, opponent: RatingState, match: Game) -> Array:
    gap = team.rating - opponent.rating + params.side_advantage * match.side
    return expected_by_line(gap, 2.0 * params.largest_gap)


def change(params: Any, team: RatingState, opponent: RatingState, match: Game) -> Terms:
    size = jnp.where(match.margin > LARGE_MARGIN, params.large_margin_factor, 1.0)
    size = size * jnp.where(match.column("world_cup") > 0, 2.0, 1.0)
    return (params.k * size * (match.score - expected(params, team, opponent, match)),)


@official_factory
def world_rugby(
    margin: MarginColumns = (),
    world_cup: str | None = None,
    *,
    k: Annotated[float, Parameter(NOT_NEGATIVE, "points", "largest exchange, of an upset by a small margin")] = 2.0,
    large_margin_factor: Annotated[float, Parameter(POSITIVE, "1", "factor of an exchange by a large margin")] = 1.5,
    largest_gap: Annotated[float, Parameter(POSITIVE, "points", "larger gaps count as this", fitted=False)] = 10.0,
    initial_rating: Annotated[float, RATING] = 60.0,
    side_advantage: Annotated[float, SIDE_ADVANTAGE] = 3.0,
) -> RatingSystem:
    """World Rugby's rankings, of matches.

        jr.rate(jr.federations.world_rugby(margin=("home_points", "away_points")), data)

    Args:
      margin: the name of the column of the margin, or of two: the points of each side.
      world_cup: the name of the column that is 1 in the finals of a World Cup.
    """
    return official_system(
        RatingState, expected, bind(add_rating_changes, change), {"margin": margin, "world_cup": world_cup}
    )
