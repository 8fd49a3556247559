"""The fit of strengths that do not change, from votes or matches.

The graph of comparisons: which players can be compared.

Maximum likelihood strengths are finite, up to one constant, if and only if each player can be reached from each other
along results in which somebody did not lose (Ford 1957; Hunter 2004, assumption 1). `find_comparable_players` finds the
largest set of players with this property, and the relation of the others to it.

Plackett-Luce: strengths from rankings of any length, with ties or with an unranked last place.

A ranking is drawn from the best place on: the next is i with probability p_i / (sum over the remaining players)
(Plackett 1975). Players who tie came in an unknown order. With S the sum over all who remain before them and T the sum
over the m tied players, their probabilities are divided by (Efron 1977, as in Cox's likelihood)

    product over l = 0 .. m - 1 of  S - (l / m) T

so that a tie of two players only is p_a p_b / ((p_a + p_b) (p_a + p_b) / 2), two results of a half. For the last place
the sum over all unknown orders is 1, which Efron's approximation is far from where many share it, as all do whom a best
of N was chosen over. So players who share the last place only come after the others, unless all tie.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy.sparse import coo_array, csr_array, diags_array, hstack, vstack  # type: ignore[import-untyped]
from scipy.sparse.csgraph import breadth_first_order, connected_components  # type: ignore[import-untyped]
from scipy.sparse.linalg import lsqr  # type: ignore[import-untyped]
from scipy.special import stdtr, stdtrit  # type: ignore[import-untyped]

from jaxrate.arena.newton import (
    CONVERGED_STEP,
    DIVERGENCE_DISTANCE,
    MAX_CG_ITERATIONS,
    FittedModel,
    SearchState,
    StrengthProblem,
    StrengthUncertainty,
    covariance_without_ground,
    draw_prior_centers,
    estimate_uncertainty,
    ground_hessian,
    initial_kappa,
    maximise_by_newton,
    maximise_log_posterior,
    outcome_probabilities,
    standard_deviations,
    sum_cluster_score_squares,
    symmetric_inverse,
    uncertainty_of_replicates,
    uncertainty_with_others_fixed,
)
from jaxrate.arena.votes import VoteCells, Votes, count_votes_in_cells, read_votes_if_source, votes_from_data
from jaxrate.core.argument_checks import (
    MAX_SAMPLES,
    check_concrete,
    check_count,
    check_that,
    enforce_argument_annotations,
)
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.text_format import (
    format_decimals,
    format_number,
    format_unquoted_name,
)
from jaxrate.events import Ragged, Rounds, event_numbers, has_teammates, number_connected_groups
from jaxrate.events.dataset import Dataset
from jaxrate.history.column_table import ColumnTable, PrintedResult
from jaxrate.history.history import find_player_id


class Comparability(NamedTuple):
    """Which players have strengths that can be compared with each other."""

    component: HostArray  # [N] numbers from 0 of groups that never met, the largest first; -1: never played
    is_main: HostArray  # [N] whether their strength can be estimated
    only_won: HostArray  # [N] only won against those, directly or through others: infinite strength
    only_lost: HostArray  # [N] only lost


def find_comparable_players(
    first: HostArray, second: HostArray, not_lost: HostArray, not_won: HostArray, num_players: int, anchors: HostArray
) -> Comparability:
    """Find players who can be compared, of pairs [M] who met, by who never lost or won; anchors count as having met."""
    ring = np.roll(anchors, 1)
    better = np.concatenate([first[not_lost], second[not_won], anchors, ring])
    worse = np.concatenate([second[not_lost], first[not_won], ring, anchors])
    arrows = csr_array((np.ones(len(better)), (better, worse)), shape=(num_players, num_players))
    strong = connected_components(arrows, connection="strong")[1]
    member = anchors[0] if len(anchors) else np.argmax(np.bincount(strong)[strong])  # of equally large sets the first
    main = strong == strong[member]
    below, above = np.zeros((2, num_players), bool)
    for reached, graph in ((below, arrows), (above, arrows.T)):
        reached[breadth_first_order(graph, member, return_predecessors=False)] = True
    component = number_connected_groups(num_players, better, worse)
    return Comparability(component, main, above & ~main, below & ~main)


TieModel = Literal["davidson", "rao_kupper", "half", "none"]
ErrorSource = Literal["curvature", "sandwich", "bootstrap"]
MIN_PRIOR, MAX_PRIOR = 1e-6, 1e12  # points
COLLINEAR_SHARE = 1e-9  # residual share of a covariate that follows from others


MAX_KAPPA_GROWTH = 5.0  # of kappa: ties about a hundred times as likely


def resolve_anchors(
    anchors: Mapping[Any, float] | None, players: HostArray, has_played: HostArray
) -> tuple[HostArray, HostArray]:
    """[N] which players are anchors, and their log strengths."""
    is_anchor, strength = np.zeros(len(players), bool), np.zeros(len(players))
    for player, rating in (anchors or {}).items():
        player_id = find_player_id(players, player)
        if not isinstance(rating, (int, float, np.number)) or not np.isfinite(rating):
            raise ValueError(f"anchor {format_unquoted_name(player)} must have a finite rating, got {rating!r}")
        if not has_played[player_id]:
            raise ValueError(f"anchor {format_unquoted_name(player)} plays in no match; leave it out")
        is_anchor[player_id], strength[player_id] = True, (float(rating) - MEAN_RATING) / POINTS_PER_LOG_STRENGTH
    return is_anchor, strength


def choose_tie_model(ties: str, cells: VoteCells) -> str:
    """The model for these ties. ValueError if there is no vote, or only ties."""
    total, tie_count = float(cells.counts.sum()), float(cells.counts[1].sum())
    if not total:
        raise ValueError("there is no vote" + (" that is not a tie; ties='half' counts ties" * (ties == "none")))
    if ties in ("half", "none") or not tie_count:
        return "bradley_terry"
    if tie_count == total:
        votes = f"all {format_number(total)} comparable votes are ties"
        raise ValueError(f"{votes}, which ties={ties!r} cannot fit; take ties='half'")
    return ties


def check_covariates_identifiable(names: tuple[str, ...], problem: StrengthProblem, counts: HostArray) -> None:
    """ValueError if a covariate follows from players and other covariates."""
    if not names:
        return
    total, count = counts.sum(axis=0), len(problem.is_fixed)
    root, rows, free = np.sqrt(total), np.arange(len(total)), ~problem.is_fixed
    ends = (np.append(problem.first, problem.second), np.append(root, -root))
    players = coo_array((ends[1] * free[ends[0]], (np.append(rows, rows), ends[0])), (len(total), count))
    prior = diags_array(np.where(free, problem.precision**0.5, 0.0))
    for i, name in enumerate(names):
        column = root * problem.covariates[:, i]
        others = vstack([root[:, None] * problem.covariates[:, :i], np.zeros((count, i))])
        size, rest = float(np.linalg.norm(column)), np.append(column, np.zeros(count))
        check_that(size, f"covariate {name!r} is 0 in every vote; leave it out")
        known = hstack([vstack([players, prior]), others])
        residual = lsqr(known, rest, atol=1e-12, btol=1e-12, iter_lim=MAX_CG_ITERATIONS)[3]
        if residual**2 < COLLINEAR_SHARE * total.sum():
            raise ValueError(f"covariate {name!r} follows from players and other covariates; leave it out")


POINTS_PER_LOG_STRENGTH = 400.0 / np.log(10.0)  # rating points of a unit of log strength
MEAN_RATING = 1500.0  # mean of the ratings without anchors; mean of the prior


@dataclass(frozen=True, eq=False, repr=False)
class Strengths(PrintedResult):
    """Ratings of players whose strength does not change, on Elo's scale, with their uncertainty."""

    players: HostArray  # [N] names, or ids if there are none
    rating: HostArray  # [N] points; inf: never lost to those compared, -inf: never won, NaN: never met them
    standard_error: HostArray  # [N] points: of the rating less the mean, or of the rating if there are anchors
    covariance: HostArray | None  # [N, N] points^2, NaN without a finite rating; None for too many players
    curvature: HostArray | None  # [N, N] points^2: the covariance if the model holds and votes are independent
    errors: str  # their source: "curvature" | "sandwich" | "bootstrap" | "curvature, others held"
    games: HostArray  # [N] votes on each
    score: HostArray  # [N] share of wins, with a tie as half a win
    component: HostArray  # [N] groups that never met, from 0, the largest first; -1: never played
    is_anchor: HostArray  # [N] whether they are anchors
    model: str  # "bradley_terry" | "davidson" | "rao_kupper" | "plackett_luce"
    tie: float | None  # nu of Davidson or theta of Rao and Kupper: 0 or 1 without ties
    tie_error: float | None
    coefficient: dict[str, float]  # points for a unit of each covariate in favour of player 0
    coefficient_error: dict[str, float]
    log_likelihood: float  # at the maximum, without the prior; the limit where ratings are infinite
    votes: float  # number of results
    converged: bool
    reason: str  # "maximum" | "steps" | "no further gain" | "no maximum"
    steps: int
    notes: tuple[str, ...]  # warnings: which players cannot be compared, and what to do about it
    samples: HostArray | None  # [B, N] ratings of bootstrap replicates
    met: HostArray | None = None  # [P, 2] ids of the pairs with votes; None of contests
    degrees_of_freedom: float = np.inf  # of the errors: those of clusters are less than their number by one
    max_printed_rows = 12

    def columns(self) -> ColumnTable:
        """The table as columns, the best first."""
        columns = {
            "player": self.players,
            "rating": self.rating,
            "standard_error": self.standard_error,
            "low": self.rating - self.half_width,
            "high": self.rating + self.half_width,
            "games": self.games,
            "score": self.score,
        }
        return ColumnTable({name: np.asarray(values)[self.order] for name, values in columns.items()})

    @property
    def order(self) -> HostArray:
        """[N] ids, the best first; those without a rating last."""
        return np.argsort(-np.where(np.isnan(self.rating), -np.inf, self.rating), kind="stable")

    @property
    def half_width(self) -> HostArray:
        """[N] half the width (points) of the 95% intervals, which are Student's with the degrees of freedom."""
        return self.errors_to_either_side * self.standard_error

    @property
    def errors_to_either_side(self) -> float:
        """Standard errors to either side of an estimate in a 95% interval."""
        return float(stdtrit(self.degrees_of_freedom, 0.975))

    @property
    def kappa(self) -> float:
        """The logarithm of nu or theta; 0 for models without ties."""
        return 0.0 if self.tie is None else float(np.log(self.tie))

    def check_converged(self) -> None:
        """ValueError if the search did not reach a maximum: the ratings then have no errors."""
        if not self.converged:
            raise ValueError(f"these strengths did not converge ({self.reason}); a prior, as prior=350, helps")

    def difference(self, a: Any, b: Any) -> tuple[float, float]:
        """The rating of a less that of b, in points, and its standard error.

        Raises:
          ValueError: for an unknown player or one without a finite rating, if there is no covariance, or if the search
            did not converge.
        """
        self.check_converged()
        first, second = (find_player_id(self.players, player) for player in (a, b))
        if self.covariance is None:
            raise ValueError("this needs a covariance, which strengths of so many players do not have")
        for i in (first, second):
            if not np.isfinite(self.rating[i]):
                raise ValueError(f"{self.players[i]} has no finite rating: {'; '.join(self.notes)}")
        v = self.covariance
        square = v[first, first] + v[second, second] - 2.0 * v[first, second]
        return float(self.rating[first] - self.rating[second]), float(np.sqrt(max(square, 0.0)))

    def probability_better(self, a: Any, b: Any) -> float:
        """The probability that a is stronger than b: that a normal difference with this standard error is above 0.

        Raises:
          ValueError: as for `difference`.
        """
        points, error = self.difference(a, b)
        return float(stdtr(self.degrees_of_freedom, points / error)) if error else 0.5 + 0.5 * float(np.sign(points))

    def probability(self, a: Any, b: Any, **covariates: float) -> tuple[float, float, float]:
        """The probabilities that a beats b, that they tie, and that b beats a.

            strengths.probability("Ada", "Bo", side=1)

        Args:
          a: the first player, by name or by id.
          b: the second player, likewise.
          covariates: values in favour of a; by default 0.

        Raises:
          ValueError: for an unknown player or covariate, or two players who cannot be compared.
        """
        first, second = (find_player_id(self.players, player) for player in (a, b))
        for name in covariates:
            if name not in self.coefficient:
                raise ValueError(f"there is no covariate {name!r} (there are {', '.join(self.coefficient) or 'none'})")
        with np.errstate(invalid="ignore"):
            eta = (self.rating[first] - self.rating[second]) / POINTS_PER_LOG_STRENGTH
        eta += sum(self.coefficient[name] * value for name, value in covariates.items()) / POINTS_PER_LOG_STRENGTH
        if np.isnan(eta):
            raise ValueError(f"{a} and {b} cannot be compared: {'; '.join(self.notes)}")
        win, tie, loss = self._outcome_probabilities(eta)
        return float(win), float(tie), float(loss)

    def expected_percentages(self, ids: Any, opponents: Any = None) -> HostArray:
        """[n, m] expected scores in percent of players against opponents, by id; without opponents, against each other.

        A tie is half a win. NaN stands for who cannot be compared, and for players against themselves.
        """
        ids = np.asarray(ids, int)[:, None]
        opponents = ids.T if opponents is None else np.asarray(opponents, int)
        with np.errstate(invalid="ignore"):
            eta = (self.rating[ids] - self.rating[opponents]) / POINTS_PER_LOG_STRENGTH
        is_compared = ~np.isnan(eta) & (ids != opponents)
        win, tie, _ = self._outcome_probabilities(np.where(is_compared, eta, 0.0))
        return np.where(is_compared, 100.0 * np.asarray(win + 0.5 * tie, np.float64), np.nan)

    def tie_share_of_equals(self) -> float:
        """The probability of a tie between players of equal strength."""
        return float(np.asarray(self._outcome_probabilities(np.zeros(1))[1])[0])

    def _outcome_probabilities(self, eta: Any) -> tuple[Any, Any, Any]:
        """The probabilities of a win, a tie and a loss at differences of strength."""
        model = "bradley_terry" if self.model == "plackett_luce" else self.model
        return outcome_probabilities(model, eta, self.kappa)

    def summary_lines(self) -> list[str]:
        """The model, its likelihood, ties, coefficients and notes."""
        model_name = self.model.replace("_", "-").title()
        lines = [f"{model_name}: {len(self.players):,} players, {self.votes:,.15g} votes; errors by {self.errors}"]
        if self.votes:
            lines[0] += f"; log likelihood {self.log_likelihood / self.votes:.4f} a vote"
        if not self.converged:
            lines.append(f"not converged: {self.reason} after {self.steps} steps")
        if self.tie is not None:
            name = "nu" if self.model == "davidson" else "theta"
            lines.append(f"ties: {name} {format_value_and_error(self.tie, self.tie_error, 4)}")
        for name, value in self.coefficient.items():
            lines.append(f"{name}: {format_value_and_error(value, self.coefficient_error[name], 2)} points")
        return [*lines, *self.notes]

    def heads_and_cells(self, top: int | None = None) -> tuple[list[str], list[Any]]:
        """The heads, and the cells of the first `top` rows: with 95% intervals, games and scores."""
        head = ["rank", "player", "rating", "95% interval", "games", "score"]
        rows: list[Sequence[Any]] = []
        half_width = self.half_width
        for rank, i in enumerate(self.order[:top], 1):
            rating, error = self.rating[i], half_width[i]
            low, high = rating - error, rating + error
            interval = f"{format_decimals(low, 0)} to {format_decimals(high, 0)}" if np.isfinite(low + high) else ""
            interval = "anchor" if self.is_anchor[i] else interval
            rating_text = format_decimals(rating, 1) if not np.isnan(rating) else ""
            score = f"{self.score[i]:.3f}" if self.games[i] else ""
            rank_text = "" if np.isnan(rating) else rank
            rows.append((rank_text, self.players[i], rating_text, interval, f"{self.games[i]:,.15g}", score))
        return head, rows


