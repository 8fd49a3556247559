"""What a match says of one player, averaged over the strengths that the other one may have."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.rules import Params
from jaxrate.events import Matches
from jaxrate.numerics.fourier_convolution import grid_differences_in_fft_order
from jaxrate.systems.blat_mmr import opponent_sum_algorithms
from jaxrate.systems.blat_mmr.opponent_sum_algorithms import ResultLikelihood
from jaxrate.systems.blat_mmr.settings_and_state import Constants, Model, SizedAlgorithms, State


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
