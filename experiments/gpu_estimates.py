"""What a step should take on a GPU by the counts of `gpu_programs.py`, and the table that `jaxrate plan` reads."""

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


def steps_by_estimates():
    """The steps of the table that `jaxrate plan` reads, from counts alone."""
    return [
        {
            "system": row["system"],
            "events": row["events"],
            "step_seconds": step_seconds(row),
            "unit_seconds": unit_seconds(row),
            "measured": False,
        }
        for row in steps_by_counts()
    ]


def step_table(measured, device=COUNTED_DEVICE):
    """The table that `jaxrate plan` reads: measured steps, and the counted ones of which there are none."""
    known = {(row["system"], row["events"]): row for row in measured}
    steps = [known.get((row["system"], row["events"]), row) for row in steps_by_estimates()]
    return {"device": device, "steps": steps}


def write_step_table(path, table):
    rows = ",\n".join(f"  {json.dumps(row)}" for row in table["steps"])
    path.write_text(f'{{\n "device": {json.dumps(table["device"])},\n "steps": [\n{rows}\n ]\n}}\n')
