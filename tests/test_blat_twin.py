"""The BlatMMR twin against the golden numbers; the author's that it must not reproduce are explained instead."""

import math
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.reference import blat_twin as twin
from tests.reference.blat_reference import CASES, RESULTS
from tests.reference.blat_twin import GRID, LUCK, Kernel

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


# The slow twin of BlatMMR against enumeration: distributions over distributions, sums, kernels and a league.

# Distributions over distributions


def test_example_2_15():
    support = REFERENCE["example_2_15_S"]
    alpha, beta = REFERENCE["example_2_15_alpha"], REFERENCE["example_2_15_beta"]
    a, b = ([(support, mu) for mu in REFERENCE[f"example_2_15_mu{player}"]] for player in "AB")
    play = partial(twin.match_between_mixtures, alpha, a, beta, b, twin.mixed(LUCK["heaviside"], 0.6))
    luck, (win, evidence), (loses, evidence_b) = play()
    close(luck, REFERENCE["example_2_15_L"])
    close(win, REFERENCE["example_2_15_posterior_A_win"])
    close(loses, REFERENCE["example_2_15_posterior_B_loses"])
    close([evidence, evidence_b], REFERENCE["example_2_15_evidence"][0])
    close(play(theta=0.5)[1][0], REFERENCE["example_2_15_draw_eq1_posterior_A"])
    apart(play(theta=0.5, draws="outside")[1][0], REFERENCE["example_2_15_draw_eq1_posterior_A"], 1e-4)


def test_dirac_only_mixtures_are_a_match():
    rng = np.random.default_rng(2)
    (x, y), (p, q) = rng.normal(size=(2, 6)), rng.dirichlet(np.ones(6), 2)
    a, b = ([(point, np.ones(1)) for point in support[:, None]] for support in (x, y))
    for theta in (0.0, 0.5, 1.0):
        _, of_a, of_b = twin.match_between_mixtures(p, a, q, b, DUELYST, theta)
        for (mixture, e), (dirac, f) in zip((of_a, of_b), twin.match(x, p, y, q, DUELYST, theta), strict=True):
            close(mixture, dirac)
            close(e, f)


def test_example_2_14_is_a_beta_distribution_and_needs_more_than_dirac():
    wins, losses, mean, beta_mean = REFERENCE["example_2_14"]
    chance = (np.arange(200) + 0.5) / 200
    results = [1.0] * int(wins) + [0.0] * int(losses)
    p = twin.shared_account(chance, -1.0, 1.0, 0.0, results)  # x1 < y < x2: Alice loses, Abi wins
    close((p * chance).sum(), mean)
    close(p, chance**losses * (1 - chance) ** wins / (chance**losses * (1 - chance) ** wins).sum())
    assert (p * chance).sum() == pytest.approx(beta_mean, abs=1e-8)
    assert beta_mean == (losses + 1) / (wins + losses + 2)
    # Dirac-only: after A > B and B > A only y is left, and A > C at z > y has no evidence.
    x = np.array([-1.0, 0.0, 0.5, 1.0])
    p = np.full(4, 0.25)
    for theta in (1.0, 0.0):
        (p, _), _ = twin.match(x, p, np.zeros(1), np.ones(1), LUCK["heaviside"], theta)
    np.testing.assert_array_equal(p, [0, 1, 0, 0])
    (after, evidence), _ = twin.match(x, p, np.full(1, 0.7), np.ones(1), LUCK["heaviside"], 1.0)
    np.testing.assert_array_equal(after, p)
    assert evidence == 0.0


# Prefix sums and Laplace sums


def test_algorithm_4_3_is_the_sum_with_the_heaviside_function():
    q = np.random.default_rng(3).dirichlet(np.ones(50))
    k = np.arange(50)
    close(twin.heaviside_sums(q), LUCK["heaviside"](k[:, None], k[None, :]) @ q, rtol=1e-14)


