"""Urnings at play: the games of the matchmakers, one by one and many at once, against the exact laws."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.urns import matchmakers, urn_simulation_and_replay
from jaxrate.urns.urn_simulation_and_replay import UrnGameRules
from tests.conftest import mark_full
from tests.reference import urnings_twin as twin
from tests.test_urnings import chi_square

MATCHMAKERS = {"similar": matchmakers.similarity_matchmaker, "chooser": matchmakers.chooser_matchmaker}

PLAYERS = 60
PROPORTIONS = np.random.default_rng(0).uniform(0.1, 0.9, PLAYERS)


def play(width, system, matchmaker, corrected, games=3000):
    """As `urnings_world`, so many tries at once."""
    state = system.init(system.params, PLAYERS)
    tries = matchmaker.name != "chooser"
    rule = UrnGameRules(system.settings["variant"], tries, corrected, matchmaker, width)
    constants = system.rules.prepare(jax.tree.map(jnp.asarray, system.params))
    skill = jnp.asarray(np.log(PROPORTIONS / (1 - PROPORTIONS)), float)
    keys = jax.random.split(jax.random.key(5), 3)
    return urn_simulation_and_replay._simulate_history(
        rule, games // 3, constants, skill, matchmaker.table(state), state, keys
    )[1]


@pytest.mark.parametrize(
    ("kind", "variant"),
    mark_full(
        [("uniform", "U2"), ("similar", "U1"), ("similar", "U2"), ("uncorrected", "U2")],
        ("similar", "U1"),
    ),
)
def test_the_games_do_not_depend_on_how_many_are_tried_at_once(kind, variant):
    matchmaker = matchmakers.uniform_matchmaker() if kind == "uniform" else matchmakers.similarity_matchmaker(1.5)
    system = jr.urnings(20, 3, variant=variant)
    one = play(1, system, matchmaker, kind != "uncorrected")
    assert (np.diff(np.asarray(one), axis=0) != 0).any() and (np.asarray(one).sum(axis=1) == 10 * PLAYERS).all()
    np.testing.assert_array_equal(one, play(32, system, matchmaker, kind != "uncorrected"))


@pytest.mark.parametrize(
    ("kind", "variant"),
    [
        *(pytest.param(x, "U1", marks=pytest.mark.full) for x in ("uniform", "similar")),
        ("similar", "U2"),
        pytest.param("chooser", "U2", marks=pytest.mark.full),
    ],
)
def test_matched_games_keep_the_law_of_theorem_4(kind, variant):
    """One world of three players with unequal urns and draws, looked at 1,500 times, 60 games apart."""
    n, proportion, weights, total = [3, 4, 6], [0.3, 0.55, 0.7], (1, 2.5, 1), 6
    matchmaker = matchmakers.uniform_matchmaker() if kind == "uniform" else MATCHMAKERS[kind](0.3)
    system, law = jr.urnings(weights=weights, variant=variant), twin.target(n, proportion, total)
    result = jr.urns.simulate_world(
        system,
        proportion,
        90_000,
        jax.random.key(1),
        matchmaker=matchmaker,
        state=jr.urns.make_urns(n, 0.45),
        record_every=60,
    )
    assert result.green.shape == (1500, 3) and (result.green.sum(axis=1) == total).all()
    np.testing.assert_array_equal(result.games, 60 * np.arange(1, 1501))
    count = np.array([(result.green == r).all(axis=1).sum() for r in twin.states(n, total)])
    assert abs(chi_square(count, law)) < 4
    if kind != "uniform":
        biased = twin.stationary(twin.transition(variant, weights, n, proportion, total, kind, 0.3, False))
        assert chi_square(count, biased) > 20


def test_without_the_correction_matched_games_have_the_biased_law():
    n, proportion, total = [3, 4, 6], [0.3, 0.55, 0.7], 6
    biased = twin.stationary(twin.transition("U2", (1, 1), n, proportion, total, "similar", 0.3, False))
    similar = matchmakers.similarity_matchmaker(0.3)
    result = jr.urns.simulate_world(
        jr.urnings(),
        proportion,
        90_000,
        jax.random.key(2),
        matchmaker=similar,
        state=jr.urns.make_urns(n, 0.45),
        record_every=60,
        corrected=False,
    )
    count = np.array([(result.green == r).all(axis=1).sum() for r in twin.states(n, total)])
    assert abs(chi_square(count, biased)) < 4 and chi_square(count, twin.target(n, proportion, total)) > 20


def test_a_world_goes_on_from_its_state():
    first = jr.urns.simulate_world(jr.urnings(), PROPORTIONS, 100, jax.random.key(0))
    second = jr.urns.simulate_world(
        jr.urnings(), PROPORTIONS, 100, jax.random.key(1), state=first.state, record_every=50
    )
    assert first.green.shape == (1, PLAYERS) and second.green.shape == (2, PLAYERS)
    np.testing.assert_array_equal(first.green[-1], first.state.green)
    assert np.abs(second.green[0] - first.green[-1]).sum() <= 100


def apart(table, state, pair):
    """Odd players meet odd ones."""
    return jnp.where((pair[0] - pair[1]) % 2 == 0, 0.0, -jnp.inf)


def test_bad_worlds_are_refused():
    make, key = partial(jr.urns.simulate_world, jr.urnings()), jax.random.key(0)
    for proportions in ([0.5], [0.5, 1.0], [[0.5, 0.5]], [0.5, np.nan]):
        with pytest.raises(ValueError, match="above 0 and below 1, of at least two players"):
            make(proportions, 10, key)
    for games, every in ((0, None), (10, 3), (10, 0)):
        with pytest.raises(ValueError, match="games must be at least 1, and a multiple of record_every"):
            make([0.5, 0.5], games, key, record_every=every)
    with pytest.raises(ValueError, match="there are 2 proportions, but 3 urns"):
        make([0.5, 0.5], 10, key, state=jr.urns.make_urns([5, 5, 5]))
    with pytest.raises(ValueError, match="only urnings has a matchmaker, not elo"):
        jr.urns.simulate_world(jr.elo(), [0.5, 0.5], 10, key)
    own = matchmakers.uniform_matchmaker()._replace(name="own", log_probability=apart)
    with pytest.raises(ValueError, match="with this matchmaker players 0 and 1 never meet, not even through others"):
        make([0.5] * 4, 10, key, matchmaker=own)
