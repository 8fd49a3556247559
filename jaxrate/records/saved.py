"""Rated histories, kept in a folder that people can read.

run.json              the system, its parameters, the form, how far it went
ratings.parquet       one row per player, best first
predictions.parquet   one row per match or participation: what was expected, and the ratings before it
state.npz             the state, exactly
"""

import json
import os
import zlib
from collections.abc import Callable
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
from jaxrate.system import RatingSystem
from jaxrate.systems import SYSTEMS

FORMAT = 3  # of the folder, its tables and the states in it: raised when older ones cannot be carried on


def save(folder: str | os.PathLike[str], rated: Rated) -> None:
    """Write a rated history to a folder, in place of the one there; files of other names stay.

    The system's name, its hyperparameters, and those of its settings that are words, numbers, None or tuples of them
    are kept.

    Raises:
      ValueError: if the system was made with something else, such as a function of one's own, or has rules of its own
        under the name of a system that comes with the package.
    """
    folder, system = Path(folder), rated.system
    for name, value in system.settings.items():
        if not _plain(value):
            raise ValueError(f"{system.name} was made with {name} of its own, which a saved run cannot hold")
    params = {name: None if x is None else float(x) for name, x in system.params._asdict().items()}
    if system.name in SYSTEMS and not _comes_with_package(system, params):
        raise ValueError(f"this {system.name} is not the one of jaxrate; give a system of your own a name of its own")
    about: dict[str, Any] = {
        "format": FORMAT,
        "jaxrate": version("jaxrate"),
        "system": system.name,
        "settings": system.settings,
        "params": params,
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


def _comes_with_package(system: RatingSystem, params: dict[str, float | None]) -> bool:
    """Whether the system of that name has these rules."""
    try:
        return SYSTEMS[system.name](**system.settings, **params).rules == system.rules
    except (TypeError, ValueError):
        return False


def _plain(value: Any) -> bool:
    """Whether JSON can hold it."""
    if isinstance(value, tuple):
        return all(map(_plain, value))
    return value is None or isinstance(value, (str, int, float))


def _as_saved(value: Any) -> Any:
    """What JSON holds, with its lists as tuples again."""
    return tuple(map(_as_saved, value)) if isinstance(value, list) else value


def load(folder: str | os.PathLike[str], make: Callable[..., RatingSystem] | None = None) -> Rated:
    """The rated history in a folder.

    Args:
      folder: as `save` wrote it.
      make: the factory of a system of one's own: it is called with the settings and hyperparameters that were saved.
        None: that of `SYSTEMS`.

    Raises:
      ValueError: if there is none, if its files do not belong together, if another version of jaxrate wrote it in a
        form that this one cannot carry on, or if the factory makes no such system.
    """
    arrow, folder = pyarrow(), Path(folder)
    try:
        about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        writer, name = f"jaxrate {about['jaxrate']}", about["system"]
        if about["format"] != FORMAT:
            raise ValueError(f"{writer} wrote it in another form; rate the matches again")
        if make is None and name not in SYSTEMS:
            raise ValueError(
                f"{writer} wrote it for the system {name!r}, which this version does not have; if it is your own, load "
                "it in Python, by jr.load(folder, make=...) with its factory"
            )
        for file, checksum in about["checksums"].items():
            if _checksum(folder / file) != checksum:
                raise ValueError(f"{file} was changed or belongs to another run; rate the matches again")
        settings = {key: _as_saved(value) for key, value in about["settings"].items()}
        system = _made(make or SYSTEMS[name], name, settings | about["params"])
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


def _made(make: Callable[..., RatingSystem], name: str, given: dict[str, Any]) -> RatingSystem:
    try:
        system = make(**given)
    except TypeError as error:
        raise ValueError(f"the factory does not take what {name} was made with: {error}") from None
    if system.name != name:
        raise ValueError(f"the run is of {name}, but the factory makes {system.name}")
    return system


def _checksum(file: Path) -> int:
    checksum = 0
    with file.open("rb") as opened:
        while piece := opened.read(1 << 24):
            checksum = zlib.crc32(piece, checksum)
    return checksum
