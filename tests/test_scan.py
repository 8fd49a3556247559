"""`jr.scan`, what traced events get elsewhere, and sizes that are used again."""

import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts
from jaxrate.replay.padded_states_and_columns import padded_event_size, padded_size
from jaxrate.testing.cases import assert_close_leaves, assert_equal_leaves, record_compilations
from tests.conftest import mark_full, refused

PLAYERS, N = 12, 60


def league(n=N, players=PLAYERS, seed=0, days=100.0, **more):
    random = np.random.default_rng(seed)
    first = random.integers(0, players, n)
    player = np.stack([first, (first + random.integers(1, players, n)) % players], 1)
    side, weight = random.integers(-1, 2, n), random.choice([0.5, 1.0], n)
    time = np.sort(random.uniform(0.0, days, n))
    return jr.matches(player, random.integers(0, 3, n) / 2, time, side=side, weight=weight, **more)


@pytest.fixture(params=mark_full(["elo", "glicko", "glicko2"], "glicko"))
def system(request):
    return jr.extend.SYSTEMS[request.param]()


def fresh(system, players=PLAYERS):
    return system.init(system.params, players)


def with_columns(events, **columns):
    """Matches or periods with other sides, weights or categories."""
    flat = events.flat
    return events.with_flat(flat._replace(context=flat.context._replace(**columns)))


def on_device(events):
    return jax.tree.map(jnp.asarray, events)


# --- Pure, in every argument ---


def test_matches_and_plans_equal_the_run(system):
    wanted, state = jr.run(system, league()), fresh(system)
    assert_close_leaves("matches", jr.scan(system, None, state, league()), wanted, 1e-6)
    plan = jr.extend.schedule_by_level(league(), 4)
    assert_close_leaves("levels", jr.scan(system, system.params, state, league(), plan), wanted, 1e-6)
    assert not any(x.is_deleted() for x in jax.tree.leaves(state))
    weeks = jr.periods(league(), 7.0)
    twice = with_columns(weeks, weight=np.full(N, 2.0))
    plan = jr.extend.schedule_by_level(weeks)
    for events in (weeks, twice):
        assert_close_leaves("periods", jr.scan(system, None, state, events, plan), jr.run(system, events), 1e-6)


def test_every_argument_may_be_traced(system):
    state, wanted = fresh(system), jr.run(system, league())
    jitted = jax.jit(partial(jr.scan, system))
    assert_close_leaves("matches", jitted(system.params, state, on_device(league())), wanted, 1e-5)
    for events in (league(), jr.periods(league(), 7.0)._replace(length=None)):
        plan = jr.extend.schedule_by_level(events)
        wanted = jr.scan(system, None, state, events, plan)
        assert_close_leaves("a plan", jitted(system.params, state, events, plan), wanted, 1e-5)
        padded = jitted(system.params, state, plan.place(events), plan)
        assert not padded.prediction[N:].any() and len(padded.prediction) > N
        assert_close_leaves("padded", padded._replace(prediction=padded.prediction[:N]), wanted, 1e-5)


@pytest.mark.parametrize("width", [1, 4])
def test_placed_matches_are_rated_inside_a_transformation(width):
    """Their padding plays with nobody, though it is rated as well."""
    system, plan = jr.glicko(), jr.extend.schedule_by_level(league(), width)
    placed, wanted = plan.place(league()), jr.run(system, league())
    found = jax.jit(lambda params: jr.scan(system, params, fresh(system), placed, plan))(system.params)
    assert_close_leaves("scan", found._replace(prediction=found.prediction[:N]), wanted, 1e-5)
    run = jax.jit(lambda params: jr.run(system, placed, params=params, schedule=plan))(system.params)
    assert_close_leaves("run", run, wanted, 1e-5)
    assert_equal_leaves("at once", jr.run(system, placed, schedule=plan), jr.run(system, league(), schedule=plan))
    with refused("events that plan.place has placed are rated with schedule=plan"):
        jr.run(system, placed)


@pytest.mark.parametrize("form", mark_full(["matches", "periods"], "matches"))
def test_slopes_by_weights_are_finite_differences(form, double):
    system, events = (jr.elo(), league()) if form == "matches" else (jr.glicko(), jr.periods(league(), 7.0))
    plan, weight = jr.extend.schedule_by_level(events), np.asarray(events.flat.context.weight, float)

    @jax.jit
    @jax.value_and_grad
    def by(weight):
        guess = jr.scan(system, None, fresh(system), with_columns(events, weight=weight), plan).prediction
        return jnp.sum((guess - events.flat.score) ** 2)

    step = 1e-5 * np.eye(N)[7]
    (low, _), (_, slope), (high, _) = (by(weight + x) for x in (-step, 0.0, step))
    np.testing.assert_allclose(np.asarray(slope)[7], (high - low) / 2e-5, rtol=1e-5)


