"""Rows of matches that have no result: those to come, and those that were never played."""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.column_conversion import keep_rows, missing_mask, time_column_to_days_and_clock, to_numbers
from jaxrate.data.faulty_rows import find_incomplete_rows, map_row_errors
from jaxrate.data.result_parsing import rank_unfinished_last, replace_na_values, result_column_to_scores
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_sources import Column
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
