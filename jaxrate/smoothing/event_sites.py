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
from jaxrate.smoothing.timelines import EventGroups, events_per_block
from jaxrate.systems.skills.linear_predictors import PredictorMoments, effects_beside_parts
from jaxrate.systems.skills.parts import Constants, participants_of_parts
from jaxrate.systems.skills.rules import choose_observation
from jaxrate.systems.skills.settings import ModelSettings


def split_by_group(values: Any, groups: EventGroups) -> list[Any]:
    """Leaves [P, ..., n] of each group, from leaves [size, ...] of all participants."""
    parts, first = [], 0
    for group in groups:
        width, length = group.player.shape
        end = first + width * length
        parts.append(
            jax.tree.map(lambda x: jnp.moveaxis(x[first:end].reshape(width, length, *x.shape[1:]), 1, -1), values)  # noqa: B023
        )
        first = end
    return parts


def map_events(function: Callable[..., Any], groups: EventGroups, *values: list[Any]) -> tuple[Any, ...]:
    """The results [..., n] for each group of a function of an event and of values of it, which are [..., n] as well."""

    def map_group(group: Matches | Rounds, *own: Any) -> Any:
        width, length = group.player.shape
        teams = getattr(group, "teams", None)
        block = events_per_block(width, width if teams is None else len(teams))
        of_block = jax.vmap(function, -1, -1)
        if length <= block:
            return of_block(group, *own)
        blocks = jax.tree.map(lambda x: jnp.moveaxis(x.reshape(*x.shape[:-1], -1, block), -2, 0), (group, *own))
        mapped = lax.map(lambda x: of_block(*x), blocks)
        return jax.tree.map(lambda x: jnp.moveaxis(x, 0, -2).reshape(*x.shape[1:-1], length), mapped)

    return tuple(map(map_group, groups, *values))


def join_groups(results: tuple[Any, ...]) -> Any:
    """What groups have, end to end: leaves [size, ...] of participants from [P, ..., n], and numbers of events."""

    def lay_end_to_end(*groups: Array) -> Array:
        return jnp.concatenate(
            [x if x.ndim == 1 else jnp.moveaxis(x, -1, 1).reshape(-1, *x.shape[1:-1]) for x in groups]
        )

    return jax.tree.map(lay_end_to_end, *results)


def event_effects(
    model: ModelSettings, constants: Constants, experience: Array | None, events: EventGroups
) -> tuple[Array, ...]:
    """By group what counts beside the parts (`PredictorMoments`), with the mean of newcomers, which cavities lack."""

    def effects_of_event(event: Matches | Rounds, experience: Array | None = None) -> Array:
        newcomer = constants.params.initial_rating * event.contrast(
            participants_of_parts(event).one
        )  # 0 of two players
        return effects_beside_parts(model, constants, experience, event) + newcomer

    return map_events(effects_of_event, events, *([] if experience is None else [split_by_group(experience, events)]))


def event_sites_and_log_likelihoods(
    model: ModelSettings, constants: Constants, cavity: Cavity, effects: tuple[Array, ...], events: EventGroups
) -> tuple[GaussianSite, Array]:
    """What events say of participants, given their cavities, and the log likelihood of each match, or contest."""

    def infer(event: Matches | Rounds, cavity: Cavity, effects: Array) -> tuple[GaussianSite, Array]:
        predictors, weight = PredictorMoments(*cavity, effects), event.context.weight
        (precision, surprise), log_likelihood = choose_observation(model, event).infer(
            model, constants, predictors, event
        )
        pull = surprise + jnp.sum(precision * cavity.mean[..., None, :], axis=-1)
        said = GaussianSite(precision, pull), log_likelihood()
        return said if weight is None else jax.tree.map(lambda x: weight * x, said)

    said: tuple[GaussianSite, Array] = join_groups(
        map_events(infer, events, split_by_group(cavity, events), [*effects])
    )
    return said


def event_predictions(
    model: ModelSettings,
    constants: Constants,
    cavity: Cavity,
    effects: tuple[Array, ...],
    site: GaussianSite,
    events: EventGroups,
) -> Array:
    """[size] of both players of matches the expected scores of first players, of participants of contests the shares of
    other teams that one's own should beat, given all other events.
    """

    def predict(event: Matches | Rounds, cavity: Cavity, effects: Array, site: GaussianSite) -> Array:
        if event.participant_rows is not None:
            own = GaussianSite(site.precision[..., 0, 0], site.pull[..., 0])
            others = (event.combine_by_player(x) - x for x in own)
            mean, variance = remove_factor(cavity.mean[..., 0], cavity.covariance[..., 0, 0], *others)
            cavity = Cavity(mean[..., None], variance[..., None, None])
        predictors = PredictorMoments(*cavity, effects)
        expected = choose_observation(model, event).expected_score(model, constants, predictors, event)
        return jnp.broadcast_to(expected, event.player.shape)

    cavities, sites = (split_by_group(x, events) for x in (cavity, site))
    prediction: Array = join_groups(map_events(predict, events, cavities, [*effects], sites))
    return prediction


def sum_by_event(values: Array, events: EventGroups) -> Array:
    """The sums of values [size] of participants by match, or contest."""
    return jnp.concatenate([jnp.sum(x, axis=0) for x in split_by_group(values, events)])
