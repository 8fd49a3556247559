"""Odds of a tournament
====================

How far each of eight teams may come in a knockout.
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
