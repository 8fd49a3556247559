"""Boosted trees as a ceiling: what they see, that they see nothing too early, and what they say."""

import math

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.evaluation import ceilings as boosted_trees
from jaxrate.evaluation.ceilings import PLAYED, boosted_forecast, match_features, player_histories
from jaxrate.metrics.prediction_metrics import losses_by_match
from tests.test_benchmark import KEEP, make_league, row_of


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.setattr(boosted_trees, "MAX_TREES", 60)
    monkeypatch.setitem(boosted_trees.TREE_OPTIONS, "max_bins", 31)  # quantiles with weights take most of the time


def slow_histories(player, time, score, expected, starts):
    """For each match, from all matches above it."""
    rows = {"rest": [], "form": [], PLAYED: []}
    for i in range(len(time)):
        found = {name: [] for name in rows}
        season = sum(time[i] >= start for start in starts)
        for who in player[i]:
            before = [j for j in range(i) if who in player[j]]
            found["rest"].append(min(time[i] - time[before[-1]], 60.0) if before else 60.0)
            sign = {j: 1.0 if player[j][0] == who else -1.0 for j in before}
            fading = {j: math.exp(-(time[i] - time[j]) / boosted_trees.FORM_DAYS) for j in before}
            found["form"].append(sum(sign[j] * (score[j] - expected[j]) * fading[j] for j in before))
            found[PLAYED].append(sum(sum(time[j] >= start for start in starts) == season for j in before))
        for name in rows:
            rows[name].append(found[name])
    return {name: np.array(values) for name, values in rows.items()}


@pytest.mark.parametrize("starts", [[0.0, 300.0, 301.0, 650.0], []])
def test_histories_are_those_of_a_slow_twin(starts):
    data, truth = make_league(n=150, seed=3)
    matches, data = data.matches, data._replace(seasons={str(x): x for x in starts})
    arguments = np.asarray(matches.score), truth[:, 2]
    found = player_histories(data, *arguments)
    wanted = slow_histories(np.asarray(matches.player), np.asarray(matches.time), *arguments, starts)
    assert found.keys() == wanted.keys()
    for name in wanted:
        np.testing.assert_allclose(found[name], wanted[name], atol=1e-9, err_msg=name)


def hidden_league(n=3000, seed=5):
    """A league in which a column that is known before shifts the odds, and another says nothing."""
    rng = np.random.default_rng(seed)
    data, truth = make_league(n, seed=seed)
    shift, nothing = rng.choice([-1.5, 0.0, 1.5], n), rng.normal(size=n)
    log_odds = np.log(truth[:, 2] / truth[:, 0]) + shift
    score = (rng.random(n) < 1.0 / (1.0 + np.exp(-log_odds))).astype(float)
    context = data.matches.context._replace(columns={"travel": shift, "noise": nothing})
    return data._replace(events=data.matches._replace(score=score, context=context)), truth


def test_trees_say_which_column_has_evidence():
    data, _ = hidden_league()
    found = jr.evaluation.benchmark_systems(data, ["glicko"], stack=["travel", "noise"], **KEEP)
    best, trees, alone = found.rows[0], row_of(found, "boosted trees"), row_of(found, "boosted trees, ratings alone")
    assert trees.log_loss_difference.difference < -0.05 < alone.log_loss_difference.difference
    assert found.worth[0].name == "travel" and found.worth[0].loss.difference > 0.05
    assert {x.name for x in found.worth} == {"travel", "noise", "rest", "form", PLAYED}
    text = " ".join(found.findings)
    assert f"are ahead of {best.name} by 0." in text and "so much is still on the table." in text
    assert "Beyond the ratings, evidence is in travel (without it they lose 0." in text
    assert "noise" in text.split("They gain nothing clear from")[1]


def test_a_column_that_says_too_much_is_doubted():
    data, _ = make_league(2000, seed=5)
    points = np.asarray(data.matches.score) * 3 + np.random.default_rng(0).poisson(1.0, 2000)
    found = jr.evaluation.benchmark_systems(data, ["glicko"], stack={"points": points}, **KEEP)
    assert found.findings[-1].startswith("Mind that points adds more than half of what the ratings say. Is it really")


