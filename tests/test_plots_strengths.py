"""Pictures of strengths at rest by their data: intervals, bars and numbers against what was found."""

import re

import numpy as np
import pytest
import scipy

pytest.importorskip("matplotlib")
from matplotlib import pyplot
from matplotlib.colors import to_rgb

import jaxrate as jr
from jaxrate import plots
from jaxrate.arena.strength_fit import first_place_finding
from jaxrate.plots.name_labels import pad_numbers, text_width
from jaxrate.plots.scoreboard_style import DIVERGING_COLOURS, SEQUENTIAL_COLOURS, cell_text_colour, mix_colours
from jaxrate.site import arena_page as arena_findings
from tests.conftest import refused


@pytest.fixture(scope="module")
def found():
    """Five who beat each other, Eve who is held, and Low who only lost; ties among them."""
    a, b = ["Ada", "Ada", "Bo", "$Cy$", "Di", "Ada"], ["Bo", "$Cy$", "$Cy$", "Di", "Eve", "Low"]
    votes = jr.arena.count_votes(a, b, wins=[7, 6, 5, 9, 4, 3], losses=[5, 3, 4, 4, 3, 0], ties=[2, 1, 3, 1, 2, 0])
    return jr.arena.fit_strengths(votes, anchors={"Eve": 1400.0})


