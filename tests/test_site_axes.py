"""Axes that have room at every width and in print, and findings, charts and methods that say what the data say."""

import pathlib
import re

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.core.text_format import format_percentage
from jaxrate.site.benchmark_page import comparison_view, find_system_standing
from jaxrate.site.drawings import MAX_MARKS, make_axis
from jaxrate.systems.system_titles import system_title
from tests.browser import inside, text_of
from tests.conftest import draw_pairs

PAGE_FILES = pathlib.Path(jr.site.__file__).parent / "page"


def test_an_axis_has_few_marks_on_a_round_grid():
    generator = np.random.default_rng(1)
    for low, length in zip(generator.uniform(-3000, 3000, 500), 10 ** generator.uniform(-2, 4, 500), strict=True):
        axis = make_axis(low, low + length)
        assert 3 <= len(axis.marks) <= MAX_MARKS
        at = [at for at, _ in axis.marks]
        np.testing.assert_allclose(np.diff(at, 2), 0.0, atol=1e-6)
        lines, coarse = ([float(y) for y in re.findall(r"#0000 ([\d.]+)%", x)] for x in axis.grid.split(";"))
        np.testing.assert_allclose(lines, at, atol=0.051)  # no line is without a label
        assert coarse == lines[:: 2 if len(lines) > 2 else 1]
        assert axis.low <= low and low + length <= axis.high
        assert at[0] >= 5 and at[-1] <= 95  # no label is cut
        assert at[0] < at[1] - at[0] and 2 * at[-1] - at[-2] > 100
    labels = [label for _, label in make_axis(1091.0, 1921.0).marks]  # had the one mark 1,500
    assert labels == ["1,200", "1,400", "1,600", "1,800"]


def test_first_matches_may_leave_a_chart_and_long_gaps_break_its_line(tmp_path):
    """Ada loses to a strong player at first, is away for four years, and then plays on evenly."""
    n, late = 40, 30
    day = np.append(np.arange(n - late), 1500 + 10 * np.arange(late)).astype("datetime64[D]")
    score = np.append(np.zeros(n - late), np.arange(late) % 5 == 0)
    names = {"a": ["Ada"] * n, "b": ["Bo"] * n}
    rated = jr.rate(jr.elo(k=30), jr.read(names | {"score": score, "date": day}))
    jr.site.write_site(rated, tmp_path, active="all")
    page = text_of(tmp_path / "players" / "ada.html")
    line = re.search('class="line first" d="(.*?)"', page)[1]
    assert line.count("M") == 2
    heights = [int(y) for y in re.findall(r" (-?\d+)", line)]
    assert min(heights) < -100 and min(heights[10:]) >= 0 and max(heights[10:]) <= 1000


def pauses_and_lines(folder, days):
    """Numbers of the events before which Ada's line is broken, as data, and the classes of her lines."""
    table = {"a": ["Ada"] * len(days), "b": ["Bo"] * len(days), "score": [1.0] * len(days)}
    rated = jr.rate(jr.elo(k=30), jr.read(table | {"date": np.array(days).astype("datetime64[D]")}))
    jr.site.write_site(rated, folder, active="all")
    page = text_of(folder / "players" / "ada.html")
    (first, *_) = inside(jr.site.report_html(rated, active="all"), "data")["sections"].values()
    assert str(first["pauses"]) == re.search(r'"pauses":(\[.*?\])', page)[1]
    return re.search(r'"pauses":(\[.*?\])', page)[1], re.findall('class="(line .*?)"', page)


def test_only_a_pause_longer_than_years_and_than_the_usual_gap_breaks_a_line(tmp_path):
    """A year without a match is usual for a national team, and ten years are for one that plays every three years."""
    assert pauses_and_lines(tmp_path / "yearly", [0, 30, 430, 460, 900]) == ("[]", ["line first"])
    assert pauses_and_lines(tmp_path / "rare", [0, 1000, 2000, 5600]) == ("[]", ["line first"])
    assert pauses_and_lines(tmp_path / "away", [0, 1, 2, 1500, 1501]) == ("[3]", ["line first", "line first pause"])


