"""Performances of contests, and the ranks that would have kept ratings: against the authors' program and the twin."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.systems.elo_mmr import density_dispatch
from jaxrate.systems.rounds import cdf_sums, performance_inference
from tests.conftest import MOSTLY_SINGLE, mark_full, quick
from tests.reference import elo_mmr_twin as twin
from tests.reference import performance_twin as exact
from tests.test_elo_mmr import a_round, as_rounds, infer_round, look_normal

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
    team = np.concatenate([c.team for c in contests])
    with jax.enable_x64(True):
        got = jr.history.performance_ratings(
            jr.elo_mmx(team_performance=kind, skip_ties=skip_ties), as_rounds(contests, team=team), num_players=9
        )
    wanted = ranks_needed(trace, contests, 1500.0)
    np.testing.assert_array_equal(got.rank_needed, wanted)
    np.testing.assert_allclose(got.performance, np.concatenate(trace.performance), rtol=1e-9)
    assert ({*wanted[:8]} == {0}) == skip_ties and {*wanted[24:32]} > {0} and len(np.unique(wanted)) > 3


@MOSTLY_SINGLE
@pytest.mark.parametrize("gaussian", [False, True])
def test_ranks_needed_in_large_rounds(gaussian, x64):
    """The performance is at least the rating there, and below it one place further down."""
    look, points = (
        look_normal if gaussian else performance_inference.make_logistic_cdf_sums,
        cdf_sums.scale_table_points_to_precision(cdf_sums.count_table_points(210.0)),
    )
    solve = quick(lambda *x: infer_round(look, *x, False, points, density_dispatch.worst_ranks_keeping_rating))
    mu, delta, rank = a_round(90, True, seed=2)
    there, gap = np.arange(100) < 90, (0, 10)
    columns = (jnp.asarray(np.pad(x, gap, mode="edge"), float) for x in (mu, delta))
    full_rank = np.pad(rank, gap, constant_values=2**31 - 1).astype(np.int32)
    got = np.asarray(solve(*columns, jnp.asarray(there, float), full_rank))[:90]
    assert len(np.unique(got)) > 10
    tolerance = 1e-9 if x64 else 1e-4
    for i in range(0, 90, 3):
        others = np.arange(90) != i
        places = np.append(np.unique(rank[others]), 90)
        ahead = np.array([(rank[others] < place).sum() for place in places])
        number = int(np.flatnonzero(ahead == got[i] - 1)[0])
        q = [
            exact.balance(mu[i], *((mu[m], delta[m]) for m in (lost, ~others, others & ~lost)), gaussian=gaussian)
            for lost in (others & (rank < place) for place in places[number : number + 2])
        ]
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
    printed = str(pytest.importorskip("jaxrate.cli.rate_output").career_sections(rated, "A", career)[1]).splitlines()
    assert printed[0].split()[-3:] == ["performance", "rank", "needed"]
    assert printed[1].split()[-2:] == [f"{career['performance'][0]:,.1f}", "2"] and "nan" not in printed[-2]
    jr.save(tmp_path / "run", rated)
    again = jr.load(tmp_path / "run")
    np.testing.assert_array_equal(jr.history.performance_ratings(again), told)
    former = again._replace(events={name: x for name, x in again.events.items() if name not in told._fields})
    with pytest.raises(ValueError, match="rated without performances; rate the contests again"):
        jr.history.performance_ratings(former)
    assert [*jr.career(former, "A")][-1] == "change"
    onto = jr.rate(system, data, onto=former)
    assert onto.predictions["performance"].null_count == len(former.predictions) + 2
    damaged = again.events | {"rank_needed": np.full(len(again.events["row"]), "x", object)}
    jr.save(tmp_path / "damaged", again._replace(events=damaged))
    with pytest.raises(ValueError, match="predictions.parquet is damaged .rank_needed is of "):
        jr.load(tmp_path / "damaged")


def text(table, name):
    return table.column_names.index(name), name, table[name].cast("string")


def test_what_has_no_performances():
    with pytest.raises(ValueError, match="glicko infers no performances; .*codeforces, topcoder do"):
        jr.history.performance_ratings(jr.glicko(), jr.matches([[0, 1]], [1.0]))
    with pytest.raises(ValueError, match="give nothing else"):
        jr.history.performance_ratings(jr.rate(jr.codeforces(skip_ties=True), three()), three())
    assert "performance" not in jr.rate(jr.weng_lin(), three()).predictions.column_names
