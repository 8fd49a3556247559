"""The smoother: checks, the smoothed history, and forecasts from a filter that starts anew from a smoothed past."""

import warnings
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import (
    CHECKED_BY_FUNCTION,
    check_concrete,
    check_that,
    enforce_argument_annotations,
    is_whole_number,
)
from jaxrate.core.array_types import Array
from jaxrate.core.memory_checks import check_memory_fits, device_memory_bytes
from jaxrate.core.rules import Params, Rating, State
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_number
from jaxrate.events import (
    Matches,
    Ragged,
    as_event_time,
    check_contest_time_order,
    is_date,
    seats_per_row,
    slice_events,
)
from jaxrate.events.dataset import Dataset, resolve_events_and_num_players
from jaxrate.events.event_builders import check_events
from jaxrate.replay.checked_replay import Run, check_system_takes_events, run
from jaxrate.replay.padded_arrays import (
    check_ids_not_sparse,
    resolve_params,
    resolve_row_count,
)
from jaxrate.smoothing.expectation_propagation import (
    ANDERSON_DEPTH,
    filtered_final_state,
    ratings_at_query_time,
    run_sweeps,
    smoothed_quantities,
    uninformative_sites,
)
from jaxrate.smoothing.forward_backward import GaussianSite
from jaxrate.smoothing.timelines import (
    PUT_ON_DEVICE,
    Participations,
    Timelines,
    build_timelines,
    gather_rows_of_events,
    list_participations,
    truncate_timelines,
)
from jaxrate.systems.skills.parts import count_predictors
from jaxrate.systems.skills.rules import find_smoothing_model
from jaxrate.systems.skills.settings import SIDE_COLUMN, ModelSettings, check_alike_in_all_teams


class Smoothed(NamedTuple):
    """What smoothing finds: the beliefs about both players of each match, or all participants of each contest [n],
    given all events before and after.

    Means and deviations are in points, and as each event left its players: where it is a player's last, they are those
    of the state.
    """

    rating: Rating  # leaves [n, 2] of matches, [n] of participants of contests
    components: Rating | None  # leaves [..., D] of the numbers of all parts, as in the state; None: D = 1
    prediction: Array  # [n] of player 0 of a match the expected score, or as `run`, given all events but this one
    evidence: float  # log likelihood of all results; no joint one of contests with statistics or quits
    state: State  # leaves [num_players, ...] after the last event of each, to filter on from
    sweeps: int
    change: float  # the greatest in the last sweep, of a mean in its deviations, or a tenth of that of a variance
    converged: bool
    system: RatingSystem  # with the hyperparameters of the history
    events: Matches | Ragged
    site: GaussianSite  # of participants, in an order of their own

    @enforce_argument_annotations
    def at(self, time: float) -> Rating:
        """[num_players] the ratings as of a number on the clock of the events, given the whole history.

        Events of that very time have taken place. NaN for players who have not played by then.
        """
        model, params, num_players = find_smoothing_model(self.system), self.system.params, len(self.state.time)
        assert model is not None
        timelines, query = build_timelines(self.events, num_players, model, time)
        rating = np.full((2, num_players), np.nan)
        if len(query.player):
            rating[:, np.asarray(query.player)] = ratings_at_query_time(model, params, timelines, query, self.site)
        return Rating(*rating)

    def __repr__(self) -> str:
        status = "converged" if self.converged else "not converged"
        return (
            f"  log likelihood  {self.evidence:,.2f}\n"
            f"  sweeps          {self.sweeps}, {status}: means moved by up to {self.change:.2g} deviations in the last"
        )


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
    check_that(tolerance > 0, f"tolerance must be above 0, got {tolerance!r}")
    check_that(is_whole_number(sweeps) and sweeps >= 1, f"sweeps must be a whole number from 1, got {sweeps!r}")
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
    rating, components = (
        Rating(*(jax.device_put(gather_rows_of_events(x, participations, checked_events)) for x in one))
        for one in (quantities.rating, quantities.components)
    )
    prediction = np.asarray(quantities.prediction)[participations.slot][:: seats_per_row(checked_events)]
    return Smoothed(
        rating,
        None if model.size == 1 else components,
        jax.device_put(prediction),
        evidence,
        quantities.state,
        int(sweep_result.sweeps),
        change,
        converged,
        system._replace(params=params),
        checked_events,
        sweep_result.site,
    )


