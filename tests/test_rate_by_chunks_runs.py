"""Runs by chunks: stopped, killed and gone on with, of files that are wrong, changed or added, and by the command."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from itertools import pairwise

import jax
import numpy as np
import pytest

import jaxrate as jr
from jaxrate.events import slice_events
from jaxrate.history.out_of_core import chunk_reading, rating_by_chunks
from jaxrate.history.out_of_core.checkpoints import remove_leftover_run_files
from tests.conftest import mark_full, refused
from tests.test_rate_by_chunks import CASES, contests, write_parts

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
ds = pytest.importorskip("pyarrow.dataset")
pytestmark = pytest.mark.filterwarnings("ignore:.* matches repeat an earlier one", "ignore:took team a and team b")
N, CHUNK = 3000, 500
SPLIT = [0, 1100, 1150, N]  # rows of three files


@pytest.fixture(scope="module")
def table():
    """Numbers for names as they come, some of whom play late; some matches at the same time; evidence and years."""
    league, random = jr.data.simulate.league(300, N, seed=3, activity=0.5, draws=0.2), np.random.default_rng(1)
    a, b = (league.matches.player * 7 - 40).T
    time, score, lost = league.matches.time // 1, league.matches.score, random.integers(0, 30, N)
    won = lost + np.sign(score - 0.5).astype(int) * random.integers(1, 30, N)
    years = [f"{2000 + int(x) // 365}" for x in time]
    more = {"for": won, "against": lost, "rest": random.normal(size=N), "year": years}
    return pa.table({"a": a, "b": b, "score": score, "t": time} | more)


@pytest.fixture
def games(table, tmp_path):
    """The table in files."""
    return write_parts(table, tmp_path / "games", SPLIT, row_group_size=333)


@pytest.fixture
def often(monkeypatch):
    """A checkpoint after each chunk."""
    monkeypatch.setattr(rating_by_chunks, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(rating_by_chunks, "CHECKPOINT_WORK_RATIO", 0.0)


def as_text(table):
    """The same matches in disorder, with names and dates."""
    names = {side: pa.array([f"player {x}" for x in table[side].to_pylist()]) for side in "ab"}
    days = table["t"].cast(pa.int32()).cast(pa.date32())
    whole = pa.table(names | {"score": table["score"], "t": days})
    return whole.take(pa.array(np.random.default_rng(0).permutation(N)))


def contents(folder):
    """What all the files of a run hold."""
    return {str(x.relative_to(folder)): x.read_bytes() for x in sorted(folder.rglob("*")) if x.is_file()}


def stop_at(monkeypatch, chunk, stop):
    """Do this when a run comes to a chunk."""
    given, left = rating_by_chunks.replay_plan, chunk

    def watched(*arguments, **options):
        nonlocal left
        left -= 1
        if left == 0:
            stop()
        return given(*arguments, **options)

    monkeypatch.setattr(rating_by_chunks, "replay_plan", watched)


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def fail(number=errno.EIO, message="Input/output error"):
    raise OSError(number, message)


@pytest.mark.parametrize(
    "name", ["glicko2", "periods", "margins and covariates", "contests of teams", "line-ups in text"]
)
@pytest.mark.parametrize("stop", [press_ctrl_c, fail], ids=["Ctrl-C", "an error"])
def test_a_run_that_was_stopped_ends_with_the_same_files(name, stop, tmp_path, monkeypatch, often):
    system, columns, period = CASES[name].system, CASES[name].columns or {}, CASES[name].period
    games = write_parts(pa.table(CASES[name].table), tmp_path / "games", [0, 120, len(pa.table(CASES[name].table))])
    rate = partial(jr.rate, system, games, chunk=70, period=period, **columns)
    with (
        monkeypatch.context() as changed,
        pytest.raises((KeyboardInterrupt, OSError), match="kept in .*rate again to go on"),
    ):
        stop_at(changed, 3, stop)
        rate(out=tmp_path / "out")
    assert (tmp_path / "out" / "checkpoint").exists() and not (tmp_path / "out" / "ratings.parquet").exists()
    resumed, whole = rate(out=tmp_path / "out"), rate(out=tmp_path / "at once")
    assert contents(tmp_path / "out") == contents(tmp_path / "at once") and resumed.quality == whole.quality


def test_who_lives_on_after_the_signal_is_told_that_not_all_is_rated(games, tmp_path):
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    chunk = jr.history.Chunks(CHUNK, progress=lambda rows: os.kill(os.getpid(), signal.SIGTERM))
    try:
        with pytest.raises(KeyboardInterrupt, match="of 3,000 rows are rated and kept in .*; rate again to go on"):
            jr.rate(jr.elo(), games, chunk=chunk, out=tmp_path / "out")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (tmp_path / "out" / "checkpoint").exists() and not (tmp_path / "out" / "ratings.parquet").exists()


def test_signals_that_are_ignored_or_not_heard_by_python_are_left_alone(games, tmp_path, monkeypatch):
    getsignal, changed = signal.getsignal, []
    handlers = {signal.SIGTERM: None, signal.SIGINT: signal.SIG_IGN}  # None: of C, which Python cannot put back
    monkeypatch.setattr(signal, "getsignal", lambda number: handlers.get(number, getsignal(number)))
    monkeypatch.setattr(signal, "signal", lambda number, handler: changed.append(number))
    found = jr.rate(jr.elo(), games, chunk=1000, out=tmp_path / "out")
    assert found.num_rows == 3000 and not {*changed} & {*handlers}


@pytest.mark.parametrize("ended", [KeyboardInterrupt, SystemExit])
def test_a_signal_is_heard_while_rows_are_put_in_order(table, tmp_path, monkeypatch, ended):
    games = write_parts(as_text(table), tmp_path / "games", SPLIT)
    alarm = threading.Timer(0.3, press_ctrl_c)

    def endless(*arguments):
        if not alarm.is_alive():
            alarm.start()
        while True:
            yield pa.record_batch({"_time": [0.0] * 9999, "_row": [0] * 9999})

    def hear(number, frame):
        raise ended

    monkeypatch.setattr(chunk_reading, "_iterate_batches_to_sort", endless)
    before = signal.signal(signal.SIGINT, hear)
    try:
        with pytest.raises(ended):
            jr.rate(jr.elo(), games, out=tmp_path / "out")
    finally:
        signal.signal(signal.SIGINT, before)


def test_rows_are_put_in_order_once(table, tmp_path, monkeypatch, often):
    """A run that ended before its first checkpoint, and one that had, find them as they were left."""
    games, out = write_parts(as_text(table), tmp_path / "games", SPLIT), tmp_path / "out"
    for chunk in (1, 2):
        with monkeypatch.context() as changed, pytest.raises(OSError, match="Input/output error"):
            stop_at(changed, chunk, fail)
            jr.rate(jr.elo(), games, chunk=1000, out=out)
        monkeypatch.setattr(chunk_reading, "import_optional", lambda name: pytest.fail("rows are put in order again"))
    assert (out / "checkpoint").exists()
    jr.rate(jr.elo(), games, chunk=1000, out=out)
    monkeypatch.undo()
    jr.rate(jr.elo(), games, chunk=1000, out=tmp_path / "whole")
    assert contents(out) == contents(tmp_path / "whole")


KILLED = """
import os, random, signal, sys, time
import jaxrate as jr
from jaxrate.history.out_of_core import rating_by_chunks
games, out, kills, often = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
rating_by_chunks.CHECKPOINT_SECONDS = rating_by_chunks.CHECKPOINT_WORK_RATIO = 0.0

