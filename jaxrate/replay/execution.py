"""How replays are executed: compiled by a policy, in place, and block after block.

The programs themselves are pure functions in `scan_programs.py`.
"""

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial, wraps
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.argument_checks import is_traced
from jaxrate.events import Matches, Periods, Rounds
from jaxrate.replay.block_programs import replay_block
from jaxrate.replay.blocks import Block, Blocks, gather_events
from jaxrate.replay.gather import gather_rows
from jaxrate.replay.rule_outlines import outline_rules
from jaxrate.replay.scan_programs import (
    MatchProgramShape,
    ReplayRules,
    predict_event,
    prepare_replay,
    rate_event,
    replay_levels,
    replay_rules,
    replay_stream,
)
from jaxrate.replay.schedule import Plan
from jaxrate.rules import Params, Record, State
from jaxrate.system import RatingSystem, full_leaf
from jaxrate.types import Array

SIMPLE_OPERATIONS = 300  # operations of rules that XLA compiles into one native loop
POLICY_VARIABLE = "JAXRATE_COMPILE"  # "quick": the default policy is to compile quickly


class CompilePolicy(NamedTuple):
    """How the programs of replays are compiled. `run` and `scan` take one; its fields change no prediction beyond
    rounding.
    """

    quick: bool = False  # in a sixth of the time, to slow code: for short replays, such as those of tests
    outermost: bool = False  # as at the top level, inside a vmap or forward derivative that is in no jit
    short_history: int = 1 << 14  # predictions up to which a history is replayed sooner than compiled with care


def default_policy() -> CompilePolicy:
    """The policy where none is named: quick if the environment says `JAXRATE_COMPILE=quick`."""
    return CompilePolicy(quick=os.environ.get(POLICY_VARIABLE) == "quick")


class ProgramTraits(NamedTuple):
    """What the options of the compiler depend on."""

    events: type = Matches  # of what kind they are
    axes: int = 1  # of the state: 1 if a player is a few numbers, 2 of vectors, 3 of matrices
    stream: bool = False  # whether it takes one event after the other
    loops: bool = False  # whether there are loops within its matches
    short: bool = False  # whether it is sooner done than compiled


LEVELS = ProgramTraits()


def execute(
    rules: ReplayRules,
    params: Params,
    state: State,
    plan: Plan | Blocks,
    key: Array | None,
    *,
    ids_checked: bool,
    engine: str = "scan",
    policy: CompilePolicy | None = None,
) -> tuple[State, Any]:
    """The state after a plan, in the memory of the one before it, and the predictions, those past the events 0.

    Args:
      plan: concrete; the rest may be traced if the policy is `outermost`, and then nothing is overwritten.
      ids_checked: every id has its row.
      engine: as in `run`.
      policy: None: `default_policy`.
    """
    policy = default_policy() if policy is None else policy
    if isinstance(plan, Blocks):
        return _execute_blocks(rules, params, state, plan, key, policy)
    program = compile_match_replay(rules, params, state, plan, key, engine, policy)
    shape, count = MatchProgramShape(plan.size, None, ids_checked), np.int32(plan.num_steps)
    result: tuple[State, Any] = program(rules, shape, params, state, plan.events, plan.number, key, count)
    return result


def _execute_blocks(
    rules: ReplayRules, params: Params, state: State, plan: Blocks, key: Array | None, policy: CompilePolicy
) -> tuple[State, Any]:
    """Blocks of equal padded size, one call after the other; state and predictions stay on the device."""
    inputs, flat = (params, state, plan, key), plan.events
    traits = ProgramTraits(type(flat), short=plan.size <= policy.short_history)
    program = compile_replay(replay_block, inputs, policy, traits)

    def arguments(block: Block, steps: int, result: Any) -> tuple[Any, ...]:
        return rules, block.size, params, result, flat, plan.starts, block.number, key, np.int32(steps)

    result = state, empty_predictions(rules, params, state, plan, key)
    kinds = {(block.size, block.number.shape): block for block in plan.blocks}.values()
    if len(kinds) > 1 and not is_inside_transformation(inputs):
        with ThreadPoolExecutor() as pool:  # XLA compiles on one core
            tasks = [pool.submit(program.lower(*arguments(block, 0, result)).compile) for block in kinds]
            for task in tasks:
                task.result()
    for block, steps in zip(plan.blocks, plan.steps, strict=True):
        result = program(*arguments(block, int(steps), result))
    return result


