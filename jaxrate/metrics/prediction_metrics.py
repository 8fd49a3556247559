"""Metrics of predictions and of ratings, on the host and in float64, and their sums, added up chunk by chunk.

The functions for matches take predictions [n] (probability, or expected score, of player 0), scores [n] in [0, 1] (a
draw, 0.5, counts as half a win), and optional weights [n] and a boolean mask [n] of the matches to score.
Outcome probabilities count as the expected scores that follow from them.

The functions for rounds, `pairwise_accuracy` and `rank_deviation`, take the rounds, or their `Dataset`, the ratings
[sum P] that the participants had before them, and an optional boolean mask [sum P] of the participants to score. Each
of these is compared with those of other teams; team-mates, who always tie, are not compared. Participants without an
opponent are left out, and so are contests in which all participants tie, masked or not: they rank nobody.

`compare_log_loss` compares two forecasters. `match_metrics` and `ranking_metrics` have all metrics of either kind by
name. `contests_as_matches` makes matches of contests of two sides, `mirror_winner_first` counts matches from both sides
if the winner is always first, and `experience_mask` makes masks.

All raise ValueError for shapes that differ, for the first row to be scored with a prediction or score outside [0, 1], a
negative weight or a rating that is not finite (NaN included), and if nothing is left to score.

Metrics of the probabilities of each result, as win, draw and loss: log loss, Brier score, RPS and accuracy.

Predictions are `OutcomeProbabilities`, or [n, K] probabilities of the scores 0, 1 / (K - 1), ..., 1 of player 0: of
loss and win, or of loss, draw and win. With F_k and G_k the probability and the fact that the score is at most the
k-th,

    RPS = sum over k < K of (F_k - G_k)^2 / (K - 1)     (Epstein 1969, "A scoring system for probability forecasts of
                                                         ranked categories", Journal of Applied Meteorology 8)

The Brier score is that of Brier 1950: the sum of the squared errors of all K probabilities. (`brier_score` is that of
one of two outcomes, half of it.)
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from jaxrate.core.argument_checks import (
    check_not_traced,
    check_that,
    enforce_argument_annotations,
    format_value_or_type,
    is_number_or_numeric_array,
    to_floats,
)
from jaxrate.core.array_types import HostArray
from jaxrate.events import (
    Matches,
    Ragged,
    Rounds,
    RowError,
    count_teams,
    event_numbers,
    fail_where,
    has_teammates,
    repeat_seat_mask,
    seats,
)
from jaxrate.events.dataset import Dataset, resolve_events_and_num_players
from jaxrate.metrics.ranking_metrics import (
    ScoredRanking,
    build_scored_ranking,
    count_opponents,
    flatten_rounds,
    has_untied_opponent,
    mean_rank_deviation,
    mean_share_of_pairs_in_order,
    wrong_order_shares,
)
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities, expected_score_from_prediction

Samples: TypeAlias = tuple[HostArray, HostArray, HostArray]  # predictions [n], scores [n] and weights [n], checked


class Calibration(NamedTuple):
    """Predictions in equal-width bins of [0, 1], and how far they were off."""

    predicted: HostArray  # [bins] mean prediction, NaN where empty
    observed: HostArray  # [bins] mean score, NaN where empty
    weight: HostArray  # [bins] number of matches, or their weight
    error: float  # expected calibration error: mean of |observed - predicted| by weight


def wilson_interval(share: Any, count: Any, num_errors: float = 1.96) -> tuple[Any, Any]:
    """Wilson's intervals of probabilities, from the shares of events in which they came true.

    By default they are those of 95%, of 1.96 standard errors to either side.
    """
    spread = num_errors**2 / count
    middle = (share + 0.5 * spread) / (1.0 + spread)
    half_width = np.sqrt(spread * share * (1.0 - share) + 0.25 * spread**2) / (1.0 + spread)
    return np.minimum(middle - half_width, share), np.maximum(middle + half_width, share)


def bin_numbers(prediction: HostArray, bins: int) -> HostArray:
    """[n] the number of the bin that each prediction is in, of so many of equal width; 1 is in the last."""
    return np.minimum((prediction * bins).astype(np.int64), bins - 1)


def probability_clip_margin(prediction: Any) -> float:
    """The distance from 0 and 1 at which predictions of this precision are clipped."""
    return 1e-15 if np.asarray(expected_score_from_prediction(prediction)).dtype == np.float64 else 2.0**-24


def _to_checked_number_column(name: str, values: Any) -> HostArray:
    """[n] numbers; ValueError for anything else, as a rated history, which tells where such numbers are."""
    is_table = hasattr(values, "_fields") or hasattr(values, "columns")
    if is_table or not is_number_or_numeric_array(values):
        given = format_value_or_type(values)
        raise ValueError(f"{name} must be [n] numbers, as rated.predictions[{name!r}], got {given}")
    return np.asarray(values, np.float64)


def check_and_select_samples(prediction: Any, score: Any, weight: Any, mask: Any) -> Samples:
    """The predictions, scores and weights under the mask, checked."""
    expected = prediction if hasattr(prediction, "columns") else expected_score_from_prediction(prediction)
    for name, x in {"prediction": expected, "score": score, "weight": weight, "mask": mask}.items():
        check_not_traced(name, x, "a loss of what is traced is written with jax.numpy")
    p, s = _to_checked_number_column("prediction", expected), _to_checked_number_column("score", score)
    w = np.ones(p.shape) if weight is None else to_floats("weight", weight)
    keep = np.ones(p.shape, bool) if mask is None else np.asarray(mask)
    if p.ndim != 1 or not p.shape == s.shape == w.shape == keep.shape:
        shapes = f"{p.shape}, {s.shape}, {w.shape} and {keep.shape}"
        raise ValueError(f"prediction, score, weight and mask must be [n] alike, got {shapes}")
    check_that(keep.dtype == bool, f"mask must be boolean, got {keep.dtype}")
    p, s, w = p[keep], s[keep], w[keep]
    for name, x, top in (("prediction", p, 1.0), ("score", s, 1.0), ("weight", w, np.inf)):
        bad = np.flatnonzero(~((x >= 0.0) & (x <= top) & (x < np.inf)))
        if bad.size:
            raise RowError(int(np.flatnonzero(keep)[bad[0]]), f"{name} is {x[bad[0]]}")
    check_that(w.sum() > 0, "no matches to score: the mask or the weights leave none")
    return p, s, w


SUM_TOLERANCE = 1e-3  # by which the probabilities of a match may miss 1


class LossesByMatch(NamedTuple):
    """The losses of each match; in all but the accuracy less is better."""

    log_loss: HostArray  # [n] nats
    brier_score: HostArray  # [n]
    accuracy: HostArray  # [n] whether the likeliest result came true; in equal parts where several are likeliest
    rps: HostArray | None  # [n] ranked probability score; None of expected scores


def losses_of_samples(p: HostArray, s: HostArray, clip_margin: float) -> LossesByMatch:
    """The losses of matches by expected scores [n] and scores [n]."""
    clipped = np.clip(p, clip_margin, 1.0 - clip_margin)
    log_loss = -s * np.log(clipped) - (1.0 - s) * np.log1p(-clipped)
    return LossesByMatch(log_loss, (p - s) ** 2, np.where(p > 0.5, s, np.where(p < 0.5, 1.0 - s, 0.5)), None)


def mean_losses(samples: Samples, clip_margin: float) -> tuple[float, float, float]:
    """Log loss, Brier score and accuracy, weighted means over matches."""
    p, s, w = samples
    each = losses_of_samples(p, s, clip_margin)
    log_loss, brier_score, accuracy = (float(np.average(x, weights=w)) for x in each[:3])
    return log_loss, brier_score, accuracy


def _mean_losses(prediction: Any, score: Any, weight: Any, mask: Any) -> tuple[float, float, float]:
    """Log loss, Brier score and accuracy of predictions, which are checked."""
    return mean_losses(check_and_select_samples(prediction, score, weight, mask), probability_clip_margin(prediction))


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
    """
    is_expected = not isinstance(prediction, OutcomeProbabilities) and np.ndim(prediction) == 1
    if is_expected:
        p, s, _ = check_and_select_samples(prediction, score, None, None)
        return losses_of_samples(p, s, probability_clip_margin(prediction))
    probability, s = score_probabilities(prediction), to_floats("score", score)
    if probability.ndim != 2 or probability.shape[1] < 2 or s.shape != probability.shape[:1]:
        raise ValueError(f"prediction must be [n, K] for scores [n], got {probability.shape} and {s.shape}")
    num_scores = probability.shape[1]
    is_in_range = ((probability >= 0.0) & (probability <= 1.0 + SUM_TOLERANCE)).all(axis=1)
    total = probability.sum(axis=1)
    is_bad, message = ~(is_in_range & (np.abs(total - 1.0) <= SUM_TOLERANCE)), "are not from 0 to 1 with the sum 1"
    fail_where(is_bad, lambda row: f"the probabilities {probability[row].round(6).tolist()} {message}")
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
    rows = np.arange(len(s)) if mask is None else np.flatnonzero(mask)
    rps: Any = losses_by_match(probability[rows], s[rows]).rps
    return float(np.average(rps, weights=None if weight is None else np.asarray(weight)[rows]))


