"""Formula 1 races of Ergast or Jolpica."""

from typing import Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.data.column_conversion import to_days, to_numbers
from jaxrate.data.formats.csv_format_helpers import (
    Location,
    csv_columns,
    dictionary_column,
    map_texts,
    read_dataset_from_derived_columns,
    resolve_existing_path,
    unique_names_by_id,
)
from jaxrate.data.table_sources import add_location_to_data_errors
from jaxrate.events.dataset import Dataset


@enforce_argument_annotations
def ergast(path: Location, *, players: Any = None) -> Dataset:
    r"""Formula 1 races of Ergast or Jolpica, in CSV: a folder with races.csv, results.csv and drivers.csv.

    They become rounds, sorted by date. Classified drivers rank by position; the retired, not classified, disqualified
    and excluded (R, N, D, E) tie for last; the withdrawn and not qualified (W, F) are dropped. A driver who is in a
    race twice, as in shared cars, keeps their best place. Drivers are named "forename surname", with their id if
    several have the same name.

    Args:
      path: the folder.
      players: names that have ids already, as in `read`.
    """
    path = resolve_existing_path(path)
    races, where_race = csv_columns([path / "races.csv"], "races", ["raceId", "round", "date"])
    drivers, _ = csv_columns([path / "drivers.csv"], "drivers", ["driverId", "forename", "surname"])
    columns, where = csv_columns([path / "results.csv"], "results", ["raceId", "driverId", "positionText"])
    with add_location_to_data_errors("races.csv: ", where_race):
        days, _ = to_days("date", races["date"])
        turn = np.lexsort((to_numbers("round", races["round"]), days))
    races_in_order = {races["raceId"][int(row)].as_py(): place for place, row in enumerate(turn)}
    names = unique_names_by_id(
        {
            key: f"{forename or ''} {surname or ''}".strip()
            for key, forename, surname in zip(*(column.to_pylist() for column in drivers.values()), strict=True)
        },
        "driver",
    )
    with add_location_to_data_errors("results.csv: ", where):
        race = map_texts("raceId", columns["raceId"], races_in_order, "a race of races.csv").astype(int)
        keys = {key: i for i, key in enumerate(names)}
        driver = map_texts("driverId", columns["driverId"], keys, "a driver of drivers.csv").astype(int)
        places = {text: float(text) for text in set(columns["positionText"].to_pylist()) if text and text.isdecimal()}
        last, absent = max(places.values(), default=0) + 1, np.inf
        places |= dict.fromkeys("RNDE", last) | dict.fromkeys("WF", absent)
        rank = map_texts("positionText", columns["positionText"], places, "a place or one of R, N, D, E, W, F")
    order = np.lexsort((rank, driver, race))
    best = np.append(True, (np.diff(race[order]) != 0) | (np.diff(driver[order]) != 0))[: len(order)]
    rows = np.sort(order[best])
    rows = rows[rank[rows] != absent]
    rows = rows[np.argsort(race[rows], kind="stable")]
    table = {"contest": race[rows], "player": dictionary_column(driver[rows], list(names.values())), "rank": rank[rows]}
    table["time"] = days[turn][race[rows]].astype("datetime64[D]")
    return read_dataset_from_derived_columns(path, table, where, rows, players=players)
