"""Folders of files that belong together: all files are replaced at once.

The `run.json` in the folder describes the run, and its files stand beside it. A save

1. writes all files of the new run into the hidden folder `.saving`, and flushes them to the disk,
2. renames that folder to `.saved`: this is the switch,
3. moves the files in `.saved` to their places, and removes those of the old run.

Whoever reads looks for a file in `.saved` first. What was read is of one run if the run.json is the same afterwards.
The next save first ends one that was interrupted; until then files at their places may be of the run before.

One process at a time saves into a folder: it holds a lock on it, which the system drops when the process ends. (Windows
has no such locks.) Readers need no lock.
"""

import errno
import json
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from jaxrate.core.memory_checks import check_memory_fits
from jaxrate.storage.npz_tables import name_file_in_errors

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
            if time.monotonic() > end:
                raise ValueError(f"{folder}: another process saves a run there; wait until it is done")
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


def replace_run(
    folder: Path, metadata: dict[str, Any], write_files: Callable[[Path], Any], obsolete_names: Collection[str] = ()
) -> None:
    """Replace the run in a locked folder, wholly or not at all.

    Args:
      folder: a folder under `lock_folder`. Files of other names stay.
      metadata: further contents of run.json.
      write_files: a function that writes the files of the run into a folder.
      obsolete_names: further names of files that belong to the old run.

    Raises:
      ValueError: if a folder has the name of a file of the run.
      OSError: if the files cannot be written.
    """
    new, old_names = (
        folder / NEW_FOLDER,
        {*RUN_FILES, *obsolete_names, *_known_files(_read_file(folder, RUN_FILE), "files")},
    )
    for name in sorted(old_names):
        if (folder / name).is_dir():
            raise ValueError(f"{folder / name} is a folder; save the run elsewhere")
    outcome = "was not saved"
    try:
        _finish_interrupted_save(folder)
        new.mkdir()
        write_files(new)
        names = {file.name for file in new.iterdir()}
        lists = {"files": sorted(names), "removed": sorted(old_names - names), "save": token_hex(8)}
        (new / RUN_FILE).write_bytes(encode_run_json(metadata | lists))
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
        for name in _known_files(_read_file(folder, RUN_FILE), "removed"):
            (folder / name).unlink(missing_ok=True)
        for file in sorted(saved.iterdir(), key=lambda file: file.name == RUN_FILE):
            os.replace(file, folder / file.name)
        saved.rmdir()


def read_run_files(folder: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The contents of run.json and the bytes of its files: of one run, even while others are saved there.

    Raises:
      ValueError: if there is no run, if a file is missing or cannot be read, or if the format is unknown.
    """
    while raw := _read_file(folder, RUN_FILE):
        error, files = None, dict[str, bytes]()
        try:
            metadata, own_names = decode_run_json(raw), _known_files(raw, "files")
            for name in (NPZ_NAMES[name] if NPZ_NAMES.get(name) in own_names else name for name in RUN_FILES):
                if (content := _read_file(folder, name)) is None:
                    raise ValueError(f"no saved run there: {name} is missing")
                files[name] = content
        except ValueError as problem:
            error = problem
        if raw == _read_file(folder, RUN_FILE):  # nobody has saved meanwhile
            if error is not None:
                raise error
            return metadata, files
    hint = "`jaxrate rate FILE --out FOLDER` and `jr.save` make one"
    raise ValueError(f"no saved run there: {RUN_FILE} is missing; {hint}")


def read_run_metadata(folder: Path) -> dict[str, Any]:
    """The contents of run.json; ValueError if there is no run, or a damaged one."""
    return decode_run_json(_read_file(folder, RUN_FILE))


def encode_run_json(metadata: dict[str, Any]) -> bytes:
    """The bytes of run.json."""
    try:
        return f"{json.dumps(metadata, indent=2)}\n".encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the options have values that JSON cannot hold ({error})") from None


def decode_run_json(raw: bytes | None) -> dict[str, Any]:
    """The contents of run.json from its bytes; ValueError if they are damaged or have an unknown format."""
    with name_file_in_errors(RUN_FILE):
        metadata: dict[str, Any] = json.loads(raw or b"")
        writer, version = metadata["jaxrate"], metadata["format"]
        if not (isinstance(writer, str) and type(version) is int):
            raise ValueError("no version in it")
    if version > FORMAT_VERSION:
        raise ValueError(
            f"{RUN_FILE}: jaxrate {writer:.20} wrote it in format {version}, this one reads up to {FORMAT_VERSION}; "
            "install that version"
        )
    if version < OLDEST_FORMAT:
        raise ValueError(f"{RUN_FILE}: written by jaxrate 0.1; rate the games again")
    return metadata


def _known_files(run_json: bytes | None, key: str) -> set[str]:
    """Of the names that run.json lists there those that a run may have."""
    with suppress(ValueError, KeyError, TypeError):
        return {*RUN_FILES, *OPTIONAL_FILES, *NPZ_NAMES.values()} & set(decode_run_json(run_json)[key])
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
            if not stat.S_ISREG(status.st_mode):
                raise ValueError(f"{file.name} is no regular file")
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
