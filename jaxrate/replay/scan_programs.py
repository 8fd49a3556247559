"""The programs that replay: pure functions that gather rows, rate events on them, put them back, and scan.

The scan carries the state *and the rows of the next event*, so that nothing reads the old state after it is written.
Read in two places, XLA would copy every leaf of the state at every step, and the cost of a match would grow with the
number of players.

Histories are padded (see `padded_arrays.py`). With a `count` a loop ends where the history does, and
padding costs no time; without one it goes on to the end of the padding, in which nothing happens, since a loop of a
number of steps that is not known cannot be differentiated in reverse.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.core.pairwise_rules import split_sides
from jaxrate.core.rules import (
    AdvanceRule,
    Constants,
    InferRule,
    Params,
    PredictRule,
    PrepareRule,
    RatedEvent,
    Record,
    Rules,
    State,
    UpdateRule,
)
from jaxrate.events import Matches, Rounds
from jaxrate.numerics.selective_evaluation import has_tiles
from jaxrate.replay.plan import PlacedEvents, gather_events
from jaxrate.replay.player_rows import (
    PackedState,
    gather_rows,
    gather_rows_into_buffer,
    pack_state_if_faster,
    read_index,
    scatter_row_tiles,
    scatter_rows,
    unique_ids_to_write,
    write_index,
)

Body = Callable[[Any, Any], tuple[Any, Any]]


class ReplayRules(NamedTuple):
    """The rules of one replay, and what it keeps of each event in place of the prediction."""

    prepare: PrepareRule
    advance: AdvanceRule
    predict: PredictRule
    update: UpdateRule
    infer: InferRule | None = None
    draw: Callable[[Array], Any] | None = None
    record: Record | None = None


def make_replay_rules(rules: Rules, params: Params, record: Record | None = None) -> ReplayRules:
    """The rules for a replay with these hyperparameters."""
    prepare = rules.with_sizes_for(params).prepare
    return ReplayRules(prepare, rules.advance, rules.predict, rules.update, rules.infer, rules.draw, record)


class ReplayConstants(NamedTuple):
    """The constants that a replay computes once, before its loop."""

    constants: Constants
    params: Params  # None unless something is recorded


def prepare_replay(rules: ReplayRules, params: Params) -> ReplayConstants:
    """The constants of the rules, and the hyperparameters themselves where something is recorded."""
    return ReplayConstants(rules.prepare(params), None if rules.record is None else params)


def advance_rows(rules: ReplayRules, constants: Constants, rows: State, event: Any) -> State:
    """Let time pass until the event.

    For a match one player at a time: the time of a match meeting a pair of rows would make `vmap` transpose the pairs.
    """
    if not isinstance(event, Matches):
        return rules.advance(constants, rows, event.time)
    first, second = (rules.advance(constants, row, event.time) for row in split_sides(rows, event))
    return jax.tree.map(lambda a, b: jnp.stack([a, b]), first, second)


def rate_event(
    rules: ReplayRules, prepared: ReplayConstants, rows: State, event: Any, random_draw: Any
) -> tuple[State, Any]:
    """One event on its rows: the rows after it, and the prediction before it, or what is recorded in its place."""
    constants, params = prepared
    before = advance_rows(rules, constants, rows, event)

    def predict() -> Any:
        return rules.predict(constants, before, event)

    drawn = () if rules.draw is None else (random_draw,)
    if rules.record is None:
        prediction = predict()
        return rules.update(constants, before, event, *drawn), prediction
    inferred = None
    if rules.infer is not None:
        after, inferred = rules.infer(constants, before, event)
    else:
        after = rules.update(constants, before, event, *drawn)
    return after, rules.record(RatedEvent(params, constants, before, after, predict, event, inferred))


def predict_event_after_elapsed_time(rules: ReplayRules, prepared: ReplayConstants, rows: State, event: Any) -> Any:
    """The prediction of one event from rows as of earlier ones."""
    return rules.predict(prepared.constants, advance_rows(rules, prepared.constants, rows, event), event)


def draw_random_numbers_for_events(rules: Rules | ReplayRules, key: Array | None, index: Array) -> Any:
    """The rules' random numbers for events [...], all at once; numbers in place of a key stay; None: no draws."""
    draw = rules.draw
    if key is None or draw is None:
        return None
    if is_random_numbers(key):
        return jnp.asarray(key, float).at[index].get(mode="clip")
    flat = jax.vmap(lambda number: draw(jax.random.fold_in(key, number)))(index.ravel())
    return jax.tree.map(lambda x: x.reshape(*index.shape, *x.shape[1:]), flat)


