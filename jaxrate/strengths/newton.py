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

from jaxrate.events import Array
from jaxrate.strengths.models import Terms, terms

STEPS = 100
SMALL = 1e-7  # of a step after which the next would be below rounding
CLOSE = 1e-4  # the same of replicates, whose scatter is far above what is left
CHORDS = 12  # steps of a replicate with the inverse of a Hessian that is near, before it has one of its own
FAR = 60.0  # log strengths from where a search begins: the likelihood has no maximum
HALVINGS = 40
PRODUCTS = 1000  # of the Hessian in one solution


class Problem(NamedTuple):
    """Who met, and what is known besides."""

    first: Array  # [M]
    second: Array  # [M]
    covariates: Array  # [M, p]
    held: Array  # [N] bool: strengths that stay as they are
    ground: Array  # [N] a unit vector along which strengths are free; zeros if they are not
    precision: Array  # [] of the normal prior about 0; 0: none


class Search(NamedTuple):
    """Where a search stands."""

    x: Array  # [N + E]
    value: Array  # [] log likelihood, and prior
    size: Array  # [] the largest change of the last step, or of the one that did not gain
    steps: Array  # []
    stuck: Array  # [] bool: no step gains


def parts(problem: Problem, x: Array) -> tuple[Array, Array, Array]:
    """Log strengths [N], coefficients [p] and kappa []."""
    n, p = problem.held.shape[0], problem.covariates.shape[1]
    kappa = x[n + p] if x.shape[0] > n + p else jnp.zeros((), x.dtype)
    return x[:n], x[n : n + p], kappa


def at(model: str, problem: Problem, counts: Array, x: Array) -> Terms:
    """What the cells say at x."""
    strength, coefficient, kappa = parts(problem, x)
    eta = strength[problem.first] - strength[problem.second] + problem.covariates @ coefficient
    return terms(model, counts, eta, kappa)


def value_at(model: str, problem: Problem, counts: Array, x: Array) -> Array:
    """The log likelihood [] and the prior's part of it."""
    strength = jnp.where(problem.held, 0.0, x[: problem.held.shape[0]])
    return at(model, problem, counts, x).value.sum() - 0.5 * problem.precision * (strength**2).sum()


def gathered(problem: Problem, along: Array, kappa: Array | None) -> Array:
    """[N + E] the transpose of the cells' design: what each cell says along eta and kappa [M], summed."""
    n = problem.held.shape[0]
    strength = jnp.zeros(n, along.dtype).at[problem.first].add(along).at[problem.second].add(-along)
    pieces = [jnp.where(problem.held, 0.0, strength), problem.covariates.T @ along]
    return jnp.concatenate(pieces if kappa is None else [*pieces, kappa.sum()[None]])


def gradient(problem: Problem, x: Array, found: Terms) -> Array:
    """[N + E] of the log likelihood and the prior."""
    n = problem.held.shape[0]
    some = found.kappa if x.shape[0] > n + problem.covariates.shape[1] else None
    prior = jnp.where(problem.held, 0.0, problem.precision * x[:n])
    return gathered(problem, found.eta, some).at[:n].add(-prior)


def product(problem: Problem, found: Terms, scale: Array, v: Array) -> Array:
    """[N + E] minus the Hessian times a vector, whose part of those who are held is left as it is."""
    n = problem.held.shape[0]
    strength, coefficient, kappa = parts(problem, v)
    free = jnp.where(problem.held, 0.0, strength)
    eta = free[problem.first] - free[problem.second] + problem.covariates @ coefficient
    some = v.shape[0] > n + problem.covariates.shape[1]
    rest = found.eta_kappa * eta + found.kappa_kappa * kappa if some else None
    out = gathered(problem, found.eta_eta * eta + found.eta_kappa * kappa, rest)
    more = problem.precision * free + scale * problem.ground * (problem.ground @ free)
    return out.at[:n].add(jnp.where(problem.held, strength, more))


