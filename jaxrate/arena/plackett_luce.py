"""Plackett-Luce: strengths from rankings of any length, with ties or with an unranked last place.

A ranking is drawn from the best place on: the next is i with probability p_i / (sum over the remaining players)
(Plackett 1975). Players who tie came in an unknown order. With S the sum over all who remain before them and T the sum
over the m tied players, their probabilities are divided by (Efron 1977, as in Cox's likelihood)

    product over l = 0 .. m - 1 of  S - (l / m) T

so that a tie of two players only is p_a p_b / ((p_a + p_b) (p_a + p_b) / 2), two results of a half. For the last place
the sum over all unknown orders is 1, which Efron's approximation is far from where many share it, as all do whom a best
of N was chosen over. So players who share the last place only come after the others, unless all tie.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.arena.newton import SearchState, maximise_by_newton
from jaxrate.core.array_types import Array, HostArray
from jaxrate.events import Ragged, Rounds, has_teammates


class PaddedRankings(NamedTuple):
    """Rankings, padded, the best first: leaves [R, P]."""

    player: Array
    mask: Array  # bool: False for padding
    is_choice: Array  # bool: whether their place is informative, and not a shared last place
    begin: Array  # start of the players who tie with them
    end: Array  # end of these
    weight: Array  # [R]
    is_fixed: Array  # [N] bool
    ground: Array  # [N] as in `StrengthProblem`
    precision: Array  # []
    center: Array  # [N] as in `StrengthProblem`


class RankingRows(NamedTuple):
    """Rankings, a row for each participant: leaves [n], the best of each ranking first."""

    ranking: HostArray  # from 0, without gaps
    player: HostArray
    rank: HostArray
    has_place: HostArray  # bool: False in a last place whose order is unknown
    weight: HostArray  # [R]


def rounds_to_rankings(rounds: Ragged, last_place_unranked: bool) -> RankingRows:
    """The rankings of rounds. ValueError for teams, weights that differ within a contest, ceilings or noise."""
    flat: Any = rounds.events
    if not isinstance(flat, Rounds):
        raise ValueError("strengths are fitted to matches, counts, rounds or a Dataset of them, and not to periods")
    if has_teammates(rounds):
        raise ValueError("strengths are fitted to single players, and not to teams")
    if flat.ceiling is not None or flat.noise is not None:
        raise ValueError("strengths are fitted without ceilings and noise of contests; leave them out")
    start = np.asarray(rounds.player_start)
    contest = np.repeat(np.arange(len(start) - 1), np.diff(start))
    weight, rank = np.asarray(flat.weight, np.float64), np.asarray(flat.rank)
    first = weight[start[:-1]]
    if (weight != first[contest]).any():
        raise ValueError("weights differ within a contest; give all its participants one weight")
    order = np.lexsort((rank, contest))
    best, worst = (ufunc.reduceat(rank, start[:-1]) if len(first) else rank for ufunc in (np.minimum, np.maximum))
    has_place = (rank < worst[contest]) | (best == worst)[contest] | (not last_place_unranked)
    return RankingRows(contest, np.asarray(flat.player)[order], rank[order], has_place[order], first)


def select_ranked_players(rows: RankingRows, mask: HostArray) -> RankingRows:
    """The rows of players under the mask, with new numbers, in rankings with two of them or more."""
    is_selected = mask[rows.player]
    is_selected &= np.bincount(rows.ranking, is_selected, len(rows.weight))[rows.ranking] > 1
    kept_rankings, ranking = np.unique(rows.ranking[is_selected], return_inverse=True)
    player = (np.cumsum(mask) - 1)[rows.player[is_selected]]
    return RankingRows(ranking, player, rows.rank[is_selected], rows.has_place[is_selected], rows.weight[kept_rankings])


def pad_rankings(rows: RankingRows, is_fixed: HostArray, ground: HostArray, precision: float) -> PaddedRankings:
    """Rankings as padded arrays."""
    ranking = rows.ranking
    size = np.bincount(ranking, minlength=len(rows.weight))
    shape = len(size), int(size.max(initial=1))
    player, begin, end = np.zeros(shape, np.int32), np.zeros(shape, np.int32), np.ones(shape, np.int32)
    mask, is_choice = np.zeros((2, *shape), bool)
    place = np.arange(len(ranking)) - (np.cumsum(size) - size)[ranking]
    position = ranking, place
    starts_tie = np.append(True, (ranking[1:] != ranking[:-1]) | (rows.rank[1:] != rows.rank[:-1]))[: len(ranking)]
    heads, tie = np.flatnonzero(starts_tie), np.cumsum(starts_tie) - 1
    player[position], mask[position], is_choice[position] = rows.player, True, rows.has_place
    begin[position] = place[heads][tie]
    end[position] = begin[position] + np.diff(np.append(heads, len(ranking)))[tie]
    center = np.zeros(len(is_fixed))
    return PaddedRankings(
        player, mask, is_choice, begin, end, rows.weight, is_fixed, ground, np.float64(precision), center
    )


def comparability_pairs_of_rankings(rows: RankingRows) -> tuple[HostArray, HostArray, HostArray, HostArray]:
    """Pairs who met, and whether the first did not lose, and did not win: enough pairs for `find_comparable_players`.

    Each player is paired with the last one before them whose place counts.
    """
    row = np.arange(len(rows.player))
    before = np.append(-1, np.maximum.accumulate(np.where(rows.has_place, row, -1)))[:-1]
    second = row[(before >= 0) & (rows.ranking[before] == rows.ranking)]
    first = before[second]
    ties = (rows.rank[first] == rows.rank[second]) & rows.has_place[second]
    return rows.player[first], rows.player[second], np.ones(len(first), bool), ties


def _plackett_luce_denominators(
    strength: Array, player: Array, mask: Array, choice: Array, begin: Array, end: Array
) -> tuple[Array, ...]:
    """For one ranking [P]: e^strength relative to the strongest, the divisors, and their shares of ties."""
    strengths = jnp.where(mask, strength[player], -jnp.inf)
    top = strengths.max()
    e = jnp.where(mask, jnp.exp(strengths - top), 0.0)
    after = jnp.concatenate([jnp.cumsum(e[::-1])[::-1], jnp.zeros(1, e.dtype)])
    place = jnp.arange(player.shape[0], dtype=begin.dtype)
    tie_share = (place - begin).astype(e.dtype) / (end - begin).astype(e.dtype)
    divisor = after[begin] - tie_share * (after[begin] - after[end])
    return e, jnp.where(choice, divisor, 1.0), jnp.where(choice, tie_share, 0.0), top


def ranking_log_likelihood(
    strength: Array, player: Array, mask: Array, choice: Array, begin: Array, end: Array
) -> Array:
    """The log likelihood [] of one ranking."""
    _, divisor, _, top = _plackett_luce_denominators(strength, player, mask, choice, begin, end)
    return jnp.where(choice, strength[player] - top - jnp.log(divisor), 0.0).sum()


def ranking_derivatives(
    strength: Array, player: Array, mask: Array, choice: Array, begin: Array, end: Array
) -> tuple[Any, Any]:
    """First derivatives [P] of one ranking's log likelihood by its players' strengths, and minus the second [P, P]."""
    e, divisor, tie_share, _ = _plackett_luce_denominators(strength, player, mask, choice, begin, end)
    place = jnp.arange(player.shape[0], dtype=begin.dtype)
    chosen = jnp.where(choice, 1.0, 0.0)

    def cumulative_sums(x: Array) -> Array:
        return jnp.concatenate([jnp.zeros(1, x.dtype), jnp.cumsum(x)])

    def sum_up_to_tie(before: Array, within: Array) -> Array:
        """[P] the sum of one term over places before each one's tie, and of another over the tie."""
        return cumulative_sums(before)[begin] + cumulative_sums(within)[end] - cumulative_sums(within)[begin]

    inverse, inverse_square = chosen / divisor, chosen / divisor**2
    first = sum_up_to_tie(inverse, (1.0 - tie_share) * inverse)
    slope = chosen - e * first
    tied_sum = sum_up_to_tie(inverse_square, (1.0 - tie_share) ** 2 * inverse_square)  # two tied players, or one twice
    later = sum_up_to_tie(inverse_square, (1.0 - tie_share) * inverse_square)  # a player and one after them
    is_tied = begin[:, None] == begin[None, :]
    earlier = place[:, None] < place[None, :]
    joint = jnp.where(is_tied, tied_sum[:, None], jnp.where(earlier, later[:, None], later[None, :]))
    return slope, jnp.diag(e * first) - e[:, None] * e[None, :] * joint


