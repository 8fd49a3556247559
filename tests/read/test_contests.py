"""What `read` makes of a table of contests, and what it says about a bad one."""

import datetime
import re

import numpy as np
import pytest

from jaxrate.data.dataset_from_table import read
from jaxrate.data.dataset_names import NamesOfEarlierData
from jaxrate.events import rounds
from tests.read.tables import MEMORY, read_noting, table

CONTESTS = {
    "contest": ["Spa", "Spa", "Spa", "Monza", "Monza"],
    "player": ["Ann", "Bob", "Cy", "Bob", "Dan"],
    "rank": [1.0, 2.0, 2.0, 9.0, 4.0],
}


def same(found, expected):
    for x, y in zip(found.events, expected.events, strict=True):
        assert (x is None) == (y is None)
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(found.player_start, expected.player_start)


def test_contests(source):
    dataset = read(source(CONTESTS | {"time": [3, 3, 3, 5, 5]}))
    same(dataset.events, rounds([0, 0, 0, 1, 1], [0, 1, 2, 1, 3], [1, 2, 2, 9, 4], time=[3, 3, 3, 5, 5]))
    assert dataset.players.tolist() == ["Ann", "Bob", "Cy", "Dan"]
    assert dataset.rows.tolist() == [0, 1, 2, 3, 4]
    assert dataset.rounds is dataset.events and dataset.contests.tolist() == ["Spa", "Monza"]
    with pytest.raises(ValueError, match="^these are rounds"):
        _ = dataset.matches
    with pytest.raises(ValueError, match="^these are matches"):
        _ = read(source(table())).rounds


@pytest.mark.filterwarnings("ignore:.*higher is the better")
def test_contests_by_score_and_in_teams(source):
    columns = {"race": [7, 7, 7, 5, 5], "who": [*"pqrpq"], "score": [2.5, 2.5, 3.0, 1.0, 2.0]}
    columns |= {"share": [1.0, 0.5] * 2 + [1]}
    columns |= {"car": ["red", "red", "blue", "red", "blue"], "bad": [0, 1, 0, 0, 0]}
    dataset = read(source(columns), contest="race", participant="who", team="car", weight="share")
    weight, team = [1, 0.5, 1, 0.5, 1], [0, 0, 1, 0, 1]
    rank = [-2.5, -2.5, -3, -1, -2]
    same(dataset.events, rounds([0, 0, 0, 1, 1], [0, 1, 2, 0, 1], rank, team=team, weight=weight))
    dataset = read(source(columns), contest="race", participant="who", drop="bad", history=NamesOfEarlierData(["r"]))
    same(dataset.events, rounds([0, 0, 1, 1], [1, 0, 1, 2], [-2.5, -3, -1, -2]))
    assert dataset.rows.tolist() == [0, 2, 3, 4]


def test_contests_sorted_as_wholes(source):
    columns = {"contest": list("bcbaca"), "player": list("xxyxyz"), "rank": [1, 2, 3, 4, 5, 6], "t": [5, 5, 5, 1, 5, 1]}
    dataset = read(source(columns), sort=True)
    assert dataset.rows.tolist() == [3, 5, 0, 2, 1, 4] and dataset.contests.tolist() == ["a", "b", "c"]
    same(dataset.events, rounds([0, 0, 1, 1, 2, 2], [0, 2, 0, 1, 0, 1], [1, 2] * 3, time=[1, 1, 5, 5, 5, 5]))


def test_contests_with_ties_and_a_ceiling(source):
    columns = CONTESTS | {"rank": [2, 0, 0, 5, 3], "ceiling": [None] * 3 + [99.5] * 2}
    dataset = read(source(columns), ceiling="ceiling")
    ceiling = [np.inf] * 3 + [99.5] * 2
    same(dataset.events, rounds([0, 0, 0, 1, 1], [0, 1, 2, 1, 3], [2, 0, 0, 5, 3], ceiling=ceiling))
    noisy = read(source(columns | {"hard": [2.0] * 3 + [0.5] * 2}), noise="hard").rounds.events
    assert noisy.noise.tolist() == [2.0, 0.5] and dataset.rounds.events.noise is None
    assert dataset.contests.tolist() == ["Spa", "Monza"]


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_a_column_of_time_without_a_value_is_no_time(source, nothing):
    for columns in (CONTESTS | {"time": [nothing] * 5}, table(time=[nothing] * 3)):
        for arguments in ({}, {"time": "time"}):
            dataset = read(source(columns), **arguments)
            assert dataset.clock is None
            assert not (dataset.events if "a" in columns else dataset.rounds.events).time.any()
        with pytest.raises(ValueError, match="sort=True needs a column of time, with values"):
            read(source(columns), sort=True)


