"""Games of lichess as one table."""

from typing import Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.data.column_conversion import to_ids, to_numbers
from jaxrate.data.formats.csv_format_helpers import (
    RATING_DIFFERENCE,
    Location,
    columns_named_by_options,
    csv_columns,
    filter_rows_and_indices,
    map_texts,
    rating_difference,
    read_dataset_from_derived_columns,
    resolve_existing_path,
    unix_timestamps,
)
from jaxrate.data.table_sources import add_location_to_data_errors
from jaxrate.events.dataset import Dataset


@enforce_argument_annotations
def lichess(path: Location, *, players: Any = None, **options: Any) -> Dataset:
    """Lichess games in CSV, as in the data set "chess" of Kaggle's datasnaek: games.csv. Sorted by `created_at`.

    White is player 0 and has the side. By how much they are rated higher is the column `rating_difference`, 0 where
    a rating is missing. A game that is there twice, by its `id`, counts once. For the files of database.lichess.org,
    see `pgn`.

    Args:
      path: the file.
      players: names that have ids already, as in `read`.
      **options: further options of `read`, which name columns of the file, as columns="turns".
    """
    path = resolve_existing_path(path)
    needed, ratings = ["id", "created_at", "winner", "white_id", "black_id"], ["white_rating", "black_rating"]
    further = columns_named_by_options(options, [RATING_DIFFERENCE])
    needed = list(dict.fromkeys([*needed, *further]))
    columns, where = csv_columns([path], "lichess games", needed, [name for name in ratings if name not in needed])
    with add_location_to_data_errors(f"{path.name}: ", where):
        game, _ = to_ids(["id"], columns)
    once = np.zeros(len(game), bool)
    once[np.unique(game, return_index=True)[1]] = True
    columns, rows = filter_rows_and_indices(path, columns, once)
    with add_location_to_data_errors(f"{path.name}: ", lambda row: where(int(rows[row]))):
        difference = rating_difference(*(to_numbers(name, columns[name], 0.0) for name in ratings))
        table: dict[str, Any] = {name: columns[name] for name in (*further, "white_id", "black_id")}
        table["time"] = unix_timestamps("created_at", columns["created_at"], "ms")
        table["score"] = map_texts("winner", columns["winner"], {"white": 1, "black": 0, "draw": 0.5})
    roles = {"a": "white_id", "b": "black_id", "side": "a", "columns": [*difference], "sort": True}
    return read_dataset_from_derived_columns(
        path, table | difference, where, rows, **roles | {"players": players} | options
    )
