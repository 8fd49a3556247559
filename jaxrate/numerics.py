"""Primitives that are exact where naive formulas fail, with derivatives that stay finite there."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.events import Array


def decreasing_root(
    function: Callable[[Array], Array], slope: Callable[[Array], Array], guess: Array, lower: Array, upper: Array
) -> Array:
    """The root of a function that is positive below it and negative above it, elementwise, to machine precision.

    Newton steps from `guess`, kept inside the shrinking bracket by bisection; stops when every element has converged.
    The derivative with respect to whatever `function` closes over is the implicit one, -f'/slope, so no derivative
    goes through the iterations (forward and reverse mode, any batching).

    Args:
      function: f(x), the same shape as `guess`.
      slope: f'(x); used in the iteration only, not differentiated.
      guess, lower, upper: shapes alike, lower <= root <= upper and guess between them.
    """
    # Newton converges quadratically: after a step this small the next would be below rounding.
    tolerance = 0.01 * float(np.finfo(guess.dtype).eps) ** 0.5

    def solve(f: Callable[[Array], Array], x0: Array) -> Array:
        def step(carry: tuple[Array, ...]) -> tuple[Array, ...]:
            x, low, high, _, count = carry
            value = f(x)
            low, high = jnp.where(value > 0, x, low), jnp.where(value > 0, high, x)
            newton = x - value / slope(x)
            inside = (newton >= low) & (newton <= high)
            new = jnp.where(inside, newton, 0.5 * (low + high))
            moving = jnp.abs(new - x) > tolerance * jnp.maximum(jnp.abs(x), 1.0)
            return new, low, high, moving, count + 1

        start = (x0, lax.stop_gradient(lower), lax.stop_gradient(upper), jnp.ones_like(x0, bool), 0)
        return lax.while_loop(lambda c: jnp.any(c[3]) & (c[4] < 100), step, start)[0]

    def tangent(linear: Callable[[Array], Array], y: Array) -> Array:
        gain = linear(jnp.ones_like(y))
        return y / jnp.where(gain == 0, 1.0, gain)  # a flat spot can only be padding

    return lax.custom_root(function, lax.stop_gradient(guess), solve, tangent)
