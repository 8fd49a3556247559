"""What a step should take on a GPU by the counts of `gpu_programs.py`, and the table that `rate --dry-run` reads."""

import json
from functools import cache
from pathlib import Path

KERNEL_SECONDS = 2.5e-6  # from one kernel of a graph to the next
BANDWIDTH = 3.35e12  # bytes a second
WAIT = 15e-6  # seconds that a value on its way to the host takes, or the launch of one more graph

RESULTS = Path(__file__).parent / "results"
COUNTED_DEVICE = "an H100"


def step_seconds(row):
    """Of a step of next to nothing: its launches and waits, from a row of `gpu_programs.json`."""
    return row["launches"] * KERNEL_SECONDS + (row["waits"] + row["graphs"]) * WAIT


def unit_seconds(row):
    """Of one more match, player or pair of a period, or pair of participants of a round: its bytes."""
    return row["bytes"] / row["size"] ** (2 if row["events"] == "rounds" else 1) / BANDWIDTH


@cache
def steps_by_counts(settings=1):
    """The rows of `gpu_programs.json` of this version, of so many settings at a time."""
    rows = json.loads((RESULTS / "gpu_programs.json").read_text())["results"]["step"]
    return [row for row in rows if row["version"] == "now" and row["settings"] == settings]
