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


def as_rated(found: RatedFiles) -> Rated:
    """What `rate_files` left behind as a rated history, which has no predictions of its own."""
    none, clock = np.zeros(0), found.clock
    events = Matches(np.zeros((0, 2), np.int32), none, none)
    data = Dataset(events, found.players, np.zeros(0, np.int64), None, clock)
    floats = np.zeros((0, 2), jnp.result_type(float))
    deviation = found.system.summary(found.system.params, found.system.init(found.system.params, 1)).deviation
    before = Rating(floats, None if deviation is None else floats)
    columns = match_columns(data, History(None, floats[:, 0], before), pyarrow().array(found.players))
    predictions = pyarrow().table(columns)
    system, state, players, games = found.system, found.state, found.players, found.games
    return Rated(system, state, players, games, found.period, found.last, clock, predictions, {})


class Stored(NamedTuple):
    """What a folder of `rate_files` tells of its run."""

    about: dict[str, Any]  # as run.json would
    state: dict[str, Values]  # leaves by name
    players: Values
    games: Values


def read_bulk(folder: Path) -> Stored | None:
    """The run of `rate_files` in a folder; None if there is none.

    Raises:
      ValueError: if it has not rated all matches, if it cannot be kept, or if a file is damaged.
    """
    read = read_checkpoint(folder)
    if read is None:
        return None
    told, arrays = read
    rows, whole = told["rows"], told.get("whole")
    if whole is None or told["run"] is None:
        made = f"how {told['how']['system']} was made, as another version of jaxrate or settings of one's own"
        raise ValueError(f"the run by chunks does not tell {made}; take what `rate_files` returns, with resume=True")
    if rows < whole:
        raise ValueError(f"{rows:,} of {whole:,} matches are rated there; go on by `rate_files` with resume=True")
    arrays.pop(NAMES, None)
    games = arrays.pop(GAMES)
    with file_named("ratings.parquet"):
        players, counted = read_ratings((folder / "ratings.parquet").read_bytes(), told["known"])
        if not np.array_equal(games, counted):
            raise ValueError("it is of another run")
    about = told["run"] | {"players": told["known"], "last": told["last"]}
    return Stored(about, arrays, players, games)
