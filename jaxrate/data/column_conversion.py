"""Columns of tables: arrays of Arrow, and what they say as ids, numbers and flags.

A column is one chunked array from the door to the events. Where Arrow has no one type for its values they are text, and
what is missing is null, NaN too. What a cell says is asked of each different value once.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from numbers import Rational, Real
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import check_that
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.lookalike_names import has_lone_surrogates, unstorable_reasons_by_position
from jaxrate.data.table_sources import Column, TableSource, import_pyarrow
from jaxrate.events import RowError, fail_where

WHOLE_NUMBER = r"-?[0-9]{1,18}"  # in 64 bits
DECIMAL_COMMA = r"[-+]?(0,\d+|\d+,(\d{1,2}|\d{4,}))"
MAX_EXACT_FLOAT = 2.0**53  # of whole numbers
ARROW_TIME_UNITS = tuple((unit, 1) for unit in ("D", "s", "ms", "us", "ns"))
LIST_TYPES = list, np.ndarray, set, frozenset  # of cells with several values; sets in the order of their text


def to_column(name: str, values: Any) -> Column:
    """`values` [n] as an Arrow column, categoricals as values, NaN as missing, and as text where Arrow has no type."""
    arrow = import_pyarrow()
    kinds = arrow.types
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__") or getattr(values, "ndim", 1) != 1:
        raise ValueError(f"column {name!r} must be an array of one dimension or a list")
    column = values if isinstance(values, arrow.ChunkedArray) else _to_arrow(values)
    if column is None or isinstance(column.type, arrow.BaseExtensionType):
        column = _to_text(name, to_values(values))
    if kinds.is_dictionary(column.type) and column.num_chunks:
        column = arrow.chunked_array(
            [_to_large_arrow_type(chunk.dictionary).take(chunk.indices) for chunk in column.chunks]
        )
    if kinds.is_floating(column.type) and arrow.compute.any(is_nan := arrow.compute.is_nan(column)).as_py():
        column = arrow.compute.if_else(is_nan, None, column)
    return _to_large_arrow_type(column)


def load_columns(table: TableSource, names: Iterable[Any], text: Collection[Any] | None = None) -> dict[Any, Column]:
    """Columns of a table by name; those of `text`, or all, are text also where all their values are numbers."""
    wanted = [*dict.fromkeys(names)]
    loaded = table.load(wanted, wanted if text is None else text) if wanted else {}
    return {name: to_column(name, loaded[name]) for name in wanted}


def add_columns(table: TableSource, columns: Mapping[Any, Any]) -> TableSource:
    """The table with these columns, in place of those that it has of their names."""

    def load(wanted: Sequence[Any], text: Collection[Any] = ()) -> dict[Any, Any]:
        return {**columns, **load_columns(table, [name for name in wanted if name not in columns], text)}

    return table._replace(names=[*dict.fromkeys([*table.names, *columns])], load=load)


def _to_large_arrow_type(values: Any) -> Any:
    """Text and bytes of any kind as the one kind that all of Arrow's functions take; others as they are."""
    arrow = import_pyarrow()
    if arrow.types.is_string(values.type) or arrow.types.is_string_view(values.type):
        return values.cast(arrow.large_string())
    return values.cast(arrow.large_binary()) if arrow.types.is_binary_view(values.type) else values


def _to_arrow(values: Any) -> Any:
    """`values` as a chunked array; None if they are of several types, or of one that Arrow does not have."""
    arrow = import_pyarrow()
    is_loose = isinstance(values, (list, tuple)) or str(getattr(values, "dtype", "")) == "object"
    types = set(map(type, values)) - {type(None)} if is_loose else set[type]()
    if not _can_share_a_column(types):
        return None
    if types == {np.datetime64}:
        values = _to_time_array(values)
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        values = values if np.datetime_data(values.dtype) in ARROW_TIME_UNITS else values.astype("datetime64[s]")
    for convert in (lambda values: values, to_values):  # some arrays it knows only as lists
        with suppress(arrow.ArrowException, OverflowError, TypeError, UnicodeError):  # as of infinite Decimals
            array = arrow.array(convert(values))
            return array if isinstance(array, arrow.ChunkedArray) else arrow.chunked_array([array])
    return None


def _to_time_array(times: Sequence[Any]) -> HostArray:
    """Times of NumPy [n] and None as an array, in their unit; in seconds if they have several."""
    units = {time.dtype for time in times if time is not None and not np.isnat(time)}
    return np.array(times, units.pop() if len(units) == 1 else "datetime64[s]")  # of several NumPy takes the finest


