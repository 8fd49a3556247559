"""Images with a palette as PNG."""

import struct
import zlib

import numpy as np

from jaxrate.core.array_types import HostArray


def encode_palette_png(pixels: HostArray, palette: bytes) -> bytes:
    """A PNG of pixels [height, width], numbers of colours in a palette of three bytes each."""
    height, width = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels], axis=1).tobytes()  # each begins with no filter

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)  # 8 bits, a palette
    parts = chunk(b"IHDR", header), chunk(b"PLTE", palette), chunk(b"IDAT", zlib.compress(rows, 9))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + chunk(b"IEND", b"")
