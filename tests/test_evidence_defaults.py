"""What the commands learn from where no system is named: the sides, points, seasons and surfaces of the file."""

import tomllib

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.cli.terminal_tables import to_text_table
from jaxrate.data.column_recognition import recognise_evidence_columns
from jaxrate.systems.system_construction_by_name import add_parts_to_fit, make_system_for_data

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore:took ")


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ("date home away home_goals away_goals season", {"margin": ["home_goals", "away_goals"], "season": "season"}),
        ("Date HomeTeam AwayTeam FTHG FTAG FTR HTHG HTAG", {"margin": ["FTHG", "FTAG"]}),
        ("tourney_date winner_name loser_name surface WPts LPts", {"category": "surface"}),  # points of a ranking
        ("Season DayNum WTeamID WScore LTeamID LScore", {"margin": ["WScore", "LScore"], "season": "Season"}),
        ("team opp pts_for pts_against", {"margin": ["pts_for", "pts_against"]}),
        ("a b score margin season", {"margin": "margin", "season": "season"}),
        ("a b sets_a sets_b points_a points_b", {"margin": ["points_a", "points_b"]}),  # unless contents differ
        ("contest player rank season surface", {}),
    ],
)
def test_evidence_is_recognised_by_the_names_of_columns(names, found):
    assert recognise_evidence_columns(names.split(), {}) == found


def test_options_come_before_names():
    names = ["date", "home", "away", "home_goals", "away_goals", "season", "surface"]
    given = {"margin": "lead", "league_season": "season"}
    assert recognise_evidence_columns(names, given) == {"category": "surface"}
    assert recognise_evidence_columns(names, {"contest": "season"}) == {}


@pytest.fixture
def football(tmp_path):
    """Four clubs in three seasons; in the last column seasons that overlap."""
    random = np.random.default_rng(3)
    lines = []
    for i in range(90):
        home, away = random.choice(4, 2, replace=False)
        goals = random.poisson((1.8, 1.2))
        date = np.datetime64("2020-01-01") + np.timedelta64(10 * i, "D")
        lines.append(f"{date},Club {home},Club {away},{goals[0]},{goals[1]},{2020 + i // 30},{i % 2}")
    path = tmp_path / "football.csv"
    path.write_text("\n".join(["date,home,away,home_goals,away_goals,season,half", *lines]) + "\n")
    return path


def test_neutral_ground_where_nobody_is_at_home_is_told(tmp_path):
    """Defect: sides were lost without a word, though a column told of them."""
    file = tmp_path / "games.csv"
    file.write_text("a,b,score,neutral\nx,y,1,true\ny,x,1,false\n")
    with pytest.warns(UserWarning, match="^the column neutral is not used; .* side='a', neutral='neutral'"):
        assert jr.read(file).matches.context.side is None
    assert jr.read(file, side="a", neutral="neutral").matches.context.side.tolist() == [0, 1]


def test_rate_learns_from_what_the_file_has(jaxrate, football):
    """Defect: it ignored points and seasons, and said so only where the accuracy was explained."""
    code, text, errors = jaxrate("rate", football)
    data = jr.read(football, margin=["home_goals", "away_goals"], season="season")
    system = make_system_for_data("skills", {}, None, data)
    assert code == 0 and text.startswith("skills: 90 matches")
    assert to_text_table(jr.leaderboard(jr.rate(system, data), top=10)).describe().splitlines()[1] in text
    note = "skills also learns from the side (54 points), margins and seasons; --plain turns this off"
    assert note in errors and errors.count("also learns") == 1
    code, text, errors = jaxrate("rate", football, "--plain", "--no-calibrate")
    assert code == 0 and text.startswith("glicko: 90 matches") and "margins and" not in errors
    alone = jr.run(jr.glicko(), jr.read(football).matches._replace(context=jr.extend.Context()))
    assert f"log loss {jr.metrics.log_loss(alone.prediction, data.matches.score):.4f}" in text


