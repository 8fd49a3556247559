"""How good predictions and ratings were. Host-side, in float64.

The functions for matches take predictions [n] (probability, or expected score, of player 0), scores [n] in [0, 1] (a
draw, 0.5, counts as half a win), and optional weights [n] and a boolean mask [n] of the matches to score. Those of an
`outlook` count as the expected scores that they give.

Those for rounds, `pair_inversion` and `rank_deviation`, take the rounds, or their `Dataset`, the ratings [sum P] that
the participants had before them, and an optional boolean mask [sum P] of the participants to score, who are compared
among themselves. Contests with fewer than two of them are left out, and so are those where all participants, masked or
not, tie: they rank nobody. Teammates tie, and each is scored alone.

`paired` compares two forecasters. `scores` and `standings` are all measures of either kind by name. `duels` makes
matches of contests of two sides, and `both_sides` two matches of one that tells the winner and the loser. `seen` makes
masks.

All raise ValueError for shapes that differ, for the first row to be scored with a prediction or score outside [0, 1], a
negative weight or a rating that is not finite (NaN included), and if nothing is left to score.
"""

from typing import Any, NamedTuple

import numpy as np

from jaxrate.argument_checks import check_arguments, check_not_traced, to_floats
from jaxrate.events import Matches, Ragged, Rounds, RowError, count_teams, fail_where, repeat_seat_mask
from jaxrate.events.dataset import Dataset, resolve_events
from jaxrate.metrics.inversions import count_inversions, to_smallest_dtype
from jaxrate.systems.outcome_probabilities import expected_score
from jaxrate.types import HostArray


def log_loss(prediction: Any, score: Any, *, weight: Any = None, mask: Any = None) -> float:
    """Mean of -s log p - (1 - s) log(1 - p), in nats; p is kept 1e-15 away from 0 and 1 (float32: 6e-8)."""
    return _log_loss(_select_samples(prediction, score, weight, mask), _clip_margin(prediction))


class LogLossDifference(NamedTuple):
    """The log loss of one forecaster less that of another, of the same matches."""

    difference: float  # nats; below 0 the first one is better
    error: float  # the standard error of the difference, NaN of one match


def compare_log_loss(
    prediction: Any, other_prediction: Any, score: Any, *, weight: Any = None, mask: Any = None
) -> LogLossDifference:
    """Compare two forecasters match by match.

        jr.metrics.compare_log_loss(jr.run(glicko, matches).prediction, jr.run(elo, matches).prediction, matches.score)

    The error counts matches as drawn independently of each other. As both forecast the same matches it is far smaller
    than that of either loss. Losses are those of `log_loss`.
    """
    losses = []
    for one in (prediction, other_prediction):
        p, s, w = _select_samples(one, score, weight, mask)
        losses.append(_log_losses(p, s, _clip_margin(one)))
    above, share = losses[0] - losses[1], w / w.sum()
    mean, n = float(share @ above), np.count_nonzero(w)
    return LogLossDifference(
        mean, float(np.sqrt(share**2 @ (above - mean) ** 2 * n / (n - 1))) if n > 1 else float("nan")
    )


def brier(prediction: Any, score: Any, *, weight: Any = None, mask: Any = None) -> float:
    """Mean of (p - s)^2 (Brier 1950, for one of two outcomes)."""
    return _brier(_select_samples(prediction, score, weight, mask))


def accuracy(prediction: Any, score: Any, *, weight: Any = None, mask: Any = None) -> float:
    """Share of matches won by the favourite; equal probabilities count half, and a draw is half a win for either."""
    return _accuracy(_select_samples(prediction, score, weight, mask))


class Calibration(NamedTuple):
    """Predictions in equal-width bins of [0, 1], and how far they were off."""

    predicted: HostArray  # [bins] mean prediction, NaN where empty
    observed: HostArray  # [bins] mean score, NaN where empty
    weight: HostArray  # [bins] number of matches, or their weight
    error: float  # expected calibration error: mean of |observed - predicted| by weight


