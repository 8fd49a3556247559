"""Ratings that are kept up to date as results come in, one by one; they begin at a system or at a rated history.

A live history is a log of events, and the state after them on the device. Every change is one: the events from some
position on are replaced by others, which are rated from the last checkpoint before them. An update is the case in which
nothing is replaced, and the state is at hand.

All that changes is in one tuple, `LiveState`, which is replaced by one assignment. An update donates its buffers to a
program, and appends a record and newcomers. If it is interrupted before the assignment, as by Ctrl-C, the old tuple is
left without its buffers. The next call notices this, and replaces nothing by nothing. A signal handler may call in the
middle of another call: that call then finds another tuple in place, and starts again.

An event goes to the device as two vectors, of integers and of floats: every further array costs microseconds. A program
that rates and one that predicts are compiled once for all events of a form.
"""

import json
import logging
import math
import pickle
import threading
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from inspect import Parameter, signature
from itertools import chain, islice
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.argument_checks import (
    Key,
    check_choice,
    check_concrete,
    check_count,
    check_that,
    enforce_argument_annotations,
    is_list,
)
from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.rules import Params, Rating, State
from jaxrate.core.system import RatingSystem, accept_any_events
from jaxrate.core.text_format import format_count, format_value_for_error, join_names
from jaxrate.data.column_conversion import is_usable_as_name
from jaxrate.data.lookalike_names import accentless_key, describe_new_names, similar_names_hint, unstorable_reason
from jaxrate.data.table_sources import add_location_to_data_errors
from jaxrate.events import (
    MAX_ABS_TIME,
    MAX_WEIGHT,
    MIN_WEIGHT,
    Context,
    Matches,
    NameFormatters,
    Ragged,
    Rounds,
    build_rounds,
    check_clock,
    has_teammates,
    has_tied_teams,
    is_date,
    matches,
)
from jaxrate.events.column_checks import as_array_of_shape
from jaxrate.events.dataset import Dataset
from jaxrate.events.event_types import COLUMNS_BY_EVENT, count_teams
from jaxrate.history.dataset_rating import build_history
from jaxrate.history.history import History, format_time, resolve_system_state_and_players
from jaxrate.history.ratings_at_times import input_date_format, parse_moment, ratings
from jaxrate.history.recorded_runs import do_leads_fade, rating_history_with_performances
from jaxrate.replay.checked_replay import check_system_takes_events, depends_on_time
from jaxrate.replay.compiler_options import ProgramTraits
from jaxrate.replay.execution import compile_replay
from jaxrate.replay.padded_arrays import init_or_copy_state, leaves_by_name, pad_column, padded_size
from jaxrate.replay.plan import PlacedEvents, gather_events
from jaxrate.replay.player_rows import gather_rows
from jaxrate.replay.scan_programs import (
    ReplayConstants,
    ReplayRules,
    draw_random_numbers_for_events,
    is_random_numbers,
    make_replay_rules,
    predict_event_after_elapsed_time,
    prepare_replay,
    rate_event,
    scan_matches,
    scan_steps,
)
from jaxrate.storage.run_folder import restore_state
from jaxrate.systems.skills.settings import contest_result_columns


class EventStructure(NamedTuple):
    """The form of events: all but their values. An event is a match, or a flat contest and where it begins."""

    size: tuple[int, int] | None  # participants and teams that a contest is padded to; None: a match
    tree: Any  # structure of the pytree
    leaves: tuple[tuple[tuple[int, ...], str], ...]  # shape and kind of each: "i", "f", or "b", which has no values

    def unpack(self, integers: Any, floats: Any) -> Any:
        """An event from its integers and floats; a contest with padding."""
        vectors, leaves = {"i": integers, "f": floats, "b": jnp.zeros(len(self.leaves), bool)}, []
        for shape, kind in self.leaves:
            count = math.prod(shape)
            leaves.append(vectors[kind][:count].reshape(shape))
            vectors[kind] = vectors[kind][count:]
        event = jax.tree.unflatten(self.tree, leaves)
        if self.size is None:
            return event
        flat, starts = event
        contests, _ = gather_events(PlacedEvents(flat, 0, starts), np.zeros(1, np.int32), self.size)
        return jax.tree.map(lambda x: x[0], contests)


class PackedEvent(NamedTuple):
    """An event for a program."""

    form: EventStructure
    integers: list[int]
    floats: list[float]


def pack_event(events: Any) -> PackedEvent:
    """A single match, or a single contest with columns for a power of two of participants."""
    if isinstance(events, Matches):
        return _pack(None, jax.tree.map(lambda x: x[0], events))
    flat: Any = events.flat
    size, teams = (padded_size(x, x, minimum=2) for x in (len(flat.player), int(count_teams(events)[0])))
    strict, solo = (None if x else np.zeros(1, bool) for x in (has_tied_teams(events), has_teammates(events)))
    flat = flat._replace(strict=strict, solo=solo)
    padded = {
        name: x if name in COLUMNS_BY_EVENT else jax.tree.map(lambda x: pad_column(x, size, x[-1:]), x)
        for name, x in flat._asdict().items()
    }
    return _pack((size, min(teams, size)), (flat._replace(**padded), events.start.astype(np.int32)))


