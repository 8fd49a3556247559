"""The BlatMMR twin against the golden numbers; the author's that it must not reproduce are explained instead."""

import math
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.reference import blat_twin as twin
from tests.reference.blat_reference import CASES, RESULTS
from tests.reference.blat_twin import GRID, LUCK

REFERENCE = dict(np.load(Path(__file__).parent / "reference" / "blat_mmr.npz"))
DUELYST = LUCK["duelyst"]
SINGLES = [(i, j, case, result) for i, case in enumerate(CASES) for j, result in enumerate(RESULTS)]

close = partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-300)


def apart(actual, desired, at_least):
    """The largest difference is at least this."""
    assert np.abs(np.asarray(actual) - desired).max() >= at_least


def mirrored(support):
    return -support[::-1]


# Luck functions

VALUES = {  # luck of a difference: values by hand
    "bradley_terry": [(0.0, 0.5), (math.log(3.0), 0.75), (-math.log(3.0), 0.25), (-110.0, math.exp(-110.0))],
    "bradley_terry_400": [(0.0, 0.5), (400.0, 10 / 11), (-800.0, 1 / 101)],
    "thurstone_mosteller": [
        (0.0, 0.5),
        (1.0, 0.5 * math.erfc(-math.sqrt(0.5))),
        (-9.0, 0.5 * math.erfc(9 * math.sqrt(0.5))),
    ],
    "heaviside": [(1e-300, 1.0), (0.0, 0.5), (-1e-300, 0.0)],
    "coin": [(5.0, 0.5), (-5.0, 0.5)],
    "trueskill": [(1.5, 1.0), (1.0, 0.5), (0.0, 0.5), (-1.0, 0.5), (-1.5, 0.0)],
    "fide": [
        (400.0, 10 / 11),
        (401.0, 10 / 11),
        (399.5, 1 / (1 + 10 ** (-399.5 / 400))),
        (200.0, 1 / (1 + 10**-0.5)),
        (-400.5, 1 / 11),
        (-399.5, 1 / (1 + 10 ** (399.5 / 400))),
        (-5000.0, 1 / 11),
    ],
    "duelyst": [(0.0, 0.5), (math.log(3.0), 0.7), (60.0, 0.9), (-60.0, 0.1)],
}


@pytest.mark.parametrize("name", VALUES)
def test_a_luck_function_has_the_values_worked_out_by_hand(name):
    difference, value = np.array(VALUES[name]).T
    close(LUCK[name](difference, np.zeros_like(difference)), value, rtol=1e-14)


@pytest.mark.parametrize("name", LUCK)
def test_a_luck_function_and_its_swap_sum_to_one(name):
    x, y = np.random.default_rng(0).uniform(0.1, 3.0, (2, 200, 3) if name == "two_of_three" else (2, 200))
    wins = LUCK[name](x, y)
    assert wins.shape == (200,)
    assert ((wins >= 0.0) & (wins <= 1.0)).all()
    close(wins + LUCK[name](y, x), 1.0, rtol=1e-14)


def test_the_other_luck_functions_by_hand():
    close(LUCK["ratio"](2.0, 3.0), 0.4, rtol=1e-15)
    x = np.log([2.0, 0.3, 7.0])
    close(LUCK["ratio"](np.exp(x), 3.0), LUCK["bradley_terry"](x, math.log(3.0)), rtol=1e-14)
    close(twin.thurstone_mosteller(2.0, 0.0, scale=2.0), 0.5 * math.erfc(-math.sqrt(0.5)), rtol=1e-14)
    components = ((0.6, 0.5), (0.4, 1.5))
    value = 1 - 0.5 * (0.6 * math.exp(-2.0) + 0.4 * math.exp(-2 / 3))
    close(twin.laplace_luck(np.array([3.0, 1.0]), np.array([2.0, 2.0]), components), [value, 1 - value], rtol=1e-15)
    close(twin.mixed(LUCK["heaviside"], 0.9)(np.array([1.0, 2.0, 3.0]), 2.0), [0.05, 0.5, 0.95], rtol=1e-15)
    close(twin.display(np.array([0.0, math.log(10.0)])), [1500.0, 1900.0], rtol=1e-15)


def test_example_2_10_beats_in_a_circle():
    players = [(np.array([strength]), np.ones(1)) for strength in ([3, 3, 3], [4, 4, 1], [5, 2, 2])]
    scores = [twin.expected_score(*players[i], *players[(i + 1) % 3], LUCK["two_of_three"]) for i in range(3)]
    np.testing.assert_array_equal(scores, REFERENCE["example_2_10"])
    # A match over such points: (3, 3, 3) loses to (4, 4, 1) and beats (5, 2, 2), which beats (4, 4, 1).
    support, p = np.array([[3.0, 3.0, 3.0], [5.0, 2.0, 2.0]]), np.array([0.5, 0.5])
    against = np.array([[4.0, 4.0, 1.0], [5.0, 2.0, 2.0]]), np.array([0.25, 0.75])
    (p, evidence), _ = twin.match(support, p, *against, LUCK["two_of_three"])
    close([*p, evidence], [0.75 / 1.375, 0.625 / 1.375, 1.375 / 2], rtol=1e-15)


