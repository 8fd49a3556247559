"""Primitives that are exact where naive formulas fail, with derivatives that stay finite there."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr

from jaxrate.core.array_types import Array

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
def _normal_tail_moments(z: Array) -> tuple[Array, Array, Array, Array, Array]:
    """The standard normal distribution beyond z, to rounding for every z.

    Returns:
      h, its mean, which is the hazard phi(z) / Phi(-z); excess, how far that lies above z; their product, which is the
      derivative of h, and 1 less the variance; the variance; lift, 1 / excess - z.
    """
    a = jnp.abs(z)
    lift, excess, h, other = _normal_hazards_of_distance(a)
    right = z > 0
    h, e = jnp.where(right, h, other), jnp.where(right, excess, other + a)
    product = h * e
    variance = jnp.where(right, e * (lift - e), 1.0 - product)
    return h, e, product, variance, jnp.where(right, lift, 1.0 / e + a)


def _normal_hazards_of_distance(a: Array) -> tuple[Array, Array, Array, Array]:
    """The lift, the excess and the hazard at distances a >= 0, and the hazard at -a."""
    t = 4.0 / (4.0 + a)
    u, lift = 2.0 * t - 1.0, jnp.zeros_like(a)
    for c in np.polynomial.chebyshev.cheb2poly(_LIFT_COEFFICIENTS[: 14 if a.dtype == jnp.float32 else None])[::-1]:
        lift = lift * u + float(c)
    lift = lift * t  # everything follows from it without cancellation
    excess = 1.0 / (a + lift)
    h = a + excess
    density = jnp.exp(-0.5 * a * a) * (0.5 / np.pi) ** 0.5
    return lift, excess, h, density / (1.0 - density / h)


@_normal_tail_moments.defjvp
def _normal_tail_jvp(primal: tuple[Array], tangent: tuple[Array]) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    h, excess, product, variance, lift = _normal_tail_moments(*primal)
    (dz,), length = tangent, jnp.where(h > 0, excess, 0.0)  # whose square may overflow where h is 0
    change = h * (length * length - variance)
    slopes = product, -variance, change, -change, lift / excess - 2.0
    return (h, excess, product, variance, lift), tuple(slope * dz for slope in slopes)


normal_tail = jax.jit(_normal_tail_moments)  # traced once for a shape


@jax.custom_jvp
def normal_hazards_on_both_sides(z: Array) -> tuple[Array, Array]:
    """The hazards phi(z) / Phi(-z) of z and of -z, for less than twice what one costs."""
    _, _, h, other = _normal_hazards_of_distance(jnp.abs(z))
    right = z > 0
    return jnp.where(right, h, other), jnp.where(right, other, h)


@normal_hazards_on_both_sides.defjvp
def _normal_hazards_jvp(primal: tuple[Array], tangent: tuple[Array]) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    (above, _, rise, *_), (below, _, fall, *_) = (normal_tail(sign * primal[0]) for sign in (1.0, -1.0))
    return (above, below), (rise * tangent[0], -fall * tangent[0])


# Gauss-Legendre nodes and weights of the half from 0 to 1, enough for each precision.
_GAUSS_LEGENDRE = {
    jnp.dtype(x): tuple(zip(*(y[n:].tolist() for y in np.polynomial.legendre.leggauss(2 * n)), strict=True))
    for x, n in (("float32", 3), ("float64", 4))
}


def normal_moments_above_margin(lead: Array, margin: Array) -> tuple[Array, Array, Array, Array]:
    """`truncated_normal_moments` for a variable that is known to be above the margin."""
    h, _, w, variance, lift = normal_tail(margin - lead)
    return h, w, variance, w * (margin + lift)


def truncated_normal_moments(lead: Array, margin: Array, inside: Array) -> tuple[Array, Array, Array, Array]:
    """Moments of a variable N(lead, 1) that is known to be above a margin, or inside [-margin, margin].

    Near a small interval the moments come from Gauss-Legendre quadrature, which loses no digits; otherwise from the
    tail beyond an end of the interval, less what is beyond the other end.

    Returns:
      v, the change of its mean, and w, 1 less its new variance, as in TrueSkill for a win and for a draw; the variance;
      and w times the mean of a Gaussian message of variance `variance` / w that has the same effect.

    Args:
      lead: the mean of the variable.
      margin: the bound, >= 0, of the shape of `lead`.
      inside: whether the variable is inside the margin, booleans of the shape of `lead`.
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

    # Where the other end is out of reach nothing lies beyond it, and where the square of the hazard overflows nothing
    # depends on that: the slopes of what is left out would be 0 times inf.
    limits = np.finfo(a.dtype)
    reached = far & (margin * a < -0.5 * float(np.log(limits.tiny))) & (a < 0.01 * float(limits.max) ** 0.5)
    scale, slope, hazard = jnp.where(reached, margin, 1.0), jnp.where(reached, a, 1.0), jnp.where(reached, h, 0.2)
    q = jnp.where(reached, jnp.exp(-2.0 * scale * slope), 0.0)  # the density at the other end, relative to this end
    beyond = q * hazard / normal_tail(scale + slope)[0]
    shift = hazard * (beyond - q) / (1.0 - beyond)
    mean_far = jnp.where(far, margin, 1.0) - (excess + shift)
    variance_far = variance - shift * (excess + hazard + shift) - 2.0 * scale * q * hazard / (1.0 - beyond)

    mean, between = jnp.where(near, mean_near, mean_far), jnp.where(near, variance_near, variance_far)
    between = jnp.clip(between, 0.0, jnp.minimum(margin, 1.0) ** 2)  # as it is, but for rounding far from a small one
    sign = jnp.where(right, 1.0, -1.0)
    precision_gain = 1.0 - between
    return (
        jnp.where(inside, sign * (mean - a), h),
        jnp.where(inside, precision_gain, w),
        jnp.where(inside, between, variance),
        jnp.where(inside, sign * (mean - a * between), w * (margin + lift)),
    )


