"""The command line used wrongly, or without what it needs: one line says so before any work, and nothing is lost."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.cli import cli
from jaxrate.cli.option_names import name_options
from jaxrate.core import memory_checks
from jaxrate.data import simulate
from jaxrate.evaluation.scored_predictions import constant_forecast_log_loss

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def days(tmp_path):
    path = tmp_path / "days.csv"
    path.write_text("a,b,score,date\nx,y,1,2024-01-01\ny,x,0,2024-01-05\nx,y,0,2024-01-06\n")
    return path


def test_as_of_a_day_within_a_rating_period_is_the_end_of_it(jaxrate, days, tmp_path):
    """2023-12-28 to 2024-01-03 is one of them, and 2024-01-04 to 2024-01-10."""
    several = "--system", "glicko", "--period", "7"
    ends = jaxrate("rate", days, *several, "--out", tmp_path / "run")[1].split("\n\n")[1]
    for day in ("2024-01-06", "2024-01-09"):
        code, text, errors = jaxrate("rate", days, *several, "--as-of", day)
        assert code == 0 and not errors and text.split("\n\n")[1].strip() == ends.strip()
        assert jaxrate("rate", "--state", tmp_path / "run", "--as-of", day)[1].split("\n\n")[1].strip() == ends.strip()
    code, text, errors = jaxrate("rate", days, *several, "--as-of", "2024-03-01", "--param", "c=60")
    assert code == 0 and text.split("\n\n")[1] != ends


# Where to write


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rate", "days.csv", "--out", "days.csv"), "--out days.csv is a file; name a folder"),
        (("rate", "days.csv", "--out", "days.csv/run"), "days.csv is a file; name a folder"),
        (("rate", "--state", "run", "--out", "days.csv/run"), "days.csv is a file; name a folder"),
        (("rate", "days.csv", "--out", "/proc/run"), "--out /proc/run cannot be written: "),
        (("predict", "days.csv", "coming.csv"), "no saved run there: run.json is missing; `jaxrate rate FILE --out"),
        (("predict", "days.csv"), "Missing argument 'FIXTURES'. See jaxrate predict --help."),
        (("rate", "days.csv", "--period", "week"), "'week' is no number."),
        (("rate", "days.csv", "--top", "x"), "'x' is no whole number."),
        (("rate", "days.csv", "--a", "b"), "a and b are the same column, 'b'; name one for each player"),
        (("report", "days.csv", "--out", "report.pdf"), "--out report.pdf: a page is HTML; name a file, as report.htm"),
        (("rate", "days.csv", "--player", "Zed"), "no player 'Zed'"),
        (("rate", "days.csv", "--cautious", "nan"), "--cautious must be a finite number, got nan"),
        (("rate", "days.csv", "--cautious", "inf"), "--cautious must be a finite number, got inf"),
        (("rate", "days.csv", "--period", "inf"), "--period must be above 0, got inf"),
        (("fit", "days.csv", "--save", "."), "--save . is a folder; name a file, as fitted.toml"),
        (("fit", "days.csv", "--save", "nowhere/fitted.toml"), "there is no folder nowhere"),
        (("fit", "days.csv", "--save", "/proc/fitted.toml"), "--save /proc/fitted.toml cannot be written: "),
        (("report", "days.csv", "--out", "/proc/report.html"), "--out /proc/report.html cannot be written: "),
        (("demo", "--picture", "/proc/nfl.png"), "--picture /proc/nfl.png cannot be written: "),
        (("simulate", "league.csv"), "league.csv: the name must end in .parquet"),
        (("simulate", "days.csv/league.parquet"), "days.csv is a file; name a folder"),
        (("simulate", "/proc/new/league.parquet"), "cannot be written: "),
        (
            ("simulate", "league.parquet", "--matches", "1e12"),
            "1,000,000,000,000 rows would take 1.5 TB, and there are",
        ),
        (("simulate", "league.parquet", "--matches", "1.5"), "'1.5' is no whole number"),
        (("simulate", "league.parquet", "--rounds", "3e9"), "num_rounds must be below 2147483647, got 3000000000"),
        (("simulate", "league.parquet", "--days", "1e300"), "days must be at most 1e+12, got 1e+300"),
        (
            ("demo", "--simulated", "--matches", "1000000000000"),
            "a history of 1,000,000,000,000 rows would take 60.0 TB",
        ),
    ],
)
def test_it_is_refused_before_the_work(jaxrate, days, tmp_path, monkeypatch, arguments, message):
    def work(*_, **__):
        raise AssertionError("work began")

    if arguments[1] == "--state":
        jr.save(tmp_path / "run", jr.rate(jr.elo(), jr.read(days)))
    for name in ("rate", "fit", "compare", "predict"):
        monkeypatch.setattr(jr, name, work)
    monkeypatch.setattr(memory_checks, "machine_memory_bytes", lambda: 8e9)
    monkeypatch.setattr(simulate, "disk_usage", lambda path: shutil.disk_usage(tmp_path))
    monkeypatch.chdir(tmp_path)
    if any("/proc" in x for x in arguments) and not Path("/proc/self").exists():
        pytest.skip("there is no folder in which nobody can write")
    before = {path.name for path in tmp_path.iterdir()}
    code, text, errors = jaxrate(*arguments)
    assert code == 2 and text == "" and errors.count("\n") == 1 and message in errors
    assert {path.name for path in tmp_path.iterdir()} == before


def test_simulate_takes_whole_numbers_as_people_write_them(jaxrate, tmp_path):
    code, _, errors = jaxrate("simulate", tmp_path / "new" / "x.parquet", "--matches", "2e2", "--players", "1e1")
    assert code == 0 and "wrote 200 matches of 10 players" in errors


# What parameters do


def test_an_advantage_is_on_the_scale_of_each_system(jaxrate, tmp_path):
    """Fifty points were advised to all; TrueSkill then lost more than ten times as much."""
    nfl = nfl_file(tmp_path)
    systems = {"elo": 50, "glicko": 50, "trueskill": 1.06, "weng_lin": 1.7, "blat_mmr": 62.7}
    asked = "compare", nfl, "--side", "home", "--json", *(x for name in systems for x in ("--system", name))
    code, text, errors = jaxrate(*asked)
    results = {result["system"]: result for result in json.loads(text)["results"]}
    assert code == 0 and "side" not in errors
    assert {name: result["params"]["side_advantage"] for name, result in results.items()} == systems
    code, text, errors = jaxrate(*asked, "--param", "side_advantage=0")
    plain = {result["system"]: result["log loss"] for result in json.loads(text)["results"]}
    assert code == 0 and len(plain) == 5
    assert all(result["log loss"] < plain[name] for name, result in results.items())


def nfl_file(folder):
    """Some seasons of the past."""
    matches, names = jr.data.datasets.nfl().matches, jr.data.datasets.nfl().players
    a, b = names[matches.player[8000:8600].T]
    columns = {"a": a, "b": b, "score": matches.score[8000:8600], "home": matches.context.side[8000:8600]}
    jr.data.write(columns, folder / "nfl.csv")
    return folder / "nfl.csv"


def test_a_parameter_that_makes_a_system_worse_than_constants_is_noted(jaxrate, tmp_path):
    nfl = nfl_file(tmp_path)
    given = "--side", "home", "--system", "trueskill", "--param", "side_advantage=50"
    data = jr.read(nfl, side="home")
    home = data.matches.context.side == 1
    share = np.mean(data.matches.score[home])
    constant = np.where(home, share, 0.5)
    wanted = jr.metrics.log_loss(constant, data.matches.score)
    for command in ("rate", "compare"):
        code, _, errors = jaxrate(command, nfl, *given)
        said = "with side_advantage=50 trueskill predicts worse (log loss "
        assert code == 0 and said in errors and f"than the same forecast for all ({wanted:.4f})" in errors


def test_constants_know_sides_and_weights():
    matches = jr.matches([[0, 1]] * 4, [1, 0, 0.5, 1], side=[1, -1, 1, 0], weight=[1, 1, 2, 1])
    data = jr.data.Dataset(matches, np.array(["x", "y"]), np.arange(4))
    share = (1 + 1 + 2 * 0.5) / 4  # of those who have the side
    wanted = jr.metrics.log_loss([share, 1 - share, share, 0.5], matches.score, weight=[1, 1, 2, 1])
    assert constant_forecast_log_loss(data) == pytest.approx(wanted)
    assert constant_forecast_log_loss(data, 0.25) == pytest.approx(np.log(2))


# Without the packages of an extra, or a device


WITHOUT = (
    ("click", "--help", "jaxrate: the command line needs click: pip install 'jaxrate[cli]'\n"),
    ("rich_click", "--help", "jaxrate: the command line needs rich-click: pip install 'jaxrate[cli]'\n"),
    ("pyarrow", "rate days.csv", 'jaxrate: tables need pyarrow: pip install "jaxrate[data]"\n'),
    ("jinja2", "report days.csv", "jaxrate: pages need jinja2: pip install 'jaxrate[report]'\n"),
    ("foo", "rate days.csv", "jaxrate: JAX_PLATFORMS=foo: JAX has no such device here; unset it, or take cpu\n"),
)
ONE_BY_ONE = """
import sys
for absent, arguments, message in {cases!r}:
    for name in [x for x in sys.modules if x.partition(".")[0] in ("jaxrate", absent)]:
        del sys.modules[name]
    sys.modules[absent], sys.argv = None, ["jaxrate", *arguments.split()]
    try:
        from jaxrate.__main__ import main
        main()
    except SystemExit as stop:
        print(stop.code)
    sys.stderr.write("|")
    del sys.modules[absent]
