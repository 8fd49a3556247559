"""Fitting: losses against `jr.metrics`, slopes against differences, optima against SciPy, errors against formulas."""

import math
from functools import lru_cache, partial
from importlib import import_module
from itertools import combinations
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.optimize import minimize

import jaxrate as jr
from jaxrate.events import Matches, Periods, Rounds, slice_events
from jaxrate.hashable_values import bind
from jaxrate.league.system_choice import CONTEST_SYSTEMS
from jaxrate.parameters import POSITIVE, Parameter
from jaxrate.replay.execution import CompilePolicy
from jaxrate.rules import Rules
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
        "derivatives",
        "prediction_task",
    )
)
pytestmark = pytest.mark.usefixtures("in_a_hurry")


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


@pytest.fixture
def no_errors(monkeypatch):
    """Curvature takes most of the time to compile."""
    monkeypatch.setattr(FIT, "parameter_covariance", lambda problem, x, errors, product: np.eye(len(problem.active)))


# Losses


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
    share, ranks, event = TASK._round_scores(rounds)
    np.testing.assert_array_equal(share, [1.0, 0.25, 1.0, 0.25])
    assert ranks.all() and (event == 0).all()


@pytest.mark.parametrize(("most", "x64"), [(1, True), (32, False)], indirect=["x64"])
def test_the_pairwise_loss_compares_everybody_or_so_many(monkeypatch, x64, most):
    """Against a loop over the pairs, from the ratings before the contest."""
    monkeypatch.setattr(LOST, "OPPONENTS", most)
    system, rounds = small(beta=250.0), contests((3, 9))
    rating, deviation = (np.asarray(x, np.float64) for x in jr.league.rating_history(system, rounds).before)
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


def test_probabilities_of_scores_are_scored_by_that_of_the_result():
    matches = league()
    system = jr.forecasts.add_outcomes(jr.trueskill(side_advantage=0.5))
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
    monkeypatch.setitem(LOST.LOSSES, "distance", LOST.Loss(lambda guess, score: jnp.abs(guess - score)))
    system, matches = jr.elo(), league()
    want = np.abs(predicted(system, matches) - matches.score).mean()
    np.testing.assert_allclose(
        jr.fitting.sweep_parameters(system, matches, system.params, loss="distance"), want, rtol=1e-5
    )


def test_a_loss_may_be_of_some_events(monkeypatch):
    monkeypatch.setitem(LOST.LOSSES, "weekly", LOST.Loss(LOST.elementwise_brier, events=(Periods, Rounds)))
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


@pytest.mark.parametrize("name", SLOPES)
def test_slopes_and_curvature_equal_differences(name):
    make, free, events, loss = SLOPES[name]
    with jax.enable_x64(True):
        system = make()
        problem = unprepared(system, events(), free, loss)
        start = problem.start + 0.1

        def at(kind, x):
            return PROBLEM.evaluate_losses(problem, kind, np.atleast_2d(x), system.params)

        h, k = 1e-5, len(free)
        points = np.concatenate([start + h * np.eye(k), start - h * np.eye(k), start[None]])
        value, slopes, product = at("forward", points)
        np.testing.assert_allclose(slopes[-1], (value[:k, 0] - value[k:-1, 0]) / (2 * h), rtol=1e-5, atol=1e-8)
        assert (np.linalg.eigvalsh(product[-1]) > 0).all()
        if name in ("elo", "glicko_bound"):  # that of rounds is in `test_errors_of_rounds_take_a_contest_as_one`
            curved = (slopes[:k] - slopes[k:-1]) / (2 * h)
            np.testing.assert_allclose(at("hessian", start)[0], curved, rtol=1e-4, atol=1e-7)
        if name == "elo":
            reverse = at("reverse", start)
            np.testing.assert_allclose(reverse[1], slopes[-1:], rtol=1e-10)
            np.testing.assert_allclose(reverse[0], value[-1:], rtol=1e-12)


