"""What participants are believed to bring to an event: their linear predictors, and what counts beside the parts."""

from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.systems.skills.belief_updates import add_match_growth, multiply_rows, predictor_covariance
from jaxrate.systems.skills.parts import (
    STRENGTH,
    Constants,
    State,
    apply_to_players,
    experience_points,
    participant_loadings,
    participants_of_parts,
)
from jaxrate.systems.skills.settings import YEAR, ModelSettings


class PredictorMoments(NamedTuple):
    """The linear predictors of participants, [2, ...] of matches and [P] of contests: k numbers each, in points.

    A filter has them from what was known before the event, hindsight from all but the event.
    """

    mean: Array  # [..., k]
    covariance: Array  # [..., k, k]
    effects: Array  # beside the parts: [...] how much better the first of two equals performs; [P] of contests

    @property
    def lead(self) -> Array:
        """[...] by how much the first player of a match should perform better."""
        return self.mean[0, ..., STRENGTH] - self.mean[1, ..., STRENGTH] + self.effects

    @property
    def variances(self) -> tuple[Array, Array]:
        """[...] the variances of the strengths of both players of a match, which XLA reads without making a pair."""
        return self.covariance[0, ..., STRENGTH, STRENGTH], self.covariance[1, ..., STRENGTH, STRENGTH]


def predict_participants(
    model: ModelSettings, constants: Constants, rows: State, event: Matches | Periods | Rounds, count: Any = 1.0
) -> PredictorMoments:
    """The predictors of rows with vectors, where an event counts as so many matches for growth."""
    players = event.participant_rows
    if players is not None:
        rows = State(*(None if x is None else x[players] for x in rows))

    def predictors_of_rows(rows: State, loadings: Array, count: Array) -> tuple[Array, Array]:
        covariance = add_match_growth(model, constants, rows.covariance, rows.kind, count)
        mean = jnp.sum(loadings * rows.mean[..., None, :], axis=-1)
        return mean, predictor_covariance(loadings, multiply_rows(covariance, loadings))

    count = jnp.broadcast_to(count, rows.time.shape)
    mean, covariance = apply_to_players(predictors_of_rows, rows, participant_loadings(model, event), count)
    return PredictorMoments(
        mean,
        covariance,
        effects_beside_parts(model, constants, experience_points(constants, rows.kind, rows.games), event),
    )


def effects_beside_parts(
    model: ModelSettings, constants: Constants, experience: Array | None, event: Matches | Periods | Rounds
) -> Array:
    """What counts beside the parts, see `PredictorMoments`: experience of participants, covariates and the side."""
    params, context = constants.params, event.context
    effects = jnp.zeros_like(event.contrast(participants_of_parts(event).one))
    if experience is not None:
        effects = effects + event.contrast(experience)
    if context.side is not None:
        effects = effects + side_advantage_at_event_time(model, params, event) * context.side
    for name in model.covariates:
        effects = effects + getattr(params, name) * (context.columns or {})[name]
    return effects


def side_advantage_at_event_time(model: ModelSettings, params: Any, event: Any) -> Any:
    """The side advantage at the time of the event."""
    if model.side_since is None:
        return params.side_advantage
    return params.side_advantage + params.side_trend * ((event.time - model.side_since) / YEAR)
