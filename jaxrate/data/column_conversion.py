"""Columns of tables as ids, numbers, flags and days: through Arrow, and else by a function of each distinct cell."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import chain
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.lookalike_names import has_lone_surrogates, unstorable_reasons_by_position
from jaxrate.data.table_sources import Column, import_pyarrow
from jaxrate.events import RowError, fail_where

MAX_YEARS = 200_000  # microseconds reach further
FIRST_DAY = -354_285  # 1000-01-01; earlier days stand for no date, as 0001-01-01 does
WHOLE_NUMBER = r"-?[0-9]{1,18}"  # in 64 bits
UNITS_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
ISO_ADVICE = "2024-01-31, 2024-01-31 18:30:00 or, in all rows, 2024-01-31T18:30:00Z or +02:00"


def to_column(name: str, values: Any) -> Column:
    """`values` as an Arrow column, categoricals as their values; as numpy objects if Arrow has no type for all."""
    arrow = import_pyarrow()
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__") or getattr(values, "ndim", 1) != 1:
        raise ValueError(f"column {name!r} must be an array of one dimension or a list")
    column = values if isinstance(values, arrow.ChunkedArray) else _to_arrow(name, values)
    if column is None or arrow.types.is_nested(column.type) or isinstance(column.type, arrow.BaseExtensionType):
        return _to_objects(name, to_values(values))
    if arrow.types.is_dictionary(column.type) and len(column):
        return arrow.chunked_array([_as_large_string(chunk.dictionary).take(chunk.indices) for chunk in column.chunks])
    return _as_large_string(column)


def _to_arrow(name: str, values: Any) -> Any:
    """`values` as a chunked array; None if they are of several types, or of one that Arrow does not have."""
    arrow, dtype = import_pyarrow(), getattr(values, "dtype", None)
    is_loose = isinstance(values, (list, tuple)) or str(dtype) == "object"
    types = set(map(type, values)) - {type(None)} if is_loose else set()
    if types == {np.datetime64}:  # of which Arrow takes arrays, but no lists
        values = _join_numpy_times(name, [np.datetime64("NaT") if value is None else value for value in values])
    elif isinstance(values, np.ndarray) and values.dtype.kind == "M":
        values = _join_numpy_times(name, values)
    if len(types) > 1 and not types <= {int, float}:  # Arrow would take "x" for b"x"
        return None
    for convert in (lambda values: values, to_values):  # some arrays it knows only as lists
        with suppress(arrow.ArrowException, OverflowError, TypeError, UnicodeError):  # as of infinite Decimals
            array = arrow.array(convert(values))
            return array if isinstance(array, arrow.ChunkedArray) else arrow.chunked_array([array])
    return None


def _join_numpy_times(name: str, values: Any) -> HostArray:
    """An array or a list of times in a unit that Arrow has; numpy silently turns those it cannot hold into others."""
    parts = values if isinstance(values, list) else [values]
    units = {np.datetime_data(part.dtype) for part in parts} - {("generic", 1)}
    if len(units) < 2 and units <= {(unit, 1) for unit in ("D", *UNITS_PER_DAY)}:
        return np.hstack(parts)
    years = np.hstack([part.astype("datetime64[Y]") for part in parts])
    fail_where(
        (np.abs(years.astype(np.int64)) > MAX_YEARS) & ~np.isnat(years),
        lambda row: f"column {name!r} is {format_value_for_error(values[row])}, not within {MAX_YEARS:,} years of 1970",
    )
    return np.hstack([part.astype("datetime64[us]") for part in parts])


def _to_objects(name: str, items: list[Any]) -> HostArray:
    """The values as numpy objects; RowError where one is text with lone surrogates."""
    column = np.fromiter(items, dtype=object, count=len(items))
    fail_where(
        np.array([isinstance(value, str) and has_lone_surrogates(value) for value in items], bool),
        lambda row: f"column {name!r} is {format_value_for_error(column[row])}, which is no Unicode text",
    )
    return column


def to_values(values: Any) -> list[Any]:
    """The values of a column, or of anything else with a length, as Python has them."""
    if hasattr(values, "to_pylist"):
        return _to_python(values)
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _as_large_string(column: Any) -> Any:
    """Text of any kind as the one kind that all of Arrow's functions take."""
    arrow = import_pyarrow()
    text = arrow.types.is_string(column.type) or arrow.types.is_string_view(column.type)
    if arrow.types.is_binary_view(column.type):
        return column.cast(arrow.large_binary())
    return column.cast(arrow.large_string()) if text else column


