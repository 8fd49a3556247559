"""The calibration slope: by what the log-odds of predictions should have been multiplied.

The scores s are regressed on the log-odds x of the predictions by a logistic regression, E s = sigmoid(a + b x) (Cox
1958, "Two further applications of a model for binary regression", Biometrika 45). With b = 1 predictions are as bold
as they should be, below 1 they are too bold, and above 1 too timid. The standard error is that of quasi-likelihood, so
that draws may count as half a win.
"""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.metrics.checked_match_metrics import check_and_select_samples, probability_clip_margin
from jaxrate.metrics.prediction_metrics import mirror_winner_first

MAX_NEWTON_STEPS = 50  # some six are usual
MAX_ABS_SLOPE = 1e3  # beyond it predictions separate wins from losses, and there is no slope


class CalibrationSlope(NamedTuple):
    """The slope of a logistic regression of scores on the log-odds of predictions; 1 is best."""

    slope: float | None  # None where all predictions are equal, or separate wins from losses
    error: float | None  # standard error; None without a slope


NO_SLOPE = CalibrationSlope(None, None)


def calibration_slope(prediction: Any, score: Any, *, weight: Any = None, mask: Any = None) -> CalibrationSlope:
    """How bold predictions are: 1 is right, below 1 is too bold, above 1 too timid.

        jr.metrics.calibration_slope(jr.run(jr.elo(), matches).prediction, matches.score)

    If the first player won every match, each counts from both sides.

    Args:
      prediction: [n] expected scores of player 0, or predictions in full.
      score: [n] of player 0, in [0, 1].
      weight: [n] of the matches. None: they count alike.
      mask: [n] boolean, of the matches to score. None: all.

    Raises:
      ValueError: as other metrics do.
    """
    samples = check_and_select_samples(prediction, score, weight, mask)
    is_mirrored = bool((samples[1] == 1).all())
    p, s, w = mirror_winner_first(*samples)
    margin = probability_clip_margin(prediction)
    p = np.clip(p, margin, 1.0 - margin)
    log_odds = np.log(p) - np.log1p(-p)
    design = np.stack([np.ones(len(p)), log_odds], axis=1)
    coefficients = np.array([0.0, 1.0])
    if np.ptp(log_odds[w > 0]) == 0.0:
        return NO_SLOPE
    for _ in range(MAX_NEWTON_STEPS):
        slope, curvature = _slope_and_curvature(design, s, w, coefficients)
        if not np.linalg.cond(curvature) < 1e12:
            return NO_SLOPE
        step = np.linalg.solve(curvature, slope)
        size = min(1.0, 4.0 / max(float(np.abs(step).max()), 1e-300))  # far from the root steps would be too long
        coefficients = coefficients + size * step
        if np.abs(coefficients[1]) > MAX_ABS_SLOPE:
            return NO_SLOPE
        if np.abs(step).max() < 1e-10:
            break
    slope, curvature = _slope_and_curvature(design, s, w, coefficients)
    residual = w * (s - _sigmoid(design @ coefficients))
    scores = design * residual[:, None]
    if is_mirrored:  # both sides of a match are one
        scores = scores[: len(p) // 2] + scores[len(p) // 2 :]
    inverse = np.linalg.inv(curvature)
    covariance = inverse @ (scores.T @ scores) @ inverse
    return CalibrationSlope(float(coefficients[1]), float(np.sqrt(covariance[1, 1])))


def _slope_and_curvature(
    design: HostArray, score: HostArray, weight: HostArray, coefficients: HostArray
) -> tuple[HostArray, HostArray]:
    """The slope [2] of the log-likelihood, and minus its curvature [2, 2]."""
    p = _sigmoid(design @ coefficients)
    return design.T @ (weight * (score - p)), (design * (weight * p * (1.0 - p))[:, None]).T @ design


def _sigmoid(x: HostArray) -> HostArray:
    return 1.0 / (1.0 + np.exp(-np.clip(x, -700.0, 700.0)))
