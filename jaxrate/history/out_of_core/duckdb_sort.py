"""Tables larger than memory, put in order of time by DuckDB, which works on the disk.

It is installed with `pip install "jaxrate[large]"`.
"""

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from jaxrate.core.optional_imports import import_optional
from jaxrate.core.text_format import to_one_line
from jaxrate.data.table_sources import atomic_replacement, import_pyarrow
from jaxrate.history.out_of_core.table_reading import TableReading

ROW_COLUMN, TIME_COLUMN, CONTEST_COLUMN = "_row", "_time", "_contest"  # columns of the copy beside those of the source


def write_sorted_copy(reading: TableReading, path: Path, rows: int, memory: str) -> None:
    """Write the columns that are read in order of time, rows of the same time as they stood, to a Parquet file.

    The rows of a contest come together, where its first one stands. The copy also has the numbers of the rows.

    Args:
      reading: the table.
      path: the file to write.
      rows: number of rows of a row group.
      memory: what DuckDB may take, as "2GB".
    """
    engine, failures = import_optional("duckdb"), list[Exception]()
    order = [TIME_COLUMN] if reading.roles.time is not None else []
    order += [f"min({ROW_COLUMN}) OVER (PARTITION BY {CONTEST_COLUMN})"] if reading.roles.layout.contest else []
    folder, kinds = path.parent / "duckdb", {engine.OutOfMemoryException: MemoryError, engine.IOException: OSError}
    settings = {"memory_limit": memory, "temp_directory": str(folder), "preserve_insertion_order": False}
    schema = next(_iterate_batches_to_sort(reading, [])).schema
    stream = import_pyarrow().RecordBatchReader.from_batches(schema, _iterate_batches_to_sort(reading, failures))
    connection = engine.connect(config=settings)
    try:
        ordered = connection.from_arrow(stream).order(", ".join([*order, ROW_COLUMN]))
        with atomic_replacement(path) as (temporary,), ThreadPoolExecutor(1) as executor:
            try:  # in this thread DuckDB would lose what a signal raises
                executor.submit(ordered.write_parquet, str(temporary), row_group_size=rows).result()
            except BaseException:
                connection.interrupt()
                raise
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
    except engine.Error as error:
        if failures:  # of reading
            raise failures[0] from None
        raised = next((kind for known, kind in kinds.items() if isinstance(error, known)), ValueError)
        advice = f" (DuckDB may take {memory})" if raised is MemoryError else ""
        raise raised(f"the rows were not put in order{advice}: {to_one_line(str(error))}") from None
    finally:
        with suppress(engine.Error):  # after a second Ctrl-C it may still be at work
            connection.close()
        shutil.rmtree(folder, ignore_errors=True)


def _iterate_batches_to_sort(reading: TableReading, failures: list[Exception]) -> Iterator[Any]:
    """The columns that are read, and those by which rows are sorted; errors are also put down in `failures`."""
    first, kinds = 0, import_pyarrow().types
    try:
        for batch in reading.source.batches(reading.columns):
            columns = {name: batch[name] for name in reading.columns}
            for name, column in columns.items():  # as DuckDB would take dictionaries for enumerations
                columns[name] = column.cast(column.type.value_type) if kinds.is_dictionary(column.type) else column
            if reading.roles.time is not None:
                columns[TIME_COLUMN] = reading.times(columns)
            if reading.roles.layout.contest is not None:
                columns[CONTEST_COLUMN] = columns[reading.roles.layout.contest]
            columns[ROW_COLUMN] = np.arange(first, first + len(batch))
            yield from import_pyarrow().table(columns).to_batches()
            first += len(batch)
    except Exception as error:
        failures.append(error)
        raise
