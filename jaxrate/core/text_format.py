"""Text for people: tables, numbers, names, and values in error messages."""

import difflib
import html
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

METRIC_WORDS = {  # what those of contests, which have the names of a paper, are called for readers
    "pair inversion": "pairs in order",
    "rank deviation": "rank error",
    ", 5plus": ", 5 before",
}
CONTEST_METRICS_NOTE = (
    "pairs in order: the share of pairs of opponents in the predicted order, where ties are in order; rank error: of "
    "predicted ranks, as a share of the field; 5 before: of players with 5 earlier contests"
)


def metric_heading(metric: str) -> str:
    """The name of a metric as people write it in headings."""
    for name, words in METRIC_WORDS.items():
        metric = metric.replace(name, words)
    return metric


def contest_metrics_notes(metrics: Iterable[str]) -> list[str]:
    """What the metrics of these names are, of contests; nothing about those of matches."""
    return [CONTEST_METRICS_NOTE] if "pair inversion" in metrics else []


LARGE_RATING = 200.0  # points; from here on tenths do not matter


def rating_decimals(ratings: Any) -> int:
    """The number of decimals in which people read ratings [n]: three for shares, one about 25, none about 1500."""
    largest = max((abs(x) for x in ratings), default=0.0)
    return 3 if largest <= 1 else int(largest < LARGE_RATING)


def format_decimals(x: float, digits: int, *, signed: bool = False) -> str:
    """A number with so many decimals, in groups of thousands: 1,829.2, or signed +12.0; 0.0 has no sign."""
    text = f"{x:{'+' if signed else ''},.{digits}f}"
    return text if text.strip("+-0.,") else text.lstrip("+-")


def use_minus_sign(text: str) -> str:
    """A number as text, with the sign of the minus in place of the hyphen."""
    return text.replace("-", "\u2212")


def format_range(least: int, greatest: int) -> str:
    """A range of whole numbers, as "1 to 4"; "1" if it has one."""
    return f"{least:,} to {greatest:,}" if least < greatest else f"{least:,}"


def format_whole_percent(percent: float) -> str:
    """A percentage for the small cells of a matrix; "<1" and ">99" for values that would round to 0 and 100."""
    if 0.0 < percent < 0.5:
        return "<1"
    return ">99" if 99.5 <= percent < 100.0 else str(Decimal(float(percent)).quantize(Decimal(1), ROUND_HALF_UP))


def format_percentage(chance: float, *, with_tenths: bool = False) -> str:
    """A probability in percent, as text; with tenths near 0 and 1, and where they are asked for."""
    unit = Decimal(1 if 0.02 < chance < 0.98 and not with_tenths else "0.1")
    text = str(Decimal(100 * float(chance)).quantize(unit, ROUND_HALF_UP))  # as scripts round
    return {"100.0": ">\u00a099.9", "0.0": "<\u00a00.1"}.get(text, text) + "%"


def format_percentages(chances: Sequence[float]) -> list[str]:
    """Probabilities of all that may happen in percent, as text: whole ones add up to 100, or all have tenths."""
    if 0.0 in chances:
        others = iter(format_percentages([x for x in chances if x]))
        return [next(others) if x else "0%" for x in chances]
    with_tenths = not all(0.02 < x < 0.98 for x in chances)
    if with_tenths or abs(sum(chances) - 1.0) > 0.005:
        return [format_percentage(x, with_tenths=with_tenths) for x in chances]
    return [f"{x:.0f}%" for x in round_to_sum([100.0 * x for x in chances], 0)]


def round_to_sum(values: Iterable[float], digits: int) -> list[float]:
    """Values rounded so that they add up to the rounded sum: those that lose most by rounding give way."""
    scaled = [x * 10.0**digits for x in values]
    whole = [math.floor(x) for x in scaled]
    missing = round(sum(scaled)) - sum(whole)
    for i in sorted(range(len(whole)), key=lambda i: whole[i] - scaled[i])[:missing]:
        whole[i] += 1
    return [x / 10.0**digits for x in whole]


def format_credible_intervals(mean: Any, deviation: Any) -> list[str]:
    """Central 95% intervals of normal beliefs, in whole points; tenths for small ratings, hundredths for shares."""
    largest, widest = max(map(abs, mean), default=0.0), max(deviation, default=0.0)
    digits = 2 if largest <= 1 and widest <= 0.5 else 1 if largest + widest < LARGE_RATING else 0
    half = [1.96 * x for x in deviation]
    ends = ([format_decimals(x + sign * y, digits) for x, y in zip(mean, half, strict=True)] for sign in (-1, 1))
    return [f"{low} to {high}" for low, high in zip(*ends, strict=True)]


ZERO_WIDTH_CATEGORIES = "Mn", "Me", "Cf"  # marks that combine with the letter before, and format characters
SOFT_HYPHEN = "\u00ad"  # a format character that terminals show
HANGUL_VOWELS_AND_FINALS = re.compile("[\u1160-\u11ff]")  # which combine with the consonant before


def display_width(text: str) -> int:
    """The cells of a terminal that a text takes: two for an ideograph or an emoji, none for a mark that combines."""
    return len(text) if text.isascii() else sum(map(_character_display_width, text))


