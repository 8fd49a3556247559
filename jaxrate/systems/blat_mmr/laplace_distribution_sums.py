"""Sums over Laplace distributions in linear time, on any sorted support (section 4.3).

Algorithms 4.5 and 4.6 walk over the points of both players, to the right and back. Here the walks are associative
scans over the points that carry mass, and Observation 4.4 takes their sums to any other point.
"""

import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.numerics.sums_and_recurrences import linear_recurrence


def exponential_decays(points: Array, width: Array | float) -> tuple[Array, Array]:
    """e^(-gap / width) from the point before and to the point after, [n] each; 0 at the ends."""
    step = jnp.exp(-jnp.diff(points) / width)
    end = jnp.zeros(1, step.dtype)
    return jnp.concatenate([end, step]), jnp.concatenate([step, end])


def exponentially_decayed_sums(
    decay_from_previous: Array, decay_from_next: Array, masses: Array
) -> tuple[Array, Array]:
    """sum p_k e^(-|x_i - x_k| / b) over x_k <= x_i and over x_k >= x_i, [..., n] each, by the `decays` [..., n]."""
    left = linear_recurrence(decay_from_previous, masses)
    right = linear_recurrence(jnp.flip(decay_from_next, -1), jnp.flip(masses, -1))
    return left, jnp.flip(right, -1)


def _masses_and_exponential_tails_at(points: Array, p: Array, y: Array, width: Array | float) -> tuple[Array, ...]:
    """Mass up to y, mass beyond, and both tails at y [m]: of the points [n] up to it and of those beyond."""
    left, right = exponentially_decayed_sums(*exponential_decays(points, width), p)
    place = jnp.searchsorted(points, y, side="right")  # how many points are up to y
    none = jnp.zeros(1, p.dtype)
    mass = jnp.concatenate([none, jnp.cumsum(p)])[place]
    beyond = jnp.concatenate([jnp.flip(jnp.cumsum(jnp.flip(p))), none])[place]
    nearest = jnp.maximum(place - 1, 0), jnp.minimum(place, len(points) - 1)
    from_left = jnp.where(place > 0, left[nearest[0]] * jnp.exp(-jnp.abs(y - points[nearest[0]]) / width), 0.0)
    from_right = right[nearest[1]] * jnp.exp(-jnp.abs(points[nearest[1]] - y) / width)
    return mass, beyond, from_left, jnp.where(place < len(points), from_right, 0.0)


def laplace_density_sum(points: Array, p: Array, y: Array, width: Array | float) -> Array:
    """Q of Algorithm 4.5: sum_k p_k f(y - x_k | width) at every y [m], for sorted points x [n]."""
    _, _, left, right = _masses_and_exponential_tails_at(points, p, y, width)
    return (left + right) / (2.0 * width)


def laplace_cdf_sums(points: Array, p: Array, y: Array, width: Array | float) -> tuple[Array, Array]:
    """T of Algorithm 4.6, sum_k p_k F(y - x_k | width) at every y [m], and the sum of p_k F(x_k - y | width)."""
    mass, beyond, left, right = _masses_and_exponential_tails_at(points, p, y, width)
    return mass - 0.5 * left + 0.5 * right, beyond - 0.5 * right + 0.5 * left
