"""Metrics of predictions and rankings.

ranking_metrics.py      participants in the order of their ranks and of their ratings, and how far these differ
prediction_metrics.py   metrics of predictions and of ratings, and their sums, added up chunk by chunk
calibration_slopes.py   by what the log-odds of predictions should have been multiplied
logistic_regression.py  coefficients by which numbers predict scores
bookmaker_odds.py       probabilities from the odds of bookmakers
"""

from jaxrate.metrics.bookmaker_odds import probabilities_from_odds
from jaxrate.metrics.calibration_slopes import CalibrationSlope, calibration_slope
from jaxrate.metrics.prediction_metrics import (
    Calibration,
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
    ranked_probability_score,
    ranking_metrics,
)

__all__ = [
    "Calibration",
    "CalibrationSlope",
    "LogLossDifference",
    "accuracy",
    "brier_score",
    "calibration",
    "calibration_slope",
    "compare_log_loss",
    "contests_as_matches",
    "experience_mask",
    "log_loss",
    "match_metrics",
    "mirror_winner_first",
    "pairwise_accuracy",
    "probabilities_from_odds",
    "rank_deviation",
    "ranked_probability_score",
    "ranking_metrics",
]


def __dir__() -> list[str]:
    return __all__
