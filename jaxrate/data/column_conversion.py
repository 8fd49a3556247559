"""Columns of tables as ids, numbers, flags and days, through Arrow."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import chain, islice
from numbers import Real
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.lookalike_names import has_lone_surrogates, unstorable_reasons_by_position
from jaxrate.data.table_sources import Column, import_pyarrow
from jaxrate.events import MAX_REPORTED_ROWS, RowError, fail_where

MAX_YEARS = 200_000  # microseconds reach further
UNITS_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def to_column(name: str, values: Any) -> Column:
    """`values` as an Arrow column, categoricals as their values; as numpy objects if Arrow has no type for all."""
    arrow = import_pyarrow()
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__") or getattr(values, "ndim", 1) != 1:
        raise ValueError(f"column {name!r} must be an array of one dimension or a list")
    column = values if isinstance(values, arrow.ChunkedArray) else _to_arrow(name, values)
    if column is None or arrow.types.is_nested(column.type) or isinstance(column.type, arrow.BaseExtensionType):
        return _to_objects(name, _to_list(values))
    if arrow.types.is_dictionary(column.type) and len(column):
        return arrow.chunked_array([_as_large_string(chunk.dictionary).take(chunk.indices) for chunk in column.chunks])
    return _as_large_string(column)


def _to_arrow(name: str, values: Any) -> Any:
    """`values` as a chunked array; None if they are of several types, or of one that Arrow does not have."""
    arrow, dtype = import_pyarrow(), getattr(values, "dtype", None)
    is_loose = isinstance(values, (list, tuple)) or str(dtype) == "object"
    types = set(map(type, values)) - {type(None)} if is_loose else set()
    if types == {np.datetime64}:  # of which Arrow takes arrays, but no lists
        values = _to_arrow_compatible_times(name, _fill_missing_times(values))
    elif isinstance(values, np.ndarray) and values.dtype.kind == "M":
        values = _to_arrow_compatible_times(name, values)
    if len(types) > 1 and not types <= {int, float}:  # Arrow would take "x" for b"x"
        return None
    for convert in (lambda values: values, _to_list):  # some arrays it knows only as lists
        with suppress(arrow.ArrowException, OverflowError, TypeError, UnicodeError):  # as of infinite Decimals
            array = arrow.array(convert(values))
            return array if isinstance(array, arrow.ChunkedArray) else arrow.chunked_array([array])
    return None


def _to_objects(name: str, items: list[Any]) -> HostArray:
    """The values as numpy objects; RowError where one is text with lone surrogates."""
    column = np.fromiter(items, dtype=object, count=len(items))
    fail_where(
        np.array([isinstance(value, str) and has_lone_surrogates(value) for value in items], bool),
        lambda row: f"column {name!r} is {format_value_for_error(column[row])}, which is no Unicode text",
    )
    return column


def _fill_missing_times(values: Iterable[Any]) -> list[Any]:
    """Times of numpy, with that of no time and the same unit in place of None."""
    times = [*values]
    unit = next(value for value in times if value is not None).dtype
    return [np.array(value, unit)[()] if value is None else value for value in times]


def _to_arrow_compatible_times(name: str, values: Any) -> HostArray:
    """Times of numpy in a unit that Arrow has; numpy turns those that a unit cannot hold into others, silently."""
    arrays = values if isinstance(values, list) else [values]
    units = {np.datetime_data(part.dtype) for part in arrays} - {("generic", 1)}
    if len(units) < 2 and units <= {(unit, 1) for unit in ("D", *UNITS_PER_DAY)}:
        return np.array(values)
    years = np.hstack([part.astype("datetime64[Y]") for part in arrays])
    far = (np.abs(years.astype(np.int64)) > MAX_YEARS) & ~np.isnat(years)
    fail_where(
        far,
        lambda row: f"column {name!r} is {format_value_for_error(values[row])}, not within {MAX_YEARS:,} years of 1970",
    )
    return np.hstack([part.astype("datetime64[us]") for part in arrays])


def _to_list(values: Any) -> list[Any]:
    convert = next((name for name in ("tolist", "to_pylist") if hasattr(values, name)), None)
    return list(getattr(values, convert)() if convert else values)


def _as_large_string(column: Any) -> Any:
    """Text of any kind as the one kind that all of Arrow's functions take."""
    arrow = import_pyarrow()
    text = arrow.types.is_string(column.type) or arrow.types.is_string_view(column.type)
    if arrow.types.is_binary_view(column.type):
        return column.cast(arrow.large_binary())
    return column.cast(arrow.large_string()) if text else column


