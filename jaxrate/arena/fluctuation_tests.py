"""Tests whether the strength of each player changed, by how their results scatter over time.

At the likeliest static strengths the scores s of a player's votes, s = d log likelihood / d strength, sum
to 0. Summed in order of time, and divided by the root of their summed squares, they are a Brownian bridge in the limit
if strengths are constant (Hjort and Koning 2002; Zeileis and Hornik 2007, "Generalized M-fluctuation tests"), and then

    P(max over time |S| / sqrt(sum s^2) >= x) = 2 sum over k = 1, 2, ... of (-1)^(k - 1) exp(-2 k^2 x^2)

With clusters of votes, the covariance of S at GRID_TIMES times is the sum over clusters of the outer squares of their
walks. From each walk its effect on the fitted strength is subtracted: its end times the share of information until
then. The probability that a normal vector of this covariance is anywhere as far from 0 as S is simulated; if that is
too rare, it is bounded by the sum of the probabilities at each time (Bonferroni).

The strengths of the others are estimated too. This only narrows the bridge, so that the test is conservative (Anderson
1955).
"""

import math
from functools import cache

import jax
import numpy as np

from jaxrate.arena.paired_comparison_likelihood import log_likelihood_and_derivatives
from jaxrate.arena.strength_estimates import POINTS_PER_LOG_STRENGTH, Strengths
from jaxrate.arena.votes import Votes
from jaxrate.core.array_types import HostArray

GRID_TIMES = 32  # times at which walks of clusters are compared
NORMAL_SAMPLES = 10_000  # normal vectors
MIN_EXCEEDANCES = 20  # fewer samples as far away do not give a p value


def strength_change_tests_by_player(
    strengths: Strengths, votes: Votes, mask: HostArray, cluster: HostArray | None, time: HostArray
) -> tuple[HostArray, HostArray, HostArray]:
    """[N] change in points, its error, and p of each player, from votes under the mask; NaN without such votes."""
    n, (first, second) = len(strengths.players), votes.player.T
    rating = np.where(np.isfinite(strengths.rating), strengths.rating, np.nan)
    coefficient = np.array([*strengths.coefficient.values()])
    eta = (rating[first] - rating[second] + votes.covariates @ coefficient) / POINTS_PER_LOG_STRENGTH
    mask = mask & np.isfinite(eta)
    if not mask.any():
        return (np.full(n, np.nan),) * 3
    with jax.enable_x64(True):
        vote_terms = log_likelihood_and_derivatives(
            strengths.model, np.stack(votes.outcome), np.where(mask, eta, 0.0), np.float64(strengths.kappa)
        )
    score, weight = np.asarray(vote_terms.eta)[mask], np.asarray(vote_terms.eta_eta)[mask]
    player, time = np.concatenate([first[mask], second[mask]]), np.tile(time[mask], 2)
    score, weight = np.concatenate([score, -score]), np.tile(weight, 2)
    order = np.lexsort([time, player])
    player, time, score, weight = (x[order] for x in (player, time, score, weight))
    result, player_ids = np.full((3, n), np.nan), np.unique(player)
    if cluster is None:
        result[:, player_ids] = _strength_change_tests_independent(player, time, score, weight)
    else:
        result[:, player_ids] = _strength_change_tests_clustered(
            player, time, score, weight, np.tile(cluster[mask], 2)[order]
        )
    return result[0], result[1], result[2]


def _strength_change_tests_independent(
    player: HostArray, time: HostArray, score: HostArray, weight: HostArray
) -> tuple[HostArray, HostArray, HostArray]:
    """Change, error and p of the players who have votes, from scores and information in order of player and time."""
    start = np.flatnonzero(np.append(True, player[1:] != player[:-1]))
    player_index = np.repeat(np.arange(len(start)), np.diff(np.append(start, len(player))))

    def sums_within_player(values: HostArray) -> HostArray:
        total = np.cumsum(values)
        return total - (total - values)[start][player_index]

    same_time_as_next = np.append((time[1:] == time[:-1]) & (player_index[1:] == player_index[:-1]), False)
    walk, square, information = (
        sums_within_player(score),
        np.add.reduceat(score**2, start),
        np.add.reduceat(weight, start),
    )
    furthest = np.maximum.reduceat(np.where(same_time_as_next, 0.0, np.abs(walk)), start)
    late = sums_within_player(weight) - weight >= 0.5 * information[player_index]
    change = variance = np.zeros(len(start))
    with np.errstate(divide="ignore", invalid="ignore"):
        for half, sign in ((~late, -1.0), (late, 1.0)):
            s, v, h = (np.add.reduceat(np.where(half, x, 0.0), start) for x in (score, score**2, weight))
            change, variance = change + sign * s / h, variance + v / h**2
        return (
            POINTS_PER_LOG_STRENGTH * change,
            POINTS_PER_LOG_STRENGTH * np.sqrt(variance),
            brownian_bridge_exceedance_probability(furthest / np.sqrt(square)),
        )


