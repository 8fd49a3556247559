"""States in which some begin with ratings of their own."""

import jax
import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import refused

NAMES = ["Ada", "Bo", "Cy"]


@pytest.mark.parametrize("name", jr.extend.SYSTEMS)
def test_some_begin_with_their_own(name):
    system = jr.extend.SYSTEMS[name]()
    usual = system.summary(system.params, system.init(system.params, 3))
    mean = 0.6 if name == "urnings" else float(usual.mean[0]) * 1.2
    if name == "blat_mmr":
        with refused("blat_mmr begins with a belief, not with a rating"):
            jr.history.initial_state(system, NAMES, rating={"Bo": mean})
        return
    state = jr.history.initial_state(system, NAMES, rating={"Bo": mean})
    found = system.summary(system.params, state)
    np.testing.assert_allclose(found.mean, [usual.mean[0], mean, usual.mean[0]], rtol=1e-6)
    field = "initial_proportion" if name == "urnings" else "initial_rating"
    want = system.init(system.params._replace(**{field: mean}), 3)
    for x, y in zip(jax.tree.leaves(state), jax.tree.leaves(want), strict=True):
        np.testing.assert_array_equal(x[1], y[1])
    if usual.deviation is None or name == "urnings":
        with refused(f"{name} has no deviation to begin with"):
            jr.history.initial_state(system, 3, deviation={0: 10.0})
        return
    half = float(usual.deviation[0]) / 2
    found = system.summary(system.params, jr.history.initial_state(system, 3, rating={1: mean}, deviation={2: half}))
    np.testing.assert_allclose(found.mean, [usual.mean[0], mean, usual.mean[0]], rtol=1e-6)
    np.testing.assert_allclose(found.deviation, [2 * half, 2 * half, half], rtol=1e-6)


def test_what_start_refuses():
    system = jr.glicko()
    for given, message in (
        ({"rating": {"Di": 1.0}}, "no player 'Di'"),
        ({"rating": {"Ada": np.nan}}, "initial_rating must be any number, got nan"),
        ({"deviation": {"Ada": np.inf}}, "initial_deviation must be > 0, got inf"),
        ({"deviation": {"Ada": 0.0}}, "initial_deviation must be > 0"),
        ({"deviation": {"Ada": 400.0}}, "must not decrease"),
        ({"rating": {"Ada": "high"}}, "initial_rating must be a number, got 'high'"),
        ({"rating": [1.0, 2.0, 3.0]}, "initial_state: rating must be a mapping of numbers"),
        ({"rating": {"Ada": 1.0, NAMES.index("Ada"): 2.0}}, "twice, by name and by id"),
    ):
        with refused(message):
            jr.history.initial_state(system, NAMES, **given)
    with refused("no player 3"):
        jr.history.initial_state(system, NAMES, rating={3: 1.0})
    with refused("players must be a number of players"):
        jr.history.initial_state(system, "Ada")


def test_a_run_goes_on_from_it():
    system, matches = jr.elo(), jr.matches([[0, 1]], [1.0])
    state = jr.history.initial_state(system, NAMES, rating={"Ada": 1900})
    assert jr.run(system, matches, state=state).prediction[0] > 0.9
    assert jr.live.start_history(system, NAMES, state).predict("Ada", "Bo") > 0.9
