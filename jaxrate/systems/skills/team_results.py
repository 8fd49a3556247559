"""What the result of a contest says of its teams, and of their members.

A message about the performance of a team has a precision I and a surprise V, I times the distance of its mean from that
of the team. Of the performance of a member, which counts with the share w and has the variance s, it says, since the
rest of the team has the variance R = (variance of the team) - w^2 s,

    I_i = w^2 I / (1 + I R),   V_i = w V / (1 + I R)

Without a draw margin teams that tie in a contest of more than two share a level, of which nothing else is known, and
each performs about it with the variance (pi / 2 - 1) noise^2 n / 2 of a team of n: so between two whose strengths are
known a tie says as much as half a win and half a loss, and the order of those who tie does not count.
"""

import math

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.events import Rounds
from jaxrate.numerics.special_functions import normal_moments_above_margin
from jaxrate.systems.rounds.cdf_sums import sum_by_group
from jaxrate.systems.rounds.round_teams import Teams, gather_team_values_to_members, sum_by_team
from jaxrate.systems.skills.outcome_likelihoods import Message, margin_to_rating_points
from jaxrate.systems.skills.settings_and_state import Constants, ModelSettings
from jaxrate.systems.skills.team_performances import MemberPerformances, TeamPerformances, further_columns
from jaxrate.systems.trueskill.system import (
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
    spread = tie_spread(constants, performances, event, teams)
    standing = propagate_contest_standing(constants, performances, spread, event, teams)
    precision, surprise = standing_to_team_messages(standing, performances.mean)
    if spread is None:
        return precision, surprise
    further = 1.0 + precision * spread
    return precision / further, surprise / further


def tie_spread(constants: Constants, performances: TeamPerformances, event: Rounds, teams: Teams) -> Array | None:
    """[T] the variances of performances about the level of a tie; 0 of teams without one, None of all."""
    if constants.params.draw_margin is not None or event.strict is not None:
        return None
    tied = jnp.pad((teams.rank[:-1] == teams.rank[1:]) & (teams.size[1:] > 0), 1)
    variance = (0.25 * math.pi - 0.5) * constants.noise * performances.margin_square
    return jnp.where((tied[:-1] | tied[1:]) & (jnp.sum(teams.size > 0) > 2), variance, 0.0)


def propagate_contest_standing(
    constants: Constants, performances: TeamPerformances, spread: Array | None, event: Rounds, teams: Teams
) -> PropagatedStanding:
    """What the links of the standing say of teams, or of the levels at which they tie."""
    mean, variance, _ = performances
    margin, moments = link_margins(constants, performances), link_moments_with_draw_margin(event)
    if spread is not None:
        moments, variance = link_moments_without_draw_margin(spread), variance + spread
    return propagate_standing(None, moments, mean, variance, margin, teams)


def link_margins(constants: Constants, performances: TeamPerformances) -> Array:
    """[T - 1] the draw margins of neighbours; 0 without one."""
    square = performances.margin_square
    if constants.params.draw_margin is None:
        return jnp.zeros_like(square[1:])
    return constants.params.draw_margin * jnp.sqrt(0.5 * (square[:-1] + square[1:]))


def link_moments_without_draw_margin(spread: Array) -> LinkMoments:
    """The moments of a difference above 0; of none between teams that share a level.

    Of two that tie without one they are half those of a win and half those of a loss.
    """

    def link_moments(lead: Array, margin: Array, tied: Array) -> tuple[Array, Array, Array, Array]:
        win = normal_moments_above_margin(lead, margin)
        v, w, left, _ = (
            0.5 * (x + sign * y)
            for x, y, sign in zip(win, normal_moments_above_margin(-lead, margin), (-1.0, 1.0, 1.0, 1.0), strict=True)
        )
        half, zero, share_level = (v, w, left, v + w * lead), jnp.zeros_like(lead), spread[1:] > 0
        level = -lead, zero + 1.0, zero, zero
        tie = (jnp.where(share_level, x, y) for x, y in zip(level, half, strict=True))
        return tuple(jnp.where(tied, x, y) for x, y in zip(tie, win, strict=True))  # type: ignore[return-value]

    return link_moments


def margin_standing_points(model: ModelSettings, constants: Constants, event: Rounds, teams: Teams) -> Array:
    """[T] points of the teams below the first one: the sums of the margins of neighbours, each compressed.

    A margin has the size of the difference of the points of two neighbours, and the sign that the standing says.
    """
    margin = margin_to_rating_points(constants, neighbour_margins(model, event, teams))
    return -jnp.cumsum(jnp.pad(margin, (1, 0)))


def neighbour_margins(model: ModelSettings, event: Rounds, teams: Teams) -> Array:
    """[T - 1] the differences of the points of neighbours, in their own units; 0 of those who tie.

    Teams that tie count with the mean of their points, so that their order does not.
    """
    (name,) = model.margin
    real = teams.size > 0
    total = sum_by_team(teams, jnp.where(event.weight > 0, further_columns(event)[name], 0.0))
    points = jnp.where(real, total / jnp.maximum(teams.size, 1).astype(total.dtype), 0.0)
    if event.strict is None:
        rank = jnp.minimum(teams.rank, len(points) - 1)
        by_rank, count = sum_by_group(rank, jnp.stack([points, real.astype(points.dtype)], axis=-1)).T
        points = (by_rank / jnp.maximum(count, 1.0))[rank]
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
