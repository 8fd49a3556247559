"""Metrics of predictions and rankings.

inversions.py             inversions: pairs of a permutation in the wrong order
pair_order.py             the errors of shares of pairs in order
prediction_metrics.py     metrics of predictions and of ratings, on the host and in float64
scored_ranking.py         participants in the order of their ranks and of their ratings, and how far these differ
running_metrics.py        metrics of predictions of matches, added up chunk by chunk
checked_match_metrics.py  metrics of samples that are checked
outcome_metrics.py        metrics of the probabilities of each result, as win, draw and loss
logistic_calibration.py   by what the log-odds of predictions should have been multiplied
online_slope.py           the same, learnt one match ahead
bookmaker_odds.py         probabilities from the odds of bookmakers
"""

from jaxrate.metrics.bookmaker_odds import probabilities_from_odds
from jaxrate.metrics.checked_match_metrics import Calibration
from jaxrate.metrics.logistic_calibration import CalibrationSlope, calibration_slope
from jaxrate.metrics.outcome_metrics import ranked_probability_score
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
