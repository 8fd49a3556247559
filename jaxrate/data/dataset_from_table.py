"""`read`: a table becomes a dataset of matches or contests."""

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np

from jaxrate.core.argument_checks import check_argument
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count, join_names
from jaxrate.data import table_files, table_sources
from jaxrate.data.column_conversion import (
    keep_rows,
    missing_mask,
    time_column_to_days_and_clock,
    to_column,
    to_flags,
    to_numbers,
)
from jaxrate.data.column_recognition import (
    SIDE_NOTE,
    ColumnsRecognisedWarning,
    RecognisedColumnRoles,
    date_columns,
    recognise_columns,
)
from jaxrate.data.column_role_definitions import (
    Columns,
    document_roles,
    select_role_arguments,
    suggest_role_on_unknown_argument,
)
from jaxrate.data.column_spellings import DRAW_NAMES, RESULT_NAMES, normalise_column_name
from jaxrate.data.date_parsing import STYLE_DESCRIPTIONS, check_date_style, is_date_style, parse_time_column
from jaxrate.data.event_tables import (
    LineUpColumns,
    NamesOfEarlierData,
    build_dataset,
    check_line_up_roles,
    expand_line_up_cells,
    filter_column_rows,
    find_line_up_columns,
    set_line_up_columns,
)
from jaxrate.data.evidence_column_recognition import doubtful_roles_hints, unused_points_hint
from jaxrate.data.faulty_rows import (
    find_incomplete_rows,
    map_row_errors,
    stacklevel_outside_package,
    warn_incomplete_rows,
    warn_repeated_matches,
)
from jaxrate.data.lookalike_names import (
    warn_doubtful_names,
    warn_lookalike_names,
    warn_names_with_other_accents,
    warn_new_names_with_other_accents,
)
from jaxrate.data.result_parsing import (
    check_texts,
    draws_in_results,
    flags_of_draws,
    mentions_draw,
    rank_unfinished_last,
    replace_na_values,
    result_column_to_scores,
)
from jaxrate.data.role_resolution import ColumnRoles, resolve_roles
from jaxrate.data.seasons_and_margins import warn_margin_signs
from jaxrate.data.table_files import ARROW_METHODS
from jaxrate.data.table_sources import Column, TableSource, import_pyarrow
from jaxrate.events import Ragged, fail_where, warn_single_participant
from jaxrate.events.dataset import Dataset, check_dataset


class PlayedAndComingMasks(NamedTuple):
    """Rows by whether they have a result."""

    played: HostArray  # [n] whether they have one
    coming: HostArray  # [n] whether they have none, are complete otherwise, and not before the last played one
    early: HostArray  # [n] whether they have none, are complete otherwise, and before the last played one


def parse_result_columns(
    roles: ColumnRoles, columns: dict[str, Column], na_values: Sequence[str], unfinished: Sequence[str]
) -> tuple[dict[str, Column], str | None]:
    """The columns, results of matches among them as scores, null where there is none; and a note on their notation.

    Those of contests who are `unfinished` have the last rank.

    Raises:
      RowError: where a row is no result as the others are.
      ValueError: if there are no ranks of which some could be unfinished.
    """
    layout = roles.layout
    if unfinished and not layout.ranked:
        raise ValueError("unfinished is for the ranks of contests; name their columns as contest and rank")
    if unfinished and layout.result in columns:
        return columns | {layout.result: rank_unfinished_last(columns[layout.result], unfinished)}, None
    if layout.contest is not None or layout.winner_first:
        return columns, None
    note = None
    new = {
        name: replace_na_values(columns[name], na_values)
        for name in (layout.result, *layout.points)
        if name is not None
    }
    new |= {name: replace_na_values(columns[name], na_values) for name in roles.margin if name in columns}
    if layout.result is not None:
        players = {name: columns[name] for name in layout.first_players}
        new[layout.result], note = result_column_to_scores(layout.result, new[layout.result], players)
    return columns | new, note


