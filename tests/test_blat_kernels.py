"""Kernels of one's own: functions of the distance or of both strengths, and matrices, against loops."""

from functools import partial
from typing import Annotated

import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.hashable_values import bind, hashable_array
from jaxrate.systems.blat_mmr import kernels
from tests.blat import REFERENCE, Kernel, close, match, start
from tests.conftest import MOSTLY_DOUBLE, draw_pairs, mark_full, quick
from tests.reference import blat_kernels_twin as slow
from tests.reference import blat_twin as twin

pytestmark = pytest.mark.usefixtures("double")

SIZE, WIDTH = 31, 3.0
GRID = np.linspace(-WIDTH, WIDTH, SIZE)
STEP = GRID[1] - GRID[0]
MATRIX = np.random.default_rng(0).uniform(size=(SIZE, SIZE)) * (abs(np.subtract.outer(range(SIZE), range(SIZE))) < 4)


def skew(d, *, tilt: float = 0.4, tail: Annotated[float, "positive"] = 1.5):
    """Strengths rise more often than they fall."""
    return jnp.exp(tilt * d - tail * jnp.abs(d) ** 1.5)


def steadier(x, y, *, low: Annotated[float, "positive"] = 0.3, slope: float = -0.2):
    return jnp.exp(-0.5 * ((y - x) / (low * jnp.exp(slope * x))) ** 2)


def wide(x, y, width, slope=-0.2):
    return jnp.exp(-jnp.abs(y - x) / (width * jnp.exp(slope * x)))


def homeward(x, y, home=0.5):
    """From anywhere to the same few: a function of where it ends alone."""
    return jnp.exp(-((y - home) ** 2)) + 0.0 * x


MIXTURE = dict(weights=(0.3, 0.7), widths=(0.7, 1.6))
SHAPES = {  # the kernel, and its rows by loops on the grid
    "skew": (Kernel(skew, **MIXTURE), partial(slow.of_distance, GRID, skew, [(0.3, 0.35), (0.7, 0.8)], STEP)),
    "steadier": (Kernel(steadier), lambda _: slow.between(GRID, steadier)),
    "wide": (Kernel(wide), lambda _: slow.between(GRID, lambda x, y: wide(x, y, 0.5))),
    "homeward": (Kernel(homeward), lambda _: slow.between(GRID, homeward)),
    "matrix": (Kernel(MATRIX), lambda _: MATRIX),
}


@MOSTLY_DOUBLE
@pytest.mark.parametrize("name", mark_full(SHAPES, "skew", "steadier", "homeward", "matrix"))
def test_every_route_is_the_loop(x64, name):
    belief = np.random.default_rng(1).dirichlet(np.full(SIZE, 0.3), 3)

    def by_every_route(p, edges):
        kernel = kernels.parse(SHAPES[name][0]._replace(edges=edges))
        arguments = kernels.shape_function_arguments(kernel)
        values = {name: number for name, (number, _) in arguments.params.items()}
        reach = kernels.kernel_reach(kernel, hashable_array(GRID), STEP, 0.5, (*values.values(),), "float64")
        found = {}
        for route in ("naive", "band", *(["fft"] if kernels.depends_on_distance(kernel) else [])):
            points, width = jnp.asarray(GRID, p.dtype), jnp.asarray(0.5, p.dtype)
            parts = kernels.prepare_components(kernel, route, width, points, STEP, reach, values)
            found[route] = kernels.apply_kernel(kernel, route, parts, p)
        if name == "homeward":
            left, right = kernels.low_rank_factors(kernel, hashable_array(GRID), STEP, 0.5, (0.5,), p.dtype.name)
            assert left.shape == (SIZE, 1)
            found["low_rank"] = kernels.apply_kernel(kernel, "low_rank", kernels.low_rank_component(left, right), p)
        return found

    found = quick(lambda p: {edges: by_every_route(p, edges) for edges in ("global", "source")})(
        jnp.asarray(belief, float)
    )
    for edges, routes in found.items():
        wanted = [slow.spread(p, SHAPES[name][1](edges), edges) for p in belief]
        for route, after in routes.items():
            np.testing.assert_allclose(after, wanted, rtol=0, atol=1e-12 if x64 else 2e-6, err_msg=f"{edges} {route}")


