"""How good predictions were, in words for people who know no measures."""

import math
from typing import Any, NamedTuple

import numpy as np

from jaxrate.events import rounds
from jaxrate.records.metrics import both_sides, calibration, scores, standings
from jaxrate.records.rated import Rated


class Worded(NamedTuple):
    texts: list[str]  # sentences
    bins: list[list[float]]  # predicted, observed, how many; none of contests


def worded(rated: Rated) -> Worded:
    """What became of all predictions of a history."""
    return _of_matches(rated) if rated.contests is None else _of_contests(rated)


def _of_matches(rated: Rated) -> Worded:
    table = rated.predictions
    guess, score = (table[name].to_numpy().astype(float) for name in ("prediction", "score"))
    found = scores(guess, score)
    p, won, weight = both_sides(guess, score)
    bins = calibration(p, won, weight=weight)
    kept = [list(x) for x in np.transpose(bins[:3])[bins.weight > 0].tolist()]
    drawn = " (a draw counts as half)" if ((score > 0) & (score < 1)).any() else ""
    texts = [
        f"The favourite won {found['accuracy']:.1%} of {len(table):,} matches{drawn}. "
        "By tossing a coin it would be 50 %.",
        f"What happened had been given a chance of {math.exp(-found['log loss']):.1%}, on average; "
        "a coin gives 50 %, and more is better. "
        f"(This is the geometric mean, and follows from the log loss, {found['log loss']:.4f}. "
        f"The Brier score is {found['Brier score']:.4f}.)",
        f"Chances were off by {100 * found['calibration error']:.1f} percentage points, on average: "
        "where 70 % was given, about so much more or fewer than 70 of 100 won.",
    ]
    return Worded([_spaced(text) for text in texts], kept)


def _of_contests(rated: Rated) -> Worded:
    table = rated.predictions
    size = table["participants"].to_numpy()
    begin, row = [], 0
    while row < len(size):
        begin.append(row)
        row += int(size[row])
    which = np.repeat(np.arange(len(begin)), size[begin])
    _, player = np.unique(table["player"].to_numpy(zero_copy_only=False).astype(str), return_inverse=True)
    given: Any = rounds(which, player, table["rank"].to_numpy(), time=np.zeros(len(size)))
    found = standings(given, table["rating"].to_numpy())
    said = [("Of two participants", ""), ("Among those with at least five contests before", ", 5plus")]
    texts = []
    for who, key in said:
        ahead, off = found[f"pair inversion{key}"], found[f"rank deviation{key}"]
        if ahead == ahead:
            texts.append(
                f"{who}, the one with the higher rating was not behind in {ahead:.1%}. "
                "By tossing a coin it would be 50 %. "
                f"Places were off by {off:.1%} of the field, on average."
            )
    return Worded([_spaced(text) for text in texts or ["There is nothing to tell by yet."]], [])


def _spaced(text: str) -> str:
    """Percent signs apart from their numbers, as elsewhere on the site."""
    return text.replace("%", " %").replace("  %", " %")
