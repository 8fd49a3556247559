"""Plans: which events are rated at the same time, as numbers of events in steps and slots.

A plan has numbers alone. The events stay where they are, and a replay gathers those of a step by their numbers; so the
plan of a history serves the same players with other scores, weights or times.
"""

from functools import partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import is_traced
from jaxrate.core.array_types import Array, HostArray
from jaxrate.events import LAST_ID, Matches, Periods, Ragged, Rounds
from jaxrate.events.event_builders import check_events
from jaxrate.events.event_types import COLUMNS_BY_EVENT
from jaxrate.replay.padded_arrays import (
    pad_matches_on_device,
    pad_on_device,
    register_pytree_with_static_fields,
    to_default_dtype,
)
from jaxrate.replay.player_rows import as_device_arrays

SMALL_BLOCK_COST = 32_000  # players and pairs up to which a block of a known shape is none too large
MATCH_SIZE = 2, 1  # players and pairs of a match


@register_pytree_with_static_fields("num_rows")
class PlacedEvents(NamedTuple):
    """The columns of events on the device, as a program takes them."""

    flat: Any  # `Periods` or `Rounds`, flat; `Matches`, flat, or in the slots of their plan: [steps, ..., width]
    num_rows: int  # static: matches, pairs or participants, with padding, of which there are predictions
    player_start: Any = None  # [E + 1] where the players of each period or contest begin
    pair_start: Any = None  # [E + 1] where the pairs of each period begin


AnyEvents: TypeAlias = Matches | Ragged | PlacedEvents


@register_pytree_with_static_fields("size")
class Block(NamedTuple):
    """Some steps of events, all padded to one size."""

    number: Array  # [steps, width] which event stands in a slot; one past the last event: none
    size: tuple[int, int] = MATCH_SIZE  # static: players, and pairs or teams, of an event with its padding


@register_pytree_with_static_fields("kind", "room", "has_ties", "has_teammates")
class Plan(NamedTuple):
    """The order in which the events of a history are rated, in steps of events without a common player.

    It is a tree of arrays, which may be traced, stacked and mapped over. Its sizes are rounded up to a few, so that
    what is compiled for one history serves others; in the padding nobody plays. Matches are one block, or several where
    few are rated at once for a time and many at others; where steps have a single slot, they are rated one by one, as a
    stream.
    """

    blocks: tuple[Block, ...]
    steps: tuple[int, ...]  # of each block that hold events; they come first
    num_players: int  # the largest id plus one
    num_events: int
    num_rows: int  # of which there is a prediction each: matches, pairs of periods, participants of contests
    kind: type  # static: of what kind the events are
    room: tuple[int, int, int]  # static: events, players in them and rows for which programs are compiled
    has_ties: bool = False  # static: whether teams of a contest tie
    has_teammates: bool = False  # static

    @property
    def fill(self) -> float:
        """The share of slots that hold an event."""
        slots = sum(steps * block.number.shape[1] for steps, block in zip(self.steps, self.blocks, strict=True))
        return self.num_events / max(slots, 1)

    @property
    def num_steps(self) -> int:
        """How many steps hold events."""
        return sum(map(int, self.steps))

    @property
    def is_stream(self) -> bool:
        """Whether these are matches that are rated one by one."""
        return self.kind is Matches and self.blocks[0].number.shape[-1] == 1

    def place(self, events: Matches | Ragged) -> "PlacedEvents":
        """The events checked and on the device, with the room of the plan: those of plans of one shape can be stacked.

        `run` and `scan` take them with the plan, and need not check and send them again. What a system needs of values
        is checked only of events that are not placed.
        """
        events = check_events(events)
        self.check_is_of(events)
        with jax.ensure_compile_time_eval():  # also where a function of hyperparameters is compiled around it
            return place_events(events, self)

    def check_is_of(self, events: AnyEvents) -> None:
        """ValueError unless the plan is of so many events of this kind and so many players; traced ones may be any."""
        flat: Any = events.flat
        counts, planned = (events.num_rows, len(flat.time)), (self.num_rows, self.num_events)
        if isinstance(events, PlacedEvents):
            counts, planned = (events.num_rows, 0), (self.room[2], 0)
        nouns, player, advice = flat.nouns, flat.player, "make it by jr.extend.schedule_by_level(events)"
        if self.kind is not type(flat) or any(map(_is_known_and_different, planned, counts)):
            raise ValueError(f"the plan is not of these {counts[1]} {nouns}; {advice}")
        if isinstance(player, np.ndarray) and _is_known_and_different(self.num_players, count_ids(player)):
            planned_ids, ids = int(self.num_players) - 1, count_ids(player) - 1
            raise ValueError(
                f"the plan is of players up to {planned_ids}, and these {nouns} name others up to {ids}; {advice}"
            )


