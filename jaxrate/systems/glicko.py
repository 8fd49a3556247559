"""Glicko (Glickman 1999, "Parameter estimation in large dynamic paired comparison experiments").

Before an event, t rating periods after the player's last one (fractions allowed):

    RD <- min(sqrt(RD^2 + c^2 t), RD_max)

After it, summed over the games of the event, all at the ratings before it:

    g(RD) = 1 / sqrt(1 + 3 q^2 RD^2 / pi^2),   q = ln 10 / 400
    E     = 1 / (1 + 10^(-g(RD_j) (r - r_j) / 400))
    1/d^2 = q^2 sum g(RD_j)^2 E (1 - E)
    RD'^2 = 1 / (1/RD^2 + 1/d^2)
    r'    = r + q RD'^2 sum g(RD_j) (s_j - E)

The prediction uses g(sqrt(RD_a^2 + RD_b^2)).
"""

import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxrate.events import Array, Matches, Periods
from jaxrate.system import (
    Parameter,
    Rating,
    RatingSystem,
    Rules,
    advantage,
    bounded,
    check_bounds,
    elapsed,
    full,
    override,
    rate_players,
    sides,
    square,
)

Q = math.log(10.0) / 400.0


class Params(NamedTuple):
    c: float | Array = 15.0
    initial_rating: float | Array = 1500.0
    initial_deviation: float | Array = 350.0
    deviation_min: float | Array | None = None
    deviation_max: float | Array | None = 350.0
    period: float | Array = 7.0
    side_advantage: float | Array = 0.0


SPACE = Params(
    c=Parameter("positive", ">= 0", "points per sqrt(period)", "growth of the deviation of an idle player"),
    initial_rating=Parameter("fixed", "any number", "points", "rating of a newcomer"),
    initial_deviation=Parameter("positive", "> 0", "points", "deviation of a newcomer"),
    deviation_min=Parameter("positive", "> 0 or None", "points", "smallest deviation"),
    deviation_max=Parameter("positive", "> 0 or None", "points", "largest deviation"),
    period=Parameter("fixed", "> 0", "days, or the unit of time", "length of a rating period"),
    side_advantage=Parameter("real", "any number", "points", "rating points that the better side is worth"),
)


class Constants(NamedTuple):
    params: Params
    growth: float | Array  # of the variance, per unit of time
    low: float | Array | None  # bounds of the variance
    high: float | Array | None


class State(NamedTuple):
    rating: Array  # [num_players] points
    variance: Array  # [num_players] RD^2, as of `time`
    time: Array  # [num_players] of the last event; inf before the first


def init(params: Params, num_players: int) -> State:
    values = params.initial_rating, params.initial_deviation**2, jnp.inf
    return State(*(full(num_players, x) for x in values))


def prepare(params: Params) -> Constants:
    return Constants(params, params.c**2 / params.period, square(params.deviation_min), square(params.deviation_max))


def attenuation(variance: Array) -> Array:
    """g of the module's docstring, of RD^2."""
    return lax.rsqrt(1.0 + 3.0 * Q**2 / math.pi**2 * variance)


def advance(constants: Constants, rows: State, time: Array) -> State:
    """RD <- min(sqrt(RD^2 + c^2 t), RD_max)."""
    variance = rows.variance + constants.growth * elapsed(time, rows.time)
    return rows._replace(variance=bounded(variance, None, constants.high))


def predict(constants: Constants, rows: State, event: Matches | Periods) -> Array:
    """Expected score of the first player."""
    first, second = sides(rows, event)
    lead = advantage(event, constants.params.side_advantage)
    g = attenuation(first.variance + second.variance)
    return jax.nn.sigmoid(g * (Q * (first.rating - second.rating + lead)))


def evidence(me: State, opponent: State, score: Array, lead: float | Array) -> tuple[Array, ...]:
    """What one game adds to 1/d^2 and to q sum g (s - E) of `me`, with `lead` points of side advantage."""
    g = attenuation(opponent.variance)
    e = jax.nn.sigmoid(g * (Q * (me.rating - opponent.rating + lead)))
    return Q**2 * (g * g * (e - e * e)), Q * (g * (score - e))


def rate(constants: Constants, rows: State, total: tuple[Array, ...], time: Array) -> State:
    """RD' and r' of the module's docstring."""
    information, surprise = total
    variance = rows.variance / (1.0 + rows.variance * information)
    rating = rows.rating + variance * surprise
    return State(rating, bounded(variance, constants.low, None), jnp.full_like(rows.time, time))


def update(constants: Constants, rows: State, event: Matches | Periods, key: Array | None) -> State:
    """Add the information of the games to the prior's; step the rating along the summed surprise."""
    del key
    first, second = sides(rows, event)
    lead = advantage(event, constants.params.side_advantage)
    one, two = evidence(first, second, event.score, lead), evidence(second, first, 1.0 - event.score, -lead)
    return rate_players(partial(rate, constants, time=event.time), rows, event, one, two)


def summary(params: Params, rows: State) -> Rating:
    del params
    return Rating(rows.rating, jnp.sqrt(rows.variance))


RULES = Rules(prepare, advance, predict, update)


def glicko(**changes: float | None) -> RatingSystem:
    """Glicko. Keyword arguments replace defaults of `Params`; ValueError for an unknown name or a value out of range.

    The defaults let a deviation of 50 grow to 350 in about ten years of weekly periods. `initial_deviation` lies on its
    bound `deviation_max` then, where a derivative is half of that on one side: move or drop the bound to take it.
    """
    params = override("glicko", Params(), SPACE, changes)
    check_bounds("glicko", params, "deviation")
    return RatingSystem("glicko", params, SPACE, (Matches, Periods), init, RULES, summary)
