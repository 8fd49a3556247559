"""Rows, tables and names on the narrowest screens."""

import re

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.metrics.checked_match_metrics import wilson_interval
from jaxrate.site.page_templates import join_figures, mark_figures
from jaxrate.site.reliability_plot import reliability_dot_plot
from tests.browser import narrowed, wait_for

pytest.importorskip("jinja2")
NAMES = [f"m{i:02}x-2024-05-13" for i in range(14)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    random = np.random.default_rng(3)
    a = random.integers(0, 14, 400)
    b = (a + random.integers(1, 14, 400)) % 14
    day = np.arange(400).astype("datetime64[D]") + np.timedelta64(19_000, "D")
    names = np.array(NAMES, object)
    table = {"a": names[a], "b": names[b], "score": (random.random(400) < 0.5).astype(float), "date": day}
    rated = jr.rate(jr.glicko(), jr.read(table))
    out = tmp_path_factory.mktemp("site")
    fixtures = {"a": NAMES[:3], "b": NAMES[3:6], "date": ["2024-01-01", "2024-01-01", "2024-01-02"]}
    jr.site.write_site(rated, out, noun=("model", "models"), coming=jr.forecasts.predict_fixtures(rated, fixtures))
    return out


def open_narrow(browser, path):
    narrowed(browser, 360, "light")
    browser.get(path.as_uri())
    wait_for(browser, lambda: browser.execute_script("return document.documentElement.dataset.ready") == "")


def test_a_row_of_the_ranking_is_low_and_cuts_nothing(browser, folder):
    open_narrow(browser, folder / "index.html")
    heights = browser.execute_script(
        "return [...document.querySelectorAll('#board tbody tr')].slice(0, 9).map((x) => x.offsetHeight)"
    )
    assert max(heights) <= 66 and min(heights) >= 40
    names = browser.execute_script(
        "return [...document.querySelectorAll('#board td.name bdi')].slice(0, 9).map((x) => x.getClientRects().length)"
    )
    assert set(names) == {1}  # lines


def test_the_matrix_is_whole(browser, folder):
    open_narrow(browser, folder / "pairs.html")
    ends = browser.execute_script(
        "const box = document.querySelector('.box'); return [box.scrollWidth, box.clientWidth, innerWidth]"
    )
    assert ends[0] <= ends[1] <= ends[2]


def test_figures_of_a_name_are_not_a_date_and_stay_in_one_line():
    assert join_figures("gpt-4o-2024-05-13") == "gpt-4o-2024\u201105\u201113"
    assert mark_figures("gpt-4o-2024-05-13 leads since 2024-06") == "gpt-4o-2024-05-13 leads since <time>2024-06</time>"


def test_days_head_their_fixtures(folder):
    page = (folder / "coming.html").read_text(encoding="utf-8")
    days = re.findall(r'<tr class="day"><th scope="rowgroup" colspan="\d"><time>(.*?)</time>', page)
    assert days == ["2024-01-01", "2024-01-02"]
    assert [x.count('class="words home"') for x in page.split('<tr class="day">')[1:]] == [2, 1]
    rows = re.findall(r'<tr><td class="words home">.*?</tr>', page)
    assert all(row.count("%<") == 2 and row.count(" most") == 1 for row in rows)


def test_the_intervals_of_accuracy_are_those_of_wilson():
    """Of Agresti and Coull (1998): 0 of 20, and 15 of 20."""
    low, high = wilson_interval(0.0, 20)
    assert low == 0.0 and high == pytest.approx(0.1611, abs=1e-4)
    assert wilson_interval(0.75, 20) == pytest.approx((0.5313, 0.8881), abs=1e-4)
    plot = reliability_dot_plot([[0.25, 0.75, 20.0]])
    assert plot.dots == "M250 250h0" and plot.bars == "M250 469V 112"
