"""The image of previews has words: the title, and the names and ratings of the first."""

import numpy as np
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("pyarrow")

from jaxrate.site.pixel_letters import HEIGHT, ROWS, draw_text
from jaxrate.site.preview_image import PLAYERS, PreviewRow, draw_preview


def test_letters_are_drawn_as_they_are():
    assert all(len(x) == 2 * HEIGHT for x in ROWS.values()) and len(set(ROWS.values())) == len(ROWS)
    drawn = ["".join(".#"[x] for x in row) for row in draw_text("Li", 9).astype(int).tolist()]
    assert drawn[0] == "#......###." and drawn[1] == "#.......#.." and drawn[-1] == "#####..###."
    np.testing.assert_array_equal(draw_text("Łódź", 9), draw_text("LODZ", 9))
    np.testing.assert_array_equal(draw_text("Ada Lovelace", 7), draw_text("ADA L..", 9))
    assert draw_text("アダ", 9) is None and draw_text("", 9) is None


def test_a_preview_shows_the_data():
    rows = [PreviewRow("Ada", "1,700", 1700.0, 50.0), PreviewRow("Bo", "1,600", 1600.0, 60.0)]
    image = draw_preview("Our league", rows)
    assert image[:8] == b"\x89PNG\r\n\x1a\n" and len(image) < 12_000
    changed = [
        draw_preview("Your league", rows),
        draw_preview("Our league", [rows[0], rows[1]._replace(rating=1500.0)]),
        draw_preview("Our league", [rows[0], rows[1]._replace(name="Cy")]),
        draw_preview("Our league", [rows[0], rows[1]._replace(text="1,601")]),
    ]
    assert len({image, *changed}) == 5


@pytest.mark.parametrize("rows", [[], [PreviewRow("A" * 200, "1,700", 1700.0, None)] * PLAYERS])
def test_previews_of_nobody_and_of_long_names(rows):
    assert draw_preview("T" * 200, rows)[:8] == b"\x89PNG\r\n\x1a\n"
