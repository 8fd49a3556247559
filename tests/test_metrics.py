"""Metrics against values worked out by hand."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq, minimize

import jaxrate as jr
from jaxrate.metrics import accuracy, brier_score, calibration, compare_log_loss, experience_mask, log_loss
from jaxrate.metrics.bookmaker_odds import ODDS_METHODS, probabilities_from_odds
from jaxrate.metrics.prediction_metrics import losses_by_match
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities
from tests.conftest import refused
from tests.reference import urnings_twin as twin

PREDICTION, SCORE = [0.8, 0.4, 0.5], [1.0, 1.0, 0.5]
METRICS = [log_loss, brier_score, accuracy, calibration]


@pytest.mark.parametrize(
    ("metric", "prediction", "score", "wanted"),
    [
        (log_loss, PREDICTION, SCORE, -(math.log(0.8) + math.log(0.4) + math.log(0.5)) / 3),
        (log_loss, [0.8], [0.0], -math.log(0.2)),
        (log_loss, [0.8], [0.5], -0.5 * (math.log(0.8) + math.log(0.2))),
        (brier_score, PREDICTION, SCORE, (0.04 + 0.36 + 0.0) / 3),
        (brier_score, [0.8], [0.0], 0.64),
        (brier_score, [0.8], [0.5], 0.09),
        (accuracy, [0.8, 0.4, 0.1, 0.9], [1, 1, 0, 0], 0.5),
        (accuracy, [0.8, 0.4, 0.1], [1, 0, 0], 1.0),
        (accuracy, [0.8, 0.2], [0.5, 0.5], 0.5),  # a draw is half a win for either
        *((accuracy, [0.5, 0.9], [score, 1.0], 0.75) for score in (0.0, 0.5, 1.0)),  # equal chances count half
    ],
)
def test_by_hand(metric, prediction, score, wanted):
    assert metric(prediction, score) == pytest.approx(wanted, rel=1e-14)


def test_a_difference_is_that_of_each_match():
    each = [math.log(0.6 / 0.8), math.log(0.7 / 0.4), 0.0]
    mean = sum(each) / 3
    error = math.sqrt(sum((x - mean) ** 2 for x in each) / 2 / 3)
    for weight in (None, [2, 2, 2]):
        found = compare_log_loss(PREDICTION, [0.6, 0.7, 0.5], SCORE, weight=weight)
        assert found == pytest.approx((mean, error), rel=1e-12)
    masked = compare_log_loss(PREDICTION, [0.6, 0.7, 0.5], SCORE, mask=np.array([True, False, False]))
    assert masked.difference == pytest.approx(each[0]) and masked.error is None


@pytest.mark.parametrize("metric", METRICS[:3])
def test_a_weight_counts_matches(metric):
    weighted = metric(PREDICTION, SCORE, weight=[1, 3, 2])
    repeated = metric([0.8, 0.4, 0.4, 0.4, 0.5, 0.5], [1, 1, 1, 1, 0.5, 0.5])
    assert weighted == pytest.approx(repeated, rel=1e-14)
    assert weighted != pytest.approx(metric(PREDICTION, SCORE))
    assert metric(PREDICTION, SCORE, weight=[1, 0, 0]) == pytest.approx(metric([0.8], [1.0]), rel=1e-14)


@pytest.mark.parametrize("metric", METRICS[:3])
def test_a_mask_leaves_matches_out_with_all_that_is_wrong_in_them(metric):
    masked = metric([0.8, math.nan, 0.5], [1, 7, 0.5], weight=[1, -1, 2], mask=[True, False, True])
    assert masked == metric([0.8, 0.5], [1, 0.5], weight=[1, 2])


def test_certain_predictions_cost_no_more_than_the_precision_allows():
    for dtype, margin in ((np.float64, 1e-15), (np.float32, 2.0**-24)):
        wrong = log_loss(np.array([0, 1], dtype), [1, 0])
        assert wrong == pytest.approx(-math.log(margin), rel=1e-3)
        assert log_loss(np.array([0, 1], dtype), [0, 1]) == pytest.approx(margin, rel=0.2)
    assert math.isfinite(log_loss(jnp.array([0.0, 1.0]), [1, 0]))


def test_calibration_by_hand():
    result = calibration([0.1, 0.2, 0.3, 0.9, 1.0, 0.5], [0, 0, 1, 1, 0.5, 1], bins=2, weight=[1, 1, 1, 1, 1, 2])
    np.testing.assert_allclose(result.predicted, [0.6 / 3, 2.9 / 4])
    np.testing.assert_allclose(result.observed, [1 / 3, 3.5 / 4])
    np.testing.assert_array_equal(result.weight, [3, 4])
    assert result.error == pytest.approx((3 * (1 / 3 - 0.2) + 4 * (3.5 / 4 - 2.9 / 4)) / 7, rel=1e-12)


def test_bins_are_closed_below_and_the_last_one_above():
    result = calibration([0.0, 0.25, 0.5, 0.75, 1.0], [0, 0, 0, 0, 0], bins=4)
    assert result.weight.tolist() == [1, 1, 1, 2]


def test_an_empty_bin_is_nan_and_adds_no_error():
    result = calibration([0.05, 0.95], [0, 1])
    assert result.weight.tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert np.isnan(result.predicted[1:9]).all() and np.isnan(result.observed[1:9]).all()
    assert result.error == pytest.approx(0.05, rel=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prediction": [0.8, math.nan, 0.5]}, "row 1 (counting from 0): prediction is nan"),
        ({"prediction": [0.8, 0.5, 1.25]}, "row 2 (counting from 0): prediction is 1.25"),
        ({"prediction": [0.1, 0.2]}, "must be [n] alike, got (2,), (3,), (2,) and (2,)"),
        ({"score": [1, 0, math.nan]}, "row 2 (counting from 0): score is nan"),
        ({"score": [1, 2, 0]}, "row 1 (counting from 0): score is 2.0"),
        ({"weight": [1, -1, 1]}, "row 1 (counting from 0): weight is -1.0"),
        ({"mask": [True, False]}, "must be [n] alike, got (3,), (3,), (3,) and (2,)"),
        ({"mask": [1, 0, 1]}, "mask must be boolean, got int64"),
        ({"mask": [False] * 3}, "no matches to score"),
        ({"weight": [0, 0, 0]}, "no matches to score"),
    ],
)
def test_bad_columns_are_refused(metric, change, message):
    with refused(message):
        metric(**{"prediction": PREDICTION, "score": SCORE, **change})


def test_under_a_mask_the_row_is_that_of_the_input():
    mask = [False, False, True, False, True, True]
    with refused("row 4 (counting from 0): prediction is nan"):
        brier_score([math.nan, 0.5, 0.5, 0.5, math.nan, math.nan], [0] * 6, mask=mask)


pairs = st.tuples(st.integers(0, 7), st.integers(1, 7)).map(lambda x: (x[0], (x[0] + x[1]) % 8))


@settings(deadline=None, database=None)
@given(st.lists(pairs, max_size=40), st.integers(0, 5))
def test_seen_equals_a_slow_twin(players, games):
    played, wanted = [0] * 8, []
    for a, b in players:
        wanted.append(played[a] >= games and played[b] >= games)
        played[a] += 1
        played[b] += 1
    matches = jr.matches(np.array(players, int).reshape(-1, 2), [1] * len(players))
    got = experience_mask(matches, games)
    assert got.dtype == bool and got.tolist() == wanted


def test_scores_are_the_measures_by_name():
    p, s, w = np.array([0.8, 0.4, 0.1, 0.55]), np.array([1.0, 0.0, 0.5, 1.0]), np.array([1.0, 2.0, 1.0, 3.0])
    mask = np.array([True, True, True, False])
    found = jr.metrics.match_metrics(p, s, weight=w, mask=mask)
    measures = {"log loss": log_loss, "Brier score": brier_score, "accuracy": accuracy}
    wanted = {name: measure(p, s, weight=w, mask=mask) for name, measure in measures.items()}
    assert found == pytest.approx(wanted | {"calibration error": calibration(p, s, weight=w, mask=mask).error})


def test_where_the_first_player_always_wins_the_calibration_is_of_both():
    """A winner who had 0.75, and one who had 0.25: of four players, one of each kind won."""
    p, s, w = jr.metrics.mirror_winner_first([0.75, 0.25], [1, 1], [3.0, 2.0])
    assert p.tolist() == [0.75, 0.25, 0.25, 0.75] and s.tolist() == [1, 1, 0, 0] and w.tolist() == [3, 2, 3, 2]
    assert jr.metrics.match_metrics([0.75, 0.25], [1, 1])["calibration error"] == pytest.approx(0.25)
    assert calibration([0.75, 0.25], [1, 1]).error == pytest.approx(0.5)
    assert [x.tolist() for x in jr.metrics.mirror_winner_first([0.8], [0.4])] == [[0.8], [0.4], [1.0]]


def test_draws_of_tables_of_winners_and_losers_count_from_either_side_as_their_wins_do():
    """Two matches won by whom a perfect forecast gives 0.75, one that it gave 0.25, one of equals that is drawn."""
    metrics = jr.metrics.match_metrics([0.75, 0.75, 0.75, 0.25, 0.5], [1, 1, 1, 1, 0.5])
    assert metrics["calibration error"] == pytest.approx(0.0, abs=1e-12)
    p, s, w = jr.metrics.mirror_winner_first([0.75, 0.5], [1, 0.5])
    assert p.tolist() == [0.75, 0.5, 0.25, 0.5] and s.tolist() == [1, 0.5, 0, 0.5] and w.tolist() == [1, 1, 1, 1]
    p, score = 0.5 + 0.4 * np.sin(np.arange(2000)), np.where(np.arange(2000) % 7 == 0, 0.5, np.arange(2000) % 2)
    either = jr.metrics.calibration_slope(np.append(p, 1 - p), np.append(score, 1 - score))
    winner_first = jr.metrics.calibration_slope(np.where(score >= 0.5, p, 1 - p), np.maximum(score, 1 - score))
    assert winner_first.slope == pytest.approx(either.slope, abs=1e-9)
    assert jr.metrics.calibration_slope([0.7], [0.5]) == (None, None)  # of one match
    assert winner_first.error == pytest.approx(np.sqrt(2.0) * either.error, rel=1e-6)


def test_the_band_is_where_the_urn_is_within_z_errors_of_the_proportion():
    state = jr.urns.make_urns([10, 10, 10, 100, 7], [0.0, 0.3, 1.0, 0.62, 3 / 7])
    green, size = (np.asarray(x, float) for x in state)
    pi = np.linspace(0, 1, 100_001)[:, None]
    within = np.abs(green / size - pi) <= 1.959964 * np.sqrt(pi * (1 - pi) / size)
    low, high = jr.urns.confidence_band(state)
    np.testing.assert_allclose(low, [pi[x, 0].min() for x in within.T], atol=2e-5)
    np.testing.assert_allclose(high, [pi[x, 0].max() for x in within.T], atol=2e-5)
    narrow = jr.urns.confidence_band(state, 0.5)
    assert (narrow[0][1:] > low[1:]).all() and (narrow[1][[0, 1, 3, 4]] < high[[0, 1, 3, 4]]).all()


def test_each_side_has_players_of_its_own():
    played = jr.matches([[0, 2], [2, 1]], [1, 0.5], [3, 4], side=[1, 0], weight=[1, 2])
    got = jr.urns.split_by_side(played)
    np.testing.assert_array_equal(got.player, [[0, 5], [4, 3]])
    assert got.context.side is None
    np.testing.assert_array_equal(got.context.weight, [1, 2])
    result = jr.run(jr.elo(), got)
    assert len(result.state.rating) == 6 and float(result.state.rating[1]) == jr.elo().params.initial_rating


def test_one_skill_is_shared_out_as_the_hypergeometric_law_says():
    """Every way to share the balls of three players, beside the frequencies of 20,000 samples."""
    one, two = jr.urns.make_urns([2, 3, 4], [0.5, 2 / 3, 0.25]), jr.urns.make_urns([3, 2, 4], [1 / 3, 1.0, 0.5])
    got = jr.urns.compare_skill(one, two, samples=20_000, seed=1)
    ways = [(1.0, 0.0)]
    for r1, n1, r2, n2 in zip(*map(np.asarray, (*one, *two)), strict=True):
        law = stats.hypergeom(n1 + n2, r1 + r2, n1)
        gaps = [(law.pmf(k), (k / n1 - (r1 + r2 - k) / n2) / 3) for k in range(n1 + 1) if law.pmf(k) > 0]
        ways = [(p * q, d + gap) for p, d in ways for q, gap in gaps]
    share = [np.asarray(x.green) / np.asarray(x.size) for x in (one, two)]
    observed = float(np.mean(share[0] - share[1]))
    exact = sum(p for p, d in ways if abs(d) >= abs(observed) - 1e-9)
    assert got.difference == pytest.approx(observed, abs=1e-6)
    assert got.difference_p == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000))
    assert np.mean(got.differences) == pytest.approx(sum(p * d for p, d in ways), abs=0.01)
    assert got.correlation == pytest.approx(np.corrcoef(*share)[0, 1], abs=1e-6)


def test_p_values_of_a_change_are_those_of_the_exact_test():
    """Every pair of urns of 4 and 6 balls, and the rejected beside the twin's."""
    some = [(a, b) for a in range(5) for b in range(7)]
    early, late = (jr.urns.make_urns(np.full(35, n), x / n) for n, x in zip((4, 6), np.transpose(some), strict=True))
    got = jr.urns.find_changed_skills(early, late, false_discovery_rate=0.3)
    p = [twin.two_sided((a, 4), (b, 6)) for a, b in some]
    np.testing.assert_allclose(got.p, [float(x) for x in p], rtol=1e-12)
    np.testing.assert_allclose(got.difference, [b / 6 - a / 4 for a, b in some], atol=1e-15)
    assert got.changed.tolist() == twin.step_up(p, 0.3) and 0 < got.changed.sum() < 35
    rates = np.linspace(0.01, 0.99, 50)
    each = [jr.urns.find_changed_skills(early, late, false_discovery_rate=rate).changed for rate in rates]
    np.testing.assert_array_equal(each, got.adjusted <= rates[:, None])