@pytest.mark.parametrize("i", range(4))
def test_laplace_sums_on_random_supports(i):
    x, p, y, b, q, t = (REFERENCE[f"laplace_{i}_{name}"] for name in ("x", "rho", "y", "b", "Q_ref", "T_ref"))
    assert len(set(x) & set(y)) == 5  # points in common, where <= and > differ
    close(twin.laplace_q(x, p, y, b), q, rtol=1e-13)
    close(twin.laplace_t(x, p, y, b), t, rtol=1e-13)


LAPLACE_LUCK = twin.mixed(partial(twin.laplace_luck, components=((0.6, 0.5), (0.4, 1.5))), 0.8)
LAPLACE_KERNEL = Kernel(((0.97, 0.008), (0.03, 0.1)), shape="laplace", step=0.014)


def test_a_laplace_match_on_the_grid():
    where, opponent = REFERENCE["laplace_grid_cells"], twin.normal(GRID, 0.7, 0.4)
    likelihood, author = REFERENCE["laplace_grid"][:2]
    flat = np.full(1001, 1 / 1001)
    (p, evidence), _ = twin.match(GRID, flat, GRID, opponent, LAPLACE_LUCK)
    close((p * evidence * 1001)[where], likelihood)
    close(author, likelihood)
    sums = 0.6 * twin.laplace_t(GRID, opponent, GRID, 0.5) + 0.4 * twin.laplace_t(GRID, opponent, GRID, 1.5)
    close(0.1 + 0.8 * sums[where], likelihood)


def test_a_laplace_kernel_normalises_each_component_first():
    """The paper's bare densities are 9e-7 off, one width being below the step of the grid."""
    where, before = REFERENCE["laplace_grid_cells"], twin.normal(GRID, 0.7, 0.7)
    expected, author = REFERENCE["laplace_grid"][2:]
    after = twin.spread(GRID, before, LAPLACE_KERNEL)
    close(after[where], expected)
    bare = twin.spread(GRID, before, LAPLACE_KERNEL._replace(step=None))
    apart(bare[where], expected, 5e-7)
    np.testing.assert_allclose(bare, after, rtol=0, atol=9e-7)
    direct = 0.97 * twin.laplace_q(GRID, before, GRID, 0.008) + 0.03 * twin.laplace_q(GRID, before, GRID, 0.1)
    close(bare, direct / direct.sum())
    # Deliberately not reproduced: the author's two components, the first mirrored, the second at the lower edge.
    apart(author, expected, 5e-3)
    first = twin.spread(GRID, before, Kernel(((1.0, 0.008),), shape="laplace"))
    np.testing.assert_allclose(author[10:30], 0.97 * first[::-1][where][10:30], rtol=1e-9)
    leak = 0.03 * (1 - math.exp(-0.14)) * np.exp(-0.14 * where[:3])
    np.testing.assert_allclose(author[:3], leak, rtol=1e-6)


# Kernels


def test_example_4_2_and_the_authors_naive_kernel_which_does_not_smooth():
    n = np.arange(1, 101)
    p = np.where(np.sqrt(n) % 1 == 0, 0.1, 0.0)
    matrix = np.where(np.abs(n[:, None] - n[None, :]) <= 1, 1 / 3, 0.0)
    after = twin.spread_by(matrix, p)
    union = sorted({square + d for square in n[p > 0] for d in (-1, 0, 1)} & set(n))
    assert len(union) == 28
    np.testing.assert_array_equal(n[after > 0], union)
    close(after[after > 0], 1 / 28)
    close(after, REFERENCE["example_4_2_correct"])
    close(after, REFERENCE["example_4_2_author_fft_kernel"], atol=1e-15)
    author = REFERENCE["example_4_2_author_naive_kernel"]
    apart(after, author, 0.07)
    naive = p * matrix.sum(0)  # probs[i] where probs[j] belongs
    close(naive / naive.sum(), author)


