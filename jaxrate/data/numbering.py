"""Ids of names that are whole numbers, given as they come."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxrate.data.tables import Values

NOBODY = -1


class Numbering(NamedTuple):
    """Ids in order of first appearance, and the names of those who have one."""

    ids: Callable[[Values], tuple[Values, int]]  # (names [n, 2]) -> their ids [n, 2], and how many names have one now
    names: Values  # [room] by id


def numbering(low: int, high: int, known: Values, kind: Any) -> Numbering:
    """Ids of whole numbers from `low` to `high`; those `known` have theirs already."""
    names = np.zeros(high - low + 1, kind)
    table = np.full(high - low + 1, NOBODY, np.int32)
    names[: len(known)] = known
    table[known.astype(np.int64) - low] = np.arange(len(known), dtype=np.int32)
    count = len(known)

    def ids(player: Values) -> tuple[Values, int]:
        nonlocal count
        place = np.subtract(player, low, dtype=np.int64)
        found = table.take(place)
        if count < len(names) and len(new := place[found == NOBODY]):
            order = np.arange(NOBODY - 1, NOBODY - 1 - len(new), -1, dtype=np.int32)
            table[new[::-1]] = order[::-1]  # the last assignment stands: where each appears first
            new = new[table[new] == order]
            table[new] = np.arange(count, count + len(new), dtype=np.int32)
            names[count : count + len(new)] = new + low
            count += len(new)
            found = table.take(place)
        return found, count

    return Numbering(ids, names)
