"""Lines through time: where their labels stand, and what the lines about them say of gaps, last ratings and dates."""

import re

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")

from matplotlib import pyplot

import jaxrate as jr
from jaxrate import plots
from jaxrate.plots.line_end_labels import LineEnd, _runs_along, place_line_end_labels


def test_labels_of_lines_hide_no_line_and_no_other_label():
    """Who goes on to the end has a label beside the axes; who stops before has one at the end of their line."""
    x = np.linspace(0.0, 100.0, 101)
    flat, short = (x, np.full(101, 50.0)), (x[:41], np.linspace(0.0, 40.0, 41))
    ends = [LineEnd(float(a[-1]), float(b[-1]), 30.0, 10.0) for a, b in (flat, flat, short)]
    one, two, end = place_line_end_labels(ends, [flat, short], (100.0, 100.0))
    assert one.x is None and two.x is None and abs(one.y - two.y) >= 10.0 and one.leader == (0.0, 0.5)
    assert end.x is not None and end.x >= 40.0 and end.y + 5.0 < 50.0  # the label stands below the other line
    walls = [(x, np.full(101, height)) for height in np.arange(0.0, 100.0, 8.0)]
    (crowded,) = place_line_end_labels(ends[2:], walls, (100.0, 100.0))
    assert crowded.x is not None and abs(crowded.y - 40.0) <= 12.0  # where there is no room it is near its line


def test_the_label_of_a_line_that_ended_stands_at_its_peak():
    """A label that tells of a peak stands there, not beside a comeback; without room above it a line leads to it."""
    x = np.linspace(0.0, 300.0, 301)
    hill = x[:101], np.append(np.linspace(0.0, 50.0, 51), np.linspace(49.0, 0.0, 50))
    end = LineEnd(100.0, 0.0, 30.0, 10.0, (50.0, 50.0))
    (place,) = place_line_end_labels([end], [hill], (300.0, 100.0))
    assert place.is_at_peak and place.leader is None and place.x == 35.0 and place.y == 61.0
    ceiling = x, np.full(301, 60.0)
    (place,) = place_line_end_labels([end._replace(height=20.0)], [hill, ceiling], (300.0, 100.0))
    assert place.x is not None and place.y + 10.0 < 60.0  # no way to it crosses the other line


def test_leaders_do_not_look_like_a_piece_of_their_line_and_cross_no_label():
    """A leader beside the last steep piece of a line made a V of it, and another went through a label."""
    stub = np.array([100.0, 104.0]), np.array([90.0, 40.0])
    assert _runs_along((104.0, 40.0), (106.0, 80.0), stub) and not _runs_along((104.0, 40.0), (106.0, 10.0), stub)
    x = np.linspace(0.0, 300.0, 301)
    ceiling = x, np.full(301, 62.0)
    ends = [LineEnd(100.0, 50.0, 60.0, 10.0), LineEnd(100.0, 46.0, 60.0, 10.0)]
    places = place_line_end_labels(ends, [ceiling], (300.0, 100.0))
    for one, end in zip(places, ends, strict=True):
        for other in places:
            if one is not other and one.leader is not None and one.x is not None and other.x is not None:
                tip = one.x + one.leader[0] * 60.0, one.y + (one.leader[1] - 0.5) * 10.0
                way = np.linspace((end.x, end.y), tip, 50)
                inside = (way[:, 0] > other.x) & (way[:, 0] < other.x + 60.0) & (abs(way[:, 1] - other.y) < 5.0)
                assert not inside.any()


@pytest.mark.parametrize("draw", [plots.careers, plots.trajectory])
def test_breaks_of_lines_are_explained(draw):
    """Lines had gaps, and nothing said why; without a gap nothing is said."""
    said = []
    for pause in (1.0, 300.0):
        time = np.arange(400.0) + (np.arange(400) >= 350) * pause
        table = {"a": ["x"] * 400, "b": ["y"] * 400, "score": np.arange(400) % 2, "time": time}
        figure = draw(jr.rate(jr.elo(), jr.read(table)), players=["x"]).figure
        said.append(
            "Lines break where somebody did not play for long" in " ".join(figure.artists[0].get_text().split())
        )
        pyplot.close(figure)
    assert said == [False, True]


def test_names_beside_the_axes_have_the_last_rating_of_who_has_stopped():
    """In front of a long history a name stood beside the axes without the rating at which the leader ends."""
    time = np.arange(1000.0)
    a = np.where((time >= 940) & (time < 970), "x", "z").astype(object)
    table = {"a": a, "b": ["y"] * len(a), "score": np.arange(len(a)) % 2, "time": time}
    for others in (["y"], []):
        figure = plots.careers(jr.rate(jr.elo(), jr.read(table)), ["x"], others=others, step=10.0).figure
        (label,) = [text.get_text() for text in figure.axes[0].texts if text.get_gid() == "name"]
        assert re.fullmatch(r"x\nlast 1,[0-9]+, (the )?peak.*", label)
        pyplot.close(figure)


def test_years_of_a_trajectory_end_on_the_day_that_the_source_tells():
    """The subtitle had the last match of the players who are drawn, and the line below that of everybody."""
    date = np.arange(np.datetime64("2000-01-24"), np.datetime64("2021-01-25"), 18)
    date = np.append(date, np.datetime64("2021-02-07"))
    a, b = (np.array([name] * (len(date) - 1) + [last], object) for name, last in (("x", "z"), ("y", "w")))
    rated = jr.rate(jr.elo(), jr.read({"a": a, "b": b, "score": np.arange(len(a)) % 2, "date": date}))
    figure = plots.trajectory(rated, players=["x"]).figure
    subtitle = " ".join(figure.artists[0].get_text().split())
    assert "at the end of each year and on Feb 7, 2021" in subtitle
    assert figure.get_supxlabel() == f"Data: {len(a)} matches to Feb 7, 2021"
    pyplot.close(figure)
