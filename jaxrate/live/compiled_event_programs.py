"""Programs that rate one event in place, each compiled once for all events of one structure.

The rows are read first. A loop of one iteration then rates and writes them, as in a stream, so that nothing reads the
state after it is written. (Without the loop XLA fuses reads of one leaf with writes of another and copies the state: a
match of Glicko among a million players took 2.4 ms, and takes 0.02.)

An event goes to the device as two vectors, of integers and of floats, and the outputs come back as one: every further
array costs microseconds.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.pairwise import split_sides
from jaxrate.core.rules import Params, State
from jaxrate.events import LAST_ID, Matches, Ragged, Rounds, has_teammates, has_tied_teams
from jaxrate.replay.row_gather_and_scatter import gather_rows, scatter_rows, unique_ids_to_write
from jaxrate.replay.scan_programs import (
    PreparedReplay,
    ReplayRules,
    advance_and_predict_event,
    draw_random_numbers_for_events,
    prepare_replay,
    rate_event,
)


class EventStructure(NamedTuple):
    """The structure of an event: all but its values."""

    tree: Any  # structure of its pytree
    leaves: tuple[tuple[tuple[int, ...], str], ...]  # shape and kind of each: "i", "f", or "b", which has no values

    def unpack_on_device(self, integers: Array, floats: Array) -> tuple[Any, Array]:
        """The event and its number, from the vectors of `pack_event`."""
        sources, offset, leaves = {"i": integers, "f": floats}, {"i": 0, "f": 0}, []
        for shape, kind in self.leaves:
            if kind == "b":
                leaves.append(jnp.zeros(shape, bool))
                continue
            begin, offset[kind] = offset[kind], offset[kind] + int(np.prod(shape))
            leaves.append(sources[kind][begin : offset[kind]].reshape(shape))
        return jax.tree.unflatten(self.tree, leaves), integers[-1]

    def unpack_on_host(self, integers: HostArray, floats: HostArray) -> Any:
        """The event on the host, from the vectors of `pack_event`."""
        sources, offset, leaves = {"i": integers, "f": floats, "b": np.zeros(0, bool)}, {"i": 0, "f": 0, "b": 0}, []
        for shape, kind in self.leaves:
            begin, offset[kind] = offset[kind], offset[kind] + int(np.prod(shape))
            leaves.append(np.zeros(shape, bool) if kind == "b" else sources[kind][begin : offset[kind]].reshape(shape))
        return jax.tree.unflatten(self.tree, leaves)


def pack_event(event: Any) -> tuple[EventStructure, list[int], list[float]]:
    """The structure of an event on the host, its integers without the number of the event, and its floats."""
    leaves, structure = jax.tree.flatten(event)
    leaves = [np.asarray(x) for x in leaves]
    values: dict[str, list[Any]] = {"i": [], "f": [], "b": []}
    for x in leaves:
        values[x.dtype.kind] += x.ravel().tolist()
    return EventStructure(structure, tuple((x.shape, x.dtype.kind) for x in leaves)), values["i"], values["f"]


@jax.tree_util.register_static
class ConstantsStructure(NamedTuple):
    """The structure of constants, with their leaves that are no arrays: these are static in compiled programs."""

    tree: Any
    static_leaves: tuple[Any, ...]  # NUMBER or None where there is an array

    def insert_arrays(self, arrays: tuple[Array, ...]) -> PreparedReplay:
        """What a replay prepares, from its arrays: first a vector of all numbers, then all further arrays."""
        numbers, rest = iter(arrays[0]), iter(arrays[1:])
        leaves = (next(numbers) if x is NUMBER else next(rest) if x is None else x for x in self.static_leaves)
        prepared: PreparedReplay = jax.tree.unflatten(self.tree, leaves)
        return prepared


NUMBER = "number"  # marks an array without axes, in the default precision


@partial(jax.jit, static_argnums=0)
def split_constants(rules: ReplayRules, params: Params) -> tuple[ConstantsStructure, tuple[Array, ...]]:
    """The constants of rules, split into their structure and their arrays."""
    leaves, structure = jax.tree.flatten(prepare_replay(rules, params))
    static_leaves = tuple(map(_constant_structure_entry, leaves))
    numbers = [x for x, kind in zip(leaves, static_leaves, strict=True) if kind is NUMBER]
    rest = (x for x, kind in zip(leaves, static_leaves, strict=True) if kind is None)
    arrays = jnp.stack(numbers) if numbers else jnp.zeros(0), *rest
    return ConstantsStructure(structure, static_leaves), arrays


def _constant_structure_entry(leaf: Any) -> Any:
    """A constant's entry in `ConstantsStructure`: itself, NUMBER, or None for an array with axes."""
    if not isinstance(leaf, (jax.Array, np.ndarray)):
        return leaf
    return NUMBER if leaf.shape == () and leaf.dtype == jnp.result_type(float) else None


