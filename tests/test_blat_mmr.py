"""BlatMMR against its slow twin in leagues, and its algorithms against each other."""

import itertools
import math
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import slice_events
from tests.blat import (
    ALGORITHMS,
    HISTORY,
    MATCHES,
    PLAYERS,
    POINTS,
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
    observed,
    on_grid,
    start,
)
from tests.conftest import MOSTLY_SINGLE, mark_full, quick
from tests.reference import blat_twin as twin

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
    "fide": [
        (400.0, 10 / 11),
        (401.0, 10 / 11),
        (399.5, 1 / (1 + 10 ** (-399.5 / 400))),
        (200.0, 1 / (1 + 10**-0.5)),
        (-400.5, 1 / 11),
        (-399.5, 1 / (1 + 10 ** (399.5 / 400))),
        (-5000.0, 1 / 11),
    ],
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


@pytest.mark.parametrize("algorithm", mark_full(ALGORITHMS, "fft"))
def test_draws_outside(algorithm):
    system = jr.blat_mmr(size=SIZE, half_width=WIDTH, kernel_width=0.2, draws="outside", algorithm=algorithm, **SETTING)
    theirs = lucks(twin.bradley_terry) | on_grid()
    agree(system, kernel=twin.Kernel(((1.0, 0.2),)), draws="outside", **theirs)


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
    "gaussian at the source": (Kernel(edges="source"), ((1.0, 1.0),), ()),
    "mixture": (Kernel(**MIXTURE), ((0.3, 0.2), (0.7, 1.0)), ()),
    "mixture at the source": (Kernel(edges="source", **MIXTURE), ((0.3, 0.2), (0.7, 1.0)), ()),
    "laplace": ("laplace", ((1.0, 1.0),), ()),
    "laplace mixture at the source": (Kernel("laplace", edges="source", **MIXTURE), ((0.3, 0.2), (0.7, 1.0)), ()),
    "own": (Kernel(own=True, **MIXTURE), ((0.3, 0.2), (0.7, 1.0)), ()),
    "own laplace": (Kernel("laplace", own=True), ((1.0, 1.0),), ()),
    "by time": ("gaussian_by_time", (), ((1.0, 1.0),)),
    "laplace by time": ("laplace_by_time", (), ((1.0, 1.0),)),
    "mixture by time at the source": (
        Kernel(clock="time", edges="source", **MIXTURE),
        (),
        ((0.3, 0.2), (0.7, 1.0)),
    ),
}


