"""Strengths of players who do not change, from results in any order, with their uncertainty.

votes.py                         votes: named, counted, and read from tables
newton.py                        maximum likelihood by Newton's method, and covariances
strength_fit.py                  the fit of strengths that do not change, from votes or matches
rank_inference.py                simultaneous sets of ranks, groups, and the number of votes that are still needed
strength_drift.py                whether strengths moved: tests of fluctuations, and players who drifted
sequential_testing.py            sequential probability ratio tests of one player against another
frozen_system.py                 strengths as a rating system that does not learn
"""

from jaxrate.arena.frozen_system import freeze_strengths
from jaxrate.arena.rank_inference import RankSets, rank_sets, votes_needed
from jaxrate.arena.sequential_testing import SequentialTest, pentanomial, sprt
from jaxrate.arena.strength_drift import StrengthDrift, detect_drift
from jaxrate.arena.strength_fit import Strengths, fit_strengths
from jaxrate.arena.votes import VoteCounts, count_votes

__all__ = [
    "RankSets",
    "SequentialTest",
    "StrengthDrift",
    "Strengths",
    "VoteCounts",
    "count_votes",
    "detect_drift",
    "fit_strengths",
    "freeze_strengths",
    "pentanomial",
    "rank_sets",
    "sprt",
    "votes_needed",
]


def __dir__() -> list[str]:
    return __all__
