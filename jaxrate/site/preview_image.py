"""The image of previews: the first of a ranking by their names, ratings and intervals, under the title."""

from typing import NamedTuple

import numpy as np

from jaxrate.array_types import HostArray
from jaxrate.site.drawings import MARK_COLOURS, NAVY, make_axis
from jaxrate.site.palette_png import encode_palette_png
from jaxrate.site.pixel_letters import ADVANCE, HEIGHT, draw_text
from jaxrate.site.site_data import SiteData
from jaxrate.text_format import format_decimals

PLAYERS = 5  # the best
SIZE = 630, 1200  # height and width of the image in pixels
MARGIN, TOP = 80, 200  # around all, and above the first row
HALF_MARK = 6  # half of the width of the mark of a rating
TITLE_SCALE, NAME_SCALE = 8, 4  # pixels of the image to one of a letter
NAME_WIDTH, RATING_WIDTH = 520, 180
AMBER, WHITE, BLUE = 1, 2, 3  # in the palette, after navy


class PreviewRow(NamedTuple):
    name: str
    text: str  # of the rating
    rating: float
    half_width: float | None  # of the interval


def preview_image(data: SiteData, title: str) -> bytes:
    """The first of the ranking of current players as a PNG."""
    board, digits = data.current, data.digits
    half = None if board.deviation is None else 1.96 * board.deviation
    rows = [
        PreviewRow(data.names[i], format_decimals(x, digits), x, None if half is None else float(half[k]))
        for k, (i, x) in enumerate(zip(data.listed[:PLAYERS].tolist(), board.rating[:PLAYERS].tolist(), strict=True))
    ]
    return draw_preview(title, rows)


def draw_preview(title: str, rows: list[PreviewRow]) -> bytes:
    """The title and the rows on navy as a PNG: names, marks on bars of their intervals, and ratings."""
    height, width = SIZE
    pixels = np.zeros(SIZE, np.uint8)
    for i, colour in enumerate((AMBER, WHITE, BLUE)):  # the mark of sites
        pixels[MARGIN + 21 * i : MARGIN + 21 * i + 12, MARGIN : MARGIN + 30] = colour
    _draw_words(pixels, title, (MARGIN, MARGIN + 54), TITLE_SCALE, WHITE, width - 2 * MARGIN - 54)
    if rows:
        ends = [(x.rating - (x.half_width or 0.0), x.rating + (x.half_width or 0.0)) for x in rows]
        axis = make_axis(min(low for low, _ in ends), max(high for _, high in ends))
        left, right = MARGIN + NAME_WIDTH, width - MARGIN - RATING_WIDTH
        step = (height - TOP - MARGIN // 2) // PLAYERS
        for i, (row, (low, high)) in enumerate(zip(rows, ends, strict=True)):
            top = TOP + i * step
            _draw_words(pixels, row.name, (top, MARGIN), NAME_SCALE, WHITE, NAME_WIDTH - 30)
            begin, at, end = (left + axis.position(x, right - left) for x in (low, row.rating, high))
            bar = slice(top, top + NAME_SCALE * HEIGHT)
            pixels[bar, left if row.half_width is None else begin : end] = BLUE
            pixels[bar, at - HALF_MARK : at + HALF_MARK] = AMBER
            start = width - MARGIN - NAME_SCALE * (ADVANCE * len(row.text) - 1)
            _draw_words(pixels, row.text, (top, start), NAME_SCALE, WHITE, RATING_WIDTH)
    return encode_palette_png(pixels, bytes.fromhex("".join(x[1:] for x in (NAVY, *MARK_COLOURS))))


def _draw_words(pixels: HostArray, text: str, corner: tuple[int, int], scale: int, colour: int, room: int) -> None:
    """Draw a text from its top left corner, cut to the pixels there are; nothing of one in other scripts."""
    drawn = draw_text(text, room // (scale * ADVANCE))
    if drawn is not None:
        top, left = corner
        large = np.kron(drawn, np.ones((scale, scale), bool))
        part = pixels[top : top + large.shape[0], left : left + large.shape[1]]
        part[large] = colour
