"""`jr.compare`: what `run` and `history` predict, scored and sorted, and what it leaves out."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.data import simulate
from jaxrate.evaluation import blending, comparison
from jaxrate.evaluation.blending import blend_systems_one_step_ahead
from jaxrate.events import slice_events
from jaxrate.fitting.hyperparameter_fit import fit_with_time_limit
from jaxrate.systems.system_construction_by_name import SIDE_LEADS, make_system, make_system_for_data
from tests.conftest import refused
from tests.reference import blend_twin


@pytest.fixture
def data(league):
    names = np.array([f"player {i:02}" for i in range(40)], object)
    return jr.data.Dataset(league, names, np.arange(600))


def test_a_comparison_scores_what_run_predicts(data):
    given = {"k = 8": jr.elo(k=8), "elo": {"k": 64}, "glicko": {}}
    done = []
    found = jr.compare(data, given, lengths=(None, 50.0), last=0.25, watch=done.append)
    systems = {"k = 8": jr.elo(k=8), "elo": jr.elo(k=64), "glicko": jr.glicko()}
    predicted = []
    for result in found.results:
        events = data.matches if result.period is None else jr.periods(data.matches, result.period)
        system = systems[result.name]
        if (result.name, result.period) == ("glicko", 50.0):
            system = jr.glicko(period=50.0)
        assert result.system == system and result.speed is None
        prediction = np.asarray(jr.run(system, events).prediction)[450:]
        assert result.quality == pytest.approx(jr.metrics.match_metrics(prediction, data.matches.score[450:]))
        predicted.append(prediction)
    for result, prediction in zip(found.results, predicted, strict=True):
        wanted = jr.metrics.compare_log_loss(prediction, predicted[0], data.matches.score[450:])
        assert result.log_loss_difference == pytest.approx(wanted, rel=1e-4, abs=1e-9)
    losses = [result.quality["log loss"] for result in found.results]
    assert losses == sorted(losses) and len(losses) == 6 and done == pytest.approx(np.arange(1, 7) / 6)
    lines, gap = str(found).splitlines(), found.results[1].log_loss_difference
    assert lines[2].split()[-3:] == [f"{gap.difference:+.4f}", "±", f"{1.96 * gap.error:.4f}"]
    assert "<td" in found._repr_html_() and "periods of 50" in found._repr_html_()


def test_published_forecasts_are_judged_beside_systems(data):
    forecast = np.linspace(0.3, 0.7, 600)
    found = jr.compare(data, {"elo": {}, "odds": forecast}, last=0.25)
    (told,) = found.published
    assert told.quality == pytest.approx(jr.metrics.match_metrics(forecast[450:], data.matches.score[450:]))
    gap = told.quality["log loss"] - found.results[0].quality["log loss"]
    assert told.log_loss_difference.difference == pytest.approx(gap, abs=1e-6)
    assert found.heads_and_cells()[1][-1][0] == "(odds)"
    assert found.columns()["system"].tolist() == ["elo", "(odds)"]


def test_systems_of_contests_differ_by_pairs_in_order_with_an_error_by_contest(share):
    """Contests had no differences and no intervals."""
    rounds = simulate.contests(12, 30, size=6, seed=1).rounds
    data = jr.data.Dataset(rounds, np.arange(12), np.arange(180), contests=np.arange(30))
    found = jr.compare(data, {"one": share(), "other": share(k=-40.0)}, last=0.5)
    best, last = found.results
    assert found.counts == {"contests": 30, "participations": 180}
    gap = best.quality["pair inversion"] - last.quality["pair inversion"]
    assert best.pair_order_difference == (0.0, 0.0) and last.pair_order_difference.difference == pytest.approx(gap)
    scored = np.arange(180) >= 90
    before = [jr.history.rating_history(one.system, rounds).before.mean for one in found.results]
    masks = [scored & (np.arange(180) // 6 == i) for i in range(15, 30)]  # contests of six who have played before
    right = [[jr.metrics.pairwise_accuracy(rounds, x, mask=mask) for mask in masks] for x in before]
    wanted = np.std(np.subtract(*right), ddof=1) / np.sqrt(15)
    assert last.pair_order_difference.error == pytest.approx(wanted)


def test_those_whose_demands_are_not_met_are_left_out(monkeypatch):
    others = "glicko2", "blat_mmr", "urnings", "weng_lin", "trueskill", "skills"  # which are rated as the rest
    systems = {name: make for name, make in jr.extend.SYSTEMS.items() if name not in others}
    monkeypatch.setattr(comparison, "SYSTEMS", systems)
    matches = jr.matches([[0, 1], [1, 2], [0, 2]], [0.3, 0.7, 0.5])
    data = jr.data.Dataset(matches, np.array(list("xyz"), object), np.arange(3), clock=None)
    found = jr.compare(data, watch=print)
    names = {result.name for result in found.results}
    assert {"elo", "glicko"} <= names and not names & {"elo_mmr", "category_glicko"}
    assert names.isdisjoint(found.left_out) and all("row" in why for why in found.left_out.values())
    beside = jr.compare(data, {"even": np.full(3, 0.5)})  # which names no system
    assert {result.name for result in beside.results} == names and beside.published[0].name == "even"


# Sides, and what is not known to whom


@pytest.fixture
def home(data):
    """The league with 150 points for a home side, which one match in four lacks."""
    rng, matches = np.random.default_rng(5), data.matches
    side = rng.choice([1, 1, -1, 0], 600)
    lead = rng.normal(0.0, 100.0, 40)[matches.player] @ [1.0, -1.0] + 150.0 * side
    score = (rng.random(600) < 1.0 / (1.0 + 10.0 ** (-lead / 400.0))).astype(float)
    return data._replace(events=jr.matches(matches.player, score, matches.time, side=side))


def test_the_side_is_worth_to_all_systems_what_it_was_before_what_is_scored(home):
    """Only skills had a side advantage, so that a comparison said who knew of the side."""
    names = ["elo", "glicko", "trueskill", "skills"]
    found = jr.compare(home, names, last=0.2)
    params = {result.name: result.system.params for result in found.results}
    side, score = home.matches.context.side[:480].astype(float), home.matches.score[:480]
    lead = sum(s * (x - 0.5) for s, x in zip(side, score, strict=True)) + 100 * (1 / (1 + 10 ** (-50 / 400)) - 0.5)
    wanted = 0.5 + lead / (100 + sum(abs(side)))
    points = 400 * np.log10(wanted / (1 - wanted))
    assert points > 80 and params["elo"].side_advantage == params["glicko"].side_advantage
    assert params["elo"].side_advantage == pytest.approx(points, rel=5e-3)
    assert f"{params['trueskill'].side_advantage:.3g} for trueskill" in str(found)

    late = home.matches.score.copy()
    late[480:] = 1.0 - late[480:]
    other = jr.compare(home._replace(events=home.matches._replace(score=late)), names[:3], last=0.2)
    assert all(result.system.params == params[result.name] for result in other.results)


def test_a_verdict_does_not_hang_on_who_was_told_of_the_side(home):
    """As of a football league, where Glicko was best with a side advantage and worst as it was made."""
    systems = {"told": jr.glicko(side_advantage=150), "not told": jr.glicko(), "glicko": {}}
    found = jr.compare(home, systems, last=0.2)
    assert found.notes[0] == "Hyperparameters are the default ones, except those of told."  # and not of all given
    loss = {result.name: result.quality["log loss"] for result in found.results}
    assert [*loss][-1] == "not told" and loss["not told"] > loss["glicko"] + 0.01
    assert loss["glicko"] == pytest.approx(loss["told"], abs=5e-3)
    assert "\nNot used by not told: the side." in str(found) and "Not used by told" not in str(found)


def test_where_all_is_scored_the_side_is_worth_as_much_as_usual(home):
    found = jr.compare(home, {"elo": {}, "glicko": {"side_advantage": 70}, "mine": jr.glicko(c=9)})
    sides = {result.name: result.system.params.side_advantage for result in found.results}
    assert sides == {"elo": 50, "glicko": 70, "mine": 0}
    assert found.notes[2] == "Not used by mine: the side."


CERTAIN = {"initial_deviation": 1e-3}
LEADS = {
    "elo": {"scale": 200.0},
    "glicko": CERTAIN,
    "glicko2": CERTAIN,
    "trueskill": CERTAIN | {"beta": 9.0, "tau": 0.0},
    "weng_lin": CERTAIN | {"tau": 0.0},
    "category_glicko": CERTAIN | {"categories": 2, "initial_modifier_deviation": 1e-3, "deviation_min": None},
    "skills": CERTAIN
    | {"categories": 2, "initial_modifier_deviation": 1e-3, "own_side": True, "initial_own_side_deviation": 1e-3},
    "blat_mmr": {"prior_deviation": 0.05, "half_width": 2.0},
}


@pytest.mark.parametrize("name", LEADS)
def test_a_lead_is_that_at_which_the_score_is_expected(name):
    """Of two who are alike, and known to be; BlatMMR's grid lets nobody be quite that."""
    system = make_system(name, LEADS[name])
    worth = SIDE_LEADS[name](system.params, 0.62)
    system = system.make(**system.params._asdict() | {"side_advantage": worth})
    context = {"category": [[0, 0]]} if name in ("category_glicko", "skills") else {}
    match = jr.matches([[0, 1]], [1.0], [0.0], side=[1], **context)
    expected = jr.predict(system, system.init(system.params, 2), match)
    assert np.ravel(expected)[0] == pytest.approx(0.62, abs=1e-3)


