"""A fit to the past in bounded time, for systems that are compared, which keep their defaults where it does harm."""

import time
from collections.abc import Collection
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.core.array_types import Array
from jaxrate.core.system import RatingSystem, random_draw_rule
from jaxrate.events import periods, slice_events
from jaxrate.events.dataset import Dataset
from jaxrate.fitting.hyperparameter_fit import fit

MAX_EVENTS = 100_000  # matches or participations that are fitted, the last ones
WARM_UP = 0.2  # first share of these that is rated and not scored, where there were more events before
MAX_STEPS = 50
TRUSTED_SHARE = 0.8  # of the past: what is fitted to it must predict the rest of the past about as well as the defaults
MIN_HARM = 0.005  # nats by which it may be worse: so much is chance, and fits that explode lose far more
TIME_LIMIT = 60.0  # seconds after which no step begins


class FitLimits(NamedTuple):
    """How much a fit may cost."""

    max_events: float  # matches or participations that are fitted, the last ones
    seconds: float  # after which no step begins


def fit_with_time_limit(
    system: RatingSystem,
    data: Dataset,
    num_past: int,
    period_length: float | None = None,
    fixed: Collection[str] = (),
    limits: FitLimits | None = None,
) -> tuple[RatingSystem, str]:
    """The system, fitted to the last matches or participations of the past, and why not ("" if it was).

    It keeps its hyperparameters if others, fitted to the first four fifths of the past, predict its last fifth
    clearly worse, as who explodes later may do. If the time ends with that fit, its hyperparameters are taken.

    Args:
      num_past: matches or contests before those that are scored.
      period_length: of rating periods; None: event by event.
      fixed: hyperparameters that stay as they are.
      limits: None: `MAX_EVENTS` and `TIME_LIMIT`.
    """
    limits = FitLimits(MAX_EVENTS, TIME_LIMIT) if limits is None else limits
    start_time = time.monotonic()
    first_event = int(max(num_past - limits.max_events, 0))
    if not data.of_matches:
        start = data.rounds.player_start
        first_event = int(np.searchsorted(start, max(start[num_past] - limits.max_events, 0)))
        first_event = min(first_event, max(num_past - 1, 0))
    events = slice_events(data.events, first_event, num_past)
    events = events if period_length is None else periods(events, period_length)
    options: dict[str, Any] = {
        "errors": "products",
        "key": make_fixed_key(system),
        "warm_up": WARM_UP if first_event else 0,
    }

    def is_late(*_: Any) -> bool:
        return time.monotonic() - start_time > limits.seconds

    try:
        free = None
        if fixed:
            free = [name for name in fit(system, events, steps=0, **options).free if name not in fixed]
            if not free:
                return system, "nothing is left to fit"
        options |= {"free": free, "steps": MAX_STEPS, "watch": is_late}
        first = fit(system, events, data_share=TRUSTED_SHARE, **options)
        assert first.held_out is not None
        if not first.held_out.fitted <= first.held_out.start + MIN_HARM:
            return system, "fits to the first four fifths of the past lose to the defaults on its last fifth"
        return first.system if is_late() else fit(first.system, events, **options).system, ""
    except ValueError as error:
        return system, str(error)


def make_fixed_key(system: RatingSystem) -> Array | None:
    """A PRNG key, the same every time, if the system draws random numbers."""
    return None if random_draw_rule(system.rules) is None else jax.random.key(0)
