"""Urnings against exact enumeration by others, the slow twin, and the theorems of the paper on small systems."""

import json
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.systems.urnings.system import (
    State,
    acceptance_correction,
    draw_mock_score,
    green_gain_from_game,
    unnormalised_simulated_score_probabilities,
)
from jaxrate.urns import matchmakers
from tests.conftest import MOSTLY_SINGLE, mark_full, quick
from tests.reference import urnings_twin as twin

MATCHMAKERS = {"similar": matchmakers.similarity_matchmaker, "chooser": matchmakers.chooser_matchmaker}

FOLDER = Path(__file__).parent / "reference"
GOLDEN = json.loads((FOLDER / "urnings.json").read_text())
CASES, TRACES = GOLDEN["cases"], GOLDEN["traces"]
OURS = [not c["replacement"] and (c["family"] == "U2" or c["acceptance"] == "Z") for c in CASES]
UPDATES = np.flatnonzero(OURS).tolist()


def stored(array, shapes):
    """The pieces of a stored array."""
    with np.load(FOLDER / "urnings.npz") as file:
        flat = file[array]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    return [x.reshape(shape) for x, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True)]


SIZES = [case["num_states"] for case in CASES]
TRANSITION = stored("transition", [(s, s) for s in SIZES])
TARGET = stored("target", [(s,) for s in SIZES])
STATES = stored("states", [(s, len(case["n"])) for s, case in zip(SIZES, CASES, strict=True)])


def options(case):
    kind = {"global": "similar"}.get(case["matchmaking"], case["matchmaking"])
    corrected = case["matchmaking_ratio_in_acceptance"] is not False
    return case["family"], case["w"], case["n"], case["pi"], case["rplus"], kind, case["lam"], corrected


@pytest.mark.parametrize("number", mark_full(range(len(CASES)), *range(0, len(CASES), 4)))
def test_the_twin_gives_the_stored_matrices_and_laws(number):
    case = CASES[number]
    assert [tuple(r) for r in STATES[number]] == twin.states(case["n"], case["rplus"])
    np.testing.assert_allclose(twin.target(case["n"], case["pi"], case["rplus"]), TARGET[number], atol=1e-14)
    if not case["replacement"]:
        matrix = twin.transition(*options(case), accept=case["acceptance"] == "Z")
        np.testing.assert_allclose(matrix, TRANSITION[number], atol=1e-13)
    off = np.abs(twin.stationary(TRANSITION[number]) - TARGET[number]).max()
    assert off < 1e-12 if case["expect_stationary_equals_target"] else off > 1e-5


@partial(quick, static_argnums=0)
def outcomes(variant, constants, one, two):
    """[m + 1, S] law of X*, and [m + 1, S] A, for every X, of S pairs of urns: leaves [S]."""
    m = len(constants.weights) - 1

    def of(one, two, x):
        parts = jnp.stack(unnormalised_simulated_score_probabilities(variant, constants, one, two, x))
        accept = [acceptance_correction(variant, constants, one, two, x - k) for k in range(m + 1)]
        return parts / jnp.where(jnp.sum(parts) > 0, jnp.sum(parts), 1.0), jnp.stack([jnp.asarray(a) for a in accept])

    scores = jnp.arange(m + 1, dtype=jnp.int32)
    return jax.vmap(jax.vmap(of, (0, 0, None)), (None, None, 0))(one, two, scores)


def pad_states(states):
    """[S, players] in numbers of states that many cases share, so that they share programs: the last one repeated."""
    return np.pad(np.asarray(states, np.int32), ((0, -len(states) % 512), (0, 0)), "edge")


def matrix(variant, weights, n, proportion, states, probability, corrected=True):
    """The transition matrix of one game by the library's numbers; `probability(r)` is {(i, j): q} at a state."""
    constants = jr.urnings(outcomes=len(weights), weights=weights, variant=variant)
    constants = constants.rules.prepare(constants.params)
    number, m = {tuple(r): k for k, r in enumerate(states)}, len(weights) - 1
    q, result = [probability(r) for r in number], np.zeros((len(states), len(states)))
    green = pad_states(states)
    for i, j in q[0]:
        one, two = (State(green[:, k], np.full(len(green), n[k], np.int32)) for k in (i, j))
        law, accept = (np.asarray(x) for x in outcomes(variant, constants, one, two))
        score = twin.observed(weights, proportion[i], proportion[j])
        for k, r in enumerate(number):
            for x in range(m + 1):
                for drawn in range(m + 1):
                    go = q[k][i, j] * score[x] * law[x, k, drawn]
                    new = np.array(r)
                    new[i] += x - drawn
                    new[j] -= x - drawn
                    target = number.get(tuple(new.tolist()), k)
                    if target != k:
                        ratio = q[target][i, j] / q[k][i, j] if corrected else 1.0
                        result[k, target] += go * min(1.0, accept[x, k, drawn] * ratio)
    return result + np.diag(1.0 - result.sum(axis=1))


