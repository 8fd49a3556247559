"""Columns written to files, and as data frames."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import FilePath, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.data import table_files, table_sources

NO_TABLE_HINT = "the table that it was read from is one, and jr.rate(system, data).predictions is another"
# How text begins that spreadsheets take for a formula, in CSV too. The last four are =, +, - and @ in full width.
FORMULA_PATTERN = re.compile("'*[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]")
UTF8_BOM = b"\xef\xbb\xbf"  # the byte-order mark, without which spreadsheets take UTF-8 for an older code


@enforce_argument_annotations
def write(columns: Any, path: FilePath, *, csv_safe: bool = False) -> None:
    """Write columns to a file, whole or not at all.

        jr.data.write(jr.history.rating_table(rated), "ratings.csv")

    Names are written as they are, so that `read` finds the same ones. A spreadsheet takes a name such as "=1+1" or
    "@Ann" in CSV for a formula, and runs it: open files with names that strangers chose only if they are `csv_safe`.

    Args:
      columns: arrays of equal length by name, or a NamedTuple of them, such as a leaderboard (what is no array
        is left out), or a result with a method `columns`, such as a season, or a pandas, polars or Arrow table.
      path: the file, ending in .parquet or .csv. It is replaced if it exists.
      csv_safe: for spreadsheets. In CSV an apostrophe goes before text that begins as formulas do, with =, +, -, @, in
        full width too, a tab or an end of line, or with apostrophes and one of these. To have the names back, take one
        apostrophe away from text that begins with apostrophes and one of these. The file begins with a byte-order mark.

    Raises:
      ValueError: if the path has another ending, or if the columns are not of equal length.
      ImportError: if pyarrow is not installed.
    """
    arrow = table_sources.import_pyarrow()
    path = Path(path)
    writers = {".parquet": arrow.parquet.write_table, ".csv": arrow.csv.write_csv}
    if path.suffix.lower() not in writers:
        raise ValueError(f"{path.name}: the name must end in {' or '.join(writers)}")
    safe = csv_safe and path.suffix.lower() == ".csv"
    columns = escape_formulas(columns) if safe else columns
    columns = columns if hasattr(columns, "__arrow_c_stream__") else to_numpy_columns(columns, "s")
    with table_sources.atomic_replacement(path) as (temporary,), open(temporary, "wb") as file:
        file.write(UTF8_BOM if safe else b"")
        writers[path.suffix.lower()](arrow.table(columns), file)


def escape_formulas(columns: Any) -> dict[str, HostArray]:
    """The columns, with an apostrophe before text that spreadsheets take for a formula."""

    def safe(value: Any) -> Any:
        return f"'{value}" if isinstance(value, str) and FORMULA_PATTERN.match(value) else value

    plain = to_numpy_columns(columns, "s")
    for name, values in plain.items():
        if values.dtype.kind in "OU":
            plain[name] = np.fromiter(map(safe, values.tolist()), dtype=object, count=len(values))
    return plain


def compact_parquet_options(schema: Any) -> dict[str, Any]:
    """How Parquet is written to be small: scores and text by dictionary, whole numbers and times as differences."""
    kinds, encoding = table_sources.import_pyarrow().types, {}
    for field in schema:
        if kinds.is_integer(field.type) or kinds.is_temporal(field.type):
            encoding[field.name] = "DELTA_BINARY_PACKED"
        elif kinds.is_floating(field.type) and field.name != "score":
            encoding[field.name] = "BYTE_STREAM_SPLIT"
    return {"use_dictionary": [name for name in schema.names if name not in encoding], "column_encoding": encoding}


@enforce_argument_annotations
def to_frame(columns: Any, kind: str | None = None) -> Any:
    """Columns as a data frame.

        jr.data.to_frame(jr.history.rating_table(rated), "pyarrow")

    Args:
      columns: arrays of equal length by name, or a NamedTuple of them, such as a leaderboard (what is no array
        is left out), or a result with a method `columns`, such as a season or a head to head, or a pandas, polars or
        Arrow table.
      kind: "polars", "pandas" or "pyarrow". None: the first of them that is installed.

    Raises:
      ValueError: if the columns are not of equal length, as of a rated history or a `Dataset`, which are no tables; or
        if the kind is none of these.
      ImportError: if no such package is installed.
    """
    makers = {"polars": "DataFrame", "pandas": "DataFrame", "pyarrow": "table"}
    if kind is not None and kind not in makers:
        raise ValueError(f"kind must be one of {', '.join(makers)}, got {kind!r}")
    plain = to_numpy_columns(columns, "ms")  # polars knows no seconds
    for package in makers if kind is None else [kind]:
        try:
            return getattr(import_module(package), makers[package])(plain)
        except ImportError:
            continue
    needed = "polars, pandas or pyarrow" if kind is None else kind
    raise ImportError(f"a frame needs {needed}: pip install {kind or 'polars'}")


def to_numpy_columns(columns: Any, datetime_unit: str) -> dict[str, HostArray]:
    """Columns as numpy arrays by name; days as such, and units from hours to seconds as `datetime_unit`."""
    if callable(getattr(columns, "columns", None)):  # results that print as a table say what it is
        columns = columns.columns()
    if hasattr(columns, "_asdict"):
        columns = _array_fields(columns)
    table = table_files.open_table_source(columns)
    loaded = table.load(table.names)
    plain = {name: np.asarray(loaded[name]) for name in table.names if loaded[name] is not None}
    units = dict.fromkeys("YMWD", "D") | dict.fromkeys("hms", datetime_unit)
    for name, values in plain.items():
        if values.shape != (shape := (next(iter(plain.values())).size,)):
            raise ValueError(f"column {name!r} has shape {values.shape}, expected {shape}")
        if values.dtype.kind == "M":
            unit = np.datetime_data(values.dtype)[0]
            plain[name] = values.astype(f"datetime64[{units.get(unit, unit)}]")
    return plain


def _array_fields(result: Any) -> dict[str, Any]:
    """The arrays among the fields of a NamedTuple; ValueError if a field has more than one dimension."""
    kind, fields = type(result).__name__, result._asdict()
    try:
        depth = {name: np.ndim(x) for name, x in fields.items()}
    except ValueError:  # lists within lists, of several lengths
        depth = {kind: 2}
    if max(depth.values()) > 1:
        instead = "choose some of its fields, as a dict of arrays of equal length"
        raise ValueError(f"a {kind} is no table: {NO_TABLE_HINT if kind == 'Dataset' else instead}")
    return {name: x for name, x in fields.items() if depth[name]}
