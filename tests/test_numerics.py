"""Roots against closed forms, truncated normals against fine sums. Everything under jit: one compilation each."""

import math
from functools import partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit, ndtr, ndtri

import jaxrate as jr
from jaxrate.numerics.linear_algebra import solve_definite_systems
from jaxrate.numerics.newton_iterations import concave_function_argmax, decreasing_root
from jaxrate.numerics.special_functions import normal_hazards_on_both_sides, normal_tail, truncated_normal_moments
from jaxrate.replay.plan import Block
from jaxrate.replay.schedule import arrange_blocks
from jaxrate.systems.rounds import expected_wins
from tests.conftest import MOSTLY_DOUBLE, MOSTLY_SINGLE, mark_full, quick
from tests.reference.performance_twin import hazard
from tests.reference.trueskill_twin import moments

THETA = np.array([0.01, 0.5, 1.0, 3.0, 200.0])


def close(x64, got, wanted, slack=1.0):
    """Within a few units in the last place, `slack` times that where derivatives amplify rounding."""
    tolerance = slack * (1e-14 if x64 else 2e-6)
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def bracket(x, low, high):
    return jnp.full_like(x, low), jnp.full_like(x, high)


def log(theta, guess=None, lower=-20.0, upper=20.0):
    """The logarithm of theta, as the root of theta - e^x."""
    guess = jnp.zeros_like(theta) if guess is None else guess
    return decreasing_root(lambda x: (theta - jnp.exp(x), -jnp.exp(x)), guess, *bracket(guess, lower, upper))


@MOSTLY_DOUBLE
@pytest.mark.parametrize(("outer", "inner"), [(jax.jacfwd, jax.grad), (jax.jacrev, jax.grad), (jax.jacfwd, jax.jacfwd)])
def test_second_derivatives_of_scalars_under_vmap(x64, outer, inner):
    second = jax.jit(jax.vmap(outer(inner(log))))(jnp.array(THETA))
    close(x64, second, -1 / THETA**2, 100)


@MOSTLY_DOUBLE
def test_two_parameters_share_a_root(x64):
    """The root of a - e^(b x) is log(a) / b."""

    def root(a, b):
        ends = bracket(a, -30.0, 30.0)
        return decreasing_root(lambda x: (a - jnp.exp(b * x), -b * jnp.exp(b * x)), jnp.ones_like(a), *ends)

    a, b = np.array([0.2, 1.0, 7.0]), np.array([0.5, 2.0, 3.0])
    value, by_a_and_b = jax.jit(jax.vmap(jax.value_and_grad(root, argnums=(0, 1))))(jnp.array(a), jnp.array(b))
    close(x64, value, np.log(a) / b)
    close(x64, by_a_and_b, [1 / (a * b), -np.log(a) / b**2], 100)


@MOSTLY_DOUBLE
@pytest.mark.parametrize("guess", [0.0, 2.0])
def test_the_root_may_be_an_end_of_the_bracket(x64, guess):
    theta = jnp.array([1.0, np.e**2])
    close(x64, jax.jit(lambda t: log(t, jnp.full_like(t, guess), 0.0, 2.0))(theta), [0.0, 2.0], 2)


