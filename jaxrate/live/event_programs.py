"""One event as it comes: rated in place, by a program that is compiled once for all events of a form.

The rows are read first. A loop of one turn then rates and writes them, as in a stream, so that nothing reads the state
after it is written. (Without the loop XLA fuses reads of one leaf with writes of another and copies the state: a match
of Glicko among a million players took 2.4 ms, and takes 0.02.)

What an event tells goes to the device as two vectors, of whole numbers and of others, and what is seen comes back as
one: every further array costs microseconds.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.events import LAST_ID, Matches, Ragged, Rounds, has_teammates, has_tied_teams
from jaxrate.replay.gather import gather_rows, ids_to_write, scatter_rows
from jaxrate.replay.scan_programs import Prepared, draw_for_events, predict_event, prepare_replay, rate_event
from jaxrate.system import Params, Rules, State, split_sides
from jaxrate.types import Array, HostArray


class EventStructure(NamedTuple):
    """What is known of an event before its values are."""

    structure: Any  # of its tree
    leaves: tuple[tuple[tuple[int, ...], str], ...]  # shape and kind of each: "i", "f", or "b" of no values

    def open(self, whole: Array, real: Array) -> tuple[Any, Array]:
        """The event and its number, from what `packed` made of them."""
        sources, at, leaves = {"i": whole, "f": real}, {"i": 0, "f": 0}, []
        for shape, kind in self.leaves:
            if kind == "b":
                leaves.append(jnp.zeros(shape, bool))
                continue
            begin, at[kind] = at[kind], at[kind] + int(np.prod(shape))
            leaves.append(sources[kind][begin : at[kind]].reshape(shape))
        return jax.tree.unflatten(self.structure, leaves), whole[-1]

    def read(self, whole: HostArray, real: HostArray) -> Any:
        """The event on the host."""
        sources, at, leaves = {"i": whole, "f": real, "b": np.zeros(0, bool)}, {"i": 0, "f": 0, "b": 0}, []
        for shape, kind in self.leaves:
            begin, at[kind] = at[kind], at[kind] + int(np.prod(shape))
            leaves.append(np.zeros(shape, bool) if kind == "b" else sources[kind][begin : at[kind]].reshape(shape))
        return jax.tree.unflatten(self.structure, leaves)


def pack_event(event: Any) -> tuple[EventStructure, list[int], list[float]]:
    """The form of an event on the host, and its values; the whole numbers lack the event's own, the last."""
    leaves, structure = jax.tree.flatten(event)
    leaves = [np.asarray(x) for x in leaves]
    values: dict[str, list[Any]] = {"i": [], "f": [], "b": []}
    for x in leaves:
        values[x.dtype.kind] += x.ravel().tolist()
    return EventStructure(structure, tuple((x.shape, x.dtype.kind) for x in leaves)), values["i"], values["f"]


class ConstantsStructure(NamedTuple):
    """What a replay prepares, parted: what is no array stays outside of compiled programs, as in a run."""

    structure: Any
    fixed: tuple[Any, ...]  # NUMBER or None where there is an array

    def fill(self, arrays: tuple[Array, ...]) -> Prepared:
        """What was prepared, from one vector of their numbers and all further arrays."""
        numbers, rest = iter(arrays[0]), iter(arrays[1:])
        leaves = (next(numbers) if x is NUMBER else next(rest) if x is None else x for x in self.fixed)
        prepared: Prepared = jax.tree.unflatten(self.structure, leaves)
        return prepared


NUMBER = "number"  # in place of an array without axes, in the default precision


def prepare_constants(rules: Rules, params: Params) -> tuple[ConstantsStructure, tuple[Array, ...]]:
    """The constants of rules, computed once."""
    known: list[ConstantsStructure] = []

    def arrays(params: Params) -> tuple[Array, ...]:
        leaves, structure = jax.tree.flatten(prepare_replay(rules, params))
        fixed = tuple(map(_static_constant, leaves))
        known.append(ConstantsStructure(structure, fixed))
        numbers = [x for x, kind in zip(leaves, fixed, strict=True) if kind is NUMBER]
        rest = (x for x, kind in zip(leaves, fixed, strict=True) if kind is None)
        return jnp.stack(numbers) if numbers else jnp.zeros(0), *rest

    found = jax.jit(arrays)(params)
    return known[-1], found


def _static_constant(leaf: Any) -> Any:
    """What `Known` keeps of a constant."""
    if not isinstance(leaf, (jax.Array, np.ndarray)):
        return leaf
    return NUMBER if leaf.shape == () and leaf.dtype == jnp.result_type(float) else None


class OnlineSpec(NamedTuple):
    """What a program is compiled for, beside the rules."""

    known: ConstantsStructure
    form: EventStructure


def predicted_shapes(
    rules: Rules, spec: OnlineSpec, arrays: tuple[Array, ...], state: State, whole: Array, real: Array, key: Any
) -> Any:
    """What an event shows, for its shapes."""
    event, number = spec.form.open(whole, real)
    rows = gather_rows(state, event.player)
    return rate_event(rules, spec.known.fill(arrays), rows, event, draw_for_events(rules, key, number))[1]


