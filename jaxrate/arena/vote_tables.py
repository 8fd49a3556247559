"""Tables of counted votes, and the days of votes."""

import re
from typing import Any, NamedTuple

import numpy as np

from jaxrate.arena.votes import VoteCounts, count_votes
from jaxrate.core.array_types import HostArray
from jaxrate.data.column_conversion import to_column, to_days, to_numbers
from jaxrate.data.column_recognition import time_columns
from jaxrate.data.date_parsing import parse_dates
from jaxrate.data.table_sources import TableSource, check_columns_exist_and_unique, find_column_ignoring_case
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
    usual = next((pair for pair in USUAL_COLUMNS if all(find_column_ignoring_case(names, x) for x in pair)), ())
    if not any(named) and (not usual or find_column_ignoring_case(names, "score") is not None):
        return None
    wins, losses = (find_column_ignoring_case(names, x) for x in usual) if usual else (None, None)
    wins, losses = named.wins or wins, named.losses or losses
    for name, column in (("wins", wins), ("losses", losses)):
        if column is None:
            raise ValueError(f"counts need columns of wins and of losses; name one with `{name}`")
    ties = named.ties or tuple(filter(None, [find_column_ignoring_case(names, "ties")]))
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
            days, is_dated = to_days(name, parse_dates(name, column, dates).column)
        except ValueError:  # votes do without times
            continue
        if is_dated and len(days):
            ends = (format_time(float(np.floor(day)), "dates") for day in (days.min(), days.max()))
            return " to ".join(dict.fromkeys(ends))
    return ""
