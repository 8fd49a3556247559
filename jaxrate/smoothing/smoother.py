"""The smoother: checks, sweeps and the smoothed history."""

import math
import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import (
    check_concrete,
    is_whole_number,
)
from jaxrate.core.memory_checks import check_memory_fits, device_memory_bytes
from jaxrate.core.rules import Params, Rating
from jaxrate.core.system import RatingSystem
from jaxrate.events import Matches, Ragged, Rounds, check_contest_time_order, fail_where
from jaxrate.events.column_checks import check_matches
from jaxrate.events.dataset import Dataset, resolve_events_and_num_players
from jaxrate.replay.checked_replay import check_system_takes_events
from jaxrate.replay.padded_states_and_columns import (
    check_ids_not_sparse,
    resolve_params,
    resolve_row_count,
    truncate_leaves,
)
from jaxrate.smoothing.expectation_propagation import ANDERSON_DEPTH, run_sweeps
from jaxrate.smoothing.smoothed_ratings import smoothed_quantities
from jaxrate.smoothing.smoothing_result import Smoothed
from jaxrate.smoothing.timelines import (
    Participations,
    Timelines,
    build_timelines,
    gather_participants,
    list_first_participations,
    list_model_participations,
)
from jaxrate.systems.skills.rules import find_smoothing_model
from jaxrate.systems.skills.settings_and_state import SIDE_COLUMN, ModelSettings


def smooth_events(
    system: RatingSystem,
    events: Matches | Ragged | Dataset,
    *,
    params: Params = None,
    num_players: int | None = None,
    tolerance: float = 1e-3,
    sweeps: int = 200,
) -> Smoothed:
    """The beliefs about events with hindsight; arguments, errors and warnings are those of `smooth`."""
    if not tolerance > 0:
        raise ValueError(f"tolerance must be above 0, got {tolerance!r}")
    if not (is_whole_number(sweeps) and sweeps >= 1):
        raise ValueError(f"sweeps must be a whole number from 1, got {sweeps!r}")
    model, params, checked_events, participations, timelines = prepare_smoothing(
        "smooth", system, events, params, num_players
    )
    param_arrays = jax.tree.map(lambda x: jnp.asarray(x, float), params)  # as in fits, whose program it is
    sweep_result = run_sweeps(model, param_arrays, timelines, tolerance, sweeps)
    change, converged = float(sweep_result.change), bool(sweep_result.change <= tolerance)
    if not converged:
        message = f"means still moved by up to {change:.2g} deviations after {sweeps} sweeps: allow more by sweeps=..."
        warnings.warn(message, stacklevel=4)  # past `smooth` and the check of its arguments
    quantities = smoothed_quantities(model, param_arrays, timelines, sweep_result.site)
    evidence = float(np.sum(np.asarray(quantities.evidence), dtype=np.float64))
    if isinstance(checked_events, Matches):
        participations = list_first_participations(participations, len(checked_events.score))
    rating, components = (
        Rating(*(jax.device_put(gather_participants(x, participations)) for x in one))
        for one in (quantities.rating, quantities.components)
    )
    prediction: Any = quantities.prediction
    if isinstance(checked_events, Matches):
        prediction = truncate_leaves(prediction, len(checked_events.score))
    else:
        prediction = jax.device_put(gather_participants(prediction, participations))
    return Smoothed(
        rating,
        None if model.size == 1 else components,
        prediction,
        evidence,
        quantities.state,
        int(sweep_result.sweeps),
        change,
        converged,
        system._replace(params=params),
        checked_events,
        sweep_result.site,
    )


class SmoothingProblem(NamedTuple):
    """A checked history with its model, hyperparameters and timelines."""

    model: ModelSettings
    params: Any
    events: Matches | Ragged
    participations: Participations
    timelines: Timelines


def prepare_smoothing(
    caller: str, system: RatingSystem, events: Matches | Ragged | Dataset, params: Params, num_players: int | None
) -> SmoothingProblem:
    """The checked problem; ValueError as in `smooth`. `caller` names the function in errors."""
    model = resolve_smoothing_model(system)
    history: Any
    history, num_players = resolve_events_and_num_players(events, num_players)
    flat: Any = getattr(history, "events", history)
    if not isinstance(flat, (Matches, Rounds)):
        raise ValueError(f"{caller} takes matches or contests, each at its own time, and not {type(flat).__name__}")
    check_system_takes_events(system, history, None)
    params = resolve_params(system, params)
    check_concrete("hindsight is calculated until it converges", params, "; give numbers")
    checked_events = check_smoothable_events(model, history)
    if len(flat.time) == 0:
        raise ValueError(f"there are no {checked_events.nouns} to smooth")
    id_count = int(np.max(flat.player)) + 1
    check_ids_not_sparse(system, flat.player, id_count, num_players, 0)
    participations = list_model_participations(model, checked_events)
    _check_memory(model, math.prod(participations.shape))
    rows = resolve_row_count(system, None, num_players, id_count)
    timelines = build_timelines(checked_events, rows, model)
    return SmoothingProblem(model, params, checked_events, participations, timelines)


def check_smoothable_events(model: ModelSettings, events: Matches | Ragged) -> Matches | Ragged:
    """The matches or contests; ValueError for bad ones, see `smooth`."""
    if isinstance(events, Matches):
        return check_matches(events)
    check_contest_time_order(events)
    flat: Any = events.events
    if flat.seat is None:
        return events
    first = np.repeat(events.player_start[:-1], np.diff(events.player_start)) + flat.seat
    sides = (flat.columns or {}).get(SIDE_COLUMN) if model.own_side else None
    for values, what in ((flat.category, "meets another category"), (sides, "has another side")):
        if values is not None:
            differs = (np.asarray(values) != np.asarray(values)[first]).reshape(len(first), -1).any(axis=1)
            fail_where(differs, lambda row: f"player {flat.player[row]} {what} in another of their teams")  # noqa: B023
    return events


def resolve_smoothing_model(system: RatingSystem) -> ModelSettings:
    """The model of a `skills` system; ValueError for another system."""
    model = find_smoothing_model(system)
    if model is None:
        if system.settings.get("kinds"):
            raise ValueError(f"hindsight knows no kinds; make {system.name} without them, fitted so")
        advice = {"glicko": 'skills("logistic")', "trueskill": "skills(draw_margin=...)"}.get(system.name, "skills()")
        raise ValueError(f"{system.name} has no hindsight; take jr.{advice}, fitted to the same history")
    if model.outcome == "points":
        raise ValueError("hindsight knows no paces of points; take skills('margin'), which has the same strengths")
    return model


def _check_memory(model: ModelSettings, num_participations: int) -> None:
    """ValueError if the passes do not fit into memory."""
    num_floats = num_participations * (model.size**2 + 8 * model.size + 3 * ANDERSON_DEPTH + 20)
    required_bytes = num_floats * jnp.result_type(float).itemsize
    subject = f"hindsight of {num_participations:,} participations"
    check_memory_fits(subject, required_bytes, device_memory_bytes(jax.devices()[0]))
