"""Priors: what is believed of a newcomer (nu_0 of Model 2.11, section 3.2, equation (5))."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.events import Array
from jaxrate.parameters import ROUNDING
from jaxrate.plain import Frozen, frozen, named
from jaxrate.replay.rows import traced
from jaxrate.systems.blat_mmr.functions import NOTHING, Arguments, arguments
from jaxrate.systems.blat_mmr.sums import Grid

Prior = Frozen | Callable[..., Any] | None  # None: normal on strengths, uniform on distributions
LEAST = 1e-15  # of the way from the prior's mean to the furthest strength that its deviation must be


def parse(prior: Any, count: int, strengths: Any) -> Prior:
    """A checked prior for `count` strengths (or distributions); a distribution with a `pdf` gives that of `strengths`.

    Raises:
      ValueError: if it is no prior; where its values are not probabilities.
    """
    if prior is None:
        return None
    if callable(getattr(prior, "pdf", None)):
        prior = prior.pdf(np.asarray(strengths, np.float64))
    elif callable(prior):
        if arguments(prior).needed != 1:
            raise ValueError(
                f"blat_mmr: prior {named(prior)} must take a strength, and nothing else that has no default"
            )
        return prior
    try:
        given = np.asarray(prior, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"blat_mmr: prior is probabilities [n], a function of the strength, or a distribution with a pdf, "
            f"got {prior!r}"
        ) from None
    _check("prior", given, count, np.asarray(strengths))
    return frozen(given / given.sum())


def taken(prior: Prior) -> Arguments:
    """What its function takes; nothing for others."""
    return arguments(prior) if callable(prior) and not callable(getattr(prior, "pdf", None)) else NOTHING


def belief(prior: Prior, points: Array, mean: Array, deviation: Array, values: Mapping[str, Array]) -> Array:
    """[n] on strengths [n] or [n, d]."""
    if isinstance(prior, Frozen):
        return jnp.asarray(prior, points.dtype)
    if prior is None:
        return _normal(points, mean, deviation)
    found = jnp.maximum(jnp.asarray(prior(points, **values)).astype(points.dtype), 0.0)
    return found / jnp.sum(found)


def _normal(points: Array, mean: Array, deviation: Array) -> Array:
    """By NumPy if nothing is traced: nothing to compile."""
    numpy: Any = jnp if traced((points, mean, deviation)) else np
    square = ((numpy.asarray(points) - mean) / deviation) ** 2
    square = square if points.ndim == 1 else numpy.sum(square, axis=-1)
    likely = numpy.exp(-0.5 * (square - numpy.min(square))).astype(points.dtype)
    found: Array = likely / numpy.sum(likely)
    return found


def check(prior: Prior, strengths: Any, params: Any, grid: Grid | None) -> None:
    """ValueError if there is no such belief with these hyperparameters, which are numbers."""
    points = np.asarray(strengths, np.float64)
    if prior is None and grid is not None:
        if abs(params.prior_mean) >= grid.half_width:
            raise ValueError(
                f"blat_mmr: prior_mean {params.prior_mean:g} is beyond the grid's half_width {grid.half_width:g}"
            )
        if params.prior_deviation < grid.step * (1.0 - ROUNDING):
            raise ValueError(
                f"blat_mmr: the grid is too coarse for the prior: its deviation is {params.prior_deviation:g}, less "
                f"than a step of {grid.step:g}; take a finer grid, or give the probabilities (prior)"
            )
    elif prior is None:
        away = np.abs(points - params.prior_mean).max()
        if params.prior_deviation < LEAST * away:
            raise ValueError(
                f"blat_mmr: prior_deviation {params.prior_deviation:g} is too small for strengths {away:g} away from "
                "prior_mean; give the probabilities (prior)"
            )
    elif callable(prior):
        with jax.ensure_compile_time_eval(), jax.enable_x64(True):
            values = {name: jnp.asarray(float(getattr(params, name)), float) for name in taken(prior).names}
            found = np.asarray(prior(jnp.asarray(points, float), **values), np.float64)
        _check(f"prior {named(prior)}", found, len(points), points)


def _check(name: str, found: Any, count: int, strengths: Any) -> None:
    if found.shape != (count,):
        raise ValueError(f"blat_mmr: {name} must be [{count}], a probability for each strength, got {found.shape}")
    (bad,) = np.nonzero(~((found >= 0.0) & (found < np.inf)))
    if len(bad):
        raise ValueError(f"blat_mmr: {name} is {found[bad[0]]} at strength {strengths[bad[0]]} (place {bad[0]})")
    if not 0.0 < found.sum() < np.inf:
        raise ValueError(f"blat_mmr: {name} has no mass, or too much: its sum is {found.sum()}")
