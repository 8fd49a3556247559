"""Strengths with intervals
========================

The strengths of all teams in two seasons, with 95% intervals.
"""

import jaxrate as jr
from jaxrate import plots

table = jr.data.datasets.nfl_columns()
recent = {
    name: column[table["season"] >= 2019] for name, column in table.items()
}
data = jr.read(recent, a="home", b="away", side="a", neutral="neutral")
strengths = jr.arena.fit_strengths(data)

plots.intervals(strengths)
