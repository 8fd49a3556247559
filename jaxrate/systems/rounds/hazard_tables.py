"""The hazards of a density of performances, tabulated once on the host in double precision, and read off in tables.

Of a density f of mean 0 and variance 1 with cdf F the Elo-MMR paper (Lemma 3.2) needs v = f/F, l = -f/(1 - F) and
d = f'/f. The logs of both hazards and d are polynomials of degree five in cells of 1/32 from -64 to 64, or as far as
|d| stays below 10,000; beyond, the log of the density goes on as a parabola, which keeps all of them finite and
monotone. They contain the rest: F = l/(l - v), and f = v l/(l - v).

Densities of the noise of a performance, of which Elo-MMR takes any log-concave one (its paper, sections 2 and 3).

A performance is a skill plus beta times a noise of mean 0 and variance 1. `elo_mmr(density=...)` takes the noise's
density by its name in `DENSITIES`, or one of your own:

    def quartic(x):
        return -0.25 * x**4

    system = jr.elo_mmr(density=jr.extend.densities.Density("quartic", quartic))

Heavy tails make a rating robust: one performance far off then says little. With the Gumbel density only a performance
that is far better than the skill is an outlier; one that is far worse counts fully.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.text_format import did_you_mean_suffix
from jaxrate.systems.rounds import cdf_sums
from jaxrate.systems.rounds.cdf_sums import PerformanceDistribution
from jaxrate.systems.rounds.expected_wins import ExpectedWinsIntegrationMethod
from jaxrate.systems.rounds.performance_inference import NoiseDensityFunctions


class Density(NamedTuple):
    """A log-concave density. A value: two of the same name and function are equal."""

    name: str
    log: Callable[[Array], Array]  # the log of the density, elementwise, in JAX; mean, scale and factor may be any

    def __repr__(self) -> str:
        return f"Density({self.name!r})"


def _logistic_log_density(x: Array) -> Array:
    return -jnp.abs(x) - 2.0 * jnp.log1p(jnp.exp(-jnp.abs(x)))


def _normal_log_density(x: Array) -> Array:
    return -0.5 * x**2


def _gumbel_log_density(x: Array) -> Array:
    return -x - jnp.exp(-x)


def _smooth_laplace_log_density(x: Array) -> Array:
    return -jnp.sqrt(0.25 + x**2)


DENSITIES = {
    "logistic": Density("logistic", _logistic_log_density),
    "normal": Density("normal", _normal_log_density),
    "gumbel": Density("gumbel", _gumbel_log_density),  # of the best of many tries: its upper tail is the heavy one
    "laplace": Density(
        "laplace", _smooth_laplace_log_density
    ),  # exp(-sqrt(1/4 + x^2)): a Laplace density without its corner
}


def parse_density(density: Density | str) -> Density:
    """The density of this name, or the one that is given; ValueError if it is none."""
    if isinstance(density, str):
        if density not in DENSITIES:
            known = f"there are {', '.join(DENSITIES)}; one of your own is a jr.extend.densities.Density"
            raise ValueError(
                f"unknown density {density!r}{did_you_mean_suffix(density, DENSITIES)} ({known}, and a saved "
                "run with it is "
                'loaded by jr.load(folder, make=lambda **given: jr.elo_mmr(**given | {"density": own})))'
            )
        return DENSITIES[density]
    if not isinstance(density, Density) or not callable(density.log) or not isinstance(density.name, str):
        raise ValueError(
            f"a density is a name or a jr.extend.densities.Density of a name and a function, got {density!r}"
        )
    if density.name in DENSITIES and density != DENSITIES[density.name]:
        raise ValueError(f"the density {density.name!r} is another one; give your own a name of its own")
    return density


TABLE_RANGE, CELLS_PER_DEVIATION, MAX_SLOPE = 64, 32, 1e4  # standard deviations; cells of one; the largest |d|
_MARGINS_PER_DEVIATION = 4  # margins of one
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_LAGUERRE, _TAIL_WEIGHTS = np.polynomial.laguerre.laggauss(24)
_STEEP_SLOPE = 40.0  # the |d| from which Gauss's rule in a cell is no longer exact, but Laguerre's in a tail is
_CHUNK_SIZE = 4096
_LOGISTIC_SCALE = cdf_sums.LOGISTIC.deviation**-1  # the scale of a logistic density of deviation 1


class HazardTable(NamedTuple):
    """A density, by its hazards on two sides.

    Side 0 is 1 - F, whose hazard is minus the paper's loss function l. Side 1 is F, as 1 - F of the density mirrored,
    whose hazard is the paper's victory function v.
    """

    hazard: Array  # [2, cells, 6] the log of f / (1 - F)
    low: Array  # [2] where the cells of a side begin
    draw: Array  # [cells, 6] d, from low[0]
    slope: Array  # [2] the d of a side at its lower end
    bend: Array  # [2] the derivative of d there
    margin: Array  # [2, 4 RANGE] the log of f / (1 - F) over d of a side, at 0, 1/4, 1/2, ... standard deviations below


class Quadrature(NamedTuple):
    """Nodes in standard deviations, and the density there, with the sum 1."""

    nodes: HostArray
    weights: HostArray


class TabulatedDensity(NamedTuple):
    """A density's table and the sizes that follow from it before compiling."""

    table: HazardTable
    fine: int  # by how much tables over everybody in a round must be denser than for normal performances
    reach: float  # standard deviations, beyond which lies less than 1e-7
    coarse: Quadrature  # exact to 5e-5 against opponents down to half as wide as oneself
    finer: Quadrature  # down to a sixteenth
    pairs: Quadrature  # exact to 1e-7 against those who are no narrower


