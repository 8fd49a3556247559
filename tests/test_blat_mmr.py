"""BlatMMR against its slow twin in leagues, and its algorithms against each other."""

import itertools
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import slice_events
from jaxrate.history import blat_mmr_beliefs as beliefs
from jaxrate.systems.blat_mmr import kernels
from tests.blat import (
    ALGORITHMS,
    GRID,
    MATCHES,
    PLAYERS,
    POINTS,
    REFERENCE,
    SETTING,
    SIZE,
    STEP,
    WIDTH,
    Kernel,
    agree,
    close,
    lucks,
    match,
    moments,
    on_grid,
    ratings,
    start,
)
from tests.conftest import MOSTLY_DOUBLE, MOSTLY_SINGLE, mark_full, quick
from tests.reference import blat_twin as twin
from tests.reference.blat_reference import CASES, KINDS, RESULTS

pytestmark = pytest.mark.usefixtures("double")

NAMES = {  # luck functions by name: the twin's, rating points per unit, algorithms
    "bradley_terry": (twin.bradley_terry, POINTS, ALGORITHMS),
    "bradley_terry_400": (twin.bradley_terry_400, 1.0, ("fft", "low_rank")),
    "thurstone_mosteller": (twin.thurstone_mosteller, POINTS, ("fft", "low_rank")),
    "thurstone_mosteller(1.5)": (partial(twin.thurstone_mosteller, scale=1.5), POINTS, ("auto",)),
    "trueskill(0.5)": (partial(twin.trueskill, margin=0.5), POINTS, ("naive", "fft")),
    "heaviside": (twin.heaviside, POINTS, ("naive", "fft")),
    "coin": (twin.coin, POINTS, ("auto",)),
    "fide": (twin.fide, 1.0, ("naive", "fft")),
    "laplace(0.8)": (partial(twin.laplace_luck, components=((1.0, 0.8),)), POINTS, ("fft", "laplace")),
}


VALUES = {  # luck of a difference: values by hand
    "bradley_terry": [(0.0, 0.5), (math.log(3.0), 0.75), (-math.log(3.0), 0.25), (-110.0, math.exp(-110.0))],
    "bradley_terry_400": [(0.0, 0.5), (400.0, 10 / 11), (-800.0, 1 / 101)],
    "thurstone_mosteller(2)": [
        (0.0, 0.5),
        (2.0, 0.5 * math.erfc(-math.sqrt(0.5))),
        (-18.0, 0.5 * math.erfc(9 * math.sqrt(0.5))),
    ],
    "heaviside": [(1e-300, 1.0), (0.0, 0.5), (-1e-300, 0.0)],
    "coin": [(5.0, 0.5), (-5.0, 0.5)],
    "trueskill(1)": [(1.5, 1.0), (1.0, 0.5), (0.0, 0.5), (-1.0, 0.5), (-1.5, 0.0)],
    "fide": [(401.0, 10 / 11), (399.5, 1 / (1 + 10 ** (-399.5 / 400))), (200.0, 1 / (1 + 10**-0.5)), (-5e3, 1 / 11)],
    "laplace(0.5)": [(1.0, 1.0 - 0.5 * math.exp(-2.0)), (-1.0, 0.5 * math.exp(-2.0))],
}


@pytest.mark.parametrize("name", VALUES)
def test_a_luck_function_has_the_values_worked_out_by_hand(name):
    difference, value = np.array(VALUES[name]).T
    chance = jr.extend.luck.parse(name).chance
    np.testing.assert_allclose(chance(difference, np.zeros_like(difference)), value, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(chance(np.zeros_like(difference), difference), 1.0 - value, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "algorithm"),
    mark_full(
        [(name, algorithm) for name in NAMES for algorithm in NAMES[name][2]],
        *(("bradley_terry", x) for x in ALGORITHMS if x != "naive"),
        *(("heaviside", "fft"), ("fide", "fft"), ("laplace(0.8)", "fft")),
    ),
)
def test_luck_functions_by_name(name, algorithm):
    function, unit, _ = NAMES[name]
    scale, shape, draws = POINTS / unit, "gaussian", "inside"
    if algorithm == "laplace":
        shape, draws = "laplace", "outside"
    setting = SETTING | dict(prior_mean=0.2 * scale, prior_deviation=0.9 * scale, kernel_width=0.2 * scale)
    system = jr.blat_mmr(name, SIZE, WIDTH * scale, shape, algorithm, draws, **setting)
    kernel = twin.Kernel(((1.0, 0.2 * scale),), shape, step=STEP * scale)
    agree(system, kernel=kernel, draws=draws, **lucks(function, unit), **on_grid(scale))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_luck_function_for_each_side(algorithm):
    """On no side either luck function counts half. What White wins Black need not lose: the two do not sum to one."""

    def white(sigmoid, x, y):
        return sigmoid(x - y + 0.3)

    def black(sigmoid, x, y):
        return 0.9 * sigmoid(x - y - 0.1)

    game = jr.extend.luck.Luck("sided", partial(white, jax.nn.sigmoid), black=partial(black, jax.nn.sigmoid))
    game = game._replace(smooth=True, zero_sum=False)
    system = jr.blat_mmr(game, SIZE, WIDTH, algorithm=algorithm, kernel_width=0.2, beta=0.9)
    sides = [twin.mixed(partial(f, lambda d: twin.bradley_terry(d, 0.0)), 0.9) for f in (white, black)]
    theirs = dict(luck=lambda x, y: 0.5 * (sides[0](x, y) + sides[1](x, y)), sides=sides, x=on_grid()["x"])
    agree(system, kernel=twin.Kernel(((1.0, 0.2),)), **theirs)


