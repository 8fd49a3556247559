"""Fits of long histories: slopes by halves, steps tried without them, and errors without the curvature."""

from collections import Counter
from functools import lru_cache
from importlib import import_module

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import slice_events
from tests.conftest import MOSTLY_SINGLE

PROBLEM, SEARCH, SLOPE = (
    import_module(f"jaxrate.fitting.{name}")
    for name in ("fit_problem", "multistart_search", "history_loss_derivatives")
)


@lru_cache
def league():
    return jr.data.simulate.league(30, 600, seed=3, drift=10.0, side_advantage=60, draws=0.2).matches


def counted(monkeypatch, **options):
    """A fit from far away, and how often what was looked at."""
    looks, evaluate = Counter(), PROBLEM.mean_loss_derivatives

    def look(problem, what, *rest):
        looks[what] += 1
        return evaluate(problem, what, *rest)

    with monkeypatch.context() as patch:
        for module in (PROBLEM, SEARCH):
            patch.setattr(module, "mean_loss_derivatives", look)
        return jr.fit(jr.elo(k=1.0), league(), **options), looks


def test_long_histories_are_fitted_as_short_ones_are(monkeypatch):
    """In double precision, which threads must be told of. Every step that is taken takes one look with slopes."""
    with jax.enable_x64(True):
        short, every = counted(monkeypatch)
        monkeypatch.setattr(SLOPE, "LONG_HISTORY", 1)
        monkeypatch.setattr(SEARCH, "LONG_HISTORY", 1)
        monkeypatch.setattr(SEARCH, "MIN_TRIAL_PARAMETERS", 1)
        long, looks = counted(monkeypatch)
    np.testing.assert_allclose(long.loss_history, short.loss_history, rtol=1e-12)
    np.testing.assert_allclose(long.covariance, short.covariance, rtol=1e-6)
    steps = len(short.loss_history) - 1
    assert looks["forward"] == 1 + steps < every["forward"]  # the start is looked at once, and some steps are too long
    assert looks["values"] == every["forward"] - 1 and every["values"] == 0


def test_errors_come_from_products_where_curvature_would_take_minutes(monkeypatch):
    """The inverse of the sum of products of slopes, which the search has seen already."""
    monkeypatch.setattr(PROBLEM, "MAX_HESSIAN_WORK", 3 * 600 - 1)
    with jax.enable_x64(True):
        found, looks = counted(monkeypatch)
        robust = jr.fit(found.system, league(), errors="sandwich", steps=0)
        curved = jr.fit(found.system, league(), errors="information", steps=0)
    assert found.options.errors == "products" and looks["hessian"] == 0
    middle = np.linalg.inv(curved.covariance) @ robust.covariance @ np.linalg.inv(curved.covariance)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(middle), rtol=1e-5)
    monkeypatch.setattr(PROBLEM, "MAX_HESSIAN_WORK", 3 * 600)
    assert jr.fit(found.system, league(), steps=0).options.errors == "information"


def test_the_search_ends_where_steps_are_worth_no_more_than_rounding():
    history = jr.fit(jr.elo(k=1.0), league()).loss_history  # in single precision
    noise = 4.0 * np.finfo(np.float32).eps * history[-1]
    assert (history[:-3] - history[2:-1] > noise).all() and history[0] - history[-1] > 0.01


@MOSTLY_SINGLE
def test_errors_are_those_of_curvature_where_variances_reach_their_bound(x64):
    """The loss has kinks there, of which differences of slopes make a curvature of any size."""
    matches = slice_events(jr.data.datasets.nfl().matches, 9000, 9200)
    found = jr.fit(jr.glicko(), matches, free=["c", "initial_deviation", "side_advantage"])
    assert found.standard_error["side_advantage"] == pytest.approx(28.5, rel=0.01)
    assert found.standard_error["initial_deviation"] == pytest.approx(42.0, rel=0.03)  # c is open
