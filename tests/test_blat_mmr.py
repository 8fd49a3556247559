"""BlatMMR against its slow twin in leagues, and its algorithms against each other."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
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
    on_grid,
    start,
)
from tests.conftest import MOSTLY_SINGLE, mark_full
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