def hessian(problem: Problem, found: Terms, extra: int) -> tuple[Array, Array]:
    """Minus the Hessian [N + E, N + E], grounded and with ones for those who are held; and the grounding's scale []."""
    n, p = problem.held.shape[0], problem.covariates.shape[1]
    first, second, held = problem.first, problem.second, problem.held
    weight, z = found.eta_eta, problem.covariates
    upper = jnp.zeros((n, n), weight.dtype).at[first, second].add(-weight)
    away = upper + upper.T
    degree = -away.sum(axis=1)
    scale = degree.sum() / n
    away = jnp.where(held[:, None] | held[None, :], 0.0, away)
    away = away + scale * problem.ground[:, None] * problem.ground[None, :]
    laplacian = away + jnp.diag(jnp.where(held, 1.0, degree + problem.precision))
    if not extra:
        return laplacian, scale
    columns = weight[:, None] * z
    corner = z.T @ columns
    if extra > p:
        columns = jnp.concatenate([columns, found.eta_kappa[:, None]], axis=1)
        side = z.T @ found.eta_kappa
        last = jnp.append(side, found.kappa_kappa.sum())
        corner = jnp.concatenate([jnp.concatenate([corner, side[:, None]], axis=1), last[None, :]])
    border = jnp.zeros((n, extra), weight.dtype).at[first].add(columns).at[second].add(-columns)
    border = jnp.where(held[:, None], 0.0, border)
    return jnp.block([[laplacian, border], [border.T, corner]]), scale


def solve_by_conjugate_gradients(apply_matrix: Any, precondition: Any, b: Array, tolerance: Array) -> Array:
    """The solution of A x = b by preconditioned conjugate gradients, to a residual of a share of that of zero."""
    return cg(apply_matrix, b, tol=tolerance, maxiter=PRODUCTS, M=precondition)[0]


def centred(problem: Problem, step: Array) -> Array:
    """[N + E] a step without its part along the ground."""
    ground = problem.ground
    return step.at[: ground.shape[0]].add(-ground * (ground @ step[: ground.shape[0]]))


def dense_direction(problem: Problem, found: Terms, slope: Array, size: Array) -> Array:
    """[N + E] Newton's step by the Cholesky factor of the Hessian."""
    del size
    matrix, _ = hessian(problem, found, slope.shape[0] - problem.held.shape[0])
    return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(matrix), True), slope)


def sparse_direction(problem: Problem, found: Terms, slope: Array, size: Array) -> Array:
    """[N + E] Newton's step by conjugate gradients, with the Hessian's diagonal, the more exact the closer it is."""
    n = problem.held.shape[0]
    weight, zero = found.eta_eta, jnp.zeros(n, slope.dtype)
    degree = zero.at[problem.first].add(weight).at[problem.second].add(weight)
    diagonal = jnp.where(problem.held, 1.0, degree + problem.precision)
    more = [weight @ problem.covariates**2, found.kappa_kappa.sum()[None]]
    diagonal = jnp.concatenate([diagonal, *more])[: slope.shape[0]]
    scale = degree.sum() / n
    apply = partial(product, problem, found, scale)
    return centred(
        problem, solve_by_conjugate_gradients(apply, lambda r: r / diagonal, slope, jnp.clip(0.01 * size, 1e-8, 0.01))
    )


def near_direction(inverse: Array, problem: Problem, found: Terms, slope: Array, size: Array) -> Array:
    """[N + E] Newton's step by conjugate gradients, with the inverse [N + E, N + E] of a Hessian that is near."""
    matrix, _ = hessian(problem, found, slope.shape[0] - problem.held.shape[0])
    del size
    close = jnp.full((), 0.1 * CLOSE, slope.dtype)
    step = solve_by_conjugate_gradients(lambda v: matrix @ v, lambda r: inverse @ r, slope, close)
    return centred(problem, step)


