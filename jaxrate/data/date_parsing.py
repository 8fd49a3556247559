"""Dates as people write them: the day or the month first, months by name, eight digits, and formats of `strptime`."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.column_conversion import (
    cast_iso_times,
    cell_value,
    check_present,
    distinct_cells,
    fail_at_cells,
    is_numeric,
    is_text,
    missing_mask,
    numbers_or_nan,
    to_column,
    to_days,
    to_numbers,
    whole_number_text,
)
from jaxrate.data.result_parsing import replace_na_values
from jaxrate.data.table_sources import Column, import_pyarrow
from jaxrate.events import fail_where

DAY_FIRST, MONTH_FIRST, EIGHT_DIGITS = "day-first", "month-first", "eight digits"
PARTS_OF_SECONDS = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}  # in a second
UNIX_UNITS = {f"{name} since 1970": scale for name, scale in PARTS_OF_SECONDS.items()}
STYLE_DESCRIPTIONS = {x: x for x in UNIX_UNITS}
STYLE_DESCRIPTIONS |= {DAY_FIRST: "the day first", MONTH_FIRST: "the month first", EIGHT_DIGITS: "of eight digits"}
CLOCK_PATTERN = r"(?:(?:T|,?\s+)(?:-\s*)?(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d+)?)?"
CLOCK_PATTERN += r"\s*(?P<half>[AaPp]?)(?:\.?[Mm]\.?)?)?\s*"
WEEKDAY, WEEK = r"\s*(?:\(?[A-Za-z]{2,9}\)?\.?,?\s+)?", r"(?:\(W?\d+\)\s*)?"
MONTH_NAME_PATTERN = r"(?P<month_name>[A-Za-z]{3,9})\.?"
DAY_PATTERN = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
YEAR_PATTERN = r"(?:(?P<year>\d{4})|(?P<short_year>\d{2}))"
NUMBERS_PATTERN = rf"^\s*(?P<one>\d{{1,2}})[/.-](?P<two>\d{{1,2}})[/.-]{YEAR_PATTERN}{CLOCK_PATTERN}$"
EIGHT_DIGITS_PATTERN = r"^\s*(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})(?:\.0)?\s*$"
DATE_PATTERNS = (  # of Python's regular expressions and of Arrow's
    NUMBERS_PATTERN,
    rf"^\s*(?P<year>\d{{4}})[/.-](?P<month>\d{{1,2}})[/.-](?P<day>\d{{1,2}}){CLOCK_PATTERN}$",
    rf"^{WEEKDAY}{DAY_PATTERN}[\s-]{MONTH_NAME_PATTERN}[,\s-]+{YEAR_PATTERN}{CLOCK_PATTERN}{WEEK}$",
    rf"^{WEEKDAY}{MONTH_NAME_PATTERN}\s{DAY_PATTERN},?\s{YEAR_PATTERN}{CLOCK_PATTERN}{WEEK}$",
    EIGHT_DIGITS_PATTERN,
)
MONTHS = ("", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WORDS = {"month_name": MONTHS, "half": ("", "a", "p")}  # in parts of dates, for the numbers from 0
NO_PART = np.int64(-1)
CENTURY_PIVOT = 69  # two digits from here on are years of the last century, as for `strptime`
FIRST_DATE, LAST_DATE = 1800_01_01, 2199_12_31  # dates of eight digits
FIRST_SECOND, LAST_SECOND = 3e8, 4.2e9  # since 1970: from 1979 to 2103
NO_TIME = np.datetime64("NaT", "us")


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
    if isinstance(column, np.ndarray) or is_text(column):
        column = to_column(time, replace_na_values(column, na_values))
    parsed = parse_dates(time, column, dates)
    return columns | {time: parsed.column}, parsed.written


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
    if dates is not None and "%" in dates:
        return ParsedDates(_parse_by_format(name, column, dates), dates)
    if is_numeric(column):
        return _parse_numbers(column, to_numbers(name, column, default=np.nan))
    if not is_text(column) or cast_iso_times(column.drop_null().slice(0, 1)) is not None:
        return ParsedDates(column)
    first = column.drop_null()[0].as_py()
    pattern = next((x for x in DATE_PATTERNS if re.match(x, first, re.ASCII)), None)
    if pattern is not None:
        return _parse_by_pattern(name, column, pattern, dates)
    with suppress(ValueError):
        numbers = to_numbers(name, column, default=np.nan)
        arrow = import_pyarrow()
        return _parse_numbers(arrow.chunked_array([arrow.array(numbers, from_pandas=True)]), numbers)
    return ParsedDates(column)


def _parse_by_format(name: str, column: Column, date_format: str) -> Column:
    """Moments by a format of `strptime`."""
    if not (is_text(column) or is_numeric(column)):
        raise ValueError(f"column {name!r} must hold text to be read by dates={date_format!r}, got {column.type}")
    times = distinct_cells(column).map(lambda cell: _parse_datetime(whole_number_text(cell), date_format), NO_TIME)
    fail_where(
        np.isnat(times) & ~missing_mask(column, nan_is_missing=True),
        lambda row: (
            f"column {name!r} is {format_value_for_error(whole_number_text(cell_value(column, row)))}, "
            f"not a date in the format {date_format}"
        ),
    )
    return _times_to_arrow(times)


def _parse_datetime(text: str, date_format: str) -> datetime | None:
    with suppress(ValueError, re.error):  # of a format that has a part twice
        parsed = datetime.strptime(text.strip(), date_format)
        return parsed if parsed.tzinfo is None else parsed.astimezone(UTC).replace(tzinfo=None)
    return None


def _parse_by_pattern(name: str, column: Column, pattern: str, dates: str | None) -> ParsedDates:
    """Dates that are written by the pattern of the first, if most are."""
    texts, codes = distinct_cells(column)
    parts, is_match = _match_parts(texts, pattern)
    if 2 * np.count_nonzero(is_match[codes] & (codes >= 0)) < np.count_nonzero(codes >= 0):
        return ParsedDates(column)
    style, complaint = EIGHT_DIGITS if pattern == EIGHT_DIGITS_PATTERN else None, "not a date as those above it"
    if pattern == NUMBERS_PATTERN:
        is_above = (parts[part] > 12 for part in ("one", "two"))
        day_sign = np.append(np.subtract(*is_above, dtype=int) * is_match, 0)[codes]
        style = dates or _find_day_or_month_first(name, column, day_sign)
        example = "31/01/2024" if style == DAY_FIRST else "01/31/2024"
        complaint = f"not a date with the {style.removesuffix('-first')} first, as {example}"
        parts["day"], parts["month"] = (parts["one"], parts["two"])[:: 1 if style == DAY_FIRST else -1]
    times = np.append(np.where(is_match, _parts_to_times(parts), NO_TIME), NO_TIME)[codes]
    fail_at_cells(np.isnat(times) & (codes >= 0), name, column, complaint)
    return ParsedDates(_times_to_arrow(times), style)


def _match_parts(texts: Sequence[str], pattern: str) -> tuple[dict[str, HostArray], HostArray]:
    """The numbers [n] in the parts of dates by name, -1 where there is none, and [n] whether texts have the pattern."""
    arrow, parts = import_pyarrow(), dict[str, HostArray]()
    compute = arrow.compute
    match = compute.extract_regex(arrow.array(texts, arrow.large_string()), pattern)
    for part in (field.name for field in match.type):
        text = compute.utf8_lower(compute.struct_field(match, [part]))
        if part in WORDS:
            number = compute.index_in(compute.utf8_slice_codeunits(text, 0, 3), arrow.array(WORDS[part], text.type))
        else:
            number = compute.if_else(compute.equal(text, ""), None, text).cast(arrow.int64())
        parts[part.removesuffix("_name")] = number.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return parts, np.asarray(match.is_valid().to_numpy(zero_copy_only=False))


def _parts_to_times(parts: Mapping[str, Any]) -> HostArray:
    """[n] the moments that the parts of dates say; no time where there is no such date or hour."""
    hour, minute, second = (np.maximum(parts.get(name, 0), 0) for name in ("hour", "minute", "second"))
    exists = (hour < 24) & (minute < 60) & (second <= 60)  # with leap seconds
    half, short_year = parts.get("half", NO_PART), parts.get("short_year", NO_PART)
    hour = np.where(half < 1, hour, hour % 12 + 12 * (half - 1))
    year = np.where(short_year < 0, parts["year"], short_year + np.where(short_year < CENTURY_PIVOT, 2000, 1900))
    month = ((year - 1970) * 12 + parts["month"] - 1).astype("datetime64[M]")
    day = month.astype("datetime64[D]") + (parts["day"] - 1)
    exists &= (parts["month"] >= 1) & (parts["month"] <= 12) & (day.astype("datetime64[M]") == month)
    return np.where(exists, day + ((hour * 60 + minute) * 60 + second).astype("timedelta64[s]"), NO_TIME)


def _find_day_or_month_first(name: str, column: Column, sign: HostArray) -> str:
    """Whether the day or the month is first, by dates [n] that only one way of both allows, 1 and -1, and others, 0.

    Raises:
      RowError: where a date must be written otherwise than most.
      ValueError: if all dates allow both.
    """
    if not sign.any():
        raise ValueError(
            f"column {name!r} has dates as {column.drop_null()[0].as_py()}, in none of which the day is above "
            '12; say which is first, by dates="day-first" or dates="month-first"'
        )
    majority = 1 if sign.sum() >= 0 else -1
    example = format_value_for_error(cell_value(column, int(np.argmax(sign == majority))))
    fail_at_cells(sign == -majority, name, column, f"written otherwise than {example} is")
    return DAY_FIRST if majority == 1 else MONTH_FIRST


def is_time_column(name: str, column: Column, dates: str | None) -> bool:
    """Whether a column, by the first of its values, holds dates or moments."""
    if isinstance(column, np.ndarray) or not len(sample := column.drop_null().slice(0, 1)):
        return False
    kinds = import_pyarrow().types
    for style in (dates or DAY_FIRST, MONTH_FIRST):
        with suppress(ValueError):
            times = parse_dates(name, sample, style).column
            if is_text(times):
                return cast_iso_times(times) is not None
            return bool(kinds.is_date(times.type) or kinds.is_timestamp(times.type))
    return False


def parse_date(text: str, dates: str | None) -> float:
    """Days since 1970-01-01 of a date that is written as `dates` says, or in a way that is clear; ValueError if not."""
    days, is_date = to_days("time", parse_dates("time", to_column("time", [text]), dates).column)
    if not is_date:
        raise ValueError(f"{text} is no date, as 2026-05-31")
    return float(days[0])


def parse_eight_digit_dates(name: str, column: Column) -> HostArray:
    """[n] dates as 20240131, in numbers or text, of which a month or day of 0 is the first; RowError for others."""
    check_present(name, column, nan_is_missing=True)
    times = _eight_digits_to_times(numbers_or_nan(column), first=1)
    fail_at_cells(np.isnat(times), name, column, "not a date as 20240131")
    return times.astype("datetime64[D]")


def _eight_digits_to_times(numbers: HostArray, first: int = 0) -> HostArray:
    """[n] the dates that numbers as 20240131 say, no time for others; months and days are at least the `first`."""
    whole = np.nan_to_num(numbers, posinf=0.0, neginf=0.0).astype(np.int64)
    month, day = (np.maximum(whole // divisor % 100, first) for divisor in (100, 1))
    times = _parts_to_times({"year": whole // 10_000, "month": month, "day": day})
    return np.where((whole == numbers) & (whole >= 1000_00_00), times, NO_TIME)


def _parse_numbers(column: Column, values: HostArray) -> ParsedDates:
    """Numbers [n] that are all dates of eight digits, or times since 1970 in some unit, as timestamps."""
    is_missing = np.isnan(values)
    if is_missing.all():
        return ParsedDates(column)
    low, high, numbers = np.nanmin(values), np.nanmax(values), np.where(is_missing, np.nanmin(values), values)
    if low >= FIRST_DATE and high <= LAST_DATE:
        times = _eight_digits_to_times(numbers)
        if not np.isnat(times).any():
            return ParsedDates(_times_to_arrow(np.where(is_missing, NO_TIME, times)), EIGHT_DIGITS)
    for unit, scale in UNIX_UNITS.items():
        if low >= FIRST_SECOND * scale and high <= LAST_SECOND * scale:
            times = (numbers * (1e6 / scale)).astype(np.int64).astype("datetime64[us]")
            return ParsedDates(_times_to_arrow(np.where(is_missing, NO_TIME, times)), unit)
    return ParsedDates(column)


def _times_to_arrow(times: HostArray) -> Column:
    """Moments [n] as dates of Arrow if all are midnights, else as timestamps; null where there is none."""
    is_missing, days = np.isnat(times), times.astype("datetime64[D]")
    values = days if (is_missing | (days == times)).all() else times
    return import_pyarrow().chunked_array([import_pyarrow().array(values, mask=is_missing)])
