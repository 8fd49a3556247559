"""Matches in files, rated by chunks in rating periods, and by their margins, covariates and seasons: as in memory."""

import json
import os
import signal
from itertools import pairwise

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.history.out_of_core import chunk_pipeline
from tests.conftest import MOSTLY_DOUBLE, mark_full
from tests.test_rate_by_chunks import N, as_text, contents, made_table, state_by_player, written

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
ds = pytest.importorskip("pyarrow.dataset")

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* matches repeat an earlier one"),
]
PERIOD = 30.0


@pytest.fixture(scope="module")
def table():
    """With the points of both, rest, and the year."""
    random, table = np.random.default_rng(1), made_table()
    lost = random.integers(0, 30, N)
    won = lost + np.sign(table["score"].to_numpy() - 0.5).astype(int) * random.integers(1, 30, N)
    years = [f"{2000 + int(x) // 365}" for x in table["t"].to_pylist()]
    more = {"for": won, "against": lost, "rest": random.normal(size=N), "year": years}
    for name, values in more.items():
        table = table.append_column(name, pa.array(values))
    return table


def shuffled(table):
    """The same in disorder, with names and dates."""
    named = as_text(table.select(["a", "b", "score", "t", "home"]))
    order = pa.array(np.random.default_rng(0).permutation(N))
    for name in ("for", "against", "rest", "year"):
        named = named.append_column(name, table[name].take(order))
    return named


def interrupted(monkeypatch, chunk):
    """A run is asked to end when it comes to this chunk."""
    given, left = chunk_pipeline.execute_plan, chunk

    def asked(*arguments, **options):
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGINT)
        return given(*arguments, **options)

    monkeypatch.setattr(chunk_pipeline, "execute_plan", asked)


