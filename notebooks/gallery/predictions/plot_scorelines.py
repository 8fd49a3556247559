"""Scorelines
==========

How likely each scoreline of a football match is, from the goals of eight matches. Draws have a frame.
"""

import jaxrate as jr
from jaxrate import parts

table = {
    "home": ["Ayr", "Bo", "Cork", "Ayr", "Bo", "Cork", "Ayr", "Cork"],
    "away": ["Bo", "Cork", "Ayr", "Cork", "Ayr", "Bo", "Bo", "Ayr"],
    "home_goals": [3, 1, 0, 2, 1, 2, 2, 1],
    "away_goals": [1, 1, 2, 0, 1, 2, 0, 3],
}
clubs = jr.read(
    table, a="home", b="away", side="a", margin=["home_goals", "away_goals"]
)
goals = jr.skills(
    parts.side(45),
    observe=parts.goals(*clubs.margin, low_score_dependence=-0.05),
)
forecast = jr.forecasts.predict_scorelines(
    jr.rate(goals, clubs), [("Bo", "Ayr")], side="a"
)
jr.plots.scorelines(forecast)
