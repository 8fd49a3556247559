"""A part in this process, or one of its cases: `python -m gpu_parts PART --out FOLDER`, with the options of its parent.

The exit status is 0; 1 if the one case failed; or `DEVICE_LOST`, after which the other cases need another process.
"""

import argparse
import importlib
import json
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from gpu_parts.case_record import CaseRecord
from gpu_parts.child_process import COMPILING, DEVICE_LOST, PARTS
from gpu_parts.smallest_case import smallest_failing_case

SEARCH_SECONDS = 30.0  # for the smallest case that fails
MESSAGE_LENGTH = 600
TURNS = 3  # of which the best counts
COMPILERS = 14  # programs that are compiled at once


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", choices=("cpu", "gpu"), required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--compile-first", action="store_true")
    parser.add_argument("--case", type=json.loads, help="run this case alone")
    options = parser.parse_args()
    options.turns = 1 if options.quick else TURNS
    return options


def check_device(options):
    """End if there is no GPU to measure: JAX would take the CPU in its place."""
    import jax

    if options.device == "gpu" and jax.default_backend() != "gpu":
        sys.exit(f"there is no GPU: JAX runs on {jax.default_backend()}")


def is_device_lost():
    """Whether the device answers no more, as after an access to memory that is not its own."""
    import jax
    import jax.numpy as jnp

    with suppress(Exception):
        return float(jax.block_until_ready(jnp.ones(8) + 1.0).sum()) != 16.0
    return True


def error_message(error):
    return f"{type(error).__name__}: {error}".strip()[:MESSAGE_LENGTH]


def error_place(error):
    """The file and line where it was raised."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


def run_case(module, case, options, known=()):
    """The numbers of a case; if it fails, its error and, as long as the device answers, the smallest case like it.

    Args:
      known: places where others failed, of which the smallest case is known already.
    """
    start = time.perf_counter()
    try:
        return module.run(case, options) | {"case_seconds": time.perf_counter() - start}
    except Exception as error:
        traceback.print_exc()  # into the log of the part
        failed = {"error": error_message(error), "place": error_place(error)}
    if is_device_lost():
        return failed | {"device_lost": True}
    if failed["place"] in known:
        return failed

    def fails(other):
        try:
            module.run(other, options)
        except Exception as error:
            return error_place(error) == failed["place"]
        return False

    smallest, tried = smallest_failing_case(case, fails, 1.0 if options.quick else SEARCH_SECONDS)
    return failed | {"smallest": smallest, "tried": tried}


def has_kernel_passed(folder):
    """Whether the kernel agreed with the loop in all cases: else it may hang, and what is compiled beside it too."""
    record = CaseRecord(folder / "kernel.json")
    return record.content["ended"] and not any("error" in row for row in record.rows)


def compile_cases(module, cases, options):
    """Run every case once without turns, several at once: on many cores programs are compiled side by side."""
    without_turns = argparse.Namespace(**vars(options) | {"turns": 0})

    def run_once(case):
        with suppress(Exception):
            module.run(case, without_turns)

    with ThreadPoolExecutor(COMPILERS) as pool:
        list(pool.map(run_once, cases[::-1]))  # the last ones take the longest


def main():
    options = parse_options()
    module = importlib.import_module(f"gpu_parts.{PARTS[options.part].module}")
    if options.case is not None:
        module.run(options.case, options)
        return
    check_device(options)
    record, start = CaseRecord(options.out / f"{options.part}.json"), time.perf_counter()
    record.note_circumstances()
    left = [case for case in module.cases(options) if not record.has(case)]
    if options.compile_first:
        record.begin(COMPILING)
        is_safe = options.part == "kernel" or has_kernel_passed(options.out)
        compiled = [case for case in left if PARTS[case.get("part", options.part)].compiles_first]
        compile_cases(module, [case for case in compiled if is_safe or case.get("engine") != "kernel"], options)
    for case in left:
        record.begin(case)
        found = run_case(module, case, options, [row.get("place") for row in record.rows])
        record.end(case, found)
        if "device_lost" in found:
            sys.exit(DEVICE_LOST)
    record.finish(time.perf_counter() - start)


if __name__ == "__main__":
    main()
