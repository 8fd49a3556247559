"""Fitting: losses against `jr.metrics`, slopes against differences, optima against SciPy, errors against formulas."""

from functools import lru_cache, partial
from importlib import import_module
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.hyperparameter_definitions import POSITIVE, Parameter
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.replay.execution import CompilePolicy
from tests.conftest import MOSTLY_SINGLE, mark_full
from tests.test_rounds import SYSTEM

FIT, FREE, LOST, PROBLEM, REACH, SEARCH, SLOPE, TASK = (
    import_module(f"jaxrate.fitting.{name}")
    for name in (
        "hyperparameter_fit",
        "free_parameters",
        "losses",
        "fit_problem",
        "trust_region",
        "multistart_search",
        "history_loss_derivatives",
        "prediction_task",
    )
)


@lru_cache
def league():
    return jr.data.simulate.league(30, 600, seed=3, drift=10.0, side_advantage=60, draws=0.2).matches


@lru_cache
def contests(size=6):
    """With ties, and one contest in which all tie. (Of one size, which saves compilations.)"""
    rounds = jr.data.simulate.contests(25, 30, size=size, seed=2, grid=100.0).rounds
    rank = rounds.events.rank.copy()
    rank[slice(*rounds.player_start[4:6])] = 0
    return rounds._replace(events=rounds.events._replace(rank=rank))


def predicted(system, events, **params):
    return np.asarray(jr.run(system, events, params=system.params._replace(**params)).prediction)


def shares(rounds):
    """[sum P] of the others that each beat, a tie by half, and whether the contest ranks anybody."""
    share, ranks = [], []
    for a, b in zip(rounds.player_start[:-1], rounds.player_start[1:], strict=True):
        rank = rounds.events.rank[a:b]
        share.append(0.5 + 0.5 * np.sign(rank[None, :] - rank[:, None]).sum(axis=1) / (b - a - 1))
        ranks.append(np.full(b - a, np.ptp(rank) > 0))
    return np.concatenate(share), np.concatenate(ranks)


def unprepared(system, events, names, loss="log_loss"):
    """A problem without what is computed of the events: real numbers are counted in units of 30."""
    what, (form, start) = TASK.make_prediction_task(system, events, loss), FREE.make_free_parameters(system, names)
    unit, weight = np.where(np.array(form.spaces) == "real", 30.0, 1.0), np.stack([what.weight, 0.0 * what.weight])
    every = len(names)
    return PROBLEM.FitProblem(
        system, what, form, unit, start / unit, weight, "forward", np.arange(every), np.eye(every)
    )


def cut(prepare, name, most, params):
    return prepare(params._replace(**{name: jnp.minimum(getattr(params, name), most)}))


def capped(make=jr.elo, name="k", **changes):
    """A system whose rules are made for a hyperparameter, and take no more than twice that."""
    plain = make(**changes)
    prepare = bind(cut, plain.rules.prepare, name, 2.0 * getattr(plain.params, name))
    return plain._replace(rules=plain.rules._replace(prepare=prepare), make=bind(capped, make, name))


capped_skill = partial(capped, jr.trueskill, "tau")


def predict_small(params, rows, event):
    if not isinstance(event, Matches):
        return SYSTEM.rules.predict(params, rows, event)
    return jax.nn.sigmoid((rows.rating[0] - rows.rating[1]) / jnp.sqrt(params.beta**2 + rows.variance.sum()))


def small(**changes):
    """A system of rounds that compiles quickly, and predicts matches too."""
    fixed = Parameter(POSITIVE, "points", "what it is", fitted=False)
    space = SYSTEM.params._replace(**dict.fromkeys(SYSTEM.params._fields, fixed))
    space = space._replace(k=fixed._replace(fitted=True), beta=fixed._replace(fitted=True))
    rules = SYSTEM.rules._replace(
        prepare=bind(cut, SYSTEM.rules.prepare, "k", 2.0 * changes.get("k", 24.0)), predict=predict_small
    )
    return SYSTEM._replace(params=SYSTEM.params._replace(**changes), space=space, rules=rules, make=small)


# Losses


@MOSTLY_SINGLE
@pytest.mark.parametrize("warm_up", [0, 3, 0.25])
@pytest.mark.parametrize("loss", ["log_loss", "brier"])
def test_the_loss_of_matches_is_that_of_metrics(x64, loss, warm_up):
    system, matches, weight = jr.elo(side_advantage=20), league(), np.arange(600) % 4
    measure = getattr(jr.metrics, {"brier": "brier_score"}.get(loss, loss))
    mask = np.arange(600) >= 150 if warm_up == 0.25 else jr.metrics.experience_mask(matches, warm_up)
    options = {"weight": weight, "mask": mask}
    want = [measure(predicted(system, matches, k=k), matches.score, **options) for k in (10.0, 70.0)]
    params = system.params._replace(k=np.array([[10.0], [70.0]]))
    got = jr.fitting.sweep_parameters(system, matches, params, loss=loss, warm_up=warm_up, weight=weight)
    assert got.shape == (2, 1)
    np.testing.assert_allclose(got[:, 0], want, rtol=1e-13 if x64 else 1e-6)


