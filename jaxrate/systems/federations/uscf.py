"""The US Chess Federation's rating, of tournaments as rating periods, by its "Approximating Formulas".

With n games, S points, N earlier games and N' = min(N, 50 / sqrt(.662 + 7.39e-6 (2569 - R)^2)), 50 above 2355,

    R' = R + K (S - sum L) + max(0, K (S - sum L) - B sqrt(max(n, 4))),   K = 800 / (N' + n),   L Elo's expected score

the bonus only for three games or more. Up to 8 earlier games it is

    R' = (N R + sum R_j + 400 (W - L)) / (N + n)

with W wins and L losses. B was 14 in 2017, 12 from 2023 and 10 from 2025 on. The exact special formula, second rounds
against the results, the rule on opponents met more than twice, and floors are not here.
"""

import math
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.core.hyperparameter_definitions import NOT_NEGATIVE, POSITIVE, RATING, Parameter
from jaxrate.core.pairwise import PairwiseRules, Terms
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem, full_leaf, system_factory

PROVISIONAL = 8.6  # earlier games below which a rating is special: up to 8, and no sum of halves


class State(NamedTuple):
    rating: Array  # [num_players] points
    games: Array  # [num_players]


def init(params: Params, num_players: int) -> State:
    return State(full_leaf(num_players, params.initial_rating), full_leaf(num_players, 0.0))


def predict(_params: Any, first: State, second: State, _event: Any) -> Array:
    return jax.nn.sigmoid(math.log(10.0) / 400.0 * (first.rating - second.rating))


def evidence(params: Any, first: State, second: State, event: Any) -> tuple[Terms, Terms]:
    surprise, lead = event.score - predict(params, first, second, event), 2.0 * event.score - 1.0
    game = jnp.ones_like(event.score)
    return (surprise, second.rating, lead, game), (-surprise, first.rating, -lead, game)


def apply(params: Any, rows: State, total: Terms) -> State:
    surprise, opponents, lead, games = total
    most = jnp.where(rows.rating > 2355.0, 50.0, 50.0 * lax.rsqrt(0.662 + 7.39e-6 * (2569.0 - rows.rating) ** 2))
    change = params.speed / jnp.maximum(jnp.minimum(rows.games, most) + games, 1e-6) * surprise
    threshold = params.bonus_threshold * jnp.sqrt(jnp.maximum(games, 4.0))
    standard = rows.rating + change + jnp.where(games > 2.5, jnp.maximum(change - threshold, 0.0), 0.0)
    both = jnp.maximum(rows.games + games, 1e-6)
    special = (rows.games * rows.rating + opponents + 400.0 * lead) / both
    rating = jnp.where(rows.games > PROVISIONAL, standard, special)
    return State(jnp.where(games > 0, rating, rows.rating), rows.games + games)


@system_factory
def uscf(
    *,
    speed: Annotated[float, Parameter(POSITIVE, "points", "K times the games that count")] = 800.0,
    bonus_threshold: Annotated[float, Parameter(NOT_NEGATIVE, "points", "B, gain above which a bonus begins")] = 10.0,
    initial_rating: Annotated[float, RATING] = 1300.0,
) -> RatingSystem:
    """The US Chess Federation's rating, of matches and of rating periods.

        jr.rate(jr.federations.uscf(), data, period=7)

    Raises:
      ValueError: for an unknown name, or a value out of range.
    """
    return RatingSystem(init, PairwiseRules(predict, evidence, apply))
