"""Pictures that pages are shared with."""

import math
import struct
import zlib
from bisect import bisect_right
from functools import cache
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jaxrate.core.array_types import HostArray
from jaxrate.core.text_format import format_decimals, use_minus_sign
from jaxrate.site.page_templates import MARK_COLOURS, NAVY
from jaxrate.site.site_data import SiteData
from jaxrate.views.wording import spell_dates


def encode_palette_png(pixels: HostArray, palette: bytes) -> bytes:
    """A PNG of pixels [height, width], numbers of colours in a palette of three bytes each."""
    height, width = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels], axis=1).tobytes()  # each begins with no filter

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)  # 8 bits, a palette
    parts = chunk(b"IHDR", header), chunk(b"PLTE", palette), chunk(b"IDAT", zlib.compress(rows, 9))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + chunk(b"IEND", b"")


COURSE_POINTS, COURSE_HEIGHT = 40, 28  # of the line of a career
MIN_MARKS, MAX_MARKS = 3, 5  # labels of an axis, so that they can be read, and have room in a column
MARK_DIGITS = 1, 2, 2.5, 5, 10  # of steps between marks; from 3 to 5 marks always fit with one of them
MARK_ROOM = 0.06  # of the length of an axis before its first label and behind its last, so that these are not cut


class Axis(NamedTuple):
    """An axis of ratings, with round marks."""

    low: float
    high: float
    marks: list[tuple[float, str]]  # positions in percent, and labels

    def position(self, rating: float, length: int = 1000) -> int:
        """Where a rating is, from the left."""
        return round(length * self.fraction(rating))

    def fraction(self, value: float) -> float:
        """The part of the axis that lies before a value."""
        return (value - self.low) / (self.high - self.low)

    @property
    def grid(self) -> str:
        """A line at each mark, and of many at every other one, as stops of gradients in variables of a style sheet."""
        lines = [f"#0000 {at:.1f}%,var(--rule) 0 calc({at:.1f}% + 1px),#0000 0" for at, _ in self.marks]
        return f"--grid:{','.join(lines)};--coarse:{','.join(lines[:: 2 if len(lines) > 2 else 1])}"

    @property
    def labels(self) -> str:
        """The labels of the marks, as HTML."""
        return "".join(f'<i style="left:{at:.1f}%">{text}</i>' for at, text in self.marks)


def round_step(length: float, most: int) -> float:
    """The least of 1, 2 and 5 times a power of ten that divides a length into at most so many steps."""
    size = 10.0 ** math.floor(math.log10(length / most))
    return next(size * digit for digit in (1, 2, 5, 10) if size * digit * most >= length * (1 - 1e-9))


def round_marks(low: float, high: float, most: int) -> list[float]:
    """Round numbers between two others, at most so many."""
    return multiples(round_step(high - low, most), low, high)


