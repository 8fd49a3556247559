"""A fit in bounded time to the past, of systems that are to be compared."""

import time
from collections.abc import Collection
from typing import Any

import jax
import numpy as np

from jaxrate.events import Matches, periods, slice_events
from jaxrate.events.dataset import Dataset
from jaxrate.fitting.hyperparameter_fit import fit
from jaxrate.system import RatingSystem
from jaxrate.types import Array

MAX_EVENTS = 100_000  # matches or participations that are fitted, the last ones
WARM_UP = 0.2  # of these, where there were more: a first share that is rated and not scored
MAX_STEPS = 50
TIME_LIMIT = 60.0  # after which no step begins


def fit_with_time_limit(
    system: RatingSystem, data: Dataset, num_past: int, period_length: float | None = None, fixed: Collection[str] = ()
) -> tuple[RatingSystem, str]:
    """The system, fitted to the last `MOST` matches or participations of the first events; and why not, "" if it was.

    Args:
      past: how many matches or contests come before what is scored.
      length: of rating periods; None: event by event.
      fixed: hyperparameters that stay as they are.
    """
    began = time.monotonic()
    first = max(num_past - MAX_EVENTS, 0)
    if not isinstance(data.events, Matches):
        start = data.rounds.player_start
        first = int(np.searchsorted(start, max(start[num_past] - MAX_EVENTS, 0)))
        first = min(first, max(num_past - 1, 0))
    events = slice_events(data.events, first, num_past)
    events = events if period_length is None else periods(events, period_length)
    options: dict[str, Any] = {"errors": "products", "key": fixed_key(system), "warm_up": WARM_UP if first else 0}
    try:
        free = None
        if fixed:
            free = [name for name in fit(system, events, steps=0, **options).free if name not in fixed]
            if not free:
                return system, "nothing is left to fit"
        late = lambda step, loss: time.monotonic() - began > TIME_LIMIT  # noqa: E731
        return fit(system, events, free=free, steps=MAX_STEPS, watch=late, **options).system, ""
    except ValueError as error:
        return system, str(error)


def fixed_key(system: RatingSystem) -> Array | None:
    """A PRNG key, the same every time, if the system draws random numbers."""
    return None if system.rules.draw is None else jax.random.key(0)
