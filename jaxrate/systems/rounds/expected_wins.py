"""The expected number of participants whom each beats.

Normal performances of at most three participants for a point of the table, and logistic ones of at most
`max_pairwise_participants`, are summed over all pairs (`pairwise_expected_wins_and_losses`). Larger rounds are read
from tables: of normal performances from those of a few levels of deviations; of logistic ones from one table of
everybody, over each one's own performance. Where deviations differ too much for that table it is made anew with eight
times the points and nodes, and where they differ yet more, all pairs are summed. The slopes are those of the first
table. Those of any other density (`hazards`) are read as the logistic ones are.

Of normal performances shares are within 1e-8 of sums over all pairs, and in float32 within 1e-5, however much the
deviations differ; of logistic ones within 1e-8 in small rounds (1e-6), and within 2e-4 in others. All lie in [0, 1].

Whom each participant of a round is expected to beat, summed over all pairs: exact, for rounds of moderate size.

The difference of two normal performances is normal. Of two logistic ones the narrower is integrated over, by the
trapezoidal rule: to it the wider one's cdf is smooth, so a few nodes are exact however much their deviations differ.
Whether i beats j and whether j beats i add up to 1 to rounding, and every probability and share lies in [0, 1].

Whom each is expected to beat in large rounds of normal performances: from tables that everybody reads.

Participant i, of rating r_i and deviation s_i, is expected to beat sum_j Phi((r_i - r_j) / hypot(s_i, s_j)). A normal
performance is the sum of two, so for any a up to s_i that is the mean over z, standard normal, of

    T_a(r_i + z sqrt(s_i^2 - a^2)),  T_a(x) = sum_j Phi((x - r_j) / hypot(a, s_j))

There is a table T_a for each class of deviations, from m to 2 m, with a^2 = 3/4 m^2 and the points as far apart as
hypot(a, the least deviation) allows. So narrow opponents are smooth to wide participants, who need no more nodes than
others, and wide classes need few points. The tables of all levels are one list of points, as dense as it can be.

Where deviations are so small that the points would lie too far apart, the table takes them for larger ones, and
`pairs` puts the numbers right: the time is then no longer linear in the participants. Slopes stay those of the table.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.numerics import selective_evaluation
from jaxrate.numerics.selective_evaluation import evaluate_where_needed
from jaxrate.systems.rounds import cdf_sums
from jaxrate.systems.rounds.cdf_sums import Participants, PerformanceDistribution

LEAST_PRODUCT_SIZE = 16  # participants from which products with a matrix of pairs take less time than sums
_NODE_STEP = 0.75  # in scales of the narrower: chances are right to 1e-9; by a step of 1 to 4e-7
_NODES = _NODE_STEP * np.arange(-32, 33)  # multiples of 8 on each side are vectors
_WEIGHTS = np.cosh(0.5 * _NODES) ** -2.0 / np.sum(np.cosh(0.5 * _NODES) ** -2.0)
NODE_COUNT = len(_NODES)

# Of a lead and two deviations: P(beats), P(is beaten).
WinProbability = Callable[[Array, Array, Array], tuple[Array, Array]]


class PriorPerformances(NamedTuple):
    """Everybody's performances."""

    centre: Array  # [P] their means
    deviation: Array  # [P]
    margin: Array | None  # [P] within which a difference is a draw, which is half a win; None: there are no draws


def normal_win_probability(lead: Array, deviation: Array, other_deviation: Array) -> tuple[Array, Array]:
    """The chances that each of two normal performances is below and above the other."""
    below, above, _, _ = cdf_sums.normal_cdf_and_density(lead * lax.rsqrt(deviation**2 + other_deviation**2))
    return below, above


