"""Covariances of what was found: of the curvature, of the sandwich, of clusters, of the bootstrap.

The curvature is right if the model is. The sandwich V B V, with V the inverse of the curvature and B the sum of the
squared scores (White 1982), is also right where the model is not; with B the sum over clusters of the squared sum of
their scores it is right where votes of a cluster go together (Liang and Zeger 1986), and with

    B = B_1 + B_2 - B_12

where they do in two ways at once (Cameron, Gelbach and Miller 2011, equation 2.11). Negative eigenvalues of R^T B R,
with R R^T = V, count as zero there, whatever the units. Each sum over C clusters is multiplied by C / (C - 1).

The bootstrap weighs votes, or clusters of them, by independent exponential variables (Rubin 1981): the count of an
outcome becomes a gamma variable, so that its cost does not depend on the number of votes. No vote is ever left out, so
that each replicate has finite strengths if the data have. Clusters of two ways multiply their weights (Owen 2007).
"""

from typing import NamedTuple

import jax
import numpy as np

from jaxrate.arena.newton import (
    REPLICATE_TOLERANCE,
    StrengthProblem,
    grounded_hessian,
    hessian_at_maximum,
    information_diagonal,
    maximise_replicates,
    split_parameters,
)
from jaxrate.arena.paired_comparison import LikelihoodTerms, likelihood_terms
from jaxrate.arena.votes import VoteCells, Votes
from jaxrate.types import HostArray

BLOCK_NUMBERS = 1 << 22  # numbers in a block of clusters, and in the Hessians of replicates at once
REPLICATE_BATCH = 32  # replicates that are drawn together
CONVERGED_STEP = 1e-6  # of log strengths: a step that is none


class FittedModel(NamedTuple):
    """What was searched, and the maximum."""

    model: str
    problem: StrengthProblem
    cells: VoteCells
    counts: HostArray  # [3, M] those of the cells, padded as the problem is
    x: HostArray  # [N + E]


class StrengthUncertainty(NamedTuple):
    """How sure the maximum is."""

    source: str  # of the errors, as `Strengths` has it
    error: HostArray  # [N + E]
    covariance: HostArray | None = None  # [N + E, N + E]
    samples: HostArray | None = None  # [B, N + E]
    notes: tuple[str, ...] = ()


def estimate_uncertainty(
    fitted: FittedModel, votes: Votes, errors: str | None, is_dense: bool, samples: int, seed: int
) -> StrengthUncertainty:
    """The spread by a method, or by what suits. ValueError for a method that so many players do not have."""
    if not is_dense:
        if errors is not None or votes.clusters:
            raise ValueError("so many players have errors of their own curvature only; give neither errors nor cluster")
        return StrengthUncertainty("curvature, others held", _conditional_errors(fitted))
    whole, bare = _inverse_curvature(fitted)
    source = errors or ("sandwich" if votes.clusters else "curvature")
    if source == "curvature":
        return StrengthUncertainty(source, standard_deviations(bare), bare)
    if source == "sandwich":
        covariance = (
            _clustered_covariance(fitted, votes, bare) if votes.clusters else bare @ _vote_score_squares(fitted) @ bare
        )
        return StrengthUncertainty(source, standard_deviations(covariance), covariance)
    drawn, ended = _bootstrap_maxima(fitted, votes, whole, samples, seed)
    notes = () if ended.all() else (f"{int((~ended).sum())} of {samples} replicates have no maximum and are left out",)
    drawn = drawn[ended]
    covariance = np.cov(drawn.T) if len(drawn) > 1 else np.full_like(bare, np.nan)
    return StrengthUncertainty(source, standard_deviations(covariance), covariance, drawn, notes)


def standard_deviations(covariance: HostArray) -> HostArray:
    """[n] from variances, of which rounding may make one negative."""
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))