def test_who_names_a_system_gets_the_same_evidence(jaxrate, football):
    """Defect: margins and seasons were dropped without a word by --system and --param."""
    by_default = jaxrate("rate", football)[1]
    assert jaxrate("rate", football, "--system", "skills")[1].partition(" in ")[0] == by_default.partition(" in ")[0]
    code, text, errors = jaxrate("rate", football, "--param", "side_advantage=40", "--no-calibrate")
    assert code == 0 and text.startswith("skills: ") and "the side (40 points), margins and seasons" in errors
    code, text, errors = jaxrate("rate", football, "--system", "glicko", "--no-calibrate")
    assert code == 0 and "glicko also learns from the side (50 points) and seasons; --plain turns" in errors
    assert "glicko does not use margins; take skills" in errors
    code, text, errors = jaxrate("compare", football, "--system", "skills", "--system", "elo", "-v")
    assert code == 0 and "skills also learns from the side" in errors and "Not used by elo: margins." in text
    code, _, errors = jaxrate("rate", football, "--param", "c=30")
    prefix = "without --system it is skills for these data"
    assert code == 2 and f"jaxrate: {prefix}: skills has no parameter 'c'" in errors


def test_fit_chooses_the_system_that_rate_chooses(jaxrate, football, tmp_path, no_errors):
    """It fitted Glicko to files which `rate` rates by skills."""
    saved = tmp_path / "fitted.toml"
    code, text, errors = jaxrate("fit", football, "--steps", 1, "--save", saved)
    assert code in (0, 1) and text.startswith("skills: ") and "teams" in text, errors
    values = tomllib.loads(saved.read_text())["settings"]
    code, text, errors = jaxrate("rate", football, "--param", saved, "--out", tmp_path / "run")
    columns = jr.load(tmp_path / "run").options["columns"]
    assert code == 0 and columns["margin"] == values["margin"] and ("season" in columns) == bool(values["seasons"])


def test_sides_and_seasons_alone_need_no_other_system(jaxrate, football):
    text = football.read_text().replace("home_goals", "x").replace("away_goals", "y").splitlines()
    rows = [line.split(",") for line in text[1:]]
    scores = ["score", *(str((1 + np.sign(int(row[3]) - int(row[4]))) / 2) for row in rows)]
    football.write_text("\n".join(f"{line},{score}" for line, score in zip(text, scores, strict=True)) + "\n")
    code, text, errors = jaxrate("rate", football)
    assert code == 0 and text.startswith("glicko: 90 matches")
    assert "glicko also learns from the side (50 points) and seasons" in errors
    assert "learns from the side" not in jaxrate("rate", football, "--param", "side_advantage=0")[2]


def test_what_cannot_be_used_is_left_out_with_a_note(jaxrate, football):
    football.write_text(football.read_text().replace("season,half", "other,season"))
    code, text, errors = jaxrate("rate", football)
    assert code == 0 and text.startswith("skills: 90 matches")
    assert "a column was recognised, but is not used: football.csv: row" in errors and "season" in errors
    assert "also learns from the side (54 points) and margins;" in errors


