"""Events of live histories, packed for compiled programs."""

import struct
import warnings
from collections.abc import Callable, Mapping, Sequence
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
    LAST_ID,
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
from jaxrate.live import compiled_event_programs
from jaxrate.live.compiled_event_programs import pack_event
from jaxrate.replay.checked_replay import depends_on_time
from jaxrate.systems.skills.settings_and_event_checks import contest_result_columns, match_result_columns


class Checkpoint(NamedTuple):
    """A state from which events are rated again."""

    number: int  # number of events before it
    players: int
    state: State  # leaves [players, ...] on the host; None: all are newcomers


class CheckpointsAndTabulatedEvents(NamedTuple):
    """The parts that change rarely: checkpoints, and the table of the events that were tabulated."""

    checkpoints: tuple[Checkpoint, ...]  # the first, and some recent ones
    table: History | None
    number: int  # number of events in the table
    rows: int  # rows of these events


class LiveState(NamedTuple):
    """All that changes. Lists may be too long after an update that was interrupted."""

    state: State  # leaves [room, ...]
    capacity: int
    number: int  # number of valid events in the log
    players: int  # number of valid players
    log: list[bytes]
    names: list[Any]
    ids: dict[Any, int]
    last: float | None
    clock: str | None
    kind: type | None
    past: CheckpointsAndTabulatedEvents


class ConcurrentHistoryChangeError(Exception):
    """Another call, such as one of a signal handler, has changed the history meanwhile."""


HEADER_LENGTH = 2  # integers before those of the event: number of its layout, and number of players after it


class PackedEvent(NamedTuple):
    """An event, checked and packed."""

    kind: type  # `Matches` or `Rounds`
    structure: compiled_event_programs.EventStructure
    integers: list[int]
    floats: list[float]

    @property
    def time(self) -> float:
        """The time of the event: the float after the score of a match, or after the weights of a contest."""
        return self.floats[1] if self.kind is Matches else self.floats[self.structure.leaves[0][0][0]]

    @property
    def event(self) -> Any:
        """The event that was packed, with one row."""
        return self.structure.unpack_on_host(np.array(self.integers, np.int32), np.array(self.floats))

    @property
    def size(self) -> int:
        """The number of participants of a contest, without padding."""
        return int(np.sum(self.event.rank != LAST_ID))


class RecordLayout(NamedTuple):
    """The layout of records of events with one structure."""

    number: int  # number of the layout, which its records begin with
    kind: type
    structure: compiled_event_programs.EventStructure
    packer: struct.Struct
    num_integers: int  # number of integers
    num_floats: int  # number of floats

    @staticmethod
    def from_event(number: int, event: PackedEvent) -> "RecordLayout":
        num_integers, num_floats = len(event.integers), len(event.floats)
        return RecordLayout(
            number,
            event.kind,
            event.structure,
            struct.Struct(f"<{HEADER_LENGTH + num_integers}i{num_floats}d"),
            num_integers,
            num_floats,
        )

    def pack(self, event: PackedEvent, num_players: int, outputs: HostArray) -> bytes:
        """The record of an event: with the number of players after it, and the outputs of its program."""
        return self.packer.pack(self.number, num_players, *event.integers, *event.floats) + outputs.tobytes()

    def unpack(self, record: bytes) -> PackedEvent:
        values = self.packer.unpack_from(record)
        end = HEADER_LENGTH + self.num_integers
        return PackedEvent(self.kind, self.structure, list(values[HEADER_LENGTH:end]), list(values[end:]))


def record_layout_number(record: bytes) -> int:
    """The number of the layout of a record."""
    return int.from_bytes(record[:4], "little")


def num_players_after_record(record: bytes) -> int:
    """The number of players after an event."""
    return int.from_bytes(record[4:8], "little")


