"""Metrics of predictions of matches and of contests, added up chunk by chunk."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.events import Ragged, has_teammates
from jaxrate.metrics.prediction_metrics import (
    RankingSums,
    accuracy_of_samples,
    brier_score_of_samples,
    check_and_select_samples,
    contests_as_matches,
    probability_clip_margin,
    ranking_metrics_from_sums,
    ranking_sums,
    weighted_calibration_bins,
    weighted_log_loss,
)

CALIBRATION_BINS = 10


class MetricSums(NamedTuple):
    """Weighted sums over matches; divided by `weight` they are means."""

    weight: float = 0.0
    losses: tuple[float, ...] = (0.0, 0.0, 0.0)  # log loss, Brier score and accuracy
    excess: tuple[float, ...] = (0.0,) * CALIBRATION_BINS  # scores less predictions in each bin of the calibration
    mirrored_excess: tuple[float, ...] | None = (
        0.0,
    ) * CALIBRATION_BINS  # the same from the second player's side; None unless the first won every match


def add_match_metrics(metric_sums: MetricSums, prediction: Any, score: Any, weight: Any = None) -> MetricSums:
    """The sums after further matches."""
    samples = p, s, w = check_and_select_samples(prediction, score, weight, None)
    total = float(w.sum())
    losses = (
        weighted_log_loss(samples, probability_clip_margin(prediction)),
        brier_score_of_samples(samples),
        accuracy_of_samples(samples),
    )
    mirrored_excess = metric_sums.mirrored_excess if (s == 1).all() else None
    return MetricSums(
        metric_sums.weight + total,
        tuple(x + total * y for x, y in zip(metric_sums.losses, losses, strict=True)),
        _add_calibration_excess_by_bin(metric_sums.excess, p, s, w),
        None if mirrored_excess is None else _add_calibration_excess_by_bin(mirrored_excess, 1.0 - p, 1.0 - s, w),
    )


def _add_calibration_excess_by_bin(
    bin_sums: tuple[float, ...], p: HostArray, s: HostArray, w: HostArray
) -> tuple[float, ...]:
    bins = weighted_calibration_bins((p, s, w), CALIBRATION_BINS)
    return tuple((np.array(bin_sums) + np.nan_to_num(bins.observed - bins.predicted) * bins.weight).tolist())


def metrics_from_sums(metric_sums: "MetricSums | ContestMetricSums") -> dict[str, Any]:
    """The metrics of `match_metrics` by name, or those of `ranking_metrics` where some contest has not two sides."""
    if isinstance(metric_sums, ContestMetricSums):
        if metric_sums.matches is None:
            return ranking_metrics_from_sums(metric_sums.ranking)
        metric_sums = metric_sums.matches
    means = (x / metric_sums.weight for x in metric_sums.losses)
    metrics = dict(zip(("log loss", "Brier score", "accuracy"), means, strict=True))
    excess, weight = np.array(metric_sums.excess), metric_sums.weight
    if metric_sums.mirrored_excess is not None:
        excess, weight = excess + np.array(metric_sums.mirrored_excess), 2.0 * weight
    return metrics | {"calibration error": float(np.abs(excess).sum() / weight)}


class ContestMetricSums(NamedTuple):
    """Sums over contests: as of matches, where all have two sides, and of rankings."""

    matches: MetricSums | None = MetricSums()  # None: some contest has more sides than two, or one
    ranking: RankingSums = RankingSums()


def add_contest_metrics(
    metric_sums: ContestMetricSums, rounds: Ragged, prediction: Any, rating: Any, played: Any
) -> ContestMetricSums:
    """The sums after further contests.

    Args:
      metric_sums: those so far.
      rounds: the contests.
      prediction, rating: [sum P] before them.
      played: [num_players] number of earlier contests of each player, as `count_ranked_contests` counts them.
    """
    matches, two_sided = metric_sums.matches, contests_as_matches(rounds)
    if matches is not None and two_sided is not None:
        row, score = two_sided
        matches = add_match_metrics(matches, np.asarray(prediction)[row], score)
    order = numbers_that_predict_order(rounds, prediction, rating)
    ranking = zip(metric_sums.ranking, ranking_sums(rounds, order, played=played), strict=True)
    sums: Any = (tuple(x + y for x, y in zip(*pair, strict=True)) for pair in ranking)
    return ContestMetricSums(None if two_sided is None else matches, RankingSums(*sums))


def numbers_that_predict_order(rounds: Ragged, prediction: Any, rating: Any) -> Any:
    """What orders participants [sum P]: ratings; where there are teams, the prediction, which team-mates share."""
    return prediction if has_teammates(rounds) else rating


def restore_metric_sums(stored: Any) -> MetricSums:
    """The sums of matches from JSON."""
    weight, losses, excess, mirrored_excess = stored
    return MetricSums(weight, tuple(losses), tuple(excess), None if mirrored_excess is None else tuple(mirrored_excess))


def restore_contest_metric_sums(stored: Any) -> ContestMetricSums:
    """The sums of contests from JSON."""
    matches, ranking = stored
    return ContestMetricSums(
        None if matches is None else restore_metric_sums(matches), RankingSums(*map(tuple, ranking))
    )
