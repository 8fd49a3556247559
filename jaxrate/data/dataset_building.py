"""Datasets from the columns of a table, whose errors name rows of the source."""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.column_conversion import keep_rows, to_ids
from jaxrate.data.faulty_rows import collect_row_errors, map_row_errors
from jaxrate.data.line_up_tables import build_line_up_dataset, read_line_up_fields
from jaxrate.data.match_tables import build_match_dataset, build_match_fields, match_row_order
from jaxrate.data.participant_tables import build_contest_dataset, contest_row_order, read_participant_fields
from jaxrate.data.player_categories import CategoryShares
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_sources import Column
from jaxrate.events import RowError
from jaxrate.events.dataset import Dataset


class NamesOfEarlierData(NamedTuple):
    """Names that have ids already, and mixtures, as in `read`."""

    players: Any
    categories: Any
    mixtures: Mapping[Any, CategoryShares]
    seasons: Mapping[str, float] | None
    history: Any


def build_dataset(
    roles: ColumnRoles,
    columns: dict[str, Column],
    rows: HostArray,
    names: NamesOfEarlierData,
    sort: bool,
    in_order: bool,
) -> Dataset:
    """The dataset of these columns, whose values stand in these rows of the source.

    Args:
      roles: which columns are used, and for what.
      columns: values [n] by name.
      rows: [n] of the source.
      names: those that have ids already.
      sort: whether the caller asked for the order of time.
      in_order: whether to put the rows in order of time.

    Raises:
      RowError: about up to ten rows of the source.
    """
    with map_row_errors(rows):
        try:
            return _build_events(roles, columns, rows, names, sort, in_order)
        except RowError as error:
            recheck = partial(_recheck_rows, roles, columns, rows, names)
            raise collect_row_errors(error, recheck, _contest_or_row_ids(roles, columns, len(rows))) from None


def _build_events(
    roles: ColumnRoles,
    columns: dict[str, Column],
    rows: HostArray,
    names: NamesOfEarlierData,
    sort: bool,
    in_order: bool,
) -> Dataset:
    """`build_dataset`, whose error is the first, about rows of the columns."""
    layout, row = roles.layout, np.arange(len(rows))  # in which row each match or participant stands
    of_teams = layout.num_first > 0  # matches of two teams, as contests
    of_matches = layout.contest is None and not of_teams
    if of_teams:
        fields, row = read_line_up_fields(roles, columns, *names[:3], rows)
    elif of_matches:
        fields = build_match_fields(roles, columns, *names)
    else:
        fields = read_participant_fields(roles, columns, *names[:3])
    if sort and fields.clock is None:
        raise ValueError(f"sort=True needs times, but column {roles.time!r} has no value")
    with map_row_errors(row):
        order = match_row_order(roles, columns, fields, in_order) if of_matches else contest_row_order(fields, in_order)
    fields, row = fields._replace(values=_reorder_values(fields.values, order)), row[order]
    build = build_line_up_dataset if of_teams else build_match_dataset if of_matches else build_contest_dataset
    with map_row_errors(row):
        return build(roles, fields, rows[row])


def _recheck_rows(
    roles: ColumnRoles, columns: dict[str, Column], rows: HostArray, names: NamesOfEarlierData, mask: HostArray
) -> None:
    """RowError about rows of the columns, if those of the mask are wrong too; their order is not looked at."""
    with map_row_errors(np.flatnonzero(mask)):
        _build_events(roles, filter_column_rows(columns, mask), rows[mask], names, False, True)


def _contest_or_row_ids(roles: ColumnRoles, columns: dict[str, Column], n: int) -> HostArray:
    """[n] numbers of the contests, or of the matches; of rows where contests have no name."""
    if roles.layout.contest is not None:
        with suppress(ValueError):
            return to_ids([roles.layout.contest], columns)[0][:, 0]
    return np.arange(n)


def filter_column_rows(columns: dict[str, Column], mask: HostArray) -> dict[str, Column]:
    """The rows of the columns where the mask is true."""
    return {name: keep_rows(name, column, mask) for name, column in columns.items()}


def _reorder_values(values: dict[str, Any], order: HostArray | slice) -> dict[str, Any]:
    """The rows of the columns, also of further ones, in this order."""
    return {name: _reorder_values(x, order) if isinstance(x, dict) else x[order] for name, x in values.items()}
