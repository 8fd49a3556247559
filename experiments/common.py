"""What the experiments share: options, clocks, fresh processes, tables, and the JSON file with where and when."""

import argparse
import datetime
import gc
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import jax
import numpy as np

import jaxrate as jr
from jaxrate.replay import execution

# Of programs that run once.
FLAGS = ["--xla_cpu_parallel_codegen_split_count=1"]
if jax.__version_info__ < (0, 11):  # later XLA has newer emitters alone, and a flag that it does not know ends it
    FLAGS.append("--xla_cpu_use_fusion_emitters=false")

QUICK = {  # variables of the environment: of XLA, of replays, which have options of their own, and of JAX
    "XLA_FLAGS": " ".join(FLAGS),
    "JAXRATE_COMPILE": "quick",
    "JAX_TRACEBACK_IN_LOCATIONS_LIMIT": "0",  # nobody reads where operations come from
}


def fit_options(quick, steps=100, **settings):
    """Options of a fit with these settings of `jr.fitting.ahead`; quick: one step, and errors that compile soon."""
    if quick:
        steps, settings = 1, {"errors": "products"} | settings
    return {"steps": steps, "objective": jr.fitting.ahead(**settings)}


# --- Options. ---


def declare(quick, data=None, arguments=None):
    """A parser for the script that runs: --quick, --data if it needs some, --out, and further arguments by name."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=quick)
    if data:
        parser.add_argument("--data", default=os.environ.get("JAXRATE_DATA", "../shared/data"), help=f"has {data}")
    parser.add_argument("--out", type=Path, help="the JSON file; pictures go beside it, and parts not run stay in it")
    for name, about in (arguments or {}).items():
        parser.add_argument(f"--{name}", **about)
    return parser


def compile_quickly():
    """For this process and those that it starts; call it before JAX's first device is asked for.

    Seconds of a quick form are no measurements, so it is compiled as quickly as it can be, whatever comes out.
    """
    flags = " ".join([os.environ.get("XLA_FLAGS", ""), QUICK["XLA_FLAGS"], "--xla_backend_optimization_level=0"])
    os.environ.update(QUICK | {"XLA_FLAGS": flags})
    jax.config.update("jax_traceback_in_locations_limit", 0)  # JAX has read its variable
    gc.set_threshold(100_000, 20, 20)  # what was traced lives long


def parse(parser):
    """The options; call it before JAX's first device is asked for. Only a quick form has no file of its own."""
    options = parser.parse_args()
    if options.quick:
        compile_quickly()
    elif not options.out:
        script = Path(sys.modules["__main__"].__file__)
        options.out = script.parent / "results" / f"{script.stem}.json"
    return options


def versions(before):
    """The folders of jaxrate to measure, by name: another version's, if there is one, and that of this process."""
    return ({"before": before} if before else {}) | {"now": Path(jr.__file__).parents[1]}


def look_for(options, *packages):
    """An option for each, whether it is installed."""
    for package in packages:
        setattr(options, package, importlib.util.find_spec(package) is not None)
        if not getattr(options, package):
            print(f"{package} is not installed: skipped")


def find(options, name, otherwise="skipped"):
    """The path of a file of the data folder, or None, with a line, if it is not there."""
    path = Path(options.data) / name
    if path.exists():
        return path
    print(f"there is no {name} in the data folder: {otherwise}")
    return None


# --- Losses. ---


def log_losses(prediction, score):
    """[n] of predictions of the first; a draw is half a win."""
    p, score = (np.asarray(x, np.float64) for x in (prediction, score))
    p = np.clip(p, 2.0**-24, 1.0 - 2.0**-24)
    return -score * np.log(p) - (1.0 - score) * np.log1p(-p)


def mean_and_error(values):
    """The mean of differences [n], and its standard error."""
    return {"difference": values.mean(), "error": values.std(ddof=1) / len(values) ** 0.5}


# --- Clocks and memory. ---


def clock(call):
    start = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - start


def race(calls, n, rounds, cold=()):
    """A row for each call: the best seconds for its `n` matches, and those of a `cold` call, which compiles anew."""
    first = {}
    for way in cold:
        jax.clear_caches()
        first[way] = {"first_seconds": clock(calls[way])}
    turns = [{way: clock(call) for way, call in calls.items()} for _ in range(rounds + 1)]  # the first does not count
    rows = {}
    for way in calls:
        matches, best = n.get(way, n.get("all")) if isinstance(n, dict) else n, min(turn[way] for turn in turns[1:])
        rows[way] = {"way": way, "matches": matches, "seconds": best, "million_per_second": matches / best / 1e6}
    return {way: row | first.get(way, {}) for way, row in rows.items()}


def resident(key):
    """MB that this process holds (VmRSS), or held at most (VmHWM), as Linux says."""
    return int(re.search(rf"{key}:\s+(\d+)", Path("/proc/self/status").read_text())[1]) * 1024 / 1e6


