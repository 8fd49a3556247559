"""Fuzz everything in turn: systems, readers, saved runs and live histories.

    python tests/fuzz --minutes 60 --seed 1

Every finding is printed with the command that repeats it; the exit code is 1 if there is one.
"""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    names = [f"tests.fuzz.{name}" for name in ("systems", "readers", "saved", "live")]
    import_module("tests.fuzz.driver").by_hand({f"python -m {x}": import_module(x).fuzz for x in names}, __doc__)
