"""How long a GPU should take over a history, from the seconds of a step in `gpu_step_seconds.json`.

The table has one row for each system and kind of events: what a step takes however little it does, and what each match
takes where many are rated at once. It is written by `experiments/gpu_record.py`, from measurements where there are
any, and else from the kernels and bytes of the programs, which `experiments/gpu_programs.py` counts.
"""

import json
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from jaxrate.events import Matches, Ragged
from jaxrate.replay.blocks import BlockPlan
from jaxrate.replay.schedule import Plan, schedule_by_level
from jaxrate.replay.step_assignment import gpu_step_width

TABLE_FILE = "gpu_step_seconds.json"
ALL_PAIRS_LIMIT = (
    2048  # participants up to which rounds compare everybody with everybody: of more the table has no step
)


class StepSeconds(NamedTuple):
    """What a step of a replay takes on a GPU."""

    step: float  # seconds, however little it does
    unit: float  # seconds of a match, of a player or pair of a period, or of a pair of participants of a round
    is_measured: bool


class StepSecondsTable(NamedTuple):
    """What steps take on a device."""

    device: str
    steps: dict[tuple[str, str], StepSeconds]  # by system and kind of events


@cache
def read_step_seconds() -> StepSecondsTable:
    """The table of the package."""
    table = json.loads(resources.files(__package__).joinpath(TABLE_FILE).read_text(encoding="utf-8"))
    return StepSecondsTable(
        table["device"],
        {
            (row["system"], row["events"]): StepSeconds(row["step_seconds"], row["unit_seconds"], row["measured"])
            for row in table["steps"]
        },
    )


def estimate_step_seconds(step: StepSeconds, num_units: float) -> float:
    """Of a step with so many units of work: launches take the time, or, if there is much to do, the work."""
    return max(step.step, step.unit * num_units)


class StepGroup(NamedTuple):
    """Steps of one shape."""

    number: int
    batch: int  # matches, periods or rounds of each
    players: int  # of a period or round
    pairs: int


def gpu_step_groups(events: Matches | Ragged, host_plan: Plan | BlockPlan) -> list[StepGroup]:
    """The steps in which a GPU would rate a history; `host_plan` is it on this machine: there matches stand wider."""
    if isinstance(host_plan, BlockPlan):
        both = zip(host_plan.steps, host_plan.blocks, strict=True)
        return [StepGroup(steps, block.number.shape[1], *block.size) for steps, block in both]
    matches: Any = events
    width = gpu_step_width(np.asarray(matches.player))
    plan: Any = schedule_by_level(matches, width)
    return [StepGroup(plan.num_steps, width, 2, 1)]


def estimate_gpu_seconds(system_name: str, event_kind: str, steps: Iterable[StepGroup]) -> float | None:
    """Seconds that one GPU should take over a replay once all is arranged and compiled.

    Args:
      system_name: its name.
      event_kind: of the events: "matches", "periods" or "rounds".
      steps: from `gpu_step_groups`.

    Returns:
      The seconds, or None if the table has no such steps: for rounds of more participants there are other programs.
    """
    total, step = 0.0, read_step_seconds().steps.get((system_name, event_kind))
    for number, batch, players, pairs in steps:
        if step is None or (event_kind == "rounds" and players > ALL_PAIRS_LIMIT):
            return None
        units = {"matches": 1, "periods": players + pairs, "rounds": players**2}[event_kind]
        total += number * estimate_step_seconds(step, batch * units)
    return total
