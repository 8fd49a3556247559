"""The sites of goals in the rows of goal_rows.py, in each of which the attack of a team meets the defence of the other.

In a row of the goals of its first team, with u = s + o of the first team and v = s - o of the second, of strengths s
and paces o, and what else speaks for the first, d,

    log rate = log(goal_rate) + Q (u - v + d) / 2 + noise of deviation Q goal_dispersion

So both rows of a match are of two numbers, and their sites those of goals of one side. Dixon and Coles' correction of
low scores ties both rows together: in sites it does not count, in predictions it does.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array
from jaxrate.events import Matches
from jaxrate.smoothing.forward_backward import GaussianSite
from jaxrate.systems.skills.goal_beliefs import HALF_Q, LogRateBelief
from jaxrate.systems.skills.goal_count_likelihoods import CountInference, CountObservation, infer_from_count
from jaxrate.systems.skills.goal_probabilities import expected_goal_score
from jaxrate.systems.skills.match_strengths import StrengthBelief, extra_match_columns, make_skill_loadings
from jaxrate.systems.skills.settings_and_state import Constants, ModelSettings

CORRELATION_LIMIT = 1.0 - 1e-6  # of u and v


def scorer_loadings(model: ModelSettings, rows: Matches) -> Array:
    """x [2, size, D] of who scores, u, and of who defends, v."""
    pace = jnp.asarray(np.eye(model.size)[model.pace_index], rows.score.dtype)
    first, second = make_skill_loadings(model, rows)
    assert first is not None and second is not None
    pace = jnp.broadcast_to(pace, first.shape)
    return jnp.stack([first + pace, second - pace])


def infer_from_rows(
    model: ModelSettings, constants: Constants, cavity: StrengthBelief, offset: Array, rows: Matches
) -> CountInference:
    """What the goals of each row [size] say of the log of their rate."""
    params, columns = constants.params, extra_match_columns(rows)
    lead = cavity.mean[0] - cavity.mean[1] + offset
    variance = HALF_Q**2 * (cavity.variance[0] + cavity.variance[1]) + _log_rate_scatter(constants)
    expected = columns[model.expected_goals[0]] if model.expected_goals else None
    noise, scale = params.expected_goals_noise, params.expected_goals_scale
    observation = CountObservation(columns[model.margin[0]], expected, noise, scale)
    return infer_from_count(jnp.log(params.goal_rate) + HALF_Q * lead, variance, observation)


def _log_rate_scatter(constants: Constants) -> Any:
    """The variance of the log of a rate that is the match's own."""
    dispersion = constants.params.goal_dispersion
    return 0.0 if dispersion is None else (2.0 * HALF_Q * dispersion) ** 2


def goal_sites(
    model: ModelSettings, constants: Constants, cavity: StrengthBelief, offset: Array, rows: Matches
) -> GaussianSite:
    """[2, size] the sites of who scores and of who defends; a match of weight w counts as w matches."""
    inference, scatter = infer_from_rows(model, constants, cavity, offset, rows), _log_rate_scatter(constants)
    sites = []
    for sign, mean, other_variance in (
        (1.0, cavity.mean[0], cavity.variance[1]),
        (-1.0, cavity.mean[1], cavity.variance[0]),
    ):
        inverse = 1.0 / (1.0 + inference.precision * (HALF_Q**2 * other_variance + scatter))
        precision = HALF_Q**2 * inference.precision * inverse
        sites.append((precision, sign * HALF_Q * inference.pull * inverse + precision * mean))
    precision, pull = (jnp.stack(x) for x in zip(*sites, strict=True))
    weight = rows.context.weight
    return (
        GaussianSite(precision, pull) if weight is None else GaussianSite(weight[None] * precision, weight[None] * pull)
    )


def goal_log_likelihoods(
    model: ModelSettings, constants: Constants, cavity: StrengthBelief, offset: Array, rows: Matches
) -> Array:
    """[size] of each row; a match of weight w counts as w matches."""
    log_likelihood = infer_from_rows(model, constants, cavity, offset, rows).log_likelihood
    weight = rows.context.weight
    return log_likelihood if weight is None else weight * log_likelihood


def goal_predictions(
    model: ModelSettings, constants: Constants, cavity: StrengthBelief, site: GaussianSite, offset: Array, pace: Array
) -> Array:
    """[size / 2] the expected scores of the first players of matches, given all matches but this one.

    Args:
      cavity: [2, size] of u and v of rows, each given all but its own row; the other row of the match counts.
      pace: [2, size] variances of the paces of those who score and who defend, given everything.
    """
    # Given everything: of u and v of one team, which are in both rows of a match, u in its own
    precision = 1.0 / cavity.variance + site.precision
    mean = (cavity.mean / cavity.variance + site.pull) / precision
    first, second = (
        _team_without_match(
            *(jnp.stack([x[0, own::2], x[1, 1 - own :: 2]]) for x in (mean, 1.0 / precision, *site, pace))
        )
        for own in (0, 1)
    )
    lead = offset[::2] + first[0] - second[0]
    scatter = 0.5 * _log_rate_scatter(constants)
    belief = LogRateBelief(
        HALF_Q * lead,
        jnp.log(constants.params.goal_rate) + HALF_Q * (first[1] + second[1]),
        HALF_Q**2 * (first[2] + second[2]) + scatter,
        HALF_Q**2 * (first[3] - second[3]),
        HALF_Q**2 * (first[4] + second[4]) + scatter,
    )
    return expected_goal_score(belief, constants.params.low_score_dependence)


def _team_without_match(
    mean: Array, variance: Array, precision: Array, pull: Array, pace_variance: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Means of strength and pace, and variance, covariance and variance, without both sites of the team in the match.

    Leaves [2, n] are of u and v. Given everything, u and v have the covariance (V(u) + V(v)) / 2 - 2 V(pace).
    """
    total = 0.5 * (variance[0] + variance[1])
    limit = jnp.sqrt(variance[0] * variance[1])
    covariance = jnp.clip(total - 2.0 * pace_variance[0], -CORRELATION_LIMIT * limit, CORRELATION_LIMIT * limit)
    determinant = variance[0] * variance[1] - covariance**2
    a, b = variance[1] / determinant, variance[0] / determinant
    c = -covariance / determinant
    pulls = a * mean[0] + c * mean[1] - pull[0], c * mean[0] + b * mean[1] - pull[1]
    a, b = a - precision[0], b - precision[1]
    inverse = 1.0 / (a * b - c * c)
    u, v, cross = b * inverse, a * inverse, -c * inverse
    first, second = u * pulls[0] + cross * pulls[1], cross * pulls[0] + v * pulls[1]
    return (
        0.5 * (first + second),
        0.5 * (first - second),
        0.25 * (u + v + 2.0 * cross),
        0.25 * (u - v),
        0.25 * (u + v - 2.0 * cross),
    )
