"""The `jaxrate` command. Its modules import click and numpy alone: JAX is loaded by the commands that rate.

arena.py                  `jaxrate arena`
arena_votes.py            the input of `jaxrate arena`: votes, counts of them, or contests
as_of.py                  the options --as-of and --since: the time that they name, and the events up to it
chunked_rating.py         `jaxrate rate` of a folder of Parquet files, or by chunks
compare.py                `jaxrate compare`
compilation_cache.py      compiled programs in the user's cache folder
demo.py                   `jaxrate demo`
fit.py                    `jaxrate fit`
hyperparameters.py        hyperparameters as users write them: the values of --param, and the files of --params
input_options.py          the options that say how to read a file, and the events that are read
leaderboard_options.py    the options of leaderboards: who is on them, and how they are printed
rating_by_league.py       `jaxrate rate --by`
output_checks.py          checks of output paths, before the work begins
paths.py                  paths on the command line
plan.py                   `jaxrate plan`
predict.py                `jaxrate predict`
progress.py               progress, notes and timings of a command
rate.py                   `jaxrate rate`
report.py                 `jaxrate report`
saved_run_options.py      the saved run that `jaxrate rate --state` continues, and the one that --out writes
season_and_tournament.py  `jaxrate season` and `jaxrate tournament`
shared_options.py         the options that several commands have, and the request that they make
simulate.py               `jaxrate simulate`
simulated_demo.py         `jaxrate demo --simulated`: a league of known strengths, rated by every system
site.py                   `jaxrate site`
smoothed_output.py        the output of `jaxrate rate --smooth`: the greatest players, and every match with hindsight
system_selection.py       choice of the system that rates a file: checks and hints before the work begins
systems.py                `jaxrate systems`
terminal.py               output to the terminal, all of it with control characters escaped
"""

import io
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import click

from jaxrate.cli import (
    arena,
    compare,
    compilation_cache,
    demo,
    fit,
    plan,
    predict,
    rate,
    report,
    season_and_tournament,
    simulate,
    site,
    systems,
)
from jaxrate.cli.terminal import print_escaped


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="jaxrate")
@click.option(
    "--no-cache",
    is_flag=True,
    help="Keep no compiled programs in your cache folder; "
    f"{compilation_cache.CACHE_VARIABLE}=off in the environment does the same.",
)
def cli(no_cache: bool) -> None:
    """Rate players from a file of results."""
    if not no_cache:
        compilation_cache.enable_compilation_cache()


COMMANDS = (
    *(rate.rate, predict.predict, compare.compare, report.report, site.site, fit.fit, arena.arena, plan.plan),
    *(season_and_tournament.season, season_and_tournament.tournament, systems.systems, simulate.simulate, demo.demo),
)
for command in COMMANDS:
    cli.add_command(command)


OPTIONS_IN_MESSAGES = {"the option sort": "--sort", "by the option na_values": "by --na-values"}


def main() -> None:
    """Run the command: mistakes of the user's are printed on standard error, with exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a name that the terminal cannot show is no reason to stop
    try:
        with _clean_up_on_signals():
            cli(prog_name="jaxrate", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.exceptions.NoArgsIsHelpError as help_text:
        print_escaped(help_text.format_message())
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt) as stop:
        reason = str(stop.__cause__ or stop)  # click makes an Abort of Ctrl-C
        print_escaped(f"jaxrate: stopped{reason and f'; {reason}'}", err=True)
        sys.exit(130)
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if {"-v", "--verbose"} & set(sys.argv):
            print_escaped(traceback.format_exc(), err=True)
        message = _format_click_error(error) if isinstance(error, click.ClickException) else str(error)
        for argument, option in OPTIONS_IN_MESSAGES.items():
            message = message.replace(argument, option)
        if isinstance(error, (MemoryError, OverflowError)) or "RESOURCE_EXHAUSTED" in message:
            message = "memory does not do; `jaxrate plan FILE` says what a file takes"
        elif isinstance(error, RuntimeError) and "backend" in message and "JAX_PLATFORMS" in os.environ:
            message = f"JAX_PLATFORMS={os.environ['JAX_PLATFORMS']}: JAX has no such device here; unset it, or take cpu"
        elif not isinstance(error, (click.ClickException, ValueError, ImportError, OSError)):
            raise
        print_escaped(f"jaxrate: {message}", err=True)
        sys.exit(2)


def _format_click_error(error: click.ClickException) -> str:
    """The message of click, without its names of types and with a hint to --help."""
    message = error.format_message()
    for kind, plain in (("float", "number"), ("integer", "whole number")):
        message = re.sub(rf"is not a valid {kind}( range)?\.", f"is no {plain}.", message)
    context = getattr(error, "ctx", None)
    return message if context is None else f"{message.rstrip()} See {context.command_path} --help."


@contextmanager
def _clean_up_on_signals() -> Iterator[None]:
    """A signal, or closing the terminal, ends the command without leaving temporary files."""

    def stop(number: int, frame: object) -> None:
        sys.exit(128 + number)

    handled = []
    if threading.current_thread() is threading.main_thread():
        signals = [signal.Signals[name] for name in ("SIGTERM", "SIGHUP") if name in signal.Signals.__members__]
        handled = [number for number in signals if signal.getsignal(number) is signal.SIG_DFL]
    for number in handled:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