def test_fits_see_nothing_of_what_is_scored_and_say_who_was_fitted(home, no_errors):
    systems = {"elo": {}, "glicko": {"c": 9.0, "side_advantage": 70.0}, "mine": jr.elo(k=10), "urnings": {}}
    found = jr.compare(home, systems, last=0.1, fit=True, executor=ThreadPoolExecutor(2))
    results = {result.name: result.system for result in found.results}
    past = slice_events(home.matches, 0, 540)
    products = jr.fitting.ahead(errors="products")
    wanted = jr.fit(make_system_for_data("elo", {}, None, home), past, steps=50, objective=products)
    assert results["elo"].params.k == pytest.approx(wanted.params.k, rel=0.05)
    assert results["elo"].params.side_advantage == pytest.approx(wanted.params.side_advantage, rel=0.05)
    assert (results["glicko"].params.c, results["glicko"].params.side_advantage) == (9.0, 70.0)
    assert results["glicko"].params.initial_deviation != 350.0 and results["mine"] == jr.elo(k=10)
    assert found.notes[0].startswith("Hyperparameters of elo and glicko are fitted to the 540")
    assert found.notes[1].startswith("Not fitted: urnings (")


def test_a_fit_to_the_past_ends_in_time(home, no_errors):
    first = fit_with_time_limit(jr.elo(), home, 450, max_events=200, seconds=0.0)
    objective = jr.fitting.ahead(warm_up=0.2, data_share=0.8)
    wanted = jr.fit(jr.elo(), slice_events(home.matches, 250, 450), steps=1, objective=objective)
    assert first[1] == "" and first[0].params.k == pytest.approx(wanted.params.k, rel=1e-3)
    assert first[0].params.k != 32.0


