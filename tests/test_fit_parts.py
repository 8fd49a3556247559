"""What a fit leaves open, what it remembers, and what it has not seen."""

from functools import lru_cache
from importlib import import_module

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import slice_events
from tests.conftest import MOSTLY_DOUBLE, mark_full, refused
from tests.test_fit import contests, league, small, unprepared

PROBLEM, TASK = (import_module(f"jaxrate.fitting.{name}") for name in ("fit_problem", "prediction_task"))


# What is open


def at_home():
    """Pairs who win in turns, three of five at home: who learns from a result predicts the next one worse."""
    n = 600
    player = np.array([0, 1]) + 2 * (np.arange(n)[:, None] % 12)
    score = np.array([1.0, 0.0, 1.0, 0.0, 1.0])[np.arange(n) // 12 % 5]
    return jr.matches(player, score, side=np.ones(n))


@MOSTLY_DOUBLE
def test_what_is_open_is_named_and_takes_no_errors_from_others(x64):
    history = at_home()
    found = jr.fit(jr.elo(side_advantage=30), history, steps=25 if x64 else 100)
    assert (found.free, found.open, found.converged) == (("k", "side_advantage"), ("k",), False)
    assert found.reason == ("steps" if x64 else "flat")  # ever smaller factors are ever better, up to rounding
    alone = jr.fit(found.system, history, free=("side_advantage",))
    np.testing.assert_allclose(
        found.standard_error["side_advantage"], alone.standard_error["side_advantage"], rtol=0.01
    )
    assert found.standard_error["k"] == np.inf and alone.open == () and alone.converged
    assert np.isfinite(found.covariance).tolist() == [[False, False], [False, True]]
    assert "left open by these events: k" in repr(found)


CURVED = {  # of a logarithm and of points, 600 events
    "one open": ([[1e-5, 0.0], [0.0, 0.04]], [True, False]),
    "one open, with some effect on the other": ([[1e-5, 1e-4], [1e-4, 0.04]], [True, False]),
    "curved downwards": ([[-1e-3, 0.0], [0.0, 0.04]], [True, False]),
    "one for the other": ([[0.04, 0.04], [0.04, 0.04]], [True, True]),
    "one that may be 350 times as large": ([[1.85e-4, 0.0], [0.0, 0.04]], [True, False]),
    "none": ([[0.04, 0.01], [0.01, 0.04]], [False, False]),
    "not a number": ([[np.nan, 0.0], [0.0, 0.04]], [True, True]),
}


@pytest.mark.parametrize("errors", ["information", "sandwich"])
@pytest.mark.parametrize("name", CURVED)
def test_errors_come_from_what_the_curvature_tells(monkeypatch, name, errors):
    """Of points, counted in units of 30: what is known has the error that it has alone, or of the full inverse."""
    system, (curvature, is_open) = jr.elo(side_advantage=7.0), CURVED[name]
    problem = unprepared(system, league(), ("k", "side_advantage"))
    product = np.array([[0.03, 0.01], [0.01, 0.09]])
    answers = {"hessian": np.array([curvature]), "forward": (None, None, product[None])}
    monkeypatch.setattr(PROBLEM, "mean_loss_derivatives", lambda problem, what, *_: answers[what])
    found = PROBLEM.parameter_covariance(problem, problem.start, errors)
    assert np.isinf(np.diag(found)).tolist() == is_open
    known = ~np.array(is_open)
    inverse = np.linalg.inv(np.array(curvature)[np.ix_(known, known)])
    want = (inverse @ product[np.ix_(known, known)] @ inverse if errors == "sandwich" else inverse) / 600
    unit = np.array([system.params.k, 30.0])[known]
    np.testing.assert_allclose(found[np.ix_(known, known)], want * unit * unit[:, None], rtol=0.03)


@pytest.mark.parametrize("errors", mark_full(["products", "sandwich"], "products"))
def test_ranks_determine_ratios_alone(errors):
    """Fitted with beta held, what is left has the intervals of the ratios: beta does not matter."""
    random, count, size = np.random.default_rng(3), 60, 8
    player = np.stack([random.permutation(20)[:size] for _ in range(count)])
    skill = random.normal(0.0, 200.0, 20) + np.cumsum(random.normal(0.0, 60.0, (count, 20)), axis=0)
    performance = np.take_along_axis(skill, player, axis=1) + random.normal(0.0, 150.0, player.shape)
    rank = np.argsort(np.argsort(-performance, axis=1), axis=1)
    rounds = jr.rounds(np.repeat(np.arange(count), size), player.ravel(), rank.ravel())
    free, start = ("beta", "gamma", "initial_deviation"), dict(gamma=30.0, initial_deviation=300.0)
    both = jr.fit(jr.elo_mmx(beta=150.0, **start), rounds, free=free, errors=errors)
    held = jr.fit(jr.elo_mmx(beta=150.0, **start), rounds, free=free[1:], errors=errors)
    assert both.open == both.scaled_together == free and "ratios of beta, gamma and" in repr(both)
    assert "left open" not in repr(both) and "caution about beta" in repr(both) and held.cautions == []
    assert [x.label for x in both.ratios] == ["gamma / beta", "initial_deviation / beta"] and held.ratios == ()
    for ratio, name in zip(both.ratios, free[1:], strict=True):
        value, error = getattr(held.params, name), held.standard_error[name]
        np.testing.assert_allclose(ratio.value, value / 150.0, rtol=0.02)
        np.testing.assert_allclose(np.log([ratio.low, ratio.high]) - np.log(ratio.value),
                                   np.array([-1.96, 1.96]) * error / value, rtol=0.05)  # fmt: skip
    assert jr.fit(jr.elo_mmx(beta=150.0, **start), rounds, steps=1).ratios == ()  # by default the last one stays


def test_what_goes_with_what_is_open_is_open(monkeypatch):
    """A bound, in points, is a share above a parameter of which nothing is known."""
    problem = unprepared(jr.glicko(initial_deviation=300, deviation_max=400), league(),
                         ("initial_deviation", "deviation_max", "c"))  # fmt: skip
    monkeypatch.setattr(PROBLEM, "mean_loss_derivatives", lambda *_: np.diag([1e-6, 1.0, 1.0])[None])
    found = PROBLEM.parameter_covariance(problem, problem.start, "information")
    assert np.isinf(np.diag(found)).tolist() == [True, True, False]


# What is remembered


OPTIONS = {"loss": "brier", "warm_up": 3, "weight": 1.0 + np.arange(600) % 3}


@lru_cache
def remembered():
    state = jr.run(jr.elo(), jr.data.simulate.league(30, 300, seed=9).matches).state
    with jax.enable_x64(True):
        return jr.fit(jr.elo(side_advantage=30), league(), state=state, data_share=0.9, validation=0.25, **OPTIONS)


def test_a_fit_remembers_what_it_made_small(no_errors):
    found, n = remembered(), np.arange(600)
    assert {name: getattr(found.options, name) for name in ("loss", "warm_up")} == {"loss": "brier", "warm_up": 3}
    assert found.options.errors == "sandwich" and (found.options.weight == OPTIONS["weight"]).all()
    assert found.options.weight is not OPTIONS["weight"]  # which may be changed
    with jax.enable_x64(True):
        options = OPTIONS | {"weight": OPTIONS["weight"] * (n < 405), "state": found.options.state}
        want = jr.fitting.sweep_parameters(found.system, league(), found.params, **options)
        np.testing.assert_allclose(found.loss, want, rtol=1e-12)
        np.testing.assert_allclose(jr.fitting.sweep_parameters(found, league(), found.params), want, rtol=1e-12)
        values = found.params.k * np.array([0.8, 1.0])
        profile = jr.fitting.profile_loss(found, league(), "k", values)
        plain = jr.fitting.profile_loss(found.system, league(), "k", values, free=found.free, **options)
        np.testing.assert_allclose(profile.loss, plain.loss, rtol=1e-9)
        again = jr.fit(found, league(), steps=0)
        np.testing.assert_allclose(again.loss, found.loss, rtol=1e-12)
        other = jr.fitting.sweep_parameters(found, league(), found.params, loss="log_loss")
        np.testing.assert_allclose(
            other, jr.fitting.sweep_parameters(found.system, league(), found.params, **options | {"loss": "log_loss"})
        )
    assert (profile.loss_function, profile.likelihood) == ("brier", False)
    np.testing.assert_allclose([profile.loss[1], profile.weight], [found.loss, plain.weight], rtol=1e-4)
    assert found.options._replace(state=None, weight=None) == again.options._replace(state=None, weight=None)


# What is left for afterwards


def test_what_a_fit_scores_afterwards_it_has_not_seen(no_errors):
    matches, start, n = league(), jr.elo(side_advantage=30), np.arange(600)
    found = jr.fit(start, matches, data_share=0.75)
    turned = jr.fit(
        start, matches._replace(score=np.where(n < 450, matches.score, 1.0 - matches.score)), data_share=0.75
    )
    assert (
        found.params == turned.params and found.loss == turned.loss and found.held_out.fitted < turned.held_out.fitted
    )
    past = jr.fit(start, slice_events(matches, 0, 450))
    names = list(found.free)
    fitted, wanted = ([getattr(x.params, name) for name in names] for x in (found, past))
    np.testing.assert_allclose(fitted, wanted, rtol=1e-3)
    for system, loss in ((start, found.held_out.start), (found.system, found.held_out.fitted)):
        prediction = np.asarray(jr.run(system, matches).prediction)
        np.testing.assert_allclose(loss, jr.metrics.log_loss(prediction, matches.score, mask=n >= 450), rtol=1e-5)
    mean = np.full(150, matches.score[:450].mean())
    np.testing.assert_allclose(found.held_out.constant, jr.metrics.log_loss(mean, matches.score[450:]), rtol=1e-5)
    assert found.held_out.scored == 150 and found.validation_history is None
    rest = found.held_out
    said = f"{rest.start:.5f} at the start, {rest.fitted:.5f} fitted, {rest.constant:.5f} of a const"
    assert said in repr(found) and jr.fit(found.system, matches, steps=0).held_out is None


def test_the_rest_of_periods_and_contests_is_counted_in_matches_and_contests():
    periods = TASK.make_prediction_task(jr.elo(), jr.periods(league(), 500.0), "log_loss")
    training, held_out, rest = TASK.split_training_validation_heldout_weights(periods, 0.9, 0.0)
    assert (training.sum(), held_out.sum(), rest.sum()) == (540, 0, 60) and (training[:540] == 1).all()
    rounds = TASK.make_prediction_task(small(), contests(), "log_loss")
    training, held_out, rest = TASK.split_training_validation_heldout_weights(rounds, 0.5, 0.2)
    assert set(rounds.event[rest > 0]) == set(range(15, 30)) and set(rounds.event[held_out > 0]) == {12, 13, 14}
    assert not (training * held_out).any() and not (training * rest).any()


def test_constants_say_how_frequent_each_score_was():
    matches, n = league(), np.arange(600)
    past, following = 1.0 * (n < 400), 1.0 * (n >= 400)
    draws = TASK.make_prediction_task(jr.forecasts.add_outcomes(jr.trueskill()), matches, "log_loss")
    level = np.rint(2 * matches.score).astype(int)
    frequent = np.bincount(level[:400]) / 400
    np.testing.assert_allclose(
        TASK.constant_prediction_loss(draws, past, following), -np.log(frequent[level[400:]]).mean(), rtol=1e-6
    )
    rounds = TASK.make_prediction_task(small(), contests(), "pairwise")
    np.testing.assert_allclose(TASK.constant_prediction_loss(rounds, rounds.weight, rounds.weight), np.log(2.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data_share": 0.0}, "data_share is a share of the events, above 0 and at most 1, got 0"),
        ({"data_share": 80}, "data_share is a share of the events, above 0 and at most 1, got 80"),
        ({"data_share": np.nan}, "data_share is a share"),
        ({"data_share": 1e-9}, "held out"),
        ({"data_share": 0.5, "weight": np.arange(600) < 300}, "data_share=0.5 of the events leave no rest to score"),
    ],
)
def test_bad_shares(options, message):
    with pytest.raises(ValueError, match=message):
        jr.fit(jr.elo(), league(), **options)


def test_what_says_how_often_there_are_draws_is_not_free_where_there_are_none():
    """It went to where it may do nothing, and was called open."""
    rng = np.random.default_rng(1)
    pairs, score = rng.integers(0, 9, (60, 1)) + np.arange(2), rng.integers(0, 2, 60).astype(float)
    decided, drawn = (jr.matches(pairs, x) for x in (score, np.where(np.arange(60) == 30, 0.5, score)))
    system, free = jr.trueskill(draw_probability=0.1), ["beta", "draw_probability"]
    fixed = {x: getattr(system.space, x)._replace(fitted=False) for x in system.params._fields if x not in free}
    system = system._replace(space=system.space._replace(**fixed))  # all calls have one program

    def active_names(matches, free=None, weight=1.0):
        task = TASK.make_prediction_task(system, matches, "log_loss")
        problem = PROBLEM.prepare_fit(task, system, free, task.weight * weight)
        return [problem.free.names[i] for i in problem.active]

    assert active_names(drawn) == free
    assert active_names(decided) == active_names(drawn, weight=np.arange(60) > 30) == ["beta"]
    with refused("trueskill: draw_probability says how often there are draws, and nothing is drawn to fit it by"):
        active_names(decided, free)
