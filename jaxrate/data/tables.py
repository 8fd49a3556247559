"""Columns of tables, through Arrow: loading them, and turning them into ids, numbers, flags and days."""

import csv
import io
import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from jaxrate.events import fail_where
from jaxrate.text import near

Values: TypeAlias = np.ndarray[Any, Any]
Column: TypeAlias = Any  # an Arrow chunked array, or numpy objects where Arrow has no one type for the values

PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
COMPRESSION = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
UNREADABLE = (OSError, EOFError, csv.Error)
NOT_UTF8 = "not UTF-8 text; save the file as UTF-8"


class Source(NamedTuple):
    """A table to read."""

    title: str  # how errors that are about no row begin: "games.csv: ", or nothing
    names: list[str]  # of the columns
    load: Callable[[Sequence[str], Sequence[str]], Any]  # (columns, those that are text) to columns by name
    where: Callable[[int], str]  # how errors about a row begin


def pyarrow() -> Any:
    try:
        return [import_module(name) for name in ("pyarrow.compute", "pyarrow.csv", "pyarrow.parquet", "pyarrow")][-1]
    except ImportError as error:
        raise ImportError('tables need pyarrow: pip install "jaxrate[data]"') from error


@contextmanager
def located(title: str, where: Callable[[int], str]) -> Iterator[None]:
    """Errors about data become ValueErrors of one line that say in which file and in which row."""
    try:
        yield
    except (pyarrow().ArrowException, ValueError, *UNREADABLE) as error:
        message = " ".join(str(error).split())
        counted = re.match(r"(?:CSV parse error: |In CSV column #\d+: )Row #(\d+): (.*)", message)  # 1 is the header
        if counted:
            message = f"row {int(counted[1]) - 2} (counting from 0): {counted[2]}"
        if "invalid UTF8" in message:
            message = message.partition(":")[0] + ": " + NOT_UTF8
        row = re.match(r"row (\d+) \(counting from 0\): (.*)", message)
        raise ValueError(f"{where(int(row[1]))}: {row[2]}" if row else title + message) from None


def open_source(source: Any) -> Source:
    """A path, a table in memory or a dict of columns as a `Source`; one stays what it is."""
    if isinstance(source, Source):
        return source
    if isinstance(source, (str, Path)) or hasattr(source, "__fspath__"):
        return open_file(Path(source))
    if hasattr(source, "keys") and hasattr(source, "__getitem__"):  # a dict, or pandas
        return Source("", list(source.keys()), lambda wanted, text: source, _row)
    if not hasattr(source, "__arrow_c_stream__"):
        raise TypeError(f"cannot read a {type(source).__name__}; give a path, a table or a dict of columns")
    table = pyarrow().table(source)
    return Source("", table.column_names, lambda wanted, text: table, _row)


def _row(row: int) -> str:
    return f"row {row} (counting from 0)"


def open_file(path: Path) -> Source:
    arrow, title = pyarrow(), f"{path.name}: "
    with located(title, lambda row: title + _row(row)):
        if path.is_dir():
            raise ValueError("a directory, not a file")
        if not path.exists():
            raise ValueError("no such file")
        if path.name.lower().endswith(".parquet"):
            with arrow.parquet.ParquetFile(path) as file:
                names = file.schema_arrow.names

            def load(wanted: Sequence[str], text: Sequence[str]) -> Any:
                return arrow.parquet.ParquetFile(path).read(columns=list(wanted))

            return Source(title, names, load, lambda row: title + _row(row))
        if not re.search(r"\.[ct]sv(\.gz|\.bz2|\.zst)?$", path.name.lower()):
            kinds = ".parquet, .csv or .tsv; these two also compressed, as .csv.gz, .csv.bz2 or .csv.zst"
            raise ValueError(f"cannot read this kind of file; the name must end in {kinds}")
        names, mark = _header(path)

        def where(row: int) -> str:
            line = csv_line(path, row, mark)
            return f"{title}row {row} (counting from 0{'' if line is None else f', line {line}'})"

        return Source(title, names, lambda wanted, text: read_csv(lambda: stream(path), wanted, text, mark), where)


def stream(path: Path) -> Any:
    """The bytes of a file, decompressed."""
    return pyarrow().input_stream(str(path), compression=COMPRESSION.get(path.suffix.lower()))


def _text_of(path: Path) -> io.TextIOWrapper:
    return io.TextIOWrapper(stream(path), encoding="utf-8-sig", errors="replace", newline="")


