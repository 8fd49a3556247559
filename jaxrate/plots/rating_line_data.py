"""Lines of ratings through time, as plots draw them, from a system, a rated history or a smoothed one."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.rules import Params
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_number
from jaxrate.events import event_numbers
from jaxrate.history.history import History
from jaxrate.history.ratings_at_times import ratings
from jaxrate.history.trajectories import build_trajectories
from jaxrate.plots.name_labels import player_labels_by_id
from jaxrate.plots.plotted_data_and_checks import (
    check_ratings_finite,
    event_times_and_axis_label,
    unpack_events_names_and_clock,
)
from jaxrate.plots.time_steps import YEAR, TimeSteps, default_steps
from jaxrate.replay.padded_states_and_columns import count_players

MIN_YEARS_WITHOUT_MONTHS = 5  # of a history from which on peaks are marked with years alone


class RatingLine(NamedTuple):
    """A player's ratings before each of their events, and after the last one; or those after some events."""

    name: str
    times: HostArray  # [m + 1] times, dates, or numbers of events
    mean: HostArray  # [m + 1]; NaN interrupts the line
    deviation: HostArray | None  # [m + 1]
    peak: int | None = None  # the point of the highest rating, if that was sought

    def repeat_first(self) -> "RatingLine":
        """Ratings [m + 1] before and after each event, from those after each: the first stands before it, too."""
        deviation = None if self.deviation is None else np.append(self.deviation[:1], self.deviation)
        return RatingLine(
            self.name, np.append(self.times, self.times[-1:]), np.append(self.mean[:1], self.mean), deviation
        )

    def skip_points(self, count: int) -> "RatingLine":
        """The line without its first points."""
        deviation = None if self.deviation is None else self.deviation[count:]
        return RatingLine(self.name, self.times[count:], self.mean[count:], deviation)

    def ratings_after_events(self) -> "RatingLine":
        """[m] the ratings after each event."""
        return RatingLine(
            self.name, self.times[:-1], self.mean[1:], None if self.deviation is None else self.deviation[1:]
        )


def default_steps_of_lines(
    lines: Sequence[RatingLine], last: float, span: float, clock: str, length: float | None = None
) -> TimeSteps:
    """The steps for lines with ratings before their events, in a history of this span."""
    return default_steps([times_to_numbers(line.times)[:-1] for line in lines], last, span, clock == "date", length)


def skip_first_events(line: RatingLine, skip: int) -> RatingLine:
    """A line without its first events."""
    count = len(line.times) - 1
    if not (isinstance(skip, int) and 0 <= skip < max(count, 1)):
        raise ValueError(f"skip must be from 0 to {max(count - 1, 0)}, as {line.name} has {count:,} events, got {skip}")
    return line.skip_points(skip)


def skip_unsettled_events(line: RatingLine, min_events: int) -> RatingLine:
    """A line without the ratings that can be no peak, those after fewer events; all of who has no more."""
    return line.skip_points(min_events - 1) if len(line.mean) > min_events else line


def last_ratings_of_steps(line: RatingLine, steps: TimeSteps, peak_min_events: int | None = None) -> RatingLine:
    """The ratings after the last event in each step; NaN where steps are missing, as the player is absent.

    The line has ratings before its events. The highest rating of all after `peak_min_events` events, if these are
    given, is there, too, also if no step ends with it.
    """
    after, at = line.ratings_after_events(), times_to_numbers(line.times)[:-1]
    step = steps.numbers(at)
    points = np.flatnonzero(np.append(step[1:] != step[:-1], True))
    highest = None if peak_min_events is None else peak_point(line, peak_min_events)
    if highest is not None:
        points = np.union1d(points, [highest - 1])
    pause = at[np.minimum(points[:-1] + 1, len(at) - 1)] - at[points[:-1]]
    gaps = np.flatnonzero((-np.diff(step[points]) > 1) & (pause > steps.least_absence)) + 1
    time, mean, deviation = (
        None if x is None else np.insert(x[points], gaps, x[points][gaps] if i == 0 else np.nan)
        for i, x in enumerate((after.times, after.mean, after.deviation))
    )
    assert time is not None and mean is not None
    peak = None if highest is None else int(np.searchsorted(points, highest - 1))
    return RatingLine(line.name, time, mean, deviation, None if peak is None else peak + int((gaps <= peak).sum()))


