"""Ids of names that are whole numbers, in order of first appearance."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray

NO_ID = -1


class IntegerIdAssigner(NamedTuple):
    """Assigns ids in order of first appearance; has the names by id."""

    ids: Callable[[HostArray], tuple[HostArray, int]]  # names [n, 2] to ids [n, 2] and the number of names so far
    names: HostArray  # [size of the range] by id


def make_integer_id_assigner(low: int, high: int, known_names: HostArray, dtype: Any) -> IntegerIdAssigner:
    """Ids of whole numbers from `low` to `high`; `known_names` have the first ids."""
    names = np.zeros(high - low + 1, dtype)
    id_of_offset = np.full(high - low + 1, NO_ID, np.int32)
    names[: len(known_names)] = known_names
    id_of_offset[known_names.astype(np.int64) - low] = np.arange(len(known_names), dtype=np.int32)
    count = len(known_names)

    def ids(player: HostArray) -> tuple[HostArray, int]:
        nonlocal count
        offset = np.subtract(player, low, dtype=np.int64)
        id_of_player = id_of_offset.take(offset)
        if count < len(names) and len(new := offset[id_of_player == NO_ID]):
            order = np.arange(NO_ID - 1, NO_ID - 1 - len(new), -1, dtype=np.int32)
            id_of_offset[new[::-1]] = order[::-1]  # the last assignment stands: where each appears first
            new = new[id_of_offset[new] == order]
            id_of_offset[new] = np.arange(count, count + len(new), dtype=np.int32)
            names[count : count + len(new)] = new + low
            count += len(new)
            id_of_player = id_of_offset.take(offset)
        return id_of_player, count

    return IntegerIdAssigner(ids, names)
