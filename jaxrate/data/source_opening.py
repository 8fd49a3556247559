"""Tables of any kind opened: files, folders of Parquet, and tables in memory."""

import re
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
        if path.is_dir() and any(path.glob("*.parquet")):
            return parquet_source(find_parquet_table(path))
        return _open_csv_folder(path) if csv_files(path) else open_table_file(path)
    if hasattr(source, "keys") and hasattr(source, "__getitem__") and not isinstance(source, type):  # a dict, or pandas
        if isinstance(source, Mapping) and any(
            isinstance(x, Mapping) or is_list_of_records(x) for x in source.values()
        ):
            source = columns_of_document(source) or source
        return table_in_memory(source, list(source.keys()))
    if isinstance(source, (list, tuple)) and (not source or isinstance(source[0], Mapping)):
        document = columns_of_document(source) if is_list_of_records(source) else None
        columns = records_to_columns(source) if document is None else document
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


def csv_files(folder: Path) -> list[Path]:
    """The files of CSV in a folder, in the order of their names; none if it is no folder, or of Parquet."""
    files = sorted(folder.glob("[!._]*")) if folder.is_dir() and not any(folder.glob("*.parquet")) else []
    return [file for file in files if re.search(r"\.[ct]sv(\.gz|\.bz2|\.zst)?$", file.name.lower())]


def _open_csv_folder(folder: Path) -> TableSource:
    """The files of CSV in a folder as one table; ValueError if their columns differ."""
    files = csv_files(folder)
    sources = [open_table_file(file) for file in files]
    for file, source in zip(files, sources, strict=True):
        if source.names != sources[0].names:
            raise ValueError(f"{folder}: {file.name} has other columns than {files[0].name}; write all files alike")
    row_counts: list[int] = []

    def load(names: Sequence[str], text: Sequence[str], numbers: Sequence[str]) -> Any:
        tables = [source.load(names, text, numbers) for source in sources]
        row_counts[:] = [len(table) for table in tables]
        return _concatenate_tables(tables)

    def where(row: int) -> str:
        file = 0
        while file < len(row_counts) - 1 and row >= row_counts[file]:
            row, file = row - row_counts[file], file + 1
        return sources[file].where(row)

    return sources[0]._replace(title=f"{folder}: ", load=load, where=where)


def _concatenate_tables(tables: Sequence[Any]) -> Any:
    """Arrow tables of the same columns, end to end; a column that is text in one of them is text."""
    arrow = import_pyarrow()
    text_types = arrow.types.is_string, arrow.types.is_large_string
    for i, name in enumerate(tables[0].column_names):
        types = {table[name].type for table in tables}
        if len(types) > 1 and any(is_text(x) for x in types for is_text in text_types):
            tables = [table.set_column(i, name, table[name].cast(arrow.large_string())) for table in tables]
    return arrow.concat_tables(tables, promote_options="permissive")


def _to_arrow_table(source: Any) -> Any:
    try:
        return import_pyarrow().table(source)
    except import_pyarrow().ArrowException as error:
        raise ValueError(f"Arrow cannot read the columns of this table: {shorten_to_one_line(str(error))}") from None


def _project_columns(relation: Any, names: Sequence[str]) -> Any:
    return relation.project(", ".join('"' + name.replace('"', '""') + '"' for name in names))