def format_value_and_error(value: float, error: float | None, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return text if error is None or not np.isfinite(error) else f"{text} ± {error:.{digits}f}"


class PaddedRankings(NamedTuple):
    """Rankings, padded, the best first: leaves [R, P]."""

    player: Array
    mask: Array  # bool: False for padding
    is_choice: Array  # bool: whether their place is informative, and not a shared last place
    begin: Array  # start of the players who tie with them
    end: Array  # end of these
    weight: Array  # [R]


class RankingProblem(NamedTuple):
    """The rankings, fixed strengths and prior of a fit."""

    rankings: PaddedRankings
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
    check_that(not has_teammates(rounds), "strengths are fitted to single players, and not to teams")
    if flat.ceiling is not None or flat.noise is not None:
        raise ValueError("strengths are fitted without ceilings and noise of contests; leave them out")
    start, contest = np.asarray(rounds.player_start), event_numbers(rounds)
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


def pad_rankings(rows: RankingRows) -> PaddedRankings:
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
    return PaddedRankings(player, mask, is_choice, begin, end, rows.weight)


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


def ranking_log_likelihood(strength: Array, ranking: PaddedRankings) -> Array:
    """The log likelihood [] of one ranking, whose leaves are [P], of participants with these strengths [P]."""
    strength = jnp.where(ranking.mask, strength, -jnp.inf)
    strength = strength - lax.stop_gradient(strength.max())
    e = jnp.exp(strength)
    place, begin, end = jnp.arange(len(e), dtype=ranking.begin.dtype), ranking.begin[:, None], ranking.end[:, None]
    tie_share = (place[:, None] - begin).astype(e.dtype) / (end - begin).astype(e.dtype)
    share = jnp.where(place[None] < end, 1.0 - tie_share, 1.0)
    share = jnp.where(place[None] < begin, 0.0, share)  # of each who may come next
    log_divisor = jnp.log(jnp.where(ranking.is_choice, jnp.matmul(share, e, precision="highest"), 1.0))
    return jnp.where(ranking.is_choice, strength - log_divisor, 0.0).sum()


def rankings_log_posterior(problem: RankingProblem, strength: Array) -> Array:
    """The log likelihood [] and the prior's part of it."""
    rankings = problem.rankings
    log_likelihood = jax.vmap(ranking_log_likelihood)(strength[rankings.player], rankings)
    prior = jnp.where(problem.is_fixed, 0.0, strength - problem.center)
    return rankings.weight @ log_likelihood - 0.5 * problem.precision * (prior**2).sum()


def rankings_information(problem: RankingProblem, strength: Array) -> tuple[Array, Array]:
    """Minus the Hessian [N, N], grounded, with ones for fixed strengths; and the scale [] of the grounding."""
    n = strength.shape[0]

    def add_ranking(total: Array, ranking: PaddedRankings) -> tuple[Array, None]:
        player = ranking.player
        information = -jax.hessian(ranking_log_likelihood)(strength[player], ranking)
        return total.at[player[:, None], player[None, :]].add(ranking.weight * information), None

    matrix, _ = lax.scan(add_ranking, jnp.zeros((n, n), strength.dtype), problem.rankings)
    return ground_hessian(problem, matrix)


@jax.jit
def maximise_rankings(problem: RankingProblem, strength: Array) -> SearchState:
    """Search for the maximum from these strengths [N]."""

    def gradient_and_step(x: Array, size: Array) -> tuple[Array, Array]:
        del size
        slope = jnp.where(problem.is_fixed, 0.0, jax.grad(objective)(x))
        matrix, _ = rankings_information(problem, x)
        return slope, jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(matrix), True), slope)

    objective = partial(rankings_log_posterior, problem)
    return maximise_by_newton(objective, gradient_and_step, strength, strength.shape[0])


