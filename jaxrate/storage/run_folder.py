"""Folders of files that belong together: all files are replaced at once.

The `run.json` in the folder describes the run, and its files stand beside it. A save

1. writes all files of the new run into the hidden folder `.saving`, and flushes them to the disk,
2. renames that folder to `.saved`: this is the switch,
3. moves the files in `.saved` to their places, and removes those of the old run.

Whoever reads looks for a file in `.saved` first. What was read is of one run if the run.json is the same afterwards.
The next save first ends one that was interrupted; until then files at their places may be of the run before.

One process at a time saves into a folder: it holds a lock on it, which the system drops when the process ends. (Windows
has no such locks.) Readers need no lock.

Tables are Parquet or, without pyarrow, .npz files. In these, numbers are stored as they are, dates as integers, and
text as the bytes of its labels and the label of each row. So nothing is pickled, and each text takes as much space as
it is long.
"""

import errno
import json
import math
import os
import shutil
import stat
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any, Literal

import jax
import numpy as np

from jaxrate.core.argument_checks import (
    ArgumentRequirement,
    check_that,
    describe_annotation,
    is_number,
    matches_annotation,
)
from jaxrate.core.array_types import HostArray
from jaxrate.core.memory_checks import check_memory_fits
from jaxrate.core.rules import State
from jaxrate.core.system import RatingSystem
from jaxrate.core.text_format import format_value_for_error
from jaxrate.data.table_sources import has_pyarrow, import_pyarrow
from jaxrate.events import MAX_ABS_DAYS, period_number
from jaxrate.replay.padded_arrays import leaves_by_name, state_shapes

COUNT_KEYS = ("matches", "participations")
MATCH_COLUMNS = "row", "time", "a", "b", "score", "prediction", "rating_a", "rating_b"  # of predictions, at least
PARTICIPATION_COLUMNS = "row", "contest", "time", "player", "rank", "participants", "prediction", "rating"
RATING_COLUMNS = "id", "player", "games"
COLUMN_KINDS = {  # kinds of NumPy's types, of the columns that have these names; there may be further columns
    **dict.fromkeys(("a", "b", "player", "contest", "category", "category_a", "category_b", "venue"), "OSiufb"),
    **dict.fromkeys(("row", "id", "games", "rank", "participants", "teams", "team", "rank_needed"), "iu"),
    **dict.fromkeys(("score", "prediction", "win", "draw", "loss", "quality", "side", "performance"), "f"),
    **{
        f"{name}{side}": "f"
        for name in ("rating", "deviation", "rating_after", "deviation_after", "points")
        for side in ("", "_a", "_b")
    },
    "time": "iufM",
}
MANY_ROWS, ROWS_PER_BYTE = 1_000_000, 8  # rows of predictions, and rows in a byte: real rows take some 30 bytes each


@contextmanager
def name_file_in_errors(name: str) -> Iterator[None]:
    """Turn every error into a ValueError that names the file: readers of forged bytes may raise anything."""
    try:
        yield
    except Exception as error:
        text = " ".join(str(error).split()) if isinstance(error, ValueError) else repr(error)
        text = f"{error.args[0]} is missing" if isinstance(error, KeyError) and error.args else text
        raise ValueError(f"{name} is damaged ({text[:300]})") from error


# --- What run.json holds. ---


def _are_names(values: Any) -> bool:
    """Whether these are some names, all text or all numbers that an array holds."""
    kinds = {*map(type, values)} if isinstance(values, list) else {*()}
    are_numbers = bool(kinds) and kinds <= {int, float} and all(type(x) is float or abs(x) < 1 << 63 for x in values)
    return kinds == {str} or are_numbers


Count = Annotated[int, ArgumentRequirement("a count", lambda x: type(x) is int and 0 <= x < 1 << 48)]
Time = Annotated[float, ArgumentRequirement("a time", lambda x: is_number(x) and math.isfinite(x))]
Length = Annotated[float, ArgumentRequirement("a length above 0", lambda x: is_number(x) and 0 < x < math.inf)]
Names = Annotated[list[Any], ArgumentRequirement("names, all text or all numbers", _are_names)]


