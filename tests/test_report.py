"""`jr.site.report_html` and `jaxrate report`: the page says what jaxrate says, of any names, also in a browser."""

import re
from html import unescape

import numpy as np
import pytest

import jaxrate as jr
from tests.browser import downloaded, findings, inside, open_page, pointed, shown_chances, texts, wait_for, write_report
from tests.conftest import league_table

NAMES = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>", "&<img src=x onerror=alert(3)>",
         "O'Brien \"Q\" & Sons", "محمد علي", "{{ 7 * 7 }}", "Ada"]  # fmt: skip


def data_of(page):
    return inside(page, "data")


@pytest.fixture(scope="module")
def rated():
    """Of a league of 30 with dates."""
    table = league_table(30, 400, seed=3, draws=0.2)
    return jr.rate(jr.glicko(), table | {"time": (table["time"] + 19_000).astype("datetime64[D]")})


def test_a_page_says_what_jaxrate_says(rated):
    page = jr.site.report_html(rated, top=2, players=["player 07"], quality={"log loss": "0.6"})
    heads = re.findall(r'<td class="words name" data-name="name">.*?<bdi>(.*?)</bdi>', page)
    assert heads == jr.leaderboard(rated, top=30).player.tolist() and "<dt>log loss</dt><dd>0.6</dd>" in page
    assert 'id="systems"' not in page  # no comparison was given
    assert "#player-" not in page.partition("<script")[0]  # without scripts there are no sections to lead to
    parts = [page.index(f'id="{name}"') for name in ("leaderboard", "careers", "quality", "player", "about")]
    assert parts == sorted(parts) and page.partition('class="small"')[2].partition("</ul>")[0].count("<li>") == 24


def test_sections_have_the_last_events_exactly_and_the_line_before_them(rated):
    data = data_of(jr.site.report_html(rated, top=1, players=["player 07"]))
    table, listed = jr.history.rating_table(rated), jr.leaderboard(rated).player
    places = {name: i for i, name in enumerate(data["board"]["name"])}
    assert len(data["sections"]) == 2
    for name in (listed[0], "player 07"):
        told, career = data["sections"][str(places[name])], jr.career(rated, name)
        last = slice(-min(50, len(career["rating"])), None)
        numbers = np.array(told["number"]) - 1
        assert numbers[last].tolist() == [*range(len(career["rating"]))][last] and told["listed"] == len(numbers[last])
        np.testing.assert_allclose(told["rating"], (career["rating"] + career["change"])[numbers], atol=0.501)
        np.testing.assert_allclose(told["change"], career["change"][last], atol=0.501)
        np.testing.assert_allclose(told["spread"][-1], 1.96 * table["deviation"][places[name]], atol=0.501)
        assert told["score"] == career["score"][numbers].tolist() and told["played"] == len(career["rating"])
        np.testing.assert_allclose(told["chance"], career["probability"][last], atol=1.1e-4)
        assert [data["board"]["name"][i] for i in told["opponent"]] == career["opponent"][numbers].tolist()
        assert np.array(told["time"], "M8[D]").tolist() == career["time"][numbers].tolist()
        drawn = numbers[told.get("drawn", slice(None))]  # the line has points at even distances, also over the last
        assert drawn[0] == 0 and drawn[-1] == len(career["rating"]) - 1 and np.diff(drawn).max() <= 4


def test_names_are_shown_literally():
    rated = jr.rate(jr.elo(), {"a": NAMES, "b": [*NAMES[1:], NAMES[0]], "score": np.ones(len(NAMES))})
    page = jr.site.report_html(rated, title=NAMES[1], quality={NAMES[0]: NAMES[1]})
    assert {*data_of(page)["board"]["name"]} == {*NAMES}
    assert page.count("<script") == page.count("</script>") == 2 and "<img" not in page
    heads = re.findall(r'<a data-section="\d+"><bdi>(.*?)</bdi>', page)
    assert {unescape(head) for head in heads} == set(NAMES) and "49" not in "".join(heads)
    assert "script-src 'sha256-" in page and "default-src 'none'" in page and "unsafe-eval" not in page


