"""Strengths of two players in a match, and their points.

Points of both sides: beside the margin, how many there are together.

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

import jax
import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.pairwise import rate_players, signed_side_advantage, split_sides
from jaxrate.events import Matches, Periods
from jaxrate.systems.skills.settings import YEAR, Constants, ModelSettings, State, select_by_player_kind


class StrengthBelief(NamedTuple):
    """x^T theta of a player."""

    picked: Array | None  # [..., D] x; None if D = 1
    mean: Array  # [...]
    variance: Array  # [...]


class MatchStrengths(NamedTuple):
    """Two players before a match."""

    first: StrengthBelief
    second: StrengthBelief
    lead: Array  # [...] d, by how much the first should perform better


def make_match_strengths(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods, match_count: Any
) -> MatchStrengths:
    """The two sides of each match, which counts as so many for the growth by matches; None: as one."""
    one, two = split_sides(rows, event)
    met = make_skill_loadings(model, event)
    first, second = (
        make_strength_belief(x, row, match_growth_variance(constants, row, match_count))
        for x, row in zip(met, (one, two), strict=True)
    )
    lead = first.mean - second.mean
    if constants.second is None:
        games = None if one.games is None else (one.games, two.games)
        return MatchStrengths(first, second, add_match_effects_to_lead(model, constants, lead, games, event))
    if one.games is not None:
        lead = lead + (experience_points(constants, one) - experience_points(constants, two))
    return MatchStrengths(first, second, add_match_effects_to_lead(model, constants, lead, None, event))


def match_growth_variance(constants: Constants, row: State, match_count: Any) -> Any:
    """[...] what so many matches add to the variance of the common skill of rows; None: nothing."""
    if constants.match_growth is None:
        return None
    own = constants.match_growth
    if constants.second is not None:
        own = select_by_player_kind(row.kind, own, constants.second.match_growth)
    return own if match_count is None else own * match_count


def experience_points(constants: Constants, row: State) -> Array:
    """[...] what the matches that they have played are worth to rows, by their kinds."""
    games: Any = row.games
    return select_by_player_kind(row.kind, constants.params.experience, constants.second.experience) * jnp.log1p(games)


def add_match_effects_to_lead(
    model: ModelSettings, constants: Constants, lead: Array, games: tuple[Array, Array] | None, event: Matches | Periods
) -> Array:
    """[...] d, from the difference of x^T theta and the matches that both have played; None: these do not count."""
    params = constants.params
    if event.context.side is not None:
        lead = lead + signed_side_advantage(event, side_advantage_at_event_time(model, params, event))
    for name in model.covariates:
        lead = lead + getattr(params, name) * extra_match_columns(event)[name]
    if games is not None:
        lead = lead + params.experience * (jnp.log1p(games[0]) - jnp.log1p(games[1]))
    return lead


def side_advantage_at_event_time(model: ModelSettings, params: Any, event: Matches | Periods) -> Any:
    """The side advantage at the time of the event."""
    if model.side_since is None:
        return params.side_advantage
    return params.side_advantage + params.side_trend * ((event.time - model.side_since) / YEAR)


def extra_match_columns(event: Matches | Periods) -> dict[str, Array]:
    """The further columns of the matches, which `check` found there."""
    named_columns: Any = event.context.columns
    return named_columns


def make_skill_loadings(model: ModelSettings, event: Matches | Periods) -> tuple[Array | None, Array | None]:
    """x of both players [..., D]: the common skill, the category that they meet, the side on which they are, form.

    Their pace says nothing of who is ahead.
    """
    if model.size == 1:
        return None, None
    context: Any = event.context
    one = jnp.ones_like(event.score)[..., None]
    first, second = [one], [one]
    if model.modifiers:
        share = context.category
        if jnp.issubdtype(share.dtype, jnp.integer):
            share = jax.nn.one_hot(share, model.categories, dtype=one.dtype)
        first.append(share[..., 1, :])
        second.append(share[..., 0, :])
    if model.own_side:
        first.append(context.side[..., None])
        second.append(-context.side[..., None])
    if model.pace:
        first.append(jnp.zeros_like(one))
        second.append(jnp.zeros_like(one))
    if model.form:
        first.append(one)
        second.append(one)
    return jnp.concatenate(first, axis=-1), jnp.concatenate(second, axis=-1)


def make_strength_belief(loading: Array | None, row: State, extra_variance: Any) -> StrengthBelief:
    """The belief about the strengths of rows [...] that bring x."""
    mean, variance = row.mean, row.covariance
    if loading is not None:
        mean = jnp.sum(loading * mean, axis=-1)
        variance = jnp.maximum(jnp.sum(loading * covariance_with_strength(variance, loading), axis=-1), 0.0)
    return StrengthBelief(loading, mean, variance if extra_variance is None else variance + extra_variance)


def covariance_with_strength(covariance: Array, loading: Array) -> Array:
    """P x [..., D], the covariance of a player's parts with x^T theta."""
    return jnp.sum(covariance * loading[..., None, :], axis=-1)


class TotalBelief(NamedTuple):
    """The sum of both paces before a match, in rating points."""

    mean: Array  # [...]
    first_variance: Array  # [...] of the pace of the first team
    second_variance: Array  # [...]


class PredictedPoints(NamedTuple):
    """The points that both sides should score; margin and total are normal, the margin once compressed."""

    lead: Array  # [...] the mean of the margin, in rating points
    lead_deviation: Array  # [...] in rating points
    total: Array  # [...] the mean of the points of both sides together
    total_deviation: Array  # [...]


def make_total_belief(model: ModelSettings, rows: State, event: Matches | Periods) -> TotalBelief:
    """The belief about the total of both sides in each match."""
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