@check_arguments
def calibration(prediction: Any, score: Any, *, bins: int = 10, weight: Any = None, mask: Any = None) -> Calibration:
    """Calibration in `bins` bins of equal width."""
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    return _calibration(_select_samples(prediction, score, weight, mask), bins)


def match_metrics(prediction: Any, score: Any, *, weight: Any = None, mask: Any = None) -> dict[str, float]:
    """Log loss, Brier score, accuracy and calibration error by name; the last of both sides, as `both_sides` says."""
    samples = _select_samples(prediction, score, weight, mask)
    return {
        "log loss": _log_loss(samples, _clip_margin(prediction)),
        "Brier score": _brier(samples),
        "accuracy": _accuracy(samples),
        "calibration error": _calibration(mirror_winner_first(*samples), 10).error,
    }


def mirror_winner_first(prediction: Any, score: Any, weight: Any = None) -> tuple[HostArray, HostArray, HostArray]:
    """Predictions, scores and weights, each match twice, from either side, if the first player won every one.

    Where tables tell the winner and the loser, a prediction is always that of the player who won, and no calibration of
    it can be right. Weights are 1 if there are none.
    """
    p, s = to_floats("prediction", expected_score(prediction)), np.atleast_1d(to_floats("score", score))
    w = np.ones(s.shape) if weight is None else np.asarray(weight)
    if len(s) and (s == 1).all():
        return np.concatenate([p, 1 - p]), np.concatenate([s, 1 - s]), np.tile(w, 2)
    return p, s, w


def pairwise_accuracy(rounds: Ragged | Dataset, rating: Any, *, mask: Any = None) -> float:
    """Mean share of a participant's opponents against whom the higher rating did not lose; the higher, the better.

    Section 6.2 of Ebtekar and Liu 2021, as a share: (n - 2 inversions / (n - 1)) summed over contests of n, over the
    sum of n. An inversion is a pair whose lower rated is strictly ahead, so that equal ratings are right.
    """
    return _pairwise_accuracy(_prepare_ranking(rounds, rating, mask))


def rank_deviation(rounds: Ragged | Dataset, rating: Any, *, mask: Any = None) -> float:
    """Mean of |rank - place by rating| / (n - 1) in contests of n, a share; the lower, the better.

    Section 6.2 of Ebtekar and Liu 2021. The rank of a tie is the one of its range that is nearest to the place, and
    equal ratings are placed as they stand (and as they are listed, where they tie).
    """
    return _rank_deviation(_prepare_ranking(rounds, rating, mask))


def ranking_metrics(rounds: Ragged | Dataset, rating: Any, *, mask: Any = None, played: Any = None) -> dict[str, float]:
    """Pair inversion and rank deviation by name; NaN if there is nothing to tell them by.

    Each is given for all who have played before and, as "5plus", for those who have played in at least 5 contests.

    Args:
      rounds, rating, mask: as for `pair_inversion`.
      played: [num_players] the number of contests before these. None: they are the first.
    """
    ragged, flat, event = _flatten_rounds(rounds)
    scored = (
        _has_untied_opponent(flat, event)
        if mask is None
        else _has_untied_opponent(flat, event) & (to_floats("mask", mask) > 0)
    )
    before = _check_games_before(played, int(flat.player.max(initial=-1)) + 1)[flat.player]
    quality = {}
    for least, label_suffix in ((1, ""), (5, ", 5plus")):
        lacking = np.maximum(least - before, 0)
        some = scored & np.any([(lacking == k) & experience_mask(ragged, int(k)) for k in np.unique(lacking)], axis=0)
        ranking = _prepare_ranking(ragged, rating, some) if np.bincount(event[some]).max(initial=0) > 1 else None
        quality[f"pair inversion{label_suffix}"] = float("nan") if ranking is None else _pairwise_accuracy(ranking)
        quality[f"rank deviation{label_suffix}"] = float("nan") if ranking is None else _rank_deviation(ranking)
    return quality


