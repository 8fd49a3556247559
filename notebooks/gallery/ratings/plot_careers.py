"""Careers
=======

Ratings by season of three teams, with all others in grey. A dot marks each team's highest rating.
"""

import jaxrate as jr
from jaxrate import plots

data = jr.data.datasets.nfl()
rated = jr.rate(jr.glicko(side_advantage=60), data)

teams = ["Green Bay Packers", "Chicago Bears", "New England Patriots"]
plots.careers(rated, teams, others=data.players, step=365.25)
