"""Maximum likelihood strengths by Newton's method: with a dense Hessian for few players, else by conjugate gradients.

With eta the difference of log strengths and the covariates' part, and s the logistic function:

    Bradley-Terry (1952)   P(win) = s(eta); a tie, where it is counted, is half a win and half a loss
    Davidson (1970)        P(win) : P(tie) : P(loss) = e^(eta/2) : e^kappa : e^(-eta/2),  nu = e^kappa
    Rao and Kupper (1967)  P(win) = s(eta - kappa), P(loss) = s(-eta - kappa),  theta = e^kappa, kappa > 0

The log likelihood is concave in the vector x = (log strengths [N], coefficients [p], kappa), so that Newton's steps,
halved where they do not increase it, reach the maximum from any start. Minus its Hessian is a Laplacian of the graph of
pairs, bordered by coefficients and kappa:

    sum over cells of  u u^T,   u = e_first - e_second,  weighted by the curvature of each cell

It is singular along the constant vector if there are no anchors and no prior. Then a multiple of `ground` times its
transpose is added, the "grounding". The gradient has no component along it, so strengths keep their initial mean.

Covariances are by curvature, sandwich, clustered sandwich and bootstrap.

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
from jax import lax
from jax.scipy.sparse.linalg import cg
from scipy.special import expit  # type: ignore[import-untyped]

from jaxrate.arena.votes import VoteCells, Votes
from jaxrate.core.array_types import Array, HostArray

ETA_LIMIT = 1e6  # where all probabilities are 0 or 1


class LogLikelihoodDerivatives(NamedTuple):
    """The log likelihood of each cell and its derivatives: leaves [M]."""

    value: Array  # log likelihood
    eta: Array  # its derivatives
    kappa: Array
    eta_eta: Array  # minus its second derivatives
    eta_kappa: Array
    kappa_kappa: Array


def log_likelihood(model: str, counts: Any, eta: Array, kappa: Array) -> Array:
    """The log likelihood of counts [3, ...]: wins, ties and losses."""
    win, tie, loss = counts
    if model == "bradley_terry":
        return (win + 0.5 * tie) * jax.nn.log_sigmoid(eta) + (loss + 0.5 * tie) * jax.nn.log_sigmoid(-eta)
    if model == "davidson":
        log_sum = jnp.logaddexp(jnp.logaddexp(0.5 * eta, -0.5 * eta), kappa)
        return 0.5 * (win - loss) * eta + tie * kappa - (win + tie + loss) * log_sum
    up, down = jax.nn.log_sigmoid(eta - kappa), jax.nn.log_sigmoid(-eta - kappa)
    return (win + tie) * up + (loss + tie) * down + tie * (2.0 * kappa + jnp.log(-jnp.expm1(-2.0 * kappa)))


@partial(jax.jit, static_argnums=0)
def log_likelihood_and_derivatives(model: str, counts: Array, eta: Array, kappa: Array) -> LogLikelihoodDerivatives:
    """The log likelihood [M] of counts [3, M] (wins, ties, losses), and its derivatives."""

    def of_cell(counts: Array, eta: Array) -> LogLikelihoodDerivatives:
        function = partial(log_likelihood, model, counts)
        value, slopes = jax.value_and_grad(function, (0, 1))(eta, kappa)
        (eta_eta, eta_kappa), (_, kappa_kappa) = jax.hessian(function, (0, 1))(eta, kappa)
        return LogLikelihoodDerivatives(value, slopes[0], slopes[1], -eta_eta, -eta_kappa, -kappa_kappa)

    return jax.vmap(of_cell, (1, 0))(counts, eta)


def outcome_probabilities(model: str, eta: Any, kappa: float) -> tuple[Any, Any, Any]:
    """The probabilities of a win, a tie and a loss, on the host."""
    eta = np.asarray(eta, np.float64)
    if model == "bradley_terry":
        return expit(eta), np.zeros_like(eta), expit(-eta)
    if model == "davidson":
        eta = np.clip(eta, -ETA_LIMIT, ETA_LIMIT)  # it is infinite for players who only won or only lost
        log_sum = np.logaddexp(np.logaddexp(0.5 * eta, -0.5 * eta), kappa)
        return tuple(np.exp(x - log_sum) for x in (0.5 * eta, kappa, -0.5 * eta))
    win, loss = expit(eta - kappa), expit(-eta - kappa)
    return win, -np.expm1(-2.0 * kappa) * np.exp(kappa + kappa) * win * loss, loss


def vote_information(model: str, eta: Any, kappa: float) -> Any:
    """The Fisher information of one vote about eta: the mean squared derivative of its log likelihood."""
    win, tie, loss = outcome_probabilities(model, eta, kappa)
    if model == "rao_kupper":
        return win * (1.0 - win) ** 2 + loss * (1.0 - loss) ** 2 + tie * (loss - win) ** 2
    return 0.25 * (win + loss - (win - loss) ** 2)


def initial_kappa(model: str, num_ties: float, num_votes: float) -> float:
    """The likeliest kappa for equal strengths, from the share of ties."""
    share = num_ties / num_votes
    return float(np.log(2.0 * share / (1.0 - share)) if model == "davidson" else np.log((1.0 + share) / (1.0 - share)))


MAX_STEPS = 100
STEP_TOLERANCE = 1e-7  # of a step: the next one is below rounding
REPLICATE_TOLERANCE = 1e-4  # the same for replicates, whose scatter is far above the remaining error
MAX_CHORD_STEPS = 12  # steps of a replicate with the inverse Hessian of the data, before its own is used
DIVERGENCE_DISTANCE = 60.0  # log strengths from the start: beyond, the likelihood has no maximum
MAX_HALVINGS = 40
MAX_CG_ITERATIONS = 1000  # iterations of one solution


class StrengthProblem(NamedTuple):
    """The pairs, covariates, fixed strengths and prior of a fit."""

    first: Array  # [M]
    second: Array  # [M]
    covariates: Array  # [M, p]
    is_fixed: Array  # [N] bool: strengths that do not change
    ground: Array  # [N] a unit vector along which the likelihood is constant; zeros if there is none
    precision: Array  # [] of the normal prior; 0: no prior
    center: Array  # [N] the mean of the prior: 0, but in bootstrap replicates


class SearchState(NamedTuple):
    """The state of a search."""

    x: Array  # [N + E]
    value: Array  # [] log likelihood and log prior
    size: Array  # [] the largest change in the last step, or in the rejected one
    steps: Array  # []
    stuck: Array  # [] bool: no step increases the value


def cell_eta_and_kappa(problem: StrengthProblem, x: Array) -> tuple[Array, Array]:
    """The differences eta [M] of the cells, and kappa []: linear in x."""
    n, p = problem.is_fixed.shape[0], problem.covariates.shape[1]
    eta = x[problem.first] - x[problem.second] + problem.covariates @ x[n : n + p]
    return eta, x[n + p] if x.shape[0] > n + p else jnp.zeros((), x.dtype)


def zero_fixed_strengths(problem: StrengthProblem, vector: Array) -> Array:
    """[N + E] a vector with 0 in place of fixed strengths."""
    n = problem.is_fixed.shape[0]
    return vector.at[:n].set(jnp.where(problem.is_fixed, 0.0, vector[:n]))


def log_likelihood_derivatives_at(
    model: str, problem: StrengthProblem, counts: Array, x: Array
) -> LogLikelihoodDerivatives:
    """The log likelihood of the cells at x, and its derivatives."""
    return log_likelihood_and_derivatives(model, counts, *cell_eta_and_kappa(problem, x))


def log_posterior(model: str, problem: StrengthProblem, counts: Array, x: Array) -> Array:
    """The log likelihood [] of strengths x [N + E] given counts, plus their log prior."""
    strength = jnp.where(problem.is_fixed, 0.0, x[: problem.is_fixed.shape[0]] - problem.center)
    value = log_likelihood(model, counts, *cell_eta_and_kappa(problem, x))
    return value.sum() - 0.5 * problem.precision * (strength**2).sum()


def log_posterior_gradient(model: str, problem: StrengthProblem, counts: Array, x: Array) -> Array:
    """[N + E] the gradient of the log posterior."""
    return zero_fixed_strengths(problem, jax.grad(log_posterior, 3)(model, problem, counts, x))


def grounded_hessian_product(
    problem: StrengthProblem, cell_terms: LogLikelihoodDerivatives, scale: Array, vector: Array
) -> Array:
    """[N + E] minus the Hessian times a vector, grounded by `scale`; entries of fixed strengths are unchanged."""
    n, free = problem.is_fixed.shape[0], zero_fixed_strengths(problem, vector)
    (eta, kappa), transpose = jax.vjp(partial(cell_eta_and_kappa, problem), free)
    kappa_weight = (cell_terms.eta_kappa * eta + cell_terms.kappa_kappa * kappa).sum()
    (product,) = transpose((cell_terms.eta_eta * eta + cell_terms.eta_kappa * kappa, kappa_weight))
    penalty = problem.precision * free[:n] + scale * problem.ground * (problem.ground @ free[:n])
    return product.at[:n].set(jnp.where(problem.is_fixed, vector[:n], product[:n] + penalty))


def strength_information(problem: StrengthProblem, weight: Array) -> Array:
    """[N] the information of cells of these weights on each strength alone."""
    zero = jnp.zeros(problem.is_fixed.shape[0], weight.dtype)
    return zero.at[problem.first].add(weight).at[problem.second].add(weight)


def ground_hessian(problem: Any, matrix: Array) -> tuple[Array, Array]:
    """Minus the Hessian [N, N] with the prior, grounded, ones for fixed strengths; and the scale []."""
    free, scale = ~problem.is_fixed, jnp.diagonal(matrix).sum() / len(problem.is_fixed)
    matrix = jnp.where(free[:, None] & free[None, :], matrix, 0.0)
    matrix = matrix + scale * problem.ground[:, None] * problem.ground[None, :]
    return matrix + jnp.diag(jnp.where(free, problem.precision, 1.0)), scale


def grounded_hessian(
    problem: StrengthProblem, cell_terms: LogLikelihoodDerivatives, num_extra: int
) -> tuple[Array, Array]:
    """Minus the Hessian [N + E, N + E], grounded, with ones for fixed strengths; and the scale [] of the grounding."""
    n, weight = problem.is_fixed.shape[0], cell_terms.eta_eta
    upper = jnp.zeros((n, n), weight.dtype).at[problem.first, problem.second].add(-weight)
    strengths, scale = ground_hessian(problem, upper + upper.T + jnp.diag(strength_information(problem, weight)))
    units = jnp.eye(num_extra, n + num_extra, n, dtype=weight.dtype)
    extra = jax.vmap(partial(grounded_hessian_product, problem, cell_terms, scale))(units)
    return jnp.concatenate([jnp.concatenate([strengths, extra[:, :n].T], axis=1), extra]), scale


def remove_constant_component(problem: StrengthProblem, step: Array) -> Array:
    """[N + E] a step without its component along the ground."""
    ground = problem.ground
    return step.at[: ground.shape[0]].add(-ground * (ground @ step[: ground.shape[0]]))


def dense_newton_step(
    problem: StrengthProblem, cell_terms: LogLikelihoodDerivatives, gradient_vector: Array, last_step_size: Array
) -> Array:
    """[N + E] Newton's step by the Cholesky factor of the Hessian."""
    del last_step_size
    matrix, _ = grounded_hessian(problem, cell_terms, gradient_vector.shape[0] - problem.is_fixed.shape[0])
    return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(matrix), True), gradient_vector)


