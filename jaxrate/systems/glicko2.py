"""Glicko-2 (Glickman 2012, "Example of the Glicko-2 system"), which adds a volatility to Glicko.

On the internal scale mu = (r - 1500) / 173.7178, phi = RD / 173.7178, for all games of an event at the values before:

    g(phi) = 1 / sqrt(1 + 3 phi^2 / pi^2),   E = 1 / (1 + exp(-g(phi_j) (mu - mu_j)))
    1/v    = sum g(phi_j)^2 E (1 - E),       Delta = v sum g(phi_j) (s_j - E)
    sigma' = exp(x/2), x the root of
             e^x (Delta^2 - phi^2 - v - e^x) / (2 (phi^2 + v + e^x)^2) - (x - ln sigma^2) / tau^2
    phi*^2 = phi^2 + sigma'^2,   phi'^2 = 1 / (1/phi*^2 + 1/v),   mu' = mu + phi'^2 sum g(phi_j) (s_j - E)

An idle player takes the step phi^2 + sigma^2 in every period after their first; over t periods, fractions allowed, that
is phi^2 + t sigma^2. Single matches take no time unless `match_periods` says that each is a period of its own.

With `reversion` or seasons leads fade, as `core/mean_reversion.py` says, and volatilities stay. Within a rating
period leads fade with the step to phi*, after its games were expected.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core import hyperparameter_definitions as hyper
from jaxrate.core import mean_reversion
from jaxrate.core.array_types import Array
from jaxrate.core.pairwise_rules import PairwiseRules, Terms, signed_side_advantage
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem, clip_optional, full_leaf, system_factory, variance_bound
from jaxrate.events import Matches, Periods
from jaxrate.numerics.newton_iterations import decreasing_root

SCALE = 173.7178
MAX_VOLATILITY = 1e3  # volatility: with a large tau some grow beyond all numbers, and ratings with them
# Where a history says little of tau, a fit keeps it from growing far above what Glickman calls reasonable, 0.3 to 1.2:
# from 8 on, many histories explode that were predicted well until then.
TAU_PRIOR = 0.6, math.log(4.0)
VOLATILITY_STEPS = 20  # in which the new volatility is found: at most 18 were taken in 3 million events, wild ones too
MAX_VARIANCE = 1e18  # RD^2 to which idleness leads at most: there is nothing more to forget, and slopes would overflow


class Constants(NamedTuple):
    params: Params
    rate: float | Array  # periods per unit of time
    stiffness: float | Array  # 1 / tau^2
    low: float | Array | None  # bounds of the variance
    high: float | Array


class State(NamedTuple):
    rating: Array  # [num_players] points
    variance: Array  # [num_players] RD^2, as of `time`
    volatility: Array  # [num_players] deviation gained per sqrt(period), in units of 173.7178 points
    time: Array  # [num_players] end of the last event; inf before the first


def init(params: Params, num_players: int) -> State:
    values = params.initial_rating, params.initial_deviation**2, params.initial_volatility, jnp.inf
    return State(*(full_leaf(num_players, x) for x in values))


def prepare(params: Params) -> Constants:
    low, high = variance_bound(params.deviation_min), variance_bound(params.deviation_max)
    return Constants(params, 1.0 / params.period, 1.0 / params.tau**2, low, MAX_VARIANCE if high is None else high)


def attenuation(variance: Array) -> Array:
    """g of the module's docstring, of RD^2."""
    return lax.rsqrt(1.0 + 3.0 / (SCALE * math.pi) ** 2 * variance)


def age(constants: Constants, rows: State, duration: Array) -> State:
    """phi^2 <- phi^2 + t sigma^2."""
    variance = grow_variance(rows, duration * constants.rate)
    if constants.params.reversion is None:  # time takes no variance away
        variance = jnp.maximum(rows.variance, variance)
    bound = None if constants.params.deviation_max is None else constants.high
    return rows._replace(variance=clip_optional(variance, None, bound))


def grow_variance(rows: State, periods: float | Array) -> Array:
    """The variance after idle periods."""
    return jnp.minimum(rows.variance + SCALE**2 * (periods * rows.volatility**2), MAX_VARIANCE)


def predict(constants: Constants, first: State, second: State, event: Matches | Periods) -> Array:
    lead = signed_side_advantage(event, constants.params.side_advantage)
    g = attenuation(first.variance + second.variance)
    return jax.nn.sigmoid(g * ((first.rating - second.rating + lead) / SCALE))


def evidence(constants: Constants, first: State, second: State, event: Matches | Periods) -> tuple[Terms, Terms]:
    lead = first.rating - second.rating + signed_side_advantage(event, constants.params.side_advantage)
    return game_terms(lead, second.variance, event.score), game_terms(-lead, first.variance, 1.0 - event.score)


def game_terms(lead: Array, opponent_variance: Array, score: Array) -> Terms:
    """The terms of one game in 1/v and in Delta/v of a player who is ahead by so much."""
    g = attenuation(opponent_variance)
    e = jax.nn.sigmoid(g * (lead / SCALE))
    return g * g * (e - e * e), g * (score - e)