@pytest.mark.parametrize("number", mark_full(UPDATES, *UPDATES[::4]))
def test_the_stored_matrices_are_the_updates_own(number):
    variant, w, n, proportion, _, kind, lam, corrected = options(CASES[number])
    with jax.enable_x64(True):
        got = matrix(variant, w, n, proportion, STATES[number], partial(twin.pairs, kind, lam, n=n), corrected)
    np.testing.assert_allclose(got, TRANSITION[number], atol=1e-12)
    if CASES[number]["expect_stationary_equals_target"]:
        np.testing.assert_allclose(twin.stationary(got), TARGET[number], atol=1e-9)


def test_the_biased_rules_are_not_ours():
    biased = [not case["expect_stationary_equals_target"] for case in CASES]
    assert sum(biased) == 39
    for number in np.flatnonzero(biased):
        _, w, n, proportion, _, kind, lam, _ = options(CASES[number])
        with jax.enable_x64(True):
            for variant in ("U1", "U2"):
                got = matrix(variant, w, n, proportion, STATES[number], partial(twin.pairs, kind, lam, n=n))
                assert np.abs(got - TRANSITION[number]).max() > 1e-4
                np.testing.assert_allclose(twin.stationary(got), TARGET[number], atol=1e-9)


@MOSTLY_SINGLE
@pytest.mark.parametrize("number", [k for k, trace in enumerate(TRACES) if not trace["adaptive"]])
def test_the_stored_traces(number, x64):
    trace = TRACES[number]
    with np.load(FOLDER / "urnings.npz") as file:
        (i, j, score, drawn), uniforms, green = (file[name][number] for name in ("games", "uniforms", "green"))
    system = jr.urnings(outcomes=len(trace["w"]), weights=trace["w"], variant=trace["family"])
    constants, size = system.rules.prepare(system.params), jnp.asarray(trace["n"], jnp.int32)

    def game(before, i, j, score, uniforms):
        one, two = State(before[i], size[i]), State(before[j], size[j])
        x = draw_mock_score(
            unnormalised_simulated_score_probabilities(trace["family"], constants, one, two, score), uniforms[0]
        )
        gain = green_gain_from_game(trace["family"], constants, one, two, score, uniforms)
        return x, before.at[i].add(gain).at[j].add(-gain)

    columns = (jnp.asarray(x, jnp.int32) for x in (green[:-1], i, j, score))
    x, after = quick(jax.vmap(game))(*columns, jnp.asarray(uniforms.T, float))
    np.testing.assert_array_equal(x[drawn >= 0], drawn[drawn >= 0])
    np.testing.assert_array_equal(after, green[1:])


def random_matches(players, games, m, seed=0):
    random = np.random.default_rng(seed)
    first = random.integers(0, players, games)
    player = np.stack([first, (first + random.integers(1, players, games)) % players], axis=1)
    return jr.matches(player, random.integers(0, m + 1, games) / m)


@pytest.mark.parametrize("variant", ["U1", "U2"])
def test_balls_are_neither_made_nor_lost_in_many_games(variant):
    random, system = np.random.default_rng(1), jr.urnings(outcomes=3, variant=variant)
    start = jr.urns.make_urns(random.integers(1, 60, 3000), random.random(3000))
    after = jr.run(system, random_matches(3000, 200_000, 2), state=start, key=jax.random.key(2)).state
    green, size = np.asarray(after.green), np.asarray(after.size)
    assert green.sum() == np.asarray(start.green).sum() and (size == np.asarray(start.size)).all()
    assert (green >= 0).all() and (green <= size).all() and (green != np.asarray(start.green)).any()


def chi_square(count, law):
    """Standardised: about 0, with a deviation of about 1."""
    expected = count.sum() * law
    few = expected < 5
    if few.any():
        count, expected = (np.append(x[~few], x[few].sum()) for x in (count, expected))
    free = len(count) - 1
    return (((count - expected) ** 2 / expected).sum() - free) / np.sqrt(2 * free)