def prepare_smoothing(
    caller: str, system: RatingSystem, events: Matches | Ragged | Dataset, params: Params, num_players: int | None
) -> tuple[ModelSettings, Any, Matches | Ragged, Participations, Timelines]:
    """The model, its hyperparameters, the checked events, their participations and timelines; errors as of `smooth`."""
    model = resolve_smoothing_model(system)
    history: Any
    history, num_players = resolve_events_and_num_players(events, num_players)
    flat: Any = getattr(history, "events", history)
    if type(flat) not in PUT_ON_DEVICE:
        raise ValueError(f"{caller} takes matches or contests, each at its own time, and not {type(flat).__name__}")
    check_system_takes_events(system, history, None)
    params = resolve_params(system, params)
    check_concrete("hindsight is calculated until it converges", params, "; give numbers")
    checked_events = check_smoothable_events(model, history)
    if len(flat.time) == 0:
        raise ValueError(f"there are no {checked_events.nouns} to smooth")
    id_count = int(np.max(flat.player)) + 1
    check_ids_not_sparse(system, flat.player, id_count, num_players, 0)
    participations = list_participations(checked_events, model)
    _check_memory(model, participations.size)
    rows = resolve_row_count(system, None, num_players, id_count)
    timelines, _ = build_timelines(checked_events, rows, model)
    return model, params, checked_events, participations, timelines


def check_smoothable_events(model: ModelSettings, events: Matches | Ragged) -> Matches | Ragged:
    """The matches or contests; ValueError for bad ones, see `smooth`."""
    events = check_events(events)
    check_contest_time_order(events)
    context = events.flat.context
    if events.flat.participant_rows is None:  # nobody is in several teams
        return events
    if context.category is not None:
        check_alike_in_all_teams(events, context.category, "meets another category")
    names = [SIDE_COLUMN] * model.own_side + [name for part in model.own_parts for name in part.columns]
    for name in names:
        check_alike_in_all_teams(events, events.columns[name], f"has another {name}")
    return events


def resolve_smoothing_model(system: RatingSystem) -> ModelSettings:
    """The model of a `skills` system; ValueError for another system."""
    model = find_smoothing_model(system)
    if model is None:
        observe = {"glicko": "observe=jr.parts.logistic()", "trueskill": "observe=jr.parts.result(draw_margin=...)"}
        advice = f"jr.skills({observe.get(system.name, '')})"
        raise ValueError(f"{system.name} has no hindsight; take {advice}, fitted to the same history")
    return model


def _check_memory(model: ModelSettings, num_participations: int) -> None:
    """ValueError if the passes do not fit into memory."""
    size, k = model.size, count_predictors(model)
    num_floats = num_participations * (size**2 + 8 * size + ANDERSON_DEPTH * (k * k + 2 * k) + 20)
    required_bytes = num_floats * jnp.result_type(float).itemsize
    subject = f"hindsight of {num_participations:,} participations"
    check_memory_fits(subject, required_bytes, device_memory_bytes(jax.devices()[0]))


TOLERANCE, FIRST_SWEEPS = 1e-3, 200  # of the first smoothing
LATER_SWEEPS = 3  # sweeps of each later smoothing, which starts from the sites of the one before


