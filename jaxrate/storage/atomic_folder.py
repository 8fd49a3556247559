"""Folders of files that belong together: all files are replaced at once, and changed files are refused.

`run.json` has the size and the SHA-256 of every file, and in its last line the SHA-256 of all lines above. The run.json
in the folder defines the run. Its files are beside it or, during a save, in the hidden folder `.run-` with the first
digits of the SHA-256 of this run.json. A save

1. writes all files of the new run into a hidden folder, and flushes them to the disk,
2. moves the files of the old run into another hidden folder, where readers still find them,
3. replaces the old run.json by the new one, by one rename: this is the switch,
4. moves the files of the new run to their places, and removes those of the old one.

So a file at its own path is never older or newer than the run: it is absent from before the switch until after it. The
next save first cleans up after an interrupted one.

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
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import fcntl

RUN_FILE = "run.json"
RUN_FILES = ("ratings.parquet", "predictions.parquet", "state.npz")  # in every run
NPZ_NAMES = {"ratings.parquet": "ratings.npz", "predictions.parquet": "predictions.npz"}  # names without pyarrow
OPTIONAL_TABLES = "upcoming", "hindsight"  # in some runs; `upcoming` in those of earlier versions
OPTIONAL_FILES = (
    "ratings.csv",
    "predictions.csv",
    *(f"{name}.{kind}" for name in OPTIONAL_TABLES for kind in ("csv", "parquet")),
)
FORMAT_VERSION = 4  # of the folder, its tables and states: increased when older ones cannot be carried on
READABLE_FORMATS = (3, FORMAT_VERSION)  # 3: without sizes, with CRC-32, and run.json itself unchecked
LOCK_TIMEOUT = 10.0  # seconds to wait for another process
MAX_RUN_FILE_BYTES = 1 << 26  # bytes of run.json
LEFTOVER_PATTERN = re.compile(
    r"\.(saving[a-z0-9_]{0,8}|run-[0-9a-f]{16})"
)  # folders that interrupted saves leave, those of format 3 too
CHANGED_MESSAGE = "{} was changed or belongs to another run; rate the matches again"
CHECKSUM_PREFIX = ',\n  "checksum": "'


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
        metadata = metadata | {"files": {file.name: _file_digest(file) for file in sorted(new.iterdir())}}
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
      ValueError: if there is no run, if a file was changed or cannot be read, or if the format is unknown.
    """
    before = None
    while True:
        if not (raw := _read_run_json_bytes(folder)):
            hint = "`jaxrate rate FILE --out FOLDER` and `jr.save` make one"
            raise ValueError(f"no saved run there: {RUN_FILE} is missing; {hint}")
        try:
            metadata = decode_run_json(raw)
            optional_files = _list_optional_files(raw)
            names = (NPZ_NAMES[name] if NPZ_NAMES.get(name) in optional_files else name for name in RUN_FILES)
            return metadata, {name: _read_member_file(folder, raw, name, metadata) for name in names}
        except ValueError:
            if raw == before:
                raise
            before = raw  # perhaps somebody has just saved


def read_run_metadata(folder: Path) -> dict[str, Any]:
    """The contents of run.json; ValueError if there is no run, or a damaged one."""
    return decode_run_json(_read_run_json_bytes(folder))


def encode_run_json(metadata: dict[str, Any]) -> bytes:
    """The bytes of run.json, with their checksum."""
    try:
        body = json.dumps(metadata, indent=2).removesuffix("\n}")
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the options have values that JSON cannot hold ({error})") from None
    if len(body) > MAX_RUN_FILE_BYTES - 100:
        raise ValueError(f"run.json would take {len(body):,} bytes; {MAX_RUN_FILE_BYTES:,} are allowed")
    return f'{body}{CHECKSUM_PREFIX}{hashlib.sha256(body.encode()).hexdigest()}"\n}}\n'.encode()


def decode_run_json(raw: bytes) -> dict[str, Any]:
    """The contents of run.json from its bytes; ValueError if they were changed or have an unknown format."""
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
    if version not in READABLE_FORMATS:
        raise ValueError(f"{RUN_FILE}: jaxrate {writer:.20} wrote it in an older format; rate the matches again")
    body, mark, _ = raw.rpartition(CHECKSUM_PREFIX.encode())
    if version == FORMAT_VERSION and not (
        mark and raw == body + mark + hashlib.sha256(body).hexdigest().encode() + b'"\n}\n'
    ):
        raise ValueError(f"{RUN_FILE} was changed; rate the matches again")
    return metadata


def _read_member_file(folder: Path, run_json_bytes: bytes, name: str, metadata: dict[str, Any]) -> bytes:
    """The bytes of a file of the run, in its place or in the hidden folder."""
    home = _hidden_folder(folder, run_json_bytes)
    problem = ValueError(f"no saved run there: {name} is missing")
    for place in (home, folder, home):  # a save may move it between two attempts
        with suppress(FileNotFoundError, NotADirectoryError):
            try:
                return _read_verified_file(place / name, metadata)
            except ValueError as error:
                problem = error
    raise problem


def _read_verified_file(file: Path, metadata: dict[str, Any]) -> bytes:
    try:
        if metadata["format"] == FORMAT_VERSION:
            entry = metadata["files"][file.name]
            raw = _read_regular_file(file, entry["bytes"])
            same = entry["sha256"] == hashlib.sha256(raw).hexdigest()
        else:
            entry = metadata["checksums"][file.name]
            raw = _read_regular_file(file)
            same = entry == zlib.crc32(raw)
    except (KeyError, TypeError):
        raise ValueError(f"{RUN_FILE} is damaged (no checksum of {file.name} in it)") from None
    if not same:
        raise ValueError(CHANGED_MESSAGE.format(file.name))
    return raw


def _read_regular_file(file: Path, size: int | None = None) -> bytes:
    """The bytes of a regular file of this size; ValueError at once for devices, pipes and files of other sizes."""
    flags = (getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY"))
    try:
        with open(os.open(file, os.O_RDONLY | sum(flags)), "rb") as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ValueError(f"{file.name} is no regular file")
            if size is not None and status.st_size != size:
                raise ValueError(CHANGED_MESSAGE.format(file.name))
            if file.name == RUN_FILE and status.st_size > MAX_RUN_FILE_BYTES:
                raise ValueError(f"{file.name} is too large")
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


def _file_digest(file: Path) -> dict[str, Any]:
    with file.open("rb") as opened:
        return {"bytes": file.stat().st_size, "sha256": hashlib.file_digest(opened, "sha256").hexdigest()}


def flush_to_disk(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, is on the disk."""
    if path.is_dir() and sys.platform == "win32":
        return
    opened = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
