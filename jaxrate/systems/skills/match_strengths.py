"""What players bring to a match."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.system import signed_side_advantage, split_sides
from jaxrate.events import Matches, Periods
from jaxrate.systems.skills.settings_and_state import YEAR, Constants, ModelSettings, State, select_by_player_kind


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
    """What the better side is worth at the time of the event."""
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
    """Of rows [...] that bring x."""
    mean, variance = row.mean, row.covariance
    if loading is not None:
        mean = jnp.sum(loading * mean, axis=-1)
        variance = jnp.maximum(jnp.sum(loading * covariance_with_strength(variance, loading), axis=-1), 0.0)
    return StrengthBelief(loading, mean, variance if extra_variance is None else variance + extra_variance)


def covariance_with_strength(covariance: Array, loading: Array) -> Array:
    """P x [..., D], the covariance of a player's parts with x^T theta."""
    return jnp.sum(covariance * loading[..., None, :], axis=-1)
