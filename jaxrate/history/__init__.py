"""Rated histories of players with names and dates: ratings, leaderboards, careers, form, head to head.

dataset_rating.py    a dataset is rated event by event, also onto a history, league by league, or with hindsight
recorded_runs.py     runs that record predictions, ratings and performances; predictions that are calibrated online
history.py           History: ratings through time, which every question takes
event_columns.py     the events of a history in columns of NumPy, and as a table for people
ratings_at_times.py  ratings, modifiers of categories and ratings by category, as of a time; ratings to start from
player_records.py    careers, ratings at a time, heads to heads, upsets, form
participations.py    who took part in which event, with ratings before and after
leaderboards.py      leaderboards at any date, ranks through time, leads and peaks
column_table.py      ColumnTable: columns that print as a table
blat_mmr_beliefs.py  quantiles, modes and probabilities of the beliefs of BlatMMR
saved_runs.py        `save` and `load`: histories in folders
out_of_core/         histories larger than memory
"""

from jaxrate.history import blat_mmr_beliefs
from jaxrate.history.dataset_rating import rate_leagues
from jaxrate.history.history import History
from jaxrate.history.leaderboards import PeakRatings, peak_ratings
from jaxrate.history.out_of_core.rating_by_chunks import Chunks, RatedFiles
from jaxrate.history.participations import Participations
from jaxrate.history.player_records import (
    HeadToHead,
    attack_and_defence,
    best_wins,
    head_to_head,
    rating_at,
    rating_table,
    recent_form,
    upsets,
)
from jaxrate.history.ratings_at_times import category_ratings, initial_state, modifiers
from jaxrate.history.recorded_runs import RecordedRun, performance_ratings, rating_history
from jaxrate.smoothing.smoother import Smoothed
from jaxrate.systems.rounds.performance_inference import Performances

__all__ = [
    "Chunks",
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
    "rate_leagues",
    "rating_at",
    "rating_history",
    "rating_table",
    "recent_form",
    "upsets",
]


def __dir__() -> list[str]:
    return __all__
