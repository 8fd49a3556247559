"""Rated histories: the result of `rate`, its players, times and seasons."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import State
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import did_you_mean_suffix, format_count, format_number, rating_decimals
from jaxrate.data.lookalike_names import similar_names_hint
from jaxrate.data.table_sources import import_pyarrow
from jaxrate.events import number_connected_groups, period_end
from jaxrate.history.prediction_columns import contest_numbers
from jaxrate.replay.padded_states_and_columns import extend_state_if_needed
from jaxrate.smoothing.smoothing_result import Smoothed
from jaxrate.systems.system_construction_by_name import extend_system_seasons

NUM_LISTED_LEADERS = 3  # leaders in the representation


class Rated(NamedTuple):
    """A rated history, with all that is needed to carry on from it."""

    system: RatingSystem  # with the parameters of the run
    state: State  # leaves [num_players, ...]
    players: HostArray  # [num_players] names in order of id
    games: HostArray  # [num_players] matches or contests played
    period: float | None  # the length of the rating periods; None: event by event
    last: float | None  # the time of the last event; None if there are no times
    clock: str | None  # of the times, as in `Dataset`
    predictions: Any  # an Arrow table, one row per match or participation, see `rate`; without pyarrow a dict of arrays
    options: dict[str, Any]  # for the caller's own use; what JSON can hold
    categories: HostArray | None = None  # [C] names in order of id, of a system that uses them
    seasons: dict[str, float] | None = None  # as in `Dataset`, of a system that uses them

    @property
    def contests(self) -> int | None:
        """The number of contests; None if these are matches."""
        if "participants" not in getattr(self.predictions, "column_names", self.predictions):
            return None
        return round((1.0 / np.asarray(self.predictions["participants"])).sum())

    def __repr__(self) -> str:
        counts = describe_event_counts(count_rated_matches_or_participations(self), self.contests)
        period = "" if self.period is None else f", in periods of {self.period:g}"
        lines = [
            f"Rated: {counts} of {format_count(len(self.players), 'player')}{period}",
            f"  system   {self.system!r}",
        ]
        if self.last is not None:
            lines.append(f"  last     {format_time(self.last, self.clock)}")
        mean = np.asarray(self.system.summary(self.system.params, self.state).mean)
        best = np.lexsort((-mean, player_groups(self)))[:NUM_LISTED_LEADERS]
        digits = rating_decimals(mean[best])
        leaders = ", ".join(f"{name} {x:.{digits}f}" for name, x in zip(self.players[best], mean[best], strict=True))
        return "\n".join([*lines, f"  leaders  {leaders}"])


def describe_event_counts(num_rows: int, contests: int | None) -> str:
    """The number of matches, or of contests (None: these are matches; 0: not known) and of participations in them."""
    if contests is None:
        return format_count(num_rows, "match")
    if not contests:
        return format_count(num_rows, "participation")
    return f"{format_count(contests, 'contest')}, {format_count(num_rows, 'participation')}"


def count_predictions(rated: Rated) -> int:
    """The number of rows of predictions: matches or participations."""
    table = rated.predictions
    return len(table["row"]) if isinstance(table, dict) else len(table)


def loaded_predictions(rated: Rated) -> Any:
    """The table of predictions; ValueError if it is in other files, as that of some runs by chunks."""
    if not count_predictions(rated) and rated.games.any():
        raise ValueError(
            "the predictions of this run by chunks are in its files alone, as they are brief or too many: those in "
            "the folder `predictions`"
        )
    return rated.predictions


def count_rated_matches_or_participations(rated: Rated) -> int:
    """The number of rated matches or participations, also where their predictions are in other files."""
    return count_predictions(rated) or int(rated.games.sum()) // (2 if rated.contests is None else 1)


def lookup_ids(names: Any, players: HostArray) -> HostArray:
    """[n] the ids of the names of an Arrow column."""
    arrow = import_pyarrow()
    return arrow.compute.index_in(names, value_set=arrow.array(players).cast(names.type)).to_numpy()


def player_ids_and_event_numbers(rated: Rated) -> tuple[HostArray, HostArray]:
    """[n, 2] ids of both players of matches, or [n, 1] of participants, and [n] the numbers of their events, from 0."""
    table, of_matches = rated.predictions, rated.contests is None
    ids = [lookup_ids(table[name], rated.players) for name in (("a", "b") if of_matches else ("player",))]
    return np.stack(ids, axis=1), np.arange(len(table)) if of_matches else contest_numbers(table)


def player_groups(rated: Rated) -> HostArray:
    """[num_players] numbers from 0 of groups that no chain of events joins, the largest first.

    Their ratings cannot be compared. Who has not played is in the first. So is everybody where the history has no
    predictions, or no Arrow to look at them with.
    """
    if isinstance(rated.predictions, dict) or not len(rated.predictions):
        return np.zeros(len(rated.players), int)
    ids, event = player_ids_and_event_numbers(rated)
    return np.maximum(number_connected_groups(len(rated.players), ids.ravel(), np.repeat(event, ids.shape[1])), 0)


def system_with_extended_seasons(rated: Rated, season_starts: Iterable[float]) -> RatingSystem:
    """The system of a rated history, with the seasons that have begun since.

    Raises:
      ValueError: if one of them begins before the history ends, so that some matches would have been rated otherwise.
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
    if not isinstance(rated, (Rated, Smoothed)):
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
      players: names in order of id, or None.
      player: the name or id.
      count: how many players there are. None: as many as names.

    Raises:
      ValueError: if there is no such player, or more than one.
    """
    names = [] if players is None else np.asarray(players).tolist()[:count]
    count = len(names) if count is None else count
    matching_ids = [i for i, name in enumerate(names) if name == player]
    if not matching_ids and isinstance(player, str):
        matching_ids = [i for i, name in enumerate(names) if str(name) == player]
    if len(matching_ids) > 1:
        raise ValueError(f"{len(matching_ids)} players have the name {player!r}; give an id")
    if matching_ids:
        return matching_ids[0]
    by_text = all(isinstance(name, str) for name in names)
    if by_text and isinstance(player, (int, np.integer)) and not isinstance(player, bool):
        if 0 <= player < count:
            return int(player)
        raise ValueError(f"no player {player}: ids run from 0 to {count - 1}")
    if players is None:
        raise ValueError(f"players are ids from 0 to {count - 1}, got {player!r}; names need those of all players")
    raise ValueError(
        f"no player {player!r}{did_you_mean_suffix(str(player), names) or similar_names_hint(player, names)}"
    )


def days_to_dates(days: HostArray) -> HostArray:
    """Days since 1970-01-01 as dates, or as timestamps where some have a time of day."""
    return days_to_datetime64(days, bool((np.floor(days) == days).all()))


def days_to_datetime64(days: HostArray, whole_days: bool) -> HostArray:
    """Days since 1970-01-01 as dates if `whole_days`, else as timestamps."""
    return days.astype("datetime64[D]") if whole_days else np.round(days * 86_400_000_000).astype("datetime64[us]")


def times_to_event_clock(times: HostArray) -> HostArray:
    """Times of a table, dates or numbers, on the clock of the events; NaN where there is none."""
    times = np.asarray(times)
    if times.dtype.kind != "M":
        return times.astype(np.float64)
    return np.where(np.isnat(times), np.nan, (times - np.datetime64(0, "D")) / np.timedelta64(1, "D"))


def format_time(time: float, clock: str | None) -> str:
    """A time as text: a date, or a number."""
    return str(days_to_dates(np.array([time]))[0]) if clock == "dates" else format_number(time)
