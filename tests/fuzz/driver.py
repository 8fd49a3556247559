"""What the fuzzers share: numbered cases, each drawn from its own seed, and how they are run by hand.

A fuzzer is a function of a `numpy.random.Generator` that draws one case, checks it, and returns how many things it
tried. Whatever it raises is a finding, and the seed and the number of the case repeat it:

    python -m tests.fuzz.systems --minutes 60 --seed 1
    python -m tests.fuzz.systems --seed 1 --case 17

`python tests/fuzz` runs all of them in turn.
"""

import argparse
import time
import traceback

import jax
import numpy as np

CASES_CACHED = 100  # whose programs are kept


def drawn(seed, case):
    """The generator of a case."""
    return np.random.default_rng([seed, case])


def by_hand(fuzz, doc):
    """Run cases until the minutes are over, print every finding, and exit with 1 if there is one.

    Args:
      fuzz: generator -> how many things were tried; or several by the name of their command.
      doc: of the script; its first line is the help.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="how long to go on")
    parser.add_argument("--seed", type=int, default=1, help="from which the cases are drawn")
    parser.add_argument("--case", type=int, help="only this case, with its traceback")
    options = parser.parse_args()
    fuzzers = fuzz if isinstance(fuzz, dict) else {"": fuzz}
    if options.case is None:
        raise SystemExit(run_in_turn(fuzzers, options.minutes, options.seed) > 0)
    for name in fuzzers:
        print(f"{name} {fuzzers[name](drawn(options.seed, options.case)):,} tried, nothing found".lstrip())


def run_in_turn(fuzzers, minutes, seed):
    """How many findings there are in so many minutes, of which every fuzzer has its share; each is printed.

    Args:
      fuzzers: by the name of their command, as python -m tests.fuzz.systems; "" for the one that runs.
      minutes: how long to go on. Every fuzzer has one case at least.
      seed: from which the cases are drawn, numbered for each fuzzer from 0.
    """
    start = time.monotonic()
    cases, tried, findings = (dict.fromkeys(fuzzers, 0) for _ in range(3))
    seconds = dict.fromkeys(fuzzers, 0.0)
    while min(cases.values()) == 0 or time.monotonic() - start < 60 * minutes:
        name = min(fuzzers, key=seconds.__getitem__)
        case, begin = cases[name], time.monotonic()
        try:
            tried[name] += fuzzers[name](drawn(seed, case))
        except Exception as error:
            findings[name] += 1
            where = "" if isinstance(error, AssertionError) else "".join(traceback.format_tb(error.__traceback__)[-1:])
            command = f"{name} --seed {seed} --case {case}".lstrip()
            print(f"{command}: {type(error).__name__}: {error}\n{where}", flush=True)
        cases[name] += 1
        seconds[name] += time.monotonic() - begin
        if sum(cases.values()) % CASES_CACHED == 0:
            jax.clear_caches()  # programs of an hour do not fit into memory
    for name in fuzzers:
        what = f"seed {seed}: {cases[name]:,} cases, {tried[name]:,} tried in {seconds[name] / 60:.1f} minutes"
        print(f"{name} {what}: {findings[name]} findings".lstrip())
    return sum(findings.values())