RUN_METADATA: dict[str, Any] = {  # in run.json of every run; its factory checks what the system was made with
    "jaxrate": str,  # the version
    "system": str,
    "settings": dict[str, Any],
    "params": dict[str, Any],
    "period": Length | None,
    "players": Count,
    "last": Time | None,
    "clock": Literal["dates", "numbers"] | None,
    "options": dict[str, Any],
    "categories": Names | None,
    "seasons": dict[str, Any] | None,
}


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """ValueError unless run.json has all its keys, with values of the right kinds."""
    counts = {key: Count for key in COUNT_KEYS if key in metadata}
    check_that(len(counts) == 1, "it must have either matches or participations")
    values = {"seasons": None} | dict(metadata)  # runs of earlier versions have no seasons
    for key, annotation in (counts | RUN_METADATA).items():
        found = format_value_for_error(values[key])
        expected = f"{key} must be {describe_annotation(annotation)}, not {found}"
        check_that(matches_annotation(annotation, values[key]), expected)
    last, period = metadata["last"] or 0.0, metadata["period"]
    check_that(metadata["clock"] != "dates" or abs(last) <= MAX_ABS_DAYS, f"last is no date: {last}")
    if period is not None:
        period_number(last, period)


# --- Arrays of numbers, and states. ---


def encode_npz(arrays: Mapping[str, HostArray]) -> bytes:
    """The bytes of an uncompressed .npz file with these arrays."""
    buffer = BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def read_npz_arrays(raw: bytes) -> dict[str, HostArray]:
    """The arrays of numbers in an .npz file's bytes, by name; ValueError if they claim to be larger than it."""
    with zipfile.ZipFile(BytesIO(raw)) as archive:
        check_that(sum(entry.file_size for entry in archive.infolist()) <= len(raw), "it claims more than it holds")
    with np.load(BytesIO(raw), allow_pickle=False) as stored:
        arrays = {name: np.asarray(stored[name]) for name in stored.files}
    for name, x in arrays.items():
        check_that(x.dtype.kind in "fiub", f"{name}.npy is no array of numbers")
    return arrays


def restore_state(system: RatingSystem, num_players: int, arrays: Mapping[str, HostArray]) -> State:
    """The state of `num_players` players with these leaves, in their own precision."""
    rows = {0 if x.ndim == 0 else len(x) for x in arrays.values()}
    check_that(rows <= {num_players}, f"it is not of {num_players:,} players")
    fresh = state_shapes(system, num_players)
    expected, newcomers = leaves_by_name(fresh), leaves_by_name(system.init(system.params, 1))
    is_alike = {key: x.shape for key, x in arrays.items()} == {key: x.shape for key, x in expected.items()}
    check_that(is_alike, f"it is not a state of {system.name}; rate the matches again")
    for key, like in expected.items():
        x, kind, newcomer = arrays[key], np.dtype(like.dtype), newcomers[key]
        sizes = (4, 8) if kind.itemsize in (4, 8) else (kind.itemsize,)  # in any precision
        check_that(x.dtype in [f"{kind.kind}{size}" for size in sizes], f"{key} is of {x.dtype}, not of {kind}")
        allowed = np.isfinite(x) | (np.isinf(newcomer).any() & np.isinf(x)) | np.isnan(newcomer).any()
        check_that(allowed.all(), f"{key} is not a number for some player")
    return jax.tree.unflatten(jax.tree.structure(fresh), [arrays[key] for key in expected])


# --- Columns, of Arrow or of NumPy. ---


def to_arrow_if_installed(columns: Mapping[str, HostArray]) -> Any:
    """Columns of predictions as an Arrow table, or unchanged without pyarrow.

    In the Arrow table, times of contests are null if all are NaN, performances if they are NaN, and ranks needed if 0.
    """
    if not has_pyarrow():
        return dict(columns)
    arrow, table = import_pyarrow(), dict[str, Any](columns)
    if "participants" in table and "time" in table and table["time"].dtype.kind == "f":
        absent = np.isnan(table["time"])
        table["time"] = arrow.nulls(len(absent)) if absent.all() else arrow.array(table["time"], mask=absent)
    if "performance" in table:
        table["performance"] = arrow.array(table["performance"], from_pandas=True)
        table["rank_needed"] = arrow.array(table["rank_needed"], mask=table["rank_needed"] == 0)
    return arrow.table(table)


