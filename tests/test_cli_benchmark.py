"""`jaxrate benchmark` and its page: what they print, write, recognise and refuse."""

import json
import re

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.cli.predict import parse_named_columns
from jaxrate.data.forecast_column_recognition import recognise_forecast_columns
from jaxrate.site.benchmark_page import benchmark_page_html
from tests.browser import findings
from tests.conftest import refused
from tests.test_benchmark import KEEP, make_league, row_of

pa = pytest.importorskip("pyarrow")
pytest.importorskip("jinja2")
QUICK = "--system", "elo", "--fit-seconds", 0


@pytest.fixture
def file(tmp_path):
    """A file in another order than that of time, with forecasts and odds, some of them missing."""
    data, truth = make_league(n=300)
    names, player = data.players, np.asarray(data.matches.player)
    day = np.floor(np.asarray(data.matches.time)).astype(int)
    lines = ["date,home,away,score,mine,percent,PSCH,PSCA,PSH,PSA,derby"]
    for i in np.random.default_rng(0).permutation(300).tolist():
        p, q = truth[i, 2] ** 0.9, truth[i, 0] ** 0.9
        mine = "" if i % 4 == 0 else f"{truth[i, 2]:.6f}"
        percent = mine and f"{100 * truth[i, 2]:.4f} %"
        date = np.datetime64("2020-01-01") + day[i]
        odds = f"{1 / p:.6f},{1 / q:.6f}"
        result = f"{names[player[i, 0]]},{names[player[i, 1]]},{data.matches.score[i]:g}"
        lines.append(f"{date},{result},{mine},{percent},{odds},{odds},{i % 2}")
    path = tmp_path / "our_league.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_file_beside_forecasts_and_odds(jaxrate, file, tmp_path):
    out = tmp_path / "public"
    arguments = "--sort", "--forecast", "me=mine", "--forecast", "percent", "--odds", "book=PSCH,PSCA", "--out", out
    code, text, errors = jaxrate("benchmark", file, *QUICK, *arguments)
    assert code == 0 and f"wrote {out / 'index.html'} and {out / 'benchmark.json'}" in errors
    assert re.search(r"^elo +rating ", text, re.MULTILINE) and re.search(r"^book +odds ", text, re.MULTILINE)
    assert "The best rating is elo" in text and "Scored on the last 60 of 300 matches." in text
    record = json.loads((out / "benchmark.json").read_text())["Our league"]
    rows = {row["name"]: row for row in record["rows"]}
    data = jr.read(file, a="home", b="away", sort=True, side="a")
    forecast, score = np.asarray(csv_column(file, "mine"))[data.rows], data.matches.score
    mask = (np.arange(300) >= 240) & ~np.isnan(forecast)
    wanted = jr.metrics.log_loss(np.nan_to_num(forecast), score, mask=mask)
    assert rows["me"]["log_loss"] == pytest.approx(wanted) and rows["me"]["scored"] == mask.sum()
    assert rows["percent"]["log_loss"] == pytest.approx(wanted, rel=1e-5) and "Read as percent: percent." in text
    odds = np.stack([csv_column(file, name) for name in ("PSCH", "PSCA")], axis=1)[data.rows]
    p = jr.metrics.probabilities_from_odds(odds)[:, 0]
    assert rows["book"]["log_loss"] == pytest.approx(jr.metrics.log_loss(p[240:], score[240:]))
    page = (out / "index.html").read_text()
    assert "<h2" in page and "Our league" in page and "book" in page and "src=" not in page


def csv_column(file, name):
    import pyarrow.csv

    return pyarrow.csv.read_csv(file)[name].to_numpy().astype(float)


def test_odds_are_found_by_the_names_of_their_columns(jaxrate, file):
    code, text, errors = jaxrate("benchmark", file, *QUICK, "--sort", "--json", "--since", "2022-01-01")
    assert code == 0 and "our_league.csv: odds found: Pinnacle (closing) (PSCH, PSCA)" in errors
    record = json.loads(text)["Our league"]
    kinds = {row["name"]: row["kind"] for row in record["rows"]}
    assert kinds["Pinnacle (closing)"] == "odds" and 30 < record["scored"] < 90
    assert jaxrate("benchmark", file, *QUICK, "--sort", "-q")[2] == ""


def test_public_files_are_recognised():
    names = ["HomeTeam", "AwayTeam", "PSCH", "PSCD", "PSCA", "B365H", "B365D", "B365A", "AvgCH"]
    assert recognise_forecast_columns(names) == ({}, {"Pinnacle (closing)": ["PSCH", "PSCD", "PSCA"]})
    names = ["Winner", "Loser", "B365W", "B365L", "PSW", "PSL", "MaxW", "MaxL"]
    assert recognise_forecast_columns(names)[1] == {"Pinnacle": ["PSW", "PSL"], "bet365": ["B365W", "B365L"]}
    names = ["team1", "team2", "prob1", "prob2", "probtie", "elo_prob1", "elo_prob2"]
    assert recognise_forecast_columns(names) == ({"FiveThirtyEight": ["prob1", "probtie", "prob2"]}, {})
    assert (
        recognise_forecast_columns(["team1", "team2", "elo_prob1", "elo_prob2"])[0]["FiveThirtyEight"][1] == "elo_prob2"
    )
    assert recognise_forecast_columns([]) == ({}, {})


