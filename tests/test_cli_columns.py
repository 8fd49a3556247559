"""Commands with formats, weights, categories and further columns."""

import re

import numpy as np
import pytest

import jaxrate as jr
from tests.conftest import mark_full

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def races(tmp_path, league):
    """The same games among races, one of them random."""
    names, kinds = np.array([f"player {i:02}" for i in range(40)]), np.array(["Protoss", "Terran", "Zerg", "Random"])
    race = kinds[np.random.default_rng(0).choice(4, (600, 2), p=[0.35, 0.3, 0.3, 0.05])]
    a, b = names[league.player].T
    path = tmp_path / "races.csv"
    columns = {"a": a, "b": b, "score": league.score, "time": league.time, "race_a": race[:, 0], "race_b": race[:, 1]}
    jr.data.write(columns | {"map": np.array(["Lost Temple", "Python"])[np.arange(600) % 2]}, path)
    return path


# formats


def test_formats_by_name_and_by_ending(jaxrate, tmp_path):
    game = '[White "Ada"]\n[Black "Bo"]\n[Result "1-0"]\n[Date "2024.01.31"]\n\n1. e4 1-0\n\n'
    (tmp_path / "games.pgn").write_text(game * 2)
    code, text, errors = jaxrate("rate", tmp_path / "games.pgn", "--quiet", "--out", tmp_path / "run")
    assert code == 0 and "2 matches of 2 players" in text and errors == ""
    assert jaxrate("rate", tmp_path / "games.pgn", "--format", "pgn")[1].startswith("glicko: 2 matches")
    (tmp_path / "results.csv").write_text(
        "date,home_team,away_team,home_score,away_score,tournament,city,country,neutral\n"
        "2024-01-31,Malta,Cyprus,2,1,Friendly,Ta' Qali,Malta,FALSE\n"
    )
    assert "1 match of 2 teams" in jaxrate("rate", tmp_path / "results.csv", "--format", "football")[1]
    more = ("--format", "football", "--system", "skills", "--category", "tournament", "--season", "country")
    code, text, errors = jaxrate("rate", tmp_path / "results.csv", *more)
    assert code == 0 and "skills: 1 match of 2 teams" in text, errors
    for arguments, message in (
        ((tmp_path / "results.csv", "--format", "soccer"), "unknown format 'soccer' (there are tennis, football, pgn"),
        ((tmp_path / "results.csv", "--format", "fotball"), "unknown format 'fotball'; did you mean 'football'?"),
        (
            (tmp_path / "results.csv", "--format", "football", "--a", "x"),
            "--a cannot be combined with --format football",
        ),
    ):
        code, _, errors = jaxrate("rate", *arguments)
        assert code == 2 and message in errors


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
    text = jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv", "--side", "b")[1]  # what is given now wins
    assert all(int(line.split()[-4].rstrip("%")) < 40 for line in text.splitlines()[-2:])
    (tmp_path / "more.csv").write_text("white,black,score,day\nAda,Cy,1,2024-02-01\n")
    columns = ("--a", "white", "--b", "black", "--time", "day", "--side", "a")
    state = ("--state", tmp_path / "run", "--out", tmp_path / "run")
    assert jaxrate("rate", tmp_path / "more.csv", *state, *columns)[0] == 0
    (tmp_path / "coming.csv").write_text("white,black,day\nAda,Cy,2024-03-01\n")  # the columns are remembered
    assert jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv")[0] == 0
    (tmp_path / "won.csv").write_text("winner,loser,day\nAda,Cy,2024-03-01\n")  # and a new form replaces the old one
    more = ("--state", tmp_path / "run", "--winner", "winner", "--side", "day")
    assert "day" in jaxrate("rate", tmp_path / "won.csv", *more)[2]


def test_weights_count(jaxrate, tmp_path):
    rows = [("x", "y", 1, 1, 3), ("y", "z", 0, 2, 1), ("x", "z", 1, 3, 2)]
    weighted = "".join(f"{a},{b},{s},{t},{w}\n" for a, b, s, t, w in rows)
    (tmp_path / "games.csv").write_text("a,b,score,time,weight\n" + weighted)
    data = jr.read(tmp_path / "games.csv", weight="weight")
    result = jr.run(jr.elo(), data.matches)
    loss = jr.metrics.log_loss(result.prediction, data.matches.score, weight=[3, 1, 2])
    for command in (("rate", "--no-calibrate"), ("compare",)):
        text = jaxrate(*command, tmp_path / "games.csv", "--weight", "weight", "--system", "elo")[1]
        assert f"{loss:.4f}" in text and str(round(loss, 4)) not in ("0.0", "")
    plain = jr.metrics.log_loss(result.prediction, data.matches.score)
    assert f"{loss:.4f}" != f"{plain:.4f}"


# categories


