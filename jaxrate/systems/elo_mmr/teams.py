"""Elo-MMX of teams (Ebtekar and Liu 2021, section 7).

Members perform at P_j, of mean mu_j and variance delta_j^2 = sigma_j^2 + beta_j^2, and their team at sum_j c_j P_j: of
c_j = 1 the sum, of c_j = 1 / n the mean of n members. It has a Gaussian belief, of mean M and variance V,

    M = sum_j c_j mu_j,   V = sum_j c_j^2 delta_j^2

so that Theorem 3.3 infers the team's performance p from those of all teams. Given p, the members' are Gaussian too:

    E[P_j | p] = mu_j + c_j delta_j^2 / V (p - M)
    mu_j <- mu_j + c_j sigma_j^2 / V (p - M),   sigma_j^2 <- sigma_j^2 - c_j^2 sigma_j^4 / V

As the ranking is the same in any unit, sums are divided by the size of the largest team: performances are then looked
for between the same bounds as of players.
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
    part = 1.0 / (each(teams, size) if kind == "mean" else jnp.broadcast_to(jnp.max(size), rating.shape))
    part = jnp.where(field.real(event), part, 0.0)
    there = teams.size > 0
    return Line(part, total(teams, part * rating), jnp.where(there, total(teams, part**2 * square), 1.0), there)


def predict(kind: str, rating: Array, square: Array, event: Rounds, points: int) -> Array:
    """[P] the share of the other teams that one's own is expected to beat."""
    teams = by_number(event)
    known = line(kind, rating, square, event, teams)
    below, _ = expected.normal(known.mean, jnp.sqrt(known.variance), known.there, FINER * points)
    return each(teams, expected.share(below, known.there))


def infer(
    kind: str, rating: Array, variance: Array, noise: Array, event: Rounds, split_ties: bool, points: int
) -> tuple[Array, Array]:
    """[P] the expected performances of the members, given their teams', and their variances sigma^2 after the round.

    Args:
      kind: of `PERFORMANCES`.
      rating: [P] mu.
      variance: [P] sigma^2.
      noise: [P] beta^2.
      event: the round.
      split_ties, points: as of `performance.gaussian`.
    """
    teams, square = line_up(event), variance + noise
    known = line(kind, rating, square, event, teams)
    ranked = _ranked(known, event, teams)
    p = performance.gaussian(known.mean, jnp.sqrt(known.variance), ranked, split_ties, FINER * points)
    if event.ceiling is not None:
        p = jnp.minimum(p, _ceiling(known, event.ceiling, teams))
    surprise, precision = (each(teams, x) for x in ((p - known.mean) / known.variance, 1.0 / known.variance))
    left = 1.0 - known.part**2 * variance * precision
    least = noise / square  # if one's own performance were known
    return rating + known.part * square * surprise, variance * jnp.maximum(left, least)


def performances(
    kind: str, p: Array, rating: Array, square: Array, event: Rounds, split_ties: bool, points: int
) -> inferred.Performances:
    """Those of the members, `p` [P], with the rank that would have kept the ratings of the team."""
    teams = line_up(event)
    known = line(kind, rating, square, event, teams)
    ranked = _ranked(known, event, teams)
    needed = inferred.gaussian(known.mean, jnp.sqrt(known.variance), ranked, split_ties, FINER * points)
    if event.ceiling is not None:
        needed = jnp.where(_ceiling(known, event.ceiling, teams) < known.mean, 0, needed)
    return inferred.Performances(p, each(teams, needed))


def _ranked(known: Line, event: Rounds, teams: Teams) -> Rounds:
    """The round of the teams."""
    return event._replace(rank=teams.rank, weight=known.there.astype(known.mean.dtype))


def _ceiling(known: Line, ceiling: Array, teams: Teams) -> Array:
    """[T] of a team, from everybody's."""
    return jnp.where(known.there, total(teams, known.part), 1.0) * ceiling
