"""Tables larger than memory: DuckDB, which works on the disk, puts them in order of time and makes ids of names.

It is installed with `pip install "jaxrate[large]"`.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from jaxrate.core.text_format import format_unquoted_name, to_one_line
from jaxrate.data.parquet_table import ParquetTable, find_parquet_table
from jaxrate.data.table_sources import atomic_replacement, import_pyarrow
from jaxrate.events import RowError

ROW_COLUMN = "_row"  # the column of the number that a row had in the source
ORDERED_FILE, NAMES_FILE = "ordered.parquet", "names.parquet"


def import_duckdb() -> Any:
    try:
        return import_module("duckdb")
    except ImportError as error:
        raise ImportError('putting rows in order needs duckdb: pip install "jaxrate[large]"') from error


def sort_by_time_and_assign_ids(
    parquet_table: ParquetTable,
    player_columns: Sequence[str],
    time: str | None,
    contest: str | None,
    other_columns: Sequence[str],
    folder: Path,
    rows: int,
    memory: str,
) -> tuple[ParquetTable, Any]:
    """The table in order of time, rows of the same time as they stood, with ids in place of names; and the names by id.

    The rows of a contest come together, where its first one stands.

    Ids are in order of first appearance, from the top of the source, the first player of a row before the second.

    Args:
      parquet_table: the table.
      player_columns: the columns of both players, or that of the participant.
      time: the column to order by. None: the rows keep their order.
      contest: the column of the contest, which is among the others; None: these are matches.
      other_columns: further columns to keep.
      folder: where the ordered table is written. A finished one is used again.
      rows: number of rows of a row group.
      memory: what DuckDB may take, as "2GB".

    Raises:
      RowError: where a name or time is missing, or a player is on both sides.
    """
    ordered, names = folder / ORDERED_FILE, folder / NAMES_FILE
    if not ordered.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with (
            _duckdb_query_runner(folder / "duckdb", memory) as run,
            atomic_replacement(ordered, names) as (ordered_path, names_path),
        ):
            _create_source_view_and_ids(run, parquet_table, player_columns, time, other_columns)
            _copy_to_parquet(run, "SELECT name, id FROM ids ORDER BY id", names_path, rows)
            columns = ", ".join(_quote_identifier(x) for x in (*([] if time is None else [time]), *other_columns))
            joined = "".join(
                f" JOIN ids i{k} ON s.{_quote_identifier(x)} = i{k}.name" for k, x in enumerate(player_columns)
            )
            ids = ", ".join(f"i{k}.id::INTEGER AS {_quote_identifier(x)}" for k, x in enumerate(player_columns))
            by = "" if time is None else f"{_quote_identifier(time)}, "
            if contest is not None:
                by += f"min({ROW_COLUMN}) OVER (PARTITION BY {_quote_identifier(contest)}), "
            _copy_to_parquet(
                run,
                f"SELECT {ids}, {columns}, {ROW_COLUMN} FROM s{joined} ORDER BY {by}{ROW_COLUMN}",
                ordered_path,
                rows,
            )
    return find_parquet_table(ordered), import_pyarrow().parquet.read_table(names)["name"]


@contextmanager
def _duckdb_query_runner(folder: Path, memory: str) -> Iterator[Any]:
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

    try:
        yield run
    except engine.OutOfMemoryException as error:
        raise MemoryError(
            f"DuckDB needs more than {memory} to put the rows in order: {to_one_line(str(error))}"
        ) from None
    except engine.IOException as error:
        raise OSError(f"the rows were not put in order: {to_one_line(str(error))}") from None
    except engine.Error as error:
        raise ValueError(f"the rows were not put in order: {to_one_line(str(error))}") from None
    finally:
        connection.close()
        shutil.rmtree(folder, ignore_errors=True)


def _create_source_view_and_ids(
    run: Any, parquet_table: ParquetTable, player_columns: Sequence[str], time: str | None, other_columns: Sequence[str]
) -> None:
    """The view s of the source with the number of each row, and the table of ids by name."""
    columns = ", ".join(
        map(_quote_identifier, dict.fromkeys([*player_columns, *([] if time is None else [time]), *other_columns]))
    )
    files = ", ".join("'" + str(file.path).replace("'", "''") + "'" for file in parquet_table.files)
    first = ", ".join(f"{file.first_row}::BIGINT" for file in parquet_table.files)
    number = f"[{first}][file_index::BIGINT + 1] + file_row_number"
    run(
        f"CREATE VIEW s AS SELECT {columns}, {number} AS {ROW_COLUMN} "
        f"FROM read_parquet([{files}], hive_partitioning = false)"
    )
    _check_source_rows(run, player_columns, time)
    places = (
        (_quote_identifier(x), f"{len(player_columns)} * {ROW_COLUMN} + {k}") for k, x in enumerate(player_columns)
    )
    all_names = " UNION ALL ".join(f"SELECT {x} AS name, {place} AS place FROM s" for x, place in places)
    run(
        "CREATE TABLE ids AS SELECT name, row_number() OVER (ORDER BY place) - 1 AS id "
        f"FROM (SELECT name, min(place) AS place FROM ({all_names}) GROUP BY name)"
    )


def _check_source_rows(run: Any, player_columns: Sequence[str], time: str | None) -> None:
    needed = [*player_columns, *([] if time is None else [time])]
    same = [" = ".join(map(_quote_identifier, player_columns))] if len(player_columns) == 2 else []
    wrong = " OR ".join([*(f"{_quote_identifier(x)} IS NULL" for x in needed), *same])
    names = ", ".join(map(_quote_identifier, needed))
    first_wrong = run(f"SELECT {ROW_COLUMN}, {names} FROM s WHERE {wrong} ORDER BY {ROW_COLUMN} LIMIT 1").fetchone()
    if first_wrong is not None:
        row, *values = first_wrong
        for name, value in zip(needed, values, strict=True):
            if value is None:
                raise RowError(row, f"column {name!r} has no value")
        raise RowError(row, f"{format_unquoted_name(values[0])} is on both sides; remove the row")


def _copy_to_parquet(run: Any, query: str, path: Path, rows: int) -> None:
    run(f"COPY ({query}) TO '{str(path).replace(chr(39), chr(39) * 2)}' (FORMAT parquet, ROW_GROUP_SIZE {rows})")
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