def forget_peak():
    """VmHWM begins anew; ru_maxrss would begin with the parent process's."""
    Path("/proc/self/clear_refs").write_text("5")


def spawn(what, *arguments, **environment):
    """Standard output of a fresh Python; None, with a line, if it fails."""
    environment = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "false"} | environment
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, env=environment)
    if done.returncode == 0:
        return done.stdout
    print(f"{what} failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}: skipped")
    return None


def call_alone(function, *arguments, package=None):
    """What a function of the running script returns, as JSON, in a fresh Python, maybe with another jaxrate."""
    script, name = Path(sys.modules["__main__"].__file__).resolve(), function.__name__
    code = f"import json, sys; sys.path.append({str(script.parent)!r}); from {script.stem} import {name} as f\n"
    code += "print(json.dumps(f(*json.loads(sys.argv[1]))))"
    path = {"PYTHONPATH": str(package)} if package else {}
    text = spawn(f"{name} {arguments}", "-c", code, json.dumps(arguments, default=str), **path)
    return text and json.loads(text.splitlines()[-1])


def timed(call):
    """What it returns, and its seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = jax.block_until_ready(call())
    return result, {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}


class Caught(Exception):
    """A program and its arguments, in place of the call."""


def catch_replay(call):
    """What a call of `run` would compile: the jitted replay, and its arguments."""
    compiled = execution.compile_replay

    def instead(*given, **options):
        found = compiled(*given, **options)

        def caught(*arguments):
            raise Caught(found, arguments)

        caught.lower = caught
        return caught

    with patch.object(execution, "compile_replay", instead):
        try:
            call()
        except Caught as caught:
            return caught.args


def distance(x, y):
    return float(np.max(np.abs(np.asarray(x, np.float64) - np.asarray(y, np.float64))))


# --- Tables. ---


def show(tables):
    """Print tables, lists of rows by title."""

    def text(value):
        return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)

    for title, rows in tables.items():
        if not (isinstance(rows, list) and rows and isinstance(rows[0], dict)):
            continue
        names = list(dict.fromkeys(name for row in rows for name in row))
        table = [names, *([text(row.get(name)) for name in names] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        print(f"\n{title}")
        for line in table:
            print("  " + "  ".join(map(str.ljust, line, widths)).rstrip(), flush=True)


def rounded(results, digits=5):
    """The same with every fraction to so many digits."""
    return json.loads(json.dumps(results), parse_float=lambda x: float(f"{float(x):.{digits}g}"))


# --- The file. ---


def version(package):
    with suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(package)


def circumstances(*packages):
    """Where and when, and with what versions of JAX and of these packages."""
    cpu, packages = platform.processor(), ("jax", "jaxlib", "numpy", *packages)
    with suppress(OSError, TypeError):
        cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())[1]
    system = f"{platform.system()}-{platform.machine()}"
    gib = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    return {
        "machine": {"cpu": cpu, "cores": os.cpu_count(), "platform": system, "memory_gib": gib},
        "versions": {"python": platform.python_version()} | {package: version(package) for package in packages},
        "date": datetime.date.today().isoformat(),
        "backend": jax.devices()[0].device_kind,
    }


def results_in(out):
    """What is in the JSON file already, if it is there."""
    return json.loads(out.read_text())["results"] if out and out.exists() else {}


def write(out, report, results, digits=5):
    """Write the JSON file, if there is to be one."""
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(report | {"results": rounded(results, digits)}, indent=1) + "\n")


def measure(parts, quick, data=None, packages=(), arguments=None, digits=5, in_quick=None):
    """Measure those parts that the command line asks for, and write the file of the script after each.

    Args:
      parts: by name a function of the options that returns tables, or None if it is skipped.
      quick: what --quick does.
      data: the files that the script looks for.
      packages: others that stand beside; an option of each name says whether it is installed.
      arguments: further ones of the command line, without dashes, and what `add_argument` takes.
      digits: of the fractions that are kept.
      in_quick: the parts of a quick form, if these are others.
    """
    every = parts | (in_quick or {})
    only = {"nargs": "+", "choices": every, "metavar": "PART", "help": ", ".join(parts)}
    options = parse(declare(quick, data, {"only": only} | (arguments or {})))
    look_for(options, *packages)
    about = circumstances(*packages) if options.out else {}
    file = json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
    measured, results = file.get("measured", {}), file.get("results", {})
    for name in options.only or list(in_quick if options.quick and in_quick else parts):
        start, tables = time.perf_counter(), every[name](options)
        show({f"{name}: {title}": rows for title, rows in (tables or {}).items()})
        if tables:
            print(f"({name}: {time.perf_counter() - start:.0f} s)", flush=True)
            measured[name], results[name] = about, tables
            write(options.out, {"measured": measured}, results, digits)


if __name__ == "__main__":  # for other programs that are run once, as `.ci/run` does
    print("\n".join(f"{name}={value}" for name, value in QUICK.items()))
