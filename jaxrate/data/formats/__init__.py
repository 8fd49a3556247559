"""Loaders for public collections of results, each in the form that its project publishes.

Every error is a ValueError that names the file and the line. `rows` of the datasets count the rows of the
files end to end, or the games, from 0.

tennis_matches.py                  tennis
international_football_results.py  football
pgn_games.py                       pgn
elo_mmr_contests.py                contests
ergast_races.py                    ergast
movielens_ratings.py               movielens
lichess_games.py                   lichess
csv_format_helpers.py              what the formats share
"""

from collections.abc import Callable

from jaxrate.data.formats.elo_mmr_contests import contests
from jaxrate.data.formats.ergast_races import ergast
from jaxrate.data.formats.international_football_results import football
from jaxrate.data.formats.lichess_games import lichess
from jaxrate.data.formats.movielens_ratings import movielens
from jaxrate.data.formats.pgn_games import pgn
from jaxrate.data.formats.tennis_matches import tennis
from jaxrate.events.dataset import Dataset

FORMATS: dict[str, Callable[..., Dataset]] = {
    "tennis": tennis,
    "football": football,
    "pgn": pgn,
    "contests": contests,
    "ergast": ergast,
    "movielens": movielens,
    "lichess": lichess,
}

__all__ = ["FORMATS", "contests", "ergast", "football", "lichess", "movielens", "pgn", "tennis"]
