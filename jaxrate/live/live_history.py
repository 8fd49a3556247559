"""A live history: its state on the device, its players, and a log of the events since it began.

Every change is one: the events from some number on are replaced by others, which are rated from the last checkpoint
before them. An update is the case in which nothing is replaced, and the state is at hand.

All that changes is in one tuple, `LiveState`, which is replaced by one assignment. An update donates its buffers to a
program, and appends a record and newcomers. If it is interrupted before the assignment, as by Ctrl-C, the old tuple is
left without its buffers. The next call notices this, and replaces nothing by nothing. A signal handler may call in the
middle of another call: that call then finds another tuple in place, and starts again.
"""

import logging
import pickle
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array
from jaxrate.core.rules import Rating, State
from jaxrate.core.system import RatingSystem
from jaxrate.events import Matches, Rounds
from jaxrate.events.dataset import Dataset
from jaxrate.history.dataset_rating import build_history
from jaxrate.history.history import History
from jaxrate.history.recorded_runs import do_leads_fade, rating_history_with_performances
from jaxrate.live.compiled_event_programs import (
    EventInputs,
    PackedEvent,
    next_power_of_two,
    pack_constants,
    predict_event,
    summarise_player_ratings,
    update_with_event,
)
from jaxrate.live.event_checks import (
    Checkpoint,
    LiveEvent,
    LiveState,
    find_or_assign_player_ids,
    pack_event,
    required_match_columns,
    to_contests,
    to_matches,
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


class ConcurrentHistoryChangeError(Exception):
    """Another call, such as one of a signal handler, has changed the history meanwhile."""


class LiveHistory:
    """The history behind `Live`: everything is checked before anything changes, and all changes are made at once."""

    def __init__(
        self, system: RatingSystem, state: State, players: list[Any], base: History | None, key: Array | None
    ) -> None:
        self.system, self.key, self.lock = system, key, threading.RLock()
        self.requirements = required_match_columns(system)
        self.categories = None if base is None else base.categories
        self.uses_float64 = bool(jax.config.read("jax_enable_x64"))
        self.float_type = np.dtype(jnp.result_type(float))
        self.rules = make_replay_rules(system.rules, system.params)
        self.constants_form, self.constants = pack_constants(self.rules, system.params)
        last, clock, kind = None, None, None
        if base is not None and base.num_rows:
            last, clock, kind = base.last, base.clock, Matches if base.contests is None else Rounds
        self.donated_state: State = None  # the state that was donated to a program
        count = len(players)
        capacity, ids = max(MIN_CAPACITY, next_power_of_two(count)), {name: i for i, name in enumerate(players)}
        checkpoints = (Checkpoint(0, count, state),)
        state = init_or_copy_state(system, system.params, state, capacity, count)
        self.programs: dict[type, Any] = {
            of: compile_replay(
                update_with_event,
                (system.params, state, key),
                traits=ProgramTraits(of, inner_loops=True, stream=of is Matches),
            )
            for of in (Matches, Rounds)
        }
        self.initial = LiveState(state, capacity, 0, count, [], ids, last, clock, kind, checkpoints, base)
        self.current = self.initial

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
                        self.replace_events(current, current.number)
                        current = self.current
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

    def append_event(self, current: LiveState, event: LiveEvent, newcomers: Sequence[Any], clock: str | None) -> Any:
        """Rate an event and add it to the history; returns its prediction."""
        packed = self._pack(event, current, newcomers)
        current = self._with_room(current, newcomers)
        self.donated_state = current.state
        timed = current if clock == current.clock else current._replace(clock=clock or current.clock)
        new_state, prediction = self._rate(timed, event, packed, newcomers)
        self._replace_current(current, new_state)
        if not new_state.number % CHECKPOINT_EVENTS:
            self._replace_current(new_state, self._add_checkpoint(new_state))
        return prediction

    def replace_events(
        self, current: LiveState, number: int, events: Iterable[LiveEvent] = (), newcomers: Sequence[Any] = ()
    ) -> list[Any]:
        """Replace the events from a number on by others; players who are in no other event are removed.

        Args:
          events: with ids as now, or of `newcomers` behind all players.

        Returns:
          The predictions of these events.
        """
        names = [*current.names, *newcomers]
        capacity = max(current.capacity, next_power_of_two(len(names)))
        checkpoints = tuple(x for x in current.checkpoints if x.number <= number)
        begin, players, state = checkpoints[-1]
        state = init_or_copy_state(self.system, self.system.params, state, capacity, players)
        ids, log = {name: i for i, name in enumerate(names[:players])}, current.log[:begin]
        last = read_event(log[-1]).time if log and current.clock else self.initial.last
        new_state = current._replace(
            state=state,
            capacity=capacity,
            number=begin,
            players=players,
            log=log,
            ids=ids,
            last=last,
            checkpoints=checkpoints,
        )
        new_state, _ = self._rate_again(new_state, names, map(read_event, current.log[begin:number]))
        new_state = self._add_checkpoint(new_state)  # later changes are near, mostly
        new_state, predictions = self._rate_again(new_state, names, events)
        if not new_state.number:
            new_state = new_state._replace(clock=self.initial.clock, kind=self.initial.kind)
        if number < current.number:
            LOG.info("results from number %d on are replaced", number)
        self._replace_current(current, new_state)
        return predictions

    def _rate_again(
        self, current: LiveState, names: Sequence[Any], events: Iterable[LiveEvent]
    ) -> tuple[LiveState, list[Any]]:
        """The history with further events, whose ids are of these names, and the predictions of these."""
        predictions = []
        for event in events:
            ids, newcomers = find_or_assign_player_ids(current, [names[i] for i in event.ids])
            event = event._replace(ids=ids)
            current, prediction = self._rate(current, event, self._pack(event, current, newcomers), newcomers)
            predictions.append(prediction)
        return current, predictions

    def _pack(self, event: LiveEvent, current: LiveState, newcomers: Sequence[Any]) -> PackedEvent:
        """An event, checked, for a program."""
        return pack_event(self.requirements, event, self.key, lambda i: repr([*current.names, *newcomers][i]))

    def _rate(
        self, current: LiveState, event: LiveEvent, packed: PackedEvent, newcomers: Sequence[Any]
    ) -> tuple[LiveState, Any]:
        """The history with one more event, in the memory of the one before it, and the prediction of the event."""
        state, capacity, number, players, log, ids, last, clock, _, checkpoints, base = current
        state, prediction = self.programs[event.kind](*self._arguments(packed, number), state, self.key)
        prediction = _prediction_on_host(event, prediction)
        if newcomers:
            ids.update(zip(newcomers, range(players, players + len(newcomers)), strict=True))
        log.append(pickle.dumps(tuple(event)))
        players, last = players + len(newcomers), last if clock is None else event.time
        return LiveState(
            state, capacity, number + 1, players, log, ids, last, clock, event.kind, checkpoints, base
        ), prediction

    def _arguments(self, packed: PackedEvent, number: int = 0) -> tuple[Any, ...]:
        """The arguments of a program, up to the state."""
        integers, floats = np.array([number, *packed.integers], np.int32), np.array(packed.floats, self.float_type)
        return self.rules, (self.constants_form, packed.form), EventInputs(self.constants, integers, floats)

    def _with_room(self, current: LiveState, newcomers: Sequence[Any]) -> LiveState:
        """The history with rows for newcomers."""
        if current.players + len(newcomers) <= current.capacity:
            return current
        capacity = next_power_of_two(current.players + len(newcomers))
        state = init_or_copy_state(self.system, self.system.params, current.state, capacity, current.capacity)
        return self._replace_current(current, current._replace(state=state, capacity=capacity))

    def _add_checkpoint(self, current: LiveState) -> LiveState:
        """The history with a checkpoint of its state, unless the last checkpoint is near."""
        checkpoints = current.checkpoints
        if current.number - checkpoints[-1].number < max(1, current.capacity // CHECKPOINT_CAPACITY_SHARE):
            return current
        new_checkpoint = Checkpoint(current.number, current.players, _state_on_host(current))
        kept = checkpoints[0], *checkpoints[1:][1 - MAX_RECENT_CHECKPOINTS :], new_checkpoint
        return current._replace(checkpoints=kept)

    # --- Results. ---

    def predict_event(self, current: LiveState, event: LiveEvent, newcomers: Sequence[Any]) -> Any:
        """The prediction of an event."""
        packed, current = self._pack(event, current, newcomers), self._with_room(current, newcomers)
        return _prediction_on_host(event, predict_event(*self._arguments(packed), current.state))

    def to_rated(self, current: LiveState) -> History:
        """The history as `rate` would have returned it; ValueError if nothing has been rated."""
        base = current.base
        if not current.number:
            if base is None:
                raise ValueError("nothing has been rated yet")
            return base
        log = [read_event(record) for record in current.log[: current.number]]
        events = to_matches(log) if current.kind is Matches else to_contests(log)
        result, performances = rating_history_with_performances(
            self.system,
            events,
            after=do_leads_fade(self.system),
            state=self.initial.checkpoints[0].state,
            key=self.key,
            num_players=current.players,
        )
        players = np.array(current.names, object if isinstance(current.names[0], str) else None)
        data = Dataset(events, players, np.arange(len(events.flat.player)), self.categories, current.clock)
        # An empty table fits any events.
        earlier = base if base is not None and base.num_rows else None
        result = result._replace(state=_state_on_host(current))
        rated = build_history(self.system, data, None, earlier, result, performances)
        return rated if base is None else rated._replace(options=base.options, seasons=base.seasons)

    def player_ratings(self, current: LiveState, ids: Any, time: float | None) -> Rating:
        """Ratings of some ids, on the host: as their last events left them, or at a time."""
        moment = None if time is None else np.array(time, self.float_type)
        summary = summarise_player_ratings(
            self.rules, self.system.summary, self.system.params, current.state, np.array(ids, np.int32), moment
        )
        return Rating(*(None if x is None else np.asarray(x) for x in summary))


def read_event(record: bytes) -> LiveEvent:
    """An event of the log."""
    return LiveEvent(*pickle.loads(record))


def position_at_time(current: LiveState, time: float) -> int:
    """The number of events that are not later than a time."""
    return bisect_right(current.log, time, hi=current.number, key=lambda record: read_event(record).time)


def _prediction_on_host(event: LiveEvent, prediction: Any) -> Any:
    """The prediction of an event; a single number as a float."""
    if getattr(prediction, "shape", None) == ():
        return np.asarray(prediction).item()
    count = None if event.sizes is None else len(event.ids)
    return jax.tree.map(lambda x: np.asarray(x)[:count] if np.ndim(x) else np.asarray(x), prediction)


def _state_on_host(current: LiveState) -> State:
    """A copy of the state of the players."""
    return jax.tree.map(lambda x: np.array(np.asarray(x)[: current.players]), current.state)
