"""Rankings by surface or other category: a page for each, on which the rating of that category counts."""

import re

import numpy as np
import pytest
from scipy.stats import poisson

import jaxrate as jr
from jaxrate.forecasts.scorelines import Scorelines, summarise_scorelines
from jaxrate.history.column_table import ColumnTable
from jaxrate.site import forecast_tables
from jaxrate.site.page_templates import make_template_environment
from tests.browser import text_of
from tests.conftest import refused

PLAYERS = [f"p{i}" for i in range(8)]


@pytest.fixture(scope="module")
def tennis():
    """The first half of the players win on clay, the second half on hard courts; p7 never plays on clay."""
    generator = np.random.default_rng(4)
    a, b = generator.permuted(np.tile(range(8), (240, 1)), axis=1)[:, :2].T
    surface = np.where(generator.random(240) < 0.5, "Clay", "Hard").astype(object)
    surface[(a == 7) | (b == 7)] = "Hard"
    surface[0] = "Carpet"  # long ago, and never again
    day = np.array("2020-01-01", "datetime64[D]") + np.append(0, np.arange(1400, 1639))
    lead = np.where(surface == "Clay", b - a, a - b)
    score = (lead + 0.5 + generator.normal(size=240) > 0).astype(float)
    names = np.array(PLAYERS)
    table = {"a": names[a], "b": names[b], "score": score, "surface": surface, "date": day}
    rated = jr.rate(jr.skills(jr.parts.modifier(3)), jr.read(table, category="surface"))
    return rated._replace(options={"columns": {"category": "surface"}})


