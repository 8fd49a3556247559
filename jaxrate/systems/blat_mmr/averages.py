"""What a match says of one player, averaged over the strengths that the other one may have."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.events import Array, Matches
from jaxrate.numerics import differences
from jaxrate.systems.blat_mmr import sums
from jaxrate.systems.blat_mmr.hyperparameters import Params
from jaxrate.systems.blat_mmr.model import Constants, Form, Model, State
from jaxrate.systems.blat_mmr.sums import Power


def chances(model: Model, params: Params, x: Array, y: Array, side: Array | float) -> tuple[Array, Array]:
    """L(x, y) and L(y, x), where `side` is that of x."""
    lead = side * params.side_advantage / model.luck.unit
    first, second = (x + lead) / params.temperature, y / params.temperature

    def with_luck(chance: Array) -> Array:
        return (1.0 - params.beta) / 2.0 + params.beta * chance

    return with_luck(model.luck.first(first, second, side)), with_luck(model.luck.first(second, first, -side))


def average(model: Model, constants: Constants, rows: State, event: Matches, power: Power) -> Array:
    """sum p(x) q(y) W(x, y) for W = power(log L(x, y), log L(y, x))."""
    if constants.form.summing == "low_rank":
        _, weights = _interpolation(model, constants.form)
        at = jnp.matmul(rows.belief, weights, precision=sums.EXACT)
        w = power(*_of(model, constants, event))
        return jnp.sum(at[0] * jnp.matmul(w, at[1], precision=sums.EXACT))
    return jnp.sum(rows.belief[0] * sums_of(model, constants, rows, event, power)[0])


def grid_points(model: Model) -> Array:
    assert model.grid is not None
    return jax.device_put(np.asarray(model.grid.points, jnp.result_type(float)))


def _interpolation(model: Model, form: Form) -> tuple[Array, Array]:
    """Nodes [r] and weights [n, r]."""
    assert model.grid is not None and form.nodes is not None
    nodes, weights = sums.interpolation(model.grid, form.nodes)
    return jnp.asarray(nodes, float), jnp.asarray(weights, float)


def table(model: Model, form: Form, params: Params, side: Array | float) -> Any:
    """Logarithms of the chances between nodes [r, r], or by difference [2 n - 1]."""
    if form.summing == "low_rank":
        nodes, _ = _interpolation(model, form)
        return sums.logs(chances(model, params, nodes[:, None], nodes[None], side))
    if form.summing == "fft":
        assert model.grid is not None
        difference = model.grid.step * differences(model.grid.size)
        return sums.logs(chances(model, params, difference, jnp.zeros_like(difference), side))
    return None


def _of(model: Model, constants: Constants, event: Matches) -> Any:
    """The table of a match."""
    side = event.context.side
    return constants.table if side is None else table(model, constants.form, constants.params, side)


def _points(model: Model, rows: State) -> Array:
    """The supports of both players, [2, ...]."""
    return jnp.stack([grid_points(model)] * 2) if rows.support is None else rows.support


def _pairs(model: Model, constants: Constants, rows: State, event: Matches) -> tuple[Array, Array]:
    """L [n, n] of every two strengths, or of every two distributions (Example 2.15), and the same of the second."""
    x, y = _points(model, rows)
    side = 0.0 if event.context.side is None else event.context.side
    if rows.inner is None:
        return chances(model, constants.params, x[:, None], y[None], side)
    inner = rows.inner
    both = chances(model, constants.params, x[:, None, :, None], y[None, :, None, :], side)
    one, two = (jnp.einsum("ik,ijkl,jl->ij", inner[0], c, inner[1], precision=sums.EXACT) for c in both)
    return one, two


def sums_of(model: Model, constants: Constants, rows: State, event: Matches, power: Power) -> Array:
    """[2, n] of what `sums` describes."""
    form = constants.form
    if form.summing == "low_rank":
        return sums.low_rank(_interpolation(model, form)[1], _of(model, constants, event), rows.belief, power)
    if form.summing == "fft":
        return sums.fft(_of(model, constants, event), rows.belief, power)
    return sums.naive(_pairs(model, constants, rows, event), rows.belief, power)


def wins_and_losses(model: Model, constants: Constants, rows: State, event: Matches) -> tuple[Array, Array]:
    """The sums [2, n] of L(x, y) and of L(y, x)."""
    if constants.form.summing != "laplace":
        wins, losses = (sums_of(model, constants, rows, event, power) for power in (sums.win, sums.loss))
        return wins, losses
    params = constants.params
    lead = 0.0 if event.context.side is None else event.context.side * params.side_advantage / model.luck.unit
    both = sums.laplace_sums(
        model.luck.laplace, _points(model, rows), rows.belief, jnp.asarray(lead, float), params.temperature
    )
    mass = jnp.sum(rows.belief, axis=-1)[::-1, None]
    wins, losses = ((1.0 - params.beta) / 2.0 * mass + params.beta * x for x in both)
    return wins, losses