def _is_known_and_different(number: Any, other: int) -> bool:
    return not isinstance(number, jax.core.Tracer) and int(number) != other


def count_ids(player: HostArray) -> int:
    return int(np.max(player, initial=-1)) + 1


class BlockShape(NamedTuple):
    """The shape of a block for which its program is compiled."""

    size: tuple[int, int]  # as of a `Block`
    steps: int
    width: int

    @property
    def cost(self) -> int:
        return self.steps * self.width * sum(self.size)


class CompiledShapes(NamedTuple):
    """The shapes for which programs were compiled, of which later plans make use."""

    room: tuple[int, int, int] = (0, 0, 0)  # as of a `Plan`
    blocks: tuple[BlockShape, ...] = ()

    def add(self, plan: Plan) -> "CompiledShapes":
        """These shapes, and those of a plan; of matches its own alone, since those of longer chunks hold others."""
        known = () if plan.kind is Matches else self.blocks
        shapes = dict.fromkeys([*known, *(BlockShape(size, *number.shape) for number, size in plan.blocks)])
        return CompiledShapes(plan.room, tuple(shapes))

    def shape_for(self, wanted: BlockShape) -> BlockShape:
        """The cheapest known shape that holds a block, if that wastes little or half of it; else a new, coarse one."""
        if not self.blocks:
            return wanted
        bound = max(2 * wanted.cost, SMALL_BLOCK_COST)
        holding = [x for x in self.blocks if np.all(np.hstack(x) >= np.hstack(wanted)) and x.cost <= bound]
        if holding:
            return min(holding, key=lambda x: x.cost)
        players, others = (1 << (x - 1).bit_length() for x in wanted.size)
        return BlockShape((players, others), wanted.steps, wanted.width)


NO_SHAPES = CompiledShapes()


# --- Events in the slots of a plan. ---


def event_starts(events: AnyEvents) -> tuple[Any, Any]:
    """[E + 1] where the players of each event begin, and its pairs; None: there are none."""
    return getattr(events, "player_start", None), getattr(events, "pair_start", None)


def cast_events(events: AnyEvents, plan: Plan) -> PlacedEvents:
    """The columns of events, which may be traced, in the default precision and as long as they are."""
    if isinstance(events, PlacedEvents):
        return events
    starts = jax.tree.map(lambda x: jnp.asarray(x, jnp.int32), event_starts(events))
    return PlacedEvents(_add_tie_and_team_flags(as_device_arrays(events.flat), plan), events.num_rows, *starts)


def place_events(events: AnyEvents, plan: Plan) -> PlacedEvents:
    """The columns of events with the room of their plan, matches in its slots; of traced ones as `cast_events`."""
    if isinstance(events, PlacedEvents) or is_traced(events):
        return cast_events(events, plan)
    num_events, num_entries, size = plan.room
    if plan.is_stream or (plan.kind is Matches and len(plan.blocks) > 1):
        flat: Any = events.flat
        return PlacedEvents(pad_matches_on_device(flat, size), size)
    if plan.kind is Matches:
        columns = jax.tree.map(to_default_dtype, events.flat)
        return PlacedEvents(jax.device_put(_arrange_matches(np, columns, np.asarray(plan.blocks[0].number))), size)

    def pad(name: str, x: Any) -> Any:
        length = num_entries if name == "player" else num_events if name in COLUMNS_BY_EVENT else size
        return pad_on_device(x, length)

    flat = _add_tie_and_team_flags(events.flat, plan)
    padded = {name: jax.tree.map(partial(pad, name), x) for name, x in flat._asdict().items()}
    starts = jax.tree.map(lambda x: pad_on_device(x, num_events + 1), event_starts(events))
    return PlacedEvents(flat._replace(**padded), size, *starts)


def first_event_shape(columns: PlacedEvents, size: tuple[int, int]) -> Any:
    """The types of an event of this padded size."""
    slot = jax.ShapeDtypeStruct((1, 1), np.int32)
    events, _ = _gather_compiled.eval_shape(columns, slot, size)
    axes = slice(1, -1) if isinstance(events, Matches) else slice(2, None)  # but those of steps and slots
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[axes], x.dtype), events)


def _add_tie_and_team_flags(flat: Any, plan: Plan) -> Any:
    """The columns of contests with what is known of ties and teams; others as they are."""
    if not isinstance(flat, Rounds):
        return flat
    known = np.zeros(len(flat.time), bool)
    return flat._replace(strict=None if plan.has_ties else known, solo=None if plan.has_teammates else known)