def empty_predictions(rules: ReplayRules, params: Params, state: State, plan: Blocks, key: Array | None) -> Any:
    """Zeros [size, ...] where blocks write their predictions."""
    block = plan.blocks[0]
    shapes = _first_prediction.eval_shape(rules, block.size, params, state, plan.events, plan.starts, block.number, key)
    _check_recorded_rows(shapes, plan.events, block.size)
    return jax.tree.map(lambda x: full_leaf((plan.size, *x.shape[1:]), 0, x.dtype), shapes)


def _check_recorded_rows(shapes: Any, flat: Periods | Rounds, size: tuple[int, int]) -> None:
    """ValueError unless what is recorded of an event has a row for each pair of a period, or participant of a round."""
    count, rows = (size[1], "pair of a period") if isinstance(flat, Periods) else (size[0], "participant of a round")
    for leaf in jax.tree.leaves(shapes):
        if leaf.shape[:1] != (count,):
            raise ValueError(f"record must return a row for each {rows}, [{count}, ...] here, got {list(leaf.shape)}")


@partial(jax.jit, static_argnums=(0, 1))  # for what infers takes long to trace
def _first_prediction(
    rules: ReplayRules,
    size: tuple[int, int],
    params: Params,
    state: State,
    flat: Periods | Rounds,
    starts: tuple[Array, Array | None],
    index: Array,
    key: Array | None,
) -> Any:
    """The prediction of the first event, padded, for its shape."""
    events, _ = gather_events(flat, starts, index, size)
    event = jax.tree.map(lambda x: x[0, 0], events)
    inputs = rules, prepare_replay(rules, params), gather_rows(state, event.player), event
    return predict_event(*inputs) if rules.record is None else rate_event(*inputs, key)[1]


def compile_match_replay(
    rules: ReplayRules, params: Params, state: State, plan: Plan, key: Array | None, engine: str, policy: CompilePolicy
) -> Any:
    """The program of a plan of matches."""
    short = not is_traced(plan) and plan.size <= policy.short_history
    stream = plan.number is None
    replay = replay_stream if stream else replay_levels if engine == "scan" else _kernel_program()
    loops = False
    if replay is replay_levels and not short:
        match = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:-1], x.dtype), plan.events)
        loops = outline_rules(rules, params, state, match).loops
    return compile_replay(replay, (params, state, plan, key), policy, ProgramTraits(Matches, 1, stream, loops, short))


def _kernel_program() -> Any:
    """The other program of levels: Pallas takes a tenth of a second to import, which few need."""
    from jaxrate.replay.kernel import levels_kernel

    return levels_kernel.replay_levels_in_kernel


def compile_replay(
    replay: Callable[..., Any],
    inputs: tuple[Any, ...],
    policy: CompilePolicy | None = None,
    traits: ProgramTraits = LEVELS,
) -> Any:
    """A program under jit: in place at the top level, plain inside somebody's transformation.

    Args:
      replay: of `scan_programs.py`: its first two arguments are static, its fourth is what it replaces.
      inputs: all its arguments that could be traced, the state the second.
      policy: None: `default_policy`.
      traits: of the program; the axes are counted here.
    """
    policy = default_policy() if policy is None else policy
    axes = max((x.ndim for x in jax.tree.leaves(inputs[1])), default=1)
    exact = not (
        traits.stream and jnp.result_type(float) == np.float64
    )  # else the emitters round TrueSkill's otherwise
    short = traits.short and exact and not policy.outermost
    return _jit_replay(replay, is_inside_transformation(inputs), policy, traits._replace(axes=axes, short=short))


@lru_cache
def _jit_replay(replay: Callable[..., Any], inside: bool, policy: CompilePolicy, traits: ProgramTraits) -> Any:
    options = None
    if policy.outermost or not inside:  # only an outermost jit may have options
        options = quick_compile_options() if policy.quick else _compiler_options(traits)
    return jax.jit(replay, static_argnums=(0, 1), donate_argnums=() if inside else 3, compiler_options=options)


def is_inside_transformation(tree: Any) -> bool:
    """Whether it is inside somebody's transformation: something is traced, or all that is calculated would be."""
    return is_traced((tree, jax.device_put(np.zeros(()))))


# --- Options of XLA. Whatever the length of a history, results are the same to the bit. ---

CAREFUL = {"xla_backend_optimization_level": 3, "xla_cpu_use_fusion_emitters": True}  # whatever XLA_FLAGS say
QUICK = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}
CUDA_GRAPH = {  # For the whole replay, its loops included, to become one CUDA graph: otherwise the host launches every
    # step, and waits for each turn of a loop within. Copies of slices, which that pass makes, would be in no graph.
    "xla_gpu_enable_command_buffer": "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,CONDITIONAL,WHILE",
    "xla_disable_hlo_passes": "fusion-dynamic-memcpy-rewriter",
}