@pytest.mark.parametrize(("name", "mean", "sd"), [("edge", 6.5, 0.5), ("centre", 0.3, 0.4)])
def test_the_edges_of_a_kernel(name, mean, sd):
    where, before = REFERENCE[f"{name}_cells"], twin.normal(GRID, mean, sd)
    source = Kernel(edges="source")
    after = {kernel.edges: twin.spread(GRID, before, kernel) for kernel in (twin.DUELYST, source)}
    lost = 1.0 - (twin.kernel_matrix(GRID, Kernel(step=0.014)) @ before).sum()
    close(before[where], REFERENCE[name][0])
    close(after["global"][where], REFERENCE[name][1])
    close(after["source"][where], REFERENCE[name][2])
    np.testing.assert_allclose(after["global"][where], REFERENCE[name][3], rtol=0, atol=5e-14)
    means = [twin.moments(GRID, p)[0] for p in (before, *after.values())]
    statistics = [*means, lost, np.abs(after["global"] - after["source"]).max()]
    np.testing.assert_allclose(statistics, REFERENCE[f"{name}_statistics"], rtol=1e-12, atol=2e-15)
    close((twin.kernel_matrix(GRID, source) @ before).sum(), 1.0)
    if name == "edge":  # (6) is not what the author's program does
        apart(after["source"][where], REFERENCE[name][3], 1e-3)


def test_a_kernel_adds_its_variance_and_trimming_it_takes_some_away():
    point = np.where(np.arange(1001) == 500, 1.0, 0.0)
    whole, trimmed = REFERENCE["kernel_variance"]
    after = twin.spread(GRID, point, twin.DUELYST)
    close(twin.moments(GRID, after)[1], whole)
    middle = np.abs(np.arange(1001) - 500) <= 14
    np.testing.assert_allclose(twin.moments(GRID[middle], after[middle] / after[middle].sum())[1], trimmed, rtol=1e-13)
    assert whole - trimmed > 3e-13


def test_mixtures_of_gaussians_add_what_their_components_add():
    point = np.where(np.arange(1001) == 500, 1.0, 0.0)
    one, two = (twin.spread(GRID, point, Kernel(((1.0, width),))) for width in (0.03, 0.2))
    for edges in ("global", "source"):
        mixture = Kernel(((0.9, 0.03), (0.1, 0.2)), edges=edges, step=0.014)
        close(twin.spread(GRID, point, mixture), 0.9 * one + 0.1 * two)
    narrow = Kernel(((0.9, 0.003), (0.1, 0.2)))  # below the step bare densities weigh .003 by step/(.003 sqrt(2 pi))
    bare = twin.spread(GRID, point, narrow)
    weight = 0.9 * 0.014 / (0.003 * math.sqrt(2 * math.pi))
    close(bare[520] / two[520], 0.1 / (weight + 0.1), rtol=1e-4)
    close(twin.spread(GRID, point, narrow._replace(step=0.014))[520] / two[520], 0.1, rtol=1e-4)


def test_per_source_edges_weigh_components_after_normalising_them():
    at_edge = np.where(np.arange(1001) == 1000, 1.0, 0.0)
    after = twin.spread(GRID, at_edge, Kernel(((0.5, 0.03), (0.5, 1.0)), edges="source"))
    one, two = (twin.spread(GRID, at_edge, Kernel(((1.0, width),))) for width in (0.03, 1.0))
    close(after, 0.5 * one + 0.5 * two)


@pytest.mark.parametrize(("shape", "per_width"), [("gaussian", 1.0), ("laplace", 2.0)])
def test_elapsed_time_scales_the_variance(shape, per_width):
    point = np.where(np.arange(1001) == 500, 1.0, 0.0)
    kernel = Kernel(((1.0, 0.05),), shape=shape, step=0.014)
    for time in (1.0, 2.5, 9.0):
        variance = twin.moments(GRID, twin.spread(GRID, point, kernel, time))[1]
        # A sampled Laplace density has b^2 (h/b)^2/(2 (cosh(h/b) - 1)) for b^2, nearly 1 - (h/b)^2/12.
        ratio = 0.014 / (0.05 * math.sqrt(time))
        sampled = ratio**2 / (2 * (math.cosh(ratio) - 1)) if shape == "laplace" else 1.0
        close(variance, per_width * 0.0025 * time * sampled, rtol=1e-9)
    np.testing.assert_array_equal(twin.spread(GRID, point, kernel, 0.0), point)
    np.testing.assert_array_equal(twin.spread(GRID, point, Kernel(())), point)


