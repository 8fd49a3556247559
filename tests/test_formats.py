"""Loaders of public formats, each on small files written in that format, oddities and all."""

import bz2
import gzip
import json
import subprocess
import sys

import numpy as np
import pytest

from jaxrate.data.dataset_from_table import read_by_cli_options
from jaxrate.data.dataset_names import NamesOfEarlierData
from jaxrate.data.formats import FORMATS, contests, ergast, football, lichess, movielens, pgn, pgn_games, tennis

pa = pytest.importorskip("pyarrow")
ignore_unplayed = pytest.mark.filterwarnings("ignore:1 of . rows has no result")


def names(data):
    return [[data.players[i] for i in row] for row in data.matches.player]


def days(*dates):
    return np.array(dates, "datetime64[s]").astype(float) / 86_400


def grid(data):
    """What each contest holds: time, and (name, rank, weight) of the participants."""
    events, start = data.events.events, data.events.player_start
    rows = [
        (data.players[x], int(rank), w) for x, rank, w in zip(events.player, events.rank, events.weight, strict=True)
    ]
    return [(time, rows[start[k] : start[k + 1]]) for k, time in enumerate(events.time)]


def save(folder, files):
    """The folder with these files, text or bytes by name."""
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def known(*players):
    return NamesOfEarlierData([*players])


def contest(*standings, seconds=86_400, **more):
    return json.dumps({"name": "x", "url": None, "time_seconds": seconds, "standings": standings} | more)


def game(white="Ann", black="Bob", result="1-0", moves="1. e4 {[%clk 0:01:00]} e5 1-0", **tags):
    tags = {"Event": "x", "White": white, "WhiteElo": "1500", "Black": black, "Result": result} | tags
    return "".join(f'[{name} "{value}"]\n' for name, value in tags.items() if value is not None) + f"\n{moves}\n\n"


TENNIS = "tourney_date,match_num,winner_id,winner_name,loser_id,loser_name,score,round\n"
FOOTBALL = "date,home_team,away_team,home_score,away_score,tournament,city,country,neutral\n"
LICHESS = "id,rated,created_at,last_move_at,turns,victory_status,winner,increment_code,white_id,white_rating,black_id\n"
RACES = 'raceId,year,round,circuitId,name,date,time\n5,2021,2,1,"Spa, twice",2021-03-28,15:00:00\n'
RACES += "9,2021,1,1,Monza,2021-03-21,\\N\n12,2021,3,1,Imola,2021-04-01,\\N\n"
DRIVERS = "driverId,driverRef,forename,surname\n1,k,Kimi,Räikkönen\n2,h,Ann,Lee\n3,l,Bo,Ek\n4,m,Bo,Ek\n5,x,Cy,Wood\n"
RESULTS = "resultId,raceId,driverId,position,positionText\n"
RACING = {"races.csv": RACES, "drivers.csv": DRIVERS, "results.csv": RESULTS + "1,5,1,1,1\n"}
DAY = 10_000  # the first, in days since 1970
RATINGS = [(1, 10, 4.0, 1), (1, 20, 3.5, 0), (7, 10, 5.0, 1), (7, 30, 0.5, 0.5)]
RATINGS = [(*row, round((DAY + day) * 86_400)) for *row, day in RATINGS]
MOVIES = [(10, "Heat (1995)"), (20, "Mission: Impossible, 1"), (30, "Heat (1995)"), (40, "Éte")]
MARKS = {"ratings.csv": ",", "ratings.dat": "::", "u.data": "\t"}


def movie_files(ratings):
    """The files of MovieLens of the kind that has ratings in this file."""
    mark = MARKS[ratings]
    rows = "".join(mark.join(map(str, row)) + "\n" for row in RATINGS)
    if ratings == "ratings.csv":
        movies = "movieId,title,genres\n" + "".join(f'{key},"{title}",x\n' for key, title in MOVIES)
        return {ratings: "userId,movieId,rating,timestamp\n" + rows, "movies.csv": movies}
    if ratings == "ratings.dat":
        return {ratings: rows, "movies.dat": "".join(f"{key}::{title}::x|y\n" for key, title in MOVIES)}
    return {ratings: rows, "u.item": "".join(f"{key}|{title}|x|y\n" for key, title in MOVIES).encode("latin-1")}


