"""Schedules against plain-Python twins: every event once, in the order of each player's events, in the room given."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxrate as jr
from jaxrate.replay import schedule
from jaxrate.replay.padded_states_and_columns import allocate_aligned
from jaxrate.replay.plan import MATCH_SIZE, BlockShape, CompiledShapes, cast_events, gather_events, place_events
from jaxrate.replay.schedule import (
    MAX_PADDED_SIZES,
    WINDOW,
    cut_into_blocks,
    earliest_steps_of_unlimited_width,
    make_plan,
    make_plan_of_shapes,
)
from tests.conftest import quick


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
    first = random.integers(0, players, n)
    player = np.stack([first, (first + random.integers(1, players, n)) % players], 1)
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
@given(ragged, st.sampled_from([0, schedule.NUMPY_EVENT_SIZE]))
def test_steps_of_events_of_any_size_equal_the_greedy_twin(events, least):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "NUMPY_EVENT_SIZE", least)  # by NumPy, and by lists
        assert earliest_steps_of_unlimited_width(*flat(events)).tolist() == greedy(events, len(events))


@pytest.mark.parametrize("chunk", [2, 8, 16])
def test_steps_do_not_depend_on_the_chunks_of_the_loop(monkeypatch, chunk):
    monkeypatch.setattr(schedule, "SHORT", 0)
    monkeypatch.setattr(schedule, "CHUNK", chunk)
    random = np.random.default_rng(0)
    for width in (1, 2, 2**31 - 1):
        check_slots([random.permutation(20)[:2].tolist() for _ in range(50)], width)


@pytest.mark.parametrize("short", [0, schedule.SHORT])
def test_a_hole_in_an_earlier_step_is_filled(monkeypatch, short):
    monkeypatch.setattr(schedule, "SHORT", short)
    events = np.array([(0, 1), (2, 3), (4, 5), (0, 2), (0, 4), (6, 7), (8, 9)])
    assert slots_of(events, 2)[0].tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert slots_of(events, 3)[0].tolist() == [0, 0, 0, 1, 2, 1, 1]
    events = np.array([(0, 1), (0, 2), (1, 3), (4, 5)])  # the second step is full before the first one
    assert slots_of(events, 2)[0].tolist() == [0, 1, 1, 0]


def test_no_events_take_no_steps():
    assert earliest_steps_of_unlimited_width(np.zeros(0, np.int32), np.zeros(1, int)).shape == (0,)
    assert slots_of(np.zeros((0, 2), np.int32), 4)[0].shape == (0,)


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


def test_padding_numbers_are_distinct_and_past_the_matches():
    matches = league(30, 5)
    number = np.asarray(jr.extend.schedule_by_level(matches, 8).blocks[0].number).ravel()
    assert len(set(number.tolist())) == len(number)
    assert (np.sort(number)[:30] == np.arange(30)).all()


def test_context_is_arranged_with_its_match():
    n = 12
    row = np.arange(n)
    matches = jr.matches(
        np.stack([row % 4, 4 + row % 3], 1),
        row % 2,
        side=row / n,
        weight=row + 1,
        category=np.stack([row, row + 20], 1),
    )
    arranged = jr.extend.schedule_by_level(matches, 4)
    number, context = np.asarray(arranged.blocks[0].number), in_slots(matches, arranged).context
    real = number < n
    np.testing.assert_allclose(np.asarray(context.side)[real], number[real] / n, rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(context.weight)[real], number[real] + 1)
    category = np.moveaxis(np.asarray(context.category), 1, 2)
    np.testing.assert_array_equal(category[real], np.stack([number[real], number[real] + 20], 1))


def shapes(width, size=0, steps=0):
    """Programs of matches that were compiled for steps of this width."""
    return CompiledShapes((size, 2 * size, size), (BlockShape(MATCH_SIZE, steps, width),))


def test_no_matches_fill_a_form_with_padding():
    matches = jr.matches(np.zeros((0, 2), int), [])
    made = make_plan_of_shapes(matches, shapes(4, 6, 3))
    assert made.blocks[0].number.tolist() == (6 + np.arange(12).reshape(3, 4)).tolist() and made.num_steps == 0
    padded = made.place(matches).flat
    assert (padded.player > 2**30).all() and (padded.score == 0.5).all()


@pytest.mark.parametrize(("least", "made"), [(0, 64), (41, 64), (70, 70)])
def test_a_form_has_room_for_as_many_steps_as_without_it(least, made):
    matches = jr.matches([[0, 1]] * 40, np.ones(40))
    number = make_plan_of_shapes(matches, shapes(2, 50, least)).blocks[0].number
    assert number[:, 0].tolist() == [*range(40), *range(64 + 80, 64 + 2 * made, 2)] and (number[:, 1] >= 64).all()


@pytest.mark.parametrize("chunk", [8, 64])
def test_steps_that_do_not_fill_find_room_on_the_way(monkeypatch, chunk):
    matches = league(900, 40, hub=True)
    wanted = make_plan_of_shapes(matches, shapes(16))
    monkeypatch.setattr(schedule, "SHORT", 0)
    monkeypatch.setattr(schedule, "CHUNK", chunk)
    same(wanted, make_plan_of_shapes(matches, shapes(16)))


@pytest.mark.parametrize("shape", [(5,), (3, 2, 7)])
def test_an_aligned_array_is_not_copied_to_the_cpu(shape):
    array = allocate_aligned(shape, np.float32)
    assert array.shape == shape and array.dtype == np.float32 and array.ctypes.data % 64 == 0
    taken = jax.device_put(array, jax.devices("cpu")[0])
    assert taken.unsafe_buffer_pointer() == array.ctypes.data


def test_a_full_schedule_has_no_padding():
    matches = jr.matches([[0, 1], [2, 3], [0, 2], [1, 3]], [1, 1, 1, 1])
    arranged = jr.extend.schedule_by_level(matches, 2)
    assert arranged.blocks[0].number[: arranged.num_steps].tolist() == [[0, 1], [2, 3]]
    assert arranged.fill == 1.0


def test_no_matches_make_no_steps():
    arranged = jr.extend.schedule_by_level(jr.matches(np.zeros((0, 2), int), []), 4)
    assert arranged.blocks[0].number.shape == (0, 4)
    assert (arranged.num_events, arranged.num_players, arranged.fill) == (0, 0, 0.0)


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
        wanted = (
            jr.extend.schedule_by_level(matches),
            make_plan(matches, min_mean_width=worth),
            make_plan(matches, "levels", max_width=4),
        )
        patch.setattr(schedule, "CHUNK", 100)
        patch.setattr(schedule, "SAMPLE_MATCHES", 30)
        same(
            wanted,
            (
                jr.extend.schedule_by_level(matches),
                make_plan(matches, min_mean_width=worth),
                make_plan(matches, "levels", max_width=4),
            ),
        )


def test_a_wide_history_is_walked_through_once(monkeypatch):
    monkeypatch.setattr(schedule, "CHUNK", 100)
    monkeypatch.setattr(schedule, "SAMPLE_MATCHES", 60)
    walked, assign = [], schedule.assign_steps_and_slots
    monkeypatch.setattr(
        schedule, "assign_steps_and_slots", lambda ids, width: walked.append(len(ids)) or assign(ids, width)
    )
    wide = jr.matches(np.tile(np.arange(400).reshape(200, 2), (2, 1)), np.ones(400))
    assert make_plan(wide, max_width=16).blocks[0].number.shape[1] == 16 and walked == [60, 400]


@pytest.mark.parametrize("width", [0, -1, 2.5])
def test_a_width_below_one_is_refused(width):
    with pytest.raises(ValueError, match=f"width must be a whole number from 1, got {width}"):
        jr.extend.schedule_by_level(league(5, 4), width)


@pytest.mark.parametrize("name", ["level", "STREAM", ""])
def test_an_unknown_schedule_is_refused(name):
    with pytest.raises(
        ValueError, match=r'schedule of matches is "auto", "stream", "levels" or a plan from schedule_by_level, got'
    ):
        jr.run(jr.elo(), league(5, 4), schedule=name)


def test_auto_takes_a_stream_for_a_hub_and_levels_for_a_wide_history():
    hub, wide = league(60, 30, hub=True), league(60, 200)
    assert make_plan(hub).is_stream and make_plan(wide, "stream").is_stream
    assert not make_plan(wide).is_stream and not make_plan(hub, "levels").is_stream


def test_auto_takes_levels_from_the_given_worth_on():
    matches = jr.matches([[0, 1], [2, 3], [4, 5], [0, 2], [1, 3]], np.ones(5))
    assert not make_plan(matches, min_mean_width=2.5).is_stream
    assert make_plan(matches, min_mean_width=2.51).is_stream


@pytest.mark.parametrize("name", ["auto", "stream", "levels", make_plan(league(5, 4))], ids=str)
def test_matches_made_by_hand_are_checked_again(name):
    wrong = league(5, 4)._replace(score=np.array([0, 1, 0, 2.0, 1]))
    with pytest.raises(ValueError, match=r"row 3 \(counting from 0\): score 2.0 is outside"):
        jr.run(jr.elo(), wrong, schedule=name)


def test_a_stream_holds_canonical_columns(x64):
    arranged = make_plan(league(5, 4), "stream")
    events = arranged.place(league(5, 4)).flat
    assert events.player.dtype == jnp.int32
    assert events.score.dtype == events.time.dtype == (jnp.float64 if x64 else jnp.float32)
    assert (arranged.fill, arranged.num_events) == (1.0, 5)


# Blocks of periods and rounds: exact, few sizes, padding.


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


def test_blocks_of_one_event():
    (block,) = check_blocks(contests([7], 9))
    assert block.size == (7, 7)


def test_no_events_make_no_blocks():
    assert list(cut_into_blocks(jr.rounds([], [], []))) == []


def test_disjoint_events_of_a_size_are_batched():
    player = np.arange(160)
    (block,) = check_blocks(jr.rounds(player // 5, player, player % 5))
    assert block.number.shape == (1, 32) and block.size == (5, 5)


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


def test_wide_steps_share_a_window_too():
    season = np.concatenate([np.random.default_rng(day).permutation(1600) for day in range(40)])
    made = check_blocks(jr.rounds(np.arange(40 * 1600) // 8, season, season % 2, team=season % 2))
    (shape,) = {block.number.shape for block in made}
    assert 1 < len(made) <= 3 and shape[0] > 20 and shape[1] > 100
    assert {block.size for block in made} == {(8, 2)}


@pytest.mark.filterwarnings("ignore:.*one participant")
def test_padded_sizes_stay_few_over_four_orders_of_magnitude():
    sizes = [1, 10, 100, 1000, 10_000, 3, 30, 300, 3000, 7, 70, 700, 7000] * 80
    made = check_blocks(contests(sizes, 10_000))
    assert 3 < len({block.size for block in made}) <= MAX_PADDED_SIZES
    assert sum(block.number.size * block.size[0] for block in made) < 1.5 * sum(sizes)


def test_further_sizes_must_save_what_they_cost_to_compile():
    made = [
        cut_into_blocks(contests([1000] + [3] * few, 2000)) for few in (30, 400)
    ]  # 300,000 slots is the price of a size
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
