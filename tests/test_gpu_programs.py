"""What is compiled for a GPU: whole replays in one graph, in which the host waits for nothing."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from jaxrate.replay import compiling

SCRIPT = Path(__file__).parents[1] / "experiments" / "gpu_programs.py"


def test_all_options_of_a_graph_are_known_to_this_xla():
    assert set(compiling.one_graph()) == {"xla_gpu_enable_command_buffer", "xla_disable_hlo_passes"}


def test_what_another_xla_does_not_know_is_left_out(monkeypatch):
    monkeypatch.setattr(compiling, "GRAPH", "FUSION,NONSENSE")
    assert set(compiling.one_graph()) == {"xla_disable_hlo_passes"}


@pytest.mark.skipif(
    not any(importlib.util.find_spec(f"jax_cuda{x}_plugin") for x in (12, 13)),
    reason="JAX's CUDA packages, which compile for a GPU, are not installed",
)
def test_a_replay_is_one_graph_of_few_kernels(tmp_path):
    out, systems = tmp_path / "counts.json", ["glicko", "glicko2", "trueskill"]
    subprocess.run([sys.executable, SCRIPT, "--quick", "--out", out, "--only", *systems], check=True)
    rows = json.loads(out.read_text())["results"]["step"]
    assert all(row["waits"] == 0 and row["graphs"] == 0 for row in rows)
    kernels = {(row["system"], row["events"]): row["kernels"] for row in rows}
    most = {("glicko", "matches"): 7, ("glicko2", "matches"): 14, ("trueskill", "matches"): 6}
    assert {key: kernels[key] for key in most} == most
