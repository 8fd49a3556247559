"""The US Chess Federation's rating, of tournaments as rating periods (Glickman and Doan, "The US Chess Rating system").

    N' = min(N, 50 / sqrt(.662 + 7.39e-6 (2569 - R)^2)), 50 above 2355,   K = 800 / (N' + n)
    R' = R + K (S - sum L) + max(0, K (S - sum L) - B sqrt(max(n, 4)))

by n games, S points, N earlier games and L, Elo's expected score; the bonus is for three games or more, if nobody was
met more than twice. Up to N = 8, or if all were won or all lost, R' is what the results and N' such games are worth by
P(d) = .5 + d / 800 within 0 and 1, at most 2700. Unrated players begin at 50 times their age, 100 to `initial_rating`,
and with N' = 1 get estimates; all are rated against these, and again against the results. Nobody falls below
100 + 4 for a win, 2 for a draw and 1 for three games in an event, at most 150; nor, with more than 25 games, below the
hundred that is 200 under their peak, from 1200 to 2100. B was 14 in 2017, 12 from 2023 and 10 from 2025 on.

By hand (its "Approximating Formulas") R' is as above, the bonus for three games or more, and up to 8 earlier games

    R' = (N R + sum R_j + 400 (W - L)) / (N + n)

with W wins and L losses. Nothing is rated again against the results, and there are no floors.
"""

from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_values import bind
from jaxrate.core.hyperparameter_definitions import NOT_NEGATIVE, POSITIVE, RATING, Parameter
from jaxrate.core.system import RatingSystem
from jaxrate.systems.federations.games import AgeColumns, Game, Games
from jaxrate.systems.federations.official_rules import official_factory, official_system
from jaxrate.systems.federations.score_curves import expected_by_elo, expected_by_line, performance_ratings

SPEED = Parameter(POSITIVE, "points", "K times the games that count")
BONUS_THRESHOLD = Parameter(NOT_NEGATIVE, "points", "B, gain above which a bonus begins")


class State(NamedTuple):
    rating: Array  # [num_players] points
    games: Array  # [num_players]
    score: Array  # [num_players] points of all games
    floor: Array  # [num_players] least rating


class ApproximateState(NamedTuple):
    rating: Array  # [num_players] points
    games: Array  # [num_players]


def effective_games(rows: Any) -> Array:
    """[A] N'."""
    most = jnp.where(rows.rating > 2355.0, 50.0, 50.0 / jnp.sqrt(0.662 + 7.39e-6 * (2569.0 - rows.rating) ** 2))
    return jnp.minimum(rows.games, most)


def special_expected(_params: Any, player: State, opponent: State, _game: Game) -> Array:
    return expected_by_line(player.rating - opponent.rating, width=800.0)


def rate(dual: bool, params: Any, rows: State, games: Games) -> State:
    results = games.results(rows, rows)
    n, by_age = results.games, jnp.clip(50.0 * results.age, 100.0, params.initial_rating)
    rows = rows._replace(rating=jnp.where(rows.games > 0, rows.rating, by_age))
    r, effective = rows.rating, effective_games(rows)
    k = params.speed / jnp.maximum(effective + n, 1e-6) * (jnp.clip(6.5 - 0.0025 * r, 0.25, 1.0) if dual else 1.0)
    has_bonus = (n > 2.5) & (games.most_against_one(rows) < 2.5)
    threshold = jnp.where(has_bonus, params.bonus_threshold * jnp.sqrt(jnp.maximum(n, 4.0)), jnp.inf)
    lead = jnp.where(rows.score == rows.games, 1.0, 0.0) - jnp.where(rows.score == 0, 1.0, 0.0)  # all won, or all lost
    is_special = (rows.games < 8.6) | (lead != 0)  # up to 8, and no sum of halves
    special, prior = games._replace(expected=special_expected), (r - 400.0 * lead, 0.5 + 0.5 * lead)
    after = rows._replace(rating=performance_ratings(special, rows, rows, rows.games == 0, (1.0, *prior)))
    for _ in range(2):
        gain = k * (results.score - games.results(rows, after).expected)
        standard = r + gain + jnp.maximum(gain - threshold, 0.0)
        performance = performance_ratings(special, rows, after, is_special, (effective, *prior))
        after = rows._replace(rating=jnp.where(is_special, jnp.minimum(performance, 2700.0), standard))
    played, by_peak = rows.games + n, jnp.minimum(100.0 * (jnp.floor(after.rating / 100.0) - 2.0), 2100.0)
    by_games = jnp.minimum(rows.floor + 4.0 * results.score + jnp.where(n > 2.5, 1.0, 0.0), 150.0)
    floor = jnp.maximum(rows.floor, jnp.where((played > 25.4) & (by_peak >= 1200.0), by_peak, by_games))
    return State(jnp.maximum(after.rating, floor), played, rows.score + results.score, floor)


def rate_by_approximation(params: Any, rows: ApproximateState, games: Games) -> ApproximateState:
    results = games.results(rows, rows)
    n, played = results.games, rows.games + results.games
    gain = params.speed / jnp.maximum(effective_games(rows) + n, 1e-6) * (results.score - results.expected)
    bonus = jnp.maximum(gain - params.bonus_threshold * jnp.sqrt(jnp.maximum(n, 4.0)), 0.0)
    standard = rows.rating + gain + jnp.where(n > 2.5, bonus, 0.0)
    points = rows.games * rows.rating + results.opponents + 400.0 * (2.0 * results.score - n)
    is_special = rows.games < 8.6  # up to 8, and no sum of halves
    return ApproximateState(jnp.where(is_special, points / jnp.maximum(played, 1e-6), standard), played)


@official_factory
def uscf(
    ages: AgeColumns = (),
    dual: bool = False,
    *,
    speed: Annotated[float, SPEED] = 800.0,
    bonus_threshold: Annotated[float, BONUS_THRESHOLD] = 10.0,
    initial_rating: Annotated[float, RATING] = 1300.0,
) -> RatingSystem:
    """The US Chess Federation's rating, of matches and of rating periods.

        jr.rate(jr.federations.uscf(), data, period=7)

    Args:
      ages: the names of the two columns of the ages of a and b, for those without games. Without them all are adults.
      dual: whether games are of 30 to 65 minutes, which count less from 2200 on.
    """
    return official_system(State, expected_by_elo, bind(rate, dual), {"ages": ages}, floor=100.0)


@official_factory
def uscf_approximate(
    *,
    speed: Annotated[float, SPEED] = 800.0,
    bonus_threshold: Annotated[float, BONUS_THRESHOLD] = 10.0,
    initial_rating: Annotated[float, RATING] = 1300.0,
) -> RatingSystem:
    """The US Chess Federation's rating by formulas for the hand, of matches and of rating periods.

    jr.rate(jr.federations.uscf_approximate(), data, period=7)
    """
    return official_system(ApproximateState, expected_by_elo, rate_by_approximation, {})
