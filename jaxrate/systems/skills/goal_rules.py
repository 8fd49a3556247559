"""What skills expect of the goals of a match, and learn from them: see goal_likelihoods.py.

A match says of lead and pace together a Gaussian likelihood of precision L and pull h. Of one team, whose strength and
pace have the covariance C, it says M = (1 + L R)^-1 L and g = (1 + L R)^-1 h, with R the covariance of the other team
and of what is the match's own. A match of weight w says w M and w g, as the w-th power of a likelihood does, and those
of a rating period add up. Then

    m' = m + K (1 + M C)^-1 g,   P' = P - K (1 + M C)^-1 M K^T,   K = P [x, y]

with x what picks the strength and y the pace.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array
from jaxrate.core.pairwise import split_sides
from jaxrate.events import Matches, Periods
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities
from jaxrate.systems.skills.goal_likelihoods import (
    HALF_Q,
    GoalObservation,
    TeamGoalBelief,
    expected_goal_score,
    goal_outcome_probabilities,
    goal_scatter,
    infer_from_goals,
    make_goal_belief,
)
from jaxrate.systems.skills.match_strengths import extra_match_columns
from jaxrate.systems.skills.posterior import add_match_growth, learn_from_information, message_rounding_tolerance
from jaxrate.systems.skills.settings_and_state import Constants, ModelSettings, State

ROUNDINGS = 8.0  # by which what a match takes from a covariance may be off, in units of the usual tolerance


class TeamMessage(NamedTuple):
    """The message of goals about a team, in points."""

    strength: Array  # [...] the pull of the strength
    pace: Array  # [...] and of the pace
    strength_precision: Array  # [...]
    cross_precision: Array  # [...]
    pace_precision: Array  # [...]


def expected_score_from_goals(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods
) -> Array:
    """[...] the expected score of the first team; a draw is half a win."""
    belief = make_goal_belief(model, constants, rows, event, None).rates
    return expected_goal_score(belief, constants.params.low_score_dependence)


def win_and_draw_from_goals(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods
) -> OutcomeProbabilities:
    """[..., 2] the chances of win and draw."""
    belief = make_goal_belief(model, constants, rows, event, None).rates
    return goal_outcome_probabilities(belief, constants.params.low_score_dependence)


def goal_losses(model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods) -> Array:
    """[...] minus the log likelihoods of goals, from what was known before the match.

    Expected goals lose nothing: what they say of later goals tells how noisy they are.
    """
    belief = make_goal_belief(model, constants, rows, event, None).rates
    goals_alone = goal_observation(model, constants, event)._replace(expected=None)
    return -infer_from_goals(belief, goals_alone).log_likelihood


def goal_observation(model: ModelSettings, constants: Constants, event: Matches | Periods) -> GoalObservation:
    """The goals and expected goals in the columns of matches."""
    params, columns = constants.params, extra_match_columns(event)
    first, second = (columns[name] for name in model.margin)
    expected = None
    if model.expected_goals:
        expected = columns[model.expected_goals[0]], columns[model.expected_goals[1]]
    noise, scale = params.expected_goals_noise, params.expected_goals_scale
    return GoalObservation((first, second), expected, params.low_score_dependence, noise, scale)


def learn_goals(model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods) -> State:
    """The rows after the goals of matches, as of `rows.time`."""
    weight = event.context.weight
    belief = make_goal_belief(model, constants, rows, event, weight)
    inference = infer_from_goals(belief.rates, goal_observation(model, constants, event))
    gap, level = HALF_Q * inference.gap, HALF_Q * inference.level
    precisions = inference.gap_precision, inference.cross_precision, inference.level_precision
    own, cross, both = (HALF_Q**2 * x for x in precisions)
    teams, scatter = (belief.first, belief.second), goal_scatter(constants)
    sides = TeamMessage(gap, level, own, cross, both), TeamMessage(-gap, level, own, -cross, both)
    messages = [
        _attenuate(message, other.strength_variance + scatter, -other.covariance, other.pace_variance + scatter)
        for message, other in zip(sides, teams[::-1], strict=True)
    ]
    if weight is not None:
        messages = [TeamMessage(*(weight * x for x in message)) for message in messages]
    if isinstance(event, Periods):
        return _learn_period(model, constants, rows, event, teams, messages)
    count = jnp.ones_like(event.score) if weight is None else weight
    after = [
        _learn_match(model, constants, row, team, message, count)
        for row, team, message in zip(split_sides(rows, event), teams, messages, strict=True)
    ]
    return jax.tree.map(lambda *x: jnp.stack(x), *after)


def _attenuate(message: TeamMessage, s: Array, t: Array, u: Array) -> TeamMessage:
    """(1 + M C)^-1 of a message of precision M and its pull, with the covariance C = [[s, t], [t, u]]."""
    v, o, a, b, c = message
    own = jnp.maximum(a * c - b * b, 0.0)
    first, second, third, fourth = a * s + b * t, a * t + b * u, b * s + c * t, b * t + c * u
    trace = jnp.maximum(first + fourth, 0.0)
    inverse = 1.0 / (1.0 + trace + own * jnp.maximum(s * u - t * t, 0.0))
    return TeamMessage(
        ((1.0 + fourth) * v - second * o) * inverse,
        ((1.0 + first) * o - third * v) * inverse,
        (a + own * u) * inverse,
        (b - own * t) * inverse,
        (c + own * s) * inverse,
    )


def _learn_match(
    model: ModelSettings, constants: Constants, row: State, team: TeamGoalBelief, message: TeamMessage, count: Array
) -> State:
    row = add_match_growth(model, constants, row, count)
    x, y = team.with_strength, team.with_pace
    attenuated = _attenuate(message, team.strength_variance, team.covariance, team.pace_variance)
    v, o, a, b, c = (part[..., None] for part in attenuated)
    loss = (a * x + b * y)[..., :, None] * x[..., None, :] + (b * x + c * y)[..., :, None] * y[..., None, :]
    tolerance = message_rounding_tolerance(model.size, row.covariance.dtype)
    slack = tolerance * jnp.broadcast_to(jnp.eye(model.size, dtype=loss.dtype), loss.shape)
    covariance = row.covariance + slack * row.covariance - (loss - ROUNDINGS * slack * loss)
    return row._replace(mean=row.mean + v * x + o * y, covariance=covariance)


def _learn_period(
    model: ModelSettings,
    constants: Constants,
    rows: State,
    event: Periods,
    teams: tuple[TeamGoalBelief, TeamGoalBelief],
    messages: list[TeamMessage],
) -> State:
    """The likelihoods of all games of a team multiply: their precisions, [D, D], and their pulls, [D], add up."""
    weight: Any = event.context.weight
    count, size, dtype = event.player.shape[0], model.size, event.score.dtype
    total = [jnp.zeros((count, *shape), dtype) for shape in ((size, size), (size,), ())]
    y = jnp.broadcast_to(jnp.asarray(np.eye(size)[model.pace_index], dtype), teams[0].loading.shape)
    for side, (team, message) in enumerate(zip(teams, messages, strict=True)):
        v, o, a, b, c = (part[..., None] for part in message)
        x = team.loading
        matrix = (a * x + b * y)[..., :, None] * x[..., None, :] + (b * x + c * y)[..., :, None] * y[..., None, :]
        terms = matrix, v * x + o * y, weight
        total = [sums.at[event.pair[:, side]].add(term) for sums, term in zip(total, terms, strict=True)]
    return learn_from_information(model, constants, rows, *total)