RANDOM = np.random.default_rng(0)
ROOT, STEEP = RANDOM.uniform(-5, 5, 500), 10 ** RANDOM.uniform(-1, 1.5, 500)
HILL = np.array([0.35, 0.5, 0.6, 0.9, 0.99, -1.0])
WAVE = np.linspace(0.2, 1.0, 50)
FAR = np.array([-3.0, 0.7, 50.0, 0.7]), np.array([9e5, -9e5, 1e3, 1e6]), -1e6, 1e6
ROOTS = {  # functions, their roots, guesses, and the ends of the bracket
    "an arc tangent from up to a million away": (lambda x: jnp.arctan(FAR[0] - x), *FAR),
    "a tangent whose slope is zero there": (lambda x: jnp.tanh(FAR[0] - x), *FAR),
    "steep": (
        lambda x: -jnp.sinh((x - ROOT) * STEEP / 10) - jnp.tanh((x - ROOT) * STEEP),
        *(ROOT, RANDOM.uniform(-9, 9, 500), -9.0, 9.0),
    ),
    "two steps of Newton lead back": (lambda x: -jnp.tanh(5 * x) - 2.7 * x**3, 0.0, WAVE, WAVE - 7, WAVE + 9),
    "rising at the guess": (lambda x: (2 - x) * (1 + x**2), 2.0, HILL, -5.0, 5.0),
    "rising from the end": (lambda x: (2 - x) * (1 + x**2), 2.0, HILL, HILL, 5.0),
}


@pytest.mark.parametrize("name", ROOTS)
def test_roots_are_found_wherever_newton_would_lead(x64, name):
    """And move as the function does."""
    function, *given = ROOTS[name]
    wanted, guess, *ends = (jnp.asarray(np.broadcast_to(x, np.shape(given[1])), float) for x in given)

    def root(shift):
        def value_and_slope(x):
            return jax.jvp(lambda x: function(x - shift).astype(x.dtype), (x,), (jnp.ones_like(x),))

        return decreasing_root(value_and_slope, guess, *ends)

    value, slope = jax.jit(lambda shift: jax.jvp(root, (shift,), (jnp.ones_like(shift),)))(jnp.zeros_like(guess))
    close(x64, value, wanted, 10)
    close(x64, slope, np.ones(len(guess)), 10)


@MOSTLY_DOUBLE
@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_a_flat_element_has_a_finite_gradient_and_does_not_disturb_others(x64, mode):
    def root(theta, w):
        ends = bracket(theta, -9.0, 9.0)
        found = decreasing_root(lambda x: (w * (theta - x), -w), jnp.zeros_like(theta), *ends)
        return found, found

    (by_theta, by_w), value = jax.jit(mode(root, argnums=(0, 1), has_aux=True))(jnp.full(2, 3.0), jnp.array([0.0, 2.0]))
    assert abs(float(value[0])) <= 9 and np.isfinite(by_w).all()
    close(x64, value[1], 3.0)
    close(x64, by_theta, [[0.0, 0.0], [0.0, 1.0]])
    close(x64, by_w[1], [0.0, 0.0])


def test_guess_and_bracket_have_no_derivative():
    slopes = jax.jit(jax.grad(log, argnums=(0, 1, 2, 3)))(*map(jnp.asarray, (2.0, 0.3, -4.0, 4.0)))
    np.testing.assert_allclose(slopes, [0.5, 0.0, 0.0, 0.0], rtol=1e-6)


def reference_tail(z):
    """(h, excess, product, variance, lift): by erfcx, and far out by the continued fraction of Laplace."""
    far = np.where(z > 2.0, z, 2.0)
    two = far
    for k in range(400, 2, -1):
        two = far + k / two  # far + 3 / (far + 4 / ...), so that excess = 1 / (far + 2 / two)
    right, h = z > 2.0, hazard(-z)
    excess = np.where(right, 1.0 / (far + 2.0 / two), h - z)
    lift = np.where(right, 2.0 / two, 1.0 / excess - z)
    h = np.where(right, z + excess, h)
    return h, excess, h * excess, np.where(right, excess * (lift - excess), 1.0 - h * excess), lift