@MOSTLY_DOUBLE
@pytest.mark.parametrize("chunk", mark_full([700, 40], 700), ids=["several periods", "less than one"])
def test_periods_by_chunks_are_periods_in_memory(table, tmp_path, monkeypatch, chunk, x64):
    games, system = written(table, tmp_path / "games"), jr.glicko()
    found = jr.rate(system, games, chunk=chunk, out=tmp_path / "out", period=PERIOD)
    whole = jr.rate(system, jr.read(table), period=PERIOD)
    for mine, theirs in zip(found.state, whole.state, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    predictions = ds.dataset(tmp_path / "out" / "predictions").to_table()
    for name in whole.predictions.column_names:
        assert predictions[name].to_pylist() == whole.predictions[name].to_pylist(), name
    parts = sorted((tmp_path / "out" / "predictions").iterdir())
    times = [pq.read_table(part)["time"].to_numpy() // PERIOD for part in parts]
    assert all(one[-1] < other[0] for one, other in pairwise(times))
    assert all(len(x) <= chunk or len(set(x)) == 1 for x in times) and len(parts) > 3
    with monkeypatch.context() as changed:
        interrupted(changed, 2)
        with pytest.raises(KeyboardInterrupt):
            jr.rate(system, games, chunk=chunk, out=tmp_path / "other", period=PERIOD)
    assert len([*(tmp_path / "other" / "predictions").iterdir()]) == 2
    jr.rate(system, games, chunk=chunk, out=tmp_path / "other", period=PERIOD)
    assert contents(tmp_path / "other") == contents(tmp_path / "out")


def test_periods_of_many_sizes_share_few_programs(tmp_path, monkeypatch):
    """Random sizes would ask for a program or two for each chunk. (They are counted, and not run.)"""
    random, programs = np.random.default_rng(0), set()
    days = np.repeat(np.arange(400.0), random.poisson(random.lognormal(3.0, 1.2, 400)))
    a = random.integers(0, 500, len(days))
    table = {"a": a, "b": (a + random.integers(1, 500, len(days))) % 500, "score": a % 2, "t": days}
    pq.write_table(pa.table(table), tmp_path / "games.parquet")

    def counted(rules, params, state, plan, *more, **options):
        programs.update((x.size, x.number.shape, len(plan.events.player), plan.size) for x in plan.blocks)
        return state, np.full(plan.size, 0.5)

    monkeypatch.setattr(chunk_pipeline, "execute_plan", counted)
    jr.rate(
        jr.elo(), tmp_path / "games.parquet", chunk=jr.history.Chunks(500, brief=True), out=tmp_path / "out", period=1.0
    )
    parts = [days[pq.read_table(part)["row"]] for part in sorted((tmp_path / "out" / "predictions").iterdir())]
    assert len(programs) <= 16 and len(parts) > 30, (len(programs), len(parts))
    assert all(one[-1] < other[0] for one, other in pairwise(parts))  # whole periods, though some exceed a chunk
    assert np.concatenate(parts).tolist() == days.tolist() and np.bincount(days.astype(int)).max() > 500


def test_a_period_is_whole_also_where_files_are_added(table, tmp_path):
    games, times = tmp_path / "games", table["t"].to_numpy()
    games.mkdir()
    begin = int(np.searchsorted(times, 300.0))
    inside = int(np.searchsorted(times, 315.0))
    pq.write_table(table.slice(0, begin), games / "0.parquet")
    options = {"chunk": 500, "period": PERIOD}
    jr.rate(jr.elo(), games, out=tmp_path / "out", **options)
    pq.write_table(table.slice(begin, inside - begin), games / "1.parquet")
    jr.rate(jr.elo(), games, out=tmp_path / "out", **options)
    pq.write_table(table.slice(inside), games / "2.parquet")
    with pytest.raises(ValueError, match=r"2.parquet: row 0 .*: it is in the same rating period as the last match"):
        jr.rate(jr.elo(), games, out=tmp_path / "out", **options)
    with pytest.raises(ValueError, match="has period 30.0, this one None; go on as it began"):
        jr.rate(jr.elo(), games, chunk=500, out=tmp_path / "out")
    with pytest.raises(ValueError, match="the length of a period must be above 0, got 0"):
        jr.rate(jr.elo(), games, out=tmp_path / "new", period=0.0)
    with pytest.raises(ValueError, match="trueskill rates Matches .*not Periods"):
        jr.rate(jr.trueskill(), games, out=tmp_path / "new", period=PERIOD)
    endless = pa.array([*times[inside:-1], np.inf])
    pq.write_table(table.slice(inside).set_column(3, "t", endless), games / "2.parquet")
    with pytest.raises(ValueError, match=rf"2.parquet: row {N - inside - 1} .*: time is inf, not a finite number"):
        jr.rate(jr.elo(), games, out=tmp_path / "new", period=PERIOD)


@pytest.mark.parametrize("kind", mark_full(["as it stands", "put in order"], "put in order"))
def test_evidence_by_chunks_is_evidence_in_memory(table, tmp_path, monkeypatch, kind):
    if kind == "put in order":
        pytest.importorskip("duckdb")
        table = shuffled(table)
    columns = {"margin": ["for", "against"], "covariates": "rest"}
    data = jr.read(table, season="year", sort=True, **columns)
    system = jr.skills("margin", margin=("for", "against"), covariates="rest", rest=20.0, seasons=data.seasons)
    whole, games = jr.rate(system, data), written(table, tmp_path / "games")
    with monkeypatch.context() as changed:
        interrupted(changed, 2)
        with pytest.raises(KeyboardInterrupt):
            jr.rate(system, games, chunk=700, out=tmp_path / "out", **columns)
    found = jr.rate(system, games, chunk=700, out=tmp_path / "out", **columns)
    for mine, theirs in zip(jax.tree.leaves(state_by_player(found, whole)), jax.tree.leaves(whole.state), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-3)
    guess = ds.dataset(tmp_path / "out" / "predictions").to_table()["prediction"].to_numpy()
    np.testing.assert_allclose(guess, whole.predictions["prediction"].to_numpy(), atol=1e-5)
    with pytest.raises(ValueError, match="skills needs the column 'rest' of the matches"):
        jr.rate(system, games, out=tmp_path / "new", margin=columns["margin"])
    with pytest.raises(ValueError, match="has columns .*go on as it began"):
        jr.rate(system, games, chunk=700, out=tmp_path / "out", columns="home", **columns)


@pytest.mark.full
def test_the_command_takes_evidence_and_periods(table, tmp_path, jaxrate, double):
    games, whole = written(table, tmp_path / "games"), tmp_path / "whole.parquet"
    pq.write_table(table, whole)
    for system, options in (
        ("skills", ["--margin", "for", "against", "--column", "covariates=rest", "--season", "year"]),
        ("elo", ["--period", "30"]),
    ):
        given = ["--system", system, *options, "--json"]
        out = tmp_path / system
        code, printed, errors = jaxrate("rate", games, *given, "--chunk", "700", "--out", out)
        assert code == 0, errors
        code, expected, errors = jaxrate("rate", whole, *given)
        assert code == 0, errors
        one, other = json.loads(printed), json.loads(expected)
        assert one["params"] == other["params"] and one["period"] == other["period"]
        assert one["log loss"] == pytest.approx(other["log loss"], abs=1e-5)


def test_seasons_are_found_in_all_files_and_may_go_on(table, tmp_path, jaxrate):
    games = written(table, tmp_path / "games")
    (games / "2.parquet").rename(tmp_path / "later.parquet")
    given = "rate", games, "--no-calibrate", "--system", "skills", "--season", "year", "--margin", "for", "against"
    given = *given, "--out", tmp_path / "out", "--json"
    code, printed, errors = jaxrate(*given)
    begun = json.loads(printed)["params"]
    assert code == 0 and len(begun["seasons"]) == 2, errors
    (tmp_path / "later.parquet").rename(games / "2.parquet")
    for _ in range(2):  # margins are larger or smaller in what was added, but the system stays
        code, printed, errors = jaxrate(*given)
        assert code == 0, errors
        found = json.loads(printed)["params"]
        assert found == begun | {"seasons": [*jr.read(table, season="year").seasons.values()]}
    code, _, errors = jaxrate(*given, "--param", "noise=200")
    assert code == 2 and "has hyperparameters {'noise': 300.0}, this one {'noise': 200.0}; go on as it" in errors
    years = table["year"].to_pylist()
    for change, message in (
        ({7: None}, "0.parquet: row 7 (counting from 0): column 'year' has no value"),
        (
            {i: ("1999", "2001")[i % 2] for i in range(1200, N)},
            "2.parquet: row 51 (counting from 0): season '2001', when season '1999' has begun",
        ),
    ):
        wrong = pa.array([change.get(i, year) for i, year in enumerate(years)])
        written(table.set_column(table.column_names.index("year"), "year", wrong), games)
        code, _, errors = jaxrate(*given[:-2], tmp_path / "new", "--json")
        assert code == 2 and message in errors
