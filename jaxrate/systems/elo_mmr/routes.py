"""Which route a density of performances takes: one of its own if it is logistic or normal, tables if it is another."""

from typing import Any

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


def enough(density: Density, deviation: float) -> int:
    """Points of a table for performances of this deviation or wider, in float32."""
    return field.enough(deviation) * (1 if _exact(density) else tabulated(density).fine)


def influence_of(table: Table | None) -> Influence:
    """Of a performance on a belief; of normal ones none is asked."""
    if table is None:
        return LOGISTIC

    def pull(y: Array) -> tuple[Array, Array]:
        value, slope = draw(table, y)
        return -value, -slope

    return Influence(pull, 1.0, 1.0)


def infer(
    density: Density, table: Table | None, rating: Array, deviation: Array, event: Rounds, *settings: Any
) -> Array:
    """[P] the performances of a round; the settings are those of `performance.logistic`."""
    if table is not None:
        return performance.general(performances(table), rating, deviation, event, *settings)
    found = performance.gaussian if density.name == "normal" else performance.logistic
    return found(rating, deviation, event, *settings)


def rank_needed(
    density: Density, table: Table | None, rating: Array, deviation: Array, event: Rounds, *settings: Any
) -> Array:
    """[P] the worst ranks at which performances are at least the ratings; the settings are those of `infer`."""
    if table is not None:
        return inferred.general(performances(table), rating, deviation, event, *settings)
    found = inferred.gaussian if density.name == "normal" else inferred.logistic
    return found(rating, deviation, event, *settings)


def beaten(density: Density, table: Table | None, rating: Array, deviation: Array, there: Array, points: int) -> Array:
    """[P] how many others each is expected to beat."""
    if density.name == "normal":
        return expected.normal(rating, deviation, there, points)[0]
    points = field.in_precision(points)
    if table is None:
        return expected.logistic(rating, deviation, there, points)
    return expected.general(integrals(table, tabulated(density)), rating, deviation, there, points)
