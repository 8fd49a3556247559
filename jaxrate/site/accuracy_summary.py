"""The accuracy of predictions in words, for people who do not know metrics."""

import math
from typing import Any, NamedTuple

import numpy as np

from jaxrate.array_types import HostArray
from jaxrate.events import rounds
from jaxrate.league.rated_history import Rated
from jaxrate.metrics.checked_match_metrics import Calibration
from jaxrate.metrics.prediction_metrics import (
    calibration,
    experience_mask,
    match_metrics,
    ranking_metrics,
)
from jaxrate.site.home_sides import HOME, SideWords, home_sides, side_words
from jaxrate.site.reliability_plot import merge_small_bins
from jaxrate.text_format import format_count

MIN_BIAS = 0.5  # percentage points by which favourites won more or less often than predicted, to be said
ONE_SIDED_SHARE = 0.9  # of events, whose chances err to the same side, for this to be said
CHANCE_BINS = 20  # of all chances; those of favourites are in the upper half
MIN_DRAW_SHARE = 0.02  # of matches, from which on draws are told apart
NO_DATA_TEXT = "No predictions can be judged yet."
PAIR_GROUPS = ("Of two participants", "", 1), ("Among those with at least five contests before", ", 5plus", 5)


class HomeScores(NamedTuple):
    """Of those who were at home; matches on neutral ground are not in it."""

    prediction: HostArray
    score: HostArray


class AccuracySummary(NamedTuple):
    title: str  # the finding; empty without matches
    texts: list[str]  # sentences
    bins: list[list[float]]  # chance of the favourite, their mean score, count; empty for contests of many


def summarise_accuracy(rated: Rated) -> AccuracySummary:
    """Compare all predictions of a history with the results, in words."""
    return _summarise_matches(rated) if rated.contests is None else _summarise_contests(rated)


def _summarise_matches(rated: Rated) -> AccuracySummary:
    table = rated.predictions
    score, prediction = table["score"].to_numpy(), table["prediction"].to_numpy()
    side = home_sides(rated)
    home = (
        None if side is None else HomeScores(*(np.where(side > 0, x, 1.0 - x)[side != 0] for x in (prediction, score)))
    )
    return _summarise_two_sided(prediction, score, "match", home, side_words(rated))


def _summarise_two_sided(
    prediction: HostArray, score: HostArray, event: str, home: HomeScores | None = None, words: SideWords = HOME
) -> AccuracySummary:
    """Summarise events of two sides, from the prediction and the score of one of them."""
    predictions, score = prediction.astype(float), score.astype(float)
    metrics, bins = match_metrics(predictions, score), _favourite_calibration(predictions, score)
    has_draws = bool(((score > 0) & (score < 1)).any())
    share, drew = metrics["accuracy"], (score == 0.5).mean()
    events, many = format_count(len(score), event), "matches" if event == "match" else "contests"
    with_draws = drew > MIN_DRAW_SHARE
    if with_draws:  # then a favourite's wins alone are far from their score
        wins = (np.where(predictions > 0.5, score, 1.0 - score) == 1.0).mean()
        title = f"The favourite won {wins:.0%} of {many} and drew {drew:.0%}"
        finding = (
            f"The favourite won {wins:.1%} of {events} and drew {drew:.1%}: {share:.1%} with a draw as half a win."
        )
    else:
        title = f"The favourite won {share:.0%} of {many}"
        draws = ", counting a draw as half a win" if has_draws else ""
        finding = f"The favourite won {share:.1%} of {events}{draws}."
    if home is not None and len(home.score) and home.score.mean() > 0.5:
        title += "" if with_draws else f", {words.holder} {home.score.mean():.0%}"
        finding += f" {_describe_home_scores(home, with_draws, words)}"
    texts = [
        f"{finding} Chance alone gives 50%.",
        f"The actual results had been given a chance of {math.exp(-metrics['log loss']):.1%}, on average; "
        "even chances give 50%, and more is better. "
        f"(This is the geometric mean, and follows from the log loss, {metrics['log loss']:.4f}. "
        f"The Brier score is {metrics['Brier score']:.4f}.)",
        _describe_calibration(bins, has_draws),
    ]
    filled_bins = np.transpose(bins[:3])[bins.weight > 0].tolist()
    return AccuracySummary(title, texts, merge_small_bins(filled_bins))


def _favourite_calibration(prediction: HostArray, score: HostArray) -> Calibration:
    """The calibration of the chances of favourites, whichever side they are listed on; of equals, each counts half."""
    favours_second = prediction < 0.5
    favourite_score = np.where(favours_second, 1.0 - score, np.where(prediction > 0.5, score, 0.5))
    return calibration(np.where(favours_second, 1.0 - prediction, prediction), favourite_score, bins=CHANCE_BINS)


def _describe_home_scores(home: HomeScores, with_draws: bool, words: SideWords) -> str:
    """How often those at home won, of the matches in which somebody was, and what had been predicted."""
    score = home.score
    where = f"of the {format_count(len(score), 'match')} {words.known}"
    holder, predicted = words.holder[0].upper() + words.holder[1:], f"{home.prediction.mean():.1%} were predicted"
    if not with_draws:
        return f"{holder} won {score.mean():.1%} {where}; {predicted}."
    won, drew = (score == 1.0).mean(), (score == 0.5).mean()
    return f"{holder} won {won:.1%} and drew {drew:.1%} {where}: {score.mean():.1%} in the same way; {predicted}."


