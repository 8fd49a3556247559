"""Folders of files that belong together: all files are replaced at once.

The `run.json` in the folder defines the run, and every save writes another one. Its files are beside it or, during a
save, in a hidden folder whose name comes of the bytes of this run.json. A save

1. writes all files of the new run into a hidden folder, and flushes them to the disk,
2. moves the files of the old run into another hidden folder, where readers still find them,
3. replaces the old run.json by the new one, by one rename: this is the switch,
4. moves the files of the new run to their places, and removes those of the old one.

So a file at its own path is never older or newer than the run: it is absent from before the switch until after it. What
was read is of one run if the run.json is the same afterwards. The next save first cleans up after an interrupted one.

Why a regular file is replaced: this is one atomic step on every common file system, and such a folder can be copied,
packed and synchronised. A symbolic link to the current run needs special rights on Windows, and tools that follow links
turn it into a folder, which no rename replaces. Only Linux can exchange two folders, and that moves files of other
names too.

One process at a time saves into a folder: it holds a lock on it, which the system drops when the process ends. (Windows
has no such locks.) Readers need no lock.
"""

import errno
import hashlib
import json
import os
import re
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

if sys.platform != "win32":
    import fcntl

RUN_FILE = "run.json"
RUN_FILES = ("ratings.parquet", "predictions.parquet", "state.npz")  # in every run
NPZ_NAMES = {"ratings.parquet": "ratings.npz", "predictions.parquet": "predictions.npz"}  # names without pyarrow
OPTIONAL_FILES = "ratings.csv", "predictions.csv", "hindsight.csv", "hindsight.parquet"  # in some runs
FORMAT_VERSION = 5  # of the folder, its tables and states; 4, of jaxrate 0.2, had digests beside the names of files
OLDEST_FORMAT = 4
LOCK_TIMEOUT = 10.0  # seconds to wait for another process
LEFTOVER_PATTERN = re.compile(r"\.(saving|run-[0-9a-f]{16})")  # folders that interrupted saves leave


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from saving into the folder; ValueError if one does so and does not end soon."""
    if sys.platform == "win32":
        yield
        return
    lock, end = os.open(folder, os.O_RDONLY), time.monotonic() + LOCK_TIMEOUT
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise ValueError(f"{folder}: another process saves a run there; wait until it is done") from None
                time.sleep(0.02)
                continue
            except OSError:
                pass  # a file system without locks
            break
        yield
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_UN)
    finally:
        os.close(lock)


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
    old, new = _read_run_json_bytes(folder), folder / ".saving"
    run_names = {*RUN_FILES, *obsolete_names, *_list_optional_files(old)}
    for name in sorted(run_names):
        if (folder / name).is_dir():
            raise ValueError(f"{folder / name} is a folder; save the run elsewhere")
    switched = False
    try:
        finish_interrupted_save(folder)
        new.mkdir()
        write_files(new)
        metadata = metadata | {"files": sorted(file.name for file in new.iterdir()), "save": token_hex(8)}
        (new / RUN_FILE).write_bytes(raw := encode_run_json(metadata))
        for path in (*new.iterdir(), new):
            flush_to_disk(path)
        new = new.rename(_hidden_folder(folder, raw))
        _move_files_to_hidden_folder(folder, _hidden_folder(folder, old), run_names)
        os.replace(new / RUN_FILE, folder / RUN_FILE)
        switched = True
        flush_to_disk(folder)
        finish_interrupted_save(folder)
    except BaseException as error:
        with suppress(OSError):
            finish_interrupted_save(folder)
        if isinstance(error, OSError):
            outcome, reason = (
                "was saved, but not put in order" if switched else "was not saved",
                error.strerror or error,
            )
            raise OSError(error.errno or errno.EIO, f"the run {outcome}: {reason}", str(folder)) from error
        raise


def finish_interrupted_save(folder: Path) -> None:
    """Move the files of the run to their places, and remove the leftovers of interrupted saves."""
    home = _hidden_folder(folder, _read_run_json_bytes(folder))
    if home.is_dir():
        for file in home.iterdir():
            if file.name != RUN_FILE:
                os.replace(file, folder / file.name)
    for path in folder.iterdir():
        if LEFTOVER_PATTERN.fullmatch(path.name):
            shutil.rmtree(path, ignore_errors=True)


def _move_files_to_hidden_folder(folder: Path, hidden_folder: Path, names: Collection[str]) -> None:
    """Move the files of a run to a hidden folder, where readers find them until another run replaces it."""
    hidden_folder.mkdir(exist_ok=True)
    for name in names:
        with suppress(FileNotFoundError):
            os.replace(folder / name, hidden_folder / name)
    for path in (hidden_folder, folder):
        flush_to_disk(path)


def read_run_files(folder: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The contents of run.json and the bytes of its files: of one run, even while others are saved there.

    Raises:
      ValueError: if there is no run, if a file is missing or cannot be read, or if the format is unknown.
    """
    while raw := _read_run_json_bytes(folder):
        try:
            metadata = decode_run_json(raw)
            files, error = _read_member_files(folder, raw), None
        except ValueError as problem:
            error = problem
        if raw == _read_run_json_bytes(folder):  # nobody has saved meanwhile
            if error is not None:
                raise error
            return metadata, files
    hint = "`jaxrate rate FILE --out FOLDER` and `jr.save` make one"
    raise ValueError(f"no saved run there: {RUN_FILE} is missing; {hint}")


