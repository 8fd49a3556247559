"""Rounds are checked, and built from rows."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxrate as jr
from jaxrate.events import check_contest_time_order
from tests.test_events import LAST, contests, refused


@pytest.mark.parametrize("options", [{"length": 7.0}, {"period": []}])
def test_no_matches_make_no_periods(options):
    ragged = jr.periods(jr.matches(np.zeros((0, 2), int), []), **options)
    assert ragged.player_start.tolist() == ragged.pair_start.tolist() == [0]
    assert ragged.events.time.shape == ragged.events.player.shape == (0,) and ragged.events.pair.shape == (0, 2)


ROUND = {"contest": [5, 5, 5, 3, 3], "player": [0, 1, 2, 0, 3], "rank": [1, 2, 3, 1, 1]}


@pytest.mark.parametrize(
    ("change", "message", "row"),
    [
        ({"contest": ["a"] * 5}, "contest must hold numbers, got text", None),
        ({"contest": [[5, 5, 5, 3, 3]]}, "contest has shape (1, 5), expected (5,)", None),
        ({"player": [0, 1, 2, 0]}, "player has shape (4,), expected (5,)", None),
        ({"player": [0, 1, 2, 0, -3]}, "player is -3; ids run from 0", 4),
        ({"player": [0.0, 1.0, 2.0, 0.0, 3.0]}, "player must hold integer ids from 0, got float64", None),
        ({"player": [0, 1, 2, LAST, 3]}, "player is 2147483647; ids run from 0", 3),
        ({"player": [0, 1, 0, 3, 3]}, "player 0 is in contest 5... twice", 2),
        ({"player": [0, 1, 2, 3, 3]}, "player 3 is in contest 3... twice", 4),
        ({"rank": [1, 2, 3, 1]}, "rank has shape (4,), expected (5,)", None),
        ({"rank": [1, 2, math.inf, 1, 1]}, "rank is inf, not a finite number (contest 5)", 2),
        ({"weight": [1, 0.5, 0, 1, 1]}, "weight 0.0 is not above 0; remove the row (contest 5)", 2),
        ({"weight": [1, 0.5, math.nan, 1, 1]}, "weight is nan, not a finite number", 2),
        ({"time": [0, 0, 0, 1]}, "time has shape (4,), expected (5,)", None),
        ({"time": [2, 2, 2, 1, math.inf]}, "time is inf, not a finite number", 4),
        ({"time": [1, 1, 2, 2, 2]}, "time 2.0 differs within contest 5", 2),
        ({"ceiling": [9, 9, 9, 1]}, "ceiling has shape (4,), expected (5,)", None),
        ({"ceiling": [9, 9, 9, 1, 2]}, "ceiling 2.0 differs within contest 3", 4),
        ({"ceiling": [math.inf, math.inf, 9, 1, 1]}, "ceiling 9.0 differs within contest 5", 2),
        ({"ceiling": [9, 9, 9, math.nan, math.nan]}, "ceiling is nan, not a finite number", 3),
        ({"ceiling": [9, 9, 9, -math.inf, -math.inf]}, "ceiling is -inf, not a finite number", 3),
        ({"noise": [1, 1, 1, 1, 2]}, "noise 2.0 differs within contest 3", 4),
        ({"noise": [1, 1, 1, 0, 0]}, "noise 0.0 is not above 0 (contest 3)", 3),
        ({"noise": [math.inf] * 5}, "noise is inf, not a finite number (contest 5)", 0),
        ({"contest": [5, 5, 3, 3, 5]}, "contest 5... begins a second time; put the rows of a contest together", 4),
        ({"team": [0, 0, 1, 0]}, "team has shape (4,), expected (5,)", None),
        ({"team": [0, 1, 0, 0, 0]}, "rank 3.0 differs from 1.0 of the same team in row 0 (contest 5)", 2),
        ({"team": [math.nan] * 5}, "team is nan, not a finite number", 0),
    ],
)
def test_bad_rounds_are_refused(change, message, row):
    with refused(message, row):
        jr.rounds(**{**ROUND, **change})


def test_rounds_have_canonical_dtypes():
    ragged = jr.rounds(**ROUND, team=[7, 8, 9, 7, 8], weight=[1, 2, 1, 1, 1], time=[1, 1, 1, 2, 2])
    events = ragged.events
    assert events.player.dtype == events.rank.dtype == events.team.dtype == np.int32
    assert events.weight.dtype == events.time.dtype == np.float64
    assert ragged.player_start.dtype == np.int64 and ragged.pair_start is None
    assert events.time.tolist() == [1.0, 2.0] and events.weight.tolist() == [1.0, 2.0, 1.0, 1.0, 1.0]


def test_no_rounds_give_empty_columns():
    ragged = jr.rounds([], [], [], team=[], weight=[], time=[])
    assert ragged.player_start.tolist() == [0]
    assert [x.shape for x in ragged.events if x is not None] == [(0,)] * 5
    check_contest_time_order(ragged)


def test_a_ceiling_is_of_the_contest():
    ragged = jr.rounds(**ROUND, ceiling=[math.inf] * 3 + [1200] * 2)
    assert ragged.events.ceiling.tolist() == [math.inf, 1200.0]
    assert jr.rounds(**ROUND).events.ceiling is None


def test_times_of_contests_may_decrease_where_time_does_not_matter():
    contest, player, rank = [8, 8, 4, 4, 6, 6], [0, 1] * 3, [1, 2] * 3
    check_contest_time_order(jr.rounds(contest, player, rank, time=[1, 1, 1, 1, 3, 3]))
    ragged = jr.rounds(contest, player, rank, time=[1, 1, 3, 3, 2, 2])
    with refused("time 2.0 is earlier than 3.0 in the row before; sort the contests by time", 4):
        check_contest_time_order(ragged)


def test_contests_of_one_participant_are_told():
    with pytest.warns(UserWarning, match="^contest 4 has one participant; that changes nothing") as told:
        jr.rounds([7, 7, 4], [0, 1, 1], [1, 2, 1])
    assert len(told) == 1 and told[0].filename == __file__
    with pytest.warns(UserWarning, match="^3 contests, 2 the first, have one participant"):
        jr.rounds([7, 7, 2, 4, 5], [0, 1, 0, 1, 0], [1, 2, 1, 1, 1])


@settings(deadline=None, database=None)
@given(contests(), st.booleans())
def test_rounds_equal_a_slow_twin(contests, with_teams):
    contest = [number for number, players, _, _ in contests for _ in players]
    player = [p for _, players, _, _ in contests for p in players]
    rank = [r for _, _, _, ranks in contests for r in ranks]
    team = [t for _, _, teams, _ in contests for t in teams]
    ragged = jr.rounds(contest, player, rank, team=team if with_teams else None)
    assert ragged.events.player.tolist() == player
    assert ragged.player_start.tolist() == np.cumsum([0, *(len(players) for _, players, _, _ in contests)]).tolist()
    for i, (_, players, teams, ranks) in enumerate(contests):
        part = slice(*ragged.player_start[i : i + 2])
        assert ragged.events.rank[part].tolist() == [sum(other < own for other in ranks) for own in ranks]
        got = ragged.events.team[part].tolist()
        if with_teams:
            assert set(got) == set(range(len(set(teams))))
            pairs = [(a, b) for a in range(len(players)) for b in range(a)]
            assert [got[a] == got[b] for a, b in pairs] == [teams[a] == teams[b] for a, b in pairs]
        else:
            assert got == list(range(len(players)))


BEYOND = [2**53, 2**53 + 1]  # equal as floats


def test_large_contest_numbers_stay_apart():
    contest = np.repeat(BEYOND, 2)
    assert jr.rounds(contest, [0, 1] * 2, [1, 2] * 2).player_start.tolist() == [0, 2, 4]


def test_large_team_numbers_stay_apart():
    assert jr.rounds([1, 1], [0, 1], [1, 1], team=BEYOND).events.team.tolist() == [0, 1]