@jax.jit
def maximise_reweighted_ranking_replicates(
    problem: RankingProblem, strength: Array, weight: Array, center: Array
) -> SearchState:
    """Search for the maximum from these strengths with weights [B, R] of the rankings and means [B, N] of the prior."""

    def maximise(drawn: tuple[Array, Array]) -> SearchState:
        rankings = problem.rankings._replace(weight=drawn[0])
        return maximise_rankings(problem._replace(rankings=rankings, center=drawn[1]), strength)

    return lax.map(maximise, (weight, center))


@jax.jit
def information_and_scores_of_rankings(problem: RankingProblem, strength: Array) -> tuple[Array, Array, Array]:
    """[N, N] minus the Hessian, the scale of its grounding, and [R, P] the score of each ranking by its players."""
    rankings = problem.rankings
    slope = jax.vmap(jax.grad(ranking_log_likelihood))(strength[rankings.player], rankings)
    return *rankings_information(problem, strength), rankings.weight[:, None] * slope


NO_COMPARISON = "no two players beat each other, directly or through others; give a prior, as prior=350"


class FitChoices(NamedTuple):
    """How strengths are fitted, see `fit_strengths`."""

    anchors: Mapping[Any, float] | None
    prior: float | None
    errors: str | None
    samples: int
    seed: int

    def check(self) -> None:
        """ValueError for a prior or a number of samples out of range."""
        if self.prior is not None and not MIN_PRIOR <= self.prior <= MAX_PRIOR:
            bounds = f"from {MIN_PRIOR:g} to {MAX_PRIOR:g}"
            raise ValueError(f"prior must be a deviation in points, {bounds}, or None, got {self.prior!r}")
        check_count("samples", self.samples, 2, MAX_SAMPLES)

    @property
    def prior_precision(self) -> np.float64:
        """The precision of the prior of a log strength; 0 without one."""
        return np.float64(0.0 if self.prior is None else (POINTS_PER_LOG_STRENGTH / self.prior) ** 2)


