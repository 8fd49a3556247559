"""What pages say, without building any: entries of the feed, matches to come, and for how long somebody leads."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts
from jaxrate.core.text_format import format_percentages
from jaxrate.evaluation.comparison import Comparison
from jaxrate.evaluation.scored_predictions import ScoredForecaster
from jaxrate.forecasts.prediction_explanations import Explanation
from jaxrate.history.column_table import ColumnTable
from jaxrate.metrics.prediction_metrics import LogLossDifference
from jaxrate.site.benchmark_page import advise_best_system, comparison_view, find_system_standing
from jaxrate.site.forecast_tables import ExplanationFormat, build_explanation_tables, build_forecast_tables, format_odds
from jaxrate.site.page_templates import MAX_FEED_ENTRIES, add_feed_entry
from jaxrate.site.page_texts import page_template_context
from jaxrate.site.player_pages import summarise_players
from jaxrate.site.site_data import build_site_data
from jaxrate.site.table_rows import find_upset_wins
from jaxrate.views.accuracy import NO_DATA, AccuracySummary, summarise_accuracy, summarise_two_sided
from jaxrate.views.charts import Curve
from jaxrate.views.findings import Finding
from jaxrate.views.wording import MODELS
from tests.browser import inside, text_of


def test_an_entry_of_the_feed_is_new_where_its_words_are():
    first = {"id": "1", "title": "Ada leads", "summary": "by 3 points", "updated": "Monday"}
    entries = add_feed_entry([], first)
    assert add_feed_entry(entries, first | {"updated": "Tuesday"}) == [first]
    changed = first | {"summary": "by 4 points", "updated": "Tuesday"}
    assert add_feed_entry(entries, changed) == [changed]
    for number in range(2, MAX_FEED_ENTRIES + 3):
        entries = add_feed_entry(entries, first | {"id": str(number)})
    assert [int(entry["id"]) for entry in entries] == [*range(MAX_FEED_ENTRIES + 2, 2, -1)]


def test_matches_to_come_name_who_is_at_home_first():
    columns = {"a": ["Ada", "Bo", "Cy"], "b": ["Bo", "Cy", "Ada"], "side": ["Ada", "Cy", ""]}
    columns |= {"win": [0.25, 0.375, 0.875], "loss": [0.75, 0.625, 0.125]}
    (table,) = build_forecast_tables(ColumnTable(columns), None)
    found = [(match.first, match.second, match.has_home, match.chances[0][1]) for match in table.matches]
    assert found == [("Ada", "Bo", True, 0.25), ("Cy", "Bo", True, 0.625), ("Cy", "Ada", False, 0.875)]


def test_a_lead_that_another_lost_is_not_said_to_be_taken():
    """Ada has not played since Monday; on Wednesday Bo lost twice."""
    names = ["Ada", "Bo", *(f"C{i}" for i in range(9))]  # whom draws of equals join, long before
    winner = [*names[:-1], *["Ada"] * 3, *["Bo"] * 4, "C7", "C8"]
    loser = [*names[1:], "C0", "C1", "C2", "C3", "C4", "C5", "C6", "Bo", "Bo"]
    date = ["2019-01-01"] * 10 + ["2020-01-01"] * 3 + ["2020-01-06"] * 4 + ["2020-01-08"] * 2
    table = {"a": winner, "b": loser, "score": [0.5] * 10 + [1.0] * 9, "date": date}
    page = jr.site.report_html(jr.rate(jr.elo(), jr.read(table)), active="all")
    assert re.search(">Ada on top, .* ahead of Bo</h1>", page) and "took the lead" not in page
    assert ">As of <time>2020-01-08</time>: Ada in the lead since <time>2020-01-08</time>" in page


def test_who_is_level_is_not_said_to_lead(tmp_path):
    """The heading "almost level on top" stood above "in the lead since that day, 0.16 points ahead"."""
    table = {
        "a": ["Ada"] * 20,
        "b": ["Bo"] * 20,
        "score": [1.0, 0.0, 0.5, 0.5] * 5,
        "date": np.arange(20).astype("M8[D]"),
    }
    jr.site.write_site(jr.rate(jr.glicko(), jr.read(table)), tmp_path, active="all")
    page = text_of(tmp_path / "index.html")
    assert "almost level on top</h1>" in page and "in the lead" not in page and "took the lead" not in page


def test_an_upset_is_a_win_over_a_favourite():
    """Of four wins; a draw counts as half, so the last was expected."""
    data = SimpleNamespace(careers=SimpleNamespace(start=np.array([0, 3, 5]), player=np.repeat([0, 1], [3, 2])))
    columns = {"score": [1, 1, 0, 1, 1], "chance": [0.4, 0.6, 0.1, 0.3, 0.45], "draw": [0.0, 0.0, 0.0, 0.2, 0.25]}
    found = [x.tolist() for x in find_upset_wins(data, columns)]
    assert found == [[0], [3]]
    del columns["draw"]
    assert [x.tolist() for x in find_upset_wins(data, columns)] == [[0], [3, 4]]


def summarise(events):
    return summarise_accuracy(SimpleNamespace(events=events, contests=None, options={}, system=jr.elo()))


def test_accuracy_is_compared_with_the_home_side_where_there_was_one():
    """The first of a match on neutral ground counted as at home."""
    table = {
        "prediction": np.array([0.7, 0.6, 0.4, 0.8, 0.9, 0.9]),
        "score": np.array([1.0, 1.0, 0.0, 1.0, 0.0, 0.0]),
        "side": np.array([1.0, 1.0, -1.0, -1.0, 0.0, 0.0]),
    }
    said = summarise(table)
    assert re.findall(r"\d+%", said.title) == ["67%", "75%"]
    assert "The home side won 75.0% of the 4 matches" in said.text and "52.5%" in said.text
    table["score"][0] = 0.5
    said = summarise(table)
    assert re.findall(r"\d+%", said.title) == ["50%", "17%", "33%"]
    assert "The home side won 50.0% and drew 25.0% of the 4 matches" in said.text
    assert "home" not in summarise({name: x for name, x in table.items() if name != "side"}).text


def test_calibration_is_that_of_favourites_on_either_side():
    """Those listed first win 80 of 100 at 72%, those listed second 64: it was told of the first alone."""
    prediction, score = np.repeat([0.72, 0.28], 100), np.repeat([1.0, 0.0, 1.0, 0.0], [80, 20, 36, 64])
    said = summarise({"prediction": prediction, "score": score})
    ((predicted, observed, _, _, count),) = said.bins.rows()
    assert (predicted, observed, count) == pytest.approx((72.0, 72.0, 200))
    assert said.metrics[1] == "Favourites' chances were off by 0.0 percentage points, on average."


def test_why_a_match_is_forecast_so_adds_up_to_the_difference():
    """Sides were a and b, in the order of the file, and the parts did not add up to a sum."""
    parts = {"skill": [300.4, 200.4], "experience": [0.1, -0.2]}
    parts |= {"own_side": [10.4, -5.4], "side_advantage": [0.0, 54.4]}
    points = {"points": np.sum([*parts.values()], axis=0)}
    texts = {"side": np.array(["a", "b"]), "player": np.array(["Ada", "Bo"], object)}
    columns = {name: np.array(x) for name, x in parts.items()}
    sides = ColumnTable(texts | points | {"expected": np.array([0.6, 0.4])})
    one = Explanation("Ada against Bo", ColumnTable(texts | columns | points), sides)
    forecast = {"a": ["Ada"], "b": ["Bo"], "side": ["Bo"], "win": [0.6], "loss": [0.4]}
    (table,) = build_forecast_tables(ColumnTable(forecast), None)
    look = ExplanationFormat({"Ada": ("", "Ada L.")}, 0, "chance")
    (told,) = build_explanation_tables([one], table.matches, look)
    assert told.title == "Bo \u2013 Ada L."
    assert build_explanation_tables([one], [*table.matches] * 2, look)[0].title == "Ada L. \u2013 Bo"
    assert [x.head for x in told.columns[1:]] == ["<bdi>Bo</bdi>", "<bdi>Ada L.</bdi>", "difference"]
    assert [list(row) for row in zip(*(x.cells for x in told.columns), strict=True)] == [
        ["strength", "+200", "+300", "\u2212100"],
        ["own form at home and away", "\u22125", "+11", "\u221216"],
        ["home advantage of all", "+54", "0", "+54"],
        ["sum", "+249", "+311", "\u221262"],
        ["chance", "40%", "60%", ""],
    ]


def test_tables_of_matches_say_who_was_at_home(tmp_path):
    table = {"a": list("xyx"), "b": list("yxy"), "score": [1, 0, 1], "venue": [1, 1, 0]}
    rated = jr.rate(jr.elo(side_advantage=60.0), jr.read(table, side="venue"))
    jr.site.write_site(rated, tmp_path, active="all")
    rows = re.search('<table id="events".*?</table>', text_of(tmp_path / "players/x.html"))[0].split("<tr>")[2:]
    assert [re.findall("<td class=h>(neutral|home|away)", row) for row in rows] == [["neutral"], ["away"], ["home"]]
    page = jr.site.report_html(rated._replace(options=rated.options | {"colours": True}), active="all")
    assert inside(page, "data")["sections"]["0"]["ground"] == "120" and "<label>White <select" in page


def test_results_add_up_where_no_score_is_a_half():
    told = build_site_data(jr.rate(jr.elo(), {"a": [*"xyx"], "b": [*"yzz"], "score": [0.3, 0.7, 1.0]}), {})
    assert ". 2 matches: 1 won, 1 drawn, 0 lost" in summarise_players(told, page_template_context(told, ""))[0]


def test_percents_of_a_match_add_up():
    assert format_percentages([0.478, 0.264, 0.258]) == ["48%", "26%", "26%"]
    assert format_percentages([0.625, 0.375]) == ["63%", "37%"]
    assert format_percentages([0.985, 0.01, 0.005]) == ["98.5%", "1.0%", "0.5%"]
    assert format_percentages([0.016, 0.09, 0.894]) == ["1.6%", "9.0%", "89.4%"]  # 1.6% stood beside 9%
    assert [*map(format_odds, (2.268, 9.996, 12.46, 62.34))] == ["2.27", "10.0", "12.5", "62"]


def test_pairs_that_tie_are_in_order_and_the_page_says_what_chance_gives():
    """It said that one of two was not behind in 66.7%, which is what chance gives, since two of three tied."""
    table = {"contest": [1, 1, 1, 2, 2, 2, 3, 3, 3], "player": [*"xyzxyzyzx"], "rank": [1, 1, 3] * 3}
    said = summarise_accuracy(jr.rate(jr.weng_lin(), jr.read(table)))
    assert "ties are in order: chance gives 66.7%" in said.text


def test_points_are_worth_what_predictions_on_a_surface_say(tmp_path):
    """Tennis had no such table: chances are those of a surface there."""
    rng = np.random.default_rng(0)
    pairs = np.array([rng.permutation(8)[:2] for _ in range(200)])
    score = rng.random(200) < 1 / (1 + np.exp(0.5 * (pairs[:, 0] - pairs[:, 1])))
    court = np.where(rng.random(200) < 0.3, "clay", "hard")
    table = {"a": pairs[:, 0], "b": pairs[:, 1], "score": score.astype(float), "court": court, "time": np.arange(200)}
    rated = jr.rate(jr.skills(parts.modifier(2)), jr.read(table, category="court"))
    jr.site.write_site(rated, tmp_path)
    page = re.sub("</?data[^>]*>", "", text_of(tmp_path / "about.html"))
    assert "current players on hard courts" in page
    rows = re.findall(r'name="?points ahead"?>([\d,]+)</td><td[^>]*>(\d+)%<', page)
    assert len(rows) > 1
    strength = np.asarray(jr.history.category_ratings(rated, "hard").mean)
    chance = jr.forecasts.predict_pairs(rated, players=np.arange(8), category="hard").probability
    leads = {strength[i] - strength[j]: 100 * chance(i, j) for i in range(8) for j in range(8) if i != j}
    for points, percent in rows:
        nearest = min(leads, key=lambda lead: abs(lead - float(points.replace(",", ""))))
        assert float(percent) == pytest.approx(leads[nearest], abs=6)


def test_log_loss_is_that_of_three_outcomes_where_these_are_predicted():
    """The log loss of expected scores was told as that of what happened."""
    score, win, draw = np.array([1.0, 0.5, 0.0]), np.array([0.5, 0.5, 0.5]), np.array([0.2, 0.2, 0.2])
    outcomes = np.stack([1.0 - win - draw, draw, win])
    found = summarise_two_sided(win + draw / 2, score, outcomes=outcomes).metrics[0]
    loss = -np.log([0.5, 0.2, 0.3]).mean()
    assert found.startswith(f"Log loss of win, draw and loss: {loss:.4f}; even chances have 1.09")
    assert "; even chances have 0.6931," in summarise_two_sided(win + draw / 2, score).metrics[0]


def summary_of(table, **system):
    rated = SimpleNamespace(events=table, contests=None, options={}, system=SimpleNamespace(**{"params": (), **system}))
    found = summarise_accuracy(rated)
    assert "jaxrate" not in found.text and "--" not in found.text  # readers cannot run commands, which stood in them
    return found.text, [advice.rpartition(": ")[2] for advice in found.advice]


def test_chances_of_draws_are_compared_with_draws():
    """Nobody was told that draws had 40%, of which there were 20%."""
    n = 1000
    table = {"score": np.repeat([1.0, 0.5, 0.0], [400, 200, 400]), "prediction": np.full(n, 0.5)}
    chances = {"win": np.full(n, 0.3), "draw": np.full(n, 0.4), "loss": np.full(n, 0.3)}
    told, commands = summary_of(table | chances, params=SimpleNamespace(draw_margin=1.0))
    assert "40.0%, on average, and 20.0%" in told and "--outlook --free draw_margin" in commands[0]
    chances = {"win": np.full(n, 0.395), "draw": np.full(n, 0.21), "loss": np.full(n, 0.395)}
    assert summary_of(table | chances, params=())[1] == []


def test_a_home_side_that_nobody_named_is_noticed():
    """Those listed first won 60%, and even chances were predicted; but winners may be listed first."""
    prediction, score = np.full(1000, 0.5), np.repeat([1.0, 0.0], [600, 400])
    found, commands = summary_of({"prediction": prediction, "score": score})
    assert "Those listed first won 60.0%" in found and commands == ["jaxrate rate FILE --side a"]
    assert "listed first" not in summary_of({"prediction": prediction, "score": np.ones(1000)})[0]
    assert "listed first" not in summary_of({"prediction": prediction, "score": score, "side": np.ones(1000)})[0]
    assert "listed first" not in summary_of({"prediction": prediction, "score": np.repeat([1.0, 0.0], 500)})[0]


def compared_systems():
    """Skills, which learns from margins, is ahead of Elo beyond chance, level with Cy, and behind the blend."""
    skills = jr.skills(observe=parts.margin("gap"))
    of_skills, of_elo = {"log loss": 0.60, "accuracy": 0.62}, {"log loss": 0.65, "accuracy": 0.61}
    results = [
        ScoredForecaster("skills", "system", of_skills, LogLossDifference(0.0, 0.0), system=skills),
        ScoredForecaster("elo", "system", of_elo, LogLossDifference(0.05, 0.01), system=jr.elo()),
    ]
    blend = ScoredForecaster("blend", "blend", {"log loss": 0.59}, LogLossDifference(-0.01, 0.001))
    published = ScoredForecaster("Cy", "forecast", {"log loss": 0.6}, LogLossDifference(0.001, 0.001))
    notes = ["The side advantage is 50 points for elo, skills, by default."]
    return Comparison(results, {"matches": 9}, 3, 9, "Nine.", notes, {}, (blend, published))


def test_a_system_within_chance_of_the_best_is_equal_and_no_worse():
    """Of four that were level, the title named two, and a sentence said that three predicted better than the fourth."""
    compared = compared_systems()
    best, elo = compared.results
    near = []
    for name, right, gap in (("glicko", 0.64, (0.005, 0.003)), ("trueskill", 0.617, (0.006, 0.01))):
        quality = {"log loss": 0.6, "accuracy": right}
        near.append(elo._replace(name=name, quality=quality, log_loss_difference=LogLossDifference(*gap)))
    several = compared._replace(results=[best, *near, elo])
    for name in ("skills", "trueskill"):
        standing = find_system_standing(several, name)
        assert str(standing.finding).startswith("Skills, Glicko and TrueSkill predicted about equally well, ")
        assert "617 to 640 of 1,000" in standing.describe() and standing.describe_limit(4) == ""
        assert advise_best_system(several, name) == []
    twice = several._replace(results=[best, *near, elo._replace(period=7.0), elo._replace(name="glicko", period=7.0)])
    assert find_system_standing(twice, "glicko").shown is None  # it is behind in periods alone
    assert find_system_standing(twice, "glicko", 7.0).shown.period == 7.0
    assert advise_best_system(twice, "glicko", 7.0)[0].startswith("Glicko in periods of 7 was number 5 of 5")
    assert find_system_standing(twice, "elo").shown.name == "elo"
    assert (
        "610 of 1,000" in find_system_standing(several, "elo").describe()
        and len(advise_best_system(several, "elo")) == 3
    )
    one_off = near[0]._replace(log_loss_difference=LogLossDifference(0.005, 0.0022))  # a bar that does not cross 0
    view = comparison_view(compared._replace(results=[best, one_off, near[1], elo]), "skills", "matches")
    assert view["title"].endswith("predicted about equally well, level with Cy, behind the blend of all")
    assert "1.3 times its margin" in view["explanation"]


def test_who_played_among_few_comes_last_of_all_times():
    """Tahiti, who beat their neighbours, stood 11th of all national teams by peak."""
    games = [(f"m{i % 24}", f"m{(i + 1 + i // 24) % 24}") for i in range(24 * 15)]
    games = [("guest", "m0"), *games, *[("king", "guest")] * 40]
    rated = jr.rate(jr.elo(), jr.read([{"winner": a, "loser": b} for a, b in games]))
    data = build_site_data(rated, {})
    places = dict(zip(data.names, data.is_settled, strict=True))
    assert data.names[np.nanargmax(data.peak_lead)] == "king" and not places["king"] and places["m3"]


def test_a_lean_is_told_where_all_bins_bear_it_out():
    """Favourites were said to score more than predicted above bins in which the last did, too."""
    x, error = np.linspace(55.0, 95.0, 5), Finding("errors", "", "Chances", details={"off": 9.0})
    for shift, said in ((0.0, "Predictions too cautious: favourites scored more than predicted"), (50.0, str(error))):
        curve = Curve("", x - shift, x - shift + 9.0, x - shift + 7.0, x - shift + 11.0, np.full(5, 100))
        assert AccuracySummary(NO_DATA, [error], curve, lean=1).calibration_title == said.rstrip(".")


def test_contests_of_many_have_a_finding_and_bins():
    """The heading was the word "Accuracy", over an empty page."""
    random, contests, size = np.random.default_rng(5), 60, 8
    player = np.array([random.permutation(12)[:size] for _ in range(contests)])
    order = np.argsort(-(0.6 * player + random.normal(size=player.shape) * 2), axis=1).argsort(axis=1)
    share = 0.2 + 0.6 * player.argsort(axis=1).argsort(axis=1) / (size - 1)
    table = {
        "participants": np.full(contests * size, size),
        "player": player.reshape(-1, 1),
        "event": np.arange(contests).repeat(size),
        "rank": order.ravel() + 1,
        "prediction": share.ravel(),
        "rating": player.reshape(-1, 1).astype(float),
    }
    rated = SimpleNamespace(events=table, contests=contests, system=jr.elo_mmx(), options={})
    said = summarise_accuracy(rated, MODELS)
    assert (
        re.fullmatch(r"The model expected to finish ahead did so \d+% of the time", said.title)
        and "chance gives 50.0%" in said.text
    )
    assert "pairs of models" in said.text
    bins = said.bins
    assert bins.weight.sum() == contests * size and ((bins.low < bins.y) & (bins.y < bins.high)).all()