def new_volatility(constants: Constants, rows: State, information: Array, surprise: Array) -> Array:
    """sigma' (step 5), from 1/v and Delta/v.

    With w = 1/v, u = 1 + w phi^2, y = e^x and z = u + w y the function is h(x) - (x - a) / tau^2,
    h(x) = y ((Delta / (v z))^2 - w / z) / 2: no division by a w that may underflow. h lies between -1/2 and
    (Delta/v)^2 / (8 u w), which brackets the root. The bracket is cut where y^2 would overflow, and the result is
    clipped to `volatility_min` and `volatility_max`.
    """
    params, stiffness = constants.params, constants.stiffness
    w = information
    u = 1.0 + rows.variance * (w / SCALE**2)
    a = 2.0 * jnp.log(rows.volatility)

    def function(x: Array) -> tuple[Array, Array]:
        y = jnp.exp(x)
        inverse = 1.0 / (u + w * y)
        share = w * y * inverse
        h = 0.5 * (y * (surprise * inverse) ** 2 - share)
        return h - (x - a) * stiffness, h - share * (2.0 * h + 0.5 * share) - stiffness

    reach = surprise**2 / (8.0 * u * jnp.where(w > 0, w, 1.0))
    farthest = 0.45 * math.log(float(np.finfo(a.dtype).max))
    high = jnp.minimum(a + reach * params.tau**2, jnp.maximum(a, farthest))
    x = decreasing_root(function, a, a - 0.5 * params.tau**2, high, num_steps=VOLATILITY_STEPS)
    return clip_optional(jnp.exp(0.5 * x), params.volatility_min, params.volatility_max)


def update_from_total(
    constants: Constants, rows: State, total: Terms, periods: float | Array, lead_retention: Array | None = None
) -> State:
    """Steps 5 to 7, in which some periods pass and the share `lead_retention` of leads is left (None: all of it)."""
    information, surprise = total
    rows = rows._replace(volatility=jnp.minimum(new_volatility(constants, rows, information, surprise), MAX_VOLATILITY))
    least = rows.variance
    if lead_retention is not None:
        rows = mean_reversion.revert_rows(constants.params, rows, lead_retention)
        least = mean_reversion.least_variance(constants.params, rows)
    prior = jnp.maximum(least, grow_variance(rows, periods))
    variance = prior / (1.0 + prior * (information / SCALE**2))
    rating = rows.rating + variance * (surprise / SCALE)
    return rows._replace(rating=rating, variance=clip_optional(variance, constants.low, constants.high))


def apply(constants: Constants, rows: State, total: Terms) -> State:
    """Steps 3 to 8 of a single match, which takes no time unless `match_periods` says so."""
    return update_from_total(constants, rows, total, constants.params.match_periods)


def apply_period(constants: Constants, rows: State, total: Terms) -> State:
    """Steps 3 to 8 of a rating period, which takes one period."""
    params = constants.params
    if params.reversion is None:
        return update_from_total(constants, rows, total, 1.0)
    duration = jnp.asarray(params.period, rows.time.dtype)
    keep, span = mean_reversion.lead_retention_and_growth_time(params.reversion, duration)
    return update_from_total(constants, rows, total, span * constants.rate, keep)


RULES = PairwiseRules(predict, evidence, apply, age, prepare, apply_period)


@system_factory
def glicko2(
    seasons: Sequence[Any] | Mapping[str, Any] | None = (),
    *,
    tau: Annotated[
        float, hyper.Parameter(hyper.POSITIVE, "per sqrt(event)", "how fast volatilities may change", prior=TAU_PRIOR)
    ] = 0.5,
    initial_rating: Annotated[float, hyper.RATING] = 1500.0,
    initial_deviation: Annotated[float, hyper.BOUNDED_DEVIATION] = 350.0,
    initial_volatility: Annotated[
        float,
        hyper.Parameter(
            hyper.POSITIVE,
            "173.7 points per sqrt(period)",
            "volatility of a newcomer",
            bounds=("volatility_min", "volatility_max"),
        ),
    ] = 0.06,
    deviation_min: Annotated[float | None, hyper.SMALLEST_DEVIATION] = None,
    deviation_max: Annotated[float | None, hyper.LARGEST_DEVIATION] = None,
    volatility_min: Annotated[
        float | None, hyper.Parameter(hyper.MAYBE_POSITIVE, "as initial_volatility", "smallest volatility")
    ] = None,
    volatility_max: Annotated[
        float | None, hyper.Parameter(hyper.MAYBE_POSITIVE, "as initial_volatility", "largest volatility")
    ] = None,
    period: Annotated[float, hyper.PERIOD] = 7.0,
    match_periods: Annotated[
        float,
        hyper.Parameter(
            hyper.NOT_NEGATIVE, "periods", "periods that a single match takes, beside the clock", fitted=False
        ),
    ] = 0.0,
    side_advantage: Annotated[float, hyper.SIDE_ADVANTAGE] = 0.0,
    reversion: Annotated[float | None, mean_reversion.REVERSION] = None,
    season_keep: Annotated[float | None, mean_reversion.SEASON_KEEP] = None,
    season_growth: Annotated[float | None, mean_reversion.SEASON_GROWTH] = None,
) -> RatingSystem:
    """Glicko-2, of matches and of rating periods.

        jr.rate(jr.glicko2(tau=0.3), data, period=30.0)

    `glicko2(tau=0.75, initial_deviation=500, initial_volatility=0.09, volatility_max=0.1, deviation_min=45,
    deviation_max=500, period=4.665)` has the hyperparameters of Lichess, with matches timed in days, and rates a game
    as Lichess does. But Lichess also keeps ratings above 400, lets no game move one by more than 700, gives White an
    advantage, halves what people win or lose against programs, and multiplies gains in some variants by a factor.

    Args:
      seasons: the time at which each begins, increasing; numbers, or dates. Or the `seasons` of a dataset.

    Raises:
      ValueError: for an unknown name, a value out of range, bounds that cross, or seasons that do not increase.
    """
    return RatingSystem(init, RULES)