def _describe_calibration(bins: Calibration, has_draws: bool) -> str:
    """How far favourites' chances were off in percentage points, and whether they won more or less than predicted.

    Where there are draws, each counts as half a win.
    """
    draws = ", with draws as half a win" if has_draws else ""
    weight, shift = bins.weight, 100 * np.nan_to_num(bins.observed - bins.predicted)
    bias, error = float(np.average(shift, weights=weight)), 100 * bins.error
    text = f"Favourites' chances were off by {error:.1f} percentage points, on average"
    if abs(bias) >= MIN_BIAS and weight[shift * bias > 0].sum() > ONE_SIDED_SHARE * weight.sum():
        near = slice(round(0.6 * CHANCE_BINS), round(0.8 * CHANCE_BINS))
        if weight[near].sum() > 0:
            bias = float(np.average(shift[near], weights=weight[near]))
        text += f", and favourites won {'more' if bias > 0 else 'less'} often than predicted"
        return f"{text}: of 100 who were given 70%, about {_add_to_seventy(bias)} won{draws}."
    wins = _add_to_seventy(-error), _add_to_seventy(error)
    count = f"about {wins[0]}" if wins[0] == wins[-1] else f"{wins[0]} to {wins[-1]}"
    return f"{text}: of 100 who were given 70%, {count} won{draws}."


def _add_to_seventy(points: float) -> int:
    return min(max(round(70 + points), 0), 100)


def _summarise_contests(rated: Rated) -> AccuracySummary:
    """Summarise contests of two sides as matches, and others by pairs of participants."""
    table = rated.predictions
    size, sides = (table[name].to_numpy() for name in ("participants", _team_or_participant_count_column(table)))
    begin, row = [], 0
    while row < len(size):
        begin.append(row)
        row += int(size[row])
    contest = np.repeat(np.arange(len(begin)), size[begin])[sides > 1]
    if not len(contest):
        return AccuracySummary("", [NO_DATA_TEXT], [])
    table = table.filter(sides > 1)
    return (
        _summarise_two_sided_contests(table, contest)
        if (sides[sides > 1] == 2).all()
        else _summarise_many_sided_contests(table, contest)
    )


def _team_or_participant_count_column(table: Any) -> str:
    return "teams" if "teams" in table.column_names else "participants"


def _summarise_two_sided_contests(table: Any, contest: HostArray) -> AccuracySummary:
    rank, first = table["rank"].to_numpy(), np.flatnonzero(np.diff(contest, prepend=-1))
    best, worst = np.minimum.reduceat(rank, first), np.maximum.reduceat(rank, first)
    score = np.where(rank[first] > best, 0.0, np.where(worst > best, 1.0, 0.5))
    return _summarise_two_sided(table["prediction"].to_numpy()[first], score, "contest")


def _summarise_many_sided_contests(table: Any, contest: HostArray) -> AccuracySummary:
    """Summarise by ratings; a team counts as one participant, by its prediction."""
    rank, predictor = table["rank"].to_numpy(), table["rating"].to_numpy()
    _, player = np.unique(table["player"].to_numpy(zero_copy_only=False).astype(str), return_inverse=True)
    groups = [(f"{who}, the one with the higher rating", key, least) for who, key, least in PAIR_GROUPS]
    if _team_or_participant_count_column(table) == "teams":  # members share rank and prediction
        groups, predictor = (
            [("Of two teams, the one that was expected to be ahead", "", 0)],
            table["prediction"].to_numpy(),
        )
        first_members = np.unique(np.stack([contest, rank, predictor]), axis=1, return_index=True)[1]
        contest, rank, predictor, player = (x[first_members] for x in (contest, rank, predictor, player))
    _, number = np.unique(contest, return_inverse=True)
    contests: Any = rounds(number, player, rank, time=np.zeros(len(rank)))
    # no team counts as a newcomer
    metrics = ranking_metrics(contests, predictor, played=None if groups[0][2] else np.ones(player.max() + 1))
    texts = [
        f"{who} was not behind in {metrics[f'pair inversion{key}']:.1%}. "
        f"Chance alone gives {_format_chance_accuracy(contests, least)}. "
        f"Places were off by {metrics[f'rank deviation{key}']:.1%} of the field, on average."
        for who, key, least in groups
        if not math.isnan(metrics[f"pair inversion{key}"])
    ]
    return AccuracySummary("", texts or [NO_DATA_TEXT], [])


def _format_chance_accuracy(contests: Any, min_played: int) -> str:
    """How often one of two would not be behind by chance: half of the time, and whenever they tie."""
    event, rank = (
        np.repeat(np.arange(len(contests.player_start) - 1), np.diff(contests.player_start)),
        contests.events.rank,
    )
    is_counted = experience_mask(contests, min_played) & (np.bincount(event, rank > 0)[event] > 0)
    is_counted &= np.bincount(event[is_counted], minlength=event[-1] + 1)[event] > 1
    place = np.stack([event, rank])[:, is_counted]
    _, tie, tie_size = np.unique(place, axis=1, return_inverse=True, return_counts=True)
    others = np.bincount(place[0])[place[0]] - 1
    share = 0.5 + 0.5 * float(((tie_size[tie.ravel()] - 1) / others).mean())
    return f"{share:.1%}".replace(".0%", "%")
