"""BlatMMR with hyperparameters other than its own is the BlatMMR that is made for them."""

from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.system import replace_params
from jaxrate.systems.blat_mmr import settings
from jaxrate.systems.blat_mmr.settings import AlgorithmPreferences
from jaxrate.testing.cases import assert_close_leaves
from tests.conftest import MOSTLY_DOUBLE, draw_pairs, mark_full


def skew(d, *, tilt: float = 0.4, tail: Annotated[float, "positive"] = 1.5):
    """Strengths rise more often than they fall."""
    return jnp.exp(tilt * d - tail * jnp.abs(d) ** 1.5)


SIZE, HALF = 121, 4.9
GRID = dict(size=SIZE, half_width=HALF, kernel_width=0.2)
SYSTEMS = {
    "of a normal luck": dict(luck="thurstone_mosteller", beta=1.0),  # whose nodes luck makes more
    "of a function": dict(kernel=jr.extend.kernels.Kernel(skew)),
    "of two widths": dict(kernel=jr.extend.kernels.Kernel(weights=(0.9, 0.1), widths=(1.0, 2.0), edges="source")),
}
CASES = [
    pytest.param("of a normal luck", "temperature", 0.2, marks=pytest.mark.full),
    ("of a function", "tail", 2.6),
    ("of two widths", "kernel_width", 0.5),
]
CLOSE = {np.dtype(np.float32): 3e-5, np.dtype(np.float64): 1e-9}


def league(n=30, players=5):
    random = np.random.default_rng(1)
    a, b = draw_pairs(random, players, n).T
    return jr.matches(np.stack([a, b], 1), random.choice([0.0, 0.5, 1.0], n), side=random.integers(-1, 2, n))


MATCHES = league()


def other(system, name, value):
    return system.params._replace(**{name: value})


def close(actual, desired):
    desired = np.asarray(desired)
    limit = CLOSE[np.dtype(jnp.result_type(float))]
    np.testing.assert_allclose(actual, desired, rtol=limit, atol=limit)


@MOSTLY_DOUBLE
@pytest.mark.parametrize(("case", "name", "value"), CASES)
def test_other_values_predict_as_a_system_made_for_them(case, name, value, x64):
    system = jr.blat_mmr(**GRID | SYSTEMS[case])
    params = other(system, name, value)
    wanted = jr.run(replace_params(system, params), MATCHES, schedule="stream")
    got = jr.run(system, MATCHES, params=params, schedule="stream")
    close(got.prediction, wanted.prediction)
    close(got.state.belief, wanted.state.belief)


@pytest.mark.parametrize("name", mark_full(["kernel_width", "temperature"], "kernel_width"))
def test_sweeps_histories_and_predictions_hold_for_other_values(name):
    system, values = jr.blat_mmr(**GRID), np.array([0.9, 0.3])
    each = [other(system, name, x) for x in values]
    runs = [jr.history.rating_history(system, MATCHES, params=x) for x in each]
    losses = [jr.metrics.log_loss(x.prediction, MATCHES.score) for x in runs]
    close(jr.fitting.sweep_parameters(system, MATCHES, other(system, name, values)), losses)
    made = replace_params(system, each[0])
    wanted = jr.history.rating_history(made, MATCHES)
    close(runs[0].prediction, wanted.prediction)
    close(jr.predict(system, wanted.state, MATCHES, params=each[0]), jr.predict(made, wanted.state, MATCHES))


def test_few_sizes_are_compiled():
    system = jr.blat_mmr()
    rules = system.rules.with_sizes_for
    assert rules(system.params) == rules(jax.tree.map(jnp.asarray, system.params))
    assert rules(system.params) == rules(other(system, "prior_deviation", 1.0))
    for name, values in (("kernel_width", np.geomspace(0.03, 3.0, 50)), ("temperature", np.geomspace(0.1, 10.0, 20))):
        assert len({rules(other(system, name, x)) for x in values}) <= 6
        assert rules(other(system, name, values)) in {rules(other(system, name, x)) for x in values}
    own, near, wider = (rules(other(system, "kernel_width", np.array([x]))) for x in (0.03, 0.037, 0.045))
    assert own == near != wider  # the first steps of a fit keep the band that they begin with
    traced = []
    jax.eval_shape(lambda p: traced.append(rules(p)), system.params)
    assert traced[0].prepare.bound_args[1][:2] == ("fft", "fft")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("kernel_width", 0.05, "kernel_width must be at least 0.163333"),
        ("temperature", 0.0, "temperature must be > 0"),
    ],
)
def test_values_that_cannot_be_right_are_refused(name, value, message):
    system = jr.blat_mmr(**GRID)
    state, params = jr.run(system, MATCHES).state, other(system, name, value)
    for refused in (
        partial(jr.run, system),
        partial(jr.predict, system, state),
        partial(jr.history.rating_history, system),
    ):
        with pytest.raises(ValueError, match=message):
            refused(MATCHES, params=params)


# Which algorithms `auto` takes hangs on the device; what they calculate does not.

WAYS = {
    "band": AlgorithmPreferences(("low_rank", "fft", "naive"), 100, "fft"),
    "fft": AlgorithmPreferences(("fft", "naive", "low_rank"), 0, "fft"),
    "naive": AlgorithmPreferences(("naive", "low_rank", "fft"), 0, "naive"),
}


def test_auto_follows_them_and_the_numbers_stay(monkeypatch):
    matches = jr.matches(np.array([[0, 1], [1, 2], [2, 0]]), np.array([1.0, 0.5, 0.0]))
    found = {}
    for way, preferences in WAYS.items():
        monkeypatch.setitem(settings.PREFERENCES, "cpu", preferences)
        system = jr.blat_mmr(size=41, half_width=4.0, kernel_width=0.5)
        (model,) = system.rules.advance.bound_args
        assert (model.summing, model.spreading) == (preferences.sums[0], way)
        found[way] = jr.run(system, matches)
    for way in ("fft", "naive"):
        assert_close_leaves(way, found[way], found["band"], 2e-5)


def test_a_kernel_of_ones_own_width_has_no_matrix(monkeypatch):
    monkeypatch.setitem(settings.PREFERENCES, "cpu", WAYS["naive"])
    system = jr.blat_mmr(size=41, half_width=4.0, kernel="gaussian_by_time", kernel_width=0.5)
    assert system.rules.advance.bound_args[0].spreading == "fft"
