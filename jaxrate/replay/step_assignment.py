"""The step of each event: the earliest after the steps of the previous events of all its players, with room left.

(Room matters: capping a step while filling holes in later ones needs 19,287 steps of 64 for 936,248 tennis matches;
splitting wide levels afterwards needs 23,404.)

Matches of a long history are arranged by a loop that XLA compiles to native code; other events by Python, which is
sooner done with them than compiled.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.core.memory_checks import check_memory_fits
from jaxrate.events import LAST_ID
from jaxrate.replay.padded_states_and_columns import (
    MIN_SCHEDULE_STEPS,
    POWER_OF_TWO_LIMIT,
    allocate_aligned,
    pad_column,
    padded_size,
)
from jaxrate.replay.row_gather_and_scatter import read_index, write_index

SHORT = 1 << 14  # participants of matches, up to which Python does it
NUMPY_EVENT_SIZE = 20  # participants of an event from which NumPy is faster than lists
CHUNK = 1 << 17  # matches that a compiled loop is given at a time: one size, one compilation
LEAST = 1 << 14  # players, and steps, that it has room for at the least
AHEAD = 8  # matches whose players are fetched before they are needed


def assign_steps_and_slots(player: HostArray, width: int) -> Iterator[tuple[HostArray, HostArray]]:
    """The step of each match when at most `width` share one, and its slot there: how many came to the step before it.

    Args:
      player: [n, 2] ids, in order of time.
      width: the room of a step.

    Yields:
      ([m], [m]) int32 of the next m matches.
    """
    if player.size <= SHORT:
        yield _assign_steps_and_slots_in_python(player, width)
        return
    n, zeros = len(player), _allocate_next_step_by_player(player)
    with jax.default_device(_cpu_device_or_none()):
        carry = jax.device_put((zeros, np.zeros(padded_size(n + 1, minimum=LEAST), np.int32), np.int32(0)))
    for low in range(0, n, CHUNK):
        chunk = player[low : low + CHUNK].astype(np.int32, copy=False)
        with jax.default_device(_cpu_device_or_none()), jax.disable_jit(False):  # without jit the loop would not end
            carry, (step, slot, _) = _assign_steps_and_slots_compiled(
                carry, pad_column(chunk, CHUNK, 0), np.int32(len(chunk)), np.int32(width)
            )
        yield np.asarray(step)[: len(chunk)], np.asarray(slot)[: len(chunk)]


def earliest_steps_of_unlimited_width(player: HostArray, player_start: HostArray) -> HostArray:
    """The step of each event of any number of players, when steps have room for all: [E] int32.

    Args:
      player: [sum of sizes] ids of the participants, the events end to end in order of time.
      player_start: [E + 1] where each event's participants begin; no event is empty.
    """
    bounds = [*pairwise(player_start.tolist())]
    if len(player) < NUMPY_EVENT_SIZE * len(bounds):
        ids = player.tolist()
        return _earliest_steps_of_small_events(ids[low:high] for low, high in bounds)
    step, after = np.empty(len(bounds), np.int32), np.zeros(int(player.max(initial=-1)) + 1, np.int32)
    for i, (low, high) in enumerate(bounds):
        participants = player[low:high]
        step[i] = after[participants].max()
        after[participants] = step[i] + 1
    return step


def _earliest_steps_of_small_events(events: Iterable[list[int]]) -> HostArray:
    after: defaultdict[int, int] = defaultdict(int)  # the step after the last event of each player
    step = []
    for players in events:
        found = max(map(after.__getitem__, players))
        step.append(found)
        for player in players:
            after[player] = found + 1
    return np.array(step, np.int32)


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


@partial(jax.jit, donate_argnums=0)
def _assign_steps_and_slots_compiled(
    carry: tuple[Array, ...], player: Array, count: Array, width: Array
) -> tuple[Any, Any]:
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


def _cpu_device_or_none() -> Any:
    """The CPU, or None (the default device) where JAX_PLATFORMS hides it: elsewhere the loops would crawl."""
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
