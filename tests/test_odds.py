"""Probabilities from odds, RPS and the calibration slope: against slow twins, worked examples, and bad input."""

import math

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.cli.benchmark import benchmark
from jaxrate.metrics.bookmaker_odds import ODDS_METHODS, probabilities_from_odds
from jaxrate.metrics.prediction_metrics import losses_by_match
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities
from tests.conftest import refused

# Odds


def root(function, low, high):
    """Where a falling function is 0, by halving."""
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return low


def slow_probabilities(odds, method):
    """One match, straight from the equations."""
    implied = [1.0 / x for x in odds]
    booksum = sum(implied)
    if method == "proportional":
        return [x / booksum for x in implied]
    if method == "power":
        power = root(lambda k: sum(x**k for x in implied) - 1.0, 0.0, 1e4)
        return [x**power for x in implied]

    def shin(z, x):
        return (math.sqrt(z * z + 4.0 * (1.0 - z) * x * x / booksum) - z) / (2.0 * (1.0 - z))

    insiders = root(lambda z: sum(shin(z, x) for x in implied) - 1.0, 0.0, 1.0 - 1e-9)
    return [shin(insiders, x) for x in implied]


@pytest.mark.parametrize("num_outcomes", [2, 3, 7])
@pytest.mark.parametrize("method", ODDS_METHODS)
def test_probabilities_from_odds_are_those_of_a_slow_twin(method, num_outcomes):
    rng = np.random.default_rng(num_outcomes)
    fair = rng.dirichlet(np.full(num_outcomes, 0.7), 200).clip(1e-3)
    odds = np.maximum(1.0 / (fair * rng.uniform(1.0, 1.15, (200, 1))), 1.0005)
    odds = odds[(1.0 / odds).sum(axis=1) > 1.0]
    found = probabilities_from_odds(odds, method=method)
    np.testing.assert_allclose(found, [slow_probabilities(row, method) for row in odds], rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


def test_odds_without_a_margin_are_inverted():
    p = np.array([[0.5, 0.3, 0.2], [0.9, 0.06, 0.04]])
    for method in ODDS_METHODS:
        np.testing.assert_allclose(probabilities_from_odds(1.0 / p, method=method), p, rtol=1e-7)


def test_two_outcomes_by_shin_share_the_margin_equally():
    """Jullien and Salanie 1994: with two outcomes Shin's probabilities are the inverse odds less half the margin."""
    odds = np.array([[1.3, 3.4], [1.9, 1.9], [1.02, 12.0]])
    implied = 1.0 / odds
    wanted = implied - 0.5 * (implied.sum(axis=1, keepdims=True) - 1.0)
    np.testing.assert_allclose(probabilities_from_odds(odds, method="shin"), wanted, rtol=1e-9)


def test_outsiders_bear_more_of_the_margin():
    odds = [[1.4, 4.5, 8.0]]
    plain, power, shin = (probabilities_from_odds(odds, method=x)[0] for x in ("proportional", "power", "shin"))
    assert power[0] > plain[0] and shin[0] > plain[0] and power[2] < plain[2] and shin[2] < plain[2]


def test_matches_without_odds_have_no_probabilities():
    found = probabilities_from_odds([[2.0, 2.0], [np.nan, 3.0], [4.0, 4 / 3]])
    np.testing.assert_allclose(found, [[0.5, 0.5], [np.nan, np.nan], [0.25, 0.75]], rtol=1e-12)
    assert probabilities_from_odds(np.empty((0, 3))).shape == (0, 3)
    below = probabilities_from_odds([[2.2, 2.2], [5.0, 1.4]])  # of the best of several bookmakers
    np.testing.assert_allclose(below.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("odds", "options", "message"),
    [
        ([[1.9, 1.0]], {}, "row 0 (counting from 0): odds are 1; decimal odds are above 1"),
        ([[1.9, 1.9], [-150, 130]], {}, "row 1 (counting from 0): odds are -150; decimal odds are above 1"),
        ([[1.9, math.inf]], {}, "odds are inf"),
        ([1.9, 1.9], {}, "odds must be [n, K], of two outcomes or more, got the shape (2,)"),
        ([[1.9]], {}, "got the shape (1, 1)"),
        ([["x", "y"]], {}, "odds"),
        ([[1.9, 1.9]], {"method": "powr"}, "unknown method of odds 'powr'; did you mean 'power'?"),
        ([[1.9, 1.9]], {"method": 3}, "method must be text, got 3"),
        ([[1.9, 1.9], [2.1, 2.1]], {"method": "shin"}, "row 1 (counting from 0): the inverse odds sum to 0.9524"),
    ],
)
def test_what_odds_refuse(odds, options, message):
    with refused(message):
        probabilities_from_odds(odds, **options)


# Three outcomes


def slow_rps(probabilities, score):
    """One match: the sum over thresholds of the squared error of the chance to be at or below them."""
    scores = [k / (len(probabilities) - 1) for k in range(len(probabilities))]
    total = 0.0
    for threshold in scores[:-1]:
        predicted = sum(p for p, s in zip(probabilities, scores, strict=True) if s <= threshold)
        total += (predicted - (score <= threshold)) ** 2
    return total / (len(probabilities) - 1)


@pytest.mark.parametrize("num_scores", [2, 3, 6])
def test_rps_is_that_of_a_slow_twin(num_scores):
    rng = np.random.default_rng(1)
    p, score = rng.dirichlet(np.ones(num_scores), 100), rng.integers(0, num_scores, 100) / (num_scores - 1)
    slow = np.array([slow_rps(*match) for match in zip(p, score, strict=True)])
    weight, mask = rng.uniform(0.5, 2.0, 100), np.arange(100) > 30
    assert jr.metrics.ranked_probability_score(p, score) == pytest.approx(slow.mean(), rel=1e-12)
    wanted = np.average(slow[mask], weights=weight[mask])
    found = jr.metrics.ranked_probability_score(p, score, weight=weight, mask=mask)
    assert found == pytest.approx(wanted, rel=1e-12)


def test_rps_of_a_worked_example():
    """Constantinou and Fenton 2012, table 1: home wins, predicted with 1, .9 and .8, and so on."""
    forecasts = {(1, 0, 0): 0.0, (0.9, 0.1, 0): 0.005, (0.8, 0.1, 0.1): 0.025, (0.5, 0.25, 0.25): 0.15625}
    for (win, draw, loss), wanted in forecasts.items():
        found = jr.metrics.ranked_probability_score([[loss, draw, win]], [1.0])
        assert found == pytest.approx(wanted, abs=1e-12)


def test_losses_of_outcomes_and_of_expected_scores_agree():
    """With two results the metrics are those of `match_metrics`; with three they are of all probabilities."""
    rng = np.random.default_rng(2)
    p, score = rng.uniform(0.05, 0.95, 50), rng.integers(0, 2, 50).astype(float)
    one, two = losses_by_match(p, score), losses_by_match(np.stack([1 - p, p], axis=1), score)
    metrics = jr.metrics.match_metrics(p, score)
    assert one.log_loss.mean() == pytest.approx(metrics["log loss"]) == two.log_loss.mean()
    assert one.brier_score.mean() == pytest.approx(metrics["Brier score"])
    np.testing.assert_allclose(two.brier_score, 2.0 * one.brier_score)
    assert one.accuracy.mean() == metrics["accuracy"] == two.accuracy.mean() and one.rps is None
    np.testing.assert_allclose(two.rps, one.brier_score)

    three = losses_by_match([[0.2, 0.3, 0.5], [0.4, 0.2, 0.4]], [0.5, 0.0])
    np.testing.assert_allclose(three.log_loss, -np.log([0.3, 0.4]))
    np.testing.assert_allclose(three.brier_score, [0.04 + 0.49 + 0.25, 0.36 + 0.04 + 0.16])
    np.testing.assert_allclose(three.accuracy, [0.0, 0.5])
    outlook = OutcomeProbabilities(
        np.array([[0.5, 0.2], [0.4, 0.4]]), np.array([[0.3, 0.3], [0.2, 0.2]]), np.ones((2, 2)), np.ones((2, 2))
    )
    for found, wanted in zip(losses_by_match(outlook, [0.5, 0.0]), three, strict=True):
        np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize(
    ("prediction", "score", "message"),
    [
        ([[0.5, 0.5], [0.6, 0.5]], [0, 1], "row 1 (counting from 0): the probabilities [0.6, 0.5] are not from 0 to 1"),
        ([[0.2, 0.3, 0.5]], [0.7], "score is 0.7, which is none of the 3 that are predicted"),
        ([[0.2, 0.3, 0.5]], [2.0], "score is 2"),
        ([[0.2, np.nan, 0.5]], [1.0], "prediction is nan"),
        ([[0.2, 0.3, 0.5]], [1.0, 0.0], "must be [n] alike"),
        ([0.5], [1.0], "prediction must be [n, K] probabilities of each score"),
    ],
)
def test_what_rps_refuses(prediction, score, message):
    with refused(message):
        jr.metrics.ranked_probability_score(prediction, score)


# Calibration slope


def slow_slope(p, score, weight):
    """The regression by a search that knows no derivatives."""
    from scipy.optimize import minimize

    x = np.log(p / (1.0 - p))

    def loss(coefficients):
        z = coefficients[0] + coefficients[1] * x
        return float(np.sum(weight * (np.logaddexp(0.0, z) - score * z)))

    options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000}
    return minimize(loss, [0.0, 1.0], method="Nelder-Mead", options=options).x[1]


