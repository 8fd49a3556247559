"""Belief of BlatMMR
=================

What BlatMMR believed about a team before each of its games: a heat map, the mean and the 95% interval.
"""

import jaxrate as jr
from jaxrate import plots

table = jr.data.datasets.nfl_columns()
recent = {
    name: column[table["season"] >= 2010] for name, column in table.items()
}
data = jr.read(recent, a="home", b="away", side="a", neutral="neutral")
plots.belief(jr.blat_mmr(), data, "New England Patriots")
