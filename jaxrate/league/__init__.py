"""Rated histories of players with names and dates: ratings, leaderboards, careers, comparisons of systems.

dataset_rating.py                   rate: a dataset rated event by event
rated_history.py                    Rated: the result; players, times and seasons of it
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
system_comparison.py                compare: systems on the same events
comparison_candidates.py            the systems that can be compared on a dataset
contenders.py                       systems that are compared: fitted to the past, and replayed against the clock
comparison_table.py                 Comparison, and how it prints
comparison_notes.py                 the notes beneath its table
system_benchmark.py                 benchmark_systems: how near systems come to ceilings
benchmark_scoring.py                metrics of its forecasts, and their differences from the best system
benchmark_table.py                  Benchmark, and how it prints
benchmark_findings.py               what a benchmark says, in sentences
external_forecasts.py                  forecasts of others: published probabilities, odds
boosted_trees.py                    a ceiling: gradient boosting on ratings and all else that is known before
evaluation.py                       metrics of the predictions of a history
blending.py                         blend_systems: several systems as one forecaster
system_construction_by_name.py      systems by name, adapted to data
margin_scale_selection.py           the scale of margins that predicts best
run_metadata.py                     the metadata of a saved run
blat_mmr_beliefs.py                 quantiles, modes and probabilities of the beliefs of BlatMMR
out_of_core/                        histories larger than memory
system_adaptation.py                how systems are adapted to data
"""

from jaxrate.league import blat_mmr_beliefs
from jaxrate.league.benchmark_table import Benchmark
from jaxrate.league.blending import Blend, blend_systems
from jaxrate.league.comparison_table import Comparison
from jaxrate.league.contest_performances import performance_ratings
from jaxrate.league.match_history_queries import HeadToHead, best_wins, head_to_head, recent_form, upsets
from jaxrate.league.out_of_core.parquet_rating import RatedFiles, rate_files
from jaxrate.league.player_careers_and_ratings import rating_at, rating_table
from jaxrate.league.rating_peaks import PeakRatings, peak_ratings
from jaxrate.league.ratings_at_times import category_ratings, modifiers
from jaxrate.league.ratings_before_and_after_events import History, rating_history
from jaxrate.league.separate_leagues import rate_leagues
from jaxrate.league.starting_ratings import initial_state
from jaxrate.league.system_benchmark import benchmark_systems
from jaxrate.league.team_goals import attack_and_defence
from jaxrate.smoothing.smoothing_result import Smoothed
from jaxrate.systems.rounds.performances_and_break_even_ranks import Performances

__all__ = [
    "Benchmark",
    "Blend",
    "Comparison",
    "HeadToHead",
    "History",
    "PeakRatings",
    "Performances",
    "RatedFiles",
    "Smoothed",
    "attack_and_defence",
    "benchmark_systems",
    "best_wins",
    "blat_mmr_beliefs",
    "blend_systems",
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