def test_the_tail_is_exact_on_both_sides(x64):
    z = np.unique(np.concatenate([np.linspace(-100.0, 100.0, 4001), x := np.geomspace(1e-8, 100.0, 500), -x]))
    z = z if x64 else z.astype(np.float32).astype(float)
    got, slope = jax.jit(lambda z: jax.jvp(normal_tail, (z,), (jnp.ones_like(z),)))(jnp.asarray(z, float))
    h, excess, product, variance, _ = wanted = reference_tail(z)
    change = h * (excess**2 - variance)
    by_formula = product, -variance, change, -change, variance / excess**2 - 1.0
    eps, tiny = np.finfo(np.float64 if x64 else np.float32).eps, 1e-300 if x64 else 1e-36
    lost = np.where(z < 0.0, 3.0 * z * z, 0.0)  # the density of a large number has few digits
    of_reference = np.where((z > 0.0) & (z <= 2.0), 32.0 * np.finfo(float).eps, 0.0)
    for x, y in zip(got, wanted, strict=True):
        allowed = np.abs(y) * eps * (24.0 + lost) + of_reference + tiny
        np.testing.assert_array_less(np.abs(np.asarray(x, float) - y), allowed)
    for x, y in zip(slope, by_formula, strict=True):
        np.testing.assert_allclose(np.asarray(x, float), y, atol=200.0 * eps)


def test_hazards_of_both_sides_are_those_of_each(x64):
    z = jnp.asarray(np.concatenate([np.linspace(-40.0, 40.0, 321), [0.0, 1e-30, 1e4, -1e4]]), float)

    def one_by_one(z):
        return normal_tail(z)[0], normal_tail(-z)[0]

    got, wanted = jax.jit(
        lambda z: [jax.jvp(f, (z,), (jnp.ones_like(z),)) for f in (normal_hazards_on_both_sides, one_by_one)]
    )(z)
    for x, y in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        close(x64, x, y)


@MOSTLY_DOUBLE
def test_the_tail_has_finite_derivatives_far_out(x64):
    z = jnp.array([s * x for s in (-1.0, 1.0) for x in (0.0, 50.0, 1e4, 1e8, 1e15)])
    first = jax.jit(jax.jacrev(lambda z: jnp.stack(normal_tail(z))))(z)
    second = jax.jit(jax.jacfwd(jax.jacrev(lambda z: jnp.sum(jnp.stack(normal_tail(z)), axis=1))))(z)
    assert np.isfinite(first).all() and np.isfinite(second).all()


def valley(x, pull, stiffness):
    """Gradient and Newton's step of log cosh'es around `pull`, coupled: linear far out, where nothing is curved."""
    t = jnp.tanh(x - pull)
    centre = jnp.mean(x, axis=1, keepdims=True)
    gradient = -t - stiffness * (centre / x.shape[1])
    d = 1.0 - t * t + 1e-12
    share = 1.0 / d
    n = x.shape[1]
    inner = jnp.sum(gradient * share, axis=1, keepdims=True)
    bend = stiffness / n**2
    return gradient, share * (gradient - bend * inner / (1.0 + bend * jnp.sum(share, axis=1, keepdims=True)))


def test_a_concave_maximum_is_found_from_anywhere(x64):
    random = np.random.default_rng(0)
    pull, stiffness = jnp.asarray(random.normal(0, 3, (200, 3)), float), 0.7
    guess = jnp.asarray(random.normal(0, 12 if x64 else 5, (200, 3)), float)  # up to where 1 - tanh^2 is 0
    ready = np.arange(200) % 10 == 0

    def maximise(guess):
        x = concave_function_argmax(lambda x: valley(x, pull, stiffness), guess, jnp.asarray(ready))
        return x, valley(x, pull, stiffness)[0]

    found, gradient = (np.asarray(x) for x in jax.jit(maximise)(guess))
    np.testing.assert_array_equal(found[::10], np.asarray(guess)[::10])
    gradient = gradient[~ready]
    assert np.abs(gradient).max() < (1e-14 if x64 else 2e-6)


