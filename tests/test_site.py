"""`jr.site.write_site` and `jaxrate site`: every player's page says what `jr.career` says, whatever they are called."""

import json
import re
import threading
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import jaxrate as jr
from jaxrate.history.leaderboards import chance_to_be_best
from jaxrate.site.site_data import align_hindsight
from tests.browser import findings, inside, narrowed, open_page, pointed, shown_chances, text_of, texts, wait_for
from tests.conftest import league_table, mark_full

pytestmark = pytest.mark.filterwarnings("ignore:.*differ from others only by accents")

NAMES = ["</script><b>x", "Łukasz Kubot", "Lukasz Kubot", "CON", "محمد", "=1+1", 'O\'Brien "Q" & Sons']


def script(path):
    return json.loads(path.read_text(encoding="utf-8").partition(" = ")[2].removesuffix(";\n"))


def page_of(folder, name):
    board = script(folder / "data" / "board.js")
    slug = board["slug"][board["name"].index(name)]
    return text_of(folder / "players" / f"{slug}.html")


@pytest.fixture(scope="module")
def rated():
    """Of a league of 30 with dates; the first seven left four years ago."""
    table = league_table(30, 400, NAMES, seed=3, draws=0.2)
    early = np.isin(table["a"], NAMES) | np.isin(table["b"], NAMES)
    table["time"] = (np.arange(400) + np.where(early, 18_000, 19_500)).astype("datetime64[D]")
    return jr.rate(jr.glicko(), jr.read(table, sort=True))


