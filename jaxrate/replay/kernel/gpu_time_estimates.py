"""How long a GPU should take over a history, from the kernels of its programs: counted, but no time was measured.

The counts are those of an H100, for which `experiments/gpu_programs.py` compiles the programs without one.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from jaxrate.events import Matches, Ragged
from jaxrate.replay.blocks import Blocks
from jaxrate.replay.schedule import Plan, schedule_by_level
from jaxrate.replay.step_assignment import gpu_step_width

KERNEL_SECONDS = 2.5e-6  # seconds from one kernel of a graph to the next
BANDWIDTH = 3.35e12  # bytes a second


class StepCost(NamedTuple):
    """What a step of a program launches."""

    launches: int  # kernels and copies; of loops whose turns are not known, those of four turns
    bytes: int  # that they write and read, if the step has so many
    size: int  # matches, players and pairs of a period, or participants of a round


STEP_COSTS = {  # by system and kind of events, from experiments/results/gpu_programs.json
    ("elo", "matches"): StepCost(6, 40_976, 1_024),
    ("elo", "periods"): StepCost(9, 401_424, 13_312),
    ("glicko", "matches"): StepCost(6, 106_512, 1_024),
    ("glicko", "periods"): StepCost(10, 876_560, 13_312),
    ("glicko2", "matches"): StepCost(8, 243_736, 1_024),
    ("glicko2", "periods"): StepCost(11, 1_597_456, 13_312),
    ("category_glicko", "periods"): StepCost(62, 12_967_952, 13_312),
    ("skills", "matches"): StepCost(6, 106_512, 1_024),
    ("skills", "periods"): StepCost(10, 1_024_016, 13_312),
    ("blat_mmr", "matches"): StepCost(15, 69_419_024, 1_024),
    ("elo_mmr", "rounds"): StepCost(40, 6_529_136, 2_048),
    ("elo_mmx", "rounds"): StepCost(28, 403_378_246, 2_048),
    ("codeforces", "rounds"): StepCost(31, 3_008_246, 2_048),
    ("topcoder", "rounds"): StepCost(12, 33_755_188, 2_048),
    ("trueskill", "matches"): StepCost(6, 73_744, 1_024),
    ("trueskill", "rounds"): StepCost(156, 22_597_470, 2_048),
    ("weng_lin", "matches"): StepCost(6, 73_744, 1_024),
    ("weng_lin", "rounds"): StepCost(19, 84_217_888, 2_048),
    ("urnings", "matches"): StepCost(6, 73_744, 1_024),
}
ALL_PAIRS_LIMIT = 2048  # participants up to which rounds compare everybody with everybody: of more no step was counted


def step_seconds(step: StepCost, size: float) -> float:
    """Of a step of so many matches, if nothing but launches and memory takes time."""
    return max(step.launches * KERNEL_SECONDS, step.bytes * size / step.size / BANDWIDTH)


class StepGroup(NamedTuple):
    """Steps of one shape."""

    number: int
    batch: int  # matches, periods or rounds of each
    players: int  # of a period or round
    pairs: int


def gpu_steps(events: Matches | Ragged, arranged: Plan | Blocks) -> list[StepGroup]:
    """The steps in which a GPU would rate a history; `arranged` is it on this machine: there matches stand wider."""
    if isinstance(arranged, Blocks):
        both = zip(arranged.steps, arranged.blocks, strict=True)
        return [StepGroup(steps, block.number.shape[1], *block.size) for steps, block in both]
    matches: Any = events
    width = gpu_step_width(np.asarray(matches.player))
    plan: Any = schedule_by_level(matches, width)
    return [StepGroup(plan.num_steps, width, 2, 1)]


def gpu_seconds(system: str, kind: str, steps: Iterable[StepGroup]) -> float | None:
    """Seconds that one GPU should take over a replay once all is arranged and compiled.

    Args:
      system: its name.
      kind: of the events: "matches", "periods" or "rounds".
      steps: from `steps_of`.

    Returns:
      The seconds, or None if no such steps were counted: for rounds of more participants there are other programs.
    """
    total, counted = 0.0, STEP_COSTS.get((system, kind))
    for number, batch, players, pairs in steps:
        if counted is None or (kind == "rounds" and players > ALL_PAIRS_LIMIT):
            return None
        each = {"matches": 1.0, "periods": players + pairs, "rounds": players**2 / counted.size}[kind]
        total += number * step_seconds(counted, batch * each)
    return total
