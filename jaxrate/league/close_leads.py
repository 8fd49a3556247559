"""How sure a lead is: the chance that the player with the higher rating is the better one."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal

LEVEL_CHANCE = 0.6  # of the leader to be the better one, up to which two are almost level
CLEAR_CHANCE = 0.95  # from which on a lead is told without "probably"


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
