"""Mean reversion: leads over newcomers fade, by the clock and from season to season.

By the clock it is the Ornstein-Uhlenbeck process about a newcomer's mean (Uhlenbeck and Ornstein 1930), with a time
constant tau: after t the share k = exp(-t / tau) of a lead is left, and a variance that grows by g per unit of time is

    k^2 P + g tau / 2 (1 - k^2)

which is exact however long t is. A season that begins leaves the share `season_keep` of a lead, season_keep^2 of the
variance, and adds `season_growth`^2; n seasons do so n times. The clock comes first, then the seasons that begin later
than the last event, and not later than this one.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array
from jaxrate.core.hyperparameter_definitions import (
    MAYBE_NOT_NEGATIVE,
    MAYBE_OPEN_UNIT_INTERVAL,
    MAYBE_POSITIVE,
    Parameter,
)
from jaxrate.core.rules import State
from jaxrate.core.system import clip_optional
from jaxrate.events import Periods, as_event_time

DEFAULT_SEASON_KEEP = 0.8  # the usual one, where there are seasons
SEASON_DEFAULTS = {"season_keep": DEFAULT_SEASON_KEEP, "season_growth": 30.0}  # on a scale of 400 points
REVERSION = Parameter(MAYBE_POSITIVE, "days, or the unit of time", "time in which 63% of a lead is lost")
SEASON_KEEP = Parameter(
    MAYBE_OPEN_UNIT_INTERVAL,
    "1",
    "share of a lead that is kept from season to season",
    if_none=f"{DEFAULT_SEASON_KEEP:g}, with seasons",
)
SEASON_GROWTH = Parameter(
    MAYBE_NOT_NEGATIVE,
    "points",
    "growth of the deviation by a season",
    if_none=f"{SEASON_DEFAULTS['season_growth']:g}, with seasons",
)


def parse_season_starts(system: str, seasons: Any) -> tuple[float, ...]:
    """When the seasons begin, by themselves or by name; ValueError unless they increase."""
    seasons = [*seasons.values()] if isinstance(seasons, Mapping) else () if seasons is None else seasons
    times = tuple(as_event_time("seasons", x) for x in (seasons if np.ndim(seasons) else (seasons,)))
    if any(a >= b for a, b in pairwise(times)):
        raise ValueError(f"{system}: seasons must increase; give the first time of each once")
    return times


def fill_season_defaults(system: str, seasons: Sequence[float], params: Any, **defaults: float) -> Any:
    """Hyperparameters with the usual values of those of seasons that are None; ValueError for one without seasons."""
    for name, value in defaults.items():
        given = getattr(params, name) is not None
        if given and not seasons:
            raise ValueError(f"{system}: {name} needs seasons=..., their first times")
        if seasons and not given:
            params = params._replace(**{name: value})
    return params


def lead_retention_and_growth_time(reversion: float | Array | None, duration: Array) -> tuple[Array | None, Array]:
    """What some time leaves of a lead (None: all of it), and the time in which an idle variance would grow as much."""
    if reversion is None:
        return None, duration
    return jnp.exp(-duration / reversion), -0.5 * reversion * jnp.expm1(-2.0 * duration / reversion)


def count_seasons_begun(seasons: Sequence[float], since: Array, until: Array) -> Array:
    """[...] how many seasons begin later than `since`, and not later than `until`."""
    begin = jnp.broadcast_to(jnp.asarray(np.array(seasons), float), (*since.shape, len(seasons)))
    passed = (begin > since[..., None]) & (begin <= jnp.broadcast_to(until, since.shape)[..., None])
    return jnp.sum(passed.astype(since.dtype), axis=-1)


def season_lead_retention_and_added_variance(season_keep: Any, season_growth: Any, count: Array) -> tuple[Array, Array]:
    """What so many seasons leave of a lead, and what they add to the variance."""
    lost = jnp.log(jnp.asarray(season_keep, count.dtype))  # 0 where the share is rounded to 1
    sums = jnp.expm1(2.0 * count * lost) / jnp.where(lost < 0, jnp.expm1(2.0 * lost), -1.0)
    return jnp.exp(count * lost), season_growth**2 * jnp.where(lost < 0, sums, count)


def seasons_applied_until(event: Periods, last_time: Array) -> Array:
    """[A] since when seasons may begin within a rating period: those before have been seen to."""
    return jnp.where(jnp.isfinite(last_time), jnp.maximum(last_time, event.time), event.time)


# --- Of systems with one rating a player, and its variance. Their `params` have the newcomer's. ---


def revert_ratings_and_grow_variances(
    params: Any, rows: State, lead_retention: Array | None, added_variance: Array, max_variance: Any
) -> State:
    """With this share of the lead (None: all of it), and variances that grow by `added_variance`, up to the highest."""
    if lead_retention is None:
        return rows._replace(variance=clip_optional(rows.variance + added_variance, None, max_variance))
    rating = revert_rating(params, rows.rating, lead_retention)
    least = (float(np.finfo(rating.dtype).eps) * params.initial_deviation) ** 2  # where nothing grows
    return rows._replace(
        rating=rating, variance=clip_optional(lead_retention**2 * rows.variance + added_variance, least, max_variance)
    )


def revert_rating(params: Any, rating: Array, lead_retention: Array) -> Array:
    """With this share of the lead over a newcomer."""
    return params.initial_rating + lead_retention * (rating - params.initial_rating)


def apply_seasons(
    seasons: Sequence[float], params: Any, rows: State, since: Array, until: Array, max_variance: Any
) -> State:
    """After the seasons that begin later than `since`, and not later than `until`."""
    if not seasons:
        return rows
    keep, added = season_lead_retention_and_added_variance(
        params.season_keep, params.season_growth, count_seasons_begun(seasons, since, until)
    )
    return revert_ratings_and_grow_variances(params, rows, keep, added, max_variance)
