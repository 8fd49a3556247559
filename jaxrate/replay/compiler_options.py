"""Options of XLA for the programs of replays. Whatever the length of a history, results differ by rounding at most."""

from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr

from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.core.rules import Params, State
from jaxrate.core.system import random_draw_rule
from jaxrate.events import Matches, Rounds
from jaxrate.replay.blocks import BlockPlan, gather_events
from jaxrate.replay.row_gather_and_scatter import gather_rows
from jaxrate.replay.scan_programs import ReplayRules, prepare_replay, rate_event

LOOPS = "while", "call_hi_primitive"  # since JAX 0.11 the latter hides what a `custom_root` does


class MatchProgramComplexity(NamedTuple):
    """What is compiled for a match."""

    inner_loops: bool  # whether there is a loop within it
    nodes: bool  # whether there are vectors longer than any of a player, as over nodes of an integral
    operations: int


def match_program_features(rules: ReplayRules, params: Params, state: State, match: Matches) -> MatchProgramComplexity:
    """The outline of rules, with leaves of a state [n, ...] and of a match [...] of these types."""
    rows = jax.tree.map(lambda x: jax.ShapeDtypeStruct((2, *x.shape[1:]), x.dtype), state)
    return _match_program_features_cached(rules, *_structure_and_types((params, rows, match)))


@lru_cache
def _match_program_features_cached(
    rules: ReplayRules, structure: Any, types: tuple[Any, ...]
) -> MatchProgramComplexity:
    params, rows, match = _shapes_from_types(structure, types)
    jaxpr = jax.make_jaxpr(partial(_rate_one_event, rules))(params, rows, match).jaxpr
    operations = _operation_names_and_longest_axes(jaxpr, set())
    longest = max((n for x in jax.tree.leaves(rows) for n in x.shape), default=2)
    hidden = has_launch_overhead() and _program_has_loops(rules, params, rows, match)
    return MatchProgramComplexity(
        hidden or any(name in LOOPS for name, _ in operations),
        any(length > longest for _, length in operations),
        len(operations),
    )


def any_event_has_loops(rules: ReplayRules, params: Params, state: State, plan: BlockPlan) -> bool:
    """Whether there are loops within the periods or rounds of a plan, each of its padded size."""
    sizes = frozenset(block.size for block in plan.blocks)
    return _any_event_has_loops_cached(rules, sizes, *_structure_and_types((params, state, plan.events, plan.starts)))


@lru_cache
def _any_event_has_loops_cached(
    rules: ReplayRules, sizes: frozenset[tuple[int, int]], structure: Any, types: tuple[Any, ...]
) -> bool:
    params, state, flat, starts = _shapes_from_types(structure, types)

    def event_has_loops(size: tuple[int, int]) -> bool:
        events, _ = jax.eval_shape(lambda x, y: gather_events(x, y, jnp.zeros((1, 1), jnp.int32), size), flat, starts)
        event = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[2:], x.dtype), events)
        return _program_has_loops(rules, params, jax.eval_shape(gather_rows, state, event.player), event)

    return any(event_has_loops(size) for size in sizes)


def _program_has_loops(rules: ReplayRules, params: Params, rows: State, event: Any) -> bool:
    """Whether the program that rates an event of these types has loops, wherever they are hidden."""
    return "stablehlo.while" in jax.jit(partial(_rate_one_event, rules)).lower(params, rows, event).as_text()


def _structure_and_types(inputs: Any) -> tuple[Any, tuple[Any, ...]]:
    leaves, structure = jax.tree.flatten(inputs)
    return structure, tuple(jax.typeof(x) for x in leaves)


def _shapes_from_types(structure: Any, types: tuple[Any, ...]) -> Any:
    """What stands for inputs where they are traced."""
    leaves = [jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type) for x in types]
    return jax.tree.unflatten(structure, leaves)


def _rate_one_event(rules: ReplayRules, params: Params, rows: State, event: Any) -> Any:
    draw = random_draw_rule(rules)
    drawn = None if draw is None else draw(jax.random.key(0))
    return rate_event(rules, prepare_replay(rules, params), rows, event, drawn)


def _operation_names_and_longest_axes(jaxpr: Jaxpr, counted: set[int]) -> list[tuple[str, int]]:
    """The operations of a function, each with the longest axis of what it gives.

    Those of the functions that it calls are among them, once for each function.
    """
    operations = []
    for equation in jaxpr.eqns:
        shapes = (getattr(x.aval, "shape", ()) for x in equation.outvars)
        operations.append((equation.primitive.name, max((n for shape in shapes for n in shape), default=1)))
        for value in jax.tree.leaves(equation.params, is_leaf=lambda x: isinstance(x, (Jaxpr, ClosedJaxpr))):
            inner = value.jaxpr if isinstance(value, ClosedJaxpr) else value
            if isinstance(inner, Jaxpr) and id(inner) not in counted:
                counted.add(id(inner))
                operations += _operation_names_and_longest_axes(inner, counted)
    return operations