def test_a_run_in_the_outermost_jit_is_the_same(monkeypatch):
    monkeypatch.undo()  # only as compiled for users does it have options
    system, matches = jr.elo(), league()

    def total(k, **options):
        params = system.params._replace(k=k)
        return jnp.sum(jr.run(system, matches, params=params, schedule="levels", **options).prediction ** 2)

    outermost = partial(total, policy=CompilePolicy(outermost=True))
    value, slope = jax.vmap(lambda k: jax.jvp(outermost, (k,), (1.0,)))(jnp.array([10.0, 20.0]))
    for k, v, s in zip((10.0, 20.0), value, slope, strict=True):
        np.testing.assert_allclose(jax.value_and_grad(total)(k), (v, s), rtol=1e-4)


# The best parameters


@lru_cache
def fitted(**options):
    with jax.enable_x64(True):
        return jr.fit(jr.elo(), league(), **options)


def test_the_best_is_that_of_scipy():
    system, matches, fit = jr.elo(), league(), fitted()
    with jax.enable_x64(True):

        def loss(x):
            guess = predicted(system, matches, k=np.exp(x[0]), side_advantage=x[1])
            return jr.metrics.log_loss(guess, matches.score)

        best = minimize(loss, [3.0, 30.0], method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-12})
        np.testing.assert_allclose(fit.loss_history[0], loss([math.log(32.0), 0.0]), rtol=1e-12)
    assert fit.free == ("k", "side_advantage") and fit.idle == ()
    np.testing.assert_allclose(fit.loss, best.fun, rtol=1e-9)
    np.testing.assert_allclose([math.log(fit.params.k), fit.params.side_advantage], best.x, rtol=1e-3)
    assert fit.converged and fit.reason == "gradient" and fit.seconds > 0
    assert fit.loss_history[-1] == fit.loss and fit.validation_history is None
    assert fit.system.params == fit.params and fit.params.scale == 400.0
    np.testing.assert_allclose(fit.unconstrained["k"], math.log(fit.params.k))


def test_standard_errors_follow_from_curvature_and_from_single_slopes(monkeypatch):
    """By differences of the losses of single matches, in the parameters themselves."""
    system, matches, fit = jr.elo(), league(), fitted()
    with jax.enable_x64(True):
        at, h = np.array([fit.params.k, fit.params.side_advantage]), np.array([1e-2, 1e-2])

        def losses(x):
            p = predicted(system, matches, k=x[0], side_advantage=x[1])
            return -matches.score * np.log(p) - (1 - matches.score) * np.log1p(-p)

        step = np.diag(h)
        slopes = np.stack([(losses(at + d) - losses(at - d)) / (2 * d.sum()) for d in step], axis=1)
        hessian = np.empty((2, 2))
        for i in range(2):
            for j in range(2):
                corners = [losses(at + a * step[i] + b * step[j]).sum() * a * b for a in (1, -1) for b in (1, -1)]
                hessian[i, j] = sum(corners) / (4 * h[i] * h[j])
    covariance = np.linalg.inv(hessian)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=2e-3)
    np.testing.assert_allclose(fit.standard_error["k"] ** 2, covariance[0, 0], rtol=2e-3)
    robust = fitted(errors="sandwich")
    np.testing.assert_allclose(robust.covariance, covariance @ slopes.T @ slopes @ covariance, rtol=2e-3)
    with jax.enable_x64(False):
        single = jr.fit(system, league())
    np.testing.assert_allclose(single.params.k, fit.params.k, rtol=1e-3)
    np.testing.assert_allclose(single.covariance, fit.covariance, rtol=1e-2)
    with jax.enable_x64(True):
        monkeypatch.setattr(SLOPE, "BATCH_MEMORY", 1)  # one pair of parameters at a time
        in_parts = jr.fit(fit.system, matches, steps=0)
    np.testing.assert_allclose(in_parts.covariance, fit.covariance, rtol=1e-9)