def test_trees_are_trained_on_the_past_alone():
    data, truth = hidden_league(n=800)
    score, num_past = np.asarray(data.matches.score), 600

    travel = data.matches.context.columns["travel"]

    def forecast(results):
        prediction = np.stack([truth[:, 0], truth[:, 2]], axis=1)
        features = match_features(data, results, [prediction, 0.5 + 0.0 * prediction], {"travel": travel}, num_past)
        without = {name: values for name, values in features.items() if name != "form"}
        return [boosted_forecast(seen, results, num_past, 2) for seen in (features, without)]

    other = score.copy()
    other[700:] = 1.0 - other[700:]
    one, two = forecast(score), forecast(other)
    np.testing.assert_array_equal(one[0][:101], two[0][:101])
    np.testing.assert_array_equal(one[1], two[1])  # nothing but form is of scored results
    assert not np.array_equal(one[0][101:], two[0][101:])


def test_winners_who_come_first_tell_nothing():
    """Trees would otherwise learn that the first player wins, and the worth of columns would be nonsense."""
    data, truth = make_league(n=1000, seed=7, lead=-0.3)
    won = np.asarray(data.matches.score) == 1
    player = np.where(won[:, None], data.matches.player, np.asarray(data.matches.player)[:, ::-1])
    score = np.where(np.arange(1000) % 5 == 0, 0.5, 1.0)  # every fifth match is drawn
    p = 0.1 + 0.8 * np.where(won, truth[:, 2], truth[:, 0])
    data = data._replace(events=jr.matches(player, score, data.matches.time))
    features = match_features(data, score, [np.stack([1 - p, p], axis=1)], {}, 800)
    trees = boosted_forecast(features, score, 800, 2)
    loss, wanted = (losses_by_match(x, score[800:]).log_loss for x in (trees[:, 1], p[800:]))
    assert wanted.mean() - 0.01 < loss.mean() < wanted.mean() + 0.06
    late = np.arange(1000)[:, None] >= 800  # of these matches the losers come first: which the trees cannot tell
    swapped = {name: np.where(late, values[::-1], values) for name, values in features.items()}
    found = boosted_forecast(swapped, score, 800, 2)
    np.testing.assert_allclose(found, trees[:, ::-1], rtol=1e-9)


def test_trees_of_win_draw_and_loss_and_columns_of_each_player():
    data, truth = make_league(n=1200, draws=0.25, seed=8)
    of_each = np.random.default_rng(0).normal(size=(1200, 2))
    found = jr.evaluation.benchmark_systems(data, ["elo"], stack={"age": of_each}, **KEEP)
    trees = row_of(found, "boosted trees")
    assert found.outcomes == 3 and 0.9 < trees.quality["log loss"] < 1.1 and trees.quality["RPS"] < 0.25
    assert "age" in {x.name for x in found.worth}
    columns = match_features(data, np.asarray(data.matches.score), [truth], {"age": of_each}, 900)
    np.testing.assert_allclose(columns["age"][1, :, :2], columns["age"][0][:, [1, 0]])
    assert columns["ratings"].shape == (2, 1200, 2)


def test_no_scored_match_has_a_say_in_what_trees_see(monkeypatch):
    """The system that is best on the scored matches came first, and form was measured by its expectations."""
    data, _ = make_league(n=600)
    flipped = data.matches.score.copy()
    flipped[480:] = 1.0 - flipped[480:]
    seen = []

    def catch(*arguments):
        seen.append(match_features(*arguments))
        return seen[-1]

    monkeypatch.setattr(jr.evaluation.benchmark, "match_features", catch)
    best = []
    for score in (data.matches.score, flipped):
        history = data._replace(events=data.matches._replace(score=score))
        best.append(jr.evaluation.benchmark_systems(history, ["glicko", "elo"], stack=True, **KEEP).rows[0].name)
    assert best[0] != best[1]
    for name, values in seen[0].items():
        np.testing.assert_array_equal(values[:, :481], seen[1][name][:, :481], err_msg=name)
