"""What contests of teams say of their participants, given the cavities of these.

A player in several teams of a contest has a cavity and a site in each: the cavity has all other sites, those in their
other teams included. A prediction is made without any of the contest.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.events import Rounds
from jaxrate.numerics.sums_and_recurrences import remove_factor
from jaxrate.smoothing.forward_backward import GaussianSite
from jaxrate.smoothing.participations import ContestGroups, block_length
from jaxrate.systems.rounds.round_teams import Teams, teams_by_standing, teams_with_result_hidden
from jaxrate.systems.skills.contest_messages import contest_log_likelihood, contest_messages
from jaxrate.systems.skills.match_strengths import StrengthBelief
from jaxrate.systems.skills.settings_and_state import Constants, ModelSettings
from jaxrate.systems.skills.team_performances import (
    MemberStrengths,
    make_member_loadings,
    member_effects,
    member_shares,
)
from jaxrate.systems.skills.team_rules import expected_shares, upcoming_team_performances


def split_by_group(values: Array, groups: ContestGroups) -> list[Array]:
    """[P, n] of each group, from values [size] of all participants."""
    parts, first = [], 0
    for group in groups:
        width, length = group.weight.shape
        parts.append(values[first : first + width * length].reshape(width, length))
        first += width * length
    return parts


def map_each_contest(function: Callable[..., Any], groups: ContestGroups, *values: Array) -> Any:
    """What a function of a contest and of numbers [P] of its participants returns, of all contests end to end.

    Leaves [P] become [size] as participants are, and numbers one for each contest.
    """
    results = []
    for group, *own in zip(groups, *(split_by_group(x, groups) for x in values), strict=True):
        width, length = group.weight.shape
        block = block_length(width, width if group.teams is None else len(group.teams))
        of_block = jax.vmap(function, -1, -1)
        if length <= block:
            results.append(of_block(group, *own))
            continue
        blocks = jax.tree.map(lambda x: jnp.moveaxis(x.reshape(*x.shape[:-1], -1, block), -2, 0), (group, *own))  # noqa: B023
        mapped = lax.map(lambda x: of_block(*x), blocks)  # noqa: B023
        results.append(jax.tree.map(lambda x: jnp.moveaxis(x, 0, -2).reshape(*x.shape[1:-1], length), mapped))  # noqa: B023
    return jax.tree.map(lambda *x: jnp.concatenate([y.reshape(-1) for y in x]), *results)


def member_loadings(model: ModelSettings, groups: ContestGroups) -> Array:
    """x [size, D] of participants."""
    of_group: Any = jax.vmap(partial(make_member_loadings, model), -1, 1)
    return jnp.concatenate([of_group(group).reshape(-1, model.size) for group in groups])


def member_offsets(model: ModelSettings, constants: Constants, games: Array | None, groups: ContestGroups) -> Array:
    """[size] the points of participants but for how far their skills are above a newcomer's."""

    def offsets(event: Rounds, own: Array) -> Array:
        effects = member_effects(model, constants, None if games is None else own, event)
        return constants.params.initial_rating + effects

    size = sum(group.weight.size for group in groups)
    offset: Array = map_each_contest(offsets, groups, jnp.zeros(size) if games is None else games)
    return offset


def members_before_contest(
    model: ModelSettings, mean: Array, variance: Array, offset: Array, event: Rounds, teams: Teams
) -> MemberStrengths:
    """The members of a contest, from what is believed of x^T theta without it and from their other points."""
    return MemberStrengths(StrengthBelief(None, mean, variance), mean + offset, member_shares(model, event, teams))


def contest_sites(
    model: ModelSettings, constants: Constants, cavity: StrengthBelief, offset: Array, groups: ContestGroups
) -> GaussianSite:
    """[size] what contests say of participants, given their cavities without it."""

    def sites(event: Rounds, mean: Array, variance: Array, offset: Array) -> GaussianSite:
        teams = teams_by_standing(event)
        members = members_before_contest(model, mean, variance, offset, event, teams)
        precision, surprise = contest_messages(model, constants, members, event, teams)
        return GaussianSite(precision, surprise + precision * mean)

    site: GaussianSite = map_each_contest(sites, groups, cavity.mean, cavity.variance, offset)
    return site


def contest_log_likelihoods(
    model: ModelSettings, constants: Constants, cavity: StrengthBelief, offset: Array, groups: ContestGroups
) -> Array:
    """[contests] how likely the result of each is, given the cavities of its participants."""

    def log_likelihood(event: Rounds, mean: Array, variance: Array, offset: Array) -> Array:
        teams = teams_by_standing(event)
        members = members_before_contest(model, mean, variance, offset, event, teams)
        return contest_log_likelihood(model, constants, members, event, teams)

    terms: Array = map_each_contest(log_likelihood, groups, cavity.mean, cavity.variance, offset)
    return terms


def contest_predictions(
    model: ModelSettings,
    constants: Constants,
    cavity: StrengthBelief,
    site: GaussianSite,
    offset: Array,
    groups: ContestGroups,
) -> Array:
    """[size] the share of the other teams that one's own should beat, given all other contests."""

    def predict(event: Rounds, mean: Array, variance: Array, precision: Array, pull: Array, offset: Array) -> Array:
        if event.seat is not None:
            others = (jnp.zeros_like(x).at[event.seat].add(x)[event.seat] - x for x in (precision, pull))
            mean, variance = remove_factor(mean, variance, *others)
        teams = teams_with_result_hidden(event)
        members = members_before_contest(model, mean, variance, offset, event, teams)
        return expected_shares(constants, teams, upcoming_team_performances(model, constants, members, event, teams))

    prediction: Array = map_each_contest(predict, groups, *cavity[1:], *site, offset)
    return prediction
