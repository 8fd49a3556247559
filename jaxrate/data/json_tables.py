"""JSON documents as columns: lists of records, nested ones too, and columns by name."""

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from jaxrate.data.column_spellings import POINT_TEMPLATES, normalise_column_name
from jaxrate.data.table_sources import row_label

EVENT_LISTS = "matches", "games", "fixtures", "results", "events", "battles", "votes"  # names of lists of records
POINT_NAMES = frozenset(template.format("1") for template in POINT_TEMPLATES)


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
