"""Sentences of the page of an arena: what they say against what was fitted."""

import re

import numpy as np
import pytest

pytest.importorskip("jinja2")

import jaxrate as jr
from jaxrate.site.arena_page import certain_findings, keep_dates_whole, lead_finding, wrap_dates_in_time_elements
from tests.test_arena_page import fitted, places


@pytest.fixture(scope="module")
def twelve():
    strengths = fitted(12)
    return strengths, jr.arena.rank_sets(strengths)


def test_the_headline_and_the_findings_are_what_the_ranks_say(twelve):
    strengths, ranks = twelve
    leaders = [strengths.players[i] for i in strengths.order if ranks.least[i] == 1]
    page = jr.site.arena_page_html(strengths, ranks=ranks)
    heading = re.search("<h1>(.*?)</h1>", page)[1]
    assert len(leaders) > 1 and heading.startswith(f"The leading model is {leaders[0]}, but ")
    if len(leaders) <= 3:
        assert all(name in heading for name in leaders)
    ordered = int(ranks.surely_better.sum())
    assert f"The votes tell who is better in {ordered} of 66 pairs." in page
    points, error = strengths.difference(*leaders[:2])
    assert points < 1.96 * error  # so that the lead is not among what is certain
    doubt = f"leads {leaders[1]} by {points:.0f} points, within the margin of error of {1.96 * error:.0f}.</p>"
    certain = page.partition('id="certain"')[2].partition("</section>")[0]
    assert f"<p>Not certain: {leaders[0]} {doubt}" in certain and " by " not in certain.partition("</ul>")[0]
    one = ranks._replace(least=np.where(np.arange(12) == strengths.order[0], 1, 2))
    assert f"<h1>The best model is {leaders[0]}, with 95% confidence</h1>" in jr.site.arena_page_html(
        strengths, ranks=one
    )
    assert "first and second, at" not in page
    least, greatest = (np.where(x <= 2, x, y) for x, y in ((places(strengths), z) for z in (3, 12)))
    sure = jr.site.arena_page_html(strengths, ranks=ranks._replace(least=least, greatest=greatest))
    assert f"<li>{leaders[0]} and {leaders[1]} are first and second, at 95% confidence.</li>" in sure
    without = jr.site.arena_page_html(strengths)
    assert f"<h1>The leading model is {leaders[0]}, but {leaders[1]} is within the margin of error</h1>" in without
    assert '<h2 id="certain-title">What is not certain</h2>' in without and f"<p>{leaders[0]} {doubt}" in without


def test_a_lead_is_certain_beyond_its_margin_and_among_all():
    strengths = fitted(4, wins=3000)
    ranks = jr.arena.rank_sets(strengths)
    names = strengths.players.tolist()
    lead = lead_finding(names, strengths, ranks)
    assert lead.is_certain and re.fullmatch(
        "model 000 leads .* by .* points; the margin of error is [0-9]+.", lead.sentence
    )
    assert certain_findings(names, strengths, ranks)[0] == lead.sentence
    unsure = ranks._replace(surely_better=np.zeros((4, 4), bool))
    joint = lead_finding(names, strengths, unsure)
    assert not joint.is_certain and joint.sentence.endswith(
        ", but with 4 players compared at once that is not enough to be sure."
    )
    assert joint.sentence not in certain_findings(names, strengths, unsure)


def test_dates_in_names_stay_on_one_line():
    """At 360 pixels a name ended with "2024-04-" and went on with "09"."""
    assert keep_dates_whole("a<b-2024-04-09") == 'a&lt;b-<span class="whole">2024-04-09</span>'
    assert keep_dates_whole("1.5-0409 12345-67-89") == "1.5-0409 12345-67-89"
    names = np.array(["gpt-4-2024-04-09", "b"])
    strengths = jr.arena.fit_strengths(jr.arena.count_votes(names[[0, 1]], names[[1, 0]], [3, 1], [2, 1]))
    page = jr.site.arena_page_html(strengths, dates="2024-01-01 to 2024-05-01", source="our friends")
    table = page.partition("<tbody>")[2].partition("</tbody>")[0]
    assert '<bdi>gpt-4-<span class="whole">2024-04-09</span></bdi>' in table
    # the script spells dates in elements `time` as the reader's language does
    assert "cast from <time>2024-01-01</time> to <time>2024-05-01</time>.</p>" in page
    assert '<p class="source">Source: our friends.</p>' in page.partition("<tbody>")[2]
    no_dates = "1234-56, 2023-02-30 to "
    assert wrap_dates_in_time_elements(f"{no_dates}2024-05") == f"{no_dates}<time>2024-05</time>"


def test_names_in_sentences_do_not_break_at_hyphens():
    names = np.array(["gpt-4", "b-2"])
    page = jr.site.arena_page_html(jr.arena.fit_strengths(jr.arena.count_votes(names, names[::-1], [3, 1], [2, 1])))
    assert "gpt\u20114 would win " in page.partition('<p class="lead">')[2].partition("</p>")[0]
    assert "gpt\u20114 leads b\u20112 by " in page.partition('id="certain"')[2].partition("</section>")[0]


def test_the_page_says_what_confidence_assumes(twelve):
    strengths, ranks = twelve
    assert "The model treats all votes as independent, even several by one voter." in jr.site.arena_page_html(
        strengths, ranks=ranks
    )
    page = jr.site.arena_page_html(strengths, ranks=ranks, clusters=["worker", "prompt"])
    assert (
        "The model treats votes of the same worker or the same prompt as dependent, and all others as independent."
        in page
    )
    assert "Each interval has 95% confidence on its own." in page


def test_sure_ranks_have_their_ordinals(twelve):
    """It was "surely among the first 3" of ranks 1, 2 and 3, and nameless for the first 50."""
    strengths, ranks = twelve
    place = places(strengths)
    names = strengths.players.tolist()
    sure = ranks._replace(least=np.where(place <= 3, place, 4), greatest=np.where(place <= 3, place, 12))
    a, b, c = (names[i] for i in strengths.order[:3])
    assert f"{a}, {b} and {c} are first, second and third, at 95% confidence." in certain_findings(
        names, strengths, sure
    )
    loose = ranks._replace(least=np.ones(12, int), greatest=np.where(place <= 9, 10, 12))
    assert not any("among the first" in finding for finding in certain_findings(names, strengths, loose))
