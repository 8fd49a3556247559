"""The command line used wrongly, or without what it needs: one line says so before any work, and nothing is lost."""

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.cli import cli
from jaxrate.cli.option_names import name_options
from jaxrate.core.text_format import display_width
from jaxrate.data.column_recognition import recognise_forecast_columns
from jaxrate.site.benchmark_page import benchmark_page_html
from tests.browser import findings, inside
from tests.conftest import refused
from tests.test_benchmark import KEEP, make_league, row_of
from tests.test_cli import csv
from tests.test_site import page_of

pytest.importorskip("jinja2")
pa = pytest.importorskip("pyarrow")


@pytest.fixture
def days(tmp_path):
    path = tmp_path / "days.csv"
    path.write_text("a,b,score,date\nx,y,1,2024-01-01\ny,x,0,2024-01-05\nx,y,0,2024-01-06\n")
    return path


def test_as_of_a_day_within_a_rating_period_is_the_end_of_it(jaxrate, days, tmp_path):
    """2023-12-28 to 2024-01-03 is one of them, and 2024-01-04 to 2024-01-10."""
    file = "rate", days, "--system", "glicko", "--period", "7"
    ends = jaxrate(*file, "--out", tmp_path / "run")[1].split("\n\n")[2].strip()
    for source in (file, ("rate", "--state", tmp_path / "run")):
        for day in ("2024-01-06", "2024-01-09"):
            code, text, errors = jaxrate(*source, "--as-of", day)
            assert code == 0 and not errors and text.split("\n\n")[2].strip() == ends


