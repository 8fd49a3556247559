"""Who moved: how the results of each player scatter over time.

At the likeliest static strengths the scores s of a player's votes, s = d log likelihood / d strength, sum
to 0. Summed in order of time, and divided by the root of their summed squares, they are a Brownian bridge in the limit
if strengths rest (Hjort and Koning 2002; Zeileis and Hornik 2007, "Generalized M-fluctuation tests"), and then

    P(max over time |S| / sqrt(sum s^2) >= x) = 2 sum over k = 1, 2, ... of (-1)^(k - 1) exp(-2 k^2 x^2)

Votes of a cluster go together: then the covariance of S at GRID times is the sum over clusters of the outer squares of
their walks, from each of which its part of the strength found is taken, its end times the share of information until
then. The chance that a normal vector of this covariance is anywhere as far as S is simulated; where that is too rare,
it is at most the sum of its chances at each time (Bonferroni).

That others' strengths are found as well only narrows the bridge, so that the test errs on the safe side (Anderson
1955).
"""

import math
from functools import cache

import jax
import numpy as np

from jaxrate.arena.paired_comparison import likelihood_terms
from jaxrate.arena.strength_estimates import POINTS_PER_LOG_STRENGTH, Strengths
from jaxrate.arena.votes import Votes
from jaxrate.types import HostArray

GRID_TIMES = 32  # times at which walks of clusters are looked at
NORMAL_SAMPLES = 10_000  # normal vectors
MIN_EXCEEDANCES = 20  # of them as far, to know how rare that is


def fluctuation_by_player(
    strengths: Strengths, votes: Votes, mask: HostArray, cluster: HostArray | None, time: HostArray
) -> tuple[HostArray, HostArray, HostArray]:
    """[N] change in points, its error, and p of each player, by the kept votes; NaN of who has no scatter there."""
    n, (one, two) = len(strengths.players), votes.player.T
    rating = np.where(np.isfinite(strengths.rating), strengths.rating, np.nan)
    coefficient = np.array([*strengths.coefficient.values()])
    eta = (rating[one] - rating[two] + votes.covariates @ coefficient) / POINTS_PER_LOG_STRENGTH
    mask = mask & np.isfinite(eta)
    if not mask.any():
        return (np.full(n, np.nan),) * 3
    with jax.enable_x64(True):
        vote_terms = likelihood_terms(
            strengths.model, np.stack(votes.outcome), np.where(mask, eta, 0.0), np.float64(strengths.kappa)
        )
    score, weight = np.asarray(vote_terms.eta)[mask], np.asarray(vote_terms.eta_eta)[mask]
    player, time = np.concatenate([one[mask], two[mask]]), np.tile(time[mask], 2)
    score, weight = np.concatenate([score, -score]), np.tile(weight, 2)
    order = np.lexsort([time, player])
    player, time, score, weight = (x[order] for x in (player, time, score, weight))
    out, who = np.full((3, n), np.nan), np.unique(player)
    if cluster is None:
        out[:, who] = _test_independent_votes(player, time, score, weight)
    else:
        out[:, who] = _test_clustered_votes(player, time, score, weight, np.tile(cluster[mask], 2)[order])
    return out[0], out[1], out[2]


def _test_independent_votes(
    player: HostArray, time: HostArray, score: HostArray, weight: HostArray
) -> tuple[HostArray, HostArray, HostArray]:
    """The same of who plays, from their scores and information in order; votes are independent."""
    start = np.flatnonzero(np.append(True, player[1:] != player[:-1]))
    of = np.repeat(np.arange(len(start)), np.diff(np.append(start, len(player))))

    def summed(values: HostArray) -> HostArray:
        total = np.cumsum(values)
        return total - (total - values)[start][of]

    together = np.append((time[1:] == time[:-1]) & (of[1:] == of[:-1]), False)
    walk, square, information = summed(score), np.add.reduceat(score**2, start), np.add.reduceat(weight, start)
    furthest = np.maximum.reduceat(np.where(together, 0.0, np.abs(walk)), start)
    late = summed(weight) - weight >= 0.5 * information[of]
    change = variance = np.zeros(len(start))
    with np.errstate(divide="ignore", invalid="ignore"):
        for half, sign in ((~late, -1.0), (late, 1.0)):
            s, v, h = (np.add.reduceat(np.where(half, x, 0.0), start) for x in (score, score**2, weight))
            change, variance = change + sign * s / h, variance + v / h**2
        return (
            POINTS_PER_LOG_STRENGTH * change,
            POINTS_PER_LOG_STRENGTH * np.sqrt(variance),
            bridge_exceedance_probability(furthest / np.sqrt(square)),
        )


