"""Fitting: losses against `jr.metrics`, slopes against differences, optima against SciPy, errors against formulas."""

import math
from collections import Counter
from functools import lru_cache, partial
from importlib import import_module
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.optimize import minimize

import jaxrate as jr
from jaxrate import parts
from jaxrate.core.hyperparameter_definitions import POSITIVE, Parameter
from jaxrate.events import Matches, slice_events
from jaxrate.systems.system_construction_by_name import CONTEST_SYSTEMS
from tests.conftest import MOSTLY_DOUBLE, MOSTLY_SINGLE, mark_full, refused
from tests.test_rounds import SYSTEM

MODULES = "standard_errors", "hyperparameter_fit", "free_parameters", "losses", "fit_problem", "search"
ERRORS, FIT, FREE, LOST, PROBLEM, SEARCH, TASK = (
    import_module(f"jaxrate.fitting.{name}") for name in (*MODULES, "prediction_task")
)
AHEAD, TASK_OF = jr.fitting.ahead, TASK.make_prediction_task


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


def unprepared(system, events, names, **options):
    """A problem without what is computed of the events: real numbers are counted in units of 30."""
    form, start = FREE.make_free_parameters(system, names)
    unit, every = np.where(np.array(form.spaces) == "real", 30.0, 1.0), np.arange(len(names))
    return PROBLEM.FitProblem(
        TASK_OF(system, events, AHEAD(**options)), form, every, unit, start, np.zeros((2, len(names))), None
    )


def predict_small(params, rows, event):
    if not isinstance(event, Matches):
        return SYSTEM.rules.predict(params, rows, event)
    return jax.nn.sigmoid((rows.rating[0] - rows.rating[1]) / jnp.sqrt(params.beta**2 + rows.variance.sum()))


def small(**changes):
    """A system of rounds that compiles quickly, and predicts matches too."""
    fixed = Parameter(POSITIVE, "points", "what it is", fitted=False)
    space = SYSTEM.params._replace(**dict.fromkeys(SYSTEM.params._fields, fixed))
    space = space._replace(k=fixed._replace(fitted=True), beta=fixed._replace(fitted=True))
    rules = SYSTEM.rules._replace(predict=predict_small)
    return SYSTEM._replace(params=SYSTEM.params._replace(**changes), space=space, rules=rules, factory=small)


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
    objective = AHEAD(loss=loss, warm_up=warm_up, weight=weight)
    got = jr.fitting.sweep_parameters(system, matches, params, objective=objective)
    assert got.shape == (2, 1)
    np.testing.assert_allclose(got[:, 0], want, rtol=1e-13 if x64 else 1e-6)


@pytest.mark.parametrize(("kind", "loss"), [("periods", "log_loss"), ("rounds", "log_loss"), ("rounds", "brier")])
def test_the_loss_of_periods_and_rounds_counts_events_before(kind, loss):
    system, events = (small(), contests()) if kind == "rounds" else (jr.elo(), jr.periods(league(), 50.0))
    score, ranks = shares(events) if kind == "rounds" else (league().score, np.full(600, True))
    mask = ranks & jr.metrics.experience_mask(contests() if kind == "rounds" else league(), 2)
    assert ranks.all() == (kind == "periods")
    measure = getattr(jr.metrics, {"brier": "brier_score"}.get(loss, loss))
    got = jr.fitting.sweep_parameters(system, events, system.params, objective=AHEAD(loss=loss, warm_up=2))
    np.testing.assert_allclose(got, measure(predicted(system, events), score, mask=mask), rtol=1e-6)


@pytest.mark.parametrize("matches", [False, True])
def test_the_first_share_is_of_events(matches):
    events = jr.periods(league(), 50.0) if matches else contests((3, 9))
    plain, warm = (TASK_OF(jr.elo() if matches else small(), events, AHEAD(warm_up=share)) for share in (0, 0.3))
    number = plain.event[-1] + 1
    assert len(np.unique(np.bincount(plain.event))) > 1
    np.testing.assert_array_equal(warm.weight, plain.weight * (plain.event >= 0.3 * number))
    assert 0 < np.count_nonzero(warm.weight) < np.count_nonzero(plain.weight)


def test_shares_are_of_other_teams():
    """Teams A of two, B and C of one, who tie behind."""
    rounds = jr.rounds([7] * 4, [0, 1, 2, 3], [1, 2, 1, 2], team=[5, 8, 5, 6])
    event = TASK._event_of_predictions(rounds)
    share, ranks = TASK._scores_and_weights(rounds, event, AHEAD())
    np.testing.assert_array_equal(share, [1.0, 0.25, 1.0, 0.25])
    assert ranks.all() and (event == 0).all()


