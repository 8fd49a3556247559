"""Elo-MMR, Elo-MMX, Codeforces and TopCoder against their twin on hostile rounds: far apart, tied, of two, of teams."""

from functools import lru_cache

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.history.dataset_rating import rating_history_with_performances
from jaxrate.replay.blocks import Block, arrange_blocks
from jaxrate.systems.elo_mmr.drift_and_noise import contest_variances
from tests.conftest import MOSTLY_DOUBLE, mark_full, quick, refused
from tests.reference import elo_mmr_twin as twin
from tests.test_elo_mmr import as_rounds

PLAYERS = 100


def standing(score):
    return (score < score[:, None]).sum(axis=1)


@lru_cache
def rounds(teams):
    """Contests of the twin: of 2, of 6 and of 40 players, who win and lose by far, or of 2 to 6 teams; many all tie."""
    random, contests = np.random.default_rng(12), []
    for k in range(18):
        size = (2, 6, 6, 40)[k % 4] if k < 8 else (2, 6)[k % 2]
        who = random.permutation(PLAYERS if size > 6 else 12)[:size]
        score = [who, random.integers(0, 3, size), np.zeros(size), random.permutation(size)][(k // 2) % 4]
        team = None
        if teams:
            team = np.minimum(np.arange(size), (1, 3)[k % 2]) if size < 40 else np.arange(size) // 2
            score = score[team]
        contests.append(twin.Round(who, standing(score), time=2.0 * k, team=team))
    return contests


WIDE = {"initial_deviation": 3000.0, "initial_rating": 11000.0}  # thousands of points apart after the first contest
CASES = [
    pytest.param("elo_mmr", False, WIDE | {"split_ties": 0.3}, marks=pytest.mark.full),
    ("elo_mmr", False, WIDE | {"drift": 30.0, "rho": 0.3, "newcomer": (0.5,), "split_ties": (0.9, 0.3)}),
    pytest.param("elo_mmx", False, WIDE, marks=pytest.mark.full),
    pytest.param("elo_mmx", False, WIDE | {"split_ties": (0.2, 0.8)}, marks=pytest.mark.full),
    pytest.param("elo_mmx", True, WIDE | {"split_ties": (0.7, 0.2)}, marks=pytest.mark.full),
    pytest.param("elo_mmx", True, WIDE | {"team_performance": "mean"}, marks=pytest.mark.full),
    ("codeforces", False, {"initial_rating": -9000.0, "beta": 20.0}),
    pytest.param("topcoder", False, WIDE, marks=pytest.mark.full),
]


@MOSTLY_DOUBLE
@pytest.mark.parametrize(("name", "teams", "settings"), CASES)
def test_hostile_rounds_equal_the_twin(name, teams, settings, x64):
    contests = rounds(teams)
    wanted = getattr(twin, name)(contests, PLAYERS, **settings)
    assert np.ptp(wanted.rating) > 1000.0 or name == "codeforces"
    team = {"team": np.concatenate([c.team for c in contests])} if teams else {}
    system = getattr(jr, name)(**settings, **({"history": 8} if name == "elo_mmr" else {}))
    if name == "elo_mmr":
        wanted = getattr(twin, name)(contests, PLAYERS, **settings, history=8)
    result, performed = rating_history_with_performances(system, as_rounds(contests, **team), num_players=PLAYERS)
    got = jax.tree.map(np.asarray, jr.ratings(system, result.state))
    exact = {"rtol": 1e-8} if x64 else {"rtol": 1e-4, "atol": 0.5}
    np.testing.assert_allclose(performed.performance, np.concatenate(wanted.performance), **exact)
    np.testing.assert_allclose(got.mean, wanted.rating, **exact)
    if got.deviation is not None:
        np.testing.assert_allclose(got.deviation, wanted.deviation, rtol=1e-8 if x64 else 1e-3)


@pytest.mark.parametrize("share", [0.0, 1, -0.5, 2.5, np.nan, None, "half", (0.0, 0.5), (1.1, 1.0), (1.0,)])
def test_what_is_no_share_of_a_tie_is_refused(share):
    """All of them silently were True or False."""
    for factory in (jr.elo_mmr, jr.elo_mmx):
        with refused("split_ties must be True"):
            factory(split_ties=share)


def test_a_share_of_a_tie_is_kept():
    assert [jr.elo_mmr(split_ties=x).settings["split_ties"] for x in (True, 0.3, [0.3, 1])] == [True, 0.3, (0.3, 1.0)]


@pytest.mark.full  # twins have both
def test_half_a_win_and_half_a_loss_are_what_true_says(double):
    contests = as_rounds(rounds(False)[:3])
    one, other = (jr.run(jr.elo_mmr(1, split_ties=x), contests).state for x in (True, 0.5))
    np.testing.assert_array_equal(one.rating, other.rating)
    assert jr.elo_mmr(split_ties=0.3).settings["split_ties"] == 0.3


@MOSTLY_DOUBLE
@pytest.mark.parametrize("factory", mark_full([jr.elo_mmr, jr.elo_mmx], jr.elo_mmx))
def test_skills_that_stay(factory, x64):
    """gamma = 0 was refused. It is the limit of a small one, and each contest adds 1 / beta^2 to the precision."""
    contests = as_rounds(rounds(False)[:8])
    schedule = arrange_blocks(contests, [Block(np.arange(8, dtype=np.int32)[:, None], (40, 40))])  # of one size
    short = {"history": 8} if factory is jr.elo_mmr else {}
    still = factory(beta=200.0, gamma=0.0, **short)

    def after(gamma):
        params = still.params._replace(gamma=gamma)
        state = jr.run(still, contests, params=params, num_players=PLAYERS, schedule=schedule).state
        return state.rating, state.variance

    values_and_slopes = quick(lambda gamma: jax.jvp(after, (gamma,), (1.0,)))  # one program for both
    ((rating, variance), slopes), ((almost, _), _) = (values_and_slopes(gamma) for gamma in (0.0, 1e-3))
    np.testing.assert_allclose(rating, almost, atol=1e-4 if x64 else 0.05)
    played = np.bincount(contests.events.player, minlength=PLAYERS)
    np.testing.assert_allclose(variance, 1.0 / (350.0**-2 + played / 200.0**2), rtol=1e-12 if x64 else 1e-5)
    assert float(contest_variances(still.params).limit) == 0.0 and np.isfinite(slopes).all()
