"""Distributions of performances in rounds: logistic and normal, with their derivatives and a quadrature over each."""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc

from jaxrate.core.array_types import Array, HostArray

# The cdf, its complement, the density and its derivative.
DistributionFunction = Callable[[Array], tuple[Array, Array, Array, Array]]


class PerformanceDistribution(NamedTuple):
    """A distribution of performances."""

    shape: DistributionFunction
    deviation: float  # of the standard form
    nodes: HostArray  # of a quadrature over that form
    weights: HostArray


@jax.custom_jvp
def logistic_cdf_and_density(z: Array) -> tuple[Array, Array, Array, Array]:
    """The logistic distribution."""
    e = jnp.exp(-jnp.clip(z, -80.0, 80.0))
    below = 1.0 / (1.0 + e)
    above = e * below
    density = below * above
    return below, above, density, density * (above - below)


@logistic_cdf_and_density.defjvp
def _logistic_distribution_jvp(
    primal: tuple[Array], tangent: tuple[Array]
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """From shares, not from e, which times what the points of a coarse table are apart leaves float32."""
    below, above, density, slope = logistic_cdf_and_density(*primal)
    slopes = density, -density, slope, density * (1.0 - 6.0 * density)
    return (below, above, density, slope), tuple(x * tangent[0] for x in slopes)


def normal_cdf_and_density(z: Array) -> tuple[Array, Array, Array, Array]:
    """The standard normal distribution."""
    above = 0.5 * erfc(jnp.abs(z) * 0.5**0.5)
    density = jnp.exp(-0.5 * z * z) * (0.5 / jnp.pi) ** 0.5
    left = z < 0
    return jnp.where(left, above, 1.0 - above), jnp.where(left, 1.0 - above, above), density, -z * density


def _make_distribution_with_quadrature(
    distribution: DistributionFunction,
    deviation: float,
    density: Callable[[HostArray], HostArray],
    step: float,
    count: int,
) -> PerformanceDistribution:
    """With the trapezoidal rule, which converges exponentially for functions like these."""
    nodes = step * np.arange(-count, count + 1)
    return PerformanceDistribution(distribution, deviation, nodes, density(nodes) / density(nodes).sum())


# Exact to 2e-5 against opponents down to half as wide as oneself; down to a sixteenth; down to a third.
LOGISTIC = _make_distribution_with_quadrature(
    logistic_cdf_and_density, math.pi / 3.0**0.5, lambda x: np.cosh(0.5 * x) ** -2.0, 0.9, 13
)


LOGISTIC_FINE = _make_distribution_with_quadrature(
    logistic_cdf_and_density, math.pi / 3.0**0.5, lambda x: np.cosh(0.5 * x) ** -2.0, 0.9 / 8, 8 * 13
)


NORMAL_FINE = _make_distribution_with_quadrature(normal_cdf_and_density, 1.0, lambda x: np.exp(-0.5 * x * x), 0.3, 24)