@pytest.fixture(scope="module")
def folder(rated, tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    venue, points = np.arange(400) % 7, (np.ones(400), np.zeros(400))
    pairs = [("player 03", "player 04"), ("player 05", NAMES[0]), ("player 04", "player 05")]
    told = {"coming": jr.forecasts.predict_fixtures(rated, pairs)}
    told["season"] = jr.forecasts.simulate_season(rated, pairs, relegated=1, samples=100)
    jr.site.write_site(rated, out, title="Our <league>", columns={"venue": venue}, points=points, **told)
    return out


def test_every_career_is_told(rated, folder):
    for name in rated.players:
        page, wanted = page_of(folder, name), jr.career(rated, name)
        told = inside(page, "career")
        assert [told["others"][i][1] for i in told["opponent"]] == wanted["opponent"].tolist()
        assert told["score"] == wanted["score"].tolist() and len(told["columns"]["venue"]) == len(told["score"])
        np.testing.assert_allclose(told["rating"], wanted["rating"] + wanted["change"], atol=0.0101)
        (heading,) = re.findall("<h1><bdi>(.*?)</bdi>", page)
        assert unescape(heading) == name and "<b>" not in page


def test_the_leaderboard_and_its_files(rated, folder):
    board, table = script(folder / "data" / "board.js"), jr.history.rating_table(rated)
    assert board["name"] == table["player"].tolist() and board["games"] == table["games"].tolist()
    np.testing.assert_allclose(board["rating"], table["rating"], atol=0.0101)
    wanted, gone = jr.leaderboard(rated, top=30), [name for name in board["name"] if name in NAMES]
    assert [name for name, now in zip(board["name"], board["current"], strict=True) if now] == wanted.player.tolist()
    index, rows = text_of(folder / "index.html"), json.loads(text_of(folder / "data" / "players.json"))
    assert (
        re.findall(r"<bdi>(.*?)</bdi>", index.partition('id="board"')[2].partition('id="leaders"')[0])
        == wanted.player.tolist()
    )
    assert "<title>Our &lt;league&gt; \u2013 Ranking</title>" in index and (folder / rows[0]["page"]).exists()
    assert [row["name"] for row in rows] == [*wanted.player, *gone]
    assert [row["rank"] for row in rows] == [*range(1, 24), *[None] * 7]
    assert "'=1+1" in text_of(folder / "data" / "players.csv")


def test_the_front_page_says_how_sure_the_lead_is_who_moved_and_what_comes_next(rated, folder):
    parts = text_of(folder / "index.html").partition('<div class="front">')[2].split("<section><h2>")[1:]
    rows = [[re.sub("<[^>]+>", " ", row).split() for row in x.split("<tr>")[2:]] for x in parts]
    shown, board = dict(zip([x.partition("</h2>")[0] for x in parts], rows, strict=True)), jr.leaderboard(rated, top=30)
    best, moved, coming = shown
    assert (best, coming) == ("Chance to be the best", "What comes next") and moved.startswith("Moved most since ")
    chance = chance_to_be_best(board.rating.tolist(), board.deviation.tolist())
    assert f"{100 * chance:.0f}%" in [row[-1] for row in shown[best]] and len(shown[best]) == 4
    greatest = np.nanmax(np.where(board.rank_then > 0, np.abs(board.change), np.nan))
    assert f"{greatest:,.0f}" in {row[-1].lstrip("+\u2212") for row in shown[moved]}
    assert shown[coming][0][:4] == ["player", "03", "player", "04"] and shown[coming][0][-1].endswith("%")


def test_nobody_loses_seasons_and_drivers_are_called_so(tmp_path):
    """Of more than 150 seasons the first were left out without a word, and drivers were players."""
    years = np.arange("1800", "1960", dtype="M8[Y]").astype("M8[D]")
    table = {"race": np.repeat(years.astype(str), 2), "driver": ["Ada", "Bo"] * 160, "rank": [1, 2] * 160}
    rated = jr.rate(jr.weng_lin(), jr.read(table | {"date": np.repeat(years, 2)}, contest="race", participant="driver"))
    jr.site.write_site(rated, tmp_path)
    page = text_of(tmp_path / "players/ada.html")
    assert re.search("<h2>Seasons.*?<tbody>(.*?)</tbody>", page, re.DOTALL)[1].count("<tr>") == 160
    assert "Search drivers" in text_of(tmp_path / "index.html") and "another driver" in page
    for names, noun in ((("Club", "Opponent"), "club"), (("home_team", "away_team"), "team"), (("white", "black"), "")):
        games = [dict(zip((*names, "score"), row, strict=True)) for row in (("Ada", "Bo", 1), ("Bo", "Ada", 0))]
        assert jr.read(games, a=names[0], b=names[1], side="a").noun == noun


def test_a_new_site_takes_the_place_of_the_old_one(rated, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("dear")
    with pytest.raises(ValueError, match="holds other files; name a new folder"):
        jr.site.write_site(rated, tmp_path / "mine")
    jr.site.write_site(rated, tmp_path / "new", names={"player 03": "Ada"})
    assert "Ada" in page_of(tmp_path / "new", "Ada") and (tmp_path / "new" / "players" / "ada.html").exists()
    (tmp_path / "new" / "players" / "gone.html").write_text("")
    jr.site.write_site(rated, tmp_path / "new")
    assert len([*(tmp_path / "new" / "players").iterdir()]) == 30
    assert "Ada" not in page_of(tmp_path / "new", "player 03")
    assert (tmp_path / "new" / "players" / "ada.html").exists()  # the address stays
    with pytest.raises(ValueError, match=r"column 'venue' must be \[n\], one for each of 400 rows"):
        jr.site.write_site(rated, tmp_path / "new", columns={"venue": [1]})


def test_what_is_known_now_beside_what_was_known_then(jaxrate, games, tmp_path):
    run, out = tmp_path / "run", tmp_path / "public"
    assert jaxrate("rate", games, "--system", "skills", "--show", "hindsight", "--out", run, "-q")[0] == 0
    assert jaxrate("site", run, "--out", out, "-q")[0] == 0
    data, rated = jr.read(games), jr.load(run)
    smoothed, first = jr.smooth(rated.system, data), jr.history.rating_table(rated)["player"][0]
    mean, deviation = align_hindsight(rated.rows, *map(np.asarray, smoothed.hindsight.rating))
    players = np.array([rated.predictions[x].to_numpy(zero_copy_only=False) for x in "ab"]).T
    is_theirs = {name: players == name for name in ("player 31", first)}
    for name, there in is_theirs.items():
        told = inside(page_of(out, name), "career")
        np.testing.assert_allclose(told["known"], mean[there], atol=0.1)
        np.testing.assert_allclose(told["knownSpread"], 1.96 * deviation[there], atol=0.1)
    page = jr.site.report_html(rated, top=1, smoothed=smoothed)
    assert '<span class="key">at the time</span> <span class="key second now">in hindsight</span>' in page
    told = inside(page, "data")["sections"]["0"]
    np.testing.assert_allclose(told["known"], mean[is_theirs[first]][np.array(told["number"]) - 1], atol=0.501)
    others = smoothed._replace(events=smoothed.events | {"score": 1 - data.matches.score})
    for write in (jr.site.report_html, partial(jr.site.write_site, folder=out)):
        with pytest.raises(ValueError, match="smoothed must be of the same matches"):
            write(rated, smoothed=others)


COVERED = """
const chart = document.querySelector(".chart"), box = chart.getBoundingClientRect();
for (const label of chart.querySelectorAll(".top")) label.style.top = "95%"; // where the lines leave room
const peaks = [...chart.querySelectorAll(".top")].map((x) => x.getBoundingClientRect());
return [0.02, 0.2, 0.4, 0.6, 0.8, 0.98].filter((part) => {
  chart.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + part * box.width, bubbles: true }));
  const tip = chart.querySelector(".tip").getBoundingClientRect();
  return peaks.some((x) => x.left < tip.right && tip.left < x.right && x.top < tip.bottom && tip.top < x.bottom);
}).length
"""  # at how many places of the pointer what the chart says there covers the label of a peak


@pytest.fixture
def opened(browser, folder):
    """A function that opens a page of the site."""

    def go(page):
        open_page(browser, f"{folder.as_uri()}/{page}")
        return browser

    return go


def test_the_leaderboard_is_searched_and_sorted(opened):
    page = opened("index.html")
    assert len(texts(page, "#board tbody tr")) == 23
    field = page.find_element("id", "search")
    field.send_keys("LUKASZ kúb")  # nobody current: everybody is searched
    wait_for(page, lambda: sorted(texts(page, "#board tbody bdi")) == ["Lukasz Kubot", "Łukasz Kubot"])
    field.clear()
    field.send_keys("player")
    wait_for(page, lambda: len(texts(page, "#board tbody tr")) == 23)
    page.find_element("id", "more").click()
    page.find_element("css selector", "#board thead th:nth-child(9) button").click()
    games = [int(x) for x in texts(page, "#board tbody td:nth-child(9)")]
    assert len(games) == 23 and games == sorted(games, reverse=True)
    assert len(texts(page, "#board tbody svg.bar")) == 23
    field.send_keys(" 03")
    wait_for(page, lambda: texts(page, "#board tbody bdi") == ["player 03"])
    field.send_keys("\n")  # which did nothing
    wait_for(page, lambda: texts(page, "h1 bdi") == ["player 03"])


def test_what_is_chosen_is_in_the_address(opened):
    """Nothing could be linked: search, list and order left the address as it was."""
    page = opened("index.html#search=kubot&list=all&sort=-rating")
    wait_for(page, lambda: sorted(texts(page, "#board tbody bdi")) == ["Lukasz Kubot", "Łukasz Kubot"])
    assert page.find_element("id", "who").get_attribute("value") == "all"
    assert texts(page, "#board th[aria-sort=descending]") == ["rating"]
    page.find_element("css selector", "#board th:nth-child(3) button").click()
    wait_for(page, lambda: page.execute_script("return location.hash") == "#search=kubot&list=all&sort=player")
    page = opened("players/player-03.html#search=player+04")
    assert {*texts(page, "#events tbody td:nth-child(2)")} == {"player 04"}


def test_a_chart_is_read_with_the_keyboard(opened, rated):
    page, wanted = opened("players/player-03.html"), jr.career(rated, "player 03")
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    chart = page.find_element("css selector", ".chart")
    for key, at in ((keys.HOME, 0), (keys.ARROW_RIGHT, 1), (keys.END, -1), (keys.ARROW_LEFT, -2)):
        chart.send_keys(key)
        said = chart.get_attribute("aria-valuetext")
        assert said.startswith(f"{wanted['rating'][at] + wanted['change'][at]:,.0f} ± "), (key, said)
        assert said.endswith(f" against {wanted['opponent'][at]}") and said in texts(page, ".tip")[0]


def test_findings_and_moves_are_those_of_the_list(opened):
    """The headline and the moves of current players stood over lists of all."""
    page, headings = opened("index.html"), {}
    for which in ("current", "all", "best"):
        page.find_element("css selector", f"#who option[value='{which}']").click()
        key = page.find_element("css selector", ".reading .of-best")  # the key did not say what lone marks are
        wait_for(page, lambda which=which, key=key: key.text == ("Peak." if which == "best" else ""))
        wait_for(page, lambda which=which: (len(texts(page, "#board tbody tr")) == 23) == (which == "current"))
        headings[which] = page.find_element("tag name", "h1").text
        for part in ("td.move", "td.change", "th.move", ".of-move", ".of-change"):
            assert page.find_element("css selector", part).is_displayed() == (which == "current"), (which, part)
        assert page.find_element("css selector", ".lead").is_displayed() == (which == "current")
        assert page.find_element("css selector", "td.rating").is_displayed() == (which != "best")
        years = texts(page, "#board td.name small[title='last played']")  # of who played last decades ago
        assert bool(years) == (which == "all") and all(re.fullmatch("20\\d\\d", x) for x in years)
    board = page.execute_script("return window.jaxrateBoard")
    few, peak = 1 - np.array(board["settled"]), np.array(board["peak"], float)
    order = np.lexsort((-np.nan_to_num(peak, nan=-np.inf), few))
    assert texts(page, "#board td.name bdi") == [board["name"][i] for i in order] and 0 < few.sum() < len(few)
    marks = "[...document.querySelectorAll('#board .bar path + path')].map((x) => x.getAttribute('d').split(/[M ]/)[1])"
    at, drawn = np.array(page.execute_script(f"return {marks}"), float), peak[order][~np.isnan(peak[order])]
    np.testing.assert_allclose(np.diff(at), np.diff(drawn) * np.ptp(at) / np.ptp(drawn), atol=3)
    best = board["name"][order[0]]
    assert headings["best"].startswith(f"All players by peak rating: {best} reached {peak[order[0]]:,.0f} in ")
    assert headings["all"] == "All players by last rating" and headings["current"] not in headings["best"]


def test_a_page_of_a_player(opened, rated):
    page, wanted = opened("players/player-03.html"), jr.career(rated, "player 03")
    assert texts(page, "#events tbody td:nth-child(2)") == wanted["opponent"][:-26:-1].tolist()
    results = [text.split()[0] for text in texts(page, "#events tbody td:nth-child(3)")]
    assert results == [{1: "won", 0.5: "drew", 0: "lost"}[x] for x in wanted["score"][:-26:-1].tolist()]
    assert all(float(re.match(r"[\d.]+", x)[0]) <= 50 for x in texts(page, "#upsets tbody td:nth-child(4)"))
    met = texts(page, "#against tbody td:nth-child(1)")
    scores = [wanted["score"][wanted["opponent"] == name].tolist() for name in met]
    for i, way in enumerate((1, 0.5, 0), 3):
        assert texts(page, f"#against tbody td:nth-child({i})") == [str(x.count(way)) for x in scores]
    assert len(texts(page, ".chart path.line:not(.pause)")) == 1 and texts(page, ".tip") == [""]
    (tip,) = pointed(page)
    day = wanted["time"][-1].astype("datetime64[D]").item()
    assert wanted["opponent"][-1] in tip and f"{day:%b} {day.day}, {day.year}" in tip


def test_a_pair_is_chosen_with_the_keyboard(opened, rated):
    page = opened("pairs.html#first=player-03&second=player-04")
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    field = page.find_element("id", "first")
    field.clear()
    field.send_keys("lukasz k", keys.ARROW_DOWN, keys.ENTER)
    name = field.get_attribute("value")
    assert name in ("Łukasz Kubot", "Lukasz Kubot") and texts(page, "#answer a") == [name, "player 04"]
    (wanted,) = jr.forecasts.predict_fixtures(rated, [(name, "player 04")]).to_records()
    chances = [wanted[x] for x in ("win", "draw", "loss")]

    assert shown_chances(page) == pytest.approx(chances, abs=6e-3)
    assert texts(page, "h1") == [f"{name} \u2013 player 04"]  # it was that of the first two
    assert not page.find_elements("id", "games")  # where matches are drawn, nobody plays the best of three


def test_two_on_one_chart_and_a_table_to_keep(browser, rated, folder):
    """From a host, as another player's page is asked for."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        open_page(browser, f"http://127.0.0.1:{host.server_port}/players/player-03.html")
        field = browser.find_element("id", "other")
        field.click()
        wait_for(browser, lambda: browser.execute_script("return Boolean(window.jaxrateBoard)"))
        keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
        field.send_keys("player 04", keys.ARROW_DOWN, keys.ENTER)
        wait_for(browser, lambda: len(texts(browser, ".chart path.line:not(.pause)")) == 2)
        (note,) = texts(browser, "#note")
        assert "The dots are the peaks." in note
        assert texts(browser, ".key") == ["player 03", "player 04"] and texts(browser, "#compared a") == ["player 04"]
        meetings = jr.history.head_to_head(rated, "player 03", "player 04")
        told = f"won {meetings.won}, drawn {meetings.drawn}, lost {meetings.lost} of {meetings.matches['score'].size} "
        wait_for(browser, lambda: told.replace("drawn 0, ", "") in texts(browser, "#compared")[0])
        assert re.search(r" matches; \d+% to win the next\.$", texts(browser, "#compared")[0])
        browser.refresh()  # the comparison is in the address
        wait_for(browser, lambda: len(texts(browser, ".chart path.line:not(.pause)")) == 2)
        narrowed(browser, 700, "light")
        assert browser.execute_script(COVERED) == 0
        host.shutdown()


PAGES = "index", "players/player-03", "pairs", "coming", "quality", "about"


@pytest.mark.parametrize("page", mark_full(PAGES, "index", "players/player-03", "coming"))
def test_nothing_is_in_the_way_of_anybody(opened, page):
    assert findings(opened(f"{page}.html")) == {}


def test_times_that_are_numbers_are_told(tmp_path):
    random = np.random.default_rng(3)
    pairs = [random.permutation(list("abuv"))[:2] for _ in range(40)]
    table = {"a": [x for x, _ in pairs], "b": [x for _, x in pairs], "score": [1.0] * 40, "time": np.arange(40) * 1.0}
    rated = jr.rate(jr.glicko(), jr.read(table))
    coming = jr.forecasts.predict_fixtures(rated, {"a": ["a", "b"], "b": ["u", "v"], "time": [50.5, 51.0]})
    jr.site.write_site(rated, tmp_path, coming=coming)
    assert "50.5" in "".join(text_of(x) for x in tmp_path.glob("*.html"))


def test_groups_and_drifting_peaks_are_told_on_all_pages(tmp_path):
    """Two groups that never met, in which ratings rise from year to year."""
    random, names = np.random.default_rng(1), np.array(list("abcdefghij"))
    pairs = [random.permutation(names[:7] if i % 4 else names[7:])[:2] for i in range(300)]
    days = np.datetime64("2010-01-01") + 12 * np.arange(300)
    data = jr.read({"a": [x for x, _ in pairs], "b": [x for _, x in pairs], "score": [1.0] * 300, "date": days})
    rated = jr.rate(jr.elo(), data)
    rating = rated.events["rating"] + 4.0 * np.arange(300)[:, None]  # by 4 points a match
    state = rated.state._replace(rating=rated.state.rating + 1200)
    rated = rated._replace(events=rated.events | {"rating": rating}, state=state)
    with pytest.warns(UserWarning, match="a and j"):
        coming = jr.forecasts.predict_fixtures(rated, [("a", "j")])
    jr.site.write_site(rated, tmp_path, coming=coming)
    board, full = jr.leaderboard(rated, top=99), script(tmp_path / "data" / "board.js")
    assert board.group.tolist() == full["group"] == [1] * 7 + [2] * 3 and full["name"] == board.player.tolist()
    np.testing.assert_allclose(full["peak"], board.peak, atol=0.01)
    index = text_of(tmp_path / "index.html")
    assert re.findall(r'data-name="rank">(\d+)', index) == [*map(str, board["rank"])]
    assert index.count(">group 2<") == 3 and "no chain of matches joins" in index and "over the median" in index
    peaks = [f"+{x:,.0f}" for x in board.peak]
    assert re.findall(r'data-name="peak">(\+\d+)', index.partition('id="leaders"')[0]) == peaks
    assert " number 2 of group 2" in page_of(tmp_path, board.player[8])
    assert "strangers" in text_of(tmp_path / "coming.html")


def test_seasons_are_told_with_their_results_and_ranks(tmp_path):
    """Three years of a league of six; Ada, who is best, plays no more in the last one."""
    random, names = np.random.default_rng(4), np.array(["Ada", "Bo", "Cy", "Di", "Ed", "Flo"])
    pairs = np.array([random.permutation(6)[:2] for i in range(180)])
    pairs[(np.arange(180) >= 120) & (pairs == 0).any(axis=1)] = 1, 2
    day = np.datetime64("2020-01-05") + 6 * np.arange(180)
    first, second = names[pairs.T]
    score = (random.random(180) < 1 / (1 + np.exp(-0.9 * (pairs[:, 1] - pairs[:, 0])))).astype(float)
    system = jr.elo(("2021-01-01", "2022-01-01"), season_keep=0.5)
    rated = jr.rate(system, jr.read({"a": first, "b": second, "score": score, "date": day}))
    jr.site.write_site(rated, tmp_path)
    page, career = text_of(tmp_path / "players" / "bo.html"), jr.career(rated, "Bo")
    table = re.search("<h2>Seasons.*?<tbody>(.*?)</tbody>", page, re.DOTALL)[1]
    rows = [re.findall("<td[^>]*>([^<]*)", row) for row in table.split("<tr>")[1:]]
    assert [row[0] for row in rows] == ["2022", "2021", "2020"]
    ends = np.array(["2020-12-31", "2021-12-31", "2022-12-31"], "M8[D]").astype(float)
    for row, end, rank in zip(rows[::-1], ends, jr.history.leaderboards.ranks_over_time(rated, ends), strict=True):
        at = np.flatnonzero(career["time"].astype("M8[Y]").astype(str) == row[0])
        won = int((career["score"][at] == 1).sum())
        assert row[4:] == [f"{len(at)}", f"{won}", f"{len(at) - won}"]
        assert row[2] == f"{career['rating'][at[-1]] + career['change'][at[-1]]:,.0f}"
        place = rank[rated.players.tolist().index("Bo")]
        assert row[1] == ("" if np.isnan(place) else f"{place:.0f}"), end
    ratings, changes = ([float(row[i].replace(",", "").replace("\u2212", "-") or 0) for row in rows] for i in (2, 3))
    assert changes == [*-np.diff(ratings), 0.0]  # without what leads lose between seasons


def test_leagues_have_rankings_of_their_own(tmp_path):
    """Football had one ranking of all leagues; a cup, which is of all, is none of them."""
    random, n = np.random.default_rng(2), 240
    league = np.arange(n) % 3
    a = league * 4 + random.integers(0, 4, n)
    b = league * 4 + (a + random.integers(1, 4, n)) % 4
    b[::20] = (b[::20] + 4) % 12  # a cup
    names = np.array([f"Team {i:02}" for i in range(12)])
    table = {"a": names[a], "b": names[b], "score": random.integers(0, 2, n).astype(float), "time": np.arange(n)}
    rated = jr.rate(jr.glicko(), jr.read(table))
    columns = {"league": np.array(["North", "South & East", "West"], object)[league]}
    columns |= {"day": np.array(["Saturday", "Sunday"], object)[np.arange(n) % 2]}
    jr.site.write_site(rated, tmp_path, columns=columns, noun=("team", "teams"))
    assert sorted(x.stem for x in tmp_path.glob("*-*.html")) == ["league-north", "league-south-east", "league-west"]
    order = jr.leaderboard(rated, top=12).player.tolist()
    page = text_of(tmp_path / "league-south-east.html")
    told = re.findall("<bdi>(Team \\d+)</bdi></a>", page.partition('<table class="rows ranking')[2])
    assert told == [x for x in order if x in names[4:8]] and ">In South &amp; East, Team " in page
    assert [int(x) for x in re.findall('overall">(\\d+)<', page)] == [order.index(x) + 1 for x in told]
    assert 'href="league-west.html"' in text_of(tmp_path / "index.html") and ">Surfaces<" not in page


def test_contests_tell_wins_and_podiums(tmp_path):
    """A driver had "161 contests", without a word on how many of them were won."""
    games = [[["Ann"], ["Bo"], ["Cy"], ["Di"]], [["Bo"], ["Ann"], ["Di"], ["Cy"]]] * 3
    jr.site.write_site(jr.rate(jr.weng_lin(), jr.data.from_teams(games)), tmp_path)
    told = [re.search('lead">(.*?)</p>', text_of(tmp_path / "players" / f"{x}.html"))[1] for x in ("ann", "cy")]
    assert "6 contests: 3 won, 6 podiums." in told[0] and "6 contests: 0 won, 3 podiums." in told[1]


def test_a_site_needs_somebody_on_its_list(tmp_path):
    rated = jr.rate(jr.elo(), [{"winner": "Ada", "loser": "Bo"}])
    with pytest.raises(ValueError, match="nobody is listed: 0 of 2 players, who played 9 times"):
        jr.site.write_site(rated, tmp_path / "site", min_games=9)
    assert not (tmp_path / "site").exists()
