"""Events in chunks of a table: read as tables in memory are, with ids in place of names."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.column_conversion import missing_mask, to_column, to_ids
from jaxrate.data.dataset_from_table import ConvertedColumns, convert_columns, load_role_columns_and_drop_rows
from jaxrate.data.event_tables import NamesOfEarlierData, build_dataset, filter_column_rows
from jaxrate.data.faulty_rows import map_row_errors
from jaxrate.data.parquet_table import (
    ParquetTable,
    check_no_missing,
    find_parquet_table,
    first_decreasing_row,
    integer_range_from_footers,
    read_chunks,
)
from jaxrate.data.result_parsing import codes_to_scores, replace_na_values
from jaxrate.data.role_resolution import ColumnRoles, TableLayout
from jaxrate.data.row_results import split_by_result
from jaxrate.data.table_files import table_in_memory
from jaxrate.data.table_sources import Column, add_location_to_data_errors, import_pyarrow
from jaxrate.events import RowError, fail_where
from jaxrate.events.dataset import Dataset
from jaxrate.history.out_of_core.duckdb_sort import ROW_COLUMN, write_sorted_copy
from jaxrate.history.out_of_core.table_reading import TableReading, converted_scores, times_to_days_if_dates

NO_ID = -1
MAX_SPARSITY, SMALL_ID_RANGE = 4, 1 << 20  # ids stand in a table, so many times as long as the history at most
FIRST_CAPACITY = 1 << 16  # players there is room for at first, where it is not known how many there are


class PlayerIds:
    """Ids of names in order of first appearance, which are told as they come."""

    def __init__(self, known_names: Any = None) -> None:
        self.names = known_names  # by id, an array of Arrow; None: nobody has come yet

    @property
    def count(self) -> int:
        """How many names have come so far."""
        return 0 if self.names is None else len(self.names)

    @property
    def capacity(self) -> int:
        """How many players there is room for, which follows from their number alone."""
        return max(FIRST_CAPACITY, 1 << max(self.count - 1, 0).bit_length())

    def __call__(self, columns: Sequence[str], values: dict[str, Column]) -> tuple[HostArray, Any]:
        """Ids [n, columns] of the names in columns, and all names by id."""
        arrow = import_pyarrow()
        codes, labels = to_ids(columns, values)
        names = to_column("players", labels).combine_chunks()
        self.names = names.slice(0, 0) if self.names is None else self.names
        ids = arrow.compute.index_in(names, self.names).fill_null(NO_ID).to_numpy().copy()
        is_new = ids == NO_ID
        if is_new.any():
            ids[is_new] = self.count + np.arange(np.count_nonzero(is_new))
            self.names = arrow.concat_arrays([self.names, names.filter(arrow.array(is_new))])
        return ids[codes], self.names


class IntegerIds:
    """Ids of whole numbers that lie close together, by a table that fills as they come."""

    def __init__(self, low: int, high: int, dtype: Any, known_names: Any, capacity: int) -> None:
        size, known = high - low + 1, np.zeros(0, dtype) if known_names is None else known_names.to_numpy()
        self.names, self.count, self.capacity = np.zeros(size, dtype), len(known), min(size, capacity)
        self.names[: self.count] = known
        self._low, self._id_of_offset = low, np.full(size, NO_ID, np.int32)
        self._id_of_offset[known.astype(np.int64) - low] = np.arange(self.count, dtype=np.int32)

    def __call__(self, columns: Sequence[str], values: Mapping[str, Column]) -> tuple[HostArray, Any]:
        """Ids [n, columns] of the numbers in columns, and all names by id."""
        for name in columns:
            check_no_missing(name, values[name])
        player = np.stack([values[name].to_numpy() for name in columns], axis=1)
        offset, id_of_offset = np.subtract(player, self._low, dtype=np.int64), self._id_of_offset
        ids = id_of_offset.take(offset)
        if self.count < len(self.names) and len(new := offset[ids == NO_ID]):
            order = np.arange(NO_ID - 1, NO_ID - 1 - len(new), -1, dtype=np.int32)
            id_of_offset[new[::-1]] = order[::-1]  # the last assignment stands: where each appears first
            new = new[id_of_offset[new] == order]
            first, self.count = self.count, self.count + len(new)
            id_of_offset[new] = np.arange(first, self.count, dtype=np.int32)
            self.names[first : self.count] = new + self._low
            ids = id_of_offset.take(offset)
        return ids, self.names


class OpenedTable(NamedTuple):
    """A table of matches, or of participations in contests, that is read in chunks."""

    reading: TableReading
    table: ParquetTable  # the source, or its copy in order of time
    players: PlayerIds | IntegerIds

    @property
    def is_sorted_copy(self) -> bool:
        """Whether the source had to be put in order."""
        return self.table is not self.reading.source


def open_table_sorted_if_needed(
    reading: TableReading, folder: Path, rows: int, memory: str, known_names: Any = None, may_sort: bool = True
) -> OpenedTable:
    """The table, put in order if it has to be, as times decrease.

    Also if contests are not numbered in the order in which they stand: else one might begin a second time, far below.

    Args:
      reading: the source, and how it is read.
      folder: where the ordered table is kept meanwhile.
      rows: number of rows of a chunk.
      memory: what ordering may take, as "2GB".
      known_names: names that have ids already.
      may_sort: whether a table that is out of order is put in order, as one is not of which a part was rated.
    """
    source, table = reading.source, reading.source
    with add_location_to_data_errors("", source.where):
        players = _make_ids(source, reading.roles.layout, known_names)
        earlier, reason = _first_row_out_of_order(source, reading.roles)
        if earlier is not None and not may_sort:
            raise RowError(earlier, f"{reason}; rate all anew, in another folder")
        if earlier is not None:
            try:
                table = _open_sorted_copy(reading, folder, rows, memory)
            except ImportError as error:
                raise ImportError(f"{source.where(earlier)}: {reason}; {error}") from None
    return OpenedTable(reading, table, players)


def _open_sorted_copy(reading: TableReading, folder: Path, rows: int, memory: str) -> ParquetTable:
    """The copy of the table in order of time, which is written unless it is there."""
    files = [(file.path.name, file.fingerprint) for file in reading.source.files]
    path = folder / f"{crc32(repr((files, reading.roles, reading.columns)).encode()):08x}" / "ordered.parquet"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_sorted_copy(reading.source, reading.roles, reading.columns, path, rows, memory)
    return find_parquet_table(path)


def _first_row_out_of_order(parquet_table: ParquetTable, roles: ColumnRoles) -> tuple[int | None, str]:
    """The first row whose time, or whose contest's number, is below the one before it, and what to say of it."""
    time, contest = roles.time, roles.layout.contest
    earlier = None if time is None else first_decreasing_row(parquet_table, time)
    if earlier is not None or contest is None:
        return earlier, "the time is earlier than in the row before"
    if not import_pyarrow().types.is_integer(parquet_table.schema.field(contest).type):
        return 0, "contests have no numbers"
    return first_decreasing_row(parquet_table, contest), "the number of the contest is below that in the row before"


