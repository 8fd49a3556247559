"""Sizes that are used again: a program is compiled for shapes, so histories of other lengths are padded to a few."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.device import is_traced
from jaxrate.events import LAST_ID, Matches
from jaxrate.replay.gather import gather_rows
from jaxrate.replay.sharding import is_sharded

Tuple = TypeVar("Tuple", bound=tuple[Any, ...])

COARSE = 1 << 17  # numbers up to here cost nothing: they grow to a power of two, and larger ones by an eighth at most
LEAST = 64
STEPS = 32  # of a schedule, at the least
ALIGNED = 64  # bytes
FINE = 16  # sizes of events, of which each costs time, grow by a sixteenth at most


def padded_size(number: int, coarse: int = COARSE, least: int = LEAST) -> int:
    """The least of the sizes in use that is not below a number."""
    if number <= max(coarse, least):
        return max(1 << max(int(number) - 1, 0).bit_length(), least)
    return _next_multiple(number, 8)


def padded_event_size(number: int) -> int:
    """The same for the size that events are padded to: whatever is added to it is calculated for nothing."""
    return _next_multiple(number, FINE)


def _next_multiple(number: int, parts: int) -> int:
    """The next multiple of the power of two that divides an octave into so many parts."""
    unit = 1 << max((number - 1).bit_length() - parts.bit_length(), 0)
    return -(-number // unit) * unit


def register_pytree(*static: str) -> Callable[[type[Tuple]], type[Tuple]]:
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


def pad_column(x: Any, length: int, fill: Any) -> Any:
    """A column of NumPy [n, ...] made [length, ...] by values that mean nothing."""
    x = np.asarray(x)
    if len(x) == length:
        return x
    longer = np.empty((length, *x.shape[1:]), x.dtype)
    longer[: len(x)] = x
    longer[len(x) :] = fill
    return longer


def padding_ids(count: int) -> Any:
    """[count] ids past the end, each once."""
    return LAST_ID - np.arange(count, dtype=np.int32)


def allocate_aligned(shape: tuple[int, ...], kind: Any) -> Any:
    """Room for an array that XLA takes as it is, without a copy, where the CPU computes."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    room = np.empty(size + ALIGNED, np.uint8)
    skip = -room.ctypes.data % ALIGNED
    return room[skip : skip + size].view(kind).reshape(shape)


def pad_on_device(x: Any, length: int, fill: Any) -> Any:
    """The same on the device, floats in the default precision and ids as int32: copied once, as NumPy's may change."""
    x = np.asarray(x)
    kind = np.int32 if x.dtype.kind in "iu" else jnp.result_type(float)
    longer = allocate_aligned((length, *x.shape[1:]), kind)
    longer[: len(x)] = x
    longer[len(x) :] = fill
    return jax.device_put(longer)


def pad_matches_on_device(events: Matches, length: int) -> Matches:
    """Matches [n] made [length] on the device by draws of nobody, with the further columns of the last match."""
    more = length - len(events.score)
    past = padding_ids(2 * more).reshape(more, 2)
    context = jax.tree.map(lambda x: pad_on_device(x, length, 0), events.context._replace(columns=None))
    columns = jax.tree.map(lambda x: pad_on_device(x, length, x[-1:]), events.context.columns)
    return Matches(
        pad_on_device(events.player, length, past),
        pad_on_device(events.score, length, 0.5),
        pad_on_device(events.time, length, events.time[-1:]),
        context._replace(columns=columns),
    )


def is_on_host(tree: Any) -> bool:
    """Whether NumPy reads the arrays without a copy and without compiling."""
    leaves = jax.tree.leaves(tree)
    plain = all(isinstance(x, np.ndarray) or jnp.issubdtype(x.dtype, np.number) or x.dtype == bool for x in leaves)
    return jax.default_backend() == "cpu" and not is_traced(tree) and plain and not is_sharded(tree)


def truncate_leaves(tree: Any, count: int) -> Any:
    """The first rows of every leaf."""
    if all(len(x) == count for x in jax.tree.leaves(tree)):
        return tree
    if is_on_host(tree):
        return jax.tree.map(lambda x: jax.device_put(np.asarray(x)[:count]), tree)
    return jax.tree.map(lambda x: x[:count], tree)


def read_rows(state: Any, player: Any) -> Any:
    """The rows of some players, where an id past the end reads the last one: compiled for no number of players."""
    if not is_on_host((state, player)):
        return gather_rows(state, player)
    ids = np.asarray(player)
    return jax.tree.map(lambda x: np.asarray(x)[np.clip(ids, 0, max(len(x) - 1, 0))], state)
