"""The image of previews has words: the title, the finding, and the names and ratings of the first."""

import struct

import numpy as np
import pytest

from jaxrate.site.drawings import draw_preview, find_fonts
from jaxrate.views.charts import PictureText, RowView

TEXT = PictureText("Ada on top, 100 points ahead of Bo", "Our league", source="Ratings as of May 1, 2020")
RATING, TWO = np.array([1700.0, 1600.0]), np.array([9.0, -3.0])
VIEW = RowView(TEXT, ["Ada", "Bo"], RATING, RATING - 50.0, RATING + 50.0, ["1,700", "1,600"])
LONG = RowView(PictureText("long words " * 90, "T" * 200), ["A" * 200, "$アダ$"], TWO, TWO, TWO, ["9", "-3"])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("view", [VIEW, LONG, LONG._replace(labels=[], values=np.zeros(0), value_texts=[])])
def test_a_preview_shows_the_data_and_the_finding(view):
    """It had neither a finding nor small letters."""
    image = draw_preview(view)
    assert image[:8] == b"\x89PNG\r\n\x1a\n" and len(image) < 150_000
    assert struct.unpack(">II", image[16:24]) == (1200, 630)
    changed = [view._replace(text=view.text._replace(**{name: "New"})) for name in ("title", "subtitle", "source")]
    if view is VIEW:
        changed += [view._replace(labels=["Ada", "Cy"]), view._replace(values=np.array([1700.0, 1500.0]))]
    assert len({image, *map(draw_preview, changed)}) == 1 + len(changed)


def test_letters_come_from_fonts_that_have_them():
    assert find_fonts("Łukasz \u2013 Đoković عمر") == ["DejaVu Sans"]
    assert "LastResort" not in "".join(find_fonts("アダ"))  # a system may have a font for them, but no boxes are drawn
