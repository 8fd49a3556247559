"""How replays are compiled: with which options, when a stream is worth it, and how wide steps may be."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.device import is_traced
from jaxrate.events import Matches, Rounds
from jaxrate.replay.gather import prepare_replay, rate_event
from jaxrate.system import Params, RatingSystem, Rules, State
from jaxrate.types import Array

SIMPLE_OPERATIONS = 300  # operations of rules that XLA compiles into one native loop


SHORT_HISTORY = 1 << 14  # predictions, up to which a history is replayed sooner than compiled


def levels_threshold(system: RatingSystem, params: Params, key: Array | None, events: Matches) -> float:
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
    loops, alone, count = outline_rules(
        system.rules, params, jax.eval_shape(lambda p: system.init(p, 2), params), match
    )
    return math.inf if alone and not loops and count < SIMPLE_OPERATIONS else 2.0


class RuleOutline(NamedTuple):
    """What is compiled for a match."""

    loops: bool  # whether there is a loop within it
    alone: bool  # whether a player is one number in each leaf of the state
    operations: int


def outline_rules(rules: Rules, params: Params, state: State, match: Matches) -> RuleOutline:
    """The outline of rules, with leaves of a state [n, ...] and of a match [...] of these types."""
    state = jax.tree.map(lambda x: jax.ShapeDtypeStruct((2, *x.shape[1:]), x.dtype), state)
    leaves, structure = jax.tree.flatten((params, state, match))
    return _outline_rules(rules, structure, tuple(jax.typeof(x) for x in leaves))


@lru_cache
def _outline_rules(rules: Rules, structure: Any, types: tuple[Any, ...]) -> RuleOutline:
    def rate(params: Params, state: State, match: Matches) -> Any:
        drawn = None if rules.draw is None else rules.draw(jax.random.key(0))
        return rate_event(rules, prepare_replay(rules, params), state, match, drawn)

    params, state, match = jax.tree.unflatten(structure, types)
    text = str(jax.make_jaxpr(rate)(params, state, match))
    return RuleOutline("while" in text, all(x.shape == (2,) for x in jax.tree.leaves(state)), text.count(" = "))


def state_shapes(system: RatingSystem, num_players: int) -> State:
    """The shapes of a fresh state."""
    return jax.eval_shape(lambda params: system.init(params, num_players), system.params)


def matches_in_cache(state: State) -> int:
    """Matches per step whose rows stay in a cache on a CPU, elsewhere in a small part of the memory."""
    row = sum(math.prod(x.shape[1:]) * x.dtype.itemsize for x in jax.tree.leaves(state))
    return max((1 << (18 if jax.default_backend() == "cpu" else 27)) // (2 * row), 1)


def compile_replay(
    replay: Callable[..., Any],
    given: tuple[Any, ...],
    kind: type = Matches,
    stream: bool = False,
    loops: bool = False,
    short: bool = False,
) -> Any:
    """`replay` of such a kind of events under jit: in place at the top level, plain inside somebody's transformation.

    `given` are all its arguments that could be traced, the state the second; `stream` says that it takes one event
    after the other, `loops` that there are loops within its matches, and `short` that it is sooner done than compiled.
    """
    axes = max((x.ndim for x in jax.tree.leaves(given[1])), default=1)
    exact = not (stream and jnp.result_type(float) == np.float64)  # the emitters round TrueSkill's otherwise there
    form = CompilerOptionsKey(kind, axes, stream, loops, short and exact and not _OUTERMOST.get())
    return _jit_replay(replay, is_inside_transformation(given), form, _OUTERMOST.get(), _QUICKLY.get())


class CompilerOptionsKey(NamedTuple):
    """What the options of the compiler depend on."""

    kind: type  # of events
    axes: int  # of the state: 1 if a player is a few numbers, 2 of vectors, 3 of matrices
    stream: bool
    loops: bool
    short: bool


def is_inside_transformation(tree: Any) -> bool:
    """Whether it is inside somebody's transformation: something is traced, or all that is calculated would be."""
    return is_traced((tree, jax.device_put(np.zeros(()))))


def is_forward_only(tree: Any) -> bool:
    """Whether nobody can differentiate it in reverse: it is inside nothing, or `outermost`."""
    return _OUTERMOST.get() or not is_inside_transformation(tree)


@lru_cache
def _jit_replay(
    replay: Callable[..., Any], inside: bool, form: CompilerOptionsKey, outermost: bool, hurry: bool
) -> Any:
    options = None
    if outermost or not inside:
        options = quick_compile_options() if hurry else _compiler_options(form)
    return jax.jit(replay, static_argnums=(0, 1), donate_argnums=() if inside else 3, compiler_options=options)


