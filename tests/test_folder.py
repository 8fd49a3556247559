"""Saving over a run: whatever interrupts it, the old run is there or the new one, and tables that belong to it."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path

import pytest

import jaxrate as jr
from jaxrate.history.saved_runs import make_run_metadata, write_run
from jaxrate.storage import run_folder as folders
from jaxrate.storage.run_folder import OPTIONAL_FILES, RUN_FILES
from tests.conftest import mark_full

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore:replaced a run of")
REFERENCE = Path(__file__).parent / "reference" / "saved"
STEPS = (os, "replace"), (os, "rename"), (os, "mkdir"), (os, "fsync"), (os, "unlink"), (os, "rmdir"), (shutil, "rmtree")
TABLES = ("ratings.parquet", "predictions.parquet", *OPTIONAL_FILES)


@pytest.fixture(scope="module")
def runs():
    """Two runs, of 2 and of 3 matches, and the tables beside them."""
    table = {"a": list("xyx"), "b": list("yzz"), "score": [1.0, 0.0, 0.5]}
    two = {name: column[:2] for name, column in table.items()}
    first, second = (jr.rate(jr.elo(), jr.read(x)) for x in (two, table))
    return first, second


def save(path, rated):
    beside = {"ratings.csv": jr.history.rating_table(rated), "hindsight.csv": {"row": [len(rated.predictions)]}}
    with folders.lock_folder(path):
        write_run(path, rated, make_run_metadata(rated), beside)


@pytest.fixture
def whole(tmp_path, runs):
    """Folders in which one run was saved each, by the number of its matches."""
    found = {len(rated.predictions): tmp_path / f"whole {i}" for i, rated in enumerate(runs)}
    for path, rated in zip(found.values(), runs, strict=True):
        path.mkdir()
        save(path, rated)
    return found


def check(path, whole):
    """One of the runs is there, and files in their places are its own unless a save was interrupted; says which."""
    count = len(jr.load(path).predictions)
    settled = not (path / folders.SAVED_FOLDER).exists()
    for name in {*RUN_FILES, *TABLES}:
        if (path / name).exists():
            own = [(whole[count if settled else number] / name).read_bytes() for number in (2, 3)]
            assert (path / name).read_bytes() in own, name
    assert (path / "mine.txt").read_text() == "mine"
    return count


def names(path):
    return {file.name for file in path.iterdir()}


@pytest.fixture
def season(tmp_path, whole):
    """A folder with the first run, and a file of another name."""
    path = tmp_path / "season"
    shutil.copytree(whole[2], path)
    (path / "mine.txt").write_text("mine")
    return path


@contextmanager
def around_steps(monkeypatch, act, steps=STEPS):
    """Call `act` with the function and its arguments in place of each step."""
    with monkeypatch.context() as watching:
        for place, name in steps:
            watching.setattr(place, name, partial(act, getattr(place, name)))
        yield watching


def test_a_process_that_dies_at_any_step_leaves_the_old_run_or_the_new(season, whole, runs, tmp_path, monkeypatch):
    """The folder is copied before and after each step, which is what a dead process leaves; then it is saved again."""
    copies = []

    def copy_around(do, *args, **options):
        with monkeypatch.context() as plain:
            for place, name in STEPS:
                plain.setattr(place, name, ORIGINAL[name])
            copies.append(shutil.copytree(season, tmp_path / f"copy {len(copies)}"))
            result = do(*args, **options)
            copies.append(shutil.copytree(season, tmp_path / f"copy {len(copies)}"))
        return result

    ORIGINAL = {name: getattr(place, name) for place, name in STEPS}
    with around_steps(monkeypatch, copy_around):
        save(season, runs[1])
    found = [check(copy, whole) for copy in copies]
    assert len(found) > 30 and set(found) == {2, 3} and found == sorted(found)
    assert check(season, whole) == 3 and names(season) == names(whole[3]) | {"mine.txt"}
    unsettled = [copy for copy in copies if (copy / folders.SAVED_FOLDER).exists()]
    assert len(unsettled) > 5
    for copy in (*unsettled, copies[8], copies[-8]):
        jr.save(copy, runs[0])
        assert check(copy, whole) == 2 and names(copy) == {"run.json", "mine.txt", *RUN_FILES}


FULL, STOPPED = OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()
LASTS = (FULL, False), (FULL, True), (STOPPED, False)  # once, or from then on


@pytest.mark.parametrize(("error", "lasts"), mark_full([*LASTS, (STOPPED, True)], *LASTS[1:]))
def test_errors_at_any_step_leave_the_old_run_or_the_new(season, whole, runs, tmp_path, monkeypatch, error, lasts):
    for number in count():
        path, steps = shutil.copytree(season, tmp_path / f"{number}"), count()

        def fail(do, *args, number=number, steps=steps, **options):
            step = next(steps)
            if step == number or (lasts and step > number):
                raise error
            return do(*args, **options)

        done = False
        with around_steps(monkeypatch, fail, STEPS[:4]):
            try:
                save(path, runs[1])
                done = True
            except OSError as told:
                assert "the run was" in str(told) and "No space left on device" in str(told) and str(path) in str(told)
            except KeyboardInterrupt:
                pass
        now = check(path, whole)
        if done:
            assert now == 3 and number > 10
            return
        if not lasts:
            assert names(path) == names(whole[now]) | {"mine.txt"}
        save(path, runs[1])
        assert check(path, whole) == 3 and names(path) == names(whole[3]) | {"mine.txt"}


def test_a_full_disk_while_tables_are_written(season, whole, runs, monkeypatch):
    def full(columns, path, **options):
        path.write_bytes(b"PAR1")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("jaxrate.history.saved_runs.write", full)
    with pytest.raises(OSError, match="the run was not saved: No space left on device: '.*season'"):
        jr.save(season, runs[1])
    assert check(season, whole) == 2 and names(season) == names(whole[2]) | {"mine.txt"}


def test_folders_are_not_taken_for_files(season, runs):
    (season / "ratings.parquet").unlink()
    (season / "ratings.parquet").mkdir()
    (season / "ratings.parquet" / "part").write_text("mine")
    with pytest.raises(ValueError, match="ratings.parquet is a folder; save the run elsewhere"):
        jr.save(season, runs[1])
    assert (season / "ratings.parquet" / "part").read_text() == "mine"


def test_nothing_is_saved_that_could_not_be_loaded(season, whole, runs):
    state = runs[1].state
    for changed, message in (
        (runs[1]._replace(state=state._replace(rating=state.rating * float("nan"))), "rating is not a number"),
        (runs[1]._replace(players=runs[1].players[:2]), "it is not of 2 players"),
        (runs[1]._replace(options={"a": {1, 2}}), "the options have values that JSON cannot hold"),
    ):
        with pytest.raises(ValueError, match=message):
            jr.save(season, changed)
    assert check(season, whole) == 2


def test_tables_of_an_earlier_run_go_and_those_of_others_stay(season, runs):
    (season / "hindsight.parquet").write_text("not of the run")
    jr.save(season, runs[1])
    assert names(season) == {"run.json", "mine.txt", "hindsight.parquet", *RUN_FILES}


WRITERS = """
import os, sys
import jaxrate as jr
*sources, folder = sys.argv[1:]
jr.load, jr.save  # imports JAX, once for both
for _ in range(2):
    if os.fork() == 0:  # before anything of JAX runs here
        runs = [jr.load(source) for source in sources]
        os.write(1, f"{os.getpid()}\\n".encode())  # at once: the other one writes too
        while True:
            for rated in runs:
                jr.save(folder, rated)
