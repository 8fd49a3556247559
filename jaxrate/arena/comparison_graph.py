"""Whose results are comparable.

Strengths have finite likeliest values, up to one constant, if and only if each player can be reached from each other
along results in which somebody did not lose (Ford 1957; Hunter 2004, assumption 1). `standing` finds the largest set of
players of whom this is true, and how the others stand to it.
"""

from typing import NamedTuple

import numpy as np

from jaxrate.types import HostArray


class Comparability(NamedTuple):
    """Who can be compared."""

    component: HostArray  # [N] numbers from 0 of the groups that never met, the largest first; -1 of who never played
    main: HostArray  # [N] whether they are among those of whom strengths are found
    above: HostArray  # [N] only won against those, directly or through others: no strength is high enough
    below: HostArray  # [N] only lost


def find_comparable(
    first: HostArray, second: HostArray, not_lost: HostArray, not_won: HostArray, count: int, anchors: HostArray
) -> Comparability:
    """How players stand to each other by pairs [M] who met.

    Args:
      first, second: [M] ids.
      not_lost, not_won: [M] whether the first did so, at least once.
      count: of players.
      anchors: ids of players whose strengths are known: they are compared as if all had met.
    """
    better = np.concatenate([first[not_lost], second[not_won]])  # an arrow to who did not win
    worse = np.concatenate([second[not_lost], first[not_won]])
    ring = np.roll(anchors, 1)
    better, worse = np.concatenate([better, anchors, ring]), np.concatenate([worse, ring, anchors])
    down, up = _adjacency(better, worse, count), _adjacency(worse, better, count)
    degree = np.diff(down[0]) + np.diff(up[0])
    if len(anchors):
        main = _reachable_players(down, anchors[:1]) & _reachable_players(up, anchors[:1])
    else:
        begin = np.array([np.argmax(degree)])
        main = _reachable_players(down, begin) & _reachable_players(up, begin)
        if 2 * main.sum() <= (degree > 0).sum():
            main = _largest_strong_component(*down)
    below, above = (_reachable_players(arrows, np.flatnonzero(main)) & ~main for arrows in (down, up))
    return Comparability(_connected_components(better, worse, count, degree > 0), main, above, below)


def _adjacency(begin: HostArray, end: HostArray, count: int) -> tuple[HostArray, HostArray]:
    """Where the arrows of each player start [N + 1], and where they lead."""
    order = np.argsort(begin, kind="stable")
    return np.concatenate([[0], np.cumsum(np.bincount(begin, minlength=count))]), end[order]


def _reachable_players(adjacency: tuple[HostArray, HostArray], sources: HostArray) -> HostArray:
    """[N] who is reached along arrows."""
    start, to = adjacency
    seen = np.zeros(len(start) - 1, bool)
    seen[sources] = True
    while len(sources):
        size = start[sources + 1] - start[sources]
        offset = np.repeat(start[sources] - np.cumsum(size) + size, size)
        next_ = to[offset + np.arange(size.sum())]
        next_ = next_[~seen[next_]]
        seen[next_] = True
        sources = np.unique(next_)
    return seen


def _connected_components(first: HostArray, second: HostArray, count: int, plays: HostArray) -> HostArray:
    """[N] the groups that never met, numbered by size: labels fall to the least among neighbours, and jump."""
    label = np.arange(count)
    while True:
        before = label.copy()
        least = np.minimum(label[first], label[second])
        np.minimum.at(label, before[first], least)
        np.minimum.at(label, before[second], least)
        while (label != label[label]).any():
            label = label[label]
        if (label == before).all():
            break
    roots, group = np.unique(label[plays], return_inverse=True)
    number = np.empty(len(roots), np.int64)
    number[np.argsort(-np.bincount(group, minlength=len(roots)), kind="stable")] = np.arange(len(roots))
    component = np.full(count, -1)
    component[plays] = number[group]
    return component


def _largest_strong_component(start: HostArray, to: HostArray) -> HostArray:
    """[N] who belongs to the largest strongly connected set, by Tarjan's algorithm (1972) without recursion."""
    count, heads, tails = len(start) - 1, start.tolist(), to.tolist()
    index, low, on = [-1] * count, [0] * count, [False] * count
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
                on[node] = True
            while at < heads[node + 1]:
                child = tails[at]
                if index[child] < 0:
                    path += [(node, at), (child, heads[child])]
                    break
                if on[child]:
                    low[node] = min(low[node], low[child])
                at += 1
            else:
                if low[node] == index[node]:
                    group = []
                    while on[node]:
                        group.append(stack.pop())
                        on[group[-1]] = False
                    largest_group = group if len(group) > len(largest_group) else largest_group
    main = np.zeros(count, bool)
    main[largest_group] = True
    return main
