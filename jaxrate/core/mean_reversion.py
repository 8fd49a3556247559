"""Mean reversion: leads over newcomers fade, by the clock and from season to season.

By the clock it is the Ornstein-Uhlenbeck process about a newcomer's mean (Uhlenbeck and Ornstein 1930), with a time
constant tau: after t the share k = exp(-t / tau) of a lead is left, and a variance that grows by g per unit of time is

    k^2 P + g tau / 2 (1 - k^2)

which is exact however long t is. A season that begins leaves the share `season_keep` of a lead, season_keep^2 of the
variance, and adds `season_growth`^2; n seasons do so n times. The clock comes first, then the seasons that begin later
than the last event, and not later than this one.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import check_that
from jaxrate.core.array_types import Array
from jaxrate.core.hyperparameter_definitions import (
    MAYBE_NOT_NEGATIVE,
    MAYBE_OPEN_UNIT_INTERVAL,
    MAYBE_POSITIVE,
    Parameter,
)
from jaxrate.core.rules import Constants, State
from jaxrate.events import as_event_time

DEFAULT_SEASON_KEEP = 0.8  # the usual one, where there are seasons
DEFAULT_SEASON_GROWTH = 30.0  # on a scale of 400 points
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
    if_none=f"{DEFAULT_SEASON_GROWTH:g}, with seasons",
)


def parse_season_starts(system: str, seasons: Any) -> tuple[float, ...]:
    """When the seasons begin, by themselves or by name; ValueError unless they increase."""
    seasons = [*seasons.values()] if isinstance(seasons, Mapping) else () if seasons is None else seasons
    times = tuple(as_event_time("seasons", x) for x in (seasons if np.ndim(seasons) else (seasons,)))
    increase = all(a < b for a, b in pairwise(times))
    check_that(increase, f"{system}: seasons must increase; give the first time of each once")
    return times


def fill_season_defaults(
    system: str, has_seasons: bool, params: Any, season_growth: float = DEFAULT_SEASON_GROWTH
) -> Any:
    """Hyperparameters with the usual values of those of seasons that are None; ValueError for one without seasons."""
    defaults = {"season_keep": DEFAULT_SEASON_KEEP, "season_growth": season_growth}
    for name in defaults:
        is_allowed = has_seasons or getattr(params, name, None) is None
        check_that(is_allowed, f"{system}: {name} needs seasons=..., their first times")
    missing = {name: x for name, x in defaults.items() if has_seasons and getattr(params, name, x) is None}
    return params._replace(**missing)


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


def elapsed_time(time: Array, last: Array) -> Array:
    """Time since `last`, never negative; zero for a player who has not played yet (`last` = inf)."""
    return jnp.maximum(time - last, 0.0)


def get_params(constants: Constants) -> Any:
    """The hyperparameters among the constants, or the constants themselves if these are all."""
    return getattr(constants, "params", constants)


# --- Of systems with one rating a player, and perhaps its variance. Their hyperparameters have the newcomer's. ---


# The rows after some time [...] in which no season begins, within the bounds that beliefs have, of the constants.
AgeRule: TypeAlias = Callable[[Constants, Any, Any], Any]


def age_and_revert(age: AgeRule | None, constants: Constants, rows: State, duration: Array) -> State:
    """The rows after some time in which no season begins: leads fade, if there is a `reversion`."""
    params = get_params(constants)
    keep, span = lead_retention_and_growth_time(getattr(params, "reversion", None), duration)
    if keep is not None:
        rows = revert_rows(params, rows, keep)
    aged = rows if age is None else age(constants, rows, span)
    return aged if keep is None else _keep_variance_positive(params, aged)


def apply_seasons(seasons: Sequence[float], constants: Constants, rows: Any, since: Array, until: Array) -> State:
    """After the seasons that begin later than `since`, and not later than `until`; variances grow to `constants.high`.

    Without such a constant they have no bound.
    """
    if not seasons:
        return rows
    params, high = get_params(constants), getattr(constants, "high", None)
    keep, added = season_lead_retention_and_added_variance(
        params.season_keep, getattr(params, "season_growth", 0.0), count_seasons_begun(seasons, since, until)
    )
    rows = revert_rows(params, rows, keep)
    if not hasattr(rows, "variance"):
        return rows
    rows = _keep_variance_positive(params, rows._replace(variance=rows.variance + added))
    return rows if high is None else rows._replace(variance=jnp.minimum(rows.variance, high))


def revert_rows(params: Any, rows: Any, lead_retention: Array) -> Any:
    """The rows with this share of their lead over a newcomer, or over `reversion_mean` where the system has one."""
    mean = getattr(params, "reversion_mean", params.initial_rating)
    rows = rows._replace(rating=mean + lead_retention * (rows.rating - mean))
    return rows._replace(variance=lead_retention**2 * rows.variance) if hasattr(rows, "variance") else rows


def _keep_variance_positive(params: Any, rows: Any) -> Any:
    """The rows with a variance above 0, also where all is forgotten and nothing grows."""
    if not hasattr(rows, "variance"):
        return rows
    return rows._replace(variance=jnp.maximum(rows.variance, least_variance(params, rows)))


def least_variance(params: Any, rows: Any) -> Any:
    """The variance where all is forgotten and nothing grows: it is above 0."""
    return (float(np.finfo(rows.rating.dtype).eps) * params.initial_deviation) ** 2
