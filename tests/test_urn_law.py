"""The exact law of a few urns: the stored ones, that of the transition matrices, and that of the library's games."""

import math
from functools import partial

import jax
import numpy as np
import pytest

import jaxrate as jr
from tests.reference import urnings_twin as twin
from tests.test_urnings import CASES, OURS, STATES, TARGET, TRANSITION, matrix


@pytest.mark.parametrize("number", range(0, len(CASES), 7))
def test_the_law_is_the_stored_one(number):
    case = CASES[number]
    green, probability = jr.urns.urn_law(case["n"], case["pi"], case["rplus"])
    np.testing.assert_array_equal(green, STATES[number])
    np.testing.assert_allclose(probability, TARGET[number], atol=1e-14)


def test_games_keep_the_law_and_no_other():
    """Unequal urns and draws too: every stored matrix of ours with its law, the others without."""
    kept = 0
    for number in np.flatnonzero(OURS):
        case = CASES[number]
        law = jr.urns.urn_law(case["n"], case["pi"], case["rplus"]).probability
        off = np.abs(law @ TRANSITION[number] - law).max()
        assert off < 1e-14 if case["expect_stationary_equals_target"] else off > 1e-6
        kept += case["expect_stationary_equals_target"]
    assert kept > 20


def test_odds_count_up_to_a_factor_and_large_urns_are_nearly_independent():
    odds = np.array([0.4, 1.2, 4.0])
    one, two = (jr.urns.urn_law([4, 2, 5], x / (1 + x), 6).probability for x in (odds, 3 * odds))
    np.testing.assert_allclose(one, two, rtol=1e-12)
    n, pi, total = [300, 300], [0.3, 0.6], 270
    green, probability = jr.urns.urn_law(n, pi, total)
    np.testing.assert_array_equal(green, twin.states(n, total))
    np.testing.assert_allclose(probability, twin.target(n, pi, total), rtol=1e-10)
    np.testing.assert_allclose(probability @ green / n, pi, atol=1e-3)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (([4, 0], [0.5, 0.5], 2), r"row 1 .*an urn has at least 1 ball, not 0"),
        (([4, 4], [0.5, 1.0], 2), r"row 1 .*proportion 1.0 is not above 0 and below 1"),
        (([4, 4], 0.5, 2), r"with a proportion each, got int64 of shape \(2,\) and proportions of shape \(\)"),
        (([4, 4], [0.5, 0.5], 9), "total must be a whole number from 0 to the 8 balls of the urns, got 9"),
        (([4, 4], [0.5, 0.5], 2.5), "total must be a whole number from 0 to the 8 balls of the urns, got 2.5"),
        (([4, 4], [0.5, 0.5], 10**5000), "from 0 to the 8 balls of the urns, got of type int, too long to show"),
        (([9] * 10, [0.5] * 10, 45), "more than 1,000,000 states.*urn_marginals"),
        (([100] * 5000, [0.5] * 5000, 250_000), "more than 1,000,000 states.*urn_marginals"),
    ],
)
def test_bad_laws_are_refused(given, says):
    with pytest.raises(ValueError, match=says):
        jr.urns.urn_law(*given)
    if "states" not in says:
        with pytest.raises(ValueError, match=says):
            jr.urns.urn_marginals(*given)


@pytest.mark.parametrize(
    ("n", "pi", "total"),
    [
        ([4, 4, 6], [0.3, 0.5, 0.8], 7),
        ([1, 7, 2, 5], [0.01, 0.999, 0.5, 0.2], 3),
        ([3, 3, 3], [1e-300, 0.5, 1 - 1e-16], 4),  # odds 1e316 apart
        ([300, 300], [0.3, 0.6], 270),
        ([5], [0.2], 3),
        ([4, 2], [0.3, 0.4], 0),
        ([4, 2], [0.3, 0.4], 6),
    ],
)
def test_marginals_are_those_of_the_enumerated_law(n, pi, total):
    green, probability = jr.urns.urn_law(n, pi, total)
    wanted = np.stack([np.bincount(column, probability, max(n) + 1) for column in green.T])
    np.testing.assert_allclose(jr.urns.urn_marginals(n, pi, total), wanted, rtol=1e-10, atol=1e-50)


