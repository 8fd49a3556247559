"""Win, draw and loss of every system of matches, calibrated predictions, and the likelihood of margins."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.rules import RatedEvent
from jaxrate.core.system import replace_params
from jaxrate.fitting.losses import LOSSES, make_replay_record_for_loss
from jaxrate.systems.prediction_wrapping import (
    davidson_outcome_probabilities,
    scores_or_score_probabilities,
    wrapper_names,
)
from tests.conftest import MOSTLY_DOUBLE, MOSTLY_SINGLE, mark_full, quick
from tests.reference import outcomes_twin as twin
from tests.reference.skills_twin import Skills, game

OF_ROUNDS = jr.elo_mmr()._replace(events=(jr.Rounds,))

N, PLAYERS = 200, 12


def league(draws=True):
    random = np.random.default_rng(3)
    first = random.integers(0, PLAYERS, N)
    player = np.stack([first, (first + random.integers(1, PLAYERS, N)) % PLAYERS], axis=1)
    home, away = random.poisson(1.6, N), random.poisson(1.2, N)
    if not draws:
        home = home + (home == away)
    score = 0.5 + 0.5 * np.sign(home - away)
    columns = {"home": home.astype(float), "away": away.astype(float)}
    time, side = np.sort(random.uniform(0, 300, N)), random.integers(-1, 2, N)
    return jr.matches(player, score, time, side=side, columns=columns)


def chances(outlook):
    """[n, 3] of win, draw and loss."""
    return np.stack([outlook.win[:, 0], outlook.draw[:, 0], outlook.win[:, 1]], axis=1)


@pytest.mark.parametrize("odds", [1e-3, 0.4, 1.0, 30.0])
def test_draws_are_davidsons(x64, odds):
    score = np.array([0.0, 1e-6, 0.03, 0.4, 0.5, 0.62, 0.999, 1.0])
    got = quick(davidson_outcome_probabilities)(
        jnp.asarray(score, float), jnp.asarray(np.full(len(score), odds), float)
    )
    wanted = [twin.davidson(x, odds) if 0.0 < x < 1.0 else (x, 0.0, 1.0 - x) for x in score]
    close = 1e-12 if x64 else 2e-6
    np.testing.assert_allclose(chances(got), wanted, rtol=close if x64 else 2e-4, atol=close)
    np.testing.assert_allclose(got.win[:, 0] + 0.5 * got.draw[:, 0], score, atol=close)
    np.testing.assert_allclose(got.quality[4], 1.0, rtol=1e-6)
    np.testing.assert_allclose(got.rank.sum(axis=1), 3.0, rtol=1e-6)


@MOSTLY_SINGLE
def test_slopes_of_draws_are_finite_at_the_ends(x64):
    at = np.array([0.0, 0.5, 1.0], jnp.result_type(float))

    def drawn(score, odds):
        return davidson_outcome_probabilities(score, odds).draw[0]

    slope = [np.asarray(x) for x in quick(jax.vmap(jax.grad(drawn, (0, 1)), (0, None)))(at, 0.7)]
    assert np.isfinite(slope).all()
    np.testing.assert_allclose(slope[0][1], 0.0, atol=1e-6)


def test_draws_depend_on_strength(double):
    """log nu grows by the mean rating above a newcomer's."""
    plain, events = jr.glicko(), league()
    system = jr.forecasts.add_outcomes(plain, draw_odds=0.6, draw_strength=0.004)
    kept = jr.history.rating_history(plain, events)
    rating = np.asarray(kept.before.mean)
    odds = 0.6 * np.exp(0.004 * (rating.mean(axis=1) - 1500.0))
    wanted = [twin.davidson(p, nu) for p, nu in zip(np.asarray(kept.prediction), odds, strict=True)]
    np.testing.assert_allclose(chances(jr.run(system, events).prediction), wanted, rtol=1e-9)