def test_a_draw_of_two_is_scored_and_a_contest_without_ranks_is_not():
    """Two teams that drew had no loss, though as a match they have one; so fits saw decided contests only."""
    drawn, decided, tied = [1, 1, 1, 1], [1, 1, 2, 2], [1, 1, 1]
    rounds = jr.rounds([0] * 4 + [1] * 4 + [2] * 3, [*range(4), *range(4), *range(3)], [*drawn, *decided, *tied],
                       team=[0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 2])  # fmt: skip
    task = TASK_OF(jr.trueskill(), rounds)
    np.testing.assert_array_equal(task.weight, [1] * 8 + [0] * 3)
    assert TASK.has_draws(task)


@pytest.mark.parametrize(("most", "x64"), mark_full([(2, True), (1, True), (32, False)], (2, True)), indirect=["x64"])
def test_the_pairwise_loss_compares_everybody_or_so_many(monkeypatch, x64, most):
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
    got = jr.fitting.sweep_parameters(system, rounds, system.params, objective=AHEAD(loss="pairwise"))
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
    got = jr.fitting.sweep_parameters(system, matches, system.params, objective=AHEAD(loss="brier"))
    np.testing.assert_allclose(got, want, rtol=1e-6)
    odd = matches._replace(score=np.where(np.arange(600) == 9, 0.3, matches.score))
    with pytest.raises(ValueError, match=r"row 9 .*predicts the scores 0, 1/2, ..., 1, not 0.3"):
        jr.fit(system, odd)


# Slopes

SLOPES = {
    "elo": (lambda: jr.elo(side_advantage=30), ("k", "side_advantage"), league, "log_loss"),
    "glicko_bound": (
        lambda: jr.glicko(c=90, deviation_max=380),
        ("initial_deviation", "deviation_max"),
        league,
        "brier",
    ),
    "pairwise": (small, ("k", "beta"), contests, "pairwise"),
}


@pytest.mark.parametrize(("name", "curved"), [(x, x == "elo") for x in SLOPES])
def test_slopes_and_curvature_equal_differences(name, curved):
    make, free, events, loss = SLOPES[name]
    with jax.enable_x64(True):
        system = make()
        problem = unprepared(system, events(), free, loss=loss)
        start, h, k = problem.start + 0.1, 1e-5, len(free)
        points = np.concatenate([start + h * np.eye(k), start - h * np.eye(k), start[None]])
        value, slopes, product = PROBLEM.evaluate(problem, points, system.params)
        np.testing.assert_allclose(slopes[-1], (value[:k] - value[k:-1]) / (2 * h), rtol=1e-5, atol=1e-8)
        assert (np.linalg.eigvalsh(product[-1]) > 0).all()
        if curved:  # that of rounds is in `test_errors_of_rounds_take_a_contest_as_one`
            wanted = (slopes[:k] - slopes[k:-1]) / (2 * h)
            np.testing.assert_allclose(
                PROBLEM.mean_curvature(problem, start, product[-1]), wanted, rtol=1e-2, atol=1e-5
            )


# The best parameters


@lru_cache
def fitted(errors=None):
    """The fit of the league; tests without errors take one of their own, by "products"."""
    with jax.enable_x64(True):
        return jr.fit(jr.elo(), league(), objective=AHEAD(errors=errors))


# What a fit refuses.


def of_league(change):
    return lambda: league()._replace(**change(league()))


def without_prediction():
    predict = lambda constants, rows, event: rows.rating[0] * math.nan  # noqa: E731
    return jr.elo()._replace(rules=jr.elo().rules._replace(predict=predict))


RANKLESS = partial(jr.rounds, [0] * 3, [0, 1, 2], [1, 1, 1])
TEAMS = partial(jr.rounds, [0] * 3, [0, 1, 2], [1, 1, 2], team=[0, 0, 1])
SAID_OF_ONE = [  # hyperparameters of fits of Elo, and what is said
    ("k,side_advantage", "name several as free="),
    (("scale",), "scale is fixed .*try values of it with `sweep_parameters`"),
    (("k_new",), "k_new is switched off"),
    (("k", "k"), "names a parameter twice"),
    ((), "no parameter to fit"),
]
SAID_OF_OBJECTIVES = [
    ({"loss": "pairwise"}, "of rounds"),
    ({"warm_up": 1000}, "warm_up=1000 games of every player leave no matches"),
    *(({"warm_up": x}, "warm_up is a whole number .* or a share") for x in (-1, 1.5, math.inf)),
    ({"weight": np.ones(3)}, r"weight must be \[600\]"),
    ({"weight": np.r_[np.ones(7), -1.0, np.ones(592)]}, "row 7 .*weight is -1"),
    ({"weight": np.zeros(600)}, "the weights leave no matches"),
    ({"weight": np.arange(600) >= 300, "data_share": 0.5}, "held out"),
    ({"weight": np.arange(600) < 300, "data_share": 0.5}, "data_share=0.5 of the events leave no rest to score"),
    *(({"data_share": x}, f"data_share is a share of the events, .* at most 1, got {x}") for x in (0.0, 80)),
    ({"errors": "bootstrap"}, "errors must be"),
]