def test_a_kernel_on_any_support():
    x, p = np.array([0.0, 0.1, 0.5]), np.array([0.5, 0.2, 0.3])
    expected = np.array(
        [sum(p[k] * math.exp(-((x[i] - x[k]) ** 2) / (2 * 0.2**2)) for k in range(3)) for i in range(3)]
    )
    close(twin.spread(x, p, Kernel(((1.0, 0.2),))), expected / expected.sum())


# A league


@pytest.mark.full
def test_the_league_of_20_matches():
    history = [
        (float(t), [(int(a), int(b), float(s), 0, 1.0)]) for t, (a, b, s) in enumerate(REFERENCE["league_matches"])
    ]
    beliefs, rows = twin.league(history, DUELYST)
    final = REFERENCE["league_final_ref_inside_draw"]
    np.testing.assert_array_equal(REFERENCE["league_final_ref_marginal_draw"], final)  # no draws: either way
    for player in range(10):
        support, p = beliefs[player]
        where = REFERENCE["league_cells"][player]
        close(p[where], final[player])
        np.testing.assert_allclose(p[where], REFERENCE["league_final_author_fft"][player], rtol=0, atol=1e-13)
        np.testing.assert_allclose(
            twin.moments(support, p), REFERENCE["league_moments"][player], rtol=1e-12, atol=1e-14
        )
    history, author = REFERENCE["league_history"], REFERENCE["league_author_history"]
    assert len(rows) == len(history) == 20
    score = REFERENCE["league_matches"][:, 2]
    for row, reference, theirs, won in zip(rows, history, author, score, strict=True):
        (mean_a, mean_b), (variance_a, variance_b) = row.mean, row.variance
        close(row.evidence, reference[:2])
        close(row.prediction if won else 1.0 - row.prediction, reference[0])
        np.testing.assert_allclose([mean_a, variance_a, mean_b, variance_b], reference[2:], rtol=1e-12, atol=1e-14)
        mine = [row.evidence[0], mean_a, math.sqrt(variance_a), mean_b, math.sqrt(variance_b)]
        np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-12)


SMALL = np.linspace(-3.0, 3.0, 61)
WIDE = Kernel(((1.0, 0.2),))


@pytest.mark.parametrize("draws", ["inside", "outside"])
def test_a_league_with_growth_widths_sides_and_first_beliefs(draws):
    """Three matches by hand: what the league does in between, in its order."""

    def white(x, y):
        return LUCK["bradley_terry"](x + 0.3, y)

    def black(x, y):
        return LUCK["bradley_terry"](x, y + 0.3)

    own = np.array([-1.0, 0.0, 2.0]), np.array([0.2, 0.5, 0.3])
    growth = Kernel(((1.0, 0.1),))
    history = [(2.0, [("a", "b", 1.0, 1, 1.0)]), (6.0, [("b", "a", 0.5, -1, 2.0), ("a", "c", 0.0, 0, 1.0)])]
    beliefs, rows = twin.league(
        history, DUELYST, SMALL, WIDE, {"b": Kernel(())}, growth, (white, black), draws, {"c": own}
    )
    a = b = twin.normal(SMALL)
    (a, first), (b, _) = twin.match(SMALL, a, SMALL, b, white, 1.0, draws, black)
    a = twin.spread(SMALL, a, WIDE)
    a, b = twin.spread(SMALL, a, growth, 4.0), twin.spread(SMALL, b, growth, 4.0)
    prediction = twin.expected_score(SMALL, b, SMALL, a, black)
    (b, second), (a, of_a) = twin.match(SMALL, b, SMALL, a, black, 0.5, draws, white, 2.0)
    a = twin.spread(SMALL, a, WIDE)
    (a, third), (c, _) = twin.match(SMALL, a, *own, DUELYST, 0.0, draws)
    a, c = twin.spread(SMALL, a, WIDE), twin.spread(own[0], c, WIDE)
    for player, support, p in (("a", SMALL, a), ("b", SMALL, b), ("c", own[0], c)):
        np.testing.assert_array_equal(beliefs[player][0], support)
        close(beliefs[player][1], p)
    close([row.evidence[0] for row in rows], [first, second, third])
    close(rows[1].evidence, [second, of_a])
    assert (abs(second - of_a) > 1e-6) == (draws == "outside")
    close(rows[1].prediction, prediction)
    close(rows[2].mean, [twin.moments(SMALL, a)[0], twin.moments(own[0], c)[0]])


