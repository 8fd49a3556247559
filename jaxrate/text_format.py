"""Text for people: tables, numbers, names, and values in error messages."""

import difflib
import html
import re
from collections.abc import Iterable
from typing import Any


def rating_decimals(ratings: Any) -> int:
    """The number of decimals in which people read ratings [n]: one for points, three for shares."""
    return 3 if max((abs(x) for x in ratings), default=0.0) <= 1 else 1


LARGE_RATING = 200.0  # points; from here on tenths do not matter


def coarse_rating_decimals(ratings: Any) -> int:
    """The number of decimals of ratings [n] in coarse tables: three for shares, one about 25, none about 1500."""
    return 0 if max((abs(x) for x in ratings), default=0.0) >= LARGE_RATING else rating_decimals(ratings)


def format_intervals(mean: Any, deviation: Any) -> list[str]:
    """Central 95 % intervals of normal beliefs, in whole points; tenths for small ratings, hundredths for shares."""
    largest, widest = max(map(abs, mean), default=0.0), max(deviation, default=0.0)
    digits = 2 if largest <= 1 and widest <= 0.5 else 1 if largest + widest < LARGE_RATING else 0
    half = [1.96 * x for x in deviation]
    return [f"{x - y:.{digits}f} to {x + y:.{digits}f}" for x, y in zip(mean, half, strict=True)]


def format_table(header: list[str], rows: Iterable[Any], left_aligned: Iterable[str] = ("player", "system")) -> str:
    """Rows in aligned columns: those in `left_aligned` to the left, all others to the right."""
    cells = [header, *([escape_control_characters(" ".join(str(x).split("\n"))) for x in row] for row in rows)]
    width = [max(map(len, column)) for column in zip(*cells, strict=True)]
    align = [str.ljust if name in left_aligned else str.rjust for name in header]
    lines = ("  ".join(put(x, w) for put, x, w in zip(align, row, width, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def format_html_table(
    header: list[str], rows: Iterable[Any], left_aligned: Iterable[str] = ("player", "system")
) -> str:
    """The same table as HTML, for notebooks."""
    align = ["left" if name in left_aligned else "right" for name in header]

    def format_row(kind: str, row: Iterable[Any]) -> str:
        cells = zip(align, row, strict=True)
        put = (f'<{kind} style="text-align: {where}">{html.escape(str(x))}</{kind}>' for where, x in cells)
        return f"<tr>{''.join(put)}</tr>"

    body = "".join(format_row("td", row) for row in rows)
    return f"<table><thead>{format_row('th', header)}</thead><tbody>{body}</tbody></table>"


MAX_TEXT_LENGTH = 60  # characters of a cell in a message
CONTROL_CHARACTERS = re.compile(
    "[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)


def escape_control_characters(text: str) -> str:
    r"""The text with characters that control a terminal or the direction of writing as escapes, such as \x1b and
    \u202e.

    Line breaks stay.
    """
    return CONTROL_CHARACTERS.sub(lambda found: repr(found[0])[1:-1], text)


def to_one_line(text: str) -> str:
    """The text with control characters escaped, and one blank in place of every run of blanks and line breaks."""
    return escape_control_characters(" ".join(text.split()))


def truncate_text(text: str) -> str:
    """The text; of a long one the beginning, and its length."""
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[:MAX_TEXT_LENGTH]}... ({len(text):,} characters)"


def format_cell(value: Any) -> str:
    """A value of a table for an error message: its repr on one line, truncated if it is long."""
    try:
        return truncate_text(escape_control_characters(repr(value)).replace("\n", " "))
    except ValueError:  # an int of thousands of digits
        return f"of type {type(value).__name__}, too long to show"


def format_unquoted_name(value: Any) -> str:
    """A name for an error message, without quotes."""
    return truncate_text(escape_control_characters(str(value)).replace("\n", " "))


def suggest_name(name: Any, names: Iterable[Any]) -> str:
    """The end of an error message: "; did you mean 'tau'?" with the most similar of `names`, or nothing."""
    original_names = {str(x).lower(): str(x) for x in names}
    close_names = difflib.get_close_matches(str(name).lower(), original_names, n=1)
    return f"; did you mean {original_names[close_names[0]]!r}?" if close_names else ""


def format_number(x: float) -> str:
    """A number in up to 15 digits, without trailing zeros: 20075, 0.25, 1704067200."""
    return f"{x:.15g}"
