"""`read`: a table becomes a dataset of matches or contests."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np

from jaxrate.core.argument_checks import check_argument
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import join_names
from jaxrate.data.column_conversion import missing_mask, to_column, to_flags
from jaxrate.data.column_recognition import (
    SIDE_NOTE,
    ColumnsRecognisedWarning,
    ResolvedTable,
    date_columns,
    resolve_table,
)
from jaxrate.data.column_role_definitions import (
    Columns,
    document_roles,
    select_role_arguments,
)
from jaxrate.data.column_role_hints import doubtful_roles_hints, unused_points_hint
from jaxrate.data.date_parsing import STYLE_DESCRIPTIONS, ParsedTimes, check_date_style, is_date_style, parse_times
from jaxrate.data.event_tables import (
    NamesOfEarlierData,
    TableRows,
    build_dataset,
    expand_line_up_cells,
)
from jaxrate.data.faulty_rows import (
    describe_example_rows,
    doubts_about_mirrored_matches,
    doubts_about_repeated_matches,
    find_incomplete_rows,
    find_later_mirrors,
    map_row_errors,
    warn_caller,
)
from jaxrate.data.lookalike_names import doubts_about_names
from jaxrate.data.result_parsing import Notation, check_texts, winner_codes_notation
from jaxrate.data.role_resolution import ColumnRoles, check_line_up_roles
from jaxrate.data.row_results import (
    DrawRule,
    PlayedAndComingMasks,
    check_points_not_negative,
    doubts_about_unplayed_rows,
    hide_results_in_play,
    parse_result_columns,
    score_drawn_matches,
    split_by_result,
)
from jaxrate.data.seasons_and_margins import doubts_about_margins
from jaxrate.data.table_files import find_opener_by_methods, is_list_of_paths, open_table_source
from jaxrate.data.table_sources import Column, TableSource, add_location_to_data_errors, import_pyarrow
from jaxrate.events import doubts_about_single_participants, rewrite_row_errors
from jaxrate.events.dataset import Dataset


class TableConventions(NamedTuple):
    """How the results of a table are written."""

    notation: Notation | None  # None: there is no column of them
    draws: Sequence[DrawRule]  # what may tell which matches are drawn


def convert_columns(
    resolved: ResolvedTable,
    loaded: dict[str, Column],
    rows: HostArray,
    dates: str | None = None,
    na_values: Sequence[str] = (),
    unfinished: Sequence[str] = (),
    conventions: TableConventions | None = None,
) -> TableRows:
    """The columns, of which results, line-ups in cells and times are as events are built from.

    Args:
      resolved: the roles of the columns.
      loaded: the columns [n].
      rows: [n] where they stand in the table.
      dates: how dates in text are written, as in `read`.
      na_values: texts that say that there is no result, as in `read`.
      unfinished: ranks of those who did not finish, as in `read`.
      conventions: how the results of the table are written; None: that is found out.

    Raises:
      RowError: where a row is not as the others are.
    """
    codes = resolved.winner_codes
    notation, rules = (None, None) if conventions is None else conventions
    notation = notation if codes is None else winner_codes_notation(codes)
    with map_row_errors(rows):
        roles, columns, line_up_note = expand_line_up_cells(resolved.roles, loaded)
        if roles.layout.num_first:
            check_line_up_roles(resolved.arguments)
            roles = roles._replace(side=None, constant_side=None, neutral=None)  # of columns called as home is
        columns, notation, result_note = parse_result_columns(roles, columns, na_values, unfinished, notation)
        columns, status_note = hide_results_in_play(resolved.table, roles, columns, rows)
        roles, columns, draws, draw_note = score_drawn_matches(resolved.table, roles, columns, rows, rules)
        points = roles.layout.points
        check_points_not_negative(points if len(points) == 2 and not roles.margin else (), columns)
        times = ParsedTimes(rows, None)
        if roles.time is not None:
            times = parse_times(roles.time, columns[roles.time], dates, na_values)
            columns = columns | {roles.time: times.to_column()}
    side_note = SIDE_NOTE if roles.layout.num_first else ""
    resolution_notes = [note.removesuffix(side_note) for note in resolved.notes]
    notes = [*filter(None, (resolved.table.note, line_up_note, *resolution_notes, result_note, status_note, draw_note))]
    return TableRows(roles, columns, rows, times.clock, notes, notation, draws, times.style)


@document_roles
def read(
    source: Any,
    *,
    sort: bool = False,
    upcoming: bool = False,
    dates: str | None = None,
    na_values: Sequence[str] = (),
    on_faulty: Literal["error", "skip"] = "error",
    history: Any = None,
    unfinished: Sequence[str] = (),
    **columns: Unpack[Columns],
) -> Dataset:
    """Checked matches from a table with one row per match, or rounds from one with one row per participant.

        data = jr.read("games.csv")
        data = jr.read([{"winner": "Ada", "loser": "Bo"}, {"winner": "Bo", "loser": "Cy"}])

    A file with columns a, b, score or winner, loser or contest, player, rank (and perhaps time, date or t) needs no
    arguments. The case of these names does not matter. Other usual names are recognised as well: home and away, white
    and black, team1 and team2, winner_name and loser_name in their spellings, goals or points of both sides, results
    and dates, some of them in other languages. A note says which columns were recognised as what, and arguments
    overrule it. All other columns are used only if named. Names of players and categories become ids in order of first
    appearance, reading the rows of the source from the top and a before b; in CSV they are text ("007" stays that), and
    an empty field is missing. CSV may be separated by commas, or by semicolons, tabs or | if the header has no comma,
    and be UTF-8, UTF-16 or Windows-1252. Objects in JSON become columns as "team.name". Of a spreadsheet the first
    sheet is read, or the one that is named, as in "games.xlsx#Sheet2".

    Args:
      source: a path to .parquet, .csv, .tsv, .txt, .json or .jsonl (all but the first also .gz, .bz2 or .zst), .xlsx or
        .ods, or "-" for standard input; a folder, a pattern or a list of files that are one table, as `rate` takes
        them; a pandas, polars or Arrow table, a lazy frame of polars, a relation or result of DuckDB, anything else
        that is a stream of Arrow's C interface, a dict of arrays or lists, or a list of dicts, one per row, which
        may be nested as JSON is. Of lazy frames and relations only the columns that are used are made.
      COLUMNS: the roles of `data.column_roles.COLUMN_ROLES`, each the name of a column.
      sort: put the rows in order of time (stable, contests as wholes). Otherwise a time that decreases is an error; in
        contests it is one only to systems in which time passes.
      upcoming: the events are to come. They are put in order of time, and no score or margin is read: 0.5 and 0 stand
        in for them, or in contests a tie of all players and teams. Where some rows have a result, those are left out.
      dates: how dates in text are written that are not ISO: "day-first", "month-first" or a format of `strptime`. None:
        as they are clear, by the name of the month, the year in front, or a day above 12.
      na_values: texts that say that there is no result, or no margin, beside "P", "P-P", "postp.", "NA", "-" and others
        that are usual; case does not matter. "-1" is the number, too, in columns of numbers. In contests they say who
        did not take part, as "DNS": with them, rows without a rank or score are left out, and a note counts them.
      on_faulty: "skip" leaves out rows in which a column that is used has no value, or nothing but blanks; they are an
        "error" otherwise. A missing ceiling is none, and a time that is missing everywhere is no time.
      history: an earlier `Dataset`, or a `History`: its players and categories keep their ids, and others come after;
        its seasons keep their beginnings, and others begin after them. Or a list of players in order of id.
      unfinished: texts in the column of ranks, as "DNF", of those who did not finish; case does not matter. They tie
        with each other, behind all of their contest who have a rank.

    Raises:
      ValueError: names the file, the bad rows of the source, up to ten (counting from 0; in CSV also their lines),
        their contests or the column, and what is wrong with them; also if no rows are left.
      TypeError: if the source is of none of these kinds.
      ImportError: if pyarrow is not installed.

    Warns:
      UserWarning: about columns that were recognised, and rows that have no result; if a and b name columns called as
        home and away are, without side; if contests have a single participant, since systems of ranks learn nothing
        from them; if names of players, categories, contests or seasons differ only by letter case, blanks or Unicode
        form, or by accents; if matches with times repeat an earlier one exactly; if a margin has another sign than the
        score; if rows were skipped.
    """
    import_pyarrow()
    opened = open_table_source(source)
    with add_location_to_data_errors(opened.title, opened.where):
        earlier = names_of_earlier_data(history)
        arguments = check_read_arguments(columns, upcoming, on_faulty, dates, na_values, unfinished)
        resolved = resolve_table(opened, arguments, upcoming, dates, na_values)
        loaded, rows = load_role_columns_and_drop_rows(resolved.table, resolved.roles)
        converted = convert_columns(resolved, loaded, rows, dates, na_values, unfinished)
        check_times_to_sort_by(converted, sort)
        split = split_by_result(converted.roles, converted.columns, na_values)
        used = _select_played_or_upcoming_rows(converted, split, upcoming)
        warn_about_columns(resolved, used, dates)
        warn_of_each(doubts_about_unplayed_rows(split, rows, upcoming))
        used = _skip_incomplete_rows(used) if on_faulty == "skip" else used
        advice = "; on_faulty='skip' leaves such rows out"
        with rewrite_row_errors(lambda row, message: (row, message + advice * (" has no value" in message))):
            dataset = build_dataset(used, earlier, sort or upcoming)
            if used.roles.drop_mirrored and dataset.of_matches:
                mirrors = dataset.rows[find_later_mirrors(dataset.matches)]
                dataset = build_dataset(used.keep(~np.isin(used.rows, mirrors)), earlier, sort or upcoming)
        dataset = _add_fixtures(dataset, converted, split.coming & (not upcoming))
    warn_of_each(_doubts_about_dataset(dataset, resolved.table, earlier, upcoming))
    if not upcoming:
        warn_of_each([unused_points_hint(resolved.table, dataset, converted.roles)], ColumnsRecognisedWarning)
    return dataset._replace(
        dates=converted.date_style if is_date_style(converted.date_style) else None,
        played=int(split.played.sum()) if upcoming and not split.played.all() else 0,
        upcoming=upcoming,
    )


def warn_of_each(messages: Iterable[str], category: type[Warning] = UserWarning) -> None:
    """A warning for each of these messages that says something."""
    for message in filter(None, messages):
        warn_caller(message, category)


def check_times_to_sort_by(converted: TableRows, sort: bool) -> None:
    """ValueError if rows are to be sorted, and have no times."""
    time = converted.roles.time
    if sort and time is None:
        raise ValueError("sort=True needs a column of time")
    if sort and missing_mask(converted.columns[str(time)]).all():
        raise ValueError(f"sort=True needs times, but column {time!r} has no value")


def check_read_arguments(
    columns: Mapping[str, Any], upcoming: Any, on_faulty: Any, dates: Any, na_values: Any, unfinished: Any
) -> dict[str, Any]:
    """The columns by role, None for others; ValueError unless these can be arguments of `read`."""
    arguments = select_role_arguments(columns)
    check_argument("read", "upcoming", bool, upcoming)
    check_argument("read", "on_faulty", Literal["error", "skip"], on_faulty)
    for role in ("age", "expected_goals"):
        check_argument("read", role, str | Sequence[str] | None, arguments[role])
    check_argument("read", "statistics", str | Sequence[str] | Mapping[str, Any] | None, arguments["statistics"])
    check_date_style(dates)
    check_texts("na_values", na_values)
    check_texts("unfinished", unfinished)
    return arguments


def _select_played_or_upcoming_rows(table: TableRows, split: PlayedAndComingMasks, upcoming: bool) -> TableRows:
    """The rows that are rated, or that are to come; ValueError if there are none."""
    if split.played.all() or (upcoming and not split.played.any()):
        return table
    keep = split.coming if upcoming else split.played
    if not keep.any():
        hint = "" if upcoming else "; `jaxrate predict` takes matches to come; upcoming=True reads them"
        raise ValueError(f"no row {'without a result is to come' if upcoming else 'has a result'}{hint}")
    return table.keep(keep)


def _add_fixtures(data: Dataset, table: TableRows, is_coming: HostArray) -> Dataset:
    """The dataset with the rows that are to come, if there are some."""
    if not is_coming.any():
        return data
    coming = table.keep(is_coming)
    coming = coming._replace(roles=coming.roles._replace(upcoming=True, last_rank=None))
    fixtures = build_dataset(coming, names_of_earlier_data(data), True)
    return data._replace(fixtures=fixtures._replace(upcoming=True))


def _skip_incomplete_rows(table: TableRows) -> TableRows:
    """The rows that have all values; a warning counts the others. ValueError if none is left."""
    incomplete = find_incomplete_rows(table.roles, table.columns)
    if incomplete.any():
        examples = describe_example_rows(table.rows[incomplete])
        count = f"{np.count_nonzero(incomplete):,} of {len(incomplete):,} rows"
        warn_caller(f"skipped {count}, which lack a value: {examples}")
    if incomplete.all():
        raise ValueError("no rows are left: all of them lack a value")
    return table.keep(~incomplete)


def warn_about_columns(resolved: ResolvedTable, used: TableRows, dates: str | None) -> None:
    """Notes on what columns were taken for, and on those that may be something else."""
    table, roles, notes = resolved.table, used.roles, used.notes
    if roles.time is None and table.noted and (names := date_columns(table, roles.all_columns, dates)):
        verb = "has" if len(names) == 1 else "have"
        notes = [*notes, f"nothing for the time, though {join_names(names)} {verb} dates"]
    if used.date_style is not None and dates is None:
        notes = [*notes, f"{roles.time} as dates, {STYLE_DESCRIPTIONS[used.date_style]}"]
    if notes:
        warn_caller(f"took {'; '.join(notes)}; name columns to choose others", ColumnsRecognisedWarning)
    with map_row_errors(used.rows):
        hints = doubtful_roles_hints(resolved, roles, used.columns)
    warn_of_each(hints, ColumnsRecognisedWarning)


def _doubts_about_dataset(
    data: Dataset, table: TableSource, earlier: NamesOfEarlierData, upcoming: bool
) -> Iterator[str]:
    """The doubts about the events and the names of a table."""
    if not data.of_matches:
        yield from doubts_about_single_participants(data.rounds, data.contests)
    if not table.noted:
        return
    if data.of_matches and not upcoming:  # those to come have no scores
        yield from doubts_about_margins(data)
        yield from doubts_about_mirrored_matches(data.matches)
        yield from doubts_about_repeated_matches(data.matches, data.rows, table)
    yield from doubts_about_names("players", data.players, 0 if earlier.players is None else len(earlier.players))
    seasons = None if data.seasons is None else np.array([*data.seasons], object)
    for subject, names in {"categories": data.categories, "contests": data.contests, "seasons": seasons}.items():
        yield from () if names is None else doubts_about_names(subject, names, 0)


def names_of_earlier_data(history: Any) -> NamesOfEarlierData:
    """The names that keep their ids: those of an earlier `Dataset` or of a `History`, or players; None: none."""
    if history is None:
        return NamesOfEarlierData()
    if isinstance(history, (list, np.ndarray)) or type(history) is tuple:
        return NamesOfEarlierData(history if isinstance(history, np.ndarray) else [*history])
    if getattr(history, "players", None) is None:
        kind = type(history).__name__
        raise ValueError(f"history must be an earlier Dataset or a History, as of jr.read or jr.rate, got {kind}")
    return NamesOfEarlierData(*(getattr(history, name, None) for name in NamesOfEarlierData._fields))


def load_role_columns_and_drop_rows(table: TableSource, roles: ColumnRoles) -> tuple[dict[str, Column], HostArray]:
    """The columns, without the rows to drop; and which rows are left."""
    names = roles.all_columns
    loaded = table.load(names, roles.text_columns)
    columns = {name: to_column(name, loaded[name]) for name in names}
    n = len(columns[names[0]])
    for name, column in columns.items():
        if len(column) != n:
            raise ValueError(f"column {name!r} has {len(column)} rows, {names[0]!r} has {n}")
    if not n:
        raise ValueError("no rows")
    if not roles.drop:
        return columns, np.arange(n)
    keep = ~np.any([to_flags(name, columns[name]) for name in roles.drop], axis=0)
    if not keep.any():
        raise ValueError(f"no rows are left: {', '.join(map(repr, roles.drop))} drops them all")
    return {name: column.filter(keep) for name, column in columns.items()}, np.flatnonzero(keep)


def is_readable_source(data: Any) -> bool:
    """Whether `read` takes it: a path, a table of any package, a dict of columns, or a list of dicts."""
    if isinstance(data, (str, os.PathLike)):
        return True
    if isinstance(data, (list, tuple)) and not hasattr(data, "_fields"):
        return is_list_of_paths(data) or (bool(data) and all(isinstance(row, Mapping) for row in data))
    return find_opener_by_methods(data) is not None
