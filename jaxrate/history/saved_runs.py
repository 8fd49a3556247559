"""`save` and `load`: histories in folders.

run.json              the system, its parameters, the kind of events, the last time
ratings.parquet       one row per player, best first
predictions.parquet   one row per match or participation: the prediction, and the ratings before it
state.npz             the state, exactly

Without pyarrow the tables are ratings.npz and predictions.npz. `storage/run_folder.py` replaces all files at once,
and checks what they hold.
"""

import logging
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from jaxrate.core.argument_checks import FilePath, check_that, enforce_argument_annotations
from jaxrate.core.array_types import HostArray
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_count
from jaxrate.data.table_files import join_files
from jaxrate.data.table_sources import import_pyarrow
from jaxrate.data.table_writing import write
from jaxrate.history.event_columns import empty_event_columns, from_table_columns
from jaxrate.history.history import History, MakesHistory
from jaxrate.history.out_of_core.checkpoints import (
    CHECKPOINT_FILE,
    GAMES_KEY,
    NAMES_KEY,
    PREDICTIONS_FOLDER,
    RANKED_KEY,
    read_checkpoint,
)
from jaxrate.history.player_records import rating_table
from jaxrate.replay.padded_arrays import leaves_by_name
from jaxrate.storage.run_folder import (
    COUNT_KEYS,
    FORMAT_VERSION,
    NPZ_NAMES,
    RUN_FILE,
    check_metadata,
    columns_to_npz,
    encode_npz,
    lock_folder,
    name_file_in_errors,
    read_names_and_games,
    read_npz_arrays,
    read_predictions,
    read_run_files,
    read_run_metadata,
    replace_run,
    restore_state,
)
from jaxrate.systems import ALL_SYSTEMS
from jaxrate.systems.prediction_wrapping import PREDICTION_WRAPPERS, make_wrapped_system, wrapper_names
from jaxrate.systems.rounds.hazard_tables import Density
from jaxrate.systems.skills.part_declarations import OUTCOMES
from jaxrate.systems.skills.settings import OwnObservation, OwnPart


def make_run_metadata(rated: History) -> dict[str, Any]:
    """The contents of run.json for a rated history; ValueError if JSON cannot hold them."""
    if rated.hindsight is not None:
        raise ValueError("a history with hindsight is not saved; save the rated one, and smooth its events again")
    system = rated.system
    settings = {name: _replace_functions_by_names(x) for name, x in system.settings.items()}
    for name, value in settings.items():
        if not _is_json_value(value):
            raise ValueError(f"{system.name} was made with {name} of its own, which a saved run cannot hold")
    params = {name: None if x is None else float(x) for name, x in system.params._asdict().items()}
    if system.name in ALL_SYSTEMS and not _is_packaged_system(system, params):
        raise ValueError(f"this {system.name} is not the one of jaxrate; give a system of your own a name of its own")
    return {
        "format": FORMAT_VERSION,
        "jaxrate": version("jaxrate"),
        "system": system.name,
        "settings": settings,
        "params": params,
        "period": None if rated.period is None else float(rated.period),
        COUNT_KEYS[not rated.of_matches]: len(rated.events["row"]),
        "players": len(rated.players),
        "last": rated.last,
        "clock": rated.clock,
        "options": rated.options,
        "categories": None if rated.categories is None else np.asarray(rated.categories).tolist(),
        "seasons": rated.seasons,
    } | dict.fromkeys(wrapper_names(system), True)


def _is_packaged_system(system: RatingSystem, params: dict[str, float | None]) -> bool:
    """Whether the system of that name in the package has these rules."""
    with suppress(TypeError, ValueError):
        packaged = make_wrapped_system(wrapper_names(system), ALL_SYSTEMS[system.name], system.settings | params)
        return packaged.rules == system.rules
    return False


