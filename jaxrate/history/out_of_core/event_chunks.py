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
from jaxrate.history.out_of_core.duckdb_sort_and_ids import ID_COLUMN, ROW_COLUMN, write_sorted_copy
from jaxrate.history.out_of_core.table_reading import TableReading, converted_scores, times_to_days_if_dates

NO_ID = -1
NAMES_REASON = "names are no whole numbers that lie close together"
MAX_SPARSITY, SMALL_ID_RANGE = 4, 1 << 20  # ids stand in a table, so many times as long as the history at most


class PlayerIds:
    """Ids of whole numbers by a table that fills as they come; without a table the numbers are ids already."""

    def __init__(self, names: Any, count: int, low: int = 0, id_of_offset: HostArray | None = None) -> None:
        self.names, self.count = names, count  # [max_players] by id, and how many have come so far
        self._low, self._id_of_offset = low, id_of_offset

    @classmethod
    def for_integers_between(cls, low: int, high: int, known_names: HostArray, dtype: Any) -> "PlayerIds":
        """Those of whole numbers from `low` to `high`; `known_names` have the first ids."""
        names, id_of_offset = np.zeros(high - low + 1, dtype), np.full(high - low + 1, NO_ID, np.int32)
        names[: len(known_names)] = known_names
        id_of_offset[known_names.astype(np.int64) - low] = np.arange(len(known_names), dtype=np.int32)
        return cls(names, len(known_names), low, id_of_offset)

    def __call__(self, columns: Sequence[str], values: Mapping[str, Column]) -> tuple[HostArray, Any]:
        """Ids [n, columns] of the numbers in columns, and all names by id."""
        for name in columns:
            check_no_missing(name, values[name])
        player = np.stack([values[name].to_numpy() for name in columns], axis=1)
        return player if self._id_of_offset is None else self._assign(player, self._id_of_offset), self.names

    def _assign(self, player: HostArray, id_of_offset: HostArray) -> HostArray:
        """Ids [n, columns] in order of first appearance, row by row."""
        offset = np.subtract(player, self._low, dtype=np.int64)
        ids = id_of_offset.take(offset)
        if self.count < len(self.names) and len(new := offset[ids == NO_ID]):
            order = np.arange(NO_ID - 1, NO_ID - 1 - len(new), -1, dtype=np.int32)
            id_of_offset[new[::-1]] = order[::-1]  # the last assignment stands: where each appears first
            new = new[id_of_offset[new] == order]
            first, self.count = self.count, self.count + len(new)
            id_of_offset[new] = np.arange(first, self.count, dtype=np.int32)
            self.names[first : self.count] = new + self._low
            ids = id_of_offset.take(offset)
        return ids


class OpenedTable(NamedTuple):
    """A table of matches, or of participations in contests, that is read in chunks."""

    reading: TableReading
    table: ParquetTable  # the source, or its copy in order of time
    columns: list[str]  # of `table`
    layout: TableLayout  # by which events are built: of a copy its players are in columns of ids
    players: PlayerIds
    max_players: int

    @property
    def is_sorted_copy(self) -> bool:
        """Whether the source had to be put in order."""
        return self.table is not self.reading.source


def open_table_sorted_if_needed(
    reading: TableReading, folder: Path, rows: int, memory: str, known_names: HostArray | None
) -> OpenedTable:
    """The table, put in order if it has to be: if times decrease, or if names are no whole numbers that lie close.

    Also if contests are not numbered in the order in which they stand: else one might begin a second time, far below.

    Args:
      reading: the source, and how it is read.
      folder: where the ordered table is kept meanwhile.
      rows: number of rows of a chunk.
      memory: what ordering may take, as "2GB".
      known_names: names that have ids already, of a table that was not put in order.
    """
    source, layout = reading.source, reading.roles.layout
    with add_location_to_data_errors("", source.where):
        dtype = _integer_name_type(source, layout)
        earlier, reason = _first_row_out_of_order(source, reading.roles)
        if earlier is not None and known_names is not None:
            raise RowError(earlier, f"{reason}; rate all anew, in another folder")
        id_range = None if earlier is not None or dtype is None else _range_if_dense(source, layout.players)
        if id_range is not None:
            players = PlayerIds.for_integers_between(
                *id_range, np.zeros(0, dtype) if known_names is None else known_names, dtype
            )
            max_players = min(len(players.names), len(layout.players) * source.row_count)
            return OpenedTable(reading, source, reading.columns, layout, players, max_players)
        try:
            return _open_sorted_copy(reading, folder, rows, memory)
        except ImportError as error:
            reason = NAMES_REASON if earlier is None else f"{source.where(earlier)}: {reason}"
            raise ImportError(f"{reason}; {error}") from None


def _open_sorted_copy(reading: TableReading, folder: Path, rows: int, memory: str) -> OpenedTable:
    """The copy of the table in order of time, which is written unless it is there."""
    layout, columns = reading.roles.layout, reading.columns
    if not reading.needs_names or reading.has_teams:
        columns = [name for name in columns if name not in layout.players]
    files = [(file.path.name, file.fingerprint) for file in reading.source.files]
    folder = folder / f"{crc32(repr((files, reading.roles, columns)).encode()):08x}"
    ordered, names = folder / "ordered.parquet", folder / "names.parquet"
    if not ordered.exists():
        folder.mkdir(parents=True, exist_ok=True)
        roles = reading.roles
        if reading.draws is not None:  # which tells that rows without a result are drawn
            roles = roles._replace(layout=layout._replace(result=None))
        write_sorted_copy(reading.source, roles, columns, ordered, names, rows, memory)
    table, name_of_id = find_parquet_table(ordered), import_pyarrow().parquet.read_table(names)["name"].combine_chunks()
    ids = [name for name in table.schema.names if name.startswith(ID_COLUMN[:3])]
    first = sum(name.startswith(ID_COLUMN.format(0, "")) for name in ids) if reading.has_teams else 0
    players, count = PlayerIds(name_of_id, len(name_of_id)), len(name_of_id)
    return OpenedTable(
        reading, table, table.schema.names, layout._replace(players=ids, num_first=first), players, count
    )


