"""Metrics of predictions and rankings."""

from jaxrate.metrics.prediction_metrics import (
    LogLossDifference,
    accuracy,
    brier_score,
    calibration,
    compare_log_loss,
    contests_as_matches,
    experience_mask,
    log_loss,
    match_metrics,
    mirror_winner_first,
    pairwise_accuracy,
    rank_deviation,
    ranking_metrics,
)
from jaxrate.metrics.sample_metrics import Calibration

__all__ = [
    "Calibration",
    "LogLossDifference",
    "accuracy",
    "brier_score",
    "calibration",
    "compare_log_loss",
    "contests_as_matches",
    "experience_mask",
    "log_loss",
    "match_metrics",
    "mirror_winner_first",
    "pairwise_accuracy",
    "rank_deviation",
    "ranking_metrics",
]


def __dir__() -> list[str]:
    return __all__
