"""Profile of a hyperparameter
===========================

The loss for values of the home advantage, with its 95% interval.
"""

import jaxrate as jr
from jaxrate import plots

data = jr.data.datasets.nfl()

fit = jr.fit(
    jr.glicko(),
    data,
    free=("c", "side_advantage"),
    objective=jr.fitting.ahead(errors="products"),
)
interval = jr.fitting.likelihood_interval(fit, data, "side_advantage")
plots.profile(interval.profile)
