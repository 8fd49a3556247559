"""Which route a density of performances takes: one of its own if it is logistic or normal, tables if it is another."""

import jax
import jax.numpy as jnp

from jaxrate.events import Array, Rounds
from jaxrate.systems.elo_mmr.belief import LOGISTIC, Influence
from jaxrate.systems.rounds import expected, field, inferred, performance
from jaxrate.systems.rounds.densities import Density
from jaxrate.systems.rounds.hazards import Table, draw, integrals, performances, tabulated


def _exact(density: Density) -> bool:
    return density.name in ("logistic", "normal")


def table_of(density: Density) -> Table | None:
    """What the rules need of it; None of the logistic and the normal one."""
    return None if _exact(density) else jax.tree.map(lambda x: jnp.asarray(x, float), tabulated(density).table)


def enough(density: Density, deviation: float, spread: float) -> int:
    """Points of a table for performances of this deviation or wider, in float32; `spread` is that of newcomers."""
    return field.enough(deviation, spread) * (1 if _exact(density) else tabulated(density).fine)


def influence_of(table: Table | None) -> Influence:
    """Of a performance on a belief; of normal ones none is asked."""
    if table is None:
        return LOGISTIC

    def pull(y: Array) -> tuple[Array, Array]:
        value, slope = draw(table, y)
        return -value, -slope

    return Influence(pull, 1.0, 1.0)


Known = performance.LogisticSums | performance.Standing  # of a round, to infer performances and ranks from


def look(
    density: Density,
    table: Table | None,
    rating: Array,
    deviation: Array,
    event: Rounds,
    points: int,
    split_ties: performance.TieSplit,
) -> Known:
    """What performances and the ranks needed both follow from; the arguments are those of `logistic_sums`."""
    if table is None and density.name == "logistic":
        return performance.logistic_sums(rating, deviation, event, points, split_ties)
    noise = performance.NORMAL if table is None else performances(table)
    return performance.standing(noise, rating, deviation, event, points, split_ties)


def infer(known: Known, event: Rounds, split_ties: performance.TieSplit) -> Array:
    """[P] the performances of a round."""
    if isinstance(known, performance.Standing):
        return performance.general(known, event, split_ties)
    return performance.logistic(known, event, split_ties)


def rank_needed(known: Known, event: Rounds, split_ties: performance.TieSplit) -> Array:
    """[P] the worst ranks at which performances are at least the ratings."""
    if isinstance(known, performance.Standing):
        return inferred.general(known, event, split_ties)
    return inferred.logistic(known, event)


def beaten(density: Density, table: Table | None, rating: Array, deviation: Array, there: Array, points: int) -> Array:
    """[P] how many others each is expected to beat."""
    if density.name == "normal":
        return expected.normal(rating, deviation, there, points)[0]
    points = field.in_precision(points)
    if table is None:
        return expected.logistic(rating, deviation, there, points)
    return expected.general(integrals(table, tabulated(density)), rating, deviation, there, points)