def test_errors_are_infinite_where_rounding_hides_the_curvature(monkeypatch):
    """Rounded, it need not be curved upwards: the inverse had variances below 0."""
    problem = unprepared(jr.elo(), league(), ("k", "side_advantage"))
    curvature = np.array([[1e8, 10050.0], [10050.0, 1.0]])
    monkeypatch.setattr(PROBLEM, "evaluate_losses", lambda *_: curvature[None])
    assert np.isinf(PROBLEM.parameter_covariance(problem, problem.start, "information")).all()


@pytest.mark.parametrize(("name", "deviation", "known"), [
    ("k", 3.9, True), ("k", 4.1, False), ("side_advantage", 3.9, True), ("side_advantage", 4.1, True),
])  # fmt: skip
def test_a_factor_of_50_to_either_side_is_not_known(monkeypatch, name, deviation, known):
    """Of a logarithm; points may be any number."""
    system = jr.elo(side_advantage=7.0)
    problem = unprepared(system, league(), (name,))
    monkeypatch.setattr(PROBLEM, "evaluate_losses", lambda *_: np.full((1, 1, 1), 1.0 / deviation**2 / 600))
    slope = system.params.k if name == "k" else 30.0
    error = np.sqrt(PROBLEM.parameter_covariance(problem, problem.start, "information")[0, 0])
    np.testing.assert_allclose(error, slope * deviation if known else np.inf, rtol=1e-5)


def test_errors_of_a_bound_are_those_of_what_it_bounds_as_well(monkeypatch):
    """Two parameters of which one moves the other: J C J', with J by differences."""
    system = jr.glicko(initial_deviation=300, deviation_max=400)
    form, x = FREE.make_free_parameters(system, ("initial_deviation", "deviation_max"))
    what = TASK.make_prediction_task(system, league(), "log_loss")
    weight = np.stack([what.weight, 0.0 * what.weight])
    problem = PROBLEM.FitProblem(system, what, form, np.ones(2), x, weight, "forward", np.arange(2), np.eye(2))
    curvature = np.array([[3.0, 1.0], [1.0, 2.0]])
    monkeypatch.setattr(PROBLEM, "evaluate_losses", lambda *_: curvature[None])
    with jax.enable_x64(True):
        found = PROBLEM.parameter_covariance(problem, problem.start, "information")
        around = x + 1e-6 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
        ends = PROBLEM.params_at(problem, around, system.params)
    jacobian = np.array([[y[0] - y[1], y[2] - y[3]] for y in (ends.initial_deviation, ends.deviation_max)]) / 2e-6
    assert abs(jacobian[1]).min() > 1.0 and jacobian[0, 1] == 0.0
    np.testing.assert_allclose(found, jacobian @ np.linalg.inv(curvature) @ jacobian.T / 600, rtol=1e-6)


def test_errors_of_rounds_take_a_contest_as_one():
    """The products of slopes are of sums over contests."""
    with jax.enable_x64(True):
        rounds = contests()
        fit = jr.fit(small(), rounds, free=("k",))
        share, ranks = shares(rounds)

        def losses(k):
            p = predicted(fit.system, rounds, k=k)
            return np.where(ranks, -share * np.log(p) - (1 - share) * np.log1p(-p), 0.0)

        best, h = fit.params.k, 1e-2
        high, here, low = losses(best + h), losses(best), losses(best - h)
        by_contest = np.add.reduceat((high - low) / (2 * h), rounds.player_start[:-1])
        curvature = (high - 2 * here + low).sum() / h**2
    np.testing.assert_allclose(fit.standard_error["k"], np.sqrt((by_contest**2).sum()) / curvature, rtol=1e-3)


def test_known_parameters_are_found_again():
    """Scores drawn by what Elo itself predicts."""
    random, k, side = np.random.default_rng(5), 40.0, 70.0
    n, players = 4000, 40
    rating, score = np.full(players, 1500.0), np.empty(n)
    first = random.integers(0, players, n)
    player = np.stack([first, (first + random.integers(1, players, n)) % players], 1)
    for i, (a, b) in enumerate(player):
        p = 1 / (1 + 10 ** ((rating[b] - rating[a] - side) / 400))
        score[i] = random.random() < p
        rating[[a, b]] += k * (score[i] - p) * np.array([1, -1])
    fit = jr.fit(jr.elo(), jr.matches(player, score, side=np.ones(n)))
    error = fit.standard_error
    assert (
        abs(fit.params.k - k) < 3 * error["k"] and abs(fit.params.side_advantage - side) < 3 * error["side_advantage"]
    )
    assert error["k"] < 5 and error["side_advantage"] < 10