def newton(value_of: Any, way_of: Any, x: Array, most: int, small: float = SMALL) -> Search:
    """The search for the largest `value_of(x)` [] from x to its end.

    `way_of(x, size of the last step)` gives the gradient and the step. The first `most` of x must not run away. A step
    that changes nothing by more than `small` is the last.
    """
    start = x

    def go_on(state: Search) -> Array:
        far = jnp.abs(state.x - start)[:most].max() > FAR
        return (state.size > small) & (state.steps < STEPS) & ~state.stuck & ~far

    def step(state: Search) -> Search:
        slope, way = way_of(state.x, state.size)
        least = state.value - 1e-12 * jnp.abs(state.value)  # rounding

        def worse(trial: tuple[Array, Array, Array]) -> Array:
            share, value, _ = trial
            return ~(value >= least + 1e-4 * share * (slope * way).sum()) & (share > 0.5**HALVINGS)

        def halve(trial: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            share = 0.5 * trial[0]
            x = state.x + share * way
            return share, value_of(x), x

        two = jnp.full((), 2.0, state.x.dtype)
        share, value, x = lax.while_loop(worse, halve, (two, jnp.full((), -jnp.inf, two.dtype), state.x))
        stuck = ~(share > 0.5**HALVINGS)
        size = jnp.where(stuck, 1.0, share) * jnp.abs(way).max()
        return Search(jnp.where(stuck, state.x, x), jnp.where(stuck, state.value, value), size, state.steps + 1, stuck)

    one = jnp.ones((), x.dtype)
    return lax.while_loop(go_on, step, Search(x, value_of(x), one, jnp.zeros((), int), jnp.zeros((), bool)))


def by_cells(direction: Any, model: str, problem: Problem, counts: Array, x: Array, small: float = SMALL) -> Search:
    """The search from counts; `direction(problem, terms, gradient, size of the last step)` makes the steps."""

    def way(x: Array, size: Array) -> tuple[Array, Array]:
        found = at(model, problem, counts, x)
        slope = gradient(problem, x, found)
        return slope, direction(problem, found, slope, size)

    most = problem.held.shape[0] + problem.covariates.shape[1]
    return newton(partial(value_at, model, problem, counts), way, x, most, small)


def by_chords(model: str, problem: Problem, inverse: Array, counts: Array, x: Array) -> tuple[Array, Array]:
    """Where steps with one inverse [N + E, N + E] lead from x, while each is a third of the last, and the last size.

    Such a step costs a gradient and no Hessian. The error that is left is below half of the last step.
    """

    def go_on(state: tuple[Array, Array, Array, Array]) -> Array:
        _, size, last, count = state
        return (size > 0.1 * CLOSE) & (3.0 * size < last) & (count < CHORDS)

    def step(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        x, size, _, count = state
        way = centred(problem, inverse @ gradient(problem, x, at(model, problem, counts, x)))
        return x + way, jnp.abs(way).max(), size, count + 1

    one = jnp.ones((), x.dtype)
    x, size, last, _ = lax.while_loop(go_on, step, (x, one, 4.0 * one, jnp.zeros((), int)))
    return x, jnp.where(3.0 * size < last, size, 1.0)


@partial(jax.jit, static_argnums=(0, 1))
def search(dense: bool, model: str, problem: Problem, counts: Array, x: Array) -> Search:
    """The maximum from x."""
    return by_cells(dense_direction if dense else sparse_direction, model, problem, counts, x)


@partial(jax.jit, static_argnums=(0, 1))
def replicates(
    model: str, abreast: int | None, problem: Problem, inverse: Array, counts: Array, x: Array
) -> tuple[Array, Array]:
    """The maxima [B, N + E] for each of the counts [B, 3, M], from x, with the inverse of the Hessian there.

    And the size [B] of each last step.

    So many at once as `abreast` says; None: one by one, which is quicker where memory is slow, as on a CPU.
    """

    def one(counts: Array) -> tuple[Array, Array]:
        near, size = by_chords(model, problem, inverse, counts, x)

        def exactly(_: Array) -> tuple[Array, Array]:
            found = by_cells(partial(near_direction, inverse), model, problem, counts, x, CLOSE)
            return found.x, found.size

        return lax.cond(size > 0.1 * CLOSE, exactly, lambda near: (near, size), near)

    return lax.map(one, counts, batch_size=abreast)


@partial(jax.jit, static_argnums=0)
def curvature(model: str, problem: Problem, counts: Array, x: Array) -> tuple[Array, Array]:
    """Minus the Hessian at x, and the scale of its grounding, as in `hessian`."""
    return hessian(problem, at(model, problem, counts, x), x.shape[0] - problem.held.shape[0])


@partial(jax.jit, static_argnums=0)
def degrees(model: str, problem: Problem, counts: Array, x: Array) -> Array:
    """[N] the diagonal of minus the Hessian at x, of strengths."""
    weight = at(model, problem, counts, x).eta_eta
    zero = jnp.zeros(problem.held.shape[0], weight.dtype)
    return zero.at[problem.first].add(weight).at[problem.second].add(weight) + problem.precision


@jax.jit
def own(problem: Problem, weight: Array) -> Array:
    """[p, p] the weighted squares of covariates about what players say of them: singular where they say all."""
    bare = problem._replace(covariates=problem.covariates[:, :0])
    zero = jnp.zeros_like(weight)
    found = Terms(zero, zero, zero, weight, zero, zero)
    n = problem.held.shape[0]
    degree = jnp.zeros(n, weight.dtype).at[problem.first].add(weight).at[problem.second].add(weight)
    diagonal = jnp.where(problem.held | (degree == 0), 1.0, degree + problem.precision)
    apply = partial(product, bare, found, degree.sum() / n)
    border = [gathered(bare, weight * problem.covariates[:, j], None) for j in range(problem.covariates.shape[1])]
    close = jnp.full((), 1e-9, weight.dtype)
    solved = [solve_by_conjugate_gradients(apply, lambda r: r / diagonal, column, close) for column in border]
    squares = problem.covariates.T @ (weight[:, None] * problem.covariates)
    return squares - jnp.stack(border) @ jnp.stack(solved).T
