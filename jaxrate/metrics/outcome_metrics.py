"""Metrics of the probabilities of each result, as win, draw and loss: log loss, Brier score, RPS and accuracy.

Predictions are `OutcomeProbabilities`, or [n, K] probabilities of the scores 0, 1 / (K - 1), ..., 1 of player 0: of
loss and win, or of loss, draw and win. With F_k and G_k the probability and the fact that the score is at most the
k-th,

    RPS = sum over k < K of (F_k - G_k)^2 / (K - 1)     (Epstein 1969, "A scoring system for probability forecasts of
                                                         ranked categories", Journal of Applied Meteorology 8)

The Brier score is that of Brier 1950: the sum of the squared errors of all K probabilities. (`brier_score` is that of
one of two outcomes, half of it.)
"""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import to_floats
from jaxrate.core.array_types import HostArray
from jaxrate.events import fail_where
from jaxrate.metrics.checked_match_metrics import (
    check_and_select_samples,
    log_losses_of_samples,
    probability_clip_margin,
)
from jaxrate.systems.outcome_prediction_forms import OutcomeProbabilities

SUM_TOLERANCE = 1e-3  # by which the probabilities of a match may miss 1


class LossesByMatch(NamedTuple):
    """What each match adds to the metrics; in each but the accuracy less is better."""

    log_loss: HostArray  # [n] nats
    brier_score: HostArray  # [n]
    accuracy: HostArray  # [n] whether the likeliest result came true; in equal parts where several are likeliest
    rps: HostArray | None  # [n] ranked probability score; None of expected scores


def score_probabilities(prediction: Any) -> HostArray:
    """[n, K] probabilities of each score of player 0, from predictions in full."""
    if isinstance(prediction, OutcomeProbabilities):
        parts = prediction.win[:, 1], prediction.draw[:, 0], prediction.win[:, 0]
        return np.stack([np.asarray(x, np.float64) for x in parts], axis=1)
    return to_floats("prediction", prediction)


def losses_by_match(prediction: Any, score: Any) -> LossesByMatch:
    """The losses of each match, of expected scores [n] or of predictions in full.

    Args:
      prediction: [n] expected scores of player 0; `OutcomeProbabilities`; or [n, K] probabilities of each score.
      score: [n] of player 0, from 0 to 1.

    Raises:
      ValueError: for shapes that do not fit, and for the first row whose prediction or score is none.
    """
    is_expected = not isinstance(prediction, OutcomeProbabilities) and np.ndim(prediction) == 1
    if is_expected:
        p, s, _ = check_and_select_samples(prediction, score, None, None)
        right = np.where(p > 0.5, s, np.where(p < 0.5, 1.0 - s, 0.5))
        return LossesByMatch(
            log_losses_of_samples(p, s, probability_clip_margin(prediction)), (p - s) ** 2, right, None
        )
    probability, s = score_probabilities(prediction), to_floats("score", score)
    if probability.ndim != 2 or probability.shape[1] < 2 or s.shape != probability.shape[:1]:
        raise ValueError(f"prediction must be [n, K] for scores [n], got {probability.shape} and {s.shape}")
    num_scores = probability.shape[1]
    is_in_range = ((probability >= 0.0) & (probability <= 1.0 + SUM_TOLERANCE)).all(axis=1)
    total = probability.sum(axis=1)
    fail_where(
        ~(is_in_range & (np.abs(total - 1.0) <= SUM_TOLERANCE)),
        lambda row: f"the probabilities {probability[row].round(6).tolist()} are not from 0 to 1 with the sum 1",
    )
    level = np.rint(np.where(np.isfinite(s), s, -1.0) * (num_scores - 1)).astype(int)
    is_level = (level >= 0) & (level < num_scores) & (np.abs(s * (num_scores - 1) - level) < 1e-4)
    fail_where(~is_level, lambda row: f"score is {s[row]}, which is none of the {num_scores} that are predicted")
    fact = level[:, None] == np.arange(num_scores)
    margin = probability_clip_margin(prediction)
    of_result = np.clip(probability[np.arange(len(s)), level], margin, 1.0)
    is_likeliest = probability == probability.max(axis=1, keepdims=True)
    errors = probability - fact
    rps = np.sum(np.cumsum(errors, axis=1)[:, :-1] ** 2, axis=1) / (num_scores - 1)
    accuracy = np.sum(is_likeliest & fact, axis=1) / is_likeliest.sum(axis=1)
    return LossesByMatch(-np.log(of_result), np.sum(errors**2, axis=1), accuracy, rps)


def ranked_probability_score(prediction: Any, score: Any, *, weight: Any = None, mask: Any = None) -> float:
    """Mean ranked probability score (Epstein 1969) of predictions in full; less is better.

        outcomes = jr.run(jr.forecasts.add_outcomes(jr.glicko()), matches).prediction
        jr.metrics.ranked_probability_score(outcomes, matches.score)

    Args:
      prediction: `OutcomeProbabilities`, or [n, K] probabilities of the scores 0, 1 / (K - 1), ..., 1 of player 0.
      score: [n] of player 0.
      weight: [n] of the matches. None: they count alike.
      mask: [n] boolean, of the matches to score. None: all.

    Raises:
      ValueError: for expected scores [n], for shapes that do not fit, and for the first row whose prediction or score
        is none.
    """
    if not isinstance(prediction, OutcomeProbabilities) and np.ndim(prediction) != 2:
        raise ValueError("prediction must be [n, K] probabilities of each score, as of jr.forecasts.add_outcomes")
    probability, s = score_probabilities(prediction), to_floats("score", score)
    expected = probability @ np.linspace(0.0, 1.0, probability.shape[1])
    check_and_select_samples(np.clip(expected, 0.0, 1.0), s, weight, mask)  # shapes, weights and scores
    keep = np.ones(len(s), bool) if mask is None else np.asarray(mask)
    rows = np.flatnonzero(keep)
    losses = losses_by_match(probability[rows], s[rows])
    assert losses.rps is not None
    return float(np.average(losses.rps, weights=None if weight is None else np.asarray(weight)[rows]))
