"""What is certain of strengths: differences, ranks that hold for everybody at once, groups, votes still needed.

Ranks after Mogstad, Romano, Shaikh and Wilhelm (2024, Inference for ranks, section 3.3): all differences of two players
have one-sided intervals that hold together, from the largest studentised difference

    max over j, k of (x_j - x_k) / s_jk,   x ~ N(0, covariance), or the replicates of a bootstrap about the estimate

and whoever is surely better than j pushes j's best rank down. Differences that are sure leave the maximum, which is
then found anew among the rest (step-down, Romano and Wolf 2005), until no more are.
"""

import math
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from jaxrate.arena.paired_comparison import vote_information
from jaxrate.arena.strength_estimates import POINTS_PER_LOG_STRENGTH, Strengths
from jaxrate.argument_checks import MAX_SAMPLES, check_arguments, check_count
from jaxrate.league.column_table import ColumnTable, table_to_json, table_to_pandas
from jaxrate.league.rated_history import find_player
from jaxrate.text_format import format_table, html_table
from jaxrate.types import HostArray

BLOCK_NUMBERS = 1 << 22  # numbers in a block of differences


class RankSets(NamedTuple):
    """The ranks that each player may have: all of these sets hold at once."""

    players: HostArray  # [N] names, or ids
    rating: HostArray  # [N] points
    least: HostArray  # [N] the best rank, from 1
    greatest: HostArray  # [N] the worst
    apart: HostArray  # [N, N] whether the first is surely the better
    level: float  # the probability with which all hold

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas."""
        return table_to_pandas(self)

    def to_json(self) -> str:
        """The table in JSON: a list for each column by its name."""
        return table_to_json(self)

    def columns(self) -> ColumnTable:
        """The table as columns, the best first."""
        order = np.argsort(-np.where(np.isnan(self.rating), -np.inf, self.rating), kind="stable")
        columns = {name: getattr(self, name)[order] for name in ("least", "greatest", "players", "rating")}
        return ColumnTable({"player" if name == "players" else name: values for name, values in columns.items()})

    @property
    def groups(self) -> list[HostArray]:
        """Players next to each other of whom none is surely better than another: the largest such groups, by id."""
        order = np.flatnonzero(np.isfinite(self.rating))
        order = order[np.argsort(-self.rating[order], kind="stable")]
        found: list[HostArray] = []
        end = 0
        for begin in range(len(order)):
            reach = max(end, begin + 1)
            while reach < len(order) and not self.apart[order[begin:reach], order[reach]].any():
                reach += 1
            if reach > end:
                found.append(order[begin:reach])
            end = reach
        return found

    def __repr__(self) -> str:
        return f"ranks that hold together at {self.level:.0%}\n{format_table(*self._columns())}"

    def _repr_html_(self) -> str:
        return html_table(*self._columns())

    def _columns(self) -> tuple[list[str], list[Any]]:
        order = np.argsort(-np.where(np.isnan(self.rating), -np.inf, self.rating), kind="stable")
        rows = [
            (f"{self.least[i]} to {self.greatest[i]}", self.players[i], f"{self.rating[i]:.1f}") for i in order.tolist()
        ]
        return ["ranks", "player", "rating"], rows


@check_arguments
def rank_sets(strengths: Strengths, *, level: float = 0.95, samples: int = 4000, seed: int = 0) -> RankSets:
    """The least and the greatest rank of each player, which hold for all of them together.

        jr.arena.rank_sets(jr.arena.fit_strengths(votes))

    Players without a finite rating may have any rank.

    Args:
      found: as from `static`; the replicates of a bootstrap are used if there are any.
      level: the probability with which all sets hold, above 0 and below 1.
      samples, seed: how many normal samples the maximum is from, without a bootstrap, and of which random numbers.

    Raises:
      ValueError: for a level out of range, or strengths without a covariance or that did not converge.
    """
    strengths.check_converged()
    covariance = _check_covariance(strengths)
    check_open_fraction("level", level)
    check_count("samples", samples, 1, MAX_SAMPLES)
    rated_ids = np.flatnonzero(np.isfinite(strengths.rating))
    rating, square = strengths.rating[rated_ids], covariance[np.ix_(rated_ids, rated_ids)]
    if strengths.samples is None:
        value, vector = np.linalg.eigh(square)
        normal = np.random.default_rng(seed).standard_normal((samples, len(rated_ids)))
        drawn = normal @ (vector * np.sqrt(np.maximum(value, 0.0))).T
    else:
        drawn = strengths.samples[:, rated_ids] - rating
    error = np.sqrt(np.maximum(_difference_variance(square), 0.0))
    exact = error <= 1e-9 * max(1.0, float(error.max(initial=0.0)))  # of a player with themselves, of two anchors
    difference = rating[:, None] - rating[None, :]
    sure = exact & (difference > 0)
    inverse = np.where(exact, 0.0, 1.0 / np.where(exact, 1.0, error))
    while True:
        bound = np.quantile(_largest_studentised(drawn, np.where(sure, 0.0, inverse)), level)
        more = ~sure & (difference * inverse > bound)
        if not more.any():
            break
        sure |= more
    n, unknown = len(strengths.rating), len(strengths.rating) - len(rated_ids)
    least, greatest = np.ones(n, int), np.full(n, n)
    least[rated_ids] = 1 + sure.sum(axis=0)
    greatest[rated_ids] = len(rated_ids) - sure.sum(axis=1) + unknown
    apart = np.zeros((n, n), bool)
    apart[np.ix_(rated_ids, rated_ids)] = sure
    return RankSets(strengths.players, strengths.rating, least, greatest, apart, level)


@check_arguments
def votes_needed(
    strengths: Strengths, a: Any, b: Any, *, difference: float | None = None, level: float = 0.95, power: float = 0.8
) -> float:
    """How many more votes between two players it takes to tell them apart.

        jr.arena.votes_needed(jr.arena.fit_strengths(data), "Ada", "Bo")

    Votes of their own add their information, which is that of the model, to what is known of the difference; what
    others say is as it was.

    Args:
      found: as from `static`.
      a, b: players, by name or by id.
      difference: the difference that is to be found (points). None: the one that was estimated.
      level: of the two-sided test.
      power: the probability with which it is to be found.

    Returns:
      A whole number; 0 if what there is suffices, inf for a difference of 0.

    Raises:
      ValueError: for a player that there is not or who has no rating, a share out of range, or strengths that did not
        converge.
    """
    points, error = strengths.difference(a, b)
    check_open_fraction("level", level)
    check_open_fraction("power", power)
    points = points if difference is None else difference
    one, two = (find_player(strengths.players, player) for player in (a, b))
    normal = NormalDist()
    wanted = abs(points) / (normal.inv_cdf(0.5 + 0.5 * level) + normal.inv_cdf(power))
    if not wanted > 0:
        return math.inf
    if error <= wanted:
        return 0.0
    eta = (strengths.rating[one] - strengths.rating[two]) / POINTS_PER_LOG_STRENGTH
    each = float(vote_information(strengths.model, eta, strengths.kappa)) / POINTS_PER_LOG_STRENGTH**2
    return float(math.ceil((wanted**-2 - error**-2) / each))


def _check_covariance(strengths: Strengths) -> HostArray:
    if strengths.covariance is None:
        raise ValueError("strengths of so many players have no covariance, which this needs")
    return strengths.covariance


def check_open_fraction(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name} must be above 0 and below 1, got {value!r}")


def _difference_variance(covariance: HostArray) -> HostArray:
    """[n, n] of the difference of each two."""
    own = np.diag(covariance)
    return own[:, None] + own[None, :] - 2.0 * covariance


def _largest_studentised(samples: HostArray, inverse: HostArray) -> HostArray:
    """[B] the largest studentised difference of each sample [B, n], by the inverse [n, n] of errors; 0 leaves out."""
    block = max(1, BLOCK_NUMBERS // max(1, inverse.size))
    parts = [samples[low : low + block] for low in range(0, len(samples), block)]
    return np.concatenate([((x[:, :, None] - x[:, None, :]) * inverse).max(axis=(1, 2)) for x in parts])
