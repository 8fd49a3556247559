"""What the Elo-MMR paper proves of histories (Ebtekar and Liu 2021), over hundreds of random ones, ties included.

Each test handles all its histories at once: their players are disjoint, so one `run` replays them in parallel.
"""

import math
from functools import lru_cache, partial
from itertools import product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import Rounds
from jaxrate.systems.elo_mmr import PerformanceHistory, posterior_mode
from jaxrate.systems.rounds import expected_wins
from tests.conftest import mark_full, quick
from tests.reference import performance_twin as twin
from tests.test_elo_mmr import infer_event, infer_round

pytestmark = pytest.mark.usefixtures("double")

NUMBER = 250  # random rounds or histories of a test
LOGISTIC = math.pi / math.sqrt(3.0)


# Random histories


class Contests(NamedTuple):
    """Contests of which each has as many participants, [...] and [..., P]."""

    player: np.ndarray
    score: np.ndarray  # lower is better
    weight: np.ndarray
    time: np.ndarray


def replay(system, parts):
    """The state after contests of several sizes."""
    columns = []
    for part in parts:
        shape = part.player.shape
        weight, time = (np.broadcast_to(x[..., None], shape) for x in part[2:])
        number = np.arange(part.time.size).reshape(part.time.shape)[..., None] + 10**6 * len(columns)
        table = np.broadcast_to(number, shape), part.player, part.score, weight, time
        columns.append(np.stack([x.astype(float).ravel() for x in table]))
    contest, player, score, weight, time = np.concatenate(columns, axis=1)
    order = np.argsort(time, kind="stable")
    contest, player = contest.astype(int), player.astype(int)
    table = (x[order] for x in (contest, player, score))
    return jr.run(system, jr.rounds(*table, weight=weight[order], time=time[order])).state


def league(seed, histories, contests, players):
    """Histories in which everybody takes part in every contest, [H, C, P]."""
    rng = np.random.default_rng(seed)
    player = np.arange(histories * players).reshape(histories, 1, players).repeat(contests, axis=1)
    score = rng.integers(0, 3, player.shape).astype(float)
    score[..., :2] = rng.permuted([[0.0, 2.0]] * histories * contests, axis=1).reshape(*score.shape[:2], 2)
    weight = rng.choice([0.5, 1.0, 2.0], player.shape[:2])
    return Contests(player, score, weight, np.cumsum(rng.uniform(0.5, 20.0, player.shape[:2]), axis=1))


def incentives(seed, histories, contests):
    """Two copies of each history; in the second the hero, player 0, does better in one contest, or no worse.

    He meets everyone but once, so that others' ratings and ranks among themselves are the same in both. They have met
    among themselves before.

    Returns:
      the contests, [2, H, C, 5] with the hero in column 0 and [2, H, C, 4] without, and [H] whether his better score
      passes or joins anybody.
    """
    rng = np.random.default_rng(seed)
    size = 1 + 4 * contests
    hero = np.zeros((histories, contests, 1), int)
    player = np.concatenate([hero, 1 + np.arange(size - 1).reshape(1, contests, 4).repeat(histories, axis=0)], axis=2)
    player += size * np.arange(histories)[:, None, None]
    score = rng.integers(0, 8, player.shape).astype(float)
    score[..., 1:] = 2.0 * rng.integers(0, 4, (*player.shape[:2], 4))
    score[..., 1:3] = [0.0, 6.0]  # whatever the hero does, not everybody ties
    better = score.copy()
    better[np.arange(histories), rng.integers(0, contests, histories), 0] -= rng.integers(1, 4, histories)
    warm_score = rng.permuted(np.broadcast_to([0.0, 1.0, 1.0, 2.0], (*player.shape[:2], 4)), axis=2)
    weight = rng.choice([0.5, 1.0, 2.0], (2, histories, contests))
    time = np.cumsum(rng.uniform(1.0, 20.0, player.shape[:2]), axis=1)
    players = np.stack([player, player + size * histories])
    main = Contests(players, np.stack([score, better]), np.stack([weight[0]] * 2), np.stack([time] * 2))
    warm = Contests(players[..., 1:], np.stack([warm_score] * 2), np.stack([weight[1]] * 2), 0.0 * main.time)
    sign = [np.sign(x[..., 1:] - x[..., :1]) for x in (score, better)]
    return [warm, main], (sign[0] != sign[1]).any(axis=(1, 2))