def keep_rows(name: str, column: Column, keep: HostArray) -> Column:
    """The rows to keep; mixed values may be of one type then."""
    return (
        to_column(name, column[keep]) if isinstance(column, np.ndarray) else column.filter(import_pyarrow().array(keep))
    )


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


def _check_present(name: str, column: Column, nan_is_missing: bool, advice: str = "") -> None:
    """ValueError at the first missing value, with this advice; NaN is one if `nan_is_missing`."""
    fail_where(missing_mask(column, nan_is_missing), lambda row: f"column {name!r} has no value{advice}")


def to_ids(
    names: Sequence[str], columns: dict[str, Column], existing_names: Any = None, subject: str = "players"
) -> tuple[HostArray, HostArray]:
    """Ids [n, columns] of the values in several columns, and the values by id.

    The existing names come first, in their order, then the others in order of first appearance. Messages call them
    `subject`.
    """
    num_existing = 0 if existing_names is None else len(existing_names)
    for name in names:
        _check_present(name, columns[name], True, "; on_faulty='skip' leaves such rows out")
    parts, descriptions = [columns[name] for name in names], [f"{name!r} holds" for name in names]
    if num_existing:
        existing = _existing_names_column(existing_names, subject)
        parts = [_text_as_existing_numbers(name, columns[name], existing, subject) for name in names] + [existing]
        descriptions.append(f"{subject} holds")
    if any(isinstance(part, np.ndarray) for part in parts):
        code, values = _code_objects(parts, num_existing, names)
    else:
        code, values = _code_arrow(_as_one_type(parts, descriptions, num_existing, subject), num_existing, names)
    rank, values = _by_first_appearance(code, values)
    if (rank[:num_existing] != np.arange(num_existing)).any():
        raise ValueError(f"history has a name of {subject} twice")
    player = rank[num_existing:].reshape(-1, len(names))
    _check_storable_names(names, player, values, subject)
    return player, values


def _existing_names_column(existing_names: Any, subject: str) -> Column:
    """The names that have ids already; ValueError if one is missing or no text that can be stored."""
    try:
        column = to_column(subject, existing_names)
    except RowError as error:  # whose row is none of the table
        raise ValueError(f"{subject}: {error.message}") from None
    if getattr(column, "null_count", 0):
        raise ValueError(f"history has a name of {subject} missing")
    return column


def _text_as_existing_numbers(name: str, column: Column, existing: Column, subject: str) -> Column:
    """Text as whole numbers where the existing names are such, as CSV has only text; else the column as it is."""
    arrow = import_pyarrow()
    if isinstance(existing, np.ndarray) or isinstance(column, np.ndarray):
        return column
    if not (arrow.types.is_integer(existing.type) and arrow.types.is_large_string(column.type)):
        return column
    return _cast_text_to_first_type(name, column, [arrow.int64()], f"not a whole number, as the known {subject} are")


def _as_one_type(parts: list[Any], descriptions: list[str], num_existing: int, subject: str) -> list[Any]:
    """Columns of Arrow as columns of one type; the last may be existing names."""
    if len({part.type for part in parts}) == 1:
        return parts
    if all(import_pyarrow().types.is_integer(part.type) for part in parts):
        return [_cast_to_int64(kind, part) for kind, part in zip(descriptions, parts, strict=True)]
    for kind, part in zip(descriptions, parts, strict=True):
        if num_existing and _is_text_beside_numbers(parts[-1], part):
            example = format_value_for_error(parts[-1][0].as_py())
            raise ValueError(f"the {subject} have names, as {example}, and column {kind} numbers")
    types = " and ".join(f"{kind} {part.type}" for kind, part in zip(descriptions, parts, strict=True))
    raise ValueError(f"columns must be of the same type, but {types}")


def _is_text_beside_numbers(text: Any, numbers: Any) -> bool:
    kinds = import_pyarrow().types
    is_number = kinds.is_integer(numbers.type) or kinds.is_floating(numbers.type)
    return bool(kinds.is_large_string(text.type) and is_number)


def _code_objects(parts: list[Any], num_existing: int, names: Sequence[str]) -> tuple[HostArray, HostArray]:
    """The numbers of values of any type, first of the existing ones and then row by row; and the values by number."""
    arrays = [*map(_to_list, parts)]
    existing = arrays.pop() if num_existing else []
    items = [*existing, *chain(*zip(*arrays, strict=True))]
    try:
        ids = {value: i for i, value in enumerate(dict.fromkeys(items))}
    except TypeError:
        raise ValueError(f"columns {names} hold values that cannot be names: they are not hashable") from None
    return np.array([ids[value] for value in items], np.int32), np.fromiter(ids, dtype=object, count=len(ids))