@pytest.mark.parametrize(
    ("system", "events", "options", "message"),
    [
        *((jr.elo, league, {"free": x}, said) for x, said in SAID_OF_ONE),
        *((jr.elo, league, {"objective": x}, said) for x, said in SAID_OF_OBJECTIVES),
        (jr.elo, league, {"steps": -1}, "steps must be a whole number from 0"),
        (jr.elo, of_league(lambda x: {"score": np.full(600, 0.5)}), {}, "every score is 0.5: such scores hold"),
        (jr.elo, lambda: slice_events(league(), 0, 0), {}, "there are no events"),
        (lambda: jr.elo(k=0), league, {"free": ("k",)}, "k starts at 0, the border"),
        (jr.glicko, league, {"free": ("deviation_max",)}, "deviation_max starts at initial_deviation"),
        (jr.trueskill, TEAMS, {"objective": {"loss": "pairwise"}}, "there are teams"),
        (jr.codeforces, RANKLESS, {}, "no contest ranks anybody"),
        (without_prediction, league, {}, "the loss at the start is nan"),
    ],
)  # fmt: skip
def test_what_a_fit_refuses(system, events, options, message):
    with pytest.raises(ValueError, match=message):
        jr.fit(system(), events(), **options | {"objective": AHEAD(**options.get("objective", {}))})


def test_files_of_winners_and_losers_are_fitted_as_any_others():
    """They were refused, though systems learn the same from them."""
    matches = league()._replace(score=np.round(np.random.default_rng(2).uniform(size=600)))
    first = np.where(matches.score == 1, 0, 1)
    player = np.stack([matches.player[np.arange(600), first], matches.player[np.arange(600), 1 - first]], axis=1)
    sideless = matches._replace(context=jr.extend.Context())
    winners = sideless._replace(player=player, score=np.ones(600))
    found, wanted = (jr.fit(jr.elo(), x, objective=AHEAD(data_share=0.8)) for x in (winners, sideless))
    assert found.params.k == pytest.approx(wanted.params.k, rel=1e-3) and found.free == wanted.free
    assert found.loss == pytest.approx(wanted.loss, rel=1e-5) and found.held_out.constant == pytest.approx(math.log(2))


# Intervals by the likelihood profile, of what is known, known on one side, or open, and of contests.


@MOSTLY_DOUBLE
def test_an_interval_is_where_the_likelihood_ratio_says(x64):
    """One parameter: the ends are where twice the summed log loss has risen by 3.84."""
    matches = league()
    fit = jr.fit(jr.elo(), matches, free=("k",))
    found = jr.fitting.likelihood_interval(fit, matches, "k")
    ends = np.array([found.low, found.high])
    loss = jr.fitting.sweep_parameters(fit, matches, fit.params._replace(k=ends))
    np.testing.assert_allclose(2 * 600 * (loss - fit.loss), 3.8415, rtol=0.02 if x64 else 0.1)
    assert ends[0] < fit.params.k < ends[1] and not fit.open
    width = 1.96 * fit.standard_error["k"] / fit.params.k
    np.testing.assert_allclose(np.log(ends / fit.params.k), [-width, width], rtol=0.4)
    assert repr(found) == f"k: {found.low:.4g} to {found.high:.4g} points with 95% confidence"
    narrow = jr.fitting.likelihood_interval(fit, matches, "k", level=0.5)
    assert ends[0] < narrow.low < fit.params.k < narrow.high < ends[1]


def test_others_are_fitted_anew_for_as_many_values_at_a_time(monkeypatch):
    """Each number of values was compiled anew: three or four programs for one interval."""
    sizes, sweeps = set(), import_module("jaxrate.fitting.parameter_sweeps")
    search = sweeps.minimise_from_starts

    def note_size(problem, starts, *rest):
        sizes.add(len(starts))
        return search(problem, starts, *rest)

    monkeypatch.setattr(sweeps, "minimise_from_starts", note_size)
    matches = league()
    fit = jr.fit(jr.elo(k=20), matches, free=("k", "side_advantage"))
    found = jr.fitting.likelihood_interval(fit, matches, "side_advantage")
    error = fit.standard_error["side_advantage"]
    np.testing.assert_allclose(
        [found.low, found.high], fit.params.side_advantage + 1.96 * error * np.array([-1, 1]), rtol=0.1
    )
    assert np.ptp(found.profile.params.k) > 0 and len(sizes) == 1
    assert (np.diff(found.profile.value) > 0).all() and found.profile.loss.shape == found.profile.value.shape


