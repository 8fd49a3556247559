"""Elo, Glicko and Glicko-2 at the limits of their hyperparameters."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import MOSTLY_SINGLE, quick
from tests.test_systems import league


def test_ratings_stay_finite_however_large_tau_is():
    """Volatilities grew beyond all numbers, and predictions were NaN."""
    matches = jr.data.simulate.league(50, 3000, seed=1, drift=100.0).matches
    result = jr.run(jr.glicko2(tau=30), matches._replace(time=30 * matches.time))
    assert all(np.isfinite(x).all() for x in (result.prediction, result.state.rating, result.state.variance))


def test_elo_is_zero_sum_to_rounding():
    state = jr.run(jr.elo(), league()).state
    assert abs(float(jnp.sum(state.rating - 1500.0))) < 1e-2


def test_elo_carries_on_from_a_state_that_counted_games():
    counted = jr.run(jr.elo(k_new=40, new_games=5), league()).state
    with pytest.raises(ValueError, match="newcomers do not fit the state: it is of elo with other rules switched on"):
        jr.run(jr.elo(), league(), state=counted, num_players=len(counted.rating) + 1)
    after = jr.run(jr.elo(), league(), state=counted).state
    assert float(after.games.sum()) > float(counted.games.sum())


def test_newcomers_do_not_age_and_old_ratings_do():
    system = jr.glicko()
    state = jr.run(system, jr.matches([[0, 1]], [1.0], [10.0]), num_players=3).state
    before, after = jr.ratings(system, state), jr.ratings(system, state, time=10.0 + 70.0)
    np.testing.assert_allclose(after.deviation**2 - before.deviation**2, [2250.0, 2250.0, 0.0], rtol=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jr.elo(K=3), "elo has no parameter 'K'; did you mean 'k'"),
        (lambda: jr.elo(k=-1), "k must be >= 0, got -1"),
        (lambda: jr.elo(k=math.nan), "k must be >= 0, got nan"),
        (lambda: jr.elo(k=None), "k must be >= 0, got None"),
        (lambda: jr.elo(k_new=40), "k_new and new_games belong together"),
        (lambda: jr.glicko(initial_deviation=0), "initial_deviation must be > 0"),
        (lambda: jr.glicko(period="week"), "period must be a number, got 'week'"),
        (lambda: jr.glicko2(tau=math.inf), "tau must be > 0, got inf"),
        (lambda: jr.glicko(deviation_min=400), "deviation_min, initial_deviation and deviation_max must not decrease"),
        (lambda: jr.glicko(initial_deviation=351), "deviation_max must not decrease"),
        (lambda: jr.glicko2(volatility_max=0.01), "volatility_max must not decrease"),
    ],
)
def test_parameters_out_of_range(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@MOSTLY_SINGLE
def test_extreme_rows_stay_finite(x64):
    """Ratings a million points apart: probability zero and one, no information, and no NaN in value or slope."""
    matches = jax.tree.map(jnp.asarray, jr.matches([[0, 1]] * 3, [1.0, 0.0, 0.5]))
    for make in (jr.elo, jr.glicko, jr.glicko2):
        system = make()

        def loss(params, system=system):
            state, constants = system.init(params, 2), system.rules.prepare(params)
            state = state._replace(rating=state.rating + jnp.array([-5e5, 5e5]))

            def rate(match):
                rows = system.rules.advance(constants, state, match.time)
                after = system.rules.update(constants, rows, match, None)
                return jnp.sum(after.rating) + system.rules.predict(constants, rows, match)

            return jnp.sum(jax.vmap(rate)(matches))

        value, slope = quick(jax.value_and_grad(loss))(jax.tree.map(jnp.asarray, system.params))
        assert all(bool(jnp.isfinite(x)) for x in (value, *jax.tree.leaves(slope)))
