"""All metrics of matches or of contests by name, from sums that are added up chunk by chunk."""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.argument_checks import to_floats
from jaxrate.core.array_types import HostArray
from jaxrate.events import Ragged, has_teammates
from jaxrate.events.dataset import Dataset
from jaxrate.metrics.prediction_metrics import (
    bin_numbers,
    check_and_select_samples,
    contests_as_matches,
    count_earlier_games,
    mean_losses,
    probability_clip_margin,
    select_experienced,
)
from jaxrate.metrics.ranking_metrics import flatten_rounds, mean_rank_deviation, mean_share_of_pairs_in_order

CALIBRATION_BINS = 10
MATCH_METRICS = "log loss", "Brier score", "accuracy"


class MetricSums(NamedTuple):
    """Weighted sums over matches; divided by `weight` they are means."""

    weight: float = 0.0
    losses: tuple[float, ...] = (0.0, 0.0, 0.0)  # log loss, Brier score and accuracy
    excess: tuple[float, ...] = (0.0,) * CALIBRATION_BINS  # scores less predictions in each bin of the calibration
    mirrored_excess: tuple[float, ...] | None = excess  # from the second's side; None unless the first won every match


def add_match_metrics(
    metric_sums: MetricSums, prediction: Any, score: Any, weight: Any = None, mask: Any = None
) -> MetricSums:
    """The sums after further matches."""
    samples = p, s, w = check_and_select_samples(prediction, score, weight, mask)
    total, losses = float(w.sum()), mean_losses(samples, probability_clip_margin(prediction))
    mirrored_excess = metric_sums.mirrored_excess if (s == 1).all() else None
    return MetricSums(
        metric_sums.weight + total,
        tuple(x + total * y for x, y in zip(metric_sums.losses, losses, strict=True)),
        _add_excess_by_bin(metric_sums.excess, p, s, w),
        None if mirrored_excess is None else _add_excess_by_bin(mirrored_excess, 1.0 - p, 1.0 - s, w),
    )


def _add_excess_by_bin(bin_sums: tuple[float, ...], p: HostArray, s: HostArray, w: HostArray) -> tuple[float, ...]:
    excess = np.bincount(bin_numbers(p, CALIBRATION_BINS), w * (s - p), CALIBRATION_BINS)
    return tuple((np.array(bin_sums) + excess).tolist())


def metrics_from_sums(metric_sums: "MetricSums | ContestMetricSums") -> dict[str, Any]:
    """The metrics of `match_metrics` by name, or those of `ranking_metrics` where some contest has not two sides."""
    if isinstance(metric_sums, ContestMetricSums):
        if metric_sums.matches is None:
            return ranking_metrics_from_sums(metric_sums.ranking)
        metric_sums = metric_sums.matches
    means = (x / metric_sums.weight for x in metric_sums.losses)
    metrics = dict(zip(MATCH_METRICS, means, strict=True))
    excess, weight = np.array(metric_sums.excess), metric_sums.weight
    if metric_sums.mirrored_excess is not None:
        excess, weight = excess + np.array(metric_sums.mirrored_excess), 2.0 * weight
    return metrics | {"calibration error": float(np.abs(excess).sum() / weight)}


def match_metrics(prediction: Any, score: Any, *, weight: Any = None, mask: Any = None) -> dict[str, float]:
    """Log loss, Brier score, accuracy and calibration error by name; the last after `mirror_winner_first`."""
    return metrics_from_sums(add_match_metrics(MetricSums(), prediction, score, weight, mask))


class RankingSums(NamedTuple):
    """Sums over participants scored, of all who have played before and of those with at least 5 contests."""

    accuracy: tuple[float, ...] = (0.0, 0.0)
    deviation: tuple[float, ...] = (0.0, 0.0)
    participants: tuple[int, ...] = (0, 0)


def ranking_sums(rounds: Ragged | Dataset, rating: Any, *, mask: Any = None, played: Any = None) -> RankingSums:
    """The sums from which `ranking_metrics` follow; it has the same arguments."""
    ragged, flat, _ = flatten_rounds(rounds)
    num_players = int(flat.player.max(initial=-1)) + 1
    counts = np.zeros(num_players) if played is None else to_floats("played", played)
    if counts.ndim != 1 or len(counts) < num_players:
        wanted = f"[num_players] for {num_players} players or more"
        raise ValueError(f"played must be {wanted}, got the shape {counts.shape}")
    experience, sums = counts[flat.player] + count_earlier_games(ragged), []
    for least in (1, 5):
        ranking = select_experienced(ragged, rating, mask, experience, least)
        if ranking is None:
            sums.append((0.0, 0.0, 0))
            continue
        count = len(ranking.order)
        sums.append((mean_share_of_pairs_in_order(ranking) * count, mean_rank_deviation(ranking) * count, count))
    return RankingSums(*map(tuple, zip(*sums, strict=True)))


def ranking_metrics_from_sums(sums: RankingSums) -> dict[str, float | None]:
    """The metrics of `ranking_metrics` by name."""
    metrics: dict[str, float | None] = {}
    for suffix, accuracy, deviation, count in zip(("", ", 5plus"), *sums, strict=True):
        metrics[f"pair inversion{suffix}"] = accuracy / count if count else None
        metrics[f"rank deviation{suffix}"] = deviation / count if count else None
    return metrics


def ranking_metrics(
    rounds: Ragged | Dataset, rating: Any, *, mask: Any = None, played: Any = None
) -> dict[str, float | None]:
    """Pairwise accuracy ("pair inversion") and rank deviation by name; None if no participants can be compared.

    Each is given for all who have played before and, as "5plus", for those who have played in at least 5 contests.

    Args:
      rounds: the contests, as for `pairwise_accuracy`.
      rating: the ratings before each contest, as for `pairwise_accuracy`.
      mask: which participations count, as for `pairwise_accuracy`.
      played: [num_players] number of earlier contests of each player. None: there are none.
    """
    return ranking_metrics_from_sums(ranking_sums(rounds, rating, mask=mask, played=played))


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
      prediction: [sum P] expected scores before the contests.
      rating: [sum P] ratings before the contests.
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
    """The numbers that order participants [sum P]: ratings, or with teams the predictions, which team-mates share."""
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
