"""How the columns of a table that is read in chunks are used: found out in its first rows, for all of its chunks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.column_conversion import is_text, to_column, to_ids, to_numbers
from jaxrate.data.column_recognition import (
    ResolvedTable,
    append_columns,
    resolve_table,
)
from jaxrate.data.column_role_definitions import raise_first, select_role_arguments
from jaxrate.data.dataset_from_table import (
    TableConventions,
    convert_columns,
    load_role_columns_and_drop_rows,
    warn_about_columns,
)
from jaxrate.data.date_parsing import ParsedTimes, is_date_style, parse_times
from jaxrate.data.event_tables import TableRows
from jaxrate.data.faulty_rows import map_row_errors
from jaxrate.data.result_parsing import replace_na_values
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.row_results import DrawRule, flag_rules, status_columns
from jaxrate.data.seasons_and_margins import (
    NO_TIME_MESSAGE,
    MatchSeasons,
    find_season_starts,
    match_seasons_from_column,
    offset_row_errors,
)
from jaxrate.data.table_files import first_rows, table_in_memory
from jaxrate.data.table_sources import (
    Column,
    TableSource,
    add_location_to_data_errors,
    numeric_text_to_numbers,
)
from jaxrate.events import fail_where

RECOGNITION_ROWS = 100_000  # whose contents tell what columns are


class TableReading(NamedTuple):
    """What the columns of a table are used for, and what of the whole table each of its chunks needs to know."""

    source: TableSource  # the joined files
    resolved: ResolvedTable  # the season is none of its roles, as `seasons` are known
    columns: list[str]  # that are read
    text_columns: list[str]  # that are text, also where all values of a chunk are numbers
    conventions: TableConventions
    clock: str | None  # as in `Dataset`
    date_style: str | None  # how dates are written, if that had to be found out
    has_teams: bool  # whether these are matches of teams, which are contests of two
    categories: HostArray | None
    seasons: dict[str, float] | None

    @property
    def roles(self) -> ColumnRoles:
        """The columns by their roles."""
        return self.resolved.roles

    @property
    def has_contests(self) -> bool:
        """Whether the events are contests."""
        return self.roles.layout.contest is not None or self.has_teams

    def parse_times(self, columns: Mapping[str, Any]) -> ParsedTimes:
        """The times of some rows: dates as they are written in the first rows, or numbers.

        Raises:
          RowError: where a row has none as the first rows have.
          ValueError: if the rows have dates, and of another kind than the first rows have.
        """
        time = str(self.roles.time)
        column = to_column(time, columns[time])
        if self.clock == "numbers":
            return ParsedTimes(to_numbers(time, replace_na_values(column), np.nan), "numbers")
        times = parse_times(time, column, self.date_style if is_date_style(self.date_style) else None)
        if times.clock is not None and (times.clock, times.style) != (self.clock, self.date_style):
            kind = self.date_style or ("ISO dates" if self.clock else "no times")
            raise ValueError(f"column {time!r} has other dates than {kind}, as the first rows have")
        return times

    def times(self, columns: Mapping[str, Any]) -> HostArray:
        """[n] the times of some rows, dates in days since 1970; RowError where one is missing and others are not."""
        times = self.parse_times(columns).values
        if self.clock is not None:
            fail_where(np.isnan(times), lambda row: f"column {self.roles.time!r} has no value")
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
        raise_first(
            (roles.drop_mirrored, "drop='mirrored' needs the whole table in memory; rate it without chunk and out"),
            (sources and roles.layout.contest, one_column),
        )
        loaded, rows = load_role_columns_and_drop_rows(resolved.table, roles)
        converted = convert_columns(resolved, loaded, rows)
        rules = _rules_for_draws(converted, source.names)
        names_of_draws = [*chain(*(rule.names for rule in rules))]
        used = [*roles.all_columns, *names_of_draws, *status_columns(source.names, roles.all_columns), *sources]
        columns = [*dict.fromkeys(x for x in used if x in source.names)]
        warn_about_columns(resolved, converted, None)
        reading = TableReading(
            files,
            resolved._replace(roles=roles._replace(season=None)),
            columns,
            [x for x in columns if x not in loaded or is_text(loaded[x])],
            TableConventions(converted.notation, rules),
            converted.clock,
            converted.date_style,
            converted.roles.layout.num_first > 0,
            _distinct_categories(files, roles.category) if roles.category else None,
            None,
        )
        if roles.season is not None:
            reading = reading._replace(seasons=_find_table_seasons(reading, roles.season))
    return reading


def _rules_for_draws(converted: TableRows, names: Sequence[str]) -> list[DrawRule]:
    """What may tell which matches are drawn: what does so in the first rows, or flags that may do so in later ones."""
    layout = converted.roles.layout
    if layout.contest is not None or not (layout.winner_first or layout.result):
        return []
    others = [name for name in names if name not in converted.roles.all_columns]
    return [converted.draws] if converted.draws else [*flag_rules(others, layout.winner_first)]


def _iterate_columns(files: TableSource, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Column]]]:
    """The number of the first row, and columns by name, of batches of rows; errors about rows count from the first."""
    first = 0
    for batch in files.batches(columns):
        with offset_row_errors(first):
            yield first, {name: to_column(name, batch[name]) for name in columns}
        first += len(batch)


def _distinct_categories(files: TableSource, columns: list[str]) -> HostArray:
    """The names of categories in order of first appearance."""
    names, kind = dict[Any, None](), None
    for first, values in _iterate_columns(files, [*dict.fromkeys(columns)]):
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
        for first, columns in _iterate_columns(reading.source, (season, str(reading.roles.time))):
            with offset_row_errors(first):
                days = reading.times(columns)
            yield match_seasons_from_column(season, columns, days, first)

    return find_season_starts(read_season_matches, None)


def convert_chunk(reading: TableReading, rows: Any) -> tuple[TableRows, HostArray]:
    """The rows of an Arrow table as events are built from, read as the first rows are; and which of them are kept.

    Raises:
      RowError: where a row is not as the others are.
    """
    if reading.source.is_text:
        rows = numeric_text_to_numbers(rows, reading.text_columns)
    table = reduce(append_columns, reading.resolved.derived, table_in_memory(rows, reading.columns))
    resolved, roles = reading.resolved._replace(table=table), reading.roles
    loaded, kept = load_role_columns_and_drop_rows(table, roles)
    resolved = resolved._replace(roles=roles._replace(time=None))
    converted = convert_columns(resolved, loaded, kept, conventions=reading.conventions)
    if roles.time is None:
        return converted, kept
    with map_row_errors(kept):
        times = reading.parse_times(loaded)
    columns, roles = converted.columns | {roles.time: times.to_column()}, converted.roles._replace(time=roles.time)
    return converted._replace(roles=roles, columns=columns, clock=reading.clock), kept
