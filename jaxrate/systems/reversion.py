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

from jaxrate.events import Array, Periods, as_moment
from jaxrate.system import Facts, State, bounded, by_period

SEASON_KEEP = 0.8  # the usual one, where there are seasons
USUAL = {"season_keep": SEASON_KEEP, "season_growth": 30.0}  # on a scale of 400 points


def starts(system: str, seasons: Any) -> tuple[float, ...]:
    """When the seasons begin, by themselves or by name; ValueError unless they increase."""
    seasons = [*seasons.values()] if isinstance(seasons, Mapping) else () if seasons is None else seasons
    times = tuple(as_moment("seasons", x) for x in (seasons if np.ndim(seasons) else (seasons,)))
    if any(a >= b for a, b in pairwise(times)):
        raise ValueError(f"{system}: seasons must increase; give the first time of each once")
    return times


def usual(system: str, seasons: Sequence[float], params: Any, **values: float) -> Any:
    """Hyperparameters with the usual values of those of seasons that are None; ValueError for one without seasons."""
    for name, value in values.items():
        given = getattr(params, name) is not None
        if given and not seasons:
            raise ValueError(f"{system}: {name} needs seasons=..., their first times")
        if seasons and not given:
            params = params._replace(**{name: value})
    return params


def adapted(facts: Facts, changes: Mapping[str, Any]) -> dict[str, Any]:
    """A system that knows seasons: those that the data name, unless they are given."""
    return ({"seasons": facts.seasons} if facts.seasons else {}) | dict(changes)


def adapted_by_period(facts: Facts, changes: Mapping[str, Any]) -> dict[str, Any]:
    """And that ages by periods."""
    return adapted(facts, by_period(facts, changes))


def by_clock(reversion: float | Array | None, passed: Array) -> tuple[Array | None, Array]:
    """What some time leaves of a lead (None: all of it), and the time in which an idle variance would grow as much."""
    if reversion is None:
        return None, passed
    return jnp.exp(-passed / reversion), -0.5 * reversion * jnp.expm1(-2.0 * passed / reversion)


def begun(seasons: Sequence[float], since: Array, until: Array) -> Array:
    """[...] how many seasons begin later than `since`, and not later than `until`."""
    begin = jnp.broadcast_to(jnp.asarray(np.array(seasons), float), (*since.shape, len(seasons)))
    passed = (begin > since[..., None]) & (begin <= jnp.broadcast_to(until, since.shape)[..., None])
    return jnp.sum(passed.astype(since.dtype), axis=-1)


def by_season(keep: Any, growth: Any, count: Array) -> tuple[Array, Array]:
    """What so many seasons leave of a lead, and what they add to the variance."""
    lost = jnp.log(jnp.asarray(keep, count.dtype))  # 0 where the share is rounded to 1
    sums = jnp.expm1(2.0 * count * lost) / jnp.where(lost < 0, jnp.expm1(2.0 * lost), -1.0)
    return jnp.exp(count * lost), growth**2 * jnp.where(lost < 0, sums, count)


def since(event: Periods, last: Array) -> Array:
    """[A] since when seasons may begin within a rating period: those before have been seen to."""
    return jnp.where(jnp.isfinite(last), jnp.maximum(last, event.time), event.time)


# --- Of systems with one rating a player, and its variance. Their `params` have the newcomer's. ---


def reverted(params: Any, rows: State, keep: Array | None, added: Array, highest: Any) -> State:
    """With this share of the lead, None for all of it, and variances that grow by `added`, up to the highest."""
    if keep is None:
        return rows._replace(variance=bounded(rows.variance + added, None, highest))
    rating = toward(params, rows.rating, keep)
    least = (float(np.finfo(rating.dtype).eps) * params.initial_deviation) ** 2  # where nothing grows
    return rows._replace(rating=rating, variance=bounded(keep**2 * rows.variance + added, least, highest))


def toward(params: Any, rating: Array, keep: Array) -> Array:
    """With this share of the lead over a newcomer."""
    return params.initial_rating + keep * (rating - params.initial_rating)


def renewed(seasons: Sequence[float], params: Any, rows: State, since: Array, until: Array, highest: Any) -> State:
    """After the seasons that begin later than `since`, and not later than `until`."""
    if not seasons:
        return rows
    keep, added = by_season(params.season_keep, params.season_growth, begun(seasons, since, until))
    return reverted(params, rows, keep, added, highest)
