"""How events are arranged in steps: the host side of exact parallel replay.

Two events without a common player commute. So each event goes to the earliest step that comes after the steps of the
previous events of all its players and still has room; the events of a step are rated together, and the result is that
of rating them one by one.

(Room matters: capping a step while filling holes in later ones needs 19,287 steps of 64 for 936,248 tennis matches;
splitting wide levels afterwards needs 23,404.)

Long histories are arranged by a loop that XLA compiles to native code, but for large events; others by Python or NumPy,
which are sooner done with them than compiled.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.argument_checks import (
    PositiveCount,
    check_choice,
    check_concrete,
    enforce_argument_annotations,
)
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.core.memory_checks import check_memory_fits
from jaxrate.core.system import RatingSystem
from jaxrate.events import LAST_ID, Matches, Periods, Ragged, Rounds, count_teams, has_teammates, has_tied_teams
from jaxrate.events.dataset import Dataset, resolve_events_and_num_players
from jaxrate.events.event_builders import check_events
from jaxrate.numerics.selective_evaluation import TILE_ROWS
from jaxrate.replay.compiler_options import cpu_compile_options
from jaxrate.replay.padded_arrays import (
    MIN_SCHEDULE_STEPS,
    POWER_OF_TWO_LIMIT,
    allocate_aligned,
    max_step_matches_in_cache,
    pad_column,
    padded_event_size,
    padded_size,
    state_shapes,
)
from jaxrate.replay.plan import NO_SHAPES, AnyEvents, Block, BlockShape, CompiledShapes, Plan, count_ids
from jaxrate.replay.player_rows import read_index, write_index

SHORT = 1 << 14  # participants of matches, or other events, up to which no loop is compiled
# Options by which it is compiled in a third of the time, and takes half as long.
INTEGER_LOOP = {"xla_backend_optimization_level": 1, "xla_cpu_use_fusion_emitters": False}
CHUNK = 1 << 17  # matches, or participants, that a compiled loop is given at a time: one size, one compilation
LEAST = 1 << 14  # players, and steps, that it has room for at the least
AHEAD = 8  # matches whose players are fetched before they are needed


def assign_steps_and_slots(player: HostArray, width: int) -> Iterator[tuple[HostArray, HostArray]]:
    """Yields [m] steps and [m] slots (places in a step of at most `width`) of the next m of matches [n, 2] in order."""
    if player.size <= SHORT:
        yield _assign_steps_and_slots_in_python(player, width)
        return
    n, zeros = len(player), _allocate_next_step_by_player(player)
    carry: Any = zeros, np.zeros(padded_size(n + 1, minimum=LEAST), np.int32), np.int32(0)
    for low in range(0, n, CHUNK):
        chunk = player[low : low + CHUNK].astype(np.int32, copy=False)
        carry, (step, slot, _) = _call_on_cpu(
            _assign_steps_and_slots, carry, pad_column(chunk, CHUNK, 0), np.int32(len(chunk)), np.int32(width)
        )
        yield np.asarray(step)[: len(chunk)], np.asarray(slot)[: len(chunk)]


def earliest_steps_of_unlimited_width(player: HostArray, player_start: HostArray) -> HostArray:
    """[E] the step of each event, when steps have room for all, from participants end to end."""
    num_events = len(player_start) - 1
    if num_events <= SHORT:
        return _earliest_steps_by_numpy(player, player_start)
    low, steps, after = 0, [], _allocate_next_step_by_player(player)
    while low < num_events:
        begin = player_start[low]
        high = max(int(np.searchsorted(player_start, begin + CHUNK, side="right")) - 1, low + 1)
        start = (player_start[low : high + 1] - begin).astype(np.int32)
        ids = player[begin : player_start[high]].astype(np.int32, copy=False)
        room = padded_size(len(ids), minimum=CHUNK)  # an event may be larger than a chunk
        after, step = _call_on_cpu(
            _earliest_steps, after, pad_column(ids, room, 0), pad_column(start, CHUNK + 1, 0), np.int32(high - low)
        )
        steps.append(np.asarray(step)[: high - low])
        low = high
    return np.concatenate(steps)


def _earliest_steps(after: Array, player: Array, start: Array, count: Array) -> tuple[Array, Array]:
    """The step after each player's last event, and those of `count` events of players end to end from `start`."""

    def place_event(event: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        after, steps = carry
        ends = read_index(start, event), read_index(start, event + 1)

        def latest(i: Array, step: Array) -> Array:
            return lax.max(step, read_index(after, read_index(player, i)))

        step = lax.fori_loop(*ends, latest, jnp.int32(0))
        after = lax.fori_loop(*ends, lambda i, after: write_index(after, step + 1, read_index(player, i)), after)
        return after, write_index(steps, step, event)

    return lax.fori_loop(0, count, place_event, (after, jnp.zeros(len(start) - 1, jnp.int32)))


def _earliest_steps_by_numpy(player: HostArray, player_start: HostArray) -> HostArray:
    step, after = np.empty(len(player_start) - 1, np.int32), np.zeros(int(player.max(initial=-1)) + 1, np.int32)
    for i, (low, high) in enumerate(pairwise(player_start.tolist())):
        participants = player[low:high]
        step[i] = after[participants].max()
        after[participants] = step[i] + 1
    return step


def _assign_steps_and_slots_in_python(player: HostArray, width: int) -> tuple[HostArray, HostArray]:
    """The step and the slot of each match. `after` tells of a full step which may have room, shortened when walked."""
    after: dict[int, int] = {}
    last: dict[int, int] = {}
    used: list[int] = [0] * (len(player) + 1)
    step, slot = [], []
    for a, b in zip(*player.T.tolist(), strict=True):
        one, other = last.get(a, 0), last.get(b, 0)
        ready = found = one if one > other else other  # a call of max takes longer than the rest of the line
        while (taken := used[found]) >= width:
            found = after.get(found, found + 1)
        if found > ready:
            after[ready] = found
        step.append(found)
        slot.append(taken)
        used[found] = taken + 1
        last[a] = last[b] = found + 1
    return np.array(step, np.int32), np.array(slot, np.int32)


def _allocate_next_step_by_player(player: HostArray) -> HostArray:
    """Room for the step after the last event of each player."""
    players = padded_size(int(player.max()) + 1, minimum=LEAST)
    check_memory_fits(f"arranging events of {players:,} players", 4.0 * players)
    return np.zeros(players, np.int32)


def _assign_steps_and_slots(carry: tuple[Array, ...], player: Array, count: Array, width: Array) -> tuple[Any, Any]:
    """Each tick looks at one step for one match: it takes the match, or shows the way to another.

    The carry is last [players], the step after a player's last match; room [steps], how many matches a step holds if
    it has room, else ~ the step to look at instead, which a walk makes a later one where it begins; and the first step
    that may have room. What is read in a tick was read at the end of the last one, after all was written: XLA would
    copy what is read before it is written. Rows of `last` that are needed soon are read too, to be in the cache.
    """

    def tick(loop_state: tuple[Array, ...]) -> tuple[Array, ...]:
        i, (a, b), (last_a, last_b), ready, at, found, last, room, low, step, slot, soon = loop_state
        fits = found >= 0
        onward = jnp.where(fits, jnp.where(found + 1 < width, found + 1, ~(at + 1)), found)
        low = jnp.where((at == low) & (onward < 0), ~onward, low)
        room = write_index(room, onward, jnp.where(fits, at, ready))
        last = write_index(last, jnp.where(fits, at + 1, last_a), a)
        last = write_index(last, jnp.where(fits, at + 1, last_b), b)
        step, slot = write_index(step, at, i), write_index(slot, found, i)
        i = jnp.where(fits, i + 1, i)
        pair, ends, ready = arrival(i, last, low)
        at = jnp.where(fits, ready, ~found)
        soon = jnp.maximum(soon, jnp.maximum(*ends_of(i + AHEAD, last)[1]))
        return i, pair, ends, ready, at, read_index(room, at), last, room, low, step, slot, soon

    def ends_of(i: Array, last: Array) -> tuple[Any, Any]:
        a, b = read_index(player, i)
        return (a, b), (read_index(last, a), read_index(last, b))

    def arrival(i: Array, last: Array, low: Array) -> tuple[Any, Any, Array]:
        pair, ends = ends_of(i, last)
        return pair, ends, jnp.maximum(jnp.maximum(*ends), low)

    last, room, low = carry
    zero, blank = jnp.int32(0), jnp.zeros(len(player), jnp.int32)
    pair, ends, ready = arrival(zero, last, low)
    start = (zero, pair, ends, ready, ready, read_index(room, ready), last, room, low, blank, blank, zero)
    *_, last, room, low, step, slot, soon = lax.while_loop(lambda loop_state: loop_state[0] < count, tick, start)
    return (last, room, low), (step, slot, soon)


def _call_on_cpu(loop: Callable[..., Any], carry: Any, *arguments: Any) -> Any:
    """What a compiled loop returns, on the CPU: elsewhere it would crawl, and without jit it would not end."""
    with jax.default_device(_cpu_device_or_none()), jax.disable_jit(False):
        return _jit_loop(loop)(jax.device_put(carry), *arguments)


@lru_cache
def _jit_loop(loop: Callable[..., Any]) -> Any:
    return jax.jit(loop, donate_argnums=0, compiler_options=cpu_compile_options(INTEGER_LOOP))


def _cpu_device_or_none() -> Any:
    """The CPU, or None (the default device) where JAX_PLATFORMS hides it."""
    try:
        return jax.local_devices(backend="cpu")[0]
    except RuntimeError:
        return None


SAMPLE_MATCHES = SHORT // 2  # matches in the middle of a history that tell whether it is wide


def _step_width_for_mean(mean_width: float, max_width: int = LAST_ID) -> int:
    return _nearest_power_of_two_in_range(mean_width, step_width_range(), max_width)


def _nearest_power_of_two_in_range(value: float, ends: tuple[int, int], upper_limit: int = LAST_ID) -> int:
    return min(int(np.clip(2 ** np.round(np.log2(max(value, 1))), *ends)), 1 << upper_limit.bit_length() - 1)


GPU_WIDTHS = 64, 65536  # the narrowest and the widest step where kernels are launched


def step_width_range() -> tuple[int, int]:
    """The narrowest and the widest step that is chosen by itself."""
    return GPU_WIDTHS if has_launch_overhead() else (8, 256)


class SlotAssignment(NamedTuple):
    """The step and slot of each match."""

    number: HostArray  # [steps, width] of the match in a slot; from `size` on, each once: none
    size: int
    num_steps: int  # that hold matches; they come first


def assign_slots_if_wide_enough(player: HostArray, max_width: int, min_mean_width: float) -> SlotAssignment | None:
    """The slots of matches [n, 2] in the width that suits them; None where the mean width is below `min_mean_width`.

    The mean is of the schedule without a limit. It has no more steps than one with a limit, so it need not be made
    where that is wide enough.
    """
    n = len(player)
    if n > CHUNK:
        widest = _step_width_for_mean(np.inf, max_width)
        if mean_step_width(player[n // 2 : n // 2 + SAMPLE_MATCHES]) >= 2 * widest:
            made = build_slot_assignment(player, widest)
            mean = n / made.num_steps
            if mean >= min_mean_width and _step_width_for_mean(mean, max_width) == widest:
                return made
    mean = mean_step_width(player)
    return build_slot_assignment(player, _step_width_for_mean(mean, max_width)) if mean >= min_mean_width else None


@jax.ensure_compile_time_eval()
def mean_step_width(player: HostArray) -> float:
    """Matches per step of an unlimited schedule."""
    return len(player) / max([_num_steps(step) for step, _ in assign_steps_and_slots(player, LAST_ID)] + [1])


def _num_steps(step: HostArray) -> int:
    return int(step.max(initial=-1)) + 1


def build_slot_assignment(player: HostArray, width: int, min_size: int = 0, min_steps: int = 0) -> SlotAssignment:
    """The slots of matches [n, 2], with room for so many predictions (`min_size`) and steps at the least."""
    n, low, num_steps = len(player), 0, 0
    min_size = max(padded_size(n) if n else 0, min_size)

    def enough(steps: int) -> int:
        return padded_size(steps, POWER_OF_TWO_LIMIT // width, MIN_SCHEDULE_STEPS)

    number = _extend_slots(np.empty((0, width), np.int32), min_size, min_steps)
    for step, slot in assign_steps_and_slots(player, width):
        high, num_steps = low + len(step), max(_num_steps(step), num_steps)
        if enough(num_steps) > len(number):  # a guess: no slot stays empty, or there are half as many steps again
            number = _extend_slots(
                number, min_size, enough(num_steps if high == n else max(num_steps * 3 // 2, n // width))
            )
        number.reshape(-1)[step.astype(np.intp) * width + slot] = np.arange(low, high)
        low = high
    return SlotAssignment(number[: max(enough(num_steps) if n else 0, min_steps)], min_size, num_steps)


def _extend_slots(match_index: HostArray, size: int, steps: int) -> HostArray:
    """Numbers [., width] made [steps, width] by slots of no match."""
    width = match_index.shape[1]
    longer = allocate_aligned((steps, width), np.int32)
    start = np.arange(size, size + steps * width, width, dtype=np.int32)
    np.add(start[:, None], np.arange(width, dtype=np.int32), out=longer)
    longer[: len(match_index)] = match_index
    return longer


PART_MATCHES = 1 << 17  # matches of a part of a history that may have a width of its own
MAX_PARTS = 16
# Slots of a step up to which one kernel for all steps is faster than a loop that launches some for each. On an H100
# (gpu_record.json) a step of 65,536, in 64 turns of 1,024 threads, took the kernel 3.6 (Elo) to 23 (Glicko-2)
# microseconds a turn, and the loop 21 to 40 in all; a narrow step takes the loop 10 to 21.
NARROW_WIDTH = 1024
TRACED_HINT = "; arrange them outside, and give both to jr.scan(system, params, state, events, plan)"


@enforce_argument_annotations
def schedule_by_level(events: Matches | Ragged | Dataset, width: PositiveCount | None = None) -> Plan:
    """Plan a replay in which events without a common player are rated at once, in the order of each player's events.

        jr.extend.schedule_by_level(data.matches).fill

    Args:
      events: concrete `Matches` (checked again here), or `Ragged` periods or rounds, or a `Dataset`.
      width: the slots of a step of matches. None: the power of two next to the mean width of an unlimited schedule,
        from 8 to 256 on a CPU and from 64 to 65,536 elsewhere.

    Returns:
      A `Plan`, which `run(..., schedule=...)` and `scan` take together with the events. Its `fill` is the share of
      slots in use.

    Raises:
      ValueError: for bad matches (names the row), a width below 1, or events that are traced.
    """
    history, _ = resolve_events_and_num_players(events)
    check_concrete("schedule_by_level arranges events", history, TRACED_HINT)
    history = check_events(history)
    if width is None or isinstance(history, Ragged):
        return make_plan(history, "levels")
    player = np.asarray(history.player)
    return _plan_of_slots(len(player), count_ids(player), build_slot_assignment(player, width))


def check_schedule(events: AnyEvents, schedule: str | Plan) -> None:
    """ValueError unless a schedule is a plan of these events, or the name of one that they may have."""
    if isinstance(schedule, Plan):
        return schedule.check_is_of(events)
    allowed = ("auto", "stream", "levels") if isinstance(events, Matches) else ("auto", "levels")
    check_choice(f"schedule of {events.flat.nouns} (if not a plan)", schedule, allowed)


@jax.ensure_compile_time_eval()
def make_plan(
    events: Matches | Ragged,
    schedule: str = "auto",
    *,
    min_mean_width: float = 2.0,
    max_width: int = LAST_ID,
    tiled: bool = False,
    shapes: CompiledShapes = NO_SHAPES,
) -> Plan:
    """The plan of events for `run`: a stream of matches, or levels of `min_mean_width`; other events in blocks."""
    if isinstance(events, Ragged):
        return arrange_blocks(events, None, shapes, tiled)
    n, player = len(events.score), np.asarray(events.player)
    if shapes.blocks:
        (_, steps, width), size = shapes.blocks[0], shapes.room[0]
        if width == 1:
            return plan_stream(n, count_ids(player), size)
        return _plan_of_slots(n, count_ids(player), build_slot_assignment(player, width, size, steps))
    if schedule == "auto":  # there are no fewer steps than the busiest player has matches
        busiest = np.bincount(player.ravel()).max(initial=0)
        schedule = "auto" if n >= min_mean_width * busiest else "stream"
    if schedule != "stream":
        suited = assign_slots_if_wide_enough(player, max_width, min_mean_width if schedule == "auto" else 0.0)
        if suited is not None:
            return _plan_of_slots(n, count_ids(player), suited)
    return plan_stream(n, count_ids(player))


def plan_narrow_and_wide_parts(matches: Matches, max_width: int) -> Plan | None:
    """A plan in blocks of narrow and of wide steps, by samples; None where all are narrow, or all wide."""
    player, n = np.asarray(matches.player), len(matches.score)
    num_parts = min(n // PART_MATCHES, MAX_PARTS)
    if num_parts < 2:
        return None
    bounds = np.linspace(0, n, num_parts + 1).astype(int)
    middles = [(low + high - SAMPLE_MATCHES) // 2 for low, high in pairwise(bounds)]
    is_wide = [mean_step_width(player[max(x, 0) : x + SAMPLE_MATCHES]) > NARROW_WIDTH for x in middles]
    bounds = bounds[[0, *(np.flatnonzero(np.diff(is_wide)) + 1), len(is_wide)]]
    if len(bounds) == 2:
        return None
    room, blocks, steps = padded_size(n), [], []
    for low, high in pairwise(bounds):
        slots = assign_slots_if_wide_enough(player[low:high], max_width, 0.0)
        assert slots is not None  # as no step is too narrow
        is_match = slots.number < high - low
        number = np.where(is_match, slots.number + low, slots.number - slots.size + room)
        blocks.append(Block(number.astype(np.int32)))
        steps.append(slots.num_steps)
    return Plan(tuple(blocks), tuple(steps), count_ids(player), n, n, Matches, (room, 2 * room, room))


def plan_stream(num_matches: int, num_players: int, min_size: int = 0) -> Plan:
    """A plan of matches one by one, with room for so many at the least."""
    size = max(padded_size(num_matches) if num_matches else 0, min_size)
    slots = SlotAssignment(np.arange(size, dtype=np.int32)[:, None], size, num_matches)
    return _plan_of_slots(num_matches, num_players, slots)


def _plan_of_slots(num_matches: int, num_players: int, slots: SlotAssignment) -> Plan:
    room = slots.size, 2 * slots.size, slots.size
    number = slots.number if slots.number.shape[1] == 1 else jax.device_put(slots.number)  # that of a stream is unused
    return Plan((Block(number),), (slots.num_steps,), num_players, num_matches, num_matches, Matches, room)


def get_or_make_levels_plan(system: RatingSystem, events: Matches | Ragged, plans_by_width: dict[int, Any]) -> Plan:
    """The levels in which `run` rates these events, kept in `plans_by_width`: narrow if players have much state."""
    width = LAST_ID
    if isinstance(events, Matches):
        width = min(max_step_matches_in_cache(state_shapes(system, 2)), step_width_range()[1])
    if width not in plans_by_width:
        plans_by_width[width] = make_plan(events, "levels", max_width=width)
    return plans_by_width[width]


# --- Blocks: periods and contests of like sizes, in steps that are computed at once. ---

_CANDIDATES = 128  # sizes considered
WINDOW = 32  # steps that one call scans over, where their sizes are alike
MAX_PADDED_SIZES = 8  # padded sizes at most: each costs a compilation
FREE_PADDING = 64  # players and pairs below which padding costs nothing
CALL_COST = 1000  # players and pairs that cost about as much as one more call
STEP_COST = 100  # and as one more step within a call, on a CPU; where kernels are launched it costs what a call does
PAIRS_PER_PLAYER = 16  # pairs of participants of a small contest that cost about as much as one of them
COMPILE_COST = {Periods: 1_000_000, Rounds: 300_000}  # and that one more compilation must save
TILED_COMPILE_COST = 1_500_000  # the same of events in tiles
TILED_PADDING_COST_RATIO = 0.05  # what padding of these costs of what players do: .01 (TopCoder) to .06 (Elo-MMR)
LEAST_ROOM = {Periods: 64, Rounds: 8192}  # events, players and pairs for which columns have room


@jax.ensure_compile_time_eval()
def arrange_blocks(
    ragged: Ragged,
    blocks: Iterable[Block] | None = None,
    shapes: CompiledShapes = NO_SHAPES,
    tiled: bool = False,
) -> Plan:
    """A plan of periods or contests in `blocks`, or those of `cut_into_blocks`; of known shapes, where these fit."""
    flat, kind, num_events = ragged.events, type(ragged.events), len(ragged.player_start) - 1
    counts = num_events, int(ragged.player_start[-1]), ragged.num_rows
    events, entries, rows = (
        max(padded_size(number, minimum=LEAST_ROOM[kind]) if number else 0, known)
        for number, known in zip(counts, shapes.room, strict=True)
    )
    made, steps = [], []
    for number, sizes in cut_into_blocks(ragged, tiled) if blocks is None else blocks:
        inside = number < num_events
        players, others = (_padded_axis_size(x, kind is Rounds, tiled) for x in sizes)
        shape = shapes.shape_for(BlockShape((players, others), padded_size(len(number), minimum=1), number.shape[1]))
        whole = np.full((shape.steps, shape.width), events, np.int32)
        whole[: len(number), : number.shape[1]] = np.where(inside, number, events)
        made.append(Block(whole, shape.size))
        steps.append(int(np.flatnonzero(inside.any(axis=1)).max(initial=-1)) + 1)
    has_ties, in_teams = (kind is Rounds and has(ragged) for has in (has_tied_teams, has_teammates))
    num_players = count_ids(flat.player)
    room = events, entries, rows
    return Plan(tuple(made), tuple(steps), num_players, num_events, counts[2], kind, room, has_ties, in_teams)


def _padded_axis_size(number: int, of_rounds: bool, tiled: bool) -> int:
    """The size to which events with so many players, pairs or teams are padded; in tiles of whole ones."""
    if not (of_rounds or tiled):
        return padded_size(number, FREE_PADDING, 8)
    size = padded_event_size(number)
    return -(-size // TILE_ROWS) * TILE_ROWS if tiled and size > TILE_ROWS else size


def padded_work(work: HostArray, size: int) -> Any:
    """The mean cost of events that are padded to a size in tiles."""
    return np.mean(work + TILED_PADDING_COST_RATIO * (size - work))


def best_padded_sizes(work: HostArray, price: int, tiled: bool = False) -> HostArray:
    """The sizes, increasing, at most `SIZES`, to which these are padded at the least cost."""
    top = max(int(work.max()), FREE_PADDING)
    at = np.unique(np.ceil(np.geomspace(FREE_PADDING, top, _CANDIDATES))).astype(np.int64)
    count = np.cumsum(np.bincount(np.searchsorted(at, work), minlength=len(at)))
    count = np.concatenate([[0], count])
    # cost[i, j]: of padding what is above candidate i - 1 and at most candidate j to candidate j
    share = np.where(tiled & (at > TILE_ROWS), TILED_PADDING_COST_RATIO, 1.0)
    sums = np.concatenate([[0], np.cumsum(np.bincount(np.searchsorted(at, work), work, minlength=len(at)))])
    padded = share * at * (count[1:] - count[:-1, None]) + (1.0 - share) * (sums[1:] - sums[:-1, None])
    cost = np.where(np.arange(len(at))[:, None] <= np.arange(len(at)), padded, np.inf)
    best, last = cost[0], []
    for _ in range(MAX_PADDED_SIZES - 1):  # best[j]: of padding all that is at most candidate j, with so many sizes
        total = np.concatenate([[np.inf], best[:-1]])[:, None] + cost
        better = np.min(total, axis=0)
        if better[-1] > best[-1] - price:
            break
        last.append(np.argmin(total, axis=0))
        best = better
    chosen = [len(at) - 1]
    for previous in reversed(last):
        chosen.append(int(previous[chosen[-1]]) - 1)
    return at[chosen[::-1]]


def best_batch_size(lengths: list[int], cost: int, pairs: int, many_steps_a_call: bool) -> int:
    """How many disjoint events of one size share a step: the power of two that costs least."""
    step_cost = CALL_COST
    if many_steps_a_call and not has_launch_overhead():
        step_cost, cost = STEP_COST, cost + pairs // PAIRS_PER_PLAYER

    def total(batch: int) -> int:
        return sum(-(-n // batch) for n in lengths) * (step_cost + batch * cost)

    return min((1 << k for k in range(max(lengths, default=1).bit_length())), key=total)


class SizeClass(NamedTuple):
    """Events that are padded to one size."""

    size: tuple[int, int]  # players, and pairs or teams, an event is padded to
    cost: int  # of an event, in players and pairs
    in_tiles: bool
    pairs: int  # of participants of an event that are compared

    def batch_size(self, lengths: list[int], many_steps_a_call: bool) -> int:
        """How many disjoint events share a step, of so many that are disjoint."""
        return 1 if self.in_tiles else best_batch_size(lengths, self.cost, self.pairs, many_steps_a_call)


def _classify_sizes(ragged: Ragged, price: int, tiled: bool) -> tuple[list[SizeClass], HostArray]:
    """The sizes to which events are padded, increasing, and the number of that of each event."""
    players, of_rounds = np.diff(ragged.player_start), ragged.pair_start is None
    others = count_teams(ragged) if ragged.pair_start is None else np.diff(ragged.pair_start)
    work = players if of_rounds else players + others
    bounds = best_padded_sizes(work, price, tiled)
    number, classes = np.searchsorted(bounds, work), []
    for i in range(len(bounds)):
        size = int(players[number <= i].max(initial=1)), int(others[number <= i].max(initial=0))
        cost = size[0] if of_rounds else sum(size)
        in_tiles = tiled and cost > TILE_ROWS
        cost = int(padded_work(work[number == i], cost)) if in_tiles else cost
        classes.append(SizeClass(size, cost, in_tiles, size[0] ** 2 if of_rounds else 0))
    return classes, number


def cut_into_blocks(ragged: Ragged, tiled: bool = False) -> Iterator[Block]:
    """Cut a ragged history into blocks of equal padded size, in an order that is exact.

    Events are padded to one of at most `MAX_PADDED_SIZES` sizes, those that add least. Disjoint events of a level and
    size are batched where that costs less, but for large ones in tiles. `WINDOW` steps in a row become one block where
    that saves more calls than it costs.
    """
    num_events = len(ragged.player_start) - 1
    if num_events == 0:
        return
    level = earliest_steps_of_unlimited_width(np.asarray(ragged.events.player), ragged.player_start)
    price = TILED_COMPILE_COST if tiled else COMPILE_COST[type(ragged.events)]
    classes, number = _classify_sizes(ragged, price, tiled)
    order = np.lexsort((np.arange(num_events), number, level))
    groups = np.split(order, np.flatnonzero((np.diff(level[order]) != 0) | (np.diff(number[order]) != 0)) + 1)
    batch = [
        one.batch_size([len(group) for group in groups if number[group[0]] == i], many_steps_a_call=len(classes) == 1)
        for i, one in enumerate(classes)
    ]
    steps = [
        (i, group[low : low + batch[i]])
        for group in groups
        for i in [int(number[group[0]])]
        for low in range(0, len(group), batch[i])
    ]
    for part_of_steps, length, i, width in _join_steps(steps, [one.cost for one in classes], batch, price):
        index = np.full((length, width), num_events, np.int32)
        for row, (_, events) in zip(index, part_of_steps, strict=False):
            row[: len(events)] = events
        yield Block(index, classes[i].size)


Step = tuple[int, HostArray]  # the number of the size class, and the events


def _join_steps(
    steps: list[Step], cost: list[int], batch: list[int], price: int
) -> Iterator[tuple[list[Step], int, int, int]]:
    """The steps of each block, with their room, size class and width, at least `cost` with `price` a kind."""
    alone = len(cost) == 1  # then either all are windows, as even as can be, or none
    length = -(-len(steps) // -(-len(steps) // WINDOW)) if alone else WINDOW
    windows, gain = [], Counter[tuple[int, int]]()  # by kind, of having its windows compiled as well
    for low in range(0, len(steps), length):
        window = steps[low : low + length]
        top, width = max(i for i, _ in window), max(batch[i] for i, _ in window)
        saving = sum(CALL_COST + batch[i] * cost[i] for i, _ in window) - CALL_COST - length * width * cost[top]
        windows.append((window, (top, width), saving))
        gain[top, width] += max(saving, 0)
    total = sum(saving for *_, saving in windows)
    for window, kind, saving in windows:
        if total > 0 if alone else (saving > 0 and gain[kind] > price):
            yield window, length, *kind
        else:
            yield from (([step], 1, step[0], batch[step[0]]) for step in window)
