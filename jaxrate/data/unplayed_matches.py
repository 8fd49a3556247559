"""Rows of matches that have no result: those to come, and those that were never played."""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxrate.data.column_conversion import keep_rows, missing_mask, to_times
from jaxrate.data.column_roles import Roles
from jaxrate.data.faulty_rows import find_incomplete_rows
from jaxrate.data.result_parsing import replace_na_texts, to_scores
from jaxrate.data.table_sources import Column
from jaxrate.events import RowError
from jaxrate.types import HostArray


class ResultSplit(NamedTuple):
    """Rows by whether they have a result."""

    played: HostArray  # [n] whether they have one
    coming: HostArray  # [n] whether they have none, are complete otherwise, and not before the last that has one


def parse_result_columns(roles: Roles, columns: dict[str, Column], na_values: Sequence[str]) -> dict[str, Column]:
    """The columns, results of matches among them read as scores, and null where there is none.

    Raises:
      RowError: where a row is no result as the others are.
    """
    form = roles.form
    if form.contest is not None or form.won:
        return columns
    new = {name: replace_na_texts(columns[name], na_values) for name in (form.result, *form.points) if name is not None}
    new |= {name: replace_na_texts(columns[name], na_values) for name in roles.margin if name in columns}
    if form.result is not None:
        first, second = (columns[name] for name in form.who)
        new[form.result] = to_scores(form.result, new[form.result], first, second)
    return columns | new


def split_by_result(roles: Roles, columns: dict[str, Column]) -> ResultSplit:
    """Which rows of matches have a result, and which are to come.

    Raises:
      RowError: where a row that counts has no time as the others have.
    """
    form = roles.form
    n = len(columns[form.who[0]])
    results = [name for name in (form.result, *form.points) if name is not None]
    lacks = np.zeros(n, bool)
    for name in results if form.contest is None else ():
        lacks |= missing_mask(columns[name], nan_is_missing=True)
    if not lacks.any():
        return ResultSplit(~lacks, lacks)
    coming = lacks & ~find_incomplete_rows(
        roles._replace(upcoming=True, form=form._replace(result=None, points=())), columns
    )
    if roles.time is not None and coming.any() and not lacks.all():
        coming[coming] = _is_not_before_last(roles.time, columns, ~lacks, coming)
    return ResultSplit(~lacks, coming)


def _is_not_before_last(time: str, columns: dict[str, Column], played: HostArray, coming: HostArray) -> HostArray:
    """[rows to come] whether they are not before the last row that was played."""
    last, times = (_row_times(time, columns, rows) for rows in (played, coming))
    return times >= last.max()


def _row_times(time: str, columns: dict[str, Column], rows: HostArray) -> HostArray:
    """The times of some rows; 0 if there are none."""
    place = np.flatnonzero(rows)
    try:
        times, _ = to_times(time, {time: keep_rows(time, columns[time], rows)})
    except RowError as error:
        raise error.but(lambda row, message: (int(place[row]), message)) from None
    return times.get("time", np.zeros(len(place)))


def warn_unplayed_rows(split: ResultSplit, upcoming: bool, stacklevel: int) -> None:
    """UserWarning about rows that have no result, or, where matches are to come, about those that have one."""
    n, lacks, coming = len(split.played), np.count_nonzero(~split.played), np.count_nonzero(split.coming)
    if not lacks or (upcoming and lacks == n):
        return
    other = lacks - coming
    rest = f"; {other:,} are incomplete otherwise, or earlier than the last result" if other else ""
    if upcoming:
        said = f"of {n:,} rows the {coming:,} without a result are to come{rest}"
    else:
        said = (
            f"left out {lacks:,} of {n:,} rows, which have no result: {coming:,} are to come (`fixtures` of the data)"
        )
        said += rest
    warnings.warn(said, UserWarning, stacklevel=stacklevel)
