"""Tables in files and in memory, opened: Parquet, CSV, JSON, spreadsheets, standard input, and folders of them."""

import codecs
import csv
import datetime
import io
import json
import os
import re
import sys
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from glob import glob
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from jaxrate.core.argument_checks import check_that
from jaxrate.core.memory_checks import check_memory_fits
from jaxrate.core.optional_imports import import_optional
from jaxrate.core.text_format import did_you_mean_suffix, join_names
from jaxrate.data.column_role_definitions import is_pgn_file
from jaxrate.data.column_spellings import POINT_TEMPLATES, normalise_column_name
from jaxrate.data.table_sources import (
    FEW_ROWS,
    NOT_UTF8,
    READ_ERRORS,
    TableSource,
    add_location_to_data_errors,
    check_columns_exist_and_unique,
    import_pyarrow,
    iterate_csv,
    iterate_csv_batches,
    name_repeated_columns,
    row_label,
    shorten_to_one_line,
    source_of_batches,
)

STANDARD_INPUT = "-"
SEPARATOR_LINE = re.compile(rb"\A(\xef\xbb\xbf)?sep=.(?=\r?\n)")  # above the header, for Excel
COMPRESSION = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".zip": "zip"}
DELIMITERS = ",;\t|"  # the others are sought in a header without commas
CHECKED_BYTES = 1 << 24  # at the beginning of a text, from which its encoding is inferred
BATCH_ROWS = 1 << 16  # rows of Parquet that are decoded at a time
BYTES_PER_ROW = 100.0  # that a row takes in memory until it is rated, about
EVENT_LISTS = "matches", "games", "fixtures", "results", "events", "battles", "votes"  # names of lists of records
# of lists of what both sides have
NAMES_OF_PAIRS = frozenset(template.format("1") for template in POINT_TEMPLATES) | {"teams1", "players1", "models1"}
# in folders: beside archives the truth of `simulate`, which stands beside its histories
HIDDEN_FILES = re.compile(r"[._].*|.*\.truth\.parquet|.*\.zip", re.IGNORECASE)

_standard_inputs: WeakKeyDictionary[Any, bytes] = WeakKeyDictionary()  # what was read from them


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

    def batches(wanted: Sequence[str]) -> Iterator[Any]:
        yield from import_pyarrow().table({name: columns[name] for name in wanted}).to_batches()

    return TableSource(title, names, lambda names, text=(): columns, where, first_values=first_values, batches=batches)


def open_table_file(path: Path) -> TableSource:
    """The table in a file; that of the path "-" is read from standard input, and kept to be opened again."""
    title = "standard input: " if str(path) == STANDARD_INPUT else f"{path.name}: "
    with add_location_to_data_errors(title, lambda row: title + row_label(row)):
        return _find_table_opener(path)(path, title)


def _find_table_opener(path: Path) -> Callable[[Path, str], TableSource]:
    """The opener of a file, by the end of its name, or standard input, by its first bytes; ValueError for others."""
    if str(path) == STANDARD_INPUT:
        return OPENERS_BY_MARK.get(open_decompressed(path).read(4), _open_csv_or_json_file)
    if not path.is_file():
        raise ValueError("a directory, not a file" if path.is_dir() else "no such file")
    opener = OPENERS_BY_SUFFIX.get(_suffix_before_compression(path))
    if opener is None or (opener != _open_csv_or_json_file and path.suffix.lower() in COMPRESSION):
        *others, last = OPENERS_BY_SUFFIX
        check_that(path.suffix.lower() != ".pgn", "these are games in PGN, which jr.data.formats.pgn reads")
        raise ValueError(
            "cannot read this kind of file; the name must end (texts may be compressed, as .csv.gz, .csv.bz2, "
            f".csv.zst or alone in a .zip) in {', '.join(others)} or {last}"
        )
    return opener