def test_a_page_of_thousands_stays_small_and_names_nothing_to_load():
    table = league_table(3000, 9_000, [f"A rather long name, number {i}" for i in range(3000)], seed=1)
    del table["time"]
    page = jr.site.report_html(jr.rate(jr.elo(), table))
    assert len(page.encode()) < 1_000_000
    assert not re.search(r"(?:src|href)=[\"']?(?!data:)[^\"'#\s]|@import|url\((?!data:)", page)


def test_contests_one_player_and_no_pages(share):
    table = {"contest": [7, 7, 7, 9, 9], "player": list("xyzzy"), "rank": [1, 2, 2, 1, 4]}
    page = jr.site.report_html(jr.rate(jr.weng_lin(), jr.read(table)), top=3)
    data = data_of(page)
    assert len(data["sections"]) == 3 and data["sections"]["0"]["among"] and data["pairs"][0]["even"]["players"] == 3
    with pytest.warns(UserWarning, match="contest 1 has one participant"):
        alone = jr.read({"contest": [1], "player": ["x"], "rank": [1]})
    page = jr.site.report_html(jr.rate(share(), alone), top=0)
    assert "There is only one player." in page and data_of(page)["pairs"] == []


def test_systems_of_contests_are_compared_in_words_and_bars(share):
    """Under a bare "Other systems" stood PAIR INVERSION, which is the share in order, and 5PLUS, without intervals."""
    rounds = jr.data.simulate.contests(12, 30, size=6, seed=1).rounds
    names = np.array([*"abcdefghijkl"], object)
    data = jr.data.Dataset(rounds, names, np.arange(180), contests=np.arange(30))
    found = jr.compare(data, {"share": share(), "other": share(k=-40.0)}, last=0.5)
    page = jr.site.report_html(jr.rate(jr.weng_lin(), data), comparison=found, quality={"rank error": "9%"})
    shown = page.partition("<script")[0]
    assert "pair inversion" not in shown.lower() and "5plus" not in shown and "Other systems" not in shown
    gap = found.results[1].pair_order_difference
    calls = round(1000 * found.results[0].quality["pair inversion"])
    assert f"{calls} of 1,000 pairs" in shown
    assert f"+{100 * gap.difference:.2f} ± {196 * gap.error:.2f}</td>" in shown and ">best</td>" in shown


@pytest.fixture(scope="module")
def history():
    """Of names that are hard to show, and some that are not."""
    return jr.rate(jr.glicko(), league_table(30, 500, NAMES, seed=5))


@pytest.fixture
def opened(browser, history, tmp_path):
    open_page(browser, write_report(tmp_path, history, top=4, players=NAMES))
    assert browser.execute_script("return document.images.length") == 0
    return browser


def test_players_are_searched_opened_and_chosen(opened, history):
    table = jr.history.rating_table(history)
    opened.find_element("css selector", "#leaderboard input[type=search]").send_keys(NAMES[0])
    wait_for(opened, lambda: len(texts(opened, "#board tbody tr")) == 1)
    opened.find_element("link text", NAMES[0]).click()
    wait_for(opened, lambda: texts(opened, "#name:focus bdi") == [NAMES[0]])
    career = jr.career(history, NAMES[0])
    assert texts(opened, "#events tbody td:nth-child(2)") == career["opponent"][:-11:-1].tolist()
    chances = [float(text.removesuffix("%")) for text in texts(opened, "#events tbody td:nth-child(4)")]
    np.testing.assert_allclose(chances, 100 * career["probability"][:-11:-1], atol=0.56)

    def choose(field, name):
        opened.find_element("id", field).clear()
        opened.find_element("id", field).send_keys(name)

    for names in [(NAMES[0], NAMES[4]), (table["player"][0], table["player"][-1]), ("player 20", NAMES[1])]:
        choose("first", names[0])
        choose("second", names[1])
        wanted = float(jr.forecasts.predict_fixtures(history, [names])["expected"][0])
        assert shown_chances(opened) == pytest.approx([wanted, 1 - wanted], abs=6e-3)
        assert [x.rpartition(" ")[0] for x in texts(opened, "#answer p")] == [*names]
    choose("second", "nobody")
    assert texts(opened, "#answer") == ["There is no player called nobody."]  # it was "Choose two."
    choose("second", "plaier 21")
    assert texts(opened, "#second-names li")[0] == "player 21" and not opened.find_element("id", "bar").is_displayed()
    opened.find_element("css selector", "#second-names li").click()
    assert texts(opened, "#answer bdi")[1:] == ["player 21"]


