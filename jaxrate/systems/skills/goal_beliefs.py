"""What is believed of the goals of a match before it: the logs of the rates at which both sides should score.

With d by how much the first team should perform better (see system.py) and e the sum of the paces of both, in points,
and Q = log(10) / 400, the logs of the rates are normal,

    log rate_1 = log(goal_rate) + Q (e + d) / 2 + noise,   log rate_2 = log(goal_rate) + Q (e - d) / 2 + noise

with noise of deviation Q `goal_dispersion`, of both sides apart: Poisson's goals scatter more with it (Aitchison and Ho
1989, "The multivariate Poisson-log normal distribution"). Here they are level + gap and level - gap. A team of strength
s and pace o has an attack (s + o) / 2 and a defence (s - o) / 2: Q (attack of the first - defence of the second) is
what is told apart in the log of rate_1 (Maher 1982, "Modelling association football scores").
"""

import math
from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.core.system import split_sides
from jaxrate.events import Matches, Periods
from jaxrate.systems.skills.aging import add_to_diagonal, pad_common_skill_with_zeros
from jaxrate.systems.skills.match_strengths import (
    add_match_effects_to_lead,
    covariance_with_strength,
    experience_points,
    make_skill_loadings,
    match_growth_variance,
)
from jaxrate.systems.skills.settings_and_state import Constants, ModelSettings, State

LOG_RATE_LIMIT = 12.0  # gap, level and rates stay within exp(-12) and exp(12)
ROOT_RIDGE = 1e-6  # of variances, so that rounding leaves a root
HALF_Q = math.log(10.0) / 800.0  # of the logs of both rates, apart, for a point of the lead or of the pace


class TeamGoalBelief(NamedTuple):
    """What a team brings: its strength x^T theta, and its pace."""

    loading: Array  # [..., D] x
    strength: Array  # [...]
    pace: Array  # [...]
    with_strength: Array  # [..., D] covariances of all parts with the strength
    with_pace: Array  # [..., D] and with the pace
    strength_variance: Array  # [...]
    covariance: Array  # [...]
    pace_variance: Array  # [...]


class LogRateBelief(NamedTuple):
    """Both logs of rates: half their difference, the gap, and their mean, the level."""

    gap: Array  # [...]
    level: Array  # [...]
    gap_variance: Array  # [...]
    covariance: Array  # [...]
    level_variance: Array  # [...]


class GoalBelief(NamedTuple):
    """A match before it is played."""

    first: TeamGoalBelief
    second: TeamGoalBelief
    rates: LogRateBelief


def make_goal_belief(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods, match_count: Any
) -> GoalBelief:
    """Both teams of each match, which counts as so many for the growth by matches; None: as one."""
    pair, loadings = split_sides(rows, event), make_skill_loadings(model, event)
    one, two = (
        _make_team_goal_belief(model, constants, row, loading, match_count)
        for row, loading in zip(pair, loadings, strict=True)
    )
    lead, games = one.strength - two.strength, None
    if pair[0].games is not None:
        if constants.second is None:
            games = pair[0].games, pair[1].games
        else:
            lead = lead + (experience_points(constants, pair[0]) - experience_points(constants, pair[1]))
    lead = add_match_effects_to_lead(model, constants, lead, games, event)
    params, square, scatter = constants.params, HALF_Q**2, goal_scatter(constants)
    rates = LogRateBelief(
        jnp.clip(HALF_Q * lead, -LOG_RATE_LIMIT, LOG_RATE_LIMIT),
        jnp.clip(jnp.log(params.goal_rate) + HALF_Q * (one.pace + two.pace), -LOG_RATE_LIMIT, LOG_RATE_LIMIT),
        square * (one.strength_variance + two.strength_variance + scatter),
        square * (one.covariance - two.covariance),
        square * (one.pace_variance + two.pace_variance + scatter),
    )
    return GoalBelief(one, two, rates)


class GoalRateFactors(NamedTuple):
    """The logs of both rates as linear functions of standard normal numbers z, D for each team, without scatter.

    gap = mean + sum of z_1 `gap_weights`[0] + sum of z_2 `gap_weights`[1], and the level likewise.
    """

    gap: Array  # [...] the mean
    level: Array  # [...] the mean
    gap_weights: Array  # [..., 2, D] of both teams
    level_weights: Array  # [..., 2, D]


def goal_rate_factors(model: ModelSettings, belief: GoalBelief, rows: State, event: Matches) -> GoalRateFactors:
    """What is believed of the rates, by what both teams bring: `rows` are as of the match.

    With L the Cholesky root of a team's covariance, its strength is its mean and x^T L z, and its pace the last rows'.
    """
    pair, weights = split_sides(rows, event), []
    for row, team, sign in zip(pair, (belief.first, belief.second), (1.0, -1.0), strict=True):
        ridge = ROOT_RIDGE * jnp.diagonal(row.covariance, axis1=-2, axis2=-1)
        root = jnp.linalg.cholesky(row.covariance + ridge[..., None] * jnp.eye(model.size, dtype=ridge.dtype))
        root = jnp.where(jnp.isfinite(root), root, 0.0)  # where nothing is uncertain
        strength = jnp.sum(team.loading[..., None] * root, axis=-2)
        weights.append((HALF_Q * sign * strength, HALF_Q * root[..., model.pace_index, :]))
    gap_weights, level_weights = (jnp.stack(x, axis=-2) for x in zip(*weights, strict=True))
    return GoalRateFactors(belief.rates.gap, belief.rates.level, gap_weights, level_weights)


def goal_scatter(constants: Constants) -> Any:
    """The variance of lead and of pace, in points, that is the match's own."""
    dispersion = constants.params.goal_dispersion
    return 0.0 if dispersion is None else 2.0 * dispersion**2


def _make_team_goal_belief(
    model: ModelSettings, constants: Constants, row: State, loading: Any, match_count: Any
) -> TeamGoalBelief:
    covariance, place = row.covariance, model.pace_index
    growth = match_growth_variance(constants, row, match_count)
    if growth is not None:
        growth = jnp.broadcast_to(growth, row.time.shape)
        covariance = add_to_diagonal(model, covariance, pad_common_skill_with_zeros(model, growth))
    with_strength, with_pace = covariance_with_strength(covariance, loading), covariance[..., place]
    return TeamGoalBelief(
        loading,
        jnp.sum(loading * row.mean, axis=-1),
        row.mean[..., place],
        with_strength,
        with_pace,
        jnp.sum(loading * with_strength, axis=-1),
        with_strength[..., place],
        with_pace[..., place],
    )
