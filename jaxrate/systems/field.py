"""Sums over everybody in a round, as functions of one rating: what makes rounds of any size cost linear time.

A system of ranked rounds asks, for a rating x, how many participants would stand below it: sum_j g_j F((x - m_j) s_j),
with a cdf F, centres m, inverse scales s and gains g. Everybody asks the same question, so in large rounds the answer
is tabulated once at equidistant ratings, with two derivatives, and read off by quintic interpolation (Hermite). Of
exponential tails too: of that sum and of its complement each has its own table, so both keep their relative accuracy.

The interpolation is off by at most h^6/46080 of the sixth derivative, with the step h in units of the smallest scale:
below 1e-6 rating points with 512 points, and 0.01 with 128, if the step is below 0.3 and 1.1 scales (logistic).
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import erfc

from jaxrate.events import Array, Rounds
from jaxrate.numerics import decreasing_root

NumPy = np.ndarray[Any, Any]
LOWEST, HIGHEST = -6000.0, 9000.0  # performances outside count as these
SMALL = 64  # participants up to which the sums are taken directly
_BLOCK = 64  # participants whose cdfs at all points fit in a cache

Shape = Callable[[Array], tuple[Array, Array, Array, Array]]  # cdf, its complement, density and its derivative
Sums = Callable[[Array], tuple[Array, Array, Array]]  # of ratings x: the sum below, the sum above, the slope of it


class Kind(NamedTuple):
    """A distribution of performances."""

    shape: Shape
    deviation: float  # of the standard form
    nodes: NumPy  # of a quadrature over that form
    weights: NumPy


class Field(NamedTuple):
    """Everybody in a round."""

    centre: Array  # [P] ratings
    inverse: Array  # [P] 1 / scale
    gain: Array  # [P] what each counts; 0 for padding
    low: Array  # [] no rating that is asked for lies below, or
    high: Array  # [] above


def logistic(z: Array) -> tuple[Array, Array, Array, Array]:
    """The logistic distribution."""
    e = jnp.exp(-jnp.clip(z, -80.0, 80.0))
    below = 1.0 / (1.0 + e)
    above = e * below
    density = below * above
    return below, above, density, density * (above - below)


def normal(z: Array) -> tuple[Array, Array, Array, Array]:
    """The standard normal distribution."""
    above = 0.5 * erfc(jnp.abs(z) * 0.5**0.5)
    density = jnp.exp(-0.5 * z * z) * (0.5 / jnp.pi) ** 0.5
    left = z < 0
    return jnp.where(left, above, 1.0 - above), jnp.where(left, 1.0 - above, above), density, -z * density


def _kind(shape: Shape, deviation: float, density: Callable[[NumPy], NumPy], step: float, count: int) -> Kind:
    """With the trapezoidal rule, which converges exponentially for functions like these."""
    nodes = step * np.arange(-count, count + 1)
    return Kind(shape, deviation, nodes, density(nodes) / density(nodes).sum())


LOGISTIC = _kind(logistic, math.pi / 3.0**0.5, lambda x: np.cosh(0.5 * x) ** -2.0, 1.75, 7)
NORMAL = _kind(normal, 1.0, lambda x: np.exp(-0.5 * x * x), 0.6, 8)
NORMAL_FINE = _kind(normal, 1.0, lambda x: np.exp(-0.5 * x * x), 0.3, 24)  # also for opponents a third as wide


def enough(deviation: float) -> int:
    """Points of a table for scales of this deviation or wider, in float32."""
    return int(np.clip(128 * 2 ** np.ceil(np.log2(200.0 / max(deviation, 1.0))), 128, 4096))


def points(single: int) -> int:
    """The same in the default precision."""
    return single if jnp.result_type(float) == np.float32 else 4 * single


def real(event: Rounds) -> Array:
    """[P] who takes part; the others are padding."""
    return event.weight > 0


def reach(centre: Array, margin: Array, there: Array) -> tuple[Array, Array]:
    """The interval of ratings from the lowest centre to the highest, and a margin beyond."""
    margin = jnp.where(jnp.any(there), margin, 1.0)  # in a padded round nobody is
    low = jnp.min(jnp.where(there, centre, HIGHEST)) - margin
    high = jnp.max(jnp.where(there, centre, LOWEST)) + margin
    ends = jnp.clip(low, LOWEST, HIGHEST - 1.0), jnp.clip(high, LOWEST + 1.0, HIGHEST)
    return lax.stop_gradient(ends)  # no answer depends on them


def sums(shape: Shape, field: Field, points: int) -> Sums:
    """x [...] -> (sum_j g_j F((x - m_j) s_j), the same of 1 - F, the derivative of the former), each [...]."""
    if len(field.centre) <= SMALL:
        return lambda x: _direct(shape, field, x)
    at = points_of(field, points)
    below, above, first, second = scan_blocks(lambda f: _tabulate(shape, f, at), field)
    first, second = first * (at[1] - at[0]), second * (at[1] - at[0]) ** 2
    sides = (below, first, second), (above, -first, -second)
    curve = jnp.stack([hermite(*(x[:-1] for x in side), *(x[1:] for x in side)) for side in sides], axis=1)
    return lambda x: _read(curve, field, at, x)


def points_of(field: Field, points: int) -> Array:
    """[points] equidistant ratings over the field's interval."""
    return jnp.linspace(field.low, field.high, points)