def check_points_not_negative(points: Sequence[str], columns: dict[str, Column]) -> None:
    """RowError where the points of a side, in columns that nobody named, are no number or negative."""
    for name in points:
        values = to_numbers(name, columns[name], default=0.0)
        fail_where(
            values < 0,
            lambda row: (
                f"column {name!r} is {values[row]:g}, and points are not negative; correct it, or name both "  # noqa: B023
                f"columns as the margin, which may be: margin={list(points)!r}"
            ),
        )


def split_by_result(roles: ColumnRoles, columns: dict[str, Column]) -> PlayedAndComingMasks:
    """Which rows of matches have a result, and which are to come.

    Raises:
      RowError: where a row that counts has no time as the others have.
    """
    layout = roles.layout
    n = len(columns[layout.players[0]])
    results = [name for name in (layout.result, *layout.points) if name is not None]
    without_result = np.zeros(n, bool)
    for name in results if layout.contest is None else ():
        without_result |= missing_mask(columns[name], nan_is_missing=True)
    if not without_result.any():
        return PlayedAndComingMasks(~without_result, without_result, without_result)
    complete = without_result & ~find_incomplete_rows(
        roles._replace(upcoming=True, layout=layout._replace(result=None, points=())), columns
    )
    coming = complete.copy()
    if roles.time is not None and coming.any() and not without_result.all():
        coming[complete] = _is_not_before_last(roles.time, columns, ~without_result, complete)
    return PlayedAndComingMasks(~without_result, coming, complete & ~coming)


def _is_not_before_last(time: str, columns: dict[str, Column], played: HostArray, coming: HostArray) -> HostArray:
    """[rows to come] whether they are not before the last row that was played."""
    last, times = (_row_times(time, columns, rows) for rows in (played, coming))
    return times >= last.max()


def _row_times(time: str, columns: dict[str, Column], rows: HostArray) -> HostArray:
    """The times of some rows; 0 if there are none."""
    with map_row_errors(np.flatnonzero(rows)):
        times, _ = time_column_to_days_and_clock(time, {time: keep_rows(time, columns[time], rows)})
    return times.get("time", np.zeros(np.count_nonzero(rows)))


def warn_unplayed_rows(split: PlayedAndComingMasks, rows: HostArray, upcoming: bool, stacklevel: int) -> None:
    """UserWarning about rows without a result or, if matches to come are read, about rows with one.

    `rows` [n] says where those of the split stand in the source.
    """
    n, num_without, num_coming = len(split.played), np.count_nonzero(~split.played), np.count_nonzero(split.coming)
    if not num_without or (upcoming and num_without == n):
        return
    reasons = []
    incomplete = ~(split.played | split.coming | split.early)
    for mask, reason in ((split.early, "earlier than the last result"), (incomplete, "incomplete otherwise")):
        if mask.any():
            first = "row" if np.count_nonzero(mask) == 1 else "the first is row"
            reasons.append(f"{_count_and_verb(mask)} {reason} ({first} {rows[mask][0]}, counting from 0)")
    if upcoming:
        message = "; ".join([f"of {n:,} rows {_count_and_verb(split.coming)} without a result and to come", *reasons])
    else:
        if num_coming:
            coming = f"{_count_and_verb(split.coming)} to come (`fixtures` of the data, or jaxrate predict)"
            reasons = [coming, *reasons]
        verbs = "has no result and is" if num_without == 1 else "have no result and are"
        message = f"{num_without:,} of {n:,} rows {verbs} left out: {'; '.join(reasons)}"
    warnings.warn(message, UserWarning, stacklevel=stacklevel)


def _count_and_verb(mask: HostArray) -> str:
    """The number of rows in a mask, as "1 is" or "2 are"."""
    count = np.count_nonzero(mask)
    return f"{count:,} {'is' if count == 1 else 'are'}"


MIN_AGREEMENT = 0.9  # share of the rows with a word for a draw that lack a winner


class DrawColumn(NamedTuple):
    """A column that tells which matches are drawn."""

    name: str
    note: str  # what was recognised, in words


