"""Official ratings: the systems of federations, by the names that `jaxrate rate --system` takes.

    rated = jr.rate(jr.federations.fide(), data, period=30)

The guide "Choosing a system" says what each of them needs, and where its rules stand.
"""

from jaxrate.systems.federations import dwz, ecf, egf, fide, fifa, ingo, nba_elo, nfl_elo, uscf, world_rugby

__all__ = ["dwz", "ecf", "egf", "fide", "fifa", "ingo", "nba_elo", "nfl_elo", "uscf", "world_rugby"]
