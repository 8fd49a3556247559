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

from jaxrate.cli.terminal import print_escaped
from jaxrate.text_format import escape_control_characters

PATIENCE = 2.0  # seconds before progress is shown


class ProgressReport:
    """Writes progress and notes to standard error, and with --verbose timings."""

    def __init__(self, quiet: bool, verbose: bool) -> None:
        self.quiet, self.verbose = quiet, verbose
        if quiet:
            logging.getLogger("jaxrate").setLevel(logging.ERROR)

    def note(self, text: str) -> None:
        """Write a hint."""
        if not self.quiet:
            print_escaped(f"jaxrate: {text}", err=True)

    def warn(self, text: str) -> None:
        """Write what is wrong with the data, or was done to it."""
        print_escaped(f"jaxrate: {text}", err=True)

    @contextmanager
    def stage(self, text: str, total: float | None = None) -> Iterator[Callable[..., None]]:
        """A stage of the work: yields a function of how much of the total is done, and a detail to show.

        A terminal shows a bar if the stage takes long.
        """
        start, done, title = time.perf_counter(), 0.0, text
        bar: Any = None
        ended = threading.Event()

        def show() -> None:
            nonlocal bar
            if ended.wait(PATIENCE):
                return
            try:
                from rich.console import Console
                from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            except ImportError:  # a bar is no reason to stop
                return
            columns = [TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()]
            if total is not None:
                columns += [TextColumn("left"), TimeRemainingColumn()]
            with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
                bar.add_task(escape_control_characters(title), total=total, completed=done)
                ended.wait()

        def update(amount: float, detail: str = "") -> None:
            nonlocal done, title
            done, title = amount, f"{text}, {detail}" if detail else text
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
            print_escaped(f"jaxrate: {text}: {time.perf_counter() - start:.2f} s", err=True)


def report_options(command: Callable[..., None]) -> Callable[..., None]:
    """Options --quiet and --verbose; the command gets a `report`."""

    @click.option("-q", "--quiet", is_flag=True, help="No progress and no hints; warnings about the data stay.")
    @click.option("-v", "--verbose", is_flag=True, help="Say how long each part takes; show where an error comes from.")
    @wraps(command)
    def run_command(*args: Any, quiet: bool, verbose: bool, **options: Any) -> None:
        command(*args, report=ProgressReport(quiet, verbose), **options)

    return run_command


@contextmanager
def warnings_as_notes(report: ProgressReport) -> Iterator[None]:
    """Warnings are written as notes: those about columns that were recognised are hints."""
    from jaxrate.data.column_recognition import RecognitionWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        write = report.note if issubclass(warning.category, RecognitionWarning) else report.warn
        write(str(warning.message))
