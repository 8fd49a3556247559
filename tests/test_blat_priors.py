"""Priors of one's own: probabilities, functions of the strength, distributions; and those too narrow for a grid."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.system import replace_params
from tests.blat import close
from tests.conftest import MOSTLY_DOUBLE
from tests.reference import blat_kernels_twin as slow
from tests.reference import blat_twin as twin

GRID = dict(size=31, half_width=3.0, kernel="none")
X = np.linspace(-3.0, 3.0, 31)


def peaked(x, scale: Annotated[float, "positive"] = 0.7, *, place=0.2):
    return jnp.exp(-jnp.abs(x - place) / scale)


def in_space(x, spread=1.0):
    return jnp.exp(-0.5 * jnp.sum(x**2, axis=-1) / spread)


class Triangle:
    def pdf(self, x):
        return np.maximum(1.0 - np.abs(x), 0.0)


def first(system):
    return np.asarray(system.init(system.params, 2).belief[1])


def normal(values):
    return values / values.sum()


@MOSTLY_DOUBLE
def test_newcomers_have_the_prior(x64):
    limit = dict(rtol=1e-12 if x64 else 1e-5, atol=1e-12 if x64 else 1e-7)
    given = np.arange(31.0)
    laplace = normal(np.exp(-np.abs(X - 0.2) / 0.7))
    for prior, wanted in ((given, normal(given)), (peaked, laplace), (Triangle(), normal(np.maximum(1 - abs(X), 0)))):
        close(first(jr.blat_mmr(prior=prior, **GRID)), wanted, **limit)
    space = np.random.default_rng(0).normal(size=(9, 3))
    system = jr.blat_mmr("two_of_three", support=space, kernel="none", prior=in_space)
    close(first(system), normal(np.exp(-0.5 * (space**2).sum(axis=1))), **limit)
    support, inner = np.array([[-1.0, 1.0], [0.0, 2.0], [1.0, 3.0]]), np.full((3, 2), 0.5)
    for prior, wanted in (([0.5, 0.2, 0.3], [0.5, 0.2, 0.3]), (peaked, normal(np.exp(-abs(np.arange(3) - 0.2) / 0.7)))):
        close(first(jr.blat_mmr(support=support, inner=inner, prior=prior)), wanted, **limit)


def test_a_league_from_a_prior_of_ones_own_and_players_who_come_later(double):
    p = normal(np.arange(31.0))
    system = jr.blat_mmr(prior=np.arange(31.0), **GRID)
    history = [(0.0, (0, 1, 1.0)), (0.0, (1, 2, 0.5)), (0.0, (3, 2, 1.0))]
    wanted, _ = slow.league(history, twin.LUCK["duelyst"], [X] * 4, [p] * 4, None, "global")
    names = np.array(["a", "b", "c", "d"])
    tables = [{"a": names[[a]], "b": names[[b]], "score": np.array([s])} for _, (a, b, s) in history]
    rated = jr.rate(system, jr.read(tables[0]))
    for table in tables[1:]:
        rated = jr.rate(system, jr.read(table, history=rated), onto=rated)
    order = [list(rated.players).index(name) for name in names]
    close(np.asarray(rated.state.belief)[order], wanted, rtol=1e-9)


def test_values_of_a_prior_are_hyperparameters(double):
    system = jr.blat_mmr(prior=peaked, place=0.1, **GRID)
    assert system.params[-2:] == (0.7, 0.1) and [x.space for x in system.space][-2:] == ["positive", "real"]
    other = system.params._replace(scale=1.5)
    close(system.init(other, 2).belief, replace_params(system, other).init(other, 2).belief)


def test_saved_by_a_factory_of_ones_own(tmp_path):
    data = jr.read({"a": ["x", "y"], "b": ["y", "z"], "score": [1.0, 0.5]})
    rated = jr.rate(at_home(scale=0.9), data)
    jr.save(tmp_path / "run", rated)
    again = jr.load(tmp_path / "run", make=at_home)
    assert again.system == rated.system and again.system.params.scale == 0.9
    np.testing.assert_array_equal(again.state.belief, rated.state.belief)
    assert jr.history.blat_mmr_beliefs.belief_grid(again.system).shape == (31,)
    kernel = jr.extend.kernels.Kernel(widths=(2.0,), edges="source")
    widths = jr.blat_mmr(**GRID | {"kernel": kernel, "kernel_width": 0.4})
    jr.save(tmp_path / "widths", jr.rate(widths, data))
    assert jr.load(tmp_path / "widths").system == widths
    with pytest.raises(ValueError, match="made with prior of its own"):
        jr.save(tmp_path / "other", jr.rate(jr.blat_mmr(prior=peaked, **GRID), data))


def at_home(**params):
    return jr.blat_mmr(prior=peaked, **GRID, **params)._replace(
        name="at_home", factory=at_home, settings=jr.extend.Settings()
    )


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (np.ones(30), r"prior must be \[31\], a probability for each strength, got \(30,\)"),
        (np.where(np.arange(31) == 4, -1.0, 1.0), r"prior is -1.0 at strength -2.2\d* \(place 4\)"),
        (np.zeros(31), "prior has no mass, or too much"),
        (lambda x: -jnp.abs(x), "prior <lambda> is -3.0 at strength -3.0"),
        (lambda x, y: x + y, "must take a strength, and nothing else"),
    ],
)
def test_what_is_no_prior_is_refused(prior, message):
    with pytest.raises(ValueError, match=message):
        jr.blat_mmr(prior=prior, **GRID)


def test_a_prior_narrower_than_the_grid_is_refused():
    """It would be a belief in one point, of another deviation; between points it would be no belief at all."""
    with pytest.raises(ValueError, match="too coarse for the prior: its deviation is 0.1, less than a step of 0.2"):
        jr.blat_mmr(prior_deviation=0.1, **GRID)
    system = jr.blat_mmr(**GRID)
    league = jr.matches([[0, 1]], [1.0])
    with pytest.raises(ValueError, match="prior_deviation must be at least 0.2 with these settings"):
        jr.run(system, league, params=system.params._replace(prior_deviation=0.1))
    narrow = jr.ratings(system, system.init(system.params._replace(prior_deviation=0.2, prior_mean=0.1), 1))
    np.testing.assert_allclose((narrow.mean[0] - 1500.0) / jr.extend.luck.POINTS_PER_NATURAL_UNIT, 0.1, rtol=1e-5)
    np.testing.assert_allclose(narrow.deviation[0] / jr.extend.luck.POINTS_PER_NATURAL_UNIT, 0.2, rtol=1e-5)
    with pytest.raises(ValueError, match="prior_deviation 1e-20 is too small for strengths 1.3 away"):
        jr.blat_mmr(support=[-1.0, 0.5, 1.0], kernel="none", prior_mean=-0.3, prior_deviation=1e-20)
    sharp = jr.blat_mmr(support=[-1.0, 0.5, 1.0], kernel="none", prior_mean=-0.3, prior_deviation=1e-14)
    np.testing.assert_array_equal(first(sharp), [1.0, 0.0, 0.0])
