"""Pictures of fits."""

from functools import lru_cache

import numpy as np
import pytest
from matplotlib import pyplot
from scipy.stats import chi2

import jaxrate as jr
from jaxrate import plots
from tests.conftest import refused
from tests.test_plots import texts

pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")


# Fits


@lru_cache
def fitted():
    matches = jr.data.simulate.league(30, 1500, seed=3, side_advantage=60).matches
    return jr.fit(jr.elo(side_advantage=30), matches), matches


def test_loss_surface(ax):
    fit, matches = fitted()
    assert plots.loss_surface(fit, matches, points=7, ax=ax) is ax
    assert ax.get_xscale() == "log" and ax.get_yscale() == "linear"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("k (points)", "side advantage (points)")
    ellipse, optimum = ax.lines
    np.testing.assert_allclose(optimum.get_xydata()[0], [fit.params.k, fit.params.side_advantage])
    centre = np.array([np.log(fit.params.k), fit.params.side_advantage])
    scale = np.array([fit.params.k, 1.0])
    covariance = fit.covariance / scale / scale[:, None]
    off = np.stack([np.log(ellipse.get_xdata()), ellipse.get_ydata()], axis=-1) - centre
    distance = np.einsum("ni,ij,nj->n", off, np.linalg.inv(covariance), off)
    np.testing.assert_allclose(distance, chi2.ppf(0.95, 2), rtol=0.01)
    (contour,) = ax.collections
    assert list(contour.levels[:3]) == [1, 3, 6]
    three = contour.get_paths()[1].vertices[::5]
    k, side = np.clip(three.T, 1e-3, None)
    loss = jr.fitting.sweep_parameters(fit.system, matches, fit.params._replace(k=k, side_advantage=side))
    least = jr.fitting.sweep_parameters(fit.system, matches, fit.params)
    np.testing.assert_allclose(1500 * (loss - least), 3.0, atol=0.35)  # straight between the points of the grid


def test_loss_surface_is_of_what_was_fitted(ax):
    """The loss, the weights, the warm-up and the events that the fit remembers."""
    matches = fitted()[1]
    options = {"loss": "brier", "warm_up": 20, "weight": 1.0 + np.arange(1500) % 2}
    fit = jr.fit(jr.elo(side_advantage=30), matches, data_share=0.8, **options)
    plots.loss_surface(fit, matches, points=7, ax=ax)
    (contour,) = ax.collections
    k, side = contour.get_paths()[1].vertices[::5].T
    weight = jr.metrics.experience_mask(matches, 20) * options["weight"] * (np.arange(1500) < 1200)
    swept = jr.fitting.sweep_parameters(
        fit.system, matches, fit.params._replace(k=k, side_advantage=side), loss="brier", weight=weight
    )
    np.testing.assert_allclose(weight.sum() * (swept - fit.loss), contour.levels[1], rtol=0.15)
    assert ax.get_legend().get_title().get_text() == "summed brier above the fit's"


def test_loss_surface_of_any_pair_and_refusals(ax):
    fit, matches = fitted()
    with refused("'scale' was not fitted (those were k, side_advantage)"):
        plots.loss_surface(fit, matches, "scale", ax=ax)
    with refused("points must be at least 3"):
        plots.loss_surface(fit, matches, points=2, ax=ax)
    with refused("a surface needs two parameters"):
        plots.loss_surface(fit._replace(free=("k",)), matches, ax=ax)
    flat = fit._replace(covariance=np.full((2, 2), np.inf))
    plots.loss_surface(flat, matches, "side_advantage", points=3, ax=ax)
    assert ax.get_ylabel() == "k (points)" and len(ax.lines) == 1
    k = fit.params.k
    np.testing.assert_allclose(ax.get_ylim(), [k * np.exp(-2), k * np.exp(2)], rtol=1e-5)
    half, side = fit._replace(covariance=np.array([[np.inf, np.inf], [np.inf, 4.0]])), fit.params.side_advantage
    plots.loss_surface(half, matches, "side_advantage", points=3, ax=ax)
    np.testing.assert_allclose(ax.get_xlim(), [side - 6.0, side + 6.0], rtol=1e-5)