def unpack_matches(records: Sequence[bytes], layouts: Sequence[RecordLayout], dtype: Any) -> tuple[Matches, HostArray]:
    """The matches of records [n], and their outputs [n, k] in this precision."""
    numbers = np.array([record_layout_number(record) for record in records])
    player, score, time = np.empty((len(records), 2), np.int32), np.empty(len(records)), np.empty(len(records))
    outputs: Any = None
    for number in np.unique(numbers).tolist():
        rows, layout = np.flatnonzero(numbers == number), layouts[number]
        width = (len(records[rows[0]]) - layout.packer.size) // np.dtype(dtype).itemsize
        columns = [
            ("head", "<i4", HEADER_LENGTH),
            ("whole", "<i4", layout.num_integers),
            ("real", "<f8", layout.num_floats),
        ]
        table = np.frombuffer(
            b"".join(records[row] for row in rows.tolist()), np.dtype([*columns, ("shown", dtype, width)])
        )
        outputs = np.empty((len(records), width), dtype) if outputs is None else outputs
        player[rows], outputs[rows] = table["whole"][:, :2], table["shown"]
        score[rows], time[rows] = table["real"][:, 0], table["real"][:, 1]
    return Matches(player, score, time), outputs


def unpack_contests(records: Sequence[bytes], layouts: Sequence[RecordLayout], dtype: Any) -> tuple[Ragged, HostArray]:
    """The contests of records [n], and the outputs [sum P, k] of their participants in this precision."""
    player, rank, team, seat, outputs = (list[HostArray]() for _ in range(5))
    time, size, has_seats = list[float](), list[int](), False
    for record in records:
        layout = layouts[record_layout_number(record)]
        event = layout.unpack(record)
        rounds, count = event.event, event.size
        event_outputs = np.frombuffer(record, dtype, offset=layout.packer.size).reshape(len(rounds.player), -1)
        event_seats = np.arange(count, dtype=np.int32) if rounds.seat is None else rounds.seat
        for column, values in zip(
            (player, rank, team, seat, outputs), (*rounds[:3], event_seats, event_outputs), strict=True
        ):
            column.append(values[:count])
        has_seats |= rounds.seat is not None
        time.append(event.time)
        size.append(count)
    ids, ranks, teams = map(np.concatenate, (player, rank, team))
    seats = np.concatenate(seat) if has_seats else None
    participants: Any = Rounds(ids, ranks, teams, np.ones(sum(size)), np.array(time), seat=seats)
    return Ragged(participants, np.concatenate([[0], np.cumsum(size)]).astype(np.int64), None), np.concatenate(outputs)


SIDES = {"a": 1.0, "b": -1.0}  # as in `read`


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


def check_and_pack_match(
    requirements: RequiredMatchColumns,
    first_name: Any,
    ids: list[int],
    score: float,
    time: float,
    context: Mapping[str, Any],
    categories: Any,
) -> PackedEvent:
    """A match of the players with these ids, packed; ValueError if it is invalid."""
    if ids[0] == ids[1]:
        raise ValueError(f"player {first_name!r} is on both sides")
    if not context and requirements.is_simple:
        return PackedEvent(Matches, MATCH_FORMS[False, False], ids, [score, time])
    known_context = {name: x for name, x in context.items() if x is not None}
    side, weight = known_context.get("side"), known_context.get("weight")
    structure, floats = MATCH_FORMS[side is not None, weight is not None], [score, time]
    if side is not None:
        known_context["side"] = check_number("side", _side_label_to_number(side), -1.0, 1.0)
        floats.append(known_context["side"])
    if weight is not None:
        floats.append(check_number("weight", weight, 0.0, np.inf, exclusive_low=True))
    has_standard_fields = len(known_context) == len(floats) - 2
    if has_standard_fields and requirements.is_simple:
        return PackedEvent(Matches, structure, ids, floats)
    event = build_match(ids, score, time, known_context, categories)
    missing = [name for name in requirements.columns if name not in (event.context.columns or {})]
    if missing:
        example = ", ".join(f"{name!r}: ..." for name in missing)
        raise ValueError(
            f"{requirements.system.name} learns from {missing[0]!r}, which is missing; give columns={{{example}}}"
        )
    requirements.system.check(event)
    return (
        PackedEvent(Matches, structure, ids, floats)
        if has_standard_fields
        else PackedEvent(Matches, *pack_event(jax.tree.map(lambda x: x[0], event)))
    )


def _side_label_to_number(side: Any) -> Any:
    if not isinstance(side, str):
        return side
    if side not in SIDES:
        raise ValueError(f"side must be a number, 'a' or 'b', got {side!r}")
    return SIDES[side]


