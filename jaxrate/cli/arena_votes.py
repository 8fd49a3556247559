"""What `jaxrate arena` reads: votes, counts of them, or contests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import jaxrate as jr
from jaxrate.cli.input_options import is_shipped, read_events
from jaxrate.cli.progress import ProgressReport
from jaxrate.text_format import suggest_name

if TYPE_CHECKING:
    from jaxrate.data.table_sources import TableSource

COUNT_COLUMNS = ("wins", "losses"), ("wins_a", "wins_b")  # how files name them


class VoteData(NamedTuple):
    """What was read of a file."""

    data: Any  # a `Dataset` or counts
    covariates: tuple[str, ...]
    clusters: list[Any]  # [n] numbers of them, for each way of clustering
    source: TableSource  # the file
    rows: Any  # [n] where each vote, or count, stands there


def read_votes(
    report: ProgressReport,
    file: str,
    options: dict[str, Any],
    count_columns: tuple[str | None, str | None, tuple[str, ...]],
    clusters: tuple[str, ...],
    timed: bool,
) -> VoteData:
    """The votes, counts or contests of a file; if `timed`, votes in order of time."""
    from jaxrate.data.column_recognition import time_columns
    from jaxrate.data.table_sources import TableSource, open_source

    if "format" in options or re.search(r"\.pgn(\.\w+)?$", file.lower()):
        if any(count_columns) or clusters:
            raise ValueError("--cluster, --wins, --losses and --tied name columns, and not those of a public format")
        title = f"{Path(file).name}: "
        source = TableSource(title, [], lambda *wanted: {}, lambda row: f"{title}row {row} (counting from 0)")
        data = read_events(report, file, options)
        return VoteData(data, _covariate_names(data), [], source, data.rows)
    table = open_source(jr.data.datasets.nfl_columns() if is_shipped(file) else file)
    used = {x for given in options.values() for x in (given if isinstance(given, (list, tuple)) else [given])}
    times = {*time_columns(table.names)}
    if timed and not times and "time" not in options:
        raise ValueError(f"{table.title}--moved needs the times of votes; name their column with --time")
    unused = set() if timed else times - used  # the order of votes does not count
    source = table._replace(names=[name for name in table.names if name not in unused], noted=False)
    with locate_errors(table, ()):
        columns = _choose_count_columns(source.names, options, *count_columns)
    if columns is None:
        data = read_events(report, file, options | {"sort": True} if timed else options, source=source)
        return VoteData(data, _covariate_names(data), _cluster_codes(table, clusters, data.rows), table, data.rows)
    if timed:
        raise ValueError(f"{table.title}--moved needs votes with times, and not counts of them")
    first, second, neither = columns
    data = read_events(report, file, options | {"columns": [first, second, *neither]}, source=source, upcoming=True)
    column_values = dict(data.matches.context.columns or {})
    if data.matches.context.side is not None:
        column_values["side"] = data.matches.context.side
    a, b = np.asarray(data.matches.player).T
    ties = sum(column_values[name] for name in neither) if neither else None
    with locate_errors(table, data.rows):
        vote_counts = jr.arena.count_votes(
            a, b, column_values[first], column_values[second], ties, columns=column_values
        )._replace(players=data.players)
    return VoteData(vote_counts, _covariate_names(data), _cluster_codes(table, clusters, data.rows), table, data.rows)


def _choose_count_columns(
    names: list[str], options: dict[str, Any], wins: str | None, losses: str | None, tied: tuple[str, ...]
) -> tuple[str, str, list[str]] | None:
    """The columns of wins, losses and ties, given or known by their names; None if these are no counts."""
    from jaxrate.data.table_sources import check_columns_exist, find_column

    pairs = [(find_column(names, one), find_column(names, two)) for one, two in COUNT_COLUMNS]
    known = next((pair for pair in pairs if all(pair)), (None, None))
    votes = sorted({"score", "winner", "loser", "contest", "participant", "rank"} & options.keys())
    asked = wins is not None or losses is not None or bool(tied)
    if not asked and (votes or known[0] is None or find_column(names, "score") is not None):
        return None
    if votes or "weight" in options:
        raise ValueError(f"--{votes[0] if votes else 'weight'} is of votes; counts have --wins, --losses and --tied")
    first, second = wins or known[0], losses or known[1]
    if first is None or second is None:
        missing = "--wins" if first is None else "--losses"
        raise ValueError(f"counts need columns of wins and of losses; name one with {missing}")
    tie = find_column(names, "ties")
    neither = [*tied] or ([tie] if tie is not None else [])
    chosen = [first, second, *neither]
    check_columns_exist(names, chosen)
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"wins, losses and ties must be different columns, got {', '.join(chosen)}")
    return first, second, neither


def _covariate_names(data: jr.data.Dataset) -> tuple[str, ...]:
    """Whatever is known of the matches and speaks for one player."""
    if not isinstance(data.events, jr.Matches):
        return ()
    return (*data.covariates, *(() if data.matches.context.side is None else ("side",)))


def _cluster_codes(source: TableSource, clusters: tuple[str, ...], rows: Any) -> list[Any]:
    """[n] numbers of the clusters in each column, of these rows of the source."""
    from jaxrate.data.column_conversion import keep_rows, to_column, to_ids

    cluster_codes: list[Any] = []
    for name in clusters:
        with locate_errors(source, kept := np.sort(rows)):
            if name not in source.names:
                known = ", ".join(source.names)
                raise ValueError(
                    f"no column {name!r} for --cluster{suggest_name(name, source.names)} (there are: {known})"
                )
            column = to_column(name, source.load([name], [name], [])[name])
            keep = np.isin(np.arange(len(column)), kept)
            codes = to_ids([name], {name: keep_rows(name, column, keep)}, subject="clusters")[0][:, 0]
            cluster_codes.append(codes[np.searchsorted(kept, rows)])
    return cluster_codes


def arguments_as_options(text: str) -> str:
    """Arguments of `jr.arena.fit_strengths` in a message, as options."""
    text = re.sub(
        r"\b(ties|prior|errors)='?(\w+)'?", r"--\1 \2", re.sub(r"(?<!-)\bmoved (?=clusters|takes)", "--moved ", text)
    )
    return text.replace("without a prior", "without a --prior")


@contextmanager
def locate_errors(source: TableSource, rows: Any) -> Iterator[None]:
    """A ValueError names the file, and of these rows of it the bad ones, and options."""
    from jaxrate.data.table_sources import locate_data_errors

    try:
        with locate_data_errors(source.title, lambda row: source.where(int(rows[row]))):
            yield
    except ValueError as error:
        raise ValueError(arguments_as_options(str(error))) from None