def log_loss(prediction: Any, score: Any, *, weight: Any = None, mask: Any = None) -> float:
    """Mean of -s log p - (1 - s) log(1 - p), in nats; p is kept 1e-15 away from 0 and 1 (float32: 6e-8)."""
    return _mean_losses(prediction, score, weight, mask)[0]


def constant_log_loss(score: HostArray, side: HostArray | None, weight: HostArray) -> float:
    """The log loss of the best constant forecast, of scores [n], sides [n] (None: nobody has one) and weights [n]."""
    side = np.zeros(len(score)) if side is None else np.asarray(side, float)
    total = np.sum(weight * np.abs(side))
    share = np.sum(weight * side * (score - 0.5)) / total if total else 0.0
    return log_loss(0.5 + share * side, score, weight=weight)


class LogLossDifference(NamedTuple):
    """The log loss of one forecaster less that of another, of the same matches."""

    difference: float  # nats; below 0 the first one is better
    error: float | None  # standard error of the difference; None for one match


def compare_log_loss(
    prediction: Any, other_prediction: Any, score: Any, *, weight: Any = None, mask: Any = None
) -> LogLossDifference:
    """Compare two forecasters match by match.

        jr.metrics.compare_log_loss(jr.run(glicko, matches).prediction, jr.run(elo, matches).prediction, matches.score)

    The error counts matches as drawn independently of each other. As both forecast the same matches it is far smaller
    than that of either loss. Losses are those of `log_loss`.
    """
    losses = []
    for forecast in (prediction, other_prediction):
        p, s, w = check_and_select_samples(forecast, score, weight, mask)
        losses.append(losses_of_samples(p, s, probability_clip_margin(forecast)).log_loss)
    return LogLossDifference(*paired_difference(losses[0], losses[1], w))


