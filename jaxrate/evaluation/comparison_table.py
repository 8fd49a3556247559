"""The table of a comparison of systems, with its notes."""

import html
from typing import Any, NamedTuple

from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_html_table, format_number, format_table
from jaxrate.evaluation.scored_predictions import format_metric
from jaxrate.history.column_table import ColumnTable, table_to_json, table_to_pandas, to_numbers_or_texts
from jaxrate.metrics.pair_order import PairOrderDifference
from jaxrate.metrics.prediction_metrics import LogLossDifference

LOSS_DIFFERENCE_HEAD = "log loss behind"
LOSS_DIFFERENCE_NOTE = "Log loss behind: that of a system less the best one's, with its 95% interval."
INTERVAL_ERRORS = 1.96  # standard errors to either side: 95%


class SystemResult(NamedTuple):
    """The metrics of one system, by match or in periods."""

    name: str
    period: float | None  # the length of its rating periods; None: one event after the other
    system: RatingSystem
    quality: dict[str, Any]  # metrics by name
    speed: float | None  # matches or participations rated in a second; None: not measured
    log_loss_difference: LogLossDifference | None  # from the best system; None of contests of many
    pair_order_difference: PairOrderDifference | None = None  # the best one's less this, of contests of many


class BlendWeightsAndMetrics(NamedTuple):
    """The metrics of the blend of all systems, see `blend_systems`."""

    weights: dict[str, float]  # by the name of each, and the length of its periods where there are any
    quality: dict[str, Any]  # metrics by name
    log_loss_difference: LogLossDifference  # from the best system


class PublishedForecast(NamedTuple):
    """The metrics of forecasts of the same events that others have published."""

    name: str
    quality: dict[str, Any]  # metrics by name
    log_loss_difference: LogLossDifference  # from the best system


class Comparison(NamedTuple):
    """How systems predicted the same events, the best first, and their blend. `print` shows a table."""

    results: list[SystemResult]
    counts: dict[str, int]  # of matches, or of contests and participations
    players: int
    scored: int  # number of matches or contests, the last ones, that were scored
    scored_on: str  # the scored events, in words
    notes: list[str]  # sentences on hyperparameters and on data that systems do not use
    left_out: dict[str, str]  # why systems were left out, by name
    blend: BlendWeightsAndMetrics | None  # of two or more, of matches; None of others
    published: tuple[PublishedForecast, ...] = ()

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas."""
        return table_to_pandas(self)

    def to_json(self) -> str:
        """The table in JSON: a list for each column by its name."""
        return table_to_json(self)

    def columns(self) -> ColumnTable:
        """The table as columns, of numbers: a row for each result, one for the blend, and those of published forecasts.

        `behind_error` is the standard error of the difference `behind`.
        """
        results = self.results
        columns: dict[str, Any] = {"system": [x.name for x in results]}
        if any(x.period is not None for x in results):
            columns["period"] = [x.period for x in results]
        columns |= {name: [x.quality[name] for x in results] for name in results[0].quality}
        if self.has_differences:
            gaps = [x.log_loss_difference for x in results]
            columns["behind"] = [None if x is None else x.difference for x in gaps]
            columns["behind_error"] = [None if x is None else x.error for x in gaps]
        others = [] if self.blend is None else [("blend", self.blend.quality, self.blend.log_loss_difference)]
        others += [(x.name, x.quality, x.log_loss_difference) for x in self.published]
        rows = [
            {"system": f"({name})", "behind": gap.difference, "behind_error": gap.error} | quality
            for name, quality, gap in others
        ]
        columns = {name: [*values, *(x.get(name) for x in rows)] for name, values in columns.items()}
        return ColumnTable({name.replace(" ", "_"): to_numbers_or_texts(values) for name, values in columns.items()})

    @property
    def about(self) -> str:
        """The caption: the scored events and the notes."""
        return " ".join([self.scored_on, *self.notes])

    @property
    def head(self) -> list[str]:
        """The names of the columns."""
        forms = ["form"] * any(result.period is not None for result in self.results)
        speeds = [f"{[*self.counts][-1]}/s"] * (self.results[0].speed is not None)
        return ["system", *forms, *self.results[0].quality, *[LOSS_DIFFERENCE_HEAD] * self.has_differences, *speeds]

    @property
    def has_differences(self) -> bool:
        """Whether there is a column of differences."""
        return len(self.results) > 1 and self.results[0].log_loss_difference is not None

    @property
    def rows(self) -> list[list[str]]:
        """The cells of each row as text."""
        rows = []
        for result in self.results:
            form = "by match" if result.period is None else f"periods of {format_number(result.period)}"
            rows.append([result.name, *[form] * ("form" in self.head)])
            rows[-1] += [format_metric(*measure) for measure in result.quality.items()]
            if self.has_differences and result.log_loss_difference is not None:
                rows[-1] += [format_loss_difference(result.log_loss_difference) if len(rows) > 1 else "best"]
            rows[-1] += [] if result.speed is None else [f"{result.speed:,.0f}"]
        others = [(x.name, x.quality, x.log_loss_difference) for x in self.published]
        if self.blend is not None:
            others.insert(0, ("blend", self.blend.quality, self.blend.log_loss_difference))
        for name, quality, difference in others:
            rows.append([f"({name})", *[""] * ("form" in self.head)])
            rows[-1] += [format_metric(*measure) for measure in quality.items()]
            rows[-1] += [format_loss_difference(difference)] * self.has_differences
            rows[-1] += [""] * (len(self.head) - len(rows[-1]))
        return rows

    def __str__(self) -> str:
        return "\n".join([format_table(self.head, self.rows, left_aligned=("system", "form")), "", *self.notes])

    def _repr_html_(self) -> str:
        return (
            format_html_table(self.head, self.rows, left_aligned=("system", "form"))
            + f"<p>{html.escape(self.about)}</p>"
        )


def format_loss_difference(gap: LogLossDifference) -> str:
    """A difference with its 95% interval, as "+0.0013 ± 0.0018"; of one match without."""
    half_width = "" if gap.error is None else f" ± {INTERVAL_ERRORS * gap.error:.4f}"
    return f"{gap.difference:+.4f}{half_width}"


def system_result_label(result: SystemResult) -> str:
    """The name of a system, with the length of its periods."""
    return result.name if result.period is None else f"{result.name}, periods of {format_number(result.period)}"
