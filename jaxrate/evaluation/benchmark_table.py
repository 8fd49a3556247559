"""The table of a benchmark: systems, and the ceilings that they are measured by."""

import html
import json
import math
from typing import Any, Literal, NamedTuple

from jaxrate.core.memory_checks import format_bytes
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_html_table, format_table
from jaxrate.evaluation.comparison_table import INTERVAL_ERRORS, LOSS_DIFFERENCE_HEAD, format_loss_difference
from jaxrate.evaluation.scored_predictions import format_metric
from jaxrate.history.column_table import ColumnTable, table_to_pandas, to_numbers_or_texts
from jaxrate.metrics.prediction_metrics import LogLossDifference

RowKind = Literal["system", "blend", "frequencies", "forecast", "odds", "trees"]
SLOPE = "calibration slope"
TREES = "boosted trees"  # the row of those that see everything
TREES_ON_RATINGS = "boosted trees, ratings alone"
ROW_KINDS = {  # what rows are called in the column of their kind
    "system": "rating",
    "blend": "blend",
    "frequencies": "floor",
    "forecast": "forecast",
    "odds": "odds",
    "trees": "trees",
}
LEFT_ALIGNED = "forecaster", "kind"


class BenchmarkRow(NamedTuple):
    """A forecaster, and how good its forecasts of the scored matches are."""

    name: str
    kind: RowKind
    quality: dict[str, Any]  # metrics by name; None of a slope that there is not, and of no match
    slope_error: float | None  # standard error of the calibration slope
    scored: int  # matches of those that are scored which have a forecast
    log_loss_difference: LogLossDifference | None  # from the best system, on these; None of it, and of no match
    system: RatingSystem | None = None
    fit_seconds: float | None = None  # None: it was not fitted
    speed: float | None = None  # matches rated in a second, compiled
    memory: float | None = None  # bytes at the peak of its fit and its run; None: unknown


class FeatureWorth(NamedTuple):
    """What trees lose without a kind of evidence."""

    name: str
    loss: LogLossDifference  # log loss without it, less that with it


class Benchmark(NamedTuple):
    """How near ratings come to ceilings: a row for each forecaster. `print` shows the table.

    `rows` has the systems first, the best of them at the head, and then the others, the best first.
    """

    rows: list[BenchmarkRow]
    matches: int
    scored: int
    players: int
    outcomes: int  # 2: expected scores are scored; 3: win, draw and loss
    scored_on: str  # the scored matches, in words
    findings: list[str]  # sentences: how near the best system is to each ceiling, and where evidence is left
    notes: list[str]  # sentences on hyperparameters, and on how odds became probabilities
    left_out: dict[str, str]  # why systems were left out, by name
    worth: list[FeatureWorth]  # of what trees see beside the ratings, the most valuable first

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas."""
        return table_to_pandas(self)

    def to_json(self) -> str:
        """Everything in JSON: a record for each row."""
        return json.dumps(self.to_record(), ensure_ascii=False, allow_nan=False)

    def to_record(self) -> dict[str, Any]:
        """Everything as a dict of what JSON can hold, None for what is missing."""
        rows = [
            {
                "name": row.name,
                "kind": row.kind,
                **{name.replace(" ", "_"): _finite(x) for name, x in row.quality.items()},
                "calibration_slope_error": _finite(row.slope_error),
                "scored": row.scored,
                **_difference_record("behind", row.log_loss_difference),
                "fit_seconds": row.fit_seconds,
                "matches_per_second": row.speed,
                "memory_bytes": row.memory,
                "hyperparameters": None
                if row.system is None
                else {name: _finite(x) for name, x in row.system.params._asdict().items()},
            }
            for row in self.rows
        ]
        worth = [{"name": x.name, **_difference_record("lost_without", x.loss)} for x in self.worth]
        counts = {"matches": self.matches, "scored": self.scored, "players": self.players, "outcomes": self.outcomes}
        texts = {"findings": self.findings, "notes": self.notes, "left_out": self.left_out}
        return counts | {"rows": rows, "worth": worth} | texts

    def columns(self) -> ColumnTable:
        """The table as columns, of numbers; `behind_error` is the standard error of the difference `behind`."""
        names = [*self.rows[0].quality]
        columns: dict[str, Any] = {"forecaster": [x.name for x in self.rows], "kind": [x.kind for x in self.rows]}
        columns |= {name.replace(" ", "_"): [x.quality[name] for x in self.rows] for name in names}
        gaps = [x.log_loss_difference or LogLossDifference(0.0, 0.0) for x in self.rows]
        columns |= {"behind": [x.difference for x in gaps], "behind_error": [x.error for x in gaps]}
        columns["scored"] = [x.scored for x in self.rows]
        for name in ("fit_seconds", "speed", "memory"):
            columns[name] = [getattr(x, name) for x in self.rows]
        return ColumnTable({name: to_numbers_or_texts(values) for name, values in columns.items()})

    @property
    def head(self) -> list[str]:
        """The names of the columns."""
        counts, fits = ["scored"] * self._has_gaps, ["fit"] * self._is_fitted
        metrics = [*self.rows[0].quality, LOSS_DIFFERENCE_HEAD]
        return ["forecaster", "kind", *metrics, *counts, *fits, "matches/s", "memory"]

    @property
    def _has_gaps(self) -> bool:
        """Whether somebody has no forecast of some of the scored matches."""
        return any(row.scored != self.scored for row in self.rows)

    @property
    def _is_fitted(self) -> bool:
        return any(row.fit_seconds is not None for row in self.rows)

    @property
    def cells(self) -> list[list[str]]:
        """The cells of each row as text."""
        return [self._row_cells(row) for row in self.rows]

    def _row_cells(self, row: BenchmarkRow) -> list[str]:
        metrics = [
            ""
            if value is None
            else format_slope(value, row.slope_error)
            if name == SLOPE and row.slope_error is not None
            else format_metric(name, value)
            for name, value in row.quality.items()
        ]
        gap = "" if row.log_loss_difference is None else format_loss_difference(row.log_loss_difference)
        count = [f"{row.scored:,}"] * self._has_gaps
        fit = ["" if row.fit_seconds is None else f"{row.fit_seconds:.1f} s"] * self._is_fitted
        costs = [
            "" if row.speed is None else f"{row.speed:,.0f}",
            "" if row.memory is None else format_bytes(row.memory),
        ]
        return [row.name, ROW_KINDS[row.kind], *metrics, gap, *count, *fit, *costs]

    def __str__(self) -> str:
        table = format_table(self.head, self.cells, left_aligned=LEFT_ALIGNED)
        return "\n".join([table, "", *self.findings, "", self.scored_on, *self.notes])

    def _repr_html_(self) -> str:
        text = html.escape(" ".join([*self.findings, self.scored_on, *self.notes]))
        return format_html_table(self.head, self.cells, left_aligned=LEFT_ALIGNED) + f"<p>{text}</p>"


def format_slope(slope: float, error: float) -> str:
    """A calibration slope with its 95% interval."""
    return f"{slope:.2f} ± {INTERVAL_ERRORS * error:.2f}"


def _difference_record(name: str, gap: LogLossDifference | None) -> dict[str, Any]:
    if gap is None:
        return {}
    return {name: _finite(gap.difference), f"{name}_error": _finite(gap.error)}


def _finite(value: Any) -> Any:
    """A number as JSON can hold it; None if it is not finite, or is none."""
    number = None if value is None else float(value)
    return number if number is not None and math.isfinite(number) else None
