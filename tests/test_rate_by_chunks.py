"""Matches in files, rated by chunks: as in memory, also after an interruption, and refused where they are wrong."""

import errno
import itertools
import json
import warnings
from functools import partial
from itertools import pairwise

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import slice_events
from jaxrate.history.out_of_core import chunk_pipeline, duckdb_sort, player_ids, rating_by_chunks, table_reading
from tests.conftest import MOSTLY_DOUBLE, mark_full, refused

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
ds = pytest.importorskip("pyarrow.dataset")


N, CHUNK = 3000, 700
SPLIT = [0, 1100, 1150, N]  # rows of three files


def made_table():
    """Names as they come, some of whom play late; some matches at the same time."""
    league = jr.data.simulate.league(300, N, seed=3, activity=0.5, draws=0.2)
    a, b = (league.matches.player * 7 - 40).T
    side = np.where(np.arange(N) % 3, 1.0, 0.0)
    return pa.table({"a": a, "b": b, "score": league.matches.score, "t": league.matches.time // 1, "home": side})


@pytest.fixture(scope="module")
def table():
    return made_table()


def write_parts(table, folder, split, row_group_size):
    """The rows of a table from each of these to the next, in a file each."""
    folder.mkdir(exist_ok=True)
    for i, (low, high) in enumerate(pairwise(split)):
        pq.write_table(table.slice(low, high - low), folder / f"{i}.parquet", row_group_size=row_group_size)
    return folder


def written(table, folder):
    """The table in files."""
    return write_parts(table, folder, SPLIT, row_group_size=333)


def as_text(table):
    """The same matches in disorder, with names and dates."""
    names = {side: pa.array([f"player {x}" for x in table[side].to_pylist()]) for side in "ab"}
    days = table["t"].cast(pa.int32()).cast(pa.date32())
    whole = pa.table(names | {"score": table["score"], "t": days, "home": table["home"]})
    return whole.take(pa.array(np.random.default_rng(0).permutation(N)))


SYSTEMS = {"elo": jr.elo(), "glicko2": jr.glicko2(side_advantage=0.2)}


def state_by_player(found, whole):
    """The state of a history with the players in the order of another; they have the same games."""
    order = np.array([found.players.tolist().index(x) for x in whole.players.tolist()])
    assert len(found.players) == len(order) and found.games[order].tolist() == whole.games.tolist()
    return jax.tree.map(lambda x: np.asarray(x)[order], found.state)


def contents(folder):
    """What all the files of a run hold."""
    return {str(x.relative_to(folder)): x.read_bytes() for x in sorted(folder.rglob("*")) if x.is_file()}


@MOSTLY_DOUBLE
@pytest.mark.parametrize(
    ("name", "kind"),
    mark_full(
        [*itertools.product(SYSTEMS, ["as it stands", "put in order"])],
        ("elo", "as it stands"),
        ("glicko2", "put in order"),
    ),
)
def test_by_chunks_is_in_memory(table, tmp_path, kind, name, x64):
    system = SYSTEMS[name]
    if kind == "put in order":
        pytest.importorskip("duckdb")
        table = as_text(table)
    found = jr.rate(system, written(table, tmp_path / "games"), chunk=CHUNK, out=tmp_path / "out", side="home")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some matches repeat others
        data = jr.read(table, side="home", sort=True)
    whole = jr.rate(system, data)
    assert kind == "put in order" or found.players.tolist() == whole.players.tolist()
    jax.tree.map(np.testing.assert_array_equal, state_by_player(found, whole), whole.state)
    predictions = ds.dataset(tmp_path / "out" / "predictions").to_table()
    for name in whole.predictions.column_names:
        assert predictions[name].to_pylist() == whole.predictions[name].to_pylist(), name
    expected = jr.metrics.match_metrics(whole.predictions["prediction"].to_numpy(), data.matches.score)
    assert found.quality == pytest.approx(expected, rel=1e-9)
    ratings = pq.read_table(tmp_path / "out" / "ratings.parquet")
    assert ratings["player"].to_pylist() == jr.history.rating_table(whole)["player"].tolist()
    assert {x.name for x in (tmp_path / "out").iterdir()} == {"predictions", "ratings.parquet", "checkpoint"}


def test_chunks_draw_by_their_numbers(table, tmp_path):
    decided = table.filter(pa.compute.not_equal(table["score"], 0.5)).slice(0, 60)
    pq.write_table(decided, tmp_path / "games.parquet")
    system, key, data = jr.urnings(), jax.random.key(5), jr.read(decided)
    found = jr.rate(
        system, tmp_path / "games.parquet", chunk=jr.history.Chunks(30, brief=True), out=tmp_path / "out", key=key
    )
    state = None
    for number in range(2):
        part = slice_events(data.matches, 30 * number, 30 * (number + 1))
        chunk_key = jax.random.fold_in(key, number)
        state = jr.run(system, part, state=state, num_players=len(data.players), key=chunk_key).state
    jax.tree.map(np.testing.assert_array_equal, found.state, state)


def test_a_chunk_is_compiled_once(table, tmp_path, monkeypatch):
    """Chunks of other lengths and depths go through the program of the first, or a deeper one."""
    programs = set()
    given = chunk_pipeline.execute_plan

    def counted(rules, params, state, plan, *more, **options):
        programs.add((plan.size, None if plan.number is None else plan.number.shape))
        return given(rules, params, state, plan, *more, **options)

    monkeypatch.setattr(chunk_pipeline, "execute_plan", counted)
    jr.rate(
        jr.trueskill(),
        written(table, tmp_path / "games"),
        chunk=jr.history.Chunks(100, brief=True),
        out=tmp_path / "out",
    )
    assert len(programs) <= 2
    predictions = ds.dataset(tmp_path / "out" / "predictions").to_table()
    assert predictions.column_names == ["row", "prediction"] and len(predictions) == N


def test_wrong_rows_and_files_are_named_and_the_run_goes_on_once_they_are_mended(table, tmp_path, monkeypatch):
    games, out = written(table, tmp_path / "games"), tmp_path / "out"
    monkeypatch.setattr(rating_by_chunks, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(rating_by_chunks, "CHECKPOINT_WORK_RATIO", 0.0)
    monkeypatch.setattr(table_reading, "RECOGNITION_ROWS", 500)

    def rate():
        return jr.rate(jr.elo(), games, chunk=500, out=out)

    whole = (games / "2.parquet").read_bytes()
    scores = pq.read_metadata(games / "2.parquet").row_group(4).column(2)
    place, size = scores.dictionary_page_offset, scores.total_compressed_size
    (games / "2.parquet").write_bytes(whole[:place] + bytes(size) + whole[place + size :])
    with pytest.raises(ValueError, match="^2.parquet: .*is kept in .*out: once this is mended, rate again to go on"):
        rate()
    (games / "2.parquet").write_bytes(whole)
    with pytest.raises(ValueError, match="has hyperparameters .*go on as it began"):
        jr.rate(jr.elo(k=10), games, chunk=500, out=out)

    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(rating_by_chunks, "flush_to_disk", full)
    with pytest.raises(OSError, match="No space left on device; what was rated by the last checkpoint is kept"):
        rate()
    monkeypatch.undo()
    rate()
    jr.rate(jr.elo(), games, chunk=500, out=tmp_path / "at once")
    assert contents(out) == contents(tmp_path / "at once")
    pq.write_table(table.slice(0, 9), games / "0.parquet")
    with pytest.raises(ValueError, match=r"is of other data \(0.parquet has changed\)"):
        rate()
    raw = (out / "checkpoint").read_bytes()
    (out / "checkpoint").write_bytes(raw[:-9])
    with pytest.raises(ValueError, match="checkpoint is damaged"):
        rate()


def test_rows_are_put_in_order_once(table, tmp_path, monkeypatch):
    """A run that ended before its first checkpoint, and one that had, find them as they were left."""
    pytest.importorskip("duckdb")
    games, out = written(as_text(table), tmp_path / "games"), tmp_path / "out"
    given, left = chunk_pipeline.execute_plan, 0

    def broken(*arguments, **options):
        nonlocal left
        if left == 0:
            raise OSError(errno.EIO, "Input/output error")
        left -= 1
        return given(*arguments, **options)

    with monkeypatch.context() as changed:
        changed.setattr(rating_by_chunks, "CHECKPOINT_SECONDS", 0.0)
        changed.setattr(rating_by_chunks, "CHECKPOINT_WORK_RATIO", 0.0)
        changed.setattr(chunk_pipeline, "execute_plan", broken)
        for chunks in (0, 1):
            left = chunks
            with pytest.raises(OSError, match="Input/output error"):
                jr.rate(jr.elo(), games, chunk=1000, out=out)
            changed.setattr(duckdb_sort, "import_duckdb", lambda: pytest.fail("rows are put in order again"))
    assert (out / "checkpoint").exists()
    found = jr.rate(jr.elo(), games, chunk=1000, out=out)
    whole = jr.rate(jr.elo(), games, chunk=1000, out=tmp_path / "whole")
    np.testing.assert_array_equal(found.state.rating, whole.state.rating)
    assert contents(out) == contents(tmp_path / "whole")


def test_files_that_were_added_are_rated_onto_a_run_that_had_ended(table, tmp_path):
    games = written(table, tmp_path / "games")
    (games / "2.parquet").rename(tmp_path / "later.parquet")
    run = jr.rate(jr.elo(), games, chunk=500, out=tmp_path / "out")
    (tmp_path / "later.parquet").rename(games / "2.parquet")
    found = jr.rate(run.system, games, chunk=500, out=tmp_path / "out")
    whole = jr.rate(jr.elo(), games, chunk=500, out=tmp_path / "whole")
    np.testing.assert_array_equal(found.state.rating, whole.state.rating)
    pq.write_table(table.slice(0, 9), games / "3.parquet")
    with pytest.raises(ValueError, match=r"3.parquet: row 0 \(counting from 0\): the time is earlier"):
        jr.rate(jr.elo(), games, chunk=500, out=tmp_path / "out")


def test_as_many_names_as_come_have_room_and_later_files_may_have_more(table, tmp_path, monkeypatch):
    monkeypatch.setattr(player_ids, "FIRST_CAPACITY", 16)
    names = {side: pa.array([f"player {x}" for x in table[side].to_pylist()]) for side in "ab"}
    table = pa.table(names | {name: table[name] for name in ("score", "t")})
    games = written(table, tmp_path / "games")
    (games / "2.parquet").rename(tmp_path / "later.parquet")
    early = jr.rate(jr.elo(), games, chunk=300, out=tmp_path / "out")
    (tmp_path / "later.parquet").rename(games / "2.parquet")
    found, whole = jr.rate(jr.elo(), games, chunk=300, out=tmp_path / "out"), jr.rate(jr.elo(), jr.read(table))
    assert 16 < len(early.players) < len(found.players) and found.players.tolist() == whole.players.tolist()
    np.testing.assert_allclose(found.state.rating, whole.state.rating, rtol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x.set_column(2, "score", pa.array([0.5] * 9 + [1.5])), r"1.parquet: row 9 \(.*score 1.5 is outside"),
        (lambda x: x.set_column(1, "b", x["a"]), r"1.parquet: row 0 \(.*: 576 is on both sides"),
        (lambda x: x.set_column(3, "t", pa.array([1.0, None] * 5)), r"1.parquet: row 1 \(.*'t' has no value"),
        (
            lambda x: x.set_column(0, "a", pa.array([None, *range(9)], pa.int32())),
            r"1.parquet: row 0 \(.*column 'a' has no value",
        ),
        (lambda x: x.drop_columns(["score"]), "1.parquet: there is no column 'score', unlike 0.parquet"),
        (lambda x: x.set_column(2, "score", pa.array([1] * 10)), "column 'score' is of int64, not of double"),
    ],
)
def test_rows_are_named_as_those_of_their_file(table, tmp_path, change, message):
    pq.write_table(table.slice(0, 30), tmp_path / "0.parquet")
    pq.write_table(change(table.slice(30, 10)), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=message):
        jr.rate(jr.elo(), [tmp_path / "0.parquet", tmp_path / "1.parquet"], out=tmp_path / "out")


def test_what_a_system_cannot_rate_is_named_as_the_row_of_its_file(table, tmp_path):
    names = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    for i, (name, score) in enumerate(zip(names, ([1.0] * 10, [1.0] * 9 + [0.5]), strict=True)):
        pq.write_table(table.slice(10 * i, 10).set_column(2, "score", pa.array(score)), name)
    with pytest.raises(ValueError, match=r"1.parquet: row 9 \(counting from 0\): score 0.5 is none of 0"):
        jr.rate(jr.urnings(), names, chunk=6, out=tmp_path / "out")


def test_empty_files_and_columns_of_structs_are_passed_over(table, tmp_path):
    pairs = pa.array([{"x": 10**6, "y": 10**6 + i} for i in range(100)])
    few = table.slice(0, 100)
    for name, part in ("0", few.slice(0, 60)), ("1", few.slice(0, 0)), ("2", few.slice(60)):
        whole = part.add_column(0, "pair", pairs.slice(0, len(part)))
        with pq.ParquetWriter(tmp_path / f"{name}.parquet", whole.schema) as file:
            if len(whole):
                file.write_table(whole)
    found = jr.rate(jr.elo(), tmp_path, chunk=50, out=tmp_path / "out")
    whole = jr.rate(jr.elo(), jr.read(few))
    assert found.players.tolist() == whole.players.tolist()
    np.testing.assert_array_equal(found.state.rating, whole.state.rating)


def test_names_may_be_categories_and_folders_are_no_columns(table, tmp_path):
    pytest.importorskip("duckdb")
    few = table.slice(0, 100)
    a, b = (pa.array([str(x) for x in few[side].to_pylist()]) for side in "ab")
    (tmp_path / "a=1").mkdir()
    given = few.set_column(0, "a", a.dictionary_encode()).set_column(1, "b", b.cast(pa.large_string()))
    pq.write_table(given, tmp_path / "a=1" / "0.parquet")
    found = jr.rate(jr.elo(), str(tmp_path / "*" / "*.parquet"), out=tmp_path / "out")
    whole = jr.rate(jr.elo(), jr.read(few.set_column(0, "a", a).set_column(1, "b", b)))
    assert found.players.tolist() == whole.players.tolist()
    np.testing.assert_array_equal(found.state.rating, whole.state.rating)


def test_no_file_of_others_is_touched_and_none_of_its_own_may_be_missing(table, tmp_path):
    (tmp_path / "predictions").mkdir()
    pq.write_table(table.slice(0, 50), tmp_path / "predictions" / "games.parquet")
    for out in (tmp_path, tmp_path / "predictions"):
        with pytest.raises(ValueError, match="has the files that are to be rated; name another folder"):
            jr.rate(jr.elo(), tmp_path / "predictions", out=out)
    out = tmp_path / "out"
    (out / "predictions").mkdir(parents=True)
    (out / "predictions" / "mine.parquet").touch()
    (out / ".checkpoint.1.tmp").touch()  # of a process that was killed
    jr.rate(jr.elo(), tmp_path / "predictions", chunk=20, out=out)
    assert (out / "predictions" / "mine.parquet").exists() and not (out / ".checkpoint.1.tmp").exists()
    (out / "predictions" / "part-000001.parquet").unlink()
    with pytest.raises(ValueError, match=r"predictions/part-000001.parquet is missing in .*out; put it back"):
        jr.rate(jr.elo(), tmp_path / "predictions", chunk=20, out=out)


def test_the_command_rates_a_folder_and_goes_on(table, tmp_path, jaxrate):
    games, out = written(table, tmp_path / "games"), tmp_path / "out"
    code, _, errors = jaxrate("rate", games, "--system", "elo")
    assert code == 2 and "name one with --out" in errors
    for more, message in (
        (["--out", out, "--show", "peaks"], "--show cannot be combined with rating in chunks"),
        (["--out", out, "--column", "rest=9"], "--column rest cannot be combined with rating in chunks"),
        (["--out", games / "0.parquet"], "is a file; name a folder"),
        (["--out", out, "--chunk", 0], "chunk must be a whole number from 1, got 0"),
    ):
        code, _, errors = jaxrate("rate", games, "--system", "elo", *more)
        assert code == 2 and message in errors
    given = "rate", games, "--system", "elo", "--out", out, "--chunk", "500"
    code, printed, errors = jaxrate(*given)
    assert code == 0 and printed.startswith("elo: 3,000 matches of 300 players") and "log loss" in printed, errors
    code, printed, errors = jaxrate(*given, "--json")
    assert code == 0 and json.loads(printed)["matches"] == N and f"going on with the run in {out}" in errors
    code, _, errors = jaxrate("report", out, "--out", tmp_path / "report.html")
    assert code == 2 and "out holds what was rated by chunks, not matches" in errors


def test_a_folder_is_read_into_memory_and_the_first_of_it_compared(table, tmp_path, jaxrate):
    games = written(table, tmp_path / "games")
    whole, one = jr.read(games, side="home"), jr.read(table, side="home")
    np.testing.assert_array_equal(whole.matches.player, one.matches.player)
    assert whole.players.tolist() == one.players.tolist()
    code, printed, said = jaxrate("compare", games, "--system", "elo", "--first", "1200", "--json")
    assert code == 0 and json.loads(printed)["matches"] == 1200, said
    assert "read the first 1,200 of 3,000 rows" in said


@pytest.mark.filterwarnings("ignore:took t as dates")
def test_dates_in_numbers(table, tmp_path):
    """Of eight digits, or seconds since 1970, as in memory."""
    late = pa.array(table["t"].to_numpy().astype(np.int32) + 11_000).cast(pa.date32()).to_pylist()
    digits = pa.array([10000 * day.year + 100 * day.month + day.day for day in late])
    seconds = pa.array(np.array(late, "datetime64[s]").astype(int))
    place, results = table.column_names.index("t"), []
    for name, times in (("digits", digits), ("seconds", seconds), ("dates", pa.array(late))):
        games = written(table.set_column(place, "t", times), tmp_path / name)
        results.append(jr.rate(jr.glicko2(), games, out=tmp_path / f"{name} rated"))
    for found in results[:2]:
        assert found.clock == "dates" and found.last == results[2].last
        np.testing.assert_array_equal(found.state.rating, results[2].state.rating)


def named_table():
    """Columns as people call them, of which one is that of the points of both sides."""
    table = as_text(made_table()).sort_by("t")
    goals = [np.rint(2 * x).astype(int) for x in (table["score"].to_numpy(), 1 - table["score"].to_numpy())]
    names = {"Date": table["t"], "HomeTeam": table["a"], "AwayTeam": table["b"], "FTHG": goals[0], "FTAG": goals[1]}
    return pa.table(names).slice(0, 900)


def test_by_chunks_columns_are_recognised_as_in_memory(jaxrate, tmp_path):
    """And the run is looked at, predicted and published as another."""
    pytest.importorskip("duckdb")
    pq.write_table(named_table(), tmp_path / "games.parquet")
    out, whole = tmp_path / "out", tmp_path / "whole"
    options = "--param", "side_advantage=50"
    code, _, errors = jaxrate("rate", tmp_path / "games.parquet", *options, "--chunk", 250, "--out", out)
    assert code == 0 and "took HomeTeam and AwayTeam for a and b, the first of whom has the side" in errors
    assert errors.count("took") == 1
    assert jaxrate("rate", tmp_path / "games.parquet", *options, "--out", whole)[0] == 0
    one, two = jr.load(out), jr.load(whole)
    assert one.system == two.system and one.predictions.drop(["row"]).equals(two.predictions.drop(["row"]))
    player = two.players[0]
    careers = [jaxrate("rate", "--state", run, "--player", player)[1].split("\n\n", 1)[1] for run in (out, whole)]
    assert careers[0] == careers[1] and "home" in careers[0]
    (tmp_path / "coming.csv").write_text(f"a,b\n{two.players[0]},{two.players[1]}\n")
    rows = [jaxrate("predict", run, tmp_path / "coming.csv", "--json")[1] for run in (out, whole)]
    assert json.loads(rows[0]) == json.loads(rows[1])
    code, text, errors = jaxrate("site", out, "--out", tmp_path / "site")
    assert code == 0 and f"{len(two.players)} players" in text, errors


def test_brief_runs_say_that_their_predictions_are_in_files(table, tmp_path, jaxrate):
    out = tmp_path / "out"
    assert jaxrate("rate", written(table, tmp_path / "games"), "--system", "elo", "--brief", "--out", out)[0] == 0
    for arguments in (("rate", "--state", out, "--player", "2"), ("site", out, "--out", tmp_path / "site")):
        code, _, errors = jaxrate(*arguments)
        assert code == 2 and "predictions of this run by chunks are in its files alone" in errors
    rated = jr.load(out)
    for draw in (
        partial(jr.plots.trajectory, players=2),
        partial(jr.plots.ranks, players=2),
        jr.plots.loss_by_difference,
    ):
        with refused("predictions of this run by chunks are in its files alone"):
            draw(rated)
    assert f"elo: {N:,} matches of" in jaxrate("rate", "--state", out)[1]


@pytest.mark.filterwarnings("ignore:took")
def test_a_folder_of_csv_is_one_table(tmp_path):
    table, folder = named_table(), tmp_path / "games"
    folder.mkdir()
    for i in range(2):
        jr.data.write(table.slice(450 * i, 450), folder / f"{i}.csv")
    (folder / "notes.txt").write_text("no table")
    found, wanted = jr.read(folder), jr.read(table)
    np.testing.assert_array_equal(found.players[found.matches.player], wanted.players[wanted.matches.player])
    np.testing.assert_array_equal(found.matches.time, wanted.matches.time)
    lines = (folder / "1.csv").read_text().splitlines()
    (folder / "1.csv").write_text("\n".join([*lines[:3], lines[3].rpartition(",")[0] + ",x", *lines[4:]]))
    with pytest.raises(ValueError, match=r"^1\.csv: row 2 \(counting from 0, line 4\)"):
        jr.read(folder, margin=["FTHG", "FTAG"])
    (folder / "1.csv").write_text("a,b\nx,y\n")
    with pytest.raises(ValueError, match=r"^1\.csv: there is no column 'Date', unlike 0\.csv; write all files alike"):
        jr.read(folder)


def test_numbers_of_players_further_apart_than_int64_reaches_are_names(tmp_path):
    """The difference of the greatest and the least wrapped round, and no array had room for the numbers between."""
    far = [-(2**62) - 5, 2**62 + 5, 7]
    table = pa.table({"a": [far[0], far[1]], "b": [far[1], far[2]], "score": [1.0, 0.0]})
    pq.write_table(table, tmp_path / "far.parquet")
    rated = jr.rate(jr.elo(), tmp_path / "far.parquet", chunk=1, out=tmp_path / "rated")
    assert rated.players.tolist() == far