def check_event_kind(system: RatingSystem, current: LiveState, kind: type) -> None:
    """ValueError unless the system rates such events and the history consists of them."""
    if kind not in system.events:
        hint = "give a match as a contest of two, by update_round" if kind is Matches else "take update"
        raise ValueError(f"{system.name} rates no {EVENT_NAMES[kind]}; {hint}")
    if current.kind not in (None, kind):
        raise ValueError(f"the history is of {EVENT_NAMES[current.kind]}, this is one of {EVENT_NAMES[kind]}")


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
            check_player_name_storable(name, (*current.names[:1], *newcomers))
            name = name.item() if isinstance(name, np.generic) else name
            if name not in newcomers:
                newcomers.append(name)
            player_id = current.players + newcomers.index(name)
        ids.append(player_id)
    return ids, newcomers


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
        return parse_written_date(time, date_format_of_history_file(current.past.table))
    event_time: float = time if is_plain_float else as_event_time("time", time)
    return event_time


def check_and_convert_event_time(system: RatingSystem, current: LiveState, time: Any) -> float:
    """The time of the next event as a number; ValueError also if it is earlier than the last."""
    event_time, last = convert_event_time(current, time), current.last
    if last is not None and event_time < last and (current.kind is Matches or depends_on_time(system, system.params)):
        early, late = (format_time(x, current.clock) for x in (event_time, last))
        raise ValueError(f"time {early} is earlier than {late}, that of the last event")
    return event_time


def resolve_prediction_time(system: RatingSystem, current: LiveState, time: Any) -> float:
    """The time of a prediction."""
    return (current.last or 0.0) if time is None else check_and_convert_event_time(system, current, time)


MAX_COMPARED_NAMES = 10_000  # names with which a newcomer's is compared
EVENT_NAMES = {Matches: "matches", Rounds: "contests"}
NAME_TYPES: tuple[Any, ...] = (
    str,
    bytes,
    (int, float, np.integer, np.floating),
)  # types of names; a table needs names of one type

CONTEST_FIELDS = "weight", "ceiling", "noise", "category", "columns"
EMPTY_MATCH = Matches(np.zeros(2, np.int32), np.zeros(()), np.zeros(()))
OPTIONAL_LEAVES = None, np.zeros(())
MATCH_FORMS = {  # structures of matches without and with a side and a weight
    (i, j): pack_event(EMPTY_MATCH._replace(context=Context(OPTIONAL_LEAVES[i], OPTIONAL_LEAVES[j])))[0]
    for i in (False, True)
    for j in (False, True)
}


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


def warn_similar_newcomers(newcomers: Sequence[Any], names: Sequence[Any], stacklevel: int) -> None:
    """UserWarning where text names somebody who has not played, and looks like one of these names."""
    for name in newcomers if len(names) <= MAX_COMPARED_NAMES else ():
        if isinstance(name, str) and (similar := similar_names_hint(name, names)):
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
        names = filter(lambda name: isinstance(name, str), current.names[: current.players])
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


def build_match(ids: list[int], score: float, time: float, context: Mapping[str, Any], categories: Any) -> Matches:
    """One checked match as `Matches`; categories are names if the history has names, or numbers."""
    match_columns: dict[str, Any] = {}
    for name, value in context.items():
        if name in ("side", "weight"):
            match_columns[name] = [value]
        elif name == "columns":
            match_columns[name] = {key: [x] for key, x in value.items()} if isinstance(value, Mapping) else value
        elif name == "category":
            pair = [value] * 2 if np.ndim(value) == 0 else list(value)
            match_columns[name] = [[_category_index(x, categories) for x in pair]]
        else:
            hint = f"; give {name} as columns={{{name!r}: {value!r}}}" if isinstance(value, (int, float)) else ""
            raise ValueError(f"a match has no {name!r}; it has side, weight, category and columns{hint}")
    return matches([ids], [score], [time], **match_columns)


def _category_index(value: Any, categories: Any) -> Any:
    if categories is None or np.ndim(value):
        return value
    category_names = categories.tolist()
    if value not in category_names:
        raise ValueError(f"no category {value!r}; there are {', '.join(map(str, category_names))}")
    return category_names.index(value)


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


