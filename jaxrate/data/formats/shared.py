"""What the formats share: columns of CSV files as text, what they mean, and the way to `read`."""

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from jaxrate.data.columns import keep_rows, to_ids, to_numbers
from jaxrate.data.dataset import Dataset
from jaxrate.data.read import read
from jaxrate.data.tables import Column, Source, Values, check_names, located, open_file, pyarrow
from jaxrate.events import fail_where

RATING_DIFFERENCE = "rating_difference"
COLUMN_OPTIONS = ("weight", "category", "margin", "statistics", "shares", "covariates", "season", "columns", "drop")
OPTIONS = (*COLUMN_OPTIONS, "mixtures", "categories", "seasons", "skip_incomplete", "normalise_names")

Where: TypeAlias = Callable[[int], str]  # how errors about a row begin
Location: TypeAlias = str | os.PathLike[str]


def option_columns(options: Mapping[str, Any], derived: Sequence[str] = ()) -> list[str]:
    """The columns of the source that options of `read` name, each once, but for those that the format derives.

    Raises:
      TypeError: for an option that formats do not take.
    """
    for name in options:
        if name not in OPTIONS:
            raise TypeError(f"formats take no {name!r}; beside their own arguments they take {', '.join(OPTIONS)}")
    named = [name for option in COLUMN_OPTIONS for name in _flat(options.get(option))]
    return [name for name in dict.fromkeys(named) if name not in derived]


def _flat(names: Any) -> list[str]:
    """The names in one, in a list, or in lists by name; None: none."""
    if isinstance(names, Mapping):
        names = list(names.values())
    if isinstance(names, (list, tuple)):
        return [name for one in names for name in _flat(one)]
    return [] if names is None else [names]


def read_columns(path: Path, table: dict[str, Any], where: Where, rows: Values, **roles: Any) -> Dataset:
    """`read` of columns derived from rows of a source; `where` tells where those stand."""
    source = Source(
        f"{path.name}: ",
        list(table),
        lambda wanted, text, numbers: table,
        lambda row: where(int(rows[row])),
        noted=False,
    )
    data = read(source, **roles)
    return data._replace(rows=rows[data.rows])


def find(path: Location) -> Path:
    found = Path(os.path.abspath(path))  # the name of "." too
    if not found.exists():
        raise ValueError(f"{found.name}: no such file or folder")
    return found


def csv_columns(
    files: Sequence[Path], form: str, needed: Sequence[str], perhaps: Sequence[str] = ()
) -> tuple[dict[str, Column], Where]:
    """Columns of CSV files as text, the files end to end, and where a row stands; those `perhaps` there may be null."""
    sources, parts, start = [open_file(file) for file in files], [], [0]
    arrow = pyarrow()
    for source in sources:
        with located(source.title, source.where):
            for name in needed:
                if name not in source.names:
                    raise ValueError(f"not {form}, no column {name!r}")
            check_names(source.names, [])
            there = [name for name in (*needed, *perhaps) if name in source.names]
            columns = as_text(source.load(there, there, []), there)
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


def as_text(table: Any, names: Sequence[str]) -> dict[str, Column]:
    """Columns of an Arrow table as text."""
    if not table.num_rows:
        raise ValueError("no rows")
    return {name: table[name].cast(pyarrow().large_string()) for name in names}


def keep(path: Path, columns: dict[str, Column], keep: Values) -> tuple[dict[str, Column], Values]:
    """The rows to keep, and which they are."""
    if not keep.any():
        raise ValueError(f"{path.name}: no rows are left of {len(keep)}")
    return {name: keep_rows(name, column, keep) for name, column in columns.items()}, np.flatnonzero(keep)


def true(mask: Any) -> Values:
    """An Arrow mask; null is False."""
    return np.asarray(mask.fill_null(False).to_numpy())


def spread(codes: Any, names: Sequence[str]) -> Any:
    """The names by code [n], as an Arrow column."""
    arrow = pyarrow()
    return arrow.DictionaryArray.from_arrays(arrow.array(np.asarray(codes)), arrow.array(names, arrow.large_string()))


def distinct(names: Mapping[str, str], kind: str) -> dict[str, str]:
    """Names by id: with the id where several have the same, and only that where there is none."""
    count = Counter(names.values())
    return {
        key: f"{kind} {key}" if not name else name if count[name] == 1 else f"{name} ({key})"
        for key, name in names.items()
    }


def meaning(name: str, column: Column, meaning: Mapping[str, float], expected: str = "") -> Values:
    """What each text of a column means; an error where it is none of them."""
    codes, found = to_ids([name], {name: column})
    values = np.array([meaning.get(text, np.nan) for text in found])[codes[:, 0]]
    said = expected or f"one of {', '.join(meaning)}"
    fail_where(np.isnan(values), lambda row: f"column {name!r} is {found[codes[row, 0]]!r}, expected {said}")
    return values


def instants(name: str, column: Column, unit: str) -> Values:
    """Numbers of this unit since 1970 as timestamps."""
    values = to_numbers(name, column)
    fail_where(~(np.abs(values) < 1e15), lambda row: f"column {name!r} is {values[row]}, not a time since 1970")
    return values.astype(np.int64).astype(f"datetime64[{unit}]")


def rating_difference(first: Values, second: Values) -> dict[str, Values]:
    """[n] by how much the first players are rated higher, 0 where a rating is not above 0; {} where all are so."""
    both = (first > 0) & (second > 0)
    return {RATING_DIFFERENCE: np.where(both, first - second, 0.0)} if both.any() else {}


def decoded(text: bytes) -> str:
    """UTF-8, or else Latin-1."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")
