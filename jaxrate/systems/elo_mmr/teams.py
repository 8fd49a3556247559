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
say is multiplied (`rounds/seats.py`). The skill drifts once, by the largest of their weights.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxrate.events import Array, Rounds
from jaxrate.systems.rounds import expected, field, inferred, performance
from jaxrate.systems.rounds.teams import Teams, by_number, each, line_up, total

PERFORMANCES = "sum", "mean"  # of a team: what it is of its members'
FINER = 4  # times the points of the tables: teams perform more evenly than players


class Line(NamedTuple):
    """The teams of a round before it."""

    part: Array  # [P] c_j; 0 for padding
    mean: Array  # [T] M
    variance: Array  # [T] V; 1 for padding
    there: Array  # [T] False for padding


def line(kind: str, rating: Array, square: Array, event: Rounds, teams: Teams) -> Line:
    """The teams, of `PERFORMANCES` and members' ratings and variances delta^2 [P]."""
    size = jnp.maximum(teams.size, 1).astype(rating.dtype)
    part = 1.0 / each(teams, size) if kind == "mean" else jnp.ones_like(rating)
    part = jnp.where(field.real(event), part, 0.0)
    there = teams.size > 0
    return Line(part, total(teams, part * rating), jnp.where(there, total(teams, part**2 * square), 1.0), there)


def predict(kind: str, rating: Array, square: Array, event: Rounds, points: int) -> Array:
    """[P] the share of the other teams that one's own is expected to beat."""
    teams = by_number(event)
    known = line(kind, rating, square, event, teams)
    below, _ = expected.normal(known.mean, jnp.sqrt(known.variance), known.there, FINER * points)
    return each(teams, expected.share(below, known.there))


class Known(NamedTuple):
    """The teams of a round, and its result."""

    line: Line
    teams: Teams
    ranked: Rounds  # the round of the teams
    standing: performance.Standing


def look(
    kind: str, rating: Array, square: Array, event: Rounds, points: int, split_ties: performance.TieSplit
) -> Known:
    """What the performances and the ranks needed both follow from; the arguments are those of `predict`."""
    teams = line_up(event)
    known = line(kind, rating, square, event, teams)
    ranked = event._replace(rank=teams.rank, weight=known.there.astype(known.mean.dtype))
    settings = known.mean, jnp.sqrt(known.variance), ranked, FINER * points, split_ties
    return Known(known, teams, ranked, performance.standing(performance.NORMAL, *settings))


def infer(
    known: Known, rating: Array, variance: Array, noise: Array, event: Rounds, split_ties: performance.TieSplit
) -> tuple[Array, Array]:
    """[P] the expected performances of the members, given their teams', and their variances sigma^2 after the round.

    Args:
      known: the round, of ratings and of variances `variance` + `noise`.
      rating: [P] mu.
      variance: [P] sigma^2.
      noise: [P] beta^2.
      event: the round.
      split_ties: as of `performance.logistic`.
    """
    (part, mean, spread, _), teams, ranked, standing = known
    p = performance.general(standing, ranked, split_ties)
    told = spread * performance.curvature(standing, ranked, split_ties, p)
    told = jnp.where(jnp.any(teams.size > 1), told / (1.0 + told), 1.0)
    if event.ceiling is not None:
        p = jnp.minimum(p, _ceiling(known, event.ceiling))
    surprise, precision = (each(teams, x) for x in ((p - mean) / spread, told / spread))
    square = variance + noise
    left = 1.0 - part**2 * variance * precision
    least = noise / square  # if one's own performance were known
    return rating + part * square * surprise, variance * jnp.maximum(left, least)


def rank_needed(known: Known, event: Rounds, split_ties: performance.TieSplit) -> Array:
    """[P] the rank that would have kept the ratings of one's team."""
    needed = inferred.general(known.standing, known.ranked, split_ties)
    if event.ceiling is not None:
        needed = jnp.where(_ceiling(known, event.ceiling) < known.line.mean, 0, needed)
    return each(known.teams, needed)


def _ceiling(known: Known, ceiling: Array) -> Array:
    """[T] of a team, from everybody's."""
    return jnp.where(known.line.there, total(known.teams, known.line.part), 1.0) * ceiling