def _test_clustered_votes(
    player: HostArray, time: HostArray, score: HostArray, weight: HostArray, cluster: HostArray
) -> tuple[HostArray, HostArray, HostArray]:
    """The same where votes of a group go together."""
    start = np.flatnonzero(np.append(True, player[1:] != player[:-1]))
    player_tests = []
    for low, high in zip(start, np.append(start[1:], len(player)), strict=True):
        part = slice(low, high)
        total = np.cumsum(weight[part])
        ends = np.quantile(time[part], np.linspace(0.0, 1.0, GRID_TIMES + 1), method="inverted_cdf")
        middle = time[part][np.searchsorted(total, 0.5 * total[-1])]
        ends = np.unique(np.append(ends, middle))
        bin = np.searchsorted(ends, time[part])
        who = np.unique(cluster[part], return_inverse=True)[1]
        shape = int(who.max()) + 1, len(ends)
        steps = np.bincount(who * len(ends) + bin, score[part], shape[0] * shape[1]).reshape(shape)
        walks, known = np.cumsum(steps, axis=1), np.cumsum(np.bincount(bin, weight[part], len(ends)))
        walks -= walks[:, -1:] * (known / known[-1])
        count = shape[0] / max(shape[0] - 1, 1)
        half = int(np.searchsorted(ends, middle))
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = POINTS_PER_LOG_STRENGTH * (1.0 / known[half] + 1.0 / (known[-1] - known[half]))
            change = -steps[:, : half + 1].sum() * scale
            error = np.sqrt(count * (walks[:, half] ** 2).sum()) * scale
        far = float(np.abs(steps.sum(axis=0).cumsum()).max())
        player_tests.append((change, error, _exceedance_probability(far, count * walks.T @ walks)))
    change, error, p = np.array(player_tests).T
    return change, error, p


def _exceedance_probability(distance: float, covariance: HostArray) -> float:
    """The chance that a normal vector of this covariance [n, n] is anywhere as far from 0."""
    value, vector = np.linalg.eigh(covariance)
    some = value > 1e-12 * value[-1]
    if not value[-1] > 0:
        return np.nan
    drawn = (vector[:, some] * np.sqrt(value[some])).astype(np.float32) @ _normal_samples()[: int(some.sum())]
    count = int((np.abs(drawn).max(axis=0) >= distance).sum())
    if count >= MIN_EXCEEDANCES:
        return count / drawn.shape[1]
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    tails = sum(math.erfc(distance / (math.sqrt(2.0) * x)) for x in deviation.tolist() if x > 0)
    return min(tails, MIN_EXCEEDANCES / drawn.shape[1])


@cache
def _normal_samples() -> HostArray:
    """[GRID + 2, SAMPLES] the same normal numbers for everybody."""
    return np.random.default_rng(0).standard_normal((GRID_TIMES + 2, NORMAL_SAMPLES), np.float32)


def bridge_exceedance_probability(x: HostArray) -> HostArray:
    """The probability that a Brownian bridge is ever as far as x from 0 (Kolmogorov 1933)."""
    k = np.arange(1, 101)
    parts = np.where(k % 2 == 1, 2.0, -2.0) * np.exp(-2.0 * (k * np.maximum(x, 0.1)[..., None]) ** 2)
    return np.clip(parts.sum(axis=-1), 0.0, 1.0)