def test_a_match_of_nobody_changes_nothing(system):
    matches = league()
    player = np.array(matches.player)
    player[[5, 17]] = [[3, PLAYERS], [-1, 2]]
    found = jax.jit(partial(jr.scan, system))(None, fresh(system), on_device(matches._replace(player=player)))
    rest = np.delete(np.arange(N), [5, 17])
    without = jr.run(system, jax.tree.map(lambda x: x[rest], matches))
    guess = np.asarray(found.prediction)
    assert_close_leaves("the rest", (found.state, guess[rest]), tuple(without), 1e-5)
    assert guess[[5, 17]].tolist() == [0.0, 0.0]


def test_rounds_are_scanned_with_other_columns():
    system, rounds = jr.elo_mmx(drift=15.0), jr.data.simulate.contests(30, 12, size=5, seed=1).rounds
    plain, other = (
        {"noise": np.ones(12), "time": np.zeros(12)},
        {"noise": np.linspace(0.5, 2.0, 12), "time": 3.0 * np.arange(12)},
    )
    plan = jr.extend.schedule_by_level(rounds)
    found = jax.jit(partial(jr.scan, system))
    for columns in (plain, other):
        contests = rounds.with_flat(rounds.flat._replace(**columns))
        wanted = jr.run(system, contests, num_players=30)
        assert_close_leaves("rounds", found(system.params, fresh(system, 30), contests, plan), wanted, 1e-5)


def test_numbers_in_place_of_a_key_may_be_traced():
    system, matches = jr.urnings(), jr.data.simulate.league(PLAYERS, N, seed=1).matches
    numbers = np.random.default_rng(0).uniform(size=(N, 2))
    wanted = jr.run(system, matches, key=numbers, num_players=PLAYERS)
    jitted = jax.jit(partial(jr.scan, system, None))
    assert_equal_leaves("the run", jitted(fresh(system), on_device(matches), key=jnp.asarray(numbers)), wanted)
    with refused("urnings draws random numbers; give it a key"):
        jr.scan(system, None, fresh(system), matches)


# --- What is refused ---


def test_what_is_known_is_checked():
    system = jr.elo()
    with refused("the events name player 11, but there are only 5 players"):
        jr.scan(system, None, fresh(system, 5), league())
    with refused("the events name player 11, but there are only 5 players"):
        jr.scan(system, None, fresh(system, 5), league(), jr.extend.schedule_by_level(league()))
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
    with refused("scan takes Matches, or events with a plan from schedule_by_level, not Ragged alone"):
        jr.scan(system, None, fresh(system), jr.periods(league(), 7.0))
    with refused("elo rates Matches or Periods, not Rounds"):
        jr.scan(system, None, fresh(system), rounds, jr.extend.schedule_by_level(rounds))
    with refused("skills needs the column 'points'"):
        jr.scan(jr.skills(parts.covariate("points")), None, fresh(jr.skills(parts.covariate("points"))), league())


@pytest.mark.parametrize("traced", [False, True])
def test_a_plan_of_other_events_is_refused(traced):
    """Those of players beyond it, too, where they are known."""
    periods, system = jr.periods(league(), 7.0)._replace(length=None), jr.elo()
    few = jax.tree.map(lambda x: x[:5], league())
    cases = [(league(), few, "60 matches"), (periods, league(), "periods"), (few, league(), "5 matches")]
    for events, planned, what in cases:
        scan = partial(jr.scan, system, None, fresh(system), plan=jr.extend.schedule_by_level(planned))
        with pytest.raises(ValueError, match=f"the plan is not of these .*{what}; make it by"):
            (jax.jit(scan) if traced else scan)(events)
    others = league()._replace(player=league().player[:, ::-1] + 1)
    with refused("the plan is of players up to 11, and these matches name others up to 12"):
        jr.run(system, others, schedule=jr.extend.schedule_by_level(league()))


def test_plans_are_scanned_one_at_a_time():
    plan = jr.extend.schedule_by_level(league(), 4)
    both = jax.tree.map(lambda x: jnp.stack([x, x]), plan)
    with refused("scan takes one plan at a time; map it over several by jax.vmap"):
        jax.jit(partial(jr.scan, jr.elo(), None, fresh(jr.elo())))(league(), both)


