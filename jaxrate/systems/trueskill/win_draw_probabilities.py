"""What TrueSkill expects in full: who wins, whether nobody does, the ranks, and match quality."""

import jax.numpy as jnp
from jax import lax
from jax.scipy.special import log_ndtr, ndtr

from jaxrate.core.array_types import Array
from jaxrate.events import Matches, Rounds
from jaxrate.systems.outcome_prediction_forms import OutcomeProbabilities
from jaxrate.systems.rounds import performance_distributions
from jaxrate.systems.rounds.round_teams import Teams, sum_by_team, teams_with_result_hidden
from jaxrate.systems.trueskill.state_and_prediction import (
    Constants,
    State,
    match_lead_deviation_and_margin,
    scale_noise_and_margin,
    team_performance_moments,
)
from jaxrate.systems.trueskill.state_and_prediction import predict as expected_score


def predict_outcome_probabilities(constants: Constants, rows: State, event: Matches | Rounds) -> OutcomeProbabilities:
    if isinstance(event, Matches):
        ahead, spread, margin = match_lead_deviation_and_margin(constants, rows, event)
        win = ndtr((jnp.stack([ahead, -ahead]) - margin) / spread)
        behind = -jnp.abs(ahead)  # where the tails keep their digits
        draw = jnp.maximum(ndtr((behind + margin) / spread) - ndtr((behind - margin) / spread), 0.0)
        draw = jnp.broadcast_to(draw, (2,))
        mean, ones = 0.5 * jnp.stack([ahead, -ahead]), jnp.ones_like(rows.rating)
        quality = match_quality(constants.noise * ones, mean, rows.variance + constants.noise, ones > 0)
        return OutcomeProbabilities(win, draw, 2.0 - win - 0.5 * draw, jnp.broadcast_to(quality, (2,)))
    share, constants = expected_score(constants, rows, event), scale_noise_and_margin(constants, event)
    teams = teams_with_result_hidden(event)
    mean, variance = team_performance_moments(constants, rows, event, teams)
    square, size = sum_by_team(teams, event.weight**2), teams.size.astype(mean.dtype)
    now = sum_by_team(teams, event.weight**2 * (rows.variance + constants.noise))
    quality = match_quality(constants.noise * square, mean, jnp.where(teams.size > 0, now, 1.0), teams.size > 0)
    win = win_probabilities(teams, mean, variance, constants.margin, size)
    return round_outcome_probabilities(teams, win, share, quality)


def round_outcome_probabilities(teams: Teams, win: Array, share: Array, quality: Array) -> OutcomeProbabilities:
    """[P] of participants, from what their teams [T] expect to win, the shares [P] that they beat, and the quality."""
    mask = teams.size > 0
    draw = jnp.maximum(1.0 - jnp.sum(jnp.where(mask, win, 0.0)), 0.0)
    others, every = jnp.sum(mask.astype(win.dtype)) - 1.0, jnp.ones_like(share)
    return OutcomeProbabilities(win[teams.of], draw * every, 1.0 + (1.0 - share) * others, quality * every)


def win_probabilities(
    teams: Teams, mean: Array, variance: Array, unit_margin: float | Array, margin_square: Array
) -> Array:
    """[T] the probability that a team performs better than every other one by more than their margin.

    The margin is as in `expected_share_of_teams_beaten`.
    """
    deviation, mask = jnp.sqrt(variance), teams.size > 0
    nodes, weights = (
        jnp.asarray(x, mean.dtype)
        for x in (performance_distributions.NORMAL_FINE.nodes, performance_distributions.NORMAL_FINE.weights)
    )
    number = jnp.arange(len(mean), dtype=jnp.int32)

    def one(k: Array) -> Array:
        at = mean[k] + deviation[k] * nodes
        margin = unit_margin * jnp.sqrt(margin_square + margin_square[k])
        behind = log_ndtr((at[:, None] - (mean + margin)[None, :]) / deviation[None, :])
        behind = jnp.where((mask & (number != k))[None, :], behind, 0.0)
        return jnp.matmul(jnp.exp(jnp.sum(behind, axis=1)), weights, precision=lax.Precision.HIGHEST)

    return lax.map(one, number)


def match_quality(noise: Array, mean: Array, variance: Array, mask: Array) -> Array:
    """Match quality, of the noise of the teams' performances, their M, and V without tau.

    It is sqrt(det N / det C) exp(-g' C^-1 g / 2), where the differences of neighbours have covariances C (N if skills
    are known) and means g. Here det C = prod V sum 1 / V, and g' C^-1 g = sum (M - m)^2 / V about the mean m of M
    weighted by 1 / V, so that the order of the teams does not matter.
    """

    def log_det(x: Array) -> Array:
        x = jnp.where(mask, x, 1.0)
        return jnp.sum(jnp.log(x)) + jnp.log(jnp.sum(jnp.where(mask, 1.0 / x, 0.0)))

    precision = jnp.where(mask, 1.0 / variance, 0.0)
    centre = jnp.sum(precision * mean) / jnp.where(jnp.any(mask), jnp.sum(precision), 1.0)
    gap = jnp.sum(precision * (mean - centre) ** 2)
    return jnp.exp(0.5 * (log_det(noise) - log_det(variance) - gap))