def test_the_loss_of_periods_counts_games_before():
    system, matches = jr.elo(), league()
    periods = jr.periods(matches, 50.0)
    want = jr.metrics.log_loss(predicted(system, periods), matches.score, mask=jr.metrics.experience_mask(matches, 5))
    got = jr.fitting.sweep_parameters(system, periods, system.params, warm_up=5)
    np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("loss", ["log_loss", "brier"])
def test_the_loss_of_rounds_is_that_of_shares(loss):
    system, rounds = small(), contests()
    share, ranks = shares(rounds)
    assert (~ranks).any()
    mask = ranks & jr.metrics.experience_mask(rounds, 2)
    want = getattr(jr.metrics, {"brier": "brier_score"}.get(loss, loss))(predicted(system, rounds), share, mask=mask)
    np.testing.assert_allclose(
        jr.fitting.sweep_parameters(system, rounds, system.params, loss=loss, warm_up=2), want, rtol=1e-6
    )


@pytest.mark.parametrize("matches", [False, True])
def test_the_first_share_is_of_events(matches):
    """Of all periods or contests, whatever their size."""
    events = jr.periods(league(), 50.0) if matches else contests((3, 9))
    plain, warm = (
        TASK.make_prediction_task(jr.elo() if matches else small(), events, "log_loss", share) for share in (0, 0.3)
    )
    number = plain.event[-1] + 1
    assert len(np.unique(np.bincount(plain.event))) > 1
    np.testing.assert_array_equal(warm.weight, plain.weight * (plain.event >= 0.3 * number))
    assert 0 < np.count_nonzero(warm.weight) < np.count_nonzero(plain.weight)


def test_shares_are_of_other_teams():
    """Teams A of two, B and C of one, who tie behind."""
    rounds = jr.rounds([7] * 4, [0, 1, 2, 3], [1, 2, 1, 2], team=[5, 8, 5, 6])
    share, ranks, event = TASK._round_shares_of_teams_beaten(rounds)
    np.testing.assert_array_equal(share, [1.0, 0.25, 1.0, 0.25])
    assert ranks.all() and (event == 0).all()


def test_a_draw_of_two_is_scored_and_a_contest_without_ranks_is_not():
    """Two teams that drew had no loss, though as a match they have one; so fits saw decided contests only."""
    drawn, decided, tied = [1, 1, 1, 1], [1, 1, 2, 2], [1, 1, 1]
    rounds = jr.rounds([0] * 4 + [1] * 4 + [2] * 3, [*range(4), *range(4), *range(3)], [*drawn, *decided, *tied],
                       team=[0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 2])  # fmt: skip
    task = TASK.make_prediction_task(jr.trueskill(), rounds, "log_loss")
    np.testing.assert_array_equal(task.weight, [1] * 8 + [0] * 3)
    assert TASK.has_draws(task, task.weight)


@pytest.mark.parametrize(("most", "x64"), mark_full([(2, True), (1, True), (32, False)], (2, True)), indirect=["x64"])
def test_the_pairwise_loss_compares_everybody_or_so_many(monkeypatch, x64, most):
    """Against a loop over the pairs, from the ratings before the contest."""
    monkeypatch.setattr(LOST, "OPPONENTS", most)
    system, rounds = small(beta=250.0), contests((3, 9))
    rating, deviation = (np.asarray(x, np.float64) for x in jr.history.rating_history(system, rounds).before)
    want, who = np.zeros(len(rating)), rounds.events.player.astype(np.uint64)
    for a, b in zip(rounds.player_start[:-1], rounds.player_start[1:], strict=True):
        order = a + np.argsort(who[a:b] * np.uint64(2654435761) % np.uint64(2**32))
        n = b - a
        near = [(i, j) for i, j in combinations(range(n), 2) if min(j - i, n - j + i) <= most]
        for i, j in near:
            one, two = order[i], order[j]
            score = 0.5 + 0.5 * np.sign(float(rounds.events.rank[two]) - rounds.events.rank[one])
            spread = np.sqrt(250.0**2 + deviation[one] ** 2 + deviation[two] ** 2)
            p = 1 / (1 + np.exp(-(rating[one] - rating[two]) / spread))
            value = -score * np.log(p) - (1 - score) * np.log(1 - p)
            want[[one, two]] += value / min(n - 1, 2 * most)
    _, ranks = shares(rounds)
    got = jr.fitting.sweep_parameters(system, rounds, system.params, loss="pairwise")
    np.testing.assert_allclose(got, want[ranks].mean(), rtol=1e-10 if x64 else 1e-5)


