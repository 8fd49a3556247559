"""Tables, in files or in memory: their columns, how these are loaded, and the place of a row in messages."""

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from jaxrate.core.optional_imports import import_optional
from jaxrate.core.text_format import did_you_mean_suffix, to_one_line, truncate_text
from jaxrate.events import MAX_REPORTED_ROWS, RowError

Column: TypeAlias = Any  # an Arrow chunked array

READ_ERRORS = (OSError, EOFError, csv.Error)
LONGEST_MESSAGE = 1_000  # characters of a message about no row
FEW_ROWS = 4  # rows whose values tell what a column may hold
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
    batches: Callable[[Sequence[str]], Iterator[Any]] = lambda names: iter(())  # columns as Arrow batches, of files
    is_text: bool = False  # whether batches hold numbers as text, as CSV does
    types: Mapping[str, Any] = {}  # of the columns, if the source has a schema of Arrow
    num_rows: int | None = None  # if it is known before the table is read
    paths: tuple[Path, ...] = ()  # the files that are this table, end to end
    parts: tuple[Any, ...] = ()  # the table in each of them

    def count_rows(self) -> int:
        """How many rows there are; they are read if that is not known."""
        if self.parts:
            return sum(part.count_rows() for part in self.parts)
        return sum(map(len, self.batches(self.names[:1]))) if self.num_rows is None else self.num_rows


def import_pyarrow() -> Any:
    """Arrow, with the modules of it that are used."""
    return [import_optional(name) for name in ("pyarrow.compute", "pyarrow.csv", "pyarrow.parquet", "pyarrow")][-1]


def has_pyarrow() -> bool:
    """Whether pyarrow is installed."""
    try:
        import_pyarrow()
    except ImportError:
        return False
    return True


def arrow_errors() -> tuple[type[Exception], ...]:
    """The type of Arrow's errors; none if pyarrow is not installed."""
    return (import_pyarrow().ArrowException,) if has_pyarrow() else ()


class MissingColumnError(ValueError):
    """A table lacks a column that it needs; further lines of the message show its first rows."""


@contextmanager
def add_location_to_data_errors(title: str, where: Callable[[int], str]) -> Iterator[None]:
    """Errors about data become ValueErrors of one line that name the file and the row."""
    try:
        yield
    except RowError as error:
        raise ValueError(error.format_message(where)) from None
    except arrow_errors() as error:
        message = shorten_to_one_line(str(error))
        numbered = re.match(r"(?:CSV parse error: |In CSV column #\d+: )Row #(\d+): (.*)", message)  # 1 is the header
        location, message = (f"{where(int(numbered[1]) - 2)}: ", numbered[2]) if numbered else (title, message)
        if "invalid UTF8" in message:
            message = NOT_UTF8 if numbered else message.partition(":")[0] + ": " + NOT_UTF8
        raise ValueError(location + message) from None
    except MissingColumnError as error:
        raise ValueError(f"{title}{error}") from None
    except (ValueError, *READ_ERRORS) as error:
        if title and str(error).startswith(title):  # it was named nearer to the table
            raise
        raise ValueError(title + shorten_to_one_line(str(error))) from None


def shorten_to_one_line(text: str) -> str:
    line = to_one_line(text)
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]}..."


def row_label(row: int) -> str:
    """A row of a table without lines, for error messages."""
    return f"row {row} (counting from 0)"


def source_of_batches(
    title: str,
    names: list[str],
    batches: Callable[[Sequence[str]], Iterator[Any]],
    where: Callable[[int], str],
    is_text: bool = False,
) -> TableSource:
    """A table that is read in batches of rows; their text is made numbers in memory, if `is_text`."""

    def load(wanted: Sequence[str], text: Sequence[str] = ()) -> Any:
        check_columns_exist_and_unique(names, wanted)
        arrow = import_pyarrow()
        table = arrow.Table.from_batches([*batches(wanted)] or [arrow.record_batch({name: [] for name in wanted})])
        return numeric_text_to_numbers(table, text) if is_text else table

    def first_values(wanted: Sequence[str]) -> Mapping[str, Any]:
        with suppress(import_pyarrow().ArrowException, ValueError):  # of which those who read all will tell
            unique = [name for name in wanted if names.count(name) == 1]
            count = 1 if is_text else FEW_ROWS
            return {name: batch[name][:count] for batch in islice(batches(unique), 1) for name in unique}
        return {}

    return TableSource(title, names, load, where, first_values=first_values, batches=batches, is_text=is_text)


def name_repeated_columns(header: Sequence[str]) -> list[str]:
    """The names of columns, where several have one as "PTS (1)" and "PTS (2)", or "column 7" where they have none."""
    numbers, names = Counter(header), []
    for position, name in reversed([*enumerate(header, 1)]):
        names.append(name if header.count(name) == 1 else f"{name} ({numbers[name]})" if name else f"column {position}")
        numbers[name] -= 1
    return names[::-1]


def iterate_csv_batches(
    open_stream: Callable[[], Any], names: Sequence[str], delimiter: str = ",", header: Sequence[str] | None = None
) -> Iterator[Any]:
    """Columns of the CSV in a newly opened stream, as batches of text."""
    arrow = import_pyarrow()
    has_blanks = any(name != name.lstrip() for name in names)
    skipped = 0 if header is None else 1  # rows, which are the header's own
    read = arrow.csv.ReadOptions(use_threads=False, column_names=header, skip_rows_after_names=skipped)
    parse = arrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    convert = arrow.csv.ConvertOptions(
        include_columns=list(names),
        column_types=dict.fromkeys(names, arrow.large_string()),
        null_values=[""],  # a player may well be called NA
        strings_can_be_null=True,
    )
    try:  # without threads errors have the number of the row
        for batch in arrow.csv.open_csv(open_stream(), read, parse, convert):
            if has_blanks:
                columns = [*map(arrow.compute.utf8_ltrim_whitespace, batch.columns)]
                batch = arrow.RecordBatch.from_arrays(columns, names=batch.schema.names)
            yield batch
    except arrow.ArrowInvalid as error:
        if "Empty CSV" in str(error):  # there is a header without an end of line
            return
        if "CSV parse error: " in str(error):
            _check_field_counts(open_stream, delimiter)
        raise


def numeric_text_to_numbers(table: Any, text: Collection[str]) -> Any:
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
        advice = "; the first line names the columns: remove what stands above it" if count == 1 else ""
        bad = ((row, fields) for row, (_, fields) in enumerate(rows) if len(fields) != count)
        messages = [
            (row, f"Expected {count} columns, got {len(fields)}: {truncate_text(delimiter.join(fields))}{advice}")
            for row, fields in islice(bad, MAX_REPORTED_ROWS)
        ]
        if messages:
            raise RowError(*messages[0], messages[1:], sum(1 for _ in bad))


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