def _character_display_width(character: str) -> int:
    if unicodedata.category(character) in ZERO_WIDTH_CATEGORIES and character != SOFT_HYPHEN:
        return 0
    if HANGUL_VOWELS_AND_FINALS.match(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def pad_to_width(text: str, width: int, *, left: bool) -> str:
    """The text with blanks to this display width: after it if it stands at the `left`, else before it."""
    blanks = " " * (width - display_width(text))
    return text + blanks if left else blanks + text


def escape_control_characters_in_cells(rows: Iterable[Any]) -> list[list[str]]:
    """The cells of a table as text of one line, with control characters escaped."""
    return [[escape_control_characters(" ".join(str(x).split("\n"))) for x in row] for row in rows]


def format_table(header: list[str], rows: Iterable[Any], left_aligned: Iterable[str] = ("player", "system")) -> str:
    """Rows in columns, aligned as a terminal shows them: those in `left_aligned` to the left, others to the right."""
    cells = [header, *escape_control_characters_in_cells(rows)]
    width = [max(map(display_width, column)) for column in zip(*cells, strict=True)]
    is_left = [name in left_aligned for name in header]
    lines = (
        "  ".join(pad_to_width(x, w, left=left) for x, w, left in zip(row, width, is_left, strict=True))
        for row in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def format_html_table(
    header: list[str], rows: Iterable[Any], left_aligned: Iterable[str] = ("player", "system")
) -> str:
    """A table as HTML, for notebooks."""
    align = ["left" if name in left_aligned else "right" for name in header]

    def format_row(tag: str, row: Iterable[Any]) -> str:
        style = '<{0} style="text-align: {1}; white-space: nowrap">{2}</{0}>'
        cells = (style.format(tag, where, html.escape(str(x))) for where, x in zip(align, row, strict=True))
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(format_row("td", row) for row in rows)
    return f"<table><thead>{format_row('th', header)}</thead><tbody>{body}</tbody></table>"


MAX_TEXT_LENGTH = 60  # characters of a cell in a message
CONTROL_CHARACTERS = re.compile(
    "[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)


def escape_control_characters(text: str) -> str:
    r"""Text with controls of terminals and of writing directions, but not line breaks, as escapes like \x1b."""
    return CONTROL_CHARACTERS.sub(lambda found: repr(found[0])[1:-1], text)


def to_one_line(text: str) -> str:
    """The text with control characters escaped, and one blank in place of every run of blanks and line breaks."""
    return escape_control_characters(" ".join(text.split()))


def truncate_text(text: str) -> str:
    """The text; of a long one the beginning, and its length."""
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[:MAX_TEXT_LENGTH]}... ({len(text):,} characters)"


def format_value_for_error(value: Any) -> str:
    """A value of a table for an error message: its repr on one line, truncated if it is long."""
    try:
        return truncate_text(escape_control_characters(repr(value)).replace("\n", " "))
    except ValueError:  # an int of thousands of digits
        return f"of type {type(value).__name__}, too long to show"


def format_unquoted_name(value: Any) -> str:
    """A name for an error message, without quotes."""
    return truncate_text(escape_control_characters(str(value)).replace("\n", " "))


def most_similar_name(name: Any, names: Iterable[Any]) -> str | None:
    """The one of `names` that is written most like this one, in any letter case; None if none is similar."""
    original_names = {str(x).lower(): str(x) for x in names}
    close_names = difflib.get_close_matches(str(name).lower(), original_names, n=1)
    return original_names[close_names[0]] if close_names else None


def did_you_mean_suffix(name: Any, names: Iterable[Any]) -> str:
    """The end of an error message: "; did you mean 'tau'?" with the most similar of `names`, or nothing."""
    similar = most_similar_name(name, names)
    return "" if similar is None else f"; did you mean {similar!r}?"


MAX_LISTED_NAMES = 30  # in an error message


def did_you_mean_or_list(name: Any, names: Iterable[Any], verb: str = "there are") -> str:
    """The end of an error message: "; did you mean 'tau'?", or all `names` if none is similar and they are few."""
    names = [*map(str, names)]
    return did_you_mean_suffix(name, names) or f" ({verb} {', '.join(names)})" * (len(names) <= MAX_LISTED_NAMES)


def format_number(x: float) -> str:
    """A number in up to 15 digits, without trailing zeros: 20075, 0.25, 1704067200."""
    return f"{x:.15g}"


def replace_dates(text: str, format_date: Callable[[date], str]) -> str:
    """A text with its ISO dates in another form; what only looks like one stays."""

    def replace(match: re.Match[str]) -> str:
        try:
            return format_date(date.fromisoformat(match[0]))
        except ValueError:
            return match[0]

    return re.sub(r"(?<![\w-])\d{4}-\d{2}-\d{2}(?![\w-])", replace, text)


def format_count(count: int, noun: str) -> str:
    """A count with its noun, as "1 match", "2 matches" or "3 players"."""
    return f"{count:,} {noun}{'' if count == 1 else 'es' if noun.endswith('ch') else 's'}"


def join_names(names: Iterable[Any], conjunction: str = "and") -> str:
    """Names joined for a sentence: "a, b and c"."""
    *earlier, last = map(str, names)
    return f"{', '.join(earlier)} {conjunction} {last}" if earlier else last