@pytest.mark.parametrize(
    ("weights", "variant"),
    [
        pytest.param((1, 1), "U2", marks=pytest.mark.full),
        ((1, 2.5, 1), "U1"),
        pytest.param((1, 0.6, 1.4, 0.9), "U2", marks=pytest.mark.full),
    ],
)
def test_many_small_systems_reach_the_law_of_theorem_4(variant, weights):
    """8,000 systems of three players side by side, 100 games each, beside the exact law; unequal urns."""
    n, proportion, total, copies = [3, 4, 6], [0.3, 0.55, 0.8], 6, 8_000
    m, random = len(weights) - 1, np.random.default_rng(3)
    score = np.array([[twin.observed(weights, a, b) for b in proportion] for a in proportion]).cumsum(axis=-1)
    system = jr.urnings(outcomes=m + 1, weights=weights, variant=variant)
    state, base = jr.urns.make_urns(np.tile(n, copies), np.tile([1 / 3, 1 / 2, 1 / 2], copies)), 3 * np.arange(copies)
    pair = np.array([[0, 1], [0, 2], [1, 2]])[random.integers(0, 3, (100, copies))]
    x = (random.random((100, copies, 1)) >= score[pair[..., 0], pair[..., 1]][..., :-1]).sum(axis=-1)
    played = jr.matches((pair + base[:, None]).reshape(-1, 2), x.ravel() / m)
    after = np.asarray(jr.run(system, played, state=state, key=jax.random.key(4)).state.green).reshape(copies, 3)
    every = twin.states(n, total)
    count = np.array([(after == r).all(axis=1).sum() for r in every])
    assert count.sum() == copies
    assert abs(chi_square(count, twin.target(n, proportion, total))) < 4
    assert chi_square(count, twin.target(n, [0.35, 0.55, 0.8], total)) > 20


def test_extreme_urns_in_float32():
    """Seven levels and urns of a thousand balls: products of fourteen factors from 0 to a thousand, beyond float32."""
    random, m = np.random.default_rng(5), 7
    weights = random.uniform(0.5, 2.0, m + 1)
    system = jr.urnings(outcomes=m + 1, weights=weights)
    size = random.choice([1, 2, 9, 30, 1000], (24, 2))
    green = np.rint(size * random.choice([0, 0.01, 0.5, 0.9, 1], (24, 2))).astype(int)
    one, two = (State(green[:, k].astype(np.int32), size[:, k].astype(np.int32)) for k in (0, 1))
    for variant in ("U1", "U2"):
        law, accept = (np.asarray(x) for x in outcomes(variant, system.rules.prepare(system.params), one, two))
        for k, (a, b) in enumerate(zip(green.tolist(), size.tolist(), strict=True)):
            for x in (0, 3, 7):
                moves = twin.moves(variant, weights, a, b, x)
                wanted = [moves.get((a[0] + x - drawn, a[1] - x + drawn), (0.0, 0.0)) for drawn in range(m + 1)]
                chance, ratio = np.array(wanted).T
                np.testing.assert_allclose(law[x, k], chance, rtol=2e-5, atol=1e-30)
                got = np.where(chance > 0, np.minimum(accept[x, k], 1.0), 0.0)
                np.testing.assert_allclose(got, np.minimum(ratio, 1.0), rtol=2e-5, atol=1e-30)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: jr.urnings(0), "size must be whole, from 1"),
        (lambda: jr.urnings(2.5), "size must be whole, from 1"),
        *((lambda x=x: jr.urnings(x), "size must be whole, from 1 to 8388608, got") for x in (2**23 + 1, 3e9, 1e300)),
        (lambda: jr.urnings(outcomes=3_000_000_000), "outcomes must be a whole number from 2 to 101"),
        (lambda: jr.urnings(weights=(1, 1e300, 1)), r"must be 0 or 1e-9 to 1e9, got \(1.0, 1e\+300, 1.0, 1e\+300\)"),
        (
            lambda: jr.urnings(weights=(1, 1e6, 1), draw_weight=1e6),
            "weights, also times draw_weight, must be 0 or 1e-9",
        ),
        (lambda: jr.urnings(1), "0.5 of 1 balls, rounded, is none or all of them"),
        (lambda: jr.urnings(initial_proportion=1.0), "initial_proportion must be above 0, below 1"),
        (lambda: jr.urnings(10, initial_proportion=0.01), "is none or all of them"),
        (lambda: jr.urnings(outcomes=1), "outcomes must be a whole number from 2"),
        (lambda: jr.urnings(outcomes=2, weights=(1, 2, 1)), "there are 2 outcomes, but 3 weights"),
        (lambda: jr.urnings(weights=(1, -2, 1)), "weights must be finite, from 0, and above 0 of the scores 0 and 1"),
        (lambda: jr.urnings(weights=(1, 1, 0)), "above 0 of the scores 0 and 1"),
        (lambda: jr.urnings(variant="U3"), "variant must be U2, U1, accept_all, got 'U3'"),
        (lambda: jr.urnings(2, 4, variant="U1"), "U1 draws 3 balls at once, and an urn has only 2"),
        (lambda: jr.urnings(draw_wait=2.0), "did you mean 'draw_weight'"),
        (lambda: jr.urns.make_urns([10, 0]), r"row 1 \(counting from 0\): an urn has 1 to 8388608 balls, not 0"),
        (lambda: jr.urns.make_urns([10, 10], [0.5, 1.1]), r"row 1 .*proportion 1.1 is outside \[0, 1\]"),
        (lambda: jr.urns.make_urns([10, 10], [0.5, 0.5, 0.5]), r"proportion has shape \(3,\)"),
        (lambda: jr.urns.make_urns([10, 10], 0.0), "0 of 20 balls are green: none could ever move"),
        (lambda: jr.urns.make_urns([10, 10], 1.0), "20 of 20 balls are green"),
        (lambda: jr.urns.make_urns([1.5, 10]), "size must be integers"),
    ],
)
def test_bad_urns_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_bad_matches_are_refused():
    key = jax.random.key(0)
    draw = jr.matches([[0, 1], [1, 2]], [1.0, 0.5])
    with pytest.raises(ValueError, match=r"row 1 .*score 0.5 is none of 0, 1/1, ..., 1"):
        jr.run(jr.urnings(), draw, key=key)
    with pytest.raises(ValueError, match=r"row 1 .*score 0.5 has the weight 0, as if it could not happen"):
        jr.run(jr.urnings(weights=(1, 0, 1)), draw, key=key)
    with pytest.raises(ValueError, match=r"row 1 .*weight 2.0; urnings takes matches of weight 1 only"):
        jr.run(jr.urnings(), jr.matches([[0, 1], [1, 2]], [1, 0], weight=[1, 2]), key=key)
    with pytest.raises(ValueError, match="urnings draws random numbers; give it a key"):
        jr.run(jr.urnings(outcomes=3), draw)