def build_contest(
    ids: list[int],
    sizes: list[int],
    rank: Any,
    time: float,
    context: Mapping[str, Any],
    categories: Any,
    name_of_index: Callable[[int], Any],
) -> Ragged:
    """One checked contest, as rounds, of teams of these sizes; categories as in `build_match`."""
    rank = np.arange(len(sizes)) if rank is None else np.asarray(rank)
    if rank.shape != (len(sizes),):
        raise ValueError(
            f"rank must have {len(sizes)} numbers, one for each player or team, got "
            f"{format_value_for_error(rank.tolist())}"
        )
    team, count = np.repeat(np.arange(len(sizes)), sizes), len(ids)
    round_columns: dict[str, Any] = {}
    for name, value in context.items():
        if name not in CONTEST_FIELDS:
            hint = f"; give {name} as columns={{{name!r}: {value!r}}}" if isinstance(value, (int, float)) else ""
            raise ValueError(f"a contest has no {name!r}; it has {join_names(CONTEST_FIELDS)}{hint}")
        if value is None:
            continue
        if name == "columns" and isinstance(value, Mapping):
            round_columns[name] = {key: _value_per_player(x, count) for key, x in value.items()}
        elif name == "category":
            each = value if np.ndim(value) else [value] * count
            round_columns[name] = [_category_index(x, categories) for x in each]
        else:
            round_columns[name] = value if name == "columns" else _value_per_player(value, count)
    formatters = NameFormatters(player=lambda i: repr(name_of_index(i)))
    return build_rounds(
        np.zeros(count, int),
        ids,
        rank[team],
        team=team,
        time=np.full(count, time),
        formatters=formatters,
        **round_columns,
    )


def _value_per_player(value: Any, count: int) -> Any:
    """[count] values: one for every player as they are, a single one for all."""
    if isinstance(value, (list, tuple)) and all(isinstance(x, (list, tuple, np.ndarray)) for x in value):
        value = [x for team in value for x in team]  # nested as the teams
    return value if np.ndim(value) else np.full(count, value)


def match_context_to_arguments(match: Matches, categories: Any) -> dict[str, Any]:
    """The context of a match, as arguments of `build_match`."""
    context = match.context
    match_columns: dict[str, Any] = {"side": context.side, "weight": context.weight, "category": context.category}
    match_columns = {name: x.tolist() for name, x in match_columns.items() if x is not None}
    if categories is not None and context.category is not None and np.ndim(context.category) == 1:
        match_columns["category"] = [categories.tolist()[i] for i in match_columns["category"]]
    if context.columns:
        match_columns["columns"] = {name: float(x) for name, x in context.columns.items()}
    return match_columns


def contest_to_build_contest_arguments(
    contest: Rounds, categories: Any
) -> tuple[list[int], list[int], float, dict[str, Any]]:
    """The arguments of `build_contest` of a padded contest: ids, sizes of teams, time, and context."""
    is_participant = contest.rank != LAST_ID
    sizes = np.unique(contest.team[is_participant], return_counts=True)[1]
    context: dict[str, Any] = {"weight": contest.weight[is_participant]}
    context |= {"ceiling": contest.ceiling, "noise": contest.noise}
    if contest.category is not None:
        category = np.asarray(contest.category)[is_participant].tolist()
        is_named = categories is not None and np.ndim(contest.category) == 1
        context["category"] = categories[category].tolist() if is_named else category
    if contest.columns:
        context["columns"] = {name: np.asarray(x)[is_participant] for name, x in contest.columns.items()}
    return contest.player[is_participant].tolist(), sizes.tolist(), float(contest.time), context


def contest_team_ranks(contest: Rounds) -> HostArray:
    """[teams] the ranks of the teams of a padded contest."""
    is_participant = contest.rank != LAST_ID
    return np.asarray(contest.rank[is_participant][np.unique(contest.team[is_participant], return_index=True)[1]])


def to_host_prediction(prediction: Any) -> Any:
    """A prediction on the host; a single number as a float."""
    return float(prediction) if getattr(prediction, "shape", None) == () else prediction
