"""BlatMMR against the golden numbers: matches, a league, kernels, and the paper's examples."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.numerics.fourier_convolution import grid_differences_in_fft_order, padded_spectrum_of_differences
from jaxrate.systems.blat_mmr import kernels
from jaxrate.systems.blat_mmr.kernels import PreparedKernelComponent, spread_belief
from tests.blat import ALGORITHMS, GRID, REFERENCE, Kernel, close, match, moments, start
from tests.conftest import mark_full
from tests.reference import blat_twin as twin
from tests.reference.blat_reference import CASES, KINDS, RESULTS

pytestmark = pytest.mark.usefixtures("double")


# Golden numbers: single matches

PAIRS = np.arange(30).reshape(15, 2)  # every case and result has two players of its own
SCORES = np.array([*RESULTS.values()] * len(CASES))
PRIORS = np.array([p for case in CASES.values() for _ in RESULTS for p in case])
CELLS = np.repeat(REFERENCE["single_cells"], len(RESULTS), axis=0).reshape(30, -1).astype(int)
SINGLE = REFERENCE["single_ref"].reshape(30, len(KINDS), -1)
STATISTICS = REFERENCE["single_statistics"].reshape(30, -1)
FAR = np.repeat(np.isin([*CASES], ["strong_vs_weak", "edge_hi_vs_edge_lo"]), 6)


def singles(system):
    """Beliefs [30, 1001] after the 15 matches, (mean, variance), and the evidence [30]."""
    system, state = jr.history.blat_mmr_beliefs.make_evidence_predicting_system(system), start(system, PRIORS)
    result, swapped = (
        jr.run(system, jr.matches(player, score), state=state, schedule="stream")
        for player, score in ((PAIRS, SCORES), (PAIRS[:, ::-1], 1.0 - SCORES))
    )
    close(swapped.state.belief, result.state.belief, atol=1e-15)
    evidence = np.stack([result.prediction, swapped.prediction], axis=1).ravel()
    return np.asarray(result.state.belief), moments(system, result.state), evidence


KINDS_OF_MATCHES = [("inside", "gaussian"), ("inside", None), ("outside", "gaussian")]


@pytest.mark.parametrize(
    ("algorithm", "draws", "kernel"),
    mark_full(
        [(algorithm, *kind) for algorithm in ALGORITHMS for kind in KINDS_OF_MATCHES],
        *(("fft", *kind) for kind in KINDS_OF_MATCHES),
        ("low_rank", "inside", "gaussian"),
    ),
)
def test_single_matches(algorithm, draws, kernel):
    belief, (mean, variance), evidence = singles(jr.blat_mmr(kernel=kernel, algorithm=algorithm, draws=draws))
    kind = ("inside", "outside").index(draws)
    close(np.take_along_axis(belief, CELLS, 1), SINGLE[:, kind if kernel else kind + 2])
    close(evidence, STATISTICS[:, 3 * kind + 2])
    if kernel:
        close(mean, STATISTICS[:, 3 * kind])
        close(variance, STATISTICS[:, 3 * kind + 1])


def test_single_matches_are_not_quite_the_authors():
    """Not his draws, the power of the sum, as default; never his R cut off at the width of the grid, nor 29 taps."""
    author = SINGLE[:, KINDS.index("author_fft")]
    inside, outside = (
        np.abs(np.take_along_axis(singles(jr.blat_mmr(draws=draws))[0], CELLS, 1) - author).max(axis=1)
        for draws in ("inside", "outside")
    )
    assert (outside[~FAR] < 1e-12).all()
    assert (outside[FAR] > 1e-8).all() and (outside[FAR] < 2e-6).all()  # R matters where players are far apart
    draw = np.repeat(SCORES == 0.5, 2)
    assert (inside[draw & ~FAR] > 2e-7).all() and (inside[draw & ~FAR] < 1e-4).all()
    close(inside[~draw], outside[~draw])


def cut_off(x, y):
    """Bradley-Terry whose R = F - H ends at the half width of the grid, as in the author's FFT."""
    return jnp.where(jnp.abs(x - y) > 7.0 + 1e-9, jnp.heaviside(x - y, 0.5), jax.nn.sigmoid(x - y))