"""


def test_the_command_names_the_extra_or_the_device_that_is_missing(days):
    """One after the other in a process, which loads JAX once."""
    command = [sys.executable, "-c", ONE_BY_ONE.format(cases=WITHOUT)]
    environment = os.environ | {"JAX_PLATFORMS": "foo"}
    ran = subprocess.run(command, cwd=days.parent, env=environment, capture_output=True, text=True)
    assert ran.stderr.split("|") == [*(message for _, _, message in WITHOUT), ""]
    assert ran.returncode == 0 and ran.stdout.split() == ["2"] * len(WITHOUT)


RATE, PREDICT, SITE = (cli.load_command(name) for name in ("rate", "predict", "site"))


@pytest.mark.parametrize(
    ("message", "command", "text"),
    [
        ("alike; normalise_names=True joins them", RATE, "alike; --normalise-names joins them"),
        ("alike; normalise_names=True joins them", SITE, "alike"),
        ("none; as by a='home' (there are: x)", RATE, "none; as by --a home (there are: x)"),
        ("none; as by a='home' (there are: x)", SITE, "none (there are: x)"),
        ("x; as margin=['h g', 'away'], or not", RATE, "x; as --margin 'h g' away, or not"),
        ("x; say a=['x'], b=['it is']", PREDICT, "x; say --a x, --b 'it is,'"),
        ("x; say side='a', neutral=\"Ada's\"", RATE, "x; say --side a --neutral 'Ada'\"'\"'s'"),
        ("x; na_values=['-1'] says so", RATE, "x; --na-values=-1 says so"),
        ("own; time='2026-05-31' sets another", PREDICT, "own; --at 2026-05-31 sets another"),
        ("own; season='year' names one; so", SITE, "own; so"),
        ("with dates='day-first' or dates='month-first'", RATE, "with --dates day-first or --dates month-first"),
        ("no 'Zed'; newcomers=True takes them", PREDICT, "no 'Zed'; --newcomers takes them"),
        ("it needs outcome='goals'", RATE, "it needs outcome='goals'"),
    ],
)
def test_messages_name_options_of_their_command(message, command, text):
    """A hint that the command has no option for is left out."""
    assert name_options(message, command) == text


def test_small_mistakes_are_told_in_words(jaxrate, tmp_path):
    """The error was that of the operating system, or of click."""
    code, _, errors = jaxrate("tournament", tmp_path, tmp_path / "cup.toml")
    assert code == 2 and "Errno" not in errors
    (tmp_path / "games.csv").write_text("date,winner,loser\n2024-01-01,Ada,Bo\n2024-01-02,ada,Cy\n")
    run = tmp_path / "run"
    assert jaxrate("rate", tmp_path / "games.csv", "--system", "elo", "--out", run)[2].count("differ from others") == 1
    (tmp_path / "next.csv").write_text("a,b\nAda,Bo\n")
    code, _, errors = jaxrate("predict", run, tmp_path / "next.csv", "--at", "may")
    assert code == 2 and "--at may: write a date, as 2026-05-20" in errors
    code, text, errors = jaxrate("predict", run, tmp_path / "next.csv")
    assert code == 0 and "differ from others" not in errors  # which the rating of the file has said
    code, text, _ = jaxrate("season", run, tmp_path / "next.csv", "--samples", 100)
    assert code == 0 and "win\n" in text and text.count("%") == 2