@pytest.mark.parametrize("options", [{"optimizer": optax.adam(0.1), "steps": 60}, {"mode": "reverse"}])
def test_other_ways_lead_to_the_same(no_errors, options):
    with jax.enable_x64("mode" in options):
        fit = jr.fit(jr.elo(), league(), **options)
    np.testing.assert_allclose(fit.loss, fitted().loss, rtol=1e-5)
    np.testing.assert_allclose(fit.params.k, fitted().params.k, rtol=0.02)


def test_several_starts_agree(no_errors):
    fit = jr.fit(jr.elo(), league(), starts=3, key=jax.random.key(1))
    np.testing.assert_allclose(fit.loss, fitted().loss, rtol=1e-6)
    far = jr.fit(jr.elo(k=800), league(), starts=3, key=jax.random.key(2), steps=1)
    assert far.loss < jr.fit(jr.elo(k=800), league(), steps=1).loss  # another start won


def test_bounds_go_with_what_they_bound(no_errors):
    fit = jr.fit(jr.glicko(), league(), free=("initial_deviation",))
    assert fit.params.deviation_max == fit.params.initial_deviation != 350
    tight = jr.glicko(initial_deviation=30, deviation_max=31)
    passed = jr.fit(tight, league(), free=("initial_deviation",)).params
    assert passed.deviation_max == passed.initial_deviation > 31
    both = jr.fit(jr.glicko(c=90, deviation_max=400), league(), free=("initial_deviation", "deviation_max")).params
    assert both.deviation_max > both.initial_deviation


def test_parameters_that_change_nothing_are_left_out(no_errors):
    still = league()._replace(time=np.zeros(600))
    fit = jr.fit(jr.glicko(), still)
    assert fit.free == ("initial_deviation", "side_advantage") and fit.idle == ("c",)
    assert fit.params.c == 15.0 and len(fit.covariance) == 2


def test_a_dataset_is_its_events():
    matches, system = league(), jr.elo()
    data = jr.data.Dataset(matches, np.arange(30), np.arange(600))
    assert jr.fitting.sweep_parameters(system, data, system.params) == jr.fitting.sweep_parameters(
        system, matches, system.params
    )


def test_what_is_found_reads_well():
    system, history = jr.glicko(c=12.3456, side_advantage=33), np.array([0.7, 0.65, 0.66])
    errors, none = {"c": 0.55, "side_advantage": np.inf}, np.zeros((2, 2))
    found = jr.fitting.Fit(system, system.params, tuple(errors), ("initial_deviation",), {}, 0.65, history,
                   history + 0.1, errors, none, True, "steps", 1.0)  # fmt: skip
    assert repr(found).splitlines() == [
        "glicko after 2 steps (steps): loss 0.70000 at the start, 0.65000 now",
        "of the validation part 0.80000 at the start, 0.75000 now",
        "of no effect here: initial_deviation",
        "hyperparameter  fitted  standard error  unit",
        "c               12.346            0.55  points per sqrt(period)",
        "side_advantage      33             inf  points",
    ]
    assert "0.75000 now<br>" in found._repr_html_() and "<td" in found._repr_html_()
    profile = jr.fitting.LossProfile(np.array([1.0, 2.0]), np.array([0.5, np.nan]), None, system, "c", 600.0)
    assert repr(profile).splitlines() == [
        "glicko by c (points per sqrt(period)), all others fitted anew: 2 values, the least loss 0.50000 at 1",
        "c     loss  sum above the least",
        "1  0.50000                 0.00",
        "2      nan                  nan",
    ]
    many = profile._replace(value=np.arange(20.0), loss=np.full(20, 0.5))
    assert len(repr(many).splitlines()) == 1 and "20 values" in repr(many)
    rolled = jr.fitting.RollingFits(None, np.array([0.6]), np.array([0.65]), np.array([300]))
    assert repr(rolled).splitlines()[1].split() == ["1", "300", "0.65000", "0.60000", "-0.05000"]


