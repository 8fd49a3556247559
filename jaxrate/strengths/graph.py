"""Whose results are comparable.

Strengths have finite likeliest values, up to one constant, if and only if each player can be reached from each other
along results in which somebody did not lose (Ford 1957; Hunter 2004, assumption 1). `standing` finds the largest set of
players of whom this is true, and how the others stand to it.
"""

from typing import Any, NamedTuple

import numpy as np

NumPy = np.ndarray[Any, Any]


class Standing(NamedTuple):
    """Who can be compared."""

    component: NumPy  # [N] numbers from 0 of the groups that never met, the largest first; -1 of who never played
    main: NumPy  # [N] whether they are among those of whom strengths are found
    above: NumPy  # [N] only won against those, directly or through others: no strength is high enough
    below: NumPy  # [N] only lost


def standing(first: NumPy, second: NumPy, not_lost: NumPy, not_won: NumPy, count: int, anchors: NumPy) -> Standing:
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
    down, up = _arrows(better, worse, count), _arrows(worse, better, count)
    degree = np.diff(down[0]) + np.diff(up[0])
    if len(anchors):
        main = _reached(down, anchors[:1]) & _reached(up, anchors[:1])
    else:
        begin = np.array([np.argmax(degree)])
        main = _reached(down, begin) & _reached(up, begin)
        if 2 * main.sum() <= (degree > 0).sum():
            main = _largest(*down)
    below, above = (_reached(arrows, np.flatnonzero(main)) & ~main for arrows in (down, up))
    return Standing(_components(better, worse, count, degree > 0), main, above, below)


def _arrows(begin: NumPy, end: NumPy, count: int) -> tuple[NumPy, NumPy]:
    """Where the arrows of each player start [N + 1], and where they lead."""
    order = np.argsort(begin, kind="stable")
    return np.concatenate([[0], np.cumsum(np.bincount(begin, minlength=count))]), end[order]


def _reached(arrows: tuple[NumPy, NumPy], begin: NumPy) -> NumPy:
    """[N] who is reached along arrows."""
    start, to = arrows
    seen = np.zeros(len(start) - 1, bool)
    seen[begin] = True
    while len(begin):
        size = start[begin + 1] - start[begin]
        offset = np.repeat(start[begin] - np.cumsum(size) + size, size)
        next_ = to[offset + np.arange(size.sum())]
        next_ = next_[~seen[next_]]
        seen[next_] = True
        begin = np.unique(next_)
    return seen


def _components(one: NumPy, two: NumPy, count: int, plays: NumPy) -> NumPy:
    """[N] the groups that never met, numbered by size: labels fall to the least among neighbours, and jump."""
    label = np.arange(count)
    while True:
        before = label.copy()
        least = np.minimum(label[one], label[two])
        np.minimum.at(label, before[one], least)
        np.minimum.at(label, before[two], least)
        while (label != label[label]).any():
            label = label[label]
        if (label == before).all():
            break
    roots, group = np.unique(label[plays], return_inverse=True)
    number = np.empty(len(roots), np.int64)
    number[np.argsort(-np.bincount(group, minlength=len(roots)), kind="stable")] = np.arange(len(roots))
    found = np.full(count, -1)
    found[plays] = number[group]
    return found


def _largest(start: NumPy, to: NumPy) -> NumPy:
    """[N] who belongs to the largest strongly connected set, by Tarjan's algorithm (1972) without recursion."""
    count, heads, tails = len(start) - 1, start.tolist(), to.tolist()
    index, low, on = [-1] * count, [0] * count, [False] * count
    found: list[int] = []
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
                    found = group if len(group) > len(found) else found
    main = np.zeros(count, bool)
    main[found] = True
    return main
