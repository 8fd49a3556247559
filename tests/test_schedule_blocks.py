"""Blocks of periods and rounds: exact, few sizes, padding."""

from functools import partial

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxrate as jr
from jaxrate.replay import block_sizes
from jaxrate.replay.block_sizes import MAX_PADDED_SIZES
from jaxrate.replay.blocks import WINDOW, cut_into_blocks, gather_events
from jaxrate.replay.row_gather_and_scatter import as_device_arrays
from tests.conftest import quick
from tests.test_schedule import league


def contests(sizes, players, seed=0):
    """Rounds of these sizes among this many players."""
    random = np.random.default_rng(seed)
    member = [random.choice(players, size, replace=False) for size in sizes]
    contest = np.repeat(np.arange(len(sizes)), sizes)
    return jr.rounds(contest, np.concatenate(member), np.concatenate([np.arange(len(m)) for m in member]))


def gather(events, starts, number, size):
    """The rows of a block and their places in the history."""
    starts, number = jax.tree.map(partial(np.asarray, dtype=np.int32), (starts, np.array(number)))
    return jax.tree.map(
        np.asarray, quick(gather_events, static_argnums=3)(as_device_arrays(events), starts, number, size)
    )


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
    monkeypatch.setattr(block_sizes, "has_launch_overhead", lambda: launched)
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
    events, position = gather(rounds.events, (rounds.player_start, None), [[1, 0, 2]], (5, 3))
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
    events, position = gather(periods.events, (periods.player_start, periods.pair_start), [[1, 0]], (4, 3))
    assert events.player[0, :, :2].tolist() == [[0, 2], [0, 1]] and int(events.player[0, 1, 2]) == 3
    assert (events.player[0][[0, 0, 1], [2, 3, 3]] > 3).all()
    assert events.pair[0].tolist() == [[[1, 0], [0, 0], [0, 0]], [[2, 1], [0, 2], [0, 0]]]
    assert events.context.weight[0].tolist() == [[4.0, 0.0, 0.0], [2.0, 3.0, 0.0]]
    assert events.score[0].tolist() == [[0.0, 0.5, 0.5], [1.0, 0.5, 0.5]]
    assert events.context.side[0].tolist() == [[0.0, 0.0, 0.0], [1.0, -1.0, 0.0]]
    assert events.context.category[0, 1].tolist() == [[5, 5], [6, 6], [0, 0]]
    assert events.time.tolist() == [[4.0, 0.0]]
    assert position[0][[0, 1, 1], [0, 0, 1]].tolist() == [2, 0, 1]