def columns_to_npz(columns: Mapping[str, HostArray]) -> bytes:
    """The bytes of an .npz file with columns of numbers, dates or text."""
    stored = dict[str, HostArray]()
    for name, values in columns.items():
        if values.dtype.kind == "M":
            stored[f"{name}:{np.datetime_data(values.dtype)[0]}"] = values.astype(np.int64)
        elif values.dtype.kind in "OSU":
            texts = values.tolist()
            codes = {label: code for code, label in enumerate(dict.fromkeys(texts))}
            labels = [x if isinstance(x, bytes) else str(x).encode() for x in codes]
            kind = "bytes" if isinstance(next(iter(codes), None), bytes) else "text"
            stored[f"{name}:{kind}"] = np.frombuffer(b"".join(labels), np.uint8)
            stored[f"{name}:size"] = np.array([*map(len, labels)], np.int64)
            stored[f"{name}:code"] = np.array([codes[x] for x in texts], np.int64)
        else:
            stored[f"{name}:number"] = values
    return encode_npz(stored)


def _columns_from_npz(raw: bytes) -> dict[str, HostArray]:
    """The columns in bytes from `columns_to_npz`; ValueError for any other bytes."""
    stored, columns = read_npz_arrays(raw), dict[str, HostArray]()
    for key, values in stored.items():
        name, _, kind = key.rpartition(":")
        check_that(values.ndim == 1, f"{name} is no column")
        if kind == "number":
            columns[name] = values
        elif kind in ("D", "us"):
            columns[name] = values.astype(np.int64).view(f"datetime64[{kind}]")
        elif kind in ("text", "bytes"):
            columns[name] = _texts_from_labels(name, values, stored[f"{name}:size"], stored[f"{name}:code"], kind)
    return columns


def _texts_from_labels(name: str, values: HostArray, size: HostArray, code: HostArray, kind: str) -> HostArray:
    """Texts or bytes, from the bytes of all labels, their sizes, and the number of that of each row."""
    is_whole = (values.dtype, size.dtype, code.dtype) == (np.uint8, np.int64, np.int64)
    is_whole &= bool((size >= 0).all() and sum(size.tolist()) == len(values))
    check_that(is_whole and ((code >= 0) & (code < len(size))).all(), f"{name} is no column of text")
    ends, raw = np.cumsum(size).tolist(), values.tobytes()
    labels: list[Any] = [raw[i:j] for i, j in zip([0, *ends], ends, strict=False)]
    return np.array([x.decode() for x in labels] if kind == "text" else labels, object)[code]


def _read_table(name: str, raw: bytes, num_rows: int, required: Sequence[str], whole: bool) -> Any:
    """The columns of these names, or all, of a table of `num_rows` rows; of Arrow or, in .npz files, of NumPy."""
    is_npz = name.endswith(".npz")
    table: Any = _columns_from_npz(raw) if is_npz else _read_parquet(raw, num_rows, None if whole else [*required])
    columns = table if is_npz else dict(zip(table.column_names, table.columns, strict=True))
    for column in required:
        check_that(column in columns, f"{column} is missing")
        has_gaps = column != "time" and getattr(columns[column], "null_count", False)
        check_that(not has_gaps, f"{column} has no value in some row")
    for column, values in columns.items():
        kind = getattr(values, "dtype", getattr(values, "type", None))
        is_of_kind = column not in COLUMN_KINDS or _dtype_kind(values) in COLUMN_KINDS[column]
        check_that(is_of_kind, f"{column} is of {kind}")
        check_that(len(values) == num_rows, f"{column} has {len(values):,} rows, not {num_rows:,}")
    return table


def _read_parquet(raw: bytes, num_rows: int, names: list[str] | None) -> Any:
    """The table of these columns, or of all, from the bytes of a Parquet file; ValueError if it is not so long."""
    arrow = import_pyarrow()
    with arrow.parquet.ParquetFile(arrow.BufferReader(raw)) as file:
        rows = file.metadata.num_rows
        check_that(rows == num_rows, f"it has {rows:,} rows, not {num_rows:,}")
        check_that(rows <= max(MANY_ROWS, ROWS_PER_BYTE * len(raw)), "it claims more than it holds")
        return file.read(columns=names)


