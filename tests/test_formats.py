"""Loaders of public formats, each on small files written in that format, oddities and all."""

import bz2
import gzip
import json
import subprocess
import sys

import numpy as np
import pytest

from jaxrate.data.event_tables import NamesOfEarlierData
from jaxrate.data.formats import FORMATS, contests, ergast, football, lichess, movielens, pgn, pgn_games, tennis
from jaxrate.data.saved_options import read_by_options

pa = pytest.importorskip("pyarrow")


def names(data):
    return [[data.players[i] for i in row] for row in data.matches.player]


def days(*dates):
    return np.array(dates, "datetime64[s]").astype(float) / 86_400


def grid(data):
    """What each contest holds: time, and (name, rank, weight) of the participants."""
    events, start = data.events.events, data.events.player_start
    return [
        (
            time,
            [(data.players[events.player[i]], int(events.rank[i]), events.weight[i]) for i in range(*start[k : k + 2])],
        )
        for k, time in enumerate(events.time)
    ]


def test_formats_without_jax():
    code = "import sys, jaxrate.data.formats; sys.exit('jax' in sys.modules or 'pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_there(tmp_path, name):
    assert FORMATS[name].__name__ == name
    with pytest.raises(ValueError, match="^none: no such file or folder$"):
        FORMATS[name](tmp_path / "none")


@pytest.mark.parametrize(
    "name, message",
    {
        "tennis": "not tennis matches, no file such as atp_matches_2024.csv",
        "football": "a directory, not a file",
        "contests": "not a folder of contests, no file such as 0.json",
        "movielens": "not MovieLens, no ratings.csv, ratings.dat or u.data",
        "lichess": "a directory, not a file",
    }.items(),
)
def test_empty_folder(tmp_path, name, message):
    with pytest.raises(ValueError, match=f"^{tmp_path.name}: {message}$"):
        FORMATS[name](tmp_path)


@pytest.mark.parametrize(
    "name, message",
    {
        "tennis": "not tennis matches, no column 'tourney_date'",
        "football": "not football results, no column 'away_score'",
        "movielens": "not MovieLens ratings, no column 'userId'",
        "lichess": "not lichess games, no column 'id'",
        "pgn": 'not PGN, no tag such as .White "Ann".',
        "contests": "not a folder of contests, no file such as 0.json",
    }.items(),
)
def test_another_file(folder, name, message):
    with pytest.raises(ValueError, match=f"^games.csv: {message}$"):
        FORMATS[name](folder(games__csv="x,y\n1,2\n") / "games.csv")


# Tennis

TENNIS = "tourney_date,match_num,winner_id,winner_name,loser_id,loser_name,score,round\n"


def test_tennis(folder):
    path = folder(
        atp_matches_2023__csv=TENNIS
        + "20230102,300,7,Ann Lee,8,Bo Ek,6-1 6-2,F\n"
        + "20230102,299,7,Ann Lee,9,Bo Ek,6-1 RET,SF\n"
        + "20230102,298,8,Bo Ek,9,Bo Ek,W/O,SF\n"
        + "20230102,1,9,Bo Ek,7,Ann Lee,,R32\n"
        + "20230102,2,9,Bo Ek,10,Cy Wood,6-0 Def.,ZZ\n",
        atp_matches_amateur__csv="tourney_date,winner_id,winner_name,loser_id,loser_name\n"
        "19680000,7,Ann Lee,11,\n19680300,11,,7,Ann Lee\n19680229,1,U Unknown,1,U Unknown\n",
        atp_matches_qual_chall_2023__csv=TENNIS
        + "20230102,5,10,Cy Wood,12,Al Wo,6-0,Q2\n20230102,5,12,Al Wo,9,Bo Ek,,Q1\n",
        atp_matches_doubles_2023__csv="x\n1\n",
        atp_players__csv="x\n1\n",
        atp_rankings_90s__csv="x\n1\n",
    )
    data = tennis(path)
    assert names(data) == [
        ["Ann Lee (7)", "player (11)"],
        ["player (11)", "Ann Lee (7)"],
        ["Al Wo (12)", "Bo Ek (9)"],
        ["Cy Wood (10)", "Al Wo (12)"],
        ["Bo Ek (9)", "Cy Wood (10)"],
        ["Bo Ek (9)", "Ann Lee (7)"],
        ["Ann Lee (7)", "Bo Ek (9)"],
        ["Ann Lee (7)", "Bo Ek (8)"],
    ]
    assert data.events.time.tolist() == days("1968-01-01", "1968-03-01", *["2023-01-02"] * 6).tolist()
    assert data.rows.tolist() == [5, 6, 9, 8, 4, 3, 1, 0]
    assert data.events.score.tolist() == [1] * 8
    assert data.clock == "dates"
    one = tennis(path / "atp_matches_2023.csv", history=NamesOfEarlierData(["Cy Wood (10)"]))
    assert one.players[0] == "Cy Wood (10)" and names(one)[0] == ["Bo Ek (9)", "Cy Wood (10)"]


