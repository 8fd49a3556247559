"""Performance distributions, and sums of their functions over all participants.

A system of ranked rounds asks, for a rating x, how many participants would stand below it: sum_j g_j F((x - m_j) s_j),
with a cdf F, centres m, inverse scales s and gains g. Everybody asks the same question, so in large rounds the answer
is tabulated once at equidistant ratings, with two derivatives, and read off by quintic interpolation (Hermite). The sum
and its complement have a table each, so both keep their relative accuracy, in exponential tails too.

The interpolation is off by at most h^6/46080 of the sixth derivative, with the step h in units of the smallest scale:
below 1e-6 rating points with 432 points, and 0.01 with 72, if the step is below 0.3 and 1.1 scales (logistic).
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import erfc

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.events import Rounds
from jaxrate.numerics import selective_evaluation

# The cdf, its complement, the density and its derivative.
DistributionFunction = Callable[[Array], tuple[Array, Array, Array, Array]]


class PerformanceDistribution(NamedTuple):
    """The distribution of performances of a system, in its standard form, with a quadrature over it."""

    shape: DistributionFunction
    deviation: float  # of the standard form
    nodes: HostArray  # of a quadrature over that form
    weights: HostArray


@jax.custom_jvp
def logistic_cdf_and_density(z: Array) -> tuple[Array, Array, Array, Array]:
    """The logistic distribution."""
    e = jnp.exp(-jnp.clip(z, -80.0, 80.0))
    below = 1.0 / (1.0 + e)
    above = e * below
    density = below * above
    return below, above, density, density * (above - below)


@logistic_cdf_and_density.defjvp
def _logistic_distribution_jvp(
    primal: tuple[Array], tangent: tuple[Array]
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """The distribution and its slopes from the shares: exp(x) times the step of a coarse table leaves float32."""
    below, above, density, slope = logistic_cdf_and_density(*primal)
    slopes = density, -density, slope, density * (1.0 - 6.0 * density)
    return (below, above, density, slope), tuple(x * tangent[0] for x in slopes)


def normal_cdf_and_density(z: Array) -> tuple[Array, Array, Array, Array]:
    """The standard normal distribution."""
    above = 0.5 * erfc(jnp.abs(z) * 0.5**0.5)
    density = jnp.exp(-0.5 * z * z) * (0.5 / jnp.pi) ** 0.5
    left = z < 0
    return jnp.where(left, above, 1.0 - above), jnp.where(left, 1.0 - above, above), density, -z * density


def _make_distribution_with_quadrature(
    distribution: DistributionFunction,
    deviation: float,
    density: Callable[[HostArray], HostArray],
    step: float,
    count: int,
) -> PerformanceDistribution:
    """A distribution with the nodes of the trapezoidal rule, which converges exponentially for such densities."""
    nodes = step * np.arange(-count, count + 1)
    return PerformanceDistribution(distribution, deviation, nodes, density(nodes) / density(nodes).sum())


# Exact to 2e-5 against opponents down to half as wide as oneself; down to a sixteenth; down to a third.
LOGISTIC, LOGISTIC_FINE = (
    _make_distribution_with_quadrature(
        logistic_cdf_and_density, math.pi / 3.0**0.5, lambda x: np.cosh(0.5 * x) ** -2.0, 0.9 / fine, 13 * fine
    )
    for fine in (1, 8)
)
NORMAL_FINE = _make_distribution_with_quadrature(normal_cdf_and_density, 1.0, lambda x: np.exp(-0.5 * x * x), 0.3, 24)


UNIT_SCALES = 4.0  # scales of the narrowest: a step of Newton's leaves about its square divided by them
MAX_STEP_SCALES = 1.5  # scales between the points of a table in float32, the most
DIRECT_LIMIT = 64  # participants up to which the sums are taken directly
PAIR_LIMIT = 1 << 22  # of participants, which are looked at together elsewhere than on a CPU
_BLOCK_SIZE = 256  # participants whose cdfs at all points fit in a cache

# Of ratings x [...]: the sum below (True) or above, and its slope.
SumFunction = Callable[[Array, Array | bool], tuple[Array, Array]]
InverseFunction = Callable[[Array], Array]  # of logarithms of below / above: nearly the rating where they are so
DoubtFunction = Callable[[Array], Array]  # of ratings [...]: whether sums say too little there


class Participants(NamedTuple):
    """Everybody in a round."""

    centre: Array  # [P] ratings
    inverse: Array  # [P] 1 / scale
    gain: Array  # [P] what each counts; 0 for padding
    low: Array  # [] no rating that is asked for lies below, or
    high: Array  # [] above
    unit: Array  # [] of `decreasing_root`: on this scale the sums are smooth, and ratings close to 0 exact enough
    present: Array | None = None  # [] as of `Rounds`


def count_table_points(deviation: float, newcomer_deviation: float = 350.0) -> int:
    """Points of a float32 table for scales of this deviation or wider: one scale apart in the widest rounds."""
    return int(np.clip(72 * 2 ** np.ceil(np.log2(195.0 / 350.0 * newcomer_deviation / deviation)), 72, 2304))


def scale_table_points_to_precision(table_points: int) -> int:
    """The points of a table in the default precision, from those in float32."""
    return table_points if jnp.result_type(float) == np.float32 else 6 * table_points


def max_simultaneous_pairs() -> int:
    """How many pairs of participants are looked at together: many on a GPU, 0 (as few as can be) on a CPU."""
    return PAIR_LIMIT if has_launch_overhead() else 0


def uses_all_pairs(count: int) -> bool:
    """Whether so many participants are compared with everybody because that takes fewer kernels."""
    return max_simultaneous_pairs() > 0 and count <= max_pairwise_participants()


def comparison_batch_size(count: int) -> int:
    """How many of a round are compared with everybody at once: on a CPU those whose pairs fit in a cache."""
    return min(count, max(max_simultaneous_pairs() // count, 64))


def max_pairwise_participants(evaluations: int = 1) -> int:
    """Participants up to which everybody is compared with everybody, at so many ratings of each."""
    return max(math.isqrt(max_simultaneous_pairs() // evaluations), DIRECT_LIMIT)


def participant_mask(event: Rounds) -> Array:
    """[P] who takes part; the others are padding."""
    return event.weight > 0


def participant_weights(event: Rounds) -> Array:
    """[P] what the round counts for each; 1 for padding."""
    return jnp.where(participant_mask(event), event.weight, 1.0)


def rating_interval(centre: Array, margin: Array, mask: Array) -> tuple[Array, Array]:
    """The interval of ratings from the lowest centre to the highest, and a margin beyond, wider than their rounding."""
    centre, margin = lax.stop_gradient((centre, margin))  # no answer depends on them
    some = jnp.any(mask)  # in a padded round nobody is
    farthest = jnp.max(jnp.where(mask, jnp.abs(centre), 0.0))
    margin = jnp.maximum(margin, 16.0 * float(np.finfo(centre.dtype).eps) * farthest)
    margin = jnp.where(some, margin, 1.0)
    largest = float(np.finfo(centre.dtype).max)  # no infinity, which may not meet a 0
    low = jnp.min(jnp.where(mask, centre, largest))
    high = jnp.max(jnp.where(mask, centre, -largest))
    return jnp.where(some, low, 0.0) - margin, jnp.where(some, high, 0.0) + margin


def rating_rounding_unit(inverse: Array) -> Array:
    """[] `Participants.unit`, of the narrowest scale: `inverse` [P] is 0 for padding."""
    most = jnp.max(lax.stop_gradient(inverse))
    return jnp.where(most > 0, UNIT_SCALES / jnp.where(most > 0, most, 1.0), 1.0)


def make_cdf_sum_functions(
    distribution: DistributionFunction, participants: Participants, table_points: int, evaluations: int = 1
) -> tuple[SumFunction, InverseFunction, DoubtFunction]:
    """Functions of x: sum_j g_j F((x - m_j) s_j), or with 1 - F, and its slope; an inverse; whether it is doubtful."""
    low, high = participants.low, participants.high
    if len(participants.centre) <= max_pairwise_participants(evaluations):
        at = jnp.linspace(low, high, table_points)
        read = partial(direct_cdf_sums, distribution, participants)
        (below, first), (above, _) = (read(at, side) for side in (True, False))
        doubtful = _is_inverse_ill_conditioned(participants, below, above, first)
    else:
        # No `linspace`: XLA on a CPU would not know the same table as the same in predictions and updates.
        at = low + (high - low) * jnp.asarray(np.arange(table_points) / (table_points - 1), participants.centre.dtype)

        def sum_block(centre: Array, inverse: Array, gain: Array) -> list[Array]:
            values = distribution((at[None, :] - centre[:, None]) * inverse[:, None])
            gains = gain, gain, gain * inverse, gain * inverse**2
            return [jnp.dot(g, x, precision=lax.Precision.HIGHEST) for g, x in zip(gains, values, strict=True)]

        below, above, first, second = sum_in_blocks(sum_block, participants[:3], at, participants.present)
        doubtful = _is_inverse_ill_conditioned(participants, below, above, first)
        doubtful |= is_table_too_coarse(participants, table_points)
        step = at[1] - at[0]
        sides = (above, -first * step, -second * step**2), (below, first * step, second * step**2)
        read = partial(_interpolate_cdf_sums, [quintic_cells(*side) for side in sides], participants, at)
    inverse = partial(_interpolate_inverse_sum, at, below, above)
    return read, inverse, partial(_is_cell_doubtful, participants, at, doubtful)


def is_table_too_coarse(participants: Participants, table_points: int) -> Array:
    """[] whether points of a table would be too far apart for somebody."""
    most = jnp.max(jnp.where(participants.gain > 0, participants.inverse, 0.0))
    return (participants.high - participants.low) * most > table_points * (
        MAX_STEP_SCALES if most.dtype == jnp.float32 else 0.2 * MAX_STEP_SCALES
    )


def _is_inverse_ill_conditioned(participants: Participants, below: Array, above: Array, slope: Array) -> Array:
    """[points] where rounding of the smaller sum moves the rating of such a sum too far."""
    eps = float(np.finfo(slope.dtype).eps)
    return jnp.minimum(below, above) * (10.0 * eps**0.5) > slope * participants.unit


def _is_cell_doubtful(participants: Participants, grid: Array, doubtful: Array, x: Array) -> Array:
    number, _, _ = _locate_cell(participants, grid, x)
    return doubtful[number] | doubtful[number + 1]


def _interpolate_inverse_sum(grid: Array, below: Array, above: Array, target: Array) -> Array:
    """The rating at which a tabulated sum has a value, by linear interpolation."""
    tiny = float(np.finfo(grid.dtype).tiny)
    ratio = jnp.log(jnp.maximum(below, tiny)) - jnp.log(jnp.maximum(above, tiny))
    number = jnp.clip(jnp.sum(target[:, None] > ratio[None, :], axis=1) - 1, 0, len(grid) - 2)
    left, right = ratio[number], ratio[number + 1]
    part = jnp.clip((target - left) / jnp.where(right > left, right - left, 1.0), 0.0, 1.0)
    return lax.stop_gradient(grid[number] + part * (grid[1] - grid[0]))


def direct_cdf_sums(
    distribution: DistributionFunction, participants: Participants, x: Array, below: Array | bool
) -> tuple[Array, Array]:
    centre, inverse = (jnp.expand_dims(y, range(x.ndim)) for y in (participants.centre, participants.inverse))
    z = (x[..., None] - centre) * inverse
    value, _, density, _ = distribution(jnp.where(jnp.asarray(below)[..., None], z, -z))
    gains = participants.gain, participants.gain * participants.inverse
    sums, slopes = (
        jnp.matmul(y, gain, precision=lax.Precision.HIGHEST) for y, gain in zip((value, density), gains, strict=True)
    )
    return sums, slopes


def sum_in_blocks(
    block_sums: Callable[..., list[Array]],
    participant_columns: tuple[Array, ...],
    grid: Array,
    num_present: Array | None,
) -> list[Array]:
    """Four sums [points] over everybody in the round, some of whom at a time are `block_sums`'s."""
    if max_simultaneous_pairs():
        return block_sums(*participant_columns)

    def add(total: list[Array], *columns: Array) -> list[Array]:
        # XLA on a CPU makes code twice as fast of arrays [1, participants, points].
        batch = jax.vmap(block_sums)(*(x[None] for x in columns))
        return [x + y[0] for x, y in zip(total, batch, strict=True)]

    nothing = [jnp.zeros_like(grid)] * 4
    if num_present is not None and selective_evaluation.has_tiles(len(participant_columns[0])):
        sums: list[Array] = selective_evaluation.add_row_tiles(add, num_present, nothing, *participant_columns)
        return sums
    blocks = [jnp.pad(x, (0, -len(x) % _BLOCK_SIZE)).reshape(-1, _BLOCK_SIZE) for x in participant_columns]
    return lax.scan(lambda total, block: (add(total, *block), None), nothing, blocks)[0]


