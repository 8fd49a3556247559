"""Contests in the form of Elo-MMR: a folder with a file of JSON for each."""

import json
import re
from array import array
from bisect import bisect_right
from types import NoneType
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import enforce_argument_annotations
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.formats.csv_format_helpers import (
    Location,
    dictionary_column,
    read_dataset_from_derived_columns,
    resolve_existing_path,
)
from jaxrate.data.table_sources import add_location_to_data_errors
from jaxrate.events.dataset import Dataset

LARGEST_NUMBER = 10**15  # times, weights and places beyond it are taken for a mistake


@enforce_argument_annotations
def contests(path: Location, *, sort: bool = False, players: Any = None) -> Dataset:
    """Contests of Elo-MMR (EbTech/Elo-MMR and Elo-Datasets): a folder with a file of JSON for each, 0.json, 1.json, ...

    Each holds `time_seconds` (since 1970), perhaps a `weight` and a `perf_ceiling` (a number or null), and `standings`,
    a list of [handle, first, last] with the range of places, from 0, that those who tie with them share. They become
    rounds, in the order of the numbers; the rank is the first place. If the time is 0 in all of them, there is none.
    Other files are ignored.

    Args:
      path: the folder.
      sort: put the contests in order of time; the numbers nearly do.
      players: names that have ids already, as in `read`.
    """
    path = resolve_existing_path(path)
    files = sorted(path.glob("*.json"), key=lambda file: (len(file.stem), file.stem)) if path.is_dir() else []
    files = [file for file in files if re.fullmatch("[0-9]+", file.stem)]
    if not files:
        raise ValueError(f"{path.name}: not a folder of contests, no file such as 0.json")
    codes: dict[str, int] = {}
    number, first, last = array("i"), array("q"), array("q")
    start, weight, ceiling, seconds = [0], [], [], []
    numbers = (int, float)
    kinds = {"time_seconds": (int,), "weight": numbers, "perf_ceiling": (*numbers, NoneType), "standings": (list,)}
    for file in files:
        with add_location_to_data_errors(f"{file.name}: ", str):
            try:
                content = json.loads(file.read_bytes())
            except RecursionError:
                raise ValueError("not a contest of Elo-MMR: lists within lists without an end") from None
            contest: dict[str, Any] = {"weight": 1.0} | content if isinstance(content, dict) else {}
            for name, kind in kinds.items():
                value = contest.get(name)
                if type(value) not in kind or (isinstance(value, numbers) and not abs(value) <= LARGEST_NUMBER):
                    raise ValueError(f"not a contest of Elo-MMR, {name!r} is {format_value_for_error(value)}")
            for i, entry in enumerate(contest["standings"]):
                if not (
                    isinstance(entry, list)
                    and [type(value) for value in entry] == [str, int, int]
                    and 0 <= entry[1] <= entry[2] <= LARGEST_NUMBER
                ):
                    raise ValueError(
                        f"standings entry {i} (counting from 0) is {format_value_for_error(entry)}, expected "
                        "[handle, first, last]"
                    )
                number.append(codes.setdefault(entry[0], len(codes)))
                first.append(entry[1])
                last.append(entry[2])
        start.append(len(first))
        weight.append(contest["weight"])
        ceiling.append(contest.get("perf_ceiling"))
        seconds.append(contest["time_seconds"])

    def where(row: int) -> str:
        which = bisect_right(start, row) - 1
        return f"{files[which].name}: standings entry {row - start[which]} (counting from 0)"

    size, timed, roles = np.diff(start), any(seconds), {"weight": "weight", "last_rank": "last"}
    table = {
        "contest": np.repeat([int(file.stem) for file in files], size),
        "player": dictionary_column(number, list(codes)),
    }
    table |= {"rank": np.array(first), "last": np.array(last), "weight": np.repeat(np.array(weight, float), size)}
    if timed:
        table["time"] = np.repeat(np.array(seconds).astype("datetime64[s]"), size)
    if set(ceiling) != {None}:
        table["ceiling"], roles["ceiling"] = np.repeat(np.array(ceiling, float), size), "ceiling"
    return read_dataset_from_derived_columns(
        path, table, where, np.arange(len(number)), sort=sort and timed, players=players, **roles
    )
