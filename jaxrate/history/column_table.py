"""Columns that print as a table, in a terminal and in a notebook, and results that do so."""

import html
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_decimals, format_html_table, format_number, format_table, rating_decimals
from jaxrate.data.table_writing import to_frame, to_numpy_columns

LEFT_ALIGNED_COLUMNS = "player", "a", "b", "opponent", "winner", "loser", "contest", "side", "result", "team"
PROBABILITY_COLUMNS = re.compile(
    "win|draw|loss|over|both_score|expected|share|quality|probability.*|top_4|relegated|win_group|last_\\d+|.*final"
)
ODDS_COLUMNS = "odds_win", "odds_draw", "odds_loss"
EXPECTED_COLUMNS = "expected_score", "expected_points", "expected_rank"
RATINGS = "rating", "opponents_rating", "winners_rating", "losers_rating", "peak"
RATING_COLUMNS = *RATINGS, "strength", "deviation", "its_deviation", "hindsight", "performance", "change"


def table_to_pandas(table: Any) -> Any:
    """The table as a data frame of pandas; ImportError without pandas."""
    return to_frame(table, "pandas")


def table_to_json(table: Any) -> str:
    """The table in JSON: a list for each column by its name, dates as text, null for what is missing."""
    columns = table if isinstance(table, ColumnTable) else as_column_table(table)
    return json.dumps({name: _json_values(np.asarray(values)) for name, values in columns.items()}, ensure_ascii=False)


def as_column_table(table: Any) -> "ColumnTable":
    """The columns of a result as a `ColumnTable`."""
    return ColumnTable(to_numpy_columns(table, "s"))


def to_numbers_or_texts(values: Iterable[Any]) -> HostArray:
    """A column of values, of which None is NaN."""
    return np.array([np.nan if x is None else x for x in values])


class ColumnTable(dict[str, HostArray]):
    """Arrays of equal length by name. `print` shows a table, `jr.data.to_frame` makes a data frame.

    A column that is None is left out.
    """

    def __init__(self, columns: Mapping[str, HostArray | None]) -> None:
        super().__init__({name: x for name, x in columns.items() if x is not None})

    to_pandas, to_json = table_to_pandas, table_to_json

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, top: int | None = None) -> str:
        """The table as text, with the first `top` rows."""
        return format_table(*self.heads_and_cells(top), left_aligned=LEFT_ALIGNED_COLUMNS)

    def _repr_html_(self) -> str:
        return format_html_table(*self.heads_and_cells(), left_aligned=LEFT_ALIGNED_COLUMNS)

    def heads_and_cells(self, top: int | None = None) -> tuple[list[str], list[Any]]:
        """The heads, and the cells of the first `top` rows, as text for people."""
        rating = next((x for name, x in self.items() if name in RATINGS), None)
        cells = [_format_cells(name, np.asarray(values)[:top], rating) for name, values in self.items()]
        return [name.replace("_", " ") for name in self], [*zip(*cells, strict=True)]

    def drop_columns(self, *names: str) -> "ColumnTable":
        """The table without these columns."""
        return ColumnTable({name: values for name, values in self.items() if name not in names})

    def to_records(self) -> list[dict[str, Any]]:
        """A dict for each row, of what JSON can hold: dates as text, None for what is missing."""
        columns = {name: _json_values(np.asarray(values)) for name, values in self.items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


class PrintedResult(ABC):
    """What results have in common that print as a table, with lines above and below it; all are dataclasses."""

    max_printed_rows: ClassVar[int | None] = None
    left_aligned: ClassVar[tuple[str, ...]] = LEFT_ALIGNED_COLUMNS

    @abstractmethod
    def columns(self) -> ColumnTable:
        """The table as columns."""

    def heads_and_cells(self, top: int | None = None) -> tuple[list[str], list[Any]]:
        """The heads, and the cells of the first `top` rows, as text for people."""
        return self.columns().heads_and_cells(top)

    def summary_lines(self) -> list[str]:
        """The lines above the table."""
        return []

    def closing_lines(self) -> list[str]:
        """The lines below the table."""
        return []

    to_pandas, to_json = table_to_pandas, table_to_json

    @enforce_argument_annotations
    def table(self, top: int | None = None) -> str:
        """The table as text, with the first `top` rows."""
        return format_table(*self.heads_and_cells(top), left_aligned=self.left_aligned)

    def __repr__(self) -> str:
        return "\n".join([*self.summary_lines(), self.table(self.max_printed_rows), *self.closing_lines()])

    def _repr_html_(self) -> str:
        above, below = (
            f"<p>{'<br>'.join(map(html.escape, filter(None, lines)))}</p>" if lines else ""
            for lines in (self.summary_lines(), self.closing_lines())
        )
        cells = self.heads_and_cells(self.max_printed_rows)
        return above + format_html_table(*cells, left_aligned=self.left_aligned) + below

    def _replace(self, **changes: Any) -> Self:
        """The result with other fields."""
        return replace(self, **changes)  # type: ignore[type-var]


def _format_cells(name: str, values: HostArray, rating: HostArray | None) -> list[str]:
    """The values of a column as text; points have the decimals of the ratings, if there are ratings."""
    if values.dtype.kind == "M":
        unit = "D" if (values.astype("datetime64[D]") == values).all() else "m"
        texts = np.where(np.isnat(values), "", values.astype(f"datetime64[{unit}]").astype(str))
        return [text.replace("T", " ") for text in texts.tolist()]
    format_one = _number_format(name, values if rating is None else rating) if values.dtype.kind == "f" else str
    return ["" if x != x else format_one(x) for x in values]


def _number_format(name: str, ratings: HostArray) -> Callable[[Any], str]:
    """How the numbers of a column of this name are written, points as these ratings."""
    if name in RATING_COLUMNS:
        return partial(format_decimals, digits=rating_decimals(ratings[np.isfinite(ratings)]), signed=name == "change")
    if name == "goal_difference":
        return partial(format_decimals, digits=1, signed=True)
    if PROBABILITY_COLUMNS.fullmatch(name):
        return "{:.3f}".format
    digits = 2 if name in ODDS_COLUMNS else 1 if name in EXPECTED_COLUMNS else None
    return (lambda x: format_number(round(float(x), 3))) if digits is None else f"{{:.{digits}f}}".format


def _json_values(values: HostArray) -> list[Any]:
    missing: Any = None
    if values.dtype.kind == "M":
        return list(np.where(np.isnat(values), missing, values.astype(str)).tolist())
    if values.dtype.kind == "f":
        return list(np.where(np.isfinite(values), values, missing).tolist())
    return [x.decode(errors="replace") if isinstance(x, bytes) else x for x in values.tolist()]
