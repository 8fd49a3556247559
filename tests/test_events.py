"""The builders of matches, periods and rounds: what they refuse, and what they make of the rest."""

import math
import pickle
import re
from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxrate as jr
from jaxrate.events import RowError, check_contest_time_order, fail_where, slice_events

PLAYER, SCORE = [[0, 1], [2, 3], [1, 3]], [1, 0, 0.5]
LAST = np.iinfo(np.int32).max


def refused(message, row=None):
    """`message` from its beginning, after the row it names; "..." stands for anything."""
    text = message if row is None else f"row {row} (counting from 0): {message}"
    return pytest.raises(ValueError, match="^" + ".*".join(map(re.escape, text.split("..."))))


@pytest.mark.parametrize(
    ("change", "message", "row"),
    [
        ({"player": PLAYER[:2]}, "player has shape (2, 2), expected (3, 2)", None),
        ({"player": [[0, 1], [2, -1], [-1, 3]]}, "player is [ 2 -1]; ids run from 0 to 2147483646", 1),
        ({"player": [[0, 1], [2, 3], [LAST, 3]]}, "player is [2147483647 ...; ids run", 2),
        ({"player": [[0, 1], [3, 3], [2, 2]]}, "player 3 is on both sides; remove the row", 1),
        ({"score": ["1", "0", "0.5"]}, "score must hold numbers, got text", None),
        ({"score": [1, 0, math.nan]}, "score is nan, not a finite number", 2),
        ({"score": [1, 1.5, -1]}, "score 1.5 is outside [0, 1]; rescale", 1),
        ({"time": [0, 1]}, "time has shape (2,), expected (3,)", None),
        ({"time": [0, 2, 1.5]}, "time 1.5 is earlier than 2.0 in the row before; sort the matches by time", 2),
        ({"time": ["2020-01-01", "2021", "2022"]}, "time must be a number or a date, as 2026-05... got '2021'", 1),
        ({"time": np.array(["2020-01-01", "NaT", "NaT"], "M8[D]")}, "time is missing", 1),
        ({"side": [1, -1, -2]}, "side -2.0 is outside [-1, 1]", 2),
        ({"weight": [1, 0, 1]}, "weight 0.0 is not above 0; remove the row", 1),
        ({"weight": [1, 1, 1e30]}, "weight 1e+30 is not from 1e-12 to 1e+12", 2),
        ({"category": [0, 1, -1]}, "category is [-1 -1]; ids run from 0", 2),
        ({"columns": {"margin": [1, math.inf, math.nan]}}, "column 'margin' is inf, not a finite number", 1),
        ({"columns": {"margin": [1, 2, -1e300]}}, "column 'margin' is -1e+300, beyond 1e+30; rescale it", 2),
        ({"columns": {"weight": [1, 2, 3]}}, "a column must not be called 'weight', as a part of the context", None),
        ({"columns": {7: [1, 2, 3]}}, "the name of a column must be text, got 7", None),
    ],
)
def test_bad_matches_are_refused(change, message, row):
    columns = {"player": PLAYER, "score": SCORE, **change}
    with refused(message, row):
        jr.matches(**columns)


def test_errors_know_their_row():
    with pytest.raises(RowError) as caught:
        fail_where(np.array([False, False, True, True]), lambda row: f"it is {row}")
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert (error.row, error.message) == (2, "it is 2") and error.others == ((3, "it is 3"),)
        assert str(error) == "row 2 (counting from 0): it is 2\n  row 3 (counting from 0): it is 3"
    with pytest.raises(RowError) as caught:
        jr.rounds([5, 5, 3], [0, 1, 2], [1, 2, math.inf])
    assert (caught.value.row, caught.value.message) == (2, "rank is inf, not a finite number (contest 3)")


