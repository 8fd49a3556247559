"""Glicko (Glickman 1999, "Parameter estimation in large dynamic paired comparison experiments").

Before an event, t rating periods after the player's last one (fractions allowed):

    RD <- min(sqrt(RD^2 + c^2 t), RD_max)

After it, summed over the games of the event, all at the ratings before it:

    g(RD) = 1 / sqrt(1 + 3 q^2 RD^2 / pi^2),   q = ln 10 / 400
    E     = 1 / (1 + 10^(-g(RD_j) (r - r_j) / 400))
    1/d^2 = q^2 sum g(RD_j)^2 E (1 - E)
    RD'^2 = 1 / (1/RD^2 + 1/d^2)
    r'    = r + q RD'^2 sum g(RD_j) (s_j - E)

where s_j is the score against opponent j. (A post of 2020, "Understanding the Glicko Rating System", misprints two of
them: all of 1 + 3 q^2 RD^2 stands over pi^2, so that g(30) would be 3.0098 and not .9955, and "s given E" for s - E.)

The prediction uses g(sqrt(RD_a^2 + RD_b^2)). A rating period takes its own time, which passes before its games count;
what it leaves is as of its end. With `reversion` or seasons leads fade, as `core/mean_reversion.py` says.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxrate.core import hyperparameter_definitions as hyper
from jaxrate.core import mean_reversion
from jaxrate.core.array_types import Array
from jaxrate.core.pairwise_rules import PairwiseRules, Terms, signed_side_advantage
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem, clip_optional, full_leaf, system_factory, variance_bound
from jaxrate.events import Matches, Periods

Q = math.log(10.0) / 400.0
WIDEST = 1e12  # points^2, the variance where there is no largest deviation: products of it are finite in float32


class Constants(NamedTuple):
    params: Params
    growth: float | Array  # of the variance, per unit of time
    low: float | Array | None  # bounds of the variance
    high: float | Array


class State(NamedTuple):
    rating: Array  # [num_players] points
    variance: Array  # [num_players] RD^2, as of `time`
    time: Array  # [num_players] end of the last event; inf before the first


def init(params: Params, num_players: int) -> State:
    values = params.initial_rating, params.initial_deviation**2, jnp.inf
    return State(*(full_leaf(num_players, x) for x in values))


def prepare(params: Params) -> Constants:
    low, high = variance_bound(params.deviation_min), variance_bound(params.deviation_max)
    return Constants(params, params.c**2 / params.period, low, WIDEST if high is None else high)


def attenuation(variance: Array) -> Array:
    """g of the module's docstring, of RD^2."""
    return lax.rsqrt(1.0 + 3.0 * Q**2 / math.pi**2 * variance)


def age(constants: Constants, rows: State, duration: Array) -> State:
    """RD <- min(sqrt(RD^2 + c^2 t), RD_max)."""
    return rows._replace(variance=jnp.minimum(rows.variance + constants.growth * duration, constants.high))


def predict(constants: Constants, first: State, second: State, event: Matches | Periods) -> Array:
    lead = signed_side_advantage(event, constants.params.side_advantage)
    g = attenuation(first.variance + second.variance)
    return jax.nn.sigmoid(g * (Q * (first.rating - second.rating + lead)))


def evidence(constants: Constants, first: State, second: State, event: Matches | Periods) -> tuple[Terms, Terms]:
    lead = first.rating - second.rating + signed_side_advantage(event, constants.params.side_advantage)
    return game_terms(lead, second.variance, event.score), game_terms(-lead, first.variance, 1.0 - event.score)


def game_terms(lead: Array, opponent_variance: Array, score: Array) -> Terms:
    """The terms of one game in 1/d^2 and in q sum g (s - E) of a player who is ahead by so much."""
    g = attenuation(opponent_variance)
    e = jax.nn.sigmoid(g * (Q * lead))
    return Q**2 * (g * g * (e - e * e)), Q * (g * (score - e))


def apply(constants: Constants, rows: State, total: Terms) -> State:
    """RD' and r' of the module's docstring."""
    information, surprise = total
    variance = rows.variance / (1.0 + rows.variance * information)
    rating = rows.rating + variance * surprise
    return rows._replace(rating=rating, variance=clip_optional(variance, constants.low, None))


RULES = PairwiseRules(predict, evidence, apply, age, prepare)


@system_factory
def glicko(
    seasons: Sequence[Any] | Mapping[str, Any] | None = (),
    *,
    c: Annotated[
        float,
        hyper.Parameter(hyper.NOT_NEGATIVE, "points per sqrt(period)", "growth of the deviation of an idle player"),
    ] = 15.0,
    initial_rating: Annotated[float, hyper.RATING] = 1500.0,
    initial_deviation: Annotated[float, hyper.BOUNDED_DEVIATION] = 350.0,
    deviation_min: Annotated[float | None, hyper.SMALLEST_DEVIATION] = None,
    deviation_max: Annotated[float | None, hyper.LARGEST_DEVIATION._replace(if_none="a million")] = 350.0,
    period: Annotated[float, hyper.PERIOD] = 7.0,
    side_advantage: Annotated[float, hyper.SIDE_ADVANTAGE] = 0.0,
    reversion: Annotated[float | None, mean_reversion.REVERSION] = None,
    season_keep: Annotated[float | None, mean_reversion.SEASON_KEEP] = None,
    season_growth: Annotated[float | None, mean_reversion.SEASON_GROWTH] = None,
) -> RatingSystem:
    """Glicko, of matches and of rating periods.

        jr.rate(jr.glicko(c=20.0), data)

    The defaults let a deviation of 50 grow to 350 in about ten years of weekly periods. `initial_deviation` lies on its
    bound `deviation_max` then, where a derivative is half of that on one side: move or drop the bound to take it.

    Args:
      seasons: the time at which each begins, increasing; numbers, or dates. Or the `seasons` of a dataset.

    Raises:
      ValueError: for an unknown name, a value out of range, bounds that cross, or seasons that do not increase.
    """
    return RatingSystem(init, RULES)