@pytest.fixture(scope="module")
def folder(tennis, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tennis")
    jr.site.write_site(tennis, folder, title="Tennis", min_games=0)
    return folder


def names_on(page):
    return re.findall(r"<td class=\"words name\"[^>]*><a href=players/(\w+)\.html>", page)


def test_each_surface_has_a_ranking_of_those_who_played_on_it(tennis, folder):
    """The site had one list, and nobody could learn who is the best on clay."""
    for name, place in (("Hard", "hard courts"), ("Clay", "clay")):
        page = text_of(folder / f"surface-{name.lower()}.html")
        mean, deviation = (np.asarray(x) for x in jr.history.category_ratings(tennis, name)[:2])
        ids = [int(x[1]) for x in names_on(page)]
        players = [tennis.players.tolist().index(f"p{i}") for i in ids]
        assert mean[players].tolist() == sorted(mean[players].tolist(), reverse=True)
        assert ids[0] == {"Hard": 7, "Clay": 0}[name] and (7 in ids) == (name == "Hard")
        best, half = mean[players[0]], 1.96 * deviation[players[0]]
        assert f'data-name="rating">{best:,.0f}<' in page
        assert f'aria-label="95% interval {best - half:,.0f} to {best + half:,.0f}"' in page
        assert re.search(f"<h1>On {place}, p{ids[0]} ", page)
    assert not (folder / "surface-carpet.html").exists()  # nobody has played on it since


def test_rankings_of_surfaces_are_linked_from_everywhere(folder):
    for path in ("index.html", "surface-clay.html"):
        page = text_of(folder / path)
        part = page.partition('<nav class="lists"')[2].partition("</nav>")[0]
        assert re.findall('href="([^"]+)"', part) == ["index.html", "surface-hard.html", "surface-clay.html"]
        assert f'href="{path}" aria-current="page"' in part
    assert 'href="../surface-hard.html">Surfaces</a>' in text_of(folder / "players" / "p1.html")


def test_players_have_ratings_on_the_surfaces_on_which_they_played(tennis, folder):
    """A rating on carpet of those who never played on it repeated the one over all."""
    table = re.search('class="rows static narrow by-category".*?</table>', text_of(folder / "players" / "p7.html"))[0]
    rows = re.findall(r"<tr><td[^>]*>(?:<a[^>]*>)?(\w+)", table)
    assert rows == ["Hard"]
    a, b, surface, score = (np.array(tennis.predictions[x].to_pylist()) for x in ("a", "b", "category_a", "score"))
    points = np.append(score[(a == "p1") & (surface == "Clay")], 1.0 - score[(b == "p1") & (surface == "Clay")])
    won = int(points.sum())
    assert f'<td class="figure">{won}\u2013{len(points) - won}' in text_of(folder / "players" / "p1.html")


def test_head_to_head_is_of_the_best_on_its_surface(folder):
    """The order was that of the ranking over all surfaces, which the chances contradicted."""
    sections = text_of(folder / "pairs.html").split("<section")[1:]
    for name, section in zip(("hard", "clay"), sections, strict=False):
        rows = re.findall(r'<th scope="row">\d+ <a href="players/(\w+)\.html', section)
        assert rows == names_on(text_of(folder / f"surface-{name}.html"))
    assert "Top 7 on clay: chances against each other</h2>" in sections[1]


NUMBER = np.arange(16)
TABLE = np.outer(poisson.pmf(NUMBER, 2.1), poisson.pmf(NUMBER, 0.9))
LINES = Scorelines(np.array(["Ayr", "Bo"]), np.array(["Cork", "Ely"]), np.stack([TABLE, TABLE.T]))
CHANCES = {"win": [0.6, 0.2], "draw": [0.2, 0.2], "loss": [0.2, 0.6]}
CHANCES |= {"a": LINES.a, "b": LINES.b, "side": ["Ayr", "Ely"]}
COMING = ColumnTable({name: np.array(values) for name, values in CHANCES.items()})


def test_cards_have_the_home_side_first():
    columns = forecast_tables.add_scoreline_columns(COMING, LINES)
    (table,) = forecast_tables.build_forecast_tables(columns, None)
    cards = forecast_tables.build_scoreline_cards(LINES, table.matches)
    assert [(x.first, x.second) for x in cards] == [("Ayr", "Cork"), ("Ely", "Bo")]
    assert cards[0][2:] == cards[1][2:] and cards[0].goals == ("2.1", "0.9")
    assert cards[0].likeliest[0] == ("2:0", f"{100 * TABLE[2, 0]:.0f}%")
    summary = summarise_scorelines(LINES)
    assert cards[0].over == f"{100 * summary['over'][0]:.0f}%"
    assert cards[0].both_score == f"{100 * summary['both_score'][0]:.0f}%"
    assert table.rows[1]["likeliest scoreline"] == "0:2" and table.rows[1]["goals of second"] == summary["goals_b"][1]
    assert (
        forecast_tables.add_scoreline_columns(COMING, None) is COMING
        and forecast_tables.build_scoreline_cards(None, table.matches) == []
    )


def test_players_have_their_first_match():
    (table,) = forecast_tables.build_forecast_tables(forecast_tables.add_scoreline_columns(COMING, LINES), None)
    cards = forecast_tables.build_scoreline_cards(LINES, table.matches)
    again = cards[0]._replace(second="Ely")
    places = {"Ayr": ("ayr", "AFC Ayr"), "Bo": ("bo", "Bo"), "Ely": ("ely", "Ely")}  # Cork is new
    sections = forecast_tables.render_next_matches([*cards, again], places, make_template_environment())
    assert sections.keys() == {"ayr", "bo", "ely"} and sections["ely"] == sections["bo"] != sections["ayr"]
    assert "<bdi>AFC Ayr</bdi></a> \u2013 <bdi>Cork</bdi>: likeliest 2:0" in sections["ayr"]
    assert forecast_tables.render_next_matches([], places, make_template_environment()) == {}


def test_scorelines_of_other_matches_are_refused():
    with refused("scorelines must be of the matches of coming, in the same order"):
        forecast_tables.add_scoreline_columns(COMING, LINES._replace(a=LINES.a[::-1]))
    with refused("scorelines must be of the matches of coming"):
        forecast_tables.add_scoreline_columns(ColumnTable({"player": LINES.a}), LINES)