def rows(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_intervals_are_those_of_the_table(ax, found):
    assert plots.intervals(found, ax=ax) is ax
    order = [i for i in found.order if np.isfinite(found.rating[i])]
    assert rows(ax) == [found.players[i].replace("$", r"\$") for i in order] and "Low" not in rows(ax)
    free = [i for i in order if not found.is_anchor[i]]
    (bars,) = ax.containers[0][2]
    ends = np.array(bars.get_segments())[:, :, 0]
    wide = scipy.stats.norm.ppf(0.975) * found.standard_error[free]
    np.testing.assert_allclose(ends, np.stack([found.rating[free] - wide, found.rating[free] + wide], axis=1))
    np.testing.assert_allclose(ax.containers[0][0].get_xdata(), found.rating[free])
    (anchor,) = [line for line in ax.lines if line.get_marker() == "s"]
    assert anchor.get_xdata().tolist() == [1400.0] and rows(ax)[int(anchor.get_ydata()[0])] == "Eve"


def test_intervals_of_the_best_and_refusals(ax, found):
    plots.intervals(found, top=2, ax=ax)
    assert len(rows(ax)) == 2
    with refused("a plot holds 1 to 10000 players with a finite rating, not 0"):
        plots.intervals(found, top=0, ax=ax)
    with refused("intervals: strengths must be a Strengths (as of jr.arena.fit_strengths), got one of type"):
        plots.intervals(jr.arena.rank_sets(found), ax=ax)


def test_rank_sets_are_bars_from_the_least_to_the_greatest_rank(ax, found):
    ranks = jr.arena.rank_sets(found, level=0.5)
    assert (ranks.least[:-1] > 1).any()
    assert plots.rank_sets(ranks, ax=ax) is ax
    bars = np.array([(bar.get_x() + 0.4, bar.get_x() + bar.get_width() - 0.4) for bar in ax.patches])
    order = found.order
    np.testing.assert_allclose(bars, np.stack([ranks.least, ranks.greatest], axis=1)[order])
    assert rows(ax) == [found.players[i].replace("$", r"\$") for i in order]
    assert ax.lines[0].get_xdata().tolist() == [1, 2, 3, 4, 5] and ax.get_xlabel() == "rank (simultaneous at 50%)"
    with refused("rank_sets: ranks must be a RankSets (as of jr.arena.rank_sets), got one of type Strengths"):
        plots.rank_sets(found, ax=ax)


def test_win_matrix_has_expected_scores(ax, found):
    """A tie is half a win, so that the two cells of a pair add up to 100, and even players are white."""
    chosen = ["Ada", "Bo", "Low"]
    assert plots.win_matrix(found, ["Bo", "Low", "Ada"], ax=ax) is ax
    shown = ax.images[0].get_array().filled(np.nan)
    for i, a in enumerate(chosen):
        for j, b in enumerate(chosen):
            win, tie, _ = (np.nan, np.nan, 0) if i == j else found.probability(a, b)
            expected = 100 * (win + 0.5 * tie)
            np.testing.assert_allclose(shown[i, j], expected, atol=1e-9)
    assert sorted(text.get_text() for text in ax.texts)[:1] == ["0"] and len(ax.texts) == 6
    assert ax.images[0].cmap(0.5)[:3] == pytest.approx((1, 1, 1), abs=0.01)
    assert ax.images[0].get_clim() == (0, 100)  # as Low always loses


def test_win_matrix_of_everybody_and_of_those_who_never_met(ax, found):
    plots.win_matrix(found, ax=ax)
    assert rows(ax) == [found.players[i].replace("$", r"\$") for i in found.order if np.isfinite(found.rating[i])]
    apart = jr.arena.fit_strengths(jr.arena.count_votes(["x", "u"], ["y", "v"], [2, 1], [1, 1]))
    plots.win_matrix(apart, ["x", "y", "u"], ax=ax)
    shown = ax.images[-1].get_array().filled(np.nan)
    assert np.isnan(shown).tolist() == [[True, False, True], [False, True, True], [True, True, True]]
    with refused("a plot holds 2 to 200 players, not 1"):
        plots.win_matrix(apart, "x", ax=ax)
    with refused("no player 'Zed'"):
        plots.win_matrix(apart, ["x", "Zed"], ax=ax)


@pytest.fixture(scope="module")
def many():
    """Of 230 players with names of 40 characters, each against the next, and the last against the first."""
    a = np.array([f"{i:03} a model with a name of forty characters"[:40] for i in range(230)])
    wins = np.arange(230) % 7 + 1
    return jr.arena.fit_strengths(jr.arena.count_votes(a, np.roll(a, 1), wins, wins[::-1]), prior=100.0)


def test_many_players_are_drawn(ax, many):
    plots.intervals(many, ax=ax)
    (bars,) = ax.containers[0][2]
    assert len(bars.get_segments()) == 230 and 1 < len(rows(ax)) < 60
    plots.intervals(many, top=129, ax=ax)
    ax.clear()
    plots.rank_sets(jr.arena.rank_sets(many), top=129, ax=ax)
    assert len(ax.patches) == 129


def test_a_matrix_of_many_players_has_the_first_twenty_by_default(many):
    """Chosen players stand in the order of their ratings, too."""
    figure = plots.win_matrix(many).figure
    (ax,) = figure.axes
    order = many.players[many.order].tolist()
    assert [row.split("  ", 1)[1][:3] for row in rows(ax)] == [name[:3] for name in order[:20]]
    assert len(ax.texts) == 380 and "the first 20 of 230" in figure.artists[0].get_text()
    closest = 100 * many.probability(*order[:2])[0]
    title = " ".join(figure.get_suptitle().split())
    assert title == f"{order[0]} favoured against the next 19, at {closest:.0f}% or more"
    pyplot.close(figure)
    with refused("a plot holds 2 to 200 players, not 230"):
        plots.win_matrix(many, many.players)


def test_a_matrix_of_more_has_colours_in_the_order_of_ratings(ax, many):
    plots.win_matrix(many, many.players[:129], ax=ax)
    percent = ax.images[-1].get_array()
    assert percent.shape == (129, 129) and (np.diff(percent[64].filled(50)) >= 0).all()
    assert ax.images[-1].get_clim() == (0.0, 100.0)
    assert all(re.fullmatch("[\\u2007\\u2008]*[0-9]+  [0-9]{3} .*", row) for row in rows(ax))


def test_numbers_before_names_are_aligned(many):
    figure = plots.win_matrix(many, many.players[many.order[:120]]).figure
    (ax, _) = figure.axes
    figure.canvas.draw()
    labels = [label for label in ax.get_yticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    assert len(labels) > 5 and np.ptp([box.x0 for box in boxes]) < 0.5  # the spaces before a number are part of it
    assert max(box.x1 for box in boxes) < ax.bbox.x0
    (wide, narrow) = [text_width([label], 10.0) for label in (f"{x}  " + "x" for x in pad_numbers([1200, 7]))]
    assert wide == pytest.approx(narrow, abs=0.05)
    pyplot.close(figure)


def test_names_are_cut_only_without_room(many):
    figure = plots.intervals(many, top=3).figure
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == many.players[many.order[:3]].tolist()
    pyplot.close(figure)


def test_plots_and_the_page_say_alike_who_may_be_first(found):
    ranks = jr.arena.rank_sets(found)
    headline = arena_findings.headline(found.players, found, ranks)
    titles = [headline.replace("leading player", "leader").replace("$", r"\$")]
    for ax in (plots.intervals(found), plots.rank_sets(ranks)):
        titles.append(" ".join(ax.figure.get_suptitle().split()))
        pyplot.close(ax.figure)
    assert titles[0] == titles[1] == titles[2] and titles[0].startswith("The leader is ")
    assert first_place_finding(["A"], 0.9, "team") == "The best team is A, with 90% confidence"
    assert first_place_finding(["A", "B", "C"], 0.9) == "The leader is A, but B or C may be better"
    assert first_place_finding(["A", "B", "C", "D"], 0.9) == "The leader is A, but any of 3 others may be the best"


def contrast(colour, other):
    def luminance(channels):
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in channels]
        return np.dot(linear, (0.2126, 0.7152, 0.0722))

    low, high = sorted(luminance(x) for x in (colour, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [DIVERGING_COLOURS, SEQUENTIAL_COLOURS])
def test_numbers_stand_out_from_every_colour_of_cells(palette):
    """At 4.5 to 1; on colours in the middle of either half they had 2.9 to 1."""
    for share in np.linspace(0.0, 1.0, 101):
        behind = mix_colours(palette, share)
        assert contrast(to_rgb(cell_text_colour(*behind)), behind) >= 4.5