def paired_difference(loss: HostArray, other_loss: HostArray, w: HostArray) -> tuple[float, float | None]:
    """The mean of one loss [n] less that of another, by weights [n], and its standard error; None for one match."""
    loss_difference, share, n = loss - other_loss, w / w.sum(), np.count_nonzero(w)
    mean = float(share @ loss_difference)
    return mean, float(np.sqrt(share**2 @ (loss_difference - mean) ** 2 * n / (n - 1))) if n > 1 else None


def brier_score(prediction: Any, score: Any, *, weight: Any = None, mask: Any = None) -> float:
    """Mean of (p - s)^2 (Brier 1950, for one of two outcomes)."""
    return _mean_losses(prediction, score, weight, mask)[1]


def accuracy(prediction: Any, score: Any, *, weight: Any = None, mask: Any = None) -> float:
    """Share of matches won by the favourite; equal probabilities count half, and a draw is half a win for either."""
    return _mean_losses(prediction, score, weight, mask)[2]


@enforce_argument_annotations
def calibration(prediction: Any, score: Any, *, bins: int = 10, weight: Any = None, mask: Any = None) -> Calibration:
    """Calibration of predictions [n] by scores [n] from 0 to 1, in `bins` bins of equal width."""
    check_that(bins >= 1, f"bins must be at least 1, got {bins}")
    p, s, w = check_and_select_samples(prediction, score, weight, mask)
    bin_index = bin_numbers(p, bins)
    total, predicted, observed = (np.bincount(bin_index, x, bins) for x in (w, w * p, w * s))
    error = float(np.abs(observed - predicted).sum() / w.sum())
    with np.errstate(invalid="ignore"):
        return Calibration(predicted / total, observed / total, total, error)


def is_winner_first(score: HostArray) -> bool:
    """Whether no first player lost, of scores [n], as in tables of winners and losers."""
    return bool((score >= 0.5).all())


