"""Schedules against plain-Python twins: every event once, in the order of each player's events, in the room given."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxrate as jr
from jaxrate import parts
from jaxrate.replay import schedule
from jaxrate.replay.padded_arrays import allocate_aligned, padded_event_size, padded_size
from jaxrate.replay.plan import MATCH_SIZE, BlockShape, CompiledShapes, cast_events, gather_events, place_events
from jaxrate.replay.schedule import (
    MAX_PADDED_SIZES,
    WINDOW,
    cut_into_blocks,
    earliest_steps_of_unlimited_width,
    make_plan,
)
from jaxrate.testing.cases import assert_close_leaves, assert_equal_leaves, record_compilations
from tests.conftest import draw_pairs, mark_full, quick, refused


def greedy(events, width):
    """The step of each event: the earliest after the previous events of all its players that has room."""
    last, used, steps = {}, {}, []
    for players in events:
        step = max((last.get(p, -1) + 1 for p in players), default=0)
        while used.get(step, 0) >= width:
            step += 1
        used[step] = used.get(step, 0) + 1
        last.update(dict.fromkeys(players, step))
        steps.append(step)
    return steps


def flat(events):
    ids = np.array([p for players in events for p in players], np.int32)
    return ids, np.cumsum([0, *map(len, events)])


def league(n, players, seed=0, hub=False):
    random = np.random.default_rng(seed)
    player = draw_pairs(random, players, n)
    if hub:
        player = np.stack([np.zeros(n, int), 1 + np.arange(n) % (players - 1)], 1)
    return jr.matches(player, random.integers(0, 3, n) / 2, np.arange(n) / 10)


pairs = st.tuples(st.integers(0, 9), st.integers(1, 9)).map(lambda x: (x[0], (x[0] + x[1]) % 10))
widths = st.sampled_from([1, 2, 3, 5, 2**31 - 1])


def slots_of(player, width):
    step, slot = zip(*schedule.assign_steps_and_slots(player, width), strict=True)
    return np.concatenate(step), np.concatenate(slot)


def in_slots(matches, plan):
    """The matches in the slots of a plan."""
    return quick(gather_events, static_argnums=2)(place_events(matches, plan), plan.blocks[0].number, MATCH_SIZE)[0]


def check_slots(events, width):
    step, slot = slots_of(np.array(events), width)
    assert step.tolist() == greedy(events, width)
    for number in set(step.tolist()):
        assert slot[step == number].tolist() == list(range(np.sum(step == number)))


@settings(deadline=None, database=None)
@given(st.lists(pairs, min_size=1, max_size=60), widths, st.sampled_from([0, schedule.SHORT]))
def test_steps_of_matches_equal_the_greedy_twin(events, width, short):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "SHORT", short)  # the compiled loop, and Python's
        check_slots(events, width)


ragged = st.lists(st.lists(st.integers(0, 14), min_size=1, max_size=12, unique=True), min_size=1, max_size=40)


@settings(deadline=None, database=None)
@given(ragged, st.sampled_from([0, schedule.SHORT]))
def test_steps_of_events_of_any_size_equal_the_greedy_twin(events, short):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "SHORT", short)  # the compiled loop, and NumPy
        patch.setattr(schedule, "CHUNK", 64)
        assert earliest_steps_of_unlimited_width(*flat(events)).tolist() == greedy(events, len(events))


@pytest.mark.parametrize("chunk", [2, 8, 16])
def test_steps_do_not_depend_on_the_chunks_of_the_loop(monkeypatch, chunk):
    monkeypatch.setattr(schedule, "SHORT", 0)
    monkeypatch.setattr(schedule, "CHUNK", chunk)
    random = np.random.default_rng(0)
    for width in (1, 2, 16, 2**31 - 1):
        check_slots([random.permutation(20)[:2].tolist() for _ in range(50)], width)


@settings(deadline=None, database=None, max_examples=12)
@given(st.integers(0, 2**32 - 1), st.sampled_from([3, 8, 20]), st.sampled_from([1, 3, 8]))
def test_levels_hold_every_match_once_in_the_order_of_each_player(seed, players, width):
    n = 30
    matches = league(n, players, seed)
    arranged = jr.extend.schedule_by_level(matches, width)
    number = np.asarray(arranged.blocks[0].number)
    steps, slots = np.nonzero(number < n)
    assert number.shape[1] == width
    assert sorted(number[steps, slots]) == list(range(n))
    step = np.empty(n, int)
    step[number[steps, slots]] = steps
    assert step.tolist() == greedy(matches.player.tolist(), width)
    for p in range(players):
        assert (np.diff(step[(matches.player == p).any(axis=1)]) > 0).all()

    events = in_slots(matches, arranged)
    player = np.asarray(events.player)
    assert player.shape == (len(number), 2, width)
    for ids in player.reshape(len(number), -1):
        assert len(set(ids.tolist())) == 2 * width
    assert (np.moveaxis(player, 1, 2)[number >= n] >= players).all()
    order = number[steps, slots]
    np.testing.assert_array_equal(player[steps, :, slots], matches.player[order])
    np.testing.assert_array_equal(np.asarray(events.score)[steps, slots], matches.score[order])
    np.testing.assert_array_equal(np.asarray(events.time)[steps, slots], matches.time[order].astype(np.float32))
    assert arranged.fill == n / (width * arranged.num_steps) and not (number[arranged.num_steps :] < n).any()
    assert (arranged.num_players, arranged.num_events) == (matches.player.max() + 1, n)


def shapes(width, size=0, steps=0):
    """Programs of matches that were compiled for steps of this width."""
    return CompiledShapes((size, 2 * size, size), (BlockShape(MATCH_SIZE, steps, width),))


def test_no_matches_fill_a_form_with_padding():
    matches = jr.matches(np.zeros((0, 2), int), [])
    made = make_plan(matches, shapes=shapes(4, 6, 3))
    assert made.blocks[0].number.tolist() == (6 + np.arange(12).reshape(3, 4)).tolist() and made.num_steps == 0
    padded = made.place(matches).flat
    assert (padded.player > 2**30).all() and (padded.score == 0.5).all()


@pytest.mark.parametrize(("least", "made"), [(0, 64), (41, 64), (70, 70)])
def test_a_form_has_room_for_as_many_steps_as_without_it(least, made):
    matches = jr.matches([[0, 1]] * 40, np.ones(40))
    number = make_plan(matches, shapes=shapes(2, 50, least)).blocks[0].number
    assert number[:, 0].tolist() == [*range(40), *range(64 + 80, 64 + 2 * made, 2)] and (number[:, 1] >= 64).all()


@pytest.mark.parametrize("shape", [(5,), (3, 2, 7)])
def test_an_aligned_array_is_not_copied_to_the_cpu(shape):
    array = allocate_aligned(shape, np.float32)
    assert array.shape == shape and array.dtype == np.float32 and array.ctypes.data % 64 == 0
    taken = jax.device_put(array, jax.devices("cpu")[0])
    assert taken.unsafe_buffer_pointer() == array.ctypes.data


@pytest.mark.parametrize(("backend", "wanted"), [("cpu", [8, 16, 256]), ("gpu", [64, 64, 512])])
def test_the_default_width_follows_the_mean_width_of_the_history(monkeypatch, backend, wanted):
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    narrow = league(40, 3)
    wide = jr.matches(np.arange(800).reshape(400, 2), np.ones(400))
    middle = jr.matches(np.concatenate([np.arange(40).reshape(20, 2)] * 3), np.ones(60))
    assert [jr.extend.schedule_by_level(m).blocks[0].number.shape[1] for m in (narrow, middle, wide)] == wanted


def same(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)


@settings(deadline=None, database=None, max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([6, 20, 40, 90, 300]), st.sampled_from([2.0, 7.0, 12.0]))
def test_a_look_at_the_middle_of_a_long_history_changes_nothing(seed, players, worth):
    """The look finds it wide or not, rightly or wrongly, and what is worth a schedule may lie on either side."""
    random, matches = np.random.default_rng(seed), league(120, players, seed)
    quarter = random.integers(0, 4) * 30
    matches.player[quarter : quarter + 30] = random.permutation(300)[:60].reshape(30, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "step_width_range", lambda: (2, 8))
        options = {}, {"min_mean_width": worth}, {"schedule": "levels", "max_width": 4}
        wanted = [jr.extend.schedule_by_level(matches), *(make_plan(matches, **x) for x in options)]
        patch.setattr(schedule, "CHUNK", 100)
        patch.setattr(schedule, "SAMPLE_MATCHES", 30)
        same(wanted, [jr.extend.schedule_by_level(matches), *(make_plan(matches, **x) for x in options)])


def test_a_wide_history_is_walked_through_once(monkeypatch):
    monkeypatch.setattr(schedule, "CHUNK", 100)
    monkeypatch.setattr(schedule, "SAMPLE_MATCHES", 60)
    walked, assign = [], schedule.assign_steps_and_slots
    monkeypatch.setattr(
        schedule, "assign_steps_and_slots", lambda ids, width: walked.append(len(ids)) or assign(ids, width)
    )
    wide = jr.matches(np.tile(np.arange(400).reshape(200, 2), (2, 1)), np.ones(400))
    assert make_plan(wide, max_width=16).blocks[0].number.shape[1] == 16 and walked == [60, 400]


def test_auto_takes_a_stream_for_a_hub_and_levels_for_a_wide_history():
    hub, wide = league(60, 30, hub=True), league(60, 200)
    assert make_plan(hub).is_stream and make_plan(wide, "stream").is_stream
    assert not make_plan(wide).is_stream and not make_plan(hub, "levels").is_stream


@pytest.mark.parametrize("name", ["auto", "stream", "levels", make_plan(league(5, 4))], ids=str)
def test_matches_made_by_hand_are_checked_again(name):
    wrong = league(5, 4)._replace(score=np.array([0, 1, 0, 2.0, 1]))
    with pytest.raises(ValueError, match=r"row 3 \(counting from 0\): score 2.0 is outside"):
        jr.run(jr.elo(), wrong, schedule=name)


def contests(sizes, players, seed=0):
    """Rounds of these sizes among this many players."""
    random = np.random.default_rng(seed)
    member = [random.choice(players, size, replace=False) for size in sizes]
    contest = np.repeat(np.arange(len(sizes)), sizes)
    return jr.rounds(contest, np.concatenate(member), np.concatenate([np.arange(len(m)) for m in member]))


def gather(ragged, number, size):
    """The rows of a block and their places in the history."""
    columns, number = cast_events(ragged, jr.extend.schedule_by_level(ragged)), np.array(number, np.int32)
    return jax.tree.map(np.asarray, quick(gather_events, static_argnums=2)(columns, number, size))


def check_blocks(ragged):
    """Every event once, disjoint in a step, each player's in order, and room for the largest; returns the blocks."""
    start, pair_start = ragged.player_start, ragged.pair_start
    num_events, player = len(start) - 1, np.asarray(ragged.events.player)
    made, last, done = list(cut_into_blocks(ragged)), {}, []
    for block in made:
        for slots in block.number:
            members = []
            for e in slots[slots < num_events]:
                ids = player[start[e] : start[e + 1]].tolist()
                assert len(ids) <= block.size[0]
                if pair_start is None:
                    others = len({*ragged.events.team[start[e] : start[e + 1]].tolist()})
                else:
                    others = pair_start[e + 1] - pair_start[e]
                assert others <= block.size[1]
                assert all(last.get(p, -1) < e for p in ids)
                last.update(dict.fromkeys(ids, e))
                members += ids
                done.append(int(e))
            assert len(members) == len(set(members))
    assert sorted(done) == list(range(num_events))
    assert len({block.size for block in made}) <= MAX_PADDED_SIZES
    return made