MIXTURE = dict(weights=(0.3, 0.7), widths=(0.2, 1.0))  # 0.3 of it half a step wide
OWN = np.linspace(0.5, 1.5, PLAYERS)
KERNELS = {
    "none": (None, (), ()),
    "mixture": (Kernel(**MIXTURE), ((0.3, 0.2), (0.7, 1.0)), ()),
    "laplace mixture at the source": (Kernel("laplace", edges="source", **MIXTURE), ((0.3, 0.2), (0.7, 1.0)), ()),
    "own": (Kernel(own=True, **MIXTURE), ((0.3, 0.2), (0.7, 1.0)), ()),
    "own laplace": (Kernel("laplace", own=True), ((1.0, 1.0),), ()),
    "by time": ("gaussian_by_time", (), ((1.0, 1.0),)),
}


@pytest.mark.parametrize(
    ("name", "algorithm"),
    mark_full(
        [
            *itertools.product(KERNELS, ["auto"]),
            *itertools.product(["own", "by time"], ["naive"]),
            *itertools.product(["mixture", "laplace mixture at the source", "own laplace"], ["fft"]),
        ],
        *itertools.product(["none", "laplace mixture at the source", "own", "by time"], ["auto"]),
        ("mixture", "fft"),
        ("own laplace", "fft"),
    ),
)
def test_kernels(name, algorithm):
    kernel, after, growth = KERNELS[name]
    form = jr.extend.kernels.parse(kernel) or Kernel()
    width = 0.025 if growth else 0.2  # by time: often too narrow for the grid at first
    shape = dict(shape=form.shape, edges=form.edges, step=STEP)
    theirs = lucks(twin.bradley_terry) | on_grid()
    theirs["kernel"] = twin.Kernel(tuple((w, width * b) for w, b in after), **shape)
    theirs["growth"] = twin.Kernel(tuple((w, width * b) for w, b in growth), **shape) if growth else None
    if form.own:
        each = [tuple((w, own * width * b) for w, b in after) for own in OWN]
        theirs["kernels"] = {i: twin.Kernel(components, **shape) for i, components in enumerate(each)}
    system = jr.blat_mmr(size=SIZE, half_width=WIDTH, kernel=kernel, algorithm=algorithm, kernel_width=width, **SETTING)
    state = system.init(system.params, PLAYERS)
    agree(system, state._replace(width=jnp.asarray(OWN)) if form.own else state, **theirs)


SUPPORTS = np.sort(np.random.default_rng(1).normal(size=(PLAYERS, 15)), axis=1)
BELIEFS = np.random.default_rng(2).dirichlet(np.ones(15), PLAYERS)


@pytest.mark.parametrize(
    ("luck", "algorithm", "kernel", "draws"),
    [
        ("bradley_terry", "auto", Kernel(**MIXTURE), "inside"),
        ("heaviside", "naive", Kernel("laplace", edges="source"), "outside"),
    ],
)
def test_every_player_on_a_support_of_their_own(luck, algorithm, kernel, draws):
    setting = dict(kernel=kernel, algorithm=algorithm, draws=draws, kernel_width=0.3, **SETTING)
    system = jr.blat_mmr(luck, support=SUPPORTS[0], **setting)
    components = tuple((w, 0.3 * b) for w, b in zip(kernel.weights, kernel.widths, strict=True))
    agree(
        system,
        start(system, BELIEFS, support=SUPPORTS),
        kernel=twin.Kernel(components, kernel.shape, kernel.edges),
        start={i: (SUPPORTS[i], BELIEFS[i]) for i in range(PLAYERS)},
        draws=draws,
        **lucks(NAMES[luck][0]),
    )