def test_bad_urns_are_refused():
    urns, two = jr.urns.make_urns([4, 4, 4], [0.25, 0.5, 0.75]), jr.urns.make_urns([4, 4], 0.5)
    full, same = urns._replace(green=urns.green.at[1].set(5)), jr.urns.make_urns([4, 2, 4], 0.5)
    changed = jr.urns.find_changed_skills
    for call, says in (
        (lambda: jr.urns.compare_skill(urns, two), "at least 3 players, got (3,) and (2,)"),
        (lambda: jr.urns.compare_skill(urns, same), "all urns have the same share of green balls"),
        (lambda: changed(urns, two), "two urns of each player, got (3,) and (2,)"),
        (lambda: changed(urns, full), "row 1 (counting from 0): an urn of 4 balls cannot hold 5 green ones"),
    ):
        with refused(says):
            call()


def slow_probabilities(odds, method):
    """One match, straight from the equations."""
    implied = [1.0 / x for x in odds]
    booksum = sum(implied)
    if method == "proportional":
        return [x / booksum for x in implied]
    if method == "power":
        power = brentq(lambda k: sum(x**k for x in implied) - 1.0, 0.0, 1e4, xtol=1e-14)
        return [x**power for x in implied]

    def shin(z, x):
        return (math.sqrt(z * z + 4.0 * (1.0 - z) * x * x / booksum) - z) / (2.0 * (1.0 - z))

    insiders = brentq(lambda z: sum(shin(z, x) for x in implied) - 1.0, 0.0, 1.0 - 1e-9, xtol=1e-15)
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
        ([1.9, 1.9], {}, "odds must be [n, K], of two outcomes or more, got the shape (2,)"),
        ([[1.9, 1.9], [2.1, 2.1]], {"method": "shin"}, "row 1 (counting from 0): the inverse odds sum to 0.9524"),
    ],
)
def test_what_odds_refuse(odds, options, message):
    with refused(message):
        probabilities_from_odds(odds, **options)


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
    win, draw = np.array([[0.5, 0.2], [0.4, 0.4]]), np.array([[0.3, 0.3], [0.2, 0.2]])
    outlook = OutcomeProbabilities(win, draw, np.ones((2, 2)), np.ones((2, 2)))
    for found, wanted in zip(losses_by_match(outlook, [0.5, 0.0]), three, strict=True):
        np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize(
    ("prediction", "score", "message"),
    [
        ([[0.5, 0.5], [0.6, 0.5]], [0, 1], "row 1 (counting from 0): the probabilities [0.6, 0.5] are not from 0 to 1"),
        ([[0.2, 0.3, 0.5]], [0.7], "score is 0.7, which is none of the 3 that are predicted"),
        ([[0.2, np.nan, 0.5]], [1.0], "prediction is nan"),
        ([0.5], [1.0], "prediction must be [n, K] probabilities of each score"),
    ],
)
def test_what_rps_refuses(prediction, score, message):
    with refused(message):
        jr.metrics.ranked_probability_score(prediction, score)