def test_the_report_draws_how_far_systems_are_behind():
    day = np.arange(60).astype("datetime64[D]")  # of two who beat each other in turns
    data = jr.read({"a": ["Ada"] * 60, "b": ["Bo"] * 60, "score": [1.0, 0.0] * 30, "date": day})
    rated, compared = jr.rate(jr.glicko(), data), jr.compare(data, {"glicko": {}, "elo": {}, "Cy": np.full(60, 0.5)})
    page = jr.site.report_html(rated, active="all", comparison=compared).partition("<script")[0]
    table = re.search('<table class="rows ranking static systems".*?</table>', page, re.DOTALL)[0]
    names = [system_title(x.name) for x in compared.results]
    assert re.findall('data-name="name">(.*?)</td>', table) == [*names, "All blended", "Cy"]
    assert table.count('<tr class="border">') == 1 and ">best</td>" in table
    for other in (compared.results[1], compared.blend, compared.published[0]):  # the blend had no interval
        gap = other.log_loss_difference
        assert f"{gap.difference:+.4f} ± {1.96 * gap.error:.4f}".replace("-", "\u2212") in table
    assert f'<h2 id="systems-title">{find_system_standing(compared, rated.system.name).finding}</h2>' in page


def test_a_difference_from_a_single_match_has_no_interval():
    """Its standard error is not known: the report of the README's first file was an error."""
    table = {"a": list("xyzx"), "b": list("yzxy"), "score": [1, 0.5, 1, 0]}
    bars = comparison_view(jr.compare(jr.read(table), ["elo", "glicko"], last=0.25), "elo", "matches")["bars"]
    assert bars.count("<tr>") >= 2 and "nan" not in bars


@pytest.mark.parametrize(("chance", "text"), [(0.4452, "45%"), (0.445, "45%"), (0.0125, "1.3%"), (1, ">\u00a099.9%")])
def test_percents_are_rounded_as_scripts_round(browser, tmp_path, chance, text):
    (tmp_path / "page.html").write_text(f"<script>{text_of(PAGE_FILES / 'words.js')}</script>", encoding="utf-8")
    browser.get((tmp_path / "page.html").as_uri())
    assert format_percentage(chance) == text == browser.execute_script("return percent(arguments[0])", chance)


def test_pages_say_what_they_give_of_draws_and_leave_out_empty_columns(tmp_path):
    """An expected score, of which a draw is half, is no chance to win."""
    even = {"a": ["Ada"] * 30, "b": ["Bo"] * 30, "time": range(30)}
    for score, heading in (([1.0, 0.5, 0.0] * 10, "expected"), ([1.0, 1.0, 0.0] * 10, "chance")):
        rated = jr.rate(jr.elo(), jr.read({**even, "score": score}))
        columns = {"venue": np.array([None] * 30, object), "round": np.arange(30)}
        jr.site.write_site(rated, tmp_path / heading, active="all", columns=columns)
        player, pairs = (text_of(tmp_path / heading / name) for name in ("players/ada.html", "pairs.html"))
        assert f'class="figure">{heading}</th>' in player and ">round</th>" in player and ">venue</th>" not in player
        assert ("chances to win and to draw" in pairs) == (heading == "expected")


def test_pages_of_players_open_on_their_place_in_the_ranking(tmp_path):
    """With the lead, changes and peaks that the ranking has; one who ended long ago has the peak."""
    random = np.random.default_rng(4)
    a, b = draw_pairs(random, 6, 400).T
    day = np.datetime64("2020-01-01") + 4 * np.arange(400)
    a, b = (np.where((x == 5) & (day > np.datetime64("2021-01-01")), 6, x) for x in (a, b))
    score = np.where(a == 0, 1.0, np.where(b == 0, 0.0, random.integers(0, 2, 400)))
    names = np.array(["Ada", "Bo", "Cy", "Di", "Ed", "Flo", "Gus"])
    rated = jr.rate(jr.elo(k=8), jr.read({"a": names[a], "b": names[b], "score": score, "date": day}))
    jr.site.write_site(rated, tmp_path)
    board, headings = jr.leaderboard(rated), {}
    for name in names:
        (heading,) = re.findall("<h1>(.*?)</h1>", text_of(tmp_path / "players" / f"{name.lower()}.html"))
        headings[str(name)] = re.sub("<[^>]*>", "", heading)
    assert f"{board.rating[0] - board.rating[1]:.0f} points ahead" in headings["Ada"]
    for name, rank in zip(board.player[1:], board.rank[1:], strict=True):
        assert headings[name].startswith(f"{name} number {rank}")
    assert headings["Flo"].startswith("Flo peaked at ")
