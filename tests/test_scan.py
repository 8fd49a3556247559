"""`jr.scan`, what traced events get elsewhere, and sizes that are used again."""

import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.replay.sizes import roomy, snug
from jaxrate.testing.cases import compilations, equal, near

PLAYERS, N = 12, 60


def league(n=N, players=PLAYERS, seed=0, days=100.0, **more):
    random = np.random.default_rng(seed)
    first = random.integers(0, players, n)
    player = np.stack([first, (first + random.integers(1, players, n)) % players], 1)
    side, weight = random.integers(-1, 2, n), random.choice([0.5, 1.0], n)
    time = np.sort(random.uniform(0.0, days, n))
    return jr.matches(player, random.integers(0, 3, n) / 2, time, side=side, weight=weight, **more)


def refused(message):
    return pytest.raises(ValueError, match=re.escape(message))


@pytest.fixture(params=["elo", "glicko2"])
def system(request, in_a_hurry):
    return jr.SYSTEMS[request.param]()


def fresh(system, players=PLAYERS):
    return system.init(system.params, players)


def on_device(events):
    return jax.tree.map(jnp.asarray, events)


# --- Pure, in every argument ---


def test_matches_and_plans_equal_the_run(system):
    wanted, state = jr.run(system, league()), fresh(system)
    near("matches", jr.scan(system, None, state, league()), wanted, 1e-6)
    plan = jr.by_level(league(), 4)
    found = jr.scan(system, system.params, state, plan)
    near("levels", found._replace(prediction=found.prediction[:N]), wanted, 1e-6)
    assert found.prediction.shape == plan.real.shape and not found.prediction[N:].any()
    assert not any(x.is_deleted() for x in jax.tree.leaves(state))
    weeks = jr.by_level(jr.periods(league(), 7.0))
    found = jr.scan(system, system.params, state, weeks)
    near("periods", found._replace(prediction=found.prediction[:N]), jr.run(system, jr.periods(league(), 7.0)), 1e-6)


def test_every_argument_may_be_traced(system):
    state, wanted = fresh(system), jr.run(system, league())
    jitted = jax.jit(partial(jr.scan, system))
    near("matches", jitted(system.params, state, on_device(league())), wanted, 1e-5)
    for plan in (jr.by_level(league(), 4), jr.by_level(jr.periods(league(), 7.0))):
        near("a plan", jitted(system.params, state, plan), jr.scan(system, None, state, plan), 1e-5)


@pytest.mark.parametrize("width", [None, 4])
def test_histories_of_one_shape_are_mapped_over(system, width):
    leagues = [league(seed=i) for i in range(3)]
    events = [on_device(x) if width is None else jr.by_level(x, width) for x in leagues]
    together = jax.tree.map(lambda *x: jnp.stack(x), *events)
    found = jax.vmap(partial(jr.scan, system, system.params, fresh(system)))(together)
    for i, one in enumerate(events):
        near("a history", jax.tree.map(lambda x, i=i: x[i], found), jr.scan(system, None, fresh(system), one), 1e-5)


@pytest.mark.parametrize("width", [None, 4])
def test_chunks_are_scanned(system, width):
    whole = jr.run(system, league())
    parts = [jax.tree.map(lambda x, i=i: x[i : i + 20], league()) for i in (0, 20, 40)]
    chunks = [on_device(x) if width is None else jr.by_level(x, width) for x in parts]
    together = jax.tree.map(lambda *x: jnp.stack(x), *chunks)
    state, guess = jax.lax.scan(
        lambda state, chunk: tuple(jr.scan(system, system.params, state, chunk)), fresh(system), together
    )
    near("chunks", (state, guess[:, :20].ravel()), tuple(whole), 1e-5)


def loss(system, plan, score, params, **columns):
    guess = jr.scan(system, params, fresh(system), plan.but(score=score, **columns)).prediction
    return jnp.sum(jnp.where(plan.real, (guess - plan.padded(score)) ** 2, 0.0))