def test_what_a_system_does_not_know_of_contests_is_refused():
    contest, player, rank = np.repeat(np.arange(3), 4), np.arange(12), np.tile([0, 0, 1, 1], 3)
    noisy, teams = jr.rounds(contest, player, rank, noise=np.ones(12)), jr.rounds(contest, player, rank, team=rank)
    for events, what in ((noisy, "noise of contests"), (teams, "teams")):
        with refused(f"codeforces knows no {what}"):
            scan = jax.jit(partial(jr.scan, jr.codeforces(), None, fresh(jr.codeforces())))
            scan(events, jr.extend.schedule_by_level(events))


def test_states_and_hyperparameters_of_other_systems_are_refused():
    system, other = jr.glicko(), jr.elo()
    with refused("the state is not of glicko; begin with system.init"):
        jr.scan(system, None, fresh(other), league())
    with refused("params must be those of glicko: system.params._replace"):
        jr.scan(system, other.params, fresh(system), league())


TRACED = [
    lambda m: jr.run(jr.elo(), m),
    lambda m: jr.run(jr.elo(), m, schedule=jr.extend.schedule_by_level(league())),
    lambda m: jr.periods(league(), m.score[0]),
    lambda m: jr.live.start_history(jr.elo()).update("Ada", "Bo", m.score[0]),
    lambda m: jr.live.start_history(jr.elo(), [*range(PLAYERS)], fresh(jr.elo())._replace(rating=m.score[:PLAYERS])),
    lambda m: jr.arena.fit_strengths(m),
    lambda m: jr.arena.count_votes(m.player[:, 0], m.player[:, 1], m.score, m.score),
    lambda m: jr.extend.schedule_by_level(m),
    lambda m: jr.periods(m, 7.0),
    lambda m: jr.history.rating_history(jr.elo(), m),
    lambda m: jr.matches(m.player, m.score),
    lambda m: jr.matches(np.asarray(league().player), np.asarray(league().score), m.time),
    lambda m: jr.rounds(m.player[:, 0], m.player[:, 1], m.score),
    lambda m: jr.fit(jr.elo(), m),
]


@pytest.mark.parametrize("call", TRACED)
def test_where_values_must_be_known_the_error_says_what_takes_traced_ones(call):
    with pytest.raises(ValueError, match=r"traced .*jr\.scan"):
        jax.jit(call)(on_device(league()))


RATED = jr.elo().init(jr.elo().params, PLAYERS)
NOT_TRACED = [
    ("give params=params._replace(k=...)", lambda x: jr.elo(k=x[0])),
    ("give params=params._replace(draw_odds=...)", lambda x: jr.forecasts.add_outcomes(jr.elo(), draw_odds=x[0])),
    ("as arrays of a length are made", lambda x: jr.run(jr.elo(), league(), num_players=x[0])),
    ("as arrays of a length are made", lambda x: jr.elo().init(jr.elo().params, x[0])),
    (
        "what may be traced is `events`",
        lambda x: jr.predict(jr.trueskill(), RATED, jr.extend.Ragged(TEAMS.events, x, None)),
    ),
    ("jr.predict takes them", lambda x: jr.forecasts.predict_pairs(jr.elo(), RATED._replace(rating=x))),
    ("is written with jax.numpy", lambda x: jr.metrics.log_loss(x, np.ones(PLAYERS))),
]


@pytest.mark.parametrize(("message", "call"), NOT_TRACED)
def test_whatever_must_be_known_says_so(message, call):
    with pytest.raises(ValueError, match=f"traced by jax.jit.*{re.escape(message)}"):
        jax.jit(call)(jnp.full(PLAYERS, 0.5))


TEAMS = jr.rounds([3] * 5 + [5] * 3, [4, 2, 7, 1, 0, 5, 2, 9], [0] * 8, team=[0, 0, 1, 1, 2, 0, 1, 2])


PREDICTED = {
    "trueskill": jr.trueskill(), "outcomes": jr.forecasts.add_outcomes(jr.trueskill()), "codeforces": jr.codeforces()
}  # fmt: skip