def _code_arrow(parts: list[Any], num_existing: int, names: Sequence[str]) -> tuple[HostArray, HostArray]:
    """As `_code_objects`, of columns of one type of Arrow."""
    arrow = import_pyarrow()
    chunks = arrow.chunked_array([chunk for part in parts for chunk in part.chunks]).dictionary_encode().chunks
    code = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in chunks])
    code, existing = np.split(code, [len(code) - num_existing])
    code = np.concatenate([existing, code.reshape(len(names), -1).T.ravel()])
    return code, chunks[0].dictionary.to_numpy(zero_copy_only=False)  # all chunks share it


def _by_first_appearance(code: HostArray, values: HostArray) -> tuple[HostArray, HostArray]:
    """Numbers [n] and the values by number, with the numbers in the order in which they appear first."""
    position = np.arange(len(code))
    first = np.empty(len(values), np.int64)
    first[code[::-1]] = position[::-1]  # the last assignment stands: where each value appears first
    order = code[first[code] == position]
    rank = np.empty(len(values), np.int32)
    rank[order] = np.arange(len(values))
    return rank[code], values[order]


def _cast_to_int64(description: str, column: Any) -> Any:
    arrow = import_pyarrow()
    largest = np.iinfo(np.int64).max
    if column.type == arrow.uint64():
        hint = f"which is above {largest}: give all names as text"
        fail_where(column.to_numpy() > np.uint64(largest), lambda row: f"{description} {column[row]}, {hint}")
    return column.cast(arrow.int64())


def _check_storable_names(names: Sequence[str], ids: HostArray, values: HostArray, subject: str) -> None:
    """ValueError if a table cannot hold one of the values [n] that the ids [rows, columns] stand for; names the row."""
    reasons = unstorable_reasons_by_position(values)
    if not reasons:
        return
    bad = np.isin(ids, [*reasons])

    def say(row: int) -> str:
        position = int(np.argmax(bad[row]))
        number = int(ids[row, position])
        return f"column {names[position]!r} is {format_value_for_error(values[number])}, which {reasons[number]}"

    fail_where(bad.any(axis=1), say)
    number = min(reasons)
    raise ValueError(f"{subject} has {format_value_for_error(values[number])}, which {reasons[number]}")


def to_numbers(name: str, column: Column, default: float | None = None) -> HostArray:
    """The column as float64; text is parsed, true is 1. A missing value is `default`, or without one an error."""
    arrow = import_pyarrow()
    if default is None:
        _check_present(name, column, nan_is_missing=False)
    if isinstance(column, np.ndarray):
        numbers = [_to_number_or_default(value, default) for value in column]
        not_a_number = np.array([value is None for value in numbers])
        fail_where(not_a_number, lambda row: f"column {name!r} is {format_value_for_error(column[row])}, not a number")
        return np.array(numbers, np.float64)
    if arrow.types.is_large_string(column.type):
        try:
            column = column.cast(arrow.float64())
        except arrow.ArrowInvalid:
            column = _cast_text_to_first_type(
                name, _trim_and_convert_booleans(column), [arrow.float64()], "not a number"
            )
    kinds = ["integer", "floating", "boolean", "decimal"] + ["null"] * (default is not None)
    if not any(getattr(arrow.types, f"is_{kind}")(column.type) for kind in kinds):
        raise ValueError(f"column {name!r} must hold numbers, got {column.type}")
    if default is None:
        return np.asarray(column.to_numpy(), np.float64)
    values = np.asarray(column.cast(arrow.float64(), safe=False).to_numpy())
    return np.where(np.isnan(values), default, values)


def _to_number_or_default(value: Any, default: float | None) -> float | None:
    """A number of any type as a float; None if it is none, or too large to be one."""
    if default is not None and is_missing_value(value, True):
        return default
    return to_float_or_none(value)


def to_float_or_none(value: Any) -> float | None:
    """The value as a float; None if it is no number, or too large."""
    with suppress(OverflowError, ValueError):  # 10**400, and Decimal("sNaN")
        is_number = isinstance(value, (Real, Decimal)) and not isinstance(value, np.timedelta64)  # a Real to NumPy
        return float(value) if is_number else None
    return None


