"""The German Ingo rating, of tournaments as rating periods; lower numbers are better (Hoesslinger 1948).

    P = (mean of the opponents) - (100 S / n - 50),   R' = (d R + n P) / (d + n),   E = .5 + (R_j - R) / 100

with S points of n games and d 10 up to the age of 20, 15 up to 25, else 20. On Elo's scale it is 2840 - 8 R, which is
what tables show; the column `ingo` of the state is R.
"""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.hyperparameter_definitions import ANY, POSITIVE, Parameter
from jaxrate.core.pairwise import PairwiseRules, Terms
from jaxrate.core.rules import Params, Rating
from jaxrate.core.system import RatingSystem, full_leaf, system_factory
from jaxrate.systems.federations.official_rules import parse_age_columns, read_ages, require_columns


class State(NamedTuple):
    ingo: Array  # [num_players] R, lower is better


def init(params: Params, num_players: int) -> State:
    return State(full_leaf(num_players, params.initial_ingo))


def predict(_params: Any, first: State, second: State, _event: Any) -> Array:
    return jnp.clip(0.5 + (second.ingo - first.ingo) / 100.0, 0.0, 1.0)


def evidence(ages: tuple[str, ...], _params: Any, first: State, second: State, event: Any) -> tuple[Terms, Terms]:
    game = jnp.ones_like(event.score)
    one, two = read_ages(event, ages)
    return (event.score, second.ingo, one, game), (1.0 - event.score, first.ingo, two, game)


def apply(params: Any, rows: State, total: Terms) -> State:
    score, opponents, ages, games = total
    played = jnp.maximum(games, 1e-6)
    performance = opponents / played - (100.0 * score / played - 50.0)
    age = ages / played
    inertia = jnp.where(age > 25.5, params.inertia, jnp.where(age > 20.5, 0.75, 0.5) * params.inertia)
    return rows._replace(
        ingo=jnp.where(games > 0, (inertia * rows.ingo + games * performance) / (inertia + games), rows.ingo)
    )


def summary(_params: Params, rows: State) -> Rating:
    return Rating(2840.0 - 8.0 * rows.ingo, None)


@system_factory
def ingo(
    ages: Sequence[str] = (),
    *,
    inertia: Annotated[float, Parameter(POSITIVE, "games", "games that the old rating counts as, of adults")] = 20.0,
    initial_ingo: Annotated[float, Parameter(ANY, "1", "rating of a newcomer", fitted=False)] = 180.0,
) -> RatingSystem:
    """The Ingo rating, of matches and of rating periods.

        jr.rate(jr.federations.ingo(), data, period=30)

    Args:
      ages: the names of the two columns of the ages of a and b. Without them all are adults.

    Raises:
      ValueError: for an unknown name, a value out of range, or matches without a column that is named.
    """
    names = parse_age_columns("ingo", ages)
    rules = PairwiseRules(predict, bind(evidence, names), apply)
    return RatingSystem(
        init, rules, summary=summary, check_events=require_columns(ages=names), settings={"ages": names}
    )
