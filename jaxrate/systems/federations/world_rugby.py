"""World Rugby's points exchange, of matches (its rankings explained; Magill, "Ranking world rugby").

    gap = r - r_j, 3 more at home, within 10 to either side,   E = (1 + gap / 10) / 2
    r' = r + 2 w (s - E)

so that a win gains 1 - gap / 10 and a draw -gap / 10. w is 1.5 if the margin exceeds 15 points, and doubles at World
Cups. What one side gains, the other loses.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.hyperparameter_definitions import NOT_NEGATIVE, POSITIVE, RATING, SIDE_ADVANTAGE, Parameter
from jaxrate.core.pairwise import PairwiseRules, Terms, signed_side_advantage
from jaxrate.core.system import RatingSystem, system_factory
from jaxrate.systems.federations.official_rules import (
    RatingState,
    change_rating,
    init_ratings,
    parse_margin_columns,
    read_column,
    read_margin,
    require_columns,
)

LARGE_MARGIN = 15.0  # points


def predict(params: Any, first: RatingState, second: RatingState, event: Any) -> Array:
    gap = first.rating - second.rating + signed_side_advantage(event, params.side_advantage)
    return 0.5 + 0.5 * jnp.clip(gap / params.largest_gap, -1.0, 1.0)


def evidence(
    margin: tuple[str, ...], world_cup: str | None, params: Any, first: RatingState, second: RatingState, event: Any
) -> tuple[Terms, Terms]:
    size = jnp.where(read_margin(event, margin) > LARGE_MARGIN, params.large_margin_factor, 1.0)
    size = size * jnp.where(jnp.asarray(read_column(event, world_cup, 0.0)) > 0, 2.0, 1.0)
    change = params.k * size * (event.score - predict(params, first, second, event))
    return (change,), (-change,)


@system_factory
def world_rugby(
    margin: str | Sequence[str] = (),
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

    Raises:
      ValueError: for an unknown name, a value out of range, or matches without a column that is named.
    """
    names = parse_margin_columns(margin)
    check = require_columns(world_cup=world_cup, margin=names)
    rules = PairwiseRules(predict, bind(evidence, names, world_cup), change_rating)
    return RatingSystem(init_ratings, rules, check_events=check, settings={"margin": names})