def logistic_win_probability(lead: Array, deviation: Array, other_deviation: Array) -> tuple[Array, Array]:
    """The chances of two logistic performances below and above each other, to 1e-8 at all ratios of deviations."""
    widest = jnp.maximum(deviation, other_deviation)
    inverse, part = cdf_sums.LOGISTIC.deviation / widest, jnp.minimum(deviation, other_deviation) / widest
    if cdf_sums.max_simultaneous_pairs():
        return _unrolled_logistic_win_probability(lead * inverse, part)
    # The cdf F is summed at two nodes, F(x - lead) + F(-x - lead), with one exponential, q = exp(-x).
    nodes, weights = (
        jnp.asarray(y[NODE_COUNT // 2 + 1 :].reshape((1,) * lead.ndim + (-1,)), lead.dtype) for y in (_NODES, _WEIGHTS)
    )
    e, q = _exp_of_minus_size(lead * inverse)[..., None], jnp.exp(-part[..., None] * nodes)
    middle = _WEIGHTS[NODE_COUNT // 2] * (e / (1.0 + e))[..., 0]
    behind = middle + jnp.sum(weights * (e * q / (1.0 + e * q) + e / (q + e)), axis=-1)
    return _order_by_lead(lead, behind)


def _exp_of_minus_size(lead: Array) -> Array:
    """exp(-|lead|), whose slope is not 0 between equals."""
    return jnp.exp(jnp.where(lead > 0, -lead, lead))


def _order_by_lead(lead: Array, behind: Array) -> tuple[Array, Array]:
    """The probabilities of the first and the second, of that of whoever is behind."""
    ahead = lead > 0
    return jnp.where(ahead, 1.0 - behind, behind), jnp.where(ahead, behind, 1.0 - behind)


def _unrolled_logistic_win_probability(lead: Array, narrower_deviation: Array) -> tuple[Array, Array]:
    """The logistic win probability of one pair after the other, all nodes at once: few exponentials, and no array.

    With e = exp(-lead), the cdf F misses 2 by e (c + 2 e) / (1 + e c + e^2) at two nodes, F(lead + x) + F(lead - x),
    where c = 2 cosh x; and cosh (k + 1) x follows from cosh k x.
    """
    e, step = _exp_of_minus_size(lead), jnp.exp(_NODE_STEP * narrower_deviation)
    first = step + 1.0 / step
    before, c, behind = jnp.full_like(e, 2.0), first, _WEIGHTS[NODE_COUNT // 2] * e / (1.0 + e)
    for weight in _WEIGHTS[NODE_COUNT // 2 + 1 :]:
        behind += weight * (e * (c + 2.0 * e) / (1.0 + e * (c + e)))
        before, c = c, first * c - before
    return _order_by_lead(lead, behind)


def pairwise_expected_wins_and_losses(
    win_probability: WinProbability, indices: Array, performances: PriorPerformances, mask: Array
) -> tuple[Array, Array]:
    """How many others, where `mask` [P], each of `indices` [R] is expected to beat, and to be beaten by."""
    lead = performances.centre[indices][:, None] - performances.centre[None]
    deviations = jnp.broadcast_arrays(performances.deviation[indices][:, None], performances.deviation[None])
    margin = None if performances.margin is None else performances.margin[indices][:, None]
    shifts = (jnp.zeros_like(lead),) if margin is None else (-margin, margin)
    both = [win_probability(lead + y, *deviations) for y in shifts]
    others = mask[None] & (indices[:, None] != jnp.arange(len(mask), dtype=indices.dtype)[None])
    below, above = (jnp.sum(jnp.where(others, sum(x) / len(shifts), 0.0), axis=1) for x in zip(*both, strict=True))
    return below, above


def all_expected_wins_and_losses(
    win_probability: WinProbability, performances: PriorPerformances, mask: Array
) -> tuple[Array, Array]:
    """Expected wins and losses [P] of all participants at once."""
    alike = performances.margin is None  # else a draw may be likelier for one than for the other
    if alike and len(mask) == 2:
        expect = partial(_expected_wins_and_losses_of_two, win_probability, mask=mask)
    elif alike and len(mask) >= LEAST_PRODUCT_SIZE and not has_launch_overhead():
        expect = partial(_expected_wins_and_losses_by_products, win_probability, mask=mask)
    else:
        indices = jnp.arange(len(mask), dtype=jnp.int32)
        expect = partial(pairwise_expected_wins_and_losses, win_probability, indices, mask=mask)
    return jax.checkpoint(expect)(performances)


def _expected_wins_and_losses_of_two(
    win_probability: WinProbability, performances: PriorPerformances, mask: Array
) -> tuple[Array, Array]:
    """Expected wins and losses [2] of a match: one pair in place of four."""
    centre, deviation, _ = performances
    wins = jnp.where(jnp.all(mask), jnp.stack(win_probability(centre[0] - centre[1], deviation[0], deviation[1])), 0.0)
    return wins, wins[::-1]


def _expected_wins_and_losses_by_products(
    win_probability: WinProbability, performances: PriorPerformances, mask: Array
) -> tuple[Array, Array]:
    """Expected wins and losses [P] by products of one matrix, which XLA on a CPU would compute for each sum over it."""
    lead = performances.centre[:, None] - performances.centre[None]
    deviations = jnp.broadcast_arrays(performances.deviation[:, None], performances.deviation[None])
    # A constant: the same from numbers of rows XLA would not know as the same in predictions and updates.
    wins = jnp.where(np.eye(len(mask), dtype=bool), 0.0, win_probability(lead, *deviations)[0])
    gain = mask.astype(wins.dtype)
    product = partial(jnp.matmul, precision=lax.Precision.HIGHEST)
    return product(wins, gain), product(gain, wins)


def batched_expected_wins_and_losses(
    win_probability: WinProbability, performances: PriorPerformances, mask: Array
) -> tuple[Array, Array]:
    """Expected wins and losses [P], of some after the others, which limits the memory."""

    def expect(index: Array) -> tuple[Array, Array]:
        below, above = pairwise_expected_wins_and_losses(win_probability, index[None], performances, mask)
        return below[0], above[0]

    indices = jnp.arange(len(mask), dtype=jnp.int32)
    return lax.map(expect, indices, batch_size=cdf_sums.comparison_batch_size(len(mask)))


LEVEL_COUNT = 6
_FLOOR_COUNT = 64  # powers of two by which deviations may have to be raised


class PrecisionSettings(NamedTuple):
    """The steps and nodes that suit float32 or float64."""

    density: int  # of the points, by what is enough for float32
    widest: float  # the largest step, in scales
    nodes: HostArray  # of the trapezoidal rule
    weights: HostArray


def _make_precision_settings(point_density: int, widest: float, step: float, count: int) -> PrecisionSettings:
    nodes = step * np.arange(-count, count + 1)
    weights = np.exp(-0.5 * nodes * nodes)
    return PrecisionSettings(point_density, widest, nodes, weights / weights.sum())


SINGLE_PRECISION = _make_precision_settings(1, 1.25, 0.5, 10)
DOUBLE_PRECISION = _make_precision_settings(4, 0.35, 0.35, 21)


class DeviationLevelGrid(NamedTuple):
    """The places of the points of each level [L] of deviations."""

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
        jnp.any(narrow), partial(batched_expected_wins_and_losses, normal_win_probability), performances, mask, wins
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
    in_use = jnp.sum(used.astype(least.dtype), axis=1)
    step = jnp.sum(width / scale, axis=1) / (table_points - 2.0 * in_use)  # in scales
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
    low, high = selective_evaluation.add_row_tiles(widen, present, nowhere, mask, lax.stop_gradient(performances))
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
    cells = jnp.stack([cdf_sums.quintic_cells(*side) for side in sides])
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

    is_below, smaller = selective_evaluation.map_row_tiles(expect, count, performances, mask)
    return cdf_sums.counts_excluding_self(is_below, smaller, mask)


def _tabulate_normal_cdf_sums(
    performances: PriorPerformances, mask: Array, grid: Array, square: Array, count: Array | None
) -> list[Array]:
    """[points] each: the sums of the cdf, its complement and two derivatives."""

    def one(centre: Array, variance: Array, gain: Array) -> list[Array]:
        inverse = lax.rsqrt(variance[:, None] + square[None])
        below, above, density, bend = cdf_sums.normal_cdf_and_density((grid[None] - centre[:, None]) * inverse)
        values = below, above, density * inverse, bend * inverse**2
        return [jnp.dot(gain, x, precision=lax.Precision.HIGHEST) for x in values]

    columns = performances.centre, jnp.where(mask, performances.deviation, 1.0) ** 2, mask.astype(grid.dtype)
    return cdf_sums.sum_in_blocks(one, columns, grid, count)


PAIRS_PER_POINT = 3  # participants for each point of the table up to which pairs of normal performances are no slower


def expected_normal_wins_and_losses(
    centre: Array,
    deviation: Array,
    mask: Array,
    table_points: int,
    margin: Array | None = None,
    count: Array | None = None,
) -> tuple[Array, Array]:
    """[P] how many others each is expected to beat and be beaten by, by normal performances; draws are half."""
    performances = PriorPerformances(centre, jnp.where(mask, deviation, 1.0), margin)
    if len(mask) <= max(cdf_sums.max_pairwise_participants(), PAIRS_PER_POINT * table_points):
        return all_expected_wins_and_losses(normal_win_probability, performances, mask)
    return interpolated_wins_and_losses(performances, mask, table_points, count)


class ExpectedWinsIntegrationMethod(NamedTuple):
    """How to expect performances of a distribution: by integrals over each one's own performance."""

    coarse: PerformanceDistribution  # for opponents down to about half as wide as oneself
    fine: PerformanceDistribution  # down to a sixteenth
    beats: WinProbability  # for all
    each: int  # ratings of a pair at which that looks where kernels are launched
    smooth: float  # on which scale it is as smooth as the logistic one of scale 1
    reach: float  # in scales, beyond which next to nothing lies


LOGISTIC_INTEGRALS = ExpectedWinsIntegrationMethod(
    cdf_sums.LOGISTIC, cdf_sums.LOGISTIC_FINE, logistic_win_probability, 1, 1.0, 16.0
)


def expected_wins_by_integrals(
    integrals: ExpectedWinsIntegrationMethod,
    centre: Array,
    deviation: Array,
    mask: Array,
    table_points: int,
    count: Array | None = None,
) -> Array:
    """[P] how many others each is expected to beat, of any performances, each with mean `centre`."""
    all_of = PriorPerformances(centre, jnp.where(mask, deviation, 1.0), None)
    if len(mask) <= cdf_sums.max_pairwise_participants(integrals.each):
        return all_expected_wins_and_losses(integrals.beats, all_of, mask)[0]
    scale = lax.stop_gradient(deviation) / integrals.coarse.deviation
    widest = float(np.finfo(scale.dtype).max)
    least, most = jnp.min(jnp.where(mask, scale, widest)), jnp.max(jnp.where(mask, scale, 0.0))
    low, high = cdf_sums.rating_interval(centre, integrals.reach * most, mask)

    def too_coarse(factor: int) -> Array:
        """Whether opponents are too narrow for the nodes, or the points too far apart: 48 are usual in float32."""
        step = (high - low) / (factor * table_points * integrals.smooth)
        return (most > 2.1 * factor * least) | (step > least * (2.5 if centre.dtype == jnp.float32 else 0.5))

    def read(distribution: PerformanceDistribution, table_points: int) -> Callable[[PriorPerformances, Array], Array]:
        """A function of the expected wins, read from one table of everybody over each one's own performance."""

        def interpolate_wins(performances: PriorPerformances, mask: Array) -> Array:
            scale = performances.deviation / distribution.deviation
            widest = jnp.max(jnp.where(mask, scale, 0.0))
            ends = cdf_sums.rating_interval(performances.centre, integrals.reach * widest, mask)
            unit = cdf_sums.rating_rounding_unit(jnp.where(mask, 1.0 / scale, 0.0))
            gain = mask.astype(scale.dtype)
            everyone = Participants(performances.centre, 1.0 / scale, gain, *ends, unit, count)
            nodes, weights = (jnp.asarray(x, scale.dtype) for x in (distribution.nodes, distribution.weights))
            sums, *_ = cdf_sums.make_cdf_sum_functions(distribution.shape, everyone, table_points, len(nodes))

            def expect(centre: Array, scale: Array) -> Array:
                at_nodes, _ = sums(centre[:, None] + scale[:, None] * nodes[None, :], True)
                return jnp.matmul(at_nodes, weights, precision=lax.Precision.HIGHEST)

            below = selective_evaluation.map_row_tiles(expect, count, performances.centre, scale)
            return jnp.clip(below - 0.5, 0.0, jnp.maximum(jnp.sum(everyone.gain) - 1.0, 0.0))

        return interpolate_wins

    coarse, coarser = too_coarse(1), too_coarse(8)
    wins = read(integrals.coarse, table_points)(all_of, mask)
    if cdf_sums.uses_all_pairs(len(mask)):  # a second table takes longer than all pairs
        return evaluate_where_needed(coarse, partial(_batched_expected_wins, integrals.beats), all_of, mask, wins)
    wins = evaluate_where_needed(coarse & ~coarser, read(integrals.fine, 8 * table_points), all_of, mask, wins)
    return evaluate_where_needed(coarser, partial(_batched_expected_wins, integrals.beats), all_of, mask, wins)


def _batched_expected_wins(win_probability: WinProbability, performances: PriorPerformances, mask: Array) -> Array:
    return batched_expected_wins_and_losses(win_probability, performances, mask)[0]


def expected_win_share(wins: Array, mask: Array) -> Array:
    """[P] the share of the others that each is expected to beat, from their number: in [0, 1]; 1/2 for one alone."""
    others = jnp.sum(mask.astype(wins.dtype)) - 1.0
    return jnp.where(others > 0, wins / jnp.maximum(others, 1.0), 0.5)
