"""What the commands share: options, reading, making systems, progress."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any

import click
import numpy as np

import jaxrate as jr
from jaxrate.text import near

PATIENCE = 2.0  # seconds before progress is shown


class Report:
    """What a command says beside its result, on standard error: progress and hints, or with --verbose timings."""

    def __init__(self, quiet: bool, verbose: bool) -> None:
        self.quiet, self.verbose = quiet, verbose

    def note(self, text: str) -> None:
        """A hint."""
        if not self.quiet:
            click.echo(f"jaxrate: {text}", err=True)

    @contextmanager
    def stage(self, text: str, total: float | None = None) -> Iterator[Callable[[float], None]]:
        """Some work: what is yielded takes how much of the total is done. A terminal sees a bar if it takes long."""
        start, done = time.perf_counter(), 0.0
        bar: Any = None
        ended = threading.Event()

        def show() -> None:
            nonlocal bar
            if ended.wait(PATIENCE):
                return
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            columns = [TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()]
            if total is not None:
                columns += [TextColumn("left"), TimeRemainingColumn()]
            with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
                bar.add_task(text, total=total, completed=done)
                ended.wait()

        def update(amount: float) -> None:
            nonlocal done
            done = amount
            if bar is not None and bar.tasks:
                bar.update(bar.tasks[0].id, completed=amount)

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
            click.echo(f"jaxrate: {text}: {time.perf_counter() - start:.2f} s", err=True)


def reporting(command: Callable[..., None]) -> Callable[..., None]:
    """Options --quiet and --verbose; the command gets a `report`."""

    @click.option("-q", "--quiet", is_flag=True, help="No progress and no hints.")
    @click.option("-v", "--verbose", is_flag=True, help="Say how long each part takes; show where an error comes from.")
    @wraps(command)
    def wrapped(*args: Any, quiet: bool, verbose: bool, **options: Any) -> None:
        command(*args, report=Report(quiet, verbose), **options)

    return wrapped


def complete_systems(context: Any, parameter: Any, incomplete: str) -> list[str]:
    return [name for name in jr.SYSTEMS if name.startswith(incomplete)]


def complete_formats(context: Any, parameter: Any, incomplete: str) -> list[str]:
    return [name for name in jr.formats.FORMATS if name.startswith(incomplete)]


def system_option(**options: Any) -> Callable[[Any], Any]:
    """--system, completed by the shell."""
    return click.option("--system", "name", shell_complete=complete_systems, metavar="NAME", **options)


def period_option(**options: Any) -> Callable[[Any], Any]:
    """--period, checked."""

    def check(context: Any, parameter: Any, value: float | None) -> float | None:
        if value is not None and not 0 < value < float("inf"):
            raise ValueError(f"--period must be above 0, got {value:g}")
        return value

    return click.option("--period", type=float, metavar="DAYS", callback=check, **options)


COLUMNS: dict[str, dict[str, Any]] = {
    "format": {
        "help": f"A public format, which knows its own columns: {', '.join(jr.formats.FORMATS)}.",
        "metavar": "NAME",
        "shell_complete": complete_formats,
    },
    "a": {"help": "Column of the first player.  [default: a]"},
    "b": {"help": "Column of the second player.  [default: b]"},
    "score": {"help": "Column of the first player's score in [0, 1].  [default: score]"},
    "winner": {"help": "Column of the winner, instead of a, b and score.  [default: winner]"},
    "loser": {"help": "Column of the loser.  [default: loser]"},
    "time": {"help": "Column of dates, or numbers of days.  [default: time, date or t]"},
    "side": {"help": 'Column: 1 if the first player has home or white, -1 if the second; or "a", always.'},
    "neutral": {"help": "Column: true where nobody has the side."},
    "weight": {"help": "Column: a match of weight w counts as w matches."},
    "drop": {"help": "Leave out rows where this column is true; may be repeated.", "multiple": True},
    "sort": {"help": "Sort by time first.", "is_flag": True},
}


def columns(command: Callable[..., None]) -> Callable[..., None]:
    """Options that say how to read a file; the command gets those that were given as `options`."""

    @wraps(command)
    def wrapped(*args: Any, **options: Any) -> None:
        given = {name: value for name in COLUMNS if (value := options.pop(name)) not in (None, (), False)}
        command(*args, options=given, **options)

    for name, about in reversed(COLUMNS.items()):
        about = about if "is_flag" in about else {"metavar": "COLUMN"} | about
        wrapped = click.option(f"--{name}", **about)(wrapped)
    return wrapped


def read(report: Report, file: str, options: dict[str, Any], **more: Any) -> jr.Dataset:
    """The events of a file, as the options of `columns` say."""
    options = dict(options)
    chess = re.search(r"\.pgn(\.\w+)?$", file.lower()) and not more.get("upcoming")
    form = options.pop("format", "pgn" if chess else None)
    with report.stage(f"reading {Path(file).name}"):
        if form is None:
            if Path(file).is_dir():
                raise ValueError(
                    f"{file} is a folder; say what it holds with --format ({', '.join(jr.formats.FORMATS)})"
                )
            return jr.read(file, **options, **more)
        if form not in jr.formats.FORMATS:
            known = ", ".join(jr.formats.FORMATS)
            raise ValueError(f"unknown format {form!r}{near(form, jr.formats.FORMATS)} (there are {known})")
        load = jr.formats.FORMATS[form]
        foreign = [name for name in (*options, *more) if name not in signature(load).parameters]
        if foreign:
            raise ValueError(f"--{foreign[0]} does not go with --format {form}, which knows its own columns")
        return load(file, **options, **more)


def make(name: str, params: dict[str, Any], period: float | None = None) -> jr.RatingSystem:
    """The system of this name. If it ages by periods, their length is that of the rating periods, unless given."""
    if name not in jr.SYSTEMS:
        raise ValueError(f"unknown system {name!r}{near(name, jr.SYSTEMS)} (there are {', '.join(jr.SYSTEMS)})")
    new = jr.SYSTEMS[name]
    return new(**({"period": period} if period is not None and "period" in new().params._fields else {}) | params)


def schedule(system: jr.RatingSystem, events: Any, made: dict[int, Any]) -> Any:
    """The levels in which `run` rates these events, by width in `made`: narrow ones if players have much state."""
    from jaxrate.run import blank, most
    from jaxrate.schedule import plan, widths

    room = min(most(blank(system, 2)), widths()[1]) if isinstance(events, jr.Matches) else 0
    if room not in made:
        made[room] = plan(events, "levels", most=room) if room else jr.by_level(events)
    return made[room]


def parse(params: tuple[str, ...]) -> dict[str, Any]:
    """The values of --param NAME=VALUE: numbers, none, or a name such as that of a luck function."""
    values: dict[str, Any] = {}
    for text in params:
        field, found, value = (part.strip() for part in text.partition("="))
        if not found or not value:
            raise ValueError(f"--param {text}: write name=value, as in k=20")
        try:
            values[field] = None if value.lower() == "none" else float(value)
        except ValueError:
            values[field] = value
    return values


def hint_side(report: Report, data: jr.Dataset, systems: list[jr.RatingSystem]) -> None:
    sided, counts = data.matches.context.side is not None, any(system.params.side_advantage for system in systems)
    if sided and not counts:
        report.note("side_advantage is 0, so the side changes nothing; try --param side_advantage=50")
    if counts and not sided:
        report.note("nobody has the side, so side_advantage changes nothing; say who by --side")


def scores(prediction: Any, score: Any, weight: Any = None) -> dict[str, float]:
    """How good predictions were. Where the first player always won (winner and loser), calibration takes both sides."""
    p, s, w = (np.asarray(x) for x in (prediction, score, np.ones(len(score)) if weight is None else weight))
    both = (s == 1).all()
    mirrored = (np.concatenate([p, 1 - p]), np.concatenate([s, 1 - s])) if both else (p, s)
    return {
        "log loss": jr.metrics.log_loss(p, s, weight=w),
        "Brier score": jr.metrics.brier(p, s, weight=w),
        "accuracy": jr.metrics.accuracy(p, s, weight=w),
        "calibration error": jr.metrics.calibration(*mirrored, weight=np.tile(w, 2) if both else w).error,
    }