# Leagues

PLAYERS = 4
FACTORS = np.array([0.5, 1.0, 1.5, 2.0])


def games(n=14):
    random = np.random.default_rng(2)
    a, b = draw_pairs(random, PLAYERS, n).T
    score, time = random.choice([0.0, 0.5, 1.0], n), np.cumsum(random.uniform(1.0, 2.0, n))
    return jr.matches(np.stack([a, b], 1), score, time), [*zip(time, zip(a, b, score, strict=True), strict=True)]


MATCHES, HISTORY = games()
LUCK = twin.LUCK["duelyst"]
ON_GRID = dict(size=SIZE, half_width=WIDTH, kernel_width=0.5)


def league(system, state=None, **theirs):
    """Beliefs and predictions are those of the loops."""
    supports = theirs.pop("supports", [GRID] * PLAYERS)
    result = jr.run(system, MATCHES, state=state)
    beliefs = np.asarray(system.init(system.params, PLAYERS).belief if state is None else state.belief)
    wanted = slow.league(HISTORY, LUCK, supports, beliefs, **theirs)
    close(result.state.belief, wanted[0], atol=1e-12)
    close(result.prediction, wanted[1], atol=1e-12)


def test_a_league_with_a_kernel_between_strengths():
    system = jr.blat_mmr(kernel=Kernel(steadier), **ON_GRID)
    league(system, kernels=[slow.between(GRID, steadier)] * PLAYERS, edges="source")


def test_a_kernel_by_time_with_widths_of_the_players():
    """The width grows with the root of the time, which is more than a step of the grid after any match."""
    system = jr.blat_mmr(kernel=Kernel(wide, clock="time", own=True, edges="global"), **ON_GRID)

    def by_time(player, gap):
        return slow.between(GRID, lambda x, y: wide(x, y, 0.5 * FACTORS[player] * np.sqrt(gap)))

    state = system.init(system.params, PLAYERS)._replace(width=jnp.asarray(FACTORS))
    league(system, state, kernels=None, by_time=by_time, edges="global")


@pytest.mark.parametrize("shape", mark_full(["gaussian", steadier, "matrix"], "gaussian", "matrix"))
def test_kernels_of_beliefs_over_distributions(shape):
    """Example 2.15: by the means of the distributions of each player, or as a matrix says."""
    random = np.random.default_rng(5)
    support, inner = random.normal(size=(PLAYERS, 7, 3)), random.dirichlet(np.ones(3), (PLAYERS, 7))
    mean, matrix = (support * inner).sum(axis=2), random.uniform(size=(7, 7))
    kernel = Kernel(matrix if shape == "matrix" else shape, edges="source")
    system = jr.blat_mmr(support=support[0], inner=inner[0], kernel=kernel, kernel_width=0.5)
    rows = {
        "gaussian": lambda x: slow.of_distance(x, lambda d: np.exp(-0.5 * d**2), [(1.0, 0.5)]),
        steadier: lambda x: slow.between(x, steadier),
        "matrix": lambda _: matrix,
    }[shape]
    state = start(system, random.dirichlet(np.ones(7), PLAYERS), support=support, inner=inner)
    league(system, state, supports=support, inner=inner, kernels=[rows(x) for x in mean], edges="source")


@pytest.mark.parametrize("shape", ["gaussian", skew])
def test_a_kernel_of_the_distance_in_three_dimensions(shape):
    """Equation (8) with the densities of R^3, whose heights fall as the third power of the width."""
    x = np.random.default_rng(3).normal(size=(11, 3))
    system = jr.blat_mmr("two_of_three", support=x, kernel=Kernel(shape, **MIXTURE), kernel_width=1.0, beta=0.0)
    p = np.random.default_rng(4).dirichlet(np.ones(11), 2)
    of_distance = skew if shape is skew else lambda d: np.exp(-0.5 * d**2)
    rows = slow.of_distance(x, of_distance, [(0.3, 0.7), (0.7, 1.6)])
    close(match(system, p)[0], [slow.spread(q, rows, "global") for q in p])


# Hyperparameters of functions


