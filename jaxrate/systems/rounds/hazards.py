"""The hazards of a density of performances, tabulated once on the host in double precision, and read off in tables.

Of a density f of mean 0 and variance 1 with cdf F the Elo-MMR paper (Lemma 3.2) needs v = f/F, l = -f/(1 - F) and
d = f'/f. The logs of both hazards and d are polynomials of degree five in cells of 1/32 from -64 to 64, or as far as
|d| stays below 10,000; beyond, the log of the density goes on as a parabola, which keeps all of them finite and
monotone. They contain the rest: F = l/(l - v), and f = v l/(l - v).
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.events import Array
from jaxrate.systems.rounds import field
from jaxrate.systems.rounds.densities import Density
from jaxrate.systems.rounds.expected import Integrals
from jaxrate.systems.rounds.field import Kind, NumPy
from jaxrate.systems.rounds.performance import Noise

RANGE, PER, STEEPEST = 64, 32, 1e4  # standard deviations; cells of one; the largest |d| of a table
_WITHIN = 4  # margins of one
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_LAGUERRE, _TAIL_WEIGHTS = np.polynomial.laguerre.laggauss(24)
_STEEP = 40.0  # the |d| from which Gauss's rule in a cell is no longer exact, but Laguerre's in a tail is
_CHUNK = 4096
_SMOOTH = field.LOGISTIC.deviation**-1  # the scale of a logistic density of deviation 1


class Table(NamedTuple):
    """A density. Side 0 is 1 - F; side 1 is F, as 1 - F of the density mirrored."""

    hazard: Array  # [2, cells, 6] the log of f / (1 - F)
    low: Array  # [2] where the cells of a side begin
    draw: Array  # [cells, 6] d, from low[0]
    slope: Array  # [2] the d of a side at its lower end
    bend: Array  # [2] the derivative of d there
    margin: Array  # [2, 4 RANGE] the log of f / (1 - F) over d of a side, at 0, 1/4, 1/2, ... standard deviations below


class Quadrature(NamedTuple):
    """Nodes in standard deviations, and the density there, with the sum 1."""

    nodes: NumPy
    weights: NumPy


class Tabulated(NamedTuple):
    """What is static about a density."""

    table: Table
    fine: int  # by how much tables over everybody in a round must be denser than for normal performances
    reach: float  # standard deviations, beyond which lies less than 1e-7
    coarse: Quadrature  # exact to 5e-5 against opponents down to half as wide as oneself
    finer: Quadrature  # down to a sixteenth
    pairs: Quadrature  # exact to 1e-7 against those who are no narrower


def above(table: Table, side: int | Array, y: Array) -> tuple[Array, Array]:
    """f / (1 - F) of a side at y, and its derivative."""
    low, opposite = table.low[side], 1 - side
    value, rise, beyond = _read(table.hazard[side], low, y)
    left, right = jnp.minimum(beyond, 0.0), jnp.maximum(beyond, 0.0)
    slope = table.slope[side] + table.bend[side] * left
    h = jnp.exp(value + 0.5 * (table.slope[side] + slope) * left)
    rise = h * jnp.where(left < 0, slope, rise)
    last = -table.bend[opposite]
    return h + last * right, jnp.where(right > 0, last, rise)


def draw(table: Table, z: Array) -> tuple[Array, Array]:
    """d = f'/f at z, and its derivative."""
    value, slope, beyond = _read(table.draw, table.low[0], z)
    bend = jnp.where(beyond < 0, table.bend[0], table.bend[1])
    return value + bend * beyond, jnp.where(beyond == 0, slope, bend)


def _read(cells: Array, low: Array, z: Array) -> tuple[Array, Array, Array]:
    """Polynomials at z, their slopes, and how far beyond the table z lies."""
    count = cells.shape[0]
    inside = jnp.clip(z, low, low + count / PER)
    place = (inside - low) * PER
    number = jnp.minimum(place.astype(jnp.int32), count - 1)
    u = place - number.astype(place.dtype)
    c = jnp.moveaxis(cells[number], -1, 0)
    return field.horner(c, u), field.slope_of(c, u) * PER, z - inside