def to_flags(name: str, column: Column) -> HostArray:
    values = to_numbers(name, column)
    unclear = (values != 0) & (values != 1)
    fail_where(unclear, lambda row: f"column {name!r} is {values[row]}, expected true or false, 1 or 0")
    return np.asarray(values == 1)


def to_days(name: str, column: Column) -> tuple[HostArray, bool]:
    """Dates as days since 1970-01-01 (UTC), numbers as they are; and whether they are dates."""
    arrow = import_pyarrow()
    _check_present(name, column, nan_is_missing=isinstance(column, np.ndarray))
    if isinstance(column, np.ndarray):
        raise ValueError(f"column {name!r} mixes values of different types; expected dates, timestamps or numbers")
    if arrow.types.is_large_string(column.type):
        targets = [arrow.timestamp(unit, zone) for unit in ("us", "ns") for zone in (None, "UTC")]
        accepted = "2024-01-31, 2024-01-31 18:30:00 or, in all rows, 2024-01-31T18:30:00Z or +02:00"
        column = _cast_text_to_first_type(name, column, targets, f"not an ISO date or timestamp ({accepted})")
    if arrow.types.is_date(column.type):
        return np.asarray(column.cast(arrow.date32()).cast(arrow.int32()).to_numpy(), np.float64), True
    if arrow.types.is_timestamp(column.type):
        return np.asarray(column.cast(arrow.int64()).to_numpy() / UNITS_PER_DAY[column.type.unit]), True
    if arrow.types.is_boolean(column.type) or arrow.types.is_temporal(column.type):
        raise ValueError(f"column {name!r} must hold dates, timestamps or numbers, got {column.type}")
    return to_numbers(name, column), False


def time_column_to_days_and_clock(
    column_name: str | None, columns: dict[str, Column]
) -> tuple[dict[str, HostArray], str | None]:
    """The times as argument `time`, and the `clock` of a dataset; none if the column has no value."""
    if column_name is None or missing_mask(columns[column_name], nan_is_missing=True).all():
        return {}, None
    days, dated = to_days(column_name, columns[column_name])
    return {"time": days}, "dates" if dated else "numbers"


def check_row_time_order(column: Column, days: HostArray) -> None:
    def say(row: int) -> str:
        previous, current = column.slice(row - 1, 2).cast("string").to_pylist()
        return f"time {current} is earlier than {previous} in the row before; sort the rows; sort=True does"

    fail_where(np.concatenate([[False], days[1:] < days[:-1]]), say)


def _cast_text_to_first_type(name: str, column: Any, targets: Sequence[Any], complaint: str) -> Any:
    """Text as the first of the target types that takes all of it."""

    def takes(target: Any, low: int, high: int) -> bool:
        return _cast_or_none(column.slice(low, high - low), target) is not None

    def bad(low: int, high: int) -> Iterator[int]:
        if not any(takes(target, low, high) for target in targets):
            if high - low == 1:
                yield low
            else:
                yield from bad(low, (low + high) // 2)
                yield from bad((low + high) // 2, high)

    for target in targets:
        if (parsed := _cast_or_none(column, target)) is not None:
            return parsed
    ends = range(1, len(column) + 1)
    good = bisect_left(ends, True, key=lambda end: not any(takes(target, 0, end) for target in targets))
    targets = [target for target in targets if good == 0 or takes(target, 0, good)]
    rows = islice(bad(good, len(column)), MAX_REPORTED_ROWS + 1)
    messages = [(row, f"column {name!r} is {format_value_for_error(column[row].as_py())}, {complaint}") for row in rows]
    raise RowError(*messages[0], messages[1:MAX_REPORTED_ROWS], len(messages[MAX_REPORTED_ROWS:]))


def _cast_or_none(text: Any, target: Any) -> Any:
    with suppress(import_pyarrow().ArrowInvalid):
        return None if import_pyarrow().types.is_integer(target) and _has_hexadecimal(text) else text.cast(target)


def _has_hexadecimal(text: Any) -> bool:
    """Whether some of it is, which Arrow takes for an integer: "0x10" for 16."""
    compute = import_pyarrow().compute
    return bool(compute.any(compute.match_substring(text, "x", ignore_case=True)).as_py())


def _trim_and_convert_booleans(text: Any) -> Any:
    """Text as numbers are written, without blanks around it, and true as 1."""
    compute = import_pyarrow().compute
    text = compute.ascii_trim_whitespace(text)
    for text_value, value in (("true", "1"), ("false", "0")):
        text = compute.replace_substring_regex(text, f"^(?i:{text_value})$", value)
    return text
