"""How good predictions were. Host-side, in float64; a draw (score 0.5) counts as half a win.

Every function takes predictions [n] (probability, or expected score, of player 0), scores [n] in [0, 1], and optional
weights [n] and a boolean mask [n] of the matches to score. All raise ValueError for shapes that differ, for the first
row with a prediction or score outside [0, 1] or a negative weight (NaN included), and if nothing is left to score.
"""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.events import Matches

NumPy = np.ndarray[Any, Any]


def log_loss(prediction: Any, score: Any, *, weight: Any = None, mask: Any = None) -> float:
    """Mean of -s log p - (1 - s) log(1 - p), in nats; p is kept 1e-15 away from 0 and 1 (float32: 6e-8)."""
    p, s, w = _columns(prediction, score, weight, mask)
    margin = 1e-15 if np.asarray(prediction).dtype == np.float64 else 2.0**-24
    p = np.clip(p, margin, 1.0 - margin)
    return float(-np.average(s * np.log(p) + (1.0 - s) * np.log1p(-p), weights=w))


def brier(prediction: Any, score: Any, *, weight: Any = None, mask: Any = None) -> float:
    """Mean of (p - s)^2 (Brier 1950, for one of two outcomes)."""
    p, s, w = _columns(prediction, score, weight, mask)
    return float(np.average((p - s) ** 2, weights=w))


def accuracy(prediction: Any, score: Any, *, weight: Any = None, mask: Any = None) -> float:
    """Share of matches won by the favourite; equal probabilities count half, and a draw is half a win for either."""
    p, s, w = _columns(prediction, score, weight, mask)
    return float(np.average(np.where(p > 0.5, s, np.where(p < 0.5, 1.0 - s, 0.5)), weights=w))


class Calibration(NamedTuple):
    """Predictions in equal-width bins of [0, 1], and how far they were off."""

    predicted: NumPy  # [bins] mean prediction, NaN where empty
    observed: NumPy  # [bins] mean score, NaN where empty
    weight: NumPy  # [bins] number of matches, or their weight
    error: float  # expected calibration error: mean of |observed - predicted| by weight


def calibration(prediction: Any, score: Any, *, bins: int = 10, weight: Any = None, mask: Any = None) -> Calibration:
    """Calibration in `bins` bins of equal width."""
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    p, s, w = _columns(prediction, score, weight, mask)
    which = np.minimum((p * bins).astype(np.int64), bins - 1)
    total, predicted, observed = (np.bincount(which, x, bins) for x in (w, w * p, w * s))
    error = float(np.abs(observed - predicted).sum() / w.sum())
    with np.errstate(invalid="ignore"):
        return Calibration(predicted / total, observed / total, total, error)


def seen(matches: Matches, games: int) -> NumPy:
    """[n] whether both players have played at least `games` matches before: a mask that skips the first ones."""
    player = np.asarray(matches.player).ravel()
    order = np.argsort(player, kind="stable")
    first = np.flatnonzero(np.diff(player[order], prepend=-1))
    before = np.empty(len(player), np.int64)
    before[order] = np.arange(len(player)) - np.repeat(first, np.diff(first, append=len(player)))
    return np.asarray((before.reshape(-1, 2) >= games).all(axis=1))


def _columns(prediction: Any, score: Any, weight: Any, mask: Any) -> tuple[NumPy, NumPy, NumPy]:
    p, s = np.asarray(prediction, np.float64), np.asarray(score, np.float64)
    w = np.ones(p.shape) if weight is None else np.asarray(weight, np.float64)
    keep = np.ones(p.shape, bool) if mask is None else np.asarray(mask)
    if p.ndim != 1 or not p.shape == s.shape == w.shape == keep.shape:
        shapes = f"{p.shape}, {s.shape}, {w.shape} and {keep.shape}"
        raise ValueError(f"prediction, score, weight and mask must be [n] alike, got {shapes}")
    if keep.dtype != bool:
        raise ValueError(f"mask must be boolean, got {keep.dtype}")
    p, s, w = p[keep], s[keep], w[keep]
    for name, x, top in (("prediction", p, 1.0), ("score", s, 1.0), ("weight", w, np.inf)):
        bad = ~((x >= 0.0) & (x <= top) & (x < np.inf))
        if bad.any():
            row = int(np.flatnonzero(keep)[np.argmax(bad)])
            raise ValueError(f"row {row} (counting from 0): {name} is {x[np.argmax(bad)]}")
    if not w.sum() > 0:
        raise ValueError("no matches to score: the mask or the weights leave none")
    return p, s, w