def work(write, attempt):
    if attempt == 0:
        rating_by_chunks.CHECKPOINT_SECONDS = 1e9  # the checkpoint is that of the signal
    rate = rating_by_chunks.replay_plan
    def told(*given, **options):
        os.write(write, b".")
        time.sleep(often)
        return rate(*given, **options)
    rating_by_chunks.replay_plan = told
    jr.rate(jr.elo(), games, chunk=100, out=out)

random.seed(5)
attempts = kills + 2  # the first is asked to end
for attempt in range(attempts):
    read, write = os.pipe()
    child = os.fork()  # before anything of JAX runs here
    if child == 0:
        os.close(read)
        work(write, attempt)
        os._exit(0)
    os.close(write)
    if attempt < attempts - 1:
        os.read(read, 1)
        time.sleep(random.uniform(0, 8 * often))
        os.kill(child, signal.SIGKILL if attempt else signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    assert attempt or os.path.exists(out + "/checkpoint")
    print(status, flush=True)
    os.close(read)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
@pytest.mark.parametrize("kills", mark_full([1, 4], 1))
def test_killed_at_random_moments_it_ends_with_the_same_files(games, tmp_path, kills):
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    environment = os.environ | {"XLA_FLAGS": os.environ.get("XLA_FLAGS", "") + " --xla_backend_optimization_level=0"}
    command = [sys.executable, script, games, tmp_path / "killed", str(kills), "0.02"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout.split() == ["15", *["9"] * kills, "0"], done.stderr
    jr.rate(jr.elo(), games, chunk=100, out=tmp_path / "at once")
    assert contents(tmp_path / "killed") == contents(tmp_path / "at once")


def test_chunks_draw_by_their_numbers(table, tmp_path):
    decided = table.filter(pa.compute.not_equal(table["score"], 0.5)).slice(0, 60)
    pq.write_table(decided, tmp_path / "games.parquet")
    system, key, data = jr.urnings(), jax.random.key(5), jr.read(decided)
    chunk = jr.history.Chunks(30, brief=True)
    found = jr.rate(system, tmp_path / "games.parquet", chunk=chunk, out=tmp_path / "out", key=key)
    state = None
    for number in range(2):
        part = slice_events(data.matches, 30 * number, 30 * (number + 1))
        chunk_key = jax.random.fold_in(key, number)
        state = jr.run(system, part, state=state, num_players=len(data.players), key=chunk_key).state
    jax.tree.map(np.testing.assert_array_equal, found.state, state)


def test_chunks_and_periods_of_many_sizes_share_few_programs(games, tmp_path, monkeypatch):
    """Random sizes would ask for a program or two for each chunk. (Those of periods are counted, and not run.)"""
    programs, given = set(), rating_by_chunks.replay_plan

    def count(rules, params, state, events, plan, *more):
        programs.update((x.size, x.number.shape, plan.room) for x in plan.blocks)
        return given(rules, params, state, events, plan, *more)

    def count_periods(rules, params, state, events, plan, *more):
        programs.update((x.size, x.number.shape, plan.room[1:]) for x in plan.blocks)
        return state, np.full(plan.room[2], 0.5)

    monkeypatch.setattr(rating_by_chunks, "replay_plan", count)
    jr.rate(jr.trueskill(), games, chunk=jr.history.Chunks(100, brief=True), out=tmp_path / "out")
    predictions = ds.dataset(tmp_path / "out" / "predictions").to_table()
    assert len(programs) <= 2 and predictions.column_names == ["row", "prediction"] and len(predictions) == N
    random = np.random.default_rng(0)
    days = np.repeat(np.arange(400.0), random.poisson(random.lognormal(3.0, 1.2, 400)))
    a = random.integers(0, 500, len(days))
    table = {"a": a, "b": (a + random.integers(1, 500, len(days))) % 500, "score": a % 2, "t": days}
    pq.write_table(pa.table(table), tmp_path / "periods.parquet")
    monkeypatch.setattr(rating_by_chunks, "replay_plan", count_periods)
    programs, chunk, out = set(), jr.history.Chunks(500, brief=True), tmp_path / "by periods"
    jr.rate(jr.elo(), tmp_path / "periods.parquet", chunk=chunk, out=out, period=1.0)
    parts = [days[pq.read_table(part)["row"]] for part in sorted((out / "predictions").iterdir())]
    assert len(programs) <= 16 and len(parts) > 30, (len(programs), len(parts))
    assert all(one[-1] < other[0] for one, other in pairwise(parts))  # whole periods, though some exceed a chunk
    assert np.concatenate(parts).tolist() == days.tolist() and np.bincount(days.astype(int)).max() > 500


@pytest.mark.parametrize("names", ["numbers", "text"])
def test_as_many_names_as_come_have_room_and_later_files_may_have_more(names, table, tmp_path, monkeypatch):
    monkeypatch.setattr(chunk_reading, "FIRST_CAPACITY", 16)
    monkeypatch.setattr(chunk_reading, "SMALL_ID_RANGE", 64)  # so that few numbers are in a table, and more are not
    if names == "text":
        sides = {side: pa.array([f"player {x}" for x in table[side].to_pylist()]) for side in "ab"}
        table = pa.table(sides | {name: table[name] for name in ("score", "t")})
    games = write_parts(table, tmp_path / "games", SPLIT)
    (games / "2.parquet").rename(tmp_path / "later.parquet")
    early = jr.rate(jr.elo(), games, chunk=300, out=tmp_path / "out")
    (tmp_path / "later.parquet").rename(games / "2.parquet")
    found, whole = jr.rate(early.system, games, chunk=300, out=tmp_path / "out"), jr.rate(jr.elo(), jr.read(games))
    assert 16 < len(early.players) < len(found.players) and found.players.tolist() == whole.players.tolist()
    np.testing.assert_allclose(found.state.rating, whole.state.rating, rtol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x.set_column(2, "score", pa.array([0.5] * 9 + [1.5])), "row 9 (counting from 0): score 1.5 is"),
        (lambda x: x.set_column(1, "b", x["a"]), "row 0 (counting from 0): 576 is on both sides"),
        (lambda x: x.set_column(3, "t", pa.array([1.0, None] * 5)), "row 1 (counting from 0): column 't' has no value"),
        (lambda x: x.drop_columns(["score"]), "its columns are a, b, t, "),
        (lambda x: x.select([1, 0, *range(2, 8)]), "its columns are b, a, score, "),
        (lambda x: x.set_column(2, "score", pa.array([1] * 10)), "column 'score' is of int64, not of double"),
    ],
)
def test_rows_are_named_as_those_of_their_file(table, tmp_path, change, message):
    pq.write_table(table.slice(0, 30), tmp_path / "0.parquet")
    pq.write_table(change(table.slice(30, 10)), tmp_path / "1.parquet")
    with refused(f"1.parquet: {message}"):
        jr.rate(jr.elo(), [tmp_path / "0.parquet", tmp_path / "1.parquet"], out=tmp_path / "out")


