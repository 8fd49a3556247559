"""`jr.evaluation.benchmark_systems`: its rows against the metrics, forecasts of others, and what it refuses."""

import json

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.evaluation.ceilings import past_frequencies, resolve_external_forecasts
from jaxrate.evaluation.scored_predictions import format_loss_difference
from jaxrate.metrics.prediction_metrics import LogLossDifference
from tests.conftest import draw_pairs, refused

NAMES = ["elo", "glicko"]
KEEP = {"fit_seconds": 0}


def make_league(n=500, draws=0.0, seed=0, lead=0.0):
    """Matches of 20 players of known strengths at home, and the probabilities of loss, draw and win that made them."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0.0, 1.0, 20)
    player = draw_pairs(rng, 20, n)
    log_odds = strength[player] @ [1.0, -1.0] + 0.3 + lead
    win = (1.0 - draws) / (1.0 + np.exp(-log_odds))
    truth = np.stack([1.0 - draws - win, np.full(n, draws), win], axis=1)
    score = 0.5 * (rng.random((n, 1)) > np.cumsum(truth, axis=1)).sum(axis=1)
    time = np.sort(rng.uniform(0.0, 900.0, n))
    columns = {"p": truth[:, 2] + 0.5 * truth[:, 1], "win": truth[:, 2], "draw": truth[:, 1], "loss": truth[:, 0]}
    matches = jr.matches(player, score, time, side=np.ones(n), columns=columns)
    return jr.data.Dataset(matches, np.arange(20).astype(str).astype(object), np.arange(n)), truth


@pytest.fixture(scope="module")
def league():
    return make_league()


@pytest.fixture(scope="module")
def of_two(league):
    data, _ = league
    return jr.evaluation.benchmark_systems(data, NAMES, forecasts={"truth": "p"}, **KEEP)


def test_no_difference_is_minus_nothing():
    assert format_loss_difference(LogLossDifference(-0.00002, 0.0001)) == "0.0000 ± 0.0002"
    assert format_loss_difference(LogLossDifference(-0.0002, None)) == "-0.0002"


def row_of(benchmark, name):
    return next(row for row in benchmark.rows if row.name == name)


def test_rows_have_the_metrics_and_are_those_of_compare(league, of_two):
    data, truth = league
    mask, score = np.arange(500) >= 400, data.matches.score
    compared = {x.name: x for x in jr.compare(data, NAMES, last=0.2).results}
    for name in NAMES:
        row, prediction = row_of(of_two, name), jr.run(compared[name].system, data.matches).prediction
        metrics = jr.metrics.match_metrics(prediction, score, mask=mask)
        for metric in ("log loss", "Brier score", "accuracy"):
            assert row.quality[metric] == pytest.approx(metrics[metric], abs=1e-6)
            assert row.quality[metric] == pytest.approx(compared[name].quality[metric], abs=1e-6)
        slope = jr.metrics.calibration_slope(prediction, score, mask=mask)
        assert (row.quality["calibration slope"], row.slope_error) == pytest.approx(slope, rel=1e-4)
        assert row.speed > 0 and row.scored == 100 and row.fit_seconds is None
    best = of_two.rows[0]
    gap = jr.metrics.compare_log_loss(truth[:, 2], jr.run(best.system, data.matches).prediction, score, mask=mask)
    assert row_of(of_two, "truth").log_loss_difference == pytest.approx(gap, abs=1e-6)
    assert best.log_loss_difference is None and best.kind == "system"
    losses = [row.quality["log loss"] for row in of_two.rows]
    assert losses[:2] == sorted(losses[:2]) and losses[2:] == sorted(losses[2:])
    assert of_two.scored_on == "Scored on the last 100 of 500 matches."
    assert (of_two.matches, of_two.scored, of_two.players, of_two.outcomes) == (500, 100, 20, 2)


def test_frequencies_are_those_of_the_past(league, of_two):
    data, _ = league
    score = data.matches.score
    share = (score[:400].sum() + 1) / 402
    wanted = jr.metrics.log_loss(np.full(100, share), score[400:])
    assert row_of(of_two, "past frequencies").quality["log loss"] == pytest.approx(wanted)
    score, side = np.array([1.0, 1.0, 0.5, 0.0, 1.0, 0.0]), np.array([1.0, 1.0, 1.0, -1.0, 0.0, 0.0])
    found = past_frequencies(score, side, 5, 3)
    np.testing.assert_allclose(found[0], [1 / 7, 2 / 7, 4 / 7])
    np.testing.assert_allclose(found[3], [4 / 7, 2 / 7, 1 / 7])
    np.testing.assert_allclose(found[4], [5 / 13, 3 / 13, 5 / 13])
    assert past_frequencies(score, np.zeros(6), 5, 2).tolist() == [[0.5, 0.5]] * 6


def test_it_prints_and_saves(of_two):
    assert str(of_two).startswith("forecaster        kind      log loss")
    columns = of_two.columns()
    assert columns["log_loss"][0] == of_two.rows[0].quality["log loss"] and columns["behind"][0] == 0.0
    assert "<td" in of_two._repr_html_() and len(of_two.to_pandas()) == len(of_two.rows)


def test_forecasts_of_some_matches_are_compared_on_those(league, of_two):
    data, truth = league
    p = np.where(np.arange(500) % 3 == 0, truth[:, 2], np.nan)
    found = jr.evaluation.benchmark_systems(data, NAMES, forecasts={"some": p, "none": np.full(500, np.nan)}, **KEEP)
    row, mask = row_of(found, "some"), (np.arange(500) >= 400) & (np.arange(500) % 3 == 0)
    assert row.scored == mask.sum() == 33
    best = jr.run(found.rows[0].system, data.matches).prediction
    gap = jr.metrics.compare_log_loss(truth[:, 2], best, data.matches.score, mask=mask)
    assert row.log_loss_difference == pytest.approx(gap, abs=1e-6)
    assert " on the 33 matches that it has" in str(found) and row_of(found, "none").quality["log loss"] is None
    json.dumps(found.to_record(), allow_nan=False)


def test_percents_are_probabilities(league, of_two):
    data, truth = league
    percents = {"one": 100.0 * truth[:, 2], "both": 100.0 * truth[:, ::-2]}
    found = jr.evaluation.benchmark_systems(data, ["elo"], forecasts=percents, **KEEP)
    for name in percents:
        assert row_of(found, name).quality["log loss"] == pytest.approx(row_of(of_two, "truth").quality["log loss"])
    assert "Read as percent: one and both." in found.notes and "percent" not in str(of_two)


def test_impossible_results_that_came_true_are_counted():
    data, truth = make_league(draws=0.25, seed=1)
    sure = truth[:, ::-1].copy()
    drawn = np.flatnonzero(data.matches.score == 0.5)
    sure[drawn[-3:], 1] = 0.0  # as some forecasts have of draws
    sure /= sure.sum(axis=1, keepdims=True)
    found = jr.evaluation.benchmark_systems(data, ["elo"], forecasts={"sure": sure, "truth": truth[:, ::-1]}, **KEEP)
    assert [x for x in found.notes if "no chance" in x] == ["sure gave no chance to 3 results that came true."]


def test_odds_become_probabilities_by_the_method(league):
    data, truth = league
    fair = np.stack([truth[:, 2], truth[:, 0]], axis=1)
    odds = 1.0 / (fair ** (1.0 / 1.1))  # whose margin the power method removes
    found = jr.evaluation.benchmark_systems(data, ["elo"], odds={"book": odds}, forecasts={"truth": "p"}, **KEEP)
    gap = row_of(found, "book").quality["log loss"] - row_of(found, "truth").quality["log loss"]
    assert abs(gap) < 1e-9 and row_of(found, "book").kind == "odds"
    assert "The margin of bookmakers is removed by the power method." in found.notes
    shin = jr.evaluation.benchmark_systems(data, ["elo"], odds={"book": odds}, odds_method="shin", **KEEP)
    p = jr.metrics.probabilities_from_odds(odds, method="shin")[:, 0]
    odds[7, 1] = np.inf
    book = resolve_external_forecasts(data, {}, {"book": odds}, "power")[0]
    assert np.flatnonzero(np.isnan(book.probabilities).any(axis=1)).tolist() == [7]
    wanted = jr.metrics.log_loss(p[400:], data.matches.score[400:])
    assert row_of(shin, "book").quality["log loss"] == pytest.approx(wanted)


def test_win_draw_and_loss():
    data, truth = make_league(draws=0.25, seed=1)
    columns = ("win", "draw", "loss")
    found = jr.evaluation.benchmark_systems(data, ["elo"], forecasts={"truth": columns, "same": truth[:, ::-1]}, **KEEP)
    assert found.outcomes == 3
    row, score = row_of(found, "truth"), data.matches.score
    assert row.quality["RPS"] == pytest.approx(jr.metrics.ranked_probability_score(truth[400:], score[400:]))
    level = np.rint(2 * score[400:]).astype(int)
    assert row.quality["log loss"] == pytest.approx(-np.log(truth[400:][np.arange(100), level]).mean())
    assert row_of(found, "same").quality["log loss"] == pytest.approx(row.quality["log loss"])
    system = found.rows[0].system
    prediction = jr.run(system, data.matches).prediction
    wanted = jr.metrics.ranked_probability_score(prediction, score, mask=np.arange(500) >= 400)
    assert found.rows[0].quality["RPS"] == pytest.approx(wanted, abs=1e-6)

    two = jr.evaluation.benchmark_systems(data, ["elo"], forecasts={"truth": columns}, outcomes=2, **KEEP)
    expected = truth[:, 2] + 0.5 * truth[:, 1]
    wanted = jr.metrics.log_loss(expected[400:], score[400:])
    assert row_of(two, "truth").quality["log loss"] == pytest.approx(wanted) and "RPS" not in two.rows[0].quality
    assert jr.evaluation.benchmark_systems(data, ["elo"], forecasts={"p": "p"}, **KEEP).outcomes == 2


def test_fits_see_nothing_of_what_is_scored(league):
    data, _ = league
    other = data.matches.score.copy()
    other[400:] = 1.0 - other[400:]
    flipped = data._replace(events=data.matches._replace(score=other))
    params = []
    for history in (data, flipped):
        row = jr.evaluation.benchmark_systems(history, ["elo"], fit_seconds=30.0).rows[0]
        assert row.fit_seconds > 0 and (row.memory is None or row.memory > 1e7)
        params.append(row.system.params)
    assert params[0] == params[1] != jr.elo().params


def test_findings_say_who_is_ahead_on_matches_since_a_time(league):
    data, truth = league
    worse = np.clip(truth[:, 2] + np.random.default_rng(0).normal(0.0, 0.45, 500), 0.02, 0.98)
    given = {"truth": truth[:, 2], "worse": worse}
    since = float(np.asarray(data.matches.time)[100])
    found = jr.evaluation.benchmark_systems(data, ["elo"], since=since, forecasts=given, **KEEP)
    assert found.scored == 400 and found.findings[0].startswith("The best rating is elo, with log loss ")
    text = " ".join(found.findings)
    assert "truth is ahead of elo by 0.0" in text and "elo is ahead of worse by 0." in text


TEAMS = [[["Ada", "Bo"], ["Cy", "Di"]], [["Ada", "Cy"], ["Bo", "Di"]]] * 10


def test_contests_of_two_sides_and_few_matches_are_scored(league):
    timed = jr.data.from_teams(TEAMS, time=range(20))  # since was an IndexError
    found = jr.evaluation.benchmark_systems(timed, ["trueskill"], since=12.0, **KEEP)
    assert found.scored == 8 and found.rows[0].quality["log loss"] > 0
    few = league[0]._replace(events=jr.matches([[0, 1]] * 2, [1, 0]), rows=np.arange(2))
    assert jr.evaluation.benchmark_systems(few, ["elo"], last=0.5, **KEEP).scored == 1


ODD = make_league()[0]
ODD = ODD._replace(events=ODD.matches._replace(score=np.full(500, 0.3)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": jr.data.from_teams([[["Ada"], ["Bo"], ["Cy"]]] * 5)}, "contests of more than two sides"),
        ({"data": ODD, "outcomes": 3}, "with outcomes=3 all scores must be 0, 0.5 or 1"),
        ({"data": ODD._replace(clock=None), "since": 3.0}, "since needs times; name the column of time"),
        ({"data": jr.data.from_teams(TEAMS), "systems": ["trueskill"], "stack": True}, "matches of two players"),
        ({"since": -1.0}, "no match is before the scored ones"),
        ({"since": 1e6}, "no match is played since 1000000.0"),
        ({"since": "2020-01-01"}, "time 2020-01-01 is a date, but the history counts time in numbers"),
        ({"outcomes": 3, "forecasts": {"x": "p"}}, "x leaves out the draw; give win, draw and loss"),
        ({"forecasts": {"x": "pp"}}, "forecast 'x': the data have no column 'pp'; did you mean 'p'?"),
        ({"forecasts": {"x": np.full(3, 0.5)}}, "forecast 'x': give 500 values, one for each match"),
        ({"forecasts": {"x": np.full(500, 1.5)}}, "row 0 (counting from 0): forecast 'x': the probability is 1.5, wh"),
        ({"forecasts": {"x": np.full((500, 2), 0.9)}}, "forecast 'x': probabilities sum to 1.8000; if these are odds"),
        ({"forecasts": {"x": np.full((500, 4), 0.25)}}, "forecast 'x': give the probability of the first player's win"),
        ({"odds": {"x": "p"}}, "odds 'x': give the odds of win and loss, or of win, draw and loss; got 1 of them"),
        ({"odds": {"x": np.full((500, 2), 0.5)}}, "odds 'x': odds are 0.5; decimal odds are above 1"),
        ({"odds": {"x": np.full((500, 2), 2.1)}, "odds_method": "shin"}, "odds 'x': the inverse odds sum to 0.9524"),
        ({"odds": {"x": np.full((500, 2), 3.0)}}, "most matches sum to about 0.67, far below 1; name those of"),
        ({"forecasts": {"x": "p"}, "odds": {"x": np.full((500, 2), 2.0)}}, "a forecast and odds are both called 'x'"),
        ({"stack": {"x": np.zeros((500, 3))}}, "stack: 'x' must be one column, or two of each player, got 3"),
    ],
)
def test_what_a_benchmark_refuses(league, options, message):
    given = {"data": league[0], "systems": ["elo"]} | KEEP | options
    with refused(message):
        jr.evaluation.benchmark_systems(given.pop("data"), given.pop("systems"), **given)
