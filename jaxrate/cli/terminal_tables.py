"""What a terminal shows: escaped text, progress and tables."""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import click

import jaxrate as jr
from jaxrate.cli import lazy_imports as lazy
from jaxrate.cli.lazy_imports import np
from jaxrate.cli.option_names import name_options
from jaxrate.core.text_format import (
    escape_control_characters,
    escape_control_characters_in_cells,
    format_percentage,
    format_percentages,
    format_table,
)

LEVEL_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


def print_escaped(text: Any, err: bool = False) -> None:
    """Print a text, its control characters escaped, on standard output or `err`, standard error."""
    click.echo(escape_control_characters(str(text)), err=err)


def print_message(level: str, text: str, console: lazy.Console | None = None) -> None:
    """Print an error, a warning or a note on standard error: in colour above any bar, or after the program's name."""
    console = console or open_console(sys.stderr)
    if console is None:
        print_escaped(f"jaxrate: {text}", err=True)
    else:
        label = f"{level}: ", f"bold {LEVEL_COLOURS[level]}"
        message = lazy.Text.assemble(label, escape_control_characters(text))
        console.print(message, soft_wrap=not sys.stderr.isatty())


PATIENCE = 2.0  # seconds before progress is shown


class ProgressReport:
    """Writes progress and notes to standard error, and with --verbose timings."""

    def __init__(self, quiet: bool, verbose: bool) -> None:
        self.quiet, self.verbose = quiet, verbose
        self._console: lazy.Console | None = None  # of a bar

    def note(self, text: str) -> None:
        """Write a hint."""
        if not self.quiet:
            print_message("note", text, self._console)

    def warn(self, text: str) -> None:
        """Write what is wrong with the data, or was done to it."""
        print_message("warning", text, self._console)

    @contextmanager
    def stage(self, text: str, total: float | None = None, *, is_even: bool = False) -> Iterator[Callable[..., None]]:
        """A stage of the work: yields a function of how much of the total is done, and a detail to show.

        A terminal shows a bar if the stage takes long, and the time that is left if the work is even: if equal parts of
        it take equal times.
        """
        start = time.perf_counter()
        if sys.stderr.isatty() and not self.quiet:
            with self._show_bar(text, total, is_even=is_even) as update:
                yield update
        else:
            yield lambda *progress: None
        if self.verbose:
            print_message("note", f"{text}: {time.perf_counter() - start:.2f} s")

    @contextmanager
    def _show_bar(self, text: str, total: float | None, *, is_even: bool) -> Iterator[Callable[..., None]]:
        """A bar, after some patience; messages stand above it."""
        self._console = open_console(sys.stderr)
        bar = lazy.Progress(
            lazy.TextColumn("{task.description}", markup=False),
            lazy.BarColumn(complete_style="cyan", pulse_style="cyan"),
            lazy.TimeRemainingColumn() if is_even else lazy.TimeElapsedColumn(),
            console=self._console,
            transient=True,
        )
        task, timer = bar.add_task(escape_control_characters(text), total=total), threading.Timer(PATIENCE, bar.start)
        timer.daemon = True

        def update(amount: float, detail: str = "") -> None:
            title = escape_control_characters(f"{text}, {detail}" if detail else text)
            bar.update(task, completed=amount, description=title)

        timer.start()
        try:
            yield update
        finally:
            timer.cancel()
            timer.join()
            if bar.live.is_started:
                bar.stop()


@contextmanager
def warnings_as_notes(report: ProgressReport) -> Iterator[None]:
    """Warnings are written as notes, each once: those about columns that were recognised are hints."""
    context = click.get_current_context(silent=True)
    command = None if context is None else context.command

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for text, category in {str(warning.message): warning.category for warning in caught}.items():
        (report.note if issubclass(category, lazy.ColumnsRecognisedWarning) else report.warn)(
            name_options(text, command)
        )


SPAN_WIDTH = 18  # cells of a drawn interval
DRAWN_HEADING = "95% interval".ljust(SPAN_WIDTH)
GAP = 2  # blanks between columns: the edge of one, and a divider
ODDS_HEADINGS = "odds win/loss", "odds win/draw/loss"
MINOR_COLUMNS = (  # which a narrow terminal leaves out first, the least important before the others
    *("matches/s", "participations/s", "a replay", "on a GPU", "unit", "range"),
    *("on", "at", "calibration error", "calibration slope", "Brier score"),
    *("peak", "low to high", "last played", "games", "its deviation", "rank needed"),
    *("loser's rating", "winner's rating", "opponent's rating", "deviation", "votes", "log loss saved"),
)
OPTIONAL_COLUMNS = *MINOR_COLUMNS, *ODDS_HEADINGS, "side", "expected", "95% interval", DRAWN_HEADING
TEXT_WIDTHS = 24, 14, 8  # to which names are cut before minor columns, optional ones and others are left out
HIDDEN_NAMES = {"on": "date of peak", "at": "time of peak"}
FLOWING_COLUMNS = "source", "meaning", "range", "unit", "note"  # of phrases, which take several lines
UP, DOWN, QUIET = "green", "red", "dim"  # in the colours of the terminal's own theme
GAINS_AND_LOSSES = {"+": UP, "W": UP, "▲": UP, "-": DOWN, "L": DOWN, "▼": DOWN}  # by the beginning of a cell
STYLES = dict.fromkeys(("rank", "ranks", "95% interval", "low to high", DRAWN_HEADING), QUIET)
STYLES |= dict.fromkeys(("player", "team", "system"), "bold")


