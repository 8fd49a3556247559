"""Metrics against values worked out by hand."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxrate as jr
from jaxrate.metrics.prediction_metrics import (
    accuracy,
    brier_score,
    calibration,
    compare_log_loss,
    experience_mask,
    log_loss,
)
from tests.conftest import refused

PREDICTION, SCORE = [0.8, 0.4, 0.5], [1.0, 1.0, 0.5]
METRICS = [log_loss, brier_score, accuracy, calibration]


def test_log_loss_by_hand():
    wanted = -(math.log(0.8) + math.log(0.4) + math.log(0.5)) / 3
    assert log_loss(PREDICTION, SCORE) == pytest.approx(wanted, rel=1e-14)
    assert log_loss([0.8], [0.0]) == pytest.approx(-math.log(0.2), rel=1e-14)


def test_brier_by_hand():
    assert brier_score(PREDICTION, SCORE) == pytest.approx((0.04 + 0.36 + 0.0) / 3, rel=1e-14)
    assert brier_score([0.8], [0.0]) == pytest.approx(0.64, rel=1e-14)


def test_accuracy_by_hand():
    assert accuracy([0.8, 0.4, 0.1, 0.9], [1, 1, 0, 0]) == 0.5
    assert accuracy([0.8, 0.4, 0.1], [1, 0, 0]) == 1.0


def test_a_difference_is_that_of_each_match():
    each = [math.log(0.6 / 0.8), math.log(0.7 / 0.4), 0.0]
    mean = sum(each) / 3
    error = math.sqrt(sum((x - mean) ** 2 for x in each) / 2 / 3)
    assert compare_log_loss(PREDICTION, [0.6, 0.7, 0.5], SCORE) == pytest.approx((mean, error), rel=1e-12)
    assert compare_log_loss(PREDICTION, [0.6, 0.7, 0.5], SCORE, weight=[2, 2, 2]) == pytest.approx(
        (mean, error), rel=1e-12
    )
    masked = compare_log_loss(PREDICTION, [0.6, 0.7, 0.5], SCORE, mask=np.array([True, False, False]))
    assert masked.difference == pytest.approx(each[0]) and masked.error is None


def test_a_draw_is_half_a_win_for_either():
    assert log_loss([0.8], [0.5]) == pytest.approx(-0.5 * (math.log(0.8) + math.log(0.2)), rel=1e-14)
    assert brier_score([0.8], [0.5]) == pytest.approx(0.09, rel=1e-14)
    assert accuracy([0.8, 0.2], [0.5, 0.5]) == 0.5


def test_equal_probabilities_count_half_whatever_the_result():
    for score in (0.0, 0.5, 1.0):
        assert accuracy([0.5, 0.9], [score, 1.0]) == 0.75


@pytest.mark.parametrize("metric", METRICS[:3])
def test_both_players_see_the_same_metric(metric):
    p, s = np.random.default_rng(0).uniform(size=20), np.arange(20) % 3 / 2
    assert metric(p, s) == pytest.approx(metric(1 - p, 1 - s), rel=1e-12)


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


def test_what_is_right_on_average_is_calibrated():
    assert calibration([0.75] * 4, [1, 1, 1, 0]).error == pytest.approx(0, abs=1e-15)
    assert calibration([0.75] * 4, [0, 0, 0, 1]).error == pytest.approx(0.5, abs=1e-15)


def test_no_bins_are_refused():
    with refused("bins must be at least 1, got 0"):
        calibration(PREDICTION, SCORE, bins=0)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prediction": [0.8, math.nan, 0.5]}, "row 1 (counting from 0): prediction is nan"),
        ({"prediction": [0.8, 0.5, 1.25]}, "row 2 (counting from 0): prediction is 1.25"),
        ({"prediction": [-0.5, 0.5, 1]}, "row 0 (counting from 0): prediction is -0.5"),
        ({"prediction": [0.1, 0.2]}, "must be [n] alike, got (2,), (3,), (2,) and (2,)"),
        ({"prediction": [[0.1, 0.2, 0.3]]}, "must be [n] alike, got (1, 3)"),
        ({"prediction": 0.5, "score": 1.0}, "must be [n] alike, got ()"),
        ({"score": [1, 0, math.nan]}, "row 2 (counting from 0): score is nan"),
        ({"score": [1, 2, 0]}, "row 1 (counting from 0): score is 2.0"),
        ({"weight": [1, -1, 1]}, "row 1 (counting from 0): weight is -1.0"),
        ({"weight": [1, math.inf, 1]}, "row 1 (counting from 0): weight is inf"),
        ({"weight": [1, 1]}, "must be [n] alike, got (3,), (3,), (2,) and (3,)"),
        ({"mask": [True, False]}, "must be [n] alike, got (3,), (3,), (3,) and (2,)"),
        ({"mask": [1, 0, 1]}, "mask must be boolean, got int64"),
        ({"mask": [False] * 3}, "no matches to score"),
        ({"weight": [0, 0, 0]}, "no matches to score"),
        ({"weight": [1, 1, 0], "mask": [False, False, True]}, "no matches to score"),
        ({"prediction": [], "score": []}, "no matches to score"),
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


def test_seen_is_a_mask_for_metrics():
    matches = jr.matches([[0, 1], [2, 3], [0, 2], [1, 2]], [1, 0, 1, 0])
    mask = experience_mask(matches, 1)
    assert mask.tolist() == [False, False, True, True]
    assert brier_score([0.9, 0.9, 0.5, 0.5], matches.score, mask=mask) == 0.25


# All measures


def test_scores_are_the_measures_by_name():
    p, s, w = np.array([0.8, 0.4, 0.1, 0.55]), np.array([1.0, 0.0, 0.5, 1.0]), np.array([1.0, 2.0, 1.0, 3.0])
    mask = np.array([True, True, True, False])
    found = jr.metrics.match_metrics(p, s, weight=w, mask=mask)
    measures = {"log loss": log_loss, "Brier score": brier_score, "accuracy": accuracy}
    assert found == {name: pytest.approx(measure(p, s, weight=w, mask=mask)) for name, measure in measures.items()} | {
        "calibration error": pytest.approx(calibration(p, s, weight=w, mask=mask).error)
    }
    with refused("row 1 (counting from 0): score is 2.0"):
        jr.metrics.match_metrics(p, [1, 2, 0, 1])


def test_where_the_first_player_always_wins_the_calibration_is_of_both():
    """A winner who had 0.75, and one who had 0.25: of four players, one of each kind won."""
    p, s, w = jr.metrics.mirror_winner_first([0.75, 0.25], [1, 1], [3.0, 2.0])
    assert p.tolist() == [0.75, 0.25, 0.25, 0.75] and s.tolist() == [1, 1, 0, 0] and w.tolist() == [3, 2, 3, 2]
    assert jr.metrics.match_metrics([0.75, 0.25], [1, 1])["calibration error"] == pytest.approx(0.25)
    assert calibration([0.75, 0.25], [1, 1]).error == pytest.approx(0.5)
    assert [x.tolist() for x in jr.metrics.mirror_winner_first([0.8], [0.5])] == [[0.8], [0.5], [1.0]]