def mirror_winner_first(prediction: Any, score: Any, weight: Any = None) -> tuple[HostArray, HostArray, HostArray]:
    """Predictions, scores and weights; if no first player lost, each match twice, from either side.

    In tables of winners and losers a prediction is always that of the winner, so that its calibration cannot be right.
    Weights are 1 if there are none.
    """
    p, s = to_floats("prediction", expected_score_from_prediction(prediction)), np.atleast_1d(to_floats("score", score))
    w = np.ones(s.shape) if weight is None else np.asarray(weight)
    if is_winner_first(s):
        return np.concatenate([p, 1 - p]), np.concatenate([s, 1 - s]), np.tile(w, 2)
    return p, s, w


def pairwise_accuracy(rounds: Ragged | Dataset, rating: Any, *, mask: Any = None) -> float:
    """Mean share of pairs of opponents in which the higher rated did not lose; the higher, the better.

    Section 6.2 of Ebtekar and Liu 2021, as a share: n (1 - inversions / pairs of opponents) summed over contests of n,
    over the sum of n. An inversion is a pair whose lower rated is strictly ahead, so that equal ratings are right.
    """
    return mean_share_of_pairs_in_order(build_scored_ranking(rounds, rating, mask))


def select_experienced(
    rounds: Ragged | Dataset, rating: Any, mask: Any, experience: HostArray, least: int = 1
) -> ScoredRanking | None:
    """The ranking of those with at least so many contests before, of [sum P]; None if nobody can be compared."""
    ragged, flat, event = flatten_rounds(rounds)
    is_scored = has_untied_opponent(flat, event) & (experience >= least)
    is_scored &= True if mask is None else to_floats("mask", mask) > 0
    has_pairs = bool(count_opponents(ragged, event, is_scored).any())
    return build_scored_ranking(ragged, rating, is_scored) if has_pairs else None


def right_order_shares(rounds: Ragged | Dataset, rating: Any, *, mask: Any = None) -> tuple[HostArray, HostArray]:
    """[E] sums over the participants of contests of the share of opponents in order, and [E] how many participants.

    Over all contests the one divided by the other is the first of the `ranking_metrics`, of the same arguments.
    """
    ragged, *_ = flatten_rounds(rounds)
    num_contests = len(ragged.player_start) - 1
    ranking = select_experienced(ragged, rating, mask, count_earlier_games(ragged))
    if ranking is None:
        return np.zeros(num_contests), np.zeros(num_contests)
    right, count = 1.0 - wrong_order_shares(ranking), np.bincount(ranking.event, minlength=num_contests)
    return np.bincount(ranking.event, right, num_contests), count


def rank_deviation(rounds: Ragged | Dataset, rating: Any, *, mask: Any = None) -> float:
    """Mean of |rank - place by rating| / opponents, both among the opponents, a share; the lower, the better.

    Section 6.2 of Ebtekar and Liu 2021. The rank of a tie is the one of its range that is nearest to the place, and
    equal ratings are placed as they stand (and as they are listed, where they tie).
    """
    return mean_rank_deviation(build_scored_ranking(rounds, rating, mask))


def count_ranked_contests(rounds: Ragged | Dataset, num_players: int) -> HostArray:
    """[num_players] in how many contests each took part that count as experience, as in `experience_mask`."""
    ragged, flat, event = flatten_rounds(rounds)
    return np.bincount(np.asarray(flat.player)[_experience_row_mask(ragged, flat, event)], minlength=num_players)


def contests_as_matches(rounds: Ragged | Dataset) -> tuple[HostArray, HostArray] | None:
    """Contests of two sides as matches: the row [E] of one participant of each, and the score [E] of their side.

    The prediction in that row is the prediction of the match. None unless all contests have two sides.
    """
    ragged, flat, _ = flatten_rounds(rounds)
    if (count_teams(ragged) != 2).any():
        return None
    first = ragged.player_start[:-1]
    first_score = np.where(np.maximum.reduceat(flat.rank, first) > 0, 1.0, 0.5)
    return first, np.where(flat.rank[first] > 0, 0.0, first_score)


@enforce_argument_annotations
def experience_mask(events: Matches | Ragged | Dataset, min_games: int) -> HostArray:
    """A mask that skips the first games of every player.

    Args:
      events: matches, or rounds, or their `Dataset`.
      min_games: games that each must have played before.

    Returns:
      [n] whether both players of a match have played so many; for rounds, [sum P] whether the participant has. Contests
      of one player, and contests in which all tie, do not count.
    """
    history: Any = resolve_events_and_num_players(events)[0]
    enough = count_earlier_games(history) >= min_games
    of_seats = enough.reshape(np.shape(history.flat.player))
    return np.asarray(of_seats.all(axis=tuple(range(1, of_seats.ndim))))