def _compiler_options(traits: ProgramTraits) -> dict[str, Any] | None:
    if jax.default_backend() != "cpu":
        return supported_options(CUDA_GRAPH) if jax.default_backend() == "gpu" else None
    without = []
    if traits.events is Rounds or traits.axes > 1:
        # It would hand thin matrix products to a library that takes twice as long over them.
        without.append("dot-library-rewriter")
    if traits.events is not Rounds and not traits.stream:
        # It would spread the rows of a step over threads as soon as a leaf of the state reached half a megabyte, and
        # wait for them: 3 times as long for numbers from 131,072 players on, twice for matrices of 6 x 6.
        without.append("cpu-parallel-task-assigner")
    options: dict[str, Any] = CAREFUL | ({"xla_disable_hlo_passes": ",".join(without)} if without else {})
    # The newer emitters take half of all that compiling takes. Loops within events gain nothing from them (Glicko-2 in
    # levels takes a quarter less time without), small matrices lose (slopes take half the time without), simple
    # rules in levels gain a third.
    heavy = traits.events is Matches and not traits.stream and (traits.loops or traits.axes > 2)
    if traits.events is Rounds or traits.short or heavy:
        options["xla_cpu_use_fusion_emitters"] = False
        if traits.axes == 1:
            options["xla_backend_optimization_level"] = 1
    return supported_options(options)


def quick_compile_options() -> dict[str, Any] | None:
    """What to tell XLA on a CPU for it to compile in a sixth of the time, and slow code."""
    return supported_options(QUICK) if jax.default_backend() == "cpu" else None


def jit_with_vector_loops(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function under jit, its first argument static and of some `size`: long loops over vectors side by side.

    Of small matrices one thread takes a third less time over a step than two that wait for each other, and the newer
    emitters gain nothing there. It may be called at the top level only.
    """

    @lru_cache
    def jit(matrices: bool, policy: CompilePolicy) -> Any:
        options = quick_compile_options() if policy.quick else None
        if matrices and not policy.quick and jax.default_backend() == "cpu":
            passes = "dot-library-rewriter,cpu-parallel-task-assigner"
            options = supported_options({"xla_disable_hlo_passes": passes, "xla_cpu_use_fusion_emitters": False})
        return jax.jit(function, static_argnums=0, compiler_options=options)

    @wraps(function)
    def call(fixed: Any, *arguments: Any) -> Any:
        return jit(fixed.size > 1, default_policy())(fixed, *arguments)

    return call


def supported_options(options: dict[str, Any]) -> dict[str, Any]:
    """Those of the options that this version of XLA has.

    XLA has no list of them: it refuses what it does not know when it compiles. So each set is tried once on a program
    that does nothing.
    """
    return dict(_supported_items(tuple(options.items())))


@lru_cache
def _supported_items(items: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    try:
        jax.jit(lambda: 0, compiler_options=dict(items)).lower().compile()
    except jax.errors.JaxRuntimeError:
        return () if len(items) == 1 else tuple(x for item in items for x in _supported_items((item,)))
    return items


# --- What rules are made of decides between a stream and levels. ---


def levels_threshold(
    system: RatingSystem, params: Params, key: Array | None, events: Matches, record: Record | None = None
) -> float:
    """Matches per step from which levels, made for this one replay, beat a stream.

    On a CPU, XLA compiles a stream of simple rules into one native loop. Wide steps can be up to three times as fast,
    but making them takes longer than the stream: ATP tennis 0.18 s in all against 0.04 s for Elo, 0.42 against 0.10 for
    Glicko. It does not for rules with an inner loop or keys of their own, in float64 or under differentiation, and no
    GPU runs a stream well.
    """
    double = jnp.result_type(float) == np.float64
    hashes = key is not None and system.rules.draw is None
    if double or hashes or jax.default_backend() != "cpu" or is_traced(params):
        return 2.0
    kind = jax.tree.map(lambda x: np.int32 if np.dtype(x.dtype).kind in "iu" else jnp.result_type(float), events)
    match = jax.tree.map(lambda x, kind: jax.ShapeDtypeStruct(np.shape(x)[1:], kind), events, kind)
    rules = replay_rules(system.rules, params, record)
    outline = outline_rules(rules, params, jax.eval_shape(lambda p: system.init(p, 2), params), match)
    simple = outline.scalar_rows and not outline.loops and outline.operations < SIMPLE_OPERATIONS
    return math.inf if simple else 2.0
