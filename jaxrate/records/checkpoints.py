"""Checkpoints of a long run: one file, replaced whole, and believed only if it is as it was written."""

import hashlib
import json
import os
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from jaxrate.data.tables import Values, replacing
from jaxrate.records.contents import file_named, unpacked
from jaxrate.records.folder import to_disk

NAME = "checkpoint"
HEAD = b"jaxrate checkpoint 2\n"
ANEW = "rate all anew, in another folder"


def write_checkpoint(folder: Path, about: Mapping[str, Any], arrays: Mapping[str, Values]) -> None:
    """Write what JSON holds, and arrays, so that they are on the disk when this returns."""
    packed = BytesIO()
    np.savez(packed, allow_pickle=False, **arrays)
    told = json.dumps(about).encode()
    body: list[Any] = [len(told).to_bytes(8, "little"), told, packed.getbuffer()]
    digest = hashlib.sha256()
    for piece in body:
        digest.update(piece)
    with replacing(folder / NAME) as (temporary,), temporary.open("wb") as file:
        file.writelines([HEAD, digest.digest(), *body])
        file.flush()
        os.fsync(file.fileno())
    to_disk(folder)


def read_checkpoint(folder: Path) -> tuple[dict[str, Any], dict[str, Values]] | None:
    """The same again; None if there is none. ValueError if it is damaged."""
    path = folder / NAME
    if not path.exists():
        return None
    with file_named(str(path)):
        raw = memoryview(path.read_bytes())
        start = len(HEAD) + hashlib.sha256().digest_size
        if raw[: len(HEAD)] != HEAD:
            raise ValueError(f"it is no checkpoint of this version of jaxrate; {ANEW}")
        if raw[len(HEAD) : start] != hashlib.sha256(raw[start:]).digest():
            raise ValueError(f"it is not as it was written; {ANEW}")
        length = int.from_bytes(raw[start : start + 8], "little")
        about = json.loads(bytes(raw[start + 8 : start + 8 + length]))
        return about, unpacked(bytes(raw[start + 8 + length :]))