def side_hazard(table: HazardTable, side: int | Array, y: Array) -> tuple[Array, Array]:
    """f / (1 - F) of a side at y, and its derivative."""
    low, opposite = table.low[side], 1 - side
    value, rise, beyond = _interpolate_cells(table.hazard[side], low, y)
    left, right = jnp.minimum(beyond, 0.0), jnp.maximum(beyond, 0.0)
    slope = table.slope[side] + table.bend[side] * left
    h = jnp.exp(value + 0.5 * (table.slope[side] + slope) * left)
    rise = h * jnp.where(left < 0, slope, rise)
    last = -table.bend[opposite]
    return h + last * right, jnp.where(right > 0, last, rise)


def log_density_slope(table: HazardTable, z: Array) -> tuple[Array, Array]:
    """d = f'/f at z, and its derivative."""
    value, slope, beyond = _interpolate_cells(table.draw, table.low[0], z)
    bend = jnp.where(beyond < 0, table.bend[0], table.bend[1])
    return value + bend * beyond, jnp.where(beyond == 0, slope, bend)


def _interpolate_cells(cells: Array, low: Array, z: Array) -> tuple[Array, Array, Array]:
    """Polynomials at z, their slopes, and how far beyond the table z lies."""
    count = cells.shape[0]
    inside = jnp.clip(z, low, low + count / CELLS_PER_DEVIATION)
    place = (inside - low) * CELLS_PER_DEVIATION
    number = jnp.minimum(place.astype(jnp.int32), count - 1)
    u = place - number.astype(place.dtype)
    c = jnp.moveaxis(cells[number], -1, 0)
    return cdf_sums.evaluate_quintic(c, u), cdf_sums.quintic_slope(c, u) * CELLS_PER_DEVIATION, z - inside


def tie_dominance_margins(table: HazardTable, num_opponents: Array) -> tuple[Array, Array]:
    """How many standard deviations below and above everybody a tie outweighs all `num_opponents`."""
    enough = table.margin < -jnp.log(4.0 * num_opponents)
    below, higher = jnp.sum(~enough, axis=1).astype(num_opponents.dtype) / _MARGINS_PER_DEVIATION
    return below, higher


