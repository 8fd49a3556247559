"""Plackett-Luce: strengths from rankings of any length, some of them with ties or with a part only.

A ranking is made from the best place on: who comes next is i with probability p_i / (sum over those who are left)
(Plackett 1975). Those who tie came in an order that nobody saw; with S the sum over who is left before them and T that
over themselves, the m of them divide by (Efron 1977, Cox's likelihood being the same)

    product over l = 0 .. m - 1 of  S - (l / m) T

so that a tie of two alone is p_a p_b / ((p_a + p_b) (p_a + p_b) / 2), two results of a half. Those who share the last
place of a ranking in part were left out by who made it: they only come after the others.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.arena.newton import SearchState, maximise_by_newton
from jaxrate.events import Ragged, Rounds, has_teammates
from jaxrate.types import Array, HostArray


class PaddedRankings(NamedTuple):
    """Rankings, padded, the best first: leaves [R, P]."""

    player: Array
    part: Array  # bool: whether they are there
    choice: Array  # bool: whether theirs is a place that says something, and not the last of a ranking in part
    begin: Array  # where those who tie with them begin
    end: Array  # and end
    weight: Array  # [R]
    held: Array  # [N] bool
    ground: Array  # [N] as of `Problem`
    precision: Array  # []


class RankingRows(NamedTuple):
    """Rankings, a row for each participant: leaves [n], the best of each ranking first."""

    ranking: HostArray  # from 0, without gaps
    player: HostArray
    rank: HostArray
    placed: HostArray  # bool: whether they have a place of their own, and are not what a ranking in part leaves
    weight: HostArray  # [R]


def rounds_to_rows(rounds: Ragged, in_part: bool) -> RankingRows:
    """The rows of rounds. ValueError for teams, weights that differ within a contest, a ceiling or noise."""
    flat: Any = rounds.events
    if not isinstance(flat, Rounds):
        raise ValueError("static takes matches, counts, rounds or a Dataset of them, and not periods")
    if has_teammates(rounds):
        raise ValueError("static ranks players who play alone, and no teams")
    if flat.ceiling is not None or flat.noise is not None:
        raise ValueError("static knows neither ceilings nor noise of contests; leave them out")
    start = np.asarray(rounds.player_start)
    which = np.repeat(np.arange(len(start) - 1), np.diff(start))
    weight, rank = np.asarray(flat.weight, np.float64), np.asarray(flat.rank)
    first = weight[start[:-1]]
    if (weight != first[which]).any():
        raise ValueError("weights differ within a contest; static weighs contests as wholes")
    order = np.lexsort((rank, which))
    worst = np.maximum.reduceat(rank, start[:-1]) if len(first) else rank
    placed = (rank < worst[which]) if in_part else np.ones(len(rank), bool)
    return RankingRows(which, np.asarray(flat.player)[order], rank[order], placed[order], first)


def select_players(rows: RankingRows, mask: HostArray) -> RankingRows:
    """The rows of some players, who are numbered anew, in rankings of two at least."""
    row = mask[rows.player]
    row &= np.bincount(rows.ranking, row, len(rows.weight))[rows.ranking] > 1
    left, ranking = np.unique(rows.ranking[row], return_inverse=True)
    player = (np.cumsum(mask) - 1)[rows.player[row]]
    return RankingRows(ranking, player, rows.rank[row], rows.placed[row], rows.weight[left])


def pad_rankings(rows: RankingRows, held: HostArray, ground: HostArray, precision: float) -> PaddedRankings:
    """The rankings, padded."""
    which = rows.ranking
    size = np.bincount(which, minlength=len(rows.weight))
    shape = len(size), int(size.max(initial=1))
    player, begin, end = np.zeros(shape, np.int32), np.zeros(shape, np.int32), np.ones(shape, np.int32)
    part, choice = np.zeros((2, *shape), bool)
    place = np.arange(len(which)) - (np.cumsum(size) - size)[which]
    at = which, place
    new = np.append(True, (which[1:] != which[:-1]) | (rows.rank[1:] != rows.rank[:-1]))[: len(which)]
    heads, tie = np.flatnonzero(new), np.cumsum(new) - 1
    player[at], part[at], choice[at] = rows.player, True, rows.placed
    begin[at] = place[heads][tie]
    end[at] = begin[at] + np.diff(np.append(heads, len(which)))[tie]
    return PaddedRankings(player, part, choice, begin, end, rows.weight, held, ground, np.float64(precision))


def comparable_pairs(rows: RankingRows) -> tuple[HostArray, HostArray, HostArray, HostArray]:
    """Pairs who met, and whether the first did not lose, and did not win: enough of them to tell who can be compared.

    Each with who comes next, unless neither has a place of their own; and with the first of those with whom they tie.
    """
    player, rank, same = rows.player, rows.rank, np.append(rows.ranking[1:] == rows.ranking[:-1], False)
    level = same & np.append(rank[1:] == rank[:-1], False)
    said = np.flatnonzero(same & rows.placed)
    heads = np.flatnonzero(~np.append(False, level[:-1]))
    behind = np.flatnonzero(np.append(False, level[:-1]) & rows.placed)
    head = heads[np.searchsorted(heads, behind, side="right") - 1]
    yes = np.ones(len(behind), bool)
    first, second = np.append(player[said], player[head]), np.append(player[said + 1], player[behind])
    return first, second, np.ones(len(first), bool), np.append(level[said], yes)


def _choice_divisors(
    strength: Array, player: Array, mask: Array, choice: Array, begin: Array, end: Array
) -> tuple[Array, ...]:
    """Of one ranking [P]: e^strength relative to the strongest, the divisors, and the shares of ties within them."""
    own = jnp.where(mask, strength[player], -jnp.inf)
    top = own.max()
    e = jnp.where(mask, jnp.exp(own - top), 0.0)
    after = jnp.concatenate([jnp.cumsum(e[::-1])[::-1], jnp.zeros(1, e.dtype)])
    place = jnp.arange(player.shape[0], dtype=begin.dtype)
    share = (place - begin).astype(e.dtype) / (end - begin).astype(e.dtype)
    left = after[begin] - share * (after[begin] - after[end])
    return e, jnp.where(choice, left, 1.0), jnp.where(choice, share, 0.0), top


def ranking_log_likelihood(
    strength: Array, player: Array, mask: Array, choice: Array, begin: Array, end: Array
) -> Array:
    """The log likelihood [] of one ranking."""
    _, left, _, top = _choice_divisors(strength, player, mask, choice, begin, end)
    return jnp.where(choice, strength[player] - top - jnp.log(left), 0.0).sum()


def ranking_derivatives(
    strength: Array, player: Array, mask: Array, choice: Array, begin: Array, end: Array
) -> tuple[Any, Any]:
    """Of one ranking the derivatives [P] of its log likelihood by its players' strengths, and minus the second ones."""
    e, left, share, _ = _choice_divisors(strength, player, mask, choice, begin, end)
    place = jnp.arange(player.shape[0], dtype=begin.dtype)
    some = jnp.where(choice, 1.0, 0.0)

    def summed(x: Array) -> Array:
        return jnp.concatenate([jnp.zeros(1, x.dtype), jnp.cumsum(x)])

    def upto(before: Array, within: Array) -> Array:
        """[P] the sum over places before the ties of each, and of another term over their own."""
        return summed(before)[begin] + summed(within)[end] - summed(within)[begin]

    one, two = some / left, some / left**2
    first = upto(one, (1.0 - share) * one)
    slope = some - e * first
    same = upto(two, (1.0 - share) ** 2 * two)  # of two who tie, and of one twice
    later = upto(two, (1.0 - share) * two)  # of one with who comes after them
    tied = begin[:, None] == begin[None, :]
    earlier = place[:, None] < place[None, :]
    joint = jnp.where(tied, same[:, None], jnp.where(earlier, later[:, None], later[None, :]))
    return slope, jnp.diag(e * first) - e[:, None] * e[None, :] * joint


