"""What time does to beliefs: they grow wider, fall back to the newcomer's, and step from season to season."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxrate.events import Array, Periods
from jaxrate.system import elapsed, within
from jaxrate.systems import reversion
from jaxrate.systems.skills.model import Constants, Model, State


def advance(model: Model, constants: Constants, rows: State, time: Array) -> State:
    """The clock first, then the seasons that begin until `time`."""
    rows = by_clock(model, constants, rows, elapsed(time, rows.time))
    return by_season(model, constants, rows, rows.time, time)


def begun(model: Model, constants: Constants, rows: State, event: Any) -> State:
    """The rows as the games of the event find them: the time within a rating period has passed, but no season in it."""
    if not isinstance(event, Periods):
        return rows
    return by_clock(model, constants, rows, within(event, constants.params.period, rows.time))


def by_clock(model: Model, constants: Constants, rows: State, passed: Array) -> State:
    """After some time in units of the clock: a Wiener process, or an Ornstein-Uhlenbeck process about newcomers."""
    keep, span = reversion.by_clock(constants.params.reversion, passed)
    if model.size > 1:
        span = span[..., None] * jnp.broadcast_to(constants.growth, (*passed.shape, model.size))
    else:
        span = constants.growth * span
    return changed(model, constants, rows, keep, span)


def by_season(model: Model, constants: Constants, rows: State, since: Array, until: Array) -> State:
    """After the seasons that begin later than `since`, and not later than `until`."""
    if not model.seasons:
        return rows
    params, count = constants.params, reversion.begun(model.seasons, since, until)
    keep, added = reversion.by_season(params.season_keep, params.season_growth, count)
    return changed(model, constants, rows, keep, common(model, added))


def changed(model: Model, constants: Constants, rows: State, keep: Array | None, added: Array) -> State:
    """The share `keep` of what sets rows apart from newcomers, and variances that grow, but never beyond the highest.

    Args:
      keep: [...], or None for all of it.
      added: [..., D] to the variances; [...] if D = 1.
    """
    mean, covariance = rows.mean, rows.covariance
    newcomer, highest = constants.newcomer, constants.highest
    if model.size > 1:
        newcomer, highest = (jnp.broadcast_to(x, mean.shape) for x in (newcomer, highest))
        keep = None if keep is None else keep[..., None]
    if keep is not None:
        mean = newcomer + keep * (mean - newcomer)
        covariance = (keep if model.size == 1 else keep[..., None]) ** 2 * covariance
    variance, least = diagonal(model, covariance), float(np.finfo(covariance.dtype).eps) ** 2
    added = jnp.minimum(added, jnp.maximum(highest - variance, 0.0))
    added = jnp.maximum(added, least * highest - variance)  # where all is forgotten and nothing grows
    return rows._replace(mean=mean, covariance=widened(model, covariance, added))


def diagonal(model: Model, covariance: Array) -> Array:
    """[..., D] the variances."""
    return covariance if model.size == 1 else jnp.diagonal(covariance, axis1=-2, axis2=-1)


def common(model: Model, x: Array) -> Array:
    """[..., D] of which the common skill has x, and the rest nothing; x itself if D = 1."""
    if model.size == 1:
        return x
    return jnp.concatenate([x[..., None], jnp.zeros((*x.shape, model.size - 1), x.dtype)], axis=-1)


def widened(model: Model, covariance: Array, added: Array) -> Array:
    """With [..., D] added to the variances."""
    if model.size == 1:
        return covariance + added
    one = jnp.broadcast_to(jnp.eye(model.size, dtype=covariance.dtype), covariance.shape)
    return covariance + one * added[..., None]