class ComparedPlayers(NamedTuple):
    """All players of the data, and what was counted of them."""

    names: HostArray  # [N]
    is_anchor: HostArray  # [N]
    comparability: Comparability
    is_rated: HostArray  # [N] whether their strength is estimated
    games: HostArray  # [N] votes or contests
    score: HostArray  # [N] share of wins, or of opponents beaten
    met: HostArray | None = None  # as `Strengths.met`

    def expand(self, values: HostArray) -> HostArray:
        """[..., N] values [..., n] of those who are rated, perhaps with others behind them; NaN of others."""
        expanded = np.full((*values.shape[:-1], len(self.names)), np.nan)
        expanded[..., self.is_rated] = values[..., : np.count_nonzero(self.is_rated)]
        return expanded


class LikelihoodMaximum(NamedTuple):
    """The maximum of the likelihood of the players who are rated, perhaps padded to N."""

    model: str
    problem: Any  # with the prior and which are fixed
    start: HostArray  # [N + E] log strengths, coefficients and kappa
    maximum: SearchState
    uncertainty: StrengthUncertainty
    votes: float
    covariate_unit: Mapping[str, float] = {}


def _fit_rankings(
    rounds: Ragged, names: HostArray, choices: FitChoices, last_place_unranked: bool
) -> tuple[LikelihoodMaximum, ComparedPlayers]:
    """The strengths of a Plackett-Luce model of contests, and their players."""
    has_played = np.bincount(np.asarray(rounds.flat.player), minlength=len(names)) > 0
    is_anchor, strength = resolve_anchors(choices.anchors, names, has_played)
    rows = rounds_to_rankings(rounds, last_place_unranked)
    check_that(len(rows.weight), "there is no contest")
    pairs = comparability_pairs_of_rankings(rows)
    comparability = find_comparable_players(*pairs, len(names), np.flatnonzero(is_anchor))
    is_rated = comparability.is_main if choices.prior is None else np.ones(len(names), bool)
    inner, count = select_ranked_players(rows, is_rated), int(is_rated.sum())
    check_that(len(inner.weight), NO_COMPARISON)
    if count > MAX_DENSE_PLAYERS:
        raise ValueError(f"rankings of {count:,} players are too many; {MAX_DENSE_PLAYERS:,} can be compared")
    start = strength[is_rated]
    with jax.enable_x64(True):
        is_fixed = is_anchor[is_rated]
        held = is_fixed, _grounding_vector(is_fixed, choices), choices.prior_precision, np.zeros(count)
        problem = RankingProblem(pad_rankings(inner), *held)
        maximum = jax.tree.map(np.asarray, maximise_rankings(problem, start))
        uncertainty = _estimate_uncertainty_of_rankings(problem, maximum.x, choices)
    estimate = LikelihoodMaximum("plackett_luce", problem, start, maximum, uncertainty, float(inner.weight.sum()))
    counted = _contest_counts_and_beaten_shares(rows, len(names))
    return estimate, ComparedPlayers(names, is_anchor, comparability, is_rated, *counted)


