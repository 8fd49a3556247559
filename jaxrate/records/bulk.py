"""Rated histories whose predictions stand in files: what goes on from them has players, games and the clock."""

from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxrate.data.dataset import Dataset
from jaxrate.data.tables import Values, pyarrow
from jaxrate.events import Matches
from jaxrate.records.checkpoints import read_checkpoint
from jaxrate.records.contents import file_named, read_ratings
from jaxrate.records.files import GAMES, NAMES, RatedFiles
from jaxrate.records.history import History
from jaxrate.records.rated import Rated
from jaxrate.records.rating import match_columns
from jaxrate.system import Rating


def rated_from_files(rated_files: RatedFiles) -> Rated:
    """What `rate_files` left behind as a rated history, which has no predictions of its own."""
    none, clock = np.zeros(0), rated_files.clock
    events = Matches(np.zeros((0, 2), np.int32), none, none)
    data = Dataset(events, rated_files.players, np.zeros(0, np.int64), None, clock)
    floats = np.zeros((0, 2), jnp.result_type(float))
    deviation = rated_files.system.summary(
        rated_files.system.params, rated_files.system.init(rated_files.system.params, 1)
    ).deviation
    before = Rating(floats, None if deviation is None else floats)
    columns = match_columns(data, History(None, floats[:, 0], before), pyarrow().array(rated_files.players))
    predictions = pyarrow().table(columns)
    system, state, players, games = rated_files.system, rated_files.state, rated_files.players, rated_files.games
    return Rated(system, state, players, games, rated_files.period, rated_files.last, clock, predictions, {})


class StoredFileRun(NamedTuple):
    """What a folder of `rate_files` tells of its run."""

    about: dict[str, Any]  # as run.json would
    state: dict[str, Values]  # leaves by name
    players: Values
    games: Values


def read_file_run(folder: Path) -> StoredFileRun | None:
    """The run of `rate_files` in a folder; None if there is none.

    Raises:
      ValueError: if it has not rated all matches, if it cannot be kept, or if a file is damaged.
    """
    read = read_checkpoint(folder)
    if read is None:
        return None
    checkpoint, arrays = read
    rows, whole = checkpoint["rows"], checkpoint.get("whole")
    if whole is None or checkpoint["run"] is None:
        made = f"how {checkpoint['how']['system']} was made, as another version of jaxrate or settings of one's own"
        raise ValueError(f"the run by chunks does not tell {made}; take what `rate_files` returns, with resume=True")
    if rows < whole:
        raise ValueError(f"{rows:,} of {whole:,} matches are rated there; go on by `rate_files` with resume=True")
    arrays.pop(NAMES, None)
    games = arrays.pop(GAMES)
    with file_named("ratings.parquet"):
        players, counted = read_ratings((folder / "ratings.parquet").read_bytes(), checkpoint["known"])
        if not np.array_equal(games, counted):
            raise ValueError("it is of another run")
    about = checkpoint["run"] | {"players": checkpoint["known"], "last": checkpoint["last"]}
    return StoredFileRun(about, arrays, players, games)
