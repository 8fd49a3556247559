"""Sweeps, profiles and rolling origins, and a step of every system."""

from functools import partial
from pathlib import Path

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import Matches, slice_events
from jaxrate.systems.system_construction_by_name import CONTEST_SYSTEMS
from tests.conftest import mark_full
from tests.test_fit import (
    AHEAD,
    FIT,
    PROBLEM,
    SEARCH,
    SLOPE,
    TASK_OF,
    contests,
    fitted,
    league,
    predicted,
)

# Sweeps, profiles, rolling origins


def test_a_sweep_in_parts_is_the_same(monkeypatch):
    system, matches = jr.glicko(), league()
    params = system.params._replace(c=np.array([5.0, 15.0, 30.0])[:, None], side_advantage=np.array([0.0, 50.0]))
    whole = jr.fitting.sweep_parameters(system, matches, params)
    want = jr.metrics.log_loss(predicted(system, matches, c=30.0, side_advantage=50.0), matches.score)
    assert whole.shape == (3, 2)
    np.testing.assert_allclose(whole[2, 1], want, rtol=1e-6)
    monkeypatch.setattr(SLOPE, "BATCH_MEMORY", 4 * 7 * 600 * 4)
    np.testing.assert_allclose(jr.fitting.sweep_parameters(system, matches, params), whole, rtol=1e-6)
    with pytest.raises(ValueError, match="must not decrease"):
        jr.fitting.sweep_parameters(system, matches, system.params._replace(initial_deviation=np.array([300.0, 400.0])))


def test_a_profile_fits_the_others_anew(no_errors):
    fit = fitted("products")
    profile = jr.fitting.profile_loss(fit.system, league(), "k", [20.0, fit.params.k])
    held = jr.fit(fit.system._replace(params=fit.params._replace(k=20.0)), league(), free=("side_advantage",))
    np.testing.assert_allclose(profile.loss, [held.loss, fit.loss], rtol=1e-6)
    np.testing.assert_allclose(profile.params.side_advantage[0], held.params.side_advantage, rtol=1e-2)
    np.testing.assert_allclose(profile.params.k, profile.value, rtol=1e-6)
    assert (profile.system.name, profile.name, profile.weight) == ("elo", "k", 600)


def test_a_least_value_holds_up_no_other(no_errors):
    """It is best to learn less than is allowed: the side is worth what it is with the least K."""
    least = 1.5 * fitted("products").params.k
    with jax.enable_x64(True):
        start = jr.elo(k=2.0 * least)
        start = start._replace(space=start.space._replace(k=start.space.k._replace(least=least)))
        fit = jr.fit(start, league())
        held = jr.fit(start._replace(params=start.params._replace(k=least)), league(), free=("side_advantage",))
    assert least < fit.params.k < 1.02 * least
    np.testing.assert_allclose(fit.loss, held.loss, rtol=1e-4)
    np.testing.assert_allclose(fit.params.side_advantage, held.params.side_advantage, rtol=0.03)
    grid = jr.blat_mmr(size=201, half_width=3.0, kernel_width=0.06)
    with pytest.raises(ValueError, match=r"kernel_width starts at 0.06, the border"):
        jr.fit(grid, league(), free=("kernel_width",))


def test_rolling_fits_the_past_and_scores_what_follows(no_errors):
    system, matches = jr.elo(), league()
    rolled = jr.fitting.fit_rolling(system, matches, 2, objective=AHEAD(warm_up=1))
    past = jr.fit(system, slice_events(matches, 0, 400), objective=AHEAD(warm_up=1))
    np.testing.assert_allclose(rolled.params.k[1], past.params.k, rtol=1e-3)
    guess = predicted(system, matches, k=rolled.params.k[1], side_advantage=rolled.params.side_advantage[1])
    mask = jr.metrics.experience_mask(matches, 1) & (np.arange(600) >= 400)
    np.testing.assert_allclose(rolled.fitted[1], jr.metrics.log_loss(guess, matches.score, mask=mask), rtol=1e-6)
    want = jr.metrics.log_loss(predicted(system, matches), matches.score, mask=mask)
    np.testing.assert_allclose(rolled.default[1], want, rtol=1e-6)
    assert rolled.events.tolist() == [jr.metrics.experience_mask(matches, 1)[200:400].sum(), mask.sum()]


# Every system

MADE = {
    "glicko2": jr.glicko2, "trueskill": jr.trueskill, "weng_lin": jr.weng_lin, "elo_mmx": jr.elo_mmx, "elo": jr.elo,
    "glicko": jr.glicko, "skills": jr.skills, "codeforces": jr.codeforces, "topcoder": jr.topcoder,
    "blat_mmr": lambda: jr.blat_mmr(size=31, half_width=3.0, kernel_width=0.6),
    "elo_mmr": lambda: jr.elo_mmr(history=2), "category_glicko": lambda: jr.category_glicko(1),
    "urnings": lambda: jr.forecasts.add_outcomes(jr.urnings(outcomes=3)),
}  # fmt: skip
DATA = Path(__file__).parents[2] / "shared" / "data"


def test_no_system_is_forgotten():
    assert {*MADE} == {*jr.extend.SYSTEMS}