def test_what_a_system_cannot_rate_is_named_as_the_row_of_its_file(table, tmp_path):
    names = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    for i, (name, score) in enumerate(zip(names, ([1.0] * 10, [1.0] * 9 + [0.5]), strict=True)):
        pq.write_table(table.slice(10 * i, 10).set_column(2, "score", pa.array(score)), name)
    with refused("1.parquet: row 9 (counting from 0): score 0.5 is none of 0"):
        jr.rate(jr.urnings(), names, chunk=6, out=tmp_path / "out")
    unplayed = tmp_path / "unplayed.csv"
    unplayed.write_text("a,b,score\nx,y,\ny,z,\n")
    quits = tmp_path / "quits.csv"
    places = [f"{i // 3},p{i % 3},{0 if i == 2 else i % 3 + 1}" for i in range(30)]
    quits.write_text("\n".join(["contest,player,rank", *places]))
    rounds, right = contests(), tmp_path / "right.parquet"
    pq.write_table(pa.table(rounds), right)
    row = int(np.flatnonzero(np.diff(rounds["team"]) == 0)[0])
    rounds["rank"][row + 1] += 1
    pq.write_table(pa.table(rounds), tmp_path / "rounds.parquet")
    wrong = tmp_path / "rounds.parquet"
    for source, system, options, message in (
        (wrong, CASES["contests of teams"].system, {"team": "team"}, f"row {row + 1} (counting from 0): rank"),
        (right, jr.glicko(), {"team": "team"}, "glicko rates"),
        (wrong, jr.weng_lin(), {"team": "team", "period": 7.0}, "contests are rated one by one; leave out period"),
        (quits, jr.weng_lin(), {}, "quits.csv: row 2 (counting from 0, line 4): column 'rank' is 0, and ranks count"),
        (unplayed, jr.elo(), {}, "unplayed.csv: no row has a result"),
        ("-", jr.elo(), {}, "-: no such file, and no folder or pattern of tables"),
        ({"a": ["x"]}, jr.elo(), {}, "cannot read a dict by chunks; give a file, a folder, a pattern or a list"),
    ):
        with refused(message):
            jr.rate(system, source, out=tmp_path / f"out {message[:9]}", **options)


