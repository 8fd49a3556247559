"""Covariances of fitted strengths: by curvature, sandwich, clustered sandwich and bootstrap.

The curvature is right if the model is right. The sandwich V B V, with V the inverse of the curvature and B the sum of
the squared scores (White 1982), is also right if the model is wrong. With B the sum over clusters of the squared sum of
their scores it allows votes within a cluster to depend on each other (Liang and Zeger 1986), and with

    B = B_1 + B_2 - B_12

with two clusterings at once (Cameron, Gelbach and Miller 2011, equation 2.11). Negative eigenvalues of R^T B R,
with R R^T = V, count as zero there, whatever the units. Each sum over C clusters is multiplied by C / (C - 1).

A prior adds its precision to B, as the mean of each prior scatters as the strengths do. The variance of few clusters is
itself uncertain: intervals are then those of Student's t with C - 1 degrees of freedom, of two clusterings with the
lesser C (Cameron, Gelbach and Miller 2011, section 2.3), and below FEW_CLUSTERS no contrast of parameters has a smaller
variance than by curvature (Angrist and Pischke 2009, "Mostly Harmless Econometrics", section 8.2.3).

The bootstrap weighs votes, or clusters of them, by independent exponential variables (Rubin 1981): the count of an
outcome becomes a gamma variable, so that its cost does not depend on the number of votes. No vote is ever left out, so
that each replicate has finite strengths if the data have. Weights of two clusterings are multiplied (Owen 2007). A
prior has another mean in each replicate, drawn from the prior.
"""

from functools import partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.arena.newton import (
    REPLICATE_TOLERANCE,
    LogLikelihoodDerivatives,
    StrengthProblem,
    grounded_information,
    grounded_information_at,
    information_diagonal,
    log_likelihood_derivatives_at,
    maximise_replicates,
)
from jaxrate.arena.votes import VoteCells, Votes
from jaxrate.core.array_types import Array, HostArray

BLOCK_NUMBERS = 1 << 22  # numbers in a block of clusters, and in the Hessians of replicates at once
REPLICATE_BATCH = 32  # replicates that are drawn at once
FEW_CLUSTERS = 40  # below, a note says so, and variances have a floor
CONVERGED_STEP = 1e-6  # of log strengths: a smaller step means convergence


ClusteredVotes: TypeAlias = tuple[HostArray, list[HostArray], list[HostArray]]  # cells, outcomes, clusters


class FittedModel(NamedTuple):
    """A problem and its maximum."""

    model: str
    problem: StrengthProblem
    cells: VoteCells
    counts: HostArray  # [3, M] counts of the cells, padded as the problem
    x: HostArray  # [N + E]


class StrengthUncertainty(NamedTuple):
    """The uncertainty of the maximum."""

    source: str  # as `Strengths.errors`
    error: HostArray  # [N + E]
    covariance: HostArray | None = None  # [N + E, N + E]
    samples: HostArray | None = None  # [B, N + E]
    notes: tuple[str, ...] = ()
    degrees_of_freedom: float = np.inf  # of the errors, by the number of clusters


def estimate_uncertainty(
    fitted: FittedModel, votes: Votes, errors: str | None, samples: int, seed: int
) -> StrengthUncertainty:
    """The uncertainty by a method, or by the default one."""
    model, problem, _, counts, x = fitted
    matrix, scale = (np.asarray(part) for part in grounded_information_at(model, problem, counts, x))
    inverse_curvature = symmetric_inverse(matrix)
    covariance = covariance_without_ground(problem, inverse_curvature, scale)
    source = errors or ("sandwich" if votes.clusters else "curvature")
    if source == "curvature":
        return StrengthUncertainty(source, standard_deviations(covariance), covariance)
    clustered = _cells_outcomes_and_clusters_of_votes(fitted.cells, votes) if votes.clusters else None
    num_clusters = np.inf if clustered is None else min(int(code.max()) + 1 for code in clustered[2])
    note = f"only {num_clusters} clusters: the intervals are wide, as their errors are uncertain themselves"
    notes = (note,) if num_clusters < FEW_CLUSTERS else ()
    if source == "bootstrap":
        replicates = _maximise_bootstrap_replicates(fitted, clustered, inverse_curvature, samples, seed)
        uncertainty = uncertainty_of_replicates(*replicates)
    else:
        covariance = _sandwich_covariance(fitted, clustered, covariance, num_clusters < FEW_CLUSTERS)
        uncertainty = StrengthUncertainty(source, standard_deviations(covariance), covariance)
    return uncertainty._replace(notes=(*notes, *uncertainty.notes), degrees_of_freedom=float(num_clusters - 1))


