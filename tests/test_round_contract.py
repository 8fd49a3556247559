"""What every system of rounds keeps. To add a system, add a line to SYSTEMS.

Compiling takes far longer than running. So most tests replay HISTORY, or change its columns but not its shape, and all
but one have XLA optimise little.
"""

import math
import re
from functools import lru_cache, partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit, ndtr, ndtri

import jaxrate as jr
from jaxrate.events import Rounds, part
from jaxrate.replay.blocks import WINDOW, Block
from jaxrate.replay.compiling import _jit
from jaxrate.replay.rows import on_device, step
from jaxrate.replay.run import _block
from jaxrate.systems.rounds import field
from tests.conftest import quick

SYSTEMS = {
    "elo_mmr": jr.elo_mmr(history=5),
    "elo_mmr_clock": jr.elo_mmr(history=3, split_ties=True, newcomer=(0.6, 0.8), drift=20.0, rho=0.3),
    "elo_mmr_inf": jr.elo_mmr(history=5, rho=math.inf),  # with the same history as the first, hence the same code
    "elo_mmx_clock": jr.elo_mmx(beta=200.0, gamma=40.0, drift=15.0),
    "elo_mmx_split": jr.elo_mmx(split_ties=True),
    "codeforces": jr.codeforces(beta=250.0, weight=0.7),
    "topcoder": jr.topcoder(),
    "trueskill_clock": jr.trueskill(initial_rating=1500, initial_deviation=350, beta=175, tau=35, drift=200),
    "weng_lin_clock": jr.weng_lin(initial_rating=1500, initial_deviation=350, beta=175, tau=3.5, kappa=0.8, drift=25),
}
NAMES = pytest.mark.parametrize("name", SYSTEMS)
CLOCKED = {"elo_mmr_clock", "elo_mmx_clock", "trueskill_clock", "weng_lin_clock"}
OF_TEAMS = {"trueskill_clock", "weng_lin_clock"}  # they learn from ties, and rate matches too
pytestmark = pytest.mark.usefixtures("in_a_hurry")


# A history

POOL, PLAYERS = 140, 150  # who may take part, and the rows of the state
# Sizes of contests. Two by two they add up to the same, so that these parts of the history have the same shapes.
LARGE, SMALL = ((120, 3), (100, 23)), ((28, 2), (21, 9), (13, 17), (25, 5))
SLOTS = 128  # to which all are padded
ALL_TIE = 13  # in contests of this size
LATER = 60.0


