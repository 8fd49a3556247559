"""Official ratings: the systems of federations, by the names that `jaxrate rate --system` takes.

    rated = jr.rate(jr.federations.fide(), data, period=30)

The guide "Official ratings" says what each of them needs, and where its rules stand.
"""

from jaxrate.systems.federations.dwz import dwz
from jaxrate.systems.federations.ecf import ecf
from jaxrate.systems.federations.egf import egf
from jaxrate.systems.federations.fide import fide
from jaxrate.systems.federations.fide_tables import fide_performance
from jaxrate.systems.federations.fifa import fifa
from jaxrate.systems.federations.fivethirtyeight_elo import nba_elo, nfl_elo
from jaxrate.systems.federations.ingo import ingo
from jaxrate.systems.federations.uscf import uscf, uscf_approximate
from jaxrate.systems.federations.world_rugby import world_rugby

__all__ = [
    "dwz",
    "ecf",
    "egf",
    "fide",
    "fide_performance",
    "fifa",
    "ingo",
    "nba_elo",
    "nfl_elo",
    "uscf",
    "uscf_approximate",
    "world_rugby",
]
