"""Programs that rate one event in place, each compiled once for all events of one form.

An event goes to the device as two vectors, of integers and of floats, and what is recorded of it comes back as one
array: every further array costs microseconds.
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
from jaxrate.events import Matches, Ragged, Rounds, has_teammates, has_tied_teams
from jaxrate.events.event_types import count_teams
from jaxrate.replay.blocks import COLUMNS_BY_EVENT, gather_events
from jaxrate.replay.row_gather_and_scatter import gather_rows, scatter_rows, unique_ids_to_write
from jaxrate.replay.scan_programs import (
    PreparedReplay,
    ReplayRules,
    advance_and_predict_event,
    draw_random_numbers_for_events,
    prepare_replay,
    rate_event,
    read_index,
    write_index,
)


class EventForm(NamedTuple):
    """The form of events: all but their values. Events are `Matches`, or flat `Rounds` and where each begins."""

    size: tuple[int, int] | None  # participants and teams that a contest is padded to; None: matches
    tree: Any  # structure of the pytree
    leaves: tuple[tuple[tuple[int, ...], str], ...]  # shape and kind of each: "i", "f", or "b", which has no values

    def unpack(self, integers: Any, floats: Any) -> Any:
        """Events with leaves [n, ...], on the host or on a device, from their integers and floats [n, ...]."""
        vectors, offset, leaves = {"i": integers, "f": floats}, {"i": 0, "f": 0, "b": 0}, []
        for shape, kind in self.leaves:
            begin, offset[kind] = offset[kind], offset[kind] + int(np.prod(shape))
            flat = vectors[kind][:, begin : offset[kind]] if kind != "b" else np.zeros((len(integers), *shape), bool)
            leaves.append(flat.reshape(-1, *shape))
        return jax.tree.unflatten(self.tree, leaves)


class PackedEvent(NamedTuple):
    """An event, checked and packed. The first integers are the ids of its players."""

    form: EventForm
    integers: list[int]
    floats: list[float]

    @property
    def event(self) -> Any:
        """The event as it was before it was packed."""
        return jax.tree.map(lambda x: x[0], self.form.unpack(np.array([self.integers]), np.array([self.floats])))

    @property
    def kind(self) -> type:
        """`Matches` or `Rounds`."""
        return Matches if self.form.size is None else Rounds

    @property
    def num_players(self) -> int:
        """The number of players or participants, whose ids the event begins with."""
        return 2 if self.form.size is None else self.integers[-1]

    @property
    def time(self) -> float:
        """The time of the event: the float after the score of a match, or after the weights of a contest."""
        return self.floats[1 if self.form.size is None else self.form.size[0]]


def pack_match(match: Matches) -> PackedEvent:
    """One match, of leaves without the axis of matches."""
    return _pack(None, match)


def pack_contest(contest: Ragged) -> PackedEvent:
    """One contest, with columns for a power of two of participants."""
    flat: Any = contest.events
    count = len(flat.player)
    size, teams = (next_power_of_two(int(x)) for x in (count, count_teams(contest)[0]))

    def pad(x: HostArray) -> HostArray:
        return np.concatenate([x, np.repeat(x[-1:], size - count, axis=0)])

    strict, solo = (None if x else np.zeros(1, bool) for x in (has_tied_teams(contest), has_teammates(contest)))
    flat = flat._replace(strict=strict, solo=solo)
    padded = {name: x if name in COLUMNS_BY_EVENT else jax.tree.map(pad, x) for name, x in flat._asdict().items()}
    return _pack((size, min(teams, size)), (flat._replace(**padded), contest.player_start.astype(np.int32)))


def _pack(size: tuple[int, int] | None, event: Any) -> PackedEvent:
    leaves, tree = jax.tree.flatten(event)
    leaves = [np.asarray(x) for x in leaves]
    values: dict[str, list[Any]] = {"i": [], "f": [], "b": []}
    for x in leaves:
        values[x.dtype.kind] += x.ravel().tolist()
    return PackedEvent(EventForm(size, tree, tuple((x.shape, x.dtype.kind) for x in leaves)), values["i"], values["f"])


def next_power_of_two(count: int) -> int:
    """The next power of two, at least 2."""
    return 1 << max(count - 1, 1).bit_length()


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
    leaves, tree = jax.tree.flatten(prepare_replay(rules, params))
    static_leaves = tuple(map(_constant_structure_entry, leaves))
    numbers = [x for x, kind in zip(leaves, static_leaves, strict=True) if kind is NUMBER]
    rest = (x for x, kind in zip(leaves, static_leaves, strict=True) if kind is None)
    return ConstantsStructure(tree, static_leaves), (jnp.stack(numbers) if numbers else jnp.zeros(0), *rest)


def _constant_structure_entry(leaf: Any) -> Any:
    """A constant's entry in `ConstantsStructure`: itself, NUMBER, or None for an array with axes."""
    if not isinstance(leaf, (jax.Array, np.ndarray)):
        return leaf
    return NUMBER if leaf.shape == () and leaf.dtype == jnp.result_type(float) else None


HEADER = 2  # integers before those of an event: number of its form, number of the event