def test_the_league_that_ships_has_its_protocol(jaxrate, monkeypatch):
    seen = {}

    def catch(data, **options):
        seen.update(options)
        raise ValueError("seen")

    monkeypatch.setattr(jr.evaluation, "benchmark_systems", catch)
    assert "nfl: seen" in jaxrate("benchmark", *QUICK)[2]
    assert seen["since"] == "1990-03-01" and len(seen["forecasts"]["FiveThirtyEight"]) == 16_810
    jaxrate("benchmark", "nfl", *QUICK, "--last", 0.5, "--stack-column", "playoff")
    assert seen["since"] is None and seen["last"] == 0.5 and seen["stack"]["playoff"].shape == (16_810,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--forecast", "=mine"), "--forecast =mine: write as in NAME=COLUMN,COLUMN"),
        (("--odds", "x=PSH,"), "--odds x=PSH,: write as in NAME=COLUMN,COLUMN"),
        (("--odds", "x=PSH,PSA", "--odds", "x=PSCH,PSCA"), "--odds names x twice"),
        (("--forecast", "x=mime"), "has no column 'mime'; did you mean 'mine'?"),
        (("--forecast", "x=home"), "forecast 'x': the probability is "),
        (("--forecast", "x=date"), "column 'date'"),
        (("--odds", "x=PSH"), "odds 'x': give the odds of win and loss"),
        (("--odds", "x=mine,mine"), "odds 'x': odds are 0."),
        (("--stack-column", "derbi"), "has no column 'derbi'; did you mean 'derby'?"),
        (("--since", "soon"), "soon"),
        (("--since", "2099-01-01"), "no match is played since 2099-01-01"),
        (("--since", "2022-01-01", "--last", "0.1"), "--since and --last both say what is scored; name one"),
        (("--outcomes", "4"), "--outcomes"),
        (("--odds-method", "best"), "--odds-method"),
        (("--fit-seconds", "-1"), "fit_seconds must be 0 or more, got -1"),
        (("--last", "0"), "--last must be above 0 and at most 1, got 0"),
        (("--system", "gliko"), "unknown system 'gliko'"),
        (("--out", "FILE"), "is a file; name a folder"),
    ],
)
def test_what_benchmark_refuses(jaxrate, file, arguments, message):
    arguments = [str(file) if x == "FILE" else x for x in arguments]
    options = QUICK if "--system" not in arguments else QUICK[2:]
    options = options if "--fit-seconds" not in arguments else options[:2]
    code, text, errors = jaxrate("benchmark", file, *options, "--sort", "-q", *arguments)
    assert code == 2 and text == "" and message in errors


def test_two_files_of_one_title(jaxrate, file, tmp_path):
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / file.name
    other.write_text(file.read_text())
    assert "two files are called Our league; rename one" in jaxrate("benchmark", file, other, *QUICK, "--sort")[2]
    code, text, _ = jaxrate("benchmark", file, other.rename(other.with_name("b.csv")), *QUICK, "--sort")
    assert code == 0 and text.count("The best rating is elo") == 2 and "Our league\n" in text


def test_names_of_columns():
    named = parse_named_columns("odds", ["a = b=c, d", "e"])
    assert named == {"a = b": ["c", "d"], "e": ["e"]}


def test_the_page_has_every_row_and_the_table_of_histories():
    data, truth = make_league(n=300)
    some = np.where(np.arange(300) % 2, truth[:, 2], np.nan)
    forecasts = {"<b>truth</b>": truth[:, 2], "some": some, "none": np.full(300, np.nan)}
    result = jr.evaluation.benchmark_systems(data, ["elo", "glicko"], forecasts=forecasts, **KEEP)
    page = benchmark_page_html({"League": result})
    assert "&lt;b&gt;truth&lt;/b&gt;" in page and "<b>truth" not in page
    for name in ("Elo", "Glicko", "some", "All blended"):
        assert f'data-name="name">{name}</td>' in page
    assert f">{row_of(result, 'blend').quality['log loss']:.4f}</td>" in page and ">nan" not in page
    several = benchmark_page_html({"One": result, "Two": result}, title="All")
    assert several.count("<section") == 3 and "best ceiling" in several and "<title>All</title>" in several
    with refused("benchmarks is empty"):
        benchmark_page_html({})
    with refused("benchmark_page_html: benchmarks must be"):
        benchmark_page_html({"x": 3})


def test_a_browser_finds_nothing_wrong_with_the_page(chromium, tmp_path):
    data, truth = make_league(n=300)
    result = jr.evaluation.benchmark_systems(data, ["elo", "glicko"], forecasts={"truth": truth[:, 2]}, **KEEP)
    path = tmp_path / "page.html"
    path.write_text(benchmark_page_html({"One league": result, "Another league": result}), encoding="utf-8")
    chromium.get(path.as_uri())
    assert findings(chromium) == {}