def symmetric_inverse(matrix: HostArray) -> HostArray:
    """The symmetric inverse; NaN where there is none, as when the likelihood has no maximum and is flat far away."""
    try:
        inverted = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)
    return 0.5 * (inverted + inverted.T)


def _conditional_errors(fitted: FittedModel) -> HostArray:
    """[N + E] errors where everybody else is held; NaN for coefficients and kappa."""
    n = len(fitted.problem.held)
    weight = np.asarray(information_diagonal(fitted.model, fitted.problem, fitted.counts, fitted.x))
    error = np.where(fitted.problem.held, 0.0, 1.0 / np.sqrt(weight))
    return np.concatenate([error, np.full(len(fitted.x) - n, np.nan)])


def _inverse_curvature(fitted: FittedModel) -> tuple[HostArray, HostArray]:
    """The inverse [N + E, N + E] of minus the Hessian, grounded; and without the grounding and who is held."""
    model, problem, _, counts, x = fitted
    matrix, scale = (np.asarray(part) for part in hessian_at_maximum(model, problem, counts, x))
    whole = symmetric_inverse(matrix)
    n, ground = len(problem.held), np.asarray(problem.ground)
    bare = whole.copy()
    if ground.any():
        bare[:n, :n] -= np.outer(ground, ground) / scale
    bare[:n][problem.held] = 0.0
    bare[:, :n][:, problem.held] = 0.0
    return whole, bare


def _cell_scores(fitted: FittedModel) -> tuple[HostArray, HostArray]:
    """[3, M] the derivatives by eta and by kappa of one win, tie or loss in each cell."""
    model, problem, _, _, x = fitted
    strength, coefficient, kappa = (np.asarray(part) for part in split_parameters(problem, x))
    eta = strength[problem.first] - strength[problem.second] + problem.covariates @ coefficient
    found = [likelihood_terms(model, np.repeat(np.eye(3)[:, [o]], len(eta), axis=1), eta, kappa) for o in range(3)]
    return np.stack([np.asarray(one.eta) for one in found]), np.stack([np.asarray(one.kappa) for one in found])


def _vote_score_squares(fitted: FittedModel) -> HostArray:
    """[N + E, N + E] the sum over votes of their squared scores, from counts."""
    _, problem, _, counts, x = fitted
    eta, kappa = _cell_scores(fitted)
    zero = np.zeros(counts.shape[1])
    squares = [(counts * pair).sum(axis=0) for pair in (eta * eta, eta * kappa, kappa * kappa)]
    plain = problem._replace(ground=0.0 * problem.ground, precision=np.zeros(()))
    return np.asarray(
        grounded_hessian(plain, LikelihoodTerms(zero, zero, zero, *squares), len(x) - len(problem.held))[0]
    )


def _clustered_covariance(fitted: FittedModel, votes: Votes, model_covariance: HostArray) -> HostArray:
    """[N + E, N + E] the covariance, from the sum over clusters of the squared sums of their votes' scores."""
    _, problem, _, _, x = fitted
    place, outcome, codes = _votes_in_cells(fitted.cells, votes)
    eta, kappa = (sum(o * t[place] for o, t in zip(outcome, table, strict=True)) for table in _cell_scores(fitted))
    columns = [np.asarray(ends)[place] for ends in (problem.first, problem.second)]
    values = [eta, -eta]
    for j in range(len(x) - len(problem.held)):
        column = eta * problem.covariates[place, j] if j < problem.covariates.shape[1] else kappa
        columns.append(np.full(len(eta), len(problem.held) + j))
        values.append(column)
    where, what = np.stack(columns, axis=1), np.stack(values, axis=1)
    squares = [_cluster_score_squares(code, where, what, len(x)) for code in codes]
    if len(squares) == 1:
        return model_covariance @ squares[0] @ model_covariance
    one, two = codes
    both = np.unique(one * (two.max(initial=0) + np.int64(1)) + two, return_inverse=True)[1]
    value, vector = np.linalg.eigh(model_covariance)
    root = vector * np.sqrt(np.maximum(value, 0.0))
    value, vector = np.linalg.eigh(
        root.T @ (squares[0] + squares[1] - _cluster_score_squares(both, where, what, len(x))) @ root
    )
    root = root @ vector * np.sqrt(np.maximum(value, 0.0))
    return root @ root.T


