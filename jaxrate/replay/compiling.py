"""How replays are compiled: with which options, when a stream is worth it, and how wide steps may be."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.events import Array, Matches, Rounds
from jaxrate.replay.rows import on_device, step, traced
from jaxrate.system import Params, RatingSystem, Rules, State

SIMPLE = 300  # operations of rules that XLA compiles into one native loop


def worth(system: RatingSystem, params: Params, key: Array | None, events: Matches) -> float:
    """Matches per step from which levels, made for this one replay, beat a stream.

    On a CPU, XLA compiles a stream of simple rules into one native loop. Wide steps can be up to three times as fast,
    but making them takes longer than the stream: ATP tennis 0.18 s in all against 0.04 s for Elo, 0.42 against 0.10 for
    Glicko. It does not for rules with an inner loop or keys of their own, in float64 or under differentiation, and no
    GPU runs a stream well.
    """
    double = jnp.result_type(float) == np.float64
    hashes = key is not None and system.rules.draw is None
    if double or hashes or jax.default_backend() != "cpu" or traced(params):
        return 2.0
    match = on_device(jax.tree.map(lambda x: np.asarray(x)[:1], events))
    leaves, structure = jax.tree.flatten((params, jax.tree.map(lambda x: x[0], match)))
    return math.inf if _simple(system.rules, system.init, structure, tuple(jax.typeof(x) for x in leaves)) else 2.0


def blank(system: RatingSystem, num_players: int) -> State:
    """The shapes of a fresh state."""
    return jax.eval_shape(lambda params: system.init(params, num_players), system.params)


def most(state: State) -> int:
    """Matches per step whose rows stay in a cache on a CPU, elsewhere in a small part of the memory."""
    row = sum(math.prod(x.shape[1:]) * x.dtype.itemsize for x in jax.tree.leaves(state))
    return max((1 << (18 if jax.default_backend() == "cpu" else 27)) // (2 * row), 1)


@lru_cache
def _simple(rules: Rules, init: Callable[[Params, int], State], structure: Any, types: tuple[Any, ...]) -> bool:
    """Whether the rules are few operations on one number of each leaf of the state, without a loop.

    `structure` and `types` are those of (params, match).
    """

    def rate(params: Params, match: Matches) -> Any:
        drawn = None if rules.draw is None else rules.draw(jax.random.key(0))
        return step(rules, rules.prepare(params), init(params, 2), match, drawn)

    params, match = jax.tree.unflatten(structure, types)
    leaves = jax.tree.leaves(jax.eval_shape(lambda p: init(p, 2), params))
    text = str(jax.make_jaxpr(rate)(params, match))
    return all(x.shape == (2,) for x in leaves) and "while" not in text and text.count(" = ") < SIMPLE


def compiled(replay: Callable[..., Any], given: tuple[Any, ...], kind: type = Matches, stream: bool = False) -> Any:
    """`replay` of such a kind of events under jit: in place at the top level, plain inside somebody's transformation.

    `given` are all its arguments that could be traced, the state the second, and `stream` says that it takes one event
    after the other.
    """
    vectors = any(x.ndim > 1 for x in jax.tree.leaves(given[1]))
    return _jit(replay, is_inside(given), kind, vectors, stream, _outermost.get(), _hurry.get())


def is_inside(tree: Any) -> bool:
    """Whether it is inside somebody's transformation: something is traced, or all that is calculated would be."""
    return traced((tree, jnp.zeros(())))


def is_forward(tree: Any) -> bool:
    """Whether nobody can differentiate it in reverse: it is inside nothing, or `outermost`."""
    return _outermost.get() or not is_inside(tree)


@lru_cache
def _jit(
    replay: Callable[..., Any],
    inside: bool,
    kind: type,
    vectors: bool,
    stream: bool = False,
    outermost: bool = False,
    hurry: bool = False,
) -> Any:
    """`kind` of events; `vectors`: a player is more than numbers."""
    options = None
    if outermost or not inside:
        options = hurried() if hurry else _options(kind, vectors, stream)
    return jax.jit(replay, static_argnums=(0, 1), donate_argnums=() if inside else 3, compiler_options=options)


_outermost = ContextVar("outermost", default=False)


@contextmanager
def outermost() -> Iterator[None]:
    """Around runs that are batched or differentiated forwards but in no other jit, to compile them as others are.

    (Only an outermost jit may have options. Tennis takes twice as long without, Formula 1 three times.)
    """
    token = _outermost.set(True)
    try:
        yield
    finally:
        _outermost.reset(token)


_hurry = ContextVar("hurry", default=False)


@contextmanager
def in_a_hurry() -> Iterator[None]:
    """Around short runs, such as those of tests, which would be compiled for longer than they take."""
    token = _hurry.set(True)
    try:
        yield
    finally:
        _hurry.reset(token)


def hurried() -> dict[str, Any] | None:
    """What to tell XLA on a CPU for it to compile in a sixth of the time, and slow code."""
    if jax.default_backend() != "cpu":
        return None
    quick: dict[str, Any] = {
        "xla_backend_optimization_level": 0,
        "xla_cpu_use_fusion_emitters": False,
        "xla_cpu_parallel_codegen_split_count": 1,
    }
    return {name: value for name, value in quick.items() if _known(name, value)}


def _options(kind: type, vectors: bool, stream: bool) -> dict[str, Any] | None:
    """What to tell XLA on a CPU."""
    if jax.default_backend() != "cpu" or (stream and not vectors):
        return None
    options: dict[str, Any]
    if kind is Rounds or vectors:  # it would hand thin matrix products to a library that takes twice as long over them
        options = {"xla_disable_hlo_passes": "dot-library-rewriter"}
    else:
        # It would spread the gather of 128 rows over threads as soon as a leaf of the state reached half a megabyte:
        # from 131,072 players on, a step took 3 times as long. (Work on vectors gains from threads.)
        options = {"xla_disable_hlo_passes": "cpu-parallel-task-assigner"}
    if kind is Rounds:  # the loops of rounds gain nothing from these, but would take twice as long to compile
        quicker: dict[str, Any] = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 2}
        options |= {name: value for name, value in quicker.items() if _known(name, value)}
    return options


@lru_cache
def _known(option: str, value: Any) -> bool:
    """Whether this version of XLA has an option."""
    try:
        jax.jit(lambda: 0, compiler_options={option: value}).lower().compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True
