"""A whole replay in one CUDA graph, its loop included, beside a graph for each step: are the results the same?

Decides: whether a loop may be in a graph when there are loops within its events. With JAX 0.11.2 it must not.
"""

import time
from typing import NamedTuple

import jax
import numpy as np

import jaxrate as jr
from gpu_parts.histories import ROUNDS, TENNIS, resize_history
from gpu_parts.replay_clock import arrange_events, first_state, replay, system_of
from jaxrate.replay import compiler_options, execution

SHORT_ROUNDS, SHORT_TENNIS = ROUNDS | {"rounds": 30}, TENNIS | {"matches": 100_000}
SYSTEMS_WITH_INNER_LOOPS = "elo_mmr", "elo_mmx", "codeforces"
SYSTEMS_WITHOUT_INNER_LOOPS = ("topcoder", SHORT_ROUNDS), ("elo", SHORT_TENNIS), ("glicko2", SHORT_TENNIS)
REPLAY_COUNT = 6


class ReplayResult(NamedTuple):
    """A replay and its time."""

    seconds: float
    prediction: np.ndarray
    rating: np.ndarray


def cases(options):
    every = [*((name, SHORT_ROUNDS) for name in SYSTEMS_WITH_INNER_LOOPS), *SYSTEMS_WITHOUT_INNER_LOOPS]
    for system, history in every[:1] if options.quick else every:
        yield {"table": "loops in graphs", "system": system} | resize_history(history, options)


def run(case, options):
    by_step, step_seconds = repeat_replay(case, compiler_options.STEP_CUDA_GRAPH_OPTIONS, options)
    whole, whole_seconds = repeat_replay(case, compiler_options.REPLAY_CUDA_GRAPH_OPTIONS, options)
    return {
        "by_step_seconds": step_seconds,
        "by_step_wrong": sum(not results_agree(x, by_step[0]) for x in by_step),
        "whole_seconds": whole_seconds,
        "whole_wrong": sum(not results_agree(x, by_step[0]) for x in whole),
        "replays": len(whole),
    }


def repeat_replay(case, graph, options):
    """Predictions and ratings of each replay, and the seconds of the best, of a program with these options."""
    system, (_, plan) = system_of(case), arrange_events(case)
    both = compiler_options.STEP_CUDA_GRAPH_OPTIONS, compiler_options.REPLAY_CUDA_GRAPH_OPTIONS
    compiler_options.STEP_CUDA_GRAPH_OPTIONS = compiler_options.REPLAY_CUDA_GRAPH_OPTIONS = graph
    found = []
    try:
        execution._jit_replay.cache_clear()
        for _ in range(2 if options.quick else REPLAY_COUNT):
            state = first_state(system, plan.num_players)
            start = time.perf_counter()
            state, prediction = jax.block_until_ready(replay(system, plan, state))
            seconds = time.perf_counter() - start
            found.append(ReplayResult(seconds, np.asarray(prediction), np.asarray(jr.ratings(system, state).mean)))
    finally:
        compiler_options.STEP_CUDA_GRAPH_OPTIONS, compiler_options.REPLAY_CUDA_GRAPH_OPTIONS = both
        execution._jit_replay.cache_clear()
    return found, min(x.seconds for x in found[1:])


def results_agree(found, wanted):
    """Whether predictions and ratings are finite, and the same but for rounding."""
    pairs = (found.prediction, wanted.prediction), (found.rating, wanted.rating)
    return all(np.isfinite(x).all() and np.allclose(x, y, rtol=1e-4, atol=1e-4) for x, y in pairs)
