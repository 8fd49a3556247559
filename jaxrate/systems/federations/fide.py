"""FIDE's rating of chess, of months as rating periods (regulations of March 2024, with the change of October 2025).

    R' = R + K sum (s - PD(D)), rounded once a month

D is cut at 400 to either side, in standard chess only below 2650. PD is Phi(7 D / 2000) rounded to hundredths, by table
8.1.2. K is 40 below 30 games, and to the end of the year of the 18th birthday below 2300; 10 for good once a list had
2400; else 20; and at most 700 / n, of n games. Games against unrated players do not count. Who has five games against
rated ones, in any months, gets the rating Ra + dp(p) with two draws against 1800 added to the games, at most 2200; a
first event without a point is dropped. Below 1400 nobody has a rating. Where nobody has one nobody gets one: so here
newcomers have `initial_rating`, unless it is None.
"""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.hyperparameter_definitions import ANY, MAYBE_POSITIVE, NOT_NEGATIVE, Parameter
from jaxrate.core.pairwise import PairwiseRules, Terms
from jaxrate.core.rules import Params, Rating
from jaxrate.core.system import RatingSystem, full_leaf, system_factory
from jaxrate.systems.federations.official_rules import (
    expected_by_normal,
    parse_age_columns,
    read_ages,
    require_columns,
    round_half_away,
)

TABLE_8_1_2 = """3 10 17 25 32 39 46 53 61 68 76 83 91 98 106 113 121 129 137 145 153 162 170 179 188 197 206 215 225
235 245 256 267 278 290 302 315 328 344 357 374 391 411 432 456 484 517 559 619 735"""  # last D of .50, .51, ...
TABLE_8_1_1 = """0 7 14 21 29 36 43 50 57 65 72 80 87 95 102 110 117 125 133 141 149 158 166 175 184 193 202 211 220
230 240 251 262 273 284 296 309 322 336 351 366 383 401 422 444 470 501 538 589 677 800"""  # dp of .50, .51, ... 1.00


class Model(NamedTuple):
    ages: tuple[str, ...]
    rapid: bool
    rounding: bool


class State(NamedTuple):
    rating: Array  # [num_players] points; 0: unrated
    games: Array  # [num_players] rated games
    reached: Array  # [num_players] 1 if a list had 2400
    pool: Array  # [num_players, 3] games against rated players, sum of their ratings, and points, of unrated players


def init(params: Params, num_players: int) -> State:
    rating = 0.0 if params.initial_rating is None else params.initial_rating
    rating, games, reached = (full_leaf(num_players, x) for x in (rating, 0.0, 0.0))
    return State(rating, games, reached, full_leaf((num_players, 3), 0.0))


def parse_table(text: str, dtype: Any) -> Array:
    return jnp.asarray(np.array([float(x) for x in text.split()]), dtype)


def expected_score(difference: Array, rounding: bool) -> Array:
    """PD of a rating difference, by the table or by the normal law that it rounds."""
    smooth = expected_by_normal(difference, 2000.0 / 7.0)
    if not rounding:
        return smooth
    hundredths = jnp.searchsorted(parse_table(TABLE_8_1_2, difference.dtype), jnp.abs(difference) - 1e-3)
    table = 0.5 + jnp.sign(difference) * hundredths.astype(difference.dtype) / 100.0
    return smooth + lax.stop_gradient(table - smooth)


def performance_difference(share: Array, rounding: bool) -> Array:
    """dp of a share of the points, by the table."""
    above = round_half_away(share, rounding, 2) - 0.5
    shares = jnp.linspace(0.0, 0.5, 51, dtype=share.dtype)
    return jnp.sign(above) * jnp.interp(jnp.abs(above), shares, parse_table(TABLE_8_1_1, share.dtype))


def expected_of(model: Model, rating: Array, opponent: Array) -> Array:
    cut = jnp.clip(rating - opponent, -400.0, 400.0)
    return expected_score(cut if model.rapid else jnp.where(rating < 2650.0, cut, rating - opponent), model.rounding)


def shown_rating(params: Any, rows: State) -> Array:
    return jnp.where(rows.rating > 0, rows.rating, params.unrated)


def predict(model: Model, params: Any, first: State, second: State, _event: Any) -> Array:
    return expected_of(model, shown_rating(params, first), shown_rating(params, second))


