"""Tables of any kind opened: files, folders of Parquet, and tables in memory."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxrate.data.json_tables import columns_of_document, is_list_of_records, records_to_columns, table_in_memory
from jaxrate.data.parquet_table import find_parquet_table, parquet_source
from jaxrate.data.table_files import open_table_file
from jaxrate.data.table_sources import TableSource, import_pyarrow, row_label, shorten_to_one_line

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
        if isinstance(source, Mapping) and any(
            isinstance(x, Mapping) or is_list_of_records(x) for x in source.values()
        ):
            source = columns_of_document(source) or source
        return table_in_memory(source, list(source.keys()))
    if isinstance(source, (list, tuple)) and (not source or isinstance(source[0], Mapping)):
        columns = columns_of_document(source) if is_list_of_records(source) else records_to_columns(source)
        return table_in_memory(columns, list(columns))
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
    return table_in_memory(table, table.column_names)


def _to_arrow_table(source: Any) -> Any:
    try:
        return import_pyarrow().table(source)
    except import_pyarrow().ArrowException as error:
        raise ValueError(f"Arrow cannot read the columns of this table: {shorten_to_one_line(str(error))}") from None


def _project_columns(relation: Any, names: Sequence[str]) -> Any:
    return relation.project(", ".join('"' + name.replace('"', '""') + '"' for name in names))
