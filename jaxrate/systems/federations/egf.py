"""The European Go Federation's rating since 2021, of matches and of tournaments as rating periods.

    r' = r + con (s - Se) + bonus,   con = ((3300 - r) / 200)^1.6,   bonus = ln(1 + exp((2300 - r) / 80)) / 5
    Se = 1 / (1 + exp(beta(r_j) - beta(r))),   beta(r) = -7 ln(3300 - r)

for each game (europeangodatabase.eu, "EGF rating system"). Who receives H stones counts as 100 (H - .5) points stronger
in beta alone. No game takes a rating below -900, and ratings have three decimals. A match of weight w counts w times:
tournaments of classes B, C and D had .75, .5 and .25.
"""

from typing import Annotated, Any

import jax
import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.hyperparameter_definitions import ANY, NOT_NEGATIVE, POSITIVE, RATING, Parameter
from jaxrate.core.pairwise_rules import Terms
from jaxrate.core.system import RatingSystem
from jaxrate.systems.federations.games import Game, Games
from jaxrate.systems.federations.official_rules import RatingState, official_factory, official_system
from jaxrate.systems.federations.score_curves import round_half_away

HIGHEST = 3299.0  # that beta takes, below 3300, of which no rating comes near


def distance(rating: Array) -> Array:
    """How far a rating is below 3300, at least 1."""
    return 3300.0 - jnp.minimum(rating, HIGHEST)


def expected(params: Any, player: RatingState, opponent: RatingState, game: Game) -> Array:
    received = game.column("handicap")  # stones, below 0 if the opponent receives them
    worth = jnp.where(received == 0, 0.0, params.stone * (received - 0.5 * jnp.sign(received)))
    own = distance(player.rating + jnp.maximum(worth, 0.0))
    other = distance(opponent.rating + jnp.maximum(-worth, 0.0))
    return jax.nn.sigmoid(-params.slope * (jnp.log(own) - jnp.log(other)))


def change(params: Any, player: RatingState, opponent: RatingState, game: Game) -> Terms:
    con = params.speed * (distance(player.rating) / 200.0) ** 1.6
    bonus = params.bonus * jax.nn.softplus((2300.0 - player.rating) / 80.0)
    points = con * (game.score - expected(params, player, opponent, game)) + bonus
    return (jnp.maximum(points, params.floor - player.rating),)


def rate(rounding: bool, params: Any, rows: RatingState, games: Games) -> RatingState:
    rating = jnp.maximum(rows.rating + games.total(change, rows, rows)[0], params.floor)
    return RatingState(round_half_away(rating, rounding, 3))


@official_factory
def egf(
    handicap: str | None = None,
    rounding: bool = True,
    *,
    speed: Annotated[float, Parameter(NOT_NEGATIVE, "1", "factor of con")] = 1.0,
    bonus: Annotated[float, Parameter(NOT_NEGATIVE, "points", "bonus, by what is above 2300 in 80 points")] = 0.2,
    slope: Annotated[float, Parameter(POSITIVE, "1", "slope of beta")] = 7.0,
    stone: Annotated[float, Parameter(NOT_NEGATIVE, "points", "worth of a stone of handicap")] = 100.0,
    floor: Annotated[float, Parameter(ANY, "points", "least rating", fitted=False)] = -900.0,
    initial_rating: Annotated[float, RATING] = 1000.0,
) -> RatingSystem:
    """The European Go Federation's rating, of matches and of rating periods.

        jr.rate(jr.federations.egf(handicap="stones"), data)

    Args:
      handicap: the name of the column of the stones that the first player receives, below 0 if the second does.
      rounding: whether ratings have three decimals, as the federation's.
    """
    return official_system(RatingState, expected, bind(rate, rounding), {"handicap": handicap})
