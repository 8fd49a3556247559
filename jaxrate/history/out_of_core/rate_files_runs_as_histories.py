"""Runs of `rate_files` as saved runs: their predictions stay in the files, unless they are few."""

from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.parquet_table import find_parquet_table, parquet_source
from jaxrate.history.out_of_core.checkpoints import read_checkpoint
from jaxrate.history.out_of_core.chunk_pipeline import PREDICTIONS_FOLDER
from jaxrate.history.out_of_core.run_resumption import GAMES_KEY, NAMES_KEY, RANKED_KEY
from jaxrate.storage.npz_tables import name_file_in_errors, read_parquet_names_and_games

MAX_LOADED_ROWS = 20_000_000  # predictions that are loaded, some two gigabytes


class StoredFileRun(NamedTuple):
    """A run of `rate_files` as its folder describes it."""

    description: dict[str, Any]  # as in run.json
    state: dict[str, HostArray]  # leaves by name
    players: HostArray
    games: HostArray
    rows: int  # matches or participations
    contests: int | None  # None: these are matches
    predictions: Any  # an Arrow table; None: they stay in their files, as they are brief or too many


def _read_predictions(folder: Path, rows: int, metadata: dict[str, Any]) -> Any:
    """The predictions of a run in the order of time, if they are all there and not too many."""
    if metadata["how"]["brief"] or not 0 < rows <= MAX_LOADED_ROWS:
        return None
    table = parquet_source(find_parquet_table(folder / PREDICTIONS_FOLDER))
    with suppress(MemoryError):
        loaded = table.load(table.names, [], [])
        return loaded if len(loaded) == rows else None
    return None


def read_rate_files_run(folder: Path) -> StoredFileRun | None:
    """The run of `rate_files` in a folder; None if there is none.

    Raises:
      ValueError: if it has not rated all matches, if it cannot be kept, or if a file is damaged.
    """
    checkpoint = read_checkpoint(folder)
    if checkpoint is None:
        return None
    metadata, arrays = checkpoint
    rows, total = metadata["rows"], metadata.get("whole")
    if total is None or metadata["run"] is None:
        missing = f"how {metadata['how']['system']} was made, as another version of jaxrate or settings of one's own"
        raise ValueError(f"the run by chunks does not tell {missing}; take what `rate_files` returns, with resume=True")
    if rows < total:
        noun = "matches" if metadata.get("contests") is None else "participations"
        raise ValueError(f"{rows:,} of {total:,} {noun} are rated there; go on by `rate_files` with resume=True")
    for key in (NAMES_KEY, RANKED_KEY):
        arrays.pop(key, None)
    games = arrays.pop(GAMES_KEY)
    with name_file_in_errors("ratings.parquet"):
        players, table_games = read_parquet_names_and_games(
            (folder / "ratings.parquet").read_bytes(), metadata["known"]
        )
        if not np.array_equal(games, table_games):
            raise ValueError("it is of another run")
    description = metadata["run"] | {"players": metadata["known"], "last": metadata["last"]}
    return StoredFileRun(
        description, arrays, players, games, rows, metadata.get("contests"), _read_predictions(folder, rows, metadata)
    )
