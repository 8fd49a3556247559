"""Rated histories, kept in a folder that people can read.

run.json              the system, its parameters, the form, how far it went
ratings.parquet       one row per player, best first
predictions.parquet   one row per match or participation: what was expected, and the ratings before it
state.npz             the state, exactly

Without pyarrow the tables are ratings.npz and predictions.npz, see `plain_tables`.

`folder` says how they are replaced at once, `contents` what they may hold.
"""

import logging
import os
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from jaxrate.argument_checks import check_arguments
from jaxrate.data.table_sources import import_pyarrow
from jaxrate.data.table_writing import write
from jaxrate.league.out_of_core.checkpoints import CHECKPOINT_FILE
from jaxrate.league.out_of_core.parquet_rating import RatedFiles
from jaxrate.league.out_of_core.stored_file_runs import StoredFileRun, rated_from_files, read_file_run
from jaxrate.league.player_history import rating_table
from jaxrate.league.rated_history import Rated
from jaxrate.league.run_metadata import make_run_metadata
from jaxrate.league.system_choice import PREDICTION_WRAPPERS, make_wrapped_system
from jaxrate.live.live_ratings import Live
from jaxrate.replay.padded_arrays import leaves_by_name
from jaxrate.storage.atomic_folder import PLAIN, RUN_FILE, lock_folder, read_run, replace_run
from jaxrate.storage.plain_tables import read_plain_predictions, read_plain_ratings, to_npz
from jaxrate.storage.run_validation import (
    COUNT_KEYS,
    check_metadata,
    errors_naming_file,
    read_npz,
    read_predictions_table,
    read_ratings_table,
    restore_state,
)
from jaxrate.system import RatingSystem
from jaxrate.systems import SYSTEMS

LOG = logging.getLogger(__name__)
SHOWN = "id", "player", "rating", "deviation", "games"  # of the ratings without pyarrow
MAX_ERROR_LENGTH = 500  # characters of an error
PERIOD_START_SYSTEMS = (
    "glicko",
    "category_glicko",
)  # format 3 dated what a rating period left by its beginning, now by its end


@check_arguments
def save(folder: str | os.PathLike[str], rated: Rated | RatedFiles | Live) -> None:
    """Write a rated history to a folder, in place of the one there; files of other names stay.

        jr.save("season", rated)

    It may be of `rate`, a `Live`, of which `rated()` is written, or of `rate_files`, whose predictions stay where they
    are. Without pyarrow, which a `Live` does not need, the tables are .npz files.

    It is replaced wholly or not at all, whatever interrupts it. While another process saves into the folder, this one
    waits for some seconds. Tables that `jaxrate rate` wrote beside the run there go with it.

    The system's name, its hyperparameters, and those of its settings that are words, numbers, None or tuples of them
    are kept, of a density of one's own the name: then `load` needs `make=lambda **given: jr.elo_mmr(**given |
    {"density": own})`.

    Raises:
      ValueError: if the system was made with something else, such as a function of one's own, or has rules of its own
        under the name of a system that comes with the package; if the state holds what is not a number; if another
        process saves into the folder for long; or if the folder is one of `rate_files`.
      OSError: if the files cannot be written: what was saved there before stays.
    """
    folder = Path(folder)
    if (folder / CHECKPOINT_FILE).exists():
        raise ValueError(f"{folder} has a run of `rate_files`, which `load` takes as it is; save into another folder")
    if isinstance(rated, Live):
        rated = rated.rated()
    elif isinstance(rated, RatedFiles):
        rated = rated_from_files(rated)
    about = make_run_metadata(rated)
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        write_run(folder, rated, about, {})
    LOG.info("a history of %d players is saved in %s", len(rated.players), folder)


def write_run(
    folder: Path, rated: Rated, metadata: dict[str, Any], extra_tables: Mapping[str, Any], csv_safe: bool = False
) -> None:
    """Save what was `described`, and tables beside it, into a folder that is held; a name without table is cleared."""
    stored = {key: np.asarray(x) for key, x in leaves_by_name(rated.state).items()}
    restore_state(rated.system, len(rated.players), stored)
    tables = {"ratings.parquet": rating_table(rated), "predictions.parquet": rated.predictions, **extra_tables}
    if isinstance(rated.predictions, dict):
        shown = {name: x for name, x in tables["ratings.parquet"].items() if name in SHOWN}
        tables = {PLAIN["ratings.parquet"]: shown, PLAIN["predictions.parquet"]: rated.predictions, **extra_tables}
    packed = BytesIO()
    np.savez(packed, allow_pickle=False, **stored)

    def files(new: Path) -> None:
        (new / "state.npz").write_bytes(packed.getbuffer())
        for name, table in tables.items():
            if name in PLAIN.values():
                (new / name).write_bytes(to_npz(table))
            elif table is not None:
                write(table, new / name, csv_safe=csv_safe)

    replace_run(folder, metadata, files, obsolete_names=tables)


def _lists_to_tuples(value: Any) -> Any:
    """What JSON holds, with its lists as tuples again."""
    return tuple(map(_lists_to_tuples, value)) if isinstance(value, list) else value