@enforce_argument_annotations
def forecast_by_smoothing(
    system: RatingSystem,
    events: Annotated[Matches | Ragged | Dataset, CHECKED_BY_FUNCTION],
    *,
    start: Any,
    refit: float = 7.0,
    params: Params = None,
    num_players: int | None = None,
) -> Run:
    """Forecast every match from the matches before it, smoothed, which say more than they did when they were played.

    From `start` on, after every `refit` the matches before are smoothed anew, as by `smooth`, and the filter goes on
    from their state until the next time. A filter judges a newcomer's first opponents by what it knew then; smoothing
    corrects that by what they did later. Still no forecast knows its own match or any later one. With fitted
    hyperparameters log losses of tennis, college basketball and international football fall by 0.0005 to 0.0008 nats;
    that of the National Football League does not (`experiments/evidence.py`).

        data = jr.data.datasets.nfl()
        system = jr.skills(jr.parts.seasons(data.seasons), observe=jr.parts.margin(*data.margin, compression=10.0))
        result = jr.forecasts.forecast_by_smoothing(system, data, start="2019-01-01", refit=28.0)
        loss = jr.metrics.log_loss(result.prediction, data.matches.score)

    Args:
      system: `skills`, in any of its forms.
      events: `Matches` or contests in order of time, or a `Dataset` of them.
      start: the first time that the past is smoothed, a number or a date on the clock of the matches. Matches before it
        are forecast by the filter alone.
      refit: time between smoothings (> 0), in the unit of the clock: 7.0 is a week where it counts days. Each takes
        about three sweeps over the whole history, of which `smooth` takes some dozens.
      params: hyperparameters, by default `system.params`.
      num_players: as in `smooth`.

    Returns:
      `Run(state, prediction)`, as of `run`. The state is that of the filter after the last match.

    Raises:
      ValueError: as `smooth`; for a `Dataset` without times, for a `start` that is no moment of this clock or after
        the last match, or a `refit` that is not above 0.
    """
    check_that(0 < refit < np.inf, f"refit must be a time above 0, got {refit!r}")
    clock = events.clock if isinstance(events, Dataset) else "dates"  # of one's own events any clock is right
    if clock is None:
        raise ValueError("forecast needs times, and this history has none; name the column of time when it is read")
    if is_date(start) and clock != "dates":
        raise ValueError(f"start {start} is a date, but the history has none; give a number on its clock")
    first_smoothing = as_event_time("start", start)
    model, params, checked_events, participations, timelines = prepare_smoothing(
        "forecast", system, events, params, num_players
    )
    flat: Any = checked_events.flat
    if first_smoothing > flat.time[-1]:
        last = float(flat.time[-1])
        last_text = np.datetime64(int(last // 1), "D") if is_date(start) else format_number(last)
        raise ValueError(
            f"start {start} is after the last match, at {last_text}; give the time of the first match to forecast with "
            "hindsight of those before it, or take jr.run, which has none"
        )
    system, begin = system._replace(params=params), int(np.searchsorted(flat.time, first_smoothing))
    blocks = np.floor((np.asarray(flat.time[begin:], float) - first_smoothing) / refit)  # each smoothed once, before it
    bounds = [begin, *(begin + 1 + np.flatnonzero(np.diff(blocks))).tolist(), len(flat.time)]
    filter_run = run(system, slice_events(checked_events, 0, bounds[0]), num_players=len(timelines.last_node))
    predictions = [filter_run.prediction]
    site = uninformative_sites(model, timelines)
    for low, high in pairwise(bounds):
        state = filter_run.state
        if low > 0:
            known_timelines = truncate_timelines(timelines, participations, low)
            sweeps = LATER_SWEEPS if predictions[1:] else FIRST_SWEEPS
            site = run_sweeps(model, params, known_timelines, TOLERANCE, sweeps, site).site
            state = filtered_final_state(model, params, known_timelines, site)
        filter_run = run(system, slice_events(checked_events, low, high), state=state)
        predictions.append(filter_run.prediction)
    prediction = jax.tree.map(lambda *x: jax.device_put(np.concatenate([np.asarray(y) for y in x])), *predictions)
    return Run(filter_run.state, prediction)