def test_the_calibration_slope_is_that_of_a_slow_twin():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.02, 0.98, 400)
    score = np.where(rng.random(400) < 0.2, 0.5, rng.random(400) < p**1.5)
    weight = rng.uniform(0.5, 2.0, 400)
    found = jr.metrics.calibration_slope(p, score, weight=weight)
    assert found.slope == pytest.approx(slow_slope(p, score, weight), abs=1e-6)


def test_bold_predictions_have_a_slope_below_1():
    rng = np.random.default_rng(4)
    log_odds = rng.normal(0.0, 1.0, 40_000)
    score = (rng.random(40_000) < 1.0 / (1.0 + np.exp(-log_odds))).astype(float)
    for boldness in (0.5, 1.0, 2.0):
        found = jr.metrics.calibration_slope(1.0 / (1.0 + np.exp(-boldness * log_odds)), score)
        assert abs(found.slope - 1.0 / boldness) < 4.0 * found.error and found.error < 0.04 / boldness
    errors = [
        jr.metrics.calibration_slope(1.0 / (1.0 + np.exp(-x)), s)
        for x, s in zip(log_odds.reshape(200, 200), score.reshape(200, 200), strict=True)
    ]
    slopes, stated = np.array(errors).T
    assert np.std(slopes) == pytest.approx(np.mean(stated), rel=0.2)


