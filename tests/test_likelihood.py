"""The log likelihood for samplers, losses of one's own, and fits that are given back."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.cli.fit import describe_fit, format_factory_call
from tests.conftest import MOSTLY_DOUBLE
from tests.test_fit import league

SYSTEM = jr.glicko(c=40, side_advantage=20)


@MOSTLY_DOUBLE
def test_the_log_likelihood_is_the_sum_of_logarithms(x64):
    matches = league()
    p = np.asarray(jr.run(SYSTEM, matches).prediction)
    want, rtol = (matches.score * np.log(p) + (1 - matches.score) * np.log1p(-p)).sum(), 1e-10 if x64 else 1e-5
    np.testing.assert_allclose(jr.fitting.log_likelihood(SYSTEM, matches), want, rtol=rtol)
    full = jr.forecasts.add_outcomes(jr.trueskill())
    draws = matches._replace(score=np.where(np.arange(600) % 5, matches.score, 0.5))
    said = jr.run(full, draws).prediction
    win, draw = np.asarray(said.win), np.asarray(said.draw)[:, 0]
    each = np.where(draws.score == 0.5, draw, np.where(draws.score == 1, win[:, 0], win[:, 1]))
    np.testing.assert_allclose(jr.fitting.log_likelihood(full, draws), np.log(each).sum(), rtol=rtol)


@MOSTLY_DOUBLE
def test_the_log_likelihood_goes_through_jit_grad_and_vmap(x64):
    matches = league()
    density = jax.jit(lambda c: jr.fitting.log_likelihood(SYSTEM, matches, SYSTEM.params._replace(c=c)))
    low, middle, high = (float(density(c)) for c in (39.99, 40.0, 40.01))
    np.testing.assert_allclose(jax.grad(density)(40.0), (high - low) / 0.02, rtol=1e-5 if x64 else 1e-2)
    np.testing.assert_allclose(jax.vmap(density)(jnp.array([39.99, 40.0])), [low, middle], rtol=1e-10 if x64 else 1e-5)
    other = float(jr.fitting.log_likelihood(SYSTEM, matches, SYSTEM.params._replace(c=39.99)))
    np.testing.assert_allclose(other, low, rtol=1e-10 if x64 else 1e-5)
    np.testing.assert_allclose(
        middle, -600 * jr.fitting.sweep_parameters(SYSTEM, matches, SYSTEM.params), rtol=1e-10 if x64 else 1e-5
    )


def test_the_log_likelihood_of_periods_and_of_a_fit(no_errors):
    matches = league()
    periods = jr.periods(matches, 7.0)
    want = -600 * jr.fitting.sweep_parameters(SYSTEM, periods, SYSTEM.params)
    np.testing.assert_allclose(jr.fitting.log_likelihood(SYSTEM, periods), want, rtol=1e-5)
    fit = jr.fit(SYSTEM, matches, free=("c",), data_share=0.5, steps=3)
    np.testing.assert_allclose(jr.fitting.log_likelihood(fit, matches), -300 * fit.loss, rtol=1e-5)


@pytest.mark.parametrize(
    ("system", "events", "options", "says"),
    [
        (jr.codeforces(), jr.rounds([0] * 3, [0, 1, 2], [1, 2, 3]), {}, "rounds have no likelihood.*give matches"),
        (jr.elo(), None, {"loss": "brier"}, "brier loss is no log likelihood; take log_loss"),
        (jr.elo(), None, {"loss": 3}, "log_likelihood: loss must be text or None, got 3"),
    ],
)
def test_what_has_no_likelihood_is_refused(system, events, options, says):
    with pytest.raises(ValueError, match=says):
        jr.fitting.log_likelihood(system, league() if events is None else events, **options)


def absolute(guess, score):
    return jnp.abs(guess - score)


def test_a_function_is_a_loss():
    matches = league()
    fit = jr.fit(jr.elo(), matches, free=("k",), loss=absolute, steps=5)
    p = np.asarray(jr.run(fit.system, matches).prediction)
    np.testing.assert_allclose(fit.loss, np.abs(p - matches.score).mean(), rtol=1e-5)
    assert fit.loss < fit.loss_history[0]
    np.testing.assert_allclose(
        jr.fitting.sweep_parameters(fit, matches, fit.params), fit.loss, rtol=1e-5
    )  # the fit remembers it


@pytest.mark.parametrize("loss", [lambda guess, score: jnp.mean(guess - score), lambda guess, score: guess[:, None]])
def test_a_loss_of_another_shape_is_refused(loss):
    with pytest.raises(ValueError, match=r"must give \[600\], a number for each prediction, got shape"):
        jr.fit(jr.elo(), league(), loss=loss)


@lru_cache
def fit_of_initial_deviation():
    return jr.fit(jr.glicko(), league(), free=("initial_deviation",))


def test_what_moved_is_shown_and_can_be_given_back():
    fit = fit_of_initial_deviation()
    assert fit.moved_bounds == ("deviation_max",)
    row = next(line for line in repr(fit).splitlines() if line.startswith("deviation_max"))
    assert row.split()[1:4] == [f"{fit.params.deviation_max:.5g}", "moved", "along"]
    again = eval(repr(fit.system), {"glicko": jr.glicko})
    assert again == fit.system
    without = jr.glicko(deviation_max=None, c=0.1 + 0.2)
    assert eval(repr(without), {"glicko": jr.glicko}) == without
    with pytest.raises(ValueError, match="must not decrease, got initial_deviation=532, deviation_max=350"):
        jr.glicko(initial_deviation=532)


@pytest.mark.parametrize("name", jr.extend.SYSTEMS)
def test_every_system_is_what_its_repr_makes(name):
    system = jr.extend.SYSTEMS[name]()
    assert eval(repr(system), {name: jr.extend.SYSTEMS[name]}) == system


def test_the_command_line_prints_the_call_that_gives_the_system_back():
    fit = fit_of_initial_deviation()
    assert "reversion" not in format_factory_call(fit.system) and "deviation_max=" in format_factory_call(fit.system)
    for system in (fit.system, jr.glicko(), jr.glicko(deviation_max=None), jr.trueskill(beta=1 / 3), jr.urnings(60, 3)):
        made = eval(format_factory_call(system), {"jr": jr})
        assert made.settings == system.settings  # and hyperparameters in 6 digits, which had 17
        for value, wanted in zip(made.params, system.params, strict=True):
            assert value == (wanted if wanted is None else pytest.approx(wanted, rel=1e-5))
    assert "beta=0.333333)" in format_factory_call(jr.trueskill(beta=1 / 3))
    assert format_factory_call(jr.forecasts.calibrate(jr.elo())) == ""  # no one call makes it
    assert "in Python: jr.glicko(" in describe_fit(fit)