def test_rate_by_categories(jaxrate, races, tmp_path):
    """Two columns and a mixture; periods of the system's own length; the tables name the categories."""
    by = ["--system", "category_glicko", "--category", "race_a", "race_b", "--mixtures", "Random", races]
    code, out, err = jaxrate("rate", *by, "--out", tmp_path / "run")
    assert code == 0, err
    assert "category_glicko rates in periods, here of 14" in err and "in periods of 14" in out
    data = jr.read(races, category=("race_a", "race_b"), mixtures={"Random": None})
    system = jr.category_glicko(3)
    rated = jr.rate(system, data, period=14.0)
    table = pa.parquet.read_table(tmp_path / "run" / "predictions.parquet")
    np.testing.assert_array_equal(table["prediction"], rated.predictions["prediction"])
    table = pa.parquet.read_table(tmp_path / "run" / "ratings.parquet").sort_by("id")
    for i, name in enumerate(data.categories):
        np.testing.assert_array_equal(table[f"modifier {name}"], rated.state.modifiers[:, i])
        np.testing.assert_allclose(table[f"deviation {name}"], np.sqrt(rated.state.modifier_variance[:, i]))


def test_categories_carry_on_and_are_predicted(jaxrate, races, tmp_path):
    lines = races.read_text().splitlines()
    times = np.array([float(line.split(",")[3]) for line in lines[1:]])
    cut = 1 + int(np.searchsorted(times, 504.0))
    for name, rows in (("first", lines[1:cut]), ("second", lines[cut:])):
        (tmp_path / f"{name}.csv").write_text("\n".join([lines[0], *rows]) + "\n")
    by = ["--category", "race_a", "race_b", "--mixtures", "Random=Zerg:0.5,Protoss:0.5"]
    for file, more in (("first", by), ("second", ["--state", tmp_path / "run"])):
        system = ["--system", "category_glicko"] if file == "first" else []
        code, _, err = jaxrate("rate", tmp_path / f"{file}.csv", *system, *more, "--out", tmp_path / "run")
        assert code == 0, err
    code, _, err = jaxrate("rate", races, "--system", "category_glicko", *by, "--out", tmp_path / "whole")
    assert code == 0, err
    run, whole = (jr.load(tmp_path / name) for name in ("run", "whole"))
    assert run.categories.tolist() == whole.categories.tolist()
    for x, y in zip(run.state, whole.state, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-3)
    (tmp_path / "next.csv").write_text("a,b,race_a,race_b\nplayer 01,player 02,Zerg,Random\n")
    code, out, err = jaxrate("predict", tmp_path / "run", tmp_path / "next.csv")
    assert code == 0 and "player 01" in out, err
    (tmp_path / "next.csv").write_text("a,b,race_a,race_b\nplayer 01,player 02,Zerg,Xel\n")
    code, _, err = jaxrate("predict", tmp_path / "run", tmp_path / "next.csv")
    assert code == 2 and "row 0 (counting from 0, line 2): unknown category 'Xel'" in err


def test_compare_has_category_glicko_where_there_are_categories(jaxrate, races):
    named = ["--system", "glicko", "--system", "category_glicko"]
    code, out, err = jaxrate("compare", races, *named, "--period", "30", "--category", "map")
    assert code == 0, err
    lines = [line.split()[:2] for line in out.splitlines() if "glicko" in line]
    assert sorted(lines[:3]) == [["category_glicko", "periods"], ["glicko", "by"], ["glicko", "periods"]]
    assert "\nNot used by glicko: categories.\n" in out


def test_category_takes_one_column_or_two_wherever_they_stand(jaxrate, races, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "race_b").mkdir()  # a folder of that name does not matter
    quick = ["--system", "category_glicko", "--mixtures", "Random", "--quiet", "--top", "1"]
    before = jaxrate("rate", "--category", "race_a", "race_b", *quick, "races.csv")
    for two in (["--category=race_a", "race_b"], ["--category", "race_a", "--category", "race_b"]):
        assert (
            jaxrate("rate", "races.csv", *quick, *two)[1].partition("matches in")[0]
            == before[1].partition("matches in")[0]
        )
    assert before[0] == 0 and re.search("strength against +[A-Z]", before[1])
    only = quick[:2] + quick[4:]
    code, out, _ = jaxrate("rate", *only, "--category", "map", "--period", "30", "races.csv")
    assert code == 0 and "Lost Temple" in out and "in periods of 30" in out and "\nlog loss" in out
    assert "no such file" in jaxrate("rate", *only, "--category", "map", "races")[2]


def test_categories_that_a_system_does_not_know_are_not_kept(jaxrate, races, tmp_path):
    code, _, err = jaxrate("rate", races, "--system", "elo", "--category", "map", "--out", tmp_path / "run")
    assert code == 0 and "elo does not use categories; category_glicko and skills do\n" in err
    assert jr.load(tmp_path / "run").categories is None
    (tmp_path / "next.csv").write_text("a,b\nplayer 01,player 02\n")
    code, _, err = jaxrate("predict", tmp_path / "run", tmp_path / "next.csv")
    assert code == 0, err


