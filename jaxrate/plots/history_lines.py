"""Lines of ratings through a history, thinned to the ends of steps of time where they are long."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.history.event_columns import days_to_dates
from jaxrate.history.history import History
from jaxrate.history.participations import Participations
from jaxrate.plots.plot_inputs import check_ratings_finite
from jaxrate.plots.scoreboard_style import player_labels_by_id
from jaxrate.views.charts import MAX_GREY_LINES, YEAR, Line, UnnamedPlayers, quantile_bands, unnamed_lines
from jaxrate.views.wording import spell_day

STEPS = 100  # of a history, where a picture has no room for every event
MIN_YEARS = 20  # of a history from which on steps are years
MIN_STEP = 0.01
GAP_QUANTILE = 0.95  # share of the times between events of players that steps by default are not shorter than
MIDNIGHT = 1e-6  # days before the next day, so that the events of a year's last day belong to it
ABSENCE_RATIO = 2.0  # of a pause to the usual longest one of a year, from which on it is an absence
UNDATED_ABSENCE_RATIO = 3.0  # the same without dates, of a pause to the length that few exceed


class TimeSteps(NamedTuple):
    """Steps counted back from the last event; those of whole years with dates end with calendar years."""

    last: float  # time of the last event
    length: float
    is_dated: bool
    least_absence: float = 0.0  # shorter pauses do not interrupt lines

    @property
    def years(self) -> int:
        """The number of calendar years in a step; 0 of other steps."""
        return round(self.length / YEAR) if self.is_dated and self.length % YEAR == 0.0 else 0

    @property
    def is_cut(self) -> bool:
        """Whether the last calendar year goes on after the last event: until December."""
        return bool(self.years) and int(_months(np.array([self.last]))[0]) % 12 != 11

    def numbers(self, times: HostArray) -> HostArray:
        """The step of each time, counted back from 0, which has the last event."""
        if not self.years:
            return np.floor((self.last - times) / self.length).astype(int)
        last, year = (_months(np.asarray(x, float)) // 12 for x in (self.last, times))
        return np.asarray((last - year) // self.years)

    def ends(self, begin: float) -> HostArray:
        """The ends of the steps from that of a time on; the last is the time of the last event."""
        numbers = np.arange(int(self.numbers(np.array([begin]))[0]), -1, -1)
        if not self.years:
            return self.last - self.length * numbers
        year = _months(np.array([self.last]))[0] // 12 - self.years * numbers
        first_days = (year + 1).astype("datetime64[Y]").astype("datetime64[D]").astype(float)
        return np.minimum(first_days - MIDNIGHT, self.last)

    def describe(self) -> str:
        """When a line has points, in words."""
        length = self.length
        if not self.is_dated:
            return f"every {length:,.3g} units of time"
        if not self.years:
            return f"every {max(round(length), 1):,} days" if length >= 1.5 else "every day"
        every = "each year" if self.years == 1 else f"every {self.years} years"
        until = f" and on {spell_day(self.last)}" if self.is_cut else ""
        return f"at the end of {every}{until}"


def default_step_length(span: float, is_dated: bool) -> float:
    """The length of a hundredth of a history; of a long one with dates that of years, so that seasons stay whole."""
    if is_dated and span >= MIN_YEARS * YEAR:
        return YEAR * max(1, round(span / YEAR / STEPS))
    return span / STEPS


def steps_of_lines(
    history: History, lines: Sequence[Line], others: Sequence[Line], span: float, length: float | None = None
) -> TimeSteps:
    """Steps for lines in a history of this span, counted back from its end.

    Without a length it is the default one, and more if these players take part more rarely. Who pauses for little
    longer than usual in an off-season is not absent; without dates, whoever pauses for up to thrice the usual time.
    """
    last = history.last if history.last is not None else max(float(line.x[-1]) for line in [*lines, *others])
    event_times, is_dated = [line.x_numbers()[1:] for line in lines], history.clock == "dates"
    gaps = np.concatenate([np.diff(times) for times in event_times])
    usual = float(np.quantile(gaps, GAP_QUANTILE)) if len(gaps) else 0.0
    if length is None:
        length = default_step_length(span, is_dated)
        length = max(length, MIN_STEP, YEAR * -(-usual // YEAR) if length % YEAR == 0.0 and is_dated else usual)
    absence = ABSENCE_RATIO * _usual_off_season(event_times) if is_dated else UNDATED_ABSENCE_RATIO * usual
    return TimeSteps(last, length, is_dated, absence)


def _usual_off_season(event_times: Sequence[HostArray]) -> float:
    """The median of the longest pauses, in days, of all players in each calendar year in which they take part."""
    longest: list[float] = []
    for times in event_times:
        year, first = np.unique(_months(times[:-1]) // 12, return_index=True)
        longest += np.maximum.reduceat(np.diff(times), first).tolist() if len(year) else []
    return float(np.median(longest)) if longest else 0.0


def _months(times: HostArray) -> HostArray:
    """Days since 1970-01-01 as months since then."""
    return days_to_dates(np.floor(times)).astype("datetime64[M]").astype(int)


def rating_lines(history: History, players: Any, skip: int = 0) -> list[Line]:
    """The lines of these players: a point before their first event, and one after each event.

    Without times, the axis counts a player's own events. With hindsight the first point is as the second. The first
    `skip` events of each player are left out.
    """
    history.check_has_events()
    rows = history.rows.once_per_event()
    labels = player_labels_by_id(players, history.players, len(history.players))
    lines = [_rating_line(history, rows, player, name) for player, name in labels.items()]
    for line in lines:
        count = len(line.x) - 1
        if not 0 <= skip < max(count, 1):
            limit = f"skip must be from 0 to {max(count - 1, 0)}"
            raise ValueError(f"{limit}, as {line.name} has {count:,} events, got {skip}")
    return [line.select(slice(skip, None)) for line in lines]


def _rating_line(history: History, rows: Participations, player: int, name: str) -> Line:
    begin, end = rows.start[player : player + 2]
    if begin == end:
        raise ValueError(f"{name} plays in none of these events")
    first = rows.after if rows.before.mean is None else rows.before
    mean, deviation = (
        None if x is None or left is None else np.append(x[begin], left[begin:end])
        for x, left in zip(first, rows.after, strict=True)
    )
    assert mean is not None
    check_ratings_finite(name, mean, deviation)
    if history.clock is None:
        return Line(name, np.arange(len(mean)), mean, deviation)
    return Line(name, history.display_times(np.append(rows.time[begin], rows.time[begin:end])), mean, deviation)


def other_rating_lines(history: History, others: Iterable[Any], named: Sequence[Line]) -> list[Line]:
    """The lines of these players, without those who have names."""
    names = {line.name for line in named}
    return [line for line in rating_lines(history, list(others)) if line.name not in names]


def time_axis_label(history: History) -> str:
    """What the lines of a history go by: "date", "time", or the number of a player's events."""
    numbers = "matches played" if history.nouns == "matches" else "contests"
    return {"dates": "date", "numbers": "time", None: numbers}[history.clock]


