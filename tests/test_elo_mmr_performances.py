"""Performances of Elo-MMR, section 3.1 of the paper."""

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
from tests.test_elo_mmr_properties import LOGISTIC, MODELS, NUMBER, TIES, functions, performances, some_rounds

pytestmark = pytest.mark.usefixtures("double")

# Section 3.1: performances


@MODELS
def test_loss_draw_and_victory_decrease_and_are_ordered(gaussian):
    """Lemma 3.2, and the footnote on ties that are split."""
    rng = np.random.default_rng(1)
    mu, delta = rng.normal(1500.0, 500.0, (NUMBER, 1)), rng.uniform(1.0, 600.0, (NUMBER, 1))
    x = mu + delta * np.sort(rng.uniform(-7.0, 7.0, (NUMBER, 40)), axis=1)
    loss, draw, victory = (np.asarray(f(x, mu, delta)) for f in functions(gaussian))
    for values in (loss, draw, victory, 0.5 * (loss + victory)):
        assert (np.diff(values, axis=1) < 0.0).all()
    for tie in (draw, 0.5 * (loss + victory)):
        assert (loss < tie).all() and (tie < victory).all()
    assert (loss < 0.0).all() and (victory > 0.0).all()


def outcomes(better, tied, worse, scores):
    """[R, P, P, 1] by what opponent j, on axis 2, has done to i, on axis 1."""
    ahead = np.sign(scores[:, None, :] - scores[:, :, None])[..., None]
    return np.where(ahead < 0, better, np.where(ahead > 0, worse, tied))


@MODELS
@TIES
def test_a_performance_is_the_one_zero_of_q(gaussian, split_ties):
    """Theorem 3.3."""
    mu, delta, scores = some_rounds(2)
    performance = performances(mu, delta, scores, gaussian, split_ties)[..., None]
    grid = performance + np.concatenate([x := np.geomspace(1e-6, 3e3, 15), -x])
    args = grid[:, :, None, :], mu[:, None, :, None], delta[:, None, :, None], gaussian
    q = outcomes(twin.loss(*args), twin.draw(*args, split_ties), twin.victory(*args), scores).sum(axis=2)
    assert (np.sign(q) == np.sign(performance - grid)).all()


def log_density(x, mu, delta, scores, gaussian):
    """[R, P, G] log of the density of each performance given who is ahead and who behind, but for a constant."""
    z = (x[:, :, None, :] - mu[:, None, :, None]) / delta[:, None, :, None]
    if gaussian:
        below, above, at = np.log(0.5 * erfc(-z)), np.log(0.5 * erfc(z)), -0.5 * z * z
    else:
        below, above = -np.logaddexp(0.0, -LOGISTIC * z), -np.logaddexp(0.0, LOGISTIC * z)
        at = below + above
    return outcomes(above, at, below, scores).sum(axis=2)


def erfc(z):
    """The complementary error function of z / sqrt 2."""
    return np.vectorize(math.erfc)(z / math.sqrt(2.0))


@MODELS
def test_a_performance_maximises_its_density(gaussian):
    """Theorem 3.3: it is more likely than others, near and far."""
    mu, delta, scores = some_rounds(3)
    performance = performances(mu, delta, scores, gaussian, False)[..., None]
    best, *others = (
        log_density(performance + step, mu, delta, scores, gaussian) for step in (0.0, -1.0, 1.0, -60.0, 60.0)
    )
    assert all((best > other).all() for other in others)


@MODELS
@TIES
def test_wins_raise_and_losses_lower_a_performance(gaussian, split_ties):
    """Lemma 5.1: one more opponent, or the end of a tie."""
    mu, delta, scores = some_rounds(4)
    delta[:, -1] += 200.0  # this opponent matters, if only by rounding, at any performance

    def zeros(last, there=True):  # of the others than the last, who has this score
        all_scores = np.column_stack([scores[:, :-1], np.broadcast_to(last, len(mu))])
        present = np.ones(mu.shape, bool)
        present[:, -1] = there
        return performances(mu, delta, all_scores, gaussian, split_ties, present)[:, :-1]

    alone = zeros(0.0, there=False)
    assert (zeros(9.0) > alone).all()
    assert (zeros(-9.0) < alone).all()
    loss, tie, win = (zeros(scores[:, 0] + x)[:, 0] for x in (-0.5, 0.0, 0.5))
    assert (loss < tie).all() and (tie < win).all()


@MODELS
@TIES
def test_who_beats_another_performed_better(gaussian, split_ties):
    """Theorem 5.2."""
    in_order(some_rounds(5), gaussian, split_ties)


def in_order(some, gaussian, split_ties):
    scores = some[-1]
    performance = performances(*some, gaussian, split_ties)
    lead = performance[:, :, None] - performance[:, None, :]
    ahead = np.sign(scores[:, None, :] - scores[:, :, None])
    assert (lead[ahead > 0] > 1e-9).all() and (lead[ahead < 0] < -1e-9).all()
    assert np.abs(lead[ahead == 0]).max() < 1e-8


@MODELS
@TIES
def test_a_performance_rises_with_rating_and_with_rank(gaussian, split_ties):
    """Lemma 5.3."""
    rng = np.random.default_rng(6)
    mu, delta, scores = some_rounds(6)
    scores *= 2.0  # odd numbers lie between the others
    before = performances(mu, delta, scores, gaussian, split_ties)[:, 0]
    stronger = mu.copy()
    stronger[:, 0] += rng.uniform(1.0, 300.0, len(mu))
    assert (performances(stronger, delta, scores, gaussian, split_ties)[:, 0] > before).all()
    better = scores.copy()
    better[:, 0] -= rng.integers(1, 4, len(mu))
    after = performances(mu, delta, better, gaussian, split_ties)[:, 0]
    moved = (np.sign(scores[:, 1:] - scores[:, :1]) != np.sign(better[:, 1:] - better[:, :1])).any(axis=1)
    assert 0.5 < moved.mean() < 1.0
    assert (after[moved] > before[moved]).all()
    np.testing.assert_allclose(after[~moved], before[~moved], rtol=1e-12)


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
