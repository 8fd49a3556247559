"""Whom each is expected to beat in large rounds of normal performances: from tables that everybody reads.

Participant i, of rating r_i and deviation s_i, is expected to beat sum_j Phi((r_i - r_j) / hypot(s_i, s_j)). A normal
performance is the sum of two, so for any a up to s_i that is the mean over z, standard normal, of

    T_a(r_i + z sqrt(s_i^2 - a^2)),  T_a(x) = sum_j Phi((x - r_j) / hypot(a, s_j))

There is a table T_a for each class of deviations, from m to 2 m, with a^2 = 3/4 m^2 and the points as far apart as
hypot(a, the least deviation) allows. So narrow opponents are smooth to wide participants, who need no more nodes than
others, and wide classes need few points. The tables of all levels are one list of points, as dense as it can be.

Where deviations are so small that the points would lie too far apart, the table takes them for larger ones, and
`pairs` puts the numbers right: the time is then no longer linear in the participants. Slopes stay those of the table.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array, HostArray
from jaxrate.numerics import padding_skipping_row_tiles
from jaxrate.numerics.selective_evaluation import evaluate_where_needed
from jaxrate.systems.rounds import cdf_sums, pairwise_wins, performance_distributions
from jaxrate.systems.rounds.pairwise_wins import PriorPerformances

LEVEL_COUNT = 6
_FLOOR_COUNT = 64  # powers of two by which deviations may have to be raised


class PrecisionSettings(NamedTuple):
    """What suits float32 or float64."""

    density: int  # of the points, by what is enough for float32
    widest: float  # the largest step, in scales
    nodes: HostArray  # of the trapezoidal rule
    weights: HostArray


def _make_precision_settings(point_density: int, widest: float, step: float, count: int) -> PrecisionSettings:
    nodes = step * np.arange(-count, count + 1)
    weights = np.exp(-0.5 * nodes * nodes)
    return PrecisionSettings(point_density, widest, nodes, weights / weights.sum())


SINGLE_PRECISION, DOUBLE_PRECISION = (
    _make_precision_settings(1, 1.25, 0.5, 10),
    _make_precision_settings(4, 0.35, 0.35, 21),
)


class DeviationLevelGrid(NamedTuple):
    """Where the points of each level [L] lie."""

    edge: Array  # its least deviation m
    square: Array  # a^2
    start: Array  # the first point
    step: Array
    first: Array  # its number
    count: Array  # how many; 0: the level is not in use


def interpolated_wins_and_losses(
    performances: PriorPerformances, mask: Array, table_points: int, count: Array | None = None
) -> tuple[Array, Array]:
    """[P] how many each is expected to beat, and to be beaten by; `count_table_points` are enough for float32."""
    precise = SINGLE_PRECISION if performances.centre.dtype == jnp.float32 else DOUBLE_PRECISION
    table_points *= precise.density
    layout, narrow = _lay_out_deviation_level_grid(precise, performances, mask, table_points, count)
    floor = layout.edge[0]
    wide = performances._replace(deviation=jnp.where(narrow, floor, performances.deviation))
    wins = _tabulate_and_interpolate_wins(precise, layout, wide, mask, table_points, count)
    return evaluate_where_needed(
        jnp.any(narrow),
        partial(pairwise_wins.batched_expected_wins_and_losses, pairwise_wins.normal_win_probability),
        performances,
        mask,
        wins,
    )


def _lay_out_deviation_level_grid(
    precision: PrecisionSettings, performances: PriorPerformances, mask: Array, table_points: int, present: Array | None
) -> tuple[DeviationLevelGrid, Array]:
    """The points, and who [P] is too narrow for them."""
    centre, deviation, margin = lax.stop_gradient(performances)
    least, most = jnp.min(jnp.where(mask, deviation, np.inf)), jnp.max(jnp.where(mask, deviation, 0.0))
    least, most = (jnp.where(jnp.any(mask), x, 1.0) for x in (least, most))  # in a padded round nobody is
    beyond = 0.0 if margin is None else jnp.max(jnp.where(mask, margin, 0.0))
    low = jnp.min(jnp.where(mask, centre, np.inf)) - beyond
    high = jnp.max(jnp.where(mask, centre, -np.inf)) + beyond
    low, high = (jnp.where(jnp.any(mask), x, 0.0) for x in (low, high))

    floor = least * 2.0 ** jnp.arange(_FLOOR_COUNT, dtype=least.dtype)
    edge = floor[:, None] * 2.0 ** jnp.arange(LEVEL_COUNT, dtype=least.dtype)[None]  # [floors, L]
    square = 0.75 * edge**2
    scale = jnp.sqrt(square + floor[:, None] ** 2)
    used = (edge <= most) | (np.arange(LEVEL_COUNT) == 0)[None]
    rest = jnp.sqrt(jnp.minimum(4.0 * edge**2, jnp.maximum(most, floor)[:, None] ** 2) - square)
    reach = float(precision.nodes[-1]) * rest
    first, last = _rating_range_by_deviation_level(precision, performances, mask, edge[0], present)
    start, end = (low - reach).at[0].set(first), (high + reach).at[0].set(last)
    width = jnp.where(used, jnp.maximum(end - start, 0.0), 0.0)
    step = jnp.sum(width / scale, axis=1) / (
        table_points - 2.0 * jnp.sum(used.astype(least.dtype), axis=1)
    )  # in scales
    fits = (step <= precision.widest) & (most < 2.0**LEVEL_COUNT * floor)
    chosen = jnp.argmax(fits)
    edge, square, scale, used, start, width = (x[chosen] for x in (edge, square, scale, used, start, width))
    step = jnp.where(used, step[chosen] * scale, 1.0)
    count = jnp.where(used, (width / step).astype(jnp.int32) + 2, 0)
    first = jnp.sum(jnp.where(np.tri(LEVEL_COUNT, LEVEL_COUNT, -1, bool), count[None], 0), axis=1, dtype=jnp.int32)
    return DeviationLevelGrid(edge, square, start, step, first, count), mask & (deviation < floor[chosen])


def _rating_range_by_deviation_level(
    precision: PrecisionSettings, performances: PriorPerformances, mask: Array, edge: Array, present: Array | None
) -> tuple[Array, Array]:
    """[L] the least and the largest rating that anybody of each level asks for, if no deviation is raised."""

    def widen(ends: tuple[Array, Array], mask: Array, performances: PriorPerformances) -> tuple[Array, Array]:
        centre, deviation, margin = performances
        member = mask[None] & (deviation[None] >= edge[:, None]) & (deviation[None] < 2.0 * edge[:, None])
        rest = jnp.sqrt(jnp.where(member, deviation[None] ** 2 - 0.75 * edge[:, None] ** 2, 1.0))
        reach = float(precision.nodes[-1]) * rest + (0.0 if margin is None else margin[None])
        low = jnp.min(jnp.where(member, centre[None] - reach, np.inf), axis=1)
        high = jnp.max(jnp.where(member, centre[None] + reach, -np.inf), axis=1)
        return jnp.minimum(ends[0], low), jnp.maximum(ends[1], high)

    nowhere = jnp.full_like(edge, np.inf), jnp.full_like(edge, -np.inf)
    low, high = padding_skipping_row_tiles.add_row_tiles(widen, present, nowhere, mask, lax.stop_gradient(performances))
    nobody = low > high
    return jnp.where(nobody, 0.0, low), jnp.where(nobody, 0.0, high)


def _tabulate_and_interpolate_wins(
    precision: PrecisionSettings,
    layout: DeviationLevelGrid,
    performances: PriorPerformances,
    mask: Array,
    table_points: int,
    count: Array | None,
) -> tuple[Array, Array]:
    number = jnp.arange(table_points, dtype=jnp.int32)
    level = jnp.sum((number[:, None] >= layout.first[None]) & (layout.count > 0)[None], axis=1, dtype=jnp.int32) - 1
    step = layout.step[level]
    at = layout.start[level] + (number - layout.first[level]).astype(step.dtype) * step
    below, above, first, second = _tabulate_normal_cdf_sums(performances, mask, at, layout.square[level], count)
    first, second = first * step, second * step**2
    sides = (above, -first, -second), (below, first, second)
    cells = jnp.stack(
        [
            jnp.stack(cdf_sums.quintic_hermite_coefficients(*(x[:-1] for x in side), *(x[1:] for x in side)), axis=-1)
            for side in sides
        ]
    )
    nodes, weights = (jnp.asarray(x, at.dtype) for x in (precision.nodes, precision.weights))

    def expect(performances: PriorPerformances, mask: Array) -> tuple[Array, Array]:
        """[P] whether the number below is the smaller one, and the smaller one."""
        centre, deviation, margin = performances
        own = jnp.sum((deviation[:, None] >= layout.edge[None]) & (layout.count > 0)[None], axis=1, dtype=jnp.int32) - 1
        own = jnp.maximum(own, 0)  # of padding
        mine = jax.tree.map(lambda x: x[own], layout)

        def cell(x: Array) -> tuple[Array, Array]:
            """The cells that ratings [P, n] lie in, and where in them."""
            one = jax.tree.map(lambda y: y[:, None], mine)
            place = jnp.clip((x - one.start) / one.step, 0.0, (one.count - 1).astype(x.dtype))
            inside = jnp.clip(place.astype(jnp.int32), 0, one.count - 2)
            return one.first + inside, place - inside.astype(x.dtype)

        middle = cells[:, cell(centre[:, None])[0][:, 0], 0]
        side = (middle[1] < middle[0]).astype(jnp.int32)  # the smaller one keeps its relative accuracy
        rest = jnp.sqrt(jnp.where(mask, deviation**2 - mine.square, 1.0))
        total, shifts = jnp.zeros_like(centre), (0.0,) if margin is None else (-margin, margin)
        for shift in shifts:
            index, u = cell((centre + shift)[:, None] + rest[:, None] * nodes[None])
            c = jnp.moveaxis(cells[side[:, None], index], -1, 0)
            at_nodes = cdf_sums.evaluate_quintic(c, u)
            total += jnp.matmul(at_nodes, weights, precision=lax.Precision.HIGHEST) / len(shifts)
        return side == 1, total

    is_below, smaller = padding_skipping_row_tiles.map_row_tiles(expect, count, performances, mask)
    return cdf_sums.counts_excluding_self(is_below, smaller, mask)


def _tabulate_normal_cdf_sums(
    performances: PriorPerformances, mask: Array, grid: Array, square: Array, count: Array | None
) -> list[Array]:
    """[points] each: the sums of the cdf, its complement and two derivatives."""

    def one(centre: Array, variance: Array, gain: Array) -> list[Array]:
        inverse = lax.rsqrt(variance[:, None] + square[None])
        below, above, density, bend = performance_distributions.normal_cdf_and_density(
            (grid[None] - centre[:, None]) * inverse
        )
        values = below, above, density * inverse, bend * inverse**2
        return [jnp.dot(gain, x, precision=lax.Precision.HIGHEST) for x in values]

    columns = performances.centre, jnp.where(mask, performances.deviation, 1.0) ** 2, mask.astype(grid.dtype)
    return cdf_sums.sum_in_blocks(one, columns, grid, count)