def _pack(size: tuple[int, int] | None, event: Any) -> PackedEvent:
    leaves, tree = jax.tree.flatten(jax.tree.map(np.asarray, event))
    values: dict[str, list[Any]] = {"i": [], "f": [], "b": []}
    for x in leaves:
        values[x.dtype.kind] += x.ravel().tolist()
    return PackedEvent(
        EventStructure(size, tree, tuple((x.shape, x.dtype.kind) for x in leaves)), values["i"], values["f"]
    )


Inputs = tuple[ReplayConstants, Any, Any]  # of a program: number and integers of the event come second, its floats last


def update_with_event(
    rules: ReplayRules, form: EventStructure, inputs: Inputs, state: State, key: Array | None
) -> tuple[State, Any]:
    """The state after the event, and its prediction.

    The loop is that of a replay, of one iteration. XLA does not know that it is one, as otherwise it would fuse reads
    of one leaf with writes of another and copy the state: a match of Glicko among a million players would take 2.4 ms
    in place of 0.02.
    """
    prepared, integers, floats = inputs
    number, event, rate_one = integers[:1], form.unpack(integers[1:], floats), partial(rate_event, rules, prepared)
    drawn, count = draw_random_numbers_for_events(rules, key, number), 1 + jnp.minimum(number[0], 0)
    events = jax.tree.map(lambda x: x[None], event)
    if isinstance(event, Matches):
        state, prediction = scan_matches(rate_one, state, events, drawn, count)
    else:
        state, prediction = scan_steps(rate_one, state, events, drawn, count)
    return state, jax.tree.map(lambda x: x[0], prediction)


@partial(jax.jit, static_argnums=(0, 1))
def predict_event(rules: ReplayRules, form: EventStructure, inputs: Inputs, state: State) -> Any:
    """The prediction of an event."""
    prepared, integers, floats = inputs
    event = form.unpack(integers[1:], floats)
    return predict_event_after_elapsed_time(rules, prepared, gather_rows(state, event.player), event)


@partial(jax.jit, static_argnums=(0, 1))
def player_rating(rules: ReplayRules, summary: Any, params: Params, state: State, ids: Array, time: Any) -> Rating:
    """The rating of a player [1] after the last event, or at a time."""
    rows = gather_rows(state, ids)
    rating: Rating = summary(params, rows if time is None else rules.advance(rules.prepare(params), rows, time))
    return rating


class LiveEvent(NamedTuple):
    """A match or a contest as it was told."""

    names: Sequence[Any]  # of the players, team by team
    sizes: list[int] | None  # of the teams of a contest; None: a match
    result: Any  # the score of the first player; the ranks [teams] of a contest
    time: float  # 0 without times
    clock: str | None  # of the time, as in `Dataset`
    context: dict[str, Any]  # what else is known of it, by name, in numbers

    @property
    def kind(self) -> type:
        """The type of events that are rated: `Matches` or `Rounds`."""
        return Matches if self.sizes is None else Rounds


NO_EVENT = LiveEvent((), None, None, 0.0, None, {})
Outcome = tuple[Sequence[Any], list[int] | None, Any]  # names, sizes and result of an event

# --- Names of players. ---

NAME_TYPES: tuple[Any, ...] = (str, bytes, (int, float, np.integer, np.floating))  # a table needs names of one type


def check_player_name(name: Any, other: Any) -> None:
    """ValueError unless a table can hold the name beside another one."""
    shown, kind = format_value_for_error(name), next((kind for kind in NAME_TYPES if isinstance(name, kind)), None)
    if kind is None or isinstance(name, bool) or not is_usable_as_name(name) or (kind is str and not name.strip()):
        raise ValueError(f"{shown} cannot be the name of a player")
    other_type = f"is of another type than {format_value_for_error(other)}; a table needs names of one"
    if reason := unstorable_reason(name) or ("" if isinstance(other, kind) else other_type):
        raise ValueError(f"player {shown} {reason}")


def find_or_assign_player_ids(ids_by_name: Mapping[Any, int], names: Sequence[Any]) -> tuple[list[int], dict[Any, int]]:
    """The ids of players, and those of newcomers by name, who come after all others."""
    ids: list[int] = []
    newcomers: dict[Any, int] = {}
    for name in names:
        try:
            player_id = ids_by_name.get(name)
        except TypeError:  # of what cannot be a name
            player_id = None
        if player_id is None:
            check_player_name(name, next(chain(ids_by_name, newcomers), name))
            player_id = newcomers.setdefault(name, len(ids_by_name) + len(newcomers))
        ids.append(player_id)
    return ids, newcomers


def ids_of_different_players(players: Any) -> dict[Any, int]:
    """The ids of players in their order, by name; ValueError for one who is repeated."""
    names = np.asarray(players, object).tolist()
    if not isinstance(names, list):
        raise ValueError(f"players must be a list of names, got {format_value_for_error(players)}")
    _, ids = find_or_assign_player_ids({}, names)
    if len(ids) < len(names):
        raise ValueError("players names somebody twice")
    return ids


# --- Matches and contests as they are told. ---

SIDES = {"a": 1.0, "b": -1.0}  # as in `read`
NUMBER_RANGES = {"score": (0.0, 1.0), "side": (-1.0, 1.0), "weight": (MIN_WEIGHT, MAX_WEIGHT)}  # of a match
EVENT_NAMES: dict[type, str] = {Matches: "matches", Rounds: "contests"}
FIELDS: dict[type, tuple[str, ...]] = {  # what may be known of an event
    Matches: ("side", "weight", "category", "columns"),
    Rounds: ("weight", "ceiling", "noise", "category", "columns"),
}