def _grounding_vector(is_anchor: HostArray, choices: FitChoices) -> HostArray:
    """[n] as in `StrengthProblem`: a unit vector without anchors and prior."""
    is_free = choices.prior is None and not is_anchor.any()
    return np.full(len(is_anchor), len(is_anchor) ** -0.5 if is_free else 0.0)


def _estimate_uncertainty_of_rankings(
    problem: RankingProblem, x: HostArray, choices: FitChoices
) -> StrengthUncertainty:
    """The uncertainty of the maximum: by its curvature, by contests as clusters, or by weighted replicates of these."""
    errors, rankings, n = choices.errors or "curvature", problem.rankings, len(problem.rankings.weight)
    matrix, scale, scores = (np.asarray(part) for part in information_and_scores_of_rankings(problem, x))
    covariance = curvature = covariance_without_ground(problem, symmetric_inverse(matrix), scale)
    if errors == "bootstrap":
        random = np.random.default_rng(choices.seed)
        weight = rankings.weight * random.standard_exponential((choices.samples, n))
        centers = draw_prior_centers(random, float(problem.precision), (choices.samples, len(x)))
        search = jax.tree.map(np.asarray, maximise_reweighted_ranking_replicates(problem, x, weight, centers))
        return uncertainty_of_replicates(search.x, search.size <= CONVERGED_STEP, curvature)
    degrees_of_freedom = np.inf
    if errors == "sandwich":
        check_that(n >= 2, "the sandwich needs at least two contests; take errors='curvature'")
        squares = sum_cluster_score_squares(np.arange(n), np.asarray(rankings.player), scores, len(x))
        covariance = covariance @ (squares + float(problem.precision) * np.eye(len(x))) @ covariance
        degrees_of_freedom = n - 1.0
    error = standard_deviations(covariance)
    return StrengthUncertainty(errors, error, covariance, curvature, degrees_of_freedom=degrees_of_freedom)