_OUTERMOST = ContextVar("outermost", default=False)


@contextmanager
def compile_as_outermost() -> Iterator[None]:
    """Around runs that are batched or differentiated forwards but in no other jit, to compile them as others are.

    (Only an outermost jit may have options. Tennis takes twice as long without, Formula 1 three times.)
    """
    token = _OUTERMOST.set(True)
    try:
        yield
    finally:
        _OUTERMOST.reset(token)


_QUICKLY = ContextVar("hurry", default=False)


@contextmanager
def compile_quickly() -> Iterator[None]:
    """Around short runs, such as those of tests, which would be compiled for longer than they take."""
    token = _QUICKLY.set(True)
    try:
        yield
    finally:
        _QUICKLY.reset(token)


def quick_compile_options() -> dict[str, Any] | None:
    """What to tell XLA on a CPU for it to compile in a sixth of the time, and slow code."""
    if jax.default_backend() != "cpu":
        return None
    return _supported_options(
        xla_backend_optimization_level=0, xla_cpu_use_fusion_emitters=False, xla_cpu_parallel_codegen_split_count=1
    )


def jit_with_vector_loops(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function under jit, its first argument static and of some `size`: long loops over vectors side by side.

    Of small matrices one thread takes a third less time over a step than two that wait for each other, and the newer
    emitters gain nothing there. It may be called at the top level only.
    """

    @lru_cache
    def jit(matrices: bool, hurry: bool) -> Any:
        options = quick_compile_options() if hurry else None
        if matrices and not hurry and jax.default_backend() == "cpu":
            options = {"xla_disable_hlo_passes": "dot-library-rewriter,cpu-parallel-task-assigner"}
            options |= _supported_options(xla_cpu_use_fusion_emitters=False)
        return jax.jit(function, static_argnums=0, compiler_options=options)

    @wraps(function)
    def call(fixed: Any, *arguments: Any) -> Any:
        return jit(fixed.size > 1, _QUICKLY.get())(fixed, *arguments)

    return call


def _compiler_options(form: CompilerOptionsKey) -> dict[str, Any] | None:
    """What to tell XLA: whatever the length of a history, results are the same to the bit."""
    if jax.default_backend() == "gpu":
        return cuda_graph_options()
    if jax.default_backend() != "cpu":
        return None
    without = []
    if form.kind is Rounds or form.axes > 1:
        # It would hand thin matrix products to a library that takes twice as long over them.
        without.append("dot-library-rewriter")
    if form.kind is not Rounds and not form.stream:
        # It would spread the rows of a step over threads as soon as a leaf of the state reached half a megabyte, and
        # wait for them: 3 times as long for numbers from 131,072 players on, twice for matrices of 6 x 6.
        without.append("cpu-parallel-task-assigner")
    options: dict[str, Any] = {"xla_disable_hlo_passes": ",".join(without)} if without else {}
    # The newer emitters take half of all that compiling takes. Loops within events gain nothing from them (Glicko-2 in
    # levels takes a quarter less time without), small matrices lose (slopes take half the time without), simple
    # rules in levels gain a third.
    heavy = form.kind is Matches and not form.stream and (form.loops or form.axes > 2)
    if form.kind is Rounds or form.short or heavy:
        level = {} if form.axes > 1 else {"xla_backend_optimization_level": 1}
        options |= _supported_options(xla_cpu_use_fusion_emitters=False, **level)
    return options or None


GRAPH_COMMANDS = (
    "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,CONDITIONAL,WHILE"  # what a graph may hold
)


def cuda_graph_options() -> dict[str, Any]:
    """What to tell XLA on a GPU for the whole replay, its loops included, to become one CUDA graph.

    Otherwise the host launches every step, and waits for each turn of a loop within. Copies of slices, which that pass
    makes, would be in no graph.
    """
    return _supported_options(
        xla_gpu_enable_command_buffer=GRAPH_COMMANDS, xla_disable_hlo_passes="fusion-dynamic-memcpy-rewriter"
    )


@lru_cache
def _supported_options(**options: Any) -> dict[str, Any]:
    """Those of the options that this version of XLA has."""
    try:
        jax.jit(lambda: 0, compiler_options=options).lower().compile()
    except jax.errors.JaxRuntimeError:
        return (
            {}
            if len(options) == 1
            else {k: v for name, x in options.items() for k, v in _supported_options(**{name: x}).items()}
        )
    return options
