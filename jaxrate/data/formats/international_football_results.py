"""International football of martj42's international_results."""

from typing import Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.data.column_conversion import to_numbers
from jaxrate.data.formats.csv_format_helpers import (
    Location,
    columns_named_by_options,
    csv_columns,
    filter_rows_and_indices,
    map_texts,
    mask_to_numpy,
    read_dataset_from_derived_columns,
    resolve_existing_path,
)
from jaxrate.data.table_sources import add_location_to_data_errors, import_pyarrow
from jaxrate.events.dataset import Dataset


@enforce_argument_annotations
def football(path: Location, *, sort: bool = False, players: Any = None, **options: Any) -> Dataset:
    """International football of martj42's international_results: results.csv.

    The home team is player 0 and has the side, unless the ground is neutral. A win is 1, a draw 0.5, after extra time
    but without penalties. Matches to come, without a score, are dropped.

    Args:
      path: the file results.csv.
      sort: put the matches in order of time; the file has them so.
      players: names that have ids already, as in `read`.
      **options: further options of `read`, which name columns of the file, as columns="city".
    """
    path = resolve_existing_path(path)
    goals = ["home_score", "away_score"]
    needed = ["date", "home_team", "away_team", *goals, "neutral"]
    further = columns_named_by_options(options)
    columns, where = csv_columns([path], "football results", list(dict.fromkeys([*needed, *further])))
    compute = import_pyarrow().compute
    unplayed = [mask_to_numpy(compute.equal(columns[name].fill_null("NA"), "NA")) for name in goals]
    columns, rows = filter_rows_and_indices(path, columns, ~np.any(unplayed, axis=0))
    with add_location_to_data_errors(f"{path.name}: ", lambda row: where(int(rows[row]))):
        home, away = (to_numbers(name, columns[name]) for name in goals)
        neutral = map_texts("neutral", columns["neutral"], {"TRUE": 1, "FALSE": 0, "True": 1, "False": 0})
    table: dict[str, Any] = {name: columns[name] for name in (*further, *needed[:3])}
    table |= {"home_score": home, "away_score": away, "score": (1 + np.sign(home - away)) / 2, "side": 1 - neutral}
    roles = {"a": "home_team", "b": "away_team", "side": "side", "margin": goals, "sort": sort, "players": players}
    return read_dataset_from_derived_columns(path, table, where, rows, **roles | options)
