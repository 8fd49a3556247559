"""Dates as people write them: the day or the month first, months by name, eight digits, and formats of `strptime`."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.column_conversion import missing_mask, to_column, to_numbers
from jaxrate.data.result_parsing import distinct_texts, replace_na_values
from jaxrate.data.table_sources import Column, import_pyarrow
from jaxrate.events import fail_where

DAY_FIRST, MONTH_FIRST, EIGHT_DIGITS = "day-first", "month-first", "eight digits"
SECONDS, MILLISECONDS = "seconds since 1970", "milliseconds since 1970"
MICROSECONDS, NANOSECONDS = "microseconds since 1970", "nanoseconds since 1970"
CLOCK_PATTERN = r"(?:(?:T|,?\s+)(?:-\s*)?(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d+)?)?"
CLOCK_PATTERN += r"\s*(?P<half>[AaPp]?)(?:\.?[Mm]\.?)?)?\s*"
WEEKDAY, WEEK = r"\s*(?:\(?[A-Za-z]{2,9}\)?\.?,?\s+)?", r"(?:\(W?\d+\)\s*)?"
MONTH_NAME_PATTERN = r"(?P<name>[A-Za-z]{3,9})\.?"
DAY_PATTERN = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
YEAR_PATTERN = r"(?P<year>\d{4}|\d{2})"
DATE_PATTERNS = (
    rf"^\s*(?P<one>\d{{1,2}})[/.-](?P<two>\d{{1,2}})[/.-]{YEAR_PATTERN}{CLOCK_PATTERN}$",
    rf"^\s*(?P<year>\d{{4}})[/.-](?P<month>\d{{1,2}})[/.-](?P<day>\d{{1,2}}){CLOCK_PATTERN}$",
    rf"^{WEEKDAY}{DAY_PATTERN}[\s-]{MONTH_NAME_PATTERN}[,\s-]+{YEAR_PATTERN}{CLOCK_PATTERN}{WEEK}$",
    rf"^{WEEKDAY}{MONTH_NAME_PATTERN}\s{DAY_PATTERN},?\s{YEAR_PATTERN}{CLOCK_PATTERN}{WEEK}$",
    r"^\s*(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})(?:\.0)?\s*$",
)
MONTH_NAMES = "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"
MONTHS = {name: number for number, name in enumerate(MONTH_NAMES, 1)}
CENTURY_PIVOT = 69  # two digits from here on are years of the last century, as for `strptime`
FIRST_DATE, LAST_DATE = 1800_01_01, 2199_12_31  # dates of eight digits
FIRST_SECOND, LAST_SECOND = 3e8, 4.2e9  # since 1970: from 1979 to 2103
UNIX_UNITS = {SECONDS: 1.0, MILLISECONDS: 1e3, MICROSECONDS: 1e6, NANOSECONDS: 1e9}  # in a second


class ParsedDates(NamedTuple):
    """A column of times."""

    column: Column  # timestamps of Arrow, or what it was
    written: str | None = None  # how they were written, if that had to be found out or was told


def is_date_style(dates: Any) -> bool:
    """Whether this says how dates are written, as `dates` of `read`."""
    return isinstance(dates, str) and (dates in (DAY_FIRST, MONTH_FIRST) or "%" in dates)


def check_date_style(dates: Any) -> None:
    """ValueError unless this says how dates are written, or is None."""
    if dates is not None and not is_date_style(dates):
        raise ValueError(
            f'dates must be "day-first", "month-first" or a format as "%d %b %Y", got {format_value_for_error(dates)}'
        )


def parse_time_column(
    time: str | None, columns: dict[str, Column], dates: str | None, na_values: Sequence[str] = ()
) -> tuple[dict[str, Column], str | None]:
    """The columns, with that of time as `parse_dates` makes it, and how it was written.

    Texts that say that a result is missing, as NA, say so of a time.
    """
    if time is None:
        return columns, None
    column = columns[time]
    if isinstance(column, np.ndarray) or import_pyarrow().types.is_large_string(column.type):
        column = to_column(time, replace_na_values(column, na_values))
    found = parse_dates(time, column, dates)
    return columns | {time: found.column}, found.written


def parse_dates(name: str, column: Column, dates: str | None) -> ParsedDates:
    """Dates in text that is not ISO, in numbers of eight digits or in seconds since 1970, as timestamps.

    Other columns stay as they are.

    Args:
      name: of the column.
      column: of times.
      dates: as in `read`.

    Raises:
      RowError: where a row is no date as the others are.
      ValueError: if day and month cannot be told apart.
    """
    if isinstance(column, np.ndarray) or missing_mask(column, nan_is_missing=True).all():
        return ParsedDates(column)
    kinds = import_pyarrow().types
    is_number = kinds.is_integer(column.type) or kinds.is_floating(column.type)
    if dates is not None and "%" in dates:
        text = _whole_numbers_to_text(column) if is_number else column
        return ParsedDates(_parse_by_format(name, text, dates), dates)
    if is_number:
        return _parse_number_column(name, column)
    if not kinds.is_large_string(column.type) or _is_iso_text(column.drop_null().slice(0, 1)):
        return ParsedDates(column)
    return _parse_by_pattern(name, column, dates)


def _parse_by_pattern(name: str, column: Column, dates: str | None) -> ParsedDates:
    """Dates that are written by the pattern of the first, if most are; numbers in text without one."""
    first = column.drop_null()[0].as_py()
    pattern = next((x for x in DATE_PATTERNS if re.match(x, first, re.ASCII)), None)
    if pattern is None:
        return _parse_numeric_text(name, column)
    match, cells = re.compile(pattern, re.ASCII).match, distinct_texts(column)
    is_match = cells.map(lambda text: match(text) is not None, False)
    if 2 * np.count_nonzero(is_match) < len(column) - column.null_count:
        return ParsedDates(column)
    style, complaint = EIGHT_DIGITS if pattern == DATE_PATTERNS[-1] else None, "not a date as those above it"
    if pattern == DATE_PATTERNS[0]:
        style = dates or _find_day_or_month_first(name, column, cells.map(lambda text: _sign_of_order(match(text)), 0))
        example = "31/01/2024" if style == DAY_FIRST else "01/31/2024"
        complaint = f"not a date with the {style.removesuffix('-first')} first, as {example}"
    return ParsedDates(
        _parse_texts(name, column, lambda text: _match_to_datetime(match(text), style), complaint), style
    )


def _parse_by_format(name: str, column: Column, date_format: str) -> Column:
    """Moments by a format of `strptime`."""
    if not import_pyarrow().types.is_large_string(column.type):
        raise ValueError(f"column {name!r} must hold text to be read by dates={date_format!r}, got {column.type}")
    parse = partial(_parse_datetime, date_format=date_format)
    return _parse_texts(name, column, parse, f"not a date in the format {date_format}")


def _sign_of_order(match: re.Match[str] | None) -> int:
    """1 if the day of a date is first, as it is above 12, and -1 if it is second; 0: either may be."""
    return 0 if match is None else (int(match["one"]) > 12) - (int(match["two"]) > 12)


def _find_day_or_month_first(name: str, column: Column, sign: HostArray) -> str:
    """Whether the day or the month is first, by the signs [n] of single dates; an error if they differ or are all 0."""
    if not sign.any():
        raise ValueError(
            f"column {name!r} has dates as {column.drop_null()[0].as_py()}, in none of which the day is above "
            '12; say which is first, by dates="day-first" or dates="month-first"'
        )
    majority = 1 if sign.sum() >= 0 else -1
    if (sign == -majority).any():
        example = format_value_for_error(column[int(np.argmax(sign == majority))].as_py())
        _fail_where(name, column, sign == -majority, f"written otherwise than {example} is")
    return DAY_FIRST if majority == 1 else MONTH_FIRST


def _match_to_datetime(match: re.Match[str] | None, style: str | None) -> datetime | None:
    """The moment that the parts of a date say; None if there is no such date."""
    if match is None:
        return None
    parts = match.groupdict()
    if "one" in parts:
        parts["day"], parts["month"] = (parts["one"], parts["two"])[:: 1 if style == DAY_FIRST else -1]
    if "name" in parts:
        parts["month"] = MONTHS.get(parts["name"][:3].lower(), 0)
    numbers = {part: int(x) for part, x in parts.items() if x and part not in ("half", "name")}
    year, hour = numbers["year"], numbers.get("hour", 0)
    year += 0 if year >= 100 else 2000 if year < CENTURY_PIVOT else 1900
    if half := parts.get("half"):
        hour = hour % 12 + 12 * (half in "pP")
    second = numbers.get("second", 0)
    with suppress(ValueError, OverflowError):
        moment = datetime(
            year, numbers.get("month", 0), numbers["day"], hour, numbers.get("minute", 0), min(second, 59)
        )
        return moment + timedelta(seconds=1) if second == 60 else moment
    return None


def _parse_texts(name: str, column: Column, parse: Callable[[str], datetime | None], complaint: str) -> Column:
    """The moments that texts say; RowError where there is a text and no moment."""
    cells = distinct_texts(column)
    times = np.array([*map(parse, cells.texts), None], "datetime64[us]")[cells.codes]
    _fail_where(name, column, np.isnat(times) & (cells.codes >= 0), complaint)
    return _times_to_arrow(times)


def _fail_where(name: str, column: Column, bad: HostArray, complaint: str) -> None:
    fail_where(bad, lambda row: f"column {name!r} is {format_value_for_error(column[row].as_py())}, {complaint}")


def is_time_column(name: str, column: Column, dates: str | None) -> bool:
    """Whether a column, by the first of its values, holds dates or moments."""
    arrow = import_pyarrow()
    if isinstance(column, np.ndarray):
        return False
    sample = column.drop_null().slice(0, 1)
    if not len(sample):
        return False
    if arrow.types.is_large_string(column.type) and _is_iso_text(sample):
        return True
    for style in (dates or DAY_FIRST, MONTH_FIRST):
        with suppress(ValueError):
            kind = parse_dates(name, sample, style).column.type
            return arrow.types.is_date(kind) or arrow.types.is_timestamp(kind)
    return False


def parse_date(text: str, dates: str | None) -> float:
    """Days since 1970-01-01 of a date that is written as `dates` says, or in a way that is clear; ValueError if not."""
    arrow = import_pyarrow()
    column = parse_dates("time", arrow.chunked_array([[text]], arrow.large_string()), dates).column
    if not (arrow.types.is_timestamp(column.type) or arrow.types.is_date(column.type)):
        raise ValueError(f"{text} is no date, as 2026-05-31")
    return float(column.cast(arrow.timestamp("us")).cast(arrow.int64())[0].as_py() / 86_400_000_000)


def _is_iso_text(column: Column) -> bool:
    """Whether Arrow takes the text for timestamps."""
    arrow = import_pyarrow()
    for unit, zone in (("us", None), ("us", "UTC"), ("ns", None), ("ns", "UTC")):
        with suppress(arrow.ArrowInvalid):
            column.cast(arrow.timestamp(unit, zone))
            return True
    return False


def _times_to_arrow(times: HostArray) -> Column:
    """Moments [n] as dates of Arrow if all are midnights, else as timestamps; null where there is none."""
    is_missing, days = np.isnat(times), times.astype("datetime64[D]")
    all_midnights = bool((days == times)[~is_missing].all())
    return import_pyarrow().chunked_array(
        [import_pyarrow().array(days if all_midnights else times.astype("datetime64[us]"), mask=is_missing)]
    )


STYLE_DESCRIPTIONS = {
    DAY_FIRST: "the day first",
    MONTH_FIRST: "the month first",
    EIGHT_DIGITS: "of eight digits",
    **{unit: unit for unit in UNIX_UNITS},
}


def parse_eight_digit_dates(name: str, column: Column) -> HostArray:
    """[n] dates in text as 20240131, of which a month or day of 0 is the first; RowError for others."""
    fail_where(missing_mask(column, nan_is_missing=True), lambda row: f"column {name!r} has no value")
    text = column
    for zeros in (r"^(\d{4})00", r"^(\d{6})00"):
        text = import_pyarrow().compute.replace_substring_regex(text, zeros, r"\101")
    return np.asarray(_parse_eight_digits(name, text, "not a date as 20240131").cast("date32").to_numpy())


def _parse_eight_digits(name: str, column: Column, complaint: str) -> Column:
    """The dates that texts of eight digits say; RowError where there is a text and no date."""
    match = re.compile(DATE_PATTERNS[-1], re.ASCII).match
    return _parse_texts(name, column, lambda text: _match_to_datetime(match(text), None), complaint)


def _parse_number_column(name: str, column: Column) -> ParsedDates:
    """Numbers that are all dates of eight digits, or times since 1970 in some unit, as timestamps."""
    values = to_numbers(name, column, default=np.nan)
    present = values[~np.isnan(values)]
    if not len(present):
        return ParsedDates(column)
    low, high = present.min(), present.max()
    if low >= FIRST_DATE and high <= LAST_DATE:
        with suppress(ValueError):  # of numbers that are no dates
            return ParsedDates(_parse_eight_digits(name, _whole_numbers_to_text(column), "no date"), EIGHT_DIGITS)
    for unit, scale in UNIX_UNITS.items():
        if low >= FIRST_SECOND * scale and high <= LAST_SECOND * scale:
            times = np.where(np.isnan(values), 0.0, values * (1e6 / scale)).astype(np.int64).astype("datetime64[us]")
            return ParsedDates(_times_to_arrow(np.where(np.isnan(values), np.datetime64("NaT"), times)), unit)
    return ParsedDates(column)


def _whole_numbers_to_text(column: Column) -> Column:
    """Whole numbers as text; ValueError if some are not whole."""
    arrow = import_pyarrow()
    if arrow.types.is_floating(column.type):
        column = arrow.compute.if_else(column.is_null(nan_is_null=True), None, column)
    return column.cast(arrow.int64()).cast(arrow.large_string())


def _parse_numeric_text(name: str, column: Column) -> ParsedDates:
    """Numbers in text."""
    with suppress(ValueError):
        numbers = import_pyarrow().array(to_numbers(name, column, default=np.nan), from_pandas=True)
        return _parse_number_column(name, import_pyarrow().chunked_array([numbers]))
    return ParsedDates(column)


def _parse_datetime(text: str, date_format: str) -> datetime | None:
    with suppress(ValueError):
        parsed = datetime.strptime(text.strip(), date_format)
        return parsed if parsed.tzinfo is None else parsed.astimezone(UTC).replace(tzinfo=None)
    return None
