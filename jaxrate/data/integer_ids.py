"""Ids of names that are whole numbers, given as they come."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxrate.types import HostArray

NO_ID = -1


class IntegerIds(NamedTuple):
    """Ids in order of first appearance, and the names of those who have one."""

    ids: Callable[
        [HostArray], tuple[HostArray, int]
    ]  # (names [n, 2]) -> their ids [n, 2], and how many names have one now
    names: HostArray  # [room] by id


def assign_integer_ids(low: int, high: int, known_names: HostArray, kind: Any) -> IntegerIds:
    """Ids of whole numbers from `low` to `high`; those `known` have theirs already."""
    names = np.zeros(high - low + 1, kind)
    table = np.full(high - low + 1, NO_ID, np.int32)
    names[: len(known_names)] = known_names
    table[known_names.astype(np.int64) - low] = np.arange(len(known_names), dtype=np.int32)
    count = len(known_names)

    def ids(player: HostArray) -> tuple[HostArray, int]:
        nonlocal count
        place = np.subtract(player, low, dtype=np.int64)
        found = table.take(place)
        if count < len(names) and len(new := place[found == NO_ID]):
            order = np.arange(NO_ID - 1, NO_ID - 1 - len(new), -1, dtype=np.int32)
            table[new[::-1]] = order[::-1]  # the last assignment stands: where each appears first
            new = new[table[new] == order]
            table[new] = np.arange(count, count + len(new), dtype=np.int32)
            names[count : count + len(new)] = new + low
            count += len(new)
            found = table.take(place)
        return found, count

    return IntegerIds(ids, names)