def test_newcomers_and_given_urns_go_on_together():
    state = jr.run(
        jr.urnings(20),
        jr.matches([[0, 2], [1, 2]], [1, 0]),
        state=jr.urns.make_urns([100, 10]),
        key=jax.random.key(0),
        num_players=3,
    ).state
    np.testing.assert_array_equal(state.size, [100, 10, 20])
    assert int(state.green.sum()) == 65


def test_the_derivative_by_the_weight_of_draws_is_that_of_the_predictions():
    with jax.enable_x64(True):
        system, played = jr.urnings(outcomes=3, draw_weight=1.5), random_matches(20, 200, 2)
        params = jax.tree.map(jnp.asarray, system.params)
        result = jr.run(system, played, key=jax.random.key(0), num_players=20)

        def square(state, weight):
            new = params._replace(draw_weight=weight)
            if state is None:
                result = jr.run(system, played, params=new, key=jax.random.key(0)).prediction
            else:
                result = jr.predict(system, state, played, params=new)
            return jnp.sum(result**2)

        h = 1e-5
        value_and_slope = quick(jax.value_and_grad(partial(square, result.state)))  # one program for both
        (low, _), (_, slope), (high, _) = (value_and_slope(1.5 + x) for x in (-h, 0.0, h))
        assert abs(slope - (high - low) / (2 * h)) < 1e-6
        assert np.isfinite(quick(jax.grad(partial(square, None)))(1.5))


def test_draws_weigh_as_much_as_is_said():
    given = jr.urnings(outcomes=3, weights=(1, 4, 1)), jr.urnings(outcomes=3, draw_weight=4.0)
    assert [x.rules.prepare(x.params).weights for x in given] == [(1, 4, 1), (1, 4, 1)]


@partial(quick, static_argnums=0)
def log_probabilities(log_probability, table, state, pairs):
    """[S, pairs] of states whose leaves are [S, players]."""
    return jax.vmap(jax.vmap(log_probability, (None, None, 0)), (None, 0, None))(table, state, pairs)


def pair_probabilities(kind, lam, states, n):
    """By the library: {state: {(i, j): q}}."""
    make = getattr(matchmakers, {"similar": "similarity"}.get(kind, kind) + "_matchmaker")
    matchmaker, size = make() if kind == "uniform" else make(lam), np.array(n, np.int32)
    players = range(len(n))
    every = [(i, j) for i in players for j in players if i < j or (kind == "chooser" and i != j)]
    green = pad_states(states)
    table = quick(lambda green: matchmaker.table(State(green, size)))(green[0])
    state = State(green, np.broadcast_to(size, green.shape))
    q = np.asarray(log_probabilities(matchmaker.log_probability, table, state, np.array(every, np.int32)))
    q = np.exp(q[: len(states)])
    return {tuple(r): dict(zip(every, row, strict=True)) for r, row in zip(states.tolist(), q, strict=True)}
