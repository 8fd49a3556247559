"""Logistic performances one by one, each from all participants: exact, where sums over everybody say too little."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.array_types import Array
from jaxrate.numerics import sums_and_recurrences
from jaxrate.systems.rounds import performance_distributions, rating_roots
from jaxrate.systems.rounds.cdf_sums import Participants

_LOG_ZERO = -1e30  # the log of what is not there


def exact_logistic_performance(tie_weight: float, indices: Array, participants: Participants, group: Array) -> Array:
    """[R] the performances of some, where what they lack is balanced, without cancellation.

    Of those above x nearly all that was won of them is won too much, and of those below nearly all that was lost is
    lost too much. What these two differ by is a constant between two participants, and the rest are tails. They are
    summed relative to the largest, which may be too small for a float.

    Args:
      tie_weight: what one counts, of a win and of a loss.
      indices: [R] places in the round.
      participants: with gains 1 / scale.
      group: [P] the rank of each.
    """
    rank, others = group[indices][None, :, None], group[None, None]
    centre, inverse, gain = (x[None, None] for x in participants[:3])
    below = jnp.array([True, False])[:, None, None]  # of the two sums: over those below, and those above
    sign = jnp.where(below, 1.0, -1.0).astype(gain.dtype)
    here = jnp.where(below, 0.0, float(np.finfo(gain.dtype).tiny))  # who is at x counts as below

    def shares() -> tuple[Array, Array]:  # anew each time: of all pairs they would fill the memory
        ahead = jnp.where(below, others - rank, rank - others)
        return ahead, jnp.where(ahead == 0, tie_weight, 1.0) * gain

    ahead, share = shares()
    won, lost = jnp.sum(jnp.where(ahead >= 0, share, 0.0), axis=2)
    rounding = 8.0 * float(np.finfo(gain.dtype).eps) * (won + lost)

    def log_ratio(x: Array) -> tuple[Array, Array]:
        ahead, share = shares()
        both = jnp.where(ahead == 0, 2.0, 1.0) * share
        z = sign * ((x[None, :, None] - centre) * inverse)
        inside, distance = z >= here, jnp.abs(z)
        tail = jnp.where(inside & (gain > 0), -distance - jnp.log1p(jnp.exp(-distance)), _LOG_ZERO)
        more = jnp.where(inside, jnp.where(ahead <= 0, -share, 0.0), jnp.where(ahead >= 0, share, 0.0))
        sums = tail, both, both * inverse * jax.nn.sigmoid(distance), more
        tail, *scaled, more = jnp.broadcast_arrays(*sums)
        top, (tails, flat), (more,) = sums_and_recurrences.exponentially_weighted_and_plain_row_sums(
            tail, tuple(scaled), (more,)
        )

        def total(side: int) -> tuple[Array, Array]:
            constant = jnp.where(more[side] > rounding, more[side], 0.0)
            log_constant = jnp.where(constant > 0, jnp.log(jnp.where(constant > 0, constant, 1.0)), _LOG_ZERO)
            base = lax.stop_gradient(jnp.maximum(top[side], log_constant))
            part = jnp.exp(top[side] - base)
            found = part * tails[side] + constant * jnp.exp(-jnp.where(constant > 0, base, 0.0))
            return base + jnp.log(found), part * flat[side] / found

        (up, fall), (down, rise) = total(0), total(1)
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
