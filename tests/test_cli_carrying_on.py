"""Commands that carry on from a saved run, and those that look at it: as of, player, predict."""

import json
import re

import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import mark_full
from tests.test_cli import csv

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def halves(tmp_path, games):
    """The first and the second half of games.csv; players 30 to 39 appear only in the second."""
    lines = games.read_text().splitlines()
    late = [line for line in lines[1:] if re.search(r"player 3\d", line)]
    early = [line for line in lines[1:301] if line not in late]
    rest = [line for line in lines[1:] if line not in early and float(line.split(",")[3]) > 500]
    for name, part in (("first", early), ("second", rest), ("both", early + rest)):
        (tmp_path / f"{name}.csv").write_text("\n".join([lines[0], *part]) + "\n")
    return tmp_path / "first.csv", tmp_path / "second.csv", tmp_path / "both.csv"


@pytest.fixture
def run(jaxrate, halves, tmp_path):
    assert jaxrate("rate", halves[0], "--param", "c=20", "--out", tmp_path / "run")[0] == 0
    return tmp_path / "run"


def test_a_state_alone_shows_ratings_as_of_a_time(jaxrate, run, monkeypatch):
    saved = jr.load(run)
    code, text, errors = jaxrate("rate", "--state", run, "--as-of", 2000, "--top", 3)
    head = f"glicko: {len(saved.predictions)} matches of {len(saved.players)} players"
    leaders = jr.leaderboard(saved, top=3, as_of=2000)
    board = f"{leaders}\nthe first 3 of 30 players (--top 30 for all)\n"
    first, finding, table = text.split("\n\n")
    assert (code, first, table, errors) == (0, head, board, "")
    assert finding.startswith(leaders.player[0]) and " on top" in finding
    monkeypatch.chdir(run)  # FILE is empty, as the path of the folder where one is, in which there is Parquet
    assert jaxrate("rate", "--state", run)[1].startswith("glicko: ")


def test_as_of_knows_nobody_who_came_later(jaxrate, tmp_path):
    (tmp_path / "games.csv").write_text("winner,loser,t\nAda,Bo,0\nCy,Bo,1\nCy,Di,9\n")
    out = tmp_path / "run"
    code, text, _ = jaxrate("rate", tmp_path / "games.csv", "--as-of", 1, "--out", out, "--param", "c=90")
    assert code == 0 and text.startswith("glicko: 2 matches of 3 players") and "Di" not in text
    assert sorted(jr.load(out).players) == ["Ada", "Bo", "Cy"]
    (tmp_path / "later.csv").write_text("winner,loser,t\nCy,Di,9\n")
    carried = jaxrate("rate", tmp_path / "later.csv", "--state", out, "--as-of", 100, "--top", 4)[1]
    whole = jaxrate("rate", tmp_path / "games.csv", "--param", "c=90", "--as-of", 100, "--top", 4)[1]
    assert carried.split("\n\n")[2] == whole.split("\n\n")[2]
    assert carried.split("\n\n")[2] not in jaxrate("rate", tmp_path / "games.csv", "--param", "c=90", "--top", 4)[1]


def test_player_shows_every_match(jaxrate, tmp_path):
    path = tmp_path / "games.csv"
    path.write_text("winner,loser,date\nAda,Bo,2024-01-01\nCy,Bo,2024-01-02\nCy,Ada,2024-01-03\n")
    code, text, _ = jaxrate("rate", path, "--system", "elo", "--player", "Ada", "--out", tmp_path / "run")
    assert code == 0
    lines = text.split("Ada: 2 matches\n\n")[1].splitlines()
    final = float(jr.load(tmp_path / "run").state.rating[0])
    assert lines[0].split() == ["date", "opponent", "result", "expected", "change", "rating"]
    assert lines[1].split() == ["2024-01-01", "Bo", "W", "50%", "+16", "1,516"]
    assert lines[2].split() == ["2024-01-03", "Cy", "L", "50%", f"{final - 1516:+.0f}", f"{final:,.0f}"]
    assert lines[-1] == "The player's rating is after each match, all else before it."
    code, again, _ = jaxrate("rate", "--state", tmp_path / "run", "--player", "Ada")
    assert code == 0 and again.split("Ada: 2 matches")[1] == text.split("Ada: 2 matches")[1]


