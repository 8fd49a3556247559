"""The step of each event: the earliest after the steps of the previous events of all its players, with room left.

(Room matters: capping a step while filling holes in later ones needs 19,287 steps of 64 for 936,248 tennis matches;
splitting wide levels afterwards needs 23,404.)
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.events import Array
from jaxrate.memory import check_room

NumPy = np.ndarray[Any, Any]


Result = TypeVar("Result")


_CHUNKS = 1 << 13, 1 << 16, 1 << 18, 1 << 20  # entries per call of the scheduling scan: few sizes, few compilations


def at_once(function: Callable[..., Result]) -> Callable[..., Result]:
    """Compute it now, on concrete events, also where the caller is being traced."""

    @wraps(function)
    def eager(*args: Any, **options: Any) -> Result:
        with jax.ensure_compile_time_eval():
            return function(*args, **options)

    return eager


@partial(jax.jit, donate_argnums=0)
def _assign(carry: tuple[Array, ...], player: Array, kind: Array, width: Array) -> tuple[tuple[Array, ...], Array]:
    """A scan over the participants of events, each event's listed twice: to read, then to write.

    `kind` is 0 for a read, 1 for an event's last read, where its step is chosen, 2 for a write. The carry is
    last [players]: the step after a player's last event; used [steps]; after [steps]: a later step that may have room
    (shortened as it is walked); the step from which the event is ready; its step; `last` of the current player.
    """

    def read(x: Array, i: Array) -> Array:
        return lax.dynamic_index_in_dim(x, i, keepdims=False, allow_negative_indices=False)

    def write(x: Array, value: Array, i: Array) -> Array:
        return lax.dynamic_update_index_in_dim(x, value, i, 0, allow_negative_indices=False)

    def body(carry: tuple[Array, ...], entry: tuple[Array, ...]) -> tuple[tuple[Array, ...], Array]:
        last, used, after, ready, step, seen = carry
        player, kind, next_player = entry
        ready = jnp.maximum(ready, seen)
        choose, spare = kind == 1, after.shape[0] - 1
        found = lax.while_loop(lambda s: choose & (read(used, s) >= width), lambda s: read(after, s), ready)
        after = write(after, jnp.maximum(found, ready + 1), jnp.where(choose, ready, spare))
        used = write(used, read(used, found) + 1, jnp.where(choose, found, spare))
        step = jnp.where(choose, found, step)
        last = write(last, jnp.where(kind == 2, step + 1, seen), player)
        return (last, used, after, jnp.where(kind == 2, 0, ready), step, read(last, next_player)), step

    carry = (*carry[:-1], read(carry[0], player[0]))
    return lax.scan(body, carry, (player, kind, jnp.append(player[1:], player[-1:])))


@at_once
def assign_steps(player: NumPy, start: NumPy, width: int) -> NumPy:
    """The step of each event, when at most `width` share one: [E] int32.

    Args:
      player: [sum of sizes] ids of the participants, the events end to end in order of time.
      start: [E + 1] where each event's participants begin; no event is empty.
      width: the room of a step.
    """
    size = np.diff(start)
    num_events, cap = len(size), 1 << (len(size) + 2).bit_length()
    players = 1 << (int(player.max(initial=0)) + 2).bit_length()
    check_room(f"arranging events of {players:,} players", 4.0 * players)
    # On a GPU this scan would crawl, and without jit it would not end.
    with jax.default_device(_host()), jax.disable_jit(False):
        carry: tuple[Any, ...] = (jnp.zeros(players, jnp.int32), jnp.zeros(cap, jnp.int32))
        carry += (jnp.arange(1, cap + 1, dtype=jnp.int32), *(jnp.zeros(3, jnp.int32)))
        result = np.empty(num_events, np.int32)
        per_chunk = max(1, _CHUNKS[-1] // (2 * int(size.max(initial=1))))
        for low in range(0, num_events, per_chunk):
            high = min(low + per_chunk, num_events)
            entries, kind = _twice(player[start[low] : start[high]], size[low:high])
            longest = 1 << (len(entries) - 1).bit_length()  # an event may be larger than a chunk
            pad = next((c for c in _CHUNKS if c >= longest), longest) - len(entries)
            entries = np.pad(entries, (0, pad), constant_values=players - 1)
            carry, step = _assign(carry, entries, np.pad(kind, (0, pad)), np.int32(width))
            result[low:high] = np.asarray(step)[2 * np.cumsum(size[low:high]) - 1]
    return result


def _host() -> Any:
    """The CPU, or None (the default device) where JAX_PLATFORMS hides it."""
    try:
        return jax.local_devices(backend="cpu")[0]
    except RuntimeError:
        return None


def _twice(player: NumPy, size: NumPy) -> tuple[NumPy, NumPy]:
    """Each event's participants listed twice in a row, and the `kind` of each entry (see `_assign`)."""
    if (size == size[0]).all():
        kind = np.zeros((2, size[0]), np.int8)
        kind[0, -1], kind[1] = 1, 2
        listed = np.broadcast_to(player.reshape(len(size), 1, size[0]), (len(size), *kind.shape))
        return listed.ravel(), np.broadcast_to(kind, listed.shape).ravel()
    first, own = np.repeat(np.cumsum(size) - size, 2 * size), np.repeat(size, 2 * size)
    entry = np.arange(len(own)) - 2 * first
    return player[first + entry % own], np.where(entry >= own, 2, entry == own - 1).astype(np.int8)
