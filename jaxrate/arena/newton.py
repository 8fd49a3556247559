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
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.sparse.linalg import cg

from jaxrate.core.array_types import Array

ETA_LIMIT = 1e6  # where all probabilities are 0 or 1


class LogLikelihoodDerivatives(NamedTuple):
    """The log likelihood of each cell and its derivatives: leaves [M]."""

    value: Array  # log likelihood
    eta: Array  # its derivatives
    kappa: Array
    eta_eta: Array  # minus its second derivatives
    eta_kappa: Array
    kappa_kappa: Array


def log_likelihood(model: str, counts: Array, eta: Array, kappa: Array) -> Array:
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
        return _sigmoid(eta), np.zeros_like(eta), _sigmoid(-eta)
    if model == "davidson":
        eta = np.clip(eta, -ETA_LIMIT, ETA_LIMIT)  # it is infinite for players who only won or only lost
        log_sum = np.logaddexp(np.logaddexp(0.5 * eta, -0.5 * eta), kappa)
        return tuple(np.exp(x - log_sum) for x in (0.5 * eta, kappa, -0.5 * eta))
    win, loss = _sigmoid(eta - kappa), _sigmoid(-eta - kappa)
    return win, -np.expm1(-2.0 * kappa) * np.exp(kappa + kappa) * win * loss, loss


def vote_information(model: str, eta: float, kappa: float) -> float:
    """The Fisher information of one vote about eta: the mean squared derivative of its log likelihood."""
    win, tie, loss = (float(x) for x in outcome_probabilities(model, eta, kappa))
    if model == "rao_kupper":
        return win * (1.0 - win) ** 2 + loss * (1.0 - loss) ** 2 + tie * (loss - win) ** 2
    return 0.25 * (win + loss - (win - loss) ** 2)


def _sigmoid(x: Any) -> Any:
    return np.exp(-np.logaddexp(0.0, -x))


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


def cell_coordinates(problem: StrengthProblem, x: Array) -> tuple[Array, Array]:
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
    return log_likelihood_and_derivatives(model, counts, *cell_coordinates(problem, x))


def log_posterior(model: str, problem: StrengthProblem, counts: Array, x: Array) -> Array:
    """The log likelihood [] plus the log prior."""
    strength = jnp.where(problem.is_fixed, 0.0, x[: problem.is_fixed.shape[0]] - problem.center)
    value = log_likelihood(model, counts, *cell_coordinates(problem, x))
    return value.sum() - 0.5 * problem.precision * (strength**2).sum()


def log_posterior_gradient(model: str, problem: StrengthProblem, counts: Array, x: Array) -> Array:
    """[N + E] the gradient of the log posterior."""
    return zero_fixed_strengths(problem, jax.grad(log_posterior, 3)(model, problem, counts, x))


def information_product(
    problem: StrengthProblem, cell_terms: LogLikelihoodDerivatives, scale: Array, vector: Array
) -> Array:
    """[N + E] minus the Hessian times a vector, grounded by `scale`; entries of fixed strengths are unchanged."""
    n, free = problem.is_fixed.shape[0], zero_fixed_strengths(problem, vector)
    (eta, kappa), transpose = jax.vjp(partial(cell_coordinates, problem), free)
    kappa_weight = (cell_terms.eta_kappa * eta + cell_terms.kappa_kappa * kappa).sum()
    (product,) = transpose((cell_terms.eta_eta * eta + cell_terms.eta_kappa * kappa, kappa_weight))
    penalty = problem.precision * free[:n] + scale * problem.ground * (problem.ground @ free[:n])
    return product.at[:n].set(jnp.where(problem.is_fixed, vector[:n], product[:n] + penalty))


def count_information(problem: StrengthProblem, weight: Array) -> Array:
    """[N] the information of cells of these weights on each strength alone."""
    zero = jnp.zeros(problem.is_fixed.shape[0], weight.dtype)
    return zero.at[problem.first].add(weight).at[problem.second].add(weight)


