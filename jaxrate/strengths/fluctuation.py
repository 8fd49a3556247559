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
from typing import Any

import jax
import numpy as np

from jaxrate.strengths.found import POINTS, Strengths
from jaxrate.strengths.models import terms
from jaxrate.strengths.votes import Votes

NumPy = np.ndarray[Any, Any]
GRID = 32  # times at which walks of clusters are looked at
SAMPLES = 10_000  # normal vectors
ENOUGH = 20  # of them as far, to know how rare that is


def fluctuation(
    found: Strengths, votes: Votes, kept: NumPy, group: NumPy | None, time: NumPy
) -> tuple[NumPy, NumPy, NumPy]:
    """[N] change in points, its error, and p of each player, by the kept votes; NaN of who has no scatter there."""
    n, (one, two) = len(found.players), votes.player.T
    rating = np.where(np.isfinite(found.rating), found.rating, np.nan)
    coefficient = np.array([*found.coefficient.values()])
    eta = (rating[one] - rating[two] + votes.covariates @ coefficient) / POINTS
    kept = kept & np.isfinite(eta)
    if not kept.any():
        return (np.full(n, np.nan),) * 3
    with jax.enable_x64(True):
        said = terms(found.model, np.stack(votes.outcome), np.where(kept, eta, 0.0), np.float64(found.kappa))
    score, weight = np.asarray(said.eta)[kept], np.asarray(said.eta_eta)[kept]
    player, time = np.concatenate([one[kept], two[kept]]), np.tile(time[kept], 2)
    score, weight = np.concatenate([score, -score]), np.tile(weight, 2)
    order = np.lexsort([time, player])
    player, time, score, weight = (x[order] for x in (player, time, score, weight))
    out, who = np.full((3, n), np.nan), np.unique(player)
    if group is None:
        out[:, who] = _bridges(player, time, score, weight)
    else:
        out[:, who] = _walks(player, time, score, weight, np.tile(group[kept], 2)[order])
    return out[0], out[1], out[2]


def _bridges(player: NumPy, time: NumPy, score: NumPy, weight: NumPy) -> tuple[NumPy, NumPy, NumPy]:
    """The same of who plays, from their scores and information in order; votes are independent."""
    start = np.flatnonzero(np.append(True, player[1:] != player[:-1]))
    of = np.repeat(np.arange(len(start)), np.diff(np.append(start, len(player))))

    def summed(values: NumPy) -> NumPy:
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
        return POINTS * change, POINTS * np.sqrt(variance), bridge_exceeds(furthest / np.sqrt(square))


def _walks(player: NumPy, time: NumPy, score: NumPy, weight: NumPy, group: NumPy) -> tuple[NumPy, NumPy, NumPy]:
    """The same where votes of a group go together."""
    start = np.flatnonzero(np.append(True, player[1:] != player[:-1]))
    found = []
    for low, high in zip(start, np.append(start[1:], len(player)), strict=True):
        part = slice(low, high)
        total = np.cumsum(weight[part])
        ends = np.quantile(time[part], np.linspace(0.0, 1.0, GRID + 1), method="inverted_cdf")
        middle = time[part][np.searchsorted(total, 0.5 * total[-1])]
        ends = np.unique(np.append(ends, middle))
        bin = np.searchsorted(ends, time[part])
        who = np.unique(group[part], return_inverse=True)[1]
        shape = int(who.max()) + 1, len(ends)
        steps = np.bincount(who * len(ends) + bin, score[part], shape[0] * shape[1]).reshape(shape)
        walks, known = np.cumsum(steps, axis=1), np.cumsum(np.bincount(bin, weight[part], len(ends)))
        walks -= walks[:, -1:] * (known / known[-1])
        count = shape[0] / max(shape[0] - 1, 1)
        half = int(np.searchsorted(ends, middle))
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = POINTS * (1.0 / known[half] + 1.0 / (known[-1] - known[half]))
            change = -steps[:, : half + 1].sum() * scale
            error = np.sqrt(count * (walks[:, half] ** 2).sum()) * scale
        far = float(np.abs(steps.sum(axis=0).cumsum()).max())
        found.append((change, error, _exceeds(far, count * walks.T @ walks)))
    change, error, p = np.array(found).T
    return change, error, p


def _exceeds(far: float, covariance: NumPy) -> float:
    """The chance that a normal vector of this covariance [n, n] is anywhere as far from 0."""
    value, vector = np.linalg.eigh(covariance)
    some = value > 1e-12 * value[-1]
    if not value[-1] > 0:
        return np.nan
    drawn = (vector[:, some] * np.sqrt(value[some])).astype(np.float32) @ _normal()[: int(some.sum())]
    count = int((np.abs(drawn).max(axis=0) >= far).sum())
    if count >= ENOUGH:
        return count / drawn.shape[1]
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    tails = sum(math.erfc(far / (math.sqrt(2.0) * x)) for x in deviation.tolist() if x > 0)
    return min(tails, ENOUGH / drawn.shape[1])


@cache
def _normal() -> NumPy:
    """[GRID + 2, SAMPLES] the same normal numbers for everybody."""
    return np.random.default_rng(0).standard_normal((GRID + 2, SAMPLES), np.float32)


def bridge_exceeds(x: NumPy) -> NumPy:
    """The probability that a Brownian bridge is ever as far as x from 0 (Kolmogorov 1933)."""
    k = np.arange(1, 101)
    parts = np.where(k % 2 == 1, 2.0, -2.0) * np.exp(-2.0 * (k * np.maximum(x, 0.1)[..., None]) ** 2)
    return np.clip(parts.sum(axis=-1), 0.0, 1.0)
