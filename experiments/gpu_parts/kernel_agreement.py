"""The one-launch kernel beside the loop, for every system that it takes.

A barrier that does not hold shows as numbers that differ, or that are not the same each time. Decides: whether
`engine="kernel"` may be the default where it is faster.
"""

from contextlib import nullcontext
from functools import partial
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np

import jaxrate as jr
from gpu_parts.replay_clock import arrange_events, differences, first_state, replay, system_of
from gpu_parts.replays import KERNEL
from jaxrate.replay.execution import CompilePolicy
from jaxrate.replay.kernel import levels_kernel

HISTORY = {"history": "tennis", "matches": 30_000, "players": 3_000}
WIDTHS = 64, 256, 4_096  # of steps: of one block, of its most usual size, and wider than a block
REPEATS = 5
TOLERANCE = {"float32": 1e-4, "float64": 1e-9}  # of predictions, and of states relative to their size


def cases(options):
    if options.device == "cpu":  # it is interpreted there, which takes long
        few = {"history": "tennis", "matches": 60, "players": 12, "width": 32}
        yield {"table": "kernel beside loop", "system": "elo", "precision": "float32", **few}
        return
    for system in KERNEL:
        for precision in ("float32", "float64"):
            for width in WIDTHS if precision == "float32" else WIDTHS[:1]:
                about = {"system": system, "precision": precision, "width": width}
                yield {"table": "kernel beside loop"} | about | HISTORY
    for system in ("elo", "glicko2"):
        about = {"system": system, "precision": "float32", "width": 256, "settings": 64}
        yield {"table": "kernel beside loop, settings"} | about | HISTORY


def run(case, options):
    rate = replay_several_settings if "settings" in case else replay_case
    turns = REPEATS if options.turns and options.device == "gpu" else 1  # once to compile
    with jax.enable_x64(case["precision"] == "float64"):
        wanted = rate(case, "scan")
        with interpretation() if options.device == "cpu" else nullcontext():
            found = [rate(case, "kernel") for _ in range(turns)]
    off = differences(found[0], wanted)
    same = all(is_same(found[0], other) for other in found[1:])
    assert same, f"{turns} runs do not give the same bits; off by {off}"
    most = TOLERANCE[case["precision"]]
    assert max(off.values()) <= most, f"numbers differ by more than {most:g}: {off}"
    return off | {"runs": turns}


def replay_case(case, engine):
    """State and predictions on the host."""
    system, plan = system_of(case), arrange_events(case)[1]
    return jax.tree.map(np.asarray, replay(system, plan, first_state(system, plan.num_players), engine))


def interpretation():
    """The kernel is interpreted, without a GPU."""
    interpret = partial(levels_kernel.replay_levels_in_kernel, interpret=True)
    return patch.object(levels_kernel, "replay_levels_in_kernel", interpret)


def replay_several_settings(case, engine):
    """The same with hyperparameters that differ, in one program."""
    system, plan = system_of(case), arrange_events(case)[1]
    factor = jnp.linspace(0.8, 1.2, case["settings"])

    def one(factor):
        params = jax.tree.map(lambda x: x * factor, jax.tree.map(jnp.asarray, system.params))
        state = system.init(params, plan.num_players)
        return jr.scan(system, params, state, plan, engine=engine, policy=CompilePolicy(outermost=True))

    return jax.tree.map(np.asarray, tuple(jax.vmap(one)(factor)))


def is_same(found, other):
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(x, y, equal_nan=True) for x, y in pairs)
