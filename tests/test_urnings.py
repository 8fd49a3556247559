"""Urnings against exact enumeration by others, the slow twin, and the theorems of the paper on small systems."""

import json
import math
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.systems.urnings import (
    State,
    acceptance_correction,
    unnormalised_simulated_score_probabilities,
)
from jaxrate.urns import matchmakers, urn_games
from jaxrate.urns.urn_games import UrnGameSettings
from tests.conftest import draw_pairs, mark_full, quick
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
        q = pair_probabilities(kind, lam, STATES[number], n)
        got = matrix(variant, w, n, proportion, STATES[number], lambda r: q[tuple(r)], corrected)
    np.testing.assert_allclose(got, TRANSITION[number], atol=1e-12)
    if CASES[number]["expect_stationary_equals_target"]:
        np.testing.assert_allclose(twin.stationary(got), TARGET[number], atol=1e-9)


def random_matches(players, games, m, seed=0):
    random = np.random.default_rng(seed)
    player = draw_pairs(random, players, games)
    return jr.matches(player, random.integers(0, m + 1, games) / m)


def chi_square(count, law):
    """Standardised: about 0, with a deviation of about 1."""
    expected = count.sum() * law
    few = expected < 5
    if few.any():
        count, expected = (np.append(x[~few], x[few].sum()) for x in (count, expected))
    free = len(count) - 1
    return (((count - expected) ** 2 / expected).sum() - free) / np.sqrt(2 * free)


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


@pytest.mark.parametrize("number", range(len(TRACES)))
def test_a_replay_with_given_numbers_follows_the_stored_trace(number):
    """All urns before every game, as far as its prediction tells them, and those at the end; in both precisions."""
    with jax.enable_x64(number % 2 == 0):
        follows(number, 1e-12 if number % 2 == 0 else 1e-5)


def follows(number, tolerance):
    trace = TRACES[number]
    with np.load(FOLDER / "urnings.npz") as file:
        games, uniforms, green = (file[name][number] for name in ("games", "uniforms", "green"))
    weights, pair = trace["w"], games[:2].T
    system = jr.urnings(weights=weights, variant=trace["family"])
    played = jr.matches(pair, games[2] / (len(weights) - 1))
    options = dict(state=jr.urns.make_urns(trace["n"], green[0] / trace["n"]), key=uniforms.T)
    if trace["adaptive"]:
        got = jr.urns.replay_history(
            system, played, matchmaker=matchmakers.similarity_matchmaker(trace["lam"]), **options
        )
    else:
        got = jr.run(system, played, **options)
    np.testing.assert_array_equal(got.state.green, green[-1])
    pi = (np.take_along_axis(green[:-1], pair, axis=1) + 1) / (np.array(trace["n"])[pair] + 2)
    levels = np.arange(len(weights)) / (len(weights) - 1)
    wanted = [twin.observed(weights, *both) @ levels for both in pi]
    np.testing.assert_allclose(got.prediction, wanted, rtol=tolerance)


def test_given_numbers_are_those_of_a_key_in_every_order_of_replay():
    played, key = random_matches(9, 120, 1), jax.random.key(5)
    numbers = np.stack([jax.random.uniform(jax.random.fold_in(key, i), (2,)) for i in range(120)])
    wanted = jr.run(jr.urnings(10), played, key=key)
    for schedule in ("stream", "levels"):
        got = jr.run(jr.urnings(10), played, key=numbers, schedule=schedule)
        np.testing.assert_array_equal(got.state.green, wanted.state.green)
        np.testing.assert_allclose(got.prediction, wanted.prediction, rtol=1e-6)
    other = jr.run(jr.urnings(10), played, key=numbers[::-1]).state.green
    assert (np.asarray(other) != np.asarray(wanted.state.green)).any()


