"""What the result of a contest says of its teams, and of their members.

A message about the performance of a team has a precision I and a surprise V, I times the distance of its mean from that
of the team. Of the performance of a member, which counts with the share w and has the variance s, it says, since the
rest of the team has the variance R = (variance of the team) - w^2 s,

    I_i = w^2 I / (1 + I R),   V_i = w V / (1 + I R)
"""

import jax.numpy as jnp

from jaxrate.array_types import Array
from jaxrate.events import Rounds
from jaxrate.numerics.special_functions import normal_moments_above_margin
from jaxrate.systems.rounds.round_teams import Teams, gather_team_values_to_members, sum_by_team
from jaxrate.systems.skills.outcome_likelihoods import Message, margin_to_rating_points
from jaxrate.systems.skills.settings_and_state import Constants, ModelSettings
from jaxrate.systems.skills.team_performances import MemberPerformances, TeamPerformances, further_columns
from jaxrate.systems.trueskill.propagation import (
    LinkMoments,
    PropagatedStanding,
    link_moments_with_draw_margin,
    propagate_standing,
    standing_to_team_messages,
)


def team_messages(
    model: ModelSettings, constants: Constants, performances: TeamPerformances, event: Rounds, teams: Teams
) -> Message:
    """[T] what the result says of the performance of each team; the teams are in the order of the standing."""
    if model.outcome == "margin":
        return margin_messages(performances, margin_standing_points(model, constants, event, teams), teams)
    return standing_to_team_messages(
        propagate_contest_standing(constants, performances, event, teams), performances.mean
    )


def propagate_contest_standing(
    constants: Constants, performances: TeamPerformances, event: Rounds, teams: Teams
) -> PropagatedStanding:
    """What the links of the standing say."""
    mean, variance, _ = performances
    margin, moments = link_margins(constants, performances), link_moments_with_half_draws(event)
    if constants.params.draw_margin is not None:
        moments = link_moments_with_draw_margin(event)
    return propagate_standing(None, moments, mean, variance, margin, teams)


def link_margins(constants: Constants, performances: TeamPerformances) -> Array:
    """[T - 1] the draw margins of neighbours; 0 without one."""
    square = performances.margin_square
    if constants.params.draw_margin is None:
        return jnp.zeros_like(square[1:])
    return constants.params.draw_margin * jnp.sqrt(0.5 * (square[:-1] + square[1:]))


def link_moments_with_half_draws(event: Rounds) -> LinkMoments:
    """The moments of a difference above 0; of teams that tie half those of a win and half those of a loss."""

    def link_moments(lead: Array, margin: Array, tied: Array) -> tuple[Array, Array, Array, Array]:
        win = normal_moments_above_margin(lead, margin)
        if event.strict is not None:
            return win
        v, w, left, _ = (
            0.5 * (x + sign * y)
            for x, y, sign in zip(win, normal_moments_above_margin(-lead, margin), (-1.0, 1.0, 1.0, 1.0), strict=True)
        )
        half = v, w, left, v + w * lead
        return tuple(jnp.where(tied, x, y) for x, y in zip(half, win, strict=True))  # type: ignore[return-value]

    return link_moments


def margin_standing_points(model: ModelSettings, constants: Constants, event: Rounds, teams: Teams) -> Array:
    """[T] points of the teams below the first one: the sums of the margins of neighbours, each compressed.

    A margin has the size of the difference of the points of two neighbours, and the sign that the standing says.
    """
    margin = margin_to_rating_points(constants, neighbour_margins(model, event, teams))
    return -jnp.cumsum(jnp.pad(margin, (1, 0)))


def neighbour_margins(model: ModelSettings, event: Rounds, teams: Teams) -> Array:
    """[T - 1] the differences of the points of neighbours, in their own units; 0 of those who tie."""
    (name,) = model.margin
    real = teams.size > 0
    total = sum_by_team(teams, jnp.where(event.weight > 0, further_columns(event)[name], 0.0))
    points = jnp.where(real, total / jnp.maximum(teams.size, 1).astype(total.dtype), 0.0)
    counts = (teams.rank[:-1] != teams.rank[1:]) & real[1:]
    return jnp.where(counts, jnp.abs(points[:-1] - points[1:]), 0.0)


def margin_messages(performances: TeamPerformances, points: Array, teams: Teams) -> Message:
    """[T] what points say that are the level of the contest, of which nothing is known, and the team's performance.

    Each team learns the level from the others, by weights 1 / variance: that is the Kalman update of all at once.
    """
    mask = teams.size > 0
    weight = jnp.where(mask, 1.0 / performances.variance, 0.0)
    total, ahead = jnp.sum(weight), points - performances.mean
    level = jnp.sum(weight * ahead) / jnp.where(jnp.any(mask), total, 1.0)
    return jnp.where(mask, jnp.maximum(total - weight, 0.0), 0.0), jnp.where(mask, total * (ahead - level), 0.0)


def member_messages(
    share: Array, members: MemberPerformances, performances: TeamPerformances, message: Message, teams: Teams
) -> Message:
    """[P] what messages to their teams say of the performances of members."""
    precision, surprise, variance = (gather_team_values_to_members(teams, x) for x in (*message, performances.variance))
    rest = jnp.maximum(variance - share**2 * members.variance, 0.0)
    part = share / (1.0 + precision * rest)
    return share * part * precision, part * surprise
