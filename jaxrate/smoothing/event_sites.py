"""Sites: the Gaussian factors that matches, goals and contests are replaced by.

What contests of teams say of their participants, given the cavities of these.

A player in several teams of a contest has a cavity and a site in each: the cavity has all other sites, those in their
other teams included. A prediction is made without any of the contest.

The sites of goals in the rows of `timelines.py`, in each of which the attack of a team meets the defence of the other.

In a row of the goals of its first team, with u = s + o of the first team and v = s - o of the second, of strengths s
and paces o, and what else speaks for the first, d,

    log rate = log(goal_rate) + Q (u - v + d) / 2 + noise of deviation Q goal_dispersion

So both rows of a match are of two numbers, and their sites those of goals of one side. Dixon and Coles' correction of
low scores ties both rows together: in sites it does not count, in predictions it does.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import log_ndtr

from jaxrate.core.array_types import Array
from jaxrate.events import Matches, Rounds
from jaxrate.numerics.special_functions import log_normal_within
from jaxrate.numerics.sums_and_recurrences import remove_factor
from jaxrate.smoothing.forward_backward import GaussianSite
from jaxrate.smoothing.timelines import ContestGroups, block_length
from jaxrate.systems.rounds.round_teams import Teams, teams_by_standing, teams_with_result_hidden
from jaxrate.systems.skills.goal_likelihoods import (
    HALF_Q,
    CountInference,
    CountObservation,
    LogRateBelief,
    expected_goal_score,
    infer_from_count,
)
from jaxrate.systems.skills.match_strengths import (
    MatchStrengths,
    StrengthBelief,
    add_match_effects_to_lead,
    extra_match_columns,
    make_skill_loadings,
)
from jaxrate.systems.skills.outcome_likelihoods import (
    Q,
    attenuation,
    condition_match_on_statistics,
    expected_score,
    game_messages,
    margin_negative_log_density,
)
from jaxrate.systems.skills.rules import expected_shares, upcoming_team_performances
from jaxrate.systems.skills.settings import Constants, ModelSettings
from jaxrate.systems.skills.team_results import (
    MemberStrengths,
    contest_log_likelihood,
    contest_messages,
    make_member_loadings,
    member_effects,
    member_shares,
)


def split_by_group(values: Array, groups: ContestGroups) -> list[Array]:
    """[P, n] of each group, from values [size] of all participants."""
    parts, first = [], 0
    for group in groups:
        width, length = group.weight.shape
        parts.append(values[first : first + width * length].reshape(width, length))
        first += width * length
    return parts


def map_each_contest(function: Callable[..., Any], groups: ContestGroups, *values: Array) -> Any:
    """The results of a function of a contest and of numbers [P] of its participants, all contests end to end.

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
    _variances: Array,
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
    """The Gaussian likelihoods of the log rates of goals by the goals of each row [size]."""
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
    model: ModelSettings,
    constants: Constants,
    cavity: StrengthBelief,
    site: GaussianSite,
    offset: Array,
    _rows: Matches,
    variances: Array,
) -> Array:
    """[size / 2] the expected scores of the first players of matches, given all matches but this one.

    `cavity` [2, size] is of u and v of rows, each given all but its own row; the other row of the match counts.
    """
    pace = variances[..., model.pace_index]  # [2, size] of those who score and who defend
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


def meetings_from_cavities(cavity: StrengthBelief, offset: Array) -> MatchStrengths:
    """The meetings of both players of each match, from their cavities [2, size]."""
    first, second = (StrengthBelief(None, cavity.mean[i], cavity.variance[i]) for i in (0, 1))
    return MatchStrengths(first, second, first.mean - second.mean + offset)


def match_sites(
    model: ModelSettings, constants: Constants, cavity: StrengthBelief, offset: Array, events: Matches
) -> GaussianSite:
    """[2, size] the sites of matches, given the cavities of the players; a match of weight w counts as w matches."""
    pair = meetings_from_cavities(cavity, offset)
    messages = game_messages(model, constants, pair, events)
    sites = [
        GaussianSite(precision, ahead + precision * x.mean)
        for (precision, ahead), x in zip(messages, (pair.first, pair.second), strict=True)
    ]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *sites)
    weight = events.context.weight
    return stacked if weight is None else jax.tree.map(lambda x: weight[None] * x, stacked)