def score_drawn_matches(
    table: TableSource, roles: ColumnRoles, columns: dict[str, Column], rows: HostArray
) -> tuple[ColumnRoles, dict[str, Column], DrawColumn | None]:
    """The roles and columns with 0.5 for the score of drawn matches that the result leaves open; and their column.

    Of winners and losers these are all that a flag, or a column of results, calls drawn. Beside other results they are
    those without a result, and, if no result is a draw, those that a flag calls drawn.

    Args:
      table: with the other columns.
      roles: of the columns that are used.
      columns: their values, results as scores.
      rows: [n] in which rows of the table these stand.
    """
    layout = roles.layout
    if layout.contest is not None or not (layout.winner_first or layout.result in columns):
        return roles, columns, None
    score = np.ones(len(rows))
    if layout.result is not None:
        try:
            score = to_numbers(layout.result, columns[layout.result], default=np.nan)
        except ValueError:  # which the rows that are wrong will tell
            return roles, columns, None
    is_missing, others = np.isnan(score), [name for name in table.names if name not in roles.all_columns]
    name, is_drawn = None, np.zeros(len(rows), bool)
    if not (score == 0.5).any():
        name, is_drawn = _find_draw_flags(table, others, rows, layout.winner_first)
    if name is None and is_missing.any():
        name, is_drawn = _find_mentioned_draws(table, others, rows, is_missing)
        is_drawn = is_drawn & is_missing
    if name is None or not is_drawn.any():
        return roles, columns, None
    result = layout.result or name
    scores = import_pyarrow().array(np.where(is_drawn, 0.5, score), from_pandas=True)
    note = f"{name} for the draws ({np.count_nonzero(is_drawn):,} of {format_count(len(rows), 'match')})"
    return (
        roles._replace(layout=layout._replace(result=result)),
        columns | {result: import_pyarrow().chunked_array([scores])},
        DrawColumn(name, note),
    )


def _find_draw_flags(
    table: TableSource, names: Sequence[str], rows: HostArray, is_result: bool
) -> tuple[str | None, HostArray]:
    """The column that flags draws, also by results if these may say so; and [n] whether a match is drawn."""
    flags = [name for name in names if normalise_column_name(name) in DRAW_NAMES]
    results = [name for name in names if normalise_column_name(name) in RESULT_NAMES] if is_result else []
    for name, column in _load_rows(table, [*flags, *results], rows).items():
        is_drawn = flags_of_draws(column) if name in flags else draws_in_results(column)
        if is_drawn is not None and is_drawn.any():
            return name, is_drawn
    return None, np.zeros(len(rows), bool)


def _find_mentioned_draws(
    table: TableSource, names: Sequence[str], rows: HostArray, is_missing: HostArray
) -> tuple[str | None, HostArray]:
    """The column with words for draws, nearly all in rows without a result; and [n] whether a row has one."""
    for name, column in _load_rows(table, names, rows).items():
        if mentions_draw(keep_rows(name, column, is_missing)).any():
            is_drawn = mentions_draw(column)
            if is_missing[is_drawn].mean() >= MIN_AGREEMENT:
                return name, is_drawn
    return None, is_missing


def _load_rows(table: TableSource, names: Sequence[str], rows: HostArray) -> dict[str, Column]:
    """These columns of the table, in these rows."""
    loaded = table.load(names, names, []) if names else {}
    mask = None
    columns = {name: to_column(name, loaded[name]) for name in names}
    for name, column in columns.items():
        mask = np.isin(np.arange(len(column)), rows) if mask is None else mask
        columns[name] = keep_rows(name, column, mask)
    return columns


class ResolvedTable(NamedTuple):
    """A table, and what its columns are used for."""

    table: TableSource  # which does not load again what was inspected
    roles: ColumnRoles
    arguments: dict[str, Any]  # that name columns, by role
    recognition: RecognisedColumnRoles
    line_ups: LineUpColumns | None