def cdf_and_density_at(table: HazardTable, z: Array) -> tuple[Array, Array, Array, Array]:
    """The cdf, its complement, the density and its derivative, each to its own relative accuracy."""
    v, h = side_hazard(table, 1, -z)[0], side_hazard(table, 0, z)[0]
    total = v + h
    below = h / total
    density = v * below
    return below, v / total, density, density * log_density_slope(table, z)[0]


def make_noise_density(table: HazardTable) -> NoiseDensityFunctions:
    """The noise density of these hazards, as `performance_inference.infer_performance_from_standing` takes it."""
    return NoiseDensityFunctions(
        partial(side_hazard, table),
        lambda z: (side_hazard(table, 0, z)[0], side_hazard(table, 1, -z)[0]),
        partial(log_density_slope, table),
        partial(tie_dominance_margins, table),
    )


def make_expected_wins_integration_method(
    table: HazardTable, tabulated_density: TabulatedDensity
) -> ExpectedWinsIntegrationMethod:
    """The quadratures of a tabulated density for expected wins."""
    about = tabulated_density
    shape, beats = partial(cdf_and_density_at, table), partial(_win_and_loss_probabilities, table, about.pairs)
    coarse, fine = (PerformanceDistribution(shape, 1.0, *rule) for rule in (about.coarse, about.finer))
    smooth = _LOGISTIC_SCALE / about.fine
    return ExpectedWinsIntegrationMethod(coarse, fine, beats, len(about.pairs.nodes), smooth, about.reach)


def _win_and_loss_probabilities(
    table: HazardTable, quadrature: Quadrature, lead: Array, deviation: Array, other_deviation: Array
) -> tuple[Array, Array]:
    """The chances of two performances below and above each other, integrated over the narrower of the two."""
    narrow = deviation <= other_deviation
    widest = jnp.maximum(deviation, other_deviation)
    lead, part = jnp.where(narrow, lead, -lead) / widest, jnp.minimum(deviation, other_deviation) / widest
    nodes, weights = (jnp.asarray(x.reshape((1,) * lead.ndim + (-1,)), lead.dtype) for x in quadrature)
    below, beyond, _, _ = cdf_and_density_at(table, lead[..., None] + part[..., None] * nodes)
    below, beyond = jnp.sum(weights * below, axis=-1), jnp.sum(weights * beyond, axis=-1)
    return jnp.where(narrow, below, beyond), jnp.where(narrow, beyond, below)


@lru_cache(maxsize=64)
def tabulate_density(density: Density) -> TabulatedDensity:
    """Its tables; ValueError where it is no log-concave density.

    The density is moved and scaled to mean 0 and variance 1. It is integrated by Gauss's rule in every cell, from each
    end inwards in logs, so that both tails keep their relative accuracy.
    """
    log = _make_log_density_derivatives(density)
    mean, scale = _density_mean_and_deviation(density, log)
    z = np.arange(-TABLE_RANGE * CELLS_PER_DEVIATION, TABLE_RANGE * CELLS_PER_DEVIATION + 1) / CELLS_PER_DEVIATION
    g, d, bend, twist = log(mean + scale * z)
    d, bend, twist = d * scale, bend * scale**2, twist * scale**3
    first, last = _find_log_concave_table_extent(density, mean + scale * z, g, d, bend, twist)
    z, g, d, bend, twist = (x[first : last + 1] for x in (z, g, d, bend, twist))
    inside = mean + scale * (z[:-1, None] + 0.5 * (1.0 + _NODES) / CELLS_PER_DEVIATION)
    mass = np.logaddexp.reduce(log(inside)[0] + np.log(0.5 * _WEIGHTS / CELLS_PER_DEVIATION), axis=1)
    tails = []
    for sign in (1.0, -1.0):  # d falls from above 0 to below
        steep = sign * d > _STEEP_SLOPE
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
    failures = ~np.isfinite(below + beyond)
    _check_no_density_failures(density, mean + scale * z, failures, "is not finite further out than")
    both = (z, g - beyond, d, bend), (-z[::-1], (g - below)[::-1], -d[::-1], bend[::-1])
    hazards = [(h, slope + np.exp(h), curve + np.exp(h) * (slope + np.exp(h))) for _, h, slope, curve in both]
    table = HazardTable(
        np.stack([_interpolating_polynomials(*values) for values in hazards]),
        np.array([z[0], -z[-1]]),
        _interpolating_polynomials(d, bend, twist),
        np.array([d[0], -d[-1]]),
        np.array([bend[0], bend[-1]]),
        np.stack([_log_ratio_hazard_to_density_slope(*side[:3]) for side in both]),
    )
    fine = max(_required_table_fineness(np.exp(h)) for _, h, *_ in both)
    return TabulatedDensity(table, fine, *_make_density_quadratures(z, np.exp(g - total), np.exp(below - total)))