@pytest.mark.parametrize(
    ("name", "algorithm"),
    mark_full(
        [
            *itertools.product(KERNELS, ["auto"]),
            *itertools.product(["mixture at the source", "laplace", "own", "by time"], ["naive"]),
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
        # Such sums are also those of loops in `test_blat_cases.py`.
        pytest.param("laplace(0.8)", "laplace", Kernel("laplace", **MIXTURE), "outside", marks=pytest.mark.full),
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


def test_strengths_above_zero():
    x = np.linspace(0.5, 4.0, 40)
    system = jr.blat_mmr("ratio", support=x, kernel_width=0.3, **{**SETTING, "side_advantage": 0.0})
    theirs = dict(luck=twin.mixed(twin.ratio, 0.85), sides=[twin.mixed(twin.ratio, 0.85)] * 2)
    agree(system, x=x, prior=on_grid()["prior"], kernel=twin.Kernel(((1.0, 0.3),)), **theirs)


def test_strengths_in_three_dimensions():
    x = np.random.default_rng(3).normal(size=(11, 3))

    def prior(x):
        p = np.exp(-((x - 0.2) ** 2).sum(axis=1) / (2.0 * 0.9**2))
        return p / p.sum()

    system = jr.blat_mmr("two_of_three", support=x, kernel=None, **{**SETTING, "side_advantage": 0.0})
    game = twin.mixed(twin.two_of_three, 0.85)
    beliefs, rows = twin_in_space(game, x, prior(x))
    result = jr.run(system, MATCHES)
    close(result.prediction, rows)
    close(result.state.belief, beliefs)


def twin_in_space(game, x, prior):
    """`twin.league` cannot average strengths in R^3: beliefs and predictions alone."""
    belief, predictions = np.tile(prior, (PLAYERS, 1)), []
    for _, [(a, b, score, _, weight)] in HISTORY:
        predictions.append(twin.expected_score(x, belief[a], x, belief[b], game))
        (belief[a], _), (belief[b], _) = twin.match(x, belief[a], x, belief[b], game, score, weight=weight)
    return belief, predictions


def test_a_mixture_of_gaussians_in_three_dimensions():
    """Equation (8) with the densities of R^3, whose heights fall as the third power of the width."""
    x = np.random.default_rng(3).normal(size=(11, 3))
    kernel = Kernel(weights=(0.3, 0.7), widths=(0.5, 1.0))
    system = jr.blat_mmr("two_of_three", support=x, kernel=kernel, kernel_width=1.0, beta=0.0)
    p = np.random.default_rng(4).dirichlet(np.ones(11), 2)
    square = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    wanted = p @ sum(w * np.exp(-square / (2 * s**2)) / s**3 for w, s in ((0.3, 0.5), (0.7, 1.0)))
    close(match(system, p)[0], wanted / wanted.sum(axis=1, keepdims=True))


def test_a_league_of_beliefs_over_distributions():
    random = np.random.default_rng(5)
    support, inner = random.normal(size=(PLAYERS, 7, 4)), random.dirichlet(np.ones(4), (PLAYERS, 7))
    system = jr.blat_mmr(support=support[0], inner=inner[0], beta=0.85)
    history = jr.matches(MATCHES.player, MATCHES.score)
    result = jr.run(system, history, state=start(system, np.full((PLAYERS, 7), 1 / 7), support=support, inner=inner))
    belief = np.full((PLAYERS, 7), 1 / 7)
    game = twin.mixed(twin.bradley_terry, 0.85)
    for (a, b), score, prediction in zip(history.player, history.score, result.prediction, strict=True):
        of_a, of_b = ([*zip(support[i], inner[i], strict=True)] for i in (a, b))
        wins, (p, _), (q, _) = twin.match_between_mixtures(belief[a], of_a, belief[b], of_b, game, score)
        close(prediction, belief[a] @ wins @ belief[b])
        belief[a], belief[b] = p, q
    close(result.state.belief, belief)


# 300 matches on the grid of the paper


def a_hundred():
    random = np.random.default_rng(7)
    a = random.integers(0, 10, 100)
    return jr.matches(np.stack([a, (a + random.integers(1, 10, 100)) % 10], 1), random.choice([0.0, 0.5, 1.0], 100))


@pytest.mark.full
def test_algorithms_agree_over_100_matches():
    def means(algorithm, x64):
        with jax.enable_x64(x64):
            system = jr.blat_mmr(algorithm=algorithm)
            states = [
                jr.run(system, a_hundred(), params=system.params._replace(beta=beta), schedule="stream").state
                for beta in (0.8, 1.0)
            ]
            return np.array([moments(system, state)[0] for state in states])

    exact = means("naive", True)
    assert (np.ptp(exact, axis=1) > 1.0).all()
    tolerance = {("low_rank", True): 1e-10, ("fft", True): 1e-10}
    tolerance |= {("low_rank", False): 1e-6, ("naive", False): 1e-6, ("fft", False): 5e-5}
    for (algorithm, x64), allowed in tolerance.items():
        np.testing.assert_allclose(means(algorithm, x64), exact, rtol=0, atol=allowed, err_msg=f"{algorithm} {x64}")


@pytest.mark.full
def test_the_laplace_algorithm_agrees_over_100_matches():
    """In float32 to 5e-6; in float64 the shorter leagues above agree."""
    setting = dict(luck="laplace(0.8)", kernel="laplace", draws="outside", size=301, kernel_width=0.15)
    mean = []
    for algorithm, x64 in (("laplace", False), ("fft", True)):
        with jax.enable_x64(x64):
            system = jr.blat_mmr(algorithm=algorithm, **setting)
            rating = jr.ratings(system, jr.run(system, a_hundred()).state)
            mean.append((np.asarray(rating.mean, float) - 1500.0) / POINTS)
    np.testing.assert_allclose(*mean, rtol=0, atol=5e-6)


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
    x, system = (
        np.linspace(-half_width, half_width, size),
        jr.blat_mmr(name, size=size, half_width=half_width, kernel="none", beta=1.0),
    )
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
    close(jr.history.blat_mmr_beliefs.belief_quantile(system, state, wanted), points_of(np.array(direct)))
    assert jr.history.blat_mmr_beliefs.belief_quantile(system, state, 0.5).shape == (5,)
    close(jr.history.blat_mmr_beliefs.belief_mode(system, state), points_of(x[np.arange(5), p.argmax(1)]))
    a, b = np.array([0, 1, 4, 2]), np.array([1, 0, 4, 3])
    direct = [twin.expected_score(x[i], p[i], x[j], p[j], twin.heaviside) for i, j in zip(a, b, strict=True)]
    chance = jr.history.blat_mmr_beliefs.probability_stronger(system, state, a, b)
    close(chance, direct)
    close([chance[0] + chance[1], chance[2]], [1.0, 0.5])


def test_beliefs_over_distributions_are_sorted_by_their_means():
    support, inner = np.array([[2.0, 4.0], [-1.0, 1.0], [0.0, 2.0]]), np.full((3, 2), 0.5)
    system = jr.blat_mmr(support=support, inner=inner)
    state = start(system, [[0.2, 0.5, 0.3], [0.6, 0.0, 0.4]])  # means 3, 0, 1
    close(jr.history.blat_mmr_beliefs.belief_mode(system, state), points_of(np.array([0.0, 3.0])))
    close(jr.history.blat_mmr_beliefs.probability_stronger(system, state, [0], [1]), [0.2 * (0.3 + 0.4) + 0.3 * 0.2])
    close(jr.history.blat_mmr_beliefs.belief_quantile(system, state, 0.25)[0], points_of(0.0))
    close(moments(system, state)[0], [0.9, 2.2])


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("draws", [0.0, 0.3])
def test_outcomes(own, draws):
    system, state, x, p = some_beliefs(own)
    matches = jr.matches([[0, 1], [3, 2]], [1.0, 0.0])
    outcomes = jr.history.blat_mmr_beliefs.outcome_probabilities(system, state, matches, draws=draws)
    nu, wanted = 2.0 * draws / (1.0 - draws), []
    for i, j in matches.player:
        win = twin.LUCK["duelyst"](x[i][:, None], x[j])
        three = np.stack([win, nu * np.sqrt(win * (1.0 - win)), 1.0 - win])
        wanted.append(np.einsum("kxy,x,y->k", three / three.sum(axis=0), p[i], p[j]))
    close(outcomes, wanted)
    close(outcomes.sum(axis=1), 1.0)
    if not draws:
        close(outcomes[:, 0], jr.predict(system, state, matches))
        close(outcomes[:, 1], 0.0)


def test_equals_draw_as_often_as_said():
    system = jr.blat_mmr(size=SIZE, half_width=WIDTH, kernel=None)
    point = np.where(np.arange(SIZE) == 80, 1.0, 0.0)
    outcomes = jr.history.blat_mmr_beliefs.outcome_probabilities(
        system, start(system, [point, point]), jr.matches([[0, 1]], [1.0]), draws=0.3
    )
    close(outcomes, [[0.35, 0.3, 0.35]])


def test_evidence_of_wins_is_the_chance_foreseen():
    system = jr.blat_mmr(size=SIZE, half_width=WIDTH, kernel_width=0.2)
    matches = jr.matches(MATCHES.player, np.ones(len(MATCHES.score)))
    prediction, evidence = jr.run(observed(system), matches).prediction
    close(evidence, prediction)
    close(np.prod(evidence), np.exp(np.sum(np.log(prediction))))


def test_evidence_is_the_exact_likelihood_of_a_tree():
    """Where no two players who meet are linked by earlier matches, nothing is lost between matches."""
    x, player, score = np.array([-1.0, 0.2, 0.9]), [[0, 1], [2, 3], [1, 2], [4, 1]], [1.0, 0.5, 0.0, 0.75]
    p = np.random.default_rng(12).dirichlet(np.ones(3), 5)
    system = jr.blat_mmr(support=x, kernel=None)

    def exact(games):
        total = 0.0
        for k in itertools.product(range(3), repeat=5):
            chance = math.prod(p[i][k[i]] for i in range(5))
            for (a, b), theta in games:
                win = twin.LUCK["duelyst"](x[k[a]], x[k[b]])
                chance *= win**theta * (1.0 - win) ** (1.0 - theta)
            total += chance
        return math.log(total)

    def ours(games):
        matches = jr.matches([pair for pair, _ in games], [theta for _, theta in games])
        return float(
            jnp.sum(
                jnp.log(
                    jr.run(
                        jr.history.blat_mmr_beliefs.make_evidence_predicting_system(system),
                        matches,
                        state=start(system, p),
                    ).prediction
                )
            )
        )

    tree = [*zip(player, score, strict=True)]
    close(ours(tree), exact(tree), rtol=1e-13)
    again = [*tree[1:], tree[1]]  # beliefs of two who met are no longer independent, which is not kept
    assert 1e-6 < abs(ours(again) - exact(again)) < 0.1
    p[2:] = np.eye(3)[[0, 2, 1]]  # but against players known for certain all is
    known = [((0, 2), 1.0), ((0, 3), 0.0), ((0, 4), 0.5), ((0, 2), 1.0)]
    close(ours(known), exact(known), rtol=1e-13)


# What BlatMMR refuses.

REFUSALS_BELIEFS = jr.blat_mmr().init(jr.blat_mmr().params, 2)
WRONG = jr.extend.luck.Luck("wrong", lambda x, y: jax.nn.sigmoid(x + 1.0 - y))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jr.blat_mmr(size=1), "size must be a whole number from 2, got 1"),
        (lambda: jr.blat_mmr(size=10.5), "size must be a whole number from 2, got 10.5"),
        (lambda: jr.blat_mmr(half_width=0), "half_width must be above 0, got 0"),
        (lambda: jr.blat_mmr(half_width=math.inf), "half_width must be above 0, got inf"),
        (lambda: jr.blat_mmr(size=101), "too coarse for the kernel: its width is 0.03, .*take size=935"),
        (lambda: jr.blat_mmr(draws="within"), "draws must be 'inside' or 'outside', got 'within'"),
        (
            lambda: jr.blat_mmr(algorithm="fast"),
            "algorithm must be 'auto', 'naive', 'fft', 'laplace' or 'low_rank', got 'fast'",
        ),
        (
            lambda: jr.blat_mmr(algorithm="laplace"),
            'the algorithm laplace needs a .*laplace luck function.*, and draws="outside"',
        ),
        (lambda: jr.blat_mmr("laplace", algorithm="laplace", draws="outside"), "needs a laplace kernel"),
        (lambda: jr.blat_mmr("heaviside", algorithm="low_rank"), "low_rank needs a grid and a smooth luck function"),
        (lambda: jr.blat_mmr(support=[0, 1], algorithm="fft"), "fft needs a grid"),
        (lambda: jr.blat_mmr("ratio", support=[1, 2], algorithm="low_rank"), "low_rank needs a grid"),
        (lambda: jr.blat_mmr("ratio"), r"luck function ratio: L\(.*not in \[0, 1\]"),
        (lambda: jr.blat_mmr("two_of_three"), r"strengths of two_of_three lie in R\^3; give their support"),
        (lambda: jr.blat_mmr("two_of_three", support=[[0, 1]]), "2 axes with a last axis of 3, got shape"),
        (lambda: jr.blat_mmr("two_of_three", support=np.eye(3), kernel="laplace"), "strengths that are numbers"),
        (lambda: jr.blat_mmr(support=[0, 0]), "support must be finite, and numbers must increase"),
        (lambda: jr.blat_mmr(support=[0, math.nan]), "support must be finite"),
        (lambda: jr.blat_mmr(support=[[0, 1]]), "support must have 1 axes, got shape"),
        (lambda: jr.blat_mmr(support=[]), "support must have 1 axes, got shape"),
        (lambda: jr.blat_mmr(inner=[[1]]), "give support too"),
        (lambda: jr.blat_mmr(support=[[0, 1]], inner=[[0.5, 0.4]]), "its rows sum to 1"),
        (lambda: jr.blat_mmr(support=[[0, 1]], inner=[[1.5, -0.5]]), "its rows sum to 1"),
        (lambda: jr.blat_mmr(beta=1.1), "beta must be 0 to 1, got 1.1"),
        (lambda: jr.blat_mmr(kernel_width=0), "kernel_width must be > 0, got 0"),
        (lambda: jr.blat_mmr(width=1), "blat_mmr has no parameter 'width'"),
        (lambda: jr.blat_mmr("bradly_terry"), "unknown luck function 'bradly_terry'; did you mean 'bradley_terry'"),
        (lambda: jr.blat_mmr("coin(2)"), "coin takes no number"),
        (lambda: jr.blat_mmr("trueskill(-1)"), "trueskill takes a number above 0, got -1"),
        (lambda: jr.blat_mmr("trueskill(x)"), "trueskill.*x"),
        (lambda: jr.extend.luck.thurstone_mosteller(math.inf), "thurstone_mosteller takes a number above 0"),
        (lambda: jr.extend.luck.mixture([(1.0, 0.0)]), "a width above 0"),
        (lambda: jr.extend.luck.mixture([]), "a width above 0"),
        (lambda: jr.extend.luck.mixture([(0.5, 1.0)]), "the weights must sum to 1, got 0.5"),
        (lambda: jr.blat_mmr(WRONG), r"luck function wrong: L\(x, y\) must be 1 - L\(y, x\).*give Black's too"),
        (lambda: jr.blat_mmr(jr.extend.luck.Luck("flat", lambda x, y: 0.5 * x)), "must broadcast, got shape"),
        (lambda: jr.blat_mmr(jr.extend.luck.Luck("sum", lambda x, y: x + y)), r"luck function sum: .*not in \[0, 1\]"),
        (lambda: jr.blat_mmr(kernel="gauss"), "unknown kernel 'gauss'"),
        (lambda: jr.blat_mmr(kernel=Kernel("box")), "the kernel's shape is one of gaussian, laplace, got 'box'"),
        (lambda: jr.blat_mmr(kernel=Kernel(clock="day")), "the kernel's clock is one of match, time, got 'day'"),
        (lambda: jr.blat_mmr(kernel=Kernel(edges="cut")), "the kernel's edges is one of global, source"),
        (lambda: jr.blat_mmr(kernel=Kernel(weights=(0.5, 0.4), widths=(1, 2))), "they sum to 1"),
        (lambda: jr.blat_mmr(kernel=Kernel(weights=(0.5, 0.5))), "as many weights as widths"),
        (lambda: jr.blat_mmr(kernel=Kernel(widths=(0.0,))), "the widths of a kernel are above 0"),
        (
            lambda: jr.history.blat_mmr_beliefs.belief_mode(jr.elo(), REFUSALS_BELIEFS),
            r"elo has no beliefs on a grid; make the system by blat_mmr\(\)",
        ),
        (
            lambda: jr.history.blat_mmr_beliefs.belief_quantile(jr.blat_mmr(), REFUSALS_BELIEFS, 1.1),
            r"probability must lie in \[0, 1\], got 1.1",
        ),
        (
            lambda: jr.history.blat_mmr_beliefs.outcome_probabilities(
                jr.blat_mmr(), REFUSALS_BELIEFS, MATCHES, draws=1.0
            ),
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


# Derivatives of BlatMMR, and what is compiled.

LEARNABLE = {
    "low_rank": dict(algorithm="low_rank"),
    "fft": dict(algorithm="fft", draws="outside"),
    "naive": dict(algorithm="naive"),
    "by time": dict(kernel="gaussian_by_time"),
}


def log_loss(system):
    def loss(params):
        p = jr.run(system, MATCHES, params=params, schedule="stream").prediction
        score = jnp.asarray(MATCHES.score, p.dtype)
        return -jnp.mean(score * jnp.log(p) + (1.0 - score) * jnp.log1p(-p))

    return loss


@pytest.mark.parametrize("case", mark_full(LEARNABLE, "low_rank"))
def test_derivatives(case):
    # On a narrow grid: far from its edges the prior's mean has no part in any prediction.
    system = jr.blat_mmr(size=SIZE, half_width=2.5, kernel_width=0.1, **LEARNABLE[case], **SETTING)
    loss, params = log_loss(system), jax.tree.map(jnp.asarray, system.params)
    value_and_slope = quick(lambda params: (loss(params), jax.jacfwd(loss)(params)))  # one program for both
    _, slope = value_and_slope(params)
    for name in params._fields:
        value = float(getattr(params, name))
        step = 0.4 if name == "side_advantage" else 1e-4 * max(abs(value), 0.1)
        high, low = (
            float(value_and_slope(params._replace(**{name: jnp.asarray(value + d)}))[0]) for d in (step, -step)
        )
        assert abs(high - low) > 1e-9
        np.testing.assert_allclose(getattr(slope, name), (high - low) / (2 * step), rtol=1e-5, err_msg=name)


def test_systems_alike_share_their_rules_and_new_parameters_compile_nothing():
    one, two = jr.blat_mmr(), jr.blat_mmr()
    assert one.rules == two.rules
    assert jr.blat_mmr(size=2001).rules != one.rules
    assert (
        jr.history.blat_mmr_beliefs.make_evidence_predicting_system(one).rules
        == jr.history.blat_mmr_beliefs.make_evidence_predicting_system(two).rules
    )
    setting = dict(size=SIZE, half_width=WIDTH, kernel_width=0.3)
    first, second = jr.blat_mmr(**setting), jr.blat_mmr(**setting, side_advantage=30, prior_mean=0.1)
    assert first.rules == second.rules
    jr.run(first, MATCHES)
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(partial(noted, compiled))
    jr.run(second, MATCHES)
    jr.run(first, MATCHES, params=first.params._replace(beta=0.5, temperature=2.0, kernel_width=0.29))
    assert not compiled
    jr.run(jr.blat_mmr(**setting | dict(size=SIZE + 2)), MATCHES)
    assert compiled  # the listener works
    compiled.append(None)


def noted(compiled, event, duration, **_):
    if event.endswith("backend_compile_duration") and None not in compiled:
        compiled.append(event)


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


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:.*repeat an earlier one")
def test_slopes_of_the_log_loss_of_tennis():
    path = Path(__file__).parents[2] / "shared/data/atp.parquet"
    if not path.exists():
        pytest.skip("there is no tennis history beside the repository")
    matches = slice_events(jr.read(path, drop="walkover").matches, 500_000, 500_600)
    system, names = jr.blat_mmr(), ("beta", "prior_deviation", "kernel_width")
    with jax.enable_x64(True):
        arranged = jr.extend.schedule_by_level(matches, 32)

        def loss(values):
            params = system.params._replace(**dict(zip(names, values, strict=True)))
            p = jr.run(system, matches, params=params, schedule=arranged).prediction
            return -jnp.mean(jnp.log(jnp.where(matches.score == 1.0, p, 1.0 - p)))

        at = jnp.array([getattr(system.params, name) for name in names])
        step = 1e-4 * at
        around = at[None] + jnp.concatenate([-jnp.diag(step), jnp.diag(step)])
        low, high = quick(jax.vmap(loss))(around).reshape(2, 3)
        np.testing.assert_allclose(quick(jax.jacfwd(loss))(at), (high - low) / (2.0 * step), rtol=1e-5)
