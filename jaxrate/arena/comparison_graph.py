"""The graph of comparisons: which players can be compared.

Maximum likelihood strengths are finite, up to one constant, if and only if each player can be reached from each other
along results in which somebody did not lose (Ford 1957; Hunter 2004, assumption 1). `find_comparable_players` finds the
largest set of players with this property, and the relation of the others to it.
"""

from typing import NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.events import number_connected_groups


class Comparability(NamedTuple):
    """Which players can be compared."""

    component: HostArray  # [N] numbers from 0 of groups that never met, the largest first; -1: never played
    is_main: HostArray  # [N] whether their strength can be estimated
    only_won: HostArray  # [N] only won against those, directly or through others: infinite strength
    only_lost: HostArray  # [N] only lost


def find_comparable_players(
    first: HostArray, second: HostArray, not_lost: HostArray, not_won: HostArray, num_players: int, anchors: HostArray
) -> Comparability:
    """Find the players whose strengths can be compared, from pairs [M] who met.

    Args:
      first, second: [M] ids.
      not_lost, not_won: [M] whether the first did not lose, and did not win, at least once.
      num_players: number of players.
      anchors: ids of players whose strengths are known: they are compared as if all had met.
    """
    better = np.concatenate([first[not_lost], second[not_won]])  # arrows lead to players who did not win
    worse = np.concatenate([second[not_lost], first[not_won]])
    ring = np.roll(anchors, 1)
    better, worse = np.concatenate([better, anchors, ring]), np.concatenate([worse, ring, anchors])
    down, up = _build_adjacency(better, worse, num_players), _build_adjacency(worse, better, num_players)
    degree = np.diff(down[0]) + np.diff(up[0])
    if len(anchors):
        main = _reachable_players(down, anchors[:1]) & _reachable_players(up, anchors[:1])
    else:
        most_connected = np.array([np.argmax(degree)])
        main = _reachable_players(down, most_connected) & _reachable_players(up, most_connected)
        if 2 * main.sum() <= (degree > 0).sum():
            main = _largest_strong_component(*down)
    below, above = (_reachable_players(arrows, np.flatnonzero(main)) & ~main for arrows in (down, up))
    pair = np.arange(len(better))
    component = number_connected_groups(num_players, np.append(better, worse), np.append(pair, pair))
    return Comparability(component, main, above, below)


def _build_adjacency(sources: HostArray, targets: HostArray, num_players: int) -> tuple[HostArray, HostArray]:
    """The arrows by source: start of each player's arrows [N + 1], and their targets."""
    order = np.argsort(sources, kind="stable")
    return np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=num_players))]), targets[order]


def _reachable_players(adjacency: tuple[HostArray, HostArray], sources: HostArray) -> HostArray:
    """[N] whether a player is reached along arrows."""
    start, to = adjacency
    is_reached = np.zeros(len(start) - 1, bool)
    is_reached[sources] = True
    while len(sources):
        size = start[sources + 1] - start[sources]
        offset = np.repeat(start[sources] - np.cumsum(size) + size, size)
        next_ = to[offset + np.arange(size.sum())]
        next_ = next_[~is_reached[next_]]
        is_reached[next_] = True
        sources = np.unique(next_)
    return is_reached


def _largest_strong_component(start: HostArray, to: HostArray) -> HostArray:
    """[N] members of the largest strongly connected component, by Tarjan's algorithm (1972) without recursion."""
    count, heads, tails = len(start) - 1, start.tolist(), to.tolist()
    index, low, on_stack = [-1] * count, [0] * count, [False] * count
    largest_group: list[int] = []
    stack: list[int] = []
    number = 0
    for root in range(count):
        if index[root] >= 0:
            continue
        path = [(root, heads[root])]
        while path:
            node, at = path.pop()
            if index[node] < 0:
                index[node] = low[node] = number
                number += 1
                stack.append(node)
                on_stack[node] = True
            while at < heads[node + 1]:
                child = tails[at]
                if index[child] < 0:
                    path += [(node, at), (child, heads[child])]
                    break
                if on_stack[child]:
                    low[node] = min(low[node], low[child])
                at += 1
            else:
                if low[node] == index[node]:
                    group = []
                    while on_stack[node]:
                        group.append(stack.pop())
                        on_stack[group[-1]] = False
                    largest_group = group if len(group) > len(largest_group) else largest_group
    main = np.zeros(count, bool)
    main[largest_group] = True
    return main
