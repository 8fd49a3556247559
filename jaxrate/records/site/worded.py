"""How good predictions were, in words for people who know no measures."""

import math
from typing import Any, NamedTuple

import numpy as np

from jaxrate.data.tables import Values
from jaxrate.events import rounds
from jaxrate.records.metrics import both_sides, calibration, scores, seen, standings
from jaxrate.records.phrases import so_many
from jaxrate.records.rated import Rated

NOTHING = "There is nothing to tell by yet."
WHO = ("Of two participants", "", 1), ("Among those with at least five contests before", ", 5plus", 5)


class Worded(NamedTuple):
    texts: list[str]  # sentences
    bins: list[list[float]]  # predicted, observed, how many; none of contests


def worded(rated: Rated) -> Worded:
    """What became of all predictions of a history."""
    return _of_matches(rated) if rated.contests is None else _of_contests(rated)


def _of_matches(rated: Rated) -> Worded:
    table = rated.predictions
    return _of_two(table["prediction"].to_numpy(), table["score"].to_numpy(), "match")


def _of_two(prediction: Values, score: Values, event: str) -> Worded:
    """Of events of two sides, from the expected score and the score of one of them."""
    guess, score = prediction.astype(float), score.astype(float)
    found = scores(guess, score)
    p, won, weight = both_sides(guess, score)
    bins = calibration(p, won, weight=weight)
    kept = [list(x) for x in np.transpose(bins[:3])[bins.weight > 0].tolist()]
    drawn = " (a draw counts as half)" if ((score > 0) & (score < 1)).any() else ""
    off = 100 * found["calibration error"]
    won_of = " or ".join(f"{x:.0f}" for x in dict.fromkeys((max(round(70 - off), 0), min(round(70 + off), 100))))
    texts = [
        f"The favourite won {found['accuracy']:.1%} of {so_many(len(score), event)}{drawn}. "
        "By tossing a coin it would be 50 %.",
        f"What happened had been given a chance of {math.exp(-found['log loss']):.1%}, on average; "
        "a coin gives 50 %, and more is better. "
        f"(This is the geometric mean, and follows from the log loss, {found['log loss']:.4f}. "
        f"The Brier score is {found['Brier score']:.4f}.)",
        f"Chances were off by {off:.1f} percentage points, on average: of 100 who were given 70 %, about {won_of} won.",
    ]
    return Worded([_spaced(text) for text in texts], kept)


def _of_contests(rated: Rated) -> Worded:
    """Of contests of two sides as of matches; of others by who was ahead of whom."""
    table = rated.predictions
    size, sides = (table[name].to_numpy() for name in ("participants", _sides(table)))
    begin, row = [], 0
    while row < len(size):
        begin.append(row)
        row += int(size[row])
    which = np.repeat(np.arange(len(begin)), size[begin])[sides > 1]
    if not len(which):
        return Worded([NOTHING], [])
    table = table.filter(sides > 1)
    return _of_duels(table, which) if (sides[sides > 1] == 2).all() else _of_many(table, which)


def _sides(table: Any) -> str:
    return "teams" if "teams" in table.column_names else "participants"


def _of_duels(table: Any, which: Values) -> Worded:
    rank, first = table["rank"].to_numpy(), np.flatnonzero(np.diff(which, prepend=-1))
    best, worst = np.minimum.reduceat(rank, first), np.maximum.reduceat(rank, first)
    score = np.where(rank[first] > best, 0.0, np.where(worst > best, 1.0, 0.5))
    return _of_two(table["prediction"].to_numpy()[first], score, "contest")


def _of_many(table: Any, which: Values) -> Worded:
    """By ratings; a team is one participant, who is judged by what was expected of it."""
    rank, judged = table["rank"].to_numpy(), table["rating"].to_numpy()
    _, player = np.unique(table["player"].to_numpy(zero_copy_only=False).astype(str), return_inverse=True)
    said = [(f"{who}, the one with the higher rating", key, least) for who, key, least in WHO]
    if _sides(table) == "teams":  # the members share rank and prediction
        said, judged = [("Of two teams, the one that was expected to be ahead", "", 0)], table["prediction"].to_numpy()
        kept = np.unique(np.stack([which, rank, judged]), axis=1, return_index=True)[1]
        which, rank, judged, player = (x[kept] for x in (which, rank, judged, player))
    _, number = np.unique(which, return_inverse=True)
    given: Any = rounds(number, player, rank, time=np.zeros(len(rank)))
    # of teams none is a newcomer
    found = standings(given, judged, played=None if said[0][2] else np.ones(player.max() + 1))
    texts = [
        f"{who} was not behind in {found[f'pair inversion{key}']:.1%}. "
        f"By tossing a coin it would be {_coin(given, least)}. "
        f"Places were off by {found[f'rank deviation{key}']:.1%} of the field, on average."
        for who, key, least in said
        if not math.isnan(found[f"pair inversion{key}"])
    ]
    return Worded([_spaced(text) for text in texts or [NOTHING]], [])


def _coin(given: Any, least: int) -> str:
    """How often one of two is not behind by chance: half of the time, and whenever they tie."""
    event, rank = np.repeat(np.arange(len(given.player_start) - 1), np.diff(given.player_start)), given.events.rank
    kept = seen(given, least) & (np.bincount(event, rank > 0)[event] > 0)
    kept &= np.bincount(event[kept], minlength=event[-1] + 1)[event] > 1
    place = np.stack([event, rank])[:, kept]
    _, tie, tied = np.unique(place, axis=1, return_inverse=True, return_counts=True)
    others = np.bincount(place[0])[place[0]] - 1
    share = 0.5 + 0.5 * float(((tied[tie.ravel()] - 1) / others).mean())
    return f"{share:.1%}".replace(".0%", "%")


def _spaced(text: str) -> str:
    """Percent signs apart from their numbers, as elsewhere on the site."""
    return text.replace("%", " %").replace("  %", " %")