def test_a_fit_that_loses_on_the_last_part_of_the_past_is_not_taken():
    """Streaks call for bold steps; coins, from 4/5 of the past on, for none. What is scored has no say in it."""
    coin = np.random.default_rng(1).random(200) < 0.5
    score = np.append(np.arange(320) // 20 % 2, coin).astype(float)
    player = np.tile([0, 1], (520, 1))
    data = jr.data.Dataset(jr.matches(player, score), np.array(["Ada", "Bo"], object), np.arange(520))
    assert jr.fit(jr.elo(), slice_events(data.matches, 0, 400)).params.k > 64.0
    found = jr.compare(data, ["elo"], last=120 / 520, fit=True)
    assert found.results[0].system.params == jr.elo().params
    assert "defaults" in found.notes[0] and found.notes[0].startswith("Not fitted: elo")


# `jr.evaluation.blend_systems`: weights against the slow twin, what they see, useless systems, upcoming matches.


def forecasts(n, seed=0):
    """Two forecasters, each of whom knows one half of what decides, and the scores."""
    random = np.random.default_rng(seed)
    known = random.normal(0.0, 0.9, (n, 2))
    score = (random.uniform(size=n) < 1.0 / (1.0 + np.exp(-known.sum(axis=1)))).astype(float)
    return [1.0 / (1.0 + np.exp(-x)) for x in known.T], np.where(random.uniform(size=n) < 0.1, 0.5, score)


@pytest.mark.parametrize("begin", [0, 100])
def test_against_the_twin(monkeypatch, begin):
    monkeypatch.setattr(blending, "GROWTH", 1.4)
    guesses, score = forecasts(150)
    count = np.random.default_rng(1).choice([0.5, 1.0, 2.0], 150)
    weights, prediction, quality = blend_systems_one_step_ahead(guesses, score, count, np.arange(150) >= begin)
    rows = np.stack(guesses, axis=1).tolist()
    wanted, last = blend_twin.ahead(rows, score.tolist(), count.tolist(), begin, 1.4)
    np.testing.assert_allclose(prediction, wanted, atol=1e-7)
    np.testing.assert_allclose(weights, last, atol=1e-7)
    assert quality == pytest.approx(jr.metrics.match_metrics(wanted, score, weight=count, mask=np.arange(150) >= begin))


def test_a_system_that_explodes_does_a_blend_little_harm():
    """From where they are scored, one of three is sure of what a coin says, as Glicko-2 of a large tau was."""
    guesses, score = forecasts(10_000)
    coin = np.where(np.random.default_rng(2).uniform(size=2_000) < 0.5, 1e-7, 1.0 - 1e-7)
    exploding = np.append(guesses[0][:8_000], coin)
    mask = np.arange(10_000) >= 8_000
    alone = blend_systems_one_step_ahead(guesses, score, np.ones(len(score)), mask)[2]["log loss"]
    found = blend_systems_one_step_ahead([*guesses, exploding], score, np.ones(len(score)), mask)[2]["log loss"]
    assert jr.metrics.log_loss(exploding[8_000:], score[8_000:]) > 5.0
    assert found < alone + 0.03


def test_certain_predictions_that_fail_stay_finite():
    guess, score = [np.array([0.0, 1.0, 0.5] * 40), np.full(120, 0.6)], np.array([1.0, 0.0, 1.0] * 40)
    weights, prediction, _ = blend_systems_one_step_ahead(guess, score, np.ones(120), np.ones(120, bool))
    assert np.isfinite(weights).all() and ((prediction > 0) & (prediction < 1)).all()


def test_a_blend_predicts_upcoming_matches(data):
    systems = {"slow": jr.elo(k=8), "fast": jr.elo(k=64), "glicko": jr.glicko()}
    blend = jr.evaluation.blend_systems(systems, data, last=0.25)
    runs = {name: jr.run(system, data.matches) for name, system in systems.items()}
    upcoming = jr.matches([[0, 1], [2, 3]], [0.5, 0.5], [1e3, 1e3])
    z = 0.0
    for name, run in runs.items():
        p = np.asarray(jr.predict(systems[name], run.state, upcoming), float)
        z = z + blend.weights[name] * np.log(p / (1.0 - p))
    np.testing.assert_allclose(blend.predict(upcoming), 1.0 / (1.0 + np.exp(-z)), rtol=1e-5)
    found = jr.compare(data, systems, last=0.25)
    assert found.blend.quality == pytest.approx(blend.quality)
    assert found.blend.weights == pytest.approx(blend.weights) and list(found.blend.weights) == [*systems]
    gap = found.blend.log_loss_difference
    least = min(one.quality["log loss"] for one in found.results)
    assert gap.difference == pytest.approx(blend.quality["log loss"] - least, abs=1e-6)
    row = found.heads_and_cells()[1][-1]  # had no interval, unlike those of systems
    assert row[0] == "(blend)" and row[-1] == f"{gap.difference:+.4f} ± {1.96 * gap.error:.4f}"
    assert found.columns()["behind_error"][-1] == pytest.approx(gap.error)
    assert jr.compare(data, ["elo"]).blend is None and repr(blend).startswith("Blend of ")


def test_named_systems_that_rate_no_periods_are_named(data):
    found = jr.compare(data, ["glicko", "trueskill"], lengths=[50.0])
    assert [x.name for x in found.results] == ["glicko"]
    assert "Left out, as they do not rate in this form: trueskill." in found.notes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda data: jr.compare(data, ["elo"], fit=True), "a fit needs events that are not scored; score the last"),
        (lambda data: jr.compare(data, [jr.elo(), jr.elo(k=8)]), "two systems have the name elo; give each its own"),
        (lambda data: jr.compare(data, {"elo": {}, "odds": np.full(599, 0.5)}),
         "'odds' must be a system, its hyperparameters, or [n], a forecast of each match; got the shape (599,)"),
        (lambda data: jr.evaluation.blend_systems([jr.elo()], data), "a blend takes two systems or more, got 1"),
        (lambda data: jr.evaluation.blend_systems([jr.elo(), jr.urnings()], data), "urnings draws random numbers"),
        (lambda data: jr.evaluation.blend_systems([jr.elo(), jr.category_glicko()], data),
         "category_glicko rates no single matches; leave it out"),
    ],
)  # fmt: skip
def test_what_is_refused(data, call, message):
    with refused(message):
        call(data)