def test_what_is_bounded_from_above_alone_says_so():
    """Who won loses next: it is best to learn nothing, so that a fit is flat and leaves k open."""
    n = 600
    player = np.array([0, 1]) + 2 * (np.arange(n)[:, None] // 2 % 15)
    matches = jr.matches(player, np.arange(n) % 2)
    fit = jr.fit(jr.elo(), matches, free=("k",))
    assert fit.open == ("k",) and "likelihood_interval says how far" in repr(fit)
    assert (fit.converged, fit.reason) == (False, "flat") and fit.standard_error["k"] == np.inf
    assert 0 < fit.params.k < 0.1 and abs(fit.loss - np.log(2)) < 1e-5
    found = jr.fitting.likelihood_interval(fit, matches, "k")
    assert found.low == -np.inf and 0.1 < found.high < 30
    assert repr(found).startswith(f"k: at most {found.high:.4g} points with 95% confidence; no value down to")
    loss = jr.fitting.sweep_parameters(fit, matches, fit.params._replace(k=found.high))
    np.testing.assert_allclose(2 * n * (loss - fit.loss), 3.84, rtol=0.25)


def test_bad_intervals_are_refused():
    fit = jr.fit(jr.elo(), league(), free=("k",), steps=1)
    with pytest.raises(ValueError, match=r"'scale' was not fitted \(those were k\)"):
        jr.fitting.likelihood_interval(fit, league(), "scale")
    with pytest.raises(ValueError, match="level must be above 0 and below 1, got 95"):
        jr.fitting.likelihood_interval(fit, league(), "k", level=95)


# States in which some begin with ratings of their own.

NAMES = ["Ada", "Bo", "Cy"]


@pytest.mark.parametrize("name", jr.extend.SYSTEMS)
def test_some_begin_with_their_own(name):
    system = jr.extend.SYSTEMS[name]()
    usual = system.summary(system.params, system.init(system.params, 3))
    mean = 0.6 if name == "urnings" else float(usual.mean[0]) * 1.2
    if name == "blat_mmr":
        with refused("blat_mmr has no rating to begin with; newcomers of BlatMMR begin with a `prior`"):
            jr.history.initial_state(system, NAMES, rating={"Bo": mean})
        return
    state = jr.history.initial_state(system, NAMES, rating={"Bo": mean})
    np.testing.assert_allclose(
        system.summary(system.params, state).mean, [usual.mean[0], mean, usual.mean[0]], rtol=1e-6
    )
    field = "initial_proportion" if name == "urnings" else "initial_rating"
    want = system.init(system.params._replace(**{field: mean}), 3)
    for x, y in zip(jax.tree.leaves(state), jax.tree.leaves(want), strict=True):
        np.testing.assert_array_equal(x[1], y[1])
    if usual.deviation is None or name == "urnings":
        with refused(f"{name} has no deviation to begin with"):
            jr.history.initial_state(system, 3, deviation={0: 10.0})
        return
    half = float(usual.deviation[0]) / 2
    found = system.summary(system.params, jr.history.initial_state(system, 3, rating={1: mean}, deviation={2: half}))
    np.testing.assert_allclose(found, [[usual.mean[0], mean, usual.mean[0]], [2 * half, 2 * half, half]], rtol=1e-6)


def test_what_start_refuses():
    system = jr.glicko()
    for given, message in (
        ({"rating": {"Di": 1.0}}, "no player 'Di'"),
        ({"rating": {"Ada": np.nan}}, "initial_rating must be any number, got nan"),
        ({"deviation": {"Ada": np.inf}}, "initial_deviation must be > 0, got inf"),
        ({"deviation": {"Ada": 400.0}}, "must not decrease"),
        ({"rating": {"Ada": 1.0, NAMES.index("Ada"): 2.0}}, "twice, by name and by id"),
    ):
        with refused(message):
            jr.history.initial_state(system, NAMES, **given)
    with refused("no player 3"):
        jr.history.initial_state(system, NAMES, rating={3: 1.0})
    with refused("players must be a number of players"):
        jr.history.initial_state(system, "Ada")


# Fits of long histories: slopes by halves, and errors without the curvature.


def counted(monkeypatch, **options):
    """A fit from far away, and how often its losses and slopes were computed, and their curvature."""
    looks = Counter()
    with monkeypatch.context() as patch:
        for module, name in ((PROBLEM, "summed_losses_and_slopes"), (ERRORS, "mean_curvature")):
            patch.setattr(module, name, partial(count_call, looks, name, getattr(module, name)))
        return jr.fit(jr.elo(k=1.0), league(), **options), looks


def count_call(looks, name, function, *arguments):
    looks[name] += 1
    return function(*arguments)


def test_long_histories_are_fitted_as_short_ones_are(monkeypatch):
    """In double precision, which threads must be told of. The start is looked at once."""
    with jax.enable_x64(True):
        short, looks = counted(monkeypatch)
        monkeypatch.setattr(PROBLEM, "LONG_HISTORY", 1)
        long, _ = counted(monkeypatch)
    np.testing.assert_allclose(long.loss_history, short.loss_history, rtol=1e-12)
    np.testing.assert_allclose(long.covariance, short.covariance, rtol=1e-6)
    assert len(short.loss_history) <= looks["summed_losses_and_slopes"] - 4 <= len(short.loss_history) + 3


def test_errors_come_from_products_where_curvature_would_take_minutes(monkeypatch):
    """The inverse of the sum of products of slopes, which the search has seen already."""
    monkeypatch.setattr(ERRORS, "MAX_HESSIAN_WORK", 3 * 600 - 1)
    with jax.enable_x64(True):
        found, looks = counted(monkeypatch)
        robust, curved = (
            jr.fit(found.system, league(), objective=AHEAD(errors=errors), steps=0)
            for errors in ("sandwich", "information")
        )
    assert found.objective.errors == "products" and looks["mean_curvature"] == 0
    middle = np.linalg.inv(curved.covariance) @ robust.covariance @ np.linalg.inv(curved.covariance)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(middle), rtol=1e-5)
    monkeypatch.setattr(ERRORS, "MAX_HESSIAN_WORK", 3 * 600)
    assert jr.fit(found.system, league(), steps=0).objective.errors == "information"