def sparse_newton_step(
    problem: StrengthProblem, cell_terms: LogLikelihoodDerivatives, gradient_vector: Array, last_step_size: Array
) -> Array:
    """[N + E] Newton's step by conjugate gradients with a diagonal preconditioner, more exact near the maximum."""
    weight = cell_terms.eta_eta
    degree = strength_information(problem, weight)
    diagonal = jnp.where(problem.is_fixed, 1.0, degree + problem.precision)
    extra_diagonal = [weight @ problem.covariates**2, cell_terms.kappa_kappa.sum()[None]]
    diagonal = jnp.concatenate([diagonal, *extra_diagonal])[: gradient_vector.shape[0]]
    product = partial(grounded_hessian_product, problem, cell_terms, degree.sum() / len(degree))
    tolerance = jnp.clip(0.01 * last_step_size, 1e-8, 0.01)
    step, _ = cg(product, gradient_vector, tol=tolerance, maxiter=MAX_CG_ITERATIONS, M=lambda r: r / diagonal)
    return remove_constant_component(problem, step)


def maximise_by_newton(
    objective: Any, gradient_and_step: Any, x: Array, num_bounded: int, tolerance: float = STEP_TOLERANCE
) -> SearchState:
    """Maximise `objective(x)` [] from x by Newton's method with step halving.

    `gradient_and_step(x, size of the last step)` returns both vectors. The search ends if one of the first
    `num_bounded` entries of x runs away, or after a step that changes no entry by more than `tolerance`.
    """
    start = x

    def is_unfinished(state: SearchState) -> Array:
        far = jnp.abs(state.x - start)[:num_bounded].max() > DIVERGENCE_DISTANCE
        return (state.size > tolerance) & (state.steps < MAX_STEPS) & ~state.stuck & ~far

    def take_step(state: SearchState) -> SearchState:
        slope, direction = gradient_and_step(state.x, state.size)
        least_value = state.value - 1e-12 * jnp.abs(state.value)  # rounding

        def needs_halving(trial: tuple[Array, Array, Array]) -> Array:
            share, value, _ = trial
            return ~(value >= least_value + 1e-4 * share * (slope * direction).sum()) & (share > 0.5**MAX_HALVINGS)

        def halve(trial: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            share = 0.5 * trial[0]
            x = state.x + share * direction
            return share, objective(x), x

        two = jnp.full((), 2.0, state.x.dtype)
        share, value, x = lax.while_loop(needs_halving, halve, (two, jnp.full((), -jnp.inf, two.dtype), state.x))
        stuck = ~(share > 0.5**MAX_HALVINGS)
        size = jnp.where(stuck, 1.0, share) * jnp.abs(direction).max()
        x, value = jnp.where(stuck, state.x, x), jnp.where(stuck, state.value, value)
        return SearchState(x, value, size, state.steps + 1, stuck)

    begin = SearchState(x, objective(x), jnp.ones((), x.dtype), jnp.zeros((), int), jnp.zeros((), bool))
    return lax.while_loop(is_unfinished, take_step, begin)


@partial(jax.jit, static_argnums=(0, 1, 5))
def maximise_log_posterior(
    is_dense: bool, model: str, problem: StrengthProblem, counts: Array, x: Array, tolerance: float = STEP_TOLERANCE
) -> SearchState:
    """Search for the maximum from x, by steps with a dense Hessian, or else by conjugate gradients."""
    newton_step = dense_newton_step if is_dense else sparse_newton_step

    def gradient_and_step(x: Array, size: Array) -> tuple[Array, Array]:
        slope = log_posterior_gradient(model, problem, counts, x)
        return slope, newton_step(problem, log_likelihood_derivatives_at(model, problem, counts, x), slope, size)

    num_bounded = problem.is_fixed.shape[0] + problem.covariates.shape[1]
    objective = partial(log_posterior, model, problem, counts)
    return maximise_by_newton(objective, gradient_and_step, x, num_bounded, tolerance)


def iterate_chord_steps(
    model: str, problem: StrengthProblem, inverse_hessian: Array, counts: Array, x: Array
) -> tuple[Array, Array]:
    """Steps from x with one inverse Hessian [N + E, N + E] while they shrink to a third; x and the last step's size."""

    def is_converging(state: tuple[Array, Array, Array, Array]) -> Array:
        _, size, last, count = state
        return (size > 0.1 * REPLICATE_TOLERANCE) & (3.0 * size < last) & (count < MAX_CHORD_STEPS)

    def take_step(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        x, size, _, count = state
        step = inverse_hessian @ log_posterior_gradient(model, problem, counts, x)
        step_vector = remove_constant_component(problem, step)
        return x + step_vector, jnp.abs(step_vector).max(), size, count + 1

    one = jnp.ones((), x.dtype)
    x, size, last, _ = lax.while_loop(is_converging, take_step, (x, one, 4.0 * one, jnp.zeros((), int)))
    return x, jnp.where(3.0 * size < last, size, 1.0)


@partial(jax.jit, static_argnums=(0, 1))
def maximise_replicates(
    model: str,
    batch_size: int | None,
    problem: StrengthProblem,
    inverse: Array,
    counts: Array,
    x: Array,
    centers: Array,
) -> tuple[Array, Array]:
    """The maxima [B, N + E] for counts [B, 3, M] and means [B, N] of the prior, from x with the inverse Hessian there,
    and sizes [B] of the last steps.

    `batch_size` replicates are computed at once; None: one by one, which is quicker on a CPU.
    """

    def maximise_replicate(replicate: tuple[Array, Array]) -> tuple[Array, Array]:
        counts, centered = replicate[0], problem._replace(center=replicate[1])
        near, size = iterate_chord_steps(model, centered, inverse, counts, x)

        def maximise_by_full_search(_: Array) -> tuple[Array, Array]:
            search = maximise_log_posterior(True, model, centered, counts, x, REPLICATE_TOLERANCE)
            return search.x, search.size

        return lax.cond(size > 0.1 * REPLICATE_TOLERANCE, maximise_by_full_search, lambda near: (near, size), near)

    return lax.map(maximise_replicate, (counts, centers), batch_size=batch_size)


@partial(jax.jit, static_argnums=0)
def grounded_hessian_at(model: str, problem: StrengthProblem, counts: Array, x: Array) -> tuple[Array, Array]:
    """Minus the Hessian at x, and the scale of its grounding, as from `grounded_hessian`."""
    terms = log_likelihood_derivatives_at(model, problem, counts, x)
    return grounded_hessian(problem, terms, x.shape[0] - problem.is_fixed.shape[0])


@partial(jax.jit, static_argnums=0)
def information_diagonal(model: str, problem: StrengthProblem, counts: Array, x: Array) -> Array:
    """[N] the diagonal of minus the Hessian at x, for strengths."""
    weight = log_likelihood_derivatives_at(model, problem, counts, x).eta_eta
    return strength_information(problem, weight) + problem.precision


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
    curvature: HostArray | None = None  # [N + E, N + E] the covariance if the model holds and votes are independent
    samples: HostArray | None = None  # [B, N + E]
    notes: tuple[str, ...] = ()
    degrees_of_freedom: float = np.inf  # of the errors, by the number of clusters


def estimate_uncertainty(
    fitted: FittedModel, votes: Votes, errors: str | None, samples: int, seed: int
) -> StrengthUncertainty:
    """The uncertainty by a method, or by the default one."""
    model, problem, _, counts, x = fitted
    matrix, scale = (np.asarray(part) for part in grounded_hessian_at(model, problem, counts, x))
    inverse_curvature = symmetric_inverse(matrix)
    curvature = covariance_without_ground(problem, inverse_curvature, scale)
    source = errors or ("sandwich" if votes.clusters else "curvature")
    if source == "curvature":
        return StrengthUncertainty(source, standard_deviations(curvature), curvature, curvature)
    clustered = _cells_outcomes_and_clusters_of_votes(fitted.cells, votes)
    num_clusters = min((int(code.max()) + 1 for code in clustered[2]), default=np.inf)
    note = f"only {num_clusters} clusters: the intervals are wide, as their errors are uncertain themselves"
    notes = (note,) if num_clusters < FEW_CLUSTERS else ()
    if source == "bootstrap":
        replicates = _maximise_bootstrap_replicates(fitted, clustered, inverse_curvature, samples, seed)
        uncertainty = uncertainty_of_replicates(*replicates, curvature)
    else:
        covariance = _sandwich_covariance(fitted, clustered, curvature, num_clusters < FEW_CLUSTERS)
        uncertainty = StrengthUncertainty(source, standard_deviations(covariance), covariance, curvature)
    return uncertainty._replace(notes=(*notes, *uncertainty.notes), degrees_of_freedom=float(num_clusters - 1))


def uncertainty_of_replicates(x: HostArray, converged: HostArray, curvature: HostArray) -> StrengthUncertainty:
    """The uncertainty by bootstrap replicates [B, N + E], of those whose search `converged` [B]."""
    count, samples = int((~converged).sum()), x[converged]
    notes = (f"{count} of {len(x)} replicates have no maximum and are left out",) if count else ()
    covariance = np.cov(samples.T) if len(samples) > 1 else np.full((x.shape[1],) * 2, np.nan)
    return StrengthUncertainty("bootstrap", standard_deviations(covariance), covariance, curvature, samples, notes)


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
    """[N + E, N + E] the inverse of minus the grounded Hessian, without the grounding and fixed strengths."""
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
    terms, ungrounded = LogLikelihoodDerivatives(zero, zero, zero, *squares), 0.0 * problem.ground
    return grounded_hessian(problem._replace(ground=ungrounded), terms, len(x) - len(problem.is_fixed))[0]


def _sandwich_covariance(
    fitted: FittedModel, clustered_votes: ClusteredVotes, model_covariance: HostArray, with_few_clusters: bool
) -> HostArray:
    """[N + E, N + E] the covariance, from the squared scores of votes, or summed squares of the sums over clusters."""
    model, problem, _, counts, x = fitted
    cell, outcome, codes = clustered_votes
    if not codes:
        meat = np.asarray(_sum_vote_gradient_outer_products(model, problem, counts, x))
        return model_covariance @ meat @ model_covariance
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
    if not all(code.max(initial=0) for code in codes):
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
    fitted: FittedModel, clustered_votes: ClusteredVotes, inverse_curvature: HostArray, samples: int, seed: int
) -> tuple[HostArray, HostArray]:
    """[samples, N + E] maxima of replicates of the data, and [samples] whether each search converged."""
    model, problem, _, counts, x = fitted
    random = np.random.Generator(np.random.SFC64(seed))  # the fastest generator
    batch = max(1, min(REPLICATE_BATCH, samples))
    searches_at_once = None if jax.default_backend() == "cpu" else max(1, min(batch, BLOCK_NUMBERS // len(x) ** 2))

    def draw_counts() -> HostArray:
        if not clustered_votes[2]:
            return random.standard_gamma(counts, (batch, *counts.shape))
        draws = (_draw_bayesian_bootstrap_counts(random, *clustered_votes, counts.shape[1]) for _ in range(batch))
        return np.stack([*draws])

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
