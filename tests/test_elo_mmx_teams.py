"""Elo-MMX of teams: against the slow twin, by hand, and against teams of one."""

import math
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ndtr

import jaxrate as jr
from jaxrate.events import slice_events
from jaxrate.replay.plan import Block
from jaxrate.replay.schedule import arrange_blocks
from tests.conftest import mark_full, quick
from tests.reference import elo_mmr_twin as twin

PLAYERS, SMALL = 240, 5  # and contests of few
SETTINGS = {"newcomer": (0.6, 0.8), "drift": 30.0, "initial_rating": 1200.0}


@lru_cache
def season():
    """Contests of the twin: 2 to 80 teams of 1 to 6, with ties, weights of one's own and ceilings; in one all tie."""
    random, contests = np.random.default_rng(3), []
    for i, (teams, most) in enumerate([(2, 6), (7, 3), (2, 2), (3, 1), (5, 6), (80, 4), (66, 3), (20, 6)]):
        size = random.integers(1, most + 1, teams)
        team = random.permutation(np.repeat(np.arange(teams), size))
        score = random.integers(0, max(2, teams // 2), teams)
        score = np.append(0, score[1:] + 1) * (i != 2)
        rank = (score[team][None, :] > score[team][:, None]).sum(axis=1)
        weight = random.choice([0.5, 1.0, 2.0], len(team))
        ceiling = 1300.0 if i % 3 == 0 else math.inf
        who = random.permutation(PLAYERS if i >= SMALL else 25)[: len(team)]
        contests.append(twin.Round(who, rank, weight, 3.0 * i, ceiling, team))
    return contests


@lru_cache
def events():
    columns = []
    for i, c in enumerate(season()):
        rest = (np.full(len(c.players), x) for x in (c.time, c.ceiling))
        columns.append([np.full(len(c.players), i), c.players, c.rank, c.team, c.weight, *rest])
    contest, player, rank, team, weight, time, ceiling = (np.concatenate(x) for x in zip(*columns, strict=True))
    return jr.rounds(contest, player, rank, team=team, weight=weight, time=time, ceiling=ceiling)


def steps():
    """One by one, padded: first those with few participants, whose sums are direct, then those read from tables."""
    number = np.arange(len(season()), dtype=np.int32)[:, None]
    return arrange_blocks(events(), [Block(number[:SMALL], (26, 8)), Block(number[SMALL:], (224, 82))])


@lru_cache
def replayed(kind, split_ties, double):
    """The run, and the ratings [n] and deviations after it."""
    with jax.enable_x64(double):
        system = jr.elo_mmx(split_ties, team_performance=kind, **SETTINGS)
        done = jr.run(system, events(), num_players=PLAYERS, schedule=steps())
        return jax.tree.map(np.asarray, (done, jr.ratings(system, done.state)))


CASES = mark_full([("sum", False, False), ("sum", False, True), ("mean", True, True)], ("sum", False, True))


@pytest.mark.parametrize(("kind", "split_ties", "double"), CASES)
def test_a_history_of_teams_equals_the_twin(kind, split_ties, double):
    wanted = twin.elo_mmx(season(), PLAYERS, team_performance=kind, split_ties=split_ties, **SETTINGS)
    done, (mean, deviation) = replayed(kind, split_ties, double)
    assert np.ptp(wanted.rating) > 600.0 and len(season()[5].players) > 160
    np.testing.assert_allclose(mean, wanted.rating, **({"rtol": 1e-9} if double else {"atol": 0.02}))
    np.testing.assert_allclose(deviation, wanted.deviation, rtol=1e-9 if double else 1e-4)
    for start, c in zip(events().player_start, season(), strict=False):
        share = done.prediction[start : start + len(c.team)]
        lead = share[np.unique(c.team, return_index=True)[1]]
        np.testing.assert_allclose(share, lead[c.team], atol=1e-6)
        np.testing.assert_allclose(lead.mean(), 0.5, atol=1e-5)


@pytest.mark.parametrize("kind", mark_full(["sum", "mean"], "sum"))
def test_two_teams_of_newcomers_by_hand(kind):
    """All that tells them apart is their size and what the contest counts for each."""
    contest, (done, _) = season()[0], replayed(kind, kind == "mean", True)
    w, size = 0.2 * 0.6 * contest.weight, np.bincount(contest.team)
    square = 350.0**2 + (1.0 + 1.0 / w + w) * 80.0**2 + 30.0 / w
    scale = size if kind == "mean" else np.ones(2)
    variance = np.bincount(contest.team, square) / scale**2
    lead = 1200.0 * (size / scale) @ [1.0, -1.0]
    wanted = ndtr(np.array([lead, -lead]) / math.sqrt(variance.sum()))
    np.testing.assert_allclose(done.prediction[: len(w)], wanted[contest.team], rtol=1e-9)


def test_slopes_in_every_parameter_are_finite_differences():
    few = slice_events(events(), 0, 3)
    system = jr.elo_mmx(True, team_performance="mean", **SETTINGS)
    with jax.enable_x64(True):
        schedule = arrange_blocks(few, [Block(np.arange(3, dtype=np.int32)[:, None], (14, 8))])
        params = jax.tree.map(lambda x: jnp.asarray(x, float), system.params)

        def after(params):
            done = jr.run(system, few, params=params, num_players=25, schedule=schedule)
            return jnp.sum(done.state.rating * jnp.cos(jnp.arange(25.0))) + jnp.sum(done.prediction**2)

        # Forward, which is half as much to compile.
        value_and_slope = quick(lambda params, along: jax.jvp(after, (params,), (along,)))
        zero = jax.tree.map(jnp.zeros_like, params)
        for name, size in params._asdict().items():
            if size is not None:
                h, along = 1e-4 * max(1.0, abs(float(size))), zero._replace(**{name: jnp.ones(())})
                (low, _), (_, slope), (high, _) = (
                    value_and_slope(params._replace(**{name: size + sign * h}), along) for sign in (-1, 0, 1)
                )
                np.testing.assert_allclose(slope, (high - low) / (2 * h), rtol=1e-5, err_msg=name)


def test_a_team_performs_as_the_sum_or_the_mean():
    with pytest.raises(ValueError, match="elo_mmx: team_performance must be 'sum' or 'mean', got 'men'; did you"):
        jr.elo_mmx(team_performance="men")
