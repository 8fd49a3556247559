"""The best parameters: found by searches, with bounds, errors and an end."""

import math

import jax
import numpy as np
import optax
import pytest
from scipy.optimize import minimize

import jaxrate as jr
from tests.test_fit import ERRORS, PROBLEM, SEARCH, SLOPE, contests, fitted, league, predicted, shares, small
from tests.test_fit import unprepared as problem_of


def test_the_best_is_that_of_scipy():
    system, matches, fit = jr.elo(), league(), fitted()
    with jax.enable_x64(True):

        def loss(x):
            guess = predicted(system, matches, k=np.exp(x[0]), side_advantage=x[1])
            return jr.metrics.log_loss(guess, matches.score)

        best = minimize(loss, [3.0, 30.0], method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-12})
        np.testing.assert_allclose(fit.loss_history[0], loss([math.log(32.0), 0.0]), rtol=1e-12)
    assert fit.free == ("k", "side_advantage") and fit.idle == ()
    np.testing.assert_allclose(fit.loss, best.fun, rtol=1e-9)
    np.testing.assert_allclose([math.log(fit.params.k), fit.params.side_advantage], best.x, rtol=1e-3)
    assert fit.converged and fit.reason == "gradient" and fit.seconds > 0
    assert fit.loss_history[-1] == fit.loss and fit.held_out is None
    assert fit.system.params == fit.params and fit.params.scale == 400.0
    np.testing.assert_allclose(fit.unconstrained["k"], math.log(fit.params.k))


def test_standard_errors_follow_from_curvature_and_from_single_slopes(monkeypatch):
    """By differences of the losses of single matches, in the parameters themselves."""
    system, matches, fit = jr.elo(), league(), fitted()
    with jax.enable_x64(True):
        at, h = np.array([fit.params.k, fit.params.side_advantage]), np.array([1e-2, 1e-2])

        def losses(x):
            p = predicted(system, matches, k=x[0], side_advantage=x[1])
            return -matches.score * np.log(p) - (1 - matches.score) * np.log1p(-p)

        step = np.diag(h)
        slopes = np.stack([(losses(at + d) - losses(at - d)) / (2 * d.sum()) for d in step], axis=1)
        hessian = np.empty((2, 2))
        for i in range(2):
            for j in range(2):
                corners = [losses(at + a * step[i] + b * step[j]).sum() * a * b for a in (1, -1) for b in (1, -1)]
                hessian[i, j] = sum(corners) / (4 * h[i] * h[j])
    covariance = np.linalg.inv(hessian)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=2e-3)
    np.testing.assert_allclose(fit.standard_error["k"] ** 2, covariance[0, 0], rtol=2e-3)
    robust = fitted("sandwich")
    np.testing.assert_allclose(robust.covariance, covariance @ slopes.T @ slopes @ covariance, rtol=2e-3)
    with jax.enable_x64(False):
        single = jr.fit(system, league())
    np.testing.assert_allclose(single.params.k, fit.params.k, rtol=1e-3)
    np.testing.assert_allclose(single.covariance, fit.covariance, rtol=1e-2)
    with jax.enable_x64(True):
        monkeypatch.setattr(SLOPE, "BATCH_MEMORY", 1)  # one pair of parameters at a time
        in_parts = jr.fit(fit.system, matches, steps=0)
    np.testing.assert_allclose(in_parts.covariance, fit.covariance, rtol=1e-9)


def covariance_of(monkeypatch, problem, curvature, product=None):
    """The covariance of the hyperparameters at the start, where the mean loss has these second slopes."""
    monkeypatch.setattr(ERRORS, "mean_curvature", lambda *_: np.array(curvature))
    size = len(problem.active)
    product = np.eye(size) if product is None else product
    return ERRORS.estimate_errors(problem, SEARCH.SearchPoint(problem.start, 0.6, np.zeros(size), product, True))[0]


CURVED = {  # of a logarithm and of points, 600 events
    "one open": ([[1e-5, 0.0], [0.0, 0.04]], [True, False]),
    "one open, with some effect on the other": ([[1e-5, 1e-4], [1e-4, 0.04]], [True, False]),
    "curved downwards": ([[-1e-3, 0.0], [0.0, 0.04]], [True, False]),
    "one for the other": ([[0.04, 0.04], [0.04, 0.04]], [True, True]),
    "one that may be 350 times as large": ([[1.85e-4, 0.0], [0.0, 0.04]], [True, False]),
    "none": ([[0.04, 0.01], [0.01, 0.04]], [False, False]),
    "not a number": ([[np.nan, 0.0], [0.0, 0.04]], [True, True]),
    "hidden by rounding": ([[1e8, 10050.0], [10050.0, 1.0]], [True, True]),
    "a factor of 45 to either side": ([[1.9**-2 / 600, 0.0], [0.0, 0.04]], [False, False]),
    "a factor of 61 to either side": ([[2.1**-2 / 600, 0.0], [0.0, 0.04]], [True, False]),
    "points that may be any number": ([[0.04, 0.0], [0.0, 4.1**-2 / 600]], [False, False]),
}


