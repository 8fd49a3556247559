"""Pages of a site as they are written: complete without scripts, with charts, addresses, feed, and words for teams."""

import gzip
import json
import re
from html import unescape
from xml.etree import ElementTree

import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts
from jaxrate.core.text_format import format_decimals, use_minus_sign
from jaxrate.forecasts.pairwise_probabilities import build_matchup_tables_by_category
from jaxrate.site.page_templates import make_template_environment
from jaxrate.site.page_texts import equal_partners
from jaxrate.site.site_data import build_site_data
from jaxrate.views.wording import category_phrase
from tests.browser import findings, inside, open_page, pointed, shown_chances, text_of, texts, wait_for, write_report
from tests.conftest import league_table
from tests.test_site import page_of

LONG = 700  # matches of each of two players


def rated_league(count=60, rows=600, **options):
    table = league_table(count, rows, seed=3)
    date = (table["time"] / table["time"].max() * 1500 + 19_000).astype("datetime64[D]")
    return jr.rate(jr.glicko(), jr.read(table | {"time": date}, **options))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    jr.site.write_site(rated_league(), out, title="League", active="all", address="https://example.org/ratings")
    return out


@pytest.fixture(scope="module")
def duel(tmp_path_factory):
    """Of two who met very often: a site in which their careers are told on several pages."""
    score = np.random.default_rng(1).integers(0, 2, LONG).astype(float)
    date = np.datetime64("1979-12-25") + 10 * np.arange(LONG)  # 1980 is at the edge of charts
    rated = jr.rate(jr.glicko(), jr.read({"a": ["Ada"] * LONG, "b": ["Bo"] * LONG, "score": score, "date": date}))
    out = tmp_path_factory.mktemp("duel")
    jr.site.write_site(rated, out)
    return rated, out


def test_the_ranking_is_complete_without_scripts(folder):
    pages = [text_of(folder / f"{name}.html") for name in ("index", "ranking-2")]
    pages = [page.partition('id="board"')[2].partition('id="leaders"')[0] for page in pages]
    rows = [row for page in pages for row in page.split("<tr>")[2:]]
    listed = jr.leaderboard(rated_league(), active="all", top=60).player
    assert [re.search("<bdi>(.*?)</bdi>", row)[1] for row in rows] == listed.tolist()
    assert all(row.count('<svg class="bar"') == row.count('<svg class="course"') == 1 for row in rows)
    assert '<a href="ranking-2.html" rel="next">' in pages[0]


def test_a_long_career_is_complete_without_scripts_and_its_pages_are_small(duel):
    rated, folder = duel
    career, found = jr.career(rated, "Ada"), []
    for name in ("ada", "ada.2", "ada.3"):
        page = text_of(folder / "players" / f"{name}.html")
        assert len(gzip.compress(page.encode())) < 15_000
        found += re.findall("<time>(.*?)</time>", page.rpartition("<tbody>")[2].partition("</tbody>")[0])
    assert found == career["time"].astype(str).tolist()[::-1]
    first = text_of(folder / "players" / "ada.html")
    assert 'href="ada.2.html"' in first and 'id="upsets"' in first and first.count('<path class="line') == 1
    told = text_of(folder / "data" / "careers" / "ada.js").partition(" = ")[2].removesuffix(";\n")
    np.testing.assert_allclose(json.loads(told)["rating"], career["rating"] + career["change"], atol=0.0101)


@pytest.fixture(scope="module")
def courts():
    table = {"a": ["x", "y"] * 3, "b": ["y", "z"] * 3, "score": [1, 0] * 3, "court": ["clay", "hard"] * 3}
    return jr.rate(jr.category_glicko(2), jr.read(table | {"time": [*range(6)]}, category="court"), period=1.0)


def test_pairs_of_a_run_with_categories_choose_one(courts, tmp_path, monkeypatch):
    jr.site.write_site(courts, tmp_path)
    page = text_of(tmp_path / "pairs.html")
    assert re.findall('<option value="?[01]"?>(clay|hard)</option>', page) == ["hard", "clay"]
    assert "<label>Category <select" in page and ", on hard courts:" in page
    assert re.search(r"<h1[^>]*>On hard courts, .+</h1>", page)  # a headline that holds there alone did not say so
    monkeypatch.setattr("jaxrate.forecasts.pairwise_probabilities.MAX_CATEGORIES", 1)
    jr.site.write_site(courts, tmp_path)
    assert not (tmp_path / "pairs.html").exists()
    for page in tmp_path.rglob("*.html"):
        for link in re.findall(r'(?:href|src)="?([^">?#]+)', text_of(page)):
            assert link.startswith("data:") or (page.parent / link).exists(), (page.name, link)