def test_formats_without_jax():
    code = "import sys, jaxrate.data.formats; sys.exit('jax' in sys.modules or 'pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# What is wrong: the reader, the files, the one that it reads (the folder, if it is ""), and the message

GOOD_TENNIS = "20230102,1,7,A,8,B,W/O,F\n20230102,1,7,A,8,B,,F\n"
GOOD_FOOTBALL = FOOTBALL + "2000-01-01,A,B,NA,NA,x,y,z,FALSE\n2000-01-01,A,B,1,1,x,y,z,FALSE\n"
GOOD_LICHESS = LICHESS + "g1,TRUE,5,0,1,x,white,1,a,1,b\n" * 2
GOOD_PGN = game("Ann", "Cy", "*") + game(Date="2024.01.01", moves="1. e4\ne5\n1-0")
LINE_4, ENTRY = r"row 2 \(counting from 0, line 4\): ", r"7.json: standings entry 1 \(counting from 0\)"
FOLDERS = {  # without a file of the format
    "tennis": "not tennis matches, no file such as atp_matches_2024.csv$",
    "football": "a directory, not a file$",
    "contests": "not a folder of contests, no file such as 0.json$",
    "movielens": "not MovieLens, no ratings.csv, ratings.dat or u.data$",
}
OTHER_FILES = {
    "tennis": "not tennis matches, no column 'tourney_date'",
    "pgn": 'not PGN, no tag such as .White "Ann".',
    "contests": "not a folder of contests, no file such as 0.json",
}
TENNIS_ROWS = {
    "20230230,1,7,A,8,B,,F": "column 'tourney_date' is '20230230', not a date as 20240131",
    "20230102,1,,A,8,B,,F": "column 'winner_id' has no value",
}
EARLIER = "1999-01-01,A,B,1,0,x,y,z,FALSE", "time 1999-01-01 is earlier than 2000-01-01 in the row bef.*sort=True"
LICHESS_ROWS = {
    "g2,TRUE,0,0,1,x,nobody,1,a,1,b": "column 'winner' is 'nobody', no result as the others are",
    "g2,TRUE,soon,0,1,x,white,1,a,1,b": "column 'created_at' is 'soon', not an ISO date",
    ",TRUE,0,0,1,x,white,1,a,1,b": "column 'id' has no value",
}
CONTESTS = {
    "{": "7.json: Expecting property name",
    "[]": "7.json: not a contest of Elo-MMR, 'time_seconds' is None",
    contest(["x", 0, 0], ["y", 1, 1], weight=0): "7.json: standings entry 0 .*: weight 0.0 is not above 0",
    contest(["x", 0, 0], ["y", 1]): ENTRY + r" is \['y', 1\], expected \[handle, first, last\]",
    contest(["x", 0, 0], ["x", 1, 1]): ENTRY + ": player 'x' is in contest 7 twice",
    contest(["x", 0, 0], ["y" * 9999, 2, 1]): ENTRY + r" is \['y{58}\.\.\. \([0-9,]+ characters\), expec",
    "[" * 200_000: "7.json: not a contest of Elo-MMR: lists within lists without an end",
}
ERGAST = [
    ({"results.csv": RESULTS + "1,5,1,1,1\n1,6,1,1,1\n"}, "results.csv: .*line 3.* is '6', expected a race of"),
    ({"results.csv": RESULTS + "1,5,1,1,1\n1,5,2,1,X\n"}, "results.csv: .*line 3.* is 'X', expected a place"),
    ({"races.csv": RACES.replace("2021-03-28", "28/03/2021")}, "races.csv: .*line 2.* is '28/03/2021', not"),
]
RATING_ROWS = {
    ("1", "10", "good", "0"): "column 'rating' is 'good', not a number",
    ("1", "", "3", "0"): "column 'movieId' has no value",
}
TAGS = [
    ({"white": "?"}, "the game has no tag White; on_faulty='skip'"),
    ({"black": "Ann"}, "Ann is on both sides"),
    ({"result": "white"}, "the tag Result is 'white', not 1-0, 0-1, 1/2-1/2 or"),
    ({"Date": "2024.02.30"}, "'2024.02.30' is not a date of PGN"),
    ({"UTCDate": "2024.02.03", "UTCTime": "25:00:00"}, "'25:00:00' is not a time of PGN"),
    ({"Date": "????.??.??"}, "no date, but other games have one"),
    ({"Date": "2023.12.31"}, "time 2023-12-31.* is earlier than 2024-01-01.* in the row before; .*sort=True"),
]


