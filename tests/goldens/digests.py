"""Columns in few numbers, and whether two of them are alike."""

import math
import zlib

import numpy as np

WHOLE, ENDS = 24, 4  # the longest column that is kept as it is; how many values of either end of a longer one


def digest(values):
    """What is kept of a column: all of it if it is short, else its ends, range and sums, weighted by waves."""
    values = np.asarray(values)
    kept = {"shape": list(values.shape)}
    flat = values.ravel()
    if flat.dtype.kind not in "biuf":
        texts = [_text(x) for x in flat]
        if len(texts) > WHOLE:
            kept["crc"], texts = zlib.crc32("\n".join(texts).encode()), texts[:ENDS] + texts[-ENDS:]
        return kept | {"text": texts}
    numbers = flat.astype(float)
    if len(numbers) <= WHOLE:
        return kept | {"value": _round(numbers)}
    known = np.where(np.isfinite(numbers), numbers, 0.0)
    waves = [np.cos, np.sin]
    sums = [math.fsum(known * wave(math.sqrt(2.0) * np.arange(len(known)))) for wave in waves]
    kept["missing"] = int((~np.isfinite(numbers)).sum())
    return kept | {
        "value": _round(np.concatenate([numbers[:ENDS], numbers[-ENDS:]])),
        "range": _round([known.min(), known.max()]),
        "sums": _round([math.fsum(known), *sums]),
    }


def _text(value):
    return "" if value is None else str(value)


def _round(numbers):
    """Numbers of 15 digits."""
    return [float(f"{x:.15g}") for x in numbers]


def find_difference(found, wanted, rtol):
    """The first difference of two digests in words; None if they are alike.

    Numbers may differ by `rtol` of the greatest of the column, and sums by that times the root of their length.
    """
    for name in sorted({*found, *wanted}):
        one, other = found.get(name), wanted.get(name)
        if name not in ("value", "range", "sums") or one is None or other is None or len(one) != len(other):
            if one != other:
                return f"{name} {one!r} is not {other!r}"
            continue
        scale = max(map(abs, (x for x in [*wanted.get("range", ()), *wanted["value"]] if math.isfinite(x))), default=0)
        allowed = rtol * scale * (math.sqrt(math.prod(wanted["shape"])) if name == "sums" else 1.0)
        for place, (x, y) in enumerate(zip(one, other, strict=True)):
            if x != y and not (math.isnan(x) and math.isnan(y)) and not abs(x - y) <= allowed:
                return f"{name} {place}: {x!r} is not {y!r}, by {abs(x - y):.2g}, and {allowed:.2g} is allowed"
    return None
