"""Run the programs that standard input lists, two at a time; the exit status is 1 if any of them fails.

A line is a script with its arguments, a notebook, or a command. Scripts and notebooks run in forks of this process,
which has imported what they import: that would take them a quarter of their time. So do the Pythons that they start.
"""

import functools
import gc
import importlib
import io
import json
import os
import runpy
import shlex
import subprocess
import sys
import traceback
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
from IPython.core.interactiveshell import InteractiveShell
from jax._src import xla_bridge
from jax._src.interpreters import mlir

PRELOADED = (
    "jaxrate.plots",
    "jaxrate.forecasts",
    "jaxrate.fitting",
    "jaxrate.smoothing",
    "jaxrate.arena",
    "jaxrate.data",
    "scipy.stats",
)
PROCESSES = 2
CAREFULLY_COMPILED = ("4_luck_and_blat_mmr.ipynb",)  # it runs longer than careful compiling takes


shared_context = functools.cache(mlir.make_ir_context)


def get_context(make_context=mlir.make_ir_context):
    """A context of the compiler's, the same for all programs, as in `tests/conftest.py`: one takes 3 ms."""
    return shared_context() if mlir.ir.Context.current is None else make_context()


mlir.make_ir_context = get_context


def run_script(path, arguments):
    sys.argv = [path, *arguments]
    sys.path.insert(0, str(Path(path).parent))
    runpy.run_path(path, run_name="__main__")


class ForkedPythonPopen(subprocess.Popen):
    """A Python that is started before JAX's first device is asked for is a fork as well."""

    def __init__(self, arguments, **options):
        if arguments[0] == sys.executable and not xla_bridge.backends_are_initialized():
            options["preexec_fn"] = functools.partial(
                run_python_command, [*map(str, arguments[1:])], options.get("env")
            )
        super().__init__(arguments, **options)


def run_python_command(arguments, environment):
    """What `python ARGUMENTS` does, and the end of this process: `-c CODE`, `-m MODULE`, or a script."""
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # as when another program takes the place of this one
    if environment is not None:
        os.environ.clear()
        os.environ.update(environment)
    status = 1
    try:
        if arguments[0] == "-c":
            sys.argv = ["-c", *arguments[2:]]
            exec(arguments[1], {"__name__": "__main__"})
        elif arguments[0] == "-m":
            sys.argv = arguments[1:]
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            run_script(arguments[0], arguments[1:])
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def run_notebook(path):
    """Run its cells, and draw the figures of each, as Jupyter does; the outputs that are kept stay as they are."""
    cells = json.loads(Path(path).read_text(encoding="utf-8"))["cells"]
    if Path(path).name in CAREFULLY_COMPILED:
        os.environ.pop("JAXRATE_COMPILE", None)
    else:
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0"
    os.chdir(Path(path).parent)
    sys.path.insert(0, "")  # modules that a notebook writes
    shell = InteractiveShell.instance()
    for cell in cells:
        if cell["cell_type"] == "code":
            shell.run_cell("".join(cell["source"])).raise_error()
            for number in plt.get_fignums():
                plt.figure(number).savefig(io.BytesIO(), bbox_inches="tight")
            plt.close("all")


def run(line):
    """Run the program of a line, in this process if it is a script or a notebook."""
    path, *arguments = shlex.split(line)
    if path.endswith(".py"):
        run_script(path, arguments)
    elif path.endswith(".ipynb"):
        run_notebook(path)
    else:
        sys.exit(subprocess.run(line, shell=True).returncode)


def main():
    for name in PRELOADED:
        importlib.import_module(name)
    subprocess.Popen = ForkedPythonPopen
    gc.set_threshold(1_000_000, 20, 20)  # what was traced lives long
    gc.freeze()
    lines, running, failed = sys.stdin.read().splitlines(), {}, []
    while lines or running:
        if lines and len(running) < PROCESSES:
            line = lines.pop(0)
            process = os.fork()
            if not process:
                run(line)
                return
            running[process] = line
            continue
        process, status, used = os.wait4(-1, 0)
        line = running.pop(process)
        print(f"{line}: exit status {os.waitstatus_to_exitcode(status)}, {used.ru_utime + used.ru_stime:.1f} s of CPU")
        sys.stdout.flush()
        failed += [line] * (status != 0)
    if failed:
        sys.exit("\n".join(["these failed:", *failed]))


if __name__ == "__main__":
    main()
