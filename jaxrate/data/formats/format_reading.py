"""What the formats share: columns of CSV files as text, what they mean, and the way to `read`."""

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from jaxrate.data.column_conversion import keep_rows, to_ids, to_numbers
from jaxrate.data.table_reading import read
from jaxrate.data.table_sources import (
    Column,
    TableSource,
    check_columns_exist,
    import_pyarrow,
    locate_data_errors,
    open_file,
)
from jaxrate.events import fail_where
from jaxrate.events.dataset import Dataset
from jaxrate.types import HostArray

RATING_DIFFERENCE = "rating_difference"
COLUMN_OPTIONS = ("weight", "category", "margin", "statistics", "shares", "covariates", "season", "columns", "drop")
READ_OPTIONS = (*COLUMN_OPTIONS, "mixtures", "categories", "seasons", "skip_incomplete", "normalise_names")

RowLocator: TypeAlias = Callable[[int], str]  # how errors about a row begin
Location: TypeAlias = str | os.PathLike[str]


def option_columns(options: Mapping[str, Any], derived: Sequence[str] = ()) -> list[str]:
    """The columns of the source that options of `read` name, each once, but for those that the format derives.

    Raises:
      TypeError: for an option that formats do not take.
    """
    for name in options:
        if name not in READ_OPTIONS:
            raise TypeError(f"formats take no {name!r}; beside their own arguments they take {', '.join(READ_OPTIONS)}")
    named = [name for option in COLUMN_OPTIONS for name in _flatten_names(options.get(option))]
    return [name for name in dict.fromkeys(named) if name not in derived]


def _flatten_names(names: Any) -> list[str]:
    """The names in one, in a list, or in lists by name; None: none."""
    if isinstance(names, Mapping):
        names = list(names.values())
    if isinstance(names, (list, tuple)):
        return [name for one in names for name in _flatten_names(one)]
    return [] if names is None else [names]


def read_columns(path: Path, table: dict[str, Any], where: RowLocator, rows: HostArray, **roles: Any) -> Dataset:
    """`read` of columns derived from rows of a source; `where` tells where those stand."""
    source = TableSource(
        f"{path.name}: ",
        list(table),
        lambda wanted, text, numbers: table,
        lambda row: where(int(rows[row])),
        noted=False,
    )
    data = read(source, **roles)
    return data._replace(rows=rows[data.rows])


def resolve_path(path: Location) -> Path:
    found = Path(os.path.abspath(path))  # the name of "." too
    if not found.exists():
        raise ValueError(f"{found.name}: no such file or folder")
    return found


def csv_columns(
    files: Sequence[Path], form: str, needed: Sequence[str], perhaps: Sequence[str] = ()
) -> tuple[dict[str, Column], RowLocator]:
    """Columns of CSV files as text, the files end to end, and where a row stands; those `perhaps` there may be null."""
    sources, parts, start = [open_file(file) for file in files], [], [0]
    arrow = import_pyarrow()
    for source in sources:
        with locate_data_errors(source.title, source.where):
            for name in needed:
                if name not in source.names:
                    raise ValueError(f"not {form}, no column {name!r}")
            check_columns_exist(source.names, [])
            there = [name for name in (*needed, *perhaps) if name in source.names]
            columns = columns_as_text(source.load(there, there, []), there)
        start.append(start[-1] + len(columns[there[0]]))
        nothing = arrow.chunked_array([arrow.nulls(start[-1] - start[-2], arrow.large_string())])
        parts.append([columns.get(name, nothing) for name in (*needed, *perhaps)])

    def where(row: int) -> str:
        which = bisect_right(start, row) - 1
        return sources[which].where(row - start[which])

    whole = (
        arrow.chunked_array([chunk for part in column for chunk in part.chunks]) for column in zip(*parts, strict=True)
    )
    return dict(zip((*needed, *perhaps), whole, strict=True)), where


def columns_as_text(table: Any, names: Sequence[str]) -> dict[str, Column]:
    """Columns of an Arrow table as text."""
    if not table.num_rows:
        raise ValueError("no rows")
    return {name: table[name].cast(import_pyarrow().large_string()) for name in names}


def filter_columns(path: Path, columns: dict[str, Column], mask: HostArray) -> tuple[dict[str, Column], HostArray]:
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


def distinct_names(names: Mapping[str, str], kind: str) -> dict[str, str]:
    """Names by id: with the id where several have the same, and only that where there is none."""
    count = Counter(names.values())
    return {
        key: f"{kind} {key}" if not name else name if count[name] == 1 else f"{name} ({key})"
        for key, name in names.items()
    }


def map_texts(name: str, column: Column, text_values: Mapping[str, float], expected: str = "") -> HostArray:
    """What each text of a column means; an error where it is none of them."""
    codes, found = to_ids([name], {name: column})
    values = np.array([text_values.get(text, np.nan) for text in found])[codes[:, 0]]
    said = expected or f"one of {', '.join(text_values)}"
    fail_where(np.isnan(values), lambda row: f"column {name!r} is {found[codes[row, 0]]!r}, expected {said}")
    return values


def unix_timestamps(name: str, column: Column, unit: str) -> HostArray:
    """Numbers of this unit since 1970 as timestamps."""
    values = to_numbers(name, column)
    fail_where(~(np.abs(values) < 1e15), lambda row: f"column {name!r} is {values[row]}, not a time since 1970")
    return values.astype(np.int64).astype(f"datetime64[{unit}]")


def rating_difference(first: HostArray, second: HostArray) -> dict[str, HostArray]:
    """[n] by how much the first players are rated higher, 0 where a rating is not above 0; {} where all are so."""
    both = (first > 0) & (second > 0)
    return {RATING_DIFFERENCE: np.where(both, first - second, 0.0)} if both.any() else {}


def decode_text(text: bytes) -> str:
    """UTF-8, or else Latin-1."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")