@check_arguments
def load(folder: str | os.PathLike[str], make: Callable[..., RatingSystem] | None = None) -> Rated:
    """The rated history in a folder.

        rated = jr.load("season")  # as jr.save("season", rated) left it

    Args:
      folder: as `save` or `rate_files` wrote it; the latter's predictions stay in their files.
      make: the factory of a system of one's own: it is called with the settings and hyperparameters that were saved.
        None: that of `SYSTEMS`.

    Raises:
      ValueError: if there is none, if a file is damaged or belongs to another run (names it), if another version of
        jaxrate wrote it in a form that this one cannot carry on, or if the factory makes no such system.
    """
    try:
        if not (Path(folder) / RUN_FILE).exists() and (stored := read_file_run(Path(folder))) is not None:
            return _restore_file_run(stored, make)
        about, files = read_run(Path(folder))
        return _restore_rated(about, files, make)
    except ValueError as error:
        text = str(error)
        raise ValueError(
            f"{folder}: {text if len(text) < MAX_ERROR_LENGTH else text[:MAX_ERROR_LENGTH] + '...'}"
        ) from error.__cause__


def _restore_rated(
    metadata: dict[str, Any], files: dict[str, bytes], make: Callable[..., RatingSystem] | None
) -> Rated:
    with errors_naming_file("run.json"):
        check_metadata(metadata)
    players = metadata["players"]
    system = _remake_system(metadata, make)
    with errors_naming_file("state.npz"):
        stored = read_npz(files["state.npz"])
    seasons = metadata.get("seasons")  # which runs of earlier versions do not say
    if seasons is not None and [*seasons.values()] != [*system.settings.get("seasons", ())]:
        raise ValueError("run.json is damaged (its seasons are not those of the system)")
    category_names = metadata["categories"]
    if category_names is not None and system.settings.get("categories") != len(category_names):
        raise ValueError(f"run.json is damaged ({len(category_names)} categories are not those of the system)")
    with errors_naming_file("state.npz"):
        state = restore_state(system, players, stored)
    if (
        metadata["format"] == 3
        and metadata["period"] is not None
        and system.name in PERIOD_START_SYSTEMS
        and make is None
    ):
        state = state._replace(time=state.time + system.params.period)
    kind, (ratings, predictions) = (
        next(key for key in COUNT_KEYS if key in metadata),
        [x for x in files if x != "state.npz"],
    )
    plain = ratings in PLAIN.values()
    if not plain:
        import_pyarrow()
    with errors_naming_file(ratings):
        names, games = (read_plain_ratings if plain else read_ratings_table)(files[ratings], players)
    with errors_naming_file(predictions):
        read_table = read_plain_predictions if plain else read_predictions_table
        guesses = read_table(files[predictions], kind, metadata[kind], names)
    categories = (
        None
        if category_names is None
        else np.array(category_names, object if isinstance(category_names[0], str) else None)
    )
    period, last, clock, options = (metadata[key] for key in ("period", "last", "clock", "options"))
    return Rated(system, state, names, games, period, last, clock, guesses, options, categories, seasons)


def _remake_system(about: dict[str, Any], make: Callable[..., RatingSystem] | None) -> RatingSystem:
    """The system of a run, made again."""
    name, writer = about["system"], f"jaxrate {about['jaxrate']:.20}"
    if make is None and name not in SYSTEMS:
        raise ValueError(
            f"{writer} wrote it for the system {name[:80]!r}, which this version does not have; if it is your own, "
            "load it in Python, by jr.load(folder, make=...) with its factory"
        )
    settings = {key: _lists_to_tuples(value) for key, value in about["settings"].items()}
    ways = [way for way in PREDICTION_WRAPPERS if about.get(way)]
    return _call_factory(ways, make or SYSTEMS[name], name, settings | about["params"])


def _restore_file_run(file_run: StoredFileRun, make: Callable[..., RatingSystem] | None) -> Rated:
    with errors_naming_file(CHECKPOINT_FILE):
        check_metadata(file_run.description)
    about, system = file_run.description, _remake_system(file_run.description, make)
    with errors_naming_file(CHECKPOINT_FILE):
        state = restore_state(system, about["players"], file_run.state)
    clock, period, last = (about[name] for name in ("clock", "period", "last"))
    games, matches = file_run.games, int(file_run.games.sum()) // 2
    return rated_from_files(
        RatedFiles(system, state, file_run.players, games, matches, last, clock, period, {}, {}, Path())
    )


def _call_factory(
    ways: list[str], make: Callable[..., RatingSystem], name: str, arguments: dict[str, Any]
) -> RatingSystem:
    try:
        system = make_wrapped_system(ways, make, arguments)
    except TypeError as error:
        raise ValueError(f"run.json: the factory does not take what {name} was made with: {error}") from None
    except Exception as error:  # whatever a factory says of what it cannot take
        raise ValueError(f"run.json: {error}") from error
    if system.name != name:
        raise ValueError(f"run.json: the run is of {name}, but the factory makes {system.name}")
    return system