@MOSTLY_DOUBLE
def test_calibration_is_a_line_through_the_log_odds(x64):
    plain, events = jr.elo(side_advantage=40), league()
    system = jr.forecasts.calibrate(plain, calibration_slope=0.7, calibration_intercept=0.3)
    one, other = jr.run(plain, events), jr.run(system, events)
    wanted = [twin.calibrate(p, 0.7, 0.3, s) for p, s in zip(one.prediction, events.context.side, strict=True)]
    np.testing.assert_allclose(other.prediction, wanted, rtol=1e-10 if x64 else 1e-5)
    np.testing.assert_array_equal(other.state.rating, one.state.rating)
    flipped = events._replace(player=events.player[:, ::-1], score=1.0 - events.score)
    flipped = flipped._replace(context=flipped.context._replace(side=-events.context.side))
    np.testing.assert_allclose(jr.run(system, flipped).prediction, 1.0 - other.prediction, atol=1e-6)


MARGINS = {"margin": ("home", "away"), "margin_scale": 90.0, "initial_deviation": 120.0, "side_advantage": 30.0}


@MOSTLY_DOUBLE
@pytest.mark.parametrize("compression", [None, 2.5])
def test_the_margin_loss_is_that_of_the_twin(x64, compression):
    events, system = league(), jr.skills("margin", **MARGINS, compression=compression)
    got = jr.run(system, events, record=make_replay_record_for_loss(LOSSES["margin"], system)).prediction
    params = {x: y for x, y in MARGINS.items() if x != "margin"}
    slow = Skills("margin", growth=10.0, initial_rating=1500.0, noise=300.0, compression=compression, **params)
    wanted = []
    for i, (a, b) in enumerate(events.player.tolist()):
        points = events.context.columns["home"][i] - events.context.columns["away"][i]
        one = game(a, b, events.score[i], events.context.side[i], margin=points)
        for name in (a, b):
            if slow.player(name).time is not None:
                slow.pass_time(slow.player(name), slow.player(name).time, events.time[i])
                slow.player(name).time = events.time[i]
        (first, second), ahead = slow.strengths(one, 1.0)
        wanted.append(twin.margin_loss(points, ahead, 300.0**2 + first[2] + second[2], 90.0, compression))
        slow.play(events.time[i], [one])
    np.testing.assert_allclose(got, wanted, rtol=1e-8 if x64 else 1e-4)


OUTLOOKS = {
    "davidson": lambda: jr.forecasts.add_outcomes(jr.elo(), draw_odds=0.7, draw_strength=0.002),
    "calibrated": lambda: jr.forecasts.add_outcomes(
        jr.forecasts.calibrate(jr.elo(), calibration_slope=0.8, calibration_intercept=0.2),
        draw_odds=0.7,
        draw_strength=0.002,
    ),
    "own": lambda: jr.forecasts.add_outcomes(jr.skills("margin", **MARGINS, draw_margin=50.0, compression=2.5)),
}


def losses(name, events):
    """The mean loss as a function of hyperparameters, and these; of margins that of the results and of the points."""
    system, kinds = OUTLOOKS[name](), [LOSSES["log_loss"], LOSSES["margin"]][: 1 + (name == "own")]
    records = [make_replay_record_for_loss(loss, system) or (lambda rated: rated.prediction) for loss in kinds]

    def value(params):
        guesses = jr.run(
            system, events, params=params, schedule="stream", record=lambda rated: [keep(rated) for keep in records]
        ).prediction
        each = [
            loss.each(scores_or_score_probabilities(guess), jnp.asarray(events.score, float))
            for loss, guess in zip(kinds, guesses, strict=True)
        ]
        return sum(map(jnp.mean, each))

    return value, system


