"""Columns of tables, through Arrow: loading them, and turning them into ids, numbers, flags and days."""

import csv
import difflib
import gzip
import zlib
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from jaxrate.events import fail_where

Values: TypeAlias = np.ndarray[Any, Any]
Column: TypeAlias = Any  # an Arrow chunked array, or numpy objects where Arrow has no one type for the values
Load: TypeAlias = Callable[[Sequence[str], Sequence[str]], Any]  # (columns, those that are text) to columns by name

PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
UNREADABLE = (OSError, EOFError, zlib.error, csv.Error)


def pyarrow() -> Any:
    try:
        return [import_module(name) for name in ("pyarrow.csv", "pyarrow.parquet", "pyarrow")][-1]
    except ImportError as error:
        raise ImportError('tables need pyarrow: pip install "jaxrate[data]"') from error


def open_memory(source: Any) -> tuple[list[str], Load]:
    """The names of the columns of a table in memory, and how to get at them."""
    if hasattr(source, "keys") and hasattr(source, "__getitem__"):  # a dict, or pandas
        return list(source.keys()), lambda wanted, text: source
    if not hasattr(source, "__arrow_c_stream__"):
        raise TypeError(f"cannot read a {type(source).__name__}; give a path, a table or a dict of columns")
    table = pyarrow().table(source)
    return table.column_names, lambda wanted, text: table


def open_file(path: Path) -> tuple[list[str], Load]:
    """The names of the columns of a file, and how to load some of them."""
    arrow = pyarrow()
    if path.is_dir():
        raise ValueError("a directory, not a file")
    if not path.exists():
        raise ValueError("no such file")
    if path.name.lower().endswith(".parquet"):
        with arrow.parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
        return names, lambda wanted, text: arrow.parquet.ParquetFile(path).read(columns=list(wanted))
    if not path.name.lower().endswith((".csv", ".csv.gz")):
        raise ValueError("cannot read this kind of file; the name must end in .parquet, .csv or .csv.gz")
    with _opened(path) as file:
        header = next(filter(None, csv.reader(file)), None)
    if header is None:
        raise ValueError("the file is empty")
    return header, lambda wanted, text: _csv(path, wanted, text)


def _csv(path: Path, wanted: Sequence[str], text: Sequence[str]) -> Any:
    arrow = pyarrow()
    options = {
        "parse_options": arrow.csv.ParseOptions(newlines_in_values=True),
        "convert_options": arrow.csv.ConvertOptions(
            include_columns=list(wanted),
            column_types=dict.fromkeys(text, arrow.large_string()),
            null_values=[""],  # a player may well be called NA
            strings_can_be_null=True,
        ),
    }
    try:
        return arrow.csv.read_csv(path, **options)
    except arrow.ArrowInvalid:  # in one thread the message tells the row
        return arrow.csv.read_csv(path, arrow.csv.ReadOptions(use_threads=False), **options)


def _opened(path: Path) -> Any:
    """A CSV file as text; what is not UTF-8 is left for Arrow to complain about."""
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    return opened(path, "rt", encoding="utf-8-sig", errors="replace", newline="")


def csv_line(path: Path, row: int) -> int | None:
    """The line of a CSV file on which a row ends, counting from 1."""
    with suppress(*UNREADABLE), _opened(path) as file:
        reader = csv.reader(file)
        return next(islice((reader.line_num for record in reader if record), row + 1, None), None)
    return None


