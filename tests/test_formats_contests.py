"""Public formats of contests, races, films and Lichess."""

import json

import numpy as np
import pytest

from jaxrate.data.formats import contests, ergast, lichess, movielens
from tests.test_formats import days, grid, names

pa = pytest.importorskip("pyarrow")


# Contests


def contest(*standings, seconds=86_400, **more):
    return json.dumps({"name": "x", "url": None, "time_seconds": seconds, "standings": standings} | more)


def test_contests(folder):
    path = folder(
        **{
            "2__json": contest(["Bob", 0, 0], ["Zoë", 1, 2], ["Ann", 1, 2], seconds=2 * 86_400, perf_ceiling=None),
            "10__json": contest(["Ann", 0, 1], ["Dan", 0, 1], seconds=3 * 86_400, weight=0.5),
            "0__json": contest(["Ann", 0, 0], ["Bob", 1, 1]),
            "contest_ids__json": "[0, 2, 10]",
        }
    )
    data = contests(path)
    assert grid(data) == [
        (1, [("Ann", 0, 1), ("Bob", 1, 1)]),
        (2, [("Bob", 0, 1), ("Zoë", 1, 1), ("Ann", 1, 1)]),
        (3, [("Ann", 0, 0.5), ("Dan", 0, 0.5)]),
    ]
    assert data.players.tolist() == ["Ann", "Bob", "Zoë", "Dan"] and data.clock == "dates"
    folder(**{"0__json": contest(["Ann", 0, 0], ["Bob", 1, 1], seconds=4 * 86_400)})
    assert [time for time, _ in grid(contests(path))] == [4, 2, 3] and data.contests.tolist() == [0, 2, 10]
    data = contests(path, sort=True, players=["Dan"])
    assert [time for time, _ in grid(data)] == [2, 3, 4] and data.players[0] == "Dan"
    assert data.rows.tolist() == [2, 3, 4, 5, 6, 0, 1]


def test_contests_with_a_ceiling(folder):
    path = folder(
        **{f"{i}__json": contest(["x", 0, 0], ["y", 1, 1], perf_ceiling=c) for i, c in enumerate((None, 9, 7.5))}
    )
    assert contests(path).rounds.events.ceiling.tolist() == [np.inf, 9, 7.5]
    (path / "0.json").unlink()
    assert contests(path).rounds.events.ceiling.tolist() == [9, 7.5]


def test_contests_without_time(folder):
    data = contests(
        folder(**{f"{i}__json": contest([str(i), 0, 0], ["x", 1, 1], seconds=0) for i in (1, 2)}), sort=True
    )
    assert data.events.events.time.tolist() == [0, 0] and data.clock is None


ENTRY = r"standings entry 1 \(counting from 0\)"


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "Expecting property name"),
        (b'"\xff"', "'utf-8' codec"),
        ("[]", "not a contest of Elo-MMR, 'time_seconds' is None"),
        (contest(["x", 0, 0], seconds="0"), "not a contest of Elo-MMR, 'time_seconds' is '0'"),
        (contest(weight="1"), "not a contest of Elo-MMR, 'weight' is '1'"),
        (contest(["x", 0, 0], ["y", 1, 1], ["z", 2, 2], weight=0), "standings entry 0 .*: weight 0.0 is not above 0"),
        (contest(standings={}), "not a contest of Elo-MMR, 'standings' is {}"),
        (contest(["x", 0, 0], ["y", 1]), ENTRY + r" is \['y', 1\], expected \[handle, first, last\]"),
        (contest(["x", 0, 0], [3, 1, 1]), ENTRY + r" is \[3, 1, 1\]"),
        (contest(["x", 0, 0], ["y", 2, 1]), ENTRY + r" is \['y', 2, 1\]"),
        (contest(["x", 0, 1], ["y", 1, 1]), ENTRY + ": the places 1 to 1 overlap others of the same contest"),
        (contest(["x", 0, 0], ["y", 0, 0]), ENTRY + ": the places 0 to 0 are fewer than the players who share them"),
        (contest(["x", 0, 0], perf_ceiling="high"), "not a contest of Elo-MMR, 'perf_ceiling' is 'high'"),
        (contest(["x", 0, 0], ["x", 1, 1]), ENTRY + ": player 'x' is in contest 7 twice"),
        (contest(["x", 0, 0], ["y", 1, 10**30]), ENTRY + r" is \['y', 1, 10{30}\], expected \[handle"),
        (contest(["x", 0, 0], ["y" * 9999, 2, 1]), ENTRY + r" is \['y{58}\.\.\. \([0-9,]+ characters\), expected"),
        (contest(["x", 0, 0], seconds=10**30), "not a contest of Elo-MMR, 'time_seconds' is 10{30}$"),
        (contest(["x", 0, 0], weight=10**400), "not a contest of Elo-MMR, 'weight' is 10{59}\\.\\.\\. "),
        (contest(["x", 0, 0], perf_ceiling=float("nan")), "not a contest of Elo-MMR, 'perf_ceiling' is nan"),
        ("[" * 200_000, "not a contest of Elo-MMR: lists within lists without an end"),
    ],
)
def test_bad_contests(folder, text, message):
    with pytest.raises(ValueError, match=f"^7.json: {message}"):
        contests(folder(**{"3__json": contest(["x", 0, 0], ["y", 1, 1]), "7__json": text}))


