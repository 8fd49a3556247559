"""The US Chess Federation's rating by hand, of tournaments as rating periods: its "Approximating Formulas".

With n games, S points, N earlier games and N' = min(N, 50 / sqrt(.662 + 7.39e-6 (2569 - R)^2)), 50 above 2355,

    R' = R + K (S - sum L) + max(0, K (S - sum L) - B sqrt(max(n, 4))),   K = 800 / (N' + n),   L Elo's expected score

the bonus for three games or more. Up to 8 earlier games it is

    R' = (N R + sum R_j + 400 (W - L)) / (N + n)

with W wins and L losses. Nothing is rated again against the results, and there are no floors.
"""

from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hyperparameter_definitions import NOT_NEGATIVE, POSITIVE, RATING, Parameter
from jaxrate.core.system import RatingSystem
from jaxrate.systems.federations.games import Games
from jaxrate.systems.federations.official_rules import official_factory, official_system
from jaxrate.systems.federations.score_curves import expected_by_elo


class State(NamedTuple):
    rating: Array  # [num_players] points
    games: Array  # [num_players]


def effective_games(rows: Any) -> Array:
    """[A] N'."""
    most = jnp.where(rows.rating > 2355.0, 50.0, 50.0 / jnp.sqrt(0.662 + 7.39e-6 * (2569.0 - rows.rating) ** 2))
    return jnp.minimum(rows.games, most)


def rate(params: Any, rows: State, games: Games) -> State:
    results = games.results(rows, rows)
    n, played = results.games, rows.games + results.games
    gain = params.speed / jnp.maximum(effective_games(rows) + n, 1e-6) * (results.score - results.expected)
    bonus = jnp.maximum(gain - params.bonus_threshold * jnp.sqrt(jnp.maximum(n, 4.0)), 0.0)
    standard = rows.rating + gain + jnp.where(n > 2.5, bonus, 0.0)
    points = rows.games * rows.rating + results.opponents + 400.0 * (2.0 * results.score - n)
    is_special = rows.games < 8.6  # up to 8, and no sum of halves
    return State(jnp.where(is_special, points / jnp.maximum(played, 1e-6), standard), played)


@official_factory
def uscf_approximate(
    *,
    speed: Annotated[float, Parameter(POSITIVE, "points", "K times the games that count")] = 800.0,
    bonus_threshold: Annotated[float, Parameter(NOT_NEGATIVE, "points", "B, gain above which a bonus begins")] = 10.0,
    initial_rating: Annotated[float, RATING] = 1300.0,
) -> RatingSystem:
    """The US Chess Federation's rating by formulas for the hand, of matches and of rating periods.

    jr.rate(jr.federations.uscf_approximate(), data, period=7)
    """
    return official_system(State, expected_by_elo, rate, {})
