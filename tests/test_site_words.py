"""What pages say, without building any: entries of the feed, matches to come, and for how long somebody leads."""

from types import SimpleNamespace

import pytest

pytest.importorskip("jinja2")

from jaxrate.league.column_table import ColumnTable
from jaxrate.site import headline
from jaxrate.site.forecast_tables import build_forecast_tables, closest_match_sentence
from jaxrate.site.sitemap_and_feed import MAX_FEED_ENTRIES, add_feed_entry
from jaxrate.site.wording import spell_dates


def test_an_entry_of_the_feed_is_new_where_its_words_are():
    first = {"id": "1", "title": "Ada leads", "summary": "by 3 points", "updated": "Monday"}
    entries = add_feed_entry([], first)
    assert add_feed_entry(entries, first | {"updated": "Tuesday"}) == [first]
    changed = first | {"summary": "by 4 points", "updated": "Tuesday"}
    assert add_feed_entry(entries, changed) == [changed]
    for number in range(2, MAX_FEED_ENTRIES + 3):
        entries = add_feed_entry(entries, first | {"id": str(number)})
    assert [int(entry["id"]) for entry in entries] == [*range(MAX_FEED_ENTRIES + 2, 2, -1)]


def test_matches_to_come_name_who_is_at_home_first():
    columns = {"a": ["Ada", "Bo", "Cy"], "b": ["Bo", "Cy", "Ada"], "side": ["Ada", "Cy", None]}
    columns |= {"win": [0.25, 0.375, 0.875], "loss": [0.75, 0.625, 0.125]}
    (table,) = build_forecast_tables(ColumnTable(columns), None)
    found = [(match.first, match.second, match.is_neutral, match.chances[0][1]) for match in table.matches]
    assert found == [("Ada", "Bo", False, 0.25), ("Cy", "Bo", False, 0.625), ("Cy", "Ada", True, 0.875)]
    assert closest_match_sentence(table.matches, {"Bo": "Bo B."}) == (
        "Cy \u2013 Bo B. is the closest, 63 % to 38 %; the clearest favourite is Cy, 88 % against Ada."
    )


@pytest.mark.parametrize(
    ("since", "title"),
    [
        (941.0, "Ada takes the lead"),
        (940.0, "Ada leads Bo by 9 points"),
        (671.0, "Ada leads Bo by 9 points"),
        (670.0, "Ada is still the player to beat"),
        (None, "Ada leads Bo by 9 points"),
    ],
)
def test_a_lead_is_new_for_sixty_days_and_old_from_eleven_months_on(since, title):
    noun = SimpleNamespace(is_collective=False, one="player")
    data = SimpleNamespace(noun=noun, rated=SimpleNamespace(last=1000.0))
    assert headline._write_title(data, ["Ada", "Bo"], "9 points", since, False) == title


def test_dates_are_words_where_no_script_spells_them():
    text = "Ada has led since 2021-02-07, 2021-13-01 and 12021-02-07 are no dates; next, 2020-12-31."
    spelled = "Ada has led since 7 February 2021, 2021-13-01 and 12021-02-07 are no dates; next, 31 December 2020."
    assert spell_dates(text) == spelled
    names = "gpt-4o-2024-05-13 leads 2024-02-31-turbo and 2023-02-29 by 3 points"
    assert spell_dates(names) == names
