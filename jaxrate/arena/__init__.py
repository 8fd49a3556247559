"""Strengths of players who do not change, from results in any order, with their uncertainty.

votes.py                         votes between two players, and their counts by pair, from matches or tables of counts
vote_sources.py                  votes read from a table or a file, in any order, with columns of clusters
comparison_graph.py              which players can be compared: components, and players who only won or only lost
newton.py                        maximum likelihood by Newton's method
plackett_luce.py                 Plackett-Luce
plackett_luce_fit.py             maximum likelihood strengths from the rankings of rounds
standard_errors.py               covariances by curvature, sandwich, clustered sandwich and bootstrap
strength_estimates.py            the result: strengths, and how they are printed
strength_fit.py                  `fit_strengths`: strengths from matches, counts or rounds
rank_inference.py                simultaneous sets of ranks, groups, and the number of votes that are still needed
first_place.py                   who may be first, in a sentence
strength_drift.py                whether strengths changed: static against drifting, and player by player
fluctuation_tests.py             the test of each player: how their results scatter over time
sequential_testing.py            sequential probability ratio tests of one player against another
frozen_system.py                 strengths as a rating system that does not learn
paired_comparison_likelihood.py  Bradley-Terry, Davidson and Rao-Kupper
strength_options.py              options of `fit_strengths`
"""

from jaxrate.arena.frozen_system import freeze_strengths
from jaxrate.arena.rank_inference import RankSets, rank_sets, votes_needed
from jaxrate.arena.sequential_testing import SequentialTest, pentanomial, sprt
from jaxrate.arena.strength_drift import StrengthDrift, detect_drift
from jaxrate.arena.strength_estimates import Strengths
from jaxrate.arena.strength_fit import fit_strengths
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