def check_names(names: Sequence[str], wanted: Sequence[str]) -> None:
    repeated = sorted({str(name) for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"several columns have the same name: {', '.join(repeated)}")
    for name in wanted:
        if name not in names:
            near = difflib.get_close_matches(name, map(str, names), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            if name in ("a", "b") and not near:
                hint = "; name the players' columns, a and b or winner and loser"
            raise ValueError(f"no column {name!r}{hint} (there are: {', '.join(map(str, names))})")


def to_column(name: str, values: Any) -> Column:
    """`values` in Arrow, text and categoricals plain; as numpy objects where Arrow has no one type for them."""
    arrow = pyarrow()
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__") or getattr(values, "ndim", 1) != 1:
        raise ValueError(f"column {name!r} must be an array of one dimension or a list")
    column = values if isinstance(values, arrow.ChunkedArray) else None
    loose = isinstance(values, (list, tuple)) or str(getattr(values, "dtype", "")) == "object"
    types = {type(value) for value in values} - {type(None)} if loose else set()
    if column is None and (len(types) < 2 or types <= {int, float}):  # Arrow would take "x" for b"x"
        for convert in (lambda values: values, _items):  # some arrays it knows only as lists
            with suppress(arrow.ArrowException, OverflowError):
                array = arrow.array(convert(values))
                column = array if isinstance(array, arrow.ChunkedArray) else arrow.chunked_array([array])
                break
    if column is None or arrow.types.is_nested(column.type) or isinstance(column.type, arrow.BaseExtensionType):
        items = _items(values)
        return np.fromiter(items, dtype=object, count=len(items))
    if arrow.types.is_dictionary(column.type) and len(column):
        return arrow.chunked_array([_text(chunk.dictionary).take(chunk.indices) for chunk in column.chunks])
    return _text(column)


def _items(values: Any) -> list[Any]:
    convert = next((name for name in ("tolist", "to_pylist") if hasattr(values, name)), None)
    return list(getattr(values, convert)() if convert else values)


def _text(column: Any) -> Any:
    """Text of any kind as the one kind that all of Arrow's functions take."""
    arrow = pyarrow()
    text = arrow.types.is_string(column.type) or arrow.types.is_string_view(column.type)
    return column.cast(arrow.large_string()) if text else column


def keep_rows(name: str, column: Column, keep: Values) -> Column:
    """The rows to keep; what is left of mixed values may have a type."""
    return to_column(name, column[keep]) if isinstance(column, np.ndarray) else column.filter(pyarrow().array(keep))


def _check_present(name: str, column: Column, nan: bool) -> None:
    """ValueError at the first missing value; `nan` says whether NaN is one."""
    if isinstance(column, np.ndarray):
        absent = np.array([v is None or type(v).__name__ == "NAType" or bool(nan and v != v) for v in column])
    else:
        absent = column.is_null(nan_is_null=nan).to_numpy()
    fail_where(absent, lambda row: f"column {name!r} has no value")


def to_ids(names: Sequence[str], columns: dict[str, Column]) -> tuple[Values, Values]:
    """Ids [n, columns] of the values in several columns, in order of first appearance, and the values by id."""
    arrow = pyarrow()
    parts = [columns[name] for name in names]
    for name, part in zip(names, parts, strict=True):
        _check_present(name, part, nan=True)
    if any(isinstance(part, np.ndarray) for part in parts):
        items = [value for row in zip(*map(_items, parts), strict=True) for value in row]
        try:
            known = {value: position for position, value in enumerate(dict.fromkeys(items))}
        except TypeError:
            raise ValueError(f"columns {names} hold values that cannot be names: they are not hashable") from None
        ids = np.array([known[value] for value in items], np.int32)
        return ids.reshape(-1, len(parts)), np.fromiter(known, dtype=object, count=len(known))
    if len({part.type for part in parts}) > 1:
        if not all(arrow.types.is_integer(part.type) for part in parts):
            kinds = " and ".join(f"{name!r} holds {part.type}" for name, part in zip(names, parts, strict=True))
            raise ValueError(f"columns must be of the same type, but {kinds}")
        parts = [part.cast(arrow.int64()) for part in parts]
    chunks = arrow.chunked_array([chunk for part in parts for chunk in part.chunks]).dictionary_encode().chunks
    code = np.concatenate([chunk.indices.to_numpy() for chunk in chunks]).reshape(len(parts), -1).T.ravel()
    values = chunks[0].dictionary.to_numpy(zero_copy_only=False)  # all chunks share it
    position = np.arange(len(code))
    first = np.empty(len(values), np.int64)
    first[code[::-1]] = position[::-1]  # the last assignment stands: where each value appears first
    order = code[first[code] == position]
    rank = np.empty(len(values), np.int32)
    rank[order] = np.arange(len(values))
    return rank[code].reshape(-1, len(parts)), values[order]


def to_numbers(name: str, column: Column) -> Values:
    """The column as float64; text is parsed, true is 1."""
    types = pyarrow().types
    if isinstance(column, np.ndarray):
        other = np.array([not isinstance(value, Real) for value in column])
        fail_where(other, lambda row: f"column {name!r} is {column[row]!r}, not a number")
        return column.astype(np.float64)
    _check_present(name, column, nan=False)
    if types.is_large_string(column.type):
        column = _parsed(name, column, [pyarrow().float64()], "not a number")
    kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    if not any(kind(column.type) for kind in kinds):
        raise ValueError(f"column {name!r} must hold numbers, got {column.type}")
    return np.asarray(column.to_numpy(), np.float64)


def to_flags(name: str, column: Column) -> Values:
    values = to_numbers(name, column)
    unclear = (values != 0) & (values != 1)
    fail_where(unclear, lambda row: f"column {name!r} is {values[row]}, expected true or false, 1 or 0")
    return np.asarray(values == 1)


def to_days(name: str, column: Column) -> Values:
    """Dates as days since 1970-01-01 (UTC), numbers as they are."""
    arrow = pyarrow()
    _check_present(name, column, nan=isinstance(column, np.ndarray))
    if isinstance(column, np.ndarray):
        raise ValueError(f"column {name!r} mixes values of different types; expected dates, timestamps or numbers")
    if arrow.types.is_large_string(column.type):
        targets = [arrow.timestamp(unit, zone) for unit in ("us", "ns") for zone in (None, "UTC")]
        accepted = "2024-01-31, 2024-01-31 18:30:00 or, in all rows, 2024-01-31T18:30:00Z or +02:00"
        column = _parsed(name, column, targets, f"not an ISO date or timestamp ({accepted})")
    if arrow.types.is_date(column.type):
        return np.asarray(column.cast(arrow.date32()).cast(arrow.int32()).to_numpy(), np.float64)
    if arrow.types.is_timestamp(column.type):
        return np.asarray(column.cast(arrow.int64()).to_numpy() / PER_DAY[column.type.unit])
    if arrow.types.is_boolean(column.type) or arrow.types.is_temporal(column.type):
        raise ValueError(f"column {name!r} must hold dates, timestamps or numbers, got {column.type}")
    return to_numbers(name, column)


def check_order(column: Column, days: Values) -> None:
    def say(row: int) -> str:
        before, here = column.slice(row - 1, 2).cast("string").to_pylist()
        return f"time {here} is earlier than {before} in the match before; sort the rows, or give sort=True"

    fail_where(np.concatenate([[False], days[1:] < days[:-1]]), say)


def _parsed(name: str, column: Any, targets: Sequence[Any], complaint: str) -> Any:
    """Text as the first of the target types that takes all of it."""

    def parse(text: Any) -> Any:
        for target in targets:
            with suppress(pyarrow().ArrowInvalid):
                return text.cast(target)

    parsed = parse(column)
    if parsed is None:
        row = bisect_left(range(1, len(column) + 1), True, key=lambda rows: parse(column.slice(0, rows)) is None)
        raise ValueError(f"row {row} (counting from 0): column {name!r} is {column[row].as_py()!r}, {complaint}")
    return parsed