def _contest_counts_and_beaten_shares(rows: RankingRows, num_players: int) -> tuple[HostArray, HostArray]:
    """[N] number of contests, and share of the opponents there whom they beat, with a tie as half."""
    size = np.bincount(rows.ranking, minlength=len(rows.weight))[rows.ranking]
    key = rows.ranking * (int(rows.rank.max(initial=0)) + 1) + rows.rank
    tie_groups = np.unique(key, return_inverse=True, return_counts=True)
    num_tied = tie_groups[2][tie_groups[1]] - 1
    beaten = size - 1 - rows.rank - 0.5 * num_tied
    weight = rows.weight[rows.ranking]
    columns = np.ones(len(size)), size - 1.0, beaten
    games, opponents, won = (np.bincount(rows.player, weight * x, num_players) for x in columns)
    return games, np.divide(won, opponents, out=np.full(num_players, np.nan), where=opponents > 0)


MAX_DENSE_PLAYERS = 3000  # number of players up to which the Hessian is dense
PADDING_MULTIPLE = 8  # players are padded to multiples of this, so that data of similar size share programs
MAX_NAMED_PLAYERS = 4  # names in a note
NUM_REPLICATES = 1000  # of the bootstrap


class FitOptions(TypedDict, total=False):
    """Further choices of a fit; see `fit_strengths`."""

    samples: int
    seed: int
    last_place_unranked: bool | None


@enforce_argument_annotations
def fit_strengths(
    data: Any,
    *,
    ties: TieModel | None = None,
    covariates: Sequence[str] = (),
    anchors: Mapping[Any, float] | None = None,
    prior: float | None = None,
    cluster: Any = None,
    errors: ErrorSource | None = None,
    **options: Unpack[FitOptions],
) -> Strengths:
    """Maximum likelihood strengths of players who do not change, with their uncertainty.

    The order of the results does not count. As in Elo, a difference of d points means odds of 10^(d / 400).

        a, b = ["Ada", "Ada", "Bo"], ["Bo", "Cy", "Cy"]
        votes = jr.arena.count_votes(a, b, wins=[7, 6, 5], losses=[3, 3, 4], ties=[1, 2, 0])
        print(jr.arena.fit_strengths(votes))

    Args:
      data: matches, `VoteCounts`, rounds, a `Dataset`, or a table or path as for `read`, whose columns may then be
        clusters of any kind, and whose rows may be in any order; weights count. Rounds are
        rankings, by Plackett-Luce (1975): players who tie came in an unknown order (Efron 1977). So the best of N that
        somebody chose has rank 1, and all others share rank 2.
      ties: how ties count: "davidson", "rao_kupper", "half" or "none". "davidson" (1970): P(tie) is in proportion to nu
        sqrt(p_a p_b); "rao_kupper" (1967): to win takes more than theta times the other's strength; "half": half a win
        and half a loss, and any score counts as a fraction of a win; "none": ties are left out. None: davidson.
      covariates: names of columns of the matches or counts, in favour of player 0: home or white ("side" is that of the
        matches), or the difference of two answers in length. Each has a coefficient. The coefficient of a constant
        covariate is the advantage of being named first.
      anchors: known ratings in points, by player. Without them, and without a prior, ratings have mean 1500.
      prior: deviation of a prior at 1500, so that everybody has a rating. It is normal. None: none. Players who
        only won or only lost, or never met the others, directly or through others, then have no finite rating.
      cluster: clusters of votes that are not independent, as those of one voter or on one prompt: the name of a column,
        or an array [n], or two of them.
      errors: what intervals are from: "curvature", "sandwich" or "bootstrap". "curvature" trusts the model; "sandwich"
        does not; "bootstrap" is by replicates of the data. None: sandwich with clusters, else curvature. Contests are
        clusters. For more than 3,000 players, errors are by curvature with all others fixed, and a little too small.
      samples, seed: the number of bootstrap replicates, 1000 by default, and their seed.
      last_place_unranked: whether the order of players who share the last place of a contest, but not all of it, is
        unknown. False: they tied, and are about equal. None: it is unknown.

    Returns:
      `Strengths`. Its `notes` name players who cannot be compared.

    Raises:
      ValueError: if there is no vote; if all votes are ties under a model of ties, or so many that there is no maximum;
        if an anchor does not play; if a covariate follows from players and other covariates; if a column is missing; or
        for a score that is no result (names the row).
    """
    choices = FitChoices(anchors, prior, errors, options.get("samples", NUM_REPLICATES), options.get("seed", 0))
    choices.check()
    last_place_unranked = options.get("last_place_unranked")
    names = (covariates,) if isinstance(covariates, str) else tuple(covariates)
    data, cluster = read_votes_if_source(data, names, cluster)
    check_concrete("strengths are estimated", data, "; jr.scan rates what is traced")
    events = data.events if isinstance(data, Dataset) else data
    if isinstance(events, Ragged) and isinstance(events.events, Rounds):
        if ties is not None or names or cluster is not None:
            raise ValueError("rounds have no covariates, no clusters other than contests, and one model of ties")
        count = int(events.events.player.max(initial=-1)) + 1
        players = data.players if isinstance(data, Dataset) else np.arange(count)
        fitted = _fit_rankings(events, players, choices, last_place_unranked is not False)
    else:
        if last_place_unranked is not None:
            raise ValueError("last_place_unranked is for rounds; matches have no last place")
        ties = ties or "davidson"
        fitted = _fit_votes(votes_from_data(data, ties, names, cluster), ties, names, choices)
    return _build_strengths(*fitted, prior)


