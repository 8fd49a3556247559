"""Distribution of ratings
=======================

How the ratings of current teams spread, and where three of them stand.
"""

import jaxrate as jr
from jaxrate import plots

data = jr.data.datasets.nfl()
rated = jr.rate(jr.glicko(side_advantage=60), data)

teams = ["Kansas City Chiefs", "Chicago Bears", "New York Jets"]
plots.distribution(rated, players=teams)
