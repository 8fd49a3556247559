"""What devices other than a CPU may compute differently: infinities in padding, products of floats in few bits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import LAST_ID, Rounds
from tests.conftest import mark_full

SIZE, PRESENT = 96, 70  # of a round: more than are always compared in pairs, and some padding
SYSTEMS = [name for name, make in jr.extend.SYSTEMS.items() if jr.Rounds in make().events]


@pytest.fixture(params=["cpu", "gpu"])
def backend(request, monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: request.param)
    return request.param


ON_GPU = pytest.mark.parametrize("backend", mark_full(["cpu", "gpu"], "gpu"), indirect=True)  # where it matters most


def prediction_of_padded_round(system):
    """The rule, and what it is given: a round of players who differ, and of padding."""
    rows = jax.tree.map(jnp.asarray, system.init(system.params, SIZE))
    spread = jnp.asarray(0.1 * np.random.default_rng(0).normal(size=SIZE), jnp.float32)
    name = "rating" if hasattr(rows, "rating") else "mean"
    mean = getattr(rows, name)
    rows = rows._replace(**{name: mean * (1.0 + spread.reshape(-1, *(1,) * (mean.ndim - 1)))})
    number = jnp.arange(SIZE, dtype=jnp.int32)
    mask = number < PRESENT
    event = Rounds(number, jnp.where(mask, number, LAST_ID), number, mask.astype(jnp.float32), jnp.float32(0.0))
    return system.rules.predict, (system.rules.prepare(system.params), rows, event)


@ON_GPU
@pytest.mark.parametrize("name", SYSTEMS)
def test_no_number_on_the_way_to_a_prediction_is_infinite(name, backend):
    predict, given = prediction_of_padded_round(jr.extend.SYSTEMS[name]())
    with jax.disable_jit(), jax.debug_infs(True), jax.debug_nans(True):  # each operation by itself is looked at
        assert np.isfinite(predict(*given)[:PRESENT]).all()


def products_of(jaxpr):
    """All products of matrices and vectors in a program, and in those within."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            yield equation
        for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
            if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
                yield from products_of(getattr(inner, "jaxpr", inner))


@ON_GPU
@pytest.mark.parametrize("name", SYSTEMS)
def test_products_of_floats_are_asked_for_in_full_precision(name, backend):
    """By default a GPU takes 10 bits of each factor."""
    system = jr.extend.SYSTEMS[name]()
    predict, (constants, rows, event) = prediction_of_padded_round(system)
    for rule in (lambda: predict(constants, rows, event), lambda: system.rules.update(constants, rows, event, None)):
        for product in products_of(jax.make_jaxpr(rule)().jaxpr):
            exact = (jax.lax.Precision.HIGHEST,) * 2
            assert product.params["precision"] == exact, product.source_info.traceback


def test_a_gpu_whose_predictions_are_not_finite_is_an_error(share, backend):
    system = share()
    predict = system.rules.predict
    rules = system.rules._replace(predict=lambda *given: jnp.nan * predict(*given))
    system, rounds = system._replace(rules=rules), jr.rounds([0, 0, 1, 1], [0, 1, 1, 2], [1, 2, 1, 2])
    if backend == "cpu":
        assert np.isnan(jr.run(system, rounds).prediction).all()
    else:
        with pytest.raises(FloatingPointError, match="JAX_PLATFORMS=cpu"):
            jr.run(system, rounds)
        with pytest.raises(FloatingPointError, match="JAX_PLATFORMS=cpu"):
            jr.history.rating_history(system, rounds)
        data = jr.read({"contest": [0, 0, 1, 1], "player": ["a", "b", "b", "c"], "rank": [1, 2, 1, 2]})
        with pytest.raises(FloatingPointError, match="JAX_PLATFORMS=cpu"):
            jr.history.rating_history(system, data)