# When to stop


def test_validation_decides_on_the_last_part(no_errors):
    system, matches = jr.elo(), league()
    fit = jr.fit(system, matches, validation=0.251, optimizer=optax.sgd(1.0), steps=60)  # of the events, 150.6
    guess = predicted(system, matches, **{name: getattr(fit.params, name) for name in fit.free})
    np.testing.assert_allclose(fit.loss, jr.metrics.log_loss(guess[:450], matches.score[:450]), rtol=1e-6)
    want = jr.metrics.log_loss(guess[450:], matches.score[450:])
    np.testing.assert_allclose(fit.validation_history.min(), want, rtol=1e-6)
    assert len(fit.loss_history) == len(fit.validation_history) < 61 and fit.reason == "validation" and fit.converged


def test_diverging_steps_return_the_best_point(no_errors):
    fit = jr.fit(jr.elo(), league(), optimizer=optax.sgd(3e3), steps=5)
    assert fit.reason == "diverged" and not fit.converged
    assert fit.loss == fit.loss_history.min() and all(map(np.isfinite, (fit.params.k, fit.params.side_advantage)))
    assert jr.fit(jr.elo(), league(), steps=1).reason == "steps"


# Sweeps, profiles, rolling origins


def test_a_sweep_in_parts_is_the_same(monkeypatch):
    system, matches = jr.glicko(), league()
    params = system.params._replace(c=np.array([5.0, 15.0, 30.0])[:, None], side_advantage=np.array([0.0, 50.0]))
    whole = jr.fitting.sweep_parameters(system, matches, params)
    want = jr.metrics.log_loss(predicted(system, matches, c=30.0, side_advantage=50.0), matches.score)
    assert whole.shape == (3, 2)
    np.testing.assert_allclose(whole[2, 1], want, rtol=1e-6)
    monkeypatch.setattr(SLOPE, "BATCH_MEMORY", 4 * 7 * 600 * 4)
    np.testing.assert_allclose(jr.fitting.sweep_parameters(system, matches, params), whole, rtol=1e-6)
    with pytest.raises(ValueError, match="must not decrease"):
        jr.fitting.sweep_parameters(system, matches, system.params._replace(initial_deviation=np.array([300.0, 400.0])))


def test_a_profile_fits_the_others_anew(no_errors):
    fit = fitted()
    profile = jr.fitting.profile_loss(fit.system, league(), "k", [20.0, fit.params.k])
    held = jr.fit(fit.system._replace(params=fit.params._replace(k=20.0)), league(), free=("side_advantage",))
    np.testing.assert_allclose(profile.loss, [held.loss, fit.loss], rtol=1e-6)
    np.testing.assert_allclose(profile.params.side_advantage[0], held.params.side_advantage, rtol=1e-2)
    np.testing.assert_allclose(profile.params.k, profile.value, rtol=1e-6)
    assert (profile.system.name, profile.name, profile.weight) == ("elo", "k", 600)


def test_rules_are_made_anew_on_the_way(no_errors):
    """Where they cut what is far from where they were made, fits must not end there."""
    matches, best = league(), fitted()
    with jax.enable_x64(True):
        start = capped(k=30.0)
        fit = jr.fit(start, matches)
        np.testing.assert_allclose(fit.loss, best.loss, rtol=1e-8)
        assert fit.params.k > 2.5 * 30.0 and fit.system == capped(**fit.params._asdict())
        alone = best.params._replace(side_advantage=0.0)
        profile = jr.fitting.profile_loss(start, matches, "k", [30.0, best.params.k], free=("side_advantage",), steps=0)
        np.testing.assert_allclose(profile.loss[1], jr.fitting.sweep_parameters(jr.elo(), matches, alone), rtol=1e-9)


