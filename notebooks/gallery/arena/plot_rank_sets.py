"""Possible ranks
==============

The ranks that each team may have. With 95% confidence all are right together.
"""

import jaxrate as jr
from jaxrate import plots

table = jr.data.datasets.nfl_columns()
recent = {
    name: column[table["season"] >= 2019] for name, column in table.items()
}
data = jr.read(recent, a="home", b="away", side="a", neutral="neutral")
strengths = jr.arena.fit_strengths(data)

plots.rank_sets(jr.arena.rank_sets(strengths))
