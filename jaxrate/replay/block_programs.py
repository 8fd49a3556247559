"""Programs of blocks: the steps of one block of a schedule, replayed or predicted."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
from jax import lax

from jaxrate.core.array_types import Array
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.core.rules import Params, State
from jaxrate.events import Periods, Rounds
from jaxrate.numerics.selective_evaluation import has_tiles
from jaxrate.replay.blocks import gather_events
from jaxrate.replay.row_gather_and_scatter import PackedState, gather_rows, pack_state_if_faster
from jaxrate.replay.scan_programs import (
    ReplayRules,
    adapt_rating_to_packed_rows,
    advance_and_predict_event,
    draw_random_numbers_for_events,
    prepare_replay,
    rate_event,
    reorder_predictions,
    scan_single_events,
    scan_steps,
    scatter_predictions,
)


def replay_block(
    rules: ReplayRules,
    size: tuple[int, int],
    params: Params,
    carry: tuple[State, Any],
    flat: Periods | Rounds,
    starts: tuple[Array, Array | None],
    index: Array,
    key: Array | None,
    count: Array | None,
) -> tuple[State, Any]:
    """Some steps, each of disjoint events."""
    state, prediction = carry
    packed = pack_state_if_faster(state, len(index))
    state, prediction = _replay_block_of_packed_state(
        rules, size, params, packed, (packed.state, prediction), flat, starts, index, key, count
    )
    return packed.unpack(state), prediction


def _replay_block_of_packed_state(
    rules: ReplayRules,
    size: tuple[int, int],
    params: Params,
    packed: PackedState,
    carry: tuple[Any, Any],
    flat: Periods | Rounds,
    starts: tuple[Array, Array | None],
    index: Array,
    key: Array | None,
    count: Array | None,
) -> tuple[Any, Any]:
    """The same of a packed state."""
    state, prediction = carry
    one = partial(rate_event, rules, prepare_replay(rules, params))
    is_single = index.shape[1] == 1
    in_tiles = count is not None and is_rated_in_tiles(flat, size, index)
    index = index[:, 0] if in_tiles else index
    events, position = gather_events(flat, starts, index, size, counted=in_tiles)
    drawn = draw_random_numbers_for_events(rules, key, index)
    if in_tiles:
        state, guess = scan_single_events(one, state, events, drawn, count)
    else:
        many = _rate_batch_of_one(one) if is_single else jax.vmap(one)
        state, guess = scan_steps(adapt_rating_to_packed_rows(packed, many), state, events, drawn, count)
    if prediction is None:
        rows = len(flat.weight if isinstance(flat, Rounds) else flat.score)
        return state, reorder_predictions(rows, position, guess)
    return state, scatter_predictions(prediction, position, guess)


def is_rated_in_tiles(flat: Periods | Rounds, size: tuple[int, int], index: Array) -> bool:
    """Whether the one round of a step of a block is cut in tiles of participants."""
    return isinstance(flat, Rounds) and index.shape[1] == 1 and has_tiles(size[0]) and not has_launch_overhead()


def _rate_batch_of_one(rate_one: Callable[..., Any]) -> Callable[..., Any]:
    """What `vmap` would do with one event: then loops end when they do, and nothing is chosen."""

    def call(*batched: Any) -> Any:
        return jax.tree.map(lambda x: x[None], rate_one(*jax.tree.map(lambda x: x[0], batched)))

    return call


def replay_consecutive_equal_blocks(
    rules: ReplayRules,
    size: tuple[int, int],
    params: Params,
    carry: tuple[State, Any],
    flat: Periods | Rounds,
    starts: tuple[Array, Array | None],
    index: Array,
    key: Array | None,
) -> tuple[State, Any]:
    """Blocks of one kind in a row, `index` [blocks, steps, batch]: one program, however many there are."""
    packed = pack_state_if_faster(carry[0], index.shape[0] * index.shape[1])

    def one(carry: tuple[Any, Any], index: Array) -> tuple[tuple[Any, Any], None]:
        return _replay_block_of_packed_state(rules, size, params, packed, carry, flat, starts, index, key, None), None

    state, prediction = lax.scan(one, (packed.state, carry[1]), index)[0]
    return packed.unpack(state), prediction


def predict_block(
    rules: ReplayRules,
    size: tuple[int, int],
    params: Params,
    prediction: Any,
    state: State,
    flat: Rounds,
    starts: tuple[Array, Array | None],
    index: Array,
) -> Any:
    """The predictions with those of some steps of rounds written, all from one state; None: those of all rounds."""
    one = jax.vmap(partial(advance_and_predict_event, rules, prepare_replay(rules, params)))

    def predict_step(index: Array) -> tuple[Array, Any]:
        events, position = gather_events(flat, starts, index, size)
        return position, one(gather_rows(state, events.player), events)

    position, guess = lax.map(predict_step, index)
    if prediction is None:
        return reorder_predictions(len(flat.player), position, guess)
    return scatter_predictions(prediction, position, guess)