def test_a_folder_is_needed_and_nothing_to_carry_on(games, tmp_path):
    rated = jr.rate(jr.elo(), games)
    for options in ({"chunk": 100}, {"out": tmp_path / "out", "onto": rated}):
        with refused("rating by chunks needs out, a folder, in which it also goes on; give no onto"):
            jr.rate(jr.elo(), games, **options)


def test_wrong_files_are_named_and_the_run_goes_on_once_they_are_mended(games, table, tmp_path, monkeypatch, often):
    out, rate = tmp_path / "out", partial(jr.rate, jr.elo(), games, chunk=CHUNK)
    monkeypatch.setattr(chunk_reading, "RECOGNITION_ROWS", 500)
    whole = (games / "2.parquet").read_bytes()
    scores = pq.read_metadata(games / "2.parquet").row_group(4).column(2)
    place, size = scores.dictionary_page_offset, scores.total_compressed_size
    (games / "2.parquet").write_bytes(whole[:place] + bytes(size) + whole[place + size :])
    with pytest.raises(ValueError, match="^2.parquet: .*is kept in .*out: once this is mended, rate again to go on"):
        rate(out=out)
    (games / "2.parquet").write_bytes(whole)
    for options, message in (
        ({"chunk": 400}, "has chunk 500, this one 400"),
        ({"period": 30.0}, "has period None, this one 30.0"),
        ({"covariates": "rest"}, "has columns {'covariates': None}, this one {'covariates': ['rest']}"),
    ):
        with refused(f"{message}; go on as it began"):
            jr.rate(jr.elo(), games, out=out, **{"chunk": CHUNK} | options)
    with pytest.raises(ValueError, match="has hyperparameters .*go on as it began"):
        jr.rate(jr.elo(k=10), games, chunk=CHUNK, out=out)
    with monkeypatch.context() as changed:
        changed.setattr(rating_by_chunks, "flush_to_disk", lambda path: fail(errno.ENOSPC, "No space left on device"))
        with pytest.raises(OSError, match="No space left on device; what was rated by the last checkpoint is kept"):
            rate(out=out)
    monkeypatch.undo()
    rate(out=out)
    rate(out=tmp_path / "at once")
    assert contents(out) == contents(tmp_path / "at once")
    pq.write_table(table.slice(0, 9), games / "-.parquet")
    with refused("(-.parquet is where 0.parquet was: later files need names that sort last)"):
        rate(out=out)
    (games / "-.parquet").rename(games / "0.parquet")
    with refused("is of other data (0.parquet has changed)"):
        rate(out=out)
    (out / "checkpoint").write_bytes((out / "checkpoint").read_bytes()[:-9])
    with refused("checkpoint is damaged"):
        rate(out=out)


