"""The runner on rounds, by rating systems of the test's own, and with random numbers.

Slopes, chunks, batches of histories and other orders of participants are properties of the contract.
"""

import math
from itertools import pairwise, product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit, ndtr

import jaxrate as jr
from jaxrate.core.mean_reversion import elapsed_time
from jaxrate.core.rules import Rating, Rules
from jaxrate.core.system import RatingSystem, full_leaf
from jaxrate.data.simulate import contests
from jaxrate.events import LAST_ID, Rounds
from jaxrate.numerics import selective_evaluation
from jaxrate.replay.schedule import arrange_blocks
from jaxrate.testing.cases import (
    TIME_AFTER_EVENTS,
)
from tests.conftest import draw_pairs, mark_full
from tests.test_contract import EVERY


class Params(NamedTuple):
    k: float = 24.0
    initial: float = 1500.0
    growth: float = 30.0  # of the variance, per unit of time
    shrink: float = 0.1
    beta: float = 200.0


class State(NamedTuple):
    rating: jax.Array
    variance: jax.Array
    time: jax.Array


def init(params, num_players):
    return State(
        full_leaf(num_players, params.initial), full_leaf(num_players, 100.0**2), full_leaf(num_players, jnp.inf)
    )


def advance(params, rows, time):
    return rows._replace(variance=rows.variance + params.growth * elapsed_time(time, rows.time))


def others(event):
    """[P, P] by how much each participant counts as an opponent of another, in shares; padding and mates do not."""
    counts = jnp.where(event.team[:, None] != event.team[None, :], event.weight[None, :], 0.0)
    total = jnp.sum(counts, axis=1, keepdims=True)
    return counts / jnp.where(total > 0, total, 1.0)


def predict(params, rows, event):
    """The share of opponents that a participant should beat."""
    spread = jnp.sqrt(params.beta**2 + rows.variance[:, None] + rows.variance[None, :])
    return jnp.sum(others(event) * jax.nn.sigmoid((rows.rating[:, None] - rows.rating[None, :]) / spread), axis=1)


def update(params, rows, event):
    ahead = jnp.sign(event.rank[None, :] - event.rank[:, None]).astype(rows.rating.dtype)
    actual = jnp.sum(others(event) * (0.5 + 0.5 * ahead), axis=1)
    step = params.k * event.weight * (1 + rows.variance / 1e4)
    return State(
        rows.rating + step * (actual - predict(params, rows, event)),
        rows.variance * (1 - params.shrink * event.weight),
        jnp.full_like(rows.time, event.time),
    )


def summary(params, rows):
    del params
    return Rating(rows.rating, jnp.sqrt(rows.variance))


RULES = Rules(lambda params: params, advance, predict, update)
SYSTEM = RatingSystem(init, RULES, (jr.Rounds,), summary, features=("teams",), name="share", params=Params())


SMALL = contests(14, 15, size=(2, 9), seed=0).rounds


# --- Systems that draw random numbers. ---


def shaken():
    """A system whose events each shake the ratings of their players with the event's key."""

    def shake(params, rows, event, key):
        del params
        shape = rows.rating.shape if isinstance(event, jr.Matches) else ()
        return rows._replace(rating=rows.rating + 0.1 * jax.random.normal(key, shape, rows.rating.dtype))

    def first(params, rows, event):
        del params
        return rows.rating[0] if isinstance(event, jr.Matches) else rows.rating

    rules = Rules(lambda params: params, advance, first, shake, draw=lambda key: key)
    return SYSTEM._replace(rules=rules, events=(jr.Matches, jr.Rounds), name="shaken", params=Params(initial=0.0))


SHAKEN = shaken()


def league(n=90, players=12):
    random = np.random.default_rng(4)
    player = draw_pairs(random, players, n)
    return jr.matches(player, np.ones(n))


