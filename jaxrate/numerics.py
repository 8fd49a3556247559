"""Primitives that are exact where naive formulas fail, with derivatives that stay finite there."""

from collections.abc import Callable

import jax
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
    rounding = 4.0 * float(np.finfo(guess.dtype).eps)
    tolerance = 0.005 * rounding**0.5  # Newton converges quadratically: the step after one this small is below rounding

    def solve(f: Callable[[Array], Array], x0: Array) -> Array:
        def step(carry: tuple[Array, ...]) -> tuple[Array, ...]:
            x, low, high, last, _, count = carry
            value = f(x)
            low, high = jnp.where(value > 0, x, low), jnp.where(value > 0, high, x)
            newton = x - value / slope(x)
            # Steps that do not halve may swing around the root for ever; tiny ones are rounding.
            scale = jnp.maximum(jnp.abs(x), 1.0)
            halves = jnp.abs(newton - x) <= jnp.maximum(0.5 * last, tolerance * scale)
            trusted = (newton >= low) & (newton <= high) & halves
            new = jnp.where(trusted, newton, 0.5 * (low + high))
            size = jnp.abs(new - x)
            return new, low, high, size, size > jnp.where(trusted, tolerance, rounding) * scale, count + 1

        low, high = lax.stop_gradient(lower), lax.stop_gradient(upper)
        start = (x0, low, high, 2.0 * (high - low), jnp.ones_like(x0, bool), 0)
        return lax.while_loop(lambda c: jnp.any(c[4]) & (c[5] < 200), step, start)[0]

    def tangent(linear: Callable[[Array], Array], y: Array) -> Array:
        gain = linear(jnp.ones_like(y))
        return y / jnp.where(gain == 0, 1.0, gain)  # a flat spot can only be padding

    return lax.custom_root(function, lax.stop_gradient(guess), solve, tangent)


def linear_recurrence(decay: Array, value: Array) -> Array:
    """h_k = decay_k h_(k-1) + value_k along the last axis, from h = 0, as an associative scan.

    Args:
      decay, value: the same shape [..., n].
    """

    def both(first: tuple[Array, Array], then: tuple[Array, Array]) -> tuple[Array, Array]:
        return first[0] * then[0], then[0] * first[1] + then[1]

    return jax.lax.associative_scan(both, (decay, value), axis=-1)[1]


def fast_length(n: int) -> int:
    """The least whole number from n without prime factors above 5, which fast Fourier transforms like."""

    def smooth(k: int) -> bool:
        for prime in (2, 3, 5):
            while k % prime == 0:
                k //= prime
        return k == 1

    while not smooth(n):
        n += 1
    return n


def differences(n: int) -> Array:
    """The differences i - j of two of n points, in the order that `spectrum` takes: 0 to n - 1, then 1 - n to -1."""
    return jnp.concatenate([jnp.arange(n), jnp.arange(1 - n, 0)]).astype(jnp.result_type(float))


def spectrum(function: Array) -> Array:
    """What `circular` needs of a function [..., 2 n - 1] of the differences."""
    n = (function.shape[-1] + 1) // 2
    gap = fast_length(2 * n - 1) - (2 * n - 1)
    between = jnp.zeros((*function.shape[:-1], gap), function.dtype)
    return jnp.fft.rfft(jnp.concatenate([function[..., :n], between, function[..., n:]], axis=-1))


def circular(transformed: Array, p: Array) -> Array:
    """sum_j f(i - j) p_j for every i of n points, by Fourier transforms padded so that nothing wraps around.

    Args:
      transformed: `spectrum` of f; its conjugate gives f(j - i).
      p: [..., n].
    """
    length = fast_length(2 * p.shape[-1] - 1)
    return jnp.fft.irfft(transformed * jnp.fft.rfft(p, length), length)[..., : p.shape[-1]]