for _ in range(2):
    print(os.WTERMSIG(os.wait()[1]), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_two_writers_and_a_reader(season, whole, runs):
    """The reader always sees one of the runs; a writer that is killed keeps nobody from saving."""
    command = [sys.executable, "-c", WRITERS, str(whole[2]), str(whole[3]), str(season)]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    writers = []
    try:
        for _ in range(2):
            line = parent.stdout.readline()
            assert line, parent.stderr.read()
            writers.append(int(line))
        seen = []
        for stop in (signal.SIGKILL, signal.SIGTERM):
            start = time.monotonic()
            while time.monotonic() < start + 0.15 or (len({*seen}) < 2 and time.monotonic() < start + 10.0):
                seen.append(len(jr.load(season).predictions))
            os.kill(writers.pop(), stop)
            assert parent.stdout.readline() == f"{stop.value}\n"  # it lived until then
        check(season, whole)  # not while the other one saves: between two looks it may have switched
        assert set(seen) == {2, 3}
        save(season, runs[1])
        assert check(season, whole) == 3 and names(season) == names(whole[3]) | {"mine.txt"}
    finally:
        for process in writers:
            os.kill(process, signal.SIGKILL)
        parent.communicate(timeout=20)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_another_process_that_saves_is_waited_for_but_not_for_ever(season, whole, runs, monkeypatch):
    monkeypatch.setattr(folders, "LOCK_TIMEOUT", 0.1)
    with (
        folders.lock_folder(season),
        pytest.raises(ValueError, match="season: another process saves a run there"),
    ):
        jr.save(season, runs[1])
    assert check(season, whole) == 2
    jr.save(season, runs[1])
    assert check(season, whole) == 3


def test_a_command_that_is_terminated_leaves_nothing_behind(season, whole, games, jaxrate, monkeypatch):
    sync, before = folders.flush_to_disk, signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with monkeypatch.context() as ended:
        ended.setattr(folders, "flush_to_disk", lambda path: (os.kill(os.getpid(), signal.SIGTERM), sync(path)))
        done = jaxrate("rate", games, "--system", "elo", "-q", "--out", season)
    signal.signal(signal.SIGTERM, before)
    assert done == (143, "", "")
    assert check(season, whole) == 2 and names(season) == names(whole[2]) | {"mine.txt"}


@pytest.mark.parametrize("name", ["elo", "glicko2", "weng_lin"])
def test_runs_of_jaxrate_0_2_load_and_carry_on(name, tmp_path):
    path = tmp_path / "run"
    shutil.copytree(REFERENCE / name, path)
    before = jr.load(path)
    assert before.system.name == name and len(before.players) == 4
    contests = name == "weng_lin"
    table = {"player": ["Ada", "New"], "rank": [1, 2]} if contests else {"a": ["Ada"], "b": ["New"], "score": [1]}
    data = jr.read(
        table | {"date": ["2024-05-01"] * (1 + contests)}, history=before, **({"contest": "date"} if contests else {})
    )
    jr.save(path, jr.rate(before.system, data, period=before.period, onto=before))
    after = jr.load(path)
    assert after.players.tolist() == [*before.players, "New"]
    assert names(path) == {"run.json", *RUN_FILES}


def test_a_run_by_chunks_of_jaxrate_0_2_loads_and_does_not_go_on(tmp_path):
    by_files, rated = (jr.load(REFERENCE.parent / x) for x in ("rate_files", "saved/glicko2"))
    assert by_files.players.tolist() == rated.players.tolist() and by_files.games.tolist() == rated.games.tolist()
    assert len(by_files.predictions) == 5 and by_files.last == rated.last
    assert jr.live.start_history(by_files).rating("Cy").mean > 1700
    shutil.copytree(REFERENCE.parent / "rate_files", tmp_path / "run")
    jr.data.write({"a": ["Ada"], "b": ["Bo"], "score": [1.0]}, tmp_path / "games.parquet")
    with pytest.raises(ValueError, match="has version 0.2.0, this one .*name another folder"):
        jr.rate(jr.glicko2(), tmp_path / "games.parquet", out=tmp_path / "run")


@pytest.mark.parametrize(
    ("form", "message"),
    [(3, "written by jaxrate 0.1; rate the games again"), (6, "wrote it in format 6, this one reads up to 5")],
)
def test_a_run_of_another_format_is_refused(season, form, message):
    path = season / "run.json"
    path.write_text(path.read_text().replace('"format": 5', f'"format": {form}'))
    with pytest.raises(ValueError, match=f"season: run.json: .*{message}"):
        jr.load(season)