CLOCK = {"drift": 40.0, "history": 8}
SYSTEMS = {
    **{f"rho {rho:g}": partial(jr.elo_mmr, rho=rho, **CLOCK) for rho in (0.0, 0.2, 1.0, 3.0, math.inf)},
    "short, split": partial(jr.elo_mmr, history=1, split_ties=True, newcomer=(0.6, 0.8)),
    "chi": partial(jr.elo_mmx, drift=40.0),
    "chi, split": partial(jr.elo_mmx, split_ties=True, newcomer=(0.6, 0.8)),
}
PLAYERS = 4  # of each league
HEROES, MOVED = incentives(7, NUMBER, 3)
LEAGUE = league(8, NUMBER, 5, PLAYERS)


@lru_cache
def rated(name):
    """(system, state): first the leagues, then the same without their last contests, then the copies of the heroes.

    All in one run, since most of the time goes into compiling it.
    """
    shorter = Contests(*(x[:, :-1] for x in LEAGUE))
    shorter = shorter._replace(player=shorter.player + NUMBER * PLAYERS)
    heroes = [x._replace(player=x.player + 2 * NUMBER * PLAYERS) for x in HEROES]
    system = SYSTEMS[name]()
    return system, replay(system, [LEAGUE, shorter, *heroes])


# Section 3.1: performances


def test_performances_move_with_equal_players_whose_middle_one_performs_as_expected():
    """The middle one of three newcomers performs at their rating, where a slope of |x| would be 0."""
    event = Rounds(*(jnp.array(x) for x in ([0, 1, 2], [0, 1, 2], [0, 1, 2], [1.0, 1.0, 1.0], 0.0)))

    def infer(centre, event=event):
        logistic = expected_wins.LOGISTIC_INTEGRALS
        wins = expected_wins.expected_wins_by_integrals(logistic, centre, jnp.full(3, 300.0), jnp.full(3, True), 72)
        return infer_event(False, centre, jnp.full(3, 300.0), event, False, 72), wins

    ratings = np.full(3, 1500.0)
    slope = quick(lambda ratings, step: jax.jvp(infer, (ratings,), (step,)))
    (performance, _), (together, _) = slope(ratings, jnp.ones(3))
    np.testing.assert_allclose(performance[1], 1500.0)
    np.testing.assert_allclose(together, 1.0, rtol=1e-6)
    one, step = np.array([0.0, 1.0, 0.0]), 0.1
    _, (_, alone) = slope(ratings, one)
    low, high = (np.asarray(slope(ratings + x * one, one)[0][1]) for x in (-step, step))
    np.testing.assert_allclose(alone, (high - low) / (2.0 * step), rtol=1e-4)
    padding = event._replace(weight=jnp.zeros(3))
    assert np.isfinite(quick(jax.grad(lambda centre: jnp.sum(infer(centre, padding)[0])))(ratings)).all()


def roundings_off(x, mu, delta, rank, split_ties, gaussian, eps):
    """[P] |Q| at performances, in what roundings of ratings, deviations and terms move it: it is ill-conditioned."""
    ahead = rank < rank[:, None]

    def terms(x):
        args = x, mu[None], delta[None], gaussian
        drawn = twin.draw(*args, split_ties)
        return np.where(ahead, twin.loss(*args), np.where(ahead.T, twin.victory(*args), drawn))

    x, step = x[:, None], 1e-3 * delta[None]
    slopes = np.abs(terms(x + step) - terms(x - step)) / (2.0 * step)
    moved = np.abs(terms(x)) + (np.abs(x) + np.abs(mu) + delta) * slopes
    return np.abs(terms(x).sum(axis=1)) / (eps * moved.sum(axis=1))


