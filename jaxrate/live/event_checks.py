"""What is told to a live history: checks, the events that are kept, and arrays of these."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxrate.core.argument_checks import check_not_traced, is_sized
from jaxrate.core.array_types import HostArray
from jaxrate.core.system import EventCheck, RatingSystem, accept_any_events
from jaxrate.core.text_format import format_value_for_error, join_names
from jaxrate.data.column_conversion import is_usable_as_name
from jaxrate.data.lookalike_names import unstorable_reason
from jaxrate.events import Context, Matches, NameFormatters, Ragged, Rounds, build_rounds, check_clock, matches
from jaxrate.live.compiled_event_programs import PackedEvent, pack_contest, pack_match
from jaxrate.replay.checked_replay import check_system_takes_events
from jaxrate.systems.skills.settings import contest_result_columns, match_result_columns


class LiveEvent(NamedTuple):
    """A match or a contest as it was told."""

    names: Sequence[Any]  # of the players, team by team
    result: Any  # the score of the first player; the ranks [teams] of a contest
    time: float
    context: dict[str, Any]  # what else is known of it, by name
    sizes: list[int] | None = None  # of the teams of a contest; None: a match

    @property
    def kind(self) -> type:
        """`Matches` or `Rounds`."""
        return Matches if self.sizes is None else Rounds


# --- Names of players. ---

NAME_TYPES: tuple[Any, ...] = (str, bytes, (int, float, np.integer, np.floating))  # a table needs names of one type


def check_player_name(name: Any, others: Sequence[Any]) -> None:
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


def check_player_names(players: Sequence[Any] | None) -> list[Any]:
    """The names of players; ValueError for one that a table cannot hold with the others, or that is repeated."""
    names: list[Any] = np.asarray([] if players is None else players, object).tolist()
    for name in names:
        check_player_name(name, names[:1])
    if len(set(names)) < len(names):
        raise ValueError("players names somebody twice")
    return names


def plain_names(names: Sequence[Any]) -> list[Any]:
    """Names with Python's numbers and texts in place of NumPy's, which take longer to log."""
    return [name.item() if isinstance(name, np.generic) else name for name in names]


# --- Matches and contests as they are told. ---

SIDES = {"a": 1.0, "b": -1.0}  # as in `read`
MATCH_FIELDS = "side", "weight", "category", "columns"
CONTEST_FIELDS = "weight", "ceiling", "noise", "category", "columns"


def make_match(names: Sequence[Any], score: Any, time: float, context: Mapping[str, Any]) -> LiveEvent:
    """A match of two players; ValueError if it is invalid. Categories are numbers."""
    known = _parse_fields("match", MATCH_FIELDS, context) if context else {}
    if "side" in known:
        side = known["side"]
        if isinstance(side, str) and side not in SIDES:
            raise ValueError(f"side must be a number, 'a' or 'b', got {side!r}")
        known["side"] = _check_number("side", SIDES[side] if isinstance(side, str) else side, -1.0, 1.0)
    if "weight" in known:
        known["weight"] = _check_number("weight", known["weight"], 0.0, np.inf, exclusive_low=True)
    return LiveEvent(plain_names(names), _check_number("score", score, 0.0, 1.0), time, known)


def split_teams(players: Any) -> tuple[list[Any], list[int]]:
    """The names of a contest's players, team by team, and the sizes of the teams; a name outside a list is a team."""
    if not isinstance(players, (list, tuple, np.ndarray)) or not is_sized(players) or not len(players):
        raise ValueError(
            f"players must be a list of names, or of lists of names, got {format_value_for_error(players)}"
        )
    teams = [list(x) if isinstance(x, (list, tuple, np.ndarray)) else [x] for x in players]
    if not all(teams):
        raise ValueError(f"team {teams.index([])} (counting from 0) has no players")
    return [name for team in teams for name in team], [*map(len, teams)]


def make_contest(
    names: Sequence[Any], sizes: list[int], rank: Any, time: float, context: Mapping[str, Any]
) -> LiveEvent:
    """A contest of teams of these sizes; None as rank: in their order. ValueError if it is invalid."""
    rank = np.arange(len(sizes)) if rank is None else np.asarray(rank)
    if rank.shape != (len(sizes),):
        raise ValueError(
            f"rank must have {len(sizes)} numbers, one for each player or team, got "
            f"{format_value_for_error(rank.tolist())}"
        )
    return LiveEvent(plain_names(names), rank, time, _parse_fields("contest", CONTEST_FIELDS, context), sizes)


def _check_number(name: str, value: Any, low: float, high: float, exclusive_low: bool = False) -> float:
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


