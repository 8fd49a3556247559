"""The input of `jaxrate arena`: votes, counts of them, or contests."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jaxrate as jr
from jaxrate.cli.input_options import is_pgn_file, is_shipped_dataset, read_events, reader_argument_names
from jaxrate.cli.lazy_numpy import np
from jaxrate.cli.progress import ProgressReport
from jaxrate.data.column_role_definitions import RESULT_ROLES

if TYPE_CHECKING:
    from jaxrate.data.table_sources import TableSource

COUNT_COLUMNS = ("wins", "losses"), ("wins_a", "wins_b")  # how files name them


class VoteData(NamedTuple):
    """The votes, counts or contests of a file."""

    data: Any  # a `Dataset` or counts
    covariates: tuple[str, ...]
    clusters: list[Any]  # [n] numbers of them, for each way of clustering
    source: TableSource  # the file
    rows: Any  # [n] the row of each vote, or count, in the file
    left_out: str = ""  # which counts of ties are not used


def read_votes(
    report: ProgressReport,
    file: str,
    options: dict[str, Any],
    count_columns: tuple[str | None, str | None, tuple[str, ...]],
    clusters: tuple[str, ...],
    sort_by_time: bool,
) -> VoteData:
    """The votes, counts or contests of a file, with times if `sort_by_time`."""
    from jaxrate.arena.vote_sources import cluster_codes, drop_unused_times
    from jaxrate.data.column_recognition import time_columns
    from jaxrate.data.source_opening import open_table_source
    from jaxrate.data.table_sources import TableSource

    if "format" in options or is_pgn_file(file):
        if any(count_columns) or clusters:
            raise ValueError("--cluster, --wins, --losses and --tied name columns, and not those of a public format")
        title = f"{Path(file).name}: "
        source = TableSource(title, [], lambda *names: {}, lambda row: f"{title}row {row} (counting from 0)")
        reader = jr.data.formats.FORMATS.get(options.get("format", "pgn"))
        sorts = reader is not None and "sort" in reader_argument_names(reader)
        data = read_events(report, file, options | ({"sort": True} if sorts else {}))
        return VoteData(data, _covariate_names(data), [], source, data.rows)
    table = open_table_source(jr.data.datasets.nfl_columns() if is_shipped_dataset(file) else file)
    named_columns = {x for given in options.values() for x in (given if isinstance(given, (list, tuple)) else [given])}
    if sort_by_time and not time_columns(table.names) and "time" not in options:
        raise ValueError(f"{table.title}--moved needs the times of votes; name their column with --time")
    source = (table if sort_by_time else drop_unused_times(table, named_columns))._replace(noted=False)
    with add_file_rows_to_errors(table, ()):
        columns = _choose_count_columns(source.names, options, *count_columns)
    if columns is None:
        order = {"sort": True} if sort_by_time or "time" in options else {}
        data = read_events(report, file, options | order, source=source)
        with add_file_rows_to_errors(table._replace(title=""), ()):
            codes = cluster_codes(table, clusters, data.rows)
        return VoteData(data, _covariate_names(data), codes, table, data.rows)
    if sort_by_time:
        raise ValueError(f"{table.title}--moved needs votes with times, and not counts of them")
    first, second, tie_columns = columns
    data = read_events(report, file, options | {"columns": [first, second, *tie_columns]}, source=source, upcoming=True)
    column_values = dict(data.matches.context.columns or {})
    if data.matches.context.side is not None:
        column_values["side"] = data.matches.context.side
    a, b = np.asarray(data.matches.player).T
    ties = sum(column_values[name] for name in tie_columns) if tie_columns else None
    with add_file_rows_to_errors(table, data.rows):
        vote_counts = jr.arena.count_votes(
            a, b, column_values[first], column_values[second], ties, columns=column_values
        )._replace(players=data.players)
    left_out = _describe_unused_ties(table, columns, data.rows)
    if left_out:
        named = " ".join(
            f"--tied {shlex.quote(name)}" for name in (*tie_columns, *_unused_tie_columns(table.names, columns))
        )
        report.note(f"{left_out}; {named} counts them as ties")
    with add_file_rows_to_errors(table._replace(title=""), ()):
        codes = cluster_codes(table, clusters, data.rows)
    return VoteData(vote_counts, _covariate_names(data), codes, table, data.rows, left_out)


def _unused_tie_columns(names: list[str], columns: tuple[str, str, list[str]]) -> list[str]:
    """Columns that begin as those of ties do, and are not among these."""
    used = {columns[0], columns[1], *columns[2]}
    return [name for name in names if re.match(r"(ties?|draws?)(_|$)", name.lower()) and name not in used]


def _describe_unused_ties(source: TableSource, columns: tuple[str, str, list[str]], rows: Any) -> str:
    """How many results in further columns of ties are left out, as "12 votes for neither are left out"."""
    from jaxrate.data.column_conversion import to_column, to_numbers

    found = []
    for name in _unused_tie_columns(source.names, columns):
        column = to_column(name, source.load([name], [name], [])[name])
        try:
            values = to_numbers(name, column, 0.0)[rows]
        except ValueError:  # a column of text counts nothing
            continue
        if values.sum() > 0:
            kind = "votes for neither" if "bad" in name.lower() else f"further ties, {name},"
            found.append(f"{values.sum():,.15g} {kind}")
    return f"{' and '.join(found)} are left out" if found else ""


def describe_vote_dates(votes: VoteData, dates: str | None) -> str:
    """The first and the last day of votes that have a column of dates; empty without one."""
    from jaxrate.data.column_conversion import to_column, to_days
    from jaxrate.data.column_recognition import time_columns
    from jaxrate.data.date_parsing import parse_dates
    from jaxrate.history.history import format_time

    for name in time_columns(votes.source.names):
        column = to_column(name, votes.source.load([name], [name], [])[name])
        try:
            days, is_dated = to_days(name, parse_dates(name, column, dates).column)
        except ValueError:  # votes do without times
            continue
        if is_dated and len(days):
            ends = (format_time(float(np.floor(day)), "dates") for day in (days.min(), days.max()))
            return " to ".join(dict.fromkeys(ends))
    return ""


def _choose_count_columns(
    names: list[str], options: dict[str, Any], wins: str | None, losses: str | None, tied: tuple[str, ...]
) -> tuple[str, str, list[str]] | None:
    """The columns of wins, losses and ties, as options or their names say; None if these are no counts."""
    from jaxrate.data.table_sources import check_columns_exist_and_unique, find_column_ignoring_case

    pairs = [
        (find_column_ignoring_case(names, one), find_column_ignoring_case(names, two)) for one, two in COUNT_COLUMNS
    ]
    default_pair = next((pair for pair in pairs if all(pair)), (None, None))
    vote_options = sorted({*RESULT_ROLES} & options.keys())
    is_named = wins is not None or losses is not None or bool(tied)
    if not is_named and (
        vote_options or default_pair[0] is None or find_column_ignoring_case(names, "score") is not None
    ):
        return None
    if vote_options or "weight" in options:
        raise ValueError(
            f"--{vote_options[0] if vote_options else 'weight'} is for votes; counts have --wins, --losses and --tied"
        )
    first, second = wins or default_pair[0], losses or default_pair[1]
    if first is None or second is None:
        missing = "--wins" if first is None else "--losses"
        raise ValueError(f"counts need columns of wins and of losses; name one with {missing}")
    tie = find_column_ignoring_case(names, "ties")
    tie_columns = [*tied] or ([tie] if tie is not None else [])
    columns = [first, second, *tie_columns]
    check_columns_exist_and_unique(names, columns)
    if len(set(columns)) < len(columns):
        raise ValueError(f"wins, losses and ties must be different columns, got {', '.join(columns)}")
    return first, second, tie_columns


def _covariate_names(data: jr.data.Dataset) -> tuple[str, ...]:
    """The covariates of the matches, and the side if there is one."""
    if not data.of_matches:
        return ()
    return (*data.covariates, *(() if data.matches.context.side is None else ("side",)))


def replace_argument_names_by_options(text: str) -> str:
    """A message about arguments of `jr.arena.fit_strengths`, with options in place of arguments."""
    text = re.sub(
        r"\b(ties|prior|errors)='?(\w+)'?", r"--\1 \2", re.sub(r"(?<!-)\bmoved (?=clusters|takes)", "--moved ", text)
    )
    return text.replace("without a prior", "without a --prior").replace(" for cluster", " for --cluster")


@contextmanager
def add_file_rows_to_errors(source: TableSource, rows: Any) -> Iterator[None]:
    """A ValueError names the file, the bad rows of it and options."""
    from jaxrate.data.table_sources import add_location_to_data_errors

    try:
        with add_location_to_data_errors(source.title, lambda row: source.where(int(rows[row]))):
            yield
    except ValueError as error:
        raise ValueError(replace_argument_names_by_options(str(error))) from None