GOLF = {"contest": [1, 1, 2, 2], "player": list("xyxy"), "score": [271, 275, 268, 277]}
PLACES = {{"rank": "place"}.get(name, name): x for name, x in CONTESTS.items()}
RACES = {"race": [1, 1, 1, 2, 2, 2], "driver": list("xyzxyz")}
FOUR = {"contest": [1] * 4, "player": [*"abcd"], "team": [*"xxyy"]}
ALONE = {"team": [*range(len(CONTESTS["player"]))]}


@pytest.mark.filterwarnings("ignore:took ")
@pytest.mark.parametrize(
    ("table", "arguments", "note"),
    [
        ({name: values[:4] for name, values in CONTESTS.items()}, {}, "^contest 'Monza' has one participant"),
        (PLACES, {"score": "place"}, "^place looks like a rank.* say rank='place'"),
        (GOLF, {}, "score: the higher is the better; .*rank='score'"),
        (GOLF, {"score": "score"}, None),
        (GOLF, {"rank": "score"}, None),
        # four players of two teams were rated as four on their own, without a word
        (CONTESTS | ALONE, {}, "^the column team is not used; .* say team='team'"),
        (CONTESTS | ALONE, {"team": "team"}, None),
        (FOUR | {"rank": [1, 1, 2, 2]}, {}, "the column team is not used; if those of a team share a rank"),
        # drivers of a team finish apart, and the hint named --team for them
        (FOUR | {"rank": [1, 2, 3, 4]}, {}, None),
        (RACES | {"position": [0, 1, 2, 1, 2, 0]}, {}, r"position counts from 0, which is the"),
        (RACES | {"par": [-5, -2, 1, -3, 0, 4]}, {"contest": "race", "participant": "driver", "rank": "par"}, None),
    ],
)
def test_what_is_doubtful_is_told(source, table, arguments, note):
    data, told = read_noting(source(table), **arguments)
    said = [x for x in told if not str(x.message).startswith("took ")]
    assert len(said) == (note is not None)
    assert note is None or re.search(note, str(said[0].message))
    if table is GOLF:  # lower is better of ranks, higher of scores
        assert data.rounds.events.rank.tolist() == ([0, 1, 0, 1] if "rank" in arguments else [1, 0, 1, 0])


@pytest.mark.parametrize("rank", ["rank", "points lost"])
def test_contests_in_which_nobody_has_a_rank_are_to_come(source, rank):
    """Defect: they were faulty rows, and `predict` predicted those that were played as well."""
    table = {"contest": [*"ppqqrr"], "player": [*"xyyxxy"], rank: [1, 2, None, None, 2, 1]}
    named = {} if rank == "rank" else {"contest": "contest", "participant": "player", "rank": rank}
    with pytest.warns(UserWarning, match="2 of 6 rows have no result and are left out: 2 are to come"):
        dataset = read(source(table), **named)
    assert dataset.rows.tolist() == [0, 1, 4, 5] and dataset.fixtures.rows.tolist() == [2, 3]
    with pytest.warns(UserWarning, match="of 6 rows 2 are without a result and to come"):
        coming = read(source(table), **named, upcoming=True)
    assert coming.rows.tolist() == [2, 3] and coming.contests.tolist() == ["q"] and coming.played == 4
    with pytest.raises(ValueError, match=r"row 3 .*column '.*' has no value \(contest 'q'\)"):
        read(source(table | {rank: [1, 2, 1, None, 2, 1]}), **named)


def test_contests_to_come(source):
    with pytest.raises(ValueError, match="no column 'place'; did you mean 'player'"):
        read(source({"contest": ["p"], "player": ["x"]}), contest="contest", rank="place", upcoming=True)
    columns = {"contest": ["q", "q", "p", "p"], "player": list("xyxz"), "date": ["2024-01-09"] * 2 + ["2024-01-02"] * 2}
    dataset = read(source(columns), history=NamesOfEarlierData(["z"]), upcoming=True)
    same(dataset.events, rounds([0, 0, 1, 1], [1, 0, 1, 2], [0] * 4, time=[19724] * 2 + [19731] * 2))
    assert dataset.contests.tolist() == ["p", "q"] and dataset.rows.tolist() == [2, 3, 0, 1]
    columns |= {"car": list("uuvw")}
    dataset = read(source(columns), team="car", upcoming=True)
    assert dataset.rounds.events.team.tolist() == [0, 1, 0, 0] and not dataset.rounds.events.rank.any()


