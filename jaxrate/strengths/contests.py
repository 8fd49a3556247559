"""Strengths from contests: the rankings of rounds, by Plackett-Luce."""

from typing import Any

import jax
import numpy as np

from jaxrate.events import Ragged
from jaxrate.strengths.errors import ENDED, Spread, deviation, inverse
from jaxrate.strengths.found import CENTRE, POINTS, Strengths, without_errors
from jaxrate.strengths.graph import Standing, standing
from jaxrate.strengths.newton import FAR, Search
from jaxrate.strengths.rankings import (
    Lists,
    Rows,
    curvature_of_lists,
    kept,
    lists_of,
    meetings,
    rows_of,
    search_lists,
    weighed_lists,
)

NumPy = np.ndarray[Any, Any]
MOST = 3000  # players up to whom there is a Hessian


def meet(rounds: Ragged, in_part: bool, num_players: int, held: NumPy) -> tuple[Rows, Standing]:
    """The rows of rounds, and who can be compared."""
    rows = rows_of(rounds, in_part)
    if not len(rows.weight):
        raise ValueError("there is no contest")
    return rows, standing(*meetings(rows), num_players, np.flatnonzero(held))


def of_rounds(
    rows: Rows,
    ranks: Standing,
    held: NumPy,
    strength: NumPy,
    prior: float | None,
    errors: str | None,
    samples: int,
    seed: int,
    names: NumPy,
    notes: tuple[str, ...],
) -> Strengths:
    """The likeliest strengths, as of `static`."""
    main = ranks.main if prior is None else np.ones(len(held), bool)
    count = int(main.sum())
    inner = kept(rows, main)
    if not len(inner.weight):
        raise ValueError("no two players beat each other, directly or through others; give a prior, as prior=350")
    if count > MOST:
        raise ValueError(f"rankings of {count:,} players are too many; {MOST:,} can be compared")
    free = prior is None and not held.any()
    ground = np.full(count, count**-0.5 if free else 0.0)
    precision = 0.0 if prior is None else (POINTS / prior) ** 2
    with jax.enable_x64(True):
        lists = lists_of(inner, held[main], ground, precision)
        end = jax.tree.map(np.asarray, search_lists(lists, strength[main]))
        spread = _spread(lists, end, errors or "curvature", samples, seed)

    def everybody(values: NumPy) -> NumPy:
        out = np.full((*values.shape[:-1], len(held)), np.nan)
        out[..., main] = values
        return out

    beyond = np.where(ranks.above, np.inf, np.where(ranks.below, -np.inf, np.nan))
    covariance = np.full((len(held),) * 2, np.nan)
    assert spread.covariance is not None
    covariance[np.ix_(main, main)] = spread.covariance * POINTS**2
    games, score = _scores(rows, len(held))
    far = bool(np.abs(end.x - strength[main]).max() > FAR)
    converged = bool(end.size <= ENDED) and not far
    reason = "no maximum" if far else "maximum" if converged else "no further gain" if end.stuck else "steps"
    lost = 0.5 * precision * (np.where(held[main], 0.0, end.x) ** 2).sum()
    result = Strengths(
        names,
        np.where(main, CENTRE + POINTS * everybody(end.x), beyond),
        everybody(spread.error) * POINTS,
        covariance,
        spread.source,
        games,
        score,
        ranks.component,
        held,
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
        None if spread.samples is None else CENTRE + POINTS * everybody(spread.samples),
    )
    return result if converged else without_errors(result)


def _spread(lists: Lists, end: Search, source: str, samples: int, seed: int) -> Spread:
    """How sure the maximum is: by its curvature, by contests as clusters, or by replicates that weigh them."""
    if source == "bootstrap":
        random = np.random.default_rng(seed)
        weight = lists.weight * random.standard_exponential((samples, len(lists.weight)))
        drawn = jax.tree.map(np.asarray, weighed_lists(lists, end.x, weight))
        ended = drawn.size <= ENDED
        lost = f"{int((~ended).sum())} of {samples} replicates have no maximum and are left out"
        x = drawn.x[ended]
        covariance = np.cov(x.T) if len(x) > 1 else np.full((len(end.x),) * 2, np.nan)
        return Spread(source, deviation(covariance), covariance, x, () if ended.all() else (lost,))
    matrix, scale, squares = (np.asarray(x) for x in curvature_of_lists(lists, end.x))
    bare = inverse(matrix)
    if np.asarray(lists.ground).any():
        bare -= np.outer(lists.ground, lists.ground) / scale
    bare[lists.held] = 0.0
    bare[:, lists.held] = 0.0
    if source == "sandwich":
        n = len(lists.weight)
        if n < 2:
            raise ValueError("one contest does not tell how contests differ; take errors='curvature'")
        bare = bare @ squares @ bare * n / (n - 1)
    return Spread(source, deviation(bare), bare)


def _scores(rows: Rows, num_players: int) -> tuple[NumPy, NumPy]:
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
