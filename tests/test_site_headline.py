"""The headline of pages: who is told to lead whom where the one who led has lost the lead to others."""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("pyarrow")

import jaxrate as jr
from jaxrate.history.column_table import ColumnTable
from jaxrate.site.headline import write_headline
from jaxrate.site.json_columns import returned_players
from jaxrate.site.site_data import build_site_data
from jaxrate.site.table_rows import build_career_lines
from jaxrate.site.wording import format_time_span


def site_data(winner, loser, date, active, drawn=()):
    """Of a history in which those `drawn`, in this order, drew long before: that joins equals without a change."""
    pairs = [*pairwise(drawn), *zip(winner, loser, strict=True)]
    a, b = zip(*pairs, strict=True)
    draws = len(pairs) - len(winner)
    score, date = [0.5] * draws + [1.0] * len(winner), ["2019-01-01"] * draws + date
    rated = jr.rate(jr.elo(), jr.read({"a": a, "b": b, "score": score, "date": date}))
    day_after = datetime.combine(np.datetime64(date[-1]).item() + timedelta(1), datetime.min.time(), UTC)
    return build_site_data(rated, {}, {}, None, None, {"active": active})._replace(made=day_after)


def test_headlines_say_as_of_when_they_speak_where_the_last_result_is_old():
    """A site of results until 2024 said in 2026 that a player is the best, and called a match of the past the next."""
    data = site_data(["Ada", "Ada", "Ada"], ["Bo", "Bo", "Bo"], ["2020-01-01", "2020-03-01", "2020-06-01"], "all")
    coming = ColumnTable(
        {"a": np.array(["Bo", "Bo"]), "b": np.array(["Ada", "Cy"]), "time": np.array(["2020-06-20", "2020-06-25"])}
    )
    for day, start, end in ((21, "Ada ", "; next, Bo meets Cy on 2020-06-25."), (26, "Ada ", ", by 13.")):
        sentence = write_headline(data._replace(made=datetime(2020, 6, day, tzinfo=UTC)), coming).sentence
        assert sentence.startswith(start) and sentence.endswith(end)
    old = write_headline(data._replace(made=datetime(2020, 7, 2, tzinfo=UTC)), coming).sentence
    assert old.startswith("As of 2020-06-01: Ada ") and " now " not in old


def test_who_is_level_with_the_leader_is_named_and_not_who_fell_back():
    """Ada and Di won as often and have not played since; Bo led and lost twice, on the last day.

    The headline named Bo beside Ada, and told the last day as that since which she has led.
    """
    winner = ["Ada"] * 3 + ["Di"] * 3 + ["Bo"] * 4 + ["C7", "C8"]
    loser = [f"C{i}" for i in (0, 1, 2, 0, 1, 2, 3, 4, 5, 6)] + ["Bo", "Bo"]
    date = ["2020-01-01"] * 6 + ["2020-01-06"] * 4 + ["2020-01-08"] * 2
    data = site_data(winner, loser, date, "all", ["Ada", "Bo", *(f"C{i}" for i in range(9)), "Di"])
    data.current["deviation"] = np.full(len(data.current.rating), 100.0)
    found = write_headline(data)
    assert found.title == "Ada and Di are almost level at the top"
    assert re.match(r"Ada leads Di by .* after Bo fell back on 2020-01-08[;,.]", found.sentence)


def test_who_is_no_longer_current_has_not_fallen_back():
    """Bo led, and has not played for more than ten days; the days of others go on."""
    winner, loser = ["Bo"] * 4 + ["Ada"] * 3 + ["C7"], [*(f"C{i}" for i in range(7)), "C8"]
    date = ["2020-01-01"] * 4 + ["2020-01-06"] * 3 + ["2020-01-15"]
    found = write_headline(site_data(winner, loser, date, 10, ["Ada", "Bo", *(f"C{i}" for i in range(9))]))
    assert found.title == "Ada is on top as Bo leaves the list"
    assert "after Bo left the list of current players" in found.sentence and "2020" not in found.sentence


def test_who_rose_most_is_told_of_the_ranks_that_are_compared(monkeypatch):
    """Cy, who is last, rose more than Ada."""
    monkeypatch.setattr("jaxrate.site.headline.TOP_RISERS", 2)
    data = site_data(["Ada", "Ada", "Bo"], ["Bo", "Cy", "Cy"], ["2019-01-01", "2019-01-01", "2020-06-01"], "all")
    data.current["change"], data.current["rank_then"] = np.array([5.0, -1.0, 7.0]), np.array([2, 1, 3])
    assert ", and rose most of the top 2 since " in write_headline(data).sentence
    data.current["change"] = np.array([8.0, -1.0, 7.0])
    sentence = write_headline(data).sentence  # not "Ada rose most" behind a clause about Ada
    assert re.match(r"Ada .*, and rose most since 20\d\d-\d\d-\d\d, by 8\.", sentence)


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


def test_who_comes_back_was_listed_before():
    """Of those with ten games Cy had them before the comparison, and Bo, who was told to be back, five."""
    crowd = [f"C{i}" for i in range(20)]
    meetings = [(crowd[i], crowd[(i + k) % 20], "2020-01-10") for k in range(1, 6) for i in range(20)]
    meetings += [("Cy", x, "2016-03-01") for x in crowd[:10]]
    meetings += [("Bo", x, "2020-01-11") for x in crowd[:5]] + [("Bo", x, "2021-12-30") for x in crowd[:5]]
    meetings += [(x, "Cy" if x == "C0" else "Di", "2021-12-31") for x in [*crowd, "Ed"]]
    a, b, date = zip(*sorted(meetings, key=lambda x: x[2]), strict=True)
    rated = jr.rate(jr.elo(), jr.read({"a": a, "b": b, "score": [1.0] * len(a), "date": date}))
    found = build_site_data(rated, {}, {}, None, None, {})
    told = dict(zip([found.names[i] for i in found.listed], returned_players(found).tolist(), strict=True))
    assert "Bo" in told and "Ed" not in told and [x for x in told if told[x]] == ["Cy"]
    assert re.search(r">New: first time|among current \w+; new: first time", jr.site.report_html(rated))


def test_ten_years_are_not_nine():
    """Of results from 2015-01-04 to 2024-12-18 the lines of careers were those of 9 years."""
    data = site_data(["Ada", "Bo"], ["Bo", "Ada"], ["2015-01-04", "2024-12-18"], "all")
    assert build_career_lines(data).heading == "10 years"


def test_drivers_take_part():
    """Those who race were said to have played."""
    table = {"contest": [1, 1, 1, 2, 2, 2], "player": ["Ada", "Bo", "Di", "Ada", "Cy", "Di"], "rank": [1, 2, 3] * 2}
    table["date"] = ["2019-01-01"] * 3 + ["2021-01-01"] * 3
    page = jr.site.report_html(jr.rate(jr.weng_lin(), jr.read(table)), active=365, min_games=2)
    assert "Current: those who took part in the 365 days to <time>2021-01-01</time> and had taken part 2 times" in page
    assert ">last contest</th>" in page and "played" not in re.sub("<script.*?</script>", "", page, flags=re.DOTALL)
