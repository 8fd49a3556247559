"""Votes: named, counted, and read from tables."""

import os
import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import check_not_traced, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import did_you_mean_suffix, format_value_for_error
from jaxrate.data.column_conversion import to_column, to_ids, to_numbers
from jaxrate.data.column_recognition import ColumnsRecognisedWarning, time_columns
from jaxrate.data.column_role_definitions import RESULT_ROLES, as_column_list, is_pgn_file
from jaxrate.data.dataset_from_table import is_readable_source, read
from jaxrate.data.date_parsing import parse_times
from jaxrate.data.formats.pgn_games import pgn
from jaxrate.data.table_files import open_table_source
from jaxrate.data.table_sources import (
    TableSource,
    add_location_to_data_errors,
    check_columns_exist_and_unique,
    find_column_ignoring_case,
)
from jaxrate.events import Context, Matches, Ragged, fail_where
from jaxrate.events.column_checks import check_id_array, to_checked_numbers
from jaxrate.events.dataset import Dataset
from jaxrate.events.event_types import match_weights
from jaxrate.history.history import format_time

COUNT_NAMES = "wins", "losses", "ties"
MAX_DIRECT_PLAYERS = 4096  # number of players up to which every pair has its own cell


class VoteCounts(NamedTuple):
    """Counted results of two players: one or more rows for each pair."""

    player: HostArray  # [n, 2] ids
    wins: HostArray  # [n] of player 0
    losses: HostArray  # [n]
    ties: HostArray  # [n]
    players: HostArray | None = None  # [num_players] names in order of id
    columns: dict[str, HostArray] | None = None  # [n] further numbers by name, equal for all matches of the row

    def __repr__(self) -> str:
        count = self.wins.sum() + self.losses.sum() + self.ties.sum()
        num_players = self.player.max(initial=-1) + 1 if self.players is None else len(self.players)
        return f"Counts of {count:,.15g} results of {num_players:,} players in {len(self.wins):,} rows"


@enforce_argument_annotations
def count_votes(
    a: Any, b: Any, wins: Any, losses: Any, ties: Any = None, *, columns: Mapping[str, Any] | None = None
) -> VoteCounts:
    """Checked `VoteCounts` from columns.

        jr.arena.count_votes(["Ada", "Ada"], ["Bo", "Cy"], wins=[7, 4], losses=[2, 4], ties=[1, 0])

    Args:
      a: [n] first players: integer ids from 0, or names.
      b: [n] second players, likewise.
      wins: [n] numbers of wins of a (from 0; they need not be integers).
      losses: [n] numbers of losses of a.
      ties: [n] numbers of ties. None: no ties.
      columns: by name, [n] finite numbers that apply to every match of the row: covariates and clusters.

    Raises:
      ValueError: names the first invalid row, counting from 0, and what is wrong with it.
    """
    player, names = _player_ids_from_two_columns(a, b)
    n = len(player)
    first = player[:, 0] if names is None else names[player[:, 0]]
    message = "{} is on both sides; remove the row"
    fail_where(player[:, 0] == player[:, 1], lambda row: message.format(format_value_for_error(first[row])))
    ties = np.zeros(n) if ties is None else ties
    counts = []
    for name, values in zip(COUNT_NAMES, (wins, losses, ties), strict=True):
        counts.append(x := to_checked_numbers(name, values, (n,)).astype(np.float64))
        fail_where(x < 0, lambda row: f"{name} is {x[row]:g}, below 0")  # noqa: B023
    further = {name: to_checked_numbers(f"column {name!r}", x, (n,)) for name, x in (columns or {}).items()}
    return VoteCounts(player, counts[0], counts[1], counts[2], names, further or None)


