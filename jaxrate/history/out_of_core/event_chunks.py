"""Events in chunks of a table in order of time: read as tables in memory are, with ids in place of names."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.column_conversion import to_column, to_ids
from jaxrate.data.event_tables import NamesOfEarlierData, build_dataset
from jaxrate.data.faulty_rows import map_row_errors
from jaxrate.data.row_results import split_by_result
from jaxrate.data.seasons_and_margins import offset_row_errors
from jaxrate.data.table_files import iterate_located_batches, join_files
from jaxrate.data.table_sources import TableSource, add_location_to_data_errors, import_pyarrow
from jaxrate.events.dataset import Dataset
from jaxrate.history.event_columns import are_whole_days
from jaxrate.history.out_of_core.duckdb_sort import ROW_COLUMN, write_sorted_copy
from jaxrate.history.out_of_core.player_ids import PlayerIds
from jaxrate.history.out_of_core.table_reading import TableReading, convert_chunk

LATE_TIME = "the time is earlier than in the row before"
LATE_CONTEST = "the number of the contest is below that in the row before"


class TimeOrder(NamedTuple):
    """The places of rows in their table, and whether they are in order of time."""

    file_starts: list[int]  # the first row of each file
    num_rows: int
    whole_days: bool  # whether times are dates without hours
    faults: list[tuple[int, str]]  # the first row that stands too late, and what is wrong with it


def find_time_order(reading: TableReading) -> TimeOrder:
    """Whether times and numbers of contests never decrease, of which the columns are read once.

    Contests that are not numbered as they stand might begin a second time, far below.
    """
    source, contest = reading.source, reading.roles.layout.contest
    names = [*filter(None, (reading.roles.time, contest))] or reading.columns[:1]
    counts, whole_days, faults = [0] * len(source.parts), reading.clock == "dates", list[tuple[int, str]]()
    last = dict[str, HostArray]()
    located = (
        (file, batch) for file, part in enumerate(source.parts) for batch in iterate_located_batches(part, names)
    )
    for file, batch in located:
        first, keys = sum(counts), dict[str, HostArray]()
        counts[file] += len(batch)
        with add_location_to_data_errors("", source.where), offset_row_errors(first):
            if reading.roles.time is not None:
                keys[LATE_TIME] = reading.times(batch)
                whole_days = whole_days and are_whole_days(keys[LATE_TIME])
            if contest is not None and not faults:
                keys[LATE_CONTEST] = _contest_numbers(batch[contest], first)
        for reason, values in keys.items():
            falls = np.flatnonzero(np.diff(values, prepend=last.get(reason, values[:1])) < 0)
            faults += [(first + row, reason) for row in falls[:1].tolist()]
            last[reason] = values[-1:]
    return TimeOrder(np.cumsum([0, *counts[:-1]]).tolist(), sum(counts), whole_days, faults)


def _contest_numbers(column: Any, first: int) -> HostArray:
    """[n] the numbers of contests in rows from `first` on; of names, which have none, decreasing ones."""
    is_number = import_pyarrow().types.is_integer(column.type)
    return np.asarray(column.to_numpy() if is_number else -np.arange(first, first + len(column)))


class OpenedTable(NamedTuple):
    """A table of matches, or of participations in contests, that is read in chunks."""

    reading: TableReading
    order: TimeOrder
    table: TableSource  # the source, or its copy in order of time
    players: PlayerIds


def open_table_sorted_if_needed(
    reading: TableReading, order: TimeOrder, folder: Path, rows: int, memory: str
) -> TableSource:
    """The table, or its copy in the folder, which is written unless it is there, if rows stand too late.

    Args:
      reading: the source, and how it is read.
      order: in which its rows stand.
      folder: where copies are kept meanwhile, each in a folder of its own.
      rows: number of rows of a chunk.
      memory: what ordering may take, as "2GB".
    """
    if not order.faults:
        return reading.source
    row, reason = order.faults[0]
    path = folder / "ordered.parquet"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write_sorted_copy(reading, path, rows, memory)
        except ImportError as error:
            raise ImportError(f"{reading.source.where(row)}: {reason}; {error}") from None
    return join_files(path)


def read_event_chunks(
    opened: OpenedTable, size: int, start: int = 0, period: float | None = None
) -> Iterator[tuple[int, Dataset]]:
    """The number of the row after each chunk, and the events in it. Chunks are left out if no row of them counts.

    A rating period of length `period` is never split between chunks, and neither is a contest.
    """
    reading = opened.reading
    columns = [*reading.columns, *([ROW_COLUMN] if opened.order.faults else [])]
    for first, table in read_chunks(opened.table, columns, size, start, _make_group_finder(reading, period)):
        end = first + len(table)
        rows = table[ROW_COLUMN].to_numpy() if opened.order.faults else np.arange(first, end)
        with add_location_to_data_errors(reading.source.title, reading.source.where):
            data = _build_events(opened, table, rows)
        if data is not None:
            yield end, data


def read_chunks(
    source: TableSource,
    columns: list[str],
    size: int,
    start: int = 0,
    group_begins: Callable[[Any], HostArray] | None = None,
) -> Iterator[tuple[int, Any]]:
    """The number of the first row, and the columns as an Arrow table, of chunks of `size` rows; the last is the rest.

    `group_begins` says of each row of an Arrow table but the first [n - 1] whether a group begins there. Rows of one
    group stay together: the chunk is shorter where it would part them, and longer if they are more than `size`.
    """
    arrow, pending, skip = import_pyarrow(), None, start
    for batch in source.batches(columns):
        rows, skip = arrow.Table.from_batches([batch]).slice(skip), max(skip - len(batch), 0)
        pending = rows if pending is None else arrow.concat_tables([pending, rows])
        while count := _next_chunk_size(pending, size, group_begins):
            yield start, pending.slice(0, count)
            start, pending = start + count, pending.slice(count)
    if pending is not None and len(pending):
        yield start, pending


def _next_chunk_size(pending: Any, size: int, group_begins: Callable[[Any], HostArray] | None) -> int:
    """How many of the rows that were read are the next chunk; 0: not known yet."""
    if group_begins is None:
        return size if len(pending) >= size else 0
    if len(pending) <= size:
        return 0
    ends = np.flatnonzero(group_begins(pending)) + 1
    return int(ends[max(int(np.searchsorted(ends, size, "right")) - 1, 0)]) if len(ends) else 0


def _make_group_finder(reading: TableReading, period: float | None) -> Callable[[Any], HostArray] | None:
    """A function that says of rows of a table whether a rating period or a contest begins there; None: nothing does."""
    if period is not None:
        return lambda table: np.diff(np.floor(reading.times(table) / period)) != 0  # as `period_number` has them
    contest = reading.roles.layout.contest
    if contest is None:
        return None
    return lambda table: np.diff(to_ids([contest], {contest: to_column(contest, table[contest])})[0][:, 0]) != 0


def _build_events(opened: OpenedTable, table: Any, rows: HostArray) -> Dataset | None:
    """The events of the rows of an Arrow table; None if no row counts.

    `rows` [n] says where they stand in the source.
    """
    with map_row_errors(rows):
        converted, kept = convert_chunk(opened.reading, table)
    played = split_by_result(converted.roles, converted.columns).played
    if not played.any():
        return None
    names = NamesOfEarlierData(opened.players, opened.reading.categories)
    return build_dataset(converted.keep(played)._replace(rows=rows[kept[played]]), names, False)
