"""The log likelihood for samplers, losses of one's own, and fits that are given back."""

import math
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.history.recorded_runs import OPTION
from jaxrate.metrics.calibration_slopes import MEMORY, PRIOR_INFORMATION, OnlineSlope, calibrate_online
from jaxrate.metrics.prediction_metrics import observed_share_of_sides_beaten
from tests.conftest import MOSTLY_DOUBLE
from tests.test_fit import league

SYSTEM = jr.glicko(c=40, side_advantage=20)


@MOSTLY_DOUBLE
def test_the_log_likelihood_is_the_sum_of_logarithms(x64):
    matches = league()
    p = np.asarray(jr.run(SYSTEM, matches).prediction)
    want, rtol = (matches.score * np.log(p) + (1 - matches.score) * np.log1p(-p)).sum(), 1e-10 if x64 else 1e-5
    np.testing.assert_allclose(jr.fitting.log_likelihood(SYSTEM, matches), want, rtol=rtol)
    full = jr.forecasts.add_outcomes(jr.trueskill())
    draws = matches._replace(score=np.where(np.arange(600) % 5, matches.score, 0.5))
    said = jr.run(full, draws).prediction
    win, draw = np.asarray(said.win), np.asarray(said.draw)[:, 0]
    each = np.where(draws.score == 0.5, draw, np.where(draws.score == 1, win[:, 0], win[:, 1]))
    np.testing.assert_allclose(jr.fitting.log_likelihood(full, draws), np.log(each).sum(), rtol=rtol)


@MOSTLY_DOUBLE
def test_the_log_likelihood_goes_through_jit_grad_and_vmap(x64):
    matches = league()
    density = jax.jit(lambda c: jr.fitting.log_likelihood(SYSTEM, matches, SYSTEM.params._replace(c=c)))
    low, middle, high = (float(density(c)) for c in (39.99, 40.0, 40.01))
    np.testing.assert_allclose(jax.grad(density)(40.0), (high - low) / 0.02, rtol=1e-5 if x64 else 1e-2)
    np.testing.assert_allclose(jax.vmap(density)(jnp.array([39.99, 40.0])), [low, middle], rtol=1e-10 if x64 else 1e-5)
    other = float(jr.fitting.log_likelihood(SYSTEM, matches, SYSTEM.params._replace(c=39.99)))
    np.testing.assert_allclose(other, low, rtol=1e-10 if x64 else 1e-5)
    np.testing.assert_allclose(
        middle, -600 * jr.fitting.sweep_parameters(SYSTEM, matches, SYSTEM.params), rtol=1e-10 if x64 else 1e-5
    )


@pytest.mark.parametrize(
    ("system", "events", "objective", "says"),
    [
        (jr.codeforces(), jr.rounds([0] * 3, [0, 1, 2], [1, 2, 3]), None, "rounds have no likelihood.*give matches"),
        (jr.elo(), None, jr.fitting.ahead(loss="brier"), "brier loss is no log likelihood; take log_loss"),
        (jr.skills(), None, jr.fitting.evidence(), "the evidence is no sum of predictions"),
    ],
)
def test_what_has_no_likelihood_is_refused(system, events, objective, says):
    with pytest.raises(ValueError, match=says):
        jr.fitting.log_likelihood(system, league() if events is None else events, objective=objective)


def absolute(guess, score):
    return jnp.abs(guess - score)


def test_a_function_is_a_loss():
    matches = league()
    fit = jr.fit(jr.elo(), matches, free=("k",), objective=jr.fitting.ahead(loss=absolute), steps=5)
    p = np.asarray(jr.run(fit.system, matches).prediction)
    np.testing.assert_allclose(fit.loss, np.abs(p - matches.score).mean(), rtol=1e-5)
    assert fit.loss < fit.loss_history[0]
    np.testing.assert_allclose(
        jr.fitting.sweep_parameters(fit, matches, fit.params), fit.loss, rtol=1e-5
    )  # the fit remembers it


@pytest.mark.parametrize("loss", [lambda guess, score: jnp.mean(guess - score), lambda guess, score: guess[:, None]])
def test_a_loss_of_another_shape_is_refused(loss):
    with pytest.raises(ValueError, match=r"must give \[600\], a number for each prediction, got shape"):
        jr.fit(jr.elo(), league(), objective=jr.fitting.ahead(loss=loss))


@lru_cache
def fit_of_initial_deviation():
    return jr.fit(jr.glicko(), league(), free=("initial_deviation",))


