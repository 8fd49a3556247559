"""Rows of players: taken from the state, advanced, rated by one event and put back."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.events import Array, Matches
from jaxrate.system import Constants, Rules, State, sides

NUMBERS = 128  # of a player, up to which a second copy of the state may be made


def take(state: State, player: Array) -> State:
    """The rows of some players; an id past the end reads the last player."""
    return jax.tree.map(lambda x: x.at[player].get(mode="clip", wrap_negative_indices=False), state)


def put(state: State, player: Array, rows: State) -> State:
    """The state with these rows written. Ids must be distinct; one past the end is dropped.

    That they are distinct is said to XLA: without it the gradient of a scan keeps every state and takes 8 times as
    long.
    """

    def write(x: Array, y: Array) -> Array:
        return x.at[player].set(y, mode="drop", unique_indices=True, wrap_negative_indices=False)

    return jax.tree.map(write, state, rows)


def beside(state: State) -> tuple[State, Callable[[State], State], Callable[[State], State]]:
    """A state [n, ...] to gather from and scatter to, rows of it as the rules know them, and the way back.

    Off a CPU each leaf has a kernel of its own to scatter it. There all numbers of a player stand side by side in one
    array, a second copy of the state, unless they are many.
    """
    leaves, structure = jax.tree.flatten(state)
    sizes = [math.prod(x.shape[1:]) for x in leaves]
    alike = len({x.dtype for x in leaves}) == 1
    if jax.default_backend() == "cpu" or len(leaves) == 1 or not alike or sum(sizes) > NUMBERS:
        return state, lambda rows: rows, lambda rows: rows
    ends = np.cumsum(sizes)[:-1].tolist()

    def together(rows: State) -> Array:
        every = zip(jax.tree.leaves(rows), leaves, strict=True)
        flat = [x.reshape(*x.shape[: x.ndim - like.ndim + 1], -1) for x, like in every]
        return jnp.concatenate(flat, axis=-1)

    def apart(rows: Array) -> State:
        parts = jnp.split(rows, ends, axis=-1)
        shaped = (x.reshape(*x.shape[:-1], *like.shape[1:]) for x, like in zip(parts, leaves, strict=True))
        return jax.tree.unflatten(structure, shaped)

    return together(state), apart, together


def advance(rules: Rules, constants: Constants, rows: State, event: Any) -> State:
    """Let time pass until the event.

    For a match one player at a time: the time of a match meeting a pair of rows would make `vmap` transpose the pairs.
    """
    if not isinstance(event, Matches):
        return rules.advance(constants, rows, event.time)
    first, second = (rules.advance(constants, row, event.time) for row in sides(rows, event))
    return jax.tree.map(lambda a, b: jnp.stack([a, b]), first, second)


def step(rules: Rules, constants: Constants, rows: State, event: Any, drawn: Any) -> tuple[State, Any]:
    """One event on its rows: the rows after it, and the prediction before it, with what it says if the rules infer."""
    rows = advance(rules, constants, rows, event)
    guess = rules.predict(constants, rows, event)
    if rules.infer is not None:
        rows, inferred = rules.infer(constants, rows, event, drawn)
        return rows, (guess, inferred)
    return rules.update(constants, rows, event, drawn), guess


def forecast(rules: Rules, constants: Constants, rows: State, event: Any) -> Any:
    """The prediction of one event from rows as of earlier ones."""
    return rules.predict(constants, advance(rules, constants, rows, event), event)


def drawn_for(rules: Rules, key: Array | None, index: Array) -> Any:
    """What the rules draw for events [...], all at once: hashing within the loop takes longer than many a rule.

    Numbers in place of the key are taken as they are.
    """
    if key is None:
        return None
    if are_numbers(key):
        return jnp.asarray(key, float).at[index].get(mode="clip")

    def one(number: Array) -> Any:
        own = jax.random.fold_in(key, number)
        return own if rules.draw is None else rules.draw(own)

    flat = jax.vmap(one)(index.ravel())
    return jax.tree.map(lambda x: x.reshape(*index.shape, *x.shape[1:]), flat)


def are_numbers(key: Any) -> bool:
    """Whether it is the random numbers themselves, and no PRNG key."""
    return bool(jnp.issubdtype(getattr(key, "dtype", int), jnp.floating))


def traced(tree: Any) -> bool:
    return any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(tree))


def check_concrete(what: str, tree: Any, instead: str) -> None:
    """ValueError if anything is traced: what the caller does needs values, and what to do instead."""
    if traced(tree):
        raise ValueError(f"{what} on the host, and these are traced by jax.jit, grad or vmap{instead}")


def on_device(events: Any) -> Any:
    """Floats in the default precision, ids as int32."""

    def cast(x: Any) -> Array:
        return jnp.array(x, dtype=jnp.int32 if x.dtype.kind in "iu" else float)  # a copy: NumPy's may change

    return jax.tree.map(cast, events)


def shapes(tree: Any) -> str:
    """The names and shapes of the leaves of a tree."""
    named = jax.tree_util.tree_leaves_with_path(tree)
    parts = ((jax.tree_util.keystr(path, simple=True, separator="."), list(x.shape)) for path, x in named)
    return ", ".join(f"{name} {shape}".strip() for name, shape in parts)
