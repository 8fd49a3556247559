"""Residuals by team
=================

The teams whose results differ most from what was predicted.
"""

import jaxrate as jr
from jaxrate import plots

data = jr.data.datasets.nfl()

prediction = jr.run(jr.glicko(side_advantage=60), data).prediction
plots.residuals(prediction, data, min_games=50)