def test_probabilities_of_scores_are_scored_by_that_of_the_result(no_errors):
    matches = league()
    system = jr.forecasts.add_outcomes(jr.elo(side_advantage=30))
    view = jr.run(system, matches).prediction
    chance = np.stack([view.win[:, 1], view.draw[:, 0], view.win[:, 0]], 1)
    given = chance[np.arange(600), np.rint(2 * matches.score).astype(int)]
    np.testing.assert_allclose(
        jr.fitting.sweep_parameters(system, matches, system.params), -np.log(given).mean(), rtol=1e-6
    )
    want = jr.metrics.brier_score(chance @ [0.0, 0.5, 1.0], matches.score)
    np.testing.assert_allclose(
        jr.fitting.sweep_parameters(system, matches, system.params, loss="brier"), want, rtol=1e-6
    )
    odd = matches._replace(score=np.where(np.arange(600) == 9, 0.3, matches.score))
    with pytest.raises(ValueError, match=r"row 9 .*predicts the scores 0, 1/2, ..., 1, not 0.3"):
        jr.fit(system, odd)


def test_a_loss_of_ones_own_is_a_function_and_a_name(monkeypatch):
    monkeypatch.setitem(LOST.LOSSES, "distance", LOST.LossDefinition(lambda guess, score: jnp.abs(guess - score)))
    system, matches = jr.elo(), league()
    want = np.abs(predicted(system, matches) - matches.score).mean()
    np.testing.assert_allclose(
        jr.fitting.sweep_parameters(system, matches, system.params, loss="distance"), want, rtol=1e-5
    )


def test_a_loss_may_be_of_some_events(monkeypatch):
    monkeypatch.setitem(LOST.LOSSES, "weekly", LOST.LossDefinition(LOST.elementwise_brier, events=(Periods, Rounds)))
    with pytest.raises(ValueError, match="the weekly loss is of periods or rounds; take log_loss"):
        jr.fit(jr.elo(), league(), loss="weekly")


def test_saturated_predictions_keep_the_loss_finite():
    sure = LOST.cross_entropy(jnp.array([0.0, 1.0, 1.0]), jnp.array([1.0, 0.0, 1.0]))
    np.testing.assert_allclose(sure, [24 * np.log(2), 24 * np.log(2), 2.0**-24], rtol=1e-3)


# Slopes

SLOPES = {
    "elo": (lambda: jr.elo(side_advantage=30), ("k", "side_advantage"), league, "log_loss"),
    "glicko_moves": (jr.glicko, ("c", "initial_deviation"), league, "log_loss"),
    "glicko_bound": (
        lambda: jr.glicko(c=90, deviation_max=380),
        ("initial_deviation", "deviation_max"),
        league,
        "brier",
    ),
    "pairwise": (small, ("k", "beta"), contests, "pairwise"),
}


@pytest.mark.parametrize(
    ("name", "curved"),
    mark_full(
        [*((x, x == "elo") for x in SLOPES), ("glicko_bound", True)],
        *((x, x == "elo") for x in SLOPES if x != "glicko_moves"),
    ),
)
def test_slopes_and_curvature_equal_differences(name, curved):
    make, free, events, loss = SLOPES[name]
    with jax.enable_x64(True):
        system = make()
        problem = unprepared(system, events(), free, loss)
        start = problem.start + 0.1

        def at(kind, x):
            return PROBLEM.mean_loss_derivatives(problem, kind, np.atleast_2d(x), system.params)

        h, k = 1e-5, len(free)
        points = np.concatenate([start + h * np.eye(k), start - h * np.eye(k), start[None]])
        value, slopes, product = at("forward", points)
        np.testing.assert_allclose(slopes[-1], (value[:k, 0] - value[k:-1, 0]) / (2 * h), rtol=1e-5, atol=1e-8)
        assert (np.linalg.eigvalsh(product[-1]) > 0).all()
        if curved:  # that of rounds is in `test_errors_of_rounds_take_a_contest_as_one`
            wanted = (slopes[:k] - slopes[k:-1]) / (2 * h)
            np.testing.assert_allclose(at("hessian", start)[0], wanted, rtol=1e-4, atol=1e-7)
        if name == "elo":
            reverse = at("reverse", start)
            np.testing.assert_allclose(reverse[1], slopes[-1:], rtol=1e-10)
            np.testing.assert_allclose(reverse[0], value[-1:], rtol=1e-12)


def test_a_run_in_the_outermost_jit_is_the_same(default_policy):
    """A program that compiles quickly has no options to lose."""
    system, matches = jr.elo(), league()

    def total(k, **options):
        params = system.params._replace(k=k)
        return jnp.sum(jr.run(system, matches, params=params, schedule="levels", **options).prediction ** 2)

    outermost = partial(total, policy=CompilePolicy(outermost=True))
    value, slope = jax.vmap(lambda k: jax.jvp(outermost, (k,), (1.0,)))(jnp.array([10.0, 20.0]))
    for k, v, s in zip((10.0, 20.0), value, slope, strict=True):
        np.testing.assert_allclose(jax.jvp(total, (k,), (1.0,)), (v, s), rtol=1e-4)


# The best parameters


@lru_cache
def fitted(**options):
    with jax.enable_x64(True):
        return jr.fit(jr.elo(), league(), **options)
