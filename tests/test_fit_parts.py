"""What a fit leaves open, what it remembers, and what it has not seen."""

from functools import lru_cache

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts
from jaxrate.events import slice_events
from tests.conftest import MOSTLY_DOUBLE, mark_full, refused
from tests.test_fit import AHEAD, PROBLEM, TASK, TASK_OF, contests, league, small

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
    both = jr.fit(jr.elo_mmx(beta=150.0, **start), rounds, free=free, objective=AHEAD(errors=errors))
    held = jr.fit(jr.elo_mmx(beta=150.0, **start), rounds, free=free[1:], objective=AHEAD(errors=errors))
    assert both.open == both.scaled_together == free and "ratios of beta, gamma and" in repr(both)
    assert "left open" not in repr(both) and "caution about beta" in repr(both) and held.cautions == []
    assert [x.label for x in both.ratios] == ["gamma / beta", "initial_deviation / beta"] and held.ratios == ()
    for ratio, name in zip(both.ratios, free[1:], strict=True):
        value, error = getattr(held.params, name), held.standard_error[name]
        np.testing.assert_allclose(ratio.value, value / 150.0, rtol=0.02)
        np.testing.assert_allclose(np.log([ratio.low, ratio.high]) - np.log(ratio.value),
                                   np.array([-1.96, 1.96]) * error / value, rtol=0.05)  # fmt: skip
    assert jr.fit(jr.elo_mmx(beta=150.0, **start), rounds, steps=1).ratios == ()  # by default the last one stays


# What is remembered


OPTIONS = {"loss": "brier", "warm_up": 3, "weight": 1.0 + np.arange(600) % 3}


@lru_cache
def remembered():
    state = jr.run(jr.elo(), jr.data.simulate.league(30, 300, seed=9).matches).state
    with jax.enable_x64(True):
        objective = AHEAD(state=state, data_share=0.75, **OPTIONS)
        return jr.fit(jr.elo(side_advantage=30), league(), objective=objective)


def test_a_fit_remembers_what_it_made_small(no_errors):
    found, n = remembered(), np.arange(600)
    assert found.objective._replace(state=None, weight=None) == AHEAD(
        loss="brier", warm_up=3, data_share=0.75, errors="products"
    )
    assert (found.objective.weight == OPTIONS["weight"]).all()
    assert found.objective.weight is not OPTIONS["weight"]  # which may be changed
    with jax.enable_x64(True):
        options = OPTIONS | {"weight": OPTIONS["weight"] * (n < 450), "state": found.objective.state}
        plain_objective = AHEAD(**options)
        want = jr.fitting.sweep_parameters(found.system, league(), found.params, objective=plain_objective)
        np.testing.assert_allclose(found.loss, want, rtol=1e-12)
        np.testing.assert_allclose(jr.fitting.sweep_parameters(found, league(), found.params), want, rtol=1e-12)
        values = found.params.k * np.array([0.8, 1.0])
        profile = jr.fitting.profile_loss(found, league(), "k", values)
        plain = jr.fitting.profile_loss(found.system, league(), "k", values, free=found.free, objective=plain_objective)
        np.testing.assert_allclose(profile.loss, plain.loss, rtol=1e-9)
        again = jr.fit(found, league(), steps=0)
        np.testing.assert_allclose(again.loss, found.loss, rtol=1e-12)
        others = [
            jr.fitting.sweep_parameters(found, league(), found.params, objective=x._replace(loss="log_loss"))
            for x in (found.objective, plain_objective)
        ]
        np.testing.assert_allclose(*others)
    assert (profile.loss_function, profile.likelihood) == ("brier", False)
    np.testing.assert_allclose([profile.loss[1], profile.weight], [found.loss, plain.weight], rtol=1e-4)


