"""Elo-MMR in histories: the pseudodiffusion and what follows from it, as the paper proves."""

import math

import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import mark_full
from tests.test_elo_mmr_properties import (
    LEAGUE,
    LIMIT,
    LOGISTIC,
    MOVED,
    NUMBER,
    PLAYERS,
    RHO,
    SYSTEMS,
    diffuse,
    fresh,
    learn,
    rated,
    slope,
    some_beliefs,
)

pytestmark = pytest.mark.usefixtures("double")

# Section 4.1: the pseudodiffusion


def relative(b):
    """The weights as parts of the whole, [n, K + 1]; the Gaussian's first."""
    return np.column_stack([b.weight, b.share]) * b.variance[:, None]


@RHO
def test_the_pseudodiffusion_preserves_ratings(rho):
    before = some_beliefs(rho)
    after = diffuse(before, np.random.default_rng(9).uniform(0.0, 2e4, len(before.rating)), rho)
    np.testing.assert_array_equal(after.rating, before.rating)
    for b in (before, after):  # the zero of L' is there: the next Newton step from it is none
        curvature = b.weight + LIMIT * b.share.sum(axis=1)
        assert np.abs(slope(b, before.rating) / curvature).max() < 1e-8


@pytest.mark.parametrize("rho", [0.0, 0.2, 1.0, 3.0, math.inf])
def test_the_pseudodiffusion_has_the_correct_magnitude(rho):
    before = some_beliefs(1.0)
    gamma2 = np.random.default_rng(10).uniform(0.0, 2e4, len(before.rating))
    after = diffuse(before, gamma2, rho)
    np.testing.assert_allclose(after.variance, before.variance + gamma2, rtol=1e-12)
    np.testing.assert_allclose(relative(after).sum(axis=1), 1.0, rtol=1e-10)


@pytest.mark.parametrize("rho", [0.0, 0.2, 1.0, 3.0, math.inf])
def test_pseudodiffusions_compose(rho):
    before = some_beliefs(1.0)
    one, two = np.random.default_rng(11).uniform(0.0, 2e4, (2, len(before.rating)))
    twice, once = diffuse(diffuse(before, one, rho), two, rho), diffuse(before, one + two, rho)
    for x, y in zip(twice, once, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10)


@pytest.mark.parametrize("rho", [0.0, 0.2, 1.0, 3.0])
def test_no_pseudodiffusion_changes_nothing(rho):
    before = some_beliefs(1.0)
    for x, y in zip(diffuse(before, np.zeros_like(before.mean), rho), before, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13)
    for x, y in zip(diffuse(before, 1e-8 * before.variance, rho), before, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)


def test_infinite_rho_forgets_performances_even_without_diffusion():
    """Section 4.1: Elo-MMR(inf) fails the zero diffusion property."""
    before = some_beliefs(1.0)
    after = diffuse(before, 1e-8 * before.variance, math.inf)
    assert (after.share == 0.0).all() and (before.share > 0.0).any(axis=1).all()
    np.testing.assert_allclose(after.mean, before.rating, rtol=1e-14)


def certain(b):
    """The same beliefs, but all but certain."""
    return b._replace(variance=b.variance * 1e-40, weight=b.weight * 1e40, share=b.share * 1e40)


@RHO
def test_after_certainty_the_pseudodiffusion_leaves_a_gaussian(rho):
    before = certain(some_beliefs(1.0))
    after = diffuse(before, np.full_like(before.mean, 2500.0), rho)
    assert relative(after)[:, 1:].max() < 1e-7
    np.testing.assert_allclose(after.weight, 1.0 / 2500.0, rtol=1e-7)
    np.testing.assert_allclose(after.mean, before.rating, rtol=1e-6)


def test_without_transfer_certainty_keeps_the_performances():
    """Theorem 4.1: Elo-MMR(0) fails the zero uncertainty property."""
    before = certain(some_beliefs(1.0))
    after = diffuse(before, np.full_like(before.mean, 2500.0), 0.0)
    np.testing.assert_allclose(relative(after), relative(before), rtol=1e-10)
    np.testing.assert_allclose(after.mean, before.mean, rtol=1e-13)


@pytest.mark.parametrize("rho", [0.0, 0.2, 1.0, 3.0, math.inf])
def test_the_pseudodiffusion_keeps_incentives_aligned(rho):
    """A better past performance lowers L' everywhere: before, after, and so whatever is learnt later."""
    rng = np.random.default_rng(16)
    base, beta = fresh(NUMBER, room=3), rng.uniform(150.0, 400.0, (2, NUMBER))
    performance = rng.normal(1500.0, 300.0, (2, NUMBER))
    worse, better = base, base
    for k, gain in enumerate((rng.uniform(1.0, 300.0, NUMBER), 0.0)):
        worse, better = learn(worse, performance[k], beta[k]), learn(better, performance[k] + gain, beta[k])
        gamma2 = rng.uniform(1e3, 2e4, NUMBER)
        worse, better = diffuse(worse, gamma2, rho), diffuse(better, gamma2, rho)
    assert (better.mean >= worse.mean).all() and (better.rating > worse.rating).all()
    for x in (-1000.0, 0.0, 1000.0):
        assert (slope(better, worse.rating + x) <= slope(worse, worse.rating + x)).all()
    assert (slope(better, worse.rating) < slope(worse, worse.rating)).all()


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


@pytest.mark.parametrize("side", [1.0, -1.0])
@RHO
def test_no_performance_changes_a_rating_by_more_than_its_bounds(side, rho):
    """Theorem 5.7."""
    rng = np.random.default_rng(19)
    played = some_beliefs(rho)
    for b in (played, diffuse(played, rng.uniform(1e3, 2e4, len(played.mean)), rho)):
        beta = rng.uniform(150.0, 400.0, len(b.mean))
        push = LOGISTIC / beta
        limit = side * (learn(b, b.rating + side * 1e6, beta).rating - b.rating)
        upper, lower = push / b.weight, push / (b.weight + LIMIT * b.share.sum(axis=1))
        assert (limit <= upper * (1.0 + 1e-9)).all() and (limit >= lower * (1.0 - 1e-9)).all()
        change = side * (learn(b, b.rating + side * rng.uniform(0.0, 2000.0, len(beta)), beta).rating - b.rating)
        assert (change > 0.0).all() and (change < limit).all()


def test_the_first_change_has_the_bound_for_its_limit():
    """Theorem 5.7: of newcomers both bounds are the same."""
    beta = np.linspace(100.0, 400.0, 7)
    limit = learn(fresh(7, room=1), np.full(7, 1e6), beta).rating - 1500.0
    np.testing.assert_allclose(limit, LOGISTIC * 350.0**2 / beta, rtol=1e-10)
