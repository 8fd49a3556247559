"""A live history: its state on the device, its players, and a log of the events since it began.

Every change is one: the events from some number on are replaced by others, which are rated from the last checkpoint
before them. An update is the case in which nothing is replaced, and the state is at hand.

All that changes is in one tuple, `LiveState`, which is replaced by one assignment. An update donates its buffers to a
program, and appends a record and newcomers. If it is interrupted before the assignment, as by Ctrl-C, the old tuple is
left without its buffers. The next call notices this, and replaces nothing by nothing. A signal handler may call in the
middle of another call: that call then finds another tuple in place, and starts again.
"""

import logging
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.rules import Rating, State
from jaxrate.core.system import RatingSystem
from jaxrate.events import Matches, Ragged, Rounds
from jaxrate.events.dataset import Dataset
from jaxrate.history.dataset_rating import build_history
from jaxrate.history.history import History
from jaxrate.history.recorded_runs import (
    RecordedRun,
    do_leads_fade,
    mask_performances_of_contests_without_effect,
    performance_recording_function,
    record_prediction_and_ratings,
)
from jaxrate.live.compiled_event_programs import (
    HEADER,
    EventForm,
    EventInputs,
    PackedEvent,
    next_power_of_two,
    predict_event,
    record_type,
    recorded_shapes,
    split_constants,
    summarise_player_ratings,
    unflatten_columns,
    update_with_event,
)
from jaxrate.live.event_checks import Checkpoint, LiveState, Past, find_or_assign_player_ids
from jaxrate.replay.compiler_options import ProgramTraits
from jaxrate.replay.execution import compile_replay
from jaxrate.replay.padded_states_and_columns import init_or_copy_state
from jaxrate.replay.scan_programs import make_replay_rules

LOG = logging.getLogger(__name__)
MIN_CAPACITY = 64  # rows for players, at least
CHECKPOINT_EVENTS = 1024  # events between checkpoints of updates, at least
MAX_RECENT_CHECKPOINTS = 4
CHECKPOINT_CAPACITY_SHARE = 8  # capacity for players divided by this: at least so many events between checkpoints


class ConcurrentHistoryChangeError(Exception):
    """Another call, such as one of a signal handler, has changed the history meanwhile."""


