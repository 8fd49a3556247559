"""How the columns of a table that is larger than memory are read: found out once, for all of its chunks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.column_conversion import missing_mask, to_column, to_days, to_ids, to_numbers
from jaxrate.data.column_recognition import ColumnsRecognisedWarning, ResolvedTable, resolve_table
from jaxrate.data.column_role_definitions import select_role_arguments
from jaxrate.data.dataset_from_table import (
    ConvertedColumns,
    convert_columns,
    describe_recognised_columns,
    load_role_columns_and_drop_rows,
)
from jaxrate.data.date_parsing import parse_dates
from jaxrate.data.faulty_rows import map_row_errors, warn_caller
from jaxrate.data.parquet_table import ParquetTable, parquet_source, read_batches
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.row_results import select_draw_columns
from jaxrate.data.seasons_and_margins import (
    NO_TIME_MESSAGE,
    MatchSeasons,
    find_season_starts,
    match_seasons_from_column,
    offset_row_errors,
)
from jaxrate.data.table_sources import Column, TableSource, add_location_to_data_errors, import_pyarrow

RECOGNITION_ROWS = 100_000  # whose contents tell what columns are
EXAMPLES = 200  # values of a column beside which those of a chunk are read


class TableReading(NamedTuple):
    """What the columns of a table are used for, and what of the whole table each of its chunks needs to know."""

    source: ParquetTable
    resolved: ResolvedTable
    columns: list[str]  # that are read
    examples: dict[
        str, Column
    ]  # rows beside which others are read, so that words mean in all chunks what they mean here
    example_scores: HostArray  # [examples] the scores that they mean in the first rows
    draws: tuple[str, ...]  # the columns that tell draws there
    clock: str | None  # as in `Dataset`
    date_style: str | None  # how dates are written in numbers
    categories: HostArray | None
    seasons: dict[str, float] | None

    @property
    def roles(self) -> ColumnRoles:
        """The columns by their roles, without the season, whose starts are known."""
        return self.resolved.roles

    @property
    def has_teams(self) -> bool:
        """Whether these are matches of teams, which are contests of two."""
        layout = self.roles.layout
        kinds = [self.source.schema.field(name).type for name in layout.players]
        return layout.num_first > 0 or any(map(import_pyarrow().types.is_nested, kinds))

    @property
    def has_contests(self) -> bool:
        """Whether the events are contests."""
        return self.roles.layout.contest is not None or self.has_teams

    @property
    def whole_days(self) -> bool:
        """Whether times are whole days."""
        kind = None if self.clock != "dates" else self.source.schema.field(self.roles.time).type
        return kind is not None and not import_pyarrow().types.is_timestamp(kind)


def resolve_table_reading(parquet_table: ParquetTable, arguments: Mapping[str, Any]) -> TableReading:
    """How the table is read: recognised in its first rows as `read` does; a warning says what was taken for what.

    Raises:
      ValueError: if the arguments do not fit the table, or if it cannot be read by chunks.
    """
    source = parquet_source(parquet_table, RECOGNITION_ROWS)
    with add_location_to_data_errors(source.title, source.where):
        resolved = resolve_table(source, select_role_arguments(arguments), False, None, ())
        roles = resolved.roles
        if not {*roles.layout.players} <= {*source.names}:
            raise ValueError("both names in a cell are not read by chunks; write a column for each player")
        loaded, rows = load_role_columns_and_drop_rows(resolved.table, roles)
        converted = convert_columns(resolved, loaded, rows)
        clock = None if roles.time is None else _detect_clock_kind(parquet_table, roles.time, converted)
        categories = _distinct_categories(parquet_table, roles.category) if roles.category else None
        seasons = None if roles.season is None else _find_table_seasons(parquet_table, roles, clock)
        draws = converted.draws.names if converted.draws else ()
        columns = [*dict.fromkeys([*roles.all_columns, *(draws or _possible_draw_columns(source, roles))])]
        examples, example_rows = _examples(source, roles, columns, rows)
        with map_row_errors(rows):
            example_scores = converted_scores(converted)[example_rows]
    notes = [converted.line_up_note, *resolved.notes, converted.result_note]
    notes += [converted.draws and converted.draws.note]
    if recognised := describe_recognised_columns([*filter(None, notes)], roles.time, None):
        warn_caller(recognised, ColumnsRecognisedWarning)
    resolved = resolved._replace(roles=roles._replace(season=None))
    return TableReading(
        parquet_table,
        resolved,
        columns,
        examples,
        example_scores,
        draws,
        clock,
        converted.date_style,
        categories,
        seasons,
    )


def _possible_draw_columns(source: TableSource, roles: ColumnRoles) -> list[str]:
    """The columns that may flag draws in later rows."""
    layout = roles.layout
    if layout.contest is not None or not (layout.winner_first or layout.result):
        return []
    return select_draw_columns([x for x in source.names if x not in roles.all_columns], layout.winner_first)


def converted_scores(converted: ConvertedColumns) -> HostArray:
    """[n] the scores of the first players; 1 where there is no column of them, as of winners, points and ranks."""
    layout = converted.roles.layout
    if layout.result is None or layout.contest is not None:
        return np.ones(len(converted.columns[layout.players[0]]))
    return to_numbers(layout.result, converted.columns[layout.result], default=np.nan)


def _examples(
    source: TableSource, roles: ColumnRoles, columns: Sequence[str], kept: HostArray
) -> tuple[dict[str, Column], list[int]]:
    """The first row of each result, and of each word in other columns that tell of results, and one at the least.

    Of the rows `kept` [n]; also their positions among these.
    """
    loaded = source.load(columns)
    sample = {name: loaded[name].take(import_pyarrow().array(kept)) for name in columns}
    layout, rows = roles.layout, {0}
    telling = layout.result, *layout.points, roles.side, *columns[len(roles.all_columns) :]
    for name in (x for x in telling if x is not None and x in columns):
        column = to_column(name, sample[name])
        values = column.combine_chunks().drop_null()
        present = np.flatnonzero(~missing_mask(column, nan_is_missing=False))
        first = np.unique(values.dictionary_encode().indices.to_numpy(), return_index=True)[1]
        rows |= {*present[np.sort(first)[:EXAMPLES]].tolist()}
    chosen = sorted(rows)
    return {name: to_column(name, sample[name].take(import_pyarrow().array(chosen))) for name in columns}, chosen


def _distinct_categories(parquet_table: ParquetTable, columns: list[str]) -> HostArray:
    """The names of categories in order of first appearance."""
    names, kind, first = dict[Any, None](), None, 0
    for _, batch in read_batches(parquet_table, [*dict.fromkeys(columns)]):
        with offset_row_errors(first):
            values = {name: to_column(name, import_pyarrow().chunked_array([batch[name]])) for name in columns}
            labels = to_ids(columns, values, subject="categories")[1]
        names |= dict.fromkeys(labels.tolist())
        kind, first = labels.dtype, first + len(batch)
    return np.array([*names], kind)


def _find_table_seasons(parquet_table: ParquetTable, roles: ColumnRoles, clock: str | None) -> dict[str, float]:
    """When each season begins, as in a `Dataset` of the whole table; two columns are read.

    Raises:
      ValueError: where a season has no name or time, or is not over, for the most part, when the next begins.
    """
    if roles.time is None:
        raise ValueError(NO_TIME_MESSAGE)
    season, time = str(roles.season), roles.time

    def read_season_matches() -> Iterator[MatchSeasons]:
        first = 0
        for _, batch in read_batches(parquet_table, (season, time)):
            columns = {name: to_column(name, import_pyarrow().chunked_array([batch[name]])) for name in (season, time)}
            with offset_row_errors(first):
                days = times_to_days_if_dates(time, columns[time], clock)
            yield match_seasons_from_column(season, columns, days, first)
            first += len(batch)

    return find_season_starts(read_season_matches, None)


def _detect_clock_kind(parquet_table: ParquetTable, time: str, converted: ConvertedColumns) -> str:
    """Whether the times of the first rows are dates or numbers, as `clock` of a `Dataset`; ValueError if neither."""
    kinds, kind = import_pyarrow().types, parquet_table.schema.field(time).type
    if kinds.is_date(kind) or kinds.is_timestamp(kind):
        return "dates"
    if kinds.is_integer(kind) or kinds.is_floating(kind):
        return "numbers" if converted.date_style is None else "dates"
    raise ValueError(f"column {time!r} must hold dates, timestamps or numbers, got {kind}")


def times_to_days_if_dates(time: str, column: Column, clock: str | None) -> HostArray:
    """[n] times as days, or as they are."""
    return to_days(time, parse_dates(time, column, None).column if clock == "dates" else column)[0]