def test_what_moved_is_shown_and_can_be_given_back():
    fit = fit_of_initial_deviation()
    assert fit.moved_bounds == ("deviation_max",)
    row = next(line for line in repr(fit).splitlines() if line.startswith("deviation_max"))
    assert row.split()[1:4] == [f"{fit.params.deviation_max:.5g}", "moved", "along"]
    again = eval(repr(fit.system), {"glicko": jr.glicko})
    assert again == fit.system
    without = jr.glicko(deviation_max=None, c=0.1 + 0.2)
    assert eval(repr(without), {"glicko": jr.glicko}) == without
    interval = jr.fitting.likelihood_interval(fit, league(), "initial_deviation", level=0.5)  # the bound moves along
    assert interval.low < fit.params.initial_deviation < interval.profile.value.max()
    with pytest.raises(ValueError, match="must not decrease, got initial_deviation=532, deviation_max=350"):
        jr.glicko(initial_deviation=532)


@pytest.mark.parametrize("name", jr.extend.SYSTEMS)
def test_every_system_is_what_its_repr_makes(name):
    system = jr.extend.SYSTEMS[name]()
    assert eval(repr(system), {name: jr.extend.SYSTEMS[name]}) == system


# Chances of default systems are calibrated by a slope that is learnt online.

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


def slow_twin_of_contests(share, beaten, team):
    """Newton's steps in plain numbers, contest by contest, from shares and numbers of teams [P] of each."""
    slope, information, learnt, new, terms, calibrated = 1.0, PRIOR_INFORMATION, 0.0, 0.0, [], []
    for p, s, of in zip(share, beaten, team, strict=True):
        if new >= max(min(learnt, MEMORY) / 64.0, 1.0):
            information = math.exp(-new / MEMORY) * information + sum(h for _, h in terms)
            slope += sum(g for g, _ in terms) / information
            learnt, new, terms = learnt + new, 0.0, []
        x, low, high = np.log(p / (1.0 - p)), -50.0, 50.0
        each = 1.0 / np.bincount(of)[of]
        for _ in range(80):
            middle = 0.5 * (low + high)
            q = 1.0 / (1.0 + np.exp(-(slope * x + middle)))
            low, high = (middle, high) if each @ (q - 0.5) < 0.0 else (low, middle)
        calibrated.append(q)
        terms.append((0.5 * each @ ((s - q) * x), 0.5 * each @ (q * (1.0 - q) * x * x)))
        new += 0.5 * (max(of) + 1)
    return np.concatenate(calibrated)


