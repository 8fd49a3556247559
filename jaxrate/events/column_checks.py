"""Checks of columns: finite numbers, ids and increasing times; errors that name their row.

Times are numbers on the clock of the events as they are, and dates as days since 1970-01-01 in UTC.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, date, datetime
from typing import Any, TypeAlias

import numpy as np

from jaxrate.core.argument_checks import check_not_traced, check_that, is_number
from jaxrate.core.array_types import Array
from jaxrate.core.text_format import to_one_line
from jaxrate.events.event_types import LAST_ID

MAX_REPORTED_ROWS = 10  # bad rows that one message lists


class RowError(ValueError):
    """An error in one row of the data: `row`, counting from 0, and a `message`.

    `others` are further bad rows with their messages. At least `more` rows beyond those are bad, too.
    """

    def __init__(self, row: int, message: str, others: Sequence[tuple[int, str]] = (), more: int = 0) -> None:
        super().__init__(row, message, tuple(others), more)
        self.row, self.message, self.others, self.more = row, message, tuple(others), more

    @property
    def rows_and_messages(self) -> list[tuple[int, str]]:
        """The rows that the message lists, each with its own message."""
        return [(self.row, self.message), *self.others]

    def format_message(self, row_label: Callable[[int], str]) -> str:
        """The whole message, one line for each row, which `row_label(row)` begins.

        An advice, which is what follows the first semicolon of a message, is given once.
        """
        lines, given = list[str](), set[str]()
        for row, message in self.rows_and_messages:
            fault, _, advice = message.partition("; ")
            whole_names = not fault.count("'") % 2  # the semicolon is in no quoted name
            lines.append(f"{row_label(row)}: {to_one_line(fault if advice in given and whole_names else message)}")
            given.add(advice)
        if self.more:
            lines.append("... and others" if self.more == 1 else f"... and at least {self.more:,} others")
        return "\n  ".join(lines)

    def map_rows(self, transform: Callable[[int, str], tuple[int, str]]) -> "RowError":
        """The error with each row and message replaced by `transform(row, message)`."""
        (row, message), *others = (transform(row, message) for row, message in self.rows_and_messages)
        return RowError(row, message, others, self.more)

    def __str__(self) -> str:
        return self.format_message(lambda row: f"row {row} (counting from 0)")


def fail_where(bad: Any, describe_row: Callable[[int], str]) -> None:
    """Raise RowError if any row is `bad`; `describe_row(row)` is the message of a row."""
    if bad.any():
        rows = np.flatnonzero(bad)
        (row, message), *others = ((row, describe_row(row)) for row in rows[:MAX_REPORTED_ROWS].tolist())
        raise RowError(row, message, others, max(len(rows) - MAX_REPORTED_ROWS, 0))


@contextmanager
def rewrite_row_errors(rewrite: Callable[[int, str], tuple[int, str]]) -> Iterator[None]:
    """Errors about rows become those about the row and with the message that `rewrite(row, message)` returns."""
    try:
        yield
    except RowError as error:
        raise error.map_rows(rewrite) from None


def add_contest_to_errors(contest_label: Callable[[int], str]) -> AbstractContextManager[None]:
    """Errors about a row also name its contest, `contest_label(row)`."""
    return rewrite_row_errors(lambda row, message: (row, f"{message} ({contest_label(row)})"))


KIND_DESCRIPTIONS = {"U": "text", "S": "text", "O": "values that are no numbers", "M": "dates", "m": "durations"}


def as_array_of_shape(name: str, values: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The values as an array; ValueError if they have another shape, or are traced."""
    check_not_traced(name, values)
    array = np.asarray(values)
    check_that(array.shape == shape, f"{name} has shape {array.shape}, expected {shape}")
    return array


