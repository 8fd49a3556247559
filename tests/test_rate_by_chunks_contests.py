"""Contests in files, rated by chunks: as in memory, also of teams, after an interruption, and refused where wrong."""

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.history.out_of_core import rating_by_chunks
from tests.conftest import MOSTLY_DOUBLE, mark_full, refused
from tests.test_rate_by_chunks import contents, state_by_player, write_parts

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
ds = pytest.importorskip("pyarrow.dataset")
CONTESTS, CHUNK = 96, 60
SPLIT = [0, 40, 43, CONTESTS]  # contests of three files
TEAMS = jr.skills(team_noise=50.0, growth=4.0, reversion=200.0)


def made_table(sides=(2, 3), largest=3):
    """Contests of teams, some with a tie, of players who come late."""
    random, rows = np.random.default_rng(1), []
    for contest in range(CONTESTS):
        sizes = random.integers(1, largest + 1, random.choice(sides))
        who = random.permutation(12 + contest // 4)[: sizes.sum()]
        rank = random.integers(0, len(sizes), len(sizes))
        for team, place in enumerate(rank):
            low = sizes[:team].sum()
            rows += [(contest // 3, 7 * contest + 3, int(i) * 3 - 8, team, int(place))
                     for i in who[low : low + sizes[team]]]  # fmt: skip
    names = "t", "contest", "player", "team", "rank"
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


@pytest.fixture(scope="module")
def table():
    return made_table()


def written(table, folder):
    """The table in files."""
    number = np.unique(table["contest"].to_numpy(), return_inverse=True)[1]
    return write_parts(table, folder, np.searchsorted(number, SPLIT), row_group_size=77)


def as_text(table):
    """The same contests in disorder, with names and dates; the rows of a contest keep their order."""
    texts = {"contest": pa.array([f"game {x}" for x in table["contest"].to_pylist()])}
    texts |= {"player": pa.array([f"player {x}" for x in table["player"].to_pylist()])}
    days = table["t"].cast(pa.int32()).cast(pa.date32())
    whole = pa.table({"t": days} | texts | {name: table[name] for name in ("team", "rank")})
    return whole.take(pa.array(np.random.default_rng(0).permutation(len(whole))))


def check_is_alike(found, whole, out, wanted, x64):
    """Chunks have shapes of their own, and the compiler rounds otherwise."""
    close = {"rtol": 1e-9, "atol": 1e-9} if x64 else {"rtol": 2e-4, "atol": 2e-2}
    state = state_by_player(found, whole)
    jax.tree.map(lambda mine, theirs: np.testing.assert_allclose(mine, theirs, **close), state, whole.state)
    predictions = ds.dataset(out / "predictions").to_table()
    assert predictions.column_names == wanted.column_names
    for name in predictions.column_names:
        mine, theirs = predictions[name], wanted[name]
        if pa.types.is_floating(theirs.type):
            np.testing.assert_allclose(mine.to_numpy(), theirs.to_numpy(), **close)
        else:
            assert mine.to_pylist() == theirs.to_pylist(), name


@MOSTLY_DOUBLE
@pytest.mark.parametrize("kind", mark_full(["as it stands", "put in order"], "put in order"))
def test_by_chunks_is_in_memory(table, tmp_path, kind, x64):
    if kind == "put in order":
        pytest.importorskip("duckdb")
        table = as_text(table)
    games, out = written(table, tmp_path / "games"), tmp_path / "out"
    if kind == "put in order":
        games = tmp_path / "games.parquet"
        pq.write_table(table, games)
    found = jr.rate(TEAMS, games, chunk=CHUNK, out=out, team="team")
    data = jr.read(table, team="team", sort=True)
    whole = jr.rate(TEAMS, data)
    check_is_alike(found, whole, out, whole.predictions, x64)
    assert len([*(out / "predictions").iterdir()]) > 3 and found.contests == CONTESTS
    assert found.num_rows == len(table) and f"{CONTESTS} contests" in repr(found) and "pair inversion" in repr(found)
    played = jr.metrics.ranking_metrics(data, whole.predictions["prediction"].to_numpy())  # of teams
    assert found.quality == pytest.approx(played, abs=1e-9 if x64 else 2e-3)
    loaded = jr.load(out)
    assert loaded.last == whole.last and jr.leaderboard(loaded).player[0]
    live, later = jr.live.start_history(loaded), whole.last + 9
    names, time = loaded.players[:3].tolist(), later if loaded.clock == "numbers" else np.datetime64(int(later), "D")
    assert len(live.update_round([names[:2], names[2:]], rank=[1, 2], time=time)) == 3


def test_contests_that_stand_apart_come_together(table, tmp_path, double):
    """In chunks one of them would be two."""
    pytest.importorskip("duckdb")
    row = int(np.flatnonzero(np.diff(table["t"].to_numpy()) > 0)[0])  # the last of its time
    first = int(np.flatnonzero(table["t"].to_numpy() == table["t"][row].as_py())[0])
    number = np.arange(len(table))
    order = np.concatenate([number[:first], [row], number[first:row], number[row + 1 :]])
    apart = table.take(pa.array(order))
    pq.write_table(apart, tmp_path / "games.parquet")
    found = jr.rate(TEAMS, tmp_path / "games.parquet", chunk=CHUNK, out=tmp_path / "out", team="team")
    assert found.contests == CONTESTS and found.num_rows == len(table)
    whole = jr.rate(TEAMS, jr.read(apart, team="team", sort=True))
    np.testing.assert_allclose(state_by_player(found, whole).mean, whole.state.mean, atol=0.05)


def test_performances_and_single_players(tmp_path):
    table = made_table(sides=(4,), largest=1).drop_columns("team")
    data, out = jr.read(table), tmp_path / "out"
    found = jr.rate(jr.codeforces(), written(table, tmp_path / "games"), chunk=CHUNK, out=out)
    whole = jr.rate(jr.codeforces(), data)
    check_is_alike(found, whole, out, whole.predictions, False)
    assert "performance" in whole.predictions.column_names


@pytest.mark.filterwarnings("ignore:rank counts from 0")
def test_contests_of_two_sides_have_the_metrics_of_matches(tmp_path):
    table, out = made_table(sides=(2,)), tmp_path / "out"
    games = written(table, tmp_path / "games")
    found = jr.rate(jr.weng_lin(), games, chunk=jr.history.Chunks(CHUNK, brief=True), out=out, team="team")
    data = jr.read(table, team="team")
    whole = jr.rate(jr.weng_lin(), data)
    row, score = jr.metrics.contests_as_matches(data)
    expected = jr.metrics.match_metrics(whole.predictions["prediction"].to_numpy()[row], score)
    assert found.quality == pytest.approx(expected, rel=1e-4)
    assert ds.dataset(out / "predictions").to_table().column_names == ["row", "prediction"]
    loaded = jr.load(out)
    assert (
        (loaded.contests, loaded.num_rows)
        == (found.contests, found.num_rows)
        == (len(data.rounds.start) - 1, len(table))
    )
    assert f"{CONTESTS} contests" in repr(loaded)


def test_a_run_goes_on_after_a_stop(table, tmp_path, monkeypatch, double):
    games, out = written(table, tmp_path / "games"), tmp_path / "out"
    monkeypatch.setattr(rating_by_chunks, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(rating_by_chunks, "CHECKPOINT_WORK_RATIO", 0.0)

    def stop(rows):
        if rows > 120:
            raise OSError("stop")

    def rate(out, progress=None):
        chunk = jr.history.Chunks(CHUNK, progress=progress)
        return jr.rate(jr.weng_lin(), games, chunk=chunk, out=out, team="team")

    with pytest.raises(OSError, match="what was rated by the last checkpoint is kept"):
        rate(out, progress=stop)
    assert not (out / "ratings.parquet").exists()
    resumed, at_once = rate(out), rate(tmp_path / "at once")
    assert contents(out) == contents(tmp_path / "at once") and resumed.quality == at_once.quality
    with refused("the run in"):
        jr.rate(jr.weng_lin(), games, chunk=CHUNK, out=out)  # without teams
    late = table.slice(len(table) - 1)
    pq.write_table(late, games / "3.parquet")
    with refused("it is in the same contest as the last participation that is rated"):
        rate(out)
    pq.write_table(late.set_column(1, "contest", pa.array([9999])), games / "3.parquet")
    assert rate(out).contests == CONTESTS + 1


def test_wrong_rows_are_named(table, tmp_path):
    games = written(table, tmp_path / "games")
    row = int(np.flatnonzero(np.diff(table["team"].to_numpy()) == 0)[0])
    ranks = table["rank"].to_numpy().copy()
    ranks[row + 1] += 1
    pq.write_table(table.set_column(4, "rank", pa.array(ranks)), games / "0.parquet")
    for path in games.glob("[12].parquet"):
        path.unlink()
    with refused(f"0.parquet: row {row + 1} (counting from 0): rank"):
        jr.rate(TEAMS, games, out=tmp_path / "out", team="team")
    written(table, games)
    for system, options, message in (
        (jr.elo_mmr(), {"team": "team"}, "elo_mmr knows no teams"),
        (jr.glicko(), {}, "glicko rates"),
        (TEAMS, {"side": "team"}, "contests take no side"),
        (TEAMS, {"period": 7.0}, "contests are rated one by one; leave out period"),
    ):
        with refused(message):
            jr.rate(system, games, out=tmp_path / f"out {message[:9]}", **options)


def test_the_command_line(jaxrate, table, tmp_path, double):
    games, out = written(table, tmp_path / "games"), tmp_path / "out"
    values = "beta=4", "drift=none"
    given = "--system", "weng_lin", *(x for value in values for x in ("--param", value)), "--team", "team"
    code, text, errors = jaxrate("rate", games, *given, "--out", out, "--chunk", CHUNK)
    assert code == 0 and text.startswith(f"weng_lin: {CONTESTS} contests, {len(table):,} participations of"), errors
    assert "pairs in order" in text
