"""Results of contests of teams: performances, evidence of members, likelihoods and messages.

Statistics come first, quits second, and the result last, each told at what is believed after those before it. So the
log likelihood of all is a sum: that of each one's own statistics, that of who quit, and that of the result.

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
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jax.scipy.special import log_ndtr

from jaxrate.core.array_types import Array
from jaxrate.events import Rounds
from jaxrate.numerics.linear_algebra import log_factor_integral
from jaxrate.numerics.special_functions import log_normal_within, normal_moments_above_margin
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities
from jaxrate.systems.rounds.cdf_sums import sum_by_group
from jaxrate.systems.rounds.round_teams import (
    Teams,
    gather_team_values_to_members,
    scale_performance_noise,
    sum_by_team,
    teams_by_standing,
    teams_with_result_hidden,
)
from jaxrate.systems.skills.belief_updates import Inference, Message, ScalarInference, ScalarMessage
from jaxrate.systems.skills.linear_predictors import PredictorMoments
from jaxrate.systems.skills.outcome_likelihoods import (
    condition_lead_on_statistics,
    log_density_of_margin,
    margin_to_rating_points,
)
from jaxrate.systems.skills.parts import STRENGTH, Constants
from jaxrate.systems.skills.settings import ModelSettings
from jaxrate.systems.trueskill import (
    LinkMoments,
    PropagatedStanding,
    expected_share_of_teams_beaten,
    link_moments_with_draw_margin,
    match_quality,
    propagate_standing,
    round_outcome_probabilities,
    standing_to_team_messages,
    win_probabilities,
)


class NormalBelief(NamedTuple):
    """What is believed of the strength [P] of each participant, or of how well they should perform."""

    mean: Array
    variance: Array

    def condition(self, message: ScalarMessage) -> "NormalBelief":
        """The belief after a message."""
        variance = self.variance / (1.0 + self.variance * message.precision)
        return NormalBelief(self.mean + variance * message.surprise, variance)

    def performances(self, constants: Constants) -> "NormalBelief":
        """The performances that follow from strengths, with half the noise variance of a difference of two."""
        return NormalBelief(self.mean, self.variance + 0.5 * constants.noise)


class TeamPerformances(NamedTuple):
    """The teams [T] of a contest before it: 0 and 1 for padding."""

    mean: Array
    variance: Array  # of skills and of noise
    margin_square: Array  # the square of a team's part in a draw margin, of which a player alone has 1


def member_strengths(players: PredictorMoments) -> NormalBelief:
    """[P] what each participant should bring: x^T theta, experience and covariates."""
    return NormalBelief(players.mean[..., STRENGTH] + players.effects, players.covariance[..., STRENGTH, STRENGTH])


def member_shares(model: ModelSettings, event: Rounds, teams: Teams) -> Array:
    """[P] the share of a member's performance that is one of the team's; 0 for padding."""
    share = event.weight
    if model.team_performance == "mean":
        whole = gather_team_values_to_members(teams, sum_by_team(teams, share))
        share = jnp.where(share > 0, share / jnp.where(share > 0, whole, 1.0), 0.0)
    return share


def make_team_performances(
    model: ModelSettings,
    constants: Constants,
    share: Array,
    performances: NormalBelief,
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


def infer_from_standing(
    model: ModelSettings, constants: Constants, performances: TeamPerformances, event: Rounds, teams: Teams
) -> ScalarInference:
    """[T] what the standing says of teams in its order, and its log probability, by expectation propagation."""
    mean, variance, _ = performances
    margin, moments = neighbour_draw_margins(constants, performances), link_moments_with_draw_margin(event)
    spread = tie_variances(constants, performances, event, teams)
    if spread is not None:  # then the links are of levels at which teams tie
        moments, variance = link_moments_without_draw_margin(spread), variance + spread
    standing = propagate_standing(None, moments, mean, variance, margin, teams)
    message = ScalarMessage(*standing_to_team_messages(standing, mean))
    message = message if spread is None else message.through(spread)
    return ScalarInference(message, partial(standing_log_probability, constants, performances, standing, spread, teams))


def standing_log_probability(
    constants: Constants,
    performances: TeamPerformances,
    standing: PropagatedStanding,
    spread: Array | None,
    teams: Teams,
) -> Array:
    """[] the log probability of a standing, by the messages of its propagation."""
    mean, variance, _ = performances
    margin = neighbour_draw_margins(constants, performances)
    variance = variance if spread is None else variance + spread
    link, above, ahead_above, below, ahead_below = standing
    gap, real, tied = mean[:-1] - mean[1:], teams.size[1:] > 0, teams.rank[:-1] == teams.rank[1:]
    square = above[:-1] + below[1:]
    lead, inverse = gap + ahead_above[:-1] - ahead_below[1:], lax.rsqrt(square)
    link_variance = link.variance
    if spread is not None:
        share_level = tied & (spread[1:] > 0)
        link_variance = jnp.where(share_level, 1.0, link_variance)
    factor = 1.0 / link_variance, link.mean / link_variance
    log_probability = neighbour_result_log_probability(
        lead * inverse, margin * inverse, tied, constants.params.draw_margin is not None
    )
    terms = log_probability - log_factor_integral(lead, square, *factor)
    ahead, square_above = gap + ahead_above[:-1], above[:-1] + variance[1:]
    terms = terms + log_factor_integral(ahead, square_above, *factor)
    if spread is not None:
        terms = jnp.where(share_level, tied_level_log_density(ahead, square_above, spread, teams), terms)
    return jnp.sum(jnp.where(real, terms, 0.0))


def tie_variances(constants: Constants, performances: TeamPerformances, event: Rounds, teams: Teams) -> Array | None:
    """[T] the variances of performances about the level of a tie; 0 of teams without one, None of all."""
    if constants.params.draw_margin is not None or event.strict is not None:
        return None
    tied = jnp.pad((teams.rank[:-1] == teams.rank[1:]) & (teams.size[1:] > 0), 1)
    variance = (0.25 * math.pi - 0.5) * constants.noise * performances.margin_square
    return jnp.where((tied[:-1] | tied[1:]) & (jnp.sum(teams.size > 0) > 2), variance, 0.0)


def neighbour_draw_margins(constants: Constants, performances: TeamPerformances) -> Array:
    """[T - 1] the draw margins of neighbours; 0 without one."""
    square = performances.margin_square
    if constants.params.draw_margin is None:
        return jnp.zeros_like(square[1:])
    return constants.params.draw_margin * jnp.sqrt(0.5 * (square[:-1] + square[1:]))


def link_moments_without_draw_margin(spread: Array) -> LinkMoments:
    """Moments of a difference above 0; of teams that tie half those of a win and half those of a loss."""

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


def neighbour_point_margins(model: ModelSettings, event: Rounds, teams: Teams) -> Array:
    """[T - 1] differences of the mean points of neighbours, in their own units; 0 of those who tie."""
    (name,) = model.margin
    real = teams.size > 0
    total = sum_by_team(teams, jnp.where(event.weight > 0, (event.columns or {})[name], 0.0))
    points = jnp.where(real, total / jnp.maximum(teams.size, 1).astype(total.dtype), 0.0)
    if event.strict is None:
        rank = jnp.minimum(teams.rank, len(points) - 1)
        by_rank, count = sum_by_group(rank, jnp.stack([points, real.astype(points.dtype)], axis=-1)).T
        points = (by_rank / jnp.maximum(count, 1.0))[rank]
    counts = (teams.rank[:-1] != teams.rank[1:]) & real[1:]
    return jnp.where(counts, jnp.abs(points[:-1] - points[1:]), 0.0)


def infer_from_team_points(
    model: ModelSettings, constants: Constants, performances: TeamPerformances, event: Rounds, teams: Teams
) -> ScalarInference:
    """[T] what points say of teams, and the log density of the margins of neighbours, in their own units.

    Points are the level of the contest, of which nothing is known, and the team's performance. Each team learns the
    level from the others, by weights 1 / variance: that is the Kalman update of all at once. A margin has the size of
    the difference of the points of two neighbours, compressed, and the sign that the standing says.
    """
    mask = teams.size > 0
    margin = neighbour_point_margins(model, event, teams)
    y = margin_to_rating_points(constants, margin)
    ahead = -jnp.cumsum(jnp.pad(y, (1, 0))) - performances.mean
    weight = jnp.where(mask, 1.0 / performances.variance, 0.0)
    total = jnp.sum(weight)
    level = jnp.sum(weight * ahead) / jnp.where(jnp.any(mask), total, 1.0)
    terms = jnp.maximum(total - weight, 0.0), total * (ahead - level)
    message = ScalarMessage(*(jnp.where(mask, x, 0.0) for x in terms))

    def log_likelihood() -> Array:
        total_above = jnp.cumsum(weight)
        positive = jnp.where(total_above > 0, total_above, 1.0)
        level_above = jnp.cumsum(weight * ahead) / positive  # as those so far let expect
        surprise = level_above[:-1] - ahead[1:]  # of the margin
        square = 1.0 / positive[:-1] + performances.variance[1:]
        sign = jnp.where(teams.rank[:-1] == teams.rank[1:], 0.0, jnp.ones_like(y))
        density = log_density_of_margin(constants, sign, margin, y - surprise, square)
        return jnp.sum(jnp.where(mask[1:], density, 0.0))

    return ScalarInference(message, log_likelihood)


def member_messages(
    share: Array, members: NormalBelief, performances: TeamPerformances, message: ScalarMessage, teams: Teams
) -> ScalarMessage:
    """[P] what messages to their teams say of the performances of members."""
    *of_team, variance = (gather_team_values_to_members(teams, x) for x in (*message, performances.variance))
    rest = jnp.maximum(variance - share**2 * members.variance, 0.0)
    precision, surprise = ScalarMessage(*of_team).through(rest)
    return ScalarMessage(share**2 * precision, share * surprise)


def condition_on_statistics(
    model: ModelSettings, constants: Constants, members: NormalBelief, share: Array, event: Rounds, teams: Teams
) -> tuple[ScalarMessage, Array]:
    """[P] what the statistics of each participant say of them, and the log density of all."""
    lead, opponents, counts = leads_over_opponents(members, share > 0, teams)
    variance = members.variance + opponents
    measured = condition_lead_on_statistics(model, constants, lead, variance, event.columns, counts)
    return measured.message.through(opponents), measured.log_density


def leads_over_opponents(members: NormalBelief, mask: Array, teams: Teams) -> tuple[Array, Array, Array]:
    """[P] how far members are ahead of the mean of all opponents, the variance of that, and whether there are any."""

    def sum_over_opponents(values: Array) -> Array:
        by_team = sum_by_team(teams, jnp.where(mask, values, 0.0))
        return gather_team_values_to_members(teams, jnp.sum(by_team) - by_team)

    count = sum_over_opponents(mask.astype(members.mean.dtype))
    number = jnp.maximum(count, 1.0)
    lead = members.mean - sum_over_opponents(members.mean) / number
    return lead, sum_over_opponents(members.variance) / number**2, mask & (count > 0)


def condition_on_quits(
    column: str, constants: Constants, performances: NormalBelief, event: Rounds
) -> tuple[ScalarMessage, Array]:
    """[P] what it says of performances who quit and who stayed, and its log probability; 0 where it is missing."""
    params, value, variance = constants.params, (event.columns or {})[column], performances.variance
    sign = jnp.where(value > 0.5, -1.0, 1.0)  # of the side of the threshold on which they are
    ahead = sign * (performances.mean - params.quit_threshold) / jnp.sqrt(variance)
    push, lost, left, _ = normal_moments_above_margin(ahead, jnp.zeros_like(ahead))
    terms = lost / (variance * left), sign * push / (jnp.sqrt(variance) * left), log_ndtr(ahead)
    counts = ~jnp.isnan(value) & (event.weight > 0)
    precision, surprise, log_probability = (jnp.where(counts, x, 0.0) for x in terms)
    return ScalarMessage(precision, surprise), log_probability


def tied_level_log_density(ahead: Array, square: Array, spread: Array, teams: Teams) -> Array:
    """[T - 1] the log density that teams tie with those before them, log N(ahead, square) at 0, where they do.

    It is told as a share of what it would be if all performances were alike and certain, and so has no unit.
    """
    precision = jnp.cumsum(jnp.where(spread > 0, 1.0 / jnp.where(spread > 0, spread, 1.0), 0.0))
    before_tie = jnp.pad(precision, (1, 0))[teams.rank[:-1]]
    known = spread[1:] + 1.0 / jnp.where(spread[1:] > 0, precision[:-1] - before_tie, 1.0)
    known = jnp.where(spread[1:] > 0, known, 1.0)
    return 0.5 * (jnp.log(known / square) - ahead * ahead / square)


def neighbour_result_log_probability(lead: Array, margin: Array, tied: Array, has_draws: bool) -> Array:
    """[T - 1] of a difference N(lead, 1) beyond the margin, or within it of ties; no draws: half of both."""
    win = log_ndtr(lead - margin)
    if has_draws:
        return jnp.where(tied, log_normal_within(lead, jnp.where(tied, margin, 1.0)), win)
    return jnp.where(tied, 0.5 * (win + log_ndtr(-lead)), win)


class MembersBeforeResult(NamedTuple):
    """Members [P] after what was counted of each, and before the result."""

    statistics: ScalarMessage  # about x^T theta
    quits: ScalarMessage  # about performances, after the statistics
    strengths: NormalBelief  # after the statistics
    expected: NormalBelief  # performances after the statistics
    performances: NormalBelief  # after the quits
    log_likelihood: Array  # [P] of statistics and quits


def is_contested(event: Rounds) -> Array:
    """[] whether there are two teams, or more."""
    size = teams_by_standing(event).size
    return size[min(1, len(size) - 1)] > 0


def condition_members_before_result(
    model: ModelSettings, constants: Constants, strengths: NormalBelief, share: Array, event: Rounds, teams: Teams
) -> MembersBeforeResult:
    """The members after their statistics and quits."""
    log_likelihood = jnp.zeros_like(share)
    statistics = quits = ScalarMessage(log_likelihood, log_likelihood)
    if model.statistics:
        statistics, log_likelihood = condition_on_statistics(model, constants, strengths, share, event, teams)
        strengths = strengths.condition(statistics)
    expected = performances = strengths.performances(constants)
    if model.quit is not None:
        quits, log_probability = condition_on_quits(model.quit, constants, expected, event)
        performances, log_likelihood = expected.condition(quits), log_likelihood + log_probability
    return MembersBeforeResult(statistics, quits, strengths, expected, performances, log_likelihood)


# [T] about the performances of teams, of the model, constants, performances, event and teams
TeamLikelihood = Callable[[ModelSettings, Constants, TeamPerformances, Rounds, Teams], ScalarInference]


def infer_from_contest(
    likelihood: TeamLikelihood, model: ModelSettings, constants: Constants, players: PredictorMoments, event: Rounds
) -> Inference:
    """What a contest says of x^T theta of each participant; points and statistics have densities in their own units."""
    constants, teams = scale_performance_noise(constants, event), teams_by_standing(event)
    share, strengths = member_shares(model, event, teams), member_strengths(players)
    members = condition_members_before_result(model, constants, strengths, share, event, teams)
    performances = make_team_performances(model, constants, share, members.performances, event, teams)
    of_teams = likelihood(model, constants, performances, event, teams)
    message = member_messages(share, members.performances, performances, of_teams.message, teams)
    message = message.after(members.quits, members.performances.mean - members.expected.mean)
    message = message.through(0.5 * constants.noise)  # from performances to strengths
    message = message.after(members.statistics, members.strengths.mean - strengths.mean)

    def log_likelihood() -> Array:
        return jnp.where(is_contested(event), of_teams.log_likelihood() + jnp.sum(members.log_likelihood), 0.0)

    return Inference(Message(message.precision[..., None, None], message.surprise[..., None]), log_likelihood)


def predict_team_performances(
    model: ModelSettings, constants: Constants, players: PredictorMoments, event: Rounds
) -> tuple[Teams, Array, TeamPerformances]:
    """Teams in the order of their numbers, which does not tell the result, the shares of members, and performances."""
    teams = teams_with_result_hidden(event)
    share = member_shares(model, event, teams)
    performances = member_strengths(players).performances(scale_performance_noise(constants, event))
    return teams, share, make_team_performances(model, constants, share, performances, event, teams)


def unit_draw_margin(constants: Constants) -> Array | None:
    """The draw margin of two teams is this times the root of the sum of their `margin_square`."""
    margin = constants.params.draw_margin
    return None if margin is None else 0.5**0.5 * margin


def contest_scores(model: ModelSettings, constants: Constants, players: PredictorMoments, event: Rounds) -> Array:
    """[P] the share of the other teams that one's own should beat; a draw is half a win."""
    teams, _, (mean, variance, square) = predict_team_performances(model, constants, players, event)
    return expected_share_of_teams_beaten(teams, mean, variance, unit_draw_margin(constants), square)


def contest_outcome_probabilities(
    model: ModelSettings, constants: Constants, players: PredictorMoments, event: Rounds
) -> OutcomeProbabilities:
    """[P] who wins and whether nobody does, of participants by their teams."""
    teams, weight, (mean, variance, square) = predict_team_performances(model, constants, players, event)
    margin = unit_draw_margin(constants)
    win = win_probabilities(teams, mean, variance, margin, square)
    share = expected_share_of_teams_beaten(teams, mean, variance, margin, square)
    skill = sum_by_team(teams, weight**2 * players.covariance[..., STRENGTH, STRENGTH])
    quality = match_quality(variance - skill, mean, variance, teams.size > 0)
    return round_outcome_probabilities(teams, win, share, quality)