@pytest.mark.filterwarnings("ignore:.*one participant")
@settings(deadline=None, database=None, max_examples=40)
@given(st.lists(st.integers(1, 40) | st.integers(1, 900), min_size=1, max_size=50), st.integers(0, 100))
def test_blocks_of_rounds_are_exact(sizes, seed):
    check_blocks(contests(sizes, max(sizes) + 50, seed))


@settings(deadline=None, database=None, max_examples=40)
@given(st.integers(0, 1000), st.sampled_from([3, 12, 100]), st.lists(st.integers(0, 12), min_size=80, max_size=80))
def test_blocks_of_periods_are_exact(seed, players, number):
    check_blocks(jr.periods(league(80, players, seed), period=np.sort(number)))


def test_alike_steps_share_a_window_and_unlike_ones_are_not_padded_to_the_largest():
    alike = check_blocks(contests([9] * (10 * WINDOW), 9))
    assert [block.number.shape for block in alike] == [(WINDOW, 1)] * 10
    even = check_blocks(contests([9] * (2 * WINDOW + 2), 9))  # rather than two full ones and one of two steps
    assert [block.number.shape for block in even] == [(22, 1)] * 3
    unlike = check_blocks(contests([9] * 40 + [20_000] + [9] * 23, 20_000))
    assert sum(block.number.size * block.size[0] for block in unlike) < 2 * 20_000
    few = [9] * (2 * WINDOW) + [20_000] * WINDOW  # compiling windows as well would take longer than the calls
    assert {len(block.number) for block in check_blocks(contests(few, 20_000))} == {1}