def to_checked_numbers(
    name: str, values: Any, shape: tuple[int, ...], allow_infinite: bool = False, allow_nan: bool = False
) -> np.ndarray[Any, Any]:
    """`values` as finite numbers of this shape; with `allow_infinite` also inf, with `allow_nan` also NaN."""
    array = as_array_of_shape(name, values, shape)
    if array.dtype.kind == "O" and all(isinstance(x, (bool, np.bool_)) or is_number(x) for x in array.flat):
        array = array.astype(np.float64)
    kind = KIND_DESCRIPTIONS.get(array.dtype.kind, array.dtype)
    check_that(array.dtype.kind in "biuf", f"{name} must hold numbers, got {kind}")
    bad = ~np.isfinite(array) & ~(allow_infinite & (array == np.inf)) & ~(allow_nan & np.isnan(array))
    fail_where(bad, lambda row: f"{name} is {array[row]}, not a finite number")
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def to_checked_numbers_keeping_integers(name: str, values: Any, n: int) -> np.ndarray[Any, Any]:
    """[n] numbers that serve as labels: integers stay integers, since floats would merge large ones."""
    array = as_array_of_shape(name, values, (n,))
    return array if array.dtype.kind in "iu" else to_checked_numbers(name, array, (n,))


def check_id_array(name: str, values: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Ids of this shape as int32; RowError for one out of range."""
    array = as_array_of_shape(name, values, shape)
    kind = KIND_DESCRIPTIONS.get(array.dtype.kind, array.dtype)
    are_ids = array.dtype.kind in "iu" or not array.size
    check_that(are_ids, f"{name} must hold integer ids from 0, got {kind}; `read` turns names into ids")
    if array.size and (array.min() < 0 or array.max() >= LAST_ID):
        fail_where(
            ((array < 0) | (array >= LAST_ID)).reshape(len(array), -1).any(axis=1),
            lambda row: f"{name} is {array[row]}; ids run from 0 to {LAST_ID - 1}",
        )
    return np.ascontiguousarray(array, dtype=np.int32)


def check_not_decreasing(name: str, time: np.ndarray[Any, Any], advice: str) -> None:
    fail_where(
        np.concatenate([np.zeros(min(1, len(time)), bool), time[1:] < time[:-1]]),
        lambda row: f"{name} {time[row]} is earlier than {time[row - 1]} in the row before; {advice}",
    )


MAX_ABS_TIME = 1e12  # times beyond it are taken for a mistake, such as milliseconds
TIME_RANGE_ADVICE = "is too far from 0; count in days, or in another unit that keeps numbers small"
DAY = np.timedelta64(1, "D")
MAX_ABS_DAYS = 1e8  # about as far as dates reach


def is_date(value: Any) -> bool:
    """Whether this is a date or a time of day on one, and not a number."""
    return isinstance(value, (str, date, np.datetime64))


def check_clock(clock: str | None, time: Any) -> None:
    """ValueError for a number where the events have dates, or a date where they have none."""
    if clock == "dates" and not is_date(time):
        raise ValueError(f"time {time!r} is no date, but the history has dates; give one, as 2026-05-31 in text")
    if clock != "dates" and is_date(time):
        so_far = "has no times" if clock is None else "counts time in numbers"
        raise ValueError(f"time {time} is a date, but the history {so_far}")


def as_event_time(name: str, value: Any) -> float:
    """A number, or a date as the number of days to its midnight, and with a time of day to that.

    Args:
      name: what errors call it.
      value: a number; ISO text, a `date`, a `datetime` (a pandas Timestamp is one) or a `np.datetime64`. Without a
        zone they are of UTC.

    Raises:
      ValueError: if it is none of these, not finite, or too far from 0.
    """
    check_not_traced(name, value, "give a number or a date; jr.scan and jr.ratings take traced times")
    try:
        if getattr(value, "ndim", 0) > 0:
            raise TypeError("an array")
        moment = _days_since_1970(value) if is_date(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number or a date, as 2026-05-31 in text, got {value!r}") from None
    if not np.isfinite(moment):
        raise ValueError(f"{name} must be finite, got {value}")
    if abs(moment) > MAX_ABS_TIME:
        raise ValueError(f"{name} {value} {TIME_RANGE_ADVICE}")
    return moment


def _days_since_1970(value: Any) -> float:
    if isinstance(value, str):
        if value[4:5] != "-":  # 20240131 reads as a number elsewhere
            raise ValueError
        value = datetime.fromisoformat(value)
    if getattr(value, "tzinfo", None) is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return float((np.datetime64(value) - np.datetime64(0, "D")) / DAY)


def as_event_times(values: Any, n: int) -> np.ndarray[Any, Any]:
    """[n] the times of events as numbers: dates of any kind as days. RowError where one is neither."""
    array = as_array_of_shape("time", values, (n,))
    if array.dtype.kind == "M":
        fail_where(np.isnat(array), lambda row: "time is missing")
        array = (array - np.datetime64(0, "D")) / DAY
    elif array.dtype.kind in "OU" and any(map(is_date, array.tolist())):
        array = np.array([_date_in_row_to_days(row, value) for row, value in enumerate(array.tolist())])
    time = to_checked_numbers("time", array, (n,))
    fail_where(np.abs(time) > MAX_ABS_TIME, lambda row: f"time {time[row]} {TIME_RANGE_ADVICE}")
    return time


def _date_in_row_to_days(row: int, value: Any) -> float:
    try:
        return as_event_time("time", value)
    except ValueError as error:
        raise RowError(row, str(error)) from None


SCORE_ADVICE = (
    "is outside [0, 1]; rescale it, or make it win, draw, loss; goals or points of both sides are the margin, as "
    "margin=['goals_a', 'goals_b']"
)
MIN_WEIGHT, MAX_WEIGHT = 1e-12, 1e12  # beyond, sums and squares of weights and noises leave the range of float32
MAX_ABS_COLUMN = 1e30  # of further columns, likewise
Complaint: TypeAlias = tuple[Callable[[Any], Any], str]  # which numbers are wrong, and why
EXTREME: Complaint = (lambda x: (x < MIN_WEIGHT) | (x > MAX_WEIGHT), f"is not from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}")
COMPLAINTS: dict[str, list[Complaint]] = {  # by the name of a column
    "score": [(lambda x: (x < 0) | (x > 1), SCORE_ADVICE)],
    "side": [(lambda x: np.abs(x) > 1, "is outside [-1, 1]")],
    "weight": [(lambda x: x <= 0, "is not above 0; remove the row"), EXTREME],
    "noise": [(lambda x: x <= 0, "is not above 0"), EXTREME],
}


def check_number_column(name: str, values: Any, n: int) -> np.ndarray[Any, Any]:
    """[n] scores, sides, weights or noises, in the range of these."""
    numbers = to_checked_numbers(name, values, (n,))
    for is_wrong, complaint in COMPLAINTS[name]:
        fail_where(is_wrong(numbers), lambda row: f"{name} {numbers[row]} {complaint}")  # noqa: B023
    return numbers


def check_further_columns(
    columns: Mapping[str, Any] | None, n: int, owner: str, reserved_names: tuple[str, ...]
) -> dict[str, Array] | None:
    """Checked further columns [n] of matches or participants, none of them called as a part of its owner; or None."""
    columns = {} if columns is None else columns
    if not isinstance(columns, Mapping):
        raise ValueError(f"columns must be a dict of arrays by name, got {columns!r}")
    for name in columns:
        check_that(isinstance(name, str), f"the name of a column must be text, got {name!r}")
        is_free = name not in reserved_names
        check_that(is_free, f"a column must not be called {name!r}, as a part of {owner} is; rename it")
    checked = {name: to_checked_numbers(f"column {name!r}", x, (n,), allow_nan=True) for name, x in columns.items()}
    for name, values in checked.items():
        is_extreme = np.abs(values) > MAX_ABS_COLUMN
        fail_where(is_extreme, lambda row: f"column {name!r} is {values[row]:g}, beyond {MAX_ABS_COLUMN:g}; rescale it")  # noqa: B023
    return checked or None


def check_category_ids_or_shares(values: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Ids of this shape, [n] or [n, 2], or shares [*shape, C]."""
    check_not_traced("category", values)
    array = np.asarray(values)
    if array.ndim != len(shape) + 1:
        return check_id_array("category", array, shape)
    if array.shape[:-1] != shape or array.dtype.kind not in "biuf":
        sizes = ", ".join(map(str, shape))
        want = f"({sizes}{',' * (len(shape) == 1)}) ids or ({sizes}, number of categories) shares"
        raise ValueError(f"category has shape {array.shape} and type {array.dtype}, expected {want}")
    share = array.astype(np.float64)
    off = ~((share >= 0).all(axis=-1) & (abs(share.sum(axis=-1) - 1.0) <= 1e-6))

    def say(row: int) -> str:
        which = np.argmax(off[row])
        whose, own = (f" of player {which}", share[row, which]) if len(shape) == 2 else ("", share[row])
        return f"the shares of categories{whose} are {own.tolist()}; they are from 0 and sum to 1"

    fail_where(off.reshape(shape[0], -1).any(axis=1), say)
    return share
