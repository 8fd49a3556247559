"""Tables in files and on standard input: Parquet, text with delimiters, JSON, and spreadsheets."""

import codecs
import csv
import datetime
import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from jaxrate.data.json_tables import read_json_records, table_in_memory
from jaxrate.data.table_sources import (
    NOT_UTF8,
    READ_ERRORS,
    TableSource,
    add_location_to_data_errors,
    import_pyarrow,
    read_csv,
    row_label,
)

STANDARD_INPUT = "-"
COMPRESSION = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
SPREADSHEET_SUFFIXES = ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"
TEXT_SUFFIXES = ".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson"
SPREADSHEET_MARKS = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"  # how their bytes begin
DELIMITERS = ";", "\t", "|"  # sought in a header without commas
CHECKED_BYTES = 1 << 24  # at the beginning of a text, from which its encoding is inferred
FEW_ROWS = 4  # rows whose values tell what a column may hold

_standard_inputs: WeakKeyDictionary[Any, bytes] = WeakKeyDictionary()  # what was read from them


def open_table_file(path: Path) -> TableSource:
    """The table in a file; that of the path "-" is read from standard input, and kept to be opened again.

    Raises:
      ValueError: names the file, and what is wrong with it.
    """
    is_file = str(path) != STANDARD_INPUT
    title = f"{path.name}: " if is_file else "standard input: "
    with add_location_to_data_errors(title, lambda row: title + row_label(row)):
        if is_file and path.is_dir():
            raise ValueError("a directory, not a file")
        if is_file and not path.exists():
            raise ValueError("no such file")
        suffixes = [suffix.lower() for suffix in path.suffixes]
        mark = b"" if is_file else open_decompressed(path).read(4)
        if suffixes[-1:] == [".parquet"] or mark == b"PAR1":
            return _open_parquet(path, title, is_file)
        if {*suffixes[-1:]} & {*SPREADSHEET_SUFFIXES} or mark in SPREADSHEET_MARKS:
            return _open_spreadsheet(path, title)
        if suffixes[-1:] and suffixes[-1] in COMPRESSION:
            suffixes.pop()
        if is_file and not {*suffixes[-1:]} & {*TEXT_SUFFIXES}:
            raise ValueError(
                f"cannot read this kind of file; the name must end in .parquet, {', '.join(TEXT_SUFFIXES)} (these also "
                f"compressed, as .csv.gz, .csv.bz2 or .csv.zst), {', '.join(SPREADSHEET_SUFFIXES[:-1])} or .ods"
            )
        open_stream = _open_as_utf8(path)
        with open_stream() as file:
            is_json = file.read(CHECKED_BYTES).removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"[")
        if is_json:
            with open_stream() as file:
                columns, line_of = read_json_records(file.read(), suffixes[-1:] in ([".jsonl"], [".ndjson"]))
            where = _make_row_locator(title, lambda row: f"line {line_of[row]}" if line_of else None)
            return table_in_memory(columns, [*columns], title, where)
        return _open_csv(open_stream, title, is_tsv=".tsv" in suffixes)


def open_decompressed(path: Path) -> Any:
    """The bytes of a file, decompressed, or those of standard input."""
    if str(path) != STANDARD_INPUT:
        return import_pyarrow().input_stream(str(path), compression=COMPRESSION.get(path.suffix.lower()))
    stream = getattr(sys.stdin, "buffer", sys.stdin)
    if stream not in _standard_inputs:
        content = stream.read()
        _standard_inputs[stream] = content if isinstance(content, bytes) else content.encode()
    return io.BytesIO(_standard_inputs[stream])


def _open_parquet(path: Path, title: str, is_file: bool) -> TableSource:
    arrow = import_pyarrow()

    def open_file() -> Any:
        return arrow.parquet.ParquetFile(path if is_file else open_decompressed(path))

    def first_values(columns: Sequence[str]) -> Mapping[str, Any]:
        with open_file() as file:
            batches = islice(file.iter_batches(FEW_ROWS, columns=list(columns)), 1)
            return {name: batch[name] for batch in batches for name in columns}

    with open_file() as file:
        names = file.schema_arrow.names
    return TableSource(
        title,
        names,
        lambda columns, text, numbers: open_file().read(columns=list(columns)),
        lambda row: title + row_label(row),
        first_values=first_values,
    )


def _open_csv(
    open_stream: Callable[[], Any], title: str, is_tsv: bool = False, line_of: Callable[[int], str | None] | None = None
) -> TableSource:
    """The table in text with delimiters; `line_of` finds a row in another source than this text."""
    names, delimiter = _read_csv_header_and_delimiter(open_stream, is_tsv)
    first_row = dict(zip(names, _read_first_data_row(open_stream, delimiter), strict=False))
    return TableSource(
        title,
        names,
        partial(read_csv, open_stream, delimiter=delimiter, first_row=first_row),
        _make_row_locator(title, line_of or make_csv_row_to_line(open_stream, delimiter)),
        first_values=lambda columns: {name: [first_row[name]] for name in columns if name in first_row},
    )


