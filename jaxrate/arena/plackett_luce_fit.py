"""Strengths from contests: the rankings of rounds, by Plackett-Luce."""

import jax
import numpy as np

from jaxrate.arena.comparison_graph import Comparability, find_comparable
from jaxrate.arena.newton import DIVERGENCE_DISTANCE, SearchState
from jaxrate.arena.plackett_luce import (
    PaddedRankings,
    RankingRows,
    comparable_pairs,
    maximise_rankings,
    maximise_weighted_rankings,
    pad_rankings,
    rankings_curvature,
    rounds_to_rows,
    select_players,
)
from jaxrate.arena.standard_errors import CONVERGED_STEP, StrengthUncertainty, standard_deviations, symmetric_inverse
from jaxrate.arena.strength_estimates import MEAN_RATING, POINTS_PER_LOG_STRENGTH, Strengths, without_errors
from jaxrate.events import Ragged
from jaxrate.types import HostArray

MAX_PLAYERS = 3000  # players up to whom there is a Hessian


def read_rankings(
    rounds: Ragged, in_part: bool, num_players: int, is_anchor: HostArray
) -> tuple[RankingRows, Comparability]:
    """The rows of rounds, and who can be compared."""
    rows = rounds_to_rows(rounds, in_part)
    if not len(rows.weight):
        raise ValueError("there is no contest")
    return rows, find_comparable(*comparable_pairs(rows), num_players, np.flatnonzero(is_anchor))


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
    """The likeliest strengths, as of `static`."""
    main = comparability.main if prior is None else np.ones(len(is_anchor), bool)
    count = int(main.sum())
    inner = select_players(rankings, main)
    if not len(inner.weight):
        raise ValueError("no two players beat each other, directly or through others; give a prior, as prior=350")
    if count > MAX_PLAYERS:
        raise ValueError(f"rankings of {count:,} players are too many; {MAX_PLAYERS:,} can be compared")
    free = prior is None and not is_anchor.any()
    ground = np.full(count, count**-0.5 if free else 0.0)
    precision = 0.0 if prior is None else (POINTS_PER_LOG_STRENGTH / prior) ** 2
    with jax.enable_x64(True):
        lists = pad_rankings(inner, is_anchor[main], ground, precision)
        end = jax.tree.map(np.asarray, maximise_rankings(lists, strength[main]))
        spread = _estimate_uncertainty(lists, end, errors or "curvature", samples, seed)

    def everybody(values: HostArray) -> HostArray:
        out = np.full((*values.shape[:-1], len(is_anchor)), np.nan)
        out[..., main] = values
        return out

    beyond = np.where(comparability.above, np.inf, np.where(comparability.below, -np.inf, np.nan))
    covariance = np.full((len(is_anchor),) * 2, np.nan)
    assert spread.covariance is not None
    covariance[np.ix_(main, main)] = spread.covariance * POINTS_PER_LOG_STRENGTH**2
    games, score = _games_and_scores(rankings, len(is_anchor))
    far = bool(np.abs(end.x - strength[main]).max() > DIVERGENCE_DISTANCE)
    converged = bool(end.size <= CONVERGED_STEP) and not far
    reason = "no maximum" if far else "maximum" if converged else "no further gain" if end.stuck else "steps"
    lost = 0.5 * precision * (np.where(is_anchor[main], 0.0, end.x) ** 2).sum()
    result = Strengths(
        names,
        np.where(main, MEAN_RATING + POINTS_PER_LOG_STRENGTH * everybody(end.x), beyond),
        everybody(spread.error) * POINTS_PER_LOG_STRENGTH,
        covariance,
        spread.source,
        games,
        score,
        comparability.component,
        is_anchor,
        "plackett_luce",
        None,
        None,
        {},
        {},
        float(end.value + lost),
        float(inner.weight.sum()),
        converged,
        reason,
        int(end.steps),
        (*notes, *spread.notes),
        None if spread.samples is None else MEAN_RATING + POINTS_PER_LOG_STRENGTH * everybody(spread.samples),
    )
    return result if converged else without_errors(result)


def _estimate_uncertainty(
    lists: PaddedRankings, maximum: SearchState, source: str, samples: int, seed: int
) -> StrengthUncertainty:
    """How sure the maximum is: by its curvature, by contests as clusters, or by replicates that weigh them."""
    if source == "bootstrap":
        random = np.random.default_rng(seed)
        weight = lists.weight * random.standard_exponential((samples, len(lists.weight)))
        drawn = jax.tree.map(np.asarray, maximise_weighted_rankings(lists, maximum.x, weight))
        ended = drawn.size <= CONVERGED_STEP
        lost = f"{int((~ended).sum())} of {samples} replicates have no maximum and are left out"
        x = drawn.x[ended]
        covariance = np.cov(x.T) if len(x) > 1 else np.full((len(maximum.x),) * 2, np.nan)
        return StrengthUncertainty(
            source, standard_deviations(covariance), covariance, x, () if ended.all() else (lost,)
        )
    matrix, scale, squares = (np.asarray(x) for x in rankings_curvature(lists, maximum.x))
    bare = symmetric_inverse(matrix)
    if np.asarray(lists.ground).any():
        bare -= np.outer(lists.ground, lists.ground) / scale
    bare[lists.held] = 0.0
    bare[:, lists.held] = 0.0
    if source == "sandwich":
        n = len(lists.weight)
        if n < 2:
            raise ValueError("one contest does not tell how contests differ; take errors='curvature'")
        bare = bare @ squares @ bare * n / (n - 1)
    return StrengthUncertainty(source, standard_deviations(bare), bare)


def _games_and_scores(rows: RankingRows, num_players: int) -> tuple[HostArray, HostArray]:
    """[N] in how many contests each was, and the share of the others there whom they beat, a tie half of one."""
    size = np.bincount(rows.ranking, minlength=len(rows.weight))[rows.ranking]
    key = rows.ranking * (int(rows.rank.max(initial=0)) + 1) + rows.rank
    same = np.unique(key, return_inverse=True, return_counts=True)
    tied = same[2][same[1]] - 1
    beaten = size - 1 - rows.rank - 0.5 * tied
    weight = rows.weight[rows.ranking]
    games, met, won = (
        np.bincount(rows.player, weight * column, num_players) for column in (np.ones(len(size)), size - 1.0, beaten)
    )
    return games, np.divide(won, met, out=np.full(num_players, np.nan), where=met > 0)
