"""What was counted of each participant of a contest, and who quit: evidence of their own, before the result.

A statistic z of worth c and noise n is c z = (own points) - (mean points of all opponents) + n e. Statistics of one
player share the mean of the opponents, of variance v, so with A = sum 1 / n^2 and B = sum (c z - lead) / n^2 they say

    I = A / (1 + A v),   V = B / (1 + A v)

of the player's own strength, at the beliefs before the contest. Opponents learn from their own statistics.

Who quits performed below `quit_threshold`, and who stays above it: a truncation of the performance, which also counts
in the result. What is said of a performance p = (own points) + noise, of variance b, says of own points

    I / (1 + I b),   V / (1 + I b)
"""

import math
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
from jax.scipy.special import log_ndtr

from jaxrate.core.array_types import Array
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
    lead, opponents, has_opponents = leads_over_opponents(members, teams)
    precision = surprise = jnp.zeros_like(lead)
    for scale, noise, value, counts in statistics_of_members(model, constants, event, has_opponents):
        weight = jnp.where(counts, 1.0 / noise**2, 0.0)
        precision = precision + weight
        surprise = surprise + weight * (scale * value - lead)
    inverse = 1.0 / (1.0 + precision * opponents)
    return precision * inverse, surprise * inverse


def statistics_log_density(
    model: ModelSettings, constants: Constants, members: MemberStrengths, event: Rounds, teams: Teams
) -> Array:
    """[P] the log density of each participant's own statistics, in their units, whatever those of the others are."""
    lead, opponents, has_opponents = leads_over_opponents(members, teams)
    variance, total = members.belief.variance + opponents, jnp.zeros_like(lead)
    for scale, noise, value, counts in statistics_of_members(model, constants, event, has_opponents):
        square = jnp.where(counts, variance + noise**2, 1.0)
        off = scale * value - lead
        density = jnp.log(scale) - 0.5 * (jnp.log(2.0 * math.pi * square) + off**2 / square)
        total = total + jnp.where(counts, density, 0.0)
        lead = lead + jnp.where(counts, variance * off / square, 0.0)
        variance = jnp.where(counts, variance * noise**2 / square, variance)
    return total


def leads_over_opponents(members: MemberStrengths, teams: Teams) -> tuple[Array, Array, Array]:
    """[P] how far members are ahead of the mean of all opponents, the variance of that, and whether there are any."""
    mask = members.share > 0

    def sum_over_opponents(values: Array) -> Array:
        by_team = sum_by_team(teams, jnp.where(mask, values, 0.0))
        return gather_team_values_to_members(teams, jnp.sum(by_team) - by_team)

    count = sum_over_opponents(mask.astype(members.points.dtype))
    number = jnp.maximum(count, 1.0)
    lead = members.points - sum_over_opponents(members.points) / number
    return lead, sum_over_opponents(members.belief.variance) / number**2, mask & (count > 0)


def statistics_of_members(
    model: ModelSettings, constants: Constants, event: Rounds, has_opponents: Array
) -> Iterator[tuple[Any, Any, Array, Array]]:
    """Of each statistic its worth, its noise, the numbers [P], 0 where there is none, and whether there is one [P]."""
    for name in model.statistics:
        value, params = further_columns(event)[name], constants.params
        counts = ~jnp.isnan(value) & has_opponents
        scale, noise = getattr(params, statistic_scale_name(name)), getattr(params, statistic_noise_name(name))
        yield scale, noise, jnp.where(counts, value, 0.0), counts


def quit_message(column: str, constants: Constants, performances: MemberPerformances, event: Rounds) -> Message:
    """[P] what it says of performances who quit and who stayed; a missing number says nothing."""
    ahead, sign, counts = distances_from_quit_threshold(column, constants, performances, event)
    push, lost, left, _ = normal_moments_above_margin(ahead, jnp.zeros_like(ahead))
    precision = lost / (performances.variance * left)
    surprise = sign * push / (jnp.sqrt(performances.variance) * left)
    return jnp.where(counts, precision, 0.0), jnp.where(counts, surprise, 0.0)


def quit_log_probability(column: str, constants: Constants, performances: MemberPerformances, event: Rounds) -> Array:
    """[P] the log probability that participants quit, or stay, as they did; 0 where it is missing."""
    ahead, _, counts = distances_from_quit_threshold(column, constants, performances, event)
    return jnp.where(counts, log_ndtr(ahead), 0.0)


def distances_from_quit_threshold(
    column: str, constants: Constants, performances: MemberPerformances, event: Rounds
) -> tuple[Array, Array, Array]:
    """[P] how far performances are on their side of the threshold, in deviations; 1 above it and -1 below; counts."""
    params: Any = constants.params
    value = further_columns(event)[column]
    sign = jnp.where(value > 0.5, -1.0, 1.0)
    ahead = sign * (performances.mean - params.quit_threshold) / jnp.sqrt(performances.variance)
    return ahead, sign, ~jnp.isnan(value) & (event.weight > 0)


def skill_message(constants: Constants, message: Message) -> Message:
    """[P] what a message about performances says of x^T theta."""
    inverse = 1.0 / (1.0 + 0.5 * constants.noise * message[0])
    return message[0] * inverse, message[1] * inverse
