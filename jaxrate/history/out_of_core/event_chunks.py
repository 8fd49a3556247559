"""Events in chunks of Parquet files, with ids of names."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_unquoted_name
from jaxrate.data.column_conversion import to_column, to_days
from jaxrate.data.column_recognition import recognise_columns
from jaxrate.data.column_role_definitions import select_role_arguments
from jaxrate.data.dataset_from_table import warn_recognised_columns
from jaxrate.data.date_parsing import parse_dates
from jaxrate.data.event_tables import (
    find_line_up_columns,
    format_name_of_id,
    label_codes,
    match_arguments_from_columns,
    participant_arguments_from_columns,
)
from jaxrate.data.faulty_rows import map_row_errors
from jaxrate.data.parquet_table import (
    ParquetTable,
    check_no_missing,
    first_decreasing_row,
    integer_range_from_footers,
    parquet_source,
    read_batches,
    read_chunks,
)
from jaxrate.data.role_resolution import ColumnRoles, resolve_roles
from jaxrate.data.seasons_and_margins import (
    NO_TIME_MESSAGE,
    MatchSeasons,
    find_season_starts,
    match_seasons_from_column,
    offset_row_errors,
)
from jaxrate.data.table_sources import Column, add_location_to_data_errors, import_pyarrow
from jaxrate.events import Matches, NameFormatters, Ragged, RowError, build_rounds, fail_where, matches
from jaxrate.events.dataset import Dataset
from jaxrate.history.out_of_core.duckdb_sort_and_ids import ROW_COLUMN, sort_by_time_and_assign_ids

NO_ID = -1


class IntegerIdAssigner(NamedTuple):
    """Assigns ids in order of first appearance; has the names by id."""

    ids: Callable[[HostArray], tuple[HostArray, int]]  # names [n, 2] to ids [n, 2] and the number of names so far
    names: HostArray  # [size of the range] by id


def make_integer_id_assigner(low: int, high: int, known_names: HostArray, dtype: Any) -> IntegerIdAssigner:
    """Ids of whole numbers from `low` to `high`; `known_names` have the first ids."""
    names = np.zeros(high - low + 1, dtype)
    id_of_offset = np.full(high - low + 1, NO_ID, np.int32)
    names[: len(known_names)] = known_names
    id_of_offset[known_names.astype(np.int64) - low] = np.arange(len(known_names), dtype=np.int32)
    count = len(known_names)

    def ids(player: HostArray) -> tuple[HostArray, int]:
        nonlocal count
        offset = np.subtract(player, low, dtype=np.int64)
        id_of_player = id_of_offset.take(offset)
        if count < len(names) and len(new := offset[id_of_player == NO_ID]):
            order = np.arange(NO_ID - 1, NO_ID - 1 - len(new), -1, dtype=np.int32)
            id_of_offset[new[::-1]] = order[::-1]  # the last assignment stands: where each appears first
            new = new[id_of_offset[new] == order]
            id_of_offset[new] = np.arange(count, count + len(new), dtype=np.int32)
            names[count : count + len(new)] = new + low
            count += len(new)
            id_of_player = id_of_offset.take(offset)
        return id_of_player, count

    return IntegerIdAssigner(ids, names)


NAMES_REASON = "names are no whole numbers that lie close together"
RECOGNITION_ROWS = 100_000  # whose contents tell what columns are
MAX_SPARSITY, SMALL_ID_RANGE = 4, 1 << 20  # ids stand in a table, so many times as long as the history at most


class OpenedTable(NamedTuple):
    """A table of matches, or of participations in contests, that is read in chunks."""

    source: ParquetTable
    table: ParquetTable  # the source, or its copy in order of time
    roles: ColumnRoles
    max_players: int
    names: Any  # [players] by id: an Arrow array, or one of NumPy that fills as they come
    ids: Any  # names [n, k] -> ids [n, k] and how many there are then; None if the table has ids
    clock: str | None  # as in `Dataset`

    @property
    def is_sorted_copy(self) -> bool:
        """Whether the source had to be put in order."""
        return self.table is not self.source

    @property
    def whole_days(self) -> bool:
        """Whether times are whole days."""
        kind = None if self.clock != "dates" else self.source.schema.field(self.roles.time).type
        return kind is not None and not import_pyarrow().types.is_timestamp(kind)


def resolve_event_roles(parquet_table: ParquetTable, arguments: Mapping[str, Any], stacklevel: int = 3) -> ColumnRoles:
    """Which columns are used, recognised as `read` does; a warning says which, and a ValueError refuses line-ups."""
    with add_location_to_data_errors(f"{parquet_table.title}: ", parquet_table.where):
        if find_line_up_columns(parquet_table.schema.names, select_role_arguments(arguments)) is not None:
            long_table = "write a row for each player, with columns contest, player, team and rank"
            raise ValueError(f"line-ups in several columns are not rated by chunks; {long_table}")
        table = parquet_source(parquet_table, RECOGNITION_ROWS)
        recognition = recognise_columns(table, select_role_arguments(arguments), False, None, ())
        roles = resolve_roles(table.names, recognition.arguments, False, recognition.points)
        roles = roles._replace(time=None) if recognition.timeless else roles
        if recognition.winner_codes:
            raise ValueError("numbers that stand for the winner are not read by chunks; write a column of scores")
    warn_recognised_columns(recognition.notes, roles.time, None, stacklevel=stacklevel)
    return roles


def table_season_starts(parquet_table: ParquetTable, season: str, roles: ColumnRoles) -> dict[str, float]:
    """When each season in this column begins, as in a `Dataset` of the whole table; two columns are read.

    Raises:
      ValueError: where a season has no name or time, or is not over, for the most part, when the next begins.
    """
    time, clock = roles.time, _detect_clock_kind(parquet_table, roles.time)

    def read_season_matches() -> Iterator[MatchSeasons]:
        first, names = 0, (season, str(time))
        for _, batch in read_batches(parquet_table, names):
            columns = {name: to_column(name, import_pyarrow().chunked_array([batch[name]])) for name in names}
            with offset_row_errors(first):
                days = _times_to_days_if_dates(str(time), columns[str(time)], clock)
            yield match_seasons_from_column(season, columns, days, first)
            first += len(batch)

    with add_location_to_data_errors(f"{parquet_table.title}: ", parquet_table.where):
        if time is None:
            raise ValueError(NO_TIME_MESSAGE)
        return find_season_starts(read_season_matches, None)


def table_digest(parquet_table: ParquetTable, roles: ColumnRoles) -> str:
    """A digest of the files of the table and of the columns that are used."""
    files = [(file.path.name, file.digest) for file in parquet_table.files]
    return sha256(repr((files, roles)).encode()).hexdigest()[:16]


def open_table_sorted_if_needed(
    parquet_table: ParquetTable, roles: ColumnRoles, folder: Path, rows: int, memory: str, known_names: HostArray | None
) -> OpenedTable:
    """The table, put in order if it has to be: if times decrease, or if names are no whole numbers that lie close.

    Also if contests are not numbered in the order in which they stand: else one might begin a second time, far below.

    Args:
      parquet_table: the source.
      roles: which columns are used.
      folder: where the ordered table is kept meanwhile.
      rows: number of rows of a chunk.
      memory: what ordering may take, as "2GB".
      known_names: names that have ids already, of a table that was not put in order.
    """
    time, player_columns = roles.time, roles.layout.players
    with add_location_to_data_errors("", parquet_table.where):
        _check_player_types(parquet_table, roles)
        clock = _detect_clock_kind(parquet_table, time)
        earlier, reason = _first_row_out_of_order(parquet_table, roles)
        if earlier is not None and known_names is not None:
            raise RowError(earlier, f"{reason}; rate all anew, in another folder")
        id_range = None if earlier is not None else _integer_name_range_if_dense(parquet_table, player_columns)
        if id_range is not None:
            dtype = np.result_type(*(parquet_table.schema.field(x).type.to_pandas_dtype() for x in player_columns))
            known_names = np.zeros(0, dtype) if known_names is None else known_names
            ids, names = make_integer_id_assigner(*id_range, known_names, dtype)
            max_players = min(len(names), len(player_columns) * parquet_table.row_count)
            return OpenedTable(parquet_table, parquet_table, roles, max_players, names, ids, clock)
        other_columns = [name for name in roles.all_columns if name not in (*player_columns, time)]
        sort_folder = folder / table_digest(parquet_table, roles)
        try:
            table, names = sort_by_time_and_assign_ids(
                parquet_table, player_columns, time, roles.layout.contest, other_columns, sort_folder, rows, memory
            )
        except ImportError as error:
            told = f"{parquet_table.where(earlier)}: {reason}" if earlier is not None else NAMES_REASON
            raise ImportError(f"{told}; {error}") from None
    return OpenedTable(parquet_table, table, roles, len(names), names, None, clock)


def _first_row_out_of_order(parquet_table: ParquetTable, roles: ColumnRoles) -> tuple[int | None, str]:
    """The first row whose time, or whose contest's number, is below the one before it, and what to say of it."""
    time, contest = roles.time, roles.layout.contest
    earlier = None if time is None else first_decreasing_row(parquet_table, time)
    if earlier is not None or contest is None:
        return earlier, "the time is earlier than in the row before"
    if not import_pyarrow().types.is_integer(parquet_table.schema.field(contest).type):
        return 0, "contests have no numbers"
    return first_decreasing_row(parquet_table, contest), "the number of the contest is below that in the row before"


