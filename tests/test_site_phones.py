"""Rows, tables and names on the narrowest screens."""

import re

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.metrics.prediction_metrics import wilson_interval
from jaxrate.site.drawings import reliability_dot_plot
from jaxrate.views.charts import Curve
from tests.browser import narrowed, open_page, write_report
from tests.conftest import draw_pairs

NAMES = [f"m{i:02}x-2024-05-13" for i in range(14)]
WANDERERS = [f"{x} Wanderers" for x in ("Carlow", "Saltburn", *"ABCDEFGH")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out, table = tmp_path_factory.mktemp("site"), random_table(NAMES, 400)
    rated = jr.rate(jr.glicko(), table | {"date": (np.arange(400) + 19_000).astype("datetime64[D]")})
    points = np.arange(400) % 3, np.arange(400) % 2
    jr.site.write_site(rated, out, columns={"tournament": np.array(["Friendly", "Cup"])[points[1]]}, points=points)
    return out


def random_table(names, n, seed=3):
    """Matches of players who are alike, a tenth of them drawn."""
    random, names = np.random.default_rng(seed), np.array(names, object)
    a, b = names[draw_pairs(random, len(names), n)].T
    return {"a": a, "b": b, "score": random.choice([0.0, 0.5, 1.0], n, p=[0.45, 0.1, 0.45])}


def open_narrow(browser, path, width=360):
    narrowed(browser, width, "light")
    open_page(browser, path)


def test_print_keeps_colours_and_says_which_rows_it_has(browser, folder):
    open_narrow(browser, folder / "players" / "m00x-2024-05-13.html")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    text, height, colour = browser.execute_script(
        "const x = document.querySelector('#events ~ .below [role=status]');"
        "return [x.textContent, x.offsetHeight, getComputedStyle(x).printColorAdjust]"
    )
    assert height > 0 and text.startswith("1 to 25 of ") and colour == "exact"


def test_tables_with_many_columns_and_labels_that_move_do_not_widen_a_page(browser, tmp_path):
    """At 768 pixels eight columns were too wide, and on phones the chart's labels, before a script placed them."""
    count = 40
    table = {"a": ["Bosnia and Herzegovina"] * count, "b": ["Republic of Ireland"] * count, "venue": [1] * count}
    table |= {"score": [1.0, 0.5] * (count // 2), "date": np.arange(count).astype("datetime64[D]")}
    rated = jr.rate(jr.forecasts.add_outcomes(jr.elo(side_advantage=60.0)), jr.read(table, side="venue"))
    columns = {"tournament": np.array(["UEFA Nations League qualification"] * count, object)}
    jr.site.write_site(rated, tmp_path, active="all", columns=columns, points=(np.arange(count), np.arange(count)))
    page = tmp_path / "players" / "bosnia-and-herzegovina.html"
    for width, mobile in ((768, False), (880, False), (768, True), (360, True)):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": mobile}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        open_page(browser, page)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, (width, mobile)


def test_the_intervals_of_accuracy_are_those_of_wilson():
    """Of Agresti and Coull (1998): 0 of 20, and 15 of 20."""
    low, high = wilson_interval(0.0, 20)
    assert low == 0.0 and high == pytest.approx(0.1611, abs=1e-4)
    assert wilson_interval(0.75, 20) == pytest.approx((0.5313, 0.8881), abs=1e-4)
    low, high = wilson_interval(0.75, 20)
    plot = reliability_dot_plot(Curve("", *np.array([[25.0], [75.0], [100 * low], [100 * high], [20]])))
    assert plot.dots == "M250 250h0" and plot.bars == "M250 469V 112"
    plot = reliability_dot_plot(Curve("", *np.array([[75.0], [75.0], [70.0], [80.0], [400]])))  # from one half on
    assert plot.dots == "M500 500h0" and plot.across[0] == (0.0, "50%") and plot.down[-1] == (0.0, "100%")


def test_tables_of_chances_have_room_at_320_pixels(browser, tmp_path):
    """The table beside the dots of thousands of matches was three pixels too wide."""
    open_narrow(browser, write_report(tmp_path, jr.rate(jr.elo(), random_table(NAMES[:8], 6000))), 320)
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")


def test_chances_near_one_half_are_told_apart_on_dark_pages(browser, tmp_path):
    """69 beside 50 was hardly visible: a percent is now as much of the way from the paper to white."""
    table = {"a": ["Ada"] * 9 + ["Bo"] * 9, "b": ["Bo"] * 9 + ["Ada"] * 9, "score": [1.0] * 12 + [0.0] * 6}
    jr.site.write_site(jr.rate(jr.elo(k=16), jr.read(table)), tmp_path)
    narrowed(browser, 1280, "dark")
    browser.get((tmp_path / "pairs.html").as_uri())
    cell = """const cell = [...document.querySelectorAll(".matrix td.figure")].find((x) => !("lower" in x.dataset));
    return [Number(cell.textContent), getComputedStyle(cell).backgroundColor]"""
    chance, background = browser.execute_script(cell)
    paper = np.array([16, 24, 42]) / 255
    found = np.array([float(x) for x in re.findall(r"[\d.]+", background.partition("srgb")[2] or background)][:3])
    found = found if found.max() <= 1 else found / 255
    assert 55 < chance < 70 and np.abs(found - paper).mean() > 0.01 * (chance - 50)


def test_no_table_of_a_team_or_of_a_season_is_cut(browser, tmp_path):
    """Half the columns of seasons, upset wins and forecasts were outside of the screen, and ranks in them were cut."""
    table = random_table(WANDERERS, 1200) | {"side": [1] * 1200}
    table["date"] = np.datetime64("2000-01-05") + 7 * np.arange(1200)
    rated = jr.rate(jr.elo(side_advantage=50.0), jr.read(table, side="side"))
    coming = {"a": WANDERERS[:5], "b": WANDERERS[5:], "side": [1] * 5, "date": ["2023-01-05"] * 5}
    results = {name: x[-1:] for name, x in table.items()}
    season = jr.forecasts.simulate_season(rated, coming, results=results, samples=20)
    points = np.arange(1200) % 30, np.arange(1200) % 23
    jr.site.write_site(rated, tmp_path, points=points, season=season, noun=("team", "teams"))
    wide = """return [...document.querySelectorAll("main *")]
      .filter((x) => x.clientWidth && x.scrollWidth > x.clientWidth + 1)
      .filter((x) => /auto|scroll/.test(getComputedStyle(x).overflowX))
      .map((x) => x.getAttribute("aria-label") ?? x.id)"""
    for path in ("players/carlow-wanderers.html", "coming.html"):
        open_narrow(browser, tmp_path / path)
        assert browser.execute_script(wide) == [], path
    narrowed(browser, 1280, "light")
    heads = browser.execute_script("return [...document.querySelectorAll('.season th')].map((x) => x.textContent)")
    assert heads[-3:] == ["champion", "top four", "last three"]
    cells = browser.execute_script("return [...document.querySelectorAll('.season .shade')].map((x) => x.textContent)")
    assert cells and all(re.fullmatch(r"\u2013|[<>] \d+%|\d+%", x) for x in cells)


def test_why_opens_below_its_match(browser, tmp_path):
    """Above the width of phones it was hidden with the switch of short lists, and bars without it were longer."""
    rated, fixtures = jr.rate(jr.skills(), random_table(NAMES[:6], 60)), {"a": NAMES[:3], "b": NAMES[3:6]}
    coming, explained = (f(rated, fixtures) for f in (jr.forecasts.predict_fixtures, jr.forecasts.explain_fixtures))
    jr.site.write_site(rated, tmp_path, active="all", coming=coming, explanations=explained[:2])
    open_narrow(browser, tmp_path / "coming.html", 1280)
    widths = "return [...document.querySelectorAll('.fixtures td.bar .shares')].map((x) => x.offsetWidth)"
    assert len(browser.execute_script(widths)) == 3 and len({*browser.execute_script(widths)}) == 1
    links = browser.find_elements("css selector", ".fixtures .why > summary")
    assert len(links) == 2
    for link in links:
        assert link.size["height"] > 0
        link.click()
    tables = browser.find_elements("css selector", ".fixtures .why table")
    assert len(tables) == 2 and all(x.size["height"] > 50 for x in tables)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_seasons_of_a_century_are_all_told_and_fit_a_phone(browser, tmp_path):
    """Of 101 seasons the last 60 were told, without a word about the others."""
    years = np.repeat(np.arange(1876, 2026), 4)
    day = np.array([f"{year}-0{i % 4 + 2}-01" for i, year in enumerate(years)], "M8[D]")
    table = {"a": ["Ada", "Bo", "Cy", "Ada"] * 150, "b": ["Bo", "Cy", "Ada", "Cy"] * 150, "date": day}
    score = np.random.default_rng(7).integers(0, 2, 600).astype(float)
    jr.site.write_site(jr.rate(jr.elo(), jr.read({**table, "score": score})), tmp_path)
    open_narrow(browser, tmp_path / "players" / "ada.html", 390)
    right, widths, rows = browser.execute_script(
        "const marks = [...document.querySelectorAll('.strip i')].map((x) => x.getBoundingClientRect());"
        "return [Math.max(...marks.map((x) => x.right)), marks.map((x) => x.width),"
        " document.querySelectorAll('.seasons tbody tr').length]"
    )
    assert rows == len(widths) == 150 and right <= 390 and min(widths[:-1]) > 1.5  # the last season is not over
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    seen = "return [...document.querySelectorAll('.seasons tbody tr')].filter((x) => x.offsetHeight).length"
    assert browser.execute_script(seen) == 12
    browser.find_element("css selector", ".seasons + .choose label").click()
    assert browser.execute_script(seen) == 150


@pytest.mark.parametrize(("is_decided", "has_goals"), [(True, True), (False, True), (False, False)])
def test_forecasts_of_seasons_fit_a_phone(browser, tmp_path, is_decided, has_goals):
    """With goals the last column was cut, without them that of the title. One that is decided needs no column."""
    first, second, third, fourth, *_ = WANDERERS
    rated = jr.rate(jr.elo(), random_table(WANDERERS, 400))
    coming = {"a": WANDERERS[:5], "b": WANDERERS[5:]}
    won = 8 if is_decided else 0  # by the first; more than the others can still get
    results = {"a": [*[first] * won, third], "b": [*[second] * won, fourth], "score": [1.0] * won + [0.5]}
    season = jr.forecasts.simulate_season(rated, coming, results=results, samples=20, relegated=3)
    season = season._replace(goal_difference=np.linspace(45.0, -45.0, 10) if has_goals else None)
    assert (season.champion is not None) == is_decided
    jr.site.write_site(rated, tmp_path, active="all", season=season, noun=("team", "teams"))
    open_narrow(browser, tmp_path / "coming.html", 390)
    heads, right, overflow = browser.execute_script(
        "const seen = [...document.querySelectorAll('.season th')].filter((x) => x.offsetWidth);"
        "const box = document.querySelector('.season').parentElement;"
        "return [seen.map((x) => x.textContent), Math.max(...seen.map((x) => x.getBoundingClientRect().right)),"
        " box.scrollWidth - box.clientWidth]"
    )
    assert heads[-1] == "relegated" and right <= 390 - 16 and overflow <= 0
    assert ("champion" in heads) != is_decided
    marked = browser.execute_script("return document.querySelector('.season tbody tr').textContent")
    assert ("Carlow Wanderers champions" in marked) == is_decided
