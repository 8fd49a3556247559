"""What the members of teams bring to a contest, and how well their teams should perform."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.events import Rounds
from jaxrate.systems.rounds.round_teams import Teams, gather_team_values_to_members, sum_by_team
from jaxrate.systems.skills.match_strengths import StrengthBelief, make_strength_belief, match_growth_variance
from jaxrate.systems.skills.settings_and_state import SIDE_COLUMN, Constants, ModelSettings, State


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
    """Of the participants of a contest, which lets their skills grow as a match does."""
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
    """Of members alone: noise has half the variance of that of a difference of two."""
    return MemberPerformances(members.points, members.belief.variance + 0.5 * constants.noise)


def make_team_performances(
    model: ModelSettings,
    constants: Constants,
    share: Array,
    performances: MemberPerformances,
    event: Rounds,
    teams: Teams,
) -> TeamPerformances:
    """What the members' performances, their shares [P], the numbers of teams and the noise of playing together make."""
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
