"""Parquet files that are one table, of any size: read a chunk at a time, in bounded memory."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.memory_checks import check_memory_fits
from jaxrate.data.table_sources import (
    TableSource,
    add_location_to_data_errors,
    check_columns_exist_and_unique,
    import_pyarrow,
)
from jaxrate.events import RowError

BYTES_PER_ROW = 100.0  # that a row takes in memory until it is rated, about
BATCH_ROWS = 1 << 18  # rows that are decoded at a time
INTEGER_VIEWS = {"date32": "int32", "date64": "int64", "timestamp": "int64"}  # of types of time
TRUTH_SUFFIX = ".truth.parquet"  # how the files end that `simulate` writes beside its histories


class ParquetTableFile(NamedTuple):
    """A Parquet file, and where its rows stand in the whole table."""

    path: Path
    first_row: int  # its number in the table
    groups: tuple[int, ...]  # rows of each of its row groups
    fingerprint: int  # of its footer, which has the place, size and range of every column

    @property
    def row_count(self) -> int:
        return sum(self.groups)


class ParquetTable(NamedTuple):
    """A table in Parquet files, end to end."""

    title: str  # the folder, pattern or file, as it was named
    files: tuple[ParquetTableFile, ...]
    schema: Any  # of Arrow

    @property
    def row_count(self) -> int:
        return self.files[-1].first_row + self.files[-1].row_count

    def where(self, row: int) -> str:
        """A row of the table as a row of its file, as errors about it begin."""
        file = next(file for file in reversed(self.files) if file.first_row <= row)
        return f"{file.path.name}: row {row - file.first_row} (counting from 0)"


def find_parquet_table(source: Any) -> ParquetTable:
    """The Parquet files of a folder (those directly in it, by name), of a pattern, or of a list; or a single one.

    Files of a folder or pattern are left out if their names begin with "." or "_", or if they hold the truth of a
    simulated history.

    Raises:
      ValueError: if there are none, if one cannot be read, or if their columns differ.
    """
    if isinstance(source, ParquetTable):
        return source
    paths = _parquet_paths(source)
    title = str(source) if isinstance(source, (str, os.PathLike)) else str(paths[0].parent)
    files: list[ParquetTableFile] = []
    schema: Any = None
    first = 0
    for path in paths:
        with name_file_in_errors(path):
            with import_pyarrow().parquet.ParquetFile(path) as file:
                metadata, file_schema = file.metadata, file.schema_arrow.remove_metadata()
            groups = tuple(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
        if schema is not None and not file_schema.equals(schema):
            difference = _schema_difference(schema, file_schema)
            raise ValueError(f"{path.name}: {difference}, unlike {files[0].path.name}; write all files alike")
        schema = file_schema
        files.append(ParquetTableFile(path, first, groups, crc32(repr(metadata.to_dict()).encode())))
        first += sum(groups)
    if not first:
        raise ValueError(f"{title}: no rows")
    return ParquetTable(title, tuple(files), schema)


def _parquet_paths(source: Any) -> list[Path]:
    """The files of a folder, pattern or list; ValueError if there are none, or for those that are no Parquet."""
    is_path = isinstance(source, (str, os.PathLike))
    if not is_path and not (
        isinstance(source, (list, tuple)) and all(isinstance(x, (str, os.PathLike)) for x in source)
    ):
        raise ValueError(f"cannot read a {type(source).__name__}; give a folder of Parquet files, a pattern or a list")
    paths = _list_parquet_files(Path(source)) if is_path else [Path(path) for path in source]
    for path in paths:
        if not path.name.lower().endswith(".parquet"):
            raise ValueError(f"{path}: what is rated by chunks is Parquet; the name must end in .parquet")
        if not path.is_file():
            raise ValueError(f"{path}: no such file")
    if not paths:
        raise ValueError(f"{source}: there are no Parquet files")
    return paths


def _list_parquet_files(path: Path) -> list[Path]:
    """The file, or those of a folder or pattern, in the order of their names."""
    if path.is_file():
        return [path]
    if (path / "checkpoint").is_file() and (path / "predictions").is_dir():
        raise ValueError(f"{path} holds what was rated by chunks, not matches; name the folder that was rated")
    found = path.glob("*.[pP][aA][rR][qQ][uU][eE][tT]") if path.is_dir() else map(Path, glob(str(path)))
    return [x for x in sorted(found) if not x.name.startswith((".", "_")) and not x.name.endswith(TRUTH_SUFFIX)]


def _schema_difference(schema: Any, other: Any) -> str:
    """How the columns of a file differ from those of the first."""
    for name in schema.names:
        if name not in other.names:
            return f"there is no column {name!r}"
        if other.field(name).type != schema.field(name).type:
            return f"column {name!r} is of {other.field(name).type}, not of {schema.field(name).type}"
    new = [f"there is a column {name!r}" for name in other.names if name not in schema.names]
    return new[0] if new else "its columns stand in another order"


@contextmanager
def name_file_in_errors(path: Path) -> Iterator[None]:
    """Errors of Arrow about a file become a ValueError that names it."""
    with add_location_to_data_errors(f"{path.name}: ", lambda row: f"{path.name}: row {row} (counting from 0)"):
        yield


def read_batches(
    parquet_table: ParquetTable, columns: Sequence[str], start: int = 0
) -> Iterator[tuple[ParquetTableFile, Any]]:
    """Arrow record batches of these columns, from a row of the table on, each with its file."""
    check_columns_exist_and_unique(parquet_table.schema.names, columns)
    for file in parquet_table.files:
        if not file.row_count or file.first_row + file.row_count <= start:
            continue
        ends = file.first_row + np.cumsum(file.groups)
        groups = np.flatnonzero(ends > start).tolist()
        skip = max(start - file.first_row - sum(file.groups[: groups[0]]), 0)
        with name_file_in_errors(file.path), import_pyarrow().parquet.ParquetFile(file.path) as reader:
            for batch in reader.iter_batches(BATCH_ROWS, row_groups=groups, columns=list(columns)):
                if skip >= len(batch):
                    skip -= len(batch)
                    continue
                yield file, batch.slice(skip)
                skip = 0


def read_chunks(
    parquet_table: ParquetTable,
    columns: Sequence[str],
    size: int,
    start: int = 0,
    group_begins: Callable[[Any], HostArray] | None = None,
) -> Iterator[tuple[int, Any]]:
    """The number of the first row, and the columns as an Arrow table, of chunks of `size` rows; the last is the rest.

    `group_begins` says of each row of an Arrow table but the first [n - 1] whether a group begins there. Rows of one
    group stay together: the chunk is shorter where it would part them, and longer if they are more than `size`.
    """
    arrow = import_pyarrow()
    pending = parquet_table.schema.empty_table().select(list(columns))
    for _, batch in read_batches(parquet_table, columns, start):
        pending = arrow.concat_tables([pending, arrow.Table.from_batches([batch])])
        while rows := _next_chunk_size(pending, size, group_begins):
            yield start, pending.slice(0, rows)
            start, pending = start + rows, pending.slice(rows)
    if len(pending):
        yield start, pending


def _next_chunk_size(pending: Any, size: int, group_begins: Callable[[Any], HostArray] | None) -> int:
    """How many of the rows that were read are the next chunk; 0: not known yet."""
    if group_begins is None:
        return size if len(pending) >= size else 0
    if len(pending) <= size:
        return 0
    ends = np.flatnonzero(group_begins(pending)) + 1
    return int(ends[max(int(np.searchsorted(ends, size, "right")) - 1, 0)]) if len(ends) else 0


def parquet_source(parquet_table: ParquetTable, max_rows: int | None = None) -> TableSource:
    """The table, or its first rows, as a source to read into memory."""
    arrow = import_pyarrow()
    count = parquet_table.row_count if max_rows is None else min(max_rows, parquet_table.row_count)

    def load(names: Sequence[str], text: Sequence[str] = ()) -> Any:
        hint = "; read the first of them, or rate them by chunks (`jr.rate` with chunk and out)"
        check_memory_fits(f"{count:,} rows in memory", BYTES_PER_ROW * count, hint=hint)
        batches, rows = [], 0
        for _, batch in read_batches(parquet_table, names):
            batches.append(batch)
            rows += len(batch)
            if rows >= count:
                break
        return arrow.Table.from_batches(batches).slice(0, count)

    return TableSource(f"{parquet_table.title}: ", parquet_table.schema.names, load, parquet_table.where)


def integer_range_from_footers(parquet_table: ParquetTable, name: str) -> tuple[int, int] | None:
    """The least and the greatest of a column of whole numbers, by the footers; None if one does not have them."""
    ranges = []
    for file in parquet_table.files:
        with name_file_in_errors(file.path), import_pyarrow().parquet.ParquetFile(file.path) as reader:
            metadata = reader.metadata
            leaves = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
            position = leaves.index(name)  # columns of structs have several leaves
            for i, rows in enumerate(file.groups):
                statistics = metadata.row_group(i).column(position).statistics
                if rows and (statistics is None or not statistics.has_min_max):
                    return None
                if rows:
                    ranges.append((statistics.min, statistics.max))
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def check_no_missing(name: str, column: Any, first: int = 0) -> None:
    """RowError where a column of Arrow has no value; `first` is the number of its first row."""
    if column.null_count:
        missing = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise RowError(first + missing, f"column {name!r} has no value")


def first_decreasing_row(parquet_table: ParquetTable, name: str) -> int | None:
    """The first row whose value in a column is below the one before it. Only that column is read, once.

    Raises:
      RowError: where there is no value.
    """
    before, row = None, 0
    for _, batch in read_batches(parquet_table, [name]):
        column = batch.column(0)
        check_no_missing(name, column, row)
        if (bits := INTEGER_VIEWS.get(str(column.type).partition("[")[0])) is not None:
            column = column.view(bits)
        values = column.to_numpy(zero_copy_only=False)
        if before is not None and values[0] < before:
            return row
        if (falls := values[1:] < values[:-1]).any():
            return row + int(np.argmax(falls)) + 1
        before, row = values[-1], row + len(values)
    return None
