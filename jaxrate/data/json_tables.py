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
    """The columns of a list of records, of the one table in an object, or of columns by name; else None.

    Raises:
      ValueError: if several lists could be meant.
    """
    if is_list_of_records(document):
        return records_to_columns(_records_of_inner_lists(document))
    if not isinstance(document, Mapping) or not document:
        return None
    if (records := _find_list_of_events(document)) is not None:
        return columns_of_document(records)
    values = [*document.values()]
    if all(isinstance(value, list) for value in values) and len({*map(len, values)}) == 1:
        return {str(name): value for name, value in document.items()}
    return _columns_of_objects(document)


def _find_list_of_events(document: Mapping[Any, Any]) -> Any:
    """The one list of records in an object, or the one that is called as events are; None if there is none."""
    lists = {name: value for name, value in document.items() if value and is_list_of_records(value)}
    chosen = {name: value for name, value in lists.items() if name.lower() in EVENT_LISTS} or lists
    if len(chosen) > 1:
        raise ValueError(f"the table could be {' or '.join(map(repr, chosen))}; give a file with one of them")
    return next(iter(chosen.values()), None)


def _columns_of_objects(document: Mapping[Any, Any]) -> dict[str, list[Any]] | None:
    """The columns of objects by the number of the row, as of pandas; the only table; or records by id."""
    inner = [value for value in document.values() if isinstance(value, Mapping)]
    holds_nothing_else = len(inner) == len(document) > 1
    if holds_nothing_else and len(rows := {*map(tuple, inner)}) == 1 and all(map(str.isdecimal, *rows)):
        return {str(name): list(value.values()) for name, value in document.items()}
    tables = [columns for value in inner if (columns := columns_of_document(value)) is not None]
    if len(tables) == 1:
        return tables[0]
    return records_to_columns(inner) if holds_nothing_else else None


def is_list_of_records(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(record, Mapping) for record in value)


def _records_of_inner_lists(records: Sequence[Mapping[Any, Any]]) -> Sequence[Mapping[Any, Any]]:
    """The records of matches in records of rounds, each with the values of its round; others as they are."""
    for name in EVENT_LISTS:
        if records and all(is_list_of_records(record.get(name)) for record in records):
            rounds = [{key: value for key, value in record.items() if key != name} for record in records]
            return [one | dict(x) for one, record in zip(rounds, records, strict=True) for x in record[name]]
    return records


def records_to_columns(records: Sequence[Any]) -> dict[str, list[Any]]:
    """Columns of records; None where one lacks a value. Nested objects become columns as "team.name".

    Two points in a list become the columns "score.1" and "score.2".
    """
    for i, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise ValueError(f"{row_label(i)}: not a dict, as the first row is, but a {type(record).__name__}")
    columns: dict[str, list[Any]] = {}
    for name in dict.fromkeys(chain(*records)):
        columns |= _expand_column(name, [record.get(name) for record in records])
    return columns


def _expand_column(name: Any, values: list[Any]) -> dict[Any, list[Any]]:
    """The columns of values that may be nested."""
    nested = [value if isinstance(value, Mapping) else {} for value in values]
    plain = [None if isinstance(value, Mapping) else value for value in values]
    if not any(nested):
        return _expand_points(name, values)
    columns = {} if all(value is None for value in plain) else {name: plain}
    for key in dict.fromkeys(chain(*nested)):
        columns |= _expand_column(f"{name}.{key}", [value.get(key) for value in nested])
    return columns


def _expand_points(name: Any, values: list[Any]) -> dict[Any, list[Any]]:
    """Two columns of lists of both sides' points, and others as they are."""
    pairs = [value or (None, None) for value in values if isinstance(value, list)]
    if {*map(len, pairs)} != {2} or normalise_column_name(f"{name}1") not in POINT_NAMES:
        return {name: values}
    both = [value if isinstance(value, list) and value else (None, None) for value in values]
    return {f"{name}.{side + 1}": [pair[side] for pair in both] for side in range(2)}
