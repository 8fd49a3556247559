"""Metrics of predictions and rankings.

inversions.py             inversions: pairs of a permutation in the wrong order
prediction_metrics.py     metrics of predictions and of ratings, on the host and in float64
running_metrics.py        metrics of predictions of matches, added up chunk by chunk
checked_match_metrics.py  metrics of samples that are checked
"""

from jaxrate.metrics.checked_match_metrics import Calibration
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
