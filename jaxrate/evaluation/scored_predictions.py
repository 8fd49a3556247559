"""What forecasters are scored by: matches and events of two sides by their scores, contests of many by their order."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_decimals, join_names
from jaxrate.events.dataset import Dataset, count_first_share
from jaxrate.events.event_types import count_games, match_weights
from jaxrate.history.column_table import ColumnTable, to_numbers_or_texts
from jaxrate.history.event_columns import event_prediction_columns
from jaxrate.history.history import History
from jaxrate.metrics.prediction_metrics import (
    LogLossDifference,
    compare_log_loss,
    constant_log_loss,
    contests_as_matches,
    match_metrics,
    numbers_that_predict_order,
    ranking_metrics,
    right_order_shares,
)
from jaxrate.metrics.ranking_metrics import PairOrderDifference, compare_pair_order
from jaxrate.systems.system_construction_by_name import has_sides
from jaxrate.views.accuracy import MIN_MATCHES_FOR_CONSTANT

INTERVAL_ERRORS = 1.96  # standard errors to either side: 95%
LOSS_DIFFERENCE_HEAD = "log loss behind"

ForecasterKind: TypeAlias = Literal["system", "blend", "frequencies", "forecast", "odds", "trees"]


class ScoredForecaster(NamedTuple):
    """A system, or another forecaster, and how well it predicted: a row of a comparison or a benchmark."""

    name: str
    kind: ForecasterKind
    quality: dict[str, Any]  # metrics by name; None of what there is not
    log_loss_difference: LogLossDifference | None = None  # from the best system; None of contests of many
    pair_order_difference: PairOrderDifference | None = None  # the best system's less this, of contests of many
    system: Any = None  # the `RatingSystem`; None of other forecasters
    period: float | None = None  # the length of its rating periods; None: one event after the other
    speed: float | None = None  # matches or participations rated in a second, compiled; None: not measured
    weights: dict[str, float] | None = None  # in a blend: of each system, by its label
    scored: int = 0  # in a benchmark: matches of those that are scored which have a forecast
    slope_error: float | None = None  # in a benchmark: standard error of the calibration slope
    fit_seconds: float | None = None  # in a benchmark; None: it was not fitted
    memory: float | None = None  # in a benchmark: bytes at the peak of its fit and its run; None: unknown


class ScoringTarget(NamedTuple):
    """The results by which predictions of a history are scored: of two sides, or the order of contests of many."""

    data: Dataset
    num_past: int  # matches or contests before those that are scored
    row: Any  # of the prediction that is of the first side: [E], or a slice; None: contests of many
    score: HostArray  # [E] of the first side; [0] of contests of many
    weight: HostArray  # [E] 1 where matches have none
    num_outcomes: int = 2  # in a benchmark 3: win, draw and loss have probabilities

    @property
    def side(self) -> HostArray:
        """[E] 1 where the first player has the side, -1 where the second has, 0 where nobody has."""
        return np.asarray(self.data.matches.context.side) if has_sides(self.data) else np.zeros(len(self.score))

    @property
    def mask(self) -> HostArray:
        """[E] whether the match or contest is scored."""
        return np.arange(count_events(self.data)) >= self.num_past

    @property
    def participants_mask(self) -> HostArray:
        """[sum P] whether the contest of each participant is scored."""
        return np.repeat(self.mask, np.diff(self.data.events.start))

    def select_predictions(self, prediction: Any, rating: Any = None) -> HostArray:
        """[E] expected scores of first sides of predictions; of contests of many, [sum P] what orders participants."""
        expected = event_prediction_columns(prediction, self.data)["prediction"]
        if self.row is not None:
            return np.asarray(expected[self.row])
        return np.asarray(numbers_that_predict_order(self.data.rounds, expected, rating))

    def compute_metrics(self, prediction: HostArray, played: HostArray | None = None) -> dict[str, Any]:
        """The metrics of selected predictions by name; `played` as in `ranking_metrics`."""
        if self.row is not None:
            return match_metrics(prediction, self.score, weight=self.weight, mask=self.mask)
        return ranking_metrics(self.data.rounds, prediction, mask=self.participants_mask, played=played)

    def add_difference(self, row: ScoredForecaster, prediction: HostArray, best: HostArray) -> ScoredForecaster:
        """The row with its difference from the best system, by the selected predictions of both."""
        if self.row is not None:
            gap = compare_log_loss(prediction, best, self.score, weight=self.weight, mask=self.mask)
            return row._replace(log_loss_difference=gap)
        right_shares = partial(right_order_shares, self.data.rounds, mask=self.participants_mask)
        (right, count), (best_right, _) = map(right_shares, (prediction, best))
        return row._replace(pair_order_difference=compare_pair_order(best_right, right, count))


def loss_to_sort_by(row: ScoredForecaster) -> float:
    """The loss by which forecasters are sorted, least for the best; infinite without a forecast."""
    if "log loss" not in row.quality:
        return -(row.quality["pair inversion"] or 0.0)
    return math.inf if row.quality["log loss"] is None else float(row.quality["log loss"])


def make_scoring_target(data: Dataset, last: float = 1.0) -> ScoringTarget:
    """The last share of the events as what predictions are scored by."""
    num_past = max(count_first_share(count_events(data), 1 - last), 0)
    if data.of_matches:
        matches = data.matches
        return ScoringTarget(data, num_past, slice(None), matches.score, match_weights(matches))
    row, score = contests_as_matches(data.rounds) or (None, np.empty(0))
    return ScoringTarget(data, num_past, row, score, np.ones(len(score)))


def count_events(data: Dataset) -> int:
    """How many matches, or contests, there are."""
    return len(data.events.start) - 1


def check_last_share(last: float) -> None:
    """ValueError unless `last` is above 0 and at most 1."""
    if not 0 < last <= 1:
        raise ValueError(f"last must be above 0 and at most 1, got {last:g}")


def evaluate_predictions(rated: History, data: Dataset, last: float = 1.0) -> dict[str, Any]:
    """The metrics, by name, of the predictions of the last share of these events, the last ones rated."""
    target, begin = make_scoring_target(data, last), len(rated.events["row"]) - len(data.rows)
    played = rated.games - count_games(data.events, len(rated.games))
    selected = target.select_predictions(rated.events["prediction"][begin:], rated.events["rating"][begin:, 0])
    return target.compute_metrics(selected, played)


def describe_constant_forecast(data: Dataset, last: float, losses: Mapping[str, float]) -> tuple[list[str], list[str]]:
    """A note on the best constant forecast of the last share of many matches, or a warning if it has less than a loss.

    It is known only afterwards, and differences within chance count, too.
    """
    target = make_scoring_target(data, last)
    mask = target.mask
    if target.row is None or np.count_nonzero(mask) < MIN_MATCHES_FOR_CONSTANT:
        return [], []
    forecast = "A constant forecast, one half for all,"
    if has_sides(data):
        forecast = "The best constant forecast, which gives whoever has the side the same chance,"
    constant = constant_log_loss(target.score[mask], target.side[mask], target.weight[mask])
    worse = [name for name, loss in losses.items() if loss > constant]
    if worse:
        return [], [f"{forecast} has log loss {constant:.4f}, less than {join_names(worse)}."]
    return [f"{forecast} has log loss {constant:.4f}."], []


def format_metric(metric: str, value: float | None) -> str:
    """A metric as text: in percent for accuracy and shares of ranks, else with four decimals."""
    if value is None:
        return "-"
    if metric.startswith("accuracy"):
        return f"{100 * value:.1f}%"
    if metric.startswith(("pair inversion", "rank deviation")):
        return f"{100 * value:.2f}%"
    return f"{value:.4f}"


def format_loss_difference(gap: LogLossDifference | None) -> str:
    """A difference with its 95% interval, as "+0.0013 ± 0.0018"; of one match without. Nothing for None."""
    if gap is None:
        return ""
    half_width = "" if gap.error is None else f" ± {INTERVAL_ERRORS * gap.error:.4f}"
    return f"{format_decimals(gap.difference, 4, signed=True)}{half_width}"


def select_nonempty_columns(rows: Sequence[dict[str, str]]) -> tuple[list[str], list[list[str]]]:
    """The names of the columns in which any row has a text, and the cells of each row."""
    head = [name for name in rows[0] if any(cells.get(name) for cells in rows)]
    return head, [[cells.get(name, "") for name in head] for cells in rows]


def make_forecaster_table(
    columns: dict[str, Any], rows: Sequence[ScoredForecaster], *, has_differences: bool
) -> ColumnTable:
    """These columns with those of the metrics of each row, and those of the differences from the best system."""
    columns |= {name: [x.quality.get(name) for x in rows] for name in rows[0].quality}
    if has_differences:
        gaps = [x.log_loss_difference or LogLossDifference(0.0, 0.0) for x in rows]
        columns |= {"behind": [x.difference for x in gaps], "behind_error": [x.error for x in gaps]}
    return ColumnTable({name.replace(" ", "_"): to_numbers_or_texts(values) for name, values in columns.items()})