class ProgramTraits(NamedTuple):
    """What the options of the compiler depend on."""

    events: type = Matches  # of what kind they are
    axes: int = 1  # of the state: 1 if a player is a few numbers, 2 of vectors, 3 of matrices
    stream: bool = False  # whether it takes one event after the other
    inner_loops: bool = False  # whether there may be loops within its events
    nodes: bool = False  # whether its matches sum over more numbers than a player has, as over nodes of an integral
    short: bool = False  # whether it is sooner done than compiled
    tiles: bool = False  # whether large rounds are cut in tiles


# Since JAX 0.11, XLA has its newer emitters alone, and no option for them.
CAREFUL = {"xla_backend_optimization_level": 3, "xla_cpu_use_fusion_emitters": True}  # whatever XLA_FLAGS say
QUICK = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}
# For all that a step does to become one CUDA graph: otherwise the host launches every kernel.
STEP_CUDA_GRAPH_OPTIONS = {
    "xla_gpu_enable_command_buffer": "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,CONDITIONAL",
    "xla_disable_hlo_passes": "fusion-dynamic-memcpy-rewriter",  # it makes copies of slices, which would be in no graph
}
# For the whole replay to become one graph. There must be no loop within its loop: with one, an H100 gave wrong numbers
# or none (JAX 0.11.2, `graphs` of `gpu_record.json`). Their conditions then launched no kernel, which is mended (see
# `replace_if`), but no device has tried it since.
REPLAY_CUDA_GRAPH_OPTIONS = STEP_CUDA_GRAPH_OPTIONS | {
    "xla_gpu_enable_command_buffer": STEP_CUDA_GRAPH_OPTIONS["xla_gpu_enable_command_buffer"] + ",WHILE"
}


def compiler_options(traits: ProgramTraits) -> dict[str, Any] | None:
    """The options for a program of these traits on the default device. None: XLA's own."""
    if jax.default_backend() == "gpu":
        by_step = traits.inner_loops or traits.stream
        return supported_xla_options(STEP_CUDA_GRAPH_OPTIONS if by_step else REPLAY_CUDA_GRAPH_OPTIONS)
    if jax.default_backend() != "cpu":
        return None
    without = []
    if traits.events is Rounds or traits.axes > 1:
        # It would hand thin matrix products to a library that takes twice as long over them.
        without.append("dot-library-rewriter")
    if traits.tiles or (traits.events is not Rounds and not traits.stream):
        # It would spread the rows of a step over threads as soon as a leaf of the state reached half a megabyte, and
        # wait for them: 3 times as long for numbers from 131,072 players on, twice for matrices of 6 x 6. Over the many
        # small loops of tiles it would take a tenth (Elo-MMR) to a third (Elo-MMX) more time.
        without.append("cpu-parallel-task-assigner")
    options: dict[str, Any] = CAREFUL | ({"xla_disable_hlo_passes": ",".join(without)} if without else {})
    # The newer emitters take half of all that compiling takes. Loops within events gain nothing from them (Glicko-2 in
    # levels takes a quarter less time without), small matrices lose (slopes take half the time without), simple
    # rules in levels gain a third.
    # Sums over the nodes of an integral take two thirds of the time with them, of small matrices as well.
    small_matrices = traits.axes > 2 and not traits.nodes
    heavy = traits.events is Matches and not traits.stream and (traits.inner_loops or small_matrices)
    if traits.events is Rounds or traits.short or heavy:
        options["xla_cpu_use_fusion_emitters"] = False
        # The third level takes twice as long to compile, and with vectors of a player up to twice as long to run. By
        # the first, matrix products of matches would be rounded otherwise.
        if traits.axes == 1 or traits.events is not Matches:
            options["xla_backend_optimization_level"] = 1
    if traits.axes == 2 and traits.events is Matches:
        options["xla_backend_optimization_level"] = 1
    if traits.short or traits.events is Rounds:
        # Two cores generate the code of two parts in two thirds of the time. 32 parts, for as many cores, would take a
        # quarter more time of a core in all. Large rounds have two programs, which compile side by side.
        options["xla_cpu_parallel_codegen_split_count"] = 2 if traits.short else 4
    return supported_xla_options(options)


def quick_compile_options() -> dict[str, Any] | None:
    """What to tell XLA on a CPU for it to compile in a sixth of the time, and slow code."""
    return cpu_compile_options(QUICK)


def cpu_compile_options(options: dict[str, Any]) -> dict[str, Any] | None:
    """These, as far as XLA has them, on a CPU. None elsewhere: XLA's own."""
    return supported_xla_options(options) if jax.default_backend() == "cpu" else None


def supported_xla_options(options: dict[str, Any]) -> dict[str, Any]:
    """Those of the options that this version of XLA has.

    XLA has no list of them: it refuses what it does not know when it compiles. So each set is tried once on a program
    that does nothing.
    """
    return dict(_supported_xla_option_items(tuple(options.items())))


@lru_cache
def _supported_xla_option_items(options: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    try:
        jax.jit(lambda: 0, compiler_options=dict(options)).lower().compile()
    except jax.errors.JaxRuntimeError:
        return () if len(options) == 1 else tuple(x for item in options for x in _supported_xla_option_items((item,)))
    return options
