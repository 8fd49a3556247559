"""Columns of tables: turned into ids, numbers, flags and days, through Arrow."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np

from jaxrate.data.names import has_lone_surrogates, unstorable_texts
from jaxrate.data.tables import Column, Values, pyarrow
from jaxrate.events import TOLD, RowError, fail_where
from jaxrate.text import cell

YEARS = 200_000  # microseconds can tell more
PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def to_column(name: str, values: Any) -> Column:
    """`values` in Arrow, text and categoricals plain; as numpy objects where Arrow has no one type for them."""
    arrow = pyarrow()
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__") or getattr(values, "ndim", 1) != 1:
        raise ValueError(f"column {name!r} must be an array of one dimension or a list")
    column = values if isinstance(values, arrow.ChunkedArray) else None
    loose = isinstance(values, (list, tuple)) or str(getattr(values, "dtype", "")) == "object"
    types = {type(value) for value in values} - {type(None)} if loose else set()
    if types == {np.datetime64}:  # of which Arrow takes arrays, but no lists
        values = _moments(name, [np.datetime64("NaT") if value is None else value for value in values])
    elif getattr(getattr(values, "dtype", None), "kind", "") == "M" and isinstance(values, np.ndarray):
        values = _moments(name, values)
    if column is None and (len(types) < 2 or types <= {int, float}):  # Arrow would take "x" for b"x"
        for convert in (lambda values: values, _items):  # some arrays it knows only as lists
            with suppress(arrow.ArrowException, OverflowError, TypeError, UnicodeError):  # as of infinite Decimals
                array = arrow.array(convert(values))
                column = array if isinstance(array, arrow.ChunkedArray) else arrow.chunked_array([array])
                break
    if column is None or arrow.types.is_nested(column.type) or isinstance(column.type, arrow.BaseExtensionType):
        items = _items(values)
        column = np.fromiter(items, dtype=object, count=len(items))
        fail_where(
            np.array([isinstance(value, str) and has_lone_surrogates(value) for value in items], bool),
            lambda row: _says(name, column[row]),
        )
        return column
    if arrow.types.is_dictionary(column.type) and len(column):
        return arrow.chunked_array([_text(chunk.dictionary).take(chunk.indices) for chunk in column.chunks])
    return _text(column)


def _moments(name: str, values: Any) -> Values:
    """Times of numpy in a unit that Arrow has; numpy turns those that a unit cannot hold into others, silently."""
    parts = values if isinstance(values, list) else [values]
    units = {np.datetime_data(part.dtype) for part in parts} - {("generic", 1)}
    if len(units) < 2 and units <= {(unit, 1) for unit in ("D", *PER_DAY)}:
        return np.array(values)
    years = np.hstack([part.astype("datetime64[Y]") for part in parts])
    far = (np.abs(years.astype(np.int64)) > YEARS) & ~np.isnat(years)
    fail_where(far, lambda row: f"column {name!r} is {cell(values[row])}, not within {YEARS:,} years of 1970")
    return np.hstack([part.astype("datetime64[us]") for part in parts])


def _items(values: Any) -> list[Any]:
    convert = next((name for name in ("tolist", "to_pylist") if hasattr(values, name)), None)
    return list(getattr(values, convert)() if convert else values)


def _says(name: str, value: Any) -> str:
    return f"column {name!r} is {cell(value)}, which is no Unicode text"


def _text(column: Any) -> Any:
    """Text of any kind as the one kind that all of Arrow's functions take."""
    arrow = pyarrow()
    text = arrow.types.is_string(column.type) or arrow.types.is_string_view(column.type)
    if arrow.types.is_binary_view(column.type):
        return column.cast(arrow.large_binary())
    return column.cast(arrow.large_string()) if text else column


def keep_rows(name: str, column: Column, keep: Values) -> Column:
    """The rows to keep; what is left of mixed values may have a type."""
    return to_column(name, column[keep]) if isinstance(column, np.ndarray) else column.filter(pyarrow().array(keep))


def missing(column: Column, nan: bool) -> Values:
    """Where there is no value; `nan` says whether NaN is none."""
    if isinstance(column, np.ndarray):
        return np.array([absent(value, nan) for value in column], bool)
    if not (column.null_count or (nan and pyarrow().types.is_floating(column.type))):
        return np.zeros(len(column), bool)
    return np.asarray(column.is_null(nan_is_null=nan).to_numpy())


def absent(value: Any, nan: bool) -> bool:
    """Whether a value of any type is none; `nan` says whether NaN is."""
    with suppress(ArithmeticError, ValueError, TypeError):  # Decimal("sNaN"), and arrays
        return value is None or type(value).__name__ == "NAType" or bool(nan and value != value)
    return False


def is_name(value: Any) -> bool:
    """Whether a value of any type can be a name: there is one, and it can be told from others."""
    try:
        hash(value)
    except TypeError:  # of Decimal("sNaN"), too
        return False
    return not absent(value, nan=True)


