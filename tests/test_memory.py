"""What would take more memory than there is, is refused before it is made."""

import re
import time

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core import memory_checks
from jaxrate.data import simulate

ONE = jr.matches([[0, 2_000_000_000]] * 2, [1.0, 0.0])
MANY = jr.matches([[0, 2_000_000_000]] * 10_000, [1.0] * 10_000)  # which are not arranged in Python
FEW = jr.matches([[0, 1]], [1.0])


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """Eight GB, and a second for each test; JAX is warm."""
    jr.run(jr.elo(), FEW)
    monkeypatch.setattr(memory_checks, "machine_memory_bytes", lambda: 8e9)
    start = time.perf_counter()
    yield
    assert time.perf_counter() - start < 5.0  # of a machine that does much else


def stream(rows):
    return simulate.Stream(iter(()), np.zeros(2), np.zeros(2, int), rows)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jr.run(jr.elo(), ONE), "the largest id is 2000000000, of 4 in all: a state for every id up to it"),
        (lambda: jr.extend.schedule_by_level(MANY), "arranging events of 2,013,265,920 players would take 8.1 GB,"),
        (lambda: jr.run(jr.elo(), FEW, num_players=2 * 10**9), "a state of 2,000,000,000 players of elo would take"),
        (lambda: jr.run(jr.elo(), FEW, num_players=10**15), "there may be 2,147,483,647 players, got"),
        (lambda: jr.blat_mmr(size=10**9), "blat_mmr: a grid of 1e+09 points would take 100.0 GB, and there are 8.0 GB"),
        (lambda: jr.data.simulate.league(100, 10**12), "a history of 1,000,000,000,000 rows would take 60.0 TB"),
        (lambda: jr.data.simulate.write(stream(10**15), "x.parquet"), "1,000,000,000,000,000 rows would take 1,500.0"),
    ],
)
def test_it_is_refused_within_a_second(call, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_a_state_that_is_there_may_be_carried_on_by_few_events(monkeypatch):
    """Ids far above the number of events are no mistake then."""
    monkeypatch.setattr("jaxrate.replay.padded_arrays.ID_LIMIT", 10)
    monkeypatch.setattr("jaxrate.replay.padded_arrays.SPARSE_ID_FACTOR", 10)
    system, late = jr.elo(), jr.matches([[0, 99]], [1.0])
    with pytest.raises(ValueError, match="the largest id is 99, of 2 in all"):
        jr.run(system, late)
    state = jr.run(system, late, num_players=100).state
    assert len(jr.run(system, late, state=state).state.rating) == 100
    many = jr.matches(np.stack([np.zeros(20, int), np.arange(1, 21)], axis=1), np.ones(20))
    assert len(jr.run(system, many).state.rating) == 21


def test_the_machine_says_how_much_it_has(monkeypatch, tmp_path):
    monkeypatch.undo()
    assert memory_checks.machine_memory_bytes() is None or memory_checks.machine_memory_bytes() > 1e8
    (tmp_path / "limit").write_text("123456789\n")
    monkeypatch.setattr(memory_checks, "CGROUP_LIMIT_FILE", tmp_path / "limit")
    assert memory_checks.machine_memory_bytes() in (None, 123456789.0)