def contests(n=300, players=15):
    """Rows of contests of two to five teams of one to three players, whose order is mostly chance."""
    random, rows = np.random.default_rng(2), []
    for contest in range(n):
        sizes, names = random.integers(1, 4, random.integers(2, 6)), random.permutation(players)
        team = np.repeat(np.arange(len(sizes)), sizes)
        strength = np.bincount(team, 0.05 * names[: len(team)]) + random.gumbel(size=len(sizes))
        rank = np.argsort(np.argsort(-strength))[team] + 1
        rows += [(contest, f"player {names[i]}", rank[i], team[i], contest // 3) for i in range(len(team))]
    return dict(zip(("contest", "player", "rank", "team", "time"), map(np.array, zip(*rows, strict=True)), strict=True))


CONTEST_COLUMNS = {"contest": "contest", "participant": "player", "rank": "rank", "team": "team", "time": "time"}


def test_shares_of_contests_are_those_of_newtons_steps_and_sum_to_half_the_teams():
    data = jr.read({**(table := contests()), "time": table["contest"]}, **CONTEST_COLUMNS)
    start, team = data.rounds.player_start, np.asarray(data.rounds.events.team)
    beaten = observed_share_of_sides_beaten(data.rounds)
    share = jr.rate(jr.weng_lin(), data, calibrate=False).predictions["prediction"].to_numpy().astype(float)
    first = np.zeros(len(share), bool)
    first[start[:-1]] = True
    weight = np.concatenate([0.5 / np.bincount(x)[x] for x in np.split(team, start[1:-1])])
    calibrated, _ = calibrate_online(share, beaten, weight, first, OnlineSlope(), start)
    parts = (np.split(x, start[1:-1]) for x in (share, beaten, team))
    np.testing.assert_allclose(calibrated, slow_twin_of_contests(*parts), rtol=1e-9)
    np.testing.assert_allclose(np.add.reduceat(2 * weight * (calibrated - 0.5), start[:-1]), 0.0, atol=1e-12)
    single, _ = calibrate_online(share.astype(np.float32), beaten, weight, first, OnlineSlope(), start)
    np.testing.assert_allclose(single, calibrated, atol=1e-5)
    two = slice(0, None, 2)  # of contests of two teams of one: as matches
    half, begins = np.full(len(share) // 2 * 2, 0.5), np.arange(len(share) // 2 * 2) % 2 == 0
    p, s = np.repeat(share[: len(half)][two], 2), np.repeat(np.rint(beaten[: len(half)][two]), 2)
    p[1::2], s[1::2] = 1.0 - p[two], 1.0 - s[two]
    pairs, found = calibrate_online(p, s, half, begins, OnlineSlope(), np.arange(0, len(half), 2))
    matches, same = calibrate_online(p[two], s[two], None, begins[two], OnlineSlope())
    np.testing.assert_allclose(pairs[two], matches, rtol=1e-12)
    np.testing.assert_allclose(found, same, rtol=1e-12)


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


def forecast_odds(rated):
    """Logarithms of the odds of both players of a match to come, or of teams of one in a contest."""
    if rated.contests is None:
        chance = float(jr.forecasts.predict_fixtures(rated, [("player 1", "player 2")])["expected"][0])
        chances = np.array([chance, 1.0 - chance])
    else:
        coming = [(["player 1", "player 2"], ["player 3"], ["player 4"])]
        chances = np.asarray(jr.forecasts.predict_fixtures(rated, coming)["share"], float)
        assert chances[1:].sum() == pytest.approx(1.5, abs=1e-5)  # of one of each team
        chances = chances[1:]
    return np.log(chances / (1.0 - chances))


CALIBRATED = {  # the system, the table, what its columns are, the row at which it is cut, and the period
    "matches": (jr.glicko, coins(), {}, 450, None),
    "periods": (jr.glicko, coins(), {}, 450, 30.0),
    "contests": (jr.trueskill, contests(), CONTEST_COLUMNS, int(np.argmax(contests()["contest"] == 150)), None),
}


@pytest.mark.parametrize("name", CALIBRATED)
def test_only_chances_change_and_a_saved_run_goes_on(tmp_path, name):
    make, table, columns, at, period = CALIBRATED[name]
    data = jr.read(table, **columns)
    raw, rated = (jr.rate(make(), data, period=period, calibrate=x) for x in (False, None))
    np.testing.assert_array_equal(jr.ratings(raw).mean, jr.ratings(rated).mean)
    score = observed_share_of_sides_beaten(data.rounds) if columns else np.asarray(data.matches.score)
    assert jr.metrics.log_loss(expected(rated), score) < jr.metrics.log_loss(expected(raw), score) - 0.005
    slope = rated.system.params.calibration_slope
    np.testing.assert_allclose(np.diff(forecast_odds(rated)), slope * np.diff(forecast_odds(raw)), atol=1e-4)
    first = jr.rate(make(), jr.read(part(table, slice(at)), **columns), period=period)
    jr.save(tmp_path, first)
    rest = jr.read(part(table, slice(at, None)), history=first, **columns)
    saved = jr.load(tmp_path)
    for system in (saved.system, make()):
        whole = jr.rate(system, rest, period=period, onto=saved)
        np.testing.assert_allclose(expected(whole), expected(rated), atol=1e-5)
        assert whole.system.params.calibration_slope == pytest.approx(slope, rel=1e-4)
    with pytest.raises(ValueError, match="with its own parameters"):
        jr.rate(make(initial_rating=3), rest, period=period, onto=saved)


def test_what_was_fitted_or_set_is_left_alone():
    data = jr.read(coins())
    is_calibrated = lambda system, data=data, **options: OPTION in jr.rate(system, data, **options).options  # noqa: E731
    for system in (jr.elo(), jr.glicko(period=3), jr.elo(initial_rating=1200), jr.skills(), jr.trueskill()):
        assert is_calibrated(system), system
    goals = jr.read({"a": ["p", "q"], "b": ["q", "p"], "x": [2, 0], "y": [1, 0]}, margin=["x", "y"])
    fit = jr.fit(jr.elo(), data, free=["k"], steps=2)
    for system in (fit.system, jr.elo(k=20), jr.forecasts.calibrate(jr.elo()), jr.forecasts.add_outcomes(jr.elo())):
        assert not is_calibrated(system), system
    assert is_calibrated(jr.elo(k=20), calibrate=True) and not is_calibrated(jr.elo(), calibrate=False)
    assert not is_calibrated(jr.skills(observe=jr.parts.goals("x", "y")), goals)


def test_commands_calibrate_and_say_who_loses_to_a_constant(jaxrate, tmp_path):
    file, run = tmp_path / "coins file.csv", tmp_path / "run"
    jr.data.write(coins(), file)
    said = jaxrate("rate", file, "--out", run, "-v")[1]
    assert "calibrated" in said and "--no-calibrate" in said
    for options in (("--no-calibrate",), ("--param", "c=20")):
        said = jaxrate("rate", file, *options, "--out", run, "-v")[1]
        assert "calibrated" not in said and ", less than the predictions. To do better: " in said
        assert f"jaxrate fit '{file}'" in said and f"jaxrate compare '{file}'" in said
    assert ", less than Elo.\n" in jaxrate("compare", file, "--system", "elo")[1]
    said = jaxrate("site", run, "--out", tmp_path / "site")[2]
    assert "jaxrate fit FILE" in said
    assert "The same chance for all would have been better" in (tmp_path / "site" / "quality.html").read_text()