class LiveHistory:
    """The history behind `Live`: everything is checked before anything changes, and all changes are made at once."""

    def __init__(
        self, system: RatingSystem, state: State, players: list[Any], base: History | None, key: Array | None
    ) -> None:
        self.system, self.key, self.lock = system, key, threading.RLock()
        self.categories = None if base is None else base.categories
        self.uses_float64 = bool(jax.config.read("jax_enable_x64"))
        self.float_type = np.dtype(jnp.result_type(float))
        performances = {Matches: None, Rounds: performance_recording_function(system)}
        records = {
            kind: bind(record_prediction_and_ratings, system.summary, one, do_leads_fade(system))
            for kind, one in performances.items()
        }
        self.rules = {kind: make_replay_rules(system.rules, system.params, record) for kind, record in records.items()}
        self.constants, self.arrays = split_constants(self.rules[Matches], system.params)
        self.programs: dict[EventForm, tuple[int, Any]] = {}  # number of the form, and the program
        self.forms: list[EventForm] = []
        self.record_types: dict[EventForm, Any] = {}
        self.shapes: dict[type, Any] = {}  # of what is recorded, by kind of event
        self.predicts_one_number = False  # of a match
        last, clock, kind = None, None, None
        if base is not None and base.num_rows:
            last, clock, kind = base.last, base.clock, Matches if base.contests is None else Rounds
        self.donated_state: State = None  # the state that was donated to a program
        count = len(players)
        capacity, ids = max(MIN_CAPACITY, next_power_of_two(count)), {name: i for i, name in enumerate(players)}
        past = Past((Checkpoint(0, count, state),), base, 0, 0)
        state = init_or_copy_state(system, system.params, state, capacity, count)
        self.initial = self.current = LiveState(state, capacity, 0, count, [], ids, last, clock, kind, past)

    # --- Calls. ---

    def run_exclusively(self, action: Callable[[LiveState], Any]) -> Any:
        """The result of an action on the current state, under the lock and in the history's own precision."""
        with self.lock:
            if jax.config.read("jax_enable_x64") is not self.uses_float64:
                with jax.enable_x64(self.uses_float64):
                    return self.run_exclusively(action)
            while True:
                current = self.current
                try:
                    if self.donated_state is current.state:
                        current = self.replace_events(current, current.number)
                        LOG.warning("a call was interrupted; the history is that of its %d results", current.number)
                    return action(current)
                except Exception:  # try again if another call changed the history meanwhile
                    if self.current is current:
                        raise

    def _replace_current(self, current: LiveState, new_state: LiveState) -> LiveState:
        """Replace the current state; `ConcurrentHistoryChangeError` if another call has replaced it."""
        if self.current is not current:
            raise ConcurrentHistoryChangeError
        self.current = new_state
        return new_state

    # --- Changes. ---

    def append_event(self, current: LiveState, event: PackedEvent, newcomers: Sequence[Any], clock: str | None) -> Any:
        """Rate an event and add it to the history; returns its prediction."""
        current = self._with_room(current, newcomers)
        self.donated_state = current.state
        timed = current if clock == current.clock else current._replace(clock=clock or current.clock)
        new_state, recorded = self._rate(timed, event, newcomers)
        self._replace_current(current, new_state)
        if not new_state.number % CHECKPOINT_EVENTS:
            self._replace_current(new_state, self._add_checkpoint(new_state))
        return self.prediction_of(event, recorded)

    def replace_events(
        self, current: LiveState, number: int, events: Iterable[PackedEvent] = (), newcomers: Sequence[Any] = ()
    ) -> LiveState:
        """Replace the events from a number on by others; players who are in no other event are removed.

        Args:
          events: with ids as now, or of `newcomers` behind all players.
        """
        names = [*current.names, *newcomers]
        past, capacity = current.past, max(current.capacity, next_power_of_two(len(names)))
        checkpoints = tuple(x for x in past.checkpoints if x.number <= number)
        past = past._replace(checkpoints=checkpoints)
        if past.number > number:
            past = Past(checkpoints, self.initial.past.table, 0, 0)
        begin, players, state = checkpoints[-1]
        state = init_or_copy_state(self.system, self.system.params, state, capacity, players)
        ids, log = {name: i for i, name in enumerate(names[:players])}, current.log[:begin]
        last = self.unpack(log[-1])[0].time if log and current.clock else self.initial.last
        new_state = LiveState(state, capacity, begin, players, log, ids, last, current.clock, current.kind, past)
        earlier = [self.unpack(record)[0] for record in current.log[begin:number]]
        new_state = self._add_checkpoint(self._rate_again(new_state, names, earlier))  # later changes are near, mostly
        new_state = self._rate_again(new_state, names, events)
        if not new_state.number:
            new_state = new_state._replace(clock=self.initial.clock, kind=self.initial.kind)
        if number < current.number:
            LOG.info("results from number %d on are replaced", number)
        return self._replace_current(current, new_state)

    def _rate_again(self, current: LiveState, names: Sequence[Any], events: Iterable[PackedEvent]) -> LiveState:
        """The history with further events, whose ids are of these names."""
        for event in events:
            count = event.num_players
            ids, newcomers = find_or_assign_player_ids(current, [names[i] for i in event.integers[:count]])
            event = event._replace(integers=ids + event.integers[count:])
            current, _ = self._rate(current, event, newcomers)
        return current

    def _rate(self, current: LiveState, event: PackedEvent, newcomers: Sequence[Any]) -> tuple[LiveState, HostArray]:
        """The history with one more event, in the memory of the one before it, and what is recorded of the event."""
        state, capacity, number, players, log, ids, last, clock, _, past = current
        form_number, program = self.programs.get(event.form) or self._compile_program(event)
        arguments = self._arguments(event, form_number, number)
        state, columns = program(*arguments, state, self.key)
        recorded = np.asarray(columns)
        if newcomers:
            ids.update(zip(newcomers, range(players, players + len(newcomers)), strict=True))
        log.append(arguments[2].integers.tobytes() + np.array(event.floats).tobytes() + recorded.tobytes())
        players, last = players + len(newcomers), last if clock is None else event.time
        return LiveState(state, capacity, number + 1, players, log, ids, last, clock, event.kind, past), recorded

    def _compile_program(self, event: PackedEvent) -> tuple[int, Any]:
        """The number of the form of an event, and the program that rates it, compiled at its first call."""
        arguments, form = (*self._arguments(event), self.current.state, self.key), event.form
        try:
            shapes = recorded_shapes(*arguments)
        except (KeyError, TypeError) as error:
            if event.kind is Matches and not (isinstance(error, TypeError) and event.event.context.columns):
                raise ValueError(f"{self.system.name} reads columns that the match lacks ({error})") from error
            raise
        self.shapes[event.kind] = shapes
        if event.kind is Matches:
            self.predicts_one_number = getattr(shapes[0], "shape", None) == (1,)
        traits = ProgramTraits(event.kind, inner_loops=True, stream=event.kind is Matches)
        program = compile_replay(update_with_event, (self.system.params, *arguments[3:]), traits=traits)
        self.record_types[form] = record_type(form, shapes, self.float_type)
        self.forms.append(form)  # which a handler of a signal may have done, too
        return self.programs.setdefault(form, (self.forms.index(form), program))

    def _arguments(self, event: PackedEvent, form_number: int = 0, number: int = 0) -> tuple[Any, ...]:
        """The arguments of a program, up to the state."""
        integers = np.array([form_number, number, *event.integers], np.int32)
        inputs = EventInputs(self.arrays, integers, np.array(event.floats, self.float_type))
        return self.rules[event.kind], (self.constants, event.form), inputs

    def _with_room(self, current: LiveState, newcomers: Sequence[Any]) -> LiveState:
        """The history with rows for newcomers."""
        if current.players + len(newcomers) <= current.capacity:
            return current
        capacity = next_power_of_two(current.players + len(newcomers))
        state = init_or_copy_state(self.system, self.system.params, current.state, capacity, current.capacity)
        return self._replace_current(current, current._replace(state=state, capacity=capacity))

    def _add_checkpoint(self, current: LiveState) -> LiveState:
        """The history with a checkpoint of its state, unless the last checkpoint is near."""
        checkpoints = current.past.checkpoints
        if current.number - checkpoints[-1].number < max(1, current.capacity // CHECKPOINT_CAPACITY_SHARE):
            return current
        new_checkpoint = Checkpoint(current.number, current.players, _state_on_host(current))
        kept = checkpoints[0], *checkpoints[1:][1 - MAX_RECENT_CHECKPOINTS :], new_checkpoint
        return current._replace(past=current.past._replace(checkpoints=kept))

    # --- The log. ---

    def _read_records(self, records: Sequence[bytes]) -> tuple[EventForm, Any]:
        """The form of records, which is one, and these as an array with names."""
        form = self.forms[int.from_bytes(records[0][:4], "little")]
        return form, np.frombuffer(b"".join(records), self.record_types[form])

    def unpack(self, record: bytes) -> tuple[PackedEvent, HostArray]:
        """An event, and what is recorded of it."""
        form, (row,) = self._read_records([record])
        return PackedEvent(form, row["integers"][HEADER:].tolist(), row["floats"].tolist()), row["recorded"]

    def prediction_of(self, event: PackedEvent, recorded: HostArray) -> Any:
        """The prediction of an event in what is recorded of it."""
        if self.predicts_one_number and event.form.size is None:
            return recorded.item(0)
        prediction = unflatten_columns(recorded[: event.num_players], self.shapes[event.kind])[0]
        return jax.tree.map(lambda x: x[0], prediction) if event.form.size is None else prediction

    def position_at_time(self, current: LiveState, time: float) -> int:
        """The number of events that are not later than a time."""
        return bisect_right(range(current.number), time, key=lambda i: self.unpack(current.log[i])[0].time)

    # --- Results. ---

    def predict_event(self, current: LiveState, event: PackedEvent, newcomers: Sequence[Any]) -> Any:
        """The prediction of an event; a single number as a float."""
        current = self._with_room(current, newcomers)
        prediction = predict_event(*self._arguments(event), current.state)
        if getattr(prediction, "shape", None) == ():
            return float(prediction)
        return jax.tree.map(lambda x: np.asarray(x)[: event.num_players] if np.ndim(x) else np.asarray(x), prediction)

    def to_rated(self, current: LiveState) -> History:
        """The history as `rate` would have returned it; ValueError if nothing has been rated."""
        past, kind = current.past, current.kind
        base = past.table
        if current.number == past.number:
            if base is None:
                raise ValueError("nothing has been rated yet")
            return base
        assert kind is not None
        events, columns = self._events_and_columns(current.log[past.number : current.number])
        *history, inferred = unflatten_columns(columns, self.shapes[kind])
        performances = (
            None if inferred is None else mask_performances_of_contests_without_effect(self.system, inferred, events)
        )
        players = np.array(current.names, object if isinstance((*current.names, "")[0], str) else None)
        rows = past.rows + len(columns)
        data = Dataset(events, players, np.arange(past.rows, rows), self.categories, current.clock)
        # An empty table fits any events.
        earlier = base if base is not None and base.num_rows else None
        result = RecordedRun(_state_on_host(current), *history)
        rated = build_history(self.system, data, None, earlier, result, performances)
        rated = rated if base is None else rated._replace(options=base.options, seasons=base.seasons)
        self._replace_current(current, current._replace(past=Past(past.checkpoints, rated, current.number, rows)))
        return rated

    def _events_and_columns(self, records: Sequence[bytes]) -> tuple[Any, HostArray]:
        """The events of records, and what is recorded of matches or participants [n, k]; in the order of the log."""
        form_numbers = np.array([int.from_bytes(record[:4], "little") for record in records])
        parts = []
        for number in np.unique(form_numbers).tolist():
            positions = np.flatnonzero(form_numbers == number)
            sizes, rows = _rows_of_events(*self._read_records([records[i] for i in positions.tolist()]))
            parts.append((np.repeat(positions, sizes), *rows))
        position, columns, time, player, *others = map(np.concatenate, zip(*parts, strict=True))
        order = np.argsort(position, kind="stable")
        columns, time, player, *others = (x[order] for x in (columns, time, player, *others))
        if self.forms[form_numbers[0]].size is None:
            return Matches(player, others[0], time), columns
        start = np.searchsorted(position[order], np.arange(len(records) + 1))
        rank, team, seat = others
        is_own = seat == np.arange(len(seat)) - np.repeat(start[:-1], np.diff(start))
        rounds = Rounds(player, rank, team, np.ones(len(seat)), time[start[:-1]], seat=None if is_own.all() else seat)
        return Ragged(rounds, start, None), columns

    def player_ratings(self, current: LiveState, ids: Any, time: float | None) -> Rating:
        """Ratings of some ids, on the host: as their last events left them, or at a time."""
        ids_and_time = np.array(ids, np.int32), None if time is None else np.array(time, self.float_type)
        summary = summarise_player_ratings(
            self.rules[Matches],
            (self.constants, self.system.summary),
            self.system.params,
            self.arrays,
            current.state,
            ids_and_time,
        )
        return Rating(*(None if x is None else np.asarray(x) for x in summary))


def _state_on_host(current: LiveState) -> State:
    """A copy of the state of the players."""
    return jax.tree.map(lambda x: np.array(np.asarray(x)[: current.players]), current.state)


def _rows_of_events(form: EventForm, records: Any) -> tuple[Any, tuple[HostArray, ...]]:
    """How many rows each of some events has; and of all rows what is recorded, time, player, and columns by kind."""
    events, recorded = form.unpack(records["integers"][:, HEADER:], records["floats"]), records["recorded"]
    if form.size is None:
        return 1, (recorded[:, 0], events.time, events.player, events.score)
    flat, starts = events
    own = np.broadcast_to(np.arange(form.size[0], dtype=np.int32), flat.player.shape)
    seat, time = own if flat.seat is None else flat.seat, np.broadcast_to(flat.time, own.shape)
    columns = recorded, time, flat.player, flat.rank, flat.team, seat
    return starts[:, 1], tuple(x[own < starts[:, 1:]] for x in columns)