def test_a_fit_by_the_evidence_remembers_it():
    """Its profile was that of the log loss one step ahead."""
    system = jr.skills(observe=parts.result(draw_margin=60.0))
    found = jr.fit(system, league(), free=["growth", "draw_margin"], objective=jr.fitting.evidence(), steps=2)
    least = jr.fitting.sweep_parameters(found, league(), found.params)
    np.testing.assert_allclose(least, found.loss, rtol=1e-6)
    profile = jr.fitting.profile_loss(found, league(), "draw_margin", [found.params.draw_margin, 90.0], free=[])
    assert profile.likelihood and found.loss == pytest.approx(profile.loss[0], rel=1e-6)
    with refused("the evidence is of a whole history, and of no part"):
        jr.fitting.fit_rolling(found, league(), 2)


# What is left for afterwards


def test_what_a_fit_scores_afterwards_it_has_not_seen(no_errors):
    matches, start, n = league(), jr.elo(side_advantage=30), np.arange(600)
    share = AHEAD(data_share=0.75)
    found = jr.fit(start, matches, objective=share)
    turned = jr.fit(
        start, matches._replace(score=np.where(n < 450, matches.score, 1.0 - matches.score)), objective=share
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
    assert found.held_out.scored == 150
    rest = found.held_out
    said = f"{rest.start:.5f} at the start, {rest.fitted:.5f} fitted, {rest.constant:.5f} of a const"
    assert said in repr(found) and jr.fit(found.system, matches, steps=0).held_out is None


def test_the_rest_of_periods_and_contests_is_counted_in_matches_and_contests():
    periods = TASK_OF(jr.elo(), jr.periods(league(), 500.0), AHEAD(data_share=0.9))
    assert (periods.weight[:540] == 1).all() and (periods.weight.sum(), periods.held_out_weight.sum()) == (540, 60)
    rounds = TASK_OF(small(), contests(), AHEAD(data_share=0.5))
    assert set(rounds.event[rounds.held_out_weight > 0]) == set(range(15, 30))
    assert not (rounds.weight * rounds.held_out_weight).any()


def test_categories_of_matches_are_fitted():
    """Those of matches in the slots of a plan were taken for shares of as many categories as there are slots."""
    matches = league()
    context = matches.context._replace(category=np.arange(1200).reshape(600, 2) % 3)
    system = jr.skills(parts.modifier(3, growth=3.0, deviation=60.0))
    found = jr.fit(
        system, matches._replace(context=context), free=["growth"], steps=1, objective=AHEAD(errors="products")
    )
    assert found.loss < found.loss_history[0]


def test_constants_say_how_frequent_each_score_was():
    matches, objective = league(), AHEAD(data_share=2 / 3)
    draws = TASK_OF(jr.forecasts.add_outcomes(jr.trueskill()), matches, objective)
    level = np.rint(2 * matches.score).astype(int)
    frequent = np.bincount(level[:400]) / 400
    np.testing.assert_allclose(TASK.constant_prediction_loss(draws), -np.log(frequent[level[400:]]).mean(), rtol=1e-6)
    rounds = TASK_OF(small(), contests(), objective._replace(loss="pairwise"))
    np.testing.assert_allclose(TASK.constant_prediction_loss(rounds), np.log(2.0))


def test_what_says_how_often_there_are_draws_is_not_free_where_there_are_none():
    """It went to where it may do nothing, and was called open."""
    rng = np.random.default_rng(1)
    pairs, score = rng.integers(0, 9, (60, 1)) + np.arange(2), rng.integers(0, 2, 60).astype(float)
    decided, drawn = (jr.matches(pairs, x) for x in (score, np.where(np.arange(60) == 30, 0.5, score)))
    system, free = jr.trueskill(draw_probability=0.1), ["beta", "draw_probability"]
    fixed = {x: getattr(system.space, x)._replace(fitted=False) for x in system.params._fields if x not in free}
    system = system._replace(space=system.space._replace(**fixed))  # all calls have one program

    def active_names(matches, free=None, weight=1.0):
        task = TASK_OF(system, matches)
        return [*PROBLEM.prepare_fit(task._replace(weight=task.weight * weight), free).names]

    assert active_names(drawn) == free
    assert active_names(decided) == active_names(drawn, weight=np.arange(60) > 30) == ["beta"]
    with refused("trueskill: draw_probability says how often there are draws, and nothing is drawn to fit it by"):
        active_names(decided, free)