def _dtype_kind(column: Any) -> str:
    """The kind of the dtype of NumPy that has the values of a column; "V" if none has."""
    if isinstance(column, np.ndarray):
        return column.dtype.kind
    types, kind = import_pyarrow().types, column.type
    if types.is_null(kind):
        return "f"
    return "V" if types.is_nested(kind) or types.is_dictionary(kind) else np.dtype(kind.to_pandas_dtype()).kind


def read_names_and_games(name: str, raw: bytes, num_players: int) -> tuple[HostArray, HostArray]:
    """Names and games of players by id, from the bytes of the table of ratings of this name."""
    table = _read_table(name, raw, num_players, RATING_COLUMNS, whole=False)
    ids, names, games = (np.asarray(table[column]) for column in RATING_COLUMNS)
    order = np.argsort(ids, kind="stable")
    is_complete = np.array_equal(ids[order], np.arange(num_players))
    check_that(is_complete, f"its ids are not those of {num_players:,} players")
    check_that((games >= 0).all(), "a player has less than no games")
    return names[order], games[order]


def read_predictions(name: str, raw: bytes, kind: str, count: int) -> Any:
    """The table of predictions from bytes, of Arrow or NumPy; ValueError if it is none of `count` rows of a `kind`."""
    required = MATCH_COLUMNS if kind == COUNT_KEYS[0] else PARTICIPATION_COLUMNS
    return _read_table(name, raw, count, required, whole=True)


if sys.platform != "win32":
    import fcntl

RUN_FILE = "run.json"
RUN_FILES = ("ratings.parquet", "predictions.parquet", "state.npz")  # in every run
NPZ_NAMES = {"ratings.parquet": "ratings.npz", "predictions.parquet": "predictions.npz"}  # names without pyarrow
OPTIONAL_FILES = "ratings.csv", "predictions.csv", "hindsight.csv", "hindsight.parquet"  # in some runs
FORMAT_VERSION = 5  # of the folder, its tables and states; 4, of jaxrate 0.2, had digests beside the names of files
OLDEST_FORMAT = 4
LOCK_TIMEOUT = 10.0  # seconds to wait for another process
NEW_FOLDER, SAVED_FOLDER = ".saving", ".saved"  # of a run that is being written, and of one that is


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from saving into the folder; ValueError if one does so and does not end soon."""
    if sys.platform == "win32":
        yield
        return
    lock, end = os.open(folder, os.O_RDONLY), time.monotonic() + LOCK_TIMEOUT
    try:
        while not _lock_without_waiting(lock):
            waited = time.monotonic() > end
            check_that(not waited, f"{folder}: another process saves a run there; wait until it is done")
            time.sleep(0.02)
        yield
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_UN)  # which a forked process may still have open
    finally:
        os.close(lock)


def _lock_without_waiting(lock: int) -> bool:
    """Whether nobody else holds the lock, which this process then does; also on a file system without locks."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return not isinstance(error, BlockingIOError)
    return True


def replace_run(folder: Path, metadata: dict[str, Any], write_files: Callable[[Path], Any]) -> None:
    """Replace the run in a locked folder, wholly or not at all. Files that are not of the old run stay.

    `write_files` writes the files of the run into a folder; `metadata` is what run.json has beside. OSError, and
    ValueError if a folder has the name of a file of the run.
    """
    new, outcome = folder / NEW_FOLDER, "was not saved"
    try:
        _finish_interrupted_save(folder)
        new.mkdir()
        write_files(new)
        names = sorted(file.name for file in new.iterdir())
        for path in (folder / name for name in (RUN_FILE, *names)):
            check_that(not path.is_dir(), f"{path} is a folder; save the run elsewhere")
        (new / RUN_FILE).write_bytes(encode_run_json(metadata | {"files": names, "save": token_hex(8)}))
        for path in (*new.iterdir(), new):
            flush_to_disk(path)
        new.rename(folder / SAVED_FOLDER)
        outcome = "was saved, but not put in order"
        flush_to_disk(folder)
        _finish_interrupted_save(folder)
    except BaseException as error:
        with suppress(OSError):
            _finish_interrupted_save(folder)
        if isinstance(error, OSError):
            reason = error.strerror or error
            raise OSError(error.errno or errno.EIO, f"the run {outcome}: {reason}", str(folder)) from error
        raise