@pytest.mark.parametrize("name", mark_full(OUTLOOKS, "calibrated", "own"))
def test_slopes_equal_differences(double, name):
    value, system = losses(name, league())
    free = [x for x in system.params._fields if getattr(system.params, x) is not None and x != "period"]
    step = {x: 1e-5 * (abs(getattr(system.params, x)) or 1.0) for x in free}
    moved = [system.params._replace(**{x: getattr(system.params, x) + s * step[x]}) for x in free for s in (-1, 1)]
    at, slopes = jax.tree.map(
        np.asarray, quick(jax.vmap(jax.value_and_grad(value)))(jax.tree.map(lambda *x: np.array(x, float), *moved))
    )
    for i, (x, (low, high)) in enumerate(zip(free, at.reshape(-1, 2), strict=True)):
        slope = np.mean(getattr(slopes, x)[2 * i : 2 * i + 2])
        np.testing.assert_allclose(slope, (high - low) / (2 * step[x]), rtol=1e-4, atol=1e-9, err_msg=x)


@MOSTLY_DOUBLE
def test_margins_of_skills_are_those_of_a_kalman_filter_far_away_too(x64):
    """A hopeless player draws: the loss is large, and so is its slope, but both are finite."""
    system = jr.skills("margin", **MARGINS)
    rows = system.init(system.params, 2)
    rows = rows._replace(mean=rows.mean + jnp.array([9000.0, -9000.0]))
    far = jax.tree.map(lambda x: jnp.asarray(x[:5], float), league()._replace(player=np.array([[0, 1]] * N)))
    constants, record = system.rules.prepare(system.params), make_replay_record_for_loss(LOSSES["margin"], system)

    def value(lead):
        state = rows._replace(mean=rows.mean + lead * jnp.array([1.0, -1.0]))
        return jnp.sum(jax.vmap(lambda x: record(RatedEvent(system.params, constants, state, None, None, x)))(far))

    found, slope = quick(jax.value_and_grad(value))(0.0)
    assert np.isfinite(found) and found > 1000.0 and np.isfinite(slope)


@pytest.mark.full  # the slopes of both are those of differences
def test_fits_find_draws_and_calibration(double):
    """Of results that follow Davidson's law about predictions that are too sure."""
    random, n = np.random.default_rng(0), 2_000
    skill = random.normal(0.0, 150.0, 30)
    first = random.integers(0, 30, n)
    player = np.stack([first, (first + random.integers(1, 30, n)) % 30], axis=1)
    true = 1.0 / (1.0 + 10.0 ** (-0.6 * (skill[player[:, 0]] - skill[player[:, 1]]) / 400.0))
    law = np.array([twin.davidson(p, 0.8) for p in true])
    score = np.array([1.0, 0.5, 0.0])[(random.uniform(size=n)[:, None] > np.cumsum(law, axis=1)[:, :2]).sum(axis=1)]
    events, plain = jr.matches(player, score), jr.elo(k=1e-9)
    state = plain.init(plain.params, 30)._replace(rating=jnp.asarray(1500.0 + skill))
    found = jr.fit(
        jr.forecasts.add_outcomes(jr.forecasts.calibrate(plain)),
        events,
        free=("calibration_slope", "draw_odds"),
        state=state,
        steps=20,
    )
    error = found.standard_error
    assert abs(found.params.draw_odds - 0.8) < 3 * error["draw_odds"] < 0.2
    assert abs(found.params.calibration_slope - 0.6) < 3 * error["calibration_slope"] < 0.3