@pytest.mark.parametrize("size", mark_full([1, 2, 6], 1, 6))
def test_definite_matrices_are_solved(x64, size):
    random = np.random.default_rng(size)
    root = random.normal(0, 1, (50, size, size)) * 10.0 ** random.uniform(-3, 3, (50, 1, 1))
    square = root @ np.swapaxes(root, 1, 2)
    matrix = -square - 0.1 * np.trace(square, axis1=1, axis2=2)[:, None, None] * np.eye(size)
    x = random.normal(0, 1, (50, size))
    y = np.einsum("nij,nj->ni", matrix, x)
    found = jax.jit(solve_definite_systems)(jnp.asarray(matrix, float), jnp.asarray(y, float))
    np.testing.assert_allclose(found, x, atol=1e-13 if x64 else 2e-5)
    second = jax.jit(jax.jacfwd(jax.grad(lambda m: jnp.sum(solve_definite_systems(m, jnp.ones((50, size)))))))
    text = second.lower(jnp.asarray(matrix, float)).as_text()
    assert "lapack" not in text.lower()  # which waits forever, now and then


LEADS = np.array([s * x for x in (0.0, 0.01, 0.3, 1.0, 2.5, 5.0, 9.0, 12.0, 30.0, 200.0) for s in (-1.0, 1.0)])
MARGINS = np.array([0.001, 0.02, 0.1, 0.5, 0.98, 1.02, 2.0, 4.0, 8.0])


def test_truncated_moments_are_those_of_fine_sums(x64):
    """To rounding of the deviation before; the variance, of draws in a small margin too, to rounding of itself."""
    lead, margin, inside = (x.ravel() for x in np.meshgrid(LEADS, MARGINS, [False, True]))
    lead, margin = (x if x64 else x.astype(np.float32).astype(float) for x in (lead, margin))
    known = [moments(*x) for x in zip(lead, margin, inside, strict=True)]
    mean, variance = np.array(known).T
    arguments = jnp.asarray(lead, float), jnp.asarray(margin, float), jnp.asarray(inside)
    got = [np.asarray(x, float) for x in jax.jit(truncated_normal_moments)(*arguments)]
    scale = 1.0 + np.abs(lead)
    tolerance = 2e-9 if x64 else 2e-6
    for x, y in zip(got, (mean - lead, 1.0 - variance, variance, mean - lead * variance), strict=True):
        np.testing.assert_array_less(np.abs(x - y), tolerance * scale)
    np.testing.assert_allclose(got[2], variance, rtol=1e-8 if x64 else 4e-3)


@MOSTLY_DOUBLE
def test_truncated_moments_have_the_slopes_of_the_normal_distribution(x64):
    """The change of the mean has slope -w in the lead, whichever formula is in use; all slopes are finite."""
    lead, margin, inside = (x.ravel() for x in np.meshgrid([*LEADS, 1e4, -1e4], [0.0, *MARGINS, 1e4], [False, True]))
    arguments = jnp.asarray(lead, float), jnp.asarray(margin, float), jnp.asarray(inside)
    by_lead, by_margin = (
        jax.jit(
            lambda *x, i=i: jax.jvp(
                lambda y: truncated_normal_moments(*x[:i], y, *x[i + 1 :]), (x[i],), (jnp.ones_like(x[i]),)
            )
        )(*arguments)
        for i in (0, 1)
    )
    (_, w, *_), (slope, *_) = by_lead
    close(x64, slope, -np.asarray(w), 1000.0)
    assert all(np.isfinite(x).all() for x in (*by_lead[1], *by_margin[1]))


LOGISTIC = math.pi / math.sqrt(3.0)


def chances(rating, deviation):
    """[P, P] the probability that a normal performance of the first is better, in float64."""
    return ndtr((rating[:, None] - rating[None]) / np.hypot(deviation[:, None], deviation[None]))


def some_players(count, low, high, spread=450.0, seed=0):
    """Ratings and deviations, from `low` to `high`, as float32 holds them."""
    random = np.random.default_rng(seed)
    deviation = np.exp(random.uniform(*np.log([low, high]), count))
    deviation[:2] = low, high
    return (x.astype(np.float32).astype(float) for x in (random.normal(1500.0, spread, count), deviation))