def _finish_interrupted_save(folder: Path) -> None:
    """Move the files of a saved run to their places; remove those of the run before, and of one that was not saved."""
    shutil.rmtree(folder / NEW_FOLDER, ignore_errors=True)
    saved = folder / SAVED_FOLDER
    if saved.is_dir():
        obsolete = _files_of_run(folder / RUN_FILE) | {*NPZ_NAMES, *NPZ_NAMES.values()}
        for path in (folder / name for name in obsolete - _files_of_run(saved / RUN_FILE)):
            if path.is_file():
                path.unlink()
        for file in sorted(saved.iterdir(), key=lambda file: file.name == RUN_FILE):
            os.replace(file, folder / file.name)
        saved.rmdir()


def read_run_files(folder: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The contents of run.json and the bytes of its files: of one run, even while others are saved there."""
    while raw := _read_file(folder, RUN_FILE):
        try:
            metadata = decode_run_json(raw)
            listed = _listed_files(metadata)
            names = [npz if (npz := NPZ_NAMES.get(name, name)) in listed else name for name in RUN_FILES]
            files: dict[str, Any] = {name: _read_file(folder, name) for name in names}
            for name, content in files.items():
                check_that(content is not None, f"no saved run there: {name} is missing")
        except ValueError:
            if raw == _read_file(folder, RUN_FILE):  # nobody has saved meanwhile
                raise
            continue
        if raw == _read_file(folder, RUN_FILE):
            return metadata, files
    hint = "`jaxrate rate FILE --out FOLDER` and `jr.save` make one"
    raise ValueError(f"no saved run there: {RUN_FILE} is missing; {hint}")


def read_run_metadata(folder: Path) -> dict[str, Any]:
    """The contents of run.json; ValueError if there is no run, or a damaged one."""
    return decode_run_json(_read_file(folder, RUN_FILE))


def encode_run_json(metadata: dict[str, Any]) -> bytes:
    """The metadata of a run as the bytes of its file run.json."""
    try:
        return f"{json.dumps(metadata, indent=2)}\n".encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the options have values that JSON cannot hold ({error})") from None


def decode_run_json(raw: bytes | None) -> dict[str, Any]:
    """The contents of run.json from its bytes; ValueError if they are damaged or have an unknown format."""
    with name_file_in_errors(RUN_FILE):
        metadata: dict[str, Any] = json.loads(raw or b"")
        writer, version = metadata["jaxrate"], metadata["format"]
        check_that(isinstance(writer, str) and type(version) is int, "no version in it")
    later = f"jaxrate {writer:.20} wrote it in format {version}, this one reads up to {FORMAT_VERSION}"
    check_that(version <= FORMAT_VERSION, f"{RUN_FILE}: {later}; install that version")
    check_that(version >= OLDEST_FORMAT, f"{RUN_FILE}: written by jaxrate 0.1; rate the games again")
    return metadata


def _listed_files(metadata: Mapping[str, Any]) -> set[str]:
    """The names of files that a run.json lists, without those that no run may have."""
    with suppress(KeyError, TypeError):
        return {*RUN_FILES, *OPTIONAL_FILES, *NPZ_NAMES.values()} & set(metadata["files"])
    return set()


def _files_of_run(run_json: Path) -> set[str]:
    """The names of files that a run.json lists; none if it cannot be read."""
    with suppress(OSError, ValueError):
        return _listed_files(decode_run_json(_read_regular_file(run_json)))
    return set()


def _read_file(folder: Path, name: str) -> bytes | None:
    """The bytes of a file of the run; None if it is missing."""
    for place in (folder / SAVED_FOLDER, folder):
        with suppress(FileNotFoundError, NotADirectoryError):
            return _read_regular_file(place / name)
    return None


def _read_regular_file(file: Path) -> bytes:
    """The bytes of a regular file; ValueError at once for devices, pipes and what memory does not hold."""
    flags = (getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY"))
    try:
        with open(os.open(file, os.O_RDONLY | sum(flags)), "rb") as opened:
            status = os.fstat(opened.fileno())
            check_that(stat.S_ISREG(status.st_mode), f"{file.name} is no regular file")
            check_memory_fits(file.name, status.st_size)
            return opened.read()
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (OSError, MemoryError) as error:
        raise ValueError(f"{file.name} cannot be read ({getattr(error, 'strerror', None) or error!r})") from None


def flush_to_disk(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, is on the disk."""
    if path.is_dir() and sys.platform == "win32":
        return
    opened = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
