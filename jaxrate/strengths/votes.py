"""Votes between two players, and what is counted of them by pair."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxrate.arguments import check_arguments
from jaxrate.data.dataset import Dataset
from jaxrate.events import Matches, Ragged, fail_where
from jaxrate.events.checks import as_ids, as_numbers, check_known
from jaxrate.text import cell, near

NumPy = np.ndarray[Any, Any]
NAMES = "wins", "losses", "ties"
DIRECT = 4096  # players up to whom every pair has a place of its own


class Counts(NamedTuple):
    """Results of two players, counted: a row for each pair, or more of one pair."""

    player: NumPy  # [n, 2] ids
    wins: NumPy  # [n] of player 0
    losses: NumPy  # [n]
    ties: NumPy  # [n]
    players: NumPy | None = None  # [num_players] names in order of id
    columns: dict[str, NumPy] | None = None  # [n] further numbers by name, of every match of the row

    def __repr__(self) -> str:
        count = self.wins.sum() + self.losses.sum() + self.ties.sum()
        known = self.player.max(initial=-1) + 1 if self.players is None else len(self.players)
        return f"Counts of {count:,.15g} results of {known:,} players in {len(self.wins):,} rows"


@check_arguments
def counts(
    a: Any, b: Any, wins: Any, losses: Any, ties: Any = None, *, columns: Mapping[str, Any] | None = None
) -> Counts:
    """Checked `Counts` from columns.

        jr.counts(["Ada", "Ada"], ["Bo", "Cy"], wins=[7, 4], losses=[2, 4], ties=[1, 0])

    Args:
      a, b: [n] the two players: integer ids from 0, or names.
      wins, losses: [n] how often a won and lost (numbers from 0; they need not be whole).
      ties: [n] how often neither did. None: never.
      columns: by name, [n] finite numbers that hold for every match of the row: covariates and clusters.

    Raises:
      ValueError: names the first bad row, counting from 0, and what is wrong with it.
    """
    for name, x in (("a", a), ("b", b)):
        check_known(name, x, "jr.scan rates what is traced")
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
            lambda row: f"{cell(one[row])} and {cell(two[row])} must both be names, or both ids",
        )
        code = {name: i for i, name in enumerate(dict.fromkeys(listed))}
        player = np.array([code[name] for name in listed], np.int32).reshape(2, n).T
        names = np.array([*code], object)
    shown = player if names is None else names[player]
    fail_where(player[:, 0] == player[:, 1], lambda row: f"{cell(shown[row, 0])} is on both sides; remove the row")
    ties = np.zeros(n) if ties is None else ties
    table = [
        as_numbers(name, values, (n,)).astype(np.float64)
        for name, values in zip(NAMES, (wins, losses, ties), strict=True)
    ]
    for name, values in zip(NAMES, table, strict=True):
        fail_where(values < 0, _below(name, values))
    further = {name: as_numbers(f"column {name!r}", x, (n,)) for name, x in (columns or {}).items()} or None
    return Counts(player, table[0], table[1], table[2], names, further)


def _below(name: str, values: NumPy) -> Callable[[int], str]:
    return lambda row: f"{name} is {values[row]:g}, below 0"


class Votes(NamedTuple):
    """Results of two players with what is known of each."""

    player: NumPy  # [n, 2] ids
    outcome: tuple[NumPy, NumPy, NumPy]  # [n] wins of player 0, ties, losses
    whole: bool  # whether every row is one result or counts of such, and not a share of one
    covariates: NumPy  # [n, p] in favour of player 0
    clusters: tuple[NumPy, ...]  # [n] from 0, for each way of clustering
    players: NumPy | None  # [num_players] names
    num_players: int


def votes_of(data: Any, ties: str, covariates: Sequence[str], cluster: Any, num_players: int | None = None) -> Votes:
    """The votes of matches or counts. ValueError where they are none, or lack a column; names the row."""
    names = None
    if isinstance(data, Dataset):
        names, data = data.players, data.matches
    if isinstance(data, Counts):
        names = data.players if names is None else names
        player, outcome, whole = data.player, (data.wins, data.ties, data.losses), True
        columns, n = data.columns or {}, len(data.wins)
    elif isinstance(data, Matches):
        player, columns, n = np.asarray(data.player), dict(data.context.columns or {}), len(data.score)
        if data.context.side is not None:
            columns["side"] = data.context.side
        outcome, whole = _outcomes(data, ties)
    else:
        kind = "periods" if isinstance(data, Ragged) else type(data).__name__
        raise ValueError(f"static takes matches, counts, rounds or a Dataset of them, and not {kind}")
    if ties == "none":
        outcome = outcome[0], np.zeros(n), outcome[2]
    z = np.stack([_column("covariate", name, columns, n) for name in covariates], axis=1) if covariates else None
    count = int(player.max(initial=-1)) + 1 if names is None else len(names)
    return Votes(
        player,
        outcome,
        whole,
        np.zeros((n, 0)) if z is None else z,
        tuple(_codes(one, columns, n) for one in ways(cluster)),
        names,
        max(count, num_players or 0),
    )


def ways(cluster: Any) -> list[Any]:
    """The columns by which votes are clustered, none to two of them."""
    if cluster is None:
        return []
    several = isinstance(cluster, (list, tuple)) and all(isinstance(x, str) or np.ndim(x) == 1 for x in cluster)
    found = list(cluster) if several else [cluster]
    if not 1 <= len(found) <= 2:
        raise ValueError(f"cluster by one column or by two, and not by {len(found)}")
    return found


def _outcomes(matches: Matches, ties: str) -> tuple[tuple[NumPy, NumPy, NumPy], bool]:
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


def _column(what: str, name: str, columns: Mapping[str, Any], n: int) -> NumPy:
    """[n] a column of the data by its name."""
    if not isinstance(name, str):
        raise ValueError(f"{what}s are names of columns of the data, got {type(name).__name__}")
    if name not in columns:
        known = f"the data have {', '.join(map(repr, columns))}" if columns else "the data have no further columns"
        raise ValueError(f"there is no column {name!r} for the {what}{near(name, columns)}; {known}")
    return as_numbers(f"{what} {name!r}", columns[name], (n,)).astype(np.float64)


def _codes(one: Any, columns: Mapping[str, Any], n: int) -> NumPy:
    """[n] numbers of the clusters, from 0."""
    values = _column("cluster", one, columns, n) if isinstance(one, str) else np.asarray(one)
    if values.shape != (n,):
        raise ValueError(f"cluster has shape {values.shape}, expected a name or a column of shape ({n},)")
    return np.unique(values, return_inverse=True)[1]


class Cells(NamedTuple):
    """Votes counted by pair, and by covariates where there are some. The first player has the lower number."""

    first: NumPy  # [M]
    second: NumPy  # [M]
    counts: NumPy  # [3, M] wins of the first player, ties, losses
    covariates: NumPy  # [M, p] in favour of the first player
    of_vote: NumPy | None  # [n] the cell of each vote
    turned: NumPy | None  # [n] whether the vote names the second player first


def cells_of(player: NumPy, outcome: Sequence[NumPy], covariates: NumPy, count: int, keep: bool) -> Cells:
    """The cells of votes among so many players; `keep` says whether to remember the cell of each vote."""
    turned = player[:, 0] > player[:, 1]
    low = np.where(turned, player[:, 1], player[:, 0]).astype(np.int64)
    key = low * count + np.where(turned, player[:, 0], player[:, 1])
    win, tie, loss = outcome
    columns = np.where(turned, loss, win), tie, np.where(turned, win, loss)
    if not covariates.shape[1] and count <= DIRECT:
        total = np.bincount(key, minlength=count * count)
        pair = np.flatnonzero(total)
        table = np.stack([np.bincount(key, column, count * count)[pair] for column in columns])
        place = None
        if keep:
            where = np.zeros(count * count, np.int64)
            where[pair] = np.arange(len(pair))
            place = where[key]
        return Cells(*_ends(pair, count), table, np.zeros((len(pair), 0)), place, turned if keep else None)
    z = np.where(turned[:, None], -covariates, covariates) + 0.0  # no negative zeros
    order = np.lexsort([*z.T, key]) if z.shape[1] else np.argsort(key, kind="stable")
    key = key[order]
    new = np.append(True, (key[1:] != key[:-1]) | (z[order[1:]] != z[order[:-1]]).any(axis=1))[: len(key)]
    start = np.flatnonzero(new)
    table = np.stack([np.add.reduceat(column[order], start) if len(start) else column for column in columns])
    place = None
    if keep:
        place = np.empty(len(key), np.int64)
        place[order] = np.cumsum(new) - 1
    return Cells(*_ends(key[start], count), table, z[order[start]], place, turned if keep else None)


def _ends(pair: NumPy, count: int) -> tuple[NumPy, NumPy]:
    return (pair // count).astype(np.int32), (pair % count).astype(np.int32)
