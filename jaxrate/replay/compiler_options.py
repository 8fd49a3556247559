"""Options of XLA for the programs of replays. Whatever the length of a history, results differ by rounding at most."""

from functools import lru_cache
from typing import Any, NamedTuple

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr
from jax.interpreters.partial_eval import dce_jaxpr

from jaxrate.core.rules import Params, State
from jaxrate.events import Matches, Rounds
from jaxrate.replay.scan_programs import ReplayRules, prepare_replay, rate_event

HIDDEN_LOOPS = "call_hi_primitive"  # since JAX 0.11: the loops of `jax.lax` that find a root


class EventProgramFeatures(NamedTuple):
    """The features of an event's program that decide how it is compiled."""

    inner_loops: bool  # whether there is a loop within it
    nodes: bool  # whether there are vectors longer than any of a player, as over nodes of an integral
    operations: int


def event_program_features(rules: ReplayRules, params: Params, state: State, event: Any) -> EventProgramFeatures:
    """The features of rules, with leaves of a state [n, ...] and of an event of these types."""
    rows = jax.tree.map(lambda x: jax.ShapeDtypeStruct((*event.player.shape, *x.shape[1:]), x.dtype), state)
    leaves, structure = jax.tree.flatten((params, rows, event))
    return _event_program_features_cached(rules, structure, tuple(jax.typeof(x) for x in leaves))


@lru_cache
def _event_program_features_cached(rules: ReplayRules, structure: Any, types: tuple[Any, ...]) -> EventProgramFeatures:
    leaves = [jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type) for x in types]
    params, rows, event = jax.tree.unflatten(structure, leaves)

    def rate(params: Params, rows: State, event: Any) -> Any:
        draw = rules.draw
        drawn = None if draw is None else draw(jax.random.key(0))
        return rate_event(rules, prepare_replay(rules, params), rows, event, drawn)

    program = jax.make_jaxpr(rate)(params, rows, event).jaxpr
    needed, _ = dce_jaxpr(program, [True] * len(program.outvars))
    operations, needed_operations = (
        _loop_flags_and_axis_lengths(program, set()),
        _loop_flags_and_axis_lengths(needed, set()),
    )
    longest = max((n for x in jax.tree.leaves(rows) for n in x.shape), default=2)
    return EventProgramFeatures(
        any(is_loop for is_loop, _ in needed_operations),
        any(length > longest for _, length in operations),
        len(operations),
    )


def _loop_flags_and_axis_lengths(jaxpr: Jaxpr, counted: set[int]) -> list[tuple[bool, int]]:
    """The operations of a function: whether each is a loop, and the longest axis of what it gives.

    Those of the functions that it calls are among them, once for each function.
    """
    operations = []
    for equation in jaxpr.eqns:
        name, about = equation.primitive.name, equation.params
        is_loop = name in ("while", HIDDEN_LOOPS) or (name == "scan" and about["length"] > about["unroll"])
        shapes = (getattr(x.aval, "shape", ()) for x in equation.outvars)
        operations.append((is_loop, max((n for shape in shapes for n in shape), default=1)))
        for value in jax.tree.leaves(about, is_leaf=lambda x: isinstance(x, (Jaxpr, ClosedJaxpr))):
            inner = value.jaxpr if isinstance(value, ClosedJaxpr) else value
            if isinstance(inner, Jaxpr) and id(inner) not in counted:
                counted.add(id(inner))
                operations += _loop_flags_and_axis_lengths(inner, counted)
    return operations