def _check_present(name: str, column: Column, nan: bool) -> None:
    """ValueError at the first missing value; `nan` says whether NaN is one."""
    fail_where(missing(column, nan), lambda row: f"column {name!r} has no value")


def to_ids(
    names: Sequence[str], columns: dict[str, Column], known: Any = None, what: str = "players"
) -> tuple[Values, Values]:
    """Ids [n, columns] of the values in several columns, and the values by id.

    Those `known` come first, in their order, and then the others in order of first appearance. They are `what`.
    """
    arrow = pyarrow()
    parts = [columns[name] for name in names]
    kinds = [f"{name!r} holds" for name in names]
    for name, part in zip(names, parts, strict=True):
        _check_present(name, part, nan=True)
    before = 0 if known is None else len(known)
    if before:
        try:
            parts.append(to_column(what, known))
        except RowError as error:  # whose row is none of the table
            raise ValueError(f"{what}: {error.message}") from None
        kinds.append(f"{what} holds")
        if getattr(parts[-1], "null_count", 0):
            raise ValueError(f"{what} has a name missing")
        if not isinstance(parts[-1], np.ndarray) and arrow.types.is_integer(parts[-1].type):  # and CSV has only text
            for i, (name, part) in enumerate(zip(names, parts, strict=False)):
                if not isinstance(part, np.ndarray) and arrow.types.is_large_string(part.type):
                    parts[i] = _parsed(name, part, [arrow.int64()], f"not a whole number, as the known {what} are")
    if any(isinstance(part, np.ndarray) for part in parts):
        known, parts = (_items(parts[-1]), parts[:-1]) if before else ([], parts)
        items = known + [value for row in zip(*map(_items, parts), strict=True) for value in row]
        try:
            ids = {value: i for i, value in enumerate(dict.fromkeys(items))}
        except TypeError:
            raise ValueError(f"columns {names} hold values that cannot be names: they are not hashable") from None
        rank = np.array([ids[value] for value in items], np.int32)
        values = np.fromiter(ids, dtype=object, count=len(ids))
    else:
        if len({part.type for part in parts}) > 1:
            if not all(arrow.types.is_integer(part.type) for part in parts):
                types = " and ".join(f"{kind} {part.type}" for kind, part in zip(kinds, parts, strict=True))
                raise ValueError(f"columns must be of the same type, but {types}")
            parts = [part.cast(arrow.int64()) for part in parts]
        chunks = arrow.chunked_array([chunk for part in parts for chunk in part.chunks]).dictionary_encode().chunks
        code = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in chunks])
        code, earlier = np.split(code, [len(code) - before])
        code = np.concatenate([earlier, code.reshape(len(names), -1).T.ravel()])
        values = chunks[0].dictionary.to_numpy(zero_copy_only=False)  # all chunks share it
        position = np.arange(len(code))
        first = np.empty(len(values), np.int64)
        first[code[::-1]] = position[::-1]  # the last assignment stands: where each value appears first
        order = code[first[code] == position]
        rank = np.empty(len(values), np.int32)
        rank[order] = np.arange(len(values))
        rank, values = rank[code], values[order]
    if (rank[:before] != np.arange(before)).any():
        raise ValueError(f"{what} has a name twice")
    player = rank[before:].reshape(-1, len(names))
    _check_names(names, player, values, what)
    return player, values


def _check_names(names: Sequence[str], ids: Values, values: Values, what: str) -> None:
    """ValueError if a table cannot hold one of the values [n] that the ids [rows, columns] stand for; names the row."""
    reasons = unstorable_texts(values)
    if not reasons:
        return
    bad = np.isin(ids, [*reasons])

    def say(row: int) -> str:
        place = int(np.argmax(bad[row]))
        number = int(ids[row, place])
        return f"column {names[place]!r} is {cell(values[number])}, which {reasons[number]}"

    fail_where(bad.any(axis=1), say)
    number = min(reasons)
    raise ValueError(f"{what} has {cell(values[number])}, which {reasons[number]}")


def to_numbers(name: str, column: Column, default: float | None = None) -> Values:
    """The column as float64; text is parsed, true is 1. A missing value is `default`, or without one an error."""
    arrow = pyarrow()
    if default is None:
        _check_present(name, column, nan=False)
    if isinstance(column, np.ndarray):
        numbers = [_number(value, default) for value in column]
        other = np.array([value is None for value in numbers])
        fail_where(other, lambda row: f"column {name!r} is {cell(column[row])}, not a number")
        return np.array(numbers, np.float64)
    if arrow.types.is_large_string(column.type):
        try:
            column = column.cast(arrow.float64())
        except arrow.ArrowInvalid:
            column = _parsed(name, _decimal(column), [arrow.float64()], "not a number")
    kinds = ["integer", "floating", "boolean", "decimal"] + ["null"] * (default is not None)
    if not any(getattr(arrow.types, f"is_{kind}")(column.type) for kind in kinds):
        raise ValueError(f"column {name!r} must hold numbers, got {column.type}")
    if default is None:
        return np.asarray(column.to_numpy(), np.float64)
    values = np.asarray(column.cast(arrow.float64(), safe=False).to_numpy())
    return np.where(np.isnan(values), default, values)


