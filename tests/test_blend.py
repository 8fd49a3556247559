"""`jr.evaluation.blend_systems`: weights against the slow twin, what they see, useless systems, upcoming matches."""

import math
import re

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.evaluation import blending
from jaxrate.evaluation.blending import blend_one_step_ahead, fit_blend_weights, log_odds_by_system
from jaxrate.evaluation.scored_predictions import format_metric
from tests.reference import blend_twin


def forecasts(n, seed=0):
    """Two forecasters, each of whom knows one half of what decides, and the scores."""
    random = np.random.default_rng(seed)
    known = random.normal(0.0, 0.9, (n, 2))
    score = (random.uniform(size=n) < 1.0 / (1.0 + np.exp(-known.sum(axis=1)))).astype(float)
    return [1.0 / (1.0 + np.exp(-x)) for x in known.T], np.where(random.uniform(size=n) < 0.1, 0.5, score)


def weights_of(guesses, score):
    equal = np.full(len(guesses), 1.0 / len(guesses))
    return fit_blend_weights(log_odds_by_system(guesses), score, np.ones(len(score)), equal)


@pytest.mark.parametrize("begin", [0, 100])
def test_against_the_twin(monkeypatch, begin):
    monkeypatch.setattr(blending, "GROWTH", 1.4)
    guesses, score = forecasts(150)
    count = np.random.default_rng(1).choice([0.5, 1.0, 2.0], 150)
    weights, prediction, quality = blend_one_step_ahead(guesses, score, count, np.arange(150) >= begin)
    rows = np.stack(guesses, axis=1).tolist()
    wanted, last = blend_twin.ahead(rows, score.tolist(), count.tolist(), begin, 1.4)
    np.testing.assert_allclose(prediction, wanted, atol=1e-7)
    np.testing.assert_allclose(weights, last, atol=1e-7)
    assert quality == pytest.approx(jr.metrics.match_metrics(wanted, score, weight=count, mask=np.arange(150) >= begin))


def test_weights_are_those_of_the_law_by_which_scores_were_drawn():
    guesses, score = forecasts(40_000)
    np.testing.assert_allclose(weights_of(guesses, score), [0.9, 0.9], atol=0.05)  # every tenth is a draw
    useless = 1.0 / (1.0 + np.exp(-np.random.default_rng(5).normal(size=40_000)))
    np.testing.assert_allclose(weights_of([*guesses, useless], score), [0.9, 0.9, 0.0], atol=0.05)


def test_a_system_twice_is_no_harm_and_an_opposite_counts_negative():
    guesses, score = forecasts(500)
    one, twice = weights_of(guesses, score), weights_of([*guesses, guesses[0]], score)
    assert twice[0] == pytest.approx(twice[2]) and 2.0 * twice[0] == pytest.approx(one[0], abs=0.02)
    assert weights_of([guesses[0], 1.0 - guesses[1]], score)[1] < -0.5


def test_nothing_is_predicted_by_weights_that_have_seen_it():
    """Later scores change no earlier prediction, and those of a block change none of it."""
    guesses, score = forecasts(300)

    def ahead(score, begin):
        return blend_one_step_ahead(guesses, score, None, np.arange(300) >= begin)[1]

    for begin, ends in ((0, (64, 68, 72)), (120, (120, 126))):
        plain = ahead(score, begin)
        for end in ends:
            changed = ahead(np.where(np.arange(300) >= end, 1.0 - score, score), begin)
            same = math.ceil(1.05 * end)
            np.testing.assert_array_equal(changed[:same], plain[:same])
            assert (changed[same:] != plain[same:]).all()


def test_a_system_that_explodes_does_a_blend_little_harm():
    """From where they are scored, one of three is sure of what a coin says, as Glicko-2 of a large tau was."""
    guesses, score = forecasts(10_000)
    coin = np.where(np.random.default_rng(2).uniform(size=2_000) < 0.5, 1e-7, 1.0 - 1e-7)
    exploding = np.append(guesses[0][:8_000], coin)
    mask = np.arange(10_000) >= 8_000
    alone = blend_one_step_ahead(guesses, score, None, mask)[2]["log loss"]
    found = blend_one_step_ahead([*guesses, exploding], score, None, mask)[2]["log loss"]
    assert jr.metrics.log_loss(exploding[8_000:], score[8_000:]) > 5.0
    assert found < alone + 0.03


def test_certain_predictions_that_fail_stay_finite():
    guess, score = [np.array([0.0, 1.0, 0.5] * 40), np.full(120, 0.6)], np.array([1.0, 0.0, 1.0] * 40)
    weights, prediction, _ = blend_one_step_ahead(guess, score, None, np.ones(120, bool))
    assert np.isfinite(weights).all() and ((prediction > 0) & (prediction < 1)).all()


@pytest.fixture
def data(league):
    return jr.data.Dataset(league, np.array([f"player {i:02}" for i in range(40)], object), np.arange(600))


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
    row = [
        "(blend)",
        *(format_metric(*x) for x in blend.quality.items()),
        f"{gap.difference:+.4f} ± {1.96 * gap.error:.4f}",
    ]
    assert found.rows[-1] == row  # which had no interval, unlike those of systems
    assert found.columns()["behind_error"][-1] == pytest.approx(gap.error)
    assert jr.compare(data, ["elo"]).blend is None
    assert repr(blend).startswith("Blend of ") and len(repr(blend).splitlines()) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda data: jr.evaluation.blend_systems([jr.elo()], data), "a blend takes two systems or more, got 1"),
        (
            lambda data: jr.evaluation.blend_systems([jr.elo(), jr.elo(k=8)], data),
            "two systems have the name elo; give each its own",
        ),
        (
            lambda data: jr.evaluation.blend_systems(["elo", "glicko"], data),
            "blend takes systems, as jr.glicko(), and not str",
        ),
        (lambda data: jr.evaluation.blend_systems([jr.elo(), jr.urnings()], data), "urnings draws random numbers"),
        (
            lambda data: jr.evaluation.blend_systems([jr.elo(), jr.category_glicko()], data),
            "category_glicko rates no single matches; leave it out",
        ),
        (
            lambda data: jr.evaluation.blend_systems([jr.elo(), jr.glicko()], data, last=0),
            "last must be above 0 and at most 1, got 0",
        ),
        (
            lambda data: jr.evaluation.blend_systems([jr.elo(), jr.glicko()], data.matches),
            "blend_systems: data must be a Dataset (as of jr.read)",
        ),
    ],
)
def test_refusals(data, call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call(data)