def contests_as_matches(rounds: Ragged | Dataset) -> tuple[HostArray, HostArray] | None:
    """Contests of two sides as matches: the row [E] of one participant of each, and the score [E] of their side.

    The prediction of that row is that of the match. None unless all contests are of two sides.
    """
    ragged, flat, _ = _flatten_rounds(rounds)
    if (count_teams(ragged) != 2).any():
        return None
    first = ragged.player_start[:-1]
    won = np.where(np.maximum.reduceat(flat.rank, first) > 0, 1.0, 0.5)
    return first, np.where(flat.rank[first] > 0, 0.0, won)


@check_arguments
def experience_mask(events: Matches | Ragged | Dataset, min_games: int) -> HostArray:
    """A mask that skips the first games of every player.

    Args:
      events: matches, or rounds, or their `Dataset`.
      games: how many each must have played before.

    Returns:
      [n] whether both players of a match have; for rounds, [sum P] whether the participant has. Contests of one player
      or of one tie say nothing about anybody, and do not count.
    """
    events, _ = resolve_events(events)
    if isinstance(events, Matches):
        player = np.asarray(events.player).ravel()
        counted = np.ones(len(player), bool)
    else:
        rounds, flat, event = _flatten_rounds(events)
        player, counted = np.asarray(flat.player), _has_untied_opponent(flat, event) & ~repeat_seat_mask(rounds)
    order, before = np.argsort(player, kind="stable"), np.empty(len(player), np.int64)
    first = np.flatnonzero(np.diff(player[order], prepend=-1))
    total = np.cumsum(counted[order]) - counted[order]
    before[order] = total - np.repeat(total[first], np.diff(first, append=len(player)))
    if not isinstance(events, Matches) and flat.seat is not None:
        before = before[rounds.player_start[:-1][event] + flat.seat]
    enough = before >= min_games
    return np.asarray(enough.reshape(-1, 2).all(axis=1) if isinstance(events, Matches) else enough)


def _flatten_rounds(data: Any) -> tuple[Ragged, Rounds, HostArray]:
    """Rounds, their participants end to end, and [sum P] the number of each one's contest."""
    rounds, _ = resolve_events(data)
    if isinstance(rounds, Ragged) and isinstance(rounds.events, Rounds):
        size = np.diff(rounds.player_start)
        return rounds, rounds.events, np.repeat(np.arange(len(size)), size)
    kind = type(rounds.events if isinstance(rounds, Ragged) else rounds).__name__
    raise ValueError(f"expected rounds of many players, as `jaxrate.rounds` makes them, got {kind}")


def _check_games_before(played: Any, least: int) -> HostArray:
    """[num_players] contests before these, checked."""
    counts = np.zeros(least) if played is None else to_floats("played", played)
    if counts.ndim != 1 or len(counts) < least:
        raise ValueError(f"played must be [num_players] for {least} players or more, got the shape {counts.shape}")
    return counts


def _has_untied_opponent(flat: Rounds, event: HostArray) -> HostArray:
    """[sum P] whether there is anyone in the participant's contest with whom they do not tie."""
    behind = np.bincount(event, np.asarray(flat.rank) > 0)
    return np.asarray(behind[event] > 0)


class _ScoredRanking(NamedTuple):
    """The n participants to score, contest by contest, each from first to last."""

    event: HostArray  # [n] the number of the contest
    size: HostArray  # [E] participants scored
    low: HostArray  # [n] the first rank of the tie, from 0 and among those scored
    high: HostArray  # [n] the last one
    order: HostArray  # [n] who comes where by rating, contest by contest from the highest, equal ratings as they stand


