"""What a contest says of its members, and how likely it was: statistics come first, quits second, and the result last.

Each is told at what is believed after those before it. So the log likelihood of all is a sum: that of each one's own
statistics, that of who quit and who stayed, and that of the result.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.events import Rounds
from jaxrate.systems.rounds.round_teams import Teams, scale_performance_noise
from jaxrate.systems.skills.member_evidence import (
    add_later_message,
    condition_members_on_message,
    condition_performances_on_message,
    quit_log_probability,
    quit_message,
    skill_message,
    statistics_log_density,
    statistics_message,
)
from jaxrate.systems.skills.outcome_likelihoods import Message
from jaxrate.systems.skills.settings_and_state import Constants, ModelSettings
from jaxrate.systems.skills.team_performances import (
    MemberPerformances,
    MemberStrengths,
    make_team_performances,
    member_performances,
)
from jaxrate.systems.skills.team_result_likelihoods import result_log_likelihood
from jaxrate.systems.skills.team_results import member_messages, team_messages


class MembersBeforeResult(NamedTuple):
    """Members [P] after what was counted of each, and before the result."""

    statistics: Message  # about x^T theta
    quits: Message  # about performances, after the statistics
    strengths: MemberStrengths  # after the statistics
    expected: MemberPerformances  # after the statistics
    performances: MemberPerformances  # after the quits


def is_contested(teams: Teams) -> Array:
    """[] whether there are two teams, or more."""
    return teams.size[min(1, len(teams.size) - 1)] > 0


def condition_members_before_result(
    model: ModelSettings, constants: Constants, before: MemberStrengths, event: Rounds, teams: Teams
) -> MembersBeforeResult:
    """The members after their statistics and quits."""
    statistics = quits = (jnp.zeros_like(before.points),) * 2
    strengths = before
    if model.statistics:
        statistics = statistics_message(model, constants, before, event, teams)
        strengths = condition_members_on_message(before, statistics)
    expected = performances = member_performances(constants, strengths)
    if model.quit is not None:
        quits = quit_message(model.quit, constants, expected, event)
        performances = condition_performances_on_message(expected, quits)
    return MembersBeforeResult(statistics, quits, strengths, expected, performances)


def contest_messages(
    model: ModelSettings, constants: Constants, before: MemberStrengths, event: Rounds, teams: Teams
) -> Message:
    """[P] what a contest says of x^T theta of each member; nothing where nobody is met."""
    constants = scale_performance_noise(constants, event)
    statistics, quits, strengths, expected, members = condition_members_before_result(
        model, constants, before, event, teams
    )
    performances = make_team_performances(model, constants, before.share, members, event, teams)
    result = team_messages(model, constants, performances, event, teams)
    result = member_messages(before.share, members, performances, result, teams)
    result = skill_message(constants, add_later_message(quits, result, members.mean - expected.mean))
    message = add_later_message(statistics, result, strengths.points - before.points)
    count = jnp.broadcast_to(is_contested(teams).astype(before.points.dtype), before.points.shape)
    return count * message[0], count * message[1]


def contest_log_likelihood(
    model: ModelSettings, constants: Constants, before: MemberStrengths, event: Rounds, teams: Teams
) -> Array:
    """[] of all that a contest says: of points and statistics log densities in their own units."""
    constants = scale_performance_noise(constants, event)
    members = condition_members_before_result(model, constants, before, event, teams)
    performances = make_team_performances(model, constants, before.share, members.performances, event, teams)
    total = result_log_likelihood(model, constants, performances, event, teams)
    if model.statistics:
        total = total + jnp.sum(statistics_log_density(model, constants, before, event, teams))
    if model.quit is not None:
        total = total + jnp.sum(quit_log_probability(model.quit, constants, members.expected, event))
    return jnp.where(is_contested(teams), total, 0.0)
