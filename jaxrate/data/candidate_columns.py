"""Columns that may have a role: loaded once, and whether their contents suit it."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.text_format import did_you_mean_suffix
from jaxrate.data.column_conversion import missing_mask, to_column, to_flags, to_float_or_none, to_numbers
from jaxrate.data.date_parsing import is_time_column
from jaxrate.data.result_parsing import MIN_READABLE_SHARE, parse_partly_numeric_results, replace_na_values
from jaxrate.data.table_sources import Column, TableSource, import_pyarrow


class CandidateColumns(NamedTuple):
    """Columns whose values are looked at."""

    results: list[str]
    points: list[tuple[str, str]]
    goals: list[tuple[str, str]]  # of the points, those of the match itself for sure
    times: list[str]
    neutral: list[str]
    side: list[str]


def load_columns_to_inspect(
    table: TableSource, inspected: CandidateColumns, unsure: bool, player_columns: list[Any]
) -> dict[str, Column]:
    """The columns to look at, of a single reading; none if nothing has to be looked at."""
    numbers = [*inspected.times, *(name for pair in inspected.points for name in pair), *inspected.neutral]
    text = [*filter(None, player_columns), *inspected.results, *inspected.side]
    if not (unsure or inspected.results or inspected.points or inspected.neutral or inspected.side):
        return {}
    names = list(dict.fromkeys([*text, *numbers]))
    if any(name not in table.names or table.names.count(name) > 1 for name in names):
        return {}
    loaded = table.load(names, text, numbers)
    return {name: to_column(name, loaded[name]) for name in names}


def table_with_loaded_columns(table: TableSource, columns: dict[str, Column]) -> TableSource:
    if not columns:
        return table

    def load(wanted: Sequence[str], text: Sequence[str], numbers: Sequence[str]) -> Any:
        others = [name for name in wanted if name not in columns]
        loaded = (
            table.load(others, [x for x in text if x in others], [x for x in numbers if x in others]) if others else {}
        )
        return columns | {name: loaded[name] for name in others}

    return table._replace(load=load)


def is_numeric_column(name: str, column: Column) -> bool:
    with suppress(ValueError):
        to_numbers(name, column, default=np.nan)
        return True
    return False


def is_mostly_numeric(column: Column, na_values: Sequence[str]) -> bool:
    """Whether at least `MIN_READABLE_SHARE` of the rows that are not missing are numbers."""
    column = replace_na_values(column, na_values)
    if is_numeric_column("", column):
        return True
    present = ~missing_mask(column, nan_is_missing=True)
    if isinstance(column, np.ndarray):
        readable = np.array([to_float_or_none(value) is not None for value in column])
    elif (partly := parse_partly_numeric_results(column)) is not None:
        readable = partly.readable
    else:
        return False
    return bool(np.count_nonzero(readable & present) >= max(MIN_READABLE_SHARE * np.count_nonzero(present), 1))


def is_flag_column(name: str, column: Column) -> bool:
    with suppress(ValueError):
        to_flags(name, column)
        return True
    return False


def missing_score_message(table: TableSource, known: Sequence[Any]) -> str:
    """What to name where no column of a table has the result of its matches; `known` columns have other roles."""
    others = [name for name in table.names if name not in known and table.names.count(name) == 1]
    loaded = table.load(others, [], others)
    numeric = [name for name in others if is_numeric_column(name, to_column(name, loaded[name]))]
    if len(numeric) == 2:
        x, y = numeric
        hint = f"; if {x} and {y} are the points of both, name them as margin=[{x!r}, {y!r}]"
    else:
        hint = did_you_mean_suffix("score", others) if len(numeric) < 2 else ""
        hint = hint or "; name that of the results as score, or those of the points of both as margin"
    return f"no column 'score'{hint} (there are: {', '.join(map(str, table.names))})"


def date_columns(table: TableSource, used: Collection[str], dates: str | None) -> list[str]:
    """The columns, other than those used, that hold dates, as far as their first values tell; of numbers none."""
    arrow, names = import_pyarrow(), []
    unused = [name for name in table.names if name not in used and table.names.count(name) == 1]
    for name, values in table.first_values(unused).items() if unused else ():
        with suppress(ValueError):
            column = to_column(name, values)
            if isinstance(column, np.ndarray) or not len(column := column.drop_null()):
                continue
            kinds, first = arrow.types, column[0].as_py()
            is_text = kinds.is_large_string(column.type) and not first.strip().isdecimal()
            if (is_text or kinds.is_date(column.type) or kinds.is_timestamp(column.type)) and is_time_column(
                name, column, dates
            ):
                names.append(name)
    return names
