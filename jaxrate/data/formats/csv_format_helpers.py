"""What the formats share: columns of CSV files as text, their meaning, and reading them by `read`."""

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.column_conversion import keep_rows, to_ids, to_numbers
from jaxrate.data.column_role_definitions import COLUMN_ROLES, roles_taken_by
from jaxrate.data.dataset_from_table import read
from jaxrate.data.table_files import open_table_file
from jaxrate.data.table_sources import (
    Column,
    TableSource,
    add_location_to_data_errors,
    check_columns_exist_and_unique,
    import_pyarrow,
)
from jaxrate.events import fail_where
from jaxrate.events.dataset import Dataset

RATING_DIFFERENCE = "rating_difference"
COLUMN_OPTIONS = roles_taken_by("formats")
READ_OPTIONS = (*COLUMN_OPTIONS, "mixtures", "categories", "seasons", "history", "skip_incomplete", "normalise_names")

RowLocator: TypeAlias = Callable[[int], str]  # the beginning of errors about a row
Location: TypeAlias = str | os.PathLike[str]


def columns_named_by_options(options: Mapping[str, Any], derived: Sequence[str] = ()) -> list[str]:
    """The columns of the source that options of `read` name, each once, but for those that the format derives.

    Raises:
      TypeError: for an option that formats do not take.
    """
    for name in options:
        if name not in READ_OPTIONS:
            raise TypeError(f"formats take no {name!r}; beside their own arguments they take {', '.join(READ_OPTIONS)}")
    roles = [role for role in COLUMN_OPTIONS if COLUMN_ROLES[role].accepts != "days"]
    names = [name for role in roles for name in _flatten_names(options.get(role))]
    return [name for name in dict.fromkeys(names) if name not in derived]


def _flatten_names(names: Any) -> list[str]:
    """The names in a name, in a list, or in lists by name; None: none."""
    if isinstance(names, Mapping):
        names = list(names.values())
    if isinstance(names, (list, tuple)):
        return [name for one in names for name in _flatten_names(one)]
    return [] if names is None else [names]


def read_dataset_from_derived_columns(
    path: Path, table: dict[str, Any], where: RowLocator, rows: HostArray, **roles: Any
) -> Dataset:
    """`read` of columns derived from rows of a source; `where` gives their place for errors."""
    source = TableSource(
        f"{path.name}: ",
        list(table),
        lambda names, text, numbers: table,
        lambda row: where(int(rows[row])),
        noted=False,
    )
    data = read(source, **roles)
    return data._replace(rows=rows[data.rows])


def resolve_existing_path(path: Location) -> Path:
    resolved = Path(os.path.abspath(path))  # the name of "." too
    if not resolved.exists():
        raise ValueError(f"{resolved.name}: no such file or folder")
    return resolved


def csv_columns(
    files: Sequence[Path], description: str, needed: Sequence[str], optional: Sequence[str] = ()
) -> tuple[dict[str, Column], RowLocator]:
    """Columns of CSV files as text, the files end to end, and the place of a row; optional ones may be null."""
    sources, tables, first_rows = [open_table_file(file) for file in files], [], [0]
    arrow = import_pyarrow()
    for source in sources:
        with add_location_to_data_errors(source.title, source.where):
            for name in needed:
                if name not in source.names:
                    raise ValueError(f"not {description}, no column {name!r}")
            check_columns_exist_and_unique(source.names, [])
            present = [name for name in (*needed, *optional) if name in source.names]
            columns = columns_as_text(source.load(present, present, []), present)
        first_rows.append(first_rows[-1] + len(columns[present[0]]))
        null_column = arrow.chunked_array([arrow.nulls(first_rows[-1] - first_rows[-2], arrow.large_string())])
        tables.append([columns.get(name, null_column) for name in (*needed, *optional)])

    def where(row: int) -> str:
        number = bisect_right(first_rows, row) - 1
        return sources[number].where(row - first_rows[number])

    joined = (
        arrow.chunked_array([chunk for part in column for chunk in part.chunks]) for column in zip(*tables, strict=True)
    )
    return dict(zip((*needed, *optional), joined, strict=True)), where


def columns_as_text(table: Any, names: Sequence[str]) -> dict[str, Column]:
    """Columns of an Arrow table as text."""
    if not table.num_rows:
        raise ValueError("no rows")
    return {name: table[name].cast(import_pyarrow().large_string()) for name in names}


def filter_rows_and_indices(
    path: Path, columns: dict[str, Column], mask: HostArray
) -> tuple[dict[str, Column], HostArray]:
    """The rows to keep, and which they are."""
    if not mask.any():
        raise ValueError(f"{path.name}: no rows are left of {len(mask)}")
    return {name: keep_rows(name, column, mask) for name, column in columns.items()}, np.flatnonzero(mask)


def mask_to_numpy(mask: Any) -> HostArray:
    """An Arrow mask; null is False."""
    return np.asarray(mask.fill_null(False).to_numpy())


def dictionary_column(codes: Any, names: Sequence[str]) -> Any:
    """The names by code [n], as an Arrow column."""
    arrow = import_pyarrow()
    return arrow.DictionaryArray.from_arrays(arrow.array(np.asarray(codes)), arrow.array(names, arrow.large_string()))


def unique_names_by_id(names: Mapping[str, str], kind: str) -> dict[str, str]:
    """Names by id: with the id where several have the same, and only that where there is none."""
    count = Counter(names.values())
    return {
        key: f"{kind} {key}" if not name else name if count[name] == 1 else f"{name} ({key})"
        for key, name in names.items()
    }


def map_texts(name: str, column: Column, text_values: Mapping[str, float], expected: str = "") -> HostArray:
    """[n] the values of the texts in a column; an error for other texts."""
    codes, texts = to_ids([name], {name: column})
    values = np.array([text_values.get(text, np.nan) for text in texts])[codes[:, 0]]
    valid_texts = expected or f"one of {', '.join(text_values)}"
    fail_where(np.isnan(values), lambda row: f"column {name!r} is {texts[codes[row, 0]]!r}, expected {valid_texts}")
    return values


def unix_timestamps(name: str, column: Column, unit: str) -> HostArray:
    """Numbers of this unit since 1970 as timestamps."""
    values = to_numbers(name, column)
    fail_where(~(np.abs(values) < 1e15), lambda row: f"column {name!r} is {values[row]}, not a time since 1970")
    return values.astype(np.int64).astype(f"datetime64[{unit}]")


def rating_difference(first: HostArray, second: HostArray) -> dict[str, HostArray]:
    """[n] the lead in rating of the first players, 0 where a rating is not above 0; {} if no match has both ratings."""
    both_rated = (first > 0) & (second > 0)
    return {RATING_DIFFERENCE: np.where(both_rated, first - second, 0.0)} if both_rated.any() else {}


def decode_utf8_or_latin1(text: bytes) -> str:
    """UTF-8, or else Latin-1."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")
