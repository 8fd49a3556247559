"""Goals on the command line: rated by the columns that are recognised, predicted as scorelines, played as a season."""

import json

import numpy as np
import pytest

import jaxrate as jr

pytest.importorskip("pyarrow")
CLUBS = np.array(["Ayr", "Bo", "Cork", "Ely"])


@pytest.fixture
def season(folder):
    """The folder of a season of four clubs, whose expected goals are partly missing, and of two matches to come."""
    random = np.random.default_rng(3)
    lines = ["date,home,away,home_goals,away_goals,xg_home,xg_away"]
    for day in range(60):
        first, second = random.choice(4, 2, replace=False)
        goals = random.poisson(np.exp(0.3 + 0.2 * np.array([second - first, first - second])))
        expected = ["", ""] if day % 5 == 0 else np.round(0.7 * goals + 0.4, 2)
        row = [np.datetime64("2024-01-01") + day, CLUBS[first], CLUBS[second], *goals, *expected]
        lines.append(",".join(map(str, row)))
    coming = "date,home,away\n2024-06-01,Ayr,Bo\n2024-06-02,Ely,Cork\n"
    return folder(games__csv="\n".join(lines) + "\n", june__csv=coming)


def test_goals_from_a_file_to_scorelines_and_a_season(jaxrate, season):
    games, run, june = season / "games.csv", season / "run", season / "june.csv"
    goals = "--param", "outcome=goals", "--expected-goals", "xg_home", "xg_away"
    code, text, _ = jaxrate("rate", games, *goals, "--out", run)
    assert code == 0 and text.startswith("skills: 60 matches of 4 teams")
    rated = jr.load(run)
    assert rated.system.settings["margin"] == ("home_goals", "away_goals")
    assert rated.system.settings["expected_goals"] == ("xg_home", "xg_away")

    code, text, _ = jaxrate("predict", run, june, "--scorelines", "-q")
    head, first, second = text.splitlines()
    assert code == 0 and head.split()[:3] == ["date", "home", "away"] and "over 2.5  both score" in head
    assert first.split()[:3] == ["2024-06-01", "Ayr", "Bo"] and second.split()[:3] == ["2024-06-02", "Ely", "Cork"]
    code, text, _ = jaxrate("predict", run, june, "--scorelines", "--json", "-q")
    lines = jr.forecasts.predict_scorelines(rated, [("Ayr", "Bo")], side="a", time="2024-06-01")
    np.testing.assert_allclose(json.loads(text)[0]["scorelines"], lines.probability[0])

    coming = season / "coming.csv"  # no fixtures of the past, which pages do not announce
    coming.write_text(june.read_text(encoding="utf-8").replace("2024-", "2124-"), encoding="utf-8")
    code, _, _ = jaxrate("site", run, "--coming", coming, "--out", season / "site", "-q")
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (season / "site" / "players").glob("*.html")}
    assert code == 0 and len(pages) == 4
    for name, match in (("ayr", ("Ayr", "Bo")), ("bo", ("Ayr", "Bo")), ("cork", ("Ely", "Cork"))):
        section = pages[name].partition("<h2>Next match</h2>")[2].partition("All fixtures")[0]
        assert "<summary><bdi>{}</bdi> \u2013 <bdi>{}</bdi>: likeliest".format(*match) in section
        assert section.count("<svg") == 1 and 'href="../players/' in section and '"../coming.html"' in section

    code, text, _ = jaxrate("season", run, june, "--results", games, "--samples", 50, "-q")
    assert code == 0 and "goal difference" in text
    code, _, errors = jaxrate("season", run, june, "--ties", "corners", "--samples", 50)
    assert code != 0 and "goal_difference" in errors


def test_expected_goals_without_goals_are_told(jaxrate, season):
    options = "--expected-goals", "xg_home", "xg_away"
    _, _, notes = jaxrate("rate", season / "games.csv", *options)
    assert "skills use --expected-goals where they learn from goals: --param outcome=goals" in notes
    _, _, notes = jaxrate("rate", season / "games.csv", "--system", "elo", *options)
    assert "elo does not use --expected-goals; skills does" in notes
    jaxrate("rate", season / "games.csv", "--system", "elo", "--out", season / "run")
    code, _, errors = jaxrate("predict", season / "run", season / "june.csv", "--scorelines")
    assert code != 0 and "this elo says nothing of scorelines; take jr.skills('goals', margin=...)" in errors
