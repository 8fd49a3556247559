"""Sites, predictions and log likelihoods of matches or contests, from the cavities of their players."""

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.events import Matches
from jaxrate.smoothing import contest_sites, goal_sites
from jaxrate.smoothing.forward_backward import GaussianSite
from jaxrate.smoothing.match_sites import match_log_likelihood, match_sites, meetings_from_cavities
from jaxrate.smoothing.participations import ContestGroups
from jaxrate.systems.skills.match_strengths import StrengthBelief, add_match_effects_to_lead, make_skill_loadings
from jaxrate.systems.skills.outcome_likelihoods import expected_score
from jaxrate.systems.skills.settings_and_state import Constants, ModelSettings


def participant_loadings(model: ModelSettings, events: Matches | ContestGroups) -> Array | None:
    """x [..., D] of participants; None if D = 1."""
    if model.size == 1:
        return None
    if not isinstance(events, Matches):
        return contest_sites.member_loadings(model, events)
    if model.pace:
        return goal_sites.scorer_loadings(model, events)
    return jnp.stack(make_skill_loadings(model, events))  # type: ignore[arg-type]


def known_strength_offsets(
    model: ModelSettings, constants: Constants, games: Array | None, events: Matches | ContestGroups
) -> Array:
    """What is known before the event but the skills: of matches leads [size], of contests points of participants.

    `games` [...] are those that participants have played; None: they do not count.
    """
    if not isinstance(events, Matches):
        return contest_sites.member_offsets(model, constants, games, events)
    both = None if games is None else (games[0], games[1])
    return add_match_effects_to_lead(model, constants, jnp.zeros_like(events.score), both, events)


def event_sites(
    model: ModelSettings, constants: Constants, cavity: StrengthBelief, offset: Array, events: Matches | ContestGroups
) -> GaussianSite:
    """[...] of participants."""
    if not isinstance(events, Matches):
        return contest_sites.contest_sites(model, constants, cavity, offset, events)
    if model.pace:
        return goal_sites.goal_sites(model, constants, cavity, offset, events)
    return match_sites(model, constants, meetings_from_cavities(cavity, offset), events)


def event_predictions(
    model: ModelSettings,
    constants: Constants,
    cavity: StrengthBelief,
    site: GaussianSite,
    offset: Array,
    events: Matches | ContestGroups,
    variances: Array,
) -> Array:
    """The expected score [size] of the first player of a match, or the share of other teams that participants beat.

    `variances` [..., D] are those of participants given everything.
    """
    if not isinstance(events, Matches):
        return contest_sites.contest_predictions(model, constants, cavity, site, offset, events)
    if model.pace:
        return goal_sites.goal_predictions(model, constants, cavity, site, offset, variances[..., model.pace_index])
    return expected_score(model, constants, meetings_from_cavities(cavity, offset))


def event_log_likelihood(
    model: ModelSettings, constants: Constants, cavity: StrengthBelief, offset: Array, events: Matches | ContestGroups
) -> Array:
    """Of each match [size] or contest; a match of weight w counts as w matches."""
    if not isinstance(events, Matches):
        return contest_sites.contest_log_likelihoods(model, constants, cavity, offset, events)
    if model.pace:
        return goal_sites.goal_log_likelihoods(model, constants, cavity, offset, events)
    log_likelihood = match_log_likelihood(model, constants, meetings_from_cavities(cavity, offset), events)
    weight = events.context.weight
    return log_likelihood if weight is None else weight * log_likelihood


def event_sums(values: Array, events: Matches | ContestGroups) -> Array:
    """Of each match [size] or contest, the sums of values [...] of participants."""
    if isinstance(events, Matches):
        return jnp.sum(values, axis=0)
    return jnp.concatenate([jnp.sum(x, axis=0) for x in contest_sites.split_by_group(values, events)])