def is_random_numbers(key: Any) -> bool:
    """Whether it is the random numbers themselves, and no PRNG key."""
    return bool(jnp.issubdtype(getattr(key, "dtype", int), jnp.floating))


def scan_leading_entries(body: Body, carry: Any, entries: Any, count: Array | None) -> tuple[Any, Any]:
    """`lax.scan` over the first `count` entries; without a count over all."""
    if count is None:
        return lax.scan(body, carry, entries)
    once: Any = jax.jit(body, inline=True)  # traced once for its shapes and for itself
    length = len(jax.tree.leaves(entries)[0])
    _, one = jax.eval_shape(once, carry, jax.tree.map(lambda x: x[0], entries))
    room = jax.tree.map(lambda x: jnp.zeros((length, *x.shape), x.dtype), one)

    def scan_entry(index: Array, carry_and_room: tuple[Any, Any]) -> tuple[Any, Any]:
        carry, room = carry_and_room
        carry, found = once(carry, jax.tree.map(partial(read_index, i=index), entries))
        return carry, jax.tree.map(partial(write_index, i=index), room, found)

    final: tuple[Any, Any] = lax.fori_loop(0, count, scan_entry, (carry, room))
    return final


class Steps(NamedTuple):
    """Some steps of a history: the events that stand in their slots, and what they draw."""

    columns: PlacedEvents
    number: Any  # [steps, width], as that of a `Block`; or [blocks, steps, width]; None: a stream
    key: Array | None = None  # the key of random numbers
    count: Any = None  # how many steps hold events. None: all


def replay_matches_one_by_one(
    rules: ReplayRules,
    size: tuple[int, int],
    params: Params,
    carry: tuple[State, Any],
    steps: Steps,
    *,
    ids_checked: bool = True,
) -> tuple[State, Any]:
    """Matches in their order; unless `ids_checked`, one with an unknown id changes nothing, and predicts 0."""
    del size
    events = steps.columns.flat
    number = jnp.arange(len(events.score), dtype=jnp.int32)
    rate_one: Any = partial(rate_event, rules, prepare_replay(rules, params))
    drawn = draw_random_numbers_for_events(rules, steps.key, number)
    return scan_matches(
        rate_one if ids_checked else skip_unknown_ids(rate_one, carry[0]), carry[0], events, drawn, steps.count
    )


def skip_unknown_ids(rate_one: Callable[..., tuple[State, Any]], state: State) -> Callable[..., tuple[State, Any]]:
    """The function of a match, which changes nothing and predicts 0 where an id has no row in the state."""
    num_players = len(jax.tree.leaves(state)[0])

    def rate_known(before: State, event: Matches, drawn: Any) -> tuple[State, Any]:
        rows, guess = rate_one(before, event, drawn)
        there = jnp.all((event.player >= 0) & (event.player < num_players))
        rows = jax.tree.map(partial(jnp.where, there), rows, before)
        return rows, jax.tree.map(lambda x: jnp.where(there, x, jnp.zeros_like(x)), guess)

    return rate_known