def test_the_search_ends_where_steps_are_worth_no_more_than_rounding():
    history = jr.fit(jr.elo(k=1.0), league()).loss_history  # in single precision
    noise = 4.0 * np.finfo(np.float32).eps * history[-1]
    assert (history[:-3] - history[2:-1] > noise).all() and history[0] - history[-1] > 0.01


@MOSTLY_SINGLE
def test_errors_are_of_a_loss_with_kinks_where_variances_reach_their_bound(x64):
    """Its second slopes leave the kinks out, and make 42 of the 38 that the loss has over a standard error."""
    matches = slice_events(jr.data.datasets.nfl().matches, 9000, 9200)
    best = jr.glicko(c=11.78, initial_deviation=145.3, deviation_max=145.3, side_advantage=91.589)
    found = jr.fit(best, matches, free=["c", "initial_deviation", "side_advantage"], steps=0)
    assert found.standard_error["side_advantage"] == pytest.approx(28.5, rel=0.01)
    assert found.standard_error["initial_deviation"] == pytest.approx(38.0, rel=0.08)  # c is open


# The best parameters: found by searches, with bounds, errors and an end.


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
    assert fit.loss_history[-1] == fit.loss and fit.held_out is None
    assert fit.system.params == fit.params and fit.params.scale == 400.0
    np.testing.assert_allclose(fit.unconstrained["k"], math.log(fit.params.k))


def test_standard_errors_follow_from_curvature_and_from_single_slopes():
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
    robust = fitted("sandwich")
    np.testing.assert_allclose(robust.covariance, covariance @ slopes.T @ slopes @ covariance, rtol=5e-3)
    with jax.enable_x64(False):
        single = jr.fit(system, league())
    np.testing.assert_allclose(single.params.k, fit.params.k, rtol=1e-3)
    np.testing.assert_allclose(single.covariance, fit.covariance, rtol=1e-2)


def covariance_of(monkeypatch, problem, curvature, product=None):
    """The covariance of the hyperparameters at the start, where the mean loss has these second slopes."""
    monkeypatch.setattr(ERRORS, "mean_curvature", lambda *_: np.array(curvature))
    size = len(problem.active)
    product = np.eye(size) if product is None else product
    return ERRORS.estimate_errors(problem, SEARCH.SearchPoint(problem.start, 0.6, np.zeros(size), product, True))[0]


CURVED = {  # of a logarithm and of points, 600 events
    "one open": ([[1e-5, 0.0], [0.0, 0.04]], [True, False]),
    "curved downwards": ([[-1e-3, 0.0], [0.0, 0.04]], [True, False]),
    "one for the other": ([[0.04, 0.04], [0.04, 0.04]], [True, True]),
    "none": ([[0.04, 0.01], [0.01, 0.04]], [False, False]),
    "not a number": ([[np.nan, 0.0], [0.0, 0.04]], [True, True]),
    "hidden by rounding": ([[1e8, 10050.0], [10050.0, 1.0]], [True, True]),
    "a factor of 45 to either side": ([[1.9**-2 / 600, 0.0], [0.0, 0.04]], [False, False]),
    "a factor of 61 to either side": ([[2.1**-2 / 600, 0.0], [0.0, 0.04]], [True, False]),
    "points that may be any number": ([[0.04, 0.0], [0.0, 4.1**-2 / 600]], [False, False]),
}


@pytest.mark.parametrize("errors", ["information", "sandwich"])
@pytest.mark.parametrize("name", CURVED)
def test_errors_come_from_what_the_curvature_tells(monkeypatch, name, errors):
    """Of points, counted in units of 30: what is known has the error that it has alone, or of the full inverse."""
    system, (curvature, is_open) = jr.elo(side_advantage=7.0), CURVED[name]
    problem = unprepared(system, league(), ("k", "side_advantage"), errors=errors)
    product = np.array([[0.03, 0.01], [0.01, 0.09]]) if "factor" not in name else np.array(curvature)
    found = covariance_of(monkeypatch, problem, curvature, product)
    assert np.isinf(np.diag(found)).tolist() == is_open
    known = ~np.array(is_open)
    inverse = np.linalg.inv(np.array(curvature)[np.ix_(known, known)])
    want = (inverse @ product[np.ix_(known, known)] @ inverse if errors == "sandwich" else inverse) / 600
    unit = np.array([system.params.k, 30.0])[known]
    np.testing.assert_allclose(found[np.ix_(known, known)], want * unit * unit[:, None], rtol=0.03)


