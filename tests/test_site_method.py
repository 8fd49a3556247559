"""What the page of the method says: settings in words, what points are worth, and where the results come from."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("jinja2")

import jaxrate as jr
from jaxrate import parts
from jaxrate.evaluation.comparison import Comparison
from jaxrate.evaluation.scored_predictions import ScoredForecaster
from jaxrate.metrics.prediction_metrics import LogLossDifference
from jaxrate.site.benchmark_page import (
    advise_best_system,
    find_standing,
)
from jaxrate.site.page_texts import (
    RatingScale,
    rating_scale,
)
from jaxrate.systems import SYSTEMS
from jaxrate.systems.system_titles import describe_system
from jaxrate.views.accuracy import (
    summarise_accuracy,
    summarise_two_sided,
)
from jaxrate.views.wording import MODELS
from tests.browser import text_of, texts


class LogisticPairs:
    """Chances of three players by a logistic curve, with a side that is worth so many points."""

    rating, left = np.array([1700.0, 1600.0, 1400.0]), np.zeros((1, 3))

    def __init__(self, side=0.0):
        self.side = side

    def probability(self, a, b):
        return 1 / (1 + 10 ** (-(self.rating[a] - self.rating[b] + self.side) / 400))

    ordered_value = probability


def test_every_system_has_a_name_in_print():
    for name in SYSTEMS:
        assert describe_system(name)[0].isupper() and "_" not in describe_system(name)
    assert describe_system("glicko2") == "Glicko-2 (Glickman 2012)" and describe_system("my_own") == "my_own"


def test_points_are_worth_what_predictions_say():
    own_side = jr.skills(parts.own_side(), parts.side(54))
    data = SimpleNamespace(
        rated=SimpleNamespace(system=own_side),
        leaderboard_ids=np.arange(3),
        listed=np.arange(3),
        full_leaderboard=SimpleNamespace(rating=LogisticPairs.rating),
    )
    tables = SimpleNamespace(even=LogisticPairs(), home=LogisticPairs(60.0))
    rows = [("100", "64%"), ("200", "76%"), ("400", "91%")]  # no pair is 50 points apart
    assert rating_scale(data, tables) == RatingScale(rows, ("60", "59%"), "54")
    assert rating_scale(data, SimpleNamespace(even=LogisticPairs(), home=None)) == RatingScale(rows, None, "54")
    assert rating_scale(data, None) == RatingScale([], None)


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
    told = "What points are worth among current players on hard courts: the chance of the better one."
    assert told in page and told in re.sub("</?data[^>]*>", "", jr.site.report_html(rated))
    rows = re.findall(r'name="?points ahead"?>([\d,]+)</td><td[^>]*>(\d+)%<', page)
    assert len(rows) > 1
    strength = np.asarray(jr.history.category_ratings(rated, "hard").mean)
    order = np.argsort(-strength)
    chance = jr.forecasts.predict_pairs(rated, players=np.arange(8), category="hard").probability
    leads = np.array(
        [[strength[i] - strength[j], 100 * chance(i, j)] for k, i in enumerate(order) for j in order[:k:-1]]
    )
    for points, percent in rows:
        near = leads[np.argsort(np.abs(leads[:, 0] - float(points.replace(",", ""))))[0]]
        assert float(percent) == pytest.approx(near[1], abs=6)


def test_the_side_is_chosen_by_name(browser, tmp_path):
    """Home was "the first" or "the second", whoever these were."""
    table = {"a": ["Ada", "Bo"] * 4, "b": ["Bo", "Cy"] * 4, "score": [1.0, 0.0] * 4, "side": [1, 1] * 4}
    rated = jr.rate(jr.elo(side_advantage=60.0), jr.read(table, side="side"))
    page = tmp_path / "report.html"
    page.write_text(jr.site.report_html(rated), encoding="utf-8")
    browser.get(page.as_uri())
    chosen = [browser.execute_script(f"return document.getElementById('{x}').value") for x in ("first", "second")]
    assert texts(browser, "#side option") == ["neutral ground", *chosen] and all(chosen)


# The accuracy of predictions in words: draws, home sides, and favourites near 70%, against counts by hand.

pytest.importorskip("pyarrow")


def test_log_loss_is_that_of_three_outcomes_where_these_are_predicted():
    """The log loss of expected scores was told as that of what happened."""
    score, win, draw = np.array([1.0, 0.5, 0.0]), np.array([0.5, 0.5, 0.5]), np.array([0.2, 0.2, 0.2])
    outcomes = np.stack([1.0 - win - draw, draw, win])
    found = summarise_two_sided(win + draw / 2, score, outcomes=outcomes).texts[1]
    assert found.startswith(
        f"Log loss of win, draw and loss: {-np.log([0.5, 0.2, 0.3]).mean():.4f}; even chances have 1.09"
    )
    found = summarise_two_sided(win + draw / 2, score).texts[1]
    assert found.startswith("Log loss of the expected scores: ") and "; even chances have 0.6931," in found
    assert summarise_two_sided(win, np.array([1.0, 1.0, 0.0])).texts[1].startswith("Log loss: 0.6931; ")


def summary_of(table, **system):
    rated = SimpleNamespace(events=table, contests=None, options={}, system=SimpleNamespace(**{"params": (), **system}))
    found = summarise_accuracy(rated)
    told = " ".join(found.texts)
    assert "jaxrate" not in told and "--" not in told  # readers cannot run commands, which stood in sentences
    return told, [advice.rpartition(": ")[2] for advice in found.advice]


def test_chances_of_draws_are_compared_with_draws():
    """Nobody was told that draws had 40%, of which there were 20%."""
    n = 1000
    table = {"score": np.repeat([1.0, 0.5, 0.0], [400, 200, 400]), "prediction": np.full(n, 0.5)}
    chances = {"win": np.full(n, 0.3), "draw": np.full(n, 0.4), "loss": np.full(n, 0.3)}
    told, commands = summary_of(table | chances, params=SimpleNamespace(draw_margin=1.0))
    found = "Draws had a chance of 40.0%, on average, and 20.0% of the matches were drawn"
    assert f"{found}: the chances of draws are too high" in told and "--outlook --free draw_margin" in commands[0]
    chances = {"win": np.full(n, 0.395), "draw": np.full(n, 0.21), "loss": np.full(n, 0.395)}
    told, commands = summary_of(table | chances, params=())
    assert commands == [] and "Draws had a chance of 21.0%, on average, and 20.0% of the matches were drawn." in told


def test_a_home_side_that_nobody_named_is_noticed():
    """Those listed first won 60%, and even chances were predicted; but winners may be listed first."""
    prediction, score = np.full(1000, 0.5), np.repeat([1.0, 0.0], [600, 400])
    told = "Those listed first won 60.0%, where 50.0% was predicted: the ratings know no home side."
    found, commands = summary_of({"prediction": prediction, "score": score})
    assert told in found and commands == ["jaxrate rate FILE --side a"]
    assert "listed first" not in summary_of({"prediction": prediction, "score": np.ones(1000)})[0]
    assert "listed first" not in summary_of({"prediction": prediction, "score": score, "side": np.ones(1000)})[0]
    assert "listed first" not in summary_of({"prediction": prediction, "score": np.repeat([1.0, 0.0], 500)})[0]


def compared_systems():
    """Skills, which learns from margins, is ahead of Elo beyond chance, level with Cy, and behind the blend."""
    kinds = (
        ("skills", jr.skills(observe=parts.margin("gap")), 0.60, None, 0.62),
        ("elo", jr.elo(), 0.65, (0.05, 0.01), 0.61),
    )
    gaps = [None if gap is None else LogLossDifference(*gap) for *_, gap, _ in kinds]
    results = [
        ScoredForecaster(
            name, "system", {"log loss": loss, "accuracy": right}, gap or LogLossDifference(0.0, 0.0), system=system
        )
        for (name, system, loss, _, right), gap in zip(kinds, gaps, strict=True)
    ]
    blend = ScoredForecaster("blend", "blend", {"log loss": 0.59}, LogLossDifference(-0.01, 0.001))
    published = ScoredForecaster("Cy", "forecast", {"log loss": 0.6}, LogLossDifference(0.001, 0.001))
    notes = ["The side advantage is 50 points for elo, skills, by default."]
    return Comparison(results, {"matches": 9}, 3, 9, "Nine.", notes, {}, (blend, published))


def test_a_system_within_chance_of_the_best_is_equal_and_no_worse():
    """Of four that were level, the title named two, and a sentence said that three predicted better than the fourth."""
    compared = compared_systems()
    best, elo = compared.results
    near = [
        elo._replace(
            name=name, quality={"log loss": 0.6, "accuracy": right}, log_loss_difference=LogLossDifference(*gap)
        )
        for name, right, gap in (("glicko", 0.64, (0.005, 0.003)), ("trueskill", 0.617, (0.006, 0.01)))
    ]
    several = compared._replace(results=[best, *near, elo])
    for name in ("skills", "trueskill"):
        standing = find_standing(several, name)
        assert str(standing.finding) == "Skills, Glicko and TrueSkill predicted about equally well"
        assert standing.describe() == "They called 617 to 640 of 1,000 matches right."
        assert advise_best_system(several, name) == []
    told = find_standing(several, "elo").describe()
    assert told.endswith("The ratings on this page are those of Elo, which called 610 of 1,000 matches right.")
    assert len(advise_best_system(several, "elo")) == 3
    level = compared._replace(results=[best, *(x._replace(name=f"system {i}") for i, x in enumerate(near * 2))])
    assert str(find_standing(level, "skills").finding) == "All 5 systems predicted about equally well"


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
    assert said.title.endswith("% of pairs were in the predicted order") and "chance gives 50.0%" in said.texts[0]
    assert said.texts[0].startswith("Of the pairs of models who had been in a contest before, ")
    assert "of the field" in said.texts[0]
    bins = said.bins
    assert bins.weight.sum() == contests * size and ((bins.low < bins.y) & (bins.y < bins.high)).all()
    assert said.words.up == "share behind" and f" of {len(bins.x)} " in said.verdict