def _parse_fields(event: str, fields: Sequence[str], context: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of an event of this name, without what is None; ValueError for what it does not have."""
    known = {name: x for name, x in context.items() if x is not None}
    for name, value in known.items():
        if name not in fields:
            hint = f"; give {name} as columns={{{name!r}: {value!r}}}" if isinstance(value, (int, float)) else ""
            raise ValueError(f"a {event} has no {name!r}; it has {join_names(fields)}{hint}")
    if not isinstance(known.get("columns", {}), Mapping):
        raise ValueError(f"columns must be a dict by name, got {known['columns']!r}")
    return known


def check_clock_of_event(clock: str | None, has_events: bool, time: Any) -> None:
    """ValueError unless a time, or None, is on the clock of the events so far."""
    if time is None and clock is not None:
        raise ValueError("the events so far have times; give time=")
    if time is not None and has_events and clock is None:
        raise ValueError("the events so far have no times; leave out time")
    if clock is not None:
        check_clock(clock, time)


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


# --- Events as arrays, and for programs. ---

WITHOUT_FIELD = {"side": 0.0, "weight": 1.0, "ceiling": np.inf, "noise": 1.0, "category": 0}  # of an event without one
EMPTY_MATCH = Matches(np.zeros(2, np.int32), np.zeros(()), np.zeros(()))
FIELD_VALUE: Any = np.zeros(())
MATCH_FORMS = {  # forms of matches by the names of their fields
    (): pack_match(EMPTY_MATCH).form,
    ("side",): pack_match(EMPTY_MATCH._replace(context=Context(side=FIELD_VALUE))).form,
    ("weight",): pack_match(EMPTY_MATCH._replace(context=Context(weight=FIELD_VALUE))).form,
    ("side", "weight"): pack_match(EMPTY_MATCH._replace(context=Context(FIELD_VALUE, FIELD_VALUE))).form,
}


def required_match_columns(system: RatingSystem) -> tuple[str, ...]:
    """The columns that a system needs of a match, by its settings."""
    return *match_result_columns(system.settings), *system.settings.get("covariates", ())


def takes_plain_matches(system: RatingSystem) -> bool:
    """Whether a system needs no columns of a match, and has no checks of its own."""
    check = system.check.check if isinstance(system.check, EventCheck) else system.check
    return check is accept_any_events and not required_match_columns(system)


def fill_results_to_come(system: RatingSystem, context: dict[str, Any]) -> dict[str, Any]:
    """The context of an event to come, with zeros for columns that are known after it only."""
    columns, results = context.get("columns"), contest_result_columns(system.settings)
    if not results or not isinstance(columns, Mapping | None):
        return context
    return context | {"columns": dict.fromkeys(results, 0.0) | dict(columns or {})}


def pack_event(system: RatingSystem, event: LiveEvent, ids: list[int], key: Any) -> PackedEvent:
    """An event for a program; ValueError if it is not right, or the system does not take it."""
    id_by_name = dict(zip(event.names, ids, strict=True))
    if event.sizes is not None:
        contest = to_contests([event], id_by_name)
        check_system_takes_events(system, contest, key)
        return pack_contest(contest)
    known = event.context.get("columns", {})
    if missing := [name for name in required_match_columns(system) if name not in known]:
        example = ", ".join(f"{name!r}: ..." for name in missing)
        raise ValueError(f"{system.name} learns from {missing[0]!r}, which is missing; give columns={{{example}}}")
    match = to_matches([event], id_by_name)
    system.check(match)
    return pack_match(jax.tree.map(lambda x: x[0], match))


def pack_plain_match(event: LiveEvent, ids: list[int]) -> PackedEvent | None:
    """A match without category and columns for a program, in a tenth of the time; None: it has these."""
    fields = sorted(event.context)
    form = MATCH_FORMS.get(tuple(fields))
    if form is None:
        return None
    return PackedEvent(form, ids, [event.result, event.time, *[event.context[name] for name in fields]])


def to_matches(events: Sequence[LiveEvent], ids: Mapping[Any, int]) -> Matches:
    """Matches as a history, checked as `jr.matches` does; ids are by name."""

    def as_row(name: str, value: Any, _: LiveEvent) -> Any:
        return [[value] * 2 if name == "category" and np.ndim(value) == 0 else value]

    names, score, time, *_ = zip(*events, strict=True)
    return matches([[ids[x] for x in pair] for pair in names], score, time, **_context_columns(events, as_row))


def to_contests(events: Sequence[LiveEvent], ids: Mapping[Any, int]) -> Ragged:
    """Contests as a history, checked as `jr.rounds` does; ids are by name."""

    def repeat_by_team(values: Iterable[Any]) -> HostArray:
        return np.concatenate([np.repeat(x, event.sizes or 0) for x, event in zip(values, events, strict=True)])

    counts = [len(event.names) for event in events]
    return build_rounds(
        np.repeat(np.arange(len(events)), counts),
        np.array([ids[name] for event in events for name in event.names]),
        repeat_by_team(event.result for event in events),
        team=repeat_by_team(np.arange(len(event.result)) for event in events),
        time=np.repeat([event.time for event in events], counts),
        formatters=NameFormatters(player=lambda player: repr(next(x for x in ids if ids[x] == player))),
        **_context_columns(events, _as_rows_of_players),
    )


def _as_rows_of_players(_: str, value: Any, event: LiveEvent) -> Any:
    """A value of a contest for each of its players, in order: of all, of each, or nested as the teams."""
    if isinstance(value, (list, tuple)) and all(isinstance(x, (list, tuple, np.ndarray)) for x in value):
        value = [x for team in value for x in team]
    return value if np.ndim(value) else np.full(len(event.names), value)


def _context_columns(
    events: Sequence[LiveEvent], rows_of_value: Callable[[str, Any, LiveEvent], Any]
) -> dict[str, Any]:
    """What is known of some of the events, by name, as columns of all."""

    def join(known: Sequence[Mapping[str, Any]], missing: Mapping[str, Any]) -> dict[str, Any]:
        pairs = [*zip(known, events, strict=True)]
        return {
            name: _join_rows([np.asarray(rows_of_value(name, x.get(name, value), event)) for x, event in pairs])
            for name, value in missing.items()
        }

    contexts, further = [event.context for event in events], [event.context.get("columns", {}) for event in events]
    fields = {name: WITHOUT_FIELD[name] for x in contexts for name in x if name != "columns"}
    return join(contexts, fields) | {"columns": join(further, dict.fromkeys(chain(*further), np.nan))}


def _join_rows(parts: Sequence[HostArray]) -> HostArray:
    """The rows of all; categories may be shares in some of them."""
    widest = max(parts, key=np.ndim)
    return np.concatenate([x if x.ndim == widest.ndim else np.eye(widest.shape[-1])[x] for x in parts])
