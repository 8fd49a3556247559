"""Matches in files, rated by chunks: interrupted by signals, a run is kept, and ends as if it had not been."""

import os
import signal
import subprocess
import sys
import threading

import pytest

import jaxrate as jr
from jaxrate.history.out_of_core import chunk_pipeline, duckdb_sort
from jaxrate.history.out_of_core.checkpoints import remove_leftover_run_files
from tests.conftest import mark_full
from tests.test_rate_by_chunks import as_text, contents, made_table, written

pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def table():
    return made_table()


def test_who_lives_on_after_the_signal_is_told_that_not_all_is_rated(table, tmp_path):
    games, out = written(table, tmp_path / "games"), tmp_path / "out"
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        with pytest.raises(KeyboardInterrupt, match="of 3,000 rows are rated and kept in .*; rate again to go on"):
            jr.rate(
                jr.elo(),
                games,
                chunk=jr.history.Chunks(500, progress=lambda rows: os.kill(os.getpid(), signal.SIGTERM)),
                out=out,
            )
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (out / "checkpoint").exists() and not (out / "ratings.parquet").exists()


def test_signals_that_are_ignored_or_not_heard_by_python_are_left_alone(table, tmp_path, monkeypatch):
    games, getsignal, changed = written(table, tmp_path / "games"), signal.getsignal, []
    handlers = {signal.SIGTERM: None, signal.SIGINT: signal.SIG_IGN}  # None: of C, which Python cannot put back
    monkeypatch.setattr(signal, "getsignal", lambda number: handlers.get(number, getsignal(number)))
    monkeypatch.setattr(signal, "signal", lambda number, handler: changed.append(number))
    found = jr.rate(jr.elo(), games, chunk=1000, out=tmp_path / "out")
    assert found.num_rows == 3000 and not {*changed} & {*handlers}


@pytest.mark.parametrize("ended", [KeyboardInterrupt, SystemExit])
def test_a_signal_is_heard_while_rows_are_put_in_order(table, tmp_path, monkeypatch, ended):
    pytest.importorskip("duckdb")
    games = written(as_text(table), tmp_path / "games")

    alarm = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))

    def endless(*arguments):
        if not alarm.is_alive():
            alarm.start()
        while True:
            yield pa.record_batch({"_time": [0.0] * 9999, "_row": [0] * 9999})

    def hear(number, frame):
        raise ended

    monkeypatch.setattr(duckdb_sort, "_iterate_batches_to_sort", endless)
    before = signal.signal(signal.SIGINT, hear)
    try:
        with pytest.raises(ended):
            jr.rate(jr.elo(), games, out=tmp_path / "out")
    finally:
        signal.signal(signal.SIGINT, before)


def test_after_ctrl_c_a_run_is_kept_and_says_how_to_go_on(table, tmp_path, monkeypatch, jaxrate):
    games, out, given = written(table, tmp_path / "games"), tmp_path / "out", chunk_pipeline.execute_plan
    before = signal.getsignal(signal.SIGINT)
    options = "rate", games, "--system", "elo", "--out", out, "--chunk", "500"

    def interrupted(*arguments, **options):
        os.kill(os.getpid(), signal.SIGINT)
        return given(*arguments, **options)

    with monkeypatch.context() as changed:
        changed.setattr(chunk_pipeline, "execute_plan", interrupted)
        with pytest.raises(
            KeyboardInterrupt, match="^500 of 3,000 rows are rated and kept in .*out; rate again to go on"
        ):
            jr.rate(jr.elo(), games, chunk=500, out=out)
        code, printed, errors = jaxrate(*options)
    assert code == 130 and not printed and not (out / "ratings.parquet").exists()
    assert "jaxrate: stopped; 1,000 of 3,000 rows are rated and kept" in errors and "rate again to go on" in errors
    assert signal.getsignal(signal.SIGINT) is before
    code, _, errors = jaxrate(*options)
    assert code == 0, errors
    jr.rate(jr.elo(), games, chunk=500, out=tmp_path / "at once")
    assert contents(out) == contents(tmp_path / "at once")


def test_files_that_are_not_rated_yet_may_be_others(table, tmp_path, monkeypatch):
    """The run was stopped where its second file begins."""
    games, out = written(table, tmp_path / "games"), tmp_path / "out"

    def interrupted(*arguments, given=chunk_pipeline.execute_plan, **options):
        os.kill(os.getpid(), signal.SIGINT)
        return given(*arguments, **options)

    with monkeypatch.context() as changed, pytest.raises(KeyboardInterrupt, match="^1,100 of 3,000 rows are rated"):
        changed.setattr(chunk_pipeline, "execute_plan", interrupted)
        jr.rate(jr.elo(), games, chunk=1100, out=out)
    (games / "2.parquet").rename(games / "1.parquet")
    found = jr.rate(jr.elo(), games, chunk=1100, out=out)
    whole = jr.rate(jr.elo(), games, chunk=1100, out=tmp_path / "at once")
    assert found.num_rows == whole.num_rows == 2950 and found.state.rating.tolist() == whole.state.rating.tolist()


def test_parts_after_the_checkpoint_are_removed_and_others_stay(tmp_path):
    folder = tmp_path / "predictions"
    folder.mkdir()
    for name in ("part-000000.parquet", "part-000001.parquet", "part-000002.parquet", "mine.parquet"):
        (folder / name).touch()
    remove_leftover_run_files(tmp_path, 1)
    assert {x.name for x in folder.iterdir()} == {"part-000000.parquet", "mine.parquet"}


KILLED = """
import os, random, signal, sys, time
import jaxrate as jr
from jaxrate.history.out_of_core import duckdb_sort
from jaxrate.history.out_of_core import rating_by_chunks, chunk_pipeline
games, out, kills, often = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
rating_by_chunks.CHECKPOINT_SECONDS = rating_by_chunks.CHECKPOINT_WORK_RATIO = 0.0

def work(write, attempt):
    if attempt == 0:
        rating_by_chunks.CHECKPOINT_SECONDS = 1e9  # the checkpoint is that of the signal
    rate = chunk_pipeline.execute_plan
    def told(*given, **options):
        os.write(write, b".")
        time.sleep(often)
        return rate(*given, **options)
    chunk_pipeline.execute_plan = told
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
def test_killed_at_random_moments_it_ends_with_the_same_files(table, tmp_path, kills):
    games, script = written(table, tmp_path / "games"), tmp_path / "killed.py"
    script.write_text(KILLED)
    environment = os.environ | {"XLA_FLAGS": os.environ.get("XLA_FLAGS", "") + " --xla_backend_optimization_level=0"}
    command = [sys.executable, script, games, tmp_path / "killed", str(kills), "0.02"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout.split() == ["15", *["9"] * kills, "0"], done.stderr
    jr.rate(jr.elo(), games, chunk=100, out=tmp_path / "at once")
    assert contents(tmp_path / "killed") == contents(tmp_path / "at once")
