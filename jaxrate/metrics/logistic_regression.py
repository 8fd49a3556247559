"""Logistic regression of scores on log-odds, by Newton's method."""

from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray

MAX_NEWTON_STEPS = 100  # some six are usual
TOLERANCE = 1e-10  # of the last step
MAX_CONDITION = 1e12  # of the curvature: beyond it some combination of the columns says nothing
ROUNDING = 1e-12  # relative: of a loss
ARMIJO_SHARE = 0.25  # of the promised decrease that is enough
MIN_STEP_SHARE = 1e-6


def clipped_log_odds(probability: Any, margin: float) -> HostArray:
    """[...] log(p / (1 - p)) of probabilities that are kept so far from 0 and 1."""
    p = np.clip(np.asarray(probability, np.float64), margin, 1.0 - margin)
    return np.asarray(np.log(p) - np.log1p(-p))


def fit_logistic_regression(
    x: HostArray, score: HostArray, weight: HostArray, start: HostArray, precision: float = 0.0, centre: float = 0.0
) -> tuple[HostArray, HostArray] | None:
    """Coefficients b [K] with which 1 / (1 + exp(-x b)) predicts scores [n] best, and the curvature [K, K] there.

    None where columns x [n, K] or scores leave some combination open; the prior of b is normal, of this precision.
    """
    from scipy.special import expit  # type: ignore[import-untyped]  # which takes long to load

    def loss(b: HostArray) -> float:
        z = x @ b
        return float(weight @ (np.logaddexp(0.0, z) - score * z) + 0.5 * precision * np.sum((b - centre) ** 2))

    b, value = start, loss(start)
    for _ in range(MAX_NEWTON_STEPS):
        p = expit(x @ b)
        slope = x.T @ (weight * (p - score)) + precision * (b - centre)
        curvature = (x * (weight * p * (1.0 - p))[:, None]).T @ x + precision * np.eye(len(b))
        if not np.linalg.cond(curvature) < MAX_CONDITION:
            return None
        step = np.linalg.solve(curvature, slope)
        if np.abs(step).max() < TOLERANCE:
            return b - step, curvature
        size, decrease, rounding = 1.0, float(slope @ step), ROUNDING * abs(value)
        while loss(b - size * step) > value + rounding - ARMIJO_SHARE * size * decrease and size > MIN_STEP_SHARE:
            size *= 0.5
        b = b - size * step
        value = loss(b)
    return None