BAD_CONTESTS = {
    "twice": ({"player": list("xyyxz")}, {}, 2, "player 'y' is in contest 'Spa' twice"),
    "again": ({"contest": ["p", "q", "p", "q", "q"]}, {}, 2, "contest 'p' begins a second time; put the rows"),
    "ceiling": ({"c": [1, 1, 1, 1, 2]}, {"ceiling": "c"}, 4, "ceiling 2.0 differs within contest 'Monza'"),
    "times": ({"t": [3, 3, 4, 5, 5]}, {}, 2, "time 4 differs within contest 'Spa'"),
    "nan": ({"t": [3.0, 3.0, 3.0, 5.0, float("inf")]}, {"sort": True}, 4, "time"),
    "rank": ({"rank": ["1", "2", "DNF", "1", "2"]}, {}, 2, "column 'rank' is 'DNF' in 1 row, not a number .*; give"),
    "team": ({"car": list("uvwxx")}, {"team": "car"}, 4, "rank 4.0 differs from 9.0 of the same team in row 3 .*Monza"),
    "no team": ({"car": ["u", None, *"vwx"]}, {"team": "car"}, 1, "column 'car' has no value; players without a team"),
    "no rank, named": ({"rank": [1, 2, None, 1, 2]}, {}, 2, r"column 'rank' has no value \(contest 'Spa'\); give"),
    "weight, named": ({"w": [0] * 5}, {"weight": "w"}, 0, r"weight 0.0 is .*; remove the row \(contest 'Spa'\)$"),
}  # fmt: skip


@pytest.mark.parametrize("columns, arguments, row, message", BAD_CONTESTS.values(), ids=BAD_CONTESTS)
def test_bad_contest(source, kind, columns, arguments, row, message):
    place = "" if kind in (*MEMORY, "parquet") else f", line {row + 2}"
    with pytest.raises(ValueError, match=rf"(?m)row {row} \(counting from 0{place}\): {message}"):
        read(source(CONTESTS | columns), **arguments)


@pytest.mark.filterwarnings("ignore:took ")
@pytest.mark.parametrize("code", [0, -1])
def test_a_rank_below_1_is_refused_or_told(source, code):
    with pytest.raises(ValueError, match=rf"row 2 .*'position' is {code}, and ranks count from 1; .*unfinished="):
        read(source(RACES | {"position": [1, 2, code, 1, 2, 3]}))
    with pytest.raises(ValueError, match=f"row 2 .*'position' is {code}"):  # of the source, without what is dropped
        read(source(RACES | {"position": [1, 2, code, 1, 2, 3], "gone": [0, 1, 0, 0, 0, 0]}), drop="gone")
    data = read(source(RACES | {"position": [1, 2, code, 1, 2, 3]}), unfinished=[str(code)])
    assert data.rounds.events.rank.tolist() == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize(
    "ranks, arguments, expected, note",
    [
        (["1", "T2", "=2", "4th"], {}, [0, 1, 1, 3], "took rank as places, as T2; name columns"),
        (["2=", "2 =", "1st", "DNF"], {"unfinished": ["dnf"]}, [1, 1, 0, 3], "took rank as places, as 2=; "),
        (["34:02", "1:02:33.5", "0:33:59", "1:00:00"], {}, [1, 3, 0, 2], "took rank as times, as 34:02, of which the"),
        (["59.8", "1:02.5", "58.7", "DNF"], {"unfinished": ["dnf"]}, [1, 2, 0, 3], "took rank as times, as 1:02.5, of"),
        ([datetime.time(0, minute) for minute in (4, 3, 5, 6)], {}, [1, 0, 2, 3], "took rank as times, as 00:04:00"),
        (["1", "DNS", "2", "3"], {"na_values": ["dns"]}, [0, 1, 2], r"1 is of participants who .* \(row 1, counting"),
        ([1, "DNS", "DNF", 2], {"na_values": ["DNS"], "unfinished": ["DNF"]}, [0, 2, 1], "1 of 4 rows has no result"),
        ([1, -1, None, 2], {"na_values": ["-1"]}, [0, 1], "2 of 4 rows have no result and are left out: 2 are of part"),
    ],
)
def test_ranks_as_people_write_them(ranks, arguments, expected, note):
    """Defects: places with ties and times were refused, and nobody could be left out of a contest."""
    with pytest.warns(UserWarning, match=note):
        data = read({"contest": [1] * 4, "player": [*"wxyz"], "rank": ranks}, **arguments)
    assert data.rounds.events.rank.tolist() == expected


def test_times_of_a_race_are_no_times_of_the_contest():
    table = {"contest": [1, 1], "player": ["x", "y"], "time": ["34:02", "33:58"]}
    with pytest.warns(UserWarning, match="^took time as times, as 34:02, of which the shortest is the best"):
        data, dated = read(table, rank="time"), read(table | {"date": ["2026-05-01"] * 2}, rank="time")
    assert data.rounds.events.rank.tolist() == [1, 0] and data.clock is None and dated.clock == "dates"
    with pytest.raises(ValueError, match="'rank' is 'x' in 1 row, not a number .*; give those .*na_values=.'DNS'"):
        read_noting({"contest": [1] * 3, "player": [*"xyz"], "rank": ["T1", "x", "T1"]})
