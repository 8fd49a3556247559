"""Elo-MMR with any log-concave density of performances, against the slow twin, and what the paper proves of them."""

import math
import pickle
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit

import jaxrate as jr
from jaxrate.events import Rounds
from jaxrate.systems.elo_mmr import (
    check_split_ties,
    find_performance_methods,
)
from jaxrate.systems.rounds import expected_wins
from jaxrate.systems.rounds.hazard_tables import (
    DENSITIES,
    Density,
    log_density_slope,
    make_expected_wins_integration_method,
    side_hazard,
    tabulate_density,
)
from tests.conftest import MOSTLY_SINGLE, mark_full, quick
from tests.reference import density_twin
from tests.reference import elo_mmr_twin as twin
from tests.reference import performance_twin as exact
from tests.test_elo_mmr import a_round, as_rounds, infer_padded, infer_round, rated, table_points


def skewed(x):
    return 0.5 * x - jnp.cosh(x)


OWN = Density("skewed", skewed)
TWINS = {
    DENSITIES["gumbel"]: density_twin.GUMBEL,
    DENSITIES["laplace"]: density_twin.LAPLACE,
    OWN: density_twin.standardised(lambda x: 0.5 * x - np.cosh(np.clip(x, -500, 500)), lambda x: 0.5 - np.sinh(x)),
}
EACH = pytest.mark.parametrize("density", TWINS, ids=lambda density: density.name)


def table_of(density):
    return jax.tree.map(lambda x: jnp.asarray(x, float), tabulate_density(density).table)


def functions(density):
    """The loss, draw and victory functions of z."""
    table = table_of(density)
    return (
        quick(lambda z: -side_hazard(table, 0, z)[0]),
        quick(lambda z: log_density_slope(table, z)[0]),
        quick(lambda z: side_hazard(table, 1, -z)[0]),
    )


# Lemma 3.2


@EACH
def test_loss_draw_and_victory_equal_brute_force(density):
    """And in steep tails, where that is no longer exact, h' = h (h + d), by the derivative of the polynomials."""
    twin, z, tail = TWINS[density], np.linspace(-2.0, 3.0, 16), np.linspace(-6.0, 6.0, 13)
    with jax.enable_x64(True):
        for found, exact in zip(functions(density), (twin.loss, twin.draw, twin.victory), strict=True):
            np.testing.assert_allclose(found(z), exact(z), rtol=1e-6, atol=1e-12)
        h, rise = (np.asarray(x) for x in quick(lambda z: side_hazard(table_of(density), 1, z))(-tail))
        np.testing.assert_allclose(rise, h * (h - functions(density)[1](tail)), rtol=1e-6, atol=1e-8)


# Theorem 3.3


def infer(density, mu, delta, rank, slots, split_ties=False):
    """[P] performances in a round of this density, padded."""
    points = table_points() * tabulate_density(density).fine

    def solve(mu, delta, weight, rank):
        methods = find_performance_methods(density, table_of(density))
        event = Rounds(rank, rank, rank, weight, jnp.zeros(()))
        return methods.performances(methods.gather(mu, delta, event, points, check_split_ties("", split_ties)[1]))

    return infer_padded(quick(solve), mu, delta, rank, slots).astype(float)


# Of few there is a history below.
ROUNDS = [*product([(0, True), (1, False), (2, True)], [(20, 24), (300, 310)])]


