"""Maximum likelihood strengths by Newton's method: with a dense Hessian for few players, else by conjugate gradients.

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
from jax import lax
from jax.scipy.sparse.linalg import cg

from jaxrate.arena.paired_comparison_likelihood import LogLikelihoodDerivatives, log_likelihood_and_derivatives
from jaxrate.core.array_types import Array

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


def split_parameters(problem: StrengthProblem, x: Array) -> tuple[Array, Array, Array]:
    """Log strengths [N], coefficients [p] and kappa []."""
    n, p = problem.is_fixed.shape[0], problem.covariates.shape[1]
    kappa = x[n + p] if x.shape[0] > n + p else jnp.zeros((), x.dtype)
    return x[:n], x[n : n + p], kappa


def log_likelihood_derivatives_at(
    model: str, problem: StrengthProblem, counts: Array, x: Array
) -> LogLikelihoodDerivatives:
    """The log likelihood of the cells at x, and its derivatives."""
    strength, coefficient, kappa = split_parameters(problem, x)
    eta = strength[problem.first] - strength[problem.second] + problem.covariates @ coefficient
    return log_likelihood_and_derivatives(model, counts, eta, kappa)


def log_posterior(model: str, problem: StrengthProblem, counts: Array, x: Array) -> Array:
    """The log likelihood [] plus the log prior."""
    strength = jnp.where(problem.is_fixed, 0.0, x[: problem.is_fixed.shape[0]] - problem.center)
    return (
        log_likelihood_derivatives_at(model, problem, counts, x).value.sum()
        - 0.5 * problem.precision * (strength**2).sum()
    )


def design_transpose_product(problem: StrengthProblem, eta_weights: Array, kappa_weights: Array | None) -> Array:
    """[N + E] the transposed design matrix times weights of the cells along eta and kappa [M]."""
    n = problem.is_fixed.shape[0]
    strength = jnp.zeros(n, eta_weights.dtype).at[problem.first].add(eta_weights).at[problem.second].add(-eta_weights)
    components = [jnp.where(problem.is_fixed, 0.0, strength), problem.covariates.T @ eta_weights]
    return jnp.concatenate(components if kappa_weights is None else [*components, kappa_weights.sum()[None]])


def log_posterior_gradient(problem: StrengthProblem, x: Array, cell_terms: LogLikelihoodDerivatives) -> Array:
    """[N + E] the gradient of the log posterior."""
    n = problem.is_fixed.shape[0]
    kappa_weights = cell_terms.kappa if x.shape[0] > n + problem.covariates.shape[1] else None
    prior = jnp.where(problem.is_fixed, 0.0, problem.precision * (x[:n] - problem.center))
    return design_transpose_product(problem, cell_terms.eta, kappa_weights).at[:n].add(-prior)


def negative_hessian_product(
    problem: StrengthProblem, cell_terms: LogLikelihoodDerivatives, scale: Array, vector: Array
) -> Array:
    """[N + E] minus the Hessian times a vector; entries of fixed strengths are unchanged."""
    n = problem.is_fixed.shape[0]
    strength, coefficient, kappa = split_parameters(problem, vector)
    free = jnp.where(problem.is_fixed, 0.0, strength)
    eta = free[problem.first] - free[problem.second] + problem.covariates @ coefficient
    has_kappa = vector.shape[0] > n + problem.covariates.shape[1]
    kappa_weights = cell_terms.eta_kappa * eta + cell_terms.kappa_kappa * kappa if has_kappa else None
    out = design_transpose_product(problem, cell_terms.eta_eta * eta + cell_terms.eta_kappa * kappa, kappa_weights)
    penalty = problem.precision * free + scale * problem.ground * (problem.ground @ free)
    return out.at[:n].add(jnp.where(problem.is_fixed, strength, penalty))


def grounded_negative_hessian(
    problem: StrengthProblem, cell_terms: LogLikelihoodDerivatives, num_extra: int
) -> tuple[Array, Array]:
    """Minus the Hessian [N + E, N + E], grounded, with ones for fixed strengths; and the scale [] of the grounding."""
    n, p = problem.is_fixed.shape[0], problem.covariates.shape[1]
    first, second, is_fixed = problem.first, problem.second, problem.is_fixed
    weight, z = cell_terms.eta_eta, problem.covariates
    upper = jnp.zeros((n, n), weight.dtype).at[first, second].add(-weight)
    off_diagonal = upper + upper.T
    degree = -off_diagonal.sum(axis=1)
    scale = degree.sum() / n
    off_diagonal = jnp.where(is_fixed[:, None] | is_fixed[None, :], 0.0, off_diagonal)
    off_diagonal = off_diagonal + scale * problem.ground[:, None] * problem.ground[None, :]
    laplacian = off_diagonal + jnp.diag(jnp.where(is_fixed, 1.0, degree + problem.precision))
    if not num_extra:
        return laplacian, scale
    columns = weight[:, None] * z
    corner = z.T @ columns
    if num_extra > p:
        columns = jnp.concatenate([columns, cell_terms.eta_kappa[:, None]], axis=1)
        side = z.T @ cell_terms.eta_kappa
        last = jnp.append(side, cell_terms.kappa_kappa.sum())
        corner = jnp.concatenate([jnp.concatenate([corner, side[:, None]], axis=1), last[None, :]])
    border = jnp.zeros((n, num_extra), weight.dtype).at[first].add(columns).at[second].add(-columns)
    border = jnp.where(is_fixed[:, None], 0.0, border)
    return jnp.block([[laplacian, border], [border.T, corner]]), scale


def solve_by_conjugate_gradients(apply_matrix: Any, precondition: Any, b: Array, tolerance: Array) -> Array:
    """The solution of A x = b by preconditioned conjugate gradients, to a relative residual of `tolerance`."""
    return cg(apply_matrix, b, tol=tolerance, maxiter=MAX_CG_ITERATIONS, M=precondition)[0]


def remove_constant_component(problem: StrengthProblem, step: Array) -> Array:
    """[N + E] a step without its component along the ground."""
    ground = problem.ground
    return step.at[: ground.shape[0]].add(-ground * (ground @ step[: ground.shape[0]]))


def dense_newton_step(
    problem: StrengthProblem, cell_terms: LogLikelihoodDerivatives, gradient_vector: Array, last_step_size: Array
) -> Array:
    """[N + E] Newton's step by the Cholesky factor of the Hessian."""
    del last_step_size
    matrix, _ = grounded_negative_hessian(problem, cell_terms, gradient_vector.shape[0] - problem.is_fixed.shape[0])
    return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(matrix), True), gradient_vector)


