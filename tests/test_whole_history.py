"""Hindsight against the one most likely course of all players, and what does not matter to it."""

import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts
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


def test_the_order_of_players_does_not_matter(double):
    player, score, date = league(n=120)
    system, new = jr.skills(parts.skill(growth=20.0)), np.random.default_rng(2).permutation(10)
    one = smooth_events(system, jr.matches(player, score, date), tolerance=1e-10)
    two = smooth_events(system, jr.matches(new[player], score, date), tolerance=1e-10)
    np.testing.assert_allclose(two.rating.mean, one.rating.mean, atol=1e-6)
    np.testing.assert_allclose(np.asarray(two.state.mean)[new], one.state.mean, atol=1e-6)
    assert two.evidence == pytest.approx(one.evidence, rel=1e-12)


def test_carried_on_is_as_at_once(double):
    """What smoothing leaves of the first half is filtered on; whoever begins later is not told of by it."""
    player, score, date = league(n=120)
    system = jr.skills(parts.skill(growth=20.0))
    early, late = (jr.matches(player[x], score[x], date[x]) for x in (slice(0, 80), slice(80, 120)))
    state = smooth_events(system, early, tolerance=1e-10).state
    middle = jr.run(system, jr.matches(player[80:100], score[80:100], date[80:100]), state=state)
    again = jr.run(system, jr.matches(player[100:], score[100:], date[100:]), state=middle.state)
    whole = jr.run(system, late, state=state)
    np.testing.assert_allclose(again.state.mean, whole.state.mean, rtol=1e-12)
    np.testing.assert_allclose(np.concatenate([middle.prediction, again.prediction]), whole.prediction, rtol=1e-12)
