"""The German DWZ, of tournaments as rating periods (schachbund.de, Wertungsordnung 3.3, 3.5 and appendix 1.2).

    R' = R + 800 (S - We) / (E + n),   We = sum Phi((R - R_j) / (200 sqrt 2))
    E = E0 fB + SBr, rounded,   E0 = (R / 1000)^4 + J

with J 5 to the age of 20, 10 to 25, else 15; fB = R / 2000 within .5 and 1 to the age of 20 if S >= We, else 1; and
SBr = exp((1300 - R) / 150) - 1 below 1300 if S < We, else 0. E is at least 5, and at most 30 and five times the number
of tournaments; with an SBr at most 150. Ratings are whole numbers. Newcomers begin at `initial_rating`, as if in their
second tournament; the first rating of the rules, for which five games are solved for R, is not here.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.hyperparameter_definitions import NOT_NEGATIVE, POSITIVE, RATING, Parameter
from jaxrate.core.pairwise import PairwiseRules, Terms
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem, full_leaf, system_factory
from jaxrate.systems.federations.official_rules import (
    expected_by_normal,
    parse_age_columns,
    read_ages,
    require_columns,
    round_half_away,
)

DEVIATION = 200.0 * math.sqrt(2.0)  # points, of the difference of two performances


class State(NamedTuple):
    rating: Array  # [num_players] points
    index: Array  # [num_players] tournaments


def init(params: Params, num_players: int) -> State:
    return State(full_leaf(num_players, params.initial_rating), full_leaf(num_players, 1.0))


def predict(_params: Any, first: State, second: State, _event: Any) -> Array:
    return expected_by_normal(first.rating - second.rating, DEVIATION)


def evidence(ages: tuple[str, ...], params: Any, first: State, second: State, event: Any) -> tuple[Terms, Terms]:
    surprise, game = event.score - predict(params, first, second, event), jnp.ones_like(event.score)
    one, two = read_ages(event, ages)
    return (surprise, one, game), (-surprise, two, game)


def apply(rounding: bool, params: Any, rows: State, total: Terms) -> State:
    surprise, ages, games = total
    age, r = ages / jnp.maximum(games, 1e-6), rows.rating
    inertia = jnp.where(age > 25.5, 3.0, jnp.where(age > 20.5, 2.0, 1.0)) * params.youth_inertia
    young_and_ahead = (age <= 20.5) & (surprise >= 0.0)
    factor = jnp.where(young_and_ahead, jnp.clip(r / 2000.0, 0.5, 1.0), 1.0)
    brake = jnp.where((r < 1300.0) & (surprise < 0.0), jnp.expm1((1300.0 - jnp.minimum(r, 1300.0)) / 150.0), 0.0)
    development = round_half_away(((r / 1000.0) ** 4 + inertia) * factor + brake, rounding)
    most = jnp.where(brake > 0.0, 150.0, jnp.minimum(30.0, 5.0 * rows.index))
    development = jnp.clip(development, 5.0, most)
    rating = round_half_away(r + params.speed * surprise / (development + games), rounding)
    return State(jnp.where(games > 0, rating, r), rows.index + jnp.where(games > 0, 1.0, 0.0))


@system_factory
def dwz(
    ages: Sequence[str] = (),
    rounding: bool = True,
    *,
    speed: Annotated[float, Parameter(NOT_NEGATIVE, "points", "change by a point of one game, times E + n")] = 800.0,
    youth_inertia: Annotated[
        float, Parameter(POSITIVE, "games", "J of the youngest; twice and thrice of others")
    ] = 5.0,
    initial_rating: Annotated[float, RATING] = 1000.0,
) -> RatingSystem:
    """The German chess federation's DWZ, of matches and of rating periods.

        jr.rate(jr.federations.dwz(), data, period=30)

    Args:
      ages: the names of the two columns of the ages of a and b, year less year of birth. Without them all are adults.
      rounding: whether E and ratings are whole numbers, as the federation's.

    Raises:
      ValueError: for an unknown name, a value out of range, or matches without a column that is named.
    """
    names = parse_age_columns("dwz", ages)
    rules = PairwiseRules(predict, bind(evidence, names), bind(apply, rounding))
    return RatingSystem(init, rules, check_events=require_columns(ages=names), settings={"ages": names})
