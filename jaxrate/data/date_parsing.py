"""Dates as people write them: the day or the month first, months by name, eight digits, and formats of `strptime`."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.column_conversion import missing_mask, to_column, to_numbers
from jaxrate.data.result_parsing import replace_na_values
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
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
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
    if dates is not None and "%" in dates:
        return ParsedDates(_parse_with_format(name, column, dates), dates)
    kinds, first = import_pyarrow().types, column.drop_null()[0].as_py()
    if kinds.is_integer(column.type) or kinds.is_floating(column.type):
        return _parse_number_column(name, column) if first >= FIRST_DATE else ParsedDates(column)
    if not kinds.is_large_string(column.type) or _is_iso_text(column.drop_null().slice(0, 1)):
        return ParsedDates(column)
    style = next((style for style in DATE_PATTERNS if _matches_pattern(style, first)), None)
    parse_text = _parse_dates_from_numeric_text if style is None else partial(_parse_dates_of_style, style, dates)
    return parse_text(name, column)


def _parse_dates_of_style(style: str, dates: str | None, name: str, column: Column) -> ParsedDates:
    """Dates that are written as this pattern says, if most are."""
    fields = _extract_date_fields(style, column)
    if 2 * fields["year"].null_count > len(column) + column.null_count:
        return ParsedDates(column)
    if "one" in fields:
        return _parse_day_or_month_first_dates(name, column, fields, dates)
    times = _fields_to_timestamps(name, column, fields, "not a date as those above it")
    return ParsedDates(times, EIGHT_DIGITS if style == DATE_PATTERNS[-1] else None)


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


def _matches_pattern(style: str, text: str) -> bool:
    arrow = import_pyarrow()
    return bool(arrow.compute.match_substring_regex(arrow.scalar(text, arrow.large_string()), style).as_py())


def _extract_date_fields(style: str, column: Column) -> dict[str, Any]:
    """The parts of dates by name, as text; null where a row is written otherwise."""
    fields = import_pyarrow().compute.extract_regex(column, style)
    return {field.name: import_pyarrow().compute.struct_field(fields, [field.name]) for field in fields.type}


def _parse_integers(text: Any) -> HostArray:
    """[n] numbers; -1 where there is none."""
    arrow = import_pyarrow()
    digits = arrow.compute.if_else(arrow.compute.equal(text, ""), "-1", text)
    return np.asarray(arrow.compute.fill_null(digits, "-1").cast(arrow.int64()).to_numpy())


def _parse_day_or_month_first_dates(
    name: str, column: Column, fields: dict[str, Any], dates: str | None
) -> ParsedDates:
    """Dates of which the day or the month may be first."""
    first, second = (_parse_integers(fields.pop(key)) for key in ("one", "two"))
    if dates is None:
        day_first, month_first = first > 12, second > 12
        if day_first.any() and month_first.any():
            majority = DAY_FIRST if day_first.sum() >= month_first.sum() else MONTH_FIRST
            exceptions = month_first if majority == DAY_FIRST else day_first
            example = _first_text_where(column, ~exceptions & (day_first | month_first))
            complaint = f"written otherwise than {format_value_for_error(example)} is"
            fail_where(
                exceptions, lambda row: f"column {name!r} is {format_value_for_error(column[row].as_py())}, {complaint}"
            )
        if not (day_first.any() or month_first.any()):
            example = _first_text_where(column, first > 0)
            raise ValueError(
                f"column {name!r} has dates as {example}, in none of which the day is above "
                '12; say which is first, by dates="day-first" or dates="month-first"'
            )
        dates = DAY_FIRST if day_first.any() else MONTH_FIRST
    day, month = (first, second) if dates == DAY_FIRST else (second, first)
    fields_by_name = fields | {"day": day, "month": month}
    complaint = (
        f"not a date with the {dates.removesuffix('-first')} first, as {'31/01' if dates == DAY_FIRST else '01/31'}"
    )
    return ParsedDates(_fields_to_timestamps(name, column, fields_by_name, f"{complaint}/2024"), dates)


def _first_text_where(column: Column, mask: HostArray) -> str:
    return str(column[int(np.argmax(mask))].as_py())


def _fields_to_timestamps(name: str, column: Column, fields: dict[str, Any], complaint: str) -> Column:
    """Timestamps of the parts of dates; RowError where there is a text and no such date."""
    arrow = import_pyarrow()
    n = len(column)
    numbers = {
        key: x if isinstance(x, np.ndarray) else _parse_integers(x)
        for key, x in fields.items()
        if key not in TEXT_FIELDS
    }
    year, day = numbers["year"], numbers["day"]
    if "name" in fields:
        start = arrow.compute.utf8_slice_codeunits(arrow.compute.utf8_lower(fields["name"]), 0, 3)
        month = np.asarray(arrow.compute.fill_null(arrow.compute.index_in(start, arrow.array(MONTHS)), -1).to_numpy())
        month = month.astype(np.int64) + 1
    else:
        month = numbers["month"]
    year = np.where((year >= 0) & (year < 100), year + np.where(year < CENTURY_PIVOT, 2000, 1900), year)
    hour, minute, second = (
        np.maximum(numbers.get(key, np.zeros(n, np.int64)), 0) for key in ("hour", "minute", "second")
    )
    half = np.zeros(n, "<U1")
    if "half" in fields:
        half = np.array(arrow.compute.utf8_lower(fields["half"]).fill_null("").to_pylist(), "<U1")
        hour = np.where(half == "", hour, hour % 12 + 12 * (half == "p"))
    valid_month = (year > 0) & (month >= 1) & (month <= 12)
    first = ((np.where(valid_month, year, 1970) - 1970) * 12 + np.where(valid_month, month, 1) - 1).astype(
        "datetime64[M]"
    )
    date = first.astype("datetime64[D]") + (day - 1)
    valid = (
        valid_month & (day >= 1) & (date.astype("datetime64[M]") == first) & (hour < 24) & (minute < 60) & (second < 61)
    )
    present = ~missing_mask(column, nan_is_missing=True)
    fail_where(
        present & ~valid, lambda row: f"column {name!r} is {format_value_for_error(column[row].as_py())}, {complaint}"
    )
    return _times_to_arrow(
        date.astype("datetime64[us]") + (3600 * hour + 60 * minute + second).astype("timedelta64[s]"), present
    )


def _times_to_arrow(times: HostArray, mask: HostArray) -> Column:
    """Moments [n] as dates of Arrow if all are midnights, else as timestamps; null where there is none."""
    days = times.astype("datetime64[D]")
    all_midnights = bool((days == times)[mask].all())
    return import_pyarrow().chunked_array(
        [import_pyarrow().array(days if all_midnights else times.astype("datetime64[us]"), mask=~mask)]
    )


STYLE_DESCRIPTIONS = {
    DAY_FIRST: "the day first",
    MONTH_FIRST: "the month first",
    EIGHT_DIGITS: "of eight digits",
    **{unit: unit for unit in UNIX_UNITS},
}
TEXT_FIELDS = "name", "half"  # parts of dates that are no numbers


def _parse_number_column(name: str, column: Column) -> ParsedDates:
    """Numbers that are all dates of eight digits, or times since 1970 in some unit, as timestamps."""
    present = ~missing_mask(column, nan_is_missing=True)
    values = np.where(present, to_numbers(name, column, default=0.0), 0.0)
    present_values = values[present]
    if not present.any():
        return ParsedDates(column)
    if _are_eight_digit_dates(present_values):
        date = np.where(
            present, _days_of_eight_digit_dates(np.where(present, values, 1970_01_01)), np.datetime64(0, "D")
        )
        return ParsedDates(_times_to_arrow(date, present), EIGHT_DIGITS)
    for unit, scale in UNIX_UNITS.items():
        if ((present_values >= FIRST_SECOND * scale) & (present_values <= LAST_SECOND * scale)).all():
            times = (values * (1e6 / scale)).astype(np.int64).astype("datetime64[us]")
            return ParsedDates(_times_to_arrow(times, present), unit)
    return ParsedDates(column)


def _parse_dates_from_numeric_text(name: str, column: Column) -> ParsedDates:
    """Numbers in text."""
    with suppress(ValueError):
        numbers = import_pyarrow().array(to_numbers(name, column, default=np.nan), from_pandas=True)
        return _parse_number_column(name, import_pyarrow().chunked_array([numbers]))
    return ParsedDates(column)


def _are_eight_digit_dates(values: HostArray) -> bool:
    """Whether numbers are all dates of the calendar, in eight digits."""
    if not ((values >= FIRST_DATE) & (values <= LAST_DATE) & (values == np.floor(values))).all():
        return False
    month, day = values // 100 % 100, values % 100
    if not ((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all():
        return False
    return bool(
        (_days_of_eight_digit_dates(values).astype("datetime64[M]") == _months_of_eight_digit_dates(values)).all()
    )


def _months_of_eight_digit_dates(values: HostArray) -> HostArray:
    number = values.astype(np.int64)
    return ((number // 10000 - 1970) * 12 + number // 100 % 100 - 1).astype("datetime64[M]")


def _days_of_eight_digit_dates(values: HostArray) -> HostArray:
    """[n] eight digits as dates."""
    return _months_of_eight_digit_dates(values).astype("datetime64[D]") + (values.astype(np.int64) % 100 - 1)


def _parse_with_format(name: str, column: Column, date_format: str) -> Column:
    """Text, or whole numbers, by a format of `strptime`."""
    arrow = import_pyarrow()
    if not arrow.types.is_large_string(column.type):
        if not (arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type)):
            raise ValueError(f"column {name!r} must hold text to be read by dates={date_format!r}, got {column.type}")
        numbers = to_numbers(name, column, default=np.nan)
        texts = [None if x != x else f"{x:.0f}" for x in numbers.tolist()]
        column = arrow.chunked_array([arrow.array(texts, arrow.large_string())])
    codes = arrow.compute.dictionary_encode(column).combine_chunks()
    texts = codes.dictionary.to_pylist()
    parsed = [_parse_datetime(text, date_format) for text in texts]
    index = np.asarray(codes.indices.fill_null(-1).to_numpy(zero_copy_only=False))
    bad = np.append([moment is None for moment in parsed], False)[index]
    fail_where(
        bad,
        lambda row: (
            f"column {name!r} is {format_value_for_error(column[row].as_py())}, not a date in the format {date_format}"
        ),
    )
    times = np.array([*parsed, None], "datetime64[us]")
    return _times_to_arrow(times[index], index >= 0)


def _parse_datetime(text: str, date_format: str) -> datetime | None:
    with suppress(ValueError):
        parsed = datetime.strptime(text.strip(), date_format)
        return parsed if parsed.tzinfo is None else parsed.astimezone(UTC).replace(tzinfo=None)
    return None
