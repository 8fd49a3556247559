"""How good predictions were, in words for people who know no measures."""

import math
from typing import Any, NamedTuple

import numpy as np

from jaxrate.events import rounds
from jaxrate.league.rated_history import Rated
from jaxrate.metrics.prediction_metrics import (
    calibration,
    experience_mask,
    match_metrics,
    mirror_winner_first,
    ranking_metrics,
)
from jaxrate.site.wording import format_count
from jaxrate.types import HostArray

NO_DATA_TEXT = "There is nothing to tell by yet."
PAIR_GROUPS = ("Of two participants", "", 1), ("Among those with at least five contests before", ", 5plus", 5)


class AccuracySummary(NamedTuple):
    texts: list[str]  # sentences
    bins: list[list[float]]  # predicted, observed, how many; none of contests


def summarise_accuracy(rated: Rated) -> AccuracySummary:
    """What became of all predictions of a history."""
    return _summarise_matches(rated) if rated.contests is None else _summarise_contests(rated)


def _summarise_matches(rated: Rated) -> AccuracySummary:
    table = rated.predictions
    return _summarise_two_sided(table["prediction"].to_numpy(), table["score"].to_numpy(), "match")


def _summarise_two_sided(prediction: HostArray, score: HostArray, event: str) -> AccuracySummary:
    """Of events of two sides, from the expected score and the score of one of them."""
    guess, score = prediction.astype(float), score.astype(float)
    metrics = match_metrics(guess, score)
    p, won, weight = mirror_winner_first(guess, score)
    bins = calibration(p, won, weight=weight)
    kept = [list(x) for x in np.transpose(bins[:3])[bins.weight > 0].tolist()]
    drawn = " (a draw counts as half)" if ((score > 0) & (score < 1)).any() else ""
    off = 100 * metrics["calibration error"]
    won_of = " or ".join(f"{x:.0f}" for x in dict.fromkeys((max(round(70 - off), 0), min(round(70 + off), 100))))
    texts = [
        f"The favourite won {metrics['accuracy']:.1%} of {format_count(len(score), event)}{drawn}. "
        "By tossing a coin it would be 50 %.",
        f"What happened had been given a chance of {math.exp(-metrics['log loss']):.1%}, on average; "
        "a coin gives 50 %, and more is better. "
        f"(This is the geometric mean, and follows from the log loss, {metrics['log loss']:.4f}. "
        f"The Brier score is {metrics['Brier score']:.4f}.)",
        f"Chances were off by {off:.1f} percentage points, on average: of 100 who were given 70 %, about {won_of} won.",
    ]
    return AccuracySummary([_space_percent_signs(text) for text in texts], kept)


def _summarise_contests(rated: Rated) -> AccuracySummary:
    """Of contests of two sides as of matches; of others by who was ahead of whom."""
    table = rated.predictions
    size, sides = (table[name].to_numpy() for name in ("participants", _side_count_column(table)))
    begin, row = [], 0
    while row < len(size):
        begin.append(row)
        row += int(size[row])
    which = np.repeat(np.arange(len(begin)), size[begin])[sides > 1]
    if not len(which):
        return AccuracySummary([NO_DATA_TEXT], [])
    table = table.filter(sides > 1)
    return (
        _summarise_two_sided_contests(table, which)
        if (sides[sides > 1] == 2).all()
        else _summarise_many_sided_contests(table, which)
    )


def _side_count_column(table: Any) -> str:
    return "teams" if "teams" in table.column_names else "participants"


def _summarise_two_sided_contests(table: Any, contest: HostArray) -> AccuracySummary:
    rank, first = table["rank"].to_numpy(), np.flatnonzero(np.diff(contest, prepend=-1))
    best, worst = np.minimum.reduceat(rank, first), np.maximum.reduceat(rank, first)
    score = np.where(rank[first] > best, 0.0, np.where(worst > best, 1.0, 0.5))
    return _summarise_two_sided(table["prediction"].to_numpy()[first], score, "contest")


def _summarise_many_sided_contests(table: Any, contest: HostArray) -> AccuracySummary:
    """By ratings; a team is one participant, who is judged by what was expected of it."""
    rank, judged = table["rank"].to_numpy(), table["rating"].to_numpy()
    _, player = np.unique(table["player"].to_numpy(zero_copy_only=False).astype(str), return_inverse=True)
    said = [(f"{who}, the one with the higher rating", key, least) for who, key, least in PAIR_GROUPS]
    if _side_count_column(table) == "teams":  # the members share rank and prediction
        said, judged = [("Of two teams, the one that was expected to be ahead", "", 0)], table["prediction"].to_numpy()
        kept = np.unique(np.stack([contest, rank, judged]), axis=1, return_index=True)[1]
        contest, rank, judged, player = (x[kept] for x in (contest, rank, judged, player))
    _, number = np.unique(contest, return_inverse=True)
    contests: Any = rounds(number, player, rank, time=np.zeros(len(rank)))
    # of teams none is a newcomer
    metrics = ranking_metrics(contests, judged, played=None if said[0][2] else np.ones(player.max() + 1))
    texts = [
        f"{who} was not behind in {metrics[f'pair inversion{key}']:.1%}. "
        f"By tossing a coin it would be {_format_tie_chance(contests, least)}. "
        f"Places were off by {metrics[f'rank deviation{key}']:.1%} of the field, on average."
        for who, key, least in said
        if not math.isnan(metrics[f"pair inversion{key}"])
    ]
    return AccuracySummary([_space_percent_signs(text) for text in texts or [NO_DATA_TEXT]], [])


def _format_tie_chance(contests: Any, min_played: int) -> str:
    """How often one of two is not behind by chance: half of the time, and whenever they tie."""
    event, rank = (
        np.repeat(np.arange(len(contests.player_start) - 1), np.diff(contests.player_start)),
        contests.events.rank,
    )
    kept = experience_mask(contests, min_played) & (np.bincount(event, rank > 0)[event] > 0)
    kept &= np.bincount(event[kept], minlength=event[-1] + 1)[event] > 1
    place = np.stack([event, rank])[:, kept]
    _, tie, tied = np.unique(place, axis=1, return_inverse=True, return_counts=True)
    others = np.bincount(place[0])[place[0]] - 1
    share = 0.5 + 0.5 * float(((tied[tie.ravel()] - 1) / others).mean())
    return f"{share:.1%}".replace(".0%", "%")


def _space_percent_signs(text: str) -> str:
    """Percent signs apart from their numbers, as elsewhere on the site."""
    return text.replace("%", " %").replace("  %", " %")