def test_the_slope_of_tables_of_winners_and_losers():
    """Each match counts from both sides, and once in the error."""
    rng = np.random.default_rng(5)
    p = rng.uniform(0.1, 0.9, 2000)
    score = (rng.random(2000) < p).astype(float)
    either = jr.metrics.calibration_slope(np.concatenate([p, 1 - p]), np.concatenate([score, 1 - score]))
    winner_first = jr.metrics.calibration_slope(np.where(score == 1, p, 1 - p), np.ones(2000))
    assert winner_first.slope == pytest.approx(either.slope, abs=1e-9)
    assert winner_first.error == pytest.approx(np.sqrt(2.0) * either.error, rel=1e-6)


def test_predictions_that_say_nothing_have_no_slope():
    assert jr.metrics.calibration_slope([0.5] * 6, [1, 0, 1, 1, 0, 0]) == (None, None)
    assert jr.metrics.calibration_slope([0.2, 0.3, 0.7, 0.8], [0, 0, 1, 1]) == (None, None)
    with refused("prediction is 1.5"):
        jr.metrics.calibration_slope([1.5, 0.5], [1, 0])


def test_the_command_offers_all_methods():
    (option,) = (x for x in benchmark.params if x.name == "odds_method")
    assert tuple(option.type.choices) == ODDS_METHODS and option.default == ODDS_METHODS[0]
