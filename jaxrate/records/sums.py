"""How well matches were predicted, added up chunk by chunk."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.records.metrics import NumPy, _accuracy, _brier, _calibration, _columns, _log_loss, _margin

BINS = 10


class Sums(NamedTuple):
    """Sums over matches by weight; a mean is one of them by `weight`."""

    weight: float = 0.0
    losses: tuple[float, ...] = (0.0, 0.0, 0.0)  # of the log loss, the Brier score and the accuracy
    above: tuple[float, ...] = (0.0,) * BINS  # in each bin of the calibration, scores less predictions
    other: tuple[float, ...] | None = (0.0,) * BINS  # of the second players; None unless the first won every match


def added(sums: Sums, prediction: Any, score: Any, weight: Any = None) -> Sums:
    """The sums with those of further matches."""
    columns = p, s, w = _columns(prediction, score, weight, None)
    total = float(w.sum())
    losses = _log_loss(columns, _margin(prediction)), _brier(columns), _accuracy(columns)
    other = sums.other if (s == 1).all() else None
    return Sums(
        sums.weight + total,
        tuple(x + total * y for x, y in zip(sums.losses, losses, strict=True)),
        _plus(sums.above, p, s, w),
        None if other is None else _plus(other, 1.0 - p, 1.0 - s, w),
    )


def _plus(above: tuple[float, ...], p: NumPy, s: NumPy, w: NumPy) -> tuple[float, ...]:
    bins = _calibration((p, s, w), BINS)
    return tuple((np.array(above) + np.nan_to_num(bins.observed - bins.predicted) * bins.weight).tolist())


def measures(sums: Sums) -> dict[str, float]:
    """The measures of `metrics.scores` by name."""
    means = (x / sums.weight for x in sums.losses)
    named = dict(zip(("log loss", "Brier score", "accuracy"), means, strict=True))
    above, weight = np.array(sums.above), sums.weight
    if sums.other is not None:
        above, weight = above + np.array(sums.other), 2.0 * weight
    return named | {"calibration error": float(np.abs(above).sum() / weight)}
