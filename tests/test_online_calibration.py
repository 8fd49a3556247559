"""Chances of default systems are calibrated by a slope that is learnt online."""

import math

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.league.online_calibration import OPTION
from jaxrate.metrics.online_slope import MEMORY, PRIOR_INFORMATION, OnlineSlope, calibrate_online

pytest.importorskip("pyarrow")


def coins(n=800, players=12):
    """A table of results of chance between players of several names, some of them at one time."""
    random = np.random.default_rng(1)
    a = random.integers(0, players, n)
    names = np.array([f"player {i}" for i in range(players)])
    table = {"a": names[a], "b": names[(a + 1 + np.arange(n) % 3) % players]}
    return table | {"score": random.integers(0, 3, n) / 2, "time": np.arange(n) // 3}


def part(table, rows):
    return {name: x[rows] for name, x in table.items()}


def expected(rated):
    return rated.predictions["prediction"].to_numpy()


def slow_twin(prediction, score, weight, begins_time):
    """Newton's steps in plain numbers, match by match."""
    slope, information, matches, terms, calibrated = 1.0, PRIOR_INFORMATION, 0, [], []
    for p, s, w, is_later in zip(prediction, score, weight, begins_time, strict=True):
        if is_later and len(terms) >= max(min(matches, MEMORY) / 64.0, 1.0):
            information = math.exp(-len(terms) / MEMORY) * information + sum(h for _, h in terms)
            slope += sum(g for g, _ in terms) / information
            matches, terms = matches + len(terms), []
        x = math.log(p / (1.0 - p))
        q = 1.0 / (1.0 + math.exp(-slope * x))
        calibrated.append(q)
        terms.append((w * (s - q) * x, w * q * (1.0 - q) * x * x))
    return np.array(calibrated)


def test_the_slope_is_that_of_newtons_steps_and_nears_the_truth():
    random = np.random.default_rng(0)
    n, slope = 30_000, 0.6
    odds = random.normal(0, 1.5, n)
    prediction, true = (1.0 / (1.0 + np.exp(-x)) for x in (odds, slope * odds))
    score, weight = (random.random(n) < true) * 1.0, random.choice([1.0, 2.0], n)
    later = random.random(n) < 0.8
    calibrated, found = calibrate_online(prediction, score, weight, later, OnlineSlope())
    np.testing.assert_allclose(calibrated, slow_twin(prediction, score, weight, later), rtol=1e-12)
    error = found.information**-0.5
    assert abs(found.slope - slope) < 4 * error < 0.1
    mirrored, _ = calibrate_online(1.0 - prediction, 1.0 - score, weight, later, OnlineSlope())
    np.testing.assert_allclose(mirrored, 1.0 - calibrated, atol=1e-12)
    single, _ = calibrate_online(prediction.astype(np.float32), score, weight, later, OnlineSlope())
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, calibrated, atol=1e-5)


@pytest.mark.parametrize("period", [None, 30.0])
def test_only_chances_change_and_a_saved_run_goes_on(tmp_path, period):
    table = coins()
    data = jr.read(table)
    raw, rated = (jr.rate(jr.glicko(), data, period=period, calibrate=x) for x in (False, None))
    np.testing.assert_array_equal(jr.ratings(raw).mean, jr.ratings(rated).mean)
    score = np.asarray(data.matches.score)
    assert jr.metrics.log_loss(expected(rated), score) < jr.metrics.log_loss(expected(raw), score) - 0.005
    slope = rated.system.params.calibration_slope
    assert 0.0 < slope < 0.5
    pair = [("player 1", "player 2")]
    plain, calibrated = (float(jr.forecasts.predict_fixtures(x, pair)["expected"][0]) for x in (raw, rated))
    logit = math.log(plain / (1.0 - plain))
    assert calibrated == pytest.approx(1.0 / (1.0 + math.exp(-slope * logit)), abs=1e-5)
    at = 450  # where a period begins
    first = jr.rate(jr.glicko(), jr.read(part(table, slice(at))), period=period)
    jr.save(tmp_path, first)
    rest = jr.read(part(table, slice(at, None)), players=first.players)
    saved = jr.load(tmp_path)
    for system in (saved.system, jr.glicko()):
        whole = jr.rate(system, rest, period=period, onto=saved)
        np.testing.assert_allclose(expected(whole), expected(rated), atol=1e-6)
        assert whole.system.params.calibration_slope == pytest.approx(slope, rel=1e-4)
    with pytest.raises(ValueError, match="with its own parameters"):
        jr.rate(jr.glicko(c=3), rest, period=period, onto=saved)


def test_what_was_fitted_or_set_is_left_alone():
    data = jr.read(coins())
    is_calibrated = lambda system, data=data, **options: OPTION in jr.rate(system, data, **options).options  # noqa: E731
    for system in (jr.elo(), jr.glicko(period=3), jr.elo(initial_rating=1200), jr.skills(), jr.trueskill()):
        assert is_calibrated(system), system
    fit = jr.fit(jr.elo(), data, free=["k"], steps=2)
    for system in (fit.system, jr.elo(k=20), jr.forecasts.calibrate(jr.elo()), jr.forecasts.add_outcomes(jr.elo())):
        assert not is_calibrated(system), system
    assert is_calibrated(jr.elo(k=20), calibrate=True) and not is_calibrated(jr.elo(), calibrate=False)
    contests = jr.read(
        {"contest": [0, 0], "player": ["x", "y"], "rank": [1, 2]}, contest="contest", participant="player"
    )
    assert not is_calibrated(jr.weng_lin(), contests)


def test_commands_calibrate_and_say_who_loses_to_a_constant(jaxrate, tmp_path):
    file, run = tmp_path / "coins file.csv", tmp_path / "run"
    jr.data.write(coins(), file)
    said = jaxrate("rate", file, "--out", run)[1]
    assert "calibrated" in said and "--no-calibrate" in said
    for options in (("--no-calibrate",), ("--param", "c=20")):
        said = jaxrate("rate", file, *options, "--out", run)[1]
        assert "calibrated" not in said and "The predictions lose to it" in said
        assert f"jaxrate fit '{file}'" in said and "--system elo" in said
    said = jaxrate("site", run, "--out", tmp_path / "site")[2]
    assert "jaxrate fit FILE" in said
    assert "The same chance for all would have been better" in (tmp_path / "site" / "quality.html").read_text()