def describe_gaps(lines: Sequence[RatingLine]) -> str:
    """The end of a subtitle: why lines are interrupted, if one is."""
    is_broken = any(np.isnan(line.mean).any() for line in lines)
    return ". Lines break where somebody did not play for long" if is_broken else ""


def collect_rating_lines(
    system: RatingSystem | History, players: Any, history: Any = None, data: Any = None, params: Params = None
) -> tuple[list[RatingLine], str]:
    """The lines of these players, and the label of the time axis."""
    if isinstance(system, History):
        return lines_of_rated_history(system, players)
    return _history_rating_lines(system, history, data, players, params)


def _history_rating_lines(
    system: RatingSystem, history: Any, data: Any, players: Any, params: Params
) -> tuple[list[RatingLine], str]:
    """The lines from a system, and the ratings before each event that `rating_history` recorded."""
    events, names, _ = unpack_events_names_and_clock(data)
    flat = events.flat
    participants = np.asarray(flat.player).reshape(len(flat.player), -1)
    before = [None if x is None else np.asarray(x).reshape(len(x), -1) for x in history.before]
    if before[0] is None or before[0].shape != participants.shape:
        raise ValueError("the history is of other events than the data (for rating periods, give the matches)")
    final = [None if x is None else np.asarray(x) for x in ratings(system, history.state, params=params)]
    event, (begin, end, clock) = event_numbers(events), event_times_and_axis_label(data)
    lines = []
    for player, name in player_labels_by_id(players, names, count_players(history.state)).items():
        row, side = np.nonzero(participants == player)
        if not len(row):
            raise ValueError(f"{name} plays in none of these events")
        row_events = event[row]
        at = np.append(begin[row_events], end[row_events[-1]])
        mean, deviation = (
            None if b is None or f is None else np.append(b[row, side], f[player])
            for b, f in zip(before, final, strict=True)
        )
        assert mean is not None
        lines.append(RatingLine(name, at, mean, deviation))
    return _check_lines_finite(lines), clock


def lines_of_rated_history(history: History, players: Any) -> tuple[list[RatingLine], str]:
    """The lines of these players; without times, the axis counts a player's own events.

    With hindsight the rating before the first event is that after it.
    """
    trajectories, lines = build_trajectories(history), []
    for player, name in player_labels_by_id(players, history.players, len(trajectories.start) - 1).items():
        points = np.arange(*trajectories.start[player : player + 2])
        if len(points) == 1:
            raise ValueError(f"{name} plays in none of these events")
        time = np.append(trajectories.time[points[1:]], trajectories.time[points[-1:]])
        at = np.arange(len(points)) if history.clock is None else history.display_times(time)
        if history.hindsight is not None:
            points[0] = points[1]
        deviation = trajectories.later_deviation
        lines.append(RatingLine(name, at, trajectories.mean[points], None if deviation is None else deviation[points]))
    numbers = {"matches": "matches played", "contests": "contests"}[history.nouns]
    return _check_lines_finite(lines), {"dates": "date", "numbers": "time", None: numbers}[history.clock]


def _check_lines_finite(lines: list[RatingLine]) -> list[RatingLine]:
    for line in lines:
        check_ratings_finite(line.name, line.mean, line.deviation)
    return lines


def time_span(history: History) -> tuple[float, float | None]:
    """The first and the last time of a history."""
    return float(history.events["time"][0]), history.last


def times_to_numbers(times: HostArray) -> HostArray:
    """Dates as days since 1970-01-01, numbers as they are."""
    return times.astype("datetime64[us]").astype(float) / 86_400e6 if times.dtype.kind == "M" else times.astype(float)


def peak_point(line: RatingLine, min_events: int) -> int | None:
    """The point of a line with the first highest rating after so many events; None of who has fewer."""
    return min_events + int(np.argmax(line.mean[min_events:])) if len(line.mean) > min_events else None


def format_peak_time(at: Any, span_days: float) -> str:
    """The year of a date, or its month in a short history; another time as a number."""
    if not isinstance(at, np.datetime64):
        return format_number(round(float(at), 1))
    if span_days >= MIN_YEARS_WITHOUT_MONTHS * YEAR:
        return str(at.astype("datetime64[Y]"))
    return f"{at.astype('datetime64[D]').item():%b %Y}"
