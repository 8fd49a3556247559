"""The page of an arena: what it says against what was fitted, without a script and in a browser."""

import re
from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest

pytest.importorskip("jinja2")

import jaxrate as jr
from jaxrate.site.arena_page import build_heat_map, heat_map_png
from jaxrate.views import findings as findings_of
from jaxrate.views.wording import MODELS
from tests.browser import downloaded, findings, texts, wait_for
from tests.conftest import mark_full


def fitted(count, wins=30):
    """Strengths of so many players, each against the next three; the better ones have the lower numbers."""
    first = np.repeat(np.arange(count), 3)
    second = (first + np.tile([1, 2, 3], count)) % count
    won = (wins * np.where(first < second, 0.7, 0.3)).round()
    names = np.array([f"model {i:03}" for i in range(count)])
    votes = jr.arena.count_votes(names[first], names[second], won, wins - won, np.full(3 * count, 4.0))
    return jr.arena.fit_strengths(votes)


@pytest.fixture(scope="module")
def twelve():
    strengths = fitted(12)
    return strengths, jr.arena.rank_sets(strengths)


@pytest.fixture(scope="module")
def forty():
    strengths = fitted(40)
    return strengths, jr.arena.rank_sets(strengths)


def test_bars_are_where_the_axis_says(twelve):
    strengths, ranks = twelve
    page = jr.site.arena_page_html(strengths, ranks=ranks)
    ticks = re.findall(r'<i style="left:([\d.]+)%">([\d,]+)</i>', page)
    (left, low), (right, high) = ((float(at), float(x.replace(",", ""))) for at, x in (ticks[0], ticks[-1]))
    bars = np.array(re.findall(r'<path d="M(-?\d+) 5H(-?\d+)"/><path d="M(-?\d+) 0v10"/>', page), float) / 10
    start, end, at = low + (high - low) * (bars.T - left) / (right - left)
    rating, error = strengths.rating[strengths.order], strengths.standard_error[strengths.order]
    atol = 0.002 * (high - low) / (right - left) * 100
    np.testing.assert_allclose(at, rating, atol=atol)
    np.testing.assert_allclose(end - start, 2 * 1.96 * error, atol=2 * atol)
    assert np.ptp(np.append(rating - 1.96 * error, rating + 1.96 * error)) > 0.85 * 100 * (high - low) / (right - left)


def test_the_axis_leaves_out_who_is_far_below_all_others():
    """They made the bars of all others small."""
    strengths = fitted(12)
    far = strengths._replace(rating=np.where(strengths.order == 11, -4000.0, strengths.rating))
    narrow, wide = (re.findall(r'<path d="M(-?\d+) 5H(-?\d+)"/>', jr.site.arena_page_html(x)) for x in (far, strengths))
    lengths = [sorted(int(end) - int(begin) for begin, end in bars) for bars in (narrow, wide)]
    assert lengths[0][5] > 0.4 * lengths[1][5] and int(narrow[-1][1]) < 0
    page = jr.site.arena_page_html(far, source="our friends, https://example.org/votes")
    assert "1 model is to the left of the axis." in page and "to the left" not in jr.site.arena_page_html(strengths)
    assert 'Source: our friends, <a href="https://example.org/votes">' in page and "Made <time>20" in page


def test_a_line_stands_where_the_order_is_certain(twelve):
    strengths, ranks = twelve
    order = strengths.order
    least, greatest = (np.zeros(12, int) for _ in range(2))
    least[order], greatest[order] = [1, 1, *[3] * 10], [2, 2, *[12] * 10]
    page = jr.site.arena_page_html(strengths, ranks=ranks._replace(least=least, greatest=greatest))
    rows = re.findall(r'<td class="figure rank( border)?"', page)
    assert [bool(x) for x in rows] == [False, True, *[False] * 10]
    assert "A strong rule: " in page.rpartition('id="ranking"')[2].partition("</table>")[2]
    free = jr.site.arena_page_html(strengths, ranks=ranks._replace(least=np.ones(12, int), greatest=np.full(12, 12)))
    assert "strong rule" not in free


