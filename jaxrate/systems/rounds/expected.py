"""How many of a round each participant is expected to beat, and what share of the others that is.

Normal performances of at most three participants for a point of the table, and logistic ones of at most `field.SMALL`,
are summed over all pairs (`pairs`). Larger rounds are read from tables: of normal performances from those of `levels`;
of logistic ones from one table of everybody, over each one's own performance. Where deviations differ too much for that
table it is made anew with eight times the points and nodes, and where they differ yet more, all pairs are summed. The
slopes are those of the first table. Those of any other density (`hazards`) are read as the logistic ones are.

Of normal performances shares are within 1e-8 of sums over all pairs, and in float32 within 1e-5, however much the
deviations differ; of logistic ones within 1e-8 in small rounds (1e-6), and within 2e-4 in others. All lie in [0, 1].
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxrate.device import launches
from jaxrate.events import Array
from jaxrate.numerics import corrected
from jaxrate.systems.rounds import field, levels, pairs
from jaxrate.systems.rounds.field import Field, Kind
from jaxrate.systems.rounds.pairs import Beats, Performances

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
    if len(there) <= max(field.small(), PAIRS * points):
        return pairs.everybody(pairs.normal, all_of, there)
    return levels.beaten(all_of, there, points)


class Integrals(NamedTuple):
    """How to expect performances of a distribution: by integrals over each one's own performance."""

    coarse: Kind  # for opponents down to about half as wide as oneself
    fine: Kind  # down to a sixteenth
    beats: Beats  # for all
    each: int  # ratings of a pair at which that looks where kernels are launched
    smooth: float  # on which scale it is as smooth as the logistic one of scale 1
    reach: float  # in scales, beyond which next to nothing lies


LOGISTIC = Integrals(field.LOGISTIC, field.LOGISTIC_FINE, pairs.logistic, 1, 1.0, 16.0)


def logistic(centre: Array, deviation: Array, there: Array, points: int) -> Array:
    """[P] how many others each is expected to beat, of logistic performances; `points` are those of the table."""
    return general(LOGISTIC, centre, deviation, there, points)


def general(integrals: Integrals, centre: Array, deviation: Array, there: Array, points: int) -> Array:
    """The same of any performances, each with mean `centre`."""
    all_of = Performances(centre, jnp.where(there, deviation, 1.0), None)
    if len(there) <= field.small(integrals.each):
        return pairs.everybody(integrals.beats, all_of, there)[0]
    scale = lax.stop_gradient(deviation) / integrals.coarse.deviation
    least, most = jnp.min(jnp.where(there, scale, jnp.inf)), jnp.max(jnp.where(there, scale, 0.0))
    low, high = field.reach(centre, integrals.reach * most, there)

    def too_coarse(factor: int) -> Array:
        """Whether opponents are too narrow for the nodes, or the points too far apart: 48 are usual in float32."""
        step = (high - low) / (factor * points * integrals.smooth)
        return (most > 2.1 * factor * least) | (step > least * (2.5 if centre.dtype == jnp.float32 else 0.5))

    def read(kind: Kind, points: int) -> Callable[[Performances, Array], Array]:
        """From one table of everybody, over each one's own performance."""

        def found(all_of: Performances, there: Array) -> Array:
            scale = all_of.deviation / kind.deviation
            widest = jnp.max(jnp.where(there, scale, 0.0))
            ends = field.reach(all_of.centre, integrals.reach * widest, there)
            everyone = Field(all_of.centre, 1.0 / scale, there.astype(scale.dtype), *ends, field.unit(widest))
            nodes, weights = (jnp.asarray(x, scale.dtype) for x in (kind.nodes, kind.weights))
            sums, *_ = field.sums(kind.shape, everyone, points, len(nodes))
            x = all_of.centre[:, None] + scale[:, None] * nodes[None, :]
            below, others = sums(x, True)[0] @ weights, jnp.maximum(jnp.sum(everyone.gain) - 1.0, 0.0)
            return jnp.clip(below - 0.5, 0.0, others)

        return found

    coarse, coarser = too_coarse(1), too_coarse(8)
    found = read(integrals.coarse, points)(all_of, there)
    if launches() and len(there) <= field.small():  # a second table takes longer than all pairs
        return corrected(coarse, partial(_one_sided, integrals.beats), all_of, there, found)
    found = corrected(coarse & ~coarser, read(integrals.fine, 8 * points), all_of, there, found)
    return corrected(coarser, partial(_one_sided, integrals.beats), all_of, there, found)


def _one_sided(beats: Beats, all_of: Performances, there: Array) -> Array:
    return pairs.in_turn(beats, all_of, there)[0]


def share(below: Array, there: Array) -> Array:
    """[P] the share of the others that each is expected to beat, from their number: in [0, 1]; 1/2 for one alone."""
    others = jnp.sum(there.astype(below.dtype)) - 1.0
    return jnp.where(others > 0, below / jnp.maximum(others, 1.0), 0.5)
