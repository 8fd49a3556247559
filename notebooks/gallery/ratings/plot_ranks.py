"""Ranks through time
==================

The rank of each team at the end of every year. Rank 1 is on top.
"""

import jaxrate as jr
from jaxrate import plots

data = jr.data.datasets.nfl()
rated = jr.rate(jr.glicko(side_advantage=60), data)

teams = ["Green Bay Packers", "Chicago Bears", "New England Patriots"]
plots.ranks(rated, teams, step=365.25)
