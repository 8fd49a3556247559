"""Words and tables for people to read."""

import difflib
import html
import re
from collections.abc import Iterable
from typing import Any


def rating_decimals(ratings: Any) -> int:
    """How many decimals ratings [n] need for people to read: points one, shares three."""
    return 3 if max((abs(x) for x in ratings), default=0.0) <= 1 else 1


LARGE_RATING = 200.0  # points, of which tenths say nothing


def coarse_decimals(ratings: Any) -> int:
    """How many decimals ratings [n] need where points are enough: shares three, about 25 one, about 1500 none."""
    return 0 if max((abs(x) for x in ratings), default=0.0) >= LARGE_RATING else rating_decimals(ratings)


def format_intervals(mean: Any, deviation: Any) -> list[str]:
    """The central 95 % of normal beliefs, in whole points; of small ratings in tenths, of shares in hundredths."""
    most, wide = max(map(abs, mean), default=0.0), max(deviation, default=0.0)
    digits = 2 if most <= 1 and wide <= 0.5 else 1 if most + wide < LARGE_RATING else 0
    half = [1.96 * x for x in deviation]
    return [f"{x - y:.{digits}f} to {x + y:.{digits}f}" for x, y in zip(mean, half, strict=True)]


def format_table(header: list[str], rows: Iterable[Any], left_aligned: Iterable[str] = ("player", "system")) -> str:
    """Rows of values in aligned columns: those named in `left` to the left, numbers to the right."""
    cells = [header, *([escape_control_characters(" ".join(str(x).split("\n"))) for x in row] for row in rows)]
    width = [max(map(len, column)) for column in zip(*cells, strict=True)]
    align = [str.ljust if name in left_aligned else str.rjust for name in header]
    lines = ("  ".join(put(x, w) for put, x, w in zip(align, row, width, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def html_table(header: list[str], rows: Iterable[Any], left_aligned: Iterable[str] = ("player", "system")) -> str:
    """The same as HTML, for notebooks."""
    align = ["left" if name in left_aligned else "right" for name in header]

    def line(kind: str, row: Iterable[Any]) -> str:
        cells = zip(align, row, strict=True)
        put = (f'<{kind} style="text-align: {where}">{html.escape(str(x))}</{kind}>' for where, x in cells)
        return f"<tr>{''.join(put)}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<table><thead>{line('th', header)}</thead><tbody>{body}</tbody></table>"


LONGEST_TEXT = 60  # characters of a cell that messages show
CONTROL_CHARACTERS = re.compile(
    "[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)


def escape_control_characters(text: str) -> str:
    r"""The text with what commands a terminal, or turns the direction of what follows, written as in \x1b and \u202e.

    Ends of lines stay.
    """
    return CONTROL_CHARACTERS.sub(lambda found: repr(found[0])[1:-1], text)


def to_one_line(text: str) -> str:
    """The text, `visible`, with one blank in place of every run of blanks and ends of lines."""
    return escape_control_characters(" ".join(text.split()))


def truncate(text: str) -> str:
    """The text, or its beginning and its length if it is long."""
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}... ({len(text):,} characters)"


def format_cell(value: Any) -> str:
    """How a message shows a value of a table: as Python writes it, on one line, cut where it is long."""
    try:
        return truncate(escape_control_characters(repr(value)).replace("\n", " "))
    except ValueError:  # an int of thousands of digits
        return f"of type {type(value).__name__}, too long to show"


def format_name(value: Any) -> str:
    """How a message shows a name, without quotes."""
    return truncate(escape_control_characters(str(value)).replace("\n", " "))


def suggest_name(name: Any, names: Iterable[Any]) -> str:
    """A guess at what was meant, to end a message with: "; did you mean 'tau'?", or nothing."""
    known = {str(x).lower(): str(x) for x in names}
    close = difflib.get_close_matches(str(name).lower(), known, n=1)
    return f"; did you mean {known[close[0]]!r}?" if close else ""


def format_number(x: float) -> str:
    """As short as it can be said without losing anything that matters: 20075, 0.25, 1704067200."""
    return f"{x:.15g}"