def resolve_table(
    table: TableSource, arguments: dict[str, Any], upcoming: bool, dates: str | None, na_values: Sequence[str]
) -> ResolvedTable:
    """Which columns of a table are used, and for what: as the arguments say, and else as the columns are called.

    Raises:
      ValueError: if arguments contradict each other or the table, or if it does not tell what they leave open.
    """
    line_ups = find_line_up_columns(table.names, arguments)
    if line_ups is not None:
        check_line_up_roles(arguments)
        first_players = line_ups.first[0], line_ups.second[0]
        arguments = arguments | dict(zip(line_ups.roles, first_players, strict=True))
    recognition = recognise_columns(table, arguments, upcoming, dates, na_values)
    table = recognition.table
    roles = resolve_roles(table.names, recognition.arguments, upcoming, recognition.points)
    if line_ups is not None:
        roles = set_line_up_columns(roles, line_ups, table.names)
    roles = roles._replace(time=None) if recognition.timeless else roles
    return ResolvedTable(table, roles, arguments, recognition, line_ups)


class ConvertedColumns(NamedTuple):
    """Columns as events are built from: scores, times and a player in each cell."""

    roles: ColumnRoles
    columns: dict[str, Column]
    line_up_note: str  # on line-ups in cells; "" if there are none
    result_note: str | None  # on a notation that may mean something else
    draws: DrawColumn | None
    date_style: str | None  # how dates were written, if that had to be found out or was told


def convert_columns(
    resolved: ResolvedTable,
    loaded: dict[str, Column],
    rows: HostArray,
    dates: str | None = None,
    na_values: Sequence[str] = (),
    unfinished: Sequence[str] = (),
) -> ConvertedColumns:
    """The columns, of which results, line-ups in cells and dates are as events are built from.

    `rows` [n] says where those of the columns stand in the table; the others are as in `read`.

    Raises:
      RowError: where a row is not as the others are.
    """
    with map_row_errors(rows):
        roles, loaded, line_up_note = expand_line_up_cells(resolved.roles, loaded)
        if roles.layout.num_first:
            check_line_up_roles(resolved.arguments)
            roles = roles._replace(side=None, constant_side=None, neutral=None)  # of columns called as home is
        loaded, result_note = parse_result_columns(roles, loaded, na_values, unfinished)
        roles, loaded, draws = score_drawn_matches(resolved.table, roles, loaded, rows)
        check_points_not_negative(() if roles.margin else roles.layout.points, loaded)
        loaded, date_style = parse_time_column(roles.time, loaded, dates, na_values)
    return ConvertedColumns(roles, loaded, line_up_note, result_note, draws, date_style)