def _ranking_leaves(rankings: PaddedRankings) -> tuple[Array, ...]:
    return rankings.player, rankings.part, rankings.choice, rankings.begin, rankings.end


def rankings_log_posterior(rankings: PaddedRankings, strength: Array) -> Array:
    """The log likelihood [] and the prior's part of it."""
    log_likelihood = jax.vmap(partial(ranking_log_likelihood, strength))(*_ranking_leaves(rankings))
    prior = jnp.where(rankings.held, 0.0, strength)
    return rankings.weight @ log_likelihood - 0.5 * rankings.precision * (prior**2).sum()


def rankings_derivatives(rankings: PaddedRankings, strength: Array) -> tuple[Array, Array, Array]:
    """[N] the gradient, [N, N] minus the Hessian, grounded and with ones for who is held, and the grounding's scale."""
    n = strength.shape[0]

    def add(total: tuple[Array, Array], ranking: tuple[Any, Array]) -> tuple[tuple[Array, Array], None]:
        one, weight = ranking
        slope, curve = ranking_derivatives(strength, *one)
        who = one[0]
        square = total[1].at[who[:, None], who[None, :]].add(weight * curve)
        return (total[0].at[who].add(weight * slope), square), None

    zero = jnp.zeros(n, strength.dtype), jnp.zeros((n, n), strength.dtype)
    (slope, matrix), _ = lax.scan(add, zero, (_ranking_leaves(rankings), rankings.weight))
    scale = jnp.trace(matrix) / n
    free = ~rankings.held
    matrix = jnp.where(free[:, None] & free[None, :], matrix, 0.0)
    matrix = matrix + scale * rankings.ground[:, None] * rankings.ground[None, :]
    matrix = matrix + jnp.diag(jnp.where(free, rankings.precision, 1.0))
    return jnp.where(free, slope - rankings.precision * strength, 0.0), matrix, scale


@jax.jit
def maximise_rankings(rankings: PaddedRankings, strength: Array) -> SearchState:
    """The maximum from these strengths [N]."""

    def way(x: Array, size: Array) -> tuple[Array, Array]:
        del size
        slope, matrix, _ = rankings_derivatives(rankings, x)
        return slope, jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(matrix), True), slope)

    return maximise_by_newton(partial(rankings_log_posterior, rankings), way, strength, strength.shape[0])


@jax.jit
def maximise_weighted_rankings(rankings: PaddedRankings, strength: Array, weight: Array) -> SearchState:
    """The maxima from these strengths, with each of the weights [B, R] of the rankings."""
    return lax.map(lambda w: maximise_rankings(rankings._replace(weight=w), strength), weight)


@jax.jit
def rankings_curvature(rankings: PaddedRankings, strength: Array) -> tuple[Array, Array, Array]:
    """[N, N] minus the Hessian, the scale of its grounding, and [N, N] the squared scores, summed over rankings."""
    _, matrix, scale = rankings_derivatives(rankings, strength)
    n = strength.shape[0]

    def add(total: Array, ranking: tuple[Any, Array]) -> tuple[Array, None]:
        one, weight = ranking
        slope, _ = ranking_derivatives(strength, *one)
        who, score = one[0], weight * slope
        return total.at[who[:, None], who[None, :]].add(score[:, None] * score[None, :]), None

    squares, _ = lax.scan(add, jnp.zeros((n, n), strength.dtype), (_ranking_leaves(rankings), rankings.weight))
    return matrix, scale, squares
