"""The smoother: checks, sweeps and the smoothed history."""

import warnings
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.argument_checks import CHECKED_BY_FUNCTION, check_concrete, enforce_argument_annotations, is_whole_number
from jaxrate.array_types import Array
from jaxrate.events import Matches
from jaxrate.events.column_checks import check_matches
from jaxrate.events.dataset import Dataset, resolve_events_and_num_players
from jaxrate.memory_checks import check_memory_fits, device_memory_bytes
from jaxrate.replay.checked_replay import check_system_takes_events
from jaxrate.replay.padded_states_and_columns import (
    check_ids_not_sparse,
    resolve_params,
    resolve_row_count,
    truncate_leaves,
)
from jaxrate.rules import Params, Rating
from jaxrate.smoothing.expectation_propagation import ANDERSON_DEPTH, run_sweeps, smoothed_quantities
from jaxrate.smoothing.smoothing_result import Smoothed
from jaxrate.smoothing.timelines import Timelines, build_timelines
from jaxrate.system import RatingSystem, check_system
from jaxrate.systems.skills.rules import find_smoothing_model
from jaxrate.systems.skills.settings_and_state import ModelSettings


@enforce_argument_annotations
def smooth(
    system: RatingSystem,
    events: Annotated[Matches | Dataset, CHECKED_BY_FUNCTION],
    *,
    params: Params = None,
    num_players: int | None = None,
    tolerance: float = 1e-3,
    sweeps: Annotated[int, CHECKED_BY_FUNCTION] = 200,
) -> Smoothed:
    """Rate a whole history with hindsight: every player at each of their matches, given all matches.

    A filter knows of each match only what came before it. This is expectation propagation (Minka 2001) in the model of
    `skills`, as in TrueSkill through time (Dangauthier, Herbrich, Minka and Graepel 2007): the site of a
    match is computed from the sites of all other matches of its players, before and after, until nothing changes. Where
    opponents' beliefs are as if independent, as in the filter, deviations come out somewhat small; with margins, means
    are those of the exact posterior.

        data = jr.data.datasets.nfl()
        system = jr.skills("margin", margin=data.margin, seasons=data.seasons, compression=10.0, side_advantage=50.0)
        smoothed = jr.smooth(system, data)
        best = smoothed.rating.mean.max()  # of all teams in all games

    Args:
      system: `skills`, in any of its forms. Glicko's model is `skills("logistic")`, and TrueSkill's of two players
        `skills(draw_margin=...)`.
      events: `Matches` in order of time, or a `Dataset` of them. A match of weight w counts as w matches.
      params: hyperparameters, by default `system.params`.
      num_players: rows of the state, by default the largest id plus one, or all whom a `Dataset` names.
      tolerance: it has converged when in a sweep no mean moves by more than so many of its deviations (> 0), and no
        variance by more than ten times this share of itself.
      sweeps: after so many it stops, with a warning (from 1).

    Returns:
      `Smoothed`. Its `state` is what `run(..., state=...)` filters on from. Its `prediction` leaves out the match
      itself and says how well the past is explained; it is no forecast.

    Raises:
      ValueError: for another system, rating periods or rounds, a history without matches, bad rows (see `matches`),
        columns that the system lacks, hyperparameters out of their range, or more matches than memory holds.
    """
    if not tolerance > 0:
        raise ValueError(f"tolerance must be above 0, got {tolerance!r}")
    if not (is_whole_number(sweeps) and sweeps >= 1):
        raise ValueError(f"sweeps must be a whole number from 1, got {sweeps!r}")
    model, params, matches, timelines = prepare_smoothing("smooth", system, events, params, num_players)
    n = len(matches.score)
    sweep_result = run_sweeps(model, params, timelines, tolerance, sweeps)
    change, converged = float(sweep_result.change), bool(sweep_result.change <= tolerance)
    if not converged:
        message = f"means still moved by up to {change:.2g} deviations after {sweeps} sweeps: allow more by sweeps=..."
        warnings.warn(message, stacklevel=3)  # past the check of arguments
    quantities = smoothed_quantities(model, params, timelines, sweep_result.site)
    evidence = float(np.sum(np.asarray(quantities.evidence), dtype=np.float64))
    rating, components = (
        Rating(*(_move_side_axis_after_matches(x, n) for x in one))
        for one in (quantities.rating, quantities.components)
    )
    names, clock = (events.players, events.clock) if isinstance(events, Dataset) else (None, "numbers")
    return Smoothed(
        rating,
        None if model.size == 1 else components,
        truncate_leaves(quantities.prediction, n),
        evidence,
        quantities.state,
        int(sweep_result.sweeps),
        change,
        converged,
        system._replace(params=params),
        matches,
        names,
        clock,
        sweep_result.site,
    )


class SmoothingProblem(NamedTuple):
    """A checked history with its model, hyperparameters and timelines."""

    model: ModelSettings
    params: Any
    matches: Matches
    timelines: Timelines


def prepare_smoothing(
    caller: str, system: RatingSystem, events: Matches | Dataset, params: Params, num_players: int | None
) -> SmoothingProblem:
    """The checked problem; ValueError as in `smooth`. `caller` names the function in errors."""
    check_system(system)
    model = resolve_smoothing_model(system)
    matches_or_ragged, num_players = resolve_events_and_num_players(events, num_players)
    if not isinstance(matches_or_ragged, Matches):
        kind = type(getattr(matches_or_ragged, "events", matches_or_ragged)).__name__
        raise ValueError(f"{caller} takes matches, each at its own time, and not {kind}")
    check_system_takes_events(system, matches_or_ragged, None)
    params = resolve_params(system, params)
    check_concrete("hindsight is calculated until it converges", params, "; give numbers")
    matches = check_matches(matches_or_ragged)
    n = len(matches.score)
    if n == 0:
        raise ValueError("there are no matches to smooth")
    id_count = int(matches.player.max()) + 1
    check_ids_not_sparse(system, matches.player, id_count, num_players, 0)
    _check_memory(model, n)
    rows = resolve_row_count(system, None, num_players, id_count)
    return SmoothingProblem(model, params, matches, build_timelines(matches, rows, model.seasons, model.size))


def resolve_smoothing_model(system: RatingSystem) -> ModelSettings:
    """The model of a `skills` system; ValueError for another system."""
    model = find_smoothing_model(system)
    if model is None:
        advice = {"glicko": 'skills("logistic")', "trueskill": "skills(draw_margin=...)"}.get(system.name, "skills()")
        raise ValueError(f"{system.name} has no hindsight; take jr.{advice}, fitted to the same history")
    return model


def _check_memory(model: ModelSettings, num_matches: int) -> None:
    """ValueError if the passes do not fit into memory."""
    num_floats = 2 * num_matches * (model.size**2 + 8 * model.size + 3 * ANDERSON_DEPTH + 20)
    required_bytes = num_floats * jnp.result_type(float).itemsize
    check_memory_fits(f"hindsight of {num_matches:,} matches", required_bytes, device_memory_bytes(jax.devices()[0]))


def _move_side_axis_after_matches(x: Array, num_matches: int) -> Array:
    """[n, 2, ...] of [2, size, ...]."""
    return jnp.asarray(np.moveaxis(np.asarray(x)[:, :num_matches], 0, 1))
