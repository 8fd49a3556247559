"""Hindsight against the one most likely course of all players."""

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.smoothing.smoother import smooth_events
from jaxrate.systems.glicko import Q
from jaxrate.systems.skills.system import skills_by_name
from tests.reference.whole_history_twin import WholeHistory

VARIANCE, FIRST = 0.0003, 1.5**2  # natural units, a day


pytestmark = pytest.mark.full  # `test_smooth.py` has another twin, and all where it is exact


def league(players=10, n=400):
    random = np.random.default_rng(0)
    player = np.array([random.permutation(players)[:2] for _ in range(n)])
    skill = random.normal(0.0, 1.0, players)
    score = random.random(n) < 1.0 / (1.0 + np.exp(np.diff(skill[player], axis=1)[:, 0]))
    return player, score, np.arange(n)


def test_the_twin_is_at_the_maximum():
    twin = WholeHistory(*league(), VARIANCE, FIRST)
    r = twin.maximum()
    assert np.abs(twin.slope(r)).max() < 1e-9
    most, random = twin.log_posterior(r), np.random.default_rng(1)
    for _ in range(5):
        x = random.normal(size=len(r))
        rise = twin.log_posterior(r + 1e-3 * x) - twin.log_posterior(r - 1e-3 * x)
        assert abs(rise) < 1e-7 and twin.log_posterior(r + 1e-3 * x) < most
        step = twin.log_posterior(1e-3 * x) - twin.log_posterior(-1e-3 * x)
        assert twin.slope(0.0 * r) @ x == pytest.approx(step / 2e-3, rel=1e-6)


def test_means_are_near_the_maximum(double):
    """The means of a posterior that is nearly normal, and whose players are taken as if independent."""
    player, score, date = league()
    twin = WholeHistory(player, score, date, VARIANCE, FIRST)
    best = 1500.0 + twin.maximum()[twin.node].T / Q
    params = {"growth": VARIANCE**0.5 / Q, "initial_deviation": FIRST**0.5 / Q, "period": 1.0, "deviation_max": 1e5}
    found = smooth_events(skills_by_name(outcome="logistic", **params), jr.matches(player, score, date))
    off = (np.asarray(found.rating.mean) - best) / found.rating.deviation
    assert np.abs(off).max() < 0.25 and np.sqrt(np.mean(off**2)) < 0.15
