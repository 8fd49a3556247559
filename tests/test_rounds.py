"""The runner on rounds, by rating systems of the test's own, and with random numbers.

Slopes, chunks, batches of histories and other orders of participants are properties of the contract.
"""

from itertools import pairwise, permutations, product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ndtr

import jaxrate as jr
from jaxrate.core.mean_reversion import elapsed_time
from jaxrate.core.rules import Rating, Rules
from jaxrate.core.system import RatingSystem, full_leaf
from jaxrate.data.simulate import contests
from jaxrate.events import LAST_ID, Rounds
from jaxrate.numerics import selective_evaluation
from jaxrate.replay.schedule import arrange_blocks
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


@pytest.mark.parametrize(("name", "noise"), [("elo_mmx", 200.0**2 + 40.0**2), ("topcoder", 0.0)])
def test_matches_are_predicted_as_contests_of_two(name, noise):
    system, pair = EVERY[name], np.array([*permutations(range(5), 2)])
    state = system.init(system.params, 5)
    spread, share = np.array([-900.0, 200.0, 0.0, 500.0, -100.0]), np.array([1.0, 0.3, 0.7, 0.1, 0.5])
    state = state._replace(rating=state.rating + jnp.asarray(spread, "f"), variance=state.variance * share.astype("f"))
    rating, deviation = map(np.asarray, jr.ratings(system, state))
    wanted = ndtr(-np.diff(rating[pair])[:, 0] / np.sqrt((deviation**2 + noise)[pair].sum(axis=1)))
    np.testing.assert_allclose(jr.predict(system, state, jr.matches(pair, np.zeros(20))), wanted, atol=1e-4)
