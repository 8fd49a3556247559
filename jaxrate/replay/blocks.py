"""Plans of blocks: contests and rating periods of like sizes, in steps that are computed at once."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import is_traced
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.backend_dependent_operations import has_launch_overhead
from jaxrate.events import LAST_ID, Context, Periods, Ragged, Rounds, count_teams, has_teammates, has_tied_teams
from jaxrate.events.event_types import COLUMNS_BY_EVENT
from jaxrate.numerics.selective_evaluation import TILE_ROWS
from jaxrate.replay.padded_states_and_columns import (
    pad_on_device,
    padded_event_size,
    padded_size,
    register_pytree_with_static_fields,
)
from jaxrate.replay.row_gather_and_scatter import as_device_arrays
from jaxrate.replay.step_assignment import earliest_steps_of_unlimited_width

_CANDIDATES = 128  # sizes considered
MAX_PADDED_SIZES = 8  # padded sizes at most: each costs a compilation
FREE_PADDING = 64  # players and pairs below which padding costs nothing
CALL_COST = 1000  # players and pairs that cost about as much as one more call
STEP_COST = 100  # and as one more step within a call, on a CPU; where kernels are launched it costs what a call does
PAIRS_PER_PLAYER = 16  # pairs of participants of a small contest that cost about as much as one of them
SMALL_BLOCK_COST = 32 * CALL_COST  # players and pairs up to which a block of a known kind is none too large
COMPILE_COST = {Periods: 1_000_000, Rounds: 300_000}  # and that one more compilation must save
TILED_COMPILE_COST = 1_500_000  # the same of events in tiles
TILED_PADDING_COST_RATIO = 0.05  # what padding of these costs of what players do: .01 (TopCoder) to .06 (Elo-MMR)


def _close_size(number: int, of_rounds: bool, tiled: bool) -> int:
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


def pad_to_size(values: Any, size: int, mode: str = "constant") -> Array:
    """A column made [size, ...] on the device; what is added means nothing."""
    values = as_device_arrays(values)
    return jnp.pad(values, [(0, size - len(values))] + [(0, 0)] * (values.ndim - 1), mode=mode)


def check_column(name: str, values: Any, num_rows: Any) -> Any:
    """A column as an array; ValueError unless it has so many rows."""
    values = values if hasattr(values, "dtype") else np.asarray(values)
    if values.ndim == 0 or (not is_traced(num_rows) and len(values) != int(num_rows)):
        raise ValueError(f"{name} has shape {values.shape}, and the plan is of {num_rows}")
    return values


def replace_columns(
    events: Any, allowed_names: tuple[str, ...], place_column: Callable[[str, Any], Array], columns: dict[str, Any]
) -> Any:
    """Events with other columns, `place(name, values)`; ValueError for one that is not known."""
    for name, values in columns.items():
        if name not in allowed_names:
            raise ValueError(f"the plan has no column {name!r} to change; it has {', '.join(allowed_names)}")
        placed = jax.tree.map(lambda x, name=name: place_column(name, x), values)
        if name in Context._fields and not isinstance(events, Rounds):
            events = events._replace(context=events.context._replace(**{name: placed}))
        else:
            events = events._replace(**{name: placed})
    return events


@register_pytree_with_static_fields("size")
class Block(NamedTuple):
    """Some steps of ragged events, all padded to one size."""

    number: HostArray  # [steps, batch] which event stands in a slot; E or more: padding
    size: tuple[int, int]  # static: players, and pairs or teams, an event is padded to


class BlockSteps(NamedTuple):
    """The arrays of some steps of a block: which events of a flat history stand in them, and what they draw."""

    flat: Any  # `Periods` or `Rounds`
    starts: tuple[Array, Array | None]  # as of a `BlockPlan`
    index: Array  # [steps, batch], as the number of a `Block`
    key: Array | None = None  # the key of random numbers
    count: Any = None  # how many steps hold events. None: all


@register_pytree_with_static_fields("size")
class BlockPlan(NamedTuple):
    """Periods or rounds arranged for the runner, as `Plan` is of matches: a tree of arrays of sizes that are reused."""

    events: Periods | Rounds  # flat
    starts: tuple[Array, Array | None]  # [E + 1] where each event's players begin, and its pairs
    blocks: tuple[Block, ...]
    steps: tuple[int, ...]  # of each block that hold events; they come first
    num_players: int
    num_events: int
    num_rows: int  # pairs, or participants
    size: int  # static: how many predictions are made, the first `num_rows` of them of pairs or participants

    @property
    def real(self) -> Array:
        """[size] whether a prediction is of a pair or participant, and not of padding."""
        return jnp.arange(self.size, dtype=jnp.int32) < self.num_rows

    def block_steps(self, number: Any, key: Array | None = None, count: Any = None) -> BlockSteps:
        """The arrays of the steps in which the events of these numbers stand."""
        return BlockSteps(self.events, self.starts, number, key, count)

    def padded(self, values: Any) -> Array:
        """A column [num_rows, ...] made [size, ...], to stand beside the predictions: 0 in the padding."""
        return pad_to_size(check_column("the column", values, self.num_rows), self.size)

    def but(self, **columns: Any) -> "BlockPlan":
        """A plan of these events with other columns, which may be traced and are not checked.

        Args:
          columns: of rounds `weight` [num_rows], and `time`, `ceiling` and `noise` [num_events]; of periods `score`,
            `weight`, `side`, `category` and `columns`, by name, [num_rows], and `time` [num_events], the start of each.
            Times must not decrease.

        Raises:
          ValueError: for a column of another name, or of another length.
        """
        own = ROUND_COLUMNS if isinstance(self.events, Rounds) else PERIOD_COLUMNS

        def pad_event_column(name: str, values: Any) -> Array:
            each = name in COLUMNS_BY_EVENT
            column = check_column(name, values, self.num_events if each else self.num_rows)
            return pad_to_size(column, len(self.events.time) if each else self.size, "edge")

        return self._replace(events=replace_columns(self.events, own, pad_event_column, columns))


class BlockShape(NamedTuple):
    """The shape of a block for which its program is compiled."""

    size: tuple[int, int]  # as of a `Block`
    steps: int
    width: int

    @property
    def cost(self) -> int:
        return self.steps * self.width * sum(self.size)


class CompiledEventShapes(NamedTuple):
    """The shapes for which programs of ragged events were compiled."""

    events: int = 0  # for which there is room
    entries: int = 0
    rows: int = 0
    kinds: tuple[BlockShape, ...] = ()

    def add_history(self, made: BlockPlan) -> "CompiledEventShapes":
        """These rooms, and those that a history has."""
        kinds = dict.fromkeys([*self.kinds, *(BlockShape(size, *number.shape) for number, size in made.blocks)])
        return CompiledEventShapes(len(made.events.time), len(made.events.player), made.size, tuple(kinds))

    def kind(self, wanted: BlockShape) -> BlockShape:
        """The cheapest known kind that holds a block, if that wastes little or half of it; else a new, coarse one."""
        if not self.kinds:
            return wanted
        bound = max(2 * wanted.cost, SMALL_BLOCK_COST)
        holding = [x for x in self.kinds if np.all(np.hstack(x) >= np.hstack(wanted)) and x.cost <= bound]
        if holding:
            return min(holding, key=lambda x: x.cost)
        players, others = (1 << (x - 1).bit_length() for x in wanted.size)
        return BlockShape((players, others), wanted.steps, wanted.width)


NO_PADDED_SHAPES = CompiledEventShapes()


@jax.ensure_compile_time_eval()
def arrange_blocks(
    ragged: Ragged,
    blocks: Iterable[Block] | None = None,
    padded_shapes: CompiledEventShapes = NO_PADDED_SHAPES,
    tiled: bool = False,
) -> BlockPlan:
    """Ragged events in `blocks`, or those of `cut_into_blocks`; of shapes compiled before, where these fit.

    `tiled`: for a program that does little for the padding of large events, of which one size is then enough.
    """
    flat, entries, num_events = ragged.events, int(ragged.player_start[-1]), len(ragged.player_start) - 1
    rows = entries if ragged.pair_start is None else int(ragged.pair_start[-1])
    rooms = (
        max(padded_size(number, minimum=LEAST_ROOM[type(flat)]) if number else 0, room)
        for number, room in zip((num_events, entries, rows), padded_shapes[:3], strict=True)
    )
    event_room, entry_room, size = rooms
    events, starts = _pad_history(ragged, event_room, entry_room, size)
    made, steps = [], []
    for number, sizes in cut_into_blocks(ragged, tiled) if blocks is None else blocks:
        inside = number < num_events
        players, others = (_close_size(x, isinstance(flat, Rounds), tiled) for x in sizes)
        kind = padded_shapes.kind(BlockShape((players, others), padded_size(len(number), minimum=1), number.shape[1]))
        whole = np.full((kind.steps, kind.width), event_room, np.int32)
        whole[: len(number), : number.shape[1]] = np.where(inside, number, event_room)
        made.append(Block(whole, kind.size))
        steps.append(int(np.flatnonzero(inside.any(axis=1)).max(initial=-1)) + 1)
    num_players = int(np.max(flat.player, initial=-1)) + 1
    return BlockPlan(events, starts, tuple(made), tuple(steps), num_players, num_events, rows, size)


def _pad_history(
    ragged: Ragged, event_room: int, entry_room: int, size: int
) -> tuple[Periods | Rounds, tuple[Array, Array | None]]:
    """The columns of a history on the device, with room for so many events, players and rows; where events begin."""
    flat = ragged.events
    if isinstance(flat, Rounds):
        known = np.zeros(len(flat.time), bool)
        strict, solo = None if has_tied_teams(ragged) else known, None if has_teammates(ragged) else known
        flat = flat._replace(strict=strict, solo=solo)

    def longer(name: str, x: Any) -> Any:
        length = entry_room if name == "player" else event_room if name in COLUMNS_BY_EVENT else size
        return pad_on_device(x, length, x[-1:])

    columns = {name: jax.tree.map(partial(longer, name), getattr(flat, name)) for name in flat._fields}
    begins = [None if x is None else pad_on_device(x, event_room + 1, x[-1:]) for x in ragged[1:3]]
    return flat._replace(**columns), (begins[0], begins[1])


ROUND_COLUMNS = "weight", "time", "ceiling", "noise", "category", "columns"
PERIOD_COLUMNS = "score", "time", *Context._fields


LEAST_ROOM = {Periods: 64, Rounds: 8192}  # events, players and pairs for which columns have room


WINDOW = 32  # steps that one call scans over, where their sizes are alike


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
    """The steps of each block, for how many there is room, and the size class and the width of the block.

    Args:
      steps: steps in order.
      cost: what an event of each size class costs.
      batch: how many events of each size class share a step.
      price: what compiling one more kind of block costs.
    """
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


def gather_events(  # type: ignore[no-untyped-def]
    ragged: Periods | Rounds,
    starts: tuple[Array, Array | None],
    index: Array,
    size: tuple[int, int],
    counted: bool = False,
):
    """Padded events [*index.shape, ...] out of a flat history, and the flat position of each entry of a prediction.

    Padding: ids past the end, each once; weight 0; pairs of position 0 with itself; ranks behind everyone; teams of
    their own; in further columns the values of another pair, since rules may not bear others. Rounds that are `counted`
    say how many take part.
    """
    num_events = starts[0].shape[0] - 1
    real = index < num_events
    event = jnp.minimum(index, num_events - 1)

    def positions(start: Array, cap: int) -> tuple[Array, Array]:
        offset = jnp.broadcast_to(jnp.arange(cap, dtype=jnp.int32), (*index.shape, cap))
        count = jnp.where(real, start[event + 1] - start[event], 0)
        return start[event][..., None] + offset, offset < count[..., None]

    def get(x: Array, where: Array, inside: Array, fill: Any) -> Array:
        taken = x.at[where].get(mode="clip")
        mask = inside.reshape(*inside.shape, *(1,) * (taken.ndim - inside.ndim))
        return jnp.where(mask, taken, jnp.broadcast_to(jnp.asarray(fill, x.dtype), taken.shape))

    def drop(at: Array, inside: Array) -> Array:
        return jnp.where(inside, at, LAST_ID - jnp.arange(at.size, dtype=jnp.int32).reshape(at.shape))

    at, inside = positions(starts[0], size[0])
    past = LAST_ID - jnp.arange(at[0].size, dtype=jnp.int32).reshape(at[0].shape)
    player = get(ragged.player, at, inside, past)
    time = jnp.where(real, ragged.time[event], 0.0)
    if isinstance(ragged, Rounds):
        own = jnp.broadcast_to(jnp.arange(size[0], dtype=jnp.int32), at.shape)
        rank, team = get(ragged.rank, at, inside, LAST_ID), get(ragged.team, at, inside, own)
        ceiling, noise = (None if x is None else x[event] for x in (ragged.ceiling, ragged.noise))
        teams = None if size[1] == size[0] else jnp.zeros((*index.shape, size[1]), bool)
        weight = get(ragged.weight, at, inside, 0.0)
        strict, solo = (None if x is None else x[event] for x in (ragged.strict, ragged.solo))
        seat = None if ragged.seat is None else get(ragged.seat, at, inside, own)
        count = starts[0][event + 1] - starts[0][event] if counted else None
        count = count if count is None else jnp.where(real, count, 0)
        gathered = Rounds(player, rank, team, weight, time, ceiling, noise, seat, teams, strict, solo, count)
        category = None if ragged.category is None else get(ragged.category, at, inside, 0)
        columns = jax.tree.map(lambda x: x.at[at].get(mode="clip"), ragged.columns)
        return gathered._replace(category=category, columns=columns), drop(at, inside)
    assert starts[1] is not None
    at, inside = positions(starts[1], size[1])
    context = jax.tree.map(lambda x: get(x, at, inside, 0), ragged.context._replace(columns=None))
    columns = jax.tree.map(lambda x: x.at[at].get(mode="clip"), ragged.context.columns)
    pair, score = get(ragged.pair, at, inside, 0), get(ragged.score, at, inside, 0.5)
    return Periods(player, pair, score, time, context._replace(columns=columns)), drop(at, inside)


def resolve_block_schedule(events: Ragged, schedule: Any, tiled: bool) -> BlockPlan:
    """Periods or rounds, arranged."""
    if isinstance(schedule, BlockPlan):
        starts = events.player_start if events.pair_start is None else events.pair_start
        if (schedule.num_events, schedule.num_rows) != (len(starts) - 1, starts[-1]):
            raise ValueError(
                f"the schedule is not of these {len(starts) - 1} events; make it by schedule_by_level(events)"
            )
        if schedule.events.time.dtype != jnp.result_type(float):  # made in the other precision
            return arrange_blocks(events, [one._replace(number=np.asarray(one.number)) for one in schedule.blocks])
        return schedule
    if schedule not in ("auto", "levels"):
        raise ValueError(
            f'the schedule of periods and rounds is "auto", "levels" or from schedule_by_level, got {schedule!r}'
        )
    return arrange_blocks(events, tiled=tiled)
