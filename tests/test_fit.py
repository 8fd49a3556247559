"""Fitting: losses against `jr.metrics`, slopes against differences, optima against SciPy, errors against formulas."""

import math
from functools import lru_cache, partial
from importlib import import_module
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.hyperparameter_definitions import POSITIVE, Parameter
from jaxrate.core.rules import Rules
from jaxrate.events import Matches, Periods, Rounds, slice_events
from jaxrate.replay.execution import CompilePolicy
from tests.conftest import MOSTLY_DOUBLE, MOSTLY_SINGLE, mark_full, refused
from tests.test_rounds import SYSTEM

ERRORS, FIT, FREE, LOST, PROBLEM, SEARCH, SLOPE, TASK = (
    import_module(f"jaxrate.fitting.{name}")
    for name in (
        "standard_errors",
        "hyperparameter_fit",
        "free_parameters",
        "losses",
        "fit_problem",
        "search",
        "history_loss_derivatives",
        "prediction_task",
    )
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


def test_the_loss_of_periods_counts_games_before():
    system, matches = jr.elo(), league()
    periods = jr.periods(matches, 50.0)
    want = jr.metrics.log_loss(predicted(system, periods), matches.score, mask=jr.metrics.experience_mask(matches, 5))
    got = jr.fitting.sweep_parameters(system, periods, system.params, objective=AHEAD(warm_up=5))
    np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("loss", ["log_loss", "brier"])
def test_the_loss_of_rounds_is_that_of_shares(loss):
    system, rounds = small(), contests()
    share, ranks = shares(rounds)
    assert (~ranks).any()
    mask = ranks & jr.metrics.experience_mask(rounds, 2)
    want = getattr(jr.metrics, {"brier": "brier_score"}.get(loss, loss))(predicted(system, rounds), share, mask=mask)
    got = jr.fitting.sweep_parameters(system, rounds, system.params, objective=AHEAD(loss=loss, warm_up=2))
    np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("matches", [False, True])
def test_the_first_share_is_of_events(matches):
    """Of all periods or contests, whatever their size."""
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


def test_a_loss_of_ones_own_is_a_function_and_a_name(monkeypatch):
    monkeypatch.setitem(LOST.LOSSES, "distance", LOST.LossDefinition(lambda guess, score: jnp.abs(guess - score)))
    system, matches = jr.elo(), league()
    want = np.abs(predicted(system, matches) - matches.score).mean()
    got = jr.fitting.sweep_parameters(system, matches, system.params, objective=AHEAD(loss="distance"))
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_a_loss_may_be_of_some_events(monkeypatch):
    monkeypatch.setitem(LOST.LOSSES, "weekly", LOST.LossDefinition(LOST.elementwise_brier, events=(Periods, Rounds)))
    with pytest.raises(ValueError, match="the weekly loss is of periods or rounds; take log_loss"):
        jr.fit(jr.elo(), league(), objective=AHEAD(loss="weekly"))


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
        problem = unprepared(system, events(), free, loss=loss)
        start, h, k = problem.start + 0.1, 1e-5, len(free)
        points = np.concatenate([start + h * np.eye(k), start - h * np.eye(k), start[None]])
        value, slopes, product = PROBLEM.evaluate(problem, points, system.params)
        np.testing.assert_allclose(slopes[-1], (value[:k] - value[k:-1]) / (2 * h), rtol=1e-5, atol=1e-8)
        assert (np.linalg.eigvalsh(product[-1]) > 0).all()
        if curved:  # that of rounds is in `test_errors_of_rounds_take_a_contest_as_one`
            wanted = (slopes[:k] - slopes[k:-1]) / (2 * h)
            np.testing.assert_allclose(PROBLEM.mean_curvature(problem, start), wanted, rtol=1e-4, atol=1e-7)


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
def fitted(errors=None):
    """The fit of the league; tests without errors take one of their own, by "products"."""
    with jax.enable_x64(True):
        return jr.fit(jr.elo(), league(), objective=AHEAD(errors=errors))


# What a fit refuses.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"free": "k,side_advantage"}, "name several as free="),
        ({"free": ("sideadvantage",)}, "elo has no parameter 'sideadvantage'; did you mean 'side_advantage'"),
        ({"free": ("scale",)}, "scale is fixed .*try values of it with `sweep_parameters`"),
        ({"free": ("k_new",)}, "k_new is switched off"),
        ({"free": ("k", "k")}, "names a parameter twice"),
        ({"free": ()}, "no parameter to fit"),
        ({"starts": 0}, "starts must be"),
        ({"steps": -1}, "steps must be at least 0, got -1"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        jr.fit(jr.elo(), league(), **options)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "accuracy"}, "loss must be one of"),
        ({"loss": "pairwise"}, "of rounds"),
        ({"warm_up": 1000}, "warm_up=1000 games of every player leave no matches"),
        ({"warm_up": 0.5, "weight": np.arange(600) < 300}, "warm_up=0.5 of the events leave no matches"),
        *(({"warm_up": x}, "warm_up is a whole number .* or a share") for x in (-1, 1.5, math.inf)),
        ({"weight": np.ones(3)}, r"weight must be \[600\]"),
        ({"weight": np.r_[np.ones(7), -1.0, np.ones(592)]}, "row 7 .*weight is -1"),
        ({"weight": np.zeros(600)}, "the weights leave no matches"),
        ({"weight": np.arange(600) >= 300, "data_share": 0.5}, "held out"),
        ({"weight": np.arange(600) < 300, "data_share": 0.5}, "data_share=0.5 of the events leave no rest to score"),
        *(({"data_share": x}, f"data_share is a share of the events, .* at most 1, got {x}") for x in (0.0, 80)),
        ({"data_share": 1e-9}, "held out"),
        ({"errors": "bootstrap"}, "errors must be"),
    ],
)
def test_bad_objectives(settings, message):
    with pytest.raises(ValueError, match=message):
        jr.fit(jr.elo(), league(), objective=AHEAD(**settings))


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