@suggest_role_on_unknown_argument
@document_roles()
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
    and dates. A note says which columns were recognised as what, and arguments overrule it. All other columns are used
    only if named. Names of players and categories become ids in order of first appearance, reading the rows of the
    source from the top and a before b; in CSV they are text ("007" stays that), and an empty field is missing. CSV may
    be separated by commas, or by semicolons, tabs or | if the header has no comma, and be UTF-8, UTF-16 or
    Windows-1252. Objects in JSON become columns as "team.name". Of a spreadsheet the first sheet is read.

    Args:
      source: a path to .parquet, .csv, .tsv, .txt, .json or .jsonl (all but the first also .gz, .bz2 or .zst), .xlsx or
        .ods, or "-" for standard input; to a folder of Parquet files that are one table, as `rate_files` takes it; a
        pandas, polars or Arrow table, a lazy frame of polars, a relation or result of DuckDB, anything else that Arrow
        can take (`__arrow_c_stream__`), a dict of arrays or lists, or a list of dicts, one per row, which may be nested
        as JSON is. Of lazy frames and relations only the columns that are used are made.
      COLUMNS: the roles of `data.column_roles.COLUMN_ROLES`, each the name of a column.
      sort: put the rows in order of time (stable, contests as wholes). Otherwise a time that decreases is an error; in
        contests it is one only to systems in which time passes.
      upcoming: the events are to come. They are put in order of time, and no score or margin is read: 0.5 and 0 stand
        in for them, or in contests a tie of all players and teams. Where some rows have a result, those are left out.
      dates: how dates in text are written that are not ISO: "day-first", "month-first" or a format of `strptime`. None:
        as they are clear, by the name of the month, the year in front, or a day above 12.
      na_values: texts that say that there is no result, or no margin, beside "P", "P-P", "postp.", "NA", "-" and others
        that are usual; case does not matter. "-1" is the number, too, in columns of numbers.
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
        from them; if names of players, categories or contests differ only in what `jr.data.unify_names` joins, or in
        accents; if matches with times repeat an earlier one exactly; if a margin has another sign than the score; if
        rows were skipped.
    """
    arguments = select_role_arguments(columns)
    level = stacklevel_outside_package()
    table_sources.import_pyarrow()
    table = table_files.open_table_source(source)
    with table_sources.add_location_to_data_errors(table.title, table.where):
        check_argument("read", "upcoming", bool, upcoming)
        for role in ("age", "expected_goals"):
            check_argument("read", role, str | Sequence[str] | None, arguments[role])
        check_argument("read", "statistics", str | Sequence[str] | Mapping[str, Any] | None, arguments["statistics"])
        known = names_of_earlier_data(history)
        if on_faulty not in ("error", "skip"):
            raise ValueError(f"on_faulty must be 'error' or 'skip', got {on_faulty!r}")
        check_date_style(dates)
        check_texts("na_values", na_values)
        check_texts("unfinished", unfinished)
        resolved = resolve_table(table, arguments, upcoming, dates, na_values)
        table, roles, recognition, line_ups = resolved.table, resolved.roles, resolved.recognition, resolved.line_ups
        if sort and roles.time is None:
            raise ValueError("sort=True needs a column of time")
        loaded, rows = load_role_columns_and_drop_rows(table, roles)
        roles, loaded, line_up_note, result_note, draws, date_style = convert_columns(
            resolved, loaded, rows, dates, na_values, unfinished
        )
        with map_row_errors(rows):
            split = split_by_result(roles, loaded)
        kept, used = (
            (loaded, rows) if split.played.all() else _select_played_or_upcoming_rows(loaded, rows, split, upcoming)
        )
        notes = [*filter(None, [table.note]), *recognition.notes, *filter(None, [result_note, draws and draws.note])]
        if roles.layout.num_first:
            notes = [note.removesuffix(SIDE_NOTE) for note in notes]
        notes = [*filter(None, [line_up_note, "" if line_ups is None else line_ups.note]), *notes]
        if roles.time is None and table.noted and (names := date_columns(table, roles.all_columns, dates)):
            notes.append(
                f"nothing for the time, though {join_names(names)} {'has' if len(names) == 1 else 'have'} dates"
            )
        warn_recognised_columns(notes, roles.time, date_style if dates is None else None, stacklevel=level)
        with map_row_errors(used):
            hints = doubtful_roles_hints(recognition, roles, kept, arguments["score"] is not None)
        for hint in hints:
            warnings.warn(hint, ColumnsRecognisedWarning, stacklevel=level)
        warn_unplayed_rows(split, rows, upcoming, stacklevel=level)
        if on_faulty == "skip":
            incomplete = find_incomplete_rows(roles, kept)
            warn_incomplete_rows(used[incomplete], len(incomplete), stacklevel=level)
            if incomplete.all():
                raise ValueError("no rows are left: all of them lack a value")
            kept, used = filter_column_rows(kept, ~incomplete), used[~incomplete]
        dataset = build_dataset(roles, kept, used, known, sort, sort or upcoming)
        if split.coming.any() and not upcoming:
            coming = filter_column_rows(loaded, split.coming)
            fixtures = build_dataset(
                roles._replace(upcoming=True), coming, rows[split.coming], names_of_earlier_data(dataset), False, True
            )
            dataset = dataset._replace(fixtures=fixtures._replace(upcoming=True))
        played = int(split.played.sum()) if upcoming and not split.played.all() else 0
        dataset = dataset._replace(
            dates=date_style if is_date_style(date_style) else None, played=played, upcoming=upcoming
        )
    if isinstance(dataset.events, Ragged):
        warn_single_participant(dataset.events, dataset.contests, stacklevel=level)
    elif table.noted:
        warn_margin_signs(dataset, stacklevel=level)
        if hint := "" if upcoming else unused_points_hint(table, dataset, roles):
            warnings.warn(hint, ColumnsRecognisedWarning, stacklevel=level)
        warn_repeated_matches(dataset.events, dataset.rows, table, stacklevel=level)
    for field in ("players", "categories", "contests", "seasons") if table.noted else ():
        value = getattr(dataset, field)
        field_names: HostArray | None = np.array([*value], object) if isinstance(value, dict) else value
        num_known = len(known.players) if field == "players" and known.players is not None else 0
        if field == "players":
            warn_doubtful_names(dataset.players, num_known, stacklevel=level)
        warn_lookalike_names(field, field_names, num_known if upcoming else 0, stacklevel=level)
        warn_names_with_other_accents(
            field, field_names if field_names is None else field_names[num_known:], stacklevel=level
        )
    if table.noted and known.players is not None and dataset.players.dtype == object:
        warn_new_names_with_other_accents(dataset.players, len(known.players), stacklevel=level)
    return dataset


def warn_recognised_columns(
    recognised: Sequence[str], time: str | None, date_style: str | None, stacklevel: int
) -> None:
    """UserWarning about the roles that columns were recognised to have, and how their dates are written."""
    notes = [*recognised]
    if date_style is not None:
        notes.append(f"{time} as dates, {STYLE_DESCRIPTIONS[date_style]}")
    if notes:
        warnings.warn(
            f"took {'; '.join(notes)}; name columns to choose others", ColumnsRecognisedWarning, stacklevel=stacklevel
        )


def names_of_earlier_data(history: Any) -> NamesOfEarlierData:
    """The names that keep their ids: those of an earlier `Dataset` or of a `History`, or players; None: none."""
    if history is None:
        return NamesOfEarlierData()
    if isinstance(history, (list, np.ndarray)):
        return NamesOfEarlierData(history)
    if getattr(history, "players", None) is None:
        kind = type(history).__name__
        raise ValueError(f"history must be an earlier Dataset or a History, as of jr.read or jr.rate, got {kind}")
    return NamesOfEarlierData(*(getattr(history, name, None) for name in NamesOfEarlierData._fields))


def _select_played_or_upcoming_rows(
    loaded: dict[str, Column], rows: HostArray, split: PlayedAndComingMasks, upcoming: bool
) -> tuple[dict[str, Column], HostArray]:
    """The rows that are rated, or that are to come; ValueError if there are none."""
    keep = split.coming if upcoming else split.played
    if upcoming and not split.played.any():
        return loaded, rows
    if not keep.any():
        hint = "" if upcoming else "; `jaxrate predict` takes matches to come; upcoming=True reads them"
        raise ValueError(f"no row {'without a result is to come' if upcoming else 'has a result'}{hint}")
    return filter_column_rows(loaded, keep), rows[keep]


def load_role_columns_and_drop_rows(table: TableSource, roles: ColumnRoles) -> tuple[dict[str, Column], HostArray]:
    """The columns, without the rows to drop; and which rows are left."""
    names = roles.all_columns
    loaded = table.load(names, roles.text_columns, roles.number_columns)
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
    return filter_column_rows(columns, keep), np.flatnonzero(keep)


TABLE_METHODS = (
    "__arrow_c_stream__",
    "collect_schema",
    "project",
    *ARROW_METHODS,
)  # what tables of other packages have


def is_readable_source(data: Any) -> bool:
    """Whether `read` takes it: a path, a table of any package, a dict of columns, or a list of dicts."""
    if isinstance(data, (str, os.PathLike, Mapping)) or any(hasattr(data, name) for name in TABLE_METHODS):
        return True
    if isinstance(data, (list, tuple)) and not hasattr(data, "_fields"):
        return bool(data) and all(isinstance(row, Mapping) for row in data)
    return hasattr(data, "keys") and hasattr(data, "__getitem__")


def read_if_source(data: Any, **options: Any) -> Any:
    """The data, read if they are a source of `read`, and else as they are. `options` are those of `read`.

    Raises:
      ValueError: as `read` does.
    """
    return read(data, **options) if is_readable_source(data) else data


def as_dataset(caller: str, data: Any, **options: Any) -> Dataset:
    """A `Dataset`, or one that `read` makes of a source.

    Raises:
      ValueError: if the data are neither, and as `read` does.
    """
    dataset = read_if_source(data, **options)
    check_dataset(caller, dataset)
    return dataset
