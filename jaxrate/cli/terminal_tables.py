"""Tables on the terminal: as wide as it is, and in colour where it has colour. A pipe gets plain text of any width."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxrate.cli.escaped_terminal_output import print_escaped
from jaxrate.core.text_format import escape_control_characters, escape_control_characters_in_cells, format_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

GAP = 2  # blanks between columns: the edge of one, and a divider
ODDS_HEADINGS = "odds win/loss", "odds win/draw/loss"
MIN_TEXT_WIDTH, USUAL_TEXT_WIDTH = 8, 24  # cells to which names are cut: at least, and before a column is left out
SHORT_TEXT_WIDTH = 14  # before the expected score or the odds are left out
OPTIONAL_COLUMNS = (  # which a narrow terminal leaves out, the least important first
    *("matches/s", "participations/s", "a replay", "on a GPU", "unit", "range"),
    *("on", "at", "earlier rank", "calibration error", "Brier score"),
    *("peak", "last played", "games", "its deviation", "rank needed", "loser's rating", "winner's rating"),
    *("opponent's rating", "deviation", "votes", "log loss saved", *ODDS_HEADINGS, "side", "expected", "95% interval"),
)
SHORTENING_COLUMNS = "expected", *ODDS_HEADINGS  # for which names are cut
HIDDEN_NAMES = {"on": "date of peak", "at": "time of peak"}
DEVIATIONS_CLAUSE = ", deviations before it"  # of a caption, if they are shown
FLOWING_COLUMNS = "source", "meaning", "range", "unit", "note"  # of phrases, which take several lines
UP, DOWN, QUIET = "green", "red", "dim"  # in the colours of the terminal's own theme
STYLES = {"rank": QUIET, "ranks": QUIET, "95% interval": QUIET, "player": "bold", "team": "bold", "system": "bold"}


class TextTable(NamedTuple):
    """A table to print, with the lines beneath it."""

    headings: Sequence[str]
    rows: Sequence[Any]
    left_aligned: Iterable[str] = ("player", "system")
    caption: str = ""
    bold: tuple[str, ...] = ()  # further headings whose cells are bold, as those of players

    def __str__(self) -> str:
        table = format_table([*self.headings], self.rows, left_aligned=self.left_aligned)
        return f"{table}\n{self.caption}" if self.caption else table


def to_text_table(table: Any, caption: str = "", top: int | None = None) -> TextTable:
    """The first `top` rows of a table that has `heads_and_cells`."""
    from jaxrate.history.column_table import LEFT_ALIGNED_COLUMNS

    headings, rows = table.heads_and_cells(top)
    return TextTable(headings, rows, LEFT_ALIGNED_COLUMNS, caption)


def name_teams(table: TextTable) -> TextTable:
    """A table of teams: the word for its rows in the heading and below."""
    headings = ["team" if heading == "player" else heading for heading in table.headings]
    return table._replace(headings=headings, caption=re.sub(r"\bplayers\b", "teams", table.caption))


def first_rows_caption(num_rows: int, count: int, nouns: str, *, has_hint: bool = True) -> str:
    """How many of all a table shows, and the option that shows all; empty if they are there."""
    if num_rows >= count:
        return ""
    return f"the first {num_rows:,} of {count:,} {nouns}{f' (--top {count} for all)' if has_hint else ''}"


def print_sections(*sections: str | TextTable) -> None:
    """Print texts and tables with a blank line between them; empty texts are left out."""
    contents = [section for section in sections if section]
    console = open_console()
    if console is None:
        print_escaped("\n\n".join(map(str, contents)))
        return
    from rich.text import Text

    def print_text(text: str, style: str) -> None:
        console.print(Text(escape_control_characters(text), style), soft_wrap=not sys.stdout.isatty())

    if isinstance(contents[0], TextTable):
        console.print()  # after the notes
    for section, following in zip(contents, [*contents[1:], ""], strict=True):
        if isinstance(section, TextTable):
            table, hidden = _fit_table(section, console.width)
            console.print(table)
            place = f"in {console.width} columns"
            names = ", ".join(HIDDEN_NAMES.get(name, name) for name in hidden)
            note = f"hidden {place}: {names} (a wider window shows more)" if hidden else ""
            caption = section.caption
            if "earlier rank" in hidden:
                caption = caption.replace("change and earlier rank:", "change:")
            if "deviation" in hidden:
                caption = caption.replace(DEVIATIONS_CLAUSE, "")
            if caption or note:
                console.print()
            for line in filter(None, [caption, note]):
                print_text(line, QUIET)
        else:
            print_text(section, "bold" if isinstance(following, TextTable) and "\n" not in section.strip() else "")
        if following:
            console.print()


def open_console() -> Console | None:
    """The terminal; None if the output goes to a file or another program, unless FORCE_COLOR asks for colour there."""
    is_terminal = sys.stdout.isatty()
    if not is_terminal and not os.environ.get("FORCE_COLOR"):
        return None
    from rich.console import Console

    columns, lines = shutil.get_terminal_size()  # which Rich does not ask where TERM is dumb
    return Console(width=columns if is_terminal else sys.maxsize, height=lines, highlight=False)


def _fit_table(table: TextTable, width: int) -> tuple[Table, list[str]]:
    """The table in so many columns of the terminal, and the headings that do not fit."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    cells = [[*table.headings], *escape_control_characters_in_cells(table.rows)]
    left_aligned = {*table.left_aligned}
    widths, hidden = choose_column_widths_and_hidden_columns(cells, left_aligned, width)
    styles = ["bold" if heading in table.bold else STYLES.get(heading, "") for heading in table.headings]
    fitted = Table(box=SIMPLE_HEAD, show_edge=False, border_style=QUIET, padding=(0, 1, 0, 0), pad_edge=False)
    for i, column_width in widths.items():
        heading = table.headings[i]
        fitted.add_column(
            Text(heading),
            justify="left" if heading in left_aligned else "right",
            no_wrap=heading not in FLOWING_COLUMNS,
            max_width=column_width,
        )
    for row in cells[1:]:
        texts = {i: Text(row[i], _change_style(table.headings[i], row[i]) or styles[i]) for i in widths}
        for i, text in texts.items():
            if table.headings[i] not in FLOWING_COLUMNS:
                text.truncate(widths[i], overflow="ellipsis")
        fitted.add_row(*texts.values())
    return fitted, [table.headings[i] for i in hidden]


