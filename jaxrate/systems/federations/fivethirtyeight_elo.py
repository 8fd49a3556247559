"""FiveThirtyEight's Elo of the NFL and the NBA, with margins, of matches (github.com/fivethirtyeight/nfl-elo-game).

    D = r - r_j + side_advantage,   r' = r + K M (s - 1 / (1 + 10^(-D / 400)))
    M = ln(max(m, 1) + 1) 2.2 / (2.2 + .001 D_w),   2.2 ln 2 after a tie

with m the margin and D_w as D, of the winner. From season to season a rating keeps `season_keep`, two thirds, of what
it is above `reversion_mean`. Teams begin at 1300, but for the first ones. In that of the NBA (their nba_elo.csv)
M = (m + 3)^.8 / (7.5 + .006 D_w), and a rating keeps three quarters.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.hyperparameter_definitions import ANY, NOT_NEGATIVE, RATING, SIDE_ADVANTAGE, Parameter
from jaxrate.core.mean_reversion import SEASON_KEEP
from jaxrate.core.pairwise_rules import Terms
from jaxrate.core.system import RatingSystem
from jaxrate.systems.federations.games import Game, MarginColumns, add_rating_changes
from jaxrate.systems.federations.official_rules import official_factory, official_system
from jaxrate.systems.federations.score_curves import expected_by_logistic

REVERSION_MEAN = Parameter(ANY, "points", "rating to which seasons pull")
K = Parameter(NOT_NEGATIVE, "points", "how fast ratings move")


class State(NamedTuple):
    rating: Array  # [num_players] points
    time: Array  # [num_players] of the last match; inf before the first


def lead(params: Any, team: State, opponent: State, match: Game) -> Array:
    return team.rating - opponent.rating + params.side_advantage * match.side


def expected(params: Any, team: State, opponent: State, match: Game) -> Array:
    return expected_by_logistic(lead(params, team, opponent, match))


def nfl_factor(margin: Array, winner_lead: Array) -> Array:
    decided = jnp.log(jnp.maximum(margin, 1.0) + 1.0) * (2.2 / (2.2 + 0.001 * winner_lead))
    return jnp.where(margin > 0, decided, 2.2 * math.log(2.0))


def nba_factor(margin: Array, winner_lead: Array) -> Array:
    return (margin + 3.0) ** 0.8 / (7.5 + 0.006 * winner_lead)


def change(factor: Any, params: Any, team: State, opponent: State, match: Game) -> Terms:
    winner_lead = jnp.sign(match.score - 0.5) * lead(params, team, opponent, match)
    surprise = match.score - expected(params, team, opponent, match)
    return (params.k * factor(match.margin, winner_lead) * surprise,)


@official_factory
def nfl_elo(
    margin: MarginColumns = ("home_points", "away_points"),
    seasons: Sequence[Any] | Mapping[str, Any] | None = (),
    *,
    k: Annotated[float, K] = 20.0,
    initial_rating: Annotated[float, RATING] = 1300.0,
    side_advantage: Annotated[float, SIDE_ADVANTAGE] = 65.0,
    season_keep: Annotated[float | None, SEASON_KEEP] = None,
    reversion_mean: Annotated[float, REVERSION_MEAN] = 1505.0,
) -> RatingSystem:
    """FiveThirtyEight's Elo of the National Football League, of matches.

        jr.rate(jr.federations.nfl_elo(seasons=data.seasons, season_keep=2 / 3), data)

    Args:
      margin: the name of the column of the margin, or of two: the points of each side.
      seasons: the time at which each begins, increasing; numbers, or dates. Or the `seasons` of a dataset.
    """
    rate = bind(add_rating_changes, bind(change, nfl_factor))
    return official_system(State, expected, rate, {"margin": margin}, time=math.inf)


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
    rate = bind(add_rating_changes, bind(change, nba_factor))
    return official_system(State, expected, rate, {"margin": margin}, time=math.inf)