def test_settings_are_swept_by_the_rules_made_for_them():
    start, matches = capped(k=10.0), league()
    params = start.params._replace(k=np.array([[10.0], [50.0]]), side_advantage=np.array([0.0, 40.0]))
    np.testing.assert_allclose(
        jr.fitting.sweep_parameters(start, matches, params),
        jr.fitting.sweep_parameters(jr.elo(), matches, params),
        rtol=1e-6,
    )


def test_rules_made_anew_predict_what_is_fitted():
    """Be it an outlook, or what a loss takes as prediction."""
    skill, rounds = jr.forecasts.add_outcomes(capped_skill(tau=0.1)), small(k=8.0)
    for system, events, loss, name in ((skill, league(), "log_loss", "tau"), (rounds, contests(), "pairwise", "k")):
        problem = unprepared(system, events, (name,), loss)
        assert PROBLEM.remake_rules_if_far(problem, problem.start[None] + 0.3, system.params) is problem
        new = PROBLEM.remake_rules_if_far(problem, problem.start[None] + 1.0, system.params)
        plain, asked = new.system.rules, new.task.system.rules
        assert plain.prepare != system.rules.prepare and plain.predict == system.rules.predict
        assert (
            asked == plain._replace(predict=problem.task.system.rules.predict)
            if loss == "log_loss"
            else (asked == plain and new.task.record.bound_args == (LOST.OPPONENTS, plain.predict))
        )


def test_a_least_value_holds_up_no_other(no_errors):
    """It is best to learn less than is allowed: the side is worth what it is with the least K."""
    least = 1.5 * fitted().params.k
    with jax.enable_x64(True):
        start = jr.elo(k=2.0 * least)
        start = start._replace(space=start.space._replace(k=start.space.k._replace(least=least)))
        fit = jr.fit(start, league())
        held = jr.fit(start._replace(params=start.params._replace(k=least)), league(), free=("side_advantage",))
    assert least < fit.params.k < 1.02 * least
    np.testing.assert_allclose(fit.loss, held.loss, rtol=1e-4)
    np.testing.assert_allclose(fit.params.side_advantage, held.params.side_advantage, rtol=0.03)
    grid = jr.blat_mmr(size=201, half_width=3.0, kernel_width=0.06)
    with pytest.raises(ValueError, match=r"kernel_width starts at 0.06, the border"):
        jr.fit(grid, league(), free=("kernel_width",))


def test_rolling_fits_the_past_and_scores_what_follows(no_errors):
    system, matches = jr.elo(), league()
    rolled = jr.fitting.fit_rolling(system, matches, 2, warm_up=1)
    past = jr.fit(system, slice_events(matches, 0, 400), warm_up=1)
    np.testing.assert_allclose(rolled.params.k[1], past.params.k, rtol=1e-3)
    guess = predicted(system, matches, k=rolled.params.k[1], side_advantage=rolled.params.side_advantage[1])
    mask = jr.metrics.experience_mask(matches, 1) & (np.arange(600) >= 400)
    np.testing.assert_allclose(rolled.fitted[1], jr.metrics.log_loss(guess, matches.score, mask=mask), rtol=1e-6)
    want = jr.metrics.log_loss(predicted(system, matches), matches.score, mask=mask)
    np.testing.assert_allclose(rolled.default[1], want, rtol=1e-6)
    assert rolled.events.tolist() == [jr.metrics.experience_mask(matches, 1)[200:400].sum(), mask.sum()]


# Every system

MADE = {
    "glicko2": jr.glicko2, "trueskill": jr.trueskill, "weng_lin": jr.weng_lin, "elo_mmx": jr.elo_mmx, "elo": jr.elo,
    "glicko": jr.glicko, "skills": jr.skills, "codeforces": jr.codeforces, "topcoder": jr.topcoder,
    "blat_mmr": lambda: jr.blat_mmr(size=31, half_width=3.0, kernel_width=0.6),
    "elo_mmr": lambda: jr.elo_mmr(history=2), "category_glicko": lambda: jr.category_glicko(1),
    "urnings": lambda: jr.forecasts.add_outcomes(jr.urnings(outcomes=3)),
}  # fmt: skip
DATA = Path(__file__).parents[2] / "shared" / "data"