def _can_share_a_column(types: set[type]) -> bool:
    """Whether values of these types may be one column: Arrow would take "x" for b"x", and a tuple for a list."""
    are_numbers = all(issubclass(kind, (int, float, np.number)) and kind is not bool for kind in types)
    return are_numbers or (len(types) == 1 and types.isdisjoint((tuple, set, frozenset)))


def _to_text(name: str, values: list[Any]) -> Column:
    """Values of any types as text; beside lists as lists of text. RowError where one has half a pair of surrogates."""
    arrow = import_pyarrow()
    texts = [_texts_in_cell(value) for value in values]
    fail_where(
        np.array([any(map(has_lone_surrogates, cell)) for cell in texts], bool),
        lambda row: f"column {name!r} is {format_value_for_error(values[row])}, which is no Unicode text",
    )
    if any(isinstance(value, LIST_TYPES) for value in values):
        return arrow.chunked_array([arrow.array(texts, arrow.list_(arrow.large_string()))])
    return arrow.chunked_array([arrow.array([next(iter(cell), None) for cell in texts], arrow.large_string())])


def _texts_in_cell(value: Any) -> list[str]:
    """The texts of the values that are not missing in a cell, which may be a list of them."""
    items = np.atleast_1d(value).tolist() if isinstance(value, np.ndarray) else value
    items = sorted(items, key=str) if isinstance(items, (set, frozenset)) else items
    items = items if isinstance(items, list) else [items]
    return [value_text(x) for x in items if not is_missing_value(x)]


def value_text(value: Any) -> str:
    """The text of a value: of whole numbers without a point, and of fractions as decimals."""
    with suppress(ValueError):  # of integers that are too long to show
        is_fraction = isinstance(value, Rational) and value.denominator != 1
        value = float(value) if is_fraction else value
        is_whole = isinstance(value, float) and value.is_integer() and abs(value) < MAX_EXACT_FLOAT
        return str(int(value)) if is_whole else str(value)
    return format_value_for_error(value)


def to_values(values: Any) -> list[Any]:
    """The values of a column, or of anything else with a length, as Python has them; far moments as whole numbers."""
    try:
        return list(values.to_pylist() if hasattr(values, "to_pylist") else getattr(values, "tolist", lambda: values)())
    except OverflowError:  # of moments beyond Python's calendar
        return list(values.cast(import_pyarrow().int64()).to_pylist())


def is_text(column: Column) -> bool:
    """Whether the values of a column are text."""
    return bool(import_pyarrow().types.is_large_string(column.type))


def is_numeric(column: Column) -> bool:
    """Whether the values of a column are numbers, by its type."""
    kinds = import_pyarrow().types
    return any(test(column.type) for test in (kinds.is_integer, kinds.is_floating, kinds.is_decimal))


def is_list(column: Column) -> bool:
    """Whether the cells of a column hold lists."""
    kinds = import_pyarrow().types
    return any(test(column.type) for test in (kinds.is_list, kinds.is_large_list, kinds.is_fixed_size_list))


def null_where(column: Column, mask: HostArray) -> Column:
    """The column with no value in the rows of a mask."""
    if not mask.any():
        return column
    # `if_else` of Arrow before 24 reads other memory where text is a part of a longer column
    return column.take(import_pyarrow().array(np.arange(len(column)), mask=mask))


def missing_mask(column: Column) -> HostArray:
    """[n] whether a value is missing."""
    return np.asarray(column.is_null().to_numpy()) if column.null_count else np.zeros(len(column), bool)


def is_missing_value(value: Any) -> bool:
    """Whether a value of any type is missing, or NaN."""
    with suppress(ArithmeticError, ValueError, TypeError):  # Decimal("sNaN"), and arrays
        return value is None or type(value).__name__ == "NAType" or bool(value != value)
    return False


def is_usable_as_name(value: Any) -> bool:
    """Whether a value of any type can be a name: it is hashable and not missing."""
    try:
        hash(value)
    except TypeError:  # of Decimal("sNaN"), too
        return False
    return not is_missing_value(value)