def _player_ids_from_two_columns(a: Any, b: Any) -> tuple[HostArray, HostArray | None]:
    """[n, 2] the ids of two columns of players, and their names by id; None if these are ids."""
    for name, x in (("a", a), ("b", b)):
        check_not_traced(name, x, "jr.scan rates what is traced")
    first, second = np.asarray(a), np.asarray(b)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"a and b must be columns of one length, got the shapes {first.shape} and {second.shape}")
    n = len(first)
    if {first.dtype.kind, second.dtype.kind} <= {*"iu"}:
        return np.stack([check_id_array("a", first, (n,)), check_id_array("b", second, (n,))], axis=1), None
    names = [*first.tolist(), *second.tolist()]
    is_name = np.array([isinstance(name, str) for name in names], bool).reshape(2, n).all(axis=0)
    message = "{} and {} must both be names, or both ids"
    fail_where(~is_name, lambda row: message.format(*map(format_value_for_error, names[row::n])))
    number = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return np.array([number[name] for name in names], np.int32).reshape(2, n).T, np.array([*number], object)


class Votes(NamedTuple):
    """Results of two players, with covariates and clusters."""

    player: HostArray  # [n, 2] ids
    outcome: tuple[HostArray, HostArray, HostArray]  # [n] wins of player 0, ties, losses
    covariates: HostArray  # [n, p] in favour of player 0
    clusters: tuple[HostArray, ...]  # [n] numbers from 0, for each clustering
    players: HostArray  # [num_players] names, or ids


def votes_from_data(data: Any, ties: str, covariates: Sequence[str], cluster: Any) -> Votes:
    """The votes of matches or counts. ValueError for other data or a missing column; names the row."""
    names = data.players if isinstance(data, (Dataset, VoteCounts)) else None
    data = data.matches if isinstance(data, Dataset) else data
    if isinstance(data, VoteCounts):
        player, outcome, columns = data.player, (data.wins, data.ties, data.losses), data.columns or {}
    elif isinstance(data, Matches):
        player, outcome, context = np.asarray(data.player), _win_tie_loss_weights(data, ties), data.context
        columns = _context_columns(context)
    else:
        kind = "periods" if isinstance(data, Ragged) else type(data).__name__
        raise ValueError(f"strengths are fitted to matches, counts, rounds or a Dataset of them, and not to {kind}")
    n = len(player)
    z = [_numeric_column("covariate", name, columns, n) for name in covariates]
    clusters = tuple(_cluster_codes(one, columns, n) for one in resolve_cluster_columns(cluster))
    names = np.arange(int(player.max(initial=-1)) + 1) if names is None else np.asarray(names)
    win, tie, loss = outcome
    outcome = win, float(ties != "none") * tie, loss
    return Votes(player, outcome, np.stack([np.zeros(n), *z], axis=1)[:, 1:], clusters, names)


def _context_columns(context: Context) -> dict[str, Any]:
    """The columns of matches by name, with their side if anybody has it."""
    return {**(context.columns or {}), **({} if context.side is None else {"side": context.side})}


def resolve_cluster_columns(cluster: Any) -> list[Any]:
    """The columns by which votes are clustered: at most two."""
    if cluster is None:
        return []
    is_list = isinstance(cluster, (list, tuple)) and all(isinstance(x, str) or np.ndim(x) == 1 for x in cluster)
    cluster_columns = list(cluster) if is_list else [cluster]
    if not 1 <= len(cluster_columns) <= 2:
        raise ValueError(f"cluster by one column or by two, and not by {len(cluster_columns)}")
    return cluster_columns


def _win_tie_loss_weights(matches: Matches, ties: str) -> tuple[HostArray, HostArray, HostArray]:
    """Wins, ties and losses of player 0, by weight."""
    score = np.asarray(matches.score, np.float64)
    is_tie = score == 0.5
    is_fraction = ~is_tie & (score != 0) & (score != 1)
    if ties != "half":
        message = "score {:g} is no win, tie or loss; ties='half' counts it as a fraction of a win"
        fail_where(is_fraction, lambda row: message.format(score[row]))
    weight = match_weights(matches)
    win, loss = (np.where(is_tie, 0.0, weight * x) for x in (score, 1.0 - score))
    return win, np.where(is_tie, weight, 0.0), loss


def _numeric_column(role: str, name: str, columns: Mapping[str, Any], n: int) -> HostArray:
    """[n] the column of this name in the data."""
    if not isinstance(name, str):
        raise ValueError(f"{role}s are names of columns of the data, got {type(name).__name__}")
    if name not in columns:
        available = f"the data have {', '.join(map(repr, columns))}" if columns else "the data have no further columns"
        raise ValueError(f"there is no column {name!r} for the {role}{did_you_mean_suffix(name, columns)}; {available}")
    return to_checked_numbers(f"{role} {name!r}", columns[name], (n,)).astype(np.float64)


