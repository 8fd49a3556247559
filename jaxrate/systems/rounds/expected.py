"""How many of a round each participant is expected to beat, and what share of the others that is.

Normal performances of at most three participants for a point of the table, and logistic ones of at most `field.SMALL`,
are summed over all pairs (`pairs`). Larger rounds are read from tables: of normal performances from those of `levels`;
of logistic ones from one table of everybody, over each one's own performance. Where deviations differ too much for that
table it is made anew with eight times the points and nodes, and where they differ yet more, all pairs are summed. The
slopes are those of the first table.

Of normal performances shares are within 1e-8 of sums over all pairs, and in float32 within 1e-5, however much the
deviations differ; of logistic ones within 1e-8 in small rounds (1e-6), and within 2e-4 in others. All lie in [0, 1].
"""

from functools import partial

import jax.numpy as jnp
from jax import lax

from jaxrate.events import Array
from jaxrate.numerics import corrected
from jaxrate.systems.rounds import field, levels, pairs
from jaxrate.systems.rounds.field import Field, Kind
from jaxrate.systems.rounds.pairs import Performances

PAIRS = 3  # participants for each point of the table up to which pairs of normal performances are no slower


def normal(
    centre: Array, deviation: Array, there: Array, points: int, margin: Array | None = None
) -> tuple[Array, Array]:
    """[P] how many others each is expected to beat, and to be beaten by.

    Args:
      centre: [P] the means of their performances, which are normal.
      deviation: [P] of these, above 0.
      there: [P] who takes part.
      points: of the tables, in float32.
      margin: [P] within which a difference is a draw; a draw counts by halves. None: there are no draws.
    """
    all_of = Performances(centre, jnp.where(there, deviation, 1.0), margin)
    if len(there) <= max(field.SMALL, PAIRS * points):
        return pairs.everybody(pairs.normal, all_of, there)
    return levels.beaten(all_of, there, points)


def logistic(centre: Array, deviation: Array, there: Array, points: int) -> Array:
    """[P] how many others each is expected to beat, of logistic performances; `points` are those of the table."""
    all_of = Performances(centre, jnp.where(there, deviation, 1.0), None)
    if len(there) <= field.SMALL:
        return pairs.everybody(pairs.logistic, all_of, there)[0]
    scale = lax.stop_gradient(deviation) / field.LOGISTIC.deviation
    least, most = jnp.min(jnp.where(there, scale, jnp.inf)), jnp.max(jnp.where(there, scale, 0.0))
    low, high = _reach(all_of, there)

    def too_coarse(factor: int) -> Array:
        """Whether opponents are too narrow for the nodes, or the points too far apart: 48 are usual in float32."""
        step = (high - low) / (factor * points)
        return (most > 2.1 * factor * least) | (step > least * (2.5 if centre.dtype == jnp.float32 else 0.5))

    found = _read(field.LOGISTIC, points, all_of, there)
    coarse, coarser = too_coarse(1), too_coarse(8)
    found = corrected(coarse & ~coarser, partial(_read, field.LOGISTIC_FINE, 8 * points), all_of, there, found)
    return corrected(coarser, _one_sided, all_of, there, found)


def _reach(all_of: Performances, there: Array) -> tuple[Array, Array]:
    widest = jnp.max(jnp.where(there, all_of.deviation, 0.0)) / field.LOGISTIC.deviation
    return field.reach(all_of.centre, 16.0 * widest, there)


def _read(kind: Kind, points: int, all_of: Performances, there: Array) -> Array:
    """From one table of everybody, over each one's own performance."""
    scale = all_of.deviation / kind.deviation
    everyone = Field(all_of.centre, 1.0 / scale, there.astype(scale.dtype), *_reach(all_of, there))
    nodes, weights = (jnp.asarray(x, scale.dtype) for x in (kind.nodes, kind.weights))
    read, _ = field.sums(kind.shape, everyone, points)
    x = all_of.centre[:, None] + scale[:, None] * nodes[None, :]
    below, others = read(x, True)[0] @ weights, jnp.maximum(jnp.sum(everyone.gain) - 1.0, 0.0)
    return jnp.clip(below - 0.5, 0.0, others)


def _one_sided(all_of: Performances, there: Array) -> Array:
    return pairs.in_turn(pairs.logistic, all_of, there)[0]


def share(below: Array, there: Array) -> Array:
    """[P] the share of the others that each is expected to beat, from their number: in [0, 1]; 1/2 for one alone."""
    others = jnp.sum(there.astype(below.dtype)) - 1.0
    return jnp.where(others > 0, below / jnp.maximum(others, 1.0), 0.5)