def test_errors_of_a_bound_are_those_of_what_it_bounds_as_well(monkeypatch):
    """Two parameters of which one moves the other: J C J', with J by differences."""
    names, curvature = ("initial_deviation", "deviation_max"), np.array([[3.0, 1.0], [1.0, 2.0]])
    problem = unprepared(jr.glicko(initial_deviation=300, deviation_max=400), league(), names, errors="information")
    with jax.enable_x64(True):
        found = covariance_of(monkeypatch, problem, curvature)
        around = problem.start + 1e-6 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
        ends = PROBLEM.params_at(problem, around, problem.system.params)
    jacobian = np.array([[y[0] - y[1], y[2] - y[3]] for y in (ends.initial_deviation, ends.deviation_max)]) / 2e-6
    assert abs(jacobian[1]).min() > 1.0 and jacobian[0, 1] == 0.0
    np.testing.assert_allclose(found, jacobian @ np.linalg.inv(curvature) @ jacobian.T / 600, rtol=1e-6)


def test_what_goes_with_what_is_open_is_open(monkeypatch):
    """A bound, in points, is a share above a parameter of which nothing is known."""
    names = "initial_deviation", "deviation_max", "c"
    problem = unprepared(jr.glicko(initial_deviation=300, deviation_max=400), league(), names, errors="information")
    found = covariance_of(monkeypatch, problem, np.diag([1e-6, 1.0, 1.0]))
    assert np.isinf(np.diag(found)).tolist() == [True, True, False]


def test_errors_of_rounds_take_a_contest_as_one():
    with jax.enable_x64(True):
        rounds = contests()
        fit = jr.fit(small(k=120.0), rounds, free=("k",))
        share, ranks = shares(rounds)

        def losses(k):
            p = predicted(fit.system, rounds, k=k)
            return np.where(ranks, -share * np.log(p) - (1 - share) * np.log1p(-p), 0.0)

        best, h = fit.params.k, 1e-2
        high, here, low = losses(best + h), losses(best), losses(best - h)
        by_contest = np.add.reduceat((high - low) / (2 * h), rounds.player_start[:-1])
        curvature = (high - 2 * here + low).sum() / h**2
    np.testing.assert_allclose(fit.standard_error["k"], np.sqrt((by_contest**2).sum()) / curvature, rtol=4e-3)


def test_an_optimiser_leads_to_the_same(no_errors):
    fit = jr.fit(jr.elo(), league(), optimizer=optax.adam(0.1), steps=60)
    np.testing.assert_allclose(fit.loss, fitted("products").loss, rtol=1e-5)
    np.testing.assert_allclose(fit.params.k, fitted("products").params.k, rtol=0.02)


def test_several_starts_agree(no_errors):
    fit = jr.fit(jr.elo(), league(), starts=3)
    np.testing.assert_allclose(fit.loss, fitted("products").loss, rtol=1e-6)
    far = jr.fit(jr.elo(k=800), league(), starts=3, steps=1)
    assert far.loss < jr.fit(jr.elo(k=800), league(), steps=1).loss  # another start won


def test_bounds_go_with_what_they_bound(no_errors):
    tight = jr.glicko(initial_deviation=30, deviation_max=31)
    passed = jr.fit(tight, league(), free=("initial_deviation",)).params
    assert passed.deviation_max == passed.initial_deviation > 31


def test_parameters_that_change_nothing_are_left_out(no_errors):
    still = league()._replace(time=np.zeros(600))
    fit = jr.fit(jr.glicko(), still)
    assert fit.free == ("initial_deviation", "side_advantage") and fit.idle == ("c",)
    assert fit.params.c == 15.0 and len(fit.covariance) == 2


# When to stop


def test_diverging_steps_return_the_best_point(no_errors):
    fit = jr.fit(jr.elo(), league(), optimizer=optax.sgd(3e3), steps=5)
    assert fit.reason == "diverged" and not fit.converged
    assert fit.loss == fit.loss_history.min() and all(map(np.isfinite, (fit.params.k, fit.params.side_advantage)))
    assert jr.fit(jr.elo(), league(), steps=1).reason == "steps"


def leaps(seed):
    """Matches of sixteen players, of whom one leaps by 600 points now and then."""
    random = np.random.default_rng(seed)
    strength, pairs, scores = random.normal(0.0, 150.0, 16), [], []
    for _ in range(800):
        if random.random() < 0.01:
            strength[random.integers(16)] += random.choice([-1.0, 1.0]) * 600.0
        a, b = random.choice(16, 2, replace=False)
        pairs.append((a, b))
        scores.append(float(random.random() < 1.0 / (1.0 + 10.0 ** ((strength[b] - strength[a]) / 400.0))))
    return jr.matches(np.array(pairs), np.array(scores), np.linspace(0.0, 2000.0, 800))


