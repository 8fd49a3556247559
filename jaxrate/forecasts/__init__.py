"""Forecasts of matches, contests, seasons, tournaments and knockout brackets; balanced teams and fair pairings.

upcoming_events.py          events to come: read, checked against the history, and predicted
draw_probabilities.py       chances of draws, with odds that are fitted to results
prediction_explanations.py  explain_fixtures: what players, sides and covariates contribute to a prediction
season_simulation.py        seasons and tournaments that are simulated: goals, standings, places and a knockout
scorelines.py               scorelines of goals, and margins and points
knockout_forecasts.py       series, brackets and the matrix of all matchups
pairwise_probabilities.py   predict_pairs, and tables of matchups: all pairs of players in few numbers
matchmaking.py              balance_teams, pair_players
sklearn_estimator.py        RatingClassifier, an estimator for scikit-learn
"""

from jaxrate.forecasts.knockout_forecasts import (
    SeriesProbabilities,
    best_of,
    bracket_probabilities,
    matchup_matrix,
    simulate_bracket,
)
from jaxrate.forecasts.matchmaking import balance_teams, pair_players
from jaxrate.forecasts.pairwise_probabilities import predict_pairs
from jaxrate.forecasts.prediction_explanations import Explanation, explain_fixtures
from jaxrate.forecasts.scorelines import (
    LineProbabilities,
    Scorelines,
    both_score_probability,
    goal_difference_probabilities,
    predict_points,
    predict_scorelines,
    summarise_scorelines,
    total_goals_probabilities,
)
from jaxrate.forecasts.season_simulation import SeasonForecast, TournamentForecast, simulate_season, simulate_tournament
from jaxrate.forecasts.sklearn_estimator import RatingClassifier
from jaxrate.forecasts.upcoming_events import predict_fixtures
from jaxrate.smoothing.smoother import forecast_by_smoothing
from jaxrate.systems.prediction_wrapping import OutcomeProbabilities, add_outcomes, calibrate

__all__ = [
    "Explanation",
    "LineProbabilities",
    "OutcomeProbabilities",
    "RatingClassifier",
    "Scorelines",
    "SeasonForecast",
    "SeriesProbabilities",
    "TournamentForecast",
    "add_outcomes",
    "balance_teams",
    "best_of",
    "both_score_probability",
    "bracket_probabilities",
    "calibrate",
    "explain_fixtures",
    "forecast_by_smoothing",
    "goal_difference_probabilities",
    "matchup_matrix",
    "pair_players",
    "predict_fixtures",
    "predict_pairs",
    "predict_points",
    "predict_scorelines",
    "simulate_bracket",
    "simulate_season",
    "simulate_tournament",
    "summarise_scorelines",
    "total_goals_probabilities",
]


def __dir__() -> list[str]:
    return __all__
