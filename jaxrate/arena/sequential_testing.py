"""Sequential tests as engine testers use them: does a change gain at least so many points?

The generalised sequential probability ratio test compares the largest likelihood of the counts under both hypotheses:

    LLR = sum_i n_i log(p1_i / p0_i),  p_k the likeliest distribution whose strength is that of hypothesis k

and ends where LLR leaves (log(beta / (1 - alpha)), log((1 - beta) / alpha)) (Wald 1945). Strength is Elo of the mean
score, or normalised Elo (Van den Bergh 2020, Normalized Elo), (mean - 1/2) / deviation of a game in units of
ln(10) / 800, which does not depend on how many games are drawn or how openings are balanced.

Two games from one opening with sides reversed are a pair with five possible results (pentanomial), and the deviation
of a game is sqrt(2) times that of the pair's mean score. The likeliest p has p_i = f_i / (1 + x g_i) with f the
frequencies, g_i = a_i - s for a mean score s, and, for (mean - 1/2) / deviation = t, the slope of the constraint,
g_i = a_i - 1/2 - t d (1 + ((a_i - mean) / d)^2) / 2, at mean and deviation d of p itself.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import check_that, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.events.column_checks import fail_where, to_checked_numbers

NORMALISED_ELO_UNIT = 800.0 / math.log(10.0)  # normalised Elo of a unit of (mean - 1/2) / deviation
PSEUDO_COUNT = 1e-3  # count of a result that did not occur
MAX_ROUNDS = 1000


class SequentialTest(NamedTuple):
    """The state of a sequential test."""

    decision: str  # "H0" | "H1" | "continue"
    llr: float  # log likelihood ratio
    lower: float  # H0 is accepted at or below it
    upper: float  # H1 at or above it
    games: float
    score: float  # mean score of a game
    elo: float  # Elo of the mean score
    elo_error: float  # standard error
    normalised_elo: float
    normalised_error: float
    probability_better: float  # probability that the strength is above 0

    def __repr__(self) -> str:
        between = f"({self.lower:.2f}, {self.upper:.2f})"
        elo = f"{self.elo:.1f} ± {1.96 * self.elo_error:.1f}"
        normalised = f"{self.normalised_elo:.1f} ± {1.96 * self.normalised_error:.1f}"
        return (
            f"{self.decision}: LLR {self.llr:.2f} in {between} after {self.games:g} games\n"
            f"Elo {elo}, normalised {normalised} (95%), better with probability {self.probability_better:.3f}"
        )


def pentanomial(score: Any) -> HostArray:
    """[5] how many pairs of games gave 0, 1/2, 1, 3/2 and 2 points.

        jr.arena.pentanomial([1, 0.5, 0, 1])  # pairs of 3/2 and of 1 point

    Args:
      score: [2 m] score of the tested player in each game: 0, 1/2 or 1. Games 0 and 1 are a pair, 2 and 3, and so on.

    Raises:
      ValueError: for another score (names the row), or an odd number of games.
    """
    values = to_checked_numbers("score", score, (np.size(score),)).astype(np.float64)
    fail_where(~np.isin(values, (0.0, 0.5, 1.0)), lambda row: f"score {values[row]:g} is none of 0, 0.5 and 1")
    if len(values) % 2:
        raise ValueError(f"{len(values)} games do not form pairs; leave the last one out")
    return np.bincount((2 * values.reshape(-1, 2).sum(axis=1)).astype(int), minlength=5)


@enforce_argument_annotations
def sprt(
    results: Sequence[float] | HostArray,
    elo0: float,
    elo1: float,
    *,
    kind: Literal["normalised", "logistic"] = "normalised",
    alpha: float = 0.05,
    beta: float = 0.05,
) -> SequentialTest:
    """The sequential probability ratio test of H0, strength elo0, against H1, strength elo1.

        jr.arena.sprt([120, 400, 150], 0, 5)  # losses, draws, wins
        jr.arena.sprt(jr.arena.pentanomial(scores), 0, 2)

    Args:
      results: [3] how many games were lost, drawn and won, or [5] how many pairs of games gave 0, 1/2, 1, 3/2 and 2
        points.
      elo0: the strength of H0 (points).
      elo1: the strength of H1 (points), above `elo0`.
      kind: "normalised" Elo, or "logistic", of the mean score.
      alpha: the probability to accept H1 where H0 holds.
      beta: the probability to accept H0 where H1 holds.

    Raises:
      ValueError: for invalid counts, or hypotheses or probabilities out of range.
    """
    counts = _check_counts(results)
    check_that(-math.inf < elo0 < elo1 < math.inf, f"elo0 must be below elo1, got {elo0!r} and {elo1!r}")
    if not (0 < alpha < 1 and 0 < beta < 1 and alpha + beta < 1):
        raise ValueError(f"alpha and beta must be above 0, and below 1 together, got {alpha!r} and {beta!r}")
    total = float(counts.sum())
    games_per_count = 1 if len(counts) == 3 else 2  # games
    frequency = np.where(counts > 0, counts, PSEUDO_COUNT)
    frequency = frequency / frequency.sum()
    points = np.linspace(0.0, 1.0, len(counts))
    if kind == "logistic":
        p0, p1 = (_tilt_to_zero_mean(points - 1.0 / (1.0 + 10.0 ** (-elo / 400.0)), frequency) for elo in (elo0, elo1))
    else:
        ratios = (elo / NORMALISED_ELO_UNIT * math.sqrt(games_per_count) for elo in (elo0, elo1))
        p0, p1 = (likeliest_distribution_with_mean_over_deviation(points, frequency, x) for x in ratios)
    llr = total * float(frequency @ np.log(p1 / p0))
    lower, upper = math.log(beta / (1.0 - alpha)), math.log((1.0 - beta) / alpha)
    mean, deviation = mean_and_deviation(points, frequency)
    ratio, games = (mean - 0.5) / (deviation * math.sqrt(games_per_count)), total * games_per_count
    slope = 400.0 / math.log(10.0) / (mean * (1.0 - mean))
    return SequentialTest(
        "H1" if llr >= upper else "H0" if llr <= lower else "continue",
        llr,
        lower,
        upper,
        games,
        mean,
        400.0 * math.log10(mean / (1.0 - mean)),
        slope * deviation / math.sqrt(total),
        ratio * NORMALISED_ELO_UNIT,
        NORMALISED_ELO_UNIT / math.sqrt(games),
        NormalDist().cdf(ratio * math.sqrt(games)),
    )


def _check_counts(results: Any) -> HostArray:
    """[3] or [5] the counts of results as numbers; ValueError if they are none."""
    counts = np.asarray(results)
    if counts.shape not in ((3,), (5,)):
        raise ValueError(f"results must be 3 counts of games or 5 of pairs, got the shape {counts.shape}")
    counts = to_checked_numbers("results", counts, counts.shape).astype(np.float64)
    fail_where(counts < 0, lambda row: f"results has {counts[row]:g}, below 0")
    check_that(counts.any(), "there is no game")
    return counts


def mean_and_deviation(points: HostArray, p: HostArray) -> tuple[float, float]:
    mean = float(p @ points)
    return mean, math.sqrt(float(p @ (points - mean) ** 2))


def likeliest_distribution_with_mean_over_deviation(points: HostArray, frequency: HostArray, ratio: float) -> HostArray:
    """[k] the likeliest distribution over points [k], by how often each was seen, whose (mean - 1/2) / deviation is so.

    Raises:
      ValueError: if no distribution over the points has this ratio, as far as the iteration finds.
    """
    p = np.full(len(points), 1.0 / len(points))
    for _ in range(MAX_ROUNDS):
        mean, deviation = mean_and_deviation(points, p)
        slope = points - 0.5 - 0.5 * ratio * deviation * (1.0 + ((points - mean) / deviation) ** 2)
        previous, p = p, _tilt_to_zero_mean(slope, frequency)
        if np.abs(p - previous).max() < 1e-12:
            return p
    raise ValueError("such extreme strengths have no likeliest distribution; choose hypotheses closer to 0")


def _tilt_to_zero_mean(slope: HostArray, frequency: HostArray) -> HostArray:
    """[k] f / (1 + x g) with the x at which the mean of g is zero, by bisection: the mean decreases with x."""
    if not slope.min() < 0 < slope.max():
        raise ValueError("such extreme strengths have no likeliest distribution; choose hypotheses closer to 0")
    low, high = -1.0 / slope.max(), -1.0 / slope.min()
    for _ in range(200):
        x = 0.5 * (low + high)
        if not low < x < high:
            break
        above = float(frequency @ (slope / (1.0 + x * slope))) > 0
        low, high = (x, high) if above else (low, x)
    p = frequency / (1.0 + 0.5 * (low + high) * slope)
    return np.asarray(p / p.sum())