def test_matches_have_canonical_dtypes():
    assert jr.matches([[0, LAST - 1]], [1]).player.tolist() == [[0, LAST - 1]]
    one = jr.matches(np.array(PLAYER, np.uint8), [1, 0, 1], [1, 2, 2], side=[True, False, True], weight=[1, 2, 3])
    assert one.player.dtype == np.int32
    assert [x.dtype for x in (one.score, one.time, one.context.side, one.context.weight)] == [np.float64] * 4
    assert one.score.tolist() == [1.0, 0.0, 1.0] and one.context.side.tolist() == [1.0, 0.0, 1.0]
    assert one.context.weight.tolist() == [1.0, 2.0, 3.0]
    assert jr.matches(PLAYER, np.array(SCORE, np.float32)).score.dtype == np.float32


def test_what_the_data_lack_is_none_and_no_time_passes():
    one = jr.matches(PLAYER, SCORE)
    assert one.context == (None, None, None, None) == jr.matches(PLAYER, SCORE, columns={}).context
    assert one.time.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("category", "wanted"),
    [([0, 2, 1], [[0, 0], [2, 2], [1, 1]]), ([[0, 1], [2, 3], [1, 0]],) * 2],
    ids=["of the match", "of each player"],
)
def test_a_category_is_of_the_match_or_of_each_player(category, wanted):
    found = jr.matches(PLAYER, SCORE, category=category).context.category
    assert found.tolist() == wanted and found.dtype == np.int32


def test_no_events_give_empty_columns():
    one = jr.matches(np.zeros((0, 2), int), [], side=[], weight=[], category=[])
    assert [x.shape for x in (one.player, one.score, one.time, one.context.category)] == [(0, 2), (0,), (0,), (0, 2)]
    assert one.player.dtype == one.context.category.dtype == np.int32
    assert one.context.side.shape == one.context.weight.shape == (0,)
    for ragged in (jr.periods(one, 7.0), jr.periods(one, period=[])):
        assert ragged.player_start.tolist() == ragged.pair_start.tolist() == [0]
        assert ragged.events.time.shape == ragged.events.player.shape == (0,) and ragged.events.pair.shape == (0, 2)
    ragged = jr.rounds([], [], [], team=[], weight=[], time=[])
    assert ragged.player_start.tolist() == [0]
    assert [x.shape for x in ragged.events if x is not None] == [(0,)] * 5
    check_contest_time_order(ragged)


def slow_periods(matches, number):
    """(number, players, local pairs) of each period, from the number of each match's period."""
    rows = {k: [row for row, x in enumerate(number) if x == k] for k in dict.fromkeys(number)}
    players = {k: sorted({*map(int, matches.player[those].ravel())}) for k, those in rows.items()}
    return [(k, players[k], [[players[k].index(p) for p in matches.player[row]] for row in rows[k]]) for k in rows]


def same_periods(ragged, wanted, starts):
    events, a, m = ragged.events, ragged.player_start, ragged.pair_start
    assert a.tolist() == np.cumsum([0, *(len(players) for _, players, _ in wanted)]).tolist()
    assert m.tolist() == np.cumsum([0, *(len(pairs) for _, _, pairs in wanted)]).tolist()
    assert events.player.tolist() == [p for _, players, _ in wanted for p in players]
    assert events.pair.tolist() == [pair for _, _, pairs in wanted for pair in pairs]
    assert events.time.tolist() == starts
    assert events.player.dtype == events.pair.dtype == np.int32


@st.composite
def histories(draw):
    n = draw(st.integers(0, 25))
    first = draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))
    other = draw(st.lists(st.integers(1, 6), min_size=n, max_size=n))
    eighths = sorted(draw(st.lists(st.integers(-400, 400), min_size=n, max_size=n)))
    player = np.array([[a, (a + b) % 7] for a, b in zip(first, other, strict=True)], int).reshape(n, 2)
    return jr.matches(player, np.arange(n) / max(n, 1), np.array(eighths) / 8, weight=np.arange(1.0, n + 1))