def wrong_tennis(row):
    good = {"atp_matches_1999.csv": TENNIS + GOOD_TENNIS, "atp_matches_2000.csv": f"{TENNIS}\n{GOOD_TENNIS}{row}\n"}
    return "tennis", good, "", rf"atp_matches_2000.csv: row 2 \(counting from 0, line 5\): {TENNIS_ROWS[row]}"


def wrong_ratings(name, row):
    files, line = movie_files(name), "row 4 .counting from 0, line 6." if name == "ratings.csv" else "line 5"
    files[name] += MARKS[name].join(row) + "\n"
    return "movielens", files, "", f"{name}: {line}: {RATING_ROWS[row]}"


def wrong_pgn(tags, message):
    text = GOOD_PGN + game(**{"Date": "2024.01.01"} | tags) + game(Date="2024.01.02")
    return "pgn", {"games.pgn": text}, "games.pgn", rf"games.pgn: line {GOOD_PGN.count(chr(10)) + 1}: {message}"


def wrong_last_row(reader, name, good, row, message):
    return reader, {name: f"{good}{row}\n"}, name, rf"(.*\n  )?{name}: {LINE_4}{message}"


ONE = {"atp_matches_1999.csv": TENNIS}
TOGETHER = game() + game().partition("\n\n")[0] + "\n" + game()
WRONG = [
    *((name, {"x.txt": ""}, "none", "none: no such file or folder$") for name in FORMATS),
    *((name, {"x.txt": ""}, "", FOLDERS[name]) for name in FOLDERS),
    *((name, {"games.csv": "x,y\n1,2\n"}, "games.csv", f"games.csv: {OTHER_FILES[name]}$") for name in OTHER_FILES),
    ("tennis", ONE | {"wta_matches_1999.csv": TENNIS}, "", "atp and wta number their players ap"),
    ("tennis", ONE, "", "no rows$"),
    *map(wrong_tennis, TENNIS_ROWS),
    wrong_last_row("football", "results.csv", GOOD_FOOTBALL, *EARLIER),
    *(wrong_last_row("lichess", "games.csv", GOOD_LICHESS, row, LICHESS_ROWS[row]) for row in LICHESS_ROWS),
    *(("contests", {"3.json": contest(["x", 0, 0]), "7.json": text}, "", CONTESTS[text]) for text in CONTESTS),
    *(("ergast", RACING | changes, "", message) for changes, message in ERGAST),
    ("ergast", {"races.csv": RACES}, "", "drivers.csv: no such file$"),
    *(wrong_ratings(name, row) for name in MARKS for row in RATING_ROWS),
    *(wrong_pgn(*case) for case in TAGS),
    ("pgn", {"games.pgn": game(result="*")}, "games.pgn", "games.pgn: no game has a result$"),
    ("pgn", {"games.pgn": TOGETHER}, "games.pgn", "games.pgn: line 9: two games without a line between them"),
]


@ignore_unplayed
@pytest.mark.parametrize(("reader", "files", "name", "message"), WRONG)
def test_what_is_wrong_is_told_with_its_place(tmp_path, monkeypatch, reader, files, name, message):
    path = save(tmp_path, files)
    for chunk in (7, 10_000):
        monkeypatch.setattr(pgn_games, "CHUNK", chunk)
        with pytest.raises(ValueError, match=f"^({path.name}: )?{message}"):
            FORMATS[reader](path / name)


