"""Pages of leagues whose leads fade from season to season."""

import numpy as np
import pytest

import jaxrate as jr
from tests.test_gaps_between_events import SYSTEMS, league
from tests.test_site import inside, page_of

pytest.importorskip("pyarrow")
pytest.importorskip("jinja2")


def test_no_win_lowers_a_rating_because_a_season_follows(tmp_path):
    rated = jr.rate(SYSTEMS["elo"](), league())
    jr.site.write_site(rated, tmp_path / "site")
    rows = []
    for name in rated.players:
        page, career = page_of(tmp_path / "site", name), jr.career(rated, name)
        told = inside(page, "career")
        np.testing.assert_allclose(told["change"], career["change"], atol=0.0101)
        np.testing.assert_allclose(told["rating"], career["rating"] + career["change"], atol=0.0101)
        assert "Between seasons, leads also shrink; the change by a match does not count that." in page
        rows += page.split("<tr>")
    wins = [row for row in rows if "class=up>won" in row]
    assert len(wins) > 8 and not any("<td class=g>\u2212" in row for row in wins)
    assert any("<td class=g>\u2212" in row for row in rows)


def test_a_career_has_the_points_of_both_and_the_terminal_shows_them(tmp_path, jaxrate):
    table = {"a": ["Ada", "Bo"], "b": ["Bo", "Ada"], "up": [3, 1], "down": [2, 4], "time": [0, 1]}
    career = jr.career(jr.rate(jr.elo(), jr.read(table, margin=["up", "down"])), "Ada")
    assert career["points"].tolist() == [3.0, 4.0] and career["opponents_points"].tolist() == [2.0, 1.0]
    jr.data.write(table, tmp_path / "games.csv")
    given = "rate", tmp_path / "games.csv", "--system", "elo", "--margin", "up", "down", "--player", "Ada"
    code, said, _ = jaxrate(*given, "--all-matches")
    assert code == 0 and "3\u20132" in said and "4\u20131" in said
