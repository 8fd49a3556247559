"""Columns that print as a table, in a terminal and in a notebook."""

import json
import re
from typing import Any

import numpy as np

from jaxrate.data.tables import Values
from jaxrate.data.writing import frame, to_numpy_columns
from jaxrate.text import decimals, html_table, number, table

LEFT = "player", "a", "b", "opponent", "winner", "loser", "contest", "side", "result", "team"
CHANCES = re.compile("win|draw|loss|expected|share|quality|probability.*|top_4|relegated|win_group|last_\\d+|.*final")
ODDS = "odds_win", "odds_draw", "odds_loss"
RATINGS = "rating", "opponents_rating", "winners_rating", "losers_rating", "strength", "deviation", "change"


def table_to_pandas(table: Any) -> Any:
    """The table as a data frame of pandas; ImportError without pandas."""
    return frame(table, "pandas")


def table_to_json(table: Any) -> str:
    """The table in JSON: a list for each column by its name, dates as text, null for what is missing."""
    columns = table if isinstance(table, Columns) else as_column_table(table)
    return json.dumps({name: _plain(np.asarray(values)) for name, values in columns.items()}, ensure_ascii=False)


def as_column_table(table: Any) -> "Columns":
    """The columns of a result that prints as a table."""
    return Columns(to_numpy_columns(table, "s"))


class Columns(dict[str, Values]):
    """Arrays of equal length by name. `print` shows a table; `pandas.DataFrame`, or `jr.frame`, makes a data frame."""

    to_pandas, to_json = table_to_pandas, table_to_json

    def __str__(self) -> str:
        return self.text()

    def text(self, top: int | None = None) -> str:
        """The table of the first rows."""
        return table(*self.shown(top), left=LEFT)

    def _repr_html_(self) -> str:
        return html_table(*self.shown(), left=LEFT)

    def shown(self, top: int | None = None) -> tuple[list[str], list[Any]]:
        """The heads, and the first rows, as people read them."""
        cells = [_cells(name, np.asarray(values)[:top]) for name, values in self.items()]
        return [name.replace("_", " ") for name in self], [*zip(*cells, strict=True)]

    def without(self, *names: str) -> "Columns":
        """All other columns."""
        return Columns({name: values for name, values in self.items() if name not in names})

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each row, of what JSON can hold: dates as text, None for what is missing."""
        columns = {name: _plain(np.asarray(values)) for name, values in self.items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _cells(name: str, values: Values) -> list[str]:
    if values.dtype.kind == "M":
        whole = values.astype("datetime64[D]") == values
        text = values.astype("datetime64[D]") if whole.all() else values.astype("datetime64[m]")
        return ["" if np.isnat(x) else str(x).replace("T", " ") for x in text]
    if values.dtype.kind != "f":
        return [str(x) for x in values]
    if CHANCES.fullmatch(name):
        form = ".3f"
    elif name in ODDS:
        form = ".2f"
    elif name in RATINGS:
        form = f"{'+' if name == 'change' else ''}.{decimals(values[np.isfinite(values)])}f"
    elif name in ("expected_score", "expected_points", "expected_rank"):
        form = ".1f"
    else:
        return ["" if x != x else number(round(float(x), 3)) for x in values]
    return ["" if x != x else format(x, form) for x in values]


def _plain(values: Values) -> list[Any]:
    if values.dtype.kind == "M":
        return [None if np.isnat(x) else str(x) for x in values]
    if values.dtype.kind == "f":
        return [float(x) if np.isfinite(x) else None for x in values]
    return [x.decode(errors="replace") if isinstance(x, bytes) else x for x in values.tolist()]