def test_the_best_pairs_are_numbers_and_all_are_one_click_away(forty):
    strengths, ranks = forty
    page = jr.site.arena_page_html(strengths, ranks=ranks, title="GPT votes").partition("<script")[0]
    matrix = page.split('<table class="matrix">')[1].partition("</table>")[0]
    assert matrix.count("<tr>") == 21 and matrix.count("<td") == 400
    assert '<details id="pairs"><summary>All 40</summary>' in page and 'id="heat"' in page
    assert '<meta property="og:title" content="GPT votes">' in page


def test_numbers_become_a_heat_map_and_groups():
    strengths = fitted(40)
    players = strengths.order.tolist()
    percent = strengths.expected_percentages(players)
    a, b = strengths.players[players[3]], strengths.players[players[9]]
    win, tie, _ = strengths.probability(a, b)
    assert percent[3, 9] == pytest.approx(100 * (win + tie / 2)) and np.isnan(np.diag(percent)).all()
    heat = build_heat_map(strengths, players)
    shown = np.frombuffer(b64decode(heat.data["percent"]), np.uint8).reshape(40, 40)
    np.testing.assert_array_equal(shown, np.where(np.isnan(percent), 101, percent.round()))
    assert not heat.grouped and heat.ticks[0][1:] == (1, strengths.players[players[0]])
    strengths = fitted(230, wins=100)
    players = strengths.order.tolist()
    heat = build_heat_map(strengths, players)
    places = heat.data["places"]
    assert heat.grouped and len(places) == 100 and places[0][0] == 1 and places[-1][1] == 230
    shown = np.frombuffer(b64decode(heat.data["percent"]), np.uint8).reshape(100, 100)
    (low, high), (left, right) = places[2], places[70]
    block = strengths.expected_percentages(players[low - 1 : high], players[left - 1 : right])
    assert shown[2, 70] == round(block.mean())


def test_the_image_has_a_pixel_for_each_pair():
    percent = np.array([[np.nan, 0.0], [100.0, 50.0]])
    image = pytest.importorskip("PIL.Image").open(BytesIO(b64decode(heat_map_png(percent).partition(",")[2])))
    shown = np.asarray(image.convert("RGB"), np.uint8).tobytes()
    assert image.format == "PNG" and shown == bytes.fromhex("e4e1d8 b3450b 0b5cad ffffff")


@pytest.fixture(params=mark_full(["twelve", "forty"], "forty"))
def opened(request, chromium, tmp_path):
    strengths, ranks = request.getfixturevalue(request.param)
    (tmp_path / "page.html").write_text(jr.site.arena_page_html(strengths, ranks=ranks), encoding="utf-8")
    chromium.get((tmp_path / "page.html").as_uri())
    return chromium, strengths, ranks


def check_pair(browser, strengths, ranks):
    """The second is compared with the eighth, and the first row tells who is surely worse."""
    browser.execute_script(
        "const x = document.getElementById('first'); x.value = 7; x.dispatchEvent(new Event('change'))"
    )
    a, b = strengths.players[strengths.order[[1, 7]]]
    (points, error), (win, tie, _) = strengths.difference(a, b), strengths.probability(a, b)
    votes = jr.arena.votes_needed(strengths, a, b)
    if ranks.surely_better[strengths.order[1], strengths.order[7]]:
        sure = "The order is certain."
    elif points > strengths.errors_to_either_side * error:
        sure = "For these two alone, that is beyond chance."
    else:
        sure = f"About {float(f'{votes:.2g}'):,.0f} more votes between the two would tell them apart."
    score, margin = 100 * (win + tie / 2), strengths.errors_to_either_side * error
    lead = f"The lead is {points:.0f} ± {margin:.0f} points."
    assert texts(browser, "#verdict") == [f"{a} would win {score:.0f} of 100 votes against {b}. {lead} {sure}"]
    assert "first=7" in browser.current_url
    at = strengths.order[0]
    browser.execute_script(
        "const row = [...document.querySelectorAll('#board tbody tr')].find((x) => x.cells[0].textContent === '1');"
        "row.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }))"
    )
    worse = {x.removesuffix(" ▽ surely worse") for x in texts(browser, "#board tr.worse .name")}
    assert worse == {*strengths.players[ranks.surely_better[at]]} and not texts(browser, "#board tr.better")