def of_league(change=lambda matches: {}):
    return lambda: league()._replace(**change(league()))


@pytest.mark.parametrize(
    ("system", "events", "options", "message"),
    [
        (jr.elo, of_league(lambda x: {"score": np.full(600, 0.5)}), {}, "every score is 0.5: such scores hold"),
        (jr.elo, lambda: slice_events(league(), 0, 0), {}, "there are no events"),
        (jr.elo, of_league(lambda x: {"context": x.context._replace(side=None)}), {"free": ("side_advantage",)},
         "side_advantage changes no prediction"),
        (lambda: jr.elo(k=0), league, {"free": ("k",)}, "k starts at 0, the border"),
        (jr.glicko, league, {"free": ("deviation_max",)}, "deviation_max starts at initial_deviation"),
        (jr.category_glicko, league, {}, "rates Periods, not Matches"),
        (jr.trueskill, lambda: jr.rounds([0] * 3, [0, 1, 2], [1, 1, 2], team=[0, 0, 1]),
         {"objective": AHEAD(loss="pairwise")}, "there are teams"),
        (jr.codeforces, lambda: jr.rounds([0] * 3, [0, 1, 2], [1, 1, 1]), {}, "no contest ranks anybody"),
    ],
)  # fmt: skip
def test_bad_histories(system, events, options, message):
    with pytest.raises(ValueError, match=message):
        jr.fit(system(), events(), **options)


def test_a_start_without_a_finite_loss_is_refused():
    elo = jr.elo()
    rules = Rules(*elo.rules[:2], lambda constants, rows, event: rows.rating[0] * math.nan, elo.rules.update)
    with pytest.raises(ValueError, match="the loss at the start is nan"):
        jr.fit(elo._replace(rules=rules), league())


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
    """Who won loses next: it is best to learn nothing, and ever smaller factors are as good, but large ones are worse.

    A fit is flat and leaves k open.
    """
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


@pytest.mark.full
def test_intervals_of_contests_are_by_their_variance():
    """About as wide as the standard errors of the sandwich, and wider or narrower than those of a likelihood."""
    rounds = jr.data.simulate.contests(30, 60, size=8, spread=200, noise=200, seed=3)[0]
    fit = jr.fit(jr.elo_mmx(), rounds, free=("limit_deviation",))
    found = jr.fitting.likelihood_interval(fit, rounds, "limit_deviation")
    assert not found.profile.likelihood
    width = 1.96 * fit.standard_error["limit_deviation"] / fit.params.limit_deviation
    np.testing.assert_allclose(np.log([found.high / found.low]), 2 * width, rtol=0.5)


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
        with refused("blat_mmr begins with a belief, not with a rating"):
            jr.history.initial_state(system, NAMES, rating={"Bo": mean})
        return
    state = jr.history.initial_state(system, NAMES, rating={"Bo": mean})
    found = system.summary(system.params, state)
    np.testing.assert_allclose(found.mean, [usual.mean[0], mean, usual.mean[0]], rtol=1e-6)
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
    np.testing.assert_allclose(found.mean, [usual.mean[0], mean, usual.mean[0]], rtol=1e-6)
    np.testing.assert_allclose(found.deviation, [2 * half, 2 * half, half], rtol=1e-6)


def test_what_start_refuses():
    system = jr.glicko()
    for given, message in (
        ({"rating": {"Di": 1.0}}, "no player 'Di'"),
        ({"rating": {"Ada": np.nan}}, "initial_rating must be any number, got nan"),
        ({"deviation": {"Ada": np.inf}}, "initial_deviation must be > 0, got inf"),
        ({"deviation": {"Ada": 0.0}}, "initial_deviation must be > 0"),
        ({"deviation": {"Ada": 400.0}}, "must not decrease"),
        ({"rating": {"Ada": "high"}}, "initial_rating must be a number, got 'high'"),
        ({"rating": [1.0, 2.0, 3.0]}, "initial_state: rating must be a mapping of numbers"),
        ({"rating": {"Ada": 1.0, NAMES.index("Ada"): 2.0}}, "twice, by name and by id"),
    ):
        with refused(message):
            jr.history.initial_state(system, NAMES, **given)
    with refused("no player 3"):
        jr.history.initial_state(system, NAMES, rating={3: 1.0})
    with refused("players must be a number of players"):
        jr.history.initial_state(system, "Ada")


def test_a_run_goes_on_from_it():
    system, matches = jr.elo(), jr.matches([[0, 1]], [1.0])
    state = jr.history.initial_state(system, NAMES, rating={"Ada": 1900})
    assert jr.run(system, matches, state=state).prediction[0] > 0.9
    assert jr.live.start_history(system, NAMES, state).predict("Ada", "Bo") > 0.9