def _check_player_types(parquet_table: ParquetTable, roles: ColumnRoles) -> None:
    kinds, names = import_pyarrow().types, roles.layout.players
    types = [parquet_table.schema.field(name).type for name in names]
    whole = all(map(kinds.is_integer, types)) and np.result_type(*(x.to_pandas_dtype() for x in types)).kind in "iu"
    if not (whole or all(map(_is_arrow_text_type, types))):
        got = " and ".join(map(str, types))
        both = "both be text or both whole numbers" if len(names) > 1 else "be text or whole numbers"
        raise ValueError(f"columns {names} must {both} of a kind, got {got}")


def _is_arrow_text_type(arrow_type: Any) -> bool:
    kinds = import_pyarrow().types
    if kinds.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    return kinds.is_string(arrow_type) or kinds.is_large_string(arrow_type) or kinds.is_string_view(arrow_type)


def _detect_clock_kind(parquet_table: ParquetTable, time: str | None) -> str | None:
    """Whether the times are dates or numbers, as `clock` of a `Dataset`; ValueError if they are neither."""
    if time is None:
        return None
    kinds, kind = import_pyarrow().types, parquet_table.schema.field(time).type
    if kinds.is_date(kind) or kinds.is_timestamp(kind):
        return "dates"
    if kinds.is_integer(kind) or kinds.is_floating(kind):
        return "dates" if _has_dates_in_numbers(parquet_table, time) else "numbers"
    raise ValueError(f"column {time!r} must hold dates, timestamps or numbers, got {kind}")


