"""Small systems of linear equations."""

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax

from jaxrate.core.array_types import Array


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