@pytest.mark.parametrize(
    "row, message",
    {
        "20230230,1,7,A,8,B,,F": "column 'tourney_date' is '20230230', not a date as 20240131",
        "20231301,1,7,A,8,B,,F": "column 'tourney_date' is '20231301', not a date",
        "2023-01-02,1,7,A,8,B,,F": "column 'tourney_date' is '2023-01-02', not a date",
        "nan,1,7,A,8,B,,F": "column 'tourney_date' is 'nan', not a date",
        ",1,7,A,8,B,,F": "column 'tourney_date' has no value",
        "20230102,1,,A,8,B,,F": "column 'winner_id' has no value",
        "20230102,1,7,A,8,B": "Expected 8 columns, got 6",
        "20230102,1,7,Ë\udce9,8,B,,F": "not UTF-8 text",
    }.items(),
)
def test_bad_tennis(folder, row, message):
    good = "20230102,1,7,A,8,B,W/O,F\n20230102,1,7,A,8,B,,F\n"
    bad = (TENNIS + "\n" + good + row + "\n").encode(errors="surrogateescape")
    path = folder(atp_matches_1999__csv=TENNIS + good, atp_matches_2000__csv=bad)
    with pytest.raises(
        ValueError, match=rf"^({path.name}: )?atp_matches_2000.csv: row 2 \(counting .*, line 5\): {message}"
    ):
        tennis(path)


def test_tennis_surfaces_games_and_rounds(folder):
    text = TENNIS.replace("score,round", "score,round,surface,minutes")
    rows = [
        "6-4 6-7(3) 6-1,R32,Clay,120",
        "1-0 RET,R16,,70",
        "W/O,QF,Clay,",
        ",QF,Grass,60",
        "6-1 3-6 [10-8],F,Clay,99",
    ]
    text += "".join(f"20230102,{i},7,Ann Lee,8,Bo Ek,{row}\n" for i, row in enumerate(rows))
    path = folder(atp_matches_2023__csv=text) / "atp_matches_2023.csv"
    data = tennis(path)
    assert data.categories.tolist() == ["Clay", "Unknown", "Grass"] and data.statistics == ("games",)
    columns = data.events.context.columns
    np.testing.assert_allclose(columns["games"], [6 / 30, 1, np.nan, 2 / 16])
    assert columns["round"].tolist() == [10, 11, 12, 16] and data.margin == ()
    own = tennis(path, category="round", margin="minutes", columns=["round"], statistics={"m": "minutes"})
    assert own.categories.tolist() == [10, 11, 12, 16] and own.margin == ("minutes",)
    assert own.events.context.columns["m"].tolist() == [120, 70, 60, 99] and own.statistics == ("m",)
    with pytest.raises(ValueError, match="row 1 .*column 'minutes' is 'x', not a number"):
        bad = folder(atp_matches_2024__csv=text.replace(",70", ",x")) / "atp_matches_2024.csv"
        tennis(bad, columns="minutes")


