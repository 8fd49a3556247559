"""Fits of long histories: slopes by halves, and errors without the curvature."""

from collections import Counter
from functools import partial

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import slice_events
from tests.conftest import MOSTLY_SINGLE
from tests.test_fit import AHEAD, ERRORS, PROBLEM, SLOPE, league


def counted(monkeypatch, **options):
    """A fit from far away, and how often its losses and slopes were computed, and their curvature."""
    looks = Counter()
    with monkeypatch.context() as patch:
        for name in ("summed_losses_and_slopes", "summed_curvature"):
            patch.setattr(PROBLEM, name, partial(count_call, looks, name, getattr(PROBLEM, name)))
        return jr.fit(jr.elo(k=1.0), league(), **options), looks


def count_call(looks, name, function, *arguments):
    looks[name] += 1
    return function(*arguments)


def test_long_histories_are_fitted_as_short_ones_are(monkeypatch):
    """In double precision, which threads must be told of. The start is looked at once."""
    with jax.enable_x64(True):
        short, looks = counted(monkeypatch)
        monkeypatch.setattr(SLOPE, "LONG_HISTORY", 1)
        long, _ = counted(monkeypatch)
    np.testing.assert_allclose(long.loss_history, short.loss_history, rtol=1e-12)
    np.testing.assert_allclose(long.covariance, short.covariance, rtol=1e-6)
    assert len(short.loss_history) <= looks["summed_losses_and_slopes"] <= len(short.loss_history) + 3


def test_errors_come_from_products_where_curvature_would_take_minutes(monkeypatch):
    """The inverse of the sum of products of slopes, which the search has seen already."""
    monkeypatch.setattr(ERRORS, "MAX_HESSIAN_WORK", 3 * 600 - 1)
    with jax.enable_x64(True):
        found, looks = counted(monkeypatch)
        robust, curved = (
            jr.fit(found.system, league(), objective=AHEAD(errors=errors), steps=0)
            for errors in ("sandwich", "information")
        )
    assert found.objective.errors == "products" and looks["summed_curvature"] == 0
    middle = np.linalg.inv(curved.covariance) @ robust.covariance @ np.linalg.inv(curved.covariance)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(middle), rtol=1e-5)
    monkeypatch.setattr(ERRORS, "MAX_HESSIAN_WORK", 3 * 600)
    assert jr.fit(found.system, league(), steps=0).objective.errors == "information"


def test_the_search_ends_where_steps_are_worth_no_more_than_rounding():
    history = jr.fit(jr.elo(k=1.0), league()).loss_history  # in single precision
    noise = 4.0 * np.finfo(np.float32).eps * history[-1]
    assert (history[:-3] - history[2:-1] > noise).all() and history[0] - history[-1] > 0.01


@MOSTLY_SINGLE
def test_errors_are_those_of_curvature_where_variances_reach_their_bound(x64):
    """The loss has kinks there, of which differences of slopes make a curvature of any size."""
    matches = slice_events(jr.data.datasets.nfl().matches, 9000, 9200)
    best = jr.glicko(c=11.78, initial_deviation=145.3, deviation_max=145.3, side_advantage=91.589)
    found = jr.fit(best, matches, free=["c", "initial_deviation", "side_advantage"], steps=0)
    assert found.standard_error["side_advantage"] == pytest.approx(28.5, rel=0.01)
    assert found.standard_error["initial_deviation"] == pytest.approx(42.0, rel=0.03)  # c is open