class ProgramTraits(NamedTuple):
    """The traits of a program on which the options of the compiler depend."""

    events: type = Matches  # of what kind they are
    axes: int = 1  # of the state: 1 if a player is a few numbers, 2 of vectors, 3 of matrices
    stream: bool = False  # whether it takes one event after the other
    inner_loops: bool = False  # whether there may be loops within its events
    nodes: bool = False  # whether its matches sum over more numbers than a player has, as over nodes of an integral
    short: bool = False  # whether it is sooner done than compiled
    tiles: bool = False  # whether large rounds are cut in tiles

    @property
    def uses_older_emitters(self) -> bool:
        """Whether XLA's newer emitters are not worth half of all that compiling takes.

        Loops within events gain nothing from them (Glicko-2 in levels takes a quarter less time without), small
        matrices lose (slopes take half the time without), simple rules in levels gain a third. Sums over the nodes of
        an integral take two thirds of the time with them, of small matrices as well.
        """
        has_small_matrices = self.axes > 2 and not self.nodes
        is_heavy = self.events is Matches and not self.stream and (self.inner_loops or has_small_matrices)
        return self.events is Rounds or self.short or is_heavy


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
# or none (JAX 0.11.2, part "graphs" of gpu_record.json). Their conditions then launched no kernel, which is mended (see
# `replace_if`), but no device has tried it since.
REPLAY_CUDA_GRAPH_OPTIONS = STEP_CUDA_GRAPH_OPTIONS | {
    "xla_gpu_enable_command_buffer": STEP_CUDA_GRAPH_OPTIONS["xla_gpu_enable_command_buffer"] + ",WHILE"
}


def compiler_options(traits: ProgramTraits) -> dict[str, Any] | None:
    """The options for a program of these traits on the default device. None: XLA's own."""
    if jax.default_backend() == "gpu":
        by_step = traits.inner_loops or traits.stream
        return supported_xla_options(STEP_CUDA_GRAPH_OPTIONS if by_step else REPLAY_CUDA_GRAPH_OPTIONS)
    return cpu_compile_options(_options_on_cpu(traits))


def _options_on_cpu(traits: ProgramTraits) -> dict[str, Any]:
    """The options for a program of these traits on a CPU, whether this XLA has them or not."""
    of_matches, of_rounds, older = traits.events is Matches, traits.events is Rounds, traits.uses_older_emitters
    disabled_passes = {
        # It would hand thin matrix products to a library that takes twice as long over them.
        "dot-library-rewriter": of_rounds or traits.axes > 1,
        # It would spread the rows of a step over threads as soon as a leaf of the state reached half a megabyte, and
        # wait for them: 3 times as long for numbers from 131,072 players on, twice for matrices of 6 x 6. Over the many
        # small loops of tiles it would take a tenth (Elo-MMR) to a third (Elo-MMX) more time.
        "cpu-parallel-task-assigner": traits.tiles or not (of_rounds or traits.stream),
    }
    passes = ",".join(name for name, is_disabled in disabled_passes.items() if is_disabled)
    chosen = {
        ("xla_disable_hlo_passes", passes): passes,
        ("xla_cpu_use_fusion_emitters", False): older,
        # The third level takes twice as long to compile, and with vectors of a player up to twice as long to run. By
        # the first, matrix products of matches would be rounded otherwise.
        ("xla_backend_optimization_level", 1): older if traits.axes == 1 or not of_matches else traits.axes == 2,
        # Two cores generate the code of two parts in two thirds of the time. 32 parts, for as many cores, would take a
        # quarter more time of a core in all. Large rounds have two programs, which compile side by side.
        ("xla_cpu_parallel_codegen_split_count", 2 if traits.short else 4): traits.short or of_rounds,
    }
    return CAREFUL | dict(option for option, holds in chosen.items() if holds)


def quick_compile_options() -> dict[str, Any] | None:
    """Options of XLA on a CPU that compile in a sixth of the time, and give slow code."""
    return cpu_compile_options(QUICK)


def cpu_compile_options(options: dict[str, Any]) -> dict[str, Any] | None:
    """These, as far as XLA has them, on a CPU. None elsewhere: XLA's own."""
    return supported_xla_options(options) if jax.default_backend() == "cpu" else None


def supported_xla_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options that this version of XLA has.

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