def test_tennis_of_two_tours(folder):
    path = folder(atp_matches_1999__csv=TENNIS, wta_matches_1999__csv=TENNIS)
    with pytest.raises(ValueError, match=f"^{path.name}: atp and wta number their players apart"):
        tennis(path)
    with pytest.raises(ValueError, match="^atp_matches_1999.csv: no rows$"):
        tennis(path / "atp_matches_1999.csv")


# Football

FOOTBALL = "date,home_team,away_team,home_score,away_score,tournament,city,country,neutral\n"


def test_football(folder):
    path = folder(
        results__csv=FOOTBALL
        + '1872-11-30,Scotland,England,0,0,Friendly,"Glasgow, West",Scotland,FALSE\n'
        + "2024-06-01,England,Åland,2,10,Friendly,London,England,TRUE\n"
        + "2024-06-02,England,Scotland,3,1,Friendly,London,England,FALSE\n"
        + "2026-06-01,England,Wales,NA,NA,Friendly,London,England,FALSE\n"
        + "2026-06-02,England,Wales,,,Friendly,London,England,FALSE\n"
    )
    with pytest.warns(UserWarning, match="2 of 5 rows have no result and are left out: 2 are to come"):
        data = football(path / "results.csv")
    assert len(data.fixtures.matches.score) == 2 and names(data) == [
        ["Scotland", "England"],
        ["England", "Åland"],
        ["England", "Scotland"],
    ]
    assert data.players.tolist() == ["Scotland", "England", "Åland"]
    assert data.events.score.tolist() == [0.5, 0, 1]
    assert data.events.context.side.tolist() == [1, 0, 1]
    assert data.events.time.tolist() == days("1872-11-30", "2024-06-01", "2024-06-02").tolist()
    assert data.margin == ("home_score", "away_score")
    assert data.events.context.columns["away_score"].tolist() == [0, 10, 1]