def by_topcoder(rating, deviation, rank):
    """Ratings and deviations after everybody's first contest, by the formulas of the paper, in float64."""
    count = len(rating)
    c = np.sqrt(np.mean(deviation**2) + np.sum((rating - rating.mean()) ** 2) / (count - 1))
    above = chances(rating, deviation).sum(axis=0) / count
    better = (rank + 0.5 * np.bincount(rank)[rank]) / count
    performance = rating + c * (ndtri(above) - ndtri(better))
    v = 0.6 / 0.4 * np.where(rating >= 2500, 0.8, np.where(rating >= 2000, 0.9, 1.0))
    target = (rating + v * performance) / (1 + v)
    cap = (150 + 1500 / 2) * 0.6 / 0.6
    after = np.sqrt((target - rating) ** 2 / v + deviation**2 / (1 + v))
    return np.clip(target, rating - cap, rating + cap), after


@MOSTLY_DOUBLE
@pytest.mark.parametrize(
    ("count", "low", "high"),
    mark_full([(40, 1, 2000), (500, 1, 2000), (1500, 1, 2000), (1500, 60, 1000)], (1500, 1, 2000)),
)
def test_topcoder_is_right_where_deviations_differ(count, low, high, x64):
    """In rounds of all pairs, of tables, and of tables that are put right: to 1e-5 points, and 0.02 in float32."""
    rating, deviation = some_players(count, low, high)
    rank = np.random.default_rng(1).permutation(count)
    system = jr.topcoder()
    state = system.init(system.params, count)._replace(rating=jnp.asarray(rating, float))
    state = state._replace(variance=jnp.asarray(deviation, float) ** 2)
    rounds = jr.rounds(np.zeros(count, int), np.arange(count), rank)
    result = jr.run(system, rounds, state=state)
    wanted = by_topcoder(rating, deviation, rank)
    off = [np.abs(x - y).max() for x, y in zip(jr.ratings(system, result.state), wanted, strict=True)]
    assert max(off) < (1e-5 if x64 else 0.02)
    share = (chances(rating, deviation).sum(axis=1) - 0.5) / (count - 1)
    np.testing.assert_allclose(result.prediction, share, rtol=0, atol=1e-8 if x64 else 1e-5)


@MOSTLY_SINGLE
def test_usual_rounds_need_no_pairs(monkeypatch, x64):
    """Padded ones neither, which would cost the square of their size: the pairs would be NaN here."""

    def nothing(beats, all_of, there):
        return all_of.centre * np.nan, all_of.centre * np.nan

    monkeypatch.setattr(expected_wins, "batched_expected_wins_and_losses", nothing)
    rating, deviation = (np.pad(x, (0, 100)) for x in some_players(700, 60, 900))
    there = np.arange(800) < 700

    @quick
    def wins(rating, deviation):
        return expected_wins.expected_normal_wins_and_losses(rating, deviation, jnp.asarray(there), 160)[0]

    usual, one_narrow = (
        np.asarray(wins(jnp.asarray(rating, float), jnp.asarray(x, float)))[:700]
        for x in (deviation, np.append(0.1, deviation[1:]))
    )
    assert np.isfinite(usual).all() and np.isnan(one_narrow).all()


def test_slopes_of_tables_are_those_of_pairs():
    with jax.enable_x64(True):
        everybody = [jnp.asarray(x) for x in some_players(200, 80, 500)]
        weight, there = jnp.asarray(np.random.default_rng(5).normal(size=200)), jnp.ones(200, bool)

        def total(read, rating, deviation):
            return jnp.sum(weight * read(expected_wins.PriorPerformances(rating, deviation, None))[0])

        ways = (
            (lambda x: expected_wins.interpolated_wins_and_losses(x, there, 160)),
            (lambda x: expected_wins.all_expected_wins_and_losses(expected_wins.normal_win_probability, x, there)),
        )
        got, wanted = (quick(jax.grad(lambda *x, w=way: total(w, *x), argnums=(0, 1)))(*everybody) for way in ways)
    for x, y in zip(got, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-6 * np.abs(y).max())