@pytest.mark.parametrize("name", ["score", "weight", "time", "side"])
def test_slopes_by_columns_are_finite_differences(system, double, name):
    matches, plan = league(), jr.by_level(league(), 4)
    context = matches.context
    columns = {"score": matches.score, "weight": context.weight, "time": matches.time, "side": context.side}
    columns = {key: jnp.asarray(x, float) for key, x in columns.items()}

    def by(x):
        given = columns | {name: x}
        return loss(system, plan, params=system.params._replace(side_advantage=20.0), **given)

    slope = np.asarray(jax.jit(jax.grad(by))(columns[name]))
    some, step = np.array([3, 31]), 1e-5
    moved = np.asarray(columns[name]) + step * np.stack([sign * np.eye(N)[i] for i in some for sign in (1, -1)])
    up = np.asarray(jax.jit(jax.vmap(by))(moved)).reshape(-1, 2)
    if name == "time" and system.name == "elo":
        assert not slope.any()
        return
    np.testing.assert_allclose(slope[some], (up[:, 0] - up[:, 1]) / (2 * step), rtol=1e-4, atol=1e-9)
    assert slope.any()


def test_slopes_by_the_weights_of_periods(double, in_a_hurry):
    system, periods = jr.glicko(), jr.periods(league(), 7.0)
    plan = jr.by_level(periods)
    score, weight = (jnp.asarray(x, float) for x in (periods.events.score, periods.events.context.weight))
    slope = jax.grad(lambda w: loss(system, plan, score, system.params, weight=w))(weight)
    step = 1e-5 * np.eye(N)[7]
    up, down = (loss(system, plan, score, system.params, weight=weight + sign * step) for sign in (1, -1))
    np.testing.assert_allclose(slope[7], (up - down) / 2e-5, rtol=1e-5)


def test_a_match_of_nobody_changes_nothing(system):
    matches = league()
    player = np.array(matches.player)
    player[[5, 17]] = [[3, PLAYERS], [-1, 2]]
    found = jax.jit(partial(jr.scan, system))(None, fresh(system), on_device(matches._replace(player=player)))
    rest = np.delete(np.arange(N), [5, 17])
    without = jr.run(system, jax.tree.map(lambda x: x[rest], matches))
    guess = np.asarray(found.prediction)
    near("the rest", (found.state, guess[rest]), tuple(without), 1e-5)
    assert guess[[5, 17]].tolist() == [0.0, 0.0]


def test_rounds_are_scanned(in_a_hurry):
    system, rounds = jr.trueskill(), jr.simulate.contests(30, 12, size=5, seed=1).rounds
    plan = jr.by_level(rounds)
    found = jax.jit(partial(jr.scan, system))(system.params, fresh(system, 30), plan)
    wanted = jr.run(system, rounds, num_players=30)
    near("rounds", found._replace(prediction=found.prediction[: plan.num_rows]), wanted, 1e-5)


def test_numbers_in_place_of_a_key_may_be_traced(in_a_hurry):
    system, matches = jr.urnings(), jr.simulate.league(PLAYERS, N, seed=1).matches
    numbers = np.random.default_rng(0).uniform(size=(N, 2))
    wanted = jr.run(system, matches, key=numbers, num_players=PLAYERS)
    jitted = jax.jit(partial(jr.scan, system, None))
    equal("the run", jitted(fresh(system), on_device(matches), key=jnp.asarray(numbers)), wanted)
    with refused("urnings draws random numbers; give it a key"):
        jr.scan(system, None, fresh(system), matches)


# --- What is refused ---


def test_what_is_known_is_checked():
    system = jr.elo()
    with refused("the events name player 11, but there are only 5 players"):
        jr.scan(system, None, fresh(system, 5), league())
    with refused("the events name player 11, but there are only 5 players"):
        jr.scan(system, None, fresh(system, 5), jr.by_level(league()))
    wrong = league()._replace(score=np.full(N, 2.0))
    with refused("row 0 (counting from 0): score 2.0 is outside [0, 1]"):
        jr.scan(system, None, fresh(system), wrong)
    with refused("row 0 (counting from 0): score 2.0 is outside [0, 1]"):
        jax.jit(lambda time: jr.scan(system, None, fresh(system), wrong._replace(time=time)))(jnp.zeros(N))
    with refused("player has shape (60, 2), expected (3, 2)"):
        jax.jit(lambda x: jr.scan(system, None, fresh(system), league()._replace(score=x)))(jnp.zeros(3))


def test_other_events_and_states_are_refused():
    system, rounds = jr.elo(), jr.rounds([0, 0], [0, 1], [1, 2])
    with refused("give scan a state"):
        jr.scan(system, None, None, league())
    with refused("scan takes Matches, or a plan from by_level of any events, not Ragged"):
        jr.scan(system, None, fresh(system), jr.periods(league(), 7.0))
    with refused("elo rates Matches or Periods, not Rounds"):
        jr.scan(system, None, fresh(system), jr.by_level(rounds))
    with refused("skills needs the column 'points'"):
        jr.scan(jr.skills(covariates="points"), None, fresh(jr.skills(covariates="points")), jr.by_level(league()))