def slow_slope(p, score, weight):
    """The regression by a search that knows no derivatives."""
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
    """However bold: steps of Newton's method went to and fro from four times on, and the slope was any number."""
    rng = np.random.default_rng(4)
    log_odds = rng.normal(0.0, 1.0, 40_000)
    score = (rng.random(40_000) < 1.0 / (1.0 + np.exp(-log_odds))).astype(float)
    for boldness in (0.5, 1.0, 2.0, 8.0):
        found = jr.metrics.calibration_slope(1.0 / (1.0 + np.exp(-boldness * log_odds)), score)
        assert abs(found.slope - 1.0 / boldness) < 4.0 * found.error and found.error < 0.04 / boldness
    parts = zip(1.0 / (1.0 + np.exp(-log_odds.reshape(200, 200))), score.reshape(200, 200), strict=True)
    slopes, stated = np.array([jr.metrics.calibration_slope(p, s) for p, s in parts]).T
    assert np.std(slopes) == pytest.approx(np.mean(stated), rel=0.2)


def test_predictions_that_say_nothing_have_no_slope():
    assert jr.metrics.calibration_slope([0.5] * 6, [1, 0, 1, 1, 0, 0]) == (None, None)
    assert jr.metrics.calibration_slope([0.2, 0.3, 0.7, 0.8], [0, 0, 1, 1]) == (None, None)
    with refused("prediction is 1.5"):
        jr.metrics.calibration_slope([1.5, 0.5], [1, 0])
