"""Marks of the times of a chart: years, months or days, or numbers of matches of one day."""

import re

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.site import career_charts
from tests.browser import texts, wait_for

for package in ("pyarrow", "jinja2"):
    pytest.importorskip(package)


def test_times_have_from_three_to_five_marks():
    """An axis of less than two years was marked at its ends alone."""
    begin = np.datetime64("2019-03-07")
    for length in (4, 20, 45, 59, 75, 100, 149, 180, 300, 365, 500, 700, 900, 1095):
        left = float(begin.astype(int))
        marks = career_charts._date_marks(left, left + length)
        assert 3 <= len(marks) <= 5, length
        for at, text in marks:
            shown = text.removeprefix("<time>").removesuffix("</time>")
            assert left <= at <= left + length and np.datetime64(int(at), "D") == np.datetime64(shown, "D")
    assert [text for _, text in career_charts._date_marks(left, left + 100)] == [
        f"<time>2019-{x}</time>" for x in ("04", "05", "06")
    ]


def test_matches_of_one_day_are_numbered(browser, tmp_path):
    """The marks between the first match and the second were 1.1, 1.2 and so on."""
    table = {"a": ["Ada"] * 3, "b": ["Bo", "Cy", "Bo"], "score": [1, 0, 0], "date": ["2020-01-01"] * 3}
    jr.site.write_site(jr.rate(jr.glicko(), jr.read(table)), tmp_path, active="all")
    page = (tmp_path / "players" / "ada.html").read_text(encoding="utf-8")
    assert re.findall(r'class="wide[^>]*>(.*?)<', page) == ["1", "2", "3"]
    assert "All matches were at one time: they are numbered from the left." in page
    browser.get((tmp_path / "players" / "ada.html").as_uri())
    wait_for(browser, lambda: browser.execute_script("return document.documentElement.dataset.ready") == "")
    assert texts(browser, ".chart .wide") == ["1", "2", "3"]