def is_text(column: Column) -> bool:
    """Whether all values of a column are text."""
    return not isinstance(column, np.ndarray) and import_pyarrow().types.is_large_string(column.type)


def is_numeric(column: Column) -> bool:
    """Whether all values of a column are numbers, by its type."""
    kinds = import_pyarrow().types
    tests = kinds.is_integer, kinds.is_floating, kinds.is_decimal
    return not isinstance(column, np.ndarray) and any(test(column.type) for test in tests)


def keep_rows(name: str, column: Column, keep: HostArray) -> Column:
    """The rows to keep; mixed values may be of one type then."""
    if isinstance(column, np.ndarray):
        return to_column(name, column[keep])
    return column.filter(import_pyarrow().array(keep))


def null_where(column: Column, mask: HostArray) -> Column:
    """The column with no value in the rows of a mask."""
    if not mask.any():
        return column
    if isinstance(column, np.ndarray):
        return np.where(mask, np.full(len(column), None), column)
    return import_pyarrow().compute.if_else(mask, import_pyarrow().scalar(None, column.type), column)


def missing_mask(column: Column, nan_is_missing: bool) -> HostArray:
    """[n] whether a value is missing; NaN too if `nan_is_missing`."""
    if isinstance(column, np.ndarray):
        return np.array([is_missing_value(value, nan_is_missing) for value in column], bool)
    if not (column.null_count or (nan_is_missing and import_pyarrow().types.is_floating(column.type))):
        return np.zeros(len(column), bool)
    return np.asarray(column.is_null(nan_is_null=nan_is_missing).to_numpy())


def is_missing_value(value: Any, nan_is_missing: bool) -> bool:
    """Whether a value of any type is missing; NaN too if `nan_is_missing`."""
    with suppress(ArithmeticError, ValueError, TypeError):  # Decimal("sNaN"), and arrays
        return value is None or type(value).__name__ == "NAType" or bool(nan_is_missing and value != value)
    return False


def is_usable_as_name(value: Any) -> bool:
    """Whether a value of any type can be a name: it is hashable and not missing."""
    try:
        hash(value)
    except TypeError:  # of Decimal("sNaN"), too
        return False
    return not is_missing_value(value, nan_is_missing=True)


class DistinctCells(NamedTuple):
    """The different values in a column, and which of them each row has."""

    values: list[Any]
    codes: HostArray  # [n] their positions, -1 where a value is missing

    def map(self, function: Callable[[Any], Any], missing: Any) -> HostArray:
        """[n] the function of each value, `missing` where there is none; in the type of `missing`, None as NaN."""
        return np.array([*map(function, self.values), missing], np.asarray(missing).dtype)[self.codes]

    def merge(self, function: Callable[[Any], Any]) -> "DistinctCells":
        """The different values of a function of each value."""
        values = [*map(function, self.values)]
        positions = {value: position for position, value in enumerate(dict.fromkeys(values))}
        return DistinctCells([*positions], np.array([*map(positions.get, values), -1])[self.codes])


def distinct_cells(column: Column) -> DistinctCells:
    """The different values in a column; of mixed ones, equal values of different types are different."""
    if not len(column):
        return DistinctCells([], np.zeros(0, np.int64))
    if isinstance(column, np.ndarray):
        return _distinct_objects(column.tolist())
    encoded = column.dictionary_encode().combine_chunks()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return DistinctCells(_to_python(encoded.dictionary), codes)


def _to_python(values: Any) -> list[Any]:
    """The values of Arrow as Python has them; moments beyond Python's calendar as whole numbers."""
    try:
        return values.to_pylist()
    except OverflowError:
        return values.cast(import_pyarrow().int64()).to_pylist()


