"""Moments on the clock of the events: numbers as they are, dates as days since 1970-01-01 in UTC."""

from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from jaxrate.events.column_checks import RowError, as_numbers, check_not_traced, fail_where

FARTHEST_TIME = 1e12  # times beyond it are taken for a mistake, such as milliseconds
TOO_FAR_ADVICE = "is too far from 0; count in days, or in another unit that keeps numbers small"
DAY = np.timedelta64(1, "D")


def is_date(value: Any) -> bool:
    """Whether this is a date or a time of day on one, and not a number."""
    return isinstance(value, (str, date, np.datetime64))


DAYS = 1e8  # about as far as dates reach


def check_clock(clock: str | None, time: Any) -> None:
    """ValueError for a number where the events have dates, or a date where they have none."""
    if clock == "dates" and not is_date(time):
        raise ValueError(f"time {time!r} is no date, but the history has dates; give one, as 2026-05-31 in text")
    if clock != "dates" and is_date(time):
        so_far = "has no times" if clock is None else "counts time in numbers"
        raise ValueError(f"time {time} is a date, but the history {so_far}")


def as_event_time(name: str, value: Any) -> float:
    """A number, or a date as the number of days to its midnight, and with a time of day to that.

    Args:
      name: what errors call it.
      value: a number; ISO text, a `date`, a `datetime` (a pandas Timestamp is one) or a `np.datetime64`. Without a
        zone they are of UTC.

    Raises:
      ValueError: if it is none of these, not finite, or too far from 0.
    """
    check_not_traced(name, value, "give a number or a date; jr.scan and jr.ratings take traced times")
    try:
        moment = _days_since_1970(value) if is_date(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number or a date, as 2026-05-31 in text, got {value!r}") from None
    if not np.isfinite(moment):
        raise ValueError(f"{name} must be finite, got {value}")
    if abs(moment) > FARTHEST_TIME:
        raise ValueError(f"{name} {value} {TOO_FAR_ADVICE}")
    return moment


def _days_since_1970(value: Any) -> float:
    if isinstance(value, str):
        if value[4:5] != "-":  # 20240131 reads as a number elsewhere
            raise ValueError
        value = datetime.fromisoformat(value)
    if getattr(value, "tzinfo", None) is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return float((np.datetime64(value) - np.datetime64(0, "D")) / DAY)


def as_event_times(values: Any, n: int) -> np.ndarray[Any, Any]:
    """[n] the times of events as numbers."""
    check_not_traced("time", values)
    if np.shape(values) != (n,):
        raise ValueError(f"time has shape {np.shape(values)}, expected {(n,)}")
    time = as_numbers("time", _dates_to_days(values), (n,))
    fail_where(np.abs(time) > FARTHEST_TIME, lambda row: f"time {time[row]} {TOO_FAR_ADVICE}")
    return time


def _dates_to_days(values: Any) -> Any:
    """Dates [n] of any of these kinds as days; other values stay as they are. RowError where one is no date."""
    array = np.asarray(values)
    if array.dtype.kind == "M":
        fail_where(np.isnat(array), lambda row: "time is missing")
        return (array - np.datetime64(0, "D")) / DAY
    if array.dtype.kind not in "OU" or array.ndim != 1 or not any(map(is_date, array.tolist())):
        return values
    days = np.empty(len(array))
    for row, value in enumerate(array.tolist()):
        try:
            days[row] = as_event_time("time", value)
        except ValueError as error:
            raise RowError(row, str(error)) from None
    return days