def test_plan_says_what_category_glicko_lacks(jaxrate, races):
    only = ["--system", "category_glicko"]
    assert "only with --period" in jaxrate("plan", races, *only, "--category", "map")[1]
    assert "only with --category" in jaxrate("plan", races, *only, "--period", "14")[1]
    code, out, _ = jaxrate("plan", races, *only, "--category", "map", "--period", "14")
    assert code == 0 and re.search(r"category_glicko +[\d.]+ MB", out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--system", "category_glicko"], "needs the categories of both players of every match"),
        (["--category", "race_a", "race_b", "--param", "categories=2"], r"row \d+ .*category 2, counting from 0, but"),
        (["--category", "race_a", "rcae_b"], "no column 'rcae_b'; did you mean 'race_b'"),
        (
            ["--category", "race_a", "--mixtures", "Random=Zerg,Teran"],
            "has 'Teran', which is no category; did you mean",
        ),
        (["--category", "race_a", "--mixtures", "Random=Zerg:x"], "--mixtures Random=Zerg:x: write as in Random,"),
        (
            ["--category", "race_a", "--mixtures", "Random=Zerg:0.5,Zerg:0.5"],
            "--mixtures Random=Zerg:0.5,Zerg:0.5: write",
        ),
        (["--category", "race_a", "--mixtures", "Randm"], "the mixture 'Randm' is in no row; did you mean 'Random'"),
        (["--category", "race_a", "--mixtures", "Random", "--mixtures", "Random"], "--mixtures names one twice"),
        (["--mixtures", "Random"], "mixtures and categories need category"),
        (["--category", "race_a", "race_b", "--category", "map"], "category must be one column or the pair"),
        (["--category", "map", "--time", "race_a"], "row 0 .*column 'race_a' is .*, not an ISO date"),
    ],
)
def test_category_mistakes_are_said(jaxrate, races, arguments, message):
    code, out, err = jaxrate("rate", races, "--system", "category_glicko", *arguments)
    assert code == 2 and out == "" and re.search(message, err), err


# further columns


def test_columns_of_ones_own_reach_the_rules_and_are_kept(jaxrate, tmp_path, monkeypatch):
    """Of a system that predicts what a column says."""
    elo = jr.elo()._replace(name="told")

    def say(constants, rows, event):
        return 0.5 + event.context.columns["lead"] + 0.0 * rows.rating[0]

    monkeypatch.setitem(jr.extend.SYSTEMS, "told", lambda **params: elo._replace(rules=elo.rules._replace(predict=say)))
    (tmp_path / "games.csv").write_text("a,b,score,lead,weather\nx,y,1,0.25,1\ny,x,0,-0.125,0\n")
    further = ("--columns", "lead", "--columns", "weather", "--no-calibrate", "--out", tmp_path / "run")
    code, _, errors = jaxrate("rate", tmp_path / "games.csv", "--system", "told", *further)
    assert code == 0, errors
    assert pa.parquet.read_table(tmp_path / "run" / "predictions.parquet")["prediction"].to_pylist() == [0.75, 0.375]
    (tmp_path / "coming.csv").write_text("a,b,lead,weather\nx,y,0.375,0\n")  # the columns are remembered
    code, text, errors = jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv")
    assert code == 0 and text.splitlines()[-1].split()[-4] == "88%", errors
    for table, message in (("a,b\nx,y\n", "coming.csv: no column 'lead'"), ("a,b,lead\nx,y,z\n", "'weather'")):
        (tmp_path / "coming.csv").write_text(table)
        code, _, errors = jaxrate("predict", tmp_path / "run", tmp_path / "coming.csv")
        assert code == 2 and message in errors


READING = """--time when; --time none; --na-values ?; --sort; --dates day-first; --skip-incomplete; --normalise-names
--a a; --b b; --side a; --neutral n; --season n; --weight n; --score n; --drop x; --winner a; --margin n; --category n
--covariates n; --rest 3; --form 3; --contest n; --participant a; --team n; --rank n; --statistics n; --age n"""


@pytest.mark.parametrize("command", mark_full(["predict", "season"], "predict"))
def test_options_of_reading_never_end_in_a_traceback(jaxrate, tmp_path, command):
    """`predict RUN FILE --time COLUMN` was a TypeError: the column and the time of --at had one name."""
    played, coming = tmp_path / "played.csv", tmp_path / "coming.csv"
    played.write_text("a,b,score,date\nAda,Bo,1,2026-05-01\nBo,Cy,0,2026-05-02\n")
    assert jaxrate("rate", played, "--system", "elo", "--plain", "--out", tmp_path / "run")[0] == 0
    coming.write_text("a,b,when,n\nAda,Cy,2026-06-01,1\n")
    extra = ("--samples", 10) if command == "season" else ()
    for option in map(str.split, re.split("[;\n]", READING)):
        code, text, errors = jaxrate(command, tmp_path / "run", coming, *extra, *option)
        assert code in (0, 2) and "unexpected TypeError" not in errors and "Traceback" not in errors, (option, errors)
        if option == ["--time", "when"]:
            assert code == 0 and "end of the history" not in errors, errors
            assert command == "season" or "2026-06-01" in text
        if option == ["--time", "none"]:
            assert code == 2 and "no column 'none'" in errors
    if command == "predict":
        code, _, errors = jaxrate("predict", tmp_path / "run", coming, "--time", "when", "--at", "2026-06-02")
        assert code == 2 and "--at is for fixtures without times, and --time names their column" in errors
