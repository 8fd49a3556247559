"""The image of previews has words: the title, the finding, and the names and ratings of the first."""

import struct

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("pyarrow")
pytest.importorskip("matplotlib")

from jaxrate.site.drawings import (
    HEADLINE_HEIGHTS,
    HEADLINE_LINES,
    HEIGHT,
    MARGIN,
    PLAYERS,
    SANS,
    SERIF,
    WIDTH,
    PreviewRow,
    _find_font,
    _text_width,
    _wrap_headline,
    draw_preview,
)

ROWS = [PreviewRow("Ada", "1,700", 1700.0, 50.0), PreviewRow("Bo", "1,600", 1600.0, 60.0)]


def test_a_preview_shows_the_data_and_the_finding():
    """It had neither a finding nor small letters."""
    image = draw_preview("Our league", "Ada leads Bo", ROWS)
    assert image[:8] == b"\x89PNG\r\n\x1a\n" and len(image) < 100_000
    assert struct.unpack(">II", image[16:24]) == (WIDTH, HEIGHT)
    changed = [
        draw_preview("Your league", "Ada leads Bo", ROWS),
        draw_preview("Our league", "Ada and Bo are level", ROWS),
        draw_preview("Our league", "ADA leads Bo", ROWS),
        draw_preview("Our league", "Ada leads Bo", [ROWS[0], ROWS[1]._replace(rating=1500.0)]),
        draw_preview("Our league", "Ada leads Bo", [ROWS[0], ROWS[1]._replace(name="Cy")]),
        draw_preview("Our league", "Ada leads Bo", [ROWS[0], ROWS[1]._replace(text="1,601")]),
        draw_preview("Our league", "Ada leads Bo", ROWS, "Ratings as of 1 May 2020"),
    ]
    assert len({image, *changed}) == 8


def test_headlines_have_two_lines_as_large_as_there_is_room():
    assert _wrap_headline("Ada leads Bo") == (["Ada leads Bo"], HEADLINE_HEIGHTS[0])
    finding = "Baltimore Ravens and New Orleans Saints are almost level at the top of the National Football League"
    lines, height = _wrap_headline(finding)
    assert len(lines) == HEADLINE_LINES and " ".join(lines) == finding and height < HEADLINE_HEIGHTS[0]
    assert all(_text_width(x, SERIF, height) <= WIDTH - 2 * MARGIN for x in lines)


def test_letters_come_from_fonts_that_have_them():
    names = [_find_font(x, SERIF).get_file() for x in ("Łukasz \u2013 Đoković", "عمر")]
    assert names[0].endswith(SERIF) and names[1].endswith(SANS)
    other = _find_font("アダ", SERIF)  # a system may have a font for them, but no boxes are drawn
    assert other is None or "LastResort" not in other.get_file()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "rows",
    [
        [],
        [PreviewRow("A" * 200, "1,700", 1700.0, None)] * (PLAYERS - 1) + [PreviewRow("$アダ$", "-3", -3.0, 1.0)],
    ],
)
def test_previews_of_nobody_and_of_long_names(rows):
    assert draw_preview("T" * 200, "long words " * 90, rows)[:8] == b"\x89PNG\r\n\x1a\n"
