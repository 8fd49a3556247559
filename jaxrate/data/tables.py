"""Tables, in files or in memory: what columns they have, how they are loaded, and where a row stands."""

import csv
import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from jaxrate.events import RowError, fail_where
from jaxrate.text import near

Values: TypeAlias = np.ndarray[Any, Any]
Column: TypeAlias = Any  # an Arrow chunked array, or numpy objects where Arrow has no one type for the values

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
    except RowError as error:
        raise ValueError(f"{where(error.row)}: {_one_line(error.message)}") from None
    except pyarrow().ArrowException as error:
        message = _one_line(str(error))
        counted = re.match(r"(?:CSV parse error: |In CSV column #\d+: )Row #(\d+): (.*)", message)  # 1 is the header
        place, message = (f"{where(int(counted[1]) - 2)}: ", counted[2]) if counted else (title, message)
        if "invalid UTF8" in message:
            message = NOT_UTF8 if counted else message.partition(":")[0] + ": " + NOT_UTF8
        raise ValueError(place + message) from None
    except (ValueError, *UNREADABLE) as error:
        raise ValueError(title + _one_line(str(error))) from None


def _one_line(text: str) -> str:
    return " ".join(text.split())


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
