"""The German DWZ, of tournaments as rating periods (schachbund.de, Wertungsordnung 3.3, 3.5 and appendix 1.2).

    R' = R + 800 (S - We) / (E + n),   We = sum Phi((R - R_j) / (200 sqrt 2))
    E = E0 fB + SBr, rounded,   E0 = (R / 1000)^4 + J

with J 5 to the age of 20, 10 to 25, else 15; fB = R / 2000 within .5 and 1 to the age of 20 if S >= We, else 1; and
SBr = exp((1300 - R) / 150) - 1 below 1300 if S < We, else 0. E is at least 5, and at most 30 and five times the number
of tournaments; with an SBr at most 150. Ratings are whole numbers. Who has none gets one by five games against rated
players in a tournament, if neither all nor none of the points: the R with We = S, at which it counts for the others.
Games are not kept from tournament to tournament, nor are first ratings calculated of games against each other.
"""

import math
from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.hyperparameter_definitions import NOT_NEGATIVE, POSITIVE, Parameter
from jaxrate.core.system import RatingSystem
from jaxrate.systems.federations.games import AgeColumns, Game, Games
from jaxrate.systems.federations.official_rules import INITIAL_RATING, UNRATED, official_factory, official_system
from jaxrate.systems.federations.score_curves import expected_by_normal, performance_ratings, round_half_away


class State(NamedTuple):
    rating: Array  # [num_players] points; 0: unrated
    index: Array  # [num_players] tournaments


def expected(_params: Any, player: State, opponent: State, _game: Game) -> Array:
    return expected_by_normal(player.rating - opponent.rating, 200.0 * math.sqrt(2.0))


def rate(rounding: bool, params: Any, rows: State, games: Games) -> State:
    opponents = rows
    if params.initial_rating is None:
        results = games.results(rows, rows)
        n, score = results.games, results.score
        is_first = (rows.rating == 0) & (n > 4.6) & (score > 0) & (score < n)
        first = round_half_away(performance_ratings(games, rows, rows, is_first), rounding)
        opponents = rows._replace(rating=jnp.where(is_first, first, rows.rating))
    results, r = games.results(rows, opponents), rows.rating
    age, surprise = results.age, results.score - results.expected
    inertia = jnp.where(age > 25.5, 3.0, jnp.where(age > 20.5, 2.0, 1.0)) * params.youth_inertia
    factor = jnp.where((age <= 20.5) & (surprise >= 0.0), jnp.clip(r / 2000.0, 0.5, 1.0), 1.0)
    brake = jnp.where((r < 1300.0) & (surprise < 0.0), jnp.expm1((1300.0 - jnp.minimum(r, 1300.0)) / 150.0), 0.0)
    development = round_half_away(((r / 1000.0) ** 4 + inertia) * factor + brake, rounding)
    most = jnp.where(brake > 0.0, 150.0, jnp.minimum(30.0, 5.0 * rows.index))
    change = params.speed * surprise / (jnp.clip(development, 5.0, most) + results.games)
    rating = jnp.where(r > 0, jnp.maximum(round_half_away(r + change, rounding), 1.0), opponents.rating)
    return State(rating, rows.index + ((r > 0) & (results.games > 0)).astype(r.dtype))


@official_factory
def dwz(
    ages: AgeColumns = (),
    rounding: bool = True,
    *,
    speed: Annotated[float, Parameter(NOT_NEGATIVE, "points", "change by a point of one game, times E + n")] = 800.0,
    youth_inertia: Annotated[
        float, Parameter(POSITIVE, "games", "J of the youngest; of others 2 and 3 times it")
    ] = 5.0,
    initial_rating: Annotated[float | None, INITIAL_RATING] = 1000.0,
    unrated: Annotated[float, UNRATED] = 1000.0,
) -> RatingSystem:
    """The German chess federation's DWZ, of matches and of rating periods.

        jr.rate(jr.federations.dwz(), data, period=30)

    Args:
      ages: the names of the two columns of the ages of a and b, year less year of birth. Without them all are adults.
      rounding: whether E and ratings are whole numbers, as the federation's.
    """
    return official_system(State, expected, bind(rate, rounding), {"ages": ages}, index=1.0)
