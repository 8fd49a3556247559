"""Rows of players: taken from the state, packed and put back."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.core.rules import State
from jaxrate.events import LAST_ID
from jaxrate.numerics import selective_evaluation

PACKED_NUMBERS_LIMIT = 128  # of a player, up to which a second copy of the state may be made
COPY_LIMIT = (
    1 << 24
)  # bytes of the state a step, up to which copying it there and back takes less than the kernels saved


def gather_rows(state: State, player: Array) -> State:
    """The rows of some players; an id past the end reads the last player."""
    return jax.tree.map(lambda x: x.at[player].get(mode="clip", wrap_negative_indices=False), state)


def scatter_rows(state: State, player: Array, rows: State) -> State:
    """The state with these rows written. Ids must be distinct; one past the end is dropped.

    That they are distinct is said to XLA: without it the gradient of a scan keeps every state and takes 8 times as
    long.
    """

    def write(x: Array, y: Array) -> Array:
        return x.at[player].set(y, mode="drop", unique_indices=True, wrap_negative_indices=False)

    return jax.tree.map(write, state, rows)


def read_index(x: Array, i: Array) -> Array:
    """The entry of an array at an index that is not negative."""
    return lax.dynamic_index_in_dim(x, i, keepdims=False, allow_negative_indices=False)


def write_index(x: Array, y: Array, i: Array) -> Array:
    """The array with an entry written at an index that is not negative."""
    return lax.dynamic_update_index_in_dim(x, y, i, 0, allow_negative_indices=False)


def gather_rows_into_buffer(buffer: State, state: State, player: Array, count: Array) -> State:
    """The room [P, ...] with the rows of the first `count` of the players [P], and maybe of some behind them."""
    return selective_evaluation.replace_row_tiles(lambda _, ids: gather_rows(state, ids), count, buffer, player)


def scatter_row_tiles(state: State, player: Array, rows: State, count: Array) -> State:
    """The state with new rows of players, at least with the first `count` of them, tile by tile."""
    if not selective_evaluation.has_tiles(len(player)):
        return scatter_rows(state, player, rows)

    def scatter(number: Array, state: State) -> State:
        return scatter_rows(state, *selective_evaluation.read_row_tile((player, rows), number))

    return lax.fori_loop(0, selective_evaluation.count_row_tiles(count), scatter, state)


def unique_ids_to_write(event: Any) -> Array:
    """The ids under which the rows of an event, or of disjoint ones, are put back, each once."""
    seat = getattr(event, "seat", None)
    if seat is None:
        return event.player
    own = lax.broadcasted_iota(jnp.int32, seat.shape, seat.ndim - 1)
    past = LAST_ID - jnp.arange(seat.size, dtype=jnp.int32).reshape(seat.shape)
    return jnp.where(seat == own, event.player, past)


class PackedState(NamedTuple):
    """A state to gather from and scatter to, rows of it as the rules know them, and the way back."""

    state: Any
    unpack: Callable[[Any], State]
    pack: Callable[[State], Any]


def pack_state_if_faster(state: State, steps: int) -> PackedState:
    """A state [n, ...] for a replay of so many steps.

    Where kernels are launched, each leaf would have one of its own to scatter it. There all numbers of a player that
    are of one type stand side by side in one array, a second copy of the state, unless they are many, or copying takes
    longer than that saves.
    """
    leaves, structure = jax.tree.flatten(state)
    room = sum(x.size * x.dtype.itemsize for x in leaves)
    is_large = sum(math.prod(x.shape[1:]) for x in leaves) > PACKED_NUMBERS_LIMIT or room > COPY_LIMIT * steps
    if not has_launch_overhead() or len(leaves) == 1 or is_large:
        return PackedState(state, lambda rows: rows, lambda rows: rows)
    kinds = sorted({x.dtype for x in leaves}, key=str)
    members = [[i for i, x in enumerate(leaves) if x.dtype == kind] for kind in kinds]
    packing = LeafPacking(structure, [x.shape[1:] for x in leaves], members)
    return PackedState(packing.pack(state), packing.unpack, packing.pack)


class LeafPacking(NamedTuple):
    """The leaves of a state that stand side by side in one array."""

    structure: Any
    shapes: list[tuple[int, ...]]  # of the numbers of a player in each leaf
    members: list[list[int]]  # the leaves of each array

    def pack(self, rows: State) -> list[Array]:
        """The arrays with some rows."""
        leaves = jax.tree.leaves(rows)
        flat = [x.reshape(*x.shape[: x.ndim - len(shape)], -1) for x, shape in zip(leaves, self.shapes, strict=True)]
        return [jnp.concatenate([flat[i] for i in one], axis=-1) for one in self.members]

    def unpack(self, arrays: list[Array]) -> State:
        """The rows in arrays."""
        found: dict[int, Array] = {}
        for one, x in zip(self.members, arrays, strict=True):
            parts = jnp.split(x, np.cumsum([math.prod(self.shapes[i]) for i in one])[:-1].tolist(), axis=-1)
            found |= {i: y.reshape(*y.shape[:-1], *self.shapes[i]) for i, y in zip(one, parts, strict=True)}
        return jax.tree.unflatten(self.structure, [found[i] for i in range(len(found))])


def as_device_arrays(events: Any) -> Any:
    """Floats in the default precision, ids as int32."""

    def cast(x: Any) -> Array:
        dtype = jnp.result_type(jnp.int32 if x.dtype.kind in "iu" else float)
        if not isinstance(x, np.ndarray):
            return jnp.array(x, dtype=dtype)
        with np.errstate(over="ignore"):
            return jax.device_put(np.array(x, dtype))  # a copy, as x may change; a conversion there would be compiled

    return jax.tree.map(cast, events)


def describe_shapes(tree: Any) -> str:
    """The names and shapes of the leaves of a tree."""
    named = jax.tree_util.tree_leaves_with_path(tree)
    parts = ((jax.tree_util.keystr(path, simple=True, separator="."), list(x.shape)) for path, x in named)
    return ", ".join(f"{name} {shape}".strip() for name, shape in parts)