def count_earlier_games(events: Matches | Ragged) -> HostArray:
    """[2 n] games of each player before each match; of participants [sum P] the contests before that count."""
    player, event = seats(events)
    counted = np.ones(len(player), bool)
    if events.nouns != "matches":
        counted = _experience_row_mask(*flatten_rounds(events))
    order, before = np.argsort(player, kind="stable"), np.empty(len(player), np.int64)
    first = np.flatnonzero(np.diff(player[order], prepend=-1))
    total = np.cumsum(counted[order]) - counted[order]
    before[order] = total - np.repeat(total[first], np.diff(first, append=len(player)))
    seat = getattr(events.flat, "seat", None)
    return before if seat is None else before[events.start[:-1][event] + seat]


def _experience_row_mask(rounds: Ragged, flat: Rounds, contest_index: HostArray) -> HostArray:
    """[sum P] whether the row counts as a contest the player has played, see `experience_mask`."""
    return has_untied_opponent(flat, contest_index) & ~repeat_seat_mask(rounds)


def observed_share_of_sides_beaten(rounds: Ragged) -> HostArray:
    """[sum P] the share of the other sides that each one's side beat, a tie counting half; NaN without other sides."""
    flat: Any = rounds.events
    by_team = np.stack([event_numbers(rounds), flat.team])
    sides, first, side = np.unique(by_team, axis=1, return_index=True, return_inverse=True)
    number, rank, count = sides[0], np.asarray(flat.rank, np.int64)[first], count_teams(rounds)
    place = number * (rank.max(initial=0) + 1) + rank  # of all contests, one after the other
    begin, end = (np.searchsorted(np.sort(place), place, end) for end in ("left", "right"))
    num_others = count[number] - 1
    num_ahead, num_tied = begin - (np.cumsum(count) - count)[number], end - begin - 1
    share = np.full(len(num_others), np.nan)
    np.divide(num_others - num_ahead - 0.5 * num_tied, num_others, out=share, where=num_others > 0)
    return np.asarray(share[side.ravel()])


CALIBRATION_BINS = 10
MATCH_METRICS = "log loss", "Brier score", "accuracy"


class MetricSums(NamedTuple):
    """Weighted sums over matches; divided by `weight` they are means."""

    weight: float = 0.0
    losses: Sequence[float] = (0.0, 0.0, 0.0)  # log loss, Brier score and accuracy
    excess: Sequence[float] = (0.0,) * CALIBRATION_BINS  # scores less predictions in each bin of the calibration
    mirrored_excess: Sequence[float] | None = excess  # from the second's side; None if a first player lost


def add_match_metrics(
    metric_sums: MetricSums, prediction: Any, score: Any, weight: Any = None, mask: Any = None
) -> MetricSums:
    """The sums after further matches."""
    samples = p, s, w = check_and_select_samples(prediction, score, weight, mask)
    total, losses = float(w.sum()), mean_losses(samples, probability_clip_margin(prediction))
    mirrored_excess = metric_sums.mirrored_excess if is_winner_first(s) else None
    return MetricSums(
        metric_sums.weight + total,
        tuple(x + total * y for x, y in zip(metric_sums.losses, losses, strict=True)),
        _add_excess_by_bin(metric_sums.excess, p, s, w),
        None if mirrored_excess is None else _add_excess_by_bin(mirrored_excess, 1.0 - p, 1.0 - s, w),
    )


def _add_excess_by_bin(bin_sums: Sequence[float], p: HostArray, s: HostArray, w: HostArray) -> tuple[float, ...]:
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

    accuracy: Sequence[float] = (0.0, 0.0)
    deviation: Sequence[float] = (0.0, 0.0)
    participants: Sequence[int] = (0, 0)


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
    """The sums after further contests, by predictions and ratings [sum P] before them, and contests played."""
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


def restore_contest_metric_sums(stored: Any) -> ContestMetricSums:
    """The sums of contests from JSON."""
    matches, ranking = stored
    return ContestMetricSums(matches and MetricSums(*matches), RankingSums(*ranking))
