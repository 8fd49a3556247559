"""Tables in files and in memory, opened: Parquet, CSV, JSON, spreadsheets, standard input."""

import codecs
import datetime
import io
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from jaxrate.data.column_spellings import POINT_TEMPLATES, normalise_column_name
from jaxrate.data.parquet_table import find_parquet_table, parquet_source
from jaxrate.data.table_sources import (
    NOT_UTF8,
    READ_ERRORS,
    TableSource,
    add_location_to_data_errors,
    import_pyarrow,
    iterate_csv,
    numeric_text_to_numbers,
    read_csv,
    row_label,
    shorten_to_one_line,
)

EVENT_LISTS = "matches", "games", "fixtures", "results", "events", "battles", "votes"  # names of lists of records
FEW_ROWS = 4  # rows whose values tell what a column may hold
POINT_NAMES = frozenset(template.format("1") for template in POINT_TEMPLATES)


def table_in_memory(
    columns: Any, names: list[str], title: str = "", where: Callable[[int], str] = row_label
) -> TableSource:
    """Columns by name as a `TableSource`."""

    def first_values(wanted: Sequence[str]) -> dict[str, Any]:
        values = {}
        for name in wanted:
            with suppress(TypeError, ValueError, LookupError):  # of columns that cannot be sliced
                values[name] = columns[name][:FEW_ROWS]
        return values

    return TableSource(title, names, lambda names, text=(): columns, where, first_values=first_values)


