"""Maximum likelihood strengths from the rankings of rounds, by Plackett-Luce."""

import jax
import numpy as np

from jaxrate.arena.comparison_graph import Comparability, find_comparable_players
from jaxrate.arena.newton import DIVERGENCE_DISTANCE, SearchState
from jaxrate.arena.plackett_luce import (
    PaddedRankings,
    RankingRows,
    comparability_pairs_of_rankings,
    maximise_rankings,
    maximise_reweighted_ranking_replicates,
    pad_rankings,
    rankings_hessian_and_score_squares,
    rounds_to_rankings,
    select_ranked_players,
)
from jaxrate.arena.standard_errors import (
    CONVERGED_STEP,
    StrengthUncertainty,
    draw_prior_centers,
    standard_deviations,
    symmetric_inverse,
)
from jaxrate.arena.strength_estimates import MEAN_RATING, POINTS_PER_LOG_STRENGTH, Strengths, drop_standard_errors
from jaxrate.core.array_types import HostArray
from jaxrate.events import Ragged

MAX_PLAYERS = 3000  # the Hessian is dense


def rankings_and_comparability(
    rounds: Ragged, last_place_unranked: bool, num_players: int, is_anchor: HostArray
) -> tuple[RankingRows, Comparability]:
    """The rankings of rounds, and which players can be compared."""
    rows = rounds_to_rankings(rounds, last_place_unranked)
    if not len(rows.weight):
        raise ValueError("there is no contest")
    return rows, find_comparable_players(*comparability_pairs_of_rankings(rows), num_players, np.flatnonzero(is_anchor))


def fit_plackett_luce(
    rankings: RankingRows,
    comparability: Comparability,
    is_anchor: HostArray,
    strength: HostArray,
    prior: float | None,
    errors: str | None,
    samples: int,
    seed: int,
    names: HostArray,
    notes: tuple[str, ...],
) -> Strengths:
    """Maximum likelihood strengths; arguments as for `fit_strengths`."""
    main = comparability.is_main if prior is None else np.ones(len(is_anchor), bool)
    count = int(main.sum())
    inner_rankings = select_ranked_players(rankings, main)
    if not len(inner_rankings.weight):
        raise ValueError("no two players beat each other, directly or through others; give a prior, as prior=350")
    if count > MAX_PLAYERS:
        raise ValueError(f"rankings of {count:,} players are too many; {MAX_PLAYERS:,} can be compared")
    free = prior is None and not is_anchor.any()
    ground = np.full(count, count**-0.5 if free else 0.0)
    precision = 0.0 if prior is None else (POINTS_PER_LOG_STRENGTH / prior) ** 2
    with jax.enable_x64(True):
        padded_rankings = pad_rankings(inner_rankings, is_anchor[main], ground, precision)
        maximum = jax.tree.map(np.asarray, maximise_rankings(padded_rankings, strength[main]))
        uncertainty = _estimate_uncertainty(padded_rankings, maximum, errors or "curvature", samples, seed)

    def expand_to_all_players(values: HostArray) -> HostArray:
        expanded = np.full((*values.shape[:-1], len(is_anchor)), np.nan)
        expanded[..., main] = values
        return expanded

    unbounded_rating = np.where(comparability.only_won, np.inf, np.where(comparability.only_lost, -np.inf, np.nan))
    covariance = np.full((len(is_anchor),) * 2, np.nan)
    assert uncertainty.covariance is not None
    covariance[np.ix_(main, main)] = uncertainty.covariance * POINTS_PER_LOG_STRENGTH**2
    games, score = _contest_counts_and_beaten_shares(rankings, len(is_anchor))
    diverged = bool(np.abs(maximum.x - strength[main]).max() > DIVERGENCE_DISTANCE)
    converged = bool(maximum.size <= CONVERGED_STEP) and not diverged
    reason = "no maximum" if diverged else "maximum" if converged else "no further gain" if maximum.stuck else "steps"
    prior_penalty = 0.5 * precision * (np.where(is_anchor[main], 0.0, maximum.x) ** 2).sum()
    result = Strengths(
        names,
        np.where(main, MEAN_RATING + POINTS_PER_LOG_STRENGTH * expand_to_all_players(maximum.x), unbounded_rating),
        expand_to_all_players(uncertainty.error) * POINTS_PER_LOG_STRENGTH,
        covariance,
        uncertainty.source,
        games,
        score,
        comparability.component,
        is_anchor,
        "plackett_luce",
        None,
        None,
        {},
        {},
        float(maximum.value + prior_penalty),
        float(inner_rankings.weight.sum()),
        converged,
        reason,
        int(maximum.steps),
        (*notes, *uncertainty.notes),
        None
        if uncertainty.samples is None
        else MEAN_RATING + POINTS_PER_LOG_STRENGTH * expand_to_all_players(uncertainty.samples),
        degrees_of_freedom=uncertainty.degrees_of_freedom,
    )
    return result if converged else drop_standard_errors(result)