@pytest.mark.filterwarnings("ignore:1 of 3 rows has no result")
def test_further_options_go_with_a_format(folder):
    rows = [
        "2000-01-01,A,B,NA,1,Cup,y,z,FALSE\n",
        "2000-01-03,A,B,1,1,Cup,y,z,FALSE\n",
        "2000-01-04,B,C,1,0,,5,z,TRUE\n",
    ]
    path = folder(results__csv=FOOTBALL + "".join(rows)) / "results.csv"
    data = football(path, category="country", season="country", columns=["away_score"], margin="home_score")
    assert data.categories.tolist() == ["z"] and [*data.seasons] == ["z"] and data.margin == ("home_score",)
    assert data.events.context.columns["away_score"].tolist() == [1, 0]
    with pytest.warns(UserWarning, match="skipped 1 of 2 rows"):
        assert len(football(path, category="tournament", on_faulty="skip").events.score) == 1
    for options, message in (
        (
            {"category": "tournament"},
            r"results.csv: row 2 \(counting from 0, line 4\): column 'tournament' has no value",
        ),
        ({"covariates": "city"}, r"results.csv: row 1 \(counting from 0, line 3\): column 'city' is 'y', not a number"),
        ({"columns": "wind"}, "results.csv: no column 'wind'"),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            football(path, **options)
    with pytest.raises(TypeError, match=r"football\(\) got an unexpected keyword argument 'winner'"):
        football(path, winner="country")


@pytest.mark.parametrize(
    "row, message",
    {
        "1999-01-01,A,B,1,0,x,y,z,FALSE": "time 1999-01-01 is earlier than 2000-01-01 in the row before; .*sort=True",
        "2000-01-01,A,B,1,x,x,y,z,FALSE": "column 'away_score' is 'x', not a number",
        "2000-13-01,A,B,1,0,x,y,z,FALSE": "column 'date' is '2000-13-01', not an ISO date",
        "2000-01-01,A,A,1,0,x,y,z,FALSE": "A is on both sides",
        "2000-01-01,A,B,1,0,x,y,z,maybe": "column 'neutral' is 'maybe', not a number",
        "2000-01-01,A,,1,0,x,y,z,TRUE": "column 'away_team' has no value",
    }.items(),
)
@pytest.mark.filterwarnings("ignore:1 of 3 rows has no result")
def test_bad_football(folder, row, message):
    text = FOOTBALL + "2000-01-01,A,B,NA,NA,x,y,z,FALSE\n2000-01-01,A,B,1,1,x,y,z,FALSE\n" + row + "\n"
    path = folder(results__csv=text) / "results.csv"
    with pytest.raises(ValueError, match=rf"^results.csv: row 2 \(counting from 0, line 4\): {message}"):
        football(path)


@pytest.mark.filterwarnings("ignore:1 of 3 rows has no result")
def test_football_sorted_or_unplayed(folder):
    rows = ["2000-01-01,A,B,NA,1,x,y,z,FALSE\n", "2000-01-03,A,B,1,1,x,y,z,FALSE\n", "2000-01-02,B,C,1,0,x,y,z,TRUE\n"]
    data = football(
        folder(results__csv=FOOTBALL + "".join(rows)) / "results.csv", sort=True, history=NamesOfEarlierData(["C"])
    )
    assert names(data) == [["B", "C"], ["A", "B"]] and data.players[0] == "C" and data.rows.tolist() == [2, 1]
    with pytest.raises(ValueError, match="^results.csv: no row has a result; "):
        football(folder(results__csv=FOOTBALL + rows[0]) / "results.csv")


def test_rest_form_and_age_of_a_format(tmp_path):
    """Ages are text there, and rest and form no columns."""
    rows = [f"202401{i + 1:02},1,Ada,2,Bo,6-4 6-3,R32,Hard,{20 + i / 10},{25.5 if i else ''}" for i in range(4)]
    head = "tourney_date,winner_id,winner_name,loser_id,loser_name,score,round,surface,winner_age,loser_age"
    path = tmp_path / "atp_matches_2024.csv"
    path.write_text("\n".join([head, *rows, ""]))
    data = read_by_options(path, {"age": ["winner_age", "loser_age"], "rest": 7, "form": 30}, reader=tennis)
    columns = data.matches.context.columns
    assert data.covariates == ("age", "rest", "form")
    np.testing.assert_allclose(columns["age"], [0.0, -5.4, -5.3, -5.2], atol=1e-6)
    assert columns["form"][0] == 0 and (np.diff(columns["form"]) > 0).all()


# Public formats of contests, races, films and Lichess.

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
    data = contests(path, sort=True, history=NamesOfEarlierData(["Dan"]))
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
    data = ergast(
        folder(races__csv=RACES, drivers__csv=DRIVERS, results__csv=results), history=NamesOfEarlierData(["Cy Wood"])
    )
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

DAY = 10_000  # the first, in days since 1970
RATINGS = [(1, 10, 4.0, 1), (1, 20, 3.5, 0), (7, 10, 5.0, 1), (7, 30, 0.5, 0.5)]
RATINGS = [(*row, round((DAY + day) * 86_400)) for *row, day in RATINGS]
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
    data = movielens(path, history=NamesOfEarlierData(["user 7"]))
    assert names(data) == [[mission, "user 1"], ["Heat (1995) (30)", "user 7"]] + [
        ["Heat (1995) (10)", u] for u in ("user 1", "user 7")
    ]
    assert data.events.score.tolist() == [0, 0, 1, 1] and data.players[0] == "user 7"
    assert (data.events.time - DAY).tolist() == [0, 0.5, 1, 1] and data.clock == "dates"
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
        (("1", "10", "3", "1e300"), "time 1e\\+300 is too far from 0"),
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
        + "g2,TRUE,1000000000000,0,13,resign,black,15+2,cy,1500,ann\n"
        + "g1,TRUE,1.50421E+12,1.50421E+12,13,outoftime,white,15+2,ann,1500,bob\n"
        + "g3,TRUE,1.1E+12,0,13,draw,draw,15+2,cy,1500,bob\n"
    )
    data = lichess(folder(games__csv=text) / "games.csv", history=NamesOfEarlierData(["bob"]))
    assert names(data) == [["cy", "ann"], ["cy", "bob"], ["ann", "bob"]]
    assert data.events.score.tolist() == [0, 0.5, 1] and data.events.context.side.tolist() == [1, 1, 1]
    assert (
        data.events.time.tolist() == [x / 86_400_000 for x in (1_000_000_000_000, 1_100_000_000_000, 1_504_210_000_000)]
        and data.clock == "dates"
    )
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
        "g2,TRUE,0,0,1,x,nobody,1,a,1,b": "column 'winner' is 'nobody', no result as the others are",
        "g2,TRUE,soon,0,1,x,white,1,a,1,b": "column 'created_at' is 'soon', not an ISO date",
        "g2,TRUE,inf,0,1,x,white,1,a,1,b": "time is inf, not a finite number",
        ",TRUE,0,0,1,x,white,1,a,1,b": "column 'id' has no value",
        "g2,TRUE,0,0,1,x,white,1,a,1,a": "a is on both sides",
        "g2,TRUE,0,0,1,x,white,1,,1,b": "column 'white_id' has no value",
    }.items(),
)
def test_bad_lichess(folder, row, message):
    text = LICHESS + "g1,TRUE,5,0,1,x,white,1,a,1,b\n" * 2 + row + "\n"
    with pytest.raises(ValueError, match=rf"(^|\n  )games.csv: row 2 \(counting from 0, line 4\): {message}"):
        lichess(folder(games__csv=text) / "games.csv")