LogDerivatives = Callable[[HostArray], list[HostArray]]  # of x: the log of a density and three derivatives


def _make_log_density_derivatives(density: Density) -> LogDerivatives:
    def slope(f: Callable[[Array], Array]) -> Callable[[Array], Array]:
        return lambda x: jax.jvp(f, (x,), (jnp.ones_like(x),))[1]

    def everything(x: Array) -> tuple[Array, ...]:
        first = slope(density.log)
        return density.log(x), first(x), slope(first)(x), slope(slope(first))(x)

    compiled = jax.jit(everything)

    def evaluate(x: HostArray) -> list[HostArray]:
        chunks = np.pad(x.ravel(), (0, -x.size % _CHUNK_SIZE), mode="edge").reshape(-1, _CHUNK_SIZE)
        with jax.ensure_compile_time_eval(), jax.enable_x64(True):
            found = [[np.asarray(y) for y in compiled(jnp.asarray(chunk))] for chunk in chunks]
        if found[0][0].shape != (_CHUNK_SIZE,):
            raise ValueError(f"density {density.name}: its log is no elementwise function of an array")
        return [np.concatenate(y)[: x.size].reshape(x.shape) for y in zip(*found, strict=True)]

    return evaluate


def _density_mean_and_deviation(density: Density, log: LogDerivatives) -> tuple[float, float]:
    """The mean and the deviation of the density as it is given."""
    scales = 2.0 ** np.arange(-20, 41)
    low, high = _bracket_density_mode(density, log, np.concatenate([-scales[::-1], [0.0], scales]))
    for _ in range(4):
        low, high = _bracket_density_mode(density, log, np.linspace(low, high, _CHUNK_SIZE))
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
    _check_no_density_failures(density, x, np.isnan(mass), "is not a number")
    mean = np.sum(mass * x) / np.sum(mass)
    return float(mean), float(np.sqrt(np.sum(mass * (x - mean) ** 2) / np.sum(mass)))


def _bracket_density_mode(density: Density, log: LogDerivatives, x: HostArray) -> tuple[float, float]:
    """The neighbours among points x between which the density has its maximum."""
    d = log(x)[1]
    rising, falling = x[d >= 0], x[d <= 0]
    if not len(rising) or not len(falling):
        raise ValueError(f"density {density.name}: it has no maximum; its log must rise first and fall later")
    low, high = float(rising.max()), float(falling.min())
    return min(low, high), max(low, high)


def _check_no_density_failures(density: Density, x: HostArray, failures: HostArray, complaint: str) -> None:
    if failures.any():
        raise ValueError(f"density {density.name}: its log {complaint} at x = {x[failures][0]:.6g}")