def quintic_hermite_coefficients(f: Array, d: Array, s: Array, g: Array, e: Array, t: Array) -> tuple[Array, ...]:
    """Six coefficients of polynomials with values f, slopes d and second derivatives s at 0, and g, e and t at 1."""
    rise = g - f
    return (
        f,
        d,
        0.5 * s,
        10.0 * rise - 6.0 * d - 4.0 * e - 1.5 * s + 0.5 * t,
        -15.0 * rise + 8.0 * d + 7.0 * e + 1.5 * s - t,
        6.0 * rise - 3.0 * (d + e) + 0.5 * (t - s),
    )


def quintic_cells(value: Array, slope: Array, curve: Array) -> Array:
    """[cells, 6] polynomials between neighbouring points, from values and derivatives [cells + 1] in steps."""
    columns = value, slope, curve
    return jnp.stack(quintic_hermite_coefficients(*(x[:-1] for x in columns), *(x[1:] for x in columns)), axis=-1)


def _locate_cell(participants: Participants, grid: Array, x: Array) -> tuple[Array, Array, Array]:
    """Which cell each rating lies in, where in it, in [0, 1], and 1 / step."""
    cells = len(grid) - 1
    per_point = cells / (participants.high - participants.low)
    place = jnp.clip((x - participants.low) * per_point, 0.0, float(cells))
    number = jnp.minimum(place.astype(jnp.int32), cells - 1)
    return number, place - number.astype(place.dtype), per_point


