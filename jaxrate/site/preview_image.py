"""The image of previews: the finding, and the first of a ranking by their names, ratings and intervals."""

from bisect import bisect_right
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jaxrate.core.text_format import format_decimals, use_minus_sign
from jaxrate.site.drawings import MARK_COLOURS, NAVY, make_axis
from jaxrate.site.site_data import SiteData
from jaxrate.site.wording import spell_dates

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
