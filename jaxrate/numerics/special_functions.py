"""Primitives that are exact where naive formulas fail, with derivatives that stay finite there."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.device import has_launch_overhead
from jaxrate.types import Array


def replace_where_needed(needed: Array, function: Callable[..., Any], *args: Any) -> Any:
    """function(*args[:-1]) where it is needed, else args[-1], with the slopes of args[-1].

    A loop of one step or none: under `jax.vmap` a condition would always compute the function.
    """
    *given, otherwise = lax.stop_gradient(args)

    def step(carry: tuple[Array, Any]) -> tuple[Array, Any]:
        now = jax.tree.map(lambda x: jnp.where(carry[0], x, jnp.zeros_like(x)), given)
        return jnp.zeros_like(carry[0]), function(*now)  # of what depends on the loop, or XLA would move it out of it

    better = lax.while_loop(lambda carry: carry[0], step, (needed, otherwise))[1]
    return jax.tree.map(lambda x, y: x + lax.stop_gradient(y - x), args[-1], better)


def replace_rows_where_needed(needed: Array, function: Callable[..., Array], *args: Any) -> Array:
    """args[-1] [n, ...], and where needed [n] function(which, *args[:-1]), a few at a time; slopes are of args[-1]."""
    *given, otherwise = lax.stop_gradient(args)
    count = min(64, len(needed))

    def step(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        needed, found = carry
        which = jnp.argsort(~needed)[:count].astype(jnp.int32)
        new, old = function(which, *given), found[which]
        new = jnp.where(needed[which].reshape(-1, *[1] * (old.ndim - 1)), new, old)
        return needed.at[which].set(False), found.at[which].set(new)

    better = lax.while_loop(lambda carry: jnp.any(carry[0]), step, (needed, otherwise))[1]
    return args[-1] + lax.stop_gradient(better - args[-1])


def solve_definite(matrix: Array, y: Array) -> Array:
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


# Chebyshev coefficients of lift(z) / t in 2 t - 1, t = 4 / (4 + z), computed with 60 digits.
_LIFT_COEFFICIENTS = (
    0.87334611865989488307, 0.39575025600381046383, 0.0055554762974852889197, -0.020260170020045665725,
    -0.0025051720706492298735, 0.00124488856037332508, 0.00028660403020988859383, -0.000083427621415416219538,
    -0.000028419858755054850978, 5.935336931972911519e-6, 2.6893963289391651025e-6, -4.4645333275558794654e-7,
    -2.4850240801762479847e-7, 3.5620985689384553221e-8, 2.255475761400610514e-8, -3.0153435955733032539e-9,
    -2.0109870420690494811e-9, 2.6833867097733620411e-10, 1.757192366905700734e-10, -2.4644251966603402552e-11,
    -1.500048161741250769e-11, 2.2835692420195687795e-12, 1.2477535568764844033e-12, -2.0898425230115045036e-13,
    -1.0107416243678355033e-13, 1.8565815298716612557e-14, 8.001784956988290828e-15, -1.5813477456002826265e-15,
    -6.2547816739221804527e-16, 1.2826150983030299248e-16,
)  # fmt: skip


@jax.custom_jvp
def _normal_tail(z: Array) -> tuple[Array, Array, Array, Array, Array]:
    """The standard normal distribution beyond z, to rounding for every z.

    Returns:
      h, its mean, which is the hazard phi(z) / Phi(-z); excess, how far that lies above z; their product, which is the
      derivative of h, and 1 less the variance; the variance; lift, 1 / excess - z.
    """
    a = jnp.abs(z)
    single = a.dtype == jnp.float32
    t = 4.0 / (4.0 + a)
    u, lift = 2.0 * t - 1.0, jnp.zeros_like(a)
    for c in np.polynomial.chebyshev.cheb2poly(_LIFT_COEFFICIENTS[: 14 if single else None])[::-1]:
        lift = lift * u + float(c)
    lift = lift * t  # of a: everything there follows from it without cancellation
    excess = 1.0 / (a + lift)
    h = a + excess
    density = jnp.exp(-0.5 * a * a) * (0.5 / np.pi) ** 0.5
    other = density / (1.0 - density / h)  # h of -a
    right = z > 0
    h, e = jnp.where(right, h, other), jnp.where(right, excess, other + a)
    product = h * e
    variance = jnp.where(right, e * (lift - e), 1.0 - product)
    return h, e, product, variance, jnp.where(right, lift, 1.0 / e + a)


@_normal_tail.defjvp
def _normal_tail_jvp(primal: tuple[Array], tangent: tuple[Array]) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    h, excess, product, variance, lift = _normal_tail(*primal)
    (dz,), change = tangent, h * (excess * excess - variance)
    slopes = product, -variance, change, -change, lift / excess - 2.0
    return (h, excess, product, variance, lift), tuple(slope * dz for slope in slopes)


normal_tail = jax.jit(_normal_tail)  # traced once for a shape


# Gauss-Legendre nodes and weights of the half from 0 to 1, enough for each precision.
_GAUSS_LEGENDRE = {
    jnp.dtype(x): tuple(zip(*(y[n:].tolist() for y in np.polynomial.legendre.leggauss(2 * n)), strict=True))
    for x, n in (("float32", 3), ("float64", 4))
}


def truncate_above(lead: Array, margin: Array) -> tuple[Array, Array, Array, Array]:
    """`truncated` where the variable proves to lie above the margin."""
    h, _, w, variance, lift = normal_tail(margin - lead)
    return h, w, variance, w * (margin + lift)


def truncate_normal(lead: Array, margin: Array, inside: Array) -> tuple[Array, Array, Array, Array]:
    """What is learnt of a variable N(lead, 1) when it proves to lie above a margin, or inside [-margin, margin].

    Near a small interval the moments come from Gauss-Legendre quadrature, which loses no digits; otherwise from the
    tail beyond an end of the interval, less what is beyond the other end.

    Returns:
      v, the change of its mean, and w, 1 less its new variance, as TrueSkill's of a win and of a draw; the variance;
      and of a Gaussian message that would teach the same, of variance `variance` / w, the mean times w.

    Args:
      lead, margin: shapes alike; margin >= 0.
      inside: the same shape, booleans.
    """
    right = lead >= 0
    a = jnp.where(right, lead, -lead)
    h, excess, w, variance, lift = normal_tail(jnp.where(inside, a - margin, margin - lead))
    near = inside & (margin < 1.0) & (a * margin < 2.0)
    far = inside & ~near

    scale, slope = jnp.where(near, margin, 0.5), jnp.where(near, a, 1.0)
    mass, first, second = (jnp.zeros_like(a) for _ in range(3))
    for node, weight in _GAUSS_LEGENDRE[a.dtype]:
        y = scale * node
        up, down = weight * jnp.exp(y * (slope - 0.5 * y)), weight * jnp.exp(-y * (slope + 0.5 * y))
        mass, first, second = mass + (up + down), first + y * (up - down), second + y * y * (up + down)
    mean_near = first / mass
    variance_near = second / mass - mean_near**2

    scale, slope, hazard = jnp.where(far, margin, 1.0), jnp.where(far, a, 1.0), jnp.where(far, h, 0.2)
    q = jnp.exp(-2.0 * scale * slope)  # the density at the other end, relative to this end
    beyond = q * hazard / normal_tail(scale + slope)[0]
    shift = hazard * (beyond - q) / (1.0 - beyond)
    mean_far = scale - (excess + shift)
    variance_far = variance - shift * (excess + hazard + shift) - 2.0 * scale * q * hazard / (1.0 - beyond)

    mean, between = jnp.where(near, mean_near, mean_far), jnp.where(near, variance_near, variance_far)
    between = jnp.clip(between, 0.0, jnp.minimum(margin, 1.0) ** 2)  # as it is, but for rounding far from a small one
    sign = jnp.where(right, 1.0, -1.0)
    lost = 1.0 - between
    return (
        jnp.where(inside, sign * (mean - a), h),
        jnp.where(inside, lost, w),
        jnp.where(inside, between, variance),
        jnp.where(inside, sign * (mean - a * between), w * (margin + lift)),
    )


@jax.custom_jvp
def log_quotient(target: Array, sums: Array) -> Array:
    """log(target / sums), with slopes that are right near its root, and finite where sums are next to nothing."""
    return jnp.log(target / sums)


@log_quotient.defjvp
def _log_quotient_slope(primal: tuple[Array, Array], tangent: tuple[Array, Array]) -> tuple[Array, Array]:
    (target, sums), (target_change, sums_change) = primal, tangent
    slope = target_change / target - sums_change / jnp.maximum(sums, 1e-3 * target)
    return log_quotient(target, sums), slope


def logit(p: Array) -> Array:
    """log(p / (1 - p)), of p kept half a rounding away from 0 and from 1."""
    least = 0.5 * float(np.finfo(p.dtype).eps)
    p = jnp.clip(p, least, 1.0 - least)
    return jnp.log(p) - jnp.log1p(-p)


def exclusive_sums(x: Array, after: bool = False) -> Array:
    """[n, ...] the sums of the entries before each along the first axis, or after it, as products of matrices.

    (A cumulative sum compiles to some hundred operations.)
    """
    n, rest, size = x.shape[0], x.shape[1:], 16
    if n > size:
        block = jnp.pad(x, ((0, -n % size), *((0, 0) for _ in rest))).reshape(-1, size, *rest)
        others = exclusive_sums(jnp.sum(block, axis=1), after)
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


def fourier_length(n: int) -> int:
    """The least length from 2 n - 1, at which nothing of n points wraps around, that Fourier transforms are fast at."""
    from scipy.fft import next_fast_len  # type: ignore[import-untyped]  # takes a tenth of a second, which few need

    return int(next_fast_len(2 * n - 1, real=True))


def grid_differences(n: int) -> Array:
    """The differences i - j of two of n points, in the order that `spectrum` takes: 0 to n - 1, then 1 - n to -1."""
    return jnp.concatenate([jnp.arange(n), jnp.arange(1 - n, 0)]).astype(jnp.result_type(float))


def difference_spectrum(function: Array) -> Array:
    """What `circular` needs of a function [..., 2 n - 1] of the differences."""
    n = (function.shape[-1] + 1) // 2
    gap = fourier_length(n) - (2 * n - 1)
    between = jnp.zeros((*function.shape[:-1], gap), function.dtype)
    return jnp.fft.rfft(jnp.concatenate([function[..., :n], between, function[..., n:]], axis=-1))


def convolve_by_spectrum(transformed: Array, p: Array) -> Array:
    """sum_j f(i - j) p_j for every i of n points, by Fourier transforms padded so that nothing wraps around.

    Args:
      transformed: `spectrum` of f; its conjugate gives f(j - i).
      p: [..., n].
    """
    length = fourier_length(p.shape[-1])
    return jnp.fft.irfft(transformed * jnp.fft.rfft(p, length), length)[..., : p.shape[-1]]


Columns = tuple[Array, ...]


@jax.custom_jvp
def log_scaled_sums(exponent: Array, scaled: Columns, plain: Columns) -> tuple[Array, Columns, Columns]:
    """Of each row the largest exponent, top; the sums of columns times exp(exponent - top); and sums of columns.

    Args:
      exponent: [..., n], finite.
      scaled, plain: columns, each of that shape.
    """
    if not has_launch_overhead():
        part = jnp.exp(exponent - jnp.max(exponent, axis=-1, keepdims=True))
        sums = tuple(jnp.sum(part * x, axis=-1) for x in scaled), tuple(jnp.sum(x, axis=-1) for x in plain)
        return jnp.max(exponent, axis=-1), *sums
    count, zero = len(scaled), jnp.zeros((), exponent.dtype)

    def merged(one: Columns, other: Columns) -> Columns:  # in one pass, which is one kernel
        top = jnp.maximum(one[0], other[0])
        p, q = jnp.exp(one[0] - top), jnp.exp(other[0] - top)
        pairs = [*zip(one[1:], other[1:], strict=True)]
        return top, *(p * x + q * y for x, y in pairs[:count]), *(x + y for x, y in pairs[count:])

    none = jnp.full_like(zero, np.finfo(exponent.dtype).min), *[zero] * (count + len(plain))
    top, *sums = lax.reduce((exponent, *scaled, *plain), none, merged, (exponent.ndim - 1,))
    return top, tuple(sums[:count]), tuple(sums[count:])


@log_scaled_sums.defjvp
def _log_scaled_sums_jvp(primal: tuple[Any, ...], tangent: tuple[Any, ...]) -> tuple[Any, Any]:
    """Those at the top that there is, which takes no part in what the sums say."""
    (exponent, scaled, _), (rise, changes, slopes) = primal, tangent
    top, *sums = log_scaled_sums(*primal)
    part = jnp.exp(exponent - top[..., None])
    changes = tuple(jnp.sum(part * (dx + x * rise), axis=-1) for x, dx in zip(scaled, changes, strict=True))
    return (top, *sums), (jnp.zeros_like(top), changes, tuple(jnp.sum(x, axis=-1) for x in slopes))