def read_json_records(content: bytes, is_json_lines: bool) -> tuple[dict[str, list[Any]], list[int]]:
    """The columns of JSON, and the lines of the records if each has one.

    Raises:
      ValueError: says what is no JSON, or which table is meant.
    """
    text, lines = content.decode("utf-8-sig", errors="replace"), list[int]()
    try:
        document = None if is_json_lines else json.loads(text)
    except json.JSONDecodeError as error:
        if not error.msg.startswith("Extra data"):
            raise ValueError(f"line {error.lineno}: not JSON, {error.msg}") from None
        is_json_lines = True
    if is_json_lines:
        lines = [number for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        document = [_read_json_line(number, text.splitlines()[number - 1]) for number in lines]
    columns = columns_of_document(document)
    if columns is None:
        raise ValueError("no list of objects, one for each row, and no lists of equal length, one for each column")
    return columns, lines


def _read_json_line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {number}: not JSON, {error.msg}") from None


def columns_of_document(document: Any) -> dict[str, list[Any]] | None:
    """The columns of a list of records, of the one list of records in an object, or of columns by name; else None.

    Raises:
      ValueError: if several lists could be meant.
    """
    if is_list_of_records(document):
        return records_to_columns(_records_of_inner_lists(document))
    if not isinstance(document, Mapping):
        return None
    shapes = (
        _columns_of_only_list,
        _columns_by_name,
        _columns_by_name_and_row,
        _columns_of_only_table,
        _columns_of_records_by_id,
    )
    return next((columns for shape in shapes if (columns := shape(document)) is not None), None)


def _columns_of_only_list(document: Mapping[Any, Any]) -> dict[str, list[Any]] | None:
    """The columns of the one list of records in an object, or of the one that is called as events are."""
    lists = {name: value for name, value in document.items() if value and is_list_of_records(value)}
    events = {name: value for name, value in lists.items() if name.lower() in EVENT_LISTS}
    chosen = events if events and len(lists) > 1 else lists
    if len(chosen) > 1:
        raise ValueError(f"the table could be {' or '.join(map(repr, chosen))}; give a file with one of them")
    return next(map(columns_of_document, chosen.values()), None)


def _columns_by_name(document: Mapping[Any, Any]) -> dict[str, list[Any]] | None:
    """Lists of equal length."""
    if not all(isinstance(value, list) for value in document.values()) or len({*map(len, document.values())}) != 1:
        return None
    return {str(name): value for name, value in document.items()}


def _columns_by_name_and_row(document: Mapping[Any, Any]) -> dict[str, list[Any]] | None:
    """Objects of the same numbers of rows, as pandas writes columns."""
    rows = {tuple(value) for value in _inner_objects(document)}
    if len(rows) != 1 or not all(map(str.isdecimal, *rows)):
        return None
    return {str(name): list(value.values()) for name, value in document.items()}


def _columns_of_only_table(document: Mapping[Any, Any]) -> dict[str, list[Any]] | None:
    """The table in an object, if it has only one."""
    inner = (value for value in document.values() if isinstance(value, Mapping))
    tables = [columns for columns in map(columns_of_document, inner) if columns is not None]
    return tables[0] if len(tables) == 1 else None


def _columns_of_records_by_id(document: Mapping[Any, Any]) -> dict[str, list[Any]] | None:
    return records_to_columns(_inner_objects(document)) if _inner_objects(document) else None


def _inner_objects(document: Mapping[Any, Any]) -> list[Any]:
    """The values of an object that are several objects and nothing else; else none."""
    inner = [value for value in document.values() if isinstance(value, Mapping)]
    return inner if len(inner) == len(document) > 1 else []


def is_list_of_records(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(record, Mapping) for record in value)


def _records_of_inner_lists(records: Sequence[Mapping[Any, Any]]) -> Sequence[Mapping[Any, Any]]:
    """The records of matches in records of rounds, each with the values of its round; others as they are."""
    for name in EVENT_LISTS:
        if records and all(is_list_of_records(record.get(name)) for record in records):
            return [
                {key: value for key, value in record.items() if key != name} | dict(inner)
                for record in records
                for inner in record[name]
            ]
    return records


def records_to_columns(records: Sequence[Any]) -> dict[str, list[Any]]:
    """Columns of records; None where one lacks a value. Nested objects become columns as "team.name".

    Two points in a list become the columns "score.1" and "score.2".
    """
    for i, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise ValueError(f"{row_label(i)}: not a dict, as the first row is, but a {type(record).__name__}")
    names = dict.fromkeys(name for record in records for name in record)
    columns: dict[str, list[Any]] = {}
    for name in names:
        columns |= _expand_column(name, [record.get(name) for record in records])
    return columns


def _expand_column(name: Any, values: list[Any]) -> dict[Any, list[Any]]:
    """The columns of values that may be nested."""
    nested = [value if isinstance(value, Mapping) else {} for value in values]
    if not any(nested):
        return _expand_points(name, values)
    plain = [None if isinstance(value, Mapping) else value for value in values]
    columns = {} if {*map(id, plain)} == {id(None)} else {name: plain}
    for key in dict.fromkeys(chain(*nested)):
        columns |= _expand_column(f"{name}.{key}", [value.get(key) for value in nested])
    return columns


def _expand_points(name: Any, values: list[Any]) -> dict[Any, list[Any]]:
    """Two columns of lists of both sides' points, and others as they are."""
    pairs = [value or (None, None) if isinstance(value, list) else (None, None) for value in values]
    has_lists = any(isinstance(value, list) for value in values)
    if has_lists and {*map(len, pairs)} == {2} and normalise_column_name(f"{name}1") in POINT_NAMES:
        return {f"{name}.{side + 1}": [pair[side] for pair in pairs] for side in range(2)}
    return {name: values}


STANDARD_INPUT = "-"
COMPRESSION = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
SPREADSHEET_SUFFIXES = ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"
TEXT_SUFFIXES = ".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson"
SPREADSHEET_MARKS = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"  # how their bytes begin
DELIMITERS = ";", "\t", "|"  # sought in a header without commas
CHECKED_BYTES = 1 << 24  # at the beginning of a text, from which its encoding is inferred

_standard_inputs: WeakKeyDictionary[Any, bytes] = WeakKeyDictionary()  # what was read from them


def open_table_file(path: Path) -> TableSource:
    """The table in a file; that of the path "-" is read from standard input, and kept to be opened again.

    Raises:
      ValueError: names the file, and what is wrong with it.
    """
    is_file = str(path) != STANDARD_INPUT
    title = f"{path.name}: " if is_file else "standard input: "
    with add_location_to_data_errors(title, lambda row: title + row_label(row)):
        return OPENERS_BY_KIND[_file_kind(path, is_file)](path, title)


def _file_kind(path: Path, is_file: bool) -> str:
    """What is in a file, by the end of its name, or in standard input, by its first bytes; ValueError for others."""
    if not is_file:
        mark = open_decompressed(path).read(4)
        return "Parquet" if mark == b"PAR1" else "spreadsheet" if mark in SPREADSHEET_MARKS else "text"
    if path.is_dir():
        raise ValueError("a directory, not a file")
    if not path.exists():
        raise ValueError("no such file")
    suffix = path.suffix.lower()
    if suffix in SPREADSHEET_SUFFIXES or suffix == ".parquet":
        return "Parquet" if suffix == ".parquet" else "spreadsheet"
    if _text_suffix(path) not in TEXT_SUFFIXES:
        raise ValueError(
            f"cannot read this kind of file; the name must end in .parquet, {', '.join(TEXT_SUFFIXES)} (these also "
            f"compressed, as .csv.gz, .csv.bz2 or .csv.zst), {', '.join(SPREADSHEET_SUFFIXES[:-1])} or .ods"
        )
    return "text"


def _text_suffix(path: Path) -> str:
    """The end of the name of a text, without that of its compression."""
    suffix = path.suffix.lower()
    return path.with_suffix("").suffix.lower() if suffix in COMPRESSION else suffix


def _open_text_file(path: Path, title: str) -> TableSource:
    """The table in CSV or, as the first character tells, in JSON."""
    open_stream, suffix = _open_as_utf8(path), _text_suffix(path)
    with open_stream() as file:
        is_json = file.read(CHECKED_BYTES).removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"[")
    if not is_json:
        return _open_csv(open_stream, title, is_tsv=suffix == ".tsv")
    with open_stream() as file:
        columns, line_of = read_json_records(file.read(), suffix in (".jsonl", ".ndjson"))
    where = _make_row_locator(title, lambda row: f"line {line_of[row]}" if line_of else None)
    return table_in_memory(columns, [*columns], title, where)


