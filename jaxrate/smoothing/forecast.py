"""Forecasts with hindsight: the past is smoothed anew every so often, and filtered on from there."""

from itertools import pairwise
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.arguments import OWN, check_arguments
from jaxrate.data.dataset import Dataset
from jaxrate.events import Matches, as_moment, dated, part
from jaxrate.replay.run import Run, run
from jaxrate.smoothing.passes import Site
from jaxrate.smoothing.smooth import opened
from jaxrate.smoothing.sweeps import left, sweep
from jaxrate.smoothing.timelines import until
from jaxrate.system import Params, RatingSystem
from jaxrate.text import number

TOLERANCE, SWEEPS = 1e-3, 200  # of the first smoothing
AGAIN = 3  # sweeps of each later one, which begins with what the matches before said


@check_arguments
def forecast(
    system: RatingSystem,
    events: Annotated[Matches | Dataset, OWN],
    *,
    start: Any,
    refit: float = 7.0,
    params: Params = None,
    num_players: int | None = None,
) -> Run:
    """Forecast every match from those before it, of which more is known in hindsight than as they were played.

    From `start` on, every `refit` the matches before are smoothed anew, as by `smooth`, and the filter goes on from
    their state until the next time. A filter judges a newcomer's first opponents by what it knew then; this corrects it
    by what they did later, and still no forecast knows of its own match or of any after it. With fitted hyperparameters
    log losses of tennis, college basketball and international football fall by 0.0005 to 0.0008 nats; that of the
    National Football League does not (`experiments/hindsight_prediction.py`).

        data = jr.datasets.nfl()
        system = jr.skills("margin", margin=data.margin, seasons=data.seasons, compression=10.0, side_advantage=50.0)
        found = jr.forecast(system, data, start="2019-01-01", refit=28.0)
        loss = jr.metrics.log_loss(found.prediction, data.matches.score)

    Args:
      system: `skills`, in any of its forms.
      events: `Matches` in order of time, or a `Dataset` of them.
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
    if not (isinstance(refit, (int, float)) and 0 < refit < np.inf):
        raise ValueError(f"refit must be a time above 0, got {refit!r}")
    if isinstance(events, Dataset) and events.clock is None:
        raise ValueError("forecast needs times, and this history has none; name the column of time when it is read")
    if isinstance(events, Dataset) and dated(start) and events.clock != "dates":
        raise ValueError(f"start {start} is a date, but the history has none; give a number on its clock")
    moment = as_moment("start", start)
    model, params, matches, lines = opened("forecast", system, events, params, num_players)
    if moment > matches.time[-1]:
        last = float(matches.time[-1])
        said = np.datetime64(int(last // 1), "D") if dated(start) else number(last)
        raise ValueError(
            f"start {start} is after the last match, at {said}; give the time of the first match to forecast with "
            "hindsight of those before it, or take jr.run, which has none"
        )
    system, bounds = system._replace(params=params), _bounds(matches.time, moment, refit)
    found = run(system, part(matches, 0, bounds[0]), num_players=len(lines.last))
    guesses = [found.prediction]
    site = Site(jnp.zeros(lines.place.shape), jnp.zeros(lines.place.shape))
    for low, high in pairwise(bounds):
        state = found.state
        if low > 0:
            known = until(lines, matches.player, low)
            site = sweep(model, params, known, TOLERANCE, AGAIN if guesses[1:] else SWEEPS, site).site
            state = left(model, params, known, site)
        found = run(system, part(matches, low, high), state=state)
        guesses.append(found.prediction)
    together = jax.tree.map(lambda *x: jax.device_put(np.concatenate([np.asarray(y) for y in x])), *guesses)
    return Run(found.state, together)


def _bounds(time: Any, start: float, refit: float) -> list[int]:
    """Of the matches that are forecast from one smoothing; the first of those before any."""
    begin, n = int(np.searchsorted(time, start)), len(time)
    later = np.floor((np.asarray(time[begin:], float) - start) / refit)
    return [begin, *(begin + 1 + np.flatnonzero(np.diff(later))).tolist(), n]
