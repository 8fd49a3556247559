"""Gaussian factors exp(h z - I z^2 / 2), of precision I and pull h."""

import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array


def log_factor_integral(mean: Array, variance: Array, precision: Array, pull: Array) -> Array:
    """The logarithm of the integral of the factor over z = N(mean, variance)."""
    ratio = 1.0 + variance * precision
    surprise = pull - precision * mean
    peak = mean * (pull - 0.5 * precision * mean)
    return peak + 0.5 * (surprise * surprise * variance / ratio - jnp.log(ratio))


def remove_factor(mean: Array, variance: Array, precision: Array, pull: Array) -> tuple[Array, Array]:
    """The mean and variance of a Gaussian without a factor of it."""
    kept = jnp.maximum(1.0 - variance * precision, float(np.finfo(variance.dtype).eps))
    return (mean - variance * pull) / kept, variance / kept