@pytest.mark.parametrize("launched", [False, True])
def test_rounds_share_a_step_if_that_costs_less_than_their_padding(launched, monkeypatch):
    """In one step of three, two rounds of 30 could be rated at once, and in every step 16 of 4."""
    monkeypatch.setattr(schedule, "has_launch_overhead", lambda: launched)
    large = np.concatenate(
        [np.random.default_rng(day).permutation(60)[: 30 * (1 + (day % 3 == 0))] for day in range(40)]
    )
    for player, size, batch in ((large, 30, 2 if launched else 1), (np.tile(np.arange(64), 40), 4, 16)):
        made = check_blocks(jr.rounds(np.arange(len(player)) // size, player, player))
        assert {block.number.shape[1] for block in made} == {batch}


@pytest.mark.filterwarnings("ignore:.*one participant")
def test_padded_sizes_stay_few_over_four_orders_of_magnitude():
    sizes = [1, 10, 100, 1000, 10_000, 3, 30, 300, 3000, 7, 70, 700, 7000] * 80
    made = check_blocks(contests(sizes, 10_000))
    assert 3 < len({block.size for block in made}) <= MAX_PADDED_SIZES
    assert sum(block.number.size * block.size[0] for block in made) < 1.5 * sum(sizes)


def test_further_sizes_must_save_what_they_cost_to_compile():
    made = [cut_into_blocks(contests([1000] + [3] * few, 2000)) for few in (30, 400)]  # a size costs 300,000 slots
    assert [len({block.size for block in some}) for some in made] == [1, 2]


@pytest.mark.filterwarnings("ignore:.*one participant")
def test_padding_of_rounds_takes_part_in_nothing():
    contest, player, rank, team = [0, 0, 0, 1], [4, 2, 9, 4], [2, 1, 1, 5], [7, 8, 8, 1]
    rounds = jr.rounds(contest, player, rank, team=team, weight=[1, 0.5, 2, 3], time=[1, 1, 1, 6])
    events, position = gather(rounds, [[1, 0, 2]], (5, 3))
    assert events.player.shape == (1, 3, 5)
    real = np.arange(5) < np.array([1, 3, 0])[:, None]
    player, weight, team = (x[0] for x in (events.player, events.weight, events.team))
    assert player[real].tolist() == [4, 4, 2, 9] and weight[real].tolist() == [3.0, 1.0, 0.5, 2.0]
    assert events.rank[0][real].tolist() == [0, 2, 0, 0] and team[real].tolist() == [0, 0, 1, 1]
    assert events.time.tolist() == [[6.0, 1.0, 0.0]]
    assert (weight[~real] == 0).all() and (events.rank[0][~real] > 2).all()
    assert (player[~real] > 9).all() and len({*player[~real].tolist()}) == (~real).sum()
    for row, inside in zip(team, real, strict=True):
        assert len({*row[~inside].tolist()} - {*row[inside].tolist()}) == (~inside).sum()
    position = position[0]
    assert position[real].tolist() == [3, 0, 1, 2]
    assert (position[~real] > 3).all() and len({*position.ravel().tolist()}) == position.size


def test_padding_of_periods_is_no_game():
    matches = jr.matches([[3, 1], [0, 3], [2, 0]], [1, 0.5, 0], side=[1, -1, 0], weight=[2, 3, 4], category=[5, 6, 7])
    periods = jr.periods(matches, period=[0, 0, 4])
    events, position = gather(periods, [[1, 0]], (4, 3))
    assert events.player[0, :, :2].tolist() == [[0, 2], [0, 1]] and int(events.player[0, 1, 2]) == 3
    assert (events.player[0][[0, 0, 1], [2, 3, 3]] > 3).all()
    assert events.pair[0].tolist() == [[[1, 0], [0, 0], [0, 0]], [[2, 1], [0, 2], [0, 0]]]
    assert events.context.weight[0].tolist() == [[4.0, 0.0, 0.0], [2.0, 3.0, 0.0]]
    assert events.score[0].tolist() == [[0.0, 0.5, 0.5], [1.0, 0.5, 0.5]]
    assert events.context.side[0].tolist() == [[0.0, 0.0, 0.0], [1.0, -1.0, 0.0]]
    assert events.context.category[0, 1].tolist() == [[5, 5], [6, 6], [0, 0]]
    assert events.time.tolist() == [[4.0, 0.0]]
    assert position[0][[0, 1, 1], [0, 0, 1]].tolist() == [2, 0, 1]


PLAYERS, N = 12, 60


def scan_league(n=N, players=PLAYERS, seed=0, days=100.0, **more):
    random = np.random.default_rng(seed)
    player = draw_pairs(random, players, n)
    side, weight = random.integers(-1, 2, n), random.choice([0.5, 1.0], n)
    time = np.sort(random.uniform(0.0, days, n))
    return jr.matches(player, random.integers(0, 3, n) / 2, time, side=side, weight=weight, **more)


@pytest.fixture(params=mark_full(["elo", "glicko", "glicko2"], "glicko"))
def system(request):
    return jr.extend.SYSTEMS[request.param]()


def fresh(system, players=PLAYERS):
    return system.init(system.params, players)


def on_device(events):
    return jax.tree.map(jnp.asarray, events)


def test_every_argument_may_be_traced(system):
    state, wanted = fresh(system), jr.run(system, scan_league())
    jitted = jax.jit(partial(jr.scan, system))
    assert_close_leaves("matches", jitted(system.params, state, on_device(scan_league())), wanted, 1e-5)
    assert_close_leaves("known matches", jr.scan(system, None, state, scan_league()), wanted, 1e-6)
    assert not any(x.is_deleted() for x in jax.tree.leaves(state))
    for events in (scan_league(), jr.periods(scan_league(), 7.0)._replace(length=None)):
        plan = jr.extend.schedule_by_level(events)
        wanted = jr.run(system, events)
        assert_close_leaves("a known plan", jr.scan(system, system.params, state, events, plan), wanted, 1e-6)
        assert_close_leaves("a plan", jitted(system.params, state, events, plan), wanted, 1e-5)
        padded = jitted(system.params, state, plan.place(events), plan)
        assert not padded.prediction[N:].any() and len(padded.prediction) > N
        assert_close_leaves("padded", padded._replace(prediction=padded.prediction[:N]), wanted, 1e-5)


@pytest.mark.parametrize("width", [1, 4])
def test_placed_matches_are_rated_inside_a_transformation(width):
    """Their padding plays with nobody, though it is rated as well."""
    system, plan = jr.glicko(), jr.extend.schedule_by_level(scan_league(), width)
    placed, wanted = plan.place(scan_league()), jr.run(system, scan_league())
    found = jax.jit(lambda params: jr.scan(system, params, fresh(system), placed, plan))(system.params)
    assert_close_leaves("scan", found._replace(prediction=found.prediction[:N]), wanted, 1e-5)
    run = jax.jit(lambda params: jr.run(system, placed, params=params, schedule=plan))(system.params)
    assert_close_leaves("run", run, wanted, 1e-5)
    assert_equal_leaves("at once", jr.run(system, placed, schedule=plan), jr.run(system, scan_league(), schedule=plan))
    with refused("events that plan.place has placed are rated with schedule=plan"):
        jr.run(system, placed)


def test_a_match_of_nobody_changes_nothing(system):
    matches = scan_league()
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
    plain = {"noise": np.ones(12), "time": np.zeros(12)}
    other = {"noise": np.linspace(0.5, 2.0, 12), "time": 3.0 * np.arange(12)}
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


def test_what_is_known_is_checked():
    system, by_points, rounds = jr.elo(), jr.skills(parts.covariate("points")), jr.rounds([0, 0], [0, 1], [1, 2])
    wrong = scan_league()._replace(score=np.full(N, 2.0))
    weeks = jr.periods(scan_league(), 7.0)
    for message, rating, state, *events in (
        ("the events name player 11, but there are only 5 players", system, fresh(system, 5), scan_league()),
        ("give scan a state", system, None, scan_league()),
        ("scan takes Matches, or events with a plan", system, fresh(system), weeks),
        ("elo rates Matches or Periods, not", system, fresh(system), rounds, jr.extend.schedule_by_level(rounds)),
        ("skills needs the column 'points'", by_points, fresh(by_points), scan_league()),
        ("the state is not of glicko; begin with system.init", jr.glicko(), fresh(system), scan_league()),
    ):
        with refused(message):
            jr.scan(rating, None, state, *events)
    with refused("params must be those of glicko: system.params._replace"):
        jr.scan(jr.glicko(), jr.elo().params, fresh(jr.glicko()), scan_league())
    with refused("row 0 (counting from 0): score 2.0 is outside [0, 1]"):
        jax.jit(lambda time: jr.scan(jr.elo(), None, fresh(jr.elo()), wrong._replace(time=time)))(jnp.zeros(N))
    with refused("player has shape (60, 2), expected (3, 2)"):
        jax.jit(lambda x: jr.scan(jr.elo(), None, fresh(jr.elo()), scan_league()._replace(score=x)))(jnp.zeros(3))


@pytest.mark.parametrize("traced", [False, True])
def test_a_plan_of_other_events_is_refused(traced):
    """Those of players beyond it, too, where they are known."""
    periods, system = jr.periods(scan_league(), 7.0)._replace(length=None), jr.elo()
    few = jax.tree.map(lambda x: x[:5], scan_league())
    cases = [(scan_league(), few, "60 matches"), (periods, scan_league(), "periods"), (few, scan_league(), "5 matches")]
    for events, planned, what in cases:
        scan = partial(jr.scan, system, None, fresh(system), plan=jr.extend.schedule_by_level(planned))
        with pytest.raises(ValueError, match=f"the plan is not of these .*{what}; make it by"):
            (jax.jit(scan) if traced else scan)(events)
    others = scan_league()._replace(player=scan_league().player[:, ::-1] + 1)
    with refused("the plan is of players up to 11, and these matches name others up to 12"):
        jr.run(system, others, schedule=jr.extend.schedule_by_level(scan_league()))


def test_plans_are_scanned_one_at_a_time():
    plan = jr.extend.schedule_by_level(scan_league(), 4)
    both = jax.tree.map(lambda x: jnp.stack([x, x]), plan)
    with refused("scan takes one plan at a time; map it over several by jax.vmap"):
        jax.jit(partial(jr.scan, jr.elo(), None, fresh(jr.elo())))(scan_league(), both)


RATED = jr.elo().init(jr.elo().params, PLAYERS)
TAKES_TRACED = [
    lambda m: jr.run(jr.elo(), m),
    lambda m: jr.live.start_history(jr.elo(), [*range(PLAYERS)], RATED._replace(rating=m.score[:PLAYERS])),
    lambda m: jr.arena.fit_strengths(m),
    lambda m: jr.periods(m, 7.0),
    lambda m: jr.matches(m.player, m.score),
    lambda m: jr.fit(jr.elo(), m),
]
NOT_TRACED = [
    *((r"traced .*jr\.scan", call) for call in TAKES_TRACED),
    ("give params=params._replace.k=", lambda m: jr.elo(k=m.score[0])),
    ("as arrays of a length are made", lambda m: jr.elo().init(jr.elo().params, m.score[0])),
    (
        "what may be traced is `events`",
        lambda m: jr.predict(jr.trueskill(), RATED, TEAMS._replace(player_start=m.time)),
    ),
    ("is written with jax.numpy", lambda m: jr.metrics.log_loss(m.score, np.ones(N))),
]


@pytest.mark.parametrize(("message", "call"), NOT_TRACED)
def test_where_values_must_be_known_the_error_says_what_to_do(message, call):
    with pytest.raises(ValueError, match=f"traced.*{message}" if "traced" not in message else message):
        jax.jit(call)(on_device(scan_league()))


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
    state = jr.run(system, scan_league()).state
    wanted = jr.predict(system, state, scan_league())
    assert_close_leaves("all", jax.jit(lambda m: jr.predict(system, state, m))(on_device(scan_league())), wanted, 1e-5)
    pairs = jax.vmap(lambda p: jr.predict(system, state, jr.Matches(p[None], np.ones(1), np.full(1, 200.0)))[0])
    others = jr.matches(scan_league().player, np.ones(N), np.full(N, 200.0))
    assert_close_leaves("one by one", pairs(jnp.asarray(scan_league().player)), jr.predict(system, state, others), 1e-5)


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
    return scan_league(3000, 70)._replace(time=np.arange(3000) * 7.0 / 50)


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
            jr.predict(system, done.state, scan_league(3, players))
        assert most is None or len(made) == most
        assert done.prediction.shape == (n,) and done.state.rating.shape == (players,)


@pytest.mark.parametrize("form", FORMS)
def test_padding_changes_no_bit(form, monkeypatch):
    history = jax.tree.map(lambda x: x[:2100], long_league())  # sizes and programs of the test above
    system, (events, options) = jr.glicko(), FORMS[form](history)
    roomy_run = jr.run(system, events, **options)
    for place in ("schedule", "checked_replay", "padded_arrays"):
        monkeypatch.setattr(f"jaxrate.replay.{place}.padded_size", lambda number, *rest, **more: number)
    events, options = FORMS[form](history)
    assert_equal_leaves("the run", jr.run(system, events, **options), roomy_run)
