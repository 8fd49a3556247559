"""History: ratings through time, which `rate`, `smooth`, `load` and others return, and every question takes."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from jaxrate.core.argument_checks import check_that, is_list, is_whole_number
from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import State
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import (
    did_you_mean_suffix,
    format_count,
    format_number,
    format_value_for_error,
    rating_decimals,
)
from jaxrate.data.lookalike_names import similar_names_hint
from jaxrate.data.table_sources import has_pyarrow, import_pyarrow
from jaxrate.data.table_writing import to_frame
from jaxrate.events import period_end
from jaxrate.history.event_columns import (
    EventColumns,
    are_whole_days,
    days_to_dates,
    days_to_datetime64,
    to_table_columns,
)
from jaxrate.history.participations import Participations, group_players, make_participations
from jaxrate.replay.padded_arrays import extend_state_if_needed
from jaxrate.smoothing.smoother import Smoothed
from jaxrate.storage.run_folder import to_arrow_if_installed
from jaxrate.systems.system_construction_by_name import extend_system_seasons

NUM_LISTED_LEADERS = 3  # leaders in the representation
LONG_TUPLE = re.compile(r"\((-?[\d.]+)(?:, -?[\d.]+){4,}, (-?[\d.]+)\)")  # numbers, as those of a hundred seasons


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """Ratings through time: of matches or contests, event by event or in periods, at the time or with hindsight.

    `rows` has who took part in which event, and their ratings before and after it: the table that questions are asked
    of. `jr.ratings(history, time=...)` has the ratings of all players at any date, with hindsight if the history has
    it. `table()` is a data frame of the events.
    """

    system: RatingSystem  # with the parameters of the run
    state: State  # leaves [num_players, ...] after the last event of each
    players: HostArray  # [num_players] names in order of id
    games: HostArray  # [num_players] matches or contests played
    period: float | None  # the length of the rating periods; None: event by event
    last: float | None  # the time of the last event; None if there are no times
    clock: str | None  # of the times, as in `Dataset`
    events: EventColumns  # columns of the events in their order, see `event_columns.py`
    options: dict[str, Any] = field(default_factory=dict)  # for the caller's own use; what JSON can hold
    categories: HostArray | None = None  # [C] names in order of id, of a system that uses them
    seasons: dict[str, float] | None = None  # as in `Dataset`, of a system that uses them
    hindsight: Smoothed | None = None  # what smoothing found; None: each rating is of its time
    num_in_files: tuple[int, int | None] | None = None  # rows and contests (None of matches) of a run by chunks

    @property
    def of_matches(self) -> bool:
        """Whether the events are matches of two, and not contests."""
        return "participants" not in self.events

    @property
    def nouns(self) -> str:
        """The name of the events: matches or contests."""
        return "matches" if self.of_matches else "contests"

    @property
    def contests(self) -> int | None:
        """The number of contests; None if these are matches."""
        if self.num_in_files is not None:
            return self.num_in_files[1]
        return None if self.of_matches else self.num_events

    @property
    def num_events(self) -> int:
        """The number of events whose columns are here."""
        return int(self.events["event"][-1]) + 1 if len(self.events["event"]) else 0

    @property
    def num_rows(self) -> int:
        """The number of rated matches or participations, also where their columns are in other files."""
        if self.num_in_files is not None:
            return self.num_in_files[0]
        return len(self.events["row"]) or int(self.games.sum()) // (1 + self.of_matches)

    @cached_property
    def rows(self) -> Participations:
        """Who took part in which event, by player and then by event."""
        return make_participations(self)

    @cached_property
    def has_events_elsewhere(self) -> bool:
        """Whether the columns of some events are in other files, as those of some runs by chunks."""
        found = 2 * len(self.events["row"]) if self.of_matches else len(self.rows.once_per_event().seat)
        return found < int(self.games.sum())

    def check_has_events(self, all_of_them: bool = False) -> None:
        """ValueError if the columns of all events, or of some where all are needed, are in other files."""
        has_none = not len(self.events["row"]) and bool(self.games.any())
        if has_none or (all_of_them and self.has_events_elsewhere):
            raise ValueError(
                "the predictions of this run by chunks are in its files alone, as they are brief or too many: those "
                "in the folder `predictions`"
            )

    def check_of_matches(self, subject: str) -> None:
        """ValueError unless the events are matches, which the subject is of."""
        check_that(self.of_matches, f"{subject} is of matches of two, and this history is of contests")

    def time_column(self, times: HostArray) -> HostArray | None:
        """Times as `display_times` has them; None of a history without times."""
        return None if self.clock is None else self.display_times(times)

    def display_times(self, times: HostArray) -> HostArray:
        """Times as dates, or as timestamps if some events have a time of day; numbers stay as they are."""
        if self.clock != "dates":
            return times
        return days_to_datetime64(times, are_whole_days(self.events["time"]))

    def table(self, kind: str | None = None) -> Any:
        """The events as a data frame: of each match, or participant of a contest, the prediction and ratings.

            history.table("pandas")

        `kind` is "polars", "pandas" or "pyarrow". None: the first of them that is installed.
        """
        self.check_has_events()
        return to_frame(self.columns(), kind)

    def columns(self) -> dict[str, HostArray]:
        """The columns of `table`."""
        return to_table_columns(self.events, self.players, self.clock)

    @cached_property
    def predictions(self) -> Any:
        """The events as an Arrow table, see `rate`; without pyarrow a dict of arrays."""
        names = import_pyarrow().array(self.players) if has_pyarrow() else self.players
        return to_arrow_if_installed(to_table_columns(self.events, names, self.clock))

    def _replace(self, **changes: Any) -> "History":
        """The history with other fields."""
        return replace(self, **changes)

    def __repr__(self) -> str:
        counts = describe_event_counts(self.num_rows, self.contests)
        period = "" if self.period is None else f", in periods of {self.period:g}"
        system = LONG_TUPLE.sub(r"(\1, ..., \2)", repr(self.system))
        lines = [
            f"History: {counts} of {format_count(len(self.players), 'player')}{period}",
            f"  system   {system}",
        ]
        if self.last is not None:
            lines.append(f"  last     {format_time(self.last, self.clock)}")
        mean = np.asarray(self.system.summary(self.system.params, self.state).mean)
        best = np.lexsort((-mean, player_groups(self)))[:NUM_LISTED_LEADERS]
        digits = rating_decimals(mean[best])
        leaders = ", ".join(f"{name} {x:.{digits}f}" for name, x in zip(self.players[best], mean[best], strict=True))
        found = "" if self.hindsight is None else f"\n{self.hindsight!r}"
        return "\n".join([*lines, f"  leaders  {leaders}"]) + found


@runtime_checkable
class MakesHistory(Protocol):
    """An object that makes a history, as a `Live`."""

    def to_rated(self) -> History:
        """The history."""


def describe_event_counts(num_rows: int, contests: int | None) -> str:
    """The number of matches, or of contests (None: these are matches; 0: not known) and of participations in them."""
    if contests is None:
        return format_count(num_rows, "match")
    if not contests:
        return format_count(num_rows, "participation")
    return f"{format_count(contests, 'contest')}, {format_count(num_rows, 'participation')}"


def player_groups(history: History) -> HostArray:
    """[num_players] numbers from 0 of groups that no chain of events joins, the largest first.

    Their ratings cannot be compared. Who has not played is in the first; so is everybody where there are no events.
    """
    return group_players(len(history.players), history.events["player"], history.events["event"])


def system_with_extended_seasons(rated: History, season_starts: Iterable[float]) -> RatingSystem:
    """The system of a rated history, with those of the season starts that come after its last one.

    Earlier starts are ignored.

    Raises:
      ValueError: if a new one is not after the end of the history, so that matches would have been rated otherwise.
    """
    system = extend_system_seasons(rated.system, season_starts)
    if system is rated.system or rated.last is None:
        return system
    new_start = system.settings["seasons"][len(rated.system.settings["seasons"])]
    end = rated.last if rated.period is None else float(period_end(rated.last, rated.period))
    if new_start <= end:
        start_text, end_text = (format_time(x, rated.clock) for x in (new_start, end))
        raise ValueError(
            f"a season that the run does not know begins at {start_text}, but the run goes to {end_text}; rate all "
            "matches again"
        )
    return system


def resolve_system_state_and_players(
    rated: Any, state: State = None, players: Any = None, needs_state: bool = True
) -> tuple[RatingSystem, State, Any]:
    """System, state and names of players: of a rated or smoothed history, or as given."""
    if not isinstance(rated, History):
        if state is None and needs_state:
            raise ValueError("give the state of the system beside it, or a rated history alone")
        if state is not None and isinstance(rated, RatingSystem):
            extend_state_if_needed(rated, rated.params, state, None, 0)  # which refuses that of another system
        return rated, state, players
    if state is not None:
        raise ValueError("a rated history has a state of its own: name what else is given, as players=...")
    return rated.system, rated.state, rated.players if players is None else players


def find_player_id(players: Any, player: Any, count: int | None = None) -> int:
    """The id of a player, found by name, by the name as text, or by id unless names are numbers.

    Args:
      players: names in order of id. None: `count` players have no names.
      player: the name or id.
      count: how many of the players there are. None: all.

    Raises:
      ValueError: if there is no such player, or more than one.
    """
    if is_list(player):
        raise ValueError(f"give a single name or id of a player, got {format_value_for_error(player)}")
    if players is None:
        return _check_player_number(player, count or 0)
    names = np.asarray(players).tolist()[:count]
    matching_ids = [i for i, name in enumerate(names) if player in (name, str(name))]
    if len(matching_ids) > 1:
        raise ValueError(f"{len(matching_ids)} players have the name {player!r}; give an id")
    if matching_ids:
        return matching_ids[0]
    if is_whole_number(player) and {*map(type, names)} <= {str}:  # names that are numbers are no ids
        if 0 <= player < len(names):
            return int(player)
        raise ValueError(f"no player {player}: ids run from 0 to {len(names) - 1}")
    raise ValueError(
        f"no player {player!r}{did_you_mean_suffix(str(player), names) or similar_names_hint(player, names)}"
    )


def _check_player_number(player: Any, count: int) -> int:
    """The id of a player where nobody has a name; ValueError unless it is the number of a player."""
    if is_whole_number(player) and 0 <= player < count:
        return int(player)
    raise ValueError(f"no player {player!r}: ids run from 0 to {count - 1}; names need those of all players")


def format_time(time: float, clock: str | None) -> str:
    """A time as text: a date, or a number."""
    return str(days_to_dates(np.array([time]))[0]) if clock == "dates" else format_number(time)