def test_growth_waits_until_the_grid_can_hold_it():
    """0.04 sqrt(5) < a step of 0.1 < 0.04 sqrt(7): c's games at 5 and 7 spread a once, by all 7."""
    growth = Kernel(((0.4, 0.08), (0.6, 0.04)), step=0.1)
    history = [(time, [("a", opponent, 1.0, 0, 1.0)]) for time, opponent in ((1.0, "b"), (6.0, "c"), (8.0, "d"))]
    (_, p), none = (
        twin.league(history, DUELYST, SMALL, Kernel(()), growth=g)[0]["a"] for g in (growth, growth._replace(step=None))
    )
    a = twin.normal(SMALL)
    for time in (0.0, 0.0, 7.0):
        (a, _), _ = twin.match(SMALL, twin.spread(SMALL, a, growth, time), SMALL, twin.normal(SMALL), DUELYST)
    close(p, a)
    apart(none[1], p, 1e-6)  # without a step it never waits
    np.testing.assert_array_equal([twin.can_be_seen(growth, time) for time in (0.0, 6.24, 6.26)], [False, False, True])


# Figure 3.1


def test_figure_3_1_at_every_point():
    changes = [
        [[twin.mean_change(m, sigma, beta) for m in REFERENCE["figure_m"]] for sigma in REFERENCE["figure_sigma"]]
        for beta in REFERENCE["figure_beta"]
    ]
    np.testing.assert_allclose(changes, REFERENCE["figure_change"], rtol=1e-11, atol=1e-13)
    for m, sigma, beta, change in REFERENCE["figure_40_digits"]:
        close(twin.mean_change(m, sigma, beta), change, rtol=1e-11)


def test_figure_3_1_has_its_maxima_at_the_right_integers():
    for i, beta in enumerate(REFERENCE["figure_beta"]):
        for j, sigma in enumerate(REFERENCE["figure_sigma"]):
            m, maximum = REFERENCE["figure_maximum"][i, j]
            change = partial(twin.mean_change, sigma=sigma, beta=beta)
            close(change(m), maximum)
            assert all(change(n) < maximum for n in (m - 1, m + 1) if 0 <= n <= 4000)
            assert all(change(n) <= maximum * (1 + 1e-14) for n in range(0, 4001, 40))


def test_figure_3_1_without_luck_tends_to_its_limit():
    for sigma, limit in zip(REFERENCE["figure_sigma"], REFERENCE["figure_limit"], strict=True):
        close(sigma**2 * math.log(10.0) / 400.0, limit)
        np.testing.assert_allclose(twin.mean_change(-9000.0, sigma, 1.0), limit, rtol=1e-11)
        assert twin.mean_change(-9000.0, sigma, 0.99) < 1e-9


def test_figure_3_1_is_a_match_on_a_grid():
    x = np.linspace(0.0, 3000.0, 3001)
    p = twin.normal(x, 1500.0, 100.0)
    (after, _), _ = twin.match(x, p, np.array([2000.0]), np.ones(1), twin.mixed(LUCK["bradley_terry_400"], 0.8))
    np.testing.assert_allclose(twin.moments(x, after)[0] - 1500.0, twin.mean_change(1500.0, 100.0, 0.8), rtol=1e-10)
