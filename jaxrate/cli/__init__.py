"""The `jaxrate` command. A command is imported when it is called, and JAX by the commands that rate.

arena.py                  `jaxrate arena`
benchmark.py              `jaxrate benchmark`
command_framework.py      what every command has: options in groups, pages of help, and output
compare.py                `jaxrate compare`
dry_run.py                `jaxrate rate --dry-run`
file_rating.py            rating a file: what it holds, by which system, the history, its quality, and times in it
fit.py                    `jaxrate fit`
lazy_imports.py           what commands use of the library, imported at its first use
option_names.py           options of the command line in messages of the library
options.py                kinds of options, how to read a file, and what several commands share
predict.py                `jaxrate predict`
rate.py                   `jaxrate rate`: of a file, by chunks or by league, and what it shows
report.py                 `jaxrate report`
simulate.py               `jaxrate simulate`
site.py                   `jaxrate site`
systems.py                `jaxrate systems`
terminal_tables.py        what a terminal shows: escaped text, progress and tables
"""

import io
import os
import signal
import sys
import traceback
import warnings
from contextlib import suppress
from typing import Any

import click

from jaxrate.cli.command_framework import HELP_SETTINGS, LazyGroup
from jaxrate.cli.option_names import options_by_argument
from jaxrate.cli.terminal_tables import print_escaped, print_message
from jaxrate.core import compiled_program_cache

CACHE_VARIABLE = "JAXRATE_CACHE"  # "off" keeps nothing
SUMMARIES = {
    "Rate": {
        "rate": "Rate players from a file of results.",
        "compare": "Find the system that predicts a file best.",
        "benchmark": "Measure fitted systems by ceilings: forecasts, odds, trees.",
        "fit": "Fit the hyperparameters of a system to a file.",
        "arena": "Rank fixed-strength players, with confidence.",
        "systems": "List the rating systems, or describe one.",
    },
    "Forecast": {"predict": "Predict matches, seasons and tournaments from a saved run."},
    "Publish": {
        "report": "Write a report about a file: one page of HTML.",
        "site": "Write a website about a saved run.",
    },
    "Try it": {"simulate": "Write a file of simulated results, with known strengths."},
}


@click.group(cls=LazyGroup, summaries=SUMMARIES, context_settings=HELP_SETTINGS)
@click.version_option(package_name="jaxrate", help="Print the version.")
@click.option(
    "--no-cache", is_flag=True, help=f"Do not keep compiled programs for the next command, as {CACHE_VARIABLE}=off."
)
def cli(no_cache: bool) -> None:
    """Rate players from a file of results.

    jaxrate COMMAND --help describes a command.
    """
    if not no_cache:
        enable_compilation_cache()


def enable_compilation_cache() -> None:
    """Name the folder to JAX, which is not loaded yet; unless it has one already, or nothing can be written there."""
    if os.environ.get(CACHE_VARIABLE, "").lower() == "off" or compiled_program_cache.FOLDER_VARIABLE in os.environ:
        return
    try:
        folder = compiled_program_cache.make_cache_folder()
    except OSError:
        return
    for name, value in compiled_program_cache.cache_settings(folder).items():
        os.environ.setdefault(name.upper(), str(value))
    warnings.filterwarnings("ignore", message=".*persistent compilation cache", category=UserWarning)  # a full disk


def main() -> None:
    """Run the command: mistakes of the user's are printed on standard error, with exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a name that the terminal cannot show is no reason to stop
    try:
        _end_on_signals()
        code = cli(prog_name="jaxrate", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as help_text:
        print_escaped(help_text.format_message())
        code = 2
    except (click.Abort, KeyboardInterrupt) as stop:
        reason = str(stop.__cause__ or stop.__context__ or stop)  # click makes an Abort of Ctrl-C
        print_message("error", f"stopped{reason and f'; {reason}'}")
        code = 130
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except Exception as error:
        if {"-v", "--verbose"} & set(sys.argv):
            print_escaped(traceback.format_exc(), err=True)
        message, code = _describe_error(error)
        print_message("error", message)
    if code:
        sys.exit(code)


USER_ERRORS = click.ClickException, ValueError, ImportError, OSError  # what the user can mend


def _describe_error(error: Exception) -> tuple[str, int]:
    """The message of an error, and the exit code: 2 for what the user can mend."""
    message = _format_click_error(error) if isinstance(error, click.ClickException) else str(error)
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.filename}: no such file", 2
    if isinstance(error, (MemoryError, OverflowError)) or "RESOURCE_EXHAUSTED" in message:
        return "not enough memory; `jaxrate rate FILE --dry-run` estimates what a file needs", 2
    if isinstance(error, RuntimeError) and "backend" in message and "JAX_PLATFORMS" in os.environ:
        return f"JAX_PLATFORMS={os.environ['JAX_PLATFORMS']}: JAX has no such device here; unset it, or take cpu", 2
    if isinstance(error, USER_ERRORS):
        return message, 2
    return f"unexpected {type(error).__name__}: {message}; -v shows where it comes from", 1


def _format_click_error(error: click.ClickException) -> str:
    """The message of click, with the option that takes the name of an unknown one, or where what there is stands."""
    text, context = error.format_message().rstrip("."), getattr(error, "ctx", None)
    text = text[:1].lower() + text[1:]
    if context is None:
        return text
    name = getattr(error, "option_name", "").lstrip("-").replace("-", "_")
    option: Any = options_by_argument(context.command).get(name)
    hint = f"see {context.command_path} --help" if option is None else f"write {option.opts[0]}={option.metavar}"
    return f"{text}; {hint}"


def _end_on_signals() -> None:
    """Let a signal, or closing the terminal, end the command without leaving temporary files."""

    def stop(number: int, frame: object) -> None:
        sys.exit(128 + number)

    for name in {"SIGTERM", "SIGHUP"} & signal.Signals.__members__.keys():
        with suppress(ValueError):  # in other threads than the main one
            if signal.getsignal(signal.Signals[name]) is signal.SIG_DFL:
                signal.signal(signal.Signals[name], stop)
