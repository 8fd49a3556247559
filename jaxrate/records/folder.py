"""Folders of files that belong together: all take their places at once, and none is believed that was changed.

`run.json` tells the size and the SHA-256 of every file, and its last line the SHA-256 of all above it. Whatever
run.json stands there is the run. Its files are beside it or, while a save is under way, in the hidden folder `.run-`
with the first digits of the SHA-256 of this run.json. A save

1. writes all files of the new run into such a folder, and sees that they are on the disk,
2. moves the files of the old run into one, where they are still found,
3. puts the new run.json in place of the old one, by one rename: the switch,
4. moves the files of the new run to their places, and removes those of the old one.

So a file at its own path is never older or newer than the run: it is away from before the switch until after it. What
an interrupted save left behind, the next one puts in order first.

Why a plain file that is replaced: this is one atomic step on every usual file system, and such a folder can be copied,
packed and synchronised. A symbolic link to the generation needs rights on Windows, and tools that follow links turn it
into a folder, which no rename replaces. Exchanging two folders is known to Linux alone, and takes along files of other
names.

One process at a time saves into a folder: it holds a lock on it, which the system drops when the process ends. (Windows
has no such locks.) Readers need none.
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

POINTER = "run.json"
FILES = ("ratings.parquet", "predictions.parquet", "state.npz")  # of every run
PLAIN = {"ratings.parquet": "ratings.npz", "predictions.parquet": "predictions.npz"}  # without pyarrow
MORE = "upcoming", "hindsight"  # of some; the former of earlier versions
BESIDE = ("ratings.csv", "predictions.csv", *(f"{name}.{kind}" for name in MORE for kind in ("csv", "parquet")))
FORMAT = 4  # of the folder, its tables and the states in it: raised when older ones cannot be carried on
KNOWN = (3, FORMAT)  # 3: without sizes, with CRC-32, and run.json itself unchecked
PATIENCE = 10.0  # seconds to wait for another process
LARGEST = 1 << 26  # bytes of run.json
LEFT = re.compile(r"\.(saving[a-z0-9_]{0,8}|run-[0-9a-f]{16})")  # what interrupted saves leave, those of format 3 too
CHANGED = "{} was changed or belongs to another run; rate the matches again"
SEAL = ',\n  "checksum": "'


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Nobody else saves into the folder meanwhile; ValueError if somebody does and is not done soon."""
    if sys.platform == "win32":
        yield
        return
    lock, end = os.open(folder, os.O_RDONLY), time.monotonic() + PATIENCE
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


def put(folder: Path, about: dict[str, Any], write: Callable[[Path], Any], gone: Collection[str] = ()) -> None:
    """Replace the run in a folder that is `held`, wholly or not at all.

    Args:
      folder: files of other names in it stay.
      about: what run.json tells besides.
      write: writes the files into the folder it is given.
      gone: further names of files that belong to the old run.

    Raises:
      ValueError: if something there is no file.
      OSError: if the files cannot be written.
    """
    old, new = _pointer(folder), folder / ".saving"
    mine = {*FILES, *gone, *_listed(old)}
    for name in sorted(mine):
        if (folder / name).is_dir():
            raise ValueError(f"{folder / name} is a folder; save the run elsewhere")
    switched = False
    try:
        settle(folder)
        new.mkdir()
        write(new)
        about = about | {"files": {file.name: _described(file) for file in sorted(new.iterdir())}}
        (new / POINTER).write_bytes(raw := sealed(about))
        for path in (*new.iterdir(), new):
            to_disk(path)
        new = new.rename(_home(folder, raw))
        _retire(folder, _home(folder, old), mine)
        os.replace(new / POINTER, folder / POINTER)
        switched = True
        to_disk(folder)
        settle(folder)
    except BaseException as error:
        with suppress(OSError):
            settle(folder)
        if isinstance(error, OSError):
            said, reason = "was saved, but not put in order" if switched else "was not saved", error.strerror or error
            raise OSError(error.errno or errno.EIO, f"the run {said}: {reason}", str(folder)) from error
        raise


def settle(folder: Path) -> None:
    """Put the files of the run in their places, and remove what interrupted saves left."""
    home = _home(folder, _pointer(folder))
    if home.is_dir():
        for file in home.iterdir():
            if file.name != POINTER:
                os.replace(file, folder / file.name)
    for path in folder.iterdir():
        if LEFT.fullmatch(path.name):
            shutil.rmtree(path, ignore_errors=True)


def _retire(folder: Path, home: Path, names: Collection[str]) -> None:
    """Move the files of a run to where they are found until another takes its place."""
    home.mkdir(exist_ok=True)
    for name in names:
        with suppress(FileNotFoundError):
            os.replace(folder / name, home / name)
    for path in (home, folder):
        to_disk(path)