def parse_fields(kind: type, context: Mapping[str, Any], categories: Sequence[Any] | None) -> dict[str, Any]:
    """What is known of a match or contest, sides and categories as numbers; ValueError for what it cannot have."""
    known = {name: x for name, x in context.items() if x is not None}
    for name in [x for x in known if x not in FIELDS[kind]]:
        have = f"{EVENT_NAMES[kind]} have no {name!r}; they have {join_names(FIELDS[kind])}"
        raise ValueError(f"{have}; give a number of your own as columns={{{name!r}: 0.5}}")
    if not isinstance(known.get("columns", {}), Mapping):
        raise ValueError(f"columns must be a dict by name, got {format_value_for_error(known['columns'])}")
    if isinstance(side := known.get("side"), str):
        check_that(side in SIDES, f"side must be a number, 'a' or 'b', got {side!r}")
        known["side"] = SIDES[side]
    if "category" in known and categories is not None:
        known["category"] = category_to_number(categories, known["category"])
    return known


def teams_of_contest(players: Any, rank: Any) -> Outcome:
    """Names of a contest's players by team, the teams' sizes and ranks (in order); ValueError where these are none."""
    if not is_list(players) or not len(players):
        raise ValueError(
            f"players must be a list of names, or of lists of names, got {format_value_for_error(players)}"
        )
    teams = [list(x) if is_list(x) else [x] for x in players]
    if not all(teams):
        raise ValueError(f"team {teams.index([])} (counting from 0) has no players")
    ranks = range(len(teams)) if rank is None else rank
    return [x for team in teams for x in team], [*map(len, teams)], as_array_of_shape("rank", ranks, (len(teams),))


def category_to_number(names: Sequence[Any], category: Any) -> Any:
    """The number of a category of these names, or of each of a list; shares of categories stay as they are."""
    if np.ndim(category):
        return [x if np.ndim(x) else category_to_number(names, x) for x in category]
    check_choice("category", category, names)
    return names.index(category)


# --- Events as arrays, and for programs. ---

WITHOUT_FIELD = {"side": 0.0, "weight": 1.0, "ceiling": np.inf, "noise": 1.0, "category": 0}  # of an event without one
EMPTY_MATCH = Matches(np.zeros(2, np.int32), np.zeros(()), np.zeros(()))
NO_VALUE: Any = np.zeros(())
MATCH_FORMS: dict[tuple[str, ...], Any] = {  # forms of matches without category and columns, by their fields
    fields: _pack(None, EMPTY_MATCH._replace(context=Context()._replace(**dict.fromkeys(fields, NO_VALUE)))).form
    for fields in ((), ("side",), ("weight",), ("side", "weight"))
}


def pack_plain_match(match: LiveEvent, ids: list[int]) -> PackedEvent | None:
    """A match of numbers in their ranges, without category and columns, in a tenth of the time; None: it is another."""
    values = match.context | {"score": match.result}
    form = MATCH_FORMS.get(tuple(fields := sorted(match.context)))
    if form is None:
        return None
    for name, value in values.items():
        low, high = NUMBER_RANGES[name]
        if not (isinstance(value, (float, int)) and low <= value <= high):
            return None
    return PackedEvent(form, ids, [match.result, match.time, *(values[name] for name in fields)])


def build_live_events(events: Sequence[LiveEvent], ids: Mapping[Any, int]) -> Matches | Ragged:
    """Matches as `jr.matches` makes them, or contests as `jr.rounds` does, checked as there; ids are by name."""
    names, _, result, time, *_ = zip(*events, strict=True)
    check_concrete("live results are rated", result, "; jr.scan takes traced ones")
    further = _context_columns(events)
    if events[0].sizes is None:
        return matches([[ids[x] for x in pair] for pair in names], result, time, **further)
    counts = [*map(len, names)]
    rank, team = (
        np.concatenate([np.repeat(x, event.sizes or 0) for x, event in zip(values, events, strict=True)])
        for values in (result, [np.arange(len(x)) for x in result])
    )
    return build_rounds(
        np.repeat(np.arange(len(events)), counts),
        np.array([ids[name] for event in events for name in event.names]),
        rank,
        team=team,
        time=np.repeat(time, counts),
        formatters=NameFormatters(player=lambda player: repr(next(x for x in ids if ids[x] == player))),
        **further,
    )


def _rows_of_value(event: LiveEvent, name: str, value: Any) -> Any:
    """The row of a value of a match, or the rows of one of a contest: of all players, of each, or nested as teams."""
    if event.sizes is None:
        return [[value] * 2 if name == "category" and np.ndim(value) == 0 else value]
    if isinstance(value, (list, tuple)) and all(isinstance(x, (list, tuple, np.ndarray)) for x in value):
        value = [x for team in value for x in team]
    return value if np.ndim(value) else np.full(len(event.names), value)


def _context_columns(events: Sequence[LiveEvent]) -> dict[str, Any]:
    """What is known of some of the events, by name, as columns of all."""

    def join(known: Sequence[Mapping[str, Any]], name: str, missing: Any) -> HostArray:
        pairs = zip(events, known, strict=True)
        parts = [np.asarray(_rows_of_value(event, name, x.get(name, missing))) for event, x in pairs]
        widest = max(parts, key=np.ndim)  # categories may be shares in some of them
        return np.concatenate([x if x.ndim == widest.ndim else np.eye(widest.shape[-1])[x] for x in parts])

    contexts, further = [event.context for event in events], [event.context.get("columns", {}) for event in events]
    fields = {name: join(contexts, name, WITHOUT_FIELD[name]) for name in {*chain(*contexts)} - {"columns"}}
    return fields | {"columns": {name: join(further, name, np.nan) for name in dict.fromkeys(chain(*further))}}


