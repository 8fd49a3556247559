"""The official ratings of federations, one a file.

dwz.py             the German chess federation
ecf.py             the English Chess Federation
egf.py             the European Go Federation
fide.py            FIDE, chess
fifa.py            FIFA's men's world ranking
ingo.py            Ingo, before DWZ
nba_elo.py         FiveThirtyEight's Elo of basketball
nfl_elo.py         FiveThirtyEight's Elo of American football
uscf.py            the US Chess Federation
world_rugby.py     World Rugby
official_rules.py  what they share: further columns, rounding, a normal expected score
"""

from collections.abc import Callable

from jaxrate.core.system import RatingSystem
from jaxrate.systems.federations.dwz import dwz
from jaxrate.systems.federations.ecf import ecf
from jaxrate.systems.federations.egf import egf
from jaxrate.systems.federations.fide import fide
from jaxrate.systems.federations.fifa import fifa
from jaxrate.systems.federations.ingo import ingo
from jaxrate.systems.federations.nba_elo import nba_elo
from jaxrate.systems.federations.nfl_elo import nfl_elo
from jaxrate.systems.federations.uscf import uscf
from jaxrate.systems.federations.world_rugby import world_rugby

__all__ = ["FEDERATIONS", "dwz", "ecf", "egf", "fide", "fifa", "ingo", "nba_elo", "nfl_elo", "uscf", "world_rugby"]
FEDERATIONS: dict[str, Callable[..., RatingSystem]] = {
    "fide": fide,
    "uscf": uscf,
    "dwz": dwz,
    "ecf": ecf,
    "ingo": ingo,
    "egf": egf,
    "fifa": fifa,
    "world_rugby": world_rugby,
    "nfl_elo": nfl_elo,
    "nba_elo": nba_elo,
}