# One match


def test_example_4_1_in_the_fractions_of_the_paper():
    a = np.array([2.0, 5.0, 13.0]), np.array([9, 3, 8]) / 20
    b = np.array([3.0, 7.0, 11.0]), np.array([2, 4, 5]) / 11
    (p, evidence), (q, evidence_b) = twin.match(*a, *b, LUCK["ratio"])
    close(p * 284005, [69024, 41925, 173056])
    close(q * 284005, [74724, 105456, 103825])
    close(p * evidence, [719 / 7150, 43 / 704, 208 / 825])
    close([evidence, evidence_b], float(Fraction(56801, 137280)))
    close(p, REFERENCE["example_4_1_exact_A"])
    close(q, REFERENCE["example_4_1_exact_B"])
    close(p * evidence, REFERENCE["example_4_1_unnormalised_A"])
    close(evidence, REFERENCE["example_4_1_evidence"])


KERNEL = twin.kernel_matrix(GRID, twin.DUELYST)


def single(case, result, draws, luck=DUELYST):
    """A's and B's (belief, evidence), before the kernel."""
    p, q = CASES[case]
    return twin.match(GRID, p, GRID, q, luck, RESULTS[result], draws)


@pytest.mark.parametrize(("i", "j", "case", "result"), SINGLES)
def test_a_match_on_the_grid(i, j, case, result):
    inside, outside = (single(case, result, draws) for draws in ("inside", "outside"))
    for k in range(2):
        where = REFERENCE["single_cells"][i, k]
        close(CASES[case][k][where], REFERENCE["single_prior"][i, k])
        statistics = []
        for n, (posterior, evidence) in enumerate((inside[k], outside[k])):
            belief = twin.spread_by(KERNEL, posterior)
            close(posterior[where], REFERENCE["single_ref"][i, j, k, 2 + n])
            close(belief[where], REFERENCE["single_ref"][i, j, k, n])
            statistics += [*twin.moments(GRID, belief), evidence]
        np.testing.assert_allclose(statistics, REFERENCE["single_statistics"][i, j, k, :6], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", CASES)
def test_the_authors_draw_is_the_power_of_the_sum_and_ours_is_not(case):
    """The author's program agrees with "outside", up to what their R leaves out; equation (1) is elsewhere."""
    i, draw = list(CASES).index(case), list(RESULTS).index("draw")
    inside, outside, _, _, author = np.moveaxis(REFERENCE["single_ref"][i, draw], 1, 0)
    near = case in ("default_vs_default", "near_vs_near", "bimodal_vs_narrow")  # elsewhere R matters
    np.testing.assert_allclose(author, outside, rtol=0, atol=1e-12 if near else 1e-6)
    if case == "edge_hi_vs_edge_lo":  # the luck is flat between the two: both ways agree
        np.testing.assert_allclose(inside, outside, rtol=0, atol=1e-8)
    else:
        apart(inside, outside, 2e-7)
        apart(inside, author, 2e-7)
    statistics = REFERENCE["single_statistics"][i, draw]
    assert (statistics[:, 5] > statistics[:, 2]).all()  # Jensen: the power of the sum is the larger evidence
    if case == "near_vs_near":
        assert statistics[0, 5] != pytest.approx(statistics[1, 5], rel=1e-4)  # and the two players' differ


def cut(x, y):
    """Bradley-Terry whose R = F - H is cut at the half width of the grid, as in the author's FFT: 9e-4 off beyond."""
    return np.where(np.abs(x - y) > 7.0 + 1e-9, LUCK["heaviside"](x, y), LUCK["bradley_terry"](x, y))


TRIMMED = np.where(np.abs(GRID[:, None] - GRID[None, :]) < 14.5 * 0.014, KERNEL, 0.0)  # that kernel has 29 taps


@pytest.mark.parametrize(("i", "j", "case", "result"), SINGLES)
def test_the_author_cuts_r_off_at_the_width_of_the_grid(i, j, case, result):
    for k, (posterior, _) in enumerate(single(case, result, "outside", luck=twin.mixed(cut, 0.8))):
        where, author = REFERENCE["single_cells"][i, k], REFERENCE["single_ref"][i, j, k, 4]
        belief = twin.spread_by(TRIMMED, posterior)
        np.testing.assert_allclose(belief[where], author, rtol=1e-11, atol=1e-16)
        mean, variance = twin.moments(GRID, belief)
        np.testing.assert_allclose(
            [mean, math.sqrt(variance)], REFERENCE["single_statistics"][i, j, k, 6:], rtol=1e-12, atol=1e-14
        )
        if case in ("strong_vs_weak", "edge_hi_vs_edge_lo"):
            apart(author, REFERENCE["single_ref"][i, j, k, 1], 1e-8)  # deliberately not reproduced


def test_the_cut_is_nine_in_ten_thousand():
    x = np.array([7.02, -7.02])
    apart(cut(x, 0.0), LUCK["bradley_terry"](x, 0.0), 8.9e-4)


def test_both_players_of_any_score_swap():
    rng = np.random.default_rng(1)
    x, y = np.sort(rng.normal(size=(2, 30)), 1)
    p, q = rng.dirichlet(np.ones(30), 2)
    for theta in (0.0, 0.3, 0.5, 1.0):
        for draws in ("inside", "outside"):
            a, b = twin.match(x, p, y, q, DUELYST, theta, draws)
            b_first, a_second = twin.match(y, q, x, p, DUELYST, 1.0 - theta, draws)
            close(a[0], a_second[0])
            close(b[0], b_first[0])
            mirror_b, mirror_a = twin.match(mirrored(y), q[::-1], mirrored(x), p[::-1], DUELYST, theta, draws)
            close(a[0], mirror_a[0][::-1])
            close(b[0], mirror_b[0][::-1])
            if draws == "inside":
                close(a[1], b[1])


def test_any_score_by_a_loop_over_equation_1():
    x, p = np.array([-1.0, 0.5, 2.0]), np.array([0.2, 0.5, 0.3])
    y, q = np.array([0.0, 1.0]), np.array([0.6, 0.4])
    for theta, weight in ((0.0, 1.0), (0.3, 1.0), (0.5, 2.0), (1.0, 0.5)):
        weights = []
        for xi, pi in zip(x, p, strict=True):
            total = 0.0
            for yj, qj in zip(y, q, strict=True):
                luck = 0.1 + 0.8 / (1.0 + math.exp(yj - xi))
                total += qj * (luck**theta * (1.0 - luck) ** (1.0 - theta)) ** weight
            weights.append(pi * total)
        (posterior, evidence), _ = twin.match(x, p, y, q, DUELYST, theta, weight=weight)
        close(evidence, sum(weights))
        close(posterior, np.array(weights) / sum(weights))


def test_the_evidence_of_a_win_is_the_prediction_and_the_average_posterior_is_the_prior():
    p, q = CASES["strong_vs_weak"]
    win, loss = (twin.match(GRID, p, GRID, q, DUELYST, theta) for theta in (1.0, 0.0))
    prediction = twin.expected_score(GRID, p, GRID, q, DUELYST)
    close([win[0][1], win[1][1], 1.0 - loss[0][1]], prediction)
    for k, prior in enumerate((p, q)):
        close(prediction * win[k][0] + (1.0 - prediction) * loss[k][0], prior, atol=1e-18)


def test_sides_have_a_luck_function_each():
    def white(x, y):
        return LUCK["bradley_terry"](x + 0.3, y)

    def black(x, y):
        return LUCK["bradley_terry"](x, y + 0.3)

    p, q = twin.normal(GRID, 0.0, 0.7), twin.normal(GRID, 0.5, 0.4)
    shifted = twin.match(GRID + 0.3, p, GRID, q, LUCK["bradley_terry"], 0.3)
    sided = twin.match(GRID, p, GRID, q, white, 0.3, against=black)
    for k in range(2):
        close(sided[k][0], shifted[k][0])
        close(sided[k][1], shifted[k][1])
    apart(sided[0][0], twin.match(GRID, p, GRID, q, white, 0.3)[0][0], 1e-5)  # as if both had white


def test_a_belief_that_would_lose_all_its_mass_keeps_its_prior():
    x, p = np.array([0.0, 1.0]), np.array([0.25, 0.75])
    y, q = np.array([2.0, 3.0]), np.array([0.5, 0.5])
    for (posterior, evidence), prior in zip(twin.match(x, p, y, q, LUCK["heaviside"]), (p, q), strict=True):
        np.testing.assert_array_equal(posterior, prior)
        assert evidence == 0.0
    (posterior, evidence), _ = twin.match(x, p, y, q, LUCK["heaviside"], 0.0)
    close([*posterior, evidence], [0.25, 0.75, 1.0])


@pytest.mark.parametrize("theta", [0.0, 1.0])
def test_evidence_of_1e_48_without_luck(theta):
    x = np.array([-55.0, -54.0]) * (1.0 if theta == 1.0 else -1.0)
    (p, evidence), _ = twin.match(x, np.array([0.5, 0.5]), -x[:1], np.ones(1), LUCK["bradley_terry"], theta)
    close(evidence, (math.exp(-110.0) + math.exp(-109.0)) / 2)
    close(p, np.array([1.0, math.e]) / (1.0 + math.e))
    assert evidence < 1e-47
