"""Tennis of Jeff Sackmann's tennis_atp and tennis_wta."""

import re
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.data.column_conversion import to_ids, to_numbers
from jaxrate.data.formats.csv_format_helpers import (
    Location,
    columns_named_by_options,
    csv_columns,
    dictionary_column,
    filter_rows_and_indices,
    mask_to_numpy,
    read_dataset_from_derived_columns,
    resolve_existing_path,
)
from jaxrate.data.table_sources import Column, add_location_to_data_errors, import_pyarrow
from jaxrate.events import fail_where
from jaxrate.events.dataset import Dataset

STAGES = ("Q1", "Q2", "Q3", "Q4", "Q5", "RR", "ER", "R256", "R128", "R64", "R32", "R16", "QF", "SF", "BR", "3rd", "F")
SET = re.compile(r"(?<![\[\d-])(\d{1,2})-(\d{1,2})(?!\d|-|\])")  # 7-6(5), and not [10-8]
DERIVED = "games", "round", "surface"


@enforce_argument_annotations
def tennis(path: Location, *, players: Any = None, **options: Any) -> Dataset:
    """Matches of Jeff Sackmann's tennis_atp or tennis_wta, sorted by the start of the tournament, then by round.

    The winner is player 0. Players are named "Name (id)", by their id in these files: some share a name.
    Retirements and defaults count; walkovers are dropped, and so is an id against itself (unknown players share one).
    Where a date lacks the day or the month, the first of the month or year is taken.

    The surface is the category, "Unknown" where there is none. The statistic `games` is the share of the games by which
    the winner was ahead, as the score tells, and NaN where it tells none; of a tie-break that stands for a set nothing
    counts. The column `round` counts the stages of a tournament, from 0, the first qualifying round, to 16, the final.

    Args:
      path: the folder with the files *_matches_*.csv of one tour (doubles are left out), or one such file.
      players: names that have ids already, as in `read`.
      **options: further options of `read`, which name columns of the files, as columns="minutes".
    """
    path = resolve_existing_path(path)
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.glob("*_matches_*.csv") if "doubles" not in file.name)
        tours = sorted({file.name.partition("_matches_")[0] for file in files})
        if not files:
            raise ValueError(f"{path.name}: not tennis matches, no file such as atp_matches_2024.csv")
        if len(tours) > 1:
            raise ValueError(f"{path.name}: {' and '.join(tours)} number their players apart; give a folder for each")
    needed = ["tourney_date", "winner_id", "winner_name", "loser_id", "loser_name"]
    further_columns, optional = columns_named_by_options(options, DERIVED), ["score", "round", "surface"]
    needed = list(dict.fromkeys([*needed, *further_columns]))
    columns, where = csv_columns(files, "tennis matches", needed, [name for name in optional if name not in needed])
    compute = import_pyarrow().compute
    walkover = compute.match_substring_regex(columns["score"], r"\bw/?o\b|walkover", ignore_case=True)
    same_player = compute.equal(columns["winner_id"], columns["loser_id"])
    columns, rows = filter_rows_and_indices(path, columns, ~(mask_to_numpy(walkover) | mask_to_numpy(same_player)))
    with add_location_to_data_errors(f"{path.name}: ", lambda row: where(int(rows[row]))):
        days = _parse_yyyymmdd_dates("tourney_date", columns["tourney_date"])
        ids, keys = to_ids(["winner_id", "loser_id"], columns)
    spelt = {name: columns[name].fill_null("") for name in ("winner_name", "loser_name")}
    code, spellings = to_ids(list(spelt), spelt)
    first = np.unique(ids, return_index=True)[1]  # where each player stands first
    names = {key: f"{name or 'player'} ({key})" for key, name in zip(keys, spellings[code.ravel()[first]], strict=True)}
    stages = columns["round"].fill_null("")
    codes, labels = to_ids(["round"], {"round": stages})
    stage = np.array([STAGES.index(name if name in STAGES else "RR") for name in labels])[codes[:, 0]]
    order = np.lexsort((stage, days))
    winner, loser = (dictionary_column(ids[order, i], [names[key] for key in keys]) for i in range(2))
    table: dict[str, Any] = {name: columns[name].take(order) for name in further_columns}
    table |= {"winner": winner, "loser": loser, "time": days[order]}
    roles: dict[str, Any] = {"players": players}
    if compute.any(compute.not_equal(stages, "")).as_py():
        table["round"], roles["columns"] = stage[order], "round"
    if columns["surface"].null_count < len(stage):
        table["surface"] = columns["surface"].fill_null("Unknown").take(order)
        roles["category"] = "surface"
    share = _relative_games_margin(columns["score"].fill_null(""))
    if not np.isnan(share).all():
        table["games"], roles["statistics"] = share[order], "games"
    return read_dataset_from_derived_columns(path, table, where, rows[order], **roles | options)


def _relative_games_margin(score: Column) -> HostArray:
    """[n] (w - l) / (w + l) of the games that the winner and the loser won in all sets, NaN where there are none."""
    codes, texts = to_ids(["score"], {"score": score})
    sets = [SET.findall(text) for text in texts]
    won, lost = (np.array([sum(int(games[i]) for games in played) for played in sets]) for i in (0, 1))
    return np.where(won + lost > 0, (won - lost) / np.maximum(won + lost, 1), np.nan)[codes[:, 0]]


def _parse_yyyymmdd_dates(name: str, column: Column) -> HostArray:
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