def _cluster_codes(cluster: Any, columns: Mapping[str, Any], n: int) -> HostArray:
    """[n] numbers of the clusters, from 0."""
    values = _numeric_column("cluster", cluster, columns, n) if isinstance(cluster, str) else np.asarray(cluster)
    if values.shape != (n,):
        raise ValueError(f"cluster has shape {values.shape}, expected a name or a column of shape ({n},)")
    return np.unique(values, return_inverse=True)[1]


class VoteCells(NamedTuple):
    """Votes counted by pair, and by covariates if there are any. The first player has the lower number."""

    first: HostArray  # [M]
    second: HostArray  # [M]
    counts: HostArray  # [3, M] wins of the first player, ties, losses
    covariates: HostArray  # [M, p] in favour of the first player
    cell_of_vote: HostArray  # [n] the cell of each vote
    is_swapped: HostArray  # [n] whether the vote names the second player first


def count_votes_in_cells(
    player: HostArray, outcome: Sequence[HostArray], covariates: HostArray, num_players: int
) -> VoteCells:
    """Count votes in cells."""
    is_swapped = player[:, 0] > player[:, 1]
    low, high = np.sort(player, axis=1).T.astype(np.int64)
    key, total = low * num_players + high, num_players * num_players
    z = np.where(is_swapped[:, None], -covariates, covariates) + 0.0  # no negative zeros
    if not z.shape[1] and num_players <= MAX_DIRECT_PLAYERS:
        pair = np.flatnonzero(np.bincount(key, minlength=total))
        number = np.zeros(total, np.int64)
        number[pair] = np.arange(len(pair))
        cell, z = number[key], np.zeros((len(pair), 0))
    else:
        order = np.lexsort([*z.T, key])
        key, z = key[order], z[order]
        is_new_cell = np.append(True, (key[1:] != key[:-1]) | (z[1:] != z[:-1]).any(axis=1))[: len(key)]
        cell = np.empty(len(key), np.int64)
        cell[order] = np.cumsum(is_new_cell) - 1
        pair, z = key[is_new_cell], z[is_new_cell]
    win, tie, loss = outcome
    columns = np.where(is_swapped, loss, win), tie, np.where(is_swapped, win, loss)
    counts = np.stack([np.bincount(cell, column, len(pair)) for column in columns])
    first, second = (ends.astype(np.int32) for ends in np.divmod(pair, num_players))
    return VoteCells(first, second, counts, z, cell, is_swapped)


ROLES_OF_VOTES = *RESULT_ROLES, "margin", "weight"  # and not of counts
USUAL_COLUMNS = ("wins", "losses"), ("wins_a", "wins_b")  # of counts
TIE_COLUMN = re.compile(r"(ties?|draws?)(_|$)", re.IGNORECASE)


class CountColumns(NamedTuple):
    """The columns of a table with counts of wins, losses and ties of two players."""

    wins: str | None = None
    losses: str | None = None
    ties: tuple[str, ...] = ()


NO_COLUMNS = CountColumns()


def find_count_columns(
    names: list[str], columns: Collection[str] = (), named: CountColumns = NO_COLUMNS
) -> CountColumns | None:
    """The columns of counts that are `named`, or else tell by usual names; None if the table has no counts."""
    spelt, of_votes = partial(find_column_ignoring_case, names), [*filter(columns.__contains__, ROLES_OF_VOTES)]
    usual = next(filter(all, (tuple(map(spelt, pair)) for pair in USUAL_COLUMNS)), (None, None))
    has_usual = None not in usual and spelt("score") is None
    if not any(named) and not (has_usual and {*of_votes} <= {"weight"}):
        return None
    if of_votes:
        raise ValueError(f"`{of_votes[0]}` is for votes; counts have `wins`, `losses` and `tied`")
    ties = named.ties or tuple(filter(None, [spelt("ties")]))
    return _check_count_columns(names, CountColumns(named.wins or usual[0], named.losses or usual[1], ties))