def test_files_that_are_not_rated_yet_may_be_others(games, tmp_path, monkeypatch):
    """The run was stopped where its second file begins."""
    rate = partial(jr.rate, jr.elo(), games, chunk=1100)
    with monkeypatch.context() as changed, pytest.raises(KeyboardInterrupt, match="^1,100 of 3,000 rows are rated"):
        stop_at(changed, 1, press_ctrl_c)
        rate(out=tmp_path / "out")
    (games / "2.parquet").rename(games / "1.parquet")
    found, whole = rate(out=tmp_path / "out"), rate(out=tmp_path / "at once")
    assert found.num_rows == whole.num_rows == 2950 and found.state.rating.tolist() == whole.state.rating.tolist()


@pytest.mark.parametrize("period", [None, 30.0], ids=["matches", "periods"])
def test_files_that_were_added_are_rated_onto_a_run_that_had_ended(period, table, tmp_path):
    games, rate = tmp_path / "games", partial(jr.rate, chunk=CHUNK, period=period)
    begin, inside = (int(np.searchsorted(table["t"].to_numpy(), time)) for time in (300.0, 315.0))
    write_parts(table, games, [0, begin])
    run = rate(jr.elo(), games, out=tmp_path / "out")
    write_parts(table, games, [0, begin, inside])
    found = rate(run.system, games, out=tmp_path / "out")
    np.testing.assert_array_equal(found.state.rating, rate(jr.elo(), games, out=tmp_path / "whole").state.rating)
    late, message = table.slice(0, 9), "2.parquet: row 0 (counting from 0): the time is earlier than in the row before"
    if period is not None:
        late, message = (table.slice(inside), "2.parquet: row 0 (counting from 0): it is in the same rating period as")
    pq.write_table(late, games / "2.parquet")
    with refused(message):
        rate(jr.elo(), games, out=tmp_path / "out")
    endless = pa.array([*table["t"].to_numpy()[inside:-1], np.inf])
    pq.write_table(table.slice(inside).set_column(3, "t", endless), games / "2.parquet")
    with refused(f"2.parquet: row {N - inside - 1} (counting from 0): time is inf, not a finite number"):
        rate(jr.elo(), games, out=tmp_path / "new")


