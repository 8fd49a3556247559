"""Steps of time, at whose ends lines have points: calendar years of long histories, otherwise equal lengths."""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import replace_dates
from jaxrate.history.event_columns import days_to_dates

STEPS = 100  # of a history, where a picture has no room for every event
MIN_YEARS = 20  # of a history from which on steps are years
YEAR = 365.25  # days
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
        until = f" and on {spell_date(self.last)}" if self.is_cut else ""
        return f"at the end of {every}{until}"


def spell_date(days: float) -> str:
    """The date so many days after 1970-01-01, as "Feb 7, 2021"."""
    return _format_date(days_to_dates(np.floor(days)).astype("datetime64[D]").item())


def abbreviate_dates(text: str) -> str:
    """A text with its ISO dates as "Feb 7, 2021"."""
    return replace_dates(text, _format_date)


def _format_date(day: date) -> str:
    return f"{day:%b} {day.day}, {day.year}"


def default_step_length(span: float, is_dated: bool) -> float:
    """The length of a hundredth of a history; of a long one with dates that of years, so that seasons stay whole."""
    if is_dated and span >= MIN_YEARS * YEAR:
        return YEAR * max(1, round(span / YEAR / STEPS))
    return span / STEPS


def default_steps(
    event_times: Sequence[HostArray], last: float, span: float, is_dated: bool, length: float | None = None
) -> TimeSteps:
    """Steps for the events of these players in a history of this span.

    Without a length it is the default one, and more if these players take part more rarely. Who pauses for little
    longer than usual in an off-season is not absent; without dates, whoever pauses for up to thrice the usual time.
    """
    gaps = np.concatenate([np.diff(times) for times in event_times])
    usual = float(np.quantile(gaps, GAP_QUANTILE)) if len(gaps) else 0.0
    if length is None:
        length = default_step_length(span, is_dated)
        length = max(length, MIN_STEP, YEAR * -(-usual // YEAR) if length % YEAR == 0.0 and is_dated else usual)
    absence = ABSENCE_RATIO * usual_off_season(event_times) if is_dated else UNDATED_ABSENCE_RATIO * usual
    return TimeSteps(last, length, is_dated, absence)


def usual_off_season(event_times: Sequence[HostArray]) -> float:
    """The median of the longest pauses, in days, of all players in each calendar year in which they take part."""
    longest: list[float] = []
    for times in event_times:
        year, first = np.unique(_months(times[:-1]) // 12, return_index=True)
        longest += np.maximum.reduceat(np.diff(times), first).tolist() if len(year) else []
    return float(np.median(longest)) if longest else 0.0


def _months(times: HostArray) -> HostArray:
    """Days since 1970-01-01 as months since then."""
    return days_to_dates(np.floor(times)).astype("datetime64[M]").astype(int)
