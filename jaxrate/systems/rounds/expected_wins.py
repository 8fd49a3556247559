"""How many of a round each participant is expected to beat, and what share of the others that is.

Normal performances of at most three participants for a point of the table, and logistic ones of at most
`max_pairwise_participants`, are summed over all pairs (`pairwise_wins`). Larger rounds are read from tables: of normal
performances from those of a few levels of deviations; of logistic ones from one table of everybody, over each one's own
performance. Where deviations differ too much for that
table it is made anew with eight times the points and nodes, and where they differ yet more, all pairs are summed. The
slopes are those of the first table. Those of any other density (`hazards`) are read as the logistic ones are.

Of normal performances shares are within 1e-8 of sums over all pairs, and in float32 within 1e-5, however much the
deviations differ; of logistic ones within 1e-8 in small rounds (1e-6), and within 2e-4 in others. All lie in [0, 1].
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.numerics import padding_skipping_row_tiles
from jaxrate.numerics.selective_evaluation import evaluate_where_needed
from jaxrate.systems.rounds import cdf_sums, pairwise_wins, performance_distributions, tabulated_normal_wins
from jaxrate.systems.rounds.cdf_sums import Participants
from jaxrate.systems.rounds.pairwise_wins import PriorPerformances, WinProbability
from jaxrate.systems.rounds.performance_distributions import PerformanceDistribution

PAIRS_PER_POINT = 3  # participants for each point of the table up to which pairs of normal performances are no slower


def expected_normal_wins_and_losses(
    centre: Array,
    deviation: Array,
    mask: Array,
    table_points: int,
    margin: Array | None = None,
    count: Array | None = None,
) -> tuple[Array, Array]:
    """[P] how many others each is expected to beat, and to be beaten by.

    Args:
      centre: [P] the means of their performances, which are normal.
      deviation: [P] of these, above 0.
      mask: [P] who takes part.
      table_points: of the tables, in float32.
      margin: [P] within which a difference is a draw; a draw counts by halves. None: there are no draws.
      count: `present` of `Rounds`.
    """
    performances = PriorPerformances(centre, jnp.where(mask, deviation, 1.0), margin)
    if len(mask) <= max(cdf_sums.max_pairwise_participants(), PAIRS_PER_POINT * table_points):
        return pairwise_wins.all_expected_wins_and_losses(pairwise_wins.normal_win_probability, performances, mask)
    return tabulated_normal_wins.interpolated_wins_and_losses(performances, mask, table_points, count)


class ExpectedWinsIntegrationMethod(NamedTuple):
    """How to expect performances of a distribution: by integrals over each one's own performance."""

    coarse: PerformanceDistribution  # for opponents down to about half as wide as oneself
    fine: PerformanceDistribution  # down to a sixteenth
    beats: WinProbability  # for all
    each: int  # ratings of a pair at which that looks where kernels are launched
    smooth: float  # on which scale it is as smooth as the logistic one of scale 1
    reach: float  # in scales, beyond which next to nothing lies


LOGISTIC_INTEGRALS = ExpectedWinsIntegrationMethod(
    performance_distributions.LOGISTIC,
    performance_distributions.LOGISTIC_FINE,
    pairwise_wins.logistic_win_probability,
    1,
    1.0,
    16.0,
)


def expected_logistic_wins(
    centre: Array, deviation: Array, mask: Array, table_points: int, count: Array | None = None
) -> Array:
    """[P] how many others each is expected to beat, of logistic performances; `count_table_points` are those of the
    table.
    """
    return expected_wins_by_integrals(LOGISTIC_INTEGRALS, centre, deviation, mask, table_points, count)


def expected_wins_by_integrals(
    integrals: ExpectedWinsIntegrationMethod,
    centre: Array,
    deviation: Array,
    mask: Array,
    table_points: int,
    count: Array | None = None,
) -> Array:
    """The same of any performances, each with mean `centre`."""
    all_of = PriorPerformances(centre, jnp.where(mask, deviation, 1.0), None)
    if len(mask) <= cdf_sums.max_pairwise_participants(integrals.each):
        return pairwise_wins.all_expected_wins_and_losses(integrals.beats, all_of, mask)[0]
    scale = lax.stop_gradient(deviation) / integrals.coarse.deviation
    widest = float(np.finfo(scale.dtype).max)
    least, most = jnp.min(jnp.where(mask, scale, widest)), jnp.max(jnp.where(mask, scale, 0.0))
    low, high = cdf_sums.rating_interval(centre, integrals.reach * most, mask)

    def too_coarse(factor: int) -> Array:
        """Whether opponents are too narrow for the nodes, or the points too far apart: 48 are usual in float32."""
        step = (high - low) / (factor * table_points * integrals.smooth)
        return (most > 2.1 * factor * least) | (step > least * (2.5 if centre.dtype == jnp.float32 else 0.5))

    def read(distribution: PerformanceDistribution, table_points: int) -> Callable[[PriorPerformances, Array], Array]:
        """From one table of everybody, over each one's own performance."""

        def interpolate_wins(performances: PriorPerformances, mask: Array) -> Array:
            scale = performances.deviation / distribution.deviation
            widest = jnp.max(jnp.where(mask, scale, 0.0))
            ends = cdf_sums.rating_interval(performances.centre, integrals.reach * widest, mask)
            everyone = Participants(
                performances.centre,
                1.0 / scale,
                mask.astype(scale.dtype),
                *ends,
                cdf_sums.rating_rounding_unit(widest),
                count,
            )
            nodes, weights = (jnp.asarray(x, scale.dtype) for x in (distribution.nodes, distribution.weights))
            sums, *_ = cdf_sums.make_cdf_sum_functions(distribution.shape, everyone, table_points, len(nodes))

            def expect(centre: Array, scale: Array) -> Array:
                at_nodes, _ = sums(centre[:, None] + scale[:, None] * nodes[None, :], True)
                return jnp.matmul(at_nodes, weights, precision=lax.Precision.HIGHEST)

            below = padding_skipping_row_tiles.map_row_tiles(expect, count, performances.centre, scale)
            return jnp.clip(below - 0.5, 0.0, jnp.maximum(jnp.sum(everyone.gain) - 1.0, 0.0))

        return interpolate_wins

    coarse, coarser = too_coarse(1), too_coarse(8)
    wins = read(integrals.coarse, table_points)(all_of, mask)
    if cdf_sums.uses_all_pairs(len(mask)):  # a second table takes longer than all pairs
        return evaluate_where_needed(coarse, partial(_batched_expected_wins, integrals.beats), all_of, mask, wins)
    wins = evaluate_where_needed(coarse & ~coarser, read(integrals.fine, 8 * table_points), all_of, mask, wins)
    return evaluate_where_needed(coarser, partial(_batched_expected_wins, integrals.beats), all_of, mask, wins)


def _batched_expected_wins(win_probability: WinProbability, performances: PriorPerformances, mask: Array) -> Array:
    return pairwise_wins.batched_expected_wins_and_losses(win_probability, performances, mask)[0]


def expected_win_share(wins: Array, mask: Array) -> Array:
    """[P] the share of the others that each is expected to beat, from their number: in [0, 1]; 1/2 for one alone."""
    others = jnp.sum(mask.astype(wins.dtype)) - 1.0
    return jnp.where(others > 0, wins / jnp.maximum(others, 1.0), 0.5)