@pytest.mark.parametrize("errors", ["information", "sandwich"])
@pytest.mark.parametrize("name", CURVED)
def test_errors_come_from_what_the_curvature_tells(monkeypatch, name, errors):
    """Of points, counted in units of 30: what is known has the error that it has alone, or of the full inverse."""
    system, (curvature, is_open) = jr.elo(side_advantage=7.0), CURVED[name]
    problem = problem_of(system, league(), ("k", "side_advantage"), errors=errors)
    product = np.array([[0.03, 0.01], [0.01, 0.09]]) if "factor" not in name else np.array(curvature)
    found = covariance_of(monkeypatch, problem, curvature, product)
    assert np.isinf(np.diag(found)).tolist() == is_open
    known = ~np.array(is_open)
    inverse = np.linalg.inv(np.array(curvature)[np.ix_(known, known)])
    want = (inverse @ product[np.ix_(known, known)] @ inverse if errors == "sandwich" else inverse) / 600
    unit = np.array([system.params.k, 30.0])[known]
    np.testing.assert_allclose(found[np.ix_(known, known)], want * unit * unit[:, None], rtol=0.03)


def test_errors_of_a_bound_are_those_of_what_it_bounds_as_well(monkeypatch):
    """Two parameters of which one moves the other: J C J', with J by differences."""
    names, curvature = ("initial_deviation", "deviation_max"), np.array([[3.0, 1.0], [1.0, 2.0]])
    problem = problem_of(jr.glicko(initial_deviation=300, deviation_max=400), league(), names, errors="information")
    with jax.enable_x64(True):
        found = covariance_of(monkeypatch, problem, curvature)
        around = problem.start + 1e-6 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
        ends = PROBLEM.params_at(problem, around, problem.system.params)
    jacobian = np.array([[y[0] - y[1], y[2] - y[3]] for y in (ends.initial_deviation, ends.deviation_max)]) / 2e-6
    assert abs(jacobian[1]).min() > 1.0 and jacobian[0, 1] == 0.0
    np.testing.assert_allclose(found, jacobian @ np.linalg.inv(curvature) @ jacobian.T / 600, rtol=1e-6)


def test_what_goes_with_what_is_open_is_open(monkeypatch):
    """A bound, in points, is a share above a parameter of which nothing is known."""
    names = "initial_deviation", "deviation_max", "c"
    problem = problem_of(jr.glicko(initial_deviation=300, deviation_max=400), league(), names, errors="information")
    found = covariance_of(monkeypatch, problem, np.diag([1e-6, 1.0, 1.0]))
    assert np.isinf(np.diag(found)).tolist() == [True, True, False]


def test_errors_of_rounds_take_a_contest_as_one():
    """The products of slopes are of sums over contests."""
    with jax.enable_x64(True):
        rounds = contests()
        fit = jr.fit(small(k=120.0), rounds, free=("k",))
        share, ranks = shares(rounds)

        def losses(k):
            p = predicted(fit.system, rounds, k=k)
            return np.where(ranks, -share * np.log(p) - (1 - share) * np.log1p(-p), 0.0)

        best, h = fit.params.k, 1e-2
        high, here, low = losses(best + h), losses(best), losses(best - h)
        by_contest = np.add.reduceat((high - low) / (2 * h), rounds.player_start[:-1])
        curvature = (high - 2 * here + low).sum() / h**2
    np.testing.assert_allclose(fit.standard_error["k"], np.sqrt((by_contest**2).sum()) / curvature, rtol=1e-3)


def test_an_optimiser_leads_to_the_same(no_errors):
    fit = jr.fit(jr.elo(), league(), optimizer=optax.adam(0.1), steps=60)
    np.testing.assert_allclose(fit.loss, fitted("products").loss, rtol=1e-5)
    np.testing.assert_allclose(fit.params.k, fitted("products").params.k, rtol=0.02)


def test_several_starts_agree(no_errors):
    fit = jr.fit(jr.elo(), league(), starts=3)
    np.testing.assert_allclose(fit.loss, fitted("products").loss, rtol=1e-6)
    far = jr.fit(jr.elo(k=800), league(), starts=3, steps=1)
    assert far.loss < jr.fit(jr.elo(k=800), league(), steps=1).loss  # another start won


def test_bounds_go_with_what_they_bound(no_errors):
    tight = jr.glicko(initial_deviation=30, deviation_max=31)
    passed = jr.fit(tight, league(), free=("initial_deviation",)).params
    assert passed.deviation_max == passed.initial_deviation > 31


@pytest.mark.full
def test_bounds_are_fitted_with_what_they_bound(no_errors):
    fit = jr.fit(jr.glicko(), league(), free=("initial_deviation",))
    assert fit.params.deviation_max == fit.params.initial_deviation != 350
    both = jr.fit(jr.glicko(c=90, deviation_max=400), league(), free=("initial_deviation", "deviation_max")).params
    assert both.deviation_max > both.initial_deviation


