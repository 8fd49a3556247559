"""Comparison of systems
=====================

How far the log loss of each system is behind that of the best, match by match.
"""

import jaxrate as jr
from jaxrate import plots

data = jr.data.datasets.nfl()

plots.comparison(jr.compare(data, ["elo", "glicko", "trueskill"]))