def test_they_are_values_and_made_anew():
    system = jr.forecasts.add_outcomes(jr.forecasts.calibrate(jr.glicko(c=20)), draw_odds=0.5, draw_strength=0.001)
    assert pickle.loads(pickle.dumps(system)) == system and hash(system) == hash(OUTLOOKS and system)
    again = replace_params(system, system.params._replace(c=30.0, calibration_slope=0.9))
    assert again == jr.forecasts.add_outcomes(
        jr.forecasts.calibrate(jr.glicko(c=30), calibration_slope=0.9), draw_odds=0.5, draw_strength=0.001
    )
    assert repr(system).endswith("calibration_slope=1, calibration_intercept=0), draw_odds=0.5, draw_strength=0.001)")
    names = {"add_outcomes": jr.forecasts.add_outcomes, "calibrate": jr.forecasts.calibrate, "glicko": jr.glicko}
    assert eval(repr(system), names) == system
    own = jr.forecasts.add_outcomes(jr.trueskill(beta=4))
    assert eval(repr(own), names | {"trueskill": jr.trueskill}) == own
    grid = system.params._replace(draw_odds=np.array([0.5, 1.0, 2.0]))
    assert jr.fitting.sweep_parameters(system, league(), grid).shape == (3,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: jr.forecasts.add_outcomes(OF_ROUNDS), "^add_outcomes is of matches, which elo_mmr does not rate"),
        (lambda: jr.forecasts.add_outcomes(jr.elo(), draw_margin=1.0), "^add_outcomes has no parameter 'draw_margin'"),
        (lambda: jr.forecasts.add_outcomes(jr.elo(), draw_odds=0.0), "^add_outcomes: draw_odds must be > 0, got 0.0"),
        (
            lambda: jr.forecasts.calibrate(jr.elo(), calibration_slope=-1),
            "^calibrate: calibration_slope must be > 0, got -1",
        ),
        (
            lambda: jr.forecasts.add_outcomes(jr.trueskill(), draw_odds=1.0),
            "^trueskill has draws of its own, without draw_odds",
        ),
        (
            lambda: jr.forecasts.add_outcomes(jr.forecasts.add_outcomes(jr.elo())),
            "^this elo is one of jr.forecasts.add_outcomes already",
        ),
        (
            lambda: jr.forecasts.add_outcomes(jr.forecasts.add_outcomes(jr.trueskill())),
            "^this trueskill is one of jr.forecasts.add_outcomes already",
        ),
        (
            lambda: jr.forecasts.calibrate(jr.forecasts.add_outcomes(jr.elo())),
            "take calibrate of the system before that",
        ),
        (lambda: jr.fit(jr.glicko(), league(), loss="margin"), "^glicko says nothing of margins"),
        (
            lambda: jr.fit(jr.forecasts.add_outcomes(jr.skills("margin", **MARGINS)), league(), loss="margin"),
            "says nothing of margins",
        ),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_command_line_fits_and_rates_them(tmp_path, jaxrate, no_errors):
    events = league()
    table = {"a": events.player[:, 0], "b": events.player[:, 1], "score": events.score, "t": events.time}
    games, coming, fitted, out = (tmp_path / x for x in ("games.csv", "coming.csv", "fitted.toml", "out"))
    jr.data.write(table, games)
    coming.write_text("a,b,t\n3,4,400\n")
    head = "--time", "t", "--system", "elo"
    free = "--free", "calibration_slope", "draw_odds"
    code, said, error = jaxrate("fit", games, *head, "--outlook", "--calibrated", *free, "--save", fitted)
    assert code == 0 and "draw_odds" in said, error
    options = "--time", "t", "--params", fitted, "--out", out
    code, said, error = jaxrate("rate", games, *options)
    assert code == 0, error
    rated = jr.load(out)
    assert wrapper_names(rated.system) == ("calibrated", "outlook")
    assert {"win", "draw", "loss", "quality"} <= {*rated.predictions.column_names}
    code, said, error = jaxrate("predict", out, coming)
    assert code == 0, error
    assert said.split()[:7] == ["time", "a", "b", "win", "draw", "loss", "odds"]


@pytest.mark.full
def test_the_command_line_compares_them(tmp_path, jaxrate):
    events = league()
    table = {"a": events.player[:, 0], "b": events.player[:, 1], "score": events.score, "t": events.time}
    jr.data.write(table, tmp_path / "games.csv")
    options = "--time", "t", "--system", "elo", "--param", "elo.draw_odds=0.5", "--last", "0.5"
    code, _, error = jaxrate("compare", tmp_path / "games.csv", *options)
    assert code == 0, error
