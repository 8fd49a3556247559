"""The English Chess Federation's rating since 2020, of months as rating periods (ecfrating.org.uk, K method).

    R' = R + K sum (s - PD(D)), rounded once a month

with FIDE's PD of differences that are cut at 400, and K 20, 40 for juniors. The P method, of players with less than ten
games, is not here: the federation does not say the rating of its fictional draw. Little is known of details: the cut,
and how numbers are rounded, are assumed.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.hyperparameter_definitions import NOT_NEGATIVE, RATING, Parameter
from jaxrate.core.pairwise import PairwiseRules, Terms
from jaxrate.core.system import RatingSystem, system_factory
from jaxrate.systems.federations.fide import expected_score
from jaxrate.systems.federations.official_rules import (
    RatingState,
    init_ratings,
    parse_age_columns,
    read_ages,
    require_columns,
    round_half_away,
)


def predict(rounding: bool, _params: Any, first: RatingState, second: RatingState, _event: Any) -> Array:
    return expected_score(jnp.clip(first.rating - second.rating, -400.0, 400.0), rounding)


def evidence(
    ages: tuple[str, ...], rounding: bool, params: Any, first: RatingState, second: RatingState, event: Any
) -> tuple[Terms, Terms]:
    surprise = event.score - predict(rounding, params, first, second, event)
    ks = (jnp.where(age < 18, params.k_junior, params.k) for age in read_ages(event, ages))
    one, two = (k * x for k, x in zip(ks, (surprise, -surprise), strict=True))
    return (one,), (two,)


def apply(rounding: bool, _params: Any, rows: RatingState, total: Terms) -> RatingState:
    return RatingState(rows.rating + round_half_away(total[0], rounding))


@system_factory
def ecf(
    ages: Sequence[str] = (),
    rounding: bool = True,
    *,
    k: Annotated[float, Parameter(NOT_NEGATIVE, "points", "K of adults")] = 20.0,
    k_junior: Annotated[float, Parameter(NOT_NEGATIVE, "points", "K of juniors")] = 40.0,
    initial_rating: Annotated[float, RATING] = 1500.0,
) -> RatingSystem:
    """The English Chess Federation's rating, of matches and of rating periods.

        jr.rate(jr.federations.ecf(), data, period=30)

    Args:
      ages: the names of the two columns of the ages of a and b. Juniors are below 18; without them all are adults.
      rounding: whether PD and ratings are rounded, as the federation's.

    Raises:
      ValueError: for an unknown name, a value out of range, or matches without a column that is named.
    """
    names = parse_age_columns("ecf", ages)
    rules = PairwiseRules(bind(predict, rounding), bind(evidence, names, rounding), bind(apply, rounding))
    return RatingSystem(init_ratings, rules, check_events=require_columns(ages=names), settings={"ages": names})