# Games of chess in PGN.

# PGN


def game(white="Ann", black="Bob", result="1-0", moves="1. e4 {[%clk 0:01:00]} e5 1-0", **tags):
    tags = {"Event": "x", "White": white, "WhiteElo": "1500", "Black": black, "Result": result} | tags
    return "".join(f'[{name} "{value}"]\n' for name, value in tags.items() if value is not None) + f"\n{moves}\n\n"


def load(folder, text, **arguments):
    return pgn(folder(games__pgn=text) / "games.pgn", **arguments)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("chunk", [1, 7, 64, 10_000])
def test_pgn(folder, monkeypatch, chunk, end):
    monkeypatch.setattr(pgn_games, "CHUNK", chunk)
    odd = 'Doe, \\"J\\" \\\\o'
    wrapped = '1. e4 {a comment\n[%clk 0:01:00] with\n[brackets] and\n[White has won} e5\n% [White "no"]\n1/2-1/2'
    text = (
        "\ufeff"
        + game().partition("\n")[2]
        + game(odd, "Zoë", "1/2-1/2", wrapped)
        + game("Ann", "Cy", "*")
        + game("Ann", "?", "*")
        + game("Bob", "Cy", "0-1", moves="")
        + '[Result "1-0"]\n%escape\n[Black   "Ann"] \n[White "Zoë"]\n\n1-0'
    )
    data = load(folder, text.replace("\n", end), sort=True)  # by no time
    assert names(data) == [["Ann", "Bob"], ['Doe, "J" \\o', "Zoë"], ["Bob", "Cy"], ["Zoë", "Ann"]]
    assert data.events.score.tolist() == [1, 0.5, 0, 1]
    assert data.events.context.side.tolist() == [1] * 4
    assert data.events.time.tolist() == [0] * 4
    assert data.rows.tolist() == [0, 1, 4, 5]
    assert data.clock is None


def test_pgn_times(folder):
    dates = [
        {"Date": "2024.??.??"},
        {"Date": "2024.02.??", "UTCDate": "????.??.??"},
        {"Date": "2023.02.07", "UTCDate": "2024.02.07", "UTCTime": "18:30:15"},
        {"UTCDate": "2024.02.08", "UTCTime": "??:??:??"},
        {"Date": "2024.02.09", "UTCTime": "18:30:15"},
        {"Date": "2024.??.31"},
    ]
    data = load(folder, "".join(game(**tags) for tags in dates), sort=True, history=NamesOfEarlierData(["Bob"]))
    expected = days("2024-01-01", "2024-01-01", "2024-02-01", "2024-02-07T18:30:15", "2024-02-08", "2024-02-09")
    assert np.allclose(data.events.time, expected, atol=1e-9)
    assert data.rows.tolist() == [0, 5, 1, 2, 3, 4]
    assert data.clock == "dates" and data.players.tolist() == ["Bob", "Ann"]