class DistinctCells(NamedTuple):
    """The different values in a column, and which of them each row has."""

    values: list[Any]
    codes: HostArray  # [n] their positions, -1 where a value is missing

    def map(self, function: Callable[[Any], Any], missing: Any) -> HostArray:
        """[n] the function of each value, `missing` where there is none; in the type of `missing`, None as NaN."""
        return np.array([*map(function, self.values), missing], np.asarray(missing).dtype)[self.codes]

    def merge(self, function: Callable[[Any], Any]) -> "DistinctCells":
        """The different values of a function of each value."""
        values = [*map(function, self.values)]
        positions = {value: position for position, value in enumerate(dict.fromkeys(values))}
        return DistinctCells([*positions], np.array([*map(positions.get, values), -1])[self.codes])


def distinct_cells(column: Column) -> DistinctCells:
    """The different values in a column; of lists, each as one of its own."""
    if import_pyarrow().types.is_nested(column.type) or not len(column):
        return DistinctCells(to_values(column), np.where(missing_mask(column), -1, np.arange(len(column))))
    encoded = column.dictionary_encode().combine_chunks()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return DistinctCells(to_values(encoded.dictionary), codes)


def distinct_texts(column: Column) -> DistinctCells:
    """The different texts of the cells of a column, in lower case and without blanks around them; of lists none."""
    return distinct_cells(column).merge(cell_text)


def text_mask(column: Column, is_so: Callable[[str], Any]) -> HostArray:
    """[n] whether a cell is text of which the function is true."""
    return distinct_cells(column).map(is_so, False) if is_text(column) else np.zeros(len(column), bool)


def cell_text(value: Any) -> str:
    """The text of a cell in lower case, without blanks around it; none of a list."""
    return "" if isinstance(value, (list, dict)) else str(value).strip().lower()


def cell_value(column: Column, row: int) -> Any:
    """The value in a row, as Python has it."""
    return to_values(column.slice(row, 1))[0]


def fail_at_cells(bad: HostArray, name: str, column: Column, complaint: str) -> None:
    """RowError with this complaint about the cells [n] that are bad."""
    fail_where(bad, lambda row: f"column {name!r} is {format_value_for_error(cell_value(column, row))}, {complaint}")


def check_no_missing_values(name: str, column: Column) -> None:
    """RowError at the missing values."""
    fail_where(missing_mask(column), lambda row: f"column {name!r} has no value")


def to_ids(
    names: Sequence[str], columns: Mapping[str, Column], existing_names: Any = None, subject: str = "players"
) -> tuple[HostArray, HostArray]:
    """Ids [n, columns] of the values in columns, and values by id: existing names, then others as they appear."""
    known = [] if existing_names is None or not len(existing_names) else [_known_names(existing_names, subject)]
    num_known = sum(map(len, known))
    parts = [*known, *(_to_name_column(name, columns[name], known, subject) for name in names)]
    code, values = _encode_values([subject] * len(known) + [*map(repr, names)], parts)
    code = np.append(code[:num_known], code[num_known:].reshape(len(names), -1).T)
    rank, values = _number_by_first_appearance(code, values)
    check_that(not (rank[:num_known] != np.arange(num_known)).any(), f"history has a name of {subject} twice")
    ids = rank[num_known:].reshape(-1, len(names))
    _check_storable_names(names, ids, values, subject)
    return ids, values


def _known_names(names: Any, subject: str) -> Column:
    """The names that have ids already; ValueError if one is missing or no text that can be stored."""
    try:
        column = to_column(subject, names)
    except RowError as error:  # whose row is none of the table
        raise ValueError(f"{subject}: {error.message}") from None
    check_that(not column.null_count, f"history has a name of {subject} missing")
    return column


def _to_name_column(name: str, column: Column, known: Sequence[Column], subject: str) -> Column:
    """A column of names; whole numbers become text, or text these, as the known names are: CSV has only text."""
    arrow = import_pyarrow()
    kinds = arrow.types
    check_no_missing_values(name, column)
    if kinds.is_nested(column.type):
        fail_at_cells(np.ones(len(column), bool), name, column, "which cannot be a name; write text or a number")
    if kinds.is_decimal(column.type):
        column = column.cast(arrow.large_string())
    if known and is_text(known[0]) and kinds.is_integer(column.type):
        return column.cast(arrow.large_string())
    if not (known and is_text(column) and kinds.is_integer(known[0].type)):
        return column
    is_whole = distinct_cells(column).map(lambda text: re.fullmatch(WHOLE_NUMBER, text) is not None, True)
    fail_at_cells(~is_whole, name, column, f"not a whole number, as the known {subject} are")
    return column.cast(arrow.int64())