@pytest.mark.filterwarnings("ignore:took score as 1, 0 and -1")
def test_a_run_does_not_go_on_where_results_mean_something_else(tmp_path):
    """Beside -1 a score of 0 is a draw, and was a loss without it."""
    for number, scores in enumerate(([1, 0, 1, 0], [1, 0, -1, 0])):
        table = pa.table({"a": list("wxyz"), "b": list("xyzw"), "score": scores})
        pq.write_table(table, tmp_path / f"{number}.parquet")
        if not number:
            jr.rate(jr.elo(), tmp_path, chunk=2, out=tmp_path / "out")
    with pytest.raises(ValueError, match="has results scores, this one 1, 0 and -1; go on as it began"):
        jr.rate(jr.elo(), tmp_path, chunk=2, out=tmp_path / "out")


def test_a_run_that_has_lost_its_checkpoint_is_not_overwritten(table, tmp_path, jaxrate):
    games, out = write_parts(table, tmp_path / "games", [0, 50]), tmp_path / "out"
    jr.rate(jr.elo(), games, chunk=50, out=out)
    (out / "checkpoint").unlink()
    before = contents(out)
    with refused("out that cannot be gone on with; name another folder"):
        jr.rate(jr.elo(), games, chunk=50, out=out)
    code, _, errors = jaxrate("rate", games, "--out", out)
    assert code == 2 and f"there is a run in {out} that cannot be gone on with; name another folder" in errors
    assert contents(out) == before
    (out / "ratings.parquet").unlink()  # as if it had not come to its end
    with pytest.warns(UserWarning, match="out has predictions of a run, but no checkpoint to go on from, so all is"):
        jr.rate(jr.elo(), games, chunk=50, out=out)
    assert contents(out) == before | {"checkpoint": (out / "checkpoint").read_bytes()}


def test_a_contest_is_whole_also_where_files_are_added(tmp_path):
    table = pa.table(contests())
    games, rate = write_parts(table, tmp_path / "games", [0, len(table)]), partial(jr.rate, jr.weng_lin(), chunk=60)
    assert "96 contests" in repr(rate(games, out=tmp_path / "out", team="team"))
    brief = jr.rate(jr.weng_lin(), games, chunk=jr.history.Chunks(60, brief=True), out=tmp_path / "brief", team="team")
    assert "96 contests" in repr(jr.load(brief.folder)) and brief.contests == 96
    assert ds.dataset(brief.folder / "predictions").to_table().column_names == ["row", "prediction"]
    with refused("the run in"):
        rate(games, out=tmp_path / "out", weight="w", team="team")
    late = table.slice(len(table) - 1)
    pq.write_table(late, games / "1.parquet")
    with refused("it is in the same contest as the last row that is rated"):
        rate(games, out=tmp_path / "out", team="team")
    pq.write_table(late.set_column(1, "contest", pa.array([9999])), games / "1.parquet")
    found = rate(games, out=tmp_path / "out", team="team")
    assert found.contests == 97
    live, names = jr.live.start_history(jr.load(tmp_path / "out")), found.players[:3].tolist()
    assert len(live.update_round([names[:2], names[2:]], rank=[1, 2], time=found.last + 9)) == 3