def _suffix_before_compression(path: Path) -> str:
    """The end of the name of a file, without that of its compression, in lower case."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        return Path(_find_zipped_file(path)).suffix.lower()
    return path.with_suffix("").suffix.lower() if suffix in COMPRESSION else suffix


def _find_zipped_file(path: Path) -> str:
    """The name of the one file in an archive; ValueError if there are others."""
    with suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX")]
        if len(names) == 1:
            return names[0]
        raise ValueError(f"there are {join_names(names) or 'no files'} in the archive; unpack it, and name one")
    raise ValueError("no zip archive that can be read")


def _open_csv_or_json_file(path: Path, title: str) -> TableSource:
    """The table in CSV or, as the first character tells, in JSON."""
    open_stream, suffix = _open_as_utf8(path), _suffix_before_compression(path)
    with open_stream() as file:
        is_json = file.read(CHECKED_BYTES).removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"[")
    if not is_json:
        return open_csv(open_stream, title, is_tsv=suffix == ".tsv")
    with open_stream() as file:
        columns, line_of = read_json_records(file.read(), suffix in (".jsonl", ".ndjson"))
    where = _make_row_locator(title, lambda row: f"line {line_of[row]}" if line_of else None)
    return table_in_memory(columns, [*columns], title, where)


def open_decompressed(path: Path) -> Any:
    """The bytes of a file, decompressed, or those of standard input."""
    if path.suffix.lower() == ".zip":
        return io.BytesIO(zipfile.ZipFile(path).read(_find_zipped_file(path)))
    if str(path) != STANDARD_INPUT:
        return import_pyarrow().input_stream(str(path), compression=COMPRESSION.get(path.suffix.lower()))
    stream = getattr(sys.stdin, "buffer", sys.stdin)
    if stream not in _standard_inputs:
        content = stream.read()
        _standard_inputs[stream] = content if isinstance(content, bytes) else content.encode()
    return io.BytesIO(_standard_inputs[stream])


def _open_parquet(path: Path, title: str) -> TableSource:
    def open_file() -> Any:  # whose row groups would all be held if they were read ahead
        content = open_decompressed(path) if str(path) == STANDARD_INPUT else path
        return import_pyarrow().parquet.ParquetFile(content, pre_buffer=False)

    def batches(names: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Any]:
        with open_file() as file:
            for batch in file.iter_batches(size, columns=list(names)):
                yield batch.select(list(names))

    with open_file() as file:
        schema, count = file.schema_arrow.remove_metadata(), file.metadata.num_rows
    source = source_of_batches(title, schema.names, batches, lambda row: title + row_label(row))
    return source._replace(types={field.name: field.type for field in schema}, num_rows=count)


def open_csv(open_stream: Callable[[], Any], title: str, is_tsv: bool) -> TableSource:
    """The table in text with delimiters: commas, or tabs of a TSV."""
    open_stream = _blank_repeated_headers(open_stream)
    header, delimiter = _read_csv_header_and_delimiter(open_stream, is_tsv)
    names = name_repeated_columns(header)
    renamed = None if names == header else names
    batches = partial(iterate_csv_batches, open_stream, delimiter=delimiter, header=renamed)
    where = _make_row_locator(title, make_csv_row_to_line(open_stream, delimiter))
    return source_of_batches(title, names, batches, where, is_text=True)


def _blank_repeated_headers(open_stream: Callable[[], Any]) -> Callable[[], Any]:
    """A function that opens a text in which lines that repeat the first, as those of long web pages do, are empty."""
    with open_stream() as file:
        start = file.read(CHECKED_BYTES)
        header = start.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n").partition(b"\n")[0].rstrip(b"\r")
        if not header or b"\n" + header not in start:
            return open_stream
        before, _, rows = (start + file.read()).partition(header)
    content = before + header + re.sub(rb"(?m)(?<=\n)" + re.escape(header) + rb"\r?$", b"", rows)
    return lambda: io.BytesIO(content)


def _make_row_locator(title: str, line_of: Callable[[int], str | None]) -> Callable[[int], str]:
    """A function from a row to its place for errors, also that in the source if it is known."""

    def where(row: int) -> str:
        line = line_of(row)
        return f"{title}row {row} (counting from 0{'' if line is None else f', {line}'})"

    return where


def _open_as_utf8(path: Path) -> Callable[[], Any]:
    """A function that opens a text as UTF-8. UTF-16 that says so, and Windows-1252, are decoded in memory."""
    with open_decompressed(path) as file:
        start = file.read(CHECKED_BYTES)
        encoding, separator_line = _infer_encoding(start), SEPARATOR_LINE.match(start)
        if encoding is None and separator_line is None:
            return lambda: open_decompressed(path)
        content = (start + file.read()).decode(encoding or "utf-8", errors="replace").encode()
    content = SEPARATOR_LINE.sub(b"", content)
    return lambda: io.BytesIO(content)


def _infer_encoding(start: bytes) -> str | None:
    """How a text that begins so is encoded; None for UTF-8, also for what is damaged, as some of it is beyond ASCII."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    with suppress(UnicodeDecodeError):
        codecs.getincrementaldecoder("utf-8")().decode(start)
        return None
    return "cp1252" if start.decode("utf-8", errors="ignore").isascii() else None


