"""What the Elo-MMR paper proves (Ebtekar and Liu 2021), over 1,000 random rounds or histories and more, ties included.

Each test handles all its histories at once: their players are disjoint, so one `run` replays them in parallel.
"""

import math
from functools import lru_cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.numerics import special_functions
from jaxrate.systems.elo_mmr import PerformanceHistory, State, add_performance, posterior_mode
from jaxrate.systems.elo_mmr import pseudodiffuse as diffuse_rows
from jaxrate.systems.rounds import cdf_sums
from tests.test_elo_mmr import infer_round

NUMBER = 250  # random rounds or histories of a test
LOGISTIC = math.pi / math.sqrt(3.0)
LIMIT = math.pi**2 / 6.0  # the curvature of a logistic factor at its centre, over that of a Gaussian one
MODELS = pytest.mark.parametrize("gaussian", [False, True], ids=["logistic", "gaussian"])
TIES = pytest.mark.parametrize("split_ties", [False, True], ids=["whole", "split"])
RHO = pytest.mark.parametrize("rho", [0.2, 1.0, 3.0])


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


# What the tests need of the library's inside


class Beliefs(NamedTuple):
    """The beliefs of n players."""

    rating: np.ndarray  # [n]
    variance: np.ndarray  # [n]
    mean: np.ndarray  # [n] of the Gaussian factor
    weight: np.ndarray  # [n]
    performance: np.ndarray  # [n, K] the centres of the logistic factors
    share: np.ndarray  # [n, K] their weights; 0 where there is none
    beta: np.ndarray  # [n, K] their deviations at birth


@partial(jax.jit, static_argnums=(4, 5))
def _performances(mu, delta, rank, weight, gaussian, split_ties):
    def one(mu, delta, rank, weight):
        return infer_round(gaussian, mu, delta, weight, rank, split_ties, 512)

    return jax.vmap(one)(mu, delta, rank, weight)


def performances(mu, delta, scores, gaussian, split_ties, there=None):
    """[R, P] of R rounds, by scores of which the lower are better; where not `there` is nobody."""
    there = np.ones(mu.shape, bool) if there is None else there
    scores = np.where(there, scores, np.inf)
    rank = (scores[..., None, :] < scores[..., :, None]).sum(axis=-1).astype(np.int32)
    return np.asarray(_performances(mu, delta, rank, there.astype(float), gaussian, split_ties))


def functions(gaussian):
    """The loss, draw and victory functions of (x, mu, delta)."""

    def above(z):  # the hazard phi / (1 - Phi), or F
        return (
            special_functions.normal_tail(z)[0]
            if gaussian
            else LOGISTIC * cdf_sums.logistic_cdf_and_density(LOGISTIC * z)[0]
        )

    def loss(x, mu, delta):
        return -above((x - mu) / delta) / delta

    def victory(x, mu, delta):
        return above((mu - x) / delta) / delta

    def draw(x, mu, delta):
        return (mu - x) / delta**2 if gaussian else loss(x, mu, delta) + victory(x, mu, delta)

    return loss, draw, victory


def beliefs(rows):
    """What the state says of its players."""
    past = jax.tree.map(np.asarray, rows.past)
    share, beta = past.force * past.inverse * 2.0 / LOGISTIC**2, 0.5 * LOGISTIC / past.inverse
    return Beliefs(
        np.asarray(rows.rating), np.asarray(rows.variance), past.mean, past.weight, past.performance, share, beta
    )


def as_rows(b):
    """The state that says so."""
    b = Beliefs(*map(jnp.asarray, b))
    past = PerformanceHistory(b.mean, b.weight, b.performance, b.share * b.beta * LOGISTIC, 0.5 * LOGISTIC / b.beta)
    return State(b.rating, b.variance, jnp.zeros(len(b.mean), jnp.int32), jnp.zeros_like(b.mean), past)


def diffuse(before, gamma2, rho):
    """Algorithm 2."""
    return beliefs(jax.jit(diffuse_rows)(as_rows(before), jnp.asarray(gamma2), rho))


