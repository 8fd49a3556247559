"""A part, or one of its cases, in a process of its own: one that crashes or hangs takes no other with it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from gpu_parts.case_record import CaseRecord
from gpu_parts.smallest_case import smallest_failing_case

DEVICE_LOST = 75  # exit status of a process whose device answers no more
RESTARTS = 4  # of a part, after cases that took the device with them
SEARCH_SECONDS = 60.0  # for the smallest case that crashes or hangs
POLL_SECONDS = 0.1
FOLDER = "parts"  # of the files of the parts, their logs, and the programs that were compiled
COMPILING = {"table": "compiling"}  # stands for a case while all programs of a part are compiled
COMPILING_LIMITS = 2  # as many times the limit of a case


class Part(NamedTuple):
    """A part of the record."""

    module: str
    limit: float  # seconds after which it is ended
    case_limit: float  # seconds after which a case counts as hanging
    compiles_first: bool = False  # whether its programs are compiled side by side before anything is timed
    on_host: bool = False  # whether it runs on the CPU, whatever the device


PARTS = {
    "contract": Part("contract_and_references", 110, 60, compiles_first=True),
    "graphs": Part("graph_loops", 90, 60),
    "kernel": Part("kernel_agreement", 110, 25, compiles_first=True),
    "replays": Part("replays", 150, 60, compiles_first=True),
    "blat_mmr": Part("blat_mmr_algorithms", 60, 40, compiles_first=True),
    "settings": Part("settings_at_once", 120, 40, compiles_first=True),
    "fit": Part("fit_starts", 90, 60),
    "chunks": Part("chunks", 70, 60),
    "host": Part("host_cores", 120, 60, compiles_first=True, on_host=True),
}


def record_path(part, options):
    """The file of a part."""
    path = options.out / FOLDER / f"{part}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def environment(part, options):
    """The environment of the process of a part."""
    experiments = Path(__file__).parents[1]
    path = [str(experiments), str(experiments.parent), os.environ.get("PYTHONPATH", "")]
    found = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, path))}
    on_cpu = options.device == "cpu" or PARTS[part].on_host
    found |= {"JAX_PLATFORMS": "cpu" if on_cpu else "cuda,cpu"}
    found |= {"JAX_COMPILATION_CACHE_DIR": str((options.out / FOLDER / "compiled").absolute())}
    found |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.5"}
    return found | ({"JAXRATE_COMPILE": "quick"} if options.quick else {})


def command(part, options, *more):
    device = "cpu" if PARTS[part].on_host else options.device
    arguments = [
        part,
        "--out",
        str((options.out / FOLDER).absolute()),
        "--device",
        device,
        *(["--quick"] * options.quick),
    ]
    return [sys.executable, "-m", "gpu_parts", *arguments, *more]


def case_fails(part, case, options, seconds):
    """Whether one case fails, crashes or hangs in a process of its own."""
    try:
        done = subprocess.run(
            command(part, options, "--case", json.dumps(case)),
            env=environment(part, options),
            capture_output=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def run_part(part, options, end):
    """Run a part until it ends or its time is up; cases that take the process with them are rows of errors.

    Args:
      end: when all must have ended (seconds, as `time.monotonic` counts them).
    """
    path, about = record_path(part, options), PARTS[part]
    end = min(end, time.monotonic() + about.limit)
    compile_first = about.compiles_first and not options.quick and options.device == "gpu"
    for _ in range(1 + RESTARTS):
        more = ["--compile-first"] if compile_first else []
        with path.with_suffix(".log").open("a") as log:
            process = subprocess.Popen(
                command(part, options, *more), env=environment(part, options), stdout=log, stderr=log
            )
            ended = wait(process, path, about.case_limit, end)
        record = CaseRecord(path)
        running = record.content["running"]
        if ended == "done":
            return record
        last = record.rows[-1] if record.rows else {}
        is_lost = "device_lost" in last and "smallest" not in last  # the row of its case is written already
        if time.monotonic() >= end or (running is None and not is_lost):
            why = ended if running else f"{ended}: {last_line(path.with_suffix('.log'))}"  # outside of any case
            record.content["stopped"] = f"{why}, after {len(record.rows)} cases"
            record.stop_running()
            return record
        compile_first = False
        if running and running["case"] != COMPILING:
            record.end(running["case"], {"error": ended})
        record.stop_running()
        add_smallest_case(record, part, options, end)
    return CaseRecord(path)


def last_line(path):
    return next(iter(path.read_text().strip().splitlines()[::-1]), "no message")


def wait(process, path, case_limit, end):
    """Wait for a process: "done", or how it ended otherwise."""
    try:
        while process.poll() is None:
            time.sleep(POLL_SECONDS)
            running = CaseRecord(path).content["running"] if path.exists() else None
            limit = case_limit * (COMPILING_LIMITS if running and running["case"] == COMPILING else 1)
            if running is not None and time.time() - running["since"] > limit:
                return f"no end after {case_limit:g} s"
            if time.monotonic() >= end:
                return "its time was up"
    finally:
        process.kill()
        process.wait()
    if process.returncode == 0:
        return "done"
    return "the device answers no more" if process.returncode == DEVICE_LOST else f"exit status {process.returncode}"


def add_smallest_case(record, part, options, end):
    """To the last row, if it is of a case that took its process with it, the smallest case that does so too."""
    row = record.rows[-1] if record.rows else {}
    if "error" not in row or "smallest" in row:
        return
    seconds = min(SEARCH_SECONDS, (end - time.monotonic()) / 3)
    limit = PARTS[part].case_limit
    row["smallest"], row["tried"] = smallest_failing_case(
        row["case"], lambda case: case_fails(part, case, options, limit), seconds
    )
    record.write()