def _first_row_out_of_order(parquet_table: ParquetTable, roles: ColumnRoles) -> tuple[int | None, str]:
    """The first row whose time, or whose contest's number, is below the one before it, and what to say of it."""
    time, contest = roles.time, roles.layout.contest
    earlier = None if time is None else first_decreasing_row(parquet_table, time)
    if earlier is not None or contest is None:
        return earlier, "the time is earlier than in the row before"
    if not import_pyarrow().types.is_integer(parquet_table.schema.field(contest).type):
        return 0, "contests have no numbers"
    return first_decreasing_row(parquet_table, contest), "the number of the contest is below that in the row before"


def _integer_name_type(parquet_table: ParquetTable, layout: TableLayout) -> Any:
    """The type of names if all are whole numbers; None of text, and where several players stand in a cell."""
    kinds = import_pyarrow().types
    types = [parquet_table.schema.field(name).type for name in layout.players]
    inner = [x.value_type if kinds.is_nested(x) or kinds.is_dictionary(x) else x for x in types]
    if all(map(kinds.is_integer, inner)):
        dtype = np.result_type(*(x.to_pandas_dtype() for x in inner))
        if dtype.kind in "iu":  # not of int64 and uint64, which are floats together
            return dtype if inner == types else None
    texts = import_pyarrow().string(), import_pyarrow().large_string(), import_pyarrow().string_view()
    if not {*inner} <= {*texts}:
        got = " and ".join(map(str, types))
        both = "both be text or both whole numbers" if len(types) > 1 else "be text or whole numbers"
        raise ValueError(f"columns {layout.players} must {both} of a kind, got {got}")
    return None


def _range_if_dense(parquet_table: ParquetTable, columns: list[str]) -> tuple[int, int] | None:
    """The least and the greatest name, if these whole numbers lie close enough for a table of ids."""
    ranges = [integer_range_from_footers(parquet_table, name) for name in columns]
    if None in ranges:
        return None
    low, high = min(x[0] for x in ranges if x), max(x[1] for x in ranges if x)
    return (low, high) if high - low < max(MAX_SPARSITY * parquet_table.row_count, SMALL_ID_RANGE) else None


def read_event_chunks(
    opened: OpenedTable, size: int, start: int = 0, period: float | None = None
) -> Iterator[tuple[int, Dataset]]:
    """The number of the row after each chunk, and the events in it. Chunks are left out if no row of them counts.

    A rating period of length `period` is never split between chunks, and neither is a contest.
    """
    source, contest, begins = opened.reading.source, opened.layout.contest, None
    if period is not None:
        begins = partial(_period_begins, str(opened.reading.roles.time), opened.reading.clock, period)
    elif contest is not None:
        begins = partial(_contest_begins, contest)
    for first, table in read_chunks(opened.table, opened.columns, size, start, begins):
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
        played = split_by_result(roles, columns).played & (kept >= num_examples)
    if not played.any():
        return None
    ids = {name: beside[name].take(import_pyarrow().array(kept)) for name in {*opened.layout.players} - {*columns}}
    layout = roles.layout._replace(players=opened.layout.players, num_first=opened.layout.num_first)
    names = NamesOfEarlierData(opened.players, reading.categories)
    chosen = _select_rows(columns | ids, played)
    return build_dataset(roles._replace(layout=layout), chosen, rows[kept[played]], names, False, False)


def _convert_chunk(
    opened: OpenedTable, beside: Mapping[str, Column]
) -> tuple[ConvertedColumns, dict[str, Column], HostArray]:
    """The columns of a chunk below the examples as events are built from; as they were; and the rows that are kept.

    Raises:
      RowError: where a row is not as the others are.
    """
    reading, roles = opened.reading, opened.reading.roles
    if not {*roles.layout.players} <= {*beside}:
        roles = roles._replace(layout=opened.layout)
    resolved = reading.resolved._replace(table=table_in_memory(beside, [*beside]), roles=roles)
    loaded, kept = load_role_columns_and_drop_rows(resolved.table, roles)
    if codes := resolved.recognition.winner_codes:
        result = str(roles.layout.result)
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
        draws = converted.draws and converted.draws.name
        scores = converted_scores(converted)[:count]
        if draws not in (None, reading.draws):
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
    """The columns of an Arrow table below the examples, which have zeros for ids."""
    arrow, columns = import_pyarrow(), dict[str, Column]()
    count = len(next(iter(examples.values())))
    for name in table.column_names:
        if name != ROW_COLUMN:
            values = to_column(name, table[name])
            known = examples.get(name, arrow.chunked_array([np.zeros(count, np.int32)]))
            columns[name] = arrow.chunked_array([*known.cast(values.type).chunks, *values.chunks], values.type)
    return columns


def _select_rows(columns: dict[str, Column], mask: HostArray) -> dict[str, Column]:
    """The rows where the mask is true; without a copy, if these are the last ones."""
    first = int(np.argmax(mask))
    if mask[first:].all():
        return {name: column[first:] for name, column in columns.items()}
    return filter_column_rows(columns, mask)
