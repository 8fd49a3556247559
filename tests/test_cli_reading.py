"""What the command line says of files: notes, bad rows, and names that would command a terminal."""

import re
from inspect import getdoc, signature
from pathlib import Path

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.data.column_role_definitions import COLUMN_ROLES, FORMAT_NAMES
from jaxrate.data.dataset_from_table import DATASET_OPTIONS, read_by_cli_options
from jaxrate.systems.skills.system import skills_by_name

pa = pytest.importorskip("pyarrow")
cli = pytest.importorskip("jaxrate.cli")
READING_OPTIONS = pytest.importorskip("jaxrate.cli.options").READING_OPTIONS


TITLE = "\x1b]0;owned\x07"
COMMANDS = set("\x1b\x07\x9b\u202e\r")


@pytest.fixture
def strange(tmp_path):
    """A file in which names, its own too, command the terminal."""
    path = tmp_path / f"games {TITLE}.csv"
    names = TITLE, "\u202eAda", "Bo\x9b31m", "=1+1"
    rows = [(a, b) for a in names for b in names if a != b]
    jr.data.write({"winner": [a for a, _ in rows], "loser": [b for _, b in rows]}, path)
    return path


def test_names_do_not_command_the_terminal(jaxrate, strange, tmp_path):
    out = tmp_path / "run"
    code, said, notes = jaxrate("rate", strange, "--player", TITLE, "--out", out, "--csv", "-v")
    assert code == 0 and "\\x1b]0;owned\\x07" in said and "\\u202eAda" in said
    assert not COMMANDS & set(said + notes)
    players = set(jr.load(out).players)
    assert players == {TITLE, "\u202eAda", "Bo\x9b31m", "=1+1"}  # files have them as they are
    exported = {*pa.csv.read_csv(out / "ratings.csv")["player"].to_pylist()}
    assert exported == players - {"=1+1"} | {"'=1+1"}  # which no spreadsheet takes for a formula
    for arguments in ([strange, "--player", f"Cy{TITLE}"], [f"{TITLE}.csv"], ["--x" + TITLE]):
        code, said, errors = jaxrate("rate", *arguments)
        assert code == 2 and "\\x1b" in errors and not COMMANDS & set(said + errors)


def test_all_output_passes_one_door():
    printing = re.compile(r"click\.s?echo\w*\(|\bprint\(|\.print_exc\(|sys\.std\w+\.write")
    for path in Path(cli.__file__).parent.glob("*.py"):
        calls = printing.findall(path.read_text(encoding="utf-8"))
        doors = {"terminal_tables.py": 6, "command_framework.py": 1}  # tables escape cells, and help holds no data
        assert len(calls) == doors.get(path.name, 0), path.name


