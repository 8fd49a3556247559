"""Points of both sides: beside the margin, how many there are together.

Teams have a pace o beside their strength s, by how much more both sides score in their matches, so an attack
(s + o) / 2 and a defence (s - o) / 2. With d by how much the first team should perform better, e the sum of both
paces, and u the rating points in a point of the score (`margin_scale`),

    u (points_1 - points_2) = d + noise,   u (points_1 + points_2 - 2 point_rate) = e + noise of deviation `total_noise`

so that the first scores point_rate + (its attack - the other's defence) / u, and half of what else speaks for it. Both
noises are independent, as those of both sides are where they are alike or rise and fall together. So strength and pace
stay independent, too: margins say what they say without totals, compressed or not, and totals are a Kalman filter of
paces alone.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.system import rate_players, split_sides
from jaxrate.events import Matches, Periods
from jaxrate.systems.skills.match_strengths import extra_match_columns
from jaxrate.systems.skills.settings_and_state import Constants, ModelSettings, State


class TotalBelief(NamedTuple):
    """The sum of both paces before a match, in rating points."""

    mean: Array  # [...]
    first_variance: Array  # [...] of the pace of the first team
    second_variance: Array  # [...]


class PredictedPoints(NamedTuple):
    """What both sides should score, in points of the score; margin and total are normal, the margin once compressed."""

    lead: Array  # [...] the mean of the margin, in rating points
    lead_deviation: Array  # [...] in rating points
    total: Array  # [...] the mean of the points of both sides together
    total_deviation: Array  # [...]


def make_total_belief(model: ModelSettings, rows: State, event: Matches | Periods) -> TotalBelief:
    """Of each match."""
    i = model.pace_index
    first, second = split_sides(rows, event)
    variances = first.covariance[..., i, i], second.covariance[..., i, i]
    return TotalBelief(first.mean[..., i] + second.mean[..., i], *variances)


def learn_totals(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods, after: State
) -> State:
    """The rows `after` the margins, with paces after the totals; of `rows` before both."""
    belief = make_total_belief(model, rows, event)
    surprise = total_in_rating_points(model, constants, event) - belief.mean
    noise = constants.params.total_noise**2
    first, second = (1.0 / (noise + x) for x in (belief.second_variance, belief.first_variance))
    messages = (first, first * surprise), (second, second * surprise)
    return rate_players(partial(_update_pace, model), after, event, *messages)


def _update_pace(model: ModelSettings, rows: State, message: tuple[Array, ...]) -> State:
    i, (information, surprise) = model.pace_index, message
    variance = rows.covariance[..., i, i]
    variance = variance / (1.0 + variance * information)
    mean = rows.mean.at[..., i].add(variance * surprise)
    return rows._replace(mean=mean, covariance=rows.covariance.at[..., i, i].set(variance))


def total_in_rating_points(model: ModelSettings, constants: Constants, event: Matches | Periods) -> Array:
    """[...] the points of both sides beyond those of equals, in rating points."""
    columns, params = extra_match_columns(event), constants.params
    total = columns[model.margin[0]] + columns[model.margin[1]]
    return params.margin_scale * (total - 2.0 * params.point_rate)


def total_negative_log_density(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods
) -> Array:
    """[...] minus the logarithms of the densities of totals, by points of the score."""
    params: Any = constants.params
    belief = make_total_belief(model, rows, event)
    square = params.total_noise**2 + belief.first_variance + belief.second_variance
    off = total_in_rating_points(model, constants, event) - belief.mean
    slope = jnp.log(params.margin_scale)  # of the total in rating points
    return 0.5 * off * off / square + 0.5 * jnp.log(square) - slope + 0.5 * math.log(2.0 * math.pi)


def predict_total(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods
) -> tuple[Array, Array]:
    """[...] mean and deviation of the points of both sides together."""
    params: Any = constants.params
    belief = make_total_belief(model, rows, event)
    square = params.total_noise**2 + belief.first_variance + belief.second_variance
    scale = 1.0 / params.margin_scale
    return 2.0 * params.point_rate + scale * belief.mean, scale * jnp.sqrt(square)
