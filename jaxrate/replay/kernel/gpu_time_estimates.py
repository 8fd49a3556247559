"""How long a GPU should take over a history, from the kernels of its programs: counted, but no time was measured.

The counts are those of an H100, for which `experiments/gpu_programs.py` compiles the programs without one.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from jaxrate.events import Matches, Ragged
from jaxrate.replay.blocks import BlockPlan
from jaxrate.replay.schedule import Plan, schedule_by_level
from jaxrate.replay.step_assignment import gpu_step_width

KERNEL_SECONDS = 2.5e-6  # seconds from one kernel of a graph to the next
BANDWIDTH = 3.35e12  # bytes a second


class StepLaunchesAndBytes(NamedTuple):
    """What a step of a program launches."""

    launches: int  # kernels and copies; of loops whose turns are not known, those of four turns
    bytes: int  # that they write and read, if the step has so many
    size: int  # matches, players and pairs of a period, or participants of a round


STEP_COSTS = {  # by system and kind of events, from experiments/results/gpu_programs.json
    ("elo", "matches"): StepLaunchesAndBytes(6, 40_976, 1_024),
    ("elo", "periods"): StepLaunchesAndBytes(9, 401_424, 13_312),
    ("glicko", "matches"): StepLaunchesAndBytes(6, 106_512, 1_024),
    ("glicko", "periods"): StepLaunchesAndBytes(10, 876_560, 13_312),
    ("glicko2", "matches"): StepLaunchesAndBytes(8, 243_736, 1_024),
    ("glicko2", "periods"): StepLaunchesAndBytes(11, 1_597_456, 13_312),
    ("category_glicko", "periods"): StepLaunchesAndBytes(62, 12_967_952, 13_312),
    ("skills", "matches"): StepLaunchesAndBytes(6, 106_512, 1_024),
    ("skills", "periods"): StepLaunchesAndBytes(10, 1_024_016, 13_312),
    ("blat_mmr", "matches"): StepLaunchesAndBytes(15, 69_419_024, 1_024),
    ("elo_mmr", "rounds"): StepLaunchesAndBytes(40, 6_529_136, 2_048),
    ("elo_mmx", "rounds"): StepLaunchesAndBytes(28, 403_378_246, 2_048),
    ("codeforces", "rounds"): StepLaunchesAndBytes(31, 3_008_246, 2_048),
    ("topcoder", "rounds"): StepLaunchesAndBytes(12, 33_755_188, 2_048),
    ("trueskill", "matches"): StepLaunchesAndBytes(6, 73_744, 1_024),
    ("trueskill", "rounds"): StepLaunchesAndBytes(156, 22_597_470, 2_048),
    ("weng_lin", "matches"): StepLaunchesAndBytes(6, 73_744, 1_024),
    ("weng_lin", "rounds"): StepLaunchesAndBytes(19, 84_217_888, 2_048),
    ("urnings", "matches"): StepLaunchesAndBytes(6, 73_744, 1_024),
}
ALL_PAIRS_LIMIT = 2048  # participants up to which rounds compare everybody with everybody: of more no step was counted


def estimate_step_seconds(step: StepLaunchesAndBytes, num_rated: float) -> float:
    """Of a step of so many matches, if nothing but launches and memory takes time."""
    return max(step.launches * KERNEL_SECONDS, step.bytes * num_rated / step.size / BANDWIDTH)


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
      steps: from `steps_of`.

    Returns:
      The seconds, or None if no such steps were counted: for rounds of more participants there are other programs.
    """
    total, counted = 0.0, STEP_COSTS.get((system_name, event_kind))
    for number, batch, players, pairs in steps:
        if counted is None or (event_kind == "rounds" and players > ALL_PAIRS_LIMIT):
            return None
        each = {"matches": 1.0, "periods": players + pairs, "rounds": players**2 / counted.size}[event_kind]
        total += number * estimate_step_seconds(counted, batch * each)
    return total