def test_no_system_is_forgotten():
    assert {*MADE} == {*jr.extend.SYSTEMS}


@pytest.mark.parametrize("name", MADE)
def test_a_step_lowers_the_loss_of_every_system(name):
    """Of real football and races, where the data are."""
    system, key = MADE[name](), jax.random.key(0)
    if (Matches in system.events and name not in CONTEST_SYSTEMS) or name == "category_glicko":
        football = partial(jr.read, DATA / "intl_football.parquet", time="t", side="a", neutral="neutral")
        events = slice_events(football().matches if DATA.exists() else league(), 0, 60 if name == "blat_mmr" else 600)
        events = jr.periods(events, 500.0) if name == "category_glicko" else events
        events = jr.urns.split_by_side(events) if name == "urnings" else events
    else:
        races = partial(jr.read, DATA / "f1_rounds.parquet", rank="rank_lo", sort=True)
        events = slice_events(races().rounds, 0, 10) if DATA.exists() else contests()
    what = TASK.make_prediction_task(system, events, "log_loss", key=key)
    problem = PROBLEM.prepare_fit(what, system, None, what.weight)
    if name == "codeforces":  # a unit of the ratings
        assert [problem.free.names[i] for i in problem.active] == ["weight"]
    path = SEARCH.minimise_from_starts(problem, problem.start[None], system.params, None, 1)
    assert path.loss[0] < path.history[0][0][0]
    found = FIT.replace_params(system, jax.tree.map(lambda x: x[0], PROBLEM.params_at(problem, path.x, system.params)))
    if name == "blat_mmr":
        assert path.problem[0].system.rules == system.rules != found.rules  # sizes are those for the values in use


def test_whole_numbers_are_not_fitted(no_errors):
    system, key = jr.urnings(outcomes=3), jax.random.key(0)
    with pytest.raises(ValueError, match="size is fixed .*balls.*sweep"):
        jr.fit(system, league(), free=("size",), key=key)
    with pytest.raises(ValueError, match="needs? a key|give it a key"):
        jr.fit(system, league())
    got = jr.fitting.sweep_parameters(system, league(), system.params._replace(size=np.array([20.0, 100.0])), key=key)
    guess = jr.run(system._replace(params=system.params._replace(size=20.0)), league(), key=key).prediction
    np.testing.assert_allclose(got[0], jr.metrics.log_loss(guess, league().score), rtol=1e-6)
    fit = jr.fit(system, league(), key=key, steps=1)
    assert fit.free == ("draw_weight",) and fit.loss < fit.loss_history[0]


def test_one_far_parameter_does_not_hold_up_the_rest():
    """Glicko-2's tau, of which a year of StarCraft says nothing, kept the deviation of newcomers where it began."""
    axes, slope = np.array([np.diag([1e4, 1.0])]), np.array([[1e-3, 0.5]])
    np.testing.assert_allclose(REACH.clip_to_trust_region(axes, slope, -slope), [[-1e-4, -0.5]])
    random = np.random.default_rng(0)
    axes, slope = random.normal(0, 3, (20, 3, 3)), random.normal(0, 1, (20, 3))
    best = np.stack([REACH.minimise_in_trust_region(*one) for one in zip(axes, slope, strict=True)])
    z = np.linalg.solve(
        axes[:, None], random.uniform(-REACH.TRUST_RADIUS, REACH.TRUST_RADIUS, (20, 500, 3))[..., None]
    )[..., 0]
    loss = [np.einsum("...m,...m", slope[:, None], x) + 0.5 * (x**2).sum(axis=-1) for x in (best[:, None], z)]
    assert (loss[0] < 0).all() and (loss[0] <= loss[1] + 1e-9).all()
    steps = REACH.clip_to_trust_region(axes, slope, -slope)
    assert (np.abs(np.einsum("skm,sm->sk", axes, steps)) <= REACH.TRUST_RADIUS + 1e-9).all()
    assert (np.sum(slope * steps, axis=1) <= np.sum(slope * best, axis=1) + 1e-9).all()


