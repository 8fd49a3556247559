"""Default side advantages: as many points as the mean score of players with the side implies.

Of two equal players the one with the side is expected to score p. On a logistic scale that is a lead of
scale log10(p / (1 - p)), on a normal one of deviation Phi^-1(p). Without past matches, p is that of 50 points of Elo;
past matches are averaged with `PRIOR_MATCHES` of these.
"""

import math
from statistics import NormalDist

import numpy as np

from jaxrate.events import Matches

DEFAULT_SIDE_LEAD = 50.0  # points of Elo
DEFAULT_SIDE_SCORE = 1.0 / (1.0 + 10.0 ** (-DEFAULT_SIDE_LEAD / 400.0))
PRIOR_MATCHES = (
    100.0  # weight of the default: a standard error of 0.05, as mean scores differ between games and leagues
)
MIN_SCORE, MAX_SCORE = 0.05, 0.95  # bounds of the expected score of an equal


def logistic_lead_for_score(score: float, scale: float = 400.0) -> float:
    """The lead with this expected score, where a lead of `scale` points means odds of 10 to 1."""
    score = min(max(score, MIN_SCORE), MAX_SCORE)
    return scale * math.log10(score / (1.0 - score))


def normal_lead_for_score(score: float, deviation: float) -> float:
    """The lead with this expected score, where the difference of two performances has this deviation."""
    return deviation * NormalDist().inv_cdf(min(max(score, MIN_SCORE), MAX_SCORE))


def smoothed_mean_side_score(matches: Matches, match_count: int) -> float:
    """The mean score of players with the side in the first `match_count` matches and in the prior ones."""
    if matches.context.side is None:
        return DEFAULT_SIDE_SCORE
    side = np.asarray(matches.context.side[:match_count], np.float64)
    score, weight = np.asarray(matches.score[:match_count], np.float64), matches.context.weight
    match_weight = np.ones(len(side)) if weight is None else np.asarray(weight[:match_count], np.float64)
    lead = PRIOR_MATCHES * (DEFAULT_SIDE_SCORE - 0.5) + np.sum(match_weight * side * (score - 0.5))
    return float(0.5 + lead / (PRIOR_MATCHES + np.sum(match_weight * np.abs(side))))
