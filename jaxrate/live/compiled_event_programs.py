"""Programs that rate and predict one event in place, each compiled once for all events of one form.

An event goes to the device as two vectors, of integers and of floats, and so do the constants of the rules: every
further array costs microseconds.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree

from jaxrate.core.array_types import Array
from jaxrate.core.pairwise import split_sides
from jaxrate.core.rules import Params, State
from jaxrate.events import Matches, Ragged, has_teammates, has_tied_teams
from jaxrate.events.event_types import COLUMNS_BY_EVENT, count_teams
from jaxrate.replay.blocks import gather_events
from jaxrate.replay.padded_states_and_columns import pad_column
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
    """The form of events: all but their values. An event is a match, or a flat contest and where it begins."""

    size: tuple[int, int] | None  # participants and teams that a contest is padded to; None: a match
    tree: Any  # structure of the pytree
    leaves: tuple[tuple[tuple[int, ...], str], ...]  # shape and kind of each: "i", "f", or "b", which has no values

    def unpack(self, integers: Any, floats: Any) -> Any:
        """An event from its integers and floats; a contest with padding."""
        vectors, leaves = {"i": integers, "f": floats, "b": jnp.zeros(len(self.leaves), bool)}, []
        for shape, kind in self.leaves:
            count = math.prod(shape)
            leaves.append(vectors[kind][:count].reshape(shape))
            vectors[kind] = vectors[kind][count:]
        event = jax.tree.unflatten(self.tree, leaves)
        if self.size is None:
            return event
        flat, starts = event
        contests, _ = gather_events(flat, (starts, None), np.zeros(1, np.int32), self.size)
        return jax.tree.map(lambda x: x[0], contests)


class PackedEvent(NamedTuple):
    """An event for a program."""

    form: EventForm
    integers: list[int]
    floats: list[float]


def pack_match(match: Matches) -> PackedEvent:
    """One match, of leaves without the axis of matches."""
    return _pack(None, match)


def pack_contest(contest: Ragged) -> PackedEvent:
    """One contest, with columns for a power of two of participants."""
    flat: Any = contest.events
    count = len(flat.player)
    size, teams = (next_power_of_two(int(x)) for x in (count, count_teams(contest)[0]))
    strict, solo = (None if x else np.zeros(1, bool) for x in (has_tied_teams(contest), has_teammates(contest)))
    flat = flat._replace(strict=strict, solo=solo)
    padded = {
        name: x if name in COLUMNS_BY_EVENT else jax.tree.map(lambda x: pad_column(x, size, x[-1:]), x)
        for name, x in flat._asdict().items()
    }
    return _pack((size, min(teams, size)), (flat._replace(**padded), contest.player_start.astype(np.int32)))


def _pack(size: tuple[int, int] | None, event: Any) -> PackedEvent:
    leaves, tree = jax.tree.flatten(jax.tree.map(np.asarray, event))
    values: dict[str, list[Any]] = {"i": [], "f": [], "b": []}
    for x in leaves:
        values[x.dtype.kind] += x.ravel().tolist()
    return PackedEvent(EventForm(size, tree, tuple((x.shape, x.dtype.kind) for x in leaves)), values["i"], values["f"])


def next_power_of_two(count: int) -> int:
    """The next power of two, at least 2."""
    return 1 << max(count - 1, 1).bit_length()


@jax.tree_util.register_static
class ConstantsForm(NamedTuple):
    """What a replay prepares, without the numbers of its arrays."""

    tree: Any
    static_leaves: tuple[Any, ...]  # None where there is an array
    unravel: Callable[[Array], list[Array]]  # the arrays, from a vector of all their numbers

    def unpack(self, numbers: Array) -> PreparedReplay:
        """What a replay prepares, from the numbers of its arrays."""
        arrays = iter(self.unravel(numbers))
        leaves = [next(arrays) if x is None else x for x in self.static_leaves]
        prepared: PreparedReplay = jax.tree.unflatten(self.tree, leaves)
        return prepared


@partial(jax.jit, static_argnums=0)
def pack_constants(rules: ReplayRules, params: Params) -> tuple[ConstantsForm, Array]:
    """What rules prepare, as a form and the numbers of all arrays in one vector."""
    leaves, tree = jax.tree.flatten(prepare_replay(rules, params))
    static_leaves = tuple(None if isinstance(x, (jax.Array, np.ndarray)) else x for x in leaves)
    numbers, unravel = ravel_pytree([x for x, static in zip(leaves, static_leaves, strict=True) if static is None])
    return ConstantsForm(tree, static_leaves, unravel), numbers


class EventInputs(NamedTuple):
    """What one call of a program is told, beside what is static: `spec` is the forms of constants and event."""

    constants: Array  # of `pack_constants`
    integers: Any  # the number of the event, and its integers
    floats: Any

    def unpack(self, spec: tuple[ConstantsForm, EventForm]) -> tuple[PreparedReplay, Any]:
        """What a replay prepares, and the event."""
        return spec[0].unpack(self.constants), spec[1].unpack(jnp.asarray(self.integers)[1:], jnp.asarray(self.floats))


def update_with_event(
    rules: ReplayRules, spec: tuple[ConstantsForm, EventForm], inputs: EventInputs, state: State, key: Array | None
) -> tuple[State, Any]:
    """The state after the event, and its prediction.

    The rows are read first. A loop of one iteration, of which XLA does not know the number, then rates and writes them.
    Without it XLA fuses reads of one leaf with writes of another and copies the state: a match of Glicko among a
    million players took 2.4 ms, and takes 0.02.
    """
    prepared, event = inputs.unpack(spec)
    number = inputs.integers[0]
    drawn = draw_random_numbers_for_events(rules, key, number)

    def rate_and_write(_: Any, carry: tuple[Any, ...]) -> tuple[Any, ...]:
        state, rows, _ = carry
        together = jax.tree.map(lambda a, b: jnp.stack([a, b]), *rows) if isinstance(event, Matches) else rows
        after, prediction = rate_event(rules, prepared, together, event, drawn)
        return *_write_rows(state, event, after), prediction

    rows = _read_rows(state, event)
    _, _, shapes = jax.eval_shape(rate_and_write, 0, (state, rows, None))
    first = state, rows, jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    state, _, prediction = lax.fori_loop(0, 1 + jnp.minimum(number, 0), rate_and_write, first)
    return state, prediction


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


@partial(jax.jit, static_argnums=(0, 1))
def predict_event(rules: ReplayRules, spec: tuple[ConstantsForm, EventForm], inputs: EventInputs, state: State) -> Any:
    """The prediction of an event."""
    prepared, event = inputs.unpack(spec)
    return advance_and_predict_event(rules, prepared, gather_rows(state, event.player), event)


@partial(jax.jit, static_argnums=(0, 1))
def summarise_player_ratings(
    rules: ReplayRules, summary: Any, params: Params, state: State, ids: Array, time: Array | None
) -> Any:
    """Ratings of players after their last events, or at a time."""
    rows = gather_rows(state, ids)
    return summary(params, rows if time is None else rules.advance(rules.prepare(params), rows, time))
