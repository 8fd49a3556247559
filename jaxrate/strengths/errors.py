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

from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.strengths.models import Terms, terms
from jaxrate.strengths.newton import CLOSE, Problem, curvature, degrees, hessian, parts, replicates
from jaxrate.strengths.votes import Cells, Votes

NumPy = np.ndarray[Any, Any]
ROOM = 1 << 22  # numbers in a block of clusters, and in the Hessians of replicates at once
ABREAST = 32  # replicates that are drawn together
ENDED = 1e-6  # of log strengths: a step that is none


class Fitted(NamedTuple):
    """What was searched, and the maximum."""

    model: str
    problem: Problem
    cells: Cells
    counts: NumPy  # [3, M] those of the cells, padded as the problem is
    x: NumPy  # [N + E]


class Spread(NamedTuple):
    """How sure the maximum is."""

    source: str  # of the errors, as `Strengths` has it
    error: NumPy  # [N + E]
    covariance: NumPy | None = None  # [N + E, N + E]
    samples: NumPy | None = None  # [B, N + E]
    notes: tuple[str, ...] = ()


def spread_of(fitted: Fitted, votes: Votes, errors: str | None, dense: bool, samples: int, seed: int) -> Spread:
    """The spread by a method, or by what suits. ValueError for a method that so many players do not have."""
    if not dense:
        if errors is not None or votes.clusters:
            raise ValueError("so many players have errors of their own curvature only; give neither errors nor cluster")
        return Spread("curvature, others held", _alone(fitted))
    whole, bare = _inverse(fitted)
    source = errors or ("sandwich" if votes.clusters else "curvature")
    if source == "curvature":
        return Spread(source, deviation(bare), bare)
    if source == "sandwich":
        covariance = _by_clusters(fitted, votes, bare) if votes.clusters else bare @ _by_votes(fitted) @ bare
        return Spread(source, deviation(covariance), covariance)
    drawn, ended = _bootstrap(fitted, votes, whole, samples, seed)
    notes = () if ended.all() else (f"{int((~ended).sum())} of {samples} replicates have no maximum and are left out",)
    drawn = drawn[ended]
    covariance = np.cov(drawn.T) if len(drawn) > 1 else np.full_like(bare, np.nan)
    return Spread(source, deviation(covariance), covariance, drawn, notes)


def deviation(covariance: NumPy) -> NumPy:
    """[n] from variances, of which rounding may make one negative."""
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))


def inverse(matrix: NumPy) -> NumPy:
    """The symmetric inverse; NaN where there is none, as when the likelihood has no maximum and is flat far away."""
    try:
        found = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)
    return 0.5 * (found + found.T)


def _alone(fitted: Fitted) -> NumPy:
    """[N + E] errors where everybody else is held; NaN for coefficients and kappa."""
    n = len(fitted.problem.held)
    weight = np.asarray(degrees(fitted.model, fitted.problem, fitted.counts, fitted.x))
    error = np.where(fitted.problem.held, 0.0, 1.0 / np.sqrt(weight))
    return np.concatenate([error, np.full(len(fitted.x) - n, np.nan)])


def _inverse(fitted: Fitted) -> tuple[NumPy, NumPy]:
    """The inverse [N + E, N + E] of minus the Hessian, grounded; and without the grounding and who is held."""
    model, problem, _, counts, x = fitted
    matrix, scale = (np.asarray(part) for part in curvature(model, problem, counts, x))
    whole = inverse(matrix)
    n, ground = len(problem.held), np.asarray(problem.ground)
    bare = whole.copy()
    if ground.any():
        bare[:n, :n] -= np.outer(ground, ground) / scale
    bare[:n][problem.held] = 0.0
    bare[:, :n][:, problem.held] = 0.0
    return whole, bare


def _scores(fitted: Fitted) -> tuple[NumPy, NumPy]:
    """[3, M] the derivatives by eta and by kappa of one win, tie or loss in each cell."""
    model, problem, _, _, x = fitted
    strength, coefficient, kappa = (np.asarray(part) for part in parts(problem, x))
    eta = strength[problem.first] - strength[problem.second] + problem.covariates @ coefficient
    found = [terms(model, np.repeat(np.eye(3)[:, [o]], len(eta), axis=1), eta, kappa) for o in range(3)]
    return np.stack([np.asarray(one.eta) for one in found]), np.stack([np.asarray(one.kappa) for one in found])


def _by_votes(fitted: Fitted) -> NumPy:
    """[N + E, N + E] the sum over votes of their squared scores, from counts."""
    _, problem, _, counts, x = fitted
    eta, kappa = _scores(fitted)
    zero = np.zeros(counts.shape[1])
    squares = [(counts * pair).sum(axis=0) for pair in (eta * eta, eta * kappa, kappa * kappa)]
    plain = problem._replace(ground=0.0 * problem.ground, precision=np.zeros(()))
    return np.asarray(hessian(plain, Terms(zero, zero, zero, *squares), len(x) - len(problem.held))[0])