def test_arguments_with_numbers_are_hyperparameters():
    system = jr.blat_mmr(kernel=Kernel(steadier), low=0.4, **ON_GRID)
    assert system.params._asdict() == jr.blat_mmr(**ON_GRID).params._asdict() | {"low": 0.4, "slope": -0.2}
    assert [x.space for x in system.space][-2:] == ["positive", "real"]
    assert system != jr.blat_mmr(kernel=Kernel(steadier), **ON_GRID)
    fixed = jr.blat_mmr(kernel=Kernel(bind(cut, 0.7)), **ON_GRID)
    assert fixed.params._fields[-1] == "height" and "Kernel(shape=cut" in repr(fixed)


def cut(low, x, y, height=1.0):
    return jnp.where(jnp.abs(y - x) < low, height, 0.0)


# Refusals


def holed(d):
    return jnp.where(d == 0.0, jnp.nan, 1.0)


def below(x, y):
    return jnp.where(jnp.abs(x - 1.0) < 0.05, -0.5, 0.5)


def nowhere(x, y):
    return (jnp.abs(x - y) < 0.1) & (x < 1.1)


def sunk(x, y, *, depth=0.1):
    return jnp.where(x > 0.0, 0.5 - depth, 0.5)


def whole(d, a: Annotated[float, "whole"] = 1.0):
    return a + d


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(kernel=Kernel(holed)), "kernel holed is nan at a distance of 0 widths"),
        (dict(kernel=Kernel(below)), r"kernel below is -0.5 from strength 1.0\d* to -3.0"),
        (dict(kernel=Kernel(nowhere)), r"kernel nowhere leaves no mass to strength 1.2\d* \(row 21\)"),
        (dict(kernel=Kernel(lambda d: 0.0 * d)), "has no mass at any distance on the grid"),
        (dict(kernel=Kernel(np.eye(30))), r"the kernel's matrix must be \[31, 31\], got \(30, 30\)"),
        (dict(kernel=Kernel(np.ones((2, 3)))), r"a kernel's matrix is \[n, n\], got shape \(2, 3\)"),
        (dict(kernel=Kernel(lambda d: d[:3] ** 2)), "must broadcast to"),
        (dict(kernel=Kernel(lambda: 1.0)), "this one takes 0"),
        (dict(kernel=Kernel(below, clock="time")), "it has no width that a mixture, a clock or a player could change"),
        (dict(kernel=Kernel(steadier), algorithm="fft"), "fft needs a grid, .* and a kernel of the distance"),
        (dict(kernel=Kernel(lambda d, beta=1.0: d)), "beta of <lambda> has the name of something else"),
        (dict(kernel=Kernel(whole)), "whole: a is one of real, positive, unit, not 'whole'"),
        (dict(kernel=Kernel(sunk), depth=1.0), "kernel sunk is -0.5 from strength"),
    ],
)
def test_what_is_no_kernel_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        jr.blat_mmr(**ON_GRID | given)
    if "depth" in given:
        system = jr.blat_mmr(**ON_GRID | given | {"depth": 0.1})
        with pytest.raises(ValueError, match=message):
            jr.run(system, MATCHES, params=system.params._replace(depth=1.0))


@pytest.mark.parametrize("edges", [None, "source"])
def test_example_4_2_has_the_papers_result(edges):
    """By default as (8), 1/28 on U; with edges="source" as (6), where 1 and 100 share their mass among two."""
    n = np.arange(1, 101)
    p = np.where(np.sqrt(n) % 1 == 0, 0.1, 0.0)
    rows = np.where(abs(n[:, None] - n) <= 1, 1 / 3, 0.0)
    system = jr.blat_mmr("coin", size=100, half_width=49.5, kernel=Kernel(rows, edges=edges), kernel_width=1, prior=p)
    after, _ = match(system, [p, p])
    wanted = REFERENCE["example_4_2_correct"] if edges is None else (p / rows.sum(axis=1)) @ rows
    close(after, [wanted] * 2)


def test_edges_are_by_source_where_rows_differ():
    uneven = MATRIX.copy()
    uneven[0, 0] += 0.1
    kinds = {"wide": wide, "homeward": homeward, "uneven": uneven}
    for name, shape in kinds.items():
        system = jr.blat_mmr(size=SIZE, half_width=WIDTH, kernel=Kernel(shape), kernel_width=0.5)
        assert system.settings["kernel"].edges == "source", name