def margins(table: Table, opponents: Array) -> tuple[Array, Array]:
    """How many standard deviations below and above everybody a tie outweighs so many opponents."""
    enough = table.margin < -jnp.log(4.0 * opponents)
    below, higher = jnp.sum(~enough, axis=1).astype(opponents.dtype) / _WITHIN
    return below, higher


def shape(table: Table, z: Array) -> tuple[Array, Array, Array, Array]:
    """The cdf, its complement, the density and its derivative, each to its own relative accuracy."""
    v, h = above(table, 1, -z)[0], above(table, 0, z)[0]
    total = v + h
    below = h / total
    density = v * below
    return below, v / total, density, density * draw(table, z)[0]


def performances(table: Table) -> Noise:
    """What `performance.general` needs."""
    return Noise(partial(above, table), partial(draw, table), partial(margins, table))


def integrals(table: Table, about: Tabulated) -> Integrals:
    """What `expected.general` needs."""
    coarse, fine = (Kind(partial(shape, table), 1.0, *rule) for rule in (about.coarse, about.finer))
    return Integrals(
        coarse, fine, partial(_beats, table, about.pairs), len(about.pairs.nodes), _SMOOTH / about.fine, about.reach
    )


def _beats(table: Table, rule: Quadrature, lead: Array, one: Array, other: Array) -> tuple[Array, Array]:
    """As `pairs.logistic`: the narrower performance is integrated over; its opponent is as wide or wider."""
    narrow = one <= other
    widest = jnp.maximum(one, other)
    lead, part = jnp.where(narrow, lead, -lead) / widest, jnp.minimum(one, other) / widest
    nodes, weights = (jnp.asarray(x.reshape((1,) * lead.ndim + (-1,)), lead.dtype) for x in rule)
    below, beyond, _, _ = shape(table, lead[..., None] + part[..., None] * nodes)
    below, beyond = jnp.sum(weights * below, axis=-1), jnp.sum(weights * beyond, axis=-1)
    return jnp.where(narrow, below, beyond), jnp.where(narrow, beyond, below)


@lru_cache(maxsize=64)
def tabulated(density: Density) -> Tabulated:
    """Its tables; ValueError where it is no log-concave density.

    The density is moved and scaled to mean 0 and variance 1. It is integrated by Gauss's rule in every cell, from each
    end inwards in logs, so that both tails keep their relative accuracy.
    """
    log = _with_slopes(density)
    mean, scale = _moments(density, log)
    z = np.arange(-RANGE * PER, RANGE * PER + 1) / PER
    g, d, bend, twist = log(mean + scale * z)
    d, bend, twist = d * scale, bend * scale**2, twist * scale**3
    first, last = _extent(density, mean + scale * z, g, d, bend, twist)
    z, g, d, bend, twist = (x[first : last + 1] for x in (z, g, d, bend, twist))
    inside = mean + scale * (z[:-1, None] + 0.5 * (1.0 + _NODES) / PER)
    mass = np.logaddexp.reduce(log(inside)[0] + np.log(0.5 * _WEIGHTS / PER), axis=1)
    tails = []
    for sign in (1.0, -1.0):  # d falls from above 0 to below
        steep = sign * d > _STEEP
        steep[0 if sign > 0 else -1] = True
        rate = np.where(steep, d, sign)[:, None]
        rest = log(mean + scale * (z[:, None] - _LAGUERRE / rate))[0] + _LAGUERRE - np.log(np.abs(rate))
        tails.append((steep, np.logaddexp.reduce(rest + np.log(_TAIL_WEIGHTS), axis=1)))
    (low, below), (high, beyond) = tails
    start, end = np.flatnonzero(low)[-1], np.flatnonzero(high)[0]
    below[start : end + 1] = np.logaddexp.accumulate([below[start], *mass[start:end]])
    beyond[start : end + 1] = np.logaddexp.accumulate([beyond[end], *mass[start:end][::-1]])[::-1]
    total = np.logaddexp(below[start], beyond[start])
    below[end:] = total + np.log1p(-np.exp(beyond[end:] - total))
    beyond[:start] = total + np.log1p(-np.exp(below[:start] - total))
    _refuse(density, mean + scale * z, ~np.isfinite(below + beyond), "is not finite further out than")
    both = (z, g - beyond, d, bend), (-z[::-1], (g - below)[::-1], -d[::-1], bend[::-1])
    table = Table(
        np.stack([_hazard_cells(h, slope, curve) for _, h, slope, curve in both]),
        np.array([z[0], -z[-1]]),
        _cells(d, bend, twist),
        np.array([d[0], -d[-1]]),
        np.array([bend[0], bend[-1]]),
        np.stack([_margin(*side[:3]) for side in both]),
    )
    fine = max(_fineness(np.exp(h)) for _, h, *_ in both)
    return Tabulated(table, fine, *_quadratures(z, np.exp(g - total), np.exp(below - total)))