def _direct(shape: Shape, field: Field, x: Array) -> tuple[Array, Array, Array]:
    centre, inverse = (jnp.expand_dims(y, range(x.ndim)) for y in (field.centre, field.inverse))
    below, above, density, _ = shape((x[..., None] - centre) * inverse)
    slope = density @ (field.gain * field.inverse)
    return below @ field.gain, above @ field.gain, slope


def _tabulate(shape: Shape, field: Field, at: Array) -> Array:
    """[4, points] sums of the cdf, its complement and two derivatives."""
    values = shape((at[None, :] - field.centre[:, None]) * field.inverse[:, None])
    gains = [field.gain, field.gain, field.gain * field.inverse, field.gain * field.inverse**2]
    return jnp.stack([jnp.dot(g, x, precision=lax.Precision.HIGHEST) for g, x in zip(gains, values, strict=True)])


def scan_blocks(one: Callable[[Field], Array], field: Field) -> Array:
    """The sum of `one` over blocks of participants: on a CPU they stay in its cache."""
    if jax.default_backend() != "cpu":
        return one(field)
    columns = jax.tree.map(lambda x: jnp.pad(x, (0, -len(x) % _BLOCK)).reshape(-1, _BLOCK), field[:3])

    def add(total: Array, block: tuple[Array, ...]) -> tuple[Array, None]:
        return total + one(field._replace(centre=block[0], inverse=block[1], gain=block[2])), None

    start = jax.eval_shape(lambda f: one(f), field)
    return lax.scan(add, jnp.zeros(start.shape, start.dtype), columns)[0]


def hermite(f: Array, d: Array, s: Array, g: Array, e: Array, t: Array) -> Array:
    """[..., 6] polynomials on [0, 1] with values f, slopes d and second derivatives s at 0, and g, e and t at 1."""
    rise = g - f
    terms = [
        f,
        d,
        0.5 * s,
        10.0 * rise - 6.0 * d - 4.0 * e - 1.5 * s + 0.5 * t,
        -15.0 * rise + 8.0 * d + 7.0 * e + 1.5 * s - t,
        6.0 * rise - 3.0 * (d + e) + 0.5 * (t - s),
    ]
    return jnp.stack(terms, axis=-1)


def cell(field: Field, at: Array, x: Array) -> tuple[Array, Array, Array]:
    """Which cell each rating lies in, where in it, in [0, 1], and 1 / step."""
    cells = len(at) - 1
    per_point = cells / (field.high - field.low)
    place = jnp.clip((x - field.low) * per_point, 0.0, float(cells))
    number = jnp.minimum(place.astype(jnp.int32), cells - 1)
    return number, place - number.astype(place.dtype), per_point