def _interpolate_cdf_sums(
    cells: list[Array], participants: Participants, grid: Array, x: Array, below: Array | bool
) -> tuple[Array, Array]:
    number, u, per_point = _locate_cell(participants, grid, x)
    c = cells[below][number] if isinstance(below, bool) else jnp.stack(cells)[below.astype(jnp.int32), number]
    c = jnp.moveaxis(c, -1, 0)
    return evaluate_quintic(c, u), jnp.abs(quintic_slope(c, u)) * per_point


def evaluate_quintic(c: Array, u: Array) -> Array:
    """The polynomials c [6, ...] at u [...]."""
    return c[0] + u * (c[1] + u * (c[2] + u * (c[3] + u * (c[4] + u * c[5]))))


def quintic_slope(c: Array, u: Array) -> Array:
    """The derivatives of these polynomials."""
    return c[1] + u * (2 * c[2] + u * (3 * c[3] + u * (4 * c[4] + u * (5 * c[5]))))


def everett_interpolation(values: Sequence[Array], u: Array) -> tuple[Array, Array]:
    """Everett's interpolation between the third and the fourth of six equidistant values, at u in [0, 1]; its slope."""
    second, third, fourth, fifth = (values[i - 1] - 2.0 * values[i] + values[i + 1] for i in range(1, 5))
    sides = (
        (1.0 - u, values[2], third, second - 2.0 * third + fourth),
        (u, values[3], fourth, third - 2.0 * fourth + fifth),
    )
    value, slope = [], []
    for v, y, two, four in sides:
        s = v * v
        value.append(v * (y + (s - 1.0) / 6.0 * (two + (s - 4.0) / 20.0 * four)))
        slope.append(y + (3.0 * s - 1.0) / 6.0 * two + (5.0 * s * s - 15.0 * s + 4.0) / 120.0 * four)
    return value[0] + value[1], slope[1] - slope[0]


