"""Metrics of samples that are checked: predictions, scores and weights [n] each, on the host and in float64."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import check_not_traced, to_floats
from jaxrate.core.array_types import HostArray
from jaxrate.events import RowError
from jaxrate.events.dataset import Dataset
from jaxrate.systems.outcome_prediction_forms import expected_score_from_prediction


class Calibration(NamedTuple):
    """Predictions in equal-width bins of [0, 1], and how far they were off."""

    predicted: HostArray  # [bins] mean prediction, NaN where empty
    observed: HostArray  # [bins] mean score, NaN where empty
    weight: HostArray  # [bins] number of matches, or their weight
    error: float  # expected calibration error: mean of |observed - predicted| by weight


def wilson_interval(share: Any, count: Any) -> tuple[Any, Any]:
    """Wilson's 95% intervals of probabilities, from the shares of events in which they came true."""
    spread = 1.96**2 / count
    middle = (share + 0.5 * spread) / (1.0 + spread)
    half_width = np.sqrt(spread * share * (1.0 - share) + 0.25 * spread**2) / (1.0 + spread)
    return np.minimum(middle - half_width, share), np.maximum(middle + half_width, share)


def probability_clip_margin(prediction: Any) -> float:
    """The distance from 0 and 1 at which predictions of this precision are clipped."""
    return 1e-15 if np.asarray(expected_score_from_prediction(prediction)).dtype == np.float64 else 2.0**-24


def weighted_log_loss(prediction_score_weight: tuple[HostArray, HostArray, HostArray], clip_margin: float) -> float:
    p, s, w = prediction_score_weight
    return float(np.average(log_losses_of_samples(p, s, clip_margin), weights=w))


def log_losses_of_samples(p: HostArray, s: HostArray, clip_margin: float) -> HostArray:
    p = np.clip(p, clip_margin, 1.0 - clip_margin)
    return -s * np.log(p) - (1.0 - s) * np.log1p(-p)


def brier_score_of_samples(samples: tuple[HostArray, HostArray, HostArray]) -> float:
    p, s, w = samples
    return float(np.average((p - s) ** 2, weights=w))


def accuracy_of_samples(samples: tuple[HostArray, HostArray, HostArray]) -> float:
    p, s, w = samples
    return float(np.average(np.where(p > 0.5, s, np.where(p < 0.5, 1.0 - s, 0.5)), weights=w))


def weighted_calibration_bins(
    prediction_score_weight: tuple[HostArray, HostArray, HostArray], bins: int
) -> Calibration:
    p, s, w = prediction_score_weight
    bin_index = np.minimum((p * bins).astype(np.int64), bins - 1)
    total, predicted, observed = (np.bincount(bin_index, x, bins) for x in (w, w * p, w * s))
    error = float(np.abs(observed - predicted).sum() / w.sum())
    with np.errstate(invalid="ignore"):
        return Calibration(predicted / total, observed / total, total, error)


def check_and_select_samples(
    prediction: Any, score: Any, weight: Any, mask: Any
) -> tuple[HostArray, HostArray, HostArray]:
    """The predictions, scores and weights under the mask, checked."""
    if hasattr(prediction, "predictions"):
        raise ValueError(
            "prediction must be [n] probabilities, not a rated history: give rated.predictions['prediction'] and "
            "rated.predictions['score']"
        )
    if isinstance(score, Dataset):
        raise ValueError("score must be [n] numbers, not a Dataset: give data.matches.score")
    for name, x in (
        ("prediction", expected_score_from_prediction(prediction)),
        ("score", score),
        ("weight", weight),
        ("mask", mask),
    ):
        check_not_traced(name, x, "a loss of what is traced is written with jax.numpy")
    p, s = to_floats("prediction", expected_score_from_prediction(prediction)), to_floats("score", score)
    w = np.ones(p.shape) if weight is None else to_floats("weight", weight)
    keep = np.ones(p.shape, bool) if mask is None else np.asarray(mask)
    if p.ndim != 1 or not p.shape == s.shape == w.shape == keep.shape:
        shapes = f"{p.shape}, {s.shape}, {w.shape} and {keep.shape}"
        raise ValueError(f"prediction, score, weight and mask must be [n] alike, got {shapes}")
    if keep.dtype != bool:
        raise ValueError(f"mask must be boolean, got {keep.dtype}")
    p, s, w = (p, s, w) if mask is None else (p[keep], s[keep], w[keep])
    for name, x, top in (("prediction", p, 1.0), ("score", s, 1.0), ("weight", w, np.inf)):
        bad = np.flatnonzero(~((x >= 0.0) & (x <= top) & (x < np.inf)))
        if bad.size:
            raise RowError(int(np.flatnonzero(keep)[bad[0]]), f"{name} is {x[bad[0]]}")
    if not w.sum() > 0:
        raise ValueError("no matches to score: the mask or the weights leave none")
    return p, s, w