def read(folder: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What run.json tells, and the bytes of its files: of one run, also while others are saved there.

    Raises:
      ValueError: if there is none, if a file was changed or cannot be read, or if the format is unknown.
    """
    before = None
    while True:
        if not (raw := _pointer(folder)):
            made = "`jaxrate rate FILE --out FOLDER` and `jr.save` make one"
            raise ValueError(f"no saved run there: {POINTER} is missing; {made}")
        try:
            about = parsed(raw)
            listed = _listed(raw)
            names = (PLAIN[name] if PLAIN.get(name) in listed else name for name in FILES)
            return about, {name: _found(folder, raw, name, about) for name in names}
        except ValueError:
            if raw == before:
                raise
            before = raw  # perhaps somebody has just saved


def sealed(about: dict[str, Any]) -> bytes:
    """The bytes of run.json, with their checksum."""
    try:
        body = json.dumps(about, indent=2).removesuffix("\n}")
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the options hold what JSON does not ({error})") from None
    if len(body) > LARGEST - 100:
        raise ValueError(f"what run.json tells would take {len(body):,} bytes; {LARGEST:,} are allowed")
    return f'{body}{SEAL}{hashlib.sha256(body.encode()).hexdigest()}"\n}}\n'.encode()


def parsed(raw: bytes) -> dict[str, Any]:
    """What run.json tells, if these are its bytes as they were written, in a format that is known."""
    try:
        about = json.loads(raw)
        writer, form = about["jaxrate"], about["format"]
    except KeyError as error:
        raise ValueError(f"{POINTER} is damaged ({error.args[0]} is missing)") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{POINTER} is damaged ({error})") from None
    if not (isinstance(writer, str) and type(form) is int):
        raise ValueError(f"{POINTER} is damaged (no version in it)")
    if form > FORMAT:
        raise ValueError(
            f"{POINTER}: jaxrate {writer:.20} wrote it in format {form}, this version knows {FORMAT}; install that one"
        )
    if form not in KNOWN:
        raise ValueError(f"{POINTER}: jaxrate {writer:.20} wrote it in another form; rate the matches again")
    body, mark, _ = raw.rpartition(SEAL.encode())
    if form == FORMAT and not (mark and raw == body + mark + hashlib.sha256(body).hexdigest().encode() + b'"\n}\n'):
        raise ValueError(f"{POINTER} was changed; rate the matches again")
    return about


def _found(folder: Path, pointer: bytes, name: str, about: dict[str, Any]) -> bytes:
    """The bytes of a file of the run, in its place or on the way there."""
    home = _home(folder, pointer)
    problem = ValueError(f"no saved run there: {name} is missing")
    for place in (home, folder, home):  # it may have moved between two looks
        with suppress(FileNotFoundError, NotADirectoryError):
            try:
                return _checked(place / name, about)
            except ValueError as error:
                problem = error
    raise problem


def _checked(file: Path, about: dict[str, Any]) -> bytes:
    try:
        if about["format"] == FORMAT:
            told = about["files"][file.name]
            raw = _bytes(file, told["bytes"])
            same = told["sha256"] == hashlib.sha256(raw).hexdigest()
        else:
            told = about["checksums"][file.name]
            raw = _bytes(file)
            same = told == zlib.crc32(raw)
    except (KeyError, TypeError):
        raise ValueError(f"{POINTER} is damaged (no checksum of {file.name} in it)") from None
    if not same:
        raise ValueError(CHANGED.format(file.name))
    return raw


def _bytes(file: Path, size: int | None = None) -> bytes:
    """The bytes of a plain file, of this size; nothing else is read, or waited for."""
    flags = (getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY"))
    try:
        with open(os.open(file, os.O_RDONLY | sum(flags)), "rb") as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ValueError(f"{file.name} is no plain file")
            if size is not None and status.st_size != size:
                raise ValueError(CHANGED.format(file.name))
            if file.name == POINTER and status.st_size > LARGEST:
                raise ValueError(f"{file.name} is too large")
            return opened.read()
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (OSError, MemoryError) as error:
        raise ValueError(f"{file.name} cannot be read ({getattr(error, 'strerror', None) or error!r})") from None


def _pointer(folder: Path) -> bytes:
    """The bytes of run.json; none if there is no run."""
    try:
        return _bytes(folder / POINTER)
    except (FileNotFoundError, NotADirectoryError):
        return b""


def _listed(pointer: bytes) -> set[str]:
    """Which files that not every run has belong to this one."""
    try:
        return {*BESIDE, *PLAIN.values()} & set(parsed(pointer)["files"])
    except (ValueError, KeyError, TypeError):
        return set()


def _home(folder: Path, pointer: bytes) -> Path:
    return folder / f".run-{hashlib.sha256(pointer).hexdigest()[:16]}"


def _described(file: Path) -> dict[str, Any]:
    with file.open("rb") as opened:
        return {"bytes": file.stat().st_size, "sha256": hashlib.file_digest(opened, "sha256").hexdigest()}


def to_disk(path: Path) -> None:
    """Return when a file, or the list of names in a folder, is on the disk and not only in memory."""
    if path.is_dir() and sys.platform == "win32":
        return
    opened = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
