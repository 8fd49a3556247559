"""Rating trajectories
===================

Ratings before every game, with their 95% intervals. The first ten games are left out.
"""

import jaxrate as jr
from jaxrate import plots

data = jr.data.datasets.nfl()
rated = jr.rate(jr.glicko(side_advantage=60), data)

plots.trajectory(
    rated, players=["Green Bay Packers", "New England Patriots"], skip=10
)
