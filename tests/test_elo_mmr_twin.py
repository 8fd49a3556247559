"""The Elo-MMR twin against the authors' program, and its parts against values worked out by hand."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tests.conftest import mark_full
from tests.reference import elo_mmr_twin as twin
from tests.reference import performance_twin as exact
from tests.reference.elo_mmr_twin import Belief, Factor, Round
from tests.reference.performance_twin import LOGISTIC

GOLDEN = twin.golden()
RUNS = [(history, name) for history in GOLDEN for name in GOLDEN[history]["runs"]]
MODELS = list(itertools.product([False, True], [False, True]))  # gaussian, split_ties

close = partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-12)


def standing(scores):
    """[P] how many are strictly better; lower scores are better."""
    scores = np.asarray(scores)
    return (scores < scores[:, None]).sum(axis=1)


# The authors' program


def test_there_are_23_settings_of_two_histories():
    assert len(RUNS) == 46
    assert all(len(history["runs"]) == 23 for history in GOLDEN.values())


@pytest.mark.parametrize(("history", "name"), RUNS)
def test_the_twin_agrees_with_the_authors_program(history, name):
    run, contests = GOLDEN[history]["runs"][name], twin.contests(GOLDEN[history])
    factory, settings = twin.translate(run)
    trace = getattr(twin, factory)(contests, 7, **settings)
    events = run["events"]
    who = [ord(name) - ord("a") for name in events["player"]]
    at = [(k, contests[k].players.index(i)) for k, i in zip(events["contest"], who, strict=True)]
    for got, wanted in ((trace.ratings, "mu"), (trace.deviations, "sig"), (trace.performance, "perf")):
        close([got[k][i] for k, i in at], events[wanted], rtol=1e-13)
    assert sum(len(x) for x in trace.performance if np.isfinite(x).all()) == len(at)


def test_settings_are_translated():
    runs = GOLDEN["toyA2"]["runs"]
    first = {"initial_rating": 1500.0, "initial_deviation": 350.0, "skip_ties": True}
    common = {"weight": 0.2, "limit_deviation": 80.0, "split_ties": False, "newcomer": (), **first}
    wanted = {
        "mmr_noob": ("elo_mmr", {**common, "rho": 1.0, "newcomer": (0.6, 0.8)}),
        "mmrsimple_hist2": ("elo_mmr", {**common, "rho": 1.0, "history": 2}),
        "mmrsimple_iowa": ("elo_mmr", {**common, "limit_deviation": 0.0, "drift": 50.0, "rho": 0.1, "history": 999}),
        "mmr_rhoinf_split": ("elo_mmr", {**common, "rho": math.inf, "split_ties": True}),
        "mmx_split": ("elo_mmx", {**common, "split_ties": True}),
        "cfsys_w0.5": (
            "codeforces",
            {"beta": 315.08922206661885, "weight": 0.5, "initial_rating": 1500.0, "skip_ties": True},
        ),
        "tcsys": ("topcoder", {"weight_new": 0.6, "weight_limit": 0.18, **first}),
    }
    assert {name: twin.translate(runs[name]) for name in wanted} == wanted


# Loss, draw and victory


def log_below(z, gaussian):
    """log F of the standard distribution of scale 1, from another formula."""
    return math.log(0.5 * math.erfc(-z / math.sqrt(2.0))) if gaussian else -math.log1p(math.exp(-z))


@pytest.mark.parametrize("gaussian", [False, True])
def test_loss_draw_and_victory_are_derivatives_of_logarithms(gaussian):
    mu, delta, step = 1500.0, 240.0, 1e-3
    scale = delta if gaussian else delta / LOGISTIC

    def slope(f, x):
        return (f((x + step - mu) / scale) - f((x - step - mu) / scale)) / (2.0 * step)

    for x in np.linspace(500.0, 2500.0, 11):
        wanted = {
            exact.victory: slope(lambda z: log_below(z, gaussian), x),
            exact.loss: slope(lambda z: log_below(-z, gaussian), x),
            exact.draw: slope(lambda z: -0.5 * z * z if gaussian else log_below(z, False) + log_below(-z, False), x),
        }
        for function, value in wanted.items():
            np.testing.assert_allclose(function(x, mu, delta, gaussian), value, rtol=1e-6, atol=1e-9)


def test_the_hazard_is_right_in_both_tails():
    for z in (-3.0, -0.5, 0.0, 0.5, 3.0, 5.0):
        density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        close(exact.hazard(z), density / (0.5 * math.erfc(-z / math.sqrt(2.0))), rtol=1e-13)
    for z in (40.0, 1e3, 1e6):  # asymptotically z + 1/z - 2/z^3 + 10/z^5 - 74/z^7 + 706/z^9 - ...
        close(exact.hazard(-z), z + 1.0 / z - 2.0 / z**3 + 10.0 / z**5 - 74.0 / z**7 + 706.0 / z**9, rtol=1e-14)
    close(exact.hazard(30.0), math.exp(-450.0) / math.sqrt(2.0 * math.pi), rtol=1e-13)
    assert exact.hazard(1e3) == 0.0


@pytest.mark.parametrize("x", [-5000.0, 1400.0, 9000.0])
def test_a_tie_is_a_win_and_a_loss_or_half_of_each(x):
    for gaussian, half in ((False, 1.0), (False, 0.5), (True, 0.5)):
        both = exact.loss(x, 1500.0, 200.0, gaussian) + exact.victory(x, 1500.0, 200.0, gaussian)
        close(exact.draw(x, 1500.0, 200.0, gaussian, split_ties=half == 0.5), half * both, rtol=1e-14)


# Performances


@pytest.mark.parametrize(("beaten", "tied", "lost"), [(1, 0, 0), (0, 3, 1), (5, 2, 0), (2, 1, 7)])
def test_performances_against_equals_have_a_closed_form(beaten, tied, lost):
    rank = standing([1.0] * (tied + 1) + [2.0] * beaten + [0.0] * lost)
    mu, delta = np.full(len(rank), 1500.0), np.full(len(rank), 210.0)
    for split_ties, share in ((False, 1.0), (True, 0.5)):
        won, conceded = beaten + share * (tied + 1), lost + share * (tied + 1)
        wanted = 1500.0 + 210.0 / LOGISTIC * math.log(won / conceded)
        close(exact.performances(mu, delta, rank, split_ties)[: tied + 1], wanted, rtol=1e-14)


def test_a_performance_between_two_gaussians_has_a_closed_form():
    performance = exact.performances([1000.0, 1900.0], [100.0, 200.0], [0, 0], gaussian=True)
    close(performance, (1000.0 / 100.0**2 + 1900.0 / 200.0**2) / (100.0**-2 + 200.0**-2), rtol=1e-14)


@pytest.mark.parametrize(("gaussian", "split_ties"), MODELS)
def test_a_performance_is_where_q_changes_its_sign(gaussian, split_ties):
    rng = np.random.default_rng(1)
    for size in (2, 5, 40):
        mu, delta = rng.normal(1500.0, 400.0, size), rng.uniform(150.0, 500.0, size)
        rank = standing(rng.integers(0, size, size))
        for own, x in zip(rank, exact.performances(mu, delta, rank, split_ties, gaussian), strict=True):
            sides = exact.groups(mu, delta, rank, own)
            assert sum(len(m) for m, _ in sides) == size
            assert exact.balance(x - 1e-8, *sides, split_ties, gaussian) > 0.0
            assert exact.balance(x + 1e-8, *sides, split_ties, gaussian) < 0.0


@pytest.mark.parametrize(("gaussian", "split_ties"), MODELS)
def test_performances_move_and_grow_with_the_ratings(gaussian, split_ties):
    mu, delta = np.array([1800.0] * 3 + [1200.0] * 3), np.linspace(100.0, 300.0, 6)
    one = exact.performances(mu, delta, [0, 3, 3, 1, 5, 1], split_ties, gaussian)
    other = exact.performances(64.0 * mu - 1e5, 64.0 * delta, [0, 3, 3, 1, 5, 1], split_ties, gaussian)
    close(other, 64.0 * one - 1e5, rtol=1e-9)


# Beliefs

BELIEF = Belief(1480.0, 1500.0, 2e-5, (Factor(1700.0, 1.5e-5, 200.0), Factor(1300.0, 2.5e-5, 180.0)))
BELIEF = BELIEF._replace(rating=twin.mode(BELIEF))


@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0, 4.0])
def test_the_pseudodiffusion_follows_the_differential_equations_of_section_4(rho):
    variance = 1.0 / (BELIEF.weight + sum(f.weight for f in BELIEF.factors))
    after, grown = twin.diffuse(BELIEF, variance, 70.0**2, rho)
    close(grown, variance + 70.0**2, rtol=1e-15)

    def change(_, y):  # the Gaussian's weight, that weight times its mean, the logistic weights
        total = y[0] + y[2:].sum()
        moment = rho * total * BELIEF.rating - (1.0 + rho) * y[1]
        return np.array([rho * y[2:].sum() - y[0], moment, *(-(1.0 + rho) * y[2:])])

    start = [BELIEF.weight, BELIEF.weight * BELIEF.mean, *(f.weight for f in BELIEF.factors)]
    end = solve_ivp(change, (0.0, math.log(grown / variance)), start, rtol=1e-11, atol=1e-14).y[:, -1]
    got = [after.weight, after.weight * after.mean, *(f.weight for f in after.factors)]
    np.testing.assert_allclose(got, end, rtol=1e-8)
    assert [f[::2] for f in after.factors] == [f[::2] for f in BELIEF.factors]
    assert after.rating == BELIEF.rating


@pytest.mark.parametrize("gamma2", [0.0, 900.0])
def test_infinite_rho_leaves_a_gaussian_at_the_rating(gamma2):
    after, variance = twin.diffuse(BELIEF, 1.6e4, gamma2, math.inf)
    assert after.factors == ()
    close([after.mean, after.weight], [BELIEF.rating, 6e-5 * 1.6e4 / variance])


def test_the_oldest_factors_become_gaussian_with_their_weight():
    once = twin.shorten(BELIEF, 2)
    assert once.factors == BELIEF.factors[1:]
    close([once.mean, once.weight], [(2.0 * 1500.0 + 1.5 * 1700.0) / 3.5, 3.5e-5])
    twice = twin.shorten(BELIEF, 1)
    close([twice.mean, twice.weight], [(2.0 * 1500.0 + 1.5 * 1700.0 + 2.5 * 1300.0) / 6.0, 6e-5])
    assert twice.factors == ()
    assert twin.shorten(BELIEF, 3) == twin.shorten(BELIEF, None) == BELIEF


def test_learning_one_performance():
    belief = twin.newcomer_belief(1500.0, 100.0)
    close(twin.learn(belief, 1800.0, 200.0, gaussian=True).rating, (4.0 * 1500.0 + 1800.0) / 5.0)
    rating = twin.learn(belief, 1800.0, 200.0).rating
    close(rating, 1500.0 + 100.0**2 * LOGISTIC / 200.0 * math.tanh(LOGISTIC * (1800.0 - rating) / 400.0), rtol=1e-12)
    assert 1500.0 < rating < 1800.0


# Systems


@pytest.mark.parametrize("limit", mark_full([60.0, 120.0], 60.0))
def test_without_drift_the_deviation_settles_at_its_limit(limit):
    rounds = [Round([0, 1], [k % 2, (k + 1) % 2], time=7.0 * k) for k in range(150)]
    close(twin.elo_mmx(rounds, 2, limit_deviation=limit).deviation, limit)
    close(twin.elo_mmr(rounds, 2, limit_deviation=limit, rho=math.inf).deviation, limit)


def test_a_weight_of_ones_own_concerns_only_ones_own_deviation():
    rounds = [Round([0, 1, 2], [0, 1, 2], weight, time) for time, weight in ((0.0, 1.0), (1.0, [1.0, 0.5, 2.0]))]
    equal = [contest._replace(weight=[1.0] * 3) for contest in rounds]
    one, two = (twin.elo_mmr(x, 3, newcomer=(0.6,)) for x in (equal, rounds))
    assert one.deviation[0] == two.deviation[0] and (one.deviation[1:] != two.deviation[1:]).all()
    assert (one.performance[1] != two.performance[1]).all()
    plain = twin.elo_mmr([contest._replace(weight=1.0) for contest in rounds], 3, newcomer=(0.6,))
    assert all(np.array_equal(x, y) for x, y in zip(plain[:2], one[:2], strict=True))


@pytest.mark.parametrize("factory", [twin.elo_mmr, twin.elo_mmx, twin.codeforces, twin.topcoder])
def test_contests_that_rank_nobody_change_nothing(factory):
    played = [Round([0, 1, 2], [0, 1, 1], time=1.0), Round([2, 0], [0, 1], time=9.0)]
    idle = [Round([], [], time=2.0), Round([1], [0], time=3.0), Round([0, 2, 3], [0, 0, 0], time=4.0)]
    settings = {} if factory in (twin.codeforces, twin.topcoder) else {"drift": 30.0, "newcomer": (0.5, 0.7)}
    settings["skip_ties"] = True
    trace = factory([played[0], *idle, played[1]], 4, **settings)
    wanted = factory(played, 4, **settings)
    assert np.array_equal(trace.rating, wanted.rating) and np.array_equal(trace.deviation, wanted.deviation)
    assert [len(x) for x in trace.ratings] == [3, 0, 1, 3, 2]
    assert [np.isnan(x).all() for x in trace.performance] == [False, True, True, True, False]
    assert np.array_equal(trace.ratings[3], [*trace.ratings[0][[0, 2]], 1500.0])


def test_a_ceiling_binds_performances_except_in_elo_mmx():
    contest = Round([0, 1, 2], [0, 1, 2], ceiling=1500.0)
    for factory in (twin.elo_mmr, twin.codeforces, twin.topcoder):
        free = factory([contest._replace(ceiling=math.inf)], 3)
        bound = factory([contest], 3)
        assert np.array_equal(bound.performance[0], np.minimum(free.performance[0], 1500.0))
        assert free.performance[0][0] > 1600.0 and bound.rating[0] < free.rating[0]
    free, bound = (twin.elo_mmx([contest._replace(ceiling=x)], 3) for x in (math.inf, 1500.0))
    assert np.array_equal(bound.rating, free.rating)


def test_codeforces_between_newcomers():
    """The winner of two equals has an expected rank of 1.5: they perform where R = sqrt 1.5, 1/2 + 2/(1 + e^u)."""
    beta = 300.0
    trace = twin.codeforces([Round([0, 1], [0, 1])], 2, beta=beta, weight=0.5)
    expected = [1500.0 + beta / LOGISTIC * math.log(2.0 / (math.sqrt(1.5 * rank) - 0.5) - 1.0) for rank in (1.0, 2.0)]
    close(trace.performance[0], expected)
    close(trace.rating, [(1500.0 + 0.5 * p) / 1.5 for p in expected])
    assert np.array_equal(trace.deviation, [350.0, 350.0])


@pytest.mark.parametrize(("rating", "factor"), [(1999.0, 1.0), (2000.0, 0.9), (2499.0, 0.9), (2500.0, 0.8)])
def test_topcoder_slows_strong_players_down(rating, factor):
    trace = twin.topcoder([Round([0, 1], [0, 1], weight=0.1)], 2, initial_rating=rating)
    step = 0.1 * 0.6 / 0.4 * factor
    performance = rating + 350.0 * 0.6744897501960817  # a place of 1/2 among 2 is the lower quartile
    close(trace.performance[0][0], performance)
    close(trace.rating[0], rating + step / (1.0 + step) * (performance - rating))


def test_topcoder_caps_a_change_but_not_the_volatility():
    change = 350.0 * 0.6744897501960817 * 1.5 / 2.5  # q = 0.6, so the step is 1.5
    trace = twin.topcoder([Round([0, 1], [0, 1])], 2)
    close(trace.rating[0], 1500.0 + change)
    strict = twin.topcoder([Round([0, 1], [0, 1])], 2, initial_deviation=3500.0)
    close(strict.rating, [1500.0 + 900.0, 1500.0 - 900.0])  # 150 + 1500/2, times q/(0.18 + 0.42)
    close(strict.deviation, math.sqrt((10.0 * change) ** 2 / 1.5 + 3500.0**2 / 2.5))