def expected_percent(line):
    """The chance to win and half of that to draw, of a line of the table of `predict`."""
    win, draw = (int(x.rstrip("%")) for x in line.split()[-6:-4])
    return win + draw / 2


def test_predict_says_what_to_expect(jaxrate, run, tmp_path):
    saved = jr.load(run)
    coming, out = tmp_path / "coming.csv", tmp_path / "out.csv"
    coming.write_text("a,b,time\nplayer 01,player 02,1500\nplayer 02,stranger,1501\n")
    assert "no player 'stranger'; --newcomers takes them as new players" in jaxrate("predict", run, coming)[2]
    code, text, errors = jaxrate("predict", run, coming, "--newcomers", "--out", out)
    assert code == 0 and "1 new player: stranger" in errors
    ids = [list(saved.players).index(name) for name in ("player 01", "player 02")]
    pairs = jr.matches([ids, [ids[1], len(saved.players)]], [0.5, 0.5], [1500, 1501])
    want = jr.predict(saved.system, saved.state, pairs, num_players=len(saved.players) + 1)
    for line, guess in zip(text.splitlines()[-2:], want, strict=True):
        assert expected_percent(line) == pytest.approx(100 * guess, abs=1)
    table = csv(out).to_pydict()
    assert table["b"] == ["player 02", "stranger"]
    np.testing.assert_allclose(table["expected"], want, rtol=1e-5)
    coming.write_text("a,b\n" + "player 01,player 02\n" * 40)  # without times: right after the last match
    code, text, _ = jaxrate("predict", run, coming)
    assert code == 0 and "... and 10 more; --out writes them all" in text
    for given, when in (((), saved.last), (("--at", 1700), 1700.0)):
        pairs = jr.matches([ids], [0.5], [when])
        guess = jr.predict(saved.system, saved.state, pairs)[0]
        line = jaxrate("predict", run, coming, *given)[1].splitlines()[-2]
        assert expected_percent(line) == pytest.approx(100 * guess, abs=1)
    for text, given, said in (
        ("a,b,time\nplayer 01,player 02,1500", ("--at", 1700), "the fixtures have times"),
        ("a,b\nplayer 01,player 01", (), "coming.csv: row 0 (counting from 0, line 2): player"),
        ("a,b\nplayer 01,player 01", ("--at", "May"), "--at May: write a date"),
    ):
        coming.write_text(f"{text}\n")
        code, _, errors = jaxrate("predict", run, coming, *given)
        assert code == 2 and said in errors


@pytest.mark.parametrize("has_score", [False, True])
def test_columns_that_tell_who_won_are_kept_whatever_the_system(jaxrate, tmp_path, has_score):
    played, more, coming = (tmp_path / f"{name}.csv" for name in ("played", "more", "coming"))
    head = "Heim,Gast,ToreH,ToreG"
    played.write_text(f"{head}\nAda,Bo,2,1\nBo,Cy,0,0\nCy,Ada,1,3\nAda,Bo,,\n")
    more.write_text(f"{head}\nBo,Ada,0,4\n")
    options = "--a", "Heim", "--b", "Gast", "--margin", "ToreH", "ToreG", "--system", "elo", "--out", tmp_path / "run"
    if has_score:  # another column tells who won: the margin is not needed
        played.write_text(f"{head},score\nAda,Bo,2,1,1\nBo,Cy,0,0,0.5\nCy,Ada,1,3,0\nAda,Bo,,,\n")
        more.write_text("Heim,Gast,score\nBo,Ada,0\n")
    code, _, errors = jaxrate("rate", played, *options)
    assert code == 0 and "elo does not use margins; take skills" in errors
    assert ("margin" in jr.load(tmp_path / "run").options["columns"]) != has_score
    code, text, errors = jaxrate("predict", tmp_path / "run", played)
    assert code == 0 and len(text.splitlines()) == 2 and "of 4 rows 1 is without a result and to come" in errors
    coming.write_text("Heim,Gast\nAda,Cy\n")
    assert jaxrate("predict", tmp_path / "run", coming)[0] == 0
    code, text, errors = jaxrate("rate", more, "--state", tmp_path / "run")
    assert code == 0 and "elo: 4 matches of 3 players" in text, errors


