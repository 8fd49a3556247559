"""The leagues of one table as datasets of their own."""

from collections.abc import Hashable
from typing import Any

import jax
import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.column_conversion import missing_mask
from jaxrate.events import Matches, Ragged, RowError
from jaxrate.events.dataset import Dataset


def split_by_league(data: Dataset, league: Any) -> dict[Hashable, Dataset]:
    """The events of each league with its own players, in order of first appearance.

    Args:
      data: as from `read`.
      league: as in `jr.history.rate_leagues`.

    Raises:
      RowError: for a row of the source without a league, or a contest in several.
    """
    is_list = isinstance(league, (list, tuple))  # of tuples, perhaps
    labels = np.fromiter(league, object, len(league)) if is_list else np.asarray(league, object)
    if labels.ndim != 1 or len(labels) <= int(data.rows.max(initial=-1)):
        raise ValueError(f"league must have one value for each row of the source, got shape {labels.shape}")
    if len(missing_rows := np.flatnonzero(missing_mask(labels[data.rows], nan_is_missing=True))):
        raise RowError(int(data.rows[missing_rows[0]]), "there is no league")
    names, number_of_row = _number_labels_by_first_appearance(labels[data.rows].tolist())
    if not data.of_matches:
        size = np.diff(data.rounds.player_start)
        first_row = np.repeat(data.rounds.player_start[:-1], size)
        if len(mixed_rows := np.flatnonzero(number_of_row != number_of_row[first_row])):
            row = int(mixed_rows[0])
            first, second = names[number_of_row[first_row[row]]], names[number_of_row[row]]
            raise RowError(int(data.rows[row]), f"its contest is of the leagues {first} and {second}")
        number_of_row = number_of_row[data.rounds.player_start[:-1]]
    return {name: _select_events(data, number_of_row == number) for number, name in enumerate(names)}


def _number_labels_by_first_appearance(labels: list[Hashable]) -> tuple[list[Hashable], HostArray]:
    """Names in order of first appearance, and the number of the name of each label."""
    number = {name: i for i, name in enumerate(dict.fromkeys(labels))}
    return [*number], np.array([number[label] for label in labels], int)


def _select_events(data: Dataset, keep: HostArray) -> Dataset:
    """The events to keep, by a mask [E], and their players."""
    rows = np.repeat(keep, np.diff(data.events.start))
    flat: Any = data.events.flat
    selected = jax.tree.map(lambda x: np.asarray(x)[keep if len(x) == len(keep) else rows], flat)
    is_present = np.zeros(len(data.players), bool)
    is_present[selected.player] = True
    selected = selected._replace(player=(np.cumsum(is_present, dtype=np.int32) - 1)[selected.player])
    start = None if isinstance(flat, Matches) else np.append(0, np.cumsum(np.diff(data.rounds.player_start)[keep]))
    return data._replace(
        events=selected if start is None else Ragged(selected, start, None),
        players=data.players[is_present],
        rows=data.rows[rows],
        contests=None if data.contests is None else data.contests[keep],
        fixtures=None,
    )
