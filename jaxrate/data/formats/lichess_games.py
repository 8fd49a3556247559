"""Games of lichess as one table."""

from typing import Any

import numpy as np

from jaxrate.data.columns import to_ids
from jaxrate.data.dataset import Dataset
from jaxrate.data.formats.shared import Location, csv_columns, find, instants, keep, meaning, read_columns
from jaxrate.data.tables import located


def lichess(path: Location, *, players: Any = None) -> Dataset:
    """Lichess games in CSV, as in the data set "chess" of Kaggle's datasnaek: games.csv. Sorted by `created_at`.

    White is player 0 and has the side. A game that is there twice, by its `id`, counts once. For the files of
    database.lichess.org, see `pgn`.

    Args:
      path: the file.
      players: names that have ids already, as in `read`.
    """
    path = find(path)
    columns, where = csv_columns([path], "lichess games", ["id", "created_at", "winner", "white_id", "black_id"])
    with located(f"{path.name}: ", where):
        game, _ = to_ids(["id"], columns)
    once = np.zeros(len(game), bool)
    once[np.unique(game, return_index=True)[1]] = True
    columns, kept = keep(path, columns, once)
    with located(f"{path.name}: ", lambda row: where(int(kept[row]))):
        table = {name: columns[name] for name in ("white_id", "black_id")}
        table["time"] = instants("created_at", columns["created_at"], "ms")
        table["score"] = meaning("winner", columns["winner"], {"white": 1, "black": 0, "draw": 0.5})
    return read_columns(path, table, where, kept, a="white_id", b="black_id", side="a", sort=True, players=players)