def open_decompressed(path: Path) -> Any:
    """The bytes of a file, decompressed, or those of standard input."""
    if str(path) != STANDARD_INPUT:
        return import_pyarrow().input_stream(str(path), compression=COMPRESSION.get(path.suffix.lower()))
    stream = getattr(sys.stdin, "buffer", sys.stdin)
    if stream not in _standard_inputs:
        content = stream.read()
        _standard_inputs[stream] = content if isinstance(content, bytes) else content.encode()
    return io.BytesIO(_standard_inputs[stream])


def _open_parquet(path: Path, title: str) -> TableSource:
    arrow = import_pyarrow()

    def open_file() -> Any:
        return arrow.parquet.ParquetFile(open_decompressed(path) if str(path) == STANDARD_INPUT else path)

    def first_values(columns: Sequence[str]) -> Mapping[str, Any]:
        with open_file() as file:
            batches = islice(file.iter_batches(FEW_ROWS, columns=list(columns)), 1)
            return {name: batch[name] for batch in batches for name in columns}

    with open_file() as file:
        names = file.schema_arrow.names
    return TableSource(
        title,
        names,
        lambda columns, text=(): open_file().read(columns=list(columns)),
        lambda row: title + row_label(row),
        first_values=first_values,
    )


def _open_csv(open_stream: Callable[[], Any], title: str, is_tsv: bool) -> TableSource:
    """The table in text with delimiters."""
    names, delimiter = _read_csv_header_and_delimiter(open_stream, is_tsv)
    first_row = dict(zip(names, _read_first_data_row(open_stream, delimiter), strict=False))
    return TableSource(
        title,
        names,
        partial(read_csv, open_stream, delimiter=delimiter),
        _make_row_locator(title, make_csv_row_to_line(open_stream, delimiter)),
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
    """The first sheet of a spreadsheet that is not empty, below titles of one cell; its cells are text as in CSV."""
    sheets = _read_sheets(path)
    if not sheets:
        raise ValueError("the file is empty")
    name, rows = next(iter(sheets.items()))
    widths = [sum(map(bool, row)) for row in rows.values()]
    head = next((i for i, width in enumerate(widths) if width > 1), 0)
    (_, header), *records = [*rows.items()][head:]
    filled = [i for i, text in enumerate(header) if text]
    columns = {header[i]: [row[i] or None for _, row in records] for i in filled}
    where = _make_row_locator(title, lambda row: f"row {records[row][0]} of the sheet")
    note = f"sheet {name!r}, the first of {len(sheets)}, for the table" if len(sheets) > 1 else ""
    return table_in_memory(columns, [header[i] for i in filled], title, where)._replace(note=note)


def _read_sheets(path: Path) -> dict[str, dict[int, list[str]]]:
    """The texts of the rows of a spreadsheet that are not empty, by their number, of the sheets that have some."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise ImportError('spreadsheets need python-calamine: pip install "jaxrate[data]"') from error
    try:
        book = CalamineWorkbook.from_object(open_decompressed(path))
        cells = {name: book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in book.sheet_names}
    except CalamineError as error:
        raise ValueError(f"no spreadsheet that can be read: {error}") from None
    sheets = {name: enumerate([[*map(_cell_text, row)] for row in rows], 1) for name, rows in cells.items()}
    filled = {name: {number: row for number, row in rows if any(row)} for name, rows in sheets.items()}
    return {name: rows for name, rows in filled.items() if rows}


def _cell_text(value: Any) -> str:
    """The value of a cell as it would be in CSV."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return str(value.date())
    return str(value).strip()


OPENERS_BY_KIND = {"Parquet": _open_parquet, "spreadsheet": _open_spreadsheet, "text": _open_text_file}


def _read_csv_header_and_delimiter(open_stream: Callable[[], Any], is_tsv: bool) -> tuple[list[str], str]:
    """The names of the columns of a CSV file, and its delimiter."""

    def read_header(mark: str) -> list[str]:
        line, header = next(iterate_csv(open_stream, mark), (0, None))
        if header is None:
            raise ValueError("the file is empty")
        if any("\ufffd" in name or "\0" in name for name in header):
            raise ValueError(f"line {line}: {NOT_UTF8}")
        return header

    names = read_header(",")
    others = ["\t"] if is_tsv else [mark for mark in DELIMITERS if len(names) == 1 and mark in names[0]]
    return (read_header(others[0]), others[0]) if others else (names, ",")


def _read_first_data_row(open_stream: Callable[[], Any], delimiter: str) -> list[str]:
    """The fields of the row below the header; none if it cannot be read."""
    with suppress(*READ_ERRORS):
        return next(islice(iterate_csv(open_stream, delimiter), 1, None), (0, []))[1]
    return []


def make_csv_row_to_line(open_stream: Callable[[], Any], delimiter: str = ",") -> Callable[[int], str | None]:
    """A function from a row of CSV to the line on which it ends, as "line 1" for the first; None if it is not known.

    Rows in increasing order take one pass.
    """
    records, next_row = iterate_csv(open_stream, delimiter), -1  # that of the header

    def find_line(row: int) -> str | None:
        nonlocal records, next_row
        if row < next_row:
            records, next_row = iterate_csv(open_stream, delimiter), -1
        skip, next_row = row - next_row, row + 1
        with suppress(*READ_ERRORS):
            line = next((line for line, _ in islice(records, skip, None)), None)
            return None if line is None else f"line {line}"
        return None

    return find_line


def open_table_source(source: Any) -> TableSource:
    """A path, a table in memory or the result of a query as a `TableSource`; one stays as it is."""
    if isinstance(source, TableSource):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _open_path(Path(source))
    if isinstance(source, (list, tuple)) and all(isinstance(row, Mapping) for row in source[:1]):
        columns = columns_of_document(source) if is_list_of_records(source) else records_to_columns(source)
        return table_in_memory(columns, list(columns or {}))
    for methods, open_table in OPENERS_BY_METHODS.items():
        if all(hasattr(source, name) for name in methods) and not isinstance(source, type):
            return open_table(source)
    kinds = "a path, a table, the result of a query, a dict of columns or a list of dicts"
    raise ValueError(f"cannot read a {type(source).__name__}; give {kinds}")


def _open_path(path: Path) -> TableSource:
    if path.is_dir() and any(path.glob("*.parquet")):
        return parquet_source(find_parquet_table(path))
    return _open_csv_folder(path) if csv_files(path) else open_table_file(path)


def _open_columns(source: Any) -> TableSource:
    """A dict of columns, or what has columns as a dict has: a frame of pandas. Of others, the table in the dict."""
    if isinstance(source, Mapping) and any(isinstance(x, Mapping) or is_list_of_records(x) for x in source.values()):
        source = columns_of_document(source) or source
    return table_in_memory(source, list(source.keys()))


def _open_lazy_frame(frame: Any) -> TableSource:
    names = frame.collect_schema().names()
    return TableSource("", names, lambda names, text=(): _to_arrow_table(frame.select(names).collect()), row_label)


def _open_relation(relation: Any) -> TableSource:
    def load(names: Sequence[str], text: Sequence[str] = ()) -> Any:
        quoted = ('"' + name.replace('"', '""') + '"' for name in names)
        return _to_arrow_table(relation.project(", ".join(quoted)))

    return TableSource("", list(relation.columns), load, row_label)


def _open_arrow(source: Any) -> TableSource:
    table = _to_arrow_table(source)
    return table_in_memory(table, table.column_names)


def _open_query_result(result: Any) -> TableSource:
    """The rows that a query of a database has left: of SQLAlchemy, or of a cursor of Python's DB API (PEP 249)."""
    if not hasattr(result, "keys") and result.description is None:
        raise ValueError("the cursor has no rows to read; execute a SELECT first")
    names = [*result.keys()] if hasattr(result, "keys") else [column[0] for column in result.description]
    rows = result.fetchall()
    return table_in_memory({name: [row[i] for row in rows] for i, name in enumerate(names)}, names)


OPENERS_BY_METHODS: dict[tuple[str, ...], Callable[[Any], TableSource]] = {  # what tables of other packages have
    ("keys", "__getitem__"): _open_columns,
    ("collect_schema", "collect"): _open_lazy_frame,
    ("project", "columns"): _open_relation,
    ("__arrow_c_stream__",): _open_arrow,
    ("to_arrow_table",): lambda result: _open_arrow(result.to_arrow_table()),
    ("arrow",): lambda result: _open_arrow(result.arrow()),
    ("fetchall", "keys"): _open_query_result,
    ("fetchall", "description"): _open_query_result,
}


def csv_files(folder: Path) -> list[Path]:
    """The files of CSV in a folder, in the order of their names; none if it is no folder, or of Parquet."""
    files = sorted(folder.glob("[!._]*")) if folder.is_dir() and not any(folder.glob("*.parquet")) else []
    return [file for file in files if re.search(r"\.[ct]sv(\.gz|\.bz2|\.zst)?$", file.name.lower())]


def _open_csv_folder(folder: Path) -> TableSource:
    """The files of CSV in a folder as one table; ValueError if their columns differ."""
    files = csv_files(folder)
    sources = [open_table_file(file) for file in files]
    for file, source in zip(files, sources, strict=True):
        if source.names != sources[0].names:
            raise ValueError(f"{folder}: {file.name} has other columns than {files[0].name}; write all files alike")
    row_counts: list[int] = []

    def load(names: Sequence[str], text: Sequence[str] = ()) -> Any:
        tables = [source.load(names, names) for source in sources]
        row_counts[:] = [len(table) for table in tables]
        return numeric_text_to_numbers(import_pyarrow().concat_tables(tables), text)

    def where(row: int) -> str:
        file = 0
        while file < len(row_counts) - 1 and row >= row_counts[file]:
            row, file = row - row_counts[file], file + 1
        return sources[file].where(row)

    return sources[0]._replace(title=f"{folder}: ", load=load, where=where)


def _to_arrow_table(source: Any) -> Any:
    try:
        return import_pyarrow().table(source)
    except import_pyarrow().ArrowException as error:
        raise ValueError(f"Arrow cannot read the columns of this table: {shorten_to_one_line(str(error))}") from None