def uncertainty_of_replicates(x: HostArray, converged: HostArray) -> StrengthUncertainty:
    """The uncertainty by bootstrap replicates [B, N + E], of those whose search `converged` [B]."""
    count, samples = int((~converged).sum()), x[converged]
    notes = (f"{count} of {len(x)} replicates have no maximum and are left out",) if count else ()
    covariance = np.cov(samples.T) if len(samples) > 1 else np.full((x.shape[1],) * 2, np.nan)
    return StrengthUncertainty("bootstrap", standard_deviations(covariance), covariance, samples, notes)


def standard_deviations(covariance: HostArray) -> HostArray:
    """[n] standard deviations; variances that are negative by rounding count as 0."""
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))


def symmetric_inverse(matrix: HostArray) -> HostArray:
    """The symmetric inverse; NaN if there is none, as for a likelihood without a maximum, which is flat far away."""
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)
    return 0.5 * (inverse + inverse.T)


def uncertainty_with_others_fixed(fitted: FittedModel, votes: Votes, errors: str | None) -> StrengthUncertainty:
    """The uncertainty of strengths with all others fixed, NaN of coefficients and kappa; ValueError for a method."""
    if errors is not None or votes.clusters:
        raise ValueError("so many players have errors by their own curvature only; leave out errors and cluster")
    n = len(fitted.problem.is_fixed)
    weight = np.asarray(information_diagonal(fitted.model, fitted.problem, fitted.counts, fitted.x))
    error = np.where(fitted.problem.is_fixed, 0.0, 1.0 / np.sqrt(weight))
    return StrengthUncertainty("curvature, others held", np.append(error, np.full(len(fitted.x) - n, np.nan)))


def covariance_without_ground(problem: Any, inverse: HostArray, scale: HostArray) -> HostArray:
    """[N + E, N + E] the inverse of minus the grounded Hessian, without the grounding and fixed strengths.

    `problem` has both, as a `StrengthProblem`, and `scale` is that of the grounding.
    """
    covariance, ground = inverse.copy(), np.asarray(problem.ground)
    n = len(ground)
    if ground.any():
        covariance[:n, :n] -= np.outer(ground, ground) / scale
    covariance[:n][problem.is_fixed] = 0.0
    covariance[:, :n][:, problem.is_fixed] = 0.0
    return covariance


@partial(jax.jit, static_argnums=0)
def _log_likelihood_derivatives_of_each_outcome(model: str, problem: StrengthProblem, x: Array) -> tuple[Array, Array]:
    """[3, M] the derivatives by eta and by kappa of one win, tie or loss in each cell."""
    one_of_each = jnp.repeat(jnp.eye(3, dtype=x.dtype)[:, :, None], len(problem.first), axis=2)
    terms = jax.vmap(lambda counts: log_likelihood_derivatives_at(model, problem, counts, x))(one_of_each)
    return terms.eta, terms.kappa


@partial(jax.jit, static_argnums=0)
def _sum_vote_gradient_outer_products(model: str, problem: StrengthProblem, counts: Array, x: Array) -> Array:
    """[N + E, N + E] the sum of the squared scores of votes, from counts, and of the prior."""
    eta, kappa = _log_likelihood_derivatives_of_each_outcome(model, problem, x)
    zero = jnp.zeros(counts.shape[1], x.dtype)
    squares = [(counts * pair).sum(axis=0) for pair in (eta * eta, eta * kappa, kappa * kappa)]
    return grounded_information(
        problem._replace(ground=0.0 * problem.ground),
        LogLikelihoodDerivatives(zero, zero, zero, *squares),
        len(x) - len(problem.is_fixed),
    )[0]


