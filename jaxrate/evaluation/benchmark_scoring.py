"""What forecasts of a benchmark are scored by: metrics, differences from the best system, and the worth of evidence."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.evaluation.benchmark_table import SLOPE, BenchmarkRow, FeatureWorth, RowKind
from jaxrate.metrics.logistic_calibration import NO_SLOPE, calibration_slope
from jaxrate.metrics.outcome_metrics import LossesByMatch, losses_by_match
from jaxrate.metrics.prediction_metrics import LogLossDifference, paired_difference


class Scoring(NamedTuple):
    """What predictions are scored by."""

    score: HostArray  # [n]
    weight: HostArray | None  # [n]
    num_past: int
    num_outcomes: int

    def pad(self, ahead: HostArray) -> HostArray:
        """[n, K] predictions of the scored matches alone, NaN before them."""
        return np.concatenate([np.full((self.num_past, ahead.shape[1]), np.nan), ahead])


class ScoredForecast(NamedTuple):
    """A row without its difference from the best, its predictions, and what it loses."""

    row: BenchmarkRow
    prediction: HostArray  # [n, K] probabilities of each result
    losses: LossesByMatch  # of the scored matches that it has
    has: HostArray  # [m] which of the scored matches it has


def score_forecast(name: str, kind: RowKind, prediction: HostArray, scoring: Scoring) -> ScoredForecast:
    """The metrics of a forecaster, whose predictions [n, K] are NaN where it has none."""
    ahead, score = prediction[scoring.num_past :], scoring.score[scoring.num_past :]
    has = np.asarray(~np.isnan(ahead).any(axis=1))
    weight = np.ones(len(score)) if scoring.weight is None else np.asarray(scoring.weight)[scoring.num_past :]
    if not has.any():
        names = ["log loss", "Brier score", *["RPS"] * (scoring.num_outcomes == 3), "accuracy", SLOPE]
        row = BenchmarkRow(name, kind, dict.fromkeys(names), None, 0, None)
        return ScoredForecast(row, prediction, LossesByMatch(*[np.empty(0)] * 4), has)
    p, s, w = ahead[has], score[has], weight[has]
    losses = losses_by_match(p if scoring.num_outcomes == 3 else p[:, 1], s)
    by_match = {"log loss": losses.log_loss, "Brier score": losses.brier_score}
    if losses.rps is not None:
        by_match["RPS"] = losses.rps
    by_match["accuracy"] = losses.accuracy
    quality: dict[str, Any] = {metric: float(np.average(x, weights=w)) for metric, x in by_match.items()}
    slope = NO_SLOPE
    if kind != "frequencies":  # which are two or three numbers
        slope = calibration_slope(p @ np.linspace(0.0, 1.0, p.shape[1]), s, weight=w)
    quality[SLOPE] = slope.slope
    return ScoredForecast(BenchmarkRow(name, kind, quality, slope.error, len(s), None), prediction, losses, has)


def compare_with_best(entry: ScoredForecast, best: ScoredForecast, scoring: Scoring) -> BenchmarkRow:
    """The row with its difference from the best system, on the matches that it has."""
    if entry is best or not entry.row.scored:
        return entry.row
    weight = None if scoring.weight is None else np.asarray(scoring.weight)[scoring.num_past :][entry.has]
    gap = paired_difference(entry.losses.log_loss, best.losses.log_loss[entry.has], weight)
    return entry.row._replace(log_loss_difference=LogLossDifference(*gap))


def feature_worth(without: Mapping[str, HostArray], trees: ScoredForecast, scoring: Scoring) -> list[FeatureWorth]:
    """What trees lose without each kind of evidence, the most valuable first."""
    worth = []
    for name, prediction in without.items():
        entry = score_forecast(name, "trees", scoring.pad(prediction), scoring)
        gap = compare_with_best(entry, trees, scoring).log_loss_difference
        assert gap is not None
        worth.append(FeatureWorth(name, gap))
    return sorted(worth, key=lambda x: -x.loss.difference)
