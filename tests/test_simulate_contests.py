"""Simulated contests follow the laws that they are said to follow."""

import itertools
import math
import re
from statistics import NormalDist

import numpy as np
import pytest

from jaxrate.data import simulated_player_draws
from jaxrate.data.simulate import contests, stream_contests
from tests.test_simulate import check_counts, equal, share


def standings(one):
    """Of every contest: the players, and their ranks."""
    cuts = one.rounds.player_start[1:-1]
    return list(zip(np.split(one.rounds.events.player, cuts), np.split(one.rounds.events.rank, cuts), strict=True))


def test_contests_have_their_size_their_time_and_no_player_twice():
    one = contests(30, 101, size=7, days=50.0, activity=1.0)
    np.testing.assert_array_equal(np.diff(one.rounds.player_start), 7)
    np.testing.assert_allclose(one.rounds.events.time, np.arange(101) * 0.5)
    assert all(len({*player.tolist()}) == 7 for player, _ in standings(one))
    np.testing.assert_array_equal(one.games, np.bincount(one.rounds.events.player, minlength=30))
    everybody = contests(9, 20, size=9, activity=2.0)
    assert (everybody.games == 20).all()


def test_sizes_are_log_uniform():
    size = np.diff(contests(500, 20_000, size=(3, 40)).rounds.player_start)
    k = np.arange(3, 41)
    check_counts(np.bincount(size - 3, minlength=38), np.log((k + 1) / k) / math.log(41 / 3))


@pytest.mark.parametrize("activity", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("way", ["_draw_by_arrival", "_draw_until_distinct"])
def test_participants_are_drawn_one_after_the_other_without_replacement(way, activity):
    p, law = share(6, activity), np.zeros(64)
    for i, j, k in itertools.permutations(range(6), 3):
        law[2**i + 2**j + 2**k] += p[i] * p[j] / (1 - p[i]) * p[k] / (1 - p[i] - p[j])
    pick, size = (
        simulated_player_draws.PlayerSampler(np.random.default_rng(3), 6, activity),
        np.tile([3, 2], 60_000),
    )
    ends = np.cumsum(size)[::2]
    trio = getattr(pick, way)(size)[ends[:, None] - [1, 2, 3]]
    check_counts(np.bincount((2**trio).sum(axis=1), minlength=64)[law > 0], law[law > 0])


def test_both_ways_of_drawing_participants_are_used_in_one_history(monkeypatch):
    used = {}

    def counted(way, draw):
        def count(self, size):
            used[way] = used.get(way, 0) + len(size)
            return draw(self, size)

        return count

    for way in ("_draw_by_arrival", "_draw_until_distinct"):
        monkeypatch.setattr(
            simulated_player_draws.PlayerSampler,
            way,
            counted(way, getattr(simulated_player_draws.PlayerSampler, way)),
        )
    one = contests(50, 400, size=(2, 50), activity=0.8)
    assert used["_draw_by_arrival"] > 50 and used["_draw_until_distinct"] > 50 and sum(used.values()) == 400
    assert all(len({*player.tolist()}) == len(player) for player, _ in standings(one))


def test_without_noise_the_stronger_is_ahead():
    one = contests(60, 200, size=(2, 60), noise=0.0)
    for player, rank in standings(one):
        assert (np.diff(one.strength[player]) < 0).all()
        np.testing.assert_array_equal(rank, np.arange(len(player)))


def test_performances_that_are_equal_on_the_grid_tie():
    one = contests(60, 200, size=(2, 60), noise=0.0, grid=150.0)
    ties = 0
    for player, rank in standings(one):
        step = np.round(one.strength[player] / 150)
        np.testing.assert_array_equal(rank, (step[:, None] < step).sum(axis=1))
        ties += len(player) - len({*rank.tolist()})
    assert ties > 1000
    assert (next(stream_contests(5, 10, size=5, noise=0.0, spread=0.0).chunks)["rank"] == 0).all()


def test_two_meet_by_the_probit_law_of_the_noise():
    one = contests(100, 60_000, size=2, noise=150.0)
    first, second = one.rounds.events.player.reshape(-1, 2).T
    swap = first > second  # the winner comes first: ask for the player of the smaller id
    gap = np.where(swap, -1, 1) * (one.strength[first] - one.strength[second])
    for low in range(-600, 600, 100):
        chosen = (gap >= low) & (gap < low + 100)
        wanted = np.mean([NormalDist(0, 150 * math.sqrt(2)).cdf(d) for d in gap[chosen]])
        assert abs((~swap[chosen]).mean() - wanted) < 4.5 * 0.5 / math.sqrt(chosen.sum())


def test_contests_drift_and_are_the_same_for_the_same_seed():
    options = {"size": (2, 30), "activity": 0.7, "days": 365.0}
    one, same, still = (contests(3000, 150, drift=drift, **options) for drift in (40.0, 40.0, 0.0))
    equal(one, same)
    assert (one.strength - still.strength).std() == pytest.approx(40, rel=0.06)
    assert (contests(3000, 150, seed=1, **options).games != still.games).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_players": 1}, "size must be from 2 to num_players, 1, or such a pair, got 3"),
        ({"num_rounds": 0}, "num_rounds must be at least 1, got 0"),
        ({"size": 1}, "size must be from 2 to num_players, 5, or such a pair, got 1"),
        ({"size": 6}, "size must be from 2 to num_players, 5, or such a pair, got 6"),
        ({"size": (4, 3)}, "size must be from 2 to num_players, 5, or such a pair, got (4, 3)"),
        ({"noise": -1.0}, "noise must be at least 0, got -1.0"),
        ({"grid": math.nan}, "grid must be a number, got nan"),
        ({"drift": -1.0}, "drift must be at least 0, got -1.0"),
        ({"activity": 9.0}, "activity 9.0 is too large"),
    ],
)
def test_arguments_of_contests_out_of_range_are_refused(change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        contests(**{"num_players": 5, "num_rounds": 10, "size": 3, **change})