def _strength_change_tests_clustered(
    player: HostArray, time: HostArray, score: HostArray, weight: HostArray, cluster: HostArray
) -> tuple[HostArray, HostArray, HostArray]:
    """The same with clusters of votes."""
    start = np.flatnonzero(np.append(True, player[1:] != player[:-1]))
    player_tests = []
    for low, high in zip(start, np.append(start[1:], len(player)), strict=True):
        rows = slice(low, high)
        total = np.cumsum(weight[rows])
        ends = np.quantile(time[rows], np.linspace(0.0, 1.0, GRID_TIMES + 1), method="inverted_cdf")
        middle = time[rows][np.searchsorted(total, 0.5 * total[-1])]
        ends = np.unique(np.append(ends, middle))
        time_bin = np.searchsorted(ends, time[rows])
        cluster_index = np.unique(cluster[rows], return_inverse=True)[1]
        shape = int(cluster_index.max()) + 1, len(ends)
        steps = np.bincount(cluster_index * len(ends) + time_bin, score[rows], shape[0] * shape[1]).reshape(shape)
        walks, information = np.cumsum(steps, axis=1), np.cumsum(np.bincount(time_bin, weight[rows], len(ends)))
        walks -= walks[:, -1:] * (information / information[-1])
        count = shape[0] / max(shape[0] - 1, 1)
        half = int(np.searchsorted(ends, middle))
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = POINTS_PER_LOG_STRENGTH * (1.0 / information[half] + 1.0 / (information[-1] - information[half]))
            change = -steps[:, : half + 1].sum() * scale
            error = np.sqrt(count * (walks[:, half] ** 2).sum()) * scale
        largest_walk = float(np.abs(steps.sum(axis=0).cumsum()).max())
        player_tests.append(
            (change, error, _normal_maximum_exceedance_probability(largest_walk, count * walks.T @ walks))
        )
    change, error, p = np.array(player_tests).T
    return change, error, p


def _normal_maximum_exceedance_probability(distance: float, covariance: HostArray) -> float:
    """The probability that a normal vector of this covariance [n, n] is anywhere as far from 0."""
    value, vector = np.linalg.eigh(covariance)
    is_positive = value > 1e-12 * value[-1]
    if not value[-1] > 0:
        return np.nan
    samples = (vector[:, is_positive] * np.sqrt(value[is_positive])).astype(np.float32) @ _normal_samples()[
        : int(is_positive.sum())
    ]
    count = int((np.abs(samples).max(axis=0) >= distance).sum())
    if count >= MIN_EXCEEDANCES:
        return count / samples.shape[1]
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    tails = sum(math.erfc(distance / (math.sqrt(2.0) * x)) for x in deviation.tolist() if x > 0)
    return min(tails, MIN_EXCEEDANCES / samples.shape[1])


@cache
def _normal_samples() -> HostArray:
    """[GRID_TIMES + 2, NORMAL_SAMPLES] normal numbers, the same for all players."""
    return np.random.default_rng(0).standard_normal((GRID_TIMES + 2, NORMAL_SAMPLES), np.float32)


def brownian_bridge_exceedance_probability(x: HostArray) -> HostArray:
    """The probability that a Brownian bridge is ever as far as x from 0 (Kolmogorov 1933)."""
    k = np.arange(1, 101)
    terms = np.where(k % 2 == 1, 2.0, -2.0) * np.exp(-2.0 * (k * np.maximum(x, 0.1)[..., None]) ** 2)
    return np.clip(terms.sum(axis=-1), 0.0, 1.0)
