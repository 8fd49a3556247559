"""How sure a lead is: the chance that the player with the higher rating is better than the second, or than all."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal

LEVEL_CHANCE = 0.6  # of the leader to be the better one, up to which two are almost level
CLEAR_CHANCE = 0.95  # from which on a lead is told without "probably"
NUM_QUANTILES = 64  # of the leader's rating, over which the chance to be the best of all is a mean
EVEN_PERCENT = 50.5  # expected score in percent above which a player is favoured
FAR_DEVIATIONS = 5.0  # of a difference, beyond which a player is surely not the best

FirstPlace = Literal["level", "probably ahead", "ahead", "probably best", "best"]


def classify_lead(gap: float, deviations: Sequence[float] | None) -> Literal["level", "probable", "clear"]:
    """Whether two players are almost level, or one is the better one, probably or clearly.

    `gap` is the difference of their ratings, `deviations` are those of both, or that of the difference alone. Without
    deviations, any gap above 0 is a clear lead.
    """
    spread = 0.0 if deviations is None else math.hypot(*deviations)
    if spread == 0.0:
        return "level" if gap <= 0.0 else "clear"
    chance = NormalDist().cdf(gap / spread)
    return "level" if chance < LEVEL_CHANCE else "probable" if chance < CLEAR_CHANCE else "clear"


def best_chance(ratings: Sequence[float], deviations: Sequence[float]) -> float:
    """The chance that the first of these players is better than all others, for independent normal beliefs."""
    mean, deviation, normal = ratings[0], deviations[0], NormalDist()
    rivals = [
        (x, max(y, 1e-9))
        for x, y in zip(ratings[1:], deviations[1:], strict=True)
        if mean - x < FAR_DEVIATIONS * math.hypot(deviation, y)
    ]
    total = 0.0
    for k in range(NUM_QUANTILES):
        strength = mean + deviation * normal.inv_cdf((k + 0.5) / NUM_QUANTILES)
        total += math.prod(normal.cdf((strength - x) / y) for x, y in rivals)
    return total / NUM_QUANTILES


def classify_first_place(ratings: Sequence[float], deviations: Sequence[float] | None) -> FirstPlace:
    """What is known of the first of a list with the highest ratings first: better than the second, or than all.

    Without deviations, any lead is one over all.
    """
    lead = classify_lead(ratings[0] - ratings[1], None if deviations is None else deviations[:2])
    if lead == "level":
        return "level"
    if deviations is None or not any(deviations[:2]):
        return "best"
    chance = best_chance(ratings, deviations)
    if chance >= CLEAR_CHANCE:
        return "best"
    return "probably best" if chance >= LEVEL_CHANCE else "ahead" if lead == "clear" else "probably ahead"