# Ergast

RACES = 'raceId,year,round,circuitId,name,date,time\n5,2021,2,1,"Spa, twice",2021-03-28,15:00:00\n'
RACES += "9,2021,1,1,Monza,2021-03-21,\\N\n12,2021,3,1,Imola,2021-04-01,\\N\n"
DRIVERS = "driverId,driverRef,forename,surname\n1,k,Kimi,Räikkönen\n2,h,Ann,Lee\n3,l,Bo,Ek\n4,m,Bo,Ek\n5,x,Cy,Wood\n"
RESULTS = "resultId,raceId,driverId,position,positionText\n"


def test_ergast(folder):
    results = (
        RESULTS
        + "1,5,1,1,1\n2,5,2,\\N,R\n3,5,3,2,2\n4,5,4,\\N,W\n5,5,5,\\N,D\n"
        + "6,9,2,3,3\n7,9,1,\\N,N\n8,9,2,1,1\n9,9,4,2,2\n10,9,5,\\N,F\n11,9,1,\\N,E\n"
    )
    data = ergast(folder(races__csv=RACES, drivers__csv=DRIVERS, results__csv=results), players=["Cy Wood"])
    first, second = days("2021-03-21", "2021-03-28")
    assert grid(data) == [
        (first, [("Kimi Räikkönen", 2, 1), ("Ann Lee", 0, 1), ("Bo Ek (4)", 1, 1)]),
        (second, [("Kimi Räikkönen", 0, 1), ("Ann Lee", 2, 1), ("Bo Ek (3)", 1, 1), ("Cy Wood", 2, 1)]),
    ]
    assert data.rows.tolist() == [6, 7, 8, 0, 1, 2, 4]
    assert (
        data.players.tolist() == ["Cy Wood", "Kimi Räikkönen", "Ann Lee", "Bo Ek (4)", "Bo Ek (3)"]
        and data.clock == "dates"
    )


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"results": RESULTS + "1,5,1,1,1\n1,6,1,1,1\n"}, "results.csv: .*line 3.*'raceId' is '6', expected a race of"),
        (
            {"results": RESULTS + "1,5,1,1,1\n1,5,6,1,1\n"},
            "results.csv: .*line 3.*'driverId' is '6', expected a driver of",
        ),
        (
            {"results": RESULTS + "1,5,1,1,1\n1,5,2,1,X\n"},
            "results.csv: .*line 3.*'positionText' is 'X', expected a place",
        ),
        (
            {"races": RACES.replace("2021-03-28", "28/03/2021")},
            "races.csv: .*line 2.*'date' is '28/03/2021', not an ISO",
        ),
        ({"drivers": "driverId,forename\n1,x\n"}, "drivers.csv: not drivers, no column 'surname'"),
        ({"races": "x\n1\n"}, "races.csv: not races, no column 'raceId'"),
        ({"results": "x\n1\n"}, "results.csv: not results, no column 'raceId'"),
    ],
)
def test_bad_ergast(folder, changes, message):
    files = {"races": RACES, "drivers": DRIVERS, "results": RESULTS + "1,5,1,1,1\n"} | changes
    with pytest.raises(ValueError, match=f"^{message}"):
        ergast(folder(**{f"{name}__csv": text for name, text in files.items()}))


def test_ergast_without_a_file(folder):
    with pytest.raises(ValueError, match="^drivers.csv: no such file$"):
        ergast(folder(races__csv=RACES))


# MovieLens

RATINGS = [(1, 10, 4.0, 86_400), (1, 20, 3.5, 0), (7, 10, 5.0, 86_400), (7, 30, 0.5, 43_200)]
MOVIES = [(10, "Heat (1995)"), (20, "Mission: Impossible, 1"), (30, "Heat (1995)"), (40, "Éte")]


def movie_files(kind):
    mark = {"csv": ",", "dat": "::", "data": "\t"}[kind]
    ratings = "\n".join(mark.join(map(str, row)) for row in RATINGS) + "\n"
    if kind == "csv":
        movies = "movieId,title,genres\n" + "".join(f'{key},"{title}",x\n' for key, title in MOVIES)
        return {"ratings__csv": "userId,movieId,rating,timestamp\n" + ratings, "movies__csv": movies}
    if kind == "dat":
        return {"ratings__dat": ratings, "movies__dat": "".join(f"{key}::{title}::x|y\n" for key, title in MOVIES)}
    return {"u__data": ratings, "u__item": "".join(f"{key}|{title}|x|y\n" for key, title in MOVIES).encode("latin-1")}


