"""The checks at the door: columns as finite numbers, ids and times, and errors that know their row."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from jaxrate.events.event_types import LAST_ID
from jaxrate.text_format import to_one_line

MAX_REPORTED_ROWS = 10  # bad rows that one message tells


class RowError(ValueError):
    """What is wrong with one row of the data, `row`, counting from 0: `message`.

    `others` are further bad rows with their messages, and `more` says how many there are beside them, at the least.
    """

    def __init__(self, row: int, message: str, others: Sequence[tuple[int, str]] = (), more: int = 0) -> None:
        super().__init__(row, message, tuple(others), more)
        self.row, self.message, self.others, self.more = row, message, tuple(others), more

    @property
    def all(self) -> list[tuple[int, str]]:
        """The rows that are told, each with its message."""
        return [(self.row, self.message), *self.others]

    def format_message(self, where: Callable[[int], str]) -> str:
        """The whole message, a line for each row; `where(row)` begins it."""
        lines = [f"{where(row)}: {to_one_line(message)}" for row, message in self.all]
        if self.more:
            lines.append("... and others" if self.more == 1 else f"... and at least {self.more:,} others")
        return "\n  ".join(lines)

    def but(self, change: Callable[[int, str], tuple[int, str]]) -> "RowError":
        """The same of other rows, or with other messages."""
        (row, message), *others = (change(row, message) for row, message in self.all)
        return RowError(row, message, others, self.more)

    def __str__(self) -> str:
        return self.format_message(lambda row: f"row {row} (counting from 0)")


def fail_where(bad: Any, describe_row: Callable[[int], str]) -> None:
    """RowError about the rows where `bad`; `say(row)` is the message."""
    if bad.any():
        rows = np.flatnonzero(bad)
        (row, message), *others = ((row, describe_row(row)) for row in rows[:MAX_REPORTED_ROWS].tolist())
        raise RowError(row, message, others, max(len(rows) - MAX_REPORTED_ROWS, 0))


@contextmanager
def add_contest_to_errors(label: Callable[[int], str]) -> Iterator[None]:
    """Errors about a row also say its contest, `label(row)`."""
    try:
        yield
    except RowError as error:
        raise error.but(lambda row, message: (row, f"{message} ({label(row)})")) from None


TRACED_COLUMNS_ADVICE = "traced columns go into jr.Matches, which jr.scan and jr.predict take"


def check_not_traced(name: str, values: Any, advice: str = TRACED_COLUMNS_ADVICE) -> None:
    """ValueError for what is traced, which says what to do instead."""
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(values, jax.core.Tracer):
        raise ValueError(f"{name} is traced by jax.jit, grad or vmap, and must be known on the host: {advice}")


def as_numbers(
    name: str, values: Any, shape: tuple[int, ...], allow_infinite: bool = False, allow_nan: bool = False
) -> np.ndarray[Any, Any]:
    """`values` as finite numbers of this shape; `endless` allows inf, and `absent` NaN."""
    check_not_traced(name, values)
    array = np.asarray(values)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold numbers, got {array.dtype}")
    bad = ~np.isfinite(array) & ~(allow_infinite & (array == np.inf)) & ~(allow_nan & np.isnan(array))
    fail_where(bad, lambda row: f"{name} is {array[row]}, not a finite number")
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def as_labels(name: str, values: Any, n: int) -> np.ndarray[Any, Any]:
    """Numbers that only need to be told apart: integers stay integers, since floats would merge large ones."""
    check_not_traced(name, values)
    array = np.asarray(values)
    return array if array.shape == (n,) and array.dtype.kind in "iu" else as_numbers(name, values, (n,))


def as_ids(name: str, values: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    check_not_traced(name, values)
    array = np.asarray(values)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold integer ids from 0, got {array.dtype}; `read` turns names into ids")
    if array.size and (array.min() < 0 or array.max() >= LAST_ID):
        fail_where(
            ((array < 0) | (array >= LAST_ID)).reshape(len(array), array.size // len(array)).any(axis=1),
            lambda row: f"{name} is {array[row]}; ids run from 0 to {LAST_ID - 1}",
        )
    return np.ascontiguousarray(array, dtype=np.int32)


def check_increasing(name: str, time: np.ndarray[Any, Any], advice: str) -> None:
    fail_where(
        np.concatenate([np.zeros(min(1, len(time)), bool), time[1:] < time[:-1]]),
        lambda row: f"{name} {time[row]} is earlier than {time[row - 1]} in the row before; {advice}",
    )