@pytest.mark.parametrize("estimate", ["mean", "share"])
def test_predictions_follow_the_model(x64, estimate):
    """Equations 2 and A30 to A32 of (r + 1) / (n + 2), or of r / n, of empty and full urns too, and of the largest."""
    weights, most, exact = (1, 2.5, 1), 1 << 23, dict(rtol=1e-11 if x64 else 1e-5, atol=1e-30)
    system, size = jr.urnings(weights=weights, estimate=estimate), np.array([100, 10, 10, 10, 3, most, most])
    share = np.array([0.2, 0.3, 0.0, 1.0, 1.0, 1.0 - 1.0 / most, 0.5])
    state = jr.urns.make_urns(size, share)
    np.testing.assert_allclose(jr.ratings(system, state).mean, share, rtol=1e-6)
    pi = share if estimate == "share" else (np.asarray(state.green) + 1) / (size + 2)
    player = np.array([(a, b) for a in range(7) for b in range(7) if a != b])
    alike = pi[player[:, 0]] == pi[player[:, 1]]  # two full urns have even chances
    wanted = [twin.observed(weights, *both) for both in np.where(alike[:, None], 0.5, pi[player])]
    met = jr.matches(player, np.zeros(len(player)))
    np.testing.assert_allclose(jr.predict(jr.forecasts.add_outcomes(system), state, met), wanted, **exact)
    np.testing.assert_allclose(jr.predict(system, state, met), wanted @ np.arange(3) / 2, **exact)
    again = jr.urnings(outcomes=3, draw_weight=2.5, estimate=estimate)
    np.testing.assert_allclose(jr.predict(again, state, met), wanted @ np.arange(3) / 2, rtol=1e-5, atol=1e-30)
    if x64:

        def some(weight):
            return jnp.sum(jr.predict(system, state, met, params=system.params._replace(draw_weight=weight)) ** 2)

        h = 1e-5
        assert abs(jax.grad(some)(1.5) - (some(1.5 + h) - some(1.5 - h)) / (2 * h)) < 1e-8


@pytest.mark.parametrize(
    ("system", "weights"),
    [
        (jr.urnings(outcomes=3), (1, 2, 1)),
        (jr.urnings(weights=(1, 1, 1)), (1, 1, 1)),
        (jr.urnings(outcomes=4), [1] * 4),
    ],
)
def test_scores_have_the_papers_weights_unless_told_otherwise(system, weights):
    """(A24) to (A26)."""
    assert system.rules.prepare(system.params).weights == tuple(weights)