def test_categories_begin_with_the_commonest_and_are_called_as_their_column(tmp_path):
    """Most matches were on hard courts, one on clay, which came first; one court has no name."""
    table = {"a": [*"xxxzx"], "b": [*"yyzwy"], "score": [1, 0, 1, 0, 1], "court": ["clay", *["hard"] * 3, "?"]}
    rated = jr.rate(jr.skills(parts.modifier(3)), jr.read(table | {"time": [*range(5)]}, category="court"))
    jr.site.write_site(rated._replace(options={"columns": {"category": "court_type"}}), tmp_path)
    page = text_of(tmp_path / "pairs.html")
    choice = page.partition("<label>Court type <select")[2].partition("</label>")[0]
    assert re.findall("<option[^>]*>(.*?)</option>", choice) == ["hard", "clay", "unknown"]
    assert re.search(r"<h1[^>]*>On hard courts, .+</h1>", page) and ", on hard courts:" in page
    assert category_phrase("mode", "duo") == "in mode duo"
    assert re.search("<h1[^>]*>Where no court type is known, .+</h1>", page)  # it read "In court type unknown"


@pytest.fixture(scope="module")
def courts_folder(courts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("courts")
    jr.site.write_site(courts, folder)
    return folder


def test_headline_and_table_are_of_the_chosen_category(courts, courts_folder, browser):
    """They stayed on hard courts."""
    open_page(browser, (courts_folder / "pairs.html"))
    visible = "[...document.querySelectorAll(arguments[0])].filter((x) => x.checkVisibility())"
    shown = f"return {visible}.map((x) => x.innerText)"
    for number, (name, place) in enumerate([("hard", "on hard courts"), ("clay", "on clay")]):
        browser.find_elements("css selector", "#category option")[number].click()
        (title,), notes, tables = (browser.execute_script(shown, x) for x in ("h1", "section .note", ".matrix"))
        assert title.lower().startswith(f"{place}, ") and len(notes) == len(tables) == 1 and f", {place}:" in notes[0]
        names = browser.execute_script(shown, ".matrix tbody bdi")
        ids = [courts.players.tolist().index(x) for x in names]
        chance = jr.forecasts.predict_pairs(courts, players=np.array(ids), category=name).probability
        cells = [float(x) for x in browser.execute_script(shown, ".matrix td.figure")]
        wanted = [100 * float(chance(i, j)) for i in range(3) for j in range(3) if i != j]
        assert cells == pytest.approx(wanted, abs=0.6)


def test_the_chosen_category_counts(courts, courts_folder, browser, tmp_path):
    for page in (courts_folder / "pairs.html", write_report(tmp_path, courts)):
        open_page(browser, page)
        first, second = (browser.find_element("id", x).get_attribute("value") for x in ("first", "second"))
        a, b = (courts.players.tolist().index(name) for name in (first, second))
        for option in browser.find_elements("css selector", "#category option"):
            option.click()
            name = option.text
            wanted = jr.forecasts.predict_pairs(courts, players=np.arange(3), category=name).probability(a, b)
            assert shown_chances(browser)[0] == pytest.approx(wanted, abs=6e-3)


def test_addresses_map_and_feed(folder, tmp_path):
    index, player = text_of(folder / "index.html"), text_of(folder / "players" / "player-03.html")
    assert '<link rel="canonical" href="https://example.org/ratings/">' in index
    assert '<link rel="canonical" href="https://example.org/ratings/players/player-03.html">' in player
    assert '<meta property="og:image" content="https://example.org/ratings/assets/preview.png">' in player
    assert (folder / "assets" / "preview.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    spaces = {"map": "http://www.sitemaps.org/schemas/sitemap/0.9", "atom": "http://www.w3.org/2005/Atom"}
    pages = {x.text for x in ElementTree.parse(folder / "sitemap.xml").iterfind(".//map:loc", spaces)}
    told = {f"https://example.org/ratings/{x.relative_to(folder).as_posix()}" for x in folder.rglob("*.html")}
    assert pages == {x.replace("ratings/index.html", "ratings/") for x in told}

    def titles(where):
        return [x.text for x in ElementTree.parse(where / "feed.xml").iterfind("atom:entry/atom:title", spaces)]

    assert re.sub("<[^>]*>", "", re.search("<h1>(.*?)</h1>", index)[1]) == titles(folder)[0]
    for _ in range(2):  # the same results make no new entry
        jr.site.write_site(rated_league(30, 300), tmp_path, address="https://example.org/")
        assert len(titles(tmp_path)) == 1
    jr.site.write_site(rated_league(30, 300), tmp_path)
    assert not (tmp_path / "feed.xml").exists() and "canonical" not in text_of(tmp_path / "index.html")
    with pytest.raises(ValueError, match="address must begin with https://"):
        jr.site.write_site(rated_league(30, 300), tmp_path, address="example.org")


def test_teams_are_called_teams(jaxrate, tmp_path):
    rows = [f"team {i % 7},team {(i * 3 + 1) % 7},{i % 4},{i % 3}" for i in range(60) if i % 7 != (i * 3 + 1) % 7]
    (tmp_path / "nhl.csv").write_text("home_team,away_team,home_goals,away_goals\n" + "\n".join(rows) + "\n")
    run, out = tmp_path / "run", tmp_path / "public"
    assert jaxrate("rate", tmp_path / "nhl.csv", "--system", "elo", "--out", run, "-q")[0] == 0
    assert ": 6 teams\nOpen " in jaxrate("site", run, "--out", out, "-q")[1]
    words = re.sub("<script.*?</script>|<[^>]*>", " ", text_of(out / "index.html"), flags=re.DOTALL)
    assert "matches of 6 teams" in words and "player" not in words
    assert jaxrate("site", run, "--out", out, "--noun", "club,clubs", "-q")[1].startswith(f"{out}: 6 clubs")


def test_figures_are_in_the_language_of_the_reader(browser, folder, tmp_path):
    report = write_report(tmp_path, rated_league(), active="all")
    agent = browser.execute_script("return navigator.userAgent")
    browser.execute_cdp_cmd("Emulation.setUserAgentOverride", {"userAgent": agent, "acceptLanguage": "de-DE"})
    try:
        for page in (folder / "index.html", report):
            open_page(browser, page)
            ratings, dates = texts(browser, "#board td.rating"), texts(browser, "time")
            assert ratings and all(re.fullmatch(r"\d\.\d{3}|\d{3}", x) for x in ratings), page
            assert dates and all(re.fullmatch(r"(\d+\. )?\w+\.? \d{4}", x) for x in dates), (page, dates)
        open_page(browser, (folder / "quality.html"))
        said = " ".join(texts(browser, "main p"))  # at the end of a sentence, too
        assert re.search(r"Log loss: 0,\d{4};", said) and not re.search(r"\d\.\d{4}", said)
        assert re.search(r"won \d\d,\d\u00a0% of", said) and not re.search(r"\d%", said)
    finally:
        browser.execute_cdp_cmd("Emulation.setUserAgentOverride", {"userAgent": agent, "acceptLanguage": ""})


def test_a_report_opens_on_the_leader_of_those_who_play(tmp_path):
    """A club that ended a hundred years ago, at the highest rating, is not the first."""
    names, old = [f"team {i:02}" for i in range(20)], 200
    table = league_table(20, 600, names, seed=3)
    table["time"] = (table["time"] + 19_000).astype("datetime64[D]")
    early = {"a": ["Wolverines"] * old, "b": [f"Opponent {i}" for i in range(old)], "score": np.ones(old)}
    early["time"] = np.datetime64("1928-01-01") + np.arange(old)
    rated = jr.rate(jr.elo(k=30), {name: np.append(early[name], table[name]) for name in table})
    assert jr.history.rating_table(rated)["player"][0] == "Wolverines"
    page = jr.site.report_html(rated, top=3, noun=("team", "teams"))
    data, leader = inside(page, "data"), jr.leaderboard(rated, top=1).player[0]
    assert re.search(rf'<h1 id="leaderboard-title">{leader} ', page) and f"{leader} in the lead since " in page
    assert leader in {data["board"]["name"][int(i)] for i in data["sections"]} < {*names}
    with pytest.raises(ValueError, match="noun must be two words"):
        jr.site.report_html(rated, noun="team")


@pytest.fixture(scope="module")
def rated():
    """Of a league in which many ratings end with a half."""
    date = (np.arange(900) + 18_000).astype("datetime64[D]")
    return jr.rate(jr.glicko(), league_table(12, 900, seed=2, draws=0.2) | {"time": date})


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
    report = write_report(tmp_path, rated, active="all")
    jr.site.write_site(rated, tmp_path / "site", active="all")
    pages = [(report, "board"), (tmp_path / "site" / "index.html", "board")]
    pages += [(x, "events") for x in (tmp_path / "site" / "players").glob("player-0[0-3].html")]
    for path, table in pages:
        open_page(browser, path)
        wanted = cells(path.read_text(encoding="utf-8"), table)
        if table == "board":  # which scripts draw when it is sorted
            browser.find_element("css selector", "#board th:nth-child(4) button").click()
            wait_for(browser, lambda: texts(browser, "#board th[aria-sort]") == ["rating"])
        found = [[tuple(x) for x in row] for row in shown_cells(browser, table)]
        assert found and found == wanted[: len(found)], (path, table)


def test_the_best_of_three_is_predicted_where_no_match_is_drawn(browser, folder):
    open_page(browser, folder / "pairs.html")
    chances = shown_chances(browser)
    browser.find_element("css selector", "#games option[value='3']").click()
    series = [float(jr.forecasts.best_of(x, 3).win) for x in chances]
    assert shown_chances(browser) == pytest.approx(series, abs=1.3e-2) and shown_chances(browser) != chances


def test_line_ups_to_come_are_explained(tmp_path):
    """A table for each, with the parts of every player under their display name."""
    games = [[["Ann", "Bo"], ["Cy", "<Di>"]], [["Bo", "Cy"], ["Ann", "<Di>"]]]
    rated = jr.rate(jr.skills(parts.experience(20.0)), jr.data.from_teams(games))
    line_up = [(["Ann", "Cy"], ["Bo", "<Di>"])]
    told = {"coming": jr.forecasts.predict_fixtures(rated, line_up)}
    told["explanations"] = found = jr.forecasts.explain_fixtures(rated, line_up)
    jr.site.write_site(rated, tmp_path, names={"Ann": "Ann Lee"}, **told)
    page = text_of(tmp_path / "coming.html")
    assert "<summary>Ann Lee &amp; Cy \u2013 Bo &amp; &lt;Di&gt;</summary>" in page
    table = page.split('<details class="why">')[1]
    assert re.findall("<bdi>(.*?)</bdi>", table) == ["Ann Lee", "Cy", "Bo", "&lt;Di&gt;"]
    points = [*found[0].parts["points"], *found[0].sides["points"]]  # and the sum of each side
    shown = [use_minus_sign(format_decimals(x, 1, signed=True)) for x in points]
    assert re.findall(r'class="figure">([^<]*)</td>\n?(?:<tr|</tbody)', table) == shown


@pytest.fixture(scope="module")
def doubles(tmp_path_factory):
    """Two matches of teams, the second of three against one, and their site."""
    games = [[["Ann", "Bo"], ["Cy", "<Di>"]], [["Bo", "Cy", "Ann"], ["<Di>"]]]
    rated = jr.rate(jr.skills(parts.experience(20.0)), jr.data.from_teams(games))
    folder = tmp_path_factory.mktemp("doubles")
    jr.site.write_site(rated, folder, names={"Ann": "Ann Lee"})
    return rated, folder


def test_a_contest_of_two_teams_is_a_match(doubles):
    """It was "contest 1, place 1 of 2, expected 1.4", without team-mates' links, opponents and results."""
    _, folder = doubles
    told = inside(page_of(folder, "Bo"), "career")
    assert told["score"] == [1, 1] and "place" not in told and "contest" not in told
    page = text_of(folder / "players" / "di.html")
    assert "2 matches: 0 won, 2 lost" in page and "contest" not in page.partition("<main")[2].lower()
    rows = re.search('<table id="events".*?<tbody>(.*?)</tbody>', page, re.DOTALL)[1].split("<tr>")[1:]
    linked = [re.findall(r"<a href=([\w-]+)\.html>", row) for row in rows]
    assert linked == [["bo", "cy", "ann-lee"], ["cy", "ann-lee", "bo"]]
    assert all(">lost" in row for row in rows) and "<td class=k><td>" in rows[0]  # alone in the latest


def test_team_mates_of_contests_of_many_are_linked(tmp_path):
    games = [[["Ann", "Bo"], ["Cy", "Di"], ["Ed"]]] * 2
    jr.site.write_site(jr.rate(jr.weng_lin(), jr.data.from_teams(games)), tmp_path)
    assert not {"site", "shared"} & make_template_environment().globals.keys()  # a page after it is not of this site
    page = text_of(tmp_path / "players" / "cy.html")
    assert "<td class=n>2 of 3" in page and page.count("<td class=k><a href=di.html>Di</a>") == 2
    assert "<h2>Team-mates</h2>" in page and re.search("di.html>Di</a><td class=n>2<td class=n>0<td class=n>2", page)
    assert "<h2>Opponents</h2>" not in page and inside(page_of(tmp_path, "Ed"), "career")["mates"] == [[], []]


def test_contests_of_two_who_play_alone_are_matches(tmp_path):
    """With a draw, of which each has a half; the names of the contests stay."""
    table = {"contest": ["cup", "cup", "final", "final"], "player": ["Ann", "Bo"] * 2, "rank": [1, 1, 2, 1]}
    jr.site.write_site(jr.rate(jr.weng_lin(), jr.read(table)), tmp_path)
    told = inside(page_of(tmp_path, "Ann"), "career")
    assert told["opponent"] == [0, 0] and told["others"] == [["bo", "Bo"]] and told["score"] == [0.5, 0]
    assert "mates" not in told and told["columns"] == {"contest": ["cup", "final"]}
    page = text_of(tmp_path / "players" / "ann.html")
    assert "2 matches: 0 won, 1 drawn, 1 lost" in page and "Expected: the score in percent" in page
    assert "Team-mates" not in page and "one against one" not in text_of(tmp_path / "pairs.html")


def test_names_of_teams_are_shown_by_scripts(doubles, browser):
    _, folder = doubles
    open_page(browser, (folder / "players" / "bo.html"))
    assert texts(browser, "#events tbody td:nth-child(1)") == ["Cy, Ann Lee", "Ann Lee"]
    assert texts(browser, "#events tbody td:nth-child(2)") == ["<Di>", "Cy, <Di>"]
    assert texts(browser, "#partners tbody td:nth-child(1)") == ["Ann Lee", "Cy"]
    assert texts(browser, "#against tbody td:nth-child(2)") == ["2", "1"]
    assert pointed(browser)[0].endswith(", won with Cy, Ann Lee against <Di>")
    assert findings(browser) == {}


def test_two_of_a_history_of_teams_are_compared_with_equal_partners(tmp_path):
    """The chance was that of one against one, which nobody plays, and no page said how a team's strength is formed."""
    games = [[["p"], ["q"]], [["p"], ["Ann"]], [["q"], ["Bo"]], *[[["Ann", "Cy"], ["Bo", "Di"]]] * 4]
    rated = jr.rate(jr.weng_lin(), jr.data.from_teams(games, ranks=[*[[0, 0]] * 3, *[[0, 1]] * 4]))
    told = build_site_data(rated, {})
    partners = equal_partners(rated, told.listed)
    assert partners is not None and partners.number == 1 and told.names[partners.model] in "pq"  # who are as strong
    (tables,) = build_matchup_tables_by_category(rated, told.leaderboard_ids, partners).values()
    first, second = (told.leaderboard_ids.tolist().index(told.names.index(x)) for x in ("Ann", "Bo"))
    wanted = jr.forecasts.predict_fixtures(rated, [(["Ann", "p"], ["Bo", "q"])])["share"][0]
    assert tables.even.probability(first, second) == pytest.approx(wanted, abs=3e-4)
    alone = jr.forecasts.predict_fixtures(rated, [(["Ann"], ["Bo"])])["share"][0]
    assert wanted < alone - 0.01
    jr.site.write_site(rated, tmp_path)
    pairs, about = (text_of(tmp_path / name) for name in ("pairs.html", "about.html"))
    lead = re.search('<p class="lead">(.*?)</p>', pairs)[1]
    formed = "The strength of a team is the sum of the strengths of its members."
    assert ", in teams of 2 with equal partners, each as strong as the player in the middle" in lead and formed in about
    report = jr.site.report_html(rated)
    assert lead in report and formed in report and "Length <select" not in report


def test_contests_without_dates(tmp_path):
    table = {"contest": [7, 7, 7, 9, 9], "player": list("xyzzy"), "rank": [1, 2, 2, 1, 4]}
    rated = jr.rate(jr.weng_lin(), jr.read(table))
    jr.site.write_site(rated, tmp_path)
    told = inside(page_of(tmp_path, "y"), "career")
    assert (told["contest"], told["place"], told["among"]) == (["7", "9"], [2, 2], [3, 2])
    assert "time" not in told and 'id="who"' not in text_of(tmp_path / "index.html")
    with pytest.raises(ValueError, match="points are for matches of two"):
        jr.site.write_site(rated, tmp_path, points=([1] * 5, [1] * 5))
