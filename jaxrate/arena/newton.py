"""The likeliest strengths: Newton's method, with the Hessian where players are few, and else by conjugate gradients.

The log likelihood is concave in the vector x = (log strengths [N], coefficients [p], kappa), so that Newton's steps,
halved where they do not gain, reach the maximum from anywhere. Minus its Hessian is a Laplacian of the graph of pairs,
bordered by coefficients and kappa:

    sum over cells of  u u^T,   u = e_first - e_second,  weighted by the curvature of each cell

It is singular along the constant vector if nobody is held and there is no prior: `ground` adds to it there, and since
the gradient has no part along it, strengths keep the mean with which they begin.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.sparse.linalg import cg

from jaxrate.arena.paired_comparison import LikelihoodTerms, likelihood_terms
from jaxrate.types import Array

MAX_STEPS = 100
STEP_TOLERANCE = 1e-7  # of a step after which the next would be below rounding
REPLICATE_TOLERANCE = 1e-4  # the same of replicates, whose scatter is far above what is left
MAX_CHORD_STEPS = 12  # steps of a replicate with the inverse of a Hessian that is near, before it has one of its own
DIVERGENCE_DISTANCE = 60.0  # log strengths from where a search begins: the likelihood has no maximum
MAX_HALVINGS = 40
MAX_CG_ITERATIONS = 1000  # of the Hessian in one solution


class StrengthProblem(NamedTuple):
    """Who met, and what is known besides."""

    first: Array  # [M]
    second: Array  # [M]
    covariates: Array  # [M, p]
    held: Array  # [N] bool: strengths that stay as they are
    ground: Array  # [N] a unit vector along which strengths are free; zeros if they are not
    precision: Array  # [] of the normal prior about 0; 0: none


class SearchState(NamedTuple):
    """Where a search stands."""

    x: Array  # [N + E]
    value: Array  # [] log likelihood, and prior
    size: Array  # [] the largest change of the last step, or of the one that did not gain
    steps: Array  # []
    stuck: Array  # [] bool: no step gains


def split_parameters(problem: StrengthProblem, x: Array) -> tuple[Array, Array, Array]:
    """Log strengths [N], coefficients [p] and kappa []."""
    n, p = problem.held.shape[0], problem.covariates.shape[1]
    kappa = x[n + p] if x.shape[0] > n + p else jnp.zeros((), x.dtype)
    return x[:n], x[n : n + p], kappa


def terms_at(model: str, problem: StrengthProblem, counts: Array, x: Array) -> LikelihoodTerms:
    """What the cells say at x."""
    strength, coefficient, kappa = split_parameters(problem, x)
    eta = strength[problem.first] - strength[problem.second] + problem.covariates @ coefficient
    return likelihood_terms(model, counts, eta, kappa)


def log_posterior(model: str, problem: StrengthProblem, counts: Array, x: Array) -> Array:
    """The log likelihood [] and the prior's part of it."""
    strength = jnp.where(problem.held, 0.0, x[: problem.held.shape[0]])
    return terms_at(model, problem, counts, x).value.sum() - 0.5 * problem.precision * (strength**2).sum()


def design_transpose_product(problem: StrengthProblem, eta_weights: Array, kappa_weights: Array | None) -> Array:
    """[N + E] the transpose of the cells' design: what each cell says along eta and kappa [M], summed."""
    n = problem.held.shape[0]
    strength = jnp.zeros(n, eta_weights.dtype).at[problem.first].add(eta_weights).at[problem.second].add(-eta_weights)
    pieces = [jnp.where(problem.held, 0.0, strength), problem.covariates.T @ eta_weights]
    return jnp.concatenate(pieces if kappa_weights is None else [*pieces, kappa_weights.sum()[None]])


def gradient(problem: StrengthProblem, x: Array, cell_terms: LikelihoodTerms) -> Array:
    """[N + E] of the log likelihood and the prior."""
    n = problem.held.shape[0]
    some = cell_terms.kappa if x.shape[0] > n + problem.covariates.shape[1] else None
    prior = jnp.where(problem.held, 0.0, problem.precision * x[:n])
    return design_transpose_product(problem, cell_terms.eta, some).at[:n].add(-prior)


