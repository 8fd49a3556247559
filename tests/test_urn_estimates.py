"""The two estimates of a proportion by which Urnings predicts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from tests.reference import urnings_twin as twin


def test_the_share_of_green_balls_predicts_as_the_paper_says(x64):
    """Equations 2 and A30 to A32 of r / n, of empty and full urns too, and of the largest."""
    weights, most = (1, 2.5, 1), 1 << 23
    size = np.array([100, 10, 10, 10, 3, most, most])
    pi = np.array([0.2, 0.3, 0.0, 1.0, 1.0, 1.0 - 1.0 / most, 0.5])
    state, system = jr.urns.make_urns(size, pi), jr.urnings(weights=weights, estimate="share")
    player = np.array([(a, b) for a in range(7) for b in range(7) if a != b])
    met = jr.matches(player, np.zeros(len(player)))
    equal = [pi[a] == pi[b] and pi[a] in (0, 1) for a, b in player]
    assert sum(equal) == 2
    known = np.where(np.array(equal)[:, None], 0.5, pi[player])
    wanted = [twin.observed(weights, *both) for both in known]
    levels = jr.predict(jr.forecasts.add_outcomes(system), state, met)
    np.testing.assert_allclose(levels, wanted, rtol=1e-11 if x64 else 1e-5, atol=0.0 if x64 else 1e-30)
    got = jr.predict(system, state, met)
    np.testing.assert_allclose(got, wanted @ np.arange(3) / 2, rtol=1e-11 if x64 else 1e-5, atol=1e-30)
    empty, full = (player[:, 0] == 2), (player[:, 0] == 3) & (pi[player[:, 1]] < 1)
    assert (np.asarray(got)[empty] == 0).all() and (np.asarray(got)[full] == 1).all()
    for one in (system, jr.urnings(weights=weights)):
        np.testing.assert_allclose(jr.ratings(one, state).mean, pi, rtol=1e-6)
    if x64:

        def some(weight):
            return jnp.sum(jr.predict(system, state, met, params=system.params._replace(draw_weight=weight)) ** 2)

        h = 1e-5
        assert abs(jax.grad(some)(1.5) - (some(1.5 + h) - some(1.5 - h)) / (2 * h)) < 1e-8
    with pytest.raises(ValueError, match="estimate must be mean or share, got 'median'"):
        jr.urnings(estimate="median")
