"""Real results that ship with the package. They need no pyarrow.

`nfl.txt` names the source and its licence; the files beside it are the data.
"""

import csv
import gzip
from pathlib import Path

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.events import matches
from jaxrate.events.dataset import Dataset

_HERE = Path(__file__).parent
NFL_SOURCE = (
    "FiveThirtyEight, https://github.com/fivethirtyeight/nfl-elo-game (MIT licence). "
    "A franchise bears the name it has today through all its moves."
)


def nfl() -> Dataset:
    """The results of the National Football League, 1920 to 2021: 16,810 matches of 123 teams, sorted by date.

    The home team is player 0 and has the side, unless the ground was neutral. A tie is 0.5. Times are days since
    1970-01-01. A team is one franchise through all its moves and bears the name it has today; those that are gone bear
    the one they had longest, with their years where two had the same. The `columns` of the context are season (the year
    in which it began), playoff (1 or 0), home_points and away_points; these two are the margin, and the dataset knows
    when seasons begin.

        data = jr.data.datasets.nfl()
        rated = jr.rate(jr.glicko(), data)

    Returns:
      A `Dataset` whose rows are those of `nfl.csv.gz`.
    """
    table = nfl_columns()
    names = np.stack([table["home"], table["away"]], axis=1)
    team_names, first, number = np.unique(names.astype(str), return_index=True, return_inverse=True)
    order = np.argsort(first)  # ids in order of first appearance
    events = matches(
        np.argsort(order)[number].reshape(names.shape),
        table["score"],
        table["date"].astype(np.float64),
        side=1.0 - table["neutral"],
        columns={name: table[name].astype(float) for name in ("season", "playoff", "home_points", "away_points")},
    )
    begin = np.flatnonzero(np.diff(table["season"], prepend=0))
    seasons = dict(zip(map(str, table["season"][begin].tolist()), events.time[begin].tolist(), strict=True))
    points = "home_points", "away_points"
    players = team_names[order].astype(object)
    rows = np.arange(len(names))
    return Dataset(events, players, rows, clock="dates", margin=points, seasons=seasons, source=NFL_SOURCE, noun="team")


def nfl_columns() -> dict[str, HostArray]:
    """The columns of `nfl` as a table that `read` takes: date, season, playoff, neutral, home, away, points and score.

    `jaxrate` reads it where FILE is the word nfl and there is no such file.

        data = jr.read(jr.data.datasets.nfl_columns(), a="home", b="away", side="a", neutral="neutral")

    Returns:
      By name [16810]: teams as text, dates, and whole numbers (score: of the home team, 0.5 for a tie).
    """
    table = _read_nfl_csv()
    with (_HERE / "nfl_teams.csv").open(encoding="utf-8", newline="") as file:
        names = {row["code"]: row["name"] for row in csv.DictReader(file)}
    teams = {side: np.array([names[code] for code in table[side]], object) for side in ("home", "away")}
    numbers = "season", "playoff", "neutral", "home_points", "away_points"
    columns = (
        {"date": table["date"].astype("datetime64[D]")} | teams | {name: table[name].astype(int) for name in numbers}
    )
    return columns | {"score": (1 + np.sign(columns["home_points"] - columns["away_points"])) / 2}


def nfl_forecast() -> HostArray:
    """[16810] FiveThirtyEight's probability, by its published model, that the home team wins each match of `nfl`.

    Those of matches before its first publication were computed later. The model is an Elo of their own, with margins of
    victory, a step towards the mean between seasons, and 65 points for the home team.
    """
    return _read_nfl_csv()["forecast"].astype(np.float64)


def _read_nfl_csv() -> dict[str, HostArray]:
    """The columns of `nfl.csv.gz`, as text."""
    with gzip.open(_HERE / "nfl.csv.gz", "rt", encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