@pytest.mark.parametrize("variant", ["U1", "U2"])
def test_the_largest_urns_are_counted_exactly(variant, x64):
    most = 1 << 23
    system = jr.urnings(most, 3, variant=variant)
    after = jr.run(system, random_matches(4, 200, 2), key=jax.random.key(0))
    green = np.asarray(after.state.green, np.int64)
    assert green.sum() == 4 * most // 2 and (np.asarray(after.state.size) == most).all()
    assert np.unique(green).size > 1 and np.abs(green - most // 2).max() <= 400
    assert np.isfinite(np.asarray(after.prediction)).all()


def test_ratings_have_the_standard_errors_of_binomials():
    system, state = jr.urnings(), jr.urns.make_urns([100, 10], [0.2, 0.5])
    mean, deviation = jr.ratings(system, state)
    np.testing.assert_allclose(mean, [0.2, 0.5], rtol=1e-6)
    np.testing.assert_allclose(deviation, [0.04, 0.5 / np.sqrt(10)], rtol=1e-6)
    np.testing.assert_array_equal(system.init(system.params, 3).green, [50, 50, 50])
    np.testing.assert_array_equal(state.green, [20, 5])


@pytest.mark.parametrize("number", range(0, len(CASES), 7))
def test_the_law_is_the_stored_one(number):
    case = CASES[number]
    green, probability = jr.urns.urn_law(case["n"], case["pi"], case["rplus"])
    np.testing.assert_array_equal(green, STATES[number])
    np.testing.assert_allclose(probability, TARGET[number], atol=1e-14)


@pytest.mark.parametrize(
    ("n", "pi", "total"),
    [
        ([4, 4, 6], [0.3, 0.5, 0.8], 7),
        ([1, 7, 2, 5], [0.01, 0.999, 0.5, 0.2], 3),
        ([3, 3, 3], [1e-300, 0.5, 1 - 1e-16], 4),  # odds 1e316 apart
        ([300, 300], [0.3, 0.6], 270),
        ([5], [0.2], 3),
        ([4, 2], [0.3, 0.4], 0),
        ([4, 2], [0.3, 0.4], 6),
    ],
)
def test_marginals_are_those_of_the_enumerated_law(n, pi, total):
    green, probability = jr.urns.urn_law(n, pi, total)
    wanted = np.stack([np.bincount(column, probability, max(n) + 1) for column in green.T])
    np.testing.assert_allclose(jr.urns.urn_marginals(n, pi, total), wanted, rtol=1e-10, atol=1e-50)


def test_marginals_of_thousands_of_urns_are_exact_and_close_to_binomials():
    """Exact by Newton's identity for equal odds, where the law is hypergeometric; else moments that must agree."""
    many, n, total = 3000, 40, 50_000
    got = jr.urns.urn_marginals(np.full(many, n), np.full(many, 0.9), total)
    r = np.arange(n + 1)
    logs = [[math.lgamma(a + 1) - math.lgamma(k + 1) - math.lgamma(a - k + 1) for a, k in pairs] for pairs in (
        [(n, int(k)) for k in r], [(n * (many - 1), total - int(k)) for k in r], [(n * many, total)])]  # fmt: skip
    np.testing.assert_allclose(got[::999], np.tile(np.exp(np.add(logs[0], logs[1]) - logs[2][0]), (4, 1)), rtol=1e-7)
    random = np.random.default_rng(0)
    sizes, pi = random.integers(1, 100, many), random.beta(2.0, 2.0, many)
    total = round(float(sizes @ pi))
    law = jr.urns.urn_marginals(sizes, pi, total)
    assert law.shape == (many, sizes.max() + 1) and (law >= 0).all()
    np.testing.assert_allclose(law.sum(axis=1), 1.0, rtol=1e-12)
    mean = law @ np.arange(law.shape[1])
    np.testing.assert_allclose(mean.sum(), total, rtol=1e-12)
    np.testing.assert_allclose(mean / sizes, pi, atol=1e-3)
    variance = law @ np.arange(law.shape[1]) ** 2.0 - mean**2
    assert (variance <= mean * (1 - mean / sizes) * (1 + 1e-9)).all()  # section 2.2: binomials bound it from above


@pytest.mark.parametrize("number", np.flatnonzero([c["family"] == "U1" and not c["replacement"] for c in CASES])[::9])
def test_two_urns_that_accept_all_have_the_law_of_theorem_1(number):
    """The binomials times Z, equation (5) for two scores, by the twin's matrix and by the library's games."""
    case = CASES[number]
    for n, pi, total in [([5, 5], [0.3, 0.7], 4), ([3, 6], [0.8, 0.4], 5)]:
        w = case["w"]
        every = twin.states(n, total)
        z = np.array([sum(twin.simulated(w, r, n)) for r in every])
        free = z > 0  # the others neither move nor are reached
        law = twin.target(n, pi, total) * z
        law /= law.sum()
        wanted = twin.transition("U1", w, n, pi, total, accept=False)
        np.testing.assert_allclose(law @ wanted, law, atol=1e-14)
        if len(w) == 2:
            (a, b), (k, m) = np.array(every).T, n
            np.testing.assert_array_equal(z, a * (m - b) + (k - a) * b)
        assert np.abs(law - twin.target(n, pi, total))[free].max() > 1e-3
        with jax.enable_x64(True):
            got = matrix("accept_all", w, n, pi, np.array(every), partial(twin.pairs, "uniform", None, n=n))
        np.testing.assert_allclose(got, wanted, atol=1e-12)


def test_the_replay_of_uniform_pairs_is_the_run():
    system, played, key = jr.urnings(20, 3), random_matches(9, 300, 2, seed=4), jax.random.key(1)
    got = jr.urns.replay_history(system, played, key, matchmaker=matchmakers.uniform_matchmaker())
    wanted = jr.run(system, played, key=key)
    np.testing.assert_array_equal(got.state.green, wanted.state.green)
    np.testing.assert_allclose(got.prediction, wanted.prediction, rtol=1e-6)
    matched = jr.urns.replay_history(system, played, key, matchmaker=matchmakers.chooser_matchmaker()).state
    assert int(matched.green.sum()) == 90 and (np.asarray(matched.green) != np.asarray(wanted.state.green)).any()


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


PLAYERS = 60
PROPORTIONS = np.random.default_rng(0).uniform(0.1, 0.9, PLAYERS)


def play(width, system, matchmaker, corrected, games=3000):
    """As `urnings_world`, so many tries at once."""
    state = system.init(system.params, PLAYERS)
    tries = matchmaker.name != "chooser"
    rule = UrnGameSettings(system.settings["variant"], tries, corrected, matchmaker, width)
    constants = system.rules.prepare(jax.tree.map(jnp.asarray, system.params))
    skill = jnp.asarray(np.log(PROPORTIONS / (1 - PROPORTIONS)), float)
    keys = jax.random.split(jax.random.key(5), 3)
    return urn_games._simulate_history(rule, games // 3, constants, skill, matchmaker.table(state), state, keys)[1]


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
    ("kind", "variant", "corrected"),
    mark_full(
        [("uniform", "U1", True), ("similar", "U1", True), ("similar", "U2", True), ("similar", "U2", False)],
        ("similar", "U2", True),
        ("similar", "U2", False),
    ),
)
def test_matched_games_keep_the_law_of_theorem_4_if_corrected(kind, variant, corrected):
    """One world of three players with unequal urns and draws, looked at 1,500 times, 60 games apart."""
    n, proportion, weights, total = [3, 4, 6], [0.3, 0.55, 0.7], (1, 2.5, 1), 6
    matchmaker = matchmakers.uniform_matchmaker() if kind == "uniform" else MATCHMAKERS[kind](0.3)
    options = {"matchmaker": matchmaker, "state": jr.urns.make_urns(n, 0.45), "record_every": 60}
    system, key = jr.urnings(weights=weights, variant=variant), jax.random.key(1)
    result = jr.urns.simulate_world(system, proportion, 90_000, key, **options, corrected=corrected)
    assert result.green.shape == (1500, 3) and (result.green.sum(axis=1) == total).all()
    np.testing.assert_array_equal(result.games, 60 * np.arange(1, 1501))
    count = np.array([(result.green == r).all(axis=1).sum() for r in twin.states(n, total)])
    law = twin.target(n, proportion, total)
    if kind != "uniform":
        biased = twin.stationary(twin.transition(variant, weights, n, proportion, total, kind, 0.3, False))
        law, other = (law, biased) if corrected else (biased, law)
        assert chi_square(count, other) > 20
    assert abs(chi_square(count, law)) < 4


def test_a_world_goes_on_from_its_state():
    first = jr.urns.simulate_world(jr.urnings(), PROPORTIONS, 100, jax.random.key(0))
    second = jr.urns.simulate_world(
        jr.urnings(), PROPORTIONS, 100, jax.random.key(1), state=first.state, record_every=50
    )
    assert first.green.shape == (1, PLAYERS) and second.green.shape == (2, PLAYERS)
    np.testing.assert_array_equal(first.green[-1], first.state.green)
    assert np.abs(second.green[0] - first.green[-1]).sum() <= 100


KEY = jax.random.key(0)
PLAYED, DRAWN = jr.matches([[0, 1], [1, 2], [0, 3]], [1, 0, 1]), jr.matches([[0, 1], [1, 2]], [1.0, 0.5])
WORLD, URNS = partial(jr.urns.simulate_world, jr.urnings()), jr.urns.make_urns
LAWS = LAW, _ = jr.urns.urn_law, jr.urns.urn_marginals


def strangers(table, state, pair):
    """Who is 2 balls apart does not meet."""
    return jnp.where(jnp.abs(state.green[pair[0]] - state.green[pair[1]]) < 2, 0.0, -jnp.inf)


def apart(table, state, pair):
    """Odd players meet odd ones."""
    return jnp.where((pair[0] - pair[1]) % 2 == 0, 0.0, -jnp.inf)


def own_matchmaker(log_probability):
    return matchmakers.uniform_matchmaker()._replace(name="own", log_probability=log_probability)


def replay_strangers(proportions=0.5, system=None):
    urns = URNS([10] * 4, proportions)
    own = own_matchmaker(strangers)
    return jr.urns.replay_history(system or jr.urnings(10), PLAYED, KEY, matchmaker=own, state=urns)


def run_with_numbers(numbers, system=None):
    return jr.run(system or jr.urnings(10), jr.matches([[0, 1], [1, 0]], [1, 0]), key=np.array(numbers))


REFUSED = [
    (lambda: jr.urnings(2**23 + 1), "size must be whole, from 1 to 8388608, got"),
    (lambda: jr.urnings(weights=(1, 1e300, 1)), r"must be 0 or 1e-9 to 1e9, got \(1.0, 1e\+300, 1.0, 1e\+300\)"),
    (lambda: jr.urnings(weights=(1, 1e6, 1), draw_weight=1e6), "weights, also times draw_weight, must be 0 or 1e-9"),
    (lambda: jr.urnings(1), "0.5 of 1 balls, rounded, is none or all of them"),
    (lambda: jr.urnings(outcomes=2, weights=(1, 2, 1)), "there are 2 outcomes, but 3 weights"),
    (lambda: jr.urnings(weights=(1, -2, 1)), "weights must be finite, from 0, and above 0 of the scores 0 and 1"),
    (lambda: jr.urnings(weights=(1, 1, 0)), "above 0 of the scores 0 and 1"),
    (lambda: jr.urnings(2, 4, variant="U1"), "U1 draws 3 balls at once, and an urn has only 2"),
    (lambda: URNS([10, 0]), r"row 1 \(counting from 0\): an urn has 1 to 8388608 balls, not 0"),
    (lambda: URNS([10, 10], [0.5, 1.1]), r"row 1 .*proportion 1.1 is outside \[0, 1\]"),
    (lambda: URNS([10, 10], 0.0), "0 of 20 balls are green: none could ever move"),
    (lambda: jr.run(jr.urnings(), DRAWN, key=KEY), r"row 1 .*score 0.5 is none of 0, 1/1, ..., 1"),
    (lambda: jr.run(jr.urnings(weights=(1, 0, 1)), DRAWN, key=KEY), r"row 1 .*score 0.5 has the weight 0, as if it"),
    (lambda: jr.run(jr.urnings(), jr.matches([[0, 1]], [1], weight=[2]), key=KEY), "row 0 .*matches of weight 1 only"),
    (lambda: jr.run(jr.urnings(outcomes=3), DRAWN), "urnings draws random numbers; give it a key"),
    (lambda: run_with_numbers(np.zeros((3, 2))), r"a PRNG key, or numbers of shape \(2, 2\), got shape \(3, 2\)"),
    (lambda: run_with_numbers([[0.0, 0.5], [0.5, 1.0]]), r"row 1 .*the numbers \[0.5 1. \] are not from 0, below 1"),
    (lambda: run_with_numbers([[-0.1, 0.5], [0.5, np.nan]]), "row 0 .*are not from 0, below 1"),
    (lambda: run_with_numbers(np.zeros((2, 2)), jr.elo()), "elo takes no numbers of yours in place of a key"),
    (lambda: LAW([9] * 10, [0.5] * 10, 45), "more than 1,000,000 states.*urn_marginals"),
    *((lambda f=f: f([4, 0], [0.5, 0.5], 2), "row 1 .*an urn has at least 1 ball, not 0") for f in LAWS),
    *((lambda f=f: f([4, 4], [0.5, 1.0], 2), "row 1 .*proportion 1.0 is not above 0 and below 1") for f in LAWS),
    *((lambda f=f: f([4, 4], [0.5, 0.5], 9), "from 0 to the 8 balls of the urns, got 9") for f in LAWS),
    (lambda: replay_strangers([0.5, 0.5, 0.6, 0.8]), "players 0 and 3 never meet"),
    (lambda: replay_strangers([0.5, 0.5, 0.6, 0.7]), "row 2 .*could not have matched players 0 and 3"),
    (lambda: replay_strangers(system=jr.elo()), "only urnings has a matchmaker, not elo"),
    (
        lambda: jr.urns.replay_history(jr.urnings(), DRAWN, KEY, matchmaker=matchmakers.uniform_matchmaker()),
        "row 1 .*score 0.5 is none of",
    ),
    (lambda: matchmakers.similarity_matchmaker(-1), "strength of a matchmaker must be at least 0, got -1"),
    (
        lambda: matchmakers.chooser_matchmaker().table(URNS(np.arange(1, 101))),
        "urns of 100 sizes have 5150 values, more than 4096",
    ),
    (lambda: WORLD([0.5, np.nan], 10, KEY), "above 0 and below 1, of at least two players"),
    (lambda: WORLD([0.5, 0.5], 10, KEY, record_every=3), "games must be at least 1, and a multiple of rec"),
    (lambda: WORLD([0.5, 0.5], 10, KEY, state=URNS([5, 5, 5])), "there are 2 proportions, but 3 urns"),
    (
        lambda: WORLD([0.5] * 4, 10, KEY, matchmaker=own_matchmaker(apart)),
        "with this matchmaker players 0 and 1 never meet, not even through others",
    ),
]


@pytest.mark.parametrize(("call", "says"), REFUSED)
def test_what_is_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call()