WITHOUT = (
    ("click", "--help", 'jaxrate: the command line needs click: pip install "jaxrate[cli]"\n'),
    ("pyarrow", "rate days.csv", 'jaxrate: tables need pyarrow: pip install "jaxrate[data]"\n'),
    ("jinja2", "report days.csv", 'jaxrate: pages need jinja2: pip install "jaxrate[report]"\n'),
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
    command = [sys.executable, "-c", ONE_BY_ONE.format(cases=WITHOUT)]
    environment = os.environ | {"JAX_PLATFORMS": "foo"}
    ran = subprocess.run(command, cwd=days.parent, env=environment, capture_output=True, text=True)
    assert ran.stderr.split("|") == [*(message for _, _, message in WITHOUT), ""]
    assert ran.returncode == 0 and ran.stdout.split() == ["2"] * len(WITHOUT)


RATE, PREDICT, SITE = (cli.load_command(name) for name in ("rate", "predict", "site"))


@pytest.mark.parametrize(
    ("message", "command", "text"),
    [
        ("alike; jr.data.unify_names(data) joins them", RATE, "alike; --column normalise_names=yes joins them"),
        ("alike; jr.data.unify_names(data) joins them", SITE, "alike"),
        ("none; as by a='home' (there are: x)", SITE, "none (there are: x)"),
        ("x; as margin=['h g', 'away'], or not", RATE, "x; as --margin 'h g' --margin away, or not"),
        ("x; say a=['x'], b=['it is']", PREDICT, "x; say --a x, --b 'it is,'"),
        ("x; na_values=['-1'] says so", RATE, "x; --na-values=-1 says so"),
        ("own; time='2026-05-31' sets another", PREDICT, "own; --at 2026-05-31 sets another"),
        ("own; season='year' names one; so", SITE, "own; so"),
        ("it needs outcome='goals'", RATE, "it needs outcome='goals'"),
        ("it is datetime='2026' here", PREDICT, "it is datetime='2026' here"),
    ],
)
def test_messages_name_options_of_their_command(message, command, text):
    assert name_options(message, command) == text


def test_a_site_shows_columns_of_the_file_and_other_names(jaxrate, games, tmp_path):
    run, out = tmp_path / "run", tmp_path / "public"
    jr.save(run, jr.rate(jr.elo(), jr.read(games)))
    (tmp_path / "names.csv").write_text("id,name\nplayer 03,Ada\n")
    options = "--names", tmp_path / "names.csv", "--file", games, "--show", "early", "-q"
    code, text, errors = jaxrate("site", run, "--out", out, *options)
    assert (code, errors) == (0, "") and text.startswith(f"{out}: 40 players\nOpen ")
    mine = [row for row in jr.load(run).predictions.to_pylist() if "player 03" in (row["a"], row["b"])]
    flags = [str(row["row"] % 100 == 0).lower() for row in mine]
    assert inside(page_of(out, "Ada"), "career")["columns"]["early"] == flags


def test_hints_name_the_file_and_the_run(jaxrate, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, run = "our games.csv", "Ada's run"
    names = [f"player {i}" for i in range(20)]
    rows = [f"{2020 + i // 100}-01-{1 + i // 8 % 28:02},{names[i % 20]},{names[(7 * i + 3) % 20]},{i % 4 > 0:d}"
            for i in range(400) if i % 20 != (7 * i + 3) % 20]  # fmt: skip
    Path(file).write_text("\n".join(["date,a,b,score", *rows]) + "\n")
    rate = "rate", file, "--system", "elo", "--no-calibrate", "--sort", "--out", run
    assert jaxrate(*rate)[0] == 0
    code, _, errors = jaxrate("site", run, "--out", "site", "--file", file)
    hints = re.findall(r"jaxrate ([a-z]+ [^;\n]+)", errors)
    assert code == 0 and hints and "--state 'Ada'\"'\"'s run'" in jaxrate(*rate)[2] + jaxrate("rate", run)[2]
    for hint in hints:
        name, *words = shlex.split(hint)
        params = cli.load_command(name).make_context(name, words).params
        assert params["file"] == file and params.get("out") in (None, Path(run))


COMMANDS = {name: cli.load_command(name) for name in cli.commands}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_that_it_would_take(name):
    examples = COMMANDS[name].examples
    assert examples and all(len(line) <= 76 for line in examples)
    for line in examples:
        words = shlex.split(line)
        if words[:1] == ["jaxrate"]:
            command = COMMANDS[words[1]]
            command.make_parser(command.make_context("x", [], resilient_parsing=True)).parse_args(words[2:])
    assert any(line.startswith(f"jaxrate {name}") for line in examples)


@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_help_is_plain_text_of_80_columns_in_a_pipe(jaxrate, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    short = jaxrate(*filter(None, [name]), "--help")[1]
    assert len(short.splitlines()) <= (30 if name else 40)
    code, text, errors = jaxrate(name, "--help-all") if name else jaxrate("--help")
    assert name or jaxrate() == (2, text, "")
    assert code == 0 and errors == "" and text.startswith("Usage: jaxrate") and "\x1b" not in text
    text, _, guide = text.partition("\nGuides: ")
    assert guide.startswith("https://") == (name is None)  # it was a path in the folder of the package
    assert max(map(display_width, text.splitlines())) <= 80 and "\nExamples:\n  jaxrate " in text
    options = [x for x in getattr(COMMANDS.get(name), "params", []) if isinstance(x, click.Option)]
    assert all(x.help and x.help[0].isupper() and "." in x.help for x in options)
    assert name is None or all(COMMANDS[name].groups)  # 57 options stood in one list


def test_published_forecasts_of_the_shipped_league_are_compared(jaxrate):
    """The report compared them, and this command did not."""
    code, text, errors = jaxrate("compare", "nfl", "--system", "elo", "--last", 0.01, "--json")
    (told,) = json.loads(text)["published"]
    assert code == 0 and told["name"] == "FiveThirtyEight" and told["behind_error"] > 0, errors
    assert 0.5 < told["quality"]["log loss"] < 0.7


def test_compare_learns_from_what_rate_learns_from(jaxrate, tmp_path, monkeypatch):
    """Skills had a log loss of 0.623 in `compare`, and of 0.614 in `rate` of the same file."""

    def catch(report, file, data, changes, **options):
        raise ValueError(f"margin {data.margin}, side {data.matches.context.side is not None}")

    monkeypatch.setattr("jaxrate.cli.compare.compare_with_notes", catch)
    path = tmp_path / "games.csv"
    path.write_text("date,home_team,away_team,home_score,away_score\n2024-01-01,x,y,3,1\n2024-01-02,y,x,0,2\n")
    assert "margin ('home_score', 'away_score'), side True" in jaxrate("compare", path)[2]
    for options, said in (("--plain",), "margin (), side False"), (("--system", "elo"), "margin ('home_score'"):
        assert said in jaxrate("compare", path, *options)[2]


QUICK = "--system", "elo", "--fit-seconds", 0


@pytest.fixture
def file(tmp_path):
    """A file in another order than that of time, with forecasts and odds, some of them missing."""
    data, truth = make_league(n=300)
    home, away = data.players[data.matches.player].T
    known, day = np.arange(300) % 4 > 0, np.floor(data.matches.time).astype(int)
    table = {"date": np.datetime64("2020-01-01") + day, "home": home, "away": away, "score": data.matches.score}
    table |= {"mine": np.where(known, truth[:, 2], np.nan), "PSCH": truth[:, 2] ** -0.9, "PSCA": truth[:, 0] ** -0.9}
    table["percent"] = np.array([f"{100 * x:.4f} %" if y else "" for x, y in zip(truth[:, 2], known, strict=True)])
    order, path = np.random.default_rng(0).permutation(300), tmp_path / "our_league.csv"
    jr.data.write({name: column[order] for name, column in table.items()}, path)
    return path


def test_a_file_beside_forecasts_and_odds(jaxrate, file, tmp_path):
    out = tmp_path / "public"
    arguments = "--sort", "--forecast", "me=mine", "--forecast", "percent", "--odds", "book=PSCH,PSCA", "--out", out
    code, text, errors = jaxrate("benchmark", file, *QUICK, *arguments, "-v")
    assert code == 0 and f"wrote {out / 'index.html'} and {out / 'benchmark.json'}" in errors
    assert re.search(r"^elo +rating ", text, re.MULTILINE) and re.search(r"^book +odds ", text, re.MULTILINE)
    assert "The best rating is elo" in text and "Scored on the last 60 of 300 matches, from 20" in text
    record = json.loads((out / "benchmark.json").read_text())["Our league"]
    rows = {row["name"]: row for row in record["rows"]}
    data = jr.read(file, a="home", b="away", sort=True, side="a")
    columns = csv(file).take(pa.array(data.rows))
    forecast, score = columns["mine"].to_numpy(), data.matches.score
    mask = (np.arange(300) >= 240) & ~np.isnan(forecast)
    wanted = jr.metrics.log_loss(np.nan_to_num(forecast), score, mask=mask)
    assert rows["me"]["log_loss"] == pytest.approx(wanted) and rows["me"]["scored"] == mask.sum()
    assert rows["percent"]["log_loss"] == pytest.approx(wanted, rel=1e-5) and "Read as percent: percent." in text
    odds = np.stack([columns["PSCH"], columns["PSCA"]], axis=1)
    p = jr.metrics.probabilities_from_odds(odds)[:, 0]
    assert rows["book"]["log_loss"] == pytest.approx(jr.metrics.log_loss(p[240:], score[240:]))
    page = (out / "index.html").read_text()
    assert "<h2" in page and "Our league" in page and "book" in page and "src=" not in page


def test_public_files_are_recognised():
    names = ["HomeTeam", "AwayTeam", "PSCH", "PSCD", "PSCA", "B365H", "B365D", "B365A", "AvgCH"]
    assert recognise_forecast_columns(names) == ({}, {"Pinnacle (closing)": ["PSCH", "PSCD", "PSCA"]})
    names = ["Winner", "Loser", "B365W", "B365L", "PSW", "PSL", "MaxW", "MaxL"]
    assert recognise_forecast_columns(names)[1] == {"Pinnacle": ["PSW", "PSL"], "bet365": ["B365W", "B365L"]}
    names = ["team1", "team2", "prob1", "prob2", "probtie", "elo_prob1", "elo_prob2"]
    assert recognise_forecast_columns(names) == ({"FiveThirtyEight": ["prob1", "probtie", "prob2"]}, {})
    assert recognise_forecast_columns(["elo_prob1", "elo_prob2"])[0]["FiveThirtyEight"][1] == "elo_prob2"


def test_the_league_that_ships_has_its_protocol(jaxrate, monkeypatch, tmp_path):
    seen = {}

    def catch(data, **options):
        seen.update(options)
        raise ValueError("seen")

    monkeypatch.setattr(jr.evaluation, "benchmark_systems", catch)
    assert "nfl: seen" in jaxrate("benchmark", *QUICK)[2]
    assert seen["since"] == "1990-03-01" and len(seen["forecasts"]["FiveThirtyEight"]) == 16_810
    jaxrate("benchmark", "nfl", *QUICK, "--last", 0.5, "--stack-column", "playoff")
    assert seen["since"] is None and seen["last"] == 0.5 and seen["stack"]["playoff"].shape == (16_810,)
    (tmp_path / "races.csv").write_text("race,driver,rank\n1,x,1\n1,y,2\n1,z,3\n")  # told before the first fit
    assert "races.csv: these are contests" in jaxrate("benchmark", "nfl", tmp_path / "races.csv")[2]


def test_the_page_has_every_row_and_the_table_of_histories():
    data, truth = make_league(n=300)
    some = np.where(np.arange(300) % 2, truth[:, 2], np.nan)
    forecasts = {"<b>truth</b>": truth[:, 2], "some": some, "none": np.full(300, np.nan)}
    result = jr.evaluation.benchmark_systems(data, ["elo", "glicko"], forecasts=forecasts, **KEEP)
    page = benchmark_page_html({"League": result})
    assert "&lt;b&gt;truth&lt;/b&gt;" in page and "<b>truth" not in page
    for name in ("Elo", "Glicko", "some", "All blended", "Past frequencies"):
        assert f'data-name="name">{name}</td>' in page
    assert f">{row_of(result, 'blend').quality['log loss']:.4f}</td>" in page and ">nan" not in page
    several = benchmark_page_html({"One": result, "Two": result}, title="All")
    assert several.count("<section") == 3 and "<title>All</title>" in several
    shares = re.findall(r'<td class="figure change" data-name="% of the way">(.*?)</td>', several)
    assert len(shares) == 4 and shares[:2] == shares[2:] and shares.count("100") >= 2  # one of each pair is best known
    plain = jr.evaluation.benchmark_systems(data, ["elo", "glicko"], **KEEP)
    best_floor = [x._replace(quality=x.quality | {"log loss": 0.1 * (x.kind != "frequencies")}) for x in plain.rows]
    several = benchmark_page_html({"One": plain, "Two": replace(plain, rows=best_floor)})
    shares = re.findall(r'<td class="figure change" data-name="% of the way">(.*?)</td>', several)
    assert shares == ["100", "unclear"] and "Unclear: no forecast" in several
    assert re.search("<h1>.* not compared on Plain</h1>", benchmark_page_html({"One": result, "Plain": plain}))
    with refused("benchmarks is empty"):
        benchmark_page_html({})


def test_the_headline_begins_with_who_predicted_better():
    """It began with the other one, and had a gap without its interval."""
    data, truth = make_league(n=2000)
    noise = np.random.default_rng(0).normal(0.0, 0.45, 2000)
    bad = np.clip(truth[:, 2] + noise, 0.02, 0.98)
    for forecast, better, worse in ((truth[:, 2], "theirs", "Elo"), (bad, "Elo", "theirs")):
        found = jr.evaluation.benchmark_systems(data, ["elo"], last=0.8, forecasts={"theirs": forecast}, **KEEP)
        page = benchmark_page_html({"League": found})
        assert re.search(rf"<h1>{better} called \d{{3}} of 1,000 matches right, {worse} \d{{3}}</h1>", page)
        said = rf"<p>{better} is ahead of {worse} by (0\.\d{{4}}" + "\xa0±\xa00\\.\\d{4})"
        amount = re.search(said, page)[1]
        assert page.count(amount) == 1  # it is told once


def test_a_browser_finds_nothing_wrong_with_the_page(chromium, tmp_path):
    data, truth = make_league(n=300)
    result = jr.evaluation.benchmark_systems(data, ["elo", "glicko"], forecasts={"truth": truth[:, 2]}, **KEEP)
    path = tmp_path / "page.html"
    path.write_text(benchmark_page_html({"One league": result, "Another league": result}), encoding="utf-8")
    chromium.get(path.as_uri())
    assert findings(chromium) == {}
