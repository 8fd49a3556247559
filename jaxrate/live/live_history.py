"""A history that goes on: its state in place, who and when, and what was rated since it began.

What changes stands in one tuple, `Now`, and takes its place by one assignment. An update gives its buffers to a
program, and writes its record and newcomers behind those that count. Whatever stops it before the assignment, as
Ctrl-C, leaves a tuple that no longer fits what it points to. The next call sees that, cuts what is too long and rates
the events since the last checkpoint again. A signal handler may call in the middle of another call: that one then finds
another tuple in place, and begins anew.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.events import MAX_ABS_TIME, Matches, Rounds, as_event_time, check_clock, is_date
from jaxrate.events.dataset import Dataset
from jaxrate.hashable import bind
from jaxrate.league.contest_performances import mask_uncontested
from jaxrate.league.dataset_rating import build_rated
from jaxrate.league.event_ratings import History, record_ratings
from jaxrate.league.rated_history import Rated, count_rows, format_time
from jaxrate.live import event_programs
from jaxrate.live.event_log import (
    PackedEvent,
    RecordLayout,
    record_layout_number,
    record_player_count,
    unpack_contests,
    unpack_matches,
)
from jaxrate.live.live_state import Checkpoint, LiveState, RatedPast, StaleHistoryError
from jaxrate.live.single_events import EVENT_NAMES, check_name, to_host_prediction
from jaxrate.replay.execution import ProgramTraits, compile_replay
from jaxrate.replay.padded_arrays import make_state
from jaxrate.system import Rating, RatingSystem, State, resolve_sizes
from jaxrate.types import Array

LOG = logging.getLogger(__name__)
MIN_CAPACITY = 64  # players at the least for whom there is room
CHECKPOINT_EVENTS, CHECKPOINT_CAPACITY_SHARE = (
    1024,
    8,
)  # events between checkpoints, at the least so many, and as many as players in this share of the room


class LiveHistory:
    """What `Live` works on: everything is checked before anything changes, and changes at once."""

    def __init__(
        self, system: RatingSystem, state: State, players: list[Any], base: Rated | None, key: Array | None
    ) -> None:
        self.system, self.key, self.lock = system, key, threading.RLock()
        self.categories = None if base is None else base.categories
        self.double = bool(jax.config.read("jax_enable_x64"))
        self.float = np.dtype(jnp.result_type(float))
        rules = resolve_sizes(system.rules, system.params)
        performances = {Matches: None, Rounds: system.traits.performances}
        records = {kind: bind(record_ratings, system.summary, one, False) for kind, one in performances.items()}
        self.rules = {kind: rules._replace(record=record) for kind, record in records.items()}
        self.known, self.arrays = event_programs.prepare_constants(self.rules[Matches], system.params)
        self.programs: dict[event_programs.EventStructure, tuple[RecordLayout, Any]] = {}
        self.layouts: list[RecordLayout] = []
        self.shapes: dict[type, Any] = {}
        self.single = False  # whether the prediction of a match is one number
        room, count = max(MIN_CAPACITY, 1 << max(len(players) - 1, 1).bit_length()), len(players)
        last, clock, kind = None, None, None
        if base is not None and count_rows(base):
            last, clock, kind = base.last, base.clock, Matches if base.contests is None else Rounds
        ids, past = {name: i for i, name in enumerate(players)}, RatedPast((Checkpoint(0, count, state),), base, 0, 0)
        begun = make_state(system, system.params, state, room, count)
        self.spent: State = None  # of the history, given to a program that makes the next of it
        self.first = self.now = LiveState(begun, room, 0, count, [], players, ids, last, clock, kind, past)

    # --- Calls, and what is left of those that did not end. ---

    def run_exclusively(self, action: Callable[[LiveState], Any]) -> Any:
        """What `act` returns of the history as it is, alone and in the history's own precision."""
        with self.lock:
            if jax.config.read("jax_enable_x64") is not self.double:
                with jax.enable_x64(self.double):
                    return self.run_exclusively(action)
            while True:
                now = self._repair_interrupted()
                try:
                    return action(now)
                except Exception:  # which counts for nothing if it came of a change in the middle
                    if self.now is now:
                        raise

    def _repair_interrupted(self) -> LiveState:
        """The history, put in order if a call was stopped in the middle."""
        while True:
            now = self.now
            gone = self.spent is now.state
            if len(now.log) == now.number and len(now.names) == len(now.ids) == now.players and not gone:
                return now
            after = self._rerate(now, now.number) if gone else self._truncate(now, now.number)
            if self.now is now:
                self.now = after
                LOG.warning("a call was stopped in the middle; the history is that of its %d results", now.number)

    def _replace_current(self, now: LiveState, after: LiveState) -> LiveState:
        """Put a tuple in place of another; `Stale` if that one is no longer there."""
        if self.now is not now:
            raise StaleHistoryError
        self.now = after
        return after

    def _truncate(self, now: LiveState, number: int) -> LiveState:
        """The history after so many events, but for its state."""
        log, past, first = now.log[:number], now.past, self.first
        players = record_player_count(log[-1]) if log else first.players
        names = now.names[:players]
        if past.number > number:
            past = past._replace(table=first.past.table, number=0, rows=0)
        past = past._replace(checkpoints=tuple(x for x in past.checkpoints if x.number <= number))
        last, clock, kind = (now.last, now.clock, now.kind) if log else (first.last, first.clock, first.kind)
        if log and clock is not None:
            last = self._unpack_event(log[-1]).time
        ids = {name: i for i, name in enumerate(names)}
        return LiveState(now.state, now.room, number, players, log, names, ids, last, clock, kind, past)

    def _rerate(self, now: LiveState, number: int, later_events: Sequence[PackedEvent] = ()) -> LiveState:
        """The history after so many events, rated again from the last checkpoint, and then after more of its own."""
        after, whole = self._truncate(now, number), now.number
        begin = after.past.checkpoints[-1]
        state = make_state(self.system, self.system.params, begin.state, now.room, begin.players)
        for place in range(begin.number, number):
            _, state, _ = self._rate_event(state, self._unpack_event(after.log[place]), place)
        players = [record_player_count(record) for record in now.log[number:whole]]
        for place, (event, count) in enumerate(zip(later_events, players, strict=False), number):
            layout, state, shown = self._rate_event(state, event, place)
            after.log.append(layout.pack(event, count, shown))
        if later_events:
            after = after._replace(
                names=now.names[: now.players], ids=dict(now.ids), players=now.players, last=now.last
            )
            after = after._replace(number=len(after.log), clock=now.clock, kind=now.kind)
        return after._replace(state=state)

    def event(self, now: LiveState, index: int) -> PackedEvent:
        """An event of the history."""
        return self._unpack_event(now.log[index])

    def _unpack_event(self, record: bytes) -> PackedEvent:
        return self.layouts[record_layout_number(record)].unpack(record)

    # --- What an event needs. ---

    def check_kind(self, now: LiveState, kind: type) -> None:
        """ValueError unless the system, and the history, are of such events."""
        if kind not in self.system.events:
            hint = "give a match as a contest of two, by update_round" if kind is Matches else "take update"
            raise ValueError(f"{self.system.name} rates no {EVENT_NAMES[kind]}; {hint}")
        if now.kind not in (None, kind):
            raise ValueError(f"the history is of {EVENT_NAMES[now.kind]}, this is one of {EVENT_NAMES[kind]}")

    def find(self, now: LiveState, players: Sequence[Any]) -> tuple[list[int], list[Any]]:
        """The ids of players, those of newcomers behind all others, and the newcomers."""
        known, ids = now.ids, []
        new: list[Any] = []
        for name in players:
            try:
                found = known.get(name)
            except TypeError:
                found = None
            if found is None:
                check_name(name, (*now.names[:1], *new))
                name = name.item() if isinstance(name, np.generic) else name
                if name not in new:
                    new.append(name)
                found = now.players + new.index(name)
            ids.append(found)
        return ids, new

    def check_event_time(self, now: LiveState, time: Any) -> float:
        """The time of the next event."""
        if time is None:
            if now.clock is not None:
                raise ValueError("the events so far have times; give time=")
            return 0.0
        if now.kind is not None and now.clock is None:
            raise ValueError("the events so far have no times; leave out time")
        clock, last, quick = now.clock, now.last, type(time) is float and -MAX_ABS_TIME <= time <= MAX_ABS_TIME
        if clock is not None and not (quick and clock == "numbers"):
            check_clock(clock, time)
        when: float = time if quick else as_event_time("time", time)
        if (
            last is not None
            and when < last
            and (now.kind is Matches or self.system.depends_on_time(self.system.params))
        ):
            early, late = (format_time(x, now.clock) for x in (when, last))
            raise ValueError(f"time {early} is earlier than {late}, that of the last event")
        return when

    def check_prediction_time(self, now: LiveState, time: Any) -> float:
        """The time of a prediction."""
        return (now.last or 0.0) if time is None else self.check_event_time(now, time)

    # --- Rating. ---

    def _get_program(self, event: PackedEvent) -> tuple[RecordLayout, Any]:
        """How events of a form are kept, and what rates them, compiled when it is first called."""
        while event.form not in self.programs:
            layout = RecordLayout.of(len(layouts := self.layouts), event)
            given = self.system.params, self.now.state, self.key
            program, more = (
                compile_replay(
                    event_programs.update_with_event,
                    given,
                    traits=ProgramTraits(event.kind, stream=event.kind is Matches),
                ),
                [*layouts, layout],
            )
            if self.layouts is layouts:
                self.layouts = more
                self.programs[event.form] = layout, program
        return self.programs[event.form]

    def _program_arguments(self, state: State, event: PackedEvent, number: int) -> tuple[Any, ...]:
        numbers = np.array([*event.whole, number], np.int32), np.array(event.real, self.float)
        return self.rules[event.kind], event_programs.OnlineSpec(self.known, event.form), self.arrays, state, *numbers

    def _rate_event(self, state: State, event: PackedEvent, number: int) -> tuple[RecordLayout, State, Any]:
        """How an event is kept, the state after it, in place of the one before, and what it showed.

        That is [1, k] of a match, and [P, k] of a contest with its padding.
        """
        layout, program = self.programs.get(event.form) or self._get_program(event)
        given = (*self._program_arguments(state, event, number), self.key)
        try:
            if event.kind not in self.shapes:
                shapes = jax.eval_shape(partial(event_programs.predicted_shapes, *given[:2]), *given[2:])
                if event.kind is Matches:
                    self.single = getattr(shapes[0], "shape", None) == ()
                self.shapes[event.kind] = shapes
            state, shown = program(*given)
        except (KeyError, TypeError) as error:
            if event.kind is Matches and not (isinstance(error, TypeError) and event.tree.context.columns):
                raise ValueError(f"{self.system.name} reads columns that the match lacks ({error})") from error
            raise
        return layout, state, np.asarray(shown)

    def _grow_capacity(self, now: LiveState, new: list[Any]) -> LiveState:
        """The history with room for newcomers."""
        if now.players + len(new) <= now.room:
            return now
        room = 1 << (now.players + len(new) - 1).bit_length()
        state = make_state(self.system, self.system.params, now.state, room, now.room)
        return self._replace_current(now, now._replace(state=state, room=room))

    def learn(self, now: LiveState, event: PackedEvent, new: list[Any], time: Any, size: int | None = None) -> Any:
        """The prediction of an event, once it is in the history.

        Args:
          new: names of newcomers.
          time: as the caller has it.
          size: participants of a contest.
        """
        now = self._grow_capacity(now, new) if new else now
        self.spent = now.state
        layout, state, shown = self._rate_event(now.state, event, now.number)
        players, log, names = now.players + len(new), now.log, now.names
        for name in new:
            now.ids[name] = len(names)
            names.append(name)
        log.append(layout.pack(event, players, shown))
        last, clock, number = now.last, now.clock, now.number + 1
        if time is not None:
            last, clock = event.time, clock or ("dates" if is_date(time) else "numbers")
        fields = state, now.room, number, players, log, names, now.ids, last, clock, event.kind, now.past
        self._replace_current(now, after := LiveState._make(fields))  # which takes half the time of Now(...)
        if (
            not number % CHECKPOINT_EVENTS
            and number - now.past.checkpoints[-1].number >= now.room // CHECKPOINT_CAPACITY_SHARE
        ):
            self._keep_checkpoint(after)
        return (
            shown.item(0)
            if self.single and event.kind is Matches
            else self._unpack_prediction(event.kind, shown[:size])
        )

    def _keep_checkpoint(self, now: LiveState) -> None:
        state = jax.tree.map(lambda x: np.array(x[: now.players]), jax.tree.map(np.asarray, now.state))
        kept = now.past.checkpoints
        kept = (kept[0], *kept[1:][-1:], Checkpoint(now.number, now.players, state))
        after = now._replace(past=now.past._replace(checkpoints=kept))
        if self.now is now:
            self.now = after

    def undo(self, now: LiveState, n: int) -> None:
        """Forget the last n events."""
        self._replace_current(now, self._rerate(now, now.number - n))
        LOG.info("%d results are undone", n)

    def correct(self, now: LiveState, index: int, event: PackedEvent) -> None:
        """Put an event in place of another, of the same players and time."""
        later = [event, *map(self._unpack_event, now.log[index + 1 : now.number])]
        self._replace_current(now, self._rerate(now, index, later))
        LOG.info("result %d is corrected, and %d are rated again", index, len(later) - 1)

    def predict_event(self, now: LiveState, event: PackedEvent, new: list[Any], size: int | None = None) -> Any:
        """The prediction of an event; arguments as of `learn`."""
        now = self._grow_capacity(now, new)
        prediction = event_programs.predict_event_online(*self._program_arguments(now.state, event, now.number))
        return to_host_prediction(
            jax.tree.map(lambda x: np.asarray(x)[:size] if np.ndim(x) else np.asarray(x), prediction)
        )

    def _unpack_prediction(self, kind: type, shown: Any) -> Any:
        """The prediction among what was shown."""
        guess = event_programs.unflatten_leaves(shown, self.shapes[kind][0], kind)
        return jax.tree.map(lambda x: x[0], guess) if kind is Matches else guess

    # --- What is known. ---

    def rated(self, now: LiveState) -> Rated:
        """The history as `rate` would have returned it; ValueError if there is none."""
        past, kind = now.past, now.kind
        base = past.table
        if now.number == past.number:
            if base is None:
                raise ValueError("nothing has been rated yet")
            return base
        assert kind is not None
        state = jax.tree.map(lambda x: np.array(x[: now.players]), jax.tree.map(np.asarray, now.state))
        players = np.array(now.names, object if isinstance((*now.names, "")[0], str) else None)
        read: Any = unpack_matches if kind is Matches else unpack_contests
        events, rows = read(now.log[past.number :], self.layouts, self.float)
        guess, before, _, inferred = event_programs.unflatten_leaves(rows, self.shapes[kind], kind)
        performed = None if inferred is None else mask_uncontested(self.system, inferred, events)
        own = np.arange(len(rows)) + past.rows
        data = Dataset(events, players, own, self.categories, now.clock)
        onto = base if base is not None and count_rows(base) else None  # a table of nothing may be of any events
        rated = build_rated(self.system, data, None, onto, History(state, guess, before), performed)
        rated = rated if base is None else rated._replace(options=base.options, seasons=base.seasons)
        self._replace_current(
            now, now._replace(past=past._replace(table=rated, number=now.number, rows=past.rows + len(own)))
        )
        return rated

    def ratings(self, now: LiveState, ids: Any, time: float | None) -> Rating:
        """Of some ids, on the host: as their last events left them, or as of a time."""
        which = np.array(ids, np.int32), None if time is None else np.array(time, self.float)
        spec = self.known, self.system.summary
        found = event_programs.rate_rows(self.rules[Matches], spec, self.system.params, self.arrays, now.state, which)
        return Rating(*(None if x is None else np.asarray(x) for x in found))
