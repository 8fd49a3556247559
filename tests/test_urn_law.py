"""The exact law of a few urns: the stored ones, that of the transition matrices, and that of the library's games."""

import numpy as np
import pytest

import jaxrate as jr
from tests.reference import urnings_twin as twin
from tests.test_urnings import CASES, OURS, STATES, TARGET, TRANSITION


@pytest.mark.parametrize("number", range(0, len(CASES), 7))
def test_the_law_is_the_stored_one(number):
    case = CASES[number]
    green, probability = jr.urn_law(case["n"], case["pi"], case["rplus"])
    np.testing.assert_array_equal(green, STATES[number])
    np.testing.assert_allclose(probability, TARGET[number], atol=1e-14)


def test_games_keep_the_law_and_no_other():
    """Unequal urns and draws too: every stored matrix of ours with its law, the others without."""
    kept = 0
    for number in np.flatnonzero(OURS):
        case = CASES[number]
        law = jr.urn_law(case["n"], case["pi"], case["rplus"]).probability
        off = np.abs(law @ TRANSITION[number] - law).max()
        assert off < 1e-14 if case["expect_stationary_equals_target"] else off > 1e-6
        kept += case["expect_stationary_equals_target"]
    assert kept > 20


def test_odds_count_up_to_a_factor_and_large_urns_are_nearly_independent():
    odds = np.array([0.4, 1.2, 4.0])
    one, two = (jr.urn_law([4, 2, 5], x / (1 + x), 6).probability for x in (odds, 3 * odds))
    np.testing.assert_allclose(one, two, rtol=1e-12)
    n, pi, total = [300, 300], [0.3, 0.6], 270
    green, probability = jr.urn_law(n, pi, total)
    np.testing.assert_array_equal(green, twin.states(n, total))
    np.testing.assert_allclose(probability, twin.target(n, pi, total), rtol=1e-10)
    np.testing.assert_allclose(probability @ green / n, pi, atol=1e-3)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (([4, 0], [0.5, 0.5], 2), r"row 1 .*an urn has at least 1 ball, not 0"),
        (([4, 4], [0.5, 1.0], 2), r"row 1 .*proportion 1.0 is not above 0 and below 1"),
        (([4, 4], 0.5, 2), r"with a proportion each, got int64 of shape \(2,\) and proportions of shape \(\)"),
        (([4, 4], [0.5, 0.5], 9), "total must be from 0 to the 8 balls of the urns, got 9"),
        (([9] * 10, [0.5] * 10, 45), "432,457,640 states, more than 1,000,000"),
    ],
)
def test_bad_laws_are_refused(given, says):
    with pytest.raises(ValueError, match=says):
        jr.urn_law(*given)
