"""Pages with scripts, on phones and on paper say what the same pages say otherwise."""

import re
from decimal import ROUND_HALF_UP, Decimal
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("pyarrow")

import jaxrate as jr
from jaxrate.core.text_format import format_percentage
from jaxrate.data import simulate
from jaxrate.site.json_columns import chances_for_json, ratings_for_json
from jaxrate.site.report_page import CHANCE_UNITS, _round_chance
from tests.browser import narrowed, texts, wait_for


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
    special = [0.4446, 0.44496, 0.445, 0.0204, 0.020004, 0.9796, 0.97996, 0.98, 0.02, 0.9994, 0.0004, 0.0, 1.0]
    chances = np.array([*special, *np.random.default_rng(0).uniform(size=3000)])
    for chance, stored in zip(chances.tolist(), chances_for_json(chances), strict=True):
        assert format_percentage(stored) == format_percentage(chance) and abs(stored - chance) < 1.01e-4
        assert format_percentage(_round_chance(stored) / CHANCE_UNITS) == format_percentage(chance)


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


@pytest.fixture(scope="module")
def crowd():
    """Of 120 of whom one is uncertain, with a comparison of systems and forecasts by somebody with a long name."""
    random = np.random.default_rng(5)
    a = random.integers(0, 120, 2400)
    b = (a + random.integers(1, 120, 2400)) % 120
    a[-1], names = 120, np.array([*(f"Town of the {i}th" for i in range(120)), "Newcomer"], object)
    date = (np.arange(2400) // 10 + 18_000).astype("datetime64[D]")
    data = jr.read({"a": names[a], "b": names[b], "score": random.integers(0, 2, 2400).astype(float), "date": date})
    published = {"FiveThirtyEight": np.full(2400, 0.5)}
    return jr.rate(jr.glicko(), data, calibrate=False), jr.compare(data, ["elo", "glicko"], published=published)


@pytest.fixture
def opened(browser, crowd, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(jr.site.report_html(crowd[0], comparison=crowd[1], active="all"), encoding="utf-8")
    browser.get(path.as_uri())
    wait_for(browser, lambda: browser.execute_script("return document.documentElement.dataset.ready") == "")
    yield browser
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_words_and_ranks_have_room_on_a_phone(opened):
    """FiveThirtyEight was broken within the word, and "~121" ran into the name beside it."""
    narrowed(opened, 360, "light")
    lines = "return [...document.querySelectorAll('.systems td.name')].map((x) => x.offsetHeight)"
    heights = opened.execute_script(lines)
    assert len(heights) == 4 and len(set(heights)) == 1 and heights[0] < 30
    opened.find_element("id", "search").send_keys("newcomer")
    wait_for(opened, lambda: texts(opened, "#board td.rank") == ["~121"] or len(texts(opened, "#board td.rank")) == 1)
    ends = """const [rank, name] = ["rank", "name"].map((x) => document.querySelector(`#board td.${x}`));
    const range = document.createRange();
    range.selectNodeContents(rank);
    return [range.getBoundingClientRect().right, name.getBoundingClientRect().left]"""
    rank_end, name_begin = opened.execute_script(ends)
    assert texts(opened, "#board td.rank")[0].startswith("~") and rank_end + 3 < name_begin


def test_opponents_lead_to_their_sections(opened):
    opponent = texts(opened, "#events td:nth-child(2)")[0]
    opened.find_element("css selector", "#events td:nth-child(2) a").click()
    wait_for(opened, lambda: texts(opened, "#name") == [opponent])


def test_the_best_of_three_is_predicted_where_no_match_is_drawn(opened):
    def shown():
        return [float(re.search(r"([\d.]+)%$", text)[1]) / 100 for text in texts(opened, "#answer p")]

    chances = shown()
    opened.find_element("css selector", "#games option[value='3']").click()
    series = [float(jr.forecasts.best_of(x, 3).win) for x in chances]
    assert shown() == pytest.approx(series, abs=1.3e-2) and shown() != chances


def test_paper_says_how_many_are_left_out(opened):
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    said = "return [...document.querySelectorAll('#leaderboard .pages')].map((x) => x.innerText.trim()).filter(Boolean)"
    assert opened.execute_script(said) == ["1 to 50 of 121"]
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    opened.find_element("id", "rest").click()
    wait_for(opened, lambda: texts(opened, "#leaderboard [role=status]") == ["1 to 50 of 121"])
    assert opened.execute_script(said)[0].startswith("First") and not texts(opened, "#rest")
