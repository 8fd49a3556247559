"""Logistic performances one by one, each from all participants: exact, where sums over everybody say too little."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.numerics import sums_and_recurrences
from jaxrate.systems.rounds import performance_distributions, rating_roots
from jaxrate.systems.rounds.cdf_sums import Participants

_LOG_ZERO = -1e30  # the log of what is not there


def exact_logistic_performance(
    tie_weights: tuple[float, float], indices: Array, participants: Participants, group: Array
) -> Array:
    """[R] the performances of some, where what they lack is balanced, without cancellation.

    Of those above x nearly all that was won of them is won too much, and of those below nearly all that was lost is
    lost too much. What these two differ by is a constant between two participants, and the rest are tails. They are
    summed relative to the largest, which may be too small for a float.

    Args:
      tie_weights: what a tie counts of a loss, and of a win.
      indices: [R] places in the round.
      participants: with gains 1 / scale.
      group: [P] the rank of each.
    """
    rank, others = group[indices][None, :, None], group[None, None]
    centre, inverse, gain = (x[None] for x in participants[:3])
    below = jnp.array([True, False])[:, None, None]  # of the two sums: over those below, and those above

    of_loss, of_win = tie_weights

    def shares() -> tuple[Array, Array, Array]:  # anew each time: of all pairs they would fill the memory
        ahead = jnp.where(below, others - rank, rank - others)
        counts = (jnp.where(below, *pair) for pair in ((of_win, of_loss), (of_loss, of_win)))
        share, other_share = (jnp.where(ahead == 0, count, 1.0) * gain[None] for count in counts)
        return ahead, share, other_share

    ahead, share, _ = shares()
    won, lost = jnp.sum(jnp.where(ahead >= 0, share, 0.0), axis=2)
    rounding = 8.0 * float(np.finfo(gain.dtype).eps) * (won + lost)

    def log_ratio(x: Array) -> tuple[Array, Array]:
        ahead, share, other_share = shares()
        both = jnp.where(ahead == 0, of_loss + of_win, 1.0) * gain[None]
        z = ((x[:, None] - centre) * inverse)[None]
        is_ahead = z >= 0
        inside = is_ahead == below
        if has_launch_overhead() and len(indices) == len(group):
            is_ahead = inside == below  # so each sum computes what follows anew: of all pairs it would fill the memory
        distance = jnp.where(is_ahead, z, -z)  # |z|, whose slope is not 0 at a centre
        near = 1.0 / (1.0 + jnp.exp(-distance))
        tail = jnp.where(inside & (gain > 0)[None], -distance, _LOG_ZERO)
        more = jnp.where(inside, jnp.where(ahead <= 0, -other_share, 0.0), jnp.where(ahead >= 0, share, 0.0))
        columns = jnp.broadcast_arrays(tail, both * near, both * (inverse[None] * near**2), more)
        top, (tails, flat), (more,) = sums_and_recurrences.exponentially_weighted_and_plain_row_sums(
            columns[0], tuple(columns[1:3]), (columns[3],)
        )
        constant = jnp.where(more > rounding[None], more, 0.0)
        base = lax.stop_gradient(jnp.where(constant > 0, 0.0, top))  # beside a constant no tail is too small
        part = jnp.exp(top - base)
        found = part * tails + constant
        found = jnp.where(found > 0, found, 1.0)  # in a padded round nobody is
        (up, down), (fall, rise) = base + jnp.log(found), part * flat / found
        return up - down, -fall - rise

    mask = participants.gain[indices] > 0
    # Nearly their performances, were the centres themselves logistic.
    all_gain = jnp.maximum(jnp.sum(gain), float(np.finfo(gain.dtype).tiny))
    mean = jnp.sum(gain * centre) / all_gain
    square = (
        jnp.maximum(jnp.sum(gain * centre**2) / all_gain - mean**2, 0.0)
        / performance_distributions.LOGISTIC.deviation**2
    )
    scale = jnp.sqrt(square + (jnp.sum((gain > 0).astype(gain.dtype)) / all_gain) ** 2)
    guess = mean + scale * jnp.log(jnp.where(mask, won, 1.0) / jnp.where(mask, lost, 1.0))
    return rating_roots.solve_ratings(log_ratio, guess, mask, participants)
