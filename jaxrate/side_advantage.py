"""What the better side is worth where nobody says: as many points as the mean score of those who had it asks for.

An equal who has the side is expected to score p. On a logistic scale that is a lead of scale log10(p / (1 - p)), on a
normal one of deviation Phi^-1(p). Where nothing of the past is known, p is that of 50 points of Elo; what is known adds
to `USUAL_MATCHES` of these.
"""

import math
from statistics import NormalDist

import numpy as np

from jaxrate.events import Matches

DEFAULT_SIDE_LEAD = 50.0  # points of Elo
DEFAULT_SIDE_SCORE = 1.0 / (1.0 + 10.0 ** (-DEFAULT_SIDE_LEAD / 400.0))
PRIOR_MATCHES = 100.0  # whose mean score, of a standard error of 0.05, varies as that of games and leagues does
MIN_SCORE, MAX_SCORE = 0.05, 0.95  # that an equal is expected to have


def logistic_lead(score: float, scale: float = 400.0) -> float:
    """The lead at which so much is expected, where a lead of `scale` points means odds of 10 to 1."""
    score = min(max(score, MIN_SCORE), MAX_SCORE)
    return scale * math.log10(score / (1.0 - score))


def normal_lead(score: float, deviation: float) -> float:
    """The lead at which so much is expected, where the difference of two performances has this deviation."""
    return deviation * NormalDist().inv_cdf(min(max(score, MIN_SCORE), MAX_SCORE))


def mean_side_score(matches: Matches, match_count: int) -> float:
    """The mean score of those who had the side in the first matches, so many of them, and in usual ones."""
    if matches.context.side is None:
        return DEFAULT_SIDE_SCORE
    side = np.asarray(matches.context.side[:match_count], np.float64)
    score, weight = np.asarray(matches.score[:match_count], np.float64), matches.context.weight
    each = np.ones(len(side)) if weight is None else np.asarray(weight[:match_count], np.float64)
    lead = PRIOR_MATCHES * (DEFAULT_SIDE_SCORE - 0.5) + np.sum(each * side * (score - 0.5))
    return float(0.5 + lead / (PRIOR_MATCHES + np.sum(each * np.abs(side))))