def evidence(model: Model, _params: Any, first: State, second: State, event: Any) -> tuple[Terms, Terms]:
    ages = read_ages(event, model.ages)
    one = _game_terms(model, first, second, event.score, ages[0])
    return one, _game_terms(model, second, first, 1.0 - event.score, ages[1])


def _game_terms(model: Model, player: State, opponent: State, score: Array, age: Array) -> Terms:
    """s - PD; the game, the opponent's rating and the score, all of a rated opponent; age, and the game."""
    counts = (opponent.rating > 0).astype(score.dtype)
    surprise = jnp.where(player.rating > 0, counts * (score - expected_of(model, player.rating, opponent.rating)), 0.0)
    return surprise, counts, counts * opponent.rating, counts * score, age, jnp.ones_like(score)


def apply(model: Model, params: Any, rows: State, total: Terms) -> State:
    surprise, counted, opponents, score, ages, games = total
    is_young = ages / jnp.maximum(games, 1e-6) < 18.5
    is_new = (rows.games < 29.6) | (is_young & (rows.rating < 2300.0))
    k = jnp.where(is_new, params.k_new, jnp.where(rows.reached > 0, params.k_master, params.k))
    k = jnp.where(k * counted > 700.0, jnp.floor(700.0 / jnp.maximum(counted, 1.0)), k)
    changed = rows.rating + round_half_away(k * surprise, model.rounding)
    is_dropped = (rows.pool[..., 0] == 0) & (score == 0)
    pool = rows.pool + jnp.where(is_dropped[..., None], 0.0, jnp.stack([counted, opponents, score], axis=-1))
    number = pool[..., 0] + 2.0
    performance = pool[..., 1] / number + 3600.0 / number
    performance = performance + performance_difference((pool[..., 2] + 1.0) / number, model.rounding)
    performance = jnp.minimum(round_half_away(performance, model.rounding), 2200.0)
    was_rated, gets_rated = rows.rating > 0, pool[..., 0] > 4.6
    rating = jnp.where(was_rated, changed, jnp.where(gets_rated, performance, 0.0))
    rating = jnp.where(rating >= 1400.0, rating, 0.0)
    is_first = ~was_rated & (rating > 0)
    played = jnp.where(was_rated, rows.games + counted, rows.games + jnp.where(is_first, pool[..., 0], 0.0))
    reached = jnp.maximum(rows.reached, (rating >= 2400.0).astype(rating.dtype))
    return State(rating, played, reached, jnp.where((was_rated | is_first)[..., None], 0.0, pool))


def summary(params: Params, rows: State) -> Rating:
    return Rating(shown_rating(params, rows), None)


@system_factory
def fide(
    ages: Sequence[str] = (),
    rapid: bool = False,
    rounding: bool = True,
    *,
    k: Annotated[float, Parameter(NOT_NEGATIVE, "points", "K of experienced players")] = 20.0,
    k_new: Annotated[float, Parameter(NOT_NEGATIVE, "points", "K of new and young players")] = 40.0,
    k_master: Annotated[float, Parameter(NOT_NEGATIVE, "points", "K of those whom a list had at 2400")] = 10.0,
    initial_rating: Annotated[
        float | None,
        Parameter(MAYBE_POSITIVE, "points", "rating of a newcomer", fitted=False, if_none="unrated"),
    ] = 1500.0,
    unrated: Annotated[float, Parameter(ANY, "points", "rating by which unrated players are predicted")] = 1400.0,
) -> RatingSystem:
    """FIDE's rating, of matches and of months as rating periods.

        jr.rate(jr.federations.fide(), data, period=30)

    Args:
      ages: the names of the two columns of the ages of a and b, year less year of birth. Without them all are adults.
      rapid: whether differences are cut at 400 from 2650 on, too, as in rapid and blitz.
      rounding: whether PD and ratings are rounded, as the federation's.

    Raises:
      ValueError: for an unknown name, a value out of range, or matches without a column that is named.
    """
    model = Model(parse_age_columns("fide", ages), rapid, rounding)
    rules = PairwiseRules(*(bind(rule, model) for rule in (predict, evidence, apply)))
    check = require_columns(ages=model.ages)
    return RatingSystem(init, rules, summary=summary, check_events=check, settings={"ages": model.ages})
