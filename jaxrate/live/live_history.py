"""A live history: its state on the device, its players, its last time, and a log of the events since it began.

All that changes is in one tuple, `LiveState`, which is replaced by one assignment. An update donates its buffers to a
program, and appends a record and newcomers to lists. If it is interrupted before the assignment, as by Ctrl-C, the old
tuple no longer fits its buffers and lists. The next call notices this, truncates the lists and rates the events since
the last checkpoint again. A signal handler may call in the middle of another call: that call then finds another tuple
in place, and starts again.
"""

import logging
import threading
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.hashable_functions_and_arrays import bind
from jaxrate.core.rules import Rating, State
from jaxrate.core.system import RatingSystem
from jaxrate.events import Matches, Rounds, is_date
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
from jaxrate.live import compiled_event_programs
from jaxrate.live.event_packing import (
    Checkpoint,
    CheckpointsAndTabulatedEvents,
    ConcurrentHistoryChangeError,
    LiveState,
    PackedEvent,
    RecordLayout,
    num_players_after_record,
    record_layout_number,
    to_host_prediction,
    unpack_contests,
    unpack_matches,
)
from jaxrate.replay.compiler_options import ProgramTraits
from jaxrate.replay.execution import compile_replay
from jaxrate.replay.padded_states_and_columns import init_or_copy_state
from jaxrate.replay.scan_programs import make_replay_rules