def test_columns_of_a_plan_are_checked():
    for plan in (jr.by_level(league()), jr.by_level(jr.periods(league(), 7.0))):
        with refused("the plan has no column 'rating' to change; it has score"):
            plan.but(rating=np.ones(N))
        with refused(f"weight has shape (3,), and the plan is of {N}"):
            plan.but(weight=np.ones(3))


TRACED = [
    lambda m: jr.run(jr.elo(), m),
    lambda m: jr.by_level(m),
    lambda m: jr.periods(m, 7.0),
    lambda m: jr.history(jr.elo(), m),
    lambda m: jr.matches(m.player, m.score),
    lambda m: jr.matches(np.asarray(league().player), np.asarray(league().score), m.time),
    lambda m: jr.rounds(m.player[:, 0], m.player[:, 1], m.score),
    lambda m: jr.fit(jr.elo(), m),
]


@pytest.mark.parametrize("call", TRACED)
def test_where_values_must_be_known_the_error_says_what_takes_traced_ones(call):
    with pytest.raises(ValueError, match=r"traced .*jr\.scan"):
        jax.jit(call)(on_device(league()))


def test_traced_matches_are_predicted(system):
    state = jr.run(system, league()).state
    wanted = jr.predict(system, state, league())
    near("all", jax.jit(lambda m: jr.predict(system, state, m))(on_device(league())), wanted, 1e-5)
    pairs = jax.vmap(lambda p: jr.predict(system, state, jr.Matches(p[None], np.ones(1), np.full(1, 200.0)))[0])
    others = jr.matches(league().player, np.ones(N), np.full(N, 200.0))
    near("one by one", pairs(jnp.asarray(league().player)), jr.predict(system, state, others), 1e-5)


def test_blocks_serve_both_precisions(in_a_hurry):
    """They are made again of the events given, which lose no digit."""
    periods = jr.periods(league(), 7.0)
    arranged = jr.by_level(periods)
    with jax.enable_x64(True):
        equal("the run", jr.run(jr.glicko(), periods, schedule=arranged), jr.run(jr.glicko(), periods))


# --- Sizes that are used again ---


def test_sizes_are_few_and_near():
    for number in (*range(1, 5000), 10**6, 3 * 10**6 + 7):
        room, close = roomy(number, coarse=64), snug(number)
        assert number <= room <= max(64, 1.125 * number) and roomy(room, coarse=64) == room
        assert number <= close <= 17 / 16 * number and snug(close) == close
    assert len({roomy(i, coarse=1) for i in range(1, 100_000)}) < 150
    assert (roomy(3), roomy(100), roomy(100_000)) == (64, 128, 131_072)


FORMS = {
    "stream": lambda m: (m, {"schedule": "stream"}),
    "levels": lambda m: (m, {"schedule": jr.by_level(m, 8)}),
    "periods": lambda m: (jr.periods(m, 7.0), {}),
}


@pytest.mark.parametrize("form", FORMS)
def test_another_history_compiles_nothing(form):
    """One that is longer, or a part, and more players or fewer."""
    system, whole = jr.glicko(), league(3000, 70)
    whole = whole._replace(time=np.arange(3000) * 7.0 / 50)
    for n, players, most in ((2600, 90, None), (2100, 70, 0), (3000, 120, 0)):
        events, options = FORMS[form](jax.tree.map(lambda x, n=n: x[:n], whole))
        options = options | {"num_players": players}
        with compilations() as made:
            done = jr.run(system, events, **options)
            jr.run(system, events, state=done.state, **options | {"num_players": players + 1})
            jr.predict(system, done.state, league(3, players))
        assert most is None or len(made) == most
        assert done.prediction.shape == (n,) and done.state.rating.shape == (players,)


@pytest.mark.parametrize("form", FORMS)
def test_padding_changes_no_bit(form, monkeypatch):
    system, (events, options) = jr.glicko2(), FORMS[form](league(500, 70))
    roomy_run = jr.run(system, events, **options)
    for place in ("schedule", "blocks", "run", "state"):
        monkeypatch.setattr(f"jaxrate.replay.{place}.roomy", lambda number, *rest, **more: number)
    events, options = FORMS[form](league(500, 70))
    equal("the run", jr.run(system, events, **options), roomy_run)