def test_teams_have_a_home_and_chances_in_percent(jaxrate, tmp_path):
    played, coming = tmp_path / "played.csv", tmp_path / "coming.csv"
    played.write_text("date,home_team,away_team,score\n2026-05-01,Ada,Bo,1\n2026-05-02,Bo,Cy,0\n2026-05-03,Cy,Ada,1\n")
    text = jaxrate("rate", played, "--system", "elo", "--out", tmp_path / "run")[1]
    assert "elo: 3 matches of 3 teams" in text and re.search("^rank +team ", text, re.MULTILINE)
    coming.write_text("date,home_team,away_team,neutral\n2026-06-01,Ada,Bo,0\n2026-06-02,Cy,Ada,1\n")
    for neutral, head in ((("--column", "neutral=neutral"), "date +home  away  side"), ((), "date +home  away  ")):
        code, text, errors = jaxrate("predict", tmp_path / "run", coming, *neutral)
        assert code == 0 and re.match(head, text.strip()), errors + text
        assert re.search(r"^2026-06-01  Ada +Bo .* \d\d%  ", text, re.MULTILINE)


def test_a_site_has_the_name_of_the_file_that_was_rated_first(jaxrate, tmp_path):
    pytest.importorskip("jinja2")
    run, out = tmp_path / "run", tmp_path / "site"
    for day, name, state in (1, "our_league", ()), (2, "later", ("--state", run)):
        (tmp_path / f"{name}.csv").write_text(f"a,b,score,date\nAda,Bo,1,2020-01-0{day}\n", encoding="utf-8")
        jaxrate("rate", tmp_path / f"{name}.csv", *state, "--out", run)
    jaxrate("site", run, "--out", out)
    assert "<title>Our league \u2013 Ranking</title>" in (out / "index.html").read_text(encoding="utf-8")
    assert "<title>Our league</title>" in jr.site.report_html(jr.load(run))
    assert "<title>Mine</title>" in jr.site.report_html(jr.load(run), title="Mine")


NAMED_COLUMNS = ("--a", "p one", "--b", "p two", "--score", "res", "--time", "day", "--side", "a", "--season", "Year")


@pytest.mark.parametrize(
    ("head", "options"), [("day,p one,p two,res,Year", NAMED_COLUMNS), ("date,Home,Away,result,season", ())]
)
def test_fixtures_are_spelt_as_usual(jaxrate, tmp_path, head, options):
    path, run, coming = tmp_path / "games.csv", tmp_path / "run", tmp_path / "coming.csv"
    path.write_text(f"{head}\n" + "".join(f"2024-01-{i + 1:02},Ada,Bo,{i % 3 > 0:d},2024\n" for i in range(9)))
    assert jaxrate("rate", path, "--system", "elo", "--param", "side_advantage=50", *options, "--out", run)[0] == 0
    tables, own = set(), ",".join(head.split(",")[1:3])
    usual = "a,b", "home,away", "player1,player2", "white,black", "winner,loser", "Team,Opponent"
    for names in (*usual, own, own.upper()):
        coming.write_text(f"{names}\nAda,Bo\n")
        code, text, errors = jaxrate("predict", run, coming)
        assert code == 0, errors
        tables.add(text.splitlines()[1].split("Ada")[-1])
    assert len(tables) == 1