def _read(curve: Array, field: Field, at: Array, x: Array) -> tuple[Array, Array, Array]:
    number, u, per_point = cell(field, at, x)
    c = curve[number]
    below, above = (horner(c[..., k, :], u) for k in (0, 1))
    slope = slope_of(c[..., 0, :], u) * per_point
    return below, above, slope


def horner(c: Array, u: Array) -> Array:
    """The polynomials c [..., 6] at u [...]."""
    return c[..., 0] + u * (c[..., 1] + u * (c[..., 2] + u * (c[..., 3] + u * (c[..., 4] + u * c[..., 5]))))


def slope_of(c: Array, u: Array) -> Array:
    """Their derivatives."""
    return c[..., 1] + u * (2 * c[..., 2] + u * (3 * c[..., 3] + u * (4 * c[..., 4] + u * (5 * c[..., 5]))))


def expected(kind: Kind, centre: Array, deviation: Array, there: Array, points: int) -> tuple[Array, Array]:
    """[P] how many participants each one's performance is expected to beat, and to be beaten by; himself by halves.

    Args:
      kind: of all performances.
      centre: [P] their means.
      deviation: [P] their deviations.
      there: [P] who takes part.
      points: of the table.
    """
    scale = deviation / kind.deviation
    low, high = reach(centre, 16.0 * jnp.max(jnp.where(there, scale, 0.0)), there)
    everyone = Field(centre, 1.0 / scale, there.astype(scale.dtype), low, high)
    nodes, weights = (jnp.asarray(x, scale.dtype) for x in (kind.nodes, kind.weights))
    below, above, _ = sums(kind.shape, everyone, points)(centre[:, None] + scale[:, None] * nodes[None, :])
    return below @ weights, above @ weights


def share_of_others(below: Array, there: Array) -> Array:
    """[P] of the others, from how many participants each is expected to beat, himself half the time."""
    others = jnp.sum(there.astype(below.dtype)) - 1.0
    return jnp.where(others > 0, (below - 0.5) / jnp.maximum(others, 1.0), 0.5)


def tied(event: Rounds) -> Array:
    """[P] how many share each one's rank, he included."""
    rank = jnp.minimum(event.rank, len(event.rank) - 1)
    return sum_by(rank, real(event).astype(jnp.int32))[rank]


def contested(event: Rounds) -> Array:
    """[] whether anybody beats anybody."""
    return jnp.any(real(event) & (event.rank > 0))


def sum_by(group: Array, values: Array) -> Array:
    """[P, ...] the sums of values [P, ...] by group, a number from 0 to P - 1."""
    return jnp.zeros_like(values).at[group].add(values)


def balance(sums: Sums, from_below: Array, target: Array, guess: Array, there: Array, low: Array, high: Array) -> Array:
    """The ratings [P] at which sums are as given.

    Args:
      sums: below and above a rating.
      from_below: [P] which of them is given: the smaller one keeps its relative accuracy.
      target: [P] what it is.
      guess: [P] to start from; it stays where nobody is there.
      there: [P] where the answer is asked for.
      low, high: between which it lies.
    """

    def log_ratio(x: Array) -> tuple[Array, Array]:
        """Of the target to the sum at x, and its slope. In both tails it is nearly straight."""
        below, above, slope = sums(x)
        found = jnp.maximum(jnp.where(from_below, below, above), float(np.finfo(x.dtype).tiny))
        found = jnp.where(there, found, 1.0)
        value = jnp.log(jnp.where(there, target, 1.0) / found)
        return jnp.where(from_below, value, -value), -slope / found

    return solve(log_ratio, guess, there, low, high)


def solve(
    function: Callable[[Array], tuple[Array, Array]], guess: Array, there: Array, low: Array, high: Array
) -> Array:
    """The zeros of a function, decreasing, that comes with its slope; the guess where nobody is there."""

    def value(x: Array) -> Array:
        return jnp.where(there, function(x)[0], guess - x)

    def slope(x: Array) -> Array:
        return jnp.where(there, function(x)[1], -1.0)

    ends = (jnp.broadcast_to(x, guess.shape) for x in (low, high))
    guess = jnp.clip(guess, low, high)
    return decreasing_root(value, slope, guess, *ends)