def _header(path: Path) -> tuple[list[str], str]:
    """The names of the columns of a CSV file, and what separates them."""

    def first(mark: str) -> list[str]:
        with _text_of(path) as file:
            reader = csv.reader(file, delimiter=mark)
            header = next(filter(None, reader), None)
            if header is None:
                raise ValueError("the file is empty")
            if any("\ufffd" in name or "\0" in name for name in header):
                raise ValueError(f"line {reader.line_num}: {NOT_UTF8}")
            return header

    names = first(",")
    marks = [mark for mark in ";\t" if mark in names[0]] if len(names) == 1 else []
    if ".tsv" in path.name.lower():
        marks = ["\t"]
    return (first(marks[0]), marks[0]) if marks else (names, ",")


def read_csv(opened: Callable[[], Any], wanted: Sequence[str], text: Sequence[str], mark: str = ",") -> Any:
    """Columns of the CSV in a newly opened stream."""
    arrow = pyarrow()
    options = {
        "parse_options": arrow.csv.ParseOptions(delimiter=mark, newlines_in_values=True),
        "convert_options": arrow.csv.ConvertOptions(
            include_columns=list(wanted),
            column_types=dict.fromkeys(text, arrow.large_string()),
            null_values=[""],  # a player may well be called NA
            strings_can_be_null=True,
        ),
    }
    try:
        table = arrow.csv.read_csv(opened(), **options)
    except arrow.ArrowInvalid:  # in one thread the message tells the row
        table = arrow.csv.read_csv(opened(), arrow.csv.ReadOptions(use_threads=False), **options)
    for name in table.column_names:
        if arrow.types.is_binary(table[name].type):  # what Arrow takes text for that is not UTF-8
            values = [b"" if value is None else value for value in table[name].to_pylist()]
            bad = ["\ufffd" in value.decode(errors="replace") for value in values]
            fail_where(np.array(bad), lambda row: NOT_UTF8)
    return table


@contextmanager
def replacing(*paths: Path) -> Iterator[list[Path]]:
    """Temporary files to write, which take the places of `paths`, the first one last, unless something fails."""
    temporary = [path.with_name(f".{path.name}.{os.getpid()}.tmp") for path in paths]
    try:
        yield temporary
        for new, path in reversed(list(zip(temporary, paths, strict=True))):
            os.replace(new, path)
    finally:
        for new in temporary:
            new.unlink(missing_ok=True)


def csv_line(path: Path, row: int, mark: str = ",") -> int | None:
    """The line of a CSV file on which a row ends, counting from 1."""
    with suppress(*UNREADABLE), _text_of(path) as file:
        reader = csv.reader(file, delimiter=mark)
        return next(islice((reader.line_num for record in reader if record), row + 1, None), None)
    return None


def find_name(names: Sequence[str], name: str) -> str | None:
    """The column of this name, or else the first of this name in another case."""
    return name if name in names else next((other for other in names if str(other).lower() == name), None)


def check_names(names: Sequence[str], wanted: Sequence[str]) -> None:
    repeated = sorted({str(name) for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"several columns have the same name: {', '.join(repeated)}")
    for name in wanted:
        if name not in names:
            hint = near(name, names)
            if name in ("a", "b") and not hint:
                hint = "; name the players' columns, a and b or winner and loser, or those of contests"
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


def missing(column: Column, nan: bool) -> Values:
    """Where there is no value; `nan` says whether NaN is none."""
    if isinstance(column, np.ndarray):
        return np.array([v is None or type(v).__name__ == "NAType" or bool(nan and v != v) for v in column])
    if not (column.null_count or (nan and pyarrow().types.is_floating(column.type))):
        return np.zeros(len(column), bool)
    return np.asarray(column.is_null(nan_is_null=nan).to_numpy())


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
        parts.append(to_column(what, known))
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
    return rank[before:].reshape(-1, len(names)), values


def to_numbers(name: str, column: Column, default: float | None = None) -> Values:
    """The column as float64; text is parsed, true is 1. A missing value is `default`, or without one an error."""
    arrow = pyarrow()
    if isinstance(column, np.ndarray):
        other = np.array([not isinstance(value, Real) for value in column])
        fail_where(other, lambda row: f"column {name!r} is {column[row]!r}, not a number")
        return column.astype(np.float64)
    if default is None:
        _check_present(name, column, nan=False)
    if arrow.types.is_large_string(column.type):
        column = _parsed(name, column, [arrow.float64()], "not a number")
    kinds = ["integer", "floating", "boolean", "decimal"] + ["null"] * (default is not None)
    if not any(getattr(arrow.types, f"is_{kind}")(column.type) for kind in kinds):
        raise ValueError(f"column {name!r} must hold numbers, got {column.type}")
    if default is None:
        return np.asarray(column.to_numpy(), np.float64)
    values = np.asarray(column.cast(arrow.float64()).to_numpy())
    return np.where(np.isnan(values), default, values)


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


def check_order(column: Column, days: Values) -> None:
    def say(row: int) -> str:
        before, here = column.slice(row - 1, 2).cast("string").to_pylist()
        return f"time {here} is earlier than {before} in the row before; sort the rows, or use the option sort"

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