def _open_spreadsheet(path: Path, title: str, sheet: str = "") -> TableSource:
    """A sheet, or the first that is not empty, of a spreadsheet; ValueError for a name that no sheet has."""
    sheets = _read_sheets(path)
    check_that(sheets, "the file is empty")
    name = sheet or next(iter(sheets))
    if name not in sheets:
        raise ValueError(f"no sheet {name!r}{did_you_mean_suffix(name, sheets)} (there are: {', '.join(sheets)})")
    table = _open_rows_of_sheet(sheets.pop(name), title)
    if sheet or not sheets:
        return table
    others = f"{join_names(map(repr, sheets))} (which {path.name}#{next(iter(sheets))} names)"
    return table._replace(note=f"sheet {name!r} for the table, and not {others}")


def _open_rows_of_sheet(rows: list[list[str]], title: str) -> TableSource:
    """The rows of a sheet as the CSV that stands below titles of one cell."""
    head, text = next((i for i, row in enumerate(rows) if sum(map(bool, row)) > 1), 0), io.StringIO(newline="")
    below = {number: row for number, row in enumerate(rows[head + 1 :], head + 2) if any(row) and row != rows[head]}
    filled = {head + 1: rows[head], **below}
    csv.writer(text).writerows(filled.values())
    content, (_, *numbers) = text.getvalue().encode(), filled  # cells may have several lines
    where = _make_row_locator(title, lambda row: f"row {numbers[row]} of the sheet")
    return open_csv(lambda: io.BytesIO(content), title, is_tsv=False)._replace(where=where)


def _read_sheets(path: Path) -> dict[str, list[list[str]]]:
    """The rows of a spreadsheet by the sheet, of those that are not empty, with the texts of their cells."""
    calamine, sheets = import_optional("python_calamine"), {}
    try:
        book = calamine.CalamineWorkbook.from_object(open_decompressed(path))
        for name in book.sheet_names:
            rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
            sheets[name] = [[*map(_cell_text, row)] for row in rows]
    except calamine.CalamineError as error:
        raise ValueError(f"no spreadsheet that can be read: {error}") from None
    return {name: rows for name, rows in sheets.items() if any(map(any, rows))}


def _cell_text(value: Any) -> str:
    """The value of a cell as it would be in CSV."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return str(value.date())
    return str(value).strip()


OPENERS_BY_SUFFIX = {
    ".parquet": _open_parquet,
    **dict.fromkeys((".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson"), _open_csv_or_json_file),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), _open_spreadsheet),
}


def has_readable_suffix(name: str) -> bool:
    """Whether a name ends as those of files that can be read, compressed or not, and with a sheet behind a #."""
    paths = Path(name), Path(name.partition("#")[0])
    return any(_suffix_before_compression(x) in OPENERS_BY_SUFFIX or is_pgn_file(x) for x in paths)