def choose_column_widths_and_hidden_columns(
    cells: list[list[str]], left_aligned: set[str], width: int
) -> tuple[dict[int, int], list[int]]:
    """The width of each column that fits into so many columns of the terminal, by its number, and the others.

    Long names are cut to a usual length first. Then columns are left out, the least important first. Then names are cut
    further, and at last columns go from the right; two stay in any case.
    """
    from rich.cells import cell_len

    headings = cells[0]
    natural = {i: max(map(cell_len, column)) for i, column in enumerate(zip(*cells, strict=True))}
    optional = [i for name in OPTIONAL_COLUMNS for i, heading in enumerate(headings) if heading == name]
    others = [i for i in reversed(range(2, len(headings))) if i not in optional]
    choices: list[tuple[list[int], int]] = []
    for k in range(len(optional) + 1):
        choices.append((optional[:k], USUAL_TEXT_WIDTH))
        if k < len(optional) and headings[optional[k]] in SHORTENING_COLUMNS:
            choices.append((optional[:k], SHORT_TEXT_WIDTH))
    choices += [([*optional, *others[:k]], MIN_TEXT_WIDTH) for k in range(len(others) + 1)]
    for left_out, least in choices:
        widths = {i: x for i, x in natural.items() if i not in left_out}
        excess = sum(widths.values()) + GAP * (len(widths) - 1) - width
        for i in sorted((i for i in widths if headings[i] in left_aligned), key=lambda i: -natural[i]):
            cut = min(max(excess, 0), max(widths[i] - max(least, cell_len(headings[i])), 0))
            widths[i], excess = widths[i] - cut, excess - cut
        if excess <= 0:
            break
    return widths, [i for i in natural if i not in widths]


def _change_style(heading: str, cell: str) -> str:
    """The colour of a gain or a loss; none of other cells."""
    return {"+": UP, "-": DOWN}.get(cell[:1], "") if heading == "change" else ""