def grounded_information(
    problem: StrengthProblem, cell_terms: LogLikelihoodDerivatives, num_extra: int
) -> tuple[Array, Array]:
    """Minus the Hessian [N + E, N + E], grounded, with ones for fixed strengths; and the scale [] of the grounding."""
    n, weight, is_fixed = problem.is_fixed.shape[0], cell_terms.eta_eta, problem.is_fixed
    degree = count_information(problem, weight)
    scale = degree.sum() / n
    upper = jnp.zeros((n, n), weight.dtype).at[problem.first, problem.second].add(-weight)
    off_diagonal = jnp.where(is_fixed[:, None] | is_fixed[None, :], 0.0, upper + upper.T)
    off_diagonal = off_diagonal + scale * problem.ground[:, None] * problem.ground[None, :]
    strengths = off_diagonal + jnp.diag(jnp.where(is_fixed, 1.0, degree + problem.precision))
    units = jnp.eye(num_extra, n + num_extra, n, dtype=weight.dtype)
    extra = jax.vmap(partial(information_product, problem, cell_terms, scale))(units)
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
    matrix, _ = grounded_information(problem, cell_terms, gradient_vector.shape[0] - problem.is_fixed.shape[0])
    return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(matrix), True), gradient_vector)


def sparse_newton_step(
    problem: StrengthProblem, cell_terms: LogLikelihoodDerivatives, gradient_vector: Array, last_step_size: Array
) -> Array:
    """[N + E] Newton's step by conjugate gradients with a diagonal preconditioner, more exact near the maximum."""
    weight = cell_terms.eta_eta
    degree = count_information(problem, weight)
    diagonal = jnp.where(problem.is_fixed, 1.0, degree + problem.precision)
    extra_diagonal = [weight @ problem.covariates**2, cell_terms.kappa_kappa.sum()[None]]
    diagonal = jnp.concatenate([diagonal, *extra_diagonal])[: gradient_vector.shape[0]]
    product = partial(information_product, problem, cell_terms, degree.sum() / len(degree))
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
        return SearchState(
            jnp.where(stuck, state.x, x), jnp.where(stuck, state.value, value), size, state.steps + 1, stuck
        )

    initial_size = jnp.ones((), x.dtype)
    return lax.while_loop(
        is_unfinished, take_step, SearchState(x, objective(x), initial_size, jnp.zeros((), int), jnp.zeros((), bool))
    )


def maximise_from_counts(
    newton_step: Any, model: str, problem: StrengthProblem, counts: Array, x: Array, tolerance: float = STEP_TOLERANCE
) -> SearchState:
    """Maximise the log posterior of counts; `newton_step(problem, terms, gradient, last size)` computes the steps."""

    def gradient_and_step(x: Array, size: Array) -> tuple[Array, Array]:
        slope = log_posterior_gradient(model, problem, counts, x)
        return slope, newton_step(problem, log_likelihood_derivatives_at(model, problem, counts, x), slope, size)

    num_bounded = problem.is_fixed.shape[0] + problem.covariates.shape[1]
    return maximise_by_newton(
        partial(log_posterior, model, problem, counts), gradient_and_step, x, num_bounded, tolerance
    )


def iterate_chord_steps(
    model: str, problem: StrengthProblem, inverse_hessian: Array, counts: Array, x: Array
) -> tuple[Array, Array]:
    """Take steps with one inverse Hessian [N + E, N + E] from x while each is below a third of the last.

    Returns the last x and the size of the last step; the remaining error is below half of it. A step costs one
    gradient and no Hessian.
    """

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
def maximise_log_posterior(
    is_dense: bool, model: str, problem: StrengthProblem, counts: Array, x: Array
) -> SearchState:
    """Search for the maximum from x."""
    return maximise_from_counts(dense_newton_step if is_dense else sparse_newton_step, model, problem, counts, x)


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
            search = maximise_from_counts(dense_newton_step, model, centered, counts, x, REPLICATE_TOLERANCE)
            return search.x, search.size

        return lax.cond(size > 0.1 * REPLICATE_TOLERANCE, maximise_by_full_search, lambda near: (near, size), near)

    return lax.map(maximise_replicate, (counts, centers), batch_size=batch_size)


@partial(jax.jit, static_argnums=0)
def grounded_information_at(model: str, problem: StrengthProblem, counts: Array, x: Array) -> tuple[Array, Array]:
    """Minus the Hessian at x, and the scale of its grounding, as from `grounded_information`."""
    terms = log_likelihood_derivatives_at(model, problem, counts, x)
    return grounded_information(problem, terms, x.shape[0] - problem.is_fixed.shape[0])


@partial(jax.jit, static_argnums=0)
def information_diagonal(model: str, problem: StrengthProblem, counts: Array, x: Array) -> Array:
    """[N] the diagonal of minus the Hessian at x, for strengths."""
    weight = log_likelihood_derivatives_at(model, problem, counts, x).eta_eta
    return count_information(problem, weight) + problem.precision