def _check_count_columns(names: list[str], counts: CountColumns) -> CountColumns:
    """The columns of counts; ValueError if one is not known, is not there, or stands for two outcomes."""
    for role, column in (("wins", counts.wins), ("losses", counts.losses)):
        if column is None:
            raise ValueError(f"counts need columns of wins and of losses; name one with `{role}`")
    used = [str(counts.wins), str(counts.losses), *counts.ties]
    check_columns_exist_and_unique(names, used)
    if len({*used}) < len(used):
        raise ValueError(f"wins, losses and ties must be different columns, got {', '.join(used)}")
    return counts


def match_counts_from_context(data: Dataset, columns: CountColumns) -> VoteCounts:
    """The counts of matches that were read without a result, whose context has these columns."""
    context = data.matches.context
    values = _context_columns(context)
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
            days = np.nanmin(times.values), np.nanmax(times.values)
            ends = (format_time(float(np.floor(day)), "dates") for day in days)
            return " to ".join(dict.fromkeys(ends))
    return ""


class VoteTable(NamedTuple):
    """The votes, counts or contests that a table holds."""

    votes: Any  # a `Dataset` of votes or contests, or counts
    data: Dataset  # what was read
    counts: CountColumns | None  # None: votes


def read_vote_table(
    table: TableSource,
    columns: Mapping[str, Any],
    reader: Callable[..., Dataset],
    named: CountColumns = NO_COLUMNS,
    *,
    in_order: bool = False,
) -> VoteTable:
    """The votes, counts (of `named` columns, or usual ones) or contests of a table, in order of time if that counts."""
    source = table if in_order else drop_unused_times(table, [x for y in columns.values() for x in as_column_list(y)])
    counts = find_count_columns(source.names, columns, named)
    if in_order and counts is not None:
        raise ValueError("who moved is asked of votes with times, and not of counts")
    if in_order and not ("time" in columns or time_columns(source.names)):
        raise ValueError("who moved is asked by the times of votes; name their column with `time`")
    if counts is None:
        order = {"sort": True} if in_order or "time" in columns else {}
        data = reader(source, {**columns, **order})
        return VoteTable(data, data, None)
    numbers = [str(counts.wins), str(counts.losses), *counts.ties]
    data = reader(source._replace(noted=False), {**columns, "columns": numbers, "upcoming": True})
    with add_location_to_data_errors(table.title, lambda row: table.where(int(data.rows[row]))):
        return VoteTable(match_counts_from_context(data, counts), data, counts)


def read_votes_if_source(
    data: Any, covariates: Sequence[str], cluster: Any, *, in_order: bool = False
) -> tuple[Any, Any]:
    """The votes or counts of a source of `read`, or the data, and clusters, as numbers where they are columns."""
    if not is_readable_source(data):
        return data, cluster
    if isinstance(data, (str, os.PathLike)) and is_pgn_file(data):
        return pgn(data, sort=in_order, times=in_order), cluster
    table = open_table_source(data)
    columns = {"covariates": [name for name in covariates if name != "side" or name in table.names]}
    with warnings.catch_warnings():
        if not in_order and find_count_columns(table.names) is not None:
            warnings.simplefilter("ignore", ColumnsRecognisedWarning)  # wins of both are no points of a match
        votes, read_data, _ = read_vote_table(
            table, columns, lambda source, arguments: read(source, **arguments), in_order=in_order
        )
    names = resolve_cluster_columns(cluster)
    are_columns = len(names) > 0 and all(isinstance(name, str) for name in names)
    return votes, cluster_codes(table, names, read_data.rows) if are_columns else cluster


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
                names_there = ", ".join(map(str, table.names))
                raise ValueError(f"no column {name!r} for `cluster`{hint} (there are: {names_there})")
            column = to_column(name, table.load([name], [name])[name])
            kept = column.take(sorted_rows)
            numbers = to_ids([name], {name: kept}, subject="clusters")[0][:, 0]
            codes.append(numbers[np.searchsorted(sorted_rows, rows)])
    return codes