def _estimate_uncertainty(
    rankings: PaddedRankings, maximum: SearchState, error_method: str, samples: int, seed: int
) -> StrengthUncertainty:
    """The uncertainty of the maximum: by its curvature, by contests as clusters, or by weighted replicates of these."""
    if error_method == "bootstrap":
        random = np.random.default_rng(seed)
        weight = rankings.weight * random.standard_exponential((samples, len(rankings.weight)))
        centers = draw_prior_centers(random, float(rankings.precision), (samples, len(maximum.x)))
        replicates = jax.tree.map(
            np.asarray, maximise_reweighted_ranking_replicates(rankings, maximum.x, weight, centers)
        )
        converged = replicates.size <= CONVERGED_STEP
        note = f"{int((~converged).sum())} of {samples} replicates have no maximum and are left out"
        x = replicates.x[converged]
        covariance = np.cov(x.T) if len(x) > 1 else np.full((len(maximum.x),) * 2, np.nan)
        return StrengthUncertainty(
            error_method, standard_deviations(covariance), covariance, x, () if converged.all() else (note,)
        )
    matrix, scale, squares = (np.asarray(x) for x in rankings_hessian_and_score_squares(rankings, maximum.x))
    covariance = symmetric_inverse(matrix)
    if np.asarray(rankings.ground).any():
        covariance -= np.outer(rankings.ground, rankings.ground) / scale
    covariance[rankings.is_fixed] = 0.0
    covariance[:, rankings.is_fixed] = 0.0
    degrees_of_freedom = np.inf
    if error_method == "sandwich":
        n = len(rankings.weight)
        if n < 2:
            raise ValueError("the sandwich needs at least two contests; take errors='curvature'")
        meat = squares * n / (n - 1) + float(rankings.precision) * np.eye(len(squares))
        covariance = covariance @ meat @ covariance
        degrees_of_freedom = n - 1.0
    error = standard_deviations(covariance)
    return StrengthUncertainty(error_method, error, covariance, degrees_of_freedom=degrees_of_freedom)


def _contest_counts_and_beaten_shares(rows: RankingRows, num_players: int) -> tuple[HostArray, HostArray]:
    """[N] number of contests, and share of the opponents there whom they beat, with a tie as half."""
    size = np.bincount(rows.ranking, minlength=len(rows.weight))[rows.ranking]
    key = rows.ranking * (int(rows.rank.max(initial=0)) + 1) + rows.rank
    tie_groups = np.unique(key, return_inverse=True, return_counts=True)
    num_tied = tie_groups[2][tie_groups[1]] - 1
    beaten = size - 1 - rows.rank - 0.5 * num_tied
    weight = rows.weight[rows.ranking]
    games, opponents, won = (
        np.bincount(rows.player, weight * column, num_players) for column in (np.ones(len(size)), size - 1.0, beaten)
    )
    return games, np.divide(won, opponents, out=np.full(num_players, np.nan), where=opponents > 0)
