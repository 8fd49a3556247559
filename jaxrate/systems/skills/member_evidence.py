"""What was counted of each participant of a contest, and who quit: evidence of their own, before the result.

A statistic z of worth c and noise n is c z = (own points) - (mean points of all opponents) + n e. Statistics of one
player share the mean of the opponents, of variance v, so with A = sum 1 / n^2 and B = sum (c z - lead) / n^2 they say

    I = A / (1 + A v),   V = B / (1 + A v)

of the player's own strength, at the beliefs before the contest. Opponents learn from their own statistics.

Who quits performed below `quit_threshold`, and who stays above it: a truncation of the performance, which also counts
in the result. What is said of a performance p = (own points) + noise, of variance b, says of own points

    I / (1 + I b),   V / (1 + I b)
"""

from typing import Any

import jax.numpy as jnp

from jaxrate.array_types import Array
from jaxrate.events import Rounds
from jaxrate.numerics.special_functions import normal_moments_above_margin
from jaxrate.systems.rounds.round_teams import Teams, gather_team_values_to_members, sum_by_team
from jaxrate.systems.skills.outcome_likelihoods import Message
from jaxrate.systems.skills.settings_and_state import (
    Constants,
    ModelSettings,
    statistic_noise_name,
    statistic_scale_name,
)
from jaxrate.systems.skills.team_performances import MemberPerformances, MemberStrengths, further_columns


def condition_members_on_message(members: MemberStrengths, message: Message) -> MemberStrengths:
    """The members after a message [P] about x^T theta of each."""
    precision, surprise = message
    variance = members.belief.variance / (1.0 + members.belief.variance * precision)
    change = variance * surprise
    belief = members.belief._replace(mean=members.belief.mean + change, variance=variance)
    return members._replace(belief=belief, points=members.points + change)


def condition_performances_on_message(performances: MemberPerformances, message: Message) -> MemberPerformances:
    """The performances after a message [P] about each."""
    variance = performances.variance / (1.0 + performances.variance * message[0])
    return MemberPerformances(performances.mean + variance * message[1], variance)


def add_later_message(earlier: Message, later: Message, moved: Array) -> Message:
    """Both messages as one, where the earlier has moved the mean, from which the surprise of the later counts."""
    return earlier[0] + later[0], earlier[1] + later[1] + later[0] * moved


def statistics_message(
    model: ModelSettings, constants: Constants, members: MemberStrengths, event: Rounds, teams: Teams
) -> Message:
    """[P] what the statistics of each participant say of them; one that is missing says nothing."""
    mask = members.share > 0
    real = mask.astype(members.points.dtype)

    def sum_over_opponents(values: Array) -> Array:
        by_team = sum_by_team(teams, jnp.where(mask, values, 0.0))
        return gather_team_values_to_members(teams, jnp.sum(by_team) - by_team)

    count = sum_over_opponents(real)
    number = jnp.maximum(count, 1.0)
    lead = members.points - sum_over_opponents(members.points) / number
    opponents = sum_over_opponents(members.belief.variance) / number**2
    precision = surprise = jnp.zeros_like(lead)
    for name in model.statistics:
        value, params = further_columns(event)[name], constants.params
        counts = ~jnp.isnan(value) & mask & (count > 0)
        scale, noise = getattr(params, statistic_scale_name(name)), getattr(params, statistic_noise_name(name))
        weight = jnp.where(counts, 1.0 / noise**2, 0.0)
        precision = precision + weight
        surprise = surprise + weight * (scale * jnp.where(counts, value, 0.0) - lead)
    inverse = 1.0 / (1.0 + precision * opponents)
    return precision * inverse, surprise * inverse


def quit_message(column: str, constants: Constants, performances: MemberPerformances, event: Rounds) -> Message:
    """[P] what it says of performances who quit and who stayed; a missing number says nothing."""
    params: Any = constants.params
    value = further_columns(event)[column]
    sign = jnp.where(value > 0.5, -1.0, 1.0)  # of how far performances were above the threshold
    deviation = jnp.sqrt(performances.variance)
    ahead = sign * (performances.mean - params.quit_threshold) / deviation
    push, lost, left, _ = normal_moments_above_margin(ahead, jnp.zeros_like(ahead))
    counts = ~jnp.isnan(value) & (event.weight > 0)
    precision, surprise = lost / (performances.variance * left), sign * push / (deviation * left)
    return jnp.where(counts, precision, 0.0), jnp.where(counts, surprise, 0.0)


def skill_message(constants: Constants, message: Message) -> Message:
    """[P] what a message about performances says of x^T theta."""
    inverse = 1.0 / (1.0 + 0.5 * constants.noise * message[0])
    return message[0] * inverse, message[1] * inverse