OPENERS_BY_MARK = {  # the first bytes
    b"PAR1": _open_parquet,
    b"PK\x03\x04": _open_spreadsheet,
    b"\xd0\xcf\x11\xe0": _open_spreadsheet,
}


def _read_csv_header_and_delimiter(open_stream: Callable[[], Any], is_tsv: bool) -> tuple[list[str], str]:
    """The columns of CSV, and the first delimiter by which there are several, at best as many as in the row below."""
    heads = [(*_read_csv_header(open_stream, mark), mark) for mark in ("\t" if is_tsv else DELIMITERS)]
    names, _, delimiter = max(heads, key=lambda head: (len(head[0]) > 1) + (len(head[0]) == head[1] > 1))
    return names, delimiter


def _read_csv_header(open_stream: Callable[[], Any], delimiter: str) -> tuple[list[str], int]:
    """The names of the columns of CSV with this delimiter, and the number of fields in the row below."""
    records = iterate_csv(open_stream, delimiter)
    line, header = next(records, (0, None))
    if header is None:
        raise ValueError("the file is empty")
    check_that(not re.search("[\ufffd\0]", "".join(header)), f"line {line}: {NOT_UTF8}")
    with suppress(*READ_ERRORS):
        return header, len(next(records, (0, []))[1])
    return header, 0


def make_csv_row_to_line(open_stream: Callable[[], Any], delimiter: str = ",") -> Callable[[int], str | None]:
    """From a row of CSV to the line on which it ends, the first 1; None if unknown; fast for increasing rows."""
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


# JSON: lists of records, nested ones too, and columns by name


def read_json_records(content: bytes, is_json_lines: bool) -> tuple[dict[str, list[Any]], list[int]]:
    """The columns of JSON, and the lines of the records if each has one."""
    text, lines = content.decode("utf-8-sig", errors="replace"), list[int]()
    document = [] if is_json_lines else _parse_json(text)
    if is_json_lines or document is None:
        texts = dict(enumerate(text.splitlines(), 1))
        lines = [number for number, line in texts.items() if line.strip()]
        document = [_parse_json(texts[number], number) for number in lines]
    columns = columns_of_document(document)
    if columns is None:
        raise ValueError("no list of objects, one for each row, and no lists of equal length, one for each column")
    return columns, lines


