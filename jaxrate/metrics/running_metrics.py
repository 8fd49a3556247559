"""How well matches were predicted, added up chunk by chunk."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.metrics.prediction_metrics import _accuracy, _brier, _calibration, _clip_margin, _log_loss, _select_samples
from jaxrate.types import HostArray

CALIBRATION_BINS = 10


class MetricSums(NamedTuple):
    """Sums over matches by weight; a mean is one of them by `weight`."""

    weight: float = 0.0
    losses: tuple[float, ...] = (0.0, 0.0, 0.0)  # of the log loss, the Brier score and the accuracy
    above: tuple[float, ...] = (0.0,) * CALIBRATION_BINS  # in each bin of the calibration, scores less predictions
    other: tuple[float, ...] | None = (
        0.0,
    ) * CALIBRATION_BINS  # of the second players; None unless the first won every match


def add_matches(metric_sums: MetricSums, prediction: Any, score: Any, weight: Any = None) -> MetricSums:
    """The sums with those of further matches."""
    columns = p, s, w = _select_samples(prediction, score, weight, None)
    total = float(w.sum())
    losses = _log_loss(columns, _clip_margin(prediction)), _brier(columns), _accuracy(columns)
    other = metric_sums.other if (s == 1).all() else None
    return MetricSums(
        metric_sums.weight + total,
        tuple(x + total * y for x, y in zip(metric_sums.losses, losses, strict=True)),
        _add_calibration_bins(metric_sums.above, p, s, w),
        None if other is None else _add_calibration_bins(other, 1.0 - p, 1.0 - s, w),
    )


def _add_calibration_bins(bin_sums: tuple[float, ...], p: HostArray, s: HostArray, w: HostArray) -> tuple[float, ...]:
    bins = _calibration((p, s, w), CALIBRATION_BINS)
    return tuple((np.array(bin_sums) + np.nan_to_num(bins.observed - bins.predicted) * bins.weight).tolist())


def metrics_from_sums(metric_sums: MetricSums) -> dict[str, float]:
    """The measures of `metrics.scores` by name."""
    means = (x / metric_sums.weight for x in metric_sums.losses)
    named = dict(zip(("log loss", "Brier score", "accuracy"), means, strict=True))
    above, weight = np.array(metric_sums.above), metric_sums.weight
    if metric_sums.other is not None:
        above, weight = above + np.array(metric_sums.other), 2.0 * weight
    return named | {"calibration error": float(np.abs(above).sum() / weight)}
