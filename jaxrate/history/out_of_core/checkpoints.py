"""Checkpoints of runs by chunks, how a run goes on from them, and saved runs of them."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.system import RatingSystem
from jaxrate.data.parquet_table import ParquetTable, find_parquet_table, parquet_source
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_sources import atomic_replacement
from jaxrate.history.out_of_core.chunk_pipeline import PREDICTIONS_FOLDER, RunProgress, part_file_name
from jaxrate.metrics.calibration_slopes import OnlineSlope
from jaxrate.metrics.running_metrics import restore_contest_metric_sums, restore_metric_sums
from jaxrate.storage.atomic_folder import flush_to_disk
from jaxrate.storage.npz_tables import name_file_in_errors, read_npz_arrays, read_parquet_names_and_games, restore_state

CHECKPOINT_FILE = "checkpoint"
FILE_HEADER = b"jaxrate checkpoint 3\n"
OLD_HEADER, DIGEST_BYTES = b"jaxrate checkpoint 2\n", 32  # of jaxrate 0.2, with a digest of what follows


def write_checkpoint(folder: Path, metadata: Mapping[str, Any], arrays: Mapping[str, HostArray]) -> None:
    """Write metadata, as JSON, and arrays; they are on the disk when this returns."""
    packed = BytesIO()
    np.savez(packed, allow_pickle=False, **arrays)
    encoded = json.dumps(metadata).encode()
    with atomic_replacement(folder / CHECKPOINT_FILE) as (temporary,), temporary.open("wb") as file:
        file.writelines([FILE_HEADER, len(encoded).to_bytes(8, "little"), encoded, packed.getbuffer()])
        file.flush()
        os.fsync(file.fileno())
    flush_to_disk(folder)


def read_checkpoint(folder: Path) -> tuple[dict[str, Any], dict[str, HostArray]] | None:
    """The metadata and the arrays of a checkpoint; None if there is none. ValueError if it is damaged."""
    path = folder / CHECKPOINT_FILE
    if not path.exists():
        return None
    with name_file_in_errors(str(path)):
        raw = memoryview(path.read_bytes())
        header = bytes(raw[: len(FILE_HEADER)])
        if header not in (FILE_HEADER, OLD_HEADER):
            raise ValueError("it is no checkpoint of this version of jaxrate; rate all anew, in another folder")
        start = len(header) + (DIGEST_BYTES if header == OLD_HEADER else 0)
        length = int.from_bytes(raw[start : start + 8], "little")
        metadata = json.loads(bytes(raw[start + 8 : start + 8 + length]))
        return metadata, read_npz_arrays(bytes(raw[start + 8 + length :]))


LEFTOVER_PATTERN = re.compile(  # of files that a process that was killed left
    r"\.(checkpoint|ratings\.parquet|part-\d+\.parquet)\.\d+\.tmp"
)
# in a checkpoint, beside leaves of the state
GAMES_KEY, RANKED_KEY, NAMES_KEY = "players.games", "players.ranked", "players.names"


def settings_that_must_match(
    system: RatingSystem,
    roles: ColumnRoles,
    period: float | None,
    chunk: int,
    brief: bool,
    key: Array | None,
    calibrated: bool,
) -> dict[str, Any]:
    """The settings that a run must have in common with one that it goes on with."""
    side = roles.side, roles.constant_side, roles.neutral
    match_columns = *roles.layout.players, roles.layout.result, *roles.layout.points, roles.time, roles.weight, *side
    further_columns = *roles.margin, *roles.prematch_columns, *roles.expected_goals
    contest = roles.layout.contest, roles.team, roles.ceiling, roles.noise
    match_columns += () if roles.layout.contest is None else contest
    statistics = (part for statistic in roles.statistics for part in statistic)
    return {
        "version": version("jaxrate"),
        "system": system.name,
        "settings": {name: str(getattr(x, "name", x)) for name, x in system.settings.items() if name != "seasons"},
        "seasons": [*(system.settings.get("seasons") or ())],
        "hyperparameters": {name: None if x is None else float(x) for name, x in system.params._asdict().items()},
        "precision": str(jnp.result_type(float)),
        "columns": [str(x) for x in (*match_columns, *further_columns, *statistics)],
        "period": None if period is None else float(period),
        "chunk": chunk,
        "brief": brief,
        "calibrated": calibrated,
        "key": None if key is None else np.asarray(jax.random.key_data(key)).tolist(),
    }


class ResumedRun(NamedTuple):
    """How far a run has come."""

    progress: RunProgress
    names: HostArray | None  # of those who have an id; None if the table was put in order
    initial_rows: int  # rows of the table when the run began


def read_run_to_resume(
    system: RatingSystem,
    folder: Path,
    parquet_table: ParquetTable,
    roles: ColumnRoles,
    settings: dict[str, Any],
    resume: bool,
) -> ResumedRun | None:
    """How far the run in the folder has come; None if there is none. ValueError if it is another, or not to go on."""
    checkpoint = read_checkpoint(folder)
    if not resume and (checkpoint is not None or (folder / PREDICTIONS_FOLDER).exists()):
        raise ValueError(f"there is a run in {folder}; go on with it by resume, or name another folder")
    if checkpoint is None:
        return None
    metadata, arrays = checkpoint
    _check_same_settings(folder, metadata, settings)
    _check_same_files(folder, metadata, parquet_table)
    for number in range(metadata["parts"]):
        if not (folder / PREDICTIONS_FOLDER / part_file_name(number)).is_file():
            missing = f"{PREDICTIONS_FOLDER}/{part_file_name(number)} is missing in {folder}"
            raise ValueError(f"{missing}; put it back, or rate all matches anew, in another folder")
    names, games, ranked = arrays.pop(NAMES_KEY, None), arrays.pop(GAMES_KEY), arrays.pop(RANKED_KEY, None)
    state = restore_state(system, metadata["known"], arrays)
    contests = metadata.get("contests")
    sums = (restore_metric_sums if contests is None else restore_contest_metric_sums)(metadata["sums"])
    counts = metadata["rows"], metadata["parts"], metadata["known"]
    slope = metadata.get("slope") and OnlineSlope(*metadata["slope"])
    own: Any = metadata["last"], metadata["width"], contests, metadata.get("last_contest"), ranked, slope
    progress = RunProgress(*counts, state, games, sums, *own)
    return ResumedRun(progress, names, metadata["at_first"])


def progress_metadata(progress: RunProgress) -> dict[str, Any]:
    """The progress of a run as a checkpoint has it, without arrays."""
    counts: dict[str, Any] = {"rows": progress.rows, "parts": progress.parts, "known": progress.num_players}
    counts |= {"sums": progress.sums, "last": progress.last, "width": progress.width, "slope": progress.slope}
    return counts | {"contests": progress.contests, "last_contest": progress.last_contest}


def _check_same_settings(folder: Path, metadata: dict[str, Any], settings: dict[str, Any]) -> None:
    """ValueError unless the settings are those of the run in the folder; seasons to come may be others."""
    old_settings = metadata["how"]
    if metadata["last"] is not None and "seasons" in settings:
        old_settings, settings = (_seasons_begun(x, metadata["last"]) for x in (old_settings, settings))
    for name, new in settings.items():
        old = old_settings.get(name)
        if old != new:
            if isinstance(new, dict) and isinstance(old, dict):
                old, new = ({key: x[key] for key in x if old.get(key) != new.get(key)} for x in (old, new))
            difference = f"the run in {folder} has {name} {old}, this one {new}"
            raise ValueError(f"{difference}; go on as it began, or name another folder")


def _seasons_begun(settings: dict[str, Any], last: float) -> dict[str, Any]:
    """The settings, with the seasons that had begun by the last event alone."""
    return settings | {"seasons": [x for x in settings.get("seasons") or () if x <= last]}


def read_row_count_at_run_start(folder: Path) -> int | None:
    """Rows of the table when the run in the folder began; None if there is none."""
    checkpoint = read_checkpoint(folder)
    return None if checkpoint is None else checkpoint[0]["at_first"]


def _check_same_files(folder: Path, metadata: dict[str, Any], parquet_table: ParquetTable) -> None:
    """ValueError unless the files are those that were rated; others may follow, if nothing was put in order."""
    before = [x for x in metadata["files"] if metadata["ordered"] or x[1] < metadata["rows"]]
    now = file_fingerprints(parquet_table)[: None if metadata["ordered"] else len(before)]
    if before != now:
        changed = next((x[0] for x, y in zip(before, now, strict=False) if x != y), "the number of files")
        difference = f"the run in {folder} is of other data ({changed} has changed)"
        raise ValueError(f"{difference}; go on with those files, or rate all in another folder")


def file_fingerprints(parquet_table: ParquetTable) -> list[Any]:
    """The name, first row and digest of each file."""
    return [[file.path.name, file.first_row, file.digest] for file in parquet_table.files]


def remove_leftover_run_files(folder: Path, parts: int) -> None:
    """Remove the files of an interrupted run that follow its first `parts` parts; files of other names stay."""
    for path in (*folder.iterdir(), *(folder / PREDICTIONS_FOLDER).iterdir()):
        number = re.fullmatch(r"part-(\d+)\.parquet", path.name)
        if LEFTOVER_PATTERN.fullmatch(path.name) or (number and path.parent != folder and int(number[1]) >= parts):
            path.unlink()


@contextmanager
def add_resume_hint_to_errors(folder: Path) -> Iterator[None]:
    """Errors say how to go on."""
    try:
        yield
    except (ValueError, OSError) as error:
        if not (folder / CHECKPOINT_FILE).exists():
            raise
        hint = f"what was rated by the last checkpoint is kept in {folder}: once this is mended, go on with resume"
        if isinstance(error, OSError):
            message = f"{error.strerror or error}; {hint}"
            raise (
                OSError(message) if error.errno is None else OSError(error.errno, message, error.filename)
            ) from error
        raise ValueError(f"{error}; {hint}") from error


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