def gather_events(
    columns: PlacedEvents, number: Array, size: tuple[int, int], counted: bool = False
) -> tuple[Any, Array]:
    """The events of some slots, by number, and the position among all predictions of each of theirs.

    Matches of slots [steps, width] have the slots last, leaves [steps, ..., width]; others of slots [...] have them
    first, and are padded to a size. Numbers past the last event are padding: ids past the end, each once; scores of one
    half; weight 0; pairs of position 0 with itself; ranks behind everyone; teams of their own; in further columns the
    values of another event, since rules may not bear others. Contests that are `counted` say how many take part.
    """
    if not isinstance(columns.flat, Matches):
        return _gather_ragged(columns, number, size, counted)
    if columns.flat.score.ndim == 1:
        return _arrange_matches(jnp, columns.flat, number), number
    return jax.tree.map(lambda x: x if len(x) == len(number) else x[: len(number)], columns.flat), number


_gather_compiled = jax.jit(gather_events, static_argnums=2)  # whose types are inferred once


def _arrange_matches(numpy: Any, matches: Matches, number: Any) -> Matches:
    """Matches [n, ...] in slots, [steps, ..., width], by NumPy or by that of JAX."""
    n, width = len(matches.score), number.shape[1]
    past = LAST_ID - 2 * np.arange(width, dtype=np.int32)

    def take(x: Any) -> Any:
        return numpy.moveaxis(numpy.take(x, number, axis=0, mode="clip"), 1, -1)

    def append_padding(value: Any, x: Any) -> Any:
        return numpy.concatenate([x, numpy.full_like(x, value, shape=(1, *x.shape[1:]))])

    score, time = append_padding(0.5, matches.score), append_padding(0.0, matches.time)
    context = jax.tree.map(partial(append_padding, 0), matches.context._replace(columns=None))
    columns = matches.context.columns if n else jax.tree.map(partial(append_padding, 0), matches.context.columns)
    player = take(matches.player if n else append_padding(0, matches.player))
    player = numpy.where((number < n)[:, None], player, np.stack([past - 1, past]))
    return Matches(player, *jax.tree.map(take, (score, time, context._replace(columns=columns))))


def _gather_ragged(columns: PlacedEvents, number: Array, size: tuple[int, int], counted: bool) -> tuple[Any, Array]:
    flat, _, player_start, pair_start = columns
    num_events = player_start.shape[0] - 1
    real, event = number < num_events, jnp.minimum(number, num_events - 1)

    def positions(start: Array, cap: int) -> tuple[Array, Array]:
        offset = jnp.broadcast_to(jnp.arange(cap, dtype=jnp.int32), (*number.shape, cap))
        count = jnp.where(real, start[event + 1] - start[event], 0)
        return start[event][..., None] + offset, offset < count[..., None]

    def take(x: Array, where: Array, inside: Array, fill: Any) -> Array:
        taken = x.at[where].get(mode="clip")
        mask = inside.reshape(*inside.shape, *(1,) * (taken.ndim - inside.ndim))
        return jnp.where(mask, taken, jnp.broadcast_to(jnp.asarray(fill, x.dtype), taken.shape))

    def drop(at: Array, inside: Array) -> Array:
        return jnp.where(inside, at, LAST_ID - jnp.arange(at.size, dtype=jnp.int32).reshape(at.shape))

    at, inside = positions(player_start, size[0])
    past = LAST_ID - jnp.arange(at[0].size, dtype=jnp.int32).reshape(at[0].shape)
    player, time = take(flat.player, at, inside, past), jnp.where(real, flat.time[event], 0.0)
    if pair_start is not None:
        at, inside = positions(pair_start, size[1])
        context = jax.tree.map(lambda x: take(x, at, inside, 0), flat.context._replace(columns=None))
        further = jax.tree.map(lambda x: x.at[at].get(mode="clip"), flat.context.columns)
        pair, score = take(flat.pair, at, inside, 0), take(flat.score, at, inside, 0.5)
        return Periods(player, pair, score, time, context._replace(columns=further)), drop(at, inside)
    own = jnp.broadcast_to(jnp.arange(size[0], dtype=jnp.int32), at.shape)
    fills = {"rank": LAST_ID, "team": own, "weight": 0.0, "seat": own, "category": 0}
    of_players = {
        name: jax.tree.map(lambda x, fill=fill: take(x, at, inside, fill), getattr(flat, name))
        for name, fill in fills.items()
    }
    of_contests = {name: jax.tree.map(lambda x: x[event], getattr(flat, name)) for name in COLUMNS_BY_EVENT}
    contests = Rounds(
        **of_players | of_contests | {"player": player, "time": time},
        teams=None if size[1] == size[0] else jnp.zeros((*number.shape, size[1]), bool),
        present=jnp.where(real, player_start[event + 1] - player_start[event], 0) if counted else None,
        columns=jax.tree.map(lambda x: x.at[at].get(mode="clip"), flat.columns),
    )
    return contests, drop(at, inside)