def _distinct_objects(values: list[Any]) -> DistinctCells:
    """The different texts and numbers among some values, and each value of another type."""
    keys = ((type(x), x) if isinstance(x, (str, int, float)) else (None, i) for i, x in enumerate(values))
    positions: dict[Any, int] = {}
    codes = np.array([positions.setdefault(key, len(positions)) for key in keys])
    distinct = [values[x] if kind is None else x for kind, x in positions]
    is_missing = np.array([is_missing_value(x, nan_is_missing=True) for x in distinct])
    return DistinctCells(distinct, np.where(is_missing[codes], -1, codes))


def cell_text(value: Any) -> str:
    """The text of a cell in lower case, without blanks around it; none of a list."""
    with suppress(ValueError):  # of integers that are too long to show
        return "" if isinstance(value, (list, tuple, dict, np.ndarray)) else str(value).strip().lower()
    return ""


def whole_number_text(value: Any) -> str:
    """The text of a cell, of whole numbers without a point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def distinct_texts(column: Column) -> DistinctCells:
    """The different texts of the cells of a column, in lower case and without blanks around them."""
    return distinct_cells(column).merge(cell_text)


def cell_value(column: Column, row: int) -> Any:
    """The value in a row, as Python has it."""
    return column[row] if isinstance(column, np.ndarray) else _to_python(column.slice(row, 1))[0]


def fail_at_cells(bad: HostArray, name: str, column: Column, complaint: str) -> None:
    """RowError with this complaint about the cells [n] that are bad."""
    fail_where(bad, lambda row: f"column {name!r} is {format_value_for_error(cell_value(column, row))}, {complaint}")


def check_present(name: str, column: Column, nan_is_missing: bool) -> None:
    """RowError at the missing values; NaN is one if `nan_is_missing`."""
    fail_where(missing_mask(column, nan_is_missing), lambda row: f"column {name!r} has no value")


def to_ids(
    names: Sequence[str], columns: dict[str, Column], existing_names: Any = None, subject: str = "players"
) -> tuple[HostArray, HostArray]:
    """Ids [n, columns] of the values in several columns, and the values by id.

    The existing names come first, in their order, then the others in order of first appearance. Messages call them
    `subject`.
    """
    num_existing = 0 if existing_names is None else len(existing_names)
    parts = {subject: _existing_names_column(existing_names, subject)} if num_existing else {}
    new = [_match_type_of_names(name, columns[name], parts.get(subject), subject) for name in names]
    code, values = _encode_values([*parts, *map(repr, names)], [*parts.values(), *new])
    code = np.append(code[:num_existing], code[num_existing:].reshape(len(names), -1).T)
    rank, values = _by_first_appearance(code, values)
    if (rank[:num_existing] != np.arange(num_existing)).any():
        raise ValueError(f"history has a name of {subject} twice")
    ids = rank[num_existing:].reshape(-1, len(names))
    _check_storable_names(names, ids, values, subject)
    return ids, values


def _existing_names_column(existing_names: Any, subject: str) -> Column:
    """The names that have ids already; ValueError if one is missing or no text that can be stored."""
    try:
        column = to_column(subject, existing_names)
    except RowError as error:  # whose row is none of the table
        raise ValueError(f"{subject}: {error.message}") from None
    if getattr(column, "null_count", 0):
        raise ValueError(f"history has a name of {subject} missing")
    return column


def _match_type_of_names(name: str, column: Column, existing: Column | None, subject: str) -> Column:
    """A column of names; text becomes whole numbers where the existing names are such, as CSV has only text.

    Raises:
      RowError: where a value is missing, or cannot be a name.
    """
    check_present(name, column, nan_is_missing=True)
    if isinstance(column, np.ndarray):
        is_bad = np.array([not is_usable_as_name(value) for value in column])
        fail_at_cells(is_bad, name, column, "which cannot be a name; write text or a number")
    arrow = import_pyarrow()
    if not is_text(column) or not arrow.types.is_integer(getattr(existing, "type", arrow.null())):
        return column
    is_whole = distinct_cells(column).map(lambda text: re.fullmatch(WHOLE_NUMBER, text) is not None, True)
    fail_at_cells(~is_whole, name, column, f"not a whole number, as the known {subject} are")
    return column.cast(arrow.int64())


def _encode_values(names: Sequence[str], columns: Sequence[Column]) -> tuple[HostArray, HostArray]:
    """Numbers of the values in columns of these names, one below the other, and the values by number."""
    columns = _as_one_type(names, columns)
    if any(isinstance(column, np.ndarray) for column in columns):
        items = [*chain(*map(to_values, columns))]
        numbers = {value: number for number, value in enumerate(dict.fromkeys(items))}
        return np.array([numbers[value] for value in items], np.int32), np.fromiter(numbers, object, len(numbers))
    chunks = import_pyarrow().chunked_array([chunk for column in columns for chunk in column.chunks])
    chunks = chunks.dictionary_encode().chunks
    code = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in chunks])
    return code, chunks[0].dictionary.to_numpy(zero_copy_only=False)  # all chunks share it


def _as_one_type(names: Sequence[str], columns: Sequence[Column]) -> Sequence[Column]:
    """Columns of one type of Arrow, or some of objects; ValueError if they are of different types."""
    arrow, types = import_pyarrow(), {getattr(column, "type", None) for column in columns}  # objects have none
    if len(types) == 1 or None in types:
        return columns
    if all(map(arrow.types.is_integer, types)):
        with suppress(arrow.ArrowInvalid):  # of numbers that need 64 bits and have no sign
            return [column.cast(arrow.int64()) for column in columns]
        return [np.array(column.to_pylist(), object) for column in columns]
    held = [f"{name} holds {x.type}, as {cell_value(x, 0)!r}" for name, x in zip(names, columns, strict=True)]
    raise ValueError(f"columns must be of the same type, but {' and '.join(held)}")


def _by_first_appearance(code: HostArray, values: HostArray) -> tuple[HostArray, HostArray]:
    """Numbers [n] and the values by number, with the numbers in the order in which they appear first."""
    position = np.arange(len(code))
    first = np.empty(len(values), np.int64)
    first[code[::-1]] = position[::-1]  # the last assignment stands: where each value appears first
    order = code[first[code] == position]
    rank = np.empty(len(values), np.int32)
    rank[order] = np.arange(len(values))
    return rank[code], values[order]


def _check_storable_names(names: Sequence[str], ids: HostArray, values: HostArray, subject: str) -> None:
    """ValueError if a table cannot hold one of the values [n] that the ids [rows, columns] stand for; names the row."""
    for number, reason in unstorable_reasons_by_position(values).items():
        is_bad, fault = ids == number, f"{format_value_for_error(values[number])}, which {reason}"
        fail_where(is_bad.any(axis=1), lambda row: f"column {names[int(np.argmax(is_bad[row]))]!r} is {fault}")  # noqa: B023
        raise ValueError(f"{subject} has {fault}")


def to_numbers(name: str, column: Column, default: float | None = None) -> HostArray:
    """The column as float64; text is parsed, true is 1. A missing value is `default`, or without one an error."""
    arrow = import_pyarrow()
    if default is None:
        check_present(name, column, nan_is_missing=False)
    if is_text(column):
        with suppress(arrow.ArrowInvalid):
            column = column.cast(arrow.float64())
    if isinstance(column, np.ndarray) or is_text(column):
        values = distinct_cells(column).map(cell_number, np.nan)
        fail_at_cells(np.isnan(values) & ~missing_mask(column, nan_is_missing=True), name, column, "not a number")
    elif is_numeric(column) or arrow.types.is_boolean(column.type) or arrow.types.is_null(column.type):
        values = np.asarray(column.cast(arrow.float64(), safe=False).to_numpy())
    else:
        raise ValueError(f"column {name!r} must hold numbers, got {column.type}")
    return values if default is None else np.where(np.isnan(values), default, values)


def numbers_or_nan(column: Column) -> HostArray:
    """[n] the numbers in a column, of any type; NaN where a cell holds none."""
    try:
        return to_numbers("", column, default=np.nan)
    except ValueError:
        return distinct_cells(column).map(cell_number, np.nan)


def cell_number(value: Any) -> float | None:
    """The number in a cell, which text may say; true is 1. None if it is no number, or too large."""
    if not isinstance(value, str):
        return to_float_or_none(value)
    text = {"true": "1", "false": "0"}.get(cell_text(value), value)
    with suppress(ValueError):
        return float(text) if text.isascii() and "_" not in text else None
    return None


def to_float_or_none(value: Any) -> float | None:
    """The value as a float; None if it is no number, or too large."""
    with suppress(OverflowError, ValueError):  # 10**400, and Decimal("sNaN")
        is_number = isinstance(value, (Real, Decimal)) and not isinstance(value, np.timedelta64)  # a Real to NumPy
        return float(value) if is_number else None
    return None


def to_flags(name: str, column: Column) -> HostArray:
    """[n] whether a flag is true: true or 1, where false or 0 are the others."""
    values = to_numbers(name, column)
    unclear = (values != 0) & (values != 1)
    fail_where(unclear, lambda row: f"column {name!r} is {values[row]}, expected true or false, 1 or 0")
    return np.asarray(values == 1)


def to_days(name: str, column: Column) -> tuple[HostArray, bool]:
    """Dates as days since 1970-01-01 (UTC), numbers as they are; and whether they are dates."""
    arrow = import_pyarrow()
    check_present(name, column, nan_is_missing=isinstance(column, np.ndarray))
    if isinstance(column, np.ndarray):
        raise ValueError(f"column {name!r} mixes values of different types; expected dates, timestamps or numbers")
    if is_text(column):
        column = _parse_iso_times(name, column)
    if arrow.types.is_date(column.type):
        days = np.asarray(column.cast(arrow.date32()).cast(arrow.int32()).to_numpy(), np.float64)
    elif arrow.types.is_timestamp(column.type):
        days = np.asarray(column.cast(arrow.int64()).to_numpy() / UNITS_PER_DAY[column.type.unit])
    elif arrow.types.is_boolean(column.type) or arrow.types.is_temporal(column.type):
        raise ValueError(f"column {name!r} must hold dates, timestamps or numbers, got {column.type}")
    else:
        return to_numbers(name, column), False
    fail_where(
        days < FIRST_DAY,
        lambda row: (
            f"column {name!r} is {np.datetime64(int(days[row] // 1), 'D')}, before the year 1000; correct it, or leave "
            "it empty"
        ),
    )
    return days, True


def cast_iso_times(text: Any) -> Any:
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
    if (times := cast_iso_times(column)) is not None:
        return times
    array, cells = import_pyarrow().array, distinct_cells(column)
    is_time = [
        cells.map(lambda text: _cast_or_none(array([text]), kind) is not None, True)  # noqa: B023
        for kind in _timestamp_types()
    ]
    fail_at_cells(~max(is_time, key=np.count_nonzero), name, column, f"not an ISO date or timestamp ({ISO_ADVICE})")
    return column


def time_column_to_days_and_clock(
    column_name: str | None, columns: dict[str, Column]
) -> tuple[dict[str, HostArray], str | None]:
    """The times as argument `time`, and the `clock` of a dataset; none if the column has no value."""
    if column_name is None or missing_mask(columns[column_name], nan_is_missing=True).all():
        return {}, None
    days, dated = to_days(column_name, columns[column_name])
    return {"time": days}, "dates" if dated else "numbers"


def check_row_time_order(column: Column, days: HostArray) -> None:
    """RowError where a row is earlier than the one before it, by the days [n] of a column of times."""

    def say(row: int) -> str:
        previous, current = column.slice(row - 1, 2).cast("string").to_pylist()
        return f"time {current} is earlier than {previous} in the row before; sort the rows; sort=True does"

    fail_where(np.concatenate([[False], days[1:] < days[:-1]]), say)
