"""Pages of contests of teams: line-ups of the past, and why forecasts are as they are."""

import re

import numpy as np
import pytest

import jaxrate as jr
from jaxrate import parts
from jaxrate.core.text_format import format_decimals, use_minus_sign
from jaxrate.forecasts.pairwise_probabilities import build_matchup_tables_by_category
from jaxrate.site.page_templates import make_template_environment
from jaxrate.site.page_texts import equal_partners
from jaxrate.site.site_data import build_site_data
from tests.browser import findings, inside, open_page, pointed, text_of, texts
from tests.test_site import page_of

pa = pytest.importorskip("pyarrow")
pytest.importorskip("jinja2")


def test_line_ups_to_come_are_explained(tmp_path):
    """A table for each, with the parts of every player under their display name."""
    games = [[["Ann", "Bo"], ["Cy", "<Di>"]], [["Bo", "Cy"], ["Ann", "<Di>"]]]
    rated = jr.rate(jr.skills(parts.experience(20.0)), jr.data.from_teams(games))
    line_up = [(["Ann", "Cy"], ["Bo", "<Di>"])]
    told = {"coming": jr.forecasts.predict_fixtures(rated, line_up)}
    told["explanations"] = found = jr.forecasts.explain_fixtures(rated, line_up)
    jr.site.write_site(rated, tmp_path, names={"Ann": "Ann Lee"}, **told)
    page = text_of(tmp_path / "coming.html")
    assert "<h2>Why</h2>" in page and "<summary>Ann Lee &amp; Cy \u2013 Bo &amp; &lt;Di&gt;</summary>" in page
    table = page.split('<details class="why">')[1]
    assert re.findall("<bdi>(.*?)</bdi>", table) == ["Ann Lee", "Cy", "Bo", "&lt;Di&gt;"]
    points = [*found[0].parts["points"], *found[0].sides["points"]]  # and the sum of each side
    shown = [use_minus_sign(format_decimals(x, 1, signed=True)) for x in points]
    assert (
        re.findall(r'class="figure">([^<]*)</td>\n?(?:<tr|</tbody)', table) == shown
        and table.count('<tr class="total">') == 2
    )


@pytest.fixture(scope="module")
def doubles(tmp_path_factory):
    """Two matches of teams, the second of three against one, and their site."""
    games = [[["Ann", "Bo"], ["Cy", "<Di>"]], [["Bo", "Cy", "Ann"], ["<Di>"]]]
    rated, folder = (
        jr.rate(jr.skills(parts.experience(20.0)), jr.data.from_teams(games)),
        tmp_path_factory.mktemp("doubles"),
    )
    jr.site.write_site(rated, folder, names={"Ann": "Ann Lee"})
    return rated, folder


def test_a_contest_of_two_teams_is_a_match(doubles):
    """It was "contest 1, place 1 of 2, expected 1.4", without team-mates' links, opponents and results."""
    rated, folder = doubles
    told = inside(page_of(folder, "Bo"), "career")
    assert told["score"] == [1, 1] and "place" not in told and "contest" not in told
    names = [name for _, name in told["others"]]
    mates, opponents = ([[names[i] for i in x] for x in told[key]] for key in ("mates", "opponent"))
    assert mates == [["Ann Lee"], ["Cy", "Ann Lee"]] and opponents == [["Cy", "<Di>"], ["<Di>"]]
    chance = dict(zip(*(rated.predictions[x].to_pylist()[4:] for x in ("player", "prediction")), strict=True))
    assert told["chance"][1] == pytest.approx(chance["Bo"], abs=1e-4)
    page = text_of(folder / "players" / "di.html")
    assert "2 matches: 0 won, 2 lost" in page and "contest" not in page.partition("<main")[2].lower()
    rows = re.search('<table id="events".*?<tbody>(.*?)</tbody>', page, re.DOTALL)[1].split("<tr>")[1:]
    assert [re.findall(r"<a href=([\w-]+)\.html>", row) for row in rows] == [
        ["bo", "cy", "ann-lee"],
        ["cy", "ann-lee", "bo"],
    ]
    assert all(">lost" in row for row in rows) and "<td class=k><td>" in rows[0]  # alone in the latest
    met = dict(re.findall(r"<tr><td><a href=([\w-]+)\.html>[^<]*</a><td class=n>(\d)<td class=n>0<td class=n>", page))
    assert met == {"cy": "1", "ann-lee": "2", "bo": "2"}
    assert "<h2>Team-mates</h2>" in page and "<h2>Opponents</h2>" in page
    assert "Chance: of the team to win, as it was before the match." in page and ">Compare two</a>" in page


def test_line_ups_of_the_report_are_those_of_the_site(doubles):
    rated, _ = doubles
    report = jr.site.report_html(rated)
    assert ">with</th>" in report
    data = inside(report, "data")
    place, section = data["board"]["name"].index("Bo"), data["sections"]
    names = [[data["board"]["name"][i] for i in x] for x in section[str(place)]["mates"]]
    assert names == [["Ann"], ["Cy", "Ann"]] and section[str(place)]["score"] == [1, 1]


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
    assert lead.endswith(
        ", in teams of 2 with equal partners, each as strong as the player in the middle of the ranking."
    )
    formed = "The strength of a team is the sum of the strengths of its members."
    assert formed in about and "of the better one, a draw as half, with equal partners." in about
    report = jr.site.report_html(rated)
    assert lead in report and formed in report and "Length <select" not in report


def test_contests_without_dates(tmp_path):
    table = {"contest": [7, 7, 7, 9, 9], "player": list("xyzzy"), "rank": [1, 2, 2, 1, 4]}
    rated = jr.rate(jr.weng_lin(), jr.read(table))
    jr.site.write_site(rated, tmp_path)
    told, wanted = inside(page_of(tmp_path, "y"), "career"), jr.career(rated, "y")
    assert told["contest"] == ["7", "9"] and told["place"] == wanted["rank"].tolist() and told["among"] == [3, 2]
    np.testing.assert_allclose(told["expected"], wanted["expected_rank"], atol=0.056)
    assert "time" not in told and 'id="who"' not in text_of(tmp_path / "index.html")
    with pytest.raises(ValueError, match="points are for matches of two"):
        jr.site.write_site(rated, tmp_path, points=([1] * 5, [1] * 5))