def test_what_the_events_leave_open_is_flat():
    """Who won loses next: it is best to learn nothing, and ever smaller factors are as good."""
    n = 600
    player = np.array([0, 1]) + 2 * (np.arange(n)[:, None] // 2 % 15)
    found = jr.fit(jr.elo(), jr.matches(player, np.arange(n) % 2), free=("k",))
    assert (found.converged, found.reason) == (False, "flat") and found.standard_error["k"] == np.inf
    assert 0 < found.params.k < 0.1 and abs(found.loss - np.log(2)) < 1e-5


# Mistakes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"free": ("sideadvantage",)}, "elo has no parameter 'sideadvantage'; did you mean 'side_advantage'"),
        ({"free": ("scale",)}, "scale is fixed .*try values of it with `sweep_parameters`"),
        ({"free": ("k_new",)}, "k_new is switched off"),
        ({"free": ("k", "k")}, "names a parameter twice"),
        ({"free": ()}, "no parameter to fit"),
        ({"loss": "accuracy"}, "loss must be one of"),
        ({"loss": "pairwise"}, "of rounds"),
        ({"warm_up": 1000}, "warm_up=1000 games of every player leave no matches"),
        ({"warm_up": 0.5, "weight": np.arange(600) < 300}, "warm_up=0.5 of the events leave no matches"),
        *(({"warm_up": x}, "warm_up is a whole number .* or a share") for x in (-1, 1.5, math.nan, math.inf)),
        ({"weight": np.ones(3)}, r"weight must be \[600\]"),
        ({"weight": np.r_[np.ones(7), -1.0, np.ones(592)]}, "row 7 .*weight is -1"),
        ({"weight": np.zeros(600)}, "the weights leave no matches"),
        ({"weight": np.arange(600) >= 300, "validation": 0.5}, "held out"),
        ({"weight": np.arange(600) < 300, "validation": 0.5}, "nothing to validate"),
        ({"validation": 1.0}, "validation is a share"),
        ({"starts": 2}, "random starts need a key"),
        ({"starts": 0}, "starts must be"),
        ({"errors": "bootstrap"}, "errors must be"),
        ({"mode": "backward"}, "mode must be"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        jr.fit(jr.elo(), league(), **options)


def test_bad_histories():
    matches, elo = league(), jr.elo()
    with pytest.raises(ValueError, match=r"every score is 1: .*swap half of the rows"):
        jr.fit(elo, matches._replace(score=np.ones(600)))
    with pytest.raises(ValueError, match="there are no events"):
        jr.fit(elo, slice_events(matches, 0, 0))
    with pytest.raises(ValueError, match="side_advantage changes no prediction"):
        jr.fit(elo, matches._replace(context=matches.context._replace(side=None)), free=("side_advantage",))
    with pytest.raises(ValueError, match="k starts at 0, the border"):
        jr.fit(jr.elo(k=0), matches, free=("k",))
    with pytest.raises(ValueError, match="deviation_max starts at initial_deviation"):
        jr.fit(jr.glicko(), matches, free=("deviation_max",))
    with pytest.raises(ValueError, match="rates Periods, not Matches"):
        jr.fit(jr.category_glicko(), matches)
    teams = jr.rounds([0] * 3, [0, 1, 2], [1, 1, 2], team=[0, 0, 1])
    with pytest.raises(ValueError, match="there are teams"):
        jr.fit(jr.trueskill(), teams, loss="pairwise")
    tie = jr.rounds([0] * 3, [0, 1, 2], [1, 1, 1])
    with pytest.raises(ValueError, match="no contest ranks anybody"):
        jr.fit(jr.codeforces(), tie)


def test_a_start_without_a_finite_loss_is_refused():
    elo = jr.elo()
    rules = Rules(*elo.rules[:2], lambda constants, rows, event: rows.rating[0] * math.nan, elo.rules.update)
    with pytest.raises(ValueError, match="the loss at the start is nan"):
        jr.fit(elo._replace(rules=rules), league())