def counts_excluding_self(is_below: Array, smaller_count: Array, mask: Array) -> tuple[Array, Array]:
    """[P] the numbers below and above without one's own halves, from the smaller one of each, with them, and which."""
    small = jnp.maximum(smaller_count - 0.5, 0.0)
    rest = jnp.maximum(jnp.sum(mask.astype(small.dtype)) - 1.0, 0.0) - small
    return jnp.where(is_below, small, rest), jnp.where(is_below, rest, small)


def tied_group_sizes(event: Rounds) -> Array:
    """[P] how many share each one's rank, themselves included."""
    rank = jnp.minimum(event.rank, len(event.rank) - 1)
    return sum_by_group(rank, participant_mask(event).astype(jnp.int32), event.present)[rank]


def is_rated_contest(event: Rounds, skip_ties: bool) -> Array:
    """[] whether a contest counts: two players or teams take part; with `skip_ties` also, somebody beats another."""
    return jnp.any(participant_mask(event) & ((event.rank if skip_ties else event.team) > 0))


def sum_by_group(group: Array, values: Array, count: Array | None = None) -> Array:
    """[P, ...] the sums of values [P, ...] by group, a number from 0 to P - 1; `count` is `present` of `Rounds`."""
    if uses_all_pairs(len(group)):  # a kernel in place of two
        number = jnp.arange(len(group), dtype=group.dtype)
        member = (group[None] == number[:, None]).reshape(*group.shape * 2, *(values.ndim - 1) * (1,))
        return jnp.sum(jnp.where(member, values[None], jnp.zeros_like(values)), axis=1, dtype=values.dtype)
    sums: Array = selective_evaluation.add_row_tiles(
        lambda total, group, values: total.at[group].add(values), count, jnp.zeros_like(values), group, values
    )
    return sums