def some_rounds(contests, seed):
    """Rounds of these lists of players, with ties and weights, and in every third with a ceiling."""
    rng = np.random.default_rng(seed)
    columns = []
    for i, players in enumerate(contests):
        n = len(players)
        rank = rng.permutation(np.append(rng.integers(0, max(2, n // 2), n - 2), [0, n]))
        rank = np.zeros(n) if n == ALL_TIE else rank
        same = rng.choice([0.5, 1.0, 2.0]), 2.5 * (i // 4), math.inf if i % 3 else 1620.0
        columns.append([np.full(n, i), players, rank, *(np.full(n, x) for x in same)])
    contest, player, rank, weight, time, ceiling = (np.concatenate(x) for x in zip(*columns, strict=True))
    return jr.rounds(contest, player, rank, weight=weight, time=time, ceiling=ceiling)


def two_seasons():
    """Two large contests, then eight small ones without a common player, which are rated in batches; and again."""
    rng = np.random.default_rng(1)
    contests = []
    for large in LARGE:
        contests += [rng.permutation(POOL)[:n] for n in large]
        contests += np.split(rng.permutation(POOL), np.cumsum(np.ravel(SMALL)))[:-1]
    return some_rounds(contests, seed=2)


def in_one_block(rounds, slots):
    """The steps of `by_level` in one block: that is compiled once also where it lies inside another jit."""
    return [Block(np.concatenate([x.number for x in jr.by_level(rounds)]), (slots, slots))]


def shares(rounds):
    """[sum P] of the others, whom each has beaten; who ties is beaten by half."""
    result = []
    for a, b in pairwise(rounds.player_start):
        rank = rounds.events.rank[a:b]
        result.append(0.5 + 0.5 * np.sign(rank[None, :] - rank[:, None]).sum(axis=1) / max(b - a - 1, 1))
    return np.concatenate(result)


HISTORY = two_seasons()
PLAYED = np.unique(HISTORY.events.player)
START, SIZE = HISTORY.player_start, np.diff(HISTORY.player_start)
CONTEST = np.repeat(np.arange(len(SIZE)), SIZE)
ACTUAL, STEPS = shares(HISTORY), in_one_block(HISTORY, SLOTS)


def with_columns(**columns):
    return HISTORY._replace(events=HISTORY.events._replace(**columns))


def run(system, rounds=HISTORY, **options):
    """As arrays of NumPy."""
    options.setdefault("schedule", STEPS)
    options.setdefault("num_players", PLAYERS)
    return jax.tree.map(np.asarray, jr.run(system, rounds, **options))


@lru_cache
def replayed(name, x64):
    """The run of HISTORY; in double precision with more players."""
    with jax.enable_x64(x64):
        return run(SYSTEMS[name], num_players=PLAYERS if x64 else PLAYERS - 5)


def rows(state, which):
    return jax.tree.map(lambda x: x[which], state)


def near(a, b, tolerance):
    """Relative to a number, or to the largest of its kind if that is below 1."""
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        finite = np.abs(y)[np.isfinite(y)].max(initial=0.0)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * min(finite, 1.0))


def equal(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x, y)


def test_the_history_has_batches_padding_ties_weights_and_ceilings():
    (block,) = STEPS
    assert block.number.shape[1] == 4 and (block.number >= len(SIZE)).any()
    assert SLOTS > SIZE.max() == 120 and sorted(SIZE)[-3] == 28 < field.SMALL < 100 and SIZE.min() == 2
    assert np.isfinite(HISTORY.events.ceiling).sum() == 7 and {*HISTORY.events.weight} == {0.5, 1.0, 2.0}
    assert [np.ptp(x) > 0.0 for x in np.split(HISTORY.events.rank, START[1:-1])] == [n != ALL_TIE for n in SIZE]
    assert all(len(np.unique(x)) < len(x) - 2 for x in np.split(HISTORY.events.rank, START[1:-1]) if len(x) > 5)
    assert len(PLAYED) > 130 and PLAYED.max() < POOL


# Runs


@NAMES
def test_one_run_equals_contest_by_contest(name):
    """In batches of two or one by one, padded to this size or to that, below `field.SMALL` or above it."""
    system, whole = SYSTEMS[name], replayed(name, True)
    with jax.enable_x64(True):
        state, guesses = system.init(system.params, PLAYERS), []
        for low in range(0, len(SIZE), 2):
            slots = max(*np.ravel(LARGE)) if SIZE[low] > field.SMALL else max(*np.ravel(SMALL))
            steps = [Block(np.array([[i]], np.int32), (int(slots), int(slots))) for i in (0, 1)]
            state, guess = run(system, part(HISTORY, low, low + 2), state=state, schedule=steps)
            guesses.append(guess)
    near(state, whole.state, 1e-9)
    # Of few players TrueSkill takes their pairs, of many a quadrature.
    near(np.concatenate(guesses), whole.prediction, 1e-5 if name == "trueskill_clock" else 1e-9)


def test_the_schedule_is_that_of_by_level():
    with jax.enable_x64(True):
        near(run(SYSTEMS["codeforces"], schedule="auto"), replayed("codeforces", True), 1e-9)


@NAMES
def test_jit_equals_eager(name):
    system = SYSTEMS[name]
    with jax.enable_x64(True):
        rank, there = jnp.array([2, 0, 1], jnp.int32), jnp.ones(3)
        event = Rounds(jnp.arange(3, dtype=jnp.int32), rank, rank, there, jnp.asarray(3.0), None)
        arguments = system.rules.prepare(system.params), system.init(system.params, 3), event, None
        near(jax.jit(partial(step, system.rules))(*arguments), step(system.rules, *arguments), 1e-11)


@NAMES
def test_states_are_finite_and_predictions_are_shares(name, x64):
    state, prediction = replayed(name, x64)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(rows(state, PLAYED)))
    assert prediction.dtype == (np.float64 if x64 else np.float32) and prediction.shape == CONTEST.shape
    assert ((prediction >= 0.0) & (prediction <= 1.0)).all()
    np.testing.assert_allclose(np.bincount(CONTEST, prediction), 0.5 * SIZE, rtol=1e-4)


@NAMES
def test_single_and_double_precision_agree(name):
    system = SYSTEMS[name]
    (state, guess), (wanted, prediction) = replayed(name, False), replayed(name, True)
    assert state.rating.dtype == np.float32 and wanted.rating.dtype == np.float64
    np.testing.assert_allclose(guess, prediction, atol=1e-4)
    one, other = (system.summary(system.params, rows(x, slice(POOL))) for x in (state, wanted))
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(np.asarray(x, float), np.asarray(y), atol=0.02)


@NAMES
def test_untouched_rows_are_inert(name, x64):
    """(And 5 rows more change nothing: else the precisions would not agree.)"""
    system, state = SYSTEMS[name], replayed(name, x64).state
    more = len(state.rating) - POOL
    with jax.enable_x64(x64):
        equal(rows(state, slice(POOL, None)), system.init(system.params, more))


@NAMES
def test_predictions_know_neither_their_result_nor_the_future(name, x64):
    last, contest, e = len(SIZE) // 2, CONTEST, HISTORY.events
    ranks = [(x[:, None] < x[None, :]).sum(axis=1) for x in np.split(e.rank, START[1:-1])]  # the other way round
    rank = np.where(contest >= last, np.concatenate(ranks), e.rank).astype(np.int32)
    ceiling = np.where(np.arange(len(SIZE)) >= last, 1400.0, e.ceiling)
    one = replayed(name, x64)
    with jax.enable_x64(x64):
        other = run(SYSTEMS[name], with_columns(rank=rank, ceiling=ceiling), num_players=len(one.state.rating))
    equal(one.prediction[contest <= last], other.prediction[contest <= last])
    assert (one.prediction[contest > last] != other.prediction[contest > last]).mean() > 0.5
    assert SIZE[last] == 100
    first, after = (e.player[START[last] : START[last + 1]][k] for k in (e.rank[contest == last] == 0, slice(None)))
    assert (one.state.rating[first] > other.state.rating[first]).all()
    assert (one.state.rating[after] != other.state.rating[after]).all()


@NAMES
def test_the_order_of_the_rows_of_a_contest_does_not_matter(name):
    rng = np.random.default_rng(4)
    order = np.concatenate([a + rng.permutation(b - a) for a, b in pairwise(START)])
    e, one = HISTORY.events, replayed(name, True)
    with jax.enable_x64(True):
        other = run(
            SYSTEMS[name], with_columns(**{x: getattr(e, x)[order] for x in ("player", "rank", "team", "weight")})
        )
    near(other.state, one.state, 1e-11)
    near(other.prediction, one.prediction[order], 1e-11)


@NAMES
def test_renaming_the_players_renames_the_rows(name):
    new = np.random.default_rng(5).permutation(PLAYERS).astype(np.int32)
    one = replayed(name, True)
    with jax.enable_x64(True):
        other = run(SYSTEMS[name], with_columns(player=new[HISTORY.events.player]))
    near(rows(other.state, new), one.state, 1e-11)
    near(other.prediction, one.prediction, 1e-11)


@NAMES
def test_times_must_not_decrease_where_the_clock_matters(name):
    system, time = SYSTEMS[name], HISTORY.events.time.copy()
    time[-1] = 1.0
    with jax.enable_x64(True):
        if name in CLOCKED:
            assert system.clocked(system.params)
            message = rf"row {START[-2]} \(counting from 0\): time 1.0 is earlier than 10.0 in the row before"
            with pytest.raises(ValueError, match=message):
                run(system, with_columns(time=time))
        else:
            assert not system.clocked(system.params)
            one, other = replayed(name, True), run(system, with_columns(time=time))
            equal(other.prediction, one.prediction)
            equal(jr.ratings(system, other.state), jr.ratings(system, one.state))


@NAMES
def test_contests_that_rank_nobody_change_nothing(name):
    """Beyond the clock. Each of five groups of players has its own history of the same two contests and an idle one."""
    system = SYSTEMS[name]
    tie = "alone" if name in OF_TEAMS else "tie"
    groups = [(tie, True), ("alone", True), (None, True), (tie, False), (None, False)]
    contests = [(4 * g, 0.0, [0, 1, 1, 3]) for g in range(5)]
    contests += [(4 * g, 5.0, [0, 0, 0, 0] if idle == "tie" else [0]) for g, (idle, _) in enumerate(groups) if idle]
    contests += [(4 * g, 8.0, [2, 0, 3, 1]) for g, (_, again) in enumerate(groups) if again]
    table = [(i, who + k, r, time) for i, (who, time, rank) in enumerate(contests) for k, r in enumerate(rank)]
    contest, player, rank, time = np.array(table).T
    with pytest.warns(UserWarning, match="one participant"):
        rounds = jr.rounds(contest.astype(int), player.astype(int), rank, weight=np.full(len(rank), 0.5), time=time)
    with jax.enable_x64(True):
        state, prediction = run(system, rounds, schedule=in_one_block(rounds, 4), num_players=20)
        now, later = (jax.tree.map(np.asarray, jr.ratings(system, state, time=t)) for t in (None, 20.0))
    for mean in (now.mean.reshape(5, 4), later.mean.reshape(5, 4)):
        assert (np.diff(np.sort(mean[0])) > 1.0).all() and (mean[0] != mean[4]).all()
        near(mean[:2], mean[[2, 2]], 1e-13)
        equal(mean[3], mean[4])
    if later.deviation is not None:
        deviation = later.deviation.reshape(5, 4)
        near(deviation, deviation[[2, 2, 2, 4, 4]], 1e-13)
        assert (deviation[2] < deviation[4]).all() or name == "topcoder"
    size = np.diff(rounds.player_start)
    assert prediction[np.repeat(size == 1, size)].tolist() == [0.5] * (3 if name in OF_TEAMS else 1)
    np.testing.assert_allclose(np.add.reduceat(prediction, rounds.player_start[:-1]), 0.5 * size, rtol=1e-10)


# Hyperparameters


def loss(system, params):
    """Something that depends on every prediction and on the whole final state."""
    state, prediction = jr.run(system, HISTORY, params=params, schedule=STEPS, num_players=PLAYERS)
    rating, deviation = jr.ratings(system, state, time=LATER, params=params)
    one, other = (jnp.asarray(np.random.default_rng(6).uniform(0.0, 1.0, (2, PLAYERS))[i], float) for i in (0, 1))
    spread = 0.0 if deviation is None else jnp.mean(other * deviation)
    return jnp.mean((prediction - jnp.asarray(ACTUAL, float)) ** 2) + 1e-3 * (jnp.mean(one * rating) + spread)


def as_arrays(params):
    return jax.tree.map(lambda x: jnp.asarray(x, float), params)


@NAMES
def test_gradients_equal_finite_differences(name):
    """Of every hyperparameter, forward and reverse, with padding, ties and contests large and small; and under vmap."""
    system = SYSTEMS[name]
    with jax.enable_x64(True):
        f, params = partial(loss, system), as_arrays(system.params)
        reverse, forward = quick(lambda p: (jax.grad(f)(p), jax.jacfwd(f)(p)))(params)
        names = [x for x in params._fields if getattr(params, x) is not None]
        values = {x: float(getattr(params, x)) for x in names if x != "side_advantage"}  # of matches
        steps = {x: 1e-5 * abs(value) for x, value in values.items() if math.isfinite(value)}
        changed = [params._replace(**{x: getattr(params, x) + sign * h}) for x, h in steps.items() for sign in (-1, 1)]
        low, high = np.asarray(quick(jax.vmap(f))(jax.tree.map(lambda *x: jnp.stack(x), *changed))).reshape(-1, 2).T
        np.testing.assert_allclose(high[0], f(changed[1]), rtol=1e-11)
    assert steps.keys() >= {*values} - {"rho"} and ("rho" in steps) == (name in ("elo_mmr", "elo_mmr_clock"))
    for x, slope in zip(steps, (high - low) / (2.0 * np.array([*steps.values()])), strict=True):
        assert abs(slope) > 1e-7, x
        np.testing.assert_allclose(getattr(forward, x), slope, rtol=1e-5, err_msg=x)
        np.testing.assert_allclose(getattr(reverse, x), slope, rtol=1e-5, err_msg=x)
    assert all(np.isfinite(x) for x in jax.tree.leaves((reverse, forward)))


@NAMES
def test_gradients_in_float32_are_finite(name):
    slope = quick(jax.grad(partial(loss, SYSTEMS[name])))(as_arrays(SYSTEMS[name].params))
    assert all(x.dtype == jnp.float32 and np.isfinite(x) for x in jax.tree.leaves(slope))


@NAMES
def test_parameters_are_described(name):
    system = SYSTEMS[name]
    assert system.params._fields == system.space._fields
    for parameter in system.space:
        assert parameter.space in ("real", "positive", "unit", "fixed")
        assert parameter.range and parameter.unit and parameter.meaning


@pytest.mark.parametrize(
    ("factory", "settings", "message"),
    [
        (jr.elo_mmr, {"rho": -1.0}, "elo_mmr: rho must be >= 0 or inf, got -1.0"),
        (jr.elo_mmr, {"rho": math.nan}, "rho must be"),
        (jr.elo_mmr, {"history": 0}, "elo_mmr: history must be a whole number from 1, got 0"),
        (jr.elo_mmr, {"history": 2.5}, "history must be a whole number"),
        (jr.elo_mmr, {"newcomer": (0,)}, "elo_mmr: factors for newcomers must be above 0"),
        (jr.elo_mmx, {"newcomer": (0.5, math.inf)}, "elo_mmx: factors for newcomers must be above 0"),
        (jr.elo_mmr, {"weight": 0.2, "beta": 200.0, "gamma": 30.0}, "not both"),
        (jr.elo_mmx, {"limit_deviation": 80.0, "beta": 200.0, "gamma": 30.0}, "not both"),
        (jr.elo_mmr, {"weight": 0.2, "beta": 200.0}, "not both"),
        (jr.elo_mmr, {"beta": 200.0}, "elo_mmr: beta and gamma go together; give both"),
        (jr.elo_mmx, {"gamma": 30.0}, "beta and gamma go together"),
        (jr.elo_mmr, {"weight": None}, "must be given"),
        (jr.elo_mmx, {"weight": 0.0}, "weight must be > 0 or None"),
        (jr.elo_mmx, {"limit_deviation": -1.0}, "limit_deviation must be >= 0 or None"),
        (jr.elo_mmx, {"drift": -1.0}, "drift must be >= 0 or None"),
        (jr.elo_mmr, {"limit_deviation": 0.0}, "elo_mmr: a limit_deviation of 0 leaves .* give a drift"),
        (jr.elo_mmr, {"initial_rating": 20000.0}, "elo_mmr: initial_rating must be -6000 to 9000, got 20000.0"),
        (jr.codeforces, {"initial_rating": -7000.0}, "codeforces: initial_rating must be -6000 to 9000"),
        (jr.elo_mmx, {"rho": 1.0}, "elo_mmx has no parameter 'rho'"),
        (jr.elo_mmr, {"initial_deviation": 0.0}, "initial_deviation must be > 0"),
        (jr.elo_mmr, {"limit_deviaton": 80.0}, "elo_mmr has no parameter 'limit_deviaton'.*limit_deviation"),
        (jr.codeforces, {"initial_deviation": 350.0}, "codeforces has no parameter 'initial_deviation'"),
        (jr.codeforces, {"beta": 0.0}, "codeforces: beta must be > 0"),
        (jr.codeforces, {"weight": math.inf}, "codeforces: weight must be > 0"),
        (jr.topcoder, {"weight": 1.0}, "topcoder has no parameter 'weight'"),
        (jr.topcoder, {"weight_new": 1.0}, "topcoder: weight_new must lie between 0 and 1, got 1.0"),
        (jr.topcoder, {"weight_new": 1.5}, "topcoder: weight_new"),
        (jr.topcoder, {"weight_limit": 0.0}, "topcoder: weight_limit must lie between 0 and 1, got 0.0"),
    ],
)
def test_bad_settings_are_refused(factory, settings, message):
    with pytest.raises(ValueError, match=message):
        factory(**settings)


# The runner


@NAMES
def test_no_state_sized_copy_inside_the_loop(name, x64):
    """A contest would cost more, the more players there are. (As the runner compiles it, but for machine code.)"""
    system, players = SYSTEMS[name], 7919
    rounds = some_rounds([np.arange(8)] * 4, 7)
    with jax.enable_x64(x64):
        events, state = on_device(rounds.events), system.init(system.params, players)
        number, start = np.arange(WINDOW, dtype=np.int32)[:, None], jnp.asarray(rounds.player_start, jnp.int32)
        arguments = system.params, (state, jnp.zeros(len(events.rank))), events, (start, None), number, None
        lowered = _jit(_block, False, Rounds, True).lower(system.rules, (8, 8), *arguments)
        text = lowered.compile(compiler_options={"xla_backend_optimization_level": 0}).as_text()
    inner = text[: text.index("ENTRY")]
    assert re.search(rf"\[{players}[,\]]", inner), "the loop does not hold the state: the test looks in the wrong place"
    assert not re.findall(rf"= \S*\[{players}[,\]]\S* copy\(", inner)


@NAMES
def test_events_of_another_kind_are_refused(name):
    system, matches = SYSTEMS[name], jr.matches([[0, 1]], [1.0])
    others = {"Matches": matches, "Periods": jr.periods(matches, 1.0)}
    kinds = "Rounds"
    if name in OF_TEAMS:
        kinds = "Matches or Rounds"
        del others["Matches"]
    for kind, other in others.items():
        with pytest.raises(ValueError, match=f"{system.name} rates {kinds}, not {kind}"):
            jr.run(system, other)
    with pytest.raises(ValueError, match=f"{system.name} predicts Matches or Rounds, not Periods"):
        jr.predict(system, system.init(system.params, 2), jr.periods(matches, 1.0))


def test_rounds_are_refused_by_systems_of_matches():
    system = jr.glicko()
    with pytest.raises(ValueError, match="glicko rates Matches or Periods, not Rounds"):
        jr.run(system, HISTORY)
    with pytest.raises(ValueError, match="glicko predicts Matches, not Rounds"):
        jr.predict(system, system.init(system.params, PLAYERS), HISTORY)


# Predictions


@NAMES
def test_rounds_are_predicted_as_in_a_run(name):
    """Of contests without a common player: learning from one does not change what is said of the other."""
    system, state = SYSTEMS[name], replayed(name, True).state
    two = part(HISTORY, 2, 4)
    known = np.max(two.events.player) + 1
    coming = two._replace(events=two.events._replace(time=np.full(2, LATER)))
    steps = [Block(np.array([[i]], np.int32), (28, 28)) for i in (0, 1)]
    with jax.enable_x64(True):
        state = jax.tree.map(jnp.asarray, rows(state, slice(known)))
        before = jax.tree.map(np.array, state)
        got = jr.predict(system, state, coming)
        near(got, run(system, coming, state=state, schedule=steps, num_players=None).prediction, 1e-12)
        equal(state, before)
        few = rows(state, slice(known // 2))
        got = jr.predict(system, few, coming, num_players=known)
        near(got, run(system, coming, state=few, schedule=steps, num_players=known).prediction, 1e-12)
        with pytest.raises(ValueError, match=f"the events name player {known - 1}, but there are only {known // 2}"):
            jr.predict(system, few, coming)


ROSTER = 9
PAIRS = np.array([(i, j) for i in range(ROSTER) for j in range(ROSTER) if i != j])
MATCHES = jr.matches(PAIRS, np.zeros(len(PAIRS)), np.full(len(PAIRS), LATER))
CONTESTS = np.repeat(np.arange(len(PAIRS)), 2)
DUELS = jr.rounds(CONTESTS, PAIRS.ravel(), 0 * CONTESTS, time=np.full(len(CONTESTS), LATER))


def as_table(prediction):
    table = np.full((ROSTER, ROSTER), np.nan)
    table[*PAIRS.T] = prediction
    return table


@NAMES
def test_matches_are_predicted_as_contests_of_two(name):
    system, state = SYSTEMS[name], replayed(name, True).state
    ladder = np.linspace(500.0, 2500.0, ROSTER)
    with jax.enable_x64(True):
        several = jax.tree.map(lambda x: jnp.asarray(x[:ROSTER]), state)
        alike = jax.tree.map(lambda x: jnp.asarray(x[:1].repeat(ROSTER, axis=0)), state)._replace(
            rating=jnp.asarray(ladder)
        )
        for some in (several, alike):
            prediction = np.asarray(jr.predict(system, some, MATCHES))
            table = as_table(prediction)
            np.testing.assert_allclose((table + table.T)[*PAIRS.T], 1.0, rtol=1e-4)
            duels = np.asarray(jr.predict(system, some, DUELS)).reshape(-1, 2)
            np.testing.assert_allclose(duels[:, 0], prediction, atol=1e-6)
            np.testing.assert_allclose(duels.sum(axis=1), 1.0, rtol=1e-4)
            np.testing.assert_allclose(prediction, by_hand(name, some), atol=1e-4)
    assert all((np.diff(column[np.isfinite(column)]) > 0.0).all() for column in table.T)


def by_hand(name, state):
    """[n] the probability that player 0 of MATCHES does better."""
    system = SYSTEMS[name]
    rating, deviation = jax.tree.map(np.asarray, jr.ratings(system, state, time=LATER))
    lead = rating[PAIRS[:, 0]] - rating[PAIRS[:, 1]]
    if name == "codeforces":
        return expit(math.pi / math.sqrt(3.0) * lead / 250.0)
    square = deviation**2
    if name == "topcoder":
        return ndtr(lead / np.sqrt(square[PAIRS].sum(axis=1)))
    if name == "elo_mmx_clock":  # weight w and limit L by beta^2 = (1 + 1/w) L^2 and gamma^2 = w L^2
        weight = max(np.roots([(200.0 / 40.0) ** 2, -1.0, -1.0]))
        square = square + 200.0**2 + 40.0**2 + 15.0 / weight
    elif name in OF_TEAMS:
        return by_hand_of_teams(name, lead, square[PAIRS].sum(axis=1))
    elif name == "elo_mmx_split":
        square = square + (1.0 + 1.0 / 0.2 + 0.2) * 80.0**2
    else:
        square = square + noise_of_elo_mmr(name, np.asarray(state.games))
        return [logistic_win(*x) for x in zip(lead, *np.sqrt(square[PAIRS].T), strict=True)]
    return ndtr(lead / np.sqrt(square[PAIRS].sum(axis=1)))


def by_hand_of_teams(name, lead, square):
    if name == "weng_lin_clock":
        return expit(lead / np.sqrt(square + 2.0 * 175.0**2))
    spread = np.sqrt(square + 2.0 * (35.0**2 + 175.0**2))
    margin = ndtri(0.55) * math.sqrt(2.0) * 175.0
    return 0.5 * (ndtr((lead - margin) / spread) + ndtr((lead + margin) / spread))


def noise_of_elo_mmr(name, games):
    """[n] gamma^2 + beta^2 of the next contest."""
    if name != "elo_mmr_clock":
        return (1.0 + 1.0 / 0.2 + 0.2) * 80.0**2
    weight = 0.2 * np.array([0.6, 0.8, 1.0])[np.minimum(games, 2)]
    return (1.0 + 1.0 / weight + weight) * 80.0**2 + 20.0 / weight


def logistic_win(lead, one, other):
    """The probability that a logistic variable of mean `lead` and deviation `one` exceeds one of mean 0."""
    one, other = (x * math.sqrt(3.0) / math.pi for x in (one, other))
    z = np.linspace(-40.0, 40.0, 4001)
    return np.sum(expit(z) * expit(-z) * expit((lead + one * z) / other)) * (z[1] - z[0])
