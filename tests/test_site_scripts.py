"""Pages with scripts say what the same pages say without: scripts round what is stored once more."""

import re
from decimal import ROUND_HALF_UP, Decimal
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("pyarrow")

import jaxrate as jr
from jaxrate.data import simulate
from jaxrate.site.forecast_tables import format_percentage
from jaxrate.site.report_page import CHANCE_UNITS, _round_chance
from jaxrate.site.site_data import ratings_for_json
from tests.browser import texts, wait_for


@pytest.mark.parametrize("extra_digits", [0, 1, 2])
def test_what_is_stored_reads_as_what_is_shown(extra_digits):
    """1,876.496 was stored as 1,876.50, and shown by scripts as 1,877; ties are even in the page."""
    values = np.array([1876.496, 1876.5, 1877.5, 1876.502, -0.4996, -0.5, 1.5, 0.0, np.nan, -1234.4999])
    for digits in (0, 1):
        data = SimpleNamespace(digits=digits)
        scaled = values / 10**digits
        for stored, x in zip(ratings_for_json(data, scaled, extra_digits), scaled.tolist(), strict=True):
            if x != x:
                assert stored is None
                continue
            read = Decimal(repr(stored)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
            assert float(read) == np.round(x, digits) and abs(stored - x) <= 1.001 * 10.0 ** -(digits + extra_digits)


def test_chances_in_sections_read_as_what_is_shown():
    """0.4446 was stored as 0.445 and read as 45%; 0.0204 is 2%, and 0.020 is 2.0%."""
    for chance in [0.4446, 0.0204, 0.9796, 0.02, 0.9994, 0.0004, *np.random.default_rng(0).uniform(size=500).round(4)]:
        assert format_percentage(_round_chance(chance) / CHANCE_UNITS) == format_percentage(chance)


@pytest.fixture(scope="module")
def rated():
    """Of a league in which many ratings end with a half."""
    matches = simulate.league(12, 900, seed=2, draws=0.2).matches
    a, b = np.array([f"player {i:02}" for i in range(12)])[matches.player].T
    date = (np.arange(900) + 18_000).astype("datetime64[D]")
    return jr.rate(jr.glicko(), jr.read({"a": a, "b": b, "score": matches.score, "date": date}))


def cells(page, table):
    """The texts of the cells in the rows of a table, as it is in the file; dates are ISO."""
    (body,) = re.findall(rf'<table id="{table}".*?<tbody>(.*?)(?:</tbody>)?</table>', page, re.DOTALL)
    return [
        [(label(x), unescape(re.sub("<[^>]*>", "", x)).strip()) for x in re.split("<td[^>]*>", row)[1:]]
        for row in body.split("<tr>")[1:]
    ]


def label(cell):
    return "".join(re.findall('aria-label="(.*?)"', cell))


def shown_cells(browser, table):
    """The same as the browser shows them."""
    return browser.execute_script(
        "for (const time of document.querySelectorAll('time')) time.textContent = time.dateTime;"
        "return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)].map((row) => [...row.cells].map((x) => "
        "[x.querySelector('[aria-label]')?.getAttribute('aria-label') ?? '', x.textContent.trim()]))",
        table,
    )


def test_tables_of_scripts_are_those_of_the_page(browser, rated, tmp_path):
    report = tmp_path / "report.html"
    report.write_text(jr.site.report_html(rated, active="all"), encoding="utf-8")
    jr.site.write_site(rated, tmp_path / "site", active="all")
    pages = [(report, "events"), (report, "board"), (tmp_path / "site" / "index.html", "board")]
    pages += [(x, "events") for x in (tmp_path / "site" / "players").glob("player-0?.html")]
    for path, table in pages:
        browser.get(path.as_uri())
        wait_for(browser, lambda: browser.execute_script("return document.documentElement.dataset.ready") == "")
        wanted = cells(path.read_text(encoding="utf-8"), table)
        if table == "board":  # which scripts draw when it is sorted
            browser.find_element("css selector", "#board th:nth-child(4) button").click()
            wait_for(browser, lambda: texts(browser, "#board th[aria-sort]") == ["rating"])
        found = [[tuple(x) for x in row] for row in shown_cells(browser, table)]
        assert found and found == wanted[: len(found)], (path, table)
