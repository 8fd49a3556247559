"""Priors: what is believed of a newcomer (nu_0 of Model 2.11, section 3.2, equation (5))."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import is_traced
from jaxrate.core.array_types import Array
from jaxrate.core.hashable_functions_and_arrays import HashableArray, display_name, hashable_array
from jaxrate.core.hyperparameter_definitions import RELATIVE_TOLERANCE
from jaxrate.systems.blat_mmr.function_hyperparameters import NO_ARGUMENTS, FunctionArguments, inspect_arguments
from jaxrate.systems.blat_mmr.opponent_sum_algorithms import Grid

Prior = HashableArray | Callable[..., Any] | None  # None: normal on strengths, uniform on distributions
MIN_DEVIATION_RATIO = 1e-15  # of the way from the prior's mean to the furthest strength that its deviation must be


def parse_prior(prior: Any, count: int, strengths: Any) -> Prior:
    """A checked prior for `count` strengths (or distributions); a distribution with a `pdf` gives that of `strengths`.

    Raises:
      ValueError: if it is no prior; where its values are not probabilities.
    """
    if prior is None:
        return None
    if callable(getattr(prior, "pdf", None)):
        prior = prior.pdf(np.asarray(strengths, np.float64))
    elif callable(prior):
        if inspect_arguments(prior).num_required != 1:
            raise ValueError(
                f"blat_mmr: prior {display_name(prior)} must take a strength, and nothing else that has no default"
            )
        return prior
    try:
        probabilities = np.asarray(prior, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"blat_mmr: prior is probabilities [n], a function of the strength, or a distribution with a pdf, "
            f"got {prior!r}"
        ) from None
    _check_probabilities("prior", probabilities, count, np.asarray(strengths))
    return hashable_array(probabilities / probabilities.sum())


def prior_function_arguments(prior: Prior) -> FunctionArguments:
    """What its function takes; nothing for others."""
    return inspect_arguments(prior) if callable(prior) and not callable(getattr(prior, "pdf", None)) else NO_ARGUMENTS


def prior_belief(prior: Prior, points: Array, mean: Array, deviation: Array, values: Mapping[str, Array]) -> Array:
    """[n] on strengths [n] or [n, d]."""
    if isinstance(prior, HashableArray):
        return jnp.asarray(prior, points.dtype)
    if prior is None:
        return _normal_belief(points, mean, deviation)
    density = jnp.maximum(jnp.asarray(prior(points, **values)).astype(points.dtype), 0.0)
    return density / jnp.sum(density)


def _normal_belief(points: Array, mean: Array, deviation: Array) -> Array:
    """By NumPy if nothing is traced: nothing to compile."""
    numpy: Any = jnp if is_traced((points, mean, deviation)) else np
    square = ((numpy.asarray(points) - mean) / deviation) ** 2
    square = square if points.ndim == 1 else numpy.sum(square, axis=-1)
    likely = numpy.exp(-0.5 * (square - numpy.min(square))).astype(points.dtype)
    probabilities: Array = likely / numpy.sum(likely)
    return probabilities


def check_prior(prior: Prior, strengths: Any, params: Any, grid: Grid | None) -> None:
    """ValueError if there is no such belief with these hyperparameters, which are numbers."""
    points = np.asarray(strengths, np.float64)
    if prior is None and grid is not None:
        if abs(params.prior_mean) >= grid.half_width:
            raise ValueError(
                f"blat_mmr: prior_mean {params.prior_mean:g} is beyond the grid's half_width {grid.half_width:g}"
            )
        if params.prior_deviation < grid.step * (1.0 - RELATIVE_TOLERANCE):
            raise ValueError(
                f"blat_mmr: the grid is too coarse for the prior: its deviation is {params.prior_deviation:g}, less "
                f"than a step of {grid.step:g}; take a finer grid, or give the probabilities (prior)"
            )
    elif prior is None:
        away = np.abs(points - params.prior_mean).max()
        if params.prior_deviation < MIN_DEVIATION_RATIO * away:
            raise ValueError(
                f"blat_mmr: prior_deviation {params.prior_deviation:g} is too small for strengths {away:g} away from "
                "prior_mean; give the probabilities (prior)"
            )
    elif callable(prior):
        with jax.ensure_compile_time_eval(), jax.enable_x64(True):
            values = {
                name: jnp.asarray(float(getattr(params, name)), float) for name in prior_function_arguments(prior).names
            }
            probabilities = np.asarray(prior(jnp.asarray(points, float), **values), np.float64)
        _check_probabilities(f"prior {display_name(prior)}", probabilities, len(points), points)


def _check_probabilities(name: str, probabilities: Any, count: int, strengths: Any) -> None:
    if probabilities.shape != (count,):
        raise ValueError(
            f"blat_mmr: {name} must be [{count}], a probability for each strength, got {probabilities.shape}"
        )
    (bad,) = np.nonzero(~((probabilities >= 0.0) & (probabilities < np.inf)))
    if len(bad):
        raise ValueError(
            f"blat_mmr: {name} is {probabilities[bad[0]]} at strength {strengths[bad[0]]} (place {bad[0]})"
        )
    if not 0.0 < probabilities.sum() < np.inf:
        raise ValueError(f"blat_mmr: {name} has no mass, or too much: its sum is {probabilities.sum()}")