def test_single_matches_with_r_cut_off_and_29_taps_are_the_authors():
    kernel = np.where(np.abs(GRID[:, None] - GRID) < 14.5 * 0.014, twin.kernel_matrix(GRID, twin.DUELYST), 0.0)
    luck = jr.extend.luck.Luck("cut off", cut_off)
    belief, (mean, variance), _ = singles(jr.blat_mmr(luck, kernel=Kernel(kernel), draws="outside", algorithm="naive"))
    np.testing.assert_allclose(
        np.take_along_axis(belief, CELLS, 1), SINGLE[:, KINDS.index("author_fft")], rtol=1e-10, atol=1e-15
    )
    close(mean, STATISTICS[:, 6])
    close(np.sqrt(variance), STATISTICS[:, 7])


def test_a_kernel_adds_its_whole_variance_unlike_29_taps():
    whole, trimmed = REFERENCE["kernel_variance"]
    point = np.where(np.arange(1001) == 500, 1.0, 0.0)
    for algorithm in ("auto", "naive"):
        after, _ = match(jr.blat_mmr("coin", algorithm=algorithm), [point, point])
        added = twin.moments(GRID, after[0])[1]
        np.testing.assert_allclose(added, whole, rtol=1e-12)
        assert added - trimmed > 3e-13


# Golden numbers: the league, kernels, Laplace sums, the paper's examples


@pytest.mark.parametrize("algorithm", mark_full(["auto", "fft"], "auto"))
def test_the_league_of_20_matches(algorithm):
    system, games = jr.blat_mmr(algorithm=algorithm), REFERENCE["league_matches"]
    state = system.init(system.params, 10)
    for (a, b, score), reference in zip(games, REFERENCE["league_history"], strict=True):
        state, prediction = jr.run(system, jr.matches([[a, b]], [float(score)]), state=state)
        close(prediction[0] if score else 1.0 - prediction[0], reference[0])
        (mean_a, mean_b), (variance_a, variance_b) = moments(
            system, state._replace(belief=state.belief[jnp.array([a, b])])
        )
        close([mean_a, variance_a, mean_b, variance_b], reference[2:])
    close(np.stack(moments(system, state), 1), REFERENCE["league_moments"])
    cells = REFERENCE["league_cells"].astype(int)
    close(np.take_along_axis(np.asarray(state.belief), cells, 1), REFERENCE["league_final_ref_inside_draw"])


@pytest.mark.parametrize("algorithm", mark_full(["auto", "naive", "fft"], "auto", "naive"))
def test_the_edges_of_a_kernel(algorithm):
    priors = {"edge": twin.normal(GRID, 6.5, 0.5), "centre": twin.normal(GRID, 0.3, 0.4)}
    for i, edges in enumerate(("global", "source")):
        system = jr.blat_mmr("coin", kernel=Kernel(edges=edges), algorithm=algorithm)
        after, _ = match(system, [*priors.values()])  # a coin tells nothing: only the kernel works
        close(after.sum(axis=1), 1.0)
        for p, name in zip(after, priors, strict=True):
            close(p[REFERENCE[f"{name}_cells"]], REFERENCE[name][1 + i])
            close(twin.moments(GRID, p)[0], REFERENCE[f"{name}_statistics"][1 + i])


