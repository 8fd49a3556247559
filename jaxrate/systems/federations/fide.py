"""FIDE's rating of chess, of months as rating periods (regulations of March 2024, with the change of October 2025).

    R' = R + K sum (s - PD(D)), rounded once a month

D is cut at 400 to either side, in standard chess only below 2650 (8.3.1). K is 40 below 30 games, and below 2300 to the
end of the year of the 18th birthday; 10 for good once a list had 2400; else 20; at most 700 / n, of n games (8.3.3).
Games against unrated players do not count. Who has five games against rated ones, in any months, gets the rating
Ra + dp(p) with two draws against 1800 added to the games, at most 2200; a first event without a point is dropped (8.2).
Below 1400 nobody has a rating. Where nobody has one nobody gets one: so newcomers have `initial_rating`, if not None.
"""

from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.hyperparameter_definitions import NOT_NEGATIVE, Parameter
from jaxrate.core.system import RatingSystem
from jaxrate.systems.federations.fide_tables import expected_by_fide_table, performance_rating
from jaxrate.systems.federations.games import AgeColumns, Game, Games
from jaxrate.systems.federations.official_rules import INITIAL_RATING, UNRATED, official_factory, official_system
from jaxrate.systems.federations.score_curves import round_half_away


class State(NamedTuple):
    rating: Array  # [num_players] points; 0: unrated
    games: Array  # [num_players] rated games
    reached: Array  # [num_players] 1 if a list had 2400
    pool: Array  # [num_players, 3] games against rated players, sum of their ratings, and points, of unrated players


def expected(rapid: bool, rounding: bool, _params: Any, player: State, opponent: State, _game: Game) -> Array:
    lead = player.rating - opponent.rating
    is_cut = (player.rating < 2650.0) | rapid
    return expected_by_fide_table(jnp.where(is_cut, jnp.clip(lead, -400.0, 400.0), lead), rounding)


def rate(rounding: bool, params: Any, rows: State, games: Games) -> State:
    results, is_rated = games.results(rows, rows), rows.rating > 0
    n = results.games
    is_new = (rows.games < 29.6) | ((results.age < 18.5) & (rows.rating < 2300.0))
    k = jnp.where(is_new, params.k_new, jnp.where(rows.reached > 0, params.k_master, params.k))
    k = jnp.where(k * n > 700.0, jnp.floor(700.0 / jnp.maximum(n, 1.0)), k)
    changed = rows.rating + round_half_away(k * (results.score - results.expected), rounding)
    is_dropped = (rows.pool[:, 0] == 0) & (results.score == 0)
    pool = rows.pool + jnp.where(is_dropped[:, None], 0.0, results.pool)
    first = jnp.minimum(performance_rating(pool, (2.0, 3600.0, 1.0), rounding), 2200.0)
    rating = jnp.where(is_rated, changed, jnp.where(pool[:, 0] > 4.6, first, 0.0))
    rating = jnp.where(rating >= 1400.0, rating, 0.0)
    waits = ~is_rated & (rating == 0)
    played = rows.games + jnp.where(is_rated, n, jnp.where(waits, 0.0, pool[:, 0]))
    reached = jnp.maximum(rows.reached, (rating >= 2400.0).astype(rating.dtype))
    return State(rating, played, reached, jnp.where(waits[:, None], pool, 0.0))


@official_factory
def fide(
    ages: AgeColumns = (),
    rapid: bool = False,
    rounding: bool = True,
    *,
    k: Annotated[float, Parameter(NOT_NEGATIVE, "points", "K of experienced players")] = 20.0,
    k_new: Annotated[float, Parameter(NOT_NEGATIVE, "points", "K of new and young players")] = 40.0,
    k_master: Annotated[float, Parameter(NOT_NEGATIVE, "points", "K of those whom a list had at 2400")] = 10.0,
    initial_rating: Annotated[float | None, INITIAL_RATING] = 1500.0,
    unrated: Annotated[float, UNRATED] = 1400.0,
) -> RatingSystem:
    """FIDE's rating, of matches and of months as rating periods.

        jr.rate(jr.federations.fide(), data, period=30)

    Args:
      ages: the names of the two columns of the ages of a and b, year less year of birth. Without them all are adults.
      rapid: whether differences are cut at 400 from 2650 on, too, as in rapid and blitz.
      rounding: whether PD and ratings are rounded, as the federation's.
    """
    rules = bind(expected, rapid, rounding), bind(rate, rounding)
    return official_system(State, *rules, {"ages": ages})
