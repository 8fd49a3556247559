"""The official ratings of federations, one a file.

dwz.py                  the German chess federation
ecf.py                  the English Chess Federation
egf.py                  the European Go Federation
fide.py                 FIDE, chess
fifa.py                 FIFA's men's world ranking
fivethirtyeight_elo.py  FiveThirtyEight's Elo of American football and of basketball
ingo.py                 Ingo, before DWZ
uscf.py                 the US Chess Federation, and its formulas for the hand
world_rugby.py          World Rugby

What they share:

official_rules.py       how rules become a system
games.py                games as their players see them, what they add up to, and the columns that settings name
score_curves.py         expected scores, performance ratings, rounding
fide_tables.py          FIDE's tables, which ECF has too
"""

from collections.abc import Callable

from jaxrate.core.system import RatingSystem
from jaxrate.systems.federations.dwz import dwz
from jaxrate.systems.federations.ecf import ecf
from jaxrate.systems.federations.egf import egf
from jaxrate.systems.federations.fide import fide
from jaxrate.systems.federations.fifa import fifa
from jaxrate.systems.federations.fivethirtyeight_elo import nba_elo, nfl_elo
from jaxrate.systems.federations.ingo import ingo
from jaxrate.systems.federations.uscf import uscf, uscf_approximate
from jaxrate.systems.federations.world_rugby import world_rugby

FEDERATIONS: dict[str, Callable[..., RatingSystem]] = {
    make.__name__: make
    for make in (fide, uscf, uscf_approximate, dwz, ecf, ingo, egf, fifa, world_rugby, nfl_elo, nba_elo)
}