def test_tennis(tmp_path):
    head = "tourney_date,winner_id,winner_name,loser_id,loser_name\n"
    files = {
        "atp_matches_2023.csv": f"{TENNIS}20230102,300,7,Ann Lee,8,Bo Ek,6-1 6-2,F\n"
        "20230102,299,7,Ann Lee,9,Bo Ek,6-1 RET,SF\n20230102,298,8,Bo Ek,9,Bo Ek,W/O,SF\n"
        "20230102,1,9,Bo Ek,7,Ann Lee,,R32\n20230102,2,9,Bo Ek,10,Cy Wood,6-0 Def.,ZZ\n",
        "atp_matches_amateur.csv": head + "19680000,7,Ann Lee,11,\n19680300,11,,7,Ann Lee\n19680229,1,U No,1,U No\n",
        "atp_matches_qual_chall_2023.csv": TENNIS
        + "20230102,5,10,Cy Wood,12,Al Wo,6-0,Q2\n20230102,5,12,Al Wo,9,Bo Ek,,Q1\n",
        **dict.fromkeys(("atp_matches_doubles_2023.csv", "atp_players.csv", "atp_rankings_90s.csv"), "x\n1\n"),
    }
    path = save(tmp_path, files)
    data = tennis(path)
    ann, bo, cy, al = "Ann Lee (7)", "Bo Ek (9)", "Cy Wood (10)", "Al Wo (12)"
    matches = [[ann, "player (11)"], ["player (11)", ann], [al, bo], [cy, al], [bo, cy], [bo, ann], [ann, bo]]
    assert names(data) == [*matches, [ann, "Bo Ek (8)"]]
    assert data.events.time.tolist() == days("1968-01-01", "1968-03-01", *["2023-01-02"] * 6).tolist()
    assert data.rows.tolist() == [5, 6, 9, 8, 4, 3, 1, 0] and data.clock == "dates"
    assert data.events.score.tolist() == [1] * 8
    one = tennis(path / "atp_matches_2023.csv", history=known(cy))
    assert one.players[0] == cy and names(one)[0] == [bo, cy]


def test_tennis_surfaces_games_and_rounds(tmp_path):
    rows = "6-4 6-7(3) 6-1,R32,Clay,120", "1-0 RET,R16,,70", "W/O,QF,Clay,", ",QF,Grass,60", "6-1 3-6 [10-8],F,Clay,99"
    text = TENNIS.replace("score,round", "score,round,surface,minutes")
    text += "".join(f"20230102,{i},7,Ann Lee,8,Bo Ek,{row}\n" for i, row in enumerate(rows))
    path = save(tmp_path, {"atp_matches_2023.csv": text, "atp_matches_2024.csv": text.replace(",70", ",x")})
    data = tennis(path / "atp_matches_2023.csv")
    assert data.categories.tolist() == ["Clay", "Unknown", "Grass"] and data.statistics == ("games",)
    columns = data.events.context.columns
    np.testing.assert_allclose(columns["games"], [6 / 30, 1, np.nan, 2 / 16])
    assert columns["round"].tolist() == [10, 11, 12, 16] and data.margin == ()
    options = {"category": "round", "margin": "minutes", "columns": ["round"], "statistics": {"m": "minutes"}}
    own = tennis(path / "atp_matches_2023.csv", **options)
    assert own.categories.tolist() == [10, 11, 12, 16] and own.margin == ("minutes",)
    assert own.events.context.columns["m"].tolist() == [120, 70, 60, 99] and own.statistics == ("m",)
    with pytest.raises(ValueError, match="row 1 .*column 'minutes' is 'x', not a number"):
        tennis(path / "atp_matches_2024.csv", columns="minutes")


def test_rest_form_and_age_of_a_format(tmp_path):
    rows = [f"202401{i + 1:02},1,Ada,2,Bo,6-4 6-3,R32,Hard,{20 + i / 10},{25.5 if i else ''}\n" for i in range(4)]
    head = "tourney_date,winner_id,winner_name,loser_id,loser_name,score,round,surface,winner_age,loser_age\n"
    path = save(tmp_path, {"atp_matches_2024.csv": head + "".join(rows)}) / "atp_matches_2024.csv"
    data = read_by_cli_options(path, {"age": ["winner_age", "loser_age"], "rest": 7, "form": 30}, reader=tennis)
    columns = data.matches.context.columns
    assert data.covariates == ("age", "rest", "form")
    np.testing.assert_allclose(columns["age"], [0.0, -5.4, -5.3, -5.2], atol=1e-6)
    assert columns["form"][0] == 0 and (np.diff(columns["form"]) > 0).all()


