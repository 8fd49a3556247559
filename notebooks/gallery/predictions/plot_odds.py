"""Odds of a tournament and of a season
====================================

How far each of eight teams may come in a knockout, and where each of four may end a season.
"""

import jaxrate as jr
from jaxrate import plots

data = jr.data.datasets.nfl()
rated = jr.rate(jr.glicko(side_advantage=60), data)

plan = [
    "Kansas City Chiefs",
    "Cleveland Browns",
    "Buffalo Bills",
    "Baltimore Ravens",
    "Green Bay Packers",
    "Los Angeles Rams",
    "New Orleans Saints",
    "Tampa Bay Buccaneers",
]
plots.odds(jr.forecasts.simulate_tournament(rated, {"knockout": plan}))

# %%
# Here four teams meet each other at home and away. A win counts one point, and a draw a half.

north = [
    "Green Bay Packers",
    "Minnesota Vikings",
    "Chicago Bears",
    "Detroit Lions",
]
coming = [(home, away) for home in north for away in north if home != away]
season = jr.forecasts.simulate_season(
    rated, coming, side="a", points=(1, 0.5, 0)
)
plots.odds(season)
