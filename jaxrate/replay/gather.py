"""Rows of players: taken from the state, advanced, rated by one event and put back."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.device import has_launch_overhead, is_traced
from jaxrate.events import LAST_ID, Matches
from jaxrate.system import Constants, Params, RatedEvent, Rules, State, split_sides
from jaxrate.types import Array

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


def ids_to_write(event: Any) -> Array:
    """The ids under which the rows of an event, or of disjoint ones, are put back, each once.

    That of a further seat of a player lies past the end: what they learnt from all of them stands in each row.
    """
    seat = getattr(event, "seat", None)
    if seat is None:
        return event.player
    own = lax.broadcasted_iota(jnp.int32, seat.shape, seat.ndim - 1)
    past = LAST_ID - jnp.arange(seat.size, dtype=jnp.int32).reshape(seat.shape)
    return jnp.where(seat == own, event.player, past)


class PackedState(NamedTuple):
    """A state to gather from and scatter to, rows of it as the rules know them, and the way back."""

    state: Any
    apart: Callable[[Any], State]
    pack: Callable[[State], Any]


def pack_state(state: State, steps: int) -> PackedState:
    """A state [n, ...] for a replay of so many steps.

    Where kernels are launched, each leaf would have one of its own to scatter it. There all numbers of a player that
    are of one type stand side by side in one array, a second copy of the state, unless they are many, or copying takes
    longer than that saves.
    """
    leaves, structure = jax.tree.flatten(state)
    sizes = [math.prod(x.shape[1:]) for x in leaves]
    room = sum(x.size * x.dtype.itemsize for x in leaves)
    if not has_launch_overhead() or len(leaves) == 1 or sum(sizes) > PACKED_NUMBERS_LIMIT or room > COPY_LIMIT * steps:
        return PackedState(state, lambda rows: rows, lambda rows: rows)
    kinds = [
        [i for i, x in enumerate(leaves) if x.dtype == kind] for kind in sorted({x.dtype for x in leaves}, key=str)
    ]

    def together(rows: State) -> list[Array]:
        every = jax.tree.leaves(rows)
        flat = [x.reshape(*x.shape[: x.ndim - like.ndim + 1], -1) for x, like in zip(every, leaves, strict=True)]
        return [jnp.concatenate([flat[i] for i in kind], axis=-1) for kind in kinds]

    def apart(rows: list[Array]) -> State:
        found: dict[int, Array] = {}
        for kind, x in zip(kinds, rows, strict=True):
            parts = jnp.split(x, np.cumsum([sizes[i] for i in kind])[:-1].tolist(), axis=-1)
            found |= {i: y.reshape(*y.shape[:-1], *leaves[i].shape[1:]) for i, y in zip(kind, parts, strict=True)}
        return jax.tree.unflatten(structure, [found[i] for i in range(len(leaves))])

    return PackedState(together(state), apart, together)


class Prepared(NamedTuple):
    """What a replay computes once, before its loop."""

    constants: Constants
    params: Params  # None unless something is recorded


def prepare_replay(rules: Rules, params: Params) -> Prepared:
    """What the rules need of the hyperparameters, and these themselves for what is recorded."""
    return Prepared(rules.prepare(params), None if rules.record is None else params)


def advance_rows(rules: Rules, constants: Constants, rows: State, event: Any) -> State:
    """Let time pass until the event.

    For a match one player at a time: the time of a match meeting a pair of rows would make `vmap` transpose the pairs.
    """
    if not isinstance(event, Matches):
        return rules.advance(constants, rows, event.time)
    first, second = (rules.advance(constants, row, event.time) for row in split_sides(rows, event))
    return jax.tree.map(lambda a, b: jnp.stack([a, b]), first, second)


def rate_event(rules: Rules, prepared: Prepared, rows: State, event: Any, drawn: Any) -> tuple[State, Any]:
    """One event on its rows: the rows after it, and the prediction before it, or what is recorded in its place."""
    constants, params = prepared
    before = advance_rows(rules, constants, rows, event)
    prediction = rules.predict(constants, before, event)
    after = rules.update(constants, before, event, drawn)
    if rules.record is None:
        return after, prediction
    return after, rules.record(RatedEvent(params, constants, before, after, prediction, event))


def predict_event(rules: Rules, prepared: Prepared, rows: State, event: Any) -> Any:
    """The prediction of one event from rows as of earlier ones."""
    return rules.predict(prepared.constants, advance_rows(rules, prepared.constants, rows, event), event)


def draw_for_events(rules: Rules, key: Array | None, index: Array) -> Any:
    """What the rules draw for events [...], all at once: hashing within the loop takes longer than many a rule.

    Numbers in place of the key are taken as they are.
    """
    if key is None:
        return None
    if is_random_numbers(key):
        return jnp.asarray(key, float).at[index].get(mode="clip")

    def one(number: Array) -> Any:
        own = jax.random.fold_in(key, number)
        return own if rules.draw is None else rules.draw(own)

    flat = jax.vmap(one)(index.ravel())
    return jax.tree.map(lambda x: x.reshape(*index.shape, *x.shape[1:]), flat)


def is_random_numbers(key: Any) -> bool:
    """Whether it is the random numbers themselves, and no PRNG key."""
    return bool(jnp.issubdtype(getattr(key, "dtype", int), jnp.floating))


def check_concrete(what: str, tree: Any, instead: str) -> None:
    """ValueError if anything is traced: what the caller does needs values, and what to do instead."""
    if is_traced(tree):
        raise ValueError(f"{what} on the host, and these are traced by jax.jit, grad or vmap{instead}")


def as_device_arrays(events: Any) -> Any:
    """Floats in the default precision, ids as int32."""

    def cast(x: Any) -> Array:
        return jnp.array(x, dtype=jnp.int32 if x.dtype.kind in "iu" else float)  # a copy: NumPy's may change

    return jax.tree.map(cast, events)


def describe_shapes(tree: Any) -> str:
    """The names and shapes of the leaves of a tree."""
    named = jax.tree_util.tree_leaves_with_path(tree)
    parts = ((jax.tree_util.keystr(path, simple=True, separator="."), list(x.shape)) for path, x in named)
    return ", ".join(f"{name} {shape}".strip() for name, shape in parts)