def check_that_the_axis_is_that_of_the_rows_shown(browser):
    """The bars of the best were specks on the axis of all."""
    bars = browser.execute_script(
        "return [...document.querySelectorAll('#board tbody tr')].filter((x) => x.offsetParent)"
        ".map((x) => x.querySelector('.bar path').getAttribute('d').match(/-?\\d+/g).map(Number))"
    )
    ends = [end for low, _, high in bars for end in (low, high)]
    assert 0 <= min(ends) < 150 and 850 < max(ends) <= 1000 and texts(browser, "#board thead .axis i")


def test_a_browser_finds_sorts_and_reads(opened):
    browser, strengths, _ = opened
    assert findings(browser) == {}
    check_that_the_axis_is_that_of_the_rows_shown(browser)
    search = browser.find_element("id", "search")
    search.send_keys("MODEL 003")
    wait_for(browser, lambda: texts(browser, "#board tbody .name") == ["model 003"])
    hidden = "return [...document.querySelectorAll('#of-border')].every((x) => x.hidden)"
    assert browser.execute_script(hidden)
    assert findings(browser) == {}  # of rows drawn anew
    search.clear()
    search.send_keys(" ")
    wait_for(browser, lambda: len(texts(browser, "#board tbody .name")) == len(strengths.players))
    browser.find_element("css selector", "#board thead th.name + th button").click()
    browser.find_element("css selector", "#board thead th.votes button").click()
    wait_for(browser, lambda: texts(browser, "[aria-sort]") == ["votes"])
    votes = [float(x.replace(",", "")) for x in texts(browser, "#board tbody .votes")]
    assert votes == sorted(votes, reverse=True)
    saved = downloaded(browser, "#board").splitlines()
    assert saved[0] == "place,model,rating,low,high,best rank,worst rank,votes,score"
    assert len(saved) == len(strengths.players) + 1
    check_pair(browser, *opened[1:])
    if texts(browser, "#heat"):
        browser.find_element("css selector", "#pairs summary").click()
        browser.execute_script(
            "const box = arguments[0].getBoundingClientRect(), at = (i) => (i + 0.5) / 40;"
            "arguments[0].dispatchEvent(new PointerEvent('pointermove',"
            "{ clientX: box.left + at(9) * box.width, clientY: box.top + at(3) * box.height }))",
            browser.find_element("id", "heat"),
        )
        a, b = strengths.players[strengths.order[[3, 9]]]
        win, tie, _ = strengths.probability(a, b)
        assert texts(browser, "#cell") == [f"{a} (4) against {b} (10): {100 * (win + tie / 2):.0f} of 100 votes."]


def test_the_matrix_is_of_ratings_and_marks_who_never_met(twelve):
    """Estimates of the model stood as results, also of pairs without a vote."""
    strengths, ranks = twelve
    page = jr.site.arena_page_html(strengths, ranks=ranks)
    assert "the row would win against the column, by the ratings, a tie counted as half" in page
    assert page.count('title="never met"') == 12 * 11 - 2 * 36 and "In italics: pairs that never met." in page
    first, second = strengths.players[strengths.order[:2]]
    win, tie, _ = strengths.probability(first, second)
    value = 100 * (win + tie / 2)
    assert f"{first} would win {value:.0f} of 100 votes against {second}, a tie as half." in page
    share = round(13 * (value - 50) ** 0.5)  # none at 50; differences near 50 are seen
    assert f'style="--share:{share}%">{value:.0f}</td>' in page


def test_the_headline_and_what_is_certain_are_findings(twelve):
    strengths, ranks = twelve
    names = strengths.players.tolist()
    place = np.argsort(strengths.order) + 1
    least, greatest = np.where(place <= 2, place, 3), np.where(place <= 2, place, 12)
    for given in (ranks, ranks._replace(least=least, greatest=greatest), None):
        page = jr.site.arena_page_html(strengths, ranks=given)
        assert f"<h1>{findings_of.find_first_place(names, strengths, given, MODELS)}</h1>" in page
        certain = re.findall("<li>(.*?)</li>", page.partition('id="certain"')[2].partition("</section>")[0])
        assert certain == [*map(str, findings_of.find_certain_ranks(names, strengths, given, MODELS))]
        lead = findings_of.find_lead_in_votes(names, strengths, given, MODELS)
        assert lead.certainty == "open" and f"<p>{'Not certain: ' * bool(certain)}{lead}</p>" in page
        assert ('<h2 id="certain-title">What is not certain</h2>' in page) == (not certain)
