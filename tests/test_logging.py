"""What the library says by `logging`, under its own name, to those who listen."""

import logging
import subprocess
import sys

import pytest

import jaxrate as jr


def test_the_library_logs_under_its_own_name(tmp_path, caplog):
    pytest.importorskip("pyarrow")
    caplog.set_level(logging.INFO, "jaxrate")
    live = jr.live.start_history(jr.elo())
    for _ in range(3):
        live.update("Ada", "Bo", 1.0)
    live.correct(0, score=0.0)
    live.undo()
    live._history.donated_state = live._history.current.state  # as after Ctrl-C
    jr.save(tmp_path / "run", live)
    assert {record.name.partition(".")[0] for record in caplog.records} == {"jaxrate"}
    assert [record.getMessage() for record in caplog.records] == [
        "result 0 is corrected, and 2 are rated again",
        "1 results are undone",
        "a call was interrupted; the history is that of its 2 results",
        f"a history of 2 players is saved in {tmp_path / 'run'}",
    ]


def test_the_library_is_silent_by_itself_and_does_not_wait_for_jax():
    code = (
        "import logging, sys, jaxrate; logging.getLogger('jaxrate.history').warning('no');"
        "assert 'jax' not in sys.modules; print(*logging.getLogger('jaxrate').handlers)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "" and done.stdout.strip() == "<NullHandler (NOTSET)>"