@pytest.mark.parametrize("name", mark_full(MADE, "elo"))
def test_a_step_lowers_the_loss_of_every_system(name):
    """Of real football and races, where the data are."""
    system, key = MADE[name](), jax.random.key(0)
    if (Matches in system.events and name not in CONTEST_SYSTEMS) or name == "category_glicko":
        football = partial(jr.read, DATA / "intl_football.parquet", time="t", side="a", neutral="neutral")
        events = slice_events(football().matches if DATA.exists() else league(), 0, 60 if name == "blat_mmr" else 600)
        events = jr.periods(events, 500.0) if name == "category_glicko" else events
        events = jr.urns.split_by_side(events) if name == "urnings" else events
    else:
        races = partial(jr.read, DATA / "f1_rounds.parquet", rank="rank_lo", sort=True)
        events = slice_events(races().rounds, 0, 10) if DATA.exists() else contests()
    problem = PROBLEM.prepare_fit(TASK_OF(system, events, AHEAD(key=key)), None)
    if name == "codeforces":  # a unit of the ratings
        assert problem.names == ("weight",)
    (search,) = SEARCH.minimise_from_starts(problem, problem.start[None], system.params, 1)
    assert search.best.loss < search.history[0]
    if name == "blat_mmr":  # sizes are those for the values in use
        params = jax.tree.map(lambda x: x[0], PROBLEM.params_at(problem, search.best.z[None], system.params))
        assert FIT.replace_params(system, params).rules != system.rules


def test_whole_numbers_are_not_fitted(no_errors):
    system, key = jr.urnings(outcomes=3), jax.random.key(0)
    with pytest.raises(ValueError, match="size is fixed .*balls.*sweep"):
        jr.fit(system, league(), free=("size",), objective=AHEAD(key=key))
    with pytest.raises(ValueError, match="needs? a key|give it a key"):
        jr.fit(system, league())
    sizes = system.params._replace(size=np.array([20.0, 100.0]))
    got = jr.fitting.sweep_parameters(system, league(), sizes, objective=AHEAD(key=key))
    guess = jr.run(system._replace(params=system.params._replace(size=20.0)), league(), key=key).prediction
    np.testing.assert_allclose(got[0], jr.metrics.log_loss(guess, league().score), rtol=1e-6)
    fit = jr.fit(system, league(), objective=AHEAD(key=key), steps=1)
    assert fit.free == ("draw_weight",) and fit.loss < fit.loss_history[0]


def test_a_step_is_the_best_within_its_box():
    """Glicko-2's tau, of which a year of StarCraft says nothing, kept the deviation of newcomers where it began."""
    slope, curvature = np.array([1e-7, 0.5]), np.diag([1e-8, 1.0])
    np.testing.assert_allclose(SEARCH.minimise_quadratic_in_box(slope, curvature, 1.0), [-1.0, -0.5])
    random = np.random.default_rng(0)
    for radius in (0.1, 1.0, 3.0):
        root, slope = random.normal(0, 3, (3, 3)), random.normal(0, 3, 3)
        curvature = root @ root.T
        best = SEARCH.minimise_quadratic_in_box(slope, curvature, radius)
        others = random.uniform(-radius, radius, (500, 3))
        loss, other_losses = (x @ slope + 0.5 * np.sum(x @ curvature * x, axis=-1) for x in (best, others))
        assert loss < 0 and (loss <= other_losses + 1e-9).all() and (np.abs(best) <= radius).all()


def test_the_search_learns_curvature_that_slopes_of_events_do_not_promise():
    """A step's change of slopes is then as the curvature says. What curves downwards teaches nothing."""
    information, true = np.diag([1.0, 2.0]), np.array([[3.0, 1.0], [1.0, 4.0]])
    old, new, bent = (
        SEARCH.SearchPoint(np.array(z), 0.5, slope, information, True)
        for z, slope in (
            ([1.0, 1.0], true @ [1.0, 1.0]),
            ([0.4, 0.8], true @ [0.4, 0.8]),
            ([0.4, 0.8], np.array([9.0, 9.0])),
        )
    )
    search, step = SEARCH.Search(old, old, (0.5,), np.zeros((2, 2))), new.z - old.z
    learnt = SEARCH._learn_curvature(search, step, new)._replace(point=new)
    np.testing.assert_allclose(learnt.curvature @ step, true @ step, rtol=1e-5)
    assert SEARCH._learn_curvature(search, step, bent) is search
    hopeless = search._replace(correction=-0.99 * information)  # which leaves little of the information
    np.testing.assert_array_equal(hopeless.curvature, old.information)


@pytest.mark.parametrize("product", [[[1.0, 1.0 + 1e-5], [1.0 + 1e-5, 1.0]], [[0.0, 0.0], [0.0, 4.0]]])
def test_information_is_definite_whatever_rounding_left(product):
    """Of two parameters that have the same effect, and of one that has none."""
    point = SEARCH.SearchPoint(np.zeros(2), 0.5, np.ones(2), np.array(product), True)
    assert np.linalg.eigvalsh(point.information)[0] > 0.0 and np.isfinite(point.gradient_size(point.information))
    np.testing.assert_allclose(point.information, product, atol=1e-4)
    assert SEARCH.Search(point, point, (0.5,), np.zeros((2, 2))).curvature.shape == (2, 2)
