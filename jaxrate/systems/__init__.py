"""The rating systems, one a file. To add one: write its file, name it here and in `jaxrate/__init__.pyi`."""

from collections.abc import Callable

from jaxrate.system import RatingSystem
from jaxrate.systems.blat_mmr import blat_mmr
from jaxrate.systems.elo import elo
from jaxrate.systems.glicko import glicko
from jaxrate.systems.glicko2 import glicko2

SYSTEMS: dict[str, Callable[..., RatingSystem]] = {
    "elo": elo,
    "glicko": glicko,
    "glicko2": glicko2,
    "blat_mmr": blat_mmr,
}