def test_football(tmp_path):
    rows = [
        '1872-11-30,Scotland,England,0,0,Friendly,"Glasgow, West",Scotland,FALSE',
        "2024-06-01,England,Åland,2,10,Friendly,London,England,TRUE",
        "2024-06-02,England,Scotland,3,1,Friendly,London,England,FALSE",
        "2026-06-01,England,Wales,NA,NA,Friendly,London,England,FALSE",
        "2026-06-02,England,Wales,,,Friendly,London,England,FALSE",
    ]
    path = save(tmp_path, {"results.csv": "\n".join([FOOTBALL.strip(), *rows, ""])}) / "results.csv"
    with pytest.warns(UserWarning, match="2 of 5 rows have no result and are left out: 2 are to come"):
        data = football(path)
    assert names(data) == [["Scotland", "England"], ["England", "Åland"], ["England", "Scotland"]]
    assert data.events.score.tolist() == [0.5, 0, 1] and len(data.fixtures.matches.score) == 2
    assert data.events.context.side.tolist() == [1, 0, 1]
    assert data.events.time.tolist() == days("1872-11-30", "2024-06-01", "2024-06-02").tolist()
    assert data.margin == ("home_score", "away_score")
    assert data.events.context.columns["away_score"].tolist() == [0, 10, 1]


@ignore_unplayed
def test_further_options_go_with_a_format(tmp_path):
    rows = ["01,A,B,NA,1,Cup,y,z,FALSE\n", "03,A,B,1,1,Cup,y,z,FALSE\n", "04,B,C,1,0,,5,z,TRUE\n"]
    path = save(tmp_path, {"results.csv": FOOTBALL + "".join(f"2000-01-{row}" for row in rows)}) / "results.csv"
    data = football(path, category="country", season="country", columns=["away_score"], margin="home_score")
    assert data.categories.tolist() == ["z"] and [*data.seasons] == ["z"] and data.margin == ("home_score",)
    assert data.events.context.columns["away_score"].tolist() == [1, 0]
    with pytest.warns(UserWarning, match="skipped 1 of 2 rows"):
        assert len(football(path, category="tournament", on_faulty="skip").events.score) == 1
    with pytest.raises(ValueError, match=f"^results.csv: {LINE_4}column 'tournament' has no value"):
        football(path, category="tournament")
    with pytest.raises(TypeError, match=r"football\(\) got an unexpected keyword argument 'winner'"):
        football(path, winner="country")


def test_contests(tmp_path):
    files = {
        "2.json": contest(["Bob", 0, 0], ["Zoë", 1, 2], ["Ann", 1, 2], seconds=2 * 86_400, perf_ceiling=None),
        "10.json": contest(["Ann", 0, 1], ["Dan", 0, 1], seconds=3 * 86_400, weight=0.5, perf_ceiling=7.5),
        "0.json": contest(["Ann", 0, 0], ["Bob", 1, 1]),
        "contest_ids.json": "[0, 2, 10]",
    }
    path = save(tmp_path, files)
    data = contests(path)
    second, third = [("Bob", 0, 1), ("Zoë", 1, 1), ("Ann", 1, 1)], [("Ann", 0, 0.5), ("Dan", 0, 0.5)]
    assert grid(data) == [(1, [("Ann", 0, 1), ("Bob", 1, 1)]), (2, second), (3, third)] and data.clock == "dates"
    assert data.players.tolist() == ["Ann", "Bob", "Zoë", "Dan"]
    assert data.rounds.events.ceiling.tolist() == [np.inf, np.inf, 7.5]
    save(tmp_path, {"0.json": contest(["Ann", 0, 0], ["Bob", 1, 1], seconds=4 * 86_400)})
    assert [time for time, _ in grid(contests(path))] == [4, 2, 3] and data.contests.tolist() == [0, 2, 10]
    data = contests(path, sort=True, history=known("Dan"))
    assert [time for time, _ in grid(data)] == [2, 3, 4] and data.players[0] == "Dan"
    assert data.rows.tolist() == [2, 3, 4, 5, 6, 0, 1]


