"""Loss around a fit
=================

The loss over two hyperparameters of Glicko, with the optimum and its 95% confidence ellipse.
"""

import jaxrate as jr
from jaxrate import plots

data = jr.data.datasets.nfl()

fit = jr.fit(
    jr.glicko(side_advantage=60),
    data,
    free=("c", "initial_deviation"),
    objective=jr.fitting.ahead(errors="products"),
)
plots.loss_surface(fit, data, points=7)
