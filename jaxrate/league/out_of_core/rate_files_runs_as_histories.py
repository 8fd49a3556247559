"""Runs of `rate_files` as rated histories and as saved runs: their predictions stay in the files."""

from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxrate.array_types import HostArray
from jaxrate.data.table_sources import import_pyarrow
from jaxrate.events import Matches
from jaxrate.events.dataset import Dataset
from jaxrate.league.dataset_rating import match_prediction_table_columns
from jaxrate.league.out_of_core.checkpoints import read_checkpoint
from jaxrate.league.out_of_core.parquet_rating import RatedFiles
from jaxrate.league.out_of_core.run_resumption import GAMES_KEY, NAMES_KEY
from jaxrate.league.rated_history import Rated
from jaxrate.league.ratings_before_and_after_events import History, do_leads_fade
from jaxrate.rules import Rating
from jaxrate.storage.run_validation import name_file_in_errors, read_parquet_names_and_games


def rated_history_from_rated_files(rated_files: RatedFiles) -> Rated:
    """The result of `rate_files` as a rated history, which has no predictions of its own."""
    none, clock = np.zeros(0), rated_files.clock
    events = Matches(np.zeros((0, 2), np.int32), none, none)
    data = Dataset(events, rated_files.players, np.zeros(0, np.int64), None, clock)
    floats = np.zeros((0, 2), jnp.result_type(float))
    deviation = rated_files.system.summary(
        rated_files.system.params, rated_files.system.init(rated_files.system.params, 1)
    ).deviation
    before = Rating(floats, None if deviation is None else floats)
    columns = match_prediction_table_columns(
        data,
        History(None, floats[:, 0], before, before if do_leads_fade(rated_files.system) else None),
        import_pyarrow().array(rated_files.players),
    )
    predictions = import_pyarrow().table(columns)
    system, state, players, games = rated_files.system, rated_files.state, rated_files.players, rated_files.games
    return Rated(system, state, players, games, rated_files.period, rated_files.last, clock, predictions, {})


class StoredFileRun(NamedTuple):
    """A run of `rate_files` as its folder describes it."""

    description: dict[str, Any]  # as in run.json
    state: dict[str, HostArray]  # leaves by name
    players: HostArray
    games: HostArray


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
        raise ValueError(f"{rows:,} of {total:,} matches are rated there; go on by `rate_files` with resume=True")
    arrays.pop(NAMES_KEY, None)
    games = arrays.pop(GAMES_KEY)
    with name_file_in_errors("ratings.parquet"):
        players, table_games = read_parquet_names_and_games(
            (folder / "ratings.parquet").read_bytes(), metadata["known"]
        )
        if not np.array_equal(games, table_games):
            raise ValueError("it is of another run")
    description = metadata["run"] | {"players": metadata["known"], "last": metadata["last"]}
    return StoredFileRun(description, arrays, players, games)