def _has_dates_in_numbers(parquet_table: ParquetTable, time: str) -> bool:
    """Whether all numbers of the column are dates, as 20240131 or seconds since 1970; reading ends soon if not."""
    columns = (import_pyarrow().chunked_array([batch[time]]) for _, batch in read_batches(parquet_table, [time]))
    styles = set[str | None]()
    for column in columns:
        if len(column):
            styles.add(parse_dates(time, column, None).written)
        if None in styles or len(styles) > 1:
            return False
    return bool(styles)


def _times_to_days_if_dates(time: str, column: Column, clock: str | None) -> HostArray:
    """[n] times as days, or as they are."""
    return to_days(time, parse_dates(time, column, None).column if clock == "dates" else column)[0]


def _integer_name_range_if_dense(parquet_table: ParquetTable, player_columns: list[str]) -> tuple[int, int] | None:
    """The least and the greatest name, if names are whole numbers close enough for a table of ids."""
    if not all(import_pyarrow().types.is_integer(parquet_table.schema.field(name).type) for name in player_columns):
        return None
    ranges = [integer_range_from_footers(parquet_table, name) for name in player_columns]
    if None in ranges:
        return None
    low, high = min(x[0] for x in ranges if x), max(x[1] for x in ranges if x)
    return (low, high) if high - low < max(MAX_SPARSITY * parquet_table.row_count, SMALL_ID_RANGE) else None


