"""The rules of BlatMMR: beliefs on a grid, averaged over those of opponents."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.hashable_functions_and_arrays import HashableArray
from jaxrate.core.mean_reversion import elapsed_time
from jaxrate.core.rules import Params, Rating
from jaxrate.events import Matches
from jaxrate.numerics.fourier_convolution import grid_differences_in_fft_order
from jaxrate.systems.blat_mmr import kernels, opponent_sum_algorithms
from jaxrate.systems.blat_mmr.opponent_sum_algorithms import ResultLikelihood
from jaxrate.systems.blat_mmr.settings_and_state import (
    Constants,
    Model,
    SizedAlgorithms,
    State,
    is_player_and_time_independent_kernel,
    kernel_shape_argument_values,
    low_rank_kernel_factors,
    mean_strengths_of_support_points,
    resolve_algorithm_sizes,
)


def win_chances_at_strengths(
    model: Model, params: Params, x: Array, y: Array, side: Array | float
) -> tuple[Array, Array]:
    """L(x, y) and L(y, x), where `side` is that of x."""
    lead = side * params.side_advantage / model.luck.unit
    first, second = (x + lead) / params.temperature, y / params.temperature

    def with_luck(chance: Array) -> Array:
        return (1.0 - params.beta) / 2.0 + params.beta * chance

    return with_luck(model.luck.first(first, second, side)), with_luck(model.luck.first(second, first, -side))


def average_over_both_beliefs(
    model: Model, constants: Constants, rows: State, event: Matches, likelihood: ResultLikelihood
) -> Array:
    """sum p(x) q(y) W(x, y) for W = power(log L(x, y), log L(y, x))."""
    if _is_low_rank(model, constants, event):
        _, weights, _ = _interpolation_nodes_and_weights(model, constants.form)
        at = jnp.matmul(rows.belief, weights, precision=opponent_sum_algorithms.EXACT)
        w = likelihood(*_log_chance_table_for_match(model, constants, event))
        terms = at[0] * jnp.matmul(w, at[1], precision=opponent_sum_algorithms.EXACT)
        return jnp.maximum(jnp.sum(terms), opponent_sum_algorithms.rounding_of_sums(terms) * jnp.max(terms))
    return jnp.sum(rows.belief[0] * average_likelihood_over_opponent(model, constants, rows, event, likelihood)[0])


def _is_low_rank(model: Model, constants: Constants, event: Matches) -> bool:
    """Whether sums are over nodes: powers of chances may not be of one size in their panels."""
    powers = model.draws == "inside" and event.context.weight is not None
    nodes = constants.form.nodes
    return nodes is not None and constants.form.summing == "low_rank" and not (powers and nodes.panels > 1)


def grid_points(model: Model) -> Array:
    assert model.grid is not None
    return jax.device_put(np.asarray(model.grid.points, jnp.result_type(float)))


def _interpolation_nodes_and_weights(model: Model, algorithms: SizedAlgorithms) -> tuple[Array, Array, HostArray]:
    """Nodes [r], weights [n, r] and panels [n]."""
    assert model.grid is not None and algorithms.nodes is not None
    nodes, weights, panel = opponent_sum_algorithms.barycentric_nodes_and_weights(model.grid, algorithms.nodes)
    return jnp.asarray(nodes, float), jnp.asarray(weights, float), panel


def log_chance_table(model: Model, algorithms: SizedAlgorithms, params: Params, side: Array | float) -> Any:
    """Logarithms of the chances between nodes [r, r], or by difference [2 n - 1]."""
    if algorithms.summing == "low_rank":
        nodes, _, _ = _interpolation_nodes_and_weights(model, algorithms)
        return opponent_sum_algorithms.log_chances(
            win_chances_at_strengths(model, params, nodes[:, None], nodes[None], side)
        )
    if algorithms.summing in ("fft", "naive") and model.grid is not None and model.luck.difference:
        difference = model.grid.step * grid_differences_in_fft_order(model.grid.size)
        return opponent_sum_algorithms.log_chances(
            win_chances_at_strengths(model, params, difference, jnp.zeros_like(difference), side)
        )
    return None


def _log_chance_table_for_match(model: Model, constants: Constants, event: Matches) -> Any:
    """The table of a match."""
    side = event.context.side
    return constants.table if side is None else log_chance_table(model, constants.form, constants.params, side)


def _player_supports(model: Model, rows: State) -> Array:
    """The supports of both players, [2, ...]."""
    return jnp.stack([grid_points(model)] * 2) if rows.support is None else rows.support


def _chance_matrices(model: Model, constants: Constants, rows: State, event: Matches) -> tuple[Array, Array]:
    """L [n, n] of every two strengths, or of every two distributions (Example 2.15), and the same of the second."""
    x, y = _player_supports(model, rows)
    side = 0.0 if event.context.side is None else event.context.side
    if rows.inner is None:
        return win_chances_at_strengths(model, constants.params, x[:, None], y[None], side)
    inner = rows.inner
    both = win_chances_at_strengths(model, constants.params, x[:, None, :, None], y[None, :, None, :], side)
    one, two = (
        jnp.einsum("ik,ijkl,jl->ij", inner[0], c, inner[1], precision=opponent_sum_algorithms.EXACT) for c in both
    )
    return one, two


def average_likelihood_over_opponent(
    model: Model, constants: Constants, rows: State, event: Matches, likelihood: ResultLikelihood
) -> Array:
    """[2, n] of what `sums` describes."""
    form, table = constants.form, _log_chance_table_for_match(model, constants, event)
    if _is_low_rank(model, constants, event):
        _, weights, panel = _interpolation_nodes_and_weights(model, form)
        return opponent_sum_algorithms.low_rank_opponent_sums(weights, panel, table, rows.belief, likelihood)
    if form.summing == "fft":
        return opponent_sum_algorithms.fft_opponent_sums(table, rows.belief, likelihood)
    if table is None or form.summing == "low_rank":
        chances = _chance_matrices(model, constants, rows, event)
        w = likelihood(*opponent_sum_algorithms.log_chances(chances))
    else:
        w = opponent_sum_algorithms.matrix_from_differences(likelihood(*table))
    return opponent_sum_algorithms.naive_opponent_sums(w, rows.belief)


def average_win_loss_over_opponent(
    model: Model, constants: Constants, rows: State, event: Matches
) -> tuple[Array, Array]:
    """The sums [2, n] of L(x, y) and of L(y, x)."""
    if constants.form.summing != "laplace":
        wins, losses = (
            average_likelihood_over_opponent(model, constants, rows, event, power)
            for power in (opponent_sum_algorithms.win_chance, opponent_sum_algorithms.loss_chance)
        )
        return wins, losses
    params = constants.params
    lead = 0.0 if event.context.side is None else event.context.side * params.side_advantage / model.luck.unit
    both = opponent_sum_algorithms.laplace_win_loss_sums(
        model.luck.laplace, _player_supports(model, rows), rows.belief, jnp.asarray(lead, float), params.temperature
    )
    mass = jnp.sum(rows.belief, axis=-1)[::-1, None]
    wins, losses = ((1.0 - params.beta) / 2.0 * mass + params.beta * x for x in both)
    return wins, losses


CENTRE_RATING = 1500.0  # rating of strength 0
LIKELIHOOD_SCALE = {"float32": 1e18, "float64": 1e150}  # of a posterior: its square is still within the precision
PLAYERS_PER_BATCH = 256  # players whose beliefs are spread at once, as of a time


def prepare(model: Model, algorithms: SizedAlgorithms | None, params: Params) -> Constants:
    """The constants of a run with these algorithms, or, if None, with those that suit the hyperparameters."""
    algorithms = resolve_algorithm_sizes(model, params) if algorithms is None else algorithms
    params = jax.tree.map(lambda x: jnp.asarray(x, float), params)
    parts, kernel = None, model.kernel
    if algorithms.spreading == "low_rank":
        parts = kernels.low_rank_component(*(low_rank_kernel_factors(model) or ()))
    elif kernel is not None and is_player_and_time_independent_kernel(kernel):
        if model.grid is not None:
            parts = _prepare_kernel_components(model, algorithms, params, params.kernel_width, grid_points(model))
        elif isinstance(kernel.shape, HashableArray):  # whatever the supports
            parts = _prepare_kernel_components(
                model, algorithms, params, params.kernel_width, jnp.zeros(kernel.shape.shape[:1])
            )
    return Constants(params, algorithms, log_chance_table(model, algorithms, params, 0.0), parts)


def advance(model: Model, constants: Constants, rows: State, time: Array) -> State:
    """A kernel by time is applied once for the time since it last was, as soon as it is wider than a step of the grid.

    (Narrower ones would be the identity on it, and the variance be lost.)
    """
    if rows.time is None:
        return rows
    assert model.kernel is not None
    gap = elapsed_time(time, rows.time)
    width = constants.params.kernel_width * jnp.sqrt(jnp.where(gap > 0, gap, 1.0))
    if rows.width is not None:
        width = width * rows.width
    least = 0.0 if model.grid is None else model.grid.step / min(model.kernel.widths)
    ripe = (gap > 0) & (width > least)
    belief = jnp.where(ripe[..., None], _spread_beliefs(model, constants, rows, width, rows.belief), rows.belief)
    return rows._replace(belief=belief, time=jnp.where(ripe | jnp.isinf(rows.time), time, rows.time))


def predict(model: Model, constants: Constants, rows: State, event: Matches) -> Array:
    """Expected score of the first player."""
    if constants.form.summing == "laplace":
        wins, _ = average_win_loss_over_opponent(model, constants, rows, event)
        return jnp.sum(rows.belief[0] * wins[0])
    return jnp.clip(
        average_over_both_beliefs(model, constants, rows, event, opponent_sum_algorithms.win_chance), 0.0, 1.0
    )


def update(model: Model, constants: Constants, rows: State, event: Matches) -> State:
    """Models 2.11 and 2.16.

    What is less likely than the precision holds (1e-36, 1e-300; with "fft" than its rounding) counts as that likely: a
    belief that would lose all its mass keeps its prior.
    """
    power = opponent_sum_algorithms.make_result_likelihood(event.score, event.context.weight)
    if model.draws == "inside":
        likelihood = average_likelihood_over_opponent(model, constants, rows, event, power)
    else:
        likelihood = power(
            *opponent_sum_algorithms.log_chances(average_win_loss_over_opponent(model, constants, rows, event))
        )
    scale = LIKELIHOOD_SCALE[likelihood.dtype.name]
    posterior, kernel = rows.belief * jnp.maximum(scale * likelihood, 1.0 / scale), model.kernel
    if kernel is None or kernel.clock == "time":
        belief = posterior / jnp.sum(posterior, axis=-1, keepdims=True)
    elif constants.parts is not None:
        belief = kernels.spread_belief(
            kernel.edges, constants.form.spreading, constants.parts, posterior, kernels.has_custom_shape(kernel)
        )
    else:
        factor = jnp.ones(2, posterior.dtype) if rows.width is None else rows.width
        belief = _spread_beliefs(model, constants, rows, constants.params.kernel_width * factor, posterior)
    return rows._replace(belief=belief)


def summary(model: Model, _params: Params, rows: State) -> Rating:
    """Mean and deviation in points; of strengths in R^d their average is rated, of distributions their mean."""
    value = support_point_strengths(model, rows)
    mass = jnp.sum(rows.belief, axis=-1)
    mean = jnp.sum(rows.belief * value, axis=-1) / mass
    variance = jnp.sum(rows.belief * (value - mean[..., None]) ** 2, axis=-1) / mass
    deviation = jnp.where(variance > 0, jnp.sqrt(jnp.where(variance > 0, variance, 1.0)), 0.0)
    return Rating(CENTRE_RATING + model.luck.unit * mean, model.luck.unit * deviation)


def support_point_strengths(model: Model, rows: State) -> Array:
    """The strength that each probability of a belief belongs to, as one number: [..., n]."""
    if rows.support is None:
        return jnp.broadcast_to(grid_points(model), rows.belief.shape)
    support = rows.support if model.luck.dimension == 1 else jnp.mean(rows.support, axis=-1)
    return support if rows.inner is None else jnp.sum(rows.inner * support, axis=-1)


def _prepare_kernel_components(
    model: Model, algorithms: SizedAlgorithms, params: Params, width: Array, points: Array
) -> list[kernels.PreparedKernelComponent]:
    assert model.kernel is not None
    step = opponent_sum_algorithms.grid_step(model.grid)
    values = dict(
        zip(
            kernels.shape_function_arguments(model.kernel).names,
            kernel_shape_argument_values(model.kernel, params),
            strict=True,
        )
    )
    return kernels.prepare_components(model.kernel, algorithms.spreading, width, points, step, algorithms.reach, values)


def _spread_beliefs(model: Model, constants: Constants, rows: State, width: Array, belief: Array) -> Array:
    """Beliefs [..., n] spread by the widths [...], normalised; a width of 0 spreads nothing."""
    kernel, form = model.kernel, constants.form
    assert kernel is not None

    def one(width: Array, p: Array, points: Array | None = None) -> Array:
        points = grid_points(model) if points is None else points
        parts = _prepare_kernel_components(model, form, constants.params, jnp.where(width > 0, width, 1.0), points)
        after = kernels.spread_belief(kernel.edges, form.spreading, parts, p, kernels.has_custom_shape(kernel))
        return jnp.where(width > 0, after, p / jnp.sum(p))

    args = (
        (width, belief)
        if rows.support is None
        else (width, belief, mean_strengths_of_support_points(rows.support, rows.inner))
    )
    if belief.ndim == 1:  # one player, as `advance` sees a match
        return one(*args)
    return jax.lax.map(lambda x: one(*x), args, batch_size=PLAYERS_PER_BATCH)