@pytest.mark.parametrize("name", mark_full(PREDICTED, "outcomes", "codeforces"))
def test_traced_rounds_are_predicted(name):
    system, random = PREDICTED[name], np.random.default_rng(0)
    rounds = TEAMS if "teams" in system.features else jr.rounds([3] * 5 + [5] * 3, TEAMS.events.player, np.zeros(8))
    start = fresh(system)
    state = start._replace(rating=start.rating + jnp.asarray(random.normal(size=PLAYERS), start.rating.dtype))

    def predict(player):
        return jr.predict(system, state, rounds._replace(events=rounds.events._replace(player=player)))

    orders = [rounds.events.player, (rounds.events.player + 3) % PLAYERS]
    together = jax.jit(jax.vmap(predict))(jnp.stack([jnp.asarray(x) for x in orders]))
    for i, player in enumerate(orders):
        assert_close_leaves("contests", jax.tree.map(lambda x, i=i: x[i], together), predict(player), 1e-5)


def test_traced_matches_are_predicted(system):
    state = jr.run(system, league()).state
    wanted = jr.predict(system, state, league())
    assert_close_leaves("all", jax.jit(lambda m: jr.predict(system, state, m))(on_device(league())), wanted, 1e-5)
    pairs = jax.vmap(lambda p: jr.predict(system, state, jr.Matches(p[None], np.ones(1), np.full(1, 200.0)))[0])
    others = jr.matches(league().player, np.ones(N), np.full(N, 200.0))
    assert_close_leaves("one by one", pairs(jnp.asarray(league().player)), jr.predict(system, state, others), 1e-5)


def test_plans_serve_both_precisions():
    """They have no digit to lose."""
    periods = jr.periods(league(), 7.0)
    arranged = jr.extend.schedule_by_level(periods)
    with jax.enable_x64(True):
        assert_equal_leaves("the run", jr.run(jr.glicko(), periods, schedule=arranged), jr.run(jr.glicko(), periods))


# --- Sizes that are used again ---


def test_sizes_are_few_and_near():
    for number in (*range(1, 5000), 10**6, 3 * 10**6 + 7):
        room, close = padded_size(number, power_of_two_limit=64), padded_event_size(number)
        assert number <= room <= max(64, 1.125 * number) and padded_size(room, power_of_two_limit=64) == room
        assert number <= close <= 1.11 * number and padded_event_size(close) == close
    assert len({padded_size(i, power_of_two_limit=1) for i in range(1, 100_000)}) < 150
    assert (padded_size(3), padded_size(100), padded_size(100_000)) == (64, 128, 131_072)


FORMS = {
    "stream": lambda m: (m, {"schedule": "stream"}),
    "levels": lambda m: (m, {"schedule": jr.extend.schedule_by_level(m, 8)}),
    "periods": lambda m: (jr.periods(m, 7.0), {}),
}


def long_league():
    return league(3000, 70)._replace(time=np.arange(3000) * 7.0 / 50)


@pytest.mark.parametrize("form", FORMS)
def test_another_history_compiles_nothing(form):
    """One that is longer, or a part, and more players or fewer."""
    system, whole = jr.glicko(), long_league()
    for n, players, most in ((2600, 90, None), (2100, 70, 0), (3000, 120, 0)):
        events, options = FORMS[form](jax.tree.map(lambda x, n=n: x[:n], whole))
        options = options | {"num_players": players}
        with record_compilations() as made:
            done = jr.run(system, events, **options)
            jr.run(system, events, state=done.state, **options | {"num_players": players + 1})
            jr.predict(system, done.state, league(3, players))
        assert most is None or len(made) == most
        assert done.prediction.shape == (n,) and done.state.rating.shape == (players,)


def test_one_more_contest_compiles_nothing():
    system = jr.weng_lin()
    rounds = [jr.data.simulate.contests(200, count, size=50, seed=count).rounds for count in (40, 41, 60)]
    jr.run(system, rounds[0])
    with record_compilations() as made:
        for some in rounds[1:]:
            jr.run(system, some)
    assert not made


@pytest.mark.parametrize("form", FORMS)
def test_padding_changes_no_bit(form, monkeypatch):
    history = jax.tree.map(lambda x: x[:2100], long_league())  # sizes and programs of the test above
    system, (events, options) = jr.glicko(), FORMS[form](history)
    roomy_run = jr.run(system, events, **options)
    for place in ("schedule", "checked_replay", "padded_states_and_columns"):
        monkeypatch.setattr(f"jaxrate.replay.{place}.padded_size", lambda number, *rest, **more: number)
    events, options = FORMS[form](history)
    assert_equal_leaves("the run", jr.run(system, events, **options), roomy_run)