def _prepare_ranking(data: Any, rating: Any, mask: Any) -> _ScoredRanking:
    (rounds, flat, event), x = _flatten_rounds(data), to_floats("rating", rating)
    rank = np.asarray(flat.rank)
    keep = np.ones(x.shape, bool) if mask is None else np.asarray(mask)
    if not x.shape == keep.shape == rank.shape:
        shapes = f"{rank.shape}, {x.shape} and {keep.shape}"
        raise ValueError(f"participants, rating and mask must be [sum P] alike, got {shapes}")
    if keep.dtype != bool:
        raise ValueError(f"mask must be boolean, got {keep.dtype}")
    fail_where(keep & ~np.isfinite(x), lambda row: f"rating is {x[row]}")
    keep = keep & _has_untied_opponent(flat, event)
    size = np.bincount(event[keep], minlength=len(rounds.player_start) - 1)
    size[size < 2] = 0
    rows = np.flatnonzero(keep & (size[event] > 0))
    if not rows.size:
        raise ValueError("no contests to score: none has two participants to be compared who did not all tie")
    event, rank = event[rows], rank[rows]
    standing = np.lexsort((to_smallest_dtype(rank), to_smallest_dtype(event)))
    rank, x = rank[standing], x[rows[standing]]
    head = np.flatnonzero((np.diff(event, prepend=-1) != 0) | (np.diff(rank, prepend=-1) != 0))
    length = np.diff(head, append=len(rank))
    low = np.repeat(head, length) - _contest_starts(size, event)
    high = low + np.repeat(length, length) - 1
    return _ScoredRanking(event, size, low, high, np.lexsort((-x, to_smallest_dtype(event))))


def _pairwise_accuracy(ranking: _ScoredRanking) -> float:
    event, size, low, _, order = ranking
    place, begin = np.empty(len(order), np.int64), _contest_starts(size, event)
    # in the standing, ties broken by the rating: a permutation of each contest
    place[np.lexsort((to_smallest_dtype(low[order]), to_smallest_dtype(event)))] = np.arange(len(order))
    wrong = 2.0 * count_inversions(place - begin, begin) / (size[event] - 1)
    return float(1.0 - wrong.sum() / len(wrong))


def _rank_deviation(ranking: _ScoredRanking) -> float:
    event, size, low, high, order = ranking
    place = np.arange(len(order)) - _contest_starts(size, event)
    distance = np.maximum(np.maximum(low[order] - place, place - high[order]), 0)
    return float((distance / (size[event] - 1)).sum() / len(distance))


def _contest_starts(size: HostArray, event: HostArray) -> HostArray:
    """[n] where each one's contest begins."""
    return np.asarray((np.cumsum(size) - size)[event])


def _clip_margin(prediction: Any) -> float:
    """How far from 0 and 1 predictions of this precision are kept."""
    return 1e-15 if np.asarray(expected_score(prediction)).dtype == np.float64 else 2.0**-24


def _log_loss(samples: tuple[HostArray, HostArray, HostArray], margin: float) -> float:
    p, s, w = samples
    return float(np.average(_log_losses(p, s, margin), weights=w))


def _log_losses(p: HostArray, s: HostArray, margin: float) -> HostArray:
    p = np.clip(p, margin, 1.0 - margin)
    return -s * np.log(p) - (1.0 - s) * np.log1p(-p)


def _brier(samples: tuple[HostArray, HostArray, HostArray]) -> float:
    p, s, w = samples
    return float(np.average((p - s) ** 2, weights=w))


def _accuracy(samples: tuple[HostArray, HostArray, HostArray]) -> float:
    p, s, w = samples
    return float(np.average(np.where(p > 0.5, s, np.where(p < 0.5, 1.0 - s, 0.5)), weights=w))


def _calibration(samples: tuple[HostArray, HostArray, HostArray], bins: int) -> Calibration:
    p, s, w = samples
    bin_index = np.minimum((p * bins).astype(np.int64), bins - 1)
    total, predicted, observed = (np.bincount(bin_index, x, bins) for x in (w, w * p, w * s))
    error = float(np.abs(observed - predicted).sum() / w.sum())
    with np.errstate(invalid="ignore"):
        return Calibration(predicted / total, observed / total, total, error)


def _select_samples(prediction: Any, score: Any, weight: Any, mask: Any) -> tuple[HostArray, HostArray, HostArray]:
    """Predictions, scores and weights to be scored, checked."""
    for name, x in (("prediction", expected_score(prediction)), ("score", score), ("weight", weight), ("mask", mask)):
        check_not_traced(name, x, "a loss of what is traced is written with jax.numpy")
    p, s = to_floats("prediction", expected_score(prediction)), to_floats("score", score)
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
