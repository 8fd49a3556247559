"""Inversions: pairs of a permutation in the wrong order."""

import numpy as np

from jaxrate.core.array_types import HostArray


def count_inversions_by_entry(places: HostArray, contest_start: HostArray) -> HostArray:
    """[n] numbers whose sum over a contest is the number of its pairs i < j with place i > place j.

    Bit by bit from the highest, the places of each contest are partitioned into those without and with the bit, both in
    their order. Inversions are zeros that follow a one which agrees with them in all higher bits. Since the places of a
    contest are 0, 1, ..., those that agree stand where the lowest of them belongs: no lists of groups are needed.

    Args:
      places: [n] a permutation of 0, 1, ... for each contest.
      contest_start: [n] index of the first participant of the contest.
    """
    kind = np.int32 if len(places) < 2**30 else np.int64  # half the bytes, half the time
    places, contest_start, position = (
        places.astype(kind),
        contest_start.astype(kind),
        np.arange(len(places), dtype=kind),
    )
    count = np.zeros(len(places), np.int64)
    for bit in reversed(range(int(places.max()).bit_length())):
        is_set, group = (places >> bit) & 1, contest_start + (places >> (bit + 1) << (bit + 1))
        ones: HostArray = np.cumsum(is_set, dtype=kind)
        ones -= is_set
        ones -= ones[group]
        count += ones * (1 - is_set)
        partitioned = np.empty_like(places)
        partitioned[np.where(is_set, group + (1 << bit) + ones, position - ones)] = places
        places = partitioned
    return count


def to_smallest_dtype(number: HostArray) -> HostArray:
    """Non-negative integers in the smallest type: NumPy sorts 16 bits much faster than 64."""
    return number.astype(np.min_scalar_type(int(number.max(initial=0))))