def hessian_product(problem: StrengthProblem, cell_terms: LikelihoodTerms, scale: Array, vector: Array) -> Array:
    """[N + E] minus the Hessian times a vector, whose part of those who are held is left as it is."""
    n = problem.held.shape[0]
    strength, coefficient, kappa = split_parameters(problem, vector)
    free = jnp.where(problem.held, 0.0, strength)
    eta = free[problem.first] - free[problem.second] + problem.covariates @ coefficient
    some = vector.shape[0] > n + problem.covariates.shape[1]
    rest = cell_terms.eta_kappa * eta + cell_terms.kappa_kappa * kappa if some else None
    out = design_transpose_product(problem, cell_terms.eta_eta * eta + cell_terms.eta_kappa * kappa, rest)
    more = problem.precision * free + scale * problem.ground * (problem.ground @ free)
    return out.at[:n].add(jnp.where(problem.held, strength, more))


def grounded_hessian(problem: StrengthProblem, cell_terms: LikelihoodTerms, num_extra: int) -> tuple[Array, Array]:
    """Minus the Hessian [N + E, N + E], grounded and with ones for those who are held; and the grounding's scale []."""
    n, p = problem.held.shape[0], problem.covariates.shape[1]
    first, second, held = problem.first, problem.second, problem.held
    weight, z = cell_terms.eta_eta, problem.covariates
    upper = jnp.zeros((n, n), weight.dtype).at[first, second].add(-weight)
    away = upper + upper.T
    degree = -away.sum(axis=1)
    scale = degree.sum() / n
    away = jnp.where(held[:, None] | held[None, :], 0.0, away)
    away = away + scale * problem.ground[:, None] * problem.ground[None, :]
    laplacian = away + jnp.diag(jnp.where(held, 1.0, degree + problem.precision))
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
    border = jnp.where(held[:, None], 0.0, border)
    return jnp.block([[laplacian, border], [border.T, corner]]), scale


def solve_by_conjugate_gradients(apply_matrix: Any, precondition: Any, b: Array, tolerance: Array) -> Array:
    """The solution of A x = b by preconditioned conjugate gradients, to a residual of a share of that of zero."""
    return cg(apply_matrix, b, tol=tolerance, maxiter=MAX_CG_ITERATIONS, M=precondition)[0]


def remove_ground_component(problem: StrengthProblem, step: Array) -> Array:
    """[N + E] a step without its part along the ground."""
    ground = problem.ground
    return step.at[: ground.shape[0]].add(-ground * (ground @ step[: ground.shape[0]]))


def dense_newton_step(
    problem: StrengthProblem, cell_terms: LikelihoodTerms, gradient_vector: Array, size: Array
) -> Array:
    """[N + E] Newton's step by the Cholesky factor of the Hessian."""
    del size
    matrix, _ = grounded_hessian(problem, cell_terms, gradient_vector.shape[0] - problem.held.shape[0])
    return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(matrix), True), gradient_vector)


def sparse_newton_step(
    problem: StrengthProblem, cell_terms: LikelihoodTerms, gradient_vector: Array, size: Array
) -> Array:
    """[N + E] Newton's step by conjugate gradients, with the Hessian's diagonal, the more exact the closer it is."""
    n = problem.held.shape[0]
    weight, zero = cell_terms.eta_eta, jnp.zeros(n, gradient_vector.dtype)
    degree = zero.at[problem.first].add(weight).at[problem.second].add(weight)
    diagonal = jnp.where(problem.held, 1.0, degree + problem.precision)
    more = [weight @ problem.covariates**2, cell_terms.kappa_kappa.sum()[None]]
    diagonal = jnp.concatenate([diagonal, *more])[: gradient_vector.shape[0]]
    scale = degree.sum() / n
    apply = partial(hessian_product, problem, cell_terms, scale)
    return remove_ground_component(
        problem,
        solve_by_conjugate_gradients(apply, lambda r: r / diagonal, gradient_vector, jnp.clip(0.01 * size, 1e-8, 0.01)),
    )