@MOSTLY_DOUBLE
def test_logistic_chances_are_right_to_1e_8_whatever_the_deviations(x64, monkeypatch):
    """Against a sum over 30 times as many nodes, for leads of up to 40 scales; by a CPU's program and a GPU's."""
    ratio, lead = np.meshgrid(np.append(np.linspace(0.0, 1.0, 21), [1e-6, 1e-3]), np.geomspace(1e-3, 40.0, 25))
    nodes = 0.025 * np.arange(-1600, 1601)
    weights = expit(nodes) * expit(-nodes) / np.sum(expit(nodes) * expit(-nodes))
    right = expit(lead[..., None] - ratio[..., None] * nodes) @ weights
    for backend, (one, other) in product(("cpu", "gpu"), ((1.0, ratio), (ratio, 1.0))):
        monkeypatch.setattr(jax, "default_backend", lambda backend=backend: backend)
        inputs = [jnp.asarray(np.broadcast_to(x, lead.shape), float) for x in (lead, LOGISTIC * one, LOGISTIC * other)]
        ahead, behind = quick(lambda *x: expected_wins.logistic_win_probability(*x))(*inputs)
        np.testing.assert_allclose(ahead, right, rtol=0, atol=2e-9 if x64 else 1e-6)
        np.testing.assert_allclose(behind, 1.0 - right, rtol=0, atol=2e-9 if x64 else 1e-6)