def _number(value: Any, default: float | None) -> float | None:
    """A number of any type as a float; None if it is none, or too large to be one."""
    if default is not None and absent(value, True):
        return default
    return as_float(value)


def as_float(value: Any) -> float | None:
    """The value as a float; None if it is no number, or too large."""
    with suppress(OverflowError, ValueError):  # 10**400, and Decimal("sNaN")
        return float(value) if isinstance(value, (Real, Decimal)) else None
    return None


def to_flags(name: str, column: Column) -> Values:
    values = to_numbers(name, column)
    unclear = (values != 0) & (values != 1)
    fail_where(unclear, lambda row: f"column {name!r} is {values[row]}, expected true or false, 1 or 0")
    return np.asarray(values == 1)


def to_days(name: str, column: Column) -> tuple[Values, bool]:
    """Dates as days since 1970-01-01 (UTC), numbers as they are; and whether they are dates."""
    arrow = pyarrow()
    _check_present(name, column, nan=isinstance(column, np.ndarray))
    if isinstance(column, np.ndarray):
        raise ValueError(f"column {name!r} mixes values of different types; expected dates, timestamps or numbers")
    if arrow.types.is_large_string(column.type):
        targets = [arrow.timestamp(unit, zone) for unit in ("us", "ns") for zone in (None, "UTC")]
        accepted = "2024-01-31, 2024-01-31 18:30:00 or, in all rows, 2024-01-31T18:30:00Z or +02:00"
        column = _parsed(name, column, targets, f"not an ISO date or timestamp ({accepted})")
    if arrow.types.is_date(column.type):
        return np.asarray(column.cast(arrow.date32()).cast(arrow.int32()).to_numpy(), np.float64), True
    if arrow.types.is_timestamp(column.type):
        return np.asarray(column.cast(arrow.int64()).to_numpy() / PER_DAY[column.type.unit]), True
    if arrow.types.is_boolean(column.type) or arrow.types.is_temporal(column.type):
        raise ValueError(f"column {name!r} must hold dates, timestamps or numbers, got {column.type}")
    return to_numbers(name, column), False


def to_times(name: str | None, columns: dict[str, Column]) -> tuple[dict[str, Values], str | None]:
    """The time, by this name, and what it came from, as `clock` of a dataset; none where the column has no value."""
    if name is None or missing(columns[name], nan=True).all():
        return {}, None
    days, dated = to_days(name, columns[name])
    return {"time": days}, "dates" if dated else "numbers"


def check_order(column: Column, days: Values) -> None:
    def say(row: int) -> str:
        before, here = column.slice(row - 1, 2).cast("string").to_pylist()
        return f"time {here} is earlier than {before} in the row before; sort the rows, or use the option sort"

    fail_where(np.concatenate([[False], days[1:] < days[:-1]]), say)


def _parsed(name: str, column: Any, targets: Sequence[Any], complaint: str) -> Any:
    """Text as the first of the target types that takes all of it."""

    def takes(target: Any, low: int, high: int) -> Any:
        part = column.slice(low, high - low)
        with suppress(pyarrow().ArrowInvalid):
            return None if pyarrow().types.is_integer(target) and _hexadecimal(part) else part.cast(target)

    def bad(low: int, high: int) -> Iterator[int]:
        if all(takes(target, low, high) is None for target in targets):
            if high - low == 1:
                yield low
            else:
                yield from bad(low, (low + high) // 2)
                yield from bad((low + high) // 2, high)

    for target in targets:
        if (parsed := takes(target, 0, len(column))) is not None:
            return parsed
    ends = range(1, len(column) + 1)
    good = bisect_left(ends, True, key=lambda end: all(takes(target, 0, end) is None for target in targets))
    targets = [target for target in targets if good == 0 or takes(target, 0, good) is not None]
    rows = islice(bad(good, len(column)), TOLD + 1)
    said = [(row, f"column {name!r} is {cell(column[row].as_py())}, {complaint}") for row in rows]
    raise RowError(*said[0], said[1:TOLD], len(said[TOLD:]))


def _hexadecimal(text: Any) -> bool:
    """Whether some of it is, which Arrow takes for an integer: "0x10" for 16."""
    compute = pyarrow().compute
    return bool(compute.any(compute.match_substring(text, "x", ignore_case=True)).as_py())


def _decimal(text: Any) -> Any:
    """Text as numbers are written, without blanks around it, and true as 1."""
    compute = pyarrow().compute
    text = compute.ascii_trim_whitespace(text)
    for word, value in (("true", "1"), ("false", "0")):
        text = compute.replace_substring_regex(text, f"^(?i:{word})$", value)
    return text