def multiples(step: float, low: float, high: float) -> list[float]:
    """The multiples of a step between two numbers."""
    return [i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def axis_marks(low: float, high: float) -> list[float]:
    """From three to five round numbers between two others; four rather than five."""
    size = 10.0 ** math.floor(math.log10((high - low) / MAX_MARKS))
    marks = [multiples(size * digit, low, high) for digit in MARK_DIGITS]
    return min((x for x in marks if MIN_MARKS <= len(x) <= MAX_MARKS), key=lambda x: len(x) == MAX_MARKS)


def make_axis(low: float, high: float) -> Axis:
    """The axis that shows these ratings."""
    if not high - low > 1e-9:
        low, high = low - 1.0, high + 1.0
    room = 0.02 * (high - low)
    low, high = low - room, high + room
    marks = axis_marks(low, high)
    edge = MARK_ROOM * (high - low)
    low, high = min(low, marks[0] - edge), max(high, marks[-1] + edge)
    return Axis(low, high, [(100 * (x - low) / (high - low), use_minus_sign(f"{x:,.10g}")) for x in marks])


def interval_bar(axis: Axis, rating: float, half_width: float | None, digits: int | None = None) -> str:
    """A rating as a mark, on a bar of its interval.

    The ends of the interval are told with so many decimals, by default as many as the axis needs.
    """
    at = axis.position(rating)
    head = '<svg class="bar" viewBox="0 0 1000 10" preserveAspectRatio="none"'
    if half_width is None:
        return f'{head} aria-hidden="true"><path/><path d="M{at} 0v10"/></svg>'
    begin, end = axis.position(rating - half_width), axis.position(rating + half_width)
    if digits is None:
        digits = max(2 - math.floor(math.log10(axis.high - axis.low)), 0)
    low, high = (math.floor(x * 10.0**digits + 0.5) / 10.0**digits for x in (rating - half_width, rating + half_width))
    text = f"95% interval {use_minus_sign(f'{low:,.{digits}f} to {high:,.{digits}f}')}"
    return f'{head} role="img" aria-label="{text}"><path d="M{begin} 5H{end}"/><path d="M{at} 0v10"/></svg>'


def ratings_to_level_letters(ratings: HostArray, rating_range: float) -> str:
    """Ratings [COURSE_POINTS] as letters, "A" for the lowest level; blanks where they are NaN.

    One level is the same number of points in all lines with the same `rating_range`, and each is around its own middle.
    """
    known = ratings[~np.isnan(ratings)]
    if not len(known):
        return ""
    middle = 0.5 * (known.min() + known.max())
    levels = np.clip(np.round(COURSE_HEIGHT * (0.5 + (ratings - middle) / max(rating_range, 1e-9))), 0, COURSE_HEIGHT)
    return "".join(" " if x != x else chr(65 + int(x)) for x in levels.tolist())


def course_line(levels: str) -> str:
    """The line of a career, from `ratings_to_level_letters`, with a dot at its end."""
    points = [(x, COURSE_HEIGHT + 65 - ord(level)) for x, level in enumerate(levels) if level != " "]
    if not points:
        return ""
    steps = (f"1 {y - before}" for (_, before), (_, y) in pairwise(points))
    x, y = points[0]
    return (
        f'<svg class="course" viewBox="0 0 {COURSE_POINTS - 1} {COURSE_HEIGHT}" preserveAspectRatio="none" '
        f'aria-hidden="true"><path d="M{x} {y}l{" ".join(steps)}"/><path d="M{points[-1][0]} {points[-1][1]}h0"/></svg>'
    )


if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.font_manager import FontProperties

PLAYERS = 5  # the best
WIDTH, HEIGHT = 1200, 630  # of the image in pixels
MARGIN = 72  # at the left and the right, and under the last row
TITLE_HEIGHT = 28  # of letters in pixels, as all heights of fonts here
AS_OF_HEIGHT = 22
HEADLINE_HEIGHTS, HEADLINE_LINES = (62, 54, 46, 40), 2  # the first at which the headline has room
ROW_HEIGHT, ROW_STEP = 30, 56
NAME_WIDTH, RATING_WIDTH = 430, 150
AMBER, WHITE, BLUE = MARK_COLOURS
SERIF, SANS = "STIXGeneralBol.ttf", "DejaVuSans.ttf"  # fonts that come with Matplotlib


class PreviewRow(NamedTuple):
    name: str
    text: str  # of the rating
    rating: float
    half_width: float | None  # of the interval


def preview_image(data: SiteData, title: str, finding: str) -> bytes:
    """The finding and the first of the ranking of current players as a PNG; ImportError without Matplotlib."""
    board, digits = data.current, data.digits
    half = None if board.deviation is None else 1.96 * board.deviation
    rows = [
        PreviewRow(
            data.names[i],
            use_minus_sign(format_decimals(x, digits)),
            x,
            None if half is None else float(half[k]),
        )
        for k, (i, x) in enumerate(zip(data.listed[:PLAYERS].tolist(), board.rating[:PLAYERS].tolist(), strict=True))
    ]
    as_of = spell_dates(f"Ratings as of {data.last_day}") if data.last_day else ""
    return draw_preview(title, finding, rows, as_of)


def draw_preview(title: str, finding: str, rows: list[PreviewRow], as_of: str = "") -> bytes:
    """The title of the site, the day of the ratings, the finding and the rows on navy: names, bars, and ratings."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("preview images need matplotlib: pip install 'jaxrate[report]'") from error
    figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, facecolor=NAVY)
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    ax.axis("off")
    for i, colour in enumerate(MARK_COLOURS):
        ax.barh(MARGIN - 19 + 12 * i, 18, 7, left=MARGIN, color=colour)
    as_of_width = _text_width(as_of, SANS, AS_OF_HEIGHT)
    _write(ax, MARGIN + 34, MARGIN, title, SANS, TITLE_HEIGHT, room=WIDTH - 2 * MARGIN - 58 - as_of_width)
    _write(ax, WIDTH - MARGIN, MARGIN, as_of, SANS, AS_OF_HEIGHT, align="right")
    lines, height = _wrap_headline(finding)
    for i, line in enumerate(lines):
        _write(ax, MARGIN, MARGIN + 32 + (i + 1) * 1.15 * height, line, SERIF, height, room=WIDTH - 2 * MARGIN)
    if rows:
        _draw_rows(ax, rows)
    file = BytesIO()
    figure.savefig(file, format="png", facecolor=NAVY, metadata={"Software": None})
    return file.getvalue()


def _draw_rows(ax: "Axes", rows: list[PreviewRow]) -> None:
    """Draw the rows, the last one at the foot of the image."""
    ends = [(x.rating - (x.half_width or 0.0), x.rating + (x.half_width or 0.0)) for x in rows]
    axis = make_axis(min(low for low, _ in ends), max(high for _, high in ends))
    left, right = MARGIN + NAME_WIDTH, WIDTH - MARGIN - RATING_WIDTH
    for i, (row, (low, high)) in enumerate(zip(rows, ends, strict=True)):
        base = HEIGHT - MARGIN + 14 - ROW_STEP * (PLAYERS - 1 - i)
        begin, at, end = (left + axis.position(x, right - left) for x in (low, row.rating, high))
        begin = left if row.half_width is None else begin
        _write(ax, MARGIN, base, row.name, SANS, ROW_HEIGHT, room=NAME_WIDTH - 24)
        ax.barh(base - 0.36 * ROW_HEIGHT, end - begin, 12, left=begin, color=BLUE)
        ax.barh(base - 0.36 * ROW_HEIGHT, 8, 26, left=at - 4, color=AMBER)
        _write(ax, WIDTH - MARGIN, base, row.text, SANS, ROW_HEIGHT, align="right")


def _wrap_headline(finding: str) -> tuple[list[str], int]:
    """The lines of the headline, and the height of its letters."""
    words = finding.split()
    for height in HEADLINE_HEIGHTS:
        lines: list[str] = []
        for word in words:
            longer = f"{lines[-1]} {word}" if lines else word
            if lines and _text_width(longer, SERIF, height) <= WIDTH - 2 * MARGIN:
                lines[-1] = longer
            else:
                lines.append(word)
        if len(lines) <= HEADLINE_LINES:
            break
    return [*lines[: HEADLINE_LINES - 1], " ".join(lines[HEADLINE_LINES - 1 :])][: len(lines)], height


def _write(
    ax: "Axes", x: float, base: float, text: str, font: str, height: int, *, room: float = WIDTH, align: str = "left"
) -> None:
    """Write a text from its base line, cut to the room there is; nothing of letters that no font has."""
    shown = text
    if _text_width(text, font, height) > room:
        cut = [f"{text[:count].rstrip()}\u2026" for count in range(1, len(text))]
        shown = cut[max(bisect_right(cut, room, key=lambda x: _text_width(x, font, height)) - 1, 0)]
    properties = _find_font(shown, font)
    if shown.strip() and properties is not None:
        properties = properties.copy()
        properties.set_size(0.72 * height)  # points, of which there are 72 to 100 pixels
        ax.text(x, base, shown, color=WHITE, fontproperties=properties, ha=align, va="baseline", parse_math=False)


def _text_width(text: str, font: str, height: int) -> float:
    """The width of a text in pixels; 0 of one that is not written."""
    from matplotlib.font_manager import get_font

    properties = _find_font(text, font)
    if properties is None:
        return 0.0
    letters = get_font(str(properties.get_file()))
    letters.set_size(height, 72.0)
    letters.set_text(text)
    return float(letters.get_width_height()[0]) / 64.0


def _find_font(text: str, name: str) -> "FontProperties | None":
    """The font of this name that comes with Matplotlib, or else the first installed one that has all letters.

    That of last resort has a box for every letter.
    """
    from matplotlib import get_data_path
    from matplotlib.font_manager import FontProperties, fontManager

    folder, letters = Path(get_data_path()) / "fonts" / "ttf", frozenset(map(ord, text)) - {ord(" ")}
    for file in (str(folder / name), str(folder / SANS), *(x.fname for x in fontManager.ttflist)):
        if "LastResort" not in file and letters <= _letters_of_font(file):
            return FontProperties(fname=file)
    return None


@cache
def _letters_of_font(file: str) -> frozenset[int]:
    """The code points of letters that a font has."""
    from matplotlib.font_manager import get_font

    return frozenset(get_font(file).get_charmap())
