"""The slow twin of BlatMMR against enumeration: distributions over distributions, sums, kernels and a league."""

import math
from functools import partial

import numpy as np
import pytest

from tests.reference import blat_twin as twin
from tests.reference.blat_twin import GRID, LUCK, Kernel
from tests.test_blat_twin import DUELYST, REFERENCE, apart, close

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