def test_nothing_is_in_the_way_of_anybody(opened):
    assert findings(opened) == {}


def test_a_chart_says_what_is_at_the_pointer(opened, history):
    """Of one player, and of two on one chart."""
    opened.find_element("css selector", "#choice option:nth-child(2)").click()
    name = texts(opened, "#name bdi")[0]
    career = jr.career(history, name)
    (tip,) = pointed(opened)
    assert f" against {career['opponent'][-1]}" in tip and f", {career['time'][-1]:g}"[:6] in tip
    assert len(texts(opened, ".chart path.line")) == 1 and texts(opened, "#chart .key") == [name]
    opened.find_element("css selector", "#other option:nth-child(2)").click()
    first = texts(opened, "#choice option:nth-child(1)")[0]
    assert texts(opened, "#chart .key") == [name, first] and len(texts(opened, ".chart path.line")) == 2
    assert {tip.partition(": ")[0] for tip in pointed(opened)} == {name, first}
    tip, box = opened.execute_script(
        "return ['.tip', '.chart'].map((x) => document.querySelector(x).getBoundingClientRect())"
        ".map(({ left, right }) => [left, right])"
    )
    assert tip[1] < box[1] - 10  # what is at the pointer is free
    (note,) = texts(opened, "#note")
    assert "The bands are" in note
    opened.find_element("css selector", "#choice option:nth-child(1)").click()
    assert texts(opened, "#chart .key") == [first] and opened.find_element("id", "other").get_attribute("value") == ""


def test_what_is_downloaded_has_the_decimals(opened, history):
    kept = downloaded(opened, "#board").split("\r\n")
    rating = jr.history.rating_table(history)["rating"]
    at = kept[0].split(",").index("rating") - len(kept[0].split(","))
    found = np.array([row.split(",")[at] for row in kept[1:]], float)
    np.testing.assert_allclose(found, rating, atol=0.0101)
    assert (found != found.round()).any() and "." not in texts(opened, "#board tbody td:nth-child(3)")[0]


def test_the_report_tells_who_ranked_first_in_all_seasons():
    """A hundred years were told by the last one alone."""
    random, names = np.random.default_rng(3), np.array(["Ada", "Bo", "Cy", "Di"])
    first = random.integers(0, 4, 600)
    second = (first + random.integers(1, 4, 600)) % 4
    day = np.datetime64("2001-01-01") + 5 * np.arange(600)
    score = random.integers(0, 2, 600).astype(float)
    rated = jr.rate(jr.glicko(), jr.read({"a": names[first], "b": names[second], "score": score, "date": day}))
    years = np.arange("2002", "2010", dtype="M8[Y]").astype("M8[D]")
    ends = np.append(years - 1, day[-1:]).astype(float)
    counts = (jr.history.leaderboards.ranks_over_time(rated, ends) == 1).sum(axis=0)
    page = jr.site.report_html(rated)
    table = re.search('<h2 id="leaders-title">(.*?)</h2>.*?<tbody>(.*?)</tbody>', page, re.DOTALL)
    assert f"at the end of {counts.max()} of 9 years" in table[1]
    found = dict(re.findall(r'<bdi>(\w+)</bdi>.*?<td class="figure">(\d)</td>', table[2]))
    assert found == {str(name): str(x) for name, x in zip(rated.players, counts, strict=True) if x}