def sparse_newton_step(
    problem: StrengthProblem, cell_terms: LogLikelihoodDerivatives, gradient_vector: Array, last_step_size: Array
) -> Array:
    """[N + E] Newton's step by conjugate gradients with a diagonal preconditioner, more exact near the maximum."""
    n = problem.is_fixed.shape[0]
    weight, zero = cell_terms.eta_eta, jnp.zeros(n, gradient_vector.dtype)
    degree = zero.at[problem.first].add(weight).at[problem.second].add(weight)
    diagonal = jnp.where(problem.is_fixed, 1.0, degree + problem.precision)
    extra_diagonal = [weight @ problem.covariates**2, cell_terms.kappa_kappa.sum()[None]]
    diagonal = jnp.concatenate([diagonal, *extra_diagonal])[: gradient_vector.shape[0]]
    scale = degree.sum() / n
    apply = partial(negative_hessian_product, problem, cell_terms, scale)
    return remove_constant_component(
        problem,
        solve_by_conjugate_gradients(
            apply, lambda r: r / diagonal, gradient_vector, jnp.clip(0.01 * last_step_size, 1e-8, 0.01)
        ),
    )


def preconditioned_newton_step(
    inverse: Array,
    problem: StrengthProblem,
    cell_terms: LogLikelihoodDerivatives,
    gradient_vector: Array,
    last_step_size: Array,
) -> Array:
    """[N + E] Newton's step by conjugate gradients, preconditioned by the inverse of a similar Hessian."""
    matrix, _ = grounded_negative_hessian(problem, cell_terms, gradient_vector.shape[0] - problem.is_fixed.shape[0])
    del last_step_size
    close = jnp.full((), 0.1 * REPLICATE_TOLERANCE, gradient_vector.dtype)
    step = solve_by_conjugate_gradients(lambda v: matrix @ v, lambda r: inverse @ r, gradient_vector, close)
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
        cell_terms = log_likelihood_derivatives_at(model, problem, counts, x)
        slope = log_posterior_gradient(problem, x, cell_terms)
        return slope, newton_step(problem, cell_terms, slope, size)

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
        step_vector = remove_constant_component(
            problem,
            inverse_hessian
            @ log_posterior_gradient(problem, x, log_likelihood_derivatives_at(model, problem, counts, x)),
        )
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
            search = maximise_from_counts(
                partial(preconditioned_newton_step, inverse), model, centered, counts, x, REPLICATE_TOLERANCE
            )
            return search.x, search.size

        return lax.cond(size > 0.1 * REPLICATE_TOLERANCE, maximise_by_full_search, lambda near: (near, size), near)

    return lax.map(maximise_replicate, (counts, centers), batch_size=batch_size)


@partial(jax.jit, static_argnums=0)
def grounded_negative_hessian_at(model: str, problem: StrengthProblem, counts: Array, x: Array) -> tuple[Array, Array]:
    """Minus the Hessian at x, and the scale of its grounding, as from `grounded_negative_hessian`."""
    return grounded_negative_hessian(
        problem, log_likelihood_derivatives_at(model, problem, counts, x), x.shape[0] - problem.is_fixed.shape[0]
    )


@partial(jax.jit, static_argnums=0)
def information_diagonal(model: str, problem: StrengthProblem, counts: Array, x: Array) -> Array:
    """[N] the diagonal of minus the Hessian at x, for strengths."""
    weight = log_likelihood_derivatives_at(model, problem, counts, x).eta_eta
    zero = jnp.zeros(problem.is_fixed.shape[0], weight.dtype)
    return zero.at[problem.first].add(weight).at[problem.second].add(weight) + problem.precision


@jax.jit
def residual_covariate_information(problem: StrengthProblem, weight: Array) -> Array:
    """[p, p] weighted squares of covariates after regression on players: singular if players determine a covariate."""
    bare = problem._replace(covariates=problem.covariates[:, :0])
    zero = jnp.zeros_like(weight)
    weight_terms = LogLikelihoodDerivatives(zero, zero, zero, weight, zero, zero)
    n = problem.is_fixed.shape[0]
    degree = jnp.zeros(n, weight.dtype).at[problem.first].add(weight).at[problem.second].add(weight)
    diagonal = jnp.where(problem.is_fixed | (degree == 0), 1.0, degree + problem.precision)
    apply = partial(negative_hessian_product, bare, weight_terms, degree.sum() / n)
    border = [
        design_transpose_product(bare, weight * problem.covariates[:, j], None)
        for j in range(problem.covariates.shape[1])
    ]
    close = jnp.full((), 1e-9, weight.dtype)
    solved = [solve_by_conjugate_gradients(apply, lambda r: r / diagonal, column, close) for column in border]
    squares = problem.covariates.T @ (weight[:, None] * problem.covariates)
    return squares - jnp.stack(border) @ jnp.stack(solved).T
