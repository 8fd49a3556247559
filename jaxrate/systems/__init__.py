"""The rating systems, one a file. To add one: write its file, name it here and in `jaxrate/__init__.pyi`.

category_glicko.py              Glicko with categories of opponents
codeforces.py                   Codeforces, in the form of Ebtekar and Liu 2021 (section 6)
elo.py                          Elo (1978), per match and per rating period
elo_mmr.py                      Elo-MMR and Elo-MMX (Ebtekar and Liu 2021)
glicko.py                       Glicko (Glickman 1999)
glicko2.py                      Glicko-2 (Glickman 2012)
glicko_boost.py                 Glicko-Boost (Glickman 2010)
prediction_wrapping.py          predictions remade: chances of draws, and calibration
stephenson.py                   Stephenson's system (Stephenson and Sonas 2020)
system_construction_by_name.py  systems by name, adapted to data
system_titles.py                the systems by their names in print
topcoder.py                     TopCoder, in the form of Ebtekar and Liu 2021 (section 6) and their program
trueskill.py                    TrueSkill (Herbrich, Minka and Graepel 2006)
urnings.py                      urnings (Bolsinova, Maris, Hofman, van der Maas and Brinkhuis 2022)
weng_lin.py                     Weng and Lin (2011, "A Bayesian approximation method for online ranking")
blat_mmr/                       BlatMMR, in pieces that compose
federations/                    official ratings of federations, one a file
rounds/                         what systems of rounds share: the field of performances, who performed how, teams
skills/                         Skills, in pieces
"""

from collections import ChainMap
from collections.abc import Callable

from jaxrate.core.system import RatingSystem
from jaxrate.systems.blat_mmr import blat_mmr
from jaxrate.systems.category_glicko import category_glicko
from jaxrate.systems.codeforces import codeforces
from jaxrate.systems.elo import elo
from jaxrate.systems.elo_mmr import elo_mmr, elo_mmx
from jaxrate.systems.federations import FEDERATIONS
from jaxrate.systems.glicko import glicko
from jaxrate.systems.glicko2 import glicko2
from jaxrate.systems.glicko_boost import glicko_boost
from jaxrate.systems.skills.system import skills, skills_by_name
from jaxrate.systems.stephenson import stephenson
from jaxrate.systems.topcoder import topcoder
from jaxrate.systems.trueskill import trueskill
from jaxrate.systems.urnings import urnings
from jaxrate.systems.weng_lin import weng_lin

__all__ = [
    "ALL_SYSTEMS",
    "DEFAULT_SYSTEMS",
    "FEDERATIONS",
    "SYSTEMS",
    "blat_mmr",
    "category_glicko",
    "codeforces",
    "elo",
    "elo_mmr",
    "elo_mmx",
    "glicko",
    "glicko2",
    "glicko_boost",
    "skills",
    "stephenson",
    "systems_with_feature",
    "topcoder",
    "trueskill",
    "urnings",
    "weng_lin",
]
SYSTEMS: dict[str, Callable[..., RatingSystem]] = {
    "elo": elo,
    "glicko": glicko,
    "glicko2": glicko2,
    "category_glicko": category_glicko,
    "skills": skills_by_name,
    "blat_mmr": blat_mmr,
    "elo_mmr": elo_mmr,
    "elo_mmx": elo_mmx,
    "codeforces": codeforces,
    "topcoder": topcoder,
    "trueskill": trueskill,
    "weng_lin": weng_lin,
    "urnings": urnings,
}
OTHER_SYSTEMS: dict[str, Callable[..., RatingSystem]] = {
    "stephenson": stephenson,
    "glicko_boost": glicko_boost,
    **FEDERATIONS,
}
ALL_SYSTEMS = ChainMap(OTHER_SYSTEMS, SYSTEMS)  # that may be named: those that users add to `SYSTEMS` as well
DEFAULT_SYSTEMS = {"matches": "glicko", "contests": "elo_mmr", "teams": "trueskill"}  # of those who name no system


def systems_with_feature(feature: str) -> list[str]:
    """The names of the systems whose events may have this feature, see `RatingSystem`."""
    return [name for name, new in SYSTEMS.items() if feature in new().features]
