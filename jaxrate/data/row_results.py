"""The results of the rows of a table: as scores, drawn ones among them, and of which rows there is none yet."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_count
from jaxrate.data.column_conversion import (
    keep_rows,
    missing_mask,
    time_column_to_days_and_clock,
    to_column,
    to_numbers,
)
from jaxrate.data.column_role_definitions import PLAYER_PAIR, as_column_list
from jaxrate.data.column_spellings import DRAW_NAMES, SPELLINGS, normalise_column_name
from jaxrate.data.evidence_column_recognition import recognise_evidence_columns
from jaxrate.data.faulty_rows import find_incomplete_rows, map_row_errors
from jaxrate.data.result_parsing import (
    draws_in_results,
    flags_of_draws,
    mentions_draw,
    parse_ranks,
    replace_na_values,
    result_column_to_scores,
)
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_sources import Column, TableSource, import_pyarrow
from jaxrate.events import fail_where


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
    if layout.ranked and layout.result in columns:
        ranks, note = parse_ranks(layout.result, columns[layout.result], unfinished)
        return columns | {layout.result: ranks}, note
    if layout.contest is not None or layout.winner_first:
        return columns, None
    note, new = None, dict[str, Column]()
    for name in filter(None, (layout.result, *layout.points, *roles.margin)):
        if name in columns:
            new[name] = replace_na_values(columns[name], na_values)
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


def doubts_about_unplayed_rows(split: PlayedAndComingMasks, rows: HostArray, upcoming: bool) -> Iterator[str]:
    """That rows have no result or, if matches to come are read, that some have one.

    `rows` [n] says where those of the split stand in the source.
    """
    n, num_without = len(split.played), np.count_nonzero(~split.played)
    if not num_without or (upcoming and num_without == n):
        return
    reasons = []
    incomplete = ~(split.played | split.coming | split.early)
    for mask, reason in ((split.early, "earlier than the last result"), (incomplete, "incomplete otherwise")):
        if mask.any():
            first = "row" if np.count_nonzero(mask) == 1 else "the first is row"
            reasons.append(f"{_count_and_verb(mask)} {reason} ({first} {rows[mask][0]}, counting from 0)")
    if upcoming:
        yield "; ".join([f"of {n:,} rows {_count_and_verb(split.coming)} without a result and to come", *reasons])
        return
    if split.coming.any():
        coming = f"{_count_and_verb(split.coming)} to come (`fixtures` of the data, or jaxrate predict)"
        reasons = [coming, *reasons]
    verbs = "has no result and is" if num_without == 1 else "have no result and are"
    yield f"{num_without:,} of {n:,} rows {verbs} left out: {'; '.join(reasons)}"


def _count_and_verb(mask: HostArray) -> str:
    """The number of rows in a mask, as "1 is" or "2 are"."""
    count = np.count_nonzero(mask)
    return f"{count:,} {'is' if count == 1 else 'are'}"


MIN_AGREEMENT = 0.9  # share of the rows with a word for a draw that lack a winner, or whose points agree with theirs


class DrawColumns(NamedTuple):
    """What tells which matches are drawn: a column, or those of the points of both sides."""

    names: tuple[str, ...]
    note: str  # what was recognised, in words


def score_drawn_matches(
    table: TableSource, roles: ColumnRoles, columns: dict[str, Column], rows: HostArray
) -> tuple[ColumnRoles, dict[str, Column], DrawColumns | None]:
    """The roles and columns with 0.5 for the score of drawn matches that the result leaves open; and what tells them.

    Of winners and losers these are all that a flag, or a column of results, calls drawn. Beside other results they are
    those without a result, by a word or by equal points, and, if no result is a draw, those that a flag calls drawn.

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
    others = [name for name in table.names if name not in roles.all_columns]
    names, is_drawn = _find_draws(table, others, rows, score, layout.winner_first)
    if not names and layout.result is not None:
        names, is_drawn = _find_equal_points(table, roles, rows, score)
    if not is_drawn.any():
        return roles, columns, None
    result = layout.result or names[0]
    scores = import_pyarrow().array(np.where(is_drawn, 0.5, score), from_pandas=True)
    note = f"{' and '.join(names)} for the draws ({np.count_nonzero(is_drawn):,} of {format_count(len(rows), 'match')})"
    return (
        roles._replace(layout=layout._replace(result=result)),
        columns | {result: import_pyarrow().chunked_array([scores])},
        DrawColumns(names, note),
    )


def _find_draws(
    table: TableSource, names: Sequence[str], rows: HostArray, score: HostArray, winner_first: bool
) -> tuple[tuple[str, ...], HostArray]:
    """The column of these that tells draws which the scores [n] leave open, if one does; and [n] which are drawn.

    Flags and results tell them, and words for draws that nearly all stand in rows without a result.
    """
    flags = [] if (score == 0.5).any() else select_draw_columns(names, winner_first)
    for name, column in _load_rows(table, flags, rows).items():
        is_flag = normalise_column_name(name) in DRAW_NAMES
        is_drawn = flags_of_draws(column) if is_flag else draws_in_results(column)
        if is_drawn is not None and is_drawn.any():
            return (name,), is_drawn
    is_missing = np.isnan(score)
    for name, column in _load_rows(table, names if is_missing.any() else [], rows).items():
        if mentions_draw(keep_rows(name, column, is_missing)).any():
            is_drawn = mentions_draw(column)
            if is_missing[is_drawn].mean() >= MIN_AGREEMENT:
                return (name,), is_drawn & is_missing
    return (), np.zeros(len(score), bool)


def _find_equal_points(
    table: TableSource, roles: ColumnRoles, rows: HostArray, score: HostArray
) -> tuple[tuple[str, ...], HostArray]:
    """The columns of both sides' points, if these tell who won; and where they are equal, and scores [n] missing."""
    is_missing, players = np.isnan(score), dict(zip(PLAYER_PAIR, roles.layout.first_players, strict=True))
    names = as_column_list(recognise_evidence_columns(table.names, players).get("margin"))
    if len(names) == 2 and is_missing.any() and not is_missing.all():
        with suppress(ValueError):
            first, second = (to_numbers(x, y, np.nan) for x, y in _load_rows(table, names, rows).items())
            lead = np.sign(first - second)
            decided = ~is_missing & (lead != 0)  # level points may have a winner, by a shoot-out
            if decided.any() and (lead == np.sign(score - 0.5))[decided].mean() >= MIN_AGREEMENT:
                return tuple(names), is_missing & (first == second)
    return (), np.zeros(len(score), bool)


def select_draw_columns(names: Sequence[str], is_result: bool) -> list[str]:
    """Those that are called as flags of draws are, and then as results are if these may say so."""
    flags = [name for name in names if normalise_column_name(name) in DRAW_NAMES]
    return flags + [name for name in names if is_result and normalise_column_name(name) in SPELLINGS["score"]]


def _load_rows(table: TableSource, names: Sequence[str], rows: HostArray) -> dict[str, Column]:
    """These columns of the table, in these rows."""
    loaded = table.load(names, names) if names else {}
    mask = None
    columns = {name: to_column(name, loaded[name]) for name in names}
    for name, column in columns.items():
        mask = np.isin(np.arange(len(column)), rows) if mask is None else mask
        columns[name] = keep_rows(name, column, mask)
    return columns
