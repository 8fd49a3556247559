"""Slopes of `run` by hyperparameters, which are computed forwards, against reverse mode under jit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.data.simulate import contests, league
from tests.conftest import MOSTLY_DOUBLE, mark_full

MATCHES = league(6, 30, seed=1, draws=0.2).matches
CASES = {
    "elo": (jr.elo(), MATCHES, ("k", "scale")),
    "elo_mmr": (jr.elo_mmr(history=2), contests(8, 4, size=5, seed=1).rounds, ("weight", "limit_deviation", "rho")),
}


unpack = jax.jit(tuple)


@jax.jit
def measure(prediction, rating):
    """Of the predictions and of the state in the end: one program for each kind of slope, and not one an operation."""
    return jnp.sum(jnp.sin(prediction)) + jnp.sum(rating**2) / 1e6


def make_loss(name):
    """A loss of the predictions and of the state in the end, of the free hyperparameters [k], and where these are."""
    system, events, free = CASES[name]

    def loss(x):
        params = system.params._replace(**dict(zip(free, unpack(x), strict=True)))
        state, prediction = jr.run(system, events, params=params)
        return measure(prediction, state.rating)

    return loss, jax.device_put(np.array([getattr(system.params, y) for y in free], jnp.result_type(float)))


def close(x64, got, wanted):
    size = np.max(np.abs(np.asarray(wanted)))
    np.testing.assert_allclose(got, wanted, rtol=1e-9 if x64 else 2e-3, atol=size * (1e-11 if x64 else 2e-4))


@MOSTLY_DOUBLE
@pytest.mark.parametrize("name", mark_full(CASES, "elo"))
def test_slopes_are_those_of_reverse_mode(name, x64):
    loss, x = make_loss(name)
    wanted = jax.jit(jax.grad(loss))(x)
    close(x64, jax.jacfwd(loss)(x), wanted)
    many = jax.device_put(np.stack([x, 1.1 * np.asarray(x)]))
    close(x64, jax.vmap(jax.grad(loss))(many)[0], wanted)
    value, slope = jax.value_and_grad(loss)(x)
    close(x64, value, loss(x))
    close(x64, slope, wanted)


@MOSTLY_DOUBLE
def test_second_slopes_are_those_of_reverse_mode(x64):
    loss, x = make_loss("elo")
    wanted = jax.jit(jax.hessian(loss))(x)
    close(x64, jax.hessian(loss)(x), wanted)
    close(x64, jax.jacrev(jax.grad(loss))(x), wanted)


def test_slopes_by_the_state_as_well_are_found_in_reverse():
    system, events, _ = CASES["elo"]
    start = system.init(system.params, 6)

    def loss(k, rating):
        state = start._replace(rating=rating)
        return jnp.sum(jr.run(system, events, params=system.params._replace(k=k), state=state).state.rating ** 2)

    by_k, by_rating = jax.grad(loss, argnums=(0, 1))(32.0, start.rating)
    np.testing.assert_allclose(by_k, jax.grad(loss)(32.0, start.rating), rtol=1e-3)
    assert np.isfinite(by_rating).all()
