"""Calibration
===========

Whether predictions of 0.7 come true seven times in ten. Bars are 95% intervals.
"""

import jaxrate as jr
from jaxrate import plots

data = jr.data.datasets.nfl()

predictions = {
    "Glicko": jr.run(jr.glicko(side_advantage=60), data).prediction,
    "Elo": jr.run(jr.elo(side_advantage=60), data).prediction,
}
plots.calibration(predictions, data)