def test_contests_without_time(tmp_path):
    files = {f"{i}.json": contest([str(i), 0, 0], ["x", 1, 1], seconds=0) for i in (1, 2)}
    data = contests(save(tmp_path, files), sort=True)
    assert data.events.events.time.tolist() == [0, 0] and data.clock is None


def test_ergast(tmp_path):
    results = "1,5,1,1,1\n2,5,2,\\N,R\n3,5,3,2,2\n4,5,4,\\N,W\n5,5,5,\\N,D\n6,9,2,3,3\n7,9,1,\\N,N\n8,9,2,1,1\n"
    results += "9,9,4,2,2\n10,9,5,\\N,F\n11,9,1,\\N,E\n"
    data = ergast(save(tmp_path, RACING | {"results.csv": RESULTS + results}), history=known("Cy Wood"))
    first, second = days("2021-03-21", "2021-03-28")
    assert grid(data) == [
        (first, [("Kimi Räikkönen", 2, 1), ("Ann Lee", 0, 1), ("Bo Ek (4)", 1, 1)]),
        (second, [("Kimi Räikkönen", 0, 1), ("Ann Lee", 2, 1), ("Bo Ek (3)", 1, 1), ("Cy Wood", 2, 1)]),
    ]
    assert data.rows.tolist() == [6, 7, 8, 0, 1, 2, 4] and data.clock == "dates"
    assert data.players.tolist() == ["Cy Wood", "Kimi Räikkönen", "Ann Lee", "Bo Ek (4)", "Bo Ek (3)"]


@pytest.mark.parametrize("ratings", MARKS)
def test_movielens(tmp_path, ratings):
    path, mission = save(tmp_path, files := movie_files(ratings)), "Mission: Impossible, 1"
    data = movielens(path, history=known("user 7"))
    heats = [["Heat (1995) (10)", user] for user in ("user 1", "user 7")]
    assert names(data) == [[mission, "user 1"], ["Heat (1995) (30)", "user 7"], *heats]
    assert data.events.score.tolist() == [0, 0, 1, 1] and data.players[0] == "user 7"
    assert (data.events.time - DAY).tolist() == [0, 0.5, 1, 1] and data.clock == "dates"
    assert data.rows.tolist() == [1, 3, 0, 2]
    (path / [*files][1]).unlink()
    data = movielens(path / ratings, like=5.0)
    assert data.players.tolist() == ["movie 10", "user 1", "movie 20", "user 7", "movie 30"]
    assert data.events.score.tolist() == [0, 0, 0, 1]


def test_lichess(tmp_path):
    twice = "g1,TRUE,1.50421E+12,1.50421E+12,13,outoftime,white,15+2,ann,1500,bob\n"
    text = f"{LICHESS}{twice}g2,TRUE,1000000000000,0,13,resign,black,15+2,cy,1500,ann\n{twice}"
    text += "g3,TRUE,1.1E+12,0,13,draw,draw,15+2,cy,1500,bob\n"
    data = lichess(save(tmp_path, {"games.csv": text}) / "games.csv", history=known("bob"))
    assert names(data) == [["cy", "ann"], ["cy", "bob"], ["ann", "bob"]]
    assert data.events.score.tolist() == [0, 0.5, 1] and data.events.context.side.tolist() == [1, 1, 1]
    assert data.events.time.tolist() == [x / 86_400 for x in (1e9, 1.1e9, 1_504_210_000)] and data.clock == "dates"
    assert data.rows.tolist() == [1, 3, 0] and data.players[0] == "bob" and data.events.context.columns is None


def test_lichess_ratings(tmp_path):
    text = "id,created_at,winner,turns,white_id,white_rating,black_id,black_rating\n"
    text += "g1,0,white,13,ann,1500,bob,1400\ng2,0,draw,7,cy,1500,bob,\n"
    path = save(tmp_path, {"games.csv": text}) / "games.csv"
    columns = lichess(path, columns=["turns", "rating_difference"]).events.context.columns
    assert {name: x.tolist() for name, x in columns.items()} == {"turns": [13, 7], "rating_difference": [100, 0]}
    assert lichess(path, covariates="white_rating").covariates == ("white_rating",)


