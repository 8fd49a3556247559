"""Fuzz saved runs: whatever was changed in a folder, `jr.load` gives a whole run or one ValueError that names the file.

python -m tests.fuzz.saved --minutes 60 --seed 1
"""

import json
import shutil
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory

import jaxrate as jr
from jaxrate.storage.run_folder import RUN_FILE, RUN_FILES
from tests.fuzz.driver import by_hand

REFERENCE = Path(__file__).parents[1] / "reference" / "saved"
NUMBERS = 0, 1, -1, 2, 5, 7, 10**9, 10**15, 2**63, -(2**63) - 1, 10**400, 0.5, 1e300, -1e9, float("nan"), float("inf")
TEXTS = "", "elo", "glicko2", "dates", "numbers", "Infinity", "\x00", "x" * 100_000
LISTS = [], [[]], [1, "x"], ["x"], [None], [10**400], {}, {"a": {}}, {"k": None}
ODD = None, True, *NUMBERS, *TEXTS, *LISTS


def about_of(folder):
    return json.loads((folder / RUN_FILE).read_bytes())


def write_about(folder, about):
    (folder / RUN_FILE).write_text(json.dumps(about))


def refused(folder):
    """Whether the folder is refused as it should be; what loads can be shown."""
    try:
        rated = jr.load(folder)
    except ValueError as error:
        text = str(error)
        assert text.startswith(f"{folder}: ") and "\n" not in text and len(text) < 1000, text
        assert any(name in text for name in (RUN_FILE, *RUN_FILES)) or "load it in Python" in text, text
        return True
    repr(rated)
    jr.history.rating_table(rated)
    jr.career(rated, rated.players[0])
    return False


def spoiled(random, raw):
    """Bytes cut off, added, changed, or moved."""
    raw, n = bytearray(raw), len(raw)
    kind, place = random.integers(5), int(random.integers(n))
    if kind == 0:
        return bytes(raw[:place])
    if kind == 1:
        return bytes(raw + random.bytes(random.integers(1, 100)))
    if kind == 2:
        return bytes(raw[:place] + random.bytes(random.integers(1, 9)) + raw[place:])
    for i in random.integers(n, size=random.integers(1, 4)) if kind == 3 else range(place, min(place + 8, n)):
        raw[i] = random.integers(256)
    return bytes(raw)


def places(value, path=()):
    """Where values stand in JSON."""
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def odd(random, about):
    """JSON with an odd value somewhere, or without one that was there."""
    *way, last = list(places(about))[int(random.integers(1, len(list(places(about)))))]
    inner = about
    for key in way:
        inner = inner[key]
    if random.random() < 0.2 and isinstance(inner, dict):
        del inner[last]
    else:
        inner[last] = deepcopy(ODD[int(random.integers(len(ODD)))])
    return about


def fuzz(random):
    """A run is spoiled in one way or two: as a disk would, or as a forger would."""
    runs = sorted(REFERENCE.iterdir())
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "run"
        shutil.copytree(runs[int(random.integers(len(runs)))], folder)
        if (kind := int(random.integers(3))) == 0:
            file = folder / random.choice([RUN_FILE, *RUN_FILES])
            file.write_bytes(spoiled(random, file.read_bytes()))
        else:
            about = about_of(folder)
            for _ in range(kind):
                about = odd(random, about)
            write_about(folder, about)
        refused(folder)
    return 1


if __name__ == "__main__":
    by_hand(fuzz, __doc__)
