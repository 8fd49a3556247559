"""Sizes that are used again: a program is compiled for shapes, so histories of other lengths are padded to a few."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.events import LAST_ID, Matches
from jaxrate.replay.rows import take, traced
from jaxrate.replay.spread import is_spread

Tuple = TypeVar("Tuple", bound=tuple[Any, ...])

COARSE = 1 << 17  # numbers up to here cost nothing: they grow to a power of two, and larger ones by an eighth at most
LEAST = 64
STEPS = 32  # of a schedule, at the least
ALIGNED = 64  # bytes
FINE = 16  # sizes of events, of which each costs time, grow by a sixteenth at most


def roomy(number: int, coarse: int = COARSE, least: int = LEAST) -> int:
    """The least of the sizes in use that is not below a number."""
    if number <= max(coarse, least):
        return max(1 << max(int(number) - 1, 0).bit_length(), least)
    return _stepped(number, 8)


def snug(number: int) -> int:
    """The same for the size that events are padded to: whatever is added to it is calculated for nothing."""
    return _stepped(number, FINE)


def _stepped(number: int, parts: int) -> int:
    """The next multiple of the power of two that divides an octave into so many parts."""
    unit = 1 << max((number - 1).bit_length() - parts.bit_length(), 0)
    return -(-number // unit) * unit


def tree_of(*static: str) -> Callable[[type[Tuple]], type[Tuple]]:
    """Makes a NamedTuple a tree of arrays but for some fields, which are known when a program is compiled."""

    def register(kind: type[Tuple]) -> type[Tuple]:
        fields: Any = kind._fields  # type: ignore[attr-defined]
        moving = [name for name in fields if name not in static]

        def flatten(x: Any) -> Any:
            leaves = [(jax.tree_util.GetAttrKey(name), getattr(x, name)) for name in moving]
            return leaves, tuple(getattr(x, name) for name in static)

        def unflatten(known: Any, leaves: Any) -> Any:
            return kind(**dict(zip(moving, leaves, strict=True)), **dict(zip(static, known, strict=True)))

        jax.tree_util.register_pytree_with_keys(kind, flatten, unflatten)
        return kind

    return register


def lengthened(x: Any, length: int, fill: Any) -> Any:
    """A column of NumPy [n, ...] made [length, ...] by values that mean nothing."""
    x = np.asarray(x)
    if len(x) == length:
        return x
    longer = np.empty((length, *x.shape[1:]), x.dtype)
    longer[: len(x)] = x
    longer[len(x) :] = fill
    return longer


def nobody(count: int) -> Any:
    """[count] ids past the end, each once."""
    return LAST_ID - np.arange(count, dtype=np.int32)


def aligned(shape: tuple[int, ...], kind: Any) -> Any:
    """Room for an array that XLA takes as it is, without a copy, where the CPU computes."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    room = np.empty(size + ALIGNED, np.uint8)
    skip = -room.ctypes.data % ALIGNED
    return room[skip : skip + size].view(kind).reshape(shape)


def placed(x: Any, length: int, fill: Any) -> Any:
    """The same on the device, floats in the default precision and ids as int32: copied once, as NumPy's may change."""
    x = np.asarray(x)
    kind = np.int32 if x.dtype.kind in "iu" else jnp.result_type(float)
    longer = aligned((length, *x.shape[1:]), kind)
    longer[: len(x)] = x
    longer[len(x) :] = fill
    return jax.device_put(longer)


def placed_matches(events: Matches, length: int) -> Matches:
    """Matches [n] made [length] on the device by draws of nobody, with the further columns of the last match."""
    more = length - len(events.score)
    past = nobody(2 * more).reshape(more, 2)
    context = jax.tree.map(lambda x: placed(x, length, 0), events.context._replace(columns=None))
    columns = jax.tree.map(lambda x: placed(x, length, x[-1:]), events.context.columns)
    return Matches(
        placed(events.player, length, past),
        placed(events.score, length, 0.5),
        placed(events.time, length, events.time[-1:]),
        context._replace(columns=columns),
    )


def on_host(tree: Any) -> bool:
    """Whether NumPy reads the arrays without a copy and without compiling."""
    leaves = jax.tree.leaves(tree)
    plain = all(isinstance(x, np.ndarray) or jnp.issubdtype(x.dtype, np.number) or x.dtype == bool for x in leaves)
    return jax.default_backend() == "cpu" and not traced(tree) and plain and not is_spread(tree)


def first(tree: Any, count: int) -> Any:
    """The first rows of every leaf."""
    if all(len(x) == count for x in jax.tree.leaves(tree)):
        return tree
    if on_host(tree):
        return jax.tree.map(lambda x: jax.device_put(np.asarray(x)[:count]), tree)
    return jax.tree.map(lambda x: x[:count], tree)


def rows_of(state: Any, player: Any) -> Any:
    """The rows of some players, where an id past the end reads the last one: compiled for no number of players."""
    if not on_host((state, player)):
        return take(state, player)
    ids = np.asarray(player)
    return jax.tree.map(lambda x: np.asarray(x)[np.clip(ids, 0, max(len(x) - 1, 0))], state)
