"""Scorelines on the page of fixtures: cards of matches, columns of downloads, heat maps."""

import re

import numpy as np
from scipy.stats import poisson

from jaxrate.forecasts.scorelines import Scorelines, summarise_scorelines
from jaxrate.history.column_table import ColumnTable
from jaxrate.site.forecast_tables import (
    add_scoreline_columns,
    build_forecast_tables,
    build_scoreline_cards,
    render_next_matches,
    scoreline_drawing,
)
from jaxrate.site.page_templates import make_template_environment
from tests.conftest import refused

NUMBER = np.arange(16)
TABLE = np.outer(poisson.pmf(NUMBER, 2.1), poisson.pmf(NUMBER, 0.9))
LINES = Scorelines(np.array(["Ayr", "Bo"]), np.array(["Cork", "Ely"]), np.stack([TABLE, TABLE.T]))
CHANCES = {"win": [0.6, 0.2], "draw": [0.2, 0.2], "loss": [0.2, 0.6]}
COMING = ColumnTable(
    {"a": LINES.a, "b": LINES.b, "side": np.array(["Ayr", "Ely"])} | {k: np.array(x) for k, x in CHANCES.items()}
)


def test_cards_have_the_home_side_first():
    columns = add_scoreline_columns(COMING, LINES)
    (table,) = build_forecast_tables(columns, None)
    cards = build_scoreline_cards(LINES, table.matches)
    assert [(x.first, x.second) for x in cards] == [("Ayr", "Cork"), ("Ely", "Bo")]
    assert cards[0][2:] == cards[1][2:] and cards[0].goals == ("2.1", "0.9")
    assert cards[0].likeliest[0] == ("2:0", f"{100 * TABLE[2, 0]:.0f}%")
    summary = summarise_scorelines(LINES)
    assert cards[0].over == f"{100 * summary['over'][0]:.0f}%"
    assert cards[0].both_score == f"{100 * summary['both_score'][0]:.0f}%"
    assert table.rows[1]["likeliest scoreline"] == "0:2" and table.rows[1]["goals of second"] == summary["goals_b"][1]
    assert add_scoreline_columns(COMING, None) is COMING and build_scoreline_cards(None, table.matches) == []


def test_players_have_their_first_match():
    (table,) = build_forecast_tables(add_scoreline_columns(COMING, LINES), None)
    cards = build_scoreline_cards(LINES, table.matches)
    again = cards[0]._replace(second="Ely")
    places = {"Ayr": ("ayr", "AFC Ayr"), "Bo": ("bo", "Bo"), "Ely": ("ely", "Ely")}  # Cork is new
    sections = render_next_matches([*cards, again], places, make_template_environment())
    assert sections.keys() == {"ayr", "bo", "ely"} and sections["ely"] == sections["bo"] != sections["ayr"]
    assert "<bdi>AFC Ayr</bdi> \u2013 <bdi>Cork</bdi>: likeliest 2:0" in sections["ayr"]
    assert render_next_matches([], places, make_template_environment()) == {}


def test_heat_maps_have_all_goals():
    drawing = scoreline_drawing(TABLE)
    cells = re.findall(r'<rect( class="draw")? x="([\d.]+)" y="([\d.]+)".*?fill-opacity="([\d.]+)"', drawing)
    assert len(cells) == 36 and sum(bool(x[0]) for x in cells) == 5
    (best,) = [cell for cell in cells if cell[3] == "0.60"]
    assert best[1:3] == ("10", "30")  # no goals of the second, two of the first
    parts = TABLE[:5, 5:].sum(axis=1)
    np.testing.assert_allclose(float(cells[17][3]), 0.6 * parts[2] / TABLE.max(), atol=0.006)
    assert 'aria-label="Chances of scorelines in percent; 2:0 is likeliest"' in drawing


def test_scorelines_of_other_matches_are_refused():
    with refused("scorelines must be of the matches of coming, in the same order"):
        add_scoreline_columns(COMING, LINES._replace(a=LINES.a[::-1]))
    with refused("scorelines must be of the matches of coming"):
        add_scoreline_columns(ColumnTable({"player": LINES.a}), LINES)