@pytest.fixture
def league(tmp_path):
    """Folder of games.csv with points, rest and seasons, its parts first.csv and later.csv, and next.csv to come."""
    random = np.random.default_rng(3)
    a, day = np.arange(90) % 6, np.arange(90) * 8
    b = (a + random.integers(1, 6, 90)) % 6
    points = 20 + random.poisson(3, (2, 90)) * (1 + np.stack([a, b]) // 3)
    table = {"a": a, "b": b, "date": np.datetime64("2019-08-01") + day, "pa": points[0], "pb": points[1]}
    table |= {
        "town": np.array(["Rome", "Oslo"])[a % 2],
        "rest": random.integers(-3, 4, 90),
        "season": [f"{2019 + d // 365}-{20 + d // 365}" for d in day],
    }
    for name, some in (("games", slice(None)), ("first", slice(0, 60)), ("later", slice(60, None))):
        jr.data.write({key: np.asarray(x)[some] for key, x in table.items()}, tmp_path / f"{name}.csv")
    coming = {"a": [0, 1], "b": [5, 4], "date": ["2021-09-01", "2021-09-02"], "rest": [0, 1], "season": ["2021-22"] * 2}
    jr.data.write(coming, tmp_path / "next.csv")
    return tmp_path


GOALS = ["--margin", "pa", "pb"]
SCALE = ["--param", "margin_scale=20", "--param", "compression=5"]  # which else follow from the first margins


def rate_and_predict(jaxrate, league, *options):
    """The history of games.csv, as which that of first.csv ends if it is carried on, and what this predicts."""
    whole, run = league / "whole", league / "run"
    parts = (
        ["games", *options, "--out", whole],
        ["first", *options, "--out", run],
        ["later", "--state", run, "--out", run],
    )
    for name, *more in parts:
        code, _, errors = jaxrate("rate", league / f"{name}.csv", *more)
        assert code == 0, errors
    rated = jr.load(whole)
    np.testing.assert_allclose(jr.load(run).state.mean, rated.state.mean, rtol=1e-5)
    code, _, errors = jaxrate("predict", run, league / "next.csv", "--out", league / "chances.csv")
    assert code == 0, errors
    return rated, pa.csv.read_csv(league / "chances.csv")["expected"].to_numpy()


def test_evidence_from_columns(jaxrate, league):
    columns = *GOALS, "--column", "covariates=rest", "--season=season", "--system", "skills"
    rated, got = rate_and_predict(jaxrate, league, *columns, *SCALE)
    system = rated.system
    assert system.settings["margin"] == ("pa", "pb") and system.settings["covariates"] == ("rest",)
    assert system.settings["seasons"] == tuple(18109.0 + np.array([0, 368]))
    roles = {"margin": ("pa", "pb"), "covariates": "rest", "season": "season"}
    coming = jr.read(league / "next.csv", **roles, history=rated, upcoming=True)
    assert len(coming.seasons) == 3
    knowing = skills_by_name(**system.settings | {"seasons": coming.seasons}, **system.params._asdict())
    wanted, other = (np.asarray(jr.predict(x, rated.state, coming.events)) for x in (knowing, system))
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    assert (abs(got - other) > 1e-3).all()  # of those who know no new season


def test_the_league_that_ships_is_a_file(jaxrate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    until = ["--system", "elo", "--as-of", "1921-01-01", "--top", "1"]
    code, said, errors = jaxrate("rate", "nfl", "--margin", "home_points", "away_points", *until)
    assert code == 0 and "elo: 90 matches of 49" in said and "elo does not use margins" in errors
    assert "elo also learns from the side (50 points) and seasons" in errors  # it ignored who is at home
    (tmp_path / "nfl").mkdir()
    (tmp_path / "nfl" / "games.csv").write_text("a,b,score\n", encoding="utf-8")  # a folder of that name comes first
    assert "nfl: no rows" in jaxrate("rate", "nfl", *until)[2]


def test_options_have_the_names_of_arguments():
    others = {"source", "history", "upcoming", "on_faulty"}  # which are no options
    assert (*jr.data.formats.FORMATS,) == FORMAT_NAMES
    own = {"format", "skip_incomplete", *DATASET_OPTIONS}
    assert {*READING_OPTIONS} - own == {*signature(jr.read).parameters} - others and own <= {*READING_OPTIONS}


def test_signatures_and_docstrings_are_those_of_the_roles():
    parameters, text = signature(jr.read).parameters, " ".join(getdoc(jr.read).split())
    for function in (jr.read, jr.rate):
        assert {*COLUMN_ROLES} <= {*signature(function).parameters}
    assert "COLUMNS" not in text
    for name in COLUMN_ROLES:
        role, parameter = COLUMN_ROLES[name], parameters[name]
        details = READING_OPTIONS[name].help.lower()
        assert repr(parameter.default) == "..." and f"{name}: " in text and f"{role.meaning}." in text
        assert role.meaning.partition("`")[0].rstrip().lower() in details and all(x in details for x in role.default)


def test_rest_form_and_age_are_made_of_the_file(jaxrate, league):
    spans = "rest=5", "layoff=3", "activity=9", "form=30", "relative_margin=9", "age=pa,pb", "league_season=season"
    weights = "rest=9", "layoff=6", "activity=4", "form=20", "ground=7", "age=-2"
    made = [x for name, values in (("--column", spans), ("--param", weights)) for span in values for x in (name, span)]
    coming = {"a": [0, 1], "b": [5, 4], "date": ["2021-09-01", "2021-09-02"], "pa": [20, 30], "pb": [30, 20]}
    jr.data.write(coming | {"season": ["2021-22"] * 2, "town": ["Oslo", "Rome"]}, league / "next.csv")
    one, got = rate_and_predict(jaxrate, league, *made, *GOALS, "--venue", "town", "--system", "skills", *SCALE)
    assert one.system.settings["covariates"] == ("age", "rest", "layoff", "activity", "form", "ground")
    assert one.system.settings["margin"] == ("relative_margin",) and one.options["derived"]["ground"] == 730
    assert one.system.settings["league_season"] == "season"
    roles = {"rest": 5, "layoff": 3, "activity": 9, "form": 30, "ground": 730, "relative_margin": 9}
    roles |= {"age": ("pa", "pb"), "league_season": "season", "margin": GOALS[1:], "venue": "town", "upcoming": True}
    to_come = read_by_cli_options(league / "next.csv", roles, one)
    np.testing.assert_allclose(got, jr.predict(one.system, one.state, to_come.events), rtol=1e-5)
    more = "--column", "league_season=season", *GOALS, "--system", "glicko"
    code, _, notes = jaxrate("rate", league / "games.csv", "--column", "rest=5", "--venue=town", *more)
    assert code == 0 and "glicko does not use margins, league seasons, rest and ground; take skills" in notes


def test_the_first_rows_of_the_league_that_ships(jaxrate):
    code, text, errors = jaxrate("compare", "nfl", "--first", 50, "--system", "elo")
    assert code == 0 and text.startswith("50 matches of ") and "read the first 50 of 16,810 rows" in errors
