"""Votes between two players, and what is counted of them by pair."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.argument_checks import check_arguments, check_not_traced
from jaxrate.events import Matches, Ragged, fail_where
from jaxrate.events.column_checks import as_ids, as_numbers
from jaxrate.events.dataset import Dataset
from jaxrate.text_format import format_cell, suggest_name
from jaxrate.types import HostArray

COUNT_NAMES = "wins", "losses", "ties"
MAX_DIRECT_PLAYERS = 4096  # players up to whom every pair has a place of its own


class VoteCounts(NamedTuple):
    """Results of two players, counted: a row for each pair, or more of one pair."""

    player: HostArray  # [n, 2] ids
    wins: HostArray  # [n] of player 0
    losses: HostArray  # [n]
    ties: HostArray  # [n]
    players: HostArray | None = None  # [num_players] names in order of id
    columns: dict[str, HostArray] | None = None  # [n] further numbers by name, of every match of the row

    def __repr__(self) -> str:
        count = self.wins.sum() + self.losses.sum() + self.ties.sum()
        known = self.player.max(initial=-1) + 1 if self.players is None else len(self.players)
        return f"Counts of {count:,.15g} results of {known:,} players in {len(self.wins):,} rows"


@check_arguments
def count_votes(
    a: Any, b: Any, wins: Any, losses: Any, ties: Any = None, *, columns: Mapping[str, Any] | None = None
) -> VoteCounts:
    """Checked `Counts` from columns.

        jr.arena.count_votes(["Ada", "Ada"], ["Bo", "Cy"], wins=[7, 4], losses=[2, 4], ties=[1, 0])

    Args:
      a, b: [n] the two players: integer ids from 0, or names.
      wins, losses: [n] how often a won and lost (numbers from 0; they need not be whole).
      ties: [n] how often neither did. None: never.
      columns: by name, [n] finite numbers that hold for every match of the row: covariates and clusters.

    Raises:
      ValueError: names the first bad row, counting from 0, and what is wrong with it.
    """
    for name, x in (("a", a), ("b", b)):
        check_not_traced(name, x, "jr.scan rates what is traced")
    one, two = np.asarray(a), np.asarray(b)
    if one.ndim != 1 or one.shape != two.shape:
        raise ValueError(f"a and b must be columns of one length, got the shapes {one.shape} and {two.shape}")
    n, names = len(one), None
    if {one.dtype.kind, two.dtype.kind} <= {*"iu"}:
        player = np.stack([as_ids("a", one, (n,)), as_ids("b", two, (n,))], axis=1)
    else:
        listed = [*one.tolist(), *two.tolist()]
        fail_where(
            np.array([not isinstance(name, str) for name in listed[:n] + listed[n:]], bool).reshape(2, n).any(axis=0),
            lambda row: f"{format_cell(one[row])} and {format_cell(two[row])} must both be names, or both ids",
        )
        code = {name: i for i, name in enumerate(dict.fromkeys(listed))}
        player = np.array([code[name] for name in listed], np.int32).reshape(2, n).T
        names = np.array([*code], object)
    shown = player if names is None else names[player]
    fail_where(
        player[:, 0] == player[:, 1], lambda row: f"{format_cell(shown[row, 0])} is on both sides; remove the row"
    )
    ties = np.zeros(n) if ties is None else ties
    table = [
        as_numbers(name, values, (n,)).astype(np.float64)
        for name, values in zip(COUNT_NAMES, (wins, losses, ties), strict=True)
    ]
    for name, values in zip(COUNT_NAMES, table, strict=True):
        fail_where(values < 0, _negative_count_message(name, values))
    further = {name: as_numbers(f"column {name!r}", x, (n,)) for name, x in (columns or {}).items()} or None
    return VoteCounts(player, table[0], table[1], table[2], names, further)


def _negative_count_message(name: str, values: HostArray) -> Callable[[int], str]:
    return lambda row: f"{name} is {values[row]:g}, below 0"


class Votes(NamedTuple):
    """Results of two players with what is known of each."""

    player: HostArray  # [n, 2] ids
    outcome: tuple[HostArray, HostArray, HostArray]  # [n] wins of player 0, ties, losses
    whole: bool  # whether every row is one result or counts of such, and not a share of one
    covariates: HostArray  # [n, p] in favour of player 0
    clusters: tuple[HostArray, ...]  # [n] from 0, for each way of clustering
    players: HostArray | None  # [num_players] names
    num_players: int


def read_votes(data: Any, ties: str, covariates: Sequence[str], cluster: Any, num_players: int | None = None) -> Votes:
    """The votes of matches or counts. ValueError where they are none, or lack a column; names the row."""
    names = None
    if isinstance(data, Dataset):
        names, data = data.players, data.matches
    if isinstance(data, VoteCounts):
        names = data.players if names is None else names
        player, outcome, whole = data.player, (data.wins, data.ties, data.losses), True
        columns, n = data.columns or {}, len(data.wins)
    elif isinstance(data, Matches):
        player, columns, n = np.asarray(data.player), dict(data.context.columns or {}), len(data.score)
        if data.context.side is not None:
            columns["side"] = data.context.side
        outcome, whole = _match_outcomes(data, ties)
    else:
        kind = "periods" if isinstance(data, Ragged) else type(data).__name__
        raise ValueError(f"static takes matches, counts, rounds or a Dataset of them, and not {kind}")
    if ties == "none":
        outcome = outcome[0], np.zeros(n), outcome[2]
    z = (
        np.stack([_numeric_column("covariate", name, columns, n) for name in covariates], axis=1)
        if covariates
        else None
    )
    count = int(player.max(initial=-1)) + 1 if names is None else len(names)
    return Votes(
        player,
        outcome,
        whole,
        np.zeros((n, 0)) if z is None else z,
        tuple(_cluster_codes(one, columns, n) for one in resolve_cluster_columns(cluster)),
        names,
        max(count, num_players or 0),
    )


def resolve_cluster_columns(cluster: Any) -> list[Any]:
    """The columns by which votes are clustered, none to two of them."""
    if cluster is None:
        return []
    several = isinstance(cluster, (list, tuple)) and all(isinstance(x, str) or np.ndim(x) == 1 for x in cluster)
    cluster_columns = list(cluster) if several else [cluster]
    if not 1 <= len(cluster_columns) <= 2:
        raise ValueError(f"cluster by one column or by two, and not by {len(cluster_columns)}")
    return cluster_columns


def _match_outcomes(matches: Matches, ties: str) -> tuple[tuple[HostArray, HostArray, HostArray], bool]:
    """Wins, ties and losses of player 0, by weight."""
    score = np.asarray(matches.score, np.float64)
    tied = score == 0.5
    parts = ~tied & (score != 0) & (score != 1)
    if ties != "half":
        fail_where(parts, lambda row: f"score {score[row]:g} is no win, tie or loss; ties='half' takes it as a share")
    weight = np.ones(len(score)) if matches.context.weight is None else np.asarray(matches.context.weight, np.float64)
    return (
        np.where(tied, 0.0, weight * score),
        np.where(tied, weight, 0.0),
        np.where(tied, 0.0, weight * (1.0 - score)),
    ), not parts.any()


def _numeric_column(role: str, name: str, columns: Mapping[str, Any], n: int) -> HostArray:
    """[n] a column of the data by its name."""
    if not isinstance(name, str):
        raise ValueError(f"{role}s are names of columns of the data, got {type(name).__name__}")
    if name not in columns:
        known = f"the data have {', '.join(map(repr, columns))}" if columns else "the data have no further columns"
        raise ValueError(f"there is no column {name!r} for the {role}{suggest_name(name, columns)}; {known}")
    return as_numbers(f"{role} {name!r}", columns[name], (n,)).astype(np.float64)


def _cluster_codes(cluster: Any, columns: Mapping[str, Any], n: int) -> HostArray:
    """[n] numbers of the clusters, from 0."""
    values = _numeric_column("cluster", cluster, columns, n) if isinstance(cluster, str) else np.asarray(cluster)
    if values.shape != (n,):
        raise ValueError(f"cluster has shape {values.shape}, expected a name or a column of shape ({n},)")
    return np.unique(values, return_inverse=True)[1]


class VoteCells(NamedTuple):
    """Votes counted by pair, and by covariates where there are some. The first player has the lower number."""

    first: HostArray  # [M]
    second: HostArray  # [M]
    counts: HostArray  # [3, M] wins of the first player, ties, losses
    covariates: HostArray  # [M, p] in favour of the first player
    of_vote: HostArray | None  # [n] the cell of each vote
    turned: HostArray | None  # [n] whether the vote names the second player first


def group_votes(
    player: HostArray, outcome: Sequence[HostArray], covariates: HostArray, num_players: int, keep_places: bool
) -> VoteCells:
    """The cells of votes among so many players; `keep` says whether to remember the cell of each vote."""
    turned = player[:, 0] > player[:, 1]
    low = np.where(turned, player[:, 1], player[:, 0]).astype(np.int64)
    key = low * num_players + np.where(turned, player[:, 0], player[:, 1])
    win, tie, loss = outcome
    columns = np.where(turned, loss, win), tie, np.where(turned, win, loss)
    if not covariates.shape[1] and num_players <= MAX_DIRECT_PLAYERS:
        total = np.bincount(key, minlength=num_players * num_players)
        pair = np.flatnonzero(total)
        table = np.stack([np.bincount(key, column, num_players * num_players)[pair] for column in columns])
        place = None
        if keep_places:
            where = np.zeros(num_players * num_players, np.int64)
            where[pair] = np.arange(len(pair))
            place = where[key]
        return VoteCells(
            *_pair_members(pair, num_players), table, np.zeros((len(pair), 0)), place, turned if keep_places else None
        )
    z = np.where(turned[:, None], -covariates, covariates) + 0.0  # no negative zeros
    order = np.lexsort([*z.T, key]) if z.shape[1] else np.argsort(key, kind="stable")
    key = key[order]
    new = np.append(True, (key[1:] != key[:-1]) | (z[order[1:]] != z[order[:-1]]).any(axis=1))[: len(key)]
    start = np.flatnonzero(new)
    table = np.stack([np.add.reduceat(column[order], start) if len(start) else column for column in columns])
    place = None
    if keep_places:
        place = np.empty(len(key), np.int64)
        place[order] = np.cumsum(new) - 1
    return VoteCells(
        *_pair_members(key[start], num_players), table, z[order[start]], place, turned if keep_places else None
    )


def _pair_members(pair: HostArray, count: int) -> tuple[HostArray, HostArray]:
    return (pair // count).astype(np.int32), (pair % count).astype(np.int32)
