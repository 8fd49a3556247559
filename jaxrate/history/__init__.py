"""Rated histories of players with names and dates: ratings, leaderboards, careers, form, head to head.

dataset_rating.py                   rate: a dataset rated event by event
history.py                          History: ratings through time, which every question takes
event_columns.py                    the columns of events, and tables of them
hindsight.py                        smooth: histories with hindsight
history_continuation.py             whether and how events follow a history
prediction_columns.py               predictions as columns of a table
online_calibration.py              chances of default systems, calibrated by a slope that is learnt online
separate_leagues.py                 rate_leagues: leagues rated apart
starting_ratings.py                 initial_state: ratings of one's own to start from
ratings_before_and_after_events.py  rating_history: ratings before and after each event
contest_performances.py             performance_ratings of contests
ratings_at_times.py                 ratings, modifiers and ratings by category as of a time
query_time.py                       times as of which ratings are asked for
player_careers_and_ratings.py       career, rating_at, rating_table
participations.py                   who took part in which event, with ratings before and after
trajectories.py                     all ratings of all players through time
rating_drift.py                     the median of the active through time, which peaks are measured against
rating_peaks.py                     peak_ratings
leaderboards.py                     leaderboard
shown_ratings.py                    ratings as leaderboards show them: cautious, or where players meet a category
ranks_over_time.py                  ranks through time
lead_start.py                       since when the leader has led
leaderboard_table.py                Leaderboard, and how it prints
close_leads.py                      whether a lead is clear, probable, or two are almost level
team_goals.py                       attack_and_defence of teams
match_history_queries.py            head to head, upsets, best wins, recent form
column_table.py                     ColumnTable: columns that print as a table
run_metadata.py                     the metadata of a saved run
blat_mmr_beliefs.py                 quantiles, modes and probabilities of the beliefs of BlatMMR
saved_runs.py                       save and load: histories in folders
out_of_core/                        histories larger than memory
"""

from jaxrate.history import blat_mmr_beliefs
from jaxrate.history.contest_performances import performance_ratings
from jaxrate.history.history import History
from jaxrate.history.match_history_queries import HeadToHead, best_wins, head_to_head, recent_form, upsets
from jaxrate.history.out_of_core.parquet_rating import RatedFiles, rate_files
from jaxrate.history.participations import Participations
from jaxrate.history.player_careers_and_ratings import rating_at, rating_table
from jaxrate.history.rating_peaks import PeakRatings, peak_ratings
from jaxrate.history.ratings_at_times import category_ratings, modifiers
from jaxrate.history.ratings_before_and_after_events import RecordedRun, rating_history
from jaxrate.history.separate_leagues import rate_leagues
from jaxrate.history.starting_ratings import initial_state
from jaxrate.history.team_goals import attack_and_defence
from jaxrate.smoothing.smoothing_result import Smoothed
from jaxrate.systems.rounds.performances_and_break_even_ranks import Performances

__all__ = [
    "HeadToHead",
    "History",
    "Participations",
    "PeakRatings",
    "Performances",
    "RatedFiles",
    "RecordedRun",
    "Smoothed",
    "attack_and_defence",
    "best_wins",
    "blat_mmr_beliefs",
    "category_ratings",
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


def __dir__() -> list[str]:
    return __all__