def test_parameters_that_change_nothing_are_left_out(no_errors):
    still = league()._replace(time=np.zeros(600))
    fit = jr.fit(jr.glicko(), still)
    assert fit.free == ("initial_deviation", "side_advantage") and fit.idle == ("c",)
    assert fit.params.c == 15.0 and len(fit.covariance) == 2


def test_a_dataset_is_its_events():
    matches, system = league(), jr.elo()
    data = jr.data.Dataset(matches, np.arange(30), np.arange(600))
    assert jr.fitting.sweep_parameters(system, data, system.params) == jr.fitting.sweep_parameters(
        system, matches, system.params
    )


# When to stop


def test_diverging_steps_return_the_best_point(no_errors):
    fit = jr.fit(jr.elo(), league(), optimizer=optax.sgd(3e3), steps=5)
    assert fit.reason == "diverged" and not fit.converged
    assert fit.loss == fit.loss_history.min() and all(map(np.isfinite, (fit.params.k, fit.params.side_advantage)))
    assert jr.fit(jr.elo(), league(), steps=1).reason == "steps"


def leaps(seed):
    """Matches of sixteen players, of whom one leaps by 600 points now and then."""
    random = np.random.default_rng(seed)
    strength, pairs, scores = random.normal(0.0, 150.0, 16), [], []
    for _ in range(800):
        if random.random() < 0.01:
            strength[random.integers(16)] += random.choice([-1.0, 1.0]) * 600.0
        a, b = random.choice(16, 2, replace=False)
        pairs.append((a, b))
        scores.append(float(random.random() < 1.0 / (1.0 + 10.0 ** ((strength[b] - strength[a]) / 400.0))))
    return jr.matches(np.array(pairs), np.array(scores), np.linspace(0.0, 2000.0, 800))


def test_a_prior_keeps_tau_from_growing_where_a_history_says_little_of_it():
    """The best is that of losses and prior together: slopes of the summed losses, by differences, are its pull.

    The likelihood alone is greatest at a tau of 4.8, and does not know it within 1.4. Below 0.6 nothing pulls.
    """
    with jax.enable_x64(True):
        fit = jr.fit(jr.glicko2(), leaps(2), free=("tau", "initial_volatility"))
        assert 0.65 < fit.params.tau < 2.4 and fit.standard_error["tau"] < math.inf

        def total(log_tau):
            guess = predicted(fit.system, leaps(2), tau=math.exp(log_tau))
            return 800 * jr.metrics.log_loss(guess, leaps(2).score)

        best = math.log(fit.params.tau)
        pull = (total(best + 1e-3) - total(best - 1e-3)) / 2e-3
        small = jr.fit(jr.glicko2(), leaps(1), free=("tau", "initial_volatility"))
        assert small.params.tau < 0.3 and small.loss_history[-1] == pytest.approx(small.loss, abs=1e-12)
    np.testing.assert_allclose(pull, -(best - math.log(0.6)) / math.log(4.0) ** 2, atol=2e-3)
    np.testing.assert_allclose(fit.loss, total(best) / 800, rtol=1e-6)


def test_what_is_found_reads_well():
    system, history = jr.glicko(c=12.3456, side_advantage=33), np.array([0.7, 0.65, 0.66])
    errors, none = {"c": 0.55, "side_advantage": np.inf}, np.zeros((2, 2))
    found = jr.fitting.Fit(system, system.params, tuple(errors), ("initial_deviation",), {}, 0.65, history,
                           errors, none, True, "steps", 1.0)  # fmt: skip
    assert repr(found).splitlines() == [
        "glicko after 2 steps (steps): loss 0.70000 at the start, 0.65000 now",
        "of no effect here: initial_deviation",
        "hyperparameter  fitted  standard error  unit",
        "c               12.346            0.55  points per sqrt(period)",
        "side_advantage      33             inf  points",
    ]
    assert "0.65000 now<br>" in found._repr_html_() and "<td" in found._repr_html_()
    profile = jr.fitting.LossProfile(np.array([1.0, 2.0]), np.array([0.5, np.nan]), None, system, "c", 600.0)
    assert repr(profile).splitlines() == [
        "glicko by c (points per sqrt(period)), all others fitted anew: 2 values, the least loss 0.50000 at 1",
        "c     loss  sum above the least",
        "1  0.50000                 0.00",
        "2      nan                  nan",
    ]
    many = profile._replace(value=np.arange(20.0), loss=np.full(20, 0.5))
    assert len(repr(many).splitlines()) == 1 and "20 values" in repr(many)
    rolled = jr.fitting.RollingFits(None, np.array([0.6]), np.array([0.65]), np.array([300]))
    assert repr(rolled).splitlines()[1].split() == ["1", "300", "0.65000", "0.60000", "-0.05000"]
