"""Elo-MMX of teams (Ebtekar and Liu 2021, section 7).

Members perform at P_j, of mean mu_j and variance delta_j^2 = sigma_j^2 + beta_j^2, and their team at sum_j c_j P_j: of
c_j = 1 the sum, of c_j = 1 / n the mean of n members. It has a Gaussian belief, of mean M and variance V,

    M = sum_j c_j mu_j,   V = sum_j c_j^2 delta_j^2

so that Theorem 3.3 infers the team's performance p, the mode of what the ranks leave possible. How sharply they tell it
is the curvature there of all terms of Q but its own, C = -Q'(p) - 1 / V. By Laplace's approximation the performance has
the precision 1 / V + C after the round: its variance has fallen by the share K = C V / (1 + C V). What this says of the
members are "elementary facts about multivariate Gaussian distributions":

    E[P_j] = mu_j + c_j delta_j^2 / V (p - M)
    mu_j <- mu_j + c_j sigma_j^2 / V (p - M),   sigma_j^2 <- sigma_j^2 - K c_j^2 sigma_j^4 / V

The paper takes p for known: K = 1. That is nearly so among many teams; but of only two, the result tells which of them
performed better, and little about how well (K = 0.34 where they were alike). In rounds in which nobody has
team-mates K is 1, as in Elo-MMX of players. A ceiling lowers p, and leaves K as it is.

A player in several teams learns from each of them as if the others were those of somebody like them, and what the teams
say is multiplied (`rounds/round_teams.py`). The skill drifts once, by the largest of their weights.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.events import Rounds
from jaxrate.systems.rounds import cdf_sums, expected_wins, performance_inference
from jaxrate.systems.rounds.performance_inference import NORMAL_NOISE
from jaxrate.systems.rounds.round_teams import (
    Teams,
    gather_team_values_to_members,
    sum_by_team,
    teams_by_standing,
    teams_with_result_hidden,
)

TABLE_FACTOR = 4  # times the points of the tables: teams perform more evenly than players


class TeamPriors(NamedTuple):
    """The teams of a round before it."""

    part: Array  # [P] c_j; 0 for padding
    mean: Array  # [T] M
    variance: Array  # [T] V; 1 for padding
    there: Array  # [T] False for padding


def team_performance_priors(
    sum_or_mean: str, rating: Array, performance_variance: Array, event: Rounds, teams: Teams
) -> TeamPriors:
    """The teams, whose performance is the sum or the mean of their members', ratings and variances delta^2 [P]."""
    size = jnp.maximum(teams.size, 1).astype(rating.dtype)
    part = 1.0 / gather_team_values_to_members(teams, size) if sum_or_mean == "mean" else jnp.ones_like(rating)
    part = jnp.where(cdf_sums.participant_mask(event), part, 0.0)
    mask = teams.size > 0
    return TeamPriors(
        part,
        sum_by_team(teams, part * rating),
        jnp.where(mask, sum_by_team(teams, part**2 * performance_variance), 1.0),
        mask,
    )


def predict(team_performance: str, rating: Array, square: Array, event: Rounds, table_points: int) -> Array:
    """[P] the share of the other teams that one's own is expected to beat."""
    teams = teams_with_result_hidden(event)
    priors = team_performance_priors(team_performance, rating, square, event, teams)
    below, _ = expected_wins.expected_normal_wins_and_losses(
        priors.mean, jnp.sqrt(priors.variance), priors.there, TABLE_FACTOR * table_points
    )
    return gather_team_values_to_members(teams, expected_wins.expected_win_share(below, priors.there))


class TeamRound(NamedTuple):
    """The teams of a round, and its result."""

    priors: TeamPriors
    teams: Teams
    standing: performance_inference.RoundStandingSums  # of the teams


def prepare_team_inference(
    team_performance: str,
    rating: Array,
    performance_variance: Array,
    event: Rounds,
    table_points: int,
    ties: performance_inference.TieWeights,
) -> TeamRound:
    """The state of a team round from which performances and needed ranks follow; arguments as of `predict`."""
    teams = teams_by_standing(event)
    priors = team_performance_priors(team_performance, rating, performance_variance, event, teams)
    ranked = event._replace(rank=teams.rank, weight=priors.there.astype(priors.mean.dtype))
    standing = performance_inference.make_round_standing_sums(
        NORMAL_NOISE, priors.mean, jnp.sqrt(priors.variance), ranked, TABLE_FACTOR * table_points, ties
    )
    return TeamRound(priors, teams, standing)


def infer_member_performances(
    team_round: TeamRound, rating: Array, variance: Array, noise: Array, event: Rounds
) -> tuple[Array, Array]:
    """[P] the expected performances of the members, given their teams', and their variances sigma^2 after the round.

    Args:
      team_round: the round, of ratings and of variances `variance` + `noise`.
      rating: [P] mu.
      variance: [P] sigma^2.
      noise: [P] beta^2.
      event: the round.
    """
    (part, mean, spread, _), teams, standing = team_round
    p = performance_inference.infer_performance_from_standing(standing)
    information = spread * performance_inference.rank_information_about_performance(standing, p)
    information = jnp.where(jnp.any(teams.size > 1), information / (1.0 + information), 1.0)
    if event.ceiling is not None:
        p = jnp.minimum(p, _team_rating_ceilings(team_round, event.ceiling))
    surprise, precision = (gather_team_values_to_members(teams, x) for x in ((p - mean) / spread, information / spread))
    square = variance + noise
    left = 1.0 - part**2 * variance * precision
    least = noise / square  # if one's own performance were known
    return rating + part * square * surprise, variance * jnp.maximum(left, least)


def worst_team_ranks_keeping_rating(team_round: TeamRound, event: Rounds) -> Array:
    """[P] the rank that would have kept the ratings of one's team."""
    needed = performance_inference.bisected_worst_rank_keeping_rating(team_round.standing)
    if event.ceiling is not None:
        needed = jnp.where(_team_rating_ceilings(team_round, event.ceiling) < team_round.priors.mean, 0, needed)
    return gather_team_values_to_members(team_round.teams, needed)


def _team_rating_ceilings(team_round: TeamRound, participant_ceilings: Array) -> Array:
    """[T] of a team, from everybody's."""
    parts = sum_by_team(team_round.teams, team_round.priors.part)
    return jnp.where(team_round.priors.there, parts, 1.0) * participant_ceilings