@pytest.mark.parametrize("double", [False, True], ids=["float32", "float64"])
@pytest.mark.parametrize(("gaussian", "split_ties"), [(False, True), (True, False)], ids=["logistic", "gaussian"])
def test_performances_are_exact_where_deviations_lie_orders_of_magnitude_apart(gaussian, split_ties, double):
    """Of few, and of so many that there are tables; in any order."""
    rng = np.random.default_rng(6)
    for players in (40, 72):
        with jax.enable_x64(double):
            infer = partial(infer_round, gaussian, split_ties=split_ties, points=72)
            solve = quick(lambda mu, delta, rank, infer=infer: infer(mu, delta, jnp.ones_like(mu), rank))
            for tied, share in product([1, 5], [0.0, 1.0]):  # ratings that are alike, or as far apart as performances
                delta = 10.0 ** rng.permutation(np.linspace(0.0, 6.0, players)).astype(np.float32)
                mu = (rng.normal(size=players) * delta**share).astype(np.float32)
                rank = np.argsort(rng.permutation(players)) // tied * tied
                for _ in range(2):
                    order = rng.permutation(players)
                    mu, delta, rank = (x[order] for x in (mu, delta, rank))
                    found = np.asarray(solve(*(jnp.asarray(x, float) for x in (mu, delta)), rank.astype(np.int32)))
                    columns = (np.asarray(x, float) for x in (found, mu, delta))
                    off = roundings_off(*columns, rank, split_ties, gaussian, np.finfo(found.dtype).eps)
                    assert off.max() < 20.0


def test_ratings_balance_performances_whose_noises_lie_orders_of_magnitude_apart():
    """Whatever the noise of the last one is."""
    rng, shape = np.random.default_rng(7), (NUMBER, 6)
    beta = (10.0 ** rng.uniform(0.0, 6.0, shape)).astype(np.float32)
    performance = (beta * rng.normal(size=shape)).astype(np.float32)
    weight = 10.0 ** rng.uniform(-12.0, 0.0, NUMBER)

    def mode(beta, performance, weight):
        inverse, force = 0.5 * LOGISTIC / beta, LOGISTIC / beta
        past = PerformanceHistory(jnp.zeros_like(weight), weight, performance, force, inverse)
        return posterior_mode(past, performance[:, -1], beta[:, -1] ** 2)

    with jax.enable_x64(False):
        found = np.asarray(quick(mode)(beta, performance, weight.astype(np.float32)), float)[:, None]
    z = 0.5 * LOGISTIC * (np.asarray(performance, float) - found) / beta
    pulls = np.tanh(z) * LOGISTIC / beta
    slopes = 0.5 * (LOGISTIC / beta.astype(float) / np.cosh(np.clip(z, -300.0, 300.0))) ** 2
    total = pulls.sum(axis=1) - weight * found[:, 0]
    moved = np.abs(pulls) + (np.abs(performance) + np.abs(found) + beta) * slopes
    moved = moved.sum(axis=1) + 2.0 * weight * np.abs(found[:, 0])
    assert (np.abs(total) < 20.0 * np.finfo(np.float32).eps * moved).all()


# Section 5: histories


@pytest.mark.parametrize("name", mark_full(SYSTEMS, *(name for name in SYSTEMS if "split" not in name)))
def test_incentives_are_aligned(name):
    """Theorem 5.5."""
    rating = np.asarray(jr.ratings(*rated(name)).mean)[2 * NUMBER * PLAYERS :]
    worse, better = rating.reshape(2, NUMBER, -1)[..., 0]
    assert 0.5 < MOVED.mean() < 1.0
    assert (better[MOVED] - worse[MOVED] > 1e-6).all()
    np.testing.assert_allclose(better[~MOVED], worse[~MOVED], rtol=1e-11)


@pytest.mark.parametrize("name", ["rho inf", "chi"])
def test_without_memory_ratings_and_changes_are_monotone(name):
    """Theorem 5.6: between equally certain players the order of ranks is that of ratings, or else that of changes."""
    leagues = (np.asarray(x)[: 2 * NUMBER * PLAYERS].reshape(2, NUMBER, PLAYERS) for x in jr.ratings(*rated(name)))
    (new, old), deviation = leagues
    np.testing.assert_allclose(deviation, deviation[..., :1].repeat(PLAYERS, axis=2), rtol=1e-12)
    ahead = LEAGUE.score[:, -1, None, :] - LEAGUE.score[:, -1, :, None]
    first, change, second = (x[:, :, None] - x[:, None, :] for x in (old, new - old, new))
    favourite = first > -1e-9
    assert (second[favourite & (ahead > 0)] > 1e-6).all()
    assert (change[favourite & (ahead < 0)] < -1e-6).all()