class LiveProgramSpec(NamedTuple):
    """The structures for which a program is compiled."""

    constants: ConstantsStructure
    event: EventStructure


def event_output_tree(
    rules: ReplayRules,
    spec: LiveProgramSpec,
    arrays: tuple[Array, ...],
    state: State,
    integers: Array,
    floats: Array,
    key: Any,
) -> Any:
    """The outputs of an event as a tree; evaluated for their shapes only."""
    event, number = spec.event.unpack_on_device(integers, floats)
    rows = gather_rows(state, event.player)
    return rate_event(
        rules, spec.constants.insert_arrays(arrays), rows, event, draw_random_numbers_for_events(rules, key, number)
    )[1]


def update_with_event(
    rules: ReplayRules,
    spec: LiveProgramSpec,
    arrays: tuple[Array, ...],
    state: State,
    integers: Array,
    floats: Array,
    key: Any,
) -> tuple[State, Array]:
    """The state after the event, and its outputs: [1, k] of a match, [P, k] of a round's participants."""
    prepared = spec.constants.insert_arrays(arrays)
    event, number = spec.event.unpack_on_device(integers, floats)
    random_numbers = draw_random_numbers_for_events(rules, key, number)

    def rate_match(state: State, rows: Any) -> tuple[State, Any, Array]:
        rows, outputs = rate_event(
            rules, prepared, jax.tree.map(lambda a, b: jnp.stack([a, b]), *rows), event, random_numbers
        )
        rows = split_sides(rows, event)
        for i, row in enumerate(rows):
            state = jax.tree.map(partial(_write_row, i=event.player[i]), state, row)
        return state, rows, concatenate_leaf_columns(outputs, 1)

    def rate_round(state: State, rows: Any) -> tuple[State, Any, Array]:
        rows, outputs = rate_event(rules, prepared, rows, event, random_numbers)
        return (
            scatter_rows(state, unique_ids_to_write(event), rows),
            rows,
            concatenate_leaf_columns(outputs, len(event.player)),
        )

    if isinstance(event, Matches):
        rate_one: Any = rate_match
        rows: Any = tuple(jax.tree.map(partial(_read_row, i=event.player[i]), state) for i in (0, 1))
    else:
        rate_one, rows = rate_round, gather_rows(state, event.player)

    def rate_and_count(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        return carry[0] + 1, *rate_one(*carry[1:3])

    shape = jax.eval_shape(rate_one, state, rows)[2]
    first = jnp.int32(0), state, rows, jnp.zeros(shape.shape, shape.dtype)
    _, state, _, outputs = lax.while_loop(lambda carry: carry[0] <= jnp.minimum(number, 0), rate_and_count, first)
    return state, outputs


@partial(jax.jit, static_argnums=(0, 1))
def predict_live_event(
    rules: ReplayRules, spec: LiveProgramSpec, arrays: tuple[Array, ...], state: State, integers: Array, floats: Array
) -> Any:
    """The prediction of an event."""
    event, _ = spec.event.unpack_on_device(integers, floats)
    return advance_and_predict_event(
        rules, spec.constants.insert_arrays(arrays), gather_rows(state, event.player), event
    )


@partial(jax.jit, static_argnums=(0, 1))
def summarise_player_ratings(
    rules: ReplayRules,
    spec: tuple[ConstantsStructure, Any],
    params: Params,
    arrays: tuple[Array, ...],
    state: State,
    ids_and_time: Any,
) -> Any:
    """Ratings of players after their last events, or at a time; `ids_and_time` is (ids, time or None)."""
    (structure, summary), (ids, time) = spec, ids_and_time
    rows = gather_rows(state, ids)
    return summary(
        params, rows if time is None else rules.advance(structure.insert_arrays(arrays).constants, rows, time)
    )


def _read_row(x: Array, i: Array) -> Array:
    return lax.dynamic_index_in_dim(x, i, keepdims=False, allow_negative_indices=False)


def _write_row(x: Array, y: Array, i: Array) -> Array:
    return lax.dynamic_update_index_in_dim(x, y, i, 0, allow_negative_indices=False)


def concatenate_leaf_columns(tree: Any, count: int) -> Array:
    """[count, k] all leaves as columns of floats."""
    return jnp.concatenate([x.reshape(count, -1).astype(float) for x in jax.tree.leaves(tree)], axis=1)


def unflatten_output_rows(output_rows: HostArray, shapes: Any, event_type: type) -> Any:
    """The tree with these shapes from rows [n, k] of matches or of participants of rounds; leaves [n, ...]."""
    leaves, structure = jax.tree.flatten(shapes)
    values, offset = [], 0
    for x in leaves:
        shape = x.shape if event_type is Matches else x.shape[1:]
        width = int(np.prod(shape))
        values.append(output_rows[:, offset : offset + width].reshape(len(output_rows), *shape).astype(x.dtype))
        offset += width
    return jax.tree.unflatten(structure, values)


def unflatten_prediction(shapes: dict[type, Any], kind: type, outputs: Any) -> Any:
    """The prediction in the outputs of one event of this kind; `shapes` are those of outputs by kind."""
    prediction = unflatten_output_rows(outputs, shapes[kind][0], kind)
    return jax.tree.map(lambda x: x[0], prediction) if kind is Matches else prediction


def pad_round_to_power_of_two(ragged: Ragged) -> Rounds:
    """The only round of a history, padded to a power of two of participants as in a run."""
    flat: Any = ragged.events
    count = len(flat.player)
    size, teams = _next_power_of_two(count), _next_power_of_two(int(flat.team.max()) + 1)
    num_padding = size - count
    padding_index = np.arange(count, size, dtype=np.int32)
    flag = np.zeros((), bool)  # its value does not matter
    category, columns = jax.tree.map(
        lambda x: np.concatenate([x, np.repeat(x[-1:], num_padding, axis=0)]), (flat.category, flat.columns)
    )
    return Rounds(
        np.concatenate([flat.player, LAST_ID - padding_index]),
        np.concatenate([flat.rank, np.full(num_padding, LAST_ID, np.int32)]),
        np.concatenate([flat.team, padding_index]),
        np.concatenate([flat.weight, np.zeros(num_padding)]),
        flat.time[0],
        None if flat.ceiling is None else flat.ceiling[0],
        None if flat.noise is None else flat.noise[0],
        None if flat.seat is None else np.concatenate([flat.seat, padding_index]),
        None if teams >= size else np.zeros(teams, bool),
        None if has_tied_teams(ragged) else flag,
        None if has_teammates(ragged) else flag,
        category=category,
        columns=columns,
    )


def _next_power_of_two(count: int) -> int:
    """The next power of two, at least 2."""
    return 1 << max(count - 1, 1).bit_length()
