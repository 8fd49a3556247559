"""The command line through its entry point: what it prints, writes and refuses."""

import re
import sys

import numpy as np
import pytest

import jaxrate as jr
from jaxrate import cli, simulate

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def jaxrate(capsys, monkeypatch):
    """Run the command with arguments; returns exit code, output and errors."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["jaxrate", *map(str, arguments)])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def league():
    return simulate.league(40, 600, seed=4, draws=0.2).matches


@pytest.fixture
def games(tmp_path, league):
    """A CSV file of the league with named players, a side and a column of walkovers."""
    names = np.array([f"player {i:02}" for i in range(40)])
    path = tmp_path / "games.csv"
    a, b = names[league.player].T
    columns = {"a": a, "b": b, "score": league.score, "time": league.time}
    jr.write(columns | {"home": np.ones(600), "walkover": np.arange(600) % 100 == 0}, path)
    return path


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("system", ["elo", "glicko", "glicko2"])
def test_rate_writes_what_run_computes(jaxrate, games, tmp_path, system, suffix):
    out = tmp_path / "new" / "folder"
    code, text, errors = jaxrate(
        "rate", games, "--system", system, "--out", out, "--format", suffix, "--drop", "walkover"
    )
    assert code == 0 and errors == ""
    data = jr.read(games, drop="walkover")
    rated = getattr(jr, system)()
    result = jr.run(rated, data.matches)
    assert f"{system}: 594 matches of 40 players" in text
    assert f"log loss          {jr.metrics.log_loss(result.prediction, data.matches.score):.4f}" in text
    assert str(jr.leaderboard(rated, result.state, data.players, top=10)) in text
    reader = pa.parquet.read_table if suffix == "parquet" else pa.csv.read_csv
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401

    ratings = reader(out / f"ratings.{suffix}").to_pydict()
    predictions = reader(out / f"predictions.{suffix}").to_pydict()
    board = jr.leaderboard(rated, result.state, data.players, top=40)
    assert ratings["player"] == list(board.player)
    np.testing.assert_allclose(ratings["rating"], board.rating, rtol=1e-6)
    assert predictions["row"] == list(data.rows)
    assert sum(ratings["games"]) == 2 * 594
    assert ("deviation" in ratings) == (system != "elo")
    assert predictions["a"] == list(data.players[data.matches.player[:, 0]])
    np.testing.assert_allclose(predictions["prediction"], result.prediction, rtol=1e-6)
    assert sorted(p.name for p in out.iterdir()) == [f"predictions.{suffix}", f"ratings.{suffix}"]


def test_rate_takes_parameters_periods_and_a_side(jaxrate, games):
    data = jr.read(games, side="home")
    system = jr.glicko(c=30, deviation_max=None, side_advantage=40, period=50)
    result = jr.run(system, jr.periods(data.matches, 50.0))
    parameters = ("--param", "c=30", "--param", "deviation_max=none", "--param", "side_advantage=40")
    code, text, errors = jaxrate("rate", games, *parameters, "--period", 50, "--side", "home", "--top", 3)
    assert code == 0 and errors == ""
    assert f"log loss          {jr.metrics.log_loss(result.prediction, data.matches.score):.4f}" in text
    assert "in periods of 50" in text and len(text.split("\n\n")[1].splitlines()) == 4


def test_without_a_time_nobody_ages_and_there_are_no_periods(jaxrate, tmp_path):
    path = tmp_path / "games.csv"
    path.write_text("a,b,score\nx,y,1\ny,z,0\n")
    code, _, errors = jaxrate("rate", path)
    assert code == 0 and "no column of time, so deviations do not grow" in errors
    code, _, errors = jaxrate("rate", path, "--period", 7)
    assert code == 2 and "--period needs a column of time" in errors


def test_alone_it_prints_help(jaxrate):
    code, text, _ = jaxrate()
    assert code == 2 and text.startswith("Usage: ")


def test_a_side_without_an_advantage_is_pointed_out(jaxrate, games):
    code, _, errors = jaxrate("rate", games, "--side", "home")
    assert code == 0 and "side_advantage is 0" in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'FILE'"),
        (("FILE", "--sytem", "elo"), "No such option"),
        (("FILE", "--system", "gliko"), "unknown system 'gliko'; there are elo, glicko, glicko2"),
        (("FILE", "--param", "K=3"), "glicko has no parameter 'K'; it has c, initial_rating"),
        (("FILE", "--param", "c"), "--param c: write name=value with a number"),
        (("FILE", "--param", "c=many"), "--param c=many: write name=value with a number"),
        (("FILE", "--param", "c=-1"), "c must be >= 0"),
        (("FILE", "--period", "0"), "--period must be above 0, got 0"),
        (("FILE", "--score", "points"), "games.csv: no column 'points'"),
        (("FILE", "--drop", "retired"), "games.csv: no column 'retired'"),
        (("FILE", "--neutral", "home"), "neutral"),
        (("FILE", "--top", "0"), "0 is not in the range"),
        (("FILE", "--out", "FILE"), "is a file; name a folder"),
        (("nowhere.csv",), "nowhere.csv: no such file"),
        (("games.xlsx",), "games.xlsx"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(jaxrate, games, arguments, message):
    code, text, errors = jaxrate("rate", *(games if x == "FILE" else x for x in arguments))
    assert code == 2 and text == ""
    assert message in errors and errors.startswith("jaxrate: ") and errors.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x,x,1,3", r"games.csv: row 2 \(counting from 0, line 4\): player 0 meets himself"),
        ("x,y,7,3", "row 2 .*: score 7.0 is outside"),
        ("x,y,1,1", "row 2 .*: time .*--sort|sort"),
        ("x,y,1", "games.csv: .*"),
        ("x,,1,3", "row 2 .*"),
    ],
)
def test_bad_rows_are_named(jaxrate, tmp_path, line, message):
    path = tmp_path / "games.csv"
    path.write_text(f"a,b,score,time\nx,y,1,1\ny,x,0,2\n{line}\n")
    code, _, errors = jaxrate("rate", path, "--out", tmp_path / "out")
    assert code == 2 and errors.count("\n") == 1 and re.search(message, errors)
    assert not (tmp_path / "out").exists()


def test_demo_names_every_system_and_the_truth(jaxrate):
    code, text, _ = jaxrate("demo", "--players", 60, "--matches", 2000, "--seed", 3)
    assert code == 0
    assert all(f"\n{name} " in text for name in ("elo", "glicko", "glicko2"))
    assert "true rank" in text and "95 % interval" in text
