"""Checkpoints of a long run: one file, which is replaced as a whole."""

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
