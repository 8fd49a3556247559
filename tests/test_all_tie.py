"""Contests in which all tie: rated as the Elo-MMR paper says (Algorithms 1 to 3, Theorem 3.3), or skipped."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import build_rounds
from jaxrate.history.dataset_rating import rating_history_with_performances
from tests.conftest import MOSTLY_DOUBLE, MOSTLY_SINGLE, mark_full
from tests.reference import elo_mmr_twin as twin

SYSTEMS = [jr.elo_mmr, jr.elo_mmx, jr.codeforces, jr.topcoder]
# Histories of other tests have contests in which all tie, and which are not skipped.
CASES = mark_full([*product(SYSTEMS, (False, True))], (jr.elo_mmr, True), (jr.codeforces, True))
CONTESTS = [
    twin.Round([0, 1, 2], [0, 1, 1], time=1.0),
    twin.Round([0, 1, 2], [0, 0, 0], time=2.0),
    twin.Round([1], [0], time=3.0),
    twin.Round([0, 1, 2, 3], [0, 3, 1, 2], time=4.0),
]


def as_events(contests):
    size = [len(c.players) for c in contests]
    columns = [np.concatenate([c[i] for c in contests]) for i in (0, 1)]
    number, time = (np.repeat(x, size) for x in (np.arange(len(size)), [c.time for c in contests]))
    return build_rounds(number, *columns, time=time)


def ratings(system, events, state=None):
    return jax.tree.map(np.asarray, jr.ratings(system, jr.run(system, events, state=state).state))


@MOSTLY_SINGLE
def test_two_of_2000_and_1000_who_tie(x64):
    """Nothing moved; these are the paper's numbers, of beta 200 and gamma 80."""
    system = jr.elo_mmr(history=2, beta=200.0, gamma=80.0)
    state = system.init(system.params, 2)
    rating = jnp.asarray([2000.0, 1000.0], float)
    state = state._replace(rating=rating, past=state.past._replace(mean=rating + 0.0))
    got = ratings(system, jr.rounds([0, 0], [0, 1], [1, 1]), state)
    np.testing.assert_allclose(got.mean, [1582.41, 1417.59], atol=0.005)
    np.testing.assert_allclose(got.deviation, 174.72, atol=0.005)


@pytest.mark.full  # the twin has such histories
@MOSTLY_DOUBLE
def test_a_draw_after_a_win_brings_two_together(x64):
    """The draw changed nothing: 1629.4 and 1370.6."""
    system = jr.elo_mmr(history=2)
    history = jr.rounds([0, 0, 1, 1, 2, 2], [0, 1, 2, 3, 2, 3], [0, 1, 0, 1, 0, 0])  # two win, and one of them draws
    np.testing.assert_allclose(ratings(system, history).mean, [1629.4, 1370.6, 1567.6, 1432.4], atol=0.05)


@pytest.mark.parametrize(("factory", "skip_ties"), CASES)
def test_contests_in_which_all_tie_equal_the_twin(factory, skip_ties, double):
    """They count as games too, and so for the factors of newcomers; a contest of one never does."""
    settings = {"drift": 30.0, "newcomer": (0.5, 0.7)} if factory in (jr.elo_mmr, jr.elo_mmx) else {}
    short = {"history": 4} if factory is jr.elo_mmr else {}
    wanted = getattr(twin, factory.__name__)(CONTESTS, 4, skip_ties=skip_ties, **settings)
    system, events = factory(skip_ties=skip_ties, **settings, **short), as_events(CONTESTS)
    history, performed = rating_history_with_performances(system, events)
    got = jax.tree.map(np.asarray, jr.ratings(system, history.state))
    np.testing.assert_allclose(got.mean, wanted.rating, rtol=1e-9)
    if got.deviation is not None:
        np.testing.assert_allclose(got.deviation, wanted.deviation, rtol=1e-9)
    lead, expected = (np.subtract.outer(*2 * [np.asarray(x)[-4:]]) for x in (history.before.mean, history.prediction))
    assert (np.sign(expected) == np.sign(lead)).all()  # of the last contest
    np.testing.assert_allclose(performed.performance, np.concatenate(wanted.performance), rtol=1e-9)
    assert np.isnan(performed.performance[3:6]).all() == skip_ties and np.isnan(performed.performance[6])
    assert ((performed.rank_needed > 0) == np.isfinite(performed.performance)).all()


@pytest.mark.parametrize("skip_ties", mark_full([False, True], False))
def test_two_teams_that_tie_and_a_team_alone(skip_ties, double):
    """Teams of unequal strength come together; a team alone, whose members tie, changes nothing."""
    four, won, drawn = np.arange(4), [0, 0, 1, 1], [0, 0, 0, 0]  # four such pairs of teams in one history
    contests = [(four + 4 * i, won) for i in range(4)] + [(four, won), (four + 4, drawn), (four[:2] + 8, drawn[:2])]
    player, rank = (np.concatenate(x) for x in zip(*contests, strict=True))
    number = np.repeat(np.arange(7), [len(x) for x, _ in contests])
    history = jr.rounds(number, player, rank, team=player % 4 // 2)
    rating = jr.run(jr.elo_mmx(skip_ties=skip_ties), history).state.rating
    again, after, idle, before = np.reshape(rating, (4, 4))
    assert (after[:2] < before[:2]).all() != skip_ties and (again[:2] > before[:2]).all()
    assert (after[2:] > before[2:]).all() != skip_ties
    np.testing.assert_array_equal(idle, before)
