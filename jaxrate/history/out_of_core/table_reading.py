"""How the columns of a table that is read in chunks are used: found out in its first rows, for all of its chunks."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.column_conversion import (
    check_present,
    is_list,
    missing_mask,
    to_column,
    to_ids,
    to_numbers,
    to_values,
)
from jaxrate.data.column_recognition import (
    ResolvedTable,
    append_split_columns,
    names_of_split_columns,
    resolve_table,
)
from jaxrate.data.column_role_definitions import select_role_arguments
from jaxrate.data.dataset_from_table import (
    convert_columns,
    load_role_columns_and_drop_rows,
    warn_about_columns,
)
from jaxrate.data.date_parsing import ParsedTimes, is_date_style, parse_times
from jaxrate.data.event_tables import TableRows
from jaxrate.data.faulty_rows import map_row_errors
from jaxrate.data.result_parsing import codes_to_scores, replace_na_values
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.row_results import select_draw_columns
from jaxrate.data.seasons_and_margins import (
    NO_TIME_MESSAGE,
    MatchSeasons,
    find_season_starts,
    match_seasons_from_column,
    offset_row_errors,
)
from jaxrate.data.table_files import JoinedFiles, table_in_memory
from jaxrate.data.table_sources import (
    Column,
    TableSource,
    add_location_to_data_errors,
    import_pyarrow,
    numeric_text_to_numbers,
)
from jaxrate.events import RowError, fail_where

RECOGNITION_ROWS = 100_000  # whose contents tell what columns are
EXAMPLES = 200  # values of a column beside which those of a chunk are read


class TableReading(NamedTuple):
    """What the columns of a table are used for, and what of the whole table each of its chunks needs to know."""

    source: JoinedFiles
    resolved: ResolvedTable  # the season is none of its roles, as `seasons` are known
    columns: list[str]  # that are read
    pair_column: str | None  # whose cells have both names
    examples: dict[str, Column]  # rows that are read above those of a chunk, so that words mean the same there
    example_scores: HostArray  # [examples] the scores that they mean in the first rows
    draws: tuple[str, ...]  # the columns that tell draws there
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

    @property
    def score_by_text(self) -> dict[str, float | None]:
        """The score that each text or number in the column of results means, None where it means none."""
        result = self.roles.layout.result
        if result is None or self.roles.layout.contest is not None:
            return {}
        scores = [None if np.isnan(x) else float(x) for x in self.example_scores]
        return dict(zip(map(str, to_values(self.examples[result])), scores, strict=True))

    def parse_times(self, columns: Mapping[str, Any]) -> ParsedTimes:
        """The times of some rows: dates as they are written in the first rows, or numbers.

        Raises:
          RowError: where a row has none as the first rows have.
          ValueError: if the rows have dates, and of another kind than the first rows have.
        """
        time = str(self.roles.time)
        column = to_column(time, columns[time])
        if self.clock == "numbers":
            return ParsedTimes(to_numbers(time, column), "numbers")
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


def resolve_table_reading(files: JoinedFiles, arguments: Mapping[str, Any]) -> TableReading:
    """How the table is read: recognised in its first rows as `read` does; a warning says what was taken for what.

    Raises:
      ValueError: if the arguments do not fit the table, or if it cannot be read by chunks.
    """
    source = files.to_source(RECOGNITION_ROWS)
    with add_location_to_data_errors(source.title, source.where):
        resolved = resolve_table(source, select_role_arguments(arguments), False, None, ())
        roles = resolved.roles
        loaded, rows = load_role_columns_and_drop_rows(resolved.table, roles)
        converted = convert_columns(resolved, loaded, rows)
        if roles.time is not None and converted.clock is not None:
            with map_row_errors(rows):
                check_present(roles.time, converted.columns[roles.time])
        draws = converted.draws
        used = [*roles.all_columns, *(draws or _possible_draw_columns(source, roles))]
        pair_column = next((x for x in source.names if roles.layout.players == names_of_split_columns(x)), None)
        columns = [*dict.fromkeys(x if x in source.names else str(pair_column) for x in used)]
        examples, example_rows = _examples(source, roles, columns, rows)
        with map_row_errors(rows):
            example_scores = _scores(converted)[example_rows]
        warn_about_columns(resolved, converted, None)
        reading = TableReading(
            files,
            resolved._replace(roles=roles._replace(season=None)),
            columns,
            pair_column,
            examples,
            example_scores,
            draws,
            converted.clock,
            converted.date_style,
            converted.roles.layout.num_first > 0,
            _distinct_categories(files, roles.category) if roles.category else None,
            None,
        )
        if roles.season is not None:
            reading = reading._replace(seasons=_find_table_seasons(reading, roles.season))
    return reading


def _possible_draw_columns(source: TableSource, roles: ColumnRoles) -> list[str]:
    """The columns that may flag draws in later rows."""
    layout = roles.layout
    if layout.contest is not None or not (layout.winner_first or layout.result):
        return []
    return select_draw_columns([x for x in source.names if x not in roles.all_columns], layout.winner_first)


def _scores(converted: TableRows) -> HostArray:
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
    loaded = source.load(columns, columns).take(kept)  # CSV as text, as chunks are
    layout, rows = roles.layout, {0}
    telling = layout.result, *layout.points, roles.side, *(x for x in columns if x not in roles.all_columns)
    for name in (x for x in telling if x is not None and x in columns):
        column = to_column(name, loaded[name])
        if is_list(column):  # which tell no results
            continue
        values = column.combine_chunks().drop_null()
        present = np.flatnonzero(~missing_mask(column))
        first = np.unique(values.dictionary_encode().indices.to_numpy(), return_index=True)[1]
        rows |= {*present[np.sort(first)[:EXAMPLES]].tolist()}
    chosen = sorted(rows)
    return {name: to_column(name, loaded[name].take(chosen)) for name in columns}, chosen


def _iterate_columns(files: JoinedFiles, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Column]]]:
    """The number of the first row, and columns by name, of batches of rows; errors about rows count from the first."""
    first = 0
    for _, batch in files.batches(columns):
        with offset_row_errors(first):
            yield first, {name: to_column(name, batch[name]) for name in columns}
        first += len(batch)


def _distinct_categories(files: JoinedFiles, columns: list[str]) -> HostArray:
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


def convert_chunk(reading: TableReading, columns: Mapping[str, Any]) -> tuple[TableRows, HostArray]:
    """The columns of some rows below the examples, as events are built from; and which rows are kept, examples too.

    Raises:
      RowError: where a row is not as the others are, or is the first with which the examples are read otherwise.
    """
    beside = _beside_examples(reading.examples, columns)
    converted, kept = _convert_rows(reading, beside)
    count = len(reading.example_scores)

    def is_read_otherwise(converted: TableRows) -> bool:
        if converted.draws and converted.draws != reading.draws:
            return True
        return not np.array_equal(_scores(converted)[:count], reading.example_scores, equal_nan=True)

    def is_start_read_otherwise(last: int) -> bool:
        start = {name: column[: last + 1] for name, column in beside.items()}
        return is_read_otherwise(_convert_rows(reading, start)[0])

    if is_read_otherwise(converted):
        row = bisect_left(range(len(next(iter(beside.values())))), True, lo=count, key=is_start_read_otherwise)
        message = "with this row results are read otherwise than in the first rows of the table"
        raise RowError(row, f"{message}; write scores from 0 to 1 instead")
    return converted, kept


def _convert_rows(reading: TableReading, columns: dict[str, Column]) -> tuple[TableRows, HostArray]:
    """The columns as events are built from, and which rows are kept."""
    if reading.source.tables[0].is_text:
        may_be_numbers = {*reading.roles.all_columns} - {*reading.roles.text_columns}
        numbers = numeric_text_to_numbers(import_pyarrow().table(columns), {*columns} - may_be_numbers)
        columns = {name: numbers[name] for name in columns}
    table = table_in_memory(columns, [*columns])
    if reading.pair_column is not None:
        table = append_split_columns(table, reading.pair_column)
    resolved, roles = reading.resolved._replace(table=table), reading.roles
    loaded, kept = load_role_columns_and_drop_rows(table, roles)
    if codes := resolved.winner_codes:
        loaded[str(roles.layout.result)] = _scores_of_codes(str(roles.layout.result), loaded, kept, codes)
    converted = convert_columns(resolved._replace(roles=roles._replace(time=None)), loaded, kept)
    if roles.time is None:
        return converted, kept
    with map_row_errors(kept):
        times = reading.parse_times(loaded)
    columns = converted.columns | {roles.time: times.to_column()}
    return converted._replace(
        roles=converted.roles._replace(time=roles.time), columns=columns, clock=reading.clock
    ), kept


def _scores_of_codes(name: str, columns: Mapping[str, Column], rows: HostArray, codes: dict[int, float]) -> Column:
    """The scores that codes of winners stand for; RowError where there is another code than in the first rows."""
    column = replace_na_values(columns[name])
    scores = codes_to_scores(name, column, codes)
    with map_row_errors(rows):
        fail_where(
            np.isnan(scores) & ~missing_mask(column),
            lambda row: (
                f"column {name!r} is {column[row].as_py()}, and in the first rows only "
                f"{' and '.join(map(str, codes))}; write scores from 0 to 1 instead"
            ),
        )
    return import_pyarrow().chunked_array([import_pyarrow().array(scores, from_pandas=True)])


def _beside_examples(examples: Mapping[str, Column], rows: Mapping[str, Any]) -> dict[str, Column]:
    """The columns of some rows below the examples."""
    columns = {name: to_column(name, rows[name]) for name in examples}
    return {
        name: import_pyarrow().chunked_array([*known.cast(columns[name].type).chunks, *columns[name].chunks])
        for name, known in examples.items()
    }
