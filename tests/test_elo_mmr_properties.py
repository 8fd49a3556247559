"""Performances and ratings of Elo-MMR to the rounding of numbers, where deviations and noises differ by magnitudes."""

import math
from functools import partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxrate.events import Rounds
from jaxrate.systems.elo_mmr import PerformanceHistory, posterior_mode
from jaxrate.systems.rounds import expected_wins
from tests.conftest import quick
from tests.reference import performance_twin as twin
from tests.test_elo_mmr import infer_event, infer_round

pytestmark = pytest.mark.usefixtures("double")

NUMBER = 250  # random histories
LOGISTIC = math.pi / math.sqrt(3.0)


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