def read_event_chunks(
    opened: OpenedTable, size: int, start: int = 0, period: float | None = None
) -> Iterator[tuple[int, Dataset, int]]:
    """The number of the first row, the events of a chunk, and how many players have played by its end.

    A rating period of length `period` is never split between chunks, and neither is a contest. The datasets have no
    names of players: these are in `opened`.
    """
    roles, nobody = opened.roles, np.zeros(0, object)
    names = [*roles.all_columns, *([ROW_COLUMN] if opened.is_sorted_copy else [])]
    group_numbers: Any = None if period is None else partial(_period_numbers, str(roles.time), opened.clock, period)
    if roles.layout.contest is not None:
        group_numbers = _make_contest_counter(roles.layout.contest)
    for first, columns in read_chunks(opened.table, names, size, start, group_numbers):
        rows = np.arange(first, first + len(columns[names[0]]))
        if opened.is_sorted_copy:
            rows = columns[ROW_COLUMN].to_numpy()
        with map_row_errors_to_file(opened.source, rows):
            event_columns = {name: to_column(name, columns[name]) for name in roles.all_columns}
            player, num_players = _player_ids(opened, event_columns)
            events: Matches | Ragged
            if roles.layout.contest is None:
                fields = {"player": player} | match_arguments_from_columns(roles, event_columns, len(player))
                events, contests = matches(**fields | _time_argument(opened, event_columns)), None
            else:
                events, contests = _build_contests(opened, event_columns, player, rows)
            yield first, Dataset(events, nobody, rows, None, opened.clock, contests), num_players


def _make_contest_counter(contest: str) -> Callable[[Any], HostArray]:
    """A function of record batches that gives rows [n] the number of their contest, counting on from batch to batch."""
    last, number = object(), 0

    def count(batch: Any) -> HostArray:
        nonlocal last, number
        column = batch[contest]
        if import_pyarrow().types.is_dictionary(column.type):
            column = column.dictionary_decode()
        code = column.dictionary_encode(null_encoding="encode").indices.to_numpy()
        begins = np.append(column[0].as_py() != last, np.diff(code) != 0)
        numbers = number + np.cumsum(begins)
        last, number = column[len(column) - 1].as_py(), int(numbers[-1])
        return np.asarray(numbers)

    return count


def _period_numbers(time: str, clock: str | None, length: float, batch: Any) -> HostArray:
    """[n] the numbers of the rating periods of rows, as `period_number` has them once times are checked."""
    column = to_column(time, import_pyarrow().chunked_array([batch[time]]))
    return np.floor(_times_to_days_if_dates(time, column, clock) / length)


@contextmanager
def map_row_errors_to_file(parquet_table: ParquetTable, rows: HostArray) -> Iterator[None]:
    """Errors about rows of a chunk become those about rows of a file."""
    with add_location_to_data_errors(f"{parquet_table.title}: ", parquet_table.where), map_row_errors(rows):
        yield


def _player_ids(opened: OpenedTable, columns: dict[str, Any]) -> tuple[HostArray, int]:
    """The ids [n, k] of the players of matches, or of participants, and how many there are so far."""
    names = opened.roles.layout.players
    for name in names:
        check_no_missing(name, columns[name])
    player = np.stack([columns[name].to_numpy() for name in names], axis=1)
    if opened.ids is None:
        return player, opened.max_players
    if len(names) == 2:
        same = player[:, 0] == player[:, 1]
        fail_where(same, lambda row: f"{format_unquoted_name(player[row, 0])} is on both sides; remove the row")
    ids, num_players = opened.ids(player)
    return ids, num_players


def _time_argument(opened: OpenedTable, columns: dict[str, Any]) -> dict[str, HostArray]:
    """The times as an argument of `matches` or `rounds`; none without a column of time."""
    time = opened.roles.time
    return {} if time is None else {"time": _times_to_days_if_dates(time, columns[time], opened.clock)}


def _build_contests(
    opened: OpenedTable, columns: dict[str, Any], player: HostArray, rows: HostArray
) -> tuple[Ragged, HostArray]:
    """The contests of a chunk, and their names [E], as `read_participant_fields` has those of a table in memory."""
    roles, names = opened.roles, opened.names
    contest, contests = label_codes(str(roles.layout.contest), columns)

    def label(row: int) -> str:
        return f"contest {format_name_of_id(contests, contest[row])}"

    values = {"contest": contest, "player": player[:, 0]}
    values |= participant_arguments_from_columns(roles, columns, contest, label) | _time_argument(opened, columns)
    formatters = NameFormatters(
        lambda i: format_name_of_id(contests, i), lambda i: format_unquoted_name(names[int(i)]), lambda i: str(rows[i])
    )
    rounds = build_rounds(**values, formatters=formatters)
    return rounds, contests[contest[rounds.player_start[:-1]]]