@MOSTLY_DOUBLE
@pytest.mark.parametrize("count", [50, 600])
def test_shares_of_logistic_performances_are_right_where_deviations_differ(count, x64):
    """To 2e-4 from a table, to 1e-6 from pairs."""
    there, some = jnp.ones(count, bool), np.arange(0, count, count // 10)
    points = (288 if x64 else 48) * 4 if count > 64 else 48
    wins = partial(expected_wins.expected_wins_by_integrals, expected_wins.LOGISTIC_INTEGRALS)
    function = quick(lambda r, s: expected_wins.expected_win_share(wins(r, s, there, points), there))
    z = np.linspace(-25.0, 25.0, 101)[None]
    density = expit(z) * expit(-z) / np.sum(expit(z) * expit(-z))
    for low, high in ((150, 450), (60, 700), (1, 2000), (1e-3, 1e3), (1e-6, 1e6)):
        rating, deviation = some_players(count, low, high, seed=2)
        got = np.asarray(function(jnp.asarray(rating, float), jnp.asarray(deviation, float)), float)
        wanted, scale = [], deviation / LOGISTIC
        for i in some:  # over the narrower one's performance
            narrow, wide = np.minimum(scale[i], scale), np.maximum(scale[i], scale)
            chance = np.sum(density * expit((rating[i] - rating + narrow * z.T).T / wide[:, None]), axis=1)
            wanted.append((chance.sum() - 0.5) / (count - 1))
        np.testing.assert_allclose(got[some], wanted, rtol=0, atol=2e-4 if count > 64 else 1e-6)
        assert got.min() >= 0.0 and got.max() <= 1.0


SYSTEMS = {
    "elo_mmr": jr.elo_mmr,
    "elo_mmx": jr.elo_mmx,
    "codeforces": jr.codeforces,
    "topcoder": jr.topcoder,
    "trueskill": jr.trueskill,
    "weng_lin": jr.weng_lin,
    "thurstone": lambda: jr.weng_lin("thurstone_mosteller_full"),
}


@pytest.mark.parametrize(
    ("name", "count"),
    mark_full(
        [*product(SYSTEMS, (2, 90, 600))],
        *((name, 2) for name in SYSTEMS if name not in ("elo_mmx", "thurstone")),  # as elo_mmr and weng_lin do
        ("topcoder", 600),  # tables of logistic performances are those of the test above
    ),
)
def test_shares_are_never_outside_of_0_and_1(name, count):
    """In float32, of players 5,000 points apart, and of one far above all others and one far below."""
    system, random = SYSTEMS[name](), np.random.default_rng(4)
    for spread in (random.normal(0.0, 2500.0, count), np.where(np.arange(count) < count // 2, 0.0, 5000.0)):
        state = system.init(system.params, count)._replace(rating=jnp.asarray(1500 + spread, jnp.float32))
        rounds = jr.rounds(np.zeros(count, int), np.arange(count), np.arange(count))
        share = np.asarray(jr.predict(system, state, rounds))
        assert share.min() >= 0.0 and share.max() <= 1.0
        np.testing.assert_allclose(share.sum(), count / 2, rtol=1e-4)


def run_small_history(system):
    """Two contests of three players, forty of two others who take turns, and one of two newcomers: one program."""
    number = np.append(np.repeat([0, 1], 3), np.repeat(np.arange(2, 43), 2))
    player = [0, 1, 2, 0, 1, 2, *[3, 4] * 40, 5, 6]
    rounds = jr.rounds(number, player, [0, 1, 1, 2, 0, 1, *[0, 1, 1, 0] * 20, 0, 1])
    return jr.run(
        system, rounds, schedule=arrange_blocks(rounds, [Block(np.arange(43, dtype=np.int32)[:, None], (3, 3))])
    )


TINY, HUGE = 1e-30, 1e30
EXTREMES = [
    *[(jr.topcoder, {"weight_new": x}) for x in (1e-9, TINY)],
    *[(jr.topcoder, {"weight_new": x, "weight_limit": x}) for x in (1 - 1e-9, 1e-9)],
    *[(jr.codeforces, {"weight": x}) for x in (TINY, HUGE)],
    (jr.elo_mmx, {"beta": 200.0, "gamma": 1e-25}),
    *mark_full([(jr.elo_mmx, {"weight": x}) for x in (1e-9, 1e9)], (jr.elo_mmx, {"weight": 1e-9})),
]


@pytest.mark.parametrize(("make", "params"), EXTREMES)
def test_extreme_weights_leave_finite_numbers(make, params):
    """In float32, where 1 - q may be 0; for many contests, of nobody's surprise too."""
    system = make(**params)
    result = run_small_history(system)
    rating, deviation = jr.ratings(system, result.state)
    assert all(np.isfinite(x).all() for x in (rating, deviation, result.prediction) if x is not None)
    if params.get("weight_new", 1.0) < 1e-8:
        np.testing.assert_allclose(np.asarray(deviation)[-2:], 350.0, rtol=1e-5)


@pytest.mark.parametrize("make", mark_full([partial(jr.elo_mmr, history=4), jr.elo_mmx], jr.elo_mmx))
def test_a_beta_that_is_given_stays_whatever_the_drift(make):
    """The contest's noise, and the rating after it, are the same with a drift over no time."""
    fixed, drifting = (make(beta=200.0, gamma=36.0, drift=x) for x in (None, 50.0))
    one, two = (jr.ratings(x, run_small_history(x).state) for x in (fixed, drifting))
    np.testing.assert_allclose(two.mean, one.mean, rtol=1e-6)
    np.testing.assert_allclose(two.deviation, one.deviation, rtol=1e-6)


@pytest.mark.parametrize("name", ["elo_mmr", "codeforces", "topcoder"])
def test_systems_that_know_no_teams_refuse_them(name):
    data = jr.data.from_teams([[["A"], ["B"]], [["A", "B"], ["C", "D"]], [["C", "A"], ["B"]]])
    system = SYSTEMS[name]()
    message = f"row 2 .*{name} knows no teams, but there are in 2 contests, this the first; rate them by .*elo_mmx"
    for call in (jr.run, partial(jr.predict, state=system.init(system.params, 4))):
        with pytest.raises(ValueError, match=message):
            call(system, events=data)
