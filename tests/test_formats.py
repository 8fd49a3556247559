"""Loaders of public formats, each on small files written in that format, oddities and all."""

import subprocess
import sys

import numpy as np
import pytest

from jaxrate.data.formats import FORMATS, football, tennis

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
        "football": "not football results, no column 'date'",
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
    one = tennis(path / "atp_matches_2023.csv", players=["Cy Wood (10)"])
    assert one.players[0] == "Cy Wood (10)" and names(one)[0] == ["Bo Ek (9)", "Cy Wood (10)"]


@pytest.mark.parametrize(
    "row, message",
    {
        "20230230,1,7,A,8,B,,F": "column 'tourney_date' is '20230230', not a date as 20240131",
        "20231301,1,7,A,8,B,,F": "column 'tourney_date' is '20231301', not a date",
        "2023-01-02,1,7,A,8,B,,F": "column 'tourney_date' is '2023-01-02', not a number",
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
    with pytest.raises(ValueError, match=rf"^atp_matches_2000.csv: row 2 \(counting from 0, line 5\): {message}"):
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
    data = football(path / "results.csv")
    assert names(data) == [["Scotland", "England"], ["England", "Åland"], ["England", "Scotland"]]
    assert data.players.tolist() == ["Scotland", "England", "Åland"]
    assert data.events.score.tolist() == [0.5, 0, 1]
    assert data.events.context.side.tolist() == [1, 0, 1]
    assert data.events.time.tolist() == days("1872-11-30", "2024-06-01", "2024-06-02").tolist()
    assert data.margin == ("home_score", "away_score")
    assert data.events.context.columns["away_score"].tolist() == [0, 10, 1]


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
        assert len(football(path, category="tournament", skip_incomplete=True).events.score) == 1
    for options, message in (
        (
            {"category": "tournament"},
            r"results.csv: row 2 \(counting from 0, line 4\): column 'tournament' has no value",
        ),
        ({"covariates": "city"}, r"results.csv: row 1 \(counting from 0, line 3\): column 'city' is 'y', not a number"),
        ({"columns": "wind"}, "results.csv: not football results, no column 'wind'"),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            football(path, **options)
    with pytest.raises(TypeError, match="formats take no 'home'"):
        football(path, home="country")


@pytest.mark.parametrize(
    "row, message",
    {
        "1999-01-01,A,B,1,0,x,y,z,FALSE": "time 1999-01-01 is earlier than 2000-01-01 in the row before; .*sort=True",
        "2000-01-01,A,B,1,x,x,y,z,FALSE": "column 'away_score' is 'x', not a number",
        "2000-13-01,A,B,1,0,x,y,z,FALSE": "column 'date' is '2000-13-01', not an ISO date",
        "2000-01-01,A,A,1,0,x,y,z,FALSE": "A is on both sides",
        "2000-01-01,A,B,1,0,x,y,z,maybe": "column 'neutral' is 'maybe', expected one of TRUE, FALSE",
        "2000-01-01,A,,1,0,x,y,z,TRUE": "column 'away_team' has no value",
    }.items(),
)
def test_bad_football(folder, row, message):
    text = FOOTBALL + "2000-01-01,A,B,NA,NA,x,y,z,FALSE\n2000-01-01,A,B,1,1,x,y,z,FALSE\n" + row + "\n"
    path = folder(results__csv=text) / "results.csv"
    with pytest.raises(ValueError, match=rf"^results.csv: row 2 \(counting from 0, line 4\): {message}"):
        football(path)


def test_football_sorted_or_unplayed(folder):
    rows = ["2000-01-01,A,B,NA,1,x,y,z,FALSE\n", "2000-01-03,A,B,1,1,x,y,z,FALSE\n", "2000-01-02,B,C,1,0,x,y,z,TRUE\n"]
    data = football(folder(results__csv=FOOTBALL + "".join(rows)) / "results.csv", sort=True, players=["C"])
    assert names(data) == [["B", "C"], ["A", "B"]] and data.players[0] == "C" and data.rows.tolist() == [2, 1]
    with pytest.raises(ValueError, match="^results.csv: no rows are left of 1$"):
        football(folder(results__csv=FOOTBALL + rows[0]) / "results.csv")


def test_rest_form_and_age_of_a_format(tmp_path):
    """Ages are text there, and rest and form no columns."""
    rows = [f"202401{i + 1:02},1,Ada,2,Bo,6-4 6-3,R32,Hard,{20 + i / 10},{25.5 if i else ''}" for i in range(4)]
    head = "tourney_date,winner_id,winner_name,loser_id,loser_name,score,round,surface,winner_age,loser_age"
    path = tmp_path / "atp_matches_2024.csv"
    path.write_text("\n".join([head, *rows, ""]))
    data = tennis(path, age=["winner_age", "loser_age"], rest=7, form=30)
    columns = data.matches.context.columns
    assert data.covariates == ("rest", "form", "age")
    np.testing.assert_allclose(columns["age"], [0.0, -5.4, -5.3, -5.2], atol=1e-6)
    assert columns["form"][0] == 0 and (np.diff(columns["form"]) > 0).all()