@settings(deadline=None, database=None)
@given(histories(), st.sampled_from([0.125, 0.5, 1.0, 3.0, 7.0, 30.0, 1000.0]), st.data())
def test_periods_equal_a_slow_twin(matches, length, data):
    number = [math.floor(Fraction(float(t)) / Fraction(length)) for t in matches.time]
    wanted, ragged = slow_periods(matches, number), jr.periods(matches, length)
    same_periods(ragged, wanted, [k * length for k, _, _ in wanted])
    np.testing.assert_array_equal(ragged.events.score, matches.score)
    np.testing.assert_array_equal(ragged.events.context.weight, matches.context.weight)
    n = len(matches.score)
    number = sorted(data.draw(st.lists(st.integers(-5, 5), min_size=n, max_size=n)))
    wanted = slow_periods(matches, number)
    same_periods(jr.periods(matches, period=number), wanted, [float(k) for k, _, _ in wanted])


def test_matches_without_weight_count_once_in_a_period():
    context = jr.periods(jr.matches(PLAYER, SCORE, side=[1, 0, -1], category=[0, 1, 2]), 1.0).events.context
    assert context.weight.tolist() == [1.0, 1.0, 1.0]
    assert context.side.tolist() == [1.0, 0.0, -1.0] and context.category.tolist() == [[0, 0], [1, 1], [2, 2]]


@pytest.mark.parametrize(
    ("options", "message", "row"),
    [
        ({"length": 1.0, "period": [0, 0, 0]}, "give either the length of a period or the period of each match", None),
        ({"length": 1e300}, "the length of a period must be at most 1e+12, got 1e+300", None),
        ({"period": [0, 2, 1]}, "period 1.0 is earlier than 2.0 in the row before; sort the matches by period", 2),
    ],
)
def test_bad_periods_are_refused(options, message, row):
    with refused(message, row):
        jr.periods(jr.matches(PLAYER, SCORE), **options)


@pytest.mark.parametrize("length", [5e-324, 1e-300, 1e-12])
def test_periods_too_short_to_be_told_apart_are_refused(length):
    """Times were infinite."""
    games = jr.matches(PLAYER, SCORE, [10.0, 20.0, 20000.0])
    with refused(f"periods of {length:g} are not told apart at time 20000; the shortest that can be are of 2.2e-12"):
        jr.periods(games, length)
    assert jr.periods(games, 1e-11).events.time.tolist() == pytest.approx([10.0, 20.0, 20000.0])


@st.composite
def contests(draw):
    """Rows of contests: (number, players, teams, rank of each row)."""
    result = []
    for number in draw(st.lists(st.integers(-50, 50), unique=True, max_size=6)):
        players = draw(st.lists(st.integers(0, 12), unique=True, min_size=2, max_size=9))
        team = draw(st.lists(st.integers(-3, 3), min_size=len(players), max_size=len(players)))
        by_team = {t: draw(st.sampled_from([-2.5, 0.0, 1.0, 1e9])) for t in sorted(set(team))}
        result.append((number, players, team, [by_team[t] for t in team]))
    return result


def test_a_part_of_a_history_is_built_from_those_rows_alone():
    random = np.random.default_rng(3)
    player = np.stack([random.permutation(9)[:2] for _ in range(60)])
    time, side, category = np.arange(60.0), random.choice([-1.0, 1.0], 60), random.integers(0, 3, (60, 2))
    rest = {"side": side, "weight": side + 2, "category": category}

    def build(rows):
        given, margin = {name: x[rows] for name, x in rest.items()}, (side * np.arange(60))[rows]
        return jr.matches(player[rows], side[rows] > 0, time[rows], columns={"margin": margin}, **given)

    contest, rank, weight = np.repeat(np.arange(20), 3), random.integers(0, 3, 60), random.random(60) + 0.1
    who = np.concatenate([random.permutation(9)[:3] for _ in range(20)])
    columns = contest, who, rank
    further = {"weight": weight, "time": contest, "ceiling": contest + 9, "noise": 1 + contest}

    def build_contests(rows):
        return jr.rounds(*(x[rows] for x in columns), **{name: x[rows] for name, x in further.items()})

    whole, some = build(slice(None)), build(slice(20, 50))
    same(slice_events(whole, 20, 50), some)
    same(slice_events(jr.periods(whole, 10.0), 2, 5), jr.periods(some, 10.0))
    same(slice_events(build_contests(slice(None)), 5, 14), build_contests(slice(15, 42)))


