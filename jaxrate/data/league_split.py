"""Leagues of one table, apart from each other."""

from collections.abc import Hashable
from typing import Any

import jax
import numpy as np

from jaxrate.data.column_conversion import missing_mask
from jaxrate.events import Matches, Ragged, RowError
from jaxrate.events.dataset import Dataset
from jaxrate.types import HostArray


def split_by_league(data: Dataset, league: Any) -> dict[Hashable, Dataset]:
    """The events of each league with its own players, in order of first appearance.

    Args:
      data: as from `read`.
      league: as in `rate_each`.

    Raises:
      RowError: for a row of the source without a league, or a contest in several.
    """
    listed = isinstance(league, (list, tuple))  # of tuples, perhaps
    labels = np.fromiter(league, object, len(league)) if listed else np.asarray(league, object)
    if labels.ndim != 1 or len(labels) <= int(data.rows.max(initial=-1)):
        raise ValueError(f"league must have one value for each row of the source, got shape {labels.shape}")
    if len(absent := np.flatnonzero(missing_mask(labels[data.rows], nan_is_missing=True))):
        raise RowError(int(data.rows[absent[0]]), "there is no league")
    names, which = _label_numbers(labels[data.rows].tolist())
    if not isinstance(data.events, Matches):
        size = np.diff(data.rounds.player_start)
        begin = np.repeat(data.rounds.player_start[:-1], size)
        if len(mixed := np.flatnonzero(which != which[begin])):
            row = int(mixed[0])
            one, other = names[which[begin[row]]], names[which[row]]
            raise RowError(int(data.rows[row]), f"its contest is of the leagues {one} and {other}")
        which = which[data.rounds.player_start[:-1]]
    return {name: _select_events(data, which == number) for number, name in enumerate(names)}


def _label_numbers(labels: list[Hashable]) -> tuple[list[Hashable], HostArray]:
    """Names in order of first appearance, and the number of each label's."""
    number = {name: i for i, name in enumerate(dict.fromkeys(labels))}
    return [*number], np.array([number[label] for label in labels], int)


def _select_events(data: Dataset, keep: HostArray) -> Dataset:
    """The events [E] to keep, and who plays in them."""
    rows = keep if isinstance(data.events, Matches) else np.repeat(keep, np.diff(data.rounds.player_start))
    flat: Any = data.events if isinstance(data.events, Matches) else data.rounds.events
    kept = jax.tree.map(lambda x: np.asarray(x)[keep if len(x) == len(keep) else rows], flat)
    there = np.zeros(len(data.players), bool)
    there[kept.player] = True
    kept = kept._replace(player=(np.cumsum(there, dtype=np.int32) - 1)[kept.player])
    start = None if isinstance(flat, Matches) else np.append(0, np.cumsum(np.diff(data.rounds.player_start)[keep]))
    return data._replace(
        events=kept if start is None else Ragged(kept, start, None),
        players=data.players[there],
        rows=data.rows[rows],
        contests=None if data.contests is None else data.contests[keep],
        fixtures=None,
    )
