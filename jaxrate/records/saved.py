"""Rated histories, kept in a folder that people can read.

run.json              the system, its parameters, the form, how far it went
ratings.parquet       one row per player, best first
predictions.parquet   one row per match or participation: what was expected, and the ratings before it
state.npz             the state, exactly
"""

import json
import os
import zlib
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import numpy as np

from jaxrate.data.tables import pyarrow
from jaxrate.data.writing import write
from jaxrate.records.careers import leaves, rating_table
from jaxrate.records.rated import Rated
from jaxrate.replay.compiling import blank
from jaxrate.systems import SYSTEMS

FORMAT = 3  # of the folder, its tables and the states in it: raised when older ones cannot be carried on


def save(folder: str | os.PathLike[str], rated: Rated) -> None:
    """Write a rated history to a folder, in place of the one there; files of other names stay.

    Raises:
      ValueError: if the system was made with something that has no name to be kept by, such as a function of one's own.
    """
    folder, settings = Path(folder), dict(rated.system.settings)
    for name, value in settings.items():
        parts = value if isinstance(value, tuple) else (value,)
        if not all(x is None or isinstance(x, (str, int, float)) for x in parts):
            raise ValueError(f"{rated.system.name} was made with {name} of its own, which a saved run cannot hold")
    about: dict[str, Any] = {
        "format": FORMAT,
        "jaxrate": version("jaxrate"),
        "system": rated.system.name,
        "settings": settings,
        "params": {name: None if x is None else float(x) for name, x in rated.system.params._asdict().items()},
        "period": rated.period,
        "matches" if rated.contests is None else "participations": len(rated.predictions),
        "players": len(rated.players),
        "last": rated.last,
        "clock": rated.clock,
        "options": rated.options,
        "categories": None if rated.categories is None else np.asarray(rated.categories).tolist(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix=".saving") as temporary:
        new = Path(temporary)
        np.savez(new / "state.npz", allow_pickle=False, **leaves(rated.state))
        write(rating_table(rated), new / "ratings.parquet")
        write(rated.predictions, new / "predictions.parquet")
        about["checksums"] = {file.name: _checksum(file) for file in sorted(new.iterdir())}
        (new / "run.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        for file in sorted(new.iterdir()):
            os.replace(file, folder / file.name)


def load(folder: str | os.PathLike[str]) -> Rated:
    """The rated history in a folder.

    Raises:
      ValueError: if there is none, if its files do not belong together, or if another version of jaxrate wrote it in a
        form that this one cannot carry on.
    """
    arrow, folder = pyarrow(), Path(folder)
    try:
        about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        writer, name = f"jaxrate {about['jaxrate']}", about["system"]
        if about["format"] != FORMAT:
            raise ValueError(f"{writer} wrote it in another form; rate the matches again")
        if name not in SYSTEMS:
            raise ValueError(f"{writer} wrote it for the system {name!r}, which this version does not have")
        for file, checksum in about["checksums"].items():
            if _checksum(folder / file) != checksum:
                raise ValueError(f"{file} was changed or belongs to another run; rate the matches again")
        settings = {key: tuple(x) if isinstance(x, list) else x for key, x in about["settings"].items()}
        system = SYSTEMS[name](**settings, **about["params"])
        fresh = blank(system, about["players"])
        with np.load(folder / "state.npz", allow_pickle=False) as file:
            stored = dict(file)
        if {key: x.shape for key, x in stored.items()} != {key: x.shape for key, x in leaves(fresh).items()}:
            raise ValueError(f"{writer} wrote another kind of state for {name}; rate the matches again")
        state = jax.tree.unflatten(jax.tree.structure(fresh), [stored[key] for key in leaves(fresh)])
        table = arrow.parquet.read_table(folder / "ratings.parquet", columns=["id", "player", "games"]).sort_by("id")
        guesses = arrow.parquet.read_table(folder / "predictions.parquet")
        names, games = table["player"].to_numpy(), table["games"].to_numpy().copy()
        period, last, clock, options = (about[key] for key in ("period", "last", "clock", "options"))
        known = about.get("categories")
        categories = None if known is None else np.array(known, object if isinstance(known[0], str) else None)
        return Rated(system, state, names, games, period, last, clock, guesses, options, categories)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ValueError(f"{folder}: no saved run there: {Path(error.filename).name} is missing") from None
    except (KeyError, TypeError, json.JSONDecodeError, arrow.ArrowException) as error:
        raise ValueError(f"{folder}: its files are damaged ({error!r})") from None
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from None


def _checksum(file: Path) -> int:
    checksum = 0
    with file.open("rb") as opened:
        while piece := opened.read(1 << 24):
            checksum = zlib.crc32(piece, checksum)
    return checksum
