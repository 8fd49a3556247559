"""Leaderboard
===========

The ten best teams after the season of 2020, with 95% intervals.
"""

import jaxrate as jr
from jaxrate import plots

data = jr.data.datasets.nfl()
rated = jr.rate(jr.glicko(side_advantage=60), data)

plots.leaderboard(rated, top=10)