def update_with_event(
    rules: Rules, spec: OnlineSpec, arrays: tuple[Array, ...], state: State, whole: Array, real: Array, key: Any
) -> tuple[State, Array]:
    """The state after the event, and what was seen: [1, k] of a match, [P, k] of a round's participants."""
    prepared = spec.known.fill(arrays)
    event, number = spec.form.open(whole, real)
    drawn = draw_for_events(rules, key, number)

    def of_match(state: State, rows: Any) -> tuple[State, Any, Array]:
        rows, shown = rate_event(rules, prepared, jax.tree.map(lambda a, b: jnp.stack([a, b]), *rows), event, drawn)
        rows = split_sides(rows, event)
        for i, row in enumerate(rows):
            state = jax.tree.map(partial(_write_row, i=event.player[i]), state, row)
        return state, rows, flatten_leaves(shown, 1)

    def of_round(state: State, rows: Any) -> tuple[State, Any, Array]:
        rows, shown = rate_event(rules, prepared, rows, event, drawn)
        return scatter_rows(state, ids_to_write(event), rows), rows, flatten_leaves(shown, len(event.player))

    if isinstance(event, Matches):
        one: Any = of_match
        rows: Any = tuple(jax.tree.map(partial(_read_row, i=event.player[i]), state) for i in (0, 1))
    else:
        one, rows = of_round, gather_rows(state, event.player)

    def turn(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        return carry[0] + 1, *one(*carry[1:3])

    shape = jax.eval_shape(one, state, rows)[2]
    first = jnp.int32(0), state, rows, jnp.zeros(shape.shape, shape.dtype)
    _, state, _, shown = lax.while_loop(lambda carry: carry[0] <= jnp.minimum(number, 0), turn, first)
    return state, shown


@partial(jax.jit, static_argnums=(0, 1))
def predict_event_online(
    rules: Rules, spec: OnlineSpec, arrays: tuple[Array, ...], state: State, whole: Array, real: Array
) -> Any:
    """The prediction of an event."""
    event, _ = spec.form.open(whole, real)
    return predict_event(rules, spec.known.fill(arrays), gather_rows(state, event.player), event)


@partial(jax.jit, static_argnums=(0, 1))
def rate_rows(
    rules: Rules,
    spec: tuple[ConstantsStructure, Any],
    params: Params,
    arrays: tuple[Array, ...],
    state: State,
    which: Any,
) -> Any:
    """The summary of some rows, as of a time if there is one: `which` is (ids, time or None)."""
    known, summary = spec
    rows = gather_rows(state, which[0])
    return summary(params, rows if which[1] is None else rules.advance(known.fill(arrays).constants, rows, which[1]))


def _read_row(x: Array, i: Array) -> Array:
    return lax.dynamic_index_in_dim(x, i, keepdims=False, allow_negative_indices=False)


def _write_row(x: Array, y: Array, i: Array) -> Array:
    return lax.dynamic_update_index_in_dim(x, y, i, 0, allow_negative_indices=False)


def flatten_leaves(tree: Any, count: int) -> Array:
    """[count, k] all leaves side by side, as floats."""
    return jnp.concatenate([x.reshape(count, -1).astype(float) for x in jax.tree.leaves(tree)], axis=1)


def unflatten_leaves(table: HostArray, shapes: Any, kind: type) -> Any:
    """The tree of these shapes from the rows [n, k] of matches, or of participants of rounds; leaves [n, ...]."""
    leaves, structure = jax.tree.flatten(shapes)
    found, at = [], 0
    for x in leaves:
        own = x.shape if kind is Matches else x.shape[1:]
        width = int(np.prod(own))
        found.append(table[:, at : at + width].reshape(len(table), *own).astype(x.dtype))
        at += width
    return jax.tree.unflatten(structure, found)


def pad_round(ragged: Ragged) -> Rounds:
    """The only round of a history, padded to a power of two of participants; as `gather_events` pads."""
    flat: Any = ragged.events
    count = len(flat.player)
    size, teams = _next_power_of_two(count), _next_power_of_two(int(flat.team.max()) + 1)
    more = size - count
    further = np.arange(count, size, dtype=np.int32)
    none = np.zeros((), bool)  # of any value
    return Rounds(
        np.concatenate([flat.player, LAST_ID - further]),
        np.concatenate([flat.rank, np.full(more, LAST_ID, np.int32)]),
        np.concatenate([flat.team, further]),
        np.concatenate([flat.weight, np.zeros(more)]),
        flat.time[0],
        None if flat.ceiling is None else flat.ceiling[0],
        None if flat.noise is None else flat.noise[0],
        None if flat.seat is None else np.concatenate([flat.seat, further]),
        None if teams >= size else np.zeros(teams, bool),
        None if has_tied_teams(ragged) else none,
        None if has_teammates(ragged) else none,
    )


def _next_power_of_two(count: int) -> int:
    """The next power of two, from 2."""
    return 1 << max(count - 1, 1).bit_length()
