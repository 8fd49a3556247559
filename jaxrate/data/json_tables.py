"""Tables in JSON: records or columns, nested in objects or not, or a record a line."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from jaxrate.data.column_spellings import POINT_TEMPLATES, normalise_column_name
from jaxrate.data.table_sources import TableSource, row_label

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

    return TableSource(title, names, lambda names, text, numbers: columns, where, first_values=first_values)


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
        document = []
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                try:
                    document.append(json.loads(line))
                except json.JSONDecodeError as error:
                    raise ValueError(f"line {number}: not JSON, {error.msg}") from None
                lines.append(number)
    columns = columns_of_document(document)
    if columns is None:
        raise ValueError("no list of objects, one for each row, and no lists of equal length, one for each column")
    return columns, lines


def columns_of_document(document: Any) -> dict[str, list[Any]] | None:
    """The columns of a list of records, of the one list of records in an object, or of columns by name; else None.

    Raises:
      ValueError: if several lists could be meant.
    """
    if is_list_of_records(document):
        return records_to_columns(_records_of_inner_lists(document))
    if not isinstance(document, Mapping) or not document:
        return None
    lists = {name: value for name, value in document.items() if value and is_list_of_records(value)}
    if len(lists) > 1:
        lists = {name: value for name, value in lists.items() if name.lower() in EVENT_LISTS} or lists
    if len(lists) > 1:
        raise ValueError(f"the table could be {' or '.join(map(repr, lists))}; give a file with one of them")
    if lists:
        return columns_of_document(next(iter(lists.values())))
    values = list(document.values())
    if all(isinstance(value, list) for value in values) and len({*map(len, values)}) == 1:
        return {str(name): value for name, value in document.items()}
    inner = [value for value in values if isinstance(value, Mapping)]
    if (
        len(inner) == len(values) > 1
        and len({tuple(value) for value in inner}) == 1
        and all(map(str.isdecimal, inner[0]))
    ):
        return {str(name): list(value.values()) for name, value in document.items()}  # as pandas writes columns
    tables = [columns for columns in map(columns_of_document, inner) if columns is not None]
    if len(tables) == 1:
        return tables[0]
    return records_to_columns(inner) if len(inner) == len(values) > 1 else None  # records by their id


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
    if any(nested):
        columns = {name: [None if isinstance(value, Mapping) else value for value in values]}
        columns = columns if any(value is not None for value in columns[name]) else {}
        for key in dict.fromkeys(key for value in nested for key in value):
            columns |= _expand_column(f"{name}.{key}", [value.get(key) for value in nested])
        return columns
    if any(isinstance(value, list) for value in values) and normalise_column_name(f"{name}1") in POINT_NAMES:
        pairs = [value if isinstance(value, list) and value else (None, None) for value in values]
        if all(len(pair) == 2 for pair in pairs):
            return {f"{name}.{side + 1}": [pair[side] for pair in pairs] for side in range(2)}
    return {name: values}
