"""What the fuzzers share: numbered cases, each drawn from its own seed, and how they are run by hand.

A fuzzer is a function of a `numpy.random.Generator` that draws one case, checks it, and returns how many things it
tried. Whatever it raises is a finding, and the seed and the number of the case repeat it:

    python -m tests.fuzz.systems --minutes 60 --seed 1
    python -m tests.fuzz.systems --seed 1 --case 17
"""

import argparse
import time
import traceback
from itertools import count

import jax
import numpy as np

CASES_CACHED = 100  # whose programs are kept


def drawn(seed, case):
    """The generator of a case."""
    return np.random.default_rng([seed, case])


def by_hand(fuzz, doc):
    """Run cases until the minutes are over, print every finding, and exit with 1 if there is one."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="how long to go on")
    parser.add_argument("--seed", type=int, default=1, help="from which the cases are drawn")
    parser.add_argument("--case", type=int, help="only this case, with its traceback")
    options = parser.parse_args()
    if options.case is not None:
        print(f"{fuzz(drawn(options.seed, options.case)):,} tried, nothing found")
        return
    start, tried, findings = time.monotonic(), 0, 0
    for case in count():
        try:
            tried += fuzz(drawn(options.seed, case))
        except Exception as error:
            findings += 1
            where = "" if isinstance(error, AssertionError) else "".join(traceback.format_tb(error.__traceback__)[-1:])
            print(f"--seed {options.seed} --case {case}: {type(error).__name__}: {error}\n{where}", flush=True)
        if (case + 1) % CASES_CACHED == 0:
            jax.clear_caches()  # programs of an hour do not fit into memory
        if time.monotonic() - start > 60 * options.minutes:
            print(f"seed {options.seed}: {case + 1:,} cases, {tried:,} tried, {findings} findings")
            raise SystemExit(findings > 0)
