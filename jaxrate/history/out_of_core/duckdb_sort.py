"""Tables larger than memory, put in order of time by DuckDB, which works on the disk.

It is installed with `pip install "jaxrate[large]"`.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from jaxrate.core.text_format import to_one_line
from jaxrate.data.parquet_table import ParquetTable
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_sources import atomic_replacement

ROW_COLUMN = "_row"  # the column of the number that a row had in the source
RunQuery = Callable[[str], Any]


def import_duckdb() -> Any:
    try:
        return import_module("duckdb")
    except ImportError as error:
        raise ImportError('putting rows in order needs duckdb: pip install "jaxrate[large]"') from error


def write_sorted_copy(
    parquet_table: ParquetTable, roles: ColumnRoles, columns: Sequence[str], path: Path, rows: int, memory: str
) -> None:
    """Write the table in order of time, rows of the same time as they stood, with their numbers in the source.

    The rows of a contest come together, where its first one stands.

    Args:
      parquet_table: the table.
      roles: the columns of time and of contests.
      columns: those that are kept.
      path: the file to write.
      rows: number of rows of a row group.
      memory: what DuckDB may take, as "2GB".
    """
    query = _sort_query(parquet_table, roles, columns)
    with _duckdb_query_runner(path.parent / "duckdb", memory) as run, atomic_replacement(path) as (temporary,):
        target = str(temporary).replace("'", "''")
        run(f"COPY ({query}) TO '{target}' (FORMAT parquet, ROW_GROUP_SIZE {rows})")
        with temporary.open("rb") as file:
            os.fsync(file.fileno())


def _sort_query(parquet_table: ParquetTable, roles: ColumnRoles, columns: Sequence[str]) -> str:
    """What gives the rows in order, in SQL."""
    files = ", ".join("'" + str(file.path).replace("'", "''") + "'" for file in parquet_table.files)
    first = ", ".join(f"{file.first_row}::BIGINT" for file in parquet_table.files)
    by = [] if roles.time is None else [_quote_identifier(roles.time)]
    if (contest := roles.layout.contest) is not None:
        by.append(f"min({ROW_COLUMN}) OVER (PARTITION BY {_quote_identifier(contest)})")
    kept = ", ".join(map(_quote_identifier, columns))
    return (
        f"SELECT * FROM (SELECT {kept}, [{first}][file_index::BIGINT + 1] + file_row_number AS {ROW_COLUMN} "
        f"FROM read_parquet([{files}], hive_partitioning = false)) ORDER BY {', '.join([*by, ROW_COLUMN])}"
    )


@contextmanager
def _duckdb_query_runner(folder: Path, memory: str) -> Iterator[RunQuery]:
    """A function that runs a query of DuckDB, in a folder that is removed afterwards; its errors become plain ones."""
    engine = import_duckdb()
    settings = {"memory_limit": memory, "temp_directory": str(folder), "preserve_insertion_order": False}
    connection = engine.connect(config=settings)

    def run(query: str) -> Any:
        with ThreadPoolExecutor(1) as executor:  # in this thread DuckDB would lose what a signal raises
            try:
                return executor.submit(connection.execute, query).result()
            except BaseException:
                connection.interrupt()
                raise

    kinds = {engine.OutOfMemoryException: MemoryError, engine.IOException: OSError}
    try:
        yield run
    except engine.Error as error:
        raised = next((kind for known, kind in kinds.items() if isinstance(error, known)), ValueError)
        advice = f" (DuckDB may take {memory})" if raised is MemoryError else ""
        raise raised(f"the rows were not put in order{advice}: {to_one_line(str(error))}") from None
    finally:
        connection.close()
        shutil.rmtree(folder, ignore_errors=True)


def _quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
