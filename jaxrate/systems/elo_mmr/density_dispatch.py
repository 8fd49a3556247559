"""Which route a density of performances takes: one of its own if it is logistic or normal, tables if it is another."""

import jax
import jax.numpy as jnp

from jaxrate.events import Rounds
from jaxrate.systems.elo_mmr.belief import LOGISTIC_INFLUENCE, Influence
from jaxrate.systems.rounds import break_even_ranks, cdf_sums, expected_wins, performance_inference
from jaxrate.systems.rounds.densities import Density
from jaxrate.systems.rounds.hazards import (
    HazardTable,
    log_density_slope,
    make_integrals,
    make_noise_density,
    tabulate_density,
)
from jaxrate.types import Array


def has_closed_form(density: Density) -> bool:
    """Whether it needs no tables of its own."""
    return density.name in ("logistic", "normal")


def make_hazard_table(density: Density) -> HazardTable | None:
    """What the rules need of it; None of the logistic and the normal one."""
    return (
        None
        if has_closed_form(density)
        else jax.tree.map(lambda x: jnp.asarray(x, float), tabulate_density(density).table)
    )


def table_points(density: Density, deviation: float, spread: float) -> int:
    """Points of a table for performances of this deviation or wider, in float32; `spread` is that of newcomers."""
    return cdf_sums.table_points_for(deviation, spread) * (
        1 if has_closed_form(density) else tabulate_density(density).fine
    )


def influence_on_belief(table: HazardTable | None) -> Influence:
    """Of a performance on a belief; of normal ones none is asked."""
    if table is None:
        return LOGISTIC_INFLUENCE

    def pull(y: Array) -> tuple[Array, Array]:
        value, slope = log_density_slope(table, y)
        return -value, -slope

    return Influence(pull, 1.0, 1.0)


RoundStatistics = (
    performance_inference.LogisticSums | performance_inference.RoundStanding
)  # of a round, to infer performances and ranks from


def summarize_round(
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
    noise = performance_inference.NORMAL_NOISE if table is None else make_noise_density(table)
    return performance_inference.make_round_standing(noise, rating, deviation, event, table_points, split_ties)


def infer_performances(
    round_statistics: RoundStatistics, event: Rounds, split_ties: performance_inference.TieSplit
) -> Array:
    """[P] the performances of a round."""
    if isinstance(round_statistics, performance_inference.RoundStanding):
        return performance_inference.standing_performance(round_statistics, event, split_ties)
    return performance_inference.logistic_performance(round_statistics, event, split_ties)


def worst_ranks_keeping_rating(
    round_statistics: RoundStatistics, event: Rounds, split_ties: performance_inference.TieSplit
) -> Array:
    """[P] the worst ranks at which performances are at least the ratings."""
    if isinstance(round_statistics, performance_inference.RoundStanding):
        return break_even_ranks.worst_rank_keeping_rating(round_statistics, event, split_ties)
    return break_even_ranks.logistic_rank_to_keep_rating(round_statistics, event)


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
        return expected_wins.normal_wins(rating, deviation, mask, table_points, count=count)[0]
    table_points = cdf_sums.points_in_precision(table_points)
    if table is None:
        return expected_wins.logistic_wins(rating, deviation, mask, table_points, count)
    return expected_wins.density_wins(
        make_integrals(table, tabulate_density(density)), rating, deviation, mask, table_points, count
    )
