"""BlatMMR where it is another system, where it converges, and in hard cases."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from tests.blat import MATCHES, POINTS, Kernel, close, match, moments, ratings, start
from tests.conftest import MOSTLY_DOUBLE, MOSTLY_SINGLE, mark_full
from tests.reference import blat_twin as twin

pytestmark = pytest.mark.usefixtures("double")

# The paper's special cases


def test_a_narrow_belief_is_updated_as_by_glicko():
    """Example 2.18: the means differ by the 4th power of the deviation, the deviations by the 5th."""
    system, other = jr.blat_mmr(half_width=3, beta=1, kernel=None), jr.glicko(c=0, deviation_min=None)
    x, mean = np.linspace(-3, 3, 1001), np.array([0.4, -0.3])
    for score in (1.0, 0.0):
        apart = []
        for s in (0.24, 0.12, 0.06):
            state = start(system, [twin.normal(x, m, s) for m in mean])
            glicko = other.init(other.params, 2)._replace(
                rating=jnp.asarray(1500.0 + POINTS * mean), variance=jnp.full(2, (POINTS * s) ** 2)
            )
            matches = jr.matches([[0, 1]], [score])
            one, two = (ratings(z, jr.run(z, matches, state=y).state) for z, y in ((system, state), (other, glicko)))
            moved = np.abs(np.asarray(one.mean) - 1500.0 - POINTS * mean)
            apart.append(np.array([np.abs(one.mean - two.mean), np.abs(one.deviation - two.deviation)]))
            assert (apart[-1][0] < 0.5 * s**2 * moved).all()
        orders = np.log2([apart[0] / apart[1], apart[1] / apart[2]])
        np.testing.assert_allclose(orders[:, 0], 4.0, atol=0.3)
        assert (orders[:, 1] > 4.5).all()


def test_without_luck_a_hopeless_underdog_jumps_by_a_limit():
    """Section 3: sigma^2 ln 10 / 400 points, but nothing with a little luck."""
    x = np.linspace(-4500, 4500, 901)
    system = jr.blat_mmr("bradley_terry_400", 901, 4500, kernel=None, algorithm="naive", beta=1)
    favourite, limit = np.where(x == 500.0, 1.0, 0.0), 100.0**2 * math.log(10.0) / 400.0
    jump = []
    for m in (-500.0, -1500.0, -3500.0):
        after, _ = match(system, [twin.normal(x, m, 100.0), favourite])
        jump.append(twin.moments(x, after[0])[0] - m)
    assert jump[0] < jump[1] < jump[2] <= limit
    np.testing.assert_allclose(jump[2], limit, rtol=1e-8)
    after, _ = match(
        system._replace(params=system.params._replace(beta=0.99)), [twin.normal(x, -3500.0, 100.0), favourite]
    )
    assert abs(twin.moments(x, after[0])[0] + 3500.0) < 1e-5


@pytest.mark.parametrize(
    ("luck", "draws", "bound", "order"),
    mark_full(
        [("bradley_terry", True, 1e-8, None), ("heaviside", False, 0.05, 2), ("heaviside", True, 1.5, 1)],
        *(("heaviside", False, 0.05, 2), ("heaviside", True, 1.5, 1)),
    ),
)
def test_finer_grids_converge(luck, draws, bound, order):
    """Ratings in points after a league.

    Analytic luck is exact on any grid. A jump costs the square of the step; and with draws the step itself, since
    sqrt(L L') has another value on the jump than to either side.
    """
    matches = jr.matches(MATCHES.player, MATCHES.score if draws else np.round(MATCHES.score))
    means = []
    for size in (201, 401, 801) if order else (401, 801):
        system = jr.blat_mmr(luck, size, kernel_width=0.2, algorithm="fft")
        means.append(np.asarray(ratings(system, jr.run(system, matches).state).mean))
    change = np.abs(np.diff(means, axis=0)).max(axis=1)
    assert change[-1] < bound
    if order:
        np.testing.assert_allclose(np.log2(change[0] / change[1]), order, atol=0.2)


# Hard cases


def whole(belief):
    """No NaN, nothing below zero, mass one."""
    belief = np.asarray(belief, float)
    assert (belief >= 0.0).all()
    np.testing.assert_allclose(belief.sum(axis=-1), 1.0, rtol=1e-6)


OPPOSITE = np.linspace(-7.5, 7.5, 501)
UNDERDOG = [twin.normal(OPPOSITE, m, 0.05) for m in (-7.25, 7.25)]


def test_evidence_of_1e_48():
    system = jr.blat_mmr("thurstone_mosteller", 501, 7.5, None, "naive", beta=1)
    wanted = twin.match(OPPOSITE, UNDERDOG[0], OPPOSITE, UNDERDOG[1], twin.thurstone_mosteller)
    after, prediction = match(system, UNDERDOG)
    assert 1e-49 < wanted[0][1] < 1e-46
    np.testing.assert_allclose(prediction, wanted[0][1], rtol=1e-9)
    close(after, [wanted[0][0], wanted[1][0]])


def test_chances_below_float32_leave_the_prior():
    with jax.enable_x64(False):
        system = jr.blat_mmr("thurstone_mosteller", 501, 7.5, None, "naive", beta=1)
        np.testing.assert_allclose(match(system, UNDERDOG)[0], UNDERDOG, rtol=1e-5, atol=1e-9)


@MOSTLY_SINGLE
@pytest.mark.parametrize("algorithm", mark_full(["fft", "low_rank"], "low_rank"))
@pytest.mark.parametrize("strength", [3.0, 6.0])
def test_evidence_below_rounding(x64, algorithm, strength):
    """Between the prior and the exact posterior a belief may stop, but it stays a belief."""
    x = np.linspace(-7, 7, 501)
    p, q = twin.normal(x, -strength, 0.3), twin.normal(x, strength, 0.3)
    (exact, _), _ = twin.match(x, p, x, q, twin.thurstone_mosteller)
    system = jr.blat_mmr("thurstone_mosteller", 501, kernel=None, algorithm=algorithm, beta=1)
    after, _ = match(system, [p, q])
    whole(after)
    for belief, sign in zip(after, (1.0, -1.0), strict=True):
        mean, variance = twin.moments(sign * x, belief)
        assert -strength - 0.01 <= mean <= twin.moments(x, exact)[0] + 0.01
        assert 0.28 < math.sqrt(variance) < 0.31


@MOSTLY_SINGLE
@pytest.mark.parametrize("luck", ["heaviside", "trueskill(0.5)"])
@pytest.mark.parametrize("algorithm", ["naive", "fft"])
def test_a_certain_result_contradicted_leaves_the_prior(x64, luck, algorithm):
    x = np.linspace(-7, 7, 301)
    p = [np.where(abs(x - m) < 1.0, twin.normal(x, m, 0.4), 0.0) for m in (-3.0, 3.0)]
    p = np.array([q / q.sum() for q in p])
    system = jr.blat_mmr(luck, 301, kernel=None, algorithm=algorithm, beta=1)
    after, prediction = match(system, p)
    whole(after)
    assert prediction == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(after, p, rtol=1e-5, atol=1e-9)


@MOSTLY_DOUBLE
@pytest.mark.parametrize(
    ("algorithm", "kernel"),
    mark_full(
        [
            ("naive", "gaussian"),
            ("low_rank", Kernel(edges="source")),
            ("fft", "gaussian_by_time"),
            ("low_rank", "laplace"),
        ],
        ("fft", "gaussian_by_time"),
    ),
)
def test_mass_stays_one(x64, algorithm, kernel):
    """At the edges, by 2,000 wins alike, by matches that count little or much, over time."""
    system = jr.blat_mmr(size=101, half_width=7, kernel=kernel, algorithm=algorithm, kernel_width=0.3, beta=1)
    belief = [twin.normal(np.linspace(-7, 7, 101), m, 0.4) for m in (7.0, -7.0)]
    n = 2000
    most = 50.0 if x64 or algorithm == "naive" else 10.0  # more is refused in float32
    weight = np.random.default_rng(9).choice([1e-3, 1.0, most], n)
    for player, weights in (([0, 1], np.ones(n)), ([1, 0], weight)):
        matches = jr.matches([player] * n, np.ones(n), np.arange(n) * 0.7, weight=weights)
        result = jr.run(system, matches, state=start(system, belief))
        whole(result.state.belief)
        prediction = np.asarray(result.prediction)
        assert ((prediction >= 0.0) & (prediction <= 1.0)).all()
        mean = moments(system, result.state)[0]
        assert (np.diff(mean[player]) < 0.0).all()  # who won it all is ahead in the end
    rating = ratings(system, result.state)
    assert bool(jnp.isfinite(rating.mean).all() & (rating.deviation >= 0.0).all())


@pytest.mark.parametrize("kernel", ["gaussian", "laplace", None])
def test_a_support_of_one_point(kernel):
    system = jr.blat_mmr(support=[0.3], kernel=kernel)
    result = jr.run(system, jr.matches([[0, 1], [1, 0]], [1.0, 1.0]))
    close(result.state.belief, 1.0)
    close(result.prediction, 0.5)
    rating = ratings(system, result.state)
    close(rating.mean, 1500.0 + 0.3 * POINTS)
    close(rating.deviation, 0.0)


def test_a_matrix_of_chances_is_a_luck_function():
    strengths, random = np.array([-1.0, 0.5, 2.0]), np.random.default_rng(5)
    upper = np.triu(random.uniform(0.2, 0.8, (3, 3)), 1)
    chances = upper + np.tril(1.0 - upper.T, -1) + 0.5 * np.eye(3)
    system = jr.blat_mmr(jr.extend.luck.matrix(strengths, chances), support=strengths, kernel="none", beta=1.0)
    prior = np.asarray(system.init(system.params, 1).belief[0], np.float64)
    result = jr.run(system, jr.matches([[0, 1]], [1.0]))
    np.testing.assert_allclose(result.prediction[0], prior @ chances @ prior, rtol=1e-6)
    np.testing.assert_allclose(result.state.belief[0], prior * (chances @ prior) / (prior @ chances @ prior), rtol=1e-6)
    with pytest.raises(ValueError, match="strengths"):
        jr.extend.luck.matrix([1.0, 0.0], np.full((2, 2), 0.5))


@pytest.mark.parametrize("algorithm", ["naive", "fft", "low_rank"])
def test_a_side_of_less_than_one_counts_in_part(algorithm):
    system = jr.blat_mmr(size=501, algorithm=algorithm, side_advantage=200.0, kernel="none")
    half = jr.run(system, jr.matches([[0, 1]], [1.0], side=[0.5])).prediction
    whole = jr.run(jr.blat_mmr(size=501, side_advantage=100.0, kernel="none"), jr.matches([[0, 1]], [1.0], side=[1.0]))
    np.testing.assert_allclose(half, whole.prediction, rtol=2e-6)


def test_a_width_of_zero_keeps_a_player_as_known():
    system = jr.blat_mmr(size=501, kernel=Kernel(own=True), kernel_width=0.2, beta=0.0)
    start = system.init(system.params, 2)._replace(width=np.array([0.0, 1.0], np.float32))
    after = jr.run(system, jr.matches([[0, 1]], [1.0]), state=start).state
    np.testing.assert_allclose(after.belief[0], start.belief[0], rtol=1e-5)
    deviation = np.asarray(ratings(system, after).deviation) / POINTS
    np.testing.assert_allclose(deviation, [0.7, np.hypot(0.7, 0.2)], rtol=1e-4)


def test_a_state_of_another_grid_is_refused():
    other = jr.blat_mmr(size=1201)
    with pytest.raises(ValueError, match="blat_mmr with other settings: its leaves have other shapes"):
        jr.run(jr.blat_mmr(), jr.matches([[0, 1]], [1.0]), state=other.init(other.params, 2))


OFF_GRID = dict(support=np.sort(np.random.default_rng(3).uniform(-3.0, 3.0, 40)), draws="outside")


@MOSTLY_DOUBLE
@pytest.mark.parametrize("kernel", mark_full(["gaussian", "laplace", None], "laplace"))
@pytest.mark.parametrize("luck", mark_full(["laplace", "mixture"], "mixture"))
def test_off_a_grid_laplace_sums_are_the_linear_ones_and_equal(x64, luck, kernel):
    luck = "laplace(0.8)" if luck == "laplace" else jr.extend.luck.mixture([(0.7, 0.8), (0.3, 2.0)])
    matches = jr.matches([[0, 1], [1, 2], [2, 0], [0, 1]] * 5, [1.0, 0.5, 0.0, 1.0] * 5, side=[1, 0, -1, -1] * 5)
    given = OFF_GRID | dict(kernel=kernel, beta=0.85, temperature=1.3, side_advantage=40.0)
    one, two = (jr.blat_mmr(luck, algorithm=x, **given) for x in ("auto", "naive"))
    assert [x.rules.with_sizes_for(x.params).prepare.bound_args[1].summing for x in (one, two)] == ["laplace", "naive"]
    got, wanted = (jr.run(x, matches) for x in (one, two))
    limit = 1e-12 if x64 else 1e-6
    np.testing.assert_allclose(got.prediction, wanted.prediction, rtol=0, atol=limit)
    np.testing.assert_allclose(got.state.belief, wanted.state.belief, rtol=0, atol=limit)


@pytest.mark.parametrize(
    ("luck", "options", "summing"),
    [
        ("laplace", OFF_GRID | {"draws": "inside"}, "naive"),
        ("bradley_terry", OFF_GRID, "naive"),
        ("laplace", {"draws": "outside", "size": 201}, "fft"),
    ],
)
def test_elsewhere_auto_does_not_take_laplace(luck, options, summing):
    system = jr.blat_mmr(luck, kernel_width=0.3, **options)
    assert system.rules.with_sizes_for(system.params).prepare.bound_args[1].summing == summing