def _fit_votes(
    votes: Votes, ties: str, covariates: tuple[str, ...], choices: FitChoices
) -> tuple[LikelihoodMaximum, ComparedPlayers]:
    """The strengths of a model of paired comparisons, and their players."""
    players, count = votes.players, len(votes.players)
    cells = count_votes_in_cells(votes.player, votes.outcome, votes.covariates, count)
    is_anchor, strength = resolve_anchors(choices.anchors, players, _votes_per_player(cells, count) > 0)
    choose_tie_model(ties, cells)  # which refuses what no players could be compared by
    win, tie, loss = cells.counts
    pairs = cells.first, cells.second, win + tie > 0, loss + tie > 0
    comparability = find_comparable_players(*pairs, count, np.flatnonzero(is_anchor))
    is_rated = comparability.is_main if choices.prior is None else np.ones(count, bool)
    inner_cells = _select_player_cells(cells, is_rated)
    check_that(inner_cells.counts.sum(), NO_COMPARISON)
    model = choose_tie_model(ties, inner_cells)
    with jax.enable_x64(True):
        problem, counts, x, unit = _build_problem(model, inner_cells, is_anchor[is_rated], strength[is_rated], choices)
        check_covariates_identifiable(covariates, problem, counts)
        is_dense = len(problem.is_fixed) <= MAX_DENSE_PLAYERS
        maximum = jax.tree.map(np.asarray, maximise_log_posterior(is_dense, model, problem, counts, x))
        has_converged, growth = maximum.size <= CONVERGED_STEP, float(maximum.x[-1] - x[-1])
        if model != "bradley_terry" and not has_converged and growth > MAX_KAPPA_GROWTH:
            raise ValueError(
                f"with ties={ties!r} the likelihood has no maximum here: it grows with more ties and greater "
                "differences; give a prior, as prior=350, or take ties='half'"
            )
        fitted = FittedModel(model, problem, inner_cells, counts, maximum.x)
        if is_dense:
            uncertainty = estimate_uncertainty(fitted, votes, choices.errors, choices.samples, choices.seed)
        else:
            uncertainty = uncertainty_with_others_fixed(fitted, votes, choices.errors)
    units = dict(zip(covariates, unit, strict=True))
    estimate = LikelihoodMaximum(model, problem, x, maximum, uncertainty, float(counts.sum()), units)
    games = _votes_per_player(cells, count)
    ends, won = np.concatenate([cells.first, cells.second]), np.concatenate([win + 0.5 * tie, loss + 0.5 * tie])
    score = np.divide(np.bincount(ends, won, count), games, out=np.full(count, np.nan), where=games > 0)
    met = np.unique(np.stack([cells.first, cells.second], axis=1)[cells.counts.sum(axis=0) > 0], axis=0)
    return estimate, ComparedPlayers(players, is_anchor, comparability, is_rated, games, score, met)


def _votes_per_player(cells: VoteCells, num_players: int) -> HostArray:
    """[N] votes on each player."""
    ends, total = np.concatenate([cells.first, cells.second]), cells.counts.sum(axis=0)
    return np.bincount(ends, np.concatenate([total, total]), num_players)


def _select_player_cells(cells: VoteCells, mask: HostArray) -> VoteCells:
    """The cells of two players under the mask, with new numbers of players."""
    is_inner = mask[cells.first] & mask[cells.second]
    if is_inner.all() and mask.all():
        return cells
    new_id = (np.cumsum(mask) - 1).astype(np.int32)
    ends = new_id[cells.first[is_inner]], new_id[cells.second[is_inner]]
    cell_of_vote = np.where(is_inner, np.cumsum(is_inner) - 1, -1)[cells.cell_of_vote]
    return VoteCells(*ends, cells.counts[:, is_inner], cells.covariates[is_inner], cell_of_vote, cells.is_swapped)


