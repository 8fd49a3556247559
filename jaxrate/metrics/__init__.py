"""How good predictions and rankings are."""

from jaxrate.metrics.prediction_metrics import (
    Calibration,
    LogLossDifference,
    accuracy,
    brier,
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
    "brier",
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