def meeting_log_likelihood(model: ModelSettings, constants: Constants, pair: MatchStrengths, events: Matches) -> Array:
    """[size] the log likelihoods of results and statistics; for margins log densities in their own units."""
    params: Any = constants.params
    score, variance = events.score, pair.first.variance + pair.second.variance
    if model.statistics:
        statistics = condition_match_on_statistics(model, constants, pair, events)
        result = meeting_log_likelihood(model._replace(statistics=()), constants, statistics.known, events)
        return statistics.log_density + result
    if model.outcome == "margin":
        return -margin_negative_log_density(model, constants, pair, events)
    if model.outcome == "logistic":
        lead = attenuation(variance) * (Q * pair.lead)
        return score * jax.nn.log_sigmoid(lead) + (1.0 - score) * jax.nn.log_sigmoid(-lead)
    inverse = jax.lax.rsqrt(constants.noise + variance)
    lead = pair.lead * inverse
    if params.draw_margin is None:
        return score * log_ndtr(lead) + (1.0 - score) * log_ndtr(-lead)
    width = params.draw_margin * inverse
    drawn = log_normal_within(lead, width)
    decided = log_ndtr(jnp.where(score > 0.5, lead, -lead) - width)
    return jnp.where(score == 0.5, drawn, decided)


def match_log_likelihoods(
    model: ModelSettings, constants: Constants, cavity: StrengthBelief, offset: Array, events: Matches
) -> Array:
    """[size] of each match; a match of weight w counts as w matches."""
    log_likelihood = meeting_log_likelihood(model, constants, meetings_from_cavities(cavity, offset), events)
    weight = events.context.weight
    return log_likelihood if weight is None else weight * log_likelihood


def match_predictions(
    model: ModelSettings,
    constants: Constants,
    cavity: StrengthBelief,
    _site: GaussianSite,
    offset: Array,
    _events: Matches,
    _variances: Array,
) -> Array:
    """[size] the expected scores of the first players of matches, given all other matches."""
    return expected_score(model, constants, meetings_from_cavities(cavity, offset))


def match_loadings(model: ModelSettings, events: Matches) -> Array:
    """x [2, size, D] of both players of matches."""
    return jnp.stack(make_skill_loadings(model, events))  # type: ignore[arg-type]


def match_offsets(model: ModelSettings, constants: Constants, games: Array | None, events: Matches) -> Array:
    """[size] the leads of the first players of matches beside skills."""
    both = None if games is None else (games[0], games[1])
    return add_match_effects_to_lead(model, constants, jnp.zeros_like(events.score), both, events)


class EventInference(NamedTuple):
    """What sweeps ask of one kind of event, by functions of the model, the constants and the events.

    Cavities and sites are of participants [...]. `games` [...] are those that these have played; None: they do not
    count. `variances` [..., D] are those of participants given everything.
    """

    loadings: Callable[[ModelSettings, Any], Array]  # x [..., D] of participants
    # the known part of an event beside skills, of the model, constants, games and events
    offsets: Callable[[ModelSettings, Constants, Array | None, Any], Array]
    # of the model, constants, cavity, offset and events
    sites: Callable[[ModelSettings, Constants, StrengthBelief, Array, Any], GaussianSite]
    log_likelihood: Callable[[ModelSettings, Constants, StrengthBelief, Array, Any], Array]  # of each event
    predictions: Callable[..., Array]  # of the model, constants, cavity, site, offset, events and variances
    sums: Callable[[Array, Any], Array]  # of values [...] of the participants of each event


MATCHES = EventInference(
    match_loadings,
    match_offsets,
    match_sites,
    match_log_likelihoods,
    match_predictions,
    lambda values, events: jnp.sum(values, axis=0),
)
GOALS = MATCHES._replace(
    loadings=scorer_loadings, sites=goal_sites, log_likelihood=goal_log_likelihoods, predictions=goal_predictions
)
CONTESTS = EventInference(
    member_loadings,
    member_offsets,
    contest_sites,
    contest_log_likelihoods,
    contest_predictions,
    lambda values, groups: jnp.concatenate([jnp.sum(x, axis=0) for x in split_by_group(values, groups)]),
)


def inference_of_events(model: ModelSettings, events: Matches | ContestGroups) -> EventInference:
    """How these events are inferred from."""
    if not isinstance(events, Matches):
        return CONTESTS
    return GOALS if model.pace else MATCHES