class EventInputs(NamedTuple):
    """What one call of a program is told, beside what is static: `spec` is structure of constants and form of event."""

    arrays: tuple[Array, ...]  # of `split_constants`
    integers: Any  # with the header
    floats: Any

    def unpack(self, spec: tuple[ConstantsStructure, EventForm]) -> tuple[PreparedReplay, Any]:
        """What a replay prepares, and the event, a contest with padding."""
        structure, form = spec
        events = form.unpack(self.integers[None, HEADER:], self.floats[None])
        if form.size is not None:
            flat, starts = jax.tree.map(lambda x: jnp.asarray(x[0]), events)
            events, _ = gather_events(flat, (starts, None), np.zeros(1, np.int32), form.size)
        return structure.insert_arrays(self.arrays), jax.tree.map(lambda x: x[0], events)


def update_with_event(
    rules: ReplayRules, spec: tuple[ConstantsStructure, EventForm], inputs: EventInputs, state: State, key: Array | None
) -> tuple[State, Array]:
    """The state after the event, and what is recorded of it as columns: [1, k] of a match, [P, k] of a contest.

    The rows are read first. A loop of one iteration, of which XLA does not know the number, then rates and writes them.
    Without it XLA fuses reads of one leaf with writes of another and copies the state: a match of Glicko among a
    million players took 2.4 ms, and takes 0.02.
    """
    prepared, event = inputs.unpack(spec)
    number = inputs.integers[HEADER - 1]
    drawn = draw_random_numbers_for_events(rules, key, number)

    def rate_and_write(_: Any, carry: tuple[Any, ...]) -> tuple[Any, ...]:
        state, rows, _ = carry
        together = jax.tree.map(lambda a, b: jnp.stack([a, b]), *rows) if isinstance(event, Matches) else rows
        after, recorded = rate_event(rules, prepared, together, event, drawn)
        count = 1 if isinstance(event, Matches) else len(event.player)
        columns = [x.reshape(count, -1).astype(float) for x in jax.tree.leaves(recorded)]
        return *_write_rows(state, event, after), jnp.concatenate(columns, axis=1)

    rows = _read_rows(state, event)
    _, _, shape = jax.eval_shape(rate_and_write, 0, (state, rows, None))
    first = state, rows, jnp.zeros(shape.shape, shape.dtype)
    state, _, columns = lax.fori_loop(0, 1 + jnp.minimum(number, 0), rate_and_write, first)
    return state, columns


def _read_rows(state: State, event: Any) -> Any:
    """The rows of an event; of a match as a pair, in scalars of their own."""
    if not isinstance(event, Matches):
        return gather_rows(state, event.player)
    return tuple(jax.tree.map(partial(read_index, i=event.player[i]), state) for i in (0, 1))


def _write_rows(state: State, event: Any, rows: State) -> tuple[State, Any]:
    """The state with the rows of an event, and these as `_read_rows` would return them."""
    if not isinstance(event, Matches):
        return scatter_rows(state, unique_ids_to_write(event), rows), rows
    pair = split_sides(rows, event)
    for i, row in enumerate(pair):
        state = jax.tree.map(partial(write_index, i=event.player[i]), state, row)
    return state, pair


def recorded_shapes(
    rules: ReplayRules, spec: tuple[ConstantsStructure, EventForm], inputs: EventInputs, state: State, key: Array | None
) -> Any:
    """The shapes of what is recorded of an event, with leaves [1, ...] of a match and [P, ...] of a contest."""

    def record(inputs: EventInputs, state: State, key: Array | None) -> Any:
        prepared, event = inputs.unpack(spec)
        rows, drawn = gather_rows(state, event.player), draw_random_numbers_for_events(rules, key, jnp.int32(0))
        return rate_event(rules, prepared, rows, event, drawn)[1]

    shapes = jax.eval_shape(record, inputs, state, key)
    return jax.tree.map(lambda x: x.update(shape=(1, *x.shape)), shapes) if spec[1].size is None else shapes


def record_type(form: EventForm, shapes: Any, float_type: Any) -> Any:
    """The type of records of events: what went to the device, and what came back, of these shapes."""
    integers, floats = (sum(int(np.prod(x)) for x, kind in form.leaves if kind == k) for k in "if")
    rows, width = form.size[0] if form.size else 1, sum(int(np.prod(x.shape[1:])) for x in jax.tree.leaves(shapes))
    recorded = "recorded", float_type, (rows, width)
    return np.dtype([("integers", np.int32, (HEADER + integers,)), ("floats", np.float64, (floats,)), recorded])


def unflatten_columns(columns: HostArray, shapes: Any) -> Any:
    """What is recorded of matches or participants, with leaves [n, ...], from its columns [n, k]."""
    leaves, tree = jax.tree.flatten(shapes)
    parts = np.split(columns, np.cumsum([int(np.prod(x.shape[1:])) for x in leaves])[:-1], axis=1)
    return jax.tree.unflatten(
        tree, [part.reshape(-1, *x.shape[1:]).astype(x.dtype) for part, x in zip(parts, leaves, strict=True)]
    )


@partial(jax.jit, static_argnums=(0, 1))
def predict_event(
    rules: ReplayRules, spec: tuple[ConstantsStructure, EventForm], inputs: EventInputs, state: State
) -> Any:
    """The prediction of an event."""
    prepared, event = inputs.unpack(spec)
    return advance_and_predict_event(rules, prepared, gather_rows(state, event.player), event)


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