def _build_problem(
    model: str, cells: VoteCells, is_anchor: HostArray, strength: HostArray, choices: FitChoices
) -> tuple[StrengthProblem, HostArray, HostArray, HostArray]:
    """The padded problem, counts [3, M], the start [N + E] of the search, and the unit of each covariate."""
    n, m, p = len(is_anchor), len(cells.first), cells.covariates.shape[1]
    players, num_cells = n, m
    if n <= MAX_DENSE_PLAYERS:
        players = -(-n // PADDING_MULTIPLE) * PADDING_MULTIPLE
        num_cells = 1 << max(m - 1, 1).bit_length()
        num_cells = 3 * num_cells // 4 if 3 * num_cells // 4 >= m else num_cells
    total = cells.counts.sum(axis=0)
    unit = np.sqrt(total @ cells.covariates**2 / total.sum())
    padding = (0, num_cells - m)
    second = np.pad(cells.second, padding, constant_values=1)  # padding has no votes, between players 0 and 1
    z = np.pad(cells.covariates / np.where(unit > 0, unit, 1.0), [padding, (0, 0)])
    ground = np.pad(_grounding_vector(is_anchor, choices), (0, players - n))
    is_fixed = np.pad(is_anchor, (0, players - n), constant_values=True)
    x = np.concatenate([strength, np.zeros(players - n + p)])
    if model != "bradley_terry":
        x = np.append(x, initial_kappa(model, float(cells.counts[1].sum()), float(total.sum())))
    held = is_fixed, ground, choices.prior_precision, np.zeros(players)
    problem = StrengthProblem(np.pad(cells.first, padding), second, z, *held)
    return problem, np.pad(cells.counts, [(0, 0), padding]), x, unit


def _comparability_notes(players: HostArray, comparability: Comparability, prior: float | None) -> list[str]:
    """Warnings that name players who cannot be compared."""

    def format_players(mask: HostArray) -> str:
        ids = np.flatnonzero(mask)
        names = [format_unquoted_name(players[i]) for i in ids[:MAX_NAMED_PLAYERS].tolist()]
        others = len(ids) - len(names)
        return ", ".join(names) + (f" and {others:,} others" if others else "")

    component, won, lost = comparability.component, comparability.only_won, comparability.only_lost
    finite = " and have no finite rating without a `prior`" if prior is None else "; their ratings rest on the prior"
    advice = "players outside the largest group have no rating" if prior is None else "only the prior compares them"
    groups = int(component.max(initial=-1)) + 1
    indirectly = (component == 0) & ~(comparability.is_main | won | lost)
    notes = {
        f"{groups:,} groups of players never met: {advice} ({{}})": component > 0,
        "without a match: {}": component < 0,
        f"only won against the others{finite}: {{}}": won,
        f"only lost against the others{finite}: {{}}": lost,
        f"met others only through players who only won or only lost{finite}: {{}}": indirectly,
    }
    return [note.format(format_players(mask)) for note, mask in notes.items() if mask.any()]


def _build_strengths(estimate: LikelihoodMaximum, players: ComparedPlayers, prior: float | None) -> Strengths:
    """The result, in points and for all players."""
    model, problem, start, maximum, uncertainty, votes, covariate_unit = estimate
    n, comparability = len(problem.is_fixed), players.comparability
    unbounded_rating = np.where(comparability.only_won, np.inf, np.where(comparability.only_lost, -np.inf, np.nan))
    rating = MEAN_RATING + POINTS_PER_LOG_STRENGTH * players.expand(maximum.x[:n])
    factor = {name: POINTS_PER_LOG_STRENGTH / one for name, one in covariate_unit.items()}
    has_ties = len(start) > n + len(factor)
    kappa = float(np.exp(maximum.x[-1])) if has_ties else None
    reason = _describe_search_end(maximum, np.abs(maximum.x - start)[: n + len(factor)].max())
    if reason != "maximum":  # where alone errors are defined
        errors = uncertainty.error, uncertainty.covariance, uncertainty.curvature
        error, covariance, curvature = jax.tree.map(lambda x: np.full_like(x, np.nan), errors)
        uncertainty = uncertainty._replace(error=error, covariance=covariance, curvature=curvature, samples=None)

    def covariance_in_points(x: HostArray) -> HostArray:
        return players.expand(players.expand(x[:n, :n]).T) * POINTS_PER_LOG_STRENGTH**2

    def ratings_in_points(x: HostArray) -> HostArray:
        return MEAN_RATING + POINTS_PER_LOG_STRENGTH * players.expand(x[:, :n])

    prior_penalty = 0.5 * problem.precision * (np.where(problem.is_fixed, 0.0, maximum.x[:n]) ** 2).sum()
    return Strengths(
        players.names,
        np.where(players.is_rated, rating, unbounded_rating),
        players.expand(uncertainty.error[:n]) * POINTS_PER_LOG_STRENGTH,
        jax.tree.map(covariance_in_points, uncertainty.covariance),
        jax.tree.map(covariance_in_points, uncertainty.curvature),
        uncertainty.source,
        players.games,
        players.score,
        comparability.component,
        players.is_anchor,
        model,
        kappa,
        None if kappa is None else kappa * float(uncertainty.error[-1]),
        {name: float(maximum.x[n + i] * scale) for i, (name, scale) in enumerate(factor.items())},
        {name: float(uncertainty.error[n + i] * scale) for i, (name, scale) in enumerate(factor.items())},
        float(maximum.value + prior_penalty),
        votes,
        reason == "maximum",
        reason,
        int(maximum.steps),
        (*_comparability_notes(players.names, comparability, prior), *uncertainty.notes),
        jax.tree.map(ratings_in_points, uncertainty.samples),
        players.met,
        uncertainty.degrees_of_freedom,
    )


def _describe_search_end(maximum: SearchState, distance: float) -> str:
    """Why a search ended so far from its start."""
    if distance > DIVERGENCE_DISTANCE:
        return "no maximum"
    return "maximum" if maximum.size <= CONVERGED_STEP else "no further gain" if maximum.stuck else "steps"
