"""Which route a density of performances takes: one of its own if it is logistic or normal, tables if it is another."""

import jax
import jax.numpy as jnp

from jaxrate.core.array_types import Array
from jaxrate.events import Rounds
from jaxrate.systems.elo_mmr.belief import LOGISTIC_INFLUENCE, PerformanceInfluenceFunction
from jaxrate.systems.rounds import (
    cdf_sums,
    expected_wins,
    performance_inference,
    performances_and_break_even_ranks,
    standing_sums,
)
from jaxrate.systems.rounds.hazard_tables import (
    Density,
    HazardTable,
    log_density_slope,
    make_expected_wins_integration_method,
    make_noise_density,
    tabulate_density,
)


def has_closed_form(density: Density) -> bool:
    """Whether it needs no tables of its own."""
    return density.name in ("logistic", "normal")


def make_hazard_table_unless_closed_form(density: Density) -> HazardTable | None:
    """What the rules need of it; None of the logistic and the normal one."""
    return (
        None
        if has_closed_form(density)
        else jax.tree.map(lambda x: jnp.asarray(x, float), tabulate_density(density).table)
    )


def count_table_points(density: Density, deviation: float, newcomer_deviation: float) -> int:
    """Points of a table for performances of this deviation or wider, in float32; `newcomer_deviation` is that of
    newcomers.
    """
    return cdf_sums.count_table_points(deviation, newcomer_deviation) * (
        1 if has_closed_form(density) else tabulate_density(density).fine
    )


def influence_on_belief(table: HazardTable | None) -> PerformanceInfluenceFunction:
    """Of a performance on a belief; of normal ones none is asked."""
    if table is None:
        return LOGISTIC_INFLUENCE

    def pull(y: Array) -> tuple[Array, Array]:
        value, slope = log_density_slope(table, y)
        return -value, -slope

    return PerformanceInfluenceFunction(pull, 1.0, 1.0)


RoundStatistics = (
    performance_inference.LogisticCdfSums | performance_inference.RoundStandingSums
)  # of a round, to infer performances and ranks from


def prepare_performance_inference(
    density: Density,
    table: HazardTable | None,
    rating: Array,
    deviation: Array,
    event: Rounds,
    table_points: int,
    split_ties: performance_inference.TieSplit,
) -> RoundStatistics:
    """What performances and the ranks needed both follow from; the arguments are those of `make_logistic_cdf_sums`."""
    if table is None and density.name == "logistic":
        return performance_inference.make_logistic_cdf_sums(rating, deviation, event, table_points, split_ties)
    noise = standing_sums.NORMAL_NOISE if table is None else make_noise_density(table)
    return performance_inference.make_round_standing_sums(noise, rating, deviation, event, table_points, split_ties)


def infer_performances(
    round_statistics: RoundStatistics, event: Rounds, split_ties: performance_inference.TieSplit
) -> Array:
    """[P] the performances of a round."""
    if isinstance(round_statistics, performance_inference.RoundStandingSums):
        return performance_inference.infer_performance_from_standing(round_statistics, event, split_ties)
    return performance_inference.infer_logistic_performance(round_statistics, event, split_ties)


def worst_ranks_keeping_rating(
    round_statistics: RoundStatistics, event: Rounds, split_ties: performance_inference.TieSplit
) -> Array:
    """[P] the worst ranks at which performances are at least the ratings."""
    if isinstance(round_statistics, performance_inference.RoundStandingSums):
        return performances_and_break_even_ranks.bisected_worst_rank_keeping_rating(round_statistics, event, split_ties)
    return performances_and_break_even_ranks.logistic_worst_rank_keeping_rating(round_statistics, event, split_ties)


def expected_win_counts(
    density: Density,
    table: HazardTable | None,
    rating: Array,
    deviation: Array,
    mask: Array,
    table_points: int,
    count: Array | None,
) -> Array:
    """[P] how many others each is expected to beat."""
    if density.name == "normal":
        return expected_wins.expected_normal_wins_and_losses(rating, deviation, mask, table_points, count=count)[0]
    table_points = cdf_sums.scale_table_points_to_precision(table_points)
    if table is None:
        return expected_wins.expected_logistic_wins(rating, deviation, mask, table_points, count)
    return expected_wins.expected_wins_by_integrals(
        make_expected_wins_integration_method(table, tabulate_density(density)),
        rating,
        deviation,
        mask,
        table_points,
        count,
    )