def test_a_prior_keeps_tau_from_growing_where_a_history_says_little_of_it():
    """The best is that of losses and prior together: slopes of the summed losses, by differences, are its pull.

    The likelihood alone is greatest at a tau of 4.8, and does not know it within 1.4. Below 0.6 nothing pulls.
    """
    with jax.enable_x64(True):
        fit = jr.fit(jr.glicko2(), leaps(2), free=("tau", "initial_volatility"))
        assert (
            0.65 < fit.params.tau < 2.4
            and fit.standard_error["tau"] < math.inf
            and fit.table_rows()[0][-1].startswith("per ")
        )

        def total(log_tau):
            guess = predicted(fit.system, leaps(2), tau=math.exp(log_tau))
            return 800 * jr.metrics.log_loss(guess, leaps(2).score)

        best = math.log(fit.params.tau)
        pull = (total(best + 1e-3) - total(best - 1e-3)) / 2e-3
        small = jr.fit(jr.glicko2(), leaps(1), free=("tau", "initial_volatility"))
        assert small.params.tau < 0.3 and small.loss_history[-1] == pytest.approx(small.loss, abs=1e-12)
    np.testing.assert_allclose(pull, -(best - math.log(0.6)) / math.log(4.0) ** 2, atol=2e-3)
    np.testing.assert_allclose(fit.loss, total(best) / 800, rtol=1e-6)


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
    assert "left open by" not in repr(both) and "caution about beta" in repr(both) and held.cautions == []
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
    first = matches._replace(score=np.maximum(matches.score, 0.5))  # winners come first, and nobody knows who that is
    ahead = TASK_OF(jr.elo(), first, objective)
    np.testing.assert_allclose(TASK.constant_prediction_loss(ahead), np.log(2.0), rtol=1e-6)
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


# Sweeps, profiles, rolling origins


def test_a_sweep_in_parts_is_the_same(monkeypatch):
    system, matches = jr.glicko(), league()
    params = system.params._replace(c=np.array([5.0, 15.0, 30.0])[:, None], side_advantage=np.array([0.0, 50.0]))
    whole = jr.fitting.sweep_parameters(system, matches, params)
    want = jr.metrics.log_loss(predicted(system, matches, c=30.0, side_advantage=50.0), matches.score)
    assert whole.shape == (3, 2)
    np.testing.assert_allclose(whole[2, 1], want, rtol=1e-6)
    monkeypatch.setattr(PROBLEM, "BATCH_MEMORY", 4 * 7 * 600 * 4)
    np.testing.assert_allclose(jr.fitting.sweep_parameters(system, matches, params), whole, rtol=1e-6)
    with pytest.raises(ValueError, match="must not decrease"):
        jr.fitting.sweep_parameters(system, matches, system.params._replace(initial_deviation=np.array([300.0, 400.0])))


def test_a_profile_fits_the_others_anew(no_errors):
    fit = fitted("products")
    profile = jr.fitting.profile_loss(fit.system, league(), "k", [20.0, fit.params.k])
    held = jr.fit(fit.system._replace(params=fit.params._replace(k=20.0)), league(), free=("side_advantage",))
    np.testing.assert_allclose(profile.loss, [held.loss, fit.loss], rtol=1e-6)
    np.testing.assert_allclose(profile.params.side_advantage[0], held.params.side_advantage, rtol=1e-2)
    np.testing.assert_allclose(profile.params.k, profile.value, rtol=1e-6)
    assert (profile.system.name, profile.name, profile.weight) == ("elo", "k", 600)


def test_a_least_value_holds_up_no_other(no_errors):
    """It is best to learn less than is allowed: the side is worth what it is with the least K."""
    least = 1.5 * fitted("products").params.k
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
    rolled = jr.fitting.fit_rolling(system, matches, 2, objective=AHEAD(warm_up=1))
    past = jr.fit(system, slice_events(matches, 0, 400), objective=AHEAD(warm_up=1))
    np.testing.assert_allclose(rolled.params.k[1], past.params.k, rtol=1e-3)
    guess = predicted(system, matches, k=rolled.params.k[1], side_advantage=rolled.params.side_advantage[1])
    mask = jr.metrics.experience_mask(matches, 1) & (np.arange(600) >= 400)
    np.testing.assert_allclose(rolled.fitted[1], jr.metrics.log_loss(guess, matches.score, mask=mask), rtol=1e-6)
    want = jr.metrics.log_loss(predicted(system, matches), matches.score, mask=mask)
    np.testing.assert_allclose(rolled.default[1], want, rtol=1e-6)
    assert rolled.events.tolist() == [jr.metrics.experience_mask(matches, 1)[200:400].sum(), mask.sum()]


# Every system

MADE = jr.extend.SYSTEMS | {
    "blat_mmr": lambda: jr.blat_mmr(size=31, half_width=3.0, kernel_width=0.6),
    "elo_mmr": lambda: jr.elo_mmr(history=2), "category_glicko": lambda: jr.category_glicko(1, period=500.0),
    "urnings": lambda: jr.forecasts.add_outcomes(jr.urnings(outcomes=3)),
}  # fmt: skip