@pytest.mark.parametrize("kind", ["csv", "dat", "data"])
def test_movielens(folder, kind):
    path = folder(**movie_files(kind))
    mission = "Mission: Impossible, 1"
    data = movielens(path, players=["user 7"])
    assert names(data) == [[mission, "user 1"], ["Heat (1995) (30)", "user 7"]] + [
        ["Heat (1995) (10)", u] for u in ("user 1", "user 7")
    ]
    assert data.events.score.tolist() == [0, 0, 1, 1] and data.players[0] == "user 7"
    assert data.events.time.tolist() == [0, 0.5, 1, 1] and data.clock == "dates"
    assert data.rows.tolist() == [1, 3, 0, 2]
    ratings, titles = (
        {"csv": ("ratings.csv", "movies.csv"), "dat": ("ratings.dat", "movies.dat"), "data": ("u.data", "u.item")}
    )[kind]
    (path / titles).unlink()
    data = movielens(path / ratings, like=5.0)
    assert data.players.tolist() == ["movie 10", "user 1", "movie 20", "user 7", "movie 30"]
    assert data.events.score.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    "kind, name, line", [("csv", "ratings.csv", 6), ("dat", "ratings.dat", 5), ("data", "u.data", 5)]
)
@pytest.mark.parametrize(
    "row, message",
    [
        (("1", "10", "good", "0"), "column 'rating' is 'good', not a number"),
        (("1", "10", "3", "1e300"), "column 'timestamp' is 1e\\+300, not a time since 1970"),
        (("1", "", "3", "0"), "column 'movieId' has no value"),
        (("1", "10", "3"), "Expected 4 columns, got 3"),
    ],
)
def test_bad_movielens(folder, kind, name, line, row, message):
    files = movie_files(kind)
    files[name.replace(".", "__")] += {"csv": ",", "dat": "::", "data": "\t"}[kind].join(row) + "\n"
    place = rf"row 4 \(counting from 0, line {line}\)" if kind == "csv" else f"line {line}"
    with pytest.raises(ValueError, match=f"^{name}: {place}: {message}"):
        movielens(folder(**files))


# Lichess

LICHESS = "id,rated,created_at,last_move_at,turns,victory_status,winner,increment_code,white_id,white_rating,black_id\n"


def test_lichess(folder):
    text = (
        LICHESS
        + "g1,TRUE,1.50421E+12,1.50421E+12,13,outoftime,white,15+2,ann,1500,bob\n"
        + "g2,TRUE,86400000,0,13,resign,black,15+2,cy,1500,ann\n"
        + "g1,TRUE,1.50421E+12,1.50421E+12,13,outoftime,white,15+2,ann,1500,bob\n"
        + "g3,TRUE,129600000.0,0,13,draw,draw,15+2,cy,1500,bob\n"
    )
    data = lichess(folder(games__csv=text) / "games.csv", players=["bob"])
    assert names(data) == [["cy", "ann"], ["cy", "bob"], ["ann", "bob"]]
    assert data.events.score.tolist() == [0, 0.5, 1] and data.events.context.side.tolist() == [1, 1, 1]
    assert data.events.time.tolist() == [1, 1.5, 1_504_210_000 / 86_400] and data.clock == "dates"
    assert data.rows.tolist() == [1, 3, 0] and data.players[0] == "bob" and data.events.context.columns is None


def test_lichess_ratings(folder):
    text = "id,created_at,winner,turns,white_id,white_rating,black_id,black_rating\n"
    text += "g1,0,white,13,ann,1500,bob,1400\ng2,0,draw,7,cy,1500,bob,\n"
    path = folder(games__csv=text) / "games.csv"
    columns = lichess(path, columns=["turns", "rating_difference"]).events.context.columns
    assert {name: x.tolist() for name, x in columns.items()} == {"turns": [13, 7], "rating_difference": [100, 0]}
    assert lichess(path, covariates="white_rating").covariates == ("white_rating",)


@pytest.mark.parametrize(
    "row, message",
    {
        "g2,TRUE,0,0,1,x,nobody,1,a,1,b": "column 'winner' is 'nobody', expected one of white, black, draw",
        "g2,TRUE,soon,0,1,x,white,1,a,1,b": "column 'created_at' is 'soon', not a number",
        "g2,TRUE,inf,0,1,x,white,1,a,1,b": "column 'created_at' is inf, not a time since 1970",
        ",TRUE,0,0,1,x,white,1,a,1,b": "column 'id' has no value",
        "g2,TRUE,0,0,1,x,white,1,a,1,a": "a is on both sides",
        "g2,TRUE,0,0,1,x,white,1,,1,b": "column 'white_id' has no value",
    }.items(),
)
def test_bad_lichess(folder, row, message):
    text = LICHESS + "g1,TRUE,5,0,1,x,white,1,a,1,b\n" * 2 + row + "\n"
    with pytest.raises(ValueError, match=rf"^games.csv: row 2 \(counting from 0, line 4\): {message}"):
        lichess(folder(games__csv=text) / "games.csv")
