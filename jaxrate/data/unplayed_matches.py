"""Rows of matches that have no result: those to come, and those that were never played."""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxrate.array_types import HostArray
from jaxrate.data.column_conversion import keep_rows, missing_mask, time_argument_and_clock, to_numbers
from jaxrate.data.faulty_rows import find_incomplete_rows, map_row_errors
from jaxrate.data.result_parsing import replace_na_texts, result_column_to_scores
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_sources import Column
from jaxrate.events import fail_where


class ResultSplit(NamedTuple):
    """Rows by whether they have a result."""

    played: HostArray  # [n] whether they have one
    coming: HostArray  # [n] whether they have none, are complete otherwise, and not before the last played one


def parse_result_columns(roles: ColumnRoles, columns: dict[str, Column], na_values: Sequence[str]) -> dict[str, Column]:
    """The columns, results of matches among them read as scores, and null where there is none.

    Raises:
      RowError: where a row is no result as the others are.
    """
    layout = roles.layout
    if layout.contest is not None or layout.winner_first:
        return columns
    new = {
        name: replace_na_texts(columns[name], na_values) for name in (layout.result, *layout.points) if name is not None
    }
    new |= {name: replace_na_texts(columns[name], na_values) for name in roles.margin if name in columns}
    if layout.result is not None:
        first, second = (columns[name] for name in layout.players)
        new[layout.result] = result_column_to_scores(layout.result, new[layout.result], first, second)
    return columns | new


def check_points_not_negative(points: Sequence[str], columns: dict[str, Column]) -> None:
    """RowError where the points of a side, in columns that nobody named, are no number or negative."""
    for name in points:
        values = to_numbers(name, columns[name], default=0.0)
        fail_where(
            values < 0,
            lambda row: (
                f"column {name!r} is {values[row]:g}, and points are not negative; correct it, or name both "  # noqa: B023
                f"columns as the margin, which may be: margin={list(points)!r}, or --margin {' '.join(points)}"
            ),
        )


def split_by_result(roles: ColumnRoles, columns: dict[str, Column]) -> ResultSplit:
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
        return ResultSplit(~without_result, without_result)
    coming = without_result & ~find_incomplete_rows(
        roles._replace(upcoming=True, layout=layout._replace(result=None, points=())), columns
    )
    if roles.time is not None and coming.any() and not without_result.all():
        coming[coming] = _is_not_before_last(roles.time, columns, ~without_result, coming)
    return ResultSplit(~without_result, coming)


def _is_not_before_last(time: str, columns: dict[str, Column], played: HostArray, coming: HostArray) -> HostArray:
    """[rows to come] whether they are not before the last row that was played."""
    last, times = (_row_times(time, columns, rows) for rows in (played, coming))
    return times >= last.max()


def _row_times(time: str, columns: dict[str, Column], rows: HostArray) -> HostArray:
    """The times of some rows; 0 if there are none."""
    with map_row_errors(np.flatnonzero(rows)):
        times, _ = time_argument_and_clock(time, {time: keep_rows(time, columns[time], rows)})
    return times.get("time", np.zeros(np.count_nonzero(rows)))


def warn_unplayed_rows(split: ResultSplit, upcoming: bool, stacklevel: int) -> None:
    """UserWarning about rows without a result or, if matches to come are read, about rows with one."""
    n, num_without, num_coming = len(split.played), np.count_nonzero(~split.played), np.count_nonzero(split.coming)
    if not num_without or (upcoming and num_without == n):
        return
    num_other = num_without - num_coming
    others = f"; {num_other:,} are incomplete otherwise, or earlier than the last result" if num_other else ""
    if upcoming:
        message = f"of {n:,} rows the {num_coming:,} without a result are to come{others}"
    else:
        message = f"left out {num_without:,} of {n:,} rows, which have no result: {num_coming:,} are to come "
        message += f"(`fixtures` of the data){others}"
    warnings.warn(message, UserWarning, stacklevel=stacklevel)