def _replace_functions_by_names(value: Any) -> Any:
    """A setting with the names of densities, parts and observations of a user's own, which have functions."""
    if isinstance(value, Density | OwnObservation | OwnPart):
        return value.name
    return tuple(map(_replace_functions_by_names, value)) if isinstance(value, tuple) else value


def _is_json_value(value: Any) -> bool:
    """Whether JSON can hold it."""
    return all(map(_is_json_value, value)) if isinstance(value, tuple) else isinstance(value, str | int | float | None)


LOG = logging.getLogger(__name__)
RATING_COLUMNS = "id", "player", "rating", "deviation", "games"  # columns of the ratings without pyarrow
COUNT_NOUNS = "match", "participation"  # what COUNT_KEYS count
MAX_ERROR_LENGTH = 500  # characters of an error message
MAX_LOADED_ROWS = 20_000_000  # predictions of chunks that are loaded, some two gigabytes


@enforce_argument_annotations
def save(folder: FilePath, rated: History | MakesHistory) -> None:
    """Write a rated history to a folder, in place of the one there; files of other names stay.

        jr.save("season", rated)

    The history comes from `jr.rate` (by chunks its predictions stay where they are), or from a `Live` (its `to_rated()`
    is written). Without pyarrow, which a `Live` does not need, the tables are .npz files.

    The run is replaced wholly or not at all, whatever interrupts it. While another process saves into the folder, this
    one waits for some seconds. Tables that `jaxrate rate` wrote beside the old run are removed.

    The file has the system's name, its hyperparameters, and those of its settings that are words, numbers, None or
    tuples of them. A density of your own is saved by its name only: `load` then needs `make=lambda **settings:
    jr.elo_mmr(**settings | {"density": density})`. So is a part of your own, of a system that you make again: give
    `make=lambda own_parts, **saved: system.make(**saved)`; of an observation of your own it is `outcome`.

    Raises:
      ValueError: if the history has hindsight; if the system was made with something else, such as your own function,
        or has its own rules under the name of a system that comes with the package; if the state holds NaN; if another
        process saves into the folder for long; or if the folder is a file, or one of a run by chunks.
      OSError: if the files cannot be written. The run that was saved there before stays.

    Warns:
      UserWarning: if the run there was of more matches or contests than the new one.
    """
    folder = Path(folder)
    if folder.is_file():
        raise ValueError(f'save: {folder} is a file; name a folder for the run, as in jr.save("season", rated)')
    if (folder / CHECKPOINT_FILE).exists():
        raise ValueError(f"{folder} has a run by chunks, which `load` takes as it is; save into another folder")
    if isinstance(rated, MakesHistory):
        rated = rated.to_rated()
    metadata = make_run_metadata(rated)
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        longer_run = describe_longer_run(folder, rated)
        write_run(folder, rated, metadata, {})
    if longer_run:
        text = f"jr.rate(..., onto=jr.load({str(folder)!r})) goes on with a run"
        warnings.warn(f"replaced {longer_run} in {folder}; {text}", UserWarning, stacklevel=3)
    LOG.info("a history of %d players is saved in %s", len(rated.players), folder)


def describe_longer_run(folder: Path, rated: History) -> str:
    """The run in a folder, as "a run of 230 matches", if it has more of these than a new one; "" if it has not."""
    with suppress(ValueError):
        metadata = read_run_metadata(folder)
        for key, noun in zip(COUNT_KEYS, COUNT_NOUNS, strict=True):
            if isinstance(count := metadata.get(key), int) and count > len(rated.events["row"]):
                return f"a run of {format_count(count, noun)}"
    return ""