class TextTable(NamedTuple):
    """A table to print, with the lines beneath it, of which only --verbose shows more than the first."""

    headings: Sequence[str]
    rows: Sequence[Any]
    left_aligned: Iterable[str] = ("player", "system")
    caption: str = ""
    bold: tuple[str, ...] = ()  # further headings whose cells are bold, as those of players
    spans: Sequence[tuple[float, float, float]] = ()  # of rows: low end, value and high end, drawn where there is room

    def describe(self, *, verbose: bool = True) -> str:
        """The table as text of any width."""
        table = format_table([*self.headings], self.rows, left_aligned=self.left_aligned)
        return "\n".join([table, *select_footnotes(self.caption.splitlines(), verbose=verbose)])


def select_footnotes(lines: list[str], *, verbose: bool) -> list[str]:
    """The lines beneath a table; unless `verbose` the first one, without what stands in brackets if there are more."""
    if verbose or len(lines) < 2:
        return lines
    return [f"{re.sub(r' [(][^()]*[)]$|[.]$', '', lines[0])} (-v: more)"]


def to_text_table(table: Any, caption: str = "", top: int | None = None) -> TextTable:
    """The first `top` rows of a table that has `heads_and_cells`."""
    headings, rows = table.heads_and_cells(top)
    return TextTable(headings, rows, lazy.LEFT_ALIGNED_COLUMNS, caption)


def label_team_columns(table: TextTable, rated: jr.History) -> TextTable:
    """A table of a history; of teams with their word in the heading and below."""
    noun = lazy.name_rated(rated.options)
    if not noun.is_collective:
        return table
    headings = ["team" if heading == "player" else heading for heading in table.headings]
    return table._replace(headings=headings, caption=re.sub(r"\bplayers\b", noun.many, table.caption))


RESULT_COLUMNS = "win", "draw", "loss"  # whose chances add up


def columns_in_percent(columns: Mapping[str, Any]) -> lazy.ColumnTable:
    """The columns with chances in percent, as text; missing ones are empty."""
    texts = dict(columns)
    for name in filter(lazy.PROBABILITY_COLUMNS.fullmatch, columns):
        texts[name] = np.array(["" if np.isnan(x) else format_percentage(x) for x in columns[name].tolist()])
    if "loss" in columns:
        results = [name for name in RESULT_COLUMNS if name in columns]
        rows = map(format_percentages, np.stack([columns[name] for name in results], axis=1).tolist())
        texts |= dict(zip(results, np.array([*rows]).T, strict=True))
    return lazy.ColumnTable(texts)


def first_rows_caption(num_rows: int, count: int, nouns: str) -> str:
    """How many of all a table shows, and the option that shows all; empty if they are there."""
    return f"the first {num_rows:,} of {count:,} {nouns} (--top {count} for all)" if num_rows < count else ""


def print_sections(*sections: str | TextTable, verbose: bool = False) -> None:
    """Print texts and tables, a blank line between; tables with all lines beneath if `verbose`, else with the first."""
    console = open_console(sys.stdout)
    contents: list[Any] = [*filter(None, sections)]
    if console is None:
        texts = (x.describe(verbose=verbose) if isinstance(x, TextTable) else x for x in contents)
        print_escaped("\n\n".join(texts))
        return
    for section, following in zip(contents, [*contents[1:], ""], strict=True):
        if isinstance(section, TextTable):
            _print_table(console, section, verbose=verbose)
        else:
            _print_text(console, section, "bold" * isinstance(following, TextTable))
        console.print(end="\n" * bool(following))


def _print_text(console: lazy.Console, text: str, style: str) -> None:
    console.print(lazy.Text(escape_control_characters(text), style), soft_wrap=not sys.stdout.isatty())


def _print_table(console: lazy.Console, table: TextTable, *, verbose: bool) -> None:
    """Print a table, and beneath it its caption and the columns that do not fit."""
    fitted, hidden = _fit_table(table, console.width)
    console.print(fitted)
    names = ", ".join(HIDDEN_NAMES.get(name, name.strip()) for name in hidden)
    note = f"hidden in {console.width} columns: {names} (a wider window shows more)" if names else ""
    if lines := select_footnotes([*table.caption.splitlines(), *filter(None, [note])], verbose=verbose):
        console.print()
        _print_text(console, "\n".join(lines), QUIET)


