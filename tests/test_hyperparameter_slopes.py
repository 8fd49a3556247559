"""Slopes of `run` by hyperparameters, which are computed forwards, against reverse mode under jit."""

import jax
import jax.numpy as jnp
import numpy as np

import jaxrate as jr
from jaxrate.data.simulate import league
from tests.conftest import MOSTLY_DOUBLE

MATCHES = league(6, 30, seed=1, draws=0.2).matches
SYSTEM, FREE = jr.elo(), ("k", "scale")


unpack = jax.jit(tuple)


@jax.jit
def measure(prediction, rating):
    """Of the predictions and of the state in the end: one program for each kind of slope, and not one an operation."""
    return jnp.sum(jnp.sin(prediction)) + jnp.sum(rating**2) / 1e6


def loss(x):
    """A loss of the predictions and of the state in the end, of the free hyperparameters [k]."""
    params = SYSTEM.params._replace(**dict(zip(FREE, unpack(x), strict=True)))
    state, prediction = jr.run(SYSTEM, MATCHES, params=params)
    return measure(prediction, state.rating)


def start():
    return jax.device_put(np.array([getattr(SYSTEM.params, y) for y in FREE], jnp.result_type(float)))


def close(x64, got, wanted):
    size = np.max(np.abs(np.asarray(wanted)))
    np.testing.assert_allclose(got, wanted, rtol=1e-9 if x64 else 2e-3, atol=size * (1e-11 if x64 else 2e-4))


@MOSTLY_DOUBLE
def test_slopes_are_those_of_reverse_mode(x64):
    x = start()
    wanted = jax.jit(jax.grad(loss))(x)
    close(x64, jax.jacfwd(loss)(x), wanted)
    many = jax.device_put(np.stack([x, 1.1 * np.asarray(x)]))
    close(x64, jax.vmap(jax.grad(loss))(many)[0], wanted)
    value, slope = jax.value_and_grad(loss)(x)
    close(x64, value, loss(x))
    close(x64, slope, wanted)


@MOSTLY_DOUBLE
def test_second_slopes_are_those_of_reverse_mode(x64):
    x = start()
    wanted = jax.jit(jax.hessian(loss))(x)
    close(x64, jax.hessian(loss)(x), wanted)
    close(x64, jax.jacrev(jax.grad(loss))(x), wanted)


def test_slopes_by_the_state_as_well_are_found_in_reverse():
    first = SYSTEM.init(SYSTEM.params, 6)

    def loss(k, rating):
        state = first._replace(rating=rating)
        return jnp.sum(jr.run(SYSTEM, MATCHES, params=SYSTEM.params._replace(k=k), state=state).state.rating ** 2)

    by_k, by_rating = jax.grad(loss, argnums=(0, 1))(32.0, first.rating)
    np.testing.assert_allclose(by_k, jax.grad(loss)(32.0, first.rating), rtol=1e-3)
    assert np.isfinite(by_rating).all()
