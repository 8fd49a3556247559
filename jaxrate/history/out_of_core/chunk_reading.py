"""Chunks of a table read as events: its first rows say how, and DuckDB puts rows that stand too late in order of time.

`pip install "jaxrate[large]"` has DuckDB, which works on the disk.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.optional_imports import import_optional
from jaxrate.core.text_format import to_one_line
from jaxrate.data.column_conversion import is_text, to_column, to_ids
from jaxrate.data.column_recognition import ResolvedTable, append_columns, resolve_table
from jaxrate.data.column_role_definitions import raise_first_applicable_error, select_role_arguments
from jaxrate.data.dataset_from_table import (
    DrawRule,
    NoRowsLeftError,
    TableRows,
    build_dataset,
    convert_columns,
    draw_flag_rules,
    load_rows,
    match_status_columns,
    split_played_and_upcoming_rows,
    warn_about_columns,
)
from jaxrate.data.dataset_names import NamesOfEarlierData
from jaxrate.data.date_parsing import parse_further_times
from jaxrate.data.faulty_rows import renumber_row_errors
from jaxrate.data.match_seasons import (
    NO_TIME_MESSAGE,
    MatchSeasons,
    find_season_starts,
    match_seasons_from_column,
    offset_row_errors,
)
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_files import first_rows, iterate_located_batches, join_files, table_in_memory
from jaxrate.data.table_sources import (
    Column,
    TableSource,
    add_location_to_data_errors,
    atomic_replacement,
    import_pyarrow,
    numeric_text_to_numbers,
)
from jaxrate.events import fail_where
from jaxrate.events.dataset import Dataset
from jaxrate.history.event_columns import are_whole_days

RECOGNITION_ROWS = 100_000  # whose contents tell what columns are


class TableReading(NamedTuple):
    """What the columns of a table are used for, and what of the whole table each of its chunks needs to know."""

    source: TableSource  # the joined files
    resolved: ResolvedTable  # the season is none of its roles, as `seasons` are known
    columns: list[str]  # that are read
    text_columns: list[str]  # that are text, also where all values of a chunk are numbers
    example: TableRows  # of no rows, written as the first ones are
    categories: HostArray | None
    seasons: dict[str, float] | None

    @property
    def roles(self) -> ColumnRoles:
        """The columns by their roles."""
        return self.resolved.roles

    @property
    def has_teams(self) -> bool:
        """Whether these are matches of teams, which are contests of two."""
        return self.example.roles.num_first > 0

    @property
    def has_contests(self) -> bool:
        """Whether the events are contests."""
        return self.roles.contest is not None or self.has_teams

    def times(self, columns: Mapping[str, Any]) -> HostArray:
        """[n] the times of some rows, dates in days since 1970; RowError where one is missing and others are not."""
        name, clock = str(self.roles.time), self.example.clock
        times = parse_further_times(name, to_column(name, columns[name]), clock, self.example.date_style).values
        if clock is not None:
            fail_where(np.isnan(times), lambda row: f"column {name!r} has no value")
        return times


def resolve_table_reading(files: TableSource, arguments: Mapping[str, Any]) -> TableReading:
    """How the table is read: recognised in its first rows as `read` does; a warning says what was taken for what.

    Raises:
      ValueError: if the arguments do not fit the table, or if it cannot be read by chunks.
    """
    source = first_rows(files, RECOGNITION_ROWS)
    with add_location_to_data_errors(source.title, source.where):
        resolved = resolve_table(source, select_role_arguments(arguments), False, None, ())
        roles = resolved.roles
        sources = [*chain(*(derived.sources for derived in resolved.derived))]
        one_column = f"contests by chunks have one column, not {' and '.join(sources)}; write the two as one"
        raise_first_applicable_error(
            (roles.drop_mirrored, "drop='mirrored' needs the whole table in memory; rate it without chunk and out"),
            (sources and roles.contest, one_column),
        )
        loaded = load_rows(resolved.table, roles)
        converted = convert_columns(resolved, loaded)
        rules = _rules_for_draws(converted, source.names)
        names_of_draws = [*chain(*(rule.names for rule in rules))]
        used = [*roles.all_columns, *names_of_draws, *match_status_columns(source.names, roles.all_columns), *sources]
        columns = [*dict.fromkeys(x for x in used if x in source.names)]
        warn_about_columns(resolved, converted, None)
        reading = TableReading(
            files,
            resolved._replace(roles=roles._replace(season=None)),
            columns,
            [x for x in columns if x not in loaded.columns or is_text(loaded.columns[x])],
            converted._replace(draws=rules).keep(np.zeros(len(converted.rows), bool)),
            _distinct_categories(files, roles.category) if roles.category else None,
            None,
        )
        if roles.season is not None:
            reading = reading._replace(seasons=_find_table_seasons(reading, roles.season))
    return reading


def _rules_for_draws(converted: TableRows, names: Sequence[str]) -> Sequence[DrawRule]:
    """What may tell which matches are drawn: what does so in the first rows, or flags that may do so in later ones."""
    roles = converted.roles
    if roles.contest is not None or not (roles.winner_first or roles.result):
        return []
    others = [name for name in names if name not in roles.all_columns]
    return converted.draws or [*draw_flag_rules(others, roles.winner_first)]


def _iterate_column_batches(files: TableSource, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Column]]]:
    """The number of the first row, and columns by name, of batches of rows; errors about rows count from the first."""
    first = 0
    for batch in files.batches(columns):
        with offset_row_errors(first):
            yield first, {name: to_column(name, batch[name]) for name in columns}
        first += len(batch)


def _distinct_categories(files: TableSource, columns: list[str]) -> HostArray:
    """The names of categories in order of first appearance."""
    names, kind = dict[Any, None](), None
    for first, values in _iterate_column_batches(files, [*dict.fromkeys(columns)]):
        with offset_row_errors(first):
            labels = to_ids(columns, values, subject="categories")[1]
        names |= dict.fromkeys(labels.tolist())
        kind = labels.dtype
    return np.array([*names], kind)


def _find_table_seasons(reading: TableReading, season: str) -> dict[str, float]:
    """When each season begins, as in a `Dataset` of the whole table; two columns are read.

    Raises:
      ValueError: where a season has no name or time, or is not over, for the most part, when the next begins.
    """
    if reading.roles.time is None:
        raise ValueError(NO_TIME_MESSAGE)

    def read_season_matches() -> Iterable[MatchSeasons]:
        for first, columns in _iterate_column_batches(reading.source, (season, str(reading.roles.time))):
            with offset_row_errors(first):
                days = reading.times(columns)
            yield match_seasons_from_column(season, columns, days, first)

    return find_season_starts(read_season_matches, None)


NO_ID = -1
FIRST_CAPACITY = 1 << 16  # players there is room for at first
MAX_SPARSITY, SMALL_ID_RANGE = 4, 1 << 22  # ids stand in a table that is so many times as long as the names at most


class PlayerIds:
    """Ids of names, which are told as they come.

    Whole numbers that lie close together are looked up in a table; other names, in a hash table of Arrow.
    """

    def __init__(self, names: Any = None) -> None:
        self.names = names  # by id, an array of Arrow; None: nobody has come yet
        self._low, self._id_of_number = 0, np.zeros(0, np.int32)  # the least number, and the ids from it on
        self._index_numbers(0)

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
        ids = self._find_ids([values[name] for name in columns])
        rows = np.flatnonzero((ids == NO_ID).any(axis=1))
        if len(rows):
            places = import_pyarrow().array(rows)
            with renumber_row_errors(rows):
                codes, labels = to_ids(columns, {name: values[name].take(places) for name in columns})
            id_of_code = np.full(len(labels), NO_ID, np.int32)
            id_of_code[codes] = ids[rows]
            is_new = id_of_code == NO_ID
            id_of_code[is_new] = self.count + np.arange(np.count_nonzero(is_new))
            ids[rows] = id_of_code[codes]
            first, new = self.count, to_column("players", labels[is_new]).combine_chunks()
            self.names = new if self.names is None else import_pyarrow().concat_arrays([self.names, new])
            self._index_numbers(first)
        return ids, self.names

    def _find_ids(self, parts: Sequence[Any]) -> HostArray:
        """[n, parts] the ids of names in columns; `NO_ID` of those that are new or missing."""
        if self.names is None:
            return np.full((len(parts[0]), len(parts)), NO_ID, np.int32)
        arrow, kind = import_pyarrow(), self.names.type
        flat = arrow.chunked_array([chunk for part in parts for chunk in part.cast(kind).chunks], kind)
        if len(self._id_of_number) and not flat.null_count:
            number = flat.to_numpy()
            is_near = (number >= self._low) & (number < self._low + len(self._id_of_number))
            offset = np.where(is_near, number.astype(np.int64) - self._low, 0)
            ids = np.where(is_near, self._id_of_number.take(offset), NO_ID)
        else:
            ids = arrow.compute.index_in(flat, self.names).fill_null(NO_ID).to_numpy()
        return np.array(ids.reshape(len(parts), -1).T, np.int32, order="C")

    def _index_numbers(self, first: int) -> None:
        """Enter the names from id `first` on in the table, if they are whole numbers close enough for one."""
        if not self.count or not import_pyarrow().types.is_integer(self.names.type):
            return
        end = self._low + len(self._id_of_number)
        numbers = self.names[first:].to_numpy()
        low, high = int(numbers.min()), int(numbers.max())
        if low < self._low or high >= end:  # a new table, with room for as many numbers again
            first, numbers = 0, self.names.to_numpy()
            low, high = int(numbers.min()), int(numbers.max())
            is_dense = high - low < max(MAX_SPARSITY * self.count, SMALL_ID_RANGE)
            self._low, self._id_of_number = low, np.full((high - low + 1) * is_dense, NO_ID, np.int32)
        if len(self._id_of_number):
            self._id_of_number[numbers.astype(np.int64) - self._low] = np.arange(first, self.count, dtype=np.int32)


LATE_TIME = "the time is earlier than in the row before"
LATE_CONTEST = "the number of the contest is below that in the row before"


class TimeOrder(NamedTuple):
    """The places of rows in their table, and whether they are in order of time."""

    file_starts: list[int]  # the first row of each file
    num_rows: int
    whole_days: bool  # whether times are dates without hours
    faults: list[tuple[int, str]]  # the first row that stands too late, and what is wrong with it


def find_time_order(reading: TableReading) -> TimeOrder:
    """Whether times and numbers of contests never decrease, of which the columns are read once."""
    source, contest = reading.source, reading.roles.contest
    names = [*filter(None, (reading.roles.time, contest))] or reading.columns[:1]
    counts, whole_days, faults = [0] * len(source.parts), reading.example.clock == "dates", list[tuple[int, str]]()
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
                column = batch[contest]  # of names, which have no order, numbers that decrease
                is_number = import_pyarrow().types.is_integer(column.type)
                keys[LATE_CONTEST] = np.asarray(column if is_number else -np.arange(first, first + len(column)))
        for reason, values in keys.items():
            falls = np.flatnonzero(np.diff(values, prepend=last.get(reason, values[:1])) < 0)
            faults += [(first + row, reason) for row in falls[:1].tolist()]
            last[reason] = values[-1:]
    return TimeOrder(np.cumsum([0, *counts[:-1]]).tolist(), sum(counts), whole_days, faults)


ROW_COLUMN, TIME_COLUMN, CONTEST_COLUMN = "_row", "_time", "_contest"  # columns of the copy beside those of the source


def write_sorted_copy(reading: TableReading, path: Path, rows: int, memory: str) -> None:
    """Write the columns that are read in order of time, rows of the same time as they stood, to a Parquet file.

    The rows of a contest come together, where its first one stands. The copy also has the numbers of the rows. A row
    group has so many rows, and DuckDB may take so much memory, as "2GB".
    """
    engine, failures = import_optional("duckdb"), list[Exception]()
    order = [TIME_COLUMN] if reading.roles.time is not None else []
    order += [f"min({ROW_COLUMN}) OVER (PARTITION BY {CONTEST_COLUMN})"] if reading.roles.contest else []
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
            if reading.roles.contest is not None:
                columns[CONTEST_COLUMN] = columns[reading.roles.contest]
            columns[ROW_COLUMN] = np.arange(first, first + len(batch))
            yield from import_pyarrow().table(columns).to_batches()
            first += len(batch)
    except Exception as error:
        failures.append(error)
        raise


class OpenedTable(NamedTuple):
    """A table of matches, or of participations in contests, that is read in chunks."""

    reading: TableReading
    order: TimeOrder
    table: TableSource  # the source, or its copy in order of time
    players: PlayerIds


def open_table_sorted_if_needed(
    reading: TableReading, order: TimeOrder, folder: Path, rows: int, memory: str
) -> TableSource:
    """The table, or if rows stand too late its sorted copy in `folder`, written once as in `write_sorted_copy`."""
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
    start: int,
    group_begins: Callable[[Any], HostArray],
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


def _next_chunk_size(pending: Any, size: int, group_begins: Callable[[Any], HostArray]) -> int:
    """How many of the rows that were read are the next chunk; 0: not known yet."""
    ends = np.flatnonzero(group_begins(pending)) + 1 if len(pending) > size else ()
    return int(ends[max(int(np.searchsorted(ends, size, "right")) - 1, 0)]) if len(ends) else 0


def _make_group_finder(reading: TableReading, period: float | None) -> Callable[[Any], HostArray]:
    """A function that says of rows of a table but the first whether a rating period, a contest or a match begins."""
    contest = reading.roles.contest
    if period is not None:
        return lambda table: np.diff(np.floor(reading.times(table) / period)) != 0  # as `period_number` has them
    if contest is not None:
        return lambda table: np.diff(to_ids([contest], {contest: to_column(contest, table[contest])})[0][:, 0]) != 0
    return lambda table: np.ones(len(table) - 1, bool)


def _build_events(opened: OpenedTable, table: Any, rows: HostArray) -> Dataset | None:
    """The events of the rows of an Arrow table, read as the first rows are; None if no row counts."""
    reading = opened.reading
    with renumber_row_errors(rows):
        if reading.source.is_text:
            table = numeric_text_to_numbers(table, reading.text_columns)
        read = reduce(append_columns, reading.resolved.derived, table_in_memory(table, reading.columns))
        try:
            loaded = load_rows(read, reading.roles)
        except NoRowsLeftError:
            return None
        converted = convert_columns(reading.resolved, loaded, like=reading.example)
    played = split_played_and_upcoming_rows(converted).played
    if not played.any():
        return None
    names = NamesOfEarlierData(opened.players, reading.categories)
    return build_dataset(converted._replace(rows=rows[converted.rows]).keep(played), names, False)
