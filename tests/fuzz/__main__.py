"""Fuzz everything in turn: systems, readers, saved runs and live histories.

    python tests/fuzz --minutes 60 --seed 1

Every finding is printed with the command that repeats it; the exit code is 1 if there is one.
"""

import argparse
import sys
from importlib import import_module
from pathlib import Path

FUZZERS = "systems", "readers", "saved", "live"


def main():
    """Run all fuzzers until the minutes are over."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.fuzz.driver import run_in_turn

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], prog="python tests/fuzz")
    parser.add_argument("--minutes", type=float, default=1.0, help="how long to go on  [default: 1]")
    parser.add_argument("--seed", type=int, default=1, help="from which the cases are drawn  [default: 1]")
    options = parser.parse_args()
    fuzzers = {f"python -m tests.fuzz.{name}": import_module(f"tests.fuzz.{name}").fuzz for name in FUZZERS}
    raise SystemExit(run_in_turn(fuzzers, options.minutes, options.seed) > 0)


if __name__ == "__main__":
    main()