def _make_ids(source: ParquetTable, layout: TableLayout, known_names: Any) -> PlayerIds | IntegerIds:
    """What gives ids to names: by a table if they are whole numbers, of which the greatest is not too large for one."""
    types = [source.schema.field(name).type for name in layout.players]
    if not all(map(import_pyarrow().types.is_integer, types)):
        return PlayerIds(known_names)
    dtype = np.result_type(*(x.to_pandas_dtype() for x in types))
    ranges = [integer_range_from_footers(source, name) or (-np.inf, np.inf) for name in layout.players]
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)  # of Python, as int64 would wrap round
    if dtype.kind == "f" or high - low >= max(MAX_SPARSITY * source.row_count, SMALL_ID_RANGE):  # of int64 and uint64
        return PlayerIds(known_names)
    return IntegerIds(int(low), int(high), dtype, known_names, len(layout.players) * source.row_count)


def read_event_chunks(
    opened: OpenedTable, size: int, start: int = 0, period: float | None = None
) -> Iterator[tuple[int, Dataset]]:
    """The number of the row after each chunk, and the events in it. Chunks are left out if no row of them counts.

    A rating period of length `period` is never split between chunks, and neither is a contest.
    """
    source, contest, begins = opened.reading.source, opened.reading.roles.layout.contest, None
    if period is not None:
        begins = partial(_period_begins, str(opened.reading.roles.time), opened.reading.clock, period)
    elif contest is not None:
        begins = partial(_contest_begins, contest)
    columns = [*opened.reading.columns, *([ROW_COLUMN] if opened.is_sorted_copy else [])]
    for first, table in read_chunks(opened.table, columns, size, start, begins):
        end = first + len(table)
        rows = table[ROW_COLUMN].to_numpy() if opened.is_sorted_copy else np.arange(first, end)
        with add_location_to_data_errors(f"{source.title}: ", source.where):
            data = _build_events(opened, table, rows)
        if data is not None:
            yield end, data


def _contest_begins(contest: str, table: Any) -> HostArray:
    """[n - 1] whether a contest begins with each row but the first."""
    return np.diff(to_ids([contest], {contest: to_column(contest, table[contest])})[0][:, 0]) != 0


