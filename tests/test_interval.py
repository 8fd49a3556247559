"""Intervals by the likelihood profile, of what is known, known on one side, or open, and of contests."""

import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import MOSTLY_DOUBLE
from tests.test_fit import league


@MOSTLY_DOUBLE
def test_an_interval_is_where_the_likelihood_ratio_says(x64):
    """One parameter: the ends are where twice the summed log loss has risen by 3.84."""
    matches = league()
    fit = jr.fit(jr.elo(), matches, free=("k",))
    found = jr.fitting.likelihood_interval(fit, matches, "k")
    ends = np.array([found.low, found.high])
    loss = jr.fitting.sweep_parameters(fit, matches, fit.params._replace(k=ends))
    np.testing.assert_allclose(2 * 600 * (loss - fit.loss), 3.8415, rtol=0.02 if x64 else 0.1)
    assert ends[0] < fit.params.k < ends[1] and not fit.open
    width = 1.96 * fit.standard_error["k"] / fit.params.k
    np.testing.assert_allclose(np.log(ends / fit.params.k), [-width, width], rtol=0.4)
    assert repr(found) == f"k: {found.low:.4g} to {found.high:.4g} points with 95% confidence"
    narrow = jr.fitting.likelihood_interval(fit, matches, "k", level=0.5)
    assert ends[0] < narrow.low < fit.params.k < narrow.high < ends[1]


def test_others_are_fitted_anew_for_as_many_values_at_a_time(monkeypatch):
    """Each number of values was compiled anew: three or four programs for one interval."""
    sizes, profile_loss = set(), jr.fitting.profile_loss

    def note_size(fit, events, name, values):
        sizes.add(len(values))
        return profile_loss(fit, events, name, values)

    monkeypatch.setattr("jaxrate.fitting.profile_intervals.profile_loss", note_size)
    matches = league()
    fit = jr.fit(jr.elo(k=20), matches, free=("k", "side_advantage"))
    found = jr.fitting.likelihood_interval(fit, matches, "side_advantage")
    error = fit.standard_error["side_advantage"]
    np.testing.assert_allclose(
        [found.low, found.high], fit.params.side_advantage + 1.96 * error * np.array([-1, 1]), rtol=0.1
    )
    assert np.ptp(found.profile.params.k) > 0 and len(sizes) == 1
    assert (np.diff(found.profile.value) > 0).all() and found.profile.loss.shape == found.profile.value.shape


def test_what_is_bounded_from_above_alone_says_so():
    """Who won loses next: it is best to learn nothing, and ever smaller factors are as good, but large ones are worse.

    A fit is flat and leaves k open.
    """
    n = 600
    player = np.array([0, 1]) + 2 * (np.arange(n)[:, None] // 2 % 15)
    matches = jr.matches(player, np.arange(n) % 2)
    fit = jr.fit(jr.elo(), matches, free=("k",))
    assert fit.open == ("k",) and "likelihood_interval says how far" in repr(fit)
    assert (fit.converged, fit.reason) == (False, "flat") and fit.standard_error["k"] == np.inf
    assert 0 < fit.params.k < 0.1 and abs(fit.loss - np.log(2)) < 1e-5
    found = jr.fitting.likelihood_interval(fit, matches, "k")
    assert found.low == -np.inf and 0.1 < found.high < 30
    assert repr(found).startswith(f"k: at most {found.high:.4g} points with 95% confidence; no value down to")
    loss = jr.fitting.sweep_parameters(fit, matches, fit.params._replace(k=found.high))
    np.testing.assert_allclose(2 * n * (loss - fit.loss), 3.84, rtol=0.25)


@pytest.mark.full
def test_intervals_of_contests_are_by_their_variance():
    """About as wide as the standard errors of the sandwich, and wider or narrower than those of a likelihood."""
    rounds = jr.data.simulate.contests(30, 60, size=8, spread=200, noise=200, seed=3)[0]
    fit = jr.fit(jr.elo_mmx(), rounds, free=("limit_deviation",))
    found = jr.fitting.likelihood_interval(fit, rounds, "limit_deviation")
    assert not found.profile.likelihood
    width = 1.96 * fit.standard_error["limit_deviation"] / fit.params.limit_deviation
    np.testing.assert_allclose(np.log([found.high / found.low]), 2 * width, rtol=0.5)


def test_bad_intervals_are_refused():
    fit = jr.fit(jr.elo(), league(), free=("k",), steps=1)
    with pytest.raises(ValueError, match=r"'scale' was not fitted \(those were k\)"):
        jr.fitting.likelihood_interval(fit, league(), "scale")
    with pytest.raises(ValueError, match="level must be above 0 and below 1, got 95"):
        jr.fitting.likelihood_interval(fit, league(), "k", level=95)
