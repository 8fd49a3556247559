"""Votes and counts in tables, and the days of votes."""

import re
import warnings
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jaxrate.arena.votes import VoteCounts, count_votes
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import did_you_mean_suffix
from jaxrate.data.column_conversion import to_column, to_ids, to_numbers
from jaxrate.data.column_recognition import ColumnsRecognisedWarning, time_columns
from jaxrate.data.dataset_from_table import is_readable_source, read
from jaxrate.data.date_parsing import parse_times
from jaxrate.data.table_files import open_table_source
from jaxrate.data.table_sources import (
    TableSource,
    add_location_to_data_errors,
    check_columns_exist_and_unique,
    find_column_ignoring_case,
)
from jaxrate.events.dataset import Dataset
from jaxrate.history.history import format_time

USUAL_COLUMNS = ("wins", "losses"), ("wins_a", "wins_b")  # of counts
TIE_COLUMN = re.compile(r"(ties?|draws?)(_|$)", re.IGNORECASE)


class CountColumns(NamedTuple):
    """The columns of a table with counts of wins, losses and ties of two players."""

    wins: str | None = None
    losses: str | None = None
    ties: tuple[str, ...] = ()


NO_COLUMNS = CountColumns()


def find_count_columns(names: list[str], named: CountColumns = NO_COLUMNS) -> CountColumns | None:
    """The columns of counts that are `named`, and those that usual names tell; None if the table has no counts.

    Raises:
      ValueError: if one of wins and losses is unknown, a column is not there, or is named twice.
    """
    spelt = partial(find_column_ignoring_case, names)
    usual = next(filter(all, (tuple(map(spelt, pair)) for pair in USUAL_COLUMNS)), (None, None))
    if not any(named) and (None in usual or spelt("score") is not None):
        return None
    wins, losses = named.wins or usual[0], named.losses or usual[1]
    if wins is None or losses is None:
        missing = "wins" if wins is None else "losses"
        raise ValueError(f"counts need columns of wins and of losses; name one with `{missing}`")
    ties = named.ties or tuple(filter(None, [spelt("ties")]))
    columns = [str(wins), str(losses), *ties]
    check_columns_exist_and_unique(names, columns)
    if len({*columns}) < len(columns):
        raise ValueError(f"wins, losses and ties must be different columns, got {', '.join(columns)}")
    return CountColumns(wins, losses, ties)


def counts_of_dataset(data: Dataset, columns: CountColumns) -> VoteCounts:
    """The counts of matches that were read without a result, whose context has these columns."""
    context = data.matches.context
    values: dict[str, Any] = dict(context.columns or {}) | ({} if context.side is None else {"side": context.side})
    a, b = np.asarray(data.matches.player).T
    ties = sum(values[name] for name in columns.ties) if columns.ties else None
    counts = count_votes(a, b, values[str(columns.wins)], values[str(columns.losses)], ties, columns=values)
    return counts._replace(players=data.players)


def uncounted_ties(table: TableSource, columns: CountColumns, rows: HostArray) -> dict[str, float]:
    """How many results are in further columns of ties, by their names; of these rows of the table."""
    used = {columns.wins, columns.losses, *columns.ties}
    found: dict[str, float] = {}
    for name in table.names:
        if TIE_COLUMN.match(name) and name not in used:
            column = to_column(name, table.load([name], [name])[name])
            try:
                found[name] = float(to_numbers(name, column, 0.0)[rows].sum())
            except ValueError:  # a column of text counts nothing
                found[name] = 0.0
    return found


def describe_vote_dates(table: TableSource, dates: str | None) -> str:
    """The first and the last day of votes whose table has a column of dates; empty without one."""
    for name in time_columns(table.names):
        column = to_column(name, table.load([name], [name])[name])
        try:
            times = parse_times(name, column, dates)
        except ValueError:  # votes do without times
            continue
        if times.clock == "dates":
            ends = (
                format_time(float(np.floor(day)), "dates") for day in (np.nanmin(times.values), np.nanmax(times.values))
            )
            return " to ".join(dict.fromkeys(ends))
    return ""


def read_votes_if_source(
    data: Any, covariates: Sequence[str], cluster: Any, *, in_order: bool = False
) -> tuple[Any, Any]:
    """The votes or counts of a source of `read`, or the data, and clusters, as numbers where they are columns.

    Args:
      data: as for `fit_strengths`.
      covariates, cluster: as for `fit_strengths`.
      in_order: whether times count: votes are then put in their order.

    Raises:
      ValueError: as `read` does; and for a column of clusters that there is not.
    """
    if not is_readable_source(data):
        return data, cluster
    table = open_table_source(data)
    columns = [name for name in covariates if name != "side" or name in table.names]
    source = table if in_order else drop_unused_times(table, columns)
    counts = None if in_order else find_count_columns(source.names)
    if counts is None:
        votes: Any = read(source, covariates=columns, sort=in_order)
        rows = votes.rows
    else:
        numbers = [str(counts.wins), str(counts.losses), *counts.ties]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ColumnsRecognisedWarning)  # wins of both are no points of a match
            counted = read(source._replace(noted=False), columns=numbers, covariates=columns, upcoming=True)
        votes, rows = counts_of_dataset(counted, counts), counted.rows
    names = [cluster] if isinstance(cluster, str) else cluster
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        return votes, cluster
    return votes, cluster_codes(table, names, rows)


def drop_unused_times(table: TableSource, used: Collection[Any]) -> TableSource:
    """The table without columns that are called as times are, but for those used: the order of votes does not count."""
    unused = {*time_columns(table.names)} - {*used}
    return table._replace(names=[name for name in table.names if name not in unused])


def cluster_codes(table: TableSource, names: Sequence[str], rows: HostArray) -> list[HostArray]:
    """[n] numbers of the clusters in each column, of these rows. ValueError if there is no such column."""
    codes, sorted_rows = [], np.sort(rows)
    with add_location_to_data_errors(table.title, lambda row: table.where(int(sorted_rows[row]))):
        for name in names:
            if name not in table.names:
                hint = did_you_mean_suffix(name, table.names)
                raise ValueError(
                    f"no column {name!r} for `cluster`{hint} (there are: {', '.join(map(str, table.names))})"
                )
            column = to_column(name, table.load([name], [name])[name])
            kept = column.take(sorted_rows)
            numbers = to_ids([name], {name: kept}, subject="clusters")[0][:, 0]
            codes.append(numbers[np.searchsorted(sorted_rows, rows)])
    return codes
