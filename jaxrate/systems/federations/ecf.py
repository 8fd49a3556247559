"""The English Chess Federation's rating since 2020, of months as rating periods (ecfrating.org.uk, help on rating).

The K method is R' = R + K sum (s - PD(D)), rounded once a month, with FIDE's PD of D that is cut at 400, and K 20, 40
for juniors. Below ten games a rating is partial, and by the P method: FIDE's Ra + dp(p) of all games and of a draw with
`nominal_rating`, or with 100 times the player's age if that is less. That is calculated twice, the second time with the
ratings that the first gave to others; the K method follows, with those of the second, and halves changes by opponents
whose rating is partial. The federation does not publish the cut, how numbers are rounded, and who is a junior: here who
is below 18. The rating of the draw is that of a notice of the Yorkshire Chess Association, of April 2023.
"""

from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.hyperparameter_definitions import ANY, NOT_NEGATIVE, Parameter
from jaxrate.core.pairwise_rules import Terms
from jaxrate.core.system import RatingSystem
from jaxrate.systems.federations.fide_tables import expected_by_fide_table, performance_rating
from jaxrate.systems.federations.games import ADULT, AgeColumns, Game, Games
from jaxrate.systems.federations.official_rules import INITIAL_RATING, UNRATED, official_factory, official_system
from jaxrate.systems.federations.score_curves import round_half_away

FULL = 9.6  # games above which a rating is full: 10, but for rounding


class State(NamedTuple):
    rating: Array  # [num_players] points; 0: unrated
    games: Array  # [num_players] of the P method
    pool: Array  # [num_players, 3] games against rated players, sum of their ratings, and points, of the P method


def expected(rounding: bool, _params: Any, player: State, opponent: State, _game: Game) -> Array:
    return expected_by_fide_table(jnp.clip(player.rating - opponent.rating, -400.0, 400.0), rounding)


def change(rounding: bool, params: Any, player: State, opponent: State, game: Game) -> Terms:
    """The change by the K method."""
    k = jnp.where(game.column("ages", ADULT) < 18, params.k_junior, params.k)
    share = jnp.where(opponent.rating == 0, 0.0, jnp.where(opponent.games < FULL, 0.5, 1.0))
    return (share * k * (game.score - expected(rounding, params, player, opponent, game)),)


def rate(rounding: bool, params: Any, rows: State, games: Games) -> State:
    is_full, after = rows.games > FULL, rows
    for _ in range(2 if params.initial_rating is None else 0):  # the P method
        results = games.results(rows, after)
        pool = rows.pool + jnp.where(is_full[:, None], 0.0, results.pool)
        nominal = jnp.minimum(100.0 * results.age, params.nominal_rating)
        performance = jnp.where(pool[:, 0] > 0, performance_rating(pool, (1.0, nominal, 0.5), rounding), 0.0)
        after = State(jnp.where(is_full, rows.rating, performance), jnp.maximum(rows.games, pool[:, 0]), pool)
    changed = rows.rating + round_half_away(games.total(bind(change, rounding), rows, after)[0], rounding)
    return after._replace(rating=jnp.where(is_full, changed, after.rating))


@official_factory
def ecf(
    ages: AgeColumns = (),
    rounding: bool = True,
    *,
    k: Annotated[float, Parameter(NOT_NEGATIVE, "points", "K of adults")] = 20.0,
    k_junior: Annotated[float, Parameter(NOT_NEGATIVE, "points", "K of juniors")] = 40.0,
    initial_rating: Annotated[float | None, INITIAL_RATING] = 1500.0,
    nominal_rating: Annotated[float, Parameter(ANY, "points", "whom newcomers draw with in the P method")] = 1800.0,
    unrated: Annotated[float, UNRATED] = 1400.0,
) -> RatingSystem:
    """The English Chess Federation's rating, of matches and of rating periods.

        jr.rate(jr.federations.ecf(), data, period=30)

    Args:
      ages: the names of the two columns of the ages of a and b. Juniors are below 18; without them all are adults.
      rounding: whether PD and ratings are rounded, as the federation's.
    """
    rules = bind(expected, rounding), bind(rate, rounding)
    return official_system(State, *rules, {"ages": ages}, games=0.0 if initial_rating is None else 10.0)
