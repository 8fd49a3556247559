"""Weng and Lin's systems against openskill, the slow twin and what must hold."""

import json
import math
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest
import scipy

import jaxrate as jr
from jaxrate.events import Rounds
from jaxrate.replay.checked_replay import depends_on_time, run
from jaxrate.replay.plan import Block
from jaxrate.replay.schedule import arrange_blocks, cut_into_blocks
from tests.conftest import MOSTLY_DOUBLE, mark_full, quick
from tests.reference import weng_lin_twin as twin

GOLDEN = twin.golden()
CASES = GOLDEN["cases"].values()
MODELS = [*GOLDEN["sequence"]]
THURSTONE = "thurstone_mosteller_full"
EACH = pytest.mark.parametrize("model", mark_full(MODELS, "plackett_luce", "bradley_terry_part", THURSTONE))
ONE = pytest.mark.parametrize("model", mark_full(["plackett_luce", THURSTONE], THURSTONE))


def given(system, mean, deviation, time=None):
    """A state."""
    state = system.init(system.params, len(mean))
    mean, variance = (jnp.asarray(np.asarray(x, float), float) for x in (mean, np.square(deviation)))
    return state._replace(rating=mean, variance=variance, time=time if time is None else jnp.asarray(time, float))


def ratings(system, state):
    return np.stack([np.asarray(x) for x in jr.ratings(system, state)], axis=-1)


def in_one_block(rounds, slots):
    return arrange_blocks(rounds, [Block(np.concatenate([x.number for x in cut_into_blocks(rounds)]), (slots, slots))])


@lru_cache
def games():
    games = json.loads((Path(__file__).parent / "reference" / "elo_glicko.json").read_text())["games"]
    *_, a, b, score = np.array(games["rows"]).T
    return np.stack([a, b], axis=1).astype(int), score


def table(teams):
    """(team, mean, deviation) of every player."""
    return np.array([(i, *player) for i, team in enumerate(teams) for player in team]).T


@pytest.mark.parametrize("model", mark_full(MODELS, "plackett_luce", "bradley_terry_full", THURSTONE))
def test_openskill_agrees_after_a_sequence_of_matches(model):
    system, wanted = jr.weng_lin(model), GOLDEN["sequence"][model]
    with jax.enable_x64(True):
        got = ratings(system, run(system, jr.matches(*games())).state)
    np.testing.assert_allclose(got, np.stack([*wanted.values()], axis=-1), rtol=1e-12)


@EACH
def test_openskill_agrees_about_rounds_ties_and_teams(model):
    with jax.enable_x64(True):
        check_cases(model, 1e-11)


def check_cases(model, tolerance):
    team, mean, deviation = np.concatenate([table(case["teams"]) for case in CASES], axis=1)
    size = [sum(map(len, case["teams"])) for case in CASES]
    rank = np.concatenate([np.repeat(case["ranks"], [*map(len, case["teams"])]) for case in CASES])
    rounds = jr.rounds(np.repeat(np.arange(len(size)), size), np.arange(len(rank)), rank, team=team.astype(int))
    system = jr.weng_lin(model)
    state = run(system, rounds, state=given(system, mean, deviation), schedule=in_one_block(rounds, 9)).state
    wanted = np.concatenate([np.concatenate(case["after"][model]) for case in CASES])
    np.testing.assert_allclose(ratings(system, state), wanted, rtol=tolerance)


PLAYERS, DRIFT = 60, 0.7
NOISE = {"beta": 9.0, "tau": 0.5, "kappa": 0.2}