@pytest.mark.parametrize(("which", "sizes"), mark_full(ROUNDS, ((0, True), (300, 310))))
def test_a_performance_is_the_one_zero_of_q_and_rises_with_rank(which, sizes):
    (number, double), (players, slots) = which, sizes
    density, slow = [*TWINS.items()][number]
    tolerance, split_ties = 1e-5 if double else 0.02, players > 100 and density.name == "gumbel"
    mu, delta, rank = a_round(players, True, seed=players)
    with jax.enable_x64(double):
        found = infer(density, mu, delta, rank, slots, split_ties)
    best = np.argsort(rank, kind="stable")
    assert (np.diff(found[best])[np.diff(rank[best]) > 0] < 0.0).all()
    for own in np.unique(rank)[:: 1 + players // 40]:
        (x,) = np.unique(found[rank == own])
        sides = exact.groups(mu.astype(float), delta.astype(float), rank, own)
        low, high = (slow.balance(x + h, *sides, split_ties) for h in (-tolerance, tolerance))
        assert low > 0.0 > high


# Histories


def contests():
    """Five contests of few, with ties, weights, ceilings and times."""
    rng, rounds = np.random.default_rng(3), []
    for k, size in enumerate([6, 4, 7, 6, 5]):
        who = rng.permutation(8)[:size]
        rank = np.sort(rng.integers(0, size, size))
        rank = (rank[None, :] < rank[:, None]).sum(axis=1)
        ceiling = 1700.0 if k == 2 else math.inf
        rounds.append(twin.Round(who, rank, rng.choice([0.5, 2.0]), 5.0 * k, ceiling))
    return rounds


def test_a_history_equals_the_twin():
    settings = {"history": 2, "newcomer": (0.6,), "drift": 30.0, "rho": 0.5}
    want = twin.elo_mmr(contests(), 8, density=TWINS[OWN], **settings)
    with jax.enable_x64(True):
        got = rated(jr.elo_mmr(density=OWN, **settings), as_rounds(contests()), 8)
    np.testing.assert_allclose(got.mean, want.rating, atol=1e-4)
    np.testing.assert_allclose(got.deviation, want.deviation, rtol=1e-12)


def test_normal_performances_make_it_elo_mmx():
    own, theirs = (x.rules.infer.rounds for x in (jr.elo_mmr(5, density="normal", rho=3.0), jr.elo_mmx()))
    assert own.function == theirs.function and own.bound_args == (theirs.bound_args[0]._replace(teams=None),)


# Predictions


def test_who_is_expected_to_beat_whom():
    density = DENSITIES["laplace"]
    twin, about = TWINS[density], tabulate_density(density)
    mu, delta, _ = a_round(100, False, seed=5)
    with jax.enable_x64(True):
        way = make_expected_wins_integration_method(table_of(density), about)
        beats = quick(way.beats)
        for lead, one, other in ((0.0, 200.0, 350.0), (300.0, 400.0, 200.0), (-500.0, 250.0, 250.0)):
            won, lost = (float(x) for x in beats(*jnp.asarray([lead, one, other])))
            np.testing.assert_allclose([won, won + lost], [twin.beats(lead, one, other), 1.0], atol=1e-6)
        there, points = jnp.arange(110) < 100, 6 * 48 * about.fine
        columns = [jnp.asarray(np.pad(x, (0, 10), mode="edge"), float) for x in (mu, delta)]
        found = quick(lambda *x: expected_wins.expected_wins_by_integrals(way, *x, there, points))(*columns)[:100]
        mean, deviation = (np.asarray(x)[:100] for x in columns)
        lead, one, other = np.broadcast_arrays(mean[:, None] - mean, deviation[:, None], deviation)
        np.testing.assert_allclose(found, np.asarray(beats(lead, one, other)[0]).sum(axis=1) - 0.5, atol=0.01)


def test_gumbel_performances_of_equal_deviations_differ_by_a_logistic_variable():
    rounds = jr.rounds([0, 0], [0, 1], [0, 1])
    system = jr.elo_mmr(density="gumbel")
    with jax.enable_x64(True):
        state = system.init(system.params, 2)._replace(rating=jnp.array([1600.0, 1500.0]))
        share = jr.predict(system, state, rounds)
    deviation = math.sqrt(350.0**2 + (1.0 + 1.0 / 0.2 + 0.2) * 80.0**2)
    np.testing.assert_allclose(share[0], expit(100.0 * math.pi / math.sqrt(6.0) / deviation), atol=1e-6)


# Values


@pytest.mark.parametrize(
    ("density", "message"),
    [
        (Density("gumbel", skewed), "the density 'gumbel' is another one; give your own a name of its own"),
        (Density("cauchy", lambda x: -jnp.log1p(x**2)), "cauchy: its log is not concave: its slope rises at x = -"),
        (Density("sharp", lambda x: -jnp.abs(x)), "sharp: its log has a corner, or bends too suddenly, at x = "),
        (Density("flat", lambda x: 0.0 * x), "flat: its log does not fall away from its maximum"),
        (Density("rising", lambda x: x), "rising: it has no maximum; its log must rise first and fall later"),
        (Density("whole", lambda x: -jnp.sum(x**2)), "whole: its log is no elementwise function of an array"),
    ],
)
def test_what_is_no_density_is_refused(density, message):
    with pytest.raises(ValueError, match=message):
        jr.elo_mmr(density=density)


def test_a_system_with_a_density_of_ones_own_is_a_value_that_is_saved_by_name(tmp_path):
    system = jr.elo_mmr(1, density=OWN)
    assert "density=Density('skewed')" in repr(system) and "density='gumbel'" in repr(jr.elo_mmr(density="gumbel"))
    assert jr.elo_mmr(density=DENSITIES["gumbel"]) == jr.elo_mmr(density="gumbel") != system
    assert pickle.loads(pickle.dumps(system)) == system and hash(system) == hash(jr.elo_mmr(1, density=OWN))
    saved = jr.rate(system, jr.read({"contest": [1, 1], "player": ["a", "b"], "rank": [1, 2]}), calibrate=False)
    jr.save(tmp_path, saved)
    with pytest.raises(ValueError, match="unknown density 'skewed'.*make="):
        jr.load(tmp_path)
    loaded = jr.load(tmp_path, make=lambda **given: jr.elo_mmr(**given | {"density": OWN}))
    assert loaded.system == system
    jax.tree.map(np.testing.assert_array_equal, loaded.state, saved.state)


# Performances of contests, and the ranks that would have kept ratings: against the authors' program and the twin.

GOLDEN = twin.golden()["toyA"]
CASES = [("mmr_noob", True), ("mmx_split", False), ("cfsys_w0.5", True), ("tcsys", False)]
USUAL = mark_full(CASES, CASES[0], CASES[3])  # histories beside the twin have the performances of the rest


def ranks_needed(trace, contests, initial):
    """[sum P] by the twin, of players with these ratings at first."""
    rating, found = np.full(9, initial), []
    for contest, perform, after in zip(contests, trace.again, trace.ratings, strict=True):
        before = rating[contest.players]
        found.append(np.zeros(len(before)))
        if perform is not None:
            found[-1] = exact.ranks_needed(perform, before, contest.rank, contest.team)
        rating[contest.players] = after
    return np.concatenate(found)


@pytest.mark.parametrize(("setting", "double"), USUAL)
def test_performances_are_those_of_the_authors_program(setting, double):
    run, contests = GOLDEN["runs"][setting], twin.contests(GOLDEN)
    factory, settings = twin.translate(run)
    trace = getattr(twin, factory)(contests, 7, **settings)
    ceiling = {} if factory != "elo_mmx" else {"ceiling": None}
    with jax.enable_x64(double):
        got = jr.history.performance_ratings(getattr(jr, factory)(**settings), as_rounds(contests, **ceiling))
    assert got.performance.dtype == (np.float64 if double else np.float32)
    rows = zip(*(run["events"][x] for x in ("contest", "player", "perf")), strict=True)
    at = {(k, ord(name) - ord("a")): x for k, name, x in rows}
    wanted = np.array([at.get((k, i), np.nan) for k, c in enumerate(contests) for i in c.players])
    assert np.isfinite(wanted).sum() == len(at) and (np.isnan(wanted).any() or len(at) == len(wanted))
    np.testing.assert_allclose(got.performance, wanted, **({"rtol": 1e-9} if double else {"atol": 0.02}))
    needed = ranks_needed(trace, contests, settings["initial_rating"])
    assert len(np.unique(needed)) > 2
    np.testing.assert_array_equal(got.rank_needed, needed)


@pytest.mark.parametrize("kind", mark_full(["sum", "mean"], "sum"))
def test_ranks_needed_by_teams_with_ties_and_ceilings(kind):
    random, contests = np.random.default_rng(4), []
    for k in range(6):
        team = random.permutation([0, 0, 0, 1, 1, 2, 3, 3])
        score = random.integers(0, 3, 4)[team] if k else np.zeros(8)
        rank, ceiling = (score < score[:, None]).sum(axis=1), 1450.0 if k == 3 else np.inf
        contests.append(
            twin.Round(random.permutation(9)[:8], rank, random.choice([0.5, 2.0], 8), 1.0 * k, ceiling, team)
        )
    skip_ties = kind == "sum"
    trace = twin.elo_mmx(contests, 9, team_performance=kind, skip_ties=skip_ties)
    with jax.enable_x64(True):
        got = jr.history.performance_ratings(
            jr.elo_mmx(team_performance=kind, skip_ties=skip_ties), as_rounds(contests), num_players=9
        )
    wanted = ranks_needed(trace, contests, 1500.0)
    np.testing.assert_array_equal(got.rank_needed, wanted)
    np.testing.assert_allclose(got.performance, np.concatenate(trace.performance), rtol=1e-9)
    assert ({*wanted[:8]} == {0}) == skip_ties and {*wanted[24:32]} > {0} and len(np.unique(wanted)) > 3


@MOSTLY_SINGLE
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("spread", [1.0, 1e4], ids=["alike", "far apart"])
def test_ranks_needed_in_large_rounds(spread, gaussian, x64):
    """The performance is at least the rating there, and below it one place further down."""
    solve = quick(lambda *x: infer_round(gaussian, *x, False, table_points(), "worst_ranks"))
    mu, delta, rank = a_round(90, True, seed=2)
    wider = spread ** np.random.default_rng(3).uniform(size=90)
    mu, delta = (np.float32(x * wider) for x in (mu - 1500.0, delta))
    got = infer_padded(solve, mu, delta, rank, 100)
    assert len(np.unique(got)) > 10
    tolerance, nobody = 4e-9 if x64 else 4e-4, np.zeros(90, bool)
    for i in range(0, 90, 3):
        others = np.arange(90) != i
        places = np.append(np.unique(rank[others]), 90)
        ahead = np.array([(rank[others] < place).sum() for place in places])
        number = int(np.flatnonzero(ahead == got[i] - 1)[0])

        def balance(*sides, own=i):
            return exact.balance(mu[own], *((mu[m], delta[m]) for m in sides), gaussian=gaussian)

        q = []  # relative to all its terms; of logistic ones in float32 to what sums of their constants may be
        for lost in (others & (rank < place) for place in places[number : number + 2]):
            size = balance(nobody, nobody, others & ~lost) - balance(lost, nobody, nobody)
            size = size if gaussian or x64 else (math.pi / 3.0**0.5 / delta.astype(float)).sum()
            q.append(balance(lost, ~others, others & ~lost) / size)
        assert q[0] > -tolerance and (len(q) == 1 or q[1] < tolerance)


def three():
    return jr.data.from_teams(
        [[["A"], ["B"], ["C"]], [["B"], ["C"], ["A"]], [["C"], ["A"]]], ranks=[[0, 1, 2], [0, 1, 1], [0, 0]]
    )


def test_rated_histories_and_careers_tell_them(tmp_path):
    data, system = three(), jr.codeforces(skip_ties=True)
    rated = jr.rate(system, data)
    told, wanted = jr.history.performance_ratings(rated), jr.history.performance_ratings(system, data)
    np.testing.assert_array_equal(told, np.array(wanted))
    assert rated.predictions["performance"].null_count == rated.predictions["rank_needed"].null_count == 2
    career = jr.career(rated, "A")
    assert [*career][-2:] == ["performance", "rank_needed"]
    moved, gap = career["change"][:2], career["performance"][:2] - career["rating"][:2]
    np.testing.assert_allclose(moved, gap / 2.0, rtol=1e-5)  # half of the way, without its noise
    assert np.isnan(career["rank_needed"][2]) and career["rank_needed"][0] == 2
    sections = pytest.importorskip("jaxrate.cli.rate").career_sections(rated, "A", career)
    assert "rank needed" in (printed := sections[1].describe()) and "nan" not in printed.splitlines()[-2]
    jr.save(tmp_path / "run", rated)
    again = jr.load(tmp_path / "run")
    np.testing.assert_array_equal(jr.history.performance_ratings(again), told)
    former = again._replace(events={name: x for name, x in again.events.items() if name not in told._fields})
    with pytest.raises(ValueError, match="rated without performances; rate the contests again"):
        jr.history.performance_ratings(former)


def test_what_has_no_performances():
    with pytest.raises(ValueError, match="glicko infers no performances; .*codeforces, topcoder do"):
        jr.history.performance_ratings(jr.glicko(), jr.matches([[0, 1]], [1.0]))
    with pytest.raises(ValueError, match="give nothing else"):
        jr.history.performance_ratings(jr.rate(jr.codeforces(skip_ties=True), three()), three())
    assert "performance" not in jr.rate(jr.weng_lin(), three()).predictions.column_names