def _unpack_ranking_arrays(rankings: PaddedRankings) -> tuple[Array, ...]:
    return rankings.player, rankings.mask, rankings.is_choice, rankings.begin, rankings.end


def rankings_log_posterior(rankings: PaddedRankings, strength: Array) -> Array:
    """The log likelihood [] and the prior's part of it."""
    log_likelihood = jax.vmap(partial(ranking_log_likelihood, strength))(*_unpack_ranking_arrays(rankings))
    prior = jnp.where(rankings.is_fixed, 0.0, strength - rankings.center)
    return rankings.weight @ log_likelihood - 0.5 * rankings.precision * (prior**2).sum()


def rankings_derivatives(rankings: PaddedRankings, strength: Array) -> tuple[Array, Array, Array]:
    """The gradient [N], minus the Hessian [N, N], grounded, with ones for fixed strengths; the grounding's scale."""
    n = strength.shape[0]

    def add_ranking(total: tuple[Array, Array], ranking: tuple[Any, Array]) -> tuple[tuple[Array, Array], None]:
        ranking_arrays, weight = ranking
        slope, curve = ranking_derivatives(strength, *ranking_arrays)
        player = ranking_arrays[0]
        square = total[1].at[player[:, None], player[None, :]].add(weight * curve)
        return (total[0].at[player].add(weight * slope), square), None

    zero = jnp.zeros(n, strength.dtype), jnp.zeros((n, n), strength.dtype)
    (slope, matrix), _ = lax.scan(add_ranking, zero, (_unpack_ranking_arrays(rankings), rankings.weight))
    scale = jnp.trace(matrix) / n
    free = ~rankings.is_fixed
    matrix = jnp.where(free[:, None] & free[None, :], matrix, 0.0)
    matrix = matrix + scale * rankings.ground[:, None] * rankings.ground[None, :]
    matrix = matrix + jnp.diag(jnp.where(free, rankings.precision, 1.0))
    return jnp.where(free, slope - rankings.precision * (strength - rankings.center), 0.0), matrix, scale


