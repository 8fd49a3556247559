"""A history that goes on: its state in place, who and when, and what was seen since the last table of it."""

from array import array
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.data.dataset import Dataset
from jaxrate.events import FAR, Array, Matches, Rounds, as_moment, check_clock, dated
from jaxrate.records.history import History, recording
from jaxrate.records.performed import where_contested
from jaxrate.records.rated import Rated, show_time
from jaxrate.records.rating import kept
from jaxrate.records.single import EVENTS, check_name, history_of, plain
from jaxrate.replay import online
from jaxrate.replay.compiling import compiled
from jaxrate.replay.state import start
from jaxrate.system import Rating, RatingSystem, State, sized_for

ROOM = 64  # players at the least for whom there is room


class Log(NamedTuple):
    """What has been rated since the last table of it, end to end."""

    player: Any  # ids: two of each match, or the participants of a contest
    place: Any  # rank and team of each participant
    size: Any  # participants of each contest
    told: Any  # score and time of each match, time of each contest
    seen: bytearray  # what the program returned

    @staticmethod
    def empty() -> "Log":
        return Log(array("i"), array("i"), array("q"), array("d"), bytearray())


class Ongoing:
    """What `Live` works on: everything is checked before anything changes, and changes at once."""

    def __init__(
        self, system: RatingSystem, state: State, players: list[Any], base: Rated | None, key: Array | None
    ) -> None:
        self.system = system
        self.base, self.key = base, key
        self.categories = None if base is None else base.categories
        self.names, self.ids = players, {name: i for i, name in enumerate(players)}
        self.last: float | None = None
        self.clock: str | None = None
        self.kind: type | None = None
        if base is not None and len(base.predictions):
            self.last, self.clock = base.last, base.clock
            self.kind = Matches if base.contests is None else Rounds
        self.number, self.before, self.log = 0, 0, Log.empty()
        self.room = max(ROOM, 1 << max(len(players) - 1, 1).bit_length())
        self.state = start(system, system.params, state, self.room, len(players))
        rules = sized_for(system.rules, system.params)
        infer = {Matches: None, Rounds: system.traits.infer}
        self.rules = {kind: recording(rules, system.summary, rule) for kind, rule in infer.items()}
        self.known, self.arrays = online.prepared(self.rules[Matches], system.params)
        self.float = np.dtype(jnp.result_type(float))
        self.programs: dict[online.Form, Any] = {}
        self.shapes: dict[type, Any] = {}

    def check_kind(self, kind: type) -> None:
        """ValueError unless the system, and the history, are of such events."""
        if kind not in self.system.events:
            hint = "give a match as a contest of two, by update_round" if kind is Matches else "take update"
            raise ValueError(f"{self.system.name} rates no {EVENTS[kind]}; {hint}")
        if self.kind not in (None, kind):
            raise ValueError(f"the history is of {EVENTS[self.kind]}, this is one of {EVENTS[kind]}")

    def find(self, players: Sequence[Any]) -> tuple[list[int], list[Any]]:
        """The ids of players, those of newcomers behind all others, and the newcomers."""
        known, ids = self.ids, []
        new: list[Any] = []
        for name in players:
            try:
                found = known.get(name)
            except TypeError:
                found = None
            if found is None:
                check_name(name, (*self.names[:1], *new))
                name = name.item() if isinstance(name, np.generic) else name
                if name not in new:
                    new.append(name)
                found = len(known) + new.index(name)
            ids.append(found)
        return ids, new

    def moment(self, time: Any) -> float:
        """The time of the next event."""
        if time is None:
            if self.clock is not None:
                raise ValueError("the events so far have times; give time=")
            return 0.0
        if self.kind is not None and self.clock is None:
            raise ValueError("the events so far have no times; leave out time")
        if self.clock is not None:
            check_clock(self.clock, time)
        when = time if type(time) is float and -FAR <= time <= FAR else as_moment("time", time)
        ordered = self.kind is Matches or self.system.clocked(self.system.params)
        if self.last is not None and when < self.last and ordered:
            now, last = (show_time(x, self.clock) for x in (when, self.last))
            raise ValueError(f"time {now} is earlier than {last}, that of the last event")
        return when

    def now(self, time: Any) -> float:
        """The time of a prediction."""
        return (self.last or 0.0) if time is None else self.moment(time)

    def _program(self, kind: type, form: online.Form) -> Any:
        """What rates events of a form, compiled when it is first called."""
        if form not in self.programs:
            self.programs[form] = compiled(
                online.learn, (self.system.params, self.state, self.key), kind, stream=kind is Matches
            )
        return self.programs[form]

    def _arguments(self, kind: type, form: online.Form, whole: list[int], real: list[float]) -> tuple[Any, ...]:
        numbers = np.array([*whole, self.number], np.int32), np.array(real, self.float)
        return self.rules[kind], online.Spec(self.known, form), self.arrays, self.state, *numbers

    def _make_room(self, new: list[Any]) -> None:
        while len(self.names) + len(new) > self.room:
            self.state = start(self.system, self.system.params, self.state, 2 * self.room, self.room)
            self.room *= 2

    def learn(self, kind: type, form: online.Form, whole: list[int], real: list[float], new: list[Any]) -> Any:
        """What the event showed, [1, k] or [P, k], once it is in the state."""
        self._make_room(new)
        program, given = self._program(kind, form), (*self._arguments(kind, form, whole, real), self.key)
        if kind not in self.shapes:
            self.shapes[kind] = jax.eval_shape(partial(online.seen, *given[:2]), *given[2:])
        self.state, shown = program(*given)
        return np.asarray(shown)

    def foresee(self, kind: type, form: online.Form, whole: list[int], real: list[float], new: list[Any]) -> Any:
        self._make_room(new)
        guess, _ = online.foresee(*self._arguments(kind, form, whole, real))
        return plain(jax.tree.map(np.asarray, guess))

    def keep(self, kind: type, shown: Any, time: Any, when: float, new: list[Any]) -> None:
        """The event has been rated."""
        for name in new:
            self.ids[name] = len(self.names)
            self.names.append(name)
        self.log.seen.extend(shown.tobytes())
        self.number, self.kind = self.number + 1, kind
        if time is not None:
            self.last, self.clock = when, self.clock or ("dates" if dated(time) else "numbers")

    def guess(self, kind: type, shown: Any) -> Any:
        """The prediction among what was shown."""
        shape = self.shapes[kind][0]
        shape = shape[0] if self.rules[kind].infer is not None else shape
        if kind is Matches and getattr(shape, "shape", None) == ():
            return float(shown[0, 0])
        guess = online.columns(shown, shape, kind)
        return jax.tree.map(lambda x: x[0], guess) if kind is Matches else guess

    def rated(self) -> Rated:
        """The history as `rate` would have returned it; ValueError if there is none."""
        if not self.log.told:
            if self.base is None:
                raise ValueError("nothing has been rated yet")
            return self.base
        count, kind = len(self.names), self.kind
        assert kind is not None
        state = jax.tree.map(lambda x: np.array(x[:count]), jax.tree.map(np.asarray, self.state))
        log, players = self.log, np.array(self.names, object if isinstance((*self.names, "")[0], str) else None)
        shapes, infers = self.shapes[kind], self.rules[kind].infer is not None
        width = sum(int(np.prod(x.shape[kind is Rounds :])) for x in jax.tree.leaves(shapes))
        rows = np.frombuffer(log.seen, self.float).reshape(-1, width)
        shown, events = online.columns(rows, shapes, kind), history_of(log, kind)
        (guess, before), (inferred, _) = shown if infers else (shown, (None, None))
        performed = None if inferred is None else where_contested(self.system, inferred, events)
        own = np.arange(len(rows)) + self.before
        data = Dataset(events, players, own, self.categories, self.clock)
        base, result = self.base, History(state, guess, before)
        onto = base if base is not None and len(base.predictions) else None  # a table of nothing may be of any events
        rated = kept(self.system, data, None, onto, result, performed)
        self.base = rated if base is None else rated._replace(options=base.options, seasons=base.seasons)
        self.before, self.log = self.before + len(own), Log.empty()
        return self.base

    def ratings(self, ids: Any, time: float | None) -> Rating:
        """Of some ids, on the host: as their last events left them, or as of a time."""
        which = np.array(ids, np.int32), None if time is None else np.array(time, self.float)
        spec = self.known, self.system.summary
        found = online.rating(self.rules[Matches], spec, self.system.params, self.arrays, self.state, which)
        return Rating(*(None if x is None else np.asarray(x) for x in found))
