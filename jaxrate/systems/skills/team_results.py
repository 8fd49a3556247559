"""Results of contests of teams: performances, evidence of members, likelihoods and messages.

What a contest says of its members, and how likely it was: statistics come first, quits second, and the result last.

Each is told at what is believed after those before it. So the log likelihood of all is a sum: that of each one's own
statistics, that of who quit and who stayed, and that of the result.

What was counted of each participant of a contest, and who quit: evidence of their own, before the result.

A statistic z of worth c and noise n is c z = (own points) - (mean points of all opponents) + n e. Statistics of one
player share the mean of the opponents, of variance v, so with A = sum 1 / n^2 and B = sum (c z - lead) / n^2 they say

    I = A / (1 + A v),   V = B / (1 + A v)

of the player's own strength, at the beliefs before the contest. Opponents learn from their own statistics.

Who quits performed below `quit_threshold`, and who stays above it: a truncation of the performance, which also counts
in the result. What is said of a performance p = (own points) + noise, of variance b, says of own points

    I / (1 + I b),   V / (1 + I b)

How likely the result of a contest is: the standing of its teams, or their points.

A standing is a chain of links. With the messages of expectation propagation in place of the links its integral is a
product over neighbours, from the first team on; each link then has its probability in place of its message, both given
all other links. Of two teams that is exact.

The points of a team are a level of the contest, of which nothing is known, and its performance. So the margins of
neighbours are told one after the other, each given those before; a tie has the probability of less than half a unit.

A message about the performance of a team has a precision I and a surprise V, I times the distance of its mean from that
of the team. Of the performance of a member, which counts with the share w and has the variance s, it says, since the
rest of the team has the variance R = (variance of the team) - w^2 s,

    I_i = w^2 I / (1 + I R),   V_i = w V / (1 + I R)

Without a draw margin teams that tie in a contest of more than two share a level, of which nothing else is known, and
each performs about it with the variance (pi / 2 - 1) noise^2 n / 2 of a team of n: so between two whose strengths are
known a tie says as much as half a win and half a loss, and the order of those who tie does not count.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import log_ndtr

from jaxrate.core.array_types import Array
from jaxrate.events import Rounds
from jaxrate.numerics.special_functions import log_normal_within, normal_moments_above_margin
from jaxrate.numerics.sums_and_recurrences import log_factor_integral
from jaxrate.systems.rounds.cdf_sums import sum_by_group
from jaxrate.systems.rounds.round_teams import (
    Teams,
    gather_team_values_to_members,
    scale_performance_noise,
    sum_by_team,
)
from jaxrate.systems.skills.match_strengths import StrengthBelief, make_strength_belief, match_growth_variance
from jaxrate.systems.skills.outcome_likelihoods import Message, margin_to_rating_points
from jaxrate.systems.skills.settings import (
    SIDE_COLUMN,
    Constants,
    ModelSettings,
    State,
    statistic_noise_name,
    statistic_scale_name,
)
from jaxrate.systems.trueskill import (
    LinkMoments,
    PropagatedStanding,
    link_moments_with_draw_margin,
    propagate_standing,
    standing_to_team_messages,
)


class MemberStrengths(NamedTuple):
    """The participants [P] of a contest before it."""

    belief: StrengthBelief  # x^T theta of each
    points: Array  # [P] the mean of what each brings: x^T theta, experience and covariates
    share: Array  # [P] of a member's performance that is one of the team's; 0 for padding


class MemberPerformances(NamedTuple):
    """How well participants [P] should perform."""

    mean: Array
    variance: Array  # of skills and of noise


class TeamPerformances(NamedTuple):
    """The teams [T] of a contest before it: 0 and 1 for padding."""

    mean: Array
    variance: Array  # of skills and of noise
    margin_square: Array  # the square of a team's part in a draw margin, of which a player alone has 1


def make_member_strengths(
    model: ModelSettings, constants: Constants, rows: State, event: Rounds, teams: Teams
) -> MemberStrengths:
    """The strengths of the participants of a contest, which lets their skills grow as a match does."""
    loading = make_member_loadings(model, event)
    belief = make_strength_belief(loading, rows, match_growth_variance(constants, rows, None))
    points = belief.mean + member_effects(model, constants, rows.games, event)
    return MemberStrengths(belief, points, member_shares(model, event, teams))


def member_effects(model: ModelSettings, constants: Constants, games: Array | None, event: Rounds) -> Array:
    """[P] what participants bring beside their skills: experience, of so many games, and covariates."""
    points = jnp.zeros_like(event.weight)
    if games is not None:
        points = points + constants.params.experience * jnp.log1p(games)
    for name in model.covariates:
        points = points + getattr(constants.params, name) * further_columns(event)[name]
    return points


def member_shares(model: ModelSettings, event: Rounds, teams: Teams) -> Array:
    """[P] the share of a member's performance that is one of the team's; 0 for padding."""
    share = event.weight
    if model.team_performance == "mean":
        whole = gather_team_values_to_members(teams, sum_by_team(teams, share))
        share = jnp.where(share > 0, share / jnp.where(share > 0, whole, 1.0), 0.0)
    return share


def make_member_loadings(model: ModelSettings, event: Rounds) -> Array | None:
    """x [P, D] of participants: the common skill, the category that each meets, their side, form; None if D = 1."""
    if model.size == 1:
        return None
    one = jnp.ones_like(event.weight)[:, None]
    parts = [one]
    if model.modifiers:
        share: Any = event.category
        if jnp.issubdtype(share.dtype, jnp.integer):
            share = jax.nn.one_hot(share, model.categories, dtype=one.dtype)
        parts.append(share)
    if model.own_side:
        parts.append(further_columns(event)[SIDE_COLUMN][:, None])
    if model.form:
        parts.append(one)
    return jnp.concatenate(parts, axis=-1)


def further_columns(event: Rounds) -> dict[str, Array]:
    """The further columns of the participants, which `check` found there."""
    named_columns: Any = event.columns
    return named_columns


def member_performances(constants: Constants, members: MemberStrengths) -> MemberPerformances:
    """The performances of single members; their noise has half the variance of that of a difference of two."""
    return MemberPerformances(members.points, members.belief.variance + 0.5 * constants.noise)


def make_team_performances(
    model: ModelSettings,
    constants: Constants,
    share: Array,
    performances: MemberPerformances,
    event: Rounds,
    teams: Teams,
) -> TeamPerformances:
    """The performances of teams by those of members, their shares [P], team sizes and the noise of playing together."""
    params, points = constants.params, performances.mean
    real, several = teams.size > 0, teams.size > 1
    if params.size_advantage is not None:
        points = points - params.initial_rating
    mean = sum_by_team(teams, share * points)
    if params.size_advantage is not None:
        number = sum_by_team(teams, event.weight)
        mean = mean + params.size_advantage * jnp.log(jnp.where(real, number, 1.0))
    variance = sum_by_team(teams, share**2 * performances.variance)
    if params.team_noise is not None:
        variance = variance + jnp.where(several, params.team_noise**2, 0.0)
    size = teams.size.astype(mean.dtype)
    if model.team_performance == "mean":
        size = jnp.where(real, 1.0 / jnp.maximum(size, 1.0), 0.0)
    return TeamPerformances(mean, jnp.where(real, variance, 1.0), size)


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
    """The messages of the links of a standing to teams, or to the levels at which they tie."""
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
    """The scale and noise of each statistic, its numbers [P], 0 where there is none, and whether there is one [P]."""
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


def result_log_likelihood(
    model: ModelSettings, constants: Constants, performances: TeamPerformances, event: Rounds, teams: Teams
) -> Array:
    """[] of the standing, or of points the log density of the margins of neighbours in their own units."""
    if model.outcome == "margin":
        return margins_log_density(model, constants, performances, event, teams)
    return standing_log_likelihood(constants, performances, event, teams)


def standing_log_likelihood(constants: Constants, performances: TeamPerformances, event: Rounds, teams: Teams) -> Array:
    """[] the log probability of the standing, by expectation propagation."""
    mean, variance, _ = performances
    spread = tie_spread(constants, performances, event, teams)
    link, above, ahead_above, below, ahead_below = propagate_contest_standing(
        constants, performances, spread, event, teams
    )
    gap, real, tied = mean[:-1] - mean[1:], teams.size[1:] > 0, teams.rank[:-1] == teams.rank[1:]
    square = above[:-1] + below[1:]
    lead, inverse = gap + ahead_above[:-1] - ahead_below[1:], lax.rsqrt(square)
    link_variance = link.variance
    if spread is not None:
        variance, share_level = variance + spread, tied & (spread[1:] > 0)
        link_variance = jnp.where(share_level, 1.0, link_variance)
    factor = 1.0 / link_variance, link.mean / link_variance
    log_probability = link_log_probability(
        lead * inverse, link_margins(constants, performances) * inverse, tied, constants.params.draw_margin is not None
    )
    terms = log_probability - log_factor_integral(lead, square, *factor)
    ahead, square_above = gap + ahead_above[:-1], above[:-1] + variance[1:]
    terms = terms + log_factor_integral(ahead, square_above, *factor)
    if spread is not None:
        terms = jnp.where(share_level, level_log_probability(ahead, square_above, spread, teams), terms)
    return jnp.sum(jnp.where(real, terms, 0.0))


def level_log_probability(ahead: Array, square: Array, spread: Array, teams: Teams) -> Array:
    """[T - 1] of teams that share the level of those before them: the density that they do, N(ahead, square) at 0.

    It is told as a share of what it would be if all performances were alike and certain, and so has no unit.
    """
    precision = jnp.cumsum(jnp.where(spread > 0, 1.0 / jnp.where(spread > 0, spread, 1.0), 0.0))
    before_tie = jnp.pad(precision, (1, 0))[teams.rank[:-1]]
    known = spread[1:] + 1.0 / jnp.where(spread[1:] > 0, precision[:-1] - before_tie, 1.0)
    known = jnp.where(spread[1:] > 0, known, 1.0)
    return 0.5 * (jnp.log(known / square) - ahead * ahead / square)


def link_log_probability(lead: Array, margin: Array, tied: Array, has_draws: bool) -> Array:
    """[T - 1] of a difference N(lead, 1) beyond the margin, or within it where teams tie.

    Without draws half the log probabilities of a win and of a loss.
    """
    win = log_ndtr(lead - margin)
    if has_draws:
        return jnp.where(tied, log_normal_within(lead, jnp.where(tied, margin, 1.0)), win)
    return jnp.where(tied, 0.5 * (win + log_ndtr(-lead)), win)


def margins_log_density(
    model: ModelSettings, constants: Constants, performances: TeamPerformances, event: Rounds, teams: Teams
) -> Array:
    """[] the log density of the margins of neighbours, in their own units."""
    params, mask = constants.params, teams.size > 0
    margin = neighbour_margins(model, event, teams)
    y = margin_to_rating_points(constants, margin)
    half = margin_to_rating_points(constants, jnp.full_like(margin, 0.5))
    ahead = -jnp.cumsum(jnp.pad(y, (1, 0))) - performances.mean
    weight = jnp.where(mask, 1.0 / performances.variance, 0.0)
    total = jnp.cumsum(weight)
    level = jnp.cumsum(weight * ahead) / jnp.where(total > 0, total, 1.0)  # as those so far let expect
    surprise = level[:-1] - ahead[1:]  # of the margin
    inverse = lax.rsqrt(1.0 / jnp.where(total[:-1] > 0, total[:-1], 1.0) + performances.variance[1:])
    slope = jnp.log(params.margin_scale * inverse)
    if params.compression is not None:
        slope = slope - jnp.log1p(margin / params.compression)
    density = slope - 0.5 * (surprise * inverse) ** 2 - 0.5 * math.log(2.0 * math.pi)
    tied = teams.rank[:-1] == teams.rank[1:]
    within = log_normal_within(jnp.where(tied, surprise * inverse, 0.0), jnp.where(tied, half * inverse, 1.0))
    return jnp.sum(jnp.where(mask[1:], jnp.where(tied, within, density), 0.0))


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
