"""Tables of matches, in files or in memory: names become ids, dates become days, and bad rows are named."""

import csv
import difflib
import gzip
import os
import re
import zlib
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from jaxrate.events import Matches, _fail, matches

Values: TypeAlias = np.ndarray[Any, Any]
Column: TypeAlias = Any  # an Arrow chunked array, or numpy objects where Arrow has no one type for the values
Load: TypeAlias = Callable[[Sequence[str], Sequence[str]], Any]  # (columns, those that are text) to columns by name

PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
UNREADABLE = (OSError, EOFError, zlib.error, csv.Error)


class Dataset(NamedTuple):
    """What `read` makes of a table."""

    events: Matches
    players: Values  # [num_players] names in order of id
    categories: Values | None = None  # [num_categories] names in order of id

    @property
    def matches(self) -> Matches:
        """The events."""
        return self.events


def read(
    source: Any, *, a: str | None = None, b: str | None = None, winner: str | None = None, loser: str | None = None,
    score: str | None = None, time: str | None = None, side: str | None = None, neutral: str | None = None,
    weight: str | None = None, category: str | Sequence[str] | None = None, drop: str | Sequence[str] = (),
    sort: bool = False,
) -> Dataset:  # fmt: skip
    """Checked matches from a table with one row per match.

    A file with columns a, b, score or winner, loser (and perhaps time, date or t) needs no arguments; all other columns
    are used only if named. Names of players and categories become ids in order of first appearance, reading the rows
    of the source from the top and a before b; in CSV they are text ("007" stays that), and an empty field is missing.

    Args:
      source: a path to .parquet, .csv or .csv.gz, a pandas, polars or Arrow table, or a dict of arrays or lists.
      a: the column of player 0, of any hashable type.
      b: the column of player 1, of the same type.
      winner: instead of `a`: the winner becomes player 0 and the score is 1.
      loser: instead of `b`.
      score: the column of player 0's score, in [0, 1]. None: "score".
      time: a column of numbers, which stay as they are (20240131 is no date), or of dates, timestamps or ISO text,
        which become days since 1970-01-01 (UTC). None: the first there is of "time", "date" and "t", or else no time.
      side: a column in [-1, 1]: 1 where player 0 has the side advantage (home, white), -1 where player 1 has, 0 if
        neither; true is 1 and false 0. "a" or "b", unless another column has that name: that player in every match.
      neutral: a column, true (or 1) where nobody has the side after all.
      weight: a column above 0; a match of weight w counts as w matches.
      category: a column, of both players, or the pair of a's and b's.
      drop: columns, true (or 1) where the row is left out before anything else of it is looked at.
      sort: put the matches in order of time (stable). Otherwise time that decreases is an error.

    Raises:
      ValueError: names the file, the first bad row of the source (counting from 0; in CSV also its line) or the column,
        and what is wrong with it; also if no rows are left.
      TypeError: if the source is of none of these kinds.
      ImportError: if pyarrow is not installed.
    """
    arrow = _pyarrow()
    path = Path(source) if isinstance(source, (str, os.PathLike)) else None
    rows: Values | None = None  # where each match stands in the source, once rows were dropped or sorted
    try:
        names, load = _memory(source) if path is None else _file(path)
        first, second, score = _form(names, a, b, winner, loser, score)
        everywhere = _everywhere(names, first, second, side, leaks=score is None)
        if time is None:
            time = next((name for name in ("time", "date", "t") if name in names), None)
        if sort and time is None:
            raise ValueError("sort=True needs a column of time")
        if neutral is not None and side is None:
            raise ValueError("neutral needs side: without it nobody has the side in any match")
        pair = [] if category is None else [category] * 2 if isinstance(category, str) else list(category)
        if len(pair) not in (0, 2):
            raise ValueError(f"category must be one column or the pair of a's and b's, got {category}")
        drops = [drop] if isinstance(drop, str) else list(drop)
        optional = [score, time, None if everywhere else side, neutral, weight]
        wanted = list(dict.fromkeys([first, second, *filter(None, optional), *pair, *drops]))
        _check_names(names, wanted)

        table = load(wanted, [first, second, *pair])
        columns = {name: _column(name, table[name]) for name in wanted}
        n = len(columns[first])
        for name, column in columns.items():
            if len(column) != n:
                raise ValueError(f"column {name!r} has {len(column)} rows, {first!r} has {n}")
        if not n:
            raise ValueError("no rows")
        if drops:
            keep = ~np.any([_flags(name, columns[name]) for name in drops], axis=0)
            rows = np.flatnonzero(keep)
            n = len(rows)
            if not n:
                raise ValueError(f"no rows are left after drop={drop!r}")
            columns = {name: _kept(name, column, keep) for name, column in columns.items()}

        fields: dict[str, Any] = {}
        fields["player"], players = _ids([first, second], columns)
        fields["score"] = np.ones(n) if score is None else _numbers(score, columns[score])
        if side is not None:
            fields["side"] = np.full(n, everywhere) if everywhere else _numbers(side, columns[side])
        if neutral is not None:
            fields["side"] = np.where(_flags(neutral, columns[neutral]), 0.0, fields["side"])
        if weight is not None:
            fields["weight"] = _numbers(weight, columns[weight])
        categories = None
        if pair:
            fields["category"], categories = _ids(pair, columns)
        if time is not None:
            fields["time"] = _days(time, columns[time])
            if sort:
                order = np.argsort(fields["time"], kind="stable")
                rows = order if rows is None else rows[order]
                fields = {name: values[order] for name, values in fields.items()}
            else:
                _check_order(columns[time], fields["time"])
        return Dataset(matches(**fields), players, categories)
    except (arrow.ArrowException, ValueError, *UNREADABLE) as error:
        raise ValueError(_located(error, path, rows)) from None


