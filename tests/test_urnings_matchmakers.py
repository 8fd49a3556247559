"""Urnings with matchmakers, in files, and with hyperparameters found by the likelihood."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.systems.urnings.system import (
    State,
    acceptance_correction,
    draw_mock_score,
    unnormalised_simulated_score_probabilities,
)
from jaxrate.urns import matchmakers
from tests.conftest import MOSTLY_SINGLE, mark_full, quick
from tests.reference import urnings_twin as twin
from tests.test_urnings import (
    CASES,
    FOLDER,
    MATCHMAKERS,
    OURS,
    STATES,
    TRACES,
    TRANSITION,
    chi_square,
    matrix,
    options,
    pair_probabilities,
    random_matches,
)

MATCHED = [int(k) for k in np.flatnonzero(OURS) if CASES[k]["matchmaking"] != "uniform"]


@pytest.mark.parametrize("number", mark_full(MATCHED, *MATCHED[::6]))
def test_the_stored_matrices_are_those_of_the_matchmakers(number):
    variant, w, n, proportion, _, kind, lam, corrected = options(CASES[number])
    with jax.enable_x64(True):
        q = pair_probabilities(kind, lam, STATES[number], n)
        got = matrix(variant, w, n, proportion, STATES[number], lambda r: q[tuple(r)], corrected)
    np.testing.assert_allclose(got, TRANSITION[number], atol=1e-12)


@MOSTLY_SINGLE
@pytest.mark.parametrize("number", [k for k, trace in enumerate(TRACES) if trace["adaptive"]])
def test_the_stored_trace_of_matched_games(number, x64):
    trace = TRACES[number]
    with np.load(FOLDER / "urnings.npz") as file:
        games, uniforms, green = (file[name][number] for name in ("games", "uniforms", "green"))
    system = jr.urnings(outcomes=len(trace["w"]), weights=trace["w"], variant=trace["family"])
    constants, size = system.rules.prepare(system.params), np.array(trace["n"], np.int32)
    matchmaker = matchmakers.similarity_matchmaker(trace["lam"])

    def game(before, games, uniforms):
        table = matchmaker.table(State(before, size))
        state, pair = State(before, size), games[:2]
        one, two = (State(before[k], jnp.asarray(size)[k]) for k in (pair[0], pair[1]))
        gain = games[2] - draw_mock_score(
            unnormalised_simulated_score_probabilities(trace["family"], constants, one, two, games[2]), uniforms[0]
        )
        ratio = acceptance_correction(trace["family"], constants, one, two, gain)
        ratio *= jnp.exp(matchmakers.log_pair_probability_ratio(matchmaker, table, state, pair, gain))
        gain = jnp.where(uniforms[1] < ratio, gain, 0)
        return before.at[pair].add(jnp.stack([gain, -gain]))

    columns = green[:-1].astype(np.int32), games.T.astype(np.int32), jnp.asarray(uniforms.T, float)
    np.testing.assert_array_equal(quick(jax.vmap(game))(*columns), green[1:])


def test_the_replay_of_uniform_pairs_is_the_run():
    system, played, key = jr.urnings(20, 3), random_matches(9, 300, 2, seed=4), jax.random.key(1)
    got = jr.urns.replay_history(system, played, key, matchmaker=matchmakers.uniform_matchmaker())
    wanted = jr.run(system, played, key=key)
    np.testing.assert_array_equal(got.state.green, wanted.state.green)
    np.testing.assert_allclose(got.prediction, wanted.prediction, rtol=1e-6)
    matched = jr.urns.replay_history(system, played, key, matchmaker=matchmakers.chooser_matchmaker()).state
    assert int(matched.green.sum()) == 90 and (np.asarray(matched.green) != np.asarray(wanted.state.green)).any()


def strangers(table, state, pair):
    """Who is 2 balls apart does not meet."""
    return jnp.where(jnp.abs(state.green[pair[0]] - state.green[pair[1]]) < 2, 0.0, -jnp.inf)


def test_a_history_that_the_matchmaker_could_not_have_made_is_refused():
    system, own = jr.urnings(10), matchmakers.uniform_matchmaker()._replace(log_probability=strangers)
    played, state = jr.matches([[0, 1], [1, 2], [0, 3]], [1, 0, 1]), jr.urns.make_urns([10] * 4, [0.5, 0.5, 0.6, 0.8])
    with pytest.raises(ValueError, match="players 0 and 3 never meet"):
        jr.urns.replay_history(system, played, jax.random.key(0), matchmaker=own, state=state)
    state = jr.urns.make_urns([10] * 4, [0.5, 0.5, 0.6, 0.7])
    with pytest.raises(ValueError, match=r"row 2 .*could not have matched players 0 and 3"):
        jr.urns.replay_history(system, played, jax.random.key(0), matchmaker=own, state=state)
    with pytest.raises(ValueError, match="only urnings has a matchmaker, not elo"):
        jr.urns.replay_history(jr.elo(), played, jax.random.key(0), matchmaker=own)
    with pytest.raises(ValueError, match=r"row 1 .*score 0.5 is none of"):
        drawn = jr.matches([[0, 1], [1, 2]], [1, 0.5])
        jr.urns.replay_history(system, drawn, jax.random.key(0), matchmaker=matchmakers.uniform_matchmaker())
    with pytest.raises(ValueError, match="the events name player 3, but there are only 3 players"):
        jr.urns.replay_history(system, played, jax.random.key(0), matchmaker=own, state=jr.urns.make_urns([10] * 3))


@pytest.mark.parametrize("kind", ["uniform", "similar", "chooser"])
def test_pairs_are_picked_as_probably_as_is_said(kind):
    """100,000 pairs among six players, drawn by a fixed key."""
    n, green = [4, 4, 9, 9, 9, 1], np.array([[0, 2, 9, 5, 5, 1]])
    q = pair_probabilities(kind, 0.7, green, n)[tuple(green[0])]
    matchmaker = matchmakers.uniform_matchmaker() if kind == "uniform" else MATCHMAKERS[kind](0.7)
    state = State(green[0].astype(np.int32), np.array(n, np.int32))
    uniforms = np.random.default_rng(0).random((100_000, 2), np.float32)
    pick = quick(jax.vmap(lambda numbers: matchmaker.pick(matchmaker.table(state), state, numbers)))
    pair = np.asarray(pick(uniforms))
    if kind != "chooser":
        pair = np.sort(pair, axis=1)
    count = np.array([((pair == k).all(axis=1)).sum() for k in q])
    assert count.sum() == 100_000 and abs(sum(q.values()) - 1) < 1e-5
    assert abs(chi_square(count, np.array([*q.values()]))) < 4
    wanted = twin.pairs(kind, 0.7, green[0], n)
    np.testing.assert_allclose([q[k] for k in wanted], [*wanted.values()], rtol=1e-5)


def test_bad_matchmakers_are_refused():
    with pytest.raises(ValueError, match="strength of a matchmaker must be at least 0, got -1"):
        matchmakers.similarity_matchmaker(-1)
    with pytest.raises(ValueError, match="urns of 100 sizes have 5150 values, more than 4096"):
        matchmakers.chooser_matchmaker().table(jr.urns.make_urns(np.arange(1, 101)))


def test_files_are_rated_saved_and_carried_on(tmp_path):
    pytest.importorskip("pyarrow")
    played = random_matches(12, 300, 2, seed=9)
    a, b = (np.array([f"p{k:02}" for k in range(12)])[played.player[:, k]] for k in (0, 1))
    columns = {"a": a, "b": b, "score": played.score}
    system = jr.urnings(50, weights=(1, 2.5, 1), variant="U1")
    first = jr.rate(system, jr.read({k: x[:150] for k, x in columns.items()}), calibrate=False)
    jr.save(tmp_path / "run", first)
    loaded = jr.load(tmp_path / "run")
    assert (loaded.system.params, loaded.system.settings) == (system.params, system.settings)
    np.testing.assert_array_equal(loaded.state.green, first.state.green)
    whole = jr.read(columns, players=first.players)
    again = jr.rate(system, whole, key=jax.random.key(3))
    assert int(again.state.green.sum()) == 25 * 12 and len(again.predictions) == 300
    np.testing.assert_array_equal(again.state.green, jr.rate(system, whole, key=jax.random.key(3)).state.green)
    more = jr.rate(loaded.system, jr.read({k: x[150:] for k, x in columns.items()}, players=first.players), onto=loaded)
    assert int(more.state.green.sum()) == 25 * 12 and len(more.predictions) == 300
    assert set(jr.history.rating_table(more)) == {"id", "player", "rating", "deviation", "games", "green", "size"}


def draws_of(weight, players=400, games=30_000, seed=0):
    """Games of players of known proportions, with draws of this weight."""
    random = np.random.default_rng(seed)
    proportion = 1 / (1 + np.exp(-random.normal(0, 0.7, players)))
    first = random.integers(0, players, games)
    player = np.stack([first, (first + random.integers(1, players, games)) % players], axis=1)
    odds = proportion / (1 - proportion)
    lead = odds[player[:, 0]] / odds[player[:, 1]]
    chance = np.stack([np.ones(games), weight * lead, lead**2], axis=1)
    chance = (chance / chance.sum(axis=1, keepdims=True)).cumsum(axis=1)
    return proportion, jr.matches(player, (random.random((games, 1)) > chance[:, :2]).sum(axis=1) / 2)


@pytest.mark.full  # its slope is that of the predictions
def test_the_weight_of_draws_is_fitted_by_the_likelihood():
    proportion, played = draws_of(4.0)
    state = jr.urns.make_urns(np.full(400, 200), proportion)  # as good as known: balls move slowly
    found = jr.fit(
        jr.forecasts.add_outcomes(jr.urnings(200, 3)), played, free=("draw_weight",), state=state, key=jax.random.key(0)
    )
    error = found.standard_error["draw_weight"]
    assert found.converged and error < 0.1 and abs(found.params.draw_weight - 4.0) < 4 * error
    assert (
        np.isclose(found.system.params.draw_weight, found.params.draw_weight) and found.system.settings["outcomes"] == 3
    )


def test_the_proportion_of_newcomers_is_found_by_the_likelihood():
    """They join players whose urns are known, and are weaker: pi = 0.25."""
    random, n = np.random.default_rng(1), 4000
    player = np.stack([200 + random.permutation(n) // 4, random.integers(0, 200, n)], axis=1)
    won = random.random(n) < 1 / (1 + np.exp(-np.log(0.25 / 0.75)))
    system, known = jr.urnings(40), jr.urns.make_urns(np.full(200, 40))
    values = np.arange(0.05, 0.96, 0.05)
    settings = system.params._replace(initial_proportion=values)
    loss = jr.fitting.sweep_parameters(system, jr.matches(player, won), settings, state=known, key=jax.random.key(0))
    assert loss.shape == values.shape and abs(values[np.argmin(loss)] - 0.25) < 0.07
    for name in ("size", "initial_proportion"):
        with pytest.raises(ValueError, match=f"urnings: {name} is fixed .* try values of it with `sweep_parameters`"):
            jr.fit(system, jr.matches(player, won), free=(name,), key=jax.random.key(0))
