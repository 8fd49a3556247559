"""The headline of pages: who is told to lead whom where the one who led has lost the lead to others."""

import re

import numpy as np
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("pyarrow")

import jaxrate as jr
from jaxrate.site.headline import write_headline
from jaxrate.site.site_data import build_site_data, returned_players
from jaxrate.site.wording import format_time_span


def site_data(winner, loser, date, active):
    rated = jr.rate(jr.elo(), jr.read({"a": winner, "b": loser, "score": [1.0] * len(winner), "date": date}))
    return build_site_data(rated, {}, {}, None, None, {"active": active})


def test_who_is_level_with_the_leader_is_named_and_not_who_fell_back():
    """Ada and Di won as often and have not played since; Bo led and lost twice, on the last day.

    The headline named Bo beside Ada, and told the last day as that since which she has led.
    """
    winner = ["Ada"] * 3 + ["Di"] * 3 + ["Bo"] * 4 + ["C7", "C8"]
    loser = [f"C{i}" for i in (0, 1, 2, 0, 1, 2, 3, 4, 5, 6)] + ["Bo", "Bo"]
    date = ["2020-01-01"] * 6 + ["2020-01-06"] * 4 + ["2020-01-08"] * 2
    data = site_data(winner, loser, date, "all")
    data.current["deviation"] = np.full(len(data.current.rating), 100.0)
    found = write_headline(data)
    assert found.title == "Ada and Di are almost level at the top"
    assert re.match(r"Ada leads Di by .* after Bo fell back on 2020-01-08[;.]", found.sentence)


def test_who_is_no_longer_current_has_not_fallen_back():
    """Bo led, and has not played for more than ten days; the days of others go on."""
    winner, loser = ["Bo"] * 4 + ["Ada"] * 3 + ["C7"], [*(f"C{i}" for i in range(7)), "C8"]
    date = ["2020-01-01"] * 4 + ["2020-01-06"] * 3 + ["2020-01-15"]
    found = write_headline(site_data(winner, loser, date, 10))
    assert found.title == "Ada is on top as Bo leaves the list"
    assert "after Bo left the list of current players" in found.sentence and "2020" not in found.sentence


def test_who_rose_most_is_told_of_the_ranks_that_are_compared(monkeypatch):
    """Cy, who is last, rose more than Ada."""
    monkeypatch.setattr("jaxrate.site.headline.TOP_RISERS", 2)
    data = site_data(["Ada", "Ada", "Bo"], ["Bo", "Cy", "Cy"], ["2019-01-01", "2019-01-01", "2020-06-01"], "all")
    data.current["change"], data.current["rank_then"] = np.array([5.0, -1.0, 7.0]), np.array([2, 1, 3])
    assert "Ada rose most of the top 2 since " in write_headline(data).sentence
    data.current["change"] = np.array([8.0, -1.0, 7.0])
    assert "Ada rose most since " in write_headline(data).sentence


def test_numbers_of_times_are_grouped():
    """They read as -35460 to 20653."""
    table = {"a": ["Ada", "Bo"], "b": ["Bo", "Ada"], "score": [1.0, 0.0], "time": [-35460, 20653.5]}
    assert format_time_span(jr.rate(jr.elo(), jr.read(table))) == "\u221235,460 to 20,653.5"


def test_who_comes_back_is_not_new():
    """Bo played in 2015 and again in 2020, and Cy in 2020 alone: both were new."""
    day = ["2015-01-01", "2019-05-01", "2020-06-01", "2020-06-02"]
    table = {"a": ["Bo", "Ada", "Bo", "Cy"], "b": ["Di", "Ed", "Ada", "Ada"], "score": [1.0] * 4, "date": day}
    rated = jr.rate(jr.elo(), jr.read(table))
    found = build_site_data(rated, {}, {}, None, None, {})
    told = dict(zip([found.names[i] for i in found.listed], returned_players(found).tolist(), strict=True))
    assert told["Bo"] and not told["Cy"] and not told["Ada"]
    page = jr.site.report_html(rated)
    assert page.count("<span>back</span>") == 1 and page.count('<span class="up">new</span>') == 1