def write_run(
    folder: Path, rated: History, metadata: dict[str, Any], extra_tables: Mapping[str, Any], csv_safe: bool = False
) -> None:
    """Save a run and further tables into a locked folder."""
    stored = {key: np.asarray(x) for key, x in leaves_by_name(rated.state).items()}
    restore_state(rated.system, len(rated.players), stored)
    tables = {"ratings.parquet": rating_table(rated), "predictions.parquet": rated.predictions}
    if isinstance(rated.predictions, dict):
        columns = tables["ratings.parquet"].items()
        tables["ratings.parquet"] = {name: x for name, x in columns if name in RATING_COLUMNS}
        tables = {NPZ_NAMES[name]: table for name, table in tables.items()}

    def write_files(new_folder: Path) -> None:
        (new_folder / "state.npz").write_bytes(encode_npz(stored))
        for name, table in (tables | dict(extra_tables)).items():
            if name in NPZ_NAMES.values():
                (new_folder / name).write_bytes(columns_to_npz(table))
            else:
                write(table, new_folder / name, csv_safe=csv_safe)

    replace_run(folder, metadata, write_files)


def _lists_to_tuples(value: Any) -> Any:
    """A value from JSON, with lists as tuples again."""
    return tuple(map(_lists_to_tuples, value)) if isinstance(value, list) else value


@enforce_argument_annotations
def load(folder: FilePath, make: Callable[..., RatingSystem] | None = None) -> History:
    """The rated history in a folder.

        rated = jr.load("season")  # as jr.save("season", rated) left it

    Args:
      folder: a folder that `save` wrote, or `rate` by chunks. More than 20 million predictions of chunks, and brief
        ones, stay in their files.
      make: the factory of your own system. It is called with the settings and hyperparameters that were saved. None:
        the factory in `ALL_SYSTEMS`.

    Raises:
      ValueError: if there is no run, if a file is damaged (names the file), if another
        version of jaxrate wrote it in a format that this one cannot carry on, or if the factory makes another system.
    """
    folder = Path(folder)
    try:
        if not (folder / RUN_FILE).exists() and (folder / CHECKPOINT_FILE).exists():
            return _load_chunked_run(folder, make)
        return _restore_saved_run(*read_run_files(folder), make)
    except ValueError as error:
        text = str(error)
        raise ValueError(
            f"{folder}: {text if len(text) < MAX_ERROR_LENGTH else text[:MAX_ERROR_LENGTH] + '...'}"
        ) from error.__cause__


def _restore_saved_run(
    metadata: dict[str, Any], files: dict[str, bytes], make: Callable[..., RatingSystem] | None
) -> History:
    with name_file_in_errors("state.npz"):
        arrays = read_npz_arrays(files.pop("state.npz"))
    history = _restore_without_events(metadata, RUN_FILE, arrays, "state.npz", make)
    kind = next(key for key in COUNT_KEYS if key in metadata)
    ratings, predictions = files
    if not ratings.endswith(".npz"):
        import_pyarrow()
    with name_file_in_errors(ratings):
        names, games = read_names_and_games(ratings, files[ratings], metadata["players"])
    with name_file_in_errors(predictions):
        table = read_predictions(predictions, files[predictions], kind, metadata[kind])
        return history._replace(players=names, games=games, events=from_table_columns(table, names))


def _load_chunked_run(folder: Path, make: Callable[..., RatingSystem] | None) -> History:
    """The history of a run by chunks; ValueError if not all rows are rated, or its system was made by other settings.

    Its predictions stay in their files if they are brief or too many, or if some are missing.
    """
    checkpoint = read_checkpoint(folder)
    assert checkpoint is not None
    metadata, arrays = checkpoint
    rows, total = metadata["rows"], metadata["whole"]
    if total is None or metadata["run"] is None:
        missing = f"how {metadata['how']['system']} was made, as another version of jaxrate or settings of one's own"
        raise ValueError(f"the run by chunks does not tell {missing}; take what `rate` returns once more")
    if rows < total:
        raise ValueError(f"{rows:,} of {total:,} rows are rated there; rate them again with the same `out` to go on")
    for key in (NAMES_KEY, RANKED_KEY):
        arrays.pop(key, None)
    games = arrays.pop(GAMES_KEY)
    with name_file_in_errors(name := "ratings.parquet"):
        players, table_games = read_names_and_games(name, (folder / name).read_bytes(), metadata["known"])
        check_that(np.array_equal(games, table_games), "it is of another run")
    description = metadata["run"] | {"players": metadata["known"], "last": metadata["last"]}
    history = _restore_without_events(description, CHECKPOINT_FILE, arrays, CHECKPOINT_FILE, make)
    num_rated, num_contests = metadata.get("rated", rows), metadata.get("contests")
    events = empty_event_columns(num_contests is not None)
    if not metadata["how"]["brief"] and rows <= MAX_LOADED_ROWS:
        predictions = join_files(folder / PREDICTIONS_FOLDER)
        table = predictions.load(predictions.names)
        events = from_table_columns(table, players) if len(table) == num_rated else events
    return history._replace(players=players, games=games, events=events, num_in_files=(num_rated, num_contests))


