"""Rated histories of players with names and dates: ratings, leaderboards, careers, comparisons of systems."""

from jaxrate.league import beliefs
from jaxrate.league.blending import Blend, blend_systems
from jaxrate.league.comparison_table import Comparison
from jaxrate.league.contest_performances import performance_ratings
from jaxrate.league.event_ratings import History, rating_history
from jaxrate.league.match_records import HeadToHead, best_wins, head_to_head, recent_form, upsets
from jaxrate.league.out_of_core.parquet_rating import RatedFiles, rate_files
from jaxrate.league.player_history import rating_at, rating_table
from jaxrate.league.rating_peaks import PeakRatings, peak_ratings
from jaxrate.league.ratings_at_times import modifiers
from jaxrate.league.separate_leagues import rate_leagues
from jaxrate.league.starting_ratings import initial_state
from jaxrate.smoothing.smoothing_result import Smoothed
from jaxrate.systems.rounds.worst_ranks import Performances

__all__ = [
    "Blend",
    "Comparison",
    "HeadToHead",
    "History",
    "PeakRatings",
    "Performances",
    "RatedFiles",
    "Smoothed",
    "beliefs",
    "best_wins",
    "blend_systems",
    "head_to_head",
    "initial_state",
    "modifiers",
    "peak_ratings",
    "performance_ratings",
    "rate_files",
    "rate_leagues",
    "rating_at",
    "rating_history",
    "rating_table",
    "recent_form",
    "upsets",
]