@pytest.mark.parametrize("schedule", ["stream", "levels"])
def test_match_i_gets_the_key_folded_with_i(default_policy, schedule):
    matches, key = league(), jax.random.key(7)
    rating, guess = np.zeros(12, np.float32), []
    for i, player in enumerate(matches.player):
        guess.append(rating[player[0]])
        rating[player] += 0.1 * np.asarray(jax.random.normal(jax.random.fold_in(key, i), (2,)))
    result, other = (jr.run(SHAKEN, matches, key=k, schedule=schedule) for k in (key, jax.random.key(2)))
    np.testing.assert_allclose(result.state.rating, rating, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(result.prediction, guess, rtol=1e-5, atol=1e-6)
    assert (np.asarray(result.state.rating) != np.asarray(other.state.rating)).all()
    again = jr.run(SHAKEN, matches, key=key, schedule=jr.extend.schedule_by_level(matches, 3))
    np.testing.assert_array_equal(result.state.rating, again.state.rating)  # to the bit
    np.testing.assert_array_equal(result.prediction, again.prediction)


def by_hand(rounds, key, players):
    rating = np.zeros(players, np.float32)
    for i, (a, b) in enumerate(pairwise(rounds.player_start)):
        rating[rounds.events.player[a:b]] += 0.1 * np.asarray(jax.random.normal(jax.random.fold_in(key, i)))
    return rating


def test_round_i_gets_the_key_folded_with_i_in_batches_and_under_vmap_too():
    player, key = np.arange(160), jax.random.key(5)
    for rounds, players in ((SMALL, 14), (jr.rounds(player // 5, player, player % 5), 160)):
        result = jr.run(SHAKEN, rounds, key=key, num_players=players)
        np.testing.assert_allclose(result.state.rating, by_hand(rounds, key, players), rtol=1e-5, atol=1e-6)
    keys = jax.random.split(jax.random.key(6), 3)
    together = jax.vmap(lambda key: jr.run(SHAKEN, SMALL, key=key, num_players=14).state.rating)(keys)
    for key, rating in zip(keys, together, strict=True):
        np.testing.assert_allclose(rating, by_hand(SMALL, key, 14), rtol=1e-5, atol=1e-6)


# What devices other than a CPU may compute differently: infinities in padding, products of floats in few bits.

SIZE, PRESENT = 96, 70  # of a round: more than are always compared in pairs, and some padding
SYSTEMS = [name for name, make in jr.extend.SYSTEMS.items() if jr.Rounds in make().events]


@pytest.fixture(params=["cpu", "gpu"])
def backend(request, monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: request.param)
    return request.param


ON_GPU = pytest.mark.parametrize("backend", mark_full(["cpu", "gpu"], "gpu"), indirect=True)  # where it matters most


def prediction_of_padded_round(system):
    """The rule, and what it is given: a round of players who differ, and of padding."""
    rows = jax.tree.map(jnp.asarray, system.init(system.params, SIZE))
    spread = jnp.asarray(0.1 * np.random.default_rng(0).normal(size=SIZE), jnp.float32)
    name = "rating" if hasattr(rows, "rating") else "mean"
    mean = getattr(rows, name)
    rows = rows._replace(**{name: mean * (1.0 + spread.reshape(-1, *(1,) * (mean.ndim - 1)))})
    number = jnp.arange(SIZE, dtype=jnp.int32)
    mask = number < PRESENT
    event = Rounds(number, jnp.where(mask, number, LAST_ID), number, mask.astype(jnp.float32), jnp.float32(0.0))
    return system.rules.predict, (system.rules.prepare(system.params), rows, event)


@ON_GPU
@pytest.mark.parametrize("name", SYSTEMS)
def test_no_number_on_the_way_to_a_prediction_is_infinite(name, backend):
    predict, given = prediction_of_padded_round(jr.extend.SYSTEMS[name]())
    with jax.disable_jit(), jax.debug_infs(True), jax.debug_nans(True):  # each operation by itself is looked at
        assert np.isfinite(predict(*given)[:PRESENT]).all()


def products_of(jaxpr):
    """All products of matrices and vectors in a program, and in those within."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            yield equation
        for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
            if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
                yield from products_of(getattr(inner, "jaxpr", inner))


@ON_GPU
@pytest.mark.parametrize("name", SYSTEMS)
def test_products_of_floats_are_asked_for_in_full_precision(name, backend):
    """By default a GPU takes 10 bits of each factor."""
    system = jr.extend.SYSTEMS[name]()
    predict, (constants, rows, event) = prediction_of_padded_round(system)
    for rule in (lambda: predict(constants, rows, event), lambda: system.rules.update(constants, rows, event)):
        for equation in products_of(jax.make_jaxpr(rule)().jaxpr):
            exact = (jax.lax.Precision.HIGHEST,) * 2
            assert equation.params["precision"] == exact, equation.source_info.traceback


def test_a_gpu_whose_predictions_are_not_finite_is_an_error(share, backend):
    system = share()
    predict = system.rules.predict
    rules = system.rules._replace(predict=lambda *given: jnp.nan * predict(*given))
    system, rounds = system._replace(rules=rules), jr.rounds([0, 0, 1, 1], [0, 1, 1, 2], [1, 2, 1, 2])
    if backend == "cpu":
        assert np.isnan(jr.run(system, rounds).prediction).all()
    else:
        data = jr.read({"contest": [0, 0, 1, 1], "player": ["a", "b", "b", "c"], "rank": [1, 2, 1, 2]})
        for rate, events in product((jr.run, jr.history.rating_history), (rounds, data)):
            with pytest.raises(FloatingPointError, match="JAX_PLATFORMS=cpu"):
                rate(system, events)


# Rounds of all sizes by one program, which calculates for some participants at a time, and not for the padding.

TILES_SYSTEMS = {
    "elo_mmr": lambda: jr.elo_mmr(history=3),
    "ties split": lambda: jr.elo_mmr(history=3, split_ties=True),
    "elo_mmx": jr.elo_mmx,
    "codeforces": jr.codeforces,
    "topcoder": jr.topcoder,
}


@pytest.mark.parametrize("name", mark_full(TILES_SYSTEMS, "codeforces"))
def test_rounds_in_tiles_are_those_of_exact_sizes(name):
    system = TILES_SYSTEMS[name]()
    with jax.enable_x64(True):
        rounds = contests(1500, 5, size=(20, 1000), seed=3, grid=60).rounds
        tiled = arrange_blocks(rounds, tiled=True)
        ((size, _),) = {block.size for block in tiled.blocks}
        assert size % selective_evaluation.TILE_ROWS == 0
        found, exact = (jr.run(system, rounds, schedule=x) for x in (tiled, arrange_blocks(rounds)))
        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-9), found, exact)


def test_tiles_are_mapped_replaced_and_added_up_to_the_last_row_asked_for():
    size = selective_evaluation.TILE_ROWS
    x = np.arange(3.0 * size)
    add_one = jax.jit(lambda x, count: selective_evaluation.map_row_tiles(lambda y: y + 1.0, count, x))
    found = add_one(x, size + 1)
    assert np.all(found[: 2 * size] == x[: 2 * size] + 1.0) and np.all(found[2 * size :] == 0.0)
    replace = jax.jit(lambda x, count: selective_evaluation.replace_row_tiles(lambda y: -y, count, x))
    for count in (1, size):
        found = replace(x, count)
        assert np.all(found[:size] == -x[:size]) and np.all(found[size:] == x[size:])
    add_up = lambda total, y: total + y.sum()  # noqa: E731
    add = jax.jit(lambda x, count: selective_evaluation.add_row_tiles(add_up, count, 0.0, x))
    sums = [int(add(np.ones(2 * size), count)) for count in (0, 1, size, size + 1, 2 * size)]
    assert sums == [0, size, size, 2 * size, 2 * size]


# Matches of two


ROSTER = 9
PAIRS = np.array([(i, j) for i in range(ROSTER) for j in range(ROSTER) if i != j])
MATCHES = jr.matches(PAIRS, np.zeros(len(PAIRS)), np.full(len(PAIRS), TIME_AFTER_EVENTS))
CONTESTS = np.repeat(np.arange(len(PAIRS)), 2)
DUELS = jr.rounds(CONTESTS, PAIRS.ravel(), 0 * CONTESTS, time=np.full(len(CONTESTS), TIME_AFTER_EVENTS))


@pytest.mark.parametrize("name", mark_full(["elo_mmr", "elo_mmx", "codeforces", "topcoder"], "elo_mmx", "topcoder"))
def test_matches_are_predicted_as_contests_of_two(name):
    """Of players who have played more and less often."""
    system, random = EVERY[name], np.random.default_rng(0)
    with jax.enable_x64(True):
        state = jax.tree.map(np.asarray, system.init(system.params, ROSTER))
        known = {
            "rating": random.permutation(state.rating + 350.0 * np.linspace(-3.0, 3.0, ROSTER)),
            "variance": getattr(state, "variance", 1.0) * random.uniform(0.1, 1.0, ROSTER),
            "games": np.arange(ROSTER, dtype=np.int32),
            "time": TIME_AFTER_EVENTS - random.uniform(0.0, 30.0, ROSTER),
        }
        state = state._replace(**{x: y for x, y in known.items() if getattr(state, x, None) is not None})
        prediction = np.asarray(jr.predict(system, state, MATCHES))
        duels = np.asarray(jr.predict(system, state, DUELS)).reshape(-1, 2)
        rating, deviation = map(np.asarray, jr.ratings(system, state, time=TIME_AFTER_EVENTS))
    np.testing.assert_allclose(duels, np.stack([prediction, 1.0 - prediction], axis=1), atol=1e-4)
    lead = rating[PAIRS[:, 0]] - rating[PAIRS[:, 1]]
    if name == "codeforces":
        wanted = expit(math.pi / math.sqrt(3.0) * lead / 250.0)
    elif name == "elo_mmr":
        deviation = np.sqrt(deviation**2 + noise_of_elo_mmr(system, known["games"]))
        wanted = [logistic_win(*x) for x in zip(lead, *deviation[PAIRS.T], strict=True)]
    else:
        noise = 0.0 if name == "topcoder" else 200.0**2 + 40.0**2
        wanted = ndtr(lead / np.sqrt((deviation**2 + noise)[PAIRS].sum(axis=1)))
    np.testing.assert_allclose(prediction, wanted, atol=1e-4)


def noise_of_elo_mmr(system, games):
    """[n] gamma^2 + beta^2 of the next contest."""
    factors = np.array([*system.settings["newcomer"], 1.0])
    weight = 0.2 * factors[np.minimum(games, len(factors) - 1)]
    return (1.0 + 1.0 / weight + weight) * 80.0**2 + system.params.drift / weight


def logistic_win(lead, one, other):
    """The probability that a logistic variable of mean `lead` and deviation `one` exceeds one of mean 0."""
    one, other = (x * math.sqrt(3.0) / math.pi for x in (one, other))
    z = np.linspace(-40.0, 40.0, 4001)
    return np.sum(expit(z) * expit(-z) * expit((lead + one * z) / other)) * (z[1] - z[0])