@pytest.mark.parametrize("i", mark_full(range(4), 0, 2))
def test_laplace_sums_on_random_supports(i):
    x, p, y, b, q, t = (REFERENCE[f"laplace_{i}_{name}"] for name in ("x", "rho", "y", "b", "Q_ref", "T_ref"))
    sums = kernels.laplace_density_sum, kernels.laplace_cdf_sums
    density, (up, down) = jax.jit(lambda *arguments: [f(*arguments) for f in sums])(x, p, y, b)
    np.testing.assert_allclose(density, q, rtol=1e-11)
    np.testing.assert_allclose(up, t, rtol=1e-11)
    np.testing.assert_allclose(down, twin.laplace_cdf(x[None] - y[:, None], b) @ p, rtol=1e-11)


@pytest.mark.full  # its sums are above, and leagues have twins in `test_blat_mmr.py`
@pytest.mark.parametrize("algorithm", ["laplace", "fft"])
def test_laplace_luck_and_kernel_on_the_grid(algorithm):
    """The author's kernel of two components is 5e-3 and more away: he mirrors the first."""
    where, flat, opponent = REFERENCE["laplace_grid_cells"], np.full(1001, 1 / 1001), twin.normal(GRID, 0.7, 0.4)
    likelihood, _, spread_out, author = REFERENCE["laplace_grid"]
    game = jr.extend.luck.mixture([(0.6, 0.5), (0.4, 1.5)])
    system = jr.blat_mmr(game, kernel=None, draws="outside", algorithm=algorithm)
    after, prediction = match(system, [flat, opponent])
    close((after[0] * prediction * 1001)[where], likelihood)
    kernel = Kernel("laplace", weights=(0.97, 0.03), widths=(0.08, 1.0))
    system = jr.blat_mmr(
        jr.extend.luck.coin(), kernel=kernel, kernel_width=0.1, algorithm=algorithm.replace("laplace", "auto")
    )
    after, _ = match(system, [twin.normal(GRID, 0.7, 0.7), opponent])
    close(after[0][where], spread_out)
    assert np.abs(after[0][where] - author).max() > 5e-3


def test_example_4_1():
    system = jr.blat_mmr("ratio", support=[2, 5, 13], beta=1, kernel=None)
    belief = np.array([9, 3, 8]) / 20, np.array([2, 4, 5]) / 11
    after, prediction = match(system, belief, support=[[2, 5, 13], [3, 7, 11]])
    close(after, [REFERENCE["example_4_1_exact_A"], REFERENCE["example_4_1_exact_B"]], rtol=1e-14)
    close(after[0] * prediction, REFERENCE["example_4_1_unnormalised_A"], rtol=1e-14)
    close(prediction, REFERENCE["example_4_1_evidence"][0], rtol=1e-14)


@pytest.mark.parametrize("algorithm", ["band", "fft", "naive"])
def test_example_4_2_a_kernel_of_three_points(algorithm):
    """The author's naive kernel, which does not smooth, is 0.07 away."""
    n = np.arange(1, 101)
    p = jnp.asarray(np.where(np.sqrt(n) % 1 == 0, 0.1, 0.0))
    matrix = jnp.asarray(np.where(abs(n[:, None] - n) <= 1, 1 / 3, 0.0))
    tables = {
        "band": jnp.full(3, 1 / 3),
        "fft": padded_spectrum_of_differences(jnp.where(abs(grid_differences_in_fft_order(100)) <= 1.0, 1 / 3, 0.0)),
        "naive": matrix,
    }
    after = spread_belief(
        "global", algorithm, [PreparedKernelComponent(1.0, tables[algorithm], jnp.sum(matrix, axis=0))], p
    )
    close(after, REFERENCE["example_4_2_correct"])
    assert np.abs(after - REFERENCE["example_4_2_author_naive_kernel"]).max() > 0.07