def test_bounds_move_on_a_surface(ax):
    """Glicko's largest deviation is the initial one, and goes with it."""
    matches = fitted()[1]
    system = jr.glicko(c=5.0)
    fit = fitted()[0]._replace(
        system=system, params=system.params, free=("c", "initial_deviation"), covariance=np.diag([1.0, 400.0])
    )
    plots.loss_surface(fit, matches, points=3, ax=ax)
    assert ax.get_ylim()[1] > system.params.deviation_max


def test_profile(ax):
    """Of losses that are a parabola in the logarithm, the interval is exact."""
    value = np.geomspace(8.0, 100.0, 9)
    loss = 0.6 + 0.5 * (np.log(value / 25.0) / 0.2) ** 2 / 1000
    profile = jr.fitting.LossProfile(value, loss, None, jr.glicko(), "c", 1000)
    assert plots.profile(profile, ax=ax) is ax
    low, high = 25.0 * np.exp(-1.96 * 0.2), 25.0 * np.exp(1.96 * 0.2)
    assert texts(ax) == [f"95%: {low:.4g} to {high:.4g}"]
    x, width = ax.patches[0].get_x(), ax.patches[0].get_width()
    np.testing.assert_allclose([x, x + width], [low, high])
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), 1000 * (loss - 0.6), atol=1e-9)
    assert ax.get_xscale() == "log" and ax.get_xlabel() == "c (points per sqrt(period))"
    ax.figure.canvas.draw()
    shown = [x.get_text() for x in ax.get_xticklabels() if 8.0 <= x.get_position()[0] <= 100.0]
    assert shown == ["10", "20", "50", "100"]


@pytest.mark.parametrize(
    ("name", "title"), [("initial_deviation", "Initial deviation fits best at 2"), ("c", "Best fit at c 2")]
)
def test_titles_of_profiles_begin_with_a_capital(name, title):
    value = np.array([1.0, 2.0, 4.0])
    loss = 0.6 + np.log(value / 2.0) ** 2
    figure = plots.profile(jr.fitting.LossProfile(value, loss, None, jr.glicko(), name, 1000)).figure
    assert figure.get_suptitle().strip() == title and figure.get_supxlabel() == "Data: 1,000 predictions"
    pyplot.close(figure)


def test_a_profile_of_what_is_no_likelihood_gives_no_interval(ax):
    value = np.geomspace(8.0, 100.0, 9)
    loss = 0.2 + 0.5 * (np.log(value / 25.0) / 0.2) ** 2 / 1000
    profile = jr.fitting.LossProfile(value, loss, None, jr.glicko(), "c", 1000, "brier", False)
    plots.profile(profile, ax=ax)
    assert ax.get_ylabel() == "summed excess brier" and not ax.patches and ax.get_legend() is None
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), 1000 * (loss - 0.2), atol=1e-9)


@pytest.mark.parametrize(
    ("ends", "said"), [((24, 60), "below 37"), ((8, 26), "above 16.89"), ((22, 28), "all of these")]
)
def test_a_profile_may_be_open(ax, ends, said):
    value = np.geomspace(*ends, 5)
    loss = 0.6 + 0.5 * (np.log(value / 25.0) / 0.2) ** 2 / 1000
    plots.profile(jr.fitting.LossProfile(value, loss, None, jr.glicko(), "c", 1000), ax=ax)
    assert texts(ax) == [f"95%: {said}"]


def test_profile_refuses(ax):
    profile = jr.fitting.LossProfile(
        np.array([1.0, 2.0, 3.0]), np.array([0.6, np.nan, 0.7]), None, jr.glicko(), "c", 10
    )
    with refused("three values with finite losses, got 2"):
        plots.profile(profile, ax=ax)