def scan_matches(
    rate_one: Callable[..., tuple[State, Any]], state: State, events: Matches, random_draws: Any, count: Array | None
) -> tuple[State, Any]:
    """Matches one after the other: `rate_one` rates a match on its rows.

    Each player's row is carried in scalars of its own: as pairs they would be written in halves and read back whole,
    which stalls the store buffer (Glicko: 16 against 23 million matches/s).
    """

    def rows_of(state: State, player: Array) -> tuple[State, State]:
        first, second = player[0], player[1]
        return jax.tree.map(lambda x: read_index(x, first), state), jax.tree.map(lambda x: read_index(x, second), state)

    def body(carry: tuple[Any, ...], entry: tuple[Matches, Any]) -> tuple[tuple[Any, ...], Any]:
        index, state, (first, second) = carry
        event, drawn = entry
        rows, guess = rate_one(jax.tree.map(lambda a, b: jnp.stack([a, b]), first, second), event, drawn)
        for player, row in zip((event.player[0], event.player[1]), split_sides(rows, event), strict=True):
            state = jax.tree.map(partial(write_index, i=player), state, row)
        return (index + 1, state, rows_of(state, read_index(events.player, index + 1))), guess

    start = jnp.int32(0), state, rows_of(state, events.player[0])
    (_, state, _), guess = scan_leading_entries(body, start, (events, random_draws), count)
    return state, guess


def replay_matches_of_any_ids_one_by_one(*arguments: Any) -> tuple[State, Any]:
    """Replay matches one by one, whose ids may have no row: see `replay_matches_one_by_one`."""
    return replay_matches_one_by_one(*arguments, ids_checked=False)


def scan_steps(
    rate_step: Callable[[State, Any, Any], tuple[State, Any]],
    state: State,
    events: Any,
    random_draws: Any,
    count: Array | None,
) -> tuple[State, Any]:
    """Steps of disjoint events: `rate_step` rates a step's on their rows."""

    def body(carry: tuple[Array, State, State], entry: Any) -> tuple[tuple[Array, State, State], Any]:
        number, state, rows = carry
        event, drawn = entry
        rows, guess = rate_step(rows, event, drawn)
        state = scatter_rows(state, unique_ids_to_write(event), rows)
        following = lax.dynamic_index_in_dim(events.player, number + 1, keepdims=False)
        return (number + 1, state, gather_rows(state, following)), guess

    (_, state, _), guess = scan_leading_entries(
        body, (jnp.int32(0), state, gather_rows(state, events.player[0])), (events, random_draws), count
    )
    return state, guess


def scan_single_events(
    one: Callable[[State, Any, Any], tuple[State, Any]], state: State, events: Any, drawn: Any, count: Array
) -> tuple[State, Any]:
    """Steps of one event each, which says how many take part: nothing is done for the padding behind them."""

    def body(carry: tuple[Array, State, State], entry: Any) -> tuple[tuple[Array, State, State], Any]:
        number, state, rows = carry
        event, drawn = entry
        rows, guess = one(rows, event, drawn)
        state = scatter_row_tiles(state, unique_ids_to_write(event), rows, event.present)
        player, size = (read_index(x, jnp.minimum(number + 1, last)) for x in (events.player, events.present))
        return (
            number + 1,
            state,
            gather_rows_into_buffer(rows, state, player, jnp.where(number < last, size, 0)),
        ), guess

    last, player = len(events.present) - 1, events.player[0]
    room = gather_rows(state, jnp.broadcast_to(player[:1], player.shape))
    rows = gather_rows_into_buffer(room, state, player, events.present[0])
    (_, state, _), guess = scan_leading_entries(body, (jnp.int32(0), state, rows), (events, drawn), count)
    return state, guess


def adapt_rating_to_packed_rows(
    packed: PackedState, rate_rows: Callable[[State, Any, Any], tuple[State, Any]]
) -> Callable[..., tuple[Any, Any]]:
    """`rate_rows` on rows of a state that is packed."""

    def rate_packed_rows(rows: Any, event: Any, drawn: Any) -> tuple[Any, Any]:
        rows, guess = rate_rows(packed.unpack(rows), event, drawn)
        return packed.pack(rows), guess

    return rate_packed_rows


def reorder_predictions(size: int, index: Array, predictions: Any) -> Any:
    """Predictions [*index.shape, ...] in the order of the matches or rows, with room for so many."""
    room = jax.tree.map(lambda x: jnp.zeros((size, *x.shape[index.ndim :]), x.dtype), predictions)
    return scatter_predictions(room, index, predictions)