def test_a_season_counts_the_results_of_its_file(jaxrate, tmp_path):
    """As those of --results do, read as the run was; of the season of what is to come, where a column tells it."""
    run, path, results = tmp_path / "run", tmp_path / "season.csv", tmp_path / "results.csv"
    head, early = "date,home,away,score,year\n", "2023-12-20,C,B,1,1\n"
    pairs = enumerate(["A,B", "B,C"] * 6)
    old = [f"2023-{i + 1:02}-01,{pair},{'void' if i == 4 else i % 2},1\n" for i, pair in pairs]
    (tmp_path / "old.csv").write_text(head + "".join(old))
    options = ("--season", "year", "--na-values", "void", "--system", "elo")
    assert jaxrate("rate", tmp_path / "old.csv", *options, "--out", run)[0] == 0
    so_far, coming = "2024-02-01,B,C,void,2\n2024-02-02,A,B,1,2\n2024-02-03,A,C,1,2\n", "2024-06-01,C,A,,2\n"
    path.write_text(head + early + so_far + coming)
    results.write_text(head + so_far)
    (tmp_path / "coming.csv").write_text(head + coming)
    code, text, errors = jaxrate("predict", run, path, "--simulate", "--json")
    assert code == 0 and "took 2 results in the table" in errors, errors
    named = "--simulate", "--results", results, "--json"
    assert jaxrate("predict", run, tmp_path / "coming.csv", *named)[:2] == (0, text)
    found = {x["player"]: (x["played"], x["points"]) for x in json.loads(text)}
    assert found == {"A": (2, 6), "B": (1, 0), "C": (1, 0)}
    path.write_text((head + early + so_far + coming).replace("2023", "2021").replace(",year", ",x"))
    code, _, errors = jaxrate("predict", run, path, "--simulate")
    assert code == 2 and "the results since 2021-12-20 are of more than a season" in errors


def test_a_season_under_way_counts_the_results_of_the_run(jaxrate, tmp_path):
    run, path, coming = tmp_path / "run", tmp_path / "games.csv", tmp_path / "coming.csv"
    head, days = "date,home,away,home_goals,away_goals,season\n", [1, 2, 3, 4, 5]
    pairs = ["A,B,1,0", "B,C,2,2", "C,D,0,3", "D,A,1,4", "X,Y,1,1"]  # of two leagues
    dates = [(f"{year}-0{month}-0{day}", year) for year in (2023, 2024) for month in (1, 2) for day in days]
    rows = [f"{date},{pairs[i % 5]},{year}\n" for i, (date, year) in enumerate(dates)]
    path.write_text(head + "".join(rows))
    coming.write_text("date,home,away,season\n2024-03-01,A,B,2024\n2024-03-02,B,D,2024\n")
    assert jaxrate("rate", path, "--out", run)[0] == 0
    code, text, errors = jaxrate("predict", run, coming, "--simulate", "--json")
    assert code == 0 and "took 8 results of the history" in errors, errors
    wanted = {"A": (4, 12), "B": (4, 2), "C": (4, 2), "D": (4, 6)}  # C has nothing left to play
    assert {x["player"]: (x["played"], x["points"]) for x in json.loads(text)} == wanted
    assert jaxrate("rate", path, "--plain", "--out", run)[0] == 0  # which knows no seasons
    code, text, errors = jaxrate("predict", run, coming, "--simulate", "--json")
    assert code == 0 and "no results of this season are known, so that everybody begins with 0 points" in errors


def test_predictions_after_a_format_know_the_side(jaxrate, tmp_path):
    game = '[White "{}"]\n[Black "{}"]\n[Result "1-0"]\n[Date "2024.01.31"]\n\n1. e4 1-0\n\n'
    (tmp_path / "games.pgn").write_text(game.format("Ada", "Bo") + game.format("Bo", "Ada"))
    (tmp_path / "coming.csv").write_text("a,b\nAda,Bo\nBo,Ada\n")
    elo = ("--system", "elo", "--param", "side_advantage=100", "--out", tmp_path / "run")
    assert jaxrate("rate", tmp_path / "games.pgn", *elo)[0] == 0
    code, text, errors = jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv")
    assert code == 0 and "nobody has the side" not in errors
    cells = [line.split() for line in text.splitlines()[-2:]]
    assert all(one[3] == one[1] and int(one[-4].rstrip("%")) > 60 for one in cells)


