"""Loss by chance of the favourite
===============================

The log loss of close and of uneven games. Dotted is what it would be if the predictions were right.
"""

import jaxrate as jr
from jaxrate import plots

data = jr.data.datasets.nfl()

glicko = jr.rate(jr.glicko(side_advantage=60), data)
elo = jr.rate(jr.elo(side_advantage=60), data)
plots.loss_by_difference({"Glicko": glicko, "Elo": elo})
