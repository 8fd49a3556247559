"""What a round, once its result is known, says of the performances in it; and what it would have taken.

A performance is at least the rating before, mu, where the paper's Q(mu) >= 0 (Elo-MMR paper, Theorem 3.3: Q decreases).
Whoever comes alone behind some of the others, in the order in which these came, loses to them and beats the rest; their
own term of Q(mu), of a tie with themselves, vanishes if the density is symmetric. Moving down, Q(mu) falls, so there is
a worst rank at which it is still at least 0. Where l_j = v_j - g_j with constants g_j, as of logistic performances, the
g_j of those ahead may at most sum to the v_j(mu) of all others.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.events import Rounds
from jaxrate.numerics import sums_and_recurrences
from jaxrate.systems.rounds import cdf_sums, performance_inference


class Performances(NamedTuple):
    """How well each participant of a contest did, as a rating, and the rank that would have kept theirs."""

    performance: (
        Array  # [P] the rating at which the result would have been expected; NaN where the contest did not count
    )
    rank_needed: Array  # [P] from 1: the worst rank that would have kept the rating; 0: none would


def combine_performances_and_needed_ranks(
    performance: Array, rating: Array, rank_needed: Array, event: Rounds
) -> Performances:
    """Of ratings before, performances, and ranks that would have kept the rating but for the ceiling."""
    if event.ceiling is not None:
        rank_needed = jnp.where(event.ceiling < rating, 0, rank_needed)
    return Performances(performance, rank_needed)


def worst_rank_with_limited_weight_ahead(max_weight_ahead: Array, weight: Array, event: Rounds) -> Array:
    """[P] the worst ranks at which the players ahead, who count `weight` each, sum to at most `max_weight_ahead`."""
    count = len(event.rank)
    rank = jnp.minimum(event.rank, count - 1)
    tied = cdf_sums.sum_by_group(rank, weight)
    ahead = jnp.append(
        sums_and_recurrences.exclusive_prefix_or_suffix_sums(tied), jnp.sum(weight)
    )  # [P + 1] in the standings; of those tied, of all
    max_weight_ahead = max_weight_ahead + _relative_sum_rounding(ahead) * ahead[-1]

    def last(most: Array) -> Array:
        return jnp.searchsorted(ahead, most, side="right").astype(jnp.int32) - 1

    without, own = last(max_weight_ahead), last(max_weight_ahead + weight)
    return _rank_excluding_self(jnp.where(without < rank, without, own), rank, event)


def logistic_worst_rank_keeping_rating(
    logistic_sums: performance_inference.LogisticCdfSums, event: Rounds, split_ties: performance_inference.TieSplit
) -> Array:
    """[P] the worst ranks at which a performance among logistic ones is at least the rating."""
    centre, _, gain, *_ = logistic_sums.participants
    of_loss, of_win = performance_inference.tie_weights(split_ties) or performance_inference.WHOLE_TIE
    own = 0.5 * (1.0 - of_win + of_loss) * gain  # of the tie with oneself
    return worst_rank_with_limited_weight_ahead(logistic_sums.sums(centre, False)[0] - own, gain, event)


def bisected_worst_rank_keeping_rating(
    standing: performance_inference.RoundStandingSums, event: Rounds, split_ties: performance_inference.TieSplit
) -> Array:
    """The same among any, by bisection; the arguments are those of `performance_inference.general`."""
    noise, (centre, inverse, *_) = standing.noise, standing.participants
    centre, inverse = lax.stop_gradient((centre, inverse))
    count, rank = len(event.rank), jnp.minimum(event.rank, len(event.rank) - 1)
    players = jnp.sum(cdf_sums.participant_mask(event), dtype=jnp.int32)
    behind = jnp.append(rank[standing.order], count)
    begin = jnp.where(jnp.arange(count + 1, dtype=jnp.int32) < players, behind, players)  # of the group in a place
    zero = jnp.zeros_like(centre)
    lost, won = (sign * noise.above(side, zero)[0] for side, sign in ((0, -1.0), (1, 1.0)))  # at one's own rating
    shares = performance_inference.tie_weights(split_ties)
    drawn = zero if noise.draw is None else noise.draw(zero)[0]
    tied = drawn if shares is None else shares[0] * lost + shares[1] * won
    total = jnp.sum(inverse)

    def keeps(place: Array) -> Array:
        """Whether Q(mu) >= 0 behind all before a place, which begins a group."""
        value = standing.losses(place)(centre)[0] + standing.wins(place)(centre)[0]
        return value - (jnp.where(place > rank, lost, won) - tied) * inverse >= -_relative_sum_rounding(value) * total

    def halve(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) // 2
        kept = keeps(begin[middle])
        return jnp.where(kept, middle, low), jnp.where(kept, high, middle)

    low, high = jnp.zeros_like(rank), jnp.full_like(rank, 1) + players
    place_index = lax.fori_loop(0, (count + 1).bit_length(), halve, (low, high))[0]
    return _rank_excluding_self(begin[place_index], rank, event)


def _relative_sum_rounding(x: Array) -> float:
    """How exact sums over everybody are, relative to what all count."""
    return 32.0 * float(np.finfo(x.dtype).eps)


def _rank_excluding_self(place: Array, rank: Array, event: Rounds) -> Array:
    """The rank in a place of the standings, without oneself."""
    place = jnp.minimum(place, jnp.sum(cdf_sums.participant_mask(event), dtype=jnp.int32))
    return place + 1 - (place > rank).astype(jnp.int32)


PERFORMANCE_COLUMNS = Performances._fields  # of the tables of contests