def test_no_file_of_others_is_touched_and_none_of_its_own_may_be_missing(table, tmp_path):
    games, out = tmp_path / "predictions", tmp_path / "out"
    write_parts(table, games, [0, 50])
    jr.save(tmp_path / "run", jr.rate(jr.elo(), [{"winner": "x", "loser": "y"}]))
    for folder in (tmp_path, games, tmp_path / "run"):
        with pytest.raises(ValueError, match="; name another folder"):
            jr.rate(jr.elo(), games, out=folder)
    (out / "predictions").mkdir(parents=True)
    (out / "predictions" / "mine.parquet").touch()
    (out / ".checkpoint.1.tmp").touch()  # of a process that was killed
    jr.rate(jr.elo(), games, chunk=20, out=out)
    assert (out / "predictions" / "mine.parquet").exists() and not (out / ".checkpoint.1.tmp").exists()
    remove_leftover_run_files(out, 1)
    assert {x.name for x in (out / "predictions").iterdir()} == {"part-000000.parquet", "mine.parquet"}
    with pytest.raises(ValueError, match=r"predictions/part-000001.parquet is missing in .*out; put it back"):
        jr.rate(jr.elo(), games, chunk=20, out=out)


def test_the_command_rates_a_folder_and_goes_on(games, tmp_path, jaxrate, monkeypatch):
    out, options = tmp_path / "out", ("rate", games, "--system", "elo", "--chunk", CHUNK)
    for more, message in (
        ([], "name one with --out"),
        (["--out", out, "--show", "peaks"], "--show cannot be combined with rating in chunks"),
        (["--out", out, "--column", "rest=9"], "--column rest cannot be combined with rating in chunks"),
    ):
        code, _, errors = jaxrate(*options, *more)
        assert code == 2 and message in errors
    assert f"{out}/*.csv: no such file" in jaxrate("rate", f"{out}/*.csv")[2]
    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as changed:
        stop_at(changed, 2, press_ctrl_c)
        code, printed, errors = jaxrate(*options, "--out", out)
    assert code == 130 and not printed and not (out / "ratings.parquet").exists()
    assert "jaxrate: stopped; 1,000 of 3,000 rows are rated and kept" in errors and "rate again to go on" in errors
    assert signal.getsignal(signal.SIGINT) is before
    code, printed, errors = jaxrate(*options, "--out", out)
    assert code == 0 and printed.startswith("elo: 3,000 matches of 300 players") and "log loss" in printed, errors
    assert f"going on with the run in {out}" in errors
    code, _, errors = jaxrate("report", out, "--out", tmp_path / "report.html")
    assert code == 2 and "out holds what was rated by chunks, not matches" in errors


def test_brief_runs_say_that_their_predictions_are_in_files(games, tmp_path, jaxrate):
    out, message = tmp_path / "out", "predictions of this run by chunks are in its files alone"
    assert jaxrate("rate", games, "--system", "elo", "--brief", "--out", out)[0] == 0
    with refused(message):
        jr.plots.trajectory(jr.load(out), players=2)
    assert f"elo: {N:,} matches of" in jaxrate("rate", "--state", out)[1]


def test_seasons_are_found_in_all_files_and_may_go_on(games, table, tmp_path, jaxrate):
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
    years, mixed = table["year"].to_pylist(), {i: ("1999", "2001")[i % 2] for i in range(1200, N)}
    for change, message in (
        ({7: None}, "0.parquet: row 7 (counting from 0): column 'year' has no value"),
        (mixed, "2.parquet: row 51 (counting from 0): season '2001', when season '1999' has begun"),
    ):
        wrong = pa.array([change.get(i, year) for i, year in enumerate(years)])
        write_parts(table.set_column(table.column_names.index("year"), "year", wrong), games, SPLIT)
        code, _, errors = jaxrate(*given[:-2], tmp_path / "new", "--json")
        assert code == 2 and message in errors