def _period_begins(time: str, clock: str | None, length: float, table: Any) -> HostArray:
    """[n - 1] whether a rating period begins with each row but the first, as `period_number` has them."""
    return np.diff(np.floor(times_to_days_if_dates(time, to_column(time, table[time]), clock) / length)) != 0


@contextmanager
def map_row_errors_to_file(parquet_table: ParquetTable, rows: HostArray) -> Iterator[None]:
    """Errors about rows of a chunk become those about rows of a file."""
    with add_location_to_data_errors(f"{parquet_table.title}: ", parquet_table.where), map_row_errors(rows):
        yield


def _build_events(opened: OpenedTable, table: Any, rows: HostArray) -> Dataset | None:
    """The events of the rows of an Arrow table, read beside the examples; None if no row counts.

    `rows` [n] says where they stand in the source.
    """
    reading = opened.reading
    beside = _beside_examples(reading.examples, table)
    num_examples = len(next(iter(beside.values()))) - len(table)
    rows = np.append(np.full(num_examples, rows[0]), rows)
    with map_row_errors(rows):
        converted, loaded, kept = _convert_chunk(opened, beside)
        _check_read_as_first_rows(opened, converted, beside)
        roles, columns = converted.roles, converted.columns
        if reading.clock == "numbers":
            columns[str(roles.time)] = loaded[str(roles.time)]
        elif converted.date_style != reading.date_style:
            raise ValueError(
                f"column {roles.time!r} has other numbers than {reading.date_style}, as the first rows have"
            )
        played = split_by_result(roles, columns).played & (kept >= num_examples)
    if not played.any():
        return None
    names = NamesOfEarlierData(opened.players, reading.categories)
    return build_dataset(roles, _select_rows(columns, played), rows[kept[played]], names, False)


def _convert_chunk(
    opened: OpenedTable, beside: Mapping[str, Column]
) -> tuple[ConvertedColumns, dict[str, Column], HostArray]:
    """The columns of a chunk below the examples as events are built from; as they were; and the rows that are kept.

    Raises:
      RowError: where a row is not as the others are.
    """
    resolved = opened.reading.resolved._replace(table=table_in_memory(beside, [*beside]))
    loaded, kept = load_role_columns_and_drop_rows(resolved.table, resolved.roles)
    if codes := resolved.winner_codes:
        result = str(resolved.roles.layout.result)
        column = replace_na_values(loaded[result])
        scores = codes_to_scores(result, column, codes)
        with map_row_errors(kept):
            fail_where(
                np.isnan(scores) & ~missing_mask(column, nan_is_missing=True),
                lambda row: (
                    f"column {result!r} is {column[row].as_py()}, and in the first rows only "
                    f"{' and '.join(map(str, codes))}; write scores from 0 to 1 instead"
                ),
            )
        loaded[result] = import_pyarrow().chunked_array([scores])
    return convert_columns(resolved, loaded, kept), loaded, kept


def _check_read_as_first_rows(opened: OpenedTable, converted: ConvertedColumns, beside: Mapping[str, Column]) -> None:
    """RowError, of the first row with which the examples are read otherwise than in the first rows of the table."""
    reading = opened.reading
    count = len(reading.example_scores)

    def is_read_otherwise(converted: ConvertedColumns) -> bool:
        draws, scores = converted.draws, converted_scores(converted)[:count]
        if draws is not None and draws.names != reading.draws:
            return True
        return not np.array_equal(scores, reading.example_scores, equal_nan=True)

    def is_start_read_otherwise(last: int) -> bool:
        start = {name: column[: last + 1] for name, column in beside.items()}
        return is_read_otherwise(_convert_chunk(opened, start)[0])

    if is_read_otherwise(converted):
        row = bisect_left(range(len(next(iter(beside.values())))), True, lo=count, key=is_start_read_otherwise)
        message = "with this row results are read otherwise than in the first rows of the table"
        raise RowError(row, f"{message}; write scores from 0 to 1 instead")


def _beside_examples(examples: Mapping[str, Column], table: Any) -> dict[str, Column]:
    """The columns of an Arrow table below the examples."""
    arrow, columns = import_pyarrow(), dict[str, Column]()
    for name in table.column_names:
        if name != ROW_COLUMN:
            values = to_column(name, table[name])
            known = examples[name]
            if isinstance(values, np.ndarray):  # of lists
                columns[name] = np.concatenate([known, values])
            else:
                columns[name] = arrow.chunked_array([*known.cast(values.type).chunks, *values.chunks], values.type)
    return columns


def _select_rows(columns: dict[str, Column], mask: HostArray) -> dict[str, Column]:
    """The rows where the mask is true; without a copy, if these are the last ones."""
    first = int(np.argmax(mask))
    if mask[first:].all():
        return {name: column[first:] for name, column in columns.items()}
    return filter_column_rows(columns, mask)
