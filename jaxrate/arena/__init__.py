"""Strengths that do not move, from results whose order does not count, and how sure they are.

votes.py      votes by two players and their counts by pair, from matches or tables of counts
graph.py      whose results are comparable: components, and who only won or only lost
models.py     Bradley-Terry, Davidson and Rao-Kupper: likelihood of the counts and its two derivatives
newton.py     the likeliest strengths, by Newton's method
rankings.py   Plackett-Luce: likelihood of rankings with ties, or of a part, and its two derivatives
contests.py   the likeliest strengths from the rankings of rounds
errors.py     covariances: of the curvature, of the sandwich, of clusters, of the bootstrap
found.py      what is found, and how it reads
certain.py    what is certain: ranks that hold together, groups, votes still needed
moved.py      whether strengths moved: static against drifting, and player by player
fluctuation.py the test of each player: how their results scatter over time
sequential.py sequential tests of one against another
frozen.py     strengths as a rating system that learns nothing
page.py       all of it as a page of HTML
static.py     the door
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
