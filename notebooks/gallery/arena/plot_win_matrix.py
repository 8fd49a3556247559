"""Win probabilities
=================

How likely each of six teams wins against each other one.
"""

import jaxrate as jr
from jaxrate import plots

table = jr.data.datasets.nfl_columns()
recent = {
    name: column[table["season"] >= 2019] for name, column in table.items()
}
data = jr.read(recent, a="home", b="away", side="a", neutral="neutral")
strengths = jr.arena.fit_strengths(data)

best = [data.players[i] for i in strengths.order[:6]]
plots.win_matrix(strengths, best)