def _find_log_concave_table_extent(density: Density, x: HostArray, *values: HostArray) -> tuple[int, int]:
    """The first and the last point of the table; ValueError if the density is not log-concave between them."""
    d, middle = values[1], TABLE_RANGE * CELLS_PER_DEVIATION
    finite = np.all(np.isfinite(values), axis=0)
    tame = finite & (np.abs(d) <= MAX_SLOPE)
    last = middle + int(np.argmin(np.append(tame[middle:], False))) - 1
    first = middle + 1 - int(np.argmin(np.append(tame[middle::-1], False)))
    beside = np.zeros(len(x), bool)
    beside[[max(first - 1, 0), min(last + 1, len(x) - 1)]] = True
    _check_no_density_failures(density, x, beside & ~finite, "or one of its first three derivatives is not finite")
    part = slice(first, last + 1)
    change, size = np.append(np.diff(d[part]), 0.0), 1.0 + np.abs(d[part])
    _check_no_density_failures(density, x[part], change > 1e-9 * size, "is not concave: its slope rises")
    bend = values[2][part] / CELLS_PER_DEVIATION
    sudden = np.abs(change - 0.5 * (bend + np.roll(bend, -1))) > 0.01 * size
    _check_no_density_failures(density, x[part], sudden & (change < 0), "has a corner, or bends too suddenly,")
    ends = np.zeros(len(d[part]), bool)
    ends[0], ends[-1] = not d[first] > 0, not d[last] < 0
    _check_no_density_failures(density, x[part], ends, "does not fall outwards")
    return first, last


def _interpolating_polynomials(value: HostArray, slope: HostArray, curve: HostArray) -> HostArray:
    """[cells, 6] polynomials between points, from values and derivatives at these [cells + 1]."""
    columns = value, slope / CELLS_PER_DEVIATION, curve / CELLS_PER_DEVIATION**2
    return np.stack(cdf_sums.quintic_hermite_coefficients(*(x[:-1] for x in columns), *(x[1:] for x in columns)), -1)


def _log_ratio_hazard_to_density_slope(z: HostArray, log_h: HostArray, log_density_derivative: HostArray) -> HostArray:
    place = -np.arange(TABLE_RANGE * _MARGINS_PER_DEVIATION) / _MARGINS_PER_DEVIATION
    number = np.round((place - z[0]) * CELLS_PER_DEVIATION).astype(int)
    at = np.clip(number, 0, len(z) - 1)
    slope = log_density_derivative[at]
    ratio = np.where(slope > 0, log_h[at] - np.log(np.where(slope > 0, slope, 1.0)), np.inf)
    return np.where(number < 0, -np.inf, ratio)


def _required_table_fineness(hazard: HostArray) -> int:
    """How much denser than at every 3/8 standard deviations a hazard must be known to interpolate it within 1e-4."""

    def off(cells: int) -> float:
        known = hazard[: (len(hazard) - 1) // cells * cells + 1 : cells]
        place, part = np.arange(2, len(known) - 3)[:, None], np.arange(cells)
        found, _ = cdf_sums.everett_interpolation([known[place + i] for i in range(-2, 4)], part / cells)
        exact = hazard[place * cells + part]
        return float(np.max(np.abs(found - exact) / (1.0 + exact)))

    return next((fine for fine in (1, 2, 4) if off(12 // fine) < 1e-4), 8)


def _make_density_quadratures(
    z: HostArray, f: HostArray, cdf: HostArray
) -> tuple[float, Quadrature, Quadrature, Quadrature]:
    inside = np.flatnonzero((cdf > 1e-7) & (1.0 - cdf > 1e-7))
    zero = int(np.argmin(np.abs(z)))

    def every(cells: int) -> Quadrature:
        which = inside[(inside - zero) % cells == 0]
        return Quadrature(z[which], f[which] / f[which].sum())

    def exact(width: float, tolerance: float) -> int:
        """The number of cells between nodes that is enough against opponents of this width."""

        def against(rule: Quadrature) -> HostArray:
            lead = np.arange(-8.0, 8.0, 3.0 / CELLS_PER_DEVIATION)
            return np.interp((rule.nodes[None] - lead[:, None]) / width, z, cdf, 0.0, 1.0) @ rule.weights

        best = against(every(1))
        return next((n for n in (16, 8, 4, 2) if np.abs(against(every(n)) - best).max() < tolerance), 1)

    coarse = exact(0.5, 5e-5)
    rules = every(coarse), every(max(coarse // 8, 1)), every(exact(1.0, 1e-7))
    return float(np.abs(z[inside]).max()), *rules
