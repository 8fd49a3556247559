"""Groups of players whom chains of events join: A met B, B met C, so that A and C can be compared."""

import numpy as np

from jaxrate.core.array_types import HostArray


def number_connected_groups(num_players: int, player: HostArray, event: HostArray) -> HostArray:
    """[N] numbers from 0 of groups that no chain of events joins, the largest first; -1: took part in none.

    Each label becomes the least among those of the people met, and then that of the player whose label it is, until
    all of an event have one. Of equally large groups the one with the least id comes first.

    Args:
      num_players: number of players N.
      player: [R] ids of participants.
      event: [R] the number of the event of each, from 0.
    """
    one_of_event = np.zeros(event.max(initial=-1) + 1, np.int64)
    one_of_event[event] = player
    first, second, label = player, one_of_event[event], np.arange(num_players)
    while True:
        first, second = label[first], label[second]
        differs = np.flatnonzero(first != second)
        if not len(differs):
            break
        first, second = first[differs], second[differs]
        np.minimum.at(label, np.maximum(first, second), np.minimum(first, second))
        while ((next_label := label[label]) != label).any():
            label = next_label
    has_played = np.zeros(num_players, bool)
    has_played[player] = True
    roots, group = np.unique(label[has_played], return_inverse=True)
    number = np.empty(len(roots), np.int64)
    number[np.argsort(-np.bincount(group, minlength=len(roots)), kind="stable")] = np.arange(len(roots))
    groups = np.full(num_players, -1)
    groups[has_played] = number[group]
    return groups