def test_marginals_of_thousands_of_urns_are_exact_and_close_to_binomials():
    """Exact by Newton's identity for equal odds, where the law is hypergeometric; else moments that must agree."""
    many, n, total = 3000, 40, 50_000
    got = jr.urns.urn_marginals(np.full(many, n), np.full(many, 0.9), total)
    r = np.arange(n + 1)
    logs = [[math.lgamma(a + 1) - math.lgamma(k + 1) - math.lgamma(a - k + 1) for a, k in pairs] for pairs in (
        [(n, int(k)) for k in r], [(n * (many - 1), total - int(k)) for k in r], [(n * many, total)])]  # fmt: skip
    np.testing.assert_allclose(got[::999], np.tile(np.exp(np.add(logs[0], logs[1]) - logs[2][0]), (4, 1)), rtol=1e-7)
    random = np.random.default_rng(0)
    sizes, pi = random.integers(1, 100, many), random.beta(2.0, 2.0, many)
    total = round(float(sizes @ pi))
    law = jr.urns.urn_marginals(sizes, pi, total)
    assert law.shape == (many, sizes.max() + 1) and (law >= 0).all()
    np.testing.assert_allclose(law.sum(axis=1), 1.0, rtol=1e-12)
    mean = law @ np.arange(law.shape[1])
    np.testing.assert_allclose(mean.sum(), total, rtol=1e-12)
    np.testing.assert_allclose(mean / sizes, pi, atol=1e-3)
    variance = law @ np.arange(law.shape[1]) ** 2.0 - mean**2
    assert (variance <= mean * (1 - mean / sizes) * (1 + 1e-9)).all()  # section 2.2: binomials bound it from above


@pytest.mark.parametrize("number", np.flatnonzero([c["family"] == "U1" and not c["replacement"] for c in CASES])[::9])
def test_two_urns_that_accept_all_have_the_law_of_theorem_1(number):
    """The binomials times Z, equation (5) for two scores, by the twin's matrix and by the library's games."""
    case = CASES[number]
    for n, pi, total in [([5, 5], [0.3, 0.7], 4), ([3, 6], [0.8, 0.4], 5)]:
        w = case["w"]
        every = twin.states(n, total)
        z = np.array([sum(twin.simulated(w, r, n)) for r in every])
        free = z > 0  # the others neither move nor are reached
        law = twin.target(n, pi, total) * z
        law /= law.sum()
        wanted = twin.transition("U1", w, n, pi, total, accept=False)
        np.testing.assert_allclose(law @ wanted, law, atol=1e-14)
        if len(w) == 2:
            (a, b), (k, m) = np.array(every).T, n
            np.testing.assert_array_equal(z, a * (m - b) + (k - a) * b)
        assert np.abs(law - twin.target(n, pi, total))[free].max() > 1e-3
        with jax.enable_x64(True):
            got = matrix("accept_all", w, n, pi, np.array(every), partial(twin.pairs, "uniform", None, n=n))
        np.testing.assert_allclose(got, wanted, atol=1e-12)


def test_urnings_take_acceptance_of_all_and_its_name():
    system = jr.urnings(4, variant="accept_all")
    assert system.settings["variant"] == "accept_all" and "accept_all" in repr(system)
    played = jr.matches([[0, 1]] * 300, [1, 0, 1] * 100)
    runs = [jr.run(one, played, key=jax.random.key(0)) for one in (system, jr.urnings(4, variant="U1"))]
    assert all(int(run.state.green.sum()) == 4 for run in runs)
    assert (runs[0].prediction != runs[1].prediction).any()
    with pytest.raises(ValueError, match="accept_all draws 5 balls at once, and an urn has only 4"):
        jr.urnings(4, outcomes=6, variant="accept_all")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda x: jr.urnings(x), "urnings: size must be whole, from 1 to 8388608, got of type int"),
        (lambda x: jr.urnings(outcomes=x), "urnings: outcomes must be .* from 2 to 101, got of type int"),
        (lambda x: jr.urnings(weights=[1, x]), "urnings: weights must be a sequence of numbers"),
        (lambda x: jr.urnings(initial_proportion=x), "initial_proportion must be above 0, below 1, got of type int"),
        (lambda x: jr.urns.make_urns([2, 2], x), "proportion .* is outside"),
        (
            lambda x: jr.urns.simulate_world(jr.urnings(20), [0.3, 0.5], -x, jax.random.key(0)),
            "games must be a whole number",
        ),
        (
            lambda x: jr.urns.confidence_band(jr.urns.make_urns([4, 4]), x),
            "confidence_band: level must be a number, got of type int",
        ),
        (lambda x: jr.urns.urn_marginals([2, 2], [x, 0.5], 1), "urn_marginals: proportion must be numbers"),
    ],
)
def test_messages_do_not_print_thousands_of_digits(make, says):
    with pytest.raises(ValueError, match=says) as error:
        make(10**5000)
    assert len(str(error.value)) < 200
