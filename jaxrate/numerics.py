"""Primitives that are exact where naive formulas fail, with derivatives that stay finite there."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.events import Array


def decreasing_root(
    function: Callable[[Array], tuple[Array, Array]], guess: Array, lower: Array, upper: Array, unit: float = 1.0
) -> Array:
    """The root of a function that is positive below it and negative above it, elementwise, to machine precision.

    Newton steps from `guess`, kept inside the shrinking bracket by bisection; stops when every element has converged.
    The derivative with respect to whatever `function` closes over is the implicit one, -f'/slope, so no derivative
    goes through the iterations (forward and reverse mode, any batching).

    Args:
      function: x -> f(x) and f'(x), each the same shape as `guess`; the slope is not differentiated.
      guess, lower, upper: shapes alike, lower <= root <= upper and guess between them.
      unit: the root is found to rounding of itself, or of this if it is smaller.
    """
    rounding = 4.0 * float(np.finfo(guess.dtype).eps)
    tolerance = 0.005 * rounding**0.5  # Newton converges quadratically: the step after one this small is below rounding

    def solve(_: Callable[[Array], Array], x0: Array) -> Array:
        def step(carry: tuple[Array, ...]) -> tuple[Array, ...]:
            x, low, high, last, count = carry
            value, slope = function(x)
            low, high = jnp.where(value > 0, x, low), jnp.where(value > 0, high, x)
            newton = x - value / slope
            scale = jnp.maximum(jnp.abs(x), unit)
            # Steps that do not halve may swing around the root for ever; tiny ones are rounding.
            halves = jnp.abs(newton - x) <= jnp.maximum(0.5 * last, tolerance * scale)
            trusted = (newton >= low) & (newton <= high) & halves
            new = jnp.where(trusted, newton, 0.5 * (low + high))
            size = jnp.abs(new - x)
            moved = jnp.where(size > jnp.where(trusted, tolerance, rounding) * scale, size, 0.0)  # 0: converged
            return new, low, high, moved, count + 1

        low, high = lax.stop_gradient(lower), lax.stop_gradient(upper)
        start = (x0, low, high, 2.0 * (high - low), 0)
        return lax.while_loop(lambda c: jnp.any(c[3] > 0) & (c[4] < 200), step, start)[0]

    def tangent(linear: Callable[[Array], Array], y: Array) -> Array:
        gain = linear(jnp.ones_like(y))
        return y / jnp.where(gain == 0, 1.0, gain)  # a flat spot can only be padding

    return lax.custom_root(lambda x: function(x)[0], lax.stop_gradient(guess), solve, tangent)


# Chebyshev coefficients of log(erfcx(w) / t) in 2 t - 1, t = 2 / (2 + w), computed with 50 digits.
_ERFCX = (
    -0.6513268598908547171, 0.6419697923564902603, 0.019476473204185836312, -0.0095615147868086316419,
    -0.0009465953444820368663, 0.00036683949785276145187, 4.2523324806907771645e-05, -2.0278578112534243154e-05,
    -1.6242900046470255135e-06, 1.3036558355805232018e-06, 1.5626441722066143178e-08, -8.5238095914926542525e-08,
    6.5290544390988514964e-09, 5.0593434955514689418e-09, -9.9136415649303308674e-10, -2.2736512229318358557e-10,
    9.646791102015526802e-11, 2.3940380830391147447e-12, -6.8860275264975533984e-12, 8.9448792730907257167e-13,
    3.1309213993429580783e-13, -1.1270822361367252366e-13, 3.8109052551892320552e-16, 7.1060976136092369878e-15,
    -1.5230282014571043043e-15, -9.4574945712912340005e-17, 1.2102371892242789923e-16,
)  # fmt: skip


@jax.custom_jvp
def _hazards(z: Array) -> tuple[Array, Array, Array, Array]:
    """phi(z) / Phi(-z) of the standard normal distribution, and how far it lies above z; then both of -z.

    It is the mean of the distribution's tail beyond z, to rounding for every z. Its derivative is its product with the
    excess.
    """
    a = jnp.abs(z)
    single = a.dtype == jnp.float32
    t = 2.0 / (2.0 + a * 0.5**0.5)
    u, logarithm = 2.0 * t - 1.0, jnp.zeros_like(a)
    for c in np.polynomial.chebyshev.cheb2poly(_ERFCX[: 12 if single else None])[::-1]:
        logarithm = logarithm * u + float(c)
    ratio = (0.5 * np.pi) ** 0.5 * t * jnp.exp(logarithm)  # of Mills: Phi(-a) / phi(a)
    density = jnp.exp(-0.5 * a * a) * (0.5 / np.pi) ** 0.5
    here, there = 1.0 / ratio, density / (1.0 - density * ratio)  # of a and of -a
    far = a > (10.0 if single else 80.0)  # where the excess would cancel
    x = 1.0 / jnp.where(far, a, 1.0)
    series = x * (1.0 - x**2 * (2.0 - x**2 * (10.0 - 74.0 * x**2)))
    excess = jnp.where(far, series, here - a)
    right = z > 0
    h, g = jnp.where(right, here, there), jnp.where(right, there, here)
    return h, jnp.where(right, excess, there + a), g, jnp.where(right, there + a, excess)


@_hazards.defjvp
def _hazards_slope(primal: tuple[Array], tangent: tuple[Array]) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    h, excess, g, gap = _hazards(*primal)
    (dz,), up, down = tangent, h * excess, -g * gap
    return (h, excess, g, gap), (up * dz, (up - 1.0) * dz, down * dz, (down + 1.0) * dz)


hazards = jax.jit(_hazards)  # traced once for a shape


def sums_before(x: Array, after: bool = False) -> Array:
    """[n, ...] the sums of the entries before each along the first axis, or after it, as products of matrices.

    (A cumulative sum compiles to some hundred operations.)
    """
    n, rest, size = x.shape[0], x.shape[1:], 16
    if n > size:
        block = jnp.pad(x, ((0, -n % size), *((0, 0) for _ in rest))).reshape(-1, size, *rest)
        others = sums_before(jnp.sum(block, axis=1), after)
    else:
        size, block, others = n, x[None], jnp.zeros((1, *rest), x.dtype)
    triangle = np.tri(size, size, -1).T if after else np.tri(size, size, -1)
    each = jnp.broadcast_to(jnp.asarray(triangle, x.dtype), (len(block), size, size))
    flat = block.reshape(len(block), size, -1)
    inside = lax.batch_matmul(each, flat, precision=lax.Precision.HIGHEST).reshape(block.shape)
    return (inside + others[:, None]).reshape(-1, *rest)[:n]


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
