"""What is told to a live history: checks, the events that are kept, and arrays of these."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.core.argument_checks import check_not_traced, is_sized
from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import State
from jaxrate.core.system import EventCheck, RatingSystem, accept_any_events
from jaxrate.core.text_format import format_value_for_error, join_names
from jaxrate.data.column_conversion import is_usable_as_name
from jaxrate.data.lookalike_names import accentless_key, describe_new_names, similar_names_hint, unstorable_reason
from jaxrate.events import (
    MAX_ABS_TIME,
    Context,
    Matches,
    NameFormatters,
    Ragged,
    Rounds,
    as_event_time,
    build_rounds,
    check_clock,
    matches,
)
from jaxrate.history.history import History, format_time
from jaxrate.history.ratings_at_times import date_format_of_history_file, parse_written_date
from jaxrate.live.compiled_event_programs import PackedEvent, pack_contest, pack_match
from jaxrate.replay.checked_replay import check_system_takes_events, depends_on_time
from jaxrate.systems.skills.settings_and_event_checks import contest_result_columns, match_result_columns


class LiveEvent(NamedTuple):
    """A match or a contest as it was told, with ids for names."""

    ids: list[int]  # of the players, team by team
    result: Any  # the score of the first player; the ranks [teams] of a contest
    time: float
    context: dict[str, Any]  # what else is known of it, by name
    sizes: Any = None  # list of the sizes of the teams of a contest; None: a match

    @property
    def kind(self) -> type:
        """`Matches` or `Rounds`."""
        return Matches if self.sizes is None else Rounds


class Checkpoint(NamedTuple):
    """A state from which events are rated again."""

    number: int  # number of events before it
    players: int
    state: State  # leaves [players, ...] on the host; None: all are newcomers


class LiveState(NamedTuple):
    """All that changes. After a call that was interrupted there may be more in the log and in `ids` than is valid."""

    state: State  # leaves [capacity, ...]
    capacity: int
    number: int  # number of events since the history began
    players: int
    log: list[bytes]  # each event, pickled
    ids: dict[Any, int]  # by name, in order
    last: float | None
    clock: str | None
    kind: type | None
    checkpoints: tuple[Checkpoint, ...]  # the first, and some recent ones
    base: History | None  # what the history goes on from

    @property
    def names(self) -> list[Any]:
        """The names of the players in order of id."""
        return [*self.ids][: self.players]


# --- Kinds of events, and times. ---

EVENT_NAMES = {Matches: "matches", Rounds: "contests"}


def check_event_kind(system: RatingSystem, current: LiveState, kind: type) -> None:
    """ValueError unless the system rates such events and the history consists of them."""
    if kind not in system.events:
        hint = "give a match as a contest of two, by update_round" if kind is Matches else "take update"
        raise ValueError(f"{system.name} rates no {EVENT_NAMES[kind]}; {hint}")
    if current.kind not in (None, kind):
        raise ValueError(f"the history is of {EVENT_NAMES[current.kind]}, this is one of {EVENT_NAMES[kind]}")


def convert_event_time(current: LiveState, time: Any) -> float:
    """The time of an event as a number; ValueError unless the events so far have such times."""
    if time is None:
        if current.clock is not None:
            raise ValueError("the events so far have times; give time=")
        return 0.0
    if current.kind is not None and current.clock is None:
        raise ValueError("the events so far have no times; leave out time")
    clock, is_plain_float = current.clock, type(time) is float and -MAX_ABS_TIME <= time <= MAX_ABS_TIME
    if clock is not None and not (is_plain_float and clock == "numbers"):
        check_clock(clock, time)
    if isinstance(time, str):  # as in the file of the history, or in another form that is clear
        return parse_written_date(time, date_format_of_history_file(current.base))
    event_time: float = time if is_plain_float else as_event_time("time", time)
    return event_time


def check_time_order(system: RatingSystem, current: LiveState, time: float, last: float | None) -> float:
    """The time of an event; ValueError if it is earlier than the event before it, where that matters."""
    if last is not None and time < last and (current.kind is Matches or depends_on_time(system, system.params)):
        early, late = (format_time(x, current.clock) for x in (time, last))
        raise ValueError(f"time {early} is earlier than {late}, that of the last event")
    return time


def time_of_next_event(system: RatingSystem, current: LiveState, time: Any) -> float:
    """The time of the next event as a number; ValueError also if it is earlier than the last."""
    return check_time_order(system, current, convert_event_time(current, time), current.last)


def resolve_prediction_time(system: RatingSystem, current: LiveState, time: Any) -> float:
    """The time of a prediction."""
    return (current.last or 0.0) if time is None else time_of_next_event(system, current, time)


# --- Players. ---

MAX_COMPARED_NAMES = 10_000  # names with which a newcomer's is compared
NAME_TYPES: tuple[Any, ...] = (str, bytes, (int, float, np.integer, np.floating))  # a table needs names of one type


def find_or_assign_player_ids(current: LiveState, players: Sequence[Any]) -> tuple[list[int], list[Any]]:
    """The ids of players, where newcomers come after all others, and the names of newcomers."""
    known_ids, ids = current.ids, []
    newcomers: list[Any] = []
    for name in players:
        try:
            player_id = known_ids.get(name)
        except TypeError:
            player_id = None
        if player_id is None:
            check_player_name_storable(name, [*islice(known_ids, 1), *newcomers])
            name = name.item() if isinstance(name, np.generic) else name
            if name not in newcomers:
                newcomers.append(name)
            player_id = current.players + newcomers.index(name)
        ids.append(player_id)
    return ids, newcomers


def check_player_name_storable(name: Any, others: Sequence[Any]) -> None:
    """ValueError unless a table can hold the name together with others."""
    kind = next((kind for kind in NAME_TYPES if isinstance(name, kind)), None)
    if kind is None or isinstance(name, bool) or not is_usable_as_name(name):
        raise ValueError(f"{format_value_for_error(name)} cannot be the name of a player")
    if isinstance(name, str) and not name.strip():
        raise ValueError(f"a player needs a name, got {name!r}")
    if reason := unstorable_reason(name):
        raise ValueError(f"player {format_value_for_error(name)} {reason}")
    if others and not isinstance(others[0], kind):
        raise ValueError(
            f"player {format_value_for_error(name)} is of another type than "
            f"{format_value_for_error(others[0])}; a table needs names of one"
        )


def warn_similar_newcomers(newcomers: Sequence[Any], current: LiveState, stacklevel: int) -> None:
    """UserWarning where text names somebody who has not played, and looks like the name of a player."""
    for name in newcomers if current.players <= MAX_COMPARED_NAMES else ():
        if isinstance(name, str) and (similar := similar_names_hint(name, current.names)):
            text = f"{format_value_for_error(name)} has not played, and is predicted as a newcomer{similar}"
            warnings.warn(text, UserWarning, stacklevel=stacklevel)


def warn_newcomers_like_players(
    newcomers: Sequence[Any], current: LiveState, names_by_key: dict[str, str], stacklevel: int
) -> None:
    """UserWarning where a newcomer's name differs from a player's only by blanks, letter case or accents.

    Args:
      newcomers: names.
      current: the state of the history.
      names_by_key: names by `accentless_key`, of all that the history had since it began; changed in place.
      stacklevel: as of `warnings.warn`.
    """
    if not names_by_key:
        if current.players > MAX_COMPARED_NAMES:
            return
        names = filter(lambda name: isinstance(name, str), current.names)
        names_by_key.update((accentless_key(name), name) for name in names)
    pairs = []
    for name in filter(lambda name: isinstance(name, str), newcomers):
        known = names_by_key.setdefault(accentless_key(name), name)
        if known not in current.ids:  # which was undone, or is this one
            names_by_key[accentless_key(name)] = name
        elif known != name:
            pairs.append((name, known))
    if pairs:
        warnings.warn(describe_new_names(pairs, "blanks, letter case or accents"), UserWarning, stacklevel=stacklevel)


def check_player_names(players: Sequence[Any] | None) -> list[Any]:
    """The names of players; ValueError for one that a table cannot hold with the others, or that is repeated."""
    names: list[Any] = np.asarray([] if players is None else players, object).tolist()
    for name in names:
        check_player_name_storable(name, names[:1])
    if len(set(names)) < len(names):
        raise ValueError("players names somebody twice")
    return names


# --- Matches. ---


def check_number(name: str, value: Any, low: float, high: float, exclusive_low: bool = False) -> float:
    """A number from `low` to `high`; with `exclusive_low` above `low`. ValueError for anything else."""
    if type(value) is not float:
        check_not_traced(name, value, "jr.scan rates what is traced")
        array = np.asarray(value)
        if array.shape != () or array.dtype.kind not in "biuf":
            raise ValueError(f"{name} must be a number, got {format_value_for_error(value)}")
        value = float(array)
    if not (low <= value <= high) or (exclusive_low and value <= low) or value == np.inf:
        bounds = f"a finite number above {low:g}" if exclusive_low else f"from {low:g} to {high:g}"
        raise ValueError(f"{name} must be {bounds}, got {value}")
    return value


SIDES = {"a": 1.0, "b": -1.0}  # as in `read`
MATCH_FIELDS = "side", "weight", "category", "columns"
CONTEST_FIELDS = "weight", "ceiling", "noise", "category", "columns"
WITHOUT_FIELD = {"side": 0.0, "weight": 1.0, "ceiling": np.inf, "noise": 1.0, "category": 0}  # of an event without one
EMPTY_MATCH = Matches(np.zeros(2, np.int32), np.zeros(()), np.zeros(()))
OPTIONAL_LEAVES = None, np.zeros(())
MATCH_FORMS = {  # forms of matches without and with a side and a weight
    (i, j): pack_match(EMPTY_MATCH._replace(context=Context(OPTIONAL_LEAVES[i], OPTIONAL_LEAVES[j]))).form
    for i in (False, True)
    for j in (False, True)
}


class RequiredMatchColumns(NamedTuple):
    """The columns that a system needs of a match."""

    system: RatingSystem
    results: tuple[str, ...]  # columns that are known after the match only: margins, statistics and quits
    columns: tuple[str, ...]  # all columns that it must have
    is_simple: bool  # whether it needs no columns, and has no checks of its own


def required_match_columns(system: RatingSystem) -> RequiredMatchColumns:
    """The columns that a system needs, by its settings."""
    settings = system.settings
    results = contest_result_columns(settings)
    columns = *match_result_columns(settings), *settings.get("covariates", ())
    check = system.check.check if isinstance(system.check, EventCheck) else system.check
    return RequiredMatchColumns(system, results, columns, check is accept_any_events and not columns)


def make_match(ids: list[int], score: Any, time: float, context: Mapping[str, Any]) -> LiveEvent:
    """A match of the players with these ids; ValueError if it is invalid. Categories are numbers."""
    if not context:
        return LiveEvent(ids, check_number("score", score, 0.0, 1.0), time, {})
    known = {name: x for name, x in context.items() if x is not None}
    check_context("match", MATCH_FIELDS, known)
    if "side" in known:
        known["side"] = check_number("side", _side_label_to_number(known["side"]), -1.0, 1.0)
    if "weight" in known:
        known["weight"] = check_number("weight", known["weight"], 0.0, np.inf, exclusive_low=True)
    return LiveEvent(ids, check_number("score", score, 0.0, 1.0), time, known)


def _side_label_to_number(side: Any) -> Any:
    if not isinstance(side, str):
        return side
    if side not in SIDES:
        raise ValueError(f"side must be a number, 'a' or 'b', got {side!r}")
    return SIDES[side]


def check_context(event: str, fields: Sequence[str], context: Mapping[str, Any]) -> None:
    """ValueError for what an event of this name does not have."""
    for name, value in context.items():
        if name not in fields:
            hint = f"; give {name} as columns={{{name!r}: {value!r}}}" if isinstance(value, (int, float)) else ""
            raise ValueError(f"a {event} has no {name!r}; it has {join_names(fields)}{hint}")
    if not isinstance(context.get("columns", {}), Mapping):
        raise ValueError(f"columns must be a dict by name, got {context['columns']!r}")


def check_required_columns(requirements: RequiredMatchColumns, context: Mapping[str, Any]) -> None:
    """ValueError for a match without a column of which the system learns."""
    missing = [name for name in requirements.columns if name not in context.get("columns", {})]
    if missing:
        example = ", ".join(f"{name!r}: ..." for name in missing)
        raise ValueError(
            f"{requirements.system.name} learns from {missing[0]!r}, which is missing; give columns={{{example}}}"
        )


def number_categories(context: dict[str, Any], categories: Any) -> dict[str, Any]:
    """The context with categories as numbers, where the history has names for them."""
    value = context.get("category")
    if value is None or categories is None:
        return context
    names = categories.tolist()

    def number(name: Any) -> Any:
        if np.ndim(name):
            return name  # shares of categories
        if name not in names:
            raise ValueError(f"no category {name!r}; there are {', '.join(map(str, names))}")
        return names.index(name)

    return context | {"category": [number(x) for x in value] if np.ndim(value) else number(value)}


def with_results_to_come(requirements: RequiredMatchColumns, context: dict[str, Any]) -> dict[str, Any]:
    """The context of an event to come, with zeros for columns that are known after it only."""
    columns = context.get("columns")
    if not requirements.results or not isinstance(columns, Mapping | None):
        return context
    return context | {"columns": dict.fromkeys(requirements.results, 0.0) | dict(columns or {})}


# --- Contests. ---


def to_teams(players: Any) -> list[list[Any]]:
    """Teams as lists of names; a name outside a list is a team of one."""
    if not isinstance(players, (list, tuple, np.ndarray)) or not is_sized(players) or not len(players):
        raise ValueError(
            f"players must be a list of names, or of lists of names, got {format_value_for_error(players)}"
        )
    teams = [list(x) if isinstance(x, (list, tuple, np.ndarray)) else [x] for x in players]
    if not all(teams):
        raise ValueError(f"team {teams.index([])} (counting from 0) has no players")
    return teams


def make_contest(ids: list[int], sizes: list[int], rank: Any, time: float, context: Mapping[str, Any]) -> LiveEvent:
    """A contest of teams of these sizes; ValueError if it is invalid. Categories are numbers."""
    rank = np.arange(len(sizes)) if rank is None else np.asarray(rank)
    if rank.shape != (len(sizes),):
        raise ValueError(
            f"rank must have {len(sizes)} numbers, one for each player or team, got "
            f"{format_value_for_error(rank.tolist())}"
        )
    known = {name: x for name, x in context.items() if x is not None}
    check_context("contest", CONTEST_FIELDS, known)
    return LiveEvent(ids, rank, time, known, sizes)


# --- Events as arrays. ---


def to_matches(events: Sequence[LiveEvent]) -> Matches:
    """Matches as a history, checked as `jr.matches` does."""

    def as_row(name: str, value: Any, _: LiveEvent) -> Any:
        return [[value] * 2 if name == "category" and np.ndim(value) == 0 else value]

    ids, score, time, *_ = zip(*events, strict=True)
    return matches(ids, score, time, **_context_columns(events, as_row))


def to_contests(events: Sequence[LiveEvent], format_player: Callable[[int], str] = str) -> Ragged:
    """Contests as a history, checked as `jr.rounds` does."""

    def value_per_player(_: str, value: Any, event: LiveEvent) -> Any:
        if isinstance(value, (list, tuple)) and all(isinstance(x, (list, tuple, np.ndarray)) for x in value):
            value = [x for team in value for x in team]  # nested as the teams
        return value if np.ndim(value) else np.full(len(event.ids), value)

    counts = [len(event.ids) for event in events]
    team = np.concatenate([np.repeat(np.arange(len(event.result)), event.sizes) for event in events])
    rank = np.concatenate([np.repeat(event.result, event.sizes) for event in events])
    return build_rounds(
        np.repeat(np.arange(len(events)), counts),
        np.concatenate([event.ids for event in events]),
        rank,
        team=team,
        time=np.repeat([event.time for event in events], counts),
        formatters=NameFormatters(player=format_player),
        **_context_columns(events, value_per_player),
    )


def _context_columns(
    events: Sequence[LiveEvent], rows_of_value: Callable[[str, Any, LiveEvent], Any]
) -> dict[str, Any]:
    """What is known of some of the events, by name, as columns of all."""

    def column(name: str, missing: Any, known: Sequence[Mapping[str, Any]]) -> HostArray:
        values = (x.get(name, missing) for x in known)
        return _join_rows([rows_of_value(name, x, event) for x, event in zip(values, events, strict=True)])

    contexts, further = [event.context for event in events], [event.context.get("columns", {}) for event in events]
    fields = {name: WITHOUT_FIELD[name] for x in contexts for name in x if name != "columns"}
    names = dict.fromkeys((name for x in further for name in x), np.nan)
    columns = {name: column(name, missing, further) for name, missing in names.items()}
    return {name: column(name, missing, contexts) for name, missing in fields.items()} | {"columns": columns}


def _join_rows(parts: Sequence[Any]) -> HostArray:
    """The rows of all; categories may be shares in some of them."""
    arrays = [*map(np.asarray, parts)]
    widest = max(arrays, key=np.ndim)
    return np.concatenate([x if x.ndim == widest.ndim else np.eye(widest.shape[-1])[x] for x in arrays])


def pack_event(
    requirements: RequiredMatchColumns, event: LiveEvent, key: Any, format_player: Callable[[int], str] = str
) -> PackedEvent:
    """An event for a program; ValueError if it is not right, or the system does not take it."""
    context = event.context
    if event.sizes is not None:
        contest = to_contests([event], format_player)
        check_system_takes_events(requirements.system, contest, key)
        return pack_contest(contest)
    plain = [context[name] for name in ("side", "weight") if name in context] if context else []
    if requirements.is_simple and len(plain) == len(context):
        form = MATCH_FORMS["side" in context, "weight" in context]
        return PackedEvent(form, event.ids, [event.result, event.time, *plain])
    check_required_columns(requirements, context)
    match = to_matches([event])
    requirements.system.check(match)
    return pack_match(jax.tree.map(lambda x: x[0], match))