@jax.jit
def _learn(rows, performance, square, number):
    past = add_performance(rows.past, performance, square, number)
    variance = rows.variance * square / (rows.variance + square)
    return rows._replace(rating=posterior_mode(past, rows.rating, square), variance=variance, past=past)


def learn(before, performance, beta):
    """The beliefs after one more performance [n], which are never more than they have room for."""
    number = (before.share > 0).sum(axis=1).astype(np.int32)
    return beliefs(_learn(as_rows(before), jnp.asarray(performance), jnp.asarray(beta) ** 2, number))


# Random rounds: ratings, deviations and scores [R, P]


def some_rounds(seed, number=NUMBER, players=6, scores=4):
    """(mu, delta, scores); a score is one of so many numbers, and often shared."""
    rng = np.random.default_rng(seed)
    shape = (number, players)
    mu, delta = rng.normal(1500.0, 300.0, shape), rng.uniform(120.0, 500.0, shape)
    return mu, delta, rng.integers(0, scores, shape).astype(float)


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


def some_beliefs(rho):
    """Those about the players of the leagues."""
    return Beliefs(*(x[: NUMBER * PLAYERS] for x in beliefs(rated(f"rho {rho:g}")[1])))


# Section 3.2: ratings


def slope(b, x):
    """L'(x) of equation 6, [n], with multiplicities."""
    z = (x[:, None] - b.performance) / b.beta
    return b.weight * (x - b.mean) + (b.share * b.beta * LOGISTIC * np.tanh(0.5 * LOGISTIC * z)).sum(axis=1)


@RHO
def test_equation_7_weighs_performances_by_equation_8_and_their_distance(rho):
    b = some_beliefs(rho)
    distance = (b.rating[:, None] - b.performance) / b.beta
    seven = b.share * LOGISTIC / distance * np.tanh(0.5 * LOGISTIC * distance)
    mean = (b.weight * b.mean + (seven * b.performance).sum(axis=1)) / (b.weight + seven.sum(axis=1))
    np.testing.assert_allclose(b.rating, mean, rtol=1e-10)
    np.testing.assert_allclose(1.0 / b.variance, b.weight + b.share.sum(axis=1), rtol=1e-10)
    there = b.share > 0
    ratio = (seven[there] / b.share[there])[np.argsort(np.abs(distance[there]))]
    assert (np.diff(ratio) <= 1e-12).all() and 0.0 < ratio[-1] < 0.8 and 0.999 * LIMIT < ratio[0] <= LIMIT
    near = there & (np.abs(distance) < 1.5)
    assert near.any() and (seven[near] > b.share[near]).all()


@pytest.mark.parametrize("rho", [0.0, 0.2, 1.0, math.inf])
def test_a_rating_rises_with_every_past_performance(rho):
    """Lemma 5.4."""
    rng = np.random.default_rng(8)
    rounds = 6
    performance = rng.normal(1500.0, 300.0, (rounds, NUMBER))
    gamma2, beta = rng.uniform(500.0, 5000.0, (rounds, NUMBER)), rng.uniform(150.0, 400.0, (rounds, NUMBER))
    better = performance.copy()
    better[rng.integers(0, rounds, NUMBER), np.arange(NUMBER)] += rng.uniform(1.0, 300.0, NUMBER)

    def rating(performance):
        b = fresh(NUMBER, room=rounds)
        for k in range(rounds):
            b = learn(diffuse(b, gamma2[k], rho), performance[k], beta[k])
        return b.rating

    assert (rating(better) - rating(performance) > 1e-6).all()


def fresh(n, room):
    """Beliefs about n newcomers, 1500 +- 350, with room for so many performances."""
    one, none = np.ones(n), np.zeros((n, room))
    return Beliefs(1500.0 * one, 350.0**2 * one, 1500.0 * one, 350.0**-2 * one, none, none, none + 200.0)