def _sandwich_covariance(
    fitted: FittedModel, clustered_votes: ClusteredVotes | None, model_covariance: HostArray, with_few_clusters: bool
) -> HostArray:
    """[N + E, N + E] the covariance, from the squared scores of votes, or summed squares of the sums over clusters."""
    model, problem, _, counts, x = fitted
    if clustered_votes is None:
        meat = np.asarray(_sum_vote_gradient_outer_products(model, problem, counts, x))
        return model_covariance @ meat @ model_covariance
    cell, outcome, codes = clustered_votes
    eta, kappa = (
        sum(o * t[cell] for o, t in zip(outcome, np.asarray(table), strict=True))
        for table in _log_likelihood_derivatives_of_each_outcome(model, problem, x)
    )
    columns = [np.asarray(ends)[cell] for ends in (problem.first, problem.second)]
    values = [eta, -eta]
    for j in range(len(x) - len(problem.is_fixed)):
        column = eta * problem.covariates[cell, j] if j < problem.covariates.shape[1] else kappa
        columns.append(np.full(len(eta), len(problem.is_fixed) + j))
        values.append(column)
    positions, scores = np.stack(columns, axis=1), np.stack(values, axis=1)
    meat = np.sum([sum_cluster_score_squares(code, positions, scores, len(x)) for code in codes], axis=0)
    if len(codes) == 2:
        one, two = codes
        combined = np.unique(one * (two.max(initial=0) + np.int64(1)) + two, return_inverse=True)[1]
        meat -= sum_cluster_score_squares(combined, positions, scores, len(x))
    n = len(problem.is_fixed)
    meat[range(n), range(n)] += float(problem.precision)
    value, vector = np.linalg.eigh(model_covariance)
    root = vector * np.sqrt(np.maximum(value, 0.0))
    value, vector = np.linalg.eigh(root.T @ meat @ root)
    root = root @ vector * np.sqrt(np.maximum(value, float(with_few_clusters or problem.precision > 0)))
    return root @ root.T


def _cells_outcomes_and_clusters_of_votes(cells: VoteCells, votes: Votes) -> ClusteredVotes:
    """The votes in cells: their cells [n], outcomes of the cell's first player, and clusters, numbered from 0."""
    in_cell = cells.cell_of_vote >= 0
    win, tie, loss = votes.outcome
    outcome = np.where(cells.is_swapped, loss, win), tie, np.where(cells.is_swapped, win, loss)
    codes = [np.unique(code[in_cell], return_inverse=True)[1] for code in votes.clusters]
    if min(code.max(initial=0) for code in codes) == 0:
        raise ValueError("all votes are in one cluster; choose a column with at least two clusters")
    return cells.cell_of_vote[in_cell], [column[in_cell] for column in outcome], codes


def sum_cluster_score_squares(cluster: HostArray, positions: HostArray, values: HostArray, size: int) -> HostArray:
    """[size, size] the sum over clusters of the squared sums of vectors with values [n, k] at positions [n, k]."""
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


def _maximise_bootstrap_replicates(
    fitted: FittedModel, clustered_votes: ClusteredVotes | None, inverse_curvature: HostArray, samples: int, seed: int
) -> tuple[HostArray, HostArray]:
    """[samples, N + E] maxima of replicates of the data, and [samples] whether each search converged."""
    model, problem, _, counts, x = fitted
    random = np.random.Generator(np.random.SFC64(seed))  # the fastest generator
    batch = max(1, min(REPLICATE_BATCH, samples))
    searches_at_once = None if jax.default_backend() == "cpu" else max(1, min(batch, BLOCK_NUMBERS // len(x) ** 2))

    def draw_counts() -> HostArray:
        if clustered_votes is not None:
            return np.stack(
                [_draw_bayesian_bootstrap_counts(random, *clustered_votes, counts.shape[1]) for _ in range(batch)]
            )
        return random.standard_gamma(counts, (batch, *counts.shape))

    maxima, converged, counts_drawn = [], [], draw_counts()
    for low in range(0, samples, batch):
        centers = draw_prior_centers(random, float(problem.precision), (batch, len(problem.is_fixed)))
        search = maximise_replicates(model, searches_at_once, problem, inverse_curvature, counts_drawn, x, centers)
        counts_drawn = draw_counts() if low + batch < samples else counts_drawn  # during the search
        maximum, size = (np.asarray(part) for part in search)
        kept = slice(0, samples - low)
        maxima.append(maximum[kept])
        converged.append((size <= REPLICATE_TOLERANCE)[kept])
    return np.concatenate(maxima), np.concatenate(converged)


def draw_prior_centers(random: np.random.Generator, precision: float, shape: tuple[int, int]) -> HostArray:
    """[B, N] means of the prior of each replicate: its spread is that of the strengths; zeros without a prior."""
    return random.standard_normal(shape) * precision**-0.5 if precision else np.zeros(shape)


def _draw_bayesian_bootstrap_counts(
    random: np.random.Generator, cell: HostArray, outcome: list[HostArray], codes: list[HostArray], num_cells: int
) -> HostArray:
    """[3, M] counts with a random weight for each cluster."""
    weight = np.ones(len(cell))
    for code in codes:
        weight *= random.standard_exponential(int(code.max(initial=-1)) + 1)[code]
    return np.stack([np.bincount(cell, weight * column, num_cells) for column in outcome])