def preconditioned_newton_step(
    inverse: Array, problem: StrengthProblem, cell_terms: LikelihoodTerms, gradient_vector: Array, size: Array
) -> Array:
    """[N + E] Newton's step by conjugate gradients, with the inverse [N + E, N + E] of a Hessian that is near."""
    matrix, _ = grounded_hessian(problem, cell_terms, gradient_vector.shape[0] - problem.held.shape[0])
    del size
    close = jnp.full((), 0.1 * REPLICATE_TOLERANCE, gradient_vector.dtype)
    step = solve_by_conjugate_gradients(lambda v: matrix @ v, lambda r: inverse @ r, gradient_vector, close)
    return remove_ground_component(problem, step)


def maximise_by_newton(
    value_of: Any, gradient_and_step: Any, x: Array, num_bounded: int, tolerance: float = STEP_TOLERANCE
) -> SearchState:
    """The search for the largest `value_of(x)` [] from x to its end.

    `way_of(x, size of the last step)` gives the gradient and the step. The first `most` of x must not run away. A step
    that changes nothing by more than `small` is the last.
    """
    start = x

    def go_on(state: SearchState) -> Array:
        far = jnp.abs(state.x - start)[:num_bounded].max() > DIVERGENCE_DISTANCE
        return (state.size > tolerance) & (state.steps < MAX_STEPS) & ~state.stuck & ~far

    def step(state: SearchState) -> SearchState:
        slope, way = gradient_and_step(state.x, state.size)
        least = state.value - 1e-12 * jnp.abs(state.value)  # rounding

        def worse(trial: tuple[Array, Array, Array]) -> Array:
            share, value, _ = trial
            return ~(value >= least + 1e-4 * share * (slope * way).sum()) & (share > 0.5**MAX_HALVINGS)

        def halve(trial: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            share = 0.5 * trial[0]
            x = state.x + share * way
            return share, value_of(x), x

        two = jnp.full((), 2.0, state.x.dtype)
        share, value, x = lax.while_loop(worse, halve, (two, jnp.full((), -jnp.inf, two.dtype), state.x))
        stuck = ~(share > 0.5**MAX_HALVINGS)
        size = jnp.where(stuck, 1.0, share) * jnp.abs(way).max()
        return SearchState(
            jnp.where(stuck, state.x, x), jnp.where(stuck, state.value, value), size, state.steps + 1, stuck
        )

    one = jnp.ones((), x.dtype)
    return lax.while_loop(go_on, step, SearchState(x, value_of(x), one, jnp.zeros((), int), jnp.zeros((), bool)))


def maximise_from_counts(
    newton_step: Any, model: str, problem: StrengthProblem, counts: Array, x: Array, tolerance: float = STEP_TOLERANCE
) -> SearchState:
    """The search from counts; `direction(problem, terms, gradient, size of the last step)` makes the steps."""

    def way(x: Array, size: Array) -> tuple[Array, Array]:
        found = terms_at(model, problem, counts, x)
        slope = gradient(problem, x, found)
        return slope, newton_step(problem, found, slope, size)

    most = problem.held.shape[0] + problem.covariates.shape[1]
    return maximise_by_newton(partial(log_posterior, model, problem, counts), way, x, most, tolerance)


def iterate_chord_steps(
    model: str, problem: StrengthProblem, inverse: Array, counts: Array, x: Array
) -> tuple[Array, Array]:
    """Where steps with one inverse [N + E, N + E] lead from x, while each is a third of the last, and the last size.

    Such a step costs a gradient and no Hessian. The error that is left is below half of the last step.
    """

    def go_on(state: tuple[Array, Array, Array, Array]) -> Array:
        _, size, last, count = state
        return (size > 0.1 * REPLICATE_TOLERANCE) & (3.0 * size < last) & (count < MAX_CHORD_STEPS)

    def step(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        x, size, _, count = state
        way = remove_ground_component(problem, inverse @ gradient(problem, x, terms_at(model, problem, counts, x)))
        return x + way, jnp.abs(way).max(), size, count + 1

    one = jnp.ones((), x.dtype)
    x, size, last, _ = lax.while_loop(go_on, step, (x, one, 4.0 * one, jnp.zeros((), int)))
    return x, jnp.where(3.0 * size < last, size, 1.0)


@partial(jax.jit, static_argnums=(0, 1))
def find_maximum(is_dense: bool, model: str, problem: StrengthProblem, counts: Array, x: Array) -> SearchState:
    """The maximum from x."""
    return maximise_from_counts(dense_newton_step if is_dense else sparse_newton_step, model, problem, counts, x)


@partial(jax.jit, static_argnums=(0, 1))
def maximise_replicates(
    model: str, batch_size: int | None, problem: StrengthProblem, inverse: Array, counts: Array, x: Array
) -> tuple[Array, Array]:
    """The maxima [B, N + E] for each of the counts [B, 3, M], from x, with the inverse of the Hessian there.

    And the size [B] of each last step.

    So many at once as `abreast` says; None: one by one, which is quicker where memory is slow, as on a CPU.
    """

    def one(counts: Array) -> tuple[Array, Array]:
        near, size = iterate_chord_steps(model, problem, inverse, counts, x)

        def exactly(_: Array) -> tuple[Array, Array]:
            found = maximise_from_counts(
                partial(preconditioned_newton_step, inverse), model, problem, counts, x, REPLICATE_TOLERANCE
            )
            return found.x, found.size

        return lax.cond(size > 0.1 * REPLICATE_TOLERANCE, exactly, lambda near: (near, size), near)

    return lax.map(one, counts, batch_size=batch_size)


@partial(jax.jit, static_argnums=0)
def hessian_at_maximum(model: str, problem: StrengthProblem, counts: Array, x: Array) -> tuple[Array, Array]:
    """Minus the Hessian at x, and the scale of its grounding, as in `hessian`."""
    return grounded_hessian(problem, terms_at(model, problem, counts, x), x.shape[0] - problem.held.shape[0])


@partial(jax.jit, static_argnums=0)
def information_diagonal(model: str, problem: StrengthProblem, counts: Array, x: Array) -> Array:
    """[N] the diagonal of minus the Hessian at x, of strengths."""
    weight = terms_at(model, problem, counts, x).eta_eta
    zero = jnp.zeros(problem.held.shape[0], weight.dtype)
    return zero.at[problem.first].add(weight).at[problem.second].add(weight) + problem.precision


@jax.jit
def residual_covariate_information(problem: StrengthProblem, weight: Array) -> Array:
    """[p, p] the weighted squares of covariates about what players say of them: singular where they say all."""
    bare = problem._replace(covariates=problem.covariates[:, :0])
    zero = jnp.zeros_like(weight)
    weight_terms = LikelihoodTerms(zero, zero, zero, weight, zero, zero)
    n = problem.held.shape[0]
    degree = jnp.zeros(n, weight.dtype).at[problem.first].add(weight).at[problem.second].add(weight)
    diagonal = jnp.where(problem.held | (degree == 0), 1.0, degree + problem.precision)
    apply = partial(hessian_product, bare, weight_terms, degree.sum() / n)
    border = [
        design_transpose_product(bare, weight * problem.covariates[:, j], None)
        for j in range(problem.covariates.shape[1])
    ]
    close = jnp.full((), 1e-9, weight.dtype)
    solved = [solve_by_conjugate_gradients(apply, lambda r: r / diagonal, column, close) for column in border]
    squares = problem.covariates.T @ (weight[:, None] * problem.covariates)
    return squares - jnp.stack(border) @ jnp.stack(solved).T