# 300 matches on the grid of the paper


FAR = {  # without luck: size and half width of the grid, deviation of beliefs
    "bradley_terry": (1717, 14.0, 0.35),
    "bradley_terry_400": (801, 12000.0, 200.0),
    "thurstone_mosteller": (301, 6.0, 0.5),
    "laplace": (301, 12.0, 0.5),
    "heaviside": (301, 4.0, 0.8),
    "trueskill(0.5)": (301, 4.0, 0.8),
    "fide": (301, 4000.0, 150.0),
}


@MOSTLY_SINGLE
@pytest.mark.parametrize("name", mark_full(FAR, "bradley_terry", "laplace", "heaviside"))
def test_an_upset_is_worth_as_much_however_far_it_is(x64, name):
    """By "auto": chances down to 1e-30 are what decides, as in the limit of section 3.1. (It was 0 from 1e-6 on.)"""
    size, half_width, deviation = FAR[name]
    x = np.linspace(-half_width, half_width, size)
    system = jr.blat_mmr(name, size=size, half_width=half_width, kernel="none", beta=1.0)
    luck = {
        "laplace": partial(twin.laplace_luck, components=((1.0, 1.0),)),
        "trueskill(0.5)": partial(twin.trueskill, margin=0.5),
    }
    for share, score in ((0.15, 1.0), (0.35, 1.0), (0.58, 1.0), (0.58, 0.5)):
        belief = [twin.normal(x, sign * share * half_width, deviation) for sign in (-1.0, 1.0)]
        belief = np.asarray(belief, np.result_type(float) if x64 else np.float32).astype(float)
        (p, _), (q, _) = twin.match(x, belief[0], x, belief[1], luck.get(name, twin.LUCK.get(name)), score)
        after, _ = match(system, belief, score)
        moved, right = (np.asarray(y, float) @ x - belief @ x for y in (after, (p, q)))
        np.testing.assert_allclose(moved, right, rtol=1e-9 if x64 else 1e-3, atol=deviation * (1e-9 if x64 else 1e-4))


# What the beliefs of BlatMMR say.


def points_of(x):
    return 1500.0 + POINTS * x


def some_beliefs(own):
    """A system and state of five players, on the grid or on supports of their own; supports and beliefs [5, n]."""
    x = np.sort(np.random.default_rng(10).normal(size=(5, 15)), 1) if own else np.tile(on_grid()["x"], (5, 1))
    p = np.random.default_rng(11).dirichlet(np.ones(x.shape[1]), 5)
    if own:
        system = jr.blat_mmr(support=x[0], kernel=None)
        return system, start(system, p, support=x), x, p
    system = jr.blat_mmr(size=SIZE, half_width=WIDTH, kernel=None)
    return system, start(system, p), x, p


@pytest.mark.parametrize("own", mark_full([False, True], False))
def test_quantiles_modes_and_who_is_stronger(own):
    system, state, x, p = some_beliefs(own)
    wanted = np.array([[0.05, 0.5], [0.9, 1.0]])
    direct = [np.interp(wanted, np.cumsum(q) - q / 2, y) for y, q in zip(x, p, strict=True)]
    close(beliefs.belief_quantile(system, state, wanted), points_of(np.array(direct)))
    assert beliefs.belief_quantile(system, state, 0.5).shape == (5,)
    close(beliefs.belief_mode(system, state), points_of(x[np.arange(5), p.argmax(1)]))
    a, b = np.array([0, 1, 4, 2]), np.array([1, 0, 4, 3])
    direct = [twin.expected_score(x[i], p[i], x[j], p[j], twin.heaviside) for i, j in zip(a, b, strict=True)]
    chance = beliefs.probability_stronger(system, state, a, b)
    close(chance, direct)
    close([chance[0] + chance[1], chance[2]], [1.0, 0.5])


def test_beliefs_over_distributions_are_sorted_by_their_means():
    support, inner = np.array([[2.0, 4.0], [-1.0, 1.0], [0.0, 2.0]]), np.full((3, 2), 0.5)
    system = jr.blat_mmr(support=support, inner=inner)
    state = start(system, [[0.2, 0.5, 0.3], [0.6, 0.0, 0.4]])  # means 3, 0, 1
    close(beliefs.belief_mode(system, state), points_of(np.array([0.0, 3.0])))
    close(beliefs.probability_stronger(system, state, [0], [1]), [0.2 * (0.3 + 0.4) + 0.3 * 0.2])
    close(beliefs.belief_quantile(system, state, 0.25)[0], points_of(0.0))
    close(moments(system, state)[0], [0.9, 2.2])