def _by_clusters(fitted: Fitted, votes: Votes, bare: NumPy) -> NumPy:
    """[N + E, N + E] the covariance, from the sum over clusters of the squared sums of their votes' scores."""
    _, problem, _, _, x = fitted
    place, outcome, codes = _inside(fitted.cells, votes)
    eta, kappa = (sum(o * t[place] for o, t in zip(outcome, table, strict=True)) for table in _scores(fitted))
    columns = [np.asarray(ends)[place] for ends in (problem.first, problem.second)]
    values = [eta, -eta]
    for j in range(len(x) - len(problem.held)):
        column = eta * problem.covariates[place, j] if j < problem.covariates.shape[1] else kappa
        columns.append(np.full(len(eta), len(problem.held) + j))
        values.append(column)
    where, what = np.stack(columns, axis=1), np.stack(values, axis=1)
    found = [_squared(code, where, what, len(x)) for code in codes]
    if len(found) == 1:
        return bare @ found[0] @ bare
    one, two = codes
    both = np.unique(one * (two.max(initial=0) + np.int64(1)) + two, return_inverse=True)[1]
    value, vector = np.linalg.eigh(bare)
    root = vector * np.sqrt(np.maximum(value, 0.0))
    value, vector = np.linalg.eigh(root.T @ (found[0] + found[1] - _squared(both, where, what, len(x))) @ root)
    root = root @ vector * np.sqrt(np.maximum(value, 0.0))
    return root @ root.T


def _inside(cells: Cells, votes: Votes) -> tuple[NumPy, list[NumPy], list[NumPy]]:
    """Of the votes in cells: these [n], the outcomes of the first player there, and the clusters, numbered from 0."""
    assert cells.of_vote is not None and cells.turned is not None
    kept = cells.of_vote >= 0
    win, tie, loss = votes.outcome
    outcome = np.where(cells.turned, loss, win), tie, np.where(cells.turned, win, loss)
    codes = [np.unique(code[kept], return_inverse=True)[1] for code in votes.clusters]
    if min(code.max(initial=0) for code in codes) == 0:
        raise ValueError("all votes are of one cluster, which does not tell how clusters differ; take another column")
    return cells.of_vote[kept], [column[kept] for column in outcome], codes


def _squared(code: NumPy, where: NumPy, what: NumPy, size: int) -> NumPy:
    """[size, size] the sum over clusters of the squared sums of vectors with values [n, k] at places [n, k]."""
    order = np.argsort(code, kind="stable")
    count = int(code.max(initial=-1)) + 1
    start = np.searchsorted(code[order], np.arange(count + 1))
    total, block = np.zeros((size, size)), max(1, ROOM // size)
    for low in range(0, count, block):
        high = min(low + block, count)
        rows = order[start[low] : start[high]]
        flat = (code[rows, None] - low) * size + where[rows]
        sums = np.bincount(flat.ravel(), what[rows].ravel(), (high - low) * size).reshape(high - low, size)
        total += sums.T @ sums
    return total * count / (count - 1)


def _bootstrap(fitted: Fitted, votes: Votes, whole: NumPy, samples: int, seed: int) -> tuple[NumPy, NumPy]:
    """[samples, N + E] what replicates of the data give, and [samples] whether each search came to its end."""
    model, problem, cells, counts, x = fitted
    random = np.random.Generator(np.random.SFC64(seed))  # the quickest
    abreast = max(1, min(ABREAST, samples))
    at_once = None if jax.default_backend() == "cpu" else max(1, min(abreast, ROOM // len(x) ** 2))
    inside = _inside(cells, votes) if votes.clusters else None

    def draw() -> NumPy:
        if inside is not None:
            return np.stack([_weighed(random, *inside, counts.shape[1]) for _ in range(abreast)])
        return random.standard_gamma(counts, (abreast, *counts.shape))

    found, ended, drawn = [], [], draw()
    for low in range(0, samples, abreast):
        search = replicates(model, at_once, problem, whole, drawn, x)
        drawn = draw() if low + abreast < samples else drawn  # while that is being searched
        maximum, size = (np.asarray(part) for part in search)
        wanted = slice(0, samples - low)
        found.append(maximum[wanted])
        ended.append((size <= CLOSE)[wanted])
    return np.concatenate(found), np.concatenate(ended)


def _weighed(random: np.random.Generator, place: NumPy, outcome: list[NumPy], codes: list[NumPy], room: int) -> NumPy:
    """[3, M] counts where each cluster has a weight of its own."""
    weight = np.ones(len(place))
    for code in codes:
        weight *= random.standard_exponential(int(code.max(initial=-1)) + 1)[code]
    return np.stack([np.bincount(place, weight * column, room) for column in outcome])