def _votes_in_cells(cells: VoteCells, votes: Votes) -> tuple[HostArray, list[HostArray], list[HostArray]]:
    """Of the votes in cells: these [n], the outcomes of the first player there, and the clusters, numbered from 0."""
    assert cells.of_vote is not None and cells.turned is not None
    kept = cells.of_vote >= 0
    win, tie, loss = votes.outcome
    outcome = np.where(cells.turned, loss, win), tie, np.where(cells.turned, win, loss)
    codes = [np.unique(code[kept], return_inverse=True)[1] for code in votes.clusters]
    if min(code.max(initial=0) for code in codes) == 0:
        raise ValueError("all votes are of one cluster, which does not tell how clusters differ; take another column")
    return cells.of_vote[kept], [column[kept] for column in outcome], codes


def _cluster_score_squares(cluster: HostArray, positions: HostArray, values: HostArray, size: int) -> HostArray:
    """[size, size] the sum over clusters of the squared sums of vectors with values [n, k] at places [n, k]."""
    order = np.argsort(cluster, kind="stable")
    count = int(cluster.max(initial=-1)) + 1
    start = np.searchsorted(cluster[order], np.arange(count + 1))
    total, block = np.zeros((size, size)), max(1, BLOCK_NUMBERS // size)
    for low in range(0, count, block):
        high = min(low + block, count)
        rows = order[start[low] : start[high]]
        flat = (cluster[rows, None] - low) * size + positions[rows]
        sums = np.bincount(flat.ravel(), values[rows].ravel(), (high - low) * size).reshape(high - low, size)
        total += sums.T @ sums
    return total * count / (count - 1)


def _bootstrap_maxima(
    fitted: FittedModel, votes: Votes, inverse_curvature: HostArray, samples: int, seed: int
) -> tuple[HostArray, HostArray]:
    """[samples, N + E] what replicates of the data give, and [samples] whether each search came to its end."""
    model, problem, cells, counts, x = fitted
    random = np.random.Generator(np.random.SFC64(seed))  # the quickest
    abreast = max(1, min(REPLICATE_BATCH, samples))
    at_once = None if jax.default_backend() == "cpu" else max(1, min(abreast, BLOCK_NUMBERS // len(x) ** 2))
    inside = _votes_in_cells(cells, votes) if votes.clusters else None

    def draw() -> HostArray:
        if inside is not None:
            return np.stack([_weighted_counts(random, *inside, counts.shape[1]) for _ in range(abreast)])
        return random.standard_gamma(counts, (abreast, *counts.shape))

    maxima, ended, drawn = [], [], draw()
    for low in range(0, samples, abreast):
        search = maximise_replicates(model, at_once, problem, inverse_curvature, drawn, x)
        drawn = draw() if low + abreast < samples else drawn  # while that is being searched
        maximum, size = (np.asarray(part) for part in search)
        wanted = slice(0, samples - low)
        maxima.append(maximum[wanted])
        ended.append((size <= REPLICATE_TOLERANCE)[wanted])
    return np.concatenate(maxima), np.concatenate(ended)


def _weighted_counts(
    random: np.random.Generator, place: HostArray, outcome: list[HostArray], codes: list[HostArray], num_cells: int
) -> HostArray:
    """[3, M] counts where each cluster has a weight of its own."""
    weight = np.ones(len(place))
    for code in codes:
        weight *= random.standard_exponential(int(code.max(initial=-1)) + 1)[code]
    return np.stack([np.bincount(place, weight * column, num_cells) for column in outcome])