@lru_cache
def history():
    """Rounds of 1 to 40 participants in teams of 1 to 4, with ties, weights and pauses."""
    rng, columns = np.random.default_rng(3), []
    for i, size in enumerate([2, 9, 40, 1, 5, 30, 3, 16, 4, 24, 7, 33]):
        team = np.sort(rng.integers(0, size, size)) if i % 3 else np.arange(size)
        rank = rng.integers(0, max(2, size // 2), size)[team]
        order = rng.permutation(size)
        rows = rng.permutation(PLAYERS)[:size], rank, team, rng.choice([0.5, 1.0, 2.0], size)
        columns.append([np.full(size, i), *(x[order] for x in rows), np.full(size, 1.5 * i)])
    contest, player, rank, team, weight, time = (np.concatenate(x) for x in zip(*columns, strict=True))
    with pytest.warns(UserWarning, match="one participant"):
        return jr.rounds(contest, player, rank, team=team, weight=weight, time=time)


def replay(model, rounds):
    """Mean and deviation of every player, and the predictions, by the twin."""
    table, last, predictions = [(25.0, 6.0)] * PLAYERS, [math.inf] * PLAYERS, []
    for (a, b), time in zip(pairwise(rounds.player_start), rounds.events.time, strict=True):
        player, rank, team, weight = (x[a:b].tolist() for x in rounds.events[:4])
        for i in player:
            mean, deviation = table[i]
            table[i] = mean, math.sqrt(deviation**2 + DRIFT * max(time - last[i], 0.0))
        members = [[k for k in range(b - a) if team[k] == t] for t in sorted(set(team))]
        teams = [[table[player[k]] for k in group] for group in members]
        share = twin.expected(model, teams, **NOISE)
        predictions += [share[sorted(set(team)).index(t)] for t in team]
        weights = [[weight[k] for k in group] for group in members]
        after = twin.rate(model, teams, [rank[group[0]] for group in members], weights, **NOISE)
        for group, new in zip(members, after, strict=True):
            for k, row in zip(group, new, strict=True):
                table[player[k]] = row
                if len(members) > 1 or math.isfinite(last[player[k]]):
                    last[player[k]] = time
    return np.array(table), np.array(predictions)


SMALL = "bradley_terry_full", 40  # which compares everybody
TWIN_CASES = mark_full(
    [*((x, 100) for x in MODELS), SMALL], ("plackett_luce", 100), ("thurstone_mosteller_full", 100), SMALL
)


@pytest.mark.parametrize(("model", "slots"), TWIN_CASES)
def test_a_history_equals_the_twin(model, slots):
    rounds, system = history(), jr.weng_lin(model, drift=DRIFT, initial_deviation=6.0, **NOISE)
    table, predictions = replay(model, rounds)
    with jax.enable_x64(True):
        got = run(system, rounds, num_players=PLAYERS, schedule=in_one_block(rounds, slots))
        np.testing.assert_allclose(ratings(system, got.state), table, rtol=1e-10)
    np.testing.assert_allclose(got.prediction, predictions, rtol=1e-10)


@EACH
@MOSTLY_DOUBLE
def test_the_chance_to_win_among_teams(model, x64):
    """By Luce's choice axiom of c^2 = 2 (mean variance), or an integral over the performance of each team."""
    system = jr.forecasts.add_outcomes(jr.weng_lin(model))
    state = jr.run(system, jr.rounds([0] * 4, [0, 1, 2, 3], [0, 1, 2, 3])).state
    player, team = [0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 2, 2]
    found = jr.predict(system, state, jr.rounds([0] * 6, player, team, team=team), num_players=6)
    mean = np.append(state.rating, [25.0] * 2).astype(float).reshape(3, 2).sum(1)
    variance = np.append(state.variance, [625.0 / 9.0] * 2).astype(float).reshape(3, 2).sum(1) + (25.0 / 6.0) ** 2
    if model.startswith("thurstone"):
        deviation, margin = np.sqrt(variance) * (2.0 if model.endswith("part") else 1.0), 0.1
        at = mean[:, None] + deviation[:, None] * np.linspace(-9.0, 9.0, 20_001)
        density = scipy.stats.norm.pdf(np.linspace(-9.0, 9.0, 20_001)) * 18.0 / 20_000
        behind = scipy.stats.norm.cdf((at[:, None] - mean[:, None] - margin) / deviation[:, None])  # [T, others, x]
        win = [(density * np.delete(behind[i], i, axis=0).prod(0)).sum() for i in range(3)]
    else:
        win = scipy.special.softmax(mean / np.sqrt(2.0 * variance.mean()))
    np.testing.assert_allclose(found.win[::2], win, rtol=2e-6 if x64 else 2e-5)
    np.testing.assert_allclose(found.draw, 1.0 - sum(win), atol=3e-6)
    np.testing.assert_array_equal(found.win[::2], found.win[1::2])
    assert np.all((found.quality > 0) & (found.quality < 1)) and found.rank[::2].sum() == pytest.approx(6.0, rel=1e-5)


def test_the_side_shifts_the_ratings_and_scores_are_wins_draws_and_losses():
    def one_match(mean, score, side, **changes):
        system = jr.weng_lin(**changes)
        match = jr.matches([[0, 1]], [score], side=[side])
        return jax.tree.map(np.asarray, run(system, match, state=given(system, mean, [8.0, 6.0])))

    with jax.enable_x64(True):
        one, other = one_match([25.0, 30.0], 1.0, -1.0, side_advantage=3.0), one_match([25.0, 33.0], 1.0, 0.0)
        won, drawn, lost = (one_match([25.0, 30.0], score, 0.0) for score in (0.7, 0.5, 0.2))
        sure, never = (one_match([25.0, 30.0], score, 0.0) for score in (1.0, 0.0))
    np.testing.assert_allclose(one.prediction, other.prediction, rtol=1e-13)
    np.testing.assert_allclose(one.state.variance, other.state.variance, rtol=1e-13)
    np.testing.assert_allclose(other.state.rating, np.add(one.state.rating, [0.0, 3.0]), rtol=1e-13)
    np.testing.assert_array_equal([won.state[:2], lost.state[:2]], [sure.state[:2], never.state[:2]])
    assert won.state.rating[0] > drawn.state.rating[0] > 25.0 > lost.state.rating[0]


def free_for_all(rank, team=None, weight=None):
    rank = np.asarray(rank, np.int32)
    team = np.arange(len(rank), dtype=np.int32) if team is None else np.asarray(team, np.int32)
    weight = jnp.asarray(np.ones(len(rank)) if weight is None else weight, float)
    return Rounds(team, jnp.asarray(rank), jnp.asarray(team), weight, jnp.asarray(7.0, float))


@ONE
def test_far_from_all_experience_numbers_and_slopes_are_finite(model):
    """Differences of thousands of deviations, and margins that nothing or everything lies in."""
    thurstone = model.startswith("thurstone")
    system = jr.weng_lin(model)
    ranks = jnp.asarray([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [0, 0, 0, 0, 0], [0, 0, 2, 3, 3]], jnp.int32)

    def after(params, rating, rank):
        state = given(system, [25.0] * 5, [8.0, 1e-3, 2.0, 1.0, 8.0])._replace(rating=rating)
        constants, there = system.rules.prepare(params), jnp.asarray([1.0, 1.0, 1.0, 1.0, 0.0])
        event = free_for_all([0] * 5)._replace(rank=rank, weight=there)
        new = system.rules.update(constants, state, event)
        values = jnp.concatenate([new.rating, new.variance, system.rules.predict(constants, state, event)])
        return jnp.sum(values), values

    def each(epsilon, rating):
        params = jax.tree.map(lambda x: jnp.asarray(x, float), system.params)
        params = params._replace(epsilon=epsilon if thurstone else None)
        return jax.vmap(lambda rank: jax.grad(after, (0, 1), has_aux=True)(params, rating, rank))(ranks)

    both = quick(jax.vmap(jax.vmap(each, (None, 0)), (0, None)))
    rating = jnp.asarray([[25.0, 25.0, 25.0, 25.0, 0.0], [3e4, -3e4, 25.0, 0.0, 0.0], [1e3, 0.0, 999.0, -1e3, 0.0]])
    results = both(jnp.asarray([0.0, 1e-9, 0.1, 1e3] if thurstone else [0.0]), rating)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(results))
    assert (np.asarray(results[1])[..., 5:9] > 0.0).all()


def rate_and_predict(system, event, state):
    constants = system.rules.prepare(system.params)
    return system.rules.update(constants, state, event), system.rules.predict(constants, state, event)


def slopes_of_ratings(system, event, state):
    return jax.grad(lambda state: jnp.sum(rate_and_predict(system, event, state)[0].rating ** 2))(state)


@pytest.mark.parametrize(
    ("model", "function", "n"),
    [
        ("plackett_luce", rate_and_predict, 3000),
        pytest.param("bradley_terry_full", rate_and_predict, 3000, marks=pytest.mark.full),
        ("bradley_terry_full", slopes_of_ratings, 12_000),
    ],
)
def test_large_rounds_take_linear_memory(model, function, n):
    system, event = jr.weng_lin(model), free_for_all(np.arange(n) // 3 * 3)
    program = quick(partial(function, system, event)).lower(system.init(system.params, n)).compile()
    assert program.memory_analysis().temp_size_in_bytes < 3 * n * n


def test_only_a_drift_needs_the_order_of_time():
    assert depends_on_time(jr.weng_lin(), jr.weng_lin(drift=0.1).params)
    assert not depends_on_time(jr.weng_lin(), jr.weng_lin().params)
    assert jr.weng_lin().settings == {"model": "bradley_terry_full"}