def long_league(n=600, fall=400.0):
    """Matches of equals on dates of fifteen years, in which the side falls from 250 points."""
    random = np.random.default_rng(5)
    a = random.integers(0, 8, n)
    lead = np.linspace(250.0, 250.0 - fall, n)
    score = random.uniform(size=n) < 1.0 / (1.0 + 10.0 ** (-lead / 400.0))
    dates = np.datetime64("2000-01-01") + (np.arange(n) * 5479 // n)
    return {"a": a, "b": (a + random.integers(1, 8, n)) % 8, "score": 1.0 * score, "date": dates}


@pytest.mark.parametrize(("fall", "choice"), [(400.0, {}), (0.0, {}), (0.0, {"side_since": "2006-01-01"})])
def test_fits_of_long_histories_let_the_side_change_where_that_is_clear(fall, choice):
    data = jr.read(long_league(fall=fall), side="a", time="date")
    system = jr.compare(data, {"skills": choice}, last=0.2, fit=True).results[0].system
    params, settings = system.params, system.settings
    if fall:
        middle = 0.5 * (data.matches.time[0] + data.matches.time[479])
        assert abs(settings["side_since"] - middle) <= 0.5
        assert -40.0 < params.side_trend < -15.0  # a year: 400 points in 15
        assert params.side_advantage == pytest.approx(90.0, abs=60.0)  # known to some 20 points by 480 matches
    elif choice:
        assert settings["side_since"] == 13149.0 and abs(params.side_trend) < 20.0
    else:
        assert settings["side_since"] is None and "side_trend" not in params._fields


def test_a_fit_says_that_the_change_of_the_side_is_unclear(jaxrate, tmp_path):
    jr.data.write(long_league(fall=0.0), tmp_path / "games.csv")
    options = "--side", "a", "--system", "skills", "--free", "side_advantage", "side_trend"
    code, text, errors = jaxrate("fit", tmp_path / "games.csv", *options)
    assert code == 0 and "side_trend is not clear; --param side_since=none leaves it out" in text, errors
    code, text, errors = jaxrate("fit", tmp_path / "games.csv", *options[:6], "--param", "side_since=none")
    assert code == 0 and "side_trend" not in text, errors


SIDES = {"side": "b"}


@pytest.mark.parametrize(
    ("changes", "num_fitted", "columns", "added"),
    [
        ({}, 9_999, SIDES, {"side_since"}),
        ({}, 10_000, SIDES, {"side_since", "form"}),
        ({}, 10_000, {}, {"form"}),
        ({"side_since": None, "form_deviation": None}, 10_000, SIDES, set()),
        ({"outcome": "logistic"}, 10_000, SIDES, {"side_since"}),
        ({}, 0, SIDES, set()),
    ],
)
@pytest.mark.filterwarnings("ignore:.*repeat an earlier one exactly")
def test_what_fits_of_long_histories_add_to_skills(changes, num_fitted, columns, added):
    data = jr.read(long_league(10_000), time="date", **columns)
    system = make_system_for_data("skills", changes, None, data)
    fitted = add_parts_to_fit(system, changes, data, num_fitted)
    has = {"side_since": fitted.settings["side_since"] is not None, "form": "form_deviation" in fitted.params._fields}
    assert {name for name, there in has.items() if there} == added and (fitted != system) == bool(added)
    assert add_parts_to_fit(system, {}, data._replace(clock="numbers"), 10_000) == system
    assert add_parts_to_fit(jr.glicko(side_advantage=50), {}, data, 10_000) == jr.glicko(side_advantage=50)


def test_points_that_only_say_who_won_are_no_margins(jaxrate, tmp_path):
    lines = [f"2024-01-{i + 1:02},Ada,Bo,{i % 2},{1 - i % 2}" for i in range(20)]
    (tmp_path / "chess.csv").write_text("\n".join(["date,white,black,white_score,black_score", *lines]) + "\n")
    code, text, errors = jaxrate("rate", tmp_path / "chess.csv")
    assert code == 0 and text.startswith("glicko: 20 matches") and "glicko also learns from the side (50" in errors


def test_categories_too_many_for_modifiers_are_left_out(jaxrate, tmp_path):
    topics = "".join(f"Ada,Bo,{i % 2},{i},topic {i % 101}\n" for i in range(202))
    (tmp_path / "answers.csv").write_text("a,b,score,time,topic\n" + topics)
    data = jr.read(tmp_path / "answers.csv", category="topic")
    assert "modifier" not in repr(jr.skills_for_data(data))
    assert "modifier" in repr(jr.skills_for_data(data._replace(categories=data.categories[:100])))
    note = "skills does not use categories"
    code, _, err = jaxrate("rate", tmp_path / "answers.csv", "--category", "topic")
    assert code == 0 and note in " ".join(err.split())
    more = "--column", "category_lead=200"
    code, _, err = jaxrate("rate", tmp_path / "answers.csv", "--category", "topic", *more)
    assert code == 0 and "not use" not in err