def _encode_values(names: Sequence[str], columns: Sequence[Column]) -> tuple[HostArray, HostArray]:
    """Numbers of the values in columns of these names, one below the other, and the values by number."""
    arrow = import_pyarrow()
    types = {column.type for column in columns}
    if len(types) > 1 and all(map(arrow.types.is_integer, types)):
        columns = _to_int64_or_text(columns)
    elif len(types) > 1:
        held = [f"{name} holds {x.type}, as {cell_value(x, 0)!r}" for name, x in zip(names, columns, strict=True)]
        raise ValueError(f"columns must be of the same type, but {' and '.join(held)}")
    chunks = arrow.chunked_array([chunk for column in columns for chunk in column.chunks]).dictionary_encode().chunks
    code = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in chunks])
    return code, chunks[0].dictionary.to_numpy(zero_copy_only=False)  # all chunks share it


def _to_int64_or_text(columns: Sequence[Column]) -> list[Column]:
    """Columns of whole numbers, as text where some need 64 bits and have no sign."""
    arrow = import_pyarrow()
    with suppress(arrow.ArrowInvalid):
        return [column.cast(arrow.int64()) for column in columns]
    return [column.cast(arrow.large_string()) for column in columns]


def _number_by_first_appearance(code: HostArray, values: HostArray) -> tuple[HostArray, HostArray]:
    """Numbers [n] and the values by number, with the numbers in the order in which they appear first."""
    position = np.arange(len(code))
    first = np.empty(len(values), np.int64)
    first[code[::-1]] = position[::-1]  # the last assignment stands: where each value appears first
    order = code[first[code] == position]
    rank = np.empty(len(values), np.int32)
    rank[order] = np.arange(len(values))
    return rank[code], values[order]


def _check_storable_names(names: Sequence[str], ids: HostArray, values: HostArray, subject: str) -> None:
    """ValueError if a table cannot hold one of the values [n] that the ids [rows, columns] stand for; names the row."""
    for number, reason in unstorable_reasons_by_position(values).items():
        is_bad, fault = ids == number, f"{format_value_for_error(values[number])}, which {reason}"
        fail_where(is_bad.any(axis=1), lambda row: f"column {names[int(np.argmax(is_bad[row]))]!r} is {fault}")  # noqa: B023
        raise ValueError(f"{subject} has {fault}")


def numbers_or_nan(column: Column) -> HostArray:
    """[n] the numbers in a column, of any type, which text may say; true is 1. NaN where a cell holds none."""
    arrow = import_pyarrow()
    if is_text(column):
        with suppress(arrow.ArrowInvalid):
            column = column.cast(arrow.float64())
    if is_numeric(column) or arrow.types.is_boolean(column.type) or arrow.types.is_null(column.type):
        return np.asarray(column.cast(arrow.float64(), safe=False).to_numpy())
    return distinct_cells(column).map(cell_number, np.nan)


def to_numbers(name: str, column: Column, default: float | None = None) -> HostArray:
    """[n] the numbers in a column; `default` where a value is missing, or without one RowError. RowError for others."""
    if default is None:
        check_no_missing_values(name, column)
    values = numbers_or_nan(column)
    fail_at_cells(np.isnan(values) & ~missing_mask(column), name, column, "not a number")
    return values if default is None else np.where(np.isnan(values), default, values)


def cell_number(value: Any) -> float | None:
    """The number in a cell or its text: true is 1, 55% is 0.55. None if it is none, or too large, or as "1,234"."""
    if not isinstance(value, str):
        return to_float_or_none(value)
    text = {"true": "1", "false": "0"}.get(cell_text(value), value.strip())
    number, divisor = (text[:-1].rstrip(), 100.0) if text.endswith("%") else (text, 1.0)
    number = number.replace(",", ".") if re.fullmatch(DECIMAL_COMMA, number) else number
    with suppress(ValueError):
        return float(number) / divisor if number.isascii() and "_" not in number else None
    return None


def to_float_or_none(value: Any) -> float | None:
    """The value as a float; None if it is no number, or too large."""
    with suppress(OverflowError, ValueError):  # 10**400, and Decimal("sNaN")
        is_number = isinstance(value, (Real, Decimal)) and not isinstance(value, np.timedelta64)  # a Real to NumPy
        return float(value) if is_number else None
    return None


def to_flags(name: str, column: Column) -> HostArray:
    """[n] whether a flag is true: true or 1, where false or 0 are the others."""
    values = to_numbers(name, column)
    unclear = (values != 0) & (values != 1)
    fail_where(unclear, lambda row: f"column {name!r} is {values[row]}, expected true or false, 1 or 0")
    return np.asarray(values == 1)