def open_console(stream: Any) -> lazy.Console | None:
    """The terminal; None if the output goes to a file or another program, unless FORCE_COLOR asks for colour there."""
    if not stream.isatty() and not os.environ.get("FORCE_COLOR"):
        return None
    columns, lines = shutil.get_terminal_size()  # which Rich does not ask where TERM is dumb
    width = columns if stream.isatty() else sys.maxsize
    return lazy.Console(file=stream, width=width, height=lines, highlight=False)


def _fit_table(table: TextTable, width: int) -> tuple[lazy.Table, list[str]]:
    """The table in so many columns of the terminal, in which long names are cut, and the headings that do not fit."""
    cells = [[*table.headings], *escape_control_characters_in_cells(table.rows)]
    if table.spans:
        cells = _draw_intervals(cells, table.spans)
    names = {*table.left_aligned, DRAWN_HEADING}  # at the right blanks would get lost
    hidden = choose_hidden_columns(cells, names, width)
    fitted = lazy.Table(box=lazy.SIMPLE_HEAD, show_edge=False, border_style=QUIET, padding=(0, 1, 0, 0), pad_edge=False)
    heads, *rows = ([x for i, x in enumerate(row) if i not in hidden] for row in cells)
    for heading in heads:
        is_left = heading in names
        fitted.add_column(lazy.Text(heading), justify="left" if is_left else "right", no_wrap=not is_left)
    for row in rows:
        fitted.add_row(*map(partial(_style_cell, table), heads, row))
    return fitted, [cells[0][i] for i in hidden]


def _draw_intervals(cells: list[list[str]], spans: Sequence[tuple[float, float, float]]) -> list[list[str]]:
    """The cells with drawn intervals, behind their ends in figures, which are left out first."""
    at = cells[0].index("95% interval")
    cells[0][at] = "low to high"
    lines = DRAWN_HEADING, *draw_spans(spans)
    return [[*row[: at + 1], line, *row[at + 1 :]] for row, line in zip(cells, lines, strict=True)]


def intervals_to_draw(rating: Any, half: Any) -> list[tuple[float, float, float]]:
    """The low end, the value and the high end of intervals [n]; none where one of them is unknown."""
    spans = np.stack([rating - half, rating, rating + half], axis=1)
    return [*map(tuple, spans.tolist())] if np.isfinite(spans).all() else []


def draw_spans(spans: Sequence[tuple[float, float, float]]) -> list[str]:
    """Intervals as lines on one axis with a dot at the value, as "├──●──┤"."""
    ends, lines = np.array(spans, float), []
    length = max(float(np.ptp(ends)), 1e-9)
    for low, at, high in np.rint((SPAN_WIDTH - 1) * (ends - ends.min()) / length).astype(int).tolist():
        line = " " * low + (f"├{'─' * (high - low - 1)}┤" if high > low else "●")
        lines.append(f"{line[:at]}●{line[at + 1 :]}".ljust(SPAN_WIDTH))
    return lines


def choose_hidden_columns(cells: list[list[str]], left_aligned: set[str], width: int) -> list[int]:
    """Numbers of columns that do not fit the width: minor ones first, then optional, then right ones; two stay."""
    names, rank = cells[0], {name: i for i, name in enumerate(OPTIONAL_COLUMNS)}
    natural = np.array([[*map(lazy.cell_len, row)] for row in cells])
    is_left = np.array([name in left_aligned for name in names])
    order = sorted(range(2, len(names)), key=lambda i: (rank.get(names[i], len(rank)), -i))
    counts = [sum(name in group for name in names[2:]) for group in ((), MINOR_COLUMNS, OPTIONAL_COLUMNS, names)]
    for least, start, end in zip(TEXT_WIDTHS, counts[:-1], counts[1:], strict=True):
        cut = np.minimum(natural.max(axis=0), np.maximum(least, natural[0]))
        widths = np.where(is_left, cut, natural.max(axis=0)) + GAP
        rest = widths.sum() - GAP - np.append(0, np.cumsum(widths[order]))  # without so many of the columns in order
        if (fitting := np.flatnonzero(rest[start : end + 1] <= width)).size:
            return sorted(order[: start + fitting[0]])
    return sorted(order)


def _style_cell(table: TextTable, heading: str, cell: str) -> lazy.Text:
    """A cell in its style: colours of gains and losses, and bold names."""
    style = "bold" if heading in table.bold else STYLES.get(heading, "")
    if heading in ("change", "move", "result"):
        style = GAINS_AND_LOSSES.get(cell[:1], style)
    return lazy.Text(cell, style, overflow="ellipsis", no_wrap=heading not in FLOWING_COLUMNS)
