"""Pages of contests of teams: line-ups of the past, and why forecasts are as they are."""

import re

import pytest

import jaxrate as jr
from jaxrate.text_format import format_decimals, use_minus_sign
from tests.test_site import inside, page_of

pytest.importorskip("pyarrow")
pytest.importorskip("jinja2")


def test_line_ups_to_come_are_explained(tmp_path):
    """A table for each, with the parts of every player under their display name."""
    games = [[["Ann", "Bo"], ["Cy", "<Di>"]], [["Bo", "Cy"], ["Ann", "<Di>"]]]
    rated = jr.rate(jr.skills(experience=20.0), jr.data.from_teams(games))
    line_up = [(["Ann", "Cy"], ["Bo", "<Di>"])]
    told = {"coming": jr.forecasts.predict_fixtures(rated, line_up)}
    told["explanations"] = found = jr.forecasts.explain_fixtures(rated, line_up)
    jr.site.write_site(rated, tmp_path, names={"Ann": "Ann Lee"}, **told)
    page = (tmp_path / "coming.html").read_text(encoding="utf-8")
    assert "<h2>Why</h2>" in page and "<summary>Ann Lee &amp; Cy \u2013 Bo &amp; &lt;Di&gt;</summary>" in page
    table = page.split('<details class="why">')[1]
    assert re.findall("<bdi>(.*?)</bdi>", table) == ["Ann Lee", "Cy", "Bo", "&lt;Di&gt;"]
    points = [*found[0].parts["points"], *found[0].sides["points"]]  # and the sum of each side
    shown = [use_minus_sign(format_decimals(x, 1, signed=True)) for x in points]
    assert re.findall(r'class="figure">([^<]*)</td></tr>', table) == shown and table.count('<tr class="total">') == 2


def test_line_ups_of_the_past_are_told(tmp_path):
    """Who played with whom, and the share of the team's rating; neither of those who played alone."""
    games = [[["Ann", "Bo"], ["Cy", "<Di>"]], [["Bo", "Cy", "Ann"], ["<Di>"]]]
    rated = jr.rate(jr.skills(), jr.data.from_teams(games))
    jr.site.write_site(rated, tmp_path, names={"Ann": "Ann Lee"})
    told = inside(page_of(tmp_path, "Bo"), "career")
    assert told["columns"]["with"] == ["Ann Lee", "Cy, Ann Lee"]
    rating = dict(zip(*(rated.predictions[name].to_pylist()[4:] for name in ("player", "rating")), strict=True))
    share = rating["Bo"] / (rating["Bo"] + rating["Cy"] + rating["Ann"])
    assert told["columns"]["of the team, %"] == [50.0, round(100 * share)]
    page = (tmp_path / "players" / "cy.html").read_text(encoding="utf-8")
    assert "&lt;Di&gt;" in page and "is the share of the sum of the members" in page
    alone = inside(page_of(tmp_path, "<Di>"), "career")
    assert alone["columns"] == {"with": ["Cy", None], "of the team, %": [50.0, None]}
    report = jr.site.report_html(rated)
    assert "of the team, %" in report