P = ParamSpec("P")
R = TypeVar("R")
LOG = logging.getLogger(__name__)
CHECKPOINT_EVENTS = 1024  # events between checkpoints of updates, at least
MAX_RECENT_CHECKPOINTS = 4
CHECKPOINT_CAPACITY_SHARE = 8  # capacity for players divided by this: at least so many events between checkpoints
MAX_COMPARED_NAMES = 10_000  # names with which a newcomer's is compared


class Checkpoint(NamedTuple):
    """A state from which events are rated again."""

    number: int  # number of events before it
    players: int
    state: State  # leaves [players, ...] on the host; None: all are newcomers


class LiveState(NamedTuple):
    """All that changes. After a call that was interrupted there may be more in the log and in `ids` than is valid."""

    state: State  # leaves [capacity, ...]
    number: int  # number of events since the history began
    players: int
    log: list[bytes]  # each event, pickled
    ids: dict[Any, int]  # by name, in order
    latest: LiveEvent | None  # None: there were none; of events before the history began only kind and time are known
    checkpoints: tuple[Checkpoint, ...]  # the first, and some recent ones

    @property
    def last(self) -> float | None:
        """The time of the last event; None without times."""
        return None if self.latest is None or self.latest.clock is None else self.latest.time

    @property
    def names(self) -> list[Any]:
        """The names of the players in order of id."""
        return [*islice(self.ids, self.players)]

    @property
    def capacity(self) -> int:
        """The number of rows for players."""
        return len(jax.tree.leaves(self.state)[0])


