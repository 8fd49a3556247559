"""Progress, notes and timings of a command."""

from __future__ import annotations

import logging
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import click

from jaxrate.cli.escaped_terminal_output import print_message
from jaxrate.cli.option_names import name_options
from jaxrate.core.text_format import escape_control_characters

PATIENCE = 2.0  # seconds before progress is shown
REFRESH = 0.2  # seconds between two looks at the clock
MIN_SHARE = 0.02  # of the work, from which on the time that is left can be estimated


class ProgressReport:
    """Writes progress and notes to standard error, and with --verbose timings."""

    def __init__(self, quiet: bool, verbose: bool) -> None:
        self.quiet, self.verbose = quiet, verbose
        if quiet:
            logging.getLogger("jaxrate").setLevel(logging.ERROR)

    def note(self, text: str) -> None:
        """Write a hint."""
        if not self.quiet:
            print_message("note", text)

    def warn(self, text: str) -> None:
        """Write what is wrong with the data, or was done to it."""
        print_message("warning", text)

    @contextmanager
    def stage(self, text: str, total: float | None = None, *, is_even: bool = False) -> Iterator[Callable[..., None]]:
        """A stage of the work: yields a function of how much of the total is done, and a detail to show.

        A terminal shows a bar if the stage takes long, and the time that is left if the work is even: if equal parts of
        it take equal times.
        """
        start, done, title = time.perf_counter(), 0.0, text
        done_seconds = 0.0  # that the work done took
        bar: Any = None
        ended = threading.Event()

        def show() -> None:
            nonlocal bar
            if ended.wait(PATIENCE):
                return
            try:
                from rich.console import Console
                from rich.progress import BarColumn, Progress, TextColumn
            except ImportError:  # a bar is no reason to stop
                return
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(complete_style="cyan", pulse_style="cyan"),
                TextColumn("{task.fields[time]}"),
            )
            with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
                task = bar.add_task(escape_control_characters(title), total=total, completed=done, time="")
                while not ended.wait(REFRESH):
                    seconds = time.perf_counter() - start
                    remaining = _remaining_seconds(seconds, done, done_seconds, total if is_even else None)
                    bar.update(task, time=describe_remaining_time(seconds, remaining))

        def update(amount: float, detail: str = "") -> None:
            nonlocal done, done_seconds, title
            done, title = amount, f"{text}, {detail}" if detail else text
            done_seconds = time.perf_counter() - start
            if bar is not None and bar.tasks:
                bar.update(bar.tasks[0].id, completed=done, description=escape_control_characters(title))

        thread = threading.Thread(target=show, daemon=True)
        if sys.stderr.isatty() and not self.quiet:
            thread.start()
        try:
            yield update
        finally:
            ended.set()
            if thread.ident:
                thread.join()
        if self.verbose:
            print_message("note", f"{text}: {time.perf_counter() - start:.2f} s")


def _remaining_seconds(seconds: float, done: float, done_seconds: float, total: float | None) -> float | None:
    """The time that is left of even work; None where it is unknown, or where the estimate has run out.

    Args:
      seconds: that the stage has taken.
      done, done_seconds: the latest amount of work done, and how long that took. The estimate is made then, and falls.
      total: amount of work; None if unknown.
    """
    if total is None or done < MIN_SHARE * total:
        return None
    remaining = done_seconds * total / done - seconds
    return max(remaining, 0.0) if remaining > 0 or done >= total else None


def describe_remaining_time(seconds: float, remaining: float | None) -> str:
    """The time that is left of a stage, in words; the time that it has taken where that is None."""
    if remaining is None:
        return f"{_format_duration(seconds)} so far"
    return f"{_format_duration(remaining)} left" if round(remaining) else "finishing"


def _format_duration(seconds: float) -> str:
    """Seconds as 5 s, 1 min 20 s or 2 h 5 min."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def report_options(command: Callable[..., None]) -> Callable[..., None]:
    """Options --quiet and --verbose; the command gets a `report`."""

    @click.option("-q", "--quiet", is_flag=True, help="Print no progress and no hints, only warnings about the data.")
    @click.option("-v", "--verbose", is_flag=True, help="Print timings and details, and where errors come from.")
    @wraps(command)
    def run_command(*args: Any, quiet: bool, verbose: bool, **options: Any) -> None:
        command(*args, report=ProgressReport(quiet, verbose), **options)

    return run_command


@contextmanager
def warnings_as_notes(report: ProgressReport) -> Iterator[None]:
    """Warnings are written as notes, each once: those about columns that were recognised are hints."""
    from jaxrate.data.column_recognition import ColumnsRecognisedWarning

    context = click.get_current_context(silent=True)
    command = None if context is None else context.command

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for text, category in {str(warning.message): warning.category for warning in caught}.items():
        (report.note if issubclass(category, ColumnsRecognisedWarning) else report.warn)(name_options(text, command))