def test_example_2_15_beliefs_over_distributions():
    a, b = REFERENCE["example_2_15_muA"], REFERENCE["example_2_15_muB"]
    support = np.broadcast_to(REFERENCE["example_2_15_S"], a.shape)
    system = jr.blat_mmr("heaviside", support=support, inner=a, beta=0.6)
    belief = [REFERENCE["example_2_15_alpha"], [*REFERENCE["example_2_15_beta"], 0.0]]  # B has two, and one unused
    leaves = dict(inner=[a, [*b, b[0]]])
    (win, loss), prediction = match(system, belief, **leaves)
    close(win, REFERENCE["example_2_15_posterior_A_win"], rtol=1e-14)
    close(loss, [*REFERENCE["example_2_15_posterior_B_loses"], 0.0], rtol=1e-14)
    close(prediction, REFERENCE["example_2_15_evidence"][0], rtol=1e-14)
    (draw, _), _ = match(system, belief, 0.5, **leaves)
    close(draw, REFERENCE["example_2_15_draw_eq1_posterior_A"])
    outside = jr.blat_mmr("heaviside", support=support, inner=a, beta=0.6, draws="outside")
    assert np.abs(match(outside, belief, 0.5, **leaves)[0][0] - draw).max() > 1e-4


def test_example_2_14_two_people_share_an_account():
    wins, losses, mean, beta_mean = REFERENCE["example_2_14"]
    chance = (np.arange(200) + 0.5) / 200  # that Alice (-1) plays, not Abi (1); B is always 0
    inner = np.stack([chance, 1.0 - chance], 1)
    system = jr.blat_mmr("heaviside", support=np.broadcast_to([-1.0, 1.0], (200, 2)), inner=inner, beta=1)
    state = system.init(system.params, 2)
    support = np.array(state.support)
    support[1] = 0.0
    state = state._replace(support=jnp.asarray(support))
    score = [1.0] * int(wins) + [0.0] * int(losses)
    state = jr.run(system, jr.matches([[0, 1]] * len(score), score), state=state).state
    wanted, belief = chance**losses * (1.0 - chance) ** wins, np.asarray(state.belief)
    close(belief[0], wanted / wanted.sum())
    close(belief[1], 1 / 200)
    close(np.sum(belief[0] * chance), mean)
    np.testing.assert_allclose(mean, beta_mean, rtol=1e-8)
    close(moments(system, state)[0], [1.0 - 2.0 * mean, 0.0])


def test_example_2_10_beats_in_a_circle():
    support = [[3.0, 3.0, 3.0], [4.0, 4.0, 1.0], [5.0, 2.0, 2.0]]
    system = jr.blat_mmr("two_of_three", support=support, beta=1, kernel=None)
    prediction = jr.predict(system, start(system, np.eye(3)), jr.matches([[0, 1], [1, 2], [2, 0]], [0.0] * 3))
    close(prediction, REFERENCE["example_2_10"], atol=1e-300)
    after, prediction = match(system, [[0.5, 0.0, 0.5], [0.0, 0.25, 0.75]])
    close([*after[0], prediction], [0.75 / 1.375, 0.0, 0.625 / 1.375, 1.375 / 2])


def test_figure_3_1():
    """Matches on a grid in rating points against an opponent who is 2000 for certain."""
    system = jr.blat_mmr("bradley_terry_400", half_width=5000, kernel=None, algorithm="fft")
    x = np.linspace(-5000, 5000, 1001)
    cases = [(m, sigma) for sigma in REFERENCE["figure_sigma"] for m in REFERENCE["figure_m"]]
    belief = [twin.normal(x, m - 1500.0, sigma) for m, sigma in cases]
    state = start(system, [*belief, np.where(x == 500.0, 1.0, 0.0)])
    last = len(cases)
    matches = jr.matches([[i, last] for i in range(last)], np.ones(last))
    for beta, wanted in zip(REFERENCE["figure_beta"], REFERENCE["figure_change"], strict=True):
        params = system.params._replace(beta=beta)
        after = jr.run(system, matches, params=params, state=state, schedule="stream").state
        change = (moments(system, after)[0] - moments(system, state)[0])[:last]
        np.testing.assert_allclose(change, wanted.ravel(), rtol=1e-9, atol=1e-9)
