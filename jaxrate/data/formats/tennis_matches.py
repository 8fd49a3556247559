"""Tennis of Jeff Sackmann's tennis_atp and tennis_wta."""

from typing import Any

import numpy as np

from jaxrate.data.columns import to_ids, to_numbers
from jaxrate.data.dataset import Dataset
from jaxrate.data.formats.shared import Location, csv_columns, find, keep, read_columns, spread, true
from jaxrate.data.tables import Column, Values, located, pyarrow
from jaxrate.events import fail_where

STAGES = ("Q1", "Q2", "Q3", "Q4", "Q5", "RR", "ER", "R256", "R128", "R64", "R32", "R16", "QF", "SF", "BR", "3rd", "F")


def tennis(path: Location, *, players: Any = None) -> Dataset:
    """Matches of Jeff Sackmann's tennis_atp or tennis_wta, sorted by the start of the tournament, then by round.

    The winner is player 0. Players are named "Name (id)", by their id in these files: some share a name.
    Retirements and defaults count; walkovers are dropped, and so is an id against itself (unknown players share one).
    Where a date lacks the day or the month, the first of the month or year is taken.

    Args:
      path: the folder with the files *_matches_*.csv of one tour (doubles are left out), or one such file.
      players: names that have ids already, as in `read`.
    """
    path = find(path)
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.glob("*_matches_*.csv") if "doubles" not in file.name)
        tours = sorted({file.name.partition("_matches_")[0] for file in files})
        if not files:
            raise ValueError(f"{path.name}: not tennis matches, no file such as atp_matches_2024.csv")
        if len(tours) > 1:
            raise ValueError(f"{path.name}: {' and '.join(tours)} number their players apart; give a folder for each")
    needed = ["tourney_date", "winner_id", "winner_name", "loser_id", "loser_name"]
    columns, where = csv_columns(files, "tennis matches", needed, ["score", "round"])
    compute = pyarrow().compute
    walkover = compute.match_substring_regex(columns["score"], r"\bw/?o\b|walkover", ignore_case=True)
    alike = compute.equal(columns["winner_id"], columns["loser_id"])
    columns, kept = keep(path, columns, ~(true(walkover) | true(alike)))
    with located(f"{path.name}: ", lambda row: where(int(kept[row]))):
        days = _compact_dates("tourney_date", columns["tourney_date"])
        ids, keys = to_ids(["winner_id", "loser_id"], columns)
    spelt = {name: columns[name].fill_null("") for name in ("winner_name", "loser_name")}
    code, spellings = to_ids(list(spelt), spelt)
    first = np.unique(ids, return_index=True)[1]  # where each player stands first
    names = {key: f"{name or 'player'} ({key})" for key, name in zip(keys, spellings[code.ravel()[first]], strict=True)}
    codes, found = to_ids(["round"], {"round": columns["round"].fill_null("")})
    stage = np.array([STAGES.index(name if name in STAGES else "RR") for name in found])[codes[:, 0]]
    order = np.lexsort((stage, days))
    winner, loser = (spread(ids[order, i], [names[key] for key in keys]) for i in range(2))
    table = {"winner": winner, "loser": loser, "time": days[order]}
    return read_columns(path, table, where, kept[order], players=players)


def _compact_dates(name: str, column: Column) -> Values:
    """Dates written 20240131; a month or day of 0 is the first."""
    values = to_numbers(name, column)

    def say(row: int) -> str:
        return f"column {name!r} is {column[row].as_py()!r}, not a date as 20240131"

    fail_where(~((values >= 1e7) & (values < 1e8) & (values % 1 == 0)), say)
    number = values.astype(np.int64)
    month, day = np.maximum(number // 100 % 100, 1), np.maximum(number % 100, 1)
    months = ((number // 10_000 - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1)
    fail_where((month > 12) | (days.astype("datetime64[M]") != months), say)
    return days
