"""Functions evaluated where they count: for rows that need it, and for tiles that are not padding.

Functions of many rows, some rows at a time, and only as far as there are any: what padding costs is then little.

A number of rows `count` [] that is known when a program runs, and not when it is compiled, lets one program serve
events of all sizes. It has no derivative in reverse. None: all rows may count, and everything is computed at once.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxrate.core.array_types import Array


def replace_if(needed: Array, function: Callable[[Array, Any], Any], value: Any) -> Any:
    """function(True, value) if needed [], else the value, by a loop of one step or none.

    Under `jax.vmap` a condition would always compute the function. The loop compares a number: on a GPU a carried
    boolean alone would launch no kernel, and in a CUDA graph the loop would then not wait for what comes before it.
    """

    def step(carry: tuple[Array, Any]) -> tuple[Array, Any]:
        return jnp.zeros_like(carry[0]), function(carry[0] > 0, carry[1])

    return lax.while_loop(lambda carry: carry[0] > 0, step, (needed.astype(jnp.int32), value))[1]


def _with_slopes_of(x: Array, value: Array) -> Array:
    """The value, to its last digit, with the derivatives of x, which may be of any other size."""
    return lax.stop_gradient(value) + (x - lax.stop_gradient(x))


def evaluate_where_needed(needed: Array, function: Callable[..., Any], *args: Any) -> Any:
    """function(*args[:-1]) where needed, else args[-1]; derivatives are always those of args[-1]."""
    *inputs, fallback = lax.stop_gradient(args)

    def evaluate(now: Array, _: Any) -> Any:  # of inputs that depend on the loop, or XLA would hoist the call
        return function(*jax.tree.map(lambda x: jnp.where(now, x, jnp.zeros_like(x)), inputs))

    result = replace_if(needed, evaluate, fallback)
    return jax.tree.map(_with_slopes_of, args[-1], result)


def evaluate_rows_where_needed(needed: Array, function: Callable[..., Array], *args: Any) -> Array:
    """args[-1] [n, ...], but function(rows, *args[:-1]) where needed [n], some rows at a time.

    Derivatives are always those of args[-1].
    """
    *inputs, fallback = lax.stop_gradient(args)
    count = min(64, len(needed))

    def step(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        needed, values = carry
        rows = jnp.argsort(~needed)[:count].astype(jnp.int32)
        new, old = function(rows, *inputs), values[rows]
        new = jnp.where(needed[rows].reshape(-1, *[1] * (old.ndim - 1)), new, old)
        return needed.at[rows].set(False), values.at[rows].set(new)

    result = lax.while_loop(lambda carry: jnp.any(carry[0]), step, (needed, fallback))[1]
    return _with_slopes_of(args[-1], result)


TILE_ROWS = 256  # rows that fit in a cache with what is computed of them


def has_tiles(rows: int) -> bool:
    """Whether so many rows are cut in tiles."""
    return rows > TILE_ROWS and rows % TILE_ROWS == 0


def map_row_tiles(function: Callable[..., Any], count: Array | None, *columns: Any) -> Any:
    """function(*columns), of columns [rows, ...] row by row; 0 in tiles behind the first `count` rows."""
    if count is None or not has_tiles(rows := len(jax.tree.leaves(columns)[0])):
        return function(*columns)
    one: Any = jax.jit(function, inline=True)  # traced once
    tile = jax.tree.map(lambda x: jax.ShapeDtypeStruct((TILE_ROWS, *x.shape[1:]), x.dtype), columns)
    room = jax.tree.map(lambda x: jnp.zeros((rows, *x.shape[1:]), x.dtype), jax.eval_shape(one, *tile))
    return replace_row_tiles(lambda _, *some: one(*some), count, room, *columns)


def replace_row_tiles(function: Callable[..., Any], count: Array | None, room: Any, *columns: Any) -> Any:
    """function(room, *columns), which is like the room [rows, ...], row by row; the room itself behind `count` rows."""
    if count is None or not has_tiles(len(jax.tree.leaves(room)[0])):
        return function(room, *columns)

    tiles = count_row_tiles(count)

    def replace(number: Array, room: Any) -> Any:
        # A loop of one step reads all of a tile before it is written. Otherwise XLA would copy the room for each tile.
        some = read_row_tile(columns, number)
        new = replace_if(number < tiles, lambda _, x: function(x, *some), read_row_tile(room, number))

        def write(x: Array, y: Array) -> Array:
            return lax.dynamic_update_slice_in_dim(x, y, number * TILE_ROWS, 0, allow_negative_indices=False)

        return jax.tree.map(write, room, new)

    return lax.fori_loop(0, tiles, replace, room)


def add_row_tiles(function: Callable[..., Any], count: Array | None, total: Any, *columns: Any) -> Any:
    """function(total, *columns), which adds to a total what rows say, without the rows in tiles behind `count`."""
    if count is None or not has_tiles(len(jax.tree.leaves(columns)[0])):
        return function(total, *columns)

    def add(number: Array, total: Any) -> Any:
        return function(total, *read_row_tile(columns, number))

    return lax.fori_loop(0, count_row_tiles(count), add, total)


def count_row_tiles(count: Array) -> Array:
    """[] how many tiles hold so many rows."""
    return (count + (TILE_ROWS - 1)) // TILE_ROWS


def read_row_tile(columns: Any, number: Array) -> Any:
    """The rows [TILE_ROWS, ...] of a tile."""
    return jax.tree.map(
        lambda x: lax.dynamic_slice_in_dim(x, number * TILE_ROWS, TILE_ROWS, allow_negative_indices=False), columns
    )
