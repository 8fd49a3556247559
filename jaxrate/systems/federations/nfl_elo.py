"""FiveThirtyEight's Elo of the NFL, with margins, of matches (github.com/fivethirtyeight/nfl-elo-game).

    D = r - r_j + side_advantage,   r' = r + K M (s - 1 / (1 + 10^(-D / 400)))
    M = ln(max(m, 1) + 1) 2.2 / (2.2 + .001 D_w),   2.2 ln 2 after a tie

with m the margin and D_w as D, of the winner. From season to season a rating keeps `season_keep`, two thirds, of what
it is above `reversion_mean`. Teams begin at 1300, but for the first ones.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.hyperparameter_definitions import ANY, NOT_NEGATIVE, RATING, SIDE_ADVANTAGE, Parameter
from jaxrate.core.mean_reversion import SEASON_KEEP
from jaxrate.core.pairwise import PairwiseRules, Terms, signed_side_advantage
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem, full_leaf, system_factory
from jaxrate.systems.federations.official_rules import change_rating, parse_margin_columns, read_margin, require_columns

REVERSION_MEAN = Parameter(ANY, "points", "rating to which seasons pull")
K = Parameter(NOT_NEGATIVE, "points", "how fast ratings move")


class State(NamedTuple):
    rating: Array  # [num_players] points
    time: Array  # [num_players] of the last match; inf before the first


def init(params: Params, num_players: int) -> State:
    return State(full_leaf(num_players, params.initial_rating), full_leaf(num_players, jnp.inf))


def lead(params: Any, first: State, second: State, event: Any) -> Array:
    return first.rating - second.rating + signed_side_advantage(event, params.side_advantage)


def predict(params: Any, first: State, second: State, event: Any) -> Array:
    return jax.nn.sigmoid(math.log(10.0) / 400.0 * lead(params, first, second, event))


def nfl_factor(margin: Array, winner_lead: Array) -> Array:
    decided = jnp.log(jnp.maximum(margin, 1.0) + 1.0) * (2.2 / (2.2 + 0.001 * winner_lead))
    return jnp.where(margin > 0, decided, 2.2 * math.log(2.0))


def evidence(
    names: tuple[str, ...], factor: Any, params: Any, first: State, second: State, event: Any
) -> tuple[Terms, Terms]:
    winner_lead = jnp.sign(event.score - 0.5) * lead(params, first, second, event)
    surprise = event.score - predict(params, first, second, event)
    change = params.k * factor(read_margin(event, names), winner_lead) * surprise
    return (change,), (-change,)


def make_system(factor: Any, margin: str | Sequence[str]) -> RatingSystem:
    names = parse_margin_columns(margin)
    rules = PairwiseRules(predict, bind(evidence, names, factor), change_rating)
    return RatingSystem(init, rules, check_events=require_columns(margin=names), settings={"margin": names})


@system_factory
def nfl_elo(
    margin: str | Sequence[str] = ("home_points", "away_points"),
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

    Raises:
      ValueError: for an unknown name, a value out of range, or matches without a column that is named.
    """
    return make_system(nfl_factor, margin)
