"""Checkpoints of a long run: one file, which is replaced as a whole and has a digest of its contents."""

import hashlib
import json
import os
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.data.table_sources import atomic_replacement
from jaxrate.storage.atomic_folder import flush_to_disk
from jaxrate.storage.npz_tables import name_file_in_errors, read_npz_arrays

CHECKPOINT_FILE = "checkpoint"
FILE_HEADER = b"jaxrate checkpoint 2\n"
RATE_ANEW_HINT = "rate all anew, in another folder"


def write_checkpoint(folder: Path, metadata: Mapping[str, Any], arrays: Mapping[str, HostArray]) -> None:
    """Write metadata, as JSON, and arrays; they are on the disk when this returns."""
    packed = BytesIO()
    np.savez(packed, allow_pickle=False, **arrays)
    encoded = json.dumps(metadata).encode()
    body: list[Any] = [len(encoded).to_bytes(8, "little"), encoded, packed.getbuffer()]
    digest = hashlib.sha256()
    for content in body:
        digest.update(content)
    with atomic_replacement(folder / CHECKPOINT_FILE) as (temporary,), temporary.open("wb") as file:
        file.writelines([FILE_HEADER, digest.digest(), *body])
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
        start = len(FILE_HEADER) + hashlib.sha256().digest_size
        if raw[: len(FILE_HEADER)] != FILE_HEADER:
            raise ValueError(f"it is no checkpoint of this version of jaxrate; {RATE_ANEW_HINT}")
        if raw[len(FILE_HEADER) : start] != hashlib.sha256(raw[start:]).digest():
            raise ValueError(f"it is not as it was written; {RATE_ANEW_HINT}")
        length = int.from_bytes(raw[start : start + 8], "little")
        metadata = json.loads(bytes(raw[start + 8 : start + 8 + length]))
        return metadata, read_npz_arrays(bytes(raw[start + 8 + length :]))
