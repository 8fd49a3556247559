"""Loaders for public collections of results, each in the form that its project publishes.

Every error is a ValueError that names the file and the line. `rows` of the datasets count the rows of the
files end to end, or the games, from 0.

csv_collections.py  tennis, football, contests, ergast, movielens, lichess
pgn_games.py        pgn
"""

from collections.abc import Callable

from jaxrate.data.formats.csv_collections import contests, ergast, football, lichess, movielens, tennis
from jaxrate.data.formats.pgn_games import pgn
from jaxrate.events.dataset import Dataset

FORMATS: dict[str, Callable[..., Dataset]] = {
    reader.__name__: reader for reader in (tennis, football, pgn, contests, ergast, movielens, lichess)
}

__all__ = ["FORMATS", "contests", "ergast", "football", "lichess", "movielens", "pgn", "tennis"]