def write(table: dict[str, Values], path: str | os.PathLike[str]) -> None:
    """Write columns to a file, whole or not at all.

    Args:
      table: columns of equal length, by name.
      path: the file, ending in .parquet or .csv. It is replaced if it exists.

    Raises:
      ValueError: if the path has another ending, or if the columns are not of equal length.
      ImportError: if pyarrow is not installed.
    """
    arrow = _pyarrow()
    path = Path(path)
    writers = {".parquet": arrow.parquet.write_table, ".csv": arrow.csv.write_csv}
    if path.suffix.lower() not in writers:
        raise ValueError(f"{path.name}: the name must end in {' or '.join(writers)}")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        writers[path.suffix.lower()](arrow.table(table), temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _pyarrow() -> Any:
    try:
        return [import_module(name) for name in ("pyarrow.csv", "pyarrow.parquet", "pyarrow")][-1]
    except ImportError as error:
        raise ImportError('tables need pyarrow: pip install "jaxrate[data]"') from error


def _memory(source: Any) -> tuple[list[str], Load]:
    """The names of the columns of a table in memory, and how to get at them."""
    if hasattr(source, "keys") and hasattr(source, "__getitem__"):  # a dict, or pandas
        return list(source.keys()), lambda wanted, text: source
    if not hasattr(source, "__arrow_c_stream__"):
        raise TypeError(f"cannot read a {type(source).__name__}; give a path, a table or a dict of columns")
    table = _pyarrow().table(source)
    return table.column_names, lambda wanted, text: table


def _file(path: Path) -> tuple[list[str], Load]:
    """The names of the columns of a file, and how to load some of them."""
    arrow = _pyarrow()
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
    arrow = _pyarrow()
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


def _line(path: Path, row: int) -> int | None:
    """The line of a CSV file on which a row ends, counting from 1."""
    with suppress(*UNREADABLE), _opened(path) as file:
        reader = csv.reader(file)
        return next(islice((reader.line_num for record in reader if record), row + 1, None), None)
    return None


def _located(error: Exception, path: Path | None, rows: Values | None) -> str:
    """The message of an error, in one line, with the file, and with the row of the source in place of ours."""
    message = " ".join(str(error).split())
    counted = re.match(r"(?:CSV parse error: |In CSV column #\d+: )Row #(\d+): (.*)", message)  # 1 is the header
    if counted:
        message = f"row {int(counted[1]) - 2} (counting from 0): {counted[2]}"
    located = re.match(r"row (\d+) \(counting from 0\)(.*)", message)
    if located:
        row = int(located[1]) if rows is None else rows[int(located[1])]
        line = None if path is None or path.name.lower().endswith(".parquet") else _line(path, row)
        message = f"row {row} (counting from 0{'' if line is None else f', line {line}'}){located[2]}"
    return message if path is None else f"{path.name}: {message}"


def _form(
    names: Sequence[str], a: str | None, b: str | None, winner: str | None, loser: str | None, score: str | None
) -> tuple[str, str, str | None]:
    """The columns of player 0, player 1 and the score; no score where player 0 is the winner."""
    if a is b is winner is loser is None:
        won = "winner" in names and "loser" in names
        a, b, winner, loser = (None, None, "winner", "loser") if won else ("a", "b", None, None)
    if a is not None and b is not None and winner is loser is None:
        return a, b, "score" if score is None else score
    if winner is None or loser is None or a is not None or b is not None:
        raise ValueError("give the columns a and b, or winner and loser, both of them and not the others")
    if score is not None:
        raise ValueError("the score of a winner is 1; give a and b, not winner and loser, to use a column of scores")
    return winner, loser, None


def _everywhere(names: Sequence[str], first: str, second: str, side: str | None, leaks: bool) -> float | None:
    """The side where it is the same in all matches, as side="a" and side="b" say; None if `side` is a column."""
    literal = side in ("a", "b") and (side not in names or side == (first if side == "a" else second))
    if side in ("winner", "loser") or (leaks and (literal or side in (first, second))):
        raise ValueError(
            f"side={side!r} would tell the result before the match; name a column that says who had the side, "
            "1 the winner, -1 the loser, 0 neither"
        )
    return (1.0 if side == "a" else -1.0) if literal else None


def _check_names(names: Sequence[str], wanted: Sequence[str]) -> None:
    repeated = sorted({str(name) for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"several columns have the same name: {', '.join(repeated)}")
    for name in wanted:
        if name not in names:
            near = difflib.get_close_matches(name, map(str, names), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"no column {name!r}{hint} (there are: {', '.join(map(str, names))})")


def _column(name: str, values: Any) -> Column:
    """`values` in Arrow, text and categoricals plain; as numpy objects where Arrow has no one type for them."""
    arrow = _pyarrow()
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
    arrow = _pyarrow()
    text = arrow.types.is_string(column.type) or arrow.types.is_string_view(column.type)
    return column.cast(arrow.large_string()) if text else column


def _kept(name: str, column: Column, keep: Values) -> Column:
    """The rows to keep; what is left of mixed values may have a type."""
    return _column(name, column[keep]) if isinstance(column, np.ndarray) else column.filter(_pyarrow().array(keep))


def _check_present(name: str, column: Column, nan: bool) -> None:
    """ValueError at the first missing value; `nan` says whether NaN is one."""
    if isinstance(column, np.ndarray):
        absent = np.array([v is None or type(v).__name__ == "NAType" or bool(nan and v != v) for v in column])
    else:
        absent = column.is_null(nan_is_null=nan).to_numpy()
    _fail(absent, lambda row: f"column {name!r} has no value")


def _ids(names: Sequence[str], columns: dict[str, Column]) -> tuple[Values, Values]:
    """Ids [n, columns] of the values in several columns, in order of first appearance, and the values by id."""
    arrow = _pyarrow()
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


def _numbers(name: str, column: Column) -> Values:
    """The column as float64; text is parsed, true is 1."""
    types = _pyarrow().types
    if isinstance(column, np.ndarray):
        other = np.array([not isinstance(value, Real) for value in column])
        _fail(other, lambda row: f"column {name!r} is {column[row]!r}, not a number")
        return column.astype(np.float64)
    _check_present(name, column, nan=False)
    if types.is_large_string(column.type):
        column = _parsed(name, column, [_pyarrow().float64()], "not a number")
    kinds = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    if not any(kind(column.type) for kind in kinds):
        raise ValueError(f"column {name!r} must hold numbers, got {column.type}")
    return np.asarray(column.to_numpy(), np.float64)


def _flags(name: str, column: Column) -> Values:
    values = _numbers(name, column)
    unclear = (values != 0) & (values != 1)
    _fail(unclear, lambda row: f"column {name!r} is {values[row]}, expected true or false, 1 or 0")
    return np.asarray(values == 1)


def _days(name: str, column: Column) -> Values:
    """Dates as days since 1970-01-01 (UTC), numbers as they are."""
    arrow = _pyarrow()
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
    return _numbers(name, column)


def _check_order(column: Column, days: Values) -> None:
    def say(row: int) -> str:
        before, here = column.slice(row - 1, 2).cast("string").to_pylist()
        return f"time {here} is earlier than {before} in the match before; sort the rows, or give sort=True"

    _fail(np.concatenate([[False], days[1:] < days[:-1]]), say)


def _parsed(name: str, column: Any, targets: Sequence[Any], complaint: str) -> Any:
    """Text as the first of the target types that takes all of it."""

    def parse(text: Any) -> Any:
        for target in targets:
            with suppress(_pyarrow().ArrowInvalid):
                return text.cast(target)

    parsed = parse(column)
    if parsed is None:
        row = bisect_left(range(1, len(column) + 1), True, key=lambda rows: parse(column.slice(0, rows)) is None)
        raise ValueError(f"row {row} (counting from 0): column {name!r} is {column[row].as_py()!r}, {complaint}")
    return parsed
