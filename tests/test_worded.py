"""What a site says of contests, in words: against the measures of the same predictions."""

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import jaxrate as jr
from jaxrate.evaluation.scored_predictions import evaluate_predictions
from jaxrate.site.accuracy_summary import summarise_accuracy
from jaxrate.site.player_pages import summarise_players
from jaxrate.site.site_data import build_site_data, page_template_context


def test_words_about_contests_of_teams():
    """Of two sides they are those of matches, of more a team is one participant."""
    random, n = np.random.default_rng(1), 80
    for teams in (2, 3):
        rank = np.array([random.permutation(teams) + 1 for _ in range(n)])
        each = {"team": np.tile(np.repeat(np.arange(teams), 2), n), "rank": np.repeat(rank.ravel(), 2)}
        player = np.array([random.permutation(12)[: 2 * teams] for _ in range(n)]).ravel()
        table = each | {"contest": np.repeat(np.arange(n), 2 * teams), "player": player}
        data = jr.read(table, team="team")
        rated = jr.rate(jr.weng_lin(), data)
        said = summarise_accuracy(rated)
        if teams == 2:
            found = evaluate_predictions(rated, data)
            assert f"The favourite won {100 * found['accuracy']:.1f}% of {n} matches." in said.texts[0]
            assert f"log loss, {found['log loss']:.4f}" in said.texts[1] and len(said.bins) == 2
        else:
            right = evaluate_predictions(rated, data)["pair inversion"]  # which is that of tables
            assert said.title == f"{right:.0%} of pairs were in the predicted order"
            assert f"before, {right:.1%} (95% interval " in said.texts[0] and "chance gives 50.0%" in said.texts[0]
            assert said.verdict.endswith(("do.", "does.", "not."))


def test_pairs_that_tie_are_in_order_and_the_page_says_what_chance_gives():
    """It said that one of two was not behind in 66.7%, which is what chance gives, since two of three tied."""
    table = {"contest": [1, 1, 1, 2, 2, 2, 3, 3, 3], "player": [*"xyzxyzyzx"], "rank": [1, 1, 3] * 3}
    said = summarise_accuracy(jr.rate(jr.weng_lin(), jr.read(table)))
    assert "ties are in order: chance gives 66.7%" in said.texts[0]


def test_one_is_not_said_as_many():
    columns = {"a": ["Ada"], "b": ["Bo"], "score": [1.0], "date": np.array(["2026-07-19"], "datetime64[D]")}
    rated = jr.rate(jr.elo(), jr.read(columns))
    assert " of 1 match. " in summarise_accuracy(rated).texts[0]
    told = build_site_data(rated, {}, {}, None, None, {})
    assert page_template_context(told, "")["summary"] == "1 match of 2 players, 2026-07-19."
    with pytest.warns(UserWarning, match="one participant"):
        alone = jr.read({"contest": [1, 2], "player": ["Ada"] * 2, "rank": [1, 1]})
    told = build_site_data(jr.rate(jr.weng_lin(), alone), {}, {}, None, None, {})
    about = page_template_context(told, "")
    assert about["summary"] == "2 contests of 1 player."
    assert summarise_players(told, about)[0].startswith("Number 1 of 1 player, rating 25")


def test_results_add_up_where_no_score_is_a_half():
    rated = jr.rate(jr.elo(), jr.read({"a": [*"xyx"], "b": [*"yzz"], "score": [0.3, 0.7, 1.0]}))
    told = build_site_data(rated, {}, {}, None, None, {})
    assert ". 2 matches: 1 won, 1 drawn, 0 lost" in summarise_players(told, page_template_context(told, ""))[0]


def test_favourites_that_always_lose_won_less_often_than_predicted():
    """Whoever won the last match is thought much the better one, and loses the next."""
    table = {"a": [*"xy"] * 10, "b": [*"yx"] * 10, "score": [1.0] * 20}
    said = summarise_accuracy(jr.rate(jr.elo(k=600), jr.read(table)))
    assert said.texts[2].endswith("favourites won less often than predicted: the chances are too bold.")