def test_pgn_ratings_and_further_tags(folder):
    games = game(WhiteElo="1800", BlackElo="1650", TimeControl="60+0") + game(BlackElo="?", TimeControl='a\\"b')
    data = load(folder, games, category="TimeControl")
    assert data.covariates == () and data.categories.tolist() == ["60+0", 'a"b']
    assert data.events.context.columns["rating_difference"].tolist() == [150, 0]
    assert load(folder, game()).events.context.columns is None  # as White alone has a rating
    assert load(folder, games, covariates="rating_difference").covariates == ("rating_difference",)
    assert load(folder, games, covariates=["WhiteElo"]).events.context.columns["WhiteElo"].tolist() == [1800, 1500]
    with pytest.raises(ValueError, match="^games.pgn: line 10: column 'Round' has no value"):
        load(folder, game(Round="1") + game(), columns="Round")
    with pytest.raises(ValueError, match="'a b' is no tag of PGN"):
        load(folder, games, columns="a b")


def test_pgn_latin(folder):
    text = game("Zoë", "Ann").encode() + game("Zoë", "Þór").encode("latin-1")
    data = pgn(folder(games__pgn=text) / "games.pgn")
    assert names(data) == [["Zoë", "Ann"], ["Zoë", "Þór"]] and data.players.tolist() == ["Zoë", "Ann", "Þór"]


@pytest.mark.parametrize("ending", ["gz", "bz2", "zst"])
def test_compressed_pgn(tmp_path, ending):
    squeeze = {"gz": gzip.compress, "bz2": bz2.compress, "zst": lambda text: pa.compress(text, "zstd", asbytes=True)}
    path = tmp_path / f"games.pgn.{ending}"
    path.write_bytes(squeeze[ending]((game() + game("Cy", "Ann")).encode() * 999))
    assert names(pgn(path)) == [["Ann", "Bob"], ["Cy", "Ann"]] * 999
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(ValueError, match=f"^games.pgn.{ending}: "):
        pgn(path)


@pytest.mark.parametrize("chunk", [7, 10_000])
@pytest.mark.parametrize(
    "tags, message",
    [
        ({"white": "?"}, "column 'White' has no value"),
        ({"black": ""}, "column 'Black' has no value"),
        ({"White": None}, "column 'White' has no value"),
        ({"black": "Ann"}, "Ann is on both sides"),
        ({"result": "white"}, "column 'Result' is 'white', no result as the others are"),
        ({"Date": "2024.02.30"}, "'2024.02.30' is not a date of PGN"),
        ({"Date": "yesterday"}, "'yesterday' is not a date of PGN"),
        ({"UTCDate": "2024.02.03", "UTCTime": "25:00:00"}, "'25:00:00' is not a time of PGN"),
        ({"Date": "????.??.??"}, "no date, but other games have one"),
        ({"Date": None}, "no date, but other games have one"),
        ({"Date": "2023.12.31"}, "time 2023-12-31.* is earlier than 2024-01-01.* in the row before; .*sort=True"),
    ],
)
def test_bad_pgn(folder, monkeypatch, chunk, tags, message):
    monkeypatch.setattr(pgn_games, "CHUNK", chunk)
    good = game("Ann", "Cy", "*") + game(Date="2024.01.01", moves="1. e4\ne5\n1-0")
    line = good.count("\n") + 1
    with pytest.raises(ValueError, match=f"^games.pgn: line {line}: {message}"):
        load(folder, good + game(**{"Date": "2024.01.01"} | tags) + game(Date="2024.01.02"))


def test_more_bad_pgn(folder):
    with pytest.raises(ValueError, match="^games.pgn: no game has a result$"):
        load(folder, game(result="*"))
    with pytest.raises(ValueError, match="^games.pgn: line 9: two games without a line between them"):
        load(folder, game() + game().partition("\n\n")[0] + "\n" + game())
    with pytest.warns(UserWarning, match="1 of 2 rows has no result and is left out"):
        load(folder, '[Event "x"]\n\n' + game())
