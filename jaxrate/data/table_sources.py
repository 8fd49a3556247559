"""Tables, in files or in memory: their columns, how these are loaded, and the place of a row in messages."""

import csv
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from jaxrate.core.text_format import did_you_mean_suffix, to_one_line, truncate_text
from jaxrate.events import MAX_REPORTED_ROWS, RowError

Column: TypeAlias = Any  # an Arrow chunked array, or numpy objects where Arrow has no one type for the values

READ_ERRORS = (OSError, EOFError, csv.Error)
LONGEST_MESSAGE = 1_000  # characters of a message about no row
NOT_UTF8 = "not UTF-8 text; save the file as UTF-8"


class TableSource(NamedTuple):
    """A table to read."""

    title: str  # the beginning of errors that are about no row: "games.csv: ", or nothing
    names: list[str]  # of the columns
    load: Callable[..., Any]  # (names, those that are text even if they look like numbers) to columns by name
    where: Callable[[int], str]  # the beginning of errors about a row
    noted: bool = True  # whether names that look alike and rows that repeat others deserve a note
    first_values: Callable[[Sequence[str]], Mapping[str, Any]] = lambda names: {}  # a few of columns, if quickly read
    note: str = ""  # what of the source is the table, in words


def import_pyarrow() -> Any:
    try:
        return [import_module(name) for name in ("pyarrow.compute", "pyarrow.csv", "pyarrow.parquet", "pyarrow")][-1]
    except ImportError as error:
        raise ImportError('tables need pyarrow: pip install "jaxrate[data]"') from error


class UnreadableTableError(ValueError):
    """A table lacks a column that it needs; further lines of the message show its first rows."""


@contextmanager
def add_location_to_data_errors(title: str, where: Callable[[int], str]) -> Iterator[None]:
    """Errors about data become ValueErrors of one line that name the file and the row."""
    try:
        yield
    except RowError as error:
        raise ValueError(error.format_message(where)) from None
    except import_pyarrow().ArrowException as error:
        message = shorten_to_one_line(str(error))
        numbered = re.match(r"(?:CSV parse error: |In CSV column #\d+: )Row #(\d+): (.*)", message)  # 1 is the header
        location, message = (f"{where(int(numbered[1]) - 2)}: ", numbered[2]) if numbered else (title, message)
        if "invalid UTF8" in message:
            message = NOT_UTF8 if numbered else message.partition(":")[0] + ": " + NOT_UTF8
        raise ValueError(location + message) from None
    except UnreadableTableError as error:
        raise ValueError(f"{title}{error}") from None
    except (ValueError, *READ_ERRORS) as error:
        raise ValueError(title + shorten_to_one_line(str(error))) from None


def shorten_to_one_line(text: str) -> str:
    line = to_one_line(text)
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]}..."


def row_label(row: int) -> str:
    """A row of a table without lines, for error messages."""
    return f"row {row} (counting from 0)"


def read_csv(
    open_stream: Callable[[], Any], names: Sequence[str], text: Sequence[str] = (), delimiter: str = ","
) -> Any:
    """Columns of the CSV in a newly opened stream: those of `text`, and those that are not all numbers, as text."""
    arrow = import_pyarrow()
    try:
        table = _read_arrow_csv(open_stream(), names, delimiter)
    except arrow.ArrowInvalid as error:
        if "CSV parse error: Expected" in str(error):
            _check_field_counts(open_stream, delimiter)
        _read_arrow_csv(open_stream(), names, delimiter, threads=False)  # whose error names the row
        raise
    return numeric_text_to_numbers(table, text)


def numeric_text_to_numbers(table: Any, text: Sequence[str]) -> Any:
    """An Arrow table of text with numbers in columns of which all values are numbers, but for those of `text`."""
    arrow = import_pyarrow()
    columns = {name: table[name] for name in table.column_names}
    for name in columns.keys() - {*text}:
        with suppress(arrow.ArrowException):
            columns[name] = columns[name].cast(arrow.float64())
    return arrow.table(columns)


def iterate_csv(open_stream: Callable[[], Any], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a CSV file that are not empty, the header first, and the line on which each ends."""
    with io.TextIOWrapper(open_stream(), encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        yield from ((reader.line_num, fields) for fields in reader if fields)


def _check_field_counts(open_stream: Callable[[], Any], delimiter: str) -> None:
    """RowError about the rows that have more or fewer fields than the header."""
    with suppress(*READ_ERRORS):
        rows = iterate_csv(open_stream, delimiter)
        count = len(next(rows, (0, []))[1])
        bad = ((row, fields) for row, (_, fields) in enumerate(rows) if len(fields) != count)
        messages = [
            (row, f"Expected {count} columns, got {len(fields)}: {truncate_text(delimiter.join(fields))}")
            for row, fields in islice(bad, MAX_REPORTED_ROWS)
        ]
        if messages:
            raise RowError(*messages[0], messages[1:], sum(1 for _ in bad))


def _read_arrow_csv(file: Any, names: Sequence[str], delimiter: str, threads: bool = True) -> Any:
    arrow = import_pyarrow()
    return arrow.csv.read_csv(
        file,
        arrow.csv.ReadOptions(use_threads=threads),
        arrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        arrow.csv.ConvertOptions(
            include_columns=list(names),
            column_types=dict.fromkeys(names, arrow.large_string()),
            null_values=[""],  # a player may well be called NA
            strings_can_be_null=True,
        ),
    )


@contextmanager
def atomic_replacement(*paths: Path) -> Iterator[list[Path]]:
    """Temporary files to write, which replace `paths`, the first one last, unless something fails."""
    temporary = [path.with_name(f".{path.name}.{os.getpid()}.tmp") for path in paths]
    try:
        yield temporary
        for temporary_path, path in reversed(list(zip(temporary, paths, strict=True))):
            os.replace(temporary_path, path)
    finally:
        for temporary_path in temporary:
            temporary_path.unlink(missing_ok=True)


def find_column_ignoring_case(names: Sequence[str], name: str) -> str | None:
    """The column of this name, or else the first of this name in another case."""
    return name if name in names else next((other for other in names if str(other).lower() == name), None)


def check_columns_exist_and_unique(names: Sequence[str], used: Sequence[str]) -> None:
    repeated = sorted({str(name) for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"several columns have the same name: {', '.join(repeated)}")
    for name in used:
        if name not in names:
            hint = did_you_mean_suffix(name, names)
            raise ValueError(f"no column {name!r}{hint} (there are: {', '.join(map(str, names))})")