def same(one, two):
    assert jax.tree.structure(one) == jax.tree.structure(two)
    jax.tree.map(np.testing.assert_array_equal, one, two)


ROUND = {"contest": [5, 5, 5, 3, 3], "player": [0, 1, 2, 0, 3], "rank": [1, 2, 3, 1, 1]}


@pytest.mark.parametrize(
    ("change", "message", "row"),
    [
        ({"player": [0, 1, 2, 0, -3]}, "player is -3; ids run from 0", 4),
        ({"player": [0, 1, 0, 3, 3]}, "player 0 is in contest 5... twice", 2),
        ({"rank": [1, 2, math.inf, 1, 1]}, "rank is inf, not a finite number (contest 5)", 2),
        ({"time": [2, 2, 2, 1, math.inf]}, "time is inf, not a finite number", 4),
        ({"time": [1, 1, 2, 2, 2]}, "time 2.0 differs within contest 5", 2),
        ({"ceiling": [9, 9, 9, 1, 2]}, "ceiling 2.0 differs within contest 3", 4),
        ({"ceiling": [9, 9, 9, math.nan, math.nan]}, "ceiling is nan, not a finite number", 3),
        ({"noise": [1, 1, 1, 1, 2]}, "noise 2.0 differs within contest 3", 4),
        ({"noise": [1, 1, 1, 0, 0]}, "noise 0.0 is not above 0 (contest 3)", 3),
        ({"contest": [5, 5, 3, 3, 5]}, "contest 5... begins a second time; put the rows of a contest together", 4),
        ({"team": [0, 1, 0, 0, 0]}, "rank 3.0 differs from 1.0 of the same team in row 0 (contest 5)", 2),
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


def test_times_of_contests_may_decrease_where_time_does_not_matter():
    contest, player, rank = [8, 8, 4, 4, 6, 6], [0, 1] * 3, [1, 2] * 3
    check_contest_time_order(jr.rounds(contest, player, rank, time=[1, 1, 1, 1, 3, 3]))
    ragged = jr.rounds(contest, player, rank, time=[1, 1, 3, 3, 2, 2])
    with refused("time 2.0 is earlier than 3.0 in the row before; sort the contests by time", 4):
        check_contest_time_order(ragged)


def test_contests_of_one_participant_are_told():
    with pytest.warns(UserWarning, match="^3 contests, 2 the first, have one participant"):
        jr.rounds([7, 7, 2, 4, 5], [0, 1, 0, 1, 0], [1, 2, 1, 1, 1])


@settings(deadline=None, database=None)
@given(contests(), st.booleans())
def test_rounds_equal_a_slow_twin(contests, with_teams):
    rows = [(number, *row) for number, *parts in contests for row in zip(*parts, strict=True)]
    contest, player, team, rank = map(list, zip(*rows, strict=True)) if rows else ([],) * 4
    ragged = jr.rounds(contest, player, rank, team=team if with_teams else None)
    assert ragged.events.player.tolist() == player
    assert ragged.player_start.tolist() == np.cumsum([0, *(len(players) for _, players, _, _ in contests)]).tolist()
    for i, (_, players, teams, ranks) in enumerate(contests):
        part = slice(*ragged.player_start[i : i + 2])
        assert ragged.events.rank[part].tolist() == [sum(other < own for other in ranks) for own in ranks]
        got, teams = ragged.events.team[part].tolist(), teams if with_teams else list(range(len(players)))
        assert set(got) == set(range(len(set(teams)))) and (with_teams or got == teams)
        pairs = [(a, b) for a in range(len(players)) for b in range(a)]
        assert [got[a] == got[b] for a, b in pairs] == [teams[a] == teams[b] for a, b in pairs]


def test_large_numbers_stay_apart():
    beyond = [2**53, 2**53 + 1]  # equal as floats
    assert jr.rounds(np.repeat(beyond, 2), [0, 1] * 2, [1, 2] * 2).player_start.tolist() == [0, 2, 4]
    assert jr.rounds([1, 1], [0, 1], [1, 1], team=beyond).events.team.tolist() == [0, 1]
