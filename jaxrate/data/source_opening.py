"""Tables of any kind opened: files, folders of Parquet, and tables in memory."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from jaxrate.data.parquet_table import find_parquet_table, parquet_source
from jaxrate.data.table_sources import (
    FEW_ROWS,
    TableSource,
    import_pyarrow,
    open_table_file,
    row_label,
    shorten_to_one_line,
)

ARROW_METHODS = "to_arrow_table", "arrow"  # methods of results of DuckDB, which make a table of Arrow


def open_table_source(source: Any) -> TableSource:
    """A path, a table in memory or the result of a query as a `TableSource`; one stays as it is."""
    if isinstance(source, TableSource):
        return source
    if isinstance(source, (str, Path)) or hasattr(source, "__fspath__"):
        path = Path(source)
        return (
            parquet_source(find_parquet_table(path))
            if path.is_dir() and any(path.glob("*.parquet"))
            else open_table_file(path)
        )
    if hasattr(source, "keys") and hasattr(source, "__getitem__") and not isinstance(source, type):  # a dict, or pandas
        return _table_in_memory(source, list(source.keys()))
    if isinstance(source, (list, tuple)) and (not source or isinstance(source[0], Mapping)):
        columns = _rows_to_columns(source)
        return _table_in_memory(columns, list(columns))
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):  # a lazy frame of polars
        names = source.collect_schema().names()
        return TableSource(
            "", names, lambda names, text, numbers: _to_arrow_table(source.select(names).collect()), row_label
        )
    if hasattr(source, "project") and hasattr(source, "columns"):  # a relation of DuckDB
        names = list(source.columns)
        return TableSource(
            "", names, lambda names, text, numbers: _to_arrow_table(_project_columns(source, names)), row_label
        )
    if not hasattr(source, "__arrow_c_stream__"):
        make_table = next((getattr(source, name) for name in ARROW_METHODS if hasattr(source, name)), None)
        if make_table is None:
            kinds = "a path, a table, a dict of columns or a list of dicts"
            raise ValueError(f"cannot read a {type(source).__name__}; give {kinds}")
        source = make_table()
    table = _to_arrow_table(source)
    return _table_in_memory(table, table.column_names)


def _table_in_memory(columns: Any, names: list[str]) -> TableSource:
    """Columns by name as a `TableSource`."""

    def first_values(wanted: Sequence[str]) -> dict[str, Any]:
        values = {}
        for name in wanted:
            with suppress(TypeError, ValueError, LookupError):  # of columns that cannot be sliced
                values[name] = columns[name][:FEW_ROWS]
        return values

    return TableSource("", names, lambda names, text, numbers: columns, row_label, first_values=first_values)


def _to_arrow_table(source: Any) -> Any:
    try:
        return import_pyarrow().table(source)
    except import_pyarrow().ArrowException as error:
        raise ValueError(f"Arrow cannot read the columns of this table: {shorten_to_one_line(str(error))}") from None


def _project_columns(relation: Any, names: Sequence[str]) -> Any:
    return relation.project(", ".join('"' + name.replace('"', '""') + '"' for name in names))


def _rows_to_columns(rows: Sequence[Any]) -> dict[str, list[Any]]:
    """Columns of rows that are dicts; None where a row lacks one."""
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ValueError(f"{row_label(i)}: not a dict, as the first row is, but a {type(row).__name__}")
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}
