"""Matches in Parquet files of any size, a chunk at a time: in order of time, with ids in place of names."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxrate.data.column_conversion import to_column, to_days
from jaxrate.data.column_roles import Roles, resolve_roles
from jaxrate.data.date_parsing import EIGHT_DIGITS, parse_dates
from jaxrate.data.integer_ids import assign_integer_ids
from jaxrate.data.match_tables import match_numbers
from jaxrate.data.parquet_table import (
    ParquetTable,
    check_no_missing,
    first_decreasing_row,
    integer_range,
    read_batches,
    read_chunks,
)
from jaxrate.data.seasons_and_margins import (
    NO_TIME_MESSAGE,
    SeasonMatches,
    find_season_starts,
    offset_row_errors,
    season_matches,
)
from jaxrate.data.table_sources import Column, import_pyarrow, locate_data_errors
from jaxrate.events import RowError, fail_where, matches
from jaxrate.events.dataset import Dataset
from jaxrate.league.out_of_core.external_sort import ROW_COLUMN, sort_by_time
from jaxrate.text_format import format_name
from jaxrate.types import HostArray

SUPPORTED_ROLES = ("a", "b", "winner", "loser", "score", "time", "side", "neutral", "weight")  # that columns may have
UNSUPPORTED_ROLES = (
    "contest",
    "participant",
    "rank",
    "last_rank",
    "team",
    "ceiling",
    "noise",
    "category",
    "season",
    "rest",
    "form",
    "league_season",
)
LIST_ROLES = ("columns", "drop", "margin", "covariates", "age", "statistics", "shares")
MAX_SPARSITY, SMALL_ID_RANGE = (
    4,
    1 << 20,
)  # whole numbers are looked up in a table, which may be so many times as long as the history


class OpenedMatches(NamedTuple):
    """A table of matches that is read in chunks."""

    source: ParquetTable
    table: ParquetTable  # the source, or what it became when it was put in order
    roles: Roles
    players: int  # how many there are at most
    names: Any  # [players] by id: an Arrow array, or one of NumPy that fills as they come
    ids: Any  # names [n, 2] -> ids [n, 2] and how many are known then; None if the table has ids
    clock: str | None  # as in `Dataset`

    @property
    def ordered(self) -> bool:
        """Whether the source had to be put in order."""
        return self.table is not self.source

    @property
    def whole_days(self) -> bool:
        """Whether times are days, and have no time of day."""
        kind = None if self.clock != "dates" else self.source.schema.field(self.roles.time).type
        return kind is not None and not import_pyarrow().types.is_timestamp(kind)


def resolve_match_roles(parquet_table: ParquetTable, arguments: Mapping[str, Any]) -> Roles:
    """Which columns are used; ValueError for contests."""
    nothing: dict[str, Any] = dict.fromkeys((*SUPPORTED_ROLES, *UNSUPPORTED_ROLES)) | dict.fromkeys(LIST_ROLES, ())
    with locate_data_errors(f"{parquet_table.title}: ", parquet_table.where):
        roles = resolve_roles(parquet_table.schema.names, nothing | dict(arguments), False)
        if roles.form.contest is not None:
            raise ValueError("contests are not rated by chunks; read them into memory")
        return roles


def table_season_starts(parquet_table: ParquetTable, season: str, roles: Roles) -> dict[str, float]:
    """When each season in this column begins, as in a `Dataset` of the whole table; two columns are read.

    Raises:
      ValueError: where a season has no name or time, or is not over, for the most part, when the next begins.
    """
    time, clock = roles.time, _time_clock(parquet_table, roles.time)

    def pieces() -> Iterator[SeasonMatches]:
        first = 0
        for _, batch in read_batches(parquet_table, [season, str(time)]):
            found = {
                name: to_column(name, import_pyarrow().chunked_array([batch[name]])) for name in (season, str(time))
            }
            with offset_row_errors(first):
                days = _times_to_days(str(time), found[str(time)], clock)
            yield season_matches(season, found, days, first)
            first += len(batch)

    with locate_data_errors(f"{parquet_table.title}: ", parquet_table.where):
        if time is None:
            raise ValueError(NO_TIME_MESSAGE)
        return find_season_starts(pieces, None)


def table_digest(parquet_table: ParquetTable, roles: Roles) -> str:
    """What tells the table, and the columns that are used, from others."""
    told = [(part.path.name, part.digest) for part in parquet_table.files]
    return sha256(repr((told, roles)).encode()).hexdigest()[:16]


def open_matches(
    parquet_table: ParquetTable, roles: Roles, folder: Path, rows: int, memory: str, known_names: HostArray | None
) -> OpenedMatches:
    """The table, put in order if it has to be: if times decrease, or if names are no whole numbers that lie close.

    Args:
      parts: the source.
      roles: which columns are used.
      folder: where the ordered table is kept meanwhile.
      rows: of a chunk.
      memory: that ordering may take.
      known: names that have ids already, of a table that was not put in order.
    """
    time, who = roles.time, roles.form.who
    with locate_data_errors("", parquet_table.where):
        _check_player_types(parquet_table, roles)
        clock = _time_clock(parquet_table, time)
        fall = None if time is None else first_decreasing_row(parquet_table, time)
        if fall is not None and known_names is not None:
            raise RowError(fall, "the time is earlier than in the row before; rate all matches anew, in another folder")
        near = None if fall is not None else _dense_id_range(parquet_table, who)
        if near is not None:
            kind = np.result_type(*(parquet_table.schema.field(x).type.to_pandas_dtype() for x in who))
            ids, names = assign_integer_ids(*near, np.zeros(0, kind) if known_names is None else known_names, kind)
            return OpenedMatches(
                parquet_table, parquet_table, roles, min(len(names), 2 * parquet_table.rows), names, ids, clock
            )
        more = [name for name in roles.wanted if name not in (*who, time)]
        try:
            table, named = sort_by_time(
                parquet_table, who, time, more, folder / table_digest(parquet_table, roles), rows, memory
            )
        except ImportError as error:
            why = "names are no whole numbers that lie close together"
            if fall is not None:
                why = f"{parquet_table.where(fall)}: the time is earlier than in the row before"
            raise ImportError(f"{why}; {error}") from None
    return OpenedMatches(parquet_table, table, roles, len(named), named, None, clock)


def _check_player_types(parquet_table: ParquetTable, roles: Roles) -> None:
    kinds = import_pyarrow().types
    found = [parquet_table.schema.field(name).type for name in roles.form.who]
    whole = all(map(kinds.is_integer, found)) and np.result_type(*(x.to_pandas_dtype() for x in found)).kind in "iu"
    if not (whole or all(map(_is_text, found))):
        types = " and ".join(map(str, found))
        raise ValueError(f"columns {roles.form.who} must both be text or both whole numbers of a kind, got {types}")


def _is_text(kind: Any) -> bool:
    kinds = import_pyarrow().types
    if kinds.is_dictionary(kind):
        kind = kind.value_type
    return kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind)


def _time_clock(parquet_table: ParquetTable, time: str | None) -> str | None:
    """What the times are; ValueError if they are neither dates nor numbers."""
    if time is None:
        return None
    kinds, kind = import_pyarrow().types, parquet_table.schema.field(time).type
    if kinds.is_date(kind) or kinds.is_timestamp(kind):
        return "dates"
    if kinds.is_integer(kind) or kinds.is_floating(kind):
        return "dates" if _has_eight_digit_dates(parquet_table, time) else "numbers"
    raise ValueError(f"column {time!r} must hold dates, timestamps or numbers, got {kind}")


def _has_eight_digit_dates(parquet_table: ParquetTable, time: str) -> bool:
    """Whether all numbers of the column are dates, as 20240131; other ones end the look at it soon."""
    columns = (import_pyarrow().chunked_array([batch[time]]) for _, batch in read_batches(parquet_table, [time]))
    return all(parse_dates(time, column, None).written == EIGHT_DIGITS for column in columns if len(column))


def _times_to_days(time: str, column: Column, clock: str | None) -> HostArray:
    """[n] times as days, or as they are."""
    return to_days(time, parse_dates(time, column, None).column if clock == "dates" else column)[0]


def _dense_id_range(parquet_table: ParquetTable, player_columns: list[str]) -> tuple[int, int] | None:
    """The least and the greatest name, if names are whole numbers that a table has room for."""
    if not all(import_pyarrow().types.is_integer(parquet_table.schema.field(name).type) for name in player_columns):
        return None
    found = [integer_range(parquet_table, name) for name in player_columns]
    if None in found:
        return None
    low, high = min(x[0] for x in found if x), max(x[1] for x in found if x)
    return (low, high) if high - low < max(MAX_SPARSITY * parquet_table.rows, SMALL_ID_RANGE) else None


def read_match_chunks(
    opened: OpenedMatches, size: int, start: int = 0, period: float | None = None
) -> Iterator[tuple[int, Dataset, int]]:
    """The number of the first row, the matches of a chunk, and how many players are known by its end.

    With rating periods of this length, each is whole in its chunk. The datasets have no names of players of their own:
    these are in `opened`.
    """
    roles, nobody = opened.roles, np.zeros(0, object)
    columns = [*roles.wanted, *([ROW_COLUMN] if opened.ordered else [])]
    together = None if period is None else partial(_period_numbers, str(roles.time), opened.clock, period)
    for first, found in read_chunks(opened.table, columns, size, start, together):
        rows = np.arange(first, first + len(found[columns[0]]))
        if opened.ordered:
            rows = found[ROW_COLUMN].to_numpy()
        with locate_row_errors(opened.source, rows):
            fields, known = _match_fields(opened, {name: to_column(name, found[name]) for name in roles.wanted})
            yield first, Dataset(matches(**fields), nobody, rows, None, opened.clock), known


def _period_numbers(time: str, clock: str | None, length: float, batch: Any) -> HostArray:
    """[n] the numbers of the rating periods that rows lie in, as `period_number` tells them once times are checked."""
    return np.floor(
        _times_to_days(time, to_column(time, import_pyarrow().chunked_array([batch[time]])), clock) / length
    )


@contextmanager
def locate_row_errors(parquet_table: ParquetTable, rows: HostArray) -> Iterator[None]:
    """Errors about rows of a chunk become those about rows of a file."""
    with locate_data_errors(f"{parquet_table.title}: ", parquet_table.where):
        try:
            yield
        except RowError as error:
            raise error.but(lambda row, message: (int(rows[row]), message)) from None


def _match_fields(opened: OpenedMatches, columns: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """The columns of the matches, as `data.matches` makes those of a table in memory; and how many are known."""
    roles, known = opened.roles, opened.players
    for name in roles.form.who:
        check_no_missing(name, columns[name])
    player = np.stack([columns[name].to_numpy() for name in roles.form.who], axis=1)
    if opened.ids is not None:
        same = player[:, 0] == player[:, 1]
        fail_where(same, lambda row: f"{format_name(player[row, 0])} is on both sides; remove the row")
        player, known = opened.ids(player)
    fields = {"player": player} | match_numbers(roles, columns, len(player))
    if roles.time is not None:
        fields["time"] = _times_to_days(roles.time, columns[roles.time], opened.clock)
    return fields, known