def _restore_without_events(
    metadata: dict[str, Any],
    metadata_file: str,
    arrays: dict[str, HostArray],
    state_file: str,
    make: Callable[..., RatingSystem] | None,
) -> History:
    """The history with this metadata and the leaves of this state, without players and events."""
    with name_file_in_errors(metadata_file):
        check_metadata(metadata)
    system = _remake_system(metadata, make)
    seasons, categories = _restore_seasons_and_categories(metadata, system)
    with name_file_in_errors(state_file):
        state = restore_state(system, metadata["players"], arrays)
    nobody, times = np.zeros(0), (metadata["period"], metadata["last"], metadata["clock"])
    return History(system, state, nobody, nobody, *times, {}, metadata["options"], categories, seasons)


def _restore_seasons_and_categories(
    metadata: dict[str, Any], system: RatingSystem
) -> tuple[dict[str, float] | None, HostArray | None]:
    """The seasons and categories of a run; ValueError if they are not those of its system."""
    seasons, names = metadata.get("seasons"), metadata["categories"]  # runs of earlier versions have no seasons
    if seasons is not None and [*seasons.values()] != [*system.settings.get("seasons", ())]:
        raise ValueError("run.json is damaged (its seasons are not those of the system)")
    if names is None:
        return seasons, None
    if system.settings.get("categories") != len(names):
        raise ValueError(f"run.json is damaged ({len(names)} categories are not those of the system)")
    return seasons, np.array(names, object if isinstance(names[0], str) else None)


def _remake_system(metadata: dict[str, Any], make: Callable[..., RatingSystem] | None) -> RatingSystem:
    """The system of a run, made again; ValueError if its factory is not known, or makes none or another one."""
    name = metadata["system"]
    if make is None and name not in ALL_SYSTEMS:
        raise ValueError(
            f"jaxrate {metadata['jaxrate']:.20} wrote it for the system {name[:80]!r}, which this version does not "
            "have; if it is your own, load it in Python, by jr.load(folder, make=...) with its factory"
        )
    arguments = {key: _lists_to_tuples(value) for key, value in metadata["settings"].items()} | metadata["params"]
    wrappers = [*filter(metadata.get, PREDICTION_WRAPPERS)]
    try:
        system = make_wrapped_system(wrappers, make or ALL_SYSTEMS[name], arguments)
    except TypeError as error:
        reason = f"the factory does not accept the arguments that {name} was made with: {error}"
        raise ValueError(f"run.json: {reason}") from None
    except Exception as error:  # any error of the factory
        is_own = make in (None, ALL_SYSTEMS.get(name))
        hint = "" if is_own else f"; the run is of {name}: give its factory as make, or leave make out"
        if is_own and name == "skills" and arguments.get("outcome", "win") not in OUTCOMES:
            own = "jr.load(folder, make=lambda outcome, **saved: system.make(**saved))"
            hint = f"; an observation of your own needs its functions: {own}"
        raise ValueError(f"run.json: {error}{hint}") from error
    if system.name != name:
        raise ValueError(f"run.json: the run is of {name}, but the factory makes {system.name}")
    return system
