"""Forecasts with hindsight: the past is smoothed at intervals, and the filter goes on from there."""

from itertools import pairwise
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import CHECKED_BY_FUNCTION, enforce_argument_annotations
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_number
from jaxrate.events import Matches, Ragged, as_event_time, is_date, slice_events
from jaxrate.events.dataset import Dataset
from jaxrate.replay.checked_replay import Run, run
from jaxrate.smoothing.expectation_propagation import run_sweeps
from jaxrate.smoothing.forward_backward import GaussianSite
from jaxrate.smoothing.smoothed_ratings import filtered_final_state
from jaxrate.smoothing.smoother import prepare_smoothing
from jaxrate.smoothing.timelines import truncate_timelines

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
    that of the National Football League does not (`experiments/hindsight_prediction.py`).

        data = jr.data.datasets.nfl()
        system = jr.skills("margin", margin=data.margin, seasons=data.seasons, compression=10.0, side_advantage=50.0)
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
    if not 0 < refit < np.inf:
        raise ValueError(f"refit must be a time above 0, got {refit!r}")
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
    system, bounds = system._replace(params=params), _refit_block_bounds(flat.time, first_smoothing, refit)
    filter_run = run(system, slice_events(checked_events, 0, bounds[0]), num_players=len(timelines.last_node))
    predictions = [filter_run.prediction]
    site = GaussianSite(jnp.zeros(timelines.node_of_player.shape), jnp.zeros(timelines.node_of_player.shape))
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


def _refit_block_bounds(time: Any, start: float, refit: float) -> list[int]:
    """Indices that bound the matches forecast from one smoothing; the first is that of the first smoothing."""
    begin, n = int(np.searchsorted(time, start)), len(time)
    later = np.floor((np.asarray(time[begin:], float) - start) / refit)
    return [begin, *(begin + 1 + np.flatnonzero(np.diff(later))).tolist(), n]