def _parse_json(text: str, line: int | None = None) -> Any:
    """What a text says, or the one line of this number; None if several documents follow each other in the text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if line is None and error.msg.startswith("Extra data"):
            return None
        raise ValueError(f"line {line or error.lineno}: not JSON, {error.msg}") from None
    except RecursionError:
        raise ValueError("its lists are nested too deeply for a table") from None


def columns_of_document(document: Any) -> dict[str, list[Any]] | None:
    """The columns of a list of records, of the one table in an object, or of columns by name; else None."""
    if is_list_of_records(document):
        return records_to_columns(_records_of_inner_lists(document))
    if isinstance(document, list):
        return _columns_of_rows({"columns": document[0], "data": document[1:]})
    shapes = _columns_of_rows, _columns_of_event_list, _columns_by_name, _columns_of_objects
    tables = (columns_of_shape(document) for columns_of_shape in shapes if isinstance(document, Mapping))
    return next((table for table in tables if table is not None), None)


def _columns_of_rows(document: Mapping[Any, Any]) -> dict[str, list[Any]] | None:
    """The columns of an object with their names and lists of the values of each row."""
    header, rows = document.get("columns", []), document.get("data", ())
    is_table = isinstance(rows, list) and _are_lists_of_one_length([header, *rows]) and {*map(type, header)} == {str}
    return {name: [row[i] for row in rows] for i, name in enumerate(header)} if is_table else None


def _are_lists_of_one_length(values: Collection[Any]) -> bool:
    """Whether all of these are lists, as long as each other."""
    return {*map(type, values)} == {list} and len({*map(len, values)}) == 1


def _columns_of_event_list(document: Mapping[Any, Any]) -> dict[str, list[Any]] | None:
    """The columns of the one list of records in an object, or of the one that is called as events are."""
    names = [name for name, value in document.items() if value and is_list_of_records(value)]
    chosen = [name for name in names if name.lower() in EVENT_LISTS] or names
    if len(chosen) > 1:
        raise ValueError(f"the table could be {' or '.join(map(repr, chosen))}; give a file with one of them")
    return columns_of_document(document[chosen[0]]) if chosen else None


def _columns_by_name(document: Mapping[Any, Any]) -> dict[str, list[Any]] | None:
    """The columns of an object that holds nothing but lists of one length."""
    return {str(name): x for name, x in document.items()} if _are_lists_of_one_length(document.values()) else None


def _columns_of_objects(document: Mapping[Any, Any]) -> dict[str, list[Any]] | None:
    """The columns of objects by the number of the row, as of pandas; the only table; or records by id."""
    inner = [value for value in document.values() if isinstance(value, Mapping)]
    holds_nothing_else = len(inner) == len(document) > 1
    if holds_nothing_else and len(rows := {*map(tuple, inner)}) == 1 and all(map(str.isdecimal, *rows)):
        return {str(name): list(value.values()) for name, value in document.items()}
    tables = [*filter(None, map(columns_of_document, inner))]
    if len(tables) == 1:
        return tables[0]
    return records_to_columns(inner) if holds_nothing_else else None


def is_list_of_records(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(record, Mapping) for record in value)


def _records_of_inner_lists(records: Sequence[Mapping[Any, Any]]) -> Sequence[Mapping[Any, Any]]:
    """The records of matches in records of rounds, each with the values of its round; others as they are."""
    name = next((x for x in EVENT_LISTS if _have_lists(records, x)), None)
    if name is None or _are_two_sided(records, name):
        return records
    merged = [{**record, **inner} for record in records for inner in record[name]]
    return [{key: value for key, value in record.items() if key != name} for record in merged]


def _have_lists(records: Sequence[Mapping[Any, Any]], name: str) -> bool:
    """Whether each of the records has a list of records of this name."""
    return bool(records) and all(is_list_of_records(record.get(name)) for record in records)


def _are_two_sided(records: Sequence[Mapping[Any, Any]], event_list: str) -> bool:
    """Whether records with a list of events are matches, as another list of each is of two sides, as "opponents"."""
    others = [x for x in records[0] if x != event_list and _have_lists(records, x)]
    return any({len(record[x]) for record in records} == {2} for x in others)


def records_to_columns(records: Sequence[Any]) -> dict[str, list[Any]]:
    """Columns of records; None where one lacks a value.

    Nested objects become columns as "team.name", and two objects, points, teams or players in a list "score.1" and
    "score.2".
    """
    for i, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise ValueError(f"{row_label(i)}: not a dict, as the first row is, but a {type(record).__name__}")
    flat = [dict(_flatten_values(record)) for record in records]
    columns = {name: [record.get(name) for record in flat] for name in dict.fromkeys(chain(*flat))}
    parents = {str(name)[: dot.start()] for name in columns for dot in re.finditer(r"\.", str(name))}  # of objects
    empty = {name for name in parents & columns.keys() if {*map(type, columns[name])} == {type(None)}}
    return {name: x for name, x in columns.items() if name not in empty}


def _flatten_values(record: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[Any, Any]]:
    """The names and values of a record, with those of objects within it, and of both sides in a list by number."""
    for key, value in record.items():
        name = f"{prefix}{key}" if prefix else key
        is_pair = isinstance(value, list) and len(value) in (0, 2)
        if is_pair and (is_list_of_records(value) or normalise_column_name(f"{name}1") in NAMES_OF_PAIRS):
            value = dict(enumerate(value, 1))
        if isinstance(value, Mapping):
            yield from _flatten_values(value, f"{name}.")
        else:
            yield name, value


# Tables in memory, and several files as one


def open_table_source(source: Any) -> TableSource:
    """A path, a table in memory or the result of a query as a `TableSource`; one stays as it is."""
    if isinstance(source, TableSource):
        return source
    if (open_table := find_table_opener(source)) is None:
        kinds = "a path, a table, the result of a query, a dict of columns or a list of dicts"
        raise ValueError(f"cannot read a {type(source).__name__}; give {kinds}")
    return open_table(source)


def find_table_opener(source: Any) -> Callable[[Any], TableSource] | None:
    """The opener of a path, of a list, or of a table of another package, by its methods; None if this is none."""
    if isinstance(source, (str, os.PathLike)):
        return _open_path
    if isinstance(source, (list, tuple)) and not hasattr(source, "_fields"):
        return join_files if is_list_of_paths(source) else _open_records if is_list_of_records(source[:1]) else None
    openers = OPENERS_BY_METHODS.items() if not isinstance(source, type) else ()
    return next((x for methods, x in openers if all(hasattr(source, name) for name in methods)), None)


def join_tables(
    title: str, paths: tuple[Path, ...], tables: tuple[TableSource, ...], max_rows: int = sys.maxsize
) -> TableSource:
    """The tables of some files as one, end to end, or its first rows."""
    names = tables[0].names

    def batches(wanted: Sequence[str]) -> Iterator[Any]:
        check_columns_exist_and_unique(names, wanted)
        left = max_rows
        for batch in chain(*(iterate_located_batches(table, wanted) for table in tables)):
            yield batch.slice(0, left)
            left -= len(batch)
            if left <= 0:
                return

    def where(row: int) -> str:
        for table in tables[:-1]:
            count = table.count_rows()
            if row < count:
                return table.where(row)
            row -= count
        return tables[-1].where(row)

    def load(*arguments: Sequence[str]) -> Any:
        count = min(sum(table.num_rows or 0 for table in tables), max_rows)
        hint = "; read the first of them, or rate them by chunks (`jr.rate` with chunk and out)"
        check_memory_fits(f"{count:,} rows in memory", BYTES_PER_ROW * count, hint=hint)
        return source.load(*arguments)

    source = source_of_batches(title, names, batches, where, tables[0].is_text)
    return source._replace(load=load, paths=paths, parts=tables)


def first_rows(table: TableSource, count: int | None) -> TableSource:
    """The first rows of a table; None: all of them."""
    return table if count is None else join_tables(table.title, table.paths, table.parts or (table,), count)


def iterate_located_batches(table: TableSource, names: Sequence[str]) -> Iterator[Any]:
    """Columns as Arrow batches of rows; errors about data name the file and the row."""
    with add_location_to_data_errors(table.title, table.where):
        yield from table.batches(names)


def join_files(source: Any) -> TableSource:
    """The files of a folder, of a pattern or of a list, which are one table; or a single one."""
    if isinstance(source, TableSource) and source.parts:
        return source
    is_path = isinstance(source, (str, os.PathLike))
    if not is_path and not is_list_of_paths(source):
        raise ValueError(f"cannot read a {type(source).__name__} by chunks; give a file, a folder, a pattern or a list")
    paths = list_table_files(Path(source)) if is_path else [*map(Path, source)]
    check_that(paths, f"{source}: no such file, and no folder or pattern of tables")
    tables = tuple(map(open_table_file, paths))
    for path, table in zip(paths, tables, strict=True):
        if difference := _describe_difference(tables[0], table):
            raise ValueError(f"{path.name}: {difference}, unlike {paths[0].name}; write all files alike")
    return join_tables(f"{source if is_path else paths[0].parent}: ", tuple(paths), tables)


def is_list_of_paths(source: Any) -> bool:
    """Whether this is a list of paths, of one at the least."""
    return isinstance(source, (list, tuple)) and bool(source) and all(isinstance(x, (str, os.PathLike)) for x in source)


def list_table_files(path: Path) -> list[Path]:
    """A file, or a folder's (Parquet, else CSV) or pattern's, by name; ValueError for a folder rated by chunks."""
    if path.is_file():
        return [path]
    if (path / "checkpoint").is_file() and (path / "predictions").is_dir():
        raise ValueError(f"{path} holds what was rated by chunks, not matches; name the folder that was rated")
    found = path.iterdir() if path.is_dir() else map(Path, glob(str(path)))
    shown = (x for x in sorted(found) if not HIDDEN_FILES.fullmatch(x.name))
    files = {x: _suffix_before_compression(x) for x in shown}
    if not path.is_dir():
        return [*files]
    suffixes = (".parquet",) if ".parquet" in files.values() else (".csv", ".tsv")
    return [file for file, suffix in files.items() if suffix in suffixes]


def _describe_difference(first: TableSource, other: TableSource) -> str:
    """How the columns of a file differ from those of the first; "" if they do not."""
    if first.names != other.names:
        return f"its columns are {', '.join(map(str, other.names))}"
    differing = [name for name in first.names if first.types.get(name) != other.types.get(name)]
    return "".join(f"column {x!r} is of {other.types[x]}, not of {first.types[x]}" for x in differing[:1])


def _open_path(source: str | os.PathLike[str]) -> TableSource:
    path = Path(source)
    book, _, sheet = str(path).rpartition("#")
    if Path(book).is_file() and not path.exists():
        with add_location_to_data_errors(f"{path.name}: ", row_label):
            return _open_spreadsheet(Path(book), f"{path.name}: ", sheet)
    is_joined = path.is_dir() or (not path.exists() and str(path) != STANDARD_INPUT)
    files = list_table_files(path) if is_joined else []
    return join_files(str(path)) if files else open_table_file(path)


def _open_records(source: Sequence[Any]) -> TableSource:
    columns = columns_of_document(source) or records_to_columns(source)
    return table_in_memory(columns, list(columns))


def _open_column_dict(source: Any) -> TableSource:
    """A dict of columns, or what has columns as a dict has: a frame of pandas. Of others, the table in the dict."""
    if isinstance(source, Mapping) and any(isinstance(x, Mapping) or is_list_of_records(x) for x in source.values()):
        source = columns_of_document(source) or source
    return table_in_memory(source, list(source.keys()))


def _open_lazy_frame(frame: Any) -> TableSource:
    names = frame.collect_schema().names()
    return TableSource("", names, lambda names, text=(): _to_arrow_table(frame.select(names).collect()), row_label)


def _open_relation(relation: Any) -> TableSource:
    def load(names: Sequence[str], text: Sequence[str] = ()) -> Any:
        return _to_arrow_table(relation.select(*map(import_module("duckdb").ColumnExpression, names)))

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
    ("keys", "__getitem__"): _open_column_dict,
    ("collect_schema", "collect"): _open_lazy_frame,
    ("project", "columns"): _open_relation,
    ("__arrow_c_stream__",): _open_arrow,
    ("to_arrow_table",): lambda result: _open_arrow(result.to_arrow_table()),
    ("arrow",): lambda result: _open_arrow(result.arrow()),
    ("fetchall", "keys"): _open_query_result,
    ("fetchall", "description"): _open_query_result,
}


def _to_arrow_table(source: Any) -> Any:
    try:
        return import_pyarrow().table(source)
    except import_pyarrow().ArrowException as error:
        raise ValueError(f"Arrow cannot read the columns of this table: {shorten_to_one_line(str(error))}") from None