@jax.jit
def maximise_rankings(rankings: PaddedRankings, strength: Array) -> SearchState:
    """Search for the maximum from these strengths [N]."""

    def gradient_and_step(x: Array, size: Array) -> tuple[Array, Array]:
        del size
        slope, matrix, _ = rankings_derivatives(rankings, x)
        return slope, jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(matrix), True), slope)

    return maximise_by_newton(partial(rankings_log_posterior, rankings), gradient_and_step, strength, strength.shape[0])


@jax.jit
def maximise_reweighted_ranking_replicates(
    rankings: PaddedRankings, strength: Array, weight: Array, center: Array
) -> SearchState:
    """Search for the maximum from these strengths with weights [B, R] of the rankings and means [B, N] of the prior."""
    return lax.map(
        lambda drawn: maximise_rankings(rankings._replace(weight=drawn[0], center=drawn[1]), strength), (weight, center)
    )


@jax.jit
def rankings_hessian_and_score_squares(rankings: PaddedRankings, strength: Array) -> tuple[Array, Array, Array]:
    """[N, N] minus the Hessian, the scale of its grounding, and [N, N] the squared scores, summed over rankings."""
    _, matrix, scale = rankings_derivatives(rankings, strength)
    n = strength.shape[0]

    def add_ranking(total: Array, ranking: tuple[Any, Array]) -> tuple[Array, None]:
        ranking_arrays, weight = ranking
        slope, _ = ranking_derivatives(strength, *ranking_arrays)
        player, score = ranking_arrays[0], weight * slope
        return total.at[player[:, None], player[None, :]].add(score[:, None] * score[None, :]), None

    squares, _ = lax.scan(
        add_ranking, jnp.zeros((n, n), strength.dtype), (_unpack_ranking_arrays(rankings), rankings.weight)
    )
    return matrix, scale, squares