def event_noun(history: History) -> str:
    """What one event is called."""
    return {"matches": "match", "contests": "contest"}[history.nouns]


def describe_begin(history: History, num_early: int) -> str:
    """A part of a subtitle: from when on there are ratings, if early ones are left out."""
    return f", from the tenth {event_noun(history)} on" if num_early else ""


def after_events(lines: Sequence[Line], num_early: int = 0) -> list[Line]:
    """Lines without their first points, and without those of so many early events where others follow."""
    return [line.select(slice(1 + num_early if len(line.x) > 1 + num_early else 1, None)) for line in lines]


def thin_lines(lines: Sequence[Line], steps: TimeSteps, num_early: int | None = None) -> list[Line]:
    """The ratings after the last event in each step; NaN where steps are missing, as the player is absent.

    The lines have ratings after events. The first highest rating of all but those of `num_early` events, if these are
    given, is there, too, also if no step ends with it.
    """
    return [_thin_line(line, steps, num_early) for line in lines]


def _thin_line(line: Line, steps: TimeSteps, num_early: int | None) -> Line:
    at = line.x_numbers()
    step = steps.numbers(at)
    points = np.flatnonzero(np.append(step[1:] != step[:-1], True))
    highest = None
    if num_early is not None and len(line.y) > num_early:
        highest = num_early + int(np.argmax(line.y[num_early:]))
        points = np.union1d(points, [highest])
    pause = at[np.minimum(points[:-1] + 1, len(at) - 1)] - at[points[:-1]]
    gaps = np.flatnonzero((-np.diff(step[points]) > 1) & (pause > steps.least_absence)) + 1
    thinned = line.select(np.insert(points, gaps, points[gaps]))
    is_missing = gaps + np.arange(len(gaps))
    for values in (thinned.y, thinned.deviation):
        if values is not None:
            values[is_missing] = np.nan
    if highest is None:
        return thinned
    peak = int(np.searchsorted(points, highest))
    return thinned._replace(peak=peak + int((gaps <= peak).sum()))


def describe_gaps(lines: Sequence[Line]) -> str:
    """The end of a subtitle: why lines are interrupted, if one is."""
    is_broken = any(np.isnan(line.y).any() for line in lines)
    return ". Lines break where somebody did not play for long" if is_broken else ""


def unnamed_players(lines: Sequence[Line], steps: TimeSteps) -> UnnamedPlayers:
    """The line of each player, or of very many the bands of their ratings at the ends of steps."""
    if len(lines) <= MAX_GREY_LINES:
        return unnamed_lines(lines)
    ends = steps.ends(min(float(line.x_numbers()[0]) for line in lines))
    values = np.full((len(lines), len(ends)), np.nan)
    for row, line in zip(values, lines, strict=True):
        is_known = ~np.isnan(line.y)
        row[len(ends) - 1 - steps.numbers(line.x_numbers()[is_known])] = line.y[is_known]  # of several, the last stays
    return quantile_bands(np.floor(ends).astype("datetime64[D]") if steps.is_dated else ends, values)