def load(folder, text, **arguments):
    return pgn(save(folder, {"games.pgn": text}) / "games.pgn", **arguments)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("chunk", [1, 7, 64, 10_000])
def test_pgn(tmp_path, monkeypatch, chunk, end):
    monkeypatch.setattr(pgn_games, "CHUNK", chunk)
    odd = 'Doe, \\"J\\" \\\\o'
    wrapped = '1. e4 {a comment\n[%clk 0:01:00] with\n[brackets] and\n[White has won} e5\n% [White "no"]\n1/2-1/2'
    text = "\ufeff" + game().partition("\n")[2] + game(odd, "Zoë", "1/2-1/2", wrapped)
    text += game("Ann", "Cy", "*") + game("Ann", "?", "*") + game("Bob", "Cy", "0-1", moves="")
    text += game("Bob", "Ann", "½-½") + game("Bob", "Ann", "0.5-0.5")
    text += '[Result "1-0"]\n%escape\n[Black   "Ann"] \n[White "Zoë"]\n\n1-0'
    data = load(tmp_path, text.replace("\n", end), sort=True)  # by no time
    bob = ["Bob", "Cy"], ["Bob", "Ann"], ["Bob", "Ann"]
    assert names(data) == [["Ann", "Bob"], ['Doe, "J" \\o', "Zoë"], *bob, ["Zoë", "Ann"]]
    assert data.events.score.tolist() == [1, 0.5, 0, 0.5, 0.5, 1] and data.events.context.side.tolist() == [1] * 6
    assert data.events.time.tolist() == [0] * 6 and data.rows.tolist() == [0, 1, 4, 5, 6, 7] and data.clock is None


def test_pgn_times(tmp_path):
    dates = [
        {"Date": "2024.??.??"},
        {"Date": "2024.02.??", "UTCDate": "????.??.??"},
        {"Date": "2023.02.07", "UTCDate": "2024.02.07", "UTCTime": "18:30:15"},
        {"UTCDate": "2024.02.08", "UTCTime": "??:??:??"},
        {"Date": "2024.02.09", "UTCTime": "18:30:15"},
        {"Date": "2024.??.31"},
    ]
    data = load(tmp_path, "".join(game(**tags) for tags in dates), sort=True, history=known("Bob"))
    expected = days("2024-01-01", "2024-01-01", "2024-02-01", "2024-02-07T18:30:15", "2024-02-08", "2024-02-09")
    assert np.allclose(data.events.time, expected, atol=1e-9) and data.rows.tolist() == [0, 5, 1, 2, 3, 4]
    assert data.clock == "dates" and data.players.tolist() == ["Bob", "Ann"]


def test_pgn_ratings_and_further_tags(tmp_path):
    games = game(WhiteElo="1800", BlackElo="1650", TimeControl="60+0") + game(BlackElo="?", TimeControl='a\\"b')
    data = load(tmp_path, games, category="TimeControl")
    assert data.covariates == () and data.categories.tolist() == ["60+0", 'a"b']
    assert data.events.context.columns["rating_difference"].tolist() == [150, 0]
    assert load(tmp_path, game()).events.context.columns is None  # as White alone has a rating
    assert load(tmp_path, games, covariates="rating_difference").covariates == ("rating_difference",)
    assert load(tmp_path, games, covariates=["WhiteElo"]).events.context.columns["WhiteElo"].tolist() == [1800, 1500]
    with pytest.raises(ValueError, match="^games.pgn: line 10: column 'Round' has no value"):
        load(tmp_path, game(Round="1") + game(), columns="Round")
    with pytest.raises(ValueError, match="'a b' is no tag of PGN"):
        load(tmp_path, games, columns="a b")
    with pytest.warns(UserWarning, match="1 of 2 rows has no result and is left out"):
        load(tmp_path, '[Event "x"]\n\n' + game())


def test_pgn_latin(tmp_path):
    data = load(tmp_path, game("Zoë", "Ann").encode() + game("Zoë", "Þór").encode("latin-1"))
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
