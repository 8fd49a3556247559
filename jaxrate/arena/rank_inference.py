"""Inference about ranks: simultaneous sets of ranks, groups, and the number of votes that are still needed.

Ranks follow Mogstad, Romano, Shaikh and Wilhelm (2024, Inference for ranks, section 3.3): all differences of two
players have simultaneous one-sided intervals, from the largest studentised difference

    max over j, k of (x_j - x_k) / s_jk,   x ~ N(0, covariance), or the replicates of a bootstrap about the estimate

(a bound that few clusters raise to that of Student's t with the same probability),
and each player who is surely better than j lowers j's best rank. Differences that are sure are left out of the maximum,
which is then computed again from the rest (step-down, Romano and Wolf 2005), until no more are sure.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy.special import ndtr, stdtrit  # type: ignore[import-untyped]

from jaxrate.arena.newton import vote_information
from jaxrate.arena.strength_fit import POINTS_PER_LOG_STRENGTH, Strengths
from jaxrate.core.argument_checks import MAX_SAMPLES, check_count, check_that, enforce_argument_annotations
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.text_format import format_decimals, format_range
from jaxrate.history.column_table import ColumnTable, PrintedResult
from jaxrate.history.history import find_player_id

SAMPLE_BLOCK = 500  # samples that a program compares at once
SINGULAR_SHARE = 1e-10  # of the largest variance, which makes a singular covariance definite
MAX_RANKED = 1000  # players, of whom the command line and plots compare all pairs for their ranks


@dataclass(frozen=True, eq=False, repr=False)
class RankSets(PrintedResult):
    """The ranks that each player may have: simultaneous confidence sets."""

    players: HostArray  # [N] names, or ids
    rating: HostArray  # [N] points
    least: HostArray  # [N] the best possible rank, from 1
    greatest: HostArray  # [N] the worst possible rank
    surely_better: HostArray  # [N, N] whether the first is surely the better
    level: float  # probability that all sets hold
    votes: float  # that strengths were fitted to

    def columns(self) -> ColumnTable:
        """The table as columns, the best first."""
        columns = {name: getattr(self, name)[self.order] for name in ("least", "greatest", "players", "rating")}
        return ColumnTable({"player" if name == "players" else name: values for name, values in columns.items()})

    @property
    def order(self) -> HostArray:
        """[N] ids, the best first; those without a rating last."""
        return np.argsort(-np.where(np.isnan(self.rating), -np.inf, self.rating), kind="stable")

    @property
    def possible_leaders(self) -> list[int]:
        """Ids of all who may have rank 1, the highest rating first."""
        return [i for i in self.order.tolist() if self.least[i] == 1]

    @property
    def groups(self) -> list[HostArray]:
        """Largest groups of ids with adjacent ranks in which no player is surely better than another."""
        order = self.order[np.isfinite(self.rating[self.order])]
        groups: list[HostArray] = []
        end = 0
        for begin in range(len(order)):
            group_end = max(end, begin + 1)
            while group_end < len(order) and not self.surely_better[order[begin:group_end], order[group_end]].any():
                group_end += 1
            if group_end > end:
                groups.append(order[begin:group_end])
            end = group_end
        return groups

    def summary_lines(self) -> list[str]:
        """The line above the table."""
        return [f"simultaneous ranks at {self.level:.0%}"]

    def heads_and_cells(self, top: int | None = None) -> tuple[list[str], list[Any]]:
        """The heads, and the cells of the first `top` rows, as text for people."""
        rows = [
            (format_range(self.least[i], self.greatest[i]), self.players[i], format_decimals(self.rating[i], 1))
            for i in self.order[:top].tolist()
        ]
        return ["ranks", "player", "rating"], rows


@enforce_argument_annotations
def rank_sets(strengths: Strengths, *, level: float = 0.95, samples: int = 4000, seed: int = 0) -> RankSets:
    """The best and the worst possible rank of each player, simultaneously for all players.

        jr.arena.rank_sets(jr.arena.fit_strengths(votes))

    Players without a finite rating may have any rank.

    Args:
      strengths: from `fit_strengths`; bootstrap replicates are used if there are any.
      level: the probability that all sets hold, above 0 and below 1.
      samples: without a bootstrap, the number of normal samples for the maximum.
      seed: without a bootstrap, the seed of these samples.

    Raises:
      ValueError: for a level out of range, or strengths without a covariance or that did not converge.
    """
    strengths.check_converged()
    if (covariance := strengths.covariance) is None:
        raise ValueError("strengths of so many players have no covariance, which this needs")
    check_in_open_unit_interval("level", level)
    check_count("samples", samples, 1, MAX_SAMPLES)
    rated_ids = np.flatnonzero(np.isfinite(strengths.rating))
    rating, square = strengths.rating[rated_ids], covariance[np.ix_(rated_ids, rated_ids)]
    if strengths.samples is None:
        samples_drawn = _normal_samples(square, samples, seed)
    else:
        samples_drawn = strengths.samples[:, rated_ids] - rating
    error = np.sqrt(difference_variance(square))
    exact = error <= 1e-9 * max(1.0, float(error.max(initial=0.0)))  # of a player with themselves, of two anchors
    difference = rating[:, None] - rating[None, :]
    sure = exact & (difference > 0)
    inverse = np.where(exact, 0.0, 1.0 / np.where(exact, 1.0, error))
    largest, changed = _LargestDifferences(samples_drawn), np.arange(len(samples_drawn))
    while True:
        largest.update(changed, np.where(sure, 0.0, inverse))
        bound = stdtrit(strengths.degrees_of_freedom, ndtr(np.quantile(largest.value, level)))
        newly_sure = ~sure & (difference * inverse > bound)
        if not newly_sure.any():
            break
        sure |= newly_sure
        changed = np.flatnonzero(newly_sure[largest.first, largest.second])
    n, num_unrated = len(strengths.rating), len(strengths.rating) - len(rated_ids)
    least, greatest = np.ones(n, int), np.full(n, n)
    least[rated_ids] = 1 + sure.sum(axis=0)
    greatest[rated_ids] = len(rated_ids) - sure.sum(axis=1) + num_unrated
    surely_better = np.zeros((n, n), bool)
    surely_better[np.ix_(rated_ids, rated_ids)] = sure
    return RankSets(strengths.players, strengths.rating, least, greatest, surely_better, level, strengths.votes)


@enforce_argument_annotations
def votes_needed(
    strengths: Strengths, a: Any, b: Any, *, difference: float | None = None, level: float = 0.95, power: float = 0.8
) -> float:
    """The number of further votes between two players that are needed to tell them apart.

        jr.arena.votes_needed(jr.arena.fit_strengths(data), "Ada", "Bo")

    Further votes are as dependent as the present ones: where errors are larger than those of independent votes under
    the model, by how much the variance of this difference is larger, so much less does a vote tell. Votes of other
    pairs stay as they are.

    Args:
      strengths: the estimates, from `fit_strengths`.
      a: the first player, by name or by id.
      b: the second player, likewise.
      difference: the difference to be detected (points). None: the estimated one.
      level: the confidence level of the two-sided test.
      power: the probability that the difference is detected.

    Returns:
      A whole number; 0 if the present votes suffice, inf for a difference of 0.

    Raises:
      ValueError: for an unknown player or one without a rating, a level or power out of range, or strengths that did
        not converge.
    """
    points, _ = strengths.difference(a, b)
    check_in_open_unit_interval("level", level)
    check_in_open_unit_interval("power", power)
    ids = [find_player_id(strengths.players, player) for player in (a, b)]
    return float(further_votes(strengths, ids, points if difference is None else difference, level, power)[0, 1])


def further_votes(
    strengths: Strengths, ids: Any, difference: Any, level: float = 0.95, power: float = 0.8
) -> HostArray:
    """[n, n] further votes on players, whole or inf, until differences (points) are detected so surely."""
    error_needed = np.abs(difference) / stdtrit(strengths.degrees_of_freedom, [0.5 + 0.5 * level, power]).sum()
    square, covariances = np.ix_(ids, ids), (strengths.covariance, strengths.curvature)
    variance, model_variance = (difference_variance(np.asarray(x)[square]) for x in covariances)
    log_odds = (strengths.rating[ids, None] - strengths.rating[ids]) / POINTS_PER_LOG_STRENGTH
    information_per_vote = vote_information(strengths.model, log_odds, strengths.kappa) / POINTS_PER_LOG_STRENGTH**2
    with np.errstate(divide="ignore", invalid="ignore"):
        precision_per_vote = information_per_vote * model_variance / variance
        missing = np.ceil((error_needed**-2.0 - 1.0 / variance) / precision_per_vote)
    return np.where(error_needed > 0, np.where(variance <= error_needed**2, 0.0, missing), np.inf)


def check_in_open_unit_interval(name: str, value: float) -> None:
    check_that(0 < value < 1, f"{name} must be above 0 and below 1, got {value!r}")


def difference_variance(covariance: HostArray) -> HostArray:
    """[n, n] variances of the differences of two players; those that are negative by rounding are 0."""
    variance = np.diag(covariance)
    return np.maximum(variance[:, None] + variance[None, :] - 2.0 * covariance, 0.0)


def _normal_samples(covariance: HostArray, count: int, seed: int) -> HostArray:
    """[count, n] normal samples whose differences have the covariance; all share a part, so that it is definite."""
    n, scale = len(covariance), float(np.diag(covariance).max(initial=1.0))
    factor = np.linalg.cholesky(covariance + scale * (1.0 + SINGULAR_SHARE * np.eye(n)))
    return np.random.default_rng(seed).standard_normal((count, n)) @ factor.T


class _LargestDifferences:
    """The largest studentised difference in each sample, of the pairs that are left."""

    def __init__(self, samples: HostArray) -> None:
        self.samples = samples.astype(np.float32)  # [B, n], whose rounding is far below the error of a quantile
        self.value = np.zeros(len(samples))  # [B]
        self.first, self.second = (np.zeros(len(samples), int) for _ in range(2))  # [B] the pair

    def update(self, ids: HostArray, inverse: HostArray) -> None:
        """Find the pairs of these samples anew; inverse errors [n, n] of 0 leave pairs out."""
        inverse = inverse.astype(np.float32)
        for low in range(0, len(ids), SAMPLE_BLOCK):
            block = ids[low : low + SAMPLE_BLOCK]
            found = _largest_studentised_differences(self.samples[np.resize(block, SAMPLE_BLOCK)], inverse)
            self.value[block], self.first[block], self.second[block] = (np.asarray(x)[: len(block)] for x in found)


@jax.jit
def _largest_studentised_differences(samples: Array, inverse: Array) -> tuple[Array, Array, Array]:
    """[B] the largest studentised difference in each sample [B, n], and the pair that has it."""

    def largest(x: Array) -> tuple[Array, Array, Array]:
        by_first = jnp.max((x[:, None] - x[None, :]) * inverse, axis=1)
        first = jnp.argmax(by_first)
        return by_first[first], first, jnp.argmax((x[first] - x) * inverse[first])

    return lax.map(largest, samples)