@pytest.mark.parametrize(("own", "draws"), [(False, 0.0), (True, 0.3)])
def test_outcomes(own, draws):
    system, state, x, p = some_beliefs(own)
    matches = jr.matches([[0, 1], [3, 2]], [1.0, 0.0])
    outcomes = beliefs.outcome_probabilities(system, state, matches, draws=draws)
    nu, wanted = 2.0 * draws / (1.0 - draws), []
    for i, j in matches.player:
        win = twin.LUCK["duelyst"](x[i][:, None], x[j])
        three = np.stack([win, nu * np.sqrt(win * (1.0 - win)), 1.0 - win])
        wanted.append(np.einsum("kxy,x,y->k", three / three.sum(axis=0), p[i], p[j]))
    close(outcomes, wanted)


# What BlatMMR refuses.

STATE = jr.blat_mmr().init(jr.blat_mmr().params, 2)
WRONG = jr.extend.luck.Luck("wrong", lambda x, y: jax.nn.sigmoid(x + 1.0 - y))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jr.blat_mmr(size=1), "size must be a whole number from 2 to 2,147,483,648, got 1"),
        (lambda: jr.blat_mmr(size=101), "too coarse for the kernel: its width is 0.03, .*take size=935"),
        (lambda: jr.blat_mmr(draws="within"), "draws must be 'inside' or 'outside', got 'within'"),
        (lambda: jr.blat_mmr(algorithm="fast"), "algorithm must be 'auto', 'naive', .* or 'low_rank', got 'fast'"),
        (lambda: jr.blat_mmr(algorithm="laplace"), "the algorithm laplace needs a laplace luck function"),
        (lambda: jr.blat_mmr("laplace", algorithm="laplace", draws="outside"), 'and kernel="laplace" or "none"'),
        (lambda: jr.blat_mmr("heaviside", algorithm="low_rank"), "low_rank needs a grid and a smooth luck function"),
        (lambda: jr.blat_mmr("ratio"), r"luck function ratio: L\(.*not in \[0, 1\]"),
        (lambda: jr.blat_mmr("two_of_three"), r"strengths of two_of_three lie in R\^3; give their support"),
        (lambda: jr.blat_mmr("two_of_three", support=np.eye(3), kernel="laplace"), "strengths that are numbers"),
        (lambda: jr.blat_mmr(support=[0, 0]), "support must be finite, and numbers must increase"),
        (lambda: jr.blat_mmr(support=[[0, 1]], inner=[[0.5, 0.4]]), "its rows sum to 1"),
        (lambda: jr.blat_mmr("bradly_terry"), "unknown luck function 'bradly_terry'; did you mean 'bradley_terry'"),
        (lambda: jr.blat_mmr("coin(2)"), "coin takes no number"),
        (lambda: jr.blat_mmr("trueskill(-1)"), "trueskill takes a number above 0, got -1"),
        (lambda: jr.extend.luck.mixture([(1.0, 0.0)]), "a width above 0"),
        (lambda: jr.extend.luck.mixture([(0.5, 1.0)]), "the weights must sum to 1, got 0.5"),
        (lambda: jr.blat_mmr(WRONG), r"luck function wrong: L\(x, y\) must be 1 - L\(y, x\).*give Black's too"),
        (lambda: jr.blat_mmr(jr.extend.luck.Luck("flat", lambda x, y: 0.5 * x)), "must broadcast, got shape"),
        (lambda: jr.run(jr.blat_mmr(size=1201), jr.matches([[0, 1]], [1.0]), state=STATE), "leaves have other shapes"),
        (lambda: jr.blat_mmr(kernel=Kernel("box")), "Kernel: shape must be 'gaussian' or 'laplace', got 'box'"),
        (lambda: jr.blat_mmr(kernel=Kernel(weights=(0.5, 0.4), widths=(1, 2))), "they sum to 1"),
        (lambda: jr.blat_mmr(kernel=Kernel(widths=(0.0,))), "the widths of a kernel are above 0"),
        (
            lambda: beliefs.belief_quantile(jr.blat_mmr(), STATE, 1.1),
            r"probability must lie in \[0, 1\], got 1.1",
        ),
        (
            lambda: beliefs.outcome_probabilities(jr.blat_mmr(), STATE, MATCHES, draws=1.0),
            "draws must be a share",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(("algorithm", "precision", "most"), [("auto", False, 10), ("fft", True, 100)])
def test_weights_that_transforms_and_interpolation_cannot_follow_are_refused(algorithm, precision, most):
    """A weight of 1,000 moved predictions by a third in float32, and nobody said so."""
    with jax.enable_x64(precision):
        make = partial(jr.blat_mmr, size=101, half_width=7, kernel=None)
        matches = jr.matches([[0, 1]] * 3, [1.0, 0.0, 1.0], weight=[1.0, most, most * 1.01])
        with pytest.raises(ValueError, match=rf"row 2 .*weight .* is above {most}.*algorithm=\"naive\""):
            jr.run(make(algorithm=algorithm), matches)
        make(algorithm=algorithm).check(slice_events(matches, 0, 2))
        make(algorithm="naive").check(matches)


# Derivatives. (The contract has differences.)


@pytest.mark.parametrize("kernel", mark_full(["none", "gaussian_by_time"], "gaussian_by_time"))
def test_derivatives_of_contradicted_certainties_are_finite(kernel):
    system = jr.blat_mmr("heaviside", support=[-1.0, 0.0, 1.0], kernel=kernel, beta=1.0)
    sure = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], np.float32)
    matches = jr.matches([[0, 1], [0, 1]], [1.0, 1.0], [0.0, 0.0])

    def mean(belief, params):
        state = system.init(system.params, 2)._replace(belief=belief)
        return jnp.sum(jr.ratings(system, jr.run(system, matches, state=state, params=params).state).deviation)

    for slope in jax.tree.leaves(quick(jax.grad(mean, argnums=(0, 1)))(sure, jax.tree.map(jnp.asarray, system.params))):
        assert np.isfinite(slope).all()


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


