"""Inversions: pairs of a contest in the wrong order."""

import numpy as np

from jaxrate.types import HostArray


def count_inversions(places: HostArray, contest_start: HostArray) -> HostArray:
    """[n] numbers whose sum over a contest is the number of its pairs i < j with value i > value j.

    One bit after the other from the top, the values of each contest are parted into those without and with it, both in
    their order. Inversions are the zeros behind a one that agrees with them in all higher bits. Since the values of a
    contest are 0, 1, ..., those that agree lie where their lowest one belongs: no lists of groups are kept.

    Args:
      value: [n] a permutation of 0, 1, ... for each contest.
      begin: [n] where its contest begins.
    """
    kind = np.int32 if len(places) < 2**30 else np.int64  # half the bytes, half the time
    places, contest_start, here = places.astype(kind), contest_start.astype(kind), np.arange(len(places), dtype=kind)
    count = np.zeros(len(places), np.int64)
    for bit in reversed(range(int(places.max()).bit_length())):
        one, group = (places >> bit) & 1, contest_start + (places >> (bit + 1) << (bit + 1))
        ones: HostArray = np.cumsum(one, dtype=kind)
        ones -= one
        ones -= ones[group]
        count += ones * (1 - one)
        parted = np.empty_like(places)
        parted[np.where(one, group + (1 << bit) + ones, here - ones)] = places
        places = parted
    return count


def to_smallest_dtype(number: HostArray) -> HostArray:
    """The same numbers, from 0, in the smallest type: NumPy sorts 16 bits much faster than 64."""
    return number.astype(np.min_scalar_type(int(number.max(initial=0))))