LOG = logging.getLogger(__name__)
MIN_CAPACITY = 64  # rows for players, at least
CHECKPOINT_EVENTS = 1024  # events between checkpoints of updates, at least
MAX_RECENT_CHECKPOINTS = 4
CHECKPOINT_CAPACITY_SHARE = 8  # capacity for players divided by this: at least so many events between checkpoints


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
        self.constants, self.arrays = compiled_event_programs.split_constants(self.rules[Matches], system.params)
        self.programs: dict[compiled_event_programs.EventStructure, tuple[RecordLayout, Any]] = {}
        self.layouts: list[RecordLayout] = []
        self.shapes: dict[type, Any] = {}
        self.predicts_one_number = False  # whether predictions of matches are single numbers
        capacity, count = max(MIN_CAPACITY, 1 << max(len(players) - 1, 1).bit_length()), len(players)
        last, clock, kind = None, None, None
        if base is not None and base.num_rows:
            last, clock, kind = base.last, base.clock, Matches if base.contests is None else Rounds
        ids, past = (
            {name: i for i, name in enumerate(players)},
            CheckpointsAndTabulatedEvents((Checkpoint(0, count, state),), base, 0, 0),
        )
        first_state = init_or_copy_state(system, system.params, state, capacity, count)
        self.donated_state: State = None  # the state that was donated to a program
        self.initial = self.current = LiveState(
            first_state, capacity, 0, count, [], players, ids, last, clock, kind, past
        )

    # --- Calls, and repairs after calls that were interrupted. ---

    def run_exclusively(self, action: Callable[[LiveState], Any]) -> Any:
        """The result of an action on the current state, under the lock and in the history's own precision."""
        with self.lock:
            if jax.config.read("jax_enable_x64") is not self.uses_float64:
                with jax.enable_x64(self.uses_float64):
                    return self.run_exclusively(action)
            while True:
                current = self._repair_interrupted()
                try:
                    return action(current)
                except Exception:  # try again if another call changed the history meanwhile
                    if self.current is current:
                        raise

    def _repair_interrupted(self) -> LiveState:
        """The current state, repaired if a call was interrupted."""
        while True:
            current = self.current
            is_donated = self.donated_state is current.state
            if (
                len(current.log) == current.number
                and len(current.names) == len(current.ids) == current.players
                and not is_donated
            ):
                return current
            new_state = self._rerate(current, current.number) if is_donated else self.truncate(current, current.number)
            if self.current is current:
                self.current = new_state
                LOG.warning("a call was interrupted; the history is that of its %d results", current.number)

    def _replace_current(self, current: LiveState, new_state: LiveState) -> LiveState:
        """Replace the current state; `ConcurrentHistoryChangeError` if another call has replaced it."""
        if self.current is not current:
            raise ConcurrentHistoryChangeError
        self.current = new_state
        return new_state

    def truncate(self, current: LiveState, number: int) -> LiveState:
        """The history after `number` events, except for the state of the players."""
        log, past, first = current.log[:number], current.past, self.initial
        players = num_players_after_record(log[-1]) if log else first.players
        names = current.names[:players]
        if past.number > number:
            past = past._replace(table=first.past.table, number=0, rows=0)
        past = past._replace(checkpoints=tuple(x for x in past.checkpoints if x.number <= number))
        last, clock, kind = (
            (current.last, current.clock, current.kind) if log else (first.last, first.clock, first.kind)
        )
        if log and clock is not None:
            last = self._unpack_event(log[-1]).time
        ids = {name: i for i, name in enumerate(names)}
        return LiveState(current.state, current.capacity, number, players, log, names, ids, last, clock, kind, past)

    def _rerate(
        self, current: LiveState, number: int, later_events: Sequence[tuple[PackedEvent, int]] = ()
    ) -> LiveState:
        """The history after `number` events, rated again from the last checkpoint, and then after later events.

        Args:
          later_events: events, and the number of players after each; the players are those of `current`.
        """
        new_state = self.truncate(current, number)
        checkpoint = new_state.past.checkpoints[-1]
        state = init_or_copy_state(
            self.system, self.system.params, checkpoint.state, current.capacity, checkpoint.players
        )
        for index in range(checkpoint.number, number):
            _, state, _ = self._run_rating_program(state, self._unpack_event(new_state.log[index]), index)
        new_state = self._add_checkpoint(new_state._replace(state=state))  # later changes are near, mostly
        for index, (event, count) in enumerate(later_events, number):
            layout, state, outputs = self._run_rating_program(state, event, index)
            new_state.log.append(layout.pack(event, count, outputs))
        if later_events:
            new_state = new_state._replace(
                names=current.names[: current.players],
                ids=dict(current.ids),
                players=current.players,
                last=current.last,
            )
            new_state = new_state._replace(number=len(new_state.log), clock=current.clock, kind=current.kind)
        return new_state._replace(state=state)

    def event_at(self, current: LiveState, index: int) -> PackedEvent:
        """The event at an index of the log."""
        return self._unpack_event(current.log[index])

    def _unpack_event(self, record: bytes) -> PackedEvent:
        return self.layouts[record_layout_number(record)].unpack(record)

    # --- Rating. ---

    def _compile_program(self, event: PackedEvent) -> tuple[RecordLayout, Any]:
        """The layout of records of such events, and the program that rates them, compiled at its first call."""
        while event.structure not in self.programs:
            layout = RecordLayout.from_event(len(layouts := self.layouts), event)
            donated_inputs = self.system.params, self.current.state, self.key
            program, all_layouts = (
                compile_replay(
                    compiled_event_programs.update_with_event,
                    donated_inputs,
                    traits=ProgramTraits(event.kind, inner_loops=True, stream=event.kind is Matches),
                ),
                [*layouts, layout],
            )
            if self.layouts is layouts:
                self.layouts = all_layouts
                self.programs[event.structure] = layout, program
        return self.programs[event.structure]

    def _program_arguments(self, state: State, event: PackedEvent, number: int) -> tuple[Any, ...]:
        numbers = np.array([*event.integers, number], np.int32), np.array(event.floats, self.float_type)
        return (
            self.rules[event.kind],
            compiled_event_programs.LiveProgramSpec(self.constants, event.structure),
            self.arrays,
            state,
            *numbers,
        )

    def _run_rating_program(self, state: State, event: PackedEvent, number: int) -> tuple[RecordLayout, State, Any]:
        """The layout of the event's record, the state after it in the same buffers, and the event's outputs.

        Outputs are [1, k] of a match, and [P, k] of a contest with its padding.
        """
        layout, program = self.programs.get(event.structure) or self._compile_program(event)
        arguments = (*self._program_arguments(state, event, number), self.key)
        try:
            if event.kind not in self.shapes:
                shapes = jax.eval_shape(
                    partial(compiled_event_programs.event_output_tree, *arguments[:2]), *arguments[2:]
                )
                if event.kind is Matches:
                    self.predicts_one_number = getattr(shapes[0], "shape", None) == ()
                self.shapes[event.kind] = shapes
            state, outputs = program(*arguments)
        except (KeyError, TypeError) as error:
            if event.kind is Matches and not (isinstance(error, TypeError) and event.event.context.columns):
                raise ValueError(f"{self.system.name} reads columns that the match lacks ({error})") from error
            raise
        return layout, state, np.asarray(outputs)

    def _grow_capacity(self, current: LiveState, newcomers: list[Any]) -> LiveState:
        """The history with rows for newcomers."""
        if current.players + len(newcomers) <= current.capacity:
            return current
        capacity = 1 << (current.players + len(newcomers) - 1).bit_length()
        state = init_or_copy_state(self.system, self.system.params, current.state, capacity, current.capacity)
        return self._replace_current(current, current._replace(state=state, capacity=capacity))

    def rate_event(
        self, current: LiveState, event: PackedEvent, newcomers: list[Any], time: Any, size: int | None = None
    ) -> Any:
        """Rate an event and add it to the history; returns its prediction.

        Args:
          newcomers: names of newcomers.
          time: the caller's time, a number, a date or None.
          size: number of participants of a contest.
        """
        current = self._grow_capacity(current, newcomers) if newcomers else current
        self.donated_state = current.state
        layout, state, outputs = self._run_rating_program(current.state, event, current.number)
        players, log, names = current.players + len(newcomers), current.log, current.names
        for name in newcomers:
            current.ids[name] = len(names)
            names.append(name)
        log.append(layout.pack(event, players, outputs))
        last, clock, number = current.last, current.clock, current.number + 1
        if time is not None:
            last, clock = event.time, clock or ("dates" if is_date(time) else "numbers")
        fields = (
            state,
            current.capacity,
            number,
            players,
            log,
            names,
            current.ids,
            last,
            clock,
            event.kind,
            current.past,
        )
        self._replace_current(current, new_state := LiveState._make(fields))  # half the time of LiveState(...)
        if not number % CHECKPOINT_EVENTS:
            checked = self._add_checkpoint(new_state)
            if self.current is new_state:
                self.current = checked
        return self._read_prediction(event.kind, outputs[:size])

    def _add_checkpoint(self, current: LiveState) -> LiveState:
        """The history with a checkpoint of its state, unless the last checkpoint is near."""
        checkpoints = current.past.checkpoints
        if current.number - checkpoints[-1].number < max(1, current.capacity // CHECKPOINT_CAPACITY_SHARE):
            return current
        state = jax.tree.map(lambda x: np.array(x[: current.players]), jax.tree.map(np.asarray, current.state))
        new_checkpoint = Checkpoint(current.number, current.players, state)
        kept = checkpoints[0], *checkpoints[1:][1 - MAX_RECENT_CHECKPOINTS :], new_checkpoint
        return current._replace(past=current.past._replace(checkpoints=kept))

    def undo(self, current: LiveState, n: int) -> None:
        """Remove the last n events."""
        self._replace_current(current, self._rerate(current, current.number - n))
        LOG.info("%d results are undone", n)

    def correct(self, current: LiveState, index: int, event: PackedEvent) -> None:
        """Replace an event by another with the same players and time."""
        records = current.log[index : current.number]
        events = [event, *map(self._unpack_event, records[1:])]
        later_events = [*zip(events, map(num_players_after_record, records), strict=True)]
        self._replace_current(current, self._rerate(current, index, later_events))
        LOG.info("result %d is corrected, and %d are rated again", index, len(later_events) - 1)

    def position_at_time(self, current: LiveState, time: float) -> int:
        """The number of events that are not later than a time."""
        return bisect_right(range(current.number), time, key=lambda i: self.event_at(current, i).time)

    def insert_match(self, current: LiveState, index: int, match: PackedEvent, newcomers: list[Any]) -> Any:
        """Rate a match before the matches from an index on, and these again; returns its prediction.

        Args:
          newcomers: names of players who have not played before; ids are in the order of first matches.
        """
        earlier = self.truncate(current, index)
        ids = {name: i for i, name in enumerate([*earlier.names, *newcomers])}
        later_events = [(match, len(ids))]
        for record in current.log[index : current.number]:
            later = self._unpack_event(record)
            pair = [ids.setdefault(current.names[i], len(ids)) for i in later.integers[:2]]
            later_events.append((later._replace(integers=pair + later.integers[2:]), len(ids)))
        current = self._grow_capacity(current, [*ids][current.players :])
        new_state = self._rerate(current._replace(names=[*ids], ids=ids, players=len(ids)), index, later_events)
        self._replace_current(current, new_state)
        LOG.info("a match is inserted, and %d are rated again", len(later_events) - 1)
        layout = self.layouts[record_layout_number(record := new_state.log[index])]
        return self._read_prediction(Matches, np.frombuffer(record, self.float_type, offset=layout.packer.size)[None])

    def _read_prediction(self, kind: type, outputs: HostArray) -> Any:
        """The prediction in the outputs [participants, k] of an event."""
        if self.predicts_one_number and kind is Matches:
            return outputs.item(0)
        return compiled_event_programs.unflatten_prediction(self.shapes, kind, outputs)

    def predict_event(
        self, current: LiveState, event: PackedEvent, newcomers: list[Any], size: int | None = None
    ) -> Any:
        """The prediction of an event; arguments as for `rate_event`."""
        current = self._grow_capacity(current, newcomers)
        prediction = compiled_event_programs.predict_live_event(
            *self._program_arguments(current.state, event, current.number)
        )
        return to_host_prediction(
            jax.tree.map(lambda x: np.asarray(x)[:size] if np.ndim(x) else np.asarray(x), prediction)
        )

    # --- Results. ---

    def to_rated(self, current: LiveState) -> History:
        """The history as `rate` would have returned it; ValueError if nothing has been rated."""
        past, kind = current.past, current.kind
        base = past.table
        if current.number == past.number:
            if base is None:
                raise ValueError("nothing has been rated yet")
            return base
        assert kind is not None
        state = jax.tree.map(lambda x: np.array(x[: current.players]), jax.tree.map(np.asarray, current.state))
        players = np.array(current.names, object if isinstance((*current.names, "")[0], str) else None)
        unpack_records: Any = unpack_matches if kind is Matches else unpack_contests
        events, rows = unpack_records(current.log[past.number :], self.layouts, self.float_type)
        *history, inferred = compiled_event_programs.unflatten_output_rows(rows, self.shapes[kind], kind)
        performances = (
            None if inferred is None else mask_performances_of_contests_without_effect(self.system, inferred, events)
        )
        row_numbers = np.arange(len(rows)) + past.rows
        data = Dataset(events, players, row_numbers, self.categories, current.clock)
        # An empty table fits any events.
        earlier = base if base is not None and base.num_rows else None
        rated = build_history(self.system, data, None, earlier, RecordedRun(state, *history), performances)
        rated = rated if base is None else rated._replace(options=base.options, seasons=base.seasons)
        self._replace_current(
            current,
            current._replace(past=past._replace(table=rated, number=current.number, rows=past.rows + len(row_numbers))),
        )
        return rated

    def player_ratings(self, current: LiveState, ids: Any, time: float | None) -> Rating:
        """Ratings of some ids, on the host: as their last events left them, or at a time."""
        ids_and_time = np.array(ids, np.int32), None if time is None else np.array(time, self.float_type)
        spec = self.constants, self.system.summary
        summary = compiled_event_programs.summarise_player_ratings(
            self.rules[Matches], spec, self.system.params, self.arrays, current.state, ids_and_time
        )
        return Rating(*(None if x is None else np.asarray(x) for x in summary))
