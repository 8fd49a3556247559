"""Rated histories, kept in a folder that people can read.

run.json              the system, its parameters, the form, how far it went
ratings.parquet       one row per player, best first
predictions.parquet   one row per match or participation: what was expected, and the ratings before it
state.npz             the state, exactly

`folder` says how they are replaced at once, `contents` what they may hold.
"""

import os
from collections.abc import Callable, Mapping
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from jaxrate.data.tables import pyarrow
from jaxrate.data.writing import write
from jaxrate.records.careers import leaves, rating_table
from jaxrate.records.contents import (
    COUNTS,
    as_state,
    check_about,
    file_named,
    read_predictions,
    read_ratings,
    unpacked,
)
from jaxrate.records.folder import FORMAT, held, put, read
from jaxrate.records.rated import Rated
from jaxrate.system import RatingSystem
from jaxrate.systems import SYSTEMS
from jaxrate.systems.choosing import WAYS, remade_by
from jaxrate.systems.rounds.densities import Density

LONG = 500  # characters of an error
BY_START = "glicko", "category_glicko"  # format 3 dated what a rating period left by its beginning, now by its end


def save(folder: str | os.PathLike[str], rated: Rated) -> None:
    """Write a rated history to a folder, in place of the one there; files of other names stay.

        jr.save("season", rated)

    It is replaced wholly or not at all, whatever interrupts it. While another process saves into the folder, this one
    waits for some seconds. Tables that `jaxrate rate` wrote beside the run there go with it.

    The system's name, its hyperparameters, and those of its settings that are words, numbers, None or tuples of them
    are kept, of a density of one's own the name: then `load` needs `make=lambda **given: jr.elo_mmr(**given |
    {"density": own})`.

    Raises:
      ValueError: if the system was made with something else, such as a function of one's own, or has rules of its own
        under the name of a system that comes with the package; if the state holds what is not a number; or if another
        process saves into the folder for long.
      OSError: if the files cannot be written: what was saved there before stays.
    """
    folder, about = Path(folder), described(rated)
    folder.mkdir(parents=True, exist_ok=True)
    with held(folder):
        keep(folder, rated, about, {})


def keep(folder: Path, rated: Rated, about: dict[str, Any], beside: Mapping[str, Any]) -> None:
    """Save what was `described`, and tables beside it, into a folder that is held; a name without table is cleared."""
    stored = {key: np.asarray(x) for key, x in leaves(rated.state).items()}
    as_state(rated.system, len(rated.players), stored)
    packed = BytesIO()
    np.savez(packed, allow_pickle=False, **stored)

    def files(new: Path) -> None:
        (new / "state.npz").write_bytes(packed.getbuffer())
        tables = {"ratings.parquet": rating_table(rated), "predictions.parquet": rated.predictions, **beside}
        for name, table in tables.items():
            if table is not None:
                write(table, new / name)

    put(folder, about, files, gone=beside)


def described(rated: Rated) -> dict[str, Any]:
    """What run.json tells of a rated history; ValueError if that cannot be kept."""
    system = rated.system
    settings = {name: x.name if isinstance(x, Density) else x for name, x in system.settings.items()}
    for name, value in settings.items():
        if not _plain(value):
            raise ValueError(f"{system.name} was made with {name} of its own, which a saved run cannot hold")
    params = {name: None if x is None else float(x) for name, x in system.params._asdict().items()}
    if system.name in SYSTEMS and not _comes_with_package(system, params):
        raise ValueError(f"this {system.name} is not the one of jaxrate; give a system of your own a name of its own")
    return {
        "format": FORMAT,
        "jaxrate": version("jaxrate"),
        "system": system.name,
        "settings": settings,
        "params": params,
        "period": None if rated.period is None else float(rated.period),
        COUNTS[rated.contests is not None]: len(rated.predictions),
        "players": len(rated.players),
        "last": rated.last,
        "clock": rated.clock,
        "options": rated.options,
        "categories": None if rated.categories is None else np.asarray(rated.categories).tolist(),
        "seasons": rated.seasons,
    } | dict.fromkeys(system.traits.remade, True)


def _comes_with_package(system: RatingSystem, params: dict[str, float | None]) -> bool:
    """Whether the system of that name has these rules, remade as they are."""
    try:
        return remade_by(system.traits.remade, SYSTEMS[system.name], system.settings | params).rules == system.rules
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

        rated = jr.load("season")  # as jr.save("season", rated) left it

    Args:
      folder: as `save` wrote it.
      make: the factory of a system of one's own: it is called with the settings and hyperparameters that were saved.
        None: that of `SYSTEMS`.

    Raises:
      ValueError: if there is none, if a file is damaged or belongs to another run (names it), if another version of
        jaxrate wrote it in a form that this one cannot carry on, or if the factory makes no such system.
    """
    pyarrow()
    try:
        about, files = read(Path(folder))
        return _as_rated(about, files, make)
    except ValueError as error:
        text = str(error)
        raise ValueError(f"{folder}: {text if len(text) < LONG else text[:LONG] + '...'}") from error.__cause__


def _as_rated(about: dict[str, Any], files: dict[str, bytes], make: Callable[..., RatingSystem] | None) -> Rated:
    with file_named("run.json"):
        check_about(about)
    name, writer, players = about["system"], f"jaxrate {about['jaxrate']:.20}", about["players"]
    if make is None and name not in SYSTEMS:
        raise ValueError(
            f"{writer} wrote it for the system {name[:80]!r}, which this version does not have; if it is your own, "
            "load it in Python, by jr.load(folder, make=...) with its factory"
        )
    with file_named("state.npz"):
        stored = unpacked(files["state.npz"])
    settings = {key: _as_saved(value) for key, value in about["settings"].items()}
    ways = [way for way in WAYS if about.get(way)]
    system = _made(ways, make or SYSTEMS[name], name, settings | about["params"])
    seasons = about.get("seasons")  # which runs of earlier versions do not say
    if seasons is not None and [*seasons.values()] != [*system.settings.get("seasons", ())]:
        raise ValueError("run.json is damaged (its seasons are not those of the system)")
    known = about["categories"]
    if known is not None and system.settings.get("categories") != len(known):
        raise ValueError(f"run.json is damaged ({len(known)} categories are not those of the system)")
    with file_named("state.npz"):
        state = as_state(system, players, stored)
    if about["format"] == 3 and about["period"] is not None and name in BY_START and make is None:
        state = state._replace(time=state.time + system.params.period)
    with file_named("ratings.parquet"):
        names, games = read_ratings(files["ratings.parquet"], players)
    kind = next(key for key in COUNTS if key in about)
    with file_named("predictions.parquet"):
        guesses = read_predictions(files["predictions.parquet"], kind, about[kind], names)
    categories = None if known is None else np.array(known, object if isinstance(known[0], str) else None)
    period, last, clock, options = (about[key] for key in ("period", "last", "clock", "options"))
    return Rated(system, state, names, games, period, last, clock, guesses, options, categories, seasons)


def _made(ways: list[str], make: Callable[..., RatingSystem], name: str, given: dict[str, Any]) -> RatingSystem:
    try:
        system = remade_by(ways, make, given)
    except TypeError as error:
        raise ValueError(f"run.json: the factory does not take what {name} was made with: {error}") from None
    except Exception as error:  # whatever a factory says of what it cannot take
        raise ValueError(f"run.json: {error}") from error
    if system.name != name:
        raise ValueError(f"run.json: the run is of {name}, but the factory makes {system.name}")
    return system