def _read_member_files(folder: Path, run_json_bytes: bytes) -> dict[str, bytes]:
    """The bytes of the files of the run by name, from their places or from the hidden folder."""
    home, optional_files, files = _hidden_folder(folder, run_json_bytes), _list_optional_files(run_json_bytes), {}
    for name in RUN_FILES:
        name = NPZ_NAMES[name] if NPZ_NAMES.get(name) in optional_files else name
        for place in (home, folder, home):  # a save may move it between two attempts
            with suppress(FileNotFoundError, NotADirectoryError):
                files[name] = _read_regular_file(place / name)
                break
        else:
            raise ValueError(f"no saved run there: {name} is missing")
    return files


def read_run_metadata(folder: Path) -> dict[str, Any]:
    """The contents of run.json; ValueError if there is no run, or a damaged one."""
    return decode_run_json(_read_run_json_bytes(folder))


def encode_run_json(metadata: dict[str, Any]) -> bytes:
    """The bytes of run.json."""
    try:
        return f"{json.dumps(metadata, indent=2)}\n".encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the options have values that JSON cannot hold ({error})") from None


def decode_run_json(raw: bytes) -> dict[str, Any]:
    """The contents of run.json from its bytes; ValueError if they are damaged or have an unknown format."""
    try:
        metadata = json.loads(raw)
        writer, version = metadata["jaxrate"], metadata["format"]
    except KeyError as error:
        raise ValueError(f"{RUN_FILE} is damaged ({error.args[0]} is missing)") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{RUN_FILE} is damaged ({error})") from None
    if not (isinstance(writer, str) and type(version) is int):
        raise ValueError(f"{RUN_FILE} is damaged (no version in it)")
    if version > FORMAT_VERSION:
        raise ValueError(
            f"{RUN_FILE}: jaxrate {writer:.20} wrote it in format {version}, this one reads up to {FORMAT_VERSION}; "
            "install that version"
        )
    if version < OLDEST_FORMAT:
        raise ValueError(f"{RUN_FILE}: written by jaxrate 0.1; rate the games again")
    return metadata


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


def _read_run_json_bytes(folder: Path) -> bytes:
    """The bytes of run.json; empty if there is no run."""
    try:
        return _read_regular_file(folder / RUN_FILE)
    except (FileNotFoundError, NotADirectoryError):
        return b""


def _list_optional_files(run_json_bytes: bytes) -> set[str]:
    """The names of this run's files that not every run has."""
    try:
        return {*OPTIONAL_FILES, *NPZ_NAMES.values()} & set(decode_run_json(run_json_bytes)["files"])
    except (ValueError, KeyError, TypeError):
        return set()


def _hidden_folder(folder: Path, run_json_bytes: bytes) -> Path:
    return folder / f".run-{hashlib.sha256(run_json_bytes).hexdigest()[:16]}"


def flush_to_disk(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, is on the disk."""
    if path.is_dir() and sys.platform == "win32":
        return
    opened = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
