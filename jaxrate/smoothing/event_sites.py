"""Sites: the Gaussian factors that matches and contests are replaced by, from the cavities of their participants.

What is observed of them is what a filter observes, see `Observation`: from a cavity in place of a prediction.

A player in several teams of a contest has a cavity and a site in each: the cavity has all other sites, those in their
other teams included. A prediction is made without any of the contest.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.events import Matches, Rounds
from jaxrate.numerics.linear_algebra import remove_factor
from jaxrate.smoothing.forward_backward import Cavity, GaussianSite
from jaxrate.smoothing.timelines import ContestGroups, block_length
from jaxrate.systems.skills.linear_predictors import Predictors, effects_beside_parts
from jaxrate.systems.skills.parts import Constants
from jaxrate.systems.skills.rules import observation_of
from jaxrate.systems.skills.settings import ModelSettings


def split_by_group(values: Any, groups: ContestGroups) -> list[Any]:
    """Leaves [P, ..., n] of each group, from leaves [size, ...] of all participants."""
    parts, first = [], 0
    for group in groups:
        width, length = group.weight.shape
        end = first + width * length
        parts.append(
            jax.tree.map(lambda x: jnp.moveaxis(x[first:end].reshape(width, length, *x.shape[1:]), 1, -1), values)  # noqa: B023
        )
        first = end
    return parts


def map_each_contest(function: Callable[..., Any], groups: ContestGroups, *values: Any) -> Any:
    """The results of a function of a contest and of values [P, ...] of its participants, all contests end to end.

    Leaves [P, ...] become [size, ...] as participants are, and numbers one for each contest.
    """

    def map_group(group: Rounds, *own: Any) -> Any:
        width, length = group.weight.shape
        block = block_length(width, width if group.teams is None else len(group.teams))
        of_block = jax.vmap(function, -1, -1)
        if length <= block:
            return of_block(group, *own)
        blocks = jax.tree.map(lambda x: jnp.moveaxis(x.reshape(*x.shape[:-1], -1, block), -2, 0), (group, *own))
        mapped = lax.map(lambda x: of_block(*x), blocks)
        return jax.tree.map(lambda x: jnp.moveaxis(x, 0, -2).reshape(*x.shape[1:-1], length), mapped)

    def lay_end_to_end(*groups: Array) -> Array:
        return jnp.concatenate(
            [x if x.ndim == 1 else jnp.moveaxis(x, -1, 1).reshape(-1, *x.shape[1:-1]) for x in groups]
        )

    return jax.tree.map(lay_end_to_end, *map(map_group, groups, *(split_by_group(x, groups) for x in values)))


def map_events(function: Callable[..., Any], events: Matches | ContestGroups, *values: Any) -> Any:
    """The results of a function of events and of values of their participants: of all matches, or of each contest."""
    if isinstance(events, Matches):
        return function(events, *values)
    return map_each_contest(function, events, *values)


def event_effects(
    model: ModelSettings, constants: Constants, experience: Array | None, events: Matches | ContestGroups
) -> Array:
    """What counts beside the parts, see `Predictors`; of contests with the mean of newcomers, which cavities lack."""

    def effects_of_event(event: Matches | Rounds, experience: Array | None = None) -> Array:
        effects = effects_beside_parts(model, constants, experience, event)
        return effects if isinstance(event, Matches) else effects + constants.params.initial_rating

    effects: Array = map_events(effects_of_event, events, *(() if experience is None else (experience,)))
    return effects


def event_sites_and_log_likelihoods(
    model: ModelSettings, constants: Constants, cavity: Cavity, effects: Array, events: Matches | ContestGroups
) -> tuple[GaussianSite, Array]:
    """What events say of participants, given their cavities, and the log likelihood [size] of each match, or contest.

    A match of weight w counts as w matches.
    """

    def infer(event: Matches | Rounds, cavity: Cavity, effects: Array) -> tuple[GaussianSite, Array]:
        predictors = Predictors(*cavity, effects)
        (precision, surprise), log_likelihood = observation_of(model, event).infer(model, constants, predictors, event)
        pull = surprise + jnp.sum(precision * cavity.mean[..., None, :], axis=-1)
        return GaussianSite(precision, pull), log_likelihood()

    site, terms = map_events(infer, events, cavity, effects)
    weight = events.context.weight if isinstance(events, Matches) else None
    if weight is None:
        return site, terms
    return GaussianSite(weight[None, :, None, None] * site.precision, weight[None, :, None] * site.pull), weight * terms


def event_predictions(
    model: ModelSettings,
    constants: Constants,
    cavity: Cavity,
    effects: Array,
    site: GaussianSite,
    events: Matches | ContestGroups,
) -> Array:
    """[size] of matches the expected scores of first players, of participants of contests the shares of other teams
    that one's own should beat, given all other events.
    """

    def predict(event: Matches | Rounds, cavity: Cavity, effects: Array, site: GaussianSite) -> Array:
        if isinstance(event, Rounds) and event.seat is not None:
            seat, own = event.seat, GaussianSite(site.precision[..., 0, 0], site.pull[..., 0])
            others = (jnp.zeros_like(x).at[seat].add(x)[seat] - x for x in own)
            mean, variance = remove_factor(cavity.mean[..., 0], cavity.covariance[..., 0, 0], *others)
            cavity = Cavity(mean[..., None], variance[..., None, None])
        predictors = Predictors(*cavity, effects)
        return observation_of(model, event).expected_score(model, constants, predictors, event)

    prediction: Array = map_events(predict, events, cavity, effects, site)
    return prediction


def sum_by_event(values: Array, events: Matches | ContestGroups) -> Array:
    """[size] of values [...] of participants the sums of each match, or contest."""
    if isinstance(events, Matches):
        return jnp.sum(values, axis=0)
    return jnp.concatenate([jnp.sum(x, axis=0) for x in split_by_group(values, events)])
