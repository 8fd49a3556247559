"""Ids of players whose names come a chunk at a time, in order of first appearance."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.column_conversion import to_column, to_ids
from jaxrate.data.faulty_rows import map_row_errors
from jaxrate.data.table_sources import Column, import_pyarrow

NO_ID = -1
FIRST_CAPACITY = 1 << 16  # players there is room for at first
MAX_SPARSITY, SMALL_ID_RANGE = 4, 1 << 22  # ids stand in a table that is so many times as long as the names at most


class PlayerIds:
    """Ids of names, which are told as they come.

    Whole numbers that lie close together are looked up in a table; other names, in a hash table of Arrow.
    """

    def __init__(self, names: Any = None) -> None:
        self.names = names  # by id, an array of Arrow; None: nobody has come yet
        self._low, self._id_of_number = 0, np.zeros(0, np.int32)  # the least number, and the ids from it on
        self._index_numbers(0)

    @property
    def count(self) -> int:
        """How many names have come so far."""
        return 0 if self.names is None else len(self.names)

    @property
    def capacity(self) -> int:
        """How many players there is room for, which follows from their number alone."""
        return max(FIRST_CAPACITY, 1 << max(self.count - 1, 0).bit_length())

    def __call__(self, columns: Sequence[str], values: dict[str, Column]) -> tuple[HostArray, Any]:
        """Ids [n, columns] of the names in columns, and all names by id."""
        ids = self._find_ids([values[name] for name in columns])
        rows = np.flatnonzero((ids == NO_ID).any(axis=1))
        if len(rows):
            places = import_pyarrow().array(rows)
            with map_row_errors(rows):
                codes, labels = to_ids(columns, {name: values[name].take(places) for name in columns})
            id_of_code = np.full(len(labels), NO_ID, np.int32)
            id_of_code[codes] = ids[rows]
            is_new = id_of_code == NO_ID
            id_of_code[is_new] = self.count + np.arange(np.count_nonzero(is_new))
            ids[rows] = id_of_code[codes]
            first, new = self.count, to_column("players", labels[is_new]).combine_chunks()
            self.names = new if self.names is None else import_pyarrow().concat_arrays([self.names, new])
            self._index_numbers(first)
        return ids, self.names

    def _find_ids(self, parts: Sequence[Any]) -> HostArray:
        """[n, parts] the ids of names in columns; `NO_ID` of those that are new or missing."""
        if self.names is None:
            return np.full((len(parts[0]), len(parts)), NO_ID, np.int32)
        arrow, kind = import_pyarrow(), self.names.type
        flat = arrow.chunked_array([chunk for part in parts for chunk in part.cast(kind).chunks], kind)
        if len(self._id_of_number) and not flat.null_count:
            number = flat.to_numpy()
            is_near = (number >= self._low) & (number < self._low + len(self._id_of_number))
            offset = np.where(is_near, number.astype(np.int64) - self._low, 0)
            ids = np.where(is_near, self._id_of_number.take(offset), NO_ID)
        else:
            ids = arrow.compute.index_in(flat, self.names).fill_null(NO_ID).to_numpy()
        return np.array(ids.reshape(len(parts), -1).T, np.int32, order="C")

    def _index_numbers(self, first: int) -> None:
        """Enter the names from id `first` on in the table, if they are whole numbers close enough for one."""
        if not self.count or not import_pyarrow().types.is_integer(self.names.type):
            return
        end = self._low + len(self._id_of_number)
        numbers = self.names[first:].to_numpy()
        low, high = int(numbers.min()), int(numbers.max())
        if low < self._low or high >= end:  # a new table, with room for as many numbers again
            first, numbers = 0, self.names.to_numpy()
            low, high = int(numbers.min()), int(numbers.max())
            is_dense = high - low < max(MAX_SPARSITY * self.count, SMALL_ID_RANGE)
            self._low, self._id_of_number = low, np.full((high - low + 1) * is_dense, NO_ID, np.int32)
        if len(self._id_of_number):
            self._id_of_number[numbers.astype(np.int64) - self._low] = np.arange(first, self.count, dtype=np.int32)
