"""What the page of the method says: settings in words, what points are worth, and where the results come from."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("jinja2")

import jaxrate as jr
from jaxrate.cli.hyperparameters import FittedParams, fitted_share
from jaxrate.site.line_ups import HOME
from jaxrate.site.method_texts import (
    RatingScale,
    describe_dates,
    describe_fit,
    describe_model,
    describe_settings,
    rating_scale,
)
from jaxrate.site.wording import PlayerOrTeamNoun
from jaxrate.systems import SYSTEMS
from jaxrate.systems.system_titles import describe_system
from tests.browser import texts


class LogisticPairs:
    """Chances of three players by a logistic curve, with a side that is worth so many points."""

    rating, left = np.array([1700.0, 1600.0, 1400.0]), np.zeros((1, 3))

    def __init__(self, side=0.0):
        self.side = side

    def probability(self, a, b):
        return 1 / (1 + 10 ** (-(self.rating[a] - self.rating[b] + self.side) / 400))

    ordered_value = probability


def test_dates_that_many_results_share_are_explained():
    """All rounds of a tennis event had its first day, and no page said so."""
    day = np.arange(6.0)
    once = SimpleNamespace(time=np.concatenate([day, [5.0]]), start=np.array([0, 6, 7, 7]))
    often = SimpleNamespace(time=np.append(day // 3, 1.0), start=once.start)
    dated = SimpleNamespace(clock="dates")
    assert not describe_dates(SimpleNamespace(careers=once, rated=dated))
    assert "first day of an event" in describe_dates(SimpleNamespace(careers=often, rated=dated))


def test_settings_are_told_in_words():
    """No days since 1970, no tuples of columns, no number of categories where there are none."""
    system = jr.skills(outcome="margin", margin=("home_points", "away_points"), seasons=[-17994.0, -17630.0])
    seasons = {"1920": -17994.0, "1921": -17630.0}
    rated = SimpleNamespace(system=system, clock="dates", seasons=seasons, categories=None, contests=None)
    told = dict(describe_settings(rated))
    assert told["seasons"] == "2, from 1920" and told["margin"] == "home points less away points"
    assert (
        told["growth"]
        == "10 points in one period, and twice that in four \u2013 growth of the deviation of a common skill"
    )
    assert "own side" not in told  # it read "no"
    assert "categories" not in told and "team performance" not in told and "covariates" not in told
    assert told["side advantage"].endswith(" points \u2013 rating points that the better side is worth")
    rated.system = jr.skills(margin="goals")  # which learns from wins alone
    assert "margin" not in dict(describe_settings(rated))
    rated.system = jr.skills("margin", margin=("goals_a", "goals_b"), own_side=True)
    told = dict(describe_settings(rated))
    assert told["margin"] == "goals of the first less goals of the second"
    assert told["own side"] == "what it is worth is learned for each"
    rated.system = system
    rated.seasons = None
    assert dict(describe_settings(rated))["seasons"] == "2, from 1920-09-26"
    told = dict(describe_settings(SimpleNamespace(**vars(rated) | {"system": jr.glicko2()})))
    assert told["initial volatility"].startswith("0.06 \u00d7 173.7 points")  # it read "0.06 173.7 points"


def test_every_system_has_a_name_in_print():
    for name in SYSTEMS:
        assert describe_system(name)[0].isupper() and "_" not in describe_system(name)
    assert describe_system("glicko2") == "Glicko-2 (Glickman 2012)" and describe_system("my_own") == "my_own"


def test_points_are_worth_what_predictions_say():
    own_side = jr.skills(own_side=True, side_advantage=54)
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
    rated = jr.rate(jr.skills(categories=2), jr.read(table, category="court"))
    jr.site.write_site(rated, tmp_path)
    page = re.sub("</?data[^>]*>", "", (tmp_path / "about.html").read_text(encoding="utf-8"))
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


def test_the_source_of_the_shipped_league_is_named(tmp_path):
    table = {"a": ["Ada", "Bo"] * 4, "b": ["Bo", "Cy"] * 4, "score": [1.0, 0.0] * 4}
    rated = jr.rate(jr.elo(), jr.read(table))
    source = jr.data.datasets.NFL_SOURCE
    assert "FiveThirtyEight" in source and "MIT" in source
    rated = rated._replace(options=rated.options | {"source": source})
    jr.site.write_site(rated, tmp_path)
    for page in ((tmp_path / "about.html").read_text(encoding="utf-8"), jr.site.report_html(rated)):
        assert 'Results: FiveThirtyEight, <a href="https://github.com/fivethirtyeight/nfl-elo-game"' in page


def test_the_side_is_chosen_by_name(browser, tmp_path):
    """Home was "the first" or "the second", whoever these were."""
    table = {"a": ["Ada", "Bo"] * 4, "b": ["Bo", "Cy"] * 4, "score": [1.0, 0.0] * 4, "side": [1, 1] * 4}
    rated = jr.rate(jr.elo(side_advantage=60.0), jr.read(table, side="side"))
    page = tmp_path / "report.html"
    page.write_text(jr.site.report_html(rated), encoding="utf-8")
    browser.get(page.as_uri())
    chosen = [browser.execute_script(f"return document.getElementById('{x}').value") for x in ("first", "second")]
    assert texts(browser, "#side option") == ["neutral ground", *chosen] and all(chosen)


def test_pages_say_to_which_matches_settings_were_fitted():
    """The accuracy of predictions was told as if the settings had not seen the results."""
    told = [describe_fit(SimpleNamespace(options={"fitted_share": x}), "matches") for x in (0.8, 1.0)]
    assert told == [
        "The settings of the system, though, were fitted to the first 80% of the matches.",
        "The settings of the system, though, were fitted to all matches.",
    ]
    fit = FittedParams("fitted.toml", "skills", {}, None, "games.csv", 0.8, ())
    assert fitted_share(fit, "data/games.csv") == {"fitted_share": 0.8}
    assert describe_fit(SimpleNamespace(options=fitted_share(fit, "others.csv")), "matches") == ""


def test_the_method_says_what_the_model_estimates():
    """The title was "Skills rates players by results and the surface"."""
    rated = SimpleNamespace(system=jr.skills(own_side=True), categories=np.array(["clay"]), options={})
    assert describe_model(rated, PlayerOrTeamNoun("team", "teams"), HOME) == (
        "Skills is a statistical model. For every team it estimates how strong they are, what they gain or lose by the "
        "category, what it is worth to them to be at home and how sure all this is."
    )
    assert describe_model(SimpleNamespace(system=jr.elo()), PlayerOrTeamNoun("team", "teams"), HOME) == ""
