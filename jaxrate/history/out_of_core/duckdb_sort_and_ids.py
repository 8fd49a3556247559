"""Tables larger than memory: DuckDB, which works on the disk, puts them in order of time and makes ids of names.

It is installed with `pip install "jaxrate[large]"`.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from jaxrate.core.text_format import format_unquoted_name, to_one_line
from jaxrate.data.event_tables import SEPARATOR
from jaxrate.data.parquet_table import ParquetTable
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_sources import atomic_replacement, import_pyarrow
from jaxrate.events import RowError

ROW_COLUMN = "_row"  # the column of the number that a row had in the source
ID_COLUMN = "_id{}_{}"  # those of ids, by the side and the number of a player
RunQuery = Callable[[str], Any]


def import_duckdb() -> Any:
    try:
        return import_module("duckdb")
    except ImportError as error:
        raise ImportError('putting rows in order needs duckdb: pip install "jaxrate[large]"') from error


def write_sorted_copy(
    parquet_table: ParquetTable,
    roles: ColumnRoles,
    columns: Sequence[str],
    ordered: Path,
    names: Path,
    rows: int,
    memory: str,
) -> None:
    """Write the table in order of time, rows of the same time as they stood, with ids of players; and names by id.

    The rows of a contest come together, where its first one stands. Rows to drop, and those of matches without a
    result, are left out. Ids are in order of first appearance, from the top of the source, and within a row in the
    order of the columns; of line-ups in cells in that of the players.

    Args:
      parquet_table: the table.
      roles: the columns of the players, of time, of contests and of results.
      columns: those that are kept beside the ids.
      ordered, names: the files to write.
      rows: number of rows of a row group.
      memory: what DuckDB may take, as "2GB".

    Raises:
      RowError: where a name or time is missing, or a player is on both sides.
    """
    with (
        _duckdb_query_runner(ordered.parent / "duckdb", memory) as run,
        atomic_replacement(ordered, names) as (ordered_path, names_path),
    ):
        ids = _create_view_of_rows_and_ids(run, parquet_table, roles, columns)
        _copy_to_parquet(run, "SELECT name, id FROM ids ORDER BY id", names_path, rows)
        joined = "".join(f" LEFT JOIN ids i{k} ON s.{x} = i{k}.name" for k, x in enumerate(ids))
        chosen = [*(f"i{k}.id::INTEGER AS {x}" for k, x in enumerate(ids)), *map(_quote_identifier, columns)]
        by = "" if roles.time is None else f"{_quote_identifier(roles.time)}, "
        if (contest := roles.layout.contest) is not None:
            by += f"min({ROW_COLUMN}) OVER (PARTITION BY {_quote_identifier(contest)}), "
        query = f"SELECT {', '.join(chosen)}, {ROW_COLUMN} FROM s{joined} ORDER BY {by}{ROW_COLUMN}"
        _copy_to_parquet(run, query, ordered_path, rows)


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


def _create_view_of_rows_and_ids(
    run: RunQuery, parquet_table: ParquetTable, roles: ColumnRoles, columns: Iterable[str]
) -> list[str]:
    """Create the view s of the rows that count, with a column for each player, and the table of ids by name.

    Returns:
      The columns of the players.
    """
    used = dict.fromkeys([*roles.layout.players, *filter(None, [roles.time]), *columns, *roles.all_columns])
    files = ", ".join("'" + str(file.path).replace("'", "''") + "'" for file in parquet_table.files)
    first = ", ".join(f"{file.first_row}::BIGINT" for file in parquet_table.files)
    run(
        f"CREATE VIEW source AS SELECT {', '.join(map(_quote_identifier, used))}, "
        f"[{first}][file_index::BIGINT + 1] + file_row_number AS {ROW_COLUMN} "
        f"FROM read_parquet([{files}], hive_partitioning = false){_rows_that_count(parquet_table, roles)}"
    )
    player = dict(_player_expressions(run, parquet_table, roles))
    run(f"CREATE VIEW s AS SELECT *, {', '.join(f'{x} AS {name}' for name, x in player.items())} FROM source")
    _check_source_rows(run, roles, player)
    all_names = " UNION ALL ".join(
        f"SELECT {name} AS name, {len(player)} * {ROW_COLUMN} + {k} AS place FROM s" for k, name in enumerate(player)
    )
    run(
        "CREATE TABLE ids AS SELECT name, row_number() OVER (ORDER BY place) - 1 AS id "
        f"FROM (SELECT name, min(place) AS place FROM ({all_names}) WHERE name IS NOT NULL GROUP BY name)"
    )
    return list(player)


def _rows_that_count(parquet_table: ParquetTable, roles: ColumnRoles) -> str:
    """The condition of rows that are not to drop and, if they are matches, have a result."""
    results = [] if roles.layout.contest is not None else [roles.layout.result, *roles.layout.points]
    conditions = [f"NOT coalesce(lower({_quote_identifier(x)}::VARCHAR) IN ('true', '1', '1.0'), false)"
                  for x in roles.drop]  # fmt: skip
    for name in filter(None, results):
        conditions.append(f"{_quote_identifier(name)} IS NOT NULL")
        if import_pyarrow().types.is_floating(parquet_table.schema.field(name).type):
            conditions.append(f"NOT isnan({_quote_identifier(name)})")
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _player_expressions(run: RunQuery, parquet_table: ParquetTable, roles: ColumnRoles) -> Iterator[tuple[str, str]]:
    """The columns of ids, and the players that they are of, in SQL: line-ups in cells have a column for each player."""
    layout, kinds = roles.layout, import_pyarrow().types
    first = layout.num_first or 1
    for side, names in enumerate((layout.players[:first], layout.players[first:])):
        number = 0
        for name in names:
            parts = [_quote_identifier(name)]
            is_list = kinds.is_nested(parquet_table.schema.field(name).type)
            if is_list or (layout.num_first and not kinds.is_integer(parquet_table.schema.field(name).type)):
                cell = parts[0] if is_list else f"string_split({parts[0]}, '{SEPARATOR}')"
                player = "x" if is_list else "trim(x)"
                cell = f"[{player} for x in {cell} if trim(x::VARCHAR) <> '']"
                count = run(f"SELECT max(len({cell})) FROM source").fetchone()[0] or 1
                parts = [f"({cell})[{k + 1}]" for k in range(count)]
            for part in parts:
                yield ID_COLUMN.format(side, number), part
                number += 1


def _check_source_rows(run: RunQuery, roles: ColumnRoles, player: dict[str, str]) -> None:
    layout = roles.layout
    first = [x for x in player if x.endswith("_0")] if layout.contest is None else list(player)
    said = dict(zip(first, layout.first_players if layout.contest is None else layout.players, strict=True))
    needed = said | ({} if roles.time is None else {_quote_identifier(roles.time): roles.time})
    of_two = layout.contest is None and len(player) == 2
    wrong = " OR ".join([*(f"{x} IS NULL" for x in needed), *([" = ".join(first)] if of_two else [])])
    query = f"SELECT {ROW_COLUMN}, {', '.join(needed)} FROM s WHERE {wrong} ORDER BY {ROW_COLUMN} LIMIT 1"
    if (first_wrong := run(query).fetchone()) is not None:
        row, *values = first_wrong
        for name, value in zip(needed.values(), values, strict=True):
            if value is None:
                raise RowError(row, f"column {name!r} has no value")
        raise RowError(row, f"{format_unquoted_name(values[0])} is on both sides; remove the row")


def _copy_to_parquet(run: RunQuery, query: str, path: Path, rows: int) -> None:
    run(f"COPY ({query}) TO '{str(path).replace(chr(39), chr(39) * 2)}' (FORMAT parquet, ROW_GROUP_SIZE {rows})")
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