def take_turns(method: Callable[Concatenate[Any, LiveState, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Let a method of `Live` take turns with others, and give it the current state as its first argument.

    It runs in the history's own precision, and starts again if another call changes the history meanwhile.
    """

    @wraps(method)
    def call(self: Any, /, *args: P.args, **options: P.kwargs) -> R:
        if jax.config.read("jax_enable_x64") is not self._uses_float64:
            with jax.enable_x64(self._uses_float64):
                return call(self, *args, **options)
        with self._lock:
            while True:
                current = self._current
                try:
                    if self._donated_state is current.state:
                        self._replace_events(current, current.number)
                        current = self._current
                        LOG.warning("a call was interrupted; the history is that of its %d results", current.number)
                    return method(self, current, *args, **options)
                except Exception:  # try again if another call changed the history meanwhile
                    if self._current is current:
                        raise

    complete = signature(method)
    own, _, *others = complete.parameters.values()
    shown = [own.replace(kind=Parameter.POSITIONAL_OR_KEYWORD), *others]
    call.__signature__ = complete.replace(parameters=shown)  # type: ignore[attr-defined]
    return call


class Live:
    """Ratings that are updated in place: each result is predicted, then rated. `start_history` makes them.

    The numbers are those of one run over the same events. A method that raises an error changes nothing. Several
    threads may use it; they take turns.
    """

    def __init__(
        self, system: RatingSystem, state: State, ids: dict[Any, int], base: History | None, key: Key | None
    ) -> None:
        self._system, self._base, self._key, self._lock = system, base, key, threading.RLock()
        self._takes_plain_matches = system.check_events is accept_any_events
        self._depends_on_time = depends_on_time(system, system.params)
        self._categories = None if base is None or base.categories is None else base.categories.tolist()
        self._uses_float64 = bool(jax.config.read("jax_enable_x64"))
        self._float_type = np.dtype(jnp.result_type(float))
        self._rules = make_replay_rules(system.rules, system.params)
        self._prepared = jax.jit(prepare_replay, static_argnums=0)(self._rules, system.params)
        self._programs: dict[type, Any] = {
            kind: compile_replay(
                update_with_event,
                (system.params, state, key),
                traits=ProgramTraits(kind, inner_loops=True, stream=kind is Matches),
            )
            for kind in EVENT_NAMES
        }
        latest = None
        if base is not None and base.num_rows:
            latest = LiveEvent((), None if base.contests is None else [], None, base.last or 0.0, base.clock, {})
        num_players, capacity = len(ids), padded_size(len(ids), len(ids))
        rows = init_or_copy_state(system, system.params, state, capacity, num_players)
        self._initial = LiveState(rows, 0, num_players, [], ids, latest, (Checkpoint(0, num_players, state),))
        self._current = self._initial
        self._donated_state: State = None  # the state that was donated to a program
        self._names_by_key: dict[str, str] = {}  # by `accentless_key`, of all that the history had since it began

    @property
    def system(self) -> RatingSystem:
        """The system that rates."""
        return self._system

    @take_turns
    def __repr__(self, current: LiveState) -> str:
        latest = current.latest
        last = (
            "" if latest is None or latest.clock is None else f", the last at {format_time(latest.time, latest.clock)}"
        )
        counts = f"{format_count(current.players, 'player')}, {format_count(current.number, 'new event')}"
        return f"Live: {self._system!r}, {counts}{last}"

    # --- Results, and predictions. ---

    @take_turns
    def update(self, current: LiveState, /, a: Any, b: Any, score: float, *, time: Any = None, **context: Any) -> Any:
        """Rate a match of two players; newcomers join.

        Args:
          a, b: names.
          score: score of `a` in [0, 1]; a draw is 0.5.
          time: a number or a date, not before the last event. None: the history has no times.
          context: `side`, `weight`, `category` and `columns`, as for one match in `jr.matches`; also side="a" or "b",
            and categories by name if the history has names for them.

        Returns:
          The prediction before the match: the expected score of `a`, or another prediction of the system.

        Raises:
          ValueError: for the same player twice, an invalid name, a score outside [0, 1], a time before the last event,
            a date where times are numbers, and all that `jr.matches` and the system refuse. Nothing has changed then.

        Warns:
          UserWarning: of a newcomer whose name differs from a player's only by blanks, letter case or accents.
        """
        moment = self._event_time(current, time, current.latest)
        return self._append(current, self._parse_event(current, ((a, b), None, score), moment, context))

    @take_turns
    def insert(self, current: LiveState, /, a: Any, b: Any, score: float, *, time: Any, **context: Any) -> Any:
        """Rate a match where it belongs in time, behind the matches that are not later, and rate the later ones again.

            live.insert("Ada", "Bo", 1.0, time="2026-05-30")

        The ratings, and the predictions of `to_rated`, equal to the bit those of a history in this order. A match that
        is not late takes as long as by `update`. A late one takes as long as the later ones together, or as those since
        an earlier checkpoint.

        Args:
          a, b, score, context: as for `update`.
          time: a number or a date, not before the last event that was rated before `start_history`.

        Returns:
          The prediction, from what was known before its time.

        Raises:
          ValueError: as `update`, but for times.

        Warns:
          UserWarning: as `update`.
        """
        moment = self._event_time(current, time, self._initial.latest)
        event = self._parse_event(current, ((a, b), None, score), moment, context)
        position = bisect_right(current.log, event.time, hi=current.number, key=lambda x: unpickle_event(x).time)
        if position == current.number:
            return self._append(current, event)
        self._warn_newcomers_like_players(current, self._pack(current, event)[1])
        later = map(unpickle_event, current.log[position : current.number])
        return self._replace_events(current, position, [event, *later])[0]

    @take_turns
    def predict(self, current: LiveState, /, a: Any, b: Any, *, time: Any = None, **context: Any) -> Any:
        """The prediction that `update` would return, without rating. None as time: the time of the last event.

        Margins and statistics are not needed: they are not known before a match. Somebody who has not played is
        predicted as a newcomer.

        Raises:
          ValueError: as `update`.

        Warns:
          UserWarning: of somebody who has not played, but whose name looks like one of a player.
        """
        return self._predict(current, ((a, b), None, 0.5), time, context)

    @take_turns
    def update_round(
        self, current: LiveState, /, players: Sequence[Any], rank: Any = None, *, time: Any = None, **context: Any
    ) -> Any:
        """Rate a contest of any number of players or teams; newcomers join.

            live.update_round(["Ada", "Bo", "Cy"], time="2026-05-31")
            live.update_round([["Ada", "Bo"], ["Cy", "Di"]], rank=[1, 1])
            live.update_round([["Ada", "Bo"], ["Cy", "Di"]], category="duo", columns={"kills": [3, 0, -1, -2]})

        Args:
          players: names; a list of names in place of one is a team.
          rank: [players or teams] lower is better, equal is a tie. None: in the order of `players`, without ties.
          time: as for `update`.
          context: `weight`, `category` and `columns` (by name), each a value for all or one for every player in
            order, and `ceiling` and `noise`; as for `jr.rounds`, categories by name if the history has names for them.

        Returns:
          The prediction before the contest, for every player in order: the share of the others whom they are expected
          to beat, or another prediction of the system.

        Raises:
          ValueError: as `update`, and as `jr.rounds` does, with the player's place in the list as the row.
        """
        moment = self._event_time(current, time, current.latest)
        return self._append(current, self._parse_event(current, teams_of_contest(players, rank), moment, context))

    @take_turns
    def predict_round(self, current: LiveState, /, players: Sequence[Any], *, time: Any = None, **context: Any) -> Any:
        """The prediction that `update_round` would return, without rating. None as time: that of the last event.

        Margins, statistics and quits are not needed.

        Raises:
          ValueError: as `update_round`.

        Warns:
          UserWarning: as `predict`.
        """
        return self._predict(current, teams_of_contest(players, None), time, context)

    # --- Corrections. ---

    @take_turns
    def undo(self, current: LiveState, /, n: int = 1) -> None:
        """Remove the last results, and newcomers who first played in them.

            live.undo()

        The ratings equal to the bit those of a history without these results: the other events are rated again from the
        last checkpoint.

        Args:
          n: number of results, matches or contests, of those that were rated live since `start_history`.

        Raises:
          ValueError: if fewer results were rated live.
        """
        check_that(current.number or not n, "nothing to undo: no result since start_history")
        n = check_count("n, of the results rated live,", n, 0, current.number)
        self._replace_events(current, current.number - n)

    @take_turns
    def correct(
        self, current: LiveState, /, index: int, score: float | None = None, *, rank: Any = None, **context: Any
    ) -> None:
        """Replace a result by another, and rate all later events again.

            live.correct(-1, score=0.5)
            live.correct(-1, rank=[2, 1, 3])

        The ratings, and the predictions of `to_rated`, equal to the bit those of a history with that result from the
        start. Players and time stay; if those were wrong, use `undo`.

        Args:
          index: index of the match or contest among those that were rated live, from 0; -1 is the last.
          score: new score of a match, as in `update`. None: unchanged.
          rank: new ranks of a contest, as in `update_round`.
          context: new `side`, `weight`, `category` or `columns` of a match, as in `update`, or of a contest, as in
            `update_round`.

        Raises:
          ValueError: if there is no such result, and as for `update` and `update_round`. Nothing has changed then.
        """
        check_that(current.number, "nothing to correct: no result since start_history")
        index = check_count("index, from 0 or, of the last, -1,", index, -current.number, current.number - 1)
        position = index % current.number
        old, *later = map(unpickle_event, current.log[position : current.number])
        known, is_match = old.context | parse_fields(old.kind, context, self._categories), old.sizes is None
        result, other = (score, rank) if is_match else (rank, score)
        if other is not None or (result is None and not context):
            fields = [f"{name}=" for name in ("score" if is_match else "rank", *FIELDS[old.kind])]
            raise ValueError(f"the history is of {EVENT_NAMES[old.kind]}; give {join_names(fields, 'or')}")
        if old.sizes is not None and result is not None:
            result = as_array_of_shape("rank", result, (len(old.sizes),))
        new = old._replace(context=known, result=old.result if result is None else result)
        self._replace_events(current, position, [new, *later])

    # --- Ratings. ---

    @property
    @take_turns
    def players(self, current: LiveState) -> list[Any]:
        """The names of the players in order of id."""
        return current.names

    @take_turns
    def rating(self, current: LiveState, /, player: Any, *, time: Any = None) -> Rating:
        """A player's rating and deviation after their last event, or at a time that is not before the last event.

        Raises:
          ValueError: if there is no such player, or for a time before the last event.
        """
        ids, newcomers = find_or_assign_player_ids(current.ids, (player,))
        if newcomers:
            raise ValueError(f"no player {player!r}{similar_names_hint(player, current.names)}")
        moment = None if time is None else self._float_type.type(self._event_time(current, time, current.latest)[0])
        arguments = self._system.params, current.state, np.array(ids, np.int32), moment
        rating: Rating = player_rating(self._rules, self._system.summary, *arguments)
        return Rating(*(None if x is None else np.asarray(x).item() for x in rating))

    @take_turns
    def to_json(self, current: LiveState, /) -> str:
        """The ratings in JSON: `last`, the time of the last event, and lists of `player`, `rating` and `deviation`."""
        last: Any = current.last
        if current.latest is not None and current.latest.clock == "dates":
            last = format_time(last, "dates")
        table = {"system": self._system.name, "last": last, "player": current.names}
        summary = zip(("rating", "deviation"), ratings(self._system, _state_on_host(current)), strict=True)
        return json.dumps(table | {name: np.asarray(x).tolist() for name, x in summary if x is not None})

    @take_turns
    def to_rated(self, current: LiveState) -> History:
        """The history so far as `rate` would have returned it. Later updates do not change it.

        Raises:
          ValueError: if nothing has been rated.
        """
        base = self._base
        if not current.number:
            if base is None:
                raise ValueError("nothing has been rated yet")
            return base
        log = [*map(unpickle_event, current.log[: current.number])]
        events = build_live_events(log, current.ids)
        result, performances = rating_history_with_performances(
            self._system,
            events,
            after=do_leads_fade(self._system),
            state=self._initial.checkpoints[0].state,
            key=self._key,
            num_players=current.players,
        )
        players = np.array(current.names, object if isinstance(current.names[0], str) else None)
        categories = None if base is None else base.categories
        data = Dataset(events, players, np.arange(len(events.flat.player)), categories, log[-1].clock)
        # An empty table fits any events.
        earlier = base if base is not None and base.num_rows else None
        result = result._replace(state=_state_on_host(current))
        rated = build_history(self._system, data, None, earlier, result, performances)
        return rated if base is None else rated._replace(options=base.options, seasons=base.seasons)

    # --- Checks. ---

    def _parse_event(
        self, current: LiveState, outcome: Outcome, moment: tuple[float, str | None], context: dict[str, Any]
    ) -> LiveEvent:
        """An event at this time of this clock, with numbers for its side and categories.

        ValueError unless the system rates such events, and the history consists of them.
        """
        names, sizes, result = outcome
        kind: type = Matches if sizes is None else Rounds
        if kind not in self._system.events:
            hint = "give a match as a contest of two, by update_round" if kind is Matches else "take update"
            raise ValueError(f"{self._system.name} rates no {EVENT_NAMES[kind]}; {hint}")
        if current.latest is not None and current.latest.kind is not kind:
            kinds = EVENT_NAMES[current.latest.kind], EVENT_NAMES[kind]
            raise ValueError(f"the history is of {kinds[0]}, this is one of {kinds[1]}")
        if context:
            context = parse_fields(kind, context, self._categories)
        names = [name.item() if isinstance(name, np.generic) else name for name in names]  # they are logged sooner
        return LiveEvent(names, sizes, result, *moment, context)

    def _event_time(self, current: LiveState, time: Any, after: LiveEvent | None) -> tuple[float, str | None]:
        """The time of an event as a number, and its clock.

        ValueError unless the events so far have such times, and if it is earlier than that of another event, where that
        matters.
        """
        latest = current.latest
        if latest is not None and (time is None) != (latest.clock is None):
            have = {True: "no times; leave out time", False: "times; give time="}
            raise ValueError(f"the events so far have {have[latest.clock is None]}")
        if time is None:
            return 0.0, None
        if type(time) is float and -MAX_ABS_TIME <= time <= MAX_ABS_TIME:
            moment, clock = time, "numbers"
        else:
            moment = parse_moment(time, input_date_format(self._base))
            clock = "dates" if is_date(time) else "numbers"
        if latest is not None:
            check_clock(latest.clock, time)
        if after is not None and moment < after.time and (after.sizes is None or self._depends_on_time):
            early, late = format_time(moment, after.clock), format_time(after.time, after.clock)
            raise ValueError(f"time {early} is earlier than {late}, that of the last event")
        return moment, clock

    def _pack(self, current: LiveState, event: LiveEvent) -> tuple[PackedEvent, dict[Any, int]]:
        """An event, checked, for a program, and the ids of newcomers by name."""
        ids, newcomers = find_or_assign_player_ids(current.ids, event.names)
        if event.sizes is None and ids[0] == ids[1]:
            raise ValueError(f"player {event.names[0]!r} is on both sides")
        if self._takes_plain_matches and event.sizes is None and (packed := pack_plain_match(event, ids)):
            return packed, newcomers
        where = "the match" if event.sizes is None else "row {} (counting from 0)"
        with add_location_to_data_errors("", where.format):
            events = build_live_events([event], dict(zip(event.names, ids, strict=True)))
        check_system_takes_events(self._system, events, self._key)
        return pack_event(events), newcomers

    def _warn_newcomers_like_players(self, current: LiveState, newcomers: Iterable[Any]) -> None:
        """UserWarning where a newcomer's name differs from a player's only by blanks, letter case or accents."""
        names_by_key = self._names_by_key
        if not names_by_key:
            if current.players > MAX_COMPARED_NAMES:
                return
            names_by_key.update((accentless_key(x), x) for x in current.names if isinstance(x, str))
        pairs = []
        for name in (x for x in newcomers if isinstance(x, str)):
            known = names_by_key.setdefault(accentless_key(name), name)
            if known not in current.ids:  # which was undone, or is this one
                names_by_key[accentless_key(name)] = name
            elif known != name:
                pairs.append((name, known))
        if pairs:
            text = describe_new_names(pairs, "blanks, letter case or accents")
            warnings.warn(text, UserWarning, stacklevel=5)

    # --- Changes. ---

    def _append(self, current: LiveState, event: LiveEvent) -> Any:
        """Rate an event and add it to the history; returns its prediction."""
        packed, newcomers = self._pack(current, event)
        if newcomers:
            self._warn_newcomers_like_players(current, newcomers)
        self._donated_state = current.state
        new_state, prediction = self._rate(current, event, packed, newcomers)
        self._replace_current(current, new_state)
        if not new_state.number % CHECKPOINT_EVENTS:
            self._replace_current(new_state, _add_checkpoint(new_state))
        return prediction

    def _predict(self, current: LiveState, outcome: Outcome, time: Any, context: dict[str, Any]) -> Any:
        """The prediction of an event to come, with zeros for columns that are known after it only."""
        columns, results = context.get("columns"), contest_result_columns(self._system.settings)
        if results and isinstance(columns, Mapping | None):
            context = context | {"columns": dict.fromkeys(results, 0.0) | dict(columns or {})}
        latest = current.latest or NO_EVENT
        moment = (latest.time, latest.clock) if time is None else self._event_time(current, time, current.latest)
        event = self._parse_event(current, outcome, moment, context)
        packed, newcomers = self._pack(current, event)
        for name in newcomers if current.players <= MAX_COMPARED_NAMES else ():
            if isinstance(name, str) and (similar := similar_names_hint(name, current.names)):
                text = f"{format_value_for_error(name)} has not played, and is predicted as a newcomer{similar}"
                warnings.warn(text, UserWarning, stacklevel=4)
        state = self._state_with_room(current, len(newcomers))
        if state is not current.state:  # so that it is made once
            self._replace_current(current, current._replace(state=state))
        return _prediction_on_host(event, predict_event(*self._arguments(packed), state))

    def _replace_events(self, current: LiveState, position: int, events: Iterable[LiveEvent] = ()) -> list[Any]:
        """Replace the events from a position on by others; players who are in no other event are removed.

        Returns:
          The predictions of these events.
        """
        checkpoints = tuple(x for x in current.checkpoints if x.number <= position)
        number, players, state = checkpoints[-1]
        state = init_or_copy_state(self._system, self._system.params, state, current.capacity, players)
        log, ids = current.log[:number], dict(islice(current.ids.items(), players))
        latest = unpickle_event(log[-1]) if log else self._initial.latest
        new_state = LiveState(state, number, players, log, ids, latest, checkpoints)

        def rate(event: LiveEvent) -> Any:
            nonlocal new_state
            new_state, prediction = self._rate(new_state, event, *self._pack(new_state, event))
            return prediction

        for record in current.log[number:position]:
            rate(unpickle_event(record))
        new_state = _add_checkpoint(new_state)  # later changes are near, mostly
        predictions = [rate(event) for event in events]
        if position < current.number:
            LOG.info("results from number %d on are replaced", position)
        self._replace_current(current, new_state)
        return predictions

    def _rate(
        self, current: LiveState, event: LiveEvent, packed: PackedEvent, newcomers: Mapping[Any, int]
    ) -> tuple[LiveState, Any]:
        """The history with one more event, in the memory of the one before it, and the prediction of the event."""
        state, number, players, log, ids, _, checkpoints = current
        state = self._state_with_room(current, len(newcomers)) if newcomers else state
        state, prediction = self._programs[event.kind](*self._arguments(packed, number), state, self._key)
        prediction = _prediction_on_host(event, prediction)
        if newcomers:
            ids.update(newcomers)
        log.append(pickle.dumps(tuple(event)))
        return LiveState(state, number + 1, players + len(newcomers), log, ids, event, checkpoints), prediction

    def _arguments(self, packed: PackedEvent, number: int = 0) -> tuple[Any, ...]:
        """The arguments of a program, up to the state."""
        integers, floats = np.array([number, *packed.integers], np.int32), np.array(packed.floats, self._float_type)
        return self._rules, packed.form, (self._prepared, integers, floats)

    def _state_with_room(self, current: LiveState, num_newcomers: int) -> State:
        """The state with rows for newcomers."""
        needed = current.players + num_newcomers
        if needed <= current.capacity:
            return current.state
        capacity = padded_size(needed, needed)
        return init_or_copy_state(self._system, self._system.params, current.state, capacity, current.capacity)

    def _replace_current(self, current: LiveState, new_state: LiveState) -> None:
        """Replace the current state; RuntimeError, which `take_turns` heeds, if another call has replaced it."""
        if self._current is not current:
            raise RuntimeError("another call has changed the history meanwhile")
        self._current = new_state


def unpickle_event(record: bytes) -> LiveEvent:
    """An event of the log."""
    return LiveEvent(*pickle.loads(record))


def _add_checkpoint(current: LiveState) -> LiveState:
    """The history with a checkpoint of its state, unless the last checkpoint is near."""
    first, *recent = current.checkpoints
    number = current.number - current.checkpoints[-1].number
    if number < max(1, current.capacity // CHECKPOINT_CAPACITY_SHARE):
        return current
    kept = recent[1 - MAX_RECENT_CHECKPOINTS :]
    return current._replace(
        checkpoints=(first, *kept, Checkpoint(current.number, current.players, _state_on_host(current)))
    )


def _prediction_on_host(event: LiveEvent, prediction: Any) -> Any:
    """The prediction of an event; a single number as a float."""
    if getattr(prediction, "shape", None) == ():
        return np.asarray(prediction).item()
    size = None if event.sizes is None else len(event.names)
    return jax.tree.map(lambda x: np.asarray(x)[:size] if np.ndim(x) else np.asarray(x), prediction)


def _state_on_host(current: LiveState) -> State:
    """A copy of the state [players, ...] in arrays of NumPy, without rows that are kept free."""
    return jax.tree.map(lambda x: np.array(np.asarray(x)[: current.players]), current.state)


@enforce_argument_annotations
def start_history(
    rated: History | RatingSystem,
    players: Sequence[Any] | None = None,
    state: State = None,
    *,
    key: Key | None = None,
) -> Live:
    """Live ratings, which take one result at a time, in some tens of microseconds a match.

        live = jr.live.start_history(jr.load("season"))  # or jr.live.start_history(jr.glicko())
        live.update("Ada", "Bo", 1.0, time="2026-06-01")
        live.predict("Bo", "Cy")
        jr.save("season", live)

    The numbers are those of `run` over the same events: to the last bit on a CPU for matches of Elo, Glicko and
    Glicko-2, otherwise to rounding. A program is compiled for the first event of each kind, and again whenever the
    number of rows for players has doubled. Every result is kept, in about 100 bytes a match; `to_rated` replays them,
    millions in a second. Seasons are those in the system's settings; no others begin.

    Args:
      rated: a rated history to continue, as from `rate` or `load`; or a system of matches, of contests or
        of both.
      players: with a system, the names of players, all text or all numbers. Others join when they first play.
      state: with a system, the state of these players, as from `run` or `initial_state`. None: all are newcomers.
      key: a PRNG key for systems that draw random numbers, as for `run`. None: a key that depends on the number of
        events before, as for `rate`.

    Raises:
      ValueError: for a system of rating periods only, a history in periods, names that repeat or that one table cannot
        hold, or a state of other players or of another system.
    """
    base = rated if isinstance(rated, History) else None
    check_that(base is None or players is None, "a rated history has players of its own")
    system, state, players = resolve_system_state_and_players(rated, state, players, needs_state=False)
    check_concrete("live ratings are kept", (state, key), "; jr.scan goes on from a traced state")
    of_periods = getattr(base, "period", None) is not None or not {Matches, Rounds} & {*system.events}
    advice = f"rate the periods of {system.name} by jr.rate(..., onto=...)"
    check_that(not of_periods, f"live ratings are of matches and contests; {advice}")
    check_that(not is_random_numbers(key), "key must be a PRNG key, such as jax.random.key(0)")
    ids = ids_of_different_players([] if players is None else players)
    if state is not None:
        state = restore_state(system, len(ids), {name: np.asarray(x) for name, x in leaves_by_name(state).items()})
    if key is None and system.rules.draw is not None:
        key = jax.random.fold_in(jax.random.key(0), getattr(base, "num_rows", 0))
    return Live(system, state, ids, base, key)
