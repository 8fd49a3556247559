"""Both players of a match in one cell, as "Ada vs. Bo": the column becomes two."""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from jaxrate.data.column_conversion import to_column
from jaxrate.data.column_spellings import normalise_column_name
from jaxrate.data.table_sources import Column, TableSource, import_pyarrow

VERSUS = r"vs?\.?|versus|against|@|gegen|contre|contra"
DASHES = "[-\u2013\u2014]"
PAIR_NAMES = r"match(up|es)?|game|fixture|bout|fight|teams|players|pairing|opponents|meeting|encounter"


def split_pairs_column(table: TableSource) -> tuple[TableSource, tuple[str, str, str]] | None:
    """The table with two columns for one whose cells name both players, and the names of that and of these two.

    "Ada vs. Bo" tells of any column, and "Ada - Bo" of one that is called as matches are.
    """
    names = [name for name in table.names if table.names.count(name) == 1]
    first_values = table.first_values(names)
    for name in names:
        with suppress(ValueError):
            column = to_column(str(name), first_values.get(name, []))
            pattern = _pair_pattern(name)
            if _is_text(column) and len(column) and all(re.match(pattern, cell or "") for cell in column.to_pylist()):
                return _append_split_columns(table, name, pattern), (name, f"{name} (1)", f"{name} (2)")
    return None


def _pair_pattern(name: str) -> str:
    is_match = re.fullmatch(PAIR_NAMES, normalise_column_name(name)) is not None
    separator = f"{VERSUS}|{DASHES}" if is_match else VERSUS
    return rf"(?i)^\s*(?P<one>.+?)\s+(?:{separator})\s+(?P<two>.+?)\s*$"


def _is_text(column: Column) -> bool:
    return not isinstance(column, np.ndarray) and import_pyarrow().types.is_large_string(column.type)


def _append_split_columns(table: TableSource, name: str, pattern: str) -> TableSource:
    parts = {f"{name} (1)": "one", f"{name} (2)": "two"}

    def load(wanted: Sequence[str], text: Sequence[str], numbers: Sequence[str]) -> Any:
        others = [x for x in wanted if x not in parts]
        is_split = len(others) < len(wanted)
        sources = [*others, *([name] if is_split and name not in others else [])]
        loaded = table.load(sources, [*text, *([name] if is_split else [])], numbers)
        columns = {x: loaded[x] for x in others}
        if is_split:
            fields = import_pyarrow().compute.extract_regex(to_column(name, loaded[name]), pattern)
            columns |= {x: import_pyarrow().compute.struct_field(fields, [parts[x]]) for x in wanted if x in parts}
        return columns

    return table._replace(names=[*table.names, *parts], load=load)
