"""Real results that ship with the package. They need no pyarrow.

`nfl.txt` names the source and its licence; the files beside it are the data.
"""

import csv
import gzip
from pathlib import Path

import numpy as np

from jaxrate.data.dataset import Dataset
from jaxrate.data.tables import Values
from jaxrate.events import matches

_HERE = Path(__file__).parent


def nfl() -> Dataset:
    """The results of the National Football League, 1920 to 2021: 16,810 matches of 123 teams, sorted by date.

    The home team is player 0 and has the side, unless the ground was neutral. A tie is 0.5. Times are days since
    1970-01-01. A team is one franchise through all its moves and bears the name it has today; those that are gone bear
    the one they had longest, with their years where two had the same. The `columns` of the context are season (the year
    in which it began), playoff (1 or 0), home_points and away_points.

        data = jr.datasets.nfl()
        rated = jr.rate(jr.glicko(), data)

    Returns:
      A `Dataset` whose rows are those of `nfl.csv.gz`.
    """
    table = _table()
    codes = np.stack([table["home"], table["away"]], axis=1)
    found, first, number = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)  # ids in order of first appearance
    with (_HERE / "nfl_teams.csv").open(encoding="utf-8", newline="") as file:
        names = {row["code"]: row["name"] for row in csv.DictReader(file)}
    margin = table["home_points"].astype(int) - table["away_points"].astype(int)
    events = matches(
        np.argsort(order)[number].reshape(codes.shape),
        (1 + np.sign(margin)) / 2,
        table["date"].astype("datetime64[D]").astype(np.float64),
        side=1.0 - table["neutral"].astype(float),
        columns={name: table[name].astype(float) for name in ("season", "playoff", "home_points", "away_points")},
    )
    players = np.array([names[code] for code in found[order]], object)
    return Dataset(events, players, np.arange(len(margin)), clock="dates")


def nfl_forecast() -> Values:
    """[16810] FiveThirtyEight's probability, published before each match of `nfl`, that the home team wins.

    It comes from an Elo of their own, with margins of victory, a step towards the mean between seasons, and 65 points
    for the home team.
    """
    return _table()["forecast"].astype(np.float64)


def _table() -> dict[str, Values]:
    """The columns of `nfl.csv.gz`, as text."""
    with gzip.open(_HERE / "nfl.csv.gz", "rt", encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
