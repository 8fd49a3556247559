"""Statistics of matches: leads of the first player in what was counted besides the result."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.column_conversion import to_numbers
from jaxrate.data.table_sources import Column
from jaxrate.events import fail_where


class Statistic(NamedTuple):
    """A statistic, and the columns from which it is computed."""

    name: str  # of the column that matches get
    columns: tuple[str, ...]  # those of a and of b; or one of by how much a was ahead
    share: bool  # (a - b) / (a + b) in place of a - b


def resolve_statistics(statistics: Any, shares: Any) -> list[Statistic]:
    """The statistics that arguments of `read` name.

    Raises:
      ValueError: for arguments that do not name columns, or for a name given twice.
    """
    if shares and not isinstance(shares, Mapping):
        raise ValueError(f"shares must be a dict of two columns by name, got {format_value_for_error(shares)}")
    if not isinstance(statistics, Mapping):
        names = [statistics] if isinstance(statistics, str) else list(statistics or ())
        statistics = {name: name for name in names}
    resolved = []
    for share, columns_by_name in ((False, statistics), (True, shares or {})):
        for name, columns in columns_by_name.items():
            pair = tuple(columns) if isinstance(columns, (list, tuple)) else (columns,)
            if not all(isinstance(x, str) and x for x in (name, *pair)):
                raise ValueError(f"statistics must be names of columns, got {format_value_for_error(columns)}")
            if len(pair) != 2 and (share or len(pair) != 1):
                raise ValueError(
                    f"statistic {name!r} must be of two columns, a's and b's{'' if share else ', or of one'}"
                )
            resolved.append(Statistic(name, pair, share))
    names = [one.name for one in resolved]
    if len(set(names)) < len(names):
        raise ValueError(f"two statistics have the same name: {', '.join(names)}")
    return resolved


def first_player_statistic_lead(statistic: Statistic, columns: Mapping[str, Column]) -> HostArray:
    """[n] by how much the first player was ahead, NaN where a value is missing.

    Raises:
      RowError: where one of two that a share is of is below 0, or a value is infinite.
    """
    values = [to_numbers(name, columns[name], np.nan) for name in statistic.columns]
    for name, values_of_column in zip(statistic.columns, values, strict=True):
        bad = (values_of_column < 0) if statistic.share else np.isinf(values_of_column)
        fail_where(
            bad | np.isinf(values_of_column),
            lambda row: f"column {name!r} is {values_of_column[row]}, not a number {_valid_range_text(statistic)}",  # noqa: B023
        )
    if len(values) == 1:
        return values[0]
    first, second = values
    if not statistic.share:
        return first - second
    total = first + second
    return np.where(total == 0, 0.0, (first - second) / np.where(total == 0, 1.0, total))


def _valid_range_text(statistic: Statistic) -> str:
    return "from 0, as a share is of" if statistic.share else "that is finite"