def scatter_predictions(out: Any, position: Array, padded: Any) -> Any:
    """Put padded predictions where they belong; positions past the end are dropped."""

    def write(o: Array, x: Array) -> Array:
        return o.at[position.ravel()].set(x.reshape(-1, *o.shape[1:]), mode="drop", unique_indices=True)

    return jax.tree.map(write, out, padded)


def replay_steps(
    rules: ReplayRules, size: tuple[int, int], params: Params, carry: tuple[State, Any], steps: Steps
) -> tuple[State, Any]:
    """The state after steps of disjoint events, and predictions (None: of all events) with theirs."""
    state, prediction = carry
    packed = pack_state_if_faster(state, math.prod(steps.number.shape[:-1]))
    prepared = prepare_replay(rules, params)

    def replay_block(carry: tuple[Any, Any], number: Array) -> tuple[Any, Any]:
        return _replay_packed_steps(rules, prepared, size, packed, carry, steps._replace(number=number))

    carry = packed.state, prediction
    if steps.number.ndim == 2:
        state, prediction = replay_block(carry, steps.number)
    else:
        state, prediction = lax.scan(lambda *x: (replay_block(*x), None), carry, steps.number)[0]
    return packed.unpack(state), prediction


def _replay_packed_steps(
    rules: ReplayRules,
    prepared: ReplayConstants,
    size: tuple[int, int],
    packed: PackedState,
    carry: tuple[Any, Any],
    steps: Steps,
) -> tuple[Any, Any]:
    """The packed state after some steps, and their predictions."""
    (state, prediction), (columns, number, key, count) = carry, steps
    one = partial(rate_event, rules, prepared)
    in_tiles = count is not None and is_rated_in_tiles(columns.flat, size, number)
    number = number[:, 0] if in_tiles else number
    events, position = gather_events(columns, number, size, counted=in_tiles)
    drawn = draw_random_numbers_for_events(rules, key, number)
    if in_tiles:
        state, guess = scan_single_events(one, state, events, drawn, count)
    else:
        many = vectorise_over_slots(one, type(columns.flat), number.shape[1])
        state, guess = scan_steps(adapt_rating_to_packed_rows(packed, many), state, events, drawn, count)
    if prediction is None:
        return state, reorder_predictions(columns.num_rows, position, guess)
    return state, scatter_predictions(prediction, position, guess)


def vectorise_over_slots(rate_one: Callable[..., Any], kind: type, width: int) -> Callable[..., Any]:
    """A function of the events in the slots of a step, from that of one event.

    Slots of matches are the last axis of events and the second of rows, for whole vectors of them. A single period or
    contest needs no `vmap`: its loops end by themselves, and nothing is selected.
    """
    if kind is Matches:
        return jax.vmap(rate_one, in_axes=(1, -1, 0), out_axes=(1, 0))
    if width > 1:
        return jax.vmap(rate_one)

    def rate_single(*batched: Any) -> Any:
        return jax.tree.map(lambda x: x[None], rate_one(*jax.tree.map(lambda x: x[0], batched)))

    return rate_single


def is_rated_in_tiles(flat: Any, size: tuple[int, int], number: Array) -> bool:
    """Whether the one round of a step of a block is cut in tiles of participants."""
    return isinstance(flat, Rounds) and number.shape[1] == 1 and has_tiles(size[0]) and not has_launch_overhead()


def predict_block(
    rules: ReplayRules, size: tuple[int, int], params: Params, prediction: Any, state: State, steps: Steps
) -> Any:
    """The predictions with those of some steps of rounds written, all from one state; None: those of all rounds."""
    one = jax.vmap(partial(predict_event_after_elapsed_time, rules, prepare_replay(rules, params)))

    def predict_step(number: Array) -> tuple[Array, Any]:
        events, position = gather_events(steps.columns, number, size)
        return position, one(gather_rows(state, events.player), events)

    position, guess = lax.map(predict_step, steps.number)
    if prediction is None:
        return reorder_predictions(steps.columns.num_rows, position, guess)
    return scatter_predictions(prediction, position, guess)
