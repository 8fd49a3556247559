"""Times in tables: dates as people write them, moments since 1970 and numbers, as days; ages, and years of seasons."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import check_that
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count, format_value_for_error
from jaxrate.data.column_conversion import (
    cell_number,
    cell_value,
    check_no_missing_values,
    distinct_cells,
    fail_at_cells,
    is_numeric,
    is_text,
    missing_mask,
    numbers_or_nan,
    to_column,
    to_ids,
    to_numbers,
    value_text,
)
from jaxrate.data.faulty_rows import warn_caller
from jaxrate.data.result_parsing import replace_na_values
from jaxrate.data.table_sources import Column, import_pyarrow
from jaxrate.events import fail_where

DAY_FIRST, MONTH_FIRST, EIGHT_DIGITS = "day-first", "month-first", "eight digits"
PARTS_OF_SECONDS = {"seconds": 1.0, "milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}  # in a second
UNIX_UNITS = {f"{name} since 1970": scale for name, scale in PARTS_OF_SECONDS.items()}
STYLE_DESCRIPTIONS = {x: x for x in UNIX_UNITS}
STYLE_DESCRIPTIONS |= {DAY_FIRST: "the day first", MONTH_FIRST: "the month first", EIGHT_DIGITS: "of eight digits"}
UNITS_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
CLOCK_PATTERN = r"(?:(?:T|,?\s+)(?:-\s*)?(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d+)?)?"
CLOCK_PATTERN += r"\s*(?P<half>[AaPp]?)(?:\.?[Mm]\.?)?(?:UTC|GMT|Z)?)?\s*"
LETTER = "[A-Za-zÀ-ÿ]"
WEEKDAY, WEEK = rf"\s*(?:\(?{LETTER}{{2,10}}\)?\.?,?\s+)?", r"(?:\(W?\d+\)\s*)?"
MONTH_NAME_PATTERN = rf"(?P<month_name>{LETTER}{{3,10}})\.?"
DAY_PATTERN = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|\.)?"
YEAR_PATTERN = r"(?:(?P<year>\d{4})|(?P<short_year>\d{2}))"
NUMBERS_PATTERN = rf"^{WEEKDAY}(?P<one>\d{{1,2}})[/.-](?P<two>\d{{1,2}})[/.-]{YEAR_PATTERN}{CLOCK_PATTERN}$"
EIGHT_DIGITS_PATTERN = r"^\s*(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})(?:\.0)?\s*$"
DATE_PATTERNS = (  # of Python's regular expressions and of Arrow's
    NUMBERS_PATTERN,
    rf"^{WEEKDAY}(?P<year>\d{{4}})[/.-](?P<month>\d{{1,2}})[/.-](?P<day>\d{{1,2}}){CLOCK_PATTERN}$",
    rf"^{WEEKDAY}{DAY_PATTERN}[\s-](?:de\s)?{MONTH_NAME_PATTERN}[,\s-]+(?:de\s)?{YEAR_PATTERN}{CLOCK_PATTERN}{WEEK}$",
    rf"^{WEEKDAY}{MONTH_NAME_PATTERN}\s{DAY_PATTERN},?\s{YEAR_PATTERN}{CLOCK_PATTERN}{WEEK}$",
    EIGHT_DIGITS_PATTERN,
)
MONTHS = (  # the first letters of each, in English, German, French, Spanish, Portuguese, Italian and Dutch
    "jan ene gen", "feb fév fev", "mar mär maa mrt mrz", "apr avr abr", "may mai mag mei", "jun giu",
    "jul lug", "aug aoû aou ago", "sep set", "oct okt out ott", "nov", "dec dez déc dic",
)  # fmt: skip
WORDS = {  # in parts of dates, and the numbers that they stand for
    "month_name": {name: number for number, names in enumerate(MONTHS, 1) for name in names.split()},
    "half": {"a": 1, "p": 2},
}
NO_PART = np.int64(-1)
CENTURY_PIVOT = 69  # two digits from here on are years of the last century, as for `strptime`
FIRST_DATE, LAST_DATE = 1800_01_01, 2199_12_31  # dates of eight digits
FIRST_SECOND, LAST_SECOND = 3e8, 4.2e9  # since 1970: from 1979 to 2103
FIRST_DAY = -354_285  # 1000-01-01; earlier days stand for no date, as 0001-01-01 does
LAST_DAY = 73_000_000  # about 200,000 years
NO_TIME = np.datetime64("NaT", "us")
ISO_ADVICE = "2024-01-31, 2024-01-31 18:30:00 or, in all rows, 2024-01-31T18:30:00Z or +02:00"


class ParsedTimes(NamedTuple):
    """The times of a column."""

    values: HostArray  # [n] dates as days since 1970-01-01 in UTC, numbers as they are; NaN where there is none
    clock: str | None  # "dates" or "numbers"; None: there is no value
    style: str | None = None  # how dates are written, if that had to be found out or was told

    def to_column(self) -> Column:
        """The times as a column."""
        return import_pyarrow().chunked_array([import_pyarrow().array(self.values, from_pandas=True)])


def is_date_style_argument(dates: Any) -> bool:
    """Whether this says how dates are written, as `dates` of `read`."""
    return isinstance(dates, str) and (dates in (DAY_FIRST, MONTH_FIRST) or "%" in dates)


def check_date_style(dates: Any) -> None:
    """ValueError unless this says how dates are written, or is None."""
    if dates is not None and not is_date_style_argument(dates):
        raise ValueError(
            f'dates must be "day-first", "month-first" or a format as "%d %b %Y", got {format_value_for_error(dates)}'
        )


def parse_times(name: str, column: Column, dates: str | None = None, na_values: Sequence[str] = ()) -> ParsedTimes:
    """The dates, moments or numbers in a column.

    Dates may be text in ISO or as people write them, numbers of eight digits or moments since 1970. Text as NA, or one
    of `na_values`, says that one is missing; `dates` are as in `read`.
    """
    kinds = import_pyarrow().types
    column = replace_na_values(column, na_values) if is_text(column) else column
    if column.null_count == len(column):
        return ParsedTimes(np.full(len(column), np.nan), None)
    if dates is not None and "%" in dates:
        return _dates_to_days(name, _parse_by_format(name, column, dates), dates)
    if is_text(column):
        return _parse_text(name, column, dates)
    if is_numeric(column):
        return _parse_numbers(name, numbers_or_nan(column))
    if kinds.is_date(column.type) or kinds.is_timestamp(column.type):
        return _dates_to_days(name, column, None)
    raise ValueError(f"column {name!r} must hold dates, timestamps or numbers, got {column.type}")


def parse_further_times(name: str, column: Column, clock: str | None, style: str | None) -> ParsedTimes:
    """The times in further rows of a table, whose first rows have this clock and this style, as in `ParsedTimes`."""
    if clock == "numbers":
        return ParsedTimes(to_numbers(name, replace_na_values(column), np.nan), clock)
    times = parse_times(name, column, style if is_date_style_argument(style) else None)
    if times.clock is not None and (times.clock, times.style) != (clock, style):
        kind = style or ("ISO dates" if clock else "no times")
        raise ValueError(f"column {name!r} has other dates than {kind}, as the first rows have")
    return times


def _dates_to_days(name: str, times: Any, style: str | None) -> ParsedTimes:
    """Dates or timestamps of Arrow, or moments of NumPy, as days. RowError for those that can be none of an event."""
    arrow = import_pyarrow()
    times = arrow.chunked_array([arrow.array(times)]) if isinstance(times, np.ndarray) else times
    if arrow.types.is_date(times.type):
        days = times.cast(arrow.date32()).cast(arrow.int32()).to_numpy().astype(np.float64)
    else:
        days = np.asarray(times.cast(arrow.int64()).to_numpy() / UNITS_PER_DAY[times.type.unit])

    def say(row: int) -> str:
        reason = "before the year 1000" if days[row] < FIRST_DAY else "not within 200,000 years of 1970"
        date = np.datetime64(int(days[row] // 1), "D")
        return f"column {name!r} is {date}, {reason}; correct it, or leave it empty"

    fail_where((days < FIRST_DAY) | (days > LAST_DAY), say)
    return ParsedTimes(days, "dates", style)


def _parse_by_format(name: str, column: Column, date_format: str) -> HostArray:
    """[n] moments by a format of `strptime`."""
    if not (is_text(column) or is_numeric(column)):
        raise ValueError(f"column {name!r} must hold text to be read by dates={date_format!r}, got {column.type}")
    times = distinct_cells(column).map(lambda cell: _parse_datetime(value_text(cell), date_format), NO_TIME)
    fail_where(
        np.isnat(times) & ~missing_mask(column),
        lambda row: (
            f"column {name!r} is {format_value_for_error(value_text(cell_value(column, row)))}, "
            f"not a date in the format {date_format}"
        ),
    )
    return times


def _parse_datetime(text: str, date_format: str) -> datetime | None:
    with suppress(ValueError, re.error):  # of a format that has a part twice
        parsed = datetime.strptime(text.strip(), date_format)
        return parsed if parsed.tzinfo is None else parsed.astimezone(UTC).replace(tzinfo=None)
    return None


def _parse_text(name: str, column: Column, dates: str | None) -> ParsedTimes:
    """Times in text: in ISO as the first is, by the pattern of the first if most have it, or numbers."""
    first = column.drop_null().slice(0, 1)
    if _cast_iso_times(first) is None:
        text = first[0].as_py()
        pattern = next((x for x in DATE_PATTERNS if re.match(x, text, re.ASCII)), None)
        parsed = None if pattern is None else _parse_by_pattern(name, column, pattern, dates)
        if parsed is not None:
            return parsed
        numbers = numbers_or_nan(column)
        if pattern is None and not (np.isnan(numbers) & ~missing_mask(column)).any():
            return _parse_numbers(name, numbers)
    return _dates_to_days(name, _parse_iso_times(name, column), None)


def _cast_iso_times(text: Any) -> Any:
    """Text in Arrow as timestamps, of which all have a zone or none; None if some of it is no ISO date or timestamp."""
    casts = (_cast_or_none(text, kind) for kind in _timestamp_types())
    return next((times for times in casts if times is not None), None)


def _timestamp_types() -> list[Any]:
    """The types that text in ISO may have, with a zone and without one."""
    return [import_pyarrow().timestamp(unit, zone) for unit in ("us", "ns") for zone in (None, "UTC")]


def _cast_or_none(text: Any, kind: Any) -> Any:
    with suppress(import_pyarrow().ArrowInvalid):
        return text.cast(kind)


def _parse_iso_times(name: str, column: Column) -> Column:
    """Text as timestamps; RowError where it is no ISO date or timestamp as most are, with a zone or without one."""
    if (times := _cast_iso_times(column)) is not None:
        return times
    array, cells = import_pyarrow().array, distinct_cells(column)
    is_time = [
        cells.map(lambda text: _cast_or_none(array([text]), kind) is not None, True)  # noqa: B023
        for kind in _timestamp_types()
    ]
    fail_at_cells(~max(is_time, key=np.count_nonzero), name, column, f"not an ISO date or timestamp ({ISO_ADVICE})")
    return column


def _parse_by_pattern(name: str, column: Column, pattern: str, dates: str | None) -> ParsedTimes | None:
    """Dates that are written by the pattern of the first, if most are; else None."""
    texts, codes = distinct_cells(column)
    parts, is_match = _match_date_parts(texts, pattern)
    if 2 * np.count_nonzero(is_match[codes] & (codes >= 0)) < np.count_nonzero(codes >= 0):
        return None
    style, complaint = EIGHT_DIGITS if pattern == EIGHT_DIGITS_PATTERN else None, "not a date as those above it"
    if pattern == NUMBERS_PATTERN:
        is_above = (parts[part] > 12 for part in ("one", "two"))
        day_sign = np.append(np.subtract(*is_above, dtype=int) * is_match, 0)[codes]
        style = dates or _find_day_or_month_first(name, column, day_sign)
        example = "31/01/2024" if style == DAY_FIRST else "01/31/2024"
        complaint = f"not a date with the {style.removesuffix('-first')} first, as {example}"
        parts["day"], parts["month"] = (parts["one"], parts["two"])[:: 1 if style == DAY_FIRST else -1]
    times = np.append(np.where(is_match, _date_parts_to_times(parts), NO_TIME), NO_TIME)[codes]
    fail_at_cells(np.isnat(times) & (codes >= 0), name, column, complaint)
    return _dates_to_days(name, times, style)


def _match_date_parts(texts: Sequence[str], pattern: str) -> tuple[dict[str, HostArray], HostArray]:
    """The numbers [n] in the parts of dates by name, -1 where there is none, and [n] whether texts have the pattern."""
    arrow, parts = import_pyarrow(), dict[str, HostArray]()
    compute = arrow.compute
    match = compute.extract_regex(arrow.array(texts, arrow.large_string()), pattern)
    for part in (field.name for field in match.type):
        text = compute.utf8_lower(compute.struct_field(match, [part]))
        if words := WORDS.get(part):
            text = compute.replace_substring_regex(text, "^jui(n|l).*", r"ju\1")  # of French, which share three letters
            text = compute.utf8_slice_codeunits(text, 0, 3)
            index = compute.index_in(text, arrow.array([*words], text.type)).fill_null(-1)
            numbers = np.array([*words.values(), NO_PART])[index.to_numpy(zero_copy_only=False)]
        else:
            number = compute.if_else(compute.equal(text, ""), None, text).cast(arrow.int64()).fill_null(NO_PART)
            numbers = number.to_numpy(zero_copy_only=False)
        parts[part.removesuffix("_name")] = numbers
    return parts, np.asarray(match.is_valid().to_numpy(zero_copy_only=False))


def _date_parts_to_times(parts: Mapping[str, Any]) -> HostArray:
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
    """Whether the day or the month is first, by dates [n] that only one way of both allows, 1 and -1, and others, 0."""
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
    for style in (dates or DAY_FIRST, MONTH_FIRST):
        with suppress(ValueError):
            return parse_times(name, column.drop_null().slice(0, 1), style).clock == "dates"
    return False


def parse_date(text: str, dates: str | None) -> float:
    """Days since 1970-01-01 of a date that is written as `dates` says, or in a way that is clear; ValueError if not."""
    times = parse_times("time", to_column("time", [text]), dates)
    check_that(times.clock == "dates", f"{text} is no date, as 2026-05-31")
    return float(times.values[0])


def parse_eight_digit_dates(name: str, column: Column) -> HostArray:
    """[n] dates as 20240131, in numbers or text, of which a month or day of 0 is the first; RowError for others."""
    check_no_missing_values(name, column)
    times = _eight_digits_to_times(numbers_or_nan(column), first=1)
    fail_at_cells(np.isnat(times), name, column, "not a date as 20240131")
    return times.astype("datetime64[D]")


def _eight_digits_to_times(numbers: HostArray, first: int = 0) -> HostArray:
    """[n] the dates that numbers as 20240131 say, no time for others; months and days are at least the `first`."""
    whole = np.nan_to_num(numbers, posinf=0.0, neginf=0.0).astype(np.int64)
    month, day = (np.maximum(whole // divisor % 100, first) for divisor in (100, 1))
    times = _date_parts_to_times({"year": whole // 10_000, "month": month, "day": day})
    return np.where((whole == numbers) & (whole >= 1000_00_00), times, NO_TIME)


def _parse_numbers(name: str, values: HostArray) -> ParsedTimes:
    """Numbers [n], which are dates if all are of eight digits, or moments since 1970 in some unit."""
    is_missing = np.isnan(values)
    low, high = np.nanmin(values), np.nanmax(values)
    if low >= FIRST_DATE and high <= LAST_DATE:
        times = _eight_digits_to_times(values)
        if (np.isnat(times) == is_missing).all():
            return _dates_to_days(name, times, EIGHT_DIGITS)
    for unit, scale in UNIX_UNITS.items():
        if low >= FIRST_SECOND * scale and high <= LAST_SECOND * scale:
            microseconds = np.where(is_missing, low, values) * (1e6 / scale)
            times = np.where(is_missing, NO_TIME, microseconds.astype(np.int64).astype("datetime64[us]"))
            return _dates_to_days(name, times, unit)
    return ParsedTimes(values, "numbers")


# Ages, and years of seasons


DAYS_PER_YEAR = 365.25  # days
MAX_AGE = 120.0  # years; of more, as of a birth on the first day of 1900, none is known


def age_differences(names: Sequence[str], columns: Mapping[str, Column], time: HostArray | None) -> HostArray:
    """[n] years by which the first player is older at `time` [n], from ages or births; 0 where either has none."""
    first, second = (_age_in_years(name, columns[name], time) for name in names)
    return np.where(np.isnan(first) | np.isnan(second), 0.0, first - second)


def _age_in_years(name: str, column: Column, time: HostArray | None) -> HostArray:
    """[n] years, from ages as they are or from days of birth; NaN where there is none."""
    if is_text(column) and distinct_cells(column).map(_is_age_in_years, False).any():
        column = to_column(name, to_numbers(name, column, np.nan))
    age, clock, _ = parse_times(name, column)
    if clock == "dates":
        if time is None:
            raise ValueError(f"column {name!r} has dates of birth, which need matches with dates; give ages")
        age = (time - age) / DAYS_PER_YEAR
    impossible = ~missing_mask(column) & ~((age >= 0) & (age <= MAX_AGE))
    if impossible.any():
        count = format_count(int(np.count_nonzero(impossible)), "age")
        warn_caller(
            f"{count} of column {name!r} cannot be, as {age[np.argmax(impossible)]:g} years, and count as missing"
        )
    return np.where(impossible, np.nan, age)


def _is_age_in_years(text: str) -> bool:
    """Whether the text of a cell is an age in years."""
    number = cell_number(text)
    return number is not None and 0 <= number <= MAX_AGE


def parse_season_start_years(name: str, columns: dict[str, Column]) -> HostArray:
    """[n] the years in which seasons begin, from names such as 2021, 2020-21 or "Premier League 2020/21"."""
    code, labels = to_ids([name], columns)
    matches = [re.search(r"(?<!\d)[12]\d{3}(?!\d)", value_text(label)) for label in labels.tolist()]
    years = np.array([np.nan if match is None else float(match[0]) for match in matches])[code[:, 0]]
    fail_at_cells(np.isnan(years), name, columns[name], "which has no year; league_season needs names as 2020-21")
    return years
