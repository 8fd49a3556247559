"""Sums, recurrences, linear systems and Gaussian factors whose slopes are finite."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.core.backend_dependent_operations import has_launch_overhead


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


def solve_definite_systems(matrix: Array, y: Array) -> Array:
    """x [n, k] of matrix x = y, for few unknowns and symmetric matrices [n, k, k], positive or negative definite.

    By elimination, which needs no pivots there: two of LAPACK's batched solvers at a time, as in second derivatives,
    can wait for each other's threads forever on a CPU of two cores (jaxlib 0.10).
    """

    def eliminate(_: Callable[[Array], Array], y: Array) -> Array:
        rows = jnp.concatenate([matrix, y[..., None]], axis=2)
        for i in range(y.shape[1]):
            pivot = rows[:, i] / rows[:, i, i, None]
            rows = (rows - rows[:, :, i, None] * pivot[:, None]).at[:, i].set(pivot)
        return rows[..., -1]

    def product(x: Array) -> Array:
        return jnp.sum(matrix * x[:, None], axis=2)

    return lax.custom_linear_solve(product, y, eliminate, symmetric=True)


def exclusive_prefix_or_suffix_sums(x: Array, from_end: bool = False) -> Array:
    """[n, ...] the sum of the entries before each one along the first axis, or after it, by products of matrices."""
    n, rest, size = x.shape[0], x.shape[1:], 16
    if n > size:
        block = jnp.pad(x, ((0, -n % size), *((0, 0) for _ in rest))).reshape(-1, size, *rest)
        block_sums = exclusive_prefix_or_suffix_sums(jnp.sum(block, axis=1), from_end)
    else:
        size, block, block_sums = n, x[None], jnp.zeros((1, *rest), x.dtype)
    triangle = np.tri(size, size, -1).T if from_end else np.tri(size, size, -1)
    triangles = jnp.broadcast_to(jnp.asarray(triangle, x.dtype), (len(block), size, size))
    flat = block.reshape(len(block), size, -1)
    inside = lax.batch_matmul(triangles, flat, precision=lax.Precision.HIGHEST).reshape(block.shape)
    return (inside + block_sums[:, None]).reshape(-1, *rest)[:n]


def linear_recurrence(decay: Array, value: Array) -> Array:
    """h_k = decay_k h_(k-1) + value_k along the last axis, from h = 0, as an associative scan.

    Args:
      decay: [..., n] factors of the previous sum.
      value: [..., n] terms, of the shape of `decay`.
    """

    def compose(first: tuple[Array, Array], then: tuple[Array, Array]) -> tuple[Array, Array]:
        return first[0] * then[0], then[0] * first[1] + then[1]

    return jax.lax.associative_scan(compose, (decay, value), axis=-1)[1]


ArrayColumns = tuple[Array, ...]


@jax.custom_jvp
def exponentially_weighted_and_plain_row_sums(
    exponent: Array, weighted_columns: ArrayColumns, plain_columns: ArrayColumns
) -> tuple[Array, ArrayColumns, ArrayColumns]:
    """The largest exponent of each row, top; the sums of columns times exp(exponent - top); and sums of columns.

    Args:
      exponent: [..., n], finite.
      weighted_columns: columns that are weighted, each of the shape of `exponent`.
      plain_columns: columns that are summed as they are, each of the shape of `exponent`.
    """
    if not has_launch_overhead():
        scale = jnp.exp(exponent - jnp.max(exponent, axis=-1, keepdims=True))
        weighted_sums = tuple(jnp.sum(scale * x, axis=-1) for x in weighted_columns)
        return jnp.max(exponent, axis=-1), weighted_sums, tuple(jnp.sum(x, axis=-1) for x in plain_columns)
    count, zero = len(weighted_columns), jnp.zeros((), exponent.dtype)

    def add_pair(first: ArrayColumns, second: ArrayColumns) -> ArrayColumns:  # in one pass, which is one kernel
        top = jnp.maximum(first[0], second[0])
        p, q = jnp.exp(first[0] - top), jnp.exp(second[0] - top)
        pairs = [*zip(first[1:], second[1:], strict=True)]
        return top, *(p * x + q * y for x, y in pairs[:count]), *(x + y for x, y in pairs[count:])

    none = jnp.full_like(zero, np.finfo(exponent.dtype).min), *[zero] * (count + len(plain_columns))
    top, *sums = lax.reduce((exponent, *weighted_columns, *plain_columns), none, add_pair, (exponent.ndim - 1,))
    return top, tuple(sums[:count]), tuple(sums[count:])


@exponentially_weighted_and_plain_row_sums.defjvp
def _exponentially_weighted_and_plain_sums_jvp(primal: tuple[Any, ...], tangent: tuple[Any, ...]) -> tuple[Any, Any]:
    """Derivatives with the top held constant, on which the scaled sums as a whole do not depend."""
    (exponent, scaled, _), (rise, changes, slopes) = primal, tangent
    top, *sums = exponentially_weighted_and_plain_row_sums(*primal)
    scale = jnp.exp(exponent - top[..., None])
    changes = tuple(jnp.sum(scale * (dx + x * rise), axis=-1) for x, dx in zip(scaled, changes, strict=True))
    return (top, *sums), (jnp.zeros_like(top), changes, tuple(jnp.sum(x, axis=-1) for x in slopes))
