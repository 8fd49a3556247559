"""What `jaxrate arena` reads: votes, counts of them, or contests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import jaxrate as jr
from jaxrate.cli.progress import Report
from jaxrate.cli.reading import is_shipped, read
from jaxrate.text import near

if TYPE_CHECKING:
    from jaxrate.data.tables import Source

COUNTED = ("wins", "losses"), ("wins_a", "wins_b")  # how files name them


class Votes(NamedTuple):
    """What was read of a file."""

    data: Any  # a `Dataset` or counts
    covariates: tuple[str, ...]
    clusters: list[Any]  # [n] numbers of them, for each way of clustering
    source: Source  # the file
    rows: Any  # [n] where each vote, or count, stands there


def votes_of(
    report: Report,
    file: str,
    options: dict[str, Any],
    counted: tuple[str | None, str | None, tuple[str, ...]],
    clusters: tuple[str, ...],
    timed: bool,
) -> Votes:
    """The votes, counts or contests of a file; if `timed`, votes in order of time."""
    from jaxrate.data.recognition import time_columns
    from jaxrate.data.tables import Source, open_source

    if "format" in options or re.search(r"\.pgn(\.\w+)?$", file.lower()):
        if any(counted) or clusters:
            raise ValueError("--cluster, --wins, --losses and --tied name columns, and not those of a public format")
        title = f"{Path(file).name}: "
        source = Source(title, [], lambda *wanted: {}, lambda row: f"{title}row {row} (counting from 0)")
        data = read(report, file, options)
        return Votes(data, _covariates(data), [], source, data.rows)
    table = open_source(jr.datasets.nfl_columns() if is_shipped(file) else file)
    used = {x for given in options.values() for x in (given if isinstance(given, (list, tuple)) else [given])}
    times = {*time_columns(table.names)}
    if timed and not times and "time" not in options:
        raise ValueError(f"{table.title}--moved needs the times of votes; name their column with --time")
    unused = set() if timed else times - used  # the order of votes does not count
    source = table._replace(names=[name for name in table.names if name not in unused], noted=False)
    with naming(table, ()):
        columns = _counted(source.names, options, *counted)
    if columns is None:
        data = read(report, file, options | {"sort": True} if timed else options, source=source)
        return Votes(data, _covariates(data), _codes(table, clusters, data.rows), table, data.rows)
    if timed:
        raise ValueError(f"{table.title}--moved needs votes with times, and not counts of them")
    first, second, neither = columns
    data = read(report, file, options | {"columns": [first, second, *neither]}, source=source, upcoming=True)
    known = dict(data.matches.context.columns or {})
    if data.matches.context.side is not None:
        known["side"] = data.matches.context.side
    a, b = np.asarray(data.matches.player).T
    ties = sum(known[name] for name in neither) if neither else None
    with naming(table, data.rows):
        found = jr.counts(a, b, known[first], known[second], ties, columns=known)._replace(players=data.players)
    return Votes(found, _covariates(data), _codes(table, clusters, data.rows), table, data.rows)


def _counted(
    names: list[str], options: dict[str, Any], wins: str | None, losses: str | None, tied: tuple[str, ...]
) -> tuple[str, str, list[str]] | None:
    """The columns of wins, losses and ties, given or known by their names; None if these are no counts."""
    from jaxrate.data.tables import check_names, find_name

    pairs = [(find_name(names, one), find_name(names, two)) for one, two in COUNTED]
    known = next((pair for pair in pairs if all(pair)), (None, None))
    votes = sorted({"score", "winner", "loser", "contest", "participant", "rank"} & options.keys())
    asked = wins is not None or losses is not None or bool(tied)
    if not asked and (votes or known[0] is None or find_name(names, "score") is not None):
        return None
    if votes or "weight" in options:
        raise ValueError(f"--{votes[0] if votes else 'weight'} is of votes; counts have --wins, --losses and --tied")
    first, second = wins or known[0], losses or known[1]
    if first is None or second is None:
        missing = "--wins" if first is None else "--losses"
        raise ValueError(f"counts need columns of wins and of losses; name one with {missing}")
    tie = find_name(names, "ties")
    neither = [*tied] or ([tie] if tie is not None else [])
    chosen = [first, second, *neither]
    check_names(names, chosen)
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"wins, losses and ties must be different columns, got {', '.join(chosen)}")
    return first, second, neither


def _covariates(data: jr.Dataset) -> tuple[str, ...]:
    """Whatever is known of the matches and speaks for one player."""
    if not isinstance(data.events, jr.Matches):
        return ()
    return (*data.covariates, *(() if data.matches.context.side is None else ("side",)))


def _codes(source: Source, clusters: tuple[str, ...], rows: Any) -> list[Any]:
    """[n] numbers of the clusters in each column, of these rows of the source."""
    from jaxrate.data.columns import keep_rows, to_column, to_ids

    found: list[Any] = []
    for name in clusters:
        with naming(source, kept := np.sort(rows)):
            if name not in source.names:
                known = ", ".join(source.names)
                raise ValueError(f"no column {name!r} for --cluster{near(name, source.names)} (there are: {known})")
            column = to_column(name, source.load([name], [name], [])[name])
            keep = np.isin(np.arange(len(column)), kept)
            codes = to_ids([name], {name: keep_rows(name, column, keep)}, what="clusters")[0][:, 0]
            found.append(codes[np.searchsorted(kept, rows)])
    return found


def as_options(text: str) -> str:
    """Arguments of `jr.static` in a message, as options."""
    text = re.sub(
        r"\b(ties|prior|errors)='?(\w+)'?", r"--\1 \2", re.sub(r"(?<!-)\bmoved (?=clusters|takes)", "--moved ", text)
    )
    return text.replace("without a prior", "without a --prior")


@contextmanager
def naming(source: Source, rows: Any) -> Iterator[None]:
    """A ValueError names the file, and of these rows of it the bad ones, and options."""
    from jaxrate.data.tables import located

    try:
        with located(source.title, lambda row: source.where(int(rows[row]))):
            yield
    except ValueError as error:
        raise ValueError(as_options(str(error))) from None
