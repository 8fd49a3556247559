"""Stephenson's system, of matches and of rating periods (Stephenson and Sonas 2020, R package PlayerRatings, appendix).

Glicko with growth by games, a bonus for playing, and a pull towards the opponents. Before a period, t periods after the
player's last one, v <- min(v + c^2 t, v_max). After its n games, with g, q and E as of Glicko at the ratings before,

    1/d^2 = q^2 sum g^2 E (1 - E),   v' = 1 / (1 / (v + h^2 n) + 1/d^2)
    r' = r + q v' sum g (s - E + b / 100) + lambda / 100 (mean of the opponents - r)

White is ahead by `side_advantage` (gamma). The defaults are the package's.
"""

from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hyperparameter_definitions import (
    ANY,
    DEVIATION,
    NOT_NEGATIVE,
    PERIOD,
    POSITIVE,
    RATING,
    SIDE_ADVANTAGE,
    Parameter,
)
from jaxrate.core.pairwise import PairwiseRules, Terms, signed_side_advantage
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem, full_leaf, system_factory
from jaxrate.systems.glicko import Q, attenuation


class State(NamedTuple):
    rating: Array  # [num_players] points
    variance: Array  # [num_players] points^2
    time: Array  # [num_players] end of the last event; inf before the first


def init(params: Params, num_players: int) -> State:
    """Newcomers, after the growth of one period, as in the package."""
    variance = (params.initial_deviation**2 + params.c**2, params.deviation_max**2)
    values = params.initial_rating, jnp.minimum(*variance), jnp.inf
    return State(*(full_leaf(num_players, x) for x in values))


def age(params: Any, rows: State, duration: Array) -> State:
    grown = rows.variance + params.c**2 / params.period * duration
    return rows._replace(variance=jnp.minimum(grown, params.deviation_max**2))


def predict(params: Any, first: State, second: State, event: Any) -> Array:
    lead = first.rating - second.rating + signed_side_advantage(event, params.side_advantage)
    return jax.nn.sigmoid(attenuation(first.variance + second.variance) * (Q * lead))


def evidence(params: Any, first: State, second: State, event: Any) -> tuple[Terms, Terms]:
    lead = signed_side_advantage(event, params.side_advantage)
    one = _game_terms(params, first, second, event.score, lead)
    return one, _game_terms(params, second, first, 1.0 - event.score, -lead)


def _game_terms(params: Any, player: State, opponent: State, score: Array, lead: float | Array) -> Terms:
    """The terms of a game in 1/d^2 and in q sum g (s - E + b / 100), the game itself, and the opponent's rating."""
    g = attenuation(opponent.variance)
    e = jax.nn.sigmoid(g * (Q * (player.rating - opponent.rating + lead)))
    surprise = Q * g * (score - e + 0.01 * params.bonus)
    return Q**2 * (g * g * (e - e * e)), surprise, jnp.ones_like(score), opponent.rating


def apply(params: Any, rows: State, total: Terms) -> State:
    information, surprise, games, opponents = total
    grown = rows.variance + params.game_growth**2 * games
    variance = grown / (1.0 + grown * information)
    pull = jnp.where(games > 0, opponents / jnp.where(games > 0, games, 1.0) - rows.rating, 0.0)
    rating = rows.rating + variance * surprise + 0.01 * params.neighbourhood * pull
    return rows._replace(rating=rating, variance=variance)


@system_factory
def stephenson(
    *,
    c: Annotated[float, Parameter(NOT_NEGATIVE, "points per sqrt(period)", "growth of an idle deviation")] = 10.0,
    game_growth: Annotated[float, Parameter(NOT_NEGATIVE, "points per sqrt(game)", "h, growth by games")] = 10.0,
    bonus: Annotated[float, Parameter(ANY, "hundredths of a game", "b, what a game gains by being played")] = 0.0,
    neighbourhood: Annotated[float, Parameter(NOT_NEGATIVE, "percent", "lambda, pull towards the opponents")] = 2.0,
    initial_rating: Annotated[float, RATING] = 2200.0,
    initial_deviation: Annotated[float, DEVIATION._replace(bounds=(None, "deviation_max"))] = 300.0,
    deviation_max: Annotated[float, Parameter(POSITIVE, "points", "largest deviation")] = 350.0,
    period: Annotated[float, PERIOD] = 30.0,
    side_advantage: Annotated[float, SIDE_ADVANTAGE] = 0.0,
) -> RatingSystem:
    """Stephenson's system, of matches and of rating periods.

        jr.rate(jr.stephenson(side_advantage=30.0), data, period=30)

    Raises:
      ValueError: for an unknown name, or a value out of range.
    """
    return RatingSystem(init, PairwiseRules(predict, evidence, apply, age))
