"""Tables larger than memory put in order of time, their names made ids, by DuckDB, which works on the disk.

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

from jaxrate.data.parts import Parts, find_parts
from jaxrate.data.tables import pyarrow, replacing
from jaxrate.events import RowError
from jaxrate.text import name_of, one_line

ROW = "_row"  # the column of the number that a row had in the source
ORDERED, NAMES = "ordered.parquet", "names.parquet"


def duckdb() -> Any:
    try:
        return import_module("duckdb")
    except ImportError as error:
        raise ImportError('putting rows in order needs duckdb: pip install "jaxrate[large]"') from error


def put_in_order(
    parts: Parts, who: Sequence[str], time: str | None, more: Sequence[str], folder: Path, rows: int, memory: str
) -> tuple[Parts, Any]:
    """The table in order of time, rows of the same time as they stood, with ids in place of names; and the names by id.

    Ids are in order of first appearance, from the top of the source, the first player of a row before the second.

    Args:
      parts: the table.
      who: the columns of both players.
      time: the column to order by. None: the rows stay as they stand.
      more: further columns to keep.
      folder: where the ordered table is written. One that was finished there is taken as it is.
      rows: of a row group.
      memory: that DuckDB may take, as "2GB".

    Raises:
      RowError: where a name or time is missing, or a player is on both sides.
    """
    ordered, names = folder / ORDERED, folder / NAMES
    if not ordered.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with _opened(folder / "duckdb", memory) as run, replacing(ordered, names) as (one, other):
            _prepare(run, parts, who, time, more)
            _write(run, "SELECT name, id FROM ids ORDER BY id", other, rows)
            columns = ", ".join(_quoted(x) for x in (*([] if time is None else [time]), *more))
            joined = "".join(f" JOIN ids i{k} ON s.{_quoted(x)} = i{k}.name" for k, x in enumerate(who))
            ids = ", ".join(f"i{k}.id::INTEGER AS {_quoted(x)}" for k, x in enumerate(who))
            by = "" if time is None else f"{_quoted(time)}, "
            _write(run, f"SELECT {ids}, {columns}, {ROW} FROM s{joined} ORDER BY {by}{ROW}", one, rows)
    return find_parts(ordered), pyarrow().parquet.read_table(names)["name"]


@contextmanager
def _opened(folder: Path, memory: str) -> Iterator[Any]:
    """DuckDB, working in a folder of its own that is gone afterwards; what it complains of becomes a plain error."""
    engine = duckdb()
    settings = {"memory_limit": memory, "temp_directory": str(folder), "preserve_insertion_order": False}
    connection = engine.connect(config=settings)

    def run(query: str) -> Any:
        with ThreadPoolExecutor(1) as other:  # in this thread DuckDB would lose what a signal raises
            try:
                return other.submit(connection.execute, query).result()
            except BaseException:
                connection.interrupt()
                raise

    try:
        yield run
    except engine.OutOfMemoryException as error:
        raise MemoryError(f"DuckDB needs more than {memory} to put the rows in order: {one_line(str(error))}") from None
    except engine.IOException as error:
        raise OSError(f"the rows were not put in order: {one_line(str(error))}") from None
    except engine.Error as error:
        raise ValueError(f"the rows were not put in order: {one_line(str(error))}") from None
    finally:
        connection.close()
        shutil.rmtree(folder, ignore_errors=True)


def _prepare(run: Any, parts: Parts, who: Sequence[str], time: str | None, more: Sequence[str]) -> None:
    """The view s of the source with the number of each row, and the table of ids by name."""
    columns = ", ".join(map(_quoted, dict.fromkeys([*who, *([] if time is None else [time]), *more])))
    files = ", ".join("'" + str(part.path).replace("'", "''") + "'" for part in parts.files)
    first = ", ".join(f"{part.first}::BIGINT" for part in parts.files)
    number = f"[{first}][file_index::BIGINT + 1] + file_row_number"
    run(f"CREATE VIEW s AS SELECT {columns}, {number} AS {ROW} FROM read_parquet([{files}], hive_partitioning = false)")
    _check(run, who, time)
    places = ((_quoted(x), f"{len(who)} * {ROW} + {k}") for k, x in enumerate(who))
    every = " UNION ALL ".join(f"SELECT {x} AS name, {place} AS place FROM s" for x, place in places)
    run(
        "CREATE TABLE ids AS SELECT name, row_number() OVER (ORDER BY place) - 1 AS id "
        f"FROM (SELECT name, min(place) AS place FROM ({every}) GROUP BY name)"
    )


def _check(run: Any, who: Sequence[str], time: str | None) -> None:
    needed = [*who, *([] if time is None else [time])]
    a, b = map(_quoted, who)
    wrong = " OR ".join([*(f"{_quoted(x)} IS NULL" for x in needed), f"{a} = {b}"])
    names = ", ".join(map(_quoted, needed))
    found = run(f"SELECT {ROW}, {names} FROM s WHERE {wrong} ORDER BY {ROW} LIMIT 1").fetchone()
    if found is not None:
        row, *values = found
        for name, value in zip(needed, values, strict=True):
            if value is None:
                raise RowError(row, f"column {name!r} has no value")
        raise RowError(row, f"{name_of(values[0])} is on both sides; remove the row")


def _write(run: Any, query: str, path: Path, rows: int) -> None:
    run(f"COPY ({query}) TO '{str(path).replace(chr(39), chr(39) * 2)}' (FORMAT parquet, ROW_GROUP_SIZE {rows})")
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
