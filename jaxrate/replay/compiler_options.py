"""Options of XLA for the programs of replays. Whatever the length of a history, results differ by rounding at most."""

from functools import lru_cache
from typing import Any, NamedTuple

import jax

from jaxrate.events import Matches, Periods, Rounds


class ProgramTraits(NamedTuple):
    """The traits of a program on which the options of the compiler depend."""

    events: type = Matches  # of what kind they are
    axes: int = 1  # of the state: 1 if a player is a few numbers, 2 of vectors, 3 of matrices
    stream: bool = False  # whether it takes one event after the other
    inner_loops: bool = False  # whether there may be loops within its events
    short: bool = False  # whether it is sooner done than compiled
    tiles: bool = False  # whether large rounds are cut in tiles
    slopes: bool = False  # whether it may be that of slopes

    @property
    def is_faster_by_older_emitters(self) -> bool:
        """Whether levels of matches take longer by XLA's newer emitters: those with loops within events a sixth."""
        of_levels = self.events is Matches and not self.stream
        return of_levels and (self.inner_loops or (self.slopes and self.axes > 2))


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
    return cpu_compile_options({name: x for name, x in options_on_cpu(traits).items() if x not in (None, "")})


# It would hand thin matrix products to a library that takes twice as long over them.
LIBRARY = "dot-library-rewriter"
# It would spread the rows of a step over threads as soon as a leaf of the state reached half a megabyte, and wait for
# them: 3 times as long for numbers from 131,072 players on, twice for matrices of 6 x 6. Over the many small loops of
# tiles it would take a tenth (Elo-MMR) to a third (Elo-MMX) more time.
THREADS = "cpu-parallel-task-assigner"


class CpuProgram(NamedTuple):
    """How a kind of program is compiled for a CPU."""

    disabled_passes: tuple[str, ...] = ()
    older_emitters: bool = False  # those that JAX 0.10 has as well: they compile in half the time
    # In how many parts code is generated. Two cores generate that of two parts in two thirds of the time; 32, for as
    # many cores, would take a quarter more time of a core in all. Large rounds have two programs, side by side.
    parts: int | None = None


CPU_PROGRAMS: dict[Any, CpuProgram] = {
    "stream": CpuProgram(),
    Matches: CpuProgram((THREADS,)),
    Periods: CpuProgram((THREADS,)),
    Rounds: CpuProgram((LIBRARY,), older_emitters=True, parts=4),
    "tiles": CpuProgram((LIBRARY, THREADS), older_emitters=True, parts=4),
}


def options_on_cpu(traits: ProgramTraits) -> dict[str, Any]:
    """The options for a program of these traits on a CPU, whether this XLA has them or not."""
    program = CPU_PROGRAMS["tiles" if traits.tiles else "stream" if traits.stream else traits.events]
    passes = {*program.disabled_passes, *([LIBRARY] if traits.axes > 1 else [])}
    older = program.older_emitters or traits.short or traits.is_faster_by_older_emitters
    # The third level takes twice as long to compile, and with vectors of a player up to twice as long to run. By the
    # first, matrix products of matches would be rounded otherwise.
    levels_by_axes = {2: 1, 3: 3} if traits.events is Matches else {}
    return {
        "xla_disable_hlo_passes": ",".join(sorted(passes)),
        "xla_cpu_use_fusion_emitters": not older,
        "xla_backend_optimization_level": levels_by_axes.get(traits.axes, 1 if older else 3),
        "xla_cpu_parallel_codegen_split_count": 2 if traits.short else program.parts,
    }


def quick_compile_options() -> dict[str, Any] | None:
    """Options of XLA on a CPU that compile in a sixth of the time, and give slow code."""
    return cpu_compile_options(QUICK)


def cpu_compile_options(options: dict[str, Any]) -> dict[str, Any] | None:
    """These, as far as XLA has them, on a CPU. None elsewhere: XLA's own."""
    return supported_xla_options(options) if jax.default_backend() == "cpu" else None


def supported_xla_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options that this version of XLA has: each set is compiled once, as XLA has no list of them."""
    return dict(_supported_xla_option_items(tuple(options.items())))


@lru_cache
def _supported_xla_option_items(options: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    try:
        jax.jit(lambda: 0, compiler_options=dict(options)).lower().compile()
    except jax.errors.JaxRuntimeError:
        return () if len(options) == 1 else tuple(x for item in options for x in _supported_xla_option_items((item,)))
    return options
