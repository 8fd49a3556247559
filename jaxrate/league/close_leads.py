"""Whether a lead is one: the chance that the player with the higher rating is the better one."""

import math
from collections.abc import Sequence
from statistics import NormalDist

CLOSE_CHANCE = 0.6  # of the leader to be the better one, up to which two are almost level


def is_lead_close(gap: float, deviations: Sequence[float] | None) -> bool:
    """Whether two players are almost level, from the gap of their ratings and the deviations of both.

    Without deviations, any gap above 0 is a lead.
    """
    spread = 0.0 if deviations is None else math.hypot(*deviations)
    if spread == 0.0:
        return gap <= 0.0
    return NormalDist().cdf(gap / spread) < CLOSE_CHANCE
