"""Expected scores
===============

What each team is expected to score against each other one. A score of one half has no colour.
"""

import jaxrate as jr
from jaxrate import plots

data = jr.data.datasets.nfl()
rated = jr.rate(jr.glicko(side_advantage=60), data)

teams = [
    "Kansas City Chiefs",
    "Green Bay Packers",
    "Buffalo Bills",
    "Chicago Bears",
    "New York Jets",
]
plots.matchups(rated, players=teams)