def _make_row_locator(title: str, line_of: Callable[[int], str | None]) -> Callable[[int], str]:
    """A function from a row to its place for errors, also that in the source if it is known."""

    def where(row: int) -> str:
        line = line_of(row)
        return f"{title}row {row} (counting from 0{'' if line is None else f', {line}'})"

    return where


def _open_as_utf8(path: Path) -> Callable[[], Any]:
    """What opens the bytes of a text in UTF-8. UTF-16 that says so, and Windows-1252, are decoded in memory."""
    with open_decompressed(path) as file:
        start = file.read(CHECKED_BYTES)
        encoding = _infer_encoding(start)
        if encoding is None:
            return lambda: open_decompressed(path)
        content = (start + file.read()).decode(encoding, errors="replace").encode()
    return lambda: io.BytesIO(content)


def _infer_encoding(start: bytes) -> str | None:
    """How a text that begins so is encoded; None for UTF-8, also for what is damaged, as some of it is beyond ASCII."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    with suppress(UnicodeDecodeError):
        codecs.getincrementaldecoder("utf-8")().decode(start)
        return None
    return "cp1252" if start.decode("utf-8", errors="ignore").isascii() else None


def _open_spreadsheet(path: Path, title: str) -> TableSource:
    """The first sheet of a spreadsheet that is not empty, as if it had been saved as CSV."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise ImportError('spreadsheets need python-calamine: pip install "jaxrate[data]"') from error
    try:
        book = CalamineWorkbook.from_object(open_decompressed(path))
        sheets = {name: book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in book.sheet_names}
    except CalamineError as error:
        raise ValueError(f"no spreadsheet that can be read: {error}") from None
    texts = {name: [[_cell_text(x) for x in row] for row in rows] for name, rows in sheets.items()}
    filled = {name: rows for name, rows in texts.items() if any(map(any, rows))}
    if not filled:
        raise ValueError("the file is empty")
    name, rows = next(iter(filled.items()))
    numbered = [(number, row) for number, row in enumerate(rows, 1) if any(row)]
    head = next((i for i, (_, row) in enumerate(numbered) if sum(map(bool, row)) > 1), 0)  # below titles of one cell
    columns = [i for i, text in enumerate(numbered[head][1]) if text]
    out = io.StringIO(newline="")
    csv.writer(out).writerows([row[i] for i in columns] for _, row in numbered[head:])
    content, lines = out.getvalue().encode(), [number for number, _ in numbered[head + 1 :]]
    source = _open_csv(lambda: io.BytesIO(content), title, line_of=lambda row: f"row {lines[row]} of the sheet")
    return (
        source._replace(note=f"sheet {name!r}, the first of {len(filled)}, for the table")
        if filled.keys() - {name}
        else source
    )


def _cell_text(value: Any) -> str:
    """The value of a cell as it would be in CSV."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return str(value.date())
    return str(value).strip()


def _open_text(open_stream: Callable[[], Any]) -> io.TextIOWrapper:
    return io.TextIOWrapper(open_stream(), encoding="utf-8-sig", errors="replace", newline="")


def _read_csv_header_and_delimiter(open_stream: Callable[[], Any], is_tsv: bool) -> tuple[list[str], str]:
    """The names of the columns of a CSV file, and its delimiter."""

    def read_header(mark: str) -> list[str]:
        with _open_text(open_stream) as file:
            reader = csv.reader(file, delimiter=mark)
            header = next(filter(None, reader), None)
            if header is None:
                raise ValueError("the file is empty")
            if any("\ufffd" in name or "\0" in name for name in header):
                raise ValueError(f"line {reader.line_num}: {NOT_UTF8}")
            return header

    names = read_header(",")
    others = ["\t"] if is_tsv else [mark for mark in DELIMITERS if len(names) == 1 and mark in names[0]]
    return (read_header(others[0]), others[0]) if others else (names, ",")


def _read_first_data_row(open_stream: Callable[[], Any], delimiter: str) -> list[str]:
    """The fields of the row below the header; none if it cannot be read."""
    with suppress(*READ_ERRORS), _open_text(open_stream) as file:
        return next(islice(filter(None, csv.reader(file, delimiter=delimiter)), 1, None), [])
    return []


def make_csv_row_to_line(open_stream: Callable[[], Any], delimiter: str = ",") -> Callable[[int], str | None]:
    """A function from a row of CSV to the line on which it ends, as "line 1" for the first; None if it is not known.

    Rows in increasing order take one pass.
    """

    def line_numbers() -> Iterator[int]:
        with _open_text(open_stream) as file:
            reader = csv.reader(file, delimiter=delimiter)
            yield from islice((reader.line_num for record in reader if record), 1, None)

    remaining, next_row = line_numbers(), 0

    def find_line(row: int) -> str | None:
        nonlocal remaining, next_row
        if row < next_row:
            remaining, next_row = line_numbers(), 0
        skip, next_row = row - next_row, row + 1
        with suppress(*READ_ERRORS):
            line = next(islice(remaining, skip, None), None)
            return None if line is None else f"line {line}"
        return None

    return find_line