def test_columns_of_ones_own_reach_the_rules_and_are_kept(jaxrate, tmp_path, monkeypatch):
    elo = jr.elo()._replace(name="told")

    def say(constants, rows, event):
        return 0.5 + event.context.columns["lead"] + 0.0 * rows.rating[0]

    monkeypatch.setitem(jr.extend.SYSTEMS, "told", lambda **params: elo._replace(rules=elo.rules._replace(predict=say)))
    (tmp_path / "games.csv").write_text("a,b,score,lead,weather\nx,y,1,0.25,1\ny,x,0,-0.125,0\n")
    further = ("--column", "columns=lead", "--column", "columns=weather", "--no-calibrate", "--out", tmp_path / "run")
    code, _, errors = jaxrate("rate", tmp_path / "games.csv", "--system", "told", *further)
    assert code == 0, errors
    assert pa.parquet.read_table(tmp_path / "run" / "predictions.parquet")["prediction"].to_pylist() == [0.75, 0.375]
    (tmp_path / "coming.csv").write_text("a,b,lead,weather\nx,y,0.375,0\n")  # the columns are remembered
    code, text, errors = jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv")
    assert code == 0 and text.splitlines()[-1].split()[-4] == "88%", errors
    for table in ("a,b\nx,y\n", "a,b,lead\nx,y,0.375\n"):
        (tmp_path / "coming.csv").write_text(table)
        code, _, errors = jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv")
        assert code == 2 and "may need the columns of the run to predict: lead and weather" in errors


READING = """--time when; --time none; --na-values ?; --sort; --skip-incomplete; --a a; --b b; --side a
--season n; --score n; --winner a; --margin n; --category n; --contest n; --participant a; --team n; --rank n
--column normalise_names=yes; --column dates=day-first; --column neutral=n; --column weight=n; --column drop=x
--column covariates=n; --column rest=3; --column form=3; --column statistics=n; --column age=n"""


@pytest.mark.parametrize("extra", mark_full([[], ["--simulate", "--samples", 10]], []))
def test_options_of_reading_never_end_in_a_traceback(jaxrate, tmp_path, extra):
    played, coming = tmp_path / "played.csv", tmp_path / "coming.csv"
    played.write_text("a,b,score,date\nAda,Bo,1,2026-05-01\nBo,Cy,0,2026-05-02\n")
    assert jaxrate("rate", played, "--system", "elo", "--plain", "--out", tmp_path / "run")[0] == 0
    coming.write_text("a,b,when,n\nAda,Cy,2026-06-01,1\n")
    for option in map(str.split, re.split("[;\n]", READING)):
        code, text, errors = jaxrate("predict", tmp_path / "run", coming, *extra, *option)
        assert code in (0, 2) and "unexpected TypeError" not in errors and "Traceback" not in errors, (option, errors)
        if option == ["--time", "when"]:
            assert code == 0 and "end of the history" not in errors, errors
            assert extra or "2026-06-01" in text
        if option == ["--time", "none"]:
            assert code == 2 and "no column 'none'" in errors
    if not extra:
        code, _, errors = jaxrate("predict", tmp_path / "run", coming, "--time", "when", "--at", "2026-06-02")
        assert code == 2 and "--at cannot be combined with --time" in errors


def test_a_forgotten_state_is_told(jaxrate, run, tmp_path):
    (tmp_path / "new.csv").write_text("a,b,score\nplayer 01,player 02,1\n")
    replaced = f"replaced a run of {len(jr.load(run).predictions)} matches in {run}"
    code, _, errors = jaxrate("rate", tmp_path / "new.csv", "--out", run, "--quiet")
    assert code == 0 and f"{replaced}; to go on with a run, name it with --state {run}\n" in errors