# Hard cases


def whole(belief):
    """No NaN, nothing below zero, mass one."""
    belief = np.asarray(belief, float)
    assert (belief >= 0.0).all()
    np.testing.assert_allclose(belief.sum(axis=-1), 1.0, rtol=1e-6)


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
    mark_full([("low_rank", "laplace"), ("fft", "gaussian_by_time")], ("fft", "gaussian_by_time")),
)
def test_mass_stays_one(x64, algorithm, kernel):
    """At the edges, by 2,000 wins alike, by matches that count little or much, over time."""
    system = jr.blat_mmr(size=101, half_width=7, kernel=kernel, algorithm=algorithm, kernel_width=0.3, beta=1)
    belief = [twin.normal(np.linspace(-7, 7, 101), m, 0.4) for m in (7.0, -7.0)]
    n = 2000
    most = 50.0 if x64 else 10.0  # more is refused in float32
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


# Golden numbers: single matches

PAIRS = np.arange(30).reshape(15, 2)  # every case and result has two players of its own
SCORES = np.array([*RESULTS.values()] * len(CASES))
PRIORS = np.array([p for case in CASES.values() for _ in RESULTS for p in case])
CELLS = np.repeat(REFERENCE["single_cells"], len(RESULTS), axis=0).reshape(30, -1).astype(int)
SINGLE = REFERENCE["single_ref"].reshape(30, len(KINDS), -1)
STATISTICS = REFERENCE["single_statistics"].reshape(30, -1)


def singles(system):
    """Beliefs [30, 1001] after the 15 matches, (mean, variance), and the evidence [30]."""
    system, state = beliefs.make_evidence_predicting_system(system), start(system, PRIORS)
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


# Golden numbers: Laplace sums, the paper's examples


@pytest.mark.parametrize("i", mark_full(range(4), 0, 2))
def test_laplace_sums_on_random_supports(i):
    x, p, y, b, t = (REFERENCE[f"laplace_{i}_{name}"] for name in ("x", "rho", "y", "b", "T_ref"))
    up, down = jax.jit(kernels.laplace_cdf_sums)(x, p, y, b)
    np.testing.assert_allclose(up, t, rtol=1e-11)
    np.testing.assert_allclose(down, twin.laplace_cdf(x[None] - y[:, None], b) @ p, rtol=1e-11)


def test_example_4_1():
    system = jr.blat_mmr("ratio", support=[2, 5, 13], beta=1, kernel=None)
    belief = np.array([9, 3, 8]) / 20, np.array([2, 4, 5]) / 11
    after, prediction = match(system, belief, support=[[2, 5, 13], [3, 7, 11]])
    close(after, [REFERENCE["example_4_1_exact_A"], REFERENCE["example_4_1_exact_B"]], rtol=1e-14)
    close(after[0] * prediction, REFERENCE["example_4_1_unnormalised_A"], rtol=1e-14)
    close(prediction, REFERENCE["example_4_1_evidence"][0], rtol=1e-14)


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
