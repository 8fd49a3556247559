"""Stephenson's system, of matches and of rating periods (Stephenson and Sonas 2020, R package PlayerRatings, appendix).

Glicko with growth by games, a bonus for playing, and a pull towards the opponents. Before a period, t periods after the
player's last one, v <- min(v + c^2 t, v_max). After its n games, with g, q and E as of Glicko at the ratings before,

    1/d^2 = q^2 sum g^2 E (1 - E),   v' = 1 / (1 / (v + h^2 n) + 1/d^2)
    r' = r + q v' sum g (s - E + b / 100) + lambda / 100 (mean of the opponents - r)

White is ahead by `side_advantage` (gamma). The defaults are the package's.
"""

from typing import Annotated, Any

import jax.numpy as jnp

from jaxrate.core import hyperparameter_definitions as hyper
from jaxrate.core.array_types import Array
from jaxrate.core.hyperparameter_definitions import ANY, NOT_NEGATIVE, POSITIVE, Parameter
from jaxrate.core.pairwise_rules import PairwiseRules, Terms, signed_side_advantage
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem, full_leaf, system_factory
from jaxrate.systems.glicko import Constants, Q, State, age, attenuation, game_terms, predict


def init(params: Params, num_players: int) -> State:
    """Newcomers, after the growth of one period, as in the package."""
    variance = (params.initial_deviation**2 + params.c**2, params.deviation_max**2)
    values = params.initial_rating, jnp.minimum(*variance), jnp.inf
    return State(*(full_leaf(num_players, x) for x in values))


def prepare(params: Params) -> Constants:
    return Constants(params, params.c**2 / params.period, None, params.deviation_max**2)


def evidence(constants: Constants, first: State, second: State, event: Any) -> tuple[Terms, Terms]:
    lead = first.rating - second.rating + signed_side_advantage(event, constants.params.side_advantage)
    one = _evidence_about(constants.params, second, event.score, lead)
    return one, _evidence_about(constants.params, first, 1.0 - event.score, -lead)


def _evidence_about(params: Any, opponent: State, score: Array, lead: Array) -> Terms:
    """The terms of a game in 1/d^2 and in q sum g (s - E + b / 100), the game itself, and the opponent's rating."""
    information, surprise = game_terms(lead, opponent.variance, score)
    bonus = Q * attenuation(opponent.variance) * (0.01 * params.bonus)
    return information, surprise + bonus, jnp.ones_like(score), opponent.rating


def apply(constants: Constants, rows: State, total: Terms) -> State:
    params, (information, surprise, games, opponents) = constants.params, total
    grown = rows.variance + params.game_growth**2 * games
    variance = grown / (1.0 + grown * information)
    pull = opponents / jnp.maximum(games, 1e-6) - rows.rating
    rating = rows.rating + variance * surprise + 0.01 * params.neighbourhood * pull
    return rows._replace(rating=rating, variance=variance)


@system_factory
def stephenson(
    *,
    c: Annotated[float, Parameter(NOT_NEGATIVE, "points per sqrt(period)", "growth of an idle deviation")] = 10.0,
    game_growth: Annotated[float, Parameter(NOT_NEGATIVE, "points per sqrt(game)", "h, growth by games")] = 10.0,
    bonus: Annotated[float, Parameter(ANY, "hundredths of a game", "b, what a game gains by being played")] = 0.0,
    neighbourhood: Annotated[float, Parameter(NOT_NEGATIVE, "percent", "lambda, pull towards the opponents")] = 2.0,
    initial_rating: Annotated[float, hyper.RATING] = 2200.0,
    initial_deviation: Annotated[float, hyper.DEVIATION._replace(bounds=(None, "deviation_max"))] = 300.0,
    deviation_max: Annotated[float, Parameter(POSITIVE, "points", "largest deviation")] = 350.0,
    period: Annotated[float, hyper.PERIOD] = 30.0,
    side_advantage: Annotated[float, hyper.SIDE_ADVANTAGE] = 0.0,
) -> RatingSystem:
    """Stephenson's system, of matches and of rating periods.

        jr.rate(jr.stephenson(side_advantage=30.0), data, period=30)

    Raises:
      ValueError: for an unknown name, or a value out of range.
    """
    return RatingSystem(init, PairwiseRules(predict, evidence, apply, age, prepare))