Slopes = Callable[[NumPy], list[NumPy]]  # of x: the log of a density and three derivatives


def _with_slopes(density: Density) -> Slopes:
    def slope(f: Callable[[Array], Array]) -> Callable[[Array], Array]:
        return lambda x: jax.jvp(f, (x,), (jnp.ones_like(x),))[1]

    def everything(x: Array) -> tuple[Array, ...]:
        first = slope(density.log)
        return density.log(x), first(x), slope(first)(x), slope(slope(first))(x)

    compiled = jax.jit(everything)

    def evaluate(x: NumPy) -> list[NumPy]:
        chunks = np.pad(x.ravel(), (0, -x.size % _CHUNK), mode="edge").reshape(-1, _CHUNK)
        with jax.ensure_compile_time_eval(), jax.enable_x64(True):
            found = [[np.asarray(y) for y in compiled(jnp.asarray(chunk))] for chunk in chunks]
        if found[0][0].shape != (_CHUNK,):
            raise ValueError(f"density {density.name}: its log is no elementwise function of an array")
        return [np.concatenate(y)[: x.size].reshape(x.shape) for y in zip(*found, strict=True)]

    return evaluate


def _moments(density: Density, log: Slopes) -> tuple[float, float]:
    """The mean and the deviation of the density as it is given."""
    scales = 2.0 ** np.arange(-20, 41)
    low, high = _around(density, log, np.concatenate([-scales[::-1], [0.0], scales]))
    for _ in range(4):
        low, high = _around(density, log, np.linspace(low, high, _CHUNK))
    mode = 0.5 * (low + high)
    top, *_ = log(np.full(1, mode))
    edges = [np.zeros(1)]
    for sign in (-1.0, 1.0):
        fallen = log(mode + sign * scales)[0] < top - 1.0
        if not fallen.any():
            raise ValueError(f"density {density.name}: its log does not fall away from its maximum at x = {mode:g}")
        edges.append(sign * scales[np.argmax(fallen)] * np.arange(1, 1281) / 32)
    edge = mode + np.sort(np.concatenate(edges))
    width = np.diff(edge)[:, None]
    x = edge[:-1, None] + 0.5 * (1.0 + _NODES) * width
    mass = np.exp(log(x)[0] - top) * _WEIGHTS * width
    _refuse(density, x, np.isnan(mass), "is not a number")
    mean = np.sum(mass * x) / np.sum(mass)
    return float(mean), float(np.sqrt(np.sum(mass * (x - mean) ** 2) / np.sum(mass)))


def _around(density: Density, log: Slopes, x: NumPy) -> tuple[float, float]:
    """The neighbours among points x between which the density has its maximum."""
    d = log(x)[1]
    rising, falling = x[d >= 0], x[d <= 0]
    if not len(rising) or not len(falling):
        raise ValueError(f"density {density.name}: it has no maximum; its log must rise first and fall later")
    low, high = float(rising.max()), float(falling.min())
    return min(low, high), max(low, high)


def _refuse(density: Density, x: NumPy, where: NumPy, what: str) -> None:
    if where.any():
        raise ValueError(f"density {density.name}: its log {what} at x = {x[where][0]:.6g}")


