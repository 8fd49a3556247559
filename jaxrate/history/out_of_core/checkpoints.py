"""Checkpoints of runs by chunks, and how a run goes on from them."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import jax
import jax.numpy as jnp
import numpy as np

from jaxrate.core.array_types import Array, HostArray
from jaxrate.core.rules import State
from jaxrate.core.system import RatingSystem
from jaxrate.data.column_conversion import to_column
from jaxrate.data.faulty_rows import warn_caller
from jaxrate.data.role_resolution import ColumnRoles
from jaxrate.data.table_sources import TableSource, atomic_replacement, import_pyarrow
from jaxrate.metrics.calibration_slopes import OnlineSlope
from jaxrate.metrics.prediction_metrics import ContestMetricSums, MetricSums, restore_contest_metric_sums
from jaxrate.replay.padded_arrays import leaves_by_name
from jaxrate.replay.plan import BlockShape, CompiledShapes
from jaxrate.storage.run_folder import (
    RUN_FILE,
    flush_to_disk,
    name_file_in_errors,
    read_npz_arrays,
    restore_state,
)
from jaxrate.systems.rounds.hazard_tables import Density

CHECKPOINT_FILE, PREDICTIONS_FOLDER = "checkpoint", "predictions"
METADATA_KEY, GAMES_KEY, RANKED_KEY, NAMES_KEY = "metadata", "players.games", "players.ranked", "players.names"
ARRAYS = "names", "games", "ranked", "state"  # fields of `RunProgress` that are no JSON
OLD_HEADER, DIGEST_BYTES = b"jaxrate checkpoint 2\n", 32  # of jaxrate 0.2: before the length of the JSON and this
LEFTOVER_PATTERN = re.compile(r"\.(checkpoint|ratings\.parquet|part-\d+\.parquet)\.\d+\.tmp")  # of a killed process
CHECKED_BYTES = 1 << 24  # of a file that are read at a time


class RunProgress(NamedTuple):
    """How far a run has come, and all that is needed to go on."""

    initial_rows: int  # of the table when the run began
    ordered: bool  # whether its rows stood too late, and are read from a copy in order of time
    rows: int  # of the table that were read
    parts: int  # files of predictions
    known: int  # players who have played
    rated: int  # matches or participations
    sums: MetricSums | ContestMetricSums
    last: float | None  # the time of the last event
    shape: CompiledShapes  # for which programs were compiled
    contests: int | None  # how many; None: these are matches
    last_contest: Any  # its name
    slope: OnlineSlope | None  # that calibrates predictions; None: they stay as the system has them
    names: Any  # [at least known], an array of Arrow; None: nobody is known
    games: HostArray  # [at least known]
    ranked: HostArray  # [at least known] contests that rank somebody
    state: State  # leaves [known, ...]; None: nothing was rated, or it is not at hand


def chunk_predictions_path(folder: Path, number: int) -> Path:
    """The predictions of a chunk of a run in the folder."""
    return folder / PREDICTIONS_FOLDER / f"part-{number:06d}.parquet"


def write_checkpoint(folder: Path, metadata: Mapping[str, Any], progress: RunProgress) -> None:
    """Write the progress of a run, and further metadata as JSON; all on the disk."""
    known, of_contests = progress.known, progress.contests is not None
    metadata = {**metadata, **{name: x for name, x in progress._asdict().items() if name not in ARRAYS}}
    arrays = leaves_by_name(progress.state) | {GAMES_KEY: progress.games[:known]}
    arrays |= {RANKED_KEY: progress.ranked[:known]} if of_contests else {}
    if known:
        arrow = import_pyarrow()
        names = arrow.table({"name": progress.names[:known]})
        arrow.parquet.write_table(names, file_of_names := arrow.BufferOutputStream())
        arrays |= {NAMES_KEY: np.frombuffer(file_of_names.getvalue(), np.uint8)}
    arrays |= {METADATA_KEY: np.frombuffer(json.dumps(metadata).encode(), np.uint8)}
    with atomic_replacement(folder / CHECKPOINT_FILE) as (temporary,), temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
        file.flush()
        os.fsync(file.fileno())
    flush_to_disk(folder)


def read_checkpoint(folder: Path) -> tuple[dict[str, Any], dict[str, HostArray]] | None:
    """The metadata and the arrays of a checkpoint; None if there is none. ValueError if it is damaged."""
    path = folder / CHECKPOINT_FILE
    if not path.exists():
        return None
    raw = path.read_bytes()
    with name_file_in_errors(str(path)):
        if raw.startswith(OLD_HEADER):
            start = len(OLD_HEADER) + DIGEST_BYTES + 8
            end = start + int.from_bytes(raw[start - 8 : start], "little")
            return json.loads(raw[start:end]), read_npz_arrays(raw[end:])
        arrays = read_npz_arrays(raw)
        return json.loads(arrays.pop(METADATA_KEY).tobytes()), arrays


def settings_that_must_match(
    system: RatingSystem, roles: ColumnRoles, options: Mapping[str, Any], key: Array | None
) -> dict[str, Any]:
    """The settings that a run must have in common with one that it goes on with, as JSON has them."""
    settings = {
        "version": version("jaxrate"),
        "system": system.name,
        "settings": {
            name: x.name if isinstance(x, Density) else str(x)
            for name, x in system.settings.items()
            if name != "seasons"
        },
        "seasons": [*(system.settings.get("seasons") or ())],
        "hyperparameters": {name: None if x is None else float(x) for name, x in system.params._asdict().items()},
        "precision": str(jnp.result_type(float)),
        "columns": {name: x for name, x in roles._asdict().items() if x},
        "key": None if key is None else np.asarray(jax.random.key_data(key)).tolist(),
        **options,
    }
    as_json: dict[str, Any] = json.loads(json.dumps(settings))
    return as_json


def check_no_other_run(folder: Path) -> None:
    """ValueError if the folder has a run without a checkpoint: one that was not rated by chunks, or has lost it.

    UserWarning if it has predictions of a run that has not come to its end.
    """
    if (folder / CHECKPOINT_FILE).exists():
        return
    if (folder / RUN_FILE).is_file():
        raise ValueError(f"{folder} holds a run that was not rated by chunks; name another folder")
    if (folder / "ratings.parquet").exists():
        raise ValueError(f"there is a run in {folder} that cannot be gone on with; name another folder")
    if chunk_predictions_path(folder, 0).exists():
        warn_caller(f"{folder} has predictions of a run, but no checkpoint to go on from, so all is rated anew")


def read_run_to_resume(
    system: RatingSystem, folder: Path, files: list[list[Any]], settings: dict[str, Any]
) -> RunProgress | None:
    """How far the run in the folder has come; None if there is none. ValueError if it is of other files or settings."""
    checkpoint = read_checkpoint(folder)
    if checkpoint is None:
        return None
    metadata, arrays = checkpoint
    _check_same_settings(folder, metadata, settings)
    _check_same_files(folder, metadata, files)
    for number in range(metadata["parts"]):
        if not (part := chunk_predictions_path(folder, number)).is_file():
            missing = f"{part.relative_to(folder)} is missing in {folder}"
            raise ValueError(f"{missing}; put it back, or rate all matches anew, in another folder")
    games, ranked = (arrays.pop(key, np.zeros(0, np.int64)) for key in (GAMES_KEY, RANKED_KEY))
    names = None
    if NAMES_KEY in arrays:
        file_of_names = import_pyarrow().BufferReader(arrays.pop(NAMES_KEY).tobytes())
        names = to_column("players", import_pyarrow().parquet.read_table(file_of_names)["name"]).combine_chunks()
    known = {name: metadata[name] for name in RunProgress._fields if name not in ARRAYS}
    sums = metadata["sums"]
    known["sums"] = MetricSums(*sums) if metadata["contests"] is None else restore_contest_metric_sums(sums)
    known["slope"] = metadata["slope"] and OnlineSlope(*metadata["slope"])
    room, blocks = metadata["shape"]
    known["shape"] = CompiledShapes(tuple(room), tuple(BlockShape(tuple(size), *rest) for size, *rest in blocks))
    state = restore_state(system, metadata["known"], arrays)
    return RunProgress(**known, names=names, games=games, ranked=ranked, state=state)


def _check_same_settings(folder: Path, metadata: dict[str, Any], settings: dict[str, Any]) -> None:
    """ValueError unless the settings are those of the run in the folder; seasons to come may be others."""
    old_settings = metadata["how"]
    if metadata["last"] is not None:
        old_settings, settings = (_settings_with_begun_seasons(x, metadata["last"]) for x in (old_settings, settings))
    for name, new in settings.items():
        old = old_settings.get(name)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):  # of which those are told that differ
            changed = [key for key in old | new if old.get(key) != new.get(key)]
            old, new = ({key: x.get(key) for key in changed} for x in (old, new))
        difference = f"the run in {folder} has {name} {old}, this one {new}"
        raise ValueError(f"{difference}; go on as it began, or name another folder")


def _settings_with_begun_seasons(settings: dict[str, Any], last: float) -> dict[str, Any]:
    """The settings, with the seasons that had begun by the last event alone."""
    return settings | {"seasons": [x for x in settings.get("seasons") or () if x <= last]}


def _check_same_files(folder: Path, metadata: dict[str, Any], files: list[list[Any]]) -> None:
    """ValueError unless the files are those that were rated; others may follow, if nothing was put in order."""
    before = [x for x in metadata["files"] if metadata["ordered"] or x[1] < metadata["rows"]]
    now = files[: None if metadata["ordered"] else len(before)]
    if before != now:
        difference = f"the run in {folder} is of other data ({_describe_change_of_files(before, now)})"
        raise ValueError(f"{difference}; go on with those files, or rate all in another folder")


def _describe_change_of_files(before: list[list[Any]], now: list[list[Any]]) -> str:
    """The first difference between files that were rated and those that are read now."""
    changed = [(x[0], y[0]) for x, y in zip(before, now, strict=False) if x != y]
    if not changed or changed[0][0] == changed[0][1]:
        return f"{changed[0][0] if changed else 'the number of files'} has changed"
    return "{1} is where {0} was: later files need names that sort last".format(*changed[0])


def fingerprint_files(source: TableSource, starts: Sequence[int]) -> list[list[Any]]:
    """The name, first row and checksum of each file."""
    return [[path.name, start, _checksum(path)] for path, start in zip(source.paths, starts, strict=True)]


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(CHECKED_BYTES):
            checksum = crc32(block, checksum)
    return checksum


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
        hint = f"what was rated by the last checkpoint is kept in {folder}: once this is mended, rate again to go on"
        if isinstance(error, OSError):
            raise OSError(error.errno, f"{error.strerror or error}; {hint}", error.filename) from error
        raise ValueError(f"{error}; {hint}") from error
