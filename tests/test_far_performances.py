"""Performances where sums say too little: far from everybody, and from tables with points too far apart."""

from functools import partial
from itertools import product
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.systems.elo_mmr import density_dispatch
from jaxrate.systems.rounds import cdf_sums, performance_inference
from tests.conftest import MOSTLY_SINGLE, mark_full, quick
from tests.reference import performance_twin as twin
from tests.test_elo_mmr import look_normal


def some_players(count, second):
    """One is 4,000 points ahead of all others, and comes in first or second."""
    random = np.random.default_rng(count)
    centre = np.round(random.normal(0.0, 200.0, count))
    score = (centre + random.normal(0.0, 200.0, count)) // 50
    centre[0], score[:2] = 4000.0, (1e3, 2e3 if second else -1e3)
    return centre, (score[None] > score[:, None]).sum(axis=1)


@MOSTLY_SINGLE
@pytest.mark.parametrize(
    ("count", "deviation", "gaussian", "split_ties"),
    mark_full(
        [*product((12, 70), (300.0,), (False, True), (False,)), *product((70,), (20.0,), (False, True), (False, True))],
        *product((12,), (300.0,), (False, True), (False,)),
        (70, 20.0, False, False),
    ),
)
def test_performances_are_right_far_from_everybody(count, deviation, gaussian, split_ties, x64):
    """In float32 those of the first two were off by some points; among many of small deviations all were."""
    centre, rank = some_players(count, second=deviation > 100.0)
    spread = np.full(count, deviation)
    look = look_normal if gaussian else performance_inference.make_logistic_cdf_sums
    event = SimpleNamespace(rank=jnp.asarray(rank, jnp.int32), weight=jnp.ones(count), present=None)

    def infer(centre, spread):
        sums = look(centre, spread, event, cdf_sums.scale_table_points_to_precision(72))
        return density_dispatch.infer_performances(sums, event, split_ties)

    got = quick(infer)(*(jnp.asarray(x, float) for x in (centre, spread)))
    wanted = twin.performances(centre, spread, rank, split_ties, gaussian)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-6 if x64 else 0.05)


def ratings_after(system, count, contests, state=None):
    """Of each of `count` players who always come in the order of their numbers."""
    number, order = np.repeat(np.arange(contests), count), np.tile(np.arange(count), contests)
    return np.asarray(jr.run(system, jr.rounds(number, order, order), state=state).state.rating)


FACTORIES = [partial(jr.elo_mmr, history=4), jr.elo_mmx, jr.codeforces]


@MOSTLY_SINGLE
@pytest.mark.parametrize("factory", mark_full(FACTORIES, FACTORIES[0]), ids=["elo_mmr", "elo_mmx", "codeforces"])
def test_newcomers_may_have_any_rating(factory, x64):
    """Of 9000 the winner gained nothing, and everybody lost: performances were looked for between -6000 and 9000."""
    near, far = (ratings_after(factory(initial_rating=x), 10, 20) - x for x in (1500.0, 9000.0))
    assert near[0] > 500.0
    np.testing.assert_allclose(far, near, atol=1e-8 if x64 else 0.1)


@pytest.mark.full  # the same defect as above
@MOSTLY_SINGLE
def test_who_wins_twenty_contests_of_ten(x64):
    """They gained 0 from a rating of 9000, and came to 8963 with the large deviations."""
    gain = ratings_after(jr.elo_mmr(history=20, initial_rating=9000.0), 10, 20)[0] - 9000.0
    np.testing.assert_allclose(gain, 674.8, atol=0.05)
    wide = jr.elo_mmr(history=20, initial_deviation=5000.0, limit_deviation=3000.0)
    np.testing.assert_allclose(ratings_after(wide, 10, 20)[0], 21183.0, atol=0.5)


@MOSTLY_SINGLE
def test_players_may_have_come_to_any_rating(x64):
    """Who was rated 12000 and won lost 1,169 points."""
    system, gain = jr.elo_mmr(history=4), []
    for rating in (1500.0, 12000.0):
        ratings = jnp.full(2, rating)
        state = system.init(system.params, 2)
        state = state._replace(rating=ratings, past=state.past._replace(mean=ratings + 0.0))
        gain.append(ratings_after(system, 2, 1, state) - rating)
    assert gain[0][0] > 100.0
    np.testing.assert_allclose(gain[1], gain[0], atol=1e-8 if x64 else 0.01)