@jax.custom_jvp
def log_quotient_with_safe_slopes(numerator: Array, denominator: Array) -> Array:
    """log(target / sums), with slopes that are right near its root, and finite where sums are next to nothing."""
    return jnp.log(numerator / denominator)


@log_quotient_with_safe_slopes.defjvp
def _log_quotient_with_safe_slopes_jvp(
    primal: tuple[Array, Array], tangent: tuple[Array, Array]
) -> tuple[Array, Array]:
    (target, sums), (target_change, sums_change) = primal, tangent
    slope = target_change / target - sums_change / jnp.maximum(sums, 1e-3 * target)
    return log_quotient_with_safe_slopes(target, sums), slope


@jax.custom_jvp
def differentiable_quotient(numerator: Array | float, denominator: Array) -> Array:
    """numerator / denominator, with slopes that nowhere square the denominator, which underflows where it is tiny.

    1 / denominator^2 is inf from 5e-20 on in float32, and NaN where nothing depends on the quotient, as in padding.
    """
    return numerator / denominator


@differentiable_quotient.defjvp
def _quotient_slope(primal: tuple[Array, Array], tangent: tuple[Array, Array]) -> tuple[Array, Array]:
    (numerator, denominator), (numerator_change, denominator_change) = primal, tangent
    result = differentiable_quotient(numerator, denominator)
    return result, (numerator_change - result * denominator_change) / denominator


def log_normal_within(lead: Array, width: Array) -> Array:
    """The log probability that a variable N(lead, 1) is nearer to 0 than `width`, accurate in both tails."""
    behind = -jnp.abs(lead)
    high, low = log_ndtr(behind + width), log_ndtr(behind - width)
    least = -float(np.finfo(high.dtype).eps)  # of an interval that rounding leaves nothing of
    return high + jnp.log(-jnp.expm1(jnp.minimum(low - high, least)))


def logit(p: Array) -> Array:
    """log(p / (1 - p)), of p kept half a rounding away from 0 and from 1."""
    least = 0.5 * float(np.finfo(p.dtype).eps)
    p = jnp.clip(p, least, 1.0 - least)
    return jnp.log(p) - jnp.log1p(-p)
