"""FiveThirtyEight's Elo of the NBA, with margins, of matches (their nba_elo.csv).

As that of the NFL in `nfl_elo.py`, but M = (m + 3)^.8 / (7.5 + .006 D_w), and a rating keeps three quarters.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.hyperparameter_definitions import RATING, SIDE_ADVANTAGE
from jaxrate.core.mean_reversion import SEASON_KEEP
from jaxrate.core.system import RatingSystem
from jaxrate.systems.federations.game_columns import MarginColumns
from jaxrate.systems.federations.games import add_changes
from jaxrate.systems.federations.nfl_elo import REVERSION_MEAN, K, State, change, expected
from jaxrate.systems.federations.official_rules import official_factory, official_system


def nba_factor(margin: Array, winner_lead: Array) -> Array:
    return (margin + 3.0) ** 0.8 / (7.5 + 0.006 * winner_lead)


@official_factory
def nba_elo(
    margin: MarginColumns = ("home_points", "away_points"),
    seasons: Sequence[Any] | Mapping[str, Any] | None = (),
    *,
    k: Annotated[float, K] = 20.0,
    initial_rating: Annotated[float, RATING] = 1300.0,
    side_advantage: Annotated[float, SIDE_ADVANTAGE] = 100.0,
    season_keep: Annotated[float | None, SEASON_KEEP] = None,
    reversion_mean: Annotated[float, REVERSION_MEAN] = 1505.0,
) -> RatingSystem:
    """FiveThirtyEight's Elo of the National Basketball Association, of matches; see `nfl_elo`.

    jr.rate(jr.federations.nba_elo(seasons=data.seasons, season_keep=3 / 4), data)
    """
    rate = bind(add_changes, bind(change, nba_factor))
    return official_system(State, expected, rate, {"margin": margin}, time=math.inf)