@pytest.mark.parametrize("name", mark_full(MADE, "elo"))
def test_a_step_lowers_the_loss_of_every_system(name):
    system, key, events = MADE[name](), jax.random.key(0), contests()
    if (Matches in system.events and name not in CONTEST_SYSTEMS) or name == "category_glicko":
        events = slice_events(league(), 0, 60) if name == "blat_mmr" else league()
        events = jr.periods(events, 500.0) if name == "category_glicko" else events
        events = jr.urns.split_by_side(events) if name == "urnings" else events
    problem = PROBLEM.prepare_fit(TASK_OF(system, events, AHEAD(key=key)), None)
    if name == "codeforces":  # a unit of the ratings
        assert problem.names == ("weight",)
    (search,) = SEARCH.minimise_from_starts(problem, problem.start[None], system.params, 1)
    assert search.best.loss < search.history[0]
    if name == "blat_mmr":  # sizes are those for the values in use
        params = jax.tree.map(lambda x: x[0], PROBLEM.params_at(problem, search.best.z[None], system.params))
        assert FIT.replace_params(system, params).rules != system.rules


def test_whole_numbers_are_not_fitted(no_errors):
    system, key = jr.urnings(outcomes=3), jax.random.key(0)
    with pytest.raises(ValueError, match="size is fixed .*balls.*sweep"):
        jr.fit(system, league(), free=("size",), objective=AHEAD(key=key))
    with pytest.raises(ValueError, match="needs? a key|give it a key"):
        jr.fit(system, league())
    sizes = system.params._replace(size=np.array([20.0, 100.0]))
    got = jr.fitting.sweep_parameters(system, league(), sizes, objective=AHEAD(key=key))
    guess = jr.run(system._replace(params=system.params._replace(size=20.0)), league(), key=key).prediction
    np.testing.assert_allclose(got[0], jr.metrics.log_loss(guess, league().score), rtol=1e-6)
    fit = jr.fit(system, league(), objective=AHEAD(key=key), steps=1)
    assert fit.free == ("draw_weight",) and fit.loss < fit.loss_history[0]


def test_a_step_is_the_best_within_its_box():
    """Glicko-2's tau, of which a year of StarCraft says nothing, kept the deviation of newcomers where it began."""
    slope, curvature = np.array([1e-7, 0.5]), np.diag([1e-8, 1.0])
    np.testing.assert_allclose(SEARCH.minimise_quadratic_in_box(slope, curvature, 1.0), [-1.0, -0.5])
    random = np.random.default_rng(0)
    for radius in (0.1, 1.0, 3.0):
        root, slope = random.normal(0, 3, (3, 3)), random.normal(0, 3, 3)
        curvature = root @ root.T
        best = SEARCH.minimise_quadratic_in_box(slope, curvature, radius)
        others = random.uniform(-radius, radius, (500, 3))
        loss, other_losses = (x @ slope + 0.5 * np.sum(x @ curvature * x, axis=-1) for x in (best, others))
        assert loss < 0 and (loss <= other_losses + 1e-9).all() and (np.abs(best) <= radius).all()


def test_the_search_learns_curvature_that_slopes_of_events_do_not_promise():
    """A step's change of slopes is then as the curvature says. What curves downwards teaches nothing."""
    information, true = np.diag([1.0, 2.0]), np.array([[3.0, 1.0], [1.0, 4.0]])
    old, new, bent = (
        SEARCH.SearchPoint(np.array(z), 0.5, slope, information, True)
        for z, slope in (
            ([1.0, 1.0], true @ [1.0, 1.0]),
            ([0.4, 0.8], true @ [0.4, 0.8]),
            ([0.4, 0.8], np.array([9.0, 9.0])),
        )
    )
    search, step = SEARCH.Search(old, old, (0.5,), np.zeros((2, 2))), new.z - old.z
    learnt = SEARCH._learn_curvature(search, step, new)._replace(point=new)
    np.testing.assert_allclose(learnt.curvature @ step, true @ step, rtol=1e-5)
    assert SEARCH._learn_curvature(search, step, bent) is search
    hopeless = search._replace(correction=-0.99 * information)  # which leaves little of the information
    np.testing.assert_array_equal(hopeless.curvature, old.information)


@pytest.mark.parametrize("product", [[[1.0, 1.0 + 1e-5], [1.0 + 1e-5, 1.0]], [[0.0, 0.0], [0.0, 4.0]]])
def test_information_is_definite_whatever_rounding_left(product):
    """Of two parameters that have the same effect, and of one that has none."""
    point = SEARCH.SearchPoint(np.zeros(2), 0.5, np.ones(2), np.array(product), True)
    assert np.linalg.eigvalsh(point.information)[0] > 0.0 and np.isfinite(point.gradient_size(point.information))
    np.testing.assert_allclose(point.information, product, atol=1e-4)
    assert SEARCH.Search(point, point, (0.5,), np.zeros((2, 2))).curvature.shape == (2, 2)