def _extent(density: Density, x: NumPy, *values: NumPy) -> tuple[int, int]:
    """The first and the last point of the table; ValueError if the density is not log-concave between them."""
    d, middle = values[1], RANGE * PER
    finite = np.all(np.isfinite(values), axis=0)
    tame = finite & (np.abs(d) <= STEEPEST)
    last = middle + int(np.argmin(np.append(tame[middle:], False))) - 1
    first = middle + 1 - int(np.argmin(np.append(tame[middle::-1], False)))
    beside = np.zeros(len(x), bool)
    beside[[max(first - 1, 0), min(last + 1, len(x) - 1)]] = True
    _refuse(density, x, beside & ~finite, "or one of its first three derivatives is not finite")
    part = slice(first, last + 1)
    change, size = np.append(np.diff(d[part]), 0.0), 1.0 + np.abs(d[part])
    _refuse(density, x[part], change > 1e-9 * size, "is not concave: its slope rises")
    bend = values[2][part] / PER
    sudden = np.abs(change - 0.5 * (bend + np.roll(bend, -1))) > 0.01 * size
    _refuse(density, x[part], sudden & (change < 0), "has a corner, or bends too suddenly,")
    ends = np.zeros(len(d[part]), bool)
    ends[0], ends[-1] = not d[first] > 0, not d[last] < 0
    _refuse(density, x[part], ends, "does not fall outwards")
    return first, last


def _cells(value: NumPy, slope: NumPy, curve: NumPy) -> NumPy:
    """[cells, 6] polynomials between points, from values and derivatives at these [cells + 1]."""
    there = value, slope / PER, curve / PER**2
    return np.stack(field.hermite(*(x[:-1] for x in there), *(x[1:] for x in there)), axis=-1)


def _hazard_cells(log_h: NumPy, d: NumPy, bend: NumPy) -> NumPy:
    h = np.exp(log_h)
    return _cells(log_h, d + h, bend + h * (d + h))


def _margin(z: NumPy, log_h: NumPy, d: NumPy) -> NumPy:
    number = np.round((-np.arange(RANGE * _WITHIN) / _WITHIN - z[0]) * PER).astype(int)
    at = np.clip(number, 0, len(z) - 1)
    ratio = np.where(d[at] > 0, log_h[at] - np.log(np.where(d[at] > 0, d[at], 1.0)), np.inf)
    return np.where(number < 0, -np.inf, ratio)


def _fineness(h: NumPy) -> int:
    """How much denser than at every 3/8 standard deviations a hazard h must be known to interpolate it within 1e-4."""

    def off(cells: int) -> float:
        known = h[: (len(h) - 1) // cells * cells + 1 : cells]
        place, part = np.arange(2, len(known) - 3)[:, None], np.arange(cells)
        found, _ = field.everett([known[place + i] for i in range(-2, 4)], part / cells)
        exact = h[place * cells + part]
        return float(np.max(np.abs(found - exact) / (1.0 + exact)))

    return next((fine for fine in (1, 2, 4) if off(12 // fine) < 1e-4), 8)


def _quadratures(z: NumPy, f: NumPy, cdf: NumPy) -> tuple[float, Quadrature, Quadrature, Quadrature]:
    inside = np.flatnonzero((cdf > 1e-7) & (1.0 - cdf > 1e-7))
    zero = int(np.argmin(np.abs(z)))

    def every(cells: int) -> Quadrature:
        which = inside[(inside - zero) % cells == 0]
        return Quadrature(z[which], f[which] / f[which].sum())

    def exact(width: float, tolerance: float) -> int:
        """The number of cells between nodes that is enough against opponents of this width."""

        def against(rule: Quadrature) -> NumPy:
            lead = np.arange(-8.0, 8.0, 3.0 / PER)
            return np.interp((rule.nodes[None] - lead[:, None]) / width, z, cdf, 0.0, 1.0) @ rule.weights

        best = against(every(1))
        return next((n for n in (16, 8, 4, 2) if np.abs(against(every(n)) - best).max() < tolerance), 1)

    coarse = exact(0.5, 5e-5)
    rules = every(coarse), every(max(coarse // 8, 1)), every(exact(1.0, 1e-7))
    return float(np.abs(z[inside]).max()), *rules
