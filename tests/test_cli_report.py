"""`jaxrate report`: its page is that of Python, and what it refuses."""

import json
import re

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.text_format import metric_heading
from jaxrate.evaluation.scored_predictions import format_metric
from jaxrate.site.accuracy_summary import bin_predictions
from jaxrate.systems.system_titles import system_title
from tests.test_report import data_of

for package in ("pyarrow", "jinja2"):
    pytest.importorskip(package)


def test_the_command(jaxrate, games, tmp_path):
    out = tmp_path / "page.html"
    named = "--side", "home", "--system", "glicko", "--param", "c=20", "--param", "side_advantage=30"
    code, text, errors = jaxrate("report", games, *named, "--out", out, "--top", 3, "--compare", "elo", "-q")
    page = out.read_text(encoding="utf-8")
    assert (code, errors) == (0, "") and text.startswith(f"{out}: 40 players, 0.") and "MB" in text
    footer = page.partition("<footer>")[2].partition("</footer>")[0]
    made = r"<p>Made <time>.*</time> with jaxrate .* from the file <bdi>games.csv</bdi>, 600 matches\.</p>"
    assert re.fullmatch(made, footer)
    assert "<title>Games</title>" in page and "<li>side advantage: 30 points" in page
    shown = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    code, text, _ = jaxrate("rate", games, *named, "-q")
    told = {label: re.search(rf"{label} +(\S+)", text)[1] for label in shown}
    assert shown == told and len(shown) == 4
    assert f"won {shown['accuracy']} of" in page or f"favourites scored {shown['accuracy']}." in page
    params = "--param", "glicko.c=20", "--param", "glicko.side_advantage=30"
    wanted = jaxrate("compare", games, "--side", "home", *params, "--system", "elo", "--system", "glicko",
                     "--last", 0.2, "--json", "-q")[1]  # fmt: skip
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', page)
    assert "last 120 of 600 matches" in page and [name for name, _ in rows] != []
    for result in json.loads(wanted)["results"]:
        if result["period"] is None:
            cells = re.findall(r">([^<>]+)</td>", dict(rows)[system_title(result["system"])])
            names = "log loss", "Brier score", "accuracy", "calibration error"
            assert cells[:4] == [format_metric(name, result[name]) for name in names]
    data = jr.read(games, side="home")
    guess = jr.run(jr.glicko(c=20, side_advantage=30), data.matches).prediction
    favoured, score = np.asarray(guess) >= 0.5, np.asarray(data.matches.score)
    guess, score = (np.where(favoured, x, 1 - x) for x in (np.asarray(guess, float), score))
    wanted = [x[:2] for x in bin_predictions(guess, score, 20)]
    cells = re.findall(r'data-name="expected">(.*?)%</td><td class="figure" data-name="score">(.*?)%</td>', page)
    found = np.array(cells, float).T
    np.testing.assert_allclose(found, 100 * np.array(wanted).T, atol=0.06)
    assert "neutral ground" in page and data_of(page)["pairs"][0]["home"]["players"] == 40


def test_results_have_the_points_of_the_file_even_if_nobody_learns_from_them(jaxrate, tmp_path):
    """They stood there without, by --plain or with a system that knows results alone."""
    table = "date,home,away,home_goals,away_goals\n2024-01-01,Ada,Bo,3,1\n2024-01-08,Bo,Ada,2,2\n"
    (tmp_path / "games.csv").write_text(table, encoding="utf-8")
    out = tmp_path / "page.html"
    assert jaxrate("report", tmp_path / "games.csv", "--plain", "--compare", "elo", "--out", out, "-q")[0] == 0
    page = out.read_text(encoding="utf-8")
    assert re.search(r">won 3\u20131|>lost 1\u20133", page) and ">drew 2\u20132" in page


def test_points_that_cannot_be_read_are_said_to_be_missing(jaxrate, tmp_path):
    """Their column was left out without a word."""
    table = "a,b,score,home_goals,away_goals\nAda,Bo,1,3,1\nBo,Ada,0.5,2,two\n"
    (tmp_path / "games.csv").write_text(table, encoding="utf-8")
    out = tmp_path / "page.html"
    code, _, errors = jaxrate("report", tmp_path / "games.csv", "--plain", "--compare", "elo", "--out", out)
    assert code == 0 and "points are not shown: " in errors and "'two'" in errors


def test_the_command_for_contests(jaxrate, tmp_path):
    out, path = tmp_path / "page.html", tmp_path / "contests.parquet"
    jaxrate("simulate", path, "--players", 30, "--rounds", 40, "--size", 8)
    code, _, errors = jaxrate("report", path, "--out", out, "--compare", "codeforces", "-q")
    page = out.read_text(encoding="utf-8")
    assert (code, errors) == (0, "") and "last 8 of 40 contests" in page and "ahead of the other in a contest" in page
    text = jaxrate("rate", path, "-q")[1]
    for label, value in re.findall(r"<dt>(.*?)</dt><dd>([\d.]+)%</dd>", page):
        assert re.search(rf"{metric_heading(label)} +{value}", text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--player", "player 7"), "no player 'player 7'; did you mean 'player"),
        (("--out", "."), "--out . is a folder; name a file, as report.html"),
        (("--out", "nowhere/report.html"), "--out nowhere/report.html: there is no folder nowhere"),
        (("--last", "0"), "--last must be above 0 and at most 1, got 0"),
        (("--compare", "elos"), "unknown system 'elos'; did you mean 'elo'?"),
        (("--param", "c=x", "--system", "glicko"), "glicko: c must be"),
    ],
)
def test_the_command_refuses(jaxrate, games, arguments, message):
    code, text, errors = jaxrate("report", games, *arguments)
    assert code == 2 and text == "" and message in errors and errors.count("\n") == 1


def test_an_empty_file_is_refused(jaxrate, tmp_path):
    (tmp_path / "none.csv").write_text("winner,loser\n")
    code, _, errors = jaxrate("report", tmp_path / "none.csv", "--out", tmp_path / "page.html")
    assert code == 2 and "no rows" in errors and not (tmp_path / "page.html").exists()
